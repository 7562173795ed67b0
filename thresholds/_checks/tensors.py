"""Tensors of other libraries as NumPy arrays, without a copy where memory is shared, and back."""

from typing import Any

import numpy as np

from thresholds._arrays.libraries import imported
from thresholds.errors import InputError


def from_tensor(value: Any, name: str) -> Any:
    """Return tensors of PyTorch or CuPy, one or a list, as NumPy arrays, copied off a device; others as they are.

    bfloat16 becomes float32, which holds it exactly.
    """
    torch = imported("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_nested:
            kind = "nested" if value.is_nested else f"of layout {value.layout}"
            raise InputError(f"{name} is a tensor {kind}, expected a dense one or scipy.sparse")
        if value.dtype == torch.bfloat16:
            value = value.float()
        return value.numpy(force=True)
    if torch is not None and isinstance(value, list | tuple):
        has_tensor = any(isinstance(item, torch.Tensor) for item in value)
        return [from_tensor(item, name) for item in value] if has_tensor else value
    cupy = imported("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return value.get()
    return value


def like_tensor(cells: Any, value: Any) -> Any:
    """Return an array as a tensor of the same library and device as `value`; None for what is no tensor."""
    torch = imported("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        # Apple's devices have no float64.
        dtype = None
        if value.device.type == "mps" and cells.dtype == np.float64:
            dtype = np.float32
        array = np.ascontiguousarray(cells, dtype)
        return torch.from_numpy(array).to(value.device)
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__array_namespace__"):
        return None
    return value.__array_namespace__().asarray(cells, device=value.device)


def without_bfloat16(array: Any) -> Any:
    """Return an array of bfloat16 or of an 8-bit float, dtypes that NumPy does not know, as float32."""
    if array.dtype.name.startswith(("bfloat16", "float8")):
        return array.astype(np.float32)
    return array
