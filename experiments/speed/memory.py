"""Peak memory of what users call beyond what the process held before, each in a fresh process (Linux: /proc)."""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from calls import CALLS, COMPARED, ISOTONIC, MACRO, MICRO, PLATT, WEIGHTED
from measuring import Clock, Measured, Row, name_shape, shared_data

BOUNDS = {MACRO: 0.25, WEIGHTED: 0.25, MICRO: 0.25, ISOTONIC: 2.0, PLATT: 2.0, COMPARED: 2.0}
COMPILED_ON = 4_000  # rows, for which the call is made first


def measure(quick: bool, clock: Clock) -> Measured:
    """Run each call in a fresh process; give its extra memory as a share of the scores."""
    if quick or not Path("/proc/self/clear_refs").exists():
        return [], []
    truth, scores = shared_data(quick=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "truth.npy"), truth)
        np.save(Path(folder, "scores.npy"), scores)
        for name in CALLS:
            command = [sys.executable, __file__, name, folder]
            run = partial(subprocess.run, command, check=True, capture_output=True, text=True)
            extra = int(clock.time(f"whole process, {name}", run).stdout) / scores.nbytes
            title = f"extra memory of {name} / memory of the scores"
            rows.append(Row(title, extra, at_most=BOUNDS.get(name), on=name_shape(scores.shape)))
    return rows, []


def extra_memory(name: str, folder: str) -> int:
    """Give the bytes by which a call on the saved data raises the peak of this process."""
    truth, scores = np.load(Path(folder, "truth.npy")), np.load(Path(folder, "scores.npy"))
    CALLS[name](truth[:COMPILED_ON], scores[:COMPILED_ON])
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts afresh from the memory held now.
    before = status("VmRSS")
    CALLS[name](truth, scores)
    return status("VmHWM") - before


def status(field: str) -> int:
    """Read a size in bytes from the status of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


if __name__ == "__main__":
    print(extra_memory(*sys.argv[1:]))
