"""The estimator with rules of every kind, and with another rule in the place of the one that was fitted."""

import pickle
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import thresholds
from thresholds import InputError, ThresholdRule, metrics
from thresholds.rule import Rule
from thresholds.sklearn import MultilabelThresholdClassifierCV

X, Y = make_multilabel_classification(60, n_classes=4, random_state=0)
NAMES = ["cat", "dog", "emu", "yak"]
NAMED = pd.DataFrame(Y, columns=NAMES)
KNN = KNeighborsClassifier(9).fit(X, Y)  # fitted once: rules are fitted on its scores of all rows
KINDS = [
    "fixed 0.5",
    "top-k",
    "macro, shrink",
    "samples, shared",
    "macro, regions",
    "micro, label-free",
    "instance, label-free",
    "macro, platt",
    "instance, isotonic",
]


def prefit(y: Any = Y, base: Any = KNN, **options: Any) -> MultilabelThresholdClassifierCV:
    return MultilabelThresholdClassifierCV(base, cv="prefit", store_cv_results=True, **options).fit(X, y)


@cache
def macro() -> bytes:
    """A model with the rule of the defaults, fitted once and pickled."""
    return pickle.dumps(prefit(NAMED))


def fresh() -> MultilabelThresholdClassifierCV:
    return pickle.loads(macro())  # type: ignore[no-any-return]


@cache
def of(rule: str) -> Rule:
    """A rule of the list, fitted on the scores of the classifier, without names of labels."""
    return thresholds.fit(Y, fresh().cv_results_["y_score"], rule)


class Refusing(ClassifierMixin, BaseEstimator):
    """A classifier that is not to be fitted."""

    def fit(self, X: Any, y: Any) -> None:
        raise AssertionError("fitted before the rule is refused")

    def decision_function(self, X: Any) -> None:
        raise AssertionError


# Rules of every kind


@pytest.mark.parametrize("name", KINDS)
def test_rules_of_every_kind_are_fitted_on_out_of_fold_scores(name: str) -> None:
    found = prefit(rule=name)
    scores, folds = found.cv_results_["y_score"], found.cv_results_["folds"]
    expected = thresholds.cross_fit(Y, scores, rule=name, cv=folds)
    assert type(found.rule_) is type(expected.rule)
    assert found.best_score_ == expected.in_sample
    assert found.cross_fitted_score_ == expected.out_of_fold
    average = thresholds.RULES[name].average or "macro"
    reached = metrics.f1_score(Y, found.predict(X), average=average, zero_division=0.0)
    assert found.best_score_ == pytest.approx(reached, abs=1e-12), "the scores of the fit are those of X here"
    assert np.array_equal(found.predict(X), expected.rule.predict(found.label_scores(X)))
    assert found.label_report_ is not None
    has_thresholds = isinstance(found.rule_, ThresholdRule)
    assert hasattr(found, "thresholds_") == has_thresholds
    assert ("fold_thresholds" in found.cv_results_) == has_thresholds


def test_no_thresholds_are_said_to_be_none() -> None:
    found = prefit(rule="Instance,  PLATT")
    with pytest.raises(AttributeError, match=r"^thresholds_ is not there: rule_ is a CalibratedRule, "):
        _ = found.thresholds_


def test_the_classifier_is_fitted_on_folds_whatever_the_rule() -> None:
    found = MultilabelThresholdClassifierCV(
        KNeighborsClassifier(9), rule="instance, platt", cv=3, store_cv_results=True
    ).fit(X, NAMED)
    scores = found.cv_results_["y_score"]
    expected = thresholds.cross_fit(NAMED, scores, rule="instance, platt", cv=found.cv_results_["folds"])
    assert found.cross_fitted_score_ == expected.out_of_fold
    assert found.rule_.label_names == tuple(NAMES)
    assert np.array_equal(found.predict(X), expected.rule.predict(found.label_scores(X)))


@pytest.mark.parametrize("name", ["instance, label-free", "macro, platt", "top-k", "macro, regions"])
def test_a_binary_target_takes_any_rule(name: str) -> None:
    y = np.where(Y[:, 0], "yes", "no")
    found = prefit(y, KNeighborsClassifier(9).fit(X, y), rule=name)
    assert set(found.predict(X)) <= {"yes", "no"}
    expected = thresholds.fit(Y[:, 0], found.label_scores(X), name).predict(found.label_scores(X))
    assert np.array_equal(found.predict(X) == "yes", expected[:, 0])


@pytest.mark.parametrize("name", ["instance, label-free", "macro, isotonic"])
def test_a_single_judged_row_has_the_score_of_its_labels(name: str) -> None:
    split = [(np.arange(1, 60), [0])]
    found = MultilabelThresholdClassifierCV(KNeighborsClassifier(9), rule=name, cv=split, store_cv_results=True)
    found.fit(X, Y)
    average = thresholds.RULES[name].average
    decided = found.rule_.predict(found.cv_results_["y_score"])
    assert found.best_score_ == metrics.f1_score(Y[:1], decided, average=average, zero_division=0.0)
    assert np.isnan(found.cross_fitted_score_)


