"""A panel answers what its items do, from keys that are sorted once."""

from typing import Any

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


def test_it_counts_at_keys_as_they_do(pairs: list[Pair]) -> None:
    rng = np.random.default_rng(0)
    for panel, items in pairs:
        keys: Any = rng.choice(items.keys, panel.positives.size) + rng.integers(0, 2, panel.positives.size, np.uint8)
        np.testing.assert_array_equal(panel.counts_at(keys), items.counts_at(keys))


def test_it_has_their_keys_at_ranks(pairs: list[Pair]) -> None:
    rng = np.random.default_rng(0)
    for panel, items in pairs:
        first = np.maximum(rng.random(panel.positives.size) * np.diff(items.starts), 0.5)
        both = np.stack([first, np.minimum(first + rng.choice([0, 1]), np.diff(items.starts))])
        np.testing.assert_array_equal(panel.keys_at(both), items.keys_at(both))
