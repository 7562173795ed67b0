"""The usual rules, fitted on the same rows."""

from typing import Any, Unpack

from thresholds import _checks
from thresholds._arrays.types import Matrix
from thresholds._checks import Average, InputError
from thresholds.calibration import CalibratedRule, calibrate
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.expected import fit_expected
from thresholds.fitting.options import FitArguments
from thresholds.fitting.top_k import fit_top_k
from thresholds.guards.options import Guard
from thresholds.rule import FixedRule, InstanceRule, Rule


def fit_all(
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    missing: float = 0.0,
    label_names: object = None,
    **options: Unpack[FitArguments],
) -> dict[str, Rule]:
    """Fit the usual rules on the same rows; of `options`, other rules than those of labels take what they know.

    Rules that look at no labels are left out where scores are no probabilities, outside [0, 1].
    """
    sample_weight = _checks.aligned_rows(
        sample_weight, "sample_weight", y_score=y_score, y_true=y_true
    )
    y_true, y_score, names = _checks.aligned(y_true, "y_true", y_score, "y_score", label_names)
    scores = _checks.scores(y_score)

    # What each kind of rule takes.
    about_rows: dict[str, Any] = {"sample_weight": sample_weight, "label_names": names}
    about_f = _some(options, "beta", "zero_division")
    about_run = _some(options, "n_jobs", "progress")

    def fit(average: Average, per_label: bool = True, guard: Guard = None) -> Rule:
        own: FitArguments = {**options, "per_label": per_label, "guard": guard}
        return fit_empirical(y_true, y_score, average, missing=missing, **about_rows, **own)

    # Rules from labels.
    top_k = fit_top_k(y_true, y_score, missing=missing, **about_rows, **about_f)
    rules: dict[str, Rule] = {
        "fixed 0.5": FixedRule(0.5, scores.shape[1], missing=missing, label_names=names),
        f"top-k (k = {top_k.k})": top_k,
        "macro": fit("macro"),
        "macro, shrink": fit("macro", guard="shrink"),
        "micro": fit("micro"),
        "micro, pool": fit("micro", guard="pool"),
        "micro-shared": fit("micro", per_label=False),
        "samples-shared": fit("samples", per_label=False),
    }

    # Rules from probabilities alone: the scores themselves, if they may be that, and calibrated ones.
    by_instance = InstanceRule(**about_f, label_names=names)
    if missing == 0 and _are_probabilities(scores):
        about_fit = about_rows | about_f | about_run
        rules["macro, label-free"] = fit_expected(scores, "macro", **about_fit)
        rules["micro, label-free"] = fit_expected(scores, "micro", **about_fit)
        rules["instance, label-free"] = by_instance
    calibrator = calibrate(y_true, y_score, "platt", missing=missing, **about_rows, **about_run)
    rules["instance, Platt"] = CalibratedRule(calibrator, by_instance)
    return rules


def _some(options: FitArguments, *names: str) -> dict[str, Any]:
    """Return those of some options that are given."""
    return {name: value for name, value in options.items() if name in names}


def _are_probabilities(scores: Matrix) -> bool:
    """Whether all scores lie in [0, 1]."""
    try:
        _checks.probabilities(scores)
    except InputError:
        return False
    return True
