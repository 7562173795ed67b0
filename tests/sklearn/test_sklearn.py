"""`MultilabelThresholdClassifierCV`: what it fits, on which rows, and that scikit-learn's tools take it."""

import importlib
import pickle
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, f1_score, make_scorer, precision_score, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

import thresholds
from thresholds.sklearn import MultilabelThresholdClassifierCV

X, Y = make_multilabel_classification(n_samples=150, n_classes=4, random_state=0)
NAMES = ["cat", "dog", "emu", "yak"]
BASE = OneVsRestClassifier(GaussianNB())
RARE = Y.copy()
RARE[:, 2] = 0
RARE[5, 2] = 1


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def fitted(
    estimator: Any = BASE, x: Any = X, y: Any = Y, fit_params: Any = None, **options: Any
) -> MultilabelThresholdClassifierCV:
    meta = MultilabelThresholdClassifierCV(estimator, **{"random_state": 0, "store_cv_results": True} | options)
    return meta.fit(x, y, **fit_params or {})


@cache
def plain() -> MultilabelThresholdClassifierCV:
    """What is fitted without any option, once: for comparisons."""
    return fitted()


def pairs(folds: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(folds.max() + 1)]


class Recording(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are numbered by the only column of X: it remembers what it was given."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Recording":
        self.rows_ = X[:, 0].astype(int)
        self.weights_ = sample_weight
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        asked = X[:, 0].astype(int)
        return np.stack([np.isin(asked, self.rows_), (asked % 7) / 7], axis=1)


NUMBERED = np.arange(60.0)[:, np.newaxis]
TWO = np.stack([np.arange(60) % 3 == 0, np.arange(60) % 7 > 4], axis=1).astype(int)
NOISY = (np.random.default_rng(0).random((60, 2)) < 0.4).astype(int)


# What is fitted


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("guard", [None, "auto"])
def test_thresholds_are_fitted_on_pooled_out_of_fold_scores(average: Any, guard: Any) -> None:
    folds = thresholds.multilabel_folds(Y, 5, random_state=0)
    pooled = cross_val_predict(BASE, X, Y, cv=pairs(folds), method="predict_proba")
    expected = thresholds.fit_empirical(Y, pooled, average, guard=guard)
    found = fitted(average=average, guard=guard)
    assert np.array_equal(found.cv_results_["y_score"], pooled)
    assert np.array_equal(found.cv_results_["folds"], folds)
    assert np.array_equal(found.cv_results_["rows"], np.arange(150))
    assert np.array_equal(found.thresholds_, expected.thresholds)
    assert found.rule_.guard == expected.guard
    assert found.best_score_ == pytest.approx(f1_score(Y, pooled >= found.thresholds_, average=average), abs=1e-12)


def test_predictions_are_scores_of_the_classifier_of_all_rows_at_the_thresholds() -> None:
    found = fitted()
    scores = clone(BASE).fit(X, Y).predict_proba(X)
    predicted = found.predict(X)
    assert np.array_equal(found.label_scores(X), scores)
    assert np.array_equal(predicted, scores >= found.thresholds_)
    assert predicted.dtype == np.int64
    assert not np.array_equal(predicted, clone(BASE).fit(X, Y).predict(X))
    assert np.array_equal(found.predict_proba(X), scores)


def test_the_cross_fitted_score_judges_each_fold_by_thresholds_of_the_others() -> None:
    found = fitted(guard=None)
    scores, folds = found.cv_results_["y_score"], found.cv_results_["folds"]
    decided = np.zeros_like(Y)
    for k, (others, judged) in enumerate(pairs(folds)):
        rule = thresholds.fit_empirical(Y[others], scores[others])
        decided[judged] = scores[judged] >= rule.thresholds
        assert np.array_equal(found.cv_results_["fold_thresholds"][k], rule.thresholds)
    assert found.cross_fitted_score_ == pytest.approx(f1_score(Y, decided, average="macro"), abs=1e-12)
    assert found.cross_fitted_score_ < found.best_score_
    assert found.cv_results_["spread"]["n_positives"].tolist() == Y.sum(axis=0).tolist()


@pytest.mark.parametrize("per_label", [True, False])
def test_options_reach_the_fit(per_label: bool) -> None:
    found = fitted(average="micro", beta=2.0, per_label=per_label)
    options = {"beta": 2.0, "per_label": per_label, "guard": "auto"}
    expected = thresholds.fit_empirical(Y, found.cv_results_["y_score"], "micro", **options)
    assert np.array_equal(found.thresholds_, expected.thresholds)
    assert found.rule_.beta == 2


def test_a_guard_with_options_is_taken() -> None:
    found = fitted(guard=thresholds.Shrink(siblings=False))
    assert found.rule_.guard == "shrink (siblings=False)"


def test_results_are_stored_on_request_only() -> None:
    found = fitted(store_cv_results=False)
    assert not hasattr(found, "cv_results_")
    with pytest.raises(AttributeError, match=r"^cv_results_ was not kept: fit with store_cv_results=True$"):
        _ = found.cv_results_
    with pytest.raises(AttributeError, match=r"^label_names_in_ is not known: y of the fit was no frame"):
        _ = found.label_names_in_
    with pytest.raises(NotFittedError):
        _ = clone(found).cv_results_


# On which rows


def test_no_row_is_scored_by_a_classifier_that_was_fitted_on_it() -> None:
    found = fitted(Recording(), NUMBERED, TWO)
    assert not found.cv_results_["y_score"][:, 0].any()
    assert found.estimator_.rows_.tolist() == list(range(60))


def test_folds_may_be_a_number_numbers_pairs_or_a_splitter() -> None:
    folds = np.arange(150) % 3
    expected = fitted(cv=folds).thresholds_
    assert np.array_equal(fitted(cv=pairs(folds)).thresholds_, expected)
    assert np.array_equal(fitted(cv=iter(pairs(folds))).thresholds_, expected)
    ordered = fitted(cv=KFold(3))
    assert np.array_equal(ordered.cv_results_["folds"], np.repeat([0, 1, 2], 50))
    three = fitted(cv=3).cv_results_["folds"]
    assert np.array_equal(three, thresholds.multilabel_folds(Y, 3, random_state=0))


def test_rows_of_negative_fold_number_are_fitted_on_and_never_judged() -> None:
    folds = np.arange(60) % 3 - 1
    found = fitted(Recording(), NUMBERED, TWO, cv=folds)
    assert found.cv_results_["rows"].tolist() == np.flatnonzero(folds >= 0).tolist()
    assert len(found.cv_results_["y_score"]) == 40
    assert found.rule_.fitted_on.n_samples == 40


def test_thresholds_of_judged_rows_only_are_those_of_these_rows() -> None:
    folds = np.arange(150) % 3 - 1
    found = fitted(cv=folds, guard=None)
    rows = found.cv_results_["rows"]
    expected = thresholds.fit_empirical(Y[rows], found.cv_results_["y_score"])
    assert np.array_equal(found.thresholds_, expected.thresholds)


@pytest.mark.parametrize(("share", "n_held_out"), [(0.2, 12), (0.3, 18), (0.5, 30), (0.75, 45), (0.01, 1), (0.999, 59)])
def test_a_share_is_held_out(share: float, n_held_out: int) -> None:
    found = fitted(Recording(), NUMBERED, np.ones_like(TWO), cv=share, refit=False)
    assert len(found.cv_results_["rows"]) == n_held_out
    assert sorted([*found.estimator_.rows_, *found.cv_results_["rows"]]) == list(range(60))


def test_a_held_out_part_has_its_share_of_every_label() -> None:
    held_out = Y[fitted(cv=0.2).cv_results_["rows"]]
    assert np.abs(held_out.sum(axis=0) - 0.2 * Y.sum(axis=0)).max() < 1.5


@pytest.mark.parametrize("cv", [0.5, ShuffleSplit(1, test_size=0.5)])
def test_the_split_is_made_once(cv: Any) -> None:
    found = fitted(Recording(), NUMBERED, TWO, cv=cv, refit=False, random_state=None)
    assert not set(found.estimator_.rows_) & set(found.cv_results_["rows"])
    assert len(found.estimator_.rows_) == 30


def test_the_report_on_labels_is_about_decisions_out_of_fold() -> None:
    found = fitted(y=pd.DataFrame(Y, columns=NAMES))
    scores, folds = found.cv_results_["y_score"], found.cv_results_["folds"]
    decided = scores >= found.cv_results_["fold_thresholds"][folds]
    table = found.label_report_.to_frame().set_index("name")
    assert table.index.tolist() == NAMES
    assert table["n_positives"].tolist() == Y.sum(axis=0).tolist()
    assert table["predicted_positive"].tolist() == decided.sum(axis=0).tolist()
    for name, measure in (("precision", precision_score), ("recall", recall_score), ("f", f1_score)):
        assert table[name].tolist() == pytest.approx(measure(Y, decided, average=None), abs=1e-12)
    assert table["threshold"].tolist() == found.thresholds_.tolist()
    assert set(table["verdict"]) <= set(found.label_report_.verdicts.counts)
    assert all(name in sentence for name, sentence in table["sentence"].items())


def test_there_is_no_report_on_labels_with_weights_or_on_a_single_row() -> None:
    with config_context(enable_metadata_routing=True):
        weighted = OneVsRestClassifier(LogisticRegression().set_fit_request(sample_weight=True))
        meta = MultilabelThresholdClassifierCV(weighted, cv=3).fit(X, Y, sample_weight=np.arange(len(X)))
    assert meta.label_report_ is None
    assert fitted(cv=[(np.arange(1, 150), [0])]).label_report_ is None


def test_a_single_part_is_cross_fitted_over_folds_of_its_own() -> None:
    found = fitted(cv=0.5)
    rows, scores = found.cv_results_["rows"], found.cv_results_["y_score"]
    expected = thresholds.cross_fit(Y[rows], scores, cv=5, random_state=0)
    assert found.cross_fitted_score_ == expected.out_of_fold
    assert np.array_equal(found.cv_results_["folds"], expected.folds)


def test_a_single_row_leaves_no_cross_fitted_score() -> None:
    found = fitted(cv=[(np.arange(1, 150), [0])])
    assert np.isnan(found.cross_fitted_score_)
    assert found.rule_.fitted_on.n_samples == 1


def test_few_rows_make_fewer_folds() -> None:
    assert len(np.unique(fitted(Recording(), NUMBERED[:3], TWO[:3]).cv_results_["folds"])) == 3


@pytest.mark.parametrize("refit", [True, False])
def test_a_fitted_classifier_is_left_as_it_is(refit: bool) -> None:
    base = clone(BASE).fit(X[:80], Y[:80])
    found = fitted(base, X[80:], Y[80:], cv="prefit", refit=refit)
    expected = thresholds.fit_empirical(Y[80:], base.predict_proba(X[80:]), guard="auto")
    assert found.estimator_ is base
    assert np.array_equal(found.thresholds_, expected.thresholds)


def test_a_frozen_classifier_is_left_as_it_is() -> None:
    base = clone(BASE).fit(X[:80], Y[:80])
    found = fitted(FrozenEstimator(base), X[80:], Y[80:])
    assert found.estimator_.estimator is base
    assert np.array_equal(found.thresholds_, fitted(base, X[80:], Y[80:], cv="prefit").thresholds_)


def test_the_seed_is_that_of_the_folds() -> None:
    assert np.array_equal(fitted().thresholds_, plain().thresholds_)
    assert not np.array_equal(fitted(random_state=1).cv_results_["folds"], plain().cv_results_["folds"])
    drawn = fitted(random_state=np.random.RandomState(3)).cv_results_["folds"]
    assert np.array_equal(drawn, fitted(random_state=np.random.RandomState(3)).cv_results_["folds"])


# Which classifiers and targets

CLASSIFIERS = [
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    KNeighborsClassifier(),
    MLPClassifier((5,), solver="lbfgs", alpha=10, tol=0.1, max_iter=2000, random_state=0),
    ClassifierChain(GaussianNB()),
    MultiOutputClassifier(GaussianNB()),
    MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=3)),
    OneVsRestClassifier(HistGradientBoostingClassifier(max_iter=3)),
    OneVsRestClassifier(LinearSVC()),
    RidgeClassifier(),
    make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())),
]


