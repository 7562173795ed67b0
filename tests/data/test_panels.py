"""A panel has the cells of its items, sorted."""

import itertools

import numpy as np
import pytest

from tests.kernels.draws import NO_WEIGHTS, of_positives
from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Ints
from thresholds.data.panels import Panel, TieGroups, label_items, sorted_once
from thresholds.data.problem import Items, Problem
from thresholds.data.tallies import tie_groups

Pair = tuple[Panel, Items]


@pytest.fixture(params=[np.float32, np.float64])
def pairs(request: pytest.FixtureRequest) -> list[Pair]:
    """Panels beside their items: many ties, groups of several lengths."""
    found = []
    for seed in range(30):
        starts, keys, truth = of_positives(np.random.default_rng(seed), request.param)
        items = Items(np.unique(starts), keys, truth, NO_WEIGHTS)  # none of them empty
        found.append((Panel.of(items), items))
    return found


def test_its_cells_are_those_of_the_items_in_order(pairs: list[Pair]) -> None:
    for panel, items in pairs:
        order = np.lexsort((1 - items.positive_weights, items.keys, group_of(items.starts)))
        np.testing.assert_array_equal(panel.starts, items.starts)
        np.testing.assert_array_equal(panel.keys, items.keys[order])
        np.testing.assert_array_equal(panel.positive_weights, items.positive_weights[order])
        np.testing.assert_array_equal(
            panel.positives, np.add.reduceat(items.positive_weights, items.starts[:-1], dtype=np.int64)
        )


def test_labels_that_are_sorted_once_are_read_in_any_tiles() -> None:
    rng = np.random.default_rng(2)
    n_samples, n_labels = 40, 37  # of which some are sorted at a time
    scores = rng.integers(0, 9, (n_samples, n_labels)).astype(np.float32)
    problem = Problem.of(rng.integers(0, 2, scores.shape), scores)
    in_order = sorted_once(problem)
    for first, last in ((3, 5), (0, 37), (15, 33), (36, 37)):
        items = problem.label_items(first, last)
        panel, expected = label_items(in_order, first, last), Panel.of(items)
        assert isinstance(panel, Panel)
        for ours, others in zip((*panel, *panel.steps), (*expected, *expected.steps), strict=True):
            np.testing.assert_array_equal(ours, others)
        for ours, others in zip(panel.tie_groups(), tie_groups(items), strict=True):
            np.testing.assert_array_equal(ours, others)
        cuts = np.unique(panel.keys)[::3] + np.uint32(1)
        np.testing.assert_array_equal(panel.counts_at_cuts(cuts), items.counts_at_cuts(cuts))
    assert sorted_once(in_order) is in_order


def test_questions_are_answered_as_by_looking_at_each_tie_group(pairs: list[Pair]) -> None:
    rng = np.random.default_rng(1)
    for panel, _ in pairs:
        offsets, _, hits, sizes = TieGroups.of(panel)
        n_groups, n_items = panel.starts.size - 1, np.diff(panel.starts)
        most = rng.integers(0, n_items + 1)
        within = panel.within(most)
        hits_above = panel.hits_above(np.arange(n_groups), within)
        own_offsets, own_sizes = panel.tie_sizes(np.arange(n_groups))
        firsts = panel.firsts_of(np.arange(offsets[-1]))
        np.testing.assert_array_equal(own_offsets, offsets)
        np.testing.assert_array_equal(own_sizes, sizes)
        np.testing.assert_array_equal(np.diff(firsts, append=panel.keys.size), upwards(offsets, sizes))
        for group in range(n_groups):
            own = slice(offsets[group], offsets[group + 1])
            predicted, tp = sizes[own].cumsum(), hits[own].cumsum()
            n_within = np.count_nonzero(predicted <= most[group])
            assert within[group] == np.append(0, predicted)[n_within]
            assert hits_above[group] == np.append(0, tp)[n_within]


def test_between_positives_negatives_are_counted_together(pairs: list[Pair]) -> None:
    for panel, _ in pairs:
        offsets, _, hits, sizes = TieGroups.of(panel)
        expected_offsets, expected = [0], []
        for first, last in itertools.pairwise(offsets):
            negatives = 0
            for hit, size in zip(hits[first:last].tolist(), sizes[first:last].tolist(), strict=True):
                if hit > 0:
                    expected += [(0, negatives), (hit, size)]
                negatives = 0 if hit > 0 else negatives + size
            expected.append((0, negatives))
            expected_offsets.append(len(expected))
        found = panel.between_positives()
        np.testing.assert_array_equal(found[0], expected_offsets)
        np.testing.assert_array_equal(np.stack(found[1:], axis=1), expected)


def upwards(offsets: Ints, values: Ints) -> Ints:
    """Values of each group, the other way round."""
    return np.concatenate([values[first:last][::-1] for first, last in itertools.pairwise(offsets)])
