"""The first fit in a new process, beyond the import of Numba: kernels compiled before, or not.

The clock runs from `import thresholds` to the end of the fit; Numba is imported before, and timed by itself. So is the
first call of a cached function that does nothing: what Numba sets up then, its import does not show.
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

SHAPES = ((2_000, 40), (200_000, 40))
WARM_ROUNDS = 3
NUMBA, FIRST, NOTHING = "import of Numba", "import and first fit", "first call of a cached function"


def measure(quick: bool, clock: "Clock") -> "Measured":
    """Run each shape in fresh processes, with an empty folder for compiled kernels, then with what it holds."""
    from measuring import Row, name_shape

    if quick:
        return [], []
    rows = []
    for shape in SHAPES:
        on = name_shape(shape)
        with tempfile.TemporaryDirectory() as folder:
            for state in ["cold"] + ["warm"] * WARM_ROUNDS:
                for name, spent in run(shape[0], folder).items():
                    clock.note(f"{name}, {on}, {state}", spent)
        for state, most in (("warm", 0.3), ("cold", 5.0)):
            words = "cached" if state == "warm" else "not compiled yet"
            name = f"seconds of first import and macro fit, kernels {words}, on top of Numba's import"
            imported = clock.median(f"{NUMBA}, {on}, {state}")
            rows.append(Row(f"{name} ({imported:.2f} s)", clock.median(f"{FIRST}, {on}, {state}"), at_most=most, on=on))
    with tempfile.TemporaryDirectory() as folder:
        for state in ["cold"] + ["warm"] * WARM_ROUNDS:
            clock.note(f"{NOTHING}, {state}", run(0, folder)[NOTHING])
    name = "seconds of the first call of a cached Numba function that does nothing, on top of Numba's import"
    return [*rows, Row(name, clock.median(f"{NOTHING}, warm"))], []


def run(n_samples: int, folder: str) -> dict[str, float]:
    """Run this file in a fresh process that keeps compiled kernels in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "THRESHOLDS_DISK_CACHE"}
    command = [sys.executable, __file__, str(n_samples)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment | {"NUMBA_CACHE_DIR": folder}
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def seconds(call: Callable[[], object]) -> float:
    """Time a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def nothing(value: int) -> int:
    """Give what was given."""
    return value


def main(n_samples: int) -> None:
    """Time what a new process does; imports are what is measured."""
    import numpy as np

    spent = {NUMBA: seconds(lambda: __import__("numba"))}
    if n_samples == 0:
        from numba import njit

        print(json.dumps(spent | {NOTHING: seconds(lambda: njit(cache=True)(nothing)(0))}))
        return
    rng = np.random.default_rng(0)
    truth = (rng.random((n_samples, SHAPES[0][1])) < 0.05).astype(np.uint8)
    scores = rng.standard_normal(truth.shape, np.float32)
    scores += truth

    def fit() -> None:
        import thresholds

        thresholds.fit_empirical(truth, scores, n_jobs=2)

    print(json.dumps(spent | {FIRST: seconds(fit), "second fit": seconds(fit)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
