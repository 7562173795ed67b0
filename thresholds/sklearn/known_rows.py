"""A classifier of one label that is fitted on the rows whose label is known.

Classifiers of several labels that fit one classifier for each, as scikit-learn's `MultiOutputClassifier`, hand it all
rows. Where cells of y are not known, each label has rows of its own.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_method_params,
    _estimator_has,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from thresholds._arrays.types import Ints
from thresholds._checks import InputError, plain
from thresholds._checks.unknown import are_unknown, unknown_values


class KnownRowsClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a classifier of one label on the rows in which y is known.

    Parameters
    ----------
    estimator : a classifier of one label
    unknown : what stands in y for a row that is not known: a number other than 0 and 1, "nan", or several of these
        -1 (default) is what semi-supervised classifiers of scikit-learn have for it.

    Attributes
    ----------
    estimator_ : fitted on the rows that are known
    classes_ : those of `estimator_`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multioutput import MultiOutputClassifier
    >>> from thresholds.sklearn import KnownRowsClassifier, MultilabelThresholdClassifierCV
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> y[::3, 0] = -1  # nobody knows
    >>> base = MultiOutputClassifier(KnownRowsClassifier(LogisticRegression()))
    >>> classifier = MultilabelThresholdClassifierCV(base, unknown=-1).fit(X, y)
    >>> classifier.predict(X[:2]).shape
    (2, 5)
    """

    def __init__(self, estimator: Any, *, unknown: Any = -1) -> None:
        self.estimator = estimator
        self.unknown = unknown

    def fit(self, X: Any, y: Any, **fit_params: Any) -> "KnownRowsClassifier":
        """Fit the classifier on the rows that are known; of `fit_params`, what has a value for each row, likewise.

        Raises
        ------
        InputError
            For a y of which no row is known.
        """
        X, y = indexable(X, y)
        validate_data(self, X, skip_check_array=True)
        known = self._known(y)
        params = _check_method_params(X, fit_params, indices=known)
        fitted = clone(self.estimator)
        fitted.fit(_safe_indexing(X, known), _safe_indexing(y, known), **params)
        self.estimator_ = fitted
        self.classes_ = fitted.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return what `estimator_.predict` gives."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the rows that are known."""
        X, y, sample_weight = indexable(X, y, sample_weight)
        known = self._known(y)
        weights = None if sample_weight is None else _safe_indexing(sample_weight, known)
        return float(super().score(_safe_indexing(X, known), _safe_indexing(y, known), weights))

    def _known(self, y: Any) -> Ints:
        """Return the numbers of the rows that are known, (n_known,)."""
        stands_for = unknown_values(self.unknown)
        cells = column_or_1d(plain(y, "y", stands_for), warn=True)  # (n_samples,)
        is_unknown = are_unknown(cells, stands_for)
        known = np.arange(len(y)) if is_unknown is None else np.flatnonzero(~is_unknown)
        if not known.size:
            raise InputError("y has no known row, expected at least one of each class")
        return known

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return what `estimator_.predict_proba` gives."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return what `estimator_.decision_function` gives."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        """Describe what this estimator takes: what the classifier inside does."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
