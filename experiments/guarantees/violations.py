"""Experiment: how often are floors that are promised broken, and what do the promises cost?

Samples are drawn from laws of which precision, recall and F1 are known at every threshold (laws.py), so a promise is
kept or broken on the population, not on some test rows. A cell of the grid is a law, floors and a confidence; 2,000
samples are the labels of one fit. Broken is what is promised: "never" promises no precision and breaks none, "always"
has recall 1.

1. Labels by themselves (family="each"). In each cell: the share of samples whose promise is broken, held to
   1 - confidence (and 3.5 standard errors of the simulation, as there are some thousand cells); the mean F1 of the
   population under the promise, under the floor in the sample (confidence=None), and under MAPIE's promises on the
   first 40 samples:
   - BinaryClassificationController with 100 thresholds on probabilities, by Bonferroni-Holm (its default, never less
     than by Bonferroni), by a fixed sequence, and by one with five starts. Its p-values and its control of errors are
     called as it calls them, on counts made here, and are held to the class itself on one sample of each cell. Of the
     thresholds that it calls valid, the one of best F1 in the sample is taken, as ours is.
   - for recall MultiLabelClassificationController with one label, method "rcps", on at most 50 positives.
   A difference to MAPIE's best is the mean over these samples, with its standard error; the best is the one of highest
   mean F1 among those that do not break their promise too often on them.
2. All labels at once (family="all"): 10 labels, 2,000 fits; the share of fits that break any promise. Labels with one
   floor and one number of rows have a tenth of the error each, so all are fitted at once with a confidence of a tenth;
   100 fits are made one by one, and held to that.
3. Groups: rows of a group share most of their noise and truth; with groups= and without.

Exits with 1 if a promise is broken too often. The full grid goes to a file:

    OMP_NUM_THREADS=1 python -W ignore experiments/guarantees/violations.py --json FILE > FILE
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from laws import SHAPES, Floats, Law, Scores, Truth
from mapie.risk_control import BinaryClassificationController, MultiLabelClassificationController
from mapie.risk_control._base_controller import ltt_procedure
from mapie.risk_control.fwer_control import FWERFixedSequenceTesting

import thresholds

RUNS, RIVALS = 2000, 40
CELLS_AT_ONCE = 8_000_000
SIZES = ((5, 0.5), (5, 0.001), (20, 0.2), (20, 0.01), (50, 0.5), (50, 0.02), (150, 0.1), (500, 0.5), (500, 0.1))
SHIFTS = (1.0, 2.0, 3.0)
FLOORS = (0.5, 0.7, 0.9, 0.95)
LEVELS = (0.8, 0.9, 0.95, 0.99)
BOTH = ((0.5, 0.5), (0.7, 0.5), (0.5, 0.8))
PARAMETERS = np.linspace(0, 0.99, 100)  # MAPIE's default
ERRORS = 3.5
MOST_POSITIVES = 50  # MAPIE's risk-controlling sets take seconds on more


class Promise(NamedTuple):
    """Floors and the confidence they are asked with."""

    precision: float | None
    recall: float | None
    confidence: float

    @property
    def floors(self) -> dict[str, float]:
        """Arguments of a fit."""
        named = {"min_precision": self.precision, "min_recall": self.recall}
        return {name: floor for name, floor in named.items() if floor is not None}

    @property
    def name(self) -> str:
        """The floors in words."""
        named = (("precision", self.precision), ("recall", self.recall))
        return ", ".join(f"{measure} {floor:g}" for measure, floor in named if floor is not None)

    def broken(self, law: Law, at: Floats) -> npt.NDArray[np.bool_]:
        """Which thresholds break a floor; of two floors, "never" promises none."""
        precision, recall, _ = law.measures(at)
        below = np.zeros(at.shape, bool)
        if self.precision is not None:
            below |= precision < self.precision
        if self.recall is not None:
            is_promised = np.isfinite(at) | (self.precision is None)
            below |= (recall < self.recall) & is_promised
        return below


def promises_of(number: int) -> Iterator[Promise]:
    """Floors and two of the levels, which alternate from law to law."""
    levels = LEVELS[number % 2 :: 2]
    for floor, level in product(FLOORS, levels):
        yield Promise(floor, None, level)
        yield Promise(None, floor, level)
    for (precision, recall), level in product(BOTH, levels[:1]):
        yield Promise(precision, recall, level)


def laws() -> Iterator[Law]:
    """Every size in three of the six shapes, which alternate; shifts take turns."""
    for number, ((positives, rate), shape) in enumerate(product(SIZES, SHAPES)):
        if (number + number // len(SHAPES)) % 2 == 0:
            yield Law(positives, rate, SHIFTS[number // 2 % len(SHIFTS)], shape)


# Ours


def fitted(truth: Truth, scores: Scores, **options: Any) -> Floats:
    """Fit labels, some at a time."""
    step = max(1, CELLS_AT_ONCE // len(truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [
            thresholds.fit_empirical(truth[:, k : k + step], scores[:, k : k + step], n_jobs=1, **options).thresholds
            for k in range(0, truth.shape[1], step)
        ]
    return np.concatenate(parts)


# MAPIE


class Counts(NamedTuple):
    """What one sample has at MAPIE's thresholds."""

    tp: npt.NDArray[np.int64]  # (100,)
    predicted: npt.NDArray[np.int64]  # (100,)
    positives: int

    @classmethod
    def of(cls, truth: Truth, probability: Floats) -> "Counts":
        """Count one sample."""
        order = np.argsort(-probability)
        predicted = np.searchsorted(-probability[order], -PARAMETERS, side="right")
        tp = np.append(0, np.cumsum(truth[order], dtype=np.int64))[predicted]
        return cls(tp, predicted, int(truth.sum()))

    def risk(self, measure: str) -> tuple[Floats, npt.NDArray[np.int64]]:
        """1 - precision or recall, and of how many rows, as MAPIE counts them."""
        n = self.predicted if measure == "precision" else np.full_like(self.predicted, self.positives)
        risk = 1 - np.divide(self.tp, n, out=np.zeros(n.size), where=n > 0)
        return risk, np.where(n > 0, n, -1)


