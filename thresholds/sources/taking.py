"""A source in place of arrays, for the functions that take one. Nothing is loaded until a source is met."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeAlias, TypeVar

from thresholds.errors import InputError, shown

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Given: TypeAlias = dict[str, Any]  # the arguments of a call, by their names


def takes_source(
    check: Callable[[Mapping[str, Any]], bool],
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Let a function take a source of rows in place of `y_true`, if `y_score` is left out: as `thresholds.gather`.

    `check` is called with all arguments before any row is read. It refuses those that cannot be used, and tells whether
    groups are looked at: those of a source are left out where they are not.
    """

    def taking(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        own = signature(function)
        parameters = list(own.parameters.values())
        place = list(own.parameters).index("y_score")

        @wraps(function)
        def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            y_score = args[place] if len(args) > place else kwargs.get("y_score")
            if not (y_score is None or isinstance(y_score, str) or _is_rule(y_score)):
                return function(*args, **kwargs)
            try:
                bound = own.bind(*args, **kwargs)
            except TypeError:  # Python says what is wrong, and names the function.
                return function(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            _refuse_rule_for_scores(function.__name__, given, parameters[place + 1])
            _refuse_rows_for_rules(function.__name__, given)
            if given["y_true"] is None or y_score is not None:
                return function(*args, **kwargs)
            looks_at_groups = check(given)
            return function(**_with_rows(given, looks_at_groups))  # type: ignore[call-arg]

        return called

    return taking


def _refuse_rule_for_scores(call: str, given: Given, behind: Parameter) -> None:
    """Refuse a rule, or a word beside a source, in the place of scores; say how to give what comes behind them."""
    y_true, y_score = given["y_true"], given["y_score"]
    found = value = shown(y_score)
    if _is_rule(y_score):
        found, value = f"a {type(y_score).__name__}", "rule"
    elif y_score is None or isinstance(y_true, list) or hasattr(y_true, "shape"):
        return
    example = ""
    if behind.kind is not Parameter.KEYWORD_ONLY:
        example = f": {call}(rows, {behind.name}={value})"
    raise InputError(
        f"y_score is {found}, expected scores, or a source of rows that leaves y_score out{example}"
    )


def _refuse_rows_for_rules(call: str, given: Given) -> None:
    """Refuse rows in the place of rules, and rules in the place of rows."""
    if "rules" not in given:
        return
    rules, y_true = given["rules"], given["y_true"]
    if _rules_of(y_true) or not (rules is None or isinstance(rules, Iterable)):
        raise InputError(
            f"rules is {shown(rules)} and y_true is {shown(y_true)}, expected rules before rows: {call}(rules, rows)"
        )


def _with_rows(given: Given, looks_at_groups: bool) -> Given:
    """Gather the rows of a source, and return the arguments with the rows in its place."""
    from thresholds._arrays.sparse import is_sparse
    from thresholds.sources.gathering import GatheredRows, gather
    from thresholds.sources.source import KINDS, NoSource

    source = given["y_true"]
    rule: Any = given.get("rule")
    rules: list[Any] = [rule] if _is_rule(rule) else _rules_of(given.get("rules"))
    names_of_rules = [each.label_names for each in rules if each.label_names is not None]

    # 1. What is said of the rows is said of the source; of a rule, labels come in its order.
    about = {name: given[name] for name in ("missing", "unknown", "label_names") if name in given}
    if names_of_rules:
        _refuse_another_order(source, names_of_rules[0])
        about["label_names"] = names_of_rules[0]
    how = {name: given[name] for name in ("n_jobs", "progress") if name in given}
    try:
        rows = gather(source, **about, **how)
    except NoSource:
        raise InputError(
            f"y_score is None with y_true={shown(source)}, expected scores, or a source in place of y_true: {KINDS}"
        ) from None
    # Of rules by name some look at no truth.
    if rows.y_true is None and not isinstance(rule, str):
        raise InputError(
            "y_true is a source of scores alone, expected one with truth (thresholds.read joins the truth of another"
            " file)"
        )
    of_source = {"y_true": rows.y_true, "y_score": rows.y_score, "unknown": rows.unknown}

    # 2. Weights and groups come from one side only, and the function has to know weights.
    columns = {
        "sample_weight": rows.sample_weight,
        "groups": rows.groups if looks_at_groups else None,
    }
    for name, column in columns.items():
        if column is None:
            continue
        if name not in given:
            raise InputError(
                f"y_true is a source with {name}, expected one without, as they are not used here"
            )
        if given[name] is not None:
            raise InputError(
                f"{name} is {shown(given[name])} beside a source that has some, expected None"
            )
        of_source[name] = column

    # 3. Rules that are given have names and a score of absent entries of their own.
    for each in rules:
        if (
            isinstance(source, GatheredRows)
            and is_sparse(rows.y_score)
            and each.missing != rows.missing
        ):
            raise InputError(
                f"y_true has gathered rows with missing={rows.missing}, expected {each.missing} as the rule has"
            )
    if not rules:
        about = {"missing": rows.missing, "label_names": rows.label_names}
        of_source |= {name: value for name, value in about.items() if name in given}
    return given | of_source


def _is_rule(value: Any) -> bool:
    """Whether a value is a rule."""
    return hasattr(value, "predict") and hasattr(value, "label_names")


def _rules_of(value: Any) -> list[Any]:
    """Return the rules of a mapping of names to rules; none of anything else."""
    return [rule for rule in value.values() if _is_rule(rule)] if isinstance(value, Mapping) else []


def _refuse_another_order(source: Any, names: tuple[str, ...]) -> None:
    """Refuse rows that are gathered already, if their labels are not those of a rule, in its order."""
    from thresholds.sources.gathering import GatheredRows

    if isinstance(source, GatheredRows) and source.label_names not in (None, names):
        raise InputError(
            f"y_true has gathered rows of the labels {shown(source.label_names)}, expected {shown(names)} as the rule"
            " has: gather(source, label_names=rule.label_names)"
        )
