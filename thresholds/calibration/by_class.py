"""What a calibrator keeps of the scores of its fit, by truth: what later tells base rates without labels.

Each label has a few bins of scores, and counts its positives and its negatives in them. The bins end where certain
shares of all its scores lie above, finely at the top, where the positives of rare labels are. No truth is looked at
when they are chosen, so that shares of positives and of negatives in them are unbiased: nothing need be held out.
"""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.grouped import group_of
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints, Numbers
from thresholds._checks import InputError
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._results.fields import SavedRecord, of_labels, record

# Shares of a label's scores from which bins begin upwards.
_SHARES_ABOVE = np.array(
    [0.97, 0.9, 0.75, 0.5, 0.3, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006, 0.003, 0.0015]
)
N_EDGES = _SHARES_ABOVE.size
N_BINS = N_EDGES + 1


@record
class ScoresByClass(SavedRecord):
    """Counts of the positives and negatives of the fit in bins of scores; bin k is from `edges[k - 1]` to `edges[k]`.

    Counts of weighted rows are of as many rows of equal weight as tell as much, for positives and negatives each:
    (sum w)^2 / sum w^2 in all (Kish 1965, "Survey Sampling", section 11.2). Masked cells are not counted.
    """

    # (n_labels, N_EDGES), rising; a score at an edge lies in the bin above it
    edges: Floats = of_labels()
    positives: Floats = of_labels()  # (n_labels, N_BINS)
    negatives: Floats = of_labels()  # (n_labels, N_BINS)
    # (n_labels, N_BINS), the mean by the curve in each bin; that of all in an empty one.
    probabilities: Floats = of_labels()
    # (n_labels,), the mean probability by the curve: the base rate that it presumes
    rates: Floats = of_labels()
    observed: Floats = of_labels()  # (n_labels,), the share of positives

    @classmethod
    def from_bins(
        cls, given: Histograms, squared: Floats | None, edges: Floats, probabilities: Floats
    ) -> Self:
        """Count what lies between `edges`, of bins that begin there, with their probabilities by the curve.

        `squared` are the squares of the weights of each label's negatives and positives, (2, n_labels); None where each
        cell weighs 1. Zeros of a label without any cell.
        """
        n_labels = len(edges)
        bins = bins_of(edges, given.offsets, given.lowest)
        total, positive = (tally(bins, part, n_labels) for part in (given.weights, given.hits))
        negative = total - positive

        # What the curve says of each bin.
        sums = tally(bins, given.weights * probabilities, n_labels)
        weight = total.sum(axis=1)  # (n_labels,)
        is_filled = weight > 0
        rate = np.divide(sums.sum(axis=1), weight, out=np.zeros(n_labels), where=is_filled)
        means = np.divide(sums, total, out=np.tile(rate[:, np.newaxis], N_BINS), where=total > 0)
        observed = np.divide(positive.sum(axis=1), weight, out=np.zeros(n_labels), where=is_filled)
        return cls(
            edges,
            positive if squared is None else _in_rows(positive, squared[1]),
            negative if squared is None else _in_rows(negative, squared[0]),
            np.minimum(means, 1.0),
            np.minimum(rate, 1.0),
            observed,
        )

    def shares(self) -> Floats:
        """Return the share of all cells in each bin: (n_labels, N_BINS)."""
        rate = self.observed[:, np.newaxis]
        shares = np.zeros_like(self.positives)
        for counts, of_class in ((self.positives, rate), (self.negatives, 1 - rate)):
            total = counts.sum(axis=1, keepdims=True)
            shares += of_class * np.divide(
                counts, total, out=np.zeros_like(counts), where=total > 0
            )
        return shares

    def to_dict(self) -> dict[str, str]:
        """Return plain values: float64 numbers in base64."""
        return {item.name: _encoded(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], n_labels: int) -> Self:
        """Build it from what `to_dict` gave, checked as what comes from a file must be."""
        names = [item.name for item in fields(cls)]
        _checks.refuse_unknown(values, names)
        arrays = {name: _decoded(values[name], name, n_labels) for name in names}
        for name in ("positives", "negatives"):
            if (arrays[name] < 0).any():
                raise InputError(f"{name} of by_class has a negative count, expected counts")
        for name in ("probabilities", "rates", "observed"):
            if ((arrays[name] < 0) | (arrays[name] > 1)).any():
                raise InputError(f"{name} of by_class has a number outside [0, 1]")
        if (np.diff(arrays["edges"], axis=1) < 0).any():
            raise InputError("edges of by_class fall, expected numbers that rise or stay")
        return cls(**arrays)


