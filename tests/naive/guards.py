"""Guards and limits from their definitions, the witness of `thresholds.guards`; nothing comes from the library.

Slow and obvious: every curve is read off cumulated sums, level by level, in float64; ranks are laid out exactly. A
row of weight w counts as w rows; a row of weight 0 is absent. Scores are dense; a sparse matrix is filled with
`missing` by the caller.

The guard "shrink" moves each label's cut to a rank between those that its own F, the F of labels of similar frequency
and the F that pooled probabilities promise would choose; "pool", for micro F, draws it towards one cut of all labels,
and leaves out rows one by one to find how far. Rows of a group count for less, and are left out together. Limits
follow below.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tests.naive import exhaustive as naive
from tests.naive.exhaustive import NEVER, Array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RATIOS = 2.0 ** (np.arange(-48, 73) / 12)  # predicted per positive
PRIOR_WEIGHT = 20.0
BANDWIDTH = 0.7  # in ln of the positives
LEAST = 1e-6  # of the distance of a probability from 0 and from 1
CELLS_SHIFT = 18  # bits of a float32 that a bin does not distinguish
HALF = 126 << 5  # the bin of .5


def row_weights(sample_weight: Array | None, n_samples: int) -> list[Fraction]:
    """Ones without weights; whole numbers as they are; others with mean 1 over the rows that have one."""
    weights = naive.exact_weights(sample_weight, n_samples)
    if all(weight.denominator == 1 for weight in weights):
        return weights
    one = sum(weights) / sum(w > 0 for w in weights)
    return [weight / one for weight in weights]


@dataclass(frozen=True)
class Cells:
    """Rows that have weight: truth and scores (n, m), -0.0 as 0.0, and weights (n,)."""

    truth: Floats
    scores: Floats
    exact_weights: list[Fraction]
    dtype: np.dtype[np.floating]  # of the thresholds

    @classmethod
    def of(cls, y_true: Array, y_score: Array, sample_weight: Array | None = None) -> "Cells":
        """Leave out rows of weight 0."""
        weights = row_weights(sample_weight, len(y_true))
        used = np.array([weight > 0 for weight in weights])
        scores = np.asarray(y_score).astype(np.float64)[used] + 0.0
        truth = np.asarray(y_true).astype(np.float64)[used]
        return cls(
            truth,
            scores,
            [weight for weight in weights if weight > 0],
            naive.threshold_dtype(np.asarray(y_score).dtype),
        )

    @cached_property
    def weights(self) -> Floats:
        """Weights of the rows."""
        return np.array([float(weight) for weight in self.exact_weights])

    @cached_property
    def positives(self) -> Floats:
        """Weight of each label's positives."""
        return self.weights @ self.truth

    def at(self, rows: Array) -> "Cells":
        """Some of the rows."""
        kept = [weight for weight, is_kept in zip(self.exact_weights, rows.tolist(), strict=True) if is_kept]
        return replace(self, truth=self.truth[rows], scores=self.scores[rows], exact_weights=kept)

    def where(self, alike: float) -> "Cells":
        """The same where so many rows are worth one."""
        return replace(self, exact_weights=[weight / Fraction(alike) for weight in self.exact_weights])


# Rows of groups


def squares(cells: Cells, groups: Array, optimum: Array, beta: float) -> tuple[Floats, Floats]:
    """Sums of squares by label, of what groups do to F and of what rows do, at the best cuts in the sample."""
    b = beta**2
    of_groups, of_rows = np.zeros((2, cells.truth.shape[1]))
    for j, threshold in enumerate(optimum):
        f = float(f_of(cells, j, threshold, beta))
        decided = cells.scores[:, j] >= threshold
        psi = (1 + b) * cells.truth[:, j] * decided - f * (b * cells.truth[:, j] + decided)
        moved = cells.weights * psi
        of_rows[j] = (moved**2).sum()
        of_groups[j] = sum(moved[groups == group].sum() ** 2 for group in set(groups.tolist()))
    return of_groups, of_rows


