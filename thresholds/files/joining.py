"""Scores joined to truth in another file: by a key, else row by row; and logits turned into probabilities."""

from collections.abc import Iterator

import numpy as np

from thresholds._checks import InputError, Matrix, is_sparse, shown
from thresholds.files.columns import Table, truth_part
from thresholds.files.decoding import logistic
from thresholds.files.source import Array, Block, Source, Wanted
from thresholds.files.tables import Truth, batches, check_columns, keys_of
from thresholds.gathering import Gathered


class TruthFile:
    """The truth of all rows of a file, read whole, and their keys if rows are to be found by them."""

    def __init__(self, name: str, key: str, matrix: Matrix, keys: Array | None) -> None:
        self.name, self.key, self.matrix, self.keys = name, key, matrix, keys

    @classmethod
    def of_table(cls, table: Table, wanted: Wanted, scores: Source) -> "TruthFile":
        """Read the truth of a table, for the labels of the scores."""
        check_columns(table, Wanted(key=wanted.key))
        part = truth_part(table.name, table.columns, Wanted(truth=wanted.truth, key=wanted.key), None)
        assert part is not None, "a file of truth alone has some, or is refused"
        truth = Truth(table, part, scores.label_names, scores.n_labels)
        gathered = Gathered(f"truth {part.key!r} of {table.name}", n_rows=table.n_rows)
        for batch in batches(table, truth.part.columns, truth.part, scores.n_labels, scores.label_names):
            gathered.add(truth.decode(batch))
        if not gathered.n_rows:
            raise InputError(f"{table.name} has no rows, expected the truth of those of {scores.name}")
        return cls(table.name, part.key, gathered.matrix(), None if wanted.key is None else keys_of(table, wanted.key))

    @classmethod
    def of_source(cls, source: Source, scores: Source, key: str | None) -> "TruthFile":
        """Take the matrix of an `.npz` or `.npy` for truth."""
        found = source.whole()
        assert found is not None, "arrays are read whole"
        if source.n_labels != scores.n_labels:
            raise InputError(f"{source.name} has {source.n_labels} labels, expected {scores.n_labels} as {scores.name}")
        names = source.label_names, scores.label_names
        if None not in names and names[0] != names[1]:
            raise InputError(f"label names of {source.name} differ from those of {scores.name}, expected the same")
        return cls(source.name, source.score_key, found.y_score, None if key is None else source.keys())


class Joined(Source):
    """Scores of one file with truth of another."""

    def __init__(self, source: Source, truth: TruthFile, key: str | None) -> None:
        self._source, self._truth = source, truth
        _inherit(self, source)
        self.truth_key = f"{truth.key} of {truth.name}"
        self._places = None if truth.keys is None else _places(source, truth)
        if key is None:
            self.notes = (*source.notes, f"{truth.name} is joined by row order; --key joins by a column")
            self._refuse_other_length(source.n_samples)

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Give the rows of the scores in order, with their truth."""
        at = 0
        for block in self._source.blocks(truth=False):
            rows = slice(at, at := at + block.y_score.shape[0])
            yield block._replace(y_true=self._rows(rows) if truth else None)
        self._refuse_other_length(at)

    def whole(self) -> Block | None:
        """Give all rows at once where the scores are."""
        found = self._source.whole()
        return None if found is None else found._replace(y_true=self._rows(slice(0, found.y_score.shape[0])))

    def keys(self) -> Array:
        """Give the key of every row."""
        return self._source.keys()

    def _rows(self, rows: slice) -> Matrix:
        """Give the truth of some rows."""
        if self._places is not None:
            return self._truth.matrix[self._places[rows]]
        if rows.stop > self._truth.matrix.shape[0]:
            self._refuse_other_length(None)
        return self._truth.matrix[rows]

    def _refuse_other_length(self, n_samples: int | None) -> None:
        """Refuse truth of more or fewer rows, where rows are joined by their order."""
        found = self._truth.matrix.shape[0]
        if self._places is None and n_samples not in (found, None):
            raise InputError(
                f"{self._truth.name} has {found:,} rows, expected {n_samples:,} as {self.name} has; --key joins by a"
                " column"
            )


class FromLogits(Source):
    """Scores that are logits, as probabilities."""

    def __init__(self, source: Source) -> None:
        self._source = source
        _inherit(self, source)
        self.notes = (*source.notes, "logits are turned into probabilities")

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Give the rows in order; that all were probabilities before is known, and refused, at the end."""
        suspicious = True
        for block in self._source.blocks(truth=truth):
            cells = block.y_score.data if is_sparse(block.y_score) else block.y_score
            suspicious = suspicious and bool(((cells >= 0) & (cells <= 1)).all())
            yield block._replace(y_score=logistic(block.y_score))
        if suspicious:
            raise InputError(
                f"{self.name} has all scores in [0, 1] with --logits: they look like probabilities already"
            )

    def keys(self) -> Array:
        """Give the key of every row."""
        return self._source.keys()


def _inherit(target: Source, source: Source) -> None:
    """Take over what a source says of itself."""
    for name in ("name", "score_key", "truth_key", "label_names", "n_labels", "n_samples", "about", "notes"):
        setattr(target, name, getattr(source, name))
    target.calib_idx, target.test_idx = source.calib_idx, source.test_idx


def _places(source: Source, truth: TruthFile) -> Array:
    """Find the row of the truth for each row of the scores."""
    assert truth.keys is not None
    wanted, known = _comparable(source.keys(), truth.keys)
    for keys, name in ((wanted, source.name), (known, truth.name)):
        _refuse_doubled(keys, name)
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)
    places = order[at]
    missing = np.flatnonzero(known[places] != wanted)
    if missing.size:
        more = f" ({missing.size:,} keys are)" if missing.size > 1 else ""
        raise InputError(
            f"key {_key(wanted[missing[0]])} of {source.name} is missing in {truth.name}{more}, expected a row there"
            " for each row of scores"
        )
    return places


def _refuse_doubled(keys: Array, name: str) -> None:
    """Refuse keys that stand on several rows."""
    ordered = np.sort(keys)
    again = ordered[1:] == ordered[:-1]
    if again.any():
        doubled, counts = np.unique(ordered[1:][again], return_counts=True)
        first = keys[np.isin(keys, doubled)][0]
        times = int(counts[np.searchsorted(doubled, first)]) + 1
        more = f", and {doubled.size - 1:,} more are doubled" if doubled.size > 1 else ""
        raise InputError(f"key {_key(first)} stands on {times} rows of {name}{more}, expected each key once")


def _comparable(first: Array, second: Array) -> tuple[Array, Array]:
    """Give keys as whole numbers where both are, else as the bytes of text."""
    if first.dtype.kind in "iu" and second.dtype.kind in "iu":
        return first, second
    return _as_bytes(first), _as_bytes(second)


def _as_bytes(keys: Array) -> Array:
    """Give text, or numbers as text, in a form that sorts fast."""
    if keys.dtype.kind == "S":
        return keys
    return np.array([str(key).encode() for key in keys.tolist()], np.bytes_)


def _key(value: object) -> str:
    """Show a key."""
    value = value.item() if isinstance(value, np.generic) else value
    return shown(value.decode() if isinstance(value, bytes) else value)
