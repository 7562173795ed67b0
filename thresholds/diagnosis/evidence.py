"""What the scores know of each label, whatever the rule: AUROC, and three tests.

Is a label informative, that is, do its positives score higher than chance would have it? Two tests, as each is blind
where the other sees: Mann and Whitney's of ranks, for a shift of all positives, and the best F1 over all cuts, for a
few positives at the very top. p = min(1, 2 min of both) (Bonferroni). The second is exact: its distribution over all
ways to place the positives on the rows, ties as they are, is followed row by row; no permutations are drawn.

Is it uninformative? Not to find a label informative proves nothing. So the hypothesis that AUROC is at least
`min_auroc` must be rejected, with the variance of DeLong, DeLong and Clarke-Pearson 1988 as well as that of Hanley and
McNeil 1982. With fewer than 5 positives or negatives no such test is valid: NaN.

Does it rank backwards, that is, is AUROC below 1/2? The other tail of Mann and Whitney's test, as careful of ties as
the first: right if truth falls on the rows by chance. Positives of AUROC 1/2 that score both higher and lower than the
rest have a larger variance, which 5 or 20 of them tell poorly, and not at all if they all score lower. So the variance
of DeLong et al. is taken with two placements more in each class, 0 and 1, as Agresti and Caffo 2000 do for proportions,
with Student's t and Welch's degrees of freedom. p = min(1, 2 max of both), two-sided, and NaN with fewer than 5
positives or negatives: one row or two may be errors of the truth. m positives below all of many negatives have
t = -m / 2 with m + 1 degrees of freedom, p = .047 for 5, .008 for 7, .0004 for 10.

Simulated, P(p <= x) <= x held with 5 to 60 positives of 400 whose scores spread .3 to 10 times as widely as the rest.
It is not exact: of 5 to 100 positives of 400, each either at one point below the middle or at the very top, the point
chosen to make it worst, P(p <= .05) is at most .05, P(p <= .01) .015 and P(p <= .001) .003.
"""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints, Keys
from thresholds._kernels.evidence import (
    best_cuts,
    p_values_of_best_f1,
    p_values_of_rank_sums,
    rank_statistics,
)
from thresholds._kernels.keys import to_keys, to_scores
from thresholds.data import panels
from thresholds.data.panels import TieGroups
from thresholds.data.problem import Items, Problem
from thresholds.data.tallies import label_of, sums_of_labels
from thresholds.data.tiles import map_tiles
from thresholds.metrics.counts import f_of_counts
from thresholds.significance import rejected

FEWEST = 5  # positives, and negatives, for a test of AUROC

_CERTAIN = 1e-12  # a p-value of ranks that no other test need confirm
_MAX_STEPS = 2.0**31  # of the exact test of F1, about .3 s: above, a bound must do
_FEW_STEPS = 2.0**16  # tens of microseconds: many labels may be asked at once
_NO_STEPS = -1.0
_MANY_TIED = 0.1  # of the rows in one tie group: then the sum of ranks is not normal, but given how many lie outside


class Criteria(NamedTuple):
    """What `diagnose` asks for, with its defaults."""

    alpha: float = 0.05
    min_auroc: float = 0.7
    overprediction: float = 3.0
    min_f: float = 0.5
    min_skill: float = 0.25


class Evidence(NamedTuple):
    """One entry a label."""

    auroc: Floats
    p_informative: Floats  # NaN without positives or without negatives
    p_uninformative: Floats
    p_backwards: Floats
    best_f: Floats  # the highest F1 of any cut; NaN without positives
    cap_score: Floats  # of the lowest cut that predicts at most a given multiple of the positives; +inf for none
    cap_lower: Floats  # the next lower score, NaN without one
    cap_predicted: Ints
    top_tp: Ints  # true positives and predictions of the lowest cut that predicts at most as many rows as are positive
    top_predicted: Ints
    tie_cubes: Floats  # the sum of t^3 - t over tie groups of t rows


class _Ranks(NamedTuple):
    """What the tests of AUROC and of ranks need of the order of the scores; one entry a label."""

    auroc: Floats
    positives_variance: Floats  # of the placements of positives: the shares of negatives below them
    negatives_variance: Floats
    tie_cubes: Floats  # the sum of t^3 - t over tie groups of t rows
    n_most_tied: Floats  # rows of the largest tie group
    most_tied_rank: Floats  # their mid-rank
    others_mean: Floats  # of the mid-ranks of all other rows
    others_variance: Floats
    # The same where all ties are known. Counts do not know them: the variance is between both.
    others_least_variance: Floats

    def reversed(self, n: Ints) -> "_Ranks":
        """Return those of the negated scores, whose placements vary as much."""
        return self._replace(
            auroc=1 - self.auroc,
            most_tied_rank=n + 1 - self.most_tied_rank,
            others_mean=n + 1 - self.others_mean,
        )