def alike_in_all(of_groups: Floats, of_rows: Floats) -> float:
    """How many rows are worth one, of all labels together."""
    return max(1.0, float(of_groups.sum() / of_rows.sum())) if of_rows.sum() > 0 else 1.0


def alike_in_label(of_groups: Floats, of_rows: Floats, j: int, positives: float) -> float:
    """The same of one label: half way, in ratio, to all; no more than there are positives."""
    own = max(1.0, of_groups[j] / of_rows[j]) if of_rows[j] > 0 else 1.0
    return min(math.sqrt(own * alike_in_all(of_groups, of_rows)), max(positives, 1.0))


def groups_of(groups: Array | None, sample_weight: Array | None) -> Array | None:
    """The groups of the rows that have weight; None where each stands alone."""
    if groups is None:
        return None
    used = np.asarray(groups)[np.ones(len(groups), bool) if sample_weight is None else np.asarray(sample_weight) > 0]
    return used if len(set(used.tolist())) < len(used) else None


# Curves over the c highest cells of a label


def cumulated(order: Array, amounts: Array) -> Floats:
    """Sums of the cells at or above each distinct value of `order`, from the highest down; 0 first."""
    levels = np.unique(order)[::-1]
    return np.array([0.0] + [amounts[order >= level].sum() for level in levels])


def among_the_highest(c: Array, order: Array, amounts: Array, weights: Array) -> Floats:
    """Amount among the cells of the highest `order` that weigh c, spread evenly over cells of equal order."""
    return np.interp(c, cumulated(order, weights), cumulated(order, amounts))


def own_f(cells: Cells, j: int, b: float) -> Floats:
    """F of a label at each ratio of predicted to positive: (1 + B) TP(c) / (B a + rho a), c = min(rho a, n)."""
    a, n = cells.positives[j], cells.weights.sum()
    tp = among_the_highest(
        np.minimum(RATIOS * a, n), cells.scores[:, j], cells.weights * cells.truth[:, j], cells.weights
    )
    return (1 + b) * tp / (b * a + RATIOS * a)


def expected_f(cells: Cells, j: int, b: float, p: Floats, order: Ints) -> Floats:
    """F that probabilities promise at each ratio: (1 + B) P(c) / (B sum of p + c)."""
    a, n = cells.positives[j], cells.weights.sum()
    c, amounts = np.minimum(RATIOS * a, n), cells.weights * p[:, j]
    return (1 + b) * among_the_highest(c, order[:, j], amounts, cells.weights) / (b * amounts.sum() + c)


# One logistic curve for all cells


