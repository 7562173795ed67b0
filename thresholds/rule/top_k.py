"""The same number of labels in every row."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thresholds import _checks, _devices
from thresholds._arrays.blocks import by_cells, row_blocks
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse, row_of_entries
from thresholds._arrays.types import Booleans, Bytes, Dense, Floats, Ints, Matrix, Places
from thresholds._results.fields import record, value
from thresholds.rule.base import ScoreRule

_BLOCK_CELLS = 2**17  # whose copies stay in the cache


@record
class TopKRule(ScoreRule):
    """Predict the k highest scores of each row; among equal scores, those of the first labels.

    Attributes
    ----------
    k : number of labels predicted in each row (all of them where there are fewer)
    missing : the score of an entry that a sparse matrix leaves out
    label_names, average, beta, zero_division, objective : as in `ThresholdRule`
    fitted_on, out_of_fold, made_by, profile : what is known of the fit, as in `ThresholdRule`

    Examples
    --------
    >>> import thresholds
    >>> thresholds.TopKRule(1).predict([[0.5, 0.1], [0.4, 0.4]])
    array([[1, 0],
           [1, 0]], dtype=uint8)
    """

    k: int = value(partial(_checks.count, smallest=0))

    kind: ClassVar[str] = "top_k"

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        return _devices.highest(scores, self.k)

    def decide_in_onnx(self, scores: Any) -> Any:
        """Record decisions about scores of an ONNX graph."""
        from thresholds.rule.serving.onnx import highest, unless_nan

        return unless_nan(scores, lambda cells: highest(cells, self.k))

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes."""
        k = min(self.k, scores.shape[1])
        if not is_sparse(scores):
            return highest_of_rows(scores, k)
        decided = _sparse_choice(scores, k, self.missing)
        return decided.toarray() if dense else decided

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        from thresholds.rule.serving.torch import TopKModule

        return TopKModule(self.k, self.n_labels, self.label_names)

    def only(self, places: Ints) -> "TopKRule":
        """Return the rule for some labels: the k highest of their scores."""
        return TopKRule(self.k, missing=self.missing)

    def settings(self) -> dict[str, Any]:
        """Return all that two rules may differ by."""
        return super().settings() | {"k": self.k}

    def in_words(self) -> str:
        """Say how many labels, and what was reached."""
        reached = (
            "not fitted"
            if self.objective is None
            else f"{self.average} F{self.beta:g} {self.objective:.4f}"
        )
        highest = "highest score" if self.k == 1 else f"{self.k} highest scores"
        return f"the {highest} of each row: {reached}{self.on_other_rows()}{self.source()}"


def _sparse_choice(scores: Any, k: int, missing: float) -> Any:
    """Choose among stored scores above `missing`; rows with fewer than k of them go on with their absent cells."""
    row = row_of_entries(scores)  # (n_stored,)
    wanted = np.full(scores.shape[0], k)  # (n_samples,)
    chosen = _highest_entries(scores, row, scores.data > np.float64(missing), wanted)
    wanted -= np.bincount(row[chosen], minlength=wanted.size)
    rows, columns = [row[chosen]], [scores.indices[chosen]]

    # The first absent cells of a row lie within its first k + stored columns.
    short = np.flatnonzero(wanted)
    width = min(scores.shape[1], 1 + k + int(np.diff(scores.indptr).max(initial=0)))
    for block in row_blocks(short.size, width):
        short_rows = short[block]
        row_in_block, column = _absent_choice(
            scores[short_rows], wanted[short_rows], width, missing
        )
        rows.append(short_rows[row_in_block])
        columns.append(column)

    # All chosen cells, row by row.
    chosen_rows, chosen_columns = np.concatenate(rows), np.concatenate(columns)
    order = np.lexsort((chosen_columns, chosen_rows))
    row_sizes = np.bincount(chosen_rows, minlength=scores.shape[0])  # (n_samples,)
    starts = np.append(0, row_sizes.cumsum())  # (n_samples + 1,)
    ones = np.ones(chosen_rows.size, np.uint8)
    return type(scores)((ones, chosen_columns[order], starts), shape=scores.shape)


