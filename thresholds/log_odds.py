"""Probabilities as log odds, on which logistic curves are lines, and back."""

import math
import sys

import numpy as np

from thresholds._arrays.types import Floats

# So many exponentials take Python a few milliseconds, and SciPy's import a few hundred.
_WORTH_SCIPY = 2**16
_MOST_EXPONENT = math.log(sys.float_info.max)


def log_odds(p: Floats) -> Floats:
    """Return log(p / (1 - p))."""
    # Near 1/2 from 2 p - 1, which is exact there; the `logit` of SciPy 1.13 is not. Of each one logarithm is taken.
    flat = p.reshape(-1)
    middle = np.abs(flat - 0.5) < 0.25  # (n,)
    near, far = np.flatnonzero(middle), np.flatnonzero(~middle)
    odds = np.empty_like(flat)
    own = flat[near]
    odds[near] = np.log1p((2 * own - 1) / (1 - own))
    own = flat[far]
    with np.errstate(divide="ignore"):
        odds[far] = np.log(own / (1 - own))
    return odds.reshape(p.shape)


def sigmoid(z: Floats) -> Floats:
    """Return 1 / (1 + exp(-z)), as SciPy does to the last bit; that is imported where there is much to do."""
    if z.size > _WORTH_SCIPY or "scipy.special" in sys.modules:
        from scipy.special import expit

        return np.asarray(expit(z))
    exponentials = [
        math.inf if value < -_MOST_EXPONENT else math.exp(-value) for value in z.ravel().tolist()
    ]
    return np.asarray(1 / (1 + np.array(exponentials))).reshape(z.shape)