def name_of(classifier: Any) -> str:
    return re.sub(r"\W+", "-", str(classifier))[:60]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=name_of)
def test_classifiers_of_every_kind_of_scores(classifier: Any) -> None:
    found = fitted(classifier)
    assert found.predict(X).shape == Y.shape
    assert 0.5 < found.cross_fitted_score_ <= 1
    assert np.array_equal(found.predict(X), found.label_scores(X) >= found.thresholds_)


@pytest.mark.parametrize(("library", "name"), [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")])
def test_boosted_trees_of_other_libraries(library: str, name: str) -> None:
    pytest.importorskip(library)
    classifier = getattr(importlib.import_module(library), name)(n_estimators=3)
    assert fitted(MultiOutputClassifier(classifier)).predict(X).shape == Y.shape


@pytest.mark.each_value(classifier=5)
@pytest.mark.parametrize("classifier", [*CLASSIFIERS[:4], *CLASSIFIERS[6:]], ids=name_of)
def test_a_label_with_one_positive_is_fitted_and_not_always_predicted(classifier: Any) -> None:
    found = fitted(classifier, y=RARE)
    assert found.cv_results_["spread"]["n_positives"][2] == 1
    assert found.predict(X)[:, 2].sum() < 75


def test_what_a_fold_could_not_learn_has_the_lowest_score() -> None:
    found = fitted(OneVsRestClassifier(LinearSVC()), y=RARE)
    scores, folds = found.cv_results_["y_score"], found.cv_results_["folds"]
    unlearned = folds == folds[5]
    assert (scores[unlearned, 2] == scores[~unlearned, 2].min()).all()
    none_left = 1 - RARE
    scores = fitted(OneVsRestClassifier(LinearSVC()), y=none_left, cv=folds).cv_results_["y_score"]
    assert (scores[unlearned, 2] == scores[~unlearned, 2].max()).all()


def test_a_label_without_positives_is_unsupported() -> None:
    found = fitted(y=Y * [1, 1, 0, 1])
    assert found.rule_.unsupported.tolist() == [False, False, True, False]
    assert not found.predict(X)[:, 2].any()


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray, lambda y: y.astype(bool), list]
)
def test_y_may_have_any_form(form: Any) -> None:
    found = fitted(y=form(Y))
    assert np.array_equal(found.thresholds_, plain().thresholds_)
    assert found.predict(X).tolist() == plain().predict(X).tolist()


