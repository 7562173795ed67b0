"""AUROC: how well scores rank positives above negatives, whatever the threshold."""

from dataclasses import replace
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import Histograms, Reading, over_histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds.metrics.averages import mean_of_defined


def auroc(
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    missing: float = 0.0,
    unknown: object = None,
    n_jobs: int | None = -1,
) -> Any:
    """Compute the area under the ROC curve of each label.

        AUROC = P(s+ > s-) + P(s+ = s-) / 2

    for the score s+ of a random positive and s- of a random negative, drawn by weight (Mann and Whitney 1947). In
    [0, 1]: .5 for scores that say nothing, at any base rate. 0/0 where a label has one class only; it is NaN there.
    Source: Lipton et al. 2013, section 10.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    y_score : real scores of the same shape; -inf is the lowest, equal scores are ties
    sample_weight : (n_samples,) non-negative, not all 0, or None
    missing : the score of the entries that a sparse `y_score` leaves out
    unknown : what stands in `y_true` for truth that is not known, such rows being left out of their label: "nan", a
        number as -1, or None
    n_jobs : threads; -1 for all cores the process may use, None for one

    Returns
    -------
    (n_labels,) float64; a float for 1-D

    Raises
    ------
    InputError
        For NaN and +inf scores, truth other than 0 and 1, different shapes, bad weights.

    Examples
    --------
    >>> from thresholds.metrics import auroc
    >>> auroc([[1, 0], [0, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.2], [0.5, 0.3]])
    array([0.75,  nan])
    """
    # In their order, as in all metrics.
    y_true = _checks.kept(y_true, "y_true")
    _, names = _checks.named(y_true, "y_true", unknown=unknown)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=names,
    )
    aurocs = aurocs_of(problem, sample_weight, n_jobs=n_jobs)  # (n_labels,)
    return float(aurocs[0]) if np.ndim(y_true) == 1 else aurocs  # type: ignore[arg-type]


def aurocs_of(problem: Problem, sample_weight: object, *, n_jobs: int | None = -1) -> Floats:
    """Compute the AUROC of each label of what is checked already; `sample_weight` is as it was given."""
    weights = problem.sample_weight
    if is_sparse(problem.scores):
        # Absent cells weigh what stored ones leave, which only whole units say exactly.
        weights, _ = _checks.weights(sample_weight, problem.n_samples, 1)
    problem = replace(problem, unit_weights=weights)
    if weights is None or weights.dtype.kind == "i":
        parts = over_histograms(problem, lambda found, _: _aurocs(found), n_jobs=n_jobs)
        return np.concatenate(parts)
    read = Reading(problem)

    def of_columns(columns: Columns, memory: Memory) -> Floats:
        each = (columns.of_labels(slice(j, j + 1)) for j in range(columns.n_labels))
        return np.concatenate([_aurocs(read(_in_units(label), memory)) for label in each])

    return np.concatenate(over_labels(problem, of_columns, n_jobs=n_jobs))


def _aurocs(found: Histograms) -> Floats:
    """Compute the AUROC of each label from a bin for each score, NaN where one class has no weight."""
    positives = found.positives  # (n_labels,)
    negatives = found.totals - positives
    # A negative loses once against the positives above it, and half against those of its score: twice that, as floats.
    lost = (found.weights - found.hits) * (2.0 * found.tp - found.hits)  # (n_bins,)
    has_bins = np.diff(found.offsets) > 0
    of_label = np.zeros(found.n_labels)
    of_label[has_bins] = np.add.reduceat(lost, found.offsets[:-1][has_bins])
    auroc = np.full(found.n_labels, np.nan)
    has_both = (positives > 0) & (negatives > 0)
    ratio = of_label[has_both] / (2.0 * positives[has_both] * negatives[has_both])
    auroc[has_both] = np.minimum(ratio, 1.0)  # Rounding may exceed 1.
    return auroc


def _in_units(label: Columns) -> Columns:
    """Return a label whose weights are floats with whole ones, in a unit for each class: AUROC depends on neither.

    Each unit is less than 2**-60 of what the class weighs, however little that is.
    """
    _, truth, weights = label.of_label(0)
    assert weights is not None, "there are some"
    units = np.empty(weights.size, np.int64)
    for own in (truth == 1, truth == 0):
        _, exponent = np.frexp(weights[own].sum())
        units[own] = np.rint(np.ldexp(weights[own], 61 - exponent))
    return label._replace(weights=units)


def macro_auroc(
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    missing: float = 0.0,
    unknown: object = None,
    n_jobs: int | None = -1,
    return_undefined: bool = False,
) -> Any:
    """Compute the mean of the labels' `auroc`, over the labels with both classes.

        1/k sum_j AUROC_j over the k labels where it is not 0/0

    In [0, 1]; NaN if every label has one class only. Source: Lipton et al. 2013, section 10, which prefers it to
    macro-F1 where ranks can be judged.

    Parameters
    ----------
    y_true, y_score, sample_weight, missing, unknown, n_jobs : as in `auroc`
    return_undefined : also give the number of labels left out of the mean

    Returns
    -------
    float, or (float, int) with `return_undefined`

    Raises
    ------
    InputError
        As `auroc`.

    Examples
    --------
    >>> from thresholds.metrics import macro_auroc
    >>> macro_auroc([[1, 0], [0, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.2], [0.5, 0.3]], return_undefined=True)
    (0.75, 1)
    """
    _checks.option(return_undefined, "return_undefined", (True, False))
    each = auroc(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        n_jobs=n_jobs,
    )
    return mean_of_defined(np.atleast_1d(each), return_undefined)
