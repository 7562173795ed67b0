"""Rules of plain fits that keep the odds by which news is told from noise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import thresholds
from tests.rules import same
from thresholds import InputError, diff_rules, fit_empirical, keep_odds

Rows = tuple[NDArray[np.bool_], NDArray[np.float64]]

FITS: dict[str, dict[str, Any]] = {
    "macro": {},
    "macro, shrink": {"guard": "shrink"},
    "micro, pool": {"average": "micro", "guard": "pool"},
    "samples, shared": {"average": "samples", "per_label": False},
    "budget": {"max_predicted": 800},
    "cap": {"max_predicted_per_row": 2},
    "promises": {"min_recall": 0.5, "confidence": 0.9},
}


def rows(seed: int, shift: float = 0.0) -> Rows:
    """Truth and scores of six labels; those of the last lie higher by `shift`."""
    rng = np.random.default_rng(seed)
    truth = rng.random((800, 6)) < np.linspace(0.1, 0.4, 6)
    scores = rng.normal(size=truth.shape) + 2 * truth
    scores[:, -1] += shift
    return truth, scores


@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_news_of_plain_fits_is_told_from_noise(options: dict[str, Any]) -> None:
    old, alike, other = rows(0), rows(1), rows(2, shift=1.0)
    plain = fit_empirical(*old, **options), fit_empirical(*alike, **options)
    assert diff_rules(*plain).n_news is None
    assert "keep_odds gives them to others" in " ".join(str(diff_rules(*plain)).split())

    kept = [keep_odds(fit_empirical(*each, **options), *each) for each in (old, alike, other)]
    assert diff_rules(kept[0], kept[1]).n_news == 0
    assert diff_rules(kept[0], kept[2]).table["verdict"].tolist() == ["noise"] * 5 + ["news"]
    np.testing.assert_array_equal(kept[0].predict(old[1]), plain[0].predict(old[1]))


def test_the_odds_are_those_that_cross_fit_keeps() -> None:
    truth, scores = rows(0)
    weights = 1 + np.arange(800) % 3
    known = np.where(np.arange(800)[:, np.newaxis] % 5 == 0, -1, truth)
    for given in ({}, {"sample_weight": weights}, {"unknown": -1}):
        y_true = known if "unknown" in given else truth
        fitted = thresholds.cross_fit(y_true, scores, **given).rule
        found = keep_odds(fitted.replace({}), y_true, scores, **given)
        assert found.odds == fitted.odds is not None


def test_a_rule_with_odds_is_saved_and_labels_go_by_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    truth, scores = rows(0)
    frames = [pandas.DataFrame(array, columns=list("abcdef")) for array in (truth.astype(int), scores)]
    rule = keep_odds(fit_empirical(*frames), *(frame[list("fbcdea")] for frame in frames))
    assert rule.odds == keep_odds(fit_empirical(truth, scores), truth, scores).odds
    rule.save(tmp_path / "rule.json")
    assert same(thresholds.load_rule(tmp_path / "rule.json"), rule)


def test_truth_in_another_order_than_its_scores_is_refused() -> None:
    truth, scores = rows(0)
    rule = fit_empirical(truth, scores)
    with pytest.raises(InputError, match=r"rule reaches an F of 0\.\d+ on y_true and y_score, expected 0\.\d+, as on"):
        keep_odds(rule, truth[::-1], scores)


def test_odds_are_of_the_rows_of_the_fit_alone() -> None:
    rule = fit_empirical(*rows(0))
    with pytest.raises(InputError, match="are other rows than those that rule was fitted on"):
        keep_odds(rule, *rows(1))
    truth, scores = rows(0)
    shares = 1 / (1 + np.exp(-scores))
    with pytest.raises(InputError, match="or it was fitted without labels"):
        keep_odds(thresholds.fit_expected(shares), truth, shares)
