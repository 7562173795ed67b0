"""Floors of labels: one for all, by name, or in their order."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from thresholds._arrays.types import Floats
from thresholds._checks.labels import alike, listed, place_of
from thresholds._checks.options import is_utf8, share
from thresholds.errors import InputError, shown

# As options keep it: a number, floors by label name, or those of all labels in order (NaN: none).
Floor: TypeAlias = float | Mapping[str, float] | Sequence[float]


def floor(value: object, name: str) -> float | dict[str, float] | tuple[float, ...]:
    """Check a floor, or floors of labels, each in [0, 1]; there is none for a label that is not named, or has NaN."""
    if isinstance(value, Mapping):
        for label in value:
            if not (isinstance(label, str) and is_utf8(label)):
                raise InputError(f"{name} has a floor for {shown(label)}, expected names of labels")
        if not value:
            raise InputError(f"{name} has no floors, expected some by label name, or None")
        return {
            str(label): share(number, f"{name} of label {shown(label)}")
            for label, number in value.items()
        }
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        floors = tuple(
            math.nan if _is_nan(number) else share(number, f"{name} of label {j}")
            for j, number in enumerate(value)
        )
        if floors and all(map(math.isnan, floors)):
            raise InputError(f"{name} is NaN for all labels, expected a floor for some, or None")
        return floors
    return share(value, name)


def floors_of_labels(
    value: Floor | None, name: str, label_names: Sequence[str] | None, n_labels: int
) -> Floats:
    """Return what `floor` checked as a floor for each label (n_labels,), NaN for none."""
    if value is None:
        return np.full(n_labels, np.nan)
    if isinstance(value, Mapping):
        unknown = [label for label in value if label_names is None or label not in label_names]
        if unknown:
            known = "none, as labels have no names" if label_names is None else listed(label_names)
            why = alike(unknown, label_names or ())
            raise InputError(
                f"{name} has a floor for {listed(unknown)}, expected names of labels: {known}{why}"
            )
        floors = np.full(n_labels, np.nan)
        for label, number in value.items():
            floors[place_of(label, label_names, n_labels)] = number
        return floors
    if isinstance(value, Sequence):
        if len(value) != n_labels:
            plural = "" if len(value) == 1 else "s"
            raise InputError(
                f"{name} has {len(value)} floor{plural}, expected {n_labels}, one for each label"
            )
        return np.array(value, np.float64)
    return np.full(n_labels, value)


def _is_nan(value: object) -> bool:
    """Whether a value is the number NaN."""
    return isinstance(value, float | np.floating) and math.isnan(value)
