"""What holds of the metrics whatever the input: orders that do not matter, equalities between them, and bounds."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from tests.metrics.targets import CONTAINERS, draw_weights, indicators, vectors
from thresholds import metrics as ours

Array = NDArray[np.generic]
SHAPES = [(1, 1), (4, 1), (2, 3), (7, 2), (30, 5), (9001, 3), (70_000, 3)]
SMALL = [shape for shape in SHAPES if shape[0] < 100]
AVERAGES = ("micro", "macro", "weighted", "f_of_averages")
COUNTS = ("tp", "fp", "fn", "tn", "predicted", "positives")
nan = float("nan")

seeded = settings(derandomize=True, deadline=None, max_examples=50)
seeds = st.integers(0, 2**32 - 1)
classes = st.integers(2, 5)


def rng_of(*numbers: int) -> Generator:
    """A generator of its own for each test and case."""
    return np.random.default_rng(numbers)


def single_label(seed: int, n_classes: int) -> tuple[list[object], list[object]]:
    """A pair of vectors."""
    rng = rng_of(seed, n_classes)
    return vectors(rng, tuple(range(n_classes)), int(rng.integers(1, 30)))


def pair(shape: tuple[int, int], seed: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A pair of 0/1 matrices."""
    return indicators(rng_of(*shape, seed), shape)


# Equalities and bounds


@seeded
@given(seeds, classes)
def test_f_of_averages_is_at_least_the_average_of_f_and_less_than_half_above(seed: int, n_classes: int) -> None:
    """Opitz and Burst 2019, theorems 1 and 2."""
    y_true, y_pred = single_label(seed, n_classes)
    above, below = (ours.f1_score(y_true, y_pred, average=a, zero_division=0) for a in ("f_of_averages", "macro"))
    assert -1e-15 <= above - below < 0.5


@seeded
@given(seeds, classes)
def test_micro_is_accuracy_for_single_labels(seed: int, n_classes: int) -> None:
    y_true, y_pred = single_label(seed, n_classes)
    weights = draw_weights(rng_of(seed), len(y_true))
    expected = ours.accuracy_score(y_true, y_pred, sample_weight=weights)
    for score in (ours.precision_score, ours.recall_score, ours.f1_score):
        assert score(y_true, y_pred, average="micro", sample_weight=weights) == pytest.approx(expected, abs=1e-15)


@seeded
@given(seeds, classes, st.sampled_from([0.01, 0.5, 1.0, 3.0, 100.0]))
def test_scores_lie_between_0_and_1(seed: int, n_classes: int, beta: float) -> None:
    y_true, y_pred = single_label(seed, n_classes)
    weights = draw_weights(rng_of(seed), len(y_true))
    for average in (None, *AVERAGES):
        options = {"average": average, "sample_weight": weights, "zero_division": 1, "beta": beta}
        for score in ours.precision_recall_fscore_support(y_true, y_pred, **options)[:3]:
            assert np.all((np.asarray(score) >= 0) & (np.asarray(score) <= 1))
    skill = ours.skill_score(y_true, y_pred, sample_weight=weights)
    assert np.isnan(skill) or 0 <= skill <= 1


@seeded
@given(seeds, classes)
def test_perfect_predictions_score_1(seed: int, n_classes: int) -> None:
    y, _ = single_label(seed, n_classes)
    for average in AVERAGES:
        assert ours.f1_score(y, y, average=average) == ours.accuracy_score(y, y) == 1
    assert np.isnan(ours.skill_score(y, y)) == (len({*y}) == 1)
    assert np.isnan(ours.skill_score(y, y)) or ours.skill_score(y, y) == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_skill_of_the_complements_is_the_same(shape: tuple[int, int]) -> None:
    y_true, y_pred = pair(shape)
    for weights in (None, rng_of(1).integers(1, 4, shape[0])):
        expected = ours.skill_score(y_true, y_pred, sample_weight=weights)
        assert expected.shape == (shape[1],)
        np.testing.assert_array_equal(ours.skill_score(1 - y_true, 1 - y_pred, sample_weight=weights), expected)


