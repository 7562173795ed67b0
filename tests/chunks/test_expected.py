"""Thresholds from probabilities that come in blocks: those of all rows at once, whatever the blocks are."""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

import thresholds
from thresholds import InputError, chunks

Array = np.ndarray[Any, Any]
AVERAGES = ("macro", "weighted", "micro", "samples")


@dataclass
class Blocks:
    """A function of blocks that can be pickled; with a number it is one of as many shards."""

    parts: list[Any]

    def __call__(self) -> Iterator[Any]:
        return iter(self.parts)


def drawn(rng: Generator, dtype: Any = np.float32, n: int = 400, n_labels: int = 4) -> Array:
    p = rng.random((n, n_labels)) ** 3
    p[rng.random(p.shape) < 0.2] = 0
    p[:, -1] = 0
    return p.astype(dtype)


def on_a_grid(p: Array) -> Array:
    """Probabilities of ten bits, whose sums no float rounds."""
    return np.round(p * 1024) / 1024


def cut(p: Any, rng: Generator, weights: Array | None = None) -> list[Any]:
    """Blocks of rows of random sizes."""
    ends = np.sort(rng.integers(0, p.shape[0], 4))
    pieces = [slice(a, b) for a, b in zip([0, *ends], [*ends, p.shape[0]], strict=True)]
    if weights is None:
        return [p[rows] for rows in pieces]
    return [{"y_score": p[rows], "sample_weight": weights[rows]} for rows in pieces]


def equal(found: Any, expected: Any) -> None:
    """Whether rules are the same, bit for bit, with all that they keep of their fit."""
    assert found.to_dict() == expected.to_dict()


@pytest.mark.each_pair
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_where_floats_do_not_round_the_rule_is_that_in_memory(average: Any, dtype: Any, weighted: bool) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        p = on_a_grid(drawn(rng, np.float64)).astype(dtype)
        weights = rng.integers(0, 4, len(p)) if weighted else None
        options: dict[str, Any] = {"beta": (0.5, 1.0, 2.0)[seed], "label_names": ["a", "b", "c", "d"]}
        found = chunks.fit_expected(Blocks(cut(p, rng, weights)), average, **options)
        equal(found, thresholds.fit_expected(p, average, sample_weight=weights, **options))


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_else_it_differs_by_rounding_alone(average: Any, dtype: Any) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        p = drawn(rng, dtype)
        weights = None if seed else rng.random(len(p))
        found: Any = chunks.fit_expected(Blocks(cut(p, rng, weights)), average)
        expected: Any = thresholds.fit_expected(p, average, sample_weight=weights)
        assert found.objective == pytest.approx(expected.objective, rel=1e-14)
        np.testing.assert_array_equal(found.predict(p), expected.predict(p))
        if average != "samples":
            np.testing.assert_allclose(found.thresholds, expected.thresholds, rtol=1e-14)
        if average != "samples" and dtype == np.float32:
            np.testing.assert_array_equal(found.thresholds, expected.thresholds)


@pytest.mark.parametrize("average", AVERAGES)
def test_bits_depend_neither_on_blocks_nor_on_map(average: Any) -> None:
    rng = np.random.default_rng(0)
    p = drawn(rng, np.float64)
    weights = rng.random(len(p))
    whole = chunks.fit_expected({"y_score": p, "sample_weight": weights}, average)
    in_blocks = chunks.fit_expected(Blocks(cut(p, rng, weights)), average, n_jobs=1)
    equal(in_blocks, whole)
    shards = [Blocks([block]) for block in cut(p, rng, weights)]
    with ThreadPoolExecutor(2) as pool:
        equal(chunks.fit_expected(shards, average, map=pool.map), whole)

    def backwards(function: Callable[[Any], Any], tasks: list[Any]) -> list[Any]:
        """Pickle as a cluster does, and be done with the last task first."""
        sent = [pickle.loads(pickle.dumps(task)) for task in reversed(list(tasks))]
        function = pickle.loads(pickle.dumps(function))
        return [pickle.loads(pickle.dumps(function(task))) for task in sent]

    equal(chunks.fit_expected(shards, average, map=backwards), whole)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_sparse_blocks_leave_zeros_out(average: Any) -> None:
    rng = np.random.default_rng(0)
    p = sparse.csr_array(on_a_grid(drawn(rng)) * (rng.random((400, 4)) < 0.3))
    equal(chunks.fit_expected(Blocks(cut(p, rng)), average), thresholds.fit_expected(p, average))


def test_decisions_about_rows_have_the_value_of_all_rows() -> None:
    p = np.array([[0.5, 0.25], [0.75, 0.0], [0.0, 0.0]], np.float32)
    found = chunks.fit_expected(Blocks([p[:1], p[1:]]), "samples", zero_division=1.0)
    equal(found, thresholds.fit_expected(p, "samples", zero_division=1.0))


def test_truth_beside_the_probabilities_is_not_looked_at() -> None:
    p = on_a_grid(drawn(np.random.default_rng(0)))
    expected = thresholds.fit_expected(p)
    equal(chunks.fit_expected(Blocks([(np.full(p.shape, 7), p)])), expected)
    equal(chunks.fit_expected((None, p)), expected)


def test_files_and_memory_maps_are_read(tmp_path: Path) -> None:
    p = on_a_grid(drawn(np.random.default_rng(0)))
    expected = thresholds.fit_expected(p)
    np.save(tmp_path / "scores.npy", p)
    equal(chunks.fit_expected(tmp_path / "scores.npy"), expected)
    equal(chunks.fit_expected(np.load(tmp_path / "scores.npy", mmap_mode="r")), expected)
    for number, part in enumerate(np.array_split(p, 3)):
        np.save(tmp_path / f"shard-{number}.npy", part)
    paths = [tmp_path / f"shard-{number}.npy" for number in range(3)]
    equal(chunks.fit_expected(paths), expected)


def test_blocks_without_rows_count_for_nothing() -> None:
    p = on_a_grid(drawn(np.random.default_rng(0)))
    equal(chunks.fit_expected(Blocks([p[:0], p, p[:0]])), thresholds.fit_expected(p))


def test_other_rows_in_the_second_pass_are_refused() -> None:
    rng = np.random.default_rng(0)

    def blocks() -> Iterator[Array]:
        yield drawn(rng)

    with pytest.raises(InputError, match="source has other rows in pass 2"):
        chunks.fit_expected(blocks)
