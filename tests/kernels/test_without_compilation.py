"""Kernels give what they give compiled, bit for bit, where Numba is told to leave them as Python.

Python knows more types than compiled loops: a byte added to a Python integer stays a byte, and wraps at 256. So every
kernel is called both ways, and every kind of fit. `make test-without-compilation` runs this file, and the tests of what
is fitted, with `NUMBA_DISABLE_JIT=1`; then a child process without it has the compiled answers.
"""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.kernels.draws import DRAWS, KERNELS, Array
from thresholds import metrics
from thresholds._engine import best_cuts
from thresholds._kernels._jit import kernel

COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
SEEDS = range(5)
FEW_SEEDS = range(2)  # where this is one test among all

# Sums in any order.
NEARLY = {
    "outcomes.best_prefixes": 1e-13,
    "outcomes.expected_f_of_sets": 1e-13,
    "outcomes.log_chances": 1e-13,
    "outcomes.expected_share": 1e-13,
}
# Products and differences that may be infinite, or wrap, as these loops expect.
OVERFLOWING = {"bootstrap.add_replicates", "kernels.useful_steps"}


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Have kernels be Python, each that a kernel calls as well."""
    with pytest.MonkeyPatch.context() as patch:
        for each in KERNELS.values():
            patch.setattr(each, "_dispatcher", each.py_func)
        yield


def flat(values: Any) -> list[Any]:
    """Arguments and results, those within tuples too."""
    return [x for value in values for x in (flat(value) if isinstance(value, tuple) else [value])]


def of_kernel(name: str, dtype: Any, call: Callable[..., Any], seeds: Any = SEEDS) -> list[Any]:
    """What a kernel returns and what it leaves in its arguments."""
    found = []
    for seed in seeds:
        arguments = DRAWS[name](np.random.default_rng(seed), dtype)
        result = call(*arguments)
        found += [*flat(arguments), *(flat(result) if isinstance(result, tuple) else [result])]
    return found


# Every kernel


def reached(names: set[str]) -> set[str]:
    """These kernels, and those of the same file that they call."""
    found = set(names)
    for name in names:
        module = name.partition(".")[0]
        called = {f"{module}.{other}" for other in KERNELS[name].py_func.__code__.co_names}
        found |= called & KERNELS.keys()
    return found if found == names else reached(found)


def test_every_kernel_is_drawn_for_or_called_by_one_that_is() -> None:
    assert len(KERNELS) > 60
    assert DRAWS.keys() <= KERNELS.keys()
    assert reached(set(DRAWS)) == KERNELS.keys()
    assert NEARLY.keys() | OVERFLOWING <= DRAWS.keys()


def test_what_python_may_leave_undone_is_named() -> None:
    """Kernels that compile with sums in any order, or call one that does, are those that may differ in last bits."""
    in_any_order = {name for name, kernel in KERNELS.items() if "reassoc" in kernel._options.get("fastmath", ())}
    assert {name for name in DRAWS if reached({name}) & in_any_order} == NEARLY.keys()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Any]:
    """All answers of a process that compiles, where this one does not."""
    if COMPILES:
        return {}
    path = tmp_path_factory.mktemp("compiled") / "answers"
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    code = f"from tests.kernels import test_without_compilation as t; t.write_answers({str(path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], env=environment, check=True)
    with path.open("rb") as file:
        return dict(pickle.load(file))


def write_answers(path: str) -> None:
    """Write what kernels and fits answer in this process."""
    assert COMPILES
    answers: dict[Any, Any] = {
        (name, dtype): of_kernel(name, dtype, KERNELS[name]) for name in DRAWS for dtype in (np.float32, np.float64)
    }
    answers |= {name: flat(fit()) for name, fit in FITS.items()}
    with open(path, "wb") as file:
        pickle.dump(answers, file)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DRAWS)
def test_a_kernel_gives_the_same_without_compilation(name: str, dtype: Any, compiled: dict[Any, Any]) -> None:
    seeds = FEW_SEEDS if COMPILES else SEEDS
    expected = of_kernel(name, dtype, KERNELS[name], seeds) if COMPILES else compiled[name, dtype]
    with uncompiled(), np.errstate(all="ignore" if name in OVERFLOWING else None):
        found = of_kernel(name, dtype, KERNELS[name].py_func, seeds)
    assert_same(found, expected, NEARLY.get(name, 0.0))


@pytest.mark.parametrize("name", DRAWS)
def test_kernels_return_no_named_tuples(name: str) -> None:
    """Numba makes these by Python code, in which Ctrl-C may come up, and reads what is not there: the process dies."""
    result = KERNELS[name](*DRAWS[name](np.random.default_rng(0), np.float64))
    parts = result if type(result) is tuple else (result,)
    assert {type(part) for part in parts} <= {np.ndarray, int, float, bool, type(None)}


def test_ctrl_c_that_comes_up_as_results_are_made_is_ctrl_c() -> None:
    """Numba calls more of Python with the exception set, which makes a chain of others of it."""

    def fail() -> None:
        try:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        except SystemError as error:
            raise SystemError("returned a result with an exception set") from error

    interrupted = kernel(fail)
    interrupted._dispatcher = fail
    with pytest.raises(KeyboardInterrupt):
        interrupted()


def assert_same(found: list[Any], expected: list[Any], rtol: float = 0.0) -> None:
    """Whether both are of the same types and bits, floats at most a little apart where `rtol` says so."""
    for ours, theirs in zip(found, expected, strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        if rtol and np.asarray(ours).dtype == np.float64:
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-300)
        else:
            np.testing.assert_array_equal(ours, theirs)


def test_uncompiled_kernels_look_at_no_floating_point_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code does not."""

    def product(a: np.float32) -> np.float32:
        return a * a

    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.warns(RuntimeWarning, match="overflow"):
        product(np.float32(1e30))
    assert kernel(product)(np.float32(1e30)) == np.inf


