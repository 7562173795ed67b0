"""What a label reaches at each threshold: the points of a curve that is to be drawn.

Nothing is fitted here. The points are steps, so that each is exact. From a step down to the next one F
only falls, as nothing but false positives is added, and no step is better than the best one, which is among the points.
A label of many steps has points at some of them only.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._engine.choosing import best_steps
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.problem import Problem


class Curve(NamedTuple):
    """Thresholds of one label from the highest down, and what each predicts; weights are counts, as everywhere."""

    threshold: Floats  # (n_points,) falling: scores at or above it are predicted; the last one predicts all
    tp: Floats  # (n_points,)
    predicted: Floats  # (n_points,)
    positives: float
    n_samples: float
    best: int  # the point of highest F-beta, exactly that of a fit; -1 without positives

    @property
    def precision(self) -> Floats:
        """The share of the predictions that are true, (n_points,)."""
        return np.asarray(self.tp / self.predicted)

    @property
    def recall(self) -> Floats:
        """The share of the positives that are predicted, (n_points,); NaN without positives."""
        if self.positives == 0:
            return np.full(self.tp.shape, np.nan)
        return np.asarray(self.tp / self.positives)

    def f(self, beta: float = 1.0) -> Floats:
        """F-beta at each threshold, (n_points,)."""
        positives = np.full(self.tp.shape, self.positives)
        return np.asarray(f_of_counts(self.tp, self.predicted, positives, beta, 0.0))


def curves(
    problem: Problem, labels: Sequence[int], *, most: int = 200, beta: float = 1.0
) -> list[Curve]:
    """Return the curve of each of the labels in at most `most` points.

    The highest and the lowest step are among them, the best one, and one that predicts all. Of the others, half lie
    evenly by recall, and half evenly by its logarithm: precision changes most among the few highest scores.
    """

    def of_labels(found: Histograms, _: int) -> list[Curve]:
        each = (found.of_labels(slice(j, j + 1)) for j in range(found.n_labels))
        return [_curve(problem, label, most, beta) for label in each]

    if not labels:
        return []
    drawn = problem.at_labels(np.array(labels))
    return list(chain.from_iterable(over_histograms(drawn, of_labels)))


def _curve(problem: Problem, found: Histograms, most: int, beta: float) -> Curve:
    """Return the curve of the one label of exact histograms."""
    cuts = found.steps.cuttable(problem)
    best_step = int(best_steps(cuts, beta**2)[0])
    steps = _spread(cuts.cut.size, most - 2)  # beside the best one and one that predicts all
    if best_step >= 0:
        steps = np.append(steps, best_step)
    steps = np.unique(steps)  # (n_points,)

    # Below the last positive F falls to that of predicting all.
    positives = int(found.positives[0])
    total = int(found.totals[0])
    threshold = cuts.cut[steps]
    tp = cuts.tp[steps]
    predicted = cuts.predicted[steps]
    if steps.size == 0 or predicted[-1] < total:
        lowest = found.lowest[-1] if found.lowest.size else np.inf
        threshold = np.append(threshold, lowest)
        tp = np.append(tp, positives)
        predicted = np.append(predicted, total)
    return Curve(
        threshold,
        np.asarray(tp * problem.unit, np.float64),
        np.asarray(predicted * problem.unit, np.float64),
        positives * problem.unit,
        total * problem.unit,
        int(np.searchsorted(steps, best_step)) if best_step >= 0 else -1,
    )


def _spread(n_steps: int, most: int) -> Ints:
    """Choose at most so many of some steps, the first and the last among them if there is room for two."""
    if n_steps <= most:
        return np.arange(n_steps)
    n_even = (most + 1) // 2
    evenly = np.linspace(0, n_steps - 1, n_even)
    by_logarithm = np.geomspace(1, n_steps, most - n_even) - 1
    return np.unique(np.concatenate([evenly, by_logarithm]).round().astype(np.int64))