def test_rules_for_probabilities_want_probabilities_before_any_fit() -> None:
    margins = "which takes scores for probabilities, with the decision_function of Refusing"
    with pytest.raises(InputError, match=f"^rule is 'micro, label-free', {margins}; expected .* 'micro, platt'"):
        MultilabelThresholdClassifierCV(Refusing(), rule="micro, label-free").fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "macro, shrunk"}, "rule is 'macro, shrunk', expected the name of a rule, as 'macro, shrink'"),
        ({"rule": "top-k", "max_overprediction": 2.0}, "max_overprediction is 2.0 with rule 'top-k', which has no use"),
        ({"rule": "micro, pool", "guard": "shrink"}, "guard is 'shrink' with rule 'micro, pool'; expected"),
        ({"rule": "instance, platt", "average": "micro"}, "average is 'micro' with rule 'instance, platt', which is f"),
        ({"rule": "macro", "per_label": False}, "per_label is False with rule 'macro, shrink'; expected"),
        ({"average": "micro", "min_precision": 0.5}, "min_precision is 0.5 with average 'micro'"),
    ],
)
def test_what_a_rule_does_not_take_is_refused_before_any_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        MultilabelThresholdClassifierCV(Refusing(), **options).fit(X, Y)


# Another rule in its place


@pytest.mark.parametrize("name", KINDS)
def test_a_rule_of_any_kind_takes_the_place_of_another(name: str) -> None:
    model = fresh()
    rule = of(name)
    assert model.set_rule(rule) is model
    assert model.rule_ is rule
    scores = model.label_scores(X)
    for again in (model, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(X), rule.predict(scores))


def test_what_is_known_of_the_former_rule_goes() -> None:
    model = fresh()
    assert set(model.cv_results_) == {"rows", "y_score", "folds", "fold_thresholds", "spread"}
    results = model.cv_results_
    model.set_rule(model.rule_.replace({"dog": np.inf}))
    assert model.thresholds_[1] == np.inf
    for name, why in {
        "best_score_": "is not known: the rule that set_rule was given has no objective$",
        "cross_fitted_score_": "is not known: the rule that set_rule was given has no out_of_fold, which",
        "label_report_": "went with the rule that set_rule replaced: thresholds.diagnose makes one",
    }.items():
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"^{name} {why}"):
            getattr(model, name)
    assert set(model.cv_results_) == {"rows", "y_score", "folds"}
    assert "spread" in results, "who holds them keeps them"


def test_what_is_known_of_the_new_rule_comes() -> None:
    model = fresh()
    found = thresholds.cross_fit(NAMED, model.cv_results_["y_score"], "micro", guard=None)
    model.set_rule(found.rule)
    assert model.best_score_ == found.rule.objective
    assert model.cross_fitted_score_ == found.out_of_fold
    assert not hasattr(model, "label_report_")


def test_to_assign_a_rule_is_to_set_it() -> None:
    model = fresh()
    model.rule_ = of("instance, platt")
    assert not hasattr(model, "thresholds_")
    assert not hasattr(model, "label_report_")


def test_a_fit_brings_all_back() -> None:
    model = fresh()
    model.set_rule(of("top-k")).fit(X, NAMED)
    assert np.array_equal(model.thresholds_, fresh().thresholds_)
    assert model.label_report_ is not None
    assert model.best_score_ == fresh().best_score_
    assert "spread" in model.cv_results_


def test_parameters_and_clones_know_nothing_of_it() -> None:
    model = fresh()
    before = model.get_params()
    model.set_rule(of("top-k"))
    assert model.get_params() == before
    assert not hasattr(clone(model), "rule_")


@pytest.mark.parametrize("name", KINDS)
def test_labels_in_another_order_are_put_in_order(name: str) -> None:
    model = fresh()
    turned = [2, 0, 3, 1]
    scores = model.cv_results_["y_score"]
    names = tuple(NAMES[k] for k in turned)
    rule = thresholds.fit(Y[:, turned], scores[:, turned], name, label_names=names)
    decided = rule.predict(scores[:, turned])
    model.set_rule(rule)
    assert model.rule_.label_names == tuple(NAMES)
    if name == "top-k":  # Of equal scores it takes the first labels, in whatever order they are.
        assert model.predict(X).sum() == decided.sum()
    else:
        assert np.array_equal(model.predict(X)[:, turned], decided)
    np.testing.assert_array_equal(model.rule_.profile.quantiles[turned], rule.profile.quantiles)
    if rule.fitted_on is not None:
        assert model.rule_.fitted_on.positives[turned].tolist() == rule.fitted_on.positives.tolist()


def test_a_rule_that_is_refused_changes_nothing() -> None:
    model = fresh()
    before = model.rule_
    for other in ("rule.json", thresholds.FixedRule(0.5, 3), thresholds.InstanceRule(label_names=tuple("abcd"))):
        with pytest.raises(InputError, match=r"^rule "):
            model.set_rule(other)
    assert model.rule_ is before
    assert set(model.cv_results_) == {"rows", "y_score", "folds", "fold_thresholds", "spread"}


def test_a_calibrated_rule_of_shares_is_refused_for_margins() -> None:
    """Its curves end at 0 and 1; one that was fitted on margins is taken."""
    model = prefit(base=RidgeClassifier().fit(X, Y))
    with pytest.raises(
        InputError, match=r"^rule is a CalibratedRule that cannot decide about the decision_function of"
    ):
        model.set_rule(of("macro, platt"))
    scores = model.label_scores(X)
    rule = thresholds.fit(Y, scores, "macro, platt")
    assert np.array_equal(model.set_rule(rule).predict(X), rule.predict(scores))


def test_there_is_no_rule_before_a_fit() -> None:
    unfitted = MultilabelThresholdClassifierCV(KNN)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = unfitted.rule_
    for name in ("rule_", "thresholds_", "best_score_", "cross_fitted_score_", "label_report_"):
        assert not hasattr(unfitted, name)
