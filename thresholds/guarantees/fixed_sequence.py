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

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns, Steps
from thresholds.data.folds import SEED
from thresholds.guarantees import exact_tests
from thresholds.guarantees.exact_tests import is_shown, positives_needed
from thresholds.guarantees.ranges import Ranges

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


def shown_precision(
    found: Histograms, rows: Problem, first: int, floor: Floats, delta: Floats
) -> Ranges:
    """Return the thresholds of labels that are shown to keep a floor of precision.

    Parameters
    ----------
    found : exact histograms of some labels, of the rows that are tested, each of weight 1 or 0
    rows : these rows, which are read where a start lies among equal scores
    first : the number of the first of the labels
    floor : (n_labels,), NaN for a label without one
    delta : (n_labels,), the error allowed to each label

    Returns
    -------
    Ranges (n_starts of them for each label), of which a label without a floor has none
    """
    n_above, shares = starts_of(floor, delta, found.totals.astype(np.float64))
    low, high = np.full_like(n_above, np.nan), np.full_like(n_above, np.nan)
    if np.isnan(n_above).all():
        return Ranges(low, high)
    cuts = found.cuts
    bins = _bins_of(cuts, n_above)
    hits = _hits_above(found, cuts, bins, rows, first, floor, n_above, shares)
    passes = is_shown(hits, n_above, floor, shares)  # (n_starts, n_labels)
    reached = np.zeros(floor.size)  # rows at or above the lowest cut that is shown
    for k in np.flatnonzero(passes.any(axis=1)):
        # A sequence that has come as far is tested at a higher level, and goes on at least as far.
        wanted = passes[k] & (n_above[k] >= reached)
        if wanted.any():
            shown = _down_from(found, cuts, bins[k], floor, shares[k], wanted)
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


class _Shown(NamedTuple):
    """What is shown from a start of each label: ends of thresholds, NaN for nothing, and how many rows."""

    low: Floats  # (n_labels,)
    high: Floats  # (n_labels,)
    reached: Floats  # (n_labels,)


def _bins_of(cuts: Steps, n_above: Floats) -> Ints:
    """Return the bin that each start of each label lies in, or at the upper end of, (n_starts, n_labels).

    Where a label has no such start, it is any bin.
    """
    bins = np.empty(n_above.shape, np.int64)
    for j, (first, last) in enumerate(pairwise(cuts.offsets.tolist())):
        n_before = np.searchsorted(cuts.predicted[first:last], n_above[:, j], side="right")
        bins[:, j] = np.minimum(first + n_before, last - 1)
    return bins


def _hits_above(
    found: Histograms,
    cuts: Steps,
    bins: Ints,
    rows: Problem,
    first: int,
    floor: Floats,
    n_above: Floats,
    shares: Floats,
) -> Ints:
    """Count the hits above the starts of each label, (n_starts, n_labels); of equal scores in an order drawn."""
    # What lies in the bins above, and how many rows of the bin itself do.
    hits_tied, tied = found.hits[bins], found.weights[bins]
    hits = cuts.tp[bins] - hits_tied
    has_start = ~np.isnan(n_above)
    n_taken = np.where(has_start, n_above - (cuts.predicted[bins] - tied), 0).astype(np.int64)

    # Which rows these are is drawn only where it matters: where the most hits would pass, and the fewest would not.
    fewest = np.maximum(n_taken - (tied - hits_tied), 0)
    most = np.minimum(n_taken, hits_tied)
    is_open = is_shown(hits + most, n_above, floor, shares)
    is_open &= ~is_shown(hits + fewest, n_above, floor, shares)
    hits += np.where(is_open, 0, fewest)
    drawn = np.flatnonzero(is_open.any(axis=0))  # (n_drawn,) labels
    if drawn.size:
        n_taken = np.where(is_open, n_taken, 0)[:, drawn]
        hits[:, drawn] += _hits_among_ties(rows, first + drawn, cuts.cut[bins][:, drawn], n_taken)
    return hits


