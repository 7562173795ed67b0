"""What `table.py` measures fits against, and F1 counted apart from the package."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch
from measuring import THREADS, Floats, Ratio, Scores, Truth
from numba import njit, prange
from sklearn.metrics import precision_recall_curve
from torchmetrics.classification import MultilabelPrecisionRecallCurve

Ints = npt.NDArray[np.int64]

LOOP = "loop of scikit-learn's `precision_recall_curve`"
ARGSORT = "compiled argsort of each label, 2 threads"
NUMPY_SORT = "NumPy's `np.sort` of each label, 2 threads"
TORCH = "torchmetrics' exact curve"
BLOCK = 8  # labels that a thread copies together, so that what it sorts is contiguous
NUMPY_BLOCK = 16  # as many, by NumPy
SAME = 1e-12
STRIP = 512  # rows that it copies at a time

torch.set_num_threads(THREADS)
numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))


def sklearn_cut(truth: Truth, scores: npt.NDArray[Any]) -> float:
    """Give the threshold of highest F1 of one label, the way it is usually done."""
    precision, recall, cuts = precision_recall_curve(truth, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, np.finfo(np.float64).tiny)
    return float(cuts[np.argmax(f1[:-1])])


def sklearn_cuts(truth: Truth, scores: npt.NDArray[Any], labels: Ints, cuts: Floats) -> None:
    """Write the thresholds of some labels."""
    for j in labels:
        cuts[j] = sklearn_cut(truth[:, j], scores[:, j])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def best_cut(order: Any, scores: Any, truth: Any) -> Any:
    """Give the cut of highest F1 of one label in rising order."""
    positives, tp, best, cut = truth.sum(), 0, 0.0, np.inf
    for k in range(1, order.size + 1):
        i = order[order.size - k]
        tp += truth[i]
        if k < order.size and scores[order[order.size - k - 1]] == scores[i]:
            continue
        f1 = 2 * tp / (positives + k)
        if f1 > best:
            best, cut = f1, np.float64(scores[i])
    return cut


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def argsort_cuts(truth: Any, scores: Any, starts: Any, cuts: Any) -> None:
    """Write the cuts of highest F1 of blocks of labels, each copied to be contiguous and sorted with its rows."""
    for block in prange(starts.size):
        start = starts[block]
        stop = min(start + BLOCK, scores.shape[1])
        columns = np.empty((stop - start, scores.shape[0]), scores.dtype)
        hits = np.empty(columns.shape, truth.dtype)
        for low in range(0, scores.shape[0], STRIP):
            for j in range(start, stop):
                for i in range(low, min(low + STRIP, scores.shape[0])):
                    columns[j - start, i] = scores[i, j]
                    hits[j - start, i] = truth[i, j]
        for j in range(start, stop):
            column = columns[j - start]
            cuts[j] = best_cut(np.argsort(column), column, hits[j - start])


def numpy_sort_f1(truth: Truth, scores: npt.NDArray[Any], f1: Floats) -> None:
    """Write the highest F1 of each label by NumPy alone: its scores, and those of its positives, are sorted."""
    # Floats are sorted and searched by vector instructions, float16 and bytes are not.
    dtype = scores.dtype if scores.dtype in (np.float32, np.float64) else np.dtype(np.float32)

    def write(start: int) -> None:
        labels = slice(start, start + NUMPY_BLOCK)
        columns = np.ascontiguousarray(scores[:, labels].T, dtype)
        hits = np.ascontiguousarray(truth[:, labels].T).view(np.bool_)
        for j, (column, is_hit) in enumerate(zip(columns, hits, strict=True), start):
            cuts = np.sort(column[is_hit])
            column.sort()
            tp = cuts.size - np.searchsorted(cuts, cuts)
            predicted = column.size - np.searchsorted(column, cuts)
            f1[j] = (2 * tp / (cuts.size + predicted)).max()

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(write, range(0, scores.shape[1], NUMPY_BLOCK)))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def compiled_sort(values: Any) -> Any:
    """Sort by Numba."""
    return np.sort(values)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def best_cut_for_rows(order: Any, scores: Any, truth: Any) -> Any:
    """Give the one cut of highest mean F1 of rows, from the rising order of all cells."""
    tp, predicted = np.zeros(len(scores)), np.zeros(len(scores))
    positives = np.array([row.sum() for row in truth]).astype(np.float64)
    flat, hits = scores.reshape(-1), truth.reshape(-1)
    total, best, cut = 0.0, 0.0, np.inf
    for k in range(1, order.size + 1):
        cell = order[order.size - k]
        i = cell // scores.shape[1]
        if tp[i] > 0:
            total -= 2 * tp[i] / (positives[i] + predicted[i])
        tp[i] += hits[cell]
        predicted[i] += 1
        if tp[i] > 0:
            total += 2 * tp[i] / (positives[i] + predicted[i])
        if (k == order.size or flat[order[order.size - k - 1]] != flat[cell]) and total > best:
            best, cut = total, np.float64(flat[cell])
    return cut


def best_micro_of_sorted(upward: Scores, truth: Truth, scores: Scores) -> float:
    """Give the highest micro F1 of one cut for all labels: it lies at the score of a positive."""
    hits = np.sort(scores[truth > 0])
    tp = hits.size - np.searchsorted(hits, hits)
    predicted = upward.size - np.searchsorted(upward, hits)
    return float((2 * tp / (hits.size + predicted)).max())


def torch_cuts(truth: Truth, probabilities: Scores) -> list[float]:
    """Give the thresholds of highest F1 by torchmetrics' exact curve."""
    curve = MultilabelPrecisionRecallCurve(num_labels=truth.shape[1], thresholds=None)
    cuts = []
    curve.update(torch.from_numpy(probabilities), torch.from_numpy(truth).long())
    for precision, recall, values in zip(*curve.compute(), strict=True):
        f1 = 2 * precision * recall / (precision + recall).clamp(min=torch.finfo(precision.dtype).tiny)
        cuts.append(float(values[f1[:-1].argmax()]))
    return cuts


