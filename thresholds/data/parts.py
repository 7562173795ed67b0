"""Parts of the rows of a problem, all but those of one fold each, whose tiles of labels are read together.

A tile of all rows is read once, its rows in the order of their folds: then a part is what lies on both sides of a fold,
which is copied as fast as memory goes.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from thresholds._arrays.matrices import RowsOf
from thresholds._arrays.types import Bytes, Ints, Keys
from thresholds.data.panels import Panel
from thresholds.data.problem import Items, Problem


class FoldTiles:
    """Tiles of labels of a dense problem without weights, rows in the order of their folds; each thread keeps one."""

    def __init__(self, problem: Problem, folds: Ints) -> None:
        """Put rows in the order of `folds`, (n_samples,)."""
        self.problem = problem
        self._order = np.argsort(folds, kind="stable")  # (n_samples,)
        self._sorted_folds = folds[self._order]  # (n_samples,)
        self._kept = threading.local()

    def tile(self, first: int, last: int) -> "FoldTile":
        """Return the tile of some labels."""
        if getattr(self._kept, "labels", None) != (first, last):
            self._kept.labels = self._kept.tile = None  # Its memory is needed for the next.
            keys, truth = self.problem.keys_and_truth(first, last)
            keys, truth = (cells.take(self._order, axis=1) for cells in (keys, truth))
            self._kept.tile = FoldTile(keys, truth, self._sorted_folds)
            self._kept.labels = (first, last)
        tile: FoldTile = self._kept.tile
        return tile


class FoldTile:
    """Labels of a tile, rows in the order of their folds."""

    def __init__(self, keys: Keys, truth: Bytes, sorted_folds: Ints) -> None:
        """Take keys and truth of all rows, (n_labels, n_samples), which nobody may change."""
        self._keys = keys
        self._truth = truth
        self._sorted_folds = sorted_folds

    def outside(self, fold: int | None) -> tuple[Keys, Bytes]:
        """Return keys and truth, (n_labels, n_rows), of all rows but those of a fold, in new memory."""
        inside = slice(0, 0) if fold is None else self._rows_of(fold)
        keys, truth = (
            np.concatenate([cells[:, : inside.start], cells[:, inside.stop :]], axis=1)
            for cells in (self._keys, self._truth)
        )
        return keys, truth

    def panel(self, fold: int | None) -> Panel:
        """Return the items of all rows but those of a fold, sorted."""
        keys, truth = self.outside(fold)
        starts = np.arange(len(keys) + 1) * keys.shape[1]
        nothing = np.empty(0, np.int64)
        return Panel.sorting(Items(starts, keys.reshape(-1), truth.reshape(-1), nothing))

    def _rows_of(self, fold: int) -> slice:
        """Return where the rows of a fold lie."""
        return slice(*np.searchsorted(self._sorted_folds, [fold, fold + 1]).tolist())


@dataclass(frozen=True)
class PartOfRows(Problem):
    """The problem of all rows but those of one fold, or of none."""

    tiles: FoldTiles = field(kw_only=True)
    fold: int | None = field(kw_only=True)

    @property
    def is_read_alone(self) -> bool:
        """Other parts are read beside it."""
        return False

    @contextmanager
    def reading(self, first: int, last: int) -> Iterator[None]:
        """Have the labels of all rows copied together."""
        with self.tiles.problem.reading(first, last):
            yield

    def keys_and_truth(self, first: int, last: int) -> tuple[Keys, Bytes]:
        """Return keys and truth, (last - first, n_samples); rows come in the order of their folds."""
        return self.tiles.tile(first, last).outside(self.fold)

    def panel(self, first: int, last: int) -> Panel:
        """Return the items of labels, sorted."""
        return self.tiles.tile(first, last).panel(self.fold)


def parts_of_rows(problem: Problem, pairs: Sequence[tuple[Ints, Ints]]) -> list[Problem] | None:
    """Return the problem, and the parts of it that folds are fitted on; None where they cannot be read together.

    `pairs` are the rows to fit on, and to judge on, of each fold: together all rows.
    """
    is_dense = problem.is_dense_unweighted and isinstance(problem.truth, np.ndarray)
    if not (is_dense and type(problem) is Problem):
        return None
    folds = np.full(problem.n_samples, -1)
    for k, (_, judged) in enumerate(pairs):
        folds[judged] = k
    outside = [np.flatnonzero(folds != k) for k in range(len(pairs))]
    if not all(
        np.array_equal(rows, to_fit) for rows, (to_fit, _) in zip(outside, pairs, strict=True)
    ):
        return None

    tiles = FoldTiles(problem, folds)
    shared: dict[str, Any] = {one.name: getattr(problem, one.name) for one in fields(problem)}
    parts: list[Problem] = [PartOfRows(**shared, tiles=tiles, fold=None)]
    for k, rows in enumerate(outside):
        of_part = {
            "truth": RowsOf(problem.truth, rows),
            "scores": RowsOf(problem.scores, rows),
            "groups": None if problem.groups is None else problem.groups[rows],
        }
        parts.append(PartOfRows(**shared | of_part, tiles=tiles, fold=k))
    return parts
