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
from thresholds.data.folds import fitted_and_judged

if TYPE_CHECKING:
    from thresholds.files import LabelledFile
    from thresholds.rule import Rule


def compare(options: argparse.Namespace) -> None:
    """Print rules side by side, judged on the test rows."""
    from thresholds.comparison.compare import about_given_rules, compare

    given = _given(options)
    saved = {text: rule for text, rule in given.items() if not isinstance(rule, str)}
    with_names = [path for path, rule in saved.items() if rule.label_names is not None]

    left_out: Mapping[str, str] = {}

    # The rows, labels in the order of the first rule's that has names; rules that are fitted on others.
    first = saved[with_names[0]] if with_names else None
    data = reading.labelled(options, names=None if first is None else first.label_names)
    if first is not None:
        data = reading.aligned(data, first, with_names[0])
    if given and len(saved) == len(given):
        refuse_given(options, ["n_jobs", "placement", "missing"], "--rule")
        rows, which = reading.judging_rows(data, options.split)
        about: dict[str, Any] = {"split": which, "n_judged": len(rows)}
        rules = saved
        which = f"rules as given, judged on {which}"
    else:
        calibration, rows, split = _halves(options, data, given)
        rules, left_out = _fitted(options, data, calibration, given)
        which = fitted_and_judged(len(calibration), len(rows), split)
        if saved:
            which = f"saved rules as given, named ones {which}"
        about = {"placement": options.placement, "split": split}
        about |= {"n_fitted": len(calibration), "n_judged": len(rows)}

    result = compare(
        rules,
        **reading.arguments(data, rows, "sample_weight", "groups"),
        beta=options.beta,
        zero_division=options.zero_division,
        confidence=options.interval,
    )
    words = about_given_rules(which, result.fitted_here) if saved else which
    result = replace(result, rows=words, left_out=left_out)
    if not given:
        result = replace(result, differences=())  # No rule is what the others are held against.
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

    written = [name_of(text) or text for text in options.rules or []]
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


def _halves(
    options: argparse.Namespace, data: "LabelledFile", given: Mapping[str, object]
) -> tuple[Ints, Ints, str]:
    """Return the rows to fit on and to judge on, and say where they come from."""
    if options.split is not None:
        beside = "with the name of a rule" if given else "without --rule"
        raise InputError(
            f"--split is {options.split!r} {beside}: rules that are fitted are judged on other rows"
        )
    return reading.halves(data, groups_have_use=options.interval is not None)


def _fitted(
    options: argparse.Namespace, data: "LabelledFile", rows: Ints, given: "Mapping[str, Rule | str]"
) -> tuple[dict[str, "Rule"], Mapping[str, str]]:
    """Fit the rules that are named; the usual ones, or all, where none is given, and say why some cannot be had."""
    from thresholds._engine.problem import Problem
    from thresholds.comparison.fitted_rules import fit_rules

    problem = Problem.of(
        **reading.arguments(data, rows, "sample_weight", "groups", "label_names"),
        missing=options.missing,
        keep_sparse=True,
    )
    named = [rule for rule in given.values() if isinstance(rule, str)]
    fitted = fit_rules(problem, named or ("all" if options.all else None), **of_fit(options))
    for name, reason in fitted.left_out.items() if named else ():
        raise InputError(f"--rule {name!r} cannot be fitted on these scores: {reason}")
    if not given:
        return fitted.rules, fitted.left_out
    rules = {
        text: fitted.rules[rule] if isinstance(rule, str) else rule for text, rule in given.items()
    }
    return rules, {}


def demo(_: argparse.Namespace) -> None:
    """Show the rules, and the platypus effect, on the embedded data."""
    from thresholds.demo import demonstration

    print(demonstration())
