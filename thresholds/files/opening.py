"""Finding out what a path is, and opening it: by suffix, a folder, or a pattern of shards."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from thresholds._checks import InputError, names_of_labels, shown
from thresholds._checks.boundary import reading, reading_json
from thresholds._checks.unknown import unknown_values
from thresholds.errors import need
from thresholds.files.arrays.npz import array_names, open_npy, open_npz
from thresholds.files.arrays.sparse_text import is_xmc, open_svmlight, open_xmc
from thresholds.files.converting import from_logits
from thresholds.files.joining import joined, truth_of_arrays
from thresholds.files.order import refuse_shards_sorted_as_text
from thresholds.files.score_file import LabelledFile, gather_labelled
from thresholds.files.source import Source, Wanted
from thresholds.files.tables import table as tables
from thresholds.files.tables.csv_text import open_csv
from thresholds.files.tables.formats import (
    dataset_splits,
    is_dataset,
    open_arrow,
    open_dataset,
    open_orc,
    open_parquet,
    open_saved_dataset,
)
from thresholds.files.tables.json_lines import open_json_lines
from thresholds.files.tables.long import long_scores, long_truth, source_of_lines
from thresholds.files.tables.rows import scores_of_rows, truth_of_rows
from thresholds.files.tables.table import FileTable

StrPath = str | os.PathLike[str]

# How to save what people have in files that are not read.
_TO_SAVE = {
    ".xlsx": "save the sheet as csv",
    ".xls": "save the sheet as csv",
    ".ods": "save the sheet as csv",
    ".json": "write an object in each line of a .jsonl file",
    ".pkl": "a frame has to_parquet; numpy.savez writes arrays",
}

# Takes `path`, `wanted` and `truth_only`, where the matrix of a file is truth, of scores in another file.
_OpenMatrix = Callable[..., Source]

# Every format, by the suffix of its files, and the function that opens it. For another, write a function and add a
# line; name it at the end of `--help` (`cli/parser.py`) and in docs/files.md.
_ARRAYS: dict[str, _OpenMatrix] = {
    ".npz": open_npz,
    ".npy": open_npy,
    ".svm": open_svmlight,
    ".svmlight": open_svmlight,
    ".libsvm": open_svmlight,
}
# One file or many shards. Beside these, a folder may be a dataset that Hugging Face's library saved.
_TABLES: dict[str, Callable[[Path, Wanted], FileTable]] = {
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".feather": open_arrow,
    ".arrow": open_arrow,
    ".orc": open_orc,
    ".csv": open_csv,
    ".csv.gz": open_csv,
    ".tsv": open_csv,
    ".tsv.gz": open_csv,
    ".txt": open_csv,
    ".jsonl": open_json_lines,
    ".jsonl.gz": open_json_lines,
    ".ndjson": open_json_lines,
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
    unknown_values(wanted.unknown)  # is refused, if it is none, before anything is read
    source = _opened(path, truth_path, wanted)
    source = replace(source, drop_unscored=wanted.drop_unscored, true_words=wanted.true_words)
    return from_logits(source) if logits else source


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
    """Read label names: a text file with one in each line, or a JSON list, or an object of positions and names."""
    path = Path(path)
    if path.suffix == ".json":
        names = reading_json(path, "label names")
        if isinstance(names, dict) and list(names) == [str(place) for place in range(len(names))]:
            names = list(names.values())  # as `id2label` of a model's configuration
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
        folder = Path(path)
        if not (folder / "state.json").exists():
            return tuple(str(shard) for shard in _shards_in(folder))
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


class _File:
    """A file that is opened, before its columns have roles: arrays, or a table."""

    def __init__(self, path: Any, wanted: Wanted, option: str = "path") -> None:
        self.path, self.name = path, "the dataset"
        if not is_dataset(path):
            if not isinstance(path, str | os.PathLike):
                raise InputError(
                    f"{option} is {shown(path)}, expected a file, a folder, a pattern of files, or a datasets.Dataset"
                )
            self.path = self.name = os.fspath(path)
        with reading(self.name):
            self.open_matrix = _opens_matrix(self.path)
            self.table = None
            self.columns = frozenset[str]()
            if self.open_matrix is None:
                need("pyarrow", self.name)
                self.table = _open_table(self.path, wanted)
                self.columns = frozenset(self.table.columns)
            elif self.open_matrix is open_npz:
                self.columns = frozenset(array_names(Path(self.path)))

    @property
    def shards(self) -> list[str]:
        """The names of the files that it is, without their suffixes."""
        files = () if is_dataset(self.path) else shards_of(self.path)
        return [os.path.basename(shard).partition(".")[0] for shard in files]

    def scores(self, wanted: Wanted) -> Source:
        """Return scores, and truth that stands beside them."""
        with reading(self.name):
            if self.table is None:
                assert self.open_matrix is not None
                source = self.open_matrix(Path(self.path), wanted)
            else:
                columns = long_scores(self.table, wanted)
                if columns is None:
                    return scores_of_rows(self.table, wanted)
                source = source_of_lines(self.table, wanted, columns)
        names = wanted.rule_names
        if source.label_names is None and names is not None and len(names) == source.n_labels:
            return replace(source, label_names=names)  # nothing says otherwise
        return source

    def truth(self, wanted: Wanted, scores: Source) -> Source:
        """Return the truth of scores in another file."""
        with reading(self.name):
            if self.table is None:
                assert self.open_matrix is not None
                alone = replace(wanted, label_names=None, rule_names=None)
                source = self.open_matrix(Path(self.path), alone, truth_only=True)
                return truth_of_arrays(source, wanted, scores)
            columns = long_truth(self.table, wanted, scores)
            if columns is None:
                return truth_of_rows(self.table, wanted, scores)
            return source_of_lines(self.table, wanted, columns, scores)


def _opened(path: Any, truth_path: Any, wanted: Wanted) -> Source:
    """Open scores, and the truth of another file, if there is one; groups, weights and labels may stand in either."""
    file = _File(path, wanted)
    if truth_path is None:
        return file.scores(wanted)
    truth = _File(truth_path, replace(wanted, scores=None), "--truth")
    only_in_truth = truth.columns - file.columns
    theirs = [
        name for name in ("groups", "weights", "labels") if getattr(wanted, name) in only_in_truth
    ]
    of_scores: dict[str, Any] = {"truth": None, "with_truth": False, **dict.fromkeys(theirs)}
    scores = file.scores(replace(wanted, **of_scores))
    # Groups and weights are those of one file; a column of labels both may have.
    own = [name for name in ("groups", "weights") if name not in theirs]
    of_truth: dict[str, Any] = {"scores": None, "drop_unscored": False, **dict.fromkeys(own)}
    keys = wanted.key or scores.key_columns or None
    if keys is None:
        refuse_shards_sorted_as_text(file.name, file.shards, truth.shards)
    return joined(scores, truth.truth(replace(wanted, key=keys, **of_truth), scores))


def _opens_matrix(path: Any) -> _OpenMatrix | None:
    """Return what opens a file of arrays; None for tables."""
    if is_dataset(path) or _is_pattern(path):
        return None
    if _suffix(path) == ".txt":
        return open_xmc if is_xmc(Path(path)) else None
    return _ARRAYS.get(_suffix(path))


def _open_table(path: Any, wanted: Wanted) -> FileTable:
    """Open a table, one file or several."""
    table: FileTable
    if is_dataset(path):
        table = open_dataset(path)
    elif _is_pattern(path):
        table = _shards(path, _matching(path), wanted)
    elif os.path.isdir(path):
        table = _folder(Path(path), wanted)
    else:
        table = _one_table(Path(path), wanted)
    if table.n_rows == 0:
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


def _folder(folder: Path, wanted: Wanted) -> FileTable:
    """Open a dataset that Hugging Face's library saved, or shards."""
    splits = dataset_splits(folder)
    if splits is not None:
        named = ", ".join(str(folder / split) for split in splits)
        raise InputError(f"{folder} holds a dataset for each split, expected one of them: {named}")
    if (folder / "state.json").exists():
        return open_saved_dataset(folder)
    return _shards(folder.name or str(folder), _shards_in(folder), wanted)


