"""Counts add up to those of all rows, in any order and any tree; what does not add up is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.counts.draws import KINDS, added, draw
from thresholds import Counts, InputError, fit_empirical

BINS = ("offsets", "lowest", "highest", "hits", "weights")


def assert_same_counts(found: Counts, expected: Counts) -> None:
    """Bit for bit."""
    assert (found.kind, found.most) == (expected.kind, expected.most)
    for mine, theirs in zip(found.totals, expected.totals, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for name in BINS:
        np.testing.assert_array_equal(getattr(found.bins, name), getattr(expected.bins, name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [1, 40, 4000])
def test_order_and_tree_change_no_bit(kind: str, n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    rows = draw(kind, rng, n_rows)
    y_true, y_score, about = rows.at(slice(None))
    whole = Counts.of(y_true, y_score, **about)
    for _ in range(3):
        assert_same_counts(added(rows, rng), whole)
    assert (np.diff(whole.bins.offsets) <= 1025).all()  # masked cells have a bin of their own
    np.testing.assert_array_equal(whole.bins.totals, whole.problem().weight_of_label * (3 if kind == "weighted" else 1))


def test_labels_are_known_by_name() -> None:
    rng = np.random.default_rng(4)
    y_true = pd.DataFrame(rng.random((3000, 3)) < 0.2, columns=["cat", "dog", "eel"])
    y_score = (rng.normal(size=(3000, 3)) + y_true).astype(np.float32)
    others = ["eel", "cat", "dog"]
    halves = [(y_true[:900], y_score[:900]), (y_true[900:][others], y_score[900:][others])]
    counts = sum(Counts.of(*half) for half in halves)
    needed = counts.needed_for(guard=None)
    counts = counts.with_scores(sum(Counts.of(*half, needed) for half in halves))
    expected = fit_empirical(y_true, y_score)
    rule = counts.fit(guard=None)
    assert (rule.label_names, rule.objective) == (expected.label_names, expected.objective)
    np.testing.assert_array_equal(rule.thresholds, expected.thresholds)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_a_part_may_have_no_rows(make: Any) -> None:
    """As the parts of a cluster's data may."""
    y_true, y_score = make(np.eye(4, 2)), make(np.arange(8.0).reshape(4, 2))
    parts = [slice(0, 0), slice(0, 3), slice(3, 3), slice(3, 4)]
    counts = sum(Counts.of(y_true[rows], y_score[rows]) for rows in parts)
    assert counts.n_samples == 4
    assert counts.label_names == (("0", "1") if make is pd.DataFrame else None)
    assert counts.fit("micro", guard=None).objective == fit_empirical(y_true, y_score, "micro").objective
    with pytest.raises(InputError, match="the counts have no rows"):
        Counts.of(y_true[:0], y_score[:0]).fit(guard=None)


def test_weights_are_multiples_of_a_unit() -> None:
    y_true, y_score, weights = np.eye(4, 2), np.arange(8.0).reshape(4, 2), [0.5, 1.25, 0, 0.75]
    counts = Counts.of(y_true, y_score, sample_weight=weights, weight_unit=0.25)
    expected = fit_empirical(y_true, y_score, sample_weight=weights)
    assert counts.fit(guard=None).objective == expected.objective
    assert counts.positives.tolist() == [0.5, 1.25]
    with pytest.raises(InputError, match=r"^sample_weight has 0.5 at row 0, expected whole numbers, or another"):
        Counts.of(y_true, y_score, sample_weight=weights)
    with pytest.raises(InputError, match=r"^weight_unit is 0.1, expected a whole number, or a power of two"):
        Counts.of(y_true, y_score, sample_weight=weights, weight_unit=0.1)
    with pytest.raises(InputError, match=r"^sample_weight has 1.25 at row 1, expected whole multiples of 0.5"):
        Counts.of(y_true, y_score, sample_weight=weights, weight_unit=0.5)


def test_weights_may_be_as_large_as_in_fits_of_rows() -> None:
    y_true, y_score, weights = [[0], [1], [1]], [[0.1], [0.2], [0.3]], [2**53, 2**53 - 1, 2**53]
    rule = Counts.of(y_true, y_score, sample_weight=weights).fit(guard=None)
    assert rule.objective == fit_empirical(y_true, y_score, sample_weight=weights).objective
    heavy = Counts.of([[1]], [[1.0]], sample_weight=[2**60])
    with pytest.raises(InputError, match=r"^sample_weight adds up to .* units, expected less than 2\*\*61"):
        sum([heavy] * 3)


