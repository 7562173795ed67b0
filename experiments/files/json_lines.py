"""Times lines of JSON as scores, read by pyarrow and by Python alone, and checks that both read the same.

    python experiments/files/json_lines.py

20,000 rows of 200 labels: scores as lists, as {label: score}, and lists of logits, half of them negative; about 5 true
labels in each row, by name. Seconds are of the processor, the best of five, all taken in turn. What bounds them stands
beside: `parse` is pyarrow's parser alone, of the whole file and with nothing checked; `open` finds the columns from the
first 1,000 lines, whatever the size of the file; `json.loads` reads every line and makes no arrays.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow.json import ReadOptions, read_json

from thresholds.files import ScoreFile, Source, Wanted, gather, open_scores
from thresholds.files.tables import jsonl

N_ROWS, N_LABELS, N_TIMES = 20_000, 200, 5
NAMES = tuple(f"label {j}" for j in range(N_LABELS))


def main() -> None:
    """Print a line for each form."""
    rng = np.random.default_rng(0)
    scores = np.round(rng.random((N_ROWS, N_LABELS)), 4)
    logits = np.round(2 * rng.standard_normal(scores.shape), 4)
    truth = rng.random(scores.shape) < 5 / N_LABELS
    forms: dict[str, Callable[[int], object]] = {
        "lists": lambda i: scores[i].tolist(),
        "mappings": lambda i: dict(zip(NAMES, scores[i].tolist(), strict=True)),
        "logits": lambda i: logits[i].tolist(),
    }
    print(f"{'scores':<10}{'MB':>6}" + "".join(f"{name:>12}" for name in CALLS) + f"{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for form, of_row in forms.items():
            path = Path(folder) / f"{form}.jsonl"
            tags = [[NAMES[j] for j in np.flatnonzero(row)] for row in truth]
            rows = ({"id": i, "y_score": of_row(i), "tags": tags[i]} for i in range(N_ROWS))
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            fast, slow = reading(path), without_pyarrow(path)
            assert np.array_equal(fast.y_score, slow.y_score)
            assert (fast.y_true != slow.y_true).nnz == 0
            seconds = timed(path)
            size = path.stat().st_size / 1e6
            ratio = seconds["Python"] / seconds["pyarrow"]
            cells = "".join(f"{of_call:>12.2f}" for of_call in seconds.values())
            print(f"{form:<10}{size:>6.0f}{cells}{ratio:>8.1f}")


def reading(path: Path) -> ScoreFile:
    """Read a file."""
    return gather(opening(path))


def opening(path: Path) -> Source:
    """Find out what a file holds."""
    return open_scores(path, Wanted(label_names=NAMES))


def without_pyarrow(path: Path) -> ScoreFile:
    """Read a file as where pyarrow is not installed."""
    of = jsonl.ArrowLines.of
    jsonl.ArrowLines.of = staticmethod(lambda _: None)  # type: ignore[assignment, method-assign]
    try:
        return reading(path)
    finally:
        jsonl.ArrowLines.of = of  # type: ignore[method-assign]


def by_arrow(path: Path) -> Any:
    """Parse the file by pyarrow, a few megabytes at a time, and make nothing of it."""
    return read_json(path, ReadOptions(use_threads=False, block_size=2**22))


def by_loads(path: Path) -> list[Any]:
    """Parse every line by Python, and make nothing of it."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


CALLS: dict[str, Callable[[Path], Any]] = {
    "pyarrow": reading,
    "parse": by_arrow,
    "open": opening,
    "Python": without_pyarrow,
    "json.loads": by_loads,
}


def timed(path: Path) -> dict[str, float]:
    """Return the seconds of each call: the best of some, which are made in turn."""
    seconds = dict.fromkeys(CALLS, float("inf"))
    for _ in range(N_TIMES):
        for name, call in CALLS.items():
            start = time.process_time()
            call(path)
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


if __name__ == "__main__":
    main()
