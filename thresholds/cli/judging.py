"""A rule, and the rows that judge it: a saved rule, or one that is fitted by its name on other rows of the file."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds.cli import reading
from thresholds.cli.options import refuse_given
from thresholds.data.folds import fitted_and_judged
from thresholds.fitting.rules import find_rule

if TYPE_CHECKING:
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule


class Case(NamedTuple):
    """A rule, and the rows to judge it on; the file's labels are in the order of the rule's."""

    data: "LabelledFile"
    rule: "Rule"
    rows: Ints
    about: str  # where the rule comes from, and which rows judge it


def name_of(text: str) -> str | None:
    """Return the name of the rule that a text says; None for the path of a file."""
    try:
        return find_rule(text, "--rule").name
    except InputError as error:
        if text.endswith(".json") or os.sep in text or os.path.exists(text):
            return None
        raise InputError(f"{error}; there is no file of that name either") from None


Fit = Callable[[argparse.Namespace, str, "LabelledFile", Ints], "Rule"]


def fitted(options: argparse.Namespace, name: str, data: "LabelledFile", rows: Ints) -> "Rule":
    """Fit the rule of a name on some rows of a file."""
    from thresholds.fitting.by_name import fit
    from thresholds.fitting.options import FitOptions

    more = ("groups",) if FitOptions(rule=name).looks_at_groups else ()
    return fit(
        **reading.arguments(data, rows, "label_names", *more),
        rule=name,
        missing=options.missing,
        n_jobs=options.n_jobs,
        progress=sys.stderr.isatty(),
    )


def case_of(
    options: argparse.Namespace,
    fit: Fit = fitted,
    *,
    against: "Rule | None" = None,
    groups_have_use: bool = False,
) -> Case:
    """Read the rule and the rows that `--rule`, `--split` and the options of the file name.

    `fit` is how a rule is had by its name; `groups_have_use` where groups are more than what stays in one half.
    """
    name = name_of(options.rule)
    if name is None:
        return _saved(options, groups_have_use)
    if options.split is not None:
        raise InputError(
            f"--split is {options.split!r} with --rule {name!r}: a rule that is fitted is judged on other rows"
        )
    names = None if against is None else against.label_names
    data = reading.labelled(options, names=names, rule_is_old=True)
    calibration, test, how = reading.halves(data, groups_have_use=groups_have_use)
    rule = fit(options, name, data, calibration)
    return Case(data, rule, test, fitted_and_judged(len(calibration), len(test), how))


def _saved(options: argparse.Namespace, groups_have_use: bool) -> Case:
    """Match the rule and the file, and choose the rows to judge it on."""
    from thresholds.loading import load_rule

    # Groups stay in one half, where the file is halved here.
    groups_have_use |= options.split in ("calib", "test")
    unused = ("missing",) if groups_have_use else ("missing", "groups")
    refuse_given(options, unused, f"--rule {options.rule}")
    rule = load_rule(options.rule)
    data = reading.labelled(options, rule)
    rule.validate(data.y_score)
    data = reading.aligned(data, rule, options.rule)
    if rule.label_names is None and data.label_names is not None:
        rule = rule.with_names(data.label_names)
    rows, which = reading.judging_rows(data, options.split)
    return Case(data, rule, rows, f"{options.rule}, judged on {which}")
