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

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import bounded_parts, in_pieces
from thresholds._arrays.types import Booleans, Floats, Ints, Numbers, Scores
from thresholds._checks import InputError
from thresholds._engine.columns import Memory
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms, Reading, over_histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Columns
from thresholds._kernels.evidence import (
    MANY_TIED,
    cuts_within,
    likely_numbers,
    p_values_of_best_f1,
    p_values_of_rank_sums,
    rank_statistics,
)
from thresholds._significance import rejected

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


def criteria_of(
    alpha: object, min_auroc: object, overprediction: object, min_f: object, min_skill: object
) -> Criteria:
    """Check what a diagnosis asks for."""
    return Criteria(
        alpha=_checks.inside(alpha, "alpha"),
        min_auroc=_checks.inside(min_auroc, "min_auroc"),
        overprediction=_checks.positive(overprediction, "overprediction"),
        min_f=_checks.inside(min_f, "min_f"),
        min_skill=checked_skill(min_skill),
    )


def checked_skill(value: object) -> float:
    """Check a share of the way from marking every row to no mistake, below all of it."""
    number = _checks.real(value, "min_skill")
    if not 0 <= number < 1:
        raise InputError(f"min_skill is {number}, expected a number from 0 to below 1")
    return number


class LabelEvidence(NamedTuple):
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
    others_variance: Floats  # of labels with many tied rows

    def reversed(self, n: Ints) -> "_Ranks":
        """Return those of the negated scores, whose placements vary as much."""
        return self._replace(
            auroc=1 - self.auroc,
            most_tied_rank=n + 1 - self.most_tied_rank,
            others_mean=n + 1 - self.others_mean,
        )


class LabelTests:
    """Tests labels by their columns: a function for `over_labels`."""

    def __init__(self, problem: Problem, criteria: Criteria) -> None:
        self._criteria = criteria
        self._n = problem.rows_of_label  # (n_labels,)
        self._read = Reading(problem, None)

    def __call__(self, columns: Columns, memory: Memory) -> LabelEvidence:
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
) -> LabelEvidence:
    """Test every label of rows that weigh 1 each; the caps predict at most `overprediction` times the positives.

    What lies in a bin of several scores, of rows that were counted elsewhere, is tied.
    """
    n = problem.rows_of_label  # (n_labels,)

    def test(found: Histograms, first: int) -> LabelEvidence:
        return _evidence_of(found, first, n, criteria)

    return all_evidence(over_histograms(problem, test, n_jobs=n_jobs, progress=progress))


def all_evidence(parts: Sequence[LabelEvidence]) -> LabelEvidence:
    """Join the evidence of consecutive labels."""
    return LabelEvidence(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _evidence_of(found: Histograms, first: int, n: Ints, criteria: Criteria) -> LabelEvidence:
    """Test some labels, of which `first` is the first, by their histograms; `n` (n_labels,) are the rows of all.

    What is in a bin counts as tied.
    """
    n = n[first : first + found.n_labels]
    bins = found.offsets, found.hits, found.weights
    figures, (positives, tp, predicted) = rank_statistics(*bins)
    ranks = _Ranks(*figures)

    # The lowest cuts that predict at most so many times the positives.
    cap, _, cap_predicted = cuts_within(*bins, positives, criteria.overprediction)
    _, top_tp, top_predicted = cuts_within(*bins, positives, 1.0)
    below_cap = np.where((cap >= 0) & (cap + 1 < found.offsets[1:]), cap + 1, -1)

    # Would chance reach that F1? Not asked where ranks alone are certain.
    p_higher = _p_of_ranks(ranks, positives, n)
    p_lower = _p_of_ranks(ranks.reversed(n), positives, n)
    is_open = np.flatnonzero(p_higher > _CERTAIN)  # labels
    enough = np.minimum(p_higher, 0.5)  # a p-value above that is 1
    p_best_f1 = np.ones(positives.size)
    p_best_f1[is_open] = _p_of_best_f1(
        found, is_open, [x[is_open] for x in (n, positives, tp, predicted, enough)]
    )
    return LabelEvidence(
        auroc=ranks.auroc,
        p_informative=np.minimum(2 * np.minimum(p_higher, p_best_f1), 1.0),
        p_uninformative=_p_uninformative(ranks, positives, n, criteria.min_auroc),
        p_backwards=_p_backwards(ranks, p_lower, positives, n),
        best_f=f_of_counts(tp, predicted, positives, 1.0, np.nan),
        cap_score=_scores_at(found.lowest, cap, np.inf),
        cap_lower=_scores_at(found.highest, below_cap, np.nan),
        cap_predicted=cap_predicted,
        top_tp=top_tp,
        top_predicted=top_predicted,
        tie_cubes=ranks.tie_cubes,
    )


def _scores_at(scores: Scores, bins: Ints, of_none: float) -> Floats:
    """Return the score of a bin of each label, (n_labels,), -1 for none."""
    found = np.full(bins.size, of_none)
    found[bins >= 0] = scores[bins[bins >= 0]]
    return found


def _p_of_best_f1(found: Histograms, labels: Ints, columns: Sequence[Numbers]) -> Floats:
    """Test the best F1 of some labels.

    `columns` are, for each of them, its rows and positives, true positives and predictions of the cut of best F1, and
    the p-value that is enough.
    """
    bins = found.offsets, found.weights

    # At once where it takes microseconds, as for most of many labels.
    asked: tuple[Any, ...] = (*bins, labels, *columns, min(_FEW_STEPS, _MAX_STEPS))
    p, steps = p_values_of_best_f1(*asked)

    # The others one by one, so that Ctrl-C is heard in between.
    for i in np.flatnonzero(np.isnan(p)):
        if steps[i] > _MAX_STEPS:
            n, positives, tp, predicted, _ = (column[i].item() for column in columns)
            p[i] = _bound_of_best_f1(n, positives, tp, predicted)
            continue
        one = slice(i, i + 1)
        asked = (*bins, labels[one], *(column[one] for column in columns), _MAX_STEPS)
        p[one], _ = p_values_of_best_f1(*asked)
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


def shown_of(evidence: LabelEvidence, criteria: Criteria) -> tuple[Booleans, Booleans, Booleans]:
    """Tell which labels are shown to be informative; to be uninformative; and to rank backwards, (n_labels,) each.

    A label that is shown to have some positives at the top is not called backwards all the same.
    """
    informative = rejected(evidence.p_informative, criteria.alpha)
    uninformative = rejected(evidence.p_uninformative, criteria.alpha)
    backwards = rejected(evidence.p_backwards, criteria.alpha) & ~informative
    return informative, uninformative, backwards
