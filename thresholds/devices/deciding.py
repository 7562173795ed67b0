"""Decisions by scores, and scores moved so that every threshold lies at one half."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.types import Dense, Floats
from thresholds.devices.cells import BLOCK, FLOATS, row_blocks
from thresholds.devices.namespaces import Array, Namespace, beside, best_float, dtype_name, own

_HALVES = ("float16", "bfloat16")  # compared, and computed with, in float32


def decide(scores: Array, thresholds: Floats) -> Array:
    """Return uint8 on the device of checked scores: 1 iff score >= threshold, exactly, whatever the dtype.

    (Where the device tells subnormal numbers from 0; fitted thresholds hardly ever are such.)
    """
    xp, cells = own(scores)
    return xp.astype(_reached(xp, cells, thresholds), xp.uint8)


def inside(scores: Array, switches: Sequence[Floats]) -> Array:
    """Return uint8 on the device of checked scores: 1 iff an odd number of the label's rising switches are <= score."""
    xp, cells = own(scores)
    longest = max(1, *(of_label.size for of_label in switches))
    table = np.full((longest, len(switches)), np.inf)
    for label, of_label in enumerate(switches):
        table[: of_label.size, label] = of_label
    odd = _reached(xp, cells, table[0])
    for row in table[1:]:
        odd = odd != _reached(xp, cells, row)
    return xp.astype(odd, xp.uint8)


def highest(scores: Array, k: int, *, block: int = BLOCK) -> Array:
    """Return uint8 on the device of checked scores: 1 for the k highest of each row, of equal ones the first labels."""
    xp, cells = own(scores)
    size, marks = min(k, cells.shape[1]), []
    at = cells.shape[1] - max(size, 1)
    for rows in row_blocks(cells.shape, block):
        part = cells[rows, :]
        lowest = xp.sort(part, axis=1)[:, at : at + 1]
        marks.append(mark_highest(xp, part, lowest, size))
    return xp.concat(marks, axis=0)


def mark_highest(xp: Namespace, cells: Array, lowest: Array, size: Any) -> Array:
    """Mark, in each row, what exceeds the lowest to be marked, and the first of those equal to it, `size` in all."""
    higher, equal = cells > lowest, cells == lowest
    room = size - xp.sum(xp.astype(higher, xp.int32), axis=1, keepdims=True, dtype=xp.int32)
    first = xp.cumulative_sum(xp.astype(equal, xp.int32), axis=1, dtype=xp.int32) <= room
    return xp.astype(higher | (equal & first), xp.uint8)


def rescale(scores: Array, thresholds: Floats, unit_interval: bool) -> Array:
    """Map the scores s of each label, in their order, so that its threshold t lies at 0.5; also those of NumPy.

        with `unit_interval`:  s / (2 t) below t, and 1/2 + (s - t) / (2 (1 - t)) from t on
        otherwise:             1 / (1 + exp(t - s))

    `result >= 0.5` holds exactly where `score >= threshold` does: what rounding puts on the wrong side is moved back.
    Scores may become equal by rounding.

    Parameters
    ----------
    scores : (n_samples, n_labels), checked; with `unit_interval` in [0, 1] or -inf
    thresholds : (n_labels,)
        Of infinite ones the map is s / 2 or (1 + s) / 2, otherwise half of 1 / (1 + exp(-s)), plus 1/2 for -inf. With
        `unit_interval` those outside (0, 1] count as infinite, since no score lies on their other side.
    unit_interval : map [0, 1] to itself, by two straight lines

    Returns
    -------
    (n_samples, n_labels) in [0, 1], of the floating dtype of the scores, on their device
        Integers give float64, or float32 on a device without it. -inf becomes 0, unless the threshold is -inf.
    """
    xp, cells = own(scores)
    dtype, computed = _floating(xp, cells)
    above = _reached(xp, cells, thresholds)
    x = xp.astype(cells, getattr(xp, computed.name))
    with np.errstate(over="ignore"):  # Infinite values are meant, or belong to the other side.
        mapped = (_lines if unit_interval else _logistic)(xp, x, above, rounded_up(thresholds, computed))
    next_below = 0.5 - float(xp.finfo(dtype).eps) / 4
    return xp.astype(xp.where(above, xp.clip(mapped, 0.5, 1.0), xp.clip(mapped, 0.0, next_below)), dtype)


def _floating(xp: Namespace, cells: Array) -> tuple[Any, np.dtype[Any]]:
    """Return the floating dtype for results, and NumPy's for computing them."""
    name = dtype_name(cells)
    if name in FLOATS:
        return cells.dtype, np.dtype("float32" if name in _HALVES else name)
    return best_float(xp, cells)


def _reached(xp: Namespace, cells: Array, thresholds: Floats) -> Array:
    """Tell where score >= threshold, in the dtype of the scores, into which thresholds are rounded up.

    Half precision becomes float32 as it is compared, without a copy.
    """
    name = dtype_name(cells)
    if name in FLOATS:
        return cells >= beside(cells, xp, rounded_up(thresholds, _floating(xp, cells)[1]))
    if name == "bool":
        name, cells = "uint8", xp.astype(cells, xp.uint8)
    limits = np.iinfo(name)
    cuts = np.maximum(np.ceil(thresholds), limits.min)
    never = cuts >= float(limits.max + 1)
    whole = np.where(never, 0, cuts).astype(name)
    return (cells >= beside(cells, xp, whole)) & beside(cells, xp, ~never)


def _lines(xp: Namespace, x: Array, above: Array, t: Dense) -> Array:
    """Map [0, t] to [0, 1/2] and [t, 1] to [1/2, 1]."""
    inside = (t > 0) & (t <= 1)
    length_below = np.where(inside, np.maximum(t, np.finfo(t.dtype).tiny), 1)  # A device may take less for 0.
    start, length_above = np.where(inside, t, 0), np.where(inside & (t < 1), 1 - t, 1)
    below, start, length = (beside(x, xp, part.astype(t.dtype)) for part in (length_below, start, length_above))
    return xp.where(above, 0.5 + 0.5 * ((x - start) / length), 0.5 * (x / below))


def _logistic(xp: Namespace, x: Array, above: Array, t: Dense) -> Array:
    """Map by the logistic function of s - t."""
    inside = np.isfinite(t)
    parts = np.where(inside, t, 0), np.where(inside, 1, 0.5), np.where(t == -np.inf, 0.5, 0)
    shift, height, base = (beside(x, xp, part.astype(t.dtype)) for part in parts)
    return base + height / (1.0 + xp.exp(shift - x))
