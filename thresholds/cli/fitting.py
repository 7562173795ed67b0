"""The command `fit`: a rule is fitted and saved."""

import argparse
import inspect
import sys
from typing import TYPE_CHECKING, Any

from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError
from thresholds.cli import fit_options, fit_report, reading
from thresholds.cli.fit_report import Fitted
from thresholds.data.folds import N_SPLITS
from thresholds.fitting.options import SAID_BY_NAME
from thresholds.results import counted

if TYPE_CHECKING:
    from thresholds.diagnosis import Diagnosis, ExpectedDiagnosis
    from thresholds.files import LabelledFile, ScoreFile
    from thresholds.rule import Rule
    from thresholds.validation.cross_fit import CrossFit

# Options of a fit on labels alone, with what they usually are.
_OF_LABELS: dict[str, object] = {
    "missing": 0.0,
    "cv": None,
    "groups": None,
    "alternatives": False,
}

# Cells, rows times labels, up to which other rules are tried without being asked for: with more of them it takes long,
# and a threshold for each label is seldom worse than a shared one.
_FEW = 1_000_000


def fit(options: argparse.Namespace) -> None:
    """Fit a rule on rows of a file and save it."""
    if options.exact and not options.expected:
        raise InputError("--exact is given without --expected, expected both")
    if options.best is not None:
        fitted = _best(options)
    elif options.expected:
        fitted = _on_expectation(options)
    else:
        fitted = _by_options(options)

    # All text is made before the rule is saved, and only then printed.
    write = fit_report.as_json if options.json else fit_report.as_text
    text = write(fitted, options)
    rule = reading.with_source(fitted.rule, fitted.data, fitted.which, options)
    rule.save(options.output)
    print(text)


def _by_options(options: argparse.Namespace) -> Fitted:
    """Fit thresholds, or a rule by its name, which may need no labels."""
    from thresholds.fitting.rules import find_rule

    given = fit_options.read(options)
    name = given.get("rule")
    if name is not None and options.alternatives and find_rule(name).method != "thresholds":
        raise InputError(
            f"--alternatives is given with --rule {name!r}, which has none; expected --best, which tries all rules"
        )
    if name is not None and not find_rule(name).needs_labels:
        data = reading.scores(options)
        if data.y_true is None:
            return _without_labels(options, data, given)
    return _on_labels(options, given)


def _on_labels(options: argparse.Namespace, given: dict[str, Any]) -> Fitted:
    """Fit a rule on labels, and find out what to expect of it on other rows."""
    data = reading.labelled(options)
    rows, which = reading.fitting_rows(data, options.split)
    truth = reading.taken(data.y_true, rows)
    scores = reading.taken(data.y_score, rows)
    rule, found = _fitted(options, given, data, rows, truth, scores)
    diagnosis = _diagnosed(data, truth, scores, rule) if found is None else found.diagnosis
    return Fitted(data, which, rule, found, diagnosis)


def _without_labels(
    options: argparse.Namespace, data: "ScoreFile", given: dict[str, Any]
) -> Fitted:
    """Fit a rule that looks at no labels, where there are none."""
    from thresholds.fitting.by_name import fit as fit_by_name

    of_folds = {name: usual for name, usual in _OF_LABELS.items() if name != "missing"}
    fit_options.refuse_unused(options, given, of_folds, "a file without truth")
    rows, which = reading.fitting_rows(data, options.split)
    scores = reading.taken(data.y_score, rows)
    about_data: dict[str, Any] = {
        "sample_weight": reading.at(data.sample_weight, rows),
        "missing": options.missing,
        "label_names": data.label_names,
    }
    rule = fit_by_name(None, scores, **about_data, **given)
    return Fitted(data, which, rule, diagnosis=_diagnosed(data, None, scores, rule))


def _best(options: argparse.Namespace) -> Fitted:
    """Choose the rule that does best out of fold, and fit it."""
    from thresholds.validation.selection import select_rule

    about = f"--best {options.best}"
    unused = {"alternatives": False, "expected": False, "exact": False}
    used = [name for name in fit_options.OFFERED if name not in SAID_BY_NAME]
    fit_options.refuse_unused(options, used, unused, about)
    data = reading.labelled(options)
    rows, which = reading.fitting_rows(data, options.split)
    truth = reading.taken(data.y_true, rows)
    scores = reading.taken(data.y_score, rows)
    groups = reading.at(data.groups, rows)
    n_units = _n_units(rows, groups)
    n_folds = _n_folds(options.cv, n_units)
    if n_units < 2:
        unit = "row" if groups is None else "group"
        raise InputError(
            f"{data.name} has {counted(n_units, unit)} to fit on, expected 2 or more to choose by"
        )
    if n_folds < 2:
        raise InputError(
            f"{about} is given with {counted(n_folds, 'fold')}, expected 2 or more to choose by"
        )
    chosen = select_rule(
        truth,
        scores,
        options.best,
        cv=n_folds,
        sample_weight=reading.at(data.sample_weight, rows),
        groups=groups,
        missing=options.missing,
        unknown=data.unknown,
        label_names=data.label_names,
        **fit_options.read(options),
    )

    found = chosen.cross_fit
    return Fitted(data, which, found.rule, found, found.diagnosis, selection=chosen)