def test_names_of_labels_are_kept() -> None:
    found = fitted(y=pd.DataFrame(Y, columns=NAMES))
    assert found.label_names_in_.tolist() == NAMES
    assert found.rule_.label_names == tuple(NAMES)
    assert found.cv_results_["spread"]["name"].tolist() == NAMES
    assert not hasattr(plain(), "label_names_in_")
    assert fitted(y=pd.DataFrame(Y)).label_names_in_.tolist() == [str(j) for j in range(Y.shape[1])]


def test_names_of_features_are_kept_and_checked() -> None:
    frame = pd.DataFrame(X).add_prefix("x")
    found = fitted(x=frame)
    assert found.feature_names_in_.tolist() == list(frame)
    assert found.n_features_in_ == 20
    assert np.array_equal(found.predict(frame), plain().predict(X))


def test_accuracy_takes_labels_by_name() -> None:
    named = pd.DataFrame(Y, columns=NAMES)
    found = fitted(y=named)
    expected = accuracy_score(Y, found.predict(X))
    assert found.score(X, named) == found.score(X, named[NAMES[::-1]]) == found.score(X, Y) == expected


@pytest.mark.each_value
@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], [False, True], ["no", "yes"]])
def test_binary_targets(classes: list[Any], method: str) -> None:
    base, y = LogisticRegression(max_iter=1000), np.array(classes)[Y[:, 0]]
    found = fitted(base, y=y, response_method=method)
    scores = cross_val_predict(base, X, y, cv=pairs(found.cv_results_["folds"]), method=method)
    scores = scores[:, 1] if method == "predict_proba" else scores
    rule = thresholds.fit_empirical(Y[:, 0], scores, guard="auto")
    assert np.array_equal(found.cv_results_["y_score"][:, 0], scores)
    assert np.array_equal(found.thresholds_, rule.thresholds)
    assert found.classes_.tolist() == classes
    assert np.array_equal(found.predict(X), np.array(classes)[(found.label_scores(X)[:, 0] >= rule.thresholds[0]) * 1])


