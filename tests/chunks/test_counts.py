"""Counts of blocks, added in any order, fit as all rows do, bit for bit."""

import pickle
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from tests.cases import Case, cases, small_cases
from tests.chunks.trees import over_blocks
from tests.naive import counts as twin
from tests.naive.exhaustive import best_micro
from thresholds import Candidates, Counts, InputError, ThresholdRule, fit_empirical
from thresholds._kernels.keys import to_scores
from thresholds.data.counted import CountedProblem
from thresholds.fitting.options import FitOptions

Array = NDArray[np.generic]
FORMS = ["tie groups", "candidates"]


@dataclass(frozen=True)
class Rows:
    """Rows of a fit, and how they are to be read."""

    y_true: Any
    y_score: Any
    sample_weight: Array | None = None
    about: tuple[tuple[str, Any], ...] = ()  # missing, unknown, label_names

    def of(self, part: slice) -> tuple[tuple[Any, Any], dict[str, Any]]:
        """Arguments and options of a block."""
        weights = None if self.sample_weight is None else self.sample_weight[part]
        return (self.y_true[part], self.y_score[part]), dict(self.about, sample_weight=weights)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y_score.shape[0])


def counted(rows: Rows, form: str, rng: Generator) -> Counts:
    """Counts of blocks of the rows, added in any order."""

    def candidates_of(part: slice) -> Candidates:
        pair, options = rows.of(part)
        return Candidates.of(*pair, **options)

    candidates = over_blocks(candidates_of, rows.n, rng)
    unit = None if rows.sample_weight is None else candidates.weight_unit

    def counts_of(part: slice) -> Counts:
        pair, options = rows.of(part)
        return Counts.of(*pair, candidates if form == "candidates" else None, weight_unit=unit, **options)

    return over_blocks(counts_of, rows.n, rng)


def assert_equal(rule: ThresholdRule, expected: ThresholdRule, *, exactly: bool = True) -> None:
    """The rule is that of all rows, bit for bit."""
    np.testing.assert_array_equal(rule.thresholds, expected.thresholds)
    np.testing.assert_array_equal(rule.unsupported, expected.unsupported)
    assert rule.objective == (expected.objective if exactly else pytest.approx(expected.objective, rel=1e-12))
    assert rule.fitted_on is not None
    assert expected.fitted_on is not None
    assert replace(rule.fitted_on, quantiles=()) == replace(expected.fitted_on, quantiles=())
    record = {"objective": None, "fitted_on": None, "profile": None}
    for name in set(vars(rule)) - {*record, "thresholds", "unsupported"}:
        assert getattr(rule, name) == getattr(expected, name), name


def of_case(case: Case) -> tuple[Rows, dict[str, Any]]:
    """The rows of a case, and options of its fit."""
    rows = Rows(case.y_true, case.y_score, case.sample_weight)
    return rows, {"beta": case.beta, "zero_division": case.zero_division}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_small_cases_fit_as_their_rows_do(average: str, form: str) -> None:
    """Ties, neighbouring floats, masked cells, signed zeros, weights of all kinds."""
    for i, case in enumerate(small_cases(24, seed=25)):
        rows, options = of_case(case)
        rule = counted(rows, form, np.random.default_rng(i)).fit(average, **options)
        expected = fit_empirical(case.y_true, case.y_score, average, sample_weight=case.sample_weight, **options)
        assert_equal(rule, expected, exactly=case.dyadic_weights)


@settings(max_examples=30, deadline=None)
@given(case=cases(), seed=st.integers(0, 2**32 - 1), form=st.sampled_from(FORMS))
def test_any_case_fits_as_its_rows_do(case: Case, seed: int, form: str) -> None:
    """And so do those that Hypothesis looks for."""
    rows, options = of_case(case)
    rule = counted(rows, form, np.random.default_rng(seed)).fit("micro", **options)
    expected = fit_empirical(case.y_true, case.y_score, "micro", sample_weight=case.sample_weight, **options)
    assert_equal(rule, expected, exactly=case.dyadic_weights)


