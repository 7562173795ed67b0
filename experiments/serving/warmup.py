"""Measurement: what `thresholds warmup` compiles, how long that takes, and what a first call waits for without it.

For each purpose, and for all: kernels and seconds of a warm-up with an empty cache, of the next one, and the size of
the cache. Then first calls in a process of its own, with an empty cache and after the warm-up. Seconds are those of the
processor, in the process and all its threads, the start of Python and imports included; so other programs that run
beside it matter little. With `--quick` only the purpose "predict".

    python experiments/serving/warmup.py > experiments/serving/warmup.txt
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np

from thresholds._version import __version__

CALLS = {
    "InstanceRule().predict(p)": "thresholds.InstanceRule().predict(s)",
    "fit(y, s, 'macro, shrink')": "thresholds.fit(y, s)",
    "fit(y, s, 'instance, platt')": "thresholds.fit(y, s, 'instance, platt')",
    "diagnose(y, s, FixedRule(0.5, 30))": "thresholds.diagnose(y, s, thresholds.FixedRule(0.5, 30))",
}
PREPARE = """
import numpy as np, thresholds
rng = np.random.default_rng(0)
y = rng.random((2000, 30)) < 0.1
s = 1 / (1 + np.exp(-rng.normal(size=y.shape) - y))
"""


def timed(cache: str, *command: str) -> tuple[str, float]:
    """What a process prints that keeps its kernels in a folder, and the seconds of the processor that it takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "THRESHOLDS_COMPILE_NOTICE": "0"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, seconds


def warmed_up(cache: str, purposes: list[str]) -> str:
    """A row about two warm-ups, one after the other."""
    chosen = [word for purpose in purposes for word in ("--for", purpose)]
    said, first = timed(cache, "-m", "thresholds", "warmup", *chosen)
    _, second = timed(cache, "-m", "thresholds", "warmup", *chosen)
    compiled = int(re.match(r"[\d,]+", said)[0].replace(",", ""))  # type: ignore[index]
    size = sum(path.stat().st_size for path in Path(cache).rglob("*.nb?")) / 1e6
    return f"{', '.join(purposes) or 'all':<10}{compiled:>8}{first:>9.1f}{second:>8.1f}{size:>7.1f}"


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    purposes = [["predict"]] if quick else [["predict"], ["fit"], ["judge"], []]

    print("what      kernels  seconds   again     MB")
    for chosen in purposes:
        with tempfile.TemporaryDirectory() as cache:
            print(warmed_up(cache, chosen), flush=True)
            warm = {name: timed(cache, "-c", PREPARE + call)[1] for name, call in CALLS.items()}

    print("\nseconds of a first call   empty cache   after the last warm-up   (2,000 x 30)")
    for name, call in list(CALLS.items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as empty:
            _, cold = timed(empty, "-c", PREPARE + call)
        print(f"{name:<36}{cold:>6.1f}{warm[name]:>10.1f}", flush=True)
    _, nothing = timed(tempfile.gettempdir(), "-c", PREPARE)
    print(f"{'no call':<36}{nothing:>6.1f}{nothing:>10.1f}")
    versions = f"numba {numba.__version__}, numpy {np.__version__}, python {sys.version.split()[0]}"
    print(f"\nthresholds {__version__}, {versions}, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
