"""How far each threshold would move on other rows, and how much of its F is luck: the bootstrap, on staircases.

A replicate weighs the rows anew, each by a Poisson(1) number, and takes the best cut (`_kernels/bootstrap.py`). Scores
are sorted once: a replicate changes what lies between the steps of the staircase, not their order.

The F of a threshold on the rows that it was chosen on is too high. What is left of it on other rows is estimated from
the rows that weigh nothing in a replicate, e^-1 of all, which its threshold has not seen. Their counts are added up
over the replicates; F of these counts, L, is too low, as a replicate has seen only 1 - e^-1 of the rows. The claimed F
and L are weighed as Efron and Tibshirani do in their estimate .632+,

    corrected = (1 - w) F + w L,    w = s / (1 - (1 - s) R),    s = 1 - e^-1,
    R = (F - L) / (F - G),    G the F of as many predictions made by chance,

with L raised to G and lowered to F where it lies beyond. R is 0 where nothing is overfitted, and 1 where all of F is.

The interval is about the F that the fitted threshold has in the population. Wilson's (`metrics/intervals.py`) would be
right for a threshold that was not chosen on these rows. It is laid around the corrected F in two ways: its bounds for
the claimed F, lowered by the optimism; and its bounds for as many predictions and positives, with the true positives
that give the corrected F. The lower of both lower bounds counts, and the higher of both upper ones.
`experiments/bootstrap/intervals.txt` has how often it holds.

References
----------
Efron and Tibshirani 1997, "Improvements on cross-validation: the .632+ bootstrap method", sections 3 and 4. Efron 1983,
"Estimating the error rate of a prediction rule". Hanley and MacGibbon 2006, "Creating non-parametric bootstrap samples
using Poisson frequencies".
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Floats, Ints, Numbers
from thresholds._checks import Placement
from thresholds._engine.choosing import best_steps
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms, over_histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.bootstrap import resample
from thresholds._results.fields import record
from thresholds._results.result import Drawable, Result, names_of, rows_of
from thresholds._results.tables import Table
from thresholds._results.words import are, counted, in_percent, n_more
from thresholds.data.folds import SEED
from thresholds.fitting.options import FitOptions
from thresholds.metrics.intervals import score_interval

_SEEN = 1 - math.exp(-1)  # the share of the rows that have weight in a replicate
_APART = 3  # times as many rows predicted at one end of an interval as at the other: worth a word


@record
class ThresholdBootstrap(Result, Drawable):
    """How far thresholds would move on other rows, and what is left of the F that they claim.

    Attributes
    ----------
    table : structured array (n_labels,): `table["f"]` is a column, `table[3]` a row
        name, n_positives; threshold (of the fit), threshold_low and threshold_high; predicted (the share of the rows
        that it predicts, in [0, 1], as scores have no common scale), predicted_low and predicted_high; f (claimed: on
        the rows of the fit), optimism (how much of it is luck), f_corrected (f - optimism), f_low and f_high (an
        interval for the F that the threshold has in the population); never (the share of the replicates that do not
        predict the label)
    macro_f, macro_f_corrected : means of f and f_corrected over all labels
    n_samples, n_bootstraps, confidence, beta : of the bootstrap
    random_state : the seed, also where none was given
    """

    _shown = 8
    _display = "BootstrapDisplay.from_bootstrap"

    table: npt.NDArray[np.void]
    macro_f: float
    macro_f_corrected: float
    n_samples: int
    n_bootstraps: int
    confidence: float
    beta: float
    random_state: int

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.table.size)

    @property
    def macro_optimism(self) -> float:
        """How much of macro-F is luck."""
        return self.macro_f - self.macro_f_corrected

    @property
    def spread(self) -> Floats:
        """How many times as many rows one end of each threshold's interval predicts as the other, (n_labels,)."""
        # Half a row: an end that predicts nothing has a ratio, too.
        half = 0.5 / self.n_samples
        return np.asarray(
            np.maximum(self.table["predicted_high"], half)
            / np.maximum(self.table["predicted_low"], half)
        )

    @property
    def least_certain(self) -> Ints:
        """Labels by how far their thresholds may move, by `spread`, those that may move furthest first, (n_labels,)."""
        return np.argsort(-self.spread, kind="stable")

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list the k labels whose thresholds are least certain."""
        apart = int(np.count_nonzero(self.spread > _APART))
        interval = f"{in_percent(self.confidence)} interval"
        yield (
            f"macro F{self.beta:g} of the fitted thresholds: {self.macro_f:.4f} on these"
            f" {self.n_samples:,} rows, about {self.macro_f_corrected:.4f} on others;"
            f" {self.macro_optimism:.4f} is luck ({self.n_bootstraps:,} bootstrap samples)\n"
            f"{apart:,} of {counted(self.n_labels, 'threshold')} {are(apart)} uncertain: one end of the"
            f" {interval} predicts more than {_APART} times as many rows as the other"
        )
        if not k:
            return
        head = [
            ("least certain", "", "threshold", "rows predicted", f"F{self.beta:g}", "", ""),
            ("", "positives", interval, interval, "here", "corrected", interval),
        ]
        body = [
            (
                str(row["name"]),
                f"{row['n_positives']:,}",
                f"{_in_words(row['threshold_low'])} to {_in_words(row['threshold_high'])}",
                f"{row['predicted_low']:.2%} to {row['predicted_high']:.2%}",
                f"{row['f']:.3f}",
                f"{row['f_corrected']:.3f}",
                f"{row['f_low']:.3f} to {row['f_high']:.3f}",
            )
            for row in self.table[self.least_certain[:k]]
        ]
        yield Table(head, body, note=n_more(self.n_labels, k))


def bootstrap_thresholds(
    y_true: object,
    y_score: object,
    *,
    beta: float = 1.0,
    n_bootstraps: int = 200,
    confidence: float = 0.95,
    random_state: int | None = SEED,
    zero_division: float = 0.0,
    placement: Placement = "low",
    missing: float = 0.0,
    unknown: object = None,
    keep_sparse: bool | None = None,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> ThresholdBootstrap:
    """Tell how far the best threshold of each label would move on other rows, and how much of its F is luck.

    Thresholds are those of `fit_empirical` for macro-F without a guard. Each label is fitted anew to bootstrap samples
    of the rows, at the cost of a sweep over its positives.

    Parameters
    ----------
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
    beta, zero_division, placement, missing, unknown, keep_sparse, label_names : as in `fit_empirical`
    n_bootstraps : how many bootstrap samples (replicates), at least 2
    confidence : of the intervals, in (0, 1)
    random_state : seed; the same samples each time with 0 (default), others with None
        What is drawn depends on the seed, the position of the label and the number of the replicate alone.
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    ThresholdBootstrap
        1. threshold_low and threshold_high, predicted_low and predicted_high are quantiles of the replicates: of R the
           k-th smallest and the k-th largest, k = (R + 1) (1 - confidence) / 2 rounded down, at least 1. A threshold
           is `+inf`, and predicts 0, in a replicate in which no positive has weight. Shares are of the rows given.
        2. f_low and f_high bound the F that the fitted threshold has in the population: in simulations of 95 %
           intervals in 94 to 99 % of the samples.
        3. A label without positives: threshold `+inf`, F `zero_division`, no optimism, f_low 0 and f_high 1.
        4. The labels' replicates are independent, as they are not in the rows. So there is no interval of the macro
           figure; `compare` has one on rows that a rule was not fitted to.

    Raises
    ------
    InputError
        As `fit_empirical`; for fewer than 2 replicates, or a bad `confidence` or `random_state`.

    Notes
    -----
    In a replicate each row weighs a Poisson(1) number; that is the bootstrap of rows, but for the total, which varies.
    Positives of one score together draw a Poisson number of their count, and so do all negatives between two steps: a
    sum of Poisson numbers is one. Nothing is sorted again. Ties: of cuts of equal F in a replicate the highest.

    Intervals of thresholds show what the fit depends on. They are no confidence intervals of the population's best
    threshold: the bootstrap of a place of a maximum is not consistent (Abrevaya and Huang 2005).

    The correction is .632+ (formula and sources in `thresholds.validation.bootstrap`). About a quarter of the luck is
    left, in simulations and on real files. With many rare labels `cross_fit` is the safer judge of macro-F.

    References
    ----------
    Efron and Tibshirani 1997, sections 3 and 4. Lipton et al. 2013, section 8 (the winner's curse). Abrevaya and Huang
    2005, "On the bootstrap of the maximum score estimator".

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((500, 2)) < [0.05, 0.3]
    >>> y_score = rng.normal(size=(500, 2)) + 2 * y_true
    >>> found = thresholds.bootstrap_thresholds(y_true, y_score)
    >>> found.table["f"].round(2)
    array([0.67, 0.77])
    >>> found.table["f_corrected"].round(2)
    array([0.6 , 0.75])
    """
    options = FitOptions(
        beta=beta,
        zero_division=zero_division,
        placement=placement,
        guard=None,
        keep_sparse=keep_sparse,
        n_jobs=n_jobs,
        progress=progress,
    )
    n_bootstraps = _checks.count(n_bootstraps, "n_bootstraps", 2)
    confidence = _checks.inside(confidence, "confidence")
    seed = _seed(random_state)
    problem = Problem.of(
        y_true,
        y_score,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=options.keep_sparse,
    )

    def of_labels(found: Histograms, first: int) -> dict[str, npt.NDArray[Any]]:
        return _columns(problem, options, n_bootstraps, confidence, seed, found, first)

    parts = over_histograms(problem, of_labels, n_jobs=options.n_jobs, progress=options.progress)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    table = rows_of({"name": names_of(problem.label_names, problem.n_labels), **columns})
    return ThresholdBootstrap(
        table,
        macro_f=float(table["f"].mean()),
        macro_f_corrected=float(table["f_corrected"].mean()),
        n_samples=problem.n_samples,
        n_bootstraps=n_bootstraps,
        confidence=confidence,
        beta=options.beta,
        random_state=seed,
    )


def _in_words(threshold: float) -> str:
    """Show a threshold; an infinite one predicts nothing."""
    return "never" if threshold == np.inf else f"{threshold:.3g}"


def _seed(random_state: object) -> int:
    """Check a seed, or draw one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return _checks.seed(random_state)


def _columns(
    problem: Problem,
    options: FitOptions,
    n_bootstraps: int,
    confidence: float,
    seed: int,
    found: Histograms,
    first: int,
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of the table, but for their names, for some labels, the first of which has that number."""
    steps = found.steps.cuttable(problem)
    fitted = steps.at(best_steps(steps, options.beta**2))
    best, unseen = resample(
        steps.offsets,
        steps.tp,
        steps.predicted - steps.tp,
        steps.positives,
        options.beta**2,
        seed,
        first,
        n_bootstraps,
    )

    # The cuts of the replicates, as they lie in the rows given: (n_labels, n_bootstraps).
    cuts = steps.at(best.reshape(-1))
    thresholds = cuts.placed(problem, options.placement).reshape(best.shape)
    n_rows = np.maximum(problem.rows_of_label[first : first + found.n_labels], 1)  # (n_labels,)
    predicted = cuts.predicted.reshape(best.shape) / n_rows[:, np.newaxis]
    threshold_low, threshold_high = _ends(thresholds, confidence)
    predicted_low, predicted_high = _ends(predicted, confidence)

    # What is claimed, and what is left of it.
    counts = np.stack([fitted.tp, fitted.predicted, fitted.positives]).astype(np.float64)
    tp, predicted_rows, positives = counts
    claimed = f_of_counts(tp, predicted_rows, positives, options.beta, options.zero_division)
    corrected = _corrected(claimed, counts, unseen, n_rows, options.beta)
    low, high = _interval(claimed, corrected, counts, options.beta, confidence)
    return {
        "n_positives": fitted.positives,
        "threshold": fitted.placed(problem, options.placement),
        "threshold_low": threshold_low,
        "threshold_high": threshold_high,
        "predicted": fitted.predicted / n_rows,
        "predicted_low": predicted_low,
        "predicted_high": predicted_high,
        "f": claimed,
        "optimism": claimed - corrected,
        "f_corrected": corrected,
        "f_low": low,
        "f_high": high,
        "never": np.mean(best < 0, axis=1),
    }


def _ends(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the ends of the middle of some values (n_labels, n_values), themselves among the values."""
    n_values = values.shape[1]
    beyond = int((n_values + 1) * (1 - confidence) / 2 + 1e-9)  # which rounding must not lower
    k = max(beyond, 1)
    rising = np.sort(values, axis=1)
    return rising[:, k - 1], rising[:, n_values - k]


def _corrected(
    claimed: Floats, counts: Numbers, unseen: Floats, n_rows: Ints, beta: float
) -> Floats:
    """Return the .632+ estimate of F from the counts (3, n_labels) of the rows, and of those that were not seen."""
    _, predicted, positives = counts
    by_chance = f_of_counts(predicted * positives / n_rows, predicted, positives, beta, 0.0)
    unseen_tp, unseen_predicted, unseen_positives = unseen
    left = f_of_counts(unseen_tp, unseen_predicted, unseen_positives, beta, 0.0)

    # Nothing can be said where every replicate has seen all positives.
    left = np.where(unseen_positives > 0, left, claimed)
    left = np.minimum(np.maximum(left, by_chance), claimed)
    gain = claimed - by_chance
    overfitted = (claimed - left) / np.where(gain > 0, gain, 1.0)
    weight = _SEEN / (1 - (1 - _SEEN) * overfitted)
    return np.asarray(claimed - weight * (claimed - left))


def _interval(
    claimed: Floats, corrected: Floats, counts: Numbers, beta: float, confidence: float
) -> tuple[Floats, Floats]:
    """Return bounds of F in the population, from the claimed and the corrected F of the labels."""
    tp, predicted, positives = counts
    optimism = claimed - corrected
    low, high = score_interval(tp, predicted, positives, beta, confidence)

    # As many true positives as give the corrected F.
    beta2 = beta * beta
    fewer = np.minimum(corrected * (beta2 * positives + predicted) / (1 + beta2), tp)
    lower, higher = score_interval(fewer, predicted, positives, beta, confidence)
    return np.clip(np.minimum(low - optimism, lower), 0, 1), np.clip(
        np.maximum(high - optimism, higher), 0, 1
    )
