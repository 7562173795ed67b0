"""Out-of-fold scores, pooled, and the thresholds that are fitted on them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresholds._arrays.types import Ints, Matrix
from thresholds.data.folds import seed_of_folds
from thresholds.fitting.empirical import fit_empirical
from thresholds.rule import OutOfFold, ThresholdRule
from thresholds.sklearn.fitting import Fold, is_constant
from thresholds.sklearn.splits import fold_count
from thresholds.sklearn.targets import Target
from thresholds.validation.cross_fit import CrossFit, cross_fit


@dataclass(frozen=True)
class Pooled:
    """Scores of judged rows, each by a classifier that was not fitted on it."""

    rows: Ints  # (n_judged,), rising
    folds: Ints  # (n_judged,)
    scores: Matrix  # (n_judged, n_labels)


def pool(parts: list[Matrix], target: Target, folds: list[Fold], method: str) -> Pooled:
    """Put the scores of the folds together, in the order of rows."""
    tests = [fold.test for fold in folds if fold.test is not None]
    order = np.argsort(np.concatenate(tests), kind="stable")
    of_fold = np.repeat(np.arange(len(tests)), [test.size for test in tests])
    scores = np.concatenate(parts)[order]
    pooled = Pooled(np.concatenate(tests)[order], of_fold[order], scores)
    if method == "decision_function" and folds[0].train is not None:
        _fill_unlearned(pooled, target, folds)
    return pooled


def _fill_unlearned(pooled: Pooled, target: Target, folds: list[Fold]) -> None:
    """Return the lowest score to labels that a fold's classifier saw no positives of; the highest, if no negatives.

    OneVsRestClassifier gives these 0 or 1, which is amid the scores of the other folds.
    """
    trained = [fold.train for fold in folds if fold.train is not None and fold.test is not None]
    positives = np.stack([target.positives(train) for train in trained])
    constant = np.stack(
        [is_constant(row, train.size) for row, train in zip(positives, trained, strict=True)]
    )
    for label in np.flatnonzero(constant.any(axis=0)):
        scores, unlearned = pooled.scores[:, label], constant[pooled.folds, label]
        for k in np.flatnonzero(constant[:, label]):
            inside = pooled.folds == k
            if np.ptp(scores[inside]) == 0 and not unlearned.all():
                ends = scores[~unlearned].min(), scores[~unlearned].max()
                scores[inside] = ends[0] if positives[k, label] == 0 else ends[1]


def fit_thresholds(
    target: Target,
    pooled: Pooled,
    weights: Any,
    groups: Ints | None,
    how: str,
    seed: int | None,
    options: dict[str, Any],
) -> tuple[ThresholdRule, CrossFit | None]:
    """Fit a rule, and cross-fit it over the folds of the scores; over new ones, if these are a single part.

    `how` says where the folds of the scores come from, `seed` is that of all folds made here, `options` are those of
    `fit_empirical`.
    """
    truth = target.truth[pooled.rows]
    weights = None if weights is None else weights[pooled.rows]
    groups = None if groups is None else groups[pooled.rows]
    options = options | {"sample_weight": weights, "label_names": target.label_names}
    if pooled.folds.any():
        found = cross_fit(truth, pooled.scores, cv=pooled.folds, **options)
        known = OutOfFold(
            found.out_of_fold, len(found.fold_thresholds), how, seed_of_folds(how, seed)
        )
        found = replace(found, rule=replace(found.rule, out_of_fold=known), how=how)
        return found.rule, found
    n_folds = fold_count(len(pooled.rows), weights, groups)
    if n_folds < 2:
        return fit_empirical(truth, pooled.scores, **options), None
    found = cross_fit(truth, pooled.scores, cv=n_folds, groups=groups, random_state=seed, **options)
    return found.rule, found
