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


_IMPORTING = """
import os, signal, sys
import thresholds

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.types":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
y, p, weights = [[1], [0], [1]], [[0.9], [0.5], [0.25]], [1, 1, 1]
try:
    thresholds.fit_empirical(y, p, sample_weight=weights)
except KeyboardInterrupt:
    print(thresholds.fit_empirical(y, p, sample_weight=weights).objective)
"""


def test_ctrl_c_while_numba_is_imported_leaves_it_whole() -> None:
    ran = subprocess.run([sys.executable, "-c", _IMPORTING], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("0.8\n", 0), ran.stderr


_LOADING = """
import os, signal, sys, threading, time
import numba.core.dispatcher
import thresholds

load = numba.core.dispatcher.Dispatcher._compile_for_args
presses, loading = [], []

def slow(*arguments, **named):
    loading.append(threading.current_thread() is threading.main_thread())
    if not presses:
        presses.append(os.kill(os.getpid(), signal.SIGINT))
        for _ in range(10):
            time.sleep(0.05)
    return load(*arguments, **named)

signal.signal(signal.SIGINT, signal.default_int_handler)
numba.core.dispatcher.Dispatcher._compile_for_args = slow
y, p, weights = [[1], [0], [1]], [[0.9], [0.5], [0.25]], [1, 1, 1]
try:
    thresholds.fit_empirical(y, p, sample_weight=weights)
except KeyboardInterrupt:
    print(thresholds.fit_empirical(y, p, sample_weight=weights).objective, len(presses), any(loading))
"""


def test_kernels_are_loaded_off_the_main_thread() -> None:
    ran = subprocess.run([sys.executable, "-c", _LOADING], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("0.8 1 False\n", 0), ran.stderr


_FIRST_FIT = """
import signal
import numpy as np
import thresholds

rng = np.random.default_rng(0)
y, p = rng.random((3000, 3)) < 0.3, rng.random((3000, 3))
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begins", flush=True)
try:
    while True:  # Whatever is loaded already, Ctrl-C ends it.
        thresholds.bootstrap_thresholds(y, p, n_jobs=1)
        thresholds.diagnose(y, p, thresholds.FixedRule(0.5, 3), n_jobs=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize("moment", [0.5, 1.5, 2.5, 3.5, 4.5])
def test_ctrl_c_is_heard_while_kernels_are_loaded(moment: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _FIRST_FIT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            time.sleep(moment)
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=60)  # A kernel may have to be compiled.
        finally:
            process.kill()
    assert said == "interrupted\n", errors
    # Python ends as if by the signal if it came within `exec`, which makes dataclasses while modules are imported.
    assert process.returncode in (0, -signal.SIGINT), errors
