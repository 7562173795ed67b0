"""Are the intervals of `compare` right? How often the 95 % interval of a difference of two rules holds the true one.

The true difference is the mean over samples of as many rows. Samples are drawn from labels of known base rates, whose
positives score higher by 1.5 standard deviations; most labels are rare. On real files (fitted on their calibration
rows, guard "shrink" against none) the truth is not known, but the differences on two halves of the test rows must not
be further apart than the root of the sum of their squared half-widths. Last, the mean macro-F1 of bootstrap samples
stands beside that of the sample they are drawn from. Run

    python experiments/gate/intervals.py FOLDER_OF_NPZ | tee experiments/gate/intervals.txt
"""

import argparse
from pathlib import Path

import numpy as np

from thresholds import ThresholdRule, fit_empirical
from thresholds._arrays.sparse import is_sparse
from thresholds._engine.problem import Problem
from thresholds.files import read_labelled
from thresholds.metrics.jackknife import difference_of
from thresholds.metrics.judging import decide_all, f_measure, judge
from thresholds.metrics.leaving_out import AVERAGES, LeftOut, leave_out_of

SHIFT = 1.5  # of the scores of positives
SAMPLES = 400
SPLITS = 200
REAL = ("bibtex", "chestxray14_chexnet", "corel5k", "ohsumed23", "ptbxl_xresnet1d101", "pubmed_mesh_all", "yeast")

# Rows, labels, positives a label (rarest and commonest, evenly spaced in logarithms), rows of a group.
DESIGNS = (
    (300, 20, (1, 100), 1),
    (1000, 100, (1, 200), 1),
    (1000, 1000, (1, 5), 1),
    (1000, 1000, (0.2, 2), 1),
    (3000, 3000, (1, 5), 1),
    (3000, 100, (1, 300), 10),
)
# How the second rule differs from the first: thresholds of labels higher by a normal draw of that mean and spread.
CHANGES = {"alike": (0.0, 0.3), "another": (0.5, 0.0), "one label": (0.0, 0.0)}


def sample(rng: np.random.Generator, n: int, rates: np.ndarray, group_rows: int) -> tuple[Problem, np.ndarray]:
    """Draw rows; those of a group share a third of the variance of what makes labels true, and of scores."""
    groups = np.arange(n) // group_rows
    shared = 0.0 if group_rows == 1 else 1 / 3

    def noise() -> np.ndarray:
        of_groups = rng.standard_normal((groups.max() + 1, rates.size), np.float32)[groups]
        own = rng.standard_normal((n, rates.size), np.float32)
        return np.sqrt(shared) * of_groups + np.sqrt(1 - shared) * own

    from scipy.special import ndtri

    truth = noise() > -ndtri(rates).astype(np.float32)
    scores = noise() + SHIFT * truth
    return Problem.of(truth, scores), groups


def thresholds_of(rates: np.ndarray) -> np.ndarray:
    """Return thresholds that are about the best for F1 of normal scores."""
    grid = np.linspace(-2, 6, 400)[:, None]
    from scipy.special import ndtr

    hits = rates * ndtr(SHIFT - grid)
    alarms = (1 - rates) * ndtr(-grid)
    return grid[np.argmax(2 * hits / (rates + hits + alarms), axis=0), 0]


