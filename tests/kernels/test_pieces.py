"""Work that is cut into pieces, or to what matters, gives what the whole does, and takes few steps."""

import math
from itertools import pairwise

import numpy as np
import pytest

from thresholds._kernels import bootstrap, evidence
from thresholds.diagnosis import evidence as of_labels


@pytest.mark.parametrize("n_at_once", [1, 30, 900])
def test_resampling_in_pieces_changes_nothing(n_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    offsets = np.array([0, 0, 5, 45, 47, 60])
    tp, fp = np.zeros((2, 60), np.int64)
    for start, end in pairwise(offsets):
        tp[start:end] = rng.integers(1, 90, end - start).cumsum()
        fp[start:end] = rng.integers(0, 90, end - start).cumsum()
    positives = np.array([3, *(tp[offsets[2:] - 1] + 1)])
    whole = bootstrap.resample(offsets, tp, fp, positives, 1.0, 7, 2, 20)
    monkeypatch.setattr(bootstrap, "_STEPS_AT_ONCE", n_at_once)
    for one, other in zip(whole, bootstrap.resample(offsets, tp, fp, positives, 1.0, 7, 2, 20), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_call_draws_for_few_replicates_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def note(*arguments: object) -> None:
        calls.append(arguments[7:9])

    monkeypatch.setattr(bootstrap, "add_replicates", note)
    offsets = np.array([0, 10**6, 10**6 + 10, 10**6 + 20])
    steps = np.arange(offsets[-1])
    bootstrap.resample(offsets, steps, steps, np.full(3, 10), 1.0, 7, 0, 100)
    assert calls == [((0, 1), (r, r + 1)) for r in range(100)] + [((1, 3), (0, 100))]


@pytest.mark.parametrize(("positives", "tied"), [(300_000, 600_000), (40, 600_000), (10**6 - 5, 10**5), (700, 2000)])
def test_only_numbers_of_positives_that_may_be_count(
    positives: int, tied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a million rows, in Python: all numbers would take it minutes."""
    n_factorials = 0
    log_factorial = evidence._log_factorial.py_func

    def counted(n: int) -> float:
        nonlocal n_factorials
        n_factorials += 1
        return log_factorial(n)

    monkeypatch.setattr(evidence, "_log_factorial", counted)
    for name in ("_first_to_matter", "_log_chance"):
        monkeypatch.setattr(evidence, name, getattr(evidence, name).py_func)
    n = 10**6
    mean, variance = (n - tied + 1) / 2 + tied, (n - tied) ** 2 / 12
    expected = positives * (n + 1) / 2
    found = evidence.p_value_of_rank_sum.py_func(n, positives, expected, tied, (tied + 1) / 2, mean, variance)
    assert found == pytest.approx(0.5, abs=0.05)
    assert n_factorials < 8 * (float(evidence.likely_numbers(np.array(n), np.array(positives))) + 60)

    # The sum over the law, by SciPy.
    from scipy.stats import hypergeom, norm

    law = hypergeom(n, positives, n - tied)
    k = np.arange(int(law.ppf(1e-25)), int(law.isf(1e-25)) + 1)
    spread = np.sqrt(np.maximum(k * variance * (1 - k / (n - tied)), 1e-300))
    beyond = norm.sf((expected - k * mean - (positives - k) * (tied + 1) / 2 - 0.5) / spread)
    assert math.isclose(found, float((law.pmf(k) * beyond).sum()), rel_tol=1e-5)


def test_a_bound_over_numbers_of_positives_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for counts in ((3000, 900, 310, 700), (3000, 900, 400, 700), (10**6, 50, 9, 20)):
        whole = of_labels._bound_of_best_f1(*counts)
        monkeypatch.setattr(of_labels, "_BOUNDED_AT_ONCE", 7)
        assert of_labels._bound_of_best_f1(*counts) == pytest.approx(whole, rel=1e-12)
        monkeypatch.undo()
