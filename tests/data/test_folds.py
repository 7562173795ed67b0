"""`multilabel_folds` against its twin; what folds keep, and what they do not depend on."""

import tracemalloc
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from tests.naive import folds as twin
from thresholds import InputError, multilabel_folds

Array = NDArray[np.generic]
Ints = NDArray[np.int64]

NAMES = [0, "a", 2.5, b"0", True, -3, "b", "0", np.float32(7.5), np.str_("c"), np.int8(9)]
ROWS = np.eye(4, 2, dtype=int)


@dataclass(frozen=True, eq=False)
class Split:
    """Arguments of one call."""

    name: str
    y_true: Array
    n_folds: int
    seed: int
    groups: list[Hashable] | None

    @property
    def folds(self) -> Ints:
        """What the library gives."""
        return multilabel_folds(self.y_true, self.n_folds, groups=self.groups, random_state=self.seed)


def splits(count: int, seed: int) -> Iterator[Split]:
    """Small matrices, sparse and full, with empty and full labels; half of them in groups of a few rows."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        n, m = int(rng.choice([2, 3, 7, 20, 40])), int(rng.choice([1, 2, 4, 9]))
        truth = rng.random((n, m)) < rng.choice([0.0, 0.03, 0.2, 0.6, 0.95])
        truth[:, rng.random(m) < 0.2] = rng.random() < 0.5
        n_folds, groups = int(rng.integers(2, min(n, 6) + 1)), None
        if i % 2:
            groups = [NAMES[k] for k in rng.integers(rng.integers(n_folds, 12), size=n)]
            if len(set(groups)) < n_folds:
                continue
        yield Split(f"{seed}-{i}-{n}x{m}", truth.astype(np.uint8), n_folds, i, groups)


SPLITS = list(splits(400, seed=2011))


def counts(y_true: Array, folds: Ints) -> Ints:
    """Positives of each label in each fold."""
    return np.stack([y_true[folds == k].sum(axis=0, dtype=int) for k in range(folds.max() + 1)])


def deviation(y_true: Array, folds: Ints) -> NDArray[np.float64]:
    """How far the positives of each label in a fold are from equal shares, on average over folds."""
    in_folds = counts(y_true, folds)
    return np.abs(in_folds - in_folds.mean(axis=0)).mean(axis=0)


def apart(y_true: Array, folds: Ints) -> float:
    """The mean of that over labels."""
    return float(deviation(y_true, folds).mean())


def disjoint(rng: Generator, n: int, supports: list[int]) -> Array:
    """Labels of so many positives that share no rows, in any order of rows; the other rows have no label."""
    label = np.repeat(np.arange(len(supports) + 1), [*supports, n - sum(supports)])
    return (rng.permutation(label)[:, np.newaxis] == np.arange(len(supports))).astype(int)


# The twin


def test_folds_are_those_of_the_twin() -> None:
    assert len(SPLITS) > 350
    for split in SPLITS:
        expected = twin.folds(split.y_true.tolist(), split.n_folds, split.seed, split.groups)
        assert split.folds.tolist() == expected, split.name


def test_what_there_is_of_all_kinds() -> None:
    """The registry has what it says: groups, labels and rows without positives, units of several rows."""
    assert sum(split.groups is not None for split in SPLITS) > 100
    for grouped in (False, True):
        some = [split for split in SPLITS if (split.groups is not None) == grouped]
        assert any(not split.y_true.any() for split in some)
        assert any(split.y_true.all() for split in some)
        assert any((split.y_true.any(axis=1) ^ 1).sum() > 5 and split.y_true.any() for split in some)


def test_dtype_and_layout_do_not_matter() -> None:
    kinds = [bool, np.int64, np.float32, np.asfortranarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array]
    for split in SPLITS[::10]:
        for kind in kinds:
            cells = split.y_true.astype(kind) if isinstance(kind, type) and kind in kinds[:3] else kind(split.y_true)
            got = multilabel_folds(cells, split.n_folds, groups=split.groups, random_state=split.seed)
            assert got.tolist() == split.folds.tolist(), split.name


def test_explicit_zeros_are_no_positives() -> None:
    truth = (np.random.default_rng(0).random((60, 5)) < 0.2).astype(int)
    cells = sparse.csr_array(np.ones((60, 5)))
    cells.data[:] = truth.reshape(-1)
    assert multilabel_folds(cells, random_state=1).tolist() == multilabel_folds(truth, random_state=1).tolist()
    assert (cells.nnz, int(cells.sum())) == (300, truth.sum())


def test_one_dimension_is_one_label() -> None:
    truth = np.arange(30) % 3 == 0
    expected = multilabel_folds(truth[:, np.newaxis], 3, random_state=4)
    assert multilabel_folds(truth, 3, random_state=4).tolist() == expected.tolist()
    assert multilabel_folds(truth.tolist(), 3, random_state=4).tolist() == expected.tolist()


def test_what_comes_back() -> None:
    folds = multilabel_folds(ROWS, 2, random_state=0)
    assert (folds.dtype, folds.shape) == (np.int64, (4,))
    assert np.bincount(multilabel_folds(np.eye(7, 3), random_state=0)).size == 5  # The default.


@pytest.mark.parametrize("in_groups", [False, True])
def test_memory_is_that_of_a_few_numbers_for_each_positive(in_groups: bool) -> None:
    n = 100_000
    rng = np.random.default_rng(5)
    starts = np.arange(0, 10 * n + 1, 10)
    labels = 10 * np.tile(np.arange(10), n) + rng.integers(10, size=10 * n)
    truth = sparse.csr_array((np.ones(10 * n, np.uint8), labels.astype(np.int32), starts), shape=(n, 100))
    unit = rng.integers(n // 4, size=n)
    multilabel_folds(truth[:100], groups=unit[:100] if in_groups else None)  # compiles
    tracemalloc.start()
    multilabel_folds(truth, groups=unit if in_groups else None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * truth.nnz


# Seeds


def test_a_seed_gives_one_split_and_another_seed_another() -> None:
    truth = np.random.default_rng(0).random((200, 8)) < 0.1
    groups = (np.arange(200) // 2).tolist()
    for given in ({}, {"groups": groups}):
        first, again, other = (multilabel_folds(truth, random_state=seed, **given) for seed in (3, 3, 4))
        assert first.tolist() == again.tolist()
        assert (first != other).mean() > 0.5
        assert multilabel_folds(truth, random_state=np.int64(3), **given).tolist() == first.tolist()


def test_every_row_gets_into_every_fold_by_some_seed() -> None:
    """Ties are broken at random: over 500 seeds each row is in each of 5 folds within four standard errors of 100."""
    truth = np.arange(20)[:, np.newaxis] < [10, 3]
    drawn = np.array([multilabel_folds(truth, random_state=seed) for seed in range(500)])
    times = np.stack([(drawn == k).sum(axis=0) for k in range(5)])
    assert (np.abs(times - 100) < 4 * np.sqrt(500 * 0.2 * 0.8)).all()


# What folds keep


def test_labels_without_rows_in_common_are_cut_evenly() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_folds, supports = int(rng.integers(2, 8)), rng.integers(0, 40, 6).tolist()
        truth = disjoint(rng, sum(supports) + int(rng.choice([0, 1, 50])) + 8, supports)
        folds = multilabel_folds(truth, n_folds, random_state=seed)
        in_folds, n_rows = counts(truth, folds), np.bincount(folds, minlength=n_folds)
        np.testing.assert_array_equal(in_folds.min(axis=0), np.array(supports) // n_folds)
        np.testing.assert_array_equal(in_folds.max(axis=0), -(-np.array(supports) // n_folds))
        assert np.ptp(n_rows) <= 1


def test_the_rarest_label_is_cut_evenly_whatever_the_others_are() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.random((80, 6)) < [0.1, 0.5, 0.6, 0.7, 0.8, 0.9]
        assert truth[:, 0].sum() < truth[:, 1:].sum(axis=0).min()
        assert np.ptp(counts(truth, multilabel_folds(truth, 4, random_state=seed))[:, 0]) <= 1


def test_folds_are_of_nearly_equal_size() -> None:
    """Within one row where there are rows without labels enough; within a tenth for dense label sets."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        few, many = rng.random((600, 10)) < 0.04, rng.random((600, 40)) < np.geomspace(0.008, 0.5, 40)
        assert np.ptp(np.bincount(multilabel_folds(few, random_state=seed))) <= 1
        assert np.abs(np.bincount(multilabel_folds(many, random_state=seed)) - 120).max() <= 12


