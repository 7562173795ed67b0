"""Files that are tables of Arrow's types already: parquet, feather, and the datasets of Hugging Face's library."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from thresholds._arrays.blocks import bounded_parts, in_pieces
from thresholds._checks import InputError, shown
from thresholds._checks.boundary import reading_json
from thresholds.errors import need
from thresholds.files.source import Wanted
from thresholds.files.tables.columns import NUMBERS, described
from thresholds.files.tables.table import FileTable, Piece, table_of

# For each column of parquet: as fast as a map of the file, of which all pages stay resident.
_BUFFER_BYTES = 2**16
_ROWS_OF_LISTS = 2**12  # of parquet, that are read at once: lists may be long
_PIECE_CELLS = 2**24  # of row groups that are read as one piece


def open_parquet(path: Path, _: Wanted) -> FileTable:
    """Open a parquet file: some row groups are a piece."""
    with _parquet(path) as file:
        schema = file.schema_arrow
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        sizes = np.array([group.num_rows for group in groups], np.int64)
    pieces = list[Piece]()
    first = 0
    for part in bounded_parts(sizes * len(schema), _PIECE_CELLS):
        n_rows = int(sizes[part].sum())
        read = partial(_read_parquet, path, range(part.start, part.stop))
        pieces.append(Piece(path.name, str(path), read, n_rows, first))
        first += n_rows
    return table_of(path.name, schema, pieces)


def _read_parquet(
    path: Path, groups: range, columns: Sequence[str], n_rows: int, _: Collection[str]
) -> Iterator[Any]:
    """Read row groups, each by itself: pyarrow joins no lists of dictionary text across them.

    What the file says of its columns is not asked: there pyarrow ends the process over a damaged byte.
    """
    with _parquet(path) as file:
        if any(file.schema_arrow.field(column).type.num_fields for column in columns):
            n_rows = min(n_rows, _ROWS_OF_LISTS)
        for group in groups:
            yield from file.iter_batches(
                n_rows, row_groups=[group], columns=list(columns), use_threads=False
            )


def _parquet(path: Path) -> Any:
    """Open a file of which little is read ahead."""
    from pyarrow import parquet

    return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def open_orc(path: Path, _: Wanted) -> FileTable:
    """Open an ORC file, as Hive and Spark write it."""
    from pyarrow import orc

    file = orc.ORCFile(path)
    piece = Piece(path.name, str(path), partial(_read_orc, path), file.nrows)
    return table_of(path.name, file.schema, [piece])


def _read_orc(path: Path, columns: Sequence[str], _: int, __: Collection[str]) -> Iterator[Any]:
    """Read stripe by stripe."""
    from pyarrow import orc

    file = orc.ORCFile(path)
    for stripe in range(file.nstripes):
        yield file.read_stripe(stripe, columns=list(columns))


def open_arrow(path: Path, _: Wanted) -> FileTable:
    """Open a file of Arrow's batches: a feather file, or a stream as Hugging Face's library writes."""
    return _of_batches(path, [path], None)


def _of_batches(
    whole: Path, paths: Sequence[Path], features: Mapping[str, Any] | None
) -> FileTable:
    """Return files of batches as one table."""
    pieces = list[Piece]()
    first = 0
    for path in paths:
        # One column is enough to count rows: of numbers, or of lists, which are smaller than text.
        columns = sorted(
            _arrow_schema(path),
            key=lambda f: (not described(f.type).is_flat(*NUMBERS), not f.type.num_fields),
        )
        one = [field.name for field in columns[:1]]
        n_rows = sum(batch.num_rows for batch in _arrow_batches(path, one))
        pieces.append(Piece(whole.name, str(whole), partial(_read_arrow, path), n_rows, first))
        first += n_rows
    return table_of(whole.name, _arrow_schema(paths[0]), pieces, features=features)


def _read_arrow(path: Path, columns: Sequence[str], _: int, __: Collection[str]) -> Iterator[Any]:
    """Read batches, of which nothing is believed: that values lie in their bytes is checked."""
    for batch in _arrow_batches(path, columns):
        batch.validate(full=True)
        yield batch


def _arrow_schema(path: Path) -> Any:
    """Read the columns of a file of batches."""
    import pyarrow as pa

    with pa.memory_map(os.fspath(path)) as stream:
        return _open_batches(stream).schema


def _arrow_batches(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Read columns of a file of batches, mapped into memory; others are not unpacked."""
    import pyarrow as pa

    names = _arrow_schema(path).names
    places = [names.index(column) for column in columns]
    with pa.memory_map(os.fspath(path)) as stream:
        reader = _open_batches(stream, places)
        batches: Any = reader
        if hasattr(reader, "num_record_batches"):
            batches = map(reader.get_batch, range(reader.num_record_batches))
        for batch in batches:
            yield batch.select(list(columns))


