"""Fits with confidence against the definitions, on small samples with ties."""

from fractions import Fraction

import numpy as np
import pytest

import thresholds
from tests.naive import guarantees as twin
from tests.naive.exhaustive import Array, f_beta
from thresholds.guarantees.tests_of_labels import starts_of

LABELS = 30


def sample(seed: int, n_rows: int, n_values: int) -> tuple[Array, Array]:
    """Truth and scores of labels; few values tie, 0 stands for no ties."""
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.2, 0.8, LABELS)
    truth = (rng.random((n_rows, LABELS)) < rate).astype(np.uint8)
    scores = rng.standard_normal((n_rows, LABELS)) + rng.uniform(0, 4, LABELS) * truth
    if n_values:
        scores = np.clip(np.round(scores * n_values / 6), -n_values // 2, n_values // 2)
    return truth, scores.astype(np.float32)


def starts(floor: float, delta: float, n_rows: int) -> list[twin.Start]:
    """The library's starts, which are a choice: ranks and shares."""
    found = starts_of(np.array([floor]), np.array([delta]), np.array([float(n_rows)]))
    pairs = zip(found.n_above.ravel(), found.delta.ravel(), strict=True)
    return [(int(n) + 1, Fraction(share)) for n, share in pairs if not np.isnan(n)]


def best_f(
    truth: Array, scores: Array, beta: float, floor: float | None, recall: float | None, confidence: float
) -> Fraction:
    """The best F of the cuts that are shown."""
    half = 2 if floor is not None and recall is not None else 1
    delta = twin.delta_of(confidence) / half
    shown = {twin.at_or_above(truth, scores, cut) for cut in twin.cuts_of(scores)}
    if floor is not None:
        # Rows of one score have the library's order, which is a choice too, and knows nothing of truth.
        places = np.random.default_rng(0).permutation(len(truth)).tolist()
        cuts = twin.precision_cuts(truth, scores, floor, starts(floor, float(delta), len(truth)), places)
        shown &= {twin.at_or_above(truth, scores, cut) for cut in cuts}
    if recall is not None:
        shown &= {twin.at_or_above(truth, scores, cut) for cut in twin.recall_cuts(truth, scores, recall, delta)}
        if not shown and floor is None:
            shown = {(int(truth.sum()), len(truth))}  # always
    positives = Fraction(int(truth.sum()))
    return max((f_beta(Fraction(tp), Fraction(n), positives, beta, 0.0) for tp, n in shown), default=Fraction(0))


@pytest.mark.each_value
@pytest.mark.parametrize("n_values", [0, 3, 6, 20])
@pytest.mark.parametrize(
    ("floor", "recall", "confidence"),
    [
        (0.5, None, 0.75),
        (0.6, None, 0.9),
        (0.8, None, 0.8),
        (None, 0.5, 0.75),
        (None, 0.8, 0.9),
        (None, 0.9, 0.95),
        (0.5, 0.5, 0.8),
        (0.6, 0.7, 0.7),
    ],
)
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_the_cut_is_the_best_of_those_that_are_shown(
    n_values: int, floor: float | None, recall: float | None, confidence: float, beta: float
) -> None:
    truth, scores = sample(7 * n_values, 48, n_values)
    rule = thresholds.fit_empirical(
        truth, scores, min_precision=floor, min_recall=recall, confidence=confidence, beta=beta
    )
    predicted = rule.predict(scores)
    n_cut = 0
    for j in range(LABELS):
        y, d = truth[:, j], predicted[:, j]
        found = f_beta(Fraction(int((y & d).sum())), Fraction(int(d.sum())), Fraction(int(y.sum())), beta, 0.0)
        assert found == best_f(y, scores[:, j], beta, floor, recall, confidence), f"label {j}"
        n_cut += 0 < d.sum() < len(y)
    assert n_cut > 0, "a test in which nothing is cut tests nothing"
