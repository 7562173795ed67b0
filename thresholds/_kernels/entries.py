"""The items of sparse scores: stored entries by group, and behind each group one for all of its absent cells."""

from typing import Any

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import kernel


@kernel
def items_of_entries(
    starts: Ints,
    places: Ints,
    keys: Keys,
    weights: Ints,
    true_starts: Ints,
    true_places: Ints,
    true_weights: Ints,
    group_weights: Ints,
    missing: Any,
) -> tuple[Keys, Ints, Ints]:
    """Return keys, positive weights and weights of the entries of groups, behind each group those of its absent cells.

    Group j has the entries `starts[j]:starts[j + 1]` and the true cells `true_starts[j]:true_starts[j + 1]`, by rising
    places.
    """
    n_groups = starts.size - 1
    n_items = keys.size + n_groups
    item_keys = np.empty(n_items, keys.dtype)
    positive_weights, item_weights = np.empty(n_items, np.int64), np.empty(n_items, np.int64)
    for j in range(n_groups):
        t, last = true_starts[j], true_starts[j + 1]
        absent, true_absent = group_weights[j], np.int64(0)
        for i in range(starts[j], starts[j + 1]):
            # True cells before the entry have none.
            while t < last and true_places[t] < places[i]:
                true_absent += true_weights[t]
                t += 1
            positive_weight = np.int64(0)
            if t < last and true_places[t] == places[i]:
                positive_weight = true_weights[t]
                t += 1
            item_keys[i + j], item_weights[i + j] = keys[i], weights[i]
            positive_weights[i + j] = positive_weight
            absent -= weights[i]
        while t < last:
            true_absent += true_weights[t]
            t += 1
        at = starts[j + 1] + j
        item_keys[at], item_weights[at] = missing, absent
        positive_weights[at] = true_absent
    return item_keys, positive_weights, item_weights
