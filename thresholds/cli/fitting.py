"""The command `fit`: a rule is fitted and saved."""

import argparse
import inspect
import shlex
import sys
from typing import TYPE_CHECKING, Any

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError
from thresholds.cli import fit_options, printing, reading
from thresholds.data.folds import N_SPLITS
from thresholds.results import counted

if TYPE_CHECKING:
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule, ThresholdRule

# Options of a fit on labels alone, with what they usually are.
_OF_LABELS = {"missing": 0.0, "cv": None, "groups": None}


def fit(options: argparse.Namespace) -> None:
    """Fit a rule on rows of a file and save it."""
    if options.expected:
        _on_expectation(options)
    else:
        _on_labels(options)


def _on_labels(options: argparse.Namespace) -> None:
    """Fit a rule on labels, and say what to expect of it on other rows."""
    if options.exact:
        raise InputError("--exact is given without --expected, expected both")
    data = reading.labelled(options)
    rows, which = reading.fitting_rows(data, options.split)
    truth = reading.taken(data.y_true, rows)
    scores = reading.taken(data.y_score, rows)
    rule, about_folds = _fitted(options, data, rows, truth, scores)

    # What to say of it.
    lines = [f"{reading.title(data)}\nfitted on {which}\n{rule}", about_folds]
    if rule.guard_report is not None:
        lines.append(str(rule.guard_report).splitlines()[0])
    n_unsupported = int(rule.unsupported.sum())
    if n_unsupported:
        lines.append(f"{counted(n_unsupported, 'label')} without positives in these rows")
    warning = _warning(_diagnosed(truth, scores, rule), options, labelled=True)
    printing.saved(rule, options.output, lines, warning)


def _diagnosed(truth: Matrix | None, scores: Matrix, rule: "Rule") -> str:
    """Name the labels to look at, on the rows of the fit: by labels if there are any, else by the model's belief."""
    from thresholds.diagnosis import diagnose, diagnose_expected
    from thresholds.rule import ThresholdRule

    if not isinstance(rule, ThresholdRule):
        return ""
    if truth is None:
        return diagnose_expected(scores, rule).in_brief()
    return diagnose(truth, scores, rule, progress=sys.stderr.isatty()).in_brief()


def _warning(diagnosis: str, options: argparse.Namespace, labelled: bool) -> list[str]:
    """Say what is to be looked at, and how: by a command that reads the same scores and truth."""
    if not diagnosis:
        return []
    if not labelled:
        return [diagnosis, "for more: thresholds.diagnose_expected, in Python"]
    command = ["thresholds", "diagnose", options.file, "--rule", options.output]
    for option, value in (
        ("--score-column", options.score_key),
        ("--truth", options.truth),
        ("--truth-column", options.truth_column),
        ("--key", options.key),
        ("--label-names", options.label_names),
    ):
        if value is not None:
            command += [option, value]
    if options.logits:
        command.append("--logits")
    return [diagnosis, f"for more: {shlex.join(map(str, command))}"]


def _fitted(
    options: argparse.Namespace, data: "LabelledFile", rows: "Ints", truth: Matrix, scores: Matrix
) -> tuple["ThresholdRule", str]:
    """Fit a rule on all rows, and cross-fit it unless told not to; say over which folds."""
    groups = None if data.groups is None else data.groups[rows]
    n_units = len(rows) if groups is None else len(set(groups.tolist()))
    n_folds = _n_folds(options.cv, n_units)
    about_data: dict[str, Any] = {"missing": options.missing, "label_names": data.label_names}
    if n_folds == 0:
        from thresholds.fitting.empirical import fit_empirical

        rule = fit_empirical(truth, scores, **about_data, **fit_options.read_all(options))
        return rule, "not cross-fitted"
    from thresholds.validation.cross_fit import cross_fit

    result = cross_fit(
        truth, scores, cv=n_folds, groups=groups, **about_data, **fit_options.read(options)
    )
    return result.rule, result.about_folds()


def _n_folds(wanted: int | None, n_units: int) -> int:
    """Return the number of folds: as many as wanted, else the usual one, or one for each row or group if fewer."""
    if wanted is not None:
        return wanted
    if n_units < 2:
        return 0
    return min(N_SPLITS, n_units)


def _on_expectation(options: argparse.Namespace) -> None:
    """Find a rule for probabilities; labels, where there are any, only tell how good these are."""
    from thresholds import _checks
    from thresholds.calibration import measure_calibration
    from thresholds.fitting.expected import fit_expected

    used = set(inspect.signature(fit_expected).parameters)
    fit_options.refuse_unused(options, used, _OF_LABELS, "--expected")
    data = reading.scores(options)
    try:
        _checks.probabilities(data.y_score, data.score_key, data.label_names)
    except InputError as error:
        raise InputError(f"{error}; --logits turns logits into probabilities") from None
    rows, which = reading.fitting_rows(data, options.split)
    scores = reading.taken(data.y_score, rows)
    settings = {name: value for name, value in fit_options.read(options).items() if name in used}
    rule = fit_expected(scores, exact=options.exact, label_names=data.label_names, **settings)

    # What to say of it.
    truth = None if data.y_true is None else reading.taken(data.y_true, rows)
    lines = [f"{reading.title(data)}\nfitted on {which}, taken for probabilities\n{rule}"]
    if truth is not None:
        measured = measure_calibration(truth, scores)
        absent = "; absent entries count as 0" if is_sparse(data.y_score) else ""
        lines.append(
            f"on these rows, probabilities add up to {measured.sum_over_positives:.2f} of the positives, calibration"
            f" slope {measured.slope:.2f} (both 1 if calibrated{absent})"
        )
    diagnosis = _diagnosed(truth, scores, rule)
    warning = _warning(diagnosis, options, labelled=truth is not None)
    printing.saved(rule, options.output, lines, warning)
