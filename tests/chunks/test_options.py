"""Whatever a fit of labels can be asked for, counts give what the rows give, bit for bit."""

from unittest import mock

import numpy as np
import pytest

from tests.chunks.options import (
    GUARDED,
    KINDS,
    LIMITED,
    PROMISED,
    SHARED,
    Rows,
    differences,
    fitted,
    passes,
    rows_of,
    tie_groups,
)
from thresholds import Candidates, Counts, InputError
from thresholds.guarantees import fixed_sequence

FITS = GUARDED + LIMITED


def hits_of_no_draw():
    """Count none of the rows at a start's own score as hits, as counts do: these rows have no order there."""

    def none(_rows, _labels, _scores, n_taken):
        return np.zeros_like(n_taken)

    return mock.patch.object(fixed_sequence, "_hits_among_ties", none)


@pytest.mark.parametrize("kind", KINDS)
def test_tie_groups_are_fitted_as_the_rows_are(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    rows = rows_of(kind, rng)
    counts = tie_groups(rows.blocks(rng))
    for options in FITS + SHARED:
        assert differences(counts.fit(**options), fitted(rows, options)) == [], options


@pytest.mark.parametrize("kind", KINDS)
def test_counts_at_candidates_are_once_all_that_is_needed_was_counted(kind):
    rng = np.random.default_rng(100 + KINDS.index(kind))
    rows = rows_of(kind, rng)
    blocks = rows.blocks(rng)
    for options in FITS + SHARED:
        counts, n_passes = passes(blocks, options)
        assert differences(counts.fit(**options), fitted(rows, options)) == [], options
        assert n_passes <= 7


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "weighted"])
def test_promises_from_counts_are_those_of_rows_of_whose_ties_none_counts_as_a_hit(kind):
    rng = np.random.default_rng(200 + KINDS.index(kind))
    rows = rows_of(kind, rng)
    blocks = rows.blocks(rng)
    for options in PROMISED:
        with hits_of_no_draw():
            expected = fitted(rows, options)
        for counts in (tie_groups(blocks), passes(blocks, options)[0]):
            assert differences(counts.fit(**options), expected) == [], options


def test_promises_from_counts_are_those_of_the_rows_where_no_scores_are_equal():
    rng = np.random.default_rng(7)
    rows = rows_of("plain", rng)
    for options in PROMISED:
        rule = tie_groups([rows]).fit(**options)
        assert differences(rule, fitted(rows, options)) == [], options


def test_a_guard_is_refused_what_candidates_alone_do_not_tell():
    rows = rows_of("plain", np.random.default_rng(0))
    candidates = Candidates.of(rows.y_true, rows.y_score)
    counts = Counts.of(rows.y_true, rows.y_score, candidates)
    assert counts.needed_for("macro") is None
    assert counts.needed_for("macro", guard="auto") is not None
    with pytest.raises(InputError, match=r"do not tell all that shrink asks, expected those at"):
        counts.fit("macro", guard="auto")


def test_a_shared_cut_is_looked_for_where_it_may_lie_alone():
    rng = np.random.default_rng(5)
    truth = rng.random((10_000, 8)) < np.geomspace(0.002, 0.2, 8)
    scores = (rng.normal(size=truth.shape) * 2 + 3 * truth).astype(np.float32)
    rows = Rows(truth, scores, {})
    for options in SHARED:
        counts, n_passes = passes([rows], options)
        assert differences(counts.fit(**options), fitted(rows, options)) == [], options
        assert n_passes == 3
        # Far from all scores of positives, counted for every label.
        assert counts.tally.candidates.keys.size < 2 * truth.sum()


def test_a_promise_takes_no_weights_but_0_and_1():
    rng = np.random.default_rng(1)
    rows = rows_of("plain", rng)
    options = {"min_recall": 0.5, "confidence": 0.8}
    present = rng.integers(0, 2, len(rows.y_true))
    for weights in (present, 2 * present):  # Equal weights count like none.
        there = rows._replace(about={"sample_weight": weights})
        rule = tie_groups([there]).fit(**options)
        assert differences(rule, fitted(there, options)) == []
    odd = np.resize([0.5, 1.5], present.size)  # 1 on average
    counts = Counts.of(rows.y_true, rows.y_score, sample_weight=odd, weight_unit=0.5)
    with pytest.raises(InputError, match="expected weights of 0 and 1 only"):
        counts.fit(**options)


def test_a_run_of_many_cells_is_parted_before_it_is_opened():
    # 2 positives among 400,000 rows, and a limit at a rank far above them: 200,000 rows are one run.
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(400_000, 1))
    truth = np.zeros_like(scores)
    truth[np.argsort(scores[:, 0])[[10_000, 200_000]]] = 1
    options = {"max_overprediction": 50_000.0}
    candidates = Candidates.of(truth, scores)
    sizes = []
    while candidates is not None:
        counts = Counts.of(truth, scores, candidates)
        sizes.append(counts.tally.tied.keys.size)
        candidates = counts.needed_for(**options)
    rows = Rows(truth, scores, {})
    assert differences(counts.fit(**options), fitted(rows, options)) == []
    assert len(sizes) == 3
    assert 0 < max(sizes) < 2**16


def test_guards_of_counts_do_not_look_for_rows_however_many_cells_there_are(monkeypatch):
    monkeypatch.setattr("thresholds._engine.best_cuts._MOST_SORTED_CELLS", 0)
    rows = rows_of("plain", np.random.default_rng(4))
    options = {"average": "micro", "guard": "pool"}
    counts, n_passes = passes([rows], options)
    assert n_passes == 2
    assert differences(counts.fit(**options), fitted(rows, options)) == []


def probable_rows(rng, n=200, m=3):
    """Truth, and probabilities."""
    truth = rng.random((n, m)) < 0.2
    return truth, 1 / (1 + np.exp(-rng.normal(size=(n, m)) - 1.2 * truth))


@pytest.mark.parametrize("guard", ["shrink", "pool"])
def test_scores_are_probabilities_whatever_lies_in_rows_that_do_not_count(guard):
    """A label that is known in no row, and rows without weight, say nothing of the others."""
    rng = np.random.default_rng(3)
    truth, scores = probable_rows(rng)
    options = {"average": "micro" if guard == "pool" else "weighted", "guard": guard}

    unknown = truth.astype(np.float64)
    unknown[:, 1] = np.nan
    rows = Rows(unknown, scores, {"unknown": "nan"})
    assert differences(tie_groups([rows]).fit(**options), fitted(rows, options)) == []
    assert differences(passes([rows], options)[0].fit(**options), fitted(rows, options)) == []

    weights = np.resize([1, 1, 0], len(truth))
    scores[2] = 7.0
    rows = Rows(truth, scores, {"sample_weight": weights})
    present = Rows(truth[weights > 0], scores[weights > 0], {})
    assert differences(fitted(rows, options), fitted(present, options)) == []
    assert differences(tie_groups([rows]).fit(**options), fitted(rows, options)) == []


def test_equal_weights_leave_the_objective_as_it_is():
    """To the last bit, also where it is averaged over labels by the weight of their positives."""
    options = {"average": "weighted", "per_label": False}
    for seed in range(20):
        truth, scores = probable_rows(np.random.default_rng(seed), n=20)
        rows = Rows(truth, scores, {"sample_weight": np.full(20, 6)})
        assert differences(tie_groups([rows]).fit(**options), fitted(rows, options)) == [], seed
