"""The commands `compare` and `demo`: rules side by side."""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds._results.text import wrapped
from thresholds._results.words import counted
from thresholds.cli import failing, reading
from thresholds.cli.judging import name_of
from thresholds.cli.options import of_fit, refuse_given
from thresholds.cli.printing import finish

if TYPE_CHECKING:
    from thresholds.comparison.fitted_rules import FittedRules
    from thresholds.comparison.result import Comparison
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule

# The rules that are given, as they are written: saved ones, and names of those that are to be fitted.
Given = Mapping[str, "Rule | str"]


def compare(options: argparse.Namespace) -> None:
    """Print rules side by side, judged on the test rows."""
    given = _given(options)
    saved = [rule for rule in given.values() if not isinstance(rule, str)]
    names = (rule.label_names for rule in saved if rule.label_names is not None)
    data = reading.labelled(options, names=next(names, None))
    if given and len(saved) == len(given):
        result, about = _judge_saved(options, data, given)
    else:
        result, about = _fit_and_judge(options, data, given)
    lost = failing.losses(options.fail_on, result)

    def text() -> str:
        parts = [wrapped(f"{reading.title(data)}\n{result.rows}")]
        if is_sparse(data.y_score):
            parts[0] += "\nlabel-free rules take absent entries for 0, and so does their sum of p"
        parts.append(str(replace(result, rows="")))
        if options.agreement and result.agreement is not None:
            parts.append(str(result.agreement))
        if lost.unproven:
            parts.append("\n".join(lost.unproven))
        return "\n\n".join(parts)

    finish(
        options,
        text,
        lambda: {
            **reading.about(data),
            **about,
            **result.to_dict(),
            "broken": lost.broken,
            "unproven": lost.unproven,
            **({"agreement": result.agreement} if options.agreement else {}),
        },
        broken=lost.broken,
    )


def _given(options: argparse.Namespace) -> "dict[str, Rule | str]":
    """Load the rules that are given, and refuse what does not go with their number."""
    from thresholds.loading import load_rule

    written = options.rules or []
    for text in written:
        if written.count(text) > 1:
            raise InputError(f"--rule {text} is given twice, expected each rule once")
    if options.fail_on is not None and len(written) < 2:
        raise InputError(
            f"--fail-on is given with {counted(len(written), '--rule')}, expected two or more: the first is the one"
            " that the others are held against"
        )
    if options.agreement and len(written) == 1:
        raise InputError("--agreement is given with 1 --rule, expected two or more")
    if options.fail_on is not None and options.interval is None:
        raise InputError(
            "--fail-on is given with --confidence none, expected a confidence: a rule fails by its interval"
        )
    if written:
        refuse_given(options, ["all"], "--rule")
    return {text: name_of(text) or load_rule(text) for text in written}


def _fit_and_judge(
    options: argparse.Namespace, data: "LabelledFile", given: Given
) -> tuple["Comparison", dict[str, Any]]:
    """Fit rules on the calibration rows, the usual ones unless some are named, and judge them on the test rows."""
    from thresholds._checks import group_numbers
    from thresholds._engine.problem import Problem
    from thresholds.comparison.side_by_side import judge_side_by_side
    from thresholds.data.folds import fitted_and_judged

    if options.split is not None:
        beside = "with the name of a rule" if given else "without --rule"
        raise InputError(
            f"--split is {options.split!r} {beside}: rules that are fitted are judged on other rows"
        )
    groups_have_use = options.interval is not None
    calibration, test, split = reading.halves(data, groups_have_use=groups_have_use)
    data = _in_order_of(given, data)
    fitted = _fit(options, data, calibration, given)
    rows = fitted_and_judged(len(calibration), len(test), split)
    about = {
        "placement": options.placement,
        "split": split,
        "n_fitted": len(calibration),
        "n_judged": len(test),
    }
    if given:
        rules = {
            text: fitted.rules[rule] if isinstance(rule, str) else rule
            for text, rule in given.items()
        }
        return replace(_judge(options, data, test, rules), rows=rows), about
    result = judge_side_by_side(
        fitted.rules,
        Problem.of(**reading.arguments(data, test, "sample_weight", "label_names")),
        beta=options.beta,
        zero_division=options.zero_division,
        groups=None if data.groups is None else group_numbers(data.groups[test], len(test)),
        confidence=options.interval,
    )
    return replace(result, rows=rows, left_out=fitted.left_out), about


def _fit(
    options: argparse.Namespace, data: "LabelledFile", rows: Ints, given: Given
) -> "FittedRules":
    """Fit the rules that are named; the usual ones, or all, where none is given."""
    from thresholds._engine.problem import Problem
    from thresholds.comparison.fitted_rules import fit_rules

    problem = Problem.of(
        **reading.arguments(data, rows, "sample_weight", "groups", "label_names"),
        missing=options.missing,
        keep_sparse=True,
    )
    named = [rule for rule in given.values() if isinstance(rule, str)]
    fitted = fit_rules(problem, named or ("all" if options.all else None), **of_fit(options))
    if named:
        for name, reason in fitted.left_out.items():
            raise InputError(f"--rule {name!r} cannot be fitted on these scores: {reason}")
    return fitted


def _judge_saved(
    options: argparse.Namespace, data: "LabelledFile", given: Given
) -> tuple["Comparison", dict[str, Any]]:
    """Judge saved rules on the test rows."""
    from thresholds.comparison.compare import about_given_rules

    refuse_given(options, ["n_jobs", "placement", "missing"], "--rule")
    data = _in_order_of(given, data)
    rows, which = reading.judging_rows(data, options.split)
    result = _judge(options, data, rows, given)
    about = {"split": which, "n_judged": len(rows)}
    return replace(result, rows=about_given_rules(which, result.fitted_here)), about


def _judge(
    options: argparse.Namespace, data: "LabelledFile", rows: Ints, rules: Mapping[str, Any]
) -> "Comparison":
    """Judge rules on some rows, all against the first."""
    from thresholds.comparison.compare import compare

    return compare(
        rules,
        **reading.arguments(data, rows, "sample_weight", "groups"),
        beta=options.beta,
        zero_division=options.zero_division,
        confidence=options.interval,
    )


def _in_order_of(given: Given, data: "LabelledFile") -> "LabelledFile":
    """Put the labels of a file in the order of the first saved rule that has names, as `compare` does with rules."""
    for path, rule in given.items():
        if not isinstance(rule, str) and rule.label_names is not None:
            return reading.aligned(data, rule, path)
    return data


def demo(_: argparse.Namespace) -> None:
    """Show the rules, and the platypus effect, on the embedded data."""
    from thresholds.demo import demonstration

    print(demonstration())
