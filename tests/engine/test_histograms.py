"""Histograms: what weighs at which score, counted from the definition; few bins that lose no more than they must."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.engine.draws import SCORES, Array, Data, draw
from thresholds._engine import best_cuts
from thresholds._engine.histograms import Histograms, histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.keys import to_keys

Bin = tuple[float, float, int, int]  # lowest and highest score, weight of positives, weight

MOST = (None, 1024, 16, 2)


@pytest.fixture(params=["sorted by NumPy", "kernels"])
def histograms_of(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Read them either way."""
    if request.param == "kernels":
        monkeypatch.setattr(best_cuts, "_MOST_SORTED_CELLS", 0)
    return histograms


def bins_of(found: Histograms) -> list[list[Bin]]:
    """The bins of each label."""
    columns = (found.lowest, found.highest, found.hits, found.weights)
    bins = list(zip(*(column.tolist() for column in columns), strict=True))
    return [bins[first:last] for first, last in itertools.pairwise(found.offsets.tolist())]


def scores_of(data: Data) -> list[dict[float, tuple[int, int]]]:
    """What weighs at each score of each label, of it the positives, cell by cell."""
    problem = data.problem
    weights = np.ones(len(data.truth), np.int64) if problem.unit_weights is None else problem.unit_weights
    scores = data.scores.astype(problem.dtype)
    labels: list[dict[float, tuple[int, int]]] = []
    for j in range(scores.shape[1]):
        found: dict[float, tuple[int, int]] = {}
        for score, is_true, weight, is_known in zip(
            scores[:, j].tolist(), data.truth[:, j].tolist(), weights.tolist(), data.known[:, j].tolist(), strict=True
        ):
            if is_known and weight:
                hits, total = found.get(score, (0, 0))
                found[score] = (hits + weight * is_true, total + weight)
        labels.append(found)
    return labels


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", range(4))
def test_each_score_has_its_cells(kind: str, seed: int, histograms_of: Any) -> None:
    """The scores of each label fall, each with what weighs there."""
    data = draw(kind, seed)
    expected = [[(score, score, *found[score]) for score in sorted(found, reverse=True)] for found in scores_of(data)]
    assert bins_of(histograms_of(data.problem, None)) == expected


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", range(4, 8))
@pytest.mark.parametrize("most", [3, 16, 1024])
def test_bins_share_leading_bits_as_many_as_leave_few_enough(
    kind: str, seed: int, most: int, histograms_of: Any
) -> None:
    """From the definition: the least d for which the keys of a label, but for their last d bits, are few enough."""
    data = draw(kind, seed)
    found = bins_of(histograms_of(data.problem, most))
    for bins, scores in zip(found, scores_of(data), strict=True):
        others = sorted((score for score in scores if score > -np.inf), reverse=True)
        keys = to_keys(np.array(others, data.problem.dtype)).tolist()
        d = next(d for d in range(65) if len({key >> d for key in keys}) <= most)
        by_prefix: dict[int, list[float]] = {}
        for key, score in zip(keys, others, strict=True):
            by_prefix.setdefault(key >> d, []).append(score)
        expected = list(by_prefix.values())
        if -np.inf in scores:
            expected.append([-np.inf])
        assert len(bins) == len(expected)
        for (lowest, highest, hits, weight), own in zip(bins, expected, strict=True):
            assert lowest <= min(own)
            assert max(own) <= highest
            assert (hits, weight) == tuple(map(sum, zip(*(scores[score] for score in own), strict=True)))
        for above, below in itertools.pairwise(bins):
            assert above[0] > below[1]
        if d == 0:
            assert all(lowest == highest for lowest, highest, *_ in bins)


@pytest.mark.parametrize("most", MOST)
@pytest.mark.parametrize("n", [3_000, 40_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_kernels_give_what_numpy_gives(
    most: int | None, n: int, dtype: Any, is_weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, for scores of every kind, in any number of threads."""
    rng = np.random.default_rng(n)
    scores = np.concatenate([draw(kind, 0, (n, 1)).scores.astype(np.float64) for kind in SCORES], axis=1)
    with np.errstate(over="ignore"):
        scores = np.clip(scores.astype(dtype), np.finfo(dtype).min, np.finfo(dtype).max)
    weights = rng.integers(0, 3, n) if is_weighted else None
    problem = Problem.of(rng.random(scores.shape) < 0.1, scores, sample_weight=weights)
    by_numpy = _sorted(problem, most, monkeypatch)
    monkeypatch.setattr(best_cuts, "_MOST_SORTED_CELLS", 0)
    for n_jobs in (1, 3):
        assert_equal(histograms(problem, most, n_jobs=n_jobs), by_numpy)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("most", MOST)
def test_sparse_scores_are_those_of_the_dense_matrix(seed: int, most: int | None, histograms_of: Any) -> None:
    """What is not stored has the score `missing`."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=(300, 4)), 1) * (rng.random((300, 4)) < 0.4)
    truth = rng.random(scores.shape) < 0.2
    weights = rng.integers(0, 3, 300) if seed % 2 else None
    dense = Problem.of(truth, scores, sample_weight=weights)
    for keep_sparse in (False, True):
        problem = Problem.of(truth, sparse.csr_array(scores), sample_weight=weights, keep_sparse=keep_sparse)
        found = histograms_of(problem, most)
        assert (found.totals == problem.weight_of_label).all()
        if most is None or most == 1024:
            assert_equal(found, histograms_of(dense, most))


def _sorted(problem: Problem, most: int | None, monkeypatch: pytest.MonkeyPatch) -> Histograms:
    """Return what NumPy gives, however many cells there are."""
    with monkeypatch.context() as patch:
        patch.setattr(best_cuts, "_MOST_SORTED_CELLS", 2**60)
        return histograms(problem, most, n_jobs=1)


def assert_equal(found: Histograms, expected: Histograms) -> None:
    """Assert that they are equal, bit for bit."""
    for name in ("offsets", "lowest", "highest", "hits", "weights"):
        ours: Array = getattr(found, name)
        theirs: Array = getattr(expected, name)
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes(), name


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("most", [None, 16])
def test_steps_are_the_bins_with_positives(kind: str, most: int | None, histograms_of: Any) -> None:
    """Each with what lies down to it, and with the highest score of the next bin."""
    found = histograms_of(draw(kind, 1).problem, most)
    steps = found.steps
    for j, bins in enumerate(bins_of(found)):
        own = slice(*steps.offsets[j : j + 2])
        with_hits = [k for k, (_, _, hits, _) in enumerate(bins) if hits]
        lower = [bins[k + 1][1] if k + 1 < len(bins) else np.nan for k in with_hits]
        assert steps.cut[own].tolist() == [bins[k][0] for k in with_hits]
        np.testing.assert_array_equal(steps.lower[own], lower)
        assert steps.tp[own].tolist() == [sum(bins[i][2] for i in range(k + 1)) for k in with_hits]
        assert steps.predicted[own].tolist() == [sum(bins[i][3] for i in range(k + 1)) for k in with_hits]
        assert steps.positives[j] == sum(hits for _, _, hits, _ in bins)


@pytest.mark.parametrize("kind", SCORES)
def test_the_middle_of_a_bin_lies_in_it(kind: str, histograms_of: Any) -> None:
    for most in (None, 16):
        found = histograms_of(draw(kind, 2).problem, most)
        assert ((found.lowest <= found.middle) & (found.middle <= found.highest)).all()
        single = found.lowest == found.highest
        np.testing.assert_array_equal(found.middle[single], found.lowest[single])
