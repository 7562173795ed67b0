"""Scores in 8 bits, of which the counting loops compare four times as many at once as of floats.

Nothing is lost by that, as cuts are moved to where codes change: a score lies at or above such a
cut if and only if its code is that of the cut or higher. Codes never fall as scores rise, so that
it is enough to try two scores for each cut: the cut itself and the next lower number. A cut that
fails is left out.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds._arrays.blocks import ceil_div
from thresholds._arrays.types import Codes, Dense, Integers, Ints, Scores, SmallInts, Words
from thresholds._kernels.counting import (
    LOWEST_CODE,
    N_CODES,
    code_by_bits,
    code_by_value,
    count_codes,
    count_scores,
    weigh_codes,
)
from thresholds.search.counting.blocks import Blocks

_HIGHEST_CODE = LOWEST_CODE + N_CODES - 1
_N_STEPS = N_CODES - 2  # of the values of a label: one code is for what lies below
# How far codes reach beyond the quartiles: one -1e30 for "masked" should not take those of others.
_MAX_QUARTILE_DISTANCES = 8
_REGISTER_BYTES = 64
_SPARE_EXPONENTS = 8  # by which steps stay above the smallest normal number


@dataclass(frozen=True)
class Scale:
    """How the scores of each label become codes.

    Codes are equal steps of bit patterns if no score that cuts come from is negative, so that
    probabilities near 0 are told apart; else of scores. Lower scores have the lowest code, higher
    ones the highest.
    """

    by_bits: bool
    step: Dense  # (n_labels,) by how much patterns are shifted, or by what scores are multiplied
    lowest: Dense  # (n_labels,) the pattern, or the product, at which codes begin

    @classmethod
    def of(cls, values: Scores) -> "Scale":
        """Spread codes over the bulk of each label's values (n_values, n_labels), which fall."""
        known = np.isfinite(values)
        by_bits = bool((values[known] >= 0).all())
        if by_bits:
            known &= values > 0  # A single 0 would cost the others their codes.
            numbers = bits_of(values)
            end: float = np.iinfo(numbers.dtype).max
        else:
            numbers = values
            end = np.inf

        # The lowest and the highest number of each label, 0 without one.
        any_known = known.any(axis=0)
        lowest = np.where(known, numbers, end).min(axis=0)
        highest = np.where(known, numbers, -end).max(axis=0)
        low = np.where(any_known, lowest, 0).astype(numbers.dtype)  # (n_labels,)
        high = np.where(any_known, highest, 0).astype(numbers.dtype)  # (n_labels,)

        # Numbers far from the others are left to the lowest and the highest code.
        quarter = len(values) // 4
        upper = numbers[quarter].astype(np.float64)  # quartiles, as values fall
        lower = numbers[-1 - quarter].astype(np.float64)
        reach = _MAX_QUARTILE_DISTANCES * (upper - lower)
        far_down = (reach > 0) & (low < lower - reach)
        far_up = (reach > 0) & (high > upper + reach)
        low[far_down] = (lower - reach)[far_down]
        high[far_up] = (upper + reach)[far_up]
        return cls._of_bits(low, high) if by_bits else cls._of_values(low, high)

    @classmethod
    def _of_bits(cls, low: Dense, high: Dense) -> "Scale":
        """Shift by so much that no more codes than there are lie between two patterns."""
        shift = np.maximum(np.frexp((high - low) / _N_STEPS)[1], 0).astype(low.dtype)
        return cls(True, shift, np.maximum(low - (np.ones_like(low) << shift), 0))

    @classmethod
    def _of_values(cls, low: Scores, high: Scores) -> "Scale":
        """Multiply by a power of two that spreads two scores over no more codes than there are."""
        float_format = np.finfo(low.dtype)
        _, width_exponent = np.frexp((high / 2 - low / 2) / (_N_STEPS / 2))
        _, largest_exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))
        # Products are whole numbers of few bits.
        exponent = np.maximum(width_exponent, largest_exponent - (float_format.nmant - 1))
        exponent = np.maximum(exponent, float_format.minexp + _SPARE_EXPONENTS)
        step = np.ldexp(np.ones_like(low), -exponent)
        return cls(False, step, np.floor(low * step) - 1)

    def codes(self, scores: Scores, into: Codes) -> None:
        """Write the codes of scores (n_rows, n_labels)."""
        if self.by_bits:
            code_by_bits(bits_of(scores), self.step, self.lowest, into)
        else:
            code_by_value(scores, self.step, self.lowest, into)

    def starts(self, codes: Codes) -> Scores:
        """Return the lowest score of each code (n_codes, n_labels)."""
        steps = codes.astype(self.lowest.dtype) - LOWEST_CODE
        if self.by_bits:
            patterns = self.lowest + (steps << self.step)
            return np.asarray(patterns.view(f"f{patterns.itemsize}"))
        return np.asarray((self.lowest + steps) / self.step)

    def over(self, blocks: Blocks) -> "Scale":
        """Return the scale of each column."""
        step = blocks.to_columns(self.step[blocks.labels], 0)
        lowest = blocks.to_columns(self.lowest[blocks.labels], 0)
        return Scale(self.by_bits, step, lowest)


