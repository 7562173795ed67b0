"""Calibrators as plain values, for the JSON of a `CalibratedRule`, and back. The form is `rule.schema.json`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import InputError
from thresholds._results.fields import number_of, plain
from thresholds.calibration.by_class import ScoresByClass
from thresholds.calibration.calibrator import BYS, METHODS, By, Calibrator
from thresholds.calibration.curves import Curves
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.calibration.measures import CalibrationMeasures
from thresholds.calibration.platt import LogisticCurves
from thresholds.calibration.stretched import StretchedCurves

_FIELDS = ("method", "label_names", "missing", "absent", "before", "after", "curves")
_OF_BASE_RATES = ("odds", "by_class")  # not in older files
_KNOTS = ("scores", "probabilities")
_STRETCH = ("slope", "intercept")
_STEEPEST = 1e300  # slope, whose product with a logit is finite
_LINE = ("scale", "centre", "slope", "intercept")  # the rows of `LogisticCurves.curves`


def to_values(calibrator: Calibrator) -> dict[str, Any]:
    """Return a calibrator as plain values."""
    values = {
        "method": calibrator.method,
        "by": calibrator.by,
        "label_names": None if calibrator.label_names is None else list(calibrator.label_names),
        "missing": plain(calibrator.missing, "cut"),
        "absent": calibrator.absent.tolist(),
        "before": _written_measures(calibrator.before),
        "after": _written_measures(calibrator.after),
    }
    if calibrator.curves.odds is not None:
        values["odds"] = calibrator.curves.odds.tolist()
    if calibrator.by_class is not None:
        values["by_class"] = calibrator.by_class.to_dict()
    curves = calibrator._curves.by_group
    if isinstance(curves, IsotonicCurves):
        return values | {"curves": _written_knots(curves)}
    if isinstance(curves, StretchedCurves):
        lines = _written_stretches(curves)
        return values | {"curves": _written_knots(curves.common), "stretches": lines}
    return values | {
        "curves": _written_lines(curves),
        "limits": None if curves.limits is None else list(curves.limits),
    }


def from_values(values: object) -> Calibrator:
    """Build a calibrator from what `to_values` gave, checked as what comes from a file must be."""
    values = _an_object(values, "calibrator")
    method = _checks.option(values["method"], "method", METHODS)
    by = _read_by(values)
    is_stretched = method == "isotonic" and by == "shrink"
    own = ["limits"] if method == "platt" else ["stretches"] if is_stretched else []
    own += [name for name in _OF_BASE_RATES if name in values]
    _checks.refuse_unknown(values, (*_FIELDS, "pooled" if "pooled" in values else "by", *own))
    absent = _numbers(values["absent"], "absent", _checks.share)  # (n_labels,)
    if not absent.size:
        raise InputError("absent is [], expected a probability for each label")
    names = (
        None if values["label_names"] is None else _checks.names_of_labels(values["label_names"])
    )
    _checks.one_name_each(names, absent.size)
    missing = _checks.missing(number_of(values["missing"], "cut"), np.dtype(np.float64))

    groups = [_an_object(group, "curves") for group in _checks.a_list(values["curves"], "curves")]
    n_groups = 1 if by == "pooled" or is_stretched else absent.size
    if len(groups) != n_groups:
        raise InputError(f"curves has {len(groups)} values, expected {n_groups}")
    curves: IsotonicCurves | LogisticCurves | StretchedCurves
    if is_stretched:
        curves = StretchedCurves(_read_knots(groups), _read_stretches(values, absent.size))
    elif method == "isotonic":
        curves = _read_knots(groups)
    else:
        curves = _read_lines(groups, values["limits"], missing)
    return Calibrator(
        method=method,
        by=by,
        label_names=names,
        missing=missing,
        absent=absent,
        before=_read_measures(values["before"], "before"),
        after=_read_measures(values["after"], "after"),
        _curves=Curves(curves, pooled=by == "pooled", odds=_read_odds(values, absent.size)),
        by_class=_read_by_class(values, absent.size),
    )


def _read_odds(values: Mapping[str, Any], n_labels: int) -> Floats | None:
    """Return the factors of the odds; None where base rates have not moved."""
    if "odds" not in values:
        return None
    odds = _numbers(values["odds"], "odds", _checks.positive)
    if odds.size != n_labels:
        raise InputError(f"odds has {odds.size} values, expected {n_labels}")
    return odds


def _read_by_class(values: Mapping[str, Any], n_labels: int) -> ScoresByClass | None:
    """Return the counts of positives and negatives by score; None in older files."""
    if "by_class" not in values:
        return None
    return ScoresByClass.from_dict(_an_object(values["by_class"], "by_class"), n_labels)


def _read_by(values: Mapping[str, Any]) -> By:
    """Return whose curves they are; in older files `pooled` says it."""
    if "pooled" not in values:
        by: By = _checks.option(values["by"], "by", BYS)
        return by
    return "pooled" if _checks.option(values["pooled"], "pooled", (True, False)) else "label"


def _written_knots(curves: IsotonicCurves) -> list[dict[str, list[float]]]:
    """Return the knots of each group."""
    ends = curves.offsets.tolist()
    groups = [slice(start, end) for start, end in pairwise(ends)]
    return [
        {
            "scores": curves.scores[knots].tolist(),
            "probabilities": curves.probabilities[knots].tolist(),
        }
        for knots in groups
    ]


def _read_knots(groups: list[Mapping[str, Any]]) -> IsotonicCurves:
    """Return curves from the knots of each group."""
    scores, probabilities = [], []
    for group in groups:
        _checks.refuse_unknown(group, _KNOTS)
        knots = _numbers(group["scores"], "scores", _checks.finite)
        values = _numbers(group["probabilities"], "probabilities", _checks.share)
        if values.size != knots.size:
            raise InputError(
                f"probabilities has {values.size} values, expected {knots.size} as scores has"
            )
        _checks.rising(knots, "scores")
        if (np.diff(values) < 0).any():
            raise InputError(
                f"probabilities is {_checks.shown(values.tolist())}, expected numbers that rise or stay"
            )
        scores.append(knots)
        probabilities.append(values)
    offsets = np.append(0, np.cumsum([knots.size for knots in scores]))  # (n_groups + 1,)
    return IsotonicCurves(offsets, np.concatenate(scores), np.concatenate(probabilities))


def _written_stretches(curves: StretchedCurves) -> list[dict[str, Any]]:
    """Return the slope and the intercept of each label."""
    return [
        {"slope": slope, "intercept": plain(intercept, "cut")}
        for slope, intercept in curves.lines.T.tolist()
    ]


def _read_stretches(values: Mapping[str, Any], n_labels: int) -> Floats:
    """Return the slope and the intercept (2, n_labels) of each label."""
    lines = []
    for line in _checks.a_list(values["stretches"], "stretches"):
        line = _an_object(line, "stretches")
        _checks.refuse_unknown(line, _STRETCH)
        slope = _checks.finite(line["slope"], "slope")
        if slope < 0:
            raise InputError(f"slope is {slope}, expected a number of at least 0")
        if slope > _STEEPEST:
            raise InputError(f"slope is {slope}, expected a number of at most {_STEEPEST:g}")
        lines.append((slope, _read_intercept(line["intercept"])))
    if len(lines) != n_labels:
        raise InputError(f"stretches has {len(lines)} values, expected {n_labels}")
    return np.array(lines).T


def _read_intercept(value: object) -> float:
    """Return an intercept; -inf stands for a label that is never probable."""
    return -math.inf if value == "-inf" else _checks.finite(value, "intercept")


def _written_lines(curves: LogisticCurves) -> list[dict[str, Any]]:
    """Return the parameters of each group, and the probability of its cells that are `missing`."""
    columns = zip(*curves.curves.tolist(), curves.at_missing.tolist(), strict=True)
    return [
        {
            "scale": scale,
            "centre": centre,
            "slope": slope,
            "intercept": plain(intercept, "cut"),
            "missing": missing,
        }
        for scale, centre, slope, intercept, missing in columns
    ]


def _read_lines(groups: list[Mapping[str, Any]], limits: object, missing: float) -> LogisticCurves:
    """Return curves from the parameters of each group."""
    lines, at_missing = [], []
    for group in groups:
        _checks.refuse_unknown(group, (*_LINE, "missing"))
        lines.append(
            (
                _checks.positive(group["scale"], "scale"),
                _checks.finite(group["centre"], "centre"),
                _checks.finite(group["slope"], "slope"),
                _read_intercept(group["intercept"]),
            )
        )
        at_missing.append(_checks.share(group["missing"], "missing"))
    ends = None
    if limits is not None:
        ends = tuple(_numbers(limits, "limits", _checks.share).tolist())
        if len(ends) != 2:
            raise InputError(f"limits has {len(ends)} values, expected 2")
        if ends[1] < ends[0]:
            raise InputError(f"limits is {list(ends)}, expected numbers that rise")
    return LogisticCurves(np.array(lines).T, ends, missing, np.array(at_missing))


def _written_measures(measures: CalibrationMeasures) -> dict[str, float | str | None]:
    """Return measures as plain values, NaN as null and infinite ones as words: JSON has neither."""
    return {name: _written_measure(value) for name, value in asdict(measures).items()}


def _written_measure(value: float) -> float | str | None:
    """Return one measure as a plain value."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def _read_measures(values: object, name: str) -> CalibrationMeasures:
    """Return measures from plain values."""
    values = _an_object(values, name)
    names = [item.name for item in fields(CalibrationMeasures)]
    _checks.refuse_unknown(values, names)
    return CalibrationMeasures(
        **{measure: _read_measure(values[measure], measure) for measure in names}
    )


def _read_measure(value: object, name: str) -> float:
    """Return one measure from a plain value."""
    if value is None:
        return math.nan
    return float(value) if value in ("inf", "-inf") else _checks.finite(value, name)


def _numbers(values: object, name: str, check: Callable[[object, str], float]) -> Floats:
    """Return a list of numbers as an array, each checked."""
    return np.array([check(value, name) for value in _checks.a_list(values, name)], np.float64)


def _an_object(values: object, name: str) -> Mapping[str, Any]:
    """Check an object of JSON."""
    if not isinstance(values, dict):
        raise InputError(f"{name} is {_checks.shown(values)}, expected an object")
    return values