def draw_more(rng: Generator) -> Rows:
    """Rows with unknown truth, or sparse, with `missing` above, among or below the stored scores."""
    shape = int(rng.integers(3, 50)), int(rng.integers(1, 5))
    truth = (rng.random(shape) < 0.3).astype(np.int8)
    scores = np.round(rng.normal(size=shape) + truth, int(rng.integers(0, 3))).astype(rng.choice(["f4", "f8"]))
    weights = rng.integers(0, 4, shape[0]) + (rng.random() < 0.5) if rng.random() < 0.5 else None
    about: dict[str, Any] = {}
    y_true, y_score = truth, scores
    if rng.random() < 0.5:
        y_true = np.where(rng.random(shape) < 0.2, -1, truth).astype(np.int8)
        about["unknown"] = -1
    if rng.random() < 0.7:
        y_score = sparse.csr_array(np.where(rng.random(shape) < 0.5, scores, 0))
        about["missing"] = float(rng.choice([0.0, 0.5, -1.5, 9.0, -np.inf]))
    if rng.random() < 0.4:
        y_true = sparse.csr_array(y_true)
    return Rows(y_true, y_score, weights, tuple(about.items()))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_sparse_scores_and_unknown_truth_are_counted_as_they_are_fitted(average: str, form: str) -> None:
    """Absent cells weigh what stored ones leave; cells of unknown truth nothing."""
    n_fitted = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 7])
        rows = draw_more(rng)
        options = {"keep_sparse": bool(rng.random() < 0.5), "placement": rng.choice(["low", "mid", "score"])}
        try:
            expected = fit_empirical(
                rows.y_true, rows.y_score, average, sample_weight=rows.sample_weight, **dict(rows.about), **options
            )
        except InputError as error:  # All weights are 0, or no truth is known: so it is of counts.
            with pytest.raises(InputError, match=str(error).split(",")[0]):
                counted(rows, form, rng).fit(average, **options)
            continue
        assert_equal(counted(rows, form, rng).fit(average, **options), expected)
        n_fitted += 1
    assert n_fitted > 15


def test_tie_groups_are_those_of_a_dictionary_of_cells() -> None:
    """The twin adds up one cell after another."""
    for i, case in enumerate(small_cases(60, seed=3)):
        counts = counted(of_case(case)[0], "tie groups", np.random.default_rng(i))
        items = counts.tally.tied
        found = {}
        for j in range(counts.n_labels):
            own = items.of(j, j + 1)
            for x, hits, weight in zip(to_scores(own.keys).tolist(), *(a.tolist() for a in own[2:]), strict=True):
                found[j, x] = (hits * naive_unit(counts), weight * naive_unit(counts))
        expected = twin.tie_groups(case.y_true, case.y_score, case.sample_weight)
        if case.dyadic_weights:
            assert found == expected
        assert found.keys() == expected.keys()


def naive_unit(counts: Counts) -> Fraction:
    """The unit of weights as a rational number."""
    return Fraction(counts.kind.unit)


