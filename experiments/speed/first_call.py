"""The first fit in a new process: what a script, a notebook or a command waits for.

The clock runs from `import thresholds` to the end of the fit, whatever is imported meanwhile. Beside it, in processes
of their own: the import of Numba, which a large fit waits for, and a small one does not.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # A process that is timed imports nothing more than it needs.
    from measuring import Clock, Measured

SHAPES = ((2_000, 40), (200_000, 40), (200_000, 400))
WARM_ROUNDS = 3
UNUSUAL = ("PYTHONDONTWRITEBYTECODE",)
NUMBA = "import of Numba"


def measure(quick: bool, clock: "Clock") -> "Measured":
    """Run each shape in fresh processes, with an empty folder for compiled kernels, then with what it holds."""
    from measuring import Row, name_shape

    if quick:
        return [], []
    rows = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            for state in ["cold"] + ["warm"] * WARM_ROUNDS:
                for name, spent in run([str(size) for size in shape], folder).items():
                    clock.note(f"{name}, {name_shape(shape)}, {state}", spent)
        for state, words in (("warm", "cached"), ("cold", "not compiled yet")):
            name = f"seconds of first import and macro fit, kernels {words}"
            spent = clock.median(f"first fit, {name_shape(shape)}, {state}")
            rows.append(Row(name, spent, on=name_shape(shape)))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(1 + WARM_ROUNDS):
            clock.note(NUMBA, run([], folder)[NUMBA])
    rows.append(Row("seconds of Numba's import", clock.median(NUMBA)))
    return rows, []


def run(shape: list[str], folder: str) -> dict[str, float]:
    """Run this file in a fresh process that keeps compiled kernels in a folder."""
    environment = {name: value for name, value in os.environ.items() if name not in UNUSUAL}
    command = [sys.executable, __file__, *shape]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment | {"NUMBA_CACHE_DIR": folder}
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def seconds(call: Callable[[], object]) -> float:
    """Time a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(shape: list[int]) -> None:
    """Time what a new process does; imports are what is measured."""
    import numpy as np

    if not shape:
        print(json.dumps({NUMBA: seconds(lambda: __import__("numba"))}))
        return
    rng = np.random.default_rng(0)
    truth = (rng.random(shape, np.float32) < 0.05).astype(np.uint8)
    scores = rng.standard_normal(shape, np.float32)
    scores += truth

    def fit() -> None:
        import thresholds

        thresholds.fit_empirical(truth, scores, n_jobs=2)

    print(json.dumps({"first fit": seconds(fit), "second fit": seconds(fit)}))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]])
