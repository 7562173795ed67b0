"""The command `update`: a saved rule on new rows, which keeps the thresholds that have no reason to move."""

import argparse

from thresholds._results.plain import objects_of
from thresholds.cli import reading
from thresholds.cli.options import of_fit
from thresholds.cli.printing import finish

_FIGURES = ("n_moved", "lost", "old", "fresh", "updated", "alpha")


def update(options: argparse.Namespace) -> None:
    """Update a rule on rows of a file, and save it."""
    from thresholds.validation.update import update_rule

    old = reading.threshold_rule(options.old)
    data = reading.labelled(options, old, rule_is_old=True)
    rows, which = reading.fitting_rows(data, options.split)
    found = update_rule(
        old,
        **reading.arguments(data, rows, "sample_weight", "groups", "label_names"),
        alpha=options.alpha,
        cv=options.cv,
        **of_fit(options),
    )
    about = f"{reading.title(data)}\n{options.old}, updated on {which}"
    finish(
        options,
        lambda: f"{about}\n{found.to_text(options.top)}\nsaved as {options.output}",
        lambda: {
            **reading.about(data),
            "old_rule": options.old,
            "rule": options.output,
            "rows": which,
            **{name: getattr(found, name) for name in _FIGURES},
            "labels": objects_of(found.table),
        },
        save=lambda: reading.with_source(found.rule, data, which, options).save(options.output),
    )
