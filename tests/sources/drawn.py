"""Rows in every form in which functions take them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy import sparse

KINDS = ["dense", "sparse", "whole weights", "weights", "unknown"]


@dataclass(frozen=True)
class Drawn:
    """Rows of a fit, and how they are to be read."""

    y_true: Any
    y_score: Any
    sample_weight: Any
    about: dict[str, Any]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y_score.shape[0])

    @property
    def parts(self) -> tuple[Any, ...]:
        """All rows as a block."""
        return self.of(slice(None))

    def of(self, rows: slice) -> tuple[Any, ...]:
        """A block."""
        parts = (self.y_true, self.y_score, self.sample_weight)
        return tuple(part[rows] for part in parts if part is not None)

    def shards(self, rng: Generator) -> list["Blocks"]:
        """The rows in one to four shards, each in blocks of its own size."""
        cuts = np.sort(rng.integers(0, self.n + 1, rng.integers(0, 4)))
        edges = [0, *cuts.tolist(), self.n]
        return [Blocks(self.of(slice(first, last)), int(rng.integers(1, 400))) for first, last in pairwise(edges)]


@dataclass(frozen=True)
class Blocks:
    """A shard: its rows in blocks of one size, anew each time it is called; it can be pickled."""

    parts: tuple[Any, ...]
    size: int

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        """Return the blocks."""
        for first in range(0, self.parts[0].shape[0], self.size):
            yield tuple(part[first : first + self.size] for part in self.parts)


class OnlySlices:
    """An array that is read by ranges of rows only, as zarr's and h5py's are."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows: slice) -> Any:
        assert isinstance(rows, slice), "nothing else is asked for"
        return self.array[rows]


def draw(rng: Generator, kind: str, n: int = 0) -> Drawn:
    """Random rows: ties or none, float16 to float64 or integers, few positives or many."""
    n = n or int(rng.integers(1, 1500))
    m = int(rng.integers(1, 8))
    truth = rng.random((n, m)) < rng.choice([0.02, 0.2, 0.7])
    scores = rng.normal(size=(n, m)) + truth
    dtype = str(rng.choice(["float16", "float32", "float64", "int8", "rounded"]))
    if dtype == "rounded":
        scores = np.round(scores, 1)
    elif dtype == "int8":
        scores = (30 * scores).astype(np.int8)
    elif dtype == "float16" and kind == "sparse":
        scores = scores.astype(np.float32)
    else:
        scores = scores.astype(dtype)
    y_true: Any = truth.astype(np.uint8)
    weights = None
    about: dict[str, Any] = {}
    if kind == "sparse":
        scores = sparse.csr_array(np.where(rng.random((n, m)) < 0.3, scores, scores.dtype.type(0)))
        about["missing"] = float(rng.choice([0, -1, 1]))
    if kind == "whole weights":
        weights = np.append(1.0, rng.integers(0, 4, n - 1))
    if kind == "weights":
        weights = rng.random(n) + 0.01
    if kind == "unknown":
        y_true = np.where(rng.random((n, m)) < 0.3, -1, y_true).astype(np.int8)
        y_true[0, 0] = 1
        about["unknown"] = -1
    return Drawn(y_true, scores, weights, about)


def memory_maps(rows: Drawn, folder: Path) -> tuple[Any, ...]:
    """The arrays of a problem as memory maps."""
    mapped = []
    for number, part in enumerate(rows.parts):
        np.save(folder / f"{number}.npy", part)
        mapped.append(np.load(folder / f"{number}.npy", mmap_mode="r"))
    return tuple(mapped)


def parquet(rows: Drawn, folder: Path) -> Path:
    """A folder of two files; the second has its columns in another order."""
    names = [f"l{j}" for j in range(rows.y_true.shape[1])]
    columns = [f"{what}_{name}" for what in ("y_true", "y_score") for name in names]
    frame = pd.DataFrame(np.hstack([rows.y_true, rows.y_score]), columns=columns)
    frame = frame.astype({name: "float32" if name.startswith("y_score") else "int8" for name in columns})
    half = rows.n // 2
    frame[:half].to_parquet(folder / "a.parquet")
    frame[half:][columns[::-1]].to_parquet(folder / "b.parquet")
    return folder


def packed(rows: Drawn, folder: Path) -> Path:
    """A file that has to be unpacked."""
    np.savez_compressed(folder / "rows.npz", y_true=rows.y_true, y_score=rows.y_score)
    return folder / "rows.npz"


def unpacked(rows: Drawn, folder: Path) -> Path:
    """A file that is mapped."""
    np.savez(folder / "rows.npz", y_true=rows.y_true, y_score=rows.y_score)
    return folder / "rows.npz"


def frames(rows: Drawn, _: Path) -> Any:
    """A function of blocks that have their labels by name."""
    names = [f"l{j}" for j in range(rows.y_true.shape[1])]

    def blocks() -> Iterator[dict[str, Any]]:
        for first in range(0, rows.n, 64):
            truth, scores = (pd.DataFrame(part[first : first + 64], columns=names) for part in rows.parts)
            yield {"y_true": truth[names[::-1]] if first else truth, "y_score": scores}

    return blocks


SOURCES: dict[str, Callable[[Drawn, Path], Any]] = {
    "arrays": lambda rows, _: rows.parts,
    "a mapping": lambda rows, _: {"y_true": rows.y_true, "y_score": rows.y_score},
    "memory maps": memory_maps,
    "slices": lambda rows, _: tuple(OnlySlices(part) for part in rows.parts),
    "a function": lambda rows, _: Blocks(rows.parts, 130),
    "an iterator": lambda rows, _: Blocks(rows.parts, 130)(),
    "shards": lambda rows, _: rows.shards(np.random.default_rng(0)),
    "single blocks": lambda rows, _: [lambda k=k: rows.of(slice(k, k + 100)) for k in range(0, rows.n, 100)],
    "frames": frames,
    "a mapped file": unpacked,
    "a packed file": packed,
    "a list of files": lambda rows, folder: [packed(rows, folder)],
    "parquet": parquet,
    "a pattern": lambda rows, folder: f"{parquet(rows, folder)}/*.parquet",
}
