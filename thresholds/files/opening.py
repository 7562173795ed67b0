"""Finding out what a path is, and opening it: by suffix, a folder, or a pattern of shards."""

import os
from collections.abc import Sequence
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Protocol

from thresholds._checks import InputError, names_of_labels
from thresholds._checks.boundary import reading, reading_json
from thresholds._checks.unknown import unknown_value
from thresholds.files.arrays.npy import NpySource
from thresholds.files.arrays.scipy_npz import open_npz
from thresholds.files.arrays.text import SvmLightSource, TextSource
from thresholds.files.converting import FromLogits
from thresholds.files.joining import Joined, TruthFile
from thresholds.files.source import LabelledFile, Source, Wanted, gather_labelled
from thresholds.files.tables.arrow import CsvTable, DatasetTable, ParquetTable, dataset_splits
from thresholds.files.tables.columns import Table
from thresholds.files.tables.hugging_face import DatasetObject, is_dataset
from thresholds.files.tables.jsonl import JsonLines
from thresholds.files.tables.long import LongSource, long_scores, long_truth
from thresholds.files.tables.shards import Shards
from thresholds.files.tables.source import TableSource
from thresholds.files.within_boundary import WithinBoundary

StrPath = str | os.PathLike[str]


class _OpenMatrix(Protocol):
    """What opens a file of one matrix; `truth_only` where that is truth, of scores in another file."""

    def __call__(self, path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
        """Return its rows."""


class _OpenTable(Protocol):
    """What opens a file of named columns; those of `text` are read as text, where the file has no types."""

    def __call__(self, path: Path, text: Sequence[str], /) -> Table:
        """Return its columns."""


# Every format, by the suffix of its files, and the class that reads it. For another, write a class whose constructor
# is an `_OpenMatrix` or an `_OpenTable`, and add a line; name it at the end of `--help` (`cli/parser.py`) and in
# docs/files.md. A suffix of two parts has to be known to `_suffix`, too.
_ARRAYS: dict[str, _OpenMatrix] = {
    ".npz": open_npz,
    ".npy": NpySource,
    ".txt": TextSource,
    ".svm": SvmLightSource,
    ".svmlight": SvmLightSource,
    ".libsvm": SvmLightSource,
}
# One file or many shards. Beside these, a folder may be a `DatasetTable`.
_TABLES: dict[str, _OpenTable] = {
    ".parquet": ParquetTable,
    ".csv": CsvTable,
    ".csv.gz": CsvTable,
    ".tsv": CsvTable,
    ".tsv.gz": CsvTable,
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
}


def open_scores(
    path: Any,
    wanted: Wanted | None = None,
    *,
    truth_path: Any = None,
    logits: bool = False,
) -> Source:
    """Open a file, a folder, a pattern of shards or a `datasets.Dataset`, and join the truth of another to it."""
    wanted = wanted or Wanted()
    unknown_value(wanted.unknown)  # is refused, if it is none, before anything is read
    source = _open(
        _given(path),
        wanted if truth_path is None else replace(wanted, truth=None, with_truth=False),
    )
    names = wanted.rule_names
    if source.label_names is None and names is not None and len(names) == source.n_labels:
        source.label_names = names  # nothing says otherwise
    if truth_path is not None:
        wanted = replace(wanted, key=wanted.key or source.key_columns or None)
        truth = _open_truth(_given(truth_path), wanted, source)
        source = Joined(source if truth.keys is None else source.with_rows(truth.keys), truth)
    return FromLogits(source) if logits else source


def read_labelled(
    path: StrPath,
    score_key: str | None = None,
    groups_key: str | None = None,
    *,
    unknown: object = None,
) -> LabelledFile:
    """Read a file of scores and truth, and the groups of its rows if their column is given.

    `unknown` is what stands for truth that is not known: "nan" for cells without a value, or a number, as -1. Where
    there is such a cell, `unknown` of the result is -1, and so is `y_true` there.
    """
    wanted = Wanted(scores=score_key, groups=groups_key, unknown=unknown)
    return gather_labelled(open_scores(path, wanted))


def read_label_names(path: StrPath) -> tuple[str, ...]:
    """Read label names: a text file with one in each line, or a JSON list."""
    path = Path(path)
    if path.suffix == ".json":
        names = reading_json(path, "label names")
    else:
        with reading(path, "label names"):
            names = [line.strip() for line in path.read_text("utf-8-sig").split("\n")]
        while names and names[-1] == "":
            names.pop()
    if not isinstance(names, list):
        raise InputError(f"{path} is no list, expected label names in order")
    if not names or "" in names:
        raise InputError(
            f"{path} has {'an empty line' if names else 'no names'}, expected one label name in each line"
        )
    return names_of_labels(names)


def shards_of(path: StrPath) -> tuple[str, ...]:
    """Return the files that a pattern, or a folder of shards, stands for, in order; of all else the path itself."""
    path = os.fspath(path)
    if _is_pattern(path):
        return tuple(map(str, _matching(path)))
    if os.path.isdir(path):
        table = _folder(Path(path), (), None)
        if isinstance(table, Shards):
            return table.paths
    return (path,)


def refuse_overwriting(output: StrPath, *inputs: StrPath) -> None:
    """Refuse to write to a file that is read, by whatever name, or to one of its shards."""
    for path in [os.fspath(path) for path in inputs]:
        files = _matching(path) if _is_pattern(path) else [Path(path), *(Path(path).glob("*"))]
        if os.path.exists(output) and any(
            file.exists() and file.samefile(output) for file in files
        ):
            raise InputError(
                f"{os.fspath(output)} is a file of {path}, which is read, expected another output"
            )


def _given(path: Any) -> Any:
    """Return a path as text, and a dataset as it is."""
    return path if is_dataset(path) else os.fspath(path)


def _open(path: Any, wanted: Wanted) -> Source:
    """Open scores, and truth that stands beside them."""
    if is_dataset(path):
        with reading("the dataset"):
            return WithinBoundary(_of_table(path, wanted), "the dataset")
    suffix = "" if _is_pattern(path) else _suffix(path)
    with reading(path):
        if suffix in _ARRAYS:
            return WithinBoundary(_ARRAYS[suffix](Path(path), wanted), path)
        return WithinBoundary(_of_table(path, wanted), path)


def _open_truth(path: Any, wanted: Wanted, scores: Source) -> TruthFile:
    """Open a file for its truth alone."""
    suffix = "" if is_dataset(path) or _is_pattern(path) else _suffix(path)
    truth_alone = Wanted(
        truth=wanted.truth, key=wanted.key, labels=wanted.labels, unknown=wanted.unknown
    )
    with reading("the dataset" if is_dataset(path) else path):
        if suffix in _ARRAYS:
            source = _ARRAYS[suffix](Path(path), truth_alone, truth_only=True)
            return TruthFile.of_source(source, scores, truth_alone)
        table = _open_table(path, truth_alone)
        truth_alone = replace(
            truth_alone,
            label_names=wanted.label_names,
            rule_names=wanted.rule_names,
            rule_is_old=wanted.rule_is_old,
        )
        columns = long_truth(table, truth_alone, scores)
        if columns is None:
            return TruthFile.of_table(table, truth_alone, scores)
        table = _open_table(path, truth_alone, columns.text)
        return TruthFile.of_lines(table, columns, truth_alone, scores)


def _of_table(path: Any, wanted: Wanted) -> Source:
    """Open a table of scores, with a row in each line or a label in each line."""
    table = _open_table(path, wanted)
    columns = long_scores(table, wanted)
    if columns is None:
        return TableSource(table, wanted)
    return LongSource(_open_table(path, wanted, columns.text), wanted, columns)


def _open_table(path: Any, wanted: Wanted, more_text: Sequence[str] = ()) -> Table:
    """Open a table, one file or several; keys, groups and `more_text` are text, where a file has no types."""
    groups = () if wanted.groups is None else (wanted.groups,)
    text = tuple(dict.fromkeys((*wanted.keys, *groups, *more_text)))
    table: Table
    if is_dataset(path):
        table = DatasetObject(path)
    elif _is_pattern(path):
        table = _shards(path, _matching(path), text, wanted.unknown)
    elif os.path.isdir(path):
        table = _folder(Path(path), text, wanted.unknown)
    else:
        table = _one_table(Path(path), text)
    if table.n_rows == 0 or (isinstance(table, CsvTable) and not table.has_rows):
        raise InputError(
            f"{table.name if is_dataset(path) else path} has no rows, expected at least one"
        )
    return table


def _matching(pattern: str) -> list[Path]:
    """Find the files that a pattern stands for, `**` for folders of any depth."""
    files = [Path(path) for path in sorted(glob(pattern, recursive=True))]
    if not files:
        raise InputError(f"{pattern} matches no file, expected shards")
    return files


def _folder(folder: Path, text: Sequence[str], unknown: object) -> Table:
    """Open a dataset that Hugging Face's library saved, or shards."""
    splits = dataset_splits(folder)
    if splits is not None:
        named = ", ".join(str(folder / split) for split in splits)
        raise InputError(f"{folder} holds a dataset for each split, expected one of them: {named}")
    if (folder / "state.json").exists():
        return DatasetTable(folder)
    files = sorted(
        file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_"))
    )
    shards = [file for file in files if _suffix(file.name) in _TABLES]
    suffixes = sorted({_suffix(shard.name) for shard in shards})
    if len(suffixes) > 1:
        raise InputError(
            f"{folder} holds shards that end in {', '.join(suffixes)}, expected one kind: name them, as"
            f" '{folder}/*.parquet'"
        )
    if not shards:
        raise InputError(
            f"{folder} holds no shards, expected files that end in {', '.join(_TABLES)}"
        )
    return _shards(folder.name or str(folder), shards, text, unknown)


def _shards(name: str, paths: list[Path], text: Sequence[str], unknown: object) -> Table:
    """Open shards, sorted by name."""
    wrong = [path for path in paths if path.is_dir() or _suffix(path.name) not in _TABLES]
    if wrong:
        raise InputError(f"{wrong[0]} is no shard, expected files that end in {', '.join(_TABLES)}")
    return Shards(
        name, paths, lambda path: _one_table(path, text), numbers_alike=unknown is not None
    )


def _one_table(path: Path, text: Sequence[str]) -> Table:
    """Open one file."""
    suffix = _suffix(path.name)
    path.stat()  # so that a missing file is named by Python's own error
    if suffix not in _TABLES:
        raise InputError(
            f"{path} ends in {suffix!r}, expected {', '.join((*_ARRAYS, *_TABLES))}, a folder or pattern of shards, or"
            " a Hugging Face dataset folder"
        )
    open(path, "rb").close()  # likewise one that may not be read
    return _TABLES[suffix](path, text)


def _is_pattern(path: str) -> bool:
    """Whether a path stands for several files."""
    return has_magic(path) and not os.path.exists(path)


def _suffix(path: str) -> str:
    """Return the suffix of a path, of two parts where it ends in `.gz`."""
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])
