"""What a metric gives where it is 0/0, and how it says so: `zero_division`, and a warning in scikit-learn's words."""

import numbers
import warnings

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError


class UndefinedMetricWarning(UserWarning):
    """Issued where a metric is 0/0 and `zero_division="warn"`."""


def value_of(zero_division: object, *, warns: bool = True) -> float:
    """Check `zero_division` and give the number it stands for; "warn" only where there are warnings."""
    if warns and isinstance(zero_division, str) and zero_division == "warn":
        return 0.0
    is_number = isinstance(zero_division, numbers.Real) and not isinstance(zero_division, bool)
    if is_number and (zero_division in (0, 1) or zero_division != zero_division):
        return float(zero_division)  # type: ignore[arg-type]
    expected = "'warn', 0, 1 or nan" if warns else "0, 1 or nan"
    raise InputError(f"zero_division is {_checks.shown(zero_division)}, expected {expected}")


def warn(name: str, lacking: str, undefined: Floats, average: str | None, stacklevel: int) -> None:
    """Warn that a figure is 0/0 in groups that lack something; `undefined` marks them."""
    if not undefined.any():
        return
    group, other = ("sample", "label") if average == "samples" else ("label", "sample")
    where = "due to" if undefined.size == 1 else f"in {group}s with"
    warnings.warn(
        f"{name} is ill-defined and being set to 0.0 {where} no {lacking} {other}s."
        " Use `zero_division` parameter to control this behavior.",
        UndefinedMetricWarning,
        stacklevel=stacklevel + 1,
    )
