"""Operations of the array API, recorded as the nodes of an ONNX graph (https://onnx.ai/onnx/operators).

A `Value` stands for an array that will exist when the graph runs. What is done to it by operators, or by functions of
its `Namespace`, becomes nodes. So the code of `_devices/`, which decides on any device, is what the graph does.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense

_BOOL = np.dtype(np.bool_)
_INT = np.dtype(np.int64)  # of sizes and positions


class Recorder:
    """The nodes of a graph, in the order of their calls, and the constants that they read."""

    def __init__(self) -> None:
        self.onnx: Any = import_module("onnx")
        # Those of the graph; while the body of a loop is recorded, those of the body.
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}
        self._n_names = 0

    def node(
        self, operation: str, *inputs: "Value", dtype: np.dtype[Any], **attributes: Any
    ) -> "Value":
        """Add a node with one output."""
        [output] = self.nodes_of(operation, inputs, (dtype,), **attributes)
        return output

    def nodes_of(
        self,
        operation: str,
        inputs: Sequence["Value"],
        dtypes: Sequence[np.dtype[Any]],
        **attributes: Any,
    ) -> list["Value"]:
        """Add a node with outputs of the given dtypes."""
        outputs = [Value(self, self._new_name(), dtype) for dtype in dtypes]
        names = [value.name for value in inputs]
        node = self.onnx.helper.make_node(
            operation, names, [value.name for value in outputs], **attributes
        )
        self.nodes.append(node)
        return outputs

    def constant(self, values: Dense) -> "Value":
        """Add an array, once for all places that need it."""
        values = np.ascontiguousarray(values).reshape(np.shape(values))
        key = (values.dtype.str, values.shape, values.tobytes())
        if key not in self.constants:
            tensor = self.onnx.numpy_helper.from_array(values, f"constant_{len(self.constants)}")
            self.constants[key] = tensor
        return Value(self, self.constants[key].name, values.dtype)

    def loop(
        self, body: Callable[..., tuple["Value", list["Value"]]], start: Sequence["Value"]
    ) -> list["Value"]:
        """Repeat `body` at least once; it takes the values so far, and gives whether to go on, and new values."""
        outer, self.nodes = self.nodes, []
        carried = [Value(self, self._new_name(), value.dtype) for value in start]
        goes_on, results = body(*carried)
        round_and_condition = [
            self._declared(self._new_name(), _INT, ()),
            self._declared(self._new_name(), _BOOL, ()),
        ]
        graph = self.onnx.helper.make_graph(
            self.nodes,
            "body",
            [*round_and_condition, *(self._declared(value.name, value.dtype) for value in carried)],
            [self._declared(value.name, value.dtype) for value in (goes_on, *results)],
        )
        self.nodes = outer
        no_limit = Value(self, "", _INT)
        begins = self.constant(np.array(True))
        dtypes = [value.dtype for value in start]
        return self.nodes_of("Loop", (no_limit, begins, *start), dtypes, body=graph)

    def _declared(self, name: str, dtype: np.dtype[Any], shape: Any = None) -> Any:
        """Return the declaration of an input or output."""
        helper = self.onnx.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)

    def _new_name(self) -> str:
        """Return a name that no other value has."""
        self._n_names += 1
        return f"value_{self._n_names}"


def _binary(
    operation: str, *, dtype: np.dtype[Any] | None = None, swapped: bool = False
) -> Callable[["Value", Any], "Value"]:
    """Return an operator of two values; the second may be a number or an array."""

    def record(self: "Value", other: Any) -> "Value":
        pair = (self, self.beside(other))
        return self.recorder.node(
            operation, *(pair[::-1] if swapped else pair), dtype=dtype or self.dtype
        )

    return record


class Value:
    """An array that will exist when the graph runs."""

    device = None
    __array_ufunc__ = None  # NumPy leaves operators to this class.

    def __init__(self, recorder: Recorder, name: str, dtype: np.dtype[Any]) -> None:
        self.recorder = recorder
        self.name = name
        self.dtype = dtype

    def __array_namespace__(self) -> "Namespace":
        """Return the functions that record."""
        return Namespace(self.recorder)

    @property
    def shape(self) -> "Value":
        """The sizes, a vector."""
        return self.recorder.node("Shape", self, dtype=_INT)

    def beside(self, other: Any) -> "Value":
        """Return another value as it is, and a number or an array as a constant of the same dtype."""
        if isinstance(other, Value):
            return other
        return self.recorder.constant(np.asarray(other, self.dtype))

    def __getitem__(self, key: tuple[slice, slice]) -> "Value":
        """Return the first columns: `value[:, :n]`, where n is a value of shape (1,)."""
        _, columns = key
        zero, axis = self.recorder.constant(np.array([0])), self.recorder.constant(np.array([1]))
        return self.recorder.node("Slice", self, zero, columns.stop, axis, dtype=self.dtype)

    def __ne__(self, other: Any) -> "Value":  # type: ignore[override]
        """Return where values differ."""
        pair = (self, self.beside(other))
        if self.dtype == _BOOL:
            return self.recorder.node("Xor", *pair, dtype=_BOOL)
        return self.recorder.node("Not", self == other, dtype=_BOOL)

    def __neg__(self) -> "Value":
        """Return minus the values."""
        return self.recorder.node("Neg", self, dtype=self.dtype)

    def __invert__(self) -> "Value":
        """Return where values are false."""
        return self.recorder.node("Not", self, dtype=_BOOL)

    __add__ = _binary("Add")
    __radd__ = _binary("Add", swapped=True)
    __sub__ = _binary("Sub")
    __rsub__ = _binary("Sub", swapped=True)
    __mul__ = _binary("Mul")
    __rmul__ = _binary("Mul", swapped=True)
    __truediv__ = _binary("Div")
    __rtruediv__ = _binary("Div", swapped=True)
    __floordiv__ = _binary("Div")  # of whole numbers, none of them negative
    __and__ = _binary("And")
    __or__ = _binary("Or")
    __gt__ = _binary("Greater", dtype=_BOOL)
    __ge__ = _binary("GreaterOrEqual", dtype=_BOOL)
    __lt__ = _binary("Less", dtype=_BOOL)
    __le__ = _binary("LessOrEqual", dtype=_BOOL)
    __eq__ = _binary("Equal", dtype=_BOOL)  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Namespace:
    """Functions of the array API, as far as decisions call them, and some of ONNX beside them."""

    uint8 = np.dtype(np.uint8)
    int32 = np.dtype(np.int32)
    int64 = _INT
    float32 = np.dtype(np.float32)
    float64 = np.dtype(np.float64)
    finfo = staticmethod(np.finfo)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def asarray(self, values: Dense, *, device: None = None) -> Value:
        """Record an array as a constant."""
        return self._recorder.constant(values)

    def astype(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Convert values."""
        to = self._recorder.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return self._recorder.node("Cast", x, dtype=dtype, to=to)

    def abs(self, x: Value) -> Value:
        return self._recorder.node("Abs", x, dtype=x.dtype)

    def ceil(self, x: Value) -> Value:
        return self._recorder.node("Ceil", x, dtype=x.dtype)

    def exp(self, x: Value) -> Value:
        return self._recorder.node("Exp", x, dtype=x.dtype)

    def isinf(self, x: Value) -> Value:
        return self._recorder.node("IsInf", x, dtype=_BOOL)

    def isnan(self, x: Value) -> Value:
        return self._recorder.node("IsNaN", x, dtype=_BOOL)

    def log(self, x: Value) -> Value:
        return self._recorder.node("Log", x, dtype=x.dtype)

    def log1p(self, x: Value) -> Value:
        """Return log(1 + x), to some 1e-16; ONNX has no better one."""
        return self.log(1.0 + x)

    def sqrt(self, x: Value) -> Value:
        return self._recorder.node("Sqrt", x, dtype=x.dtype)

    def clip(self, x: Value, low: float, high: float) -> Value:
        return self._recorder.node("Clip", x, x.beside(low), x.beside(high), dtype=x.dtype)

    def minimum(self, x: Value, y: Any) -> Value:
        return self._recorder.node("Min", x, x.beside(y), dtype=x.dtype)

    def maximum(self, x: Value, y: Any) -> Value:
        return self._recorder.node("Max", x, x.beside(y), dtype=x.dtype)

    def where(self, condition: Value, x: Any, y: Any) -> Value:
        """Choose; one of x and y may be a number."""
        x, y = (x, x.beside(y)) if isinstance(x, Value) else (y.beside(x), y)
        return self._recorder.node("Where", condition, x, y, dtype=x.dtype)

    def sum(self, x: Value, *, axis: int, keepdims: bool) -> Value:
        return self._reduced("ReduceSum", x, axis, keepdims)

    def prod(self, x: Value, *, axis: int, keepdims: bool) -> Value:
        return self._reduced("ReduceProd", x, axis, keepdims)

    def max(self, x: Value, *, axis: int, keepdims: bool) -> Value:
        return self._reduced("ReduceMax", x, axis, keepdims)

    def min(self, x: Value, *, axis: int, keepdims: bool) -> Value:
        return self._reduced("ReduceMin", x, axis, keepdims)

    def cumulative_sum(self, x: Value, *, axis: int) -> Value:
        return self._recorder.node("CumSum", x, self.asarray(np.array(axis)), dtype=x.dtype)

    def zeros_like(self, x: Value, dtype: np.dtype[Any] | None = None) -> Value:
        return self.filled_like(x, (dtype or x.dtype).type(0))

    def ones_like(self, x: Value) -> Value:
        return self.filled_like(x, x.dtype.type(1))

    def filled_like(self, x: Value, number: np.generic) -> Value:
        """Return an array of the shape of x, filled with a number, in its dtype."""
        return self._filled(x.shape, number)

    def n_columns(self, x: Value) -> Value:
        """Return the number of columns, (1,)."""
        return self._recorder.node("Shape", x, dtype=_INT, start=1, end=2)

    def numbers(self, n: Value, dtype: np.dtype[Any]) -> Value:
        """Return 1, 2, ..., n, (1, n); n is of shape (1,)."""
        shape = self._recorder.node("Concat", self.asarray(np.array([1])), n, dtype=_INT, axis=0)
        return self.cumulative_sum(self._filled(shape, dtype.type(1)), axis=1)

    def n_true(self, x: Value) -> Value:
        """Count what is true, ()."""
        return self._recorder.node("ReduceSum", self.astype(x, _INT), dtype=_INT, keepdims=0)

    def highest(self, x: Value, n: Value) -> tuple[Value, Value]:
        """Return the n highest values of each row, falling, and their columns; of equal ones the first columns first.

        n is of shape (1,). About equal values the definition of TopK says so.
        """
        values, columns = self._recorder.nodes_of("TopK", (x, n), (x.dtype, _INT), axis=1)
        return values, columns

    def take(self, x: Value, indices: Value, *, axis: int) -> Value:
        return self._recorder.node("Gather", x, indices, dtype=x.dtype, axis=axis)

    def reshape(self, x: Value, shape: Any) -> Value:
        """Give values another shape, a value or numbers."""
        shape = shape if isinstance(shape, Value) else self.asarray(np.array(shape))
        return self._recorder.node("Reshape", x, shape, dtype=x.dtype, allowzero=1)

    def put_along_rows(self, x: Value, columns: Value, values: Value) -> Value:
        """Return x with the values of each row at some of its columns replaced."""
        return self._recorder.node("ScatterElements", x, columns, values, dtype=x.dtype, axis=1)

    def _filled(self, shape: Value, number: np.generic) -> Value:
        """Return an array of a shape, filled with a number, in its dtype."""
        tensor = self._recorder.onnx.numpy_helper.from_array(np.array([number]))
        return self._recorder.node("ConstantOfShape", shape, dtype=number.dtype, value=tensor)

    def _reduced(self, operation: str, x: Value, axis: int, keepdims: bool) -> Value:
        axes = self.asarray(np.array([axis]))
        return self._recorder.node(operation, x, axes, dtype=x.dtype, keepdims=int(keepdims))
