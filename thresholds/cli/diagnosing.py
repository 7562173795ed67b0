"""The command `diagnose`: which labels may be relied on, and which a rule predicts far too often."""

import argparse
import sys
from typing import TYPE_CHECKING

from thresholds._checks import InputError
from thresholds._results.plain import objects_of
from thresholds._results.text import wrapped
from thresholds.cli import failing, reading
from thresholds.cli.judging import case_of
from thresholds.cli.options import CRITERIA
from thresholds.cli.printing import finish

if TYPE_CHECKING:
    from thresholds.diagnosis import Diagnosis, Repair
    from thresholds.rule import Rule


def diagnose(options: argparse.Namespace) -> None:
    """Print which labels may be relied on, which a rule predicts far too often, and why."""
    from thresholds.diagnosis import diagnose

    if options.action is not None and options.repair is None:
        raise InputError(
            f"--action is {options.action!r} without --repair, which says where to save the repaired rule"
        )
    case = case_of(options)
    asked = {name: getattr(options, name) for name in CRITERIA}
    diagnosis = diagnose(
        **reading.arguments(case.data, case.rows),
        rule=case.rule,
        n_jobs=options.n_jobs,
        progress=sys.stderr.isatty(),
        **asked,
    )
    repair = None if options.repair is None else _repaired(options, diagnosis, case.rule)
    broken = failing.broken(options.fail_on, failing.figures(diagnosis))

    def text() -> str:
        parts = [
            wrapped(f"{reading.title(case.data)}\n{case.about}\n{case.rule}"),
            diagnosis.to_text(options.top),
        ]
        if options.top:
            parts.append(str(diagnosis.most_predicted(options.top)))
        if repair is not None:
            parts.append(f"{repair}\nsaved as {options.repair}")
        return "\n\n".join(parts)

    finish(
        options,
        text,
        lambda: {
            **reading.about(case.data),
            "rule": options.rule,
            "rows": case.about,
            **{name: getattr(diagnosis, name) for name in (*asked, "n_samples", "n_labels")},
            "fitted_on_these_rows": diagnosis.verdicts.on_own_rows,
            **failing.figures(diagnosis),
            "labels": objects_of(diagnosis.table),
            "repair": None if repair is None else objects_of(repair.changes),
            "broken": broken,
        },
        save=None if repair is None else lambda: repair.rule.save(options.repair),
        broken=broken,
    )


def _repaired(options: argparse.Namespace, diagnosis: "Diagnosis", rule: "Rule") -> "Repair":
    """Mend the rule; of one without thresholds, say what to do instead."""
    from thresholds.rule import ThresholdRule

    if not isinstance(rule, ThresholdRule):
        raise InputError(
            f"--repair is given with a rule of the kind {rule.kind!r}, which has no thresholds to mend, expected one of"
            " thresholds, as thresholds fit --rule 'macro, shrink' makes"
        )
    return diagnosis.repair(rule, action=options.action or "never")