def as_float32(scores: Array) -> Floats:
    """What float32 keeps of scores; those beyond its range become its largest number."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(scores, -largest, largest).astype(np.float32).astype(np.float64)


def float32_bins(values: Floats) -> tuple[Ints, Floats]:
    """Bin of the size of each value by the first bits of its float32, and the middle of the bin."""
    size = np.minimum(np.abs(values), np.finfo(np.float32).max).astype(np.float32)
    index = (size.view(np.uint32) >> CELLS_SHIFT).astype(np.int64)
    middle = ((index << CELLS_SHIFT) + (1 << (CELLS_SHIFT - 1))).astype(np.uint32).view(np.float32)
    return index, middle.astype(np.float64)


def bins_of_probabilities(scores: Floats) -> tuple[Ints, Floats]:
    """Bin of each probability, in order, and its log odds: fine bins near 0 and near 1."""
    upper = scores > 0.5
    index, middle = float32_bins(np.maximum(np.minimum(scores, 1 - scores), LEAST))
    middle = np.minimum(middle, 0.5)
    log_odds = np.log(middle / (1 - middle))
    return np.where(upper, 2 * HALF + 1 - index, index), np.where(upper, -log_odds, log_odds)


def bins_of_margins(scores: Floats) -> tuple[Ints, Floats]:
    """Bin of each real score, in order, and the score at its middle."""
    index, middle = float32_bins(scores)
    return np.where(scores < 0, -1 - index, index), np.where(scores < 0, -middle, middle)


def logistic(x: Floats, positives: Floats, negatives: Floats) -> tuple[float, Callable[[Floats], Floats]]:
    """Slope, and curve, of least log-loss against Platt's targets (P + 1)/(P + 2) and 1/(N + 2)."""
    high, low = (positives.sum() + 1) / (positives.sum() + 2), 1 / (negatives.sum() + 2)
    weight, yes = positives + negatives, positives * high + negatives * low
    centre = np.average(x, weights=weight)
    spread = math.sqrt(np.average((x - centre) ** 2, weights=weight))
    if np.ptp(x) == 0:
        return 0.0, lambda values: np.full(values.shape, yes.sum() / weight.sum())
    z = (x - centre) / spread
    columns = np.stack([z, np.ones(z.size)], axis=1)

    def loss(at: Floats) -> float:
        return float(np.sum(weight * np.logaddexp(0, columns @ at) - yes * (columns @ at)))

    at = np.array([0.0, math.log(yes.sum() / (weight.sum() - yes.sum()))])
    for _ in range(200):
        p = sigmoid(columns @ at)
        slope, curvature = columns.T @ (weight * p - yes), (columns.T * (weight * p * (1 - p))) @ columns
        step, size = np.linalg.solve(curvature, -slope), 1.0
        # Next to the minimum, where losses differ by rounding alone, whole steps converge.
        while np.abs(step).max() > 1e-6 and loss(at + size * step) > loss(at):
            size /= 2
        at = at + size * step
        if np.abs(step).max() < 1e-13:
            break
    return float(at[0]), lambda values: sigmoid(at[0] * (values - centre) / spread + at[1])


def sigmoid(z: Floats) -> Floats:
    """1 / (1 + exp(-z))."""
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, small) / (1 + small)


@dataclass(frozen=True)
class Pooled:
    """Which cells lie where, and the logistic curve of those that are neither absent nor masked."""

    masked: NDArray[np.bool_]  # score -inf
    absent: NDArray[np.bool_]  # score `missing`
    index: Ints  # bin
    x: Floats  # value of the bin
    slope: float
    curve: Callable[[Floats], Floats]


def pooled_curve(cells: Cells, missing: float) -> Pooled | None:
    """One logistic curve of truth on bins of scores, for all labels; None without positives or without negatives."""
    masked = np.isneginf(cells.scores)
    scores = as_float32(np.where(masked, 0.0, cells.scores))
    absent = (scores == as_float32(np.array(missing))) & ~masked
    others = ~absent & ~masked
    weights = np.broadcast_to(cells.weights[:, np.newaxis], cells.scores.shape)
    if not (cells.truth[others].any() and (1 - cells.truth[others]).any()):
        return None
    shares = bool(((cells.scores[others] >= 0) & (cells.scores[others] <= 1)).all())
    index, x = (bins_of_probabilities if shares else bins_of_margins)(scores)
    bins = [others & (index == k) for k in np.unique(index[others])]
    hits, misses = weights * cells.truth, weights * (1 - cells.truth)
    positives = np.array([hits[within].sum() for within in bins])
    negatives = np.array([misses[within].sum() for within in bins])
    slope, curve = logistic(np.array([x[within][0] for within in bins]), positives, negatives)
    return Pooled(masked, absent, index, x, slope, curve)


