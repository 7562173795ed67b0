"""How fast fits find the best cuts: processor time of one thread against one thread, in rounds that take turns.

The rivals are `fifteen_lines`, the best that a competent user of NumPy writes, one `np.sort` of all scores, and, for
large fits, an older version of this package, whose folder is named.

    python experiments/speed/best_cuts.py [--before FOLDER] [--only WORD ...] > experiments/speed/best_cuts.md

Each side of a ratio is the least time of the rounds. Every fit is called as users call it, checks and rule included.
`table.py --docs` copies what is printed to docs/performance.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

FOLDER = Path(__file__).resolve().parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ROUNDS = 7
LONG_ENOUGH = 0.02  # seconds: shorter jobs are repeated within a round
MOST_SECONDS = 20  # of the rounds of one row
STRIPE = 16  # labels, whose columns are copied together


class Row(NamedTuple):
    """What is timed against what."""

    data: str
    job: str
    rival: str
    at_most: float
    rival_is_before: bool = False  # whether the rival is a job of the older version


def fifteen_lines(y: Any, s: Any) -> Any:
    """Return the lowest of the best cuts of each label: NumPy sorts, and looks up."""
    n_labels = s.shape[1]
    cuts = np.full(n_labels, np.inf)
    for first in range(0, n_labels, STRIPE):
        scores = np.ascontiguousarray(s[:, first : first + STRIPE].T, np.float32 if s.dtype.itemsize <= 4 else s.dtype)
        truth = np.ascontiguousarray(y[:, first : first + STRIPE].T).view(bool)
        for j in range(len(scores)):
            hits = np.sort(scores[j][truth[j]])
            scores[j].sort()
            if hits.size:
                tp = hits.size - np.searchsorted(hits, hits)
                predicted = scores[j].size - np.searchsorted(scores[j], hits)
                f = 2 * tp / (hits.size + predicted)
                cuts[first + j] = hits[f.argmax()]
    return cuts


def drawn(n: int, m: int) -> tuple[Any, Any]:
    """Return truth and normal scores: base rates from 1e-4 to .3, positives up to three deviations higher."""
    rng = np.random.default_rng(0)
    rates = np.exp(rng.uniform(np.log(1e-4), np.log(0.3), m))
    truth = (rng.random((n, m), np.float32) < rates).astype(np.uint8)
    truth[0, ~truth.any(axis=0)] = 1
    return truth, rng.standard_normal((n, m), np.float32) + truth * rng.uniform(0, 3, m).astype(np.float32)


def odd(kind: str) -> tuple[Any, Any]:
    """Return data of a kind that is hard for some ways of searching, 50,000 x 32."""
    y, s = drawn(50_000, 32)
    rng = np.random.default_rng(1)
    p = 1 / (1 + np.exp(-s))
    most = rng.random(s.shape) < 0.9
    useless = (rng.random(s.shape) < float(kind.split()[-1])).astype(np.uint8) if kind.startswith("useless") else y
    kinds: dict[str, Callable[[], tuple[Any, Any]]] = {
        "constant": lambda: (y, s * 0),
        "two values": lambda: (y, (s > 1).astype(np.float32)),
        "90 % zeros": lambda: (y, np.where(most, 0, p).astype(np.float32)),
        "90 % -inf": lambda: (y, np.where(most, -np.inf, s).astype(np.float32)),
        "votes of 100 trees": lambda: (y, (rng.binomial(100, p) / 100).astype(np.float32)),
        "int8": lambda: (y, np.clip(s * 20, -128, 127).astype(np.int8)),
        "float16": lambda: (y, s.astype(np.float16)),
        "float64": lambda: (y, s.astype(np.float64)),
        "all positive": lambda: (np.ones_like(y), s),
        "Fortran order": lambda: (np.asfortranarray(y), np.asfortranarray(s)),
        "strided": lambda: (y, np.repeat(s, 2, axis=1)[:, ::2]),
        "from 1e-30 to 1e30": lambda: (y, (np.sign(s) * 10.0 ** rng.uniform(-30, 30, s.shape)).astype(np.float32)),
    }
    return (useless, s) if kind.startswith("useless") else kinds[kind]()


def drawn_sparse() -> tuple[Any, Any]:
    """Return 50,000 rows of 100,000 labels, of which few are stored, by a power law."""
    rng = np.random.default_rng(0)
    n, m = 50_000, 100_000
    label = np.minimum(rng.zipf(1.3, 2_400_000) - 1, m - 1)
    cells = (rng.random(label.size, np.float32) + np.float32(0.01), (rng.integers(0, n, label.size), label))
    scores = sparse.csr_array(cells, shape=(n, m))
    is_hit = rng.random(scores.nnz) < 0.1
    row = np.repeat(np.arange(n), np.diff(scores.indptr))
    truth = sparse.csr_array((np.ones(is_hit.sum(), np.uint8), (row[is_hit], scores.indices[is_hit])), shape=(n, m))
    return truth, scores


def data_named(name: str) -> tuple[Any, Any]:
    """Return data by their name in the table."""
    if name == "sparse 50,000 x 100,000":
        return drawn_sparse()
    if name[0].isdigit() and " x " in name:
        n, m = (int(part.replace(",", "")) for part in name.split(" x "))
        return drawn(n, m)
    return odd(name)


def jobs_on(y: Any, s: Any) -> dict[str, Callable[[], Any]]:
    """Return what can be timed on data, by its name in the table."""
    import thresholds

    weights = np.random.default_rng(2).integers(1, 6, s.shape[0])

    def fit(average: str = "macro", **options: Any) -> Any:
        return lambda: thresholds.fit_empirical(y, s, average, n_jobs=1, **options)

    return {
        "macro": fit(),
        "micro": fit("micro"),
        "weights": fit(sample_weight=weights),
        "limits": fit(min_precision=0.3),
        "one shared cut, micro": fit("micro", per_label=False),
        "one shared cut, macro": fit("macro", per_label=False),
        "one shared cut, samples": fit("samples", per_label=False),
        "fifteen lines of NumPy": lambda: fifteen_lines(y, s),
        "one `np.sort` of all scores": lambda: np.sort(s, axis=None),
    }


SHAPES = {
    "300 x 10": 3.0,
    "1,000 x 20": 2.0,
    "10,000 x 1": 2.0,
    "5,000 x 20": 2.0,
    "20,000 x 50": 1.0,
    "50,000 x 32": 1.0,
    "100 x 20,000": 1.0,
    "1,000,000 x 1": 1.0,
    "200,000 x 100": 1.0,
}
ODD = (
    *("constant", "two values", "90 % zeros", "90 % -inf", "votes of 100 trees", "int8", "float16", "float64"),
    *("useless, base rate 0.01", "useless, base rate 0.3", "useless, base rate 0.5", "all positive"),
    *("Fortran order", "strided", "from 1e-30 to 1e30"),
)
NUMPY = "fifteen lines of NumPy"
SORT = "one `np.sort` of all scores"
ROWS = (
    [Row(data, "macro", NUMPY, most) for data, most in SHAPES.items()]
    + [Row(kind, "macro", NUMPY, 1.0) for kind in ODD]
    + [
        Row(data, job, "macro", most)
        for data in ("50,000 x 32", "200,000 x 100")
        for job, most in (("micro", 1.5), ("limits", 1.3), ("weights", 1.6))
    ]
    + [
        Row(data, f"one shared cut, {average}", SORT, most)
        for data in ("20,000 x 50", "200,000 x 100")
        for average, most in (("micro", 1.0), ("samples", 1.5), ("macro", np.inf))
    ]
    + [Row(data, "macro", "macro", 1.15, True) for data in ("200,000 x 100", "200,000 x 400")]
    + [Row("sparse 50,000 x 100,000", job, job, most, True) for job, most in (("macro", 1.2), ("micro", 1.5))]
)


class Timer:
    """A process of its own that times jobs, with the package of a folder."""

    def __init__(self, folder: Path) -> None:
        env = os.environ | ONE_THREAD | {"PYTHONPATH": str(folder)}
        command = [sys.executable, str(Path(__file__).resolve()), "--timer"]
        self._process = subprocess.Popen(
            command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )

    def seconds(self, data: str, job: str) -> float:
        """Return how long a job takes on data."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([data, job]), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def time_jobs() -> None:
    """Answer the questions of a `Timer`."""
    load_kernels_at_once()
    name, jobs = "", {}
    repeats: dict[str, int] = {}
    for line in sys.stdin:
        data, job = json.loads(line)
        if data != name:
            jobs, repeats, name = jobs_on(*data_named(data)), {}, data
        if job not in repeats:
            jobs[job]()  # what is compiled, or imported, is not counted
            repeats[job] = 1 + int(LONG_ENOUGH / max(1e-6, seconds_of(jobs[job], 1)))
        print(seconds_of(jobs[job], repeats[job]), flush=True)


