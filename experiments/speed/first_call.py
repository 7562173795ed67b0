"""The first fit in a new process: what a script, a notebook or a command waits for.

The clock runs from `import thresholds` to the end of the fit, whatever is imported meanwhile. Beside it, in processes
of their own: the import of Numba, which a library whose every loop is compiled waits for in any case, and the first
call of a cached function that does nothing, which shows what Numba sets up then.
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
NUMBA, NOTHING = "import of Numba", "first call of a cached function that does nothing"


def measure(quick: bool, clock: "Clock") -> "Measured":
    """Run each shape in fresh processes, with an empty folder for compiled kernels, then with what it holds."""
    from measuring import Row, name_shape

    if quick:
        return [], []
    with tempfile.TemporaryDirectory() as folder:
        for state in ["cold"] + ["warm"] * WARM_ROUNDS:
            for name, spent in run([], folder).items():
                clock.note(f"{name}, {state}", spent)
    imported = clock.median(f"{NUMBA}, warm")
    rows = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            for state in ["cold"] + ["warm"] * WARM_ROUNDS:
                for name, spent in run([str(size) for size in shape], folder).items():
                    clock.note(f"{name}, {name_shape(shape)}, {state}", spent)
        for state, words, most in (("warm", "cached", 0.3), ("cold", "not compiled yet", 5.0)):
            name = f"seconds of first import and macro fit, kernels {words}; bound: {most:g} more than Numba's import"
            spent = clock.median(f"first fit, {name_shape(shape)}, {state}")
            rows.append(Row(name, spent, at_most=round(imported + most, 2), on=name_shape(shape)))
    rows.append(Row("seconds of Numba's import", imported))
    rows.append(Row(f"seconds of the {NOTHING}, after that", clock.median(f"{NOTHING}, warm")))
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


def nothing(value: int) -> int:
    """Give what was given."""
    return value


def main(shape: list[int]) -> None:
    """Time what a new process does; imports are what is measured."""
    import numpy as np

    if not shape:
        spent = {NUMBA: seconds(lambda: __import__("numba"))}
        from numba import njit

        print(json.dumps(spent | {NOTHING: seconds(lambda: njit(cache=True)(nothing)(0))}))
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
