"""Histograms of labels in place of cells: what is fitted to them and measured on them is nearly what it is on cells."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from thresholds import calibrate, measure_calibration
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds.calibration import Calibrator, binned
from thresholds.calibration.by_class import N_BINS, weights_between
from thresholds.calibration.calibrator import calibrate_binned

Array = NDArray[Any]
BYS = ("label", "pooled", "shrink")
N_ROWS, N_LABELS = 3000, 5

KINDS = ["shares", "certain", "margins", "heavy tails", "powers", "mostly absent"]
each_kind = pytest.mark.parametrize("kind", KINDS)


def draw(kind: str) -> tuple[Array, Array]:
    """Truth and scores of labels of base rates from .5 to .004."""
    rng = np.random.default_rng(26)
    z = rng.normal(size=(N_ROWS, N_LABELS)) * [0.5, 1, 2, 1, 1] - [0, 1, 2, 4, 6]
    truth = (rng.random(z.shape) < expit(z)).astype(np.uint8)
    truth[0] = 1
    outliers = 1e5 * rng.normal(size=z.shape)
    scores = {
        "shares": expit(z).astype(np.float32),
        "certain": expit(4 * z).astype(np.float32),  # some are 0 and 1 exactly
        "margins": np.where(rng.random(z.shape) < 0.1, 0.0, z),  # 0 is missing
        "heavy tails": np.where(rng.random(z.shape) < 0.005, outliers, z),
        "powers": np.exp(6 * z),
        "mostly absent": np.where(expit(z) < 0.3, 0.0, expit(z)),
    }
    return truth, scores[kind]


def weights_of_rows() -> Array:
    """Weights that are no whole numbers, some of them 0."""
    rng = np.random.default_rng(1)
    return rng.exponential(size=N_ROWS) * (rng.random(N_ROWS) < 0.9)


def with_a_bin_for_each_score(patch: pytest.MonkeyPatch) -> None:
    """Let no bin hold several scores."""
    patch.setattr(binned, "MOST_BINS", 2**20)


@each_kind
@pytest.mark.parametrize("by", BYS)
def test_platt_of_bins_is_nearly_that_of_cells(kind: str, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = draw(kind)
    for weights in (None, weights_of_rows()):
        found = calibrate(truth, scores, "platt", by, sample_weight=weights)
        with monkeypatch.context() as patch:
            with_a_bin_for_each_score(patch)
            exact = calibrate(truth, scores, "platt", by, sample_weight=weights)
        p, exact_p = found.transform(scores), exact.transform(scores)
        assert np.abs(p - exact_p).mean() < 1e-4
        np.testing.assert_allclose(p, exact_p, atol=0.02)
        loss, exact_loss = (measure_calibration(truth, q, sample_weight=weights).log_loss for q in (p, exact_p))
        assert loss == pytest.approx(exact_loss, rel=5e-5)
        same_by_class(found, truth, scores, weights)


@each_kind
@pytest.mark.parametrize("by", BYS)
def test_isotonic_of_labels_is_exact_and_the_others_nearly(kind: str, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, scores = draw(kind)
    found = calibrate(truth, scores, "isotonic", by)
    with monkeypatch.context() as patch:
        with_a_bin_for_each_score(patch)
        exact = calibrate(truth, scores, "isotonic", by)
    p, exact_p = found.transform(scores), exact.transform(scores)
    if by == "label":
        np.testing.assert_array_equal(p, exact_p)
        assert found.after.log_loss == pytest.approx(exact.after.log_loss, rel=1e-12)
        assert found.after.sum_over_positives == pytest.approx(1, rel=1e-12)
        np.testing.assert_allclose(found.base_rates, truth.mean(axis=0), rtol=1e-12)
    else:
        assert np.abs(p - exact_p).mean() < 4e-3
        assert found.after.log_loss == pytest.approx(exact.after.log_loss, rel=2e-3)
    same_by_class(found, truth, scores, None)


def same_by_class(calibrator: Calibrator, truth: Array, scores: Array, weights: Array | None) -> None:
    """Positives and negatives are counted exactly between the edges, in rows that tell as much."""
    known = calibrator.by_class
    assert known is not None
    w = np.ones(N_ROWS) if weights is None else weights
    for j in range(N_LABELS):
        bins = (scores[:, [j]] >= known.edges[j]).sum(axis=1)
        for counts, member in ((known.positives, truth[:, j] == 1), (known.negatives, truth[:, j] == 0)):
            own = np.bincount(bins, w * member, N_BINS)
            squared = (w**2)[member].sum()
            np.testing.assert_allclose(counts[j], own * own.sum() / squared, rtol=1e-6, atol=1e-9)


def falling(labels: Array, places: Array) -> Array:
    """Sums of each label from its first place on."""
    return np.concatenate([places[labels == j].cumsum() for j in range(N_LABELS)])


@each_kind
def test_ends_of_bins_are_exact_cuts(kind: str) -> None:
    _, scores = draw(kind)
    for cells in (scores, np.where(scores < 0, -np.inf, scores), 1 - np.minimum(np.abs(scores), 1) * 1e-3):
        bins = binned.binned(Problem.of(cells > np.median(cells), cells)).bins
        so_far = falling(bins.label, bins.weights)
        for j in range(N_LABELS):
            own = slice(*bins.offsets[j : j + 2])
            assert bins.lowest[own].size <= 1024 + 2  # what is missing apart
            np.testing.assert_array_equal((cells[:, [j]] >= bins.lowest[own]).sum(axis=0), so_far[own])
            np.testing.assert_array_equal(
                (cells[:, [j]] > bins.highest[own]).sum(axis=0), so_far[own] - bins.weights[own]
            )


def test_bins_of_a_label_do_not_depend_on_other_labels() -> None:
    truth, scores = draw("certain")
    alone = binned.binned(Problem.of(truth, scores)).bins
    beside = scores.copy()
    beside[5, 1] = -3.0
    both = binned.binned(Problem.of(truth, beside)).bins
    for j in (0, 2, 3, 4):
        own, same = (slice(*found.offsets[j : j + 2]) for found in (alone, both))
        np.testing.assert_array_equal(alone.lowest[own], both.lowest[same])
        np.testing.assert_array_equal(alone.hits[own], both.hits[same])


# What is missing


@pytest.mark.parametrize("missing", [0.0, 0.3, -1.25])
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_cells_are_counted_apart_from_their_neighbours(missing: float, weighted: bool) -> None:
    rng = np.random.default_rng(4)
    scores = np.float32(missing) + rng.normal(size=(N_ROWS, 3)).astype(np.float32) * np.float32(1e-3)
    truth = (rng.random(scores.shape) < expit(2e3 * (scores - missing) - 1)).astype(np.uint8)
    weights = weights_of_rows() if weighted else None
    w = np.ones(N_ROWS) if weights is None else weights
    is_missing = rng.random(scores.shape) < 0.2
    scores[is_missing] = missing
    dense = calibrate(truth, scores, "platt", "label", missing=missing, sample_weight=weights)
    share = (w @ (truth * is_missing)) / (w @ is_missing)
    np.testing.assert_allclose(dense.absent, share, rtol=1e-7)

    # Some of them are stored, others not.
    marked = np.where(is_missing & (rng.random(scores.shape) < 0.5), 0, scores + np.float32(100))
    listed = sparse.csr_array(marked)
    listed.data = np.broadcast_to(scores, scores.shape)[marked != 0]
    got = calibrate(truth, listed, "platt", "label", missing=missing, sample_weight=weights)
    np.testing.assert_allclose(got.absent, dense.absent, rtol=1e-12)
    np.testing.assert_allclose(got.transform(scores), dense.transform(scores), rtol=1e-9)


# Other rows


@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize("by", BYS)
def test_other_scores_are_measured_as_their_probabilities_are(method: Any, by: Any) -> None:
    truth, scores = draw("shares")
    half = N_ROWS // 2
    calibrator = calibrate(truth[:half], scores[:half], method, by)
    exact = measure_calibration(truth[half:], calibrator.transform(scores[half:]))
    found = calibrator.measure(Problem.of(truth[half:], scores[half:]))
    assert found.log_loss == pytest.approx(exact.log_loss, rel=1e-3)  # inf where it is
    assert found.sum_over_positives == pytest.approx(exact.sum_over_positives, rel=1e-3)
    assert found.reliability == pytest.approx(exact.reliability, abs=1e-4)


def test_no_bin_has_a_probability_of_0_for_cells_that_have_none() -> None:
    """A curve jumps from 0 within what would be a bin: positives above the jump have no loss without end."""
    n = 40_000
    scores = np.linspace(0.5, 0.75, n, dtype=np.float32)
    for jump in range(n // 2, n // 2 + 400, 37):
        truth = (np.arange(n) >= jump) & (np.arange(n) % 2 == 0)
        for by in ("label", "pooled"):
            calibrator = calibrate(truth, scores, "isotonic", by)
            measured = calibrator.measure(Problem.of(truth, scores))
            exact = measure_calibration(truth, calibrator.transform(scores))
            assert measured.log_loss == pytest.approx(exact.log_loss, rel=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("absent", [False, True])
def test_weights_between_edges_are_exact(weighted: bool, absent: bool) -> None:
    rng = np.random.default_rng(7)
    scores = np.round(rng.normal(size=(N_ROWS, 4)), 1)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    if absent:
        scores[rng.random(scores.shape) < 0.5] = 0.0
    edges = np.sort(np.round(rng.normal(size=(4, N_BINS - 1)), 1), axis=1)
    weights = rng.integers(0, 4, N_ROWS) if weighted else None
    given = sparse.csr_array(scores) if absent else scores
    found, squared = weights_between(
        Problem.of(np.zeros(scores.shape, np.uint8), given, sample_weight=weights), edges, 1
    )
    w = np.ones(N_ROWS) if weights is None else weights.astype(np.float64)
    for j in range(4):
        bins = (scores[:, [j]] >= edges[j]).sum(axis=1)
        kept = scores[:, j] > -np.inf
        np.testing.assert_array_equal(found[j], np.bincount(bins[kept], w[kept], N_BINS))
        exact = np.bincount(bins[kept], w[kept] ** 2, N_BINS)
        if absent and weighted:  # of absent cells the most that it may be
            assert (squared[j] >= exact).all()
        else:
            np.testing.assert_array_equal(squared[j], exact)


# Rows that are not at hand


def of_histograms(truth: Any, scores: Any, method: Any, by: Any, **about: Any) -> Calibrator:
    """Calibrate by histograms of all labels alone."""
    problem = Problem.of(truth, scores, **about)
    squares = binned.binned(problem).squares
    found = binned.Binned.of_histograms(histograms(problem), problem.missing, squares)
    return calibrate_binned(problem, found, method, by)


@pytest.mark.parametrize("by", BYS)
@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize("form", ["dense", "sparse", "weighted", "unknown", "masked", "margins", "one label"])
def test_histograms_with_a_bin_for_each_score_are_calibrated_as_rows_are(form: str, method: Any, by: Any) -> None:
    truth, scores = draw("margins" if form == "margins" else "mostly absent")
    scores = scores.round(2).astype(np.float32)  # few enough scores
    rows: Any = truth, scores
    about: dict[str, Any] = {"missing": -1.25} if form == "margins" else {}
    if form == "sparse":
        rows = sparse.csr_array(truth), sparse.csr_array(scores)
    elif form == "weighted":
        about = {"sample_weight": np.arange(N_ROWS) % 3}
    elif form == "unknown":
        rows = np.where(np.arange(N_ROWS)[:, np.newaxis] % 5 == np.arange(N_LABELS), -1, truth.astype(np.int8)), scores
        about = {"unknown": -1}
    elif form == "masked":
        rows = truth, np.where(scores < 0.1, -np.inf, scores)
    elif form == "one label":
        rows = truth[:, :1], scores[:, :1]
    expected = calibrate(*rows, method, by, **about)
    found = of_histograms(*rows, method, by, **about)
    assert found.profile is None
    assert found.to_dict() == replace(expected, profile=None).to_dict()


@each_kind
@pytest.mark.parametrize("by", BYS)
@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_histograms_of_few_bins_are_calibrated_nearly_as_rows_are(kind: str, method: Any, by: Any) -> None:
    truth, scores = draw(kind)
    expected, found = calibrate(truth, scores, method, by), of_histograms(truth, scores, method, by)
    losses = [measure_calibration(truth, made.transform(scores)).log_loss for made in (expected, found)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    # Next to 1 bins are wide in log odds.
    np.testing.assert_allclose(found.base_rates, expected.base_rates, rtol=0.05 if kind == "certain" else 1e-3)
    p = found.transform(np.sort(scores, axis=0))
    if method == "isotonic":
        assert (np.diff(p, axis=0) >= 0).all()
