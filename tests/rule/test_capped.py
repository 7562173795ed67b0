"""A rule that predicts at most k labels of a row: which, of every kind of rule and in every form of scores."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit

import thresholds
from tests.naive.budgets import capped
from tests.rules import RULES, draw
from thresholds import CappedRule, InputError, RegionRule, ThresholdRule, TopKRule, load_rule
from thresholds.metrics import f1_score
from thresholds.rule.gains import GainByScore

inf = float("inf")
CUTS = np.array([0.3, 0.1, -inf, 0.5, inf, 0.2])
GAINS = GainByScore(
    True, (0.1,) * 6, (0.2, 0.1, -3.0, 2.0, 0.0, 0.5), (1.0, 2.0, 0.5, 0.0, 1.0, -1.0), *[(0.5,) * 6] * 2
)
pytestmark = pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")
NAMES = [name for name in RULES if name.startswith("capped")]


def scores_of(n: int = 200, m: int = 6) -> Any:
    """Scores with ties within rows, some of them 0, 1 or masked."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 11, (n, m)) / 10
    return np.where(rng.random((n, m)) < 0.05, -inf, cells)


def gains_of(order: str, scores: Any) -> Any:
    """What cells are ordered by, from the definition."""
    if order == "score":
        return scores
    if order == "margin":
        return np.where(np.isneginf(scores), -inf, scores - np.maximum(CUTS, -1e300))
    x = logit(np.clip(scores, np.finfo(float).tiny, 1 - np.finfo(float).epsneg))
    at, level, slope = (np.array(getattr(GAINS, name)) for name in ("at", "level", "slope"))
    return np.array(GAINS.worth) * (expit(level + slope * (x - at)) - np.array(GAINS.even))


def of_order(order: str, k: int) -> CappedRule:
    return CappedRule(ThresholdRule(CUTS), k, order, GAINS if order == "gain" else None)


@pytest.mark.parametrize("k", [1, 2, 5, 6, 99])
@pytest.mark.parametrize("order", ["score", "margin", "gain"])
def test_the_first_k_of_those_predicted_are_kept(order: str, k: int) -> None:
    scores = scores_of()
    plain = ThresholdRule(CUTS).predict(scores)
    expected = capped(plain, gains_of(order, scores), k)
    np.testing.assert_array_equal(of_order(order, k).predict(scores), expected)
    assert expected.sum(axis=1).max() == min(k, plain.sum(axis=1).max())


def test_of_equal_ones_the_first_label_is_kept() -> None:
    assert CappedRule.around(ThresholdRule([0.1] * 4), 2).predict([[0.5, 0.9, 0.5, 0.5]]).tolist() == [[1, 1, 0, 0]]
    assert CappedRule.around(ThresholdRule([0.1, 0.2]), 1, "margin").predict([[0.5, 0.6]]).tolist() == [[1, 0]]


def test_what_is_not_predicted_is_never_taken_instead() -> None:
    """A label below its threshold stays out, however high its score is beside that of others."""
    assert CappedRule.around(ThresholdRule([0.9, 0.1]), 1).predict([[0.8, 0.2]]).tolist() == [[0, 1]]


@pytest.mark.parametrize("order", ["score", "margin", "gain"])
def test_masked_cells_of_a_label_that_is_always_predicted_come_last(order: str) -> None:
    rule = CappedRule(ThresholdRule([-inf, 0.1]), 1, order, GAINS.taken(np.array([0, 1])) if order == "gain" else None)
    assert rule.predict([[-inf, 0.2]]).tolist() == [[0, 1]]


@pytest.mark.parametrize("name", NAMES)
def test_any_rule_can_be_capped(name: str) -> None:
    """At most k, of those that the rule within predicts, and all of these where they are no more."""
    rule = RULES[name]
    scores = np.random.default_rng(1).random((300, rule.n_labels or 4))
    plain, found = rule.uncapped.predict(scores), rule.predict(scores)
    assert (found <= plain).all()
    np.testing.assert_array_equal(found.sum(axis=1), np.minimum(plain.sum(axis=1), rule.k))


