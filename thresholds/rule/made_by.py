"""What made a rule: the function, its options and, on the command line, what was read and when."""

import datetime
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from thresholds import _checks
from thresholds._checks import InputError, shown
from thresholds._results.fields import record, value
from thresholds._results.result import SavedResult

_WITHOUT_EFFECT = {"n_jobs", "progress"}  # on what is fitted
# Names, in earlier versions, of rules without a guard.
_WITHOUT_GUARD = ("macro", "weighted", "micro")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _day(given: Any, name: str) -> str:
    """Check a day."""
    text = _checks.text(given, name)
    if not _is_day(text):
        raise InputError(f"{name} is {shown(text)}, expected a day such as '2026-03-31'")
    return text


def _options(given: Any, name: str) -> dict[str, Any]:
    """Check options by name: texts, numbers and truth values; a rule that an earlier version made has its present name.

    A bare average is saved by no fit any more: as a rule it was the in-sample optimum, and asks for a guard now.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is {shown(given)}, expected options by name")
    for key, option in given.items():
        _checks.text(key, "the name of an option")
        if isinstance(option, str):
            _checks.text(option, f"the option {shown(key)}")
        elif not isinstance(option, bool):
            _checks.finite(option, f"the option {shown(key)}")
    rule = given.get("rule")
    return dict(given) | ({"rule": f"{rule}, in-sample"} if rule in _WITHOUT_GUARD else {})


@record
class MadeBy(SavedResult):
    """What made a rule. Which version of the library it was is in `fitted_on`, as are number and kind of the scores.

    There is no checksum of the file. Scores may be a folder of shards, and truth another file; to read all of it once
    more would cost as much as reading it, and `fitted_on` tells other scores apart.

    Attributes
    ----------
    function : of this library
    options : by name, those that are not its defaults
    file : on the command line, the name of the file of scores
    scores : their column or array
    truth : the name of the file of the truth, if that is another
    rows : which of the file
    logits : whether the scores became probabilities first
    date : the day, in UTC
    """

    function: str = value(_checks.text)
    options: Mapping[str, str | float | bool] = value(_options, factory=dict)
    file: str | None = value(_checks.text, default=None)
    scores: str | None = value(_checks.text, default=None)
    truth: str | None = value(_checks.text, default=None)
    rows: str | None = value(_checks.text, default=None)
    logits: bool = value(_checks.flag, default=False)
    date: str | None = value(_day, default=None)

    @classmethod
    def from_call(cls, function: Callable[..., Any], options: Mapping[str, Any]) -> Self:
        """Keep the options of a function that differ from those that it has by itself, and matter to the rule."""
        usual = _defaults(function)
        given = {
            name: value if isinstance(value, bool | int | float) else str(value)
            for name, value in options.items()
            if name in usual and name not in _WITHOUT_EFFECT and value != usual[name]
        }
        return cls(function.__name__, given)

    def source(self) -> str:
        """Say which rows of which file the rule comes from, and when; "" for a rule that was fitted in Python."""
        if self.file is None:
            return ""
        parts = [self.file, self.rows, "logits turned into probabilities" if self.logits else None]
        which = ", ".join(filter(None, parts))
        return f"from {which}" + ("" if self.date is None else f", on {self.date}")

    def _rows(self) -> list[dict[str, Any]]:
        """Return the fields in one row, the options each in a column."""
        found = self.to_dict()
        return [found | found.pop("options")]

    def _sentences(self) -> Iterable[str]:
        """Give the call with its options, and where the data come from."""
        options = ", ".join(f"{name}={option!r}" for name, option in self.options.items())
        yield "\n".join(filter(None, (f"{self.function}({options})", self.source())))


@functools.cache
def _defaults(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the default of each parameter of a function, read once: that takes a twentieth of a small fit."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, as 2026-03-31."""
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return _DAY.fullmatch(text) is not None
