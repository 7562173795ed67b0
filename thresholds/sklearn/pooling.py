"""Out-of-fold scores, pooled, and the rule that is fitted on them."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Ints, Matrix
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import UNKNOWN
from thresholds.data.folds import seed_of_folds, usual_folds
from thresholds.fitting.by_name import fit_named
from thresholds.fitting.options import FitOptions
from thresholds.rule import Rule
from thresholds.sklearn.fitting import Fold, is_constant
from thresholds.sklearn.targets import Target
from thresholds.validation.cross_fit import CrossFit, cross_fit, in_sample


@dataclass(frozen=True)
class Pooled:
    """Scores of judged rows, each by a classifier that was not fitted on it."""

    rows: Ints  # (n_judged,), rising
    folds: Ints  # (n_judged,)
    scores: Matrix  # (n_judged, n_labels)


class FittedRule(NamedTuple):
    """A rule, what it reaches on the rows of its fit, and what may be expected on others."""

    rule: Rule
    in_sample: float
    found: CrossFit | None  # None for a single row


def pool(fold_scores: list[Matrix], target: Target, folds: list[Fold], method: str) -> Pooled:
    """Put the scores of the folds together, in the order of rows."""
    tests = [fold.test for fold in folds if fold.test is not None]
    rows = np.concatenate(tests)  # (n_judged,)
    fold_numbers = np.repeat(np.arange(len(tests)), [test.size for test in tests])
    scores = np.concatenate(fold_scores)  # (n_judged, n_labels)
    order = np.argsort(rows, kind="stable")
    pooled = Pooled(rows[order], fold_numbers[order], scores[order])
    if method == "decision_function" and folds[0].train is not None:
        _fill_unlearned(pooled, target, folds)
    return pooled


def _fill_unlearned(pooled: Pooled, target: Target, folds: list[Fold]) -> None:
    """Give labels that a fold's classifier saw no positives of the lowest score; the highest, if no negatives.

    OneVsRestClassifier gives these 0 or 1, which is amid the scores of the other folds.
    """
    trained = [fold.train for fold in folds if fold.train is not None and fold.test is not None]
    positives = np.stack([target.positives(train) for train in trained])  # (n_folds, n_labels)
    n_rows = np.stack([target.known(train) for train in trained])  # (n_folds, n_labels)
    constant = is_constant(positives, n_rows)  # (n_folds, n_labels)
    for label in np.flatnonzero(constant.any(axis=0)):
        scores = pooled.scores[:, label]  # a view, which is written to
        is_unlearned = constant[pooled.folds, label]  # (n_judged,)
        if is_unlearned.all():
            continue
        lowest = scores[~is_unlearned].min()
        highest = scores[~is_unlearned].max()
        for k in np.flatnonzero(constant[:, label]):
            inside = pooled.folds == k
            if np.ptp(scores[inside]) == 0:
                scores[inside] = lowest if positives[k, label] == 0 else highest


def fit_rule(
    target: Target,
    pooled: Pooled,
    weights: Any,
    groups: Ints | None,
    how: str,
    seed: int | None,
    options: dict[str, Any],
) -> FittedRule:
    """Fit a rule, and cross-fit it over the folds of the scores; over new ones, if these are a single part.

    `how` says where the folds of the scores come from, `seed` is that of all folds made here, `options` are those of
    fits.
    """
    truth = target.coded[pooled.rows]
    if weights is not None:
        weights = weights[pooled.rows]
    if groups is not None:
        groups = groups[pooled.rows]
    about_rows = {
        "sample_weight": weights,
        "unknown": None if target.unknown is None else UNKNOWN,
        "label_names": target.label_names,
    }
    # Groups that folds have kept together already matter to a guard, and to what is promised.
    fit_options = FitOptions(**options)
    groups_of_fit = groups if fit_options.looks_at_groups else None

    # Over the folds of the scores.
    if pooled.folds.any():
        result = cross_fit(
            truth,
            pooled.scores,
            cv=pooled.folds,
            groups=groups_of_fit,
            **about_rows,
            **options,
        )
        assert result.rule.out_of_fold is not None, "cross_fit has it"
        kept = replace(result.rule.out_of_fold, how=how, random_state=seed_of_folds(how, seed))
        rule = replace(result.rule, out_of_fold=kept)
        return FittedRule(rule, result.in_sample, replace(result, rule=rule, how=how))

    # Over new ones.
    n_folds = usual_folds(len(pooled.rows), groups, weights)
    if n_folds < 2:
        problem = Problem.of(
            truth,
            pooled.scores,
            groups=groups_of_fit,
            **about_rows,
        )
        rule = fit_named(problem, fit_options)
        return FittedRule(rule, in_sample(rule, problem, fit_options), None)
    result = cross_fit(
        truth,
        pooled.scores,
        cv=n_folds,
        groups=groups,
        random_state=seed,
        **about_rows,
        **options,
    )
    return FittedRule(result.rule, result.in_sample, result)