def bins_of(edges: Floats, starts: Ints, scores: Floats) -> Ints:
    """Return the bin of each score, label after label: (n_cells,), those of label j from j N_BINS on."""
    sizes = np.diff(starts)  # (n_labels,)
    bins = np.repeat(np.arange(sizes.size) * N_BINS, sizes)
    for edge in edges.T:
        bins += scores >= np.repeat(edge, sizes)
    return bins


def tally(bins: Ints, weights: Numbers, n_labels: int) -> Floats:
    """Return the weight of the cells in each bin of each label: (n_labels, N_BINS)."""
    sums = np.bincount(bins, weights, n_labels * N_BINS).astype(np.float64)
    return sums.reshape(n_labels, N_BINS)


def weights_between(problem: Problem, edges: Floats, n_jobs: int | None) -> tuple[Floats, Floats]:
    """Return the weight of the cells between edges, and the sum of the squares of their weights, (n_labels, N_BINS).

    Truth is known of no cell, or of all. Masked cells are not counted.
    """
    heaviest = int(problem.row_weights.max())
    is_absent = is_sparse(problem.scores) and problem.missing > -np.inf

    def count(columns: Columns, _: Memory) -> tuple[Floats, Floats]:
        n_labels = columns.n_labels
        own = slice(columns.first, columns.first + n_labels)
        starts = np.append(0, columns.ends)
        bins = bins_of(edges[own], starts, columns.scores)
        weights = np.ones(bins.size)
        if columns.weights is not None:
            weights = np.resize(columns.weights, bins.size).astype(np.float64)
        present = np.where(columns.scores > -np.inf, weights, 0.0)  # (n_cells,)
        sums, squared = (tally(bins, part, n_labels) for part in (present, present**2))
        if is_absent:
            # Absent cells of a label are in one bin.
            label = group_of(starts)
            absent = problem.weight_of_label[own] - np.bincount(label, weights, n_labels)
            one_each = np.arange(n_labels + 1)
            bins = bins_of(edges[own], one_each, np.full(n_labels, problem.missing))
            sums += tally(bins, absent, n_labels)
            squared += tally(bins, squares(absent, heaviest), n_labels)
        return sums, squared

    pieces = over_labels(problem, count, n_jobs=n_jobs)
    weights, squared = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return weights, squared


def squares(weights: Numbers, heaviest: int) -> Floats:
    """Return the squared weights of cells; of a cell that stands for many rows the most that theirs can add up to."""
    return np.asarray(weights * np.minimum(weights, heaviest))


def edges_of(bins: Histograms) -> Floats:
    """Return the scores at or above which the shares lie, at least: (n_labels, N_EDGES), zeros without cells."""
    so_far = bins.weights.cumsum()
    above = np.append(0, so_far)[bins.offsets[:-1]]  # (n_labels,) what the labels before weigh
    # The highest bin down to which a label has enough. Digits that rounding adds are no share.
    ranks = np.ceil(np.round(bins.totals[:, np.newaxis] * _SHARES_ABOVE, 9)).astype(np.int64)
    places = so_far.searchsorted(above[:, np.newaxis] + np.maximum(ranks, 1))
    places = np.minimum(places, bins.offsets[1:, np.newaxis] - 1)
    edges = np.zeros(places.shape)
    has_cells = np.diff(bins.offsets) > 0
    edges[has_cells] = bins.lowest[places[has_cells]]
    return edges


def _in_rows(counts: Floats, squared: Floats) -> Floats:
    """Return weights, (n_labels, N_BINS), as so many rows of equal weight as tell as much, by the squares of labels."""
    weight = counts.sum(axis=1)  # (n_labels,)
    scale = np.divide(weight, squared, out=np.zeros_like(weight), where=squared > 0)
    return np.asarray(counts * scale[:, np.newaxis])


def _encoded(values: Floats) -> str:
    """Write float64 numbers in base64."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def _decoded(text: object, name: str, n_labels: int) -> Floats:
    """Read float64 numbers, so many for each label, from base64."""
    shape = {"edges": (n_labels, N_EDGES), "rates": (n_labels,), "observed": (n_labels,)}.get(
        name, (n_labels, N_BINS)
    )
    try:
        raw = base64.b64decode(_checks.text(text, name), validate=True)
        numbers = np.frombuffer(raw, "<f8").astype(np.float64)
    except (binascii.Error, ValueError):
        raise InputError(
            f"{name} is {_checks.shown(text)}, expected float64 numbers in base64"
        ) from None
    if numbers.size != math.prod(shape):
        raise InputError(f"{name} has {numbers.size} values, expected {math.prod(shape)}")
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} has a number that is not finite, expected finite numbers")
    return numbers.reshape(shape)
