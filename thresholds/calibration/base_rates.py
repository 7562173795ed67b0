"""Base rates of new rows without labels: from what, to what, and whether a base rate is all that has changed.

Formulas, intervals and their sources are in `mixtures.py`. `Calibrator.for_base_rates` uses what is found here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats, Matrix
from thresholds._checks import InputError
from thresholds._engine.problem import Problem
from thresholds.calibration.binned import binned
from thresholds.calibration.by_class import ScoresByClass, weights_between
from thresholds.calibration.calibrator import Calibrator
from thresholds.calibration.cells import Cells, map_labels
from thresholds.calibration.curves import moved_odds
from thresholds.calibration.mixtures import (
    Estimate,
    Mixture,
    NewRows,
    Sample,
    deviate_of_difference,
    deviate_of_shift,
    estimate,
    likeliest_rates,
    p_of_fit,
    score_of,
)
from thresholds.calibration.shifts import followed_rates
from thresholds.calibration.together import unexplained
from thresholds.results import (
    Result,
    Table,
    counted,
    first_names,
    in_percent,
    names_of,
    rows_of,
    shown_name,
)
from thresholds.rule.watching.noticing import ScoreChangeWarning
from thresholds.significance import p_of_z, rejected

MOVED = "moved"
EITHER = "either"
SAME = "same"
CHANGED = "changed"
UNKNOWN = "unknown"

_MEANINGS = {
    MOVED: "scores fit another base rate; positives that score otherwise now are not ruled out",
    EITHER: "base rates have moved, or scores tell less than before, or more: which cannot be told",
    SAME: "the base rate is not shown to have moved",
    CHANGED: "no base rate explains the scores: they changed their meaning",
    UNKNOWN: "cannot be told: too few positives, or scores that know too little",
}

# What the table says of a label of which nothing can be told.
_NOTHING_TOLD: dict[str, Any] = {
    "before": np.nan,
    "estimate": np.nan,
    "low": 0.0,
    "high": 1.0,
    "by_counts": np.nan,
    "by_counts_low": 0.0,
    "by_counts_high": 1.0,
    "p_moved": np.nan,
    "p_fit": np.nan,
    "verdict": UNKNOWN,
}

_FEWEST = 5  # positives, and negatives, of a calibration that tells anything of a base rate
_NAMES_SHOWN = 5
_TO_BOUND = 1.5  # times p-values of 0.001, which counts of some ten rows make too small
_ROUNDING = 1e-9
_MOST_LOG_ODDS = 40.0  # of a pooled curve to a label's own
_HALVINGS = 60


@dataclass(frozen=True, eq=False, repr=False)
class BaseRates(Result):
    """Base rates of new rows, label by label, found without labels by `estimate_base_rates`.

    Attributes
    ----------
    table : structured array (n_labels,)
        name; before (the base rate that the calibrator presumes; of one pooled over labels, each label's own in the
        calibration); estimate, low, high (of highest likelihood, and its interval); by_counts, by_counts_low,
        by_counts_high (by the share predicted at a cut); p_moved (p-value of no shift), p_fit (p-value of scores that
        mean the same); verdict; rate (what `Calibrator.for_base_rates` uses).
        The verdict is the first of these that applies: "changed" (no base rate explains the scores: they changed
        their meaning), "unknown" (the rate cannot be told: both intervals are [0, 1] then), "either" (nearly all shifts
        go one way, as they do where scores tell positives less well than before, or better, and which of the two it is
        cannot be told; or most labels are "changed"), "moved" (the scores fit another base rate; that positives score
        otherwise now is not ruled out), "same" (not shown to have moved).
    n_samples : new rows
    confidence : of each interval
    alpha : false discovery rate of labels that are called changed, and of those that are called moved
    label_names : tuple of str, or None
    """

    _shown = 20

    table: npt.NDArray[Any]
    n_samples: int
    confidence: float
    alpha: float
    label_names: tuple[str, ...] | None = None

    @property
    def verdict(self) -> npt.NDArray[np.str_]:
        """The verdict on each label."""
        return np.asarray(self.table["verdict"])

    @property
    def rates(self) -> Floats:
        """The rate of each label that `Calibrator.for_base_rates` uses: float64 (n_labels,)."""
        return np.asarray(self.table["rate"])

    def sentence(self, label: int | str) -> str:
        """Say of one label, given by name or position, what has happened to its base rate."""
        place = _checks.place_of(label, self.label_names, self.table.size)
        row = self.table[place]
        name = shown_name(row["name"])
        if row["verdict"] == MOVED:
            return (
                f"the base rate of {name} seems to have moved from {_percent(row['before'])} to"
                f" {_percent(row['estimate'])} [{_interval(row['low'], row['high'])}]: its scores fit that; that its"
                " positives score otherwise now is not ruled out"
            )
        if row["verdict"] == EITHER:
            rises = row["estimate"] > row["before"]
            return (
                f"the base rate of {name} has {'risen' if rises else 'fallen'}, or its positives score"
                f" {'higher' if rises else 'lower'} now: which it is cannot be told, as most"
                " labels go that way, or changed their meaning"
            )
        if row["verdict"] == SAME:
            by_chance = ""
            if not row["low"] <= row["before"] <= row["high"]:
                by_chance = (
                    f" by itself, but of {counted(self.table.size, 'label')} some look so by chance"
                )
            return (
                f"the base rate of {name} is not shown to have moved from {_percent(row['before'])}; it may be"
                f" {_interval(row['low'], row['high'])}{by_chance}"
            )
        if row["verdict"] == CHANGED:
            return f"no base rate explains the scores of {name}: they changed their meaning"
        return f"the base rate of {name} cannot be told from its scores"

    def in_brief(self, k: int = _NAMES_SHOWN) -> str:
        """Say in a few lines which base rates moved and which scores changed their meaning, naming k labels of each."""
        return "\n".join(self._lines(_checks.count(k, "k", 1)))

    def _records(self) -> npt.NDArray[Any]:
        """Return the table."""
        return self.table

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Sum up by verdict, then show the k labels whose rates moved most."""
        about = (
            f"base rates of {counted(self.table.size, 'label')} on {counted(self.n_samples, 'row')} without labels,"
            " if positives and negatives score as they did in the calibration, and rows are independent:"
        )
        yield "\n".join([about, *self._lines(_NAMES_SHOWN)])
        rows = self.table[self._largest()[:k]]
        if not rows.size:
            return
        level = in_percent(self.confidence)
        head = [
            ("", "base rate", "", level, "by counts", level, ""),
            ("label", "before", "now", "interval", "at a cut", "interval", "verdict"),
        ]
        body = [
            (
                str(row["name"]),
                _percent(row["before"]),
                _percent(row["estimate"]),
                _interval(row["low"], row["high"]),
                _percent(row["by_counts"]),
                _interval(row["by_counts_low"], row["by_counts_high"]),
                str(row["verdict"]),
            )
            for row in rows
        ]
        title = f"the {len(rows)} of {self.table.size:,} labels that moved most:"
        yield Table(head, body, title=title if len(rows) < self.table.size else "", left=(0, 6))

    def _lines(self, k: int) -> Iterator[str]:
        """Say how many labels have each verdict, naming k of those that moved or changed."""
        for verdict, meaning in _MEANINGS.items():
            names = self.table["name"][self.verdict == verdict]
            if names.size:
                is_named = verdict in (MOVED, EITHER, CHANGED)
                named = f" ({first_names(names, k)})" if is_named else ""
                yield f"{counted(names.size, 'label')}: {meaning}{named}"

    def _largest(self) -> npt.NDArray[np.intp]:
        """Order labels: those that can be told first, by how clearly they moved or changed."""
        worst = np.fmin(self.table["p_moved"], self.table["p_fit"])
        return np.lexsort((np.where(np.isnan(worst), 1.0, worst), self.verdict == UNKNOWN))


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
    p(score | label) is unchanged, and p(label) may be any. Two estimates are made, with intervals, and this is tested:
    if the two disagree by more than noise, or if no mixture of both classes fits the new scores, then p(score | label)
    has changed, too, and neither estimate may be trusted. Where nearly all labels move one way, it is tested, too,
    whether other base rates explain the scores better than positives do that lie nearer to negatives than before, or
    farther off (`calibration/together.py`); else no shift of that direction is followed.

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
        et al. 2002). `by_counts` is (share predicted - fpr) / (tpr - fpr) at the cut from which scores are at least as
        frequent among positives as among negatives, tpr and fpr being those of the calibration (Forman 2008).
        Intervals have the noise of the new rows and that of the calibration in them. They presume that rows are
        independent: where rows come in groups, such as several of one patient, intervals are too short.
        `rate` is what the estimate leaves to follow: its shift of log odds, drawn by its noise towards the shifts that
        all labels together make likely, and towards none (`calibration/shifts.py`). Where the verdict is "changed" or
        "unknown" it is the rate before, and so for all labels that are held back, "either" or "same". Of a
        calibrator that is pooled over labels, the same shift is taken from the rate that it presumes of the label, as a
        common curve is too high for rare labels, and too low for others.
        A label with fewer than 5 positives or 5 negatives in the calibration, or whose scores do not tell the two
        apart, is "unknown", with intervals [0, 1].

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
    sections 2.2 and 2.3; Forman 2008, "Quantifying counts and costs via classification", section 2; Lipton, Wang and
    Smola 2018, "Detecting and correcting for label shift with black box predictors", section 3; Alexandari, Kundaje and
    Shrikumar 2020, "Maximum likelihood with bias-corrected calibration is hard-to-beat at label shift adaptation".

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