def pooled_probabilities(cells: Cells, missing: float) -> tuple[Floats, Ints] | None:
    """A probability for each cell and its place in order; None where a curve would not rise.

    Cells at `missing` are a group of their own, below the others of their bin; cells at -inf are impossible.
    """
    pooled = pooled_curve(cells, missing)
    if pooled is None or pooled.slope <= 0:
        return None
    weights = np.broadcast_to(cells.weights[:, np.newaxis], cells.scores.shape)[pooled.absent]
    p = pooled.curve(pooled.x)
    p[pooled.absent] = ((weights * cells.truth[pooled.absent]).sum() + 0.5) / (weights.sum() + 1)
    p[pooled.masked] = 0.0
    order = 2 * pooled.index + np.where(pooled.absent, 0, 1)
    order[pooled.masked] = np.iinfo(np.int64).min
    return p, order


# The guard


def siblings_f(own: dict[int, Floats], positives: Floats, j: int) -> Floats:
    """Mean of the labels' curves, the more like label j in ln of the positives the heavier."""
    distance = {i: (math.log(positives[i]) - math.log(positives[j])) / BANDWIDTH for i in own}
    total = sum(math.exp(-0.5 * d**2) for d in distance.values())
    return np.sum([math.exp(-0.5 * d**2) / total * own[i] for i, d in distance.items()], axis=0)


def chosen_rank(own: Floats, prior: Floats | float, a: float) -> float:
    """1 + a exp(mean of ln rho), the mean under q proportional to exp(a F + 20 prior)."""
    exponent = a * own + PRIOR_WEIGHT * prior
    q = np.exp(exponent - exponent.max())
    return float(1 + a * math.exp(np.sum(q / q.sum() * np.log(RATIOS))))


def ranks(
    cells: Cells,
    beta: float = 1.0,
    missing: float = 0.0,
    siblings: bool = True,
    probabilities: bool = True,
    alike: Sequence[float] | None = None,
    in_all: float = 1.0,
) -> list[float]:
    """The rank at which the guard cuts each label, before it is held within the data; NaN without positives."""
    b, a = beta**2, cells.positives if alike is None else cells.positives / alike
    own = {j: own_f(cells, j, b) for j in np.flatnonzero(a > 0)}
    pooled = pooled_probabilities(cells.where(in_all), missing) if probabilities else None
    chosen = [math.nan] * a.size
    for j in own:
        prior = [siblings_f(own, a, j)] if siblings else []
        if pooled is not None:
            prior.append(expected_f(cells, j, b, *pooled))
        chosen[j] = chosen_rank(own[j], np.mean(prior, axis=0) if prior else 0.0, a[j])
    return chosen


def score_at(rank: float | Fraction, items: list[tuple[float, Fraction]]) -> float:
    """The score of the item that holds a rank: items are laid end to end from the top, each as long as its weight."""
    end = Fraction(0)
    for score, weight in sorted(items, reverse=True):
        end += weight
        if end >= rank:
            return score
    return -math.inf


def threshold_at(
    rank: float, scores: Floats, weights: list[Fraction], dtype: np.dtype[np.floating], missing: float = 0.0
) -> float:
    """The threshold of a rank: linear between neighbouring scores; a tie group that would predict far more is out."""
    items = [(float(score), weight) for score, weight in zip(scores, weights, strict=True) if score > -math.inf]
    if not items:
        return NEVER
    held = min(Fraction(max(rank, 1.0)), sum(weight for _, weight in items))
    whole = math.floor(held)
    above, below = score_at(whole, items), score_at(whole + 1, items)
    t = above
    if -math.inf < below - above < 0:  # A gap that float64 does not hold is not crossed.
        t = min(rounded_up(above + float(held - whole) * (below - above), dtype), above)
    t = min(not_subnormal(t, dtype), above)
    at_least = sum(weight for score, weight in items if score >= t)
    more = sum(weight for score, weight in items if score > t)
    if at_least * max(more, 1) > max(held, 1) ** 2 or (t == missing and at_least - more > 1):
        return next_above(t, dtype)
    return t


def rounded_up(value: float, dtype: np.dtype[np.floating]) -> float:
    """The least number of the dtype that is not below the value."""
    with np.errstate(over="ignore"):
        rounded = dtype.type(value)
        return float(np.nextafter(rounded, dtype.type(np.inf)) if float(rounded) < value else rounded)


