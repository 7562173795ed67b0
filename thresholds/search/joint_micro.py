"""The cuts of highest micro F-beta, one for each label, found jointly.

    tp / (B P + predicted) = F / (1 + B),    B = beta^2, P the positives of all labels

For a ratio r, each label takes the cut at which tp - r predicted is highest, on its own. What all
of them reach together is the next r. It rises with every step and stops at the highest, after a few
steps (Dinkelbach 1967; docs/proofs.md).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats
from thresholds._engine.choosing import highest_ratio
from thresholds._engine.cuts import Cuts
from thresholds._kernels.choosing import upper_hulls
from thresholds.search import staircase
from thresholds.search.staircase import Staircase


class Hull(NamedTuple):
    """The steps at which tp - r predicted is highest for some r: the vertices of upper hulls."""

    stairs: Staircase
    slope: Floats  # (n_steps,) of the edge that ends at each step: tp gained for each prediction

    @classmethod
    def of(cls, stairs: Staircase) -> "Hull":
        """Return the hulls of some labels."""
        offsets, vertex, slope = upper_hulls(stairs.offsets, stairs.tp, stairs.fp)
        return cls(stairs.take(offsets, vertex), slope)


def best_joint_cuts(hulls: Sequence[Hull], beta: float) -> Cuts:
    """Choose the steps of highest micro F-beta from the hulls of consecutive labels.

    Predicting down to a vertex pays as long as the edge that leads there gains more tp a prediction
    than the whole has.
    """
    stairs = staircase.concatenate([hull.stairs for hull in hulls])
    slope = np.concatenate([hull.slope for hull in hulls])  # (n_steps,)
    tp_gained = stairs.increments(stairs.tp)  # (n_steps,)
    predicted_more = stairs.increments(stairs.predicted)  # (n_steps,)

    def choose(ratio: float) -> tuple[int, int, Booleans]:
        used = slope > ratio  # (n_steps,) the first edges of each label, as slopes fall
        return int(tp_gained[used].sum()), int(predicted_more[used].sum()), used

    _, used = highest_ratio(choose, beta**2 * stairs.positives.sum())

    # The step of a label is the end of its last edge that is used.
    used_before = np.append(0, used.cumsum())  # (n_steps + 1,)
    n_used = np.diff(used_before[stairs.offsets])  # (n_labels,)
    return stairs.cuts_at(np.where(n_used > 0, stairs.offsets[:-1] + n_used - 1, -1))
