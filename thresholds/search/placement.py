"""Where in a gap between two scores a threshold lies, and in which precision."""

from typing import Any

import numpy as np

from thresholds._arrays.dtypes import rounded_up, threshold_dtype
from thresholds._arrays.types import Dense, Floats
from thresholds._checks import Placement

_LOW = 1 / 1024  # how far above the next lower score the placement "low" lies, as a share of the gap


def place(score: Floats, lower: Floats, placement: Placement, dtype: np.dtype[Any]) -> Floats:
    """Put a threshold into each gap `(lower, score]`, representable in the dtype of the scores.

    All thresholds in a gap decide alike on the data of the fit; `fit_empirical` describes the placements. A gap
    without a lower end gets the score itself. A subnormal is raised to zero or to the smallest normal number if
    one of them lies in the gap: some runtimes flush subnormals to zero.
    """
    kind = threshold_dtype(dtype)
    inside = np.isfinite(lower) & np.isfinite(score)
    top, bottom = score[inside].astype(kind), lower[inside].astype(kind)
    at = top
    if placement != "score":
        at = (_low if placement == "low" else _middle)(bottom, top)
        tiny = np.finfo(kind).tiny
        normal = np.where((at > 0) & ((tiny <= top) | (bottom >= 0)), tiny, kind.type(0))
        at = np.minimum(np.where(np.abs(at) < tiny, normal, at), top)
    placed = score + 0.0  # -0.0 becomes 0.0
    placed[inside] = at.astype(np.float64) + 0.0
    return placed


def _low(bottom: Dense, top: Dense) -> Dense:
    """Go 1/1024 of the gap above its lower end, at least to the next number."""
    low, high = bottom.astype(np.float64), top.astype(np.float64)
    with np.errstate(over="ignore"):
        wanted = low + (high - low) * _LOW
    wanted = np.where(np.isinf(wanted), low * (1 - _LOW) + high * _LOW, wanted)  # The gap exceeds float64.
    if top.dtype != np.float64:  # What float64 lost, if the ends are far apart, still rounds up.
        gap, gap_lost = _two_sum(high, -low)
        wanted, lost = _two_sum(low, gap * _LOW)
        wanted = np.where(lost + gap_lost * _LOW > 0, np.nextafter(wanted, np.inf), wanted)
    return np.asarray(np.maximum(rounded_up(wanted, top.dtype), np.nextafter(bottom, top.dtype.type(np.inf))))


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Add, and give what the sum lost to rounding, exactly (Knuth 1997, volume 2, section 4.2.2)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _middle(bottom: Dense, top: Dense) -> Dense:
    """Go to the middle, or to the top if the middle rounds to the bottom."""
    at = (bottom.astype(np.float64) / 2 + top.astype(np.float64) / 2).astype(top.dtype)
    return np.where(at > bottom, at, top)