def load_kernels_at_once() -> None:
    """Have an older version use its kernels from the first call on; it waits with them otherwise."""
    import thresholds._kernels._jit as compiling

    if hasattr(compiling, "StandIns"):
        compiling.StandIns.seconds_left = 0


def seconds_of(function: Callable[[], Any], repeats: int) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    for _ in range(repeats):
        function()
    return (time.process_time() - start) / repeats


def timed(row: Row, now: Timer, before: Timer | None) -> tuple[float, float] | None:
    """Return the least seconds of a job and of its rival; None where the older version is not there."""
    other = before if row.rival_is_before else now
    if other is None:
        return None
    least = [np.inf, np.inf]
    start = time.monotonic()
    for _ in range(ROUNDS):
        least[0] = min(least[0], now.seconds(row.data, row.job))
        least[1] = min(least[1], other.seconds(row.data, row.rival))
        if time.monotonic() - start > MOST_SECONDS:
            break
    return least[0], least[1]


def in_words(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    return f"{seconds * 1e6:,.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


FIRST = """
import time, sys
import numpy as np
rng = np.random.default_rng(0)
y = (rng.random((1000, 20)) < .2).astype(np.uint8)
s = rng.random((1000, 20), np.float32)
begin = time.process_time()
import thresholds
rule = thresholds.fit_empirical(y, s, n_jobs=1)
middle = time.process_time()
rule.predict(s)
print(middle - begin, time.process_time() - middle)
"""

COLD = """
import time
import numpy as np
rng = np.random.default_rng(0)
y = (rng.random((30_000, 50)) < .2).astype(np.uint8)
s = rng.random((30_000, 50), np.float32)
import thresholds, numba
begin = time.process_time()
thresholds.fit_empirical(y, s, n_jobs=1)
print(time.process_time() - begin)
"""

MEMORY = """
import resource, sys
import numpy as np
n, m, average, options = eval(sys.argv[1])
rng = np.random.default_rng(0)
y = rng.random((n, m), np.float32) < .05
s = rng.random((n, m), np.float32)
import thresholds
thresholds.fit_empirical(y[:40_000], s[:40_000], average, n_jobs=1, **options)
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
open("/proc/self/clear_refs", "w").write("5")
before = resident()
thresholds.fit_empirical(y, s, average, n_jobs=1, **options)
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak - before)
"""


def run_new(program: str, *arguments: str, cache: str | None = None) -> list[float]:
    """Run a program in a new process; return what it prints."""
    env = os.environ | ONE_THREAD | {"PYTHONPATH": str(FOLDER)}
    if cache is not None:
        env["NUMBA_CACHE_DIR"] = cache
    out = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=env, text=True, capture_output=True, check=True
    )
    return [float(number) for number in out.stdout.split()]


