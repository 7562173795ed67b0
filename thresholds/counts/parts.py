"""A part of the rows, checked as the rows of a fit are, and counted."""

import math
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds._checks import InputError
from thresholds._checks.unknown import unknown_values
from thresholds._engine.columns import Memory, over_labels
from thresholds._engine.histograms import Histograms, Reading, joined
from thresholds._engine.problem import Problem
from thresholds._engine.sparse import with_absent
from thresholds._engine.staircase import Columns
from thresholds.counts.ranges import ScoreRanges

MOST_UNITS = 2**61  # that all cells weigh less than together, as in fits of rows


def part_of(
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    weight_unit: object = 1.0,
    missing: object = 0.0,
    unknown: object = None,
    label_names: object = None,
) -> Problem:
    """Check some rows, of which all may weigh 0, and no truth need be known."""
    unit = _checks.positive(weight_unit, "weight_unit")
    if unit % 1 and math.frexp(unit)[0] != 0.5:
        raise InputError(
            f"weight_unit is {unit}, expected a whole number, or a power of two, as 0.25: sums of others are rounded"
        )
    unknown_values(unknown)
    aligned = _checks.aligned_rows(sample_weight, "sample_weight", y_score=y_score, y_true=y_true)
    truth, scores, names, unknown_cells = _checks.pair(
        y_true, y_score, label_names, unknown=unknown, some_known=False
    )
    units = None
    if aligned is not None or unit != 1.0:
        weights = np.ones(scores.shape[0]) if aligned is None else aligned
        units = _in_units(weights, scores.shape[0], unit)
    return Problem(
        truth,
        scores,
        units,
        unit,
        sample_weight=units,
        missing=_checks.missing(missing, scores.dtype),
        label_names=names,
        unknown=unknown_cells,
    )


def _in_units(given: object, n_rows: int, unit: float) -> Ints:
    """Return the weights of rows in whole units, (n_rows,)."""
    weights = _checks.sample_weights(given, n_rows)
    with np.errstate(over="ignore"):
        multiples = weights / unit
        total = float(multiples.sum())
        if np.isinf(weights.sum()):
            raise _checks.too_heavy()
    if total >= MOST_UNITS:
        raise InputError(f"sample_weight adds up to {total:.3g} units, expected less than 2**61")
    odd = np.flatnonzero(np.rint(multiples) != multiples)
    if odd.size:
        row = int(odd[0])
        expected = "whole numbers" if unit == 1.0 else f"whole multiples of {unit}"
        raise InputError(
            f"sample_weight has {weights[row]} at row {row}, expected {expected}, or another weight_unit, that all"
            " weights are multiples of"
        )
    return multiples.astype(np.int64)


def has_no_rows(*matrices: object) -> bool:
    """Whether arrays or frames have columns, but not a row: a part of a cluster's data that was left empty."""
    shapes: list[Any] = [getattr(matrix, "shape", ()) for matrix in matrices]
    return all(len(shape) == 2 and shape[0] == 0 < shape[1] for shape in shapes)


def one_row_like(
    y_true: object, y_score: object, label_names: object
) -> tuple[Any, Any, tuple[str, ...] | None]:
    """Return a row of zeros of the form of arrays, or frames, without rows; and the names of its labels."""
    scores, names = _checks.named(y_score, "y_score", label_names)
    truth, _ = _checks.named(y_true, "y_true", names)
    return _zeros_like(truth), _zeros_like(scores), names


def _zeros_like(matrix: Any) -> Any:
    """Return a row of zeros, of the width, dtype and kind of an array or a sparse matrix."""
    if is_sparse(matrix):
        from scipy import sparse

        return sparse.csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
    return np.zeros((1, matrix.shape[1]), matrix.dtype)


def scores_within(problem: Problem, ranges: ScoreRanges, *, n_jobs: int | None) -> Histograms:
    """Return a bin for each score in ranges of their labels."""
    read = Reading(problem)

    def collect(columns: Columns, memory: Memory) -> Histograms:
        # What is absent of sparse rows has a score as well.
        columns = with_absent(problem, columns)
        return read.of_cells(columns.of_cells(ranges.contain(columns)), memory)

    return joined(over_labels(problem, collect, n_jobs=n_jobs))