def next_above(value: float, dtype: np.dtype[np.floating]) -> float:
    """The next number of the dtype that is not subnormal."""
    with np.errstate(over="ignore"):
        return not_subnormal(float(np.nextafter(dtype.type(value), dtype.type(np.inf))), dtype)


def not_subnormal(value: float, dtype: np.dtype[np.floating]) -> float:
    """A subnormal raised to 0, or to the smallest normal number: some runtimes flush subnormals to 0."""
    tiny = float(np.finfo(dtype).smallest_normal)
    if abs(value) >= tiny:
        return value
    return tiny if value > 0 else 0.0


def shrink(
    y_true: Array,
    y_score: Array,
    *,
    beta: float = 1.0,
    sample_weight: Array | None = None,
    missing: float = 0.0,
    siblings: bool = True,
    probabilities: bool = True,
    unsupported: str = "above_max",
    keep_sparse: bool = False,
    average: str = "macro",
    groups: Array | None = None,
    optimum: Array | None = None,
) -> list[float]:
    """The thresholds of the guard "shrink"; with groups it takes those of the optimum in the sample."""
    cells = Cells.of(y_true, y_score, sample_weight)
    groups = groups_of(groups, sample_weight)
    alike, in_all = [1.0] * cells.truth.shape[1], 1.0
    if groups is not None and optimum is not None:
        sums = squares(cells, groups, optimum, beta)
        alike = [alike_in_label(*sums, j, cells.positives[j]) for j in range(len(alike))]
        in_all = alike_in_all(*sums)
    thresholds = []
    for j, rank in enumerate(ranks(cells, beta, missing, siblings, probabilities, alike, in_all)):
        scores = cells.scores[:, j]
        if not math.isnan(rank):
            t = threshold_at(rank, scores, cells.where(alike[j]).exact_weights, cells.dtype, missing)
        elif unsupported == "never" or scores.max() == -math.inf:
            t = NEVER
        else:
            t = next_above(scores.max(), cells.dtype)
        thresholds.append(max(t, next_above(missing, cells.dtype)) if keep_sparse else t)
    always = [-math.inf] * len(thresholds)
    if mean_f(cells, thresholds, beta, average) >= mean_f(cells, always, beta, average):
        return thresholds
    for j, t in enumerate(thresholds):
        lowest = lowest_cut(cells, j, missing, keep_sparse)
        if f_of(cells, j, lowest, beta) > f_of(cells, j, t, beta):
            thresholds[j] = lowest
    return thresholds


def f_of(cells: Cells, j: int, threshold: float, beta: float) -> Fraction | float:
    """F of a label at a threshold; 0/0 is 0."""
    counts = naive.counts(cells.truth[:, j], cells.scores[:, j] >= threshold, cells.exact_weights)
    return naive.f_beta(*counts, beta, 0.0)


def mean_f(cells: Cells, thresholds: Sequence[float], beta: float, average: str) -> float:
    """Mean of the labels' F, or that weighted by their positives, but for a factor."""
    weights = cells.positives if average == "weighted" else np.ones(len(thresholds))
    f = np.array([float(f_of(cells, j, t, beta)) for j, t in enumerate(thresholds)])
    return float(weights @ f)


def lowest_cut(cells: Cells, j: int, missing: float, keep_sparse: bool) -> float:
    """The lowest score, so that all is predicted but masked cells; above `missing` where predictions are sparse.

    Never where no score but `missing` is left.
    """
    column = cells.scores[:, j]
    shown = column[column > (missing if keep_sparse else -math.inf)]
    return float(shown.min()) if (shown != missing).any() else NEVER


# The guard for micro F

STRENGTHS = (0.0, 2.5, 10.0, 40.0, 160.0, 640.0)
SHARPNESSES = (1.0, 2.0, 4.0, 8.0, 16.0)
ROUNDS = 3
MOST_POSITIVES = 1024
CUTS_PER_OCTAVE = 12


