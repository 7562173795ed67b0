"""Are my scores probabilities, and how do they become ones?

`calibrate` fits isotonic or Platt calibration, for each label or for all; `measure_calibration` judges probabilities;
a `CalibratedRule` calibrates scores and decides. `estimate_base_rates` tells from scores alone whether labels have
become more or less frequent, and `Calibrator.for_base_rates` follows them.
"""

from thresholds.calibration.base_rates import BaseRates
from thresholds.calibration.calibrator import Calibrator, calibrate
from thresholds.calibration.label_shift import estimate_base_rates
from thresholds.calibration.measures import CalibrationMeasures, measure_calibration
from thresholds.calibration.rule import CalibratedRule

__all__ = [
    "BaseRates",
    "CalibratedRule",
    "CalibrationMeasures",
    "Calibrator",
    "calibrate",
    "estimate_base_rates",
    "measure_calibration",
]
