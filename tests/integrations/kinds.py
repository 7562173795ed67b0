"""Containers of numbers that users have: how to make one from an array, and how to read it back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

Array = Any


@dataclass(frozen=True)
class Kind:
    """One kind of container."""

    name: str
    libraries: tuple[str, ...]
    make: Callable[[Array, Sequence[str]], Any]  # from a matrix and names of columns
    read: Callable[[Any], Array]
    dtype: Any = np.float32  # that scores are rounded to
    frame: bool = False  # has names of columns
    index: bool = False  # has names of rows

    def need(self) -> None:
        """Skip the test where a library is absent."""
        for library in self.libraries:
            pytest.importorskip(library, reason=f"make test-integrations installs {library}")


def _pandas(dtype: Callable[[], Any] | None = None) -> Callable[[Array, Sequence[str]], Any]:
    def make(cells: Array, names: Sequence[str]) -> Any:
        import pandas as pd

        index = [f"row {i}" for i in range(len(cells))]
        frame = pd.DataFrame(np.asarray(cells), columns=list(names), index=index)
        return frame if dtype is None else frame.astype(dtype())

    return make


def _arrow_dtype(name: str) -> Callable[[], Any]:
    def dtype() -> Any:
        import pandas as pd
        import pyarrow as pa

        return pd.ArrowDtype(getattr(pa, name)())

    return dtype


def _nullable(cells: Array, names: Sequence[str]) -> Any:
    kind = {"f": "Float32", "b": "boolean", "u": "UInt8"}[np.asarray(cells).dtype.kind]
    return _pandas(lambda: kind)(cells, names)


def _arrow_backed(name: str) -> Callable[[Array, Sequence[str]], Any]:
    def make(cells: Array, names: Sequence[str]) -> Any:
        kind = {"f": name, "b": "bool_", "u": "uint8"}[np.asarray(cells).dtype.kind]
        return _pandas(_arrow_dtype(kind))(cells, names)

    return make


def _polars(cells: Array, names: Sequence[str]) -> Any:
    import polars as pl

    return pl.DataFrame({name: np.asarray(cells)[:, j] for j, name in enumerate(names)})


def _table(cells: Array, names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.table({name: np.ascontiguousarray(np.asarray(cells)[:, j]) for j, name in enumerate(names)})


def _batch(cells: Array, names: Sequence[str]) -> Any:
    return _table(cells, names).combine_chunks().to_batches()[0]


def _torch(dtype: str | None = None, requires_grad: bool = False) -> Callable[[Array, Sequence[str]], Any]:
    def make(cells: Array, names: Sequence[str]) -> Any:
        import torch

        tensor = torch.tensor(np.asarray(cells))
        if tensor.is_floating_point():
            tensor = tensor if dtype is None else tensor.to(getattr(torch, dtype))
            return tensor.requires_grad_(requires_grad)
        return tensor

    return make


def _jax(dtype: str | None = None) -> Callable[[Array, Sequence[str]], Any]:
    def make(cells: Array, names: Sequence[str]) -> Any:
        import jax.numpy as jnp

        array = jnp.asarray(np.asarray(cells))
        return array if dtype is None or array.dtype.kind != "f" else array.astype(getattr(jnp, dtype))

    return make


def _strict(cells: Array, names: Sequence[str]) -> Any:
    import array_api_strict

    return array_api_strict.asarray(np.asarray(cells))


def _bfloat16(cells: Array) -> Array:
    """Round to bfloat16, as float32: drop 16 bits, to even."""
    bits = np.asarray(cells, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def _read_frame(frame: Any) -> Array:
    return np.asarray(frame.to_numpy())


def _read_arrow(table: Any) -> Array:
    return np.stack([np.asarray(column) for column in table.columns], axis=1)


def _read_tensor(tensor: Any) -> Array:
    return np.asarray(tensor.detach())


def _read_sparse(matrix: Any) -> Array:
    return matrix.toarray()


KINDS = (
    Kind("lists", (), lambda cells, _: np.asarray(cells).tolist(), np.asarray, np.float64),
    Kind("Fortran order", (), lambda cells, _: np.asfortranarray(cells), np.asarray),
    Kind("csr_array", (), lambda cells, _: sparse.csr_array(cells), _read_sparse),
    Kind("csc_matrix", (), lambda cells, _: sparse.csc_matrix(cells), _read_sparse),
    Kind("coo_array", (), lambda cells, _: sparse.coo_array(cells), _read_sparse),
    Kind("pandas", ("pandas",), _pandas(), _read_frame, frame=True, index=True),
    Kind("pandas, nullable", ("pandas",), _nullable, _read_frame, frame=True, index=True),
    Kind("pandas, Arrow", ("pandas", "pyarrow"), _arrow_backed("float32"), _read_frame, frame=True, index=True),
    Kind("pandas, Arrow half", ("pandas", "pyarrow"), _arrow_backed("float16"), _read_frame, np.float16, True, True),
    Kind("Polars", ("polars",), _polars, _read_frame, frame=True),
    Kind("Arrow table", ("pyarrow",), _table, _read_arrow, frame=True),
    Kind("Arrow table, half", ("pyarrow",), _table, _read_arrow, np.float16, frame=True),
    Kind("Arrow record batch", ("pyarrow",), _batch, _read_arrow, frame=True),
    Kind("PyTorch", ("torch",), _torch(), _read_tensor),
    Kind("PyTorch, float64", ("torch",), _torch("float64"), _read_tensor, np.float64),
    Kind("PyTorch, half", ("torch",), _torch("float16"), _read_tensor, np.float16),
    Kind("PyTorch, bfloat16", ("torch",), _torch("bfloat16"), _read_tensor, _bfloat16),
    Kind("PyTorch, requires_grad", ("torch",), _torch(requires_grad=True), _read_tensor),
    Kind("JAX", ("jax",), _jax(), np.asarray),
    Kind("JAX, bfloat16", ("jax",), _jax("bfloat16"), np.asarray, _bfloat16),
    Kind("array_api_strict", ("array_api_strict",), _strict, np.asarray),
)
