"""Plain values as JSON."""

import json
import math
from typing import Any

import numpy as np


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object, NaN as null and infinite numbers as words: JSON has neither."""
    print(json.dumps(_plain(values), indent=1, allow_nan=False))


def _plain(values: Any) -> Any:
    """Replace what JSON does not have."""
    if isinstance(values, dict):
        return {key: _plain(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    if isinstance(values, np.generic):
        values = values.item()
    if isinstance(values, float) and not math.isfinite(values):
        return None if math.isnan(values) else str(values)
    return values