@pytest.mark.parametrize("seed", range(5))
def test_rare_labels_of_dense_label_sets_are_spread_far_better_than_at_random(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.random((600, 40)) < np.geomspace(0.008, 0.5, 40)
    folds, by_chance = multilabel_folds(truth, random_state=seed), rng.permutation(600) % 5
    positives = truth.sum(axis=0)
    for some in (positives <= 20, positives > 20):
        assert apart(truth[:, some], folds) < 0.5 * apart(truth[:, some], by_chance)
    assert (counts(truth, folds)[:, positives >= 5] > 0).all()  # No fold lacks a label that has a row for each.


def test_thousands_of_labels() -> None:
    rng = np.random.default_rng(0)
    label = (2000 * rng.random(40_000) ** 3).astype(int)
    truth = sparse.coo_array((np.ones(label.size), (np.repeat(np.arange(8_000), 5), label)), shape=(8_000, 2000))
    truth = sparse.csr_array(truth)
    truth.data[:] = 1
    folds, by_chance = multilabel_folds(truth, random_state=0), rng.permutation(8_000) % 5
    assert np.abs(np.bincount(folds) - 1600).max() < 12
    positives = truth.sum(axis=0)
    for low, high, better in ((2, 4, 0.7), (5, 20, 0.55), (21, 100, 0.8)):
        some = sparse.csc_array(truth)[:, np.flatnonzero((positives >= low) & (positives <= high))].toarray()
        assert apart(some, folds) < better * apart(some, by_chance)


def test_the_order_of_labels_does_not_matter_to_sizes() -> None:
    """Sizes of folds; and where labels share no rows, the sizes of their parts."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = rng.permutation(6)
        for truth in (disjoint(rng, 200, [3, 3, 17, 20, 20, 50]), rng.random((300, 6)) < 0.05):
            folds, again = (multilabel_folds(cells, random_state=seed) for cells in (truth, truth[:, order]))
            assert sorted(np.bincount(folds)) == sorted(np.bincount(again))
            if truth.sum(axis=1).max() <= 1:
                np.testing.assert_array_equal(
                    np.sort(counts(truth, folds), axis=0)[:, order], np.sort(counts(truth[:, order], again), axis=0)
                )


# Nothing to stratify


@pytest.mark.parametrize("cells", [np.zeros((23, 3)), np.ones((23, 3)), np.ones(23), sparse.csr_array((23, 3))])
def test_labels_that_say_nothing_give_equal_sizes(cells: object) -> None:
    folds = multilabel_folds(cells, 4, random_state=0)
    assert sorted(np.bincount(folds)) == [5, 6, 6, 6]


def test_as_many_folds_as_rows() -> None:
    truth = np.random.default_rng(0).random((9, 3)) < 0.4
    assert sorted(multilabel_folds(truth, 9, random_state=0)) == list(range(9))


def test_rows_without_labels_even_out_sizes() -> None:
    """Two rows with all labels and twelve without: the two stand apart, and the rest fills up."""
    truth = np.zeros((14, 3), int)
    truth[[2, 9]] = 1
    folds = multilabel_folds(truth, 2, random_state=0)
    assert folds[2] != folds[9]
    assert np.bincount(folds).tolist() == [7, 7]


# Groups


def test_groups_are_never_split() -> None:
    for split in SPLITS:
        if split.groups is not None:
            pairs = set(zip(split.groups, split.folds.tolist(), strict=True))
            assert len(pairs) == len(set(split.groups)), split.name


def test_groups_of_one_row_are_rows() -> None:
    for split in (split for split in SPLITS if split.groups is None):
        names = [f"row {i}" for i in range(len(split.y_true))]
        got = multilabel_folds(split.y_true, split.n_folds, groups=names, random_state=split.seed)
        assert got.tolist() == split.folds.tolist(), split.name


def test_names_of_groups_do_not_matter() -> None:
    truth, numbers = np.random.default_rng(0).random((60, 4)) < 0.2, np.arange(60) * 7 % 13
    expected = multilabel_folds(truth, groups=numbers, random_state=0).tolist()
    for groups in (
        numbers.tolist(),
        tuple(numbers.tolist()),
        (int(number) for number in numbers),
        -numbers,
        numbers / 3,
        numbers.astype(str),
        numbers.astype(object),
        [f"patient {number}" for number in numbers],
        [(number, None) for number in numbers.tolist()],
        np.datetime64("2013-01-01") + numbers,
    ):
        assert multilabel_folds(truth, groups=groups, random_state=0).tolist() == expected


def test_numbers_and_their_names_are_different_groups() -> None:
    folds = multilabel_folds(np.ones((4, 1)), 4, groups=[1, "1", 2, "2"], random_state=0)
    assert sorted(folds) == [0, 1, 2, 3]


def test_groups_are_spread_by_label_and_in_size() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        groups = rng.integers(150, size=600)
        rows, whole_groups = rng.random((600, 10)) < 0.04, (rng.random((150, 10)) < 0.02)[groups]
        by_chance = (rng.permutation(150) % 5)[groups]
        for truth in (rows, rows | whole_groups):
            folds = multilabel_folds(truth, groups=groups, random_state=seed)
            assert apart(truth, folds) < 0.5 * apart(truth, by_chance)
            most = np.bincount(groups).max() if truth is rows else 60
            assert np.ptp(np.bincount(folds)) <= most


def test_the_group_with_most_of_a_label_goes_first() -> None:
    """Groups with 4, 3, 2, 2 and 1 positives: 4 + 2 and 3 + 2 + 1, as the largest are dealt out first."""
    groups = np.repeat(list("edcba"), [4, 3, 2, 2, 1])
    for seed in range(10):
        folds = multilabel_folds(np.ones(12, int), 2, groups=groups, random_state=seed)
        assert np.bincount(folds).tolist() == [6, 6]
        assert folds[groups == "e"][0] != folds[groups == "d"][0]


# What is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_splits": 5}, r"y_true has 4 rows, expected at least n_splits=5$"),
        ({"n_splits": 1}, r"n_splits is 1, expected a whole number of at least 2$"),
        ({"groups": [0, 0, 1, 1], "n_splits": 3}, r"groups has 2 groups, expected at least n_splits=3$"),
        ({"groups": [0, 0, 1], "n_splits": 2}, r"groups has 3 entries, expected 4, one for each row$"),
        ({"groups": "abcd"}, r"groups is 'abcd', expected one name or number for each row$"),
        ({"groups": [0, 0, float("nan"), 1]}, r"groups has nan at row 2, expected a name or number$"),
        ({"groups": [0, None, 1, 2]}, r"groups has None at row 1, expected a name or number$"),
        ({"groups": np.ones((4, 2))}, r"groups has \[1.0, 1.0\] at row 0, expected a name or number$"),
        ({"random_state": -1}, r"random_state is -1, expected a whole number of at least 0$"),
        ({"y_true": 2 * ROWS}, r"y_true has 2 at row 0, label 0, expected only 0 and 1$"),
    ],
    ids=str,
)
def test_what_is_refused_and_how(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        multilabel_folds(**({"y_true": ROWS, "n_splits": 2} | given))


class NotAvailable:
    """A missing value that is neither equal to itself nor different, as that of pandas."""

    def __ne__(self, other: object) -> object:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "groups",
    [[np.arange(2)] * 4, [([1],)] * 4, [NotAvailable()] * 4, sparse.csr_array(np.ones((4, 1))), {0, 1, 2, 3}],
    ids=["arrays", "lists in tuples", "NA", "sparse", "set"],
)
def test_groups_that_are_neither_names_nor_numbers_are_refused(groups: object) -> None:
    with pytest.raises(InputError, match=r"^groups (has|is) "):
        multilabel_folds(ROWS, 2, groups=groups)
