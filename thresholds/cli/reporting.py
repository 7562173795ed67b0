"""The command `report`: which labels of a rule may be relied on, as one page."""

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds.cli import fit_options, reading
from thresholds.errors import need
from thresholds.results import unwrapped, wrapped

if TYPE_CHECKING:
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule

_OF_FIT = {"missing": 0.0}  # with what it usually is


def report(options: argparse.Namespace) -> None:
    """Judge a rule, write the page, and print its first screen."""
    need("jinja2", "thresholds report")
    from thresholds.loading import load_rule
    from thresholds.report.report import TITLE, make_report, refuse_other_endings

    # The rules and the rows.
    refuse_other_endings(options.output, "--output")
    against = None if options.against is None else load_rule(options.against)
    if options.rule is None:
        names = None if against is None else against.label_names
        data = reading.labelled(options, names=names, rule_is_old=True)
        rule, rows, about = _fitted(options, data)
    else:
        rule = load_rule(options.rule)
        data = reading.labelled(options, rule)
        rule, data, rows, about = _saved(options, data, rule)

    # The page; its first screen is made before it is saved, and only then printed.
    made = make_report(
        reading.taken(data.y_true, rows),
        reading.taken(data.y_score, rows),
        rule,
        against=against,
        unknown=data.unknown,
        groups=reading.at(data.groups, rows),
        group_name="group" if options.groups is None else _readable(options.groups),
        min_f=options.min_f,
        min_skill=options.min_skill,
        title=_readable(options.title or f"{data.name}: {TITLE[0].lower()}{TITLE[1:]}"),
        about=_readable(f"{unwrapped(reading.title(data))}\n{about}").splitlines(),
        command=_readable(shlex.join(["thresholds", *options.written])),
        n_jobs=fit_options.read_all(options)["n_jobs"],
        progress=sys.stderr.isatty(),
    )
    text = str(made)
    made.save(options.output)
    notes = "".join(f"{wrapped(note)}\n" for note in data.notes)
    print(f"{text}\n\n{notes}saved as {options.output}")


def _saved(
    options: argparse.Namespace, data: "LabelledFile", rule: "Rule"
) -> tuple["Rule", "LabelledFile", Ints, str]:
    """Match the rule and the file, and choose the rows to judge it on."""
    fit_options.refuse_unused(options, ("n_jobs",), _OF_FIT, "--rule")
    rule.validate(data.y_score)
    data = reading.aligned(data, rule, options.rule)
    if rule.label_names is None and data.label_names is not None:
        rule = rule.with_names(data.label_names)
    rows, which = reading.judging_rows(data, options.split)
    return rule, data, rows, f"{options.rule}, judged on {which}"


def _fitted(options: argparse.Namespace, data: "LabelledFile") -> tuple["Rule", Ints, str]:
    """Fit a rule on the calibration rows; the test rows are to judge it."""
    from thresholds.data.folds import fitted_and_judged
    from thresholds.report.report import fit_to_judge

    if options.split is not None:
        raise InputError(
            f"--split is {options.split!r} without --rule: a rule that is fitted is judged on other rows"
        )
    calibration, test, split = reading.halves(data, groups_have_use=True)
    settings: dict[str, Any] = fit_options.read_all(options)
    rule = fit_to_judge(
        reading.taken(data.y_true, calibration),
        reading.taken(data.y_score, calibration),
        reading.at(data.groups, calibration),
        missing=options.missing,
        unknown=data.unknown,
        label_names=data.label_names,
        **settings,
    )
    return rule, test, fitted_and_judged(len(calibration), len(test), split)


def _readable(text: str) -> str:
    """Write bytes of file names that are no text as escapes."""
    return text.encode(errors="backslashreplace").decode()