def test_a_fitted_binary_classifier_keeps_its_classes() -> None:
    y = np.where(Y[:, 0], "yes", "no")
    base = GaussianNB().fit(X, y)
    only = np.flatnonzero(y == "yes")
    for options in ({"estimator": base, "cv": "prefit"}, {"estimator": FrozenEstimator(base)}):
        found = fitted(x=X[only], y=y[only], **options)
        assert found.classes_.tolist() == ["no", "yes"]
        assert found.best_score_ == 1


def test_rows_need_not_be_numbers() -> None:
    texts = [" ".join(name for name, has in zip(NAMES, row, strict=True) if has) + " and" for row in Y]
    found = fitted(make_pipeline(CountVectorizer(), OneVsRestClassifier(MultinomialNB())), texts)
    assert np.array_equal(found.predict(texts), Y)


def test_precomputed_kernels_are_cut_both_ways() -> None:
    kernel = X @ X.T
    linear = OneVsRestClassifier(SVC(kernel="linear"))
    expected = fitted(linear, response_method="decision_function").cv_results_["y_score"]
    found = fitted(OneVsRestClassifier(SVC(kernel="precomputed")), kernel, response_method="decision_function")
    assert found.cv_results_["y_score"] == pytest.approx(expected)


# scikit-learn's tools


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.soak)])
def test_jobs_side_by_side_fit_the_same(backend: str) -> None:
    with joblib.parallel_config(backend):
        found = fitted(n_jobs=2)
    assert np.array_equal(found.thresholds_, plain().thresholds_)
    assert found.best_score_ == plain().best_score_


