"""Precision, recall, F-beta and Jaccard of decisions, with the arguments and results of scikit-learn 1.9.

docs/metrics.md lists the few places where scikit-learn is not followed, and why.
"""

from collections.abc import Collection
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.metrics.averages import JACCARD, PRECISION, RECALL, f_score
from thresholds.metrics.evaluation import AVERAGES, evaluate


def precision_recall_fscore_support(
    y_true: object,
    y_pred: object,
    *,
    beta: float = 1.0,
    labels: object = None,
    pos_label: Any = 1,
    average: str | None = None,
    warn_for: Collection[str] = ("precision", "recall", "f-score"),
    sample_weight: object = None,
    zero_division: Any = "warn",
    unknown: object = None,
) -> tuple[Any, Any, Any, Any]:
    """Compute precision, recall, F-beta and support from one count.

        precision = tp / (tp + fp),    recall = tp / (tp + fn),
        F-beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp),    b = beta,    support = tp + fn

    Parameters
    ----------
    y_true, y_pred :
        Matrices (n_samples, n_labels) of 0 and 1 or bool, dense or scipy.sparse, one label a column; or vectors
        (n_samples,) of classes: integers, bools or strings. A 0/1 vector has the two classes 0 and 1.
    beta : recall counts `beta` times as much as precision; with 0, F-beta is precision
    labels :
        The columns, or classes, that count, in the order of the results; None for all that occur. Classes that do not
        occur have no positives and no predictions. Without effect on "binary".
    pos_label : with average="binary" the class that is positive
    average :
        Over m labels (each class of a vector is a label, against the rest):
        None: an array with the figure of each label;
        "binary": the figure of the class `pos_label` of a vector, or of a single column;
        "micro": the figure of the counts added over labels;
        "macro": the mean of the labels' figures, 1/m sum_j F_j;
        "f_of_averages": F-beta of the mean precision and the mean recall;
        "weighted": the mean of the labels' figures, weighted by their support;
        "samples": the mean of the rows' figures, weighted by `sample_weight` (matrices only).
        `thresholds.metrics.averages` states formula, range, 0/0 rule and source of each.
    warn_for : which figures may warn, of "precision", "recall", "f-score"
    sample_weight : (n_samples,) non-negative, not all 0, or None
    unknown :
        What stands in `y_true` for truth that is not known: "nan" (NaN, None, pandas.NA, masked cells), a number other
        than 0 and 1, as -1, several of these, or None. Such a cell counts as if its label lacked the row; of vectors
        the row is left out.
    zero_division : {"warn", 0, 1, nan}
        The value of 0/0, which each figure has where its own denominator is 0: precision without predictions, recall
        without positives, F with neither. NaN leaves it out of a mean. F is 0, not 0/0, where precision and recall
        are both 0. "warn" is 0 with an `UndefinedMetricWarning`.

    Returns
    -------
    precision, recall, fscore :
        floats in [0, 1], or arrays (n_labels,) for average=None
    support :
        (n_labels,) int64, the number of positives (float64, their weight, with `sample_weight`); None with an average

    Raises
    ------
    InputError
        For different shapes, matrices with other values than 0 and 1, bad weights, labels or options; for "binary"
        with several labels or more than two classes, and "samples" with vectors.

    References
    ----------
    van Rijsbergen 1979, chapter 7; Lipton et al. 2013, section 2; Opitz and Burst 2019.

    Examples
    --------
    >>> from thresholds.metrics import precision_recall_fscore_support
    >>> y_true, y_pred = ["cat", "dog", "pig", "cat"], ["cat", "pig", "pig", "dog"]
    >>> precision_recall_fscore_support(y_true, y_pred, labels=["cat", "pig"])
    (array([1. , 0.5]), array([0.5, 1. ]), array([0.66666667, 0.66666667]), array([2, 1]))
    """
    names = ("precision", "recall", "f-score")
    listed = isinstance(warn_for, Collection) and not isinstance(warn_for, str)
    if not listed or not all(isinstance(name, str) and name in names for name in warn_for):
        raise InputError(
            f"warn_for is {_checks.shown(warn_for)}, expected some of {', '.join(names)}"
        )
    f = f_score(_checks.beta(beta, measures=True))
    evaluation = evaluate(
        y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, unknown
    )

    # F of averages warns of both its parts itself.
    f_warns = "f-score" in warn_for
    f_warns_of_parts = average == "f_of_averages" and f_warns
    precision = evaluation.give(PRECISION, warn="precision" in warn_for and not f_warns_of_parts)
    recall = evaluation.give(RECALL, warn="recall" in warn_for and not f_warns_of_parts)
    f_measure = evaluation.give(f, warn=f_warns)
    support = evaluation.support if average is None else None
    return precision, recall, f_measure, support


