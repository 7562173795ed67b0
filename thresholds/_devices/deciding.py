"""Decisions by scores, and scores moved so that every threshold lies at one half."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.types import Dense, Floats
from thresholds._devices.cells import BLOCK, FLOATS, row_blocks
from thresholds._devices.namespaces import Array, Namespace, beside, best_float, dtype_name, own

_HALVES = ("float16", "bfloat16")  # compared, and computed with, in float32


def decide(scores: Array, thresholds: Floats) -> Array:
    """Return uint8 on the device of checked scores: 1 iff score >= threshold.

    Exactly, whatever the dtype, where the device tells subnormal numbers from 0; fitted thresholds
    hardly ever are such.
    """
    xp, cells = own(scores)
    return xp.astype(_reached(xp, cells, thresholds), xp.uint8)


def inside(scores: Array, switches: Sequence[Floats]) -> Array:
    """Return uint8 on the device of checked scores: 1 inside the label's intervals.

    That is where an odd number of its rising switches are <= score.
    """
    xp, cells = own(scores)

    return odd(xp, (_reached(xp, cells, row) for row in switch_table(switches)))


def switch_table(switches: Sequence[Floats]) -> Floats:
    """Return the first switch of each label, the second, ...: (n_switches, n_labels), +inf if none."""
    n_switches = max(1, *(label_switches.size for label_switches in switches))
    table = np.full((n_switches, len(switches)), np.inf)
    for label, label_switches in enumerate(switches):
        table[: label_switches.size, label] = label_switches
    return table


def odd(xp: Namespace, reached: Iterable[Array]) -> Array:
    """Return uint8: 1 where an odd number of these truth values hold, as each turns the decision over."""
    first, *others = reached
    is_inside = first
    for is_reached in others:
        is_inside = is_inside != is_reached
    return xp.astype(is_inside, xp.uint8)


def highest(scores: Array, k: int, *, block: int = BLOCK) -> Array:
    """Return uint8 on the device of checked scores: 1 for the k highest of each row.

    Of equal ones the first labels are taken.
    """
    xp, cells = own(scores)
    marks = [highest_of_rows(xp, cells[rows, :], k) for rows in row_blocks(cells.shape, block)]
    return xp.concat(marks, axis=0)


def highest_of_rows(xp: Namespace, cells: Array, k: int) -> Array:
    """Mark the k highest of each row, of all rows at once."""
    n_labels = cells.shape[1]
    size = min(k, n_labels)
    place = n_labels - max(size, 1)  # of the lowest to be marked, in rising order
    lowest = xp.sort(cells, axis=1)[:, place : place + 1]  # (n_rows, 1)
    return mark_highest(xp, cells, lowest, size)


def mark_highest(xp: Namespace, cells: Array, lowest: Array, size: Any) -> Array:
    """Mark `size` cells of each row: what exceeds the lowest of them, and the first equal to it."""
    is_higher = cells > lowest
    is_equal = cells == lowest
    n_higher = xp.sum(xp.astype(is_higher, xp.int32), axis=1, keepdims=True, dtype=xp.int32)
    n_equal_so_far = xp.cumulative_sum(xp.astype(is_equal, xp.int32), axis=1, dtype=xp.int32)
    is_first = n_equal_so_far <= size - n_higher
    return xp.astype(is_higher | (is_equal & is_first), xp.uint8)


def rescale(scores: Array, thresholds: Floats, unit_interval: bool) -> Array:
    """Map the scores s of each label, in order, so that its threshold t lies at 0.5; NumPy's, too.

        with `unit_interval`:  s / (2 t) below t, and 1/2 + (s - t) / (2 (1 - t)) from t on
        otherwise:             1 / (1 + exp(t - s))

    `result >= 0.5` holds exactly where `score >= threshold` does: what rounding puts on the wrong
    side is moved back. Scores may become equal by rounding.

    Parameters
    ----------
    scores : (n_samples, n_labels), checked; with `unit_interval` in [0, 1] or -inf
    thresholds : (n_labels,)
        Of infinite ones the map is s / 2 or (1 + s) / 2, otherwise half of 1 / (1 + exp(-s)), plus
        1/2 for -inf. With `unit_interval` those outside (0, 1] count as infinite, since no score
        lies on their other side.
    unit_interval : map [0, 1] to itself, by two straight lines

    Returns
    -------
    (n_samples, n_labels) in [0, 1], of the floating dtype of the scores, on their device
        Integers give float64, or float32 on a device without it. -inf becomes 0, unless the
        threshold is -inf.
    """
    xp, cells = own(scores)
    dtype, computed = _floating(xp, cells)
    above = _reached(xp, cells, thresholds)
    x = xp.astype(cells, getattr(xp, computed.name))
    t = rounded_up(thresholds, computed)
    with np.errstate(over="ignore"):  # Infinite values are meant, or belong to the other side.
        mapped = _lines(xp, x, above, t) if unit_interval else _logistic(xp, x, t)

    # Each on its side of one half.
    below_half = 0.5 - float(xp.finfo(dtype).eps) / 4
    mapped_above = xp.clip(mapped, 0.5, 1.0)
    mapped_below = xp.clip(mapped, 0.0, below_half)
    return xp.astype(xp.where(above, mapped_above, mapped_below), dtype)


def _floating(xp: Namespace, cells: Array) -> tuple[Any, np.dtype[Any]]:
    """Return the floating dtype for results, and NumPy's for computing them."""
    name = dtype_name(cells)
    if name in FLOATS:
        return cells.dtype, np.dtype("float32" if name in _HALVES else name)
    return best_float(xp, cells)


