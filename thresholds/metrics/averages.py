"""The averages of per-label figures, each under one name, with its formula, range, 0/0 rule and source.

A *figure* is precision, recall, F-beta or Jaccard of each label, or class, or row: a ratio of its counts. Where the
ratio is 0/0 it has the value `zero_division`; NaN leaves it out of a mean, and a mean of nothing is NaN.
P_j, R_j and F_j are precision, recall and F-beta of label j = 1..m, tp_j, fp_j and fn_j its counts, b = beta.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thresholds._arrays.types import Floats, Numbers
from thresholds.metrics.counts import ConfusionCounts

# What reports say where `zero_division` is 1.
ABOUT_ZERO_DIVISION = "a label, or row, with neither positives nor predictions counts as F 1"


@dataclass(frozen=True)
class Ratio:
    """A ratio of counts by name, and what a group lacks in which it is 0/0."""

    name: str
    lacking: str
    ratio: Callable[[ConfusionCounts], Floats]
    beta: float | None = None  # of F-beta


PRECISION = Ratio("Precision", "predicted", ConfusionCounts.precision)
RECALL = Ratio("Recall", "true", ConfusionCounts.recall)
JACCARD = Ratio("Jaccard", "true or predicted", ConfusionCounts.jaccard)


def f_score(beta: float) -> Ratio:
    """Return F-beta as a figure."""
    return Ratio("F-score", "true nor predicted", lambda counts: counts.f_score(beta), beta)


def each(figure: Ratio, counts: ConfusionCounts, zero_division: float) -> Floats:
    """Return the figure of every label (`average=None`), or of the only one (`"binary"`).

    Formula: F_j = (1 + b^2) tp_j / (b^2 (tp_j + fn_j) + tp_j + fp_j).
    Range: 0 to 1.
    0/0: `zero_division`, where the label's own denominator is 0.
    Source: van Rijsbergen 1979, chapter 7; Lipton et al. 2013, section 2, equation 1.
    """
    values = figure.ratio(counts)
    return np.where(np.isnan(values), zero_division, values)


def micro(figure: Ratio, counts: ConfusionCounts, zero_division: float) -> float:
    """Return the figure of the pooled counts.

    Formula: (1 + b^2) TP / (b^2 (TP + FN) + TP + FP) with TP = sum_j tp_j, FP and FN alike.
    Range: 0 to 1. For vectors of classes without `labels` it equals the accuracy, for precision, recall and F alike.
    0/0: `zero_division`, where the pooled denominator is 0, that is, all labels' are.
    Source: Lipton et al. 2013, section 2.1, without the stray factor 2 of its tp.
    """
    return float(each(figure, counts.pooled(), zero_division)[0])


def macro(figure: Ratio, counts: ConfusionCounts, zero_division: float) -> float:
    """Return the mean of the labels' figures: every label counts the same, however rare.

    Formula: (1/m) sum_j F_j, "averaged F1" in Opitz and Burst.
    Range: 0 to 1; a label predicted everywhere that is positive on a share s of the rows has F1 = 2s / (1 + s).
    0/0: each label's `zero_division` enters the mean; NaN leaves the label out, and m counts those that are left.
    Source: Lipton et al. 2013, section 2.1; Opitz and Burst 2019, who recommend it.
    """
    return _mean(each(figure, counts, zero_division))


def weighted(figure: Ratio, counts: ConfusionCounts, zero_division: float) -> float:
    """Return the mean of the labels' figures, each weighted by its positives.

    Formula: sum_j a_j F_j / sum_j a_j with a_j = tp_j + fn_j. Weighted recall is micro recall.
    Range: 0 to 1; F may lie outside precision and recall.
    0/0: as in macro; with no positives at all, or none among labels that are left, the plain mean.
    Source: scikit-learn, `average="weighted"`.
    """
    return _mean(each(figure, counts, zero_division), counts.positives)


def samples(
    figure: Ratio,
    counts: ConfusionCounts,
    zero_division: float,
    row_weights: Numbers | None = None,
) -> float:
    """Return the mean of the rows' figures ("per instance"); `counts` are by row.

    Formula: sum_i w_i F_i / sum_i w_i, F_i that of row i over its labels, w_i its sample weight.
    Range: 0 to 1.
    0/0: rows with neither positives nor predictions have `zero_division`; NaN leaves them out.
    Source: Lipton et al. 2013, section 2.1.
    """
    return _mean(each(figure, counts, zero_division), row_weights)


def f_of_averages(figure: Ratio, counts: ConfusionCounts, zero_division: float) -> float:
    """Return F-beta of mean precision and mean recall; of these two themselves it is macro.

    Formula: (1 + b^2) P R / (b^2 P + R) with P = (1/m) sum_j P_j, R = (1/m) sum_j R_j.
    Range: 0 to 1. Unless zero_division is NaN it is at least macro (for F1 by at most 1/2), and equal where all points
    (P_j, R_j) lie on one ray from the origin: it rewards labels that err in opposite ways.
    0/0: `zero_division` enters the two means, label by label; NaN leaves it out. 0 where P or R is 0.
    Source: Opitz and Burst 2019, "F1 of averages", who advise against it.
    """
    if figure.beta is None:
        return macro(figure, counts, zero_division)
    precision = macro(PRECISION, counts, zero_division)
    recall = macro(RECALL, counts, zero_division)
    if precision == 0 or recall == 0:
        return 0.0
    beta2 = figure.beta * figure.beta
    return min((1 + beta2) * precision * recall / (beta2 * precision + recall), 1.0)


_OVER_LABELS = {
    "micro": micro,
    "macro": macro,
    "weighted": weighted,
    "f_of_averages": f_of_averages,
}


def average_of(
    figure: Ratio,
    counts: ConfusionCounts,
    average: str,
    zero_division: float,
    row_weights: Numbers | None = None,
) -> float:
    """Average a figure; `counts` are by row for "samples", by label otherwise."""
    if average == "samples":
        return samples(figure, counts, zero_division, row_weights)
    return _OVER_LABELS[average](figure, counts, zero_division)


def mean_of_defined(values: Floats, return_undefined: bool) -> float | tuple[float, int]:
    """Average the values that are not NaN, and count the others if asked to."""
    mean = _mean(values)
    return (mean, int(np.isnan(values).sum())) if return_undefined else mean


def _mean(values: Floats, weights: Numbers | None = None) -> float:
    """Average the values that are not NaN, plainly if those left have no weight; NaN if none is left."""
    is_known = ~np.isnan(values)
    if weights is None and values.size and is_known.all():
        return float(values.mean())
    if not is_known.any():
        return math.nan
    if weights is None or not weights[is_known].any():
        return float(values[is_known].mean())
    weights = weights[is_known]
    if weights.dtype.kind == "f":
        # Scaled by a power of two, so that products of tiny weights do not vanish.
        _, exponent = np.frexp(weights.max())
        weights = np.ldexp(weights, -exponent)
    return float(np.average(values[is_known], weights=weights))
