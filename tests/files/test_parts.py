"""Parts of a source: consecutive rows that another process can read, and that together are all of them."""

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thresholds import InputError
from thresholds.files import Source, Wanted, open_scores

N_ROWS, NAMES = 50, ("cat", "dog", "emu")
RNG = np.random.default_rng(4)
SCORES = RNG.random((N_ROWS, 3)).astype(np.float32)
TRUTH = (RNG.random((N_ROWS, 3)) < 0.4).astype(np.uint8)
KEYS = np.array([f"k{row:02}" for row in range(N_ROWS)])
Cells = tuple[Any, Any, Any, Any]


def dense(matrix: Any) -> Any:
    """A matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def rows_of(source: Source) -> list[Cells]:
    """What is known of each row of a source."""
    rows = list[Cells]()
    for block in source.blocks():
        filled: list[Any] = [[None] * block.y_score.shape[0] if part is None else dense(part) for part in block]
        for scores, truth, group, key, _ in zip(*filled, strict=True):
            known = None if truth is None else tuple(map(int, truth))
            rows.append((tuple(map(float, scores)), known, group, key))
    return rows


def in_parts(source: Source, n_cells: int) -> tuple[list[Source], list[Cells]]:
    """The parts of a source, pickled and back, and what is known of each of their rows."""
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts(n_cells)]
    return parts, [row for part in parts for row in rows_of(part)]


def csr(key: str, matrix: Any) -> dict[str, Any]:
    """The four arrays of a CSR matrix."""
    stored = sparse.csr_array(matrix)
    return {f"{key}_{part}": np.asarray(getattr(stored, part)) for part in ("data", "indices", "indptr", "shape")}


def npz(folder: Path) -> Source:
    path = folder / "s.npz"
    np.savez(path, y_score=SCORES, y_true=TRUTH, id=KEYS, who=np.arange(N_ROWS))
    return open_scores(path, Wanted(key="id", groups="who"))


def sparse_npz(folder: Path) -> Source:
    np.savez(folder / "s.npz", **csr("y_score", SCORES * (SCORES > 0.5)), **csr("y_true", TRUTH))
    return open_scores(folder / "s.npz")


def npz_with_packed_truth(folder: Path) -> Source:
    np.savez(folder / "s.npz", y_score=SCORES)
    np.savez_compressed(folder / "t.npz", y_true=TRUTH)
    return open_scores(folder / "s.npz", truth_path=folder / "t.npz")


def npy(folder: Path) -> Source:
    np.save(folder / "s.npy", SCORES)
    np.save(folder / "t.npy", TRUTH)
    return open_scores(folder / "s.npy", truth_path=folder / "t.npy")


def joined_by_key(folder: Path) -> Source:
    np.savez(folder / "s.npz", y_score=SCORES, id=KEYS)
    np.savez(folder / "t.npz", y_true=TRUTH[::-1], id=KEYS[::-1])
    return open_scores(folder / "s.npz", Wanted(key="id"), truth_path=folder / "t.npz")


def logits(folder: Path) -> Source:
    np.savez(folder / "s.npz", y_score=8 * SCORES - 4, y_true=TRUTH)
    return open_scores(folder / "s.npz", logits=True)


def with_unknown(folder: Path) -> Source:
    np.savez(folder / "s.npz", y_score=SCORES, y_true=np.where(SCORES > 0.9, np.nan, TRUTH))
    return open_scores(folder / "s.npz", Wanted(unknown="nan"))


@pytest.mark.parametrize("make", [npz, sparse_npz, npz_with_packed_truth, npy, joined_by_key, logits, with_unknown])
def test_arrays_are_one_part(tmp_path: Path, make: Callable[[Path], Source]) -> None:
    source = make(tmp_path)
    (part,) = source.parts()
    rows = rows_of(pickle.loads(pickle.dumps(part)))
    assert rows == rows_of(source)
    assert len(rows) == N_ROWS


def test_lines_of_json_are_one_part_for_each_shard(tmp_path: Path) -> None:
    for name, some in (("a", slice(0, 20)), ("b", slice(20, N_ROWS))):
        lines = [{"p": p, "y": y} for p, y in zip(SCORES[some].tolist(), TRUTH[some].tolist(), strict=True)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = open_scores(tmp_path, Wanted(truth="y"))
    parts, rows = in_parts(source, 1)
    assert rows == rows_of(source)
    assert [part.n_samples for part in parts] == [None, None]
    assert [part.first_row for part in parts] == [0, None]


# Arrow's formats


def parquet(folder: Path) -> Source:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    tags = [[name for name, is_true in zip(NAMES, row, strict=True) if is_true] for row in TRUTH.tolist()]
    table = pa.table({"id": KEYS.tolist(), "p": list(SCORES), "tags": tags})
    parquet.write_table(table, folder / "s.parquet", row_group_size=7)
    return open_scores(folder / "s.parquet", Wanted(label_names=NAMES, key="id"))


def shards(folder: Path) -> Source:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for k in range(4):
        some = slice(15 * k, 15 * k + 15)
        columns = {f"y_score_{name}": SCORES[some, j] for j, name in enumerate(NAMES)}
        columns |= {f"y_true_{name}": TRUTH[some, j] for j, name in enumerate(NAMES)}
        (folder / "d").mkdir(exist_ok=True)
        parquet.write_table(pa.table(columns), folder / "d" / f"{k}.parquet", row_group_size=6)
    return open_scores(folder / "d")


@pytest.mark.parametrize("make", [parquet, shards])
@pytest.mark.parametrize("n_cells", [1, 40, 10**6])
def test_parts_of_parquet_are_row_groups(tmp_path: Path, make: Callable[[Path], Source], n_cells: int) -> None:
    source = make(tmp_path)
    parts, rows = in_parts(source, n_cells)
    assert rows == rows_of(source)
    assert [part.first_row for part in parts] == np.cumsum([0, *(part.n_samples or 0 for part in parts)])[:-1].tolist()
    n_shards, n_groups = (4, 3 + 3 + 3 + 1) if make is shards else (1, 8)
    assert len(parts) == {1: n_groups, 40: len(parts), 10**6: n_shards}[n_cells]
    assert n_shards <= len(parts) <= n_groups


def test_a_part_of_shards_refuses_by_the_name_of_its_shard(tmp_path: Path) -> None:
    parts = shards(tmp_path).parts()
    (tmp_path / "d" / "2.parquet").write_bytes(b"PAR1 is damaged")
    assert len(rows_of(parts[1])) == 15
    with pytest.raises(InputError, match=r"2\.parquet cannot be read"):
        rows_of(parts[2])


# Text, in ranges of lines


def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read text so that ranges of lines may be short."""
    monkeypatch.setattr("thresholds.files.lines.PIECE_BYTES", 100)


