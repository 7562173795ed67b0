"""Fits to several parts of the rows, over tiles of labels that are read once for all of them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thresholds._arrays.threads import workers
from thresholds._engine.cuts import Cuts
from thresholds._engine.cuts import joined as joined_cuts
from thresholds.data.panels import Question, asking
from thresholds.data.problem import Problem
from thresholds.data.tiles import Pass, Passes, side_by_side
from thresholds.fitting.empirical import Found, limits_of, of_guard, rule_of
from thresholds.fitting.options import FitOptions
from thresholds.guards.base import GuardInPasses
from thresholds.rule import ThresholdRule
from thresholds.search import staircase
from thresholds.search.joint_micro import Hull, best_joint_cuts
from thresholds.search.staircase import Staircase

# What fits keep of a label between passes, and how much of the scores that may be.
_KEPT_BYTES_OF_LABEL = 2**15
_PART_OF_MEMORY = 0.125
_LEAST_LABELS_PER_THREAD = 40
_LITTLE_MEMORY = 2**26


def go_side_by_side(problem: Problem, options: FitOptions) -> bool:
    """Whether fits to several parts of the rows may pass over tiles of labels together, in little memory."""
    is_guard_in_passes = isinstance(options.chosen_guard, GuardInPasses)
    passes_over_tiles = (
        options.per_label
        and options.max_predicted is None
        and options.confidence is None
        and (problem.groups is None or options.chosen_guard is None)
        and (is_guard_in_passes or options.guarded_by is None)
    )
    kept = problem.n_labels * _KEPT_BYTES_OF_LABEL
    scores = problem.n_samples * problem.n_labels * problem.dtype.itemsize
    # Each thread works on some copies of a tile, which is at least one label.
    are_tiles_small = problem.n_labels >= _LEAST_LABELS_PER_THREAD * workers(options.n_jobs)
    fits_into_memory = are_tiles_small and kept <= _PART_OF_MEMORY * scores
    return passes_over_tiles and (fits_into_memory or max(scores, kept) <= _LITTLE_MEMORY)


def fit_side_by_side(
    problems: Sequence[Problem], options: FitOptions, questions: Sequence[Question]
) -> tuple[list[ThresholdRule], list[list[Any]]]:
    """Fit to several parts of the rows, in tiles that hold them all; ask the labels of the first part beside that.

    The rules of the other parts keep no profile of the scores.
    """
    fits: list[Passes[Any]] = [_in_passes(problem, options) for problem in problems]
    found: list[Any] = side_by_side(
        problems[0],
        [*fits, asking(problems[0], questions)],
        n_jobs=options.n_jobs,
        progress=options.progress,
    )
    answers = found.pop()
    rules = [
        rule_of(problem, options, of_part, keeps_profile=problem is problems[0])
        for problem, of_part in zip(problems, found, strict=True)
    ]
    return rules, answers


def _in_passes(problem: Problem, options: FitOptions) -> Passes[Found]:
    """Choose the cut of every label, passing over tiles of labels."""
    guard = options.chosen_guard
    if guard is None:
        choice = _Choice.of(options)
        chosen = yield Pass(
            lambda first, last: choice.of_some(staircase.of_labels(problem, first, last))
        )
        return Found(choice.of_all(chosen))
    assert isinstance(guard, GuardInPasses), "asked of `go_side_by_side`"
    guarded = yield from guard.passes(
        problem,
        limits_of(problem, options, None),
        options.average,
        options.beta,
        options.placement,
        options.n_jobs,
    )
    return of_guard(problem, options, guarded)


class _Choice(NamedTuple):
    """How the steps of all labels are chosen that maximise F-beta."""

    of_some: Callable[[Staircase], Any]  # what is needed of some labels
    of_all: Callable[[list[Any]], Cuts]  # the cuts, of all of that
    jointly: bool

    @classmethod
    def of(cls, options: FitOptions) -> "_Choice":
        """Choose the best step of every label; for micro, those that are best for all labels together."""
        beta = options.beta
        if options.average == "micro":
            return cls(Hull.of, lambda hulls: best_joint_cuts(hulls, beta), jointly=True)
        return cls(lambda stairs: stairs.cuts_at(stairs.best(beta)), joined_cuts, jointly=False)
