"""Every option of the command line, said once: how it is written, what it reads, its default, its help, its heading.

Options of fits come from the list of them in `fitting.options`, with its defaults and help texts. `commands.py` says
which command takes which option; parsers, help pages and refusals are made from both.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from thresholds._checks import InputError, texts
from thresholds._checks.options import EXPECTED
from thresholds._checks.unknown import unknown_values
from thresholds._devices.cells import FLOATS
from thresholds.fitting.options import (
    DEFAULTS,
    FIT_OPTIONS,
    LIMITS,
    MAXIMISED,
    OUTPUT,
    refuse_another_average,
)
from thresholds.fitting.rules import find_rule

# Headings of help, in their order; those of fits are beside their options.
ROWS = "rows"
JUDGING = "judging"
FILES = "files"
HEADINGS = (MAXIMISED, LIMITS, ROWS, JUDGING, FILES, OUTPUT)

_NONE = "none"
# Sparse scores are cut sparsely; a bar is for terminals.
_NOT_OFFERED = ("keep_sparse", "progress")
OF_FITS = tuple(name for name in FIT_OPTIONS if name not in _NOT_OFFERED)


class _Once(argparse.Action):
    """Keep the value of an option that is written once: of two rules one would not be looked at."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Keep a value, unless there is one."""
        if self.dest in namespace:
            raise argparse.ArgumentError(self, "given twice, expected one rule")
        setattr(namespace, self.dest, values)


class Option(NamedTuple):
    """An option, or an argument if its flag has no dashes."""

    settings: Mapping[str, Any]  # of argparse's `add_argument`
    default: Any = None
    flags: tuple[str, ...] = ()
    heading: str = ""

    @property
    def name(self) -> str:
        """Where its value is kept."""
        return str(self.settings.get("dest") or self.flags[0])

    @property
    def help(self) -> str:
        """Its help text, with its default."""
        text = str(self.settings["help"])
        if self.default is None or isinstance(self.default, bool) or "(default" in text:
            return text
        return f"{text} (default: {as_word(self.default)})"

    def but(self, **changes: Any) -> "Option":
        """Return the option as it is in some command."""
        default = changes.pop("default", self.default)
        return self._replace(settings={**self.settings, **changes}, default=default)


# What words of the command line mean