def on_halves(path: Path) -> np.ndarray:
    """Return how often two halves of the test rows agree, by average."""
    data = read_labelled(str(path))
    truth, scores = data.y_true, data.y_score
    fit = {"guard": "shrink", "keep_sparse": is_sparse(scores), "n_jobs": 1}
    rule = fit_empirical(truth[data.calib_idx], scores[data.calib_idx], **fit)
    plain = fit_empirical(truth[data.calib_idx], scores[data.calib_idx], **fit | {"guard": None})
    rng = np.random.default_rng(0)
    agree = np.zeros(len(AVERAGES))
    for _ in range(SPLITS):
        order = rng.permutation(data.test_idx)
        halves = []
        for rows in (order[: order.size // 2], order[order.size // 2 :]):
            problem = Problem.of(truth[rows], scores[rows])
            pair = [left_out(one, problem, None) for one in (rule, plain)]
            halves.append([difference_of(*pair, average, 0.95) for average in AVERAGES])
        value, lower, upper = np.array(halves).transpose(2, 0, 1)  # (2, averages) each
        apart = np.abs(value[0] - value[1])
        agree += apart <= np.hypot(*(upper - lower) / 2)
    return agree / SPLITS


def main(folder: str | None) -> None:
    """Print coverage and width by design and average, and how often halves agree."""
    print(f"coverage of 95 % intervals over {SAMPLES} samples (half-width / 1.96 standard deviations)\n")
    print(f"{'':<58}" + "".join(f"{name:>16}" for name in AVERAGES))
    for n, n_labels, (fewest, most), group_rows in DESIGNS:
        rng = np.random.default_rng(1)
        rates = np.geomspace(fewest, most, n_labels) / n
        cuts = thresholds_of(rates)
        first = ThresholdRule(cuts)
        others = {}
        for name, (mean, spread) in CHANGES.items():
            moved = mean + spread * rng.standard_normal(n_labels)
            if name == "one label":
                moved[-1] = 0.5
            others[name] = ThresholdRule(cuts + moved)
        found: dict[str, list[list[tuple[float, float, float]]]] = {name: [] for name in others}
        for _ in range(SAMPLES):
            problem, groups = sample(rng, n, rates, group_rows)
            units = None if group_rows == 1 else groups
            baseline = left_out(first, problem, units)
            for name, rule in others.items():
                left = left_out(rule, problem, units)
                found[name].append([difference_of(left, baseline, average, 0.95) for average in AVERAGES])
        for name, rows in found.items():
            value, lower, upper = np.array(rows).transpose(2, 0, 1)  # (samples, averages) each
            true = value.mean(axis=0)
            covered = ((lower <= true) & (true <= upper)).mean(axis=0)
            width = ((upper - lower) / 2).mean(axis=0) / (1.96 * value.std(axis=0))
            by_groups = "" if group_rows == 1 else f", groups of {group_rows}"
            design = f"{n} rows, {n_labels} labels of {fewest:g}-{most}{by_groups}: {name}"
            print(f"{design:<58}" + "".join(f"{c:>9.3f} ({w:.2f})" for c, w in zip(covered, width, strict=True)))

    print(f"\nreal files: differences on two halves of the test rows agree, over {SPLITS} ways to halve them")
    for name in REAL if folder is not None else ():
        agree = on_halves(Path(folder or "") / f"{name}.npz")
        print(f"{name:<58}" + "".join(f"{share:>9.3f}       " for share in agree).rstrip())

    print("\nmacro-F1 of a sample, and the mean of 200 bootstrap samples of it")
    for n, n_labels, (fewest, most), group_rows in DESIGNS[1:4]:
        rng = np.random.default_rng(1)
        rates = np.geomspace(fewest, most, n_labels) / n
        problem, _ = sample(rng, n, rates, group_rows)
        rule = ThresholdRule(thresholds_of(rates))
        drawn = [macro(rule, problem.at_rows(rng.integers(0, n, n))) for _ in range(200)]
        design = f"{n} rows, {n_labels} labels of {fewest:g}-{most}"
        print(f"{design:<58}{macro(rule, problem):>9.3f}{np.mean(drawn):>9.3f}")


def macro(rule: ThresholdRule, problem: Problem) -> float:
    """Return macro-F1 over all labels."""
    return f_measure(judge(rule, problem), None, "macro", 1.0, 0.0)


def left_out(rule: ThresholdRule, problem: Problem, units: np.ndarray | None) -> LeftOut:
    """Leave rows, or groups, out."""
    return leave_out_of(decide_all(rule, problem), problem, 1.0, units)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Intervals of differences of rules, simulated and on halves of real test sets."
    )
    parser.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="holds real score files; without it, simulations alone"
    )
    main(parser.parse_args().folder)
