"""What is found: what every cut, counted by itself, shows to be the best, and the same by sorting and by kernels."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.engine.checks import CHECKS, check_equal, check_steps
from tests.engine.draws import SCORES, draw
from thresholds._engine import best_cuts as engine
from thresholds._engine.best_cuts import StepCriterion, all_steps, best_cuts, best_cuts_within, best_joint_cuts
from thresholds._engine.choosing import CountLimits, best_joint_steps
from thresholds._engine.columns import over_labels
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import joined

SEEDS = range(24)
# Where the best joint ratio is looked for, around that of a few rows: there, below it, above it.
RANGES = ((0.93, 1.01), (0.1, 0.5), (1.1, 1.2))


@pytest.fixture
def guesses(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Guess the best joint ratio of small data, too, right or wrong."""
    monkeypatch.setattr(engine, "_WORTH_A_GUESS", 2)
    return lambda seed: monkeypatch.setattr(engine, "_RANGE", RANGES[seed // 8 % 3])


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("aim", CHECKS)
@pytest.mark.usefixtures("narrow_stripes")
def test_cuts_are_the_best(aim: str, kind: str, by: str, guesses: Callable[[int], None]) -> None:
    for seed in SEEDS:
        guesses(seed)
        data = draw(kind, seed)
        CHECKS[aim](data, data.problem, data.labels, 1 + seed % 3, kind, seed)


@pytest.mark.parametrize("which", range(4))
def test_a_limit_that_a_cut_just_reaches_is_kept(which: int, by: str) -> None:
    """Of predictions, recall, precision, or all of them: what some cut of each label, not the best, comes to."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([20, 300]))
        data = replace(draw("rounded", seed, (n, 5)), weights=rng.integers(1, 4, n) if seed % 2 else None)
        limits = np.array([(np.inf, 0.0, 0.0)] * 5)  # (n_labels, 3)
        for of_label, label in zip(limits, data.labels, strict=True):
            if label.steps:
                _, _, tp, predicted = label.steps[rng.integers(len(label.steps))]
                reached = predicted / label.positives, tp / label.positives, tp / predicted
                for place in (0, 1, 2) if which == 3 else (which,):
                    of_label[place] = reached[place]
        data = replace(data, limits=CountLimits(*limits.T))
        CHECKS["within limits"](data, data.problem, data.labels, 1, seed)


@pytest.mark.parametrize("aim", CHECKS)
def test_of_equally_good_cuts_the_highest_is_best(aim: str, by: str) -> None:
    """In data so small that ties are common; to predict nothing is the highest cut of all."""
    for seed in range(150):
        data = draw("two values" if seed % 2 else "rounded", seed, (1 + seed % 6, 1 + seed % 4))
        CHECKS[aim](data, data.problem, data.labels, 1, seed)


def test_a_label_that_adds_nothing_to_micro_f_is_not_predicted(by: str) -> None:
    """F1 is 2/3 without the second label, and with it."""
    cuts = best_joint_cuts(Problem.of([[1, 1], [0, 0], [0, 0]], [[0.9, 0.5], [0.1, 0.5], [0.1, 0.5]]), 1.0)
    assert cuts.score.tolist() == [np.float64(0.9), np.inf]
    assert cuts.predicted.tolist() == [1, 0]


@pytest.mark.parametrize("kind", SCORES)
def test_kernels_find_in_many_rows_what_sorting_finds(kind: str, search_by: Callable[[str], None]) -> None:
    """Scores are put into as many buckets as there are, and those that are left into others, twice and more."""
    for seed, shape in enumerate([(20_000, 2), (100_000, 1), (2000, 24)]):
        data = draw(kind, seed, shape)
        found = {}
        for loop in ("sorting", "kernels"):
            search_by(loop)
            free, within = best_cuts_within(data.problem, data.limits, data.beta, n_jobs=1 + seed)
            found[loop] = free, within, best_joint_cuts(data.problem, data.beta, n_jobs=1 + seed)
        for ours, theirs in zip(found["kernels"], found["sorting"], strict=True):
            check_equal(ours, theirs, kind, seed)


@pytest.mark.parametrize("kind", SCORES)
def test_all_steps_are_those_of_every_cut(kind: str) -> None:
    """What a budget of predictions is shared out among; where positives tie, a step stands there more than once."""
    for seed in SEEDS:
        data = draw(kind, seed)
        check_steps(all_steps(data.problem), data.labels, kind, seed)


@pytest.mark.parametrize("kind", SCORES)
def test_kernels_leave_what_is_jointly_best_however_narrow_the_range_of_the_ratio(
    kind: str, search_by: Callable[[str], None]
) -> None:
    search_by("sorting")
    for seed in range(8, 16):
        data = draw(kind, seed)
        beta2 = data.beta**2
        cuts = best_joint_cuts(data.problem, data.beta)
        ratio = cuts.tp.sum() / (beta2 * cuts.positives.sum() + cuts.predicted.sum() or 1.0)
        for low, high in ((ratio, ratio), (ratio, 1.0), (0.0, ratio), (0.99 * ratio, ratio), (ratio, 1.01 * ratio)):
            search = engine._StepSearch(data.problem, StepCriterion(beta2, low, high, is_joint=True))
            search.by_sorting = False
            steps = joined(over_labels(data.problem, search.steps))
            check_equal(steps.at(best_joint_steps(steps, beta2)[0]), cuts, kind, seed, low / (ratio or 1.0))


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4]])
def test_the_cut_that_predicts_masked_cells_is_one_step(weights: list[int] | None) -> None:
    """Of few cells, too: a label has no more steps than positives, for as many of which there is room."""
    n_labels = 50
    scores = np.repeat([[0.75], [0.5], [-np.inf], [-np.inf]], n_labels, axis=1)
    problem = Problem.of(np.arange(4)[:, np.newaxis] + np.zeros(n_labels) < 3, scores, sample_weight=weights)
    search = engine._StepSearch(problem, StepCriterion(1.0, is_joint=True))
    search.by_sorting = False
    (steps,) = over_labels(problem, search.steps, n_jobs=1)
    assert steps.cut.reshape(n_labels, -1).tolist() == [[0.75, 0.5, -np.inf]] * n_labels
    assert best_joint_steps(steps, 1.0)[1] == (6 if weights else 3) / (16 if weights else 7)


def test_very_many_labels_of_few_rows(by: str) -> None:
    data = draw("rounded", 0, (3, 3000))
    CHECKS["within limits"](data, data.problem, data.labels, 2)
    CHECKS["jointly"](data, data.problem, data.labels, 2)


def test_a_joint_fit_of_a_hundred_thousand_labels_ends(by: str) -> None:
    """One row in 16 of a row is that row again: the best ratio of so few rows is not guessed."""
    truth = np.arange(200_000).reshape(2, -1) % 3 == 0
    cuts = best_joint_cuts(Problem.of(truth, np.where(truth, 0.75, 0.5)), 1.0)
    assert cuts.score[truth.any(axis=0)].tolist() == [0.75] * 66_667


def test_what_is_worth_nothing_is_never_predicted(by: str) -> None:
    data = draw("normal", 0, (50, 3))
    problem = data.take(labels=[0, 1, 2]).problem_of(np.zeros((50, 3)), data.scores)
    for cuts in (best_cuts(problem, 1.0), best_joint_cuts(problem, 1.0)):
        assert cuts.score.tolist() == [np.inf] * 3
        assert np.isnan(cuts.lower).all()
        assert not cuts.predicted.any()
