"""LibMultiLabel's rule "micromacro" for given scores: a re-implementation, to compare guards with.

The rule: Lin and Lin 2023, "On the thresholding strategy for infrequent labels in multi-label classification" (CIKM).
Labels are taken in the order of falling frequency. The rows are split at random into folds, anew for each label; in
each fold the cut is chosen that maximises

    (F1 of the label in the fold) / (number of labels so far)  +  micro F1 of the fold's cut and of all labels before

ties going to the higher cut, and the threshold is the mean of the folds' thresholds. What the labels before count is
the sum of what their folds' cuts count in their folds. As in LibMultiLabel a cut lies in the middle between two
neighbours in the order of the scores, beyond the last score for all or none, and a label is predicted above it; tied
scores are not kept together while the cut is chosen, so that a cut amid equal scores decides differently than it was
judged. LibMultiLabel has 3 folds and trains a model on the others for each; here the scores are given and stay the
same, with 5 folds, as in the earlier comparison.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]


@njit(nogil=True)
def _one_label(
    order: npt.NDArray[np.int64],
    scores: Floats,
    truth: npt.NDArray[np.uint8],
    fold: npt.NDArray[np.int64],
    n_folds: int,
    before: Floats,
    n_labels: int,
) -> float:
    """Give the mean of the folds' thresholds, and add what their cuts count to `before`: tp, fp, fn."""
    added = np.zeros(3)
    threshold = 0.0
    for k in range(n_folds):
        rows = order[fold[order] == k]
        tp, fp, fn = 0.0, 0.0, 0.0
        for i in rows:
            tp += truth[i]
            fp += 1 - truth[i]
        cut, best, best_tp, best_fp, best_fn = -1, -1.0, 0.0, 0.0, 0.0
        for at in range(-1, rows.size):  # Rows up to and with `at` are not predicted.
            if at >= 0:
                if truth[rows[at]]:
                    tp, fn = tp - 1, fn + 1
                else:
                    fp -= 1
            value = 0.0
            if tp > 0:
                value = 2 * tp / (2 * tp + fp + fn) / n_labels
            if tp + before[0] > 0:
                value += 2 * (tp + before[0]) / (2 * (tp + before[0]) + fp + before[1] + fn + before[2])
            if value >= best:
                cut, best, best_tp, best_fp, best_fn = at, value, tp, fp, fn
        if cut == -1:
            threshold += np.nextafter(scores[rows[0]], -np.inf)
        elif cut == rows.size - 1:
            threshold += np.nextafter(scores[rows[cut]], np.inf)
        else:
            threshold += (scores[rows[cut]] + scores[rows[cut + 1]]) / 2
        added += np.array([best_tp, best_fp, best_fn])
    before += added
    return threshold / n_folds


def micromacro(y_true: Any, y_score: Any, n_folds: int = 5, random_state: int = 0) -> Floats:
    """Give thresholds t for the rule "positive iff score >= t".

    y_true : (n_samples, n_labels) 0/1, dense or scipy.sparse; y_score : the same shape, absent entries are 0.
    Needs at least `n_folds` rows.
    """
    truth, scores = (cells.tocsc() if hasattr(cells, "tocsc") else np.asarray(cells) for cells in (y_true, y_score))
    n_samples, n_labels = scores.shape
    positives = np.asarray(truth.sum(axis=0)).reshape(-1)
    rng = np.random.default_rng(random_state)
    thresholds, before = np.empty(n_labels), np.zeros(3)
    for place, label in enumerate(np.argsort(positives, kind="stable")[::-1]):
        own, true = _column(scores, label).astype(np.float64), _column(truth, label).astype(np.uint8)
        fold = rng.permutation(n_samples) % n_folds
        order = np.argsort(own, kind="stable")
        thresholds[label] = _one_label(order, own, true, fold, n_folds, before, place + 1)
    return np.nextafter(thresholds, np.inf)  # LibMultiLabel predicts scores above the threshold.


def _column(cells: Any, label: int) -> Any:
    """Give a column as a dense vector."""
    column = cells[:, [label]]
    return (column.toarray() if hasattr(column, "toarray") else column).reshape(-1)
