"""Rules as JSON: exact, readable, and free of code. The form is `rule.schema.json`."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds import _checks
from thresholds._checks import AVERAGES, PLACEMENTS, InputError

if TYPE_CHECKING:
    from thresholds.rule.base import Rule

FORMAT = "thresholds.rule"
FORMAT_VERSION = 1

# How a rule was made: the settings that several kinds of rules have, and what checks each.
_SETTINGS: dict[str, Callable[[Any], Any]] = {
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
    "profile": lambda value: value,  # which checks itself
}
_LATER = {"expected": None, "profile": None}  # what older files do not have


def checked_settings(rule: "Rule") -> dict[str, Any]:
    """Return the settings of a rule, those that it has, checked."""
    return {name: _SETTINGS[name](getattr(rule, name)) for name in _settings_of(type(rule))}


def header(kind: str) -> dict[str, Any]:
    """Return the fields that every saved rule begins with."""
    return {"format": FORMAT, "version": FORMAT_VERSION, "kind": kind}


def written_settings(rule: "Rule") -> dict[str, Any]:
    """Return the settings of a rule as plain values."""
    values = {name: getattr(rule, name) for name in _settings_of(type(rule))}
    if "missing" in values:
        values["missing"] = to_json(values["missing"])
    if values.get("profile") is not None:
        values["profile"] = values["profile"].to_dict()
    return values | {"label_names": None if rule.label_names is None else list(rule.label_names)}


def read_settings(kind: "type[Rule]", values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a kind of rule from what `written_settings` gave; no fields but these and its own."""
    names = _settings_of(kind)
    refuse_unknown(values, (*header(""), *kind.own_fields, *names))
    values = _LATER | dict(values)
    settings = {name: values[name] for name in names}
    if "missing" in settings:
        settings["missing"] = from_json(settings["missing"])
    if settings.get("profile") is not None:
        from thresholds.rule.watching.profile import ScoreProfile

        settings["profile"] = ScoreProfile.from_dict(settings["profile"])
    return settings


def _settings_of(kind: type) -> list[str]:
    """Name the settings that a kind of rule has."""
    own = {item.name for item in fields(kind)}
    return [name for name in _SETTINGS if name in own]


def refuse_unknown(values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse fields that are not known, which this version would pass over without a word, and what has no fields."""
    known = list(known)
    if not isinstance(values, Mapping):
        raise InputError(f"found {_checks.shown(values)}, expected the fields {', '.join(known)}")
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise InputError(
            f"the field {_checks.shown(unknown[0])} is unknown, expected those that rule.save writes; a newer version"
            " may know more"
        )


def to_json(value: float) -> float | str | None:
    """Write +inf as null (never) and -inf as a word: JSON has neither."""
    if math.isinf(value):
        return None if value > 0 else "-inf"
    return value


def from_json(value: float | str | None) -> float:
    """Read what `to_json` wrote."""
    if value is None:
        return math.inf
    if value == "-inf":
        return -math.inf
    return _checks.real(value, "a threshold")
