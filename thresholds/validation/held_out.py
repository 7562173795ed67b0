"""Decisions about the rows of each fold by a rule that was fitted on the rows outside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresholds._arrays.sparse import as_csr
from thresholds._arrays.threads import ALL_CORES
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.folds import Question
from thresholds._engine.problem import Problem
from thresholds.fitting.by_name import Calibrators, Shared, fit_named, fit_named_outside_folds
from thresholds.fitting.options import FitOptions
from thresholds.metrics.judging import decide_all, stacked_rows
from thresholds.rule import Rule

Folds = list[tuple[Ints, Ints]]  # rows to fit on, rows to judge


def fit_with_folds(
    problem: Problem,
    options: FitOptions,
    folds: Folds,
    given_weights: Floats | None,
    questions: Sequence[Question],
) -> tuple[Rule, list[Rule], list[list[Any]] | None]:
    """Fit on all rows, and on those outside each fold; `given_weights` are as the caller gave them.

    The third result are the answers to questions about labels on all rows, if all fits went together.
    """
    fitted = fit_named_outside_folds(problem, options, folds, questions)
    if fitted is None:
        rule = fit_named(problem, options)
        return rule, rules_of_folds(problem, options, folds, given_weights), None
    rules, answers = fitted
    return rules[0], rules[1:], answers


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
                # A copy of plain scores would be most of the memory.
                problem.view_of_rows(train)
                if problem.is_plain
                else problem.part(train, given_weights),
                options.of_part(problem.row_weights[train].sum() / problem.row_weights.sum()),
                Shared(of_fold),
            )
        )
        for (train, _), of_fold in zip(folds, of_folds, strict=True)
    ]


def _without_record(rule: Rule) -> Rule:
    """Drop what a rule keeps of the rows of its fit: of very many labels that is most of its memory."""
    return replace(rule, fitted_on=None, kept=None)


def decide_out_of_fold(
    rules: Sequence[Rule], problem: Problem, folds: Folds, *, n_jobs: int | None = ALL_CORES
) -> Any:
    """Return what the rule of each fold decides about its rows, CSR (n_samples, n_labels); no other row has a label."""
    pairs = zip(rules, folds, strict=True)
    blocks = [
        decide_all(rule, problem.at_rows(judged), n_jobs=n_jobs) for rule, (_, judged) in pairs
    ]
    nothing = as_csr(np.zeros((1, problem.n_labels), np.uint8))
    stacked = stacked_rows([*blocks, nothing])  # (n_judged + 1, n_labels)

    judged_rows = np.concatenate([judged for _, judged in folds])
    place = np.full(problem.n_samples, judged_rows.size)  # (n_samples,)
    place[judged_rows] = np.arange(judged_rows.size)
    return stacked[place]