def of(scores: Any, **about: Any) -> Counts:
    """Counts of rows whose labels are all true."""
    scores = np.array(scores, about.pop("dtype", np.float64))
    return Counts.of(np.ones(scores.shape), scores, **about)


OTHERS: dict[str, tuple[Any, str]] = {
    "nothing": (1, "other is 1, expected Counts"),
    "labels": (of([[1, 2]]), "other has 2 labels, expected 1 as here"),
    "names": (of([[1]], label_names=["a"]), "other has label_names, expected the same labels as here"),
    "dtype": (of([[1]], dtype=np.float32), "other has float32 scores, expected float64 ones as here"),
    "sparse": (Counts.of([[1]], sparse.csr_array([[1.0]])), "other has sparse float64 scores, expected float64 ones"),
    "missing": (of([[1]], missing=2), "other has missing=2.0, expected 0.0 as here"),
    "unit": (of([[1]], weight_unit=0.5), "other has weights in units of 0.5, expected 1.0 as here"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_does_not_add_up_is_refused(what: str) -> None:
    other, message = OTHERS[what]
    with pytest.raises(InputError, match=f"^{message}"):
        of([[1]]) + other


def wide(n_rows: int = 3000, seed: int = 0) -> tuple[Any, Any]:
    """Rows of more scores than bins."""
    rng = np.random.default_rng(seed)
    y_true = rng.random((n_rows, 1)) < 0.3
    return y_true, rng.normal(size=(n_rows, 1)) + y_true


def test_scores_in_ranges_are_those_of_the_same_rows() -> None:
    y_true, y_score = wide()
    counts = Counts.of(y_true, y_score)
    needed = counts.needed_for(guard=None)
    assert needed is not None
    again = Counts.of(y_true, y_score, needed)
    moved = y_score.copy()
    inside = np.flatnonzero((y_score >= needed.lowest[0]) & (y_score <= needed.highest[0]))[0]
    moved[inside] += 100
    wrong: dict[str, Any] = {
        r"^scores is 3, expected Counts in the ranges that needed_for returned": 3,
        r"^scores is Counts\(.*\), expected Counts in the ranges": counts,
        r"^scores has 2,999 rows, expected the 3,000 that were counted before": Counts.of(
            y_true[1:], y_score[1:], needed
        ),
        r"^scores has other scores or truth in its ranges than were counted before": Counts.of(y_true, moved, needed),
        r"^scores has other scores or truth": Counts.of(~y_true, y_score, needed),
        r"^scores has float32 scores, expected float64": Counts.of(
            y_true, y_score.astype(np.float32), Counts.of(y_true, y_score.astype(np.float32)).needed_for(guard=None)
        ),
    }
    for message, found in wrong.items():
        with pytest.raises(InputError, match=message):
            counts.with_scores(found)
    closed = counts.with_scores(again)
    assert closed.needed_for(guard=None) is None
    with pytest.raises(InputError, match=r"^counts have scores where they are needed, expected counts of all rows"):
        closed + counts
    with pytest.raises(InputError, match=r"^these counts are of all scores, and other of some ranges of them"):
        counts + again
    with pytest.raises(InputError, match=r"^other is counted in other ranges of scores, expected the same as here"):
        again + Counts.of(*wide(seed=1), Counts.of(*wide(seed=1)).needed_for(guard=None))
    with pytest.raises(InputError, match=r"^counts are of some ranges of scores alone, expected those of all"):
        again.fit(guard=None)
    with pytest.raises(InputError, match=r"^ranges is 'all', expected what needed_for returns, or None"):
        Counts.of(y_true, y_score, "all")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^y_score has 2 labels, expected 1 as here"):
        Counts.of(np.hstack([y_true] * 2), np.hstack([y_score] * 2), needed)


def test_counts_say_what_they_are() -> None:
    y_true, y_score = wide()
    counts = Counts.of(y_true, y_score)
    needed = counts.needed_for(guard=None)
    found = Counts.of(y_true, y_score, needed)
    assert repr(counts) == f"Counts(3,000 rows, 1 label, {counts.bins.lowest.size:,} bins)"
    assert repr(found) == f"Counts(3,000 rows, 1 label, {found.bins.lowest.size:,} scores in ranges)"
    assert repr(counts.with_scores(found)).endswith("bins, scores where needed)")
    assert repr(needed) == f"ScoreRanges({needed.n_ranges} ranges of 1 label)"
