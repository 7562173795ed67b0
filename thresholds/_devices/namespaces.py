"""Array libraries under the names of the array API, as far as they are used here.

JAX and others follow it (https://data-apis.org/array-api); of torch, of CuPy and of NumPy before 2.1
the few functions that differ are adapted.
"""

import sys
from typing import Any, TypeAlias

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds._arrays.types import Dense

Array: TypeAlias = Any  # of any library
Namespace: TypeAlias = Any  # an array library, or what stands for it


def namespace_on_device(value: object) -> Namespace | None:
    """Return the namespace of an array that is not in host memory; None for anything else."""
    if isinstance(value, np.ndarray | np.generic) or not hasattr(type(value), "device"):
        return None
    if _is_traced(value) or _in_host_memory(value):
        return None
    return _namespace(value)


def is_tensor(value: object) -> bool:
    """Whether `value` is an array of another library than NumPy, wherever it is."""
    if isinstance(value, np.ndarray | np.generic) or _namespace(value) is None:
        return False
    return not _is_traced(value) and not getattr(value, "is_nested", False)


def known_to_numpy(array: Array) -> bool:
    """Whether NumPy can read an array: it is in host memory and of a dtype that NumPy has."""
    return _in_host_memory(array) and not dtype_name(array).startswith(("bfloat16", "float8"))


def own(value: Array) -> tuple[Namespace, Array]:
    """Return an array's namespace, and the array without the gradients that torch may track."""
    namespace = _namespace(value)
    return namespace, value.detach() if isinstance(namespace, _Torch) else value


def dtype_name(array: Array) -> str:
    """Return the name of the dtype, the same in all libraries."""
    return str(getattr(array.dtype, "name", array.dtype)).rpartition(".")[2]


def best_float(namespace: Namespace, like: Array) -> tuple[Any, np.dtype[Any]]:
    """Return float64, or float32 if an array's device has none: the library's dtype, and NumPy's."""
    if isinstance(namespace, _Adapted):
        name = namespace.best_float(like)
    else:
        info = namespace.__array_namespace_info__()
        dtypes = info.dtypes(device=like.device, kind="real floating")
        name = "float64" if "float64" in dtypes else "float32"
    return getattr(namespace, name), np.dtype(name)


def beside(like: Array, namespace: Namespace, values: Dense) -> Array:
    """Copy a NumPy array to where another array is."""
    return namespace.asarray(values, device=getattr(like, "device", None))


def to_host(namespace: Namespace, array: Array) -> Dense:
    """Copy a small array to host memory."""
    if dtype_name(array) == "bfloat16":  # which NumPy has not
        array = namespace.astype(array, namespace.float32)
    if isinstance(namespace, _Adapted):
        return np.asarray(namespace.to_host(array))
    devices = namespace.__array_namespace_info__().devices()
    hosts = [device for device in devices if _is_host(device)]
    return np.asarray(array.to_device(hosts[0]) if hosts else array)  # JAX converts by itself.


def _namespace(value: Any) -> Namespace | None:
    """Return the namespace of an array, or None if its library is unknown."""
    torch = imported("torch")  # Whoever has a tensor has imported it.
    if torch is not None and isinstance(value, torch.Tensor):
        return _Torch(torch)
    library = type(value).__module__.partition(".")[0]
    if library in ("numpy", "cupy"):
        return _LikeNumpy(sys.modules[library])
    return value.__array_namespace__() if hasattr(value, "__array_namespace__") else None


def _is_traced(value: object) -> bool:
    """Whether JAX is tracing a function, so that there are no values yet."""
    jax = imported("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def _in_host_memory(value: Any) -> bool:
    """Whether NumPy can read the array where it is; JAX may have it on several devices."""
    devices = value.devices() if callable(getattr(value, "devices", None)) else [value.device]
    return all(map(_is_host, devices))


def _is_host(device: object) -> bool:
    """Whether a device is the host."""
    # Every library says so in its name: "cpu", "CPU_DEVICE", "TFRT_CPU_0".
    return "cpu" in str(device).lower()


class _Adapted:
    """A library's own functions, but for those that a subclass gives the form of the array API."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


class _Torch(_Adapted):
    """torch."""

    def best_float(self, like: Array) -> str:
        """Return the name of the most precise dtype; Apple's devices, for one, refuse float64."""
        try:
            self._library.empty(0, dtype=self._library.float64, device=like.device)
        except (RuntimeError, TypeError):
            return "float32"
        return "float64"

    def to_host(self, x: Array) -> Dense:
        return x.detach().cpu().numpy()  # type: ignore[no-any-return]

    def astype(self, x: Array, dtype: Any) -> Array:
        return x.to(dtype)

    def max(self, x: Array, *, axis: Any = (), keepdims: bool = False) -> Array:
        return self._library.amax(x, dim=axis, keepdim=keepdims)

    def min(self, x: Array, *, axis: Any = (), keepdims: bool = False) -> Array:
        return self._library.amin(x, dim=axis, keepdim=keepdims)

    def sort(self, x: Array, *, axis: int) -> Array:
        return self._library.sort(x, dim=axis).values

    def take(self, x: Array, indices: Array, *, axis: int) -> Array:
        return self._library.index_select(x, axis, indices)

    def cumulative_sum(self, x: Array, *, axis: int, dtype: Any = None) -> Array:
        return self._library.cumsum(x, dim=axis, dtype=dtype)


class _LikeNumpy(_Adapted):
    """CuPy, and NumPy before 2.1."""

    def best_float(self, like: Array) -> str:
        """Return the name of the most precise dtype."""
        return "float64"

    def to_host(self, x: Array) -> Dense:
        return x.get() if hasattr(x, "get") else x  # type: ignore[no-any-return]

    def asarray(self, values: Dense, *, device: Any) -> Array:
        return self._library.asarray(values)  # CuPy: on its current device

    def astype(self, x: Array, dtype: Any) -> Array:
        if x.dtype == np.bool_ and dtype == np.uint8:
            return x.view(dtype)
        return x.astype(dtype, copy=False)

    def concat(self, arrays: list[Array], *, axis: int) -> Array:
        return self._library.concatenate(arrays, axis=axis)

    def cumulative_sum(self, x: Array, *, axis: int, dtype: Any = None) -> Array:
        return self._library.cumsum(x, axis=axis, dtype=dtype)
