"""Scores in 8 bits, of which the counting loops compare four times as many at once as of floats.

Nothing is lost by that, as cuts are moved to where codes change: a score lies at or above such a cut if and only if its
code is that of the cut or higher. Codes never fall as scores rise, so that it is enough to try two scores for each cut:
the cut itself and the next lower number. A cut that fails is left out.
"""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Codes, Dense, Scores, SmallInts
from thresholds._kernels.counting import LOWEST_CODE, N_CODES, code_by_bits, code_by_value, count_codes
from thresholds.search.counting.blocks import Lanes

_WIDTH = N_CODES - 2  # in codes, of the values of a label: one code is for what lies below
_REACH = 8  # distances of quartiles beyond them: one -1e30 for "masked" should not cost the others their codes
_REGISTER = 64  # bytes


@dataclass(frozen=True)
class Scale:
    """How the scores of each label become codes.

    Codes are equal steps of bit patterns if no score that cuts come from is negative, so that probabilities near 0 are
    told apart; else of scores. Lower scores have the lowest code, higher ones the highest.
    """

    by_bits: bool
    step: Dense  # (n_labels,) by how much patterns are shifted, or by what scores are multiplied
    lowest: Dense  # (n_labels,) the pattern, or the product, at which codes begin

    @classmethod
    def of(cls, values: Scores) -> "Scale":
        """Spread codes over the bulk of the values (n_values, n_labels) of each label, which fall."""
        known = np.isfinite(values)
        by_bits = bool((values[known] >= 0).all())
        if by_bits:
            known &= values > 0  # A single 0 would cost the others their codes.
        numbers, end = (_bits(values), np.iinfo(f"i{values.itemsize}").max) if by_bits else (values, np.inf)
        some = known.any(axis=0)
        low = np.where(some, np.where(known, numbers, end).min(axis=0), 0).astype(numbers.dtype)
        high = np.where(some, np.where(known, numbers, -end).max(axis=0), 0).astype(numbers.dtype)
        upper, lower = (numbers[at].astype(np.float64) for at in (len(values) // 4, -1 - len(values) // 4))
        reach = _REACH * (upper - lower)
        far_down, far_up = (reach > 0) & (low < lower - reach), (reach > 0) & (high > upper + reach)
        low[far_down], high[far_up] = (lower - reach)[far_down], (upper + reach)[far_up]
        return (cls._of_bits if by_bits else cls._of_values)(low, high)

    @classmethod
    def _of_bits(cls, low: Dense, high: Dense) -> "Scale":
        """Shift by so much that no more codes than there are lie between two patterns."""
        shift = np.maximum(np.frexp((high - low) / _WIDTH)[1], 0).astype(low.dtype)
        return cls(True, shift, np.maximum(low - (np.ones_like(low) << shift), 0))

    @classmethod
    def _of_values(cls, low: Scores, high: Scores) -> "Scale":
        """Multiply by such a power of two that no more codes than there are lie between two scores."""
        about = np.finfo(low.dtype)
        _, of_width = np.frexp((high / 2 - low / 2) / (_WIDTH / 2))
        _, of_largest = np.frexp(np.maximum(np.abs(low), np.abs(high)))
        exponent = np.maximum(of_width, of_largest - (about.nmant - 1))  # Products are whole numbers of few bits.
        step = np.ldexp(np.ones_like(low), -np.maximum(exponent, about.minexp + 8))
        return cls(False, step, np.floor(low * step) - 1)

    def codes(self, scores: Scores, into: Codes) -> None:
        """Write the codes of scores (n_rows, n_labels)."""
        if self.by_bits:
            code_by_bits(_bits(scores), self.step, self.lowest, into)
        else:
            code_by_value(scores, self.step, self.lowest, into)

    def starts(self, codes: Codes) -> Scores:
        """Return the lowest score of each code (n_codes, n_labels)."""
        numbers = codes.astype(self.lowest.dtype) - LOWEST_CODE
        if self.by_bits:
            patterns = self.lowest + (numbers << self.step)
            return np.asarray(patterns.view(f"f{patterns.itemsize}"))
        return np.asarray((self.lowest + numbers) / self.step)

    def over(self, lanes: Lanes) -> "Scale":
        """Return the scale of each lane."""
        step, lowest = (lanes.spread(numbers[lanes.labels], 0) for numbers in (self.step, self.lowest))
        return Scale(self.by_bits, step, lowest)


@dataclass(frozen=True)
class CodedCuts:
    """Cuts that lie where codes change."""

    scale: Scale
    cuts: Scores  # (n_cuts, n_labels) falling; +inf for none
    under: Codes  # (n_cuts, n_labels) the highest code below each cut

    @classmethod
    @np.errstate(all="ignore")  # Cuts of infinite, huge and tiny values may fail.
    def near(cls, values: Scores) -> "CodedCuts":
        """Move values (n_values, n_labels), which fall, down to where their code starts.

        The first of a run of equal values moves up instead, to where the next code starts: so there is a cut on either
        side of them, between which few scores lie.
        """
        scale = Scale.of(values)
        codes, found = np.empty((2, *values.shape), np.int8)
        scale.codes(values, codes)
        equal = np.zeros((len(values) + 1, values.shape[1]), np.bool_)
        equal[1:-1] = values[1:] == values[:-1]
        first_of_run = equal[1:] & ~equal[:-1]
        codes += first_of_run & (codes < LOWEST_CODE + N_CODES - 1)
        cuts = scale.starts(codes)
        sound = np.isfinite(values) & (codes > LOWEST_CODE)
        scale.codes(cuts, found)
        sound &= found == codes
        scale.codes(np.nextafter(cuts, cuts.dtype.type(-np.inf)), found)
        sound &= found < codes
        # A cut that is not sound becomes the one above it.
        cuts = np.minimum.accumulate(np.where(sound, cuts, np.inf).astype(values.dtype), axis=0)
        under = np.minimum.accumulate(np.where(sound, codes - 1, N_CODES + LOWEST_CODE - 1), axis=0)
        return cls(scale, cuts, under.astype(np.int8))

    def over(self, lanes: Lanes) -> "Counter":
        """Begin to count at the cuts."""
        width = -(-lanes.width // _REGISTER) * _REGISTER
        under = np.full((len(self.cuts), width), N_CODES + LOWEST_CODE - 1, np.int8)
        under[:, : lanes.width] = lanes.spread(self.under[:, lanes.labels], under[0, 0])
        room = np.zeros((lanes.block_rows, width), np.int8)
        return Counter(self.scale.over(lanes), under, np.zeros(under.shape, np.int32), room)


@dataclass
class Counter:
    """How many scores of each lane lie at or above the cuts, so far."""

    scale: Scale
    under: Codes
    counts: SmallInts  # (n_cuts, n_lanes and more)
    room: Codes  # for a block

    def add(self, scores: Scores) -> None:
        """Count a block."""
        self.scale.codes(scores, self.room)
        count_codes(self.room, self.under, self.counts)


def _bits(scores: Scores) -> Dense:
    """Return the bit patterns of scores, as signed numbers, in the same memory."""
    return scores.view(f"i{scores.itemsize}")
