"""What is independent, and so is counted by a test: the rows, or groups of rows. Copies of rows are not."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import InputError
from thresholds._engine.problem import Problem
from thresholds.data.folds import SEED

_LEAST_DISTINCT = 30  # rows; fewer may be alike by chance
_MOSTLY = 0.9  # of distinct rows have a score of a label to themselves, unless scores are votes


@dataclass(frozen=True)
class SamplingUnits:
    """Rows by unit, units in an order drawn with a seed; a group counts by the mean of its rows.

    So what is guaranteed of groups is guaranteed of a row drawn at random from a new group. Rows of
    weight 0 are absent.
    """

    rows: Ints  # (n_rows,) row numbers, those of unit u at `starts[u]:starts[u + 1]`
    starts: Ints  # (n_units + 1,)

    @classmethod
    def from_problem(cls, problem: Problem) -> "SamplingUnits":
        """Put the rows that have weight in a seeded order, rows of a group together."""
        present = np.flatnonzero(problem.row_weights > 0)
        unit = np.arange(present.size)  # (n_present,)
        if problem.groups is not None:
            unit = np.unique(problem.groups[present], return_inverse=True)[1]
        n_units = int(unit.max(initial=-1)) + 1
        turn = np.random.default_rng(SEED).permutation(n_units)  # (n_units,)
        order = np.argsort(turn[unit], kind="stable")
        starts = np.append(0, np.bincount(turn[unit], minlength=n_units).cumsum())
        return cls(present[order], starts)

    @property
    def n(self) -> int:
        """How many units there are."""
        return int(self.starts.size - 1)

    @cached_property
    def of_row(self) -> Ints:
        """The unit of each row of `rows`."""
        return np.repeat(np.arange(self.n), np.diff(self.starts))

    @cached_property
    def share(self) -> Floats:
        """What each row of `rows` counts in its unit; these sum to 1."""
        return 1.0 / np.diff(self.starts)[self.of_row]

    def between(self, first: int, last: int) -> "SamplingUnits":
        """Return units `first:last`."""
        starts = self.starts[first : last + 1]
        return SamplingUnits(self.rows[starts[0] : starts[-1]], starts - starts[0])

    def blocks(self, max_rows: int) -> Iterator["SamplingUnits"]:
        """Return units one after another, in blocks of about so many rows."""
        first = 0
        while first < self.n:
            wanted = self.starts[first] + max_rows
            last = int(np.searchsorted(self.starts, wanted, side="right")) - 1
            last = min(max(last, first + 1), self.n)
            yield self.between(first, last)
            first = last

    def means(self, of_rows: Floats) -> Floats:
        """Return the mean of each unit over its rows; `of_rows` begins with an axis of the rows."""
        if self.rows.size == self.n:
            return of_rows
        share = self.share.reshape(-1, *(1,) * (of_rows.ndim - 1))
        return np.asarray(np.add.reduceat(of_rows * share, self.starts[:-1]))


def one_row_of_each_group(problem: Problem) -> Ints:
    """Draw a row of each group, without looking at truth or scores; rows of weight 0 are absent."""
    assert problem.groups is not None, "asked for only then"
    present = np.flatnonzero(problem.row_weights)
    drawn = np.random.default_rng(SEED).permutation(present)
    _, first = np.unique(problem.groups[drawn], return_index=True)
    return np.sort(drawn[first])


def refuse_weights(problem: Problem) -> None:
    """Refuse weights other than 0 and 1: a test counts rows, each of which was drawn once."""
    if problem.sample_weight is None:
        return
    if ((problem.sample_weight != 0) & (problem.sample_weight != 1)).any():
        # In the terms of the caller; the largest of them, of which units take no digit that shows.
        weights = problem.row_weights * np.float64(problem.unit)
        odd = weights[(weights != 0) & (weights != 1)].max()
        raise InputError(
            f"sample_weight has {odd:g} with confidence, whose tests count rows; expected weights of 0 and 1 only"
        )


def warn_of_copies(problem: Problem) -> None:
    """Warn where most rows are exact copies of others, in dense scores and truth, and no groups are given.

    Of a single label copies cannot be told from ties, which are as they should be. Rows without weight, or without a
    known truth, do not count, and rows whose scores are all equal may be such as a classifier never looked at.
    """
    is_dense = not (is_sparse(problem.scores) or is_sparse(problem.truth))
    if problem.groups is not None or not is_dense or problem.n_labels < 2:
        return
    hashes, is_constant = _hashes_of_rows(problem)  # (n_samples,) each
    counted = np.flatnonzero((problem.row_weights > 0) & ~is_constant)  # (n_counted,) rows
    _, first, times = np.unique(hashes[counted], return_index=True, return_counts=True)
    n_copies = int(times[times > 1].sum())
    if 2 * n_copies <= counted.size or first.size < _LEAST_DISTINCT:
        return
    distinct = np.asarray(problem.scores[counted[first]])  # (n_distinct, n_labels)
    if not any(np.unique(scores).size >= _MOSTLY * first.size for scores in distinct.T):
        return
    _checks.warn_caller(
        f"{n_copies:,} of {counted.size:,} rows are copies of others, in scores and truth, and a guarantee takes"
        " rows as independent: give each row once, or groups, with one number for all copies of a row",
        UserWarning,
    )


def _hashes_of_rows(problem: Problem) -> tuple[Ints, Booleans]:
    """Return a number that equal rows have in common, and whether the scores of a row are all equal: (n_samples,)."""
    factors = (
        np.random.default_rng(SEED).integers(1, 2**62, (2, problem.n_labels), np.uint64) * 2 + 1
    )
    hashes = np.empty(problem.n_samples, np.uint64)
    is_constant = np.empty(problem.n_samples, np.bool_)
    for rows in row_blocks(problem.n_samples, problem.n_labels):
        scores = np.asarray(problem.scores[rows], np.float64) + 0.0  # -0.0 becomes 0.0
        is_constant[rows] = (scores == scores[:, :1]).all(axis=1)
        bits = np.ascontiguousarray(scores).view(np.uint64)
        bits ^= bits >> np.uint64(29)
        truth = np.asarray(problem.truth[rows]).astype(np.uint64)
        hashes[rows] = (bits * factors[0] + truth * factors[1]).sum(axis=1, dtype=np.uint64)
    return hashes.view(np.int64), is_constant
