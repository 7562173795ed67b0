"""Probabilities on a device: what `Curves.of_cells` gives in host memory, by operations of the array API.

Isotonic curves are read by the same steps as in host memory, so that on a device with float64 their probabilities are
the same, bit for bit. In the others `exp` and `log` are those of the device, and the last bits may differ.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from thresholds._arrays.dtypes import least_positive
from thresholds._arrays.types import Dense
from thresholds.calibration.curves import Curves
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.calibration.platt import Limits
from thresholds.calibration.stretched import StretchedCurves
from thresholds.devices.cells import BLOCK, row_blocks
from thresholds.devices.namespaces import Array, Namespace, beside, best_float, own

Tables = Mapping[str, Array]  # beside the scores; floats of the dtype that is computed with


@dataclass(frozen=True, slots=True)
class IsotonicReader:
    """Reads piecewise linear curves; all that differs from label to label is in tables.

    first, after : int32 (n_groups,), where the knots of a group begin, and those of the next
    knots, values : (n_knots + 1,), scores and probabilities, one more than there are
    """

    n_halvings: int  # that find a score among the knots of any group
    integers: ClassVar[tuple[str, ...]] = ("first", "after")
    floats: ClassVar[tuple[str, ...]] = ("knots", "values")

    @property
    def settings(self) -> tuple[float, ...]:
        """What reads curves beside their tables, as numbers."""
        return (self.n_halvings,)

    def with_settings(self, settings: Sequence[float]) -> Self:
        """Return a reader with other settings."""
        (n_halvings,) = settings
        return replace(self, n_halvings=int(n_halvings))

    def read(self, xp: Namespace, cells: Array, tables: Tables) -> Array:
        """Return the probabilities of finite scores, as `_kernels.calibration.interpolate` does."""
        knots, values = tables["knots"], tables["values"]

        # The first knot above each score, by halving.
        nowhere = xp.zeros_like(cells, dtype=tables["first"].dtype)
        first = tables["first"] + nowhere
        after = tables["after"] + nowhere
        low, high = first, after
        for _ in range(self.n_halvings):
            middle = (low + high) // 2
            is_above = (low < high) & (_taken(xp, knots, middle) <= cells)
            high = xp.where(is_above, high, middle)
            low = xp.where(is_above, middle + 1, low)

        # Between the knots on both sides.
        left = xp.maximum(low - 1, first)
        right = xp.maximum(xp.minimum(low, after - 1), first)
        left_knot, right_knot = _taken(xp, knots, left), _taken(xp, knots, right)
        left_value, right_value = _taken(xp, values, left), _taken(xp, values, right)
        is_between = (left < right) & (cells > left_knot) & (left_value != right_value)
        share = _share(xp, xp.where(is_between, cells, left_knot), left_knot, right_knot)
        on_line = xp.minimum(left_value + share * (right_value - left_value), right_value)
        read = xp.where(is_between, on_line, left_value)
        return xp.where(first < after, read, 0.0)


@dataclass(frozen=True, slots=True)
class StretchedReader:
    """Reads one piecewise linear curve, whose logit each label stretches and shifts: slope, intercept (n_labels,)."""

    common: IsotonicReader
    integers: ClassVar[tuple[str, ...]] = IsotonicReader.integers
    floats: ClassVar[tuple[str, ...]] = (*IsotonicReader.floats, "slope", "intercept")

    @property
    def settings(self) -> tuple[float, ...]:
        """What reads curves beside their tables, as numbers."""
        return self.common.settings

    def with_settings(self, settings: Sequence[float]) -> Self:
        """Return a reader with other settings."""
        return replace(self, common=self.common.with_settings(settings))

    def read(self, xp: Namespace, cells: Array, tables: Tables) -> Array:
        """Return the probabilities of finite scores."""
        common = self.common.read(xp, cells, tables)
        logits = _log_odds(xp, _between(xp, common, (0.0, 1.0)))
        return _sigmoid(xp, tables["slope"] * logits + tables["intercept"])


@dataclass(frozen=True, slots=True)
class LogisticReader:
    """Reads logistic curves: scale, centre, slope, intercept and at_missing (n_groups,)."""

    limits: Limits
    missing: float
    integers: ClassVar[tuple[str, ...]] = ()
    floats: ClassVar[tuple[str, ...]] = ("scale", "centre", "slope", "intercept", "at_missing")

    @property
    def settings(self) -> tuple[float, ...]:
        """What reads curves beside their tables, as numbers; without limits two that are NaN."""
        return (self.missing, *(self.limits or (math.nan, math.nan)))

    def with_settings(self, settings: Sequence[float]) -> Self:
        """Return a reader with other settings."""
        missing, low, high = settings
        return replace(self, missing=missing, limits=None if math.isnan(low) else (low, high))

    def read(self, xp: Namespace, cells: Array, tables: Tables) -> Array:
        """Return the probabilities of finite scores."""
        x = cells if self.limits is None else _log_odds(xp, _between(xp, cells, self.limits))
        largest = float(xp.finfo(cells.dtype).max)
        place = xp.clip(x / tables["scale"] - tables["centre"], -largest, largest)
        intercept = tables["intercept"]
        odds = xp.where(intercept > -np.inf, tables["slope"] * place + intercept, -np.inf)
        return xp.where(cells == self.missing, tables["at_missing"], _sigmoid(xp, odds))


@dataclass(frozen=True, slots=True)
class MovedReader:
    """Reads curves, and multiplies the odds that they give by those of each label: odds (n_labels,)."""

    of_fit: IsotonicReader | StretchedReader | LogisticReader

    @property
    def integers(self) -> tuple[str, ...]:
        """Names of the tables of integers."""
        return self.of_fit.integers

    @property
    def floats(self) -> tuple[str, ...]:
        """Names of the tables of floats."""
        return (*self.of_fit.floats, "odds")

    @property
    def settings(self) -> tuple[float, ...]:
        """What reads curves beside their tables, as numbers."""
        return self.of_fit.settings

    def with_settings(self, settings: Sequence[float]) -> Self:
        """Return a reader with other settings."""
        return replace(self, of_fit=self.of_fit.with_settings(settings))

    def read(self, xp: Namespace, cells: Array, tables: Tables) -> Array:
        """Return the probabilities of finite scores, as `curves.moved_odds` does."""
        p = self.of_fit.read(xp, cells, tables)
        odds = tables["odds"]
        up = p * odds
        return xp.where(odds == 1.0, p, up / (up + (1.0 - p)))


Reader = IsotonicReader | StretchedReader | LogisticReader | MovedReader


def reader_of(curves: Curves) -> tuple[Reader, dict[str, Dense]]:
    """Return what reads curves, and their tables: NumPy arrays, the floats in float64."""
    if curves.odds is not None:
        of_fit, tables = reader_of(replace(curves, odds=None))
        assert not isinstance(of_fit, MovedReader), "odds are multiplied once"
        return MovedReader(of_fit), tables | {"odds": curves.odds}
    fitted = curves.by_group
    if isinstance(fitted, IsotonicCurves):
        return _isotonic(fitted)
    if isinstance(fitted, StretchedCurves):
        common, tables = _isotonic(fitted.common)
        slope, intercept = fitted.lines
        return StretchedReader(common), tables | {"slope": slope, "intercept": intercept}
    scale, centre, slope, intercept = fitted.curves
    lines = {"scale": scale, "centre": centre, "slope": slope, "intercept": intercept}
    reader = LogisticReader(fitted.limits, fitted.missing)
    return reader, lines | {"at_missing": fitted.at_missing}


def read(xp: Namespace, reader: Reader, cells: Array, tables: Tables) -> Array:
    """Return the probabilities of scores (n_samples, n_labels), in the dtype of the tables; -inf has 0."""
    is_masked = cells == -np.inf
    probabilities = reader.read(xp, xp.where(is_masked, 0.0, cells), tables)
    return xp.where(is_masked, 0.0, probabilities)


def probabilities_of(curves: Curves, scores: Array, *, block: int = BLOCK) -> Array:
    """Return the probabilities of checked scores, beside them: float64, or float32 on a device without it."""
    xp, cells = own(scores)
    dtype, host_dtype = best_float(xp, cells)
    reader, arrays = reader_of(curves)
    tables = {name: beside(cells, xp, in_dtype(arrays[name], host_dtype)) for name in arrays}
    blocks = []
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for rows in row_blocks(cells.shape, block):
            blocks.append(read(xp, reader, xp.astype(cells[rows, :], dtype), tables))
    return xp.concat(blocks, axis=0)


def in_dtype(table: Dense, dtype: np.dtype[Any]) -> Dense:
    """Return a table in the dtype that is computed with, if it holds floats."""
    with np.errstate(over="ignore"):
        return table.astype(dtype) if table.dtype.kind == "f" else table


def _isotonic(curves: IsotonicCurves) -> tuple[IsotonicReader, dict[str, Dense]]:
    """Return the reader of piecewise linear curves, and their tables."""
    most_knots = int(np.diff(curves.offsets).max(initial=0))
    tables = {
        "first": curves.offsets[:-1].astype(np.int32),
        "after": curves.offsets[1:].astype(np.int32),
        "knots": np.append(curves.scores, 0.0),
        "values": np.append(curves.probabilities, 0.0),
    }
    return IsotonicReader(most_knots.bit_length()), tables


def _taken(xp: Namespace, values: Array, at: Array) -> Array:
    """Return values at positions of any shape."""
    return xp.reshape(xp.take(values, xp.reshape(at, (-1,)), axis=0), at.shape)


def _share(xp: Namespace, x: Array, left: Array, right: Array) -> Array:
    """Return how far x is from left to right, which may lie further apart than the dtype can tell."""
    span = right - left
    wide = (x / 2 - left / 2) / xp.where(left < right, right / 2 - left / 2, 1.0)
    return xp.where(xp.isinf(span), wide, (x - left) / xp.where(left < right, span, 1.0))


def _between(xp: Namespace, p: Array, limits: tuple[float, float]) -> Array:
    """Bring probabilities between limits, and between the numbers whose logits the dtype can tell."""
    info = xp.finfo(p.dtype)
    is_double = float(info.eps) < np.finfo(np.float32).eps
    least = least_positive(np.dtype(np.float64)) if is_double else float(info.smallest_normal)
    most = 1.0 - float(info.eps) / 2
    return xp.clip(p, max(limits[0], least), min(limits[1], most))


def _log_odds(xp: Namespace, p: Array) -> Array:
    """Return log(p / (1 - p)), as `cells.log_odds` does."""
    is_middle = xp.abs(p - 0.5) < 0.25
    near_half = xp.log1p((2 * p - 1) / (1 - p))
    return xp.where(is_middle, near_half, xp.log(p / (1 - p)))


def _sigmoid(xp: Namespace, odds: Array) -> Array:
    """Return 1 / (1 + exp(-odds))."""
    return 1.0 / (1.0 + xp.exp(-odds))
