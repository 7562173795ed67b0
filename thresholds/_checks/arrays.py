"""Checks of arrays of cells: scores, truth, weights, thresholds."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.blocks import by_cells
from thresholds._arrays.dtypes import flushes_subnormals, has_subnormals, key_dtype, rounded_up
from thresholds._arrays.sparse import is_sparse, stored_cells, with_cells
from thresholds._arrays.types import Dense, Matrix
from thresholds._checks.cells import first_bad_cell, first_value
from thresholds._checks.frames import aligned, columns_of, read_frame, warn_caller
from thresholds._checks.labels import one_name_each
from thresholds._checks.options import LARGEST_EXACT_INTEGER, is_default, real
from thresholds._checks.plain import numbers, stacked
from thresholds._checks.sparse import sound_csr, without_zeros
from thresholds._checks.unknown import Truth, Unknown, divided, hint, said, unknown_values
from thresholds.errors import InputError, shown

_SUM_ERROR = 2.0**-20  # relative, of a sum of floats that are not negative: more than it can be
_SMALLEST = 2.0**-500  # Of the largest weight: below, products of sums might vanish.
_INF_BITS = 0x7C00  # of float16
_SIGN_BIT = 0x8000
_BLOCK_CELLS = 2**20  # a few megabytes, so that what is made of them takes little memory


def scores(
    value: object,
    name: str = "y_score",
    label_names: Sequence[str] | None = None,
) -> Matrix:
    """Check real scores of shape (n_samples, n_labels): no NaN, no +inf; `-inf` marks a masked cell."""
    array = _matrix(stacked(value, name), name, label_names)
    cells = stored_cells(array)
    _refuse_wide_floats(cells, name)
    if cells.size and cells.dtype.kind == "f":
        _refuse_unreal(array, name, label_names)
    if cells.size and cells.dtype.kind in "iu" and cells.dtype.itemsize == 8:
        largest = max(abs(int(cells.max())), abs(int(cells.min())))
        if largest > LARGEST_EXACT_INTEGER:
            raise InputError(
                f"{name} has the integer {largest}, expected at most 2**53 in absolute value"
            )
    return _as_compared(array)


class FlushToZeroWarning(UserWarning):
    """Issued once in a process that takes subnormal numbers for 0, as after `torch.set_flush_denormal(True)`."""


@cache
def _warn_of_flushing() -> None:
    """Say, once in a process, what subnormal scores count as."""
    warn_caller(
        "this process flushes subnormal numbers to zero, as after torch.set_flush_denormal(True): scores below 2.2e-308"
        " in size (float32: 1.2e-38) count as 0",
        FlushToZeroWarning,
    )


def _as_compared(array: Matrix) -> Matrix:
    """Return scores as this thread compares them: where it takes subnormal ones for 0, that is said, and they are 0."""
    if not flushes_subnormals():
        return array
    _warn_of_flushing()
    cells = stored_cells(array)
    if (
        cells.dtype.kind != "f"
        or cells.dtype.itemsize == 2
        or not any(_by_rows(has_subnormals, cells))
    ):
        return array
    return with_cells(array, cells * cells.dtype.type(1))


def _refuse_unreal(array: Matrix, name: str, label_names: Sequence[str] | None) -> None:
    """Refuse NaN and +inf among floats."""
    cells = stored_cells(array)
    highest = _by_rows(_highest, cells)
    if all(value < np.inf for value in highest):
        return
    is_bad = np.isnan if np.isnan(highest).any() else np.isposinf
    bad = first_bad_cell(array, is_bad, label_names, signed=True)
    raise InputError(f"{name} has {bad}, expected real scores")


def _highest(cells: Dense) -> Any:
    """Return the highest of floats, NaN if there is any; of float16, which NumPy compares slowly, 0 if it is finite."""
    if cells.dtype != np.float16 or not cells.dtype.isnative:
        return np.max(cells)
    # As integers: those that are not negative keep their order, NaN above +inf; negative ones are reversed.
    highest, farthest_down = cells.view(np.int16).max(), cells.view(np.uint16).max()
    if highest > _INF_BITS or farthest_down > _INF_BITS | _SIGN_BIT:
        return np.nan
    return np.inf if highest == _INF_BITS else 0.0


def _refuse_wide_floats(cells: Dense, name: str) -> None:
    """Refuse floats of more than 64 bits."""
    if cells.dtype.kind == "f" and cells.dtype.itemsize > 8:
        raise InputError(
            f"{name} has dtype {cells.dtype}, expected float16, float32, float64 or integers"
        )


def _by_rows(function: Callable[[Dense], Any], cells: Dense) -> list[Any]:
    """Apply `function` to blocks of rows, or of sparse entries."""
    if cells.size <= _BLOCK_CELLS:
        return [function(cells)]
    return [function(cells[rows]) for rows in by_cells(len(cells), cells.size, _BLOCK_CELLS)]


def indicator(
    value: object, name: str = "y_true", label_names: Sequence[str] | None = None
) -> Matrix:
    """Check a 0/1 or boolean matrix of shape (n_samples, n_labels); sparse ones lose explicit zeros."""
    return _binary(_matrix(value, name, label_names), name, label_names)


def truth(
    value: object,
    unknown: object,
    name: str = "y_true",
    label_names: Sequence[str] | None = None,
    *,
    soft: bool = False,
    some_known: bool = True,
) -> Truth:
    """Check truth as `indicator` does, or degrees of truth; cells that are as `unknown` says are left out.

    All of them may be, unless `some_known` have to be.
    """
    if value is None:
        raise InputError(f"{name} is None, expected labels, 0 or 1 in each cell")
    stands_for = unknown_values(unknown)
    if not stands_for:
        if soft:
            return Truth(probabilities(value, name), None)
        return Truth(indicator(value, name, label_names), None)
    if soft and any(0 <= number <= 1 for number in stands_for):
        raise InputError(
            f"unknown is {said(stands_for)}, expected no degree of truth, which {name} may have: 'nan', or a number"
            " outside [0, 1]"
        )
    array = _matrix(value, name, label_names, stands_for)
    known, cells = divided(array, stands_for, name, some_known=some_known)
    if soft:
        return Truth(_shares(known, name, label_names, stands_for), cells)
    known = _binary(known, name, label_names, stands_for)
    return Truth(known if cells is None else known != 0, cells)


def _binary(
    array: Matrix, name: str, label_names: Sequence[str] | None, unknown: Unknown = ()
) -> Matrix:
    """Refuse cells that are neither 0 nor 1."""
    if array.dtype == np.bool_:
        return _sound_bools(array)
    cells = stored_cells(array)
    if not all(_by_rows(_all_binary, cells)):
        bad = first_bad_cell(array, _not_binary, label_names)
        has_zeros = is_sparse(array) or bool((cells == 0).any())
        advice = hint(name, first_value(array, _not_binary), unknown, has_zeros=has_zeros)
        raise InputError(f"{name} has {bad}, expected only 0 and 1{advice}")
    return without_zeros(array)


def _sound_bools(array: Matrix) -> Matrix:
    """Return a boolean matrix whose true cells are bytes of 1: memory that is viewed as boolean may hold any."""
    cells = stored_cells(array).view(np.uint8)
    if not all(_by_rows(_all_binary, cells)):
        array = with_cells(array, cells != 0)
    return without_zeros(array)


def probabilities(
    value: object, name: str = "probabilities", label_names: Sequence[str] | None = None
) -> Matrix:
    """Check probabilities, or degrees of truth, of shape (n_samples, n_labels): each in [0, 1]."""
    return _shares(_matrix(stacked(value, name), name, label_names), name, label_names)


def _shares(
    array: Matrix, name: str, label_names: Sequence[str] | None, unknown: Unknown = ()
) -> Matrix:
    """Refuse cells outside [0, 1]."""
    cells = stored_cells(array)
    _refuse_wide_floats(cells, name)
    if cells.size and not (cells.min() >= 0 and cells.max() <= 1):  # NaN is neither
        advice = " (`calibrate` turns scores into probabilities)"
        if name == "y_true":
            advice = hint(name, first_value(array, _not_a_share), unknown)
        bad = first_bad_cell(array, _not_a_share, label_names)
        raise InputError(f"{name} has {bad}, expected values in [0, 1]{advice}")
    array = _as_compared(array)
    return without_zeros(array)


class Pair(NamedTuple):
    """Truth and scores, checked."""

    truth: Matrix  # (n_samples, n_labels)
    scores: Matrix  # (n_samples, n_labels)
    label_names: tuple[str, ...] | None
    # (n_samples, n_labels) bool, CSR where the truth is; None where all is known.
    unknown: Matrix | None


def pair(
    y_true: object,
    y_score: object,
    label_names: object = None,
    *,
    soft: bool = False,
    unknown: object = None,
    some_known: bool = True,
) -> Pair:
    """Check truth and scores together: same shape, and not swapped. Frames are aligned by name."""
    y_true, y_score, names = aligned(
        y_true, "y_true", y_score, "y_score", label_names, unknown=unknown
    )
    try:
        checked_truth = truth(y_true, unknown, label_names=names, soft=soft, some_known=some_known)
    except InputError as error:
        if "expected only 0 and 1" in str(error) and _is_binary(y_score):
            raise InputError(
                f"{error}; y_score has only 0 and 1: the arguments look swapped"
            ) from None
        raise
    checked = scores(y_score, label_names=names)
    same_shape(checked_truth.cells, "y_true", checked, "y_score")
    one_name_each(names, checked.shape[1])
    return Pair(checked_truth.cells, checked, names, checked_truth.unknown)


def same_shape(first: Matrix, first_name: str, second: Matrix, second_name: str) -> None:
    """Refuse matrices of different shapes."""
    if first.shape != second.shape:
        raise InputError(
            f"{second_name} has shape {second.shape}, expected {first.shape} as {first_name} has"
        )


def label_count(shape: tuple[int, ...], expected: int, owner: str, name: str = "y_score") -> None:
    """Refuse a matrix of another number of labels; of what may have been a row, say how to give one."""
    if shape[-1] == expected:
        return
    hint = ""
    if shape == (expected, 1):
        hint = f"; one row of {expected} labels is a matrix (1, {expected})"
    raise InputError(f"{name} has {shape[-1]} labels, expected {expected} as the {owner} has{hint}")


def weights(
    value: object, n_samples: int, n_labels: int, *, coarse: bool = True
) -> tuple[npt.NDArray[np.int64] | None, float]:
    """Check sample weights and give them as integers, with the weight that 1 stands for.

    The unit is the finest power of two for which all cells together weigh less than 2**61 of it: each weight is
    off by at most one unit, 2**-60 of that total. With `coarse`, a common factor of all weights then joins the
    unit, so that equal weights count like none.
    """
    if value is None:
        return None, 1.0
    array = sample_weights(value, n_samples)
    if not array.any():
        raise InputError("sample_weight is 0 for every row, expected at least one positive weight")

    # The sum of the weights, scaled so that it cannot overflow.
    scale = math.frexp(float(array.max()))[1]
    total = _sum_to_the_exponent(np.ldexp(array, -scale), n_labels)

    # Whole numbers of units; a positive weight is at least one.
    exponent = -unit_exponent(total, scale, n_labels)
    rounded = np.rint(np.ldexp(array, exponent)).astype(np.int64)  # (n_samples,)
    whole = np.maximum(rounded, array > 0)
    factor = int(np.gcd.reduce(whole)) if coarse else 1
    return whole // factor, math.ldexp(factor, -exponent)


def _sum_to_the_exponent(array: npt.NDArray[np.float64], n_labels: int) -> float:
    """Add up numbers so that the sum, and `n_labels` of it, have the exponents that the exact sums have."""
    total = float(array.sum())
    ends = (total * (1 - _SUM_ERROR), total * (1 + _SUM_ERROR))
    exponents = {(math.frexp(end)[1], math.frexp(end * n_labels)[1]) for end in ends}
    return total if len(exponents) == 1 else math.fsum(array)


def unit_exponent(total: float, scale: int, n_labels: int) -> int:
    """Return which power of two is the finest unit of weights that add up to total * 2**scale."""
    if math.frexp(total)[1] + scale > 1024:
        raise too_heavy()
    return math.frexp(total * n_labels)[1] + scale - 61


def too_heavy() -> InputError:
    """Return the refusal of weights whose sum is no number."""
    return InputError("sample_weight adds up to more than float64 holds, expected smaller weights")


def weights_of_rows(
    value: object, n_samples: int, *, some: bool = True
) -> tuple[npt.NDArray[np.int64] | npt.NDArray[np.float64] | None, float]:
    """Check sample weights for sums that stay within a label, and give the weight that 1 stands for.

    Whole numbers where they are exactly that, as in `weights`, so that sums are exact; else floats, so that sums are
    precise however unequal labels are. All may be 0 unless `some` must not be.
    """
    if value is None:
        return None, 1.0
    array = sample_weights(value, n_samples)
    if not some and not array.any():
        return array, 1.0
    whole, unit = weights(array, n_samples, 1)
    exponent = math.frexp(float(array.max()))[1] - 1
    smallest = math.ldexp(float(array[array > 0].min()), -exponent)
    if whole is None or np.array_equal(whole * unit, array) or smallest < _SMALLEST:
        return whole, unit
    return np.ldexp(array, -exponent), math.ldexp(1.0, exponent)


def sample_weights(
    value: object, n_samples: int, name: str = "sample_weight"
) -> npt.NDArray[np.float64]:
    """Return finite weights that are not negative."""
    array = numbers(value, name)
    if array.shape != (n_samples,):
        raise InputError(
            f"{name} has shape {array.shape}, expected {n_samples} numbers, one per row"
        )
    array = array.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InputError(
            f"{name} has {array[bad[0]]} at row {bad[0]}, expected finite weights >= 0"
        )
    return array


def missing(value: object, dtype: np.dtype[Any]) -> float:
    """Check the score of absent entries, rounded into the dtype of the others."""
    if is_default(value, 0.0):
        return 0.0
    number = real(value, "missing") * 1.0  # A subnormal one becomes 0 where it counts as 0.
    with np.errstate(over="ignore"):
        rounded = float(key_dtype(dtype).type(number))
    if math.isnan(number) or rounded == math.inf or math.isinf(rounded) != math.isinf(number):
        raise InputError(f"missing is {number}, expected a score of dtype {dtype}, or -inf")
    return rounded


def thresholds(value: object) -> npt.NDArray[np.float64]:
    """Check one threshold for each label, and give them as a new array."""
    array = numbers(value, "thresholds")
    if array.ndim != 1 or array.size == 0 or array.dtype.kind == "b":
        raise InputError(
            f"thresholds has shape {array.shape} and dtype {array.dtype}, expected numbers, one per label"
        )
    array = array.astype(np.float64)
    if np.isnan(array).any():
        raise InputError(
            f"thresholds has NaN at label {int(np.isnan(array).argmax())}, expected numbers"
        )
    return _as_cuts(array)


def _as_cuts(array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return numbers that scores are compared with: -0.0 becomes 0.0, and what is above 0 stays above it."""
    return np.asarray(rounded_up(array, array.dtype) + 0.0)


