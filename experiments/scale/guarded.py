"""What memory fits by counts take, with a guard, floors or neither, by the number of distinct scores of positives.

Rows are drawn block by block, 50 labels with a base rate of .2, and never held: each pass draws them again. They come
in four shards, which one thread reads. Memory is the anonymous one of the process, beside what it had before
(`measuring.py`).

    python experiments/scale/guarded.py > experiments/scale/guarded.txt
"""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from measuring import cost_of

import thresholds

N_LABELS, N_SHARDS, BLOCK = 50, 4, 20_000
RATE = 0.2

OPTIONS: tuple[dict[str, Any], ...] = (
    {"average": "macro"},
    {"average": "macro", "min_precision": 0.3, "confidence": 0.9},
    {"average": "macro", "guard": "shrink"},
    {"average": "micro", "guard": "pool"},
)


def shard(number: int, n_blocks: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw the blocks of a shard."""
    rng = np.random.default_rng(number)
    for _ in range(n_blocks):
        truth = rng.random((BLOCK, N_LABELS), np.float32) < RATE
        yield truth, rng.standard_normal(truth.shape, np.float32) + truth


def main(sizes: list[int]) -> None:
    """Print a line for each fit."""
    print(f"{'scores of positives':>20} {'MB':>6} {'bytes a score':>14}  options")
    few = [partial(shard, 0, 1)]
    for n_scores in sizes:
        n_blocks = round(n_scores / RATE / N_LABELS / BLOCK / N_SHARDS)
        source = [partial(shard, number, n_blocks) for number in range(N_SHARDS)]
        for options in OPTIONS:
            thresholds.fit_chunks(few, spill=None, n_jobs=1, **options)  # Kernels are loaded.
            cost, rule = cost_of(partial(thresholds.fit_chunks, source, spill=None, n_jobs=1, **options))
            n_positives = sum(rule.fitted_on.positives)
            about = ", ".join(f"{key}={value}" for key, value in options.items())
            print(f"{n_positives:>20,.0f} {cost.bytes / 1e6:>6.0f} {cost.bytes / n_positives:>14.0f}  {about}")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000_000, 4_000_000])
