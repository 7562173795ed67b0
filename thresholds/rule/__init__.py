"""Fitted rules: what turns scores into decisions, and what is saved and loaded. Needs NumPy alone.

A `ThresholdRule` predicts label j of an instance iff `score[j] >= threshold[j]`; a `TopKRule` predicts the k
highest scores of each row.
"""

from thresholds.rule.fitted_on import FittedOn
from thresholds.rule.fixed import FixedRule
from thresholds.rule.loading import Rule, load_rule
from thresholds.rule.threshold import ScoreRangeWarning, ThresholdRule
from thresholds.rule.top_k import TopKRule

__all__ = ["FittedOn", "FixedRule", "Rule", "ScoreRangeWarning", "ThresholdRule", "TopKRule", "load_rule"]
