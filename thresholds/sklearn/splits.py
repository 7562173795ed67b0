"""Which rows each fold is fitted on and which it judges: made once, as row numbers."""

from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError
from thresholds.data.folds import N_SPLITS, STRATIFIED, group_numbers, multilabel_folds, split_rows
from thresholds.results import counted

Pairs = list[tuple[Ints, Ints]]

_FINEST = 100  # folds that a held-out share is made of at most


def seed_of(random_state: Any) -> int | None:
    """Return a seed for folds; of a generator, the next number."""
    if random_state is None or isinstance(random_state, Integral):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def groups_of(params: dict[str, Any], split_params: dict[str, Any], n: int) -> Ints | None:
    """Number the groups of the rows, under whatever name the splitter asks for them; None if there are none."""
    groups = split_params.get("groups", params.get("groups"))
    return None if groups is None else group_numbers(groups, n)


def make_splits(
    cv: Any,
    X: Any,
    y: Any,
    truth: Matrix,
    weights: Any,
    groups: Ints | None,
    split_params: dict[str, Any],
    seed: int | None,
) -> tuple[Pairs, str]:
    """Make the splits of `cv`, and say where they come from.

    None of its folds shares judged rows with another, or judges rows that it is fitted on.
    """
    weighted = None if weights is None else weights > 0
    if isinstance(cv, Real) and not isinstance(cv, Integral):
        return _held_out(float(cv), truth, groups, seed), STRATIFIED
    if cv is None or isinstance(cv, Integral):
        n_rows = truth.shape[0] if weighted is None else int(weighted.sum())
        cv = max(fold_count(truth.shape[0], weights, groups), 2) if cv is None else int(cv)
        if n_rows < cv:
            raise InputError(
                f"cv is {cv} folds, and y has n_samples={n_rows} with weight, expected as many at least"
            )
        return split_rows(cv, truth, y, weighted, groups, seed)
    splits = hasattr(cv, "split")
    given = list(cv.split(X, y, **split_params)) if splits else cv
    pairs, how = split_rows(given, truth, y, weighted, None, seed)
    if groups is not None and "groups" not in split_params:
        _refuse_parted(groups, pairs)
    return pairs, type(cv).__name__ if splits else how


def fold_count(n_rows: int, weights: Any, groups: Ints | None) -> int:
    """Return the usual number of folds, or as many as there are groups (rows, without groups) that have weight."""
    units = np.arange(n_rows) if groups is None else groups
    return min(N_SPLITS, np.unique(units if weights is None else units[weights > 0]).size)


def _refuse_parted(groups: Ints, pairs: Pairs) -> None:
    """Refuse folds that judge rows of a group that they are fitted on, or that another fold judges, too."""
    judged = np.zeros(groups.max() + 1, np.bool_)
    for k, (train, test) in enumerate(pairs):
        parted = judged[groups[test]] | np.isin(groups[test], groups[train])
        if parted.any():
            raise InputError(
                f"cv splits the group of row {test[parted][0]}, which fold {k} judges, expected all rows of a group in"
                " one fold"
            )
        judged[groups[test]] = True


def _held_out(share: float, truth: Matrix, groups: Ints | None, seed: int | None) -> Pairs:
    """Hold out a share of the rows, of each label alike: some of many folds."""
    n = truth.shape[0] if groups is None else int(groups.max()) + 1
    if n < 2:
        found = f"y has n_samples={n}" if groups is None else f"groups has {counted(n, 'group')}"
        raise InputError(f"{found}, expected at least 2, to hold some out")
    finest = min(_FINEST, n)
    part = Fraction(share).limit_denominator(finest)
    part = min(max(part, Fraction(1, finest)), Fraction(finest - 1, finest))
    folds = multilabel_folds(truth, part.denominator, groups=groups, random_state=seed)
    held = folds < part.numerator
    return [(np.flatnonzero(~held), np.flatnonzero(held))]
