"""Make the profile of a fit: sample rows, sort the scores of each label, and look where those of a row lie."""

from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Ints, Matrix, Numbers, Places
from thresholds._significance import effective_rows
from thresholds.rule.protocol import Decides
from thresholds.rule.watching.kept_rows import KeptRows
from thresholds.rule.watching.profile import LEVELS, Float32s, MeanAndSd, ScoreProfile, ranks
from thresholds.rule.watching.sampling import (
    evenly_spaced,
    labels_per_row,
    mean_and_sd,
    most_rows,
    scored_cells,
    taken_rows,
)

_LOWER = LEVELS.index(0.25)
_UPPER = LEVELS.index(0.75)

# A fit samples one row in so many, or what costs next to nothing.
_ONE_ROW_IN = 50
_CHEAP_CELLS = 2**18

_FEWEST_SCORES = 20  # of a label, for its quartiles to say where the scores of rows lie


def profile_of(
    rule: Decides,
    scores: Any,
    *,
    weights: Numbers | None = None,
    decided: Matrix | None = None,
) -> ScoreProfile:
    """Describe checked scores, wherever they are, and what a rule decides about them.

    Parameters
    ----------
    rule : the columns of scores are in the order of its labels
    scores : (n_samples, n_labels)
    weights : (n_samples,), of rows
    decided : (n_samples, n_labels), all decisions, where they are made already
    """
    places = sampled_rows(scores.shape, weights)  # (n_sampled,)
    kept = _rows_at(places, scores, weights, None)
    return profile_of_kept(rule, kept, None if decided is None else decided[places])


def kept_rows(
    scores: Any, weights: Numbers | None = None, predicted: Numbers | None = None
) -> KeptRows:
    """Copy the rows of which a profile is to be made later.

    `predicted` (n_labels,) is on how many of all rows each label is predicted, where that is counted already; other
    arguments as in `profile_of`.
    """
    return _rows_at(sampled_rows(scores.shape, weights), scores, weights, predicted)


def _rows_at(
    places: Places, scores: Any, weights: Numbers | None, predicted: Numbers | None
) -> KeptRows:
    """Copy the rows at some places; arguments as in `kept_rows`."""
    rows = taken_rows(scores, places)
    if isinstance(rows, np.ndarray):
        # Nobody else has these rows; a record copies what others may write to.
        rows.flags.writeable = False
    # A weighted count is none of rows.
    return KeptRows(rows, scores.shape[0], predicted if _are_ones(weights) else None)


def profile_of_kept(rule: Decides, kept: KeptRows, decided: Matrix | None = None) -> ScoreProfile:
    """Describe rows that were kept, and what a rule decides about them; `decided` has their shape."""
    rows = kept.rows
    if decided is None:
        decided = rule.decide(rows, dense=rule.needs_dense(rows))
    n_rows, predicted = kept.n_rows, kept.predicted
    if predicted is None:
        n_rows, predicted = rows.shape[0], n_predicted(decided)
    return _profile(rows, rule.missing, n_rows, predicted, labels_per_row(decided))


def profile_without_decisions(
    scores: Any, missing: float, *, weights: Numbers | None = None
) -> ScoreProfile:
    """Describe checked scores about which nothing is decided yet; arguments as in `profile_of`."""
    rows = taken_rows(scores, sampled_rows(scores.shape, weights))
    unknown = np.full(scores.shape[1], np.nan)
    return _profile(rows, missing, rows.shape[0], unknown, None)


def _profile(
    rows: Matrix, missing: float, n_rows: int, predicted: Numbers, labels: MeanAndSd | None
) -> ScoreProfile:
    """Describe sampled rows, which get so many `labels`; on `n_rows` each label is predicted so often."""
    is_list = is_sparse(rows)
    cells, used = scored_cells(rows, missing, is_list)
    rising, n_used = rising_scores(cells)
    found = quantiles_of(rising, n_used)

    # Of all labels, from those that have entries.
    n_labels = rows.shape[1]
    quantiles = np.full((n_labels, len(LEVELS)), np.nan, np.float32)
    quantiles[used] = found
    n_scores = np.zeros(n_labels, np.int64)
    n_scores[used] = n_used
    is_whole = not is_list and bool((n_scores == rows.shape[0]).all())

    lower, upper = quartiles_of(found, n_used)
    figures = row_figures(cells, lower, upper)
    return ScoreProfile(
        n_rows=n_rows,
        predicted=np.array(predicted, np.float64),
        n_sampled=rows.shape[0],
        sparse=is_list,
        quantiles=quantiles,
        scored=None if is_whole else n_scores,
        rows={"labels": labels, **_on_other_rows(figures, rising, n_used)},
    )


