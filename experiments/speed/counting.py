"""Benchmark: the loops that count decisions, and sum probabilities, against the loops that they replace, one thread.

Data as in `metrics.py`: 200,000 x 400 truth and predictions, uint8, and the same as CSR, and as many probabilities.
Each pair is interleaved; the ratio is that of the medians. Counts must be the same. A pass over probabilities does not
replace the loop it is compared with, which takes out the cells above a cut: it shows what compacting would cost.

    python experiments/speed/counting.py
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from measuring import make_data, seconds
from numba import njit
from scipy import sparse

from thresholds._kernels import confusion, expected_counts

SHAPE = (200_000, 400)
ROUNDS = 9
CUT = 2.0


@njit(nogil=True)  # type: ignore[untyped-decorator]
def by_label_in_64_bits(truth: Any, predicted: Any, counts: Any) -> None:
    """Add each cell to a sum of 64 bits."""
    for i in range(truth.shape[0]):
        for j in range(truth.shape[1]):
            counts[0, j] += truth[i, j] & predicted[i, j]
            counts[1, j] += predicted[i, j]
            counts[2, j] += truth[i, j]


@njit(nogil=True)  # type: ignore[untyped-decorator]
def by_sample_in_memory(truth: Any, predicted: Any, counts: Any) -> None:
    """Add each cell to the sum of its row where that lies in memory."""
    for i in range(truth.shape[0]):
        for j in range(truth.shape[1]):
            counts[0, i] += truth[i, j] & predicted[i, j]
            counts[1, i] += predicted[i, j]
            counts[2, i] += truth[i, j]


@njit(nogil=True)  # type: ignore[untyped-decorator]
def by_merging(
    true_starts: Any, true_columns: Any, starts: Any, columns: Any, weights: Any, by_label: Any, by_sample: Any
) -> None:
    """Merge the sorted columns of both rows."""
    for i in range(starts.size - 1):
        w, t, p = weights[i], true_starts[i], starts[i]
        t_end, p_end = true_starts[i + 1], starts[i + 1]
        by_sample[1, i], by_sample[2, i] = p_end - p, t_end - t
        for k in range(t, t_end):
            by_label[2, true_columns[k]] += w
        for k in range(p, p_end):
            by_label[1, columns[k]] += w
        while t < t_end and p < p_end:
            if true_columns[t] < columns[p]:
                t += 1
            elif true_columns[t] > columns[p]:
                p += 1
            else:
                by_label[0, columns[p]] += w
                by_sample[0, i] += 1
                t += 1
                p += 1


@njit(nogil=True)  # type: ignore[untyped-decorator]
def take_out(p: Any, weights: Any, low: Any, sums: Any, kept: Any) -> None:
    """Write the cells above the cut of each label one after another."""
    n_kept = np.zeros(low.size, np.int64)
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            kept[j, n_kept[j]] = p[i, j]
            n_kept[j] += p[i, j] >= low[j]
    sums[1] = n_kept


def add_up(p: Any, weights: Any, low: Any, sums: Any, kept: Any) -> None:
    """Add up the cells above the cut of each label."""
    least = np.full(low.size, np.inf)
    expected_counts.add_rows(p, weights, low, *sums, least)


def compare_passes(scores: Any) -> None:
    """Print one line about a pass over probabilities."""
    p = 1 / (1 + np.exp(3 - scores))
    n, m = p.shape
    inputs = (p, np.ones(n), np.full(m, 0.3))
    kept, times = np.empty((m, n + 1), p.dtype), ([], [])
    for _ in range(ROUNDS + 1):
        found = []
        for function, spent in zip((add_up, take_out), times, strict=True):
            sums = np.zeros((3, m))
            spent.append(seconds(lambda function=function, sums=sums: function(*inputs, sums, kept)))  # type: ignore[misc]
            found.append(sums[1])
        assert (found[0] == found[1]).all()
    print_medians("probabilities, sums", *(spent[1:] for spent in times))


def print_medians(name: str, ours: list[float], plain: list[float]) -> None:
    """Print one line."""
    fast, slow = (float(np.median(spent)) * 1e3 for spent in (ours, plain))
    print(f"{name:28}{fast:9.2f}{slow:9.2f}{slow / fast:9.1f}")


def compare(
    name: str, ours: Callable[..., None], plain: Callable[..., None], inputs: tuple[Any, ...], *sizes: int
) -> None:
    """Print one line."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS + 1):
        counted = []
        for function, spent in zip((ours, plain), times, strict=True):
            counts = [np.zeros((3, size), np.int64) for size in sizes]
            spent.append(seconds(lambda function=function, counts=counts: function(*inputs, *counts)))  # type: ignore[misc]
            counted.append(counts)
        assert all((a == b).all() for a, b in zip(*counted, strict=True))
        if turn == 0:  # Which compiles.
            times = ([], [])
    print_medians(name, *times)


def main() -> None:
    """Print the table."""
    truth, scores = make_data(*SHAPE)
    predicted = (scores >= CUT).astype(np.uint8)
    t, p = sparse.csr_array(truth), sparse.csr_array(predicted)
    places = (t.indptr, t.indices, p.indptr, p.indices, np.ones(SHAPE[0], np.int64))
    print(f"{'milliseconds':28}{'kernel':>9}{'plain':>9}{'ratio':>9}")
    compare("by label, sums of bytes", confusion.count_by_label, by_label_in_64_bits, (truth, predicted), SHAPE[1])
    compare("by row, sums in registers", confusion.count_by_sample, by_sample_in_memory, (truth, predicted), SHAPE[0])
    compare("CSR, marks for a merge", confusion.count_sparse, by_merging, places, SHAPE[1], SHAPE[0])
    compare_passes(scores)


if __name__ == "__main__":
    main()
