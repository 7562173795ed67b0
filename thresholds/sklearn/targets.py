"""The y of scikit-learn as an indicator matrix, and decisions as scikit-learn gives them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError


@dataclass(frozen=True)
class Target:
    """What is to be predicted."""

    y: Any  # as estimators take it: (n_samples, n_labels) int64, dense or CSR; or (n_samples,) classes
    truth: Matrix  # (n_samples, n_labels) 0/1
    classes: Dense | None  # of a vector: one or two, the last of two positive
    label_names: tuple[str, ...] | None

    @classmethod
    def of(cls, y: Any, classes: Any = None) -> "Target":
        """Read a y: an indicator, or a vector of two classes, which a fitted classifier knows already."""
        names = None
        if hasattr(y, "columns") and len(y.columns) > 1:
            y, names = _checks.named(y, "y")
        if not isinstance(y, list | tuple):
            assert_all_finite(y, input_name="y")
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind == "multilabel-indicator":
            truth = _checks.indicator(y, "y", names)
            return cls(truth.astype(np.int64, copy=False), truth, None, names)
        if kind != "binary":
            raise InputError(
                f"Only binary classification is supported for a single column y: y is {kind}, expected two classes, or"
                " 0 and 1 in (n_samples, n_labels)"
            )
        vector = column_or_1d(y.toarray() if is_sparse(y) else y, warn=True)  # (n_samples,)
        known = np.unique(vector) if classes is None else _two_classes(classes, vector)
        is_positive = np.zeros(vector.size, np.bool_)
        if known.size == 2:
            is_positive = vector == known[1]
        return cls(vector, is_positive[:, np.newaxis], known, None)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.truth.shape[1])

    @property
    def positive(self) -> Any:
        """The class that counts as positive."""
        return 1 if self.classes is None else self.classes[-1]

    def positives(self, rows: Any) -> npt.NDArray[np.int64]:
        """Count the positives of each label in some rows."""
        return np.asarray(self.truth[rows].sum(axis=0), np.int64).reshape(-1)

    def name_of(self, label: int) -> str:
        """Name a label in a message."""
        if self.label_names is None:
            return f"label {label}"
        return f"label {self.label_names[label]!r}"


def as_predictions(decided: Dense, classes: Dense | None) -> Dense:
    """Return decisions as scikit-learn's classifiers do: an int64 indicator, or a vector of classes."""
    if classes is None:
        return decided.astype(np.int64)
    number = decided[:, 0].astype(np.int64) * (classes.size - 1)  # (n_samples,)
    return np.asarray(classes[number])


def _two_classes(classes: Any, vector: Dense) -> Dense:
    """Check the classes of a fitted classifier against y."""
    known = np.asarray(classes)
    if known.ndim != 1 or known.size > 2:
        raise InputError(
            f"estimator was fitted on the classes {_checks.shown(classes)}, expected two, as y has"
        )
    unknown = vector[~np.isin(vector, known)]
    if unknown.size:
        raise InputError(
            f"y has {_checks.shown(unknown[0])}, expected the estimator's classes {known.tolist()}"
        )
    return known
