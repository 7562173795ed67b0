"""Files larger than memory: their rows are kept in temporary files, and commands say and write what they always do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.cli.test_cli import NAMES, make, run
from tests.words import flat
from thresholds._arrays import memory
from thresholds.cli import keeping
from thresholds.data import growing
from thresholds.files import open_scores
from thresholds.sources import folder as folders

N_ROWS = 300


def rows_of(folder: Path, kind: str) -> Path:
    """Write 300 rows and 4 labels in some format."""
    rng = np.random.default_rng(5)
    truth = (rng.random((N_ROWS, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(np.uint8)
    scores = (rng.random((N_ROWS, 4)) * 0.6 + 0.4 * truth).astype(np.float32)
    path = folder / f"rows.{kind}"
    if kind == "npz":
        np.savez_compressed(path, y_true=truth, y_score=scores, label_names=NAMES)
        return path
    lines = [
        {"y_score": {n: float(s) for n, s in zip(NAMES, row, strict=True)}, "y_true": cells.tolist()}
        for row, cells in zip(scores, truth, strict=True)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Let so many bytes of memory be left, and a folder take so many."""

    def leave(n_bytes: int, room: int = 10**9) -> None:
        monkeypatch.setattr(memory, "memory_left", lambda: n_bytes)
        folder = folders.Folder("/tmp", room)
        monkeypatch.setattr(folders.Folder, "of", lambda _: folder)

    return leave


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the folders in which rows are kept."""
    folders: list[str] = []
    made = growing.Gathered.__init__

    def noted(gathered: Any, name: str, spill: Any = None, **options: Any) -> None:
        if spill is not None:
            folders.append(name)
        made(gathered, name, spill, **options)

    monkeypatch.setattr(growing.Gathered, "__init__", noted)
    return folders


def done(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    """Run a command that must succeed; give what it prints, and what it says on stderr."""
    assert run(*arguments) == 0
    out, err = capsys.readouterr()
    return out, err


COMMANDS = [
    ["fit", "FILE", "-o", "OUT"],
    ["fit", "FILE", "--average", "micro", "--cv", "0", "-o", "OUT"],
    ["fit", "FILE", "--expected", "-o", "OUT"],
    ["fit", "FILE", "--best", "macro", "-o", "OUT"],
    ["diagnose", "FILE", "--rule", "RULE"],
    ["diagnose", "FILE"],
    ["compare", "FILE", "--rule", "RULE", "--rule", "OTHER"],
    ["compare", "FILE"],
    ["update", "RULE", "FILE", "-o", "OUT"],
    ["annotate", "FILE", "--rule", "OTHER"],
    ["diff", "RULE", "OTHER", "FILE"],
]


@pytest.mark.each_value
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", ["npz", "jsonl"])
def test_commands_say_the_same_where_rows_are_kept_in_files(
    kind: str,
    command: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    little_memory: Callable[..., None],
    in_files: list[str],
) -> None:
    path = rows_of(tmp_path, kind)
    places = {"FILE": path, "OUT": tmp_path / "out.json", "RULE": tmp_path / "rule.json", "OTHER": tmp_path / "b.json"}
    done(capsys, "fit", make(tmp_path / "others.npz"), "--cv", "0", "-o", places["RULE"])
    done(capsys, "fit", path, "--average", "micro", "--cv", "0", "-o", places["OTHER"])
    arguments = [places.get(word, word) for word in command]
    usual = done(capsys, *arguments)
    written = places["OUT"].read_text() if "OUT" in command else ""
    assert not in_files

    # Rows and half of them are much.
    little_memory(2000)
    found = done(capsys, *arguments)
    assert found[0] == usual[0]
    assert flat(found[1]).startswith(f"thresholds: note: {path.name} takes about ")
    assert "more than half of the 2e-06 GB that are left: its rows are kept in temporary files in /tmp" in flat(
        found[1]
    )
    assert {"y_score", "y_true"} <= set(in_files)
    if "OUT" in command:
        assert places["OUT"].read_text() == written


def test_rows_that_the_file_names_are_copied_to_files_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], little_memory: Callable[..., None], in_files: list[str]
) -> None:
    """The file is not compressed, and so is mapped: only a part of its rows has to be put somewhere."""
    path = make(tmp_path / "s.npz")
    usual = done(capsys, "compare", path)
    little_memory(100)
    assert done(capsys, "compare", path) == usual
    assert in_files == ["rows"] * 4


@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")  # Names are given to other labels.
def test_labels_in_another_order_are_put_in_order_in_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], little_memory: Callable[..., None], in_files: list[str]
) -> None:
    path, rule = rows_of(tmp_path, "jsonl"), tmp_path / "rule.json"
    other = make(tmp_path / "other.npz", label_names=NAMES[[2, 0, 3, 1]])
    done(capsys, "fit", other, "-o", rule)
    usual, _ = done(capsys, "diagnose", path, "--rule", rule)
    little_memory(2000)
    found, _ = done(capsys, "diagnose", path, "--rule", rule)
    assert found == usual
    assert "rows" in in_files


# Choosing


@pytest.mark.parametrize("left", [10**6, None])
def test_small_files_are_kept_in_memory_and_nothing_is_said(
    left: int | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    in_files: list[str],
) -> None:
    path = rows_of(tmp_path, "npz")
    monkeypatch.setattr(memory, "memory_left", lambda: left)
    _, err = done(capsys, "fit", path, "-o", tmp_path / "rule.json")
    assert err == ""
    assert not in_files


def test_more_than_half_of_the_memory_is_kept_in_memory_if_no_disk_has_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], little_memory: Callable[..., None], in_files: list[str]
) -> None:
    path = rows_of(tmp_path, "npz")
    little_memory(8000, 1000)  # the rows take 6,000 bytes
    _, err = done(capsys, "fit", path, "--cv", "0", "-o", tmp_path / "rule.json")
    assert err == ""
    assert not in_files


def test_what_fits_nowhere_is_refused_with_what_is_needed_and_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], little_memory: Callable[..., None]
) -> None:
    path = rows_of(tmp_path, "npz")
    little_memory(4000, 1000)
    assert run("fit", path, "-o", tmp_path / "rule.json") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "thresholds: error: rows.npz takes about 6e-06 GB of memory, of which 4e-06 GB are left, and temporary files"
        " may take 1e-06 GB; expected more memory, --spill FOLDER on a disk with room, or --spill none to try it all"
        " the same\n"
    )
    assert not (tmp_path / "rule.json").exists()


def test_sparse_rows_are_kept_in_memory_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], little_memory: Callable[..., None], in_files: list[str]
) -> None:
    scores = sparse.random_array((N_ROWS, 4), density=0.5, format="csr", rng=np.random.default_rng(0))
    parts = {f"y_score_{part}": getattr(scores, part) for part in ("data", "indices", "indptr", "shape")}
    truth = np.random.default_rng(1).integers(0, 2, (N_ROWS, 4))
    np.savez_compressed(tmp_path / "s.npz", y_true=truth, **parts)
    arguments = ["fit", tmp_path / "s.npz", "--cv", "0", "-o", tmp_path / "rule.json"]
    little_memory(20_000)
    assert done(capsys, *arguments)[1] == ""
    little_memory(5_000)
    assert run(*arguments) == 1
    assert "sparse scores are kept nowhere else" in capsys.readouterr().err
    assert not in_files


@pytest.mark.parametrize("spill", ["none", "FOLDER"])
def test_where_rows_are_kept_can_be_said(
    spill: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    little_memory: Callable[..., None],
    in_files: list[str],
) -> None:
    path = rows_of(tmp_path, "npz")
    little_memory(4000, 1000)
    where = tmp_path if spill == "FOLDER" else spill
    _, err = done(capsys, "fit", path, "--cv", "0", "--spill", where, "-o", tmp_path / "rule.json")
    assert err == ""
    assert in_files == (["y_score", "y_true"] if spill == "FOLDER" else [])


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows_of(tmp_path, "npz")
    assert run("fit", path, "--spill", tmp_path / "no", "-o", tmp_path / "rule.json") == 1
    assert "expected a folder that exists, 'auto', or 'none' to keep rows in memory" in capsys.readouterr().err


def test_a_full_disk_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    little_memory: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = rows_of(tmp_path, "npz")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(growing.GrowingVector, "_put", full)
    assert run("fit", path, "--spill", tmp_path, "-o", tmp_path / "rule.json") == 1
    _, err = capsys.readouterr()
    assert err == (
        f"thresholds: error: {tmp_path} takes no more rows: No space left on device; expected --spill FOLDER on a disk"
        " with room\n"
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rows.npz"]


# Estimates


@pytest.mark.parametrize("kind", ["npz", "jsonl"])
def test_sizes_are_estimated(kind: str, tmp_path: Path) -> None:
    path = rows_of(tmp_path, kind)
    source = open_scores(path)
    size, _ = keeping.size_of(source, str(path), enough=0)
    if source.n_samples is None:
        assert size == path.stat().st_size
    else:
        assert size == N_ROWS * 4 * (source.whole() or next(iter(source.blocks()))).y_score.itemsize + N_ROWS * 4
        assert keeping.size_of(source, str(path), enough=1e9)[0] == N_ROWS * 4 * 16


def test_shards_and_packed_text_are_added_up(tmp_path: Path) -> None:
    text = rows_of(tmp_path, "jsonl").read_text()
    folder = tmp_path / "shards"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.jsonl").write_text(text)
    size, _ = keeping.size_of(open_scores(folder), str(folder), enough=0)
    assert size == 3 * len(text)
