"""The commands `predict` and `diff`: saved rules at work."""

import argparse

from thresholds._checks import InputError
from thresholds.cli import printing, reading


def predict(options: argparse.Namespace) -> None:
    """Apply a rule to a file of scores and write the decisions."""
    from thresholds.files import read_scores, write_predictions
    from thresholds.rule import RegionRule, ThresholdRule, load_rule

    rule = load_rule(options.rule)
    data = read_scores(options.file, options.score_key)
    reading.check_names(data, rule, options.rule)
    dense = isinstance(rule, ThresholdRule | RegionRule) and rule.predicts_missing
    predicted = rule.predict(data.y_score, dense=dense)
    write_predictions(options.output, predicted, data.label_names or rule.label_names)
    n_rows = predicted.shape[0]
    print(f"{data.name}: {n_rows:,} rows, {predicted.sum() / n_rows:.2f} labels per row; written to {options.output}")


def diff(options: argparse.Namespace) -> None:
    """Print what changed between two saved rules, and on scores what that does to decisions."""
    from thresholds.differences import diff_rules
    from thresholds.files import read_scores

    if options.file is None and options.score_key is not None:
        raise InputError(f"--score-key is {options.score_key!r} without a file of scores")
    old, new = (reading.threshold_rule(path) for path in (options.old, options.new))
    data = None if options.file is None else read_scores(options.file, options.score_key)
    if data is not None:
        reading.check_names(data, new, options.new)
    difference = diff_rules(old, new, None if data is None else data.y_score)
    if options.json:
        about = {"old": options.old, "new": options.new, "file": None if data is None else data.name}
        printing.print_json(about | difference.to_dict())
    else:
        print(difference.to_text(options.top))
