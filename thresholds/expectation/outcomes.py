"""The exact expectation of F-beta over independent outcomes: of given sets, and the sets that maximise it.

A *list* is what one F is about: the probabilities of a row, of a column, or of all cells. Kernels take lists one after
another; here matrices become lists, in blocks, on threads.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from thresholds._arrays import threads
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse, transposed
from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._kernels import outcomes as kernels
from thresholds._kernels.few_labels import best_prefixes_of_few, mark_highest, sort_rows

Result = TypeVar("Result")

_N_NODES = (32, 48)  # for 12 digits, with beta up to 1 and above, where k + B S takes values further apart
_FEW = 20  # labels: for shorter lists the quadratic recursion is faster
_BLOCK = 16  # blocks of rows are so much smaller than others, so that every thread has some


class Lists(NamedTuple):
    """Lists of values: list i is `values[starts[i]:starts[i + 1]]`."""

    starts: Ints
    values: Dense

    @property
    def longest(self) -> int:
        """Length of the longest list."""
        return int(np.diff(self.starts).max())

    def rising(self) -> Dense:
        """Return the values, sorted within each list."""
        sizes = np.diff(self.starts)
        if (sizes == sizes[0]).all():  # NumPy sorts equal lists faster, with vector instructions.
            return np.sort(self.values.reshape(sizes.size, sizes[0]), axis=1).reshape(-1)
        values = self.values.copy()
        sort_rows(self.starts, values)
        return values


@lru_cache(maxsize=2)
def _nodes(many: bool) -> Floats:
    """Return the points z of Gauss-Laguerre quadrature, and log(weight exp(z))."""
    points, weights = np.polynomial.laguerre.laggauss(_N_NODES[many])
    return np.stack([points, np.log(weights) + points])


def best_sizes(
    lists: Lists,
    rising: Dense,
    beta: float,
    zero_division: float,
    tails: Floats | None = None,
    *,
    whole_ties: bool = False,
) -> Ints:
    """Choose, in each list, how many of the highest probabilities to predict."""
    squared = beta * beta
    if tails is None and lists.longest <= _FEW:
        return best_prefixes_of_few(lists.starts, rising, squared, zero_division, whole_ties)[0]
    powers = np.zeros((lists.starts.size - 1, 0)) if tails is None else tails
    settings = (powers, squared, zero_division, whole_ties, _nodes(beta > 1))
    return kernels.best_prefixes(lists.starts, rising, *settings)[0]


def best_decisions(
    matrix: Matrix,
    beta: float,
    zero_division: float,
    tails: Floats | None = None,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> npt.NDArray[np.uint8]:
    """Mark the cells (of a sparse matrix: the stored ones) whose prediction maximises the expectation in each row."""
    marks = np.zeros(matrix.nnz if is_sparse(matrix) else matrix.shape, np.uint8)

    def mark(rows: slice) -> None:
        lists = _lists(matrix[rows])
        rising = lists.rising()
        sizes = best_sizes(lists, rising, beta, zero_division, None if tails is None else tails[rows])
        cells = slice(*matrix.indptr[[rows.start, rows.stop]]) if is_sparse(matrix) else rows
        mark_highest(*lists, rising, sizes, marks[cells].reshape(-1))

    _map_blocks(mark, matrix, n_jobs, progress, "rows")
    return marks


def best_thresholds(
    matrix: Matrix, beta: float, zero_division: float, *, n_jobs: int | None = None, progress: bool = False
) -> Floats:
    """Give, for each column, the lowest probability to predict; +inf for none. Equal ones are predicted alike."""
    columns = transposed(matrix)

    def choose(block: slice) -> Floats:
        lists = _lists(columns[block])
        rising = lists.rising()
        sizes = best_sizes(lists, rising, beta, zero_division, whole_ties=True)
        chosen = np.append(rising, np.inf)[np.where(sizes > 0, lists.starts[1:] - sizes, -1)]
        return chosen.astype(np.float64)

    return np.concatenate(_map_blocks(choose, columns, n_jobs, progress, "labels"))


def expected_of_rows(
    matrix: Matrix,
    decided: Matrix,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
    title: str = "rows",
) -> Floats:
    """Return the expectation of F-beta of the decisions of each row."""

    def expect(rows: slice) -> Floats:
        part, marks = _aligned(matrix[rows], decided[rows])
        return _expected(_lists(part), *_chosen(part, marks), beta, zero_division)

    return np.concatenate(_map_blocks(expect, matrix, n_jobs, progress, title))


def expected_of_columns(matrix: Matrix, decided: Matrix, beta: float, zero_division: float, **options: Any) -> Floats:
    """Return the expectation of F-beta of the decisions of each column."""
    columns = transposed(matrix), transposed(decided)
    return expected_of_rows(*columns, beta, zero_division, title="labels", **options)


def expected_of_all(matrix: Matrix, decided: Matrix, beta: float, zero_division: float) -> float:
    """Return the expectation of F-beta of the decisions of all cells together."""
    part, marks = _aligned(matrix, decided)
    chosen, predicted = _chosen(part, marks)
    lists, chosen = (Lists(np.array([0, of.values.size]), of.values) for of in (_lists(part), chosen))
    return float(_expected(lists, chosen, predicted.sum(keepdims=True), beta, zero_division)[0])


def expected_weighted(
    matrix: Matrix,
    decided: Matrix,
    beta: float,
    zero_division: float,
    *,
    n_jobs: int | None = None,
    progress: bool = False,
) -> float:
    """Return the expectation of sum_j a_j F_j / sum_j a_j, a_j the positives of column j; of mean F_j where all are 0.

    1 / a is the integral of exp(-y a) dy: a second quadrature. For each y columns are independent.
    """
    columns, marks = transposed(matrix), transposed(decided)
    cells = (matrix.data if is_sparse(matrix) else matrix).astype(np.float64)
    scale = kernels.centre(float(cells.sum()), float((cells * (1 - cells)).sum()))
    points, weights = _nodes(many=True)[0] / scale, np.exp(_nodes(many=True)[1]) / scale

    def chance(j: int) -> Floats:
        return kernels.log_chances(_lists(columns[j : j + 1]).values, np.append(points, np.inf))

    def share(j: int) -> Floats:
        part, decisions = _aligned(columns[j : j + 1], marks[j : j + 1])
        chosen, sizes = _chosen(part, decisions)
        others = of_all[:-1] - chances[j][:-1]
        own, of_set = (lists.values.astype(np.float64) for lists in (_lists(part), chosen))
        return kernels.expected_share(own, of_set, sizes[0], others, points, beta * beta, nodes)

    nodes, labels = _nodes(beta > 1), range(columns.shape[0])
    chances = threads.run(chance, labels, n_jobs=n_jobs)
    of_all = np.add.reduce(chances)
    predicted = marks.sum(axis=1)
    supported = np.add.reduce(
        threads.run(share, np.flatnonzero(predicted).tolist(), n_jobs=n_jobs, progress=progress, title="labels")
    )
    nothing = np.exp(of_all[-1]) * zero_division * np.mean(predicted == 0)
    return float(min(1.0, np.sum(weights * supported) + nothing))


def _expected(lists: Lists, chosen: Lists, sizes: Ints, beta: float, zero_division: float) -> Floats:
    """Return the expectation of F-beta of one set of each list."""
    return kernels.expected_f_of_sets(*lists, *chosen, sizes, beta * beta, zero_division, _nodes(beta > 1))


def _map_blocks(
    function: Callable[[slice], Result], matrix: Matrix, n_jobs: int | None, progress: bool, title: str
) -> list[Result]:
    """Apply `function` to blocks of rows, on threads."""
    n_rows, width = matrix.shape
    stored = matrix.nnz // n_rows if is_sparse(matrix) else width
    blocks = list(row_blocks(n_rows, _BLOCK * stored))
    return threads.run(function, blocks, n_jobs=n_jobs, cells=n_rows * stored, progress=progress, title=title)


def _lists(part: Matrix) -> Lists:
    """Return the rows of a matrix as lists; of a sparse one the stored entries."""
    values = part.data if is_sparse(part) else part.reshape(-1)
    starts = part.indptr if is_sparse(part) else np.arange(part.shape[0] + 1) * part.shape[1]
    return Lists(starts.astype(np.int64), np.ascontiguousarray(values, key_dtype(values.dtype)))


def _chosen(part: Matrix, marks: Matrix) -> tuple[Lists, Ints]:
    """Return the probabilities of each row that are marked, and the number of marks."""
    if is_sparse(part):
        return _lists(part.multiply(marks).tocsr()), np.diff(marks.indptr).astype(np.int64)
    sizes = np.count_nonzero(marks, axis=1).astype(np.int64)
    cells = part[marks != 0]
    return Lists(np.append(0, sizes.cumsum()), cells.astype(key_dtype(cells.dtype), copy=False)), sizes


def _aligned(part: Matrix, marks: Matrix) -> tuple[Matrix, Matrix]:
    """Return both sparse or both dense, as the probabilities are."""
    if is_sparse(part) == is_sparse(marks):
        return part, marks
    return part, type(part)(marks) if is_sparse(part) else marks.toarray()
