"""Parts of a source: consecutive rows that another process can read, and that together are all of them."""

import json
import multiprocessing
import pickle
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thresholds import InputError
from thresholds.files import Source, Wanted, open_scores

N_ROWS, NAMES = 50, ("cat", "dog", "emu")
RNG = np.random.default_rng(4)
SCORES = RNG.random((N_ROWS, 3)).astype(np.float32)
TRUTH = (RNG.random((N_ROWS, 3)) < 0.4).astype(np.uint8)
KEYS = [f"k{row:02}" for row in range(N_ROWS)]
SHARDS = [slice(0, 20), slice(20, 26), slice(26, N_ROWS)]
Make = Callable[[Path], Source]


@pytest.fixture(autouse=True)
def few_cells_are_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it takes millions of cells otherwise."""
    pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
    monkeypatch.setattr("thresholds.files.tables.formats._PIECE_CELLS", 1)
    monkeypatch.setattr("thresholds.files.tables.table._PART_CELLS", 1)


def rows_of(source: Source) -> list[tuple[Any, ...]]:
    """Scores, truth and key of each row of a source."""
    rows = list[tuple[Any, ...]]()
    for block in source.blocks():
        truth = block.y_true if isinstance(block.y_true, np.ndarray | None) else block.y_true.toarray()
        parts = (block.y_score, truth, block.keys)
        rows += zip(*(part.tolist() for part in parts if part is not None), strict=True)
    return rows


def table(some: slice, scores: Any = SCORES) -> Any:
    """Rows as a table of Arrow's: lists of scores beside lists of the true labels."""
    import pyarrow as pa

    tags = [[name for name, is_true in zip(NAMES, row, strict=True) if is_true] for row in TRUTH[some].tolist()]
    return pa.table({"id": KEYS[some], "y_score": list(scores[some]), "tags": tags})


WANTED = Wanted(label_names=NAMES, key="id")


def parquet(folder: Path, scores: Any = SCORES) -> Source:
    from pyarrow import parquet

    parquet.write_table(table(slice(None), scores), folder / "s.parquet", row_group_size=7)
    return open_scores(folder / "s.parquet", WANTED)


def shards(folder: Path, scores: Any = SCORES) -> Source:
    from pyarrow import parquet

    for number, some in enumerate(SHARDS):
        parquet.write_table(table(some, scores), folder / f"{number}.parquet")
    return open_scores(folder, WANTED)


def dataset(folder: Path) -> Source:
    """As Hugging Face's `save_to_disk` writes one."""
    import pyarrow as pa

    names = [f"{number}.arrow" for number in range(len(SHARDS))]
    for name, some in zip(names, SHARDS, strict=True):
        rows = table(some)
        with pa.ipc.new_stream(folder / name, rows.schema) as stream:
            stream.write_table(rows)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    return open_scores(folder, WANTED)


def json_shards(folder: Path) -> Source:
    for number, some in enumerate(SHARDS):
        rows = zip(KEYS[some], SCORES[some].tolist(), TRUTH[some].tolist(), strict=True)
        lines = [json.dumps({"id": key, "p": p, "y": y}) + "\n" for key, p, y in rows]
        (folder / f"{number}.jsonl").write_text("".join(lines))
    return open_scores(folder, Wanted(truth="y", key="id"))


def csv_shards(folder: Path) -> Source:
    for number, some in enumerate(SHARDS):
        rows = zip(KEYS[some], SCORES[some].tolist(), TRUTH[some].tolist(), strict=True)
        lines = [",".join(map(str, (key, *p, *y))) + "\n" for key, p, y in rows]
        header = ",".join(["id", *(f"y_score_{name}" for name in NAMES), *(f"y_true_{name}" for name in NAMES)])
        (folder / f"{number}.csv").write_text(header + "\n" + "".join(lines))
    return open_scores(folder, Wanted(key="id"))


IN_PARTS: dict[Make, int] = {parquet: 8, shards: 3, dataset: 3, json_shards: 3, csv_shards: 3}


@pytest.mark.parametrize("make", IN_PARTS)
def test_parts_are_all_rows_in_order_and_small_when_pickled(tmp_path: Path, make: Make) -> None:
    source = make(tmp_path)
    pickles = [pickle.dumps(part) for part in source.parts()]
    assert len(pickles) == IN_PARTS[make]
    assert max(map(len, pickles)) < 5_000
    parts = [pickle.loads(pickled) for pickled in pickles]
    rows = [rows_of(part) for part in parts]
    assert list(chain(*rows)) == rows_of(source)
    assert [row[2] for row in rows_of(source)] == KEYS

    # The number of the first row is known where that takes no reading.
    starts = np.cumsum([0, *map(len, rows)])[:-1].tolist()
    is_text = source.n_samples is None
    assert [part.first_row for part in parts] == ([0, None, None] if is_text else starts)


def test_another_process_reads_a_part(tmp_path: Path) -> None:
    source = parquet(tmp_path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        rows = pool.map(rows_of, source.parts())
    assert list(chain(*rows)) == rows_of(source)


@pytest.mark.parametrize(
    ("make", "named"), [(parquet, r"of s\.parquet .*at row 40"), (shards, r"of 2\.parquet .*at row 14")]
)
def test_what_is_bad_is_named_by_its_row_in_the_file(tmp_path: Path, make: Any, named: str) -> None:
    source = make(tmp_path, [*SCORES[:40], SCORES[40, :2], *SCORES[41:]])
    (part,) = (part for part in source.parts() if KEYS[40] in part.keys().tolist())
    for bad in (source, part):
        with pytest.raises(InputError, match=named):
            rows_of(bad)


def test_a_damaged_shard_is_named_and_others_are_read(tmp_path: Path) -> None:
    parts = shards(tmp_path).parts()
    (tmp_path / "2.parquet").write_bytes(b"PAR1 is damaged")
    assert len(rows_of(parts[1])) == 6
    with pytest.raises(InputError, match=r"2\.parquet cannot be read"):
        rows_of(parts[2])


def npz(folder: Path) -> Source:
    np.savez(folder / "s.npz", y_score=SCORES, y_true=TRUTH, id=KEYS)
    return open_scores(folder / "s.npz", Wanted(key="id"))


def npy(folder: Path) -> Source:
    np.save(folder / "s.npy", SCORES)
    np.save(folder / "t.npy", TRUTH)
    return open_scores(folder / "s.npy", truth_path=folder / "t.npy")


def joined(folder: Path) -> Source:
    np.savez(folder / "t.npz", y_true=TRUTH[::-1], id=KEYS[::-1], label_names=NAMES)
    parquet(folder)
    return open_scores(folder / "s.parquet", WANTED, truth_path=folder / "t.npz")


def logits(folder: Path) -> Source:
    np.savez(folder / "s.npz", y_score=8 * SCORES - 4, y_true=TRUTH)
    return open_scores(folder / "s.npz", logits=True)


@pytest.mark.parametrize("make", [npz, npy, joined, logits])
def test_all_else_is_one_part(tmp_path: Path, make: Make) -> None:
    source = make(tmp_path)
    assert source.parts() == [source]
    assert len(rows_of(source)) == N_ROWS
