"""Isotonic calibration: the rising curve of least squares, constant on blocks of scores.

    minimise  sum over cells of  w (y - g(s))^2,    g never falling

Ayer, Brunk, Ewing, Reid and Silverman 1955; as calibration: Zadrozny and Elkan 2002. A block's
probability is the share of positives in it. Between two blocks g is linear, beyond all it is
constant, as in scikit-learn's `IsotonicRegression(out_of_bounds="clip")`.

A block is an edge of the upper hull of (predicted, true positives) at the steps of the group's
staircase, and its probability is the slope of that: the greatest convex minorant of Barlow, Bartholomew,
Bremner and Brunk 1972, "Statistical inference under order restrictions", section 1.2, seen from above.
Negatives between two positives count to the lower one: they pool with it in any case, as 0 is below every rate.

Curves that lean on each other are the rising curve of all labels, stretched and shifted for each:

    logit p(s) = a logit g(s) + b,    a >= 0

g is the isotonic curve of the cells of all labels together, with one positive more at the lowest score and one negative
more at the highest, so that no probability is 0 or 1. a and b of a label are those of a logistic curve of its truth on
logit g(s), and lean on those of all labels (`hierarchy.py`). So all labels together tell the form of the curve, which
takes many positives, and each tells how often and how steeply it rises, which takes few.
"""

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Floats
from thresholds._engine.histograms import Histograms
from thresholds._kernels.choosing import upper_hulls
from thresholds._log_odds import log_odds
from thresholds.calibration.curves import CalibrationCurves, Knots
from thresholds.calibration.hierarchy import fit_leaning_lines
from thresholds.calibration.platt import limits_of
from thresholds.calibration.points import Points

_FINER_BITS = 10
_WEIGHT_BITS = 60  # of all weights together


def knots_of(groups: Histograms) -> Knots:
    """Return the isotonic curve of each group of bins."""
    steps = groups.steps

    # 1. The blocks of each group, from the highest down. Each has its lowest score, and its highest, which is the next
    #    below the block before; the curve is constant above the first block's lowest.
    starts, last_step, rate = upper_hulls(steps.offsets, steps.tp, steps.predicted - steps.tp)
    group = group_of(starts)  # (n_blocks,)
    bottom = steps.cut[last_step]
    is_first = np.diff(group, prepend=-1) > 0
    top = np.where(is_first, bottom, steps.lower[np.roll(last_step, 1)])

    # 2. Negatives below all positives, whose next lower score is NaN where there are none.
    is_last = np.diff(group, append=-1) != 0  # (n_blocks,)
    below = steps.lower[last_step[is_last]]

    # 3. All of these, rising, each once.
    of_knots = np.concatenate([group, group, group[is_last]])
    scores = np.concatenate([bottom, top, below])
    values = np.concatenate([rate, rate, np.zeros(below.size)])
    order = np.lexsort((scores, of_knots))
    of_knots, scores, values = of_knots[order], scores[order], values[order]
    is_new = (of_knots[1:] != of_knots[:-1]) | (scores[1:] != scores[:-1])
    kept = np.append(True, is_new)[: scores.size] & ~np.isnan(scores)
    n_knots = np.bincount(of_knots[kept], minlength=starts.size - 1)  # (n_groups,)
    return Knots(np.append(0, n_knots.cumsum()), scores[kept], values[kept])


def fit_pooled(points: Points, row_weight: float | None = None) -> Knots:
    """Fit one curve to the cells of all labels.

    With `row_weight`, what a row of weight 1 counts, two such cells are added: a positive at the lowest score, and a
    negative at the highest.
    """
    _, scores, hits, weights = points
    if row_weight is not None:
        # The unit of weights is made finer, as these rows may weigh less than it.
        total = int(weights.sum())
        finer = 1 << max(0, min(_FINER_BITS, _WEIGHT_BITS - total.bit_length()))
        own = max(round(min(row_weight, float(total)) * finer), 1)
        ends = [scores.min(), scores.max()] if scores.size else [0.0, 0.0]
        scores = np.append(scores, ends)
        hits = np.append(finer * hits, [own, 0])
        weights = np.append(finer * weights, [own, own])

    # Add up what has equal scores, from the highest down.
    falling = np.argsort(-scores, kind="stable")
    one = Points(np.array([0, scores.size]), scores[falling], hits[falling], weights[falling])
    starts, scores, hits, weights = one.in_blocks()
    return knots_of(Histograms(starts, scores, scores, hits, weights))


def fit_stretched(
    points: Points, row_weight: float, n_jobs: int | None, progress: bool
) -> CalibrationCurves:
    """Fit a common curve, and the line of each label on it; `row_weight` is the weight 1 in the unit of weights."""
    common = fit_pooled(points, row_weight)
    on_curve = points._replace(scores=_logits(common, points.scores)).in_blocks()
    scale, centre, slope, intercept = fit_leaning_lines(
        on_curve, on_curve.scores, row_weight, n_jobs, progress, rising=True
    )
    return CalibrationCurves(
        pooled=False,
        knots=common,
        slope=slope / scale,
        intercept=intercept - slope * centre,
    )


def _logits(common: Knots, scores: Floats) -> Floats:
    """Return the logit of the common curve at scores, finite: a large weight may bring the curve to 1 by rounding."""
    p = CalibrationCurves(pooled=True, knots=common).reader()(scores)
    return log_odds(np.clip(p, *limits_of(np.dtype(np.float64))))
