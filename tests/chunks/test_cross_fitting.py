"""What a fit reaches on rows it has not seen, of rows in blocks: as of all rows at once with the same folds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from scipy import sparse

import thresholds
from thresholds import InputError, chunks
from thresholds.data.folds import hashed_folds, mark_of_folds

Array = np.ndarray[Any, Any]


@dataclass
class Blocks:
    """A function of blocks that can be pickled."""

    parts: list[Any]

    def __call__(self) -> Iterator[Any]:
        return iter(self.parts)


def drawn(rng: Generator, n: int = 300, n_labels: int = 4) -> tuple[Array, Array]:
    truth = rng.random((n, n_labels)) < [0.3, 0.1, 0.05, 0.2][:n_labels]
    return truth.astype(np.uint8), np.round(rng.normal(size=(n, n_labels)) + truth, 2).astype(np.float32)


def cut(rng: Generator, **columns: Any) -> list[Any]:
    """Blocks of rows of random sizes."""
    n = columns["y_score"].shape[0]
    ends = np.sort(rng.integers(0, n, 3))
    pieces = [slice(a, b) for a, b in zip([0, *ends], [*ends, n], strict=True)]
    return [{name: column[rows] for name, column in columns.items()} for rows in pieces]


def assert_same(found: Any, expected: Any) -> None:
    """Whether both reach the same, bit for bit; the result of blocks leaves out what looks at rows again."""
    assert found.in_sample == expected.in_sample
    assert found.out_of_fold == expected.out_of_fold
    np.testing.assert_array_equal(found.folds, expected.folds)
    np.testing.assert_array_equal(found.fold_thresholds, expected.fold_thresholds)
    assert found.spread.dtype == expected.spread.dtype
    for column in found.spread.dtype.names:
        np.testing.assert_array_equal(found.spread[column], expected.spread[column])
    kept = replace(expected.rule.out_of_fold, how=found.how, random_state=found.rule.out_of_fold.random_state)
    assert found.rule.to_dict() == replace(expected.rule, odds=None, out_of_fold=kept).to_dict()


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_that_of_all_rows_with_these_folds(average: Any, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    y_true, y_score = drawn(rng)
    weights = rng.integers(0, 4, len(y_true)) if weighted else None
    folds = hashed_folds(np.arange(len(y_true)), 5, 0)
    columns = {"y_true": y_true, "y_score": y_score}
    if weights is not None:
        folds[weights == 0] = -1
        columns["sample_weight"] = weights
    expected = thresholds.cross_fit(
        y_true, y_score, average, cv=folds, sample_weight=weights, guard=None, verdicts=False
    )
    found = chunks.cross_fit(Blocks(cut(rng, **columns)), average, guard=None)
    assert_same(found, expected)
    assert found.how == "by a hash of keys"
    assert "5 folds, by a hash of keys" in str(found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average": "micro"},
        {"max_predicted": 200.0},
        {"min_precision": 0.3, "confidence": 0.8},
        {"per_label": False, "guard": None},
    ],
)
def test_what_guards_and_limits_ask_for_is_counted(options: Any) -> None:
    rng = np.random.default_rng(3)
    y_true, y_score = drawn(rng)
    expected = thresholds.cross_fit(
        y_true, y_score, cv=hashed_folds(np.arange(len(y_true)), 3, 0), verdicts=False, **options
    )
    found = chunks.cross_fit(Blocks(cut(rng, y_true=y_true, y_score=y_score)), cv=3, **options)
    assert_same(found, expected)


@pytest.mark.parametrize("guard", ["auto", None])
def test_verdicts_are_those_of_rows(guard: Any) -> None:
    rng = np.random.default_rng(4)
    y_true, _ = drawn(rng)
    y_score = rng.normal(size=y_true.shape) + 2 * y_true  # of which no two are equal
    folds = hashed_folds(np.arange(len(y_true)), 3, 0)
    expected = thresholds.cross_fit(y_true, y_score, cv=folds, guard=guard)
    found = chunks.cross_fit(Blocks(cut(rng, y_true=y_true, y_score=y_score)), cv=3, guard=guard)
    assert_same(found, expected)
    assert found.verdicts is not None
    assert found.verdicts.to_dict() == expected.verdicts.to_dict()
    assert found.diagnosis.state.tolist() == expected.diagnosis.state.tolist()
    np.testing.assert_array_equal(found.diagnosis.caps, expected.diagnosis.caps)
    assert ("count as untied" in found.diagnosis.note) == (guard is None)  # A guard has all scores counted.


def test_rows_with_weights_have_no_verdicts() -> None:
    rng = np.random.default_rng(4)
    y_true, y_score = drawn(rng)
    blocks = cut(rng, y_true=y_true, y_score=y_score, sample_weight=np.full(len(y_true), 2.0))
    assert chunks.cross_fit(Blocks(blocks), cv=3, guard=None).verdicts is None


def test_scores_may_be_sparse_and_truth_unknown() -> None:
    rng = np.random.default_rng(1)
    y_true, y_score = drawn(rng)
    folds = hashed_folds(np.arange(len(y_true)), 3, 0)
    lists = sparse.csr_array(np.where(rng.random(y_score.shape) < 0.4, y_score, 0))
    found = chunks.cross_fit(
        Blocks(cut(rng, y_true=y_true, y_score=lists)), cv=3, guard=None, missing=-1.0, keep_sparse=True
    )
    options: dict[str, Any] = {"cv": folds, "guard": None, "verdicts": False}
    expected = thresholds.cross_fit(y_true, lists, missing=-1.0, keep_sparse=True, **options)
    assert_same(found, expected)

    partly = np.where(rng.random(y_true.shape) < 0.2, -1, y_true.astype(int))
    found = chunks.cross_fit(Blocks(cut(rng, y_true=partly, y_score=y_score)), cv=3, guard=None, unknown=-1)
    assert_same(found, thresholds.cross_fit(partly, y_score, unknown=-1, **options))


def test_rows_go_by_their_keys_and_groups_stay_together() -> None:
    rng = np.random.default_rng(2)
    y_true, y_score = drawn(rng)
    names = np.array([f"photo {k}" for k in range(len(y_true))])
    order = rng.permutation(len(y_true))
    in_order = chunks.cross_fit(Blocks(cut(rng, y_true=y_true, y_score=y_score, keys=names)), guard=None)
    shuffled = chunks.cross_fit(
        Blocks(cut(rng, y_true=y_true[order], y_score=y_score[order], keys=names[order])), guard=None
    )
    np.testing.assert_array_equal(shuffled.folds, in_order.folds[order])
    np.testing.assert_array_equal(shuffled.fold_thresholds, in_order.fold_thresholds)
    assert shuffled.out_of_fold == in_order.out_of_fold

    groups = np.arange(len(y_true)) // 7
    grouped = chunks.cross_fit(Blocks(cut(rng, y_true=y_true, y_score=y_score, groups=groups)), guard=None)
    assert all(len(set(grouped.folds[groups == group])) == 1 for group in groups)


@pytest.mark.parametrize("name", ["keys", "groups"])
def test_keys_that_change_between_passes_are_refused(name: str) -> None:
    """Rows would be judged by rules that were fitted on them."""
    y_true, y_score = drawn(np.random.default_rng(2))
    numbers = np.arange(len(y_true))
    passes = []

    def blocks() -> Iterator[dict[str, Any]]:
        passes.append(1)
        yield {"y_true": y_true, "y_score": y_score, name: numbers if len(passes) < 3 else numbers[::-1]}

    with pytest.raises(InputError, match="other keys or groups than in a pass before"):
        chunks.cross_fit(blocks, guard=None)


def test_marks_of_folds_add_up_and_tell_two_rows_that_change_places() -> None:
    folds = np.random.default_rng(0).integers(0, 5, 100)
    mark = mark_of_folds(folds, 7)
    assert (mark_of_folds(folds[:30], 7) + mark_of_folds(folds[30:], 37) - mark) % 2**64 == 0
    other = np.flatnonzero(folds != folds[0])[0]
    folds[[0, other]] = folds[[other, 0]]
    assert mark_of_folds(folds, 7) != mark


def test_a_fold_is_the_same_for_a_key_whatever_holds_it() -> None:
    keys = [3, 2**63 + 5, -1, 0]
    folds = hashed_folds(np.array(keys, object), 1000, 7)
    np.testing.assert_array_equal(hashed_folds(np.array([3, -1], np.int8), 1000, 7), folds[[0, 2]])
    np.testing.assert_array_equal(hashed_folds(np.array([2**63 + 5], np.uint64), 1000, 7), folds[[1]])
    assert hashed_folds(["a", "b"], 1000, 7)[1] == hashed_folds(["b"], 1000, 7)[0]
    assert (hashed_folds(np.arange(50), 1000, 7) != hashed_folds(np.arange(50), 1000, 8)).any()
    # Figures that were reported stay the same.
    assert hashed_folds([0, 1, 2, 3, 4], 5, 0).tolist() == [3, 1, 1, 3, 3]
    assert hashed_folds(["a", "b", "c"], 5, 0).tolist() == [4, 4, 3]


def test_folds_are_of_one_size_but_for_chance() -> None:
    sizes = np.bincount(hashed_folds(np.arange(100_000), 5, 0))
    assert abs(sizes - 20_000).max() < 5 * np.sqrt(100_000 * 0.2 * 0.8)
