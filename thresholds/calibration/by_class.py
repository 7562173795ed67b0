"""What a calibrator keeps of the scores of its fit, by truth: what later tells base rates without labels.

Each label has a few bins of scores, and counts its positives and its negatives in them. The bins end where certain
shares of all its scores lie above, finely at the top, where the positives of rare labels are. No truth is looked at
when they are chosen, so that shares of positives and of negatives in them are unbiased: nothing need be held out.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import InputError
from thresholds.calibration.cells import Cells, map_labels
from thresholds.rule.saving import refuse_unknown

# Shares of a label's scores from which bins begin upwards.
_SHARES_ABOVE = np.array(
    [0.97, 0.9, 0.75, 0.5, 0.3, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.006, 0.003, 0.0015]
)
N_EDGES = _SHARES_ABOVE.size
N_BINS = N_EDGES + 1


@dataclass(frozen=True, eq=False, slots=True)
class ScoresByClass:
    """Counts of the positives and negatives of the fit in bins of scores; bin k is from `edges[k - 1]` to `edges[k]`.

    Counts of weighted rows are of as many rows of equal weight as tell as much, for positives and negatives each:
    (sum w)^2 / sum w^2 in all (Kish 1965, "Survey Sampling", section 11.2). Masked cells are not counted.
    """

    edges: Floats  # (n_labels, N_EDGES), rising; a score at an edge lies in the bin above it
    positives: Floats  # (n_labels, N_BINS)
    negatives: Floats  # (n_labels, N_BINS)
    # (n_labels, N_BINS), the mean by the curve in each bin; that of all in an empty one.
    probabilities: Floats
    rates: Floats  # (n_labels,), the mean probability by the curve: the base rate that it presumes
    observed: Floats  # (n_labels,), the share of positives

    @classmethod
    def of(
        cls, cells: Cells, probabilities: Floats, heaviest: int, n_jobs: int | None = None
    ) -> Self:
        """Count cells, whose probabilities by the curve are known; `heaviest` is the largest weight of a row."""

        def count(first: int, last: int) -> list[tuple[Any, ...]]:
            ends = pairwise(cells.starts[first : last + 1].tolist())
            return [_of_label(cells, probabilities, heaviest, slice(*own)) for own in ends]

        pieces = map_labels(cells.starts, count, n_jobs=n_jobs)
        labels = [label for piece in pieces for label in piece]
        return cls(*(np.array(column) for column in zip(*labels, strict=True)))

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

    def reordered(self, places: Ints) -> "ScoresByClass":
        """Return what is known of the labels at some places, in that order."""
        return ScoresByClass(*(getattr(self, item.name)[places] for item in fields(self)))

    def to_dict(self) -> dict[str, str]:
        """Return plain values: float64 numbers in base64."""
        return {item.name: _encoded(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], n_labels: int) -> Self:
        """Build it from what `to_dict` gave, checked as what comes from a file must be."""
        names = [item.name for item in fields(cls)]
        refuse_unknown(values, names)
        widths = {"edges": N_EDGES, "rates": 1, "observed": 1}
        arrays = {
            name: _decoded(values[name], name, n_labels, widths.get(name, N_BINS)) for name in names
        }
        for name in ("positives", "negatives"):
            if (arrays[name] < 0).any():
                raise InputError(f"{name} of by_class has a negative count, expected counts")
        for name in ("probabilities", "rates", "observed"):
            if ((arrays[name] < 0) | (arrays[name] > 1)).any():
                raise InputError(f"{name} of by_class has a number outside [0, 1]")
        if (np.diff(arrays["edges"], axis=1) < 0).any():
            raise InputError("edges of by_class fall, expected numbers that rise or stay")
        flat = {name: arrays[name][:, 0] for name in ("rates", "observed")}
        return cls(**arrays | flat)


def tally(edges: Floats, scores: Floats, weights: Floats) -> Floats:
    """Return the weight of the scores of one label in each bin: (N_BINS,)."""
    bins = np.searchsorted(edges, scores, side="right")
    return np.bincount(bins, weights, N_BINS).astype(np.float64)


def squares(weights: Floats, heaviest: int) -> Floats:
    """Return the squared weights of cells; of a cell that stands for many rows the most that theirs can add up to."""
    return np.asarray(weights * np.minimum(weights, heaviest))


def _of_label(cells: Cells, probabilities: Floats, heaviest: int, own: slice) -> tuple[Any, ...]:
    """Return what is kept of the cells of one label, in the order of the fields."""
    scores = cells.scores[own]
    if scores.size == 0:
        nothing = np.zeros(N_BINS)
        return np.zeros(N_EDGES), nothing, nothing, nothing, 0.0, 0.0
    truth = cells.truth[own].view(np.bool_)
    weights = cells.weights[own].astype(np.float64) if cells.weights.size else np.ones(scores.size)
    edges = _edges(scores, weights if cells.weights.size else None)

    # Weights of positives and of negatives, as numbers of rows that tell as much.
    total = tally(edges, scores, weights)
    of_class = [
        _in_rows(tally(edges, scores[member], weights[member]), weights[member], heaviest)
        for member in (truth, ~truth)
    ]

    # What the curve says of each bin.
    p = probabilities[own]
    sums = tally(edges, scores, weights * p)
    rate = sums.sum() / total.sum()
    means = np.divide(sums, total, out=np.full(N_BINS, rate), where=total > 0)
    observed = weights[truth].sum() / weights.sum()
    return edges, *of_class, np.minimum(means, 1.0), min(rate, 1.0), observed


def _edges(scores: Floats, weights: Floats | None) -> Floats:
    """Return the scores at or above which the shares lie, at least: (N_EDGES,)."""
    if weights is None:
        ranks = np.ceil(np.round(_SHARES_ABOVE * scores.size, 9)).astype(np.int64)  # from the top
        places = scores.size - np.maximum(ranks, 1)
        return np.asarray(np.partition(scores, places)[places])
    order = np.argsort(-scores, kind="stable")
    share = weights[order].cumsum() / weights.sum()
    places = np.minimum(np.searchsorted(share, _SHARES_ABOVE), scores.size - 1)
    return np.asarray(scores[order[places]])


def _in_rows(counts: Floats, weights: Floats, heaviest: int) -> Floats:
    """Return counts scaled to as many rows of equal weight as tell as much."""
    if weights.size == 0:
        return np.zeros_like(counts)
    return np.asarray(counts * (weights.sum() / squares(weights, heaviest).sum()))


def _encoded(values: Floats) -> str:
    """Write float64 numbers in base64."""
    return base64.b64encode(np.ascontiguousarray(values, "<f8").tobytes()).decode()


def _decoded(text: object, name: str, n_labels: int, width: int) -> Floats:
    """Read float64 numbers (n_labels, width) from base64."""
    try:
        raw = base64.b64decode(_checks.text(text, name), validate=True)
        numbers = np.frombuffer(raw, "<f8").astype(np.float64)
    except (binascii.Error, ValueError):
        raise InputError(
            f"{name} is {_checks.shown(text)}, expected float64 numbers in base64"
        ) from None
    if numbers.size != n_labels * width:
        raise InputError(f"{name} has {numbers.size} values, expected {n_labels * width}")
    if not np.isfinite(numbers).all():
        raise InputError(f"{name} has a number that is not finite, expected finite numbers")
    return numbers.reshape(n_labels, width)