@pytest.mark.parametrize("name", NAMES)
def test_sparse_scores_stay_sparse(name: str) -> None:
    rule = RULES[name]
    if rule.predicts_missing or rule.missing != 0 or name == "capped, instance":
        pytest.skip("what is left out would be predicted, or be part of what decides")
    rng = np.random.default_rng(2)
    cells = np.where(rng.random((200, rule.n_labels or 4)) < 0.4, 0, rng.random((200, rule.n_labels or 4)))
    lists = sparse.csr_array(cells)
    shuffled = sparse.csr_array((lists.data.copy(), lists.indices.copy(), lists.indptr), shape=lists.shape)
    for row in range(200):  # entries of a row in any order
        at = slice(lists.indptr[row], lists.indptr[row + 1])
        shuffled.indices[at], shuffled.data[at] = lists.indices[at][::-1], lists.data[at][::-1]
    for given in (lists, shuffled):
        found = rule.predict(given)
        assert sparse.issparse(found)
        np.testing.assert_array_equal(found.toarray(), rule.predict(cells))
        np.testing.assert_array_equal(rule.predict(given, dense=True), rule.predict(cells))


def test_absent_cells_that_are_predicted_take_part_with_their_score() -> None:
    rule = CappedRule.around(ThresholdRule([-1.0, 0.2, 0.1], missing=0.0), 1)
    scores = sparse.csr_array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert rule.predict(scores, dense=True).tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(InputError, match="is not above missing"):
        rule.predict(scores)


@pytest.mark.parametrize("order", ["score", "margin", "gain"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("stored", [0.03, 0.5])  # Few are listed; or more than are predicted, and then none are.
def test_of_many_labels_that_are_predicted_where_they_are_absent_the_first_are_kept(
    order: str, k: int, stored: float
) -> None:
    rng = np.random.default_rng(5)
    cells = np.where(rng.random((80, 60)) < 1 - stored, 0, np.round(rng.normal(size=(80, 60)), 1))
    within = ThresholdRule([-0.5, 0.3, -0.1, 0.0, -0.1, 0.2] * 10, missing=0.0)
    gains = GAINS.taken(np.array([3, 0, 2, 1, 0, 3] * 10)) if order == "gain" else None
    rule = CappedRule(within, k, order, gains)
    np.testing.assert_array_equal(rule.predict(sparse.csr_array(cells), dense=True), rule.predict(cells))


def test_top_k_of_lists_that_are_short() -> None:
    rule = CappedRule.around(TopKRule(3), 2)
    assert rule.predict(sparse.csr_array([[0.0, 0.0, 0.7]])).toarray().tolist() == [[1, 0, 1]]


# Parts


def test_a_cap_that_comes_later_knows_the_rows_of_the_fit_and_their_scores(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((300, 3)) < 0.4
    scores = rng.normal(size=truth.shape) + 2 * truth
    rule = thresholds.fit_empirical(truth, scores)
    later = CappedRule.around(rule, 2)
    for found in (later, CappedRule.around(later, 1)):
        assert found.fitted_on == rule.fitted_on
        assert thresholds.diagnose(truth, scores, found).verdicts.on_own_rows
        assert np.isnan(found.profile.predicted).all(), "nobody counted what is decided now"
        assert found.check(scores).ok
        assert not found.check(7 - 3 * scores).ok
        found.save(tmp_path / "rule.json")
        assert thresholds.load_rule(tmp_path / "rule.json").fitted_on == rule.fitted_on


def test_another_cap_keeps_the_order() -> None:
    rule = of_order("gain", 2)
    wider, by_score = CappedRule.around(rule, 3), CappedRule.around(rule, 3, "score")
    assert (wider.k, wider.order, wider.gains) == (3, "gain", GAINS)
    assert (by_score.k, by_score.order, by_score.gains) == (3, "score", None)
    assert wider.rule is by_score.uncapped is rule.rule


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CappedRule.around(ThresholdRule([0.5]), 0), "k is 0, expected a whole number of at least 1"),
        (lambda: CappedRule.around(ThresholdRule([0.5]), 1.0), "k is 1.0, expected a whole number"),
        (
            lambda: CappedRule.around(ThresholdRule([0.5]), 1, "gains"),
            "order is 'gains', expected 'score', 'margin' or 'gain'",
        ),
        (lambda: CappedRule.around(ThresholdRule([0.5]), 1, "gain"), "order is 'gain' with gains=None, expected both"),
        (
            lambda: CappedRule.around(RegionRule([[0.5]]), 1, "margin"),
            "order is 'margin' with a RegionRule, expected 'score'",
        ),
        (
            lambda: CappedRule(CappedRule.around(ThresholdRule([0.5]), 1), 1),
            "expected a rule of another kind than CappedRule",
        ),
        (lambda: CappedRule(0.5, 1), "rule is 0.5, expected a rule"),
        (lambda: CappedRule.around("macro", 1), "rule is 'macro', expected a rule"),
        (lambda: CappedRule(ThresholdRule([0.5]), 1, "gain", GAINS), "gains has 6 labels, expected 1"),
        (lambda: CappedRule(ThresholdRule(CUTS), 1, "score", GAINS), "order is 'score' with gains="),
        (lambda: of_order("gain", 2).predict([[0.5] * 5]), "y_score is about 5|y_score has 5"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"order": "margins"}, "order is 'margins'"),
        ({"gains": None}, "order is 'gain' with gains=None"),
        ({"depth": 1}, "the field 'depth' is unknown"),
    ],
)
def test_a_file_that_was_changed_is_refused(change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_rule(of_order("gain", 2).to_dict() | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": []}, "has 6 values, expected 0"),
        ({"level": [1.0]}, "level has 1 values, expected 6"),
        ({"worth": [-1.0] * 6}, "worth of gains has -1.0, expected at least 0"),
        ({"slope": [inf] * 6}, "slope is inf, expected a finite number"),
        ({"of_shares": 1}, "of_shares is 1"),
    ],
)
def test_gains_that_are_none_are_refused(change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GainByScore.from_dict(GAINS.to_dict() | change)


# A fit that learns which labels to keep


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 80)])
@pytest.mark.parametrize("average", ["macro", "weighted", "micro", "samples"])
def test_the_objective_is_what_capped_decisions_reach(average: str, weights: Any) -> None:
    y_true, y_score = draw()
    rule = thresholds.fit_empirical(
        y_true, y_score, average, per_label=average != "samples", sample_weight=weights, max_predicted_per_row=1
    )
    decided = rule.predict(y_score)
    reached = f1_score(y_true, decided, average=average, sample_weight=weights, zero_division=0.0)
    assert rule.objective == reached
    assert decided.sum(axis=1).max() == 1
    assert rule.fitted_on.n_samples == 80
    assert rule.made_by.options["max_predicted_per_row"] == 1


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_gains_are_those_of_the_counts_of_the_fit(average: str) -> None:
    y_true, y_score = draw()
    rule = thresholds.fit_empirical(y_true, y_score, average, beta=2.0, max_predicted_per_row=1)
    decided = rule.rule.predict(y_score)
    tp, predicted, positives = (y_true & (decided > 0)).sum(axis=0), decided.sum(axis=0), y_true.sum(axis=0)
    size = 4 * positives + predicted
    weight = positives if average == "weighted" else np.ones(4)
    np.testing.assert_allclose(rule.gains.worth, 5 * weight / np.maximum(size, 1))
    np.testing.assert_allclose(rule.gains.even, tp / np.maximum(size, 1))


