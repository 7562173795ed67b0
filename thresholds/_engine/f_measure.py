"""F-beta of counts: F = (1 + B) tp / (B positives + predicted), B = beta^2."""

import numpy as np

from thresholds._arrays.types import Floats, Numbers


def f_of_counts(
    tp: Numbers, predicted: Numbers, positives: Numbers, beta: float, zero_division: float
) -> Floats:
    """Return F-beta of each group; every F that is reported comes from here."""
    beta2 = beta * beta
    denominator = beta2 * positives + predicted
    if (denominator > 0).all():
        return np.minimum((1.0 + beta2) * tp / denominator, 1.0)  # Rounding may exceed 1.
    is_undefined = (predicted == 0) & ((positives == 0) | (beta == 0))
    f = (1.0 + beta2) * tp / np.where(denominator > 0, denominator, 1.0)
    f = np.minimum(f, 1.0)
    return np.where(is_undefined, zero_division, f)
