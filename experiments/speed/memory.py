"""Peak memory of fits beyond what the process held before, each in a fresh process (Linux: it is read from /proc)."""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from measuring import THREADS, Clock, Measured, Row, name_shape, shared_data

import thresholds

AVERAGES = ("macro", "weighted", "micro")
COMPILED_ON = 4_000  # rows, which are fitted first


def measure(quick: bool, clock: Clock) -> Measured:
    """Run each fit in a fresh process; give its extra memory as a share of the scores."""
    if quick or not Path("/proc/self/clear_refs").exists():
        return [], []
    truth, scores = shared_data(quick=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "truth.npy"), truth)
        np.save(Path(folder, "scores.npy"), scores)
        for average in AVERAGES:
            command = [sys.executable, __file__, average, folder]
            run = partial(subprocess.run, command, check=True, capture_output=True, text=True)
            extra = int(clock.time(f"whole process, {average}", run).stdout) / scores.nbytes
            name = f"extra memory of {'joint ' * (average == 'micro')}{average} / memory of the scores"
            rows.append(Row(name, extra, at_most=0.25, on=name_shape(scores.shape)))
    return rows, []


def extra_memory(average: str, folder: str) -> int:
    """Give the bytes by which a fit on the saved data raises the peak of this process."""
    truth, scores = np.load(Path(folder, "truth.npy")), np.load(Path(folder, "scores.npy"))
    thresholds.fit_empirical(truth[:COMPILED_ON], scores[:COMPILED_ON], average, n_jobs=THREADS)  # type: ignore[arg-type]
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts afresh from the memory held now.
    before = status("VmRSS")
    thresholds.fit_empirical(truth, scores, average, n_jobs=THREADS)  # type: ignore[arg-type]
    return status("VmHWM") - before


def status(field: str) -> int:
    """Read a size in bytes from the status of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


if __name__ == "__main__":
    print(extra_memory(*sys.argv[1:]))
