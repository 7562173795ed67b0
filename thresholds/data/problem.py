"""Truth, scores and weights in the pieces that kernels take: tiles of labels, blocks of rows.

A piece holds a few columns or rows, so that a fit of one threshold for each label needs little
memory beside its input. Scores become keys (`_kernels/keys.py`) here, whatever their dtype and
layout.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from thresholds._arrays.matrices import compressed, coordinates, transposed
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Booleans, Bytes, Dense, Floats, Ints, Keys, Matrix, Weights
from thresholds._engine import problem
from thresholds._engine.unknown import without_entries
from thresholds._kernels.entries import items_of_entries
from thresholds._kernels.items import count_at_keys, counts_at_cuts, keys_at_ranks
from thresholds._kernels.keys import to_keys
from thresholds._kernels.sorting import listed_positives

Axis = Literal["labels", "samples"]

_COPIED = threading.local()  # cells of a few labels of the problem that a thread is reading

_ROW_BITS = 60  # Where truth is soft, the cells of a row weigh less than 2**60 units together.


class Items(NamedTuple):
    """Cells by group (a label, or an instance): group g is `starts[g]:starts[g + 1]`.

    The last item of a group of a sparse matrix stands for all its absent cells. Cells whose truth is not known are
    left out; a group that has no other keeps one item, without weight.
    """

    starts: Ints  # (n_groups + 1,)
    keys: Keys  # (n_items,)
    positive_weights: Weights  # (n_items,) the part of the weight that is positive
    weights: Ints  # (n_items,), or empty where each weighs 1

    @property
    def is_unweighted(self) -> bool:
        """Whether each item weighs 1, and `weights` is left empty."""
        return self.weights.size == 0

    def group(self, number: int) -> "Items":
        """Return one group, as views."""
        at = slice(self.starts[number], self.starts[number + 1])
        starts = np.array([0, at.stop - at.start])
        weights = self.weights if self.is_unweighted else self.weights[at]
        return Items(starts, self.keys[at], self.positive_weights[at], weights)

    @property
    def has_runs(self) -> bool:
        """Whether some item stands for cells of several keys, of which only the highest is known."""
        return False

    def at_floors(self) -> "Items":
        """Return them as if each cell of a run had the lowest key that it may have."""
        return self

    @property
    def are_runs(self) -> Booleans:
        """Which items do, (n_items,)."""
        return np.zeros(self.keys.size, np.bool_)

    def ask_at(self, keys: Keys) -> None:
        """Say that cells at a key of each group, (n_groups,), are to be known apart from others, as they are here."""

    def ask_between(self, cuts: Keys) -> None:
        """Say that cells on both sides of cuts, which rise, are to be known apart, as they are here."""

    def ask_inside(self, keys: Keys) -> None:
        """Say that cells of the item of each group with a given key, (n_groups,), are to be known, as they are here."""

    def counts_at(self, keys: Keys) -> Ints:
        """Return weight and true positives above a key of each group, then those at it, (4, n_groups)."""
        return count_at_keys(*self, keys)

    def counts_at_cuts(self, cuts: Keys) -> Ints:
        """Return true positives and weight of each group at or above cuts that rise, (2, n_groups, n_cuts)."""
        return counts_at_cuts(*self, cuts)

    def keys_at(self, ranks: Floats) -> Keys:
        """Return the keys at two ranks of each group, (2, n_groups) as the ranks, the second of which is no less."""
        return keys_at_ranks(self.starts, self.keys, self.weights, ranks)

    def without(self, left_out: Booleans) -> "Items":
        """Leave some items out, (n_items,), none of them positive; a group without others keeps one, of weight 0."""
        kept = ~left_out
        _, keys, positive_weights, weights = self
        n_kept = np.add.reduceat(kept, self.starts[:-1], dtype=np.int64)  # (n_groups,)
        is_empty = n_kept == 0
        if is_empty.any():
            weightless = self.starts[:-1][is_empty]
            kept[weightless] = True
            weights = np.ones(keys.size, np.int64) if self.is_unweighted else weights.copy()
            weights[weightless] = 0
            positive_weights = positive_weights.astype(np.int64)
        starts = np.append(0, np.maximum(n_kept, 1).cumsum())
        if weights.size:
            weights = weights[kept]
        return Items(starts, keys[kept], positive_weights[kept], weights)


@dataclass(frozen=True)
class Problem(problem.Problem):
    """A problem whose cells come as items: what guards, folds, calibration, tests of labels and counts still read."""

    @classmethod
    def with_items(cls, given: problem.Problem) -> "Problem":
        """Return a checked problem as one whose cells come as items."""
        if isinstance(given, cls):
            return given
        return cls(**{one.name: getattr(given, one.name) for one in fields(given)})

    @property
    def is_read_alone(self) -> bool:
        """Whether what is asked of some labels is all that they are read for: many at once then take little memory."""
        return self.is_dense_unweighted

    @property
    def has_runs(self) -> bool:
        """Whether some item of a label stands for cells of several keys, of which only the highest is known."""
        return False

    @cached_property
    def by_label(self) -> tuple[Matrix, Matrix]:
        """Truth and scores, the sparse ones compressed by column."""
        return compressed(self.truth, "csc"), compressed(self.scores, "csc")

    @cached_property
    def unknown_by_label(self) -> Matrix:
        """The cells whose truth is not known, compressed by column if they are sparse."""
        return compressed(self.unknown, "csc")

    def prepare(self, axis: Axis) -> None:
        """Convert once what every thread will read."""
        if axis == "labels":
            _ = self.by_label
        if self.unknown is not None:
            _ = self.unknown_by_label, self.known_in_row, self.weight_of_label, self.row_weights

    def forget(self) -> None:
        """Drop what was converted for `labels`, if it takes room."""
        self.__dict__.pop("by_label", None)

    def size(self, axis: Axis) -> int:
        """Number of groups along an axis."""
        return self.n_labels if axis == "labels" else self.n_samples

    @contextmanager
    def reading(self, first: int, last: int) -> Iterator[None]:
        """Have dense cells of labels copied together when this thread first asks for some: it asks for no others.

        Rows are the faster read the more of their labels are taken at once.
        """
        before = vars(_COPIED).copy()
        _COPIED.of, _COPIED.labels = self, slice(first, last)
        _COPIED.cells = _COPIED.positives = None
        try:
            yield
        finally:
            vars(_COPIED).clear()
            vars(_COPIED).update(before)

    def _is_reading(self, first: int, last: int) -> bool:
        """Whether this thread reads these labels of the problem now, and perhaps some beside them."""
        if getattr(_COPIED, "of", None) is not self:
            return False
        return bool(_COPIED.labels.start <= first and last <= _COPIED.labels.stop)

    def keys_and_truth(self, first: int, last: int) -> tuple[Keys, Bytes]:
        """Return keys, in new memory, and truth, (last - first, n_samples), of dense, unweighted labels."""
        if not self._is_reading(first, last):
            return self._copied(first, last)
        labels = _COPIED.labels
        if _COPIED.cells is None:
            _COPIED.cells = self._copied(labels.start, labels.stop)
        keys, truth = _COPIED.cells
        own = slice(first - labels.start, last - labels.start)
        return keys[own].copy(), truth[own]

    def keys_and_positives(self, first: int, last: int) -> tuple[Keys, Ints, Keys]:
        """Return keys, (last - first, n_samples), and those of positives, of dense labels without weights, all known.

        All in new memory; those of positives label by label, from where each begins, (last - first + 1,).
        """
        if not self._is_reading(first, last):
            return self._copied_with_positives(first, last)
        labels = _COPIED.labels
        if _COPIED.positives is None:
            _COPIED.positives = self._copied_with_positives(labels.start, labels.stop)
        keys, starts, true_keys = _COPIED.positives
        own = slice(first - labels.start, last - labels.start)
        own_starts = starts[own.start : own.stop + 1]
        own_positives = true_keys[own_starts[0] : own_starts[-1]].copy()
        return keys[own].copy(), own_starts - own_starts[0], own_positives

    def _copied(self, first: int, last: int) -> tuple[Keys, Bytes]:
        """Copy keys and truth, (last - first, n_samples)."""
        return self._copied_keys(first, last), self.dense_truth(first, last)

    def _copied_keys(self, first: int, last: int) -> Keys:
        """Copy keys, (last - first, n_samples), of dense labels."""
        return to_keys(transposed(self.scores, first, last, self.dtype))

    def _copied_with_positives(self, first: int, last: int) -> tuple[Keys, Ints, Keys]:
        """Copy keys, (last - first, n_samples), and list those of positives."""
        keys, truth = self._copied(first, last)
        starts = np.arange(last - first + 1) * self.n_samples
        return keys, *listed_positives(starts, keys.reshape(-1), truth.reshape(-1))

    def dense_truth(self, first: int, last: int) -> Bytes:
        """Return the truth of labels `first:last`, (last - first, n_samples)."""
        truth = self.by_label[0]
        if is_sparse(truth):
            return np.ascontiguousarray(truth[:, first:last].toarray().T, np.uint8)
        return transposed(truth, first, last, np.dtype(np.uint8))

    def label_items(self, first: int, last: int) -> Items:
        """Return the items of labels `first:last`, weights being an empty array if all are 1."""
        if not self.is_plain:
            return self.group_items("labels", first, last)
        keys, truth = self.keys_and_truth(first, last)
        starts = np.arange(last - first + 1) * self.n_samples
        items = Items(starts, keys.reshape(-1), truth.reshape(-1), np.empty(0, np.int64))
        return self._known(items, "labels", first, last)

    def panel(self, first: int, last: int) -> Items | None:
        """Return the items of labels `first:last` as they were sorted for others, too; None where they were not."""
        return None

    def group_items(self, axis: Axis, first: int, last: int) -> Items:
        """Return the items of groups `first:last`."""
        if is_sparse(self.scores):
            return self._sparse_items(axis, first, last)
        # Keys and truth, both (n_groups, length of a group).
        if axis == "labels":
            keys = to_keys(transposed(self.scores, first, last, self.dtype))
            truth = to_dense(self.by_label[0][:, first:last]).T
            cell_weights = self.row_weights
        else:
            keys = to_keys(np.array(self.scores[first:last], self.dtype, order="C"))
            truth = to_dense(self.truth[first:last])
            cell_weights = self._present(first, last)[:, np.newaxis]
        weights = np.broadcast_to(cell_weights, keys.shape)
        positive_weights = self._positive_part(truth, weights)
        starts = np.arange(len(keys) + 1) * keys.shape[1]
        items = Items(
            starts,
            keys.reshape(-1),
            positive_weights.reshape(-1),
            np.ascontiguousarray(weights).reshape(-1),
        )
        return self._known(items, axis, first, last)

    def _known(self, items: Items, axis: Axis, first: int, last: int) -> Items:
        """Leave out the items of cells whose truth is not known, of dense scores."""
        if self.unknown is None:
            return items
        unknown = self._unknown_cells(axis, first, last)
        return items.without(to_dense(unknown).reshape(-1))

    def _unknown_cells(self, axis: Axis, first: int, last: int) -> Matrix:
        """Return the cells of groups `first:last` whose truth is not known, one group a row."""
        if axis == "labels":
            return to_dense(self.unknown_by_label[:, first:last]).T
        assert self.unknown is not None, "asked for where there are some"
        return self.unknown[first:last]

    def _present(self, first: int, last: int) -> Ints:
        """Return 0 for cells of rows without weight, for others 1, in units if truth is soft."""
        weight = 1
        if self.soft:
            weight = self.weight_of_cell
        return (self.row_weights[first:last] > 0).astype(np.int64) * weight

    @property
    def weight_of_cell(self) -> int:
        """Weight of a cell of a row whose truth is soft.

        It is the largest power of two of which `n_labels` stay below 2**60: degrees of truth are rounded to units as
        fine as int64 sums of a row allow, and 1 is a whole number of them.
        """
        return int(2 ** (_ROW_BITS - self.n_labels.bit_length()))

    def sparse_truth(self, truth: Matrix, kind: Any) -> Matrix:
        """Return a piece of the truth as a sparse array of that kind."""
        if is_sparse(truth):
            return truth
        return kind(truth.astype(np.float64) if self.soft else truth != 0)

    def _positive_part(self, truth: Dense, weights: Ints) -> Ints:
        """Return the positive part of weights."""
        if self.soft:
            return np.rint(truth * weights).astype(np.int64)
        return np.where(truth != 0, weights, 0)

    def _sparse_items(self, axis: Axis, first: int, last: int) -> Items:
        """Return items from stored entries, one more per group for the absent ones."""
        # 1. Groups become the rows of what is compressed, whether they are labels or samples.
        if axis == "labels":
            truth = compressed(self.by_label[0][:, first:last], "csc")
            scores = compressed(self.by_label[1][:, first:last], "csc")
        else:
            truth = compressed(self.truth[first:last], "csr")
            scores = compressed(self.scores[first:last], "csr")
        if self.unknown is not None:
            labels = axis == "labels"
            cells = self.unknown_by_label[:, first:last] if labels else self.unknown[first:last]
            scores = without_entries(scores, cells)
        truth = self.sparse_truth(truth, type(scores))
        # 2. Weigh each entry: by its place in a label, by its group where that is a row.
        group, place = coordinates(scores)  # (n_stored,) each
        true_group, true_place = coordinates(truth)  # (n_true,) each
        if axis == "labels":
            entry_weights = self.row_weights[place]
            true_weights = self.row_weights[true_place]
            group_weights = self.weight_of_label[first:last]
        else:
            present = self._present(first, last)
            entry_weights = present[group]
            true_weights = present[true_group]
            group_weights = present * self.known_in_row[first:last]

        # 3. Lay them out, with those that are absent.
        keys = to_keys(np.append(scores.data, self.missing).astype(self.dtype))
        starts = scores.indptr.astype(np.int64)
        entries = starts, place, keys[:-1], entry_weights
        true = truth.indptr.astype(np.int64), true_place
        positive_part = self._positive_part(truth.data, true_weights)
        items = items_of_entries(*entries, *true, positive_part, group_weights, keys[-1])
        return Items(starts + np.arange(starts.size), *items)
