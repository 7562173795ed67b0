"""Planted labels: how often `diagnose` calls a label a platypus that is none, and how many it finds.

A run draws 400 labels with base rates log-uniform between .2 and 5e-4. Some are planted: their scores say nothing. The
others' positives score higher, by the mix:

- mixed: AUROC uniform between .6 and .99, 20 % planted;
- least favourable: AUROC .7 for all, the least that `diagnose` asks for;
- top-heavy: 30 % of the positives 3 standard deviations up, the rest like negatives (AUROC .645);
- few: as mixed, 2 % planted;
- listed: as mixed, but only the highest tenth of each label's scores is known, the others tie below them. That
  lowers the AUROC, which counts as it is then.

The rule is `fit_empirical(..., "macro")` on the same rows, the plain optimum. Printed for `diagnose` and for five
naive rules, as means over the runs with their standard errors:

- false: labels flagged that are not planted / labels flagged, 0 without any;
- false, AUROC >= .7: the same, counting only those of AUROC .7 or more. Others are what the test is meant to reject;
- found: over-predicted planted labels flagged / over-predicted planted labels.

Then some labels are negated, so that they rank backwards, and counted is what `diagnose` calls "backwards":

- false: labels called so that are not negated / labels called so, 0 without any;
- any false: whether there is such a label;
- found: negated labels called so / negated labels with at least 5 positives.

It fails if `diagnose` misses a bound by more than two standard errors; a quick run checks none.

    python experiments/diagnosis/planted.py [--runs N] [--seed N] [--quick] [--json FILE]
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid
from scipy.special import ndtr, ndtri

import thresholds
from thresholds._arrays import threads
from thresholds._results.text import aligned

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

N_LABELS = 400
MIN_AUROC, OVERPREDICTION = 0.7, 3.0
DIAGNOSED, FIGURES = "diagnose: platypus", ("false", "false, AUROC >= .7", "found", "flagged")
STATES = ("backwards", "platypus", "suspect", "unsupported", "overpredicted", "restrained")
OF_BACKWARDS = ("false", "any false", "found")
FOUND = {3000: 0.5, 20_000: 0.75}  # by number of rows, the least of the found


@dataclass(frozen=True)
class Mix:
    """What the labels that are not planted are like, and what is required."""

    name: str
    planted: float
    lowest: float  # AUROC
    highest: float
    top_heavy: bool = False
    listed: float = 1.0  # share of each label's scores
    all_count: bool = True  # false flags, whatever the AUROC
    finds: bool = True  # the least of the found is required


MIXES = (
    Mix("mixed", 0.2, 0.6, 0.99),
    Mix("least favourable", 0.2, MIN_AUROC, MIN_AUROC),
    Mix("top-heavy", 0.2, 0.5, 0.5, top_heavy=True, finds=False),
    Mix("few", 0.02, 0.6, 0.99, all_count=False, finds=False),
    Mix("listed", 0.2, 0.6, 0.99, listed=0.1, all_count=False, finds=False),
)


@dataclass(frozen=True)
class Negated:
    """How many labels are negated, of those that are not planted, and how many are planted."""

    name: str
    negated: float
    planted: float


NEGATED = (Negated("nothing known", 0.0, 1.0), Negated("a tenth negated", 0.1, 0.2), Negated("most negated", 0.7, 0.2))


@dataclass(frozen=True)
class Drawn:
    """One run's labels; `auroc` is that of the population."""

    truth: npt.NDArray[np.uint8]
    scores: npt.NDArray[np.float32]
    planted: Bools
    auroc: Floats


@dataclass(frozen=True)
class Bound:
    """One line of what is required: a mean, its standard error, and a bound that two of these may blur."""

    name: str
    mean: float
    error: float
    required: str
    holds: bool


def draw(mix: Mix, n_samples: int, rng: np.random.Generator, n_labels: int = N_LABELS) -> Drawn:
    """Draw truth and normal scores."""
    planted = np.arange(n_labels) < round(mix.planted * n_labels)
    rates = np.exp(rng.uniform(np.log(5e-4), np.log(0.2), n_labels))
    auroc = np.where(planted, 0.5, rng.uniform(mix.lowest, mix.highest, n_labels))
    truth = rng.random((n_samples, n_labels), np.float32) < rates
    scores = rng.standard_normal((n_samples, n_labels), np.float32)
    scores += truth * (np.sqrt(2) * ndtri(auroc)).astype(np.float32)
    if mix.top_heavy:
        scores[truth & ~planted & (rng.random(truth.shape, np.float32) < 0.3)] += 3
        auroc = np.where(planted, 0.5, 0.5 + 0.3 * (ndtr(3 / np.sqrt(2)) - 0.5))
    if mix.listed < 1:
        scores, auroc = truncated(scores, auroc, mix.listed)
    return Drawn(truth.astype(np.uint8), scores, planted, auroc)


