"""How do I use this in scikit-learn? By a meta-estimator that fits a classifier and its thresholds."""

from thresholds.sklearn.classifier import MultilabelThresholdClassifierCV
from thresholds.sklearn.outputs import stack_scores

__all__ = ["MultilabelThresholdClassifierCV", "stack_scores"]
