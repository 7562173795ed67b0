"""The y of scikit-learn as an indicator matrix, and decisions as scikit-learn gives them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse, stored_cells, to_dense
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds._checks.frames import read_frame
from thresholds._checks.unknown import (
    Unknown,
    are_unknown,
    hint,
    lists_labels,
    unknown_values,
)
from thresholds._engine.unknown import coded


@dataclass(frozen=True)
class Target:
    """What is to be predicted."""

    y: Any  # as estimators take it: (n_samples, n_labels) int64, dense or CSR; or (n_samples,) classes
    truth: Matrix  # (n_samples, n_labels) 0/1, 0 where it is not known
    classes: Dense | None  # of a vector: one or two, the last of two positive
    label_names: tuple[str, ...] | None
    unknown: Matrix | None = None  # (n_samples, n_labels) bool; None where all truth is known
    stands_for_unknown: Unknown = ()  # in y

    @classmethod
    def of(cls, y: Any, classes: Any = None, unknown: object = None) -> "Target":
        """Read a y: an indicator, or a vector of two classes, which a fitted classifier knows already.

        What stands for cells that are not known, `unknown` says; they stay in `y`, for the classifier to see.
        """
        stands_for = unknown_values(unknown)
        if stands_for:
            return cls._partly_known(y, classes, stands_for)
        names = None
        if hasattr(y, "columns") and len(y.columns) > 1:
            y, names = _checks.named(y, "y")
        if not isinstance(y, list | tuple):
            _refuse_not_finite(y)
        kind = _kind_of(y)
        if kind == "multilabel-indicator":
            truth = _checks.indicator(y, "y", names)
            return cls(truth.astype(np.int64, copy=False), truth, None, names)
        if kind != "binary":
            raise InputError(
                f"Only binary classification is supported for a single column y: y is {kind}, expected two classes, or"
                f" 0 and 1 in (n_samples, n_labels){_hint_of_some(y)}"
            )
        vector = column_or_1d(y.toarray() if is_sparse(y) else y, warn=True)  # (n_samples,)
        known = np.unique(vector) if classes is None else _two_classes(classes, vector)
        is_positive = np.zeros(vector.size, np.bool_)
        if known.size == 2:
            is_positive = vector == known[1]
        return cls(vector, is_positive[:, np.newaxis], known, None)

    @classmethod
    def _partly_known(cls, y: Any, classes: Any, stands_for: Unknown) -> "Target":
        """Read a y in which some cells may not be known."""
        frame = read_frame(y, "y", stands_for)
        cells = y if frame is None else frame.cells
        names = None if frame is None else frame.names
        if not is_sparse(cells):
            cells = _checks.plain(cells, "y", stands_for)
        if cells.ndim == 1 or cells.shape[1] == 1:
            return cls._partly_known_vector(np.ravel(to_dense(cells)), classes, stands_for)

        # A matrix: what is known of it, and all of it, for the classifier.
        truth, unknown = _checks.truth(cells, stands_for, "y", names)
        if unknown is None:
            return cls(truth.astype(np.int64, copy=False), truth, None, names)
        if not is_sparse(cells):
            are_whole = all(value.is_integer() for value in stands_for)  # NaN is not
            cells = cells.astype(np.int64 if are_whole else np.float64)
        return cls(cells, truth, None, names, unknown, stands_for)

    @classmethod
    def _partly_known_vector(cls, vector: Dense, classes: Any, stands_for: Unknown) -> "Target":
        """Read a vector of two classes, and of what stands for rows that are not known."""
        is_unknown = are_unknown(vector, stands_for)  # (n_samples,)
        if is_unknown is None or not is_unknown.any():
            return cls.of(vector, classes)
        of_known = cls.of(vector[~is_unknown].tolist(), classes)
        truth = np.zeros((vector.size, 1), np.bool_)
        truth[~is_unknown] = of_known.truth
        return cls(vector, truth, of_known.classes, None, is_unknown[:, np.newaxis], stands_for)

    @property
    def coded(self) -> Matrix:
        """The truth as fits take it, (n_samples, n_labels), with `UNKNOWN` where it is not known."""
        return self.truth if self.unknown is None else coded(self.truth, self.unknown)

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

    def known(self, rows: Any) -> npt.NDArray[np.int64]:
        """Count the rows in which each label is known, among some."""
        n_rows = self.truth[rows].shape[0]
        if self.unknown is None:
            return np.full(self.n_labels, n_rows)
        n_unknown = np.asarray(self.unknown[rows].sum(axis=0), np.int64).reshape(-1)
        return np.asarray(n_rows - n_unknown)

    def name_of(self, label: int) -> str:
        """Name a label in a message."""
        if self.label_names is None:
            return f"label {label}"
        return f"label {self.label_names[label]!r}"


def _refuse_not_finite(y: Any) -> None:
    """Refuse NaN and infinity, in scikit-learn's words; of NaN say how it is left out."""
    try:
        assert_all_finite(y, input_name="y")
    except ValueError as error:
        if "NaN" not in str(error):
            raise
        message = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{message}{hint('y')}") from None


def _kind_of(y: Any) -> str:
    """Say what scikit-learn takes a y for; refuse lists of labels in its words, and say what takes them."""
    try:
        return str(type_of_target(y, input_name="y", raise_unknown=True))
    except ValueError as error:
        listed = next(filter(lists_labels, y), None) if isinstance(y, Iterable) else None
        if listed is None:
            raise
        message = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{message}{hint('y', listed)}") from None


def _hint_of_some(y: Any) -> str:
    """Say how the lowest number of a y is left out, if it may stand for what is not known, and what takes text."""
    cells = np.asarray(stored_cells(y))
    if not cells.size or cells.dtype.kind not in "ifUO":
        return ""
    return hint("y", cells.min().item() if cells.dtype.kind in "if" else cells.flat[0])


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