def checked_rates(rates: object, before: Floats, label_names: Sequence[str] | None) -> Floats:
    """Check the base rates that a calibrator is told, (n_labels,), in the order of its labels."""
    if isinstance(rates, BaseRates):
        if rates.rates.size != before.size:
            raise InputError(
                f"rates is about {counted(rates.rates.size, 'label')}, expected {before.size} as the calibrator is"
            )
        order = _checks.places(rates.label_names, label_names, "rates", "those of the calibrator")
        return rates.rates if order is None else rates.rates[order]
    if isinstance(rates, Mapping):
        after = before.copy()
        for name, rate in rates.items():
            place = _checks.place_of(name, label_names, before.size)
            after[place] = _checks.inside(rate, f"the base rate of {shown_name(name)}")
        return after
    values = _checks.numbers(rates, "rates").astype(np.float64)
    if values.shape != before.shape:
        raise InputError(f"rates has shape {values.shape}, expected {before.size} numbers")
    bad = np.flatnonzero(~((values > 0) & (values < 1)))
    if bad.size:
        raise InputError(f"rates has {values[bad[0]]} at {bad[0]}, expected numbers inside (0, 1)")
    return values


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
    own_odds = None
    if calibrator.curves.pooled:
        known, own_odds = _of_own_rates(known)
    before = moved_odds(known.rates, calibrator.curves.odds)
    likeliest, mixture = _counted(calibrator, known, problem, before, own_odds, n_jobs)
    observed = moved_odds(known.observed, calibrator.curves.odds)

    # Labels of which anything can be told: of very many these are few.
    n_fewest = np.minimum(mixture.positive.n, mixture.negative.n)
    at = np.flatnonzero((n_fewest >= _FEWEST - _ROUNDING) & (mixture.new.n > 0))
    tellable = _Tellable(
        known.reordered(at), mixture.of_labels(at), before[at], likeliest[at], observed[at]
    )
    found = _found(tellable, confidence, alpha)
    if own_odds is not None:
        rate, shift = found["rate"], _odds(presumed[at]) / _odds(before[at])
        found["rate"] = np.where(rate == before[at], presumed[at], moved_odds(rate, shift))

    of_others = _NOTHING_TOLD | {"before": before, "rate": presumed}
    columns = {"name": names_of(calibrator.label_names, before.size)}
    for name, value in of_others.items():
        columns[name] = np.full(before.size, value)
        columns[name][at] = found.get(name, columns[name][at])
    return BaseRates(rows_of(columns), problem.n_samples, confidence, alpha, calibrator.label_names)