def truncated(scores: npt.NDArray[np.float32], auroc: Floats, listed: float) -> tuple[npt.NDArray[np.float32], Floats]:
    """Let all but the highest scores of each label tie; give the AUROC that is left to normal scores."""
    cut = np.quantile(scores, 1 - listed, axis=0)
    distance = np.sqrt(2) * ndtri(auroc)
    above = cut + np.linspace(0, 12, 2401)[:, np.newaxis]
    won = trapezoid(np.exp(-((above - distance) ** 2) / 2) / np.sqrt(2 * np.pi) * ndtr(above), dx=0.005, axis=0)
    tied = ndtr(cut) * ndtr(cut - distance)
    return np.where(scores >= cut, scores, -9).astype(np.float32), won + tied / 2


def rank_p(table: Any, n_samples: int) -> Floats:
    """The p-value of the one-sided Mann-Whitney test from the AUROC, as if there were no ties."""
    positives = table["n_positives"].astype(np.float64)
    pairs = positives * (n_samples - positives)
    with np.errstate(invalid="ignore"):
        z = (pairs * (table["auroc"] - 0.5) - 0.5) / np.sqrt(pairs * (n_samples + 1) / 12)
    return np.asarray(ndtr(-z))


def flags(diagnosis: Any) -> dict[str, Bools]:
    """What `diagnose` and each naive rule flag."""
    table = diagnosis.table
    over = diagnosis.overpredicted
    return {
        DIAGNOSED: diagnosis.platypus,
        "diagnose: suspect": diagnosis.suspect,
        "predicted on > 1/3 of the rows": table["predicted_rate"] > 1 / 3,
        "predictions > 3 positives": over,
        "F < 1.5 F of predict-all": table["lift"] < 1.5,
        "Mann-Whitney p > .05": rank_p(table, diagnosis.n_samples) > 0.05,
        "not informative, over-predicted": over & ~table["informative"],
    }


def share(part: Bools, of: Bools) -> float:
    """The share of a part, 0 of nothing."""
    return float((part & of).sum() / max(of.sum(), 1))


def shares(flagged: Bools, drawn: Drawn, over: Bools) -> tuple[float, ...]:
    """The figures of one rule in one run, in the order of `FIGURES`."""
    false = ~drawn.planted
    return (
        share(false, flagged),
        share(false & (drawn.auroc >= MIN_AUROC), flagged),
        share(flagged, drawn.planted & over),
        float(flagged.sum()),
    )


def one_run(mix: Mix, n_samples: int, seed: int) -> dict[str, Any]:
    """Draw, fit, diagnose; give the figures of every rule, and the states of planted and other labels."""
    drawn = draw(mix, n_samples, np.random.default_rng([seed, n_samples, MIXES.index(mix)]))
    rule = thresholds.fit_empirical(drawn.truth, drawn.scores, "macro", n_jobs=1)
    found = thresholds.diagnose(
        drawn.truth, drawn.scores, rule, min_auroc=MIN_AUROC, overprediction=OVERPREDICTION, n_jobs=1
    )
    return {
        "rules": {name: shares(flagged, drawn, found.overpredicted) for name, flagged in flags(found).items()},
        "planted": [int((found.state[drawn.planted] == state).sum()) for state in STATES],
        "others": [int((found.state[~drawn.planted] == state).sum()) for state in STATES],
    }


