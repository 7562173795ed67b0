"""Which rows each fold is fitted on and which it judges: made once, as row numbers."""

from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError, group_numbers
from thresholds._results.words import counted
from thresholds.data.folds import STRATIFIED, multilabel_folds, split_rows, usual_folds

Pairs = list[tuple[Ints, Ints]]

_MAX_FOLDS = 100  # that a held-out share is made of


def seed_of(random_state: Any) -> int | None:
    """Return a seed for folds; of a generator, the next number."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral):
        return int(random_state)
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
    has_weight = None if weights is None else weights > 0  # (n_samples,)

    # A share of the rows, or a number of folds, made here.
    if isinstance(cv, Real) and not isinstance(cv, Integral):
        return _held_out(float(cv), truth, groups, seed), STRATIFIED
    if cv is None or isinstance(cv, Integral):
        n_rows = truth.shape[0] if has_weight is None else int(has_weight.sum())
        usual = max(usual_folds(truth.shape[0], groups, weights), 2)
        n_folds = usual if cv is None else int(cv)
        if n_rows < n_folds:
            raise InputError(
                f"cv is {n_folds} folds, and y has n_samples={n_rows} with weight, expected as many at least"
            )
        return split_rows(n_folds, truth, y, has_weight, groups, seed)

    # A splitter, or splits as given.
    is_splitter = hasattr(cv, "split")
    splits = list(cv.split(X, y, **split_params)) if is_splitter else cv
    pairs, how = split_rows(splits, truth, y, has_weight, None, seed)
    if is_splitter:
        how = type(cv).__name__
    if groups is not None and "groups" not in split_params:
        _refuse_parted(groups, pairs)
    return pairs, how


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
    if groups is None:
        n_units = truth.shape[0]
        about = f"y has n_samples={n_units}"
    else:
        n_units = int(groups.max()) + 1
        about = f"groups has {counted(n_units, 'group')}"
    if n_units < 2:
        raise InputError(f"{about}, expected at least 2, to hold some out")

    # The nearest fraction of so many folds, neither none nor all of them.
    most_folds = min(_MAX_FOLDS, n_units)
    fraction = Fraction(share).limit_denominator(most_folds)
    fraction = max(fraction, Fraction(1, most_folds))
    fraction = min(fraction, Fraction(most_folds - 1, most_folds))
    folds = multilabel_folds(truth, fraction.denominator, groups=groups, random_state=seed)
    is_held_out = folds < fraction.numerator  # (n_samples,)
    return [(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))]
