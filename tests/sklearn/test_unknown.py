"""`unknown`: a y of which some cells are not known, in the meta-estimator."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import thresholds
from thresholds import InputError
from thresholds.metrics import f1_score
from thresholds.sklearn import KnownRowsClassifier, MultilabelThresholdClassifierCV

RNG = np.random.default_rng(2)
X = RNG.normal(size=(200, 4))
Y = (X[:, :3] + RNG.normal(size=(200, 3)) > [0.5, 1, 0]).astype(int)
HIDDEN = np.where(RNG.random((200, 3)) < 0.3, -1, Y)
WITH_NAN = np.where(HIDDEN == -1, np.nan, HIDDEN)
BASE = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
SCORES = BASE.predict_proba(X)


class ByFeature(ClassifierMixin, BaseEstimator):
    """A classifier that takes any y, remembers it, and scores a label by its feature."""

    def fit(self, X: Any, y: Any) -> "ByFeature":
        self.seen_ = y
        return self

    def predict_proba(self, X: Any) -> Any:
        return 1 / (1 + np.exp(-np.asarray(X)[:, :3]))


FORMS: dict[str, tuple[Any, object]] = {
    "-1": (HIDDEN, -1),
    "NaN": (WITH_NAN, np.nan),
    "nan, in words": (WITH_NAN, "nan"),
    "-100": (np.where(HIDDEN == -1, -100, HIDDEN), -100),
    "masked": (np.ma.masked_array(Y, HIDDEN == -1), "nan"),
    "None in lists": ([[None if cell == -1 else cell for cell in row] for row in HIDDEN.tolist()], "nan"),
    "pandas.NA": (pd.DataFrame(WITH_NAN, columns=["cat", "dog", "emu"]).astype("Int8"), "nan"),
    "CSR that stores -1": (sparse.csr_array(HIDDEN), -1),
}


@pytest.mark.parametrize(("y", "unknown"), FORMS.values(), ids=FORMS.keys())
def test_a_fitted_classifier_gets_the_rule_of_what_is_known(y: Any, unknown: object) -> None:
    found = MultilabelThresholdClassifierCV(BASE, cv="prefit", unknown=unknown).fit(X, y)
    crossed = thresholds.cross_fit(HIDDEN, SCORES, unknown=-1)
    np.testing.assert_array_equal(found.thresholds_, crossed.rule.thresholds)
    assert found.best_score_ == crossed.in_sample
    assert found.cross_fitted_score_ == crossed.out_of_fold


HALF_NAN = np.where((HIDDEN == -1) & (np.arange(len(HIDDEN)) % 2 == 0)[:, np.newaxis], np.nan, HIDDEN)
FRACTIONS = np.where(HIDDEN == -1, -0.5, HIDDEN)


@pytest.mark.parametrize(
    ("y", "unknown"),
    [(HIDDEN, -1), (WITH_NAN, np.nan), (HALF_NAN, ("nan", -1)), (FRACTIONS, -0.5)],
    ids=["-1", "NaN", "both", "-0.5"],
)
def test_a_classifier_that_takes_such_a_y_is_given_it_as_it_is(y: Any, unknown: object) -> None:
    found = MultilabelThresholdClassifierCV(ByFeature(), unknown=unknown).fit(X, y)
    np.testing.assert_array_equal(found.estimator_.seen_, y)
    folds = thresholds.multilabel_folds(np.where(HIDDEN == 1, 1, 0))
    crossed = thresholds.cross_fit(HIDDEN, ByFeature().predict_proba(X), cv=folds, unknown=-1)
    np.testing.assert_array_equal(found.thresholds_, crossed.rule.thresholds)
    assert found.cross_fitted_score_ == crossed.out_of_fold


def test_classifiers_of_partly_labelled_rows_take_it() -> None:
    base = MultiOutputClassifier(SelfTrainingClassifier(LogisticRegression()))
    found = MultilabelThresholdClassifierCV(base, unknown=-1).fit(X, HIDDEN)
    reached = f1_score(Y, found.predict(X), average="macro", zero_division=0)
    assert reached > f1_score(Y, np.ones_like(Y), average="macro", zero_division=0)


@pytest.mark.parametrize(
    ("base", "y", "unknown"),
    [
        (OneVsRestClassifier(LogisticRegression()), HIDDEN, -1),
        (OneVsRestClassifier(LogisticRegression()), WITH_NAN, "nan"),
        (RandomForestClassifier(3), WITH_NAN, "nan"),
        (LogisticRegression(), WITH_NAN[:, 0], "nan"),
    ],
    ids=["OneVsRest -1", "OneVsRest NaN", "forest NaN", "one label NaN"],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_a_classifier_that_takes_none_is_named(base: Any, y: Any, unknown: object) -> None:
    name = type(base).__name__
    message = rf"^estimator {name} takes no y with unknown cells \(.*\); expected one that leaves"
    with pytest.raises(InputError, match=message):
        MultilabelThresholdClassifierCV(base, unknown=unknown).fit(X, y)


@pytest.mark.parametrize(
    ("base", "y", "label"),
    [(RandomForestClassifier(3), HIDDEN, "label 0"), (LogisticRegression(), HIDDEN[:, 0], "label 0")],
    ids=["forest", "one label"],
)
def test_a_classifier_that_takes_it_for_a_class_is_refused(base: Any, y: Any, label: str) -> None:
    name = type(base).__name__
    message = rf"^estimator {name} takes -1, which stands for unknown truth, for a class of {label}; expected"
    with pytest.raises(InputError, match=message):
        MultilabelThresholdClassifierCV(base, unknown=-1).fit(X, y)


def test_a_vector_in_which_several_things_are_not_known() -> None:
    base = LogisticRegression().fit(X, Y[:, 0])
    found = MultilabelThresholdClassifierCV(base, cv="prefit", unknown=("nan", -1)).fit(X, HALF_NAN[:, 0])
    same = MultilabelThresholdClassifierCV(base, cv="prefit", unknown=-1).fit(X, HIDDEN[:, 0])
    assert found.best_score_ == same.best_score_
    assert found.score(X, HALF_NAN[:, 0]) == same.score(X, HIDDEN[:, 0])
    other = KnownRowsClassifier(LogisticRegression()).fit(X, HIDDEN[:, 0])
    for y in (HALF_NAN[:, 0], pd.Series(HALF_NAN[:, 0]).astype("Int64"), np.ma.masked_invalid(HALF_NAN[:, 0])):
        rows = KnownRowsClassifier(LogisticRegression(), unknown=("nan", -1)).fit(X, y)
        np.testing.assert_array_equal(rows.predict(X), other.predict(X))


@pytest.mark.parametrize("unknown", [None, "nan"])
@pytest.mark.parametrize(
    "y",
    [
        [["cat"], ["dog"], ["cat", "dog"], []] * 50,
        [{"cat"}, {"dog"}, {"cat", "dog"}, set()] * 50,
        pd.Series([["cat"], ["dog"], ["cat", "dog"], []] * 50),
        [["cat", "dog"]] * 200,
        ["cat|dog", "cat", "dog", "emu"] * 50,
    ],
    ids=["lists", "sets", "series", "equal lists", "text"],
)
def test_lists_of_labels_are_told_where_to_go(y: Any, unknown: object) -> None:
    with pytest.raises(InputError, match=r"; thresholds\.from_label_lists makes 0 and 1 of the labels") as error:
        MultilabelThresholdClassifierCV(OneVsRestClassifier(LogisticRegression()), unknown=unknown).fit(X, y)
    assert "unknown=" not in str(error.value)


def test_a_vector_of_two_classes() -> None:
    base = LogisticRegression().fit(X, np.where(Y[:, 0], "yes", "no"))
    y = np.array([{1: "yes", 0: "no", -1: None}[cell] for cell in HIDDEN[:, 0]], object)
    found = MultilabelThresholdClassifierCV(base, cv="prefit", unknown="nan").fit(X, y)
    known = HIDDEN[:, 0] != -1
    scores = base.predict_proba(X)[:, 1]
    crossed = thresholds.cross_fit(Y[known, 0], scores[known])
    assert found.best_score_ == crossed.in_sample
    assert found.classes_.tolist() == ["no", "yes"]
    right = found.predict(X[known]) == np.where(Y[known, 0], "yes", "no")
    assert found.score(X, y) == right.mean()


def test_score_counts_what_is_known() -> None:
    found = MultilabelThresholdClassifierCV(BASE, cv="prefit", unknown=-1).fit(X, HIDDEN)
    is_right = (found.predict(X) == HIDDEN) | (HIDDEN == -1)
    has_truth = (HIDDEN != -1).any(axis=1)
    assert found.score(X, HIDDEN) == is_right.all(axis=1)[has_truth].mean()


@pytest.mark.parametrize(("y", "named"), [(WITH_NAN, "'nan'"), (HIDDEN, "-1")], ids=["NaN", "-1"])
def test_without_the_option_it_is_refused_by_name(y: Any, named: str) -> None:
    with pytest.raises(InputError, match=f"; unknown={named} leaves cells out whose truth is not known$"):
        MultilabelThresholdClassifierCV(BASE, cv="prefit").fit(X, y)


def test_a_y_that_is_all_known_is_fitted_as_without() -> None:
    base = OneVsRestClassifier(LogisticRegression())
    with_option = MultilabelThresholdClassifierCV(base, unknown="nan").fit(X, Y.astype(float))
    without = MultilabelThresholdClassifierCV(base).fit(X, Y)
    assert with_option.rule_.to_dict() == without.rule_.to_dict()


# Each label has rows of its own.


def test_each_label_is_learned_from_the_rows_in_which_it_is_known() -> None:
    several = MultiOutputClassifier(KnownRowsClassifier(LogisticRegression())).fit(X, HIDDEN)
    for label, fitted in enumerate(several.estimators_):
        known = HIDDEN[:, label] != -1
        alone = LogisticRegression().fit(X[known], HIDDEN[known, label])
        np.testing.assert_array_equal(fitted.predict(X), alone.predict(X))
        np.testing.assert_array_equal(fitted.predict_proba(X), alone.predict_proba(X))
        np.testing.assert_array_equal(fitted.decision_function(X), alone.decision_function(X))
        np.testing.assert_array_equal(fitted.classes_, [0, 1])


def test_classifier_and_thresholds_are_fitted_to_what_is_known() -> None:
    inside = make_pipeline(StandardScaler(), LogisticRegression())
    base = MultiOutputClassifier(KnownRowsClassifier(inside))
    found = MultilabelThresholdClassifierCV(base, unknown=-1, store_cv_results=True).fit(X, HIDDEN)
    pooled = found.cv_results_
    crossed = thresholds.cross_fit(HIDDEN, pooled["y_score"], cv=pooled["folds"], unknown=-1)
    np.testing.assert_array_equal(found.thresholds_, crossed.rule.thresholds)
    assert found.cross_fitted_score_ == crossed.out_of_fold
    np.testing.assert_array_equal(
        found.label_scores(X)[:, 0], KnownRowsClassifier(inside).fit(X, HIDDEN[:, 0]).predict_proba(X)[:, 1]
    )


def test_what_has_a_value_for_each_row_goes_with_its_row() -> None:
    weights = np.arange(200.0)
    known = HIDDEN[:, 0] != -1
    found = KnownRowsClassifier(LogisticRegression()).fit(X, HIDDEN[:, 0], sample_weight=weights)
    alone = LogisticRegression().fit(X[known], HIDDEN[known, 0], sample_weight=weights[known])
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))


def test_its_accuracy_is_that_on_known_rows() -> None:
    label, known = HIDDEN[:, 0], HIDDEN[:, 0] != -1
    weights = np.arange(1.0, 201.0)
    fitted = KnownRowsClassifier(LogisticRegression()).fit(X, label)
    right = fitted.predict(X) == Y[:, 0]
    assert fitted.score(X, label) == right[known].mean()
    assert fitted.score(X, label, weights) == pytest.approx(np.average(right[known], weights=weights[known]))


def test_a_label_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match=r"^y has no known row, expected at least one of each class$"):
        KnownRowsClassifier(LogisticRegression()).fit(X, np.full(200, -1))


@parametrize_with_checks([KnownRowsClassifier(LogisticRegression(), unknown="nan")])
def test_the_wrapper_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
