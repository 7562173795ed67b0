"""What the averages of F change without each row, added up over blocks of rows: enough for intervals.

An interval reads sums of squares and fourth powers of changes, or of their differences between two rules
(`jackknife.py`). A change is the average A_i without row i less the mean of all of these, which is known at last. So
sums of the first four powers of z_i = A_i - A are kept, A being the average on all rows, and with mean m = S1 / n

    sum (z - m)^2 = S2 - n m^2,    sum (z - m)^4 = S4 - 4 m S3 + 6 m^2 S2 - 3 n m^4.

As A_i lies about A, m is small beside what z varies by, and little is lost by the differences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Floats
from thresholds._engine.problem import Problem
from thresholds.metrics.jackknife import AVERAGES, Changes, Totals
from thresholds.metrics.judging import Decided
from thresholds.metrics.leaving_out import OfRows, averages_without_rows

Pair = tuple[str, str | None]  # a rule, and another to which its changes are held, or none


def changes_of_rows(
    decided: Decided,
    problem: Problem,
    totals: Totals,
    samples: float,
    n_rows: int,
    beta: float,
) -> tuple[Floats, int]:
    """Return the averages without each row of a block, less those on all rows, (5, n), and how many rows matter.

    `totals` and the mean F over rows, `samples`, are of all `n_rows` that have a known cell; rows weigh 1.
    """
    known = problem.rows_with_known  # (n_known,) or None
    if known is not None:
        problem = problem.at_rows(known)
        decided = OfRows(decided, known)
    given = (totals.counts, totals.tops, totals.bottoms, beta, totals.zero_division)
    changes, n_active = averages_without_rows(decided, problem, *given)
    # Without a row of F f the mean over the others is higher by (mean - f) / (n - 1).
    changes[-1] = (samples - changes[-1]) / max(n_rows - 1, 1)
    on_all = list(totals.averages(samples).values())
    changes[:-1] -= np.array(on_all[:-1])[:, np.newaxis]
    return changes, n_active


def power_sums(changes: Mapping[str, Floats], pairs: Sequence[Pair]) -> Floats:
    """Return the sums of the first four powers of the changes of rules, (5, n) each: (n_pairs, 4, 5)."""
    sums = np.zeros((len(pairs), 4, len(AVERAGES)))
    for place, (rule, other) in enumerate(pairs):
        z = changes[rule] if other is None else changes[rule] - changes[other]  # (5, n)
        power = np.ones(z.shape)
        for k in range(4):
            power *= z
            sums[place, k] = power.sum(axis=1)
    return sums


@dataclass(frozen=True, eq=False)
class AddedChanges(Changes):
    """The changes of one rule, added up over all rows."""

    name: str
    on_all: dict[str, float]
    n_active: int
    n_rows: int
    sums: Mapping[Pair, Floats]  # (4, 5) of powers, for each pair that was asked for

    def n_units(self, average: str) -> int:
        """Return the number of rows."""
        return self.n_rows

    def powers(self, average: str, other: Changes | None) -> tuple[float, float]:
        """Return the sums of even powers about the mean."""
        pair: Pair = (self.name, None)
        if other is not None:
            assert isinstance(other, AddedChanges), "both are of the same rows"
            if other.name == self.name:
                return 0.0, 0.0
            # Even powers of differences are the same either way.
            pair = (self.name, other.name)
            pair = pair if pair in self.sums else (other.name, self.name)
        s1, s2, s3, s4 = self.sums[pair][:, AVERAGES.index(average)].tolist()
        mean = s1 / self.n_rows
        squares = s2 - self.n_rows * mean**2
        fourth = s4 - 4 * mean * s3 + 6 * mean**2 * s2 - 3 * self.n_rows * mean**4
        return max(squares, 0.0), max(fourth, 0.0)

    def _mean_square(self, average: str) -> float:
        """Return the mean of the squared changes."""
        return self.powers(average, None)[0] / self.n_rows
