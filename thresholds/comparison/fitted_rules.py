"""Rules of the list of all rules, fitted on the same rows."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from thresholds import _checks
from thresholds._arrays import threads
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
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}

    wanted = [named for named in chosen if named.name not in left_out]

    shared = Shared(with_objectives=False)
    fitted: dict[str, Rule] = {}

    def options_of(named: NamedRule) -> FitOptions:
        own = {name: value for name, value in options.items() if name in named.options}
        return FitOptions(rule=named.name, **own)

    def fit(group: Sequence[NamedRule]) -> None:
        for named in group:
            fitted[named.name] = fit_named(problem, options_of(named), shared)

    # First calibrators, which take long.
    calibrated = {named.calibration: named for named in wanted if named.calibration}
    _do_side_by_side(
        [
            partial(shared.calibrator, problem, calibration, options_of(calibrated[calibration]))
            for calibration in sorted(calibrated)
        ],
        problem,
    )

    # Then all others: last, one by one, rules of calibrators, as the probabilities that they share need the memory.
    _do_side_by_side([partial(fit, [named]) for named in wanted if not named.calibration], problem)
    for calibration in calibrated:
        fit([named for named in wanted if named.calibration == calibration])
    return FittedRules({name: fitted[name] for name in reasons if name in fitted}, left_out)


def _do_side_by_side(tasks: Sequence[Callable[[], object]], problem: Problem) -> None:
    """Do two tasks at a time, of those that take long: where one works on a single thread, the other has the rest."""
    threads.run(lambda task: task(), tasks, at_most=2, cells=problem.n_stored)
