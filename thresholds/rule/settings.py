"""What rules have in common: how it was made, checked, and as JSON."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._checks import AVERAGES, PLACEMENTS
from thresholds.rule.saving import Saved, from_json, header, refuse_unknown, to_json

_CHECKS: dict[str, Callable[[Any], Any]] = {
    "missing": lambda value: _checks.missing(value, np.dtype(np.float64)),
    "label_names": lambda value: None if value is None else _checks.names_of_labels(value),
    "average": lambda value: _checks.option(value, "average", (None, *AVERAGES)),
    "beta": _checks.beta,
    "zero_division": _checks.zero_division,
    "objective": lambda value: None if value is None else _checks.finite(value, "objective"),
    "per_label": lambda value: _checks.option(value, "per_label", (True, False)),
    "placement": lambda value: _checks.option(value, "placement", (None, *PLACEMENTS)),
    "guard": lambda value: None if value is None else _checks.text(value, "guard"),
    "expected": lambda value: _checks.option(value, "expected", (None, "counts", "outcomes")),
}
_LATER = {"expected": None}  # what older files do not have


def checked(rule: Any) -> dict[str, Any]:
    """Check the common settings of a rule, those that it has, and give them."""
    return {name: _CHECKS[name](getattr(rule, name)) for name in _of(type(rule))}


def written(rule: Any) -> dict[str, Any]:
    """Return the common settings of a rule as plain values."""
    values = {name: getattr(rule, name) for name in _of(type(rule))}
    if "missing" in values:
        values["missing"] = to_json(values["missing"])
    return values | {"label_names": None if rule.label_names is None else list(rule.label_names)}


def read(kind: type[Saved], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the common settings of a kind of rule from what `written` gave; no fields but these and own."""
    refuse_unknown(values, (*header(""), *kind.own_fields, *_of(kind)))
    values = _LATER | dict(values)
    found = {name: values[name] for name in _of(kind)}
    if "missing" in found:
        found["missing"] = from_json(found["missing"])
    return found


def _of(kind: type) -> list[str]:
    """Name the common settings that a kind of rule has."""
    own = {item.name for item in fields(kind)}
    return [name for name in _CHECKS if name in own]
