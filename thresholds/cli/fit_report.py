"""What `fit` says of a rule: as text, and as JSON."""

import argparse
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._results.plain import objects_of
from thresholds._results.result import names_of
from thresholds._results.text import first_names, unwrapped, wrapped
from thresholds._results.words import counted
from thresholds.cli import reading
from thresholds.cli.options import FILES, OPTIONS, as_word, flag, is_given, words_of
from thresholds.fitting.options import DEFAULTS

if TYPE_CHECKING:
    from thresholds.calibration import CalibrationMeasures
    from thresholds.diagnosis import Diagnosis, ExpectedDiagnosis, Verdicts
    from thresholds.files import ScoreFile
    from thresholds.rule import Rule
    from thresholds.validation.alternatives import Alternative
    from thresholds.validation.cross_fit import CrossFit
    from thresholds.validation.selection import RuleSelection

_NAMES_SHOWN = 10  # of usable labels
_RULES_SHOWN = 6  # of those that one was chosen from
_OF_RULE = ("average", "beta", "per_label", "guard", "expected", "objective")


class Fitted(NamedTuple):
    """A rule, and what is known of it."""

    data: "ScoreFile"
    which: str  # the rows of the fit
    rule: "Rule"
    found: "CrossFit | None" = None
    diagnosis: "Diagnosis | ExpectedDiagnosis | None" = None
    calibration: "CalibrationMeasures | None" = None
    selection: "RuleSelection | None" = None


def as_text(fitted: Fitted, options: argparse.Namespace) -> str:
    """Say what was fitted, what to expect of it, and what to look at."""
    from thresholds.metrics.averages import ABOUT_ZERO_DIVISION

    taken_for = ", taken for probabilities" if options.expected else ""
    lines = [reading.title(fitted.data), f"fitted on {fitted.which}{taken_for}"]
    if fitted.selection is not None:
        lines.append(f"\n{fitted.selection.to_text(_RULES_SHOWN)}\n")
    name = _name(fitted.rule)
    lines.append(str(fitted.rule) if name is None else f"{name}: {unwrapped(str(fitted.rule))}")
    if fitted.rule.zero_division:
        lines.append(ABOUT_ZERO_DIVISION)

    # What it reaches on other rows, and what another rule would.
    found = fitted.found
    if found is not None:
        lines.append(found.about_folds())
        if found.better is not None:
            lines.append(f"{found.better.in_words()}: {_flags(found.better, options)}")
    elif fitted.data.y_true is not None and not options.expected:
        lines.append("not cross-fitted")

    if fitted.data.sample_weight is not None:
        lines.append("no verdicts on labels: they count each row once, and rows have weights")

    # What the guard did, labels that say nothing, and how good probabilities are.
    report = getattr(fitted.rule, "guard_report", None)
    if report is not None:
        lines.append(report.to_text(0))
    n_unsupported = 0 if options.expected else len(_unsupported(fitted.rule))
    if n_unsupported:
        lines.append(f"{counted(n_unsupported, 'label')} without positives in these rows")
    if fitted.calibration is not None:
        measured = fitted.calibration
        absent = "; absent entries count as 0" if is_sparse(fitted.data.y_score) else ""
        lines.append(
            f"on these rows, probabilities add up to {measured.sum_over_positives:.2f} of the positives, calibration"
            f" slope {measured.slope:.2f} (both 1 if calibrated{absent})"
        )

    # Which labels may be relied on; what to look at comes last.
    verdicts = _verdicts(fitted)
    if verdicts is not None and not verdicts.on_own_rows:
        basis = (
            "their truth, which was not fitted" if found is None else "the decisions out of fold"
        )
        lines.append(f"\nWhich labels may be relied on, by {basis}:\n{verdicts.to_text(0)}\n")
        usable = verdicts.table["name"][verdicts.verdict == "usable"].tolist()
        if usable:
            lines.append(f"usable: {first_names(usable, _NAMES_SHOWN)}")
    text = wrapped("\n".join(lines))

    # A path and a command are to be copied, and so each on a line of its own.
    text += f"\nsaved as {options.output}"
    warning = "" if fitted.diagnosis is None else fitted.diagnosis.in_brief()
    if warning:
        text += f"\n{wrapped(warning)}"
    if verdicts is not None:
        return f"{text}\nfor a sentence on each label:\n  {_more(fitted, options)}"
    return f"{text}\nfor more: {_more(fitted, options)}" if warning else text


