"""Thresholds inside scikit-learn: a meta-estimator that fits a multi-label classifier and its thresholds."""

from thresholds.sklearn.classifier import MultilabelThresholdClassifierCV
from thresholds.sklearn.outputs import stack_scores

__all__ = ["MultilabelThresholdClassifierCV", "stack_scores"]
