"""Parts of the rows of a problem, all but those of one fold each, whose tiles of labels are read together.

A tile of all rows is read once, its rows in the order of their folds: then a part is what lies on both sides of a fold,
and is copied as fast as memory goes.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from thresholds._arrays.types import Bytes, Ints, Keys
from thresholds.data.matrices import RowsOf
from thresholds.data.problem import Problem


class FoldTiles:
    """Tiles of labels of a dense problem without weights, rows in the order of their folds; each thread keeps one."""

    def __init__(self, problem: Problem, folds: Ints) -> None:
        """Put rows in the order of `folds`, (n_samples,)."""
        self._problem = problem
        self._order = np.argsort(folds, kind="stable")  # (n_samples,)
        self._sorted_folds = folds[self._order]  # (n_samples,)
        self._kept = threading.local()

    def outside(self, fold: int, first: int, last: int) -> tuple[Keys, Bytes]:
        """Return keys and truth, (last - first, n_rows), of all rows but those of a fold, in new memory."""
        start, stop = np.searchsorted(self._sorted_folds, [fold, fold + 1])
        keys, truth = (
            np.concatenate([cells[:, :start], cells[:, stop:]], axis=1)
            for cells in self._tile(first, last)
        )
        return keys, truth

    def _tile(self, first: int, last: int) -> tuple[Keys, Bytes]:
        """Return keys and truth of all rows, (last - first, n_samples), which nobody may change."""
        if getattr(self._kept, "labels", None) != (first, last):
            keys, truth = self._problem.keys_and_truth(first, last)
            self._kept.tile = (keys.take(self._order, axis=1), truth.take(self._order, axis=1))
            self._kept.labels = (first, last)
        tile: tuple[Keys, Bytes] = self._kept.tile
        return tile


@dataclass(frozen=True)
class PartOfRows(Problem):
    """The problem of all rows but those of one fold."""

    tiles: FoldTiles = field(kw_only=True)
    fold: int = field(kw_only=True)

    def keys_and_truth(self, first: int, last: int) -> tuple[Keys, Bytes]:
        """Return keys and truth, (last - first, n_samples); rows come in the order of their folds."""
        return self.tiles.outside(self.fold, first, last)


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
    # No row is in the fold after the last: that part is the whole.
    parts: list[Problem] = [PartOfRows(**shared, tiles=tiles, fold=len(pairs))]
    for k, rows in enumerate(outside):
        of_part = {
            "truth": RowsOf(problem.truth, rows),
            "scores": RowsOf(problem.scores, rows),
            "groups": None if problem.groups is None else problem.groups[rows],
        }
        parts.append(PartOfRows(**shared | of_part, tiles=tiles, fold=k))
    return parts
