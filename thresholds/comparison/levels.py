"""Intervals of figures, and rules that cannot be told apart from the best, by the jackknife."""

from collections.abc import Mapping

import numpy as np

from thresholds.metrics.jackknife import (
    Interval,
    LeftOut,
    StandardError,
    standard_error_of,
)


def interval_of(rule: LeftOut, average: str, confidence: float) -> Interval:
    """Return an average of one rule with its interval."""
    value = rule.on_all[average]
    changes = rule.changes[average]  # (n_units,)
    n = changes.size
    if n < 2:
        return Interval(value, np.nan, np.nan)
    squares = changes**2  # (n_units,)
    error = StandardError(float(np.sqrt((n - 1) / n * squares.sum())), n - 1)
    half = error.times((1 + confidence) / 2)
    return Interval(value, max(value - half, 0.0), min(value + half, 1.0))


def behind_best(
    rules: Mapping[str, LeftOut], average: str, confidence: float
) -> dict[str, tuple[Interval, bool]]:
    """Return by how much each rule is behind the best, and whether that may be nothing."""
    best = max(rules.values(), key=lambda rule: rule.on_all[average])
    level = 1 - (1 - confidence) / max(len(rules) - 1, 1)
    found = {}
    for name, rule in rules.items():
        behind = best.on_all[average] - rule.on_all[average]
        if rule is best:
            found[name] = (Interval(0.0, 0.0, 0.0), True)
            continue
        half = standard_error_of(best, rule, average).times(level)
        found[name] = (Interval(behind, behind - half, behind + half), not behind - half > 0)
    return found