def one_negated_run(how: Negated, n_samples: int, seed: int) -> tuple[float, ...]:
    """Draw as in "mixed", negate some labels, diagnose; the figures of `OF_BACKWARDS`."""
    rng = np.random.default_rng([seed, n_samples, len(MIXES) + NEGATED.index(how)])
    drawn = draw(Mix(how.name, how.planted, 0.6, 0.99), n_samples, rng)
    negated = ~drawn.planted & (np.arange(N_LABELS) >= round((1 - how.negated) * N_LABELS))
    scores = np.where(negated, -drawn.scores, drawn.scores)
    found = thresholds.diagnose(drawn.truth, scores, thresholds.FixedRule(np.inf, N_LABELS), n_jobs=1)
    testable = ~np.isnan(found.table["p_backwards"])
    wrong = found.backwards & ~negated
    return share(wrong, found.backwards), float(wrong.any()), share(found.backwards, negated & testable)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean over the runs, and its standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(np.mean(values)), float(error)


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over the runs: for each rule those of the figures with their errors, for the states the numbers."""
    return {
        "rules": {
            name: {figure: mean_and_error([run["rules"][name][k] for run in runs]) for k, figure in enumerate(FIGURES)}
            for name in runs[0]["rules"]
        },
        "planted": dict(zip(STATES, np.mean([run["planted"] for run in runs], axis=0).tolist(), strict=True)),
        "others": dict(zip(STATES, np.mean([run["others"] for run in runs], axis=0).tolist(), strict=True)),
    }


def bounds(mix: Mix, n_samples: int, found: dict[str, Any]) -> list[Bound]:
    """What is required of `diagnose` in one mix at one size."""
    figures = found["rules"][DIAGNOSED]
    counting = "false" if mix.all_count else "false, AUROC >= .7"
    mean, error = figures[counting]
    title = f"{mix.name}, {n_samples:,} rows: "
    kept = [Bound(title + counting, mean, error, "<= 0.05", mean - 2 * error <= 0.05)]
    if mix.finds and n_samples in FOUND:
        mean, error = figures["found"]
        least = FOUND[n_samples]
        kept.append(Bound(title + "found", mean, error, f">= {least:g}", mean + 2 * error >= least))
    return kept


def show(mix: Mix, n_samples: int, n_runs: int, found: dict[str, Any]) -> None:
    """Print the tables of one mix at one size."""
    print(f"\n{mix.name}: {n_samples:,} rows, {N_LABELS} labels, {mix.planted:.0%} planted, {n_runs} runs\n")
    body = [
        (name, *(f"{mean:.3f} ({error:.3f})" for mean, error in list(of.values())[:3]), f"{of['flagged'][0]:.1f}")
        for name, of in found["rules"].items()
    ]
    print(aligned([("flagged by", *FIGURES)], body))
    states = [(who, *(f"{found[who][state]:.1f}" for state in STATES)) for who in ("planted", "others")]
    print("\n" + aligned([("state", *STATES)], states), flush=True)


def show_negated(title: str, found: dict[str, Any]) -> None:
    """Print one line of what is called backwards."""
    figures = (f"{name} {mean:.3f} ({error:.3f})" for name, (mean, error) in found.items())
    print(f"backwards, {title}: {', '.join(figures)}", flush=True)


def show_bounds(required: Sequence[Bound]) -> None:
    """Print what is required and whether it holds."""
    body = [
        (line.name, f"{line.mean:.3f} ({line.error:.3f})", line.required if line.holds else f"{line.required}  MISSED")
        for line in required
    ]
    print("\n" + aligned([("bound", "found", "required")], body, left=(0, 2)))


def main() -> int:
    """Run the simulation."""
    parser = argparse.ArgumentParser(description="False and true flags of `diagnose` on planted labels.")
    parser.add_argument(
        "--runs", type=int, default=100, metavar="N", help="runs of each mix at each size (default: 100)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the first run (default: 0)")
    parser.add_argument("--quick", action="store_true", help="5 runs at 3,000 rows, no bounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    options = parser.parse_args()
    if options.runs < 2 or options.seed < 0:
        parser.error("--runs must be at least 2, --seed at least 0")
    sizes, n_runs = ((3000,), 5) if options.quick else (tuple(FOUND), options.runs)
    results: dict[str, Any] = {}
    of_backwards: dict[str, Any] = {}
    required: list[Bound] = []
    for n_samples in sizes:
        for mix in MIXES:
            seeds = range(options.seed, options.seed + n_runs)
            title = f"{mix.name}, {n_samples:,} rows"
            runs = threads.run(partial(one_run, mix, n_samples), seeds, progress=sys.stderr.isatty(), title=title)
            results[title] = found = summary(runs)
            show(mix, n_samples, n_runs, found)
            required += [] if options.quick else bounds(mix, n_samples, found)
    print()
    for n_samples, how in product(sizes, NEGATED):
        seeds, title = range(options.seed, options.seed + n_runs), f"{how.name}, {n_samples:,} rows"
        figures = threads.run(partial(one_negated_run, how, n_samples), seeds, title=title)
        of_backwards[title] = dict(zip(OF_BACKWARDS, map(mean_and_error, zip(*figures, strict=True)), strict=True))
        show_negated(title, of_backwards[title])
        if not options.quick:
            mean, error = of_backwards[title]["false"]
            required.append(Bound(f"backwards, {title}: false", mean, error, "<= 0.05", mean - 2 * error <= 0.05))
    if required:
        show_bounds(required)
    if options.json:
        bounded = [vars(line) for line in required]
        report = {
            "runs": n_runs,
            "seed": options.seed,
            "results": results,
            "backwards": of_backwards,
            "bounds": bounded,
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if all(line.holds for line in required) else 1


if __name__ == "__main__":
    raise SystemExit(main())
