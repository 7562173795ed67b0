"""Dependent labels: the set that maximises E F-beta, from Pr(y_j = 1, |y| = s) (GFM).

    E F(h) = sum over j in h of D[j, k],    D[j, k] = sum over s of (1 + B) P[j, s] / (B s + k),    k = |h|, B = beta^2

for k > 0, with P[j, s] the probability that label j is positive and s labels are. So for each k the k labels of highest
D[., k] are best. The empty set is worth `zero_division` times the probability that no label is positive.

Dembczynski, Waegeman, Cheng and Huellermeier 2011, "An exact algorithm for F-measure maximization".
"""

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Bytes, Floats

_SIZES_AT_ONCE = 64  # of sets, so that memory stays small for thousands of labels
_EQUAL = 1e-12  # Sets whose expectations differ by less, relatively, count as equal.


def best_set(joint: Floats, sizes: Floats, p_none: float, beta: float, zero_division: float) -> Bytes:
    """Choose the labels of one instance; column c of `joint` is about `sizes[c]` positives. Ties: few, first labels."""
    b, n_labels = beta * beta, joint.shape[0]
    decided = np.zeros(n_labels, np.uint8)
    best, value, gain_of_best = 0, zero_division * p_none, np.zeros(n_labels)
    for block in np.array_split(np.arange(1, n_labels + 1), -(-n_labels // _SIZES_AT_ONCE) or 1):
        gain = joint @ ((1.0 + b) / (b * sizes[:, np.newaxis] + block))
        sums = np.sort(gain, axis=0)[::-1].cumsum(axis=0)
        for k, of_size in zip(block.tolist(), gain.T, strict=True):
            reached = float(sums[k - 1, k - block[0]])
            if reached > value * (1.0 + _EQUAL):
                best, value, gain_of_best = k, reached, of_size
    decided[np.argsort(-gain_of_best, kind="stable")[:best]] = 1
    return decided


def best_set_of_draws(draws: npt.NDArray[np.bool_], beta: float, zero_division: float) -> Bytes:
    """Choose the labels of one instance for the distribution of equally likely draws (n_draws, n_labels)."""
    sizes, at = np.unique(draws.sum(axis=1), return_inverse=True)
    seen = np.flatnonzero(draws.any(axis=0))  # Other labels gain nothing.
    joint = np.zeros((sizes.size, seen.size))
    np.add.at(joint, at, draws[:, seen])
    decided = np.zeros(draws.shape[1], np.uint8)
    some = sizes > 0
    p_none = float(np.mean(sizes[at] == 0))
    decided[seen] = best_set(joint[some].T / len(draws), sizes[some].astype(np.float64), p_none, beta, zero_division)
    return decided
