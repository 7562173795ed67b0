"""Whether the processor moves many scores by one instruction, and the loops that do so, `wide.py`, where it does."""

from contextlib import suppress
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from thresholds._arrays.threads import off_main_thread

_REGISTER_BYTES = {"+avx512f": 64, "+avx2": 32}


@cache
def wide_loops(dtype: np.dtype[Any], with_rows: bool = False) -> ModuleType | None:
    """Return the loops for scores of a dtype; None where the processor, or Numba, lacks what they need.

    Those that write rows along are tried, and so compiled, only for whoever asks for these.
    """
    # Another Numba, or LLVM, may know an instruction by another name: then they fail when they are tried.
    with suppress(Exception):
        if register_bytes():
            wide = _wide()
            return wide if _work(wide, dtype, with_rows) else None
    return None


@cache
def column_loops(dtype: np.dtype[Any]) -> ModuleType | None:
    """Return the loops that read columns of scores of a dtype; None where nothing is compiled, or they fail."""
    with suppress(Exception):
        if features_of_processor():
            wide = _wide()
            return wide if _read_columns(wide, dtype) else None
    return None


def register_bytes() -> int:
    """Return how large the registers are of which the loops move whole ones; 0 where there are none."""
    features = features_of_processor()
    return next((size for name, size in _REGISTER_BYTES.items() if name in features), 0)


def features_of_processor() -> tuple[str, ...]:
    """Return what Numba compiles for: nothing where it compiles nothing, or for any processor."""
    return off_main_thread(_features)


def _wide() -> ModuleType:
    """Import the loops, and with them some of Numba."""
    return off_main_thread(import_module, f"{__package__}.wide")


def _features() -> tuple[str, ...]:
    """Ask Numba what it compiles for."""
    numba: Any = import_module("numba")
    if numba.config.DISABLE_JIT:
        return ()
    target = numba.core.registry.cpu_target.target_context
    *_, features = target.codegen().magic_tuple()
    return tuple(features.split(","))


def _work(wide: ModuleType, dtype: np.dtype[Any], with_rows: bool) -> bool:
    """Whether the loops move a few scores to where they should."""
    n_rows, n_columns = 32, 17
    scores = np.arange(float(n_rows * n_columns)).reshape(n_rows, n_columns).astype(dtype)
    truth = np.zeros((n_rows, 24), np.uint8)
    truth[:, :n_columns] = scores % 3 == 0

    # All of each label, with their rows if these are wanted.
    low, high = np.zeros(n_columns, dtype), np.full(n_columns, np.inf, dtype)
    all_ends = n_rows * np.arange(1, n_columns + 1)
    every = np.empty(scores.size, dtype)
    limits_and_places = low, high, low.copy(), all_ends - n_rows, all_ends
    if with_rows:
        rows = np.empty(scores.size, np.int32)
        wide.collect_between(scores, *limits_and_places, every, truth, 0, rows)
        of_all = np.tile(np.arange(n_rows), n_columns) ^ -truth[:, :n_columns].T.reshape(-1).astype(
            np.int32
        )
        return np.array_equal(every, scores.T.reshape(-1)) and np.array_equal(rows, of_all)
    wide.collect_between(scores, *limits_and_places, every, None, 0, None)

    # Those of each label that are marked.
    marked = truth[:, :n_columns].T > 0  # (n_columns, n_rows)
    ends = marked.sum(axis=1).cumsum()
    kept = np.empty(ends[-1], dtype)
    wide.collect_marked(scores, truth, np.append(0, ends[:-1]), ends, kept)
    return np.array_equal(kept, scores.T[marked]) and np.array_equal(every, scores.T.reshape(-1))


def _read_columns(wide: ModuleType, dtype: np.dtype[Any]) -> bool:
    """Whether the loops read some columns as they should."""
    n_rows, n_columns, first = 19, 20, 3
    scores = np.arange(float(n_rows * n_columns)).reshape(n_rows, n_columns).astype(dtype)
    truth = (scores % 3 == 0).view(np.uint8)
    keys = np.empty((n_columns - first, n_rows), f"u{dtype.itemsize}")
    wide.keys_of_columns(scores.view(keys.dtype), np.empty(0, np.int64), first, keys)
    offsets, true_keys = wide.true_keys_of_columns(truth, first, keys)

    columns, marked = scores[:, first:].T, truth[:, first:].T > 0  # (n_columns - first, n_rows)
    sign = keys.dtype.type(1 << (8 * dtype.itemsize - 1))
    expected = np.ascontiguousarray(columns).view(keys.dtype) ^ sign  # of what is not negative
    return (
        np.array_equal(keys, expected)
        and np.array_equal(true_keys, expected[marked])
        and np.array_equal(np.diff(offsets), marked.sum(axis=1))
    )
