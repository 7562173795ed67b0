"""How do I use this in scikit-learn? By a meta-estimator that fits a classifier and its thresholds."""

from thresholds.sklearn.classifier import MultilabelThresholdClassifierCV
from thresholds.sklearn.known_rows import KnownRowsClassifier
from thresholds.sklearn.outputs import stack_scores

__all__ = ["KnownRowsClassifier", "MultilabelThresholdClassifierCV", "stack_scores"]
