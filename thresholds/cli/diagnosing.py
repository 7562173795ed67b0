"""The command `diagnose`: labels that a rule predicts far too often."""

import argparse
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds.cli import failing, fit_options, printing, reading
from thresholds.results import objects_of

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
    said: str


def diagnose(options: argparse.Namespace) -> None:
    """Print which labels a rule predicts far too often, and why."""
    from thresholds.diagnosis import diagnose
    from thresholds.rule import load_rule

    if options.action is not None and options.repair is None:
        raise InputError(
            f"--action is {options.action!r} without --repair, which says where to save the repaired rule"
        )
    given = None if options.rule is None else load_rule(options.rule)
    data = reading.labelled(options, given)
    case = _fitted(options, data) if given is None else _given(options, data, given)
    data, rule = case.data, case.rule
    found = diagnose(
        reading.taken(data.y_true, case.rows),
        reading.taken(data.y_score, case.rows),
        rule,
        alpha=options.alpha,
        min_auroc=options.min_auroc,
        overprediction=options.overprediction,
        n_jobs=fit_options.read_all(options)["n_jobs"],
        progress=sys.stderr.isatty(),
    )
    repair = None if options.repair is None else _repaired(options, found, rule)
    broken = failing.broken(options.fail_on, found)
    options.status = failing.STATUS if broken else 0
    if options.json:
        about = {
            "file": data.name,
            "score_key": data.score_key,
            "rule": options.rule,
            "rows": case.said,
        }
        about |= {"notes": list(data.notes)}
        changes = None if repair is None else objects_of(repair.changes)
        said = printing.as_json(about | _values(found) | {"repair": changes, "broken": broken})
    else:
        said = f"{reading.title(data)}\n{case.said}\n{rule}\n\n{_text(found, options.top)}"
        if repair is not None:
            said += f"\n\n{repair}\nsaved as {options.repair}"
    if repair is not None:
        repair.rule.save(options.repair)
    print(said)
    failing.report(broken)


def _given(options: argparse.Namespace, data: "LabelledFile", rule: "Rule") -> _Case:
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
    from thresholds.fitting.empirical import fit_empirical

    if options.split is not None:
        raise InputError(
            f"--split is {options.split!r} without --rule: a rule that is fitted is judged on other rows"
        )
    calibration, test, split = reading.halves(data)
    rule = fit_empirical(
        data.y_true[calibration],
        data.y_score[calibration],
        missing=options.missing,
        label_names=data.label_names,
        **fit_options.read_all(options),
    )
    return _Case(
        data,
        rule,
        test,
        f"fitted on {len(calibration):,} rows, judged on {len(test):,} others: {split}",
    )


def _repaired(options: argparse.Namespace, found: "Diagnosis", rule: "Rule") -> "Repair":
    """Mend the rule."""
    from thresholds.rule import ThresholdRule

    if not isinstance(rule, ThresholdRule):
        raise InputError(
            f"--repair is given with a rule of the kind {rule.kind!r}, expected one of thresholds"
        )
    return found.repair(rule, action=options.action or "never")


def _text(found: "Diagnosis", top: int) -> str:
    """Say what was found."""
    return f"{found.to_text(top)}\n\n{found.most_predicted(top)}" if top else found.to_text(top)


def _values(found: "Diagnosis") -> dict[str, Any]:
    """Return what was found as plain values."""
    names = ("alpha", "min_auroc", "overprediction", "n_samples", "n_labels")
    return {
        **{name: getattr(found, name) for name in names},
        **failing.figures(found),
        "labels": objects_of(found.table),
    }
