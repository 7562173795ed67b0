"""Scores of classifiers in one form: scikit-learn's classifiers give them in several, each with its own gaps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix, Scores
from thresholds._checks import InputError

METHODS = ("predict_proba", "decision_function")


def stack_scores(raw: object, classes: object, n_labels: int, *, positive: Any = 1) -> Scores:
    """Stack what `predict_proba` or `decision_function` gave: one column of scores a label.

    Parameters
    ----------
    raw : one of
        (n_samples, n_labels): a score for each label (OneVsRestClassifier, ClassifierChain, MLPClassifier), or sparse;
        a list of n_labels arrays (n_samples, n_classes), or such a 3-D array: probabilities of the label's classes
        (random forests, k-nearest neighbours, MultiOutputClassifier), (n_samples, 1) for a label that was constant;
        for n_labels=1 also (n_samples,) or (n_samples, n_classes): a binary classifier
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
        each = (
            classes
            if isinstance(classes, list | tuple) and len(classes) == n_labels
            else [None] * n_labels
        )
        columns = [
            _of_class(np.asarray(part), seen, positive)
            for part, seen in zip(parts, each, strict=True)
        ]
        return np.stack(columns, axis=1)
    array = raw.toarray() if is_sparse(raw) else np.asarray(raw)  # type: ignore[attr-defined]
    if n_labels == 1:
        return _of_class(array, classes, positive)[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] != n_labels:
        raise InputError(
            f"raw has shape {array.shape}, expected {n_labels} columns, one for each label"
        )
    return array


def _of_class(part: Scores, classes: Any, positive: Any) -> Scores:
    """Return the scores of the positive class, from one label's array."""
    seen = np.arange(2) if classes is None else np.asarray(classes)
    at = np.flatnonzero(seen == positive) if classes is not None else np.array([1])
    if seen.size == 1 and part.ndim == 2:
        return np.full(len(part), float(at.size), part.dtype)
    if part.ndim == 1:
        return -part if seen.size == 2 and at.size and at[0] == 0 else part
    if part.ndim == 2 and part.shape[1] == 1 and classes is None:
        raise InputError(
            "raw has one column for a label, and classes does not tell which class it is of"
        )
    if part.ndim != 2 or part.shape[1] != seen.size:
        raise InputError(
            f"raw has shape {part.shape} for a label, expected a column for each of {seen.size} classes"
        )
    return part[:, at[0]] if at.size else np.zeros(len(part), part.dtype)


def scores_of(fitted: Any, X: Any, method: str, n_labels: int, positive: Any) -> Matrix:
    """Score rows with a fitted classifier, and check what it gives."""
    name = f"{method} of {type(fitted).__name__}"
    try:
        stacked = stack_scores(
            getattr(fitted, method)(X),
            getattr(fitted, "classes_", None),
            n_labels,
            positive=positive,
        )
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