def evidence_of(
    problem: Problem, criteria: Criteria, *, n_jobs: int | None = -1, progress: bool = False
) -> Evidence:
    """Test every label; the caps predict at most `overprediction` times the positives."""

    def of_tile(first: int, last: int) -> Evidence:
        return _test_tile(problem, first, last, criteria)

    tiles = map_tiles(problem, of_tile, n_jobs=n_jobs, progress=progress)
    return Evidence(*(np.concatenate(columns) for columns in zip(*tiles, strict=True)))


def _test_tile(problem: Problem, first: int, last: int, criteria: Criteria) -> Evidence:
    """Test a tile of labels."""
    n = problem.rows_of_label[first:last]  # (n_labels,)

    # Tie groups of each label, from the top down.
    items = panels.label_items(problem, first, last)
    offsets, key, hit, weight = TieGroups.of(items)
    positives = sums_of_labels(hit, offsets)  # 0 for a label without known rows

    # What the ranks say, and the best F1 of any cut. Of counts, what lies in a run counts as if no two cells were tied.
    statistics = rank_statistics(offsets, hit, weight)
    ranks = _Ranks(*statistics, *statistics[-1:])  # All ties are known.
    are_runs = np.zeros(key.size, np.bool_)
    if items.has_runs:
        for apart in to_keys(np.array([problem.missing, -np.inf], problem.dtype)):
            items.ask_at(np.full(positives.size, apart))  # Many cells may be tied there.
        are_runs = _are_runs(items)
        ranks = _without_ties_in_runs(ranks, offsets, weight, are_runs)
    tp, predicted, cap, cap_predicted = best_cuts(
        offsets, hit, weight, positives, criteria.overprediction
    )
    _, _, top, top_predicted = best_cuts(offsets, hit, weight, positives, 1.0)
    if items.has_runs:
        _ask_for_end(items, offsets, key, positives, cap, whole=True)
        _ask_for_end(items, offsets, key, positives, top, whole=False)
    p_higher = _p_of_ranks(ranks, positives, n)
    p_lower = _p_of_ranks(ranks.reversed(n), positives, n)

    # Would chance reach that F1? Not asked where ranks alone are certain.
    p_best_f1 = np.ones(positives.size)
    asked = np.flatnonzero(p_higher > _CERTAIN)
    enough = np.minimum(p_higher, 0.5)
    # At once where it takes microseconds, as for most of many labels.
    most = _NO_STEPS if are_runs.any() else min(_FEW_STEPS, _MAX_STEPS)
    p_best_f1[asked], steps = p_values_of_best_f1(
        offsets,
        weight,
        asked,
        n[asked],
        positives[asked],
        tp[asked],
        predicted[asked],
        enough[asked],
        most,
    )
    # The others one by one, so that Ctrl-C is heard in between.
    for i in np.flatnonzero(np.isnan(p_best_f1[asked])):
        j = asked[i]
        if steps[i] > _MAX_STEPS:
            p_best_f1[j] = _bound_of_best_f1(int(n[j]), positives[j], tp[j], predicted[j])
        else:
            own = slice(offsets[j], offsets[j + 1])
            tie_sizes = _tie_sizes(weight[own], are_runs[own])
            p_best_f1[j] = _p_of_one(tie_sizes, n[j], positives[j], tp[j], predicted[j], enough[j])

    # The tie groups of the caps, and those below them; -1 for none.
    below_cap = np.where((cap >= 0) & (cap + 1 < offsets[1:]), cap + 1, -1)
    return Evidence(
        auroc=ranks.auroc,
        p_informative=np.minimum(2 * np.minimum(p_higher, p_best_f1), 1.0),
        p_uninformative=_p_uninformative(ranks, positives, n, criteria.min_auroc),
        p_backwards=_p_backwards(ranks, p_lower, positives, n),
        best_f=f_of_counts(tp, predicted, positives, 1.0, np.nan),
        cap_score=_scores_at(key, cap, np.inf),
        cap_lower=_scores_at(key, below_cap, np.nan),
        cap_predicted=cap_predicted,
        top_tp=_hits_down_to(top, offsets, hit),
        top_predicted=top_predicted,
        tie_cubes=ranks.tie_cubes,
    )


