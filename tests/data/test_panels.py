"""A panel has the cells of its items, sorted."""

import numpy as np
import pytest

from tests.kernels.draws import NO_WEIGHTS, of_positives
from thresholds.data.panels import Panel
from thresholds.data.problem import Items
from thresholds.data.tallies import label_of

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
        order = np.lexsort((1 - items.positive_weights, items.keys, label_of(items.starts)))
        np.testing.assert_array_equal(panel.starts, items.starts)
        np.testing.assert_array_equal(panel.keys, items.keys[order])
        np.testing.assert_array_equal(panel.positive_weights, items.positive_weights[order])
        np.testing.assert_array_equal(
            panel.positives, np.add.reduceat(items.positive_weights, items.starts[:-1], dtype=np.int64)
        )