def cuts_of_positives(cells: Cells, missing: float = 0.0, keep_sparse: bool = False) -> list[float]:
    """Scores of positives from the highest down, at most 1,024, the lowest in each twelfth of an octave of cells."""
    lowest = missing if keep_sparse else -math.inf
    truth, weights = (
        cells.truth,
        np.broadcast_to(np.array(cells.exact_weights, object)[:, np.newaxis], cells.truth.shape),
    )
    is_one = (truth > 0) & (cells.scores > lowest) & (cells.scores != missing)
    total = sum(weights[is_one], Fraction(0))
    share = {}
    for score in sorted(set(cells.scores[is_one].tolist()), reverse=True):
        tp = sum(weights[is_one & (cells.scores >= score)], Fraction(0))
        share[math.ceil(MOST_POSITIVES * tp / total)] = score
    place = {}
    for score in sorted(set(share.values()), reverse=True):
        n_cells = max(float((cells.weights @ (cells.scores >= score)).sum()), 1.0)
        place[math.floor(CUTS_PER_OCTAVE * math.log2(n_cells))] = score
    return list(place.values())


def counts_at(cells: Cells, cuts: list[float]) -> tuple[Floats, Floats, Floats]:
    """True positives and predictions of each label at each cut, never first, and ln of the predictions of all."""
    levels = [math.inf, *cuts]
    predicted = np.array([cells.weights @ (cells.scores >= level) for level in levels]).T
    tp = np.array([cells.weights @ ((cells.scores >= level) * cells.truth) for level in levels]).T
    depth = np.log(np.maximum(predicted.sum(axis=0), 1))
    depth[0] = math.log(0.5)
    return tp, predicted, depth


def mean_depth(gain: Floats, depth: Floats, sharpness: float) -> float:
    """Mean of u under width exp(sharpness gain), the width being half the distance between the neighbours."""
    ends = np.concatenate([depth[:1], (depth[1:] + depth[:-1]) / 2, depth[-1:]])
    width = np.diff(ends)
    width[[0, -1]] *= 2
    q = width * np.exp(sharpness * (gain - gain.max()))
    return float(q @ depth / q.sum())


def decided_by_others(
    tp: Floats, predicted: Floats, prior: Floats, depth: Floats, ratio: float, sharpness: float
) -> tuple[float, float]:
    """True positives and predictions of a label whose rows are decided by the others, cell by cell between two cuts."""
    hits, decided = 0.0, 0.0
    for k in range(1, depth.size):
        below = np.arange(depth.size) >= k
        n_tp = tp[k] - tp[k - 1]
        n_fp = predicted[k] - predicted[k - 1] - n_tp
        for amount, truth in ((n_tp, 1), (n_fp, 0)):
            others = (tp - truth * below) - ratio * (predicted - below) + prior
            share = (mean_depth(others, depth, sharpness) - depth[k - 1]) / (depth[k] - depth[k - 1])
            decided += amount * min(max(share, 0.0), 1.0)
            hits += truth * amount * min(max(share, 0.0), 1.0)
    return hits, decided


def decided_by_other_groups(
    tp: Floats,
    predicted: Floats,
    own: Sequence[tuple[Floats, Floats]],
    prior: Floats,
    depth: Floats,
    ratio: float,
    sharpness: float,
) -> tuple[float, float]:
    """The same where each group is decided by the others; `own` has the tp and predictions of each."""
    hits, decided = 0.0, 0.0
    for own_tp, own_predicted in own:
        if not own_predicted.any():
            continue
        gain = (tp - own_tp) - ratio * (predicted - own_predicted)
        u = mean_depth(gain + prior, depth, sharpness)
        for k in range(1, depth.size):
            n_tp, n = own_tp[k] - own_tp[k - 1], own_predicted[k] - own_predicted[k - 1]
            if n > 0:
                share = min(max((u - depth[k - 1]) / (depth[k] - depth[k - 1]), 0.0), 1.0)
                hits += n_tp * share
                decided += n * share
    return hits, decided