class _Tellable(NamedTuple):
    """Labels of which something may be told, with enough rows of each class; (n_labels,) each but for the first two."""

    known: ScoresByClass
    mixture: Mixture
    before: Floats
    likeliest: Floats
    # The share of positives in the calibration, for the base rates that it presumes.
    observed: Floats


def _found(labels: _Tellable, confidence: float, alpha: float) -> dict[str, npt.NDArray[Any]]:
    """Estimate and test: the columns of the table that need it, (n_labels,) each."""
    from scipy.special import ndtri

    known, mixture, before, likeliest, observed = labels

    # Both estimates are from the mean of a function of bins.
    functions = _functions_of(known, before, likeliest, mixture.new.n)
    deviate = float(ndtri((1 + confidence) / 2))
    by_likelihood = estimate(mixture, functions.likelihood, deviate).reaching(likeliest)
    by_counts = estimate(mixture, functions.is_predicted, deviate)

    # What can be told at all.
    is_certain = (before <= 0) | (before >= 1)
    unknown = is_certain | ~by_likelihood.is_told
    by_likelihood = _known(by_likelihood, unknown)
    by_counts = _known(by_counts, unknown)

    # Has the rate moved, and do the scores mean the same?
    n_fit = mixture.positive.n + mixture.negative.n
    z = deviate_of_shift(mixture, functions.before, observed, n_fit)
    p_moved = np.where(unknown, np.nan, _two_sided(z))
    apart = deviate_of_difference(
        mixture, functions.likelihood, functions.is_predicted, functions.rate
    )
    apart = np.where(by_likelihood.is_told & by_counts.is_told, apart, 0.0)
    p_fit = np.fmin(p_of_fit(mixture, functions.rate), _two_sided(apart))
    p_fit = np.minimum(2 * _TO_BOUND * p_fit, 1.0)  # of two
    changed = rejected(p_fit, alpha)
    moved = rejected(p_moved, alpha) & (np.sign(z) == np.sign(likeliest - before))

    # What is followed is a shift of what the curve presumes, unless it may be none of base rates.
    told = ~(unknown | changed)
    presumed = _inside(known.rates)
    followed = followed_rates(mixture, presumed, known.probabilities, before, functions.rate, told)
    shifts = np.log(_odds(np.where(changed, functions.rate, followed)) / _odds(before))
    log_ratios = np.log(_odds(known.probabilities) / _odds(presumed)[:, np.newaxis])
    either = unexplained(mixture, log_ratios, observed, functions.rate, shifts, told, changed)
    followed = np.where(either, before, followed)
    either &= moved
    return {
        "estimate": np.where(unknown, np.nan, likeliest),
        "low": by_likelihood.low,
        "high": by_likelihood.high,
        "by_counts": by_counts.rate,
        "by_counts_low": by_counts.low,
        "by_counts_high": by_counts.high,
        "p_moved": p_moved,
        "p_fit": p_fit,
        "verdict": np.select(
            [changed, unknown, either, moved], [CHANGED, UNKNOWN, EITHER, MOVED], SAME
        ),
        "rate": followed,
    }


