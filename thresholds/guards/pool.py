"""The guard "pool": a threshold for each label, drawn towards one that all labels share, for micro F-beta.

At the highest micro-F a label is to be predicted while that gains more tp a prediction than r =
F / (1 + B), B = beta^2 (`best_joint_steps` in `_engine/choosing.py`). So for each label j and each cut

    G_j(cut) = tp_j(cut) - r predicted_j(cut)

is what the label itself says. What all labels say of one cut is the sum of these, a positive's
share of it G(cut) = sum over j of G_j(cut) / P, P positives in all. With a strength kappa, worth
so many positives, and a sharpness lambda

    q_j(cut) ~ width(cut) exp(lambda (G_j(cut) + kappa G(cut)))
    u_j = sum over cuts of q_j(cut) u(cut),    u = ln of the cells of all labels at or above the cut

and the label's threshold is the score at u_j. kappa = 0 leaves each label to itself, a large kappa
gives all the cut that suits them together. Cuts are the scores of positives, of all labels, one in
each twelfth of an octave of cells; the width of a cut is its share of the range of u. So the order
of scores says between which cuts a threshold lies, and their scale only where between them.

kappa and lambda are not set but found, by leaving out each row of a label in turn. Without a
positive q_j is exp(-lambda (1 - r)) times as high at its score and below, without a negative
exp(lambda r) times; u_j follows from sums of q_j, and with it the decision on the row that was left
out. (r and G keep it, as one row of all labels' many.) So for every pair of kappa and lambda it is
known what is reached on rows that the label's own evidence has not seen:

    F = (1 + B) tp / (B P + predicted),    weight ~ exp((1 + B) tp - F_best (B P + predicted))

The u_j of all pairs are averaged with these weights, and r is that of their mean F; three rounds,
the first with the r of the best single cut.

The q_j are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower
bounds for statistical estimation". Labels that share what they know, with a strength read off
the data: empirical Bayes, Efron 2010, "Large-Scale Inference", chapter 1; partial pooling, Gelman
and Hill 2007, "Data Analysis Using Regression and Multilevel/Hierarchical Models", section 12.2. To
choose by rows left out: Stone 1974, "Cross-validatory choice and assessment of statistical
predictions".
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.dtypes import rounded_up, threshold_dtype
from thresholds._arrays.types import AnyFloats, Booleans, Dense, Floats, Ints
from thresholds._engine.histograms import Histograms
from thresholds._engine.placement import next_above
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds._kernels.guards import counts_at_cuts, left_out_groups, pooled_depths
from thresholds.guards.base import (
    NO_POSITIVES,
    POOLED,
    UNMOVED,
    BaseGuard,
    GuardedCuts,
    GuardInput,
    placed,
)
from thresholds.guards.cuts import count_at, representable, rows_per_unit_of
from thresholds.guards.groups import GroupRuns

# kappa, in positives: at most as many as there are
_STRENGTHS = (0.0, 2.5, 10.0, 40.0, 160.0, 640.0)
_N_SHARPNESSES = 5  # lambda: 1, 2, 4, 8, 16
_ROUNDS = 3  # for r
_CUTS_PER_OCTAVE = 12
_MOST_POSITIVES = 1024  # whose scores are tried as cuts
_LABELS_PER_BLOCK = 256  # whatever the number of threads, so that sums do not depend on it
_LABELS_PER_BLOCK_OF_GROUPS = 2  # One takes longer: an interrupt is heard between blocks.


@dataclass(frozen=True, slots=True)
class Pool(BaseGuard):
    """The guard "pool": each label's threshold is drawn towards one that all labels share.

    It is for micro F. How far they are drawn is found by leaving rows out: nearly all the way where
    the labels' positives are few, hardly at all where scores cannot be compared over labels, or
    where each label has enough positives to say for itself.
    """

    name: ClassVar[str] = "pool"
    averages: ClassVar[tuple[str, ...]] = ("micro",)

    def cuts(self, given: GuardInput) -> GuardedCuts:
        """Pool the thresholds of all labels; no limits are offered for micro F."""
        found, problem, alike = given.histograms, given.problem, given.alike
        rows_per_unit = rows_per_unit_of(problem)
        if alike is not None:
            rows_per_unit /= alike.in_all()
        cuts = _cuts(found, problem, rows_per_unit)
        if not cuts.size:  # No positive has a score to cut at: there is nothing to learn.
            return placed(given.optimum, problem, given.options, UNMOVED)

        # What each label counts at the cuts, where that puts its threshold, what this predicts.
        counts = _counts(found, cuts, rows_per_unit)
        depth = _depths(counts)
        positives = given.optimum.positives * np.float64(rows_per_unit)  # (n_labels,)
        runs = None
        if alike is not None:
            runs = GroupRuns.from_cells(problem, alike.groups, cuts, rows_per_unit)
        u = _pooled(counts, depth, positives.sum(), given.options, runs)
        thresholds = _scores_at(u, depth, cuts, problem)
        return _decided(found, problem, thresholds, given.optimum.positives)


def _cuts(found: Histograms, problem: Problem, rows_per_unit: float) -> Floats:
    """Return the scores to cut at (n_cuts,), from the highest down: those of positives."""
    # 1. The lowest score in each 1,024th of the positives. What is `missing` is one tie group of many cells, of which
    #    the sample says nothing.
    allowed = found.hits > 0  # (n_bins,)
    if problem.keep_sparse:
        allowed &= found.lowest > problem.missing
    else:
        allowed &= (found.lowest > -np.inf) & (found.lowest != problem.missing)
    score, hits = found.lowest[allowed].astype(np.float64), found.hits[allowed]
    order = np.argsort(-score, kind="stable")
    tp = hits[order].cumsum()
    score = score[order]
    if not score.size:
        return score
    is_last = _is_last(score)
    score, tp = score[is_last], tp[is_last]
    tried = score[_is_last(np.ceil(tp / float(tp[-1]) * _MOST_POSITIVES))]

    # 2. The lowest in each twelfth of an octave of what all labels predict.
    tp_of_all, predicted = np.zeros((2, 1, tried.size))
    _at_cuts(found, tried, tp_of_all, predicted)
    rows = np.maximum(predicted[0] * rows_per_unit, 1)
    return np.asarray(tried[_is_last(np.floor(np.log2(rows) * _CUTS_PER_OCTAVE))])


def _at_cuts(found: Histograms, cuts: Floats, tp: AnyFloats, predicted: AnyFloats) -> None:
    """Add what labels have at or above cuts that fall to `tp` and `predicted`, (n_labels or 1, n_cuts)."""
    columns = found.lowest, found.highest, found.hits, found.weights
    counts_at_cuts(found.offsets, *columns, cuts, tp, predicted)


def _counts(found: Histograms, cuts: Floats, rows_per_unit: float) -> AnyFloats:
    """Count each label's tp and predictions in rows, (2, n_labels, 1 + n_cuts); the first cut is never."""
    with_never = np.append(np.inf, cuts)
    counts = np.empty((2, found.n_labels, with_never.size), np.float32)
    for labels in found.blocks_of_labels():
        own = np.zeros((2, labels.stop - labels.start, with_never.size))
        _at_cuts(found.of_labels(labels), with_never, *own)
        counts[:, labels] = own * rows_per_unit
    return counts