def _shards_in(folder: Path) -> list[Path]:
    """Find the shards of a folder, all of one kind."""
    named = sorted(file for file in folder.iterdir() if not file.name.startswith((".", "_")))
    dangling = [file for file in named if file.is_symlink() and not file.exists()]
    if dangling:
        raise InputError(f"{dangling[0]} is a link to no file, expected a shard")
    files = [file for file in named if file.is_file()]
    shards = [file for file in files if _suffix(file.name) in _TABLES]
    # A text beside shards tells of them, such as readme.txt.
    shards = [file for file in shards if file.suffix != ".txt"] or shards
    suffixes = sorted({_suffix(shard.name) for shard in shards})
    if len(suffixes) > 1:
        raise InputError(
            f"{folder} holds shards that end in {', '.join(suffixes)}, expected one kind: name them, as"
            f" '{folder}/*{suffixes[0]}'"
        )
    if not shards:
        raise InputError(
            f"{folder} holds no shards, expected files that end in {', '.join(_TABLES)}"
        )
    return shards


def _shards(name: str, paths: list[Path], wanted: Wanted) -> FileTable:
    """Open shards, sorted by name."""
    wrong = [path for path in paths if path.is_dir() or _suffix(path.name) not in _TABLES]
    if wrong:
        raise InputError(f"{wrong[0]} is no shard, expected files that end in {', '.join(_TABLES)}")
    opened = list[FileTable]()
    for path in paths:
        with reading(path):
            opened.append(_one_table(path, wanted))
    return tables.joined(name, opened, numbers_alike=wanted.unknown is not None)


def _one_table(path: Path, wanted: Wanted) -> FileTable:
    """Open one file."""
    suffix = _suffix(path.name)
    # A missing file is named by Python's own error; a pipe would be read once alone.
    if stat.S_ISFIFO(path.stat().st_mode):
        raise InputError(f"{path} is a pipe, expected a file, which is read several times")
    if suffix not in _TABLES:
        advice = f": {_TO_SAVE[suffix]}" if suffix in _TO_SAVE else ""
        raise InputError(
            f"{path} ends in {suffix!r}, expected {', '.join((*_ARRAYS, *_TABLES))}, a folder or pattern of shards, or"
            f" a Hugging Face dataset folder{advice}"
        )
    open(path, "rb").close()  # likewise one that may not be read
    return _TABLES[suffix](path, wanted)


def _is_pattern(path: str) -> bool:
    """Whether a path stands for several files."""
    return has_magic(path) and not os.path.exists(path)


def _suffix(path: str) -> str:
    """Return the suffix of a path, of two parts where it ends in `.gz`."""
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:]).lower()
