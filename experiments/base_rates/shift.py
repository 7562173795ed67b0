"""Rules for rows whose base rates have moved: what is gained by following them without labels, and what is lost.

    python experiments/base_rates/shift.py FOLDER [--samples 4] [--seeds 10]

A calibrator is fitted on the calibration rows of a score file. Of its test rows, each label gets a sample of its own,
in which its base rate is another one: positives and negatives are drawn without replacement, so that scores mean the
same by construction. The samples of all labels stand side by side, as columns of equal length (35 % of the test rows).
Base rates are doubled (to .9 at most), halved, doubled and halved by turns, doubled for one label, or left.

1. Macro- and micro-F1 on these rows: of the thresholds fitted to the labels of the calibration ("old"), of
   `fit_expected` on the probabilities of the new rows as they are, of `fit_adapted`, and of the same with the true base
   rates. Differences from "old", with standard errors over samples of the same test rows.
2. The intervals of 95 %: how many labels can be told, how often they hold the base rate of the rows then, how wide they
   are, and how often any scores are said to have changed their meaning, which is a false alarm.
3. The same, simulated: normal scores whose positives are .8 to 2.8 higher.
4. Scores that did change their meaning: how often that is found.

Four files are those of which promises are made: two of networks that others published, two of models that were trained
for these files, with rows that are split at random and probabilities that are right on the test rows (first table).
The others are there to compare. In `chestxray14_chexnet` rows are X-rays of patients, each of whom is in one half only.
Exits with 1 if on one of the four less than half of the gain with the true rates is reached where that is over a point,
or more than half a point is lost.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logit

import thresholds
from thresholds._results.tables import Table
from thresholds.calibration import Calibrator, estimate_base_rates, measure_calibration
from thresholds.calibration.base_rates import CHANGED, MOVED, BaseRates
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

PROMISED = ("litcovid_bc7", "ptbxl_xresnet1d101", "ohsumed23", "pubmed_mesh")
OTHERS = ("bibtex", "yeast", "emotions", "chestxray14_chexnet")
AVERAGES = ("macro", "micro")
RULES = ("as they are", "adapted", "true rates")
SHARE = 0.35  # of the test rows
MOST = 0.9
Array = NDArray[Any]

SHIFTS: dict[str, Callable[[int], Array]] = {
    "doubled": lambda m: np.full(m, 2.0),
    "halved": lambda m: np.full(m, 0.5),
    "by turns": lambda m: np.where(np.arange(m) % 2, 2.0, 0.5),
    "one doubled": lambda m: np.where(np.arange(m) == 0, 2.0, 1.0),
    "left": np.ones,
}
CHANGES: dict[str, Callable[[Array], Array]] = {
    "logits times 1.3": lambda scores: expit(1.3 * logit(scores)),
    "logits plus 0.5": lambda scores: expit(0.5 + logit(scores)),
    "noise in the logits": lambda scores: expit(logit(scores) + np.random.default_rng(0).normal(size=scores.shape)),
    "another label's": lambda scores: np.roll(scores, 1, axis=1),
}


def dense(matrix: Any) -> Array:
    """Return a matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def shifted(truth: Array, scores: Array, factors: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw a sample of rows for each label, whose base rate is multiplied."""
    n = int(SHARE * len(truth))
    columns = []
    for j, factor in enumerate(factors):
        positive = np.flatnonzero(truth[:, j])
        negative = np.flatnonzero(truth[:, j] == 0)
        rate = positive.size / len(truth)
        n_positive = round(n * min(rate * factor, max(MOST, rate)))
        chosen = [rng.choice(positive, n_positive, replace=False)]
        chosen.append(rng.choice(negative, n - n_positive, replace=False))
        columns.append(rng.permutation(np.concatenate(chosen)))
    rows = np.stack(columns, axis=1)  # (n, n_labels)
    return np.take_along_axis(truth, rows, 0), np.take_along_axis(scores, rows, 0)


class File:
    """A score file: its calibrator, its old rules, its test rows."""

    def __init__(self, path: Path) -> None:
        data = read_labelled(path, "y_score")
        fit, test, _ = data.halves()
        truth, scores = dense(data.y_true).astype(np.uint8), dense(data.y_score)
        self.truth, self.scores = truth[test], scores[test]
        self.calibrator: Calibrator = thresholds.calibrate(truth[fit], scores[fit])
        self.old = [thresholds.fit_empirical(truth[fit], scores[fit], average) for average in AVERAGES]

    def f_of_rules(self, truth: Array, scores: Array, found: BaseRates) -> Array:
        """Return F1 in per cent of the old rule and of `RULES`, (4, 2), base rates being found already."""
        rates: dict[str, Any] = {
            "as they are": {},
            "adapted": found,
            "true rates": np.clip(truth.mean(axis=0), 1e-9, 1 - 1e-9),
        }
        rows = [[rule.decide(scores) for rule in self.old]]
        for name in RULES:
            fitted = [
                thresholds.fit_adapted(self.calibrator, scores, average, rates=rates[name]) for average in AVERAGES
            ]
            rows.append([rule.decide(scores) for rule in fitted])
        return np.array(
            [
                [100 * f1_score(truth, decided, average=average, zero_division=0.0)]
                for row in rows
                for average, decided in zip(AVERAGES, row, strict=True)
            ]
        ).reshape(-1, 2)


def with_error(values: Array) -> str:
    """Write a mean and its standard error."""
    return f"{values.mean():+.2f} ({values.std(ddof=1) / len(values) ** 0.5:.2f})"


def told(found: Any, rates: Array) -> list[float]:
    """Count of an estimate: labels told, intervals that hold the rates, false alarms."""
    table = found.table
    held = (table["low"] <= rates) & (rates <= table["high"])
    changed = found.verdict == CHANGED
    is_told = ~np.isnan(table["estimate"])
    width = (table["high"] - table["low"])[is_told]
    return [
        is_told.mean(),
        held[is_told].mean(),
        width.mean(),
        np.mean(found.verdict == MOVED),
        changed.mean(),
        changed.any(),
    ]


TOLD_HEAD = ("told", "held", "width", "moved", "changed", "any changed")


def shares(rows: list[list[float]]) -> list[str]:
    """Write means in per cent."""
    return [f"{100 * share:.1f}" for share in np.mean(rows, axis=0)]


def simulated(seeds: int) -> Iterator[tuple[str, ...]]:
    """Estimate base rates of simulated labels."""
    n_labels = 60
    for n_fit, n_new in ((1000, 1000), (5000, 1000), (1000, 5000)):
        for rate in (0.01, 0.05, 0.3):
            for factor in (0.5, 1.0, 2.0):
                counts = []
                for seed in range(seeds):
                    rng = np.random.default_rng([n_fit, n_new, int(1000 * rate), int(10 * factor), seed])
                    both = []
                    for n, of in ((n_fit, rate), (n_new, rate * factor)):
                        truth = rng.random((n, n_labels)) < of
                        both.append((truth, rng.normal(size=truth.shape) + truth * np.linspace(0.8, 2.8, n_labels)))
                    calibrator = thresholds.calibrate(*both[0])
                    counts.append(told(estimate_base_rates(calibrator, both[1][1]), np.full(n_labels, rate * factor)))
                yield f"{n_fit}, {n_new}", f"{rate:g}", f"{rate * factor:g}", *shares(counts)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore", thresholds.ScoreChangeWarning)
    files = {name: File(given.folder / f"{name}.npz") for name in (*PROMISED, *OTHERS)}

    print("probabilities on all test rows, before anything is shifted")
    body = []
    for name, file in files.items():
        measured = measure_calibration(file.truth, file.calibrator.transform(file.scores))
        shape = f"{file.truth.shape[0]:,}", f"{file.truth.shape[1]:,}"
        body.append((name, *shape, f"{measured.sum_over_positives:.3f}", f"{measured.slope:.3f}"))
    print(Table([("file", "rows", "labels", "sum / positives", "slope")], body).text(), "\n")

    kept = True
    f_body, told_body = [], []
    for name, file in files.items():
        for shift, factors_of in SHIFTS.items():
            rng = np.random.default_rng(1)
            reached, counts = [], []
            factors = factors_of(file.truth.shape[1])
            for _ in range(given.samples):
                truth, scores = shifted(file.truth, file.scores, factors, rng)
                found = estimate_base_rates(file.calibrator, scores)
                reached.append(file.f_of_rules(truth, scores, found))
                counts.append(told(found, truth.mean(axis=0)))
            f = np.array(reached)  # (n_samples, 4, 2)
            gain = f[:, 1:] - f[:, :1]
            for a, average in enumerate(AVERAGES):
                f_body.append(
                    (name, shift, average, f"{f[:, 0, a].mean():.2f}", *(with_error(gain[:, k, a]) for k in range(3)))
                )
                adapted, known = gain[:, 1, a].mean(), gain[:, 2, a].mean()
                broken = adapted < -0.5 or (known > 1 and adapted < known / 2)
                if name in PROMISED and broken:
                    kept = False
                    f_body.append(("", "", "", "", "", "less than promised", ""))
            told_body.append((name, shift, *shares(counts)))
    print("1. F1 in per cent of the old rule, and what other rules have more")
    print(Table([("file", "base rates", "average", "old", *RULES)], f_body, left=(0, 1, 2)).text(), "\n")

    print("2. per cent of labels that are told, that intervals hold, called moved, called changed; of samples with any")
    print(Table([("file", "base rates", *TOLD_HEAD)], told_body, left=(0, 1)).text(), "\n")

    print("3. the same for simulated labels, 60 at a time, by rows of the fit and new rows")
    print(Table([("rows", "before", "now", *TOLD_HEAD)], [*simulated(given.seeds)]).text(), "\n")

    print("4. per cent of labels called changed, when their scores have changed their meaning and rates are left")
    body = []
    for name, file in files.items():
        row = [name]
        tiny = np.finfo(np.float32).tiny
        scores = np.clip(file.scores.astype(np.float64), tiny, 1 - 2**-24)
        for change in CHANGES.values():
            found = estimate_base_rates(file.calibrator, change(scores))
            row.append(f"{100 * np.mean(found.verdict == CHANGED):.0f}")
        body.append(tuple(row))
    print(Table([("file", *CHANGES)], body).text())
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
