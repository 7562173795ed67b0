"""Rules held against a reference on rows that they were not fitted on: gains, winners, and what winners are worth."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from tests.naive import contest as naive
from thresholds._engine.problem import Problem
from thresholds.metrics import f1_score
from thresholds.validation.contest import Contest, Gain, hold_contest

N, M, N_FOLDS = 30, 3, 3
AVERAGES = ("macro", "weighted", "micro", "samples")

Cells = NDArray[np.uint8]


def drawn(seed: int) -> tuple[Cells, dict[str, Cells], NDArray[np.int64]]:
    """Truth, decisions that err more or less often, and folds in which two rows are in none."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N, M)) < [0.5, 0.3, 0.15]).astype(np.uint8)
    errors = {"reference": 0.3, "better": 0.1, "best": 0.05, "worse": 0.5, "as good as the best": 0.05}
    decided = {name: truth ^ (rng.random((N, M)) < rate).astype(np.uint8) for name, rate in errors.items()}
    decided["as good as the best"] = decided["best"]
    folds = rng.permutation(np.arange(N) % N_FOLDS)
    folds[[3, 7]] = -1
    return truth, decided, folds


def hold(
    truth: Cells,
    decided: dict[str, Cells],
    folds: NDArray[np.int64],
    average: str,
    *,
    weights: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    zero_division: float = 0.0,
    never: str = "",
) -> Contest:
    """Hold decisions against the first of them; what is `never` chosen may not win."""
    problem = Problem.of(truth, np.zeros(truth.shape), sample_weight=weights)
    cells = {name: sparse.csr_array(of_rule) for name, of_rule in decided.items()}
    return hold_contest(cells, problem, folds, groups, average, 1.0, zero_division, barred=[never])


@pytest.mark.each_value
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize(("weighted", "grouped", "zero_division"), [(False, False, 0), (True, True, 1)])
def test_figures_gains_and_winners_equal_the_twin(
    average: str, weighted: bool, grouped: bool, zero_division: int
) -> None:
    truth, decided, folds = drawn(1)
    truth[:, 2] = 0  # with zero_division=1 it is not what predicts nothing that counts
    decided = {
        name: cells & (np.arange(M) < 2).astype(np.uint8) if "b" in name else cells for name, cells in decided.items()
    }
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 3, N) if weighted else None
    groups = rng.permutation(np.arange(N) % 13) if grouped else None
    found = hold(
        truth, decided, folds, average, weights=weights, groups=groups, zero_division=zero_division, never="best"
    )
    rows = naive.Rows(
        truth.tolist(),
        [1] * N if weights is None else weights.tolist(),
        list(range(N)) if groups is None else groups.tolist(),
    )
    about = (average, 1, zero_division)
    may_win = {name: name != "best" for name in decided}
    winners = []
    for part in range(N_FOLDS + 1):
        kept = np.flatnonzero((folds >= 0) & (folds != part - 1))
        here = rows.kept(kept.tolist())
        theirs = decided["reference"][kept].tolist()
        gains = {}
        for entry in found.entries:
            ours = decided[entry.name][kept].tolist()
            gains[entry.name] = naive.gain(here, ours, theirs, *about)
            if part == 0:
                assert entry.figure == pytest.approx(naive.figure(here, ours, *about), abs=1e-12)
            if entry.name != "reference":
                assert entry.gains[part] == pytest.approx(gains[entry.name], abs=1e-12)
        winners.append(naive.winner(gains, may_win))
    assert found.winner.name == winners[0]

    # What winners that are found without a fold decide about it.
    of_choice = np.zeros_like(truth)
    for k, name in enumerate(winners[1:]):
        of_choice[folds == k] = decided[name][folds == k]
    kept = np.flatnonzero(folds >= 0)
    expected = naive.figure(rows.kept(kept.tolist()), of_choice[kept].tolist(), *about)
    assert found.figure_of_choice == pytest.approx(expected, abs=1e-12)


def test_the_largest_gain_that_is_shown_wins_and_of_equal_ones_the_first() -> None:
    truth, decided, folds = drawn(0)
    found = hold(truth, decided, folds, "micro")
    gains = {entry.name: entry.gains[0] for entry in found.entries}
    assert gains["best"] == gains["as good as the best"]
    assert gains["best"].value > gains["better"].value > 0
    assert found.winner.name == "best"
    backwards = {name: decided[name] for name in ("reference", "as good as the best", "best", "better")}
    assert hold(truth, backwards, folds, "micro").winner.name == "as good as the best"


def test_what_may_not_win_does_not() -> None:
    truth, decided, folds = drawn(0)
    del decided["as good as the best"]
    assert hold(truth, decided, folds, "micro", never="best").winner.name == "better"


def test_the_reference_stays_where_a_gain_may_be_luck() -> None:
    truth, decided, folds = drawn(0)
    luckier = decided["reference"].copy()
    wrong = np.argwhere(luckier != truth)[:2]
    luckier[tuple(wrong.T)] ^= 1  # two cells of 120
    found = hold(truth, {"reference": decided["reference"], "luckier": luckier}, folds, "micro")
    gain = found.entries[1].gains[0]
    assert gain.value > 0 > gain.lowest
    assert found.winner.name == "reference"


def test_a_winner_by_luck_is_worth_less_than_its_figure() -> None:
    # Twelve rules guess alike: the best figure lies above F1 of a guess, that of the choice itself does not.
    rng = np.random.default_rng(5)
    best, choice = [], []
    for _ in range(12):
        truth = (rng.random((60, 2)) < 0.5).astype(np.uint8)
        decided = {str(k): (rng.random((60, 2)) < 0.5).astype(np.uint8) for k in range(12)}
        found = hold(truth, decided, np.arange(60) % 3, "micro")
        best.append(found.winner.figure)
        choice.append(found.figure_of_choice)
    assert np.mean(best) > np.mean(choice) + 0.02
    assert np.mean(choice) == pytest.approx(0.5, abs=0.04)


def test_with_one_fold_a_winner_is_found_and_the_choice_cannot_be_judged() -> None:
    truth, decided, _ = drawn(0)
    found = hold(truth, decided, np.zeros(N, np.int64), "macro")
    assert found.winner.name == "best"
    assert np.isnan(found.figure_of_choice)
    assert found.winner.figure == pytest.approx(f1_score(truth, decided["best"], average="macro"))


def test_a_single_row_shows_nothing() -> None:
    found = hold(
        np.array([[1]], np.uint8),
        {"a": np.array([[0]], np.uint8), "b": np.array([[1]], np.uint8)},
        np.zeros(1, int),
        "micro",
    )
    assert found.winner.name == "a"
    assert np.isnan(found.entries[1].gains[0].lowest)
    assert not Gain(1.0, float("nan"), float("nan")).is_shown
