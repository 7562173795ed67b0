"""Mutated csv, parquet and datasets through every command; names that lead out of a dataset; rows without end."""

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.bad_inputs import fuzz
from thresholds import InputError
from thresholds.files import gather, open_scores

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MEBI = 2**20
_POOLS = list[Any]()  # kept until the end: what was taken of one is given back to it


@pytest.mark.parametrize("part", range(3))
def test_mutated_files_are_refused_or_read(part: int) -> None:
    assert fuzz.said_of("mutants.arrow_cases()", 60, 60 * part) is None


def test_no_bit_of_a_footer_ends_the_process(tmp_path: Path) -> None:
    """There pyarrow ends it over some bits of what is said of a column, if that is asked for; each fifth is tried."""
    columns = {"y_score": [[0.5, 0.25], [0.75, 0.5]], "y_true": [[0], [1]]}
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream, store_schema=False, write_statistics=False)
    (tmp_path / "s.parquet").write_bytes(stream.getvalue())
    done = subprocess.run(
        [sys.executable, "-c", _EACH_BIT, tmp_path / "s.parquet"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"the bit {done.stdout.split()[-1]} ended the process: {done.stderr}"
    assert len(done.stdout.split()) > 500


_EACH_BIT = """
import sys
from pathlib import Path
from thresholds import InputError
from thresholds.files import gather, open_scores

path = Path(sys.argv[1])
content = path.read_bytes()
footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
for bit in range(8 * footer, 8 * (len(content) - 8), 5):
    print(bit, flush=True)
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    path.write_bytes(changed)
    try:
        source = open_scores(path)
        source.parts()
        gather(source)
    except InputError:
        pass
"""


def dataset(folder: Path, name: object) -> Path:
    """A dataset of one file, which `state.json` names."""
    table = pa.table({"y_score": pa.array([[0.5, 0.25]]), "y_true": pa.array([[1, 0]])})
    (folder / "d" / "sub").mkdir(parents=True)
    for path in ("d/data.arrow", "d/sub/data.arrow", "secret.arrow"):
        with pa.ipc.new_stream(folder / path, table.schema) as writer:
            writer.write_table(table)
    (folder / "d" / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    return folder / "d"


@pytest.mark.parametrize(
    "name", ["../secret.arrow", "sub/data.arrow", "{}/secret.arrow", "..\\secret.arrow", "..", 1, None]
)
def test_a_dataset_is_read_from_its_own_folder(name: object, tmp_path: Path) -> None:
    found = dataset(tmp_path, name.format(tmp_path) if isinstance(name, str) else name)
    with pytest.raises(InputError, match=r"state.json of d names .*, expected files of its own folder"):
        open_scores(found)


@pytest.mark.parametrize("parts", [[{}], ["data.arrow"], {"filename": "data.arrow"}, 3], ids=str)
def test_a_state_of_another_form_is_refused(parts: object, tmp_path: Path) -> None:
    found = dataset(tmp_path, "data.arrow")
    (found / "state.json").write_text(json.dumps({"_data_files": parts}))
    with pytest.raises(InputError, match=r"state.json"):
        open_scores(found)


def test_links_of_a_dataset_are_followed(tmp_path: Path) -> None:
    """As in the cache of Hugging Face's hub, where files are links."""
    found = dataset(tmp_path, "data.arrow")
    (found / "data.arrow").unlink()
    (found / "data.arrow").symlink_to(tmp_path / "secret.arrow")
    np.testing.assert_array_equal(gather(open_scores(found)).y_score, [[0.5, 0.25]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a,b\n" + b"1" * (2**24 + 1), "has a line of more than 16,777,216 bytes"),
        (b"," * 2**16 + b"\n", "has 65,537 columns, expected at most 65,536, or lists"),
    ],
    ids=["a row", "a header"],
)
def test_rows_without_end_are_refused(text: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(text))
    with pytest.raises(InputError, match=said):
        open_scores(tmp_path / "s.csv.gz")


@contextmanager
def counted() -> Iterator[Any]:
    """A pool that knows how much pyarrow took of it."""
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(usual)


def compressed(folder: Path, **columns: Any) -> Path:
    """A dataset of an empty batch and a compressed one."""
    batch = pa.record_batch(columns)
    empty = batch.slice(0, 0)
    folder.mkdir()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(folder / "a.arrow", batch.schema, options=options) as writer:
        writer.write_batch(empty)
        writer.write_batch(batch)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    return folder


def equal_lists(n_rows: int, length: int) -> Any:
    """Lists of equal values, which take next to nothing in a file."""
    return pa.ListArray.from_arrays(np.arange(n_rows + 1, dtype=np.int32) * length, np.zeros(n_rows * length, "f4"))


def test_one_row_tells_the_number_of_labels(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"y_score": equal_lists(6_000, 1_000)}), tmp_path / "s.parquet")  # 24 MB
    with counted() as pool:
        assert open_scores(tmp_path / "s.parquet").n_labels == 1_000
    assert pool.max_memory() < 8 * MEBI


def test_rows_of_parquet_are_read_by_the_length_of_their_lists(tmp_path: Path) -> None:
    columns = {
        "y_score": equal_lists(20_000, 2),
        "y_true": pa.array(equal_lists(20_000, 1_000).cast(pa.list_(pa.int32()))),
    }
    parquet.write_table(pa.table(columns), tmp_path / "s.parquet")  # 80 MB
    with counted() as pool:
        source = open_scores(tmp_path / "s.parquet")
        with pytest.raises(InputError, match="y_true"):
            list(source.blocks())
    assert pool.max_memory() < 64 * MEBI


def test_lists_of_parquet_that_grow_long_behind_the_first_are_read_few_at_once(tmp_path: Path) -> None:
    lengths = np.append(0, np.full(39_999, 500))
    starts = np.append(0, np.cumsum(lengths)).astype(np.int32)
    long = pa.ListArray.from_arrays(starts, np.zeros(starts[-1], np.int32))
    table = pa.table({"y_score": equal_lists(40_000, 2), "y_true": long})
    parquet.write_table(table, tmp_path / "s.parquet")  # 80 MB
    with counted() as pool:
        source = open_scores(tmp_path / "s.parquet")
        with pytest.raises(InputError, match="y_true"):
            list(source.blocks())
    assert pool.max_memory() < 32 * MEBI


def test_columns_of_a_dataset_that_are_left_out_are_not_unpacked(tmp_path: Path) -> None:
    blob = pa.array([bytes(2**24)] * 2)
    path = compressed(tmp_path / "d", blob=blob, y_score=[[0.5, 0.25], [0.75, 0.5]], y_true=[[0], [1]], last=blob)
    with counted() as pool:
        source = open_scores(path)
        assert source.n_samples == 2
        assert gather(source).y_score.tolist() == [[0.5, 0.25], [0.75, 0.5]]
    assert pool.max_memory() < MEBI


def test_lists_that_share_their_values_are_refused_before_they_are_laid_end_to_end(tmp_path: Path) -> None:
    n_rows, length = 200, 50_000
    starts, sizes = (pa.array(np.full(n_rows, value, np.int32)) for value in (0, length))
    shared = pa.ListViewArray.from_arrays(starts, sizes, pa.array(np.zeros(length, np.int64)))
    path = compressed(tmp_path / "d", y_score=equal_lists(n_rows, 2), y_true=shared)
    with (
        counted() as pool,
        pytest.raises(InputError, match=r"d cannot be read: a block of its lists has 10,000,000 values, of which 50"),
    ):
        gather(open_scores(path))
    assert pool.max_memory() < 8 * MEBI
