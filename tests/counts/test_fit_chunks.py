"""`fit_chunks` gives the rule of `fit_empirical`, wherever blocks come from, whoever reads them, in any order."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.counts.draws import KINDS, Rows, draw, parts
from tests.counts.test_fits import assert_same, of_rows
from thresholds import InputError, fit_chunks, fit_empirical

AVERAGES = ["macro", "weighted", "micro"]


def backwards(function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
    """A map that gives the last result first."""
    return [function(task) for task in tasks][::-1]


def on_threads(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
    """A map of an executor."""
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(function, tasks)


HOW: dict[str, dict[str, Any]] = {"gathered": {}, "counted": {"map": backwards}, "on threads": {"map": on_threads}}


class Blocks:
    """A shard: rows in blocks of some size, the same ones each time."""

    def __init__(self, rows: Rows, some: Any, size: int) -> None:
        self.rows, self.some, self.size = rows, some, size

    def __call__(self) -> Iterator[Any]:
        for first in range(0, len(self.some), self.size):
            y_true, y_score, about = self.rows.at(self.some[first : first + self.size])
            weights = about.get("sample_weight")
            yield (y_true, y_score) if weights is None else (y_true, y_score, weights)


def shards_of(rows: Rows, rng: np.random.Generator) -> list[Blocks]:
    """The rows as shards of blocks, some of them empty."""
    return [Blocks(rows, some, int(rng.integers(1, 300))) for some in parts(rows.n_rows, rng)]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_in_shards_are_fitted_as_all_rows_are(kind: str, how: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = draw(kind, rng, None if seed else 3000)
        average = AVERAGES[seed % 3]
        rule = fit_chunks(shards_of(rows, rng), average, guard=None, **rows.about, **HOW[how])
        assert_same(rule, of_rows(rows, average))


@pytest.mark.parametrize(
    "options",
    [{"guard": "shrink"}, {"guard": None, "max_overprediction": 1.5}, {"guard": None, "min_precision": 0.5}],
    ids=str,
)
@pytest.mark.parametrize("how", HOW)
def test_options_are_those_of_a_fit(how: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    rows = draw("dense", rng, 3000)
    assert_same(fit_chunks(shards_of(rows, rng), **HOW[how], **options), of_rows(rows, "macro", **options))


def test_what_looks_at_rows_is_fitted_where_rows_are_gathered() -> None:
    rng = np.random.default_rng(1)
    rows = draw("dense", rng, 300)
    shards = shards_of(rows, rng)
    order = np.concatenate([shard.some for shard in shards])
    for options in (
        {"average": "samples", "per_label": False},
        {"max_predicted_per_row": 1, "guard": None},
        {"max_predicted": 20},
    ):
        rule = fit_chunks(shards, **options)
        expected = fit_empirical(rows.y_true[order], rows.y_score[order], **options)
        assert rule.objective == expected.objective


def test_memory_maps_and_files_are_shared_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ranges of rows."""
    monkeypatch.setattr("thresholds.sources.source._BLOCK_CELLS", 500)
    rows = draw("dense", np.random.default_rng(2), 3000)
    mapped = []
    for name, part in (("y_true", rows.y_true), ("y_score", rows.y_score)):
        np.save(tmp_path / f"{name}.npy", part)
        mapped.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    np.savez_compressed(tmp_path / "rows.npz", y_true=rows.y_true, y_score=rows.y_score)
    for source in (rows[:2], tuple(mapped), tmp_path / "rows.npz"):
        assert_same(fit_chunks(source, map=backwards, guard=None), of_rows(rows, "macro"))


@pytest.mark.parametrize("how", HOW)
def test_labels_are_in_the_order_of_the_first_block(how: str) -> None:
    rng = np.random.default_rng(4)
    y_true = pd.DataFrame(rng.random((300, 3)) < 0.2, columns=["cat", "dog", "eel"])
    y_score = (rng.normal(size=(300, 3)) + y_true).astype(np.float32)
    others = ["eel", "cat", "dog"]
    shards = [
        lambda: (y_true[:100], y_score[:100]),
        lambda: (y_true[100:150][others], y_score[100:150][others]),
        lambda: [(y_true[150:][others], y_score[150:][others[::-1]])],
    ]
    rule = fit_chunks(shards, label_names=["cat", "dog", "eel"], guard="shrink", **HOW[how])
    assert_same(rule, fit_empirical(y_true, y_score, guard="shrink"))


def read(path: str) -> Any:
    """A shard of a file."""
    with np.load(path) as shard:
        return shard["y_true"], shard["y_score"]


@pytest.mark.slow
def test_processes_read_shards(tmp_path: Path) -> None:
    rows = draw("dense", np.random.default_rng(5), 3000)
    paths = [str(tmp_path / f"{number}.npz") for number in range(4)]
    for path, some in zip(paths, np.array_split(np.arange(3000), 4), strict=True):
        np.savez(path, y_true=rows.y_true[some], y_score=rows.y_score[some])
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        rule = fit_chunks([partial(read, path) for path in paths], map=pool.map, guard=None)
    assert_same(rule, of_rows(rows, "macro"))


# What fails


