"""A rule keeps what the scores of its fit looked like, in few bytes, wherever it comes from."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.naive import profiles
from thresholds import FixedRule, ThresholdRule, fit_empirical, load_rule
from thresholds.rule.watching.profile import LEVELS, ScoreProfile
from thresholds.rule.watching.row_sample import RowSample
from thresholds.rule.watching.sampling import evenly_spaced, most_rows

inf = float("inf")


def draw(n: int = 300, n_labels: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Truth and scores, those of label j around j."""
    rng = np.random.default_rng(seed)
    y_true = rng.random((n, n_labels)) < 0.2
    return y_true, rng.normal(size=y_true.shape) + np.arange(n_labels) + y_true


def profile(*args: Any, **options: Any) -> ScoreProfile:
    """The profile of a fit."""
    found = fit_empirical(*args, **options).profile
    assert found is not None
    return found


# What it holds


@pytest.mark.parametrize("n", [1, 2, 7, 100, 101])
def test_quantiles_are_scores_of_the_fit(n: int) -> None:
    y_true, y_score = draw(n)
    y_score[:, 1] = np.round(y_score[:, 1])
    found = profile(y_true, y_score).quantiles
    assert len(LEVELS) == len(profiles.LEVELS)
    for j in range(4):
        assert found[j].tolist() == profiles.quantiles(y_score.astype(np.float32)[:, j].tolist())


def test_masked_cells_are_no_scores() -> None:
    y_true, y_score = draw(100)
    y_score[::2, 1] = -inf
    y_score[:, 2] = -inf
    found = profile(y_true, y_score)
    assert found.scored.tolist() == [100, 50, 0, 100]
    assert found.quantiles[1].tolist() == profiles.quantiles(y_score[1::2, 1].astype(np.float32).tolist())
    assert np.isnan(found.quantiles[2]).all()
    assert found.rows["scored"] == (2.5, 0.5)


def test_of_sparse_scores_the_stored_ones_are_described() -> None:
    y_true, y_score = draw(100)
    dense = np.where(y_score > 1, y_score, 0)
    found = profile(y_true, sparse.csr_array(dense), keep_sparse=True)
    assert found.sparse
    assert found.scored.tolist() == (dense != 0).sum(axis=0).tolist()
    for j in range(4):
        stored = dense[dense[:, j] != 0, j].astype(np.float32).tolist()
        assert found.quantiles[j].tolist() == profiles.quantiles(stored)


FITS: dict[str, Callable[[Any, Any], Any]] = {
    "macro": lambda y, s: fit_empirical(y, s),
    "shrink": lambda y, s: fit_empirical(y, s, guard="shrink"),
    "micro": lambda y, s: fit_empirical(y, s, "micro"),
    "shared": lambda y, s: fit_empirical(y, s, "samples", per_label=False),
    "weights of 1": lambda y, s: fit_empirical(y, s, sample_weight=np.ones(len(s))),
    "cross-fitted": lambda y, s: thresholds.cross_fit(y, s).rule,
    "expected": lambda y, s: thresholds.fit_expected(expit(s)),
    "expected, exact": lambda y, s: thresholds.fit_expected(expit(s), exact=True),
    "rows": lambda y, s: thresholds.fit_expected(expit(s), "samples"),
    "top k": lambda y, s: thresholds.fit_top_k(y, s),
    "regions": lambda y, s: thresholds.fit_regions(y, s),
    "by hand": lambda y, s: FixedRule(1.0, 4).watching(s),
}


def expit(scores: Any) -> Any:
    """Probabilities of logits."""
    return 1 / (1 + np.exp(-scores))


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_predictions_are_those_of_predict(fit: Callable[[Any, Any], Any]) -> None:
    y_true, y_score = draw()
    rule = fit(y_true, y_score)
    given = expit(y_score) if getattr(rule, "expected", None) or rule.kind == "instance" else y_score
    decided = rule.predict(given)
    assert rule.profile.predicted.tolist() == decided.sum(axis=0).tolist()
    assert rule.profile.n_rows == 300
    labels = decided.sum(axis=1)
    assert rule.profile.rows["labels"] == pytest.approx((labels.mean(), labels.std()))
    assert rule.check(given).ok


def test_accumulators_and_estimators_keep_it_too() -> None:
    y_true, y_score = draw()
    rows = thresholds.Accumulator()
    for k in range(3):
        rows.update(y_true[k::3], y_score[k::3])
    assert rows.compute(guard=None).profile.predicted.tolist() == profile(y_true, y_score).predicted.tolist()


# Weights


