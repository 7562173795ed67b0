"""Rows that are alike."""

import numpy as np
import pytest

from thresholds._arrays import kinds
from thresholds._arrays.kinds import Kinds
from thresholds.significance import rejected

WHOLE = np.array([3, 1, 3, 3, 1, 3])
REAL = np.array([0.0, np.nan, -0.0, 0.0, np.nan, 0.5])


def test_rows_are_of_a_kind_that_are_alike_to_the_last_bit() -> None:
    found = Kinds.of([WHOLE, REAL])
    first, kind, times = found
    alike = kind[:, np.newaxis] == kind
    assert np.argwhere(np.triu(alike, 1)).tolist() == [[0, 3], [1, 4]]
    assert first[kind].tolist() == [0, 1, 2, 0, 1, 5]
    assert times[kind].tolist() == [2, 2, 1, 2, 2, 1]


def test_rows_of_one_word_that_differ_are_of_no_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_mixed", lambda columns: np.zeros(columns[0].size, np.uint64))
    first, kind, times = Kinds.of([WHOLE, REAL])
    assert first.tolist() == kind.tolist() == list(range(6))
    assert times.tolist() == [1] * 6


def test_hypotheses_fall_as_if_each_were_there_so_many_times() -> None:
    rng = np.random.default_rng(3)
    for alpha in (0.05, 0.3, 0.9):
        p = np.append(rng.random(30) ** 3, np.nan)
        times = rng.integers(1, 9, p.size)
        each = rejected(np.repeat(p, times), alpha)
        np.testing.assert_array_equal(np.repeat(rejected(p, alpha, times), times), each)
