"""A loop that joins two lists of keys of each label; `data/tallies.py` says what they are for."""

import numpy as np

from thresholds._arrays.types import Ints, Keys
from thresholds._kernels._jit import kernel


@kernel
def add_lists(
    starts: Ints,
    keys: Keys,
    positive_weights: Ints,
    weights: Ints,
    other_starts: Ints,
    other_keys: Keys,
    other_positive_weights: Ints,
    other_weights: Ints,
) -> tuple[Ints, Keys, Ints, Ints]:
    """Return the keys of two lists of each label, which rise, each once, and add up what weighs there.

    Returns offsets, keys, positive weights and weights. All weights may be left empty, and are then.
    """
    size = keys.size + other_keys.size
    n_weights = size if weights.size + other_weights.size > 0 else 0
    offsets = np.zeros(starts.size, np.int64)
    key = np.empty(size, keys.dtype)
    hits, sums = np.zeros(n_weights, np.int64), np.zeros(n_weights, np.int64)
    n = np.int64(0)
    for j in range(starts.size - 1):
        a, b = starts[j], other_starts[j]
        last, other_last = starts[j + 1], other_starts[j + 1]
        while a < last or b < other_last:
            # From one list, or from both if they have the same key.
            from_other = b < other_last and (a == last or other_keys[b] <= keys[a])
            from_first = a < last and (not from_other or other_keys[b] == keys[a])
            key[n] = keys[a] if from_first else other_keys[b]
            if n_weights > 0:
                if from_first:
                    hits[n] += positive_weights[a]
                    sums[n] += weights[a]
                if from_other:
                    hits[n] += other_positive_weights[b]
                    sums[n] += other_weights[b]
            a += np.int64(from_first)
            b += np.int64(from_other)
            n += np.int64(1)
        offsets[j + 1] = n
    # Copies, as views would keep all of the room alive; empty weights stay empty.
    return offsets, key[:n].copy(), hits[:n].copy(), sums[:n].copy()