def test_it_is_cloned_and_pickled() -> None:
    found = fitted(guard=thresholds.Shrink(probabilities=False))
    again = clone(found).fit(X, Y)
    unpickled = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.thresholds_, found.thresholds_)
    assert np.array_equal(unpickled.predict(X), found.predict(X))


def test_grid_search_reaches_inside() -> None:
    meta = MultilabelThresholdClassifierCV(MultiOutputClassifier(KNeighborsClassifier()), cv=2, random_state=0)
    grid = {"estimator__estimator__n_neighbors": [3, 9], "average": ["macro", "micro"]}
    search = GridSearchCV(meta, grid, scoring=["f1_macro", "roc_auc"], refit="f1_macro", cv=2).fit(X, Y)
    assert set(search.best_params_) == set(grid)
    assert np.isfinite(search.cv_results_["mean_test_f1_macro"]).all()
    assert np.isfinite(search.cv_results_["mean_test_roc_auc"]).all()


def test_cross_validate_judges_it() -> None:
    meta = MultilabelThresholdClassifierCV(BASE, random_state=0)
    tuned, plain = (cross_validate(it, X, Y, scoring="f1_macro", cv=5)["test_score"].mean() for it in (meta, BASE))
    assert tuned > plain


def test_it_takes_the_rows_that_the_classifier_takes() -> None:
    for base in (BASE, RandomForestClassifier(), SVC(kernel="precomputed"), HistGradientBoostingClassifier()):
        inner, outer = (get_tags(it).input_tags for it in (base, MultilabelThresholdClassifierCV(base)))
        assert (outer.sparse, outer.allow_nan, outer.pairwise) == (inner.sparse, inner.allow_nan, inner.pairwise)