# Fits as a whole


def many_positives(n_samples: int = 1000, n_labels: int = 4, n_positives: int = 600) -> tuple[Array, Array]:
    """Truth with more positives of each label than a byte can count, and scores with ties."""
    rng = np.random.default_rng(11)
    truth = np.zeros((n_samples, n_labels), np.uint8)
    for j in range(n_labels):
        truth[rng.choice(n_samples, n_positives, replace=False), j] = 1
    scores = np.round(rng.normal(size=truth.shape) + truth, 2).astype(np.float32)
    return truth, scores


def fitted(truth: Array, scores: Array, average: Any = "macro", **options: Any) -> tuple[Any, ...]:
    """Thresholds, what the fit claims, and what is realised."""
    rule = thresholds.fit_empirical(truth, scores, average, **options)
    weights = options.get("sample_weight")
    realised = metrics.fbeta_score(
        truth, rule.predict(scores), beta=1.0, average=average, zero_division=0.0, sample_weight=weights
    )
    assert rule.objective == realised
    return rule.thresholds, rule.objective


def searched() -> Any:
    """As large problems are fitted: by kernels, without sorting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_cuts, "_MOST_SORTED_CELLS", 0)
        truth, scores = many_positives()
        weighted = fitted(truth, scores, sample_weight=np.arange(1000) % 7)
        return *fitted(truth, scores), *weighted, *fitted(truth, scores, "micro")


def test_more_cells_than_a_byte_counts_may_hold_the_best_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that tell nothing of truth leave many cells to be looked at again."""
    truth, scores = many_positives()
    noise = np.random.default_rng(12).normal(size=scores.shape).astype(np.float32)
    by_sorting = [*fitted(truth, noise), *fitted(truth, noise, "micro")]
    monkeypatch.setattr(best_cuts, "_MOST_SORTED_CELLS", 0)
    with uncompiled():
        found = [*fitted(truth, noise), *fitted(truth, noise, "micro")]
    assert_same(found, by_sorting)


def with_weights() -> Any:
    truth, scores = many_positives()
    return fitted(truth, scores, sample_weight=np.arange(1000) % 7)


def of_sparse() -> Any:
    truth, scores = many_positives()
    return fitted(sparse.csr_array(truth), sparse.csr_array(np.maximum(scores, 0)), "micro")


def isotonic() -> Any:
    truth, scores = many_positives()
    own, drawn = (thresholds.calibrate(truth, scores, by=by).transform(scores) for by in ("label", "shrink"))
    np.testing.assert_allclose(own.sum(0), truth.sum(0))
    return own, drawn


def platt() -> Any:
    truth, scores = many_positives()
    return (thresholds.calibrate(truth, scores, "platt").transform(scores),)


def diagnosed() -> Any:
    truth, scores = many_positives()
    table = thresholds.diagnose(truth, scores, thresholds.FixedRule(0.5, 4)).table
    return table["auroc"], table["best_f"], table["state"]


FITS: dict[str, Callable[[], Any]] = {
    "macro": lambda: fitted(*many_positives(3000)),
    "micro": lambda: fitted(*many_positives(), "micro"),
    "shared macro": lambda: fitted(*many_positives(), per_label=False),
    "shared micro": lambda: fitted(*many_positives(), "micro", per_label=False),
    "shared samples": lambda: fitted(*many_positives(), "samples", per_label=False),
    "searched": searched,
    "weighted": with_weights,
    "sparse": of_sparse,
    "shrink": lambda: fitted(*many_positives(), guard="shrink"),
    "limits": lambda: fitted(*many_positives(), min_precision=0.7, max_overprediction=1.2),
    "isotonic": isotonic,
    "platt": platt,
    "diagnosis": diagnosed,
}


@pytest.mark.soak
@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_the_same_without_compilation(name: str, compiled: dict[Any, Any]) -> None:
    """With 600 positives of each label: sums of bytes would claim .056 where F is .42."""
    expected = flat(FITS[name]()) if COMPILES else compiled[name]
    with uncompiled():
        found = flat(FITS[name]())
    assert_same(found, expected)
