"""Promises for many labels at once: which of them share the error that is allowed, and how much each gets.

The shares are fixed before truth is looked at, and add up to the error that is allowed (Bonferroni), so they are right
however labels depend on each other. Holm's step, by which a label that is done hands its share on, would need a last
claim after which a label can break no promise. Recall has one, "never": nobody wants it shown. Precision has none: a
label of which "always" is shown may still be worse than its floor at cuts above. Nor may a label without positives
enough hand its share on: how many it has may tell how well the sample represents another label.
"""

import numpy as np

from thresholds._arrays.types import Booleans, Floats


def sharing(floor: Floats, n_rows: Floats, delta: float) -> Booleans:
    """Return which labels share an allowed error: the most that could each show their floor with an equal share.

    A label could do so if all its `n_rows` were hits: floor^n_rows <= delta / (number of labels that share). Others
    show nothing whatever the rows hold, and risk nothing. Floors are NaN for labels without one.

    Examples
    --------
    >>> sharing(np.array([0.5, 0.9, 0.99, np.nan]), np.full(4, 50.0), 0.05)
    array([ True,  True, False, False])
    """
    has_floor = ~np.isnan(floor)
    smallest_p = floor**n_rows
    order = np.argsort(smallest_p, kind="stable")[: np.count_nonzero(has_floor)]  # NaN are last
    sizes = np.arange(1, order.size + 1)
    large_enough = np.flatnonzero(smallest_p[order] <= delta / sizes)
    chosen = np.zeros(floor.size, np.bool_)
    if large_enough.size:
        chosen[order[: large_enough[-1] + 1]] = True
    return chosen


def shares_of_error(floor: Floats, n_rows: Floats, delta: Floats, family: str) -> Floats:
    """Return the error that each label is allowed, (n_labels,).

    Parameters
    ----------
    floor : (n_labels,), NaN for a label without one
    n_rows : (n_labels,), rows of which each label is tested
    delta : (n_labels,), what each might use by itself; of a family the least of them is shared
    family : "each" or "all"

    Returns
    -------
    (n_labels,) A label outside the set that shares has what it would have as one more: by that its need is stated.
    """
    has_floor = ~np.isnan(floor)
    if family == "each" or not has_floor.any():
        return delta
    whole = float(delta[has_floor].min())
    inside = sharing(floor, n_rows, whole)
    n_inside = int(np.count_nonzero(inside))
    return np.where(inside, whole / max(n_inside, 1), whole / (n_inside + 1))
