"""Two processes against one, on the same shards.

Rows are made up (`measuring.py`), and lie in two files. A shard is a function that maps them and gives a range of rows.
Shards go to the map of a pool of two processes that were spawned, or to the same loop in this process, on one thread.
Both read the same rows and give the same bits, which is asserted. They take turns; seconds are medians. The fit of the
mapped arrays themselves, on all threads, is given for comparison: where one machine has the rows, that is the way.

    python experiments/scale/processes.py [ROWS [RUNS]] > experiments/scale/processes.txt
"""

import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measuring import N_LABELS, Cost, cost_of, medians, write_arrays

import thresholds

N_SHARDS = 16


def read(folder: str, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Read a shard."""
    names = ("y_true", "y_score")
    truth, scores = (np.load(f"{folder}/{name}.npy", mmap_mode="r")[first:last] for name in names)
    return truth, scores


def here(function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
    """Python's own map, by another name: shards are counted, one after another."""
    return [function(task) for task in tasks]


def main(n: int, n_runs: int) -> None:
    """Time each way, in turns."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2, context) as pool:
        rows = write_arrays(Path(folder), n)
        edges = np.linspace(0, n, N_SHARDS + 1).astype(int).tolist()
        shards = [partial(read, folder, *ends) for ends in pairwise(edges)]
        ways: dict[str, Callable[[], Any]] = {
            "one process, by counts": lambda: thresholds.fit_chunks(shards, map=here, guard=None),
            "two processes, by counts": lambda: thresholds.fit_chunks(shards, map=pool.map, guard=None),
            "mapped arrays, all threads": lambda: thresholds.fit_chunks(rows, guard=None),
        }
        costs: dict[str, list[Cost]] = {way: [] for way in ways}
        fitted = thresholds.fit_chunks(rows, guard=None)
        for run in range(n_runs + 1):
            for way, call in ways.items():
                cost, rule = cost_of(call)
                assert np.array_equal(rule.thresholds, fitted.thresholds)
                assert rule.objective == fitted.objective
                if run:  # The first loads kernels.
                    costs[way].append(cost)
        two, one = costs["two processes, by counts"], costs["one process, by counts"]
        ratio = median(b.seconds / a.seconds for a, b in zip(one, two, strict=True))
        print(f"{n:,} rows x {N_LABELS} labels, macro; medians of {n_runs} runs after a first one")
        print()
        print("way                           seconds   ns a score   MB of this process")
        for way, listed in costs.items():
            cost = medians(listed)
            each = 1e9 * cost.seconds / n / N_LABELS
            print(f"{way:29} {cost.seconds:7.2f} {each:12.2f} {cost.bytes / 1e6:20.0f}")
        print()
        print(f"two processes took {ratio:.2f} of the time of one (median of ratios); thresholds and F are the same")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(*given, *(1_000_000, 3)[len(given) :])
