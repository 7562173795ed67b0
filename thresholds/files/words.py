"""Messages in the words of whoever reads them: files speak of options of the command line, in Python of arguments."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from thresholds._checks import InputError

# The options that `thresholds.read` has as arguments: `--score-column` is `score_column`.
_OPTIONS = (
    "score-column|truth|truth-column|true-words|label-column|label-names|label-separator"
    "|key|groups|weights|unknown|encoding|logits|drop-unscored"
)
OF_SOURCES = ("label_names", "unknown")  # of `gather` and all that take a source

# An option, and its value where one follows. A word is a value only where messages have such values.
_VALUES = (
    r"=[-\w.,|]*[-\w|]",
    r" '[^']*'",
    r"(?<=-column) \S+(?= if )",
    r"(?<=--encoding) [a-z]+[-_]?\d[\w-]*",
)
_OPTION = re.compile(rf"(?<![\w'-])--({_OPTIONS})(?![\w-])({'|'.join(_VALUES)})?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@contextmanager
def in_python_words(known: Collection[str] | None = None) -> Iterator[None]:
    """Have a refusal name arguments of Python in place of options: those `known`, and others as of `read`."""
    try:
        yield
    except InputError as error:
        error.args = (rewritten(str(error), known),)
        raise


def rewritten(message: str, known: Collection[str] | None = None) -> str:
    """Return a message with arguments of Python in place of options of the command line."""

    def argument(option: re.Match[str]) -> str:
        name = option[1].replace("-", "_")
        value = ""
        if name in ("logits", "drop_unscored"):
            value = "=True"
        elif option[2] is not None:
            value = f"={_literal(option[2][1:])}"
        if known is None or name in known:
            return name + value
        return f"thresholds.read(..., {name}{value or '=...'})"

    return _OPTION.sub(argument, message)


def _literal(value: str) -> str:
    """Write the value of an option as Python does: a number, text, or several of these."""
    if value.startswith("'"):
        return value
    parts = [part if _NUMBER.fullmatch(part) else repr(part) for part in value.split(",")]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