def _p_of_one(
    tie_sizes: Ints, n: int, positives: int, tp: int, predicted: int, enough: float
) -> float:
    """Test the best F1 of one label."""
    p, _ = p_values_of_best_f1(
        np.array([0, tie_sizes.size]),
        tie_sizes,
        np.array([0]),
        np.array([n]),
        np.array([positives]),
        np.array([tp]),
        np.array([predicted]),
        np.array([enough]),
        _MAX_STEPS,
    )
    return float(p[0])


def _scores_at(key: Keys, group: Ints, of_none: float) -> Floats:
    """Return the score of a tie group of each label, (n_labels,)."""
    scores = np.full(group.size, of_none)
    exists = group >= 0  # (n_labels,)
    scores[exists] = to_scores(key[group[exists]])
    return scores


def _are_runs(items: Items) -> Booleans:
    """Tell which tie groups are runs of counts, (n_groups,): label after label, from the top down."""
    weighing = np.flatnonzero(items.weights > 0)
    label = label_of(items.starts)[weighing]
    order = weighing[np.lexsort((~items.keys[weighing], label))]
    return items.are_runs[order]


def _tie_sizes(weight: Ints, are_runs: Booleans) -> Ints:
    """Return the sizes of tie groups, each cell of a run being one of its own."""
    if not are_runs.any():
        return weight
    n_groups = np.where(are_runs, weight, 1)
    return np.repeat(np.where(are_runs, 1, weight), n_groups)


def _without_ties_in_runs(ranks: _Ranks, offsets: Ints, weight: Ints, are_runs: Booleans) -> _Ranks:
    """Return the ranks where the cells of a run are not tied; AUROC and placements are the same."""
    tied = np.where(are_runs, 0, weight).astype(np.float64)  # (n_groups,)
    columns = [column.copy() for column in ranks[3:]]
    for j in np.unique(label_of(offsets)[are_runs]):
        own = slice(offsets[j], offsets[j + 1])
        size, sizes = tied[own], weight[own].astype(np.float64)
        n = sizes.sum()
        below = n - sizes.cumsum()  # rows below each group
        mid_rank = below + 0.5 * (sizes + 1)

        # The largest tie group, the lowest of several, and all other rows.
        at = size.size - 1 - int(size[::-1].argmax()) if size.any() else -1
        largest, largest_rank = (size[at], mid_rank[at]) if at >= 0 else (0.0, 0.0)
        others = n - largest
        mean = (0.5 * n * (n + 1) - largest * largest_rank) / others if others else 0.0
        between = sizes * (mid_rank - mean) ** 2
        if at >= 0:
            between[at] = 0.0
        # Ranks within a run vary, unless all of it is tied.
        within = np.where(are_runs[own], sizes * (sizes**2 - 1) / 12, 0.0)
        freedom = max(others - 1, 1)
        variance, least = (between + within).sum() / freedom, between.sum() / freedom
        cubes = (size**3 - size).sum()
        for column, value in zip(
            columns, (cubes, largest, largest_rank, mean, variance, least), strict=True
        ):
            column[j] = value
    return _Ranks(*ranks[:3], *columns)


def _ask_for_end(
    items: Items, offsets: Ints, key: Keys, positives: Ints, cut: Ints, *, whole: bool
) -> None:
    """Say that runs are to be known down to the lowest cut that predicts so much: the one that it may lie in.

    `cut` (n_labels,) is the tie group of the lowest cut that parts no run, -1 for none. Where the score of the cut is
    asked for, the run that it ends is to be known as a `whole`. A label without positives has no such cut.
    """
    after = np.where(cut >= 0, cut + 1, offsets[:-1])  # (n_labels,)
    padded = np.append(key, np.iinfo(key.dtype).max)  # No score has that key.
    items.ask_inside(padded[np.where((after < offsets[1:]) & (positives > 0), after, key.size)])
    if whole:
        items.ask_inside(padded[np.where(cut >= 0, cut, key.size)])


def _hits_down_to(cut: Ints, offsets: Ints, hits: Ints) -> Ints:
    """Add up the positives of each label's tie groups from the top down to the cut, -1 for none."""
    so_far = np.append(0, np.cumsum(hits))
    return np.where(cut >= 0, so_far[cut + 1] - so_far[offsets[:-1]], 0)