def test_html_nests_the_classifier() -> None:
    found = fitted()
    assert found._sk_visual_block_().estimators == [found.estimator_]
    html = found._repr_html_()
    assert html.count("OneVsRestClassifier") >= 2
    assert "GaussianNB" in html
    assert "MultilabelThresholdClassifierCV" in html
    assert 'class="sk-serial"' in html


def test_the_rule_is_saved_and_diagnosed(tmp_path: Path) -> None:
    found = fitted(y=pd.DataFrame(Y, columns=NAMES))
    found.rule_.save(tmp_path / "rule.json")
    loaded = thresholds.load_rule(tmp_path / "rule.json")
    assert np.array_equal(loaded.predict(found.label_scores(X)), found.predict(X))
    diagnosis = thresholds.diagnose(Y, found.cv_results_["y_score"], found.rule_)
    assert diagnosis.table["name"].tolist() == NAMES


def test_thresholds_are_not_assigned() -> None:
    with pytest.raises(AttributeError, match="thresholds_"):
        fitted().thresholds_ = np.zeros(4)


def test_there_are_no_thresholds_before_a_fit() -> None:
    unfitted = clone(plain())
    assert not hasattr(unfitted, "thresholds_")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = unfitted.thresholds_


# Metadata routing


def recorded(requests: bool, **options: Any) -> MultilabelThresholdClassifierCV:
    base = Recording().set_fit_request(sample_weight=requests)
    return MultilabelThresholdClassifierCV(base, **{"random_state": 0, "store_cv_results": True} | options)


@pytest.mark.parametrize("requests", [True, False])
def test_weights_count_for_thresholds_and_go_to_classifiers_that_request_them(requests: bool) -> None:
    weights = np.arange(60.0) % 5 + 1
    with config_context(enable_metadata_routing=True):
        found = recorded(requests, guard=None).fit(NUMBERED, NOISY, sample_weight=weights)
    expected = thresholds.fit_empirical(NOISY, found.cv_results_["y_score"], sample_weight=weights)
    unweighted = thresholds.fit_empirical(NOISY, found.cv_results_["y_score"])
    assert found.best_score_ == expected.objective != unweighted.objective
    assert np.array_equal(found.thresholds_, expected.thresholds)
    assert (found.estimator_.weights_ is not None) == requests


def test_weights_are_cut_with_the_rows() -> None:
    weights = NUMBERED[:, 0] + 1
    with config_context(enable_metadata_routing=True):
        found = recorded(True, cv=0.5, refit=False, guard=None).fit(NUMBERED, NOISY, sample_weight=weights)
    rows, scores = found.cv_results_["rows"], found.cv_results_["y_score"]
    assert np.array_equal(found.estimator_.weights_, weights[found.estimator_.rows_])
    assert found.best_score_ == thresholds.fit_empirical(NOISY[rows], scores, sample_weight=weights[rows]).objective


def test_rows_without_weight_are_not_judged() -> None:
    weights = (np.arange(60) % 4 > 0) * 1.0
    with config_context(enable_metadata_routing=True):
        found = recorded(True).fit(NUMBERED, TWO, sample_weight=weights)
    assert found.cv_results_["rows"].tolist() == np.flatnonzero(weights).tolist()


