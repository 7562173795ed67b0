"""Rows of which counts are kept, exactly or in bins of scores, and what is fitted to them.

To fit, every bin is taken for a single score, its lowest. That is a fit on rows whose scores are rounded down within
their bins; its thresholds are then put between the bins, where rounded and true scores are decided alike. So all that
is counted, the objective first, is exact. What is lost are thresholds within a bin: `best_cases.py` bounds that.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresholds._arrays.dtypes import threshold_dtype
from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Average, InputError, Placement
from thresholds._engine.histograms import histograms
from thresholds._engine.placement import next_above, place
from thresholds._engine.problem import Problem
from thresholds._kernels.keys import to_scores
from thresholds.chunks.best_cases import highest_f
from thresholds.chunks.bins import Bins
from thresholds.chunks.counts import Counts
from thresholds.data.counted import Kind, Totals
from thresholds.fitting.options import FitArguments, FitOptions
from thresholds.rule import FittedOn, ThresholdRule


@dataclass(frozen=True)
class BinnedRows:
    """What is known of rows of which counts are kept."""

    kind: Kind
    totals: Totals
    bins: Bins

    @classmethod
    def of(cls, problem: Problem, kind: Kind, most: int | None) -> "BinnedRows":
        """Count some rows, in at most so many bins of each label; None for a bin of each distinct score."""
        return cls(kind, Totals.of(problem), Bins.of(histograms(problem, None, n_jobs=1), most))

    def __add__(self, other: "BinnedRows") -> "BinnedRows":
        """Add those of other rows, of the same kind."""
        return BinnedRows(self.kind, self.totals + other.totals, self.bins + other.bins)

    def in_order(self, order: Ints | None, label_names: tuple[str, ...] | None) -> "BinnedRows":
        """Return the labels in another order, or under other names; None for the order that they have."""
        kind = replace(self.kind, label_names=label_names)
        if order is None:
            return replace(self, kind=kind)
        return BinnedRows(kind, self.totals.in_order(order), self.bins.in_order(order))

    @property
    def counts(self) -> Counts:
        """Tie groups: every bin is one, at its lowest score."""
        return Counts.of_tie_groups(self.kind, self.totals, self.bins.items)

    def fit(self, options: FitOptions, given: FitArguments) -> ThresholdRule:
        """Fit thresholds; where bins are not single scores, those that lie between bins."""
        if self.bins.most is not None:
            _refuse_for_bins(options)
        rule = self.counts.fit(options.average, **given)
        if self.bins.are_exact.all():
            return rule
        report = rule.guard_report
        if report is not None:
            report = replace(
                report,
                unguarded=self._between_bins(report.unguarded, options),
                guarded=self._between_bins(report.guarded, options),
            )
        return replace(
            rule,
            thresholds=self._between_bins(rule.thresholds, options),
            guard_report=report,
            fitted_on=self._up_to_highest(rule.fitted_on),
        )

    def _up_to_highest(self, fitted_on: FittedOn | None) -> FittedOn | None:
        """Let the range of the scores end at the highest, which the lowest of the highest bin is not."""
        if fitted_on is None or not fitted_on.quantiles:
            return fitted_on
        highest = float(to_scores(self.bins.highest).max())
        return replace(fitted_on, quantiles=(*fitted_on.quantiles[:-1], highest))

    def bound(
        self, average: Average, beta: float, zero_division: float, keep_sparse: bool | None
    ) -> float:
        """Return an F that no thresholds exceed on these rows."""
        return highest_f(
            self.bins,
            average,
            beta=beta,
            zero_division=zero_division,
            above=self.kind.missing if self._stays_sparse(keep_sparse) else -np.inf,
        )

    def _stays_sparse(self, keep_sparse: bool | None) -> bool:
        """Whether cuts lie above `missing` only."""
        return keep_sparse is not False and self.kind.sparse

    def _between_bins(self, thresholds: Floats, options: FitOptions) -> Floats:
        """Move thresholds (n_labels,) that lie within a bin above it, so that they decide as if it were one score."""
        bins, dtype = self.bins, self.kind.dtype
        # (n_bins,) the first of each label: bins fall.
        is_above = to_scores(bins.lowest).astype(np.float64) >= thresholds[bins.label]
        n_above = sums_of_groups(bins.starts, is_above)  # (n_labels,)

        # The scores of the bin above each threshold, and of the one below.
        n_labels = thresholds.size
        upper, lower = np.full(n_labels, np.inf), np.full(n_labels, np.nan)
        has_above, has_below = n_above > 0, n_above < np.diff(bins.starts)
        first_below = bins.starts[:-1] + n_above
        upper[has_above] = to_scores(bins.lowest[first_below[has_above] - 1])
        lower[has_below] = to_scores(bins.highest[first_below[has_below]])
        if options.keep_sparse is not False and self.kind.sparse:
            lower = np.fmax(lower, self.kind.missing)

        is_within = thresholds <= lower  # (n_labels,)
        moved = _in_gaps(upper, lower, options.placement, dtype)
        return np.where(is_within, moved, thresholds)


def _in_gaps(upper: Floats, lower: Floats, placement: Placement, dtype: np.dtype[Any]) -> Floats:
    """Place thresholds as a fit does; above all scores, at the next number."""
    placed = place(upper, lower, placement, dtype)
    topmost = np.isinf(upper) & np.isfinite(lower)
    placed[topmost] = next_above(lower[topmost], threshold_dtype(dtype))
    return placed


def _refuse_for_bins(options: FitOptions) -> None:
    """Refuse what single thresholds of labels, between their bins, cannot answer."""
    for name, value, usual, why in (
        ("per_label", options.per_label, True, "each label has bins of its own"),
        ("confidence", options.confidence, None, "promises are tested at single scores"),
        ("max_predicted", options.max_predicted, None, "a budget is spent at single scores"),
    ):
        if value != usual:
            raise InputError(
                f"{name} is {value!r} with exact=False, where {why}; expected {usual!r}, or an accumulator that keeps"
                " rows or exact counts"
            )