def _decided(
    found: Histograms, problem: Problem, thresholds: Floats, positives: Ints
) -> GuardedCuts:
    """Count what thresholds predict; one that lies in a bin goes to the nearer end of it."""
    counts = count_at(found, thresholds)
    lowest, highest = (
        np.append(edge, np.nan)[counts.bin].astype(np.float64)
        for edge in (found.lowest, found.highest)
    )
    is_inside = (counts.tied > 0) & (lowest < highest)
    is_left_out = is_inside & (thresholds > lowest / 2 + highest / 2)
    dtype = threshold_dtype(problem.scores.dtype)
    above = next_above(highest, dtype)
    kept = rounded_up(np.where(is_inside, lowest, thresholds), dtype)
    thresholds = np.where(is_left_out, above, kept)
    return GuardedCuts(
        thresholds,
        counts.tp_above + np.where(is_left_out, 0, counts.tp_tied),
        counts.above + np.where(is_left_out, 0, counts.tied),
        np.where(positives > 0, POOLED, NO_POSITIVES),
    )


def _is_last(places: Dense) -> Booleans:
    """Return which is the last of those at one place; places are in order."""
    return np.append(places[1:] != places[:-1], True)


def _depths(counts: AnyFloats) -> Floats:
    """Return u of each cut (1 + n_cuts,): ln of the cells that all labels have there, of never ln 1/2."""
    predicted = counts[1].sum(axis=0, dtype=np.float64)
    depth = np.log(np.maximum(predicted, 1))
    depth[0] = np.log(0.5)
    return np.asarray(depth)


