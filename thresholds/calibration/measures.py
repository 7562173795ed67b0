"""How good probabilities are: four figures over all cells."""

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.problem import Problem
from thresholds._kernels.calibration import fit_logistic
from thresholds._log_odds import log_odds
from thresholds._results.fields import record, value
from thresholds._results.plain import values_of
from thresholds._results.result import SavedResult
from thresholds._results.tables import Column
from thresholds.calibration.binned import binned
from thresholds.calibration.points import Points

_N_BINS = 20


def _number(value: float) -> str:
    """Write a figure to four digits, NaN too: it says that there is none."""
    return f"{value:.4g}"


@record
class CalibrationMeasures(SavedResult):
    """How good probabilities p are for outcomes y, over all cells; means and sums are weighted.

    Attributes
    ----------
    log_loss : mean of -ln(p) over positives and -ln(1 - p) over negatives, in nats; 0 is best
        (Good 1952). It is inf where an outcome came that had probability 0.
    reliability : sum over 20 bins of (share of the cells) (mean p - share of positives)^2; 0 is calibrated
        (Murphy 1973, "A new vector partition of the probability score"). Bins hold a 20th of the cells each, in the
        order of p; equal p share a bin: that of (weight of lower p) / (weight of all), rounded down to a 20th.
        Of a label of more than 1,024 distinct p, those that agree in their leading binary digits count as equal; above
        1/2, those whose 1 - p do. That changes log-loss and slope by less than 1e-4 of themselves.
    sum_over_positives : sum of p / number of positives; 1 is right on the whole, above it there are too many
        Inf where there are no positives, NaN where p are all 0, too.
    slope : a of the logistic regression y ~ sigmoid(a logit(p) + b), over cells with 0 < p < 1
        (Cox 1958, "Two further applications of a model for binary regression"). 1 is calibrated; below, p are too
        extreme (over-confident), above, not enough. NaN where it cannot be fitted: nothing but one p or one outcome,
        or all p of positives at or above (or below) all p of negatives.
    """

    log_loss: float = value(_checks.real, form="figure")
    reliability: float = value(_checks.real, form="figure")
    sum_over_positives: float = value(_checks.real, form="figure")
    slope: float = value(_checks.real, form="figure")

    _columns: ClassVar = (
        Column("log_loss", "log-loss", _number),
        Column("reliability", write=_number),
        Column("sum_over_positives", "sum of p / positives", _number),
        Column("slope", "calibration slope", _number),
    )

    def _rows(self) -> dict[str, list[float]]:
        """Return the four figures, in one row."""
        return {name: [figure] for name, figure in values_of(self).items()}


UNKNOWN = CalibrationMeasures(math.nan, math.nan, math.nan, math.nan)


def measure_calibration(
    y_true: object,
    probabilities: object,
    *,
    sample_weight: object = None,
    unknown: object = None,
) -> CalibrationMeasures:
    """Measure how good probabilities are, over all cells.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    probabilities : same shape, in [0, 1], dense or scipy.sparse
        Entries that a sparse matrix leaves out have probability 0.
    sample_weight : (n_samples,) non-negative; rows of weight 0 count as absent
    unknown : what stands in `y_true` for truth that is not known, as in `fit_empirical`: such cells are left out

    Returns
    -------
    CalibrationMeasures
        `log_loss`, `reliability`, `sum_over_positives` and `slope`; formulas and sources are stated there.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    Examples
    --------
    >>> from thresholds.calibration import measure_calibration
    >>> result = measure_calibration([[1, 0], [0, 0], [1, 1]], [[0.9, 0.2], [0.4, 0.1], [0.6, 0.3]])
    >>> round(result.log_loss, 4), round(result.sum_over_positives, 4)
    (0.4432, 0.8333)
    """
    return measure_problem(problem_of(y_true, probabilities, sample_weight, unknown=unknown))


def measure_problem(problem: Problem, n_jobs: int | None = None) -> CalibrationMeasures:
    """Measure probabilities, the scores of a problem."""
    return measure(Points.of_bins(binned(problem, n_jobs=n_jobs).bins), n_jobs)


def problem_of(
    y_true: object,
    probabilities: object,
    sample_weight: object,
    label_names: object = None,
    *,
    unknown: object = None,
) -> Problem:
    """Check truth and probabilities together, of which a sparse matrix leaves out those of 0."""
    beside = {"probabilities": probabilities, "y_true": y_true}
    sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
    y_true, probabilities, names = _checks.aligned(
        y_true, "y_true", probabilities, "probabilities", label_names, unknown=unknown
    )
    truth, unknown_cells = _checks.truth(y_true, unknown)
    p = _checks.probabilities(probabilities)
    _checks.same_shape(truth, "y_true", p, "probabilities")
    _checks.one_name_each(names, p.shape[1])
    weights, unit = _checks.weights(sample_weight, *p.shape)
    return Problem(truth, p, weights, unit, weights, 0.0, names, unknown=unknown_cells)


def measure(cells: Points, n_jobs: int | None) -> CalibrationMeasures:
    """Measure probabilities, which are the scores of cells."""
    if cells.scores.size == 0:
        return UNKNOWN
    cells = cells.in_blocks()
    tasks: list[Callable[[Points], Floats]] = [_sums_over_bins, _slope]
    sums, slope = threads.run(
        lambda task: task(cells), tasks, n_jobs=n_jobs, cells=cells.scores.size
    )
    weight, p, positives, loss = sums  # (n_bins,) each
    total = weight.sum()

    # In each bin, mean p less the share of positives.
    is_filled = weight > 0
    gaps = (p[is_filled] - positives[is_filled]) / weight[is_filled]
    reliability = weight[is_filled] @ gaps**2 / total
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = p.sum() / positives.sum()
    return CalibrationMeasures(
        log_loss=float(loss.sum() / total),
        reliability=float(reliability),
        sum_over_positives=float(ratio),
        slope=float(slope.item()),
    )


def _sums_over_bins(cells: Points) -> Floats:
    """Return weight, sum of p, positives and log-loss of bins, (4, n_bins)."""
    return tally(cells, np.unique(_edges(cells.scores, cells.weights)))


def tally(cells: Points, edges: Floats) -> Floats:
    """Return weight, sum of p, positives and log-loss of each bin, (4, n_bins), of cells whose scores are p.

    A cell's bin is the number of edges below its p; edges rise.
    """
    _, p, hits, weights = cells
    misses = weights - hits
    losses = np.zeros(p.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses -= np.where(hits > 0, hits * np.log(p), 0.0)
        losses -= np.where(misses > 0, misses * np.log1p(-p), 0.0)
    bins = np.searchsorted(edges, p)
    parts = weights, weights * p, hits, losses
    return np.array([np.bincount(bins, part, edges.size + 1) for part in parts])


def _edges(p: Floats, weights: Ints) -> Floats:
    """Return the highest p of all bins but the last.

    A cell lies above edge k iff those of lower p weigh at least k / 20 of all.
    """
    total = int(weights.sum())
    weight_below = [-(-k * total // _N_BINS) for k in range(1, _N_BINS)]  # rounded up
    order = np.argsort(p)
    places = np.searchsorted(weights[order].cumsum(), weight_below)
    return p[order[places]]


def _slope(cells: Points) -> Floats:
    """Return the slope of truth on the logit of p."""
    scale, _, slope, _ = fit_logistic(
        cells.starts[[0, -1]], log_odds(cells.scores), cells.hits, cells.weights, 0.0
    )
    return np.asarray(slope / scale)
