"""One cut for all labels: the best of all cuts, each of which is counted by itself, in whole numbers and fractions."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.engine.draws import SCORES, Array, Data, draw
from tests.engine.test_invariances import LAYOUTS, TRUTHS
from tests.naive.cuts import exact_ratio
from thresholds._checks import Average
from thresholds._engine import cells, shared_cut
from thresholds._engine.problem import Problem
from thresholds._engine.shared_cut import best_shared_cut

AVERAGES: tuple[Average, ...] = ("macro", "weighted", "micro", "samples")
SHAPES = ((1, 1), (2, 3), (13, 4), (40, 5), (150, 2))
EQUAL = Fraction(1, 2**49)  # means that differ by less may count as equal


@pytest.fixture
def search_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Tell how cells are searched, however few they are."""

    def search(way: str) -> None:
        monkeypatch.setattr(shared_cut, "_MIN_CELLS_TO_NARROW", 0 if way == "narrowing" else 2**62)
        monkeypatch.setattr(shared_cut, "_MOST_POOLED_CELLS", 2**62 if way == "as one label" else 0)
        monkeypatch.setattr(cells, "_BLOCK_CELLS", 2**62 if way == "sorting" else 61)

    return search


WAYS = ("sorting", "narrowing", "as one label")


def f_of(tp: int, predicted: int, positives: int, beta: float, zero_division: float) -> Fraction:
    """F-beta, from its definition."""
    if positives == predicted == 0:
        return Fraction(zero_division)
    return (1 + Fraction(beta) ** 2) * exact_ratio(tp, predicted, positives, beta)


def best_of_all(
    data: Data, average: str, zero_division: float, most: int | None = None, above: float | None = None
) -> tuple[float, float]:
    """The highest of the best cuts, or never; and the next lower score."""
    given = data.problem.unit_weights
    weights = [1] * len(data.truth) if given is None else given.tolist()
    rows, labels = data.truth.shape
    cells = [
        (float(data.scores[i, j]), bool(data.truth[i, j]), weights[i], i, j)
        for i in range(rows)
        for j in range(labels)
        if data.known[i, j] and weights[i] > 0
    ]
    row_weights = {i: w for _, _, w, i, _ in cells}

    def group_of(cell: tuple[float, bool, int, int, int]) -> int:
        return {"micro": 0, "samples": cell[3]}.get(average, cell[4])

    def weight_of(cell: tuple[float, bool, int, int, int]) -> int:
        return 1 if average == "samples" else cell[2]

    positives = dict.fromkeys(range(labels), 0) if average in ("macro", "weighted") else {}
    for cell in cells:
        positives[group_of(cell)] = positives.get(group_of(cell), 0) + cell[1] * weight_of(cell)
    shares = {"weighted": positives, "samples": row_weights}.get(average, dict.fromkeys(positives, 1))

    def mean_at(cut: float) -> Fraction:
        tp, predicted = dict.fromkeys(positives, 0), dict.fromkeys(positives, 0)
        for cell in cells:
            if cell[0] >= cut:
                tp[group_of(cell)] += cell[1] * weight_of(cell)
                predicted[group_of(cell)] += weight_of(cell)
        f = {g: f_of(tp[g], predicted[g], positives[g], data.beta, zero_division) for g in positives}
        return sum((shares[g] * f[g] for g in f), Fraction(0)) / (sum(shares.values()) or 1)

    cuts = sorted({score for score, true, *_ in cells if true and (above is None or score > above)}, reverse=True)
    if most is not None:
        cuts = [cut for cut in cuts if sum(w for score, _, w, *_ in cells if score >= cut) <= most]
    values = {cut: mean_at(cut) for cut in [np.inf, *cuts]}
    best = next(cut for cut, value in values.items() if value >= max(values.values()) - EQUAL)
    lower = [score for score, *_ in cells if score < best]
    return best, max(lower) if lower and best < np.inf else np.nan