@seeded
@given(seeds)
def test_skill_of_weighted_counts_is_the_skill(seed: int) -> None:
    """However unequal the weights, it is not above 1."""
    rng = rng_of(seed)
    y_true, y_pred = indicators(rng, (int(rng.integers(2, 12)), 2))
    weights = rng.exponential(size=len(y_true)) * 10.0 ** rng.integers(-3, 4, len(y_true))
    for predicted in (y_true, y_pred):
        expected = ours.skill_score(y_true, predicted, sample_weight=weights)
        counts = ours.confusion_counts(y_true, predicted, sample_weight=weights)
        np.testing.assert_allclose(counts.skill(), expected, rtol=0, atol=1e-12)
        for ratio in (counts.skill(), counts.accuracy(), counts.pooled().accuracy()):
            assert not np.any(ratio > 1)


@pytest.mark.parametrize("shape", SMALL)
def test_skill_is_0_for_one_class_everywhere(shape: tuple[int, int]) -> None:
    y_true, _ = pair(shape)
    for constant in (np.zeros(shape, int), np.ones(shape, int)):
        assert set(ours.skill_score(y_true, constant)[~np.isnan(ours.skill_score(y_true, constant))]) <= {0.0}


@pytest.mark.parametrize("shape", SHAPES)
def test_accuracies_agree(shape: tuple[int, int]) -> None:
    """Subset accuracy is at most that of cells, which is the mean of the labels' accuracies."""
    y_true, y_pred = pair(shape)
    cells = ours.multilabel_accuracy(y_true, y_pred)
    assert ours.accuracy_score(y_true, y_pred) <= cells
    assert cells == pytest.approx(np.mean(y_true == y_pred), abs=1e-15)
    labels = [ours.accuracy_score(y, h) for y, h in zip(y_true.T, y_pred.T, strict=True)]
    assert cells == pytest.approx(np.mean(labels), abs=1e-15)
    np.testing.assert_allclose(ours.confusion_counts(y_true, y_pred).accuracy(), labels, rtol=0, atol=1e-15)


# What does not matter


def numbers(y_true: object, y_pred: object, weights: Array | None = None, samples: bool = False) -> dict[str, object]:
    """Every number about truth and predictions that does not name its labels."""
    options = {"sample_weight": weights, "zero_division": 1}
    averages = (*AVERAGES, *(["samples"] if samples else []))
    found: dict[str, object] = {
        average: ours.f1_score(y_true, y_pred, average=average, **options) for average in averages
    }
    found["accuracy"] = ours.accuracy_score(y_true, y_pred, sample_weight=weights)
    if samples:
        found["cells"] = ours.multilabel_accuracy(y_true, y_pred, sample_weight=weights)
        found["skill"] = ours.macro_skill_score(y_true, y_pred, sample_weight=weights)
    return found


