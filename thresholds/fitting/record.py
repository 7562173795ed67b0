"""What a rule keeps of its fit: the data in brief, what made it, what the scores looked like, and what was reached."""

from dataclasses import replace
from typing import TypeVar

from thresholds._arrays.types import Ints
from thresholds.data.counted import CountedProblem
from thresholds.data.problem import Problem
from thresholds.metrics.judging import Judged, f_measure, judge, positives_of
from thresholds.rule import FittedOn, Rule
from thresholds.rule.fitted_on import SAMPLE_CELLS
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.profile import ScoreProfile

FittedRule = TypeVar("FittedRule", bound=Rule)


def data_in_brief(problem: Problem, positives: Ints) -> FittedOn:
    """Describe the data of a fit; `positives` (n_labels,) are in the unit of the weights."""
    some_scores = None
    if isinstance(problem, CountedProblem):
        some_scores = problem.some_scores(SAMPLE_CELLS)
    return FittedOn.of(
        problem.scores,
        problem.missing,
        positives * problem.unit,
        problem.known,
        some_scores=some_scores,
    )


def profile_of(
    rule: Rule, problem: Problem, predicted: Ints, n_jobs: int | None = 1
) -> ScoreProfile | None:
    """Describe what the scores look like, on how many rows each label is predicted; None where rows are not known."""
    on_all_rows = predicted if problem.unknown is None else None
    if not isinstance(problem, CountedProblem):
        return ScoreProfile.of(
            rule,
            problem.scores,
            weights=problem.sample_weight,
            predicted=on_all_rows,
            n_jobs=n_jobs,
        )
    some = problem.some_rows
    if some is None:
        return None
    return ScoreProfile.of_sample(
        rule,
        some.rows,
        n_rows=problem.n_samples,
        predicted=None if some.weighted else on_all_rows,
    )


def with_record(
    rule: FittedRule,
    problem: Problem,
    made_by: MadeBy | None = None,
    *,
    judged: Judged | None = None,
) -> FittedRule:
    """Return a rule with the F-measure that it reaches on the labels of its fit, and all that it keeps of that.

    `judged` is what it decides about the rows of the fit, where that is counted already.
    """
    if judged is None:
        judged = judge(rule, problem)
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
    record = {
        "fitted_on": data_in_brief(problem, positives_of(problem)),
        "profile": ScoreProfile.of(rule, problem.scores, weights=problem.sample_weight),
    }
    return replace(rule, **record)  # type: ignore[type-var]
