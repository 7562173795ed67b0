"""Accuracy and skill: measures that count what is rightly left unpredicted, too."""

import math
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds.metrics import targets
from thresholds.metrics.averages import mean_of_defined
from thresholds.metrics.targets import ClassVectors


def accuracy_score(
    y_true: object,
    y_pred: object,
    *,
    normalize: bool = True,
    sample_weight: object = None,
    unknown: object = None,
) -> float:
    """Compute the share of rows that are right: of matrices, right in every label ("subset accuracy").

        accuracy = sum_i w_i [y_true_i = y_pred_i] / sum_i w_i,    w = sample_weight

    In [0, 1] (unless `normalize` is False), never 0/0. For matrices the share of cells that are right is
    `multilabel_accuracy`. Source: Lipton et al. 2013, equation 2, for a single label; arguments and results are
    scikit-learn's.

    Parameters
    ----------
    y_true, y_pred : as in `precision_recall_fscore_support`
    normalize : False gives the number, or weight, of the rows that are right
    sample_weight : (n_samples,) non-negative, not all 0, or None
    unknown : what stands for truth that is not known, as in `precision_recall_fscore_support`

    Raises
    ------
    InputError
        For bad arrays, weights and options.

    Examples
    --------
    >>> from thresholds.metrics import accuracy_score
    >>> accuracy_score([0, 2, 1, 3], [0, 1, 2, 3])
    0.5
    >>> accuracy_score([[0, 1], [1, 1]], [[1, 1], [1, 1]])
    0.5
    """
    _checks.option(normalize, "normalize", (True, False))
    checked = targets.read(y_true, y_pred, sample_weight=sample_weight, unknown=unknown)
    if isinstance(checked, ClassVectors):
        # Right are the true positives of all classes together.
        counts = checked.by_label()
        right = counts.tp.sum()
        total = counts.positives.sum()
    else:
        counts, weights = checked.known_rows()
        is_exact = counts.fp + counts.fn == 0  # (n_rows,)
        if weights is None:
            weights = np.ones(is_exact.size, np.int64)
        right = weights[is_exact].sum()
        total = weights.sum()
    return min(float(right / total), 1.0) if normalize else float(right * checked.unit)


def multilabel_accuracy(
    y_true: object, y_pred: object, *, sample_weight: object = None, unknown: object = None
) -> float:
    """Compute the share of cells that are right, (TP + TN) / (n m) over n rows and m labels.

    In [0, 1], never 0/0; one minus the Hamming loss, and the mean of the labels' accuracies. Source: Lipton et al.
    2013, section 2.2. On rare labels it is near 1 for predicting nothing: see `macro_skill_score`.

    Parameters
    ----------
    y_true, y_pred : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    sample_weight : (n_samples,) non-negative, not all 0, or None
    unknown : what stands for truth that is not known, as in `precision_recall_fscore_support`

    Raises
    ------
    InputError
        For bad arrays and weights.

    Examples
    --------
    >>> from thresholds.metrics import multilabel_accuracy
    >>> multilabel_accuracy([[0, 1], [1, 1]], [[1, 1], [1, 1]])
    0.75
    """
    counts = targets.read_matrices(y_true, y_pred, sample_weight, unknown).by_label()
    return float(counts.pooled().accuracy()[0])


def skill_score(
    y_true: object, y_pred: object, *, sample_weight: object = None, unknown: object = None
) -> Any:
    """Compute the skill of each label: how far accuracy goes from the majority class's to 1.

        skill = max(0, (accuracy - v) / (1 - v)),    v = share of the majority class of y_true

    In [0, 1], whatever the base rate: 0 for predicting one class everywhere, 1 for perfection. 0/0 where y_true has
    one class only; it is NaN there. Warning: 0 also stands for all that is less accurate than the majority class, so a
    label of which no threshold predicts more rows rightly than wrongly has skill 0 at every threshold, and nothing is
    lost by predicting it everywhere. Source: Lipton et al. 2013, sections 2.2 and 9 (which call it linear in the
    accuracy; it is so above 0).

    Parameters
    ----------
    y_true, y_pred :
        (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; or vectors (n_samples,) of classes, two or more
    sample_weight : (n_samples,) non-negative, not all 0, or None
    unknown : what stands for truth that is not known, as in `precision_recall_fscore_support`

    Returns
    -------
    (n_labels,) float64; for vectors a float

    Raises
    ------
    InputError
        For bad arrays and weights.

    Examples
    --------
    >>> from thresholds.metrics import skill_score
    >>> skill_score([[0, 0], [0, 0], [1, 0], [1, 0]], [[0, 0], [0, 0], [0, 0], [1, 1]])
    array([0.5, nan])
    >>> skill_score(["cat", "cat", "dog", "pig"], ["cat", "cat", "dog", "dog"])
    0.5
    """
    checked = targets.read(y_true, y_pred, sample_weight=sample_weight, unknown=unknown)
    counts = checked.by_label()
    if not isinstance(checked, ClassVectors):
        return counts.skill()

    # Right are the true positives of all classes together.
    right = counts.tp.sum()
    majority = counts.positives.max()
    total = counts.positives.sum()
    if total <= majority:
        return math.nan
    return max(0.0, float((right - majority) / (total - majority)))


def macro_skill_score(
    y_true: object,
    y_pred: object,
    *,
    sample_weight: object = None,
    unknown: object = None,
    return_undefined: bool = False,
) -> Any:
    """Compute the mean of the labels' `skill_score`, over the labels with both classes in y_true.

        1/k sum_j skill_j over the k labels where skill_j is not 0/0

    In [0, 1]; NaN if every label has one class only. Every label counts the same, like in macro-F1, but a label that
    the model knows nothing about gains nothing by being predicted everywhere. Warning: it loses nothing either (see
    `skill_score`), so thresholds cannot be chosen by this mean; `multilabel_accuracy` tells such predictions apart.
    Source: Lipton et al. 2013, section 9.

    Parameters
    ----------
    y_true, y_pred, sample_weight, unknown : as in `multilabel_accuracy`
    return_undefined : also give the number of labels left out of the mean

    Returns
    -------
    float, or (float, int) with `return_undefined`

    Raises
    ------
    InputError
        For bad arrays and weights.

    Examples
    --------
    >>> from thresholds.metrics import macro_skill_score
    >>> y_true, y_pred = [[0, 0], [0, 0], [1, 0], [1, 0]], [[0, 0], [0, 0], [0, 0], [1, 1]]
    >>> macro_skill_score(y_true, y_pred, return_undefined=True)
    (0.5, 1)
    >>> y_true = [[1, 1], [0, 0], [0, 0]]
    >>> macro_skill_score(y_true, [[1, 0], [0, 0], [0, 0]]), macro_skill_score(y_true, [[1, 1], [0, 1], [0, 1]])
    (0.5, 0.5)
    """
    _checks.option(return_undefined, "return_undefined", (True, False))
    counts = targets.read_matrices(y_true, y_pred, sample_weight, unknown).by_label()
    return mean_of_defined(counts.skill(), return_undefined)