def _open_batches(stream: Any, places: Sequence[int] = ()) -> Any:
    """Open what a file of Arrow's batches is: with an index at its end, or a stream."""
    import pyarrow as pa

    options = pa.ipc.IpcReadOptions(included_fields=list(places))  # none stand for all
    is_file = stream.read(6) == b"ARROW1"
    stream.seek(0)
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(stream, options=options)


def open_saved_dataset(folder: Path) -> FileTable:
    """Open a dataset that Hugging Face's `save_to_disk` wrote."""
    need("pyarrow", str(folder))
    info = folder / "dataset_info.json"
    features = _json(info).get("features") if info.exists() else None
    paths = [folder / name for name in _data_files(folder)]
    return _of_batches(folder, paths, features)


def dataset_splits(folder: Path) -> list[str] | None:
    """Return the names of the datasets that a folder of datasets holds; None for other folders."""
    file = folder / "dataset_dict.json"
    return [str(split) for split in _json(file).get("splits", [])] if file.exists() else None


def _data_files(folder: Path) -> list[str]:
    """Return the names of a dataset's files, each in its own folder: nothing else is read, whatever the names say."""
    entries = _json(folder / "state.json").get("_data_files")
    if entries == []:
        raise InputError(f"{folder.name} has no rows, expected at least one")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            f"{folder.name} has no data files in state.json, expected a dataset that save_to_disk wrote"
        )
    names = [entry.get("filename") for entry in entries]
    for name in names:
        is_name = isinstance(name, str) and name not in ("", ".", "..")
        if not is_name or PureWindowsPath(name).name != name:
            raise InputError(
                f"state.json of {folder.name} names {shown(name)}, expected files of its own folder"
            )
    return names


def _json(path: Path) -> dict[str, Any]:
    """Read an object."""
    value = reading_json(path, constants=True)
    return value if isinstance(value, dict) else {}


def is_dataset(value: object) -> bool:
    """Whether a value is one of the classes of Hugging Face's library, which is not imported for that."""
    return type(value).__module__.split(".")[0] == "datasets"


def open_dataset(dataset: Any) -> FileTable:
    """Open a `datasets.Dataset`, filtered and shuffled as it may be: no row becomes a Python list."""
    if hasattr(dataset, "keys"):
        splits = ", ".join(map(shown, dataset.keys()))
        raise InputError(f"path is a dataset for each split, expected one of them: {splits}")
    if not hasattr(dataset, "select_columns") or not hasattr(dataset, "__len__"):
        raise InputError(f"path is {type(dataset).__name__}, expected a datasets.Dataset")
    dataset = dataset.with_format("arrow")
    n_rows = len(dataset)
    step = max(1, _PIECE_CELLS // max(1, len(dataset.column_names)))
    pieces = list[Piece]()
    for rows in in_pieces(slice(0, n_rows), step):
        part = dataset.select(range(rows.start, rows.stop))
        read = partial(_read_dataset, part)
        pieces.append(Piece("dataset", "the dataset", read, len(part), rows.start))
    return table_of("dataset", dataset.features.arrow_schema, pieces)


def _read_dataset(
    dataset: Any, columns: Sequence[str], n_rows: int, _: Collection[str]
) -> Iterator[Any]:
    """Read columns some rows at a time."""
    for table in dataset.select_columns(list(columns)).iter(n_rows):
        yield from table.combine_chunks().to_batches()
