"""What a rule keeps of its fit: the data in brief, what made it, what the scores looked like, and what was reached."""

from dataclasses import replace
from typing import TypeVar

from thresholds.data.problem import Problem
from thresholds.metrics.counts import count_by_label
from thresholds.metrics.judging import f_measure, judge
from thresholds.rule import FittedOn, Rule
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.profile import ScoreProfile

FittedRule = TypeVar("FittedRule", bound=Rule)


def with_record(rule: FittedRule, problem: Problem, made_by: MadeBy | None = None) -> FittedRule:
    """Return a rule with the F-measure that it reaches on the labels of its fit, and all that it keeps of that."""
    judged = judge(rule, problem)
    assert rule.average is not None, "fits have one"
    objective = f_measure(
        judged, problem.sample_weight, rule.average, rule.beta, rule.zero_division
    )
    counted = count_by_label(problem.truth, problem.truth, problem.unit_weights)
    record = {
        "objective": objective,
        "fitted_on": FittedOn.of(
            problem.scores, problem.missing, counted.positives * problem.unit, problem.known
        ),
        "made_by": made_by,
        "profile": ScoreProfile.of(
            rule,
            problem.scores,
            weights=problem.sample_weight,
            predicted=judged.by_label.predicted if problem.unknown is None else None,
        ),
    }
    return replace(rule, **record)  # type: ignore[type-var]
