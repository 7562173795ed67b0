"""Floors of micro and of means over rows from their definitions, the witness of `thresholds.guarantees`.

Slow and obvious: every row is looked at by itself at every cut, capital grows row by row, cuts are tried one by one.
Nothing comes from the library. What it shares with it are conventions: the order in which rows are drawn, the stakes,
and which cuts are tested.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEED = 0
PRIOR_VARIANCE = 0.25
MOST_STAKED = 0.95
EPOCHS = (0, *(2**k for k in range(4, 40)))  # rows before which stakes change
POINTS = 256


def found_and_asked(truth: Sequence[int], predicted: Sequence[int], of: str, by_row: bool) -> tuple[Fraction, Fraction]:
    """What a row adds to the two sides of a ratio: its hits, and its positives or predictions; or their ratio and 1."""
    hits = sum(1 for t, p in zip(truth, predicted, strict=True) if t and p)
    among = sum(1 for value in (truth if of == "recall" else predicted) if value)
    if not by_row:
        return Fraction(hits), Fraction(among)
    return (Fraction(hits, among), Fraction(1)) if among else (Fraction(0), Fraction(0))


def units(n_rows: int, groups: Sequence[int] | None = None) -> list[list[int]]:
    """The rows of each unit, a row or a group, in the seeded order."""
    names = sorted(set(groups)) if groups is not None else list(range(n_rows))
    rows = [[i for i in range(n_rows) if (i if groups is None else groups[i]) == name] for name in names]
    turn = np.random.default_rng(SEED).permutation(len(names))
    return [rows[list(turn).index(k)] for k in range(len(names))]


def mean_of(pairs: Sequence[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """The means of what is found and asked, of a unit's rows."""
    n = len(pairs)
    return sum((f for f, _ in pairs), Fraction(0)) / n, sum((a for _, a in pairs), Fraction(0)) / n


def gains(
    truth: Array,
    scores: Array,
    thresholds: Sequence[float],
    floor: float,
    of: str,
    by_row: bool,
    order: list[list[int]],
) -> list[float]:
    """The gain of each unit, found - floor asked, where cells at or above their thresholds are predicted."""
    values = []
    for rows in order:
        pairs = []
        for i in rows:
            predicted = [int(s >= t) for s, t in zip(scores[i], thresholds, strict=True)]
            pairs.append(found_and_asked(truth[i].astype(int).tolist(), predicted, of, by_row))
        found, asked = mean_of(pairs)
        values.append(float(found) - floor * float(asked))
    return values


def stake(seen: Sequence[float], n: int, most_lost: float, delta: float) -> float:
    """What is staked after gains have been seen."""
    mean = sum(seen) / len(seen) if seen else 0.0
    variance = (PRIOR_VARIANCE + sum((x - mean) ** 2 for x in seen)) / (len(seen) + 1)
    return min(math.sqrt(2 * math.log(1 / delta) / (n * variance)), MOST_STAKED / most_lost)


def shows(values: Sequence[float], stakes: Sequence[float], delta: float) -> bool:
    """Whether capital reaches 1 / delta, row after row, and the gains add up to something."""
    capital = highest = 1.0
    for gain, staked in zip(values, stakes, strict=True):
        capital *= 1 + staked * gain
        highest = max(highest, capital)
    return sum(values) > 0 and highest >= 1 / delta


def shown_recall_cuts(
    truth: Array, scores: Array, floor: float, by_row: bool, delta: float, groups: Sequence[int] | None = None
) -> dict[float, bool]:
    """Whether a floor of recall is shown at each score of a positive, a threshold that all labels share."""
    n_labels = truth.shape[1]
    order = units(len(truth), groups)
    most_lost = floor * (1 if by_row else n_labels)
    cuts = sorted(set(scores[truth > 0].tolist()), reverse=True)
    at = {cut: gains(truth, scores, [cut] * n_labels, floor, "recall", by_row, order) for cut in cuts}

    # Stakes: after 0, 16, 32, ... rows, by the gains before at the highest cut that breaks even there, or the lowest.
    stakes: list[float] = []
    for i in range(len(order)):
        if i in EPOCHS:
            before = {cut: values[:i] for cut, values in at.items()}
            evens = [cut for cut in cuts if sum(before[cut]) >= -1e-9]
            now = stake(before[evens[0] if evens else cuts[-1]] if i else [], len(order), most_lost, delta)
        stakes.append(now)
    return {cut: shows(values, stakes, delta) for cut, values in at.items()}


def highest_expected_cut(truth: Array, scores: Array, floor: Fraction, by_row: bool) -> float | None:
    """The highest shared cut with n / (n + 1) of the mean loss and b / (n + 1) at most 0, in exact arithmetic.

    The loss of a row is floor asked - found, at most b.
    """
    n_labels = truth.shape[1]
    most = floor * (1 if by_row else n_labels)
    for cut in sorted(set(scores[truth > 0].tolist()), reverse=True):
        losses = []
        for row, cells in zip(truth, scores, strict=True):
            found, asked = found_and_asked(row.astype(int).tolist(), [int(s >= cut) for s in cells], "recall", by_row)
            losses.append(floor * asked - found)
        n = len(losses)
        mean = sum(losses, Fraction(0)) / n
        if Fraction(n, n + 1) * mean + most / (n + 1) <= 0:
            return cut
    return None


def shown_precision_cuts(
    truth: Array,
    scores: Array,
    floor: float,
    by_row: bool,
    delta: float,
    n_scouts: int,
    cuts: Sequence[float],
    start: int,
) -> list[float]:
    """The cuts, falling from that at `start`, at which a floor of precision is shown by the rows after the scouts."""
    n_labels = truth.shape[1]
    order = units(len(truth))
    most_lost = floor * (1 if by_row else n_labels)
    shown = []
    for cut in cuts[start:]:
        values = gains(truth, scores, [cut] * n_labels, floor, "precision", by_row, order)
        tested = values[n_scouts:]
        stakes: list[float] = []
        for i in range(len(tested)):
            if i in EPOCHS:
                now = stake(values[: n_scouts + i], len(tested), most_lost, delta)
            stakes.append(now)
        if not shows(tested, stakes, delta):
            break
        shown.append(cut)
    return shown


def best_ratios(truth: Array, scores: Array) -> list[float]:
    """The ratios r at which labels may change their cuts of highest tp - r predicted: slopes between all pairs."""
    ratios = set()
    for column, cells in zip(truth.T, scores.T, strict=True):
        points = [(0, 0)] + [
            (int((cells >= cut).sum()), int(column[cells >= cut].sum()))
            for cut in sorted(set(cells.tolist()), reverse=True)
        ]
        for n, tp in points:
            for more, hits in points:
                if more > n and hits > tp:
                    ratios.add((hits - tp) / (more - n))
    return sorted(ratios, reverse=True)
