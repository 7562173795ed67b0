"""A process that is warmed up, and then has data of all forms: it prints what it still had to load or compile.

`python -m tests.warm_process [PURPOSE ...]` prints a JSON list of kernels, each with types that `warmup` for these
purposes did not meet.
The data differ from those of `warmup` in size, types, layout and library.
"""

import contextlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import thresholds
from tests.kernels.draws import Array
from thresholds import metrics
from thresholds._kernels._jit import Kernel
from thresholds.cli import main
from thresholds.warming import PURPOSES, Purpose, warmup

AVERAGES: tuple[Any, ...] = ("micro", "macro", "weighted", "samples")
Data = tuple[Any, Any]
Call = tuple[str, Callable[[], object]]  # for which purposes it is


def known() -> set[str]:
    """Each kernel that Python called, with the types of its arguments."""
    return {
        f"{kernel.py_func.__module__}.{kernel.py_func.__name__} {signature}"
        for kernel in Kernel.in_use
        for signature in kernel.dispatcher.signatures
    }


def drawn(n_rows: int, n_labels: int, dtype: Any) -> Data:
    """Truth, and scores that are probabilities, or whole numbers."""
    rng = np.random.default_rng(7)
    truth = (rng.random((n_rows, n_labels)) < np.geomspace(0.3, 0.02, n_labels)).astype(np.uint8)
    truth[:2] = 1
    scores = 1 / (1 + np.exp(-rng.normal(size=truth.shape) - truth))
    return truth, (scores if np.issubdtype(dtype, np.floating) else 100 * scores).astype(dtype)


def unwritable(*arrays: Array) -> tuple[Array, ...]:
    for array in arrays:
        array.flags.writeable = False
    return arrays


def with_positions(matrix: Any, dtype: Any) -> Any:
    """A sparse matrix with positions of a type, none of which may be written."""
    parts = unwritable(matrix.data, matrix.indices.astype(dtype), matrix.indptr.astype(dtype))
    return type(matrix)(parts, shape=matrix.shape)


def forms(n_labels: int) -> Iterator[Data]:
    """One problem in the forms in which users have it."""
    dtypes = (np.float16, np.float32, np.float64, np.int32) if n_labels < 20 else (np.float32, np.float64)
    for dtype in dtypes:
        truth, scores = drawn(150, n_labels, dtype)
        yield truth, scores
        yield truth.astype(bool), np.asfortranarray(scores)
        yield truth.astype(np.int64), scores[:, ::-1]
        yield unwritable(truth.copy(), scores.copy())
        names = [f"label {j}" for j in range(n_labels)]
        yield pd.DataFrame(truth, columns=names), pd.DataFrame(scores, columns=names)
        if dtype != np.float16:
            few = np.where(scores > np.quantile(scores, 0.4), scores, 0).astype(dtype)
            yield sparse.csr_matrix(truth), sparse.csc_array(few)
            yield truth, sparse.coo_array(few)
            for index in (np.int32, np.int64):
                yield (with_positions(sparse.csr_array(cells), index) for cells in (truth, few))


def are_probabilities(scores: Any) -> bool:
    return bool(scores.max().max() <= 1)


def weights_of(n_rows: int, form: int) -> Array | None:
    """None, whole weights, or others: each form of a problem has one of these, each type of scores all."""
    return (None, np.arange(n_rows) % 3, np.linspace(0.1, 1, n_rows).astype(np.float32))[form % 3]


