"""Odds by score for a rule that a plain fit made: what `diff_rules` tells news from noise by.

A plain fit of dense scores counts them, and sorts none. The curves take a sorted label each, and so about as long as
that fit, or several times that. So only `cross_fit`, which sorts anyway, fits them unasked.
"""

from dataclasses import replace
from typing import TypeVar

from thresholds._checks import InputError
from thresholds._engine.problem import Problem
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.fitting.odds import odds_by_score
from thresholds.metrics.judging import f_measure, judge
from thresholds.rule import ThresholdRule
from thresholds.rule.capped import CappedRule

_SAME_OBJECTIVE = 1e-9  # F of the same decisions, added up in another order

AnyRule = TypeVar("AnyRule", ThresholdRule, CappedRule)


def keep_odds(
    rule: AnyRule,
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    unknown: object = None,
    n_jobs: int | None = -1,
) -> AnyRule:
    """Give a rule of `fit_empirical` what tells `diff_rules` news from noise: how often labels are true by their score.

    A rule of `cross_fit`, or of the command fit, has it already, and gets the same again. Thresholds stay as they are.

    Parameters
    ----------
    rule : ThresholdRule that was fitted on labels, or a CappedRule around one
    y_true, y_score, sample_weight, unknown : the rows that the rule was fitted on, as in `fit_empirical`
        Labels go by name where both have names.
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.

    Returns
    -------
    The rule with `odds`: a logistic curve of each label with its errors, some 70 bytes a label in a file.

    Raises
    ------
    InputError
        As `fit_empirical`; for a rule of another kind; for other rows than those of the fit.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def week(seed, shift=0.0):
    ...     rng = np.random.default_rng(seed)
    ...     truth = rng.random((1000, 2)) < 0.2
    ...     return truth, rng.normal(size=truth.shape) + 2 * truth + [0.0, shift]
    >>> first, second = week(0), week(1, shift=1.0)
    >>> old, new = (thresholds.keep_odds(thresholds.fit_empirical(*rows), *rows) for rows in (first, second))
    >>> thresholds.diff_rules(old, new).table["verdict"]
    array(['noise', 'news'], dtype='<U8')
    """
    of_labels = rule.uncapped if isinstance(rule, CappedRule) else rule
    if not isinstance(of_labels, ThresholdRule):
        raise InputError(
            f"rule is of type {type(rule).__name__}, expected a ThresholdRule, or a CappedRule around one"
        )
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=rule.missing,
        unknown=unknown,
        label_names=rule.label_names,
    )
    if not was_fitted_on(rule, problem):
        raise InputError(
            "y_true and y_score are other rows than those that rule was fitted on, or it was fitted without labels,"
            " expected the rows of its fit: its odds are those of its own rows"
        )
    if rule.objective is not None:
        # The same rows in another order than their truth have the same counts, and another F.
        assert rule.average is not None, "what is fitted has one"
        by_row = rule.average == "samples"
        judged = judge(rule, problem, by_row=by_row, n_jobs=n_jobs)
        reached = f_measure(
            judged, problem.sample_weight, rule.average, rule.beta, rule.zero_division
        )
        if abs(reached - rule.objective) > _SAME_OBJECTIVE:
            raise InputError(
                f"rule reaches an F of {reached:.6g} on y_true and y_score, expected {rule.objective:.6g}, as on the"
                " rows of its fit: are the rows of both in the same order?"
            )
    odds = odds_by_score(problem, of_labels.thresholds, n_jobs=n_jobs)
    of_labels = replace(of_labels, odds=odds)
    return replace(rule, rule=of_labels) if isinstance(rule, CappedRule) else of_labels
