"""Decisions about the rows of each fold by a rule that was fitted on the rows outside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Floats, Ints, Matrix
from thresholds._engine.folds import Question
from thresholds._engine.problem import Problem
from thresholds.fitting.by_name import Calibrators, Shared, fit_named, fit_named_outside_folds
from thresholds.fitting.options import FitOptions
from thresholds.metrics.counts import ConfusionCounts, stacked
from thresholds.metrics.judging import Decisions, Judged, f_measure, judge
from thresholds.rule import Rule, ThresholdRule

Folds = list[tuple[Ints, Ints]]  # rows to fit on, rows to judge


class HeldOut(NamedTuple):
    """The rules of the folds, and the counts of their decisions about the rows that they were not fitted on."""

    rules: list[Rule]  # one a fold, as the two others
    judged: list[Judged]
    weights: list[Any]  # of the judged rows, as metrics take them; None where each weighs 1

    @property
    def by_label(self) -> ConfusionCounts:
        """All decisions, counted label by label."""
        together = sum((fold.by_label for fold in self.judged[1:]), self.judged[0].by_label)
        return replace(together, sums=together.sums.astype(np.result_type(together.sums, np.int64)))

    def f(self, options: FitOptions) -> float:
        """Return the F-measure of all decisions together."""
        return self._f_of(self.by_label, range(len(self.judged)), options)

    def f_without_each(self, options: FitOptions) -> Floats:
        """Return the F-measure without one fold after the other, (n_folds,); nothing is left without a single one."""
        if len(self.judged) == 1:
            return np.empty(0)
        everything = self.by_label
        found = []
        for k, fold in enumerate(self.judged):
            others = [j for j in range(len(self.judged)) if j != k]
            # Sums of weights may be off by a rounding.
            left = np.maximum(everything.sums - fold.by_label.sums, 0)  # (3, n_labels)
            by_label = ConfusionCounts(left, everything.total - fold.by_label.total)
            found.append(self._f_of(by_label, others, options))
        return np.array(found)

    def _f_of(self, by_label: ConfusionCounts, folds: Any, options: FitOptions) -> float:
        """Return the F-measure of counts by label, or of the rows of some folds."""
        counts, weights = by_label, None
        if options.average == "samples":
            of_rows = [self.judged[k].by_sample for k in folds]
            counts = stacked([of_fold for of_fold in of_rows if of_fold is not None])
            if self.weights[0] is not None:
                weights = np.concatenate([self.weights[k] for k in folds])
        return f_measure(
            Judged(by_label, counts), weights, options.average, options.beta, options.zero_division
        )


def fit_and_hold_out(
    problem: Problem,
    options: FitOptions,
    folds: Folds,
    given_weights: Floats | None,
    questions: Sequence[Question],
) -> tuple[Rule, HeldOut, list[list[Any]] | None]:
    """Fit on all rows, and on those outside each fold, and judge those within; arguments as in `hold_out`.

    The third result are the answers to questions about labels on all rows, if all fits went together.
    """
    fitted = fit_named_outside_folds(problem, options, folds, questions)
    if fitted is None:
        rule = fit_named(problem, options)
        return rule, hold_out(problem, options, folds, given_weights), None
    rules, answers = fitted
    return rules[0], _held_out(problem, rules[1:], folds, options), answers


def hold_out(
    problem: Problem, options: FitOptions, folds: Folds, given_weights: Floats | None
) -> HeldOut:
    """Fit on the rows outside each fold, and judge those within; `given_weights` are as the caller gave them."""
    rules = rules_of_folds(problem, options, folds, given_weights)
    return _held_out(problem, rules, folds, options)


def _held_out(problem: Problem, rules: list[Rule], folds: Folds, options: FitOptions) -> HeldOut:
    """Have the rule of each fold judge its rows."""
    # A copy of dense scores would be made for one look at them.
    rows_of = problem.view_of_rows if problem.is_plain else problem.at_rows
    weights = problem.sample_weight
    judged = []
    for rule, (_, test) in zip(rules, folds, strict=True):
        # Other rules have threads of their own.
        n_jobs = options.n_jobs if isinstance(rule, ThresholdRule) else 1
        by_row = options.average == "samples"
        judged.append(judge(rule, rows_of(test), by_row=by_row, n_jobs=n_jobs))
    return HeldOut(rules, judged, [None if weights is None else weights[test] for _, test in folds])


def rules_of_folds(
    problem: Problem,
    options: FitOptions,
    folds: Folds,
    given_weights: Floats | None,
    calibrators: Sequence[Calibrators] | None = None,
) -> list[Rule]:
    """Fit on the rows outside each fold; rules share the `calibrators` of each."""
    of_folds = [Calibrators() for _ in folds] if calibrators is None else calibrators
    return [
        _without_record(
            fit_named(
                _rows_of(problem, train, given_weights),
                options.of_part(problem.row_weights[train].sum() / problem.row_weights.sum()),
                Shared(of_fold),
            )
        )
        for (train, _), of_fold in zip(folds, of_folds, strict=True)
    ]


def _without_record(rule: Rule) -> Rule:
    """Drop what a rule keeps of the rows of its fit: of very many labels that is most of its memory."""
    return replace(rule, fitted_on=None, profile=None)


def decided_out_of_fold(rules: Sequence[Rule], problem: Problem, folds: Folds) -> Matrix:
    """Return what the rule of each fold decides about its rows, (n_samples, n_labels); no other row has a label."""
    from scipy import sparse

    blocks = []
    for rule, (_, judged) in zip(rules, folds, strict=True):
        of_fold = problem.at_rows(judged)
        decided = Decisions(rule, of_fold)
        blocks += [sparse.csr_array(decided.about(rows)) for rows in decided.row_blocks()]
    blocks.append(sparse.csr_array((1, problem.n_labels), dtype=np.uint8))
    stacked = sparse.vstack(blocks, format="csr")  # (n_judged + 1, n_labels), the last row empty

    judged_rows = np.concatenate([judged for _, judged in folds])
    place = np.full(problem.n_samples, judged_rows.size)  # (n_samples,)
    place[judged_rows] = np.arange(judged_rows.size)
    return stacked[place]


def _rows_of(problem: Problem, rows: Ints, weights: Floats | None) -> Problem:
    """Return some rows as a problem of their own; `weights` are those of all rows, as given."""
    if problem.is_plain:  # A copy of the scores would be most of the memory.
        return problem.view_of_rows(rows)
    return Problem.of(
        problem.truth[rows],
        problem.scores[rows],
        sample_weight=None if weights is None else weights[rows],
        groups=None if problem.groups is None else problem.groups[rows],
        missing=problem.missing,
        unknown_cells=None if problem.unknown is None else problem.unknown[rows],
        label_names=problem.label_names,
        keep_sparse=problem.keep_sparse,
    )
