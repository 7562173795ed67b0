"""`gather` reads every block once, keeps what it was given, refuses what does not go together, and leaves nothing."""

import errno
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import thresholds
from tests.sources.drawn import Blocks, OnlySlices, draw, memory_maps, packed, unpacked
from thresholds import InputError, gather
from thresholds.data import growing
from thresholds.files import opening
from thresholds.sources import folder as folders
from thresholds.sources import gathering
from thresholds.sources.gathering import GatheredRows
from thresholds.sources.shards import FilePart, blocks_of
from thresholds.sources.source import BlockSource

ROWS = draw(np.random.default_rng(0), "dense", 500)
Y, S = ROWS.parts
Source = Callable[[], Iterator[Any]]


@pytest.fixture
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have few rows kept in temporary files, as many are."""
    monkeypatch.setattr(gathering, "_SMALL", 0)


class Counted:
    """A source that counts how often it is read."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Iterator[Any]:
        """Read it."""
        self.times += 1
        return Blocks(ROWS.parts, 50)()


def assert_all(rows: GatheredRows) -> None:
    """Hold rows against those that were given."""
    np.testing.assert_array_equal(rows.y_true, Y)
    np.testing.assert_array_equal(rows.y_score, S)
    assert rows.y_score.dtype == S.dtype


# What comes back


def test_rows_are_read_once_and_are_a_source_themselves(tmp_path: Path) -> None:
    source = Counted()
    rows = gather(source, spill=tmp_path)
    assert_all(rows)
    thresholds.fit_empirical(rows)
    assert gather(rows) is rows
    assert source.times == 1
    assert len(rows) == 500


def test_arrays_stay_where_they_are(tmp_path: Path) -> None:
    for source in (
        ROWS.parts,
        memory_maps(ROWS, tmp_path),
        (Y.tolist(), S.tolist()),
        pd.DataFrame(Y).pipe(lambda y: (y, S)),
    ):
        rows = gather(source)
        assert rows.y_true is source[0]
        assert rows.y_score is source[1]
    mapped = gather(unpacked(ROWS, tmp_path))
    assert isinstance(mapped.y_score.base, np.memmap) or isinstance(mapped.y_score, np.memmap)


@pytest.mark.usefixtures("in_files")
def test_many_rows_are_mapped_and_few_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(gather(Counted(), spill=tmp_path).y_score, np.memmap)
    assert isinstance(gather(Counted()).y_score, np.memmap)
    assert not isinstance(gather(Counted(), spill=None).y_score, np.memmap)
    monkeypatch.undo()
    assert not isinstance(gather(Counted(), spill=tmp_path).y_score, np.memmap)


def test_rows_move_to_files_once_they_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "_SMALL", 1000)
    weights = np.random.default_rng(1).random(500)
    rows = gather(Blocks((*ROWS.parts, weights), 30), spill=tmp_path)
    assert isinstance(rows.y_score, np.memmap)
    assert_all(rows)
    np.testing.assert_array_equal(rows.sample_weight, weights)


def test_arrays_cannot_be_written_to(tmp_path: Path) -> None:
    for spill in (None, tmp_path):
        with pytest.raises(ValueError, match="read-only"):
            gather(Counted(), spill=spill).y_true[0] = 1


@pytest.mark.usefixtures("in_files")
def test_weights_and_groups_come_with_the_rows() -> None:
    def blocks() -> Iterator[Any]:
        yield {"y_true": Y[:100], "y_score": S[:100], "groups": ["a"] * 100}
        yield {"y_true": Y[100:], "y_score": S[100:], "groups": ["bc"] * 400, "sample_weight": np.full(400, 2)}

    rows = gather(blocks)
    assert rows.sample_weight.tolist() == [1] * 100 + [2] * 400
    assert rows.groups.tolist() == ["a"] * 100 + ["bc"] * 400
    assert repr(rows).endswith("scores, with sample_weight, with groups)")


def test_truth_may_be_absent() -> None:
    rows = gather(lambda: [(None, S[:100]), {"y_score": S[100:]}])
    assert rows.y_true is None
    np.testing.assert_array_equal(rows.y_score, S)


