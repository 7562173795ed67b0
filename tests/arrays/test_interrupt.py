"""Ctrl-C ends long work at once, and leaves no thread at work."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

# Pieces of work take hundredths of a second, so it ends within a tenth, alone on a machine; other processes may take
# the cores for seconds. Uninterrupted, it goes on for a minute.
_AT_ONCE = 10.0  # seconds

# Rows overlap in memory, so that work of seconds takes little of it.
_WORK = """
import signal, sys, threading, time
import numpy as np
import thresholds


def data(n, m):
    base = np.random.default_rng(0).random(3 * n + m, np.float32)
    scores = np.lib.stride_tricks.sliding_window_view(base, m)[::3][:n]
    return np.lib.stride_tricks.sliding_window_view(base ** 3 > .6, m)[::3][:n], scores

calls = {
    "macro": lambda y, p: thresholds.fit_empirical(y, p, n_jobs=N_JOBS),
    "micro": lambda y, p: thresholds.fit_empirical(y, p, "micro", n_jobs=N_JOBS),
    "micro, shared": lambda y, p: thresholds.fit_empirical(y, p, "micro", per_label=False, n_jobs=N_JOBS),
    "compare": lambda y, p: thresholds.compare("all", y, p),
    "bootstrap": lambda y, p: thresholds.bootstrap_thresholds(y[:, :1], p[:, :1], n_bootstraps=len(y) // 50),
    "expected": lambda y, p: thresholds.fit_expected(p, n_jobs=N_JOBS),
}
call = calls[sys.argv[1]]
call(*data(30_000, 200))  # Kernels are compiled, those for many scores of a label, too.
y, p = data(int(sys.argv[2]), 200)
signal.signal(signal.SIGINT, signal.default_int_handler)  # Processes in the background may ignore it.
print("begins", flush=True)
begun = time.monotonic()
try:
    while time.monotonic() < begun + 60:
        call(y, p)
    print("was never interrupted", flush=True)
except KeyboardInterrupt:
    time.sleep(0.05)  # Nobody waits for a thread that was being started: it finds nothing to do, and ends.
    print("interrupted", threading.active_count(), flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(
    ("call", "n_rows", "n_jobs", "moment"),
    [
        ("macro", 500_000, 2, 0.3),
        pytest.param("macro", 500_000, 1, 0.5, marks=pytest.mark.soak),
        pytest.param("micro", 500_000, 2, 0.4, marks=pytest.mark.soak),
        pytest.param("micro, shared", 50_000, 2, 0.2, marks=pytest.mark.soak),
        pytest.param("compare", 100_000, 2, 1.0, marks=pytest.mark.soak),
        ("expected", 10**6, 2, 0.2),
        ("bootstrap", 10**6, 1, 0.7),
    ],
)
def test_ctrl_c_ends_a_fit_at_once(call: str, n_rows: int, n_jobs: int, moment: float) -> None:
    program = _WORK.replace("N_JOBS", str(n_jobs))
    with subprocess.Popen(
        [sys.executable, "-c", program, call, str(n_rows)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            time.sleep(moment)
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            assert process.stdout.readline() == "interrupted 1\n"
            assert process.wait(_AT_ONCE) == 0
            assert time.monotonic() - sent < _AT_ONCE
        finally:
            process.kill()
