"""What users call most, by name: what `questions.py` times and `memory.py` weighs, each as a function of data."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measuring import THREADS, Scores, Truth

import thresholds
from thresholds.calibration.calibrator import Calibrator
from thresholds.comparison.result import Comparison
from thresholds.diagnosis.result import Diagnosis
from thresholds.validation.cross_fit import CrossFit

Call = Callable[[Truth, Scores], Any]

N_PREDICTED = 5  # labels of a row, of top-k
N_FOLDS = 5


def fit(truth: Truth, scores: Scores, average: str = "macro", **options: Any) -> thresholds.ThresholdRule:
    """Fit on two threads."""
    return thresholds.fit_empirical(truth, scores, average, n_jobs=THREADS, **options)  # type: ignore[arg-type]


def fit_weighted_rows(truth: Truth, scores: Scores) -> thresholds.ThresholdRule:
    """Fit with a weight for each row, no two alike."""
    return fit(truth, scores, sample_weight=np.random.default_rng(1).random(len(scores)))


def diagnose(truth: Truth, scores: Scores) -> Diagnosis:
    """Diagnose the labels of a rule that is given."""
    rule = thresholds.ThresholdRule(np.full(scores.shape[1], 1.0, scores.dtype))
    return thresholds.diagnose(truth, scores, rule, n_jobs=THREADS)


def cross_fit(truth: Truth, scores: Scores, average: str = "macro", **options: Any) -> CrossFit:
    """Fit and judge in folds."""
    return thresholds.cross_fit(truth, scores, average, cv=N_FOLDS, n_jobs=THREADS, **options)  # type: ignore[arg-type]


def calibrate(truth: Truth, scores: Scores, method: str) -> Calibrator:
    """Fit curves of probabilities, drawn towards those of all labels."""
    return thresholds.calibrate(truth, scores, method, n_jobs=THREADS)  # type: ignore[arg-type]


def compare_rules(truth: Truth, scores: Scores) -> Comparison:
    """Fit all rules on one half of the rows, and compare them on the other."""
    return thresholds.compare("all", truth, scores)  # type: ignore[arg-type]


def predict_top(truth: Truth, scores: Scores) -> Any:
    """Predict the highest labels of each row."""
    return thresholds.TopKRule(N_PREDICTED).predict(scores)


# The names that the table shows.
MACRO = "macro"
MICRO = "joint micro"
WEIGHTED = "weighted"
WEIGHTS = "macro with `sample_weight`"
PRECISION = "macro with `min_precision`"
LIMITS = "macro with `max_overprediction`"
SHRUNK = 'macro with `guard="shrink"`'
POOLED = 'micro with `guard="pool"`'
DIAGNOSED = "`diagnose`"
FOLDS = "`cross_fit` of macro"
FOLDS_SHRUNK = '`cross_fit` of macro with `guard="shrink"`'
FOLDS_POOLED = '`cross_fit` of micro with `guard="pool"`'
ISOTONIC = '`calibrate(method="isotonic")`'
PLATT = '`calibrate(method="platt")`'
TOP = f"`TopKRule({N_PREDICTED}).predict`"
COMPARED = "all rules and `compare`"

CALLS: dict[str, Call] = {
    MACRO: fit,
    MICRO: partial(fit, average="micro"),
    WEIGHTED: partial(fit, average="weighted"),
    WEIGHTS: fit_weighted_rows,
    PRECISION: partial(fit, min_precision=0.3),
    LIMITS: partial(fit, max_overprediction=2.0),
    SHRUNK: partial(fit, guard="shrink"),
    POOLED: partial(fit, average="micro", guard="pool"),
    DIAGNOSED: diagnose,
    FOLDS: partial(cross_fit, guard=None),
    FOLDS_SHRUNK: partial(cross_fit, guard="shrink"),
    FOLDS_POOLED: partial(cross_fit, average="micro", guard="pool"),
    ISOTONIC: partial(calibrate, method="isotonic"),
    PLATT: partial(calibrate, method="platt"),
    TOP: predict_top,
    COMPARED: compare_rules,
}
