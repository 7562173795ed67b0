"""Rules side by side, judged on rows that were not used for fitting them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._checks import InputError, group_numbers
from thresholds._engine.problem import Problem
from thresholds._results.text import shown_name
from thresholds._results.words import counted
from thresholds.comparison.fitted_rules import chosen_rules, fit_rules
from thresholds.comparison.result import Comparison
from thresholds.comparison.side_by_side import judge_side_by_side
from thresholds.data.folds import SEED, fitted_and_judged, halves
from thresholds.rule import Rule
from thresholds.sources.taking import takes_source


def _check_before_reading(arguments: Mapping[str, Any]) -> bool:
    """Refuse what are no rules; groups are looked at."""
    _refuse_no_rules(arguments["rules"])
    return True


@takes_source(_check_before_reading)
def compare(
    rules: Mapping[str, Rule] | Sequence[str] | None,
    y_true: object,
    y_score: object = None,
    *,
    beta: float = 1.0,
    zero_division: float = 0.0,
    sample_weight: object = None,
    groups: object = None,
    random_state: int | None = SEED,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    baseline: str | None = None,
    confidence: float | None = 0.95,
) -> Comparison:
    """Judge rules side by side on the same rows: rules that are given, or rules that are fitted on half of the rows.

    Parameters
    ----------
    rules :
        A mapping of names to rules: each predicts on `y_score`. Give rows that none was fitted on; a rule of thresholds
        that was fitted on these very rows is named.
        None: the usual rules are fitted on one half of the rows and judged on the other. "all": all of
        `thresholds.RULES`. A list: those of these names. `fit` has each of them.

        1. Rules from probabilities alone take `y_score` for probabilities. How good these are on the judged rows stands
           beside them: their sum over the number of positives, and the calibration slope (`measure_calibration`).
        2. Labels go by name where rules have names; the columns of an array are those of the first rule that has any.
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
        Or a source of such rows as `y_true`, with `y_score` left out (docs/scale.md).
    beta : weight of recall in the F-measures
    zero_division : 0.0 or 1.0, the F of a label (or row) with neither positives nor predictions
        Rules that are fitted here are fitted for it.
    sample_weight : (n_samples,) non-negative, or None
    groups : (n_samples,) names or numbers, or None
        Rows of a group stay in one half, guards take them for alike, and intervals are those for other groups.
    random_state : as in `multilabel_folds`, which makes the halves; without `rules`
    unknown : what stands in `y_true` for truth that is not known, as in `fit_empirical`: such cells count for no rule
    missing, label_names : as in `fit_empirical`; without `rules`, which have their own
    baseline : the name of the rule that the others are held against; None is the first; with `rules`
    confidence : of all intervals; None for no intervals, marks and differences

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        For bad arrays, and for rules of another number of labels or of labels of other names.

    Notes
    -----
    Micro, macro, weighted and samples F have intervals. Each row (or group) is left out once to see how much depends on
    it (the jackknife; Efron & Stein 1981). An interval is about other samples of as many rows from where these come
    from. It is not about rules that are fitted anew: how well a rule was fitted is not in it.

    `result.behind_best` says how far each rule is behind the best by each measure, paired on the same rows, and
    `result.best(measure)` which rules cannot be told apart from the best: the rule that is truly best is among them
    with probability `confidence`, for each measure by itself. Intervals of two rules may overlap although one of them
    is shown to be better, as pairs of figures from the same rows rise and fall together.

    Of rules that are given, `result.differences` has differences to the `baseline`, paired likewise. They hold for
    many rare labels, where a bootstrap of macro-F1 does not: in simulations 95 % intervals held the true difference in
    94 to 100 % of the samples (`experiments/gate/intervals.txt`).

    Examples
    --------
    >>> import thresholds
    >>> rules = {"fixed": thresholds.FixedRule(0.5, 2), "first": thresholds.TopKRule(1)}
    >>> result = thresholds.compare(rules, [[1, 0], [0, 1]], [[0.9, 0.6], [0.4, 0.7]])
    >>> [round(row.micro, 2) for row in result.measures]
    [0.8, 1.0]
    >>> result.best("micro")  # two rows do not tell them apart
    ('fixed', 'first')
    """
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    confidence = None if confidence is None else _checks.inside(confidence, "confidence")
    _refuse_no_rules(rules)
    if isinstance(rules, Mapping):
        _refuse_what_is_for_fits(label_names, random_state, missing)
        baseline = _baseline_of(rules, baseline)
        label_names = _common_names(rules)
    elif baseline is not None:
        raise InputError(
            f"baseline is {_checks.shown(baseline)} without rules, expected None: it is for rules that are given"
        )

    # The rows, labels in the order of the first rule's that has names.
    beside = {"y_score": y_score, "y_true": y_true}
    sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
    groups = _checks.aligned_rows(groups, "groups", **beside)
    y_true, y_score, names = _checks.aligned(
        y_true, "y_true", y_score, "y_score", label_names, unknown=unknown
    )
    if not isinstance(rules, Mapping):
        problem = Problem.of(
            y_true,
            y_score,
            sample_weight=sample_weight,
            groups=groups,
            missing=missing,
            unknown=unknown,
            label_names=names,
        )
        return _fit_and_compare(
            rules, problem, sample_weight, beta, zero_division, random_state, confidence
        )
    problem = Problem.of(y_true, y_score, sample_weight=sample_weight, unknown=unknown)
    problem = replace(problem, label_names=names)
    for name, rule in rules.items():
        if rule.n_labels is not None:
            _checks.label_count(problem.scores.shape, rule.n_labels, f"rule {name!r}")
    # (n_samples,) or None
    numbers = None if groups is None else group_numbers(groups, problem.n_samples)
    judged = judge_side_by_side(
        rules,
        problem,
        beta=beta,
        zero_division=zero_division,
        groups=numbers,
        confidence=confidence,
        baseline=baseline,
    )
    rows = f"rules as given, judged on {counted(problem.n_samples, 'row')}"
    return replace(judged, rows=about_given_rules(rows, judged.fitted_here))


def _refuse_what_is_for_fits(label_names: object, random_state: object, missing: object) -> None:
    """Refuse arguments that rules which are given have no use for, unless they are the defaults."""
    for name, value, default in (
        ("label_names", label_names, None),
        ("random_state", random_state, SEED),
        ("missing", missing, 0.0),
    ):
        if value is not default and not (isinstance(value, int | float) and value == default):
            raise InputError(
                f"{name} is given with rules, expected {default}: it is for rules that are fitted here"
            )


def _baseline_of(rules: Mapping[str, Rule], baseline: object) -> str:
    """Return the name of the rule that others are held against: the first, unless another is named."""
    if baseline is None:
        return next(iter(rules))
    if not isinstance(baseline, str) or baseline not in rules:
        raise InputError(
            f"baseline is {_checks.shown(baseline)}, expected the name of a rule: {_checks.listed(rules)}"
        )
    return baseline


def _refuse_no_rules(rules: object) -> None:
    """Refuse a mapping that is not of names to rules, and what names no rules that could be fitted."""
    if not isinstance(rules, Mapping):
        chosen_rules(rules)
        return
    if not rules:
        raise InputError("rules is {}, expected a mapping of names to rules, or None")
    for name, rule in rules.items():
        if not isinstance(name, str) or not isinstance(rule, Rule):
            raise InputError(
                f"rules has {_checks.shown(name)}: {_checks.shown(rule)}, expected names and rules"
            )


def _fit_and_compare(
    asked: object,
    problem: Problem,
    sample_weight: object,
    beta: float,
    zero_division: float,
    random_state: int | None,
    confidence: float | None,
) -> Comparison:
    """Fit rules on half of the rows, and judge them on the other half."""
    groups = problem.groups  # (n_samples,) or None
    to_fit, to_judge, how = halves(problem.truth, groups, random_state)
    weights = None if sample_weight is None else np.asarray(sample_weight)  # (n_samples,)
    for rows, purpose in ((to_fit, "fit on"), (to_judge, "judge")):
        if weights is not None and not weights[rows].any():
            raise InputError(
                f"sample_weight is 0 for every row of the half to {purpose}, expected a positive weight in both halves"
            )

    # The first half, which nothing keeps afterwards.
    fitted = fit_rules(problem.part(to_fit, weights), asked, beta=beta, zero_division=zero_division)
    if not fitted.rules:
        name, reason = next(iter(fitted.left_out.items()))
        raise InputError(f"rules has {name!r} alone, which cannot be fitted here: {reason}")

    # The second half.
    judged = judge_side_by_side(
        fitted.rules,
        replace(problem.part(to_judge, weights), missing=0.0),
        beta=beta,
        zero_division=zero_division,
        groups=None if groups is None else group_numbers(groups[to_judge], to_judge.size),
        confidence=confidence,
    )
    return replace(
        judged,
        rows=fitted_and_judged(to_fit.size, to_judge.size, how),
        left_out=fitted.left_out,
    )


def about_given_rules(judged: str, fitted_here: tuple[str, ...]) -> str:
    """Add to what judges rules that were given which of them were fitted on these rows."""
    if not fitted_here:
        return f"{judged}; the figures of a rule that was fitted on any of them are too high"
    names = ", ".join(map(shown_name, fitted_here))
    return f"{judged}; fitted on these: {names}, whose figures are too high"


def _common_names(rules: Mapping[str, Rule]) -> tuple[str, ...] | None:
    """Return the label names of the first rule that has any, and refuse rules of labels of other names."""
    known = {name: rule.label_names for name, rule in rules.items() if rule.label_names is not None}
    if not known:
        return None
    first = next(iter(known))
    for name, names in known.items():
        _checks.places(names, known[first], f"rule {name!r}", f"those of rule {first!r}")
    return known[first]
