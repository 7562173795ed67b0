"""What changed from the rule that was used before: thresholds, decisions, and what is reached on the same rows."""

from typing import Any

from thresholds._arrays.types import Dense, Ints
from thresholds._engine.problem import Problem
from thresholds._results.result import rows_of
from thresholds.comparison.differences import RuleDifference, diff_rules
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.metrics.judging import decide_all
from thresholds.report import wording
from thresholds.report.content import MOVED, Against, Change
from thresholds.report.figures import NEW, OLD, changes_of
from thresholds.rule import Rule

_MOST_MOVED = 200  # labels that are listed
_SETTINGS = {"n_samples": "rows of the fit"}  # what settings are called, where that is another word


def against_of(
    old: Rule,
    rule: Rule,
    problem: Problem,
    groups: Ints | None,
    alpha: float,
    confidence: float,
    *,
    on_own_rows: bool,
) -> Against:
    """Say what changed from an old rule to a new one, which was fitted on the same rows perhaps."""
    difference = diff_rules(old, rule, problem.scores, alpha=alpha)
    are_same_labels = not (difference.new or difference.lost)
    return Against(
        old=str(old),
        sentences=wording.what_moved(
            difference,
            old_on_own_rows=are_same_labels and was_fitted_on(old, problem),
            new_on_own_rows=on_own_rows,
        ),
        changes=_changes(old, rule, problem, groups, confidence, difference),
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
    groups: Ints | None,
    confidence: float,
    difference: RuleDifference,
) -> tuple[Change, ...]:
    """Hold the measures of two rules against each other, over the labels that both have."""
    shared = difference.table
    if shared.size == 0:
        return ()
    rules = {OLD: old, NEW: rule}
    if difference.new or difference.lost:
        # Both rules decide about the labels that they share.
        rules = {OLD: old.only(shared["old_position"]), NEW: rule.only(shared["new_position"])}
        problem = problem.at_labels(shared["new_position"])
    table = JudgedRules(
        {age: decide_all(each, problem) for age, each in rules.items()},
        problem,
        beta=rule.beta,
        zero_division=rule.zero_division,
        groups=groups,
    )
    return changes_of(table, rule.beta, confidence)


def _moved(difference: RuleDifference) -> Dense:
    """Lay out the labels that moved most."""
    table = difference.table[difference.largest[:_MOST_MOVED]]
    own = {"label": table["new_position"], "reason": table["verdict"]}
    return rows_of({name: own[name] if name in own else table[name] for name in MOVED})


def _word(setting: Any) -> str:
    """Write a setting; one that a kind of rule does not have is "none"."""
    if isinstance(setting, int) and not isinstance(setting, bool):
        return f"{setting:,}"
    return "none" if setting is None else str(setting)
