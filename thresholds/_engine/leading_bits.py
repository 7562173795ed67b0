"""How many of the last bits of keys are dropped, so that scores which agree in the others are few enough bins.

Keys fall within each label. Those of one bin agree but for their last d bits. No more rows take bins away, and bins of
d + 1 are unions of those of d.
"""

import numpy as np

from thresholds._arrays.types import Ints, Keys


def differing_bits(keys: Keys, label: Ints) -> Ints:
    """Return in how many of its last bits each key differs from the one before, (n_keys,).

    The first key of a label differs in one bit more than keys have. Neighbours are in one bin if at least as many bits
    are dropped.
    """
    n_bits = 8 * keys.itemsize
    differing = np.full(keys.size, n_bits + 1)
    differing[1:] = bit_length(keys[1:] ^ keys[:-1])
    differing[1:][label[1:] != label[:-1]] = n_bits + 1
    return differing


def fewest_dropped(differing: Ints, label: Ints, n_labels: int, most: int) -> Ints:
    """Return for each label the fewest bits to drop that leave at most so many bins, (n_labels,)."""
    n_kinds = int(differing.max(initial=0)) + 1
    kinds = np.bincount(label * n_kinds + differing, minlength=n_labels * n_kinds)
    of_label = kinds.reshape(n_labels, n_kinds)
    # With d bits dropped a label has as many bins as keys that differ in more than d bits.
    # (n_labels, n_kinds) keys that differ in d bits or more
    n_bins = of_label[:, ::-1].cumsum(axis=1)[:, ::-1]
    return np.asarray((n_bins[:, 1:] > most).sum(axis=1))


def bit_length(numbers: Keys) -> Ints:
    """Return the number of binary digits of whole numbers, (n_numbers,)."""
    # The exponent of a float is exact up to 32 bits.
    if numbers.itemsize <= 4:
        return np.frexp(numbers.astype(np.float64))[1].astype(np.int64)
    upper = (numbers >> np.uint64(32)).astype(np.float64)
    lower = (numbers & np.uint64(0xFFFFFFFF)).astype(np.float64)
    digits = np.frexp(np.where(upper > 0, upper, lower))[1]
    return np.where(upper > 0, digits + 32, digits).astype(np.int64)
