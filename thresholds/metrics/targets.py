"""What is compared: 0/1 matrices of labels, or vectors of classes, one for each row.

A vector (1-D) is read as scikit-learn does, as classes each of which is a label against the rest, both values of a 0/1
vector among them. A matrix (2-D) has a label in each column, also if it is one column.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Booleans, Ints, Matrix, Numbers
from thresholds._checks import InputError
from thresholds._checks.classes import class_labels, class_vectors, column_labels, is_class
from thresholds._checks.unknown import (
    Unknown,
    are_unknown,
    lists_labels,
    refuse_weightless,
    unknown_values,
)
from thresholds._engine.unknown import blanked, known_weights, unknown_along
from thresholds.metrics.counts import (
    ConfusionCounts,
    Labels,
    count_by_class,
    count_by_label,
    count_by_sample,
)


@dataclass(frozen=True)
class _Weighted:
    """Sample weights in multiples of `unit`, whole ones where they can be."""

    weights: Numbers | None  # (n_samples,)
    unit: float

    def in_weights(self, counts: ConfusionCounts) -> ConfusionCounts:
        """Return counts as the caller weighs rows: floats with weights, whole numbers without."""
        return counts if self.weights is None else replace(counts, unit=self.unit)


@dataclass(frozen=True)
class LabelMatrices(_Weighted):
    """Truth and predictions of several labels."""

    truth: Matrix
    predicted: Matrix  # 0 where the truth is not known
    labels: Labels  # the columns that count
    unknown: Matrix | None = None  # bool; None where all truth is known

    def by_label(self) -> ConfusionCounts:
        """Count each column."""
        counts = count_by_label(self.truth, self.predicted, self.weights)
        if self.unknown is not None:
            counts = replace(counts, total=known_weights(self.unknown, self.weights))
        if isinstance(self.labels, range):
            return counts
        return replace(counts.take(self.labels), labels=self.labels)

    def by_sample(self) -> ConfusionCounts:
        """Count each row; those without weight have nothing to count."""
        truth = self.truth
        predicted = self.predicted
        if not isinstance(self.labels, range):
            truth = truth[:, self.labels]
            predicted = predicted[:, self.labels]
        counts = count_by_sample(truth, predicted)
        if self.unknown is not None:
            counts = replace(counts, total=self._known_in_row())
        if self.weights is None or self.weights.all():
            return counts
        return ConfusionCounts(counts.sums * (self.weights > 0), counts.total)

    def known_rows(self) -> tuple[ConfusionCounts, Numbers | None]:
        """Count each row that has a known cell, and return the weights of these rows."""
        counts = self.by_sample()
        if self.unknown is None:
            return counts, self.weights
        is_known = self._known_in_row() > 0  # (n_samples,)
        weights = None if self.weights is None else self.weights[is_known]
        return counts.take(is_known), weights

    def _known_in_row(self) -> Ints:
        """Return the number of columns that count and are known in each row, (n_samples,)."""
        assert self.unknown is not None, "asked for where some truth is not known"
        unknown = self.unknown if isinstance(self.labels, range) else self.unknown[:, self.labels]
        return np.asarray(unknown.shape[1] - unknown_along(unknown, 1))


@dataclass(frozen=True)
class ClassVectors(_Weighted):
    """Truth and predictions of one class for each row, as numbers of the chosen classes or beyond."""

    truth: Ints
    predicted: Ints
    labels: Labels

    def by_label(self) -> ConfusionCounts:
        """Count each class against the rest."""
        return count_by_class(self.truth, self.predicted, len(self.labels), self.weights)

    def known_rows(self) -> tuple[ConfusionCounts, Numbers | None]:
        """Refuse, as `by_sample` does."""
        return self.by_sample(), None

    def by_sample(self) -> ConfusionCounts:
        """Refuse: a row of one class has no F-measure of its own."""
        raise InputError(
            "average is 'samples' for vectors of classes, expected another one, or matrices of labels"
        )


Targets = LabelMatrices | ClassVectors


def confusion_counts(
    y_true: object,
    y_pred: object,
    *,
    labels: object = None,
    sample_weight: object = None,
    unknown: object = None,
    samplewise: bool = False,
) -> ConfusionCounts:
    """Count true and false positives and negatives of each label, or class against the rest, or row.

    Parameters
    ----------
    y_true, y_pred, labels, sample_weight, unknown : as in `precision_recall_fscore_support`
    samplewise : count each row over its labels instead (of matrices, without weights)

    Returns
    -------
    ConfusionCounts

    Raises
    ------
    InputError
        For bad arrays, weights and labels.

    Examples
    --------
    Rows that do not fit into memory are counted in chunks:

    >>> from thresholds.metrics import confusion_counts
    >>> chunks = [([[1, 0], [0, 1]], [[1, 0], [1, 1]]), ([[1, 1]], [[0, 1]])]
    >>> counts = sum(confusion_counts(y_true, y_pred) for y_true, y_pred in chunks)
    >>> counts.tp, counts.fp, counts.fn, counts.tn
    (array([1, 2]), array([1, 0]), array([1, 0]), array([0, 1]))
    >>> counts.f_score(), counts.pooled().f_score()
    (array([0.5, 1. ]), array([0.75]))
    """
    _checks.option(samplewise, "samplewise", (True, False))
    checked = read(y_true, y_pred, labels, sample_weight, unknown, some=False)
    if not samplewise:
        return replace(checked.in_weights(checked.by_label()), labels=checked.labels)
    if sample_weight is not None:
        raise InputError(
            "sample_weight is given with samplewise=True, expected None: rows are counted unweighted"
        )
    if isinstance(checked, ClassVectors):
        raise InputError(
            "samplewise is True for vectors of classes, expected False, or matrices of labels"
        )
    return checked.by_sample()


def read(
    y_true: object,
    y_pred: object,
    labels: object = None,
    sample_weight: object = None,
    unknown: object = None,
    *,
    some: bool = True,
) -> Targets:
    """Check truth and predictions, with weights (`some` positive), and select labels (columns) or classes."""
    true, predicted, sample_weight = _plain(y_true, y_pred, sample_weight, unknown)
    if not _is_vector(true) and not _is_vector(predicted):
        return _matrices(true, predicted, labels, sample_weight, unknown, some)

    # Of a vector and a matrix the shapes are what is wrong.
    if _width(true, predicted) > 1:
        _checks.same_shape(true, "y_true", predicted, "y_pred")
    vectors = _vectors(true, predicted, labels, sample_weight, unknown, some)

    # A column would be one label, a vector two.
    _checks.same_shape(true, "y_true", predicted, "y_pred")
    return vectors


def read_binary(
    y_true: object, y_pred: object, pos_label: object, sample_weight: object, unknown: object
) -> Targets:
    """Check the truth and predictions of one label, and select its positive class."""
    true, predicted, sample_weight = _plain(y_true, y_pred, sample_weight, unknown)
    width = _width(true, predicted)
    if width > 1:
        raise InputError(
            f"average is 'binary' with {width} labels, expected None, or an average over labels"
        )
    vectors = _vectors(true, predicted, None, sample_weight, unknown)
    n_classes = len(vectors.labels)
    if n_classes > 2:
        raise InputError(
            f"average is 'binary' with {n_classes} classes, expected None, or an average over classes"
        )

    # Where one class alone occurs, the positive one may be another.
    if not is_class(pos_label) or (n_classes == 2 and pos_label not in vectors.labels):
        classes = " or ".join(_checks.shown(label) for label in vectors.labels)
        raise InputError(
            f"pos_label is {_checks.shown(pos_label)}, expected one of the classes, {classes}"
        )
    return _selected(vectors, [pos_label])


def read_matrices(
    y_true: object, y_pred: object, sample_weight: object, unknown: object
) -> LabelMatrices:
    """Check the truth and predictions of labels; a vector is one label."""
    true, predicted, sample_weight = _plain(y_true, y_pred, sample_weight, unknown)
    return _matrices(true, predicted, None, sample_weight, unknown)


def _plain(
    y_true: object, y_pred: object, sample_weight: object, unknown: object
) -> tuple[Any, Any, Any]:
    """Return arrays, or sparse matrices as they are; frames are aligned with the truth by name."""
    weights = _checks.aligned_rows(sample_weight, "sample_weight", y_true=y_true, y_pred=y_pred)
    predicted, true, _ = _checks.aligned(y_pred, "y_pred", y_true, "y_true", unknown=unknown)
    arrays = []
    stands_for = unknown_values(unknown)
    given: list[tuple[Any, str, Unknown]] = [
        (true, "y_true", stands_for),
        (predicted, "y_pred", ()),
    ]
    for value, name, left_out in given:
        array: Any = value if is_sparse(value) else _checks.plain(value, name, left_out)
        if array.dtype.kind == "O" and any(map(lists_labels, array.flat)):
            _checks.numbers(array, name)  # which says what takes them
        if 0 in array.shape:
            raise InputError(
                f"{name} is empty, shape {array.shape}, expected at least one row and one label"
            )
        arrays.append(array)
    return arrays[0], arrays[1], weights


def _is_vector(array: Any) -> bool:
    """Whether an array is read as classes."""
    return bool(array.ndim == 1) and not is_sparse(array)


def _width(*arrays: Any) -> int:
    """Return the number of columns; a vector is one."""
    return max(array.shape[1] if array.ndim == 2 else 1 for array in arrays)


def _matrices(
    true: Any,
    predicted: Any,
    labels: object,
    sample_weight: object,
    unknown: object,
    some: bool = True,
) -> LabelMatrices:
    """Check 0/1 matrices."""
    truth, unknown_cells = _checks.truth(true, unknown)
    decided = _checks.indicator(predicted, "y_pred")
    _checks.same_shape(truth, "y_true", decided, "y_pred")
    n_labels = truth.shape[1]
    columns: Labels = range(n_labels)
    if labels is not None:
        chosen = column_labels(labels, n_labels)
        if chosen != list(columns):
            columns = chosen
    weights, unit = _checks.weights_of_rows(sample_weight, truth.shape[0], some=some)
    if unknown_cells is None:
        return LabelMatrices(weights, unit, truth, decided, columns)
    if some and weights is not None:
        refuse_weightless(weights[unknown_along(unknown_cells, 1) < truth.shape[1]])
    decided = blanked(decided, unknown_cells)
    return LabelMatrices(weights, unit, truth, decided, columns, unknown_cells)


def _vectors(
    true: Any,
    predicted: Any,
    labels: object,
    sample_weight: object,
    unknown: object,
    some: bool = True,
) -> ClassVectors:
    """Check vectors, or single columns; rows whose truth is not known are left out."""
    known = _known(true, unknown)  # (n_samples,) or None
    if is_sparse(true):
        true = _checks.truth(true, unknown).cells.toarray()
    if is_sparse(predicted):
        predicted = _checks.indicator(predicted, "y_pred").toarray()
    if known is not None:
        _checks.same_shape(true, "y_true", predicted, "y_pred")
        true = true[known]
        predicted = predicted[known]
    truth, decided, classes = class_vectors(true, predicted, unknown_values(unknown))
    n_rows = truth.size if known is None else known.size
    weights, unit = _checks.weights_of_rows(sample_weight, n_rows, some=some)
    if known is not None and weights is not None:
        weights = weights[known]
        if some:
            refuse_weightless(weights)
    vectors = ClassVectors(weights, unit, truth, decided, classes)
    if labels is None:
        return vectors
    return _selected(vectors, class_labels(labels, classes))


def _known(true: Any, unknown: object) -> Booleans | None:
    """Mark the rows of a vector, or of a single column, whose truth is known; None where all is."""
    if is_sparse(true):
        cells = _checks.truth(true, unknown).unknown
        left_out = None if cells is None else to_dense(cells)
    else:
        left_out = are_unknown(true, unknown_values(unknown))
    if left_out is None or not left_out.any():
        return None
    known = ~left_out.reshape(left_out.shape[0], -1).any(axis=1)
    if not known.any():
        raise InputError("y_true has no known cell, expected at least one")
    return np.asarray(known)


def _selected(vectors: ClassVectors, labels: list[Any]) -> ClassVectors:
    """Renumber: chosen classes by their place among `labels`, others beyond."""
    place = {label: k for k, label in enumerate(labels)}
    numbers = [place.get(label, len(labels)) for label in vectors.labels]
    number = np.array(numbers, np.int64)  # (n_classes,)
    return replace(
        vectors,
        truth=number[vectors.truth],
        predicted=number[vectors.predicted],
        labels=labels,
    )
