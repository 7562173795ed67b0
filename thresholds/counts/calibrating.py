"""Scores calibrated by counts of rows."""

from thresholds import _checks
from thresholds._checks import InputError
from thresholds.calibration.binned import Binned
from thresholds.calibration.calibrator import Calibrator, calibrate_binned
from thresholds.calibration.curves import BYS, METHODS, By, Method
from thresholds.counts.problem import CountedProblem


def calibrate(problem: CountedProblem, method: Method, by: By) -> Calibrator:
    """Fit a map that turns scores into probabilities to the bins of all rows."""
    _checks.option(method, "method", METHODS)
    _checks.option(by, "by", BYS)
    if not problem.counts_rows:
        raise InputError(
            "counts are of weighted rows, expected those of rows without sample_weight: how much weights differ is not"
            " counted"
        )
    found = Binned.of_histograms(problem.bins.merged(), problem.missing)
    return calibrate_binned(problem, found, method, by)
