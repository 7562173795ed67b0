"""The rows of a file, read within the boundary."""

from collections.abc import Iterator, Sequence

from thresholds._arrays.types import Dense
from thresholds._checks.boundary import reading, unreadable
from thresholds.files.converting import Converted
from thresholds.files.source import Block, Source


class WithinBoundary(Converted):
    """The rows of a file, read within the boundary, and as many as it says to have."""

    def __init__(self, source: Source, path: str) -> None:
        super().__init__(source)
        self._path = path

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order."""
        n_rows = 0
        with reading(self._path):
            for block in self._source.blocks(truth=truth):
                n_rows += block.y_score.shape[0]
                yield block
        if self.n_samples not in (n_rows, None):
            raise unreadable(
                self._path, f"it has {n_rows:,} rows, expected {self.n_samples:,} as it says"
            )

    def whole(self) -> Block | None:
        """Return all rows at once where the file can."""
        with reading(self._path):
            return self._source.whole()

    def mapped(self) -> Block | None:
        """Return all rows mapped into memory where the file holds them as they are."""
        with reading(self._path):
            return self._source.mapped()

    def first_values(self, columns: Sequence[str]) -> Iterator[tuple[str, Dense]]:
        """Return the first values of columns without a role."""
        with reading(self._path):
            yield from self._source.first_values(columns)

    def keys(self) -> Dense:
        """Return the key of every row."""
        with reading(self._path):
            return self._source.keys()
