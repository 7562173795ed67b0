"""Scores of classifiers in one form: scikit-learn's classifiers give them in several, each with its own gaps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix, Scores
from thresholds._checks import InputError
from thresholds.fitting.rules import NamedRule, calibrated_form

METHODS = ("predict_proba", "decision_function")


def stack_scores(raw: object, classes: object, n_labels: int, *, positive: Any = 1) -> Scores:
    """Stack what `predict_proba` or `decision_function` gave: one column of scores a label.

    Parameters
    ----------
    raw : one of
        1. (n_samples, n_labels), dense or sparse: a score for each label (OneVsRestClassifier, ClassifierChain,
           MLPClassifier).
        2. A list of n_labels arrays (n_samples, n_classes), or such a 3-D array: probabilities of the label's classes
           (random forests, k-nearest neighbours, MultiOutputClassifier); (n_samples, 1) for a label that was constant,
           the same probability in every row.
        3. For n_labels=1 also (n_samples,) or (n_samples, n_classes): a binary classifier.
    classes : the classifier's `classes_`
        Only looked at where `raw` has a column for each class, to find the positive one. Where it is missing, two
        columns are negative and positive.
    n_labels : number of labels
    positive : the class whose scores are wanted

    Returns
    -------
    (n_samples, n_labels) scores. A label of which the classifier saw one class has probability 0 or 1 throughout.

    Raises
    ------
    InputError
        For another number of labels, and columns that are not one for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from thresholds.sklearn import stack_scores
    >>> of_forest = [np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[1.0], [1.0]])]  # the second label never occurred
    >>> stack_scores(of_forest, [np.array([0, 1]), np.array([0])], n_labels=2)
    array([[0.1, 0. ],
           [0.6, 0. ]])
    """
    if isinstance(raw, list | tuple) or np.ndim(raw) == 3:  # type: ignore[arg-type]
        parts: Sequence[Any] = raw  # type: ignore[assignment]
        if len(parts) != n_labels:
            raise InputError(
                f"raw has {len(parts)} arrays, expected {n_labels}, one for each label"
            )
        classes_by_label: Sequence[Any] = [None] * n_labels
        if isinstance(classes, list | tuple) and len(classes) == n_labels:
            classes_by_label = classes
        columns = [
            _class_scores(np.asarray(part), label_classes, positive, label)
            for label, (part, label_classes) in enumerate(zip(parts, classes_by_label, strict=True))
        ]
        return np.stack(columns, axis=1)
    array = raw.toarray() if is_sparse(raw) else np.asarray(raw)  # type: ignore[attr-defined]
    if n_labels == 1:
        return _class_scores(array, classes, positive)[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] != n_labels:
        raise InputError(
            f"raw has shape {array.shape}, expected {n_labels} columns, one for each label"
        )
    return array


def _class_scores(array: Scores, classes: Any, positive: Any, label: int = 0) -> Scores:
    """Return the scores of the positive class, from one label's array."""
    if classes is None:
        n_classes = 2
        column: int | None = 1
    else:
        known = np.asarray(classes)
        n_classes = known.size
        columns = np.flatnonzero(known == positive)
        column = int(columns[0]) if columns.size else None
    is_seen = column is not None

    # The probability of the only class, which may be the positive one.
    if n_classes == 1 and array.ndim == 2 and array.shape[1] == 1:
        if not (array == array[:1]).all():
            raise InputError(
                f"raw has different scores in the only column of label {label}, and classes has one class there,"
                " expected its probability, 1; where each label has one column of scores, pass the list as it is to"
                " fit_empirical, and to others that take y_score"
            )
        return np.full(len(array), float(is_seen), array.dtype)

    # One score for two classes is of the last.
    if array.ndim == 1:
        return -array if n_classes == 2 and column == 0 else array
    if array.ndim == 2 and array.shape[1] == 1 and classes is None:
        raise InputError(
            "raw has one column for a label, and classes does not tell which class it is of"
        )
    if array.ndim != 2 or array.shape[1] != n_classes:
        raise InputError(
            f"raw has shape {array.shape} for a label, expected a column for each of {n_classes} classes"
        )
    return array[:, column] if is_seen else np.zeros(len(array), array.dtype)


def scores_of(fitted: Any, X: Any, method: str, n_labels: int, positive: Any) -> Matrix:
    """Score rows with a fitted classifier, and check what it gives."""
    name = f"{method} of {type(fitted).__name__}"
    raw = getattr(fitted, method)(X)
    classes = getattr(fitted, "classes_", None)
    try:
        stacked = stack_scores(raw, classes, n_labels, positive=positive)
    except InputError as error:
        raise InputError(str(error).replace("raw", name, 1)) from None
    return _checks.scores(stacked, name)


def method_of(estimator: Any, response_method: str) -> str:
    """Choose the method that gives scores: probabilities first, as in scikit-learn's own threshold classifiers."""
    wanted = METHODS if response_method == "auto" else (response_method,)
    for method in wanted:
        if hasattr(estimator, method):
            return method
    others = [method for method in METHODS if hasattr(estimator, method)]
    hint = f"response_method={others[0]!r}" if others else "a classifier with scores"
    raise InputError(
        f"estimator {type(estimator).__name__} has no {' or '.join(wanted)}, expected {hint}"
    )


def refuse_margins(named: NamedRule, estimator: Any, method: str) -> None:
    """Refuse a rule that takes scores for probabilities where the method gives margins."""
    if not named.needs_probabilities or method == "predict_proba":
        return
    expected = f"a calibrated rule, as {calibrated_form(named)!r}"
    if hasattr(estimator, "predict_proba"):
        expected += ", or response_method='predict_proba'"
    raise InputError(
        f"rule is {named.name!r}, which takes scores for probabilities, with the {method} of"
        f" {type(estimator).__name__}; expected {expected}"
    )