def test_an_array_that_a_source_fills_again_is_copied_before() -> None:
    """Blocks of a caller are made by the thread that asks for them, one after another."""

    def refilled() -> Iterator[Any]:
        truth, scores = (np.empty_like(part[:1]) for part in ROWS.parts)
        for row in range(ROWS.n):
            assert threading.current_thread() is threading.main_thread()
            truth[0], scores[0] = Y[row], S[row]
            yield truth, scores

    assert_all(gather(refilled))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_files_are_decoded_while_the_rows_before_are_written(
    n_jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread where there may be two; what it meets is said as if there were one."""
    readers = set()
    read = FilePart.__call__

    def watched(self: FilePart) -> Iterator[Any]:
        for block in read(self):
            readers.add(threading.get_ident())
            yield block

    monkeypatch.setattr(FilePart, "__call__", watched)
    paths = [tmp_path / f"{number}.npz" for number in range(4)]
    for path, truth, scores in zip(paths, *(np.array_split(part, 4) for part in ROWS.parts), strict=True):
        np.savez_compressed(path, y_true=truth, y_score=scores)
    assert_all(gather(paths, n_jobs=n_jobs))
    assert (readers == {threading.get_ident()}) == (n_jobs == 1)
    n_threads = threading.active_count()
    np.savez_compressed(paths[2], y_true=truth, y_score=np.full(scores.shape, np.nan))
    with pytest.raises(InputError, match=r"y_score has .*NaN.* \(in the block of 2.npz that begins at row 0\)"):
        gather(paths, n_jobs=n_jobs)
    assert threading.active_count() == n_threads


def test_each_of_several_files_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        packed(ROWS, tmp_path).rename(tmp_path / f"{number}.npz")
    files = sorted(tmp_path.iterdir())
    opened: list[Any] = []

    def open_scores(path: Any, wanted: Any) -> Any:
        opened.append(path)
        return opening.open_scores(path, wanted)

    monkeypatch.setattr("thresholds.sources.source.open_scores", open_scores)
    assert BlockSource.of(files).n_rows == 1500
    assert opened == files


@pytest.mark.parametrize("unknown", ["nan", -1, -9])
def test_a_file_of_truth_that_is_unknown_in_part(unknown: object, tmp_path: Path) -> None:
    rows = draw(np.random.default_rng(6), "unknown", 300)
    stands_for = np.nan if unknown == "nan" else unknown
    np.savez(tmp_path / "rows.npz", y_true=np.where(rows.y_true == -1, stands_for, rows.y_true), y_score=rows.y_score)
    found = gather(tmp_path / "rows.npz", unknown=unknown)
    assert found.unknown == -1
    np.testing.assert_array_equal(found.y_true, rows.y_true)


def test_a_bar_is_shown_to_those_who_wait(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds._arrays.threads._PATIENCE", -1)
    gather(Counted(), progress=True)
    assert "reading 500 rows" in capsys.readouterr().err


# Shards


def test_shards_hold_all_rows_and_can_be_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.sources.source._BLOCK_CELLS", 200)
    csr = sparse.csr_array(np.where(S > 0, S, 0).astype(np.float32))
    for source in (ROWS.parts, memory_maps(ROWS, tmp_path), (sparse.csr_array(Y), csr)):
        shards = [pickle.dumps(shard) for shard in BlockSource.of(source).shards]
        assert len(shards) == 8
        assert all(len(sent) < (S.nbytes + Y.nbytes) / 2 for sent in shards)  # its own rows alone
        blocks = [block for sent in shards for block in blocks_of(pickle.loads(sent))]
        scores = [block.y_score for block in blocks]
        stacked = np.vstack([part.toarray() if sparse.issparse(part) else part for part in scores])
        expected = source[1].toarray() if sparse.issparse(source[1]) else source[1]
        np.testing.assert_array_equal(stacked, expected)


def test_all_rows_of_an_array_that_gives_slices_are_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.sources.source._BLOCK_CELLS", 200)
    for shard in BlockSource.of(tuple(OnlySlices(part) for part in ROWS.parts)).shards:
        assert all(block.n_rows < 100 for block in blocks_of(shard))


def test_an_iterator_is_known_to_be_read_once() -> None:
    assert BlockSource.of(iter([ROWS.parts])).is_read_once
    assert not BlockSource.of(Counted()).is_read_once


# What is refused


def of(*blocks: object) -> Source:
    """A source of these blocks."""
    return lambda: iter(blocks)


def frame(*names: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A block whose labels have names."""
    return pd.DataFrame(np.eye(2), columns=names), pd.DataFrame(np.eye(2), columns=names)


EYE = np.eye(2)
PAIR = (EYE, EYE)
GROUPED = {"y_true": EYE, "y_score": EYE, "groups": [1, 2]}
BAD: dict[str, tuple[object, str]] = {
    "None": (None, "source is None, expected a pair of arrays"),
    "a number": (7, "source is 7, expected a pair of arrays"),
    "nothing": ([], r"source is \[\], expected a pair of arrays"),
    "an array alone": (EYE, "source is array"),
    "four parts": ((EYE, EYE, None, None), "source is .*, expected a pair of arrays"),
    "functions and numbers": ([of(PAIR), 3], "source is .*, expected a pair of arrays"),
    "a mapping without scores": ({"y_true": EYE}, "source has a block without y_score, expected scores"),
    "arrays of other lengths": ((EYE[1:], EYE), "y_true has 1 rows, expected 2 as y_score has"),
    "no iterator": (lambda: 3, "source has a shard that gives 3, expected a block or an iterator of blocks"),
    "no block": (of(7), "source has 7 for a block, expected"),
    "text": (of("ab"), "source has 'ab' for a block, expected"),
    "an odd key": (of({"y_score": EYE, "labels": 1}), "source has a block with the key 'labels', expected the keys"),
    "no blocks": (of(), "source has no rows, expected at least one"),
    "no rows": (of((EYE[:0], EYE[:0])), "source has no rows, expected at least one"),
    "other widths": (of(PAIR, (EYE[:, 1:], EYE[:, 1:])), "y_score has 1 labels, expected 2 as in the rows before"),
    "other dtypes": (of(PAIR, (EYE, np.float32(EYE))), "y_score has dtype float32, expected float64"),
    "sparse after dense": (of(PAIR, (EYE, sparse.csr_array(EYE))), "y_score is sparse, expected dense"),
    "other names": (of(frame("a", "b"), frame("a", "c")), r"(y_score|label_names) .*'c'"),
    "NaN": (of(PAIR, (EYE, EYE * np.nan)), "y_score has NaN at row 0"),
    "truth of 2": (of(PAIR, (EYE * 2, EYE)), "y_true has 2"),
    "no truth after some": (of(PAIR, (None, EYE)), "y_true is absent, expected some as in the rows before"),
    "truth after none": (of((None, EYE), PAIR), "y_true is given, expected none as in the rows before"),
    "more truth than scores": (of((EYE, EYE[1:])), "y_score has shape .*, expected .*as y_true has"),
    "a weight below 0": (of((*PAIR, [1, -1])), "sample_weight has -1"),
    "no groups after some": (of(GROUPED, PAIR), "groups is absent, expected some as in the rows before"),
    "groups for fewer rows": (of({**GROUPED, "groups": [1]}), r"groups has shape \(1,\), expected 2 names or numbers"),
    "names after numbers": (of(GROUPED, {**GROUPED, "groups": ["1", "2"]}), "groups has dtype <U1, expected int64"),
}


@pytest.mark.usefixtures("in_files")
@pytest.mark.parametrize("what", BAD)
def test_what_does_not_go_together_is_refused_in_one_sentence(what: str, tmp_path: Path) -> None:
    source, message = BAD[what]
    for spill in (None, tmp_path):
        with pytest.raises(InputError, match=f"^{message}"):
            gather(source, spill=spill)
    assert os.listdir(tmp_path) == []


def test_it_is_said_where_a_block_begins() -> None:
    bad = (EYE, EYE * np.nan)
    with pytest.raises(InputError, match=r"\(in the block that begins at row 2\)$"):
        gather(of(PAIR, bad))
    with pytest.raises(InputError, match=r"\(in shard 1, in the block that begins at row 4\)$"):
        gather([of(PAIR), of(PAIR, PAIR, bad)])


@pytest.mark.parametrize("spill", [os.devnull, 3, True, np.zeros(2)])
def test_a_folder_has_to_exist(spill: Any) -> None:
    for source in (of(PAIR), PAIR, gather(PAIR)):
        with pytest.raises(InputError, match=r"^spill is .*, expected a folder that exists, 'auto', or None for none$"):
            gather(source, spill=spill)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"progress": "x"}, "progress is 'x', expected True or False"),
        ({"progress": np.zeros(2)}, r"progress is array\(.*\), expected True or False"),
        ({"n_jobs": "x"}, "n_jobs is 'x', expected a whole number"),
        ({"missing": np.zeros(2)}, r"missing is array\(.*\), expected a number"),
        ({"missing": np.nan}, "missing is nan, expected a score"),
        ({"unknown": np.zeros(2)}, r"unknown is array\(.*\), expected 'nan', a number"),
        ({"label_names": 3}, "label_names is 3, expected strings in a list"),
    ],
)
def test_what_is_said_of_rows_is_checked_whatever_they_are(about: dict[str, Any], message: str) -> None:
    for source in (of(PAIR), PAIR, gather(PAIR)):
        with pytest.raises(InputError, match=f"^{message}"):
            gather(source, **about)


