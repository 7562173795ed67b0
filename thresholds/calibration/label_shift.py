"""Base rates of new rows without labels: from what, to what, and whether a base rate is all that has changed.

Formulas, intervals and their sources are in `mixtures.py`. `Calibrator.for_base_rates` uses what is found here.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Floats, Matrix
from thresholds._checks import InputError
from thresholds._engine.problem import Problem
from thresholds._results.result import names_of, rows_of
from thresholds._results.text import first_names
from thresholds._results.words import counted
from thresholds._significance import p_of_z, rejected
from thresholds.calibration.base_rates import (
    CHANGED,
    EITHER,
    MOVED,
    NAMES_SHOWN,
    SAME,
    UNKNOWN,
    BaseRates,
)
from thresholds.calibration.binned import binned
from thresholds.calibration.by_class import ScoresByClass, weights_between
from thresholds.calibration.calibrator import Calibrator
from thresholds.calibration.curves import moved_odds
from thresholds.calibration.mixtures import (
    ROUNDING,
    Mixture,
    deviate_of_shift,
    inside,
    interval,
    likeliest_rates,
    odds_of,
    p_of_fit,
)
from thresholds.calibration.points import Points, map_labels
from thresholds.calibration.shifts import followed_rates, unexplained
from thresholds.rule.watching.noticing import ScoreChangeWarning

# What the table says of a label of which nothing can be told.
_NOTHING_TOLD: dict[str, Any] = {
    "before": np.nan,
    "estimate": np.nan,
    "low": 0.0,
    "high": 1.0,
    "p_moved": np.nan,
    "p_fit": np.nan,
    "verdict": UNKNOWN,
}

_FEWEST = 5  # positives, and negatives, of a calibration that tells anything of a base rate
_TO_BOUND = 1.5  # times p-values of 0.001, which counts of some ten rows make too small
_MOST_LOG_ODDS = 40.0  # of a pooled curve to a label's own
_HALVINGS = 60


def estimate_base_rates(
    calibrator: Calibrator,
    new_scores: object,
    *,
    sample_weight: object = None,
    confidence: float = 0.95,
    alpha: float = 0.05,
    n_jobs: int | None = -1,
) -> BaseRates:
    """Estimate how often each label is true among new rows, from their scores alone.

    This holds where a label's positives score as the positives of the calibration did, and its negatives as those:
    p(score | label) is unchanged, and p(label) may be any. That is tested: if no mixture of both classes fits the new
    scores, then p(score | label) has changed, too, and the estimate may not be trusted. Where nearly all labels move
    one way, it is tested, too, whether other base rates explain the scores better than positives do that lie nearer to
    negatives than before, or farther off (`calibration/shifts.py`); else no shift of that direction is followed.

    Parameters
    ----------
    calibrator : Calibrator, as a rule one of `calibrate`
    new_scores : (n_samples, n_labels) real scores as `Calibrator.transform` takes them, dense or scipy.sparse
        Masked cells (-inf) are left out; a label without any other cell cannot be told.
    sample_weight : (n_samples,) non-negative
    confidence : of each interval, above 0 and below 1
    alpha : false discovery rate over labels, of what is called changed and of what is called moved
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.

    Returns
    -------
    BaseRates
        `estimate` has the highest likelihood given the calibrated probabilities, as the fixed point of EM has (Saerens
        et al. 2002).
        Intervals have the noise of the new rows and that of the calibration in them. They presume that rows are
        independent: where rows come in groups, such as several of one patient, intervals are too short.
        `rate` is what the estimate leaves to follow: its shift of log odds, drawn by its noise towards the shifts that
        all labels together make likely, and towards none (`calibration/shifts.py`). Where the verdict is "changed" or
        "unknown" it is the rate before, and so for all labels that are held back, "either" or "same". Of a
        calibrator that is pooled over labels, the same shift is taken from the rate that it presumes of the label, as a
        common curve is too high for rare labels, and too low for others.
        A label with fewer than 5 positives or 5 negatives in the calibration, or whose scores do not tell the two
        apart, is "unknown", with the interval [0, 1].

    Raises
    ------
    InputError
        For what `transform` refuses, and for a calibrator from an older file, which does not know its scores by truth.

    Warns
    -----
    ScoreChangeWarning
        When no base rate explains the scores of some labels, or when labels are "either".

    References
    ----------
    Saerens, Latinne and Decaestecker 2002, "Adjusting the outputs of a classifier to new a priori probabilities",
    sections 2.2 and 2.3; Alexandari, Kundaje and Shrikumar 2020, "Maximum likelihood with bias-corrected calibration
    is hard-to-beat at label shift adaptation".

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> truth = np.arange(1000) % 10 == 0
    >>> scores = (np.arange(1000) * 0.618) % 1 + truth
    >>> calibrator = thresholds.calibrate(truth, scores)
    >>> new = np.concatenate([scores[truth], scores[truth], scores[truth], scores])
    >>> rates = thresholds.estimate_base_rates(calibrator, new)
    >>> rates.table["before"].round(2), rates.table["estimate"].round(2), rates.verdict
    (array([0.1]), array([0.31]), array(['moved'], dtype='<U7'))
    """
    if not isinstance(calibrator, Calibrator):
        raise InputError(f"calibrator is {_checks.shown(calibrator)}, expected a Calibrator")
    confidence = _checks.inside(confidence, "confidence")
    alpha = _checks.inside(alpha, "alpha")
    known = calibrator.by_class
    if known is None:
        raise InputError(
            "calibrator does not know its scores by truth, as it is from an older file, expected one of calibrate"
        )
    problem = _problem_of(calibrator, new_scores, sample_weight)
    rates = _rates(calibrator, known, problem, confidence, alpha, n_jobs)
    _warn_of_changed(rates)
    _warn_of_either(rates)
    return rates


def rates_of(calibrator: Calibrator, scores: Matrix, alpha: float) -> BaseRates | None:
    """Estimate the base rates of checked scores without a warning; None where the calibrator knows too little."""
    if calibrator.by_class is None:
        return None
    problem = _problem_of(calibrator, scores, None)
    return _rates(calibrator, calibrator.by_class, problem, 0.95, alpha, -1)


def _problem_of(calibrator: Calibrator, new_scores: object, sample_weight: object) -> Problem:
    """Check new scores, which have no truth, and their weights."""
    from scipy import sparse

    sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", new_scores=new_scores)
    scores = _checks.scores(new_scores, "new_scores", label_names=calibrator.label_names)
    calibrator.validate(scores)
    weights, unit = _checks.weights(sample_weight, *scores.shape)
    no_truth = sparse.csr_array(scores.shape, dtype=np.uint8)
    names = calibrator.label_names
    return Problem(no_truth, scores, weights, unit, weights, calibrator.missing, names)


def _rates(
    calibrator: Calibrator,
    known: ScoresByClass,
    problem: Problem,
    confidence: float,
    alpha: float,
    n_jobs: int | None,
) -> BaseRates:
    """Estimate the base rates of a problem whose truth is not looked at."""
    presumed = moved_odds(known.rates, calibrator.curves.odds)  # (n_labels,)
    own_odds = np.ones(presumed.size)
    if calibrator.curves.pooled:
        known, own_odds = _of_own_rates(known)
    before = moved_odds(known.rates, calibrator.curves.odds)
    observed = moved_odds(known.observed, calibrator.curves.odds)
    likeliest = _likeliest(calibrator, problem, before, own_odds, n_jobs)
    counts = weights_between(problem, known.edges, n_jobs)
    mixture = Mixture.from_weights(*counts, known, before, observed)

    # Labels of which anything can be told: of very many these are few.
    n_fewest = np.minimum(mixture.positive.n, mixture.negative.n)
    at = np.flatnonzero((n_fewest >= _FEWEST - ROUNDING) & (mixture.n > 0))
    found = _found(mixture.taken(at), likeliest[at], confidence, alpha)
    if calibrator.curves.pooled:
        # The same shift, of what the common curve presumes.
        rate, own = found["rate"], before[at]
        moved = moved_odds(rate, odds_of(presumed[at]) / odds_of(own))
        found["rate"] = np.where(rate == own, presumed[at], moved)

    columns = {"name": names_of(calibrator.label_names, before.size)}
    for name, value in (_NOTHING_TOLD | {"before": before, "rate": presumed}).items():
        columns[name] = np.full(before.size, value)
        columns[name][at] = found.get(name, columns[name][at])
    return BaseRates(rows_of(columns), problem.n_samples, confidence, alpha, calibrator.label_names)


def _found(
    mixture: Mixture, likeliest: Floats, confidence: float, alpha: float
) -> dict[str, npt.NDArray[Any]]:
    """Estimate and test labels with enough rows of each class: the columns of the table that need it, (n_labels,)."""
    from scipy.special import ndtri

    # 1. The interval, at a rate that is kept inside (0, 1), by half a row of the new ones.
    half_a_row = 0.5 / (mixture.n + 1)
    now = np.clip(likeliest, half_a_row, 1 - half_a_row)
    low, high = interval(mixture, mixture.score_at(now), float(ndtri((1 + confidence) / 2)))
    low, high = np.minimum(low, likeliest), np.maximum(high, likeliest)

    # 2. What can be told at all.
    before = mixture.before
    is_certain = (before <= 0) | (before >= 1)
    unknown = is_certain | ((low <= 0) & (high >= 1))

    # 3. Has the rate moved, and do the scores mean the same?
    z = deviate_of_shift(mixture)
    p_moved = np.where(unknown, np.nan, np.minimum(2 * p_of_z(np.abs(z)), 1.0))
    p_fit = np.minimum(_TO_BOUND * p_of_fit(mixture, now), 1.0)
    changed = rejected(p_fit, alpha)
    moved = rejected(p_moved, alpha) & (np.sign(z) == np.sign(likeliest - before))

    # 4. What is followed is a shift of what the curve presumes, unless it may be none of base rates.
    told = ~(unknown | changed)
    followed = followed_rates(mixture, now, told)
    shifts = np.log(odds_of(np.where(changed, now, followed)) / odds_of(before))
    either = unexplained(mixture, now, shifts, told, changed)
    followed = np.where(either, before, followed)
    either &= moved
    verdicts = [changed, unknown, either, moved]
    return {
        "estimate": np.where(unknown, np.nan, likeliest),
        "low": np.where(unknown, 0.0, low),
        "high": np.where(unknown, 1.0, high),
        "p_moved": p_moved,
        "p_fit": p_fit,
        "verdict": np.select(verdicts, [CHANGED, UNKNOWN, EITHER, MOVED], SAME),
        "rate": followed,
    }


def _of_own_rates(known: ScoresByClass) -> tuple[ScoresByClass, Floats]:
    """Return what is known, as if a pooled curve had each label's own base rate, and the factors of its odds.

    One curve for all labels is too high for rare labels, and too low for frequent ones. The factor of a label makes
    the mean of its probabilities the share of positives that was seen; it is 1 where that is 0 or 1.
    """
    shares = known.shares()

    def moved(odds: Floats) -> Floats:
        return moved_odds(known.probabilities, np.broadcast_to(odds[:, np.newaxis], shares.shape))

    def mean(odds: Floats) -> Floats:
        return np.asarray((shares * moved(odds)).sum(axis=1))

    low, high = np.full((2, known.rates.size), _MOST_LOG_ODDS) * np.array([[-1.0], [1.0]])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_low = mean(np.exp(middle)) < known.observed
        low = np.where(is_low, middle, low)
        high = np.where(is_low, high, middle)
    odds = np.exp((low + high) / 2)
    is_certain = (known.observed <= 0) | (known.observed >= 1)
    is_found = np.abs(mean(odds) - known.observed) <= ROUNDING
    odds = np.where(is_found & ~is_certain, odds, 1.0)
    return replace(known, probabilities=moved(odds), rates=mean(odds)), odds


def _likeliest(
    calibrator: Calibrator,
    problem: Problem,
    before: Floats,
    own_odds: Floats,
    n_jobs: int | None,
) -> Floats:
    """Find the likeliest rates, (n_labels,), some labels at a time."""
    points = Points.of_bins(binned(problem, n_jobs=n_jobs).bins)
    starts = points.starts
    p = calibrator.curves.of_labels(starts, points.scores, n_jobs)  # (n_points,)
    p = moved_odds(p, np.repeat(own_odds, np.diff(starts)))
    rates = inside(before)

    def of_labels(first: int, last: int) -> Floats:
        own = points._replace(scores=p).group(first, last)
        weights = own.weights.astype(np.float64)
        return likeliest_rates(own.starts, own.scores, weights, rates[first:last])

    return np.concatenate(map_labels(starts, of_labels, n_jobs=n_jobs))


def _warn_of_changed(rates: BaseRates) -> None:
    """Warn of labels whose scores changed their meaning."""
    names = rates.table["name"][rates.verdict == CHANGED]
    if names.size:
        _checks.warn_caller(
            f"no base rate explains the scores of {counted(names.size, 'label')}"
            f" ({first_names(names, NAMES_SHOWN)}): they changed their meaning, and their base rates are left as they"
            " were",
            ScoreChangeWarning,
        )


def _warn_of_either(rates: BaseRates) -> None:
    """Warn of labels that move together, whose shifts are not followed."""
    names = rates.table["name"][rates.verdict == EITHER]
    if names.size:
        _checks.warn_caller(
            f"whether base rates of {counted(names.size, 'label')} ({first_names(names, NAMES_SHOWN)}) have moved, or"
            " scores tell positives less well than before, or better, cannot be told: most labels go one way, or"
            " changed their meaning; base rates are left as they were",
            ScoreChangeWarning,
        )