def counts_by_label(truth: Truth, scores: npt.NDArray[Any], cuts: Floats) -> Ints:
    """Count hits, predictions and positives of each label at its cut, by NumPy."""
    counts = np.zeros((3, scores.shape[1]), np.int64)
    rows = max(1, 2**21 // scores.shape[1])
    for start in range(0, len(scores), rows):
        part = truth[start : start + rows] > 0
        predicted = scores[start : start + rows].astype(np.float64) >= cuts
        for count, marks in zip(counts, (predicted & part, predicted, part), strict=True):
            count += np.count_nonzero(marks, axis=0)
    return counts


def f1_by_label(truth: Truth, scores: npt.NDArray[Any], cuts: Floats) -> Floats:
    """Count F1 of each label at its cut; each has positives."""
    tp, predicted, positives = counts_by_label(truth, scores, cuts)
    return 2 * tp / (positives + predicted)


def f1_of_rows(truth: Truth, scores: Scores, cut: float) -> float:
    """Count the mean F1 of rows at one cut."""
    predicted = scores.astype(np.float64) >= cut
    tp, sizes = (predicted & (truth > 0)).sum(axis=1), predicted.sum(axis=1) + truth.sum(axis=1)
    return float((2 * tp / np.maximum(sizes, 1)).mean())


def same(what: str, ours: float | Floats, theirs: float | Floats) -> Ratio:
    """Hold the largest difference to a bound."""
    return Ratio(what, float(np.abs(np.asarray(ours) - theirs).max()), at_most=SAME)


def no_higher(what: str, theirs: float | Floats, ours: float | Floats) -> Ratio:
    """Hold what a rival has more than we have to a bound."""
    return Ratio(f"{what}, more than ours", float(np.max(np.asarray(theirs) - ours)), at_most=SAME)
