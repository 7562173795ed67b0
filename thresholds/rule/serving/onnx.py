"""Rules as ONNX models: a graph with one input, the scores, and one output, the decisions about them.

Rules that compare scores, and the search of an `InstanceRule`, are recordings of what `devices/` does to arrays on any
device. ONNX knows neither sparse scores nor errors: see `Rule.to_onnx`.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds import _checks
from thresholds._version import __version__
from thresholds.devices.cells import FLOATS
from thresholds.devices.expecting import SizeSearch
from thresholds.rule.serving.recording import Recorder, Value

if TYPE_CHECKING:
    from thresholds.rule.base import Rule

OPSET = 18  # which onnxruntime has since 1.14
IR_VERSION = 8  # of the file, as old as that

_TYPES = {"float16": "FLOAT16", "bfloat16": "BFLOAT16", "float32": "FLOAT", "float64": "DOUBLE"}
_HALVES = ("float16", "bfloat16")  # compared in float32, which holds each of their numbers
_LOST_BITS = 12  # in an order of probabilities


def model_of(rule: "Rule", dtype: object) -> Any:
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
    helper.set_model_props(model, _properties(rule))
    return model


def highest(scores: Value, k: int) -> Value:
    """Mark the k highest scores of each row, of equal ones the first labels; no NaN."""
    xp = scores.__array_namespace__()

    def decide(cells: Value) -> Value:
        n = xp.minimum(xp.asarray(np.array([k])), xp.n_columns(cells))
        _, columns = xp.highest(cells, n)  # (n_samples, n)
        return xp.put_along_rows(
            xp.filled_like(cells, np.uint8(0)), columns, xp.filled_like(columns, np.uint8(1))
        )

    return unless_nan(scores, decide)


def best_sets(scores: Value, beta: float, zero_division: float) -> Value:
    """Mark, in each row of probabilities, the set of highest expected F-beta, if labels are independent."""
    xp = scores.__array_namespace__()

    def decide(cells: Value) -> Value:
        p = xp.clip(xp.astype(cells, xp.float64), 0.0, 1.0)
        falling, columns = in_order(p)
        return best_prefixes(falling, columns, beta, zero_division)

    return unless_nan(scores, decide)


def in_order(p: Value) -> tuple[Value, Value]:
    """Return the probabilities of each row, falling, and their columns; of equal ones the first columns first."""
    xp = p.__array_namespace__()
    falling, columns = xp.highest(p, xp.n_columns(p))
    return falling, columns


def in_steady_order(p: Value) -> tuple[Value, Value]:
    """Return what `in_order` does of probabilities whose last bits do not count.

    Runtimes compute exp and log of many numbers at once, and of those left over one by one, with other last bits. So
    labels that are equally probable are put in the order of their columns by p, rounded to fewer bits (Dekker 1971, "A
    floating-point technique for extending the available precision").
    """
    xp = p.__array_namespace__()
    longer = p * (2.0**_LOST_BITS + 1)
    rounded = longer - (longer - p)
    _, columns = xp.highest(rounded, xp.n_columns(p))
    return xp.take_along_rows(p, columns), columns


def best_prefixes(falling: Value, columns: Value, beta: float, zero_division: float) -> Value:
    """Mark the columns of those highest probabilities of each row whose set has the highest expected F-beta."""
    xp = falling.__array_namespace__()
    k = xp.numbers(xp.n_columns(falling), xp.float64)  # (1, n_labels)
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
    """Return decisions, NaN read as a masked cell that is not predicted whatever is decided."""
    xp = scores.__array_namespace__()
    is_nan = xp.isnan(scores)
    return xp.where(is_nan, 0, decide(xp.where(is_nan, -np.inf, scores)))


def _dtype_of_fit(rule: "Rule") -> str:
    """Return the dtype of the scores of a fit, where it is known; of whole numbers float64, which holds them."""
    fitted_on = getattr(rule, "fitted_on", None)
    if fitted_on is None:
        return "float32"
    return fitted_on.dtype if fitted_on.dtype in FLOATS else "float64"


def _properties(rule: "Rule") -> dict[str, str]:
    """Return what one may want to read in a model: plain words, label names as JSON."""
    names = None if rule.label_names is None else list(rule.label_names)
    average = getattr(rule, "average", None)
    known = {
        "kind": rule.kind,
        "label_names": None if names is None else json.dumps(names, ensure_ascii=False),
        "average": average,
        "beta": None if average is None else f"{getattr(rule, 'beta', 1.0):g}",
        "version": __version__,
    }
    return {name: value for name, value in known.items() if value is not None}
