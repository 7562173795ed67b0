"""Reading saved rules."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError
from thresholds._checks.boundary import reading
from thresholds._checks.strict_json import read_json
from thresholds.rule.base import Rule
from thresholds.rule.saving import built, check_header


def load_rule(path: str | os.PathLike[str] | Mapping[str, Any]) -> Rule:
    """Read a rule of any kind that `save` wrote, or that `to_dict` gave; needs NumPy alone, and so do predictions.

    But those of an `InstanceRule` need Numba, and a `CalibratedRule` needs Numba and SciPy.

    Parameters
    ----------
    path : a file, or the plain values of one

    Raises
    ------
    InputError
        If it is not such a rule: truncated, a pickle, of a newer format, with impossible values, unknown fields, or a
        key twice.

    Examples
    --------
    >>> import thresholds
    >>> values = thresholds.TopKRule(3).to_dict()
    >>> thresholds.load_rule(values) == thresholds.TopKRule(3)
    True
    """
    if isinstance(path, Mapping):
        return rule_of(path, "values")
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"path is {_checks.shown(path)}, expected that of a file, or the values of to_dict"
        )
    with reading(path):
        try:
            values = read_json(Path(path).read_bytes())
        except InputError as error:
            raise InputError(
                f"{path} is not a rule: {error}, expected the JSON of rule.save"
            ) from None
        return rule_of(values, str(path))


def rule_of(values: Any, name: str) -> Rule:
    """Build a rule from what its `to_dict` gave; `name` is what has the values, for an error."""
    check_header(values, name)
    kind = _checks.option(values.get("kind"), f"the kind of {name}", tuple(_KINDS))
    rule: Rule = built(_KINDS[kind](), values, name, lambda within: rule_of(within, "rule"))
    return rule


def _thresholds() -> type[Rule]:
    from thresholds.rule.threshold import ThresholdRule

    return ThresholdRule


def _top_k() -> type[Rule]:
    from thresholds.rule.top_k import TopKRule

    return TopKRule


def _region() -> type[Rule]:
    from thresholds.rule.region import RegionRule

    return RegionRule


def _instance() -> type[Rule]:
    from thresholds.rule.instance import InstanceRule

    return InstanceRule


def _capped() -> type[Rule]:
    from thresholds.rule.capped import CappedRule

    return CappedRule


def _calibrated() -> type[Rule]:
    from thresholds.calibration.rule import CalibratedRule

    return CalibratedRule


# Classes of rules by their kind, imported when a file has one: whoever has one kind loads no other.
_KINDS: Mapping[str, Callable[[], type[Rule]]] = {
    "thresholds": _thresholds,
    "top_k": _top_k,
    "region": _region,
    "instance": _instance,
    "capped": _capped,
    "calibrated": _calibrated,
}
