"""Probabilities as log odds, on which logistic curves are lines, and back; in host memory and on devices."""

import math
import sys
from typing import Any, TypeVar

import numpy as np

from thresholds._arrays.types import Floats

Values = TypeVar("Values")  # an array of any library

# So many exponentials take Python a few milliseconds, and SciPy's import a few hundred.
_WORTH_SCIPY = 2**16
_MOST_EXPONENT = math.log(sys.float_info.max)


def log_odds(p: Values, xp: Any = np) -> Values:
    """Return log(p / (1 - p)) of an array of the library `xp`."""
    of_any: Any = p
    # Near 1/2 from 2 p - 1, which is exact there; the `logit` of SciPy 1.13 is not.
    with np.errstate(divide="ignore", invalid="ignore"):
        near = xp.log1p((2 * of_any - 1) / (1 - of_any))
        far = xp.log(of_any / (1 - of_any))
    found: Values = xp.where(xp.abs(of_any - 0.5) < 0.25, near, far)
    return found


def sigmoid(z: Values, xp: Any = np) -> Values:
    """Return 1 / (1 + exp(-z)) of an array of the library `xp`; of NumPy as SciPy does, to the last bit."""
    if isinstance(z, np.ndarray):
        return _sigmoid(z)  # type: ignore[return-value]
    of_any: Any = z
    found: Values = 1.0 / (1.0 + xp.exp(-of_any))
    return found


def _sigmoid(z: Floats) -> Floats:
    """Return the sigmoid of a NumPy array; SciPy is imported where there is much to do."""
    if z.size > _WORTH_SCIPY or "scipy.special" in sys.modules:
        from scipy.special import expit

        return np.asarray(expit(z))
    exponentials = [
        math.inf if value < -_MOST_EXPONENT else math.exp(-value) for value in z.ravel().tolist()
    ]
    return np.asarray(1 / (1 + np.array(exponentials))).reshape(z.shape)
