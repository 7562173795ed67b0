"""The options of a fit on the command line, made from the list of them in `fitting.options`.

An option that is not given is left out, so that the library's default holds; help shows it.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from thresholds._checks import InputError
from thresholds._checks.options import EXPECTED
from thresholds.fitting.options import (
    DEFAULTS_FOR_NEW_ROWS,
    FIT_OPTIONS,
    refuse_another_average,
    refuse_without_guard,
)
from thresholds.fitting.rules import NamedRule, find_rule

# Files of sparse scores are decided sparsely; a bar is for a terminal.
_NOT_OFFERED = {"keep_sparse", "progress"}
OFFERED = tuple(name for name in FIT_OPTIONS if name not in _NOT_OFFERED)
_NONE = "none"

# Where options are kept whose names mean something else in other commands: there, --rule is a
# saved one, and --confidence that of an interval.
_KEPT_AS = {"rule": "rule_name", "confidence": "confidence_of_floors"}


def flag(name: str) -> str:
    """Return how an option is written."""
    return "--shared" if name == "per_label" else f"--{name.replace('_', '-')}"


def add(command: argparse.ArgumentParser, names: Iterable[str] = OFFERED) -> None:
    """Describe options of a fit."""
    for name in names:
        about = FIT_OPTIONS[name].metadata
        default = DEFAULTS_FOR_NEW_ROWS[name]
        settings: dict[str, Any] = {"dest": _kept_as(name), "default": argparse.SUPPRESS}
        if isinstance(default, bool):
            command.add_argument(
                flag(name),
                action="store_const",
                const=not default,
                help=about["unless"],
                **settings,
            )
            continue
        settings["help"] = about["help"]
        if default is not None:
            settings["help"] += f" (default: {as_word(default)})"
        if about["choices"]:
            choices = [as_word(choice) for choice in about["choices"]]
            command.add_argument(flag(name), choices=choices, **settings)
        elif about.get("by_label"):
            command.add_argument(flag(name), type=_floor, metavar="X", **settings)
        elif name == "rule":
            command.add_argument(flag(name), metavar="NAME", **settings)
        elif about.get("whole"):
            command.add_argument(flag(name), type=int, metavar="N", **settings)
        elif name == "confidence":
            command.add_argument(flag(name), type=_confidence, metavar="X", **settings)
        else:
            command.add_argument(flag(name), type=float, metavar="X", **settings)


def read(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a fit that were given, and those that the command line sets itself."""
    given = {name: getattr(options, _kept_as(name)) for name in OFFERED if is_given(options, name)}
    if given.get("guard") == _NONE:
        given["guard"] = None
    if "zero_division" in given:
        given["zero_division"] = float(given["zero_division"])

    named = None if given.get("rule") is None else find_rule(given["rule"])
    if named is not None:
        _refuse_contradictions(named, given)
    return given | {"progress": sys.stderr.isatty()}


def _refuse_contradictions(named: NamedRule, given: Mapping[str, Any]) -> None:
    """Refuse options that were written and contradict a rule's name, also where the library has them as defaults."""
    if "average" in given:
        refuse_another_average(named, given["average"])
    if given.get("guard", named.guard) is None:
        refuse_without_guard(named)


def read_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return all options of a fit of thresholds; a rule of the command line is meant for new rows."""
    values = {**DEFAULTS_FOR_NEW_ROWS, **read(options)}
    del values["rule"]
    return values


def is_given(options: argparse.Namespace, name: str) -> bool:
    """Whether an option of a fit was written."""
    return hasattr(options, _kept_as(name))


def refuse_unused(
    options: argparse.Namespace, used: Iterable[str], usual: Mapping[str, object], beside: str
) -> None:
    """Refuse options of a fit that are given and not `used`, and others that differ from what they usually are."""
    unused = [name for name in OFFERED if is_given(options, name) and name not in set(used)]
    unused += [name for name, value in usual.items() if getattr(options, name) != value]
    if unused:
        name = unused[0]
        written = getattr(options, _kept_as(name))
        value = "given" if isinstance(written, bool) else repr(written)
        raise InputError(f"{flag(name)} is {value} with {beside}, which has no use for it")


def _floor(text: str) -> float | dict[str, float]:
    """Read a floor: a number, or one for each of some labels, as cat=.9,dog=.8; a name may have = in it."""
    if "=" not in text:
        return float(text)
    floors = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        if not name or name in floors:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no floor, expected a number, or labels, each once, as cat=0.9,dog=0.8"
            )
        floors[name] = float(number)
    return floors


def _confidence(text: str) -> float | str:
    """Read a probability, or the word for an expectation."""
    return EXPECTED if text == EXPECTED else float(text)


def _kept_as(name: str) -> str:
    """Return where an option is kept."""
    return _KEPT_AS.get(name, name)


def as_word(value: object) -> str:
    """Return a value as it is written on the command line."""
    if value is None:
        return _NONE
    return f"{value:g}" if isinstance(value, float) else str(value)
