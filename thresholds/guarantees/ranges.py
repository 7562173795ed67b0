"""Ranges of thresholds that are shown to keep what is promised."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints


class Ranges(NamedTuple):
    """Thresholds t of labels with `low < t <= high`, or `t == low == -inf`; several ranges a label, NaN for none.

    The ends are scores of the rows that were tested, so no range ends within a gap between two scores of the fit.
    """

    low: Floats  # (n_ranges, n_labels)
    high: Floats  # (n_ranges, n_labels)

    @property
    def any(self) -> Booleans:
        """Whether a label (n_labels,) has a range."""
        return np.asarray((~np.isnan(self.high)).any(axis=0))

    def of_labels(self, labels: slice | Ints) -> "Ranges":
        """Return the ranges of some labels."""
        return Ranges(self.low[:, labels], self.high[:, labels])

    def within(self, high: Floats) -> "Ranges":
        """Return what lies at or below an end (n_labels,) of each label, nothing where that is NaN."""
        lowered = np.minimum(self.high, high)
        has_some = (self.low < lowered) | (lowered == -np.inf)
        return Ranges(np.where(has_some, self.low, np.nan), np.where(has_some, lowered, np.nan))

    def where(self, wanted: Booleans, other: "Ranges") -> "Ranges":
        """Take the ranges of the labels that are wanted, of the others those of `other`."""
        n_ranges = max(len(self.low), len(other.low))
        pairs = zip(self.padded(n_ranges), other.padded(n_ranges), strict=True)
        return Ranges(*(np.where(wanted, own, rest) for own, rest in pairs))

    def padded(self, n_ranges: int) -> "Ranges":
        """Return so many ranges for each label, of which the last are none."""
        missing = np.full((n_ranges - len(self.low), self.low.shape[1]), np.nan)
        return Ranges(*(np.concatenate([ends, missing]) for ends in self))

    def contain(self, thresholds: Floats) -> Booleans:
        """Whether the threshold of each label (n_labels,) lies in one of its ranges."""
        inside = (self.low < thresholds) & (thresholds <= self.high)
        inside |= (thresholds == -np.inf) & (self.low == -np.inf)
        return np.asarray(inside.any(axis=0))


def one_range(low: Floats, high: Floats) -> Ranges:
    """Return one range for each label, from ends (n_labels,)."""
    return Ranges(low[np.newaxis], high[np.newaxis])


def joined(parts: list[Ranges]) -> Ranges:
    """Join the ranges of consecutive labels."""
    n_ranges = max(len(part.low) for part in parts)
    padded = [part.padded(n_ranges) for part in parts]
    return Ranges(*(np.concatenate(ends, axis=1) for ends in zip(*padded, strict=True)))
