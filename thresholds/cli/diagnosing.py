"""The command `diagnose`: which labels may be relied on, and which a rule predicts far too often."""

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds.cli import failing, fit_options, printing, reading
from thresholds.results import objects_of, wrapped

if TYPE_CHECKING:
    from thresholds.diagnosis import Diagnosis, Repair
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule

_OF_FIT = {"missing": 0.0, "groups": None}  # with what they usually are


class _Case(NamedTuple):
    """A rule, and the rows to diagnose it on; the file's labels are in the order of the rule's."""

    data: "LabelledFile"
    rule: "Rule"
    rows: "Ints"
    about: str  # where the rule comes from, and which rows judge it


def diagnose(options: argparse.Namespace) -> None:
    """Print which labels may be relied on, which a rule predicts far too often, and why."""
    from thresholds.diagnosis import diagnose
    from thresholds.loading import load_rule

    if options.action is not None and options.repair is None:
        raise InputError(
            f"--action is {options.action!r} without --repair, which says where to save the repaired rule"
        )

    # The rule and the rows.
    if options.rule is None:
        case = _fitted(options, reading.labelled(options))
    else:
        rule = load_rule(options.rule)
        case = _saved(options, reading.labelled(options, rule), rule)

    # What is wrong with it, and whether that fails the command.
    diagnosis = diagnose(
        reading.taken(case.data.y_true, case.rows),
        reading.taken(case.data.y_score, case.rows),
        case.rule,
        unknown=case.data.unknown,
        alpha=options.alpha,
        min_auroc=options.min_auroc,
        overprediction=options.overprediction,
        min_f=options.min_f,
        min_skill=options.min_skill,
        n_jobs=fit_options.read_all(options)["n_jobs"],
        progress=sys.stderr.isatty(),
    )
    repair = None if options.repair is None else _repaired(options, diagnosis, case.rule)
    broken = failing.broken(options.fail_on, failing.figures(diagnosis))
    options.status = failing.STATUS if broken else 0

    # All text is made before the rule is saved, and only then printed.
    if options.json:
        text = _as_json(options, case, diagnosis, repair, broken)
    else:
        text = _as_text(options, case, diagnosis, repair)
    if repair is not None:
        repair.rule.save(options.repair)
    print(text)
    failing.report(broken)


def _saved(options: argparse.Namespace, data: "LabelledFile", rule: "Rule") -> _Case:
    """Match the rule and the file, and choose the rows to judge it on."""
    fit_options.refuse_unused(options, ("n_jobs",), _OF_FIT, "--rule")
    rule.validate(data.y_score)
    data = reading.aligned(data, rule, options.rule)
    if rule.label_names is None and data.label_names is not None:
        rule = rule.with_names(data.label_names)
    rows, which = reading.judging_rows(data, options.split)
    return _Case(data, rule, rows, f"{options.rule}, judged on {which}")


def _fitted(options: argparse.Namespace, data: "LabelledFile") -> _Case:
    """Fit a rule on the calibration rows; the test rows are to judge it."""
    from thresholds.data.folds import fitted_and_judged
    from thresholds.fitting.empirical import fit_empirical

    if options.split is not None:
        raise InputError(
            f"--split is {options.split!r} without --rule: a rule that is fitted is judged on other rows"
        )
    calibration, test, split = reading.halves(data)
    rule = fit_empirical(
        reading.taken(data.y_true, calibration),
        reading.taken(data.y_score, calibration),
        missing=options.missing,
        unknown=data.unknown,
        label_names=data.label_names,
        **fit_options.read_all(options),
    )
    return _Case(data, rule, test, fitted_and_judged(len(calibration), len(test), split))


def _repaired(options: argparse.Namespace, diagnosis: "Diagnosis", rule: "Rule") -> "Repair":
    """Mend the rule; of one without thresholds, say what to do instead."""
    from thresholds.rule import ThresholdRule

    if not isinstance(rule, ThresholdRule):
        raise InputError(
            f"--repair is given with a rule of the kind {rule.kind!r}, which has no thresholds to mend, expected one of"
            " thresholds, as thresholds fit --rule 'macro, shrink' makes"
        )
    return diagnosis.repair(rule, action=options.action or "never")


def _as_text(
    options: argparse.Namespace, case: _Case, diagnosis: "Diagnosis", repair: "Repair | None"
) -> str:
    """Say what was diagnosed, with as many labels as wanted, and what a repair changes."""
    parts = [
        wrapped(f"{reading.title(case.data)}\n{case.about}\n{case.rule}"),
        diagnosis.to_text(options.top),
    ]
    if options.top:
        parts.append(str(diagnosis.most_predicted(options.top)))
    if repair is not None:
        parts.append(f"{repair}\nsaved as {options.repair}")
    return "\n\n".join(parts)


def _as_json(
    options: argparse.Namespace,
    case: _Case,
    diagnosis: "Diagnosis",
    repair: "Repair | None",
    broken: list[str],
) -> str:
    """Return the same as JSON, with all labels."""
    asked = ("alpha", "min_auroc", "overprediction", "min_f", "min_skill")
    names = (*asked, "n_samples", "n_labels")
    return printing.as_json(
        {
            "file": case.data.name,
            "score_key": case.data.score_key,
            "rule": options.rule,
            "rows": case.about,
            "notes": list(case.data.notes),
            **{name: getattr(diagnosis, name) for name in names},
            "fitted_on_these_rows": diagnosis.verdicts.on_own_rows,
            **failing.figures(diagnosis),
            "labels": objects_of(diagnosis.table),
            "repair": None if repair is None else objects_of(repair.changes),
            "broken": broken,
        }
    )
