"""The command `annotate`: what is open of each label, how many rows would decide it, and what a few more rows gain."""

import argparse
import sys
from typing import TYPE_CHECKING

from thresholds.cli import fit_options, printing, reading
from thresholds.results import wrapped

if TYPE_CHECKING:
    from thresholds._arrays.types import Ints
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule

_WITHOUT_RULE = {"missing": 0.0}  # with what it usually is


def annotate(options: argparse.Namespace) -> None:
    """Print what is open of each label, and the labels of which more rows gain most."""
    from thresholds.diagnosis import plan_annotation

    data, rule, rows, about = _without_rule(options) if options.rule is None else _saved(options)
    plan = plan_annotation(
        reading.taken(data.y_true, rows),
        reading.taken(data.y_score, rows),
        rule,
        more_rows=options.more_rows,
        alpha=options.alpha,
        min_auroc=options.min_auroc,
        overprediction=options.overprediction,
        min_f=options.min_f,
        min_skill=options.min_skill,
        missing=options.missing,
        unknown=data.unknown,
        label_names=data.label_names if rule is None else None,
        n_jobs=fit_options.read_all(options)["n_jobs"],
        progress=sys.stderr.isatty(),
    )
    if options.json:
        values = {"file": data.name, "score_key": data.score_key, "rule": options.rule}
        notes = {"rows": about, "notes": list(data.notes)}
        print(printing.as_json(values | notes | plan.to_dict()))
        return
    head = wrapped(f"{reading.title(data)}\n{about}")
    print(f"{head}\n\n{plan.to_text(options.top)}")


def _without_rule(
    options: argparse.Namespace,
) -> "tuple[LabelledFile, None, Ints, str]":
    """Take the rows that a rule would be fitted on."""
    data = reading.labelled(options)
    rows, which = reading.fitting_rows(data, options.split)
    return data, None, rows, f"no rule: the highest scores of {which}, as many as are true"


def _saved(options: argparse.Namespace) -> "tuple[LabelledFile, Rule, Ints, str]":
    """Match the rule and the file, and choose the rows to judge it on."""
    from thresholds.loading import load_rule

    fit_options.refuse_unused(options, ("n_jobs",), _WITHOUT_RULE, "--rule")
    rule = load_rule(options.rule)
    data = reading.labelled(options, rule)
    rule.validate(data.y_score)
    data = reading.aligned(data, rule, options.rule)
    if rule.label_names is None and data.label_names is not None:
        rule = rule.with_names(data.label_names)
    rows, which = reading.judging_rows(data, options.split)
    return data, rule, rows, f"{options.rule}, judged on {which}"