def test_where_decisions_are_counted_together_the_likelier_label_is_kept() -> None:
    for name in ("micro", "samples, shared", "instance, platt", "top-k"):
        gains = thresholds.fit(*draw(), name, max_predicted_per_row=1).gains
        assert (set(gains.worth), set(gains.even)) == ({1.0}, {0.0})


def test_without_labels_probabilities_are_what_they_say() -> None:
    """The curve of a probability is itself, and what is reached is what is to be expected."""
    p = draw()[1].astype(float)
    rule = thresholds.fit(None, p, "macro, label-free", max_predicted_per_row=1)
    assert (set(rule.gains.level), set(rule.gains.slope)) == ({0.0}, {1.0})
    assert rule.objective == thresholds.expected_f(p, rule.predict(p))
    shown = sparse.csr_array(np.where(p < 0.3, 0, p))
    dense = thresholds.fit(None, shown.toarray(), "macro, label-free", max_predicted_per_row=1)
    np.testing.assert_allclose(
        thresholds.fit(None, shown, "macro, label-free", max_predicted_per_row=1).gains.even, dense.gains.even
    )


def test_a_cap_that_does_not_bind_changes_no_decision() -> None:
    y_true, y_score = draw()
    plain = thresholds.fit_empirical(y_true, y_score)
    rule = thresholds.fit_empirical(y_true, y_score, max_predicted_per_row=4)
    assert rule.objective == plain.objective
    np.testing.assert_array_equal(rule.predict(y_score), plain.predict(y_score))


def test_folds_are_capped_as_well() -> None:
    y_true, y_score = draw()
    found = thresholds.cross_fit(y_true, y_score, cv=4, max_predicted_per_row=1)
    assert sum(found.rule.out_of_fold.by_label.predicted) <= 80
    assert found.in_sample == found.rule.objective


def test_a_cap_is_said_and_shown(tmp_path: Any) -> None:
    rule = thresholds.fit_empirical(*draw(), max_predicted_per_row=1)
    assert str(rule).startswith("at most 1 label of any row, those that add most to F: macro F1 ")
    assert "without this cap: macro F1, one threshold" in " ".join(str(rule).split())
    assert rule.settings()["k"] == 1
    assert "threshold" in rule.to_text()
