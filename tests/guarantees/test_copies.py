"""A promise of rows that are there several times, and no groups: a warning."""

import warnings

import numpy as np
import pytest

from thresholds import cross_fit, fit, fit_empirical

PROMISE = {"min_precision": 0.3, "confidence": 0.8}


def drawn(times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, each so many times, in no order; and the number of the row."""
    rng = np.random.default_rng(0)
    truth = (rng.random((60, 2)) < 0.4).astype(np.uint8)
    scores = rng.normal(size=(60, 2)) + truth
    order = rng.permutation(60 * times)
    return tuple(np.repeat(values, times, axis=0)[order] for values in (truth, scores, np.arange(60)))


def test_most_rows_being_copies_is_warned_of() -> None:
    truth, scores, number = drawn(3)
    for fitted in (
        lambda **given: fit_empirical(truth, scores, **given),
        lambda **given: fit(truth, scores, "macro, in-sample", **given),
        lambda **given: cross_fit(truth, scores, guard=None, cv=2, **given),
    ):
        with pytest.warns(UserWarning, match=r"^180 of 180 rows are copies of others, in scores and truth"):
            fitted(**PROMISE)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted(**PROMISE, groups=number)


def test_other_rows_are_not() -> None:
    truth, scores, _ = drawn(1)
    again = np.arange(80) % 60  # Forty rows of eighty are copies: no more than half.
    votes = np.round(scores[np.arange(180) % 60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_empirical(truth, scores, **PROMISE)
        fit_empirical(truth[again], scores[again], **PROMISE)
        fit_empirical(truth[np.arange(180) % 60], votes, **PROMISE)
        fit_empirical(*drawn(3)[:2], min_precision=0.3)
        fit_empirical(drawn(3)[0][:, 0], drawn(3)[1][:, 0], **PROMISE)  # may be ties


def test_rows_that_do_not_count_are_no_copies() -> None:
    """Nor are rows that a classifier never looked at, whose scores are all equal."""
    truth, scores, _ = drawn(1)
    n, more = len(truth), 2 * len(truth)
    longer = np.r_[truth, np.zeros((more, truth.shape[1]), truth.dtype)]
    never = np.r_[scores, np.zeros((more, scores.shape[1]))]
    alike = np.r_[scores, np.tile(np.arange(scores.shape[1]) / 8, (more, 1))]
    is_known = np.arange(n + more) < n
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_empirical(longer, never, min_recall=0.2, confidence=0.8)
        fit_empirical(longer, alike, min_recall=0.2, confidence=0.8, sample_weight=is_known.astype(int))
        hidden = np.where(is_known[:, np.newaxis], longer, np.nan)
        fit_empirical(hidden, alike, min_recall=0.2, confidence=0.8, unknown="nan")
    with pytest.warns(UserWarning, match="rows are copies"):
        fit_empirical(longer, alike, min_recall=0.2, confidence=0.8)
