"""Messages in the words of whoever reads them: files speak of options of the command line, in Python of arguments."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from thresholds._checks import InputError

# The arguments of `thresholds.read` that messages about files name as options: `score_column` as `--score-column`.
OF_READ = frozenset(
    {
        "score_column",
        "truth",
        "truth_column",
        "true_words",
        "label_column",
        "label_names",
        "label_separator",
        "key",
        "groups",
        "weights",
        "unknown",
        "encoding",
        "logits",
        "drop_unscored",
    }
)
OF_SOURCES = frozenset(("label_names", "unknown"))  # of `gather` and all that take a source
_FLAGS = ("logits", "drop_unscored")
_SYNONYMS = {"score_key": "score_column"}

# An option, and its value where one follows. A word is a value only of an option that has such values.
_VALUES = (
    r"=[-\w.|]+(?:,[-\w.]+)*",
    r" '[^']*'",
    r"(?<=-column) \S+(?= if )",
    r"(?<=--unknown) nan(?:,[-\d.]+)*\b",
    r"(?<=--encoding) [a-z]+[-_]?\d[\w-]*\b",
    r"(?<=--true-words) \w+(?:,\w+)+\b",
)
_OPTION = re.compile(rf"(?<![\w'-])--([a-z]+(?:-[a-z]+)*)({'|'.join(_VALUES)})?")
_ASIDE = re.compile(r" \(in Python (?:[^()]|\([^()]*\))*\)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@contextmanager
def in_python_words(known: Collection[str] = OF_READ) -> Iterator[None]:
    """Have a refusal name arguments of Python in place of options; those that are not `known`, as of `read`."""
    try:
        yield
    except InputError as error:
        error.args = (rewritten(str(error), known),)
        raise


def rewritten(message: str, known: Collection[str] = OF_READ) -> str:
    """Return a message with arguments of Python in place of options of the command line."""

    def argument(option: re.Match[str]) -> str:
        name = option[1].replace("-", "_")
        name = _SYNONYMS.get(name, name)
        if name not in OF_READ:
            return option[0]
        written = name
        if name in _FLAGS:
            written = f"{name}=True"
        elif option[2] is not None:
            written = f"{name}={_literal(option[2][1:])}"
        if name in known:
            return written
        return f"thresholds.read(..., {written if '=' in written else f'{written}=...'})"

    return _OPTION.sub(argument, _ASIDE.sub("", message))


def _literal(value: str) -> str:
    """Write the value of an option as Python does: a number, text, or several of these."""
    if value.startswith("'"):
        return value
    parts = [part if _NUMBER.fullmatch(part) else repr(part) for part in value.split(",")]
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
