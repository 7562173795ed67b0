"""Names for arrays, by what is in them."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Integers: TypeAlias = npt.NDArray[np.integer[Any]]  # of any width
SmallInts: TypeAlias = npt.NDArray[np.int32]
Places: TypeAlias = npt.NDArray[np.intp]  # places in an array
Floats: TypeAlias = npt.NDArray[np.float64]
AnyFloats: TypeAlias = npt.NDArray[np.floating[Any]]  # of any width
Booleans: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]  # 0 and 1, mostly
Buckets: TypeAlias = npt.NDArray[np.uint16]
Halves: TypeAlias = npt.NDArray[np.uint16]  # bits of float16
Words: TypeAlias = npt.NDArray[np.uint64]  # eight bytes at once
Texts: TypeAlias = npt.NDArray[np.str_]

Scores: TypeAlias = npt.NDArray[Any]  # float32 or float64
# Scores as unsigned integers in the same order: uint32 or uint64.
Keys: TypeAlias = npt.NDArray[Any]
Dense: TypeAlias = npt.NDArray[Any]  # of any dtype
Numbers: TypeAlias = npt.NDArray[Any]  # counts: int64, or float64 where rows have weights
Matrix: TypeAlias = Any  # a dense 2-D array, or a canonical scipy.sparse CSR array