def _bound_of_best_f1(n: int, positives: int, tp: int, predicted: int) -> float:
    """Bound the probability that some cut reaches an F1 by chance: the sum over numbers of true positives, m.

    At least m are needed up to rank k(m); by Hoeffding 1963, section 6, the probability of as many there is at most
    exp(-k (q ln(q / b) + (1 - q) ln((1 - q) / (1 - b)))), q = m / k above the base rate b.
    """
    from scipy.special import rel_entr

    b = positives / n
    m = np.arange(1, positives + 1)
    k = np.minimum(m * (positives + predicted) // tp - positives, n)
    possible = k >= m
    m = m[possible]
    k = k[possible]
    q = np.maximum(m / k, b)
    return min(1.0, float(np.exp(-k * (rel_entr(q, b) + rel_entr(1 - q, 1 - b))).sum()))


def _p_of_ranks(ranks: _Ranks, positives: Ints, n: Ints) -> Floats:
    """Test that positives score higher, by Mann and Whitney's sum of ranks, with correction for ties and continuity."""
    from scipy.special import ndtr

    # Normal, where few are tied.
    pairs = (positives * (n - positives)).astype(np.float64)
    excess = (ranks.auroc - 0.5) * pairs - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(
            pairs / 12 * np.maximum(n + 1 - ranks.tie_cubes / (n * np.maximum(n - 1.0, 1.0)), 0)
        )
        p = ndtr(-np.where((excess == 0) & (spread == 0), 0, excess / spread))

    # Where many are, normal given how many positives lie outside the largest tie group.
    some = np.flatnonzero((ranks.n_most_tied > _MANY_TIED * n) & ~np.isnan(ranks.auroc))
    rank_sum = ranks.auroc[some] * pairs[some] + positives[some] * (positives[some] + 1) / 2
    p[some] = p_values_of_rank_sums(
        n[some],
        positives[some],
        rank_sum,
        ranks.n_most_tied[some].astype(np.int64),
        ranks.most_tied_rank[some],
        ranks.others_mean[some],
        ranks.others_variance[some],
        ranks.others_least_variance[some],
    )
    return np.where(np.isnan(ranks.auroc), np.nan, p)


def _p_backwards(ranks: _Ranks, p_lower: Floats, positives: Ints, n: Ints) -> Floats:
    """Test, two-sided, that positives score lower: the larger p-value of ranks and of Student's t."""
    from scipy.special import stdtr

    negatives = n - positives
    positives_mean, a = _plus_two(ranks.auroc, ranks.positives_variance, positives)
    negatives_mean, b = _plus_two(ranks.auroc, ranks.negatives_variance, negatives)
    smaller_class_mean = np.where(positives <= negatives, positives_mean, negatives_mean)
    # Welch 1938, Satterthwaite 1946.
    freedom = (a + b) ** 2 / (a**2 / (positives + 1) + b**2 / (negatives + 1))
    p_of_t = stdtr(freedom, (smaller_class_mean - 0.5) / np.sqrt(a + b))
    return _where_testable(np.minimum(2 * np.maximum(p_lower, p_of_t), 1.0), positives, n)


def _plus_two(mean: Floats, variance: Floats, size: Ints) -> tuple[Floats, Floats]:
    """Add the placements 0 and 1 to those of a class; return their mean, and the variance of that mean."""
    shrunk = (size * mean + 1) / (size + 2)
    squares = (size - 1) * variance + size * (mean - shrunk) ** 2 + shrunk**2 + (1 - shrunk) ** 2
    return shrunk, squares / ((size + 1) * (size + 2))


def _p_uninformative(ranks: _Ranks, positives: Ints, n: Ints, least: float) -> Floats:
    """Test that AUROC is below `least`: the larger p-value of two variances, as each is too small somewhere."""
    negatives = n - positives
    q1 = least / (2 - least)  # as Hanley and McNeil call them
    q2 = 2 * least**2 / (1 + least)
    with np.errstate(divide="ignore", invalid="ignore"):
        delong = ranks.positives_variance / positives + ranks.negatives_variance / negatives
        pairs = (positives - 1) * (q1 - least**2) + (negatives - 1) * (q2 - least**2)
        hanley = (least * (1 - least) + pairs) / (positives * negatives)
    p = np.maximum(_p_below(ranks.auroc, delong, least), _p_below(ranks.auroc, hanley, least))
    return _where_testable(p, positives, n)


def _p_below(auroc: Floats, variance: Floats, least: float) -> Floats:
    """Return the normal p-value of an AUROC below `least`."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(
            (auroc == least) & (variance == 0),
            0,
            (auroc - least) / np.sqrt(np.maximum(variance, 0)),
        )
    return np.asarray(ndtr(z))


def _where_testable(p: Floats, positives: Ints, n: Ints) -> Floats:
    """Return NaN where positives or negatives are too few for a test of AUROC."""
    return np.where((positives < FEWEST) | (n - positives < FEWEST), np.nan, p)


def are_backwards(evidence: Evidence, criteria: Criteria) -> Booleans:
    """Whether each label is shown to rank backwards, and not shown to have some positives at the top all the same."""
    return rejected(evidence.p_backwards, criteria.alpha) & ~rejected(
        evidence.p_informative, criteria.alpha
    )