def ones(n: int, m: int = 2) -> tuple[Any, Any]:
    """A block."""
    return np.ones((n, m)), np.arange(float(n * m)).reshape(n, m)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "scores": lambda y_true, y_score: (y_true, np.sort(y_score, axis=0)[::-1] + 1e-3),
    "truth": lambda y_true, y_score: (~y_true, y_score),
    "fewer rows": lambda y_true, y_score: (y_true[:-1], y_score[:-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_rows_the_second_time_are_refused(change: str) -> None:
    rng = np.random.default_rng(1)
    y_true = rng.random((4000, 1)) < 0.3
    y_score = rng.random((4000, 1)) + y_true
    calls = []

    def source() -> Any:
        calls.append(1)
        return (y_true, y_score) if len(calls) == 1 else CHANGES[change](y_true, y_score)

    with pytest.raises(InputError, match=r"^source has other rows the second time it is read, expected the same"):
        fit_chunks([source], map=backwards)


def test_a_map_that_loses_or_doubles_results_is_refused() -> None:
    shards = [lambda: ones(2), lambda: ones(3)]
    maps: dict[str, Any] = {
        r"map gave None, expected the results of all tasks": lambda *_: None,
        r"map gave 1 results for 2 tasks, expected one each": lambda function, tasks: [function(next(iter(tasks)))],
        r"map gave shard 0 twice, expected one result": lambda function, tasks: [function(next(iter(tasks)))] * 2,
        r"map gave <object .*, expected what the function returns": lambda _, tasks: [object() for _ in tasks],
        r"map is 3, expected a function that is called as map": 3,
    }
    for message, odd in maps.items():
        with pytest.raises(InputError, match=f"^{message}"):
            fit_chunks(shards, map=odd)  # type: ignore[arg-type]


def test_options_are_refused_before_rows_are_read() -> None:
    def unread() -> Any:
        raise AssertionError("read")

    with pytest.raises(InputError, match=r"^max_predicted is 3.0, a budget of all labels together"):
        fit_chunks([unread], max_predicted=3, map=backwards)


def test_what_can_be_read_once_is_not_shared_out() -> None:
    assert fit_chunks(iter([ones(3)])).n_labels == 2
    with pytest.raises(
        InputError, match=r"^source is <list_iterator.*, which can be read once, and rows are read twice"
    ):
        fit_chunks(iter([ones(3)]), map=backwards)


@pytest.mark.parametrize("how", ["gathered", "counted"])
def test_what_fails_says_in_which_block(how: str) -> None:
    def bad() -> Iterator[Any]:
        yield ones(3)
        yield np.ones((2, 2)), np.full((2, 2), np.nan)

    def broken() -> Iterator[Any]:
        yield ones(3)
        raise OSError("the disk is gone")

    with pytest.raises(InputError, match=r"^y_score has NaN .* \(in the block that begins at row 3\)$"):
        fit_chunks(bad, **HOW[how])
    with pytest.raises(InputError, match=r"\(in shard 1, in the block that begins at row 3\)$"):
        fit_chunks([lambda: ones(2), bad], **HOW[how])
    with pytest.raises(OSError, match=r"^the disk is gone") as raised:
        fit_chunks(broken, **HOW[how])
    assert raised.value.__notes__[0] == "raised in the block that begins at row 3"


def test_errors_of_engines_pass_with_a_note() -> None:
    class WorkerLost(Exception):
        pass

    def losing(function: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        yield function(next(iter(tasks)))
        raise WorkerLost

    with pytest.raises(WorkerLost) as lost:
        fit_chunks([lambda: ones(2), lambda: ones(3)], map=losing)
    assert lost.value.__notes__ == ["raised after 1 of 2 shards"]


OTHERS: dict[str, tuple[Any, str]] = {
    "labels": (ones(1, 3), r"other has 3 labels, expected 2 as here \(in shard 1\)"),
    "dtype": (
        (np.ones((1, 2)), np.ones((1, 2), np.float32)),
        "other has float32 scores, expected float64 ones as here",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_shards_of_another_kind_are_refused(what: str) -> None:
    block, message = OTHERS[what]
    with pytest.raises(InputError, match=f"^{message}"):
        fit_chunks([lambda: ones(4), lambda: block], map=on_threads)


def test_what_counts_do_not_tell_of_rows_is_refused() -> None:
    y_true, y_score = ones(4)
    blocks: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        r"sample_weight has 0.5, expected whole numbers with map, .* \(in the block that begins at row 0\)$": (
            {"sample_weight": [1, 0.5, 1, 1]},
            {},
        ),
        r"source has groups, which a guard looks at and counts do not tell": (
            {"groups": [1, 1, 2, 2]},
            {},
        ),
    }
    for message, (beside, options) in blocks.items():
        block = {"y_true": y_true, "y_score": y_score, **beside}
        with pytest.raises(InputError, match=f"^{message}"):
            fit_chunks([lambda block=block: block], map=backwards, **options)
    grouped = {"y_true": y_true, "y_score": y_score, "groups": [1, 1, 2, 2]}
    assert fit_chunks([lambda: grouped], map=backwards, guard=None).objective == 1.0  # Nothing looks at groups.


def test_labels_of_shards_are_put_in_the_order_of_the_first() -> None:
    """In the second pass, too, which scores of more than 1,024 values take."""
    rng = np.random.default_rng(0)
    y_true = pd.DataFrame(rng.random((4000, 2)) < 0.2, columns=["cat", "dog"])
    y_score = (rng.normal(size=(4000, 2)) + y_true).astype(np.float32)
    others = ["dog", "cat"]
    shards = [lambda: (y_true[:900], y_score[:900]), lambda: (y_true[900:][others], y_score[900:][others])]
    for how in (on_threads, backwards):  # whichever shard is read first
        assert_same(fit_chunks(shards, map=how), fit_empirical(y_true, y_score, guard="shrink"))


def test_values_of_rows_come_with_the_rows() -> None:
    for name in ("sample_weight", "groups"):
        with pytest.raises(InputError, match=f"^{name} is array.*, expected those of a block beside its rows"):
            fit_chunks(ones(3), **{name: np.ones(3)})  # type: ignore[arg-type]
