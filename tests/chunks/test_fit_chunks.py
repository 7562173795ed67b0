"""`fit_chunks` gives the rule of `fit_empirical`, to the last bit, wherever blocks come from and whoever reads them."""

import multiprocessing
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import thresholds
from tests.chunks.sources import KINDS, Blocks, Drawn, draw, in_any_order, on_threads
from tests.rules import bits
from thresholds import fit_chunks, fit_empirical
from thresholds.chunks import candidates, counting, fitting
from thresholds.chunks.sources import BlockSource, MappedFile
from thresholds.files import opening

pytestmark = pytest.mark.each_value

AVERAGES = ["macro", "weighted", "micro"]
HOW: dict[str, dict[str, Any]] = {  # how rows are read
    "spilled": {},
    "passes": {"spill": None},
    "any order": {"map": in_any_order},
    "threads": {"map": on_threads},
}


def expected(rows: Drawn, average: str = "macro", **options: Any) -> thresholds.ThresholdRule:
    """The fit of all rows at once."""
    return fit_empirical(rows.y_true, rows.y_score, average, sample_weight=rows.sample_weight, **rows.about, **options)


def assert_same(rule: thresholds.ThresholdRule, other: thresholds.ThresholdRule, kind: str = "") -> None:
    """Hold a rule against another, bit for bit; of weights that are no whole numbers, sums of floats are rounded."""
    if kind == "weights":
        assert rule.objective == pytest.approx(other.objective, rel=1e-14)
        rule, other = (replace(each, objective=None) for each in (rule, other))
    assert bits(rule) == bits(other)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_in_shards_are_fitted_as_all_rows_are(kind: str, how: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = draw(rng, kind)
        average = AVERAGES[seed % 3]
        rule = fit_chunks(rows.shards(rng), average, **rows.about, **HOW[how])
        assert_same(rule, expected(rows, average), kind)


@pytest.mark.parametrize("opened", [0, 10**6])
@pytest.mark.parametrize("kind", KINDS)
def test_many_candidates_are_narrowed_in_passes(kind: str, opened: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few quantiles first, more where the best cut may lie, then all scores there, once they are few."""
    for name, value in {"_MOST_KEPT": 200, "_FEWEST_KEPT": 3, "_MOST_OPENED": opened}.items():
        monkeypatch.setattr(counting, name, value)
    for name, value in {"_MOST_AT_ONCE": 20, "_FEWEST_QUANTILES": 3}.items():
        monkeypatch.setattr(candidates, name, value)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = draw(rng, kind, 1000)
        average = AVERAGES[seed % 3]
        options = {"keep_sparse": seed < 3} if kind == "sparse" else {}
        rule = fit_chunks(rows.shards(rng), average, map=in_any_order, **rows.about, **options)
        assert_same(rule, expected(rows, average, **options), kind)


@pytest.mark.parametrize("options", [{"guard": "shrink"}, {"max_overprediction": 1.5}, {"min_precision": 0.5}])
def test_guards_and_limits_count_at_all_scores_of_positives(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_MOST_KEPT", 20)
    monkeypatch.setattr(candidates, "_MOST_AT_ONCE", 20)
    rows = draw(np.random.default_rng(0), "dense", 800)
    rule = fit_chunks(rows.shards(np.random.default_rng(0)), map=in_any_order, **options)
    assert_same(rule, expected(rows, **options))


def test_a_fit_takes_three_times_its_counts() -> None:
    """Those of all shards, of a shard and of a block; then they are read some labels at a time."""
    rng = np.random.default_rng(0)
    y_true = rng.random((10_000, 50)) < 0.2
    y_score = (rng.normal(size=y_true.shape) + y_true).astype(np.float32)
    shards = [Blocks((y_true[rows], y_score[rows]), 500) for rows in np.array_split(np.arange(10_000), 4)]
    options: dict[str, Any] = {"n_jobs": 1, "spill": None, "min_precision": 0.3, "confidence": 0.9}
    fit_chunks(shards[:1], **options)  # Kernels are compiled.
    tracemalloc.start()
    fit_chunks(shards, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 180 * np.count_nonzero(y_true)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_in_the_order_of_the_first_block_whoever_is_read_first(dtype: type, how: str) -> None:
    rng = np.random.default_rng(4)
    y_true = pd.DataFrame(rng.random((300, 3)) < 0.2, columns=["cat", "dog", "eel"])
    y_score = pd.DataFrame((rng.normal(size=(300, 3)) + y_true).astype(dtype), columns=y_true.columns)
    others = ["eel", "cat", "dog"]
    shards = [
        lambda: (y_true[:100], y_score[:100]),
        lambda: (y_true[100:150][others], y_score[100:150][others]),
        lambda: [(y_true[150:][others], y_score[150:][others[::-1]])],
    ]
    rule = fit_chunks(shards, label_names=None, guard="shrink", **HOW[how])
    assert rule.label_names == ("cat", "dog", "eel")
    assert bits(rule) == bits(fit_empirical(y_true, y_score, guard="shrink"))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_blocks_without_weights_among_others_that_have_some(dtype: type, how: str) -> None:
    """Their rows weigh 1, though scores of 16 bits without weights would be counted at once."""
    rng = np.random.default_rng(9)
    y_true = rng.random((300, 3)) < 0.2
    y_score = (rng.normal(size=(300, 3)) + y_true).astype(dtype)
    weights = np.append(rng.integers(1, 4, 100), np.ones(200))
    fitted = fit_empirical(y_true, y_score, sample_weight=weights)
    shards = [Blocks((y_true[:100], y_score[:100], weights[:100]), 40), Blocks((y_true[100:], y_score[100:]), 70)]
    for source in (shards, shards[::-1]):
        rule = fit_chunks(source, **HOW[how])
        assert rule.objective == fitted.objective
        assert rule.thresholds.tolist() == fitted.thresholds.tolist()


def test_options_are_those_of_a_fit() -> None:
    rows = draw(np.random.default_rng(1), "dense", 300)
    options: dict[str, Any] = {"beta": 0.5, "zero_division": 1.0, "placement": "mid"}
    rule = fit_chunks(rows.shards(np.random.default_rng(1)), spill=None, **options)
    assert_same(rule, expected(rows, **options))


def memory_maps(rows: Drawn, folder: Path) -> tuple[Any, ...]:
    """The arrays of a problem as memory maps."""
    mapped = []
    for name, part in zip("ts", rows.of(slice(None)), strict=True):
        np.save(folder / f"{name}.npy", part)
        mapped.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return tuple(mapped)


@pytest.mark.parametrize("how", ["builtin", "any order"])
def test_arrays_and_memory_maps(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.chunks.sources._BLOCK_CELLS", 200)
    rows = draw(np.random.default_rng(2), "dense", 500)
    options = {} if how == "builtin" else {"map": in_any_order}
    for source in (rows.of(slice(None)), memory_maps(rows, tmp_path)):
        for average in AVERAGES:
            assert_same(fit_chunks(source, average, **options), expected(rows, average))


def test_sparse_memory_maps_and_matrices_of_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.chunks.sources._BLOCK_CELLS", 100)
    rows = draw(np.random.default_rng(3), "sparse", 400)
    for source in (
        (rows.y_true, rows.y_score),
        (sparse.csc_array(rows.y_true), sparse.csc_array(rows.y_score)),
    ):
        for how in ({}, {"map": in_any_order}):
            assert_same(fit_chunks(source, **rows.about, **how), fit_empirical(*source, **rows.about))


class OnlySlices:
    """An array that is read by ranges of rows only, as zarr's and h5py's are."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows: slice) -> Any:
        assert isinstance(rows, slice), "nothing else is asked for"
        assert rows.stop - rows.start < self.shape[0], "all rows are never read at once"
        return self.array[rows]


@pytest.mark.parametrize("how", HOW)
def test_arrays_that_are_read_by_slices(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.chunks.sources._BLOCK_CELLS", 200)
    rows = draw(np.random.default_rng(4), "dense", 700)
    source = tuple(OnlySlices(part) for part in rows.of(slice(None)))
    assert_same(fit_chunks(source, **HOW[how]), expected(rows))


def test_mappings_and_frames_keep_the_names_of_labels() -> None:
    rows = draw(np.random.default_rng(5), "dense", 200)
    names = [f"label {j}" for j in range(rows.y_true.shape[1])]
    y_true, y_score = (pd.DataFrame(part, columns=names) for part in rows.of(slice(None)))

    def blocks() -> Iterator[dict[str, Any]]:
        for first in range(0, 200, 64):
            yield {"y_true": y_true[first : first + 64], "y_score": y_score[first : first + 64]}

    for how in HOW.values():
        assert_same(fit_chunks(blocks, **how), fit_empirical(y_true, y_score))
        named = fit_chunks([Blocks(rows.of(slice(None)), 50)], label_names=names, **how)
        assert_same(named, expected(rows, label_names=names))


def write_npz(rows: Drawn, path: Path) -> None:
    """Arrays as they are."""
    np.savez(path, y_true=rows.y_true, y_score=rows.y_score)


def write_packed(rows: Drawn, path: Path) -> None:
    """Arrays that have to be unpacked."""
    np.savez_compressed(path, y_true=rows.y_true, y_score=rows.y_score)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("write", [write_npz, write_packed])
def test_a_path(write: Callable[[Drawn, Path], None], how: str, tmp_path: Path) -> None:
    rows = draw(np.random.default_rng(6), "dense", 300)
    write(rows, tmp_path / "rows.npz")
    assert_same(fit_chunks(tmp_path / "rows.npz", **HOW[how]), expected(rows))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("unknown", ["nan", -1, -9])
def test_a_path_of_truth_that_is_unknown_in_part(unknown: object, how: str, tmp_path: Path) -> None:
    rows = draw(np.random.default_rng(6), "unknown", 300)
    stands_for = np.nan if unknown == "nan" else unknown
    y_true = np.where(rows.y_true == -1, stands_for, rows.y_true)
    np.savez(tmp_path / "rows.npz", y_true=y_true, y_score=rows.y_score)
    assert_same(fit_chunks(tmp_path / "rows.npz", unknown=unknown, **HOW[how]), expected(rows))


@pytest.mark.parametrize("how", HOW)
def test_shards_of_parquet_with_columns_in_any_order(how: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = draw(np.random.default_rng(7), "dense", 300)
    rows = Drawn(rows.y_true, rows.y_score.astype(np.float32), None, {})
    names = [f"l{j}" for j in range(rows.y_true.shape[1])]
    columns = [f"{what}_{name}" for what in ("y_true", "y_score") for name in names]
    frame = pd.DataFrame(np.hstack([rows.y_true, rows.y_score]), columns=columns)
    frame = frame.astype({name: "float32" if name.startswith("y_score") else "int8" for name in columns})
    frame[:120].to_parquet(tmp_path / "a.parquet")
    frame[120:][columns[::-1]].to_parquet(tmp_path / "b.parquet")
    fitted = expected(rows, label_names=names)
    files = [tmp_path / "a.parquet", str(tmp_path / "b.parquet")]
    for source in (tmp_path, f"{tmp_path}/*.parquet", files):
        rule = fit_chunks(source, **HOW[how])
        assert_same(rule, fitted)


def test_each_of_several_files_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{number}.npz" for number in range(3)]
    for path in files:
        write_npz(draw(np.random.default_rng(8), "dense", 20), path)
    opened: list[Any] = []

    def open_scores(path: Any, wanted: Any) -> Any:
        opened.append(path)
        return opening.open_scores(path, wanted)

    monkeypatch.setattr("thresholds.chunks.sources.open_scores", open_scores)
    assert BlockSource.of(files).n_rows == 60
    assert opened == files


def test_what_is_cut_from_a_memory_map_is_sent_as_a_place_in_its_file(tmp_path: Path) -> None:
    cells = np.arange(2000.0).reshape(100, 20)
    np.save(tmp_path / "cells.npy", cells)
    mapped = np.load(tmp_path / "cells.npy", mmap_mode="r")
    for view, same in (
        (mapped, cells),
        (mapped[30:60], cells[30:60]),
        (mapped[10:][5:9, 3:7], cells[15:19, 3:7]),
        (mapped[::3, ::2], cells[::3, ::2]),
        (mapped.T, cells.T),
    ):
        place = MappedFile.of(view)
        assert place is not None
        sent = pickle.dumps(place)
        assert len(sent) < 500
        np.testing.assert_array_equal(pickle.loads(sent)(), same)
    assert MappedFile.of(mapped[::-1]) is None  # such a view is sent as cells


def test_shards_of_memory_maps_are_small_to_send(tmp_path: Path) -> None:
    rows = draw(np.random.default_rng(8), "dense", 1000)
    source = BlockSource.of(memory_maps(rows, tmp_path))
    assert all(len(pickle.dumps(shard)) < 2000 for shard in source.shards)


def test_shards_of_sparse_arrays_are_views_or_places_in_files(tmp_path: Path) -> None:
    rows = draw(np.random.default_rng(8), "sparse", 1000)
    in_memory = BlockSource.of((rows.y_true, rows.y_score)).shards[0].rows.y_score  # type: ignore[attr-defined]
    assert np.shares_memory(in_memory.data, rows.y_score.data)

    def mapped(name: str) -> Any:
        np.save(tmp_path / f"{name}.npy", getattr(rows.y_score, name))
        return np.load(tmp_path / f"{name}.npy", mmap_mode="r")

    parts = (mapped("data"), mapped("indices"), rows.y_score.indptr)
    scores = sparse.csr_array(parts, shape=rows.y_score.shape)
    source = (sparse.csr_array(rows.y_true), scores)
    shard = BlockSource.of(source).shards[0].rows.y_score  # type: ignore[attr-defined]
    assert isinstance(shard.data, MappedFile)
    assert_same(fit_chunks(source, map=in_any_order, **rows.about), expected(rows))


def test_what_lies_in_place_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit of arrays is the faster road: it is taken where this process reads them and it keeps little."""
    rows = draw(np.random.default_rng(9), "dense", 100)

    def no(*_: object) -> None:
        raise AssertionError("counted")

    monkeypatch.setattr(fitting, "_fit_counts", no)
    monkeypatch.setattr(fitting, "memory_limit", lambda: 1000)
    fit_chunks(rows.of(slice(None)))
    fit_chunks(memory_maps(rows, tmp_path))
    fit_chunks(Blocks(rows.of(slice(None)), 30))
    with pytest.raises(AssertionError, match="counted"):
        fit_chunks(rows.of(slice(None)), map=in_any_order)
    with pytest.raises(AssertionError, match="counted"):
        fit_chunks(memory_maps(rows, tmp_path), max_overprediction=2)
    monkeypatch.setattr(fitting, "memory_limit", lambda: 10**9)
    fit_chunks(memory_maps(rows, tmp_path), max_overprediction=2)  # is small beside memory


@pytest.mark.slow
def test_processes_give_the_same_bits(tmp_path: Path) -> None:
    rows = draw(np.random.default_rng(10), "dense", 1500)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for source in (
            rows.shards(np.random.default_rng(10)),
            memory_maps(rows, tmp_path),
            rows.of(slice(None)),
        ):
            assert_same(fit_chunks(source, map=pool.map), expected(rows))
            assert_same(fit_chunks(source, map=partial(pool.map, chunksize=2)), expected(rows))
