"""Where in a gap between two scores a threshold lies, and in which precision."""

from typing import Any

import numpy as np

from thresholds._arrays.dtypes import rounded_up, threshold_dtype
from thresholds._arrays.types import Dense, Floats
from thresholds._checks import Placement

_SHARE_OF_GAP = 1 / 1024  # how far above the next lower score the placement "low" lies


def place(score: Floats, lower: Floats, placement: Placement, dtype: np.dtype[Any]) -> Floats:
    """Put a threshold into each gap `(lower, score]`, representable in the dtype of the scores.

    All thresholds in a gap decide alike on the data of the fit; `fit_empirical` describes the
    placements. A gap without a lower end gets the score itself. A subnormal is raised to zero or to
    the smallest normal number if one of them lies in the gap: some runtimes flush subnormals to
    zero.
    """
    kind = threshold_dtype(dtype)
    has_gap = np.flatnonzero(np.isfinite(lower) & np.isfinite(score))  # labels, (n_gaps,)
    top = score[has_gap].astype(kind)  # (n_gaps,)
    bottom = lower[has_gap].astype(kind)  # (n_gaps,)
    if placement == "score":
        at = top
    else:
        at = _low(bottom, top) if placement == "low" else _middle(bottom, top)
        at = _without_subnormals(at, bottom, top)
    placed = score + 0.0  # -0.0 becomes 0.0
    placed[has_gap] = at.astype(np.float64) + 0.0
    return placed


def next_above(thresholds: Floats, dtype: np.dtype[Any]) -> Floats:
    """Return the next number of a dtype above each threshold, which need not be of that dtype; none is subnormal."""
    rounded = rounded_up(thresholds, dtype)
    with np.errstate(over="ignore"):  # Above the largest number lies +inf.
        after = np.nextafter(rounded, dtype.type(np.inf)).astype(np.float64)
    after = np.where(rounded > thresholds, rounded, after)
    tiny = float(np.finfo(dtype).tiny)
    normal = np.where(thresholds >= 0, tiny, 0.0)  # `after` counts as 0 where subnormals do.
    return np.where(np.abs(after) < tiny, normal, after)


def _without_subnormals(at: Dense, bottom: Dense, top: Dense) -> Dense:
    """Raise subnormals to zero or to the smallest normal number, but not above the top.

    Not to zero where the bottom counts as zero if subnormals do.
    """
    tiny = np.finfo(at.dtype).tiny
    if (np.abs(at) >= tiny).all():
        return np.minimum(at, top)
    is_above_zero = (tiny <= top) & ((at > 0) | (bottom > -tiny))
    raised = np.where(is_above_zero | (bottom >= 0), tiny, at.dtype.type(0))
    return np.minimum(np.where(np.abs(at) < tiny, raised, at), top)


def _low(bottom: Dense, top: Dense) -> Dense:
    """Go 1/1024 of the gap above its lower end, at least to the next number."""
    low = bottom.astype(np.float64)
    high = top.astype(np.float64)
    if top.dtype == np.float64:
        with np.errstate(over="ignore"):
            wanted = low + (high - low) * _SHARE_OF_GAP
        mean = low * (1 - _SHARE_OF_GAP) + high * _SHARE_OF_GAP
        wanted = np.where(np.isinf(wanted), mean, wanted)  # The gap exceeds float64.
    else:
        # What float64 lost, if the ends are far apart, still rounds up.
        gap, gap_lost = _two_sum(high, -low)
        wanted, lost = _two_sum(low, gap * _SHARE_OF_GAP)
        wanted = np.where(lost + gap_lost * _SHARE_OF_GAP > 0, np.nextafter(wanted, np.inf), wanted)
    next_number = np.nextafter(bottom, top.dtype.type(np.inf))
    return np.asarray(np.maximum(rounded_up(wanted, top.dtype), next_number))


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a sum, and what it lost to rounding, exactly (Knuth 1997, volume 2, section 4.2.2)."""
    total = a + b
    b_in_total = total - a
    a_in_total = total - b_in_total
    return total, (a - a_in_total) + (b - b_in_total)


def _middle(bottom: Dense, top: Dense) -> Dense:
    """Go to the middle, or to the top if the middle rounds to the bottom."""
    at = (bottom.astype(np.float64) / 2 + top.astype(np.float64) / 2).astype(top.dtype)
    return np.where(at > bottom, at, top)
