"""What score do decisions reach? Each average of F has its own name; all come from one count.

    F_beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp),    b = beta

Arguments and results are scikit-learn's, for matrices of labels, vectors of classes and binary vectors. "Macro F1"
means two things in print: here `average="macro"` is the mean of the labels' F1, `average="f_of_averages"` is F1 of the
mean precision and the mean recall; `averages_report` shows them side by side. Formulas: `thresholds.metrics.averages`.
"""

from typing import TYPE_CHECKING

from thresholds._names import when_used

if TYPE_CHECKING:
    from thresholds.metrics.accuracy import (
        accuracy_score,
        macro_skill_score,
        multilabel_accuracy,
        skill_score,
    )
    from thresholds.metrics.counts import ConfusionCounts
    from thresholds.metrics.intervals import f_interval
    from thresholds.metrics.ranking import auroc, macro_auroc
    from thresholds.metrics.report import AveragesReport, averages_report
    from thresholds.metrics.scores import (
        f1_score,
        fbeta_score,
        jaccard_score,
        precision_recall_fscore_support,
        precision_score,
        recall_score,
    )
    from thresholds.metrics.targets import confusion_counts
    from thresholds.metrics.undefined import UndefinedMetricWarning

__all__ = [
    "AveragesReport",
    "ConfusionCounts",
    "UndefinedMetricWarning",
    "accuracy_score",
    "auroc",
    "averages_report",
    "confusion_counts",
    "f1_score",
    "f_interval",
    "fbeta_score",
    "jaccard_score",
    "macro_auroc",
    "macro_skill_score",
    "multilabel_accuracy",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
    "skill_score",
]

_HOME = {
    "AveragesReport": "report",
    "ConfusionCounts": "counts",
    "UndefinedMetricWarning": "undefined",
    "accuracy_score": "accuracy",
    "auroc": "ranking",
    "averages_report": "report",
    "confusion_counts": "targets",
    "f1_score": "scores",
    "f_interval": "intervals",
    "fbeta_score": "scores",
    "jaccard_score": "scores",
    "macro_auroc": "ranking",
    "macro_skill_score": "accuracy",
    "multilabel_accuracy": "accuracy",
    "precision_recall_fscore_support": "scores",
    "precision_score": "scores",
    "recall_score": "scores",
    "skill_score": "accuracy",
}

# A fit counts and averages, and loads no more of this.
__getattr__ = when_used(__name__, _HOME)
