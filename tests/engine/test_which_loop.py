"""Which loop searches is one rule; kernels look at little, and leave nothing but hard labels to sorting."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.engine.checks import CHECKS
from tests.engine.draws import SCORES, Array, draw
from thresholds._arrays import threads
from thresholds._engine import best_cuts as engine
from thresholds._engine import kernels
from thresholds._engine.best_cuts import StepCriterion, all_steps, best_cuts, best_joint_cuts, is_small
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns


@pytest.fixture
def sorted_labels(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many cells each label has that is sorted."""
    found: list[int] = []
    sort = engine.steps_by_sorting

    def noting(columns: Any) -> Any:
        found.extend((columns.ends - columns.starts).tolist())
        return sort(columns)

    monkeypatch.setattr(engine, "steps_by_sorting", noting)
    return found


def of_shape(n_rows: int, n_labels: int) -> tuple[Array, Array]:
    """Truth and scores that take no memory."""
    return np.broadcast_to(np.True_, (n_rows, n_labels)), np.broadcast_to(np.float32(0.5), (n_rows, n_labels))


def test_a_million_cells_are_large() -> None:
    """A label counts for a thousand cells more, however few it has; of sparse scores those that are stored count."""
    assert is_small(Problem.of(*of_shape(998_999, 1)))
    assert not is_small(Problem.of(*of_shape(999_000, 1)))
    assert is_small(Problem.of(*of_shape(1, 999)))
    assert not is_small(Problem.of(*of_shape(1, 1000)))
    assert is_small(Problem.of(np.zeros((10_000, 500)), sparse.eye_array(10_000, 500, format="csr")))


def test_small_problems_are_sorted_and_others_are_not(
    sorted_labels: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = draw("normal", 0, (100, 3))
    for most, n_sorted in ((3301, 3), (3300, 0)):
        monkeypatch.setattr(engine, "_MOST_SORTED_CELLS", most)
        for search in (best_cuts, best_joint_cuts):
            sorted_labels.clear()
            search(data.problem, 1.0)
            assert len([n for n in sorted_labels if n]) == n_sorted


@pytest.mark.parametrize("search", [best_cuts, best_joint_cuts, all_steps])
def test_progress_is_shown_where_it_is_asked_for(
    search: Any, by: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_PATIENCE", -1.0)
    data = draw("normal", 0, (50, 3))
    options = [] if search is all_steps else [1.0]
    search(data.problem, *options)
    assert capsys.readouterr().err == ""
    search(data.problem, *options, progress=True)
    assert "labels [#" in capsys.readouterr().err


# What rules show of it


SETTINGS: list[dict[str, Any]] = [
    {},
    {"beta": 0.3, "placement": "mid"},
    {"beta": 1e-3, "zero_division": 1.0},
    {"beta": 1e4, "placement": "score", "sample_weight": np.arange(400) % 5},
    {"sample_weight": np.exp(np.sin(np.arange(400))), "n_jobs": 2},
]


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: ", ".join(settings) or "default")
def test_rules_are_the_same_to_the_last_bit(average: Any, settings: dict[str, Any], search_by: Any) -> None:
    for seed, dtype in enumerate((np.float32, np.float64, np.float16)):
        data = draw("rounded", seed, (400, 21))
        rules = []
        for loop in ("sorting", "kernels"):
            search_by(loop)
            rules.append(thresholds.fit_empirical(data.truth, data.scores.astype(dtype), average, **settings))
        ours, theirs = rules
        assert ours.thresholds.tobytes() == theirs.thresholds.tobytes()
        assert ours.objective == theirs.objective
        assert ours.fitted_on == theirs.fitted_on
        np.testing.assert_array_equal(ours.unsupported, theirs.unsupported)


# Kernels


@pytest.mark.parametrize("aim", CHECKS)
@pytest.mark.parametrize("n_rows", [100, 700])
def test_labels_that_buckets_do_not_part_are_sorted(
    n_rows: int, aim: str, search_by: Any, sorted_labels: list[int]
) -> None:
    """And no others, whatever stands beside them."""
    search_by("kernels")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data = draw("rounded", seed, (n_rows, 9))
        scores = data.scores.astype(np.float64)
        scores[:, 2::3] = rng.choice([-1, 1], (n_rows, 3)) * 10 ** rng.uniform(-300, 300, (n_rows, 3))
        data = replace(
            data,
            scores=scores,
            truth=rng.random(scores.shape) < np.where(scores > 0, 0.4, 0.2),
            weights=rng.integers(1, 5, n_rows) if seed % 2 else None,
        )
        sorted_labels.clear()
        CHECKS[aim](data, data.problem, data.labels, 1)
        times = 2 if aim == "within limits" else 1
        assert 0 < len([n for n in sorted_labels if n]) <= 3 * times


# Those of very different sizes, and those that are lost where the width of a bucket is inverted.
HARD = ("all sizes", "widely", "to the ends", "one far", "subnormal")
USUAL = [kind for kind in SCORES if not any(word in kind for word in HARD)]


@pytest.mark.parametrize("kind", USUAL)
def test_scores_of_usual_kinds_are_parted(kind: str, search_by: Any, sorted_labels: list[int]) -> None:
    search_by("kernels")
    for seed in range(4):
        data = draw(kind, seed, (20_000, 3))
        best_cuts(data.problem, data.beta)
        best_joint_cuts(data.problem, data.beta)
    assert sorted_labels == []


def test_kernels_look_at_few_scores_twice_and_leave_few_steps() -> None:
    rng = np.random.default_rng(13)
    truth = rng.random((100_000, 3)) < [0.01, 0.05, 0.2]
    problem = Problem.of(truth, (rng.normal(size=truth.shape) + 2.5 * truth).astype(np.float32))

    def left(*aim: Any) -> tuple[int, int]:
        """How many scores of a label are put into buckets again, at most, and how many steps are left of all."""
        search = engine._StepSearch(problem, StepCriterion(1.0, *aim))
        search.by_sorting = False

        def look(columns: Columns, memory: Memory) -> tuple[int, int]:
            memory.room = kernels.room_for(len(truth), problem.dtype, weighted=False)
            memory.room.nodes[:] = 0
            steps = search.steps(columns, memory)
            return int(memory.room.nodes[:, kernels.END].max()), steps.cut.size

        ((n_scores, n_steps),) = over_labels(problem, look, n_jobs=1)
        return n_scores, n_steps

    cuts = best_joint_cuts(problem, 1.0)
    ratio = cuts.tp.sum() / (cuts.positives.sum() + cuts.predicted.sum())
    for aim, most_scores, most_steps in (
        ((), 0.05, 3),
        ((0.93 * ratio, 1.01 * ratio, True), 0.05, 50),
        ((0.0, 1.0, True), 1.0, 0.1 * truth.sum()),
    ):
        n_scores, n_steps = left(*aim)
        assert n_scores < most_scores * len(truth)
        assert n_steps <= most_steps
