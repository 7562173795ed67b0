"""`cross_fitted_score_` says what the thresholds reach on new data; `best_score_` says too much."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

from thresholds import Shrink
from thresholds.sklearn import MultilabelThresholdClassifierCV

N, FEATURES, SEEDS = 2000, 4, 8
RATES = np.array([0.02, 0.03, 0.05, 0.1, 0.2, 0.4])  # of the labels: 40 positives and more


class Gap(NamedTuple):
    mean: float
    error: float  # standard error of the mean


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def draw(
    rng: np.random.Generator, n: int, slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of a logistic model whose labels have about the rates above."""
    x = rng.normal(size=(n, FEATURES))
    lift = (slopes**2).sum(axis=0) / 2 / (1 + (slopes**2).sum(axis=0) / 3)
    chances = 1 / (1 + np.exp(-(x @ slopes + np.log(RATES / (1 - RATES)) - lift)))
    return x, (rng.random(chances.shape) < chances).astype(int)


CLAIMS = ("cross_fitted_score_", "best_score_")


@cache
def measure(average: str, guard: object) -> dict[str, Gap]:
    """How far claimed scores are above that on ten times as many new rows, over data sets."""
    gaps = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        slopes = rng.normal(size=(FEATURES, RATES.size))
        x, y = draw(rng, N, slopes)
        assert y.sum(axis=0).min() >= 20
        base = OneVsRestClassifier(LogisticRegression())
        found = MultilabelThresholdClassifierCV(base, average=average, guard=guard, random_state=seed).fit(x, y)
        new_x, new_y = draw(rng, 10 * N, slopes)
        reached = f1_score(new_y, found.predict(new_x), average=average)
        gaps.append([getattr(found, claim) - reached for claim in CLAIMS])
    means, spreads = np.mean(gaps, axis=0), np.std(gaps, axis=0, ddof=1)
    return {
        claim: Gap(float(mean), float(spread / np.sqrt(SEEDS)))
        for claim, mean, spread in zip(CLAIMS, means, spreads, strict=True)
    }


@pytest.mark.soak
@pytest.mark.parametrize(("average", "guard"), [("macro", None), ("macro", Shrink()), ("micro", None)])
def test_the_cross_fitted_score_is_that_on_new_data(average: str, guard: object) -> None:
    gap = measure(average, guard)["cross_fitted_score_"]
    assert abs(gap.mean) < 2 * gap.error
    assert gap.error < 0.01


@pytest.mark.soak
def test_the_best_score_is_too_high() -> None:
    gap = measure("macro", None)["best_score_"]
    assert gap.mean > 2 * gap.error