RIVALS_OF: dict[str, Callable[[], Any]] = {
    "Holm": lambda: "bonferroni_holm",
    "sequence": lambda: "fixed_sequence",
    "5 starts": lambda: FWERFixedSequenceTesting(5),
}


def valid(counts: Counts, promise: Promise, method: Any) -> npt.NDArray[np.int64]:
    """The thresholds that MAPIE calls valid."""
    floors = [(m, f) for m, f in (("precision", promise.precision), ("recall", promise.recall)) if f is not None]
    risks, sizes = zip(*(counts.risk(measure) for measure, _ in floors), strict=True)
    alpha = np.array([[1 - floor] for _, floor in floors])
    (found,), _ = ltt_procedure(
        np.stack(risks), alpha, 1 - promise.confidence, np.stack(sizes), True, fwer_method=method
    )
    return np.array(sorted(found), np.int64)


def check_against_class(truth: Truth, probability: Floats, promise: Promise, found: npt.NDArray[np.int64]) -> None:
    """Hold what is found by Holm to MAPIE's class."""
    floors = [(m, f) for m, f in (("precision", promise.precision), ("recall", promise.recall)) if f is not None]
    measures, levels = ([m for m, _ in floors], [f for _, f in floors])
    one = len(floors) == 1
    controller = BinaryClassificationController(
        lambda x: np.stack([1 - x[:, 0], x[:, 0]], axis=1),
        measures[0] if one else measures,
        levels[0] if one else levels,
        promise.confidence,
    )
    controller.calibrate(probability[:, None], truth.astype(int))
    if controller.valid_predict_params.tolist() != PARAMETERS[found].tolist():
        raise AssertionError(f"MAPIE finds other thresholds: {controller.valid_predict_params}, {PARAMETERS[found]}")


def of_recall(probability: Floats, promise: Promise) -> float:
    """MAPIE's threshold of recall by risk-controlling sets: rows are the positives, the one label is true."""
    controller = MultiLabelClassificationController(
        lambda x: x, "recall", "rcps", promise.recall, promise.confidence, rcps_bound="wsr"
    )
    controller._risks = 1.0 - (probability[:, None] > PARAMETERS)  # (positives, 100), as it computes in a slow loop
    controller.compute_best_predict_param()
    return float(np.nextafter(controller.best_predict_param[0], 1))  # it predicts what is above


