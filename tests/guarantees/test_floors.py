"""Floors of labels that hold on new rows: the thresholds, against their twin, and what is said of them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from tests.naive import guarantees as twin
from thresholds import fit_empirical
from thresholds.guarantees.exact_tests import least_hits, p_of_floor, positives_needed, predictions_needed
from thresholds.guarantees.fixed_sequence import starts_of

# Exact tests


def test_p_is_that_of_the_binomial_law() -> None:
    hits, n = np.array([5, 9, 30, 99]), np.array([5, 10, 33, 100])
    np.testing.assert_allclose(p_of_floor(hits, n, 0.7), binom.sf(hits - 1, n, 0.7), rtol=1e-12)
    assert p_of_floor(7, 10, 0.7) == 1, "no more than the floor shows nothing"
    assert p_of_floor(0, 10, 0.0) == 0, "everything keeps a floor of 0"


def test_the_least_number_of_hits_is_that_of_the_definition() -> None:
    n = np.arange(60)
    for floor in (0.05, 0.5, 0.8, 0.95):
        for delta in (0.2, 0.05, 0.01):
            least = least_hits(n, np.full(60, floor), np.full(60, delta))
            for rows, hits in zip(n, least, strict=True):
                shown = [h for h in range(rows + 1) if binom.sf(h - 1, rows, floor) <= delta and h > rows * floor]
                assert hits == min(shown, default=rows + 1)


@pytest.mark.parametrize("floor", [0.1, 0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01])
def test_positives_needed_are_those_of_the_twin(floor: float, delta: float) -> None:
    exact = Fraction(delta)
    assert positives_needed(floor, delta) == twin.positives_needed(floor, exact)
    assert positives_needed(floor, delta) == twin.predictions_needed(floor, exact)


def test_so_many_predictions_show_a_floor() -> None:
    for floor, precision in ((0.5, 0.6), (0.7, 0.95), (0.9, 0.91)):
        n = float(predictions_needed(floor, 0.05, precision))
        assert binom.sf(np.floor(n * precision * (1 + 1e-12)) - 1, n, floor) <= 0.05
    assert predictions_needed(0.9, 0.05, 0.9) == np.inf
    assert predictions_needed(0.9, 0.05, 1.0) == positives_needed(0.9, 0.05)


def test_starts_share_the_error_that_is_allowed() -> None:
    n_above, delta = starts_of(np.array([0.5, 0.9, np.nan]), np.full(3, 0.1), np.full(3, 10_000.0))
    assert (np.nansum(delta, axis=0) <= 0.1 * (1 + 1e-12)).all()
    assert np.isnan(delta[:, 2]).all()
    np.testing.assert_array_equal(n_above[:3, 1], [26, 52, 104])
    assert 0.9 ** n_above[0, 1] <= delta[0, 1]


# Thresholds, against the twin


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Draw labels of a few dozen rows: scores that tie or not, labels that are rare or not, one floor or two."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(5, 90))
    truth = (rng.random((n_rows, 4)) < rng.choice([0.1, 0.4, 0.8], 4)).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + rng.choice([0.5, 2, 4], 4) * truth
    if seed % 3:
        scores = np.round(scores * rng.choice([0.5, 1, 3]))
    options = {"confidence": float(rng.choice([0.5, 0.8, 0.9]))}
    floors = {"min_precision": [0.3, 0.5, 0.7, 0.9], "min_recall": [0.2, 0.5, 0.8]}
    for name in (["min_precision"], ["min_recall"], list(floors))[int(rng.integers(3))]:
        options[name] = float(rng.choice(floors[name]))
    return truth, scores, options


@pytest.mark.parametrize("seed", range(120))
def test_thresholds_are_those_of_the_twin(seed: int) -> None:
    truth, scores, options = drawn(seed)
    rule = fit_empirical(truth, scores, **options)
    n_rows = len(truth)
    places = np.random.default_rng(0).permutation(n_rows)
    delta = twin.delta_of(options["confidence"])
    floors = {name: value for name, value in options.items() if name != "confidence"}
    share = delta / len(floors)
    starts = []
    if "min_precision" in floors:
        found = starts_of(np.array([floors["min_precision"]]), np.array([float(share)]), np.array([n_rows]))
        starts = [
            (int(n) + 1, Fraction(d) / share)
            for n, d in zip(found.n_above[:, 0], found.delta[:, 0], strict=True)
            if not np.isnan(n)
        ]
    for j in range(truth.shape[1]):
        y, s = truth[:, j], scores[:, j]
        shown = twin.shown_cuts(y, s, **floors, delta=delta, starts=starts, places=places)
        cut = twin.best_cut(y, s, shown)
        decided = s >= rule.thresholds[j]
        if cut != np.inf:
            np.testing.assert_array_equal(decided, s >= cut, err_msg=f"label {j}, {options}")
            assert rule.guarantees.promised[j]
        elif not (shown or "min_precision" in floors):
            assert (rule.thresholds[j], rule.guarantees.instead[j]) == (-np.inf, "always")
        elif not shown:
            assert (rule.thresholds[j], rule.guarantees.instead[j]) == (np.inf, "never")