def as_word(value: object) -> str:
    """Return a value as it is written on the command line."""
    if value is None:
        return _NONE
    if isinstance(value, tuple):
        return ",".join(map(as_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _count(text: str) -> int:
    """Read a number of things."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def _checked(check: Callable[[object, str], object]) -> Callable[[str], object]:
    """Return what reads an option whose check the library has."""

    def read(text: str) -> object:
        try:
            return check(text, "it")
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def _unknown(text: str) -> tuple[str | float, ...] | str | float:
    """Read what stands for truth that is not known, several with commas between them."""
    try:
        values = tuple(word if word == "nan" else float(word) for word in text.split(","))
        unknown_values(values)
    except (ValueError, InputError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither nan nor a number other than 0 and 1, nor several of these, as nan,-1"
        ) from None
    return values if len(values) > 1 else values[0]


def _interval(text: str) -> float | None:
    """Read the confidence of intervals, "none" and 0 as none."""
    if text in (_NONE, "0"):
        return None
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1, nor none")
    return number


def _floor(text: str) -> float | dict[str, float]:
    """Read a floor: a number, or one for each of some labels, as cat=.9,dog=.8; a name may have = in it."""
    refusal = argparse.ArgumentTypeError(
        f"{text!r} is no floor, expected a number, or labels, each once, as cat=0.9,dog=0.8"
    )
    floors: dict[str, float] = {}
    try:
        if "=" not in text:
            return float(text)
        for part in text.split(","):
            name, _, number = part.rpartition("=")
            if not name or name in floors:
                raise refusal
            floors[name] = float(number)
    except ValueError:
        raise refusal from None
    return floors


def _probability(text: str) -> float | str:
    """Read a probability, or the word for an expectation."""
    try:
        return EXPECTED if text == EXPECTED else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number, nor {EXPECTED}") from None


# Kinds of options


def _text(
    metavar: str,
    about: str,
    read: Callable[[str], Any] = str,
    default: Any = None,
    flags: tuple[str, ...] = (),
    **more: Any,
) -> Option:
    """Describe an option with a value; it is read as text unless said otherwise."""
    return Option({"metavar": metavar, "help": about, "type": read, **more}, default, flags)


def _number(about: str, default: float | None = None) -> Option:
    """Describe an option with a number."""
    return _text("X", about, float, default)


def _one_of(choices: tuple[Any, ...], about: str, default: Any = None, **more: Any) -> Option:
    """Describe an option with one of a few values."""
    by_word = {as_word(choice): choice for choice in choices}
    metavar = more.pop("metavar", f"{{{','.join(by_word)}}}")

    def read(word: str) -> Any:
        if word not in by_word:
            raise argparse.ArgumentTypeError(
                f"invalid choice: {word!r} (choose from {', '.join(map(repr, by_word))})"
            )
        return by_word[word]

    return _text(metavar, about, read, default, **more)


def _switch(about: str) -> Option:
    """Describe an option without a value."""
    return Option({"action": "store_true", "help": about}, default=False)


def _under(heading: str, **options: Option) -> dict[str, Option]:
    """Put options under a heading of help; their names say how they are written, unless they have flags."""
    return {
        name: Option(
            {"dest": name, **option.settings},
            option.default,
            option.flags or (f"--{name.replace('_', '-')}",),
            heading,
        )
        for name, option in options.items()
    }


def _of_fits() -> dict[str, Option]:
    """Make options of the command line of those of fits."""
    made: dict[str, Option] = {}
    for name in OF_FITS:
        about = FIT_OPTIONS[name].metadata
        default = DEFAULTS[name]
        if isinstance(default, bool):
            word, text = about["switch"]
            settings = {"action": "store_const", "const": not default, "help": text}
            option = Option(settings, default, (word,))
        elif about["choices"]:
            more = {"metavar": "AVERAGE"} if name == "average" else {}
            option = _one_of(about["choices"], about["help"], default, **more)
        else:
            metavar, read = _READERS[about["value"]]
            option = _text(metavar, about["help"], read, default)
            if name == "rule":
                option = option.but(action=_Once)
        made |= _under(about["heading"], **{name: option})
    return made


# How options of fits are read, by what the list of them calls their values.
_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "number": ("X", float),
    "whole": ("N", int),
    "floor": ("X", _floor),
    "probability": ("X", _probability),
    "name": ("NAME", str),
}

_AVERAGES = FIT_OPTIONS["average"].metadata["choices"]
_RULE = "a rule that fit saved"

_ARGUMENTS = {
    "file": _text("FILE", "a file or folder of scores and truth; --help-files says which"),
    "rule": _text("RULE.json", _RULE),
    "old": _text("OLD.json", _RULE),
    "new": _text("NEW.json", "the rule that takes its place"),
}

OPTIONS: Mapping[str, Option] = {
    **{f"<{name}>": option._replace(flags=(name,)) for name, option in _ARGUMENTS.items()},
    **_of_fits(),
    **_under(
        MAXIMISED,
        best=_one_of(
            _AVERAGES,
            "try all rules out of fold, and take 'macro, shrink', 'weighted, shrink', 'micro, pool' or 'instance,"
            " platt', unless another is shown to be better",
            metavar="AVERAGE",
        ),
        expected=_switch("look at no labels: scores are calibrated probabilities"),
        exact=_switch("with --expected: the expectation of F (macro)"),
    ),
    **_under(
        ROWS,
        split=_one_of(
            ("calib", "test", "all"),
            "rows to judge a saved rule on (default: test_idx, else all but calib_idx); where the file names none, test"
            " is a half that is made here",
        ),
        groups=_text("KEY", "array or column of groups: kept together, and alike to a guard"),
        weights=_text("COLUMN", "array or column of weights, 0 or more (default: 1)"),
        cv=_text("N", "folds to judge thresholds on rows they were not fitted on", _count),
        alternatives=_switch(
            "say if a shared threshold or a guard does better (always up to 1 million cells)"
        ),
    ),
    **_under(
        JUDGING,
        judged=_text(
            "RULE",
            "the file of a saved rule; or the name of one, to fit on the calibration rows, and judge on the test rows",
            default="macro, shrink",
            flags=("--rule",),
            dest="rule",
            action=_Once,
        ),
        rules=_text(
            "RULE",
            "a saved rule, or the name of one to fit on the calibration rows; repeat it: the first is the one that"
            " others are held against (default: the usual rules, by their names)",
            flags=("--rule",),
            action="append",
        ),
        all=_switch("every rule that applies to these scores, not the usual ones alone"),
        against=_text("OLD.json", "the rule that was used before: say what moved"),
        min_f=_number("F from which a label may be usable", 0.5),
        min_skill=_number("share of the way from marking every row to no mistake, too", 0.25),
        alpha=_number("false discovery rate of each test", 0.05),
        min_auroc=_number("AUROC below which scores know too little of a label", 0.7),
        overprediction=_number("times its positives above which a label is over-predicted", 3.0),
        more_rows=_text("N", "how many more rows the gain is about", _count, 10),
        interval=_text(
            "X", "of intervals; 'none' for no intervals", _interval, 0.95, ("--confidence",)
        ),
        agreement=_switch("show how far the rules decide alike, and where they differ most"),
        fail_on=_text("NAME=BOUND,...", ""),
        strict=_switch("if scores differ gravely from those of the fit: write nothing, status 3"),
    ),
    **_under(
        FILES,
        score_key=_text(
            "NAME",
            "column or array of the scores, or what their columns begin or end with (default: y_score)",
            flags=("--score-column", "--score-key"),
        ),
        truth=_text("FILE", "file or folder of the truth, if that is another"),
        truth_column=_text(
            "NAME", "column of the truth, or what its columns begin or end with (default: y_true)"
        ),
        key=_text(
            "COLUMN",
            "column that joins scores to --truth (default: by the order of rows), or that tells to which row a line"
            " belongs in a file with one label a line; repeat it for several",
            action="append",
        ),
        label_column=_text(
            "NAME",
            "column of labels in a file with one label a line (default: label, species, scientific name and the like)",
        ),
        label_names=_text("FILE", "label names in order: one in each line, or a .json list"),
        label_separator=_text(
            "TEXT",
            "what is between the labels of a row where the truth has all of them in one cell: '|'",
            _checked(texts.separator),
        ),
        true_words=_text(
            "WORD,...",
            "truth is text, in which these words are true, and empty cells and one other word are not: yes,x",
            _checked(texts.words),
        ),
        unknown=_text(
            "X",
            'what stands for truth that is not known: a number, as -1, "nan" for cells without a value (empty ones of a'
            " csv, null of parquet and JSON, NaN), or several, as nan,-1; such cells are counted nowhere (default: they"
            " are refused)",
            _unknown,
        ),
        drop_unscored=_switch(
            "leave out rows in which a label has no score, and say how many (default: they are refused)"
        ),
        missing=_number("score of entries absent from CSR scores", 0.0),
        logits=_switch("scores are logits: turn them into probabilities"),
        encoding=_text(
            "NAME",
            "encoding of csv files, as cp1252 (default: utf-8, or utf-16 where a byte-order mark says so)",
            _checked(texts.encoding),
        ),
        spill=_text(
            "FOLDER",
            "where to keep rows that the file does not hold as they are: temporary files in that folder, or none for"
            " memory (default: memory, or a folder for temporary files if they take more than half of what is left)",
            default="auto",
        ),
    ),
    **_under(
        OUTPUT,
        output=_text(
            "RULE.json", "where to save the rule", flags=("-o", "--output"), required=True
        ),
        title=_text("TEXT", "title of the page"),
        repair=_text("OUT.json", "where to save the rule, thresholds of flagged labels mended"),
        action=_one_of(
            ("never", "cap"),
            "how to mend: never predict backwards and platypus labels (default), or cap platypus and suspect labels at"
            " --overprediction times their positives",
        ),
        quote_formulas=_switch(
            "put a ' before keys and names of labels that begin with = + - @, a tab or a return, which a spreadsheet"
            " that opens the .csv would run (default: they are written as they are, so that keys come back unchanged)"
        ),
        dtype=_one_of(FLOATS, "of the scores (default: that of the fit, else float32)"),
        top=_text("K", "labels that are listed", _count, 20),
        purposes=_one_of(
            ("predict", "fit", "judge"),
            "compile only what this needs: predict (rules that decide row by row, and calibrated ones; thresholds need"
            " nothing), fit (fit, calibrate, update) or judge (metrics, compare --rule, diagnose); repeat it for"
            " several (default: all)",
            flags=("--for",),
            action="append",
        ),
        json=_switch("print machine-readable results"),
    ),
}

CRITERIA = ("alpha", "min_auroc", "overprediction", "min_f", "min_skill")  # of a diagnosis


# What was written


def flag(name: str) -> str:
    """Return how an option is written."""
    return OPTIONS[name].flags[0]


def is_given(options: argparse.Namespace, name: str) -> bool:
    """Whether an option was written."""
    return name in options.given


def words_of(options: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Return those of some options that were written, as they are written."""
    words = []
    for name in names:
        if not is_given(options, name):
            continue
        value = getattr(options, name)
        if isinstance(value, bool):
            words.append(flag(name))
            continue
        for one in value if isinstance(value, list) else [value]:
            word = as_word(one)
            # A word that begins with a dash would be taken for an option.
            words += [f"{flag(name)}={word}"] if word.startswith("-") else [flag(name), word]
    return words


def of_fit(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a fit that were written, as the library takes them.

    What was written and contradicts the name of a rule is refused, also where the library has it as a default.
    """
    given = {name: getattr(options, name) for name in OF_FITS if is_given(options, name)}
    if "rule" in given:
        named = find_rule(given["rule"])
        if "average" in given:
            refuse_another_average(named, given["average"])
    return given | {"progress": sys.stderr.isatty()}


def refuse_given(options: argparse.Namespace, names: Iterable[str], beside: str) -> None:
    """Refuse options that were written beside what has no use for them."""
    for name in names:
        if is_given(options, name):
            written = getattr(options, name)
            value = (
                "given"
                if isinstance(written, bool)
                else repr(_NONE if written is None else written)
            )
            raise InputError(f"{flag(name)} is {value} with {beside}, which has no use for it")
