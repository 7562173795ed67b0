"""What the benchmarks share: data, clocks, bounds, and how results are shown."""

import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import sklearn

import thresholds
from thresholds._arrays.threads import ALL_CORES, workers
from thresholds._engine.best_cuts import all_steps
from thresholds._engine.choosing import best_steps
from thresholds._engine.problem import Problem

Truth = npt.NDArray[np.uint8]
Scores = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Result = TypeVar("Result")
RatioType = TypeVar("RatioType", bound="Ratio")

THREADS = 2
SHAPE, QUICK_SHAPE = (200_000, 400), (20_000, 40)


@dataclass(frozen=True)
class Ratio:
    """One line of the result, and the bound that it has to keep."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def required(self) -> str:
        """The bound in words."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def holds(self) -> bool:
        """Whether the bound is kept."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


@dataclass(frozen=True)
class Row(Ratio):
    """One line of the table of all ratios."""

    on: str = ""  # which data


class Clock:
    """Seconds by name, with a line on stderr for each measurement."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def time(self, name: str, call: Callable[[], Result], repeats: int = 1) -> Result:
        """Time a call, or the mean of some."""
        start = time.perf_counter()
        for _ in range(repeats):
            result = call()
        self.note(name, (time.perf_counter() - start) / repeats)
        return result

    def note(self, name: str, spent: float) -> None:
        """Keep seconds."""
        self.times.setdefault(name, []).append(spent)
        print(f"  {spent:11.6f} s  {name}", file=sys.stderr, flush=True)

    def median(self, name: str) -> float:
        """Give the median of the rounds."""
        return float(np.median(self.times[name]))

    def lowest(self, name: str) -> float:
        """Give the shortest of the rounds, of what takes milliseconds."""
        return min(self.times[name])

    def total(self, name: str) -> float:
        """Give the sum, of what is measured in parts."""
        return sum(self.times[name])


Measured = tuple[list[Row], list[Ratio]]  # ratios, and comparisons of results


def seconds(call: Callable[[], object]) -> float:
    """Time a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def describe_machine(*packages: str) -> dict[str, str]:
    """Name the versions, those of more packages too, and the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "thresholds": thresholds.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
        **{package: metadata.version(package) for package in packages},
        "cpu": f"{models[0] if models else platform.machine()}, {workers(ALL_CORES)} cores",
    }


def make_data(n_samples: int, n_labels: int, seed: int = 0) -> tuple[Truth, Scores]:
    """Draw truth and scores, a block of rows at a time; every label gets at least one positive."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.uniform(np.log(1e-4), np.log(0.3), n_labels))
    separations = rng.uniform(0, 3, n_labels).astype(np.float32)
    found = np.zeros(n_labels, bool)
    truth, scores = np.empty((n_samples, n_labels), np.uint8), np.empty((n_samples, n_labels), np.float32)
    for start in range(0, n_samples, 4096):
        rows = slice(start, start + 4096)
        truth[rows] = rng.random(truth[rows].shape) < rates
        scores[rows] = rng.standard_normal(scores[rows].shape, np.float32)
        scores[rows] += truth[rows] * separations
        found |= truth[rows].any(axis=0)
    truth[0, ~found] = 1
    scores[0, ~found] += separations[~found]
    return truth, scores


def fit_by_sorting(truth: object, scores: object) -> object:
    """Fit macro-F1 from the steps of every label, which NumPy sorts, on one thread."""
    problem = Problem.of(truth, scores)
    steps = all_steps(problem, n_jobs=1)
    return steps.at(best_steps(steps, 1.0)).placed(problem, "low")


@lru_cache(maxsize=1)
def shared_data(quick: bool) -> tuple[Truth, Scores]:
    """Draw what several sections measure."""
    return make_data(*(QUICK_SHAPE if quick else SHAPE))


def name_shape(shape: tuple[int, ...]) -> str:
    """Name the size of a matrix."""
    return " x ".join(f"{size:,}" for size in shape)


def show_ratios(ratios: Sequence[Ratio], machine: dict[str, str]) -> None:
    """Print ratios with their bounds, and the machine."""
    width = max(len(ratio.name) for ratio in ratios)
    print(f"\n{'ratio':<{width}}{'found':>9}  required")
    for ratio in ratios:
        verdict = ratio.required if ratio.holds else f"{ratio.required}  MISSED"
        print(f"{ratio.name:<{width}}{ratio.value:9.3g}  {verdict}".rstrip())
    print("\n" + ", ".join(f"{name} {value}" for name, value in machine.items()))


def unbounded(ratios: Sequence[RatioType]) -> list[RatioType]:
    """Drop the bounds: ratios of a small size say nothing."""
    return [replace(ratio, at_least=None, at_most=None) for ratio in ratios]


def write_json(path: Path | None, ratios: Sequence[Ratio], machine: dict[str, str], **more: Any) -> None:
    """Write the numbers to a file, if one is wanted."""
    if path is not None:
        report = more | {"ratios": {ratio.name: ratio.value for ratio in ratios}, "machine": machine}
        path.write_text(json.dumps(report, indent=2) + "\n")