@dataclass(frozen=True)
class CodedCuts:
    """Cuts that lie where codes change, and some at which scores themselves are compared."""

    scale: Scale
    coded: Scores  # (n_coded, n_labels) falling; +inf for none
    under: Codes  # (n_coded, n_labels) the highest code below each of these
    exact: Scores  # (n_exact, n_labels) the others; +inf for none

    @classmethod
    @np.errstate(all="ignore")  # Cuts of infinite, huge and tiny values may fail.
    def near(cls, values: Scores, repeated: Scores) -> "CodedCuts":
        """Move values (n_values, n_labels), which fall, down to where their code starts.

        The first of a run of equal values moves up instead, to where the next code starts: so there
        is a cut on either side of them, between which few scores lie. Nothing else does between the cuts around
        `repeated` values (n_repeated, n_labels), +inf for none.
        """
        scale = Scale.of(values)
        codes = np.empty(values.shape, np.int8)
        scale.codes(values, codes)

        # The first of equal values moves up by a code.
        equals_above = np.zeros((len(values) + 1, values.shape[1]), np.bool_)
        equals_above[1:-1] = values[1:] == values[:-1]
        first_of_run = equals_above[1:] & ~equals_above[:-1]
        codes += first_of_run & (codes < _HIGHEST_CODE)

        # A cut is sound if it has its code, and the next lower number a lower one.
        cuts = scale.starts(codes)
        cut_codes = np.empty(values.shape, np.int8)
        sound = np.isfinite(values) & (codes > LOWEST_CODE)
        scale.codes(cuts, cut_codes)
        sound &= cut_codes == codes
        scale.codes(np.nextafter(cuts, cuts.dtype.type(-np.inf)), cut_codes)
        sound &= cut_codes < codes

        # One that is not sound becomes the one above it.
        cuts = np.minimum.accumulate(np.where(sound, cuts, np.inf).astype(values.dtype), axis=0)
        under = np.minimum.accumulate(np.where(sound, codes - 1, _HIGHEST_CODE), axis=0)
        exact = np.concatenate([np.nextafter(repeated, repeated.dtype.type(np.inf)), repeated])
        return cls(scale, cuts, under.astype(np.int8), exact)

    @cached_property
    def cuts(self) -> Scores:
        """All cuts, (n_cuts, n_labels), which fall."""
        return self.falling(np.concatenate([self.coded, self.exact]), slice(None))

    @cached_property
    def _order(self) -> Ints:
        """Where each of the falling cuts is among the coded and the exact ones, (n_cuts, n_labels)."""
        both = np.concatenate([self.coded, self.exact])
        return np.asarray((-both).argsort(axis=0, kind="stable"))

    def falling(self, values: npt.NDArray[Any], labels: slice) -> npt.NDArray[Any]:
        """Put values of the coded cuts, and then of the exact ones, (n_cuts, n_labels), into the order of all."""
        if not len(self.exact):
            return values
        return np.take_along_axis(values, self._order[:, labels], axis=0)

    def over(self, blocks: Blocks) -> "Counter":
        """Begin to count at the cuts."""
        width = ceil_div(blocks.n_columns, _REGISTER_BYTES) * _REGISTER_BYTES
        under = np.full((len(self.under), width), _HIGHEST_CODE, np.int8)
        label_under = self.under[:, blocks.labels]  # (n_coded, n_labels)
        under[:, : blocks.n_columns] = blocks.to_columns(label_under, _HIGHEST_CODE)
        counts = np.zeros(under.shape, np.int32)
        room = np.zeros((blocks.block_rows, width), np.int8)
        exact = blocks.to_columns(self.exact[:, blocks.labels], np.inf)
        exact_counts = np.zeros(exact.shape, np.int32)
        return Counter(self.scale.over(blocks), under, counts, room, exact, exact_counts)

    def weighing(self, blocks: Blocks) -> "Weigher":
        """Begin to count and to weigh at the coded cuts, there being no others."""
        n_cuts = len(self.under)
        firsts = np.zeros((blocks.n_columns, n_cuts + 1), np.int16)
        firsts[: blocks.n_labels, :n_cuts] = self.under[:, blocks.labels].T
        firsts[:, :n_cuts] += 1 - LOWEST_CODE
        found = np.zeros((blocks.n_columns, 3, n_cuts + 1), np.int64)
        room = np.zeros((blocks.block_rows, blocks.n_columns), np.int8)
        return Weigher(self.scale.over(blocks), firsts, found, room)


@dataclass
class Counter:
    """How many scores of each column lie at or above the cuts, so far."""

    scale: Scale
    under: Codes  # (n_coded, n_columns and more)
    counts: SmallInts  # (n_coded, n_columns and more)
    room: Codes  # (block_rows, n_columns and more) for a block
    exact: Scores  # (n_exact, n_columns)
    exact_counts: SmallInts  # (n_exact, n_columns)

    def add(self, scores: Scores) -> None:
        """Count a block."""
        codes = self.room[: len(scores)]
        self.scale.codes(scores, codes)
        count_codes(codes, self.under, self.counts)
        if len(self.exact):
            count_scores(scores, self.exact, self.exact_counts)

    @property
    def all_counts(self) -> SmallInts:
        """Counts at the coded and then at the exact cuts, (n_cuts, n_columns)."""
        n_columns = self.exact.shape[1]
        return np.concatenate([self.counts[:, :n_columns], self.exact_counts])


@dataclass
class Weigher:
    """What lies at or above the cuts of each column, so far, if rows have weights."""

    scale: Scale
    firsts: Integers  # (n_columns, n_cuts + 1) the first bin of codes above each cut, at last that of all
    found: Ints  # (n_columns, 3, n_cuts + 1) how many scores, what they weigh, and what those of positives weigh
    room: Codes  # (block_rows, n_columns) for a block

    def add(self, scores: Scores, truth: Words, weights: Words, shift: int) -> None:
        """Weigh a block, whose rows have `packed` weights."""
        codes = self.room[: len(scores)]
        self.scale.codes(scores, codes)
        weigh_codes(codes.view(np.uint64), truth, weights, shift, self.firsts, self.found)


def bits_of(scores: Scores) -> Dense:
    """Return the bit patterns of scores, as signed numbers, in the same memory."""
    return scores.view(f"i{scores.itemsize}")
