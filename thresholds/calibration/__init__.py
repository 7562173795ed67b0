"""Are my scores probabilities, and how do they become ones?

`calibrate` fits isotonic or Platt calibration, for each label or for all; `measure_calibration` judges probabilities;
a `CalibratedRule` calibrates scores and decides.
"""

from thresholds.calibration.calibrator import Calibrator, calibrate
from thresholds.calibration.measures import CalibrationMeasures, measure_calibration
from thresholds.calibration.rule import CalibratedRule

__all__ = [
    "CalibratedRule",
    "CalibrationMeasures",
    "Calibrator",
    "calibrate",
    "measure_calibration",
]
