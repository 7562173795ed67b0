"""A rule for new rows without labels, whose base rates may have moved since the calibration."""

from dataclasses import replace

from thresholds import _checks
from thresholds._arrays.memory import memory_left
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix
from thresholds._checks import Average, InputError
from thresholds.calibration import CalibratedRule, Calibrator, estimate_base_rates
from thresholds.fitting.expected import fit_expected
from thresholds.rule import FittedOn
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.describing import profile_of


def fit_adapted(
    calibrator: Calibrator,
    new_scores: object,
    average: Average = "macro",
    *,
    rates: object = None,
    beta: float = 1.0,
    per_label: bool = True,
    zero_division: float = 0.0,
    exact: bool = False,
    n_jobs: int | None = -1,
) -> CalibratedRule:
    """Fit a rule to new rows without labels, where labels are true more often than in the calibration, or less.

    Three steps, which can be taken one by one:

        rates = estimate_base_rates(calibrator, new_scores)
        adapted = calibrator.for_base_rates(rates)
        rule = CalibratedRule(adapted, fit_expected(adapted.transform(new_scores, dense=True)))

    It may be trusted as far as the base rates may: where the scores of positives, and those of negatives, are
    distributed as in the calibration. Where nearly all labels seem to become rarer, or more frequent, that is not
    followed unless base rates explain the scores better than weaker, or stronger, scores do (docs/base_rates.md).

    Parameters
    ----------
    calibrator : Calibrator, as a rule one of `calibrate`; that of a `CalibratedRule` is its `calibrator`
    new_scores : (n_samples, n_labels) real scores as `Calibrator.transform` takes them, dense or scipy.sparse
    rates : what `Calibrator.for_base_rates` takes; None to estimate them from `new_scores`
    average, beta, per_label, zero_division, exact, n_jobs : as in `fit_expected`

    Returns
    -------
    CalibratedRule
        For scores as `new_scores` are. Its `profile` is that of `new_scores`, so that it warns of others.

    Raises
    ------
    InputError
        As `estimate_base_rates`, `for_base_rates` and `fit_expected` do.

    Warns
    -----
    ScoreChangeWarning
        When no base rate explains the scores of some labels, or when base rates are not told from scores that have
        become weaker, or stronger: their probabilities are left as they were.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> truth = np.arange(1000) % 10 == 0
    >>> scores = (np.arange(1000) * 0.618) % 1 + truth / 2
    >>> calibrator = thresholds.calibrate(truth, scores)
    >>> new = np.concatenate([scores[truth]] * 9 + [scores])
    >>> rule = thresholds.fit_adapted(calibrator, new)
    >>> rule.predict([0.7, 0.9, 1.1]), thresholds.fit_empirical(truth, scores).predict([0.7, 0.9, 1.1])
    (array([1, 1, 1], dtype=uint8), array([0, 0, 1], dtype=uint8))
    """
    if not isinstance(calibrator, Calibrator):
        raise InputError(f"calibrator is {_checks.shown(calibrator)}, expected a Calibrator")
    scores = _checks.scores(new_scores, "new_scores", label_names=calibrator.label_names)
    _refuse_too_large(scores)
    if rates is None:
        rates = estimate_base_rates(calibrator, scores, n_jobs=n_jobs)
    adapted = calibrator.for_base_rates(rates)
    probabilities = adapted.transform(scores, dense=True)
    options = {
        "average": average,
        "beta": beta,
        "per_label": per_label,
        "zero_division": zero_division,
        "exact": exact,
    }
    rule = fit_expected(
        probabilities,
        average,
        beta=beta,
        per_label=per_label,
        zero_division=zero_division,
        exact=exact,
        label_names=calibrator.label_names,
        n_jobs=n_jobs,
    )
    positives = probabilities.sum(axis=0)  # (n_labels,), as many as are expected
    fitted = CalibratedRule(
        adapted,
        rule,
        fitted_on=FittedOn.from_scores(scores, calibrator.missing, positives),
        made_by=MadeBy.from_call(fit_adapted, options),
    )
    profile = profile_of(fitted, scores)
    return replace(fitted, calibrator=replace(adapted, profile=profile), kept=profile)


def _refuse_too_large(scores: Matrix) -> None:
    """Refuse sparse scores whose probabilities, of which none is absent, take more memory than is left."""
    n_bytes = 8 * scores.shape[0] * scores.shape[1]
    left = memory_left()
    if is_sparse(scores) and left is not None and n_bytes > left:
        raise InputError(
            f"new_scores has shape {scores.shape}, whose probabilities take {n_bytes / 1e9:,.1f} GB as absent scores"
            f" have some, too, and {left / 1e9:,.1f} GB of memory are left, expected fewer rows or labels"
        )
