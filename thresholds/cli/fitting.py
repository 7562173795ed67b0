"""The command `fit`: a rule is fitted and saved."""

import argparse
import inspect
import sys
from typing import TYPE_CHECKING, Any

from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds._results.words import counted
from thresholds.cli import fit_report, reading
from thresholds.cli.fit_report import Fitted
from thresholds.cli.options import OF_FITS, of_fit, refuse_given
from thresholds.cli.printing import finish
from thresholds.data.folds import usual_folds
from thresholds.fitting.options import DEFAULTS, SAID_BY_NAME, FitOptions
from thresholds.fitting.rules import find_rule

if TYPE_CHECKING:
    from thresholds.diagnosis import Diagnosis, ExpectedDiagnosis
    from thresholds.files import ScoreFile
    from thresholds.rule import Rule

_OF_FOLDS = ("cv", "groups", "alternatives")  # options of a fit on labels alone

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

    rule = reading.with_source(fitted.rule, fitted.data, fitted.which, options)
    finish(
        options,
        lambda: fit_report.as_text(fitted, options),
        lambda: fit_report.as_values(fitted, options),
        save=lambda: rule.save(options.output),
    )


def _by_options(options: argparse.Namespace) -> Fitted:
    """Fit thresholds, or a rule by its name, which may need no labels."""
    given = of_fit(options)
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
    """Fit a rule on labels, and find out what to expect of it on other rows, unless told not to."""
    from thresholds.validation.cross_fit import cross_fit

    data = reading.labelled(options)
    rows, which = reading.fitting_rows(data, options.split)
    about_rows = _about(options, data, rows)
    groups = reading.at(data.groups, rows)
    n_folds = usual_folds(len(rows), groups) if options.cv is None else options.cv
    if n_folds == 0 or (options.cv is None and n_folds < 2):
        rule = _fitted_alone(given, groups, about_rows)
        return Fitted(data, which, rule, diagnosis=_diagnosed(about_rows, rule))
    n_cells = len(rows) * data.y_score.shape[1]
    found = cross_fit(
        cv=n_folds,
        groups=groups,
        alternatives=options.alternatives or n_cells <= _FEW,
        **about_rows,
        **given,
    )
    return Fitted(data, which, found.rule, found, found.diagnosis)


def _fitted_alone(given: dict[str, Any], groups: Any, about_rows: dict[str, Any]) -> "Rule":
    """Fit a rule without folds, where only guards and promises look at groups."""
    from thresholds.fitting.by_name import fit as fit_by_name
    from thresholds.fitting.empirical import fit_empirical

    fit: Any = fit_by_name
    if "rule" not in given:
        fit = fit_empirical
        given = {**DEFAULTS, **given}
        del given["rule"]
    used = groups if FitOptions(**given).looks_at_groups else None
    rule: Rule = fit(groups=used, **about_rows, **given)
    return rule


def _about(options: argparse.Namespace, data: "ScoreFile", rows: Ints) -> dict[str, Any]:
    """Return what is fitted, but for groups."""
    about_rows = reading.arguments(data, rows, "sample_weight", "label_names")
    return about_rows | {"missing": options.missing}


def _without_labels(
    options: argparse.Namespace, data: "ScoreFile", given: dict[str, Any]
) -> Fitted:
    """Fit a rule that looks at no labels, where there are none."""
    from thresholds.fitting.by_name import fit as fit_by_name

    refuse_given(options, _OF_FOLDS, "a file without truth")
    rows, which = reading.fitting_rows(data, options.split)
    about_rows = _about(options, data, rows)
    rule = fit_by_name(**about_rows, **given)
    return Fitted(data, which, rule, diagnosis=_diagnosed(about_rows, rule))


def _best(options: argparse.Namespace) -> Fitted:
    """Choose the rule that does best out of fold, and fit it."""
    from thresholds.validation.selection import select_rule

    about = f"--best {options.best}"
    refuse_given(options, [*SAID_BY_NAME, "alternatives", "expected", "exact"], about)
    data = reading.labelled(options)
    rows, which = reading.fitting_rows(data, options.split)
    groups = reading.at(data.groups, rows)
    most_folds = usual_folds(len(rows), groups)
    if most_folds < 2:
        unit = "row" if groups is None else "group"
        raise InputError(
            f"{data.name} has {counted(most_folds, unit)} to fit on, expected 2 or more to choose by"
        )
    n_folds = most_folds if options.cv is None else options.cv
    if n_folds < 2:
        raise InputError(
            f"{about} is given with {counted(n_folds, 'fold')}, expected 2 or more to choose by"
        )
    chosen = select_rule(
        average=options.best,
        cv=n_folds,
        groups=groups,
        **_about(options, data, rows),
        **of_fit(options),
    )
    found = chosen.cross_fit
    return Fitted(data, which, found.rule, found, found.diagnosis, selection=chosen)


def _diagnosed(about_rows: dict[str, Any], rule: "Rule") -> "Diagnosis | ExpectedDiagnosis | None":
    """Diagnose a rule on the rows of the fit: by labels if there are any, else by the model's belief.

    Rows that have weights are not diagnosed, as verdicts are about rows, each of which counts once.
    """
    from thresholds.diagnosis import diagnose

    if about_rows["sample_weight"] is not None:
        return None
    found: Diagnosis | ExpectedDiagnosis | None = None
    if about_rows["y_true"] is not None:
        judged = {name: about_rows[name] for name in ("y_true", "y_score", "unknown")}
        found = diagnose(rule=rule, progress=sys.stderr.isatty(), **judged)
    elif getattr(rule.uncapped, "expected", None) is not None:
        found = diagnose(None, about_rows["y_score"], rule)
    return found


def _on_expectation(options: argparse.Namespace) -> Fitted:
    """Find a rule for probabilities; labels, where there are any, only tell how good these are."""
    from thresholds import _checks
    from thresholds.calibration import measure_calibration
    from thresholds.fitting.expected import fit_expected

    used = set(inspect.signature(fit_expected).parameters)
    unused = [name for name in OF_FITS if name not in used]
    refuse_given(options, [*unused, "missing", *_OF_FOLDS], "--expected")
    data = reading.scores(options)
    try:
        _checks.probabilities(data.y_score, data.score_key, data.label_names)
    except InputError as error:
        raise InputError(f"{error}; --logits turns logits into probabilities") from None
    rows, which = reading.fitting_rows(data, options.split)
    about_rows = _about(options, data, rows)
    scores, weights = about_rows["y_score"], about_rows["sample_weight"]
    settings = {name: value for name, value in of_fit(options).items() if name in used}
    rule = fit_expected(
        scores,
        exact=options.exact,
        sample_weight=weights,
        label_names=data.label_names,
        **settings,
    )

    # How good the probabilities are, where labels tell.
    measured = None
    if data.y_true is not None:
        measured = measure_calibration(
            about_rows["y_true"], scores, sample_weight=weights, unknown=data.unknown
        )
    diagnosis = _diagnosed(about_rows, rule)
    return Fitted(data, which, rule, diagnosis=diagnosis, calibration=measured)
