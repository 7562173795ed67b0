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
predictions shall stay sparse (`fall_back.py`). (The plain optimum does worse than always there, on
other rows.) Limits come last.

The weights q are those of a Gibbs posterior: Zhang 2006, "Information-theoretic upper and lower
bounds for statistical estimation"; the shrinkage towards siblings is empirical Bayes: Efron 2010,
"Large-Scale Inference", chapter 1.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Placement
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.guards import among_highest
from thresholds.guards.base import BaseGuard, GuardedCuts, joined
from thresholds.guards.cuts import cut_at_ranks, rows_per_unit_of
from thresholds.guards.fall_back import fall_back, is_below_always
from thresholds.guards.groups import Alike
from thresholds.guards.pooled_curve import PooledCurve
from thresholds.guards.siblings import Siblings

# (n_ratios,) of predictions to positives; it has 1, which perfectly separated labels need.
RATIOS = 2.0 ** (np.arange(-48, 73) / 12)

PRIOR_ROWS = 20.0  # that the prior is worth; 10 to 80 do nearly as well
_EXTRA_RANKS = 1.0  # .5 to 1.5 do nearly as well, 0 and 2 worse
_ABOVE_MAX = 0  # a rank
_NEVER = -1

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

    def cuts(
        self,
        found: Histograms,
        problem: Problem,
        optimum: Cuts,
        alike: Alike | None,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
    ) -> GuardedCuts:
        """Shrink the thresholds of all labels; the average decides whether they fall back."""
        # 1. What the unit of weights is worth in rows, of all labels and of each.
        worth = np.full(problem.n_labels, rows_per_unit_of(problem))  # (n_labels,)
        weight_of_row = 1 / worth[0]
        if alike is not None:
            weight_of_row *= alike.in_all()
            worth /= alike.in_labels(optimum.positives * worth)

        # 2. What labels borrow: from their siblings, and from one curve of all.
        said = _Said(found, optimum.positives, optimum.positives * worth, beta**2)
        siblings = said.siblings() if self.siblings else None
        curve = PooledCurve.of(found, problem, weight_of_row) if self.probabilities else None

        # 3. The rank of each label, from what it says itself and what it borrows, and its cut there.
        others = _ABOVE_MAX if self.unsupported == "above_max" else _NEVER
        parts = []
        for labels in found.blocks_of_labels():
            ranks = np.full(labels.stop - labels.start, others, np.float64)
            supported = said.supported_in(labels)
            ranks[said.supported[supported] - labels.start] = said.ranks(supported, siblings, curve)
            own = found.of_labels(labels)
            cuts = cut_at_ranks(own, problem, ranks, worth[labels])

            # 4. Always, if that is better; it is taken only where labels do worse than that on average.
            always = fall_back(own, problem, cuts, optimum.positives[labels], beta, placement)
            parts.append((cuts, always))
        of_ranks, of_always = zip(*parts, strict=True)
        cuts = joined(of_ranks)
        if is_below_always(problem, cuts, optimum.positives, average, beta):
            return joined(of_always)
        return cuts


class _Said:
    """What labels say of each ratio, each alone; those of them that have positives."""

    def __init__(
        self, found: Histograms, positives: Ints, positives_in_rows: Floats, beta2: float
    ) -> None:
        self.supported = np.flatnonzero(positives > 0)  # (n_supported,) labels
        self._in_rows = positives_in_rows[self.supported]
        self._found = found
        self._positives = positives[self.supported]
        self._beta2 = beta2

    def supported_in(self, labels: slice) -> slice:
        """Return which of the supported labels are among some labels."""
        return slice(*self.supported.searchsorted([labels.start, labels.stop]).tolist())

    def siblings(self) -> tuple[Floats, Ints]:
        """Return F of labels with as many positives at each ratio, (n_sizes, n_ratios), and the size of each label."""
        siblings = Siblings(self._in_rows, RATIOS.size)
        for labels in self._found.blocks_of_labels():
            supported = self.supported_in(labels)
            siblings.add(supported.start, self._own_f(supported))
        return siblings.means(), siblings.size_of_label

    def ranks(
        self, some: slice, siblings: tuple[Floats, Ints] | None, curve: PooledCurve | None
    ) -> Floats:
        """Return the ranks of some supported labels, (n_some,)."""
        own = self._own_f(some)
        borrowed = []
        if siblings is not None:
            sibling_f, size_of_label = siblings
            borrowed.append(sibling_f[size_of_label[some]])
        if curve is not None:
            borrowed.append(self._expected_f(some, curve))
        prior = sum(borrowed) / len(borrowed) if borrowed else np.zeros_like(own)
        rows = self._in_rows[some]
        evidence = rows[:, np.newaxis] * own + PRIOR_ROWS * prior
        return np.asarray(_EXTRA_RANKS + rows * _mean_ratio(evidence))

    def _own_f(self, some: slice) -> Floats:
        """Return F-beta at each ratio on the label's own sample, (n_some, n_ratios)."""
        found = self._found.take(self.supported[some])
        return f_at_ratios(found, np.arange(found.n_labels), self._positives[some], self._beta2)

    def _expected_f(self, some: slice, curve: PooledCurve) -> Floats:
        """Return F-beta of expected counts at each ratio, (n_some, n_ratios)."""
        found = self._found.take(self.supported[some])
        expected = found.weights * curve.probabilities(found)  # (n_bins,)
        totals = np.bincount(found.label, expected, found.n_labels)[:, np.newaxis]
        wanted = RATIOS * self._positives[some, np.newaxis]
        wanted = np.minimum(wanted, found.totals[:, np.newaxis])
        labels = np.arange(found.n_labels)
        tp = among_highest(found.offsets, labels, found.weights, expected, wanted)
        denominator = self._beta2 * totals + wanted
        f = np.zeros_like(tp)
        np.divide((1.0 + self._beta2) * tp, denominator, out=f, where=denominator > 0)
        return f


def f_at_ratios(found: Histograms, labels: Ints, positives: Ints, beta2: float) -> Floats:
    """Return F-beta of some labels where `RATIOS` times their positives are predicted, (n_some, n_ratios).

    `positives` (n_some,) are above 0. Cells of one bin count in equal parts. Where more are asked for than there are,
    all are predicted, but F is that of so many.
    """
    wanted = RATIOS * positives[:, np.newaxis]
    hits = found.hits.astype(np.float64)
    tp = among_highest(found.offsets, labels, found.weights, hits, wanted)
    return np.asarray((1.0 + beta2) * tp / (beta2 * positives[:, np.newaxis] + wanted))


def _mean_ratio(evidence: Floats) -> Floats:
    """Return the geometric mean of the ratios, weighted by exp(evidence)."""
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    return np.asarray(np.exp((weight * np.log(RATIOS)).sum(axis=1) / weight.sum(axis=1)))
