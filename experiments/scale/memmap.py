"""Ten million rows by 200 labels in a memory map: time a score against a slice in memory, and memory beside the map.

Rows are made up (`measuring.py`), and written to temporary files, 10 GB of them. The slice is the first million rows,
copied into memory. A function on the slice and the same on the map take turns, on the threads that the machine has;
seconds are medians, memory is the most of all runs. Whether the files stay in the memory of the system decides much: it
is said how large they are, and how much memory there is.

    python experiments/scale/memmap.py [ROWS [RUNS]] > experiments/scale/memmap.txt
"""

import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from measuring import N_LABELS, cost_of, medians, write_arrays

import thresholds
from thresholds._arrays.memory import memory_limit
from thresholds._arrays.threads import workers

N_SLICE = 1_000_000
CALLS = {
    "macro": thresholds.fit_empirical,
    "weighted": partial(thresholds.fit_empirical, average="weighted"),
    "micro": partial(thresholds.fit_empirical, average="micro"),
    "macro, shrink": partial(thresholds.fit_empirical, guard="shrink"),
    "cross_fit": thresholds.cross_fit,
}


def main(n: int, n_runs: int) -> None:
    """Time both, in turns, for each function."""
    with tempfile.TemporaryDirectory() as folder:
        truth, scores = write_arrays(Path(folder), n)
        limit = memory_limit() or 0
        print(
            f"{n:,} rows x {N_LABELS} labels, float32 scores and uint8 truth: {5 * scores.size / 1e9:.3g} GB of files"
        )
        print(f"{limit / 1e9:.3g} GB of memory, {workers(-1)} threads; medians of {n_runs} runs")
        print(f"slice in memory: the first {N_SLICE:,} rows")
        print()
        print("call            ns a score, slice   ns a score, map   ratio   MB beside the map")
        part = np.array(truth[:N_SLICE]), np.array(scores[:N_SLICE])
        for name, call in CALLS.items():
            call(*(array[: N_SLICE // 10] for array in part))  # loads kernels
            in_memory, mapped = [], []
            for _ in range(n_runs):
                in_memory.append(cost_of(partial(call, *part))[0])
                mapped.append(cost_of(partial(call, truth, scores))[0])
            of_slice = 1e9 * medians(in_memory).seconds / part[1].size
            of_map = 1e9 * medians(mapped).seconds / scores.size
            beside = medians(mapped).bytes / 1e6
            print(f"{name:15} {of_slice:17.2f} {of_map:17.2f} {of_map / of_slice:7.2f} {beside:19.0f}")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(*given, *(10_000_000, 5)[len(given) :])
