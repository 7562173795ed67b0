"""Which thresholds are shown to keep a floor of a label: of recall by order statistics, of precision by a sequence.

**Recall** falls as the cut rises, so all that is needed is the highest cut that is shown. The recall of a cut at the
r-th lowest of P positives follows the law Beta(P - r + 1, r), whatever the law of the scores (Wilks 1941; ties only
raise it), and every lower cut has at least as much. The highest cut is at the largest r for which

    P(Beta(P - r + 1, r) >= floor) >= 1 - delta,

in counts: the cut that finds the least number h of the positives for which P(Bin(P, floor) >= h) <= delta.

**Precision** may rise and fall. To test every cut and take any that passes would claim too much: the best of many is
best in part by luck. In a fixed sequence each is tested at the full level, and the first that fails ends it (Learn then
Test; Angelopoulos, Bates, Candes, Jordan & Lei 2021, section 3.2). The highest cuts hold too few rows to show anything,
so the sequence starts at a rank, and as the best rank is not known there are several starts, which share the error that
is allowed:

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
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns, Steps
from thresholds.data.folds import SEED
from thresholds.guarantees.exact_tests import (
    is_shown,
    least_hits,
    positives_needed,
    predictions_needed,
)


class Ranges(NamedTuple):
    """Thresholds t of labels with `low < t <= high`, or `t == low == -inf`; several ranges a label, NaN for none.

    The ends are scores of the rows that were tested, so no range ends within a gap between two scores of the fit.
    """

    low: Floats  # (n_ranges, n_labels)
    high: Floats  # (n_ranges, n_labels)

    @property
    def any(self) -> Booleans:
        """Whether a label (n_labels,) has a range."""
        return np.asarray((~np.isnan(self.high)).any(axis=0))

    def of_labels(self, labels: slice | Ints) -> "Ranges":
        """Return the ranges of some labels."""
        return Ranges(self.low[:, labels], self.high[:, labels])

    def within(self, high: Floats) -> "Ranges":
        """Return what lies at or below an end (n_labels,) of each label, nothing where that is NaN."""
        lowered = np.minimum(self.high, high)
        has_some = (self.low < lowered) | (lowered == -np.inf)
        return Ranges(np.where(has_some, self.low, np.nan), np.where(has_some, lowered, np.nan))

    def contain(self, thresholds: Floats) -> Booleans:
        """Whether the threshold of each label (n_labels,) lies in one of its ranges."""
        inside = (self.low < thresholds) & (thresholds <= self.high)
        inside |= (thresholds == -np.inf) & (self.low == -np.inf)
        return np.asarray(inside.any(axis=0))


def joined_ranges(parts: Sequence[Ranges]) -> Ranges:
    """Join the ranges of consecutive labels."""
    n_ranges = max(len(part.low) for part in parts)
    n_labels = sum(part.low.shape[1] for part in parts)
    joined = Ranges(*np.full((2, n_ranges, n_labels), np.nan))
    first = 0
    for low, high in parts:
        labels = slice(first, first + low.shape[1])
        joined.low[: len(low), labels], joined.high[: len(low), labels] = low, high
        first = labels.stop
    return joined


def certified_cuts(found: Histograms, allowed: Ranges) -> Steps:
    """Return the steps that lie in ranges, and cuts at the high ends of ranges at which there is no step.

    Between two steps F only falls on the way down, so the best cut of a range is a step or its high end. A range has
    the whole gap below each of its cuts, as it ends at scores; "always" is a cut at -inf, whether a cell lies there or
    not. `found` has a bin for each score.
    """
    found = _with_always(found, (allowed.high == -np.inf).any(axis=0))
    ranges = np.flatnonzero(~np.isnan(allowed.high).all(axis=1))
    # 1. Steps, and high ends.
    label = found.label  # (n_bins,)
    is_wanted = found.hits > 0
    for k in ranges:
        is_wanted |= found.lowest == allowed.high[k][label]
    # 2. Those of them that lie in a range.
    cuts = found.cuts.where(is_wanted)
    label, score = cuts.label, cuts.cut
    is_allowed = np.zeros(score.size, np.bool_)
    for k in ranges:
        low, high = allowed.low[k][label], allowed.high[k][label]  # (n_cuts,)
        is_allowed |= (low < score) & (score <= high)
        is_allowed |= (low == -np.inf) & (score == -np.inf)
    return cuts.where(is_allowed)


def _with_always(found: Histograms, wanted: Booleans) -> Histograms:
    """Give labels (n_labels,) that are to be predicted always a bin at -inf, if they have scores and no such bin."""
    lasts = found.offsets[1:]
    has_bins = np.diff(found.offsets) > 0
    wanted = wanted & has_bins
    wanted[has_bins] &= found.lowest[lasts[has_bins] - 1] > -np.inf
    if not wanted.any():
        return found
    at = lasts[wanted]
    return Histograms(
        found.offsets + np.append(0, wanted.cumsum()),
        np.insert(found.lowest, at, -np.inf),
        np.insert(found.highest, at, -np.inf),
        np.insert(found.hits, at, 0),
        np.insert(found.weights, at, 0),
    )


# Recall


def certified_recall(steps: Steps, floor: Floats, delta: Floats) -> Floats:
    """Return the highest threshold of each label that is shown to keep a floor of recall, as all below it do.

    Parameters
    ----------
    steps : of the rows that are tested, each of weight 1 or 0
    floor : (n_labels,), NaN for a label without one
    delta : (n_labels,), the error allowed to each label

    Returns
    -------
    (n_labels,) NaN where none is shown, +inf without a floor or for one of 0, which all thresholds keep
    """
    hits = least_hits(steps.positives, floor, delta)  # (n_labels,)
    enough = np.flatnonzero(steps.tp >= hits[steps.label])
    first = np.append(enough, steps.tp.size)[np.searchsorted(enough, steps.offsets[:-1])]
    has_cut = first < steps.offsets[1:]
    high = np.full(floor.size, np.nan)
    high[has_cut] = steps.cut[first[has_cut]]
    return np.where(_is_free(floor), np.inf, high)


def _is_free(floor: Floats) -> Booleans:
    """Tell which labels have no floor, (n_labels,), or one of 0, which everything keeps."""
    return np.asarray(np.isnan(floor) | (floor == 0))


# Precision

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


def certified_precision(
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
    Ranges, one for each start of each label; of all thresholds for a label without a floor, or with one of 0
    """
    is_free = _is_free(floor)
    floor = np.where(is_free, np.nan, floor)
    starts = starts_of(floor, delta, found.totals.astype(np.float64))
    low, high = np.full((2, *starts.n_above.shape), np.nan)
    low[0, is_free], high[0, is_free] = -np.inf, np.inf
    if np.isnan(starts.n_above).all():
        return Ranges(low, high)
    cuts = found.cuts
    # The bin that has the row below each start; where a label has no such start, it is any bin.
    bins_at = [found.bins_at(np.nan_to_num(n_above) + 1) for n_above in starts.n_above]
    start = np.minimum(bins_at, found.lowest.size - 1)  # (n_starts, n_labels)
    passes = _pass(found, cuts, start, starts, rows, first, floor)

    # From each start that passes down to the last cut that is shown.
    for j in np.flatnonzero(passes.any(axis=0)):
        reached = 0  # rows at or above the lowest cut that is shown
        for k in np.flatnonzero(passes[:, j]):
            # A sequence that has come as far is tested at a higher level, and goes on at least as far.
            if starts.n_above[k, j] < reached:
                continue
            bins = slice(start[k, j], found.offsets[j + 1])
            last = _last_shown(found, cuts, bins, floor[j], starts.delta[k, j])
            if last is not None:
                low[k, j] = -np.inf if np.isnan(cuts.lower[last]) else cuts.lower[last]
                high[k, j] = cuts.cut[bins.start]
                reached = cuts.predicted[last]
    return Ranges(low, high)