def _absent_choice(
    scores: Any, wanted: Places, width: int, missing: float
) -> tuple[Places, Places]:
    """Choose the first cells of each row that score `missing`, then, if they run out, stored scores below it."""
    row = row_of_entries(scores)  # (n_stored,)
    taken = (scores.data != np.float64(missing)) & (scores.indices < width)
    free = np.ones((scores.shape[0], width), np.bool_)  # (n_rows, width)
    free[row[taken], scores.indices[taken]] = False
    free_row, free_column = np.nonzero(free & (free.cumsum(axis=1) <= wanted[:, np.newaxis]))
    lacking = wanted - np.bincount(free_row, minlength=wanted.size)  # (n_rows,)
    more = _highest_entries(scores, row, scores.data < np.float64(missing), lacking)
    return np.append(free_row, row[more]), np.append(free_column, scores.indices[more])


def _highest_entries(
    scores: Any, row: Places, among: npt.NDArray[np.bool_], wanted: Places
) -> Places:
    """Return the highest stored entries of each row, as many as it wants; equal scores by column."""
    entries = np.flatnonzero(among)
    in_row = np.bincount(row[entries], minlength=wanted.size)  # (n_samples,)
    starts = np.append(0, in_row.cumsum())
    values = scores.data[entries].astype(np.float64)
    return entries[highest_of_lists(values, starts, wanted)]


def highest_of_rows(cells: Dense, k: int) -> Bytes:
    """Mark the k highest of each row, of equal ones the first: uint8 (n_rows, n_columns); all where there are fewer."""
    n_columns = cells.shape[1]
    if k == 0 or k >= n_columns:
        return np.full(cells.shape, k > 0, np.uint8)
    marks = np.empty(cells.shape, np.uint8)
    for rows in by_cells(len(cells), cells.size, _BLOCK_CELLS):
        # NumPy selects from floats of 32 and 64 bits in vector registers.
        block = np.ascontiguousarray(cells[rows], key_dtype(cells.dtype))  # (n_rows, n_columns)
        place = n_columns - k  # of the lowest to be marked, in rising order
        lowest = np.partition(block, place, axis=1)[:, place : place + 1]  # (n_rows, 1)
        _mark(block, lowest, k, marks[rows].view(np.bool_))
    return marks


def highest_of_lists(values: Floats, starts: Ints, wanted: Ints) -> Booleans:
    """Mark as many of the highest values of each list as it wants, of equal ones the first; all where there are fewer.

    Parameters
    ----------
    values : (n_values,), one list after another
    starts : (n_lists + 1,), where they begin
    wanted : (n_lists,)

    Returns
    -------
    bool (n_values,)
    """
    sizes = np.diff(starts)  # (n_lists,)
    marks = np.repeat(wanted >= sizes, sizes)

    # Lists of about one length, side by side: what is beyond the end of one is as low as can be, and comes last.
    some = np.flatnonzero((wanted > 0) & (wanted < sizes))
    longest_first = some[np.argsort(-sizes[some], kind="stable")]
    first = 0
    while first < longest_first.size:
        width = int(sizes[longest_first[first]])
        lists = longest_first[first : first + max(1, _BLOCK_CELLS // width)]
        first += lists.size
        number = np.arange(width)
        is_value = number < sizes[lists, np.newaxis]  # (n_given, width)
        at = (starts[lists, np.newaxis] + number)[is_value]  # (n_given_values,)
        cells = np.full(is_value.shape, -np.inf)
        cells[is_value] = values[at]
        lowest = np.sort(cells, axis=1)[np.arange(lists.size), width - wanted[lists]]  # (n_given,)
        marked = np.empty(cells.shape, np.bool_)
        _mark(cells, lowest[:, np.newaxis], wanted[lists], marked)
        marks[at] = marked[is_value]
    return marks


def _mark(cells: Dense, lowest: Dense, wanted: int | Ints, marks: Booleans) -> None:
    """Mark as many cells of each row as wanted, the lowest of which is given, (n_rows, 1)."""
    np.greater_equal(cells, lowest, out=marks)
    excess = marks.sum(axis=1, dtype=np.int32) - wanted  # (n_rows,)
    tied = np.flatnonzero(excess)
    if tied.size:
        marks[tied] = _without_last(cells[tied], lowest[tied], excess[tied])


def _without_last(cells: Dense, lowest: Dense, excess: Ints) -> Booleans:
    """Mark what exceeds the lowest of each row, and of those that equal it all but the last, `excess` of them."""
    is_equal = cells == lowest
    equal = np.flatnonzero(is_equal)  # row by row
    ends = is_equal.sum(axis=1, dtype=np.int64).cumsum()  # (n_rows,)
    n_columns = cells.shape[1]
    last = equal[ends - 1 - excess] % n_columns  # (n_rows,), the last column that is marked
    is_first = np.arange(n_columns) <= last[:, np.newaxis]
    return np.asarray((cells > lowest) | (is_equal & is_first))
