"""scikit-learn's own checks of estimators, for a classifier of single labels and for one of many."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks
from threadpoolctl import threadpool_limits

from thresholds.sklearn import MultilabelThresholdClassifierCV

OF_SINGLE_LABELS = MultilabelThresholdClassifierCV(OneVsRestClassifier(LogisticRegression(C=10)), cv=2)
OF_MANY_LABELS = MultilabelThresholdClassifierCV(RandomForestClassifier(6, random_state=0), cv=3)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@pytest.mark.slow
@parametrize_with_checks([OF_SINGLE_LABELS])
def test_scikit_learn_finds_no_fault(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.soak
@parametrize_with_checks([OF_MANY_LABELS])
def test_scikit_learn_finds_no_fault_with_one_classifier_for_all_labels(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)


def test_one_check_asks_for_a_threshold_of_one_half() -> None:
    """scikit-learn excepts its own `TunedThresholdClassifierCV` from this check; others pass it if .5 is as good."""
    default = MultilabelThresholdClassifierCV(OneVsRestClassifier(LogisticRegression()))
    with pytest.raises(AssertionError):
        check_classifiers_train("MultilabelThresholdClassifierCV", default)
