"""What does the choice of a threshold on few rows lose, and what would more rows bring back?

**The loss** of a label is how much F its fitted threshold is expected to reach less than its best one, on new rows. For
each ratio r of predictions to positives the label has an F(r), which is not known. What is expected of it is as in the
guard "shrink": the label's own, drawn towards that of labels with about as many positives, its siblings,

    E F(r) = (P F_own(r) + 20 F_siblings(r)) / (P + 20)

so that a label whose only positive happens to score low, or high, is not taken at its word. With r_0 that of the fitted
threshold, and r_1, ..., r_R those of the best cuts of R bootstrap samples, read off the rows here,

    loss = max E F(r) - (E F(r_0) + mean of E F(r_k)) / 2

The first of the two is too high, as the rows that chose the threshold shape E F, too. The second is too low: a maximum
moves further in a bootstrap sample than in a sample (Abrevaya and Huang 2005, "On the bootstrap of the maximum score
estimator"). Simulated with normal scores, their mean is about right (experiments/annotation).

Labels whose scores are shown to be useless neither lend nor borrow. Every cut of theirs is as bad as any other, so that
their loss is small, however few their positives.

**More rows**, m of them, bring back a part of the loss. How far the place of a maximum moves falls with the cube root
of the number of rows (Kim and Pollard 1990, "Cube root asymptotics"), and what is lost at a smooth maximum with the
square of that. So the loss falls as n^(-2/3), and the gain is

    loss (1 - (n / (n + m))^(2/3)),    about 2/3 loss m / n

A label without positives has no threshold yet. Its gain is the probability that one of the m rows is its first, m /
(n + 1 + m) if all base rates were equally likely before n rows without one, times E F(r_0) of labels with one positive.
"""

import numpy as np

from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.grouped import sums_of_groups
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine.choosing import best_steps
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps
from thresholds._kernels.bootstrap import resample
from thresholds.guards.shrink import (
    BANDWIDTH,
    PRIOR_ROWS,
    RATIOS,
    f_at_ratios,
    means_of_siblings,
)

EXPONENT = 2 / 3  # of the number of rows, in how the loss falls

_MOST_STEPS = 2**27  # in all replicates of all labels: some seconds
_FEWEST_REPLICATES = 10