def _of_own_rates(known: ScoresByClass) -> tuple[ScoresByClass, Floats]:
    """Return what is known, as if a pooled curve had each label's own base rate, and the factors of its odds.

    One curve for all labels is too high for rare labels, and too low for frequent ones. The factor of a label makes
    the mean of its probabilities the share of positives that was seen; it is 1 where that is 0 or 1.
    """
    shares = known.shares()

    def mean(odds: Floats) -> Floats:
        p = moved_odds(known.probabilities, np.broadcast_to(odds[:, np.newaxis], shares.shape))
        return np.asarray((shares * p).sum(axis=1))

    low, high = np.full((2, known.rates.size), _MOST_LOG_ODDS) * np.array([[-1.0], [1.0]])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_low = mean(np.exp(middle)) < known.observed
        low = np.where(is_low, middle, low)
        high = np.where(is_low, high, middle)
    odds = np.exp((low + high) / 2)
    is_certain = (known.observed <= 0) | (known.observed >= 1)
    is_found = np.abs(mean(odds) - known.observed) <= _ROUNDING
    odds = np.where(is_found & ~is_certain, odds, 1.0)
    p = moved_odds(known.probabilities, np.broadcast_to(odds[:, np.newaxis], shares.shape))
    return replace(known, probabilities=p, rates=mean(odds)), odds


def _odds(rates: Floats) -> Floats:
    """Return the odds of rates."""
    inside = _inside(rates)
    return inside / (1 - inside)


