"""Fits that count and bound before they sort, against fits that sort every score: the same, bit for bit."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

import thresholds
from tests.cases import SCORES, Case, small_cases
from tests.naive import exhaustive as naive
from thresholds import InputError
from thresholds._kernels import counting as kernels
from thresholds._kernels.refine import OF_ALL_LABELS
from thresholds.data.problem import Problem
from thresholds.fitting.empirical import fit_problem
from thresholds.fitting.options import FitOptions
from thresholds.search import staircase
from thresholds.search.counting import blocks, bounds, refine
from thresholds.search.counting import passes as narrowing
from thresholds.search.counting.weights import RowWeights
from thresholds.search.staircase import Staircase

pytestmark = pytest.mark.each_value

Array = np.ndarray[Any, np.dtype[Any]]

AVERAGES = ("macro", "weighted", "micro")
SEARCHES = ("macro", "micro")  # "weighted" has the thresholds of "macro".
NEVER = 2**62  # cells
WIDTHS = (1, 2, 3, 7, 8, 9, 63, 64, 65, 130, 401, 513, 1025)
# Stripes of fewer than 64 labels hold different numbers of rows side by side and do not occur.
SMALL = {
    "_MIN_CELLS_PER_TASK": 3000,
    "_MAX_CELLS_PER_TASK": 3000,
    "_MAX_STRIPE": 128,
    "_PART_OF_MEMORY": 10**9,
    "_MIN_PANEL_BYTES": 2000,
    "_MOST_LISTED_BYTES": 2000,
    "_N_PARTS": 5,
    "_MAX_PIECES": 4,
}
SIZES = {"as shipped": {}, "many pieces": SMALL}


@pytest.fixture(params=SIZES)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Cut data as shipped, or into pieces, stripes, panels and blocks so small that small data have many of each."""
    for name, value in SIZES[request.param].items():
        monkeypatch.setattr(narrowing, name, value)
    if SIZES[request.param]:
        monkeypatch.setattr(blocks, "_MAX_CELLS", 1500)
        monkeypatch.setattr(refine, "_SORT_BELOW", 8)
    return str(request.param)


def fit(truth: object, scores: object, average: str, *, counting: bool, **options: Any) -> thresholds.ThresholdRule:
    """Fit on a way that is forced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrowing, "_WORTH_COUNTING", 0 if counting else NEVER)
        patch.setattr(narrowing, "_LEAST_WEIGHTED_LABELS", 1)
        return thresholds.fit_empirical(truth, scores, average, **options)


def check_same(got: thresholds.ThresholdRule, expected: thresholds.ThresholdRule, *named: object) -> None:
    """Two fits agree to the last bit."""
    assert got.thresholds.tobytes() == expected.thresholds.tobytes(), named
    assert got.objective == expected.objective, named
    np.testing.assert_array_equal(got.unsupported, expected.unsupported)
    assert got.fitted_on == expected.fitted_on


def check_ways(truth: object, scores: object, *, n_jobs: int = 1, **options: Any) -> None:
    """Counting and sorting agree, whether each label has its best cut or all labels together."""
    for average in SEARCHES:
        got = fit(truth, scores, average, counting=True, n_jobs=n_jobs, **options)
        check_same(got, fit(truth, scores, average, counting=False, n_jobs=1, **options), average, n_jobs, options)


def draw(rng: Generator, shape: tuple[int, int], digits: int = 2) -> tuple[Array, Array]:
    """Labels of all prevalences, some of them useless, with scores that tie now and then."""
    prevalence = rng.choice([0.02, 0.1, 0.3, 0.9], shape[1])
    truth = (rng.random(shape) < prevalence).astype(np.uint8)
    scores = rng.normal(size=shape) + rng.choice([0, 1, 3], shape[1]) * truth
    return truth, np.round(scores, digits)


# What is refused


@pytest.mark.parametrize("counting", [False, True])
@pytest.mark.parametrize("n_labels", [1, 3, 65])
@pytest.mark.parametrize("bad", ["NaN", "+inf"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_score_that_is_none_is_refused_whoever_reads_it_first(
    dtype: str, bad: str, n_labels: int, counting: bool, sizes: str
) -> None:
    rng = np.random.default_rng(1)
    truth, scores = draw(rng, (300, n_labels))
    scores = scores.astype(dtype)
    for row in (0, 150, 299):
        label = int(rng.integers(n_labels))
        wrong = scores.copy()
        wrong[row, label] = float(bad)
        for average in SEARCHES:
            found = re.escape(f"y_score has {bad} at row {row}, label {label}, expected real scores")
            with pytest.raises(InputError, match=found):
                fit(truth, wrong, average, counting=counting, n_jobs=2)
    check_ways(truth, scores)


# What goes in


def in_wider(array: Array) -> Array:
    """Columns of a wider matrix."""
    wide = np.ones((array.shape[0], array.shape[1] + 3), array.dtype)
    wide[:, 1:-2] = array
    return wide[:, 1:-2]


def every_other(array: Array) -> Array:
    """Every other row and column of a larger matrix."""
    return np.repeat(np.repeat(array, 2, axis=0), 2, axis=1)[::2, ::2]


def off_by_one_byte(array: Array) -> Array:
    """Memory that is not aligned."""
    moved = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def read_only(array: Array) -> Array:
    """An array that must not be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "in a wider matrix": in_wider,
    "every other": every_other,
    "backwards": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "off by a byte": off_by_one_byte,
}
DTYPES = ("float16", "float32", "float64", "int8", "uint16", "int64")
TRUTHS: dict[str, Callable[[Array], Any]] = {
    **{name: (lambda truth, name=name: truth.astype(name)) for name in ("bool", "uint8", "int64", "float32", "f8")},
    "F": np.asfortranarray,
    "bool in a wider matrix": lambda truth: in_wider(truth.astype(bool)),
    "read-only": read_only,
    "off by a byte": off_by_one_byte,
    "CSR": lambda truth: sparse.csr_array(truth.astype(bool)),
    "CSC": lambda truth: sparse.csc_matrix(truth.astype(np.int64)),
}