def _pooled(
    counts: AnyFloats,
    depth: Floats,
    positives: float,
    options: SearchOptions,
    runs: GroupRuns | None,
) -> Floats:
    """Return u of each label's threshold, (n_labels,); `runs` are those of groups, which are left out as a whole."""
    beta2 = options.beta**2
    strengths = np.unique(np.minimum(_STRENGTHS, positives))
    beta2_positives = beta2 * positives
    tp, predicted = counts.sum(axis=1, dtype=np.float64)  # (1 + n_cuts,) each, of all labels
    width = np.gradient(depth)
    n_at_once = _LABELS_PER_BLOCK if runs is None else _LABELS_PER_BLOCK_OF_GROUPS
    blocks = list(in_pieces(slice(0, counts.shape[1]), n_at_once))

    ratio = (tp / (beta2_positives + predicted)).max()
    for _ in range(_ROUNDS):
        # Each pair of strength and sharpness: every label's u, and what is reached on rows left out.
        prior = strengths[:, np.newaxis] * (tp - ratio * predicted) / positives
        leave_out = partial(_leave_out, counts, (depth, width, prior, float(ratio)), runs)
        parts = threads.run(leave_out, blocks, n_jobs=options.n_jobs, cells=counts.size)
        left_out = np.sum([part for _, part in parts], axis=0)  # (2, n_pairs) tp and predicted

        # What F is a fraction of, and how far each pair is below the best.
        numerator = (1 + beta2) * left_out[0]
        denominator = beta2_positives + left_out[1]
        f = numerator / denominator  # (n_pairs,)
        weights = np.exp(numerator - f.max() * denominator)
        weights /= weights.sum()
        ratio = (weights * f).sum() / (1 + beta2)
    u = np.concatenate([part for part, _ in parts])  # (n_labels, n_pairs)
    return np.asarray((u * weights).sum(axis=1))


def _leave_out(
    counts: AnyFloats,
    of_all_labels: tuple[Floats, Floats, Floats, float],
    runs: GroupRuns | None,
    labels: slice,
) -> tuple[Floats, Floats]:
    """Return u of some labels, and what is reached on rows that are left out; groups, if there are any."""
    tp, predicted = counts[:, labels]
    given = tp, predicted, *of_all_labels, _N_SHARPNESSES
    u, left_out = pooled_depths(*given)
    return u, left_out if runs is None else left_out_groups(*given, *runs.of_labels(labels))


def _scores_at(u: Floats, depth: Floats, cuts: Floats, problem: Problem) -> Floats:
    """Return the score at each u, linear between cuts, in the dtype of the scores."""
    place = np.interp(u, depth[1:], np.arange(cuts.size))  # (n_labels,)
    before = np.floor(place).astype(np.int64)
    upper = cuts[before]
    lower = cuts[np.minimum(before + 1, cuts.size - 1)]
    share = place - before
    score = np.clip((1 - share) * upper + share * lower, lower, upper)  # no difference overflows
    return representable(score, upper, threshold_dtype(problem.scores.dtype))
