"""What does `thresholds fit` take for a csv of 90 MB with its truth in another, beside PyArrow's reading of both?

100,000 rows and 100 labels. Processor time of whole processes: the fit from the two csv files, less the same fit from
an `.npz`, is what the door takes. It is held against a process that reads both with `pyarrow.csv.read_csv`, less one
that does nothing: each imports PyArrow once. Rounds alternate, and medians are shown.

    python experiments/files/csv_and_truth.py
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

N_ROWS, N_LABELS, ROUNDS = 100_000, 100, 5
FIT = [sys.executable, "-m", "thresholds", "fit"]


def write(folder: Path) -> None:
    """Write the same scores and truth as csv and as `.npz`."""
    rng = np.random.default_rng(0)
    y_true = rng.random((N_ROWS, N_LABELS)) < 0.05
    y_score = np.round(rng.random((N_ROWS, N_LABELS)) ** 2 * 0.7 + 0.3 * y_true, 6)  # 9 bytes a cell
    names = [f"label {k}" for k in range(N_LABELS)]
    header = ",".join(["id", *names])
    for name, matrix, form in (("scores.csv", y_score, "%.6f"), ("truth.csv", y_true, "%d")):
        with open(folder / name, "w") as stream:
            stream.write(header + "\n")
            for row, cells in enumerate(matrix.tolist()):
                stream.write(",".join([f"r{row}", *(form % cell for cell in cells)]) + "\n")
    np.savez(folder / "both.npz", y_score=y_score, y_true=y_true.astype(np.uint8), label_names=names)


def seconds_of(*words: object) -> float:
    """Processor time of a process that does one thing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*map(str, words)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


_ARROW = """
import sys
from pyarrow import csv

for name in ("scores.csv", "truth.csv"):
    csv.read_csv(f"{sys.argv[1]}/{name}")
"""


def main() -> None:
    """Measure in rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        output = ["-o", folder / "rule.json"]
        ways = {
            "by the order of rows": [folder / "scores.csv", "--truth", folder / "truth.csv"],
            "by --key": [folder / "scores.csv", "--truth", folder / "truth.csv", "--key", "id"],
        }
        npz = list[float]()
        arrow = list[float]()
        found: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            npz.append(seconds_of(*FIT, folder / "both.npz", *output))
            for way, files in ways.items():
                found[way].append(seconds_of(*FIT, *files, *output))
            reading = seconds_of(sys.executable, "-c", _ARROW, folder)
            arrow.append(reading - seconds_of(sys.executable, "-c", ""))
        size = sum((folder / name).stat().st_size for name in ("scores.csv", "truth.csv")) / 1e6
    print(f"{N_ROWS:,} rows, {N_LABELS} labels, {size:.0f} MB of csv; seconds of processor time\n")
    print(f"fit from .npz           {median(npz):6.2f}")
    print(f"PyArrow reads both      {median(arrow):6.2f}")
    for way, times in found.items():
        door = median(times) - median(npz)
        print(f"fit, {way:21}{median(times):6.2f}, for the door {door:5.2f}: {door / median(arrow):.2f} x PyArrow")


if __name__ == "__main__":
    main()
