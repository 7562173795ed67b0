"""Tensors of other libraries, and what classifiers return, as NumPy arrays, without a copy where memory is shared."""

import sys
from typing import Any

import numpy as np

from thresholds._checks.errors import InputError


def from_tensor(value: Any, name: str) -> Any:
    """Give a tensor of PyTorch or CuPy as a NumPy array, copied if it lives on a device; other objects as they are.

    bfloat16 becomes float32, which holds it exactly.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            raise InputError(f"{name} is a tensor of layout {value.layout}, expected a dense one or scipy.sparse")
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy(force=True)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return value.get()
    return value


def like_tensor(cells: Any, value: Any) -> Any:
    """Give an array as a tensor of the same library and device as `value`; None for what is no tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return torch.from_numpy(np.ascontiguousarray(cells)).to(value.device)
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "__array_namespace__"):
        return None
    return value.__array_namespace__().asarray(cells, device=value.device)


def without_bfloat16(array: Any) -> Any:
    """Give an array of bfloat16 or of an 8-bit float, dtypes that NumPy does not know, as float32."""
    return array.astype(np.float32) if array.dtype.name.startswith(("bfloat16", "float8")) else array


def stacked(value: Any, name: str) -> Any:
    """Give the probabilities that scikit-learn's forests, trees and neighbours return, a list of (n_samples, 2), one
    for each label, as one matrix of those of class 1; anything else as it is."""
    if not isinstance(value, list | tuple) or not value or any(getattr(part, "ndim", 0) != 2 for part in value):
        return value
    shapes = [tuple(part.shape) for part in value]
    if len({rows for rows, _ in shapes}) > 1 or any(classes > 2 for _, classes in shapes):
        raise InputError(
            f"{name} is a list of arrays of shapes {shapes[0]} to {shapes[-1]}, expected (n_samples, 2) each"
        )
    for label, (_, classes) in enumerate(shapes):
        if classes != 2:
            raise InputError(
                f"{name} has {classes} column for label {label}, which had one class in training, expected 2: say which"
                " by thresholds.sklearn.stack_scores(y_score, classes)"
            )
    return np.stack([np.asarray(from_tensor(part, name))[:, 1] for part in value], axis=1)
