"""Rules as JSON: exact, readable, and free of code. The form is `rule.schema.json`."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import AVERAGES, PLACEMENTS, InputError
from thresholds._checks import refuse_unknown as refuse_unknown

if TYPE_CHECKING:
    from thresholds.rule.base import Rule

_LONG = 1000  # A list with more values is read by programs alone.

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
}

# What is known of the fit, in parts that check themselves: their modules and classes, imported when a file has them.
_PARTS = {
    "fitted_on": ("thresholds.rule.fitted_on", "FittedOn"),
    "out_of_fold": ("thresholds.rule.fitted_on", "OutOfFold"),
    "made_by": ("thresholds.rule.made_by", "MadeBy"),
    "budget": ("thresholds.rule.budget", "Budget"),
    "profile": ("thresholds.rule.watching.profile", "ScoreProfile"),
    "guarantees": ("thresholds.rule.guarantees", "Guarantees"),
}

# What older files do not have.
_LATER = {"expected": None} | dict.fromkeys(_PARTS)


def checked_settings(rule: "Rule") -> dict[str, Any]:
    """Return the settings of a rule, those that it has, checked, but for those that are as they are by default."""
    defaults = _defaults_of(type(rule))
    given = {name: getattr(rule, name) for name in _SETTINGS if name in defaults}
    return {
        name: _SETTINGS[name](value)
        for name, value in given.items()
        if not _checks.is_default(value, defaults[name])
    }


def check_parts(rule: "Rule") -> None:
    """Refuse what is known of a fit about another number of labels."""
    n_labels = rule.n_labels
    if n_labels is None:
        return
    of_labels = {}
    if rule.fitted_on is not None:
        of_labels["positives"] = rule.fitted_on.n_labels
    if rule.out_of_fold is not None and rule.out_of_fold.by_label is not None:
        of_labels["tp"] = rule.out_of_fold.by_label.n_labels
    if rule.profile is not None:
        of_labels["predicted"] = rule.profile.n_labels
    if rule.guarantees is not None:
        of_labels["instead"] = rule.guarantees.n_labels
    for name, n_values in of_labels.items():
        if n_values != n_labels:
            raise InputError(f"{name} has {n_values} values, expected {n_labels}")


def header(kind: str) -> dict[str, Any]:
    """Return the fields that every saved rule begins with."""
    return {"format": FORMAT, "version": FORMAT_VERSION, "kind": kind}


def written_settings(rule: "Rule") -> dict[str, Any]:
    """Return the settings of a rule, and what is known of its fit, as plain values."""
    values = {name: getattr(rule, name) for name in _fields_of(type(rule), _SETTINGS)}
    if "missing" in values:
        values["missing"] = to_json(values["missing"])
    if values.get("label_names") is not None:
        values["label_names"] = list(values["label_names"])
    for name in _fields_of(type(rule), _PARTS):
        part = getattr(rule, name)
        values[name] = None if part is None else part.to_dict()
    return values


def read_settings(kind: "type[Rule]", values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `written_settings` gave of a kind of rule; no fields but these and its own."""
    names = [*_fields_of(kind, _SETTINGS), *_fields_of(kind, _PARTS)]
    refuse_unknown(values, (*header(""), *kind.own_fields, *names))
    values = _LATER | dict(values)
    settings = {name: values[name] for name in names}
    if "missing" in settings:
        settings["missing"] = from_json(settings["missing"])
    for name, (module, part) in _PARTS.items():
        if settings.get(name) is not None:
            settings[name] = getattr(import_module(module), part).from_dict(settings[name])
    return settings


def _fields_of(kind: type, names: Iterable[str]) -> list[str]:
    """Return those of some names that a kind of rule has as fields."""
    own = _defaults_of(kind)
    return [name for name in names if name in own]


@cache
def _defaults_of(kind: type) -> dict[str, Any]:
    """Return the default of each field of a kind of rule."""
    return {item.name: item.default for item in fields(kind)}


def as_text(value: Any, depth: int = 0) -> str:
    """Write plain values as JSON, one to a line, but for long lists: each of these is one line."""
    write = partial(json.dumps, allow_nan=False, ensure_ascii=False)
    is_long = isinstance(value, list) and len(value) > _LONG
    if not isinstance(value, Mapping | list) or not value or is_long:
        return write(value)
    start, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(start + as_text(item, depth + 1) for item in value) + end + "]"
    items = (f"{start}{write(key)}: {as_text(item, depth + 1)}" for key, item in value.items())
    return "{" + ",".join(items) + end + "}"


def cuts_from_json(values: list[Any]) -> Floats:
    """Read thresholds that `to_json` wrote: all at once where they are numbers or null, as they nearly always are."""
    if set(map(type, values)) <= {int, float, type(None)}:
        with suppress(OverflowError):
            return np.array([math.inf if value is None else value for value in values], np.float64)
    return np.array([from_json(value) for value in values])


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