def calls(data: Data, form: int) -> Iterator[Call]:
    """What is done with one form of a problem."""
    truth, scores = data
    n_rows = scores.shape[0]
    rule = thresholds.fit_empirical(truth, scores)
    rules = {"rule": rule, "half": thresholds.FixedRule(0.5, rule.n_labels, label_names=rule.label_names)}
    weights = weights_of(n_rows, form)
    own: Any = {"sample_weight": weights}
    for average in AVERAGES:
        yield "fit", partial(thresholds.fit_empirical, truth, scores, average, per_label=False, **own)
    for average in AVERAGES[:-1]:
        yield "fit", partial(thresholds.fit_empirical, truth, scores, average, guard="auto", **own)
    yield "fit", partial(thresholds.cross_fit, truth, scores, cv=2, **own)
    yield "fit", partial(thresholds.multilabel_folds, truth, groups=np.arange(n_rows) % 9)
    yield "fit", partial(count_blocks, truth, scores, weights)
    yield "fit", partial(thresholds.fit_empirical, truth, scores, min_precision=0.2, keep_sparse=True, **own)
    yield "fit", partial(thresholds.fit_regions, truth, scores, posterior="isotonic", **own)
    for method, by in (("platt", "pooled"), ("isotonic", "label"), ("isotonic", "pooled")):
        yield "fit", partial(thresholds.calibrate, truth, scores, method, by, **own)
    yield "judge", partial(thresholds.compare, rules, truth, scores, groups=np.arange(n_rows) % 9, **own)
    yield "judge", partial(metrics.auroc, truth, scores, **own)
    decided = rule.predict(scores)
    for average in AVERAGES:
        yield (
            "judge",
            partial(metrics.fbeta_score, truth, decided, beta=2.0, average=average, zero_division=0.0, **own),
        )
    yield "judge", partial(metrics.averages_report, truth, decided, **own)
    if are_probabilities(scores):
        yield "judge", partial(thresholds.measure_calibration, truth, scores, **own)
        for average in AVERAGES:
            yield "fit", partial(thresholds.fit_expected, scores, average, **own)
            yield "judge", partial(thresholds.expected_f, scores, decided, average, **own)
    yield "judge", partial(thresholds.diagnose, truth, scores, rule)
    yield "judge", partial(thresholds.plan_annotation, truth, scores, rule, n_bootstraps=2)
    yield "judge", partial(thresholds.make_report, truth, scores, rule, groups=np.arange(n_rows) // 2)
    yield "judge", partial(thresholds.bootstrap_thresholds, truth, scores, n_bootstraps=2)
    yield "judge", partial(thresholds.compare, rules, truth, scores)
    yield "judge", partial(thresholds.diff_rules, *rules.values())
    yield "fit", partial(thresholds.fit_top_k, truth, scores)
    by_instance = thresholds.InstanceRule(2.0)
    calibrated = thresholds.calibrate(truth, scores, by="label")
    if are_probabilities(scores):
        yield "judge", partial(thresholds.diagnose, None, scores, rule)
        yield "predict", partial(by_instance.predict, scores, tail=np.full(n_rows, 0.1))
        for average in AVERAGES:
            yield "judge", partial(thresholds.expected_f, scores, rule.predict(scores), average, exact=True)
    yield "predict", partial(thresholds.CalibratedRule(calibrated, by_instance).predict, scores)
    yield "predict", partial(thresholds.CalibratedRule(calibrated, rule).predict, scores, dense=True)


def count_blocks(truth: Any, scores: Any, sample_weight: Array | None) -> None:
    """Count rows, and fit them in two passes."""
    weights = None if sample_weight is None else np.ceil(sample_weight)
    counts = thresholds.Counts.of(truth, scores, sample_weight=weights)
    needed = counts.needed_for()
    if needed is not None:
        counts = counts.with_scores(thresholds.Counts.of(truth, scores, needed, sample_weight=weights))
    counts.fit()


def large() -> Iterator[Call]:
    """Problems of many blocks."""
    for dtype in (np.float16, np.float32, np.float64):
        truth, scores = drawn(2**16, 33, dtype)
        for given in (scores, np.asfortranarray(8 * scores - 4)):
            for average in AVERAGES[:-1]:
                yield "fit", partial(thresholds.fit_empirical, truth, given, average)
            yield "fit", partial(thresholds.fit_empirical, truth, given, sample_weight=np.arange(len(truth)) % 3)
            yield "fit", partial(thresholds.fit_empirical, truth, given, min_precision=0.3)
            yield "fit", partial(thresholds.fit_empirical, truth, given, guard="shrink")
            yield "fit", partial(thresholds.fit_empirical, truth, given, "micro", guard="pool")
        yield "fit", partial(thresholds.fit_empirical, truth, scores.round())
        yield "fit", partial(thresholds.fit_empirical, *drawn(2**14, 65, dtype))
        yield "fit", partial(thresholds.Counts.of, truth, scores)
        yield "fit", partial(thresholds.cross_fit, truth, scores, guard=None, cv=2)
        for average in AVERAGES if dtype != np.float16 else ("micro",):
            yield "fit", partial(thresholds.fit_empirical, truth, scores, average, per_label=False)
        yield "fit", partial(thresholds.fit_expected, scores)
        yield "fit", partial(thresholds.fit_expected, scores, "micro", per_label=False)
        yield "judge", partial(metrics.f1_score, truth, scores > 0.5, average="samples", zero_division=0.0)
        yield "judge", partial(metrics.f1_score, truth, scores > 0.5, average="macro")
        yield "judge", partial(metrics.auroc, truth, scores)
        yield "judge", partial(thresholds.compare, {"half": thresholds.FixedRule(0.5, 33)}, truth, scores)
        yield "judge", partial(thresholds.diagnose, truth, scores, thresholds.FixedRule(0.5, 33))
        for weights in (None, np.arange(len(truth)) % 3 / 2):
            yield "judge", partial(thresholds.measure_calibration, truth, scores, sample_weight=weights)
            for method, by in (("isotonic", "label"), ("isotonic", "shrink"), ("platt", "shrink")):
                yield "fit", partial(thresholds.calibrate, truth, scores, method, by, sample_weight=weights)


def commands() -> Iterator[Call]:
    """Each command, on one file."""
    with tempfile.TemporaryDirectory() as folder:
        truth, scores = drawn(400, 5, np.float32)
        file, rule, other, out = (
            str(Path(folder, name)) for name in ("scores.npz", "rule.json", "other.json", "out.npz")
        )
        np.savez(file, y_true=truth, y_score=scores)
        for arguments in (
            ["fit", file, "-o", rule],
            ["fit", file, "--expected", "--average", "samples", "-o", other],
            ["predict", other, file, "-o", out],
            ["fit", file, "--average", "micro", "-o", other],
            ["compare", file],
            ["rules"],
            ["compare", file, "--rule", rule, "--rule", other],
            ["diagnose", file, "--rule", rule],
            ["annotate", file, "--rule", rule],
            ["annotate", file],
            ["report", file, "--rule", rule, "--against", other, "-o", str(Path(folder, "report.html"))],
            ["diff", rule, other, file],
            ["monitor", rule, file],
            ["predict", rule, file, "-o", out],
            ["demo"],
        ):
            yield "predict fit judge", partial(main, arguments)


def all_calls() -> Iterator[Call]:
    for n_labels in (5, 31):  # Rows of more than 20 labels have kernels of their own.
        for form, data in enumerate(forms(n_labels)):
            yield from calls(tuple(data), form)  # type: ignore[arg-type]
    for dtype in (np.float32, np.float64):
        truth, scores = drawn(200, 4, dtype)
        yield "fit judge", partial(thresholds.compare, None, truth, scores)
        for name in thresholds.RULES:
            yield "fit", partial(thresholds.cross_fit, truth, scores, rule=name, cv=2)
        yield "fit", partial(thresholds.cross_fit, truth, scores, "micro", alternatives=True)
        yield "fit", partial(thresholds.select_rule, truth, scores)
        yield "fit", partial(thresholds.calibrate, truth, scores, "platt")
        yield "fit", partial(thresholds.calibrate, truth, scores, sample_weight=np.arange(200.0))
    yield from large()
    yield from commands()


def new_kernels(purposes: list[Purpose]) -> list[str]:
    """What calls for some purposes load or compile after a warm-up for these."""
    warmup(purposes)
    assert known()
    found: set[str] = set()
    with contextlib.redirect_stdout(io.StringIO()):
        for purpose, call in all_calls():
            before = known()
            call()
            if set(purpose.split()) <= set(purposes):
                found |= known() - before
    return sorted(found)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(new_kernels(sys.argv[1:] or list(PURPOSES)), indent=1))  # type: ignore[arg-type]
