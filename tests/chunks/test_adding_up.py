"""Passes add up in any order, say where something went wrong, and refuse rows that are others than before."""

import io
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.chunks.sources import Blocks, draw, in_any_order
from thresholds import InputError, fit_chunks, fit_empirical
from thresholds._arrays import threads
from thresholds.chunks.passes import Fingerprint, Passes, Place, Sum
from thresholds.chunks.sources import BlockSource, Rows

PASSES: dict[str, Any] = {"spill": None}


def n_rows(rows: Rows, _: Place) -> int:
    """Work that counts rows."""
    return len(rows.y_true)


def places(_: Rows, place: Place) -> tuple[Place, ...]:
    """Work that lists where blocks begin."""
    return (place,)


def ones(n: int, m: int = 2) -> tuple[Any, Any]:
    """A block."""
    return np.ones((n, m)), np.arange(float(n * m)).reshape(n, m)


def test_a_sum_is_a_stack_of_few_parts() -> None:
    """Unions are made of equals: of n parts, each is copied log n times, and log n sums are held."""

    class Part:
        most = 0

        def __init__(self, nbytes: int) -> None:
            self.nbytes = nbytes

        def __add__(self, other: "Part") -> "Part":
            return Part(self.nbytes + other.nbytes)

    total = Sum()
    for _ in range(1000):
        total.add(Part(1))
        Part.most = max(Part.most, len(total._stack))
    assert total.value().nbytes == 1000
    assert Part.most <= 10
    assert Sum().value() is None


