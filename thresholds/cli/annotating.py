"""The command `annotate`: what is open of each label, how many rows would decide it, and what a few more rows gain."""

import argparse
import sys

from thresholds._results.text import wrapped
from thresholds.cli import reading
from thresholds.cli.judging import case_of
from thresholds.cli.options import CRITERIA
from thresholds.cli.printing import finish


def annotate(options: argparse.Namespace) -> None:
    """Print what is open of each label, and the labels of which more rows gain most."""
    from thresholds.diagnosis import plan_annotation

    if options.rule is None:
        data = reading.labelled(options)
        rows, which = reading.fitting_rows(data, options.split)
        rule = None
        about = f"no rule: the highest scores of {which}, as many as are true"
    else:
        data, rule, rows, about = case_of(options)
    if rule is None:
        of_rows = reading.arguments(data, rows, "label_names") | {"missing": options.missing}
    else:
        of_rows = reading.arguments(data, rows)
    plan = plan_annotation(
        **of_rows,
        rule=rule,
        more_rows=options.more_rows,
        n_jobs=options.n_jobs,
        progress=sys.stderr.isatty(),
        **{name: getattr(options, name) for name in CRITERIA},
    )
    head = wrapped(f"{reading.title(data)}\n{about}")
    finish(
        options,
        lambda: f"{head}\n\n{plan.to_text(options.top)}",
        lambda: {**reading.about(data), "rule": options.rule, "rows": about, **plan.to_dict()},
    )
