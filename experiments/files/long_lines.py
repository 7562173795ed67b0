"""What `predict` takes of a table with one label a line: anonymous memory, by the number of lines.

A line has a file, two times, a label of 300, and a score; a row, of three key columns, has one to nine lines. Each
command runs in a process of its own; memory is the most (RssAnon: without pages of files) that it had, sampled every
5 ms (`../scale/measuring.py`).

    python experiments/files/long_lines.py > experiments/files/long_lines.txt
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scale"))

import numpy as np
from measuring import cost_of_command

import thresholds

N_ROWS, N_LABELS = (100_000, 200_000, 400_000), 300
NAMES = [f"Species number {j}" for j in range(N_LABELS)]


def main() -> None:
    """Print a line for each size."""
    print(f"{'rows':>9}{'lines':>11}{'MB of file':>12}{'MB of memory':>14}{'bytes a line more':>19}")
    before = (0, 0)
    with tempfile.TemporaryDirectory() as folder:
        path, rule, out = (Path(folder) / name for name in ("found.csv", "rule.json", "out.csv"))
        thresholds.ThresholdRule(np.full(N_LABELS, 0.5), label_names=NAMES).save(rule)
        for n_rows in N_ROWS:
            n_lines = write(path, n_rows)
            command = ["predict", str(rule), str(path), "-o", str(out)]
            most = cost_of_command(command)[0].bytes
            more = f"{(most - before[1]) / (n_lines - before[0]):.0f}" if before[0] else ""
            size = path.stat().st_size / 1e6
            print(f"{n_rows:>9,}{n_lines:>11,}{size:>12.0f}{most / 1e6:>14.0f}{more:>19}", flush=True)
            before = (n_lines, most)


def write(path: Path, n_rows: int) -> int:
    """Write a table; return its number of lines."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 10, n_rows)
    with path.open("w") as file:
        file.write("File,Start (s),End (s),Scientific name,Confidence\n")
        for row, size in enumerate(sizes.tolist()):
            start = 3 * (row % 600)
            key = f"recording_{row // 600:05d}.wav,{start}.0,{start + 3}.0"
            cells = zip(rng.choice(N_LABELS, size, replace=False), rng.random(size), strict=True)
            file.writelines(f"{key},{NAMES[label]},{score:.4f}\n" for label, score in cells)
    return int(sizes.sum())


if __name__ == "__main__":
    main()