def _diagnosed(
    data: "ScoreFile", truth: Matrix | None, scores: Matrix, rule: "Rule"
) -> "Diagnosis | ExpectedDiagnosis | None":
    """Diagnose a rule on the rows of the fit: by labels if there are any, else by the model's belief.

    Rows that have weights are not diagnosed, as verdicts are about rows, each of which counts once.
    """
    from thresholds.diagnosis import diagnose

    if data.sample_weight is not None:
        return None
    found: Diagnosis | ExpectedDiagnosis | None = None
    if truth is not None:
        found = diagnose(truth, scores, rule, unknown=data.unknown, progress=sys.stderr.isatty())
    elif getattr(rule.uncapped, "expected", None) is not None:
        found = diagnose(None, scores, rule)
    return found


def _fitted(
    options: argparse.Namespace,
    given: dict[str, Any],
    data: "LabelledFile",
    rows: "Ints",
    truth: Matrix,
    scores: Matrix,
) -> tuple["Rule", "CrossFit | None"]:
    """Fit a rule on all rows, and cross-fit it unless told not to."""
    groups = reading.at(data.groups, rows)
    n_folds = _n_folds(options.cv, _n_units(rows, groups))
    about_data: dict[str, Any] = {
        "sample_weight": reading.at(data.sample_weight, rows),
        "missing": options.missing,
        "unknown": data.unknown,
        "label_names": data.label_names,
    }
    if n_folds == 0:
        # Without folds only guards and promises look at groups.
        about_data["groups"] = groups if _looks_at_groups(options, given) else None
    if n_folds == 0 and "rule" in given:
        from thresholds.fitting.by_name import fit as fit_by_name

        return fit_by_name(truth, scores, **about_data, **given), None
    if n_folds == 0:
        from thresholds.fitting.empirical import fit_empirical

        return fit_empirical(truth, scores, **about_data, **fit_options.read_all(options)), None
    from thresholds.validation.cross_fit import cross_fit

    found = cross_fit(
        truth,
        scores,
        cv=n_folds,
        groups=groups,
        alternatives=options.alternatives or scores.shape[0] * scores.shape[1] <= _FEW,
        **about_data,
        **given,
    )
    return found.rule, found


def _looks_at_groups(options: argparse.Namespace, given: dict[str, Any]) -> bool:
    """Whether a fit of these options asks which rows are of one group."""
    from thresholds.fitting.options import FitOptions
    from thresholds.fitting.rules import find_rule

    if "rule" in given:
        return FitOptions(**(given | {"rule": find_rule(given["rule"]).name})).looks_at_groups
    return FitOptions(**fit_options.read_all(options)).looks_at_groups


def _n_units(rows: "Ints", groups: Any) -> int:
    """Return the number of rows, or of groups."""
    return len(rows) if groups is None else len(set(groups.tolist()))


def _n_folds(wanted: int | None, n_units: int) -> int:
    """Return the number of folds: as many as wanted, else the usual one, or one for each row or group if fewer."""
    if wanted is not None:
        return wanted
    if n_units < 2:
        return 0
    return min(N_SPLITS, n_units)


def _on_expectation(options: argparse.Namespace) -> Fitted:
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
    weights = reading.at(data.sample_weight, rows)
    rule = fit_expected(
        scores,
        exact=options.exact,
        sample_weight=weights,
        label_names=data.label_names,
        **settings,
    )

    # How good the probabilities are, where labels tell.
    truth = None if data.y_true is None else reading.taken(data.y_true, rows)
    measured = None
    if truth is not None:
        measured = measure_calibration(truth, scores, sample_weight=weights, unknown=data.unknown)
    diagnosis = _diagnosed(data, truth, scores, rule)
    return Fitted(data, which, rule, diagnosis=diagnosis, calibration=measured)
