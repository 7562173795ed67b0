"""Which rows each fold is fitted on and which it judges: made once, as row numbers."""

from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from thresholds._checks import InputError, Matrix
from thresholds.folds import multilabel_folds, split_rows

Ints = npt.NDArray[np.int64]
Pairs = list[tuple[Ints, Ints]]

_FOLDS = 5
_FINEST = 100  # folds that a held-out share is made of at most


def seed_of(random_state: Any) -> int | None:
    """Give a seed for folds; of a generator, the next number."""
    if random_state is None or isinstance(random_state, Integral):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def make_splits(
    cv: Any, X: Any, y: Any, truth: Matrix, weights: Any, split_params: dict[str, Any], seed: int | None
) -> Pairs:
    """Make the splits of `cv`: none of its folds shares judged rows with another, or judges rows it is fitted on."""
    weighted = None if weights is None else weights > 0
    if hasattr(cv, "split"):
        given: Any = list(cv.split(X, y, **split_params))
        return split_rows(given, truth, y, weighted, None, seed)[0]
    if isinstance(cv, Real) and not isinstance(cv, Integral):
        return _held_out(float(cv), truth, seed)
    if cv is None or isinstance(cv, Integral):
        n_rows = truth.shape[0] if weighted is None else int(weighted.sum())
        cv = max(fold_count(n_rows), 2) if cv is None else int(cv)
        if n_rows < cv:
            raise InputError(f"cv is {cv} folds, and y has n_samples={n_rows} with weight, expected as many at least")
    return split_rows(cv, truth, y, weighted, None, seed)[0]


def fold_count(n_rows: int) -> int:
    """Give the usual number of folds, or fewer for very few rows."""
    return min(_FOLDS, n_rows)


def _held_out(share: float, truth: Matrix, seed: int | None) -> Pairs:
    """Hold out a share of the rows, of each label alike: some of many folds."""
    n = truth.shape[0]
    if n < 2:
        raise InputError(f"y has n_samples={n}, expected at least 2, to hold some out")
    finest = min(_FINEST, n)
    part = Fraction(share).limit_denominator(finest)
    part = min(max(part, Fraction(1, finest)), Fraction(finest - 1, finest))
    folds = multilabel_folds(truth, part.denominator, random_state=seed)
    held = folds < part.numerator
    return [(np.flatnonzero(~held), np.flatnonzero(held))]
