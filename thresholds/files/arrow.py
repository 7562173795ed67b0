"""Files that pyarrow reads: parquet, csv and the datasets of Hugging Face's library, which it reads without that.

`pip install 'f1-thresholds[arrow]'` brings pyarrow.
"""

import gzip
import os
import zlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thresholds._checks import InputError, read_json
from thresholds.files.arrow_columns import class_names, described, features_in, index_columns, names_in, values_of
from thresholds.files.columns import Array, Batch, Kind, Lists, NoValue, Table, listed
from thresholds.files.source import rows_per_block

_BUFFER_BYTES = 2**16  # for each column of parquet: as fast as a map of the file, of which all pages stay resident
_BLOCK_BYTES = 2**20  # of a csv that is read at once; pyarrow asks for the header, and any row, to fit
_ROWS_IN_BLOCK = 8
_LONGEST_LINE = 2**28
_NUMBER = "number"  # the type of all columns of numbers in a csv, where 1 may stand for 1.0


def pyarrow(name: str) -> Any:
    """Import pyarrow, which a file needs."""
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            f"{name} needs pyarrow, expected it to be installed: pip install 'f1-thresholds[arrow]'"
        ) from None
    return pyarrow


class ArrowTable(Table):
    """A table whose reader gives Arrow's record batches."""

    def __init__(self, path: Path, schema: Any, n_rows: int | None, features: Mapping[str, Any] | None = None) -> None:
        self.name, self.n_rows, self._path = path.name, n_rows, path
        doubled = [name for name, times in Counter(schema.names).items() if times > 1]
        if doubled:
            raise InputError(f"{path.name} has several columns named {listed(doubled)}, expected each name once")
        self.label_names = names_in(schema, path.name)
        features = features_in(schema, path.name) if features is None else features
        index = index_columns(schema)
        self.columns = {
            field.name: described(field.type, class_names(features.get(field.name)))._replace(
                of_index=field.name in index
            )
            for field in schema
        }

    @abstractmethod
    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read columns; batches are cut to `n_rows` by those who take them."""

    def batches(self, columns: Sequence[str], n_labels: int) -> Iterator[Batch]:
        """Read columns a few megabytes at a time."""
        pa, first, step = pyarrow(self.name), 0, rows_per_block(n_labels)
        try:
            for batch in self.record_batches(columns, step):
                for start in range(0, batch.num_rows, step):
                    part = batch.slice(start, step)
                    yield self._plain(part, columns, first)
                    first += part.num_rows
        except (pa.ArrowException, OSError) as error:
            raise unreadable(self._path, error) from None
        finally:
            pa.default_memory_pool().release_unused()  # 0.1 GB, measured, that a fit would have beside its own

    def _plain(self, batch: Any, columns: Sequence[str], first: int) -> Batch:
        """Turn one batch into plain arrays."""
        found: dict[str, Array | Lists] = {}
        for column in columns:
            try:
                found[column] = values_of(batch.column(batch.schema.get_field_index(column)))
            except NoValue as where:
                raise NoValue(self.name, first + where.row, column, where.place) from None
        return Batch(self.name, first, found)


class ParquetTable(ArrowTable):
    """A parquet file."""

    def __init__(self, path: Path) -> None:
        with self._open(path) as file:
            super().__init__(path, file.schema_arrow, file.metadata.num_rows)

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read row groups piece by piece, each by itself: pyarrow joins no lists of dictionary text across them."""
        with self._open(self._path) as file:
            for group in range(file.num_row_groups):
                yield from file.iter_batches(n_rows, row_groups=[group], columns=list(columns), use_threads=False)

    @staticmethod
    def _open(path: Path) -> Any:
        """Open the file; little is read ahead."""
        pa = pyarrow(path.name)
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, error) from None


class CsvTable(ArrowTable):
    """A csv file with a header, perhaps compressed (`.csv.gz`).

    The first block tells numbers from text; numbers are then read as float64, whatever they look like there. What
    stands for keys or groups is text.
    """

    of_text = True

    def __init__(self, path: Path, text: Sequence[str]) -> None:
        pyarrow(path.name)
        import pyarrow as pa

        self._types = dict.fromkeys(text, pa.string())
        with self._open(path) as reader:
            super().__init__(path, reader.schema, None)
        for name, column in self.columns.items():
            if name not in text and column.kind in ("float", "int", "none"):
                self._types[name] = pa.float64()
                kind: Kind = "float" if column.kind == "none" else column.kind
                self.columns[name] = column._replace(kind=kind, type=_NUMBER)

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read block by block."""
        with self._open(self._path, list(columns)) as reader:
            yield from reader

    def _open(self, path: Path, columns: list[str] | None = None) -> Any:
        """Open the file."""
        import pyarrow as pa
        from pyarrow import csv

        convert = csv.ConvertOptions(column_types=self._types, include_columns=columns, strings_can_be_null=False)
        try:
            read = csv.ReadOptions(block_size=max(_BLOCK_BYTES, _ROWS_IN_BLOCK * _longest(path)))
            return csv.open_csv(os.fspath(path), read, convert_options=convert)
        except UnicodeDecodeError:
            raise InputError(f"{path} cannot be read: its header is not UTF-8, expected that encoding") from None
        except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
            raise unreadable(path, error) from None


class DatasetTable(ArrowTable):
    """A dataset that Hugging Face's `save_to_disk` wrote: Arrow streams, mapped into memory."""

    def __init__(self, path: Path) -> None:
        parts = _json(path / "state.json").get("_data_files")
        if parts == []:
            raise InputError(f"{path.name} has no rows, expected at least one")
        if not parts:
            raise InputError(f"{path.name} has no data files in state.json, expected a dataset that save_to_disk wrote")
        self._streams = [path / part["filename"] for part in parts]
        info = path / "dataset_info.json"
        features = _json(info).get("features") if info.exists() else None
        with self._open(self._streams[0]) as reader:
            super().__init__(path, reader.schema, None, features)
        self.n_rows = sum(self._count(stream) for stream in self._streams)

    def record_batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Read all streams."""
        for stream in self._streams:
            with self._open(stream) as reader:
                yield from (batch.select(list(columns)) for batch in reader)

    @staticmethod
    def _open(path: Path) -> Any:
        """Open one stream."""
        pa = pyarrow(path.name)
        try:
            return pa.ipc.open_stream(pa.memory_map(os.fspath(path)))
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, error) from None

    def _count(self, path: Path) -> int:
        """Count the rows of one stream, from its headers."""
        with self._open(path) as reader:
            return sum(batch.num_rows for batch in reader)


def _longest(path: Path) -> int:
    """Give the length of the header of a csv, which must be UTF-8, or of its first row if that is longer."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as lines:
        header, row = (lines.readline(_LONGEST_LINE) for _ in range(2))
    return max(len(header.decode().encode()), len(row))


def dataset_splits(path: Path) -> list[str] | None:
    """Give the names of the datasets that a folder of datasets holds; None for other folders."""
    file = path / "dataset_dict.json"
    return [str(split) for split in _json(file).get("splits", [])] if file.exists() else None


def unreadable(path: Path, error: Exception) -> InputError:
    """Say that a file is damaged, or is not what its name says."""
    return InputError(f"{path} cannot be read: {' '.join(str(error).split())}")


def _json(path: Path) -> dict[str, Any]:
    """Read an object."""
    try:
        found = read_json(path.read_bytes(), constants=True)
    except InputError as error:
        raise unreadable(path, error) from None
    return found if isinstance(found, dict) else {}