def _reached(xp: Namespace, cells: Array, thresholds: Floats) -> Array:
    """Return where score >= threshold, in the dtype of the scores.

    Thresholds are rounded up into it. Half precision becomes float32 as it is compared, without a
    copy.
    """
    name = dtype_name(cells)
    if name in FLOATS:
        _, dtype = _floating(xp, cells)
        cuts = rounded_up(thresholds, dtype)
        # Where scores are not checked, +inf may be among them: it reaches no NaN.
        return cells >= beside(cells, xp, np.where(np.isposinf(cuts), dtype.type(np.nan), cuts))

    # Integers: the next whole number, as far as the dtype goes.
    if name == "bool":
        name = "uint8"
        cells = xp.astype(cells, xp.uint8)
    limits = np.iinfo(name)
    cuts = np.maximum(np.ceil(thresholds), limits.min)
    never = cuts >= float(limits.max + 1)
    whole = np.where(never, 0, cuts).astype(name)
    return (cells >= beside(cells, xp, whole)) & beside(cells, xp, ~never)


def _lines(xp: Namespace, x: Array, above: Array, t: Dense) -> Array:
    """Map [0, t] to [0, 1/2] and [t, 1] to [1/2, 1]."""
    is_inside = (t > 0) & (t <= 1)
    normal = np.maximum(t, np.finfo(t.dtype).tiny)  # A device may take less for 0.
    length_below = _copied(xp, x, np.where(is_inside, normal, 1), t.dtype)
    start = _copied(xp, x, np.where(is_inside, t, 0), t.dtype)
    length_above = _copied(xp, x, np.where(is_inside & (t < 1), 1 - t, 1), t.dtype)

    line_above = 0.5 + 0.5 * ((x - start) / length_above)
    line_below = 0.5 * (x / length_below)
    return xp.where(above, line_above, line_below)


def _logistic(xp: Namespace, x: Array, t: Dense) -> Array:
    """Map by the logistic function of s - t; of infinite t by half of that of s."""
    is_finite = np.isfinite(t)
    shift = _copied(xp, x, np.where(is_finite, t, 0), t.dtype)
    height = _copied(xp, x, np.where(is_finite, 1, 0.5), t.dtype)
    base = _copied(xp, x, np.where(t == -np.inf, 0.5, 0), t.dtype)
    return base + height / (1.0 + xp.exp(shift - x))


def _copied(xp: Namespace, like: Array, values: Dense, dtype: np.dtype[Any]) -> Array:
    """Copy values of labels, in a dtype, to where an array is."""
    return beside(like, xp, values.astype(dtype))
