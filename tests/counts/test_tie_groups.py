"""What a database counts by label and score is fitted as the rows are."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.counts.test_fits import assert_same
from thresholds import Counts, InputError, fit_empirical


def groups_of(y_true: Any, y_score: Any) -> tuple[Any, ...]:
    """GROUP BY label, score: label, score, positives and rows of each group."""
    rows: Counter[Any] = Counter()
    hits: Counter[Any] = Counter()
    for truths, scores in zip(y_true.tolist(), y_score.tolist(), strict=True):
        for label, (truth, score) in enumerate(zip(truths, scores, strict=True)):
            rows[label, score] += 1
            hits[label, score] += truth
    groups = [(label, score, hits[label, score], n) for (label, score), n in rows.items()]
    return tuple(map(list, zip(*groups, strict=True)))


@pytest.mark.parametrize(
    "options",
    [
        {"guard": None},
        {"average": "micro", "guard": None},
        {"guard": "shrink"},
        {"guard": None, "max_overprediction": 1.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_rows", [200, 3000])
def test_groups_are_what_rows_are(n_rows: int, options: dict[str, Any]) -> None:
    """In any order, each score in one group or in several; more scores than bins need no second pass."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((n_rows, 3)) < 0.2, rng.random((n_rows, 3)).round(4)
    names = ["b", "a", "c"]
    halves = [groups_of(y_true[half::2], y_score[half::2]) for half in (0, 1)]
    label, score, positives, rows = (np.concatenate(columns) for columns in zip(*halves, strict=True))
    order = rng.permutation(label.size)
    columns = [column[order] for column in (score, positives, rows)]
    counts = Counts.from_tie_groups(np.array(names)[label[order]], *columns, label_names=names)
    assert_same(counts.fit(**options), fit_empirical(y_true, y_score, label_names=names, **options))
    assert Counts.from_tie_groups(np.array(names)[label], score, positives, rows).label_names == ("a", "b", "c")


def test_groups_of_parts_add_up() -> None:
    rng = np.random.default_rng(1)
    y_true, y_score = rng.random((3000, 2)) < 0.2, rng.random((3000, 2)).round(4)
    parts = [Counts.from_tie_groups(*groups_of(y_true[part::3], y_score[part::3])) for part in range(3)]
    assert_same(sum(parts).fit("micro"), fit_empirical(y_true, y_score, "micro", guard="pool"))
    # Beside counts in bins they are put into bins.
    counts = parts[0] + Counts.of(y_true[1::3], y_score[1::3]) + parts[2]
    np.testing.assert_array_equal(counts.bins.weights, Counts.of(y_true, y_score).bins.weights)


def test_rows_without_a_group_have_the_missing_score() -> None:
    """Where the number of rows is given: the groups of a sparse matrix's entries are enough."""
    y_true = np.array([[1, 0], [0, 1], [0, 0], [1, 0]])
    y_score = sparse.csr_array([[0.5, 0], [0, 0.25], [0, 0], [0.75, 0.5]])
    counts = Counts.from_tie_groups(
        label=[0, 0, 1, 1], score=[0.5, 0.75, 0.25, 0.5], positives=[1, 1, 1, 0], rows=[1, 1, 1, 1], n_samples=4
    )
    for options in ({}, {"keep_sparse": True}):
        assert_same(counts.fit("micro", guard=None, **options), fit_empirical(y_true, y_score, "micro", **options))


def test_labels_of_fewer_rows_are_those_of_unknown_truth() -> None:
    """Without a number of rows, a label is known where it has groups."""
    y_true = np.array([[1, 1], [0, -1], [0, 0], [1, -1]])
    y_score = np.array([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.75, 0.5]])
    counts = Counts.from_tie_groups([0, 0, 0, 1, 1], [0.5, 0.25, 0.75, 0.5, 0.25], [1, 0, 1, 1, 0], [1, 1, 2, 1, 1])
    assert_same(counts.fit(guard=None), fit_empirical(y_true, y_score, unknown=-1))


GROUPS: dict[str, Any] = {"label": [0, 1], "score": [0.5, 0.25], "positives": [1, 0], "rows": [1, 2]}
BAD: dict[str, dict[str, Any]] = {
    r"label has 0.0 of type float, expected names, or whole numbers": {"label": [0, 1.5]},
    r"label has -1, expected positions from 0": {"label": [0, -1]},
    r"label has position 1, expected at most 0": {"n_labels": 1},
    r"label has 'b', expected labels of label_names": {"label": ["a", "b"], "label_names": ["a"]},
    r"score has 1 values, expected 2 as label has": {"score": [0.5]},
    r"score has nan at place 1, expected real scores": {"score": [0.5, np.nan]},
    r"n_samples is 1000000000000000000000000000000, expected less than": {"n_samples": 10**30},
    r"n_labels is 10000000000, expected at most": {"n_labels": 10**10},
    r"label has shape \(\), expected a list, one label for each group": {"label": "x"},
    r"positives has 2 at place 0 with 1 rows, expected no more than rows": {"positives": [2, 0]},
    r"rows has 1.5 at place 1, expected whole numbers of at least 0": {"rows": [1, 1.5]},
    r"rows has -1.0 at place 1, expected whole numbers of at least 0|rows has -1 at place 1": {"rows": [1, -1]},
    r"rows has 2 rows of label 1 in all, expected at most n_samples, 1": {"n_samples": 1},
    r"missing is nan": {"missing": np.nan, "n_samples": 5},
}


@pytest.mark.parametrize("message", BAD)
def test_what_are_no_groups_is_refused(message: str) -> None:
    with pytest.raises(InputError, match=f"^({message})"):
        Counts.from_tie_groups(**{**GROUPS, **BAD[message]})
