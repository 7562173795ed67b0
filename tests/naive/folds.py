"""Iterative stratification, a row or a group at a time: Sechidis, Tsoumakas & Vlahavas 2011, algorithm 1.

Folds are of equal size, so the fold that wants most of a label is that which has least of it. Only the draws are those
of the library, in the same order: the turn of each unit (a row, or a group of rows), then the fold from which ties are
broken.
"""

from collections.abc import Hashable, Sequence

import numpy as np


def folds(
    truth: Sequence[Sequence[int]], n_folds: int, seed: int, groups: Sequence[Hashable] | None = None
) -> list[int]:
    """The fold of each row."""
    names = list(range(len(truth))) if groups is None else list(groups)
    units = list(dict.fromkeys(names))
    rows = {unit: [row for row, name in enumerate(names) if name == unit] for unit in units}
    times = {unit: [sum(column) for column in zip(*(truth[row] for row in rows[unit]), strict=True)] for unit in units}
    rng = np.random.default_rng(seed)
    turn = dict(zip(units, rng.permutation(len(units)).tolist(), strict=True))
    first = dict(zip(units, rng.integers(n_folds, size=len(units)).tolist(), strict=True))
    fold: dict[Hashable, int] = {}

    def has(k: int, label: int) -> int:
        """Positives of a label in fold k."""
        return sum(times[unit][label] for unit, at in fold.items() if at == k)

    def size(k: int) -> int:
        """Rows in fold k."""
        return sum(len(rows[unit]) for unit, at in fold.items() if at == k)

    while True:
        left = [sum(times[unit][label] for unit in units if unit not in fold) for label in range(len(truth[0]))]
        if not any(left):
            break
        rarest = min((label for label in range(len(left)) if left[label]), key=lambda label: (left[label], label))
        of_label = [unit for unit in units if unit not in fold and times[unit][rarest]]
        for unit in sorted(of_label, key=lambda unit: (-times[unit][rarest], turn[unit])):
            fold[unit] = min(range(n_folds), key=lambda k: (has(k, rarest), size(k), (k - first[unit]) % n_folds))
    for unit in sorted((unit for unit in units if unit not in fold), key=lambda unit: (-len(rows[unit]), turn[unit])):
        fold[unit] = min(range(n_folds), key=lambda k: (size(k), (k - first[unit]) % n_folds))
    return [fold[name] for name in names]
