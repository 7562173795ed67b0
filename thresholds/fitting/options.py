"""THE list of fit options: type, default, check, help text and heading of each.

`fit`, `cross_fit`, `Accumulator.compute`, the training loops and the command line read their options from here.
`fit_empirical` writes its own out, for those who read its signature, and so does the estimator of `thresholds.sklearn`,
as scikit-learn requires; a test holds both to the list. One default differs: `fit_empirical` has no guard.
To add an option, add a field to `FitOptions`, its type to `FitArguments`, and an argument to `fit_empirical` and to
`MultilabelThresholdClassifierCV` (or its name to those that these do not take); the rules that take it say so in
`fitting/rules.py`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from thresholds import _checks
from thresholds._arrays.threads import ALL_CORES, check_n_jobs
from thresholds._checks import AVERAGES, PLACEMENTS, Average, InputError, Placement
from thresholds._checks.floors import Floor, floor
from thresholds._checks.options import EXPECTED, FAMILIES
from thresholds.fitting.rules import (
    OF_ALL,
    RULES,
    NamedRule,
    bare_average,
    find_rule,
    name_of,
    rules_for,
    rules_that_take,
)
from thresholds.guards.names import GUARD_NAMES, GUARDS, guard_of

if TYPE_CHECKING:  # Importing guards loads the search; --help needs neither.
    from thresholds.guards.base import BaseGuard, Guard

Check = Callable[[object, str], Any]
Function = TypeVar("Function", bound=Callable[..., Any])


# What an option is about, as help pages and tables of options are laid out.
MAXIMISED = "what to maximise"
LIMITS = "limits"
OUTPUT = "output"


def _about(
    heading: str,
    check: Check,
    text: str,
    choices: tuple[Any, ...] = (),
    value: str = "number",
    **more: Any,
) -> dict[str, Any]:
    """Describe an option: `check` gets value and name.

    On the command line an option with `choices` takes one of them, a bool can only be switched from its default, and
    `value` says how all others are written (`cli/options.py`): "number", "whole", "floor", "probability", "name". A
    bool needs `switch`, the flag that does so and its help text, unless the command line does not offer it.
    """
    described = {"heading": heading, "check": check, "help": text}
    return described | {"choices": choices, "value": value, **more}


def _one_of(*choices: object) -> Check:
    """Return the check for one of a few values."""
    return lambda value, name: _checks.option(value, name, choices)


def _or_none(check: Check) -> Check:
    """Return a check that lets None through, as no limit."""
    return lambda value, name: None if value is None else check(value, name)


def _n_jobs(value: Any, _: str) -> Any:
    """Check a number of threads."""
    check_n_jobs(value)
    return value


def _name_of_rule(value: Any, name: str) -> Any:
    """Check the name of a rule; a bare average stays one until all options are known."""
    return bare_average(value) or find_rule(value, name).name


def _guard(value: Any, name: str) -> Any:
    """Check which guard; a name loads none."""
    if value is not None and not isinstance(value, str):
        from thresholds.guards.base import BaseGuard

        if isinstance(value, BaseGuard):
            return value
    return _checks.option(value, name, (None, *GUARDS, "auto"))


def _confidence(value: Any, name: str) -> float | str:
    """Check a probability, or the word that asks for an expectation."""
    return EXPECTED if isinstance(value, str) and value == EXPECTED else _checks.inside(value, name)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What is maximised and how, checked once; the docstring of `fit_empirical` says more of each."""

    average: Average = field(
        default="macro",
        metadata=_about(
            MAXIMISED,
            _one_of(*AVERAGES),
            "macro or weighted: a mean over labels; samples: over rows; micro: F of all decisions",
            AVERAGES,
        ),
    )
    beta: float = field(
        default=1.0,
        metadata=_about(
            MAXIMISED, lambda value, _: _checks.beta(value), "weight of recall in F-beta"
        ),
    )
    rule: str | None = field(
        default=None,
        metadata=_about(
            MAXIMISED,
            _or_none(_name_of_rule),
            "a rule by its name, in place of average and guard: `thresholds rules` lists all",
            value="name",
        ),
    )
    per_label: bool = field(
        default=True,
        metadata=_about(
            MAXIMISED,
            _one_of(True, False),
            "a threshold for each label",
            switch=("--shared", "one threshold for all labels"),
        ),
    )
    zero_division: float = field(
        default=0.0,
        metadata=_about(
            MAXIMISED,
            lambda value, _: _checks.zero_division(value),
            "F of a label, or row, without positives and predictions",
            (0.0, 1.0),
        ),
    )
    placement: Placement = field(
        default="low",
        metadata=_about(
            MAXIMISED,
            _one_of(*PLACEMENTS),
            "where in the gap between two scores a threshold lies",
            PLACEMENTS,
        ),
    )
    guard: "Guard" = field(
        default="auto",
        metadata=_about(
            MAXIMISED,
            _guard,
            "against over-fitting; auto: the one that held best on other rows, shrink for macro and weighted, pool for"
            " micro; none: the best on the rows of the fit (docs/guards.md)",
            (*GUARD_NAMES, None),
        ),
    )
    max_overprediction: float | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _or_none(_checks.positive),
            "predict a label on at most X times its positives, on the rows of the fit",
        ),
    )
    min_precision: Floor | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _or_none(floor),
            "keep each label's precision at X or above, on the rows of the fit, and with a confidence on new ones;"
            " cat=.9,dog=.8: of these labels",
            value="floor",
        ),
    )
    min_recall: Floor | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _or_none(floor),
            "keep each label's recall at X or above, on the rows of the fit, likewise",
            value="floor",
        ),
    )
    confidence: float | str | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _or_none(_confidence),
            "promise these floors on new rows with this probability, as 0.95; expected: recall, of micro and samples,"
            " on average over fits",
            value="probability",
        ),
    )
    family: str = field(
        default="each",
        metadata=_about(
            LIMITS,
            _one_of(*FAMILIES),
            "whether a promise is one for each label, or for all at once",
            FAMILIES,
        ),
    )
    max_predicted: float | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _or_none(_checks.positive),
            "predict at most X cells in all, on the rows of the fit",
        ),
    )
    max_predicted_per_row: int | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _or_none(lambda value, name: _checks.count(value, name, 1)),
            "predict at most N labels of any row: those that add most to F",
            value="whole",
        ),
    )
    keep_sparse: bool | None = field(
        default=None,
        metadata=_about(
            LIMITS,
            _one_of(True, False, None),
            "cut sparse scores above the score of absent entries only; False: anywhere",
        ),
    )
    n_jobs: int | None = field(
        default=ALL_CORES,
        metadata=_about(
            OUTPUT, _n_jobs, "threads; -1 for all cores that the process may use", value="whole"
        ),
    )
    progress: bool = field(
        default=False,
        metadata=_about(
            OUTPUT, _one_of(True, False), "show a progress bar if the fit takes more than a second"
        ),
    )

    def __post_init__(self) -> None:
        """Check each option that is asked for, then those that must go together."""
        asked = []
        for name, option in FIT_OPTIONS.items():
            value = getattr(self, name)
            if not _checks.is_default(value, option.default):
                asked.append(name)
                object.__setattr__(self, name, option.metadata["check"](value, name))
        if self.rule is not None:
            self._settle_by(self._found_rule(self.rule))
        elif self.average == "samples" and self.per_label:
            raise InputError(
                "average is 'samples' with per_label=True, which is NP-hard and not offered; expected per_label=False"
                " (--shared on the command line), or a rule such as 'instance, platt' (fit --rule)"
            )
        self._refuse_limits_within_budget()
        _ = self.chosen_guard  # refuses a guard that does not fit the average
        for name in sorted({*asked} - {*SAID_BY_NAME, *OF_ALL}):
            if name not in self.named.options and getattr(self, name) != DEFAULTS[name]:
                self._refuse_unused(name)
        self._refuse_promise_of_nothing()
        has_floors = self.min_precision is not None or self.min_recall is not None
        if has_floors and self.named.is_promised_of_rows:
            self._check_floors_of_rows()
        elif self.confidence == EXPECTED:
            raise InputError(
                f"confidence is 'expected' with average {self.average!r}, whose floors are those of each label;"
                " expected a probability, as 0.95, or average 'micro' or 'samples'"
            )

    def _found_rule(self, rule: str) -> NamedRule:
        """Return the rule that is asked for; a bare average is that with the guard that these options ask for."""
        average = bare_average(rule)
        if average is None:
            return find_rule(rule)
        name = name_of(average, True, self._asked_guard(average, per_label=True))
        return RULES.get(name, find_rule(rule))

    def _asked_guard(self, average: str, per_label: bool) -> str | None:
        """Return the name of the guard that is asked for, that of "auto" by what is maximised."""
        if self.guard == "auto":
            return guard_of(
                average,
                per_label=per_label,
                max_predicted=self.max_predicted,
                confidence=self.confidence,
            )
        return self.guard if self.guard is None or isinstance(self.guard, str) else self.guard.name

    def _settle_by(self, named: NamedRule) -> None:
        """Take what the name of a rule settles, and refuse what contradicts it."""
        average = named.average or self.average
        if self.average != DEFAULTS["average"]:
            refuse_another_average(named, self.average)
        if not self.per_label and named.per_label:
            others = [name for name in RULES if "shared" in name]
            raise InputError(
                f"per_label is False with rule {named.name!r}; expected a rule with one threshold for all labels:"
                f" {_checks.listed(others)}"
            )
        asked = named.guard if self.guard == "auto" else self._asked_guard(average, named.per_label)
        if asked is None and named.guard is not None:
            bare = name_of(average, named.per_label, None)
            raise InputError(
                f"guard is None with rule {named.name!r}; expected a rule without a guard, as {bare!r}"
            )
        if asked != named.guard:
            others = [name for name, rule in RULES.items() if rule.guard == asked]
            raise InputError(
                f"guard is {asked!r} with rule {named.name!r}; expected a rule with that guard:"
                f" {_checks.listed(others)}"
            )
        object.__setattr__(self, "rule", named.name)
        object.__setattr__(self, "average", average)
        object.__setattr__(self, "per_label", named.per_label)
        if self.guard == "auto":
            object.__setattr__(self, "guard", named.guard)

    def _refuse_promise_of_nothing(self) -> None:
        """Refuse a confidence without a floor, and a family without a confidence."""
        if self.confidence is not None and self.min_precision is None and self.min_recall is None:
            raise InputError(
                f"confidence is {self.confidence} without a floor; expected min_precision, min_recall or both"
            )
        if self.confidence is None and self.family != DEFAULTS["family"]:
            raise InputError(
                f"family is {self.family!r} without confidence; expected a confidence, as 0.95"
            )

    def _refuse_limits_within_budget(self) -> None:
        """Refuse limits of each label beside a budget of all, and floors beside a cap on the labels of a row."""
        if self.max_predicted is None and self.max_predicted_per_row is None:
            return
        for name in ("min_precision", "min_recall"):
            if self.max_predicted_per_row is not None and getattr(self, name) is not None:
                raise InputError(
                    f"max_predicted_per_row is {self.max_predicted_per_row} with {name}, expected one or the other: a"
                    " label's floor holds for all that its threshold predicts, and a cap leaves some of that out"
                )
        if self.max_predicted is None or not self.has_limits:
            return
        limits = ", ".join(self._limits())
        raise InputError(
            f"max_predicted is {self.max_predicted:g} with {limits}, expected one or the other: a budget is shared"
            " out among labels that have no limits of their own"
        )

    def of_part(self, share: float) -> "FitOptions":
        """Return the options of a fit to a share of the rows, by weight, whose budget is that share."""
        if self.max_predicted is None:
            return self
        return replace(self, max_predicted=share * self.max_predicted)

    def _check_floors_of_rows(self) -> None:
        """Refuse floors of all labels together that cannot be promised."""
        for name in ("min_precision", "min_recall"):
            value = getattr(self, name)
            if value is None:
                continue
            if self.confidence is None:
                raise InputError(
                    f"{name} is {_checks.shown(value)} with average {self.average!r}, per_label={self.per_label} and no"
                    " confidence; expected a confidence too, as 0.95: a floor of all labels together is kept on new"
                    " rows, or not at all"
                )
            if not isinstance(value, float):
                raise InputError(
                    f"{name} is {_checks.shown(value)} with average {self.average!r}, expected a number: all labels"
                    " have one floor together"
                )
        if self.confidence == EXPECTED and self.min_precision is not None:
            raise InputError(
                "min_precision is given with confidence 'expected', and only recall can be promised so; expected a"
                " probability, as 0.95"
            )

    @property
    def promises_rows(self) -> bool:
        """Whether a floor of all labels together is promised."""
        return self.confidence is not None and self.named.is_promised_of_rows

    def _refuse_unused(self, name: str) -> None:
        """Refuse an option that the rule does not take, and say which rules do."""
        value = _checks.shown(getattr(self, name))
        beside = f"average {self.average!r}, per_label={self.per_label}"
        if self.rule is not None:
            beside = f"rule {self.rule!r}"
        raise InputError(
            f"{name} is {value} with {beside}, which has no use for it; expected"
            f" {_checks.shown(FIT_OPTIONS[name].default)}, or a rule that takes it:"
            f" {_checks.listed(rules_that_take(name))}"
        )

    @property
    def arguments(self) -> Any:
        """All options by name, as functions take them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def named(self) -> NamedRule:
        """The rule that is fitted, of the list of all rules."""
        if self.rule is not None:
            return RULES[self.rule]
        guard = None if self.chosen_guard is None else self.chosen_guard.name
        name = name_of(self.average, self.per_label, guard)
        if name in RULES:
            return RULES[name]
        # A guard of the caller's own.
        unguarded = RULES[name_of(self.average, self.per_label, None)]
        return replace(unguarded, name=name, guard=guard)

    @cached_property
    def chosen_guard(self) -> "BaseGuard | None":
        """The guard with its options; "auto" is the one that suits what is maximised."""
        name = self._asked_guard(self.average, self.per_label)
        if name is None:
            return None
        from thresholds.guards.base import suitable_guard

        asked = name if self.guard is None or isinstance(self.guard, str) else self.guard
        return suitable_guard(asked, self.average, self.per_label)

    @property
    def looks_at_groups(self) -> bool:
        """Whether the fit asks which rows are of one group: a guard does, and so do promises."""
        return self.confidence is not None or self.chosen_guard is not None

    @cached_property
    def guarded_by(self) -> str | None:
        """Name what keeps a fit from its in-sample optimum: a guard, and limits; None is nothing."""
        guard = [] if self.chosen_guard is None else [str(self.chosen_guard)]
        return ", ".join([*guard, *self._limits()]) or None

    def _limits(self) -> list[str]:
        """Name the limits of labels that are set, and the confidence with which floors hold."""
        names = []
        for name in ("max_overprediction", "min_precision", "min_recall", "confidence"):
            value = getattr(self, name)
            if value is not None:
                names.append(
                    f"{name}={value}" if isinstance(value, float | str) else f"{name}={BY_LABEL}"
                )
        if self.family != DEFAULTS["family"]:
            names.append(f"family={self.family}")
        return names

    @property
    def has_limits(self) -> bool:
        """Whether a label's cut is limited."""
        limits = (self.max_overprediction, self.min_precision, self.min_recall)
        return any(limit is not None for limit in limits)


