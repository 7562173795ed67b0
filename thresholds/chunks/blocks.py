"""A block of rows, checked as those of a fit are."""

from typing import Any, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import InputError
from thresholds._checks.unknown import unknown_value
from thresholds._engine.problem import Problem
from thresholds.data.counted import Kind

MOST_UNITS = 2**62  # that all cells may weigh together


class OfBlocks:
    """What was read from blocks of rows, and adds up: labels and scores that the blocks have in common."""

    kind: Kind

    def __radd__(self, other: object) -> Self:
        """Let `sum` add them."""
        if other == 0:
            return self
        return NotImplemented

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.kind.n_labels

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if they have names."""
        return self.kind.label_names

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the scores."""
        return self.kind.dtype

    @property
    def missing(self) -> float:
        """Score of the entries that sparse scores leave out."""
        return self.kind.missing


def block_of(
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    weight_unit: object = None,
    missing: object = 0.0,
    unknown: object = None,
    label_names: object = None,
) -> tuple[Problem, Kind]:
    """Check a block, in which all weights may be 0 and no truth known, and say of which kind it is."""
    unit = 1.0 if weight_unit is None else _checks.positive(weight_unit, "weight_unit")
    unknown_value(unknown)
    aligned = _checks.aligned_rows(sample_weight, "sample_weight", y_score=y_score, y_true=y_true)
    truth, scores, names, unknown_cells = _checks.pair(
        y_true, y_score, label_names, unknown=unknown, some_known=False
    )
    units = None
    if aligned is not None or unit != 1.0:
        units = _in_units(weights_of(aligned, scores.shape[0]), unit, exact=weight_unit is None)
    problem = Problem(
        truth,
        scores,
        units,
        unit,
        sample_weight=units,
        missing=_checks.missing(missing, scores.dtype),
        label_names=names,
        unknown=unknown_cells,
    )
    kind = Kind(
        n_labels=problem.n_labels,
        dtype=scores.dtype.newbyteorder("="),
        sparse=is_sparse(scores),
        missing=problem.missing + 0.0,  # -0.0 is 0.0
        label_names=names,
        unit=unit,
    )
    return problem, kind


def has_no_rows(*matrices: Any) -> bool:
    """Whether matrices have columns, but not a row: a part of a cluster's data that was left empty."""
    return all(isinstance(matrix, np.ndarray) or is_sparse(matrix) for matrix in matrices) and all(
        len(matrix.shape) == 2 and matrix.shape[0] == 0 < matrix.shape[1] for matrix in matrices
    )


def one_row_like(matrix: Any) -> Any:
    """Return a row of zeros, of the width, dtype and kind of an array or sparse matrix without rows."""
    if is_sparse(matrix):
        from scipy import sparse

        return sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
    return np.zeros((1, matrix.shape[1]), matrix.dtype)


def weights_of(sample_weight: object, n_rows: int) -> Floats:
    """Check the weights of rows, (n_rows,), ones where there are none."""
    if sample_weight is None:
        return np.ones(n_rows)
    return _checks.sample_weights(sample_weight, n_rows)


def _in_units(weights: Floats, unit: float, *, exact: bool) -> Ints:
    """Return weights in whole units, positive ones at least one; `exact` ones have to be whole."""
    with np.errstate(over="ignore"):
        multiples = weights / unit
        total = float(multiples.sum())
        if np.isinf(weights.sum()):
            raise _checks.too_heavy()
    if total >= MOST_UNITS:
        raise InputError(
            f"sample_weight adds up to {total:.3g} units, expected less than 2**62, or another weight_unit, which the"
            " Candidates of all rows have"
        )
    rounded = np.rint(multiples)
    if exact and not np.array_equal(rounded, multiples):
        row = int(np.flatnonzero(rounded != multiples)[0])
        raise InputError(
            f"sample_weight has {weights[row]} at row {row}, expected whole numbers, or weight_unit, which the"
            " Candidates of all rows have"
        )
    return np.maximum(rounded.astype(np.int64), weights > 0)
