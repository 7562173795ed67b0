"""What made a rule: the function, its options and, on the command line, what was read and when."""

import datetime
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError, shown
from thresholds.results import Shown, Table
from thresholds.rule.saving import refuse_unknown

_WITHOUT_EFFECT = {"n_jobs", "progress"}  # on what is fitted
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class MadeBy(Shown):
    """What made a rule. Which version of the library it was is in `fitted_on`, as are number and kind of the scores.

    There is no checksum of the file. Scores may be a folder of shards, and truth another file; to read all of it once
    more would cost as much as reading it, and `fitted_on` tells other scores apart.
    """

    function: str  # of this library
    options: Mapping[str, str | float | bool] = field(default_factory=dict)  # not its defaults
    file: str | None = None  # on the command line: the name of the file of scores
    scores: str | None = None  # their column or array
    truth: str | None = None  # the name of the file of the truth, if that is another
    rows: str | None = None  # which of the file
    logits: bool = False  # whether the scores became probabilities first
    date: str | None = None  # the day, in UTC

    def __post_init__(self) -> None:
        """Check what may come from a file."""
        _checks.text(self.function, "function")
        for name in ("file", "scores", "truth", "rows", "date"):
            if getattr(self, name) is not None:
                _checks.text(getattr(self, name), name)
        if self.logits is not False:
            _checks.option(self.logits, "logits", (True, False))
        if self.date is not None and not _is_day(self.date):
            raise InputError(f"date is {shown(self.date)}, expected a day such as '2026-03-31'")
        if not isinstance(self.options, Mapping):
            raise InputError(f"options is {shown(self.options)}, expected options by name")
        for name, value in self.options.items():
            _checks.text(name, "the name of an option")
            if isinstance(value, str):
                _checks.text(value, f"the option {shown(name)}")
            elif not isinstance(value, bool):
                _checks.finite(value, f"the option {shown(name)}")

    @classmethod
    def of(cls, function: Callable[..., Any], options: Mapping[str, Any]) -> "MadeBy":
        """Keep the options of a function that differ from those that it has by itself, and matter to the rule."""
        usual = _defaults(function)
        given = {
            name: value if isinstance(value, bool | int | float) else str(value)
            for name, value in options.items()
            if name in usual and name not in _WITHOUT_EFFECT and value != usual[name]
        }
        return cls(function.__name__, given)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, in the form of `rule.schema.json`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "MadeBy":
        """Build it from what `to_dict` gave."""
        names = [item.name for item in fields(cls)]
        refuse_unknown(values, names)
        return cls(**{name: values[name] for name in names})

    def source(self) -> str:
        """Say which rows of which file the rule comes from, and when; "" for a rule that was fitted in Python."""
        if self.file is None:
            return ""
        parts = [self.file, self.rows, "logits turned into probabilities" if self.logits else None]
        which = ", ".join(filter(None, parts))
        return f"from {which}" + ("" if self.date is None else f", on {self.date}")

    def _records(self) -> list[dict[str, Any]]:
        """Return the fields in one row, the options each in a column."""
        values = asdict(self)
        return [values | values.pop("options")]

    def _tables(self, _: int) -> Iterator[str | Table]:
        """Show the call with its options, and where the data come from."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
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
