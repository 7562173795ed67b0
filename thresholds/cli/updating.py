"""The command `update`: a saved rule on new rows, which keeps the thresholds that have no reason to move."""

import argparse
from typing import TYPE_CHECKING

from thresholds.cli import fit_options, printing, reading
from thresholds.results import objects_of

if TYPE_CHECKING:
    from thresholds.files import LabelledFile
    from thresholds.validation.update import RuleUpdate


def update(options: argparse.Namespace) -> None:
    """Update a rule on rows of a file, and save it."""
    from thresholds.validation.update import update_rule

    old = reading.threshold_rule(options.old)
    data = reading.labelled(options, old, rule_is_old=True)
    rows, which = reading.fitting_rows(data, options.split)
    found = update_rule(
        old,
        reading.taken(data.y_true, rows),
        reading.taken(data.y_score, rows),
        alpha=options.alpha,
        cv=options.cv,
        sample_weight=reading.at(data.sample_weight, rows),
        groups=reading.at(data.groups, rows),
        unknown=data.unknown,
        label_names=data.label_names,
        **fit_options.read(options),
    )
    # All text is made before the rule is saved, and only then printed.
    if options.json:
        text = _as_json(options, data, found, which)
    else:
        about = f"{reading.title(data)}\n{options.old}, updated on {which}"
        text = f"{about}\n{found.to_text(options.top)}\nsaved as {options.output}"
    reading.with_source(found.rule, data, which, options).save(options.output)
    print(text)


def _as_json(
    options: argparse.Namespace, data: "LabelledFile", found: "RuleUpdate", which: str
) -> str:
    """Return what the text says as JSON, with all labels."""
    names = ("n_moved", "lost", "old", "fresh", "updated", "alpha")
    return printing.as_json(
        {
            "file": data.name,
            "score_key": data.score_key,
            "notes": list(data.notes),
            "old_rule": options.old,
            "rule": options.output,
            "rows": which,
            **{name: getattr(found, name) for name in names},
            "labels": objects_of(found.table),
        }
    )