def rising(value: object, name: str) -> npt.NDArray[np.float64]:
    """Check numbers that rise, perhaps none, and give them as a new array."""
    array = numbers(value, name).astype(np.float64)
    if array.ndim != 1 or np.isnan(array).any() or (array[1:] <= array[:-1]).any():
        raise InputError(f"{name} is {shown(array.tolist())}, expected numbers that rise")
    return _as_cuts(array)


def _matrix(
    value: object,
    name: str,
    label_names: Sequence[str] | None,
    unknown: Unknown = (),
) -> Matrix:
    """Return a non-empty 2-D numeric array, dense or CSR; one dimension means one label, frames are put in order."""
    frame = read_frame(value, name, unknown)
    if frame is not None:
        value = columns_of(frame, None if label_names is None else tuple(label_names), name)
    array: Matrix
    if is_sparse(value):
        array = sound_csr(value, name)
    else:
        array = numbers(value, name, unknown)
        if array.ndim == 1:
            array = array[:, np.newaxis]
        if array.ndim != 2:
            raise InputError(f"{name} has shape {array.shape}, expected (n_samples, n_labels)")
    if 0 in array.shape:
        raise InputError(
            f"{name} is empty, shape {array.shape}, expected at least one row and one label"
        )
    return array


def _all_binary(cells: Dense) -> bool:
    """Whether all cells are 0 or 1; of integers by one maximum, as a negative one is large without its sign."""
    if cells.dtype.kind in "iu":
        return bool(cells.view(cells.dtype.str.replace("i", "u")).max(initial=0) <= 1)
    return not _not_binary(cells).any()


def _not_binary(cells: Dense) -> Dense:
    """Mark cells that are neither 0 nor 1."""
    return np.asarray((cells != 0) & (cells != 1))


def _not_a_share(cells: Dense) -> Dense:
    """Mark cells outside [0, 1], NaN among them."""
    return ~((cells >= 0) & (cells <= 1))


def _is_binary(value: object) -> bool:
    """Whether `value` would pass as an indicator matrix."""
    try:
        indicator(value)
    except InputError:
        return False
    return True