def rivals_at(law: Law, truth: Truth, scores: Scores, promise: Promise) -> dict[str, Floats]:
    """MAPIE's thresholds, on the scale of scores; none valid is never, or always where recall alone is asked for."""
    nothing = -np.inf if promise.precision is None else np.inf
    found: dict[str, list[float]] = {}
    for k in range(truth.shape[1]):
        probability = law.probabilities(scores[:, k])
        counts = Counts.of(truth[:, k], probability)
        f = 2 * counts.tp / np.maximum(counts.predicted + counts.positives, 1)
        for name, method in RIVALS_OF.items():
            if name != "Holm" and len(promise.floors) == 2:
                continue  # MAPIE's sequences are for one floor.
            indices = valid(counts, promise, method())
            if k == 0 and name == "Holm":
                check_against_class(truth[:, k], probability, promise, indices)
            at = PARAMETERS[indices[np.argmax(f[indices])]] if indices.size else np.nan
            found.setdefault(name, []).append(at)
        if promise.precision is None and law.positives <= MOST_POSITIVES:
            positives = probability[truth[:, k] == 1]
            found.setdefault("RCPS", []).append(of_recall(positives, promise) if positives.size > 2 else np.nan)
    return {
        name: np.where(np.isnan(at), nothing, law.score_at(np.nan_to_num(np.array(at)))) for name, at in found.items()
    }


# 1. Labels by themselves


