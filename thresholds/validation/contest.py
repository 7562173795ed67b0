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

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._engine.problem import Problem
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.metrics.judging import stacked_rows

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


class Entry(NamedTuple):
    """A rule that takes part."""

    name: str
    figure: float  # its F-measure, of the decisions about all folds together
    gains: list[Gain]  # on all folds, then without one after the other
    may_win: bool


class Contest(NamedTuple):
    """Rules held against the first of them, by one F-measure, on rows that they were not fitted on."""

    entries: list[Entry]
    winner: Entry  # of the largest gain that is shown, the reference if there is none
    figure_of_choice: (
        float  # of winners found without the fold that they are judged on; NaN with one fold
    )


def hold_contest(
    decided: Mapping[str, Any],
    problem: Problem,
    folds: Ints,
    groups: Ints | None,
    average: str,
    beta: float,
    zero_division: float,
    barred: Collection[str] = (),
) -> Contest:
    """Hold rules against the first; those that are `barred` take part, and do not win.

    `decided` are CSR (n_samples, n_labels), decisions about each row by a rule that was not fitted on it. `folds`
    (n_samples,) has the fold that each row is judged in, from 0, and -1 for rows that are not; `groups`, if given,
    numbers from 0 for those that are left out together.
    """
    # All rows that are judged, then those without one fold after the other.
    judged = np.flatnonzero((folds >= 0) & (problem.known_in_row > 0))
    fold = folds[judged]  # (n_judged,)
    n_folds = int(folds.max()) + 1
    options: Any = {"beta": beta, "zero_division": zero_division}
    table = JudgedRules(decided, problem, groups=groups, **options).at_rows(judged)
    parts = [table]
    if n_folds > 1:
        parts += [table.at_rows(np.flatnonzero(fold != k)) for k in range(n_folds)]

    reference = next(iter(decided))
    entries = [
        Entry(
            name,
            table.figure(name, average),
            [_gain_of(part, name, reference, average) for part in parts],
            name not in barred,
        )
        for name in decided
    ]
    figure_of_choice = float("nan")
    if n_folds > 1:
        # What winners that are found without a fold decide about it.
        blocks = []
        for k in range(n_folds):
            name = _winner(entries, k + 1).name
            blocks.append(table.decided[name][np.flatnonzero(fold == k)])
        in_order = np.argsort(np.argsort(fold, kind="stable"))
        choice = {reference: stacked_rows(blocks)[in_order]}
        of_choice = JudgedRules(choice, table.problem, **options)
        figure_of_choice = of_choice.figure(reference, average)
    return Contest(entries, _winner(entries, 0), figure_of_choice)


def _winner(entries: list[Entry], part: int) -> Entry:
    """Return the winner on all folds (0), or without one; of equal gains the first."""
    shown = [entry for entry in entries if entry.may_win and entry.gains[part].is_shown]
    return max(shown, key=lambda entry: entry.gains[part].value, default=entries[0])


def _gain_of(table: JudgedRules, rule: str, reference: str, average: str) -> Gain:
    """Return how much more a rule reaches than the reference."""
    if rule == reference:
        return Gain(0.0, 0.0, 0.0)
    value, error = table.gain(rule, reference, average)
    return Gain(value, error.value, value - error.times(1 - LEVEL))
