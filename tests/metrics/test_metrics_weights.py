"""Weights: exact where they are whole, precise where they are not, the same for every container, chunk and rule."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn import metrics as theirs

import thresholds
from thresholds import metrics

Weights = NDArray[np.float64]


def rare_labels(n_samples: int, n_labels: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Weights]:
    """Labels with a few positives each among many cells, and exponential weights."""
    rng = np.random.default_rng(n_labels)
    y_true, y_pred = ((rng.random((n_samples, n_labels)) < 3 / n_samples).astype(np.uint8) for _ in range(2))
    y_pred |= y_true * (rng.random(y_true.shape) < 0.5).astype(np.uint8)
    return y_true, y_pred, rng.exponential(size=n_samples)


@pytest.mark.parametrize("put", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(5000, 300), (200, 5000)])
def test_rare_labels_are_as_precise_as_frequent_ones(shape: tuple[int, int], put: type) -> None:
    y_true, y_pred, weights = rare_labels(*shape)
    given = {"sample_weight": weights, "zero_division": 0}
    got = metrics.precision_recall_fscore_support(put(y_true), put(y_pred), **given)
    expected = theirs.precision_recall_fscore_support(y_true, y_pred, **given)
    for ours, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-13, atol=0)


@pytest.mark.parametrize("weights", [[1e-20, 3e-20, 1, 1], [1.1e-9, 3.3e-9, 1, 0.7], [1e-40, 3e-40, 1e90, 2e90]])
def test_weights_of_all_magnitudes_side_by_side(weights: list[float]) -> None:
    y_true, y_pred = np.array([[1, 1], [1, 0], [0, 1], [0, 1]]), np.array([[1, 1], [0, 0], [0, 1], [0, 1]])
    recall = metrics.recall_score(y_true, y_pred, average=None, sample_weight=weights)
    np.testing.assert_allclose(recall, [1 / (1 + weights[1] / weights[0]), 1], rtol=1e-15)
    support = metrics.confusion_counts(y_true, y_pred, sample_weight=weights).positives
    np.testing.assert_allclose(support, [weights[0] + weights[1], weights[0] + weights[2] + weights[3]], rtol=1e-15)


def test_auroc_of_unequal_weights() -> None:
    truth, scores, weights = [1, 1, 0, 0], [0.5, 0.1, 0.2, 0.01], [1e-20, 3e-20, 1, 2]
    assert metrics.auroc(truth, scores, sample_weight=weights) == pytest.approx(0.75, abs=1e-15)


def test_auroc_of_sparse_scores_with_real_weights() -> None:
    """What absent cells weigh is a difference: a label of one class must not get a trace of the other."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n_samples = int(rng.integers(3, 30))
        y_true = np.stack([np.ones(n_samples, int), np.zeros(n_samples, int), rng.integers(0, 2, n_samples)], axis=1)
        y_score = rng.random((n_samples, 3)) * (rng.random((n_samples, 3)) < rng.choice([0.5, 1]))
        given = {"sample_weight": rng.exponential(size=n_samples)}
        dense, compressed = (metrics.auroc(y_true, put(y_score), **given) for put in (np.asarray, sparse.csr_array))
        np.testing.assert_allclose(compressed, dense, rtol=1e-13)
        assert np.isnan(compressed[:2]).all()


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_dense_and_sparse_matrices_give_the_same_bits(kind: str) -> None:
    y_true, y_pred, weights = rare_labels(9001, 20)
    weights = np.rint(weights * 4) + 1 if kind == "whole" else weights
    for average in (None, "micro", "macro", "weighted", "samples", "f_of_averages"):
        dense, compressed, mixed = (
            metrics.f1_score(t, p, average=average, sample_weight=weights, zero_division=0)
            for t, p in (
                (y_true, y_pred),
                (sparse.csr_array(y_true), sparse.csr_array(y_pred)),
                (y_true, sparse.csr_array(y_pred)),
            )
        )
        np.testing.assert_array_equal(dense, compressed)
        np.testing.assert_array_equal(dense, mixed)


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", "samples"])
@pytest.mark.parametrize("put", [np.asarray, sparse.csr_array])
def test_the_claimed_score_is_the_realised_score_with_any_weights(average: str, put: type) -> None:
    """In more rows than a block has."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y_true, y_score = rng.random((5000, 4)) < 0.01, np.round(rng.random((5000, 4)), 2)
        for weights in (rng.exponential(size=5000), np.exp(8 * rng.standard_normal(5000)), rng.integers(0, 9, 5000)):
            rule = thresholds.fit_empirical(
                put(y_true), put(y_score), average, per_label=average != "samples", sample_weight=weights
            )
            decided = rule.predict(put(y_score), dense=True)
            given = {"average": average, "beta": 1.0, "sample_weight": weights, "zero_division": 0}
            assert rule.objective == metrics.fbeta_score(put(y_true), decided, **given)


# Counts of chunks


def test_counts_of_chunks_stay_within_bounds() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y_true, y_pred = rng.integers(0, 2, (6, 2)), rng.integers(0, 2, (6, 2))
        weights = rng.random(6)
        parts = [slice(0, 2), slice(2, 3), slice(3, 6)]
        counts = sum(metrics.confusion_counts(y_true[c], y_pred[c], sample_weight=weights[c]) for c in parts)
        whole = metrics.confusion_counts(y_true, y_pred, sample_weight=weights)
        for name in ("tp", "fp", "fn", "tn"):
            assert getattr(counts, name).min() >= 0
            np.testing.assert_allclose(getattr(counts, name), getattr(whole, name), rtol=1e-13, atol=1e-15)
        for ratio in (counts.accuracy(), counts.skill(), counts.jaccard(), counts.pooled().accuracy()):
            assert np.nanmin(ratio) >= 0
            assert np.nanmax(ratio) <= 1


def test_a_chunk_may_have_no_weight() -> None:
    y_true, y_pred, weights = [0, 1, 1, 0], [0, 0, 1, 0], np.array([0, 0, 1, 2.5])
    first, second = (
        metrics.confusion_counts(y_true[c], y_pred[c], labels=[0, 1], sample_weight=weights[c])
        for c in (slice(0, 2), slice(2, 4))
    )
    whole = metrics.confusion_counts(y_true, y_pred, labels=[0, 1], sample_weight=weights)
    np.testing.assert_array_equal((first + second).sums, whole.tp + np.zeros_like(whole.sums))
    assert (first + second).total == 3.5
    with pytest.raises(thresholds.InputError, match=r"^sample_weight is 0 for every row"):
        metrics.f1_score(y_true[:2], y_pred[:2], sample_weight=weights[:2])


def test_many_classes_with_fine_weights_are_pooled() -> None:
    classes, weights = np.arange(40), 1 / (3 + 7.7 * np.arange(40))
    pooled = metrics.confusion_counts(classes, classes, sample_weight=weights).pooled()
    assert pooled.accuracy() == pooled.precision() == 1
    assert pooled.tn[0] == pytest.approx(39 * weights.sum(), rel=1e-14)
    assert pooled.skill() == 1


@pytest.mark.parametrize("beta", [1.33, 1.38, 2.8])
def test_the_f_of_averages_is_at_most_1_though_it_is_rounded(beta: float) -> None:
    truth, predicted, weights = np.array([[1], [0]]), np.array([[1], [1]]), [1, 2.0**-52]
    b, precision = beta * beta, 1 / (1 + 2.0**-52)
    assert (1 + b) * precision / (b * precision + 1) > 1
    options = {"average": "f_of_averages", "sample_weight": weights}
    assert metrics.fbeta_score(truth, predicted, beta=beta, **options) == 1
