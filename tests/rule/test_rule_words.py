"""What rules say of themselves, of their changes, and of scores that look like another model's."""

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.rules import fitted
from tests.words import flat
from thresholds import FixedRule, ScoreChangeWarning, ThresholdRule, TopKRule, fit_empirical, load_rule
from thresholds.rule import FittedOn, LabelCounts

Array = NDArray[np.generic]
inf = float("inf")

# Changing a rule


def test_replace_changes_some_thresholds() -> None:
    rule = fitted(label_names=["a", "b", "c", "d"])
    changed = rule.replace({"b": inf, 3: -0.5, np.int64(0): np.float32(0.25)})
    assert changed.thresholds.tolist() == [0.25, inf, rule.thresholds[2], -0.5]
    assert changed.objective is None
    assert changed.label_names == rule.label_names
    assert changed.fitted_on == rule.fitted_on
    assert rule.thresholds[1] != inf


def test_a_rule_of_which_nothing_is_changed_keeps_what_it_reaches() -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, (60, 3)), rng.random((60, 3))
    rule = thresholds.cross_fit(truth, scores, per_label=False, average="micro", random_state=0).rule
    for same in (rule.replace({}), rule.replace({1: rule.thresholds[1]})):
        assert (same.objective, same.out_of_fold) == (rule.objective, rule.out_of_fold)
        assert str(same) == str(rule)


def test_replace_changes_a_fixed_rule() -> None:
    changed = FixedRule(0.5, 2, missing=-1.0).replace({1: 0.25})
    assert type(changed) is ThresholdRule
    assert (changed.thresholds.tolist(), changed.missing) == ([0.5, 0.25], -1.0)


def test_index_of() -> None:
    rule = ThresholdRule([0.5, 0.5], label_names=["cat", "dog"])
    assert [rule.index_of(label) for label in ("cat", "dog", 0, 1, np.int64(1), np.str_("dog"))] == [0, 1, 0, 1, 1, 1]


# Texts


def test_texts() -> None:
    rule = ThresholdRule([0.5, inf], average="micro", beta=0.5, objective=0.75)
    start = "micro F0.5, one threshold for each of 2 labels (1 never predicted)"
    assert rule.in_words() == f"{start}: objective 0.7500 (in-sample optimum, unguarded)"
    assert flat(rule) == rule.in_words() != str(rule), "of two lines"
    shared = ThresholdRule([0.5, 0.5], average="samples", objective=0.75, per_label=False)
    start = "samples F1, one threshold for all 2 labels (0 never predicted)"
    assert shared.in_words() == f"{start}: objective 0.7500 (in-sample optimum, unguarded)"
    counts = ThresholdRule([0.3, 0.3], average="micro", objective=0.6, expected="counts")
    assert counts.what() == "micro F1, one threshold for all 2 labels (0 never predicted)"
    assert "thresholds changed by hand" in str(rule.replace({0: 0.25}))
    assert str(ThresholdRule([0.5])) == "ThresholdRule: 1 label, thresholds given, not fitted"
    assert str(FixedRule(0.5, 2)) == "ThresholdRule: 2 labels, thresholds given, not fitted"
    assert str(TopKRule(3)) == "the 3 highest scores of each row: not fitted"
    top = TopKRule(3, average="samples", objective=0.5, beta=2.0)
    assert str(top) == "the 3 highest scores of each row: samples F2 0.5000"


def test_a_changed_rule_no_longer_calls_itself_the_optimum() -> None:
    assert "optimum" not in str(fitted().replace({0: 0.9}))


def test_a_fitted_rule_says_that_nothing_guards_it() -> None:
    assert "in-sample optimum, unguarded" in flat(fitted())
    assert len(fitted().in_words().splitlines()) == 1


# Scores of another kind


def logit(p: Array) -> Array:
    """Log odds."""
    return np.log(p) - np.log1p(-p)


