"""AUROC: how well scores rank positives above negatives, whatever the threshold."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats
from thresholds.metrics.averages import mean_of_defined

if TYPE_CHECKING:
    from thresholds.data.problem import Problem


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
    from thresholds.data.problem import Problem

    # In their order, as in all metrics.
    _, names = _checks.named(y_true, "y_true", unknown=unknown)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=names,
        n_jobs=n_jobs,
    )
    aurocs = aurocs_of(problem, sample_weight, n_jobs=n_jobs)  # (n_labels,)
    return float(aurocs[0]) if np.ndim(y_true) == 1 else aurocs  # type: ignore[arg-type]


def aurocs_of(problem: "Problem", sample_weight: object, *, n_jobs: int | None = -1) -> Floats:
    """Compute the AUROC of each label of what is checked already; `sample_weight` is as it was given."""
    from thresholds._kernels.sorting import unit_aurocs, weighted_aurocs
    from thresholds.data.tiles import map_tiles

    weights = problem.sample_weight
    if is_sparse(problem.scores):
        # Absent cells weigh what stored ones leave, which only whole units say exactly.
        weights, _ = _checks.weights(sample_weight, problem.n_samples, 1)
    problem = replace(problem, unit_weights=weights)

    def of_label(label: int) -> Any:
        items = problem.label_items(label, label + 1)
        if not items.is_unweighted:  # No row is known.
            return np.array([np.nan])
        return unit_aurocs(items.keys[np.newaxis], items.positive_weights[np.newaxis])

    def tile_aurocs(first: int, last: int) -> Any:
        if problem.is_dense_unweighted:
            return unit_aurocs(*problem.keys_and_truth(first, last))
        if problem.is_plain:
            return np.concatenate([of_label(label) for label in range(first, last)])
        return weighted_aurocs(*problem.group_items("labels", first, last))

    return np.concatenate(map_tiles(problem, tile_aurocs, n_jobs=n_jobs))


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
