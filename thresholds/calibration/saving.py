"""Calibrators from plain values, as the JSON of a `CalibratedRule` has them, and their curves as such values.

The form is `rule.schema.json`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._results.plain import number_of, plain
from thresholds.calibration.by_class import ScoresByClass
from thresholds.calibration.curves import BYS, METHODS, By, CalibrationCurves, Knots
from thresholds.calibration.measures import CalibrationMeasures

Check = Callable[[object, str], float]

_FIELDS = ("method", "label_names", "missing", "absent", "before", "after", "curves")
_STEEPEST = 1e300  # slope, whose product with a logit is finite


def curves_to_json(curves: CalibrationCurves) -> dict[str, Any]:
    """Return curves as plain values, but for the factors of odds."""
    if curves.knots is None:
        columns = {name: getattr(curves, _FIELD_OF.get(name, name)) for name in _LINE}
        limits = None if curves.limits is None else list(curves.limits)
        return {"curves": _records(columns), "limits": limits}
    knots = [
        {"scores": scores.tolist(), "probabilities": probabilities.tolist()}
        for scores, probabilities in curves.knots.of_groups
    ]
    if curves.slope is None:
        return {"curves": knots}
    columns = {name: getattr(curves, name) for name in _STRETCH}
    return {"curves": knots, "stretches": _records(columns)}


def calibrator_from_json(values: object) -> dict[str, Any]:
    """Return the fields of a calibrator from what `Calibrator.to_dict` gave, checked as a file must be."""
    values = _an_object(values, "calibrator")
    method = _checks.option(values["method"], "method", METHODS)
    by = _by_from_json(values)

    # Older files have `pooled` for `by`, and neither of the two last.
    of_kind = _part_of_kind(method, by)
    later = [name for name in ("odds", "by_class") if name in values]
    _checks.refuse_unknown(
        values, (*_FIELDS, "pooled" if "pooled" in values else "by", *of_kind, *later)
    )

    absent = _numbers(values["absent"], "absent", _checks.share)  # (n_labels,)
    if not absent.size:
        raise InputError("absent is [], expected a probability for each label")
    names = values["label_names"]
    names = None if names is None else _checks.names_of_labels(names)
    _checks.one_name_each(names, absent.size)
    missing = _checks.missing(number_of(values["missing"], "cut"), np.dtype(np.float64))
    by_class = None
    if "by_class" in values:
        counts = _an_object(values["by_class"], "by_class")
        by_class = ScoresByClass.from_json(counts, absent.size)
    return {
        "method": method,
        "by": by,
        "label_names": names,
        "missing": missing,
        "absent": absent,
        "before": CalibrationMeasures.from_dict(_an_object(values["before"], "before")),
        "after": CalibrationMeasures.from_dict(_an_object(values["after"], "after")),
        "curves": _curves(values, of_kind, by == "pooled", missing, absent.size),
        "by_class": by_class,
    }


def _by_from_json(values: Mapping[str, Any]) -> By:
    """Return whose curves they are; in older files `pooled` says it."""
    if "pooled" not in values:
        by: By = _checks.option(values["by"], "by", BYS)
        return by
    return "pooled" if _checks.option(values["pooled"], "pooled", (True, False)) else "label"


def _part_of_kind(method: str, by: str) -> list[str]:
    """Return the field that only this kind of curves has."""
    if method == "platt":
        return ["limits"]
    return ["stretches"] if by == "shrink" else []


def _curves(
    values: Mapping[str, Any], of_kind: list[str], pooled: bool, missing: float, n_labels: int
) -> CalibrationCurves:
    """Return curves from plain values, and the factors of their odds."""
    is_stretched = of_kind == ["stretches"]
    n_groups = 1 if pooled or is_stretched else n_labels
    parts: dict[str, Any] = {}
    if of_kind == ["limits"]:
        columns = _columns(values["curves"], "curves", _LINE, n_groups)
        parts = {_FIELD_OF.get(name, name): column for name, column in columns.items()}
        parts |= {"limits": _limits(values["limits"]), "missing": missing}
    else:
        parts["knots"] = _knots(values["curves"], n_groups)
    if is_stretched:
        parts |= _columns(values["stretches"], "stretches", _STRETCH, n_labels)
    if "odds" in values:
        parts["odds"] = _numbers(values["odds"], "odds", _checks.positive)
        _same_size(parts["odds"], "odds", n_labels)
    return CalibrationCurves(pooled=pooled, **parts)


def _knots(values: object, n_groups: int) -> Knots:
    """Return piecewise linear curves from the knots of each group."""
    groups = _objects(values, "curves", ("scores", "probabilities"), n_groups)
    knots = []
    for group in groups:
        scores = _numbers(group["scores"], "scores", _checks.finite)
        probabilities = _numbers(group["probabilities"], "probabilities", _checks.share)
        if probabilities.size != scores.size:
            raise InputError(
                f"probabilities has {probabilities.size} values, expected {scores.size} as scores has"
            )
        _checks.rising(scores, "scores")
        if (np.diff(probabilities) < 0).any():
            raise InputError(
                f"probabilities is {_checks.shown(probabilities.tolist())}, expected numbers that rise or stay"
            )
        knots.append((scores, probabilities))
    return Knots.from_groups(knots)


def _limits(values: object) -> tuple[float, float] | None:
    """Return the numbers that scores are brought between for their logit."""
    if values is None:
        return None
    ends = _numbers(values, "limits", _checks.share)
    _same_size(ends, "limits", 2)
    low, high = ends.tolist()
    if high < low:
        raise InputError(f"limits is {[low, high]}, expected numbers that rise")
    return low, high


def _finite_or_never(value: object, name: str) -> float:
    """Return a number that may be -inf: as an intercept, that of a label that is never probable."""
    return -math.inf if value == "-inf" else _checks.finite(value, name)


def _rising_slope(value: object, name: str) -> float:
    """Return a slope of the logit of a curve that rises."""
    slope = _checks.finite(value, name)
    if slope < 0:
        raise InputError(f"{name} is {slope}, expected a number of at least 0")
    if slope > _STEEPEST:
        raise InputError(f"{name} is {slope}, expected a number of at most {_STEEPEST:g}")
    return slope


# The fields of one line, by their names in JSON, and what checks each.
_LINE: dict[str, Check] = {
    "scale": _checks.positive,
    "centre": _checks.finite,
    "slope": _checks.finite,
    "intercept": _finite_or_never,
    "missing": _checks.share,
}
_STRETCH: dict[str, Check] = {"slope": _rising_slope, "intercept": _finite_or_never}
_FIELD_OF = {"missing": "at_missing"}  # whose names differ


def _records(columns: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Return an object for each entry of some columns."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, plain(row, "cut"), strict=True)) for row in rows]


def _columns(
    values: object, name: str, checks: Mapping[str, Check], n_groups: int
) -> dict[str, Floats]:
    """Return the columns, (n_groups,) each, of what `_records` gave, every number checked."""
    records = _objects(values, name, list(checks), n_groups)
    rows = [[check(record[field], field) for field, check in checks.items()] for record in records]
    return dict(zip(checks, np.array(rows, np.float64).T, strict=True))


def _objects(
    values: object, name: str, known: Sequence[str], n_groups: int
) -> list[Mapping[str, Any]]:
    """Check a list of so many objects of known fields."""
    objects = [_an_object(value, name) for value in _checks.a_list(values, name)]
    _same_size(objects, name, n_groups)
    for value in objects:
        _checks.refuse_unknown(value, known)
    return objects


def _same_size(values: Sequence[Any] | Floats, name: str, n_values: int) -> None:
    """Refuse another number of values."""
    if len(values) != n_values:
        raise InputError(f"{name} has {len(values)} values, expected {n_values}")


def _numbers(values: object, name: str, check: Check) -> Floats:
    """Return a list of numbers as an array, each checked."""
    return np.array([check(value, name) for value in _checks.a_list(values, name)], np.float64)


def _an_object(values: object, name: str) -> Mapping[str, Any]:
    """Check an object of JSON."""
    if not isinstance(values, dict):
        raise InputError(f"{name} is {_checks.shown(values)}, expected an object")
    return values