# What is left behind


@pytest.mark.usefixtures("in_files")
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def interrupted() -> Iterator[Any]:
        yield from Blocks(ROWS.parts, 50)()
        seen.append(os.listdir(tmp_path))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gather(interrupted, spill=tmp_path)
    assert os.listdir(tmp_path) == []
    if os.name == "posix":
        assert seen == [[]]  # not even a name, while it runs


@pytest.mark.usefixtures("in_files")
def test_files_are_closed_after_an_error_whoever_holds_it(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not say which files are open")

    def open_there() -> int:
        links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
        return sum(str(tmp_path) in os.readlink(link) for link in links if os.path.lexists(link))

    def broken() -> Iterator[Any]:
        yield from Blocks(ROWS.parts, 50)()
        assert open_there() > 0
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order") as held:
        gather(broken, spill=tmp_path)
    assert open_there() == 0
    assert held.value.__notes__ == ["raised in the block that begins at row 500"]


@pytest.mark.usefixtures("in_files")
def test_what_a_source_raises_passes_with_a_note(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield ROWS.of(slice(0, 3))
        raise OSError(errno.ENOSPC, "the disk of the source is full")

    for source, where in ((broken, ""), ([Blocks(ROWS.parts, 50), broken], "in shard 1, ")):
        with pytest.raises(OSError, match="the disk of the source is full") as raised:
            gather(source, spill=tmp_path)
        assert raised.value.__notes__ == [f"raised {where}in the block that begins at row 3"]


@pytest.mark.usefixtures("in_files")
def test_a_disk_that_fills_up_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = growing.GrowingVector._put
    n_written = 0

    def full(self: Any, piece: Any) -> int:
        nonlocal n_written
        n_written += self._file is not None
        if n_written > 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(self, piece)

    monkeypatch.setattr(growing.GrowingVector, "_put", full)
    with pytest.raises(InputError, match=r"^spill is .*, which takes no more after 150 rows \(No space left"):
        gather(Counted(), spill=tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("in_files")
def test_what_cannot_fit_is_refused_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders.Folder, "of", lambda _: folders.Folder(str(tmp_path), 1000))
    monkeypatch.setattr("thresholds.sources.source._BLOCK_CELLS", 100)
    known = tuple(OnlySlices(part) for part in ROWS.parts)
    with pytest.raises(InputError, match=r"where rows may take 1e-06 GB, too little after \d\d rows for .* GB of them"):
        gather(known)
    with pytest.raises(InputError, match=r"too little after .* rows for .* GB of them, expected a folder on a larger"):
        gather(Counted())


def test_folders_in_memory_are_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n")
    monkeypatch.setattr(folders, "_MOUNTS", mounts)
    assert folders.file_system(str(tmp_path / "deeper")) == "tmpfs"
    assert folders.file_system("/usr") == "ext4"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = folders.Folder.of("auto")
    assert found is None or found.path == "/var/tmp"
    asked = folders.Folder.of(tmp_path)
    assert asked is not None
    assert asked.path == str(tmp_path)  # whoever asks for it gets it
    monkeypatch.setattr(folders, "_MOUNTS", tmp_path / "nowhere")
    assert folders.file_system("/") is None
