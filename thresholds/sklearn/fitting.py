"""Fits of the classifier, and the scores that each gives the rows it was not fitted on."""

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError
from thresholds._checks.unknown import are_unknown
from thresholds.sklearn.outputs import scores_of
from thresholds.sklearn.targets import Target

# A warning of OneVsRestClassifier, of each such label.
_CONSTANT_LABEL = r"Label .* is present in all training examples"

# Complaints of classifiers: about a y of several labels, a sparse y (not X), a label of one value.
_SEVERAL_LABELS = re.compile(r"1d array|Multilabel and multi-output")
_SPARSE_Y = re.compile(r"Sparse data was passed for y\b")
_ONE_CLASS = re.compile(r"\bclass(es)?\b|out of bounds|unique")

_LEAVES_OUT = (
    "expected one that leaves such cells out, as MultiOutputClassifier(KnownRowsClassifier(...)) with unknown=-1, or"
    " cv='prefit' with one that is fitted already"
)


@dataclass(frozen=True)
class Fold:
    """Rows to fit on (None for a classifier that is fitted already) and rows to score (None for none)."""

    train: Ints | None
    test: Ints | None
    name: str
    keep: bool  # the fitted classifier, too


def fit_fold(
    estimator: Any, X: Any, target: Target, fit_params: dict[str, Any], method: str, fold: Fold
) -> tuple[Any, Matrix | None]:
    """Fit a classifier on the rows of a fold, and score those that it holds out."""
    try:
        if fold.train is not None:
            X_train, y_train = _safe_split(estimator, X, target.y, fold.train)
            params = _check_method_params(X, fit_params, indices=fold.train)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", _CONSTANT_LABEL, UserWarning)
                estimator.fit(X_train, y_train, **params)
            _refuse_unknown_as_class(estimator, target)
        if fold.test is None:
            return estimator, None
        X_test, _ = _safe_split(estimator, X, None, fold.test, fold.train)
        scores = scores_of(estimator, X_test, method, target.n_labels, target.positive)
    except (ValueError, IndexError, NotImplementedError, TypeError) as error:
        _explain(error, estimator, target, fold)
        raise
    if scores.shape[0] != fold.test.size:
        name = type(estimator).__name__
        raise InputError(
            f"{method} of {name} gives {scores.shape[0]} rows, expected {fold.test.size}"
        )
    return (estimator if fold.keep else None), scores


def is_constant(positives: Ints, n_rows: int | Ints) -> npt.NDArray[np.bool_]:
    """Mark labels of one value."""
    return np.asarray((positives == 0) | (positives == n_rows))


def _refuse_unknown_as_class(estimator: Any, target: Target) -> None:
    """Refuse a classifier that learned what stands for unknown truth, as one more class."""
    classes = getattr(estimator, "classes_", None)
    if target.unknown is None or classes is None:
        return
    by_label = classes if isinstance(classes, list) else [classes]
    for label, known in enumerate(by_label):
        classes_of_label = np.asarray(known)
        taken = are_unknown(classes_of_label, target.stands_for_unknown)
        if taken is not None and taken.any():
            found = classes_of_label[taken][0]
            raise InputError(
                f"estimator {type(estimator).__name__} takes {found:g}, which stands for unknown truth, for a class of"
                f" {target.name_of(label)}; {_LEAVES_OUT}"
            )


def _explain(error: Exception, estimator: Any, target: Target, fold: Fold) -> None:
    """Say so if a classifier takes one label only, or fails where a label has one value only, as many do."""
    if fold.train is None or isinstance(error, InputError):
        return
    name = type(estimator).__name__
    message = str(error)

    # A y of which some cells are not known.
    if target.unknown is not None and target.unknown[fold.train].any():
        raise InputError(
            f"estimator {name} takes no y with unknown cells ({_one_line(error)}); {_LEAVES_OUT}"
        ) from error

    # A matrix y.
    has_labels = target.classes is None
    is_about_sparse = has_labels and _SPARSE_Y.search(message)
    if is_about_sparse and _takes_several(estimator):
        raise InputError(
            f"estimator {name} takes no sparse y ({_one_line(error)}), expected a dense one, y.toarray()"
        ) from error
    if is_about_sparse or (has_labels and _SEVERAL_LABELS.search(message)):
        raise InputError(
            f"estimator {name} takes one label, and y has {target.n_labels} ({_one_line(error)}), expected a classifier"
            " of several, such as OneVsRestClassifier(estimator) or MultiOutputClassifier(estimator)"
        ) from error

    # A label of one value; of a vector y only if the other value is in other rows.
    if not _ONE_CLASS.search(message):
        return
    positives = target.positives(fold.train)  # (n_labels,)
    constant = is_constant(positives, target.known(fold.train))
    if not has_labels:
        constant &= ~is_constant(target.positives(slice(None)), target.known(slice(None)))
    if not constant.any():
        return
    label = int(constant.argmax())
    kind = "positives" if positives[label] == 0 else "negatives"
    raise InputError(
        f"estimator {name} fails on {fold.name}, where {target.name_of(label)} has no {kind}"
        f" ({_one_line(error)}); expected one that takes labels of one class, such as"
        " OneVsRestClassifier, or rows with both"
    ) from error


def _takes_several(estimator: Any) -> bool:
    """Whether a classifier says that it takes several labels."""
    tags = get_tags(estimator)
    return bool(
        tags.target_tags.multi_output or (tags.classifier_tags and tags.classifier_tags.multi_label)
    )


def _one_line(error: Exception) -> str:
    """Return the message of a foreign error on one line."""
    return " ".join(str(error).split()).rstrip(".")