def cell(law: Law, promise: Promise, truth: Truth, scores: Scores, plain: Floats) -> dict[str, Any]:
    """Judge one cell: ours on all samples, MAPIE on some of them, `plain` thresholds in the sample."""
    ours = fitted(truth, scores, confidence=promise.confidence, **promise.floors)
    is_broken = promise.broken(law, ours)
    f1 = law.measures(ours)[2]
    share = float(is_broken.mean())
    found: dict[str, Any] = {
        "law": str(law),
        "shape": law.shape,
        "floors": promise.name,
        "confidence": promise.confidence,
        "broken": share,
        "error": float(np.sqrt(share * (1 - share) / RUNS)),
        "cut": float(np.mean(np.isfinite(ours))),
        "f1": float(f1.mean()),
        "recall": float(law.measures(ours)[1].mean()),
        "f1 in sample": float(law.measures(plain)[2].mean()),
        "recall in sample": float(law.measures(plain)[1].mean()),
        "broken in sample": float(promise.broken(law, plain).mean()),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rivals = rivals_at(law, truth[:, :RIVALS], scores[:, :RIVALS], promise)
    for name, at in rivals.items():
        behind = f1[:RIVALS] - law.measures(at)[2]  # (RIVALS,)
        found[name] = float(law.measures(at)[2].mean())
        found[f"ahead of {name}"] = float(behind.mean())
        found[f"error of {name}"] = float(behind.std(ddof=1) / np.sqrt(RIVALS))
        found[f"broken by {name}"] = float(promise.broken(law, at).mean())
    found["f1 beside"] = float(f1[:RIVALS].mean())
    honest = [name for name in rivals if found[f"broken by {name}"] <= most(promise.confidence, RIVALS)]
    best = max(honest or ["Holm"], key=lambda name: found[name])
    found |= {"best": best, "ahead": found[f"ahead of {best}"], "error ahead": found[f"error of {best}"]}
    return found


def each(quick: bool) -> list[dict[str, Any]]:
    """Judge all cells."""
    cells = []
    plain: dict[tuple[str, ...], Floats] = {}
    for number, law in enumerate(laws()):
        if quick and number % 10:
            continue
        rng = np.random.default_rng(number)
        truth, scores = law.draw(rng, RUNS)
        plain.clear()
        for promise in promises_of(number):
            key = (str(promise.floors),)
            if key not in plain:
                plain[key] = fitted(truth, scores, **promise.floors)
            cells.append(cell(law, promise, truth, scores, plain[key]))
        print(".", end="", flush=True, file=sys.stderr)
    return cells


def most(confidence: float, runs: int = RUNS) -> float:
    """The share of broken promises that is too much to be chance."""
    delta = 1 - confidence
    return float(delta + ERRORS * np.sqrt(delta * (1 - delta) / runs))


def show_each(cells: Sequence[dict[str, Any]]) -> bool:
    """Print the grid in short, and return whether every promise is kept often enough."""
    print(f"1. Labels by themselves: {len(cells):,} cells of {RUNS:,} samples\n")
    print(
        "                             share broken               F1 of the population             ahead of MAPIE's best"
    )
    print("                            promised       in       in   pro-   MAPIE's promises       ")
    print(
        f"{'floors':<27}{'conf.':>6}{'mean':>7}{'most':>7}{'sample':>8}{'sample':>8}{'mise':>7}"
        f"{'Holm':>7}{'sequ.':>7}{'5 st.':>7}{'RCPS':>7}{'mean':>8}{'least':>8}"
    )
    kept = True
    for key in sorted({(c["floors"], c["confidence"]) for c in cells}):
        of = [c for c in cells if (c["floors"], c["confidence"]) == key]
        kept &= all(c["broken"] <= most(key[1]) for c in of)

        def mean(name: str, of: Sequence[dict[str, Any]] = of) -> str:
            values = [c[name] for c in of if name in c]
            return f"{np.mean(values):>7.3f}" if values else f"{'':>7}"

        least = min(of, key=lambda c: c["ahead"])
        print(
            f"{key[0]:<27}{key[1]:>6g}{mean('broken')}{max(c['broken'] for c in of):>7.3f} {mean('broken in sample')}"
            f" {mean('f1 in sample')}{mean('f1')}{mean('Holm')}{mean('sequence')}{mean('5 starts')}{mean('RCPS')}"
            f" {mean('ahead')} {least['ahead']:>+7.3f}"
        )
    by_excess = sorted(cells, key=lambda c: c["broken"] - most(c["confidence"]), reverse=True)
    print("\nCells nearest to their limit:\n")
    for c in by_excess[:5]:
        print(
            f"  {c['broken']:.4f} ± {c['error']:.4f} of {1 - c['confidence']:.2f}: {c['floors']} at"
            f" {c['confidence']:g}, {c['law']}"
        )
    over = sum(c["broken"] > 1 - c["confidence"] for c in cells)
    print(
        f"\nCells above 1 - confidence: {over}; by more than {ERRORS:g} standard errors: {'none' if kept else 'some'}."
    )
    behind = [c for c in cells if c["ahead"] + 2 * c["error ahead"] < 0]
    print(
        f"\nCells in which F1 is below that of MAPIE's best by more than two standard errors: {len(behind)} of"
        f" {len(cells):,}\n"
    )
    for c in sorted(behind, key=lambda c: c["ahead"])[:15]:
        print(
            f"  {c['ahead']:+.4f} ± {c['error ahead']:.4f} (ours {c['f1 beside']:.3f}, {c['best']} {c[c['best']]:.3f},"
            f" broken {c['broken by ' + c['best']]:.2f}): {c['floors']} at {c['confidence']:g}, {c['law']}"
        )
    return kept


# 2. All labels at once

FAMILIES = tuple(
    (Law(positives, rate, 2.0, shape), promise)
    for (positives, rate, shape), promise in product(
        ((50, 0.1, "continuous"), (50, 0.1, "3 values"), (200, 0.5, "dip")),
        (Promise(0.7, None, 0.9), Promise(None, 0.8, 0.9), Promise(0.5, 0.5, 0.8)),
    )
)
LABELS, WHOLE = 10, 100


def families() -> tuple[list[dict[str, Any]], bool]:
    """Print how often any of ten labels breaks a promise, and return whether that is seldom enough."""
    print(
        f"\n2. {LABELS} labels, {RUNS:,} fits: share of fits that break any promise, share of labels that do, mean F1\n"
    )
    heads = "".join(f"{family + ': any':>14}{'label':>8}{'F1':>7}" for family in ("all", "each"))
    print(f"{'':<58}{'conf.':>6}{heads}")
    rows, kept = [], True
    for number, (law, promise) in enumerate(FAMILIES):
        rng = np.random.default_rng(100 + number)
        truth, scores = law.draw(rng, RUNS * LABELS)
        found: dict[str, Any] = {"law": str(law), "floors": promise.name, "confidence": promise.confidence}
        figures = ""
        for family, confidence in (("all", 1 - (1 - promise.confidence) / LABELS), ("each", promise.confidence)):
            at = fitted(truth, scores, confidence=confidence, **promise.floors).reshape(RUNS, LABELS)
            if family == "all":
                check_against_family(truth, scores, promise, at)
            broken = promise.broken(law, at)
            found[family] = {"any": broken.any(axis=1).mean(), "label": broken.mean(), "f1": law.measures(at)[2].mean()}
            figures += "".join(f"{found[family][k]:>{width}.3f}" for k, width in (("any", 14), ("label", 8), ("f1", 7)))
        kept &= found["all"]["any"] <= most(promise.confidence)
        name = f"{promise.name}; {law.positives} positives, rate {law.rate:g}, {law.shape}"
        print(f"{name:<58}{promise.confidence:>6g}{figures}", flush=True)
        rows.append(found)
    return rows, kept


def check_against_family(truth: Truth, scores: Scores, promise: Promise, at: Floats) -> None:
    """Hold labels that are fitted at their share of the error to whole fits with family="all"."""
    for k in range(WHOLE):
        labels = slice(k * LABELS, (k + 1) * LABELS)
        options = {"confidence": promise.confidence, "family": "all", **promise.floors}
        if not np.array_equal(fitted(truth[:, labels], scores[:, labels], **options), at[k]):
            raise AssertionError(f"a fit of {LABELS} labels does not give each a tenth of the error")


# 3. Groups

GROUP = 10


def groups() -> tuple[list[dict[str, Any]], bool]:
    """Print how often promises are broken where rows of a group are alike, with groups= and without."""
    print(f"\n3. Groups of {GROUP} rows that share truth and nine tenths of the noise: share broken, mean F1\n")
    print(f"{'':<50}{'conf.':>6}{'groups=':>14}{'F1':>7}{'without':>14}{'F1':>7}")
    rows, kept = [], True
    for number, promise in enumerate((Promise(0.7, None, 0.9), Promise(None, 0.8, 0.9))):
        law = Law(1000, 0.2, 2.0, "continuous")
        rng = np.random.default_rng(200 + number)
        n_groups = law.n_rows // GROUP
        ids = np.repeat(np.arange(n_groups), GROUP)
        truth = (rng.random((n_groups, RUNS)) < law.rate).view(np.uint8)[ids]
        noise = np.sqrt(0.9) * rng.standard_normal((n_groups, RUNS), np.float32)[ids]
        noise += np.sqrt(0.1) * rng.standard_normal(noise.shape, np.float32)
        scores = (noise + law.shift * truth).astype(np.float32)
        found: dict[str, Any] = {"floors": promise.name, "confidence": promise.confidence}
        figures = ""
        for name, given in (("groups", {"groups": ids}), ("without", {})):
            at = fitted(truth, scores, confidence=promise.confidence, **promise.floors, **given)
            found[name] = {"broken": promise.broken(law, at).mean(), "f1": law.measures(at)[2].mean()}
            figures += f"{found[name]['broken']:>14.3f}{found[name]['f1']:>7.3f}"
        kept &= found["groups"]["broken"] <= most(promise.confidence)
        print(f"{promise.name + f'; {n_groups} groups':<50}{promise.confidence:>6g}{figures}", flush=True)
        rows.append(found)
    return rows, kept


def as_line(row: dict[str, Any]) -> str:
    """Write a cell on one line, its figures to four digits."""
    return json.dumps(json.loads(json.dumps(row, default=float), parse_float=lambda figure: round(float(figure), 4)))


def main() -> int:
    """Run all parts."""
    parser = argparse.ArgumentParser(description="Simulate how often promised floors are broken.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the full grid to a file")
    parser.add_argument("--part", type=int, choices=(1, 2, 3), help="only this part")
    parser.add_argument("--quick", action="store_true", help="a tenth of the laws")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    kept = True
    if options.part in (None, 1):
        found["each"] = each(options.quick)
        kept &= show_each(found["each"])
    for number, name, part in ((2, "families", families), (3, "groups", groups)):
        if options.part in (None, number):
            found[name], is_kept = part()
            kept &= is_kept
    if options.json is not None:
        parts = (f'"{name}": [\n' + ",\n".join(map(as_line, rows)) + "\n]" for name, rows in found.items())
        options.json.write_text("{" + ",\n".join(parts) + "}\n")
    print(f"\nevery promise is kept as often as it says: {'yes' if kept else 'no'}")
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
