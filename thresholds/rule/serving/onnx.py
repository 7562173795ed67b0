"""Rules as ONNX models: a graph with one input, the scores, and one output, the decisions about them.

Rules that compare scores, and the search of an `InstanceRule`, are recordings of what `_devices/` does to arrays on any
device. ONNX knows neither sparse scores nor errors: see `Rule.to_onnx`.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._devices.capping import priorities
from thresholds._devices.cells import FLOATS
from thresholds._devices.expecting import SizeSearch
from thresholds._version import __version__
from thresholds.rule.serving.recording import Recorder, Value

OPSET = 18  # which onnxruntime has since 1.14
IR_VERSION = 8  # of the file, as old as that

_TYPES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
_HALVES = ("float16", "bfloat16")  # compared in float32, which holds each of their numbers


def model_of(rule: Any, dtype: object) -> Any:
    """Return an ONNX model that decides as a rule does; arguments as in `Rule.to_onnx`."""
    name = _dtype_of_fit(rule) if dtype is None else _checks.option(dtype, "dtype", FLOATS)
    recorder = Recorder()
    helper = recorder.onnx.helper
    types = recorder.onnx.TensorProto
    shape = ["n_samples", rule.n_labels or "n_labels"]

    # Half precision is read as float32.
    given = Value(recorder, "y_score", np.dtype("float64" if name == "float64" else "float32"))
    xp = given.__array_namespace__()
    scores = xp.astype(given, given.dtype) if name in _HALVES else given
    decided = rule.decide_in_onnx(scores)
    y_pred = Value(recorder, "y_pred", xp.uint8)
    recorder.nodes.append(helper.make_node("Identity", [decided.name], [y_pred.name]))

    graph = helper.make_graph(
        recorder.nodes,
        "rule",
        [helper.make_tensor_value_info(given.name, getattr(types, _TYPES[name]), shape)],
        [helper.make_tensor_value_info(y_pred.name, types.UINT8, shape)],
        list(recorder.constants.values()),
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="f1-thresholds",
        producer_version=__version__,
        doc_string=str(rule),
    )
    helper.set_model_props(model, {**_properties(rule), "dtype": name})
    return model


def highest(scores: Value, k: int) -> Value:
    """Mark the k highest scores of each row, of equal ones the first labels; no NaN."""
    xp = scores.__array_namespace__()
    n = xp.minimum(xp.n_columns(scores), min(k, np.iinfo(np.int64).max))
    _, columns = xp.highest(scores, n)  # (n_samples, n)
    ones = xp.filled_like(columns, np.uint8(1))
    return xp.put_along_rows(xp.filled_like(scores, np.uint8(0)), columns, ones)


def first_of_decided(
    scores: Value, decided: Value, k: int, table: Sequence[Floats], of_shares: bool
) -> Value:
    """Mark the k of highest priority among those of each row that are decided for; NaN is not."""
    xp = scores.__array_namespace__()
    cells = xp.astype(scores, xp.float64)
    numbers = [xp.asarray(row) for row in table]
    ranked = priorities(xp, cells, numbers, of_shares)
    is_decided = xp.astype(decided, np.dtype(np.bool_))
    marks = xp.astype(highest(xp.where(is_decided, ranked, -np.inf), k), np.dtype(np.bool_))
    return xp.astype(is_decided & marks, xp.uint8)


def best_sets(probabilities: Value, beta: float, zero_division: float) -> Value:
    """Mark, in each row, the set of highest expected F-beta, if labels are independent; no NaN."""
    xp = probabilities.__array_namespace__()
    p = xp.clip(xp.astype(probabilities, xp.float64), 0.0, 1.0)
    n_labels = xp.n_columns(p)
    falling, columns = xp.highest(p, n_labels)  # (n_samples, n_labels)
    k = xp.numbers(n_labels, xp.float64)  # (1, n_labels)
    search = SizeSearch(xp, falling, k, beta, zero_division)

    def go_on(best: Value, size: Value, done: Value) -> tuple[Value, list[Value]]:
        # Up to the largest size that any row wants, at least 1.
        wanted = search.wanted(best, done)
        by_size = xp.sum(xp.astype(wanted, xp.int64), axis=0, keepdims=True)  # (1, n_labels)
        largest = xp.max(xp.where(by_size > 0, k, 1), axis=1, keepdims=False)  # (1,)
        width = xp.astype(largest, xp.int64)
        best, size, done = search.go_on(wanted, width, best, size, done)
        n_wanted = xp.n_true(search.wanted(best, done))
        return n_wanted > 0, [best, size, done]

    _, size, _ = falling.recorder.loop(go_on, search.begin())
    marks = xp.astype(k <= size, xp.uint8)  # (n_samples, n_labels)
    return xp.put_along_rows(xp.filled_like(falling, np.uint8(0)), columns, marks)


def unless_nan(scores: Value, decide: Callable[[Value], Value]) -> Value:
    """Return what `decide` makes of scores, NaN among them read as a masked cell, and not predicted."""
    xp = scores.__array_namespace__()
    is_nan = xp.isnan(scores)
    return xp.where(is_nan, 0, decide(xp.where(is_nan, -np.inf, scores)))


def _dtype_of_fit(rule: Any) -> str:
    """Return the dtype of the scores of a fit, where it is known; of whole numbers float64, which holds them."""
    if rule.fitted_on is None:
        return "float32"
    return rule.fitted_on.dtype if rule.fitted_on.dtype in FLOATS else "float64"


def _properties(rule: Any) -> dict[str, str]:
    """Return what one may want to read in a model: plain words, label names as JSON."""
    names = None if rule.label_names is None else list(rule.label_names)
    known = {
        "kind": rule.kind,
        "label_names": None if names is None else json.dumps(names, ensure_ascii=False),
        "average": rule.average,
        "beta": None if rule.average is None else f"{rule.beta:g}",
        "version": __version__,
    }
    return {name: value for name, value in known.items() if value is not None}
