"""The guard "shrink": how much to predict, by what a label, its siblings and its probabilities say.

For ratios g = c / a of predictions c to positives a from 1/16 to 64, in twelfths of an octave,
three views of F-beta:

    F_own(g) = (1 + B) TP(g a) / (B a + g a)    on the label's own sample, B = beta^2;
                                                ties in equal parts
    F_sib(g) = mean of F_own(g) over the labels, weighted by exp(-(difference of ln a / .7)^2 / 2)
    F_exp(g) = (1 + B) P(g a) / (B sum of p + g a)    P: sum of p over the g a highest scores,
                                                      p from one logistic curve for all labels

    q(g) ~ exp(a F_own(g) + 20 (F_sib(g) + F_exp(g)) / 2)
    rank = 1 + a exp(sum over g of q(g) ln g)

The threshold is the score at that rank, between two scores where it is no whole number. Few
positives, and the prior decides; many, and the label itself does. One rank lower, since a positive
that helps to choose a rank is counted in it: leave it out, and it is accepted if it is among the
c + 1 highest. A threshold never admits a tie group much larger than the rank, nor that of `missing`
scores: where a rare label's scores are all 0, the sample says nothing.

Where the scores know next to nothing, or rank backwards, all this is beside the point: the best is
to predict nearly always. So if the average of the labels' F that is fitted is below that of
predicting each on every row, on the rows of the fit, where the guard does better than on others,
each label takes the better of its cut and the lowest: that of `missing` scores, too, unless
predictions shall stay sparse. (The plain optimum does worse than always there, on
other rows.) Limits come last.

The weights q are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower
bounds for statistical estimation"; the shrinkage towards siblings is empirical Bayes: Efron 2010,
"Large-Scale Inference", chapter 1.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.types import Floats, Ints
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms
from thresholds._kernels.guards import among_highest
from thresholds.guards.base import (
    ALWAYS,
    BaseGuard,
    GuardedCuts,
    GuardInput,
    either,
    never,
    placed,
)
from thresholds.guards.cuts import count_at, cut_at_ranks, lowest_cut_within, rows_per_unit_of
from thresholds.guards.pooled_curve import PooledCurve

# (n_ratios,) of predictions to positives; it has 1, which perfectly separated labels need.
RATIOS = 2.0 ** (np.arange(-48, 73) / 12)

PRIOR_ROWS = 20.0  # that the prior is worth; 10 to 80 do nearly as well
_EXTRA_RANKS = 1.0  # .5 to 1.5 do nearly as well, 0 and 2 worse
_ABOVE_MAX = 0  # a rank
_NEVER = -1

BANDWIDTH = 0.7  # of siblings, in ln a
_MOST_SIZES = 2048  # different numbers of positives; more are rounded
_SIZES_PER_BANDWIDTH = 64  # to these

Unsupported = Literal["above_max", "never"]


@dataclass(frozen=True, slots=True)
class Shrink(BaseGuard):
    """The guard "shrink": the number predicted is drawn towards what suits similar labels.

    Parameters
    ----------
    siblings : borrow from labels with about as many positives
    probabilities : borrow from one logistic curve of truth on score for all labels
        Switch it off for scores that cannot be compared over labels. It is not used where it falls,
        or where all scores are equal.
    unsupported : where the threshold of a label without positives lies
        "above_max": just above its highest score, so that a clearer case than any seen is
        predicted. "never": at +inf.
    """

    name: ClassVar[str] = "shrink"

    siblings: bool = True
    probabilities: bool = True
    unsupported: Unsupported = "above_max"

    def __post_init__(self) -> None:
        """Check the options."""
        for name, known in (
            ("siblings", (True, False)),
            ("probabilities", (True, False)),
            ("unsupported", ("above_max", "never")),
        ):
            object.__setattr__(self, name, _checks.option(getattr(self, name), name, known))

    def cuts(self, given: GuardInput) -> GuardedCuts:
        """Shrink the thresholds of all labels; the average decides whether they fall back."""
        found, problem, positives = given.histograms, given.problem, given.optimum.positives
        beta2 = given.options.beta**2

        # 1. What the unit of weights is worth in rows, of all labels and of each.
        worth = np.full(problem.n_labels, rows_per_unit_of(problem))  # (n_labels,)
        weight_of_row = 1 / worth[0]
        if given.alike is not None:
            weight_of_row *= given.alike.in_all()
            worth /= given.alike.in_labels(positives * worth)

        # 2. What labels that have positives say themselves of each ratio, and what they may borrow:
        #    from their siblings, and from one curve of all.
        supported = np.flatnonzero(positives > 0)  # (n_supported,) labels
        in_units = positives[supported]
        in_rows = in_units * worth[supported]
        blocks = list(row_blocks(supported.size, RATIOS.size))  # Ratios of all take much memory.
        own = np.empty((supported.size, RATIOS.size))
        for some in blocks:
            own[some] = f_at_ratios(found.take(supported[some]), in_units[some], beta2)
        siblings = means_of_siblings(in_rows, own) if self.siblings else None
        curve = (
            PooledCurve.from_labels(found, problem, weight_of_row) if self.probabilities else None
        )

        # 3. The rank of each label, from both, and its cut there.
        unsupported = _ABOVE_MAX if self.unsupported == "above_max" else _NEVER
        ranks = np.full(problem.n_labels, unsupported, np.float64)
        for some in blocks:
            borrowed = []  # (n_some, n_ratios) each
            if siblings is not None:
                means, size_of_label = siblings
                borrowed.append(means[size_of_label[some]])
            if curve is not None:
                cells = found.take(supported[some])
                borrowed.append(_expected_f(cells, curve, in_units[some], beta2))
            prior = sum(borrowed) / len(borrowed) if borrowed else np.zeros_like(own[some])
            evidence = in_rows[some, np.newaxis] * own[some] + PRIOR_ROWS * prior
            ranks[supported[some]] = _EXTRA_RANKS + in_rows[some] * _mean_ratio(evidence)
        cuts = cut_at_ranks(found, problem, ranks, worth)

        # 4. Always where that is better, if labels do worse than that on average.
        if _is_below_always(given, cuts):
            return _fall_back(given, cuts)
        return cuts


def means_of_siblings(positives: Floats, figures: Floats) -> tuple[Floats, Ints]:
    """Average figures, (n_labels, n_figures), over labels with about as many positives.

    Returns the means of each number of positives, (n_sizes, n_figures), and which of these is that of each label.
    More than 2,048 different numbers of `positives`, (n_labels,), as real weights give, are rounded to 64ths of the
    bandwidth. A label without positives, or other labels, has no siblings: 0.
    """
    with np.errstate(divide="ignore"):
        log_size = np.log(positives)
    if np.unique(log_size).size > _MOST_SIZES:
        steps = np.rint(log_size * (_SIZES_PER_BANDWIDTH / BANDWIDTH))
        log_size = steps * (BANDWIDTH / _SIZES_PER_BANDWIDTH)
    sizes, size_of_label = np.unique(log_size, return_inverse=True)

    # Labels of one size weigh alike.
    sums = np.zeros((sizes.size, figures.shape[1]))
    np.add.at(sums, size_of_label, figures)
    n_labels = np.bincount(size_of_label).astype(np.float64)  # (n_sizes,)

    # Weigh sizes by exp(-(difference / bandwidth)^2 / 2).
    means = np.zeros_like(sums)
    finite = np.flatnonzero(sizes > -np.inf)
    distance = (sizes[finite, np.newaxis] - sizes[finite]) / BANDWIDTH
    weight = np.exp(-0.5 * distance**2)  # (n_finite, n_finite)
    # einsum without optimisation: no BLAS, whose sums depend on its threads.
    total = np.einsum("vu,u->v", weight, n_labels[finite])
    means[finite] = np.einsum("vu,ug->vg", weight, sums[finite]) / total[:, np.newaxis]
    return means, size_of_label


def f_at_ratios(found: Histograms, positives: Ints, beta2: float) -> Floats:
    """Return F-beta of labels where `RATIOS` times their positives are predicted, (n_labels, n_ratios).

    `positives` (n_labels,) are above 0. Cells of one bin count in equal parts. Where more are asked for than there are,
    all are predicted, but F is that of so many.
    """
    wanted = RATIOS * positives[:, np.newaxis]
    hits = found.hits.astype(np.float64)
    tp = among_highest(found.offsets, found.weights, hits, wanted)
    return np.asarray((1.0 + beta2) * tp / (beta2 * positives[:, np.newaxis] + wanted))


def _expected_f(found: Histograms, curve: PooledCurve, positives: Ints, beta2: float) -> Floats:
    """Return F-beta of expected counts at each ratio, (n_labels, n_ratios): the positives that a curve expects."""
    expected = found.weights * curve.probabilities(found)  # (n_bins,)
    totals = np.bincount(found.label, expected, found.n_labels)[:, np.newaxis]
    wanted = RATIOS * positives[:, np.newaxis]
    wanted = np.minimum(wanted, found.totals[:, np.newaxis])
    tp = among_highest(found.offsets, found.weights, expected, wanted)
    denominator = beta2 * totals + wanted
    f = np.zeros_like(tp)
    np.divide((1.0 + beta2) * tp, denominator, out=f, where=denominator > 0)
    return f


def _mean_ratio(evidence: Floats) -> Floats:
    """Return the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))


