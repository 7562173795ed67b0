"""Counts of parts of the rows are fitted as all rows are: bit for bit, in any order, of every kind."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import small_cases
from tests.counts.draws import KINDS, Rows, added, draw, fitted
from tests.naive.exhaustive import best_micro
from thresholds import Counts, InputError, fit_empirical

OPTIONS: list[dict[str, Any]] = [
    {"average": "macro"},
    {"average": "macro", "beta": 0.3, "placement": "mid"},
    {"average": "weighted", "beta": 2.0, "zero_division": 1.0},
    {"average": "micro"},
    {"average": "micro", "beta": 0.5, "placement": "score"},
    {"average": "macro", "keep_sparse": False},
    {"average": "micro", "keep_sparse": False},
    {"average": "macro", "max_overprediction": 1.5},
    {"average": "macro", "min_precision": 0.5},
    {"average": "macro", "min_recall": 0.5, "beta": 2.0},
    {"average": "macro", "max_overprediction": 0.7, "min_precision": 0.6},
]
GUARDED: list[dict[str, Any]] = [
    {"average": "macro", "guard": "shrink"},
    {"average": "weighted", "guard": "shrink", "beta": 0.5},
    {"average": "micro", "guard": "pool"},
    {"average": "macro", "guard": "shrink", "max_overprediction": 1.2},
    {"average": "macro", "guard": "shrink", "min_precision": 0.4, "min_recall": 0.2},
]


def of_rows(rows: Rows, average: str, **options: Any) -> Any:
    """The fit of all rows at once."""
    return fit_empirical(rows.y_true, rows.y_score, average, sample_weight=rows.sample_weight, **rows.about, **options)


def assert_same(rule: Any, expected: Any) -> None:
    """Bit for bit."""
    np.testing.assert_array_equal(rule.thresholds, expected.thresholds)
    assert rule.objective == expected.objective
    np.testing.assert_array_equal(rule.unsupported, expected.unsupported)
    assert (rule.guard, rule.label_names, rule.missing) == (expected.guard, expected.label_names, expected.missing)
    np.testing.assert_array_equal(rule.fitted_on.positives, expected.fitted_on.positives)
    np.testing.assert_array_equal(rule.fitted_on.known, expected.fitted_on.known)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    options=st.sampled_from(OPTIONS),
    most=st.sampled_from([2, 3, 8, 64, 1024]),
)
def test_any_parts_in_any_order_are_fitted_as_all_rows_are(
    kind: str, seed: int, options: dict[str, Any], most: int
) -> None:
    """However few bins labels have: the fewer, the more scores are collected."""
    rng = np.random.default_rng(seed)
    rows = draw(kind, rng)
    assert_same(fitted(rows, rng, most=most, **options), of_rows(rows, **options))


@pytest.mark.parametrize("options", GUARDED, ids=str)
@pytest.mark.parametrize("kind", ["dense", "ties", "weighted", "unknown", "sparse"])
def test_guards_read_the_bins_that_they_read_of_rows(kind: str, options: dict[str, Any]) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = draw(kind, rng, n_rows=3000 if seed % 2 else 300)  # more scores than bins, or fewer
        rule, expected = fitted(rows, rng, **options), of_rows(rows, **options)
        assert_same(rule, expected)
        for name in ("unguarded", "guarded", "predicted_before", "predicted_after", "f_before", "f_after"):
            np.testing.assert_array_equal(getattr(rule.guard_report, name), getattr(expected.guard_report, name))


def test_thresholds_are_those_of_the_exhaustive_twin() -> None:
    for seed, case in enumerate(one for one in small_cases(60, seed=9) if one.sample_weight is None):
        rows = Rows(case.y_true, case.y_score, None, {})
        rule = fitted(rows, np.random.default_rng(seed), "micro", most=2, beta=case.beta)
        _, best = best_micro(case.y_true, case.y_score, case.beta, 0.0)
        assert rule.objective == pytest.approx(float(best), abs=1e-15)


def test_a_rule_says_that_it_was_fitted_to_counts() -> None:
    rows = draw("dense", np.random.default_rng(0), 2000)
    rule, expected = fitted(rows, np.random.default_rng(0), "macro"), of_rows(rows, "macro")
    assert (rule.made_by.function, rule.profile) == ("Counts.fit", None)
    np.testing.assert_allclose(rule.fitted_on.quantiles, expected.fitted_on.quantiles, rtol=0.02, atol=0.01)


def test_few_scores_need_no_second_pass() -> None:
    """Of three decimals there are 1,001, and bins are 1,024."""
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((20_000, 3)) < 0.1, rng.random((20_000, 3)).round(3)
    assert Counts.of(y_true, y_score).needed_for("micro", guard="pool") is None


def test_few_of_many_scores_are_collected() -> None:
    rng = np.random.default_rng(0)
    y_true = rng.random((50_000, 2)) < 0.02
    y_score = (rng.normal(size=y_true.shape) + 2 * y_true).astype(np.float32)
    counts = Counts.of(y_true, y_score)
    needed = counts.needed_for("macro", guard=None)
    assert needed is not None
    assert Counts.of(y_true, y_score, needed).bins.weights.sum() < 0.05 * y_score.size
    assert counts.nbytes < 2 * 26_000
    assert needed.nbytes < 200


def test_what_is_open_is_refused() -> None:
    counts = added(draw("dense", np.random.default_rng(0), 2000), np.random.default_rng(0))
    with pytest.raises(InputError, match=r"^counts are in bins, in some of which the best thresholds may lie"):
        counts.fit(guard=None)


REFUSED = {
    "average is 'samples', a mean over rows": {"average": "samples", "per_label": False},
    "max_predicted_per_row is 3, a limit of rows": {"max_predicted_per_row": 3},
    "per_label is False, one threshold for all labels": {"average": "micro", "per_label": False},
    "max_predicted is 5.0, a budget of all labels": {"max_predicted": 5},
    "confidence is 0.9, a test of every score": {"min_recall": 0.5, "confidence": 0.9},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_counts_do_not_tell_is_refused(message: str) -> None:
    counts = Counts.of([[1], [0]], [[0.5], [0.25]])
    for fit in (counts.fit, counts.needed_for):
        with pytest.raises(InputError, match=f"^{message}.*, or fit_empirical with the rows"):
            fit(**REFUSED[message])


def test_cells_that_are_counted_cannot_be_read() -> None:
    """What would need rows fails where it is written, not where it would be wrong."""
    problem = Counts.of([[1], [0]], [[0.5], [0.25]]).problem()
    assert (problem.n_samples, problem.n_labels, len(problem.scores)) == (2, 1, 2)
    with pytest.raises(AssertionError, match="only counts of these rows are known"):
        problem.scores[0]
    with pytest.raises(AssertionError, match="only counts of these rows are known"):
        np.asarray(problem.truth)


def test_the_cut_nearest_to_a_guards_within_limits_is_that_of_rows() -> None:
    """An end of a bin without positives is none, however near it lies."""
    rng = np.random.default_rng(0)
    low = 0.4 + 0.5 * rng.random(5000)
    y_score = np.append([0.9994, 0.9993, 0.9992, 0.9991, 0.95], low)[:, np.newaxis]
    y_true = np.append([1, 1, 1, 0, 0], (rng.random(5000) < 0.2) & (low < 0.88))[:, np.newaxis]
    rows, options = Rows(y_true, y_score, None, {}), {"guard": "shrink", "min_precision": 0.55}
    assert_same(fitted(rows, rng, "macro", **options), of_rows(rows, "macro", **options))


@pytest.mark.parametrize("seed", [95, 108])
def test_what_is_closed_stays_so(seed: int) -> None:
    """Two passes suffice, though scores that are known give other bounds of the best ratio."""
    rng = np.random.default_rng(seed)
    y_true = rng.random((3000, 4)) < rng.uniform(0, 0.6, 4) ** 2
    y_score = 1 - 1e-4 / (1 + np.exp(-rng.normal(size=(3000, 4)) - rng.uniform(-1, 3, 4) * y_true))
    y_score[rng.random((3000, 4)) < 0.5] = 0
    rows = Rows(y_true, y_score, rng.integers(0, 4, 3000) * 1.0, {})
    assert_same(fitted(rows, rng, "micro"), of_rows(rows, "micro"))


def test_other_options_may_need_other_scores() -> None:
    """Those that are known already are asked for no more."""
    rng = np.random.default_rng(4)
    rows = draw("dense", rng, 5000)
    counts = added(rows, rng)
    for options in ({"average": "macro"}, {"average": "micro"}, {"average": "macro", "max_overprediction": 1.5}):
        needed = counts.needed_for(**{"guard": None, **options})
        if needed is not None:
            counts = counts.with_scores(added(rows, rng, needed))
        assert_same(counts.fit(**{"guard": None, **options}), of_rows(rows, **options))
        again = added(rows, rng).needed_for(**{"guard": None, **options})
        counts = counts if again is None else counts.with_scores(added(rows, rng, again))
        assert_same(counts.fit(**{"guard": None, **options}), of_rows(rows, **options))
