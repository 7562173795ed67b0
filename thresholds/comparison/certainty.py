"""How sure the figures of a comparison are: intervals, what cannot be told apart from the best, differences.

Rows are left out of one rule after another, on threads. What that changes takes 40 bytes a row, and is kept of the best
rules and the baseline alone, which the others are held against.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from thresholds._arrays import threads
from thresholds.comparison.result import MEASURED, Behind, Difference, Measures
from thresholds.metrics.jackknife import Interval, LeftOut, behind, difference_of, interval_of


class Certainty(NamedTuple):
    """How sure the measures of rules are."""

    intervals: dict[str, dict[str, Interval]]  # by rule and measure
    behind_best: dict[str, dict[str, Behind]]  # by measure and rule
    differences: tuple[Difference, ...]


class _OfRule(NamedTuple):
    """How sure the measures of one rule are."""

    intervals: dict[str, Interval]
    behind: dict[str, Behind]
    differences: list[Difference]


def certainty_of(
    rules: Sequence[Measures],
    leave_out: Callable[[str], LeftOut],
    baseline: str | None,
    confidence: float,
    n_cells: int,
) -> Certainty:
    """Find out how sure the measures of rules are; `leave_out` leaves each row out of what a rule decided."""
    best = _best_of_each(rules)
    anchors = _anchors_of(rules, baseline)
    kept = dict(zip(anchors, threads.run(leave_out, anchors, cells=n_cells), strict=True))

    def look_at(name: str) -> _OfRule:
        left_out = kept[name] if name in kept else leave_out(name)
        tied = {
            measure: behind(kept[best[measure]], left_out, measure, confidence, len(rules))
            for measure in MEASURED
        }
        differences = []
        if baseline is not None and name != baseline:
            differences = [
                Difference(
                    name,
                    baseline,
                    measure,
                    *difference_of(left_out, kept[baseline], measure, confidence),
                )
                for measure in MEASURED
            ]
        return _OfRule(
            {measure: interval_of(left_out, measure, confidence) for measure in MEASURED},
            {measure: Behind(*interval, is_tied) for measure, (interval, is_tied) in tied.items()},
            differences,
        )

    names = [of_rule.rule for of_rule in rules]
    found = dict(zip(names, threads.run(look_at, names, cells=n_cells), strict=True))
    behind_best = {}
    if len(rules) > 1:
        behind_best = {
            measure: {name: of_rule.behind[measure] for name, of_rule in found.items()}
            for measure in MEASURED
        }
    return Certainty(
        {name: of_rule.intervals for name, of_rule in found.items()},
        behind_best,
        tuple(difference for of_rule in found.values() for difference in of_rule.differences),
    )


def _anchors_of(rules: Sequence[Measures], baseline: str | None) -> list[str]:
    """Return the rules that others are held against: the best by each measure, and the baseline."""
    given = [] if baseline is None else [baseline]
    return list(dict.fromkeys([*_best_of_each(rules).values(), *given]))


def _best_of_each(rules: Sequence[Measures]) -> dict[str, str]:
    """Return the best rule by each measure."""
    return {measure: _best(rules, measure) for measure in MEASURED}


def _best(rules: Sequence[Measures], measure: str) -> str:
    """Return the rule that reaches most, the first of equals; a measure that no rule has is 0."""
    return max(rules, key=lambda of_rule: np.nan_to_num(getattr(of_rule, measure))).rule