def learn(
    problem: Problem,
    is_useless: Booleans,
    more: int,
    *,
    beta: float = 1.0,
    n_bootstraps: int = 100,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[Floats, Floats, Floats]:
    """Return what is lost to the choice of thresholds, and what is foreseen to come back with so many more rows.

    (n_labels,) each: the loss of the label's own F, NaN without positives; how much of it comes back; and the share of
    the rows that score highest and hold half of the positives, NaN without any.
    """
    n_positives = max(int(problem.truth.sum()), 1)
    n_bootstraps = min(n_bootstraps, max(_MOST_STEPS // n_positives, _FEWEST_REPLICATES))

    def fit(found: Histograms, first: int) -> tuple[Ints, Floats, Floats, Floats]:
        return _fits(problem, found, first, beta, n_bootstraps, seed)

    parts = over_histograms(problem, fit, n_jobs=n_jobs, progress=progress)
    positives, own_f, ratios, half_share = map(np.concatenate, zip(*parts, strict=True))
    n = problem.rows_of_label  # (n_labels,)
    loss, f_now = _loss(positives, own_f, ratios, is_useless)
    gain = loss * (1 - (n / (n + more)) ** EXPONENT)
    unseen = positives == 0
    gain[unseen] = (more / (n + 1 + more))[unseen] * _at_one_positive(f_now, positives)
    return np.where(unseen, np.nan, loss), gain, half_share


def _fits(
    problem: Problem, found: Histograms, first: int, beta: float, n_bootstraps: int, seed: int
) -> tuple[Ints, Floats, Floats, Floats]:
    """Fit labels from `first` on, of which what weighs at each score is known, to the rows and to replicates.

    Return their positives, (n_labels,); F at `RATIOS` of predictions to positives, (n_labels, n_ratios); these ratios
    of the fitted threshold, then of the best cuts of replicates, (n_labels, 1 + n_bootstraps); and the share of rows
    that hold half of the positives, (n_labels,).
    """
    steps, totals = found.steps.cuttable(problem), found.totals
    if problem.keep_sparse:  # No fit cuts at `missing`, nor below.
        found = found.where(found.lowest > problem.missing)
    counts = steps.offsets, steps.tp, steps.predicted - steps.tp, steps.positives
    # (n_labels, n_bootstraps), -1 for never.
    best, _ = resample(*counts, beta**2, seed, first, n_bootstraps)
    predicted = np.append(steps.predicted, 0)  # (n_steps + 1,), 0 for never at -1
    cuts = np.column_stack([best_steps(steps, beta**2), best])
    ratios = predicted[cuts] / np.maximum(steps.positives, 1)[:, np.newaxis]
    own_f = _own_f(found, steps.positives, beta**2)
    return steps.positives, own_f, ratios, _half_share(steps) / np.maximum(totals, 1)


def _own_f(found: Histograms, positives: Ints, beta2: float) -> Floats:
    """Return F-beta of each label at `RATIOS`, (n_labels, n_ratios), 0 without positives."""
    f = np.zeros((positives.size, RATIOS.size))
    supported = np.flatnonzero(positives > 0)
    f[supported] = f_at_ratios(found.take(supported), positives[supported], beta2)
    return f


def _half_share(steps: Steps) -> Floats:
    """Return how many rows score at or above each label's median positive, NaN without one."""
    is_above = 2 * steps.tp < steps.positives[steps.label]  # the median
    n_above = sums_of_groups(steps.offsets, is_above)  # (n_labels,)
    has_steps = np.diff(steps.offsets) > 0
    median = np.minimum(steps.offsets[:-1] + n_above, steps.offsets[1:] - 1)
    rows = np.full(steps.positives.size, np.nan)
    rows[has_steps] = steps.predicted[median[has_steps]]
    return rows


def _loss(
    positives: Ints, own_f: Floats, ratios: Floats, is_useless: Booleans
) -> tuple[Floats, Floats]:
    """Return the loss of each label, and the F that its fitted threshold is expected to have; 0 without positives."""
    others = np.flatnonzero(~is_useless)
    of_others = positives[others].astype(np.float64)
    siblings, size_of_label = means_of_siblings(of_others, own_f[others])
    own_share = of_others / (of_others + PRIOR_ROWS)
    loss = np.empty(positives.size)
    f_now = np.empty_like(loss)
    for labels in row_blocks(loss.size, RATIOS.size):  # Ratios of all would take much memory.
        # What is expected at each ratio: (n_labels of the block, n_ratios).
        expected = own_f[labels].copy()
        among = slice(*np.searchsorted(others, [labels.start, labels.stop]))
        own, at = own_share[among, np.newaxis], others[among] - labels.start
        expected[at] = own * expected[at] + (1 - own) * siblings[size_of_label[among]]

        # What cuts are expected to reach.
        reached = _read(expected, ratios[labels])  # (n_labels of the block, 1 + n_bootstraps)
        f_now[labels] = reached[:, 0]
        mean = (f_now[labels] + reached[:, 1:].mean(axis=1)) / 2
        loss[labels] = np.maximum(expected.max(axis=1) - mean, 0.0)
    return loss, f_now


def _read(f: Floats, ratios: Floats) -> Floats:
    """Read each label's F, given at `RATIOS`, at ratios between them, 0 at a ratio of 0."""
    inside = np.log(np.clip(ratios, RATIOS[0], RATIOS[-1]))
    place = np.interp(inside, np.log(RATIOS), np.arange(RATIOS.size))
    before = np.minimum(place.astype(np.int64), RATIOS.size - 2)
    share = place - before
    labels = np.arange(len(f))[:, np.newaxis]
    between = (1 - share) * f[labels, before] + share * f[labels, before + 1]
    return np.where(ratios > 0, between, 0.0)


def _at_one_positive(f_now: Floats, positives: Ints) -> float:
    """Return the F to be expected of a label with one positive: that of labels with few, 0 if all have none."""
    has_some = positives > 0
    if not has_some.any():
        return 0.0
    distance = np.log(positives[has_some]) / BANDWIDTH
    weight = np.exp(-0.5 * distance**2)
    total = weight.sum()
    if total == 0:  # All have very many.
        return float(f_now[has_some].mean())
    return float((weight * f_now[has_some]).sum() / total)
