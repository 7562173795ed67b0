"""Passes add up in any order, say where something went wrong, and refuse rows that are others than before."""

import io
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.chunks.sources import Blocks, draw, in_any_order
from thresholds import InputError, fit_chunks
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


def test_work_is_told_where_a_block_begins_once_that_is_known() -> None:
    shards = [Blocks(ones(5), 2), Blocks(ones(0), 1), Blocks(ones(3), 3)]
    passes = Passes(BlockSource.of(shards), in_any_order)
    assert sorted(passes.add_up(places)) == [(0, 0, 0, 0), (0, 2, 2, 4), (0, 4, 4, 8), (2, 0, 0, 0)]
    assert sorted(passes.add_up(places)) == [(0, 0, 0, 0), (0, 2, 2, 4), (0, 4, 4, 8), (2, 0, 5, 10)]
    assert (passes.n_rows, passes.n_stored) == (8, 16)


def test_rows_are_known_again_however_they_are_cut() -> None:
    rng = np.random.default_rng(0)
    for kind in ("dense", "sparse", "unknown"):
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
