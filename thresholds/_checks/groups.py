"""Groups of rows, named by their caller, as numbers."""

from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._checks.tensors import from_tensor
from thresholds.errors import InputError, shown


def group_numbers(groups: Any, n: int) -> Ints:
    """Number the groups in the order in which they appear."""
    groups = from_tensor(groups, "groups")
    values = groups.tolist() if isinstance(groups, np.ndarray) else groups
    if isinstance(values, str | bytes | Set) or not isinstance(values, Iterable):
        found = shown(groups)
        raise InputError(f"groups is {found}, expected one name or number for each row")
    values = [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]
    if len(values) != n:
        raise InputError(f"groups has {len(values)} entries, expected {n}, one for each row")
    numbers: dict[Any, int] = {}
    for row, value in enumerate(values):
        if not _is_name(value):
            found = shown(value)
            raise InputError(f"groups has {found} at row {row}, expected a name or number")
        numbers.setdefault(value, len(numbers))
    return np.array([numbers[value] for value in values])


def _is_name(value: Any) -> bool:
    """Whether a value tells groups apart: it can be hashed, and equals itself; no missing one does."""
    try:
        hash(value)
        return value is not None and bool(value == value)
    except Exception:  # Whatever the value's own comparison raises.
        return False
