"""Scores of all kinds of classifiers, as one column a label."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from thresholds import InputError
from thresholds.sklearn import stack_scores

X, Y = make_multilabel_classification(n_samples=80, n_classes=3, random_state=0)
ABSENT = Y.copy()
ABSENT[:, 1] = 0
P = np.array([[0.9, 0.1], [0.4, 0.6]])
CLASSIFIERS = [
    OneVsRestClassifier(LogisticRegression(max_iter=500)),
    ClassifierChain(LogisticRegression(max_iter=500)),
    MultiOutputClassifier(LogisticRegression(max_iter=500)),
    MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=3)),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    DecisionTreeClassifier(max_depth=2),
    KNeighborsClassifier(),
    MLPClassifier((4,), solver="lbfgs", random_state=0),
    DummyClassifier(),
]


def name_of(classifier: object) -> str:
    return f"{type(classifier).__name__}-{type(getattr(classifier, 'estimator', None)).__name__}"


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=name_of)
def test_scores_are_the_probabilities_of_class_one(classifier: object) -> None:
    raw = classifier.fit(X, Y).predict_proba(X)
    stacked = stack_scores(raw, classifier.classes_, 3)
    assert stacked.shape == Y.shape
    for label in range(3):
        expected = raw[label][:, 1] if isinstance(raw, list) else raw[:, label]
        assert np.array_equal(stacked[:, label], expected)


@pytest.mark.parametrize("classifier", [CLASSIFIERS[4], KNeighborsClassifier(), DummyClassifier()], ids=name_of)
@pytest.mark.parametrize("value", [0, 1])
def test_a_label_of_one_class_has_that_class_for_certain(classifier: object, value: int) -> None:
    constant = Y.copy()
    constant[:, 1] = value
    raw = classifier.fit(X, constant).predict_proba(X)
    assert raw[1].shape == (80, 1)
    stacked = stack_scores(raw, classifier.classes_, 3)
    assert (stacked[:, 1] == value).all()
    assert np.array_equal(stacked[:, 2], raw[2][:, 1])


def test_decision_functions_stay_as_they_are() -> None:
    raw = RidgeClassifier().fit(X, Y).decision_function(X)
    assert np.array_equal(stack_scores(raw, None, 3), raw)


def test_three_dimensions_are_a_list() -> None:
    assert stack_scores(np.stack([P, P[::-1]]), None, 2).tolist() == [[0.1, 0.6], [0.6, 0.1]]


def test_boolean_classes_are_zero_and_one() -> None:
    seen = [np.array([False, True]), np.array([True])]
    assert stack_scores([P, np.ones((2, 1))], seen, 2).tolist() == [[0.1, 1.0], [0.6, 1.0]]


def test_a_binary_classifier_gives_one_column_of_the_positive_class() -> None:
    classes = np.array(["no", "yes"])
    assert stack_scores(P, classes, 1, positive="yes").tolist() == [[0.1], [0.6]]
    assert stack_scores(P, classes, 1, positive="no").tolist() == [[0.9], [0.4]]
    assert stack_scores(np.array([-1.0, 2.0]), classes, 1, positive="yes").tolist() == [[-1.0], [2.0]]
    assert stack_scores(np.array([-1.0, 2.0]), classes, 1, positive="no").tolist() == [[1.0], [-2.0]]
    assert stack_scores(np.ones((2, 1)), np.array(["no"]), 1, positive="yes").tolist() == [[0.0], [0.0]]


def test_the_dtype_stays() -> None:
    seen = [np.array([0, 1]), np.array([0])]
    assert stack_scores([P.astype(np.float32), np.ones((2, 1), np.float32)], seen, 2).dtype == np.float32


@pytest.mark.parametrize(
    ("raw", "classes", "n_labels", "message"),
    [
        ([P], None, 2, r"raw has 1 arrays, expected 2, one for each label"),
        (P, None, 3, r"raw has shape \(2, 2\), expected 3 columns"),
        ([P, np.ones((2, 1))], None, 2, r"raw has one column for a label, and classes does not tell"),
        ([P, np.ones((2, 3))], [[0, 1], [0, 1]], 2, r"raw has shape \(2, 3\) for a label, expected a column for each"),
        (np.ones((2, 3)), np.arange(2), 1, r"raw has shape \(2, 3\) for a label, expected a column for each of 2"),
        (
            [np.ones((2, 1)), P[:, :1]],
            [[1], [1]],
            2,
            r"raw has different scores in the only column of label 1",
        ),
        (P[:, :1], [1], 1, r"raw has different scores in the only column of label 0"),
        ([P], [[1]], 1, r"raw has shape \(2, 2\) for a label, expected a column for each of 1 classes"),
    ],
)
def test_other_shapes_are_refused(raw: object, classes: object, n_labels: int, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        stack_scores(raw, classes, n_labels)


def test_sparse_scores_are_filled_in() -> None:
    raw = sparse.csr_matrix([[0.0, 0.4], [0.9, 0.0]])
    assert stack_scores(raw, None, n_labels=2).tolist() == [[0.0, 0.4], [0.9, 0.0]]
