"""A `datasets.Dataset` of Hugging Face as a table, read as Arrow's batches: no row becomes a Python list."""

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from thresholds._arrays.blocks import in_pieces
from thresholds._checks import InputError, shown
from thresholds.files.tables.arrow import ArrowTable
from thresholds.files.tables.columns import Table

_NAME = "dataset"  # which has no name of its own


def is_dataset(value: object) -> bool:
    """Whether a value is one of the classes of Hugging Face's library, which is not imported for that."""
    return type(value).__module__.split(".")[0] == "datasets"


class DatasetObject(ArrowTable):
    """A dataset with whatever rows it has, filtered and shuffled as it may be."""

    def __init__(self, dataset: Any) -> None:
        if hasattr(dataset, "keys"):
            splits = ", ".join(map(shown, dataset.keys()))
            raise InputError(f"path is a dataset for each split, expected one of them: {splits}")
        if not hasattr(dataset, "select_columns") or not hasattr(dataset, "__len__"):
            raise InputError(f"path is {type(dataset).__name__}, expected a datasets.Dataset")
        self._dataset = dataset.with_format("arrow")
        super().__init__(Path(_NAME), dataset.features.arrow_schema, len(dataset))

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read columns some rows at a time."""
        for table in self._dataset.select_columns(list(columns)).iter(n_rows):
            yield from table.combine_chunks().to_batches()

    def parts(self, n_rows: int) -> list[Table]:
        """Return ranges of rows."""
        parts = list[Table]()
        for rows in in_pieces(slice(0, len(self._dataset)), n_rows):
            part = copy(self)
            part._dataset = self._dataset.select(range(rows.start, rows.stop))
            part.n_rows = rows.stop - rows.start
            part.first_row = (self.first_row or 0) + rows.start
            parts.append(part)
        return parts
