"""Which runs between candidates the optimum may lie in, from counts at some candidates of each label.

At best all positives of a run come first. Its best case has the true positives at the next lower candidate, and the
predictions above the run and of its positives. If one cut that is counted has a higher tp - r predicted than that,
whatever ratio r the optimum may have, the optimum is not there. docs/proofs.md has the proof.
"""

from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Floats, Ints, Keys
from thresholds._engine.choosing import highest_ratio
from thresholds.data.tallies import Items

_ROUNDING = 1e-12  # relative, of a value of tp - r predicted: a hundred times more than it can be


class OpenRuns(NamedTuple):
    """Where the optimum of each label may lie beside the candidates: strictly between two keys."""

    label: Ints  # (n_open,) the labels that have such a run, rising
    low: Keys  # (n_open,) the candidate below the lowest run, 0 without one
    # (n_open,) the candidate above the highest run, the highest key there is without one
    high: Keys

    @classmethod
    def nowhere(cls, dtype: "np.dtype[np.unsignedinteger[Any]]") -> "OpenRuns":
        """Return that it is at a candidate in each label, whose keys are of that dtype."""
        return cls(np.empty(0, np.int64), *np.empty((2, 0), dtype))


class _Points(NamedTuple):
    """What is predicted, and truly so, at one item of each label after another."""

    starts: Ints  # (n_labels + 1,)
    tp: Ints  # (n_items,)
    predicted: Ints  # (n_items,)

    def values(self, ratio: float | Floats) -> Floats:
        """Return tp - ratio predicted, for one ratio or one of each item, (n_items,)."""
        return np.asarray(self.tp - ratio * self.predicted)

    def best(self, ratio: float | Floats) -> Ints:
        """Return the item of each label of the highest value, (n_labels,)."""
        values = self.values(ratio)
        label = group_of(self.starts)
        highest = np.maximum.reduceat(values, self.starts[:-1])  # (n_labels,)
        are_best = np.flatnonzero(values == highest[label])
        _, first = np.unique(label[are_best], return_index=True)
        return np.asarray(are_best[first])

    def highest_joint_ratio(self, beta2_positives: float) -> float:
        """Return the highest ratio of all labels together, each at one of its items or never predicted."""

        def choose(ratio: float) -> tuple[int, int, None]:
            best = self.best(ratio)
            used = best[self.tp[best] - ratio * self.predicted[best] > 0]
            return int(self.tp[used].sum()), int(self.predicted[used].sum()), None

        return highest_ratio(choose, beta2_positives)[0]


def open_runs(
    counted: Items, is_run: Booleans, beta: float, *, jointly: bool, above: int | None = None
) -> OpenRuns:
    """Return where the best cut of each label, or of all `jointly`, may lie beside the candidates.

    Items of each label rise; those that are runs are told, (n_items,). With `above` cuts lie above that key.
    """
    starts = counted.starts
    label = group_of(starts)  # (n_items,)
    has_positives = is_run & (counted.positive_weights > 0)
    if not has_positives.any():
        return OpenRuns.nowhere(counted.keys.dtype)

    # What a cut below each item counts: that can be reached. Where an item is a run, at best its positives come first.
    tp = _at_or_above(starts, label, counted.positive_weights)
    predicted = _at_or_above(starts, label, counted.weights)
    saved = np.where(is_run, counted.weights - counted.positive_weights, 0)
    reachable = (
        np.ones(is_run.size, np.bool_) if above is None else _cut_above(counted, is_run, above)
    )
    reached = _Points(starts, tp * reachable, predicted * reachable)
    hoped = _Points(starts, tp, predicted - saved)
    positives = tp[starts[:-1]]  # (n_labels,)
    slack = _ROUNDING * float(predicted.max())

    # The ratio of the optimum lies between the best that is reached and the best that is hoped for.
    if jointly:
        beta2_all = beta**2 * float(positives.sum())
        ratios = [
            np.full(positives.size, reached.highest_joint_ratio(beta2_all) * (1 - _ROUNDING)),
            np.full(positives.size, hoped.highest_joint_ratio(beta2_all) * (1 + _ROUNDING)),
        ]
    else:
        ratio = reached.tp / np.maximum(beta**2 * positives[label] + reached.predicted, 1)
        ratios = [np.maximum.reduceat(ratio, starts[:-1])]

    # A run is out if one cut beats its best case at both ratios, and so at all between. Never is a cut, too.
    is_out = ~has_positives
    if above is not None:
        is_out |= counted.keys <= above
    for at in ratios:
        best = reached.best(at[label])  # (n_labels,)
        is_never = reached.tp[best] - at * reached.predicted[best] <= 0
        is_beaten = np.ones(is_run.size, np.bool_)
        for end in ratios:
            value = np.where(is_never, 0.0, reached.values(end[label])[best])  # (n_labels,)
            is_beaten &= hoped.values(end[label]) + slack < value[label]
        is_out |= is_beaten
    return _outermost(counted, label, np.flatnonzero(~is_out))


def runs_with_positives(counted: Items, is_run: Booleans) -> OpenRuns:
    """Return where any step of a label lies beside the candidates."""
    label = group_of(counted.starts)
    return _outermost(counted, label, np.flatnonzero(is_run & (counted.positive_weights > 0)))


def _cut_above(counted: Items, is_run: Booleans, key: int) -> Booleans:
    """Whether a cut below each item, but for the lower ones of its label, lies above a key, (n_items,)."""
    # Of a run only its highest score is known: all of it lies above the candidate below.
    below = np.append(np.zeros(1, counted.keys.dtype), counted.keys[:-1])
    below[counted.starts[:-1]] = 0
    return np.where(is_run, below >= key, counted.keys > key)


def _at_or_above(starts: Ints, label: Ints, weights: Ints) -> Ints:
    """Add up weights from each item to the highest of its label, (n_items,)."""
    before = np.append(0, weights.cumsum())  # (n_items + 1,) of all items before each
    return np.asarray(before[starts[1:]][label] - before[:-1])


def _outermost(counted: Items, label: Ints, is_open: Ints) -> OpenRuns:
    """Return the keys around the lowest and the highest of the runs of each label that are open."""
    labels, first = np.unique(label[is_open], return_index=True)
    lowest = is_open[first]  # (n_open,)
    highest = is_open[np.append(first, is_open.size)[1:] - 1] if labels.size else lowest
    dtype = counted.keys.dtype
    top = np.full(1, np.iinfo(dtype).max, dtype)
    keys = np.concatenate([np.zeros(1, dtype), counted.keys, top])  # (n_items + 2,)
    has_below = lowest > counted.starts[labels]
    has_above = highest + 1 < counted.starts[labels + 1]
    low = np.where(has_below, keys[lowest], keys[0])
    return OpenRuns(labels, low, np.where(has_above, keys[highest + 2], top))
