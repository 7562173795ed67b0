"""Counts by row and by label, what may be added, and how they read."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from thresholds import metrics

PUTS = [np.asarray, np.asfortranarray, sparse.csr_array]


@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize("n_labels", [255, 256, 1000, 70_000])
def test_rows_of_many_labels(n_labels: int, put: type) -> None:
    """More than a byte, or two, can count."""
    y_true = np.ones((2, n_labels), np.uint8)
    y_pred = y_true.copy()
    y_pred[0, :100] = 0
    counts = metrics.confusion_counts(put(y_true), put(y_pred), samplewise=True)
    np.testing.assert_array_equal(counts.tp, [n_labels - 100, n_labels])
    np.testing.assert_array_equal(counts.predicted, [n_labels - 100, n_labels])
    np.testing.assert_array_equal(counts.positives, [n_labels, n_labels])


@pytest.mark.parametrize("put", PUTS)
def test_true_negatives_and_accuracy_of_rows(put: type) -> None:
    y_true, y_pred = np.array([[1, 0, 0], [0, 1, 1]]), np.array([[1, 1, 0], [0, 1, 0]])
    counts = metrics.confusion_counts(put(y_true), put(y_pred), samplewise=True)
    assert counts.tn.tolist() == [1, 1]
    np.testing.assert_allclose(counts.accuracy(), [2 / 3, 2 / 3])
    assert counts.labels is None


def test_counts_by_row_are_unweighted() -> None:
    with pytest.raises(thresholds.InputError, match=r"^sample_weight is given with samplewise=True"):
        metrics.confusion_counts([[1, 0]], [[1, 0]], sample_weight=[1], samplewise=True)


def test_only_counts_of_the_same_labels_add_up() -> None:
    by_row = metrics.confusion_counts([[1, 0], [0, 1]], [[1, 0], [0, 1]], samplewise=True)
    by_class = metrics.confusion_counts([0, 1], [0, 1])
    for counts in (by_row, by_class.pooled(), by_class.take([0])):
        with pytest.raises(thresholds.InputError, match="by row, or taken from others"):
            _ = counts + counts
    with pytest.raises(thresholds.InputError, match=r"labels \['a'\], expected \[0, 1\]"):
        _ = by_class + metrics.confusion_counts(["a"], ["a"])
    for other in (1, None, [by_class]):
        with pytest.raises(TypeError):
            _ = by_class + other
        with pytest.raises(TypeError):
            _ = other + by_class
    assert sum([by_class, by_class]).tp.tolist() == [2, 2]


@pytest.mark.parametrize("put", PUTS)
def test_chosen_columns_count_in_their_order(put: type) -> None:
    rng = np.random.default_rng(4)
    y_true, y_pred = (rng.integers(0, 2, (50, 6)) for _ in range(2))
    every = metrics.confusion_counts(put(y_true), put(y_pred))
    some = metrics.confusion_counts(put(y_true), put(y_pred), labels=[4, 0, 5])
    for name in ("tp", "fp", "fn", "tn"):
        np.testing.assert_array_equal(getattr(some, name), getattr(every, name)[[4, 0, 5]])
    assert list(some.labels) == [4, 0, 5]


def random_weights(seed: int) -> NDArray[np.float64]:
    """Two to nine weights."""
    rng = np.random.default_rng(seed)
    return rng.exponential(size=int(rng.integers(2, 10)))


def test_rounding_takes_no_ratio_beyond_1() -> None:
    for seed in range(100):
        weights = random_weights(seed)
        ones = [[1]]
        counts = sum(metrics.confusion_counts(ones, ones, sample_weight=[weight]) for weight in weights)
        ratios = [counts.accuracy(), counts.precision(), counts.recall(), counts.jaccard(), counts.f_score()]
        assert np.max(ratios) == np.min(ratios) == 1
        assert np.isnan(counts.skill()).all()


def test_rounding_takes_neither_f_of_averages_nor_auroc_beyond_1() -> None:
    for seed in range(300):
        weights = random_weights(seed)
        classes = np.arange(weights.size)
        beta = float(weights[0]) + 0.1
        assert metrics.fbeta_score(classes, classes, beta=beta, average="f_of_averages") <= 1
        truth = classes > 0
        assert metrics.auroc(truth, truth.astype(float), sample_weight=weights) <= 1
