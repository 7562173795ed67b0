"""The staircase of a label of sparse scores, cell by cell, from its definition."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One distinct score of a positive."""

    score: float
    lower: float  # the next lower score, NaN without one
    tp: int
    fp: int
    higher: int  # weight of all cells above


def staircase(
    scores: Sequence[float],
    truth: Sequence[int],
    weights: Sequence[int],
    known: Sequence[bool],
) -> list[Step]:
    """The steps of one label from the highest down; a cell without weight, or of unknown truth, is none."""
    cells = [cell for cell in zip(scores, truth, weights, known, strict=True) if cell[2] > 0 and cell[3]]
    steps = []
    for cut in sorted({score for score, is_true, _, _ in cells if is_true}, reverse=True):
        tp = sum(weight for score, is_true, weight, _ in cells if score >= cut and is_true)
        fp = sum(weight for score, is_true, weight, _ in cells if score >= cut and not is_true)
        higher = sum(weight for score, _, weight, _ in cells if score > cut)
        lower = max((score for score, _, _, _ in cells if score < cut), default=math.nan)
        steps.append(Step(cut, lower, tp, fp, higher))
    return steps
