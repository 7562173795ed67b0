"""Several tables of the same columns as one."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from thresholds._checks import InputError
from thresholds.files.columns import Batch, Table, differences


class Shards(Table):
    """Tables one after another, in the order of their names; all must have the same columns."""

    def __init__(self, name: str, paths: Sequence[Path], open_table: Callable[[Path], Table]) -> None:
        first = open_table(paths[0])
        self.name, self.columns, self.label_names = name, first.columns, first.label_names
        self._paths, self._open, self._first = paths, open_table, first
        self.n_rows = first.n_rows
        for path in paths[1:]:
            shard = self._same(path, tuple(first.columns) if first.n_rows is not None else ())
            if self.n_rows is not None and shard.n_rows is not None:
                self.n_rows += shard.n_rows
        self.about = f"{len(paths)} shard{'s' if len(paths) > 1 else ''}"

    def batches(self, columns: Sequence[str], n_labels: int) -> Iterator[Batch]:
        """Read columns of one shard after another."""
        for path in self._paths:
            yield from self._same(path, columns).batches(columns, n_labels)

    def _same(self, path: Path, used: Sequence[str]) -> Table:
        """Open a shard, and refuse other columns than the first one has."""
        shard = self._open(path)
        said = differences(self._first, shard, used)
        if said is not None:
            raise InputError(f"shard {shard.name} of {self.name} {said}")
        return shard