def test_runs_between_candidates_are_those_of_a_dictionary_of_cells() -> None:
    """A run weighs what lies between two candidates, and knows the highest score there."""
    for i, case in enumerate(c for c in small_cases(80, seed=4) if c.dyadic_weights):
        counts = counted(of_case(case)[0], "candidates", np.random.default_rng(i))
        groups = twin.tie_groups(case.y_true, case.y_score, case.sample_weight)
        cuts = twin.candidates(groups, counts.n_labels)
        expected = twin.pieces(groups, cuts)
        found: twin.Pieces = {}
        for j in range(counts.n_labels):
            own = counts.tally.counted.of(j, j + 1)
            assert own.keys.size == 2 * len(cuts[j]) + 1
            for place, (key, hits, weight) in enumerate(
                zip(to_scores(own.keys).tolist(), own.positive_weights.tolist(), own.weights.tolist(), strict=True)
            ):
                name = (j, "at", cuts[j][place // 2]) if place % 2 else (j, "run", float(place // 2))
                if weight:
                    found[name] = (hits * naive_unit(counts), weight * naive_unit(counts), key)
        assert found == expected


def test_candidates_are_the_scores_of_positives() -> None:
    """Whatever the blocks and their order."""
    for i, case in enumerate(small_cases(60, seed=5)):
        rows, _ = of_case(case)
        found = over_blocks(
            lambda part, rows=rows: Candidates.of(*rows.of(part)[0], **rows.of(part)[1]),
            rows.n,
            np.random.default_rng(i),
        )
        expected = twin.candidates(
            twin.tie_groups(case.y_true, case.y_score, case.sample_weight), rows.y_score.shape[1]
        )
        assert [found.scores_of(j).tolist() for j in range(found.n_labels)] == expected
        assert found.n_samples == rows.n


def test_the_range_of_scores_is_known_after_the_first_pass() -> None:
    """Of every dtype: whole, of either sign, masked."""
    for case in small_cases(60, seed=6):
        candidates = Candidates.of(case.y_true, case.y_score)
        assert (candidates.lowest, candidates.highest) == (case.y_score.min(), case.y_score.max())


def test_order_and_tree_change_no_bit() -> None:
    """Addition is associative and commutative: the arrays are the same."""
    for seed in range(16):
        rows = draw_more(np.random.default_rng([seed, 7]))
        for form in FORMS:
            one, other = (counted(rows, form, np.random.default_rng([seed, k])) for k in (1, 2))
            assert one.at == other.at
            assert one.totals.divisor == other.totals.divisor
            for mine, theirs in zip((*one.tally[0], *one.tally[1]), (*other.tally[0], *other.tally[1]), strict=True):
                np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(one.lowest, other.lowest)


@pytest.mark.parametrize("form", FORMS)
def test_counts_travel_as_pickles(form: str) -> None:
    """As an executor sends them."""
    rows = draw_more(np.random.default_rng([1, 7]))
    rng = np.random.default_rng(0)
    counts = counted(rows, form, rng)
    copy = pickle.loads(pickle.dumps(counts))
    assert_equal((counts + copy).fit(), (copy + counts).fit())
    np.testing.assert_array_equal(copy.fit().thresholds, counts.fit().thresholds)


def test_sum_adds_them() -> None:
    """Python's `sum` begins with 0."""
    y_true, y_score = np.eye(4, 2), np.arange(8.0).reshape(4, 2)
    parts = [Counts.of(y_true[k : k + 1], y_score[k : k + 1]) for k in range(4)]
    assert_equal(sum(parts).fit(), fit_empirical(y_true, y_score))
    assert sum([Candidates.of(y_true, y_score)]).n_candidates == 2


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_block_may_have_no_rows(make: Any) -> None:
    """As the parts of a cluster's data may."""
    y_true, y_score = make(np.eye(4, 2)), make(np.arange(8.0).reshape(4, 2))
    parts = [slice(0, 0), slice(0, 3), slice(3, 3), slice(3, 4)]
    candidates = sum(Candidates.of(y_true[rows], y_score[rows]) for rows in parts)
    assert candidates.n_samples == 4
    expected = fit_empirical(y_true, y_score, "micro")
    for at in (None, candidates):
        assert_equal(sum(Counts.of(y_true[rows], y_score[rows], at) for rows in parts).fit("micro"), expected)
        with pytest.raises(InputError, match="the counts have no rows"):
            Counts.of(y_true[:0], y_score[:0], at).fit()


def test_what_a_database_groups_is_what_rows_are() -> None:
    """GROUP BY label, score: positives and rows."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((200, 3)) < 0.2, rng.integers(0, 9, (200, 3)) / 8
    names = ["b", "a", "c"]
    rows = Counter((j, x) for row in y_score.tolist() for j, x in enumerate(row))
    hits = Counter(
        (j, x) for t, s in zip(y_true.tolist(), y_score.tolist(), strict=True) for j, x in enumerate(s) if t[j]
    )
    groups = [(names[j], x, hits[j, x], n) for (j, x), n in rows.items()]
    label, score, positives, n_rows = zip(*(groups[k] for k in rng.permutation(len(groups))), strict=True)
    counts = Counts.from_tie_groups(label, score, positives, n_rows, label_names=names)
    assert_equal(counts.fit("micro"), fit_empirical(y_true, y_score, "micro", label_names=names))
    in_order = Counts.from_tie_groups(label, score, positives, n_rows)
    assert in_order.label_names == ("a", "b", "c")


def test_rows_without_a_group_have_the_missing_score() -> None:
    """Where the number of rows is given: the groups of a sparse matrix's entries are enough."""
    y_true = np.array([[1, 0], [0, 1], [0, 0], [1, 0]])
    y_score = sparse.csr_array([[0.5, 0], [0, 0.25], [0, 0], [0.75, 0.5]])
    counts = Counts.from_tie_groups(
        label=[0, 0, 1, 1], score=[0.5, 0.75, 0.25, 0.5], positives=[1, 1, 1, 0], rows=[1, 1, 1, 1], n_samples=4
    )
    for options in ({}, {"keep_sparse": True}):
        assert_equal(counts.fit("micro", **options), fit_empirical(y_true, y_score, "micro", **options))


def test_labels_of_fewer_rows_are_those_of_unknown_truth() -> None:
    """Without a number of rows, a label is known where it has groups."""
    y_true = np.array([[1, 1], [0, -1], [0, 0], [1, -1]])
    y_score = np.array([[0.5, 0.5], [0.25, 0.75], [0.75, 0.25], [0.75, 0.5]])
    counts = Counts.from_tie_groups([0, 0, 0, 1, 1], [0.5, 0.25, 0.75, 0.5, 0.25], [1, 0, 1, 1, 0], [1, 1, 2, 1, 1])
    assert_equal(counts.fit(), fit_empirical(y_true, y_score, unknown=-1))


def test_quantiles_of_scores_are_kept_where_rows_are_not() -> None:
    """`fitted_on` tells scores of another kind from those of the fit."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((500, 4)) < 0.2, rng.normal(size=(500, 4))
    for form in FORMS:
        rule = counted(Rows(y_true, y_score), form, rng).fit()
        assert rule.profile is None
        np.testing.assert_allclose(rule.fitted_on.quantiles[0], y_score.min())
        assert rule.fitted_on.share_outside(100 + y_score, 0.0) == 1


def test_cells_that_are_counted_cannot_be_read() -> None:
    """What would need rows fails where it is written, not where it would be wrong."""
    problem = Counts.of([[1], [0]], [[0.5], [0.25]]).problem(FitOptions())
    assert isinstance(problem, CountedProblem)
    assert (problem.n_samples, problem.n_labels) == (2, 1)
    with pytest.raises(AssertionError, match="only counts of these cells are known"):
        problem.scores[0]
    with pytest.raises(AssertionError, match="only counts of these cells are known"):
        np.asarray(problem.truth)


def test_thresholds_are_those_of_the_exhaustive_twin() -> None:
    """Not only those of the library."""
    for i, case in enumerate(c for c in small_cases(40, seed=9) if c.dyadic_weights):
        rule = counted(of_case(case)[0], "candidates", np.random.default_rng(i)).fit("micro", beta=case.beta)
        _, best = best_micro(case.y_true, case.y_score, case.beta, 0.0, case.sample_weight)
        assert rule.objective == pytest.approx(float(best), abs=1e-15)


def test_weights_are_counted_in_their_finest_unit() -> None:
    """The sum that decides on it is exact, whatever the order of the rows."""
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=1000)
    y_true, y_score = rng.random((1000, 2)) < 0.3, rng.normal(size=(1000, 2))
    rows = Rows(y_true, y_score, weights)
    assert_equal(
        counted(rows, "candidates", rng).fit("micro"),
        fit_empirical(y_true, y_score, "micro", sample_weight=weights),
        exactly=False,
    )


def test_sizes_are_stated() -> None:
    """A tie group takes 20 bytes of float32 scores, a candidate 4, counts at it 40."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((1000, 3)) < 0.2, rng.normal(size=(1000, 3)).astype(np.float32)
    candidates = Candidates.of(y_true, y_score)
    assert candidates.n_candidates == y_true.sum()
    assert candidates.nbytes == pytest.approx(4 * y_true.sum(), abs=100)
    assert Counts.of(y_true, y_score, candidates).nbytes == pytest.approx(40 * y_true.sum(), abs=300)
    assert Counts.of(y_true, y_score).nbytes == pytest.approx(20 * 3000, abs=300)
    assert repr(candidates) == f"Candidates(1,000 rows, 3 labels, {y_true.sum()} float32 scores)"
    assert repr(Counts.of(y_true, y_score)) == "Counts(1,000 rows, 3 labels, 3,000 tie groups)"
