"""Folds that keep rare labels: every split that this library makes is made here."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Integers, Ints, Matrix, SmallInts
from thresholds._checks import InputError
from thresholds._kernels.folds import deal_out, labels_of_groups, units_by_label
from thresholds._results.words import counted
from thresholds.data.growing import GrowingVector

N_SPLITS = 5  # folds of a cross-validation, unless another number is given; as in scikit-learn
# Of folds and other draws, unless another is given: a figure that is reported stays the same.
SEED = 0
STRATIFIED = "by iterative stratification"


class Halves(NamedTuple):
    """Rows to fit on, and rows to judge on."""

    to_fit: Ints  # (n_fitted,)
    to_judge: Ints  # (n_judged,)
    how: str  # in words, how they were made


class _Entries(NamedTuple):
    """Which unit (a row, or a group of rows) has which label how often: unit u has `starts[u]:starts[u + 1]`."""

    starts: Ints  # (n_units + 1,)
    label: SmallInts  # (n_entries,)
    times: SmallInts  # (n_entries,), or empty where each is once


def multilabel_folds(
    y_true: object,
    n_splits: int = N_SPLITS,
    *,
    groups: object = None,
    unknown: object = None,
    random_state: int | None = SEED,
) -> Ints:
    """Split rows into folds in which each label is as frequent as in all: iterative stratification.

    The label with the fewest rows left is dealt out first, each of its rows to the fold with the
    fewest positives of that label, ties to the smallest fold, then at random. Rows without labels
    even out the sizes. A label of P positives so has about P / n_splits in each fold, where random
    folds often leave a rare label with none.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    n_splits : number of folds, at least 2
    groups : (n_samples,) names or numbers, or None
        Rows of a group stay in one fold, as rows of a patient or of an author should: groups are
        dealt out instead of rows, those that have the label most often first.
    unknown : what stands in `y_true` for truth that is not known, as in `fit_empirical`
        Such a cell is no positive of its label, and nothing else is asked of it.
    random_state : seed of what falls to chance
        0 (default): the same folds each time. None: others each time.

    Returns
    -------
    int64 (n_samples,), the fold of each row, from 0 to n_splits - 1

    Raises
    ------
    InputError
        For truth other than 0 and 1, more folds than rows or groups, and groups that are not
        one for each row.

    References
    ----------
    Sechidis, Tsoumakas & Vlahavas 2011, "On the stratification of multi-label data", algorithm 1.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> y_true = np.zeros((100, 2), int)
    >>> y_true[:5, 0] = y_true[3:53, 1] = 1
    >>> folds = thresholds.multilabel_folds(y_true)
    >>> [y_true[folds == k].sum(axis=0).tolist() for k in range(5)]
    [[1, 10], [1, 10], [1, 10], [1, 10], [1, 10]]
    """
    groups = _checks.aligned_rows(groups, "groups", y_true=y_true)
    truth, _ = _checks.truth(y_true, unknown)
    n_splits = _checks.count(n_splits, "n_splits", 2)
    return _stratified(truth, n_splits, "n_splits", groups, random_state)


def usual_folds(n_rows: int, groups: Any = None, weights: Any = None) -> int:
    """Return the usual number of folds, or as many as there are groups (rows, without groups) that have weight."""
    units = np.arange(n_rows) if groups is None else groups  # (n_rows,)
    if weights is not None:
        units = units[weights > 0]
    return min(N_SPLITS, np.unique(units).size)


def _stratified(
    truth: Matrix,
    n_folds: int,
    asked_by: str,
    groups: object,
    random_state: int | None,
    which: str = "",
) -> Ints:
    """Return the fold of each row; `asked_by` is the argument with the number of folds, `which` says what rows."""
    n_rows = truth.shape[0]
    seed = None if random_state is None else _checks.count(random_state, "random_state", 0)
    rng = np.random.default_rng(seed)

    # A unit is what stays in one fold: a row, or a group of rows.
    unit = None if groups is None else _checks.group_numbers(groups, n_rows)  # (n_rows,)
    n_units = n_rows if unit is None else int(unit.max()) + 1
    if n_units < n_folds:
        kind, name = ("row", "y_true") if groups is None else ("group", "groups")
        raise InputError(
            f"{name} has {counted(n_units, kind)}{which}, expected at least {asked_by}={n_folds}"
        )

    # What falls to chance: the order of units that are alike, and the fold that ties begin with.
    order = _in_turn(rng.permutation(n_units))  # (n_units,)
    first = rng.integers(n_folds, size=n_units).astype(np.int32)  # (n_units,)

    # The labels of each unit; the units of each label, those that have it most often first.
    entries = _entries_of_rows(truth)
    if unit is not None:
        entries = _entries_of_groups(entries, unit, truth.shape[1])
    label_starts, units, times = units_by_label(*entries, order, truth.shape[1])
    if unit is not None:
        _put_most_first(units, times, label_starts)
    del times

    # Units without labels even out the sizes in the end, the largest first.
    sizes = np.empty(0, np.int64)  # each is one row
    if unit is not None:
        sizes = np.bincount(unit, minlength=n_units)  # (n_units,)
        order = order[np.argsort(-sizes[order], kind="stable")]
    folds = deal_out(label_starts, units, *entries, sizes, first, order, n_folds)
    return folds if unit is None else folds[unit]


def _in_turn(turn: Ints) -> Integers:
    """Return the unit whose turn is first, that whose turn is next, and so on, (n_units,)."""
    dtype = np.int32 if turn.size < 2**31 else np.int64
    order: Integers = np.empty(turn.size, dtype)
    order[turn] = np.arange(turn.size, dtype=dtype)
    return order


def _put_most_first(units: Integers, times: SmallInts, label_starts: Ints) -> None:
    """Put the units of each label in order, in place: those that have it most often first, ties as they were."""
    for first, last in pairwise(label_starts.tolist()):
        by_times = np.argsort(-times[first:last], kind="stable")
        units[first:last] = units[first:last][by_times]


def halves(
    truth: Matrix, groups: object, random_state: int | None, unknown: object = None
) -> Halves:
    """Split rows into a half to fit on and one to judge; rows of a group stay in one half.

    Raises
    ------
    InputError
        For a single row or group, and as `multilabel_folds`.
    """
    n_units = truth.shape[0]
    if groups is not None:
        n_units = int(_checks.group_numbers(groups, n_units).max()) + 1
    if n_units < 2:
        name, unit = ("y_true", "row") if groups is None else ("groups", "group")
        raise InputError(
            f"{name} has {counted(n_units, unit)}, expected at least 2: a half to fit on, and one to judge"
        )
    # (n_samples,)
    folds = multilabel_folds(truth, 2, groups=groups, unknown=unknown, random_state=random_state)
    by_groups = "" if groups is None else " of groups"
    seed = "" if random_state is None else f", seed {random_state}"
    return Halves(
        np.flatnonzero(folds == 0),
        np.flatnonzero(folds == 1),
        f"halves {STRATIFIED}{by_groups}{seed}",
    )


def fitted_and_judged(n_fitted: int, n_judged: int, how: str) -> str:
    """Say how many rows fit, how many others judge, and how they were chosen."""
    return f"fitted on {counted(n_fitted, 'row')}, judged on {counted(n_judged, 'other')}: {how}"


def split_rows(
    cv: Any,
    truth: Matrix,
    y_true: object,
    weighted: Booleans | None,
    groups: object,
    random_state: int | None,
) -> tuple[list[tuple[Ints, Ints]], str]:
    """Return the rows to fit on and to judge on of each fold, and say where they come from.

    `cross_fit` says what `cv` may be; `truth` is `y_true`, checked; `weighted` tells which rows
    have weight, None for all.
    """
    n = truth.shape[0]
    cv = _numbers(cv)

    # 1. A splitter; 2. a number of folds, to be made; 3. the fold of each row; 4. pairs of numbers.
    if hasattr(cv, "split") and not isinstance(cv, str | bytes | type):
        return _checked(cv.split(np.zeros((n, 1)), y_true, groups), n), type(cv).__name__
    if isinstance(cv, str | bytes) or not isinstance(cv, Iterable) or getattr(cv, "ndim", 1) == 0:
        n_folds = _checks.count(cv, "cv", 2)
        folds = _folds_of_weighted(truth, weighted, n_folds, groups, random_state)
        kind = STRATIFIED + ("" if groups is None else " of groups")
        return list(_of_numbers(folds)), kind
    if groups is not None:
        raise InputError(
            "groups is given with folds in cv, expected None: the folds are made already"
        )
    if isinstance(cv, np.ndarray) and cv.ndim == 1 and cv.dtype.kind in "iu":
        if cv.size != n:
            raise InputError(f"cv has {cv.size} fold numbers, expected {n}, one for each row")
        pairs = list(_of_numbers(cv))
        if not pairs or not pairs[0][0].size:
            found = counted(len(pairs), "fold")
            raise InputError(f"cv has {found}, expected one to judge and rows outside it to fit on")
        return pairs, "as given"
    return _checked(cv, n), "as given"


def seed_of_folds(how: str, random_state: int | None) -> int | None:
    """Return the seed that folds were made with; None for folds that were given."""
    return random_state if how.startswith(STRATIFIED) else None


def _folds_of_weighted(
    truth: Matrix, weighted: Booleans | None, n_folds: int, groups: object, random_state: int | None
) -> Ints:
    """Return folds of the rows that have weight; the others, which count nowhere, are in none."""
    if weighted is None or weighted.all():
        return _stratified(truth, n_folds, "cv", groups, random_state)
    used = np.flatnonzero(weighted)
    used_groups = None if groups is None else _checks.group_numbers(groups, weighted.size)[used]
    folds = np.full(weighted.size, -1)
    folds[used] = _stratified(
        truth[used],
        n_folds,
        "cv",
        used_groups,
        random_state,
        " of positive weight with a known cell",
    )
    return folds


def _numbers(cv: Any) -> Any:
    """Return fold numbers, whatever holds them, as an array; anything else as it is."""
    cv = _checks.from_tensor(cv, "cv")
    if isinstance(cv, list | tuple) and cv and all(isinstance(number, Integral) for number in cv):
        return np.asarray(cv)
    return cv


def _of_numbers(folds: npt.NDArray[Any]) -> Iterator[tuple[Ints, Ints]]:
    """Return the rows outside and inside each fold; those of negative number are in none."""
    for k in np.unique(folds[folds >= 0]):
        yield np.flatnonzero(folds != k), np.flatnonzero(folds == k)


def _checked(pairs: Any, n: int) -> list[tuple[Ints, Ints]]:
    """Check pairs of row numbers."""
    checked = []
    judged = np.zeros(n, np.int64)  # how often each row is
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            found = _checks.shown(pair)
            raise InputError(
                f"cv has {found}, expected pairs of rows to fit on and rows to judge on"
            )
        train = _rows(pair[0], n)
        test = _rows(pair[1], n)
        if np.isin(test, train).any():
            row = test[np.isin(test, train)][0]
            raise InputError(f"cv fits on row {row} and judges it, expected other rows")
        times = np.bincount(test, minlength=n)
        if times.max() > 1:
            row = times.argmax()
            raise InputError(f"cv judges row {row} twice in a fold, expected each at most once")
        judged += times
        checked.append((train, test))
    if not checked:
        raise InputError("cv has no folds, expected at least one")
    if judged.max() > 1:
        row = judged.argmax()
        raise InputError(f"cv judges row {row} in two folds, expected each at most once")
    return checked


def _rows(numbers: Any, n: int) -> Ints:
    """Check row numbers."""
    rows = np.asarray(numbers)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise InputError(f"cv has {_checks.shown(numbers)}, expected row numbers")
    if rows.min() < 0 or rows.max() >= n:
        raise InputError(f"cv has rows from {rows.min()} to {rows.max()}, expected 0 to {n - 1}")
    return rows.astype(np.int64)


def _entries_of_rows(truth: Matrix) -> _Entries:
    """Return the labels of each row."""
    once = np.empty(0, np.int32)
    if is_sparse(truth):
        starts = truth.indptr.astype(np.int64, copy=False)
        return _Entries(starts, truth.indices.astype(np.int32, copy=False), once)
    starts = np.zeros(truth.shape[0] + 1, np.int64)
    label = GrowingVector(np.dtype(np.int32))
    for rows in row_blocks(*truth.shape):
        n_of_row, of_cells = _true_cells(truth[rows])
        starts[rows.start + 1 : rows.stop + 1] = n_of_row
        label.add(of_cells)
    np.cumsum(starts, out=starts)
    return _Entries(starts, label.whole(), once)


def _entries_of_groups(of_rows: _Entries, unit: Ints, n_labels: int) -> _Entries:
    """Count the labels of each group of rows."""
    rows = np.argsort(unit, kind="stable")  # (n_rows,), group after group
    group_starts = np.append(0, np.bincount(unit).cumsum())  # (n_groups + 1,)
    return _Entries(*labels_of_groups(of_rows.starts, of_rows.label, rows, group_starts, n_labels))


def _true_cells(truth: Dense) -> tuple[Ints, SmallInts]:
    """Return how many cells of each row are true, (n_rows,), and the labels of all of them, row after row."""
    n_rows, n_labels = truth.shape
    is_true = truth.view(np.bool_) if truth.dtype == np.uint8 else truth.astype(np.bool_)
    at = np.flatnonzero(is_true)  # (n_true,)
    firsts = np.arange(n_rows) * n_labels
    n_of_row = np.diff(np.searchsorted(at, firsts), append=at.size)  # (n_rows,)
    return n_of_row, (at - np.repeat(firsts, n_of_row)).astype(np.int32)
