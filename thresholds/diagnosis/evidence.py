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

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import bounded_parts, in_pieces
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.columns import Memory
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms, Reading, over_histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._kernels.evidence import (
    MANY_TIED,
    likely_numbers,
    p_values_of_best_f1,
    p_values_of_rank_sums,
)
from thresholds.diagnosis.orders import Order, Ranks
from thresholds.significance import rejected

FEWEST = 5  # positives, and negatives, for a test of AUROC

_CERTAIN = 1e-12  # a p-value of ranks that no other test need confirm
_MAX_STEPS = 2.0**31  # of the exact test of F1, about .3 s: above, a bound must do
_FEW_STEPS = 2.0**16  # tens of microseconds: many labels may be asked at once
_CELLS_AT_ONCE = 2**17  # whose tie groups stay in the cache
_BOUNDED_AT_ONCE = 2**20  # numbers of true positives, in some arrays of 8 MB
_NUMBERS_AT_ONCE = 2**18  # of positives outside a tie group, some 30 ms


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

    def take(self, labels: Ints) -> "Evidence":
        """Return that of some labels."""
        columns: Any = (column[labels] for column in self)
        return Evidence(*columns)

    def for_verdicts(self) -> Iterator[Floats | Ints]:
        """Return the columns that verdicts and states read."""
        others = ("cap_score", "cap_lower", "cap_predicted", "tie_cubes")
        return (getattr(self, name) for name in self._fields if name not in others)


class _BestF1(NamedTuple):
    """What the test of the best F1 is asked of labels; one entry a label."""

    n: Ints  # rows
    positives: Ints
    tp: Ints  # of the cut of best F1
    predicted: Ints
    enough: Floats  # a p-value above that is 1

    def take(self, labels: Ints | slice) -> "_BestF1":
        """Return that of some labels."""
        columns: Any = (column[labels] for column in self)
        return _BestF1(*columns)


class LabelTests:
    """Tests labels by their columns: a function for `over_labels`."""

    def __init__(self, problem: Problem, criteria: Criteria) -> None:
        self._criteria = criteria
        self._n = problem.rows_of_label  # (n_labels,)
        self._read = Reading(problem, None)

    def __call__(self, columns: Columns, memory: Memory) -> Evidence:
        """Test some labels."""
        # A few at a time, whose tie groups stay in the cache.
        pieces = columns.in_pieces(_CELLS_AT_ONCE)
        return all_evidence(
            [
                _evidence_of(self._read(piece, memory), piece.first, self._n, self._criteria)
                for piece in pieces
            ]
        )


def evidence_of(
    problem: Problem, criteria: Criteria, *, n_jobs: int | None = -1, progress: bool = False
) -> Evidence:
    """Test every label of rows that weigh 1 each; the caps predict at most `overprediction` times the positives.

    What lies in a bin of several scores, of rows that were counted elsewhere, is tied.
    """
    n = problem.rows_of_label  # (n_labels,)

    def test(found: Histograms, first: int) -> Evidence:
        return _evidence_of(found, first, n, criteria)

    return all_evidence(over_histograms(problem, test, n_jobs=n_jobs, progress=progress))


