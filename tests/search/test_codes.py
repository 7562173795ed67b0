"""Scores in 8 bits: at cuts that lie where codes change, they tell the same as the scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as drawn

import thresholds
from thresholds._kernels import counting as kernels
from thresholds.data.problem import Problem
from thresholds.search.counting.blocks import Blocks
from thresholds.search.counting.codes import CodedCuts, Scale

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = ("float32", "float64")

# Each draws scores (n, 3) of a kind from (n, 3) normal numbers.
KINDS: dict[str, Callable[[Array], Array]] = {
    "normal": lambda x: x,
    "probabilities": lambda x: 1 / (1 + np.exp(-3 * x)),
    "rare probabilities": lambda x: np.exp(3 * x - 20),
    "confident probabilities": lambda x: 1 - np.exp(3 * x - 20),
    "logarithms of probabilities": lambda x: -np.exp(2 * x),
    "far from 0": lambda x: x + 1e6,
    "far below 0": lambda x: x * 1e-3 - 1e6,
    "huge": lambda x: x * 2e37,
    "tiny": lambda x: x * 1e-36,
    "subnormal": lambda x: x * 1e-42,
    "subnormal, not negative": lambda x: abs(x) * 1e-42,
    "of all sizes": lambda x: np.sign(x) * np.exp(25 * abs(x)),
    "of all sizes, not negative": lambda x: np.exp(25 * x),
    "whole": lambda x: np.round(5 * x),
    "zeros of both signs": lambda x: np.where(x > 1, x, np.copysign(0.0, x)),
    "constant": lambda x: np.full(x.shape, 0.3),
    "masked": lambda x: np.where(x > 0, x, -np.inf),
    "all masked": lambda x: np.full(x.shape, -np.inf),
    "probabilities and zeros": lambda x: np.where(x < -1.5, 0, 1 / (1 + np.exp(-3 * x))),
    "with marks": lambda x: np.where(x > 1.5, -1e30, np.where(x < -1.5, 1e30, x)),
    "one label apart": lambda x: x * [1, 1e-9, 1e9] + [0, 1, -5],
}


def check(values: Array, scores: Array) -> CodedCuts:
    """Codes tell of each score whether it lies at or above a cut; cuts fall, none above its value."""
    coded = CodedCuts.near(values, values[:0])
    codes = np.empty(scores.shape, np.int8)
    coded.scale.codes(scores, codes)
    np.testing.assert_array_equal(codes[:, np.newaxis] > coded.under, scores[:, np.newaxis] >= coded.cuts)
    above = np.concatenate([np.full_like(values[:1], np.inf), coded.cuts[:-1]])
    assert (coded.cuts <= above).all()
    twice = np.append(values[1:] == values[:-1], np.zeros((1, values.shape[1]), bool), axis=0)
    assert ((coded.cuts <= values) | (coded.cuts == above) | twice).all()  # One that is left out repeats the one above.
    return coded


def falling(scores: Array, n_cuts: int) -> Array:
    """Quantiles of scores, from the highest down."""
    ordered = -np.sort(-scores, axis=0)
    return np.ascontiguousarray(ordered[np.linspace(0, len(scores) - 1, n_cuts).astype(int)])


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_codes_tell_what_lies_above_cuts(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore", under="ignore"):
        scores = np.minimum(KINDS[kind](rng.normal(size=(500, 3))).astype(dtype), np.finfo(dtype).max)
    coded = check(falling(scores[:50], 20), scores)
    near = [np.nextafter(coded.cuts, np.array(end, dtype)) for end in (-np.inf, np.inf)]
    others = np.concatenate([coded.cuts, *near, -scores])
    check(falling(scores[:50], 20), np.minimum(others, np.finfo(dtype).max))  # No score is +inf.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "kind", ["normal", "probabilities", "rare probabilities", "huge", "whole", "with marks", "probabilities and zeros"]
)
def test_cuts_of_ordinary_scores_stay_apart(kind: str, dtype: str) -> None:
    scores = KINDS[kind](np.random.default_rng(1).normal(size=(500, 3))).astype(dtype)
    values = falling(scores, 20)
    cuts = check(values, scores).cuts
    assert all(np.unique(cuts[:, j]).size >= np.unique(values[:, j]).size - 3 for j in range(3))
    more = (scores[:, np.newaxis] >= cuts).mean(axis=0) - (scores[:, np.newaxis] >= values).mean(axis=0)
    assert more.mean() < 0.02


def test_values_that_are_left_out_repeat_the_cut_above() -> None:
    values = np.array([[np.inf, 3.0], [2.0, 1.0], [-np.inf, -np.inf]], np.float32)
    coded = check(values, np.array([[2.5, -np.inf], [1.0, 3.0]], np.float32))
    assert coded.cuts[0, 0] == np.inf
    assert coded.cuts[2].tolist() == coded.cuts[1].tolist() == [2.0, 1.0]
    nothing = check(np.full((4, 2), np.inf, np.float32), np.zeros((3, 2), np.float32))
    assert (nothing.cuts == np.inf).all()


def test_a_value_that_comes_twice_has_a_cut_on_either_side() -> None:
    values = np.array([[3.0], [2.0], [2.0], [2.0], [-1.0]], np.float32)
    cuts = check(values, np.linspace(-2, 4, 999, dtype=np.float32)[:, np.newaxis]).cuts[:, 0]
    assert cuts[0] > cuts[1] > 2 >= cuts[2] == cuts[3]
    assert cuts[1] - cuts[2] <= 4 / 127


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_near_the_largest_number_and_next_to_zero_raise_no_warning(dtype: str) -> None:
    largest = np.finfo(dtype).max
    with np.errstate(all="raise"):
        check(np.array([[largest], [largest], [1e-3], [5e-4]], dtype), np.array([[largest], [0.0], [1e-3]], dtype))
        check(np.array([[1.0], [0.0], [-1.0]], dtype), np.array([[0.5], [-0.0], [-0.5]], dtype))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_numbers(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    numbers = drawn.from_dtype(dtype, allow_nan=False, allow_infinity=False) | st.just(-np.inf)
    scores = data.draw(drawn.arrays(dtype, (12, 2), elements=numbers))
    if data.draw(st.booleans()):
        scores = abs(scores[np.isfinite(scores).all(axis=1)])
    if len(scores):
        with np.errstate(over="ignore"):
            lower = np.nextafter(scores, dtype.type(-np.inf))
        check(-np.sort(-scores, axis=0), np.concatenate([scores, lower]))


def test_scores_are_coded_by_their_bits_unless_one_is_negative() -> None:
    values = np.array([[0.5, 2.0], [0.0, 1.0]])
    assert Scale.of(values).by_bits
    assert not Scale.of(values - [0, 1.5]).by_bits


@pytest.mark.parametrize("n_rows", [8, 248, 256, 1000])
@pytest.mark.parametrize("n_columns", [64, 192])
def test_codes_are_counted(n_rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(-128, 128, (n_rows, n_columns)).astype(np.int8)
    codes[:, 0], codes[:, 1] = 127, -128
    under = rng.integers(-128, 128, (5, n_columns)).astype(np.int8)
    under[:2] = [[-128], [127]]
    counts = np.full(under.shape, 3, np.int32)
    kernels.count_codes(codes, under, counts)
    np.testing.assert_array_equal(counts - 3, (codes[:, np.newaxis] > under).sum(axis=0))


@pytest.mark.parametrize("n_labels", [1, 5, 64, 70, 130])
@pytest.mark.parametrize("negative", [False, True])
def test_counts_of_all_blocks(n_labels: int, negative: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds.search.counting.blocks, "_MAX_CELLS", 2000)
    rng = np.random.default_rng(n_labels)
    scores = rng.normal(size=(333, n_labels)).astype(np.float32)
    scores = scores if negative else abs(scores)
    problem = Problem.of(rng.random(scores.shape) < 0.5, scores)
    coded = CodedCuts.near(falling(scores, 7), np.round(scores[:2], 1))
    for labels in (slice(0, n_labels), slice(n_labels // 3, n_labels)):
        blocks = Blocks(problem, labels, slice(7, 330))
        counter = coded.over(blocks)
        for block in blocks.scores():
            counter.add(block)
        found = coded.falling(blocks.by_row(counter.all_counts).sum(axis=1), labels)
        expected = (scores[7:330, np.newaxis, labels] >= coded.cuts[:, labels]).sum(axis=0)
        np.testing.assert_array_equal(found, expected)


def test_every_half_is_widened() -> None:
    halves = np.arange(2**16, dtype=np.uint16)
    halves = halves[np.isfinite(halves.view(np.float16)) | np.isneginf(halves.view(np.float16))].reshape(-1, 3)
    scores = np.zeros((len(halves), 4), np.float32)
    kernels.widen_halves(halves, scores.view(np.int32), scores)
    assert scores[:, :3].tobytes() == halves.view(np.float16).astype(np.float32).tobytes()
