"""The same rows in files of every format, and in two files, are the same to the last bit."""

import csv
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import InputError
from thresholds.files.score_file import ScoreFile

pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(11)
TRUTH = (RNG.random((60, 3)) < 0.4).astype(np.uint8)
SCORES = 0.6 * RNG.random((60, 3)) + 0.4 * TRUTH
COLUMNS: dict[str, list[Any]] = {
    "id": [f"k{row:02}" for row in range(60)],
    "who": [f"p{row // 4}" for row in range(60)],
    "w": RNG.integers(1, 5, 60).astype(float).tolist(),
}
EXPECTED = thresholds.fit_empirical(TRUTH, SCORES, sample_weight=COLUMNS["w"])

Table = Mapping[str, Sequence[Any]]


def rows_of(table: Table) -> list[dict[str, Any]]:
    """A table as objects."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def write_csv(table: Table, path: Path) -> None:
    separator = "\t" if ".tsv" in path.name or ".txt" in path.name else ","
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", newline="") as stream:
        writer = csv.writer(stream, delimiter=separator)
        writer.writerows([[*table], *zip(*table.values(), strict=True)])


def write_lines(table: Table, path: Path) -> None:
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows_of(table))


def write_parquet(table: Table, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(pa.table(table), path, row_group_size=17)


def write_feather(table: Table, path: Path) -> None:
    from pyarrow import feather

    feather.write_feather(pa.table(table), path, chunksize=17)


def write_stream(table: Table, path: Path) -> None:
    with pa.ipc.new_stream(path, pa.table(table).schema) as stream:
        stream.write_table(pa.table(table), 17)


def write_orc(table: Table, path: Path) -> None:
    from pyarrow import orc

    orc.write_table(pa.table(table), path)


def write_npz(table: Table, path: Path) -> None:
    """Labels are the columns of matrices."""
    arrays = {name: np.array(values) for name, values in table.items() if not name.startswith("y_")}
    for role in ("y_score", "y_true"):
        columns = [table[f"{role}_{name}"] for name in NAMES if f"{role}_{name}" in table]
        arrays |= {role: np.array(columns).T} if columns else {}
    np.savez(path, **arrays, label_names=np.array(NAMES))


WRITE: dict[str, Callable[[Table, Path], None]] = {
    ".npz": write_npz,
    ".parquet": write_parquet,
    ".pq": write_parquet,
    ".feather": write_feather,
    ".arrow": write_stream,
    ".orc": write_orc,
    ".csv": write_csv,
    ".csv.gz": write_csv,
    ".tsv": write_csv,
    ".tsv.gz": write_csv,
    ".txt": write_csv,
    ".jsonl": write_lines,
    ".jsonl.gz": write_lines,
    ".ndjson": write_lines,
}


def labels(role: str, matrix: Any) -> dict[str, list[Any]]:
    """A column for each label."""
    return {f"{role}_{name}": matrix[:, place].tolist() for place, name in enumerate(NAMES)}


def check(data: ScoreFile) -> None:
    """What was read is what was written, and rules that are fitted to it are the same."""
    assert data.label_names == NAMES
    np.testing.assert_array_equal(data.y_score, SCORES)
    np.testing.assert_array_equal(data.y_true, TRUTH)
    assert data.y_score.dtype == np.float64
    for found, name in ((data.keys, "id"), (data.groups, "who"), (data.sample_weight, "w")):
        assert found is not None
        assert found.tolist() == COLUMNS[name]
    rule = thresholds.fit_empirical(data.y_true, data.y_score, sample_weight=data.sample_weight)
    assert (rule.thresholds.tolist(), rule.objective) == (EXPECTED.thresholds.tolist(), EXPECTED.objective)


ASKED: dict[str, Any] = {"key": "id", "groups": "who", "weights": "w"}


@pytest.mark.parametrize("suffix", WRITE)
def test_a_file_of_every_format_is_read_alike(suffix: str, tmp_path: Path) -> None:
    WRITE[suffix]({**COLUMNS, **labels("y_score", SCORES), **labels("y_true", TRUTH)}, tmp_path / f"s{suffix}")
    check(thresholds.read(tmp_path / f"s{suffix}", **ASKED))


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITE if suffix not in (".npz", ".txt")])
def test_shards_of_every_format_are_read_alike(suffix: str, tmp_path: Path) -> None:
    table = {**COLUMNS, **labels("y_score", SCORES), **labels("y_true", TRUTH)}
    for number, rows in enumerate((slice(0, 1), slice(1, 40), slice(40, 60))):
        WRITE[suffix]({name: values[rows] for name, values in table.items()}, tmp_path / f"{number}{suffix}")
    check(thresholds.read(tmp_path, **ASKED))


@pytest.mark.parametrize("of_scores", [(), ("who",), ("w",), ("who", "w")], ids=lambda names: "+".join(names) or "none")
@pytest.mark.parametrize("suffix", WRITE)
def test_groups_and_weights_stand_in_either_file(suffix: str, of_scores: tuple[str, ...], tmp_path: Path) -> None:
    """The truth has other rows, too, in another order."""
    of_truth = [name for name in ("who", "w") if name not in of_scores]
    order = RNG.permutation(60)
    scores = {"id": COLUMNS["id"], **{name: COLUMNS[name] for name in of_scores}, **labels("y_score", SCORES)}
    truth = {"id": COLUMNS["id"], **{name: COLUMNS[name] for name in of_truth}, **labels("y_true", TRUTH)}
    truth = {name: [values[row] for row in (*order, 0)] for name, values in truth.items()}
    truth["id"][-1] = "k99"
    for other in (".npz", ".csv"):
        WRITE[suffix](scores, tmp_path / f"s{suffix}")
        WRITE[other](truth, tmp_path / f"t{other}")
        check(thresholds.read(tmp_path / f"s{suffix}", truth=tmp_path / f"t{other}", **ASKED))
        WRITE[other](scores, tmp_path / f"s{other}")
        WRITE[suffix](truth, tmp_path / f"t{suffix}")
        check(thresholds.read(tmp_path / f"s{other}", truth=tmp_path / f"t{suffix}", **ASKED))


@pytest.mark.parametrize("suffix", WRITE)
def test_columns_that_neither_file_has_are_named(suffix: str, tmp_path: Path) -> None:
    WRITE[suffix]({"id": COLUMNS["id"], **labels("y_score", SCORES)}, tmp_path / f"s{suffix}")
    WRITE[suffix]({"id": COLUMNS["id"], **labels("y_true", TRUTH)}, tmp_path / f"t{suffix}")
    for option in ("key", "groups", "weights"):
        asked: dict[str, Any] = {"key": "id", option: "patient"}
        with pytest.raises(InputError, match=r"[st]\.\S+ has no (column|array) 'patient'"):
            thresholds.read(tmp_path / f"s{suffix}", truth=tmp_path / f"t{suffix}", **asked)