def test_groups_go_to_the_splitter() -> None:
    groups = np.arange(150) // 10
    with config_context(enable_metadata_routing=True):
        found = MultilabelThresholdClassifierCV(BASE, cv=GroupKFold(3), store_cv_results=True).fit(X, Y, groups=groups)
    folds = found.cv_results_["folds"]
    assert all(len(set(folds[groups == group])) == 1 for group in range(15))


GROUPS = np.arange(150) // 6
HALF = [(np.flatnonzero(GROUPS % 2 == 0), np.flatnonzero(GROUPS % 2))]


def grouped(base: Any = BASE, groups: Any = GROUPS, name: str = "groups", **options: Any) -> Any:
    with config_context(enable_metadata_routing=True):
        return fitted(base, fit_params={name: groups}, **options)


def folds_of_groups(found: Any, groups: Any = GROUPS) -> list[int]:
    """In how many folds the judged rows of each group are."""
    rows, folds = found.cv_results_["rows"], found.cv_results_["folds"]
    return [len(set(folds[groups[rows] == group])) for group in np.unique(groups[rows])]


@pytest.mark.parametrize(
    ("cv", "n_judged"),
    [
        (GroupShuffleSplit(1, test_size=0.48, random_state=0), 12),
        (HALF, 12),
        (iter(HALF), 12),
        (GroupKFold(3), 25),
        (4, 25),
        (None, 25),
        (0.4, 10),
    ],
    ids=["one split", "a pair", "an iterator", "several splits", "a number", "default", "a share"],
)
def test_rows_of_a_group_stay_together(cv: Any, n_judged: int) -> None:
    assert folds_of_groups(grouped(cv=cv)) == [1] * n_judged


def test_groups_may_have_the_name_that_the_splitter_asks_for() -> None:
    with config_context(enable_metadata_routing=True):
        split = GroupShuffleSplit(1, test_size=0.48, random_state=0).set_split_request(groups="patient")
    assert folds_of_groups(grouped(cv=split, name="patient")) == [1] * 12


def test_groups_of_rows_for_thresholds_alone_stay_together() -> None:
    assert folds_of_groups(grouped(clone(BASE).fit(X, Y), cv="prefit", groups=list(GROUPS))) == [1] * 25


def test_a_part_of_few_groups_has_as_many_folds() -> None:
    three, one = (np.minimum(GROUPS, most) for most in (2, 0))
    prefit = clone(BASE).fit(X, Y)
    assert len(grouped(prefit, three, cv="prefit").cv_results_["fold_thresholds"]) == 3
    assert np.isnan(grouped(prefit, one, cv="prefit").cross_fitted_score_)
    knn = KNeighborsClassifier().fit(X, Y)
    with config_context(enable_metadata_routing=True):
        weighted = {"groups": three, "sample_weight": (GROUPS > 0) * 1.0}
        found = fitted(knn, cv="prefit", fit_params=weighted)
    assert len(found.cv_results_["fold_thresholds"]) == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"cv": None}, (5, "by iterative stratification", 0)),
        ({"cv": 3, "random_state": None}, (3, "by iterative stratification", None)),
        ({"cv": 3, "fit_params": {"groups": GROUPS}}, (3, "by iterative stratification of groups", 0)),
        ({"cv": 0.5}, (5, "by iterative stratification", 0)),
        ({"cv": KFold(4)}, (4, "KFold", None)),
        ({"cv": ShuffleSplit(1, test_size=0.5, random_state=1)}, (5, "by iterative stratification", 0)),
        ({"cv": np.arange(150) % 2}, (2, "as given", None)),
        ({"cv": [(range(75), range(75, 150)), (range(75, 150), range(75))]}, (2, "as given", None)),
    ],
    ids=["default", "a number", "groups", "a share", "a splitter", "a splitter of one part", "numbers", "pairs"],
)
def test_the_rule_says_how_its_folds_were_made(options: dict[str, Any], expected: tuple[Any, ...]) -> None:
    with config_context(enable_metadata_routing=True):
        found = fitted(**options)
    kept = found.rule_.out_of_fold
    assert (kept.n_folds, kept.how, kept.random_state) == expected
    assert kept.f == found.cross_fitted_score_


