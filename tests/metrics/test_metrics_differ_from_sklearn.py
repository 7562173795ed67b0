"""Where `metrics` deliberately differs from scikit-learn 1.9: what either does, so that the list stays true."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn import metrics as theirs

import thresholds
from tests.outcomes import outcome
from thresholds import metrics as ours

nan, inf = float("nan"), float("inf")
SCORES = ("f1_score", "precision_score", "recall_score", "jaccard_score")


def refuses(call: Callable[..., object], *arguments: object, **options: object) -> bool:
    """Whether the call raises a ValueError, which of ours is an `InputError`."""
    return outcome(call, *arguments, **options).error is not None


def both(name: str) -> tuple[Callable[..., object], Callable[..., object]]:
    """Our function of that name and theirs."""
    return getattr(ours, name), getattr(theirs, name)


def stored(matrix: list[list[int]]) -> sparse.csr_array:
    """A CSR array that stores every cell."""
    cells = np.array(matrix)
    n_samples, n_labels = cells.shape
    starts = np.arange(n_samples + 1) * n_labels
    return sparse.csr_array((cells.ravel(), np.tile(np.arange(n_labels), n_samples), starts), shape=cells.shape)


@pytest.mark.parametrize("name", SCORES)
def test_explicit_zeros_do_not_count(name: str) -> None:
    y_true, y_pred = [[1, 0], [0, 1], [0, 1]], [[0, 0], [0, 1], [1, 1]]
    mine, other = both(name)
    expected = other(np.array(y_true), np.array(y_pred), average=None, zero_division=0)
    got = mine(stored(y_true), stored(y_pred), average=None, zero_division=0)
    np.testing.assert_array_equal(got, expected)
    counted = other(stored(y_true), stored(y_pred), average=None, zero_division=0)
    assert not np.array_equal(counted, expected)


@pytest.mark.parametrize("name", SCORES)
def test_negative_weights_are_refused(name: str) -> None:
    mine, other = both(name)
    for weights in ([1, 1, -0.5], [0, 0, -1.0]):
        assert refuses(mine, [1, 0, 1], [1, 1, 0], sample_weight=weights)
        assert not refuses(other, [1, 0, 1], [1, 1, 0], sample_weight=weights)


def test_weights_that_are_all_zero_are_refused_by_both() -> None:
    for f1_score in both("f1_score"):
        assert refuses(f1_score, [1, 0], [1, 0], sample_weight=[0, 0])


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (1, 2), (0, 2)])
def test_matrices_of_other_values_are_refused(low: int, high: int) -> None:
    """scikit-learn counts every cell that is not 0."""
    y_true, y_pred = np.array([[low, high], [low, low]]), np.array([[high, high], [low, high]])
    for name in SCORES:
        mine, other = both(name)
        for put in (np.asarray, sparse.csr_array):
            assert refuses(mine, put(y_true), put(y_pred), average=None)
        nonzero = other((y_true != 0).astype(int), (y_pred != 0).astype(int), average=None, zero_division=0)
        np.testing.assert_array_equal(other(y_true, y_pred, average=None, zero_division=0), nonzero)


@pytest.mark.parametrize("average", [None, "macro", "micro", "weighted", "samples"])
def test_a_matrix_of_one_column_is_one_label(average: str | None) -> None:
    """scikit-learn makes it a vector, and counts its zeros as a class of their own."""
    y_true, y_pred = np.array([[0], [1], [1], [1]]), np.array([[0], [1], [0], [1]])
    mine, other = both("f1_score")
    got = mine(y_true, y_pred, average=average, zero_division=0)
    assert np.shape(got) == (() if average else (1,))
    assert got == pytest.approx(0.5 if average == "samples" else 0.8)
    vector = outcome(other, y_true.ravel(), y_pred.ravel(), average=average)
    squeezed = outcome(other, y_true, y_pred, average=average)
    assert (squeezed.error is None) == (average != "samples") == (vector.error is None)
    np.testing.assert_array_equal(squeezed.value, vector.value)
    assert mine(y_true, y_pred) == other(y_true, y_pred) == pytest.approx(0.8)


def test_jaccard_leaves_out_undefined_labels() -> None:
    y_true, y_pred = [[0, 1, 0], [0, 1, 1]], [[0, 1, 0], [0, 1, 0]]
    mine, other = both("jaccard_score")
    np.testing.assert_array_equal(mine(y_true, y_pred, average=None, zero_division=nan), [nan, 1, 0])
    averages = {"macro": 0.5, "micro": 2 / 3, "weighted": 2 / 3, "samples": 0.75}
    for average, expected in averages.items():
        assert mine(y_true, y_pred, average=average, zero_division=nan) == pytest.approx(expected)
        assert refuses(other, y_true, y_pred, average=average, zero_division=nan)
    assert np.isnan(mine([0, 0], [0, 0], zero_division=nan))


@pytest.mark.parametrize("labels", [[], [1, 1], [0, 1, 0], np.array([1, 1])])
@pytest.mark.parametrize("y", [[0, 1, 1], [[0, 1], [1, 1], [1, 0]]], ids=["vector", "matrix"])
def test_duplicated_or_empty_labels_are_refused(y: list[object], labels: list[int] | NDArray[np.int64]) -> None:
    mine, other = both("f1_score")
    assert refuses(mine, y, y, labels=labels, average=None)
    assert len(other(y, y, labels=np.array(labels, int), average=None)) == len(labels)


def test_beta_is_finite() -> None:
    for name in ("fbeta_score", "precision_recall_fscore_support"):
        mine, other = both(name)
        assert refuses(mine, [0, 1, 1], [0, 1, 0], beta=inf)
        assert not refuses(other, [0, 1, 1], [0, 1, 0], beta=inf)


@pytest.mark.parametrize(("y", "labels"), [([0, 1, 1], ["a"]), (["a", "b", "a"], [0]), (["a", "b", "a"], ["a", 1])])
def test_labels_are_all_strings_or_all_numbers(y: list[object], labels: list[object]) -> None:
    """scikit-learn turns the numbers into strings."""
    mine, other = both("f1_score")
    assert refuses(mine, y, y, labels=labels, average=None)
    assert not refuses(other, y, y, labels=labels, average=None)


def test_support_is_whole_without_weights_and_real_with_weights() -> None:
    """scikit-learn gives floats where no prediction of a vector is right, integers for matrices of zeros."""
    mine, other = both("precision_recall_fscore_support")
    wrong, nothing = ([0, 1], [1, 0]), ([[0, 0]], [[0, 0]])
    assert [f(*wrong, zero_division=0)[3].dtype.kind for f in (mine, other)] == ["i", "f"]
    assert [f(*nothing, zero_division=0, sample_weight=[2])[3].dtype.kind for f in (mine, other)] == ["f", "i"]


def test_classes_may_be_numbers_in_an_object_array() -> None:
    y_true, y_pred = np.array([0, 1, 1], object), np.array([0, 1, 0], object)
    mine, other = both("f1_score")
    assert mine(y_true, y_pred) == pytest.approx(2 / 3)
    assert refuses(other, y_true, y_pred)


def test_our_warning_is_our_own() -> None:
    for module, category in ((ours, thresholds.UndefinedMetricWarning), (theirs, None)):
        with pytest.warns(UserWarning, match=r"^F-score is ill-defined") as caught:
            assert module.f1_score([[0, 1]], [[0, 1]], average="macro") == 0.5
        assert len(caught) == 1
        assert (caught[0].category is thresholds.UndefinedMetricWarning) == (category is not None)