def show_first_calls() -> None:
    """Print what the first calls take, of a process and of a machine."""
    print("\n| work | CPU s | at most |\n|---|---:|---:|")
    fit, predict = np.min([run_new(FIRST) for _ in range(5)], axis=0)
    print(f"| first fit of a process, 1,000 x 20, import included | {fit:.2f} | 0.3 |")
    print(f"| first `predict` of a process, 1,000 x 20 | {predict:.3f} | 0.3 |")
    with tempfile.TemporaryDirectory() as folder:
        (cold,) = run_new(COLD, cache=folder)
        (warm,) = run_new(COLD, cache=folder)
    print(f"| first large fit of a machine: kernels are compiled | {cold:.1f} | 8 |")
    print(f"| first large fit of a process: kernels are loaded | {warm:.2f} |  |", flush=True)


def show_memory() -> None:
    """Print the memory of fits on one thread, against a tenth of the scores and sixteen columns."""
    print("\n| fit, one thread | memory, MB | a tenth of the scores and 16 columns |\n|---|---:|---:|")
    for n, m in ((200_000, 100), (200_000, 400)):
        for average, options in (("macro", {}), ("micro", {}), ("macro", {"min_precision": 0.3})):
            (used,) = run_new(MEMORY, repr((n, m, average, options)))
            bound = 4 * n * m / 10 + 16 * 4 * n
            what = f"{average}{', limits' if options else ''} {n:,} x {m}"
            print(f"| {what} | {used / 1e6:.0f} | {bound / 1e6:.0f} |", flush=True)


PAGE = """# Best cuts, as measured

Made by `python experiments/speed/best_cuts.py`, in one run; do not edit. [README.md](README.md) says how.
"""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, help="folder of an older version of the package")
    parser.add_argument("--only", nargs="*", help="words, one of which the data or the job must have")
    parser.add_argument("--timer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.timer:
        time_jobs()
        return
    # Timers import none of this.
    from measuring import describe_machine
    from rendering import BEST_CUTS, described, marks

    start, end = marks(BEST_CUTS)
    print(f"{PAGE}\n{start}", end="")
    now = Timer(FOLDER)
    before = None if options.before is None else Timer(options.before.resolve())
    print("| data | work | against | time | ratio | at most |\n|---|---|---|---:|---:|---:|")
    for row in ROWS:
        if options.only and not any(word in f"{row.data} {row.job} {row.rival}" for word in options.only):
            continue
        both = timed(row, now, before)
        if both is None:
            continue
        ratio = both[0] / both[1]
        bound = "" if row.at_most == np.inf else f"{row.at_most:g}{': **missed**' if ratio > row.at_most else ''}"
        rival = f"{row.rival}, version before" if row.rival_is_before else row.rival
        print(f"| {row.data} | {row.job} | {rival} | {in_words(both[0])} | {ratio:.2f} | {bound} |", flush=True)
    now.close()
    if before is not None:
        before.close()
    if not options.only:
        show_first_calls()
        show_memory()
    print(f"\n{described(describe_machine())}\n{end}")


if __name__ == "__main__":
    main()
