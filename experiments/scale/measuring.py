"""Made-up rows on a disk, and what it takes to fit them: seconds, and memory that is not a map of a file."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

N_LABELS = 200
_BLOCK = 100_000
_STATUS = Path("/proc/self/status")
# A command of `thresholds` in a process that looks at its own memory.
_COMMAND = """
import sys, threading, time
most = 0
def watch():
    global most
    while True:
        with open("/proc/self/status") as file:
            most = max(most, *(int(line.split()[1]) for line in file if line.startswith("RssAnon")))
        time.sleep(0.005)
threading.Thread(target=watch, daemon=True).start()
from thresholds import cli
status = cli.main(sys.argv[1:])
print(most, file=sys.stderr)
sys.exit(status)
"""


class Cost(NamedTuple):
    """What a call took."""

    seconds: float
    bytes: int  # of anonymous memory, at most, beside what there was before


def make_rows(n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of truth, uint8, and scores, float32 probabilities; .1 % of rows have the first label, 30 % the last."""
    rates = np.geomspace(0.001, 0.3, N_LABELS).astype(np.float32)
    rng = np.random.default_rng(seed)
    for first in range(0, n, _BLOCK):
        shape = (min(_BLOCK, n - first), N_LABELS)
        truth = rng.random(shape, np.float32) < rates
        logits = rng.standard_normal(shape, np.float32) + 1.5 * truth - 2
        yield truth.astype(np.uint8), (1 / (1 + np.exp(-logits))).astype(np.float32)


def write_arrays(folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Write rows as two arrays, and map them."""
    names = ("y_true", "y_score")
    dtypes = (np.uint8, np.float32)
    arrays = [
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, (n, N_LABELS))
        for name, dtype in zip(names, dtypes, strict=True)
    ]
    first = 0
    for block in make_rows(n, seed=0):
        for array, part in zip(arrays, block, strict=True):
            array[first : first + len(part)] = part
        first += len(block[0])
    return tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)  # type: ignore[return-value]


def cost_of(call: Callable[[], Any]) -> tuple[Cost, Any]:
    """Call once; return what that took, and the result."""
    with _watched() as memory:
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
    return Cost(seconds, max(memory) - memory[0]), result


def cost_of_command(arguments: list[str]) -> tuple[Cost, str]:
    """Run a command of `thresholds` by itself; return what all of its process took, and what it printed."""
    start = time.perf_counter()
    command = [sys.executable, "-c", _COMMAND, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return Cost(time.perf_counter() - start, 1024 * int(ran.stderr.split()[-1])), ran.stdout


def medians(costs: list[Cost]) -> Cost:
    """The median of seconds, and the most memory."""
    return Cost(median(cost.seconds for cost in costs), max(cost.bytes for cost in costs))


def anonymous() -> int:
    """Bytes of this process that are no map of a file, as Linux counts them."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


@contextmanager
def _watched() -> Iterator[list[int]]:
    """Look at the memory of this process every few milliseconds."""
    seen, done = [anonymous()], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            seen.append(anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
        seen.append(anonymous())
