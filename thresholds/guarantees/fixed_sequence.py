"""Which cuts are shown to keep a floor of precision: exact tests down a sequence that is fixed without truth.

To test every cut and take any that passes would promise too much: the best of many is best in part by luck. In a fixed
sequence each is tested at the full level, and the first that fails ends it (Learn then Test; Angelopoulos, Bates,
Candes, Jordan & Lei 2021, section 3.2). The highest cuts hold too few rows to show anything, so the sequence starts at
a rank, and as the best rank is not known there are several starts, which share the error that is allowed:

    start i lies below n_i rows, n_0 being the least number of which all hits show the floor, n_i = 2^i n_0;
    the first has .7 of the error, the others, down to the number of rows, have equal shares of the rest.

The first finds most of what can be shown where the highest scores are the surest. The others find it where they are
not: where the labels of some of the highest rows are wrong, say.

A start is tested with the n_i rows above it, rows of equal scores in an order that is drawn without truth: given where
the start lies, they are drawn alike from the rows above it. If they show the floor, the cut at the start's score
follows, then every lower one, groups of equal scores whole, until one does not show it. docs/proofs.md has the proof
that this is exact for any law of scores and truth, ties included.
"""

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds.data.folds import SEED
from thresholds.data.problem import Items
from thresholds.guarantees import exact_tests
from thresholds.guarantees.exact_tests import is_shown, positives_needed
from thresholds.guarantees.ranges import Ranges
from thresholds.search.ranks import count_at, keys_of, rows_of, scores_at
from thresholds.search.staircase import Staircase

# Chosen on simulated labels (two normal laws, continuous and of 6 values, and with false rows on
# top; 40 to 25,000 rows, base rates .02 to .5, AUROC .86 to .993, floors .5 to .9): mean F .489,
# .424, .243. One start had .491, .423, .011; shares that fall geometrically .488, .426, .226; starts
# four times apart .491, .427, .210; a first share of .5 .479, .417, .250.
_TIMES_THE_ROWS = 2
_FIRST_SHARE = 0.7  # of the error, to the first start


class Starts(NamedTuple):
    """Where the sequences of each label start; NaN where it has fewer rows than that."""

    n_above: Floats  # (n_starts, n_labels), rows above the start
    delta: Floats  # (n_starts, n_labels), the error that it is allowed


def starts_of(floor: Floats, delta: Floats, n_rows: Floats) -> Starts:
    """Choose the starts of labels (n_labels,) by floor, allowed error and number of rows; nothing else is looked at.

    Examples
    --------
    >>> starts_of(np.array([0.9]), np.array([0.05]), np.array([1000.0])).n_above.ravel()
    array([ 32.,  64., 128., 256., 512.,  nan])
    """
    first = positives_needed(floor, _FIRST_SHARE * delta)  # (n_labels,)
    most = float(np.nanmax(n_rows / first, initial=0.0))
    n_starts = 1 + max(math.ceil(math.log(most, _TIMES_THE_ROWS)), 0) if most > 1 else 1
    i = np.arange(n_starts)[:, np.newaxis]
    n_above = first * float(_TIMES_THE_ROWS) ** i
    fits = n_above < n_rows  # A start has a row at its rank.
    of_others = (1 - _FIRST_SHARE) * delta / np.maximum(np.count_nonzero(fits, axis=0) - 1, 1)
    shares = np.where(i == 0, _FIRST_SHARE * delta, of_others)
    return Starts(np.where(fits, n_above, np.nan), np.where(fits, shares, np.nan))


def shown_precision(items: Items, stairs: Staircase, floor: Floats, delta: Floats) -> Ranges:
    """Return the thresholds of labels that are shown to keep a floor of precision.

    Parameters
    ----------
    items, stairs : of some labels: the rows that are tested, each of weight 1 or 0, and their staircase
    floor : (n_labels,), NaN for a label without one
    delta : (n_labels,), the error allowed to each label

    Returns
    -------
    Ranges (n_starts of them for each label), of which a label without a floor has none
    """
    n_above, shares = starts_of(floor, delta, rows_of(items).astype(np.float64))
    if np.isnan(n_above).all() or not stairs.tp.size:
        return Ranges(np.full_like(n_above, np.nan), np.full_like(n_above, np.nan))
    steps = _Steps.of(stairs)
    gates = _gates_of(items, steps, floor, n_above, shares)
    passes = is_shown(gates.hits, n_above, floor, shares)  # (n_starts, n_labels)
    low, high = np.full_like(n_above, np.nan), np.full_like(n_above, np.nan)
    reached = np.zeros(floor.size)  # rows at or above the lowest cut that is shown
    for k in np.flatnonzero(passes.any(axis=1)):
        # A sequence that has come as far is tested at a higher level, and goes on at least as far.
        wanted = passes[k] & (n_above[k] >= reached)
        if wanted.any():
            gate = _Gates(*(values[k] for values in gates))
            shown = _down_from(items, steps, floor, n_above[k], shares[k], gate, wanted)
            low[k], high[k] = shown.low, shown.high
            reached = np.maximum(reached, shown.reached)
    return Ranges(low, high)


