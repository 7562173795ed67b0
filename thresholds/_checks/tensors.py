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
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy(force=True)
    if (
        torch is not None
        and isinstance(value, list | tuple)
        and any(isinstance(part, torch.Tensor) for part in value)
    ):
        return [from_tensor(part, name) for part in value]
    cupy = imported("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return value.get()
    return value


def like_tensor(cells: Any, value: Any) -> Any:
    """Return an array as a tensor of the same library and device as `value`; None for what is no tensor."""
    torch = imported("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        single = (
            value.device.type == "mps" and cells.dtype == np.float64
        )  # Apple's devices have no float64.
        return torch.from_numpy(np.ascontiguousarray(cells, np.float32 if single else None)).to(
            value.device
        )
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__array_namespace__"):
        return None
    return value.__array_namespace__().asarray(cells, device=value.device)


def without_bfloat16(array: Any) -> Any:
    """Return an array of bfloat16 or of an 8-bit float, dtypes that NumPy does not know, as float32."""
    return (
        array.astype(np.float32) if array.dtype.name.startswith(("bfloat16", "float8")) else array
    )
