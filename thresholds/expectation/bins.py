"""Expected counts from sums that add up over blocks of rows, in any order: the best cuts without the rows.

The best cut of a label, c = F* / (1 + b^2), is where

    phi(c) = sum_{p >= c} w (p - c) - c b^2 positives,    positives = sum w p,

is 0. It falls and is convex, and needs two sums of what lies at or above c. So a pass over the rows adds up bins of
probabilities, whose edges say in which bin c lies. The next pass divides that bin, and leaves the rest alone:

* the ratio tp / (b^2 positives + predicted) at any edge is at most c, and near c much nearer than the edge (Newton's
  step; Dinkelbach 1967);
* the chord of phi between the edges of the bin is 0 above c, and that, too, is much nearer (regula falsi).

Two or three passes are the rule. They end where a bin holds one probability alone, or none: as a bin is divided into
many, after five passes at the latest for 32 bits, after nine for 64.

Sums are whole numbers of a unit of each bin, so that parts add up to the same bits in any order. The unit is 2^-53 of
the upper edge of the bin, or less, times the largest weight. Without weights sums are exact (of float32 above 2^-60, of
float64 above 2^-32); else each cell is rounded by half a unit at most. The sums of bins are added up with twice the
digits of a float.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thresholds._arrays.dtypes import least_positive
from thresholds._arrays.sparse import entries_of_rows, is_sparse
from thresholds._arrays.types import Booleans, Dense, Floats, Ints, Matrix
from thresholds._kernels import expected_bins as kernels
from thresholds.expectation.counts import loopable, ratio

_PART = 2.0**27  # sums come in two parts: of so many, and of ones
_LOWEST = 2.0**-32  # the lowest edge of the first pass: lower cuts are rare
_MOST_CELLS = 2**19  # of sums: 16 MB
_MOST_BINS = 256
_FEWEST_BINS = 8
_BELOW = 1 - 2.0**-50  # A ratio of sums is rounded less than that.
_LEAST_EXPONENT = -950  # of an edge, so that units and their inverses are floats


@dataclass(frozen=True, eq=False)
class ProbabilityBins:
    """Which bins of probabilities a pass adds up: some of each label, as wide as 2^shift in terms of bits."""

    low: Ints  # (n_labels,) bits of the lowest edge
    high: Ints  # (n_labels,) bits of the end of the last bin; no bins where it is `low`
    shifts: Ints  # (n_labels,)
    n_bins: int
    dtype: str  # of the probabilities, float32 or float64
    weights_below: int  # weights of rows are less than two to the power of this
    with_below: bool = False  # whether what lies below `low` is added up, too

    @classmethod
    def at_first(
        cls, n_labels: int, dtype: "np.dtype[np.floating]", largest_weight: float
    ) -> "ProbabilityBins":
        """Return bins of all that there may be: equally wide in each octave down to 2^-32."""
        low, high = _bits(np.array([_LOWEST, 1.0]), dtype) + np.array([0, 1])
        n_bins = n_bins_of(n_labels)
        return cls(
            low=np.full(n_labels, low),
            high=np.full(n_labels, high),
            shifts=np.full(n_labels, _shift(np.array(high - 1 - low), n_bins)),
            n_bins=n_bins,
            dtype=dtype.name,
            weights_below=int(np.frexp(largest_weight)[1]),
            with_below=True,
        )

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.low.size)

    def empty(self) -> Ints:
        """Return sums of nothing, (n_labels, n_bins + 1, 4)."""
        return np.zeros((self.n_labels, self.n_bins + 1, 4), np.int64)

    def edges(self) -> Ints:
        """Return the bits of the edges of bins, rising: (n_labels, n_bins + 1)."""
        steps = np.arange(self.n_bins)[np.newaxis] << self.shifts[:, np.newaxis]
        inner = np.minimum(self.low[:, np.newaxis] + steps, self.high[:, np.newaxis])
        return np.concatenate([inner, self.high[:, np.newaxis]], axis=1)

    def values(self) -> Floats:
        """Return the edges as probabilities, (n_labels, n_bins + 1)."""
        return _values(self.edges(), self.dtype)

    def exponents(self) -> Ints:
        """Return the exponents of the units of probabilities, (n_labels, n_bins + 1); first those below all bins."""
        # An edge is less than two to the power of this, and at least half of it.
        above = np.frexp(self.values())[1]
        return np.asarray(np.maximum(above, _LEAST_EXPONENT) + self.weights_below - 55, np.int64)

    def add(self, block: Matrix, weights: Floats, sums: Ints) -> None:
        """Add checked rows to sums, as they weigh."""
        whole = np.rint(np.ldexp(weights, 53 - self.weights_below)).astype(np.int64)  # (n_rows,)
        given = (
            np.ascontiguousarray(weights, np.float64),
            whole >> 27,
            whole & (2**27 - 1),
            self.low,
            self.high,
            self.shifts,
            np.ldexp(1.0, -self.exponents()),
            self.with_below,
            sums,
        )
        cells = loopable(block.data if is_sparse(block) else block)
        bits = cells.view(f"i{cells.itemsize}")
        if is_sparse(block):
            starts, columns = entries_of_rows(block)
            kernels.bin_sparse_rows(starts, columns, cells, bits, *given)
        else:
            kernels.bin_rows(cells, bits, *given)


class Ladder:
    """Sums at or above each edge, of labels or of all pooled, with twice the digits of a float."""

    def __init__(self, n_groups: int) -> None:
        # Of the last edge: weight and tp, in two floats each.
        self._above = np.zeros((2, 2, n_groups))
        # The same of each edge, with all below the bins first.
        self._at = np.zeros((2, 2, n_groups, 0))

    def climb_down(self, sums: Ints, exponents: Ints, weights_below: int) -> None:
        """Take the sums of bins, (n_groups, n_bins + 1, 4), and the exponents of their units."""
        n_groups, n_places, _ = sums.shape
        self._at = np.empty((2, 2, n_groups, n_places + 1))
        self._at[..., -1] = self._above
        of_weight = np.ldexp(1.0, weights_below - 53)
        for place in range(n_places - 1, -1, -1):
            of_place = sums[:, place].T.astype(np.float64)  # (4, n_groups)
            coarse, fine, coarse_tp, fine_tp = of_place
            unit = np.ldexp(1.0, exponents[:, place])  # (n_groups,)
            terms = (
                np.stack([coarse * of_weight, coarse_tp * unit]) * _PART,
                np.stack([fine * of_weight, fine_tp * unit]),
            )
            total, rest = self._at[..., place + 1]
            for term in terms:
                total, lost = _two_sum(total, term)
                rest = rest + lost
            self._at[:, :, :, place] = _two_sum(total, rest)

    def at_edges(self) -> Dense:
        """Return the weight, and expected true positives, at or above each edge: (2, n_groups, n_bins + 1)."""
        return np.asarray(self._at[0, ..., 1:])

    def of_everything(self) -> Floats:
        """Return weight and expected positives of all cells above 0, (2, n_groups)."""
        return np.asarray(self._at[0, ..., 0])

    def at(self, edge: Ints) -> Floats:
        """Return weight and expected true positives at or above an edge of each group, (2, n_groups)."""
        return np.asarray(self._at[0][:, np.arange(edge.size), 1 + edge])

    def go_on_below(self, edge: Ints) -> None:
        """Begin the next pass below an edge of each group."""
        self._above = self._at[:, :, np.arange(edge.size), 1 + edge]


class _Bracket(NamedTuple):
    """The bin of each group in which its best cut lies, or below the lowest edge; both edges of it, the lower first."""

    is_below: Booleans  # (n_groups,) below all edges: then the bin is the lowest
    edge: Ints  # (n_groups,) which edge is the lower one
    upper: Ints  # (n_groups,)
    bits: Ints  # (n_groups, 2) of the edges, and so are the following
    values: Floats
    weight: Floats  # at or above them
    ratios: Floats  # of a cut there
    surplus: Floats  # phi
    best: Floats  # (n_groups,) the highest ratio at any edge


class CutSearch:
    """The best cut of each label, or of all labels pooled, found by passes over bins.

    Parameters
    ----------
    bins : those of the first pass
    beta : weight of recall
    pooled : one cut for the counts of all labels together

    Attributes
    ----------
    bins : those of the pass to come; None when all is known
    cuts : (n_labels,) F* / (1 + b^2), above 0
    sums : (3, n_labels) expected true positives and predictions of these cuts, and expected positives
    """

    def __init__(self, bins: ProbabilityBins, beta: float, *, pooled: bool) -> None:
        n_groups = 1 if pooled else bins.n_labels
        self.bins: ProbabilityBins | None = bins
        self.cuts = np.full(bins.n_labels, least_positive(np.dtype(np.float64)))
        self.sums = np.zeros((3, bins.n_labels))
        self._beta = beta
        self._pooled = pooled
        self._labels = Ladder(bins.n_labels)
        self._groups = Ladder(1) if pooled else self._labels
        self._positives = np.zeros(n_groups)
        self._done = np.zeros(n_groups, np.bool_)
        self._is_low = np.zeros(n_groups, np.bool_)  # the bins are those below all others

    def take(self, sums: Ints) -> None:
        """Take the sums of a pass over all rows, and choose the bins of the next one."""
        bins = self.bins
        assert bins is not None, "nothing is left to be counted"
        self._add(bins, sums)
        found = self._bracketed(bins)
        self._settle(bins, found)
        self.bins = None if self._done.all() else self._next_bins(bins, found)

    def _add(self, bins: ProbabilityBins, sums: Ints) -> None:
        """Add up the bins from the highest down, and the positives of all cells."""
        exponents = bins.exponents()  # (n_labels, n_bins + 1)
        self._labels.climb_down(sums, exponents, bins.weights_below)
        if self._pooled:  # All labels have the same bins.
            together = sums.sum(axis=0, keepdims=True)
            self._groups.climb_down(together, exponents[:1], bins.weights_below)
        everything, positives = self._groups.of_everything()
        if bins.with_below:
            self.sums[2] = self._labels.of_everything()[1]
            self._positives = positives
            self._done = everything == 0
        # What lies below all bins is of little weight, unless the best cut is there: it has bins of its own then.
        self._positives = np.where(self._is_low, positives, self._positives)
        of_labels = np.broadcast_to(self._is_low, self.cuts.size)
        self.sums[2] = np.where(of_labels, self._labels.of_everything()[1], self.sums[2])

    def _bracketed(self, bins: ProbabilityBins) -> _Bracket:
        """Find the bin in which the best cut lies: that of the last edge at which the ratio is not below the edge."""
        n_groups = self._done.size
        edges, values = bins.edges()[:n_groups], bins.values()[:n_groups]
        weight, tp = self._groups.at_edges()
        positives = self._positives[:, np.newaxis]
        ratios = ratio(tp, weight, positives, self._beta)
        best = ratios.max(axis=1)
        if bins.with_below:
            everything, of_all = self._groups.of_everything()
            best = np.maximum(best, ratio(of_all, everything, of_all, self._beta))
        n_reached = (ratios >= values).sum(axis=1)
        edge = np.maximum(n_reached - 1, 0)
        upper = np.minimum(edge + 1, bins.n_bins)
        surplus = tp - values * (weight + self._beta**2 * positives)  # phi
        at = np.arange(n_groups)[:, np.newaxis], np.stack([edge, upper], axis=1)  # (n_groups, 2)
        return _Bracket(
            n_reached == 0,
            edge,
            upper,
            edges[at],
            values[at],
            weight[at],
            ratios[at],
            surplus[at],
            best,
        )

    def _settle(self, bins: ProbabilityBins, found: _Bracket) -> None:
        """Keep the cuts of groups in whose bin nothing, or one probability alone, lies."""
        one_value = found.bits[:, 1] - found.bits[:, 0] <= 1
        settled = one_value | (found.weight[:, 0] == found.weight[:, 1])
        if bins.with_below:
            everything, _ = self._groups.of_everything()
            settled = np.where(found.is_below, everything == found.weight[:, 0], settled)
        else:
            settled |= found.is_below  # by a rounding: the lowest edge is the cut
        # A probability that is the cut, but for rounding, is predicted; without it the ratio is no higher.
        is_cut = one_value & ~found.is_below & (found.ratios[:, 1] <= found.values[:, 0])
        cuts = np.where(is_cut, found.values[:, 0], found.best)
        predicted_from = np.where(found.is_below | is_cut, found.edge, found.upper)
        self._keep(settled & ~self._done, cuts, predicted_from)
        self._done = self._done | settled

    def _next_bins(self, bins: ProbabilityBins, found: _Bracket) -> ProbabilityBins:
        """Return bins that divide the one in which the best cut lies, and go on below what is above it."""
        is_below, dtype = found.is_below, np.dtype(bins.dtype)
        first = np.where(is_below, 1, found.bits[:, 0])  # the smallest number above 0
        last = np.where(is_below, found.bits[:, 0], found.bits[:, 1])
        low = np.clip(_bits(_rounded_down(found.best * _BELOW, dtype), dtype), first, last - 1)
        low = np.where(is_below, first, low)  # so that all positives are added up anew
        ends = np.where(is_below, last, _chord(found, dtype))
        shifts = _shift(np.clip(ends, low, last - 1) - low, bins.n_bins)
        low, last = (np.where(self._done, 0, bits) for bits in (low, last))
        self._is_low = is_below
        below = np.where(is_below, 0, found.upper)
        self._groups.go_on_below(below)
        shape = bins.n_labels
        if self._pooled:
            self._labels.go_on_below(np.broadcast_to(below, shape))
        return replace(
            bins,
            low=np.broadcast_to(low, shape).copy(),
            high=np.broadcast_to(last, shape).copy(),
            shifts=np.broadcast_to(shifts, shape).copy(),
            with_below=False,
        )

    def _keep(self, settled: Booleans, cuts: Floats, predicted_from: Ints) -> None:
        """Keep the cuts of groups that are settled, and what they count."""
        weight, tp = self._labels.at(np.broadcast_to(predicted_from, self.cuts.size))
        of_labels = np.broadcast_to(settled, self.cuts.size)
        found = np.broadcast_to(
            np.maximum(cuts, least_positive(np.dtype(np.float64))), self.cuts.size
        )
        self.cuts = np.where(of_labels, found, self.cuts)
        self.sums[:2] = np.where(of_labels, np.stack([tp, weight]), self.sums[:2])


def _chord(found: _Bracket, dtype: "np.dtype[np.floating]") -> Ints:
    """Return the bits of what the best cut is not above, of each group: where the chord of phi is 0."""
    low, high = found.values.T
    left, right = np.maximum(found.surplus[:, 0], 0), np.minimum(found.surplus[:, 1], 0)
    fall = left - right
    root = low + (high - low) * (left / np.where(fall > 0, fall, 1))
    bits = _bits(np.minimum(root, 1.0), dtype)
    return np.asarray(bits + 1 + (bits >> 40))  # more than a rounding of the sums


def n_bins_of(n_labels: int) -> int:
    """Return how many bins each of so many labels has: a power of two."""
    most = max(_MOST_CELLS // n_labels, _FEWEST_BINS)
    return int(min(2 ** (most.bit_length() - 1), _MOST_BINS))


def _two_sum(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Add, and return what rounding has lost (Knuth 1969, section 4.2.2)."""
    total = first + second
    of_second = total - first
    return total, (first - (total - of_second)) + (second - of_second)


def _bits(values: Floats, dtype: "np.dtype[np.floating]") -> Ints:
    """Return the bits of floats that are not negative, which are in the same order."""
    return values.astype(dtype).view(f"u{dtype.itemsize}").astype(np.int64)


def _values(bits: Ints, dtype: str) -> Floats:
    """Return the floats of bits."""
    size = np.dtype(dtype).itemsize
    return np.asarray(bits.astype(f"u{size}").view(dtype).astype(np.float64))


def _rounded_down(values: Floats, dtype: "np.dtype[np.floating]") -> Dense:
    """Return values in a floating dtype, rounded down."""
    rounded = values.astype(dtype)
    return np.where(rounded > values, np.nextafter(rounded, dtype.type(0)), rounded)


def _shift(width: Ints, n_bins: int) -> Ints:
    """Return how wide bins are, as a power of two, for so many to take up a width in bits, and one more."""
    exponent = np.frexp(width // n_bins)[1]
    return np.asarray(exponent, np.int64)