def test_a_search_hands_on_its_groups() -> None:
    with config_context(enable_metadata_routing=True):
        meta = MultilabelThresholdClassifierCV(BASE, cv=3, random_state=0, store_cv_results=True)
        scorer = make_scorer(f1_score, average="macro")
        found = cross_validate(
            meta,
            X,
            Y,
            params={"groups": GROUPS},
            cv=GroupKFold(2),
            scoring=scorer,
            return_estimator=True,
            return_indices=True,
        )
    for inside, rows in zip(found["estimator"], found["indices"]["train"], strict=True):
        assert set(folds_of_groups(inside, GROUPS[rows])) == {1}


def test_weights_come_through_a_search() -> None:
    with config_context(enable_metadata_routing=True):
        meta = recorded(True).set_fit_request(sample_weight=True)
        scorer = make_scorer(f1_score, average="macro").set_score_request(sample_weight=False)
        search = GridSearchCV(meta, {"average": ["macro", "micro"]}, cv=2, scoring=scorer)
        search.fit(NUMBERED, TWO, sample_weight=np.ones(60))
    assert search.best_estimator_.estimator_.weights_ is not None


def test_nothing_of_an_earlier_fit_is_left() -> None:
    X, y = make_multilabel_classification(60, n_classes=3, random_state=0)
    found = MultilabelThresholdClassifierCV(KNeighborsClassifier(), cv=2, random_state=0, store_cv_results=True)
    found.fit(X, pd.DataFrame(y, columns=["cat", "dog", "emu"]))
    assert found.label_names_in_.tolist() == ["cat", "dog", "emu"]
    found.set_params(store_cv_results=False).fit(X, y)
    assert not hasattr(found, "label_names_in_")
    assert not hasattr(found, "cv_results_")


class Margins(ClassifierMixin, BaseEstimator):
    """A classifier with margins that are not constant even for labels that it saw no positives of."""

    def fit(self, X: Any, y: Any) -> "Margins":
        self.fitted_ = True
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        asked = X[:, 0].astype(int)
        return np.stack([asked % 5 - 2.5, asked % 7 - 3.5], axis=1)


def test_scores_of_an_unlearned_label_are_kept_where_they_say_something() -> None:
    y = np.stack([np.arange(60) < 3, np.arange(60) % 2 == 0], axis=1).astype(int)
    folds = np.arange(60) // 20  # The first label's positives are all in the first fold.
    found = fitted(Margins(), NUMBERED, y, cv=folds).cv_results_["y_score"]
    assert found[:, 0].tolist() == (np.arange(60) % 5 - 2.5).tolist()


def test_probabilities_of_an_unlearned_label_are_those_of_the_classifier() -> None:
    found = fitted(OneVsRestClassifier(LogisticRegression()), y=RARE).cv_results_
    unlearned = found["folds"] == found["folds"][5]
    assert (found["y_score"][unlearned, 2] == 0).all()  # of OneVsRestClassifier
    assert found["y_score"][~unlearned, 2].min() > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_is_that_of_the_folds_of_a_single_part(seed: int) -> None:
    found = fitted(clone(BASE).fit(X, Y), cv="prefit", random_state=seed).cv_results_["folds"]
    assert found.tolist() == thresholds.multilabel_folds(Y, 5, random_state=seed).tolist()


def test_truth_without_any_positive_is_fitted_on() -> None:
    X = np.random.default_rng(4).normal(size=(60, 3))
    model = MultilabelThresholdClassifierCV(KNeighborsClassifier()).fit(X, np.zeros((60, 2), int))
    assert not model.predict(X).any()
