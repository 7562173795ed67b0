"""The isotonic curve of the cells of all labels together."""

import numpy as np

from thresholds._engine.histograms import Histograms
from thresholds.calibration.cells import Cells
from thresholds.calibration.isotonic import IsotonicCurves, joined, knots_of

_FINER_BITS = 10
_WEIGHT_BITS = 60  # of all weights together


def fit_pooled(cells: Cells, row_weight: float | None) -> IsotonicCurves:
    """Fit one curve to the cells of all labels.

    With `row_weight`, what a row of weight 1 counts, two such cells are added: a positive at the lowest score, and a
    negative at the highest.
    """
    scores, hits, weights = cells.scores, cells.hits, cells.weights
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
    ranked = scores[falling]
    firsts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: ranked.size])
    if firsts.size:
        hits, weights = (np.add.reduceat(part[falling], firsts) for part in (hits, weights))
    distinct = ranked[firsts]
    together = Histograms(np.array([0, firsts.size]), distinct, distinct, hits, weights)
    return joined([knots_of(together)])
