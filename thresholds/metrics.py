"""F-measures of 0/1 predictions, each average under its own name.

    F_beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp),    b = beta

van Rijsbergen 1979, chapter 7; averages as in Lipton et al. 2013, section 2.1 (whose micro formula has a stray
factor 2), and Opitz & Burst 2019. Argument order and meaning are scikit-learn's.
"""

import math
import numbers
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import AVERAGES, InputError, Matrix, is_sparse

__all__ = ["UndefinedMetricWarning", "f1_score", "fbeta_score"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.uint8]


class UndefinedMetricWarning(UserWarning):
    """Issued where a metric is 0/0 and `zero_division="warn"`."""


class Counts(NamedTuple):
    """Weights of true positives, predictions and positives, one per group (label or row)."""

    tp: Ints
    predicted: Ints
    positives: Ints


def f1_score(
    y_true: object,
    y_pred: object,
    *,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
) -> Any:
    """Compute F1 = 2 tp / (2 tp + fp + fn): `fbeta_score` with beta 1.

    Examples
    --------
    >>> from thresholds.metrics import f1_score
    >>> y_true = [[1, 0], [1, 1], [0, 0]]
    >>> y_pred = [[1, 0], [0, 1], [0, 1]]
    >>> round(f1_score(y_true, y_pred, average="macro"), 4)
    0.6667
    """
    return _score(y_true, y_pred, 1.0, average, sample_weight, zero_division)


def fbeta_score(
    y_true: object,
    y_pred: object,
    *,
    beta: float,
    average: str | None = "binary",
    sample_weight: object = None,
    zero_division: Any = "warn",
) -> Any:
    """Compute F-beta of 0/1 predictions, in [0, 1].

    Parameters
    ----------
    y_true, y_pred : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    beta : weight of recall: recall counts `beta` times as much as precision
    average :
        None: F of each label, an array (n_labels,);
        "binary": F of a single label;
        "micro": F of the counts added over labels;
        "macro": mean of the labels' F over all labels;
        "weighted": mean of the labels' F, weighted by their positives (plain when there are none at all);
        "samples": mean of the rows' F, weighted by `sample_weight`
    sample_weight : (n_samples,) non-negative, or None
    zero_division : {"warn", 0, 1, nan}
        The value of 0/0, which F has where tp + fp + fn = 0; "warn" is 0 with an `UndefinedMetricWarning`.
        NaN leaves such labels and rows out of a mean. F is 0, not 0/0, where only tp is 0.

    Returns
    -------
    float, or an array for `average=None`

    Raises
    ------
    InputError
        For values other than 0 and 1, different shapes, bad weights, unknown options.

    Examples
    --------
    >>> from thresholds.metrics import fbeta_score
    >>> round(fbeta_score([[1, 0], [0, 1]], [[1, 0], [1, 1]], beta=2.0, average="samples"), 4)
    0.9167
    """
    return _score(y_true, y_pred, _checks.beta(beta), average, sample_weight, zero_division)


def _score(
    y_true: object,
    y_pred: object,
    beta: float,
    average: str | None,
    sample_weight: object,
    zero_division: object,
) -> float | Floats:
    """Check the arguments of a metric, count, divide and average."""
    _checks.option(average, "average", (None, "binary", *AVERAGES))
    undefined = _value_of_zero_division(zero_division)
    truth = _checks.indicator(y_true)
    predicted = _checks.indicator(y_pred, "y_pred")
    _checks.same_shape(truth, "y_true", predicted, "y_pred")
    weights, _ = _checks.weights(sample_weight, *truth.shape)
    if np.ndim(y_true) == 1 and average != "binary":  # type: ignore[arg-type]
        raise InputError(f"average is {average!r} for 1-D y_true, expected 'binary', or columns of one label each")
    if average == "binary" and truth.shape[1] != 1:
        expected = "None, 'micro', 'macro', 'weighted' or 'samples'"
        raise InputError(f"average is 'binary' with {truth.shape[1]} labels, expected {expected}")
    by_sample = average == "samples"
    counts = count_by_sample(truth, predicted) if by_sample else count_by_label(truth, predicted, weights)
    f = average_f(counts, average, beta, undefined, weights)
    if zero_division == "warn":
        _warn_where_undefined(counts, average)
    if average == "binary" or isinstance(f, float):
        return float(np.asarray(f).item())
    return f


