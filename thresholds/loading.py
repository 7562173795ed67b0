"""Reading saved rules."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError
from thresholds._checks.boundary import reading
from thresholds._checks.strict_json import read_json
from thresholds.rule.base import Rule
from thresholds.rule.saving import built, check_header

_KINDS = ("thresholds", "top_k", "region", "instance", "capped", "calibrated")


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
    kind = _checks.option(values.get("kind"), f"the kind of {name}", _KINDS)
    rule: Rule = built(_class_of(kind), values, name, lambda within: rule_of(within, "rule"))
    return rule


def _class_of(kind: str) -> type[Rule]:
    """Return the class of a kind of rule; whoever has one kind loads no other."""
    if kind == "thresholds":
        from thresholds.rule.threshold import ThresholdRule

        return ThresholdRule
    if kind == "top_k":
        from thresholds.rule.top_k import TopKRule

        return TopKRule
    if kind == "region":
        from thresholds.rule.region import RegionRule

        return RegionRule
    if kind == "instance":
        from thresholds.rule.instance import InstanceRule

        return InstanceRule
    if kind == "capped":
        from thresholds.rule.capped import CappedRule

        return CappedRule
    from thresholds.calibration.rule import CalibratedRule

    return CalibratedRule
