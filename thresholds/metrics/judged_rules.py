"""Rules judged on the same rows: a table of what each decides, counts and reaches, and how sure differences are.

Rules side by side, the choice among rules, an update and alternatives to a fit all read this table; they differ in
which rows, which decisions and which units (rows, groups or folds) they put into it.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from thresholds._arrays import threads
from thresholds._arrays.sparse import as_csr
from thresholds._arrays.types import Ints
from thresholds._engine.problem import Problem
from thresholds.metrics.counts import ConfusionCounts, count_by_label
from thresholds.metrics.jackknife import (
    Interval,
    StandardError,
    difference_of,
    interval_of,
    standard_error_of,
)
from thresholds.metrics.judging import Judged, count_decisions, f_measure
from thresholds.metrics.leaving_out import SHARES, LeftOut, leave_out_of, leave_out_of_shares


class JudgedRules:
    """Decisions of rules about the same rows, by the name of the rule.

    Attributes
    ----------
    decided : CSR (n_samples, n_labels) of each rule, 0 where the truth is not known
    problem : the rows, whose truth is CSR and stands in the place of their scores
    counts : Judged of each rule, by label as rows weigh
    left_out : LeftOut of each rule, without each row, or each of the `groups` (n_samples,), numbers from 0
    """

    def __init__(
        self,
        decided: Mapping[str, Any],
        problem: Problem,
        *,
        beta: float,
        zero_division: float,
        groups: Ints | None = None,
    ) -> None:
        self.decided = decided
        # The scores have been decided about; the truth takes their place.
        truth = as_csr(problem.truth)
        self.problem = replace(problem, truth=truth, scores=truth)
        self._beta = beta
        self._zero_division = zero_division
        self._groups = groups

    @cached_property
    def counts(self) -> dict[str, Judged]:
        """What each rule counts."""
        problem = self.problem
        decided = list(self.decided.values())
        judged = threads.run(
            lambda cells: count_decisions(cells, problem), decided, cells=problem.n_stored
        )
        return dict(zip(self.decided, judged, strict=True))

    def unweighted(self, rule: str) -> ConfusionCounts:
        """Return what a rule counts by label where each row weighs 1."""
        if self.problem.sample_weight is None:
            return self.counts[rule].by_label
        return count_by_label(self.problem.truth, self.decided[rule], None)

    @cached_property
    def left_out(self) -> dict[str, LeftOut]:
        """The averages of F of each rule without each row, or group."""
        problem, counts = self.problem, self.counts

        def leave_out(rule: str) -> LeftOut:
            return leave_out_of(
                self.decided[rule],
                problem,
                self._beta,
                self._groups,
                self._zero_division,
                counts=counts[rule].by_label,
            )

        rules = list(self.decided)
        left_out = threads.run(leave_out, rules, cells=problem.n_stored)
        return dict(zip(rules, left_out, strict=True))

    @cached_property
    def _shares(self) -> dict[str, dict[str, LeftOut]]:
        """Precision and recall of all decisions of each rule without each row, or group."""
        of_rows = {rule: judged.by_sample for rule, judged in self.counts.items()}
        return {
            rule: leave_out_of_shares(counts, self._groups)
            for rule, counts in of_rows.items()
            if counts is not None
        }

    def _without_units(self, rule: str, measure: str) -> LeftOut:
        """Return what has a measure without each row, or group: an average of F, "precision" or "recall"."""
        return self._shares[rule][measure] if measure in SHARES else self.left_out[rule]

    def interval(self, rule: str, measure: str, confidence: float) -> Interval:
        """Return an average of F, or "precision" or "recall" of all decisions, with its interval."""
        return interval_of(self._without_units(rule, measure), measure, confidence)

    def figure(self, rule: str, average: str) -> float:
        """Return an average of F of a rule."""
        return f_measure(
            self.counts[rule],
            self.problem.sample_weight,
            average,
            self._beta,
            self._zero_division,
        )

    def gain(self, rule: str, reference: str, average: str) -> tuple[float, StandardError]:
        """Return how much more a rule reaches than another, and how far that may be chance."""
        ours = self.left_out[rule]
        theirs = self.left_out[reference]
        value = ours.on_all[average] - theirs.on_all[average]
        return value, standard_error_of(ours, theirs, average)

    def difference(self, rule: str, reference: str, measure: str, confidence: float) -> Interval:
        """Return how much more a rule reaches than another by a measure as in `interval`, with its interval."""
        ours = self._without_units(rule, measure)
        theirs = self._without_units(reference, measure)
        return difference_of(ours, theirs, measure, confidence)

    def at_rows(self, rows: Ints) -> "JudgedRules":
        """Return the table of some of the rows."""
        return JudgedRules(
            {name: cells[rows] for name, cells in self.decided.items()},
            self.problem.at_rows(rows),
            beta=self._beta,
            zero_division=self._zero_division,
            groups=None if self._groups is None else self._groups[rows],
        )