def f_of_counts(counts: Counts, beta: float, zero_division: float) -> Floats:
    """Give F-beta of each group; every F that is reported comes from here."""
    b = beta * beta
    denominator = b * counts.positives + counts.predicted
    undefined = (counts.predicted == 0) & (counts.positives == 0)
    f = (1.0 + b) * counts.tp / np.where(denominator > 0, denominator, 1.0)
    return np.where(undefined, zero_division, np.minimum(f, 1.0))  # Rounding may exceed 1.


def average_f(
    counts: Counts, average: str | None, beta: float, zero_division: float, row_weights: Ints | None = None
) -> float | Floats:
    """Average F-beta over groups: instances for "samples", labels otherwise."""
    if average == "micro":
        counts = Counts(*(part.sum(keepdims=True) for part in counts))
    f = f_of_counts(counts, beta, zero_division)
    if average in (None, "binary"):
        return f
    weights = {"weighted": counts.positives, "samples": row_weights}.get(str(average))
    return _mean(f, None if weights is None or not weights.any() else weights)


def count_by_label(truth: Matrix, predicted: Matrix, weights: Ints | None) -> Counts:
    """Count checked indicator matrices label by label, in units of the weights."""
    per_row = np.ones(truth.shape[0], np.int64) if weights is None else weights
    if is_sparse(truth) and is_sparse(predicted):
        both = truth.astype(np.bool_).multiply(predicted.astype(np.bool_))
        return Counts(*(part.astype(np.int64).T @ per_row for part in (both, predicted, truth)))
    from thresholds._kernels import confusion

    counts = np.zeros((3, truth.shape[1]), np.int64)
    for rows, t, p in _row_blocks(truth, predicted):
        confusion.count_by_label(t, p, per_row[rows], counts)
    return Counts(*counts)


def count_by_sample(truth: Matrix, predicted: Matrix) -> Counts:
    """Count checked indicator matrices row by row."""
    if is_sparse(truth) and is_sparse(predicted):
        both = truth.astype(np.bool_).multiply(predicted.astype(np.bool_))
        return Counts(*(part.astype(np.int64).sum(axis=1) for part in (both, predicted, truth)))
    from thresholds._kernels import confusion

    counts = np.zeros((3, truth.shape[0]), np.int64)
    for rows, t, p in _row_blocks(truth, predicted):
        confusion.count_by_sample(t, p, counts[:, rows])
    return Counts(*counts)


def _row_blocks(truth: Matrix, predicted: Matrix) -> Iterator[tuple[slice, Cells, Cells]]:
    """Give blocks of rows of 0/1 matrices as C-contiguous uint8, without a copy where they are that already."""
    for rows in _checks.row_blocks(*truth.shape):
        t, p = (part.toarray() if is_sparse(part) else part for part in (truth[rows], predicted[rows]))
        yield rows, np.ascontiguousarray(t, np.uint8), np.ascontiguousarray(p, np.uint8)


def _mean(values: Floats, weights: Ints | None) -> float:
    """Average the values that are not NaN; NaN if there are none."""
    known = ~np.isnan(values)
    if not known.any():
        return math.nan
    if weights is None:
        return float(values[known].mean())
    if not weights[known].any():
        return math.nan
    return float(np.average(values[known], weights=weights[known]))


def _value_of_zero_division(value: object) -> float:
    """Check `zero_division` and give the number it stands for."""
    if isinstance(value, str) and value == "warn":
        return 0.0
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if number and (value in (0, 1) or value != value):
        return float(value)  # type: ignore[arg-type]
    raise InputError(f"zero_division is {_checks.shown(value)}, expected 'warn', 0, 1 or nan")


def _warn_where_undefined(counts: Counts, average: str | None) -> None:
    """Warn, in scikit-learn's words, where F is 0/0."""
    empty = (counts.predicted == 0) & (counts.positives == 0)
    if average == "micro":
        empty = empty.all(keepdims=True)
    if not empty.any():
        return
    group, other = ("sample", "label") if average == "samples" else ("label", "sample")
    where = "due to" if empty.size == 1 else f"in {group}s with"
    warnings.warn(
        f"F-score is ill-defined and being set to 0.0 {where} no true nor predicted {other}s."
        " Use `zero_division` parameter to control this behavior.",
        UndefinedMetricWarning,
        stacklevel=4,
    )