def alike(got: dict[str, object], expected: dict[str, object]) -> bool:
    """Whether all numbers are equal but for rounding."""
    return got == pytest.approx(expected, rel=0, abs=1e-14, nan_ok=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_weight_of_2_is_the_row_twice(shape: tuple[int, int]) -> None:
    y_true, y_pred = pair(shape)
    weights = rng_of(2).integers(0, 3, shape[0]) if shape[0] > 1 else np.array([2])
    weights[0] = 2
    repeated = (np.repeat(y, weights, axis=0) for y in (y_true, y_pred))
    assert alike(numbers(y_true, y_pred, weights, samples=True), numbers(*repeated, samples=True))
    columns = (np.repeat(y[:, 0], weights) for y in (y_true, y_pred))
    assert alike(numbers(y_true[:, 0], y_pred[:, 0], weights), numbers(*columns)) or shape == (1, 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_rows_does_not_matter(shape: tuple[int, int]) -> None:
    y_true, y_pred = pair(shape)
    weights, order = rng_of(3).integers(1, 4, shape[0]), rng_of(4).permutation(shape[0])
    expected = numbers(y_true, y_pred, weights, samples=True)
    assert alike(numbers(y_true[order], y_pred[order], weights[order], samples=True), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_labels_does_not_matter(shape: tuple[int, int]) -> None:
    y_true, y_pred = pair(shape)
    order = rng_of(5).permutation(shape[1])
    assert alike(numbers(y_true[:, order], y_pred[:, order], samples=True), numbers(y_true, y_pred, samples=True))
    expected = ours.f1_score(y_true, y_pred, average=None, zero_division=nan)[order]
    chosen = ours.f1_score(y_true, y_pred, average=None, zero_division=nan, labels=order)
    np.testing.assert_array_equal(chosen, expected)


@seeded
@given(seeds, classes)
def test_the_names_of_classes_do_not_matter(seed: int, n_classes: int) -> None:
    y_true, y_pred = single_label(seed, n_classes)
    names = [f"class {i}" for i in rng_of(seed).permutation(n_classes)]
    renamed = ([names[c] for c in y] for y in (y_true, y_pred))
    assert alike(numbers(*renamed), numbers(y_true, y_pred))


@pytest.mark.each_value
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("shape", [(7, 2), (30, 5), (9001, 3)])
def test_containers_do_not_matter(shape: tuple[int, int], container: str) -> None:
    y_true, y_pred = pair(shape)
    weights, put = rng_of(6).integers(1, 4, shape[0]), CONTAINERS[container]
    expected = numbers(y_true, y_pred, weights, samples=True)
    for arguments in ((put(y_true), put(y_pred)), (put(y_true), y_pred), (y_true, put(y_pred))):
        assert numbers(*arguments, weights, samples=True) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


# Counts


def assert_same_counts(got: object, expected: object, exact: bool) -> None:
    """All counts are the same."""
    for name in COUNTS:
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=0 if exact else 1e-12, atol=0)


@pytest.mark.parametrize("put", [np.asarray, sparse.csr_array, lambda x: x.astype(bool)], ids=["dense", "CSR", "bool"])
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_of_chunks_add_up(shape: tuple[int, int], put: Callable[[Array], object]) -> None:
    y_true, y_pred = pair(shape)
    for weights in (None, rng_of(7).integers(1, 4, shape[0]), rng_of(7).exponential(size=shape[0])):
        whole = ours.confusion_counts(put(y_true), put(y_pred), sample_weight=weights)
        cuts = sorted({0, shape[0], *rng_of(8).integers(0, shape[0], 2).tolist()})
        chunks = [slice(a, b) for a, b in pairwise(cuts)]
        first, *others = (
            ours.confusion_counts(put(y_true[c]), put(y_pred[c]), sample_weight=None if weights is None else weights[c])
            for c in chunks
        )
        assert_same_counts(sum(others, start=first), whole, exact=weights is None)


@seeded
@given(seeds, classes)
def test_counts_of_chunks_of_classes_add_up(seed: int, n_classes: int) -> None:
    y_true, y_pred = single_label(seed, n_classes)
    labels, half = list(range(n_classes)), len(y_true) // 2
    whole = ours.confusion_counts(y_true, y_pred, labels=labels)
    if half:
        first, second = (
            ours.confusion_counts(y_true[c], y_pred[c], labels=labels) for c in (slice(half), slice(half, None))
        )
        assert_same_counts(first + second, whole, exact=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_of_rows_and_labels_have_the_same_sum(shape: tuple[int, int]) -> None:
    y_true, y_pred = pair(shape)
    by_label, by_row = (ours.confusion_counts(y_true, y_pred, samplewise=s).pooled() for s in (False, True))
    assert_same_counts(by_label, by_row, exact=True)
    assert by_label.tp + by_label.fp + by_label.fn + by_label.tn == [y_true.size]


@seeded
@given(seeds, classes)
def test_ratios_of_counts_are_the_scores(seed: int, n_classes: int) -> None:
    y_true, y_pred = single_label(seed, n_classes)
    weights = draw_weights(rng_of(seed), len(y_true))
    found = ours.confusion_counts(y_true, y_pred, sample_weight=weights)
    options = {"average": None, "zero_division": nan, "sample_weight": weights}
    p, r, f, support = ours.precision_recall_fscore_support(y_true, y_pred, beta=2.0, **options)
    jaccard = ours.jaccard_score(y_true, y_pred, **options)
    for got, expected in zip(
        (found.precision(), found.recall(), found.f_score(beta=2.0), found.positives, found.jaccard()),
        (p, r, f, support, jaccard),
        strict=True,
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=0)
