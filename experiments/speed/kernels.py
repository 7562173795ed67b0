"""Benchmark: the pieces of the staircase kernel, one label of 200,000 Gaussian scores, one thread.

Prints nanoseconds a score for the radix sort, for NumPy's sort of the same keys, for finding each score's place
among the positives by binary search, and for the whole staircase: why scores are sorted.

    python experiments/speed/kernels.py
"""

import time
from collections.abc import Callable

import numpy as np

from thresholds._kernels.keys import to_keys
from thresholds._kernels.sorting import _radix_sort
from thresholds.data.panels import Panel
from thresholds.data.problem import Items

N_SCORES = 200_000
ROUNDS = 15


def nanoseconds(work: Callable[[], object]) -> float:
    """Median time of some work, after a first call, divided by the scores."""
    work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / N_SCORES * 1e9


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    none = np.empty(0, np.int32)
    print(f"{'ns a score':34}{'float32':>9}{'float64':>9}")
    rows: dict[str, list[float]] = {}
    for dtype in (np.float32, np.float64):
        keys = to_keys(rng.standard_normal(N_SCORES).astype(dtype))
        spare = np.empty_like(keys)
        rows.setdefault("radix sort", []).append(
            nanoseconds(lambda keys=keys, spare=spare: _radix_sort(keys.copy(), none, spare, none))
        )
        rows.setdefault("np.sort", []).append(nanoseconds(lambda keys=keys: np.sort(keys)))
        for rate in (0.001, 0.1):
            truth = (rng.random(N_SCORES) < rate).astype(np.uint8)
            grid = np.unique(keys[truth == 1])
            items = Items(np.array([0, N_SCORES]), keys, truth, np.empty(0, np.int64))
            name = f"{rate:.1%} positives"
            rows.setdefault(f"binary search, {name}", []).append(
                nanoseconds(lambda keys=keys, grid=grid: np.searchsorted(grid, keys))
            )
            rows.setdefault(f"whole staircase, {name}", []).append(nanoseconds(lambda items=items: Panel.of(items)))
    for name, times in rows.items():
        print(f"{name:34}" + "".join(f"{value:9.1f}" for value in times))


if __name__ == "__main__":
    main()
