"""What is compiled before anybody waits for it? `warmup` calls, on small data, all that leads to a kernel.

Numba compiles a kernel for the types of its arguments: one width of floats, dense or sparse. So each function is called
for each of these. Whatever else data may be (integers, frames, read-only, by columns) comes to kernels in one of these
forms. A test holds that a process that has new data of all forms compiles nothing.
"""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from thresholds import _checks
from thresholds._arrays.threads import Bar
from thresholds._arrays.types import Floats, Matrix
from thresholds._checks import AVERAGES, Average
from thresholds._kernels._jit import Kernel
from thresholds._kernels.choosing import upper_hulls
from thresholds._kernels.notice import Notice
from thresholds.calibration import CalibratedRule, calibrate, measure_calibration
from thresholds.calibration.calibrator import METHODS, Calibrator
from thresholds.calibration.curves import Curves
from thresholds.calibration.isotonic import IsotonicCurves
from thresholds.calibration.measures import UNKNOWN
from thresholds.chunks.candidates import Candidates
from thresholds.chunks.counts import Counts
from thresholds.chunks.expected import fit_expected as fit_expected_in_chunks
from thresholds.comparison.compare import compare
from thresholds.comparison.differences import diff_rules
from thresholds.diagnosis import diagnose, diagnose_expected, plan_annotation
from thresholds.errors import InputError, shown
from thresholds.expectation.value import expected_f
from thresholds.fitting.batches import batch_effect, predict_by_batch
from thresholds.fitting.by_name import fit
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.expected import fit_expected
from thresholds.fitting.rules import RULES
from thresholds.metrics import auroc, f1_score, multilabel_accuracy
from thresholds.results import Shown, Table, counted, records_of
from thresholds.rule import FixedRule, InstanceRule
from thresholds.validation.bootstrap import bootstrap_thresholds
from thresholds.validation.cross_fit import cross_fit
from thresholds.validation.update import update_rule

