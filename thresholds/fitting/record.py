"""What a rule keeps of its fit: the data in brief, what made it, what the scores looked like, and what was reached."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._engine.problem import Problem
from thresholds.results import Later
from thresholds.rule import FittedOn, Rule
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.profile import (
    ScoreProfile,
    are_equal,
    sampled_rows,
    taken_rows,
)

if TYPE_CHECKING:
    from thresholds.metrics.judging import Judged

FittedRule = TypeVar("FittedRule", bound=Rule)


def described(
    problem: Problem, positives: Ints, predicted: Ints, n_jobs: int | None = 1
) -> dict[str, Any]:
    """Return what the rule of a fit keeps of its data, `fitted_on` and `profile`, each made when it is read.

    Until then copies of some scores are kept. `positives` (n_labels,) are in the unit of the weights, `predicted`
    (n_labels,) rows.
    """
    rows = sample_of(problem)
    copied = rows if problem.sample_weight is None and isinstance(rows, np.ndarray) else None
    if copied is not None and copied.shape != problem.scores.shape:
        copied = None
    return {
        "fitted_on": data_in_brief(problem, positives, copied),
        "profile": _profile_later(rows, problem, predicted, n_jobs),
    }


def data_in_brief(problem: Problem, positives: Ints, copied: Dense | None = None) -> FittedOn:
    """Describe the data of a fit; `positives` (n_labels,) are in the unit of the weights.

    `copied` is a copy of all dense scores, where there is one.
    """
    return FittedOn.of(
        problem.scores,
        problem.missing,
        positives * problem.unit,
        problem.known,
        some_scores=copied,
    )


def sample_of(problem: Problem) -> Matrix:
    """Copy the rows that tell what the scores of a fit look like."""
    places = sampled_rows(problem.scores.shape, problem.sample_weight)
    return taken_rows(problem.scores, places)


def profile_of(
    rule: Rule, problem: Problem, predicted: Ints, n_jobs: int | None = 1
) -> ScoreProfile:
    """Describe what the scores look like, and on how many rows each label is predicted."""
    profile: ScoreProfile = _profile_later(sample_of(problem), problem, predicted, n_jobs).make(
        rule
    )
    return profile


def _profile_later(rows: Matrix, problem: Problem, predicted: Ints, n_jobs: int | None) -> Later:
    """Return how to make the profile of a rule, of rows that were copied."""
    # What is counted on all rows is a number of rows where each weighs 1, and all truth is known.
    weighted = not are_equal(problem.sample_weight)
    on_all_rows = None if weighted or problem.unknown is not None else predicted
    n_rows = problem.n_samples  # `make` holds on to no other rows

    def make(rule: Rule) -> ScoreProfile:
        if rule.fitted_on is not None:
            _ = rule.fitted_on.quantiles  # made of the same copy, which is let go
        return ScoreProfile.of_sample(
            rule, rows, n_rows=n_rows, predicted=on_all_rows, n_jobs=n_jobs
        )

    return Later(make)


def with_record(
    rule: FittedRule,
    problem: Problem,
    made_by: MadeBy | None = None,
    *,
    judged: "Judged | None" = None,
) -> FittedRule:
    """Return a rule with the F-measure that it reaches on the labels of its fit, and all that it keeps of that.

    `judged` is what it decides about the rows of the fit, where that is counted already.
    """
    from thresholds.metrics.judging import f_measure, judge, positives_of

    if judged is None:
        judged = judge(rule, problem, by_row=rule.average == "samples")
    assert rule.average is not None, "fits have one"
    objective = f_measure(
        judged, problem.sample_weight, rule.average, rule.beta, rule.zero_division
    )
    record = {
        "objective": objective,
        "fitted_on": data_in_brief(problem, positives_of(problem)),
        "made_by": made_by,
        "profile": profile_of(rule, problem, judged.by_label.predicted),
    }
    return replace(rule, **record)  # type: ignore[type-var]


def with_brief_record(rule: FittedRule, problem: Problem) -> FittedRule:
    """Return a rule with what it keeps of its fit but for what it reaches there, with decisions about few rows."""
    from thresholds.metrics.judging import positives_of

    record = {
        "fitted_on": data_in_brief(problem, positives_of(problem)),
        "profile": ScoreProfile.of(rule, problem.scores, weights=problem.sample_weight),
    }
    return replace(rule, **record)  # type: ignore[type-var]