def json_lines(folder: Path) -> Source:
    rows = zip(KEYS.tolist(), SCORES.tolist(), TRUTH.tolist(), strict=True)
    lines = [json.dumps({"id": key, "p": p, "y": y}) for key, p, y in rows]
    lines[3] += "\r\n \n"
    (folder / "s.jsonl").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    return open_scores(folder / "s.jsonl", Wanted(truth="y", key="id"))


def csv(folder: Path) -> Source:
    pytest.importorskip("pyarrow")
    header = ["id", *(f"y_score_{name}" for name in NAMES), *(f'"y_true_{name}"' for name in NAMES), "note"]
    # A part with nothing but empty, or true and false, cells of its own is read as the first rows are.
    notes = ["" if row > 20 else "true" for row in range(N_ROWS)]
    lines = [
        [key, *map(repr, p), *map(str, y), note]
        for key, p, y, note in zip(KEYS.tolist(), SCORES.tolist(), TRUTH.tolist(), notes, strict=True)
    ]
    text = "\n".join(map(",".join, [header, *lines]))
    (folder / "s.csv").write_bytes(b"\xef\xbb\xbf\r\n" + text.replace("k07", "\r\nk07").encode())
    return open_scores(folder / "s.csv", Wanted(key="id"))


def _refusal(source: Source) -> str:
    """What is said of a file that cannot be read."""
    with pytest.raises(InputError) as refused:
        rows_of(source)
    return str(refused.value)


@pytest.mark.parametrize("make", [json_lines, csv])
def test_parts_of_text_are_ranges_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Source]
) -> None:
    source = make(tmp_path)
    whole = rows_of(source)
    assert [row[3] for row in whole] == KEYS.tolist()
    assert len(source.parts()) == 1
    in_small_pieces(monkeypatch)
    parts, rows = in_parts(source, 15)
    assert rows == whole
    assert 5 <= len(parts) <= 25
    sizes = [part.n_samples or 0 for part in parts]
    assert [part.first_row for part in parts] == np.cumsum([0, *sizes])[:-1].tolist()
    assert all(len(pickle.dumps(part)) < 5_000 for part in parts)

    # What is said of a row has its number in the whole.
    path = next(tmp_path.glob("s.*"))
    text = path.read_bytes()
    bad = b"k49,0.5" if make is csv else b'{"id": "k49", "p": [0.5, 0.5], "y": [0, 0, 1]}'
    path.write_bytes(text[: text.rfind(b"\n") + 1] + bad)
    said = [_refusal(part) for part in (source, parts[-1])]
    assert said[0] == said[1]
    assert re.search(
        r"at row 49, expected 3" if make is json_lines else r"2 cells at row 49 .*, expected 8 as in its header",
        said[0],
    )

    # Other rows than when it was opened are no part of it.
    path.write_bytes(text + text[text.rfind(b"\n") :])
    with pytest.raises(InputError, match=r"expected \d+ as when it was opened"):
        rows_of(parts[-1])


@pytest.mark.parametrize(
    "text",
    [
        "id,a,b\n" + '"x\ny",0.5,0.25\n' * 2,
        'id,"a\nc",b\nx,0.5,0.25\nx,0.5,0.25\n',
        "id,a,b\nx,0.5,0.25\ry,0.5,0.25\nz,0.5,0.25\n",
    ],
)
def test_a_csv_whose_lines_may_be_no_rows_is_one_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "s.csv").write_text(text, newline="")
    in_small_pieces(monkeypatch)
    source = open_scores(tmp_path / "s.csv", Wanted(key="id"))
    assert len(source.parts(1)) == 1
