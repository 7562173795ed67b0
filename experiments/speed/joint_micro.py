"""Joint micro thresholds of 300 x 10 scores against coordinate ascent around optimal-classification-cutoffs.

That package has no joint micro thresholds for labels that do not exclude each other, so it gives each label's own best
cut, and from there one label's cut after another is moved to where micro F1 is highest, until none moves. At such a
point each cut maximises tp - r predicted of its label for the same r = F1 / 2, so that no other choice is better. It
is written twice: by counting at each candidate, a score of the label, with the package's `get_confusion_matrix`; and
by the package's vectorised sweep, `optimal_threshold_sortscan`, given micro F1 as the metric.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measuring import Clock, Floats, Measured, Row, Truth, make_data, name_shape
from optimal_cutoffs import get_confusion_matrix, get_optimal_threshold
from optimal_cutoffs.piecewise import optimal_threshold_sortscan
from rivals import counts_by_label, same

import thresholds

SHAPE = (300, 10)
ROUNDS, REPEATS = 5, 50  # calls of ours in each round
OURS = "joint micro"
BY_COUNTING = "optimal-classification-cutoffs and coordinate ascent"
BY_SWEEPS = "the same ascent by its vectorised sweep"
Search = Callable[[Any, Any, float, float], float]


def best_by_counting(truth: Any, p: Any, tp: float, size: float) -> float:
    """Give the candidate of one label with the highest micro F1, given the counts of the others."""
    best, chosen = -1.0, 1.0
    for cut in (1.0, *np.unique(p)[::-1]):
        hits, _, false, _ = get_confusion_matrix(truth, p, cut, comparison=">=")
        f1 = 2 * (tp + hits) / (size + hits + false)
        if f1 > best:
            best, chosen = f1, float(cut)
    return chosen


def best_by_sweep(truth: Any, p: Any, tp: float, size: float) -> float:
    """Give the same by one sweep over sorted scores."""

    def micro_f1(hits: Any, _: Any, false: Any, __: Any) -> Any:
        return 2 * (tp + hits) / (size + hits + false)

    return float(optimal_threshold_sortscan(truth, p, micro_f1, inclusive=True).thresholds[0])


def ascend(search: Search, truth: Truth, p: Floats) -> Floats:
    """Move one cut after another until micro F1 no longer rises."""
    labels = range(p.shape[1])
    cuts = np.array(
        [get_optimal_threshold(truth[:, j], p[:, j], method="sort_scan", comparison=">=").thresholds[0] for j in labels]
    )
    tp, predicted = (((p >= cuts) & part).sum(axis=0) for part in (truth > 0, True))
    positives, reached, before = truth.sum(), 0.0, -1.0
    while reached > before:
        before = reached
        for j in labels:
            others = positives + predicted.sum() - predicted[j]
            cuts[j] = search(truth[:, j], p[:, j], tp.sum() - tp[j], others)
            chosen = p[:, j] >= cuts[j]
            tp[j], predicted[j] = truth[chosen, j].sum(), chosen.sum()
        reached = 2 * tp.sum() / (positives + predicted.sum())
    return cuts


def micro_f1(truth: Truth, p: Floats, cuts: Floats) -> float:
    """Count micro F1."""
    tp, predicted, positives = counts_by_label(truth, p, cuts).sum(axis=1)
    return float(2 * tp / (positives + predicted))


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure interleaved rounds; ours with `n_jobs=-1`, which starts no threads for so little."""
    truth, scores = make_data(*SHAPE)
    p = 1 / (1 + np.exp(-scores.astype(np.float64)))
    fit = partial(thresholds.fit_empirical, truth, p, "micro")
    ascents = {BY_COUNTING: partial(ascend, best_by_counting), BY_SWEEPS: partial(ascend, best_by_sweep)}
    ours = fit()  # The first calls, which compile.
    cuts = {name: ascent(truth, p) for name, ascent in ascents.items()}
    for _ in range(1 if quick else ROUNDS):
        clock.time(OURS, fit, 1 if quick else REPEATS)
        for name, ascent in ascents.items():
            clock.time(name, partial(ascent, truth, p))
    rows = [
        Row(f"{name} / {OURS}", clock.median(name) / clock.median(OURS), bound, on=name_shape(SHAPE))
        for name, bound in ((BY_COUNTING, 100), (BY_SWEEPS, None))
    ]
    best = micro_f1(truth, p, ours.thresholds)
    return rows, [same(f"joint micro F1, and {name}", best, micro_f1(truth, p, cuts[name])) for name in cuts]
