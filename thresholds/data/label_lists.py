"""Label sets as lists of names, ["cat", "emu"], and as 0/1 matrices, a column for each name.

Both ways go through one form, that of Arrow's list columns: the labels of all rows one after
another, and the offset at which each row begins.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Integers, Matrix
from thresholds._checks import InputError, shown
from thresholds._checks.labels import alike

_NAMES_SHOWN = 3
_PARTING = ("|", ";", ",")  # what may stand between the labels of a row in a text
_MAX_LABELS = 2**31 - 1  # SciPy's narrower index


def from_label_lists(
    label_lists: Iterable[Iterable[Any]],
    label_names: Sequence[str] | None = None,
    *,
    n_labels: int | None = None,
) -> tuple[Any, tuple[str, ...] | None]:
    """Turn the labels of each row into a 0/1 matrix.

    Parameters
    ----------
    label_lists : for each row a list, tuple, set, 1-D array or tensor
        Of label names, or of label positions from 0. Also a column of lists of pandas, Polars or
        PyArrow.
    label_names : the columns, in order
        Not given, the columns are the names that occur, sorted.
    n_labels : the number of columns of label positions
        Not given, one more than the highest position.

    Returns
    -------
    y_true : uint8 CSR array (n_samples, n_labels)
    label_names : tuple of str; None for positions without names

    Raises
    ------
    InputError
        For a string instead of a list, a label twice in a row, an unknown label, names mixed with
        positions.

    Examples
    --------
    >>> import thresholds
    >>> y_true, names = thresholds.from_label_lists([["emu", "cat"], [], ["emu"]])
    >>> names
    ('cat', 'emu')
    >>> y_true.toarray()
    array([[1, 1],
           [0, 0],
           [0, 1]], dtype=uint8)
    """
    names = None if label_names is None else _checks.names_of_labels(label_names)
    # The labels of all rows become positions, whichever they are.
    flat, offsets = _flattened(label_lists)
    if flat and isinstance(flat[0], str):
        names = tuple(sorted(set(flat))) if names is None else names
        index = {name: place for place, name in enumerate(names)}
        positions = np.array([index.get(name, -1) for name in flat], np.int64)
        _refuse_unknown(positions, flat, names)
    else:
        _refuse_huge(flat, offsets)
        positions = np.array(flat, np.int64)
        if n_labels is None:
            n_labels = int(positions.max(initial=0)) + 1 if names is None else len(names)
    width = _checks.count(n_labels, "n_labels", 1) if names is None else len(names)
    if width > _MAX_LABELS:
        raise InputError(f"n_labels is {width:,}, expected at most {_MAX_LABELS:,}")
    _checks.one_name_each(names, width if n_labels is None else n_labels)
    return indicator_of(positions, offsets, width, "label_lists"), names


def to_label_lists(
    y_pred: object,
    label_names: Sequence[str] | None = None,
) -> list[list[str]] | list[list[int]]:
    """Return the labels of each row of a 0/1 matrix: names, or positions where no names are given.

    Parameters
    ----------
    y_pred : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse, or a frame
    label_names : strings, one for each column
        Not given, those of the columns of a frame.

    Returns
    -------
    a list for each row, in the order of the columns

    Raises
    ------
    InputError
        For values other than 0 and 1, and names that are not as many as columns.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.to_label_lists([[1, 1], [0, 0], [0, 1]], ["cat", "emu"])
    [['cat', 'emu'], [], ['emu']]
    """
    cells, names = _checks.named(y_pred, "y_pred", label_names)
    decided = _checks.indicator(cells, "y_pred", names)
    _checks.one_name_each(names, decided.shape[1])
    positions, offsets = lists_of(decided)
    labels: list[Any] = positions.tolist()
    if names is not None:
        labels = [names[position] for position in labels]
    bounds = offsets.tolist()
    return [labels[start:end] for start, end in pairwise(bounds)]


def indicator_of(
    positions: Integers,
    offsets: Integers,
    n_labels: int,
    name: str,
    first: int = 0,
    label_names: Sequence[str] | None = None,
) -> Any:
    """Return the CSR array of label positions, row i having `positions[offsets[i]:offsets[i + 1]]`.

    Positions may be in any order; `first` is the number of the first row in messages, `label_names` are for them.
    """
    from scipy import sparse

    n_rows = offsets.size - 1
    rows = np.repeat(np.arange(n_rows), np.diff(offsets))
    bad = np.flatnonzero((positions < 0) | (positions >= n_labels))
    if bad.size:
        found = f"{positions[bad[0]]} at row {first + rows[bad[0]]}"
        raise InputError(
            f"{name} has the label {found}, expected positions from 0 to {n_labels - 1}"
        )

    # One number for each cell, in order: a label that comes twice in a row comes twice in sequence.
    cells = np.sort(rows * n_labels + positions.astype(np.int64))
    double = np.flatnonzero(cells[1:] == cells[:-1])
    if double.size:
        row, place = divmod(int(cells[double[0]]), n_labels)
        label = f"at position {place}" if label_names is None else shown(label_names[place])
        found = f"the label {label} twice at row {first + row}"
        raise InputError(f"{name} has {found}, expected each once")
    columns = (cells % n_labels).astype(np.int32)
    starts = offsets.astype(np.int32 if cells.size < 2**31 else np.int64)
    ones = np.ones(cells.size, np.uint8)
    return sparse.csr_array((ones, columns, starts), shape=(n_rows, n_labels))


def lists_of(decided: Matrix) -> tuple[Integers, Integers]:
    """Return label positions and offsets of a checked 0/1 matrix."""
    if is_sparse(decided):
        return decided.indices, decided.indptr
    rows, positions = np.nonzero(decided)
    return positions, np.append(0, np.bincount(rows, minlength=len(decided)).cumsum())


def _refuse_unknown(positions: Integers, words: Sequence[str], names: Sequence[str]) -> None:
    """Refuse labels whose position is -1, and show the first few; say which only look like one of `names`."""
    unknown = list(dict.fromkeys(words[place] for place in np.flatnonzero(positions < 0).tolist()))
    if unknown:
        examples = ", ".join(map(shown, unknown[:_NAMES_SHOWN]))
        if len(unknown) > _NAMES_SHOWN:
            examples += ", ..."
        labels = "a label" if len(unknown) == 1 else f"{len(unknown):,} labels"
        found = f"{labels} that label_names does not know, {examples}"
        raise InputError(
            f"label_lists has {found}; expected names from there{alike(unknown, names)}"
        )


def _flattened(label_lists: Iterable[Iterable[Any]]) -> tuple[list[Any], Integers]:
    """Return the labels of all rows, checked to be of one kind, and the offsets of the rows."""
    label_lists = _as_list(label_lists)
    if isinstance(label_lists, str | bytes | Mapping) or not isinstance(label_lists, Iterable):
        found = shown(label_lists)
        raise InputError(f"label_lists is {found}, expected a list of labels for each row")
    rows = [_row(labels, number) for number, labels in enumerate(label_lists)]
    if not rows:
        raise InputError("label_lists is empty, expected at least one row")
    flat = list(chain.from_iterable(rows))
    # All labels are of the kind of the first, and none comes twice in a row.
    kind = str if flat and isinstance(flat[0], str) else Integral
    for number, row in enumerate(rows):
        for label in row:
            if not isinstance(label, kind) or isinstance(label, bool | np.bool_):
                wanted = "label names" if kind is str else "label names or positions"
                found = f"{shown(label)} at row {number}"
                raise InputError(f"label_lists has {found}, expected {wanted}")
        if len(set(row)) < len(row):
            double = next(label for place, label in enumerate(row) if label in row[:place])
            found = f"{shown(double)} twice at row {number}"
            raise InputError(f"label_lists has {found}, expected each label once")
    return flat, np.append(0, np.cumsum([len(row) for row in rows]))


def _as_list(values: Any) -> Any:
    """Return arrays, tensors and columns, of whatever library, as lists; frames are neither."""
    if hasattr(values, "columns") or is_sparse(values):
        found = "sparse matrix" if is_sparse(values) else f"frame ({type(values).__name__})"
        expected = "a list of labels for each row, or one column of lists"
        raise InputError(f"label_lists is a {found}, expected {expected}")
    for method in ("to_pylist", "tolist", "to_list", "as_py"):
        if hasattr(values, method):
            return getattr(values, method)()
    return values


def _refuse_huge(positions: Sequence[Any], offsets: Integers) -> None:
    """Refuse label positions below 0, and those that no CSR array of 32-bit indices has."""
    for at, position in enumerate(positions):
        if not 0 <= position < _MAX_LABELS:
            row = int(np.searchsorted(offsets, at, side="right")) - 1
            found = f"the label {shown(position)} at row {row}"
            expected = f"positions from 0 to {_MAX_LABELS - 1:,}"
            raise InputError(f"label_lists has {found}, expected {expected}")


def _row(labels: Iterable[Any], number: int) -> list[Any]:
    """Return the labels of one row; a string, which is iterable too, is none."""
    labels = _as_list(labels)
    if isinstance(labels, str):
        found = f"the string {shown(labels)} at row {number}"
        parting = next((sign for sign in _PARTING if sign in labels), None)
        a_list = f"[{shown(labels)}]" if parting is None else f"{shown(labels)}.split({parting!r})"
        raise InputError(f"label_lists has {found}, expected a list of labels, as {a_list}")
    if isinstance(labels, bytes | Mapping) or not isinstance(labels, Iterable):
        found = f"{shown(labels)} at row {number}"
        raise InputError(f"label_lists has {found}, expected a list of labels")
    return [str(label) if isinstance(label, str) else label for label in labels]