def pooled_depths(
    tp: Floats,
    predicted: Floats,
    depth: Floats,
    positives: float,
    b: float,
    own: Sequence[tuple[Floats, Floats]] | None = None,
) -> Floats:
    """The u of each label: the mean over strengths and sharpnesses, by what they reach on rows, or groups, left out."""
    labels, total_tp, total_predicted = range(len(tp)), tp.sum(axis=0), predicted.sum(axis=0)
    ratio = float((total_tp / (b * positives + total_predicted)).max())
    for _ in range(ROUNDS):
        means, numerators, denominators = [], [], []
        for strength in sorted({min(strength, positives) for strength in STRENGTHS}):
            prior = strength * (total_tp - ratio * total_predicted) / positives
            for sharpness in SHARPNESSES:
                gains = tp - ratio * predicted + prior
                if own is None:
                    found = [decided_by_others(tp[j], predicted[j], prior, depth, ratio, sharpness) for j in labels]
                else:
                    given = prior, depth, ratio, sharpness
                    parts = [[(own_tp[j], own_predicted[j]) for own_tp, own_predicted in own] for j in labels]
                    found = [decided_by_other_groups(tp[j], predicted[j], parts[j], *given) for j in labels]
                means.append([mean_depth(gains[j], depth, sharpness) for j in labels])
                numerators.append((1 + b) * sum(hits for hits, _ in found))
                denominators.append(b * positives + sum(decided for _, decided in found))
        f = np.array(numerators) / np.array(denominators)
        weight = np.exp(np.array(numerators) - f.max() * np.array(denominators))
        ratio = float(weight @ f / weight.sum() / (1 + b))
    return np.asarray(weight @ np.array(means) / weight.sum())


def pool(
    y_true: Array,
    y_score: Array,
    *,
    beta: float = 1.0,
    sample_weight: Array | None = None,
    missing: float = 0.0,
    keep_sparse: bool = False,
    groups: Array | None = None,
    optimum: Array | None = None,
) -> list[float] | None:
    """The thresholds of the guard "pool"; None where there is nothing to cut at. With groups it takes the optimum."""
    cells = Cells.of(y_true, y_score, sample_weight)
    groups = groups_of(groups, sample_weight)
    if groups is not None and optimum is not None:
        cells = cells.where(alike_in_all(*squares(cells, groups, optimum, beta)))
    cuts = cuts_of_positives(cells, missing, keep_sparse)
    if not cuts:
        return None
    tp, predicted, depth = counts_at(cells, cuts)
    own = None
    if groups is not None:
        parts = [cells.at(groups == group) for group in sorted(set(groups.tolist()))]
        own = [counts_at(part, cuts)[:2] for part in parts]
    thresholds = []
    for u in pooled_depths(tp, predicted, depth, float(cells.positives.sum()), beta**2, own):
        k = max(sum(depth[1:] <= u) - 1, 0)  # the cut above, of `cuts`
        upper, lower = cuts[k], cuts[min(k + 1, len(cuts) - 1)]
        share = 0.0 if upper == lower else max((u - depth[1 + k]) / (depth[2 + k] - depth[1 + k]), 0.0)
        t = min(rounded_up((1 - share) * upper + share * lower, cells.dtype), upper)
        thresholds.append(min(not_subnormal(t, cells.dtype), upper) + 0.0)
    return thresholds


# Limits of one label


@dataclass(frozen=True)
class Limits:
    """What a label may do; None for no limit."""

    max_overprediction: float | None = None
    min_precision: float | None = None
    min_recall: float | None = None

    def allow(self, tp: float, predicted: float, positives: float) -> bool:
        """Whether counts are within the limits; 0/0 breaks none."""
        if predicted == 0:
            return not self.min_recall or positives == 0
        return (
            (self.max_overprediction is None or (positives > 0 and predicted / positives <= self.max_overprediction))
            and (self.min_precision is None or tp / predicted >= self.min_precision)
            and (self.min_recall is None or (positives > 0 and tp / positives >= self.min_recall))
        )


