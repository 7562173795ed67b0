"""The guard "pool": a threshold for each label, drawn towards one that all labels share, for micro F-beta.

At the highest micro-F a label is to be predicted while that gains more tp a prediction than r =
F / (1 + B), B = beta^2 (`search/joint_micro.py`). So for each label j and each cut

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

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from thresholds._arrays import threads
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.dtypes import threshold_dtype
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import AnyFloats, Booleans, Dense, Floats, Ints, Keys
from thresholds._checks import Placement
from thresholds._engine.best_cuts import best_joint_cuts
from thresholds._engine.cuts import Cuts
from thresholds._kernels.guards import left_out_groups, pooled_depths
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles
from thresholds.guards.base import (
    NO_POSITIVES,
    POOLED,
    UNMOVED,
    BaseGuard,
    GuardedCuts,
    GuardedFit,
    joined,
)
from thresholds.guards.cuts import representable, rows_per_unit_of
from thresholds.guards.groups import Runs, groups_of, rows_alike
from thresholds.guards.limits import Limits
from thresholds.search.ranks import count_at
from thresholds.search.staircase import best_of_counts

Result = TypeVar("Result")

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

    def fit(
        self,
        problem: Problem,
        limits: Limits,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
        progress: bool,
    ) -> GuardedFit:
        """Pool the thresholds of all labels; no limits are offered for micro F."""
        run: Any = {"n_jobs": n_jobs, "progress": progress}
        if problem.is_counted:
            optimum = best_of_counts(problem, beta, jointly=True, **run)
        else:
            optimum = best_joint_cuts(problem, beta, **run)

        # Rows that are alike count for less.
        steps = _Steps.over(problem, n_jobs, progress)
        groups = groups_of(problem)
        if groups is not None:
            alike = rows_alike(problem, groups, optimum, beta).in_all()
            steps = replace(steps, rows_per_unit=steps.rows_per_unit / alike)
        cuts = steps.cuts()
        if not cuts.size:  # No positive has a score to cut at: there is nothing to learn.
            return GuardedFit(_as_they_are(optimum, problem, placement), optimum)

        # What each label counts at the cuts, where that puts its threshold, what this predicts.
        counts = steps.counts(cuts)
        depth = _depths(counts)
        positives = optimum.positives * np.float64(steps.rows_per_unit)  # (n_labels,)
        runs = None if groups is None else Runs.of(problem, groups, cuts, steps.rows_per_unit)
        u = _pooled(counts, depth, positives.sum(), beta, n_jobs, runs)
        thresholds = _scores_at(u, depth, to_scores(cuts).astype(np.float64), problem)
        return GuardedFit(steps.decided(thresholds, optimum.positives), optimum)


@dataclass(frozen=True)
class _Steps:
    """The steps of the fit that go over all cells, a tile of labels at a time."""

    problem: Problem
    rows_per_unit: float
    n_jobs: int | None
    progress: bool
    items_of: Callable[[int, int], Items]

    @classmethod
    def over(cls, problem: Problem, n_jobs: int | None, progress: bool) -> "_Steps":
        """Take the cells of a problem."""
        # Taking a sparse matrix apart by label costs as much as fitting: once.
        items_of = cache(problem.label_items) if is_sparse(problem.scores) else problem.label_items
        return cls(problem, rows_per_unit_of(problem), n_jobs, progress, items_of)

    def cuts(self) -> Keys:
        """Return the keys to cut at (n_cuts,), from the highest down: scores of positives."""
        tried = self._tried()
        if not tried.size:
            return tried
        # The lowest in each twelfth of an octave of what all labels predict.
        predicted = sum(self._at_cuts(tried, lambda _, counts: counts[1].sum(axis=0)))  # (n_tried,)
        rows = np.maximum(predicted * self.rows_per_unit, 1)
        return np.asarray(tried[_is_last(np.floor(np.log2(rows) * _CUTS_PER_OCTAVE))])

    def counts(self, cuts: Keys) -> AnyFloats:
        """Count each label's tp and predictions in rows, (2, n_labels, 1 + n_cuts); the first cut is never."""
        counts = np.zeros((2, self.problem.n_labels, 1 + cuts.size), np.float32)

        def write(labels: slice, of_labels: Ints) -> None:
            counts[:, labels, 1:] = of_labels * self.rows_per_unit

        self._at_cuts(cuts, write)
        return counts

    def decided(self, thresholds: Floats, positives: Ints) -> GuardedCuts:
        """Count what the thresholds predict."""

        def count(first: int, last: int) -> GuardedCuts:
            own = thresholds[first:last]
            above, tp_above, tied, tp_tied = count_at(self.items_of(first, last), own)
            reason = np.where(positives[first:last] > 0, POOLED, NO_POSITIVES)
            return GuardedCuts(own, tp_above + tp_tied, above + tied, reason)

        return joined(self._over_tiles(count))

    def _tried(self) -> Keys:
        """Return scores of positives from the highest down: the lowest in each 1,024th of them."""
        parts = self._over_tiles(self._positives)
        keys, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if not keys.size:
            return keys
        if (weights == 1).all():
            keys.sort()
            tp = np.arange(1, keys.size + 1)
        else:
            order = np.argsort(keys)
            keys = keys[order]
            tp = weights[order][::-1].cumsum()
        falling = keys[::-1]  # (n_positives,)

        # Of equal keys the last has what all of them weigh.
        is_distinct = _is_last(falling)
        falling, tp = falling[is_distinct], tp[is_distinct]
        return np.asarray(falling[_is_last(np.ceil(tp / float(tp[-1]) * _MOST_POSITIVES))])

    def _positives(self, first: int, last: int) -> tuple[Keys, Ints]:
        """Return keys and weights of the positives of some labels whose scores may be cut at."""
        _, keys, weights, _ = self.items_of(first, last)
        masked, missing = to_keys(np.array([-np.inf, self.problem.missing], self.problem.dtype))
        # What is `missing` is one tie group of many cells, of which the sample says nothing.
        positive = np.flatnonzero(weights)
        keys, weights = keys[positive], weights[positive]
        allowed = (
            keys > missing if self.problem.keep_sparse else (keys > masked) & (keys != missing)
        )
        return keys[allowed], weights[allowed]

    def _at_cuts(self, cuts: Keys, function: Callable[[slice, Ints], Result]) -> list[Result]:
        """Apply `function` to each tile's labels, and their tp and weight at each cut, (2, n_labels, n_cuts)."""
        rising = np.ascontiguousarray(cuts[::-1])

        def count(first: int, last: int) -> Result:
            counts = self.items_of(first, last).counts_at_cuts(rising)
            return function(slice(first, last), counts[..., ::-1])

        return self._over_tiles(count)

    def _over_tiles(self, function: Callable[[int, int], Result]) -> list[Result]:
        """Apply `function` to the first and last label of each tile."""
        return map_tiles(self.problem, function, n_jobs=self.n_jobs, progress=self.progress)


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
    beta: float,
    n_jobs: int | None,
    runs: Runs | None,
) -> Floats:
    """Return u of each label's threshold, (n_labels,); `runs` are those of groups, which are left out as a whole."""
    strengths = np.unique(np.minimum(_STRENGTHS, positives))
    beta2_positives = beta**2 * positives
    tp, predicted = counts.sum(axis=1, dtype=np.float64)  # (1 + n_cuts,) each, of all labels
    width = np.gradient(depth)
    n_at_once = _LABELS_PER_BLOCK if runs is None else _LABELS_PER_BLOCK_OF_GROUPS
    blocks = list(in_pieces(slice(0, counts.shape[1]), n_at_once))

    ratio = (tp / (beta2_positives + predicted)).max()
    for _ in range(_ROUNDS):
        # Each pair of strength and sharpness: every label's u, and what is reached on rows left out.
        prior = strengths[:, np.newaxis] * (tp - ratio * predicted) / positives
        read = partial(_read_block, counts, depth, width, prior, ratio, runs)
        parts = threads.run(read, blocks, n_jobs=n_jobs, cells=counts.size)
        left_out = np.sum([part for _, part in parts], axis=0)  # (2, n_pairs) tp and predicted

        # What F is a fraction of, and how far each pair is below the best.
        numerator = (1 + beta**2) * left_out[0]
        denominator = beta2_positives + left_out[1]
        f = numerator / denominator  # (n_pairs,)
        weights = np.exp(numerator - f.max() * denominator)
        weights /= weights.sum()
        ratio = (weights * f).sum() / (1 + beta**2)
    u = np.concatenate([part for part, _ in parts])  # (n_labels, n_pairs)
    return np.asarray((u * weights).sum(axis=1))


def _read_block(
    counts: AnyFloats,
    depth: Floats,
    width: Floats,
    prior: Floats,
    ratio: float,
    runs: Runs | None,
    labels: slice,
) -> tuple[Floats, Floats]:
    """Read some labels; leave out groups in place of rows, if there are any."""
    tp, predicted = counts[:, labels]
    given = tp, predicted, depth, width, prior, float(ratio), _N_SHARPNESSES
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


def _as_they_are(cuts: Cuts, problem: Problem, placement: Placement) -> GuardedCuts:
    """Return cuts that are not moved."""
    unmoved = np.full(cuts.tp.size, UNMOVED)
    return GuardedCuts(cuts.placed(problem, placement), cuts.tp, cuts.predicted, unmoved)