def all_evidence(parts: Sequence[Evidence]) -> Evidence:
    """Join the evidence of consecutive labels."""
    return Evidence(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _evidence_of(found: Histograms, first: int, n: Ints, criteria: Criteria) -> Evidence:
    """Test some labels, of which `first` is the first, by their histograms; `n` (n_labels,) are the rows of all."""
    positives, ranks, tp, predicted, cap, top = Order.of(found, criteria.overprediction)
    n = n[first : first + found.n_labels]
    p_higher = _p_of_ranks(ranks, positives, n)
    p_lower = _p_of_ranks(ranks.reversed(n), positives, n)

    # Would chance reach that F1? Not asked where ranks alone are certain.
    is_open = np.flatnonzero(p_higher > _CERTAIN)  # labels
    asked = _BestF1(n, positives, tp, predicted, np.minimum(p_higher, 0.5)).take(is_open)
    p_best_f1 = np.ones(positives.size)
    p_best_f1[is_open] = _p_of_best_f1(found.offsets, found.weights, is_open, asked)
    return Evidence(
        auroc=ranks.auroc,
        p_informative=np.minimum(2 * np.minimum(p_higher, p_best_f1), 1.0),
        p_uninformative=_p_uninformative(ranks, positives, n, criteria.min_auroc),
        p_backwards=_p_backwards(ranks, p_lower, positives, n),
        best_f=f_of_counts(tp, predicted, positives, 1.0, np.nan),
        cap_score=cap.score,
        cap_lower=cap.lower,
        cap_predicted=cap.predicted,
        top_tp=top.tp,
        top_predicted=top.predicted,
        tie_cubes=ranks.tie_cubes,
    )


def _p_of_best_f1(offsets: Ints, sizes: Ints, labels: Ints, asked: _BestF1) -> Floats:
    """Test the best F1 of some labels; the tie groups of label j are `offsets[j]:offsets[j + 1]`."""
    # At once where it takes microseconds, as for most of many labels.
    most_steps = min(_FEW_STEPS, _MAX_STEPS)
    p, steps = p_values_of_best_f1(offsets, sizes, labels, *asked, most_steps)
    # The others one by one, so that Ctrl-C is heard in between.
    for i in np.flatnonzero(np.isnan(p)):
        if steps[i] > _MAX_STEPS:
            n, positives, tp, predicted, _ = (column[i].item() for column in asked)
            p[i] = _bound_of_best_f1(n, positives, tp, predicted)
            continue
        one = slice(i, i + 1)
        p[one], _ = p_values_of_best_f1(offsets, sizes, labels[one], *asked.take(one), _MAX_STEPS)
    return p


def _bound_of_best_f1(n: int, positives: int, tp: int, predicted: int) -> float:
    """Bound the probability that some cut reaches an F1 by chance: the sum over numbers of true positives, m.

    At least m are needed up to rank k(m); by Hoeffding 1963, section 6, the probability of as many there is at most
    exp(-k (q ln(q / b) + (1 - q) ln((1 - q) / (1 - b)))), q = m / k above the base rate b.
    """
    from scipy.special import rel_entr

    b = positives / n
    total = 0.0
    for some in in_pieces(slice(1, positives + 1), _BOUNDED_AT_ONCE):
        m = np.arange(some.start, some.stop)
        k = np.minimum(m * (positives + predicted) // tp - positives, n)
        possible = k >= m
        m = m[possible]
        k = k[possible]
        q = np.maximum(m / k, b)
        total += float(np.exp(-k * (rel_entr(q, b) + rel_entr(1 - q, 1 - b))).sum())
        if total >= 1:
            break
    return min(1.0, total)


def _p_of_ranks(ranks: Ranks, positives: Ints, n: Ints) -> Floats:
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
    some = np.flatnonzero((ranks.n_most_tied > MANY_TIED * n) & ~np.isnan(ranks.auroc))
    rank_sum = ranks.auroc[some] * pairs[some] + positives[some] * (positives[some] + 1) / 2
    asked: tuple[Any, ...] = (
        n[some],
        positives[some],
        rank_sum,
        ranks.n_most_tied[some].astype(np.int64),
        ranks.most_tied_rank[some],
        ranks.others_mean[some],
        ranks.others_variance[some],
    )
    for part in bounded_parts(likely_numbers(*asked[:2]), _NUMBERS_AT_ONCE):
        p[some[part]] = p_values_of_rank_sums(*(column[part] for column in asked))
    return np.where(np.isnan(ranks.auroc), np.nan, p)


def _p_backwards(ranks: Ranks, p_lower: Floats, positives: Ints, n: Ints) -> Floats:
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


def _p_uninformative(ranks: Ranks, positives: Ints, n: Ints, least: float) -> Floats:
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


def are_backwards(evidence: Evidence, criteria: Criteria, times: Ints | None = None) -> Booleans:
    """Whether each label is shown to rank backwards, and not shown to have some positives at the top all the same.

    Each counts as many `times`, (n_labels,), None for once.
    """
    shown = rejected(evidence.p_backwards, criteria.alpha, times)
    return shown & ~rejected(evidence.p_informative, criteria.alpha, times)
