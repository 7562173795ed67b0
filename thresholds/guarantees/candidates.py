"""Cuts among which a fit may choose where only some thresholds are shown: steps of the staircase, ends of ranges."""

import numpy as np

from thresholds._arrays.types import Booleans, Floats
from thresholds.data.problem import Items, Problem
from thresholds.guarantees.ranges import Ranges
from thresholds.search.ranks import count_at
from thresholds.search.staircase import Staircase


def shown_cuts(problem: Problem, items: Items, stairs: Staircase, allowed: Ranges) -> Staircase:
    """Return the steps whose gap has thresholds that are allowed, and cuts at the high ends of ranges that no step has.

    The score of a step is the highest threshold allowed in its gap. Between two steps F only falls on the way down, so
    the best cut of a range is a step or its high end.
    """
    # The highest threshold allowed in the gap of each step, NaN for none.
    score = np.full(stairs.score.size, np.nan)
    label = stairs.label
    lower = np.where(np.isnan(stairs.lower), -np.inf, stairs.lower)
    has_step = np.zeros(allowed.high.shape, np.bool_)  # whether a step lies at the high end
    for k, (low, high) in enumerate(zip(*allowed, strict=True)):
        top = np.minimum(stairs.score, high[label])
        meets = top > np.maximum(lower, low[label])
        meets |= (stairs.score == -np.inf) & (low[label] == -np.inf)
        score = np.where(meets, np.fmax(score, top), score)
        at_end = meets & ((top == high[label]) | (high[label] == np.inf))
        has_step[k] = np.bincount(label[at_end], minlength=high.size) > 0
    kept = stairs.where(~np.isnan(score))
    kept = _with_score(kept, score[~np.isnan(score)])

    # High ends that lie between two steps.
    needs_cut = ~np.isnan(allowed.high) & ~has_step & (allowed.high < np.inf)
    for high, wanted in zip(allowed.high, needs_cut, strict=True):
        if wanted.any():
            kept = _with_cuts(kept, problem, items, high, wanted)
    return kept


def _with_score(stairs: Staircase, score: Floats) -> Staircase:
    """Return steps that are cut elsewhere in their gaps."""
    return Staircase(
        stairs.offsets,
        score=score,
        lower=stairs.lower,
        tp=stairs.tp,
        fp=stairs.fp,
        higher=stairs.higher,
        positives=stairs.positives,
    )


def _with_cuts(
    stairs: Staircase, problem: Problem, items: Items, at: Floats, wanted: Booleans
) -> Staircase:
    """Add a cut at a score of each label that is wanted."""
    counts = count_at(problem, items, at)
    tp = counts.tp_above + counts.tp_tied
    predicted = counts.above + counts.tied
    # The lower end of the gap is not needed: just above it, the score stands for the whole gap.
    # A label without a known row has nothing to predict.
    added = np.flatnonzero(wanted & ((predicted > 0) | (stairs.positives > 0)))
    label = np.concatenate([stairs.label, added])
    score = np.concatenate([stairs.score, at[added]])
    order = np.lexsort((-score, label))
    columns = {
        "score": score,
        "lower": np.concatenate([stairs.lower, np.full(added.size, np.nan)]),
        "tp": np.concatenate([stairs.tp, tp[added]]),
        "fp": np.concatenate([stairs.fp, (predicted - tp)[added]]),
        "higher": np.concatenate([stairs.higher, counts.above[added]]),
    }
    offsets = np.append(0, np.bincount(label, minlength=wanted.size).cumsum())
    return Staircase(
        offsets,
        **{name: values[order] for name, values in columns.items()},
        positives=stairs.positives,
    )
