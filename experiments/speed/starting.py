"""What a newcomer waits for: the demo and first fits before anything is compiled, and first calls of all functions.

Seconds are those of the processor, of processes of their own: Python's start and all imports count. "Not compiled yet"
is a copy of the package without what was compiled beside it, and an empty folder for kernels. For first calls
`thresholds warmup` has filled it; what the first call of a process takes more than the shortest of the next two is
imports, Numba's start and reading kernels.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # A process that is timed imports nothing more than it needs.
    from measuring import Clock, Measured

SHAPE = (2_000, 20)
ROUNDS = 3
UNUSUAL = ("PYTHONDONTWRITEBYTECODE",)
MOST_DEMO, MOST_FIT = 5.0, 2.0
FIT = "import thresholds, numpy as np; thresholds.fit_empirical(*np.load({data!r}).values())"
NAMES = "names of calls"


def measure(quick: bool, clock: "Clock") -> "Measured":
    """Run the commands and the calls, each in fresh processes."""
    from measuring import Row, name_shape

    if quick:
        return [], []
    with tempfile.TemporaryDirectory() as place:
        data, folder = str(Path(place, "data.npz")), str(Path(place, "kernels"))
        save(data)
        package = copied(place)
        commands = {
            "`thresholds demo`": (MOST_DEMO, ["-m", "thresholds", "demo"]),
            "`thresholds fit`": (MOST_FIT, ["-m", "thresholds", "fit", data, "-o", str(Path(place, "rule.json"))]),
            "`fit_empirical`": (MOST_FIT, ["-c", FIT.format(data=data)]),
        }
        rows = []
        for name, (most, command) in commands.items():
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as empty:
                    clock.note(f"{name}, not compiled yet", run(command, empty, package)[0])
            title = f"processor seconds of {name} in a new process, kernels not compiled yet"
            size = "" if name == "`thresholds demo`" else name_shape(SHAPE)
            rows.append(Row(title, clock.median(f"{name}, not compiled yet"), at_most=most, on=size))

        # First calls, kernels cached.
        run(["-m", "thresholds", "warmup"], folder, package)
        for name in json.loads(run([__file__, NAMES], folder, package)[1]):
            for _ in range(ROUNDS):
                first, *later = json.loads(run([__file__, name], folder, package)[1])
                clock.note(f"first call of {name}, more than the next", max(first - min(later), 0.0))
    more = {name: clock.median(name) for name in clock.times if name.startswith("first call of ")}
    worst = max(more, key=more.__getitem__)
    title = f"processor seconds of the {worst}, kernels cached: the worst of {len(more)}"
    rows.append(Row(title, more[worst], on=name_shape(SHAPE)))
    return rows, []


def save(path: str) -> None:
    """Save truth and probabilities."""
    import numpy as np
    from measuring import make_data

    truth, scores = make_data(*SHAPE)
    np.savez(path, y_true=truth, y_score=1 / (1 + np.exp(-scores)))


def copied(place: str) -> str:
    """Copy the package to a place where nothing is compiled yet; give the folder to import it from."""
    import thresholds

    compiled = shutil.ignore_patterns("*.nbi", "*.nbc", "*.lock")
    shutil.copytree(Path(thresholds.__file__).parent, Path(place, "package", "thresholds"), ignore=compiled)
    return str(Path(place, "package"))


def run(command: list[str], folder: str, package: str) -> tuple[float, str]:
    """Run Python in a fresh process that keeps kernels in a folder; give its processor seconds, and what it says."""
    environment = {name: value for name, value in os.environ.items() if name not in UNUSUAL}
    environment |= {"NUMBA_CACHE_DIR": folder, "THRESHOLDS_COMPILE_NOTICE": "0", "PYTHONPATH": package}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tempfile.gettempdir(),  # Modules beside this file would hide others of their names.
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def calls_on(truth: Any, scores: Any) -> dict[str, Callable[[], object]]:
    """Give calls of public functions, the module of each imported when it is called."""
    import numpy as np

    import thresholds as th

    weights = np.random.default_rng(1).random(len(truth))
    half = th.FixedRule(0.5, scores.shape[1])
    less = th.FixedRule(0.4, scores.shape[1])

    def sparse(matrix: Any) -> Any:
        from scipy.sparse import csr_array

        return csr_array(matrix)

    return {
        "fit_empirical": lambda: th.fit_empirical(truth, scores),
        "fit_empirical, micro": lambda: th.fit_empirical(truth, scores, "micro"),
        "fit_empirical, shrink": lambda: th.fit_empirical(truth, scores, guard="shrink"),
        "fit_empirical, pool": lambda: th.fit_empirical(truth, scores, "micro", guard="pool"),
        "fit_empirical, weights": lambda: th.fit_empirical(truth, scores, sample_weight=weights),
        "fit_empirical, one cut": lambda: th.fit_empirical(truth, scores, per_label=False),
        "fit_empirical, limits": lambda: th.fit_empirical(truth, scores, min_precision=0.5),
        "fit_empirical, promises": lambda: th.fit_empirical(truth, scores, min_recall=0.5, confidence=0.9),
        "fit_empirical, sparse": lambda: th.fit_empirical(
            sparse(truth), sparse(np.where(scores < 0.5, np.float32(0), scores))
        ),
        "fit_expected": lambda: th.fit_expected(scores),
        "fit_expected, samples": lambda: th.fit_expected(scores, "samples"),
        "fit, top-k": lambda: th.fit(truth, scores, "top-k"),
        "cross_fit": lambda: th.cross_fit(truth, scores),
        "calibrate, isotonic": lambda: th.calibrate(truth, scores),
        "calibrate, platt": lambda: th.calibrate(truth, scores, "platt"),
        "measure_calibration": lambda: th.measure_calibration(truth, scores),
        "diagnose": lambda: th.diagnose(truth, scores, half),
        "diagnose without labels": lambda: th.diagnose(None, scores, half),
        "plan_annotation": lambda: th.plan_annotation(truth, scores, half),
        "bootstrap_thresholds": lambda: th.bootstrap_thresholds(truth, scores),
        "compare": lambda: th.compare({"half": half, "less": less}, truth, scores),
        "diff_rules": lambda: th.diff_rules(half, less, scores),
        "FixedRule.predict": lambda: half.predict(scores),
        "InstanceRule.predict": lambda: th.InstanceRule().predict(scores),
        "TopKRule.predict": lambda: th.TopKRule(5).predict(scores),
        "auroc": lambda: th.metrics.auroc(truth, scores),
        "f1_score": lambda: th.metrics.f1_score(truth, scores > 0.5, average="macro", zero_division=0.0),
        "expected_f": lambda: th.expected_f(scores, (scores > 0.5).astype(np.uint8)),
        "expected_f, exact": lambda: th.expected_f(scores, (scores > 0.5).astype(np.uint8), exact=True),
    }


def seconds_of(call: Callable[[], object]) -> float:
    """Time a call by the processor, all threads together."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main(name: str) -> None:
    """Time the first three calls of a function, on data that take no time to draw."""
    import numpy as np

    rng = np.random.default_rng(0)
    truth = (rng.random(SHAPE) < np.geomspace(0.02, 0.4, SHAPE[1])).astype(np.uint8)
    scores = (1 / (1 + np.exp(-rng.normal(size=SHAPE) - 1.5 * truth))).astype(np.float32)

    def first() -> None:
        calls_on(truth, scores)[name]()

    if name == NAMES:
        print(json.dumps(list(calls_on(truth, scores))))
    else:
        print(json.dumps([seconds_of(call) for call in (first, first, first)]))


if __name__ == "__main__":
    main(sys.argv[1])
