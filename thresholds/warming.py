"""What is compiled before anybody waits for it? `warmup` calls, on small data, all that leads to a kernel.

Numba compiles a kernel for the types of its arguments: one width of floats, dense or sparse. So each function is called
for each of these. Whatever else data may be (integers, frames, read-only, by columns) comes to kernels in one of these
forms. A test holds that a process that has new data of all forms compiles nothing; whoever adds a kernel, or a type,
adds a call here.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from thresholds import _checks
from thresholds._arrays.threads import ProgressBar
from thresholds._arrays.types import Matrix
from thresholds._checks import AVERAGES
from thresholds._kernels._jit import Kernel
from thresholds._kernels.choosing import upper_hulls
from thresholds._kernels.notice import Notice
from thresholds._results.fields import record
from thresholds._results.result import Result
from thresholds._results.words import counted
from thresholds.calibration import calibrate, measure_calibration
from thresholds.calibration.curves import METHODS
from thresholds.comparison.compare import compare
from thresholds.data.folds import multilabel_folds
from thresholds.diagnosis import plan_annotation
from thresholds.errors import InputError, shown
from thresholds.expectation.value import expected_f
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.expected import fit_expected
from thresholds.fitting.top_k import fit_top_k
from thresholds.metrics import f1_score
from thresholds.rule import FixedRule, InstanceRule
from thresholds.validation.bootstrap import bootstrap_thresholds
from thresholds.validation.cross_fit import cross_fit

Purpose = Literal["predict", "fit", "judge"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

Call = Callable[[], object]

_N_ROWS = 240
_N_LABELS = 24  # more than are searched with NumPy
_LARGE = (2**16, 16)  # rows and labels: more than a million cells, which NumPy does not sort
_CUTOFF = 0.2  # Lower scores are absent from sparse ones.


@record
class WarmUp(Result):
    """What `warmup` did.

    Attributes
    ----------
    compiled : kernels that were compiled, each once for each combination of types
    loaded : as many that were on disk already
    seconds : how long it took
    folder : where kernels are kept; None if no folder can be written: then this process alone is warm
    """

    compiled: int
    loaded: int
    seconds: float
    folder: str | None

    def _sentences(self) -> Iterable[str]:
        """Say it in a sentence."""
        where = "not kept on disk" if self.folder is None else f"kept in {self.folder}"
        done = f"{counted(self.compiled, 'kernel')} compiled and {self.loaded:,} loaded"
        yield f"{done} in {self.seconds:.0f} s; {where}"


def warmup(purposes: Purpose | Collection[Purpose] = PURPOSES, *, progress: bool = False) -> WarmUp:
    """Compile what a process will need, and keep it on disk, so that no first call waits for it.

    Parameters
    ----------
    purposes : what the process will do, or several of
        "predict": decide by a rule that needs kernels: an `InstanceRule`, a `CalibratedRule`; thresholds need none.
        "fit": fit, calibrate and update rules, with and without labels, and judge them out of fold.
        "judge": metrics, `expected_f`, `compare`, `diagnose`, `bootstrap_thresholds`.
    progress : show a progress bar on stderr

    Returns
    -------
    WarmUp
        Its `folder` is None where nothing can be kept on disk; then this process alone is warm.

    Raises
    ------
    InputError
        For other purposes, or none.

    Notes
    -----
    Kernels are compiled for the processor at hand, by a version of Numba: on another they are compiled anew.
    `NUMBA_CPU_NAME=generic`, for this call and for the process that is to be warm, compiles for any of the family.
    """
    wanted = _wanted(purposes)
    compiled, loaded = _numbers_so_far()
    start = time.monotonic()

    # Who asks for it need not be told that it takes long.
    Notice.given = True
    calls = [call for purpose in PURPOSES if purpose in wanted for call in _CALLS[purpose]()]
    bar = ProgressBar("compiling", len(calls)) if progress else None
    for call in calls:
        call()
        if bar is not None:
            bar.step()
    all_compiled, all_loaded = _numbers_so_far()
    return WarmUp(
        compiled=all_compiled - compiled,
        loaded=all_loaded - loaded,
        seconds=time.monotonic() - start,
        folder=folder_of_kernels(),
    )


def folder_of_kernels() -> str | None:
    """Return the folder in which kernels are kept; None if none can be written, or nothing is compiled."""
    stats = getattr(upper_hulls.dispatcher, "stats", None)  # any kernel, as all lie side by side
    return None if stats is None else stats.cache_path


def _numbers_so_far() -> tuple[int, int]:
    """Return how many kernels this process has compiled, and how many loaded, once for each combination of types."""
    found = [each.dispatcher.stats for each in Kernel.in_use if hasattr(each.dispatcher, "stats")]
    compiled = sum(each.cache_misses.total() for each in found)
    return compiled, sum(each.cache_hits.total() for each in found)


def _wanted(purposes: object) -> list[str]:
    """Check purposes: one, or some."""
    several = [purposes] if isinstance(purposes, str) else purposes
    if not isinstance(several, Collection) or not several:
        choices = ", ".join(map(repr, PURPOSES))
        raise InputError(f"purposes is {shown(purposes)}, expected one of {choices}, or several")
    return [_checks.option(purpose, "purposes", PURPOSES) for purpose in several]


class _WarmingData(NamedTuple):
    """Truth and scores, all of which are probabilities, in one form."""

    truth: Matrix  # (n_rows, n_labels)
    scores: Matrix  # (n_rows, n_labels)


def _in_all_forms() -> Iterator[_WarmingData]:
    """Return the same data, dense and sparse, in every type that kernels tell apart."""
    for dtype in (np.float32, np.float64):
        dense = _drawn(_N_ROWS, _N_LABELS, dtype)
        yield dense
        shown = np.where(dense.scores < _CUTOFF, dtype(0), dense.scores)
        yield _WarmingData(_as_csr(dense.truth), _as_csr(shown))


def _drawn(n_rows: int, n_labels: int, dtype: type[np.floating[Any]]) -> _WarmingData:
    """Draw dense data, of base rates from .5 down to .01."""
    rng = np.random.default_rng(0)
    truth = (rng.random((n_rows, n_labels)) < np.geomspace(0.5, 0.01, n_labels)).astype(np.uint8)
    truth[0] = 1
    log_odds = rng.normal(size=truth.shape) + 2.0 * truth - 1.0  # (n_rows, n_labels)
    return _WarmingData(truth, (1 / (1 + np.exp(-log_odds))).astype(dtype))


def _as_csr(cells: Matrix) -> Any:
    """Return cells as a sparse matrix."""
    from scipy import sparse

    return sparse.csr_array(cells)


def _predicting() -> Iterator[Call]:
    """Rules that need kernels to decide; one with tails, of a row's labels that have no column."""
    by_instance = InstanceRule()
    for _, scores in _in_all_forms():
        yield partial(by_instance.predict, scores)
        yield partial(by_instance.predict, scores, tail=np.full((_N_ROWS, 1), 0.01))


