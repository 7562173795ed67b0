"""A problem of which only counts are known: what was added up over rows, wherever these lie."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds.counts.kind import Kind, Totals

_ONLY_COUNTS = "only counts of these rows are known, and what reads them needs the rows"


class Unread:
    """Stands for an array of which only shape and dtype are known."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Any:
        raise AssertionError(_ONLY_COUNTS)

    def __array__(self, *args: object, **kwargs: object) -> Any:
        raise AssertionError(_ONLY_COUNTS)


@dataclass(frozen=True)
class CountedProblem(Problem):
    """A problem whose cells are known by label only, in bins of scores: their weights are multiples of `unit`."""

    totals: Totals = field(kw_only=True)
    is_sparse: bool = field(kw_only=True)  # whether scores were left out
    bins: Histograms = field(kw_only=True)  # of all scores
    finest: Histograms = field(kw_only=True)  # the same, score by score where these were counted

    is_counted: ClassVar[bool] = True

    @classmethod
    def of_counts(
        cls, kind: Kind, totals: Totals, bins: Histograms, finest: Histograms, *, keep_sparse: bool
    ) -> "CountedProblem":
        """Return the problem of all rows that were counted, in the unit that a fit of the rows takes."""
        # A common factor of all weights joins the unit.
        divisor = max(totals.divisor, 1)
        n_rows = totals.n_samples
        shape = n_rows, kind.n_labels
        of_labels = np.broadcast_to(totals.of_labels, (3, kind.n_labels)).copy()
        of_labels[2] //= divisor
        weights: Any = Unread((n_rows,), np.int64) if totals.is_weighted else None
        truth: Any = Unread(shape, np.bool_)
        return cls(
            truth,
            Unread(shape, kind.dtype),
            weights,
            kind.unit * divisor,
            sample_weight=weights,
            missing=kind.missing,
            label_names=kind.label_names,
            keep_sparse=keep_sparse,
            unknown=None if totals.all_known else truth,
            is_sparse=kind.is_sparse,
            totals=totals._replace(of_labels=of_labels, weight=totals.weight // divisor),
            bins=bins.divided_by(divisor),
            finest=finest.divided_by(divisor),
        )

    @property
    def n_stored(self) -> int:
        """Number of bins."""
        return int(self.finest.lowest.size)

    @property
    def is_dense(self) -> bool:
        """Cells are never told apart."""
        return False

    @property
    def is_plain(self) -> bool:
        """Nor are they here."""
        return False

    @property
    def exactly_weighted(self) -> bool:
        """Sums are what was counted, in units."""
        return True

    @property
    def has_whole_weights(self) -> bool:
        """Whether each row weighs a whole number: as the unit divides all of them, where it is one."""
        return self.unit % 1 == 0

    @property
    def counts_rows(self) -> bool:
        """Whether each row weighs 1."""
        n_rows, n_present, weight = self.totals.of_labels
        return self.unit == 1 and bool(((n_present == n_rows) & (weight == n_rows)).all())

    @property
    def total_weight(self) -> int:
        """Weight of all rows that have a known cell, in multiples of `unit`."""
        return self.totals.weight

    @property
    def n_present(self) -> int:
        """Number of rows of positive weight that have a known cell."""
        return self.totals.n_present

    @property
    def n_known_cells(self) -> int | None:
        """Number of cells whose truth is known; None where all are."""
        return None if self.totals.all_known else int(self.totals.of_labels[0].sum())

    @property
    def rows_of_label(self) -> Ints:
        """Number of rows in which the truth of each label is known, (n_labels,)."""
        return np.asarray(self.totals.of_labels[0])

    @property
    def present_of_label(self) -> Ints:
        """Number of rows of positive weight in which the truth of each label is known, (n_labels,)."""
        return np.asarray(self.totals.of_labels[1])

    @property
    def weight_of_label(self) -> Ints:
        """Weight of the rows in which the truth of each label is known, in multiples of `unit`, (n_labels,)."""
        return np.asarray(self.totals.of_labels[2])

    @property
    def known(self) -> Floats | None:
        """Weight of the rows in which the truth of each label is known, (n_labels,); None where all is known."""
        return None if self.totals.all_known else self.weight_of_label * np.float64(self.unit)

    def histograms(self, most: int | None, labels: Ints | None = None) -> Histograms:
        """Return what weighs at which score: in at most so many bins of a label, or as finely as is known."""
        found = self.finest if most is None else self.bins.merged(most)
        return found if labels is None else found.take(labels)

    def histograms_in_pieces(self) -> Iterator[tuple[Histograms, int]]:
        """Return the finest histograms of some labels at a time, and the number of the first of these."""
        for labels in self.finest.blocks_of_labels():
            yield self.finest.of_labels(labels), labels.start

    def some_scores(self, most: int) -> Floats:
        """Return some scores, evenly spaced by weight: the middle of their bins, but the very lowest and highest."""
        found = self.finest
        order = found.middle.argsort(kind="stable")
        so_far = found.weights[order].cumsum()
        last = int(so_far[-1]) - 1
        ranks = np.linspace(0, last, min(last + 1, most)).astype(np.int64)
        ranks = np.clip(ranks, 0, last)  # Floats round large ones up.
        scores = found.middle[order[so_far.searchsorted(ranks, side="right")]]
        scores[0], scores[-1] = found.lowest.min(), found.highest.max()
        return scores