def f1_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
    unknown: object = None,
) -> Any:
    """Compute F1 = 2 tp / (2 tp + fp + fn), the harmonic mean of precision and recall.

    In [0, 1]; 0/0, and then `zero_division`, where tp + fp + fn = 0 (Lipton et al. 2013, equation 1). Arguments,
    averages and errors are those of `precision_recall_fscore_support`; a float, or an array for `average=None`.

    Examples
    --------
    >>> from thresholds.metrics import f1_score
    >>> y_true = [[1, 0], [1, 1], [0, 0]]
    >>> y_pred = [[1, 0], [0, 1], [0, 1]]
    >>> f1_score(y_true, y_pred, average=None).round(4)
    array([0.6667, 0.6667])
    >>> for average in ("micro", "macro", "f_of_averages", "weighted", "samples"):
    ...     print(average, round(f1_score(y_true, y_pred, average=average, zero_division=0), 4))
    micro 0.6667
    macro 0.6667
    f_of_averages 0.75
    weighted 0.6667
    samples 0.5556
    """
    return evaluate(
        y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, unknown
    ).give(f_score(1.0))


def fbeta_score(
    y_true: object,
    y_pred: object,
    *,
    beta: float,
    labels: object = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
    unknown: object = None,
) -> Any:
    """Compute F-beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp), b = beta.

    In [0, 1]; 0/0, and then `zero_division`, where tp + fp + fn = 0 (van Rijsbergen 1979, chapter 7). Recall counts
    `beta` times as much as precision; with `beta=0` it is precision, 0/0 without predictions (of which, as in
    scikit-learn, only precision itself warns). Arguments, averages and errors are those of
    `precision_recall_fscore_support`; a float, or an array for `average=None`.

    Examples
    --------
    >>> from thresholds.metrics import fbeta_score
    >>> round(fbeta_score([[1, 0], [0, 1]], [[1, 0], [1, 1]], beta=2.0, average="samples"), 4)
    0.9167
    """
    f = f_score(_checks.beta(beta, measures=True))
    return evaluate(
        y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, unknown
    ).give(f)


def precision_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
    unknown: object = None,
) -> Any:
    """Compute precision = tp / (tp + fp), the share of predictions that are right.

    In [0, 1]; 0/0, and then `zero_division`, without predictions (Lipton et al. 2013, section 2). Arguments, averages
    and errors are those of `precision_recall_fscore_support`; "f_of_averages" is macro here.

    Examples
    --------
    >>> from thresholds.metrics import precision_score
    >>> precision_score([0, 1, 1, 1], [1, 1, 0, 0])
    0.5
    """
    return evaluate(
        y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, unknown
    ).give(PRECISION)


def recall_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
    unknown: object = None,
) -> Any:
    """Compute recall = tp / (tp + fn), the share of positives that are predicted.

    In [0, 1]; 0/0, and then `zero_division`, without positives (Lipton et al. 2013, section 2). Arguments, averages
    and errors are those of `precision_recall_fscore_support`; "f_of_averages" is macro here.

    Examples
    --------
    >>> from thresholds.metrics import recall_score
    >>> recall_score([0, 1, 1, 1, 1], [1, 1, 0, 0, 0])
    0.25
    """
    return evaluate(
        y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, unknown
    ).give(RECALL)


def jaccard_score(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
    unknown: object = None,
) -> Any:
    """Compute the Jaccard index, tp / (tp + fp + fn) = F1 / (2 - F1).

    In [0, 1]; 0/0, and then `zero_division`, where tp + fp + fn = 0 (Lipton et al. 2013, section 2.2). It rises with
    F1, so a label's best threshold is the same for both; averages need not agree. Arguments, averages and errors are
    those of `precision_recall_fscore_support`, except "f_of_averages".

    Examples
    --------
    >>> from thresholds.metrics import jaccard_score
    >>> jaccard_score([0, 1, 1, 1], [1, 1, 1, 0])
    0.5
    """
    _checks.option(average, "average", AVERAGES[:-1])  # F of averages is an F.
    return evaluate(
        y_true, y_pred, labels, pos_label, average, sample_weight, zero_division, unknown
    ).give(JACCARD)
