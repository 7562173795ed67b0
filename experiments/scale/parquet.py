"""A million rows by 200 labels in shards of parquet: time against reading the shards alone, and memory.

Rows are made up (`measuring.py`), in eight shards with a column for each label, scores float32, truth boolean, or with
two columns of lists. Reading is what any fit does: every block decoded as matrices, and let go. Three ways take turns:
reading alone; `gather`, which writes the rows to temporary files; and `fit_empirical`, which fits them from there.
Seconds are medians, memory is the most of all runs.

    python experiments/scale/parquet.py [ROWS [RUNS]] > experiments/scale/parquet.txt
"""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import N_LABELS, Cost, cost_of, make_rows, medians
from pyarrow import parquet

import thresholds
from thresholds.files.opening import open_scores

N_SHARDS = 8

Forms = dict[str, Callable[[np.ndarray, np.ndarray], pa.Table]]


def wide(truth: np.ndarray, scores: np.ndarray) -> pa.Table:
    """A column for each label."""
    columns = {f"y_score_{j}": np.ascontiguousarray(scores[:, j]) for j in range(N_LABELS)}
    columns |= {f"y_true_{j}": truth[:, j].astype(bool) for j in range(N_LABELS)}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def lists(truth: np.ndarray, scores: np.ndarray) -> pa.Table:
    """Two columns of lists."""
    columns = {"y_score": scores, "y_true": truth}
    return pa.table(
        {
            name: pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), N_LABELS)
            for name, values in columns.items()
        }
    )


def read(folder: str) -> None:
    """Decode every block."""
    for block in open_scores(folder).blocks():
        assert block.y_true is not None


def main(n: int, n_runs: int) -> None:
    """Time each way, in turns, for each form."""
    forms: Forms = {"wide": wide, "lists": lists}
    ways: dict[str, Callable[[str], Any]] = {
        "reading alone": read,
        "gather": thresholds.gather,
        "fit_empirical": thresholds.fit_empirical,
    }
    print(
        f"{n:,} rows x {N_LABELS} labels in {N_SHARDS} shards; medians of {n_runs} runs, after one that is not counted"
    )
    print()
    print("columns   way                       seconds   of reading   MB of memory")
    for form, table in forms.items():
        with tempfile.TemporaryDirectory() as folder:
            shard_rows = n // N_SHARDS
            for number in range(N_SHARDS):
                blocks = zip(*make_rows(shard_rows, number), strict=True)
                rows = table(*(np.concatenate(parts) for parts in blocks))
                parquet.write_table(rows, Path(folder) / f"{number}.parquet", row_group_size=2**16)
            costs: dict[str, list[Cost]] = {way: [] for way in ways}
            for run in range(n_runs + 1):
                for way, call in ways.items():
                    cost, _ = cost_of(partial(call, folder))
                    if run:
                        costs[way].append(cost)
            alone = medians(costs["reading alone"]).seconds
            for way in ways:
                cost = medians(costs[way])
                print(f"{form:9} {way:25} {cost.seconds:7.1f} {cost.seconds / alone:12.2f} {cost.bytes / 1e6:14.0f}")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    main(*given, *(1_000_000, 3)[len(given) :])