@pytest.mark.each_pair
@pytest.mark.parametrize("width", [5, 64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_kinds_of_scores_do_not_matter(dtype: str, width: int, sizes: str) -> None:
    truth, scores = draw(np.random.default_rng(1), (99, width), 1)
    scores = (scores if np.dtype(dtype).kind == "f" else np.abs(10 * scores)).astype(dtype)
    for average in SEARCHES:
        expected = fit(truth, scores, average, counting=False)
        for k, (name, lay) in enumerate(LAYOUTS.items()):
            check_same(fit(truth, lay(scores), average, counting=True, n_jobs=(1, 2, 5)[k % 3]), expected, name)


@pytest.mark.each_pair
@pytest.mark.parametrize("width", [3, 72])
@pytest.mark.parametrize("kind", TRUTHS)
def test_kinds_of_truth_do_not_matter(kind: str, width: int, sizes: str) -> None:
    truth, scores = draw(np.random.default_rng(2), (103, width))
    for average in SEARCHES:
        expected = fit(truth, scores, average, counting=False)
        check_same(fit(TRUTHS[kind](truth), scores, average, counting=True, n_jobs=2), expected, average)


def test_scores_on_disk_count_like_those_in_memory(tmp_path: Path, sizes: str) -> None:
    truth, scores = draw(np.random.default_rng(3), (160, 70))
    for dtype in (np.float16, np.float32, np.float64):
        np.save(tmp_path / "scores.npy", scores.astype(dtype))
        np.save(tmp_path / "truth.npy", truth.astype(bool))
        mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("truth.npy", "scores.npy")]
        for average in SEARCHES:
            expected = fit(truth, scores.astype(dtype), average, counting=False)
            check_same(fit(*mapped, average, counting=True, n_jobs=2), expected, dtype, average)


@pytest.mark.each_value
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_goes_in_stays_as_it_is(layout: str, sizes: str) -> None:
    for dtype in (np.float32, np.float64):
        truth, scores = draw(np.random.default_rng(4), (96, 64))
        truth, scores = LAYOUTS[layout](truth), LAYOUTS[layout](scores.astype(dtype))
        before = truth.tobytes(), scores.tobytes()
        for average in SEARCHES:
            fit(truth, scores, average, counting=True, n_jobs=2)
        assert (truth.tobytes(), scores.tobytes()) == before


# Settings and shapes


@pytest.mark.each_pair
@pytest.mark.parametrize("placement", ["low", "mid", "score"])
@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0, 1e-3, 1e4])
def test_settings(beta: float, placement: str, sizes: str) -> None:
    rng = np.random.default_rng(5)
    for zero_division, dtype in ((0.0, np.float32), (1.0, np.float64)):
        truth, scores = draw(rng, (150, 21))
        truth[:, ::5] = 0
        options = {"beta": beta, "zero_division": zero_division, "placement": placement}
        scores = scores.astype(dtype)
        for average in AVERAGES:
            expected = fit(truth, scores, average, counting=False, **options)
            check_same(fit(truth, scores, average, counting=True, n_jobs=2, **options), expected, average)


@pytest.mark.each_value
@pytest.mark.parametrize("width", WIDTHS)
def test_widths_and_rows(width: int, sizes: str) -> None:
    rng = np.random.default_rng(width)
    for n_rows in (1, 9, 6000 // width + 1):
        truth, scores = draw(rng, (n_rows, width), int(rng.integers(0, 4)))
        check_ways(truth, scores.astype(rng.choice([np.float32, np.float64])), n_jobs=int(rng.choice([1, 2, 5])))


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None, -1])
def test_threads_do_not_matter(n_jobs: int | None, sizes: str) -> None:
    truth, scores = draw(np.random.default_rng(6), (150, 130))
    check_ways(truth, scores, n_jobs=n_jobs)  # type: ignore[arg-type]


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = draw(np.random.default_rng(7), (100, 260))
    of_sizes = {
        "_MIN_CELLS_PER_TASK": (5000, 10**9),
        "_MAX_CELLS_PER_TASK": (5000, 10**9),
        "_TASKS_PER_THREAD": (1, 50),
        "_MAX_STRIPE": (128, 200),
        "_MIN_PANEL_BYTES": (3000, 10**9),
        "_N_PARTS": (2, 10**4),
        "_N_CUTS": (1, 40),
        "_MIN_NOTES": (1, 1000),
        "_PART_OF_MEMORY": (1, 10**9),
        "_MOST_KEPT_BYTES": (0, 10**9),
        "_MOST_LISTED_BYTES": (0, 3000),
    }
    for average in SEARCHES:
        expected = fit(truth, scores, average, counting=False)
        for name, values in of_sizes.items():
            for value in values:
                with monkeypatch.context() as patch:
                    patch.setattr(narrowing, "_MIN_CELLS_PER_TASK", 2000)  # Or all rows would be one piece.
                    patch.setattr(narrowing, name, value)
                    patch.setattr(blocks, "_MAX_CELLS", 5000)
                    check_same(fit(truth, scores, average, counting=True), expected, name, value)