def _fitting() -> Iterator[Call]:
    """Fits of each kind, with weights and without, and what they reach out of fold."""
    for data in _in_all_forms():
        for weights in (None, np.linspace(0.5, 2.0, _N_ROWS)):
            about: dict[str, Any] = {"sample_weight": weights}
            yield partial(fit_empirical, *data, "micro", max_predicted_per_row=1, **about)
            for average in AVERAGES:
                yield partial(fit_empirical, *data, average, per_label=False, **about)
            for average in ("macro", "micro"):
                yield partial(cross_fit, *data, average, alternatives=True, **about)
            yield partial(multilabel_folds, data.truth, groups=np.arange(_N_ROWS) // 2)
            yield partial(fit_top_k, *data, **about)
            for method in METHODS:
                yield partial(calibrate, *data, method, "label", **about)
                yield partial(calibrate, *data, method, "shrink", **about)
        for average in AVERAGES:
            yield partial(fit_expected, data.scores, average)
            yield partial(fit_expected, data.scores, average, per_label=False)
        yield partial(fit_expected, data.scores, exact=True)
    yield from _searching()


def _searching() -> Iterator[Call]:
    """Fits of so many cells that kernels search them."""
    for dtype in (np.float32, np.float64):
        truth, scores = _drawn(*_LARGE, dtype)
        groups = np.arange(len(scores)) % 7
        yield partial(fit_empirical, truth, scores)
        yield partial(fit_empirical, truth, scores, sample_weight=1.0 + groups)
        yield partial(fit_empirical, truth, scores, "micro", guard="pool")
        yield partial(fit_empirical, truth, scores, "micro", guard="pool", groups=groups)
        yield partial(fit_expected, scores, "samples", per_label=False)
        for weights in (None, 1.0 + groups):
            yield partial(cross_fit, truth, scores, guard=None, cv=2, sample_weight=weights)
            yield partial(calibrate, truth, scores, "isotonic", "label", sample_weight=weights)


def _judging() -> Iterator[Call]:
    """Metrics, expectations, comparisons and diagnoses."""
    half = FixedRule(0.5, _N_LABELS)
    for data in _in_all_forms():
        yield partial(compare, {"half": half}, *data)
        yield partial(measure_calibration, *data)
        yield partial(bootstrap_thresholds, *data, n_bootstraps=2)
        yield partial(plan_annotation, *data, half, n_bootstraps=2)
        decided = half.predict(data.scores, dense=True)
        for marks in (decided, _as_csr(decided)):
            yield partial(f1_score, data.truth, marks, average="macro", zero_division=0.0)
            for weights in (np.arange(_N_ROWS) % 3, np.linspace(0.5, 2.0, _N_ROWS)):
                yield partial(
                    f1_score,
                    data.truth,
                    marks,
                    average="macro",
                    sample_weight=weights,
                    zero_division=0.0,
                )
            for average in AVERAGES:
                yield partial(expected_f, data.scores, marks, average)
                yield partial(expected_f, data.scores, marks, average, exact=True)
    for dtype in (np.float32, np.float64):
        truth, scores = _drawn(*_LARGE, dtype)
        yield partial(plan_annotation, truth, scores, n_bootstraps=2)
        for row_weights in (None, 1.0 + np.arange(len(truth))):
            yield partial(measure_calibration, truth, scores, sample_weight=row_weights)


_CALLS: dict[Purpose, Callable[[], Iterator[Call]]] = {
    "predict": _predicting,
    "fit": _fitting,
    "judge": _judging,
}