Purpose = Literal["predict", "fit", "judge"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

Call = Callable[[], object]

_N_ROWS = 240
_FEW = 6  # labels, whose best set one kernel finds
_MANY = 24  # labels, whose best set another does
_LARGE = (2**15, 16)  # rows and labels of what is counted, not sorted
_LARGER = (2**16, 16)  # of what a curve of all labels is counted in rows
_WIDE = (2**13, 64)  # where a row fills registers
_CUTOFF = 0.2  # Lower scores are absent from sparse ones.
_OVER_LABELS = AVERAGES[:-1]
_GUARDED: tuple[Average, ...] = ("macro", "micro")  # by guards of their own


@dataclass(frozen=True, repr=False)
class WarmUp(Shown):
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

    def _records(self) -> list[dict[str, Any]]:
        """Return the fields, in one row."""
        return records_of([self])

    def _tables(self, _: int) -> Iterator[str | Table]:
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
    bar = Bar("compiling", len(calls)) if progress else None
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


class _Data(NamedTuple):
    """Truth and scores, all of which are probabilities, in one form."""

    truth: Matrix  # (n_rows, n_labels)
    scores: Matrix  # (n_rows, n_labels)

    @property
    def weights(self) -> Floats:
        """Weights of rows, (n_rows,), that are no whole numbers."""
        return np.linspace(0.5, 2.0, self.truth.shape[0])

    @property
    def rows(self) -> tuple["_Data", "_Data"]:
        """The upper and the lower half."""
        half = self.truth.shape[0] // 2
        return _Data(self.truth[:half], self.scores[:half]), _Data(
            self.truth[half:], self.scores[half:]
        )


def _in_all_forms(n_labels: int) -> Iterator[_Data]:
    """Return the same data, dense and sparse, in every type that kernels tell apart."""
    for dtype in (np.float32, np.float64):
        dense = _drawn(_N_ROWS, n_labels, dtype)
        yield dense
        shown = np.where(dense.scores < _CUTOFF, dtype(0), dense.scores)
        yield _Data(_as_csr(dense.truth), _as_csr(shown))


def _drawn(n_rows: int, n_labels: int, dtype: type[np.floating[Any]]) -> _Data:
    """Draw dense data, of base rates from .5 down to .01."""
    rng = np.random.default_rng(0)
    truth = (rng.random((n_rows, n_labels)) < np.geomspace(0.5, 0.01, n_labels)).astype(np.uint8)
    truth[0] = 1
    log_odds = rng.normal(size=truth.shape) + 2.0 * truth - 1.0  # (n_rows, n_labels)
    return _Data(truth, (1 / (1 + np.exp(-log_odds))).astype(dtype))


def _as_csr(cells: Matrix) -> Any:
    """Return cells as a sparse matrix."""
    from scipy import sparse

    return sparse.csr_array(cells)


def _predicting() -> Iterator[Call]:
    """Rules that need kernels to decide; one with tails, of a row's labels that have no column."""
    by_instance = InstanceRule()
    for n_labels in (_FEW, _MANY):
        line = IsotonicCurves(np.array([0, 2]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
        calibrator = Calibrator(
            "isotonic",
            "pooled",
            None,
            0.0,
            np.zeros(n_labels),
            UNKNOWN,
            UNKNOWN,
            Curves(line, pooled=True),
        )
        for data in _in_all_forms(n_labels):
            yield partial(by_instance.predict, data.scores)
            yield partial(by_instance.predict, data.scores, tail=np.full((_N_ROWS, 1), 0.01))
            yield partial(CalibratedRule(calibrator, by_instance).predict, data.scores)


def _fitting() -> Iterator[Call]:
    """Fits of all kinds, with weights and without, and what they reach out of fold."""
    for data in _in_all_forms(_FEW):
        yield from _fitting_to(data)
        yield from _expecting(data)
    for data in _in_all_forms(_MANY):
        yield partial(fit_expected, data.scores, "samples")

    # Lines that lean on each other, which take all scores as float64.
    for method in METHODS:
        yield partial(calibrate, *_drawn(_N_ROWS, _FEW, np.float64), method, "shrink")
    yield from _counting()


def _fitting_to(data: _Data) -> Iterator[Call]:
    """Fits to truth."""
    for weights in (None, data.weights):
        for rule in RULES.values():
            if rule.needs_labels and rule.calibration is None:
                yield partial(fit, *data, rule.name, sample_weight=weights)
        for average in AVERAGES:
            for name in ("max_predicted", "max_predicted_per_row"):
                budget: dict[str, Any] = {name: 9 if name == "max_predicted" else 1}
                budget["per_label"] = average in ("macro", "micro")
                yield partial(fit_empirical, *data, average, sample_weight=weights, **budget)
        for average in _GUARDED:
            yield partial(cross_fit, *data, average, sample_weight=weights, alternatives=True)
        yield partial(cross_fit, *data, guard=None, sample_weight=weights)
        for method in METHODS:
            yield partial(calibrate, *data, method, "label", sample_weight=weights)
    yield partial(_update, data)
    for weights in (None, data.weights):
        yield partial(_count_blocks, data, weights)


def _count_blocks(data: _Data, weights: Floats | None) -> None:
    """Count halves of the rows, at all scores and at those of positives."""
    about: dict[str, Any] = {"sample_weight": weights}
    candidates = Candidates.of(*data, **about)
    unit = None if weights is None else candidates.weight_unit
    for at in (None, candidates + candidates):
        counts = Counts.of(*data, at, weight_unit=unit, **about)
        (counts + counts).fit("micro")


def _update(data: _Data) -> None:
    """Fit on half of the rows, update on the others."""
    old, new = data.rows
    for average in _GUARDED:
        update_rule(cross_fit(*old, average).rule, *new)


def _expecting(data: _Data) -> Iterator[Call]:
    """Fits to probabilities alone."""
    for average in _OVER_LABELS:
        yield partial(fit_expected, data.scores, average)
        yield partial(fit_expected, data.scores, average, per_label=False)
    yield partial(fit_expected_in_chunks, {"y_score": data.scores}, n_jobs=1)
    yield partial(fit_expected, data.scores, exact=True)
    yield partial(fit_expected, data.scores, "samples")
    yield partial(batch_effect, data.scores, 0, sizes=[2, 5])
    yield partial(predict_by_batch, data.scores, np.arange(_N_ROWS) // 60)


def _counting() -> Iterator[Call]:
    """Fits of so many cells that they are counted: of scores of both signs, too, which get other codes."""
    for dtype in (np.float32, np.float64):
        truth, scores = _drawn(*_LARGE, dtype)
        for given in (scores, scores - dtype(0.5)):
            yield partial(fit_empirical, truth, given)
            yield partial(fit_empirical, truth, given, "micro", guard="pool")
            groups = np.arange(len(given)) % 7
            yield partial(fit_empirical, truth, given, "micro", guard="pool", groups=groups)
            yield partial(fit_empirical, truth, given, sample_weight=1.0 + np.arange(len(given)))
            for average in AVERAGES:
                yield partial(fit_empirical, truth, given, average, per_label=False)
        yield partial(fit_expected, scores, "samples", per_label=False)
        # Of equal scores most are counted apart.
        yield partial(fit_empirical, truth, scores.round())
        yield partial(fit_empirical, *_drawn(*_WIDE, dtype))
        yield partial(fit_empirical, truth, scores.astype(np.float16))
        yield partial(Counts.of, truth, scores.astype(np.float16))
        yield partial(calibrate, *_drawn(*_LARGER, dtype))
    # Bins of neighbouring scores, which take all as float64.
    for weights in (None, 1.0 + np.arange(len(truth))):
        yield partial(calibrate, truth, scores, sample_weight=weights)


def _judging() -> Iterator[Call]:
    """Metrics, expectations, comparisons and diagnoses."""
    for data in _in_all_forms(_FEW):
        half = FixedRule(0.5, _FEW)
        rules = {"half": half, "less": FixedRule(0.4, _FEW)}
        for weights in (None, data.weights):
            yield partial(compare, rules, *data, sample_weight=weights)
            yield partial(
                compare, rules, *data, sample_weight=weights, groups=np.arange(_N_ROWS) % 7
            )
            yield partial(auroc, *data, sample_weight=weights)
            yield partial(measure_calibration, *data, sample_weight=weights)
        yield partial(bootstrap_thresholds, *data, n_bootstraps=2)
        yield partial(diagnose, *data, half)
        yield partial(plan_annotation, *data, half, n_bootstraps=2)
        yield partial(diagnose_expected, data.scores, half)
        yield partial(diff_rules, half, rules["less"], data.scores)
        yield partial(_measure, data)
    for data in _in_all_forms(_MANY):
        yield partial(_expect, data)
    truth, scores = _drawn(*_LARGE, np.float32)
    for row_weights in (None, 1.0 + np.arange(len(truth))):
        yield partial(measure_calibration, truth, scores, sample_weight=row_weights)


def _measure(data: _Data) -> None:
    """Hold decisions of all forms against truth: dense ones by row and by column, sparse ones."""
    decided = FixedRule(0.5, _FEW).predict(data.scores, dense=True)
    for marks in (decided, np.asfortranarray(decided), _as_csr(decided)):
        for weights in (None, data.weights, np.arange(_N_ROWS) % 3):
            for average in AVERAGES:
                f1_score(
                    data.truth, marks, average=average, sample_weight=weights, zero_division=0.0
                )
        multilabel_accuracy(data.truth, marks)
    classes = np.arange(_N_ROWS) % 3
    for weights in (None, data.weights):
        f1_score(classes, classes[::-1], average="macro", sample_weight=weights)
    _expect(data)


def _expect(data: _Data) -> None:
    """Expect F of decisions of all forms, from probabilities."""
    decided = FixedRule(0.5, data.scores.shape[1]).predict(data.scores, dense=True)
    for marks in (decided, _as_csr(decided)):
        for average in AVERAGES:
            expected_f(data.scores, marks, average)
            expected_f(data.scores, marks, average, exact=True)
        expected_f(data.scores, marks, sample_weight=data.weights)


_CALLS: dict[Purpose, Callable[[], Iterator[Call]]] = {
    "predict": _predicting,
    "fit": _fitting,
    "judge": _judging,
}