def _last_shown(
    found: Histograms, cuts: Steps, bins: slice, floor: float, delta: float
) -> int | None:
    """Return the last cut of a sequence down some bins of a label that is shown, None if the first is not.

    It is a step, or the first of the bins: where only negatives lie between two steps, a range ends above all of them.
    """
    passes = is_shown(cuts.tp[bins], cuts.predicted[bins], floor, delta)  # (n_bins,)
    n_shown = int(np.append(passes, False).argmin())
    if not n_shown:
        return None
    steps = np.flatnonzero(found.hits[bins.start : bins.start + n_shown])
    return int(bins.start + steps.max(initial=0))


def predictions_needed_by_sequence(floor: Floats, delta: Floats, precision: Floats) -> Floats:
    """Return how many predictions, of that precision, would show a floor by the level of the first start.

    They are those of a single test, and one at least below the rows that the start is tested with, which are all hits.
    """
    error = _FIRST_SHARE * delta
    of_a_test = predictions_needed(floor, error, precision)
    return np.asarray(np.maximum(of_a_test, positives_needed(floor, error) + 1))


def _pass(
    found: Histograms,
    cuts: Steps,
    bins: Ints,
    starts: Starts,
    rows: Problem,
    first: int,
    floor: Floats,
) -> Booleans:
    """Tell which starts are shown by the rows above them, (n_starts, n_labels); `bins` are those that they lie in."""
    # What lies in the bins above, and how many rows of the bin itself do.
    n_above, delta = starts
    hits_tied, tied = found.hits[bins], found.weights[bins]
    hits = cuts.tp[bins] - hits_tied
    has_start = ~np.isnan(n_above)
    n_taken = np.where(has_start, n_above - (cuts.predicted[bins] - tied), 0).astype(np.int64)

    # Which rows these are is drawn only where it matters: where the most hits would pass, and the fewest would not.
    fewest = np.maximum(n_taken - (tied - hits_tied), 0)
    most = np.minimum(n_taken, hits_tied)
    passes = is_shown(hits + fewest, n_above, floor, delta)
    is_open = is_shown(hits + most, n_above, floor, delta) & ~passes
    drawn = np.flatnonzero(is_open.any(axis=0))  # (n_drawn,) labels
    if drawn.size:
        n_taken = np.where(is_open, n_taken, 0)[:, drawn]
        hits[:, drawn] += _hits_among_ties(rows, first + drawn, cuts.cut[bins][:, drawn], n_taken)
        passes |= is_open & is_shown(hits, n_above, floor, delta)
    return passes


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
