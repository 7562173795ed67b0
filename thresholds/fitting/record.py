"""What a rule keeps of its fit: the data in brief, what made it, what the scores looked like, and what was reached."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from thresholds._arrays.types import Ints
from thresholds._engine.problem import Problem
from thresholds.rule import FittedOn, Rule
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.describing import kept_rows
from thresholds.rule.watching.kept_rows import KeptRows

if TYPE_CHECKING:
    from thresholds.metrics.judging import Judged

FittedRule = TypeVar("FittedRule", bound=Rule)


def data_in_brief(problem: Problem, positives: Ints) -> FittedOn:
    """Describe the data of a fit; `positives` (n_labels,) are in the unit of the weights."""
    return FittedOn.from_scores(
        problem.scores, problem.missing, positives * problem.unit, problem.known
    )


def rows_kept(problem: Problem, predicted: Ints | None = None) -> KeptRows:
    """Copy rows of which a profile is made later; `predicted` (n_labels,) of all rows, where that is counted."""
    # What is counted on all rows is a number of rows where all truth is known.
    on_all_rows = predicted if problem.unknown is None else None
    return kept_rows(problem.scores, problem.sample_weight, on_all_rows)


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
    record: dict[str, Any] = {
        "objective": objective,
        "fitted_on": data_in_brief(problem, positives_of(problem)),
        "made_by": made_by,
        "kept": rows_kept(problem, judged.by_label.predicted),
    }
    return replace(rule, **record)


def with_brief_record(rule: FittedRule, problem: Problem) -> FittedRule:
    """Return a rule with what it keeps of its fit but for what it reaches there: it decides about none of the rows."""
    from thresholds.metrics.judging import positives_of

    record: dict[str, Any] = {
        "fitted_on": data_in_brief(problem, positives_of(problem)),
        "kept": rows_kept(problem),
    }
    return replace(rule, **record)
