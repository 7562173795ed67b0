"""The exact expectation of F-beta over independent outcomes: of given sets, and the best sets.

A *list* is what one F is about: the probabilities of a row, of a column, or of all cells. Kernels
take lists one after another; here matrices become lists, in blocks, on threads.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse, stored_cells, transposed
from thresholds._arrays.types import Bytes, Dense, Floats, Ints, Matrix
from thresholds._kernels import outcomes as kernels
from thresholds.expectation.few_labels import best_prefixes_of_few, mark_highest

Result = TypeVar("Result")

# Nodes for 12 digits: with beta up to 1, and many above it, where k + B S takes values further apart.
_N_NODES = 32
_N_MANY_NODES = 48
_FEW_LABELS = 20  # For shorter lists the quadratic recursion is faster.
_SMALLER_BLOCKS = 16  # times smaller than others, so that every thread has some


class ProbabilityLists(NamedTuple):
    """Lists of probabilities: list i is `values[starts[i]:starts[i + 1]]`."""

    starts: Ints  # (n_lists + 1,)
    values: Dense

    @property
    def longest(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.starts).max())

    def rising(self) -> Dense:
        """Return the values, sorted within each list."""
        sizes = np.diff(self.starts)
        # NumPy sorts equal lists faster, with vector instructions.
        if (sizes == sizes[0]).all():
            return np.sort(self.values.reshape(sizes.size, sizes[0]), axis=1).reshape(-1)
        row = np.arange(sizes.size).repeat(sizes)  # (n_values,)
        return self.values[np.lexsort((self.values, row))]


@lru_cache(maxsize=2)
def _nodes(many: bool) -> Floats:
    """Return the points z of Gauss-Laguerre quadrature, and log(weight exp(z)): (2, n_nodes)."""
    return _laguerre(_N_MANY_NODES if many else _N_NODES)


def _laguerre(n_nodes: int) -> Floats:
    """Return so many points, and the logarithms of what they weigh: (2, n_nodes)."""
    points, weights = np.polynomial.laguerre.laggauss(n_nodes)
    return np.stack([points, np.log(weights) + points])


@lru_cache(maxsize=2)
def _sets_of_nodes(many: bool) -> Floats:
    """Return the nodes of quadratures with 8, 16 and as many as `_nodes` has, one after another: (2, n_nodes)."""
    return np.concatenate([_laguerre(8), _laguerre(16), _nodes(many)], axis=1)


def best_sizes(
    lists: ProbabilityLists,
    rising: Dense,
    beta: float,
    zero_division: float,
    tails: Floats | None = None,
    *,
    whole_ties: bool = False,
) -> Ints:
    """Choose, in each list, how many of the highest probabilities to predict.

    `rising` has the lists sorted; `tails` has power sums of labels outside the lists.
    """
    options = (beta * beta, zero_division, whole_ties)
    if tails is None and lists.longest <= _FEW_LABELS:
        sizes, _ = best_prefixes_of_few(lists.starts, rising, *options)
        return sizes
    if tails is None:
        tails = np.zeros((lists.starts.size - 1, 0))
    sizes, _ = kernels.best_prefixes(
        lists.starts, rising, tails, *options, _sets_of_nodes(beta > 1)
    )
    return sizes


def best_decisions(
    matrix: Matrix,
    beta: float,
    zero_division: float,
    tails: Floats | None = None,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Bytes:
    """Mark the cells of each row whose prediction maximises the expectation.

    Returns marks of all cells, or of the stored ones of a sparse matrix.
    """
    marks = np.zeros(matrix.nnz if is_sparse(matrix) else matrix.shape, np.uint8)

    def mark(rows: slice) -> None:
        lists = _as_lists(matrix[rows])
        rising = lists.rising()
        row_tails = None if tails is None else tails[rows]
        sizes = best_sizes(lists, rising, beta, zero_division, row_tails)
        # Of a sparse matrix, the entries of these rows.
        cells = slice(*matrix.indptr[[rows.start, rows.stop]]) if is_sparse(matrix) else rows
        mark_highest(lists.starts, lists.values, rising, sizes, marks[cells].reshape(-1))

    _map_blocks(mark, matrix, n_jobs, progress, "rows")
    return marks


def best_thresholds(
    matrix: Matrix,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Floats:
    """Return, for each column, the lowest probability to predict; +inf for none.

    Equal probabilities are predicted alike.
    """
    columns = transposed(matrix)

    def choose(block: slice) -> Floats:
        lists = _as_lists(columns[block])
        rising = lists.rising()
        sizes = best_sizes(lists, rising, beta, zero_division, whole_ties=True)
        # The lowest of the `sizes` highest; at the end of all lists there is one value more to read.
        lowest = np.append(rising, np.inf)[lists.starts[1:] - sizes]  # (n_lists,)
        return np.where(sizes > 0, lowest, np.inf).astype(np.float64)

    return np.concatenate(_map_blocks(choose, columns, n_jobs, progress, "labels"))


def expected_of_rows(
    matrix: Matrix,
    decided: Matrix,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
    title: str = "rows",
) -> Floats:
    """Return the expectation of F-beta of the decisions of each row."""

    def expect(rows: slice) -> Floats:
        block, marks = _in_one_form(matrix[rows], decided[rows])
        marked, sizes = _marked(block, marks)
        return _expected(_as_lists(block), marked, sizes, beta, zero_division)

    return np.concatenate(_map_blocks(expect, matrix, n_jobs, progress, title))


def expected_of_columns(
    matrix: Matrix,
    decided: Matrix,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Floats:
    """Return the expectation of F-beta of the decisions of each column."""
    return expected_of_rows(
        transposed(matrix),
        transposed(decided),
        beta,
        zero_division,
        n_jobs=n_jobs,
        progress=progress,
        title="labels",
    )


def expected_of_all(matrix: Matrix, decided: Matrix, beta: float, zero_division: float) -> float:
    """Return the expectation of F-beta of the decisions of all cells together."""
    cells, marks = _in_one_form(matrix, decided)
    marked, sizes = _marked(cells, marks)
    n_predicted = sizes.sum(keepdims=True)
    one_list = _joined(_as_lists(cells))
    return float(_expected(one_list, _joined(marked), n_predicted, beta, zero_division)[0])


def expected_weighted(
    matrix: Matrix,
    decided: Matrix,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> float:
    """Return the expectation of sum_j a_j F_j / sum_j a_j, a_j the positives of column j.

    Where all a_j are 0, the plain mean of the F_j counts instead. With a = sum_j a_j, 1 / a is the
    integral over y > 0 of exp(-y a): a second quadrature. At each y the columns are independent, and
    the expectation of the product over them is the product of their expectations.
    """
    columns = transposed(matrix)
    marks = transposed(decided)
    nodes = _nodes(beta > 1)

    # The nodes y of the second quadrature, of a scale amid the values that the positives take.
    cells = stored_cells(matrix).astype(np.float64)
    scale = kernels.centre(float(cells.sum()), float((cells * (1 - cells)).sum()))
    z, log_weights = _nodes(many=True)
    points = z / scale
    weights = np.exp(log_weights) / scale

    # log E exp(-y a_j) of each column, and of all; the last point, +inf, is for no positive.
    def log_chances(j: int) -> Floats:
        values = _as_lists(columns[j : j + 1]).values
        return kernels.log_chances(values, np.append(points, np.inf))

    labels = range(columns.shape[0])
    label_chances = threads.run(log_chances, labels, n_jobs=n_jobs)  # of (n_points + 1,)
    all_chances = np.add.reduce(label_chances)

    # E[a_j F_j exp(-y sum of a)] at each y, of the columns that are predicted anywhere.
    def share(j: int) -> Floats:
        column, decisions = _in_one_form(columns[j : j + 1], marks[j : j + 1])
        marked, sizes = _marked(column, decisions)
        return kernels.expected_share(
            _as_lists(column).values.astype(np.float64),
            marked.values.astype(np.float64),
            sizes[0],
            all_chances[:-1] - label_chances[j][:-1],
            points,
            beta * beta,
            nodes,
        )

    n_predicted = marks.sum(axis=1)
    predicted_labels = np.flatnonzero(n_predicted).tolist()
    shares = threads.run(share, predicted_labels, n_jobs=n_jobs, progress=progress, title="labels")
    supported = np.add.reduce(shares)
    nothing = np.exp(all_chances[-1]) * zero_division * np.mean(n_predicted == 0)
    return float(min(1.0, np.sum(weights * supported) + nothing))


def _expected(
    lists: ProbabilityLists,
    marked: ProbabilityLists,
    sizes: Ints,
    beta: float,
    zero_division: float,
) -> Floats:
    """Return the expectation of F-beta of one set of each list."""
    return kernels.expected_f_of_sets(
        lists.starts,
        lists.values,
        marked.starts,
        marked.values,
        sizes,
        beta * beta,
        zero_division,
        _nodes(beta > 1),
    )


def _map_blocks(
    function: Callable[[slice], Result],
    matrix: Matrix,
    n_jobs: int | None,
    progress: bool,
    title: str,
) -> list[Result]:
    """Apply `function` to blocks of rows, on threads."""
    n_rows, n_columns = matrix.shape
    cells_per_row = matrix.nnz // n_rows if is_sparse(matrix) else n_columns
    # Rows are given out as wider than they are, so that blocks get smaller.
    blocks = list(row_blocks(n_rows, _SMALLER_BLOCKS * cells_per_row))
    return threads.run(
        function,
        blocks,
        n_jobs=n_jobs,
        cells=n_rows * cells_per_row,
        progress=progress,
        title=title,
    )


def _as_lists(rows: Matrix) -> ProbabilityLists:
    """Return the rows of a matrix as lists; of a sparse one the stored entries."""
    if is_sparse(rows):
        starts: Any = rows.indptr
        values = rows.data
    else:
        starts = np.arange(rows.shape[0] + 1) * rows.shape[1]
        values = rows.reshape(-1)
    values = np.ascontiguousarray(values, key_dtype(values.dtype))
    return ProbabilityLists(starts.astype(np.int64), values)


def _joined(lists: ProbabilityLists) -> ProbabilityLists:
    """Return all lists as one."""
    return ProbabilityLists(np.array([0, lists.values.size]), lists.values)


def _marked(rows: Matrix, marks: Matrix) -> tuple[ProbabilityLists, Ints]:
    """Return the probabilities of each row that are marked, and the number of marks."""
    # An entry that is marked but not stored has the probability 0: it counts as a mark alone.
    if is_sparse(rows):
        return _as_lists(rows.multiply(marks).tocsr()), np.diff(marks.indptr).astype(np.int64)
    sizes = np.count_nonzero(marks, axis=1).astype(np.int64)
    cells = rows[marks != 0]
    values = cells.astype(key_dtype(cells.dtype), copy=False)
    return ProbabilityLists(np.append(0, sizes.cumsum()), values), sizes


def _in_one_form(rows: Matrix, marks: Matrix) -> tuple[Matrix, Matrix]:
    """Return both sparse or both dense, as the probabilities are."""
    if is_sparse(rows) == is_sparse(marks):
        return rows, marks
    return rows, type(rows)(marks) if is_sparse(rows) else marks.toarray()