def as_values(fitted: Fitted, options: argparse.Namespace) -> dict[str, Any]:
    """Return the same as values for JSON, with all labels."""
    found = fitted.found
    diagnosis = fitted.diagnosis
    verdicts = _verdicts(fitted)
    report = getattr(fitted.rule, "guard_report", None)
    return {
        **reading.about(fitted.data),
        "rows": fitted.which,
        "rule": options.output,
        "name": _name(fitted.rule),
        "selection": None if fitted.selection is None else fitted.selection.to_dict(),
        **{name: getattr(fitted.rule, name, None) for name in _OF_RULE},
        "unsupported": _unsupported(fitted.rule),
        "cross_fit": None if found is None else _of_folds(found, options),
        "guard_report": None if report is None else report.in_figures(),
        "calibration": fitted.calibration,
        "verdicts": None if verdicts is None else verdicts.counts,
        "fitted_on_these_rows": None if verdicts is None else verdicts.on_own_rows,
        "states": None if diagnosis is None else _counted(diagnosis.state),
        "warnings": [] if diagnosis is None else diagnosis.in_brief().splitlines(),
        "labels": None if diagnosis is None else objects_of(diagnosis.table),
    }


def _name(rule: "Rule") -> str | None:
    """Return the name that a rule was asked for by."""
    name = None if rule.made_by is None else rule.made_by.options.get("rule")
    return None if name is None else str(name)


def _verdicts(fitted: Fitted) -> "Verdicts | None":
    """Return the verdicts on labels, where there is truth."""
    return getattr(fitted.diagnosis, "verdicts", None)


def _of_folds(found: "CrossFit", options: argparse.Namespace) -> dict[str, Any]:
    """Return what is known of other rows."""
    return {
        "in_sample": found.in_sample,
        "out_of_fold": found.out_of_fold,
        "optimism": found.optimism,
        "n_folds": len(found.fold_thresholds),
        "how": found.how,
        "apart": found.thresholds_apart(),
        "alternatives": [
            {
                "name": other.name,
                "rule": other.rule,
                "flags": _flags(other, options),
                "out_of_fold": other.out_of_fold,
                "gain": other.gain,
                "standard_error": other.standard_error,
                "is_better": other.is_better,
            }
            for other in found.alternatives
        ],
    }


def _flags(other: "Alternative", options: argparse.Namespace) -> str:
    """Return the options of an alternative as they are written on the command line, but for usual ones."""
    if is_given(options, "rule"):
        return f"{flag('rule')} {shlex.quote(other.rule)}"
    words = []
    for name, value in other.options.items():
        if value == DEFAULTS[name] and not is_given(options, name):
            continue
        words.append(flag(name))
        if name != "per_label":
            words.append(as_word(value))
    return " ".join(words)


def _unsupported(rule: "Rule") -> list[str]:
    """Name the labels of a rule of thresholds that had no positives."""
    unsupported = getattr(rule, "unsupported", np.empty(0, np.bool_))
    names = names_of(rule.label_names, unsupported.size)
    return [str(name) for name in names[unsupported]]


def _counted(states: Any) -> dict[str, int]:
    """Count equal words."""
    words, numbers = np.unique(states, return_counts=True)
    return dict(zip(words.tolist(), numbers.tolist(), strict=True))


def _more(fitted: Fitted, options: argparse.Namespace) -> str:
    """Say how to see more of a diagnosis: by a command that reads the same scores and truth."""
    if fitted.data.y_true is None:
        return "thresholds.diagnose(None, scores, rule), in Python"
    of_files = [name for name, option in OPTIONS.items() if option.heading == FILES]
    read = words_of(options, [name for name in of_files if name != "missing"])
    command = ["thresholds", "diagnose", options.file, "--rule", options.output, *read]
    return shlex.join(map(str, command))
