"""Dependent labels: the set that maximises E F-beta, from Pr(y_j = 1, |y| = s) (GFM).

    E F(h) = sum over j in h of D[j, k],    k = |h| > 0
    D[j, k] = sum over s of (1 + B) P[j, s] / (B s + k),    B = beta^2

with P[j, s] the probability that label j is positive and s labels are. So for each k the k labels
of highest D[., k] are best. The empty set is worth `zero_division` times the probability that no
label is positive.

Dembczynski, Waegeman, Cheng and Huellermeier 2011, "An exact algorithm for F-measure maximization".
"""

import numpy as np

from thresholds._arrays.blocks import ceil_div
from thresholds._arrays.types import Booleans, Bytes, Floats

_SIZES_AT_ONCE = 64  # of sets, so that memory stays small for thousands of labels
_EQUAL = 1e-12  # Sets whose expectations differ by less, relatively, count as equal.


def best_set(
    joint: Floats,
    sizes: Floats,
    p_none: float,
    beta: float,
    zero_division: float,
) -> Bytes:
    """Choose the labels of one instance; column c of `joint` is about `sizes[c]` positives.

    Of sets of equal value, the smallest; of labels of equal gain, the first.
    """
    beta_squared = beta * beta
    n_labels = joint.shape[0]

    # The empty set, until another is better.
    best_size = 0
    best_value = zero_division * p_none
    best_gains = np.zeros(n_labels)

    n_blocks = ceil_div(n_labels, _SIZES_AT_ONCE) or 1
    for set_sizes in np.array_split(np.arange(1, n_labels + 1), n_blocks):
        # D of each label for sets of these sizes, and the sum of the highest ones.
        weights = (1.0 + beta_squared) / (beta_squared * sizes[:, np.newaxis] + set_sizes)
        gains = joint @ weights  # (n_labels, n_set_sizes)
        sums = np.sort(gains, axis=0)[::-1].cumsum(axis=0)
        for column, size in enumerate(set_sizes.tolist()):
            value = float(sums[size - 1, column])
            if value > best_value * (1.0 + _EQUAL):
                best_size = size
                best_value = value
                best_gains = gains[:, column]

    decided = np.zeros(n_labels, np.uint8)
    decided[np.argsort(-best_gains, kind="stable")[:best_size]] = 1
    return decided


def best_set_of_draws(draws: Booleans, beta: float, zero_division: float) -> Bytes:
    """Choose the labels of one instance, of equally likely draws (n_draws, n_labels)."""
    n_draws, n_labels = draws.shape

    # P[j, s], counted over the draws; labels that are in none gain nothing.
    sizes, size_of_draw = np.unique(draws.sum(axis=1), return_inverse=True)
    drawn = np.flatnonzero(draws.any(axis=0))
    counts = np.zeros((sizes.size, drawn.size))
    np.add.at(counts, size_of_draw, draws[:, drawn])

    has_positives = sizes > 0
    joint = counts[has_positives].T / n_draws
    p_none = float(np.mean(sizes[size_of_draw] == 0))
    decided = np.zeros(n_labels, np.uint8)
    positive_sizes = sizes[has_positives].astype(np.float64)
    decided[drawn] = best_set(joint, positive_sizes, p_none, beta, zero_division)
    return decided