def _is_below_always(given: GuardInput, cuts: GuardedCuts) -> bool:
    """Whether the labels' average F-beta is below that of predicting each on every row.

    It is the average that is fitted: labels with positives count alike for macro, by their
    positives for weighted F.
    """
    positives, beta = given.optimum.positives, given.options.beta
    label_weights = positives if given.options.average == "weighted" else positives > 0
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(positives, given.problem.weight_of_label, positives, beta, 0.0)
    return bool((label_weights * f).sum() < (label_weights * f_always).sum())


def _fall_back(given: GuardInput, cuts: GuardedCuts) -> GuardedCuts:
    """Predict a label always if that has a higher F-beta than its cut.

    Always is the lowest score: all cells but those that are masked and, where predictions stay
    sparse, `missing`; of a label that has no score but `missing` the sample says nothing, and it
    keeps its cut.
    """
    # Cut each label at the lowest score that is allowed; one that has no score but `missing` never.
    found, problem = given.histograms, given.problem
    lowest = lowest_cut_within(found, problem, found.present.astype(np.float64))
    is_unscored = (lowest.score == problem.missing) & (count_at(found, lowest.score).above == 0)
    always = placed(lowest, problem, given.options, ALWAYS)
    always = either(is_unscored, never(is_unscored.size, ALWAYS), always)

    # The better of the cut and always.
    positives, beta = given.optimum.positives, given.options.beta
    f = f_of_counts(cuts.tp, cuts.predicted, positives, beta, 0.0)
    f_always = f_of_counts(always.tp, always.predicted, positives, beta, 0.0)
    best = either(f_always > f, always, cuts)

    # A label that was always predicted already has fallen back, too.
    already = (cuts.predicted == always.predicted) & (f_always > 0)
    return best._replace(reason=np.where((f_always > f) | already, ALWAYS, best.reason))
