"""The commands `compare` and `demo`: rules side by side."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thresholds._arrays.sparse import is_sparse
from thresholds._checks import InputError
from thresholds.cli import failing, fit_options, printing, reading
from thresholds.results import counted, wrapped

if TYPE_CHECKING:
    from thresholds.comparison.result import Comparison
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule

_OF_FIT = {"missing": 0.0, "all": False}  # with what they usually are


def compare(options: argparse.Namespace) -> None:
    """Print rules side by side, judged on the test rows."""
    from thresholds.loading import load_rule

    given = options.rules or []
    n_rules = len(given)
    for path in given:
        if given.count(path) > 1:
            raise InputError(f"--rule {path} is given twice, expected each rule once")
    if options.fail_on is not None and n_rules < 2:
        raise InputError(
            f"--fail-on is given with {counted(n_rules, '--rule')}, expected two or more: the first is the one that the"
            " others are held against"
        )
    if options.agreement and n_rules == 1:
        raise InputError("--agreement is given with 1 --rule, expected two or more")
    if options.fail_on is not None and options.confidence is None:
        raise InputError(
            "--fail-on is given with --confidence none, expected a confidence: a rule fails by its interval"
        )
    rules = {path: load_rule(path) for path in given}
    names = (rule.label_names for rule in rules.values() if rule.label_names is not None)
    data = reading.labelled(options, names=next(names, None))
    if options.rules is None:
        result, about = _usual_rules(options, data)
    else:
        result, about = _saved_rules(options, data, rules)
    lost = failing.losses(options.fail_on, result)
    options.status = failing.STATUS if lost.broken else 0
    if options.json:
        file: dict[str, Any] = {
            "file": data.name,
            "score_key": data.score_key,
            "notes": list(data.notes),
        }
        verdict = {"broken": lost.broken, "unproven": lost.unproven}
        values = file | about | result.to_dict() | verdict
        if options.agreement:
            values["agreement"] = result.agreement
        print(printing.as_json(values))
        failing.report(lost.broken)
        return
    print(wrapped(f"{reading.title(data)}\n{result.rows}"))
    if is_sparse(data.y_score):
        print("label-free rules take absent entries for 0, and so does their sum of p")
    print()
    print(replace(result, rows=""))
    if options.agreement and result.agreement is not None:
        print(f"\n{result.agreement}")
    if lost.unproven:
        print("\n" + "\n".join(lost.unproven))
    failing.report(lost.broken)


def _usual_rules(
    options: argparse.Namespace, data: "LabelledFile"
) -> tuple["Comparison", dict[str, Any]]:
    """Fit the usual rules, or all, on the calibration rows, and judge them on the test rows."""
    from thresholds._checks import group_numbers
    from thresholds._engine.problem import Problem
    from thresholds.comparison.fitted_rules import fit_rules
    from thresholds.comparison.side_by_side import judge_side_by_side
    from thresholds.data.folds import fitted_and_judged

    if options.split is not None:
        raise InputError(
            f"--split is {options.split!r} without --rule: rules that are fitted are judged on other rows"
        )
    calibration, test, split = reading.halves(data, groups_have_use=options.confidence is not None)
    problem = Problem.of(
        reading.taken(data.y_true, calibration),
        reading.taken(data.y_score, calibration),
        sample_weight=reading.at(data.sample_weight, calibration),
        groups=reading.at(data.groups, calibration),
        missing=options.missing,
        unknown=data.unknown,
        label_names=data.label_names,
        keep_sparse=True,
    )
    fitted = fit_rules(problem, "all" if options.all else None, **fit_options.read(options))
    settings = fit_options.read_all(options)
    result = judge_side_by_side(
        fitted.rules,
        Problem.of(
            reading.taken(data.y_true, test),
            reading.taken(data.y_score, test),
            sample_weight=reading.at(data.sample_weight, test),
            unknown=data.unknown,
            label_names=data.label_names,
        ),
        beta=settings["beta"],
        zero_division=settings["zero_division"],
        groups=None if data.groups is None else group_numbers(data.groups[test], len(test)),
        confidence=options.confidence,
    )
    rows = fitted_and_judged(len(calibration), len(test), split)
    about = {
        "placement": settings["placement"],
        "split": split,
        "n_fitted": len(calibration),
        "n_judged": len(test),
    }
    return replace(result, rows=rows, left_out=fitted.left_out), about


def _saved_rules(
    options: argparse.Namespace, data: "LabelledFile", rules: "dict[str, Rule]"
) -> tuple["Comparison", dict[str, Any]]:
    """Judge saved rules on the test rows, with the file's labels in the order of the first rule's."""
    from thresholds.comparison.compare import about_given_rules, compare

    fit_options.refuse_unused(options, ("beta", "zero_division"), _OF_FIT, "--rule")

    # `compare` matches the labels of the other rules with those of the first that has names.
    with_names = [path for path, rule in rules.items() if rule.label_names is not None]
    if with_names:
        first = with_names[0]
        data = reading.aligned(data, rules[first], first)
    rows, which = reading.judging_rows(data, options.split)
    truth = reading.taken(data.y_true, rows)
    scores = reading.taken(data.y_score, rows)
    settings = fit_options.read_all(options)
    result = compare(
        rules,
        truth,
        scores,
        sample_weight=reading.at(data.sample_weight, rows),
        unknown=data.unknown,
        beta=settings["beta"],
        zero_division=settings["zero_division"],
        groups=reading.at(data.groups, rows),
        confidence=options.confidence,
    )
    about = {"split": which, "n_judged": len(rows)}
    return replace(result, rows=about_given_rules(which, result.fitted_here)), about


def demo(_: argparse.Namespace) -> None:
    """Show the rules, and the platypus effect, on the embedded data."""
    from thresholds.demo import demonstration

    print(demonstration())