class _Functions(NamedTuple):
    """Functions of bins whose means tell rates, each (n_labels, N_BINS), and the rate of highest likelihood."""

    rate: Floats  # (n_labels,), inside (0, 1)
    likelihood: Floats  # the slope of the likelihood at that rate
    before: Floats  # at the rate before
    # 1 where scores are at least as frequent among positives as among negatives.
    is_predicted: Floats


def _functions_of(
    known: ScoresByClass, before: Floats, likeliest: Floats, n_new: Floats
) -> _Functions:
    """Choose the functions; rates are kept inside (0, 1), by half a row of the new ones."""
    presumed = _inside(known.rates)
    half_a_row = 0.5 / (n_new + 1)
    rate = np.clip(likeliest, half_a_row, 1 - half_a_row)
    p = known.probabilities
    return _Functions(
        rate=rate,
        likelihood=score_of(presumed, p, rate),
        before=score_of(presumed, p, _inside(before)),
        is_predicted=(p >= known.rates[:, np.newaxis]).astype(np.float64),
    )


def _counted(
    calibrator: Calibrator,
    known: ScoresByClass,
    problem: Problem,
    before: Floats,
    own_odds: Floats | None,
    n_jobs: int | None,
) -> tuple[Floats, Mixture]:
    """Find the likeliest rates, (n_labels,), and count the new rows in bins, some labels at a time."""
    cells = Cells.of_bins(binned(problem, n_jobs=n_jobs).bins)
    rates = _inside(before)

    def of_labels(first: int, last: int) -> Floats:
        own = cells.group(first, last)
        p = calibrator.curves.of_cells(own.starts, own.scores, first)
        if own_odds is not None:
            p = moved_odds(p, np.repeat(own_odds[first:last], np.diff(own.starts)))
        return likeliest_rates(own.starts, p, own.weights.astype(np.float64), rates[first:last])

    likeliest = np.concatenate(map_labels(cells.starts, of_labels, n_jobs=n_jobs))
    weights, squared = weights_between(problem, known.edges, n_jobs)

    # How the curve spreads positives and negatives over the bins.
    spread = known.shares()
    positive = Sample.of(known.positives, spread * known.probabilities)
    negative = Sample.of(known.negatives, spread * (1 - known.probabilities))
    return likeliest, Mixture(NewRows.of(weights, squared), positive, negative)


def _inside(rates: Floats) -> Floats:
    """Return rates inside (0, 1); what is found where they were not is not used."""
    return np.clip(rates, _ROUNDING, 1 - _ROUNDING)


def _two_sided(z: Floats) -> Floats:
    """Return the p-value of normal deviates of either sign."""
    return np.minimum(2 * p_of_z(np.abs(z)), 1.0)


def _known(found: Estimate, unknown: Booleans) -> Estimate:
    """Take back what cannot be told."""
    return Estimate(
        np.where(unknown, np.nan, found.rate),
        np.where(unknown, 0.0, found.low),
        np.where(unknown, 1.0, found.high),
    )


def _warn_of_changed(rates: BaseRates) -> None:
    """Warn of labels whose scores changed their meaning."""
    names = rates.table["name"][rates.verdict == CHANGED]
    if names.size:
        _checks.warn_caller(
            f"no base rate explains the scores of {counted(names.size, 'label')}"
            f" ({first_names(names, _NAMES_SHOWN)}): they changed their meaning, and their base rates are left as they"
            " were",
            ScoreChangeWarning,
        )


def _warn_of_either(rates: BaseRates) -> None:
    """Warn of labels that move together, whose shifts are not followed."""
    names = rates.table["name"][rates.verdict == EITHER]
    if names.size:
        _checks.warn_caller(
            f"whether base rates of {counted(names.size, 'label')} ({first_names(names, _NAMES_SHOWN)}) have moved, or"
            " scores tell positives less well than before, or better, cannot be told: most labels go one way, or"
            " changed their meaning; base rates are left as they were",
            ScoreChangeWarning,
        )


def _percent(rate: float) -> str:
    """Write a rate."""
    return "unknown" if np.isnan(rate) else f"{100 * rate:.3g} %"


def _interval(low: float, high: float) -> str:
    """Write an interval of rates."""
    return f"{100 * low:.3g} to {100 * high:.3g} %"
