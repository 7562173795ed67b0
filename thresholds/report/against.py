"""What changed from the rule that was used before: thresholds, decisions, and what is reached on the same rows."""

from dataclasses import replace
from typing import Any

from thresholds import _checks
from thresholds._arrays.types import Dense
from thresholds._engine.problem import Problem
from thresholds._results.result import rows_of
from thresholds.comparison.differences import RuleDifference, diff_rules
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.report import wording
from thresholds.report.content import MOVED, Against, Change
from thresholds.report.figures import Asked, Reached, change_of, measures_of, reached_by
from thresholds.rule import Rule

_MOST_MOVED = 200  # labels that are listed
_SETTINGS = {"n_samples": "rows of the fit"}  # what settings are called, where that is another word


def against_of(
    old: Rule,
    rule: Rule,
    problem: Problem,
    reached: Reached,
    asked: Asked,
    *,
    on_own_rows: bool = False,
) -> Against:
    """Say what changed from an old rule; `reached` has the measures of the new one, fitted on the same rows perhaps."""
    difference = diff_rules(old, rule, problem.scores, alpha=asked.alpha)
    are_same_labels = not (difference.new or difference.lost)
    return Against(
        old=str(old),
        sentences=wording.what_moved(
            difference,
            old_on_own_rows=are_same_labels and was_fitted_on(old, problem),
            new_on_own_rows=on_own_rows,
        ),
        changes=_changes(old, rule, problem, reached, asked, difference),
        settings=tuple(
            (_SETTINGS.get(name, name), _word(before), _word(after))
            for name, (before, after) in difference.settings.items()
        ),
        moved=_moved(difference),
        n_moved=difference.largest.size,
        part=difference.part,
        new=difference.new,
        lost=difference.lost,
        reasons=wording.REASONS,
    )


def _changes(
    old: Rule,
    rule: Rule,
    problem: Problem,
    reached: Reached,
    asked: Asked,
    difference: RuleDifference,
) -> tuple[Change, ...]:
    """Hold the measures of two rules against each other, over the labels that both have."""
    table = difference.table
    if table.size == 0:
        return ()
    if difference.new or difference.lost:
        # Both rules decide about the labels that they share.
        at_new = table["new_position"]
        old = old.only(table["old_position"])
        rule = rule.only(at_new)
        problem = replace(
            problem,
            truth=_checks.in_order(problem.truth, at_new),
            scores=_checks.in_order(problem.scores, at_new),
            label_names=None,
        )
        _, reached = reached_by(rule, problem, asked)
    judged, by_old = reached_by(old, problem, asked)
    measures = measures_of(judged)
    return tuple(change_of(measure, by_old, reached, asked) for measure in measures)


def _moved(difference: RuleDifference) -> Dense:
    """Lay out the labels that moved most."""
    at = difference.largest[:_MOST_MOVED]
    table = difference.table[at]
    own: dict[str, Any] = {"label": table["new_position"], "reason": table["verdict"]}
    return rows_of({name: own[name] if name in own else table[name] for name in MOVED})


def _word(setting: Any) -> str:
    """Write a setting; one that a kind of rule does not have is "none"."""
    if isinstance(setting, int) and not isinstance(setting, bool):
        return f"{setting:,}"
    return "none" if setting is None else str(setting)
