"""Counts say what one more pass has to count, until they can be fitted: coarse, narrowed, fitted."""

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from tests.cases import small_cases
from tests.chunks.test_counts import Rows, assert_equal, draw_more, of_case
from tests.chunks.trees import over_blocks
from thresholds import Candidates, Counts, InputError, ThresholdRule, fit_empirical

Array = NDArray[np.generic]


def candidates_of(rows: Rows, rng: Generator) -> Candidates:
    """The first pass."""

    def read(part: slice) -> Candidates:
        pair, options = rows.of(part)
        return Candidates.of(*pair, **options)

    return over_blocks(read, rows.n, rng)


def fitted(
    rows: Rows, average: str, n_coarse: int, *, narrowed: bool, rng: Generator, **options: Any
) -> tuple[ThresholdRule, list[Candidates]]:
    """The rule, and what each counting pass was asked for; `narrowed` where candidates are known."""
    candidates = candidates_of(rows, rng)
    unit = None if rows.sample_weight is None else candidates.weight_unit
    needed = candidates.quantiles(n_coarse)
    asked = []
    while needed is not None:
        asked.append(needed)

        def count(part: slice, at: Candidates = needed) -> Counts:
            pair, about = rows.of(part)
            return Counts.of(*pair, at, weight_unit=unit, **about)

        counts = over_blocks(count, rows.n, rng)
        needed = counts.needed_for(average, candidates=candidates if narrowed else None, **options)
        assert len(asked) < 5
    return counts.fit(average, **options), asked


@pytest.mark.parametrize("narrowed", [True, False])
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_a_few_cuts_are_enough_to_begin_with(average: str, narrowed: bool) -> None:
    """Whatever the scores: the rule is that of all rows, bit for bit."""
    for i, case in enumerate(small_cases(20, seed=26)):
        rows, options = of_case(case)
        rng = np.random.default_rng(i)
        rule, _ = fitted(rows, average, int(rng.integers(1, 4)), narrowed=narrowed, rng=rng, **options)
        expected = fit_empirical(case.y_true, case.y_score, average, sample_weight=case.sample_weight, **options)
        assert_equal(rule, expected, exactly=case.dyadic_weights)


@pytest.mark.parametrize("narrowed", [True, False])
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_so_it_is_for_sparse_scores_and_unknown_truth(average: str, narrowed: bool) -> None:
    """Absent cells are counted where `missing` lies."""
    for seed in range(16):
        rng = np.random.default_rng([seed, 7])
        rows = draw_more(rng)
        try:
            expected = fit_empirical(
                rows.y_true, rows.y_score, average, sample_weight=rows.sample_weight, **dict(rows.about)
            )
        except InputError:
            continue
        rule, _ = fitted(rows, average, 2, narrowed=narrowed, rng=rng)
        assert_equal(rule, expected)


def draw(n_rows: int, n_labels: int, seed: int) -> Rows:
    """Labels from rare to usual, of scores that tell something."""
    rng = np.random.default_rng(seed)
    rates = np.geomspace(0.01, 0.5, n_labels)
    y_true = rng.random((n_rows, n_labels)) < rates
    return Rows(y_true, (rng.normal(size=y_true.shape) + 1.5 * y_true).astype(np.float32))


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_two_passes_of_which_the_second_counts_at_few_candidates(average: str) -> None:
    """What the first leaves is a small part."""
    rows = draw(20_000, 6, seed=0)
    rng = np.random.default_rng(0)
    rule, asked = fitted(rows, average, 32, narrowed=True, rng=rng)
    assert_equal(rule, fit_empirical(rows.y_true, rows.y_score, average))
    assert len(asked) == 2
    assert asked[0].n_candidates == 6 * 32
    assert asked[1].n_candidates < 0.25 * rows.y_true.sum()


def test_counts_at_too_few_candidates_are_not_fitted() -> None:
    """They say what to do."""
    rows = draw(2_000, 3, seed=1)
    coarse = candidates_of(rows, np.random.default_rng(0)).quantiles(8)
    counts = Counts.of(rows.y_true, rows.y_score, coarse)
    with pytest.raises(InputError, match="at what needed_for returns"):
        counts.fit()


def test_counts_of_all_scores_need_no_more() -> None:
    """Neither tie groups, nor counts at the scores of all positives."""
    rows = draw(500, 3, seed=2)
    candidates = Candidates.of(rows.y_true, rows.y_score)
    assert candidates.needed_for("micro") is candidates
    for at in (None, candidates):
        counts = Counts.of(rows.y_true, rows.y_score, at)
        for options in ({"average": "micro"}, {"max_predicted": 100.0}, {"min_recall": 0.5}):
            assert counts.needed_for(**options) is None


def test_candidates_of_other_rows_are_refused() -> None:
    """Those that were counted at scores of positives which they do not have."""
    rows = draw(2_000, 2, seed=3)
    some = Candidates.of(rows.y_true[:30], rows.y_score[:30])
    counts = Counts.of(rows.y_true, rows.y_score, some)
    with pytest.raises(InputError, match="candidates lack scores of positives"):
        counts.needed_for("macro", candidates=some)
