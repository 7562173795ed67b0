"""Rows that take long to decode are written once, where there is room, and nothing is left behind."""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.chunks.sources import Blocks, draw, in_any_order
from tests.chunks.test_fit_chunks import assert_same, expected
from thresholds import InputError, fit_chunks
from thresholds.chunks import spilling
from thresholds.chunks.sources import BlockSource, OpenedFile, Rows
from thresholds.data import growing

ROWS = draw(np.random.default_rng(0), "dense", 500)


class Counted:
    """A source that counts how often it is read."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Iterator[Any]:
        """Read it."""
        self.times += 1
        return Blocks(ROWS.of(slice(None)), 50)()


def test_what_is_spilled_is_decoded_once() -> None:
    source = Counted()
    assert_same(fit_chunks(source), expected(ROWS))
    assert source.times == 1
    fit_chunks(source, spill=None)
    assert source.times > 2


def test_a_map_of_another_engine_spills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.chunks.fitting.spilled", lambda *_, **__: pytest.fail("spilled"))
    fit_chunks(Counted(), map=in_any_order)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def interrupted() -> Iterator[Any]:
        yield from Blocks(ROWS.of(slice(None)), 50)()
        seen.append(os.listdir(tmp_path))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_chunks(interrupted, spill=tmp_path)
    assert os.listdir(tmp_path) == []
    assert_same(fit_chunks(Counted(), spill=tmp_path), expected(ROWS))
    assert os.listdir(tmp_path) == []
    if os.name == "posix":
        assert seen == [[]]  # not even a name, while it runs


def test_what_a_source_raises_passes_with_a_note(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield ROWS.of(slice(0, 3))
        raise OSError(errno.ENOSPC, "the disk of the source is full")

    for source, where in ((broken, ""), ([Blocks(ROWS.of(slice(None)), 50), broken], "in shard 1, ")):
        with pytest.raises(OSError, match="the disk of the source is full") as raised:
            fit_chunks(source, spill=tmp_path)
        assert raised.value.__notes__ == [f"raised {where}in the block that begins at row 3"]


def test_a_disk_that_fills_up_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = growing._Growing._put
    calls = []

    def full(self: Any, piece: Any) -> int:
        calls.append(1)
        if len(calls) > 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(self, piece)

    monkeypatch.setattr(growing._Growing, "_put", full)
    with pytest.raises(InputError, match=r"^spill is .*, which takes no more after 150 rows \(No space left"):
        fit_chunks(Counted(), spill=tmp_path)
    assert os.listdir(tmp_path) == []
    # Where nobody asked for a folder, the source is read again.
    calls.clear()
    source = Counted()
    assert_same(fit_chunks(source), expected(ROWS))
    assert source.times > 2


def test_what_cannot_fit_is_refused_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = spilling.Folder(str(tmp_path), 1000, is_asked_for=True)
    source = BlockSource([Blocks(ROWS.of(slice(None)), 10)], n_rows=500)
    about: dict[str, Any] = {"missing": 0.0, "unknown": None, "label_names": None, "n_jobs": None}
    with pytest.raises(InputError, match="too little after 10 rows for"):
        spilling.spilled(source, folder, **about)
    unasked = spilling.Folder(str(tmp_path), 1000, is_asked_for=False)
    assert spilling.spilled(source, unasked, **about) is None


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_are_decoded_while_the_rows_before_are_written(
    n_jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread where there may be two; what it meets is said as if there were one."""
    readers = set()
    read = OpenedFile.__call__

    def watched(self: OpenedFile) -> Iterator[Rows]:
        for block in read(self):
            readers.add(threading.get_ident())
            yield block

    monkeypatch.setattr(OpenedFile, "__call__", watched)
    paths = [tmp_path / f"{number}.npz" for number in range(4)]
    for path, truth, scores in zip(paths, *(np.array_split(part, 4) for part in ROWS.of(slice(None))), strict=True):
        np.savez_compressed(path, y_true=truth, y_score=scores)
    assert_same(fit_chunks(paths, n_jobs=n_jobs), expected(ROWS))
    assert (readers == {threading.get_ident()}) == (n_jobs == 1)
    n_threads = threading.active_count()
    np.savez_compressed(paths[2], y_true=truth, y_score=np.full(scores.shape, np.nan, scores.dtype))
    with pytest.raises(InputError, match=r"y_score has .*NaN.* \(in the block of 2.npz that begins at row 0\)"):
        fit_chunks(paths, n_jobs=n_jobs)
    assert threading.active_count() == n_threads


def test_an_array_that_a_source_fills_again_is_written_before(tmp_path: Path) -> None:
    """Blocks of a caller are made by the thread that asks for them, one after another."""

    def refilled() -> Iterator[Any]:
        truth, scores = (np.empty_like(part[:1]) for part in (ROWS.y_true, ROWS.y_score))
        for row in range(ROWS.n):
            assert threading.current_thread() is threading.main_thread()
            truth[0], scores[0] = ROWS.y_true[row], ROWS.y_score[row]
            yield truth, scores

    assert_same(fit_chunks(refilled, spill=tmp_path), expected(ROWS))


def test_folders_in_memory_are_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n")
    monkeypatch.setattr(spilling, "_MOUNTS", mounts)
    assert spilling.file_system(str(tmp_path / "deeper")) == "tmpfs"
    assert spilling.file_system("/usr") == "ext4"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = spilling.Folder.of("auto")
    assert found is None or found.path == "/var/tmp"
    asked = spilling.Folder.of(tmp_path)
    assert asked is not None
    assert asked.path == str(tmp_path)  # whoever asks for it gets it
    monkeypatch.setattr(spilling, "_MOUNTS", tmp_path / "nowhere")
    assert spilling.file_system("/") is None