def test_rows_of_weight_0_count_as_absent() -> None:
    y_true, y_score = draw()
    weights = (np.arange(300) % 3 == 0).astype(float)
    kept = weights > 0
    found = profile(y_true, y_score, sample_weight=weights)
    alone = profile(y_true[kept], y_score[kept])
    np.testing.assert_array_equal(found.quantiles, alone.quantiles)
    assert found.predicted.tolist() == alone.predicted.tolist()
    assert found.n_rows == alone.n_rows == 100


def test_a_few_heavy_rows_count_as_few() -> None:
    y_true, y_score = draw()
    weights = np.where(np.arange(300) < 10, 1e6, 1.0)
    assert profile(y_true, y_score, sample_weight=weights).n_sampled == 10


# How much of it


def test_a_sample_of_many_rows_is_enough() -> None:
    assert most_rows(1) == 10_000
    assert most_rows(2**22) == 500
    y_true, y_score = draw(20_000, 1)
    found = profile(y_true, y_score)
    assert (found.n_rows, found.n_sampled) == (20_000, 10_000)
    assert found.predicted.sum() == fit_empirical(y_true, y_score).predict(y_score).sum()


def test_a_label_takes_sixty_bytes_in_the_file() -> None:
    y_true, y_score = draw(500, 300)
    rule = fit_empirical(y_true, y_score)
    sizes = [len(json.dumps({"profile": part}, indent=1)) for part in (rule.profile.to_dict(), None)]
    assert (sizes[0] - sizes[1]) / 300 < 60


@pytest.mark.parametrize("sizes", [[1000], [1, 7, 500, 3000, 9000, 20_000], [25_001] * 3])
def test_rows_that_come_in_blocks_are_evenly_spaced(sizes: list[int]) -> None:
    rows = RowSample(1)
    numbers = np.arange(sum(sizes), dtype=float)[:, None]
    for first, last in zip(np.cumsum([0, *sizes]), np.cumsum(sizes), strict=False):
        rows.add(numbers[first:last])
    kept = rows.rows()[:, 0]
    assert kept.size == min(sum(sizes), 10_000)
    assert (np.diff(kept) > 0).all()
    tenths = np.histogram(kept, bins=10, range=(0, sum(sizes)))[0]
    np.testing.assert_allclose(tenths, kept.size / 10, rtol=0.02)


@pytest.mark.parametrize("n", [20_000, 40_000, 79_993, 160_000])
@pytest.mark.parametrize("period", [2, 3, 4, 8, 64])
def test_rows_that_take_turns_have_equal_parts_of_a_sample(n: int, period: int) -> None:
    kinds = np.arange(n) % period
    rows = RowSample(1)
    for block in np.array_split(kinds.astype(float)[:, None], 7):
        rows.add(block)
    for sample in (rows.rows()[:, 0].astype(int), kinds[evenly_spaced(n, 10_000)]):
        assert sample.size == 10_000
        np.testing.assert_allclose(np.bincount(sample), 10_000 / period, rtol=0.03, atol=15)


def test_nothing_has_changed_on_the_rows_of_the_fit_if_left_and_right_eyes_take_turns() -> None:
    y_true, y_score = draw(40_000, 2)
    y_score[1::2] += 1
    rule = fit_empirical(y_true, y_score)
    assert rule.check(y_score).ok


# What becomes of it


def test_thresholds_changed_by_hand_are_predicted_nobody_knows_how_often() -> None:
    y_true, y_score = draw()
    rule = fit_empirical(y_true, y_score).replace({1: 0.0})
    assert np.isnan(rule.profile.predicted).tolist() == [False, True, False, False]
    assert rule.profile.rows["labels"] is None
    assert rule.check(y_score).ok
    assert rule.profile.to_dict()["predicted"][1] is None


def test_labels_in_another_order_take_their_scores_along() -> None:
    y_true, y_score = draw()
    rule = fit_empirical(y_true, y_score, label_names=list("abcd"))
    places = np.array([2, 0, 3, 1])
    moved = rule.reordered(places)
    assert moved.check(y_score[:, places]).ok
    assert moved.profile.quantiles.tolist() == rule.profile.quantiles[places].tolist()


def test_older_files_load_and_say_that_they_cannot_check(tmp_path: Path) -> None:
    y_true, y_score = draw()
    values = fit_empirical(y_true, y_score).to_dict()
    del values["profile"]
    (tmp_path / "rule.json").write_text(json.dumps(values))
    rule = load_rule(tmp_path / "rule.json")
    assert rule.profile is None
    with pytest.raises(thresholds.InputError, match="rule keeps nothing of the scores that it was fitted on"):
        rule.check(y_score)
    assert rule.watching(y_score).check(y_score).ok
    assert rule.profile is None


def test_a_profile_is_of_as_many_labels_as_its_rule() -> None:
    with pytest.raises(thresholds.InputError, match="kept has 4 values, expected 2"):
        ThresholdRule([0.5, 0.5], kept=profile(*draw()))