class OfThresholds(TypedDict, total=False):
    """The same options as keyword arguments, for type checkers, but for the one that makes another kind of rule.

    `average` and `rule` stand by themselves: either may be positional.
    """

    beta: float
    per_label: bool
    zero_division: float
    placement: Placement
    guard: "Guard"
    max_overprediction: float | None
    min_precision: Floor | None
    min_recall: Floor | None
    confidence: float | str | None
    family: str
    max_predicted: float | None
    keep_sparse: bool | None
    n_jobs: int | None
    progress: bool


class FitArguments(OfThresholds, total=False):
    """All of these options as keyword arguments, for type checkers."""

    max_predicted_per_row: int | None


def refuse_another_average(named: NamedRule, average: Average) -> None:
    """Refuse a rule that is fitted for another average than is asked for."""
    if named.average not in (None, average):
        raise InputError(
            f"average is {average!r} with rule {named.name!r}, which is for {named.average!r}; expected a rule for"
            f" {average!r}: {_checks.listed(rules_for(average))}"
        )


BY_LABEL = "by label"  # how floors that labels have each for themselves are written

# Options that the name of a rule says.
SAID_BY_NAME = ("average", "rule", "per_label", "guard")

FIT_OPTIONS: Mapping[str, Field[Any]] = {option.name: option for option in fields(FitOptions)}
DEFAULTS: Mapping[str, Any] = {name: option.default for name, option in FIT_OPTIONS.items()}


def check_options(arguments: Mapping[str, Any]) -> bool:
    """Check the options among the arguments of a fit; return whether it looks at groups."""
    options = {name: arguments[name] for name in FIT_OPTIONS if name in arguments}
    return FitOptions(**options).looks_at_groups


def with_fit_options(defaults: Mapping[str, Any]) -> Callable[[Function], Function]:
    """Show the options of a function's `**options` in its signature, as `help` prints it, with these defaults."""

    def show(function: Function) -> Function:
        signature = inspect.signature(function)
        before = [
            item for item in signature.parameters.values() if item.kind is not item.VAR_KEYWORD
        ]
        written = {item.name for item in before}
        options = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=option.type
            )
            for name, option in FIT_OPTIONS.items()
            if name not in written and name in defaults
        ]
        function.__signature__ = signature.replace(parameters=[*before, *options])  # type: ignore[attr-defined]
        return function

    return show