def warnings_of(rule: ThresholdRule, *batches: object) -> list[warnings.WarningMessage]:
    """What a rule warns of when it predicts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for batch in batches:
            rule.predict(batch)
    return caught


def without_profile(rule: ThresholdRule) -> ThresholdRule:
    """The rule as older files have it: all it knows of the scores of its fit is their range."""
    return dataclasses.replace(rule, kept=None)


def test_logits_for_probabilities_warn_once() -> None:
    rng = np.random.default_rng(11)
    p = rng.uniform(0.01, 0.99, (500, 3))
    rule = fit_empirical(rng.random(p.shape) < p, p)
    caught = warnings_of(rule, logit(p), logit(p), sparse.csr_array(logit(p)))
    assert [warning.category for warning in caught] == [ScoreChangeWarning]
    assert str(caught[0].message).startswith("The scores look like logits, but the rule was fitted on probabilities")
    assert str(caught[0].message).endswith("rule.check(y_score) says more")
    assert len(str(caught[0].message).splitlines()) == 1
    assert caught[0].filename == __file__
    assert issubclass(ScoreChangeWarning, UserWarning)


def test_a_warning_given_by_one_rule_is_not_withheld_by_another(tmp_path: Path) -> None:
    rule = fitted()
    rule.save(tmp_path / "rule.json")
    far = np.full((9, 4), 100.0)
    for other in (rule, rule.replace({0: 0.5}), load_rule(tmp_path / "rule.json")):
        assert len(warnings_of(other, far)) == 1


def test_the_range_is_that_of_all_scores_not_of_most() -> None:
    scores = np.concatenate([np.full(5, 0.0), np.full(995, 1.0)])  # the 1 % quantile is 1
    rule = without_profile(fit_empirical(scores > 0, scores))
    assert warnings_of(rule, np.full(100, 0.5)) == []
    assert len(warnings_of(rule, np.full(100, -0.5))) == 1


def test_more_than_half_of_the_scores_lie_outside() -> None:
    rule = without_profile(fit_empirical(np.arange(100) > 50, np.arange(100) / 100))
    assert warnings_of(rule, np.repeat([0.5, 7.0], [50, 50])) == []
    assert str(warnings_of(rule, np.repeat([0.5, 7.0], [49, 51]))[0].message).startswith("51% of the scores lie")


def test_a_few_scores_outside_prove_nothing() -> None:
    rule = fit_empirical(np.arange(100) > 50, np.arange(100) / 100)
    assert warnings_of(rule, np.full(19, 7.0)) == []
    assert len(warnings_of(rule, np.full(20, 7.0))) == 1


def test_a_rule_fitted_on_sparse_scores_takes_the_same_as_dense() -> None:
    rng = np.random.default_rng(5)
    scores = rng.random((200, 10)) * (rng.random((200, 10)) < 0.2)
    rule = fit_empirical(rng.random(scores.shape) < scores, sparse.csr_array(scores), keep_sparse=True)
    assert warnings_of(rule, scores) == []


def test_scores_of_the_fit_do_not_warn() -> None:
    rng = np.random.default_rng(12)
    p = rng.random((500, 3))
    y_true = rng.random(p.shape) < p
    rule = fit_empirical(y_true, p)
    masked = np.where(rng.random(p.shape) < 0.9, -inf, p)
    assert warnings_of(rule, p, p[:1], p.astype(np.float32), masked, sparse.csr_array(np.where(p > 0.5, p, 0))) == []
    assert warnings_of(fit_empirical(y_true, logit(p)), logit(p)) == []


def test_rules_that_were_not_fitted_do_not_warn() -> None:
    far = np.full((9, 2), 100.0)
    assert warnings_of(FixedRule(0.5, 2), far) == warnings_of(ThresholdRule([1, 2]), far) == []


@pytest.mark.parametrize("n_samples", [65_536, 65_537, 131_071, 131_073, 300_001])
def test_the_range_of_sorted_scores_is_known_to_their_end(n_samples: int) -> None:
    y_score = np.arange(n_samples) / n_samples
    y_true = y_score > 0.75
    rule = fit_empirical(y_true, y_score, "micro", per_label=False)
    assert rule.fitted_on.quantiles[3] == pytest.approx(0.5, abs=0.01)
    assert rule.fitted_on.quantiles[-1] == pytest.approx(1.0, abs=0.01)
    cells = sparse.csr_array(y_score[:, None] + 1)
    assert fit_empirical(y_true, cells).fitted_on.quantiles[-1] == pytest.approx(2.0, abs=0.01)
    assert warnings_of(without_profile(rule), y_score[n_samples * 9 // 10 :]) == []


def test_what_a_rule_was_fitted_on() -> None:
    y_score = np.array([[0.25, -inf], [0.5, 0.75]], np.float32)
    found = fit_empirical([[1, 0], [1, 1]], y_score, sample_weight=[0.5, 2]).fitted_on
    assert (found.n_samples, found.positives.tolist(), found.dtype) == (2, [2.5, 2.0], "float32")
    assert (found.quantiles[0], found.quantiles[-1]) == (0.25, 0.75)
    assert found.version == thresholds.__version__
    nothing = fit_empirical([[1], [0]], [[-inf], [-inf]])
    assert nothing.fitted_on.quantiles.size == 0
    assert warnings_of(nothing, [[0.5]]) == []


def test_counts_of_labels_are_copies_whose_arrays_may_change() -> None:
    counts = np.array([1.0, 2.0])
    rows = np.array([[0.5], [1.5]])
    fitted_on = FittedOn.from_scores(rows, 0.0, counts)
    by_label = LabelCounts(2, counts, counts, counts)
    assert (fitted_on.n_labels, by_label.n_labels) == (2, 2)
    counts[:] = 7
    assert fitted_on.positives.tolist() == by_label.tp.tolist() == [1.0, 2.0]
    assert fitted_on == FittedOn.from_scores(rows, 0.0, np.array([1.0, 2.0]))
    with pytest.raises(thresholds.InputError, match=r"positives has -1, expected weights of at least 0"):
        FittedOn.from_scores(rows, 0.0, -np.ones(2))


# In brief


def test_a_rule_of_many_labels_is_shown_in_brief() -> None:
    rng = np.random.default_rng(1)
    p = rng.random((40, 1100))
    names = [f"label {j}" for j in range(p.shape[1])]
    truth = rng.random(p.shape) < p
    calibrator = thresholds.calibrate(truth, p, "platt", label_names=names)
    rules = [
        fit_empirical(truth, p, label_names=names),
        FixedRule(0.5, p.shape[1], label_names=names),
        thresholds.fit_regions(truth[:, :50], p[:, :50], label_names=names[:50]),
        thresholds.fit_top_k(truth, p, label_names=names),
        thresholds.fit_expected(p, "samples", label_names=names),
        thresholds.CalibratedRule(calibrator, thresholds.InstanceRule(label_names=names)),
    ]
    for rule in rules:
        shown = repr(rule)
        assert len(shown) < 1500, shown
        assert "\n" not in shown
        assert shown.startswith(f"{type(rule).__name__}(")
        is_calibrated = isinstance(rule, thresholds.CalibratedRule)
        assert ("<Calibrator>" if is_calibrated else f"'label 2', ... {rule.n_labels:,} in all") in shown
    shown = repr(rules[0])
    assert f"thresholds=[{rules[0].thresholds[0]:.6g}, " in shown
    assert "average='macro', " in shown
    assert f"objective={rules[0].objective!r}" in shown


def test_of_a_small_rule_all_is_shown_but_defaults() -> None:
    assert repr(TopKRule(2, label_names=("a",), beta=2.0)) == "TopKRule(k=2, label_names=('a',), beta=2.0)"
    assert repr(ThresholdRule([0.5, inf])) == "ThresholdRule(thresholds=[0.5, inf], unsupported=[False, False])"


def test_what_a_rule_was_fitted_on_is_shown_in_brief() -> None:
    rng = np.random.default_rng(2)
    p = rng.random((40, 3000))
    fitted_on = fit_empirical(rng.random(p.shape) < p, p).fitted_on
    assert fitted_on is not None
    shown = repr(fitted_on)
    assert len(shown) < 500
    assert shown.startswith(f"FittedOn(n_samples=40, positives=[{fitted_on.positives[0]:.6g}, ")
    assert "... 3,000 in all], dtype='float64', version=" in shown


def test_a_calibrator_is_shown_in_brief() -> None:
    rng = np.random.default_rng(3)
    p = rng.random((40, 1100))
    names = [f"label {j}" for j in range(p.shape[1])]
    calibrator = thresholds.calibrate(rng.random(p.shape) < p, p, "platt", label_names=names)
    shown = repr(calibrator)
    assert len(shown) < 1000
    assert shown.startswith("Calibrator(method='platt', by='shrink', label_names=('label 0', ")
    assert "after=<CalibrationMeasures>" in shown