def predictions_needed(floor: Floats, delta: Floats, precision: Floats) -> Floats:
    """Return how many predictions, of that precision, would show a floor by the level of the first start.

    They are those of a single test, and one at least below the rows that the start is tested with, which are all hits.
    """
    error = _FIRST_SHARE * delta
    of_a_test = exact_tests.predictions_needed(floor, error, precision)
    return np.asarray(np.maximum(of_a_test, positives_needed(floor, error) + 1))


class _Steps(NamedTuple):
    """The staircase of some labels, and what it adds up to at each of its steps."""

    stairs: Staircase
    label: Ints  # (n_steps,)
    predicted: Ints  # (n_steps,)

    @classmethod
    def of(cls, stairs: Staircase) -> "_Steps":
        """Count at each step."""
        return cls(stairs, stairs.label, stairs.predicted)

    def first_failure(self, floor: Floats, delta: Floats, first: Ints, last: Ints) -> Ints:
        """Find the first step of `first:last` of each label (n_labels,) that does not show the floor; `last` if all do.

        A step fails with the cut just above it, too: of those between two steps the hardest to show, as hits stay and
        predictions grow.
        """
        # Where the share of hits is not above the floor, nothing is shown: it ends there at the latest.
        steps = _steps_between(first, last)
        fails = self.stairs.tp[steps] <= floor[self.label[steps]] * self.predicted[steps]
        last = _first_among(steps[fails], first, last)

        # What a test at one step does not follow from: one more hit in one more row shows no less.
        steps = _steps_between(first, last)
        tp, predicted, higher = self.stairs.tp, self.predicted, self.stairs.higher
        has_step_above = steps > self.stairs.offsets[self.label[steps]]
        tp_above = np.where(has_step_above, tp[steps - 1], 0)
        predicted_above = np.where(has_step_above, predicted[steps - 1], 0)
        passes_negatives = higher[steps] > predicted_above
        has_negatives = predicted[steps] - higher[steps] > tp[steps] - tp_above
        tested = np.concatenate([steps[passes_negatives], steps[has_negatives]])
        hits = np.concatenate([tp_above[passes_negatives], tp[steps[has_negatives]]])
        n = np.concatenate([higher[steps[passes_negatives]], predicted[steps[has_negatives]]])
        label = self.label[tested]
        fails = ~is_shown(hits, n, floor[label], delta[label])
        return _first_among(np.sort(tested[fails]), first, last)


class _Gates(NamedTuple):
    """What lies above the starts of each label; all (n_starts, n_labels), or (n_labels,) of one start."""

    next: Ints  # the first step that is not wholly above the start
    on_step: Booleans  # whether the start lies in it, and not among negatives
    hits: Ints  # among the rows above the start


class _Shown(NamedTuple):
    """What is shown from a start of each label: ends of thresholds, NaN for nothing, and how many rows."""

    low: Floats  # (n_labels,)
    high: Floats  # (n_labels,)
    reached: Floats  # (n_labels,)


def _down_from(
    items: Items,
    steps: _Steps,
    floor: Floats,
    n_above: Floats,
    delta: Floats,
    start: _Gates,
    passes: Booleans,
) -> _Shown:
    """Find what is shown from one start of each label whose gate passes."""
    stairs = steps.stairs
    nothing = np.full(floor.size, np.nan)

    # The score of the start, the next lower one, and what is predicted there; from the staircase where it is a step.
    at = np.minimum(start.next, max(stairs.tp.size - 1, 0))
    high, low, tp, predicted = nothing.copy(), nothing.copy(), start.hits.copy(), nothing.copy()
    on_step = passes & start.on_step
    for own, of_steps in (
        (high, stairs.score),
        (low, stairs.lower),
        (tp, stairs.tp),
        (predicted, steps.predicted),
    ):
        own[on_step] = of_steps[at[on_step]]
    between = passes & ~start.on_step
    if between.any():
        rank = np.where(between, n_above + 1, 1)
        score, _ = scores_at(items, rank, rank)
        counts = count_at(items, score)
        after = counts.above + counts.tied
        _, lower = scores_at(items, rank, np.minimum(after + 1, rows_of(items)))
        high[between], predicted[between] = score[between], after[between]
        low[between] = np.where(lower < score, lower, np.nan)[between]
    passes = passes & is_shown(tp, predicted, floor, delta)

    # From there down: the first step that does not show the floor ends it.
    first = start.next + start.on_step
    after_last = steps.first_failure(
        floor, delta, first, np.where(passes, stairs.offsets[1:], first)
    )
    goes_on = after_last > first
    low[goes_on] = stairs.lower[after_last[goes_on] - 1]
    predicted[goes_on] = steps.predicted[after_last[goes_on] - 1]
    low = np.where(np.isnan(low), -np.inf, low)
    return _Shown(
        np.where(passes, low, np.nan),
        np.where(passes, high, np.nan),
        np.where(passes, predicted, 0),
    )


