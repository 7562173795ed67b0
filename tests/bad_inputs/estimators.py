"""What the meta-estimator must refuse: what is done, and what the message says, from its start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from thresholds import FixedRule, InstanceRule, ThresholdRule
from thresholds.sklearn import MultilabelThresholdClassifierCV

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X @ RNG.normal(size=(3, 2)) > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["age", "dose", "size"])
NAMED = pd.DataFrame(Y, columns=["cat", "dog"])
ONE_POSITIVE = Y.copy()
ONE_POSITIVE[:, 1] = np.arange(40) == 7
FOLDS = np.arange(40) % 4
UNEVEN = np.where(np.arange(40) < 20, np.arange(40) % 2, 0)[:, None] * [1, 1]  # no positives in the second half


class Scoring(ClassifierMixin, BaseEstimator):
    """A classifier that checks nothing and gives the scores it is told to."""

    def __init__(self, scores: Any = None) -> None:
        self.scores = scores

    def fit(self, X: Any, y: Any) -> "Scoring":
        self.fitted_ = True
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(X)[:, :2] if self.scores is None else self.scores(X)


def fit(estimator: Any = None, x: Any = X, y: Any = Y, fit_params: Any = None, **options: Any) -> Any:
    estimator = KNeighborsClassifier() if estimator is None else estimator
    found = MultilabelThresholdClassifierCV(estimator, **{"random_state": 0} | options)
    return found.fit(x, y, **fit_params or {})


def weighted(weights: Any) -> Any:
    with config_context(enable_metadata_routing=True):
        base = RandomForestClassifier(3, random_state=0).set_fit_request(sample_weight=True)
        return fit(base, fit_params={"sample_weight": weights})


def grouped(groups: Any = FOLDS, **options: Any) -> Any:
    with config_context(enable_metadata_routing=True):
        return fit(fit_params={"groups": groups}, **options)


@dataclass(frozen=True)
class Bad:
    what: str
    call: Callable[[], Any]
    message: str

    def __str__(self) -> str:
        return self.what


BAD_SKLEARN = [
    Bad("an estimator without scores", lambda: fit(Ridge()), "The 'estimator' parameter .* 'predict_proba' or .*Ridge"),
    Bad(
        "an estimator without the scores asked for",
        lambda: fit(response_method="decision_function"),
        "estimator KNeighborsClassifier has no decision_function, expected response_method='predict_proba'",
    ),
    Bad("another response method", lambda: fit(response_method="predict"), "The 'response_method' parameter"),
    Bad(
        "scores with NaN",
        lambda: fit(Scoring(lambda x: np.full((len(x), 2), np.nan))),
        "predict_proba of Scoring has NaN at row 0, label 0",
    ),
    Bad(
        "scores of another number of labels",
        lambda: fit(Scoring(lambda x: np.ones((len(x), 3)))),
        r"predict_proba of Scoring has shape \(8, 3\), expected 2 columns",
    ),
    Bad(
        "scores of another number of rows",
        lambda: fit(Scoring(lambda x: np.ones((5, 2)))),
        "predict_proba of Scoring gives 5 rows, expected 8",
    ),
    *(
        Bad(
            f"a classifier of one label for two: {classifier}",
            partial(fit, classifier, **options),
            f"estimator {type(classifier).__name__} takes one label, and y has 2 .*, expected a classifier of several,"
            r" such as OneVsRestClassifier\(estimator\) or MultiOutputClassifier\(estimator\)",
        )
        for classifier, options in (
            (LogisticRegression(), {}),
            (make_pipeline(StandardScaler(), LinearSVC()), {"cv": 0.5, "refit": False}),
            (VotingClassifier([("bayes", GaussianNB())], voting="soft"), {}),
        )
    ),
    Bad(
        "sparse labels for a classifier of one",
        lambda: fit(LogisticRegression(), y=sparse.csr_matrix(Y)),
        "estimator LogisticRegression takes one label, and y has 2 .*, expected a classifier of several,"
        r" such as OneVsRestClassifier\(estimator\) or MultiOutputClassifier\(estimator\)",
    ),
    Bad(
        "sparse labels for a classifier of dense ones",
        lambda: fit(MultiOutputClassifier(LogisticRegression()), y=sparse.csr_matrix(Y)),
        r"estimator MultiOutputClassifier takes no sparse y \(.*\), expected a dense one, y.toarray\(\)",
    ),
    Bad(
        "a fold without positives, for a classifier that needs both classes",
        lambda: fit(MultiOutputClassifier(LogisticRegression()), y=ONE_POSITIVE),
        "estimator MultiOutputClassifier fails on fold . of cv, where label 1 has no positives .*"
        "expected one that takes labels of one class, such as OneVsRestClassifier",
    ),
    Bad(
        "a fold without negatives, for a chain, of a named label",
        lambda: fit(ClassifierChain(LogisticRegression()), y=pd.DataFrame(1 - ONE_POSITIVE, columns=["cat", "dog"])),
        "estimator ClassifierChain fails on fold . of cv, where label 'dog' has no negatives",
    ),
    Bad(
        "a label without positives anywhere, for a classifier that needs both classes",
        lambda: fit(MultiOutputClassifier(LogisticRegression()), y=Y * [1, 0]),
        "estimator MultiOutputClassifier fails on fold 0 of cv, where label 1 has no positives",
    ),
    Bad(
        "held-out rows without positives",
        lambda: fit(y=UNEVEN, cv=[(np.arange(20), np.arange(20, 40))]),
        "cv holds out no positives of any label, expected some",
    ),
    Bad(
        "columns of X in another order",
        lambda: fit(OneVsRestClassifier(LogisticRegression()), FRAME).predict(FRAME[["dose", "age", "size"]]),
        "The feature names should match those that were passed during fit",
    ),
    Bad(
        "columns of X in another order, for a classifier that does not look",
        lambda: fit(Scoring(), FRAME).predict_proba(FRAME[["dose", "age", "size"]]),
        "The feature names should match those that were passed during fit",
    ),
    Bad("fewer columns of X", lambda: fit().predict(X[:, :2]), "X has 2 features, but KNeighborsClassifier is exp"),
    Bad(
        "other labels in y",
        lambda: fit(y=NAMED).score(X, NAMED.set_axis(["cat", "cow"], axis=1)),
        "y lacks the column 'dog' and has the column 'cow'",
    ),
    Bad("a label twice", lambda: fit(y=NAMED.set_axis(["cat", "cat"], axis=1)), "y: the columns have 'cat' twice"),
    Bad(
        "three classes",
        lambda: fit(y=FOLDS),
        "Only binary classification is supported for a single column y: y is multiclass",
    ),
    Bad("soft labels", lambda: fit(y=Y * 0.5), "Only binary classification .* y is continuous-multioutput"),
    Bad("-1 and 1", lambda: fit(y=2 * Y - 1), "y has -1 at row .*, expected only 0 and 1"),
    Bad("NaN in y", lambda: fit(y=np.where(Y, 1.0, np.nan)), "Input y contains NaN"),
    Bad("lists of labels", lambda: fit(y=[["cat"], ["cat", "dog"]] * 20), "You appear to be using a legacy multi-"),
    Bad("no y", lambda: fit(y=None), "Expected array-like"),
    Bad("fewer rows of y", lambda: fit(y=Y[:39]), "Found input variables with inconsistent numbers of samples"),
    Bad("one row", lambda: fit(x=X[:1], y=Y[:1]), "cv is 2 folds, and y has n_samples=1 with weight, expected as many"),
    Bad("one row to hold out from", lambda: fit(x=X[:1], y=Y[:1], cv=0.5), "y has n_samples=1, expected at least 2"),
    Bad("more folds than rows", lambda: fit(x=X[:4], y=Y[:4], cv=5), "cv is 5 folds, and y has n_samples=4"),
    Bad("one fold", lambda: fit(cv=1), "The 'cv' parameter"),
    Bad("a share above 1", lambda: fit(cv=1.5), "The 'cv' parameter"),
    Bad("another word for cv", lambda: fit(cv="fitted"), "The 'cv' parameter"),
    Bad("fold numbers of other rows", lambda: fit(cv=FOLDS[:30]), "cv has 30 fold numbers, expected 40"),
    Bad("a fold judged on rows it is fitted on", lambda: fit(cv=[(FOLDS, FOLDS)]), "cv fits on row 0 and judges it"),
    Bad("repeated folds", lambda: fit(cv=RepeatedKFold(n_splits=2)), "cv judges row 0 in two folds"),
    Bad(
        "rows of a group on both sides",
        lambda: grouped(cv=[(np.arange(20), np.arange(20, 40))]),
        "cv splits the group of row 20, which fold 0 judges, expected all rows of a group in one fold",
    ),
    Bad(
        "rows of a group in two folds",
        lambda: grouped(cv=[(np.arange(1, 40, 4), [0]), (np.arange(1, 40, 4), [4])]),
        "cv splits the group of row 4, which fold 1 judges",
    ),
    Bad("folds that ignore the groups", lambda: grouped(cv=KFold(2)), "cv splits the group of row 0, which fold 0 "),
    Bad("fewer groups", lambda: grouped(FOLDS[:39], cv=2), "groups has 39 entries, expected 40, one for each row"),
    Bad("fewer groups than folds", lambda: grouped(cv=5), "groups has 4 groups, expected at least cv=5"),
    Bad(
        "one group to hold out from", lambda: grouped(FOLDS * 0, cv=0.5), "groups has 1 group, expected at least 2, to"
    ),
    Bad("a splitter for single labels", lambda: fit(cv=StratifiedKFold()), "Supported target types are"),
    Bad("several folds without refit", lambda: fit(refit=False), "refit is False with 5 folds in cv, expected True"),
    Bad("a splitter without refit", lambda: fit(cv=KFold(3), refit=False), "refit is False with 3 folds in cv"),
    Bad("a classifier not fitted", lambda: fit(cv="prefit"), "estimator is not fitted, expected a fitted one with cv="),
    Bad(
        "a classifier fitted on other labels",
        lambda: fit(KNeighborsClassifier().fit(X, np.hstack([Y, Y])), cv="prefit"),
        "predict_proba of KNeighborsClassifier has 4 arrays, expected 2",
    ),
    Bad(
        "a classifier fitted on other classes",
        lambda: fit(
            KNeighborsClassifier().fit(X, np.where(Y[:, 0], "a", "b")), y=np.where(Y[:, 0], "a", "c"), cv="prefit"
        ),
        r"y has .*'c'.*, expected the estimator's classes \['a', 'b'\]",
    ),
    Bad(
        "a classifier fitted on three classes",
        lambda: fit(KNeighborsClassifier().fit(X, FOLDS % 3), y=Y[:, 0], cv="prefit"),
        "estimator was fitted on the classes .*, expected two",
    ),
    Bad("another average", lambda: fit(average="f1"), "average is 'f1', expected 'macro'"),
    Bad("thresholds by label for samples", lambda: fit(average="samples"), "average is 'samples' with per_label=True"),
    Bad("a guard for micro", lambda: fit(average="micro", guard="shrink"), "guard is 'shrink' with average 'micro'"),
    Bad("a guard for macro", lambda: fit(average="macro", guard="pool"), "guard is 'pool' with average 'macro'"),
    Bad("a rule of no such name", lambda: fit(rule="macro, shrunk"), "rule is 'macro, shrunk', expected the name of a"),
    Bad("a rule for another average", lambda: fit(rule="micro", average="samples"), "average is 'samples' with rule"),
    Bad(
        "a limit for rows", lambda: fit(rule="top-k", min_recall=0.5), "min_recall is 0.5 with rule 'top-k', which has"
    ),
    Bad(
        "a rule for probabilities, of margins",
        lambda: fit(OneVsRestClassifier(LinearSVC()), rule="micro, label-free"),
        "rule is 'micro, label-free', which takes scores for probabilities, with the decision_function of OneVsRest.*;"
        " expected a calibrated rule, as 'micro, platt'$",
    ),
    Bad(
        "a rule for probabilities, of margins that were asked for",
        lambda: fit(LogisticRegression(), y=Y[:, 0], rule="macro, label-free", response_method="decision_function"),
        "rule is 'macro, label-free', .*; expected a calibrated rule, .*, or response_method='predict_proba'$",
    ),
    Bad(
        "a rule for probabilities, of others",
        lambda: fit(Scoring(lambda x: x[:, :2]), rule="micro, label-free"),
        r"rule is 'micro, label-free', which does not apply: scores lie outside \[0, 1\]",
    ),
    Bad(
        "the file of a rule for a rule",
        lambda: fit().set_rule("rule.json"),
        "rule is 'rule.json', expected a Rule, as load_rule reads one from a file",
    ),
    Bad("no rule for a rule", lambda: fit().set_rule(None), "rule is None, expected a Rule"),
    Bad(
        "a rule for three labels", lambda: fit().set_rule(FixedRule(0.5, 3)), "rule is about 3 labels, expected 2 as y"
    ),
    Bad(
        "a rule for other labels",
        lambda: fit(y=NAMED).set_rule(InstanceRule(label_names=("cat", "cow"))),
        "rule lacks the label 'dog' and has the label 'cow', expected those of y",
    ),
    *(
        Bad(
            f"{type(rule).__name__} for probabilities in place of a rule for margins",
            lambda rule=rule: fit(OneVsRestClassifier(LinearSVC())).set_rule(rule),
            f"rule is an? {type(rule).__name__} that cannot decide about the decision_function of OneVsRestClassifier:"
            r" y_score has .*, expected .*",
        )
        for rule in (InstanceRule(), ThresholdRule([0.3, 0.4], average="macro", objective=0.6, expected="counts"))
    ),
    Bad(
        "a rule before a fit",
        lambda: MultilabelThresholdClassifierCV(Scoring()).set_rule(FixedRule(0.5, 2)),
        "This Multilabel.* not fitted yet",
    ),
    Bad("beta 0", lambda: fit(beta=0), "beta is 0.0, expected a positive finite number"),
    Bad(
        "weights without routing",
        lambda: fit(fit_params={"sample_weight": np.ones(40)}),
        r"Passing extra .* sample_weight|.*enable_metadata_routing=True",
    ),
    Bad("negative weights", lambda: weighted(-np.ones(40)), "Negative values in data passed to `sample_weight`"),
    Bad("fewer weights", lambda: weighted(np.ones(39)), r"sample_weight.shape == \(39,\), expected \(40,\)"),
    Bad(
        "weights of 0",
        lambda: weighted(np.zeros(40)),
        "Sample weights must contain at least one non-zero number|cv is 2 folds, and y has n_samples=0 with weight",
    ),
    Bad(
        "no fit yet", lambda: MultilabelThresholdClassifierCV(Scoring()).predict(X), "This Multilabel.* not fitted yet"
    ),
]