def _hits_among_ties(rows: Problem, labels: Ints, scores: Floats, n_taken: Ints) -> Ints:
    """Count the positives among the first so many rows at some scores of labels, all (n_starts, n_labels).

    These rows come in an order that is drawn without truth. What a sparse matrix leaves out has no order: none of these
    rows counts as a hit.
    """
    unordered = rows.missing if is_sparse(rows.scores) else None

    def count(columns: Columns, _: Memory) -> Ints:
        hits = np.zeros((len(n_taken), columns.n_labels), np.int64)
        for j in range(columns.n_labels):
            cells, truth, _weights = columns.of_label(j)
            place = _places(cells.size)
            for k in np.flatnonzero(n_taken[:, columns.first + j]):
                score, n_first = scores[k, columns.first + j], n_taken[k, columns.first + j]
                if score != unordered:
                    tied = np.flatnonzero(cells == score)
                    firsts = tied[place[tied].argsort()[:n_first]]
                    hits[k, j] = np.count_nonzero(truth[firsts])
        return hits

    return np.concatenate(over_labels(rows.at_labels(labels), count, n_jobs=1), axis=1)


@lru_cache(maxsize=1)  # Most labels have the same rows.
def _places(n_rows: int) -> Ints:
    """Return the place (n_rows,) of each row in an order that is drawn without truth."""
    place = np.random.default_rng(SEED).permutation(n_rows)
    place.flags.writeable = False
    return place


def _down_from(
    found: Histograms,
    cuts: Steps,
    start: Ints,
    floor: Floats,
    delta: Floats,
    passes: Booleans,
) -> _Shown:
    """Find what is shown from one start of each label whose rows above show the floor; `start` is its bin."""
    # The cut at the start's score, whole.
    passes = passes & is_shown(cuts.tp[start], cuts.predicted[start], floor, delta)

    # From there down: the first step that does not show the floor ends it, and the last one above it is reached.
    steps = np.flatnonzero(found.hits)  # (n_steps,) bins
    failure = _first_failure(found, cuts, steps, floor, delta, start, passes)
    last_step = np.append(steps, -1)[steps.searchsorted(failure) - 1]  # (n_labels,) bins
    last = np.maximum(last_step, start)
    low = np.where(np.isnan(cuts.lower[last]), -np.inf, cuts.lower[last])
    return _Shown(
        np.where(passes, low, np.nan),
        np.where(passes, cuts.cut[start], np.nan),
        np.where(passes, cuts.predicted[last], 0),
    )


def _first_failure(
    found: Histograms,
    cuts: Steps,
    steps: Ints,
    floor: Floats,
    delta: Floats,
    start: Ints,
    wanted: Booleans,
) -> Ints:
    """Find the first step below a bin of each label that does not show the floor, (n_labels,) all.

    It is the end of the label if all do, and the next bin where nothing is wanted. A step fails with the cut just above
    it, too: of those between two steps the hardest to show, as hits stay and predictions grow.
    """
    first = start + 1
    last = np.where(wanted, found.offsets[1:], first)
    tp, predicted = cuts.tp, cuts.predicted

    # Where the share of hits is not above the floor, nothing is shown: it ends there at the latest.
    own, label = _steps_between(steps, first, last)
    fails = tp[own] <= floor[label] * predicted[own]
    last = _first_among(own[fails], first, last)

    # What a test at one step does not follow from: one more hit in one more row shows no less.
    own, label = _steps_between(steps, first, last)
    after_negatives = found.hits[own - 1] == 0
    has_negatives = found.weights[own] > found.hits[own]
    at = np.concatenate([own[after_negatives] - 1, own[has_negatives]])  # (n_tests,) bins
    label = np.concatenate([label[after_negatives], label[has_negatives]])
    fails = ~is_shown(tp[at], predicted[at], floor[label], delta[label])
    tested = np.concatenate([own[after_negatives], own[has_negatives]])
    return _first_among(np.sort(tested[fails]), first, last)


def _steps_between(steps: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return the steps among the bins `first:last` of each label, and their labels, one label after another."""
    firsts, lasts = steps.searchsorted([first, last])  # (n_labels,)
    n_steps = lasts - firsts
    label = np.repeat(np.arange(n_steps.size), n_steps)
    before = n_steps.cumsum() - n_steps
    return steps[(firsts - before)[label] + np.arange(label.size)], label


def _first_among(steps: Ints, first: Ints, last: Ints) -> Ints:
    """Return the first of some rising steps in `first:last` of each label (n_labels,), or `last`."""
    padded = np.append(steps, np.iinfo(np.int64).max)
    found = padded[np.searchsorted(steps, first)]
    return np.asarray(np.minimum(found, last))
