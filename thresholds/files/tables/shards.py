"""Several tables of the same columns as one."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from thresholds._checks import InputError
from thresholds._checks.boundary import reading
from thresholds.files.tables.columns import Batch, Table, difference_of


class Shards(Table):
    """Tables one after another, in the order of their names; all must have the same columns.

    Shards without rows and columns, as empty files of JSON are, are passed over. With `numbers_alike` a column may
    have numbers of different types: of those that are not known in all shards.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[Path],
        open_table: Callable[[Path], Table],
        *,
        numbers_alike: bool = False,
    ) -> None:
        self.name = name
        self.columns = {}
        self.n_rows = 0
        self._open = open_table
        self._numbers_alike = numbers_alike
        self._paths = list[Path]()
        for path in paths:
            with reading(path):
                shard = open_table(path)
            if shard.columns or shard.n_rows != 0:
                self._add(path, shard)
        self.about = f"{len(paths)} shard{'s' if len(paths) > 1 else ''}"

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that have rows, in order."""
        return tuple(map(str, self._paths))

    def batches(
        self, columns: Sequence[str], n_labels: int, nullable: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read columns of one shard after another."""
        for path in self._paths:
            with reading(path):
                shard = self._open(path)
                self._refuse_other(shard, columns)
                yield from shard.batches(columns, n_labels, nullable)

    def beginnings(
        self, columns: Sequence[str], nullable: Collection[str] = ()
    ) -> Iterator[tuple[str, Batch | None]]:
        """Read the first block of each column, in the first shard that has rows."""
        for path in self._paths:
            with reading(path):
                shard = self._open(path)
                self._refuse_other(shard, columns)
                has_rows = False
                for beginning in shard.beginnings(columns, nullable):
                    has_rows = True
                    yield beginning
                if has_rows:
                    return

    def parts(self, n_rows: int) -> list[Table]:
        """Return the parts of all shards."""
        parts = list[Table]()
        first: int | None = 0  # row of the shard among all
        for path in self._paths:
            with reading(path):
                shard = self._open(path)
                self._refuse_other(
                    shard, tuple(self.columns) if self._first.n_rows is not None else ()
                )
                parts += (_Part(part, path, first) for part in shard.parts(n_rows))
            first = None if first is None or shard.n_rows is None else first + shard.n_rows
        return parts

    def _add(self, path: Path, shard: Table) -> None:
        """Take in a shard; the first tells what columns there are."""
        if not self._paths:
            self._first, self.columns = shard, shard.columns
            self.label_names, self.of_text = shard.label_names, shard.of_text
            self.notes = shard.notes
        self._refuse_other(shard, tuple(self.columns) if self._first.n_rows is not None else ())
        self._paths.append(path)
        self.n_rows = (
            None if self.n_rows is None or shard.n_rows is None else self.n_rows + shard.n_rows
        )

    def _refuse_other(self, shard: Table, used: Sequence[str]) -> None:
        """Refuse other columns than those of the first shard, and those that are used if they are of another type."""
        difference = difference_of(self._first, shard, used, numbers_alike=self._numbers_alike)
        if difference is not None:
            raise InputError(f"shard {shard.name} of {self.name} {difference}")


class _Part(Table):
    """A shard, or some of its rows, read within the boundary."""

    def __init__(self, table: Table, path: Path, first_of_shard: int | None) -> None:
        self.name, self.columns, self.n_rows = table.name, table.columns, table.n_rows
        self.about, self.label_names, self.of_text = table.about, table.label_names, table.of_text
        self.first_row = None
        if first_of_shard is not None and table.first_row is not None:
            self.first_row = first_of_shard + table.first_row
        self._table, self._path = table, path

    def batches(
        self, columns: Sequence[str], n_labels: int, nullable: Collection[str] = ()
    ) -> Iterator[Batch]:
        """Read columns; rows are counted from the beginning of the shard."""
        with reading(self._path):
            yield from self._table.batches(columns, n_labels, nullable)

    def beginnings(
        self, columns: Sequence[str], nullable: Collection[str] = ()
    ) -> Iterator[tuple[str, Batch | None]]:
        """Read the first block of each column."""
        with reading(self._path):
            yield from self._table.beginnings(columns, nullable)
