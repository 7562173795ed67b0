"""Scores in another form than their file has them: logits as probabilities, numbers of text in a dtype."""

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError
from thresholds.files.source import PART_CELLS, Block, Source
from thresholds.files.tables.decoding import logistic

_ENOUGH_CELLS = 100  # from which on logits do not all lie in [0, 1] by chance


class Converted(Source):
    """The rows of another source, in another form."""

    def __init__(self, source: Source, *notes: str) -> None:
        self._source = source
        for name in (
            "name",
            "score_key",
            "truth_key",
            "label_names",
            "n_labels",
            "key_columns",
            "label_column",
            "n_samples",
            "first_row",
            "about",
            "of_text",
            "has_unknown",
        ):
            setattr(self, name, getattr(source, name))
        self.calib_idx, self.test_idx, self.left_out = (
            source.calib_idx,
            source.test_idx,
            dict(source.left_out),
        )
        self.notes = (*source.notes, *notes)

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return the parts of the rows, each in the same form."""
        return [self._of(part) for part in self._source.parts(n_cells)]

    def _of(self, part: Source) -> Source:
        """Return a part in the same form."""
        converted = copy(self)
        converted._source = part
        converted.n_samples, converted.first_row = part.n_samples, part.first_row
        return converted

    def with_rows(self, keys: Dense) -> Source:
        """Return this with further rows, where the source lacks some."""
        longer = self._source.with_rows(keys)
        if longer is self._source:
            return self
        converted = self._of(longer)
        converted.notes = (*longer.notes, *self.notes[len(self._source.notes) :])
        return converted

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return the first values of columns without a role."""
        return self._source.first_values(columns)

    def because(self, label: str) -> str:
        """Say why a label has no scores."""
        return self._source.because(label)

    def keys(self) -> Dense:
        """Return the key of every row."""
        return self._source.keys()


class FromLogits(Converted):
    """Scores that are logits, as probabilities."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, "logits are turned into probabilities")
        self._are_logits = False  # is known of a part

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order; that all were probabilities before is known, and refused, at the end."""
        suspicious, n_cells = not self._are_logits, 0
        for block in self._source.blocks(truth=truth):
            cells = block.y_score.data if is_sparse(block.y_score) else block.y_score
            suspicious = suspicious and bool(((cells >= 0) & (cells <= 1)).all())
            n_cells += cells.size
            yield block._replace(y_score=logistic(block.y_score))
        self._refuse(suspicious, n_cells)

    def parts(self, n_cells: int = PART_CELLS) -> list[Source]:
        """Return the parts of the rows: one of them may well have no score outside [0, 1], but not all."""
        parts = super().parts(n_cells)
        if len(parts) > 1:
            self._look_for_logits()
            for part in parts:
                assert isinstance(part, FromLogits)
                part._are_logits = True
        return parts

    def _look_for_logits(self) -> None:
        """Read scores, mostly a few, up to the first outside [0, 1]."""
        n_cells = 0
        for block in self._source.blocks(truth=False):
            cells = block.y_score.data if is_sparse(block.y_score) else block.y_score
            if not ((cells >= 0) & (cells <= 1)).all():
                return
            n_cells += cells.size
        self._refuse(True, n_cells)

    def _refuse(self, suspicious: bool, n_cells: int) -> None:
        """Refuse scores of which none is outside [0, 1], if they are not few."""
        if suspicious and n_cells >= _ENOUGH_CELLS:
            raise InputError(
                f"{self.name} has all scores in [0, 1] with --logits, expected logits: they look like probabilities"
                " already"
            )


class InDtype(Converted):
    """Scores that were written as text, in the dtype that they had before."""

    def __init__(self, source: Source, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        super().__init__(
            source,
            f"scores written as text are read as {self._dtype}, in which the rule was fitted",
        )

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order."""
        for block in self._source.blocks(truth=truth):
            yield block._replace(y_score=self._cast(block.y_score))

    def _cast(self, scores: Matrix) -> Matrix:
        """Round scores; what is too large becomes infinite, and is refused as such."""
        with np.errstate(over="ignore"):
            return scores.astype(self._dtype)
