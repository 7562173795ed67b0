"""SCutFBR.1, the published protection of rare labels, to compare guards with: here with exact cuts and regard to ties.

A label's threshold is the mean of those that are best on folds of the rows; on a fold where the best F1 is at most
`fbr`, the highest score takes its place, so that hardly anything is predicted. Each label's `fbr` is the candidate of
highest F1, added up over an outer cross-validation; ties go to the largest.

Yang 2001, "A study of thresholding strategies for text categorization"; Lewis, Yang, Rose and Li 2004, "RCV1: a new
benchmark collection for text categorization research"; Fan and Lin 2007, "A study on threshold selection for
multi-label classification", with its ordering of the candidates.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import thresholds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CANDIDATES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # of `fbr`


class Fold(NamedTuple):
    """What the rows of a fold say of each label."""

    f1: Floats  # of the best cut
    best_cut: Floats
    highest_score: Floats


def scut_fbr(
    y_true: Any,
    y_score: Any,
    candidates: Sequence[float] = CANDIDATES,
    n_folds: int = 3,
    random_state: int = 0,
) -> thresholds.ThresholdRule:
    """Choose the thresholds; needs at least `n_folds` squared rows.

    y_true : (n_samples, n_labels) 0/1, dense or CSR; y_score : the same shape, absent entries are 0.
    """
    rising = np.sort(candidates)
    outer = thresholds.multilabel_folds(y_true, n_folds, random_state=random_state)

    # F1 of each candidate on rows that did not choose its thresholds, added up.
    total = np.zeros((rising.size, y_score.shape[1]))
    for k in range(n_folds):
        train = np.flatnonzero(outer != k)
        rest = np.flatnonzero(outer == k)
        inner = thresholds.multilabel_folds(y_true[train], n_folds, random_state=random_state)
        folds = read_folds(y_true[train], y_score[train], inner)
        for place, fbr in enumerate(rising):
            rule = thresholds.ThresholdRule(mean_cuts(folds, fbr))
            total[place] += f1_of(rule, y_true[rest], y_score[rest])

    # The largest of the best; where all reach nothing, the smallest.
    last_best = rising.size - 1 - np.argmax(total[::-1], axis=0)
    fbr_of_label = np.where(total.max(axis=0) > 0, rising[last_best], rising[0])
    cuts = mean_cuts(read_folds(y_true, y_score, outer), fbr_of_label)
    positives = np.asarray(y_true.sum(axis=0)).reshape(-1)
    return thresholds.ThresholdRule(np.where(positives > 0, cuts, np.inf))


def read_folds(y_true: Any, y_score: Any, folds: Ints) -> list[Fold]:
    """Find the best cuts of each fold of the rows."""
    read = []
    for k in np.unique(folds):
        rows = np.flatnonzero(folds == k)
        truth, scores = y_true[rows], y_score[rows]
        rule = thresholds.fit_empirical(truth, scores, placement="score", n_jobs=1)
        highest = scores.max(axis=0)
        highest = np.asarray(highest.todense() if hasattr(highest, "todense") else highest, np.float64).reshape(-1)
        # Masked on all rows: never.
        highest = np.where(np.isneginf(highest), np.inf, highest)
        read.append(Fold(f1_of(rule, truth, scores), rule.thresholds, highest))
    return read


def mean_cuts(folds: list[Fold], fbr: Any) -> Floats:
    """Give the mean over folds of the best cut, or of the highest score where the best F1 is not above `fbr`."""
    cuts = np.array([np.where(fold.f1 <= fbr, fold.highest_score, fold.best_cut) for fold in folds])
    never = np.isposinf(cuts).any(axis=0)
    finite = np.where(never, 0, cuts)
    with np.errstate(over="ignore"):
        mean = (finite / len(folds)).sum(axis=0)
    # The mean of equal cuts is that cut, whatever rounding says.
    mean = np.clip(mean, finite.min(axis=0), finite.max(axis=0))
    return np.where(never, np.inf, mean)


def f1_of(rule: thresholds.ThresholdRule, y_true: Any, y_score: Any) -> Floats:
    """Give F1 of each label; 0/0 is 0."""
    decided = rule.predict(y_score, dense=rule.predicts_missing)
    f1 = thresholds.metrics.f1_score(y_true, decided, average=None, zero_division=0)
    return np.asarray(f1, np.float64)
