"""The command `report`: which labels of a rule may be relied on, as one page."""

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from thresholds._arrays.types import Ints
from thresholds._results.text import unwrapped, wrapped
from thresholds.cli import reading
from thresholds.cli.judging import case_of
from thresholds.cli.printing import finish
from thresholds.errors import need

if TYPE_CHECKING:
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule


def report(options: argparse.Namespace) -> None:
    """Judge a rule, write the page, and print its first screen."""
    need("jinja2", "thresholds report")
    from thresholds.loading import load_rule
    from thresholds.report.report import TITLE, make_report, refuse_other_endings

    refuse_other_endings(options.output, "--output")
    against = None if options.against is None else load_rule(options.against)
    case = case_of(options, _cross_fitted, against=against, groups_have_use=True)
    data = case.data
    made = make_report(
        **reading.arguments(data, case.rows, "groups"),
        rule=case.rule,
        against=against,
        group_name="group" if options.groups is None else _readable(options.groups),
        min_f=options.min_f,
        min_skill=options.min_skill,
        title=_readable(options.title or f"{data.name}: {TITLE[0].lower()}{TITLE[1:]}"),
        about=_readable(f"{unwrapped(reading.title(data))}\n{case.about}").splitlines(),
        command=_readable(shlex.join(["thresholds", *options.written])),
        n_jobs=options.n_jobs,
        progress=sys.stderr.isatty(),
    )
    notes = "".join(f"{wrapped(note)}\n" for note in data.notes)
    finish(
        options,
        lambda: f"{made}\n\n{notes}saved as {options.output}",
        lambda: {
            **reading.about(data),
            "rule": options.rule,
            "rows": case.about,
            "output": options.output,
            "n_samples": len(case.rows),
            "n_labels": data.y_score.shape[1],
            "warnings": options.warnings,
            "report": made.to_dict(),
        },
        save=lambda: made.save(options.output),
    )


def _cross_fitted(
    options: argparse.Namespace, name: str, data: "LabelledFile", rows: Ints
) -> "Rule":
    """Fit the rule of a name on some rows of a file, and find out what to expect of others."""
    from thresholds.report.report import fit_to_judge

    settings: dict[str, Any] = {"rule": name, "n_jobs": options.n_jobs}
    of_rows = reading.arguments(data, rows, "groups", "label_names")
    truth, scores = of_rows.pop("y_true"), of_rows.pop("y_score")
    return fit_to_judge(
        truth,
        scores,
        missing=options.missing,
        **of_rows,
        progress=sys.stderr.isatty(),
        **settings,
    )


def _readable(text: str) -> str:
    """Write bytes of file names that are no text as escapes."""
    return text.encode(errors="backslashreplace").decode()
