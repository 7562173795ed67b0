"""What is independent: the rows, or groups of rows; in an order that has nothing to do with the data."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._engine.problem import Problem
from thresholds.data.folds import SEED


@dataclass(frozen=True)
class Units:
    """Rows by unit, units in an order drawn with a seed; a group counts by the mean of its rows.

    So what is promised of groups is promised of a row drawn at random from a new group. Rows of weight 0 are absent.
    """

    rows: Ints  # (n_rows,) row numbers, those of unit u at `starts[u]:starts[u + 1]`
    starts: Ints  # (n_units + 1,)

    @classmethod
    def of(cls, problem: Problem) -> "Units":
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

    def between(self, first: int, last: int) -> "Units":
        """Return units `first:last`."""
        starts = self.starts[first : last + 1]
        return Units(self.rows[starts[0] : starts[-1]], starts - starts[0])

    def blocks(self, max_rows: int) -> Iterator["Units"]:
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