def sampled_rows(shape: tuple[int, int], weights: Numbers | None) -> Places:
    """Choose the rows of a fit to describe: evenly spaced, with weights in proportion to them."""
    n_rows, n_labels = shape
    at_most = max(
        most_rows(n_labels, _CHEAP_CELLS), min(n_rows // _ONE_ROW_IN, most_rows(n_labels))
    )
    if weights is None or _are_ones(weights):
        return evenly_spaced(n_rows, at_most)
    shares = np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)  # (n_rows,)
    n_effective = int(effective_rows(weights) + 1e-9)  # rounding may take it below a whole number
    size = min(max(n_effective, 1), at_most)
    places = np.searchsorted(shares.cumsum(), (np.arange(size) + 0.5) / size)
    return np.asarray(np.minimum(places, np.flatnonzero(shares)[-1]))


def rising_scores(cells: Float32s) -> tuple[Float32s, Ints]:
    """Sort the scores of each label of (n_rows, n_used) cells.

    Returns
    -------
    rising : (n_used, n_rows), NaN where there is no score last
    n_scores : (n_used,)
    """
    n_scores = np.count_nonzero(~np.isnan(cells), axis=0)
    rising = np.array(cells.T, order="C")
    rising.sort(axis=1)
    return rising, np.asarray(n_scores)


def quantiles_of(rising: Float32s, n_scores: Ints) -> Float32s:
    """Return the lowest score with a share of at least each level at or below it: (n_used, n_levels).

    NaN without scores, as what is last is.
    """
    return np.take_along_axis(rising, ranks(n_scores) - 1, axis=1)


def quartiles_of(quantiles: Float32s, n_scores: Ints) -> tuple[Float32s, Float32s]:
    """Return the lower and the upper quartile of each label, (n_labels,) each, NaN where few scores tell."""
    enough = (n_scores >= _FEWEST_SCORES)[:, np.newaxis]  # (n_labels, 1)
    kept = np.where(enough, quantiles, np.float32(np.nan))
    return kept[:, _LOWER], kept[:, _UPPER]


def n_predicted(decided: Matrix) -> Ints:
    """Return on how many rows each label is predicted: (n_labels,)."""
    return np.asarray(decided.sum(axis=0, dtype=np.int64)).reshape(-1)


def row_figures(cells: Float32s, lower: Float32s, upper: Float32s) -> dict[str, MeanAndSd]:
    """Describe where the scores of each row lie among the quartiles of their labels.

    Parameters
    ----------
    cells : (n_rows, n_used), NaN where there is no score
    lower, upper : (n_used,) quartiles at the fit, NaN where they are not known
    """
    has_score = ~np.isnan(cells)
    n_scores = np.count_nonzero(has_score, axis=1)  # (n_rows,)
    n_compared = np.count_nonzero(has_score & ~np.isnan(lower), axis=1)  # (n_rows,)
    kept = n_compared > 0
    n_kept = n_compared[kept]
    above_lower = np.count_nonzero(cells > lower, axis=1)[kept] / n_kept  # (n_kept,)
    above_upper = np.count_nonzero(cells > upper, axis=1)[kept] / n_kept
    return {
        "above": mean_and_sd((above_lower + above_upper) / 2),
        "outside": mean_and_sd(1 - above_lower + above_upper),
        "scored": mean_and_sd(n_scores),
    }


def _on_other_rows(
    figures: dict[str, MeanAndSd], rising: Float32s, n_scores: Ints
) -> dict[str, MeanAndSd]:
    """Return the figures that rows have on which the quartiles were not chosen.

    Of n scores k lie at or below the k-th; of other scores k / (n + 1) are expected to. A quartile that several scores
    equal would be the same of other scores, and nothing was chosen.
    """
    enough = n_scores >= _FEWEST_SCORES
    rising, n_scores = rising[enough], n_scores[enough]
    n_above = []  # of as many other scores, how many more lie above the lower quartile, and the upper
    for k in (_LOWER, _UPPER):
        rank = ranks(n_scores)[:, k]  # (n_enough,)
        chosen = np.where(_is_tied(rising, rank), 0, rank)
        n_above.append(float((chosen / (n_scores + 1)).sum()))
    above_lower, above_upper = np.array(n_above) / max(n_scores.sum(), 1)  # shares of all scores
    above, outside = figures["above"], figures["outside"]
    return figures | {
        "above": (float(above[0] + (above_lower + above_upper) / 2), above[1]),
        "outside": (float(outside[0] + (above_upper - above_lower)), outside[1]),
    }


def _is_tied(rising: Float32s, rank: Ints) -> Booleans:
    """Tell of the score of a rank, (n_labels,), whether its label has it more than once."""
    label = np.arange(rank.size)
    score = rising[label, rank - 1]
    is_below = (rank > 1) & (rising[label, rank - 2] == score)
    next_rank = np.minimum(rank, rising.shape[1] - 1)
    is_above = (rank < rising.shape[1]) & (rising[label, next_rank] == score)
    return np.asarray(is_below | is_above)


def _are_ones(weights: Numbers | None) -> bool:
    """Whether each row weighs 1."""
    return weights is None or bool(np.all(weights == 1))
