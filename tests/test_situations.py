"""Situations that people ask about: the right values are counted by hand, or those of the exhaustive twin."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

import thresholds
from tests.naive import exhaustive
from tests.naive.exhaustive import best_known_macro
from tests.pets import LISTS, NAMES, SCORES, TRUTH
from thresholds import InputError, metrics


def objective(y_true: Any, y_score: Any, **options: Any) -> Any:
    """What a fit claims to reach."""
    return thresholds.fit_empirical(y_true, y_score, **options).objective


# Metrics


@pytest.mark.parametrize(("labels", "macro"), [([0, 1], 1 / 3), ([0, 1, 2], 2 / 9), ([1, 3], 1 / 3)])
def test_an_average_over_some_labels_of_a_matrix(labels: list[int], macro: float) -> None:
    """F1 of the labels 0 to 3 is 0, 2/3, 0 and 0."""
    truth = [[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    decided = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]
    assert metrics.f1_score(truth, decided, labels=labels, average="macro", zero_division=0) == pytest.approx(macro)


def test_f1_is_0_and_not_undefined_where_a_class_is_only_predicted_or_only_true() -> None:
    classes, decided = [0, 1, 0, 3], [0, 1, 2, 2]
    assert metrics.f1_score(classes, decided, average=None, zero_division=np.nan) == pytest.approx([2 / 3, 1, 0, 0])
    assert metrics.f1_score(classes, decided, average="macro", zero_division=np.nan) == pytest.approx(5 / 12)


def test_a_report_may_have_a_class_that_does_not_occur() -> None:
    report = metrics.averages_report([0, 2], [0, 2], labels=[0, 1, 2], label_names=["a", "b", "c"])
    rows = [line.split() for line in str(report).splitlines()[2:5]]
    assert [(row[0], float(row[3])) for row in rows] == [("a", 1), ("b", 0), ("c", 1)]
    with pytest.raises(InputError, match="label_names"):
        metrics.averages_report([0, 2], [0, 2], label_names=["a", "b", "c"])


def test_micro_f1_of_a_matrix_laid_flat_is_accuracy() -> None:
    truth = np.array([[1, 0, 0, 0], [0, 1, 0, 0]])
    decided = np.array([[1, 1, 0, 0], [0, 0, 0, 0]])
    assert metrics.f1_score(truth.ravel(), decided.ravel(), average="micro") == pytest.approx(6 / 8)
    assert metrics.f1_score(truth, decided, average="micro") == pytest.approx(1 / 2)


def test_counts_are_exact_beyond_what_float32_holds() -> None:
    n_samples = 2**24 + 3
    ones = np.ones((n_samples, 1), np.uint8)
    assert metrics.confusion_counts(ones, ones).tp.tolist() == [n_samples]


# Scores of every kind


def test_half_precision_is_read_as_it_is() -> None:
    scores = np.array([[0.5015], [0.5068], [0.4597], [0.5176], [0.4873], [0.5049]], np.float16)
    truth = np.array([[1], [0], [1], [1], [0], [0]])
    assert objective(truth, scores) == best_known_macro(truth, scores.astype(float))
    with pytest.raises(InputError, match=r"\+inf"):
        objective(truth, np.where(scores > 0.51, np.float16(np.inf), scores))

    # More rows than half precision counts.
    ones = np.ones((70_000, 1), np.float16)
    assert objective(ones, ones, average="micro") == 1.0


def test_logits_and_their_probabilities_are_decided_alike() -> None:
    logits = np.log(SCORES / (1 - SCORES))
    of_logits, of_scores = (thresholds.fit_empirical(TRUTH, scores) for scores in (logits, SCORES))
    assert of_logits.objective == of_scores.objective == best_known_macro(TRUTH, SCORES)
    assert np.array_equal(of_logits.predict(logits), of_scores.predict(SCORES))


@pytest.mark.parametrize(("threshold", "row"), [(0.0, [0.0, -0.1]), (-1.5, [-1.5, -2.0])])
def test_a_threshold_may_be_0_or_negative(threshold: float, row: list[float]) -> None:
    assert thresholds.FixedRule(threshold, 2).predict([row]).tolist() == [[1, 0]]


@pytest.mark.parametrize("form", [sparse.lil_matrix, sparse.csc_matrix, sparse.dok_matrix])
def test_matrices_of_scikit_multilearn_are_read(form: Any) -> None:
    assert objective(form(TRUTH), form(SCORES)) == best_known_macro(TRUTH, SCORES)
    assert objective(form(TRUTH.astype(np.int8)), SCORES) == best_known_macro(TRUTH, SCORES)


def test_batches_of_two_precisions_are_refused() -> None:
    rows = thresholds.Accumulator()
    rows.update(TRUTH[:3], SCORES[:3].astype(np.float16))
    with pytest.raises(InputError, match="float16"):
        rows.update(TRUTH[3:], SCORES[3:].astype(np.float32))


# What occurs in truth


@pytest.mark.parametrize("zero_division", [0, 1])
def test_a_label_may_have_only_negatives(zero_division: int) -> None:
    truth = TRUTH.copy()
    truth[:, 1] = 0
    rule = thresholds.fit_empirical(truth, SCORES, zero_division=float(zero_division))
    assert rule.objective == best_known_macro(truth, SCORES, zero_division=zero_division)
    assert rule.unsupported.tolist() == [False, True, False]
    assert not rule.predict(SCORES)[:, 1].any()


def test_a_row_may_have_no_label_in_truth_and_in_decisions() -> None:
    truth = np.vstack([TRUTH, np.zeros((5, 3), int)])
    scores = np.vstack([SCORES, np.full((5, 3), 0.05)])
    assert objective(truth, scores) == best_known_macro(truth, scores)
    rows = [[0, 0], [1, 0]]
    by_row = [metrics.f1_score(rows, rows, average="samples", zero_division=value) for value in (0, 1, np.nan)]
    assert by_row == [0.5, 1, 1]


def test_a_fit_finds_the_cut_between_close_scores_that_a_grid_misses() -> None:
    scores = np.array([[0.5001], [0.5002], [0.5003], [0.5004]])
    truth = np.array([[0], [1], [1], [0]])
    grid = max(exhaustive.macro(truth, scores > cut, 1.0, 0.0) for cut in np.linspace(0, 1, 100))
    assert float(grid) == pytest.approx(2 / 3)
    assert objective(truth, scores) == best_known_macro(truth, scores) == pytest.approx(4 / 5)


# Frames and names


def test_frames_are_matched_by_name() -> None:
    truth, scores = pd.DataFrame(TRUTH, columns=NAMES), pd.DataFrame(SCORES, columns=NAMES)
    assert objective(truth[["emu", "cat", "dog"]], scores) == best_known_macro(TRUTH, SCORES)
    with pytest.raises(InputError, match="'Cat'"):
        objective(truth.rename(columns={"cat": "Cat"}), scores)


def test_a_pivot_table_is_scores_and_its_holes_are_named() -> None:
    cells = [(row, name, SCORES[row, label]) for row in range(7) for label, name in enumerate(NAMES)]
    long = pd.DataFrame(cells, columns=["id", "label", "score"])
    categories = long.assign(label=long["label"].astype("category"))
    wide = categories.pivot_table(index="id", columns="label", values="score", observed=False)
    truth = pd.DataFrame(TRUTH, columns=NAMES, index=wide.index)
    assert objective(truth, wide) == best_known_macro(TRUTH, SCORES)
    holes = long[long["score"] > 0.15].pivot(index="id", columns="label", values="score")
    with pytest.raises(InputError, match="at row 0, label 'emu'"):
        objective(truth, holes)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_binarizer_of_scikit_learn_and_back(is_sparse: bool) -> None:
    coder = MultiLabelBinarizer(sparse_output=is_sparse)
    rule = thresholds.fit_empirical(coder.fit_transform(LISTS), SCORES, label_names=coder.classes_)
    assert rule.objective == best_known_macro(TRUTH, SCORES)
    decided = rule.predict(SCORES)
    assert [list(row) for row in coder.inverse_transform(decided)] == thresholds.to_label_lists(decided, NAMES)
