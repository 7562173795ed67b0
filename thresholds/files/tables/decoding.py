"""Columns of tables turned into matrices: scores as numbers, truth as 0 and 1."""

from collections.abc import Sequence

import numpy as np

from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds._checks.cells import first_bad_cell
from thresholds.data import label_lists
from thresholds.files.tables.columns import Batch, ListColumn
from thresholds.files.unknown import as_read, hint_of


def stacked(batch: Batch, columns: Sequence[str]) -> Dense:
    """Return wide columns as a matrix (n_rows, n_labels)."""
    values = [batch.columns[column] for column in columns]
    vectors = [_floats(vector) for vector in values if isinstance(vector, np.ndarray)]
    matrix = np.empty((len(vectors[0]), len(vectors)), np.result_type(*vectors))
    for place, vector in enumerate(vectors):
        matrix[:, place] = vector
    return matrix


def rectangular(batch: Batch, column: str, n_labels: int) -> Dense:
    """Return lists of numbers, all of one length, as a matrix (n_rows, n_labels); NaN for a row without a list."""
    lists = batch.columns[column]
    assert isinstance(lists, ListColumn)
    lengths = np.diff(lists.offsets)
    present = np.ones(lengths.size, np.bool_) if lists.absent is None else ~lists.absent
    wrong = np.flatnonzero(present & (lengths != n_labels))
    if wrong.size:
        raise InputError(
            f"column {column!r} of {batch.name} has {lengths[wrong[0]]} values at row {batch.first + wrong[0]},"
            f" expected {n_labels}, one for each label"
        )
    matrix = _floats(lists.values).reshape(-1, n_labels)
    if present.all():
        return matrix
    with_absent = np.full((lengths.size, n_labels), np.nan)
    with_absent[present] = matrix
    return with_absent


def _floats(cells: Dense) -> Dense:
    """Return decimals, which come as Python's, as the nearest floats."""
    return cells.astype(np.float64) if cells.dtype.kind == "O" else cells


def indicator(
    cells: Dense,
    what: str,
    first: int,
    label_names: Sequence[str] | None,
    unknown: object = None,
) -> Dense:
    """Return a matrix of 0 and 1 as such; `first` is the number of its first row, `what` it is for messages.

    With `unknown`, what stands for cells that are not known, these are -1.
    """
    if unknown is not None:
        return np.asarray(as_read(cells, unknown, what, label_names, first))
    if cells.dtype.kind == "b":
        return cells.astype(np.uint8)
    is_bad = _neither_0_nor_1(cells)
    if is_bad.any():
        found = first_bad_cell(cells, _neither_0_nor_1, label_names, first_row=first)
        hint = hint_of(cells[is_bad][0])
        raise InputError(f"{what} has {found}, expected only 0 and 1{hint}")
    return cells.astype(np.uint8)


def _neither_0_nor_1(cells: Dense) -> Dense:
    """Mark cells that are neither."""
    return np.asarray((cells != 0) & (cells != 1))


def from_names(batch: Batch, column: str, label_names: Sequence[str]) -> Matrix:
    """Return lists of label names as a CSR matrix of ones."""
    lists = batch.columns[column]
    assert isinstance(lists, ListColumn)
    index = {label: place for place, label in enumerate(label_names)}
    words = lists.words or ()
    places = np.array([index.get(word, -1) for word in words], np.int64)
    what = f"column {column!r} of {batch.name}"
    positions = places[lists.values] if places.size else lists.values
    if (positions < 0).any():
        used = np.unique(lists.values)
        label_lists.refuse_unknown(places[used], [words[k] for k in used], what, "label_names")
    return label_lists.indicator_of(positions, lists.offsets, len(label_names), what, batch.first)


def from_positions(batch: Batch, column: str, n_labels: int, places: Dense | None) -> Matrix:
    """Return lists of label positions as a CSR matrix of ones; `places` are those of labels in another order."""
    lists = batch.columns[column]
    assert isinstance(lists, ListColumn)
    what = f"column {column!r} of {batch.name}"
    if places is None:
        return label_lists.indicator_of(lists.values, lists.offsets, n_labels, what, batch.first)
    in_file_order = label_lists.indicator_of(
        lists.values, lists.offsets, places.size, what, batch.first
    )
    return label_lists.indicator_of(
        places[in_file_order.indices], in_file_order.indptr, n_labels, what, batch.first
    )


def logistic(scores: Matrix) -> Matrix:
    """Turn logits into probabilities, in float64, in float32 for float16; absent entries of CSR stay absent.

    NaN and +inf stay what they are, to be refused like those of other scores.
    """
    if not isinstance(scores, np.ndarray):
        return type(scores)(
            (logistic(scores.data), scores.indices, scores.indptr), shape=scores.shape
        )
    dtype = np.float32 if scores.dtype == np.float16 else np.float64
    # From the side on which exp cannot overflow, and tiny probabilities keep their digits.
    small = np.exp(-np.abs(scores.astype(dtype)))
    return np.where(
        scores == np.inf, scores, np.where(scores >= 0, 1 / (1 + small), small / (1 + small))
    )
