"""A panel has the cells of its items, sorted."""

import numpy as np
import pytest

from tests.kernels.draws import NO_WEIGHTS, of_positives
from thresholds._arrays.grouped import group_of
from thresholds.data.panels import Panel, label_items, sorted_once
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
