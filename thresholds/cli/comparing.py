"""The commands `compare` and `demo`: rules side by side."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thresholds._arrays.sparse import is_sparse
from thresholds._checks import InputError
from thresholds.cli import fit_options, printing, reading

if TYPE_CHECKING:
    from thresholds.comparison.result import Comparison
    from thresholds.files import LabelledFile

_OF_FIT = {"missing": 0.0, "groups": None}  # with what they usually are


def compare(options: argparse.Namespace) -> None:
    """Print rules side by side, judged on the test rows."""
    data = reading.labelled(options)
    if options.rules is None:
        result, about = _usual_rules(options, data)
    else:
        result, about = _saved_rules(options, data)
    if options.json:
        file: dict[str, Any] = {
            "file": data.name,
            "score_key": data.score_key,
            "notes": list(data.notes),
        }
        print(printing.as_json(file | about | result.to_dict()))
        return
    print(f"{reading.title(data)}\n{result.rows}")
    if is_sparse(data.y_score):
        print("label-free rules take absent entries for 0, and so does their sum of p")
    print()
    print(replace(result, rows=""))
    has_label_free = any("label-free" in row.rule for row in result.measures)
    if options.rules is None and not has_label_free:
        print(
            "\nscores lie outside [0, 1], or --missing is not 0: rules that take them for probabilities are left out"
        )


def _usual_rules(
    options: argparse.Namespace, data: "LabelledFile"
) -> tuple["Comparison", dict[str, Any]]:
    """Fit every rule on the calibration rows, and judge it on the test rows."""
    from thresholds.comparison.compare import compare
    from thresholds.comparison.usual_rules import fit_all

    if options.split is not None:
        raise InputError(
            f"--split is {options.split!r} without --rule: rules that are fitted are judged on other rows"
        )
    calibration, test, split = reading.halves(data)
    rules = fit_all(
        data.y_true[calibration],
        data.y_score[calibration],
        missing=options.missing,
        label_names=data.label_names,
        **fit_options.read(options),
    )
    settings = fit_options.read_all(options)
    result = compare(rules, data.y_true[test], data.y_score[test], beta=settings["beta"])
    rows = f"fitted on {len(calibration):,} rows, judged on {len(test):,} others: {split}"
    about = {
        "placement": settings["placement"],
        "split": split,
        "n_fitted": len(calibration),
        "n_judged": len(test),
    }
    return replace(result, rows=rows), about


def _saved_rules(
    options: argparse.Namespace, data: "LabelledFile"
) -> tuple["Comparison", dict[str, Any]]:
    """Judge saved rules on the test rows, with the file's labels in the order of the first rule's."""
    from thresholds.comparison.compare import about_given_rules, compare
    from thresholds.rule import load_rule

    fit_options.refuse_unused(options, ("beta",), _OF_FIT, "--rule")
    rules = {path: load_rule(path) for path in options.rules}

    # `compare` matches the labels of the other rules with those of the first that has names.
    with_names = [path for path, rule in rules.items() if rule.label_names is not None]
    if with_names:
        first = with_names[0]
        data = reading.aligned(data, rules[first], first)
    rows, which = reading.judging_rows(data, options.split)
    truth = reading.taken(data.y_true, rows)
    scores = reading.taken(data.y_score, rows)
    result = compare(rules, truth, scores, beta=fit_options.read_all(options)["beta"])
    about = {"split": which, "n_judged": len(rows)}
    return replace(result, rows=about_given_rules(which, result.fitted_here)), about


def demo(_: argparse.Namespace) -> None:
    """Show the rules, and the platypus effect, on the embedded data."""
    from thresholds.demo import demonstration

    print(demonstration())
