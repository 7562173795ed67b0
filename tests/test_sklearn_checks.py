"""scikit-learn's own checks of estimators, for a classifier of single labels and for one of many."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from thresholds.sklearn import MultilabelThresholdClassifierCV

# The one check that a threshold other than .5 may fail; scikit-learn excepts its own `TunedThresholdClassifierCV`, too.
AT_HALF = {"check_classifiers_train": "predictions are not those of probability .5"}

PASS_ALL = [
    MultilabelThresholdClassifierCV(OneVsRestClassifier(LogisticRegression(C=10)), cv=2),
    MultilabelThresholdClassifierCV(RandomForestClassifier(30, random_state=0)),
]
DEFAULT = MultilabelThresholdClassifierCV(OneVsRestClassifier(LogisticRegression()))


def excepted(estimator: Any) -> dict[str, str]:
    return AT_HALF if estimator is DEFAULT else {}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@parametrize_with_checks([*PASS_ALL, DEFAULT], expected_failed_checks=excepted)
def test_scikit_learn_finds_no_fault(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
