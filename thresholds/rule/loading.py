"""Reading saved rules."""

import os
from pathlib import Path
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError
from thresholds._checks.boundary import reading
from thresholds.rule.base import Rule
from thresholds.rule.instance import InstanceRule
from thresholds.rule.region import RegionRule
from thresholds.rule.saving import FORMAT, FORMAT_VERSION
from thresholds.rule.threshold import ThresholdRule
from thresholds.rule.top_k import TopKRule


def load_rule(path: str | os.PathLike[str]) -> Rule:
    """Read a rule that `save` wrote; needs NumPy alone, and so do predictions, but those of an `InstanceRule`.

    Raises
    ------
    InputError
        If the file is not such a rule: truncated, a pickle, of a newer format, with impossible values, unknown fields,
        or a key twice.
    """
    with reading(path):
        return _read(path)


def _read(path: str | os.PathLike[str]) -> Rule:
    """Read a rule."""
    try:
        values = _checks.read_json(Path(path).read_bytes())
    except InputError as error:
        raise InputError(f"{path} is not a rule: {error}, expected the JSON of rule.save") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise InputError(f"{path} is not a rule: expected a JSON object with format {FORMAT!r}")
    if type(values.get("version")) is not int or values["version"] != FORMAT_VERSION:
        raise InputError(f"{path} has format version {values.get('version')!r}, expected {FORMAT_VERSION}")
    kinds: dict[str, Any] = {rule.kind: rule for rule in (ThresholdRule, TopKRule, RegionRule, InstanceRule)}
    _checks.option(values.get("kind"), f"the kind of {path}", tuple(kinds))
    try:
        return kinds[values["kind"]].from_dict(values)  # type: ignore[no-any-return]
    except KeyError as error:
        raise InputError(f"{path} lacks {error}, expected the JSON of rule.save") from None
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path} is not a rule: {error}") from None
