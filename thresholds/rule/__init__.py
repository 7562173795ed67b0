"""How is a rule applied, and saved? With NumPy alone, but for the predictions of an `InstanceRule`.

A `ThresholdRule` predicts label j of an instance iff `score[j] >= threshold[j]`, a `RegionRule` iff the score lies in
one of several intervals; a `TopKRule` predicts the k highest scores of each row; an `InstanceRule` finds the best set
for the probabilities of each row. A `CappedRule` keeps the first few labels of another rule. `FixedRule` makes a
`ThresholdRule` of one threshold and a number of labels. A `CalibratedRule` turns scores into probabilities first: it is
in `calibration/rule.py`, as calibration is a room above this one.
"""

from typing import TYPE_CHECKING

from thresholds._names import when_used

if TYPE_CHECKING:
    from thresholds.rule.base import Rule
    from thresholds.rule.fitted_on import FittedOn, LabelCounts, OutOfFold
    from thresholds.rule.guard_report import GuardReport
    from thresholds.rule.instance import InstanceRule
    from thresholds.rule.region import RegionRule
    from thresholds.rule.threshold import FixedRule, ThresholdRule
    from thresholds.rule.top_k import TopKRule
    from thresholds.rule.watching.noticing import ScoreChangeWarning

__all__ = [
    "FittedOn",
    "FixedRule",
    "GuardReport",
    "InstanceRule",
    "LabelCounts",
    "OutOfFold",
    "RegionRule",
    "Rule",
    "ScoreChangeWarning",
    "ThresholdRule",
    "TopKRule",
]

_HOME = {
    "FittedOn": "fitted_on",
    "FixedRule": "threshold",
    "GuardReport": "guard_report",
    "InstanceRule": "instance",
    "LabelCounts": "fitted_on",
    "OutOfFold": "fitted_on",
    "RegionRule": "region",
    "Rule": "base",
    "ScoreChangeWarning": "watching.noticing",
    "ThresholdRule": "threshold",
    "TopKRule": "top_k",
}

# Whoever has one kind of rule loads no other.
__getattr__ = when_used(__name__, _HOME)
