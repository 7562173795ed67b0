"""Where subnormal numbers count as 0, fits and rules do as they do elsewhere for scores that are 0 in their place.

Programs set the mode as `torch.set_flush_denormal(True)` does, in a process of its own: it stays with the thread.
"""

import ctypes
import ctypes.util
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.cases import small_cases
from thresholds._arrays.dtypes import flushes_subnormals
from thresholds._engine.placement import place

TINY = sys.float_info.min
FLUSH = 0x8040  # both bits of MXCSR


def flush_subnormals() -> None:
    """Set the mode in this thread, by the C library of Linux on x86-64."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    environment = (ctypes.c_uint32 * 8)()  # MXCSR comes last.
    library.fegetenv(environment)
    environment[7] |= FLUSH
    library.fesetenv(environment)
    assert flushes_subnormals()


can_flush = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the mode is set by other means here"
)


def in_that_mode(program: str) -> str:
    """What a program prints in a process that flushes subnormal numbers to zero."""
    start = "from tests.fitting.test_flushing import *\nflush_subnormals()\n"
    ran = subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def without_subnormals(scores: np.ndarray) -> np.ndarray:
    """Scores with 0 in place of subnormal ones, but of float16, which NumPy compares as they are."""
    if scores.dtype.kind != "f" or scores.dtype.itemsize == 2:
        return scores
    return np.where(np.abs(scores) < np.finfo(scores.dtype).tiny, scores.dtype.type(0), scores)


FITS: dict[str, Callable[..., thresholds.Rule]] = {
    "macro": thresholds.fit_empirical,
    "score": lambda y, p: thresholds.fit_empirical(y, p, placement="score"),
    "micro": lambda y, p: thresholds.fit_empirical(y, p, "micro"),
    "shared": lambda y, p: thresholds.fit_empirical(y, p, per_label=False),
    "shrink": lambda y, p: thresholds.fit_empirical(y, p, guard="shrink"),
    "regions": thresholds.fit_regions,
    "expected": lambda _, p: thresholds.fit_expected(np.clip(np.abs(p), 0, 1)),
    "sparse": lambda y, p: thresholds.fit_empirical(y, sparse.csr_array(p.astype(np.float64)), guard="shrink"),
}


def answers(*, replaced: bool) -> Iterator[list[object]]:
    """What fits decide about, and claim of, scores of which many are tiny or 0."""
    for case in small_cases(22, 3):
        scores = without_subnormals(case.y_score) if replaced else case.y_score
        for name, fit in FITS.items():
            try:
                rule = fit(case.y_true, scores)
            except thresholds.InputError as error:  # of negative sparse scores
                yield [case.name, name, str(error)]
                continue
            decided = rule.predict(np.clip(np.abs(scores), 0, 1) if name == "expected" else scores)
            if name in ("macro", "score", "shared", "shrink", "sparse", "regions"):
                reached = thresholds.metrics.f1_score(case.y_true, decided, average="macro", zero_division=0.0)
                assert rule.objective == pytest.approx(reached, abs=1e-12)
            yield [case.name, name, decided.tolist(), rule.objective]


@can_flush
@pytest.mark.slow
def test_fits_do_as_for_scores_of_0_in_place_of_subnormal_ones() -> None:
    program = "import warnings; warnings.simplefilter('ignore'); print(json.dumps(list(answers(replaced=False))))"
    assert json.loads(in_that_mode(program)) == json.loads(json.dumps(list(answers(replaced=True))))


@can_flush
@pytest.mark.filterwarnings("error")
def test_the_mode_is_said_once_at_the_line_of_the_caller() -> None:
    program = """
import warnings
from threading import Thread

def predict():
    thresholds.FixedRule(0.5, 1).predict([[0.0], [1.0]])

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    thread = Thread(target=predict)  # takes the mode over
    thread.start()
    thread.join()
    predict()
    thresholds.fit_empirical([[1], [0]], [[0.5], [0.0]])
(warned,) = caught
print(warned.category is thresholds.FlushToZeroWarning, warned.filename, warned.message)
"""
    said = in_that_mode(program)
    assert said.startswith("True <string> this process flushes subnormal numbers to zero, as after torch.set_flush_den")
    thresholds.FixedRule(0.5, 1).predict([[0.0], [5e-324]])  # Elsewhere there is nothing to say.


@can_flush
def test_rules_tell_0_from_what_lies_above_it_in_each_dtype() -> None:
    program = """
import warnings; warnings.simplefilter("ignore")
just_above = np.array([1], np.int64).view(np.float64)[0]
for rule in (thresholds.ThresholdRule([just_above, TINY]), thresholds.RegionRule([[just_above], [TINY, 1]])):
    for dtype in (np.float16, np.float32, np.float64):
        print(rule.predict(np.array([[0, 0], [0.25, 0.25]], dtype)).tolist())
"""
    assert in_that_mode(program) == 6 * "[[0, 0], [1, 1]]\n"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorch_sets_that_mode() -> None:
    program = """
import warnings
import torch
import thresholds
torch.set_flush_denormal(True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rule = thresholds.ThresholdRule([2.2250738585072014e-308])
    print(rule.predict(torch.tensor([[0.0], [0.25]])).tolist())
print([warned.category.__name__ for warned in caught])
module = rule.to_torch()
for dtype in (torch.float32, torch.float64):
    print(module(torch.tensor([[0.0], [0.25]], dtype=dtype)).tolist())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "[[0], [1]]\n['FlushToZeroWarning']\n[[0], [1]]\n[[0], [1]]\n", ran.stderr


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_threshold_is_above_a_lower_score_that_may_count_as_0(dtype: type[np.floating]) -> None:
    tiny = np.finfo(dtype).tiny
    below = -np.finfo(dtype).smallest_subnormal
    lower = np.array([0.0, below, 0.0], np.float64)
    score = np.array([0.25, tiny, tiny], np.float64)
    for placement in ("low", "mid", "score"):
        placed = place(score, lower, placement, np.dtype(dtype))
        assert (placed >= tiny).all(), placement
        assert (placed <= score).all(), placement