@pytest.mark.each_value
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SCORES)
def test_the_best_of_all_cuts(kind: str, way: str, search_by: Callable[[str], None]) -> None:
    search_by(way)
    for seed, shape in enumerate(SHAPES):
        data = draw(kind, seed, shape)
        for average in AVERAGES:
            zero_division = (0.0, 1.0, 0.5)[seed % 3]
            found = best_shared_cut(data.problem, average, data.beta, zero_division, n_jobs=1 + seed % 3)
            expected = best_of_all(data, average, zero_division)
            np.testing.assert_array_equal(found, expected, f"{shape} {average}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["normal", "rounded", "mostly masked", "useless"])
def test_the_best_of_those_within_a_budget(kind: str, way: str, search_by: Callable[[str], None]) -> None:
    search_by(way)
    for seed, shape in enumerate(SHAPES):
        data = draw(kind, seed, shape)
        total = data.problem.total_weight * shape[1]
        for average in AVERAGES:
            for most in (0, total // 20, total // 5, total):
                found = best_shared_cut(data.problem, average, data.beta, 0.0, most=most)
                expected = best_of_all(data, average, 0.0, most)
                np.testing.assert_array_equal(found, expected, f"{shape} {average} {most}")


@pytest.mark.parametrize("keep_sparse", [True, False])
@pytest.mark.parametrize("missing", [0.0, -1.0])
@pytest.mark.parametrize("kind", ["normal", "rounded", "mostly 0", "two values", "all sizes"])
def test_sparse_scores_are_as_dense_ones(kind: str, missing: float, keep_sparse: bool) -> None:
    for seed, shape in enumerate(SHAPES):
        data = draw(kind, seed, shape)
        stored = np.random.default_rng(seed).random(shape) < 0.5
        scores = np.where(stored, data.scores, 0)
        filled = data.take()
        filled.__dict__["scores"] = np.where(scores != 0, scores, scores.dtype.type(missing))
        given = data.unknown_truth if not data.known.all() else data.truth.astype(np.uint8)
        for truth in (given, sparse.csr_array(given)):
            problem = data.problem_of(truth, sparse.csr_array(scores), missing=missing, keep_sparse=keep_sparse)
            for average in AVERAGES:
                score, lower = best_shared_cut(problem, average, data.beta, 0.5)
                expected = best_of_all(filled, average, 0.5, above=missing if keep_sparse else None)
                assert score == expected[0], (shape, average)
                if score < np.inf:
                    least = missing if keep_sparse else np.nan  # Predictions stay as sparse.
                    np.testing.assert_equal(lower, np.fmax(expected[1], least), f"{shape} {average}")


def informative(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    y_true = (rng.random((n, m)) < rng.uniform(0.02, 0.5, m)).astype(np.uint8)
    return y_true, (rng.normal(size=(n, m)) + y_true * rng.uniform(0, 3, m)).astype(np.float32)


@pytest.mark.each_value
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("kind", SCORES)
def test_many_cells_are_searched_as_few(kind: str, average: Average, search_by: Callable[[str], None]) -> None:
    for seed, shape in enumerate(((400, 3), (90, 41), (1500, 8))):
        data = draw(kind, seed, shape)
        total = data.problem.total_weight * shape[1]
        for most in (None, total // 7):
            found = []
            for way in WAYS:
                search_by(way)
                found.append(best_shared_cut(data.problem, average, data.beta, 1.0, most=most, n_jobs=1 + seed))
            np.testing.assert_array_equal(found[1:], found[:-1], f"{shape} {most}")


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("average", AVERAGES)
def test_degrees_of_truth_are_searched_alike_whether_many_or_few_dense_or_sparse(
    kind: str, average: Average, search_by: Callable[[str], None]
) -> None:
    for seed, shape in enumerate(((1, 1), (7, 5), (400, 3), (90, 41))):
        data = draw(kind, seed, shape)
        finite = np.where(np.isfinite(data.scores), data.scores, -40.0).astype(np.float64)
        p = 1 / (1 + np.exp(-np.clip(finite, -40, 40)))
        p[p < 1e-9] = 0
        found = []
        for way in WAYS:
            search_by(way)
            for matrix in (p, sparse.csr_array(p)):
                rule = thresholds.fit_expected(matrix, average, per_label=False, beta=data.beta, n_jobs=3)
                found.append((float(rule.thresholds[0]), rule.objective))
        cuts, objectives = zip(*found, strict=True)
        assert len(set(cuts)) == 1
        np.testing.assert_allclose(objectives, objectives[0], rtol=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("way", WAYS)
def test_layout_and_dtype_do_not_matter(way: str, average: Average, search_by: Callable[[str], None]) -> None:
    search_by(way)
    truth, scores = informative(np.random.default_rng(3), 300, 9)
    expected = best_shared_cut(Problem.of(truth, scores), average, 1.0, 0.0)
    for layout in LAYOUTS.values():
        for form in TRUTHS.values():
            assert best_shared_cut(Problem.of(form(truth), layout(scores)), average, 1.0, 0.0) == expected
    for dtype in (np.float64, np.float16):
        rounded = scores.astype(np.float16)
        given = best_shared_cut(Problem.of(truth, rounded.astype(dtype)), average, 1.0, 0.0)
        assert given == best_shared_cut(Problem.of(truth, rounded), average, 1.0, 0.0)


@pytest.mark.parametrize("average", AVERAGES)
def test_positives_may_lie_far_apart(average: Average, search_by: Callable[[str], None]) -> None:
    y_true, y_score = np.zeros((40_000, 1), np.uint8), np.arange(40_000.0)[:, np.newaxis]
    y_true[::40], y_score[::40] = 1, 1e6 + np.arange(1000.0)[:, np.newaxis]
    y_true[1::4] = 1
    found = []
    for way in WAYS:
        search_by(way)
        found.append(best_shared_cut(Problem.of(y_true, y_score), average, 1.0, 0.0))
    np.testing.assert_array_equal(found[1:], found[:-1])


@pytest.mark.parametrize("average", ["macro", "weighted", "samples"])
def test_few_of_many_cells_are_sorted(average: Average) -> None:
    rng = np.random.default_rng(2)
    rates = np.exp(rng.uniform(np.log(1e-3), np.log(0.3), 200))
    y_true = (rng.random((3000, 200)) < rates).astype(np.uint8)
    y_score = rng.normal(size=y_true.shape) + y_true * rng.uniform(0, 3, 200)
    problem = Problem.of(y_true, y_score)
    owner: Any = "row" if average == "samples" else "label"
    search = shared_cut._SharedCutSearch(problem, cells.GroupedCells(problem, owner), average, 1.0, 0.0)
    _, keys = search._positives
    assert 0 < search._narrowed(keys).size < keys.size / 20
