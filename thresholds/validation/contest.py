"""Which of many rules does best out of fold, and is more than luck: their decisions held against those of a reference.

The gain g of a rule over the reference is shown if it is above 0, one-sided at 5 %: g > t SE(g), with the standard
error of the jackknife, paired by rows or groups, and Student's t (`metrics/jackknife.py`). The winner is the rule of
the largest gain that is shown, of equal ones the one that came first; the reference if there is none.

The winner's figure is that of the best of many. How much of it is luck, a second one tells, at the cost of no further
fit: for each fold, a winner is found in the same way by the decisions about the other folds, and its decisions about
this fold count. (Tsamardinos et al. 2018 do so with bootstrap samples of rows in place of folds.) The rules of the
other folds have seen the labels of the fold, the choice among them has not.

References
----------
Varma and Simon 2006, "Bias in error estimation when using cross-validation for model selection". Tsamardinos, Greasidou
and Borboudakis 2018, "Bootstrapping the out-of-sample predictions for efficient and accurate cross-validation".
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Ints, Matrix, Numbers
from thresholds._engine.problem import Problem
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_both_ways
from thresholds.metrics.jackknife import LeftOut, leave_out_of, standard_error_of
from thresholds.metrics.judging import Made

LEVEL = 0.05  # one-sided, of the test that a gain is above 0


class Gain(NamedTuple):
    """How much more a rule reaches than the reference."""

    value: float
    standard_error: float  # NaN where a single row or group tells nothing of others
    lowest: float  # the one-sided bound of the value

    @property
    def is_shown(self) -> bool:
        """Whether it is shown to be above 0."""
        return self.lowest > 0


class Figures(NamedTuple):
    """What makes up the F-measure of decisions about a fold."""

    by_label: ConfusionCounts
    mean_of_rows: float  # of F
    weight: float  # of the rows


class Entry(NamedTuple):
    """A rule that takes part."""

    name: str
    figure: float  # its F-measure, of the decisions about all folds together
    gains: list[Gain]  # on all folds, then without one after the other
    may_win: bool
    by_fold: list[Figures]


class Contest:
    """Rules that are held against the first that enters, by one F-measure, on rows that they were not fitted on.

    `folds` (n_samples,) has the fold that each row is judged in, from 0, and -1 for rows that are not; `groups`, if
    given, numbers from 0 for those that are left out together.
    """

    def __init__(
        self,
        problem: Problem,
        folds: Ints,
        groups: Ints | None,
        average: str,
        beta: float,
        zero_division: float,
    ) -> None:
        self.entries: list[Entry] = []
        n_folds = int(folds.max()) + 1
        if problem.rows_with_known is not None:  # Rows without a known cell count as absent.
            folds = np.where(problem.known_in_row > 0, folds, -1)
        self._problem = problem
        self._groups = groups
        self._average = average
        self._beta = beta
        self._zero_division = zero_division
        self._rows = [np.flatnonzero(folds == k) for k in range(n_folds)]
        self._reference: list[LeftOut] = []  # on all folds, then without one after the other

        # A row that is not judged, or left aside, weighs nothing.
        weights = problem.sample_weight
        weights = np.ones(folds.size, np.int64) if weights is None else weights
        parts = [folds >= 0]  # (n_samples,) each
        if self.n_folds > 1:
            parts += [(folds >= 0) & (folds != k) for k in range(self.n_folds)]
        self._weights = [weights * part for part in parts]  # (n_samples,) each

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self._rows)

    def enter(self, name: str, decided: Matrix, *, may_win: bool = True) -> None:
        """Take part with decisions about all rows, each by a rule that was not fitted on the row."""
        by_fold = [self._figures(rows, decided) for rows in self._rows]
        left_out = [
            self._left_out(decided, weights, by_fold[:k] + by_fold[k + 1 :] if k >= 0 else by_fold)
            for k, weights in enumerate(self._weights, start=-1)
        ]
        if not self.entries:
            self._reference = left_out
            gains = [Gain(0.0, 0.0, 0.0)] * len(left_out)
        else:
            pairs = zip(left_out, self._reference, strict=True)
            gains = [self._gain(*pair) for pair in pairs]
        self.entries.append(Entry(name, self._f_of(by_fold), gains, may_win, by_fold))

    @property
    def winner(self) -> Entry:
        """The entry of the largest gain that is shown, the reference if there is none."""
        return self._winner(0)

    @property
    def figure_of_choice(self) -> float:
        """The F-measure of winners that are found without the fold that they are judged on; NaN with one fold."""
        if self.n_folds == 1:
            return float("nan")
        return self._f_of([self._winner(k + 1).by_fold[k] for k in range(self.n_folds)])

    def _winner(self, part: int) -> Entry:
        """Return the winner on all folds (0), or without one."""
        shown = [entry for entry in self.entries if entry.may_win and entry.gains[part].is_shown]
        return max(shown, key=lambda entry: entry.gains[part].value, default=self.entries[0])

    def _figures(self, rows: Ints, decided: Matrix) -> Figures:
        """Judge decisions about a fold."""
        weights = self._problem.sample_weight
        weights = None if weights is None else weights[rows]  # (n_rows,)
        by_label, by_sample = count_both_ways(self._problem.truth[rows], decided[rows], weights)
        mean = average_of(f_score(self._beta), by_sample, "samples", self._zero_division, weights)
        return Figures(by_label, mean, float(rows.size if weights is None else weights.sum()))

    def _f_of(self, by_fold: Sequence[Figures]) -> float:
        """Return the F-measure of decisions about some folds together."""
        if self._average == "samples":
            means = [fold.mean_of_rows for fold in by_fold]
            return float(np.average(means, weights=[fold.weight for fold in by_fold]))
        by_label = sum((fold.by_label for fold in by_fold[1:]), by_fold[0].by_label)
        return average_of(f_score(self._beta), by_label, self._average, self._zero_division)

    def _left_out(self, decided: Matrix, weights: Numbers, by_fold: Sequence[Figures]) -> LeftOut:
        """Leave each row, or group, out of the folds whose rows have weight."""
        problem: Any = replace(self._problem, sample_weight=weights)
        by_label = sum((fold.by_label for fold in by_fold[1:]), by_fold[0].by_label)
        return leave_out_of(
            Made(decided),
            problem,
            by_label,
            self._beta,
            self._groups,
            self._zero_division,
        )

    def _gain(self, left_out: LeftOut, reference: LeftOut) -> Gain:
        """Return how much more is reached than by the reference."""
        value = left_out.on_all[self._average] - reference.on_all[self._average]
        error = standard_error_of(left_out, reference, self._average)
        return Gain(value, error.value, value - error.times(1 - LEVEL))