def test_pieces_of_as_few_rows_as_blocks_have(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MIN_CELLS_PER_TASK", "_MAX_CELLS_PER_TASK"):
        monkeypatch.setattr(narrowing, name, 1)
    for n_rows in (2, 16, 17, 40):
        problem = Problem.of(np.eye(n_rows, 5), np.ones((n_rows, 5)))
        assert len(narrowing._Passes(problem, 1, False).rows) == -(-n_rows // kernels.ROWS_AT_ONCE)
        check_ways(*draw(np.random.default_rng(n_rows), (n_rows, 5)))


# Hard data


@dataclass(frozen=True)
class Hard:
    """A way to draw scores for a shape, and truth for scores."""

    scores: Callable[[Generator, tuple[int, int]], Array]
    truth: Callable[[Generator, Array], Array]


def normal(rng: Generator, shape: tuple[int, int]) -> Array:
    """Scores across 0, without ties."""
    return rng.normal(size=shape)


def of_levels(*levels: float) -> Callable[[Generator, tuple[int, int]], Array]:
    """Scores of few values."""
    return lambda rng, shape: rng.choice(np.array(levels), shape)


def masked(rng: Generator, shape: tuple[int, int]) -> Array:
    """A share of the cells ruled out, up to all."""
    return np.where(rng.random(shape) < rng.choice([0.1, 0.9, 1.0], shape[1]), -np.inf, normal(rng, shape))


def random_truth(prevalence: float) -> Callable[[Generator, Array], Array]:
    """Truth that the scores know nothing of."""
    return lambda rng, scores: rng.random(scores.shape) < prevalence


def perfect(rng: Generator, scores: Array) -> Array:
    """The highest fifth."""
    return scores >= np.sort(scores, axis=0)[-(-4 * len(scores) // 5) :][:1]


def followed(rng: Generator, scores: Array) -> Array:
    """The highest fifth, with mistakes."""
    return perfect(rng, scores) ^ (rng.random(scores.shape) < 0.1)


def some_empty_some_full(rng: Generator, scores: Array) -> Array:
    """Labels with no positive, one, all but one, all, half."""
    n = len(scores)
    of_labels = np.array([0, 1, n - 1, n, n // 2])[np.arange(scores.shape[1]) % 5]
    return rng.permuted(np.arange(n)[:, None] < of_labels, axis=0)


def late(rng: Generator, scores: Array) -> Array:
    """Positives in the last rows only."""
    return (np.arange(len(scores)) >= len(scores) - 5)[:, None] & (rng.random(scores.shape) < 0.6)


HARD = {
    "many ties": Hard(of_levels(0, 0.25, 0.5, 1), followed),
    "one value": Hard(of_levels(0.3), random_truth(0.2)),
    "zeros of both signs": Hard(of_levels(-0.0, 0.0), random_truth(0.3)),
    "zeros of both signs among others": Hard(of_levels(-0.0, 0.0, 1e-3, -1e-3), random_truth(0.3)),
    "masked": Hard(masked, random_truth(0.3)),
    "masked, informative": Hard(masked, followed),
    "all masked": Hard(of_levels(-np.inf), random_truth(0.3)),
    "huge": Hard(of_levels(1e308, -1e308, 1.7e308, -1.7e308, 1.0, -1.0, 0.0), random_truth(0.4)),
    "of any size": Hard(lambda rng, shape: rng.choice([-1, 1], shape) * 10 ** rng.uniform(-300, 300, shape), followed),
    "subnormal": Hard(of_levels(5e-324, 1e-323, 2.2e-308, 2.3e-308, 0.0, -5e-324), random_truth(0.3)),
    "negative": Hard(lambda rng, shape: -rng.random(shape), followed),
    "positive": Hard(lambda rng, shape: 5 + rng.random(shape), followed),
    "across 0": Hard(normal, followed),
    "across 0, heavy tails": Hard(lambda rng, shape: rng.standard_cauchy(shape) ** 3, followed),
    "tiny probabilities": Hard(lambda rng, shape: 10 ** -rng.uniform(0, 30, shape), followed),
    "rows rise": Hard(lambda rng, shape: np.sort(normal(rng, shape), axis=0), followed),
    "rows fall": Hard(lambda rng, shape: np.sort(normal(rng, shape), axis=0)[::-1], followed),
    "rows rise, useless": Hard(lambda rng, shape: np.sort(normal(rng, shape), axis=0), random_truth(0.1)),
    "positives come late": Hard(normal, late),
    "positives come late and lowest": Hard(lambda rng, shape: np.sort(normal(rng, shape), axis=0)[::-1], late),
    "no, one and all positives": Hard(normal, some_empty_some_full),
    "no, one and all positives, ties": Hard(of_levels(0, 1, 2), some_empty_some_full),
    "no positives": Hard(normal, random_truth(0.0)),
    "all positive": Hard(normal, random_truth(1.0)),
    "half positive, useless": Hard(normal, random_truth(0.5)),
    "nearly all positive": Hard(normal, random_truth(0.99)),
    "rare, useless": Hard(normal, random_truth(0.005)),
    "perfect": Hard(normal, perfect),
    "wrong way round": Hard(normal, lambda rng, scores: perfect(rng, -scores)),
    "rows thrice": Hard(lambda rng, shape: normal(rng, shape)[np.arange(shape[0]) // 3], followed),
    "one far above": Hard(lambda rng, shape: np.where(rng.random(shape) < 0.01, 1e30, rng.random(shape)), followed),
    "one far below": Hard(lambda rng, shape: np.where(rng.random(shape) < 0.01, -1e30, rng.random(shape)), followed),
}


def hard(name: str, seed: int, shape: tuple[int, int], dtype: str) -> tuple[Array, Array]:
    """Draw hard data; what a dtype does not hold becomes its largest number."""
    rng = np.random.default_rng([seed, *shape])
    scores = HARD[name].scores(rng, shape)
    largest = np.finfo(dtype).max
    scores = np.where(np.isinf(scores), scores, np.clip(scores, -float(largest), float(largest))).astype(dtype)
    return HARD[name].truth(rng, scores), scores


@pytest.mark.each_value
@pytest.mark.parametrize("name", HARD)
def test_hard_data(name: str, sizes: str) -> None:
    for seed, (shape, dtype) in enumerate([((700, 5), "float32"), ((700, 5), "float64"), ((60, 70), "float32")]):
        check_ways(*hard(name, seed, shape, dtype), n_jobs=1 + seed, beta=(1.0, 0.3, 3.0)[seed])


@pytest.mark.each_value
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hard_data_of_so_many_rows_that_they_are_narrowed_twice(name: str, dtype: str) -> None:
    check_ways(*hard(name, 7, (15_000, 2), dtype), placement="mid")


@pytest.mark.parametrize("flavour", SCORES)
def test_flavours_of_many_rows(flavour: str) -> None:
    rng = np.random.default_rng(8)
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        with np.errstate(over="ignore"):
            scores = SCORES[flavour](rng, (12_000, 3), dtype)
        truth = rng.random(scores.shape) < [0.5, 0.05, 0.9]
        truth[:, 1] |= scores[:, 1] >= np.sort(scores[:, 1])[-1000]
        check_ways(truth, scores)


def test_the_order_of_labels_and_of_rows_does_not_matter(sizes: str) -> None:
    rng = np.random.default_rng(9)
    truth, scores = draw(rng, (240, 67))
    labels, rows = rng.permutation(67), rng.permutation(240)
    for average in SEARCHES:
        expected = fit(truth, scores, average, counting=True)
        of_labels = fit(truth[:, labels], scores[:, labels], average, counting=True)
        np.testing.assert_array_equal(of_labels.thresholds, expected.thresholds[labels])
        check_same(fit(truth[rows], scores[rows], average, counting=True), expected)


# Weights of rows, and cells whose truth is not known


def one_has_all(rng: Generator, n: int) -> Array:
    """A row of weight 1 among rows that weigh nothing."""
    return np.eye(n)[n // 2]


def one_outweighs(rng: Generator, n: int) -> Array:
    """A row that weighs a billion times what others do."""
    return np.append(1e9, rng.random(n - 1))


WEIGHTS: dict[str, Callable[[Generator, int], Array]] = {
    "uniform": lambda rng, n: rng.random(n),
    "whole, a third of them 0": lambda rng, n: rng.integers(0, 3, n).astype(float),
    "whole and large": lambda rng, n: rng.integers(1, 10**6, n).astype(float),
    "heavy tails": lambda rng, n: np.exp(4 * rng.normal(size=n)),
    "of two classes": lambda rng, n: np.where(rng.random(n) < 0.1, 1.0, 1e-4),
    "equal": lambda rng, n: np.full(n, 0.3),
    "one has all": one_has_all,
    "one outweighs all others": one_outweighs,
}


@pytest.mark.each_value
@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights(kind: str, sizes: str) -> None:
    for seed, (shape, dtype) in enumerate([((400, 5), "float64"), ((200, 70), "float32")]):
        rng = np.random.default_rng([21, seed])
        truth, scores = draw(rng, shape, digits=3 - seed)
        weights = WEIGHTS[kind](rng, shape[0])
        truth[weights.argmax(), 0] = 1
        check_ways(truth, scores.astype(dtype), n_jobs=1 + seed, beta=(1.0, 0.5)[seed], sample_weight=weights)


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_so_many_rows_that_labels_are_narrowed_twice(kind: str) -> None:
    rng = np.random.default_rng(28)
    truth, scores = draw(rng, (12_000, 2), digits=5)
    check_ways(truth, scores.astype(np.float32), sample_weight=WEIGHTS[kind](rng, 12_000))


@pytest.mark.each_value
@pytest.mark.parametrize("name", HARD)
def test_hard_data_with_weights(name: str, sizes: str) -> None:
    truth, scores = hard(name, 22, (400, 9), "float32")
    check_ways(truth, scores, sample_weight=np.random.default_rng(22).integers(0, 2000, 400))


@pytest.mark.parametrize("kind", ["uniform", "heavy tails", "whole, a third of them 0"])
@pytest.mark.parametrize("jointly", [False, True])
def test_steps_that_are_left_of_weighted_rows_are_those_of_the_whole_staircase(
    kind: str, jointly: bool, sizes: str
) -> None:
    rng = np.random.default_rng(23)
    truth, scores = draw(rng, (900, 12))
    problem = Problem.of(truth, scores, sample_weight=WEIGHTS[kind](rng, 900))
    whole = staircase.of_labels(problem, 0, problem.n_labels)
    left, _ = useful(problem, 1.0, jointly)
    np.testing.assert_array_equal(left.positives, whole.positives)
    assert left.score.size < whole.score.size / 2
    for label in range(problem.n_labels):
        assert steps_of(left, label) <= steps_of(whole, label)
    if not jointly:
        for got, expected in zip(left.cuts_at(left.best(1.0)), whole.cuts_at(whole.best(1.0)), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kind", [None, "uniform", "whole, a third of them 0"])
def test_cells_of_unknown_truth(kind: str | None, sizes: str) -> None:
    rng = np.random.default_rng(25)
    for shape, dtype in (((500, 3), "float64"), ((300, 70), "float32")):
        truth, scores = draw(rng, shape, 1)
        partly = truth.astype(np.float64)
        partly[rng.random(shape) < 0.2] = np.nan
        partly[:, 1], partly[7] = np.nan, np.nan
        weights = None if kind is None else WEIGHTS[kind](rng, shape[0])
        check_ways(partly, scores.astype(dtype), n_jobs=2, sample_weight=weights, unknown="nan")


# The definition


@pytest.mark.parametrize("chunk", range(2))
def test_small_cases_equal_exhaustive_search(chunk: int, sizes: str) -> None:
    for case in list(small_cases(48, seed=20260101))[chunk::2]:
        for average in AVERAGES:
            check_exhaustively(case, average)


def check_exhaustively(case: Case, average: str) -> None:
    """The fit has the F of the definition, and cuts where it does: at the highest of tied cuts."""
    measure = case.beta, case.zero_division
    options = {"beta": case.beta, "zero_division": case.zero_division, "placement": "score"}
    rule = fit(case.y_true, case.y_score, average, counting=True, **options)
    if average == "micro":
        best, f = naive.best_micro(case.y_true, case.y_score, *measure)
    else:
        best = [threshold for threshold, _ in naive.best_macro(case.y_true, case.y_score, *measure)]
        f = naive.score(case.y_true, naive.decide(case.y_score, best), average, *measure)
    assert rule.objective == pytest.approx(float(f), abs=1e-12), case.name
    if case.beta in (1.0, 0.5, 3.0):
        np.testing.assert_array_equal(rule.thresholds, best, case.name)


# What is left


def useful(problem: Problem, beta: float, jointly: bool) -> tuple[Staircase, bounds.Candidates]:
    """Give the steps that are left, and the bounds they come from."""
    found = []
    bound = bounds.Candidates.of

    def noting(*arguments: Any) -> Any:
        found.append(bound(*arguments))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrowing, "_WORTH_COUNTING", 0)
        patch.setattr(narrowing, "_LEAST_WEIGHTED_LABELS", 1)
        patch.setattr(bounds.Candidates, "of", noting)
        parts = narrowing.map_useful_steps(problem, lambda stairs: stairs, beta, jointly=jointly)
    return staircase.concatenate(parts), found[0]


def steps_of(stairs: Staircase, label: int) -> set[tuple[float, ...]]:
    """Give everything that is known of a label's steps; NaN, no lower score, as None."""
    of_label = slice(stairs.offsets[label], stairs.offsets[label + 1])
    columns = (stairs.score, stairs.lower, stairs.tp, stairs.fp, stairs.higher)
    rows = zip(*(values[of_label].tolist() for values in columns), strict=True)
    return {tuple(None if x != x else x for x in row) for row in rows}  # type: ignore[misc]


def data_for_properties(seed: int) -> Problem:
    """Small data of all sorts, or hard ones, or a few thousand rows."""
    rng = np.random.default_rng([10, seed])
    if seed % 3 == 0:
        return Problem.of(*draw(rng, (int(rng.integers(1, 300)), int(rng.integers(1, 90))), int(rng.integers(0, 4))))
    rows, labels = (12_000, 2) if seed % 3 == 1 else (150, 11)
    return Problem.of(*hard(list(HARD)[seed % len(HARD)], seed, (rows, labels), "float32"))


@pytest.mark.each_value(seed=3)
@pytest.mark.parametrize("jointly", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_steps_that_are_left_are_those_of_the_whole_staircase(seed: int, jointly: bool, sizes: str) -> None:
    problem = data_for_properties(seed)
    whole = staircase.of_labels(problem, 0, problem.n_labels)
    left, _ = useful(problem, 1.0, jointly)
    np.testing.assert_array_equal(left.positives, whole.positives)
    for label in range(problem.n_labels):
        assert steps_of(left, label) <= steps_of(whole, label)


@pytest.mark.each_value(seed=4)
@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_step_of_each_label_is_left(seed: int, beta: float, sizes: str) -> None:
    problem = data_for_properties(seed)
    whole = staircase.of_labels(problem, 0, problem.n_labels)
    left, _ = useful(problem, beta, jointly=False)
    for got, expected in zip(left.cuts_at(left.best(beta)), whole.cuts_at(whole.best(beta)), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.each_value(seed=4)
@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_step_for_any_ratio_that_may_be_the_best_is_left(seed: int, beta: float, sizes: str) -> None:
    """tp - r predicted is highest at a step that is left, for each r between the bounds; of ties the highest step."""
    problem = data_for_properties(seed)
    whole = staircase.of_labels(problem, 0, problem.n_labels)
    left, candidates = useful(problem, beta, jointly=True)
    assert (candidates.beta2_positives == OF_ALL_LABELS).all()
    low, high = float(candidates.low_ratio[0]), float(candidates.high_ratio[0])
    best = fit(problem.truth, problem.scores, "micro", counting=False, beta=beta).objective or 0.0
    assert low <= best / (1 + beta**2) * (1 + 1e-12)
    assert high >= best / (1 + beta**2) * (1 - 1e-12)
    for ratio in np.linspace(low, high, 9):
        for label in range(problem.n_labels):
            of_whole, of_left = (slice(s.offsets[label], s.offsets[label + 1]) for s in (whole, left))
            values = (whole.tp - ratio * whole.predicted)[of_whole]
            if values.size and values.max() > 1e-9:
                assert whole.score[of_whole][values.argmax()] in left.score[of_left]


@pytest.mark.parametrize("values", [(0.3,), (0.0, 1.0), (-np.inf, 2.0), (1.0, 3.0, 3.5)])
def test_scores_of_few_values_are_counted_and_not_collected(values: tuple[float, ...], sizes: str) -> None:
    rng = np.random.default_rng(23)
    truth, scores = rng.random((2000, 7)) < 0.3, rng.choice(values, (2000, 7))
    problem = Problem.of(truth, scores)
    left, candidates = useful(problem, 1.0, jointly=False)
    assert not candidates.sizes.any()
    whole = staircase.of_labels(problem, 0, 7)
    for got, expected in zip(left.cuts_at(left.best(1.0)), whole.cuts_at(whole.best(1.0)), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("jointly", [False, True])
@pytest.mark.parametrize("lowest", [-np.inf, 0.0])
def test_the_lowest_score_is_not_collected_with_others_where_most_cells_have_it(lowest: float, jointly: bool) -> None:
    rng = np.random.default_rng(24)
    others = rng.random((3000, 30))
    scores = np.where(rng.random(others.shape) < 0.7, lowest, others)
    # So that F of predicting all cells is about that of predicting the others.
    truth = rng.random(others.shape) < np.where(scores > lowest, 0.9 * others, np.linspace(0.15, 0.3, 30))
    problem = Problem.of(truth, scores)
    left, candidates = useful(problem, 1.0, jointly)
    whole = staircase.of_labels(problem, 0, 30)
    assert candidates.lowest.is_known.any()
    n_collected = candidates.sizes.sum(axis=0)  # (n_labels,)
    assert 0 < n_collected[candidates.lowest.is_known].max() < 1000
    for label in np.flatnonzero(candidates.lowest.is_known):
        steps = steps_of(left, label)
        assert steps <= steps_of(whole, label)
        assert lowest in {score for score, *_ in steps}


@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0])
def test_bounds_of_perfect_labels_meet(beta: float, sizes: str) -> None:
    rng = np.random.default_rng(20)
    scores = rng.normal(size=(300, 9))
    truth = scores >= np.sort(scores, axis=0)[-60]
    for jointly in (False, True):
        _, candidates = useful(Problem.of(truth, scores), beta, jointly)
        for ratio in (candidates.low_ratio, candidates.high_ratio):
            np.testing.assert_allclose(ratio, 1 / (1 + beta**2), rtol=1e-11)


def test_what_is_left_counts_what_lies_above_and_below(sizes: str) -> None:
    truth, scores = draw(np.random.default_rng(11), (400, 75))
    for jointly in (False, True):
        _, candidates = useful(Problem.of(truth, scores), 1.0, jointly)
        inside = (scores >= candidates.low) & (scores < candidates.high)
        np.testing.assert_array_equal(candidates.sizes.sum(axis=0), inside.sum(axis=0))
        np.testing.assert_array_equal(candidates.above, (scores >= candidates.high).sum(axis=0))
        np.testing.assert_array_equal(candidates.tp_above, ((scores >= candidates.high) & (truth > 0)).sum(axis=0))
        np.testing.assert_array_equal(candidates.any_below, (scores < candidates.low).any(axis=0))


def test_panels_hold_what_there_is_room_for() -> None:
    rng = np.random.default_rng(12)
    problem = Problem.of(*draw(rng, (200, 90)))
    _, candidates = useful(problem, 1.0, jointly=False)
    left = candidates.sizes.sum(axis=0)
    for room in (1, 50, 500, 10**9):
        parts = bounds.panels(left, room)
        assert [label for panel in parts for label in range(panel.start, panel.stop)] == list(range(90))
        for panel, following in zip(parts, [*parts[1:], None], strict=True):
            assert left[panel].sum() <= room or panel.stop - panel.start == 1
            if following is not None:  # No panel ends before it must.
                assert left[panel.start : following.start + 1].sum() > room


@pytest.mark.parametrize("jointly", [False, True])
def test_few_scores_of_ordinary_data_are_left(jointly: bool) -> None:
    rng = np.random.default_rng(13)
    shape = (150_000, 3)
    truth = rng.random(shape) < [0.01, 0.05, 0.2]
    scores = (rng.normal(size=shape) + 2.5 * truth).astype(np.float32)
    left, candidates = useful(Problem.of(truth, scores), 1.0, jointly)
    assert candidates.sizes.sum() < 0.15 * scores.size  # are collected
    assert left.score.size < 0.05 * np.count_nonzero(truth)  # are steps of what is sorted


# Where it is used


def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which way fits go."""
    gone: list[str] = []
    sort, find_quantiles = narrowing.map_labels, narrowing._Passes.find_quantiles

    def sorting(*arguments: Any, **options: Any) -> Any:
        gone.append("sort")
        return sort(*arguments, **options)

    def counting(passes: Any) -> Any:
        gone.append("count")
        return find_quantiles(passes)

    monkeypatch.setattr(narrowing, "map_labels", sorting)
    monkeypatch.setattr(narrowing._Passes, "find_quantiles", counting)
    return gone


def test_many_dense_scores_are_counted_and_others_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(14)
    truth, scores = draw(rng, (narrowing._WORTH_COUNTING // 16, 16))
    gone = ways(monkeypatch)

    def way(*arguments: Any, **options: Any) -> list[str]:
        gone.clear()
        thresholds.fit_empirical(*arguments, **options)
        return gone

    for average in AVERAGES:
        assert way(truth, scores, average) == ["count"]
        assert way(truth[1:], scores[1:], average) == ["sort"]
    for average in SEARCHES:
        assert way(sparse.csr_array(truth), scores, average) == ["count"]
        assert way(truth, scores, average, sample_weight=np.full(len(truth), 0.3)) == ["count"]
        assert way(truth, scores, average, sample_weight=np.arange(len(truth))) == ["count"]
        few = truth.reshape(-1, 4), scores.reshape(-1, 4)
        assert way(*few, average, sample_weight=np.full(len(few[0]), 0.3)) == ["count"]
        assert way(*few, average, sample_weight=np.arange(len(few[0]))) == ["sort"]
        assert way(truth, sparse.csr_array(scores), average) == ["sort"]


def test_progress_names_what_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = draw(np.random.default_rng(15), (50, 3))
    monkeypatch.setattr(thresholds._arrays.threads, "_PATIENCE", -1.0)
    fit(truth, scores, "macro", counting=True)
    assert capsys.readouterr().err == ""
    fit(truth, scores, "macro", counting=True, progress=True)
    shown = capsys.readouterr().err
    places = [shown.index(f"{title} [#") for title in ("counting", "collecting", "sorting")]
    assert places == sorted(places)


def test_a_number_of_threads_that_is_none_is_refused() -> None:
    truth, scores = draw(np.random.default_rng(16), (50, 3))
    with pytest.raises(thresholds.InputError, match="n_jobs is 0"):
        fit(truth, scores, "macro", counting=True, n_jobs=0)


# Folds, whose rows are read where they are


@pytest.mark.each_value
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("layout", ["C", "F", "in a wider matrix", "other byte order"])
def test_rows_of_a_problem_fit_like_copies_of_them(
    average: str, layout: str, sizes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(17)
    options = FitOptions(average=average, n_jobs=2)
    monkeypatch.setattr(narrowing, "_WORTH_COUNTING", 0)
    for dtype, width, kind in ((np.float32, 64, "uint8"), (np.float64, 5, "CSR"), (np.float16, 9, "bool")):
        truth, scores = draw(rng, (180, width))
        scores = scores.astype(dtype)
        whole = Problem.of(TRUTHS[kind](truth), LAYOUTS[layout](scores))
        for rows in (np.arange(40, 170), np.sort(rng.choice(180, 131, replace=False)), rng.permutation(180)[:70]):
            got = fit_problem(whole.view_of_rows(rows), options)
            check_same(got, fit(truth[rows], scores[rows], average, counting=False), width)


@pytest.mark.parametrize("average", AVERAGES)
def test_cross_fitting_does_not_depend_on_the_way(average: str, sizes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = draw(np.random.default_rng(18), (230, 12))
    found = []
    for least in (0, NEVER):
        monkeypatch.setattr(narrowing, "_WORTH_COUNTING", least)
        found.append(thresholds.cross_fit(truth, scores, average, guard=None, cv=4, random_state=0, n_jobs=2))
    counted, sorted_ = found
    check_same(counted.rule, sorted_.rule)
    np.testing.assert_array_equal(counted.fold_thresholds, sorted_.fold_thresholds)
    assert counted.out_of_fold == sorted_.out_of_fold


# The loops


def block(rng: Generator, n_rows: int, n_columns: int, dtype: str) -> tuple[Array, Array]:
    """Scores with ties, NaN in the last rows and columns, and 0/1 marks, as a block."""
    scores = np.round(rng.normal(size=(n_rows, n_columns)), 1).astype(dtype)
    scores[-3:], scores[:, -2:] = np.nan, np.nan
    marks = (rng.random((n_rows, n_columns)) < rng.choice([0.01, 0.2, 1.0], (n_rows, 1))).astype(np.uint8)
    return scores, marks


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_columns", [8, 64, 128, 136, 264])
def test_loops_mark_and_collect(n_columns: int, dtype: str) -> None:
    rng = np.random.default_rng(n_columns)
    scores, marks = block(rng, 40, n_columns, dtype)
    cuts = -np.sort(-rng.normal(size=(5, n_columns)).round(1).astype(dtype), axis=0)
    cuts[0, ::3] = np.inf
    low, high = cuts[3], cuts[1]
    between, below = np.full(scores.shape, 9, np.uint8), np.full(n_columns, -np.inf, dtype)
    kernels.mark_between(scores, low, high, between, below)
    np.testing.assert_array_equal(between, (scores >= low) & (scores < high))
    np.testing.assert_array_equal(below, np.where(scores < low, scores, -np.inf).max(axis=0))
    kernels.mark_between(np.where(scores < low, -5, scores).astype(dtype), low, high, between, below)
    np.testing.assert_array_equal(below, np.where(scores < low, scores, -np.inf).max(axis=0))  # It never falls.

    labels = np.arange(n_columns) % 5
    sizes = np.bincount(labels, marks.sum(axis=0), minlength=5).astype(np.int64)
    starts = np.append(0, sizes.cumsum())
    expected = [scores[:, labels == label][marks[:, labels == label] > 0] for label in range(5)]
    for loop, given in ((kernels.collect, marks), (kernels.collect_few, marks.view(np.uint64))):
        place, kept = starts[:-1].copy(), np.full(starts[-1], 99, dtype)
        loop(scores, given, labels, place, kept)
        np.testing.assert_array_equal(place, starts[1:])
        np.testing.assert_array_equal(kept, np.concatenate(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_are_collected_with_their_rows(dtype: str) -> None:
    rng = np.random.default_rng(26)
    scores, marks = block(rng, 40, 136, dtype)
    truth = rng.integers(0, 2, marks.shape).astype(np.uint8)
    sizes = marks.sum(axis=0).astype(np.int64)
    place, kept, rows = np.append(0, sizes.cumsum())[:-1], np.zeros(sizes.sum(), dtype), np.zeros(sizes.sum(), np.int32)
    kernels.collect_rows(scores, marks, truth, 1000, place, kept, rows)
    np.testing.assert_array_equal(place, sizes.cumsum())
    column, row = np.nonzero(marks.T)
    np.testing.assert_array_equal(rows, np.where(truth[row, column], ~(1000 + row), 1000 + row))
    np.testing.assert_array_equal(kept, scores[row, column])


@pytest.mark.parametrize("heaviest", [2, 2**57])  # Few bits are left to count rows.
def test_codes_are_weighed(heaviest: int) -> None:
    rng = np.random.default_rng(27)
    codes = rng.integers(-128, 128, (40, 16)).astype(np.int8)
    truth = (rng.random((40, 16)) < 0.2).astype(np.uint8)
    weights = RowWeights.of(rng.choice([0, 1, heaviest], 40))
    assert weights.shift == (20 if heaviest == 2 else 3)
    cuts = rng.integers(-128, 129, (16, 3)).astype(np.int16)
    found = np.full((16, 3, 3), 3)
    words = codes.view(np.uint64), truth.view(np.uint64)
    kernels.weigh_codes(*words, weights.of_block(slice(0, 40), 40), weights.shift, cuts + 128, found)
    for c, cut in enumerate(cuts.T):
        reached = codes >= cut  # (n_rows, n_columns)
        np.testing.assert_array_equal(found[:, 0, c], 3 + np.sign(weights.units) @ reached)
        np.testing.assert_array_equal(found[:, 1, c], 3 + weights.units @ reached)
        np.testing.assert_array_equal(found[:, 2, c], 3 + weights.units @ (reached & (truth > 0)))


@pytest.mark.parametrize("room", [1, 3, 100])
def test_positives_are_counted_and_the_first_ones_noted(room: int) -> None:
    rng = np.random.default_rng(room)
    marks = (rng.random((64, 24)) < rng.choice([0, 0.05, 0.5, 1], 24)).astype(np.uint8)
    positives, noted, wanted = np.zeros(24, np.int32), np.zeros(24, np.int32), np.ones(24, np.uint8)
    column_arrays = (positives, wanted.view(np.uint64), wanted, noted)
    rows = np.full((24, room), -1, np.int32)
    for first in (0, 16, 40):
        part = marks[first : {0: 16, 16: 40, 40: 64}[first]].copy()
        kernels.note_positives(part.view(np.uint64), first, *column_arrays, rows)
    np.testing.assert_array_equal(positives, marks.sum(axis=0))
    for column in range(24):
        expected = np.flatnonzero(marks[:, column])[:room]
        np.testing.assert_array_equal(rows[column, : expected.size], expected)
        assert (rows[column, expected.size :] == -1).all()
        assert bool(wanted[column]) == (expected.size < room)
        assert noted[column] == expected.size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lists_are_counted_and_cut_down(dtype: str) -> None:
    rng = np.random.default_rng(19)
    sizes = np.array([0, 1, 17, 0, 200])
    firsts = np.append(0, sizes.cumsum())[:-1]
    scores = rng.normal(size=sizes.sum()).round(1).astype(dtype)
    lists = [scores[first : first + size].copy() for first, size in zip(firsts, sizes, strict=True)]
    cuts = -np.sort(-rng.normal(size=(4, 5)).round(1).astype(dtype), axis=0)
    counts = np.full((4, 5), -1, np.int64)
    kernels.count_lists_at_cuts(firsts, sizes, scores, cuts, counts)
    np.testing.assert_array_equal(
        counts, np.transpose([[np.sum(x >= c) for c in cuts[:, j]] for j, x in enumerate(lists)])
    )
    left = sizes.copy()
    kernels.keep_between(firsts, left, scores, cuts[3], cuts[0])
    for j, values in enumerate(lists):
        kept = values[(values >= cuts[3, j]) & (values < cuts[0, j])]
        np.testing.assert_array_equal(scores[firsts[j] : firsts[j] + left[j]], kept)
