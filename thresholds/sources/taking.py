"""A source in place of arrays, for the functions that take one. Nothing is loaded until a source is met."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import BoundArguments, Signature, signature
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def takes_source(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function take a source of rows in place of `y_true`, if `y_score` is left out: as `thresholds.gather`."""
    own = signature(function)
    place = list(own.parameters).index("y_score")

    @wraps(function)
    def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        y_score = given[place] if len(given) > place else named.get("y_score")
        if y_score is not None:
            return function(*given, **named)
        bound = own.bind(*given, **named)
        if bound.arguments["y_true"] is not None:
            bound = _with_rows(bound, own)
        return function(*bound.args, **bound.kwargs)

    return called


def _with_rows(bound: BoundArguments, own: Signature) -> BoundArguments:
    """Gather the rows of a source, and put them in its place among the arguments."""
    from thresholds._checks import InputError, shown
    from thresholds.sources.gathering import gather
    from thresholds.sources.source import KINDS, NoSource

    given = bound.arguments
    source = given["y_true"]
    names = _names_of_rules(given)

    # 1. What is said of the rows is said of the source; of a rule, labels come in its order.
    about = {name: given[name] for name in ("missing", "unknown", "label_names") if name in given}
    if names is not None:
        _refuse_another_order(source, names)
        about["label_names"] = names
    how = {name: given[name] for name in ("n_jobs", "progress") if name in given}
    try:
        rows = gather(source, **about, **how)
    except NoSource:
        raise InputError(
            f"y_score is None with y_true={shown(source)}, expected scores, or a source in place of y_true: {KINDS}"
        ) from None

    # 2. Weights and groups come from one side only, and the function has to know them.
    given |= {"y_true": rows.y_true, "y_score": rows.y_score, "unknown": rows.unknown}
    for name in ("sample_weight", "groups"):
        of_source = getattr(rows, name)
        if of_source is None:
            continue
        if name not in own.parameters:
            raise InputError(
                f"y_true is a source with {name}, expected one without, as they are not used here"
            )
        if given.get(name) is not None:
            raise InputError(
                f"{name} is {shown(given[name])} beside a source that has some, expected None"
            )
        given[name] = of_source

    # 3. Rules that are given have names and a score of absent entries of their own.
    if not _rules_among(given):
        about = {"missing": rows.missing, "label_names": rows.label_names}
        given |= {name: value for name, value in about.items() if name in own.parameters}
    return own.bind(**given)


def _rules_among(given: Mapping[str, Any]) -> list[Any]:
    """Return the rules among the arguments of a function, not their names."""
    rules = given.get("rules")
    several = list(rules.values()) if isinstance(rules, Mapping) else []
    return [rule for rule in (given.get("rule"), *several) if hasattr(rule, "label_names")]


def _names_of_rules(given: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the label names of the first rule that has any."""
    names = (rule.label_names for rule in _rules_among(given))
    return next((of_rule for of_rule in names if of_rule is not None), None)


def _refuse_another_order(source: Any, names: tuple[str, ...]) -> None:
    """Refuse rows that are gathered already, if their labels are not those of a rule, in its order."""
    from thresholds._checks import InputError, shown
    from thresholds.sources.gathering import GatheredRows

    if isinstance(source, GatheredRows) and source.label_names not in (None, names):
        raise InputError(
            f"y_true has gathered rows of the labels {shown(source.label_names)}, expected {shown(names)} as the rule"
            " has: gather(source, label_names=rule.label_names)"
        )
