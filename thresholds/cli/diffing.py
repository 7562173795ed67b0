"""The command `diff`: what changed between two saved rules, and on scores what that does to decisions."""

import argparse
from typing import TYPE_CHECKING

from thresholds._checks import InputError
from thresholds._results.text import wrapped
from thresholds.cli import failing, reading
from thresholds.cli.options import FILES, OPTIONS, flag, is_given
from thresholds.cli.printing import finish

if TYPE_CHECKING:
    from thresholds.comparison.differences import RuleDifference


def diff(options: argparse.Namespace) -> None:
    """Print what changed between two saved rules, and on scores what that does to decisions."""
    from thresholds.comparison.differences import diff_rules
    from thresholds.loading import load_rule

    if options.file is None:
        for name, option in OPTIONS.items():
            if option.heading == FILES and is_given(options, name):
                value = getattr(options, name)
                raise InputError(f"{flag(name)} is {value!r} without a file of scores")
    old = load_rule(options.old)
    new = load_rule(options.new)
    file_name = None
    notes: list[str] = []
    scores = None
    if options.file is not None:
        data = reading.aligned(reading.scores(options, new), new, options.new)
        scores = data.y_score
        file_name = data.name
        notes = list(data.notes)
    difference = diff_rules(old, new, scores)
    broken = _broken(options, difference)
    finish(
        options,
        lambda: "\n".join([*map(wrapped, notes), difference.to_text(options.top)]),
        lambda: {
            "old": options.old,
            "new": options.new,
            "file": file_name,
            "notes": notes,
            **difference.to_dict(),
            "broken": broken,
        },
        broken=broken,
    )


def _broken(options: argparse.Namespace, difference: "RuleDifference") -> list[str]:
    """Say which conditions do not hold, and refuse those about what is not known."""
    reached = failing.changes(difference)
    for name in options.fail_on or {}:
        if name in reached:
            continue
        if name == "changed":
            raise InputError(
                "--fail-on has changed without a file of scores, whose rows are decided"
            )
        raise InputError(
            "--fail-on has news, which is not known of these rules: it takes two rules of thresholds, both fitted with"
            " folds, or given their odds by keep_odds, on scores of one kind"
        )
    return failing.broken(options.fail_on, reached)
