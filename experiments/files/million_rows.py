"""Time and peak memory of `thresholds fit` and `thresholds predict` on a folder of parquet shards with list columns.

A folder of 1,000,000 rows and 200 labels is made in a temporary place: `scores`, lists of 200 numbers, in half and in
single precision, `tags`, lists of label names, and `id`. Each command runs in a process of its own; its peak memory is
what the system counts as its largest resident set, interpreter, libraries and mapped files included.

    python experiments/files/million_rows.py [--rows 1000000] [--labels 200]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

N_SHARDS = 20
SEED = 0
WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""  # A small process: Linux counts the memory of whoever starts a command as that command's, too.


def make_shard(path: Path, n_rows: int, n_labels: int, dtype: str, rng: np.random.Generator) -> None:
    """Write rows whose labels are true with the probabilities that the scores are, more or less."""
    names = pa.array([f"label {j:03d}" for j in range(n_labels)])
    difficulty = np.linspace(-3.5, -7, n_labels)  # about five labels in each row of 200
    logits = difficulty + 1.5 * rng.standard_normal((n_rows, n_labels), np.float32)
    scores = (1 / (1 + np.exp(-logits))).astype(dtype)
    rows, labels = np.nonzero(rng.random((n_rows, n_labels), np.float32) < scores)
    offsets = np.append(0, np.bincount(rows, minlength=n_rows).cumsum()).astype(np.int32)
    tags = pa.ListArray.from_arrays(pa.array(offsets), names.take(pa.array(labels)))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(scores.reshape(-1)), n_labels)
    ids = pa.array(np.arange(n_rows) + n_rows * int(path.stem.split("-")[1]))
    parquet.write_table(pa.table({"id": ids, "scores": lists, "tags": tags}), path, row_group_size=2**14)


def measured(arguments: list[str]) -> tuple[float, float]:
    """Run a command of `thresholds`; give its seconds and its peak memory in GB."""
    start = time.perf_counter()
    command = [sys.executable, "-c", WATCH, sys.executable, "-m", "thresholds", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"thresholds {' '.join(arguments)} failed: {done.stderr}")
    return time.perf_counter() - start, int(done.stdout) * 1024 / 1e9


def main() -> None:
    """Measure all commands."""
    parser = argparse.ArgumentParser(description="Peak memory of fit and predict on parquet shards.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--labels", type=int, default=200)
    options = parser.parse_args()
    n_rows = max(1, options.rows // N_SHARDS)
    print(f"{N_SHARDS * n_rows:,} rows, {options.labels} labels, {N_SHARDS} shards, lists of scores and of label names")
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder) / "labels.txt"
        names.write_text("".join(f"label {j:03d}\n" for j in range(options.labels)))
        for dtype in ("float16", "float32"):
            shards, rng = Path(folder) / dtype, np.random.default_rng(SEED)
            shards.mkdir()
            for k in range(N_SHARDS):
                make_shard(shards / f"part-{k:02d}.parquet", n_rows, options.labels, dtype, rng)
            size = sum(path.stat().st_size for path in shards.iterdir()) / 1e9
            cells = N_SHARDS * n_rows * options.labels * np.dtype(dtype).itemsize / 1e9
            print(f"{dtype}: {size:.2f} GB on disk, {cells:.2f} GB of scores")
            rule, given = str(Path(folder) / "rule.json"), ["--label-names", str(names)]
            for what, arguments in (
                ("fit, guard auto, 5 folds", ["fit", str(shards), *given, "-o", rule]),
                ("fit, guard auto, --cv 0", ["fit", str(shards), *given, "--cv", "0", "-o", rule]),
                ("predict to npz", ["predict", rule, str(shards), "-o", f"{folder}/out.npz"]),
                (
                    "predict to parquet, --key",
                    ["predict", rule, str(shards), "--key", "id", "-o", f"{folder}/out.parquet"],
                ),
                ("predict to jsonl", ["predict", rule, str(shards), "-o", f"{folder}/out.jsonl"]),
            ):
                seconds, memory = measured(arguments)
                print(f"  {what:<28} {seconds:6.1f} s  {memory:5.2f} GB", flush=True)


if __name__ == "__main__":
    main()