def test_what_a_map_gives_is_left_as_it_is() -> None:
    """It may be kept, and given again: only sums that were made here are added to in place."""
    rows = draw(np.random.default_rng(3), "dense", 200)
    given: list[Any] = []

    def keep(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            read = function(task)
            given.append((read, pickle.dumps(read)))
            yield read

    rule = fit_chunks(rows.shards(np.random.default_rng(3)), map=keep, guard="shrink")
    assert all(pickle.dumps(read) == before for read, before in given)
    assert rule.objective == fit_empirical(rows.y_true, rows.y_score, guard="shrink").objective


def test_work_is_told_where_a_block_begins_once_that_is_known() -> None:
    shards = [Blocks(ones(5), 2), Blocks(ones(0), 1), Blocks(ones(3), 3)]
    passes = Passes(BlockSource.of(shards), in_any_order)
    assert sorted(passes.add_up(places)) == [(0, 0, 0, 0), (0, 2, 2, 4), (0, 4, 4, 8), (2, 0, 0, 0)]
    assert sorted(passes.add_up(places)) == [(0, 0, 0, 0), (0, 2, 2, 4), (0, 4, 4, 8), (2, 0, 5, 10)]
    assert (passes.n_rows, passes.n_stored) == (8, 16)


def test_rows_are_known_again_however_they_are_cut() -> None:
    rng = np.random.default_rng(0)
    for kind in ("dense", "sparse", "unknown", "weights"):
        rows = draw(rng, kind, 300)

        def seen(size: int, rows: Any = rows) -> Fingerprint:
            found = Fingerprint(0, 0)
            for block in Blocks(rows.of(slice(None)), size)():
                found = found.with_block(Rows.of(block))
            return found

        assert seen(300) == seen(7) == seen(64) == seen(65)


CHANGES = {
    "a score": lambda y_true, y_score: (y_true, np.where(np.indices(y_score.shape)[0] == 17, 0.25, y_score)),
    "a truth": lambda y_true, y_score: (np.where(np.indices(y_true.shape).sum(axis=0) == 9, 1, 0), y_score),
    "fewer rows": lambda y_true, y_score: (y_true[:-1], y_score[:-1]),
    "another order": lambda y_true, y_score: (y_true[::-1], y_score[::-1]),
    "none": lambda y_true, y_score: (y_true[:0], y_score[:0]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("where", ["source", "shard 1 of source"])
def test_other_rows_in_the_second_pass_are_refused(change: str, where: str) -> None:
    rng = np.random.default_rng(1)
    y_true, y_score = np.zeros((200, 3)), rng.random((200, 3))
    y_true[:5] = 1
    calls = []

    def source() -> Iterator[Any]:
        calls.append(1)
        yield (y_true, y_score) if len(calls) == 1 else CHANGES[change](y_true, y_score)

    shards = source if where == "source" else [Blocks(ones(4, 3), 2), source]
    with pytest.raises(InputError, match=f"^{where} has .* in pass 2, expected .*: rows are read several times"):
        fit_chunks(shards, **PASSES)


def test_other_weights_in_the_second_pass_are_refused() -> None:
    y_true, y_score = ones(200)
    calls = []

    def source() -> Iterator[Any]:
        calls.append(1)
        yield y_true, y_score, np.where(np.arange(200) == 17, len(calls), 1.5)

    with pytest.raises(InputError, match=r"^source has other rows in pass 2"):
        fit_chunks(source, **PASSES)


def tensors(cells: Any) -> Any:
    """A tensor of PyTorch."""
    return pytest.importorskip("torch").tensor(cells)


FORMS: dict[str, Callable[[Any], Any]] = {
    "tensors": tensors,
    "bfloat16": lambda cells: cells.astype(pytest.importorskip("ml_dtypes").bfloat16),
    "objects": lambda cells: np.array([[float(cell) for cell in row] for row in cells], object),
    "nullable columns": lambda cells: pd.DataFrame(cells).astype("Float64"),
    "lists": lambda cells: cells.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_known_again_in_any_form(form: str) -> None:
    """Cells are compared, not objects, which are others each time they are read."""
    rng = np.random.default_rng(3)
    y_true, y_score = rng.integers(0, 2, (200, 3)), np.round(rng.random((200, 3)), 1)
    calls = []

    def same() -> Iterator[Any]:
        yield y_true, FORMS[form](y_score)

    def other() -> Iterator[Any]:
        calls.append(1)
        yield y_true, FORMS[form](np.where(len(calls) == 2, 1 - y_score, y_score))

    assert fit_chunks(same, **PASSES).objective == fit_empirical(y_true, FORMS[form](y_score)).objective
    with pytest.raises(InputError, match=r"^source has other rows in pass 2"):
        fit_chunks(other, **PASSES)


SMALL: dict[str, tuple[Any, str]] = {  # beside a large block of 2 labels, float64
    "labels": (ones(1, 3), "a block has 3 labels, expected 2 as in those before"),
    "float32": ((np.ones((1, 2)), np.ones((1, 2), np.float32)), "a block has float32 scores, expected float64 ones"),
    "float16": ((np.ones((1, 2)), np.ones((1, 2), np.float16)), "a block has float16 scores, expected float64 ones"),
}


@pytest.mark.parametrize("block", SMALL)
def test_a_block_of_another_kind_is_refused_where_it_lies(block: str) -> None:
    """Though what was found of it would be added later."""
    odd, message = SMALL[block]
    large = ones(2000)

    def blocks() -> Iterator[Any]:
        yield from (large, odd, large)

    with pytest.raises(InputError, match=rf"^{message}.* \(in the block that begins at row 2,000\)$"):
        fit_chunks(blocks, **PASSES)
    with pytest.raises(InputError, match=rf"^{message}.* \(in shard 1, beside shard 0\)$"):
        fit_chunks([lambda: large, lambda: odd, lambda: large], spill=None, n_jobs=1)


def test_an_iterator_that_is_spent_is_refused_with_a_hint() -> None:
    blocks = iter([ones(4), ones(4)])
    with pytest.raises(InputError, match=r"^source has 0 rows in pass 2, .*new iterator each time it is called"):
        fit_chunks(lambda: blocks, **PASSES)


def test_what_fails_says_in_which_block() -> None:
    def bad() -> Iterator[Any]:
        yield ones(3)
        yield np.ones((2, 2)), np.full((2, 2), np.nan)

    for how in (PASSES, {"map": in_any_order}):
        with pytest.raises(InputError, match=r"^y_score has NaN .* \(in the block that begins at row 3\)$"):
            fit_chunks(bad, **how)
        with pytest.raises(InputError, match=r"\(in shard 1, in the block that begins at row 3\)$"):
            fit_chunks([Blocks(ones(2), 2), bad], **how)


@pytest.mark.parametrize("how", [{}, {"spill": None, "n_jobs": 1}], ids=["spilled", "in passes"])
def test_what_is_wrong_with_a_file_is_said_by_its_name_and_its_own_rows(tmp_path: Path, how: Any) -> None:
    paths = [tmp_path / "good.jsonl", tmp_path / "bad.jsonl"]
    for path, score in zip(paths, ("0.25", "NaN"), strict=True):
        good = '{"y_score": [0.5, 0.5], "y_true": [0, 0]}\n'
        path.write_text(good + good.replace("0.5]", f"{score}]"))
    where = r"\(in the block of bad.jsonl that begins at row 0\)$"
    with pytest.raises(InputError, match=rf"^y_score has NaN at row 1, label 1.* {where}"):
        fit_chunks(paths, **how)


def test_errors_of_sources_and_engines_pass_with_a_note() -> None:
    def broken() -> Iterator[Any]:
        yield ones(3)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match=r"^the disk is gone") as raised:
        fit_chunks(broken, **PASSES)
    assert raised.value.__notes__ == [
        "raised in the block that begins at row 3",
        "raised in pass 1, after 0 of 1 shards",
    ]

    class WorkerLost(Exception):
        pass

    def losing(function: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        yield function(next(iter(tasks)))
        raise WorkerLost

    with pytest.raises(WorkerLost) as lost:
        fit_chunks([Blocks(ones(2), 2), Blocks(ones(3), 2)], map=losing)
    assert lost.value.__notes__ == ["raised in pass 1, after 1 of 2 shards"]


def test_a_map_that_loses_or_doubles_results_is_refused() -> None:
    shards = [Blocks(ones(2), 2), Blocks(ones(3), 2)]

    def first_only(function: Any, tasks: Any) -> Any:
        return [function(tasks[0])]

    def twice(function: Any, tasks: Any) -> Any:
        return [function(tasks[0]), function(tasks[0])]

    def futures(_: Any, tasks: Any) -> Any:
        return [object() for _ in tasks]

    with pytest.raises(InputError, match=r"^map gave 1 results for 2 tasks, expected one each"):
        fit_chunks(shards, map=first_only)
    with pytest.raises(InputError, match=r"^map gave shard 0 twice, expected one result for each task"):
        fit_chunks(shards, map=twice)
    with pytest.raises(InputError, match=r"^map gave <object .*, expected what the function returns"):
        fit_chunks(shards, map=futures)


def test_an_interruption_ends_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards that have not begun are not begun."""
    begun = []

    def shard() -> Any:
        begun.append(1)
        if len(begun) == 1:
            raise KeyboardInterrupt
        return ones(2)

    with pytest.raises(KeyboardInterrupt):
        fit_chunks([shard] * 50, spill=None, n_jobs=2)
    assert len(begun) < 10


def test_a_shard_is_not_read_to_its_end_after_an_error() -> None:
    """A shard may take an hour."""
    begun, failed, read = threading.Event(), threading.Event(), []

    def failing() -> Any:
        begun.wait(10)
        failed.set()
        raise OSError("the disk is gone")

    def long() -> Iterator[Any]:
        begun.set()
        failed.wait(10)
        for _ in range(1000):
            read.append(1)
            time.sleep(0.001)
            yield ones(2)

    with pytest.raises(OSError, match="the disk is gone"):
        fit_chunks([failing, long], spill=None, n_jobs=2)
    assert len(read) < 1000


def test_a_bar_over_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_PATIENCE", 0)
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    rows = draw(np.random.default_rng(2), "weights", 1000)
    fit_chunks([Blocks(rows.of(slice(None)), 100)], progress=True, **PASSES)
    shown = stderr.getvalue()
    assert "fitting 100 rows" in shown  # how many there are is not known before the end
    assert "million scores/s" in shown
    assert " s left" in shown
    assert shown.rstrip(" ").endswith("\r")  # wiped out
    stderr.truncate(0)
    fit_chunks([Blocks(rows.of(slice(None)), 100)], **PASSES)
    assert not stderr.getvalue().strip("\0")
