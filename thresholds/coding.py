"""Scores in 8 bits, of which the counting loops compare four times as many at once as of floats.

Nothing is lost by that, as cuts are moved to where codes change: a score lies at or above such a cut if and only if its
code is that of the cut or higher. This is tried for each cut, and one that fails is left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._kernels.codes import LOWEST_CODE, N_CODES, code_by_bits, code_by_value, count_codes
from thresholds.lanes import Lanes

Numbers = npt.NDArray[Any]  # patterns: int32 or int64
Scores = npt.NDArray[Any]  # float32 or float64
Codes = npt.NDArray[np.int8]
Counts = npt.NDArray[np.int32]

_WIDTH = N_CODES - 2  # in codes, of the values of a label: one code is for what lies below
_REACH = 8  # distances of quartiles beyond them: -1e30 for "masked" should not cost all others their codes
_REGISTER = 64  # bytes


@dataclass(frozen=True)
class Scale:
    """How the scores of each label become codes.

    Codes are equal steps of bit patterns if scores are not negative, so that probabilities near 0 are told apart; else
    of scores.
    """

    by_bits: bool
    step: Numbers  # (n_labels,) by how much patterns are shifted, or by what scores are multiplied
    lowest: Numbers  # (n_labels,) the pattern, or the product, at which codes begin

    @classmethod
    def of(cls, values: Scores) -> "Scale":
        """Spread codes over the finite values (n_values, n_labels) of each label, which fall."""
        finite = np.isfinite(values)
        low, high = (np.where(finite, values, end) for end in (np.inf, -np.inf))
        some = finite.any(axis=0)
        low, high = (np.where(some, ends, 0).astype(values.dtype) + 0 for ends in (low.min(axis=0), high.max(axis=0)))
        if (low >= 0).all():
            return cls._of_bits(_bits(low), _bits(high))
        upper, lower = values[len(values) // 4], values[-1 - len(values) // 4]
        with np.errstate(invalid="ignore", over="ignore"):  # where quartiles are infinite
            reach = _REACH * (upper - lower)
            nearest = np.where(reach > 0, (np.fmax(low, lower - reach), np.fmin(high, upper + reach)), (low, high))
        return cls._of_values(*nearest.astype(values.dtype))

    @classmethod
    def _of_bits(cls, low: Numbers, high: Numbers) -> "Scale":
        shift = np.maximum(np.frexp((high - low) / _WIDTH)[1], 0).astype(low.dtype)
        return cls(True, shift, np.maximum(low - (np.ones_like(low) << shift), 0))

    @classmethod
    def _of_values(cls, low: Scores, high: Scores) -> "Scale":
        about = np.finfo(low.dtype)
        _, of_width = np.frexp((high / 2 - low / 2) / (_WIDTH / 2))
        _, of_largest = np.frexp(np.maximum(np.abs(low), np.abs(high)))
        exponent = np.maximum(of_width, of_largest - (about.nmant - 1))  # Products are whole numbers of few bits.
        step = np.ldexp(np.ones_like(low), -np.maximum(exponent, about.minexp + N_CODES // 32))
        return cls(False, step, np.floor(low * step) - 1)

    def codes(self, scores: Scores, into: Codes) -> None:
        """Write the codes of scores (n_rows, n_labels)."""
        if self.by_bits:
            code_by_bits(_bits(scores), self.step, self.lowest, into)
        else:
            code_by_value(scores, self.step, self.lowest, into)

    def starts(self, codes: Codes) -> Scores:
        """Give the lowest score of each code (n_codes, n_labels)."""
        numbers = codes.astype(self.lowest.dtype) - LOWEST_CODE
        if self.by_bits:
            patterns = self.lowest + (numbers << self.step)
            return np.asarray(patterns.view(f"f{patterns.itemsize}"))
        return np.asarray((self.lowest + numbers) / self.step)

    def over(self, lanes: Lanes) -> "Scale":
        """Give the scale of each lane."""
        step, lowest = (lanes.spread(numbers[lanes.labels], 0) for numbers in (self.step, self.lowest))
        return Scale(self.by_bits, step, lowest)


@dataclass(frozen=True)
class CodedCuts:
    """Cuts that lie where codes change."""

    scale: Scale
    cuts: Scores  # (n_cuts, n_labels) falling; +inf for none
    under: Codes  # (n_cuts, n_labels) the highest code below each cut

    @classmethod
    def near(cls, values: Scores) -> "CodedCuts":
        """Move values (n_values, n_labels), which fall, down to where their code starts.

        The first of equal values moves up instead, to where the next code starts: between the two there is little.
        """
        scale = Scale.of(values)
        codes, found = np.empty((2, *values.shape), np.int8)
        scale.codes(values, codes)
        equal = np.zeros((len(values) + 1, values.shape[1]), np.bool_)
        equal[1:-1] = values[1:] == values[:-1]
        codes += equal[1:] & ~equal[:-1] & (codes < LOWEST_CODE + N_CODES - 1)
        with np.errstate(over="ignore"):  # of infinite values, and below the lowest number
            cuts = scale.starts(codes)
            under_cuts = np.nextafter(cuts, cuts.dtype.type(-np.inf))
        sound = np.isfinite(values) & (codes > LOWEST_CODE)
        scale.codes(cuts, found)
        sound &= found == codes
        scale.codes(under_cuts, found)
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
        return Counter(self.scale.over(lanes), under, np.zeros(under.shape, np.int32))


@dataclass
class Counter:
    """How many scores of each lane lie at or above the cuts, so far."""

    scale: Scale
    under: Codes
    counts: Counts  # (n_cuts, n_lanes and more)
    _room: Codes | None = None

    def add(self, scores: Scores) -> None:
        """Count a block."""
        if self._room is None or len(self._room) < len(scores):
            self._room = np.zeros((len(scores), self.under.shape[1]), np.int8)
        codes = self._room[: len(scores)]
        self.scale.codes(scores, codes)
        count_codes(codes, self.under, self.counts)


def _bits(scores: Scores) -> Numbers:
    """Give the bit patterns of scores, as signed numbers, in the same memory."""
    return scores.view(f"i{scores.itemsize}")