def _gates_of(
    items: Items, steps: _Steps, floor: Floats, n_above: Floats, shares: Floats
) -> _Gates:
    """Count the hits above the starts of each label; of the rows of a step that one lies in, the first by place."""
    stairs = steps.stairs
    # Steps that lie above each start as a whole, and the next one.
    after = np.empty(n_above.shape, np.int64)
    for j, (first, last) in enumerate(pairwise(stairs.offsets.tolist())):
        own = steps.predicted[first:last]
        after[:, j] = first + np.searchsorted(own, n_above[:, j], side="right")
    hits = np.where(after > stairs.offsets[:-1], np.append(stairs.tp, 0)[after - 1], 0)

    # Whether it lies in the next step, and how many of the rows of that are above.
    higher = np.append(stairs.higher, 0)[after]
    on_step = (after < stairs.offsets[1:]) & (higher <= n_above)
    n_taken = np.where(on_step, n_above - higher, 0).astype(np.int64)

    # Which rows these are is drawn only where it matters: where the most hits would pass, and the fewest would not.
    hits_tied = np.append(stairs.increments(stairs.tp), 0)[after]
    tied = np.append(steps.predicted - stairs.higher, 0)[after]
    fewest = np.maximum(n_taken - (tied - hits_tied), 0)
    most = np.minimum(n_taken, hits_tied)
    is_open = is_shown(hits + most, n_above, floor, shares)
    is_open &= ~is_shown(hits + fewest, n_above, floor, shares)
    hits = hits + np.where(is_open, 0, fewest)
    n_taken = np.where(is_open, n_taken, 0)
    for k in np.flatnonzero(n_taken.any(axis=1)):
        score = np.append(stairs.score, 0)[after[k]]
        hits[k] += _hits_among_ties(items, score, n_taken[k])
    return _Gates(after, on_step, hits)


def _hits_among_ties(items: Items, score: Floats, n_taken: Ints) -> Ints:
    """Count the positives (n_labels,) among the first rows at a score, in an order that is drawn without truth.

    What a sparse matrix leaves out is one item, whose rows have no order: none of them counts as a hit.
    """
    hits = np.zeros(score.size, np.int64)
    keys = keys_of(items, score)
    for j in np.flatnonzero(n_taken):
        own = slice(items.starts[j], items.starts[j + 1])
        tied = np.flatnonzero(items.keys[own] == keys[j])
        if not items.is_unweighted:
            weights = items.weights[own][tied]
            if weights.max() > 1:
                continue
            tied = tied[weights > 0]
        # The order depends on the number of rows alone: not on the labels that share a tile.
        place = _places(int(own.stop - own.start))[tied]
        if n_taken[j] < tied.size:
            tied = tied[np.argpartition(place, n_taken[j])[: n_taken[j]]]
        hits[j] = np.count_nonzero(items.positive_weights[own][tied])
    return hits


@lru_cache(maxsize=1)  # Most labels have the same rows.
def _places(n_rows: int) -> Ints:
    """Return the place (n_rows,) of each row in an order that is drawn without truth."""
    place = np.random.default_rng(SEED).permutation(n_rows)
    place.flags.writeable = False
    return place


def _steps_between(first: Ints, last: Ints) -> Ints:
    """Return the steps `first:last` of each label, one label after another."""
    n_steps = last - first  # (n_labels,)
    before = n_steps.cumsum() - n_steps
    return np.repeat(first - before, n_steps) + np.arange(n_steps.sum())


def _first_among(steps: Ints, first: Ints, last: Ints) -> Ints:
    """Return the first of some rising steps in `first:last` of each label (n_labels,), or `last`."""
    padded = np.append(steps, np.iinfo(np.int64).max)
    found = padded[np.searchsorted(steps, first)]
    return np.asarray(np.minimum(found, last))
