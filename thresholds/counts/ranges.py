"""Ranges of scores of which every single score is to be counted."""

from dataclasses import dataclass

import numpy as np

from thresholds._arrays.grouped import follow, precede
from thresholds._arrays.types import Booleans, Ints, Scores
from thresholds._engine.histograms import Histograms
from thresholds._engine.staircase import Columns
from thresholds._results.words import counted
from thresholds.counts.kind import Kind


@dataclass(frozen=True, eq=False)
class ScoreRanges:
    """Ranges of scores of each label, which `Counts.needed_for` returns: `Counts.of` counts every score in them.

    They are small, a few numbers of each label, and are pickled to whoever has the rows.

    Attributes
    ----------
    offsets : int64 (n_labels + 1,), those of label j are `offsets[j]:offsets[j + 1]`, and rise
    lowest, highest : (n_ranges,) each, both within the range; ranges do not meet
    """

    kind: Kind  # of the counts that they were found in
    offsets: Ints
    lowest: Scores
    highest: Scores

    @classmethod
    def of_bins(cls, kind: Kind, bins: Histograms, wanted: Booleans) -> "ScoreRanges":
        """Cover the bins that are wanted, (n_bins,), neighbouring ones by one range."""
        # Bins fall, ranges rise: what begins a range has the lowest score of it.
        label = bins.label
        begins = np.flatnonzero(wanted & ~precede(bins.offsets, wanted))
        ends = np.flatnonzero(wanted & ~follow(bins.offsets, wanted))
        rising = np.lexsort((-begins, label[begins]))
        n_ranges = np.bincount(label[begins], minlength=bins.n_labels)  # (n_labels,)
        offsets = np.append(0, n_ranges.cumsum())
        return cls(kind, offsets, bins.lowest[begins[rising]], bins.highest[ends[rising]])

    @property
    def n_ranges(self) -> int:
        """Number of ranges."""
        return int(self.lowest.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the ranges."""
        return self.offsets.nbytes + self.lowest.nbytes + self.highest.nbytes

    def __repr__(self) -> str:
        """Return sizes on one line."""
        n_labels = int(np.count_nonzero(np.diff(self.offsets)))
        return f"ScoreRanges({counted(self.n_ranges, 'range')} of {counted(n_labels, 'label')})"

    def are_those_of(self, other: "ScoreRanges | None") -> bool:
        """Whether the ranges of others are the same."""
        if other is None:
            return False
        pairs = (
            (self.offsets, other.offsets),
            (self.lowest, other.lowest),
            (self.highest, other.highest),
        )
        return all(np.array_equal(own, theirs) for own, theirs in pairs)

    def contain(self, columns: Columns) -> Booleans:
        """Tell which cells of some labels lie in a range of their label, (n_cells,)."""
        are_inside = np.zeros(columns.scores.size, np.bool_)
        for label in range(columns.n_labels):
            own = slice(*self.offsets[columns.first + label : columns.first + label + 2])
            lowest, highest = self.lowest[own], self.highest[own]
            if not lowest.size:
                continue
            cells = slice(columns.starts[label], columns.ends[label])
            scores = columns.scores[cells]
            inside = (scores >= lowest[0]) & (scores <= highest[-1])
            if lowest.size > 1:
                # Look more closely at what lies between the first and the last.
                between = np.flatnonzero(inside)
                place = lowest.searchsorted(scores[between], side="right") - 1
                inside[between] = scores[between] <= highest[place]
            are_inside[cells] = inside
        return are_inside

    def range_of(self, bins: Histograms) -> Ints:
        """Return the range that each bin lies in, (n_bins,), -1 for none."""
        found = np.full(bins.lowest.size, -1)
        for label in np.flatnonzero(np.diff(self.offsets)):
            own = slice(bins.offsets[label], bins.offsets[label + 1])
            first, last = self.offsets[label : label + 2]
            place = self.lowest[first:last].searchsorted(bins.lowest[own], side="right") - 1
            inside = (place >= 0) & (bins.highest[own] <= self.highest[first + place])
            found[own] = np.where(inside, first + place, -1)
        return found
