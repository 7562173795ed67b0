"""Rules of the list of all rules, fitted on the same rows."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from thresholds import _checks
from thresholds._engine.problem import Problem
from thresholds.fitting.by_name import Shared, fit_named, why_not
from thresholds.fitting.options import FitOptions
from thresholds.fitting.rules import RULES, USUAL_RULES, NamedRule, find_rules
from thresholds.rule import Rule


class FittedRules(NamedTuple):
    """Rules by name, and why others that were asked for cannot be had of these scores."""

    rules: dict[str, Rule]
    left_out: dict[str, str]


def chosen_rules(asked: object) -> list[NamedRule]:
    """Return the rules that are asked for: the usual ones for None, all of them for "all", else those named."""
    if asked is None:
        return [RULES[name] for name in USUAL_RULES]
    if isinstance(asked, str) and asked == "all":  # of an array, == asks each cell
        return list(RULES.values())
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise _checks.InputError(
            f"rules is {_checks.shown(asked)}, expected a mapping of names to rules, names of rules, 'all' or None"
        )
    return find_rules(asked, "rules")


def fit_rules(problem: Problem, asked: object = None, **options: Any) -> FittedRules:
    """Fit rules on the same rows; of `options`, those of fits, each takes what it knows.

    They are to be judged on other rows: what a rule reaches on those of its fit is left out where that takes long.
    """
    chosen = chosen_rules(asked)
    reasons = {named.name: why_not(named, problem) for named in chosen}
    wanted = [named for named in chosen if reasons[named.name] is None]

    # Those of one calibrator follow each other, as they share its probabilities.
    shared = Shared(with_objectives=False)
    fitted = {}
    for named in sorted(wanted, key=lambda rule: rule.calibration or ""):
        own = {name: value for name, value in options.items() if name in named.options}
        fitted[named.name] = fit_named(problem, FitOptions(rule=named.name, **own), shared)
    return FittedRules(
        {named.name: fitted[named.name] for named in wanted},
        {name: reason for name, reason in reasons.items() if reason is not None},
    )