def steps_of(
    truth: Array, scores: Array, weights: list[Fraction], above: float | None
) -> dict[float, tuple[Fraction, Fraction, Fraction]]:
    """True positives, predictions and positives at each score of a positive above a bound, from the highest down."""
    choices = naive.column_choices(truth, scores, weights)
    of_positives = {naive.plain(s) for s, y, w in zip(scores, truth, weights, strict=True) if y and w > 0}
    return {t: choices[t] for t in choices if t in of_positives and (above is None or t > above)}


def lowest_within(
    truth: Array, scores: Array, limits: Limits, weights: list[Fraction], above: float | None
) -> float | None:
    """The lowest score that predicts as much as is allowed, if that keeps all limits."""
    if limits.max_overprediction is None:
        return None
    few = Limits(limits.max_overprediction)
    choices = naive.column_choices(truth, scores, weights)
    known = [t for t in choices if math.isfinite(t) and (above is None or t > above)]
    kept = [t for t in known if choices[t][1] > 0 and few.allow(*map(float, choices[t]))]
    return min(kept) if kept and limits.allow(*map(float, choices[min(kept)])) else None


def limited_cut(
    truth: Array,
    scores: Array,
    limits: Limits,
    *,
    beta: float = 1.0,
    sample_weight: Array | None = None,
    above: float | None = None,
) -> float:
    """The cut of highest F within the limits, the highest of several; never where none is.

    A cut lies at a score of a positive, above `above` where that is given.
    """
    weights = naive.exact_weights(sample_weight, len(truth))
    steps = steps_of(truth, scores, weights, above)
    allowed = {t: counts for t, counts in steps.items() if limits.allow(*map(float, counts))}
    if not allowed and (lowest := lowest_within(truth, scores, limits, weights, above)) is not None:
        return lowest
    positives = naive.counts(truth, truth, weights)[2]
    if limits.allow(0.0, 0.0, float(positives)):
        allowed = {NEVER: (Fraction(0), Fraction(0), positives)} | allowed
    if not allowed:
        return NEVER
    return max(allowed, key=lambda t: naive.f_beta(*allowed[t], beta, 0.0))


def limited_guard(
    truth: Array,
    scores: Array,
    threshold: float,
    limits: Limits,
    *,
    sample_weight: Array | None = None,
    above: float | None = None,
    fell_back: bool = False,
) -> float:
    """A guard's threshold where it keeps the limits, else the allowed cut that predicts most nearly as many.

    Of a label that fell back on always a cut that the limits moved must hit a positive, else it is never predicted.
    """
    if fell_back:
        found = limited_guard(truth, scores, threshold, limits, sample_weight=sample_weight, above=above)
        hits = any(y and naive.plain(s) >= found for y, s in zip(truth, scores, strict=True))
        return found if hits or found == threshold else NEVER
    weights = naive.exact_weights(sample_weight, len(truth))
    counts = naive.counts(truth, np.array([naive.plain(s) >= threshold for s in scores]), weights)
    if limits.allow(*map(float, counts)):
        return threshold
    if limits.max_overprediction is not None and not Limits(limits.max_overprediction).allow(*map(float, counts)):
        lowest = lowest_within(truth, scores, limits, weights, above)
        if lowest is not None:
            return lowest
    steps = steps_of(truth, scores, weights, above)
    allowed = {t: float(found[1]) for t, found in steps.items() if limits.allow(*map(float, found))}
    if not allowed:
        return NEVER
    wanted = float(counts[1])
    if wanted == 0:
        return max(allowed)
    return min(allowed, key=lambda t: abs(math.log(allowed[t] / wanted)))
