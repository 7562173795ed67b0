"""Scores joined to truth in another file: by a key, else row by row."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._checks import InputError, in_order, places
from thresholds._results.words import counted
from thresholds.files.keys import places_of
from thresholds.files.order import (
    FileLabels,
    refuse_no_order,
    refuse_numbers_as_names,
    refuse_other_rows,
)
from thresholds.files.score_file import collected
from thresholds.files.source import Block, Source, Wanted
from thresholds.files.unknown import as_read


def joined(scores: Source, truth: Source) -> Source:
    """Return scores with the truth of another source, and with its groups and weights."""
    rows, _ = collected(truth)
    found = None
    if rows.keys is not None:
        if scores.with_rows is not None:
            scores = scores.with_rows(rows.keys)
        may_lack = truth.lacking_truth is not None
        found = places_of(scores.keys(), rows.keys, scores.name, truth.name, may_lack=may_lack)
    given = _Truth(truth, rows, found)
    if found is None:
        given.refuse_other_length(scores.n_samples, scores.name)
        refuse_other_rows(scores, truth)
    return replace(
        scores,
        read=partial(given.blocks, scores),
        read_whole=None if scores.read_whole is None else partial(given.whole, scores),
        read_parts=None,
        truth_key=f"{truth.score_key} of {truth.name}",
        has_unknown=truth.has_unknown,
        notes=(*scores.notes, *truth.notes, *given.notes()),
    )


@dataclass(frozen=True)
class _Truth:
    """The truth of all rows of a file, and where it is for each row of scores."""

    source: Source
    rows: Block  # whose scores are the truth
    places: Ints | None  # (n_samples,) rows of the truth, -1 for none; None for the same order

    def blocks(self, scores: Source, with_truth: bool) -> Iterator[Block]:
        """Return the rows of the scores in order, with their truth."""
        first = 0
        for block in scores.blocks(truth=False):
            rows = slice(first, first + block.y_score.shape[0])
            first = rows.stop
            yield self._beside(block, rows, with_truth)
        if self.places is None:
            self.refuse_other_length(first, scores.name)

    def whole(self, scores: Source) -> Block:
        """Return all rows at once."""
        block = scores.whole()
        assert block is not None
        return self._beside(block, slice(0, block.y_score.shape[0]), with_truth=True)

    def _beside(self, block: Block, rows: slice, with_truth: bool) -> Block:
        """Return some rows of scores with the rows of the truth that are theirs."""
        found = rows if self.places is None else self.places[rows]
        return block._replace(
            y_true=self._taken(found) if with_truth else None,
            groups=self._of_rows("--groups", self.rows.groups, block.groups, found),
            sample_weight=self._of_rows(
                "--weights", self.rows.sample_weight, block.sample_weight, found
            ),
        )

    def _of_rows(
        self, option: str, own: Dense | None, of_scores: Dense | None, found: "Ints | slice"
    ) -> Dense | None:
        """Return groups, or weights, of some rows: those of the truth, if it has them."""
        if own is None:
            return of_scores
        if not isinstance(found, slice) and (found < 0).any():
            raise InputError(
                f"{self.source.name} has {option} and no line for some rows of the scores, expected one for each"
            )
        return np.asarray(own[found])

    def _taken(self, found: "Ints | slice") -> Matrix:
        """Return rows of truth; where it has none, no label is true, or none is known."""
        matrix = self.rows.y_score
        if isinstance(found, slice) or (found >= 0).all():
            return matrix[found]
        if not is_sparse(matrix):
            last = np.full((1, matrix.shape[1]), self.source.lacking_truth, matrix.dtype)
            return np.concatenate([matrix, last])[found]
        from scipy import sparse

        empty = sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
        return sparse.vstack([matrix, empty], "csr")[found]

    def notes(self) -> tuple[str, ...]:
        """Say by what rows are joined, if by no key, and how many are left over."""
        name = self.source.name
        if self.places is None:
            return (f"{name} is joined by row order; --key joins by a column",)
        notes = list[str]()
        n_found = int(np.count_nonzero(self.places >= 0))
        more = self.rows.y_score.shape[0] - n_found
        if more:
            notes.append(
                f"left out of {name}: {counted(more, 'row')} whose keys the scores do not have"
            )
        n_rows = self.places.size
        if n_found < n_rows:
            some = f"{counted(n_rows - n_found, 'row')} of {n_rows:,}"
            meaning = "true" if self.source.lacking_truth == 0 else "known"
            notes.append(f"{name} has no line for {some}: no label is {meaning} there")
        return tuple(notes)

    def refuse_other_length(self, n_samples: int | None, name: str) -> None:
        """Refuse truth of more or fewer rows, where rows are joined by their order."""
        n_rows = self.rows.y_score.shape[0]
        if n_samples not in (n_rows, None):
            raise InputError(
                f"{self.source.name} has {counted(n_rows, 'row')}, expected {n_samples:,} as {name} has; --key joins by"
                " a column"
            )


def truth_of_arrays(source: Source, wanted: Wanted, scores: Source) -> Source:
    """Take the matrix of a file of arrays for truth, its labels in the order of the scores'."""
    if source.n_labels != scores.n_labels and not (
        source.more_labels and source.n_labels < scores.n_labels
    ):
        raise InputError(
            f"{source.name} has {counted(source.n_labels, 'label')}, expected {scores.n_labels} as {scores.name}"
        )
    names = scores.label_names
    if source.label_names is None:
        labels = FileLabels(names, scores.n_labels, scores.has_order)
        refuse_no_order(f"truth of {source.name}", labels)
        if source.more_labels and wanted.names_of_columns is None:
            refuse_numbers_as_names(f"truth of {source.name}", labels)
    order = places(source.label_names, names, source.name, f"those of {scores.name}")
    read = partial(_as_truth, source, wanted.unknown, order, scores)
    return replace(source, read_whole=read, has_unknown=wanted.unknown is not None)


def _as_truth(source: Source, unknown: object, order: Ints | None, scores: Source) -> Block:
    """Return all rows, whose scores are truth."""
    rows, _ = collected(source)
    if source.n_labels < scores.n_labels:
        rows.y_score.resize(rows.y_score.shape[0], scores.n_labels)
    cells = in_order(rows.y_score, order)
    if unknown is not None:
        what = f"truth {source.score_key!r} of {source.name}"
        cells = as_read(cells, unknown, what, scores.label_names)
    return rows._replace(y_score=cells)
