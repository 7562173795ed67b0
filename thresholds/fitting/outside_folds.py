"""Fits to all rows and to those outside each fold, whose labels are read once for all of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._engine.folds import Question, are_whole, over_folds
from thresholds._engine.histograms import MOST_BINS
from thresholds._engine.problem import Problem
from thresholds.fitting.empirical import rule_of
from thresholds.fitting.options import FitOptions
from thresholds.fitting.record import data_in_brief
from thresholds.fitting.searches import search_of
from thresholds.rule import ThresholdRule

_BYTES_OF_BIN = 24
_MUCH_MEMORY = 2**28  # bytes


def fit_outside_folds(
    problem: Problem,
    options: FitOptions,
    pairs: Sequence[tuple[Ints, Ints]],
    questions: Sequence[Question],
) -> tuple[list[ThresholdRule], list[list[Any]]] | None:
    """Fit to all rows, and to those that each fold is fitted on, and ask questions about labels on all rows.

    `pairs` are the rows to fit on, and to judge on, of each fold. Returns the rules, that of all rows first, without a
    profile of the scores but for that; and the answers to each question, in the order of the labels. None for fits that
    have to be made one after another.
    """
    folds = _folds_of(problem, pairs)
    if folds is None or not _can_go_together(problem, options, len(pairs)):
        return None
    whole = search_of(problem, options)
    if whole is None:
        return None
    outside = [rows for rows, _ in pairs]
    parts = [problem.view_of_rows(rows, copies_truth=False) for rows in outside]
    searches = [search_of(part, options, ratio=whole.ratio) for part in parts]
    made = [search for search in searches if search is not None]
    of_all, of_outside = over_folds(
        problem,
        folds,
        [whole.ask, *questions],
        [search.ask for search in made],
        n_jobs=options.n_jobs,
        progress=options.progress,
    )
    rules = [rule_of(problem, options, whole.choose(of_all[0]))]
    for part, search, answers in zip(parts, made, of_outside, strict=True):
        found = search.choose(answers)
        in_brief = data_in_brief(part, found.cuts.positives)
        rules.append(rule_of(part, options, found, fitted_on=in_brief))
    return rules, of_all[1:]


def _folds_of(problem: Problem, pairs: Sequence[tuple[Ints, Ints]]) -> Ints | None:
    """Return the fold of each row, (n_samples,), -1 for none; None where a fold is fitted on fewer rows than others."""
    folds = np.full(problem.n_samples, -1)
    for k, (_, judged) in enumerate(pairs):
        folds[judged] = k
    for k, (fitted, _) in enumerate(pairs):
        if not np.array_equal(np.flatnonzero(folds != k), fitted):
            return None
    return folds


def _can_go_together(problem: Problem, options: FitOptions, n_folds: int) -> bool:
    """Whether all fits read the same labels alike, and keep little of them."""
    # Weights that are no whole numbers have another unit in each part of the rows.
    if not are_whole(problem) or problem.unit != 1 or not problem.exactly_weighted:
        return False
    guard = options.chosen_guard if options.per_label else None
    if guard is None:
        return True
    n_bins = problem.n_labels * min(problem.n_samples, MOST_BINS)
    takes_little = (1 + n_folds) * n_bins * _BYTES_OF_BIN <= max(_MUCH_MEMORY, problem.n_stored)
    return problem.groups is None and takes_little
