"""Reading saved rules."""

import os
from importlib import import_module
from pathlib import Path

from thresholds import _checks
from thresholds._checks import InputError
from thresholds._checks.boundary import reading
from thresholds._checks.strict_json import read_json
from thresholds.rule.base import Rule
from thresholds.rule.saving import FORMAT, FORMAT_VERSION

# Kinds of rules, one of a room that needs this one: their modules, of which a file needs one, and their classes.
_KINDS = {
    "thresholds": ("thresholds.rule.threshold", "ThresholdRule"),
    "top_k": ("thresholds.rule.top_k", "TopKRule"),
    "region": ("thresholds.rule.region", "RegionRule"),
    "instance": ("thresholds.rule.instance", "InstanceRule"),
    "capped": ("thresholds.rule.capped", "CappedRule"),
    "calibrated": ("thresholds.calibration.rule", "CalibratedRule"),
}


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Read a rule that `save` wrote; needs NumPy alone, and so do predictions.

    But those of an `InstanceRule` need Numba, and a `CalibratedRule` needs Numba and SciPy.

    Raises
    ------
    InputError
        If the file is not such a rule: truncated, a pickle, of a newer format, with impossible values, unknown fields,
        or a key twice.
    """
    with reading(path):
        return _read(path)


def rule_of(values: object, name: str) -> Rule:
    """Build a rule from what its `to_dict` gave; `name` is what has the values, for an error."""
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError(f"{name} is not a rule: expected a JSON object with format {FORMAT!r}")
    if type(values.get("version")) is not int or values["version"] != FORMAT_VERSION:
        raise InputError(
            f"{name} has format version {_checks.shown(values.get('version'))}, expected {FORMAT_VERSION}"
        )
    kind = _checks.option(values.get("kind"), f"the kind of {name}", tuple(_KINDS))
    try:
        return _class_of(kind)._from_values(values)
    except KeyError as error:
        raise InputError(f"{name} lacks {error}, expected the JSON of rule.save") from None
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{name} is not a rule: {error}") from None


def _read(path: str | os.PathLike[str]) -> Rule:
    """Read a rule."""
    try:
        values = read_json(Path(path).read_bytes())
    except InputError as error:
        raise InputError(f"{path} is not a rule: {error}, expected the JSON of rule.save") from None
    return rule_of(values, str(path))


def _class_of(kind: str) -> type[Rule]:
    """Return the class of a kind of rule, imported now."""
    module, name = _KINDS[kind]
    return getattr(import_module(module), name)  # type: ignore[no-any-return]
