"""Cells of each label in bins of neighbouring scores: what is left of rows where memory is bounded.

A bin is all cells of a label whose keys (`_kernels/keys.py`) are alike but for their last d bits: scores that agree in
their leading binary digits. Of a bin are kept its lowest and its highest key, its weight, and the positive part of it.
So what lies at or above the lowest key of a bin is known exactly, and a threshold in the gap between two bins decides
as it would on the rows.

Each label has its own d, the least for which it has at most so many bins as are allowed. A label that has no more
distinct scores than that has d = 0: its bins are tie groups, and nothing is lost. Bins of d + 1 are unions of those of
d, and no rows take bins away. So d depends on all rows together, and not on how they came: bins of two sets of rows
add up to those of both, in any order.
"""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.grouped import group_of, sums_of_groups
from thresholds._arrays.types import Booleans, Ints, Keys
from thresholds._engine.histograms import Histograms
from thresholds._engine.leading_bits import differing_bits, fewest_dropped
from thresholds._kernels.keys import to_keys
from thresholds.data.tallies import Items, items_in_order


@dataclass(frozen=True)
class Bins:
    """The bins of labels, one label after another, each from the highest score down."""

    starts: Ints  # (n_labels + 1,) those of label j are `starts[j]:starts[j + 1]`; a label may have none
    lowest: Keys  # (n_bins,) of its cells that have weight
    highest: Keys  # (n_bins,)
    positive_weights: Ints  # (n_bins,)
    weights: Ints  # (n_bins,)
    dropped: Ints  # (n_labels,) the number of last bits by which keys of one bin differ
    most: int | None  # bins of a label; None for a bin of each distinct score

    @classmethod
    def of(cls, found: Histograms, most: int | None) -> "Bins":
        """Put labels of which each score is known into bins."""
        keys = to_keys(found.lowest.copy())
        dropped = np.zeros(found.n_labels, np.int64)
        return cls(found.offsets, keys, keys, found.hits, found.weights, dropped, most)._merged()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.lowest, self.highest, self.positive_weights, self.weights)
        return sum(array.nbytes for array in (*arrays, self.starts, self.dropped))

    @property
    def label(self) -> Ints:
        """The label of each bin, (n_bins,)."""
        return group_of(self.starts)

    @property
    def are_exact(self) -> Booleans:
        """Whether each bin is a single score, (n_bins,)."""
        return np.asarray(self.lowest == self.highest)

    @property
    def positives(self) -> Ints:
        """Weight of the positives of each label, (n_labels,)."""
        return self._of_labels(self.positive_weights)

    @property
    def weight_of_label(self) -> Ints:
        """Weight of all cells of each label, (n_labels,)."""
        return self._of_labels(self.weights)

    @property
    def items(self) -> Items:
        """Every bin as an item at its lowest score."""
        return Items(self.starts, self.lowest, self.positive_weights, self.weights)

    def __add__(self, other: "Bins") -> "Bins":
        """Return the bins of both sets of rows."""
        # From the highest down. What is in one bin at the coarser of both d stays side by side.
        label = np.concatenate([self.label, other.label])
        keys = np.concatenate([self.lowest, other.lowest])
        order = np.lexsort((~keys, label))

        def both(mine: Ints, theirs: Ints) -> Ints:
            return np.concatenate([mine, theirs])[order]

        together = Bins(
            self.starts + other.starts,
            both(self.lowest, other.lowest),
            both(self.highest, other.highest),
            both(self.positive_weights, other.positive_weights),
            both(self.weights, other.weights),
            np.maximum(self.dropped, other.dropped),
            self.most,
        )
        return together._merged()

    def in_order(self, order: Ints) -> "Bins":
        """Return the labels in another order, (n_labels,)."""
        starts, at = items_in_order(self.starts, order)
        return Bins(
            starts,
            self.lowest[at],
            self.highest[at],
            self.positive_weights[at],
            self.weights[at],
            self.dropped[order],
            self.most,
        )

    def _of_labels(self, weights: Ints) -> Ints:
        """Add up the bins of each label."""
        return sums_of_groups(self.starts, weights)

    def _merged(self) -> "Bins":
        """Return bins, given in parts from the highest down, with the least d that leaves few enough of each label."""
        label = self.label
        differing = differing_bits(self.lowest, label)  # (n_parts,)
        dropped = self.dropped
        if self.most is not None:
            dropped = np.maximum(dropped, fewest_dropped(differing, label, dropped.size, self.most))

        # A bin begins where the keys differ in more than the bits that are dropped.
        firsts = np.flatnonzero(differing > dropped[label])
        arrays = (self.lowest, self.highest, self.positive_weights, self.weights)
        if firsts.size < label.size:
            arrays = (
                np.minimum.reduceat(self.lowest, firsts),
                np.maximum.reduceat(self.highest, firsts),
                np.add.reduceat(self.positive_weights, firsts),
                np.add.reduceat(self.weights, firsts),
            )
        return Bins(np.searchsorted(firsts, self.starts), *arrays, dropped, self.most)
