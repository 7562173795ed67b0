"""Times lines of JSON as scores, read by pyarrow and by Python alone, and checks that both read the same.

    python experiments/files/json_lines.py

20,000 rows of 200 labels: scores as lists, and as {label: score}; about 5 true labels in each row, by name. Seconds are
of the processor, the best of three; `json.loads` of every line, which makes no arrays, is the measure beside.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from thresholds.files import ScoreFile, Wanted, gather, open_scores
from thresholds.files.tables import jsonl

N_ROWS, N_LABELS, N_TIMES = 20_000, 200, 3
NAMES = tuple(f"label {j}" for j in range(N_LABELS))


def main() -> None:
    """Print a line for each form."""
    rng = np.random.default_rng(0)
    scores = np.round(rng.random((N_ROWS, N_LABELS)), 4)
    truth = rng.random(scores.shape) < 5 / N_LABELS
    forms: dict[str, Callable[[int], object]] = {
        "lists": lambda i: scores[i].tolist(),
        "mappings": lambda i: dict(zip(NAMES, scores[i].tolist(), strict=True)),
    }
    print(f"{'scores':<10}{'MB':>6}{'pyarrow':>10}{'Python':>10}{'json.loads':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for form, of_row in forms.items():
            path = Path(folder) / f"{form}.jsonl"
            tags = [[NAMES[j] for j in np.flatnonzero(row)] for row in truth]
            rows = ({"id": i, "y_score": of_row(i), "tags": tags[i]} for i in range(N_ROWS))
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            fast, read = timed(reading, path)
            slow, by_python = timed(without_pyarrow, path)
            loads, _ = timed(parsing, path)
            assert np.array_equal(read.y_score, by_python.y_score)
            assert (read.y_true != by_python.y_true).nnz == 0
            size = path.stat().st_size / 1e6
            print(f"{form:<10}{size:>6.0f}{fast:>10.2f}{slow:>10.2f}{loads:>12.2f}{slow / fast:>8.1f}")


def reading(path: Path) -> ScoreFile:
    """Read a file."""
    return gather(open_scores(path, Wanted(label_names=NAMES)))


def without_pyarrow(path: Path) -> ScoreFile:
    """Read a file as where pyarrow is not installed."""
    of = jsonl.ArrowLines.of
    jsonl.ArrowLines.of = staticmethod(lambda _: None)  # type: ignore[assignment, method-assign]
    try:
        return reading(path)
    finally:
        jsonl.ArrowLines.of = of  # type: ignore[method-assign]


def parsing(path: Path) -> list[Any]:
    """Parse every line, and make nothing of it."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def timed(call: Callable[[Path], Any], path: Path) -> tuple[float, Any]:
    """Return the seconds of the best of some calls, and what the last gave."""
    seconds = []
    for _ in range(N_TIMES):
        start = time.process_time()
        found = call(path)
        seconds.append(time.process_time() - start)
    return min(seconds), found


if __name__ == "__main__":
    main()
