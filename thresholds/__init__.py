"""Exact F-measure thresholds for multi-label classifiers.

Scores become decisions by one threshold for each label; the thresholds that maximise macro, micro or
per-instance F1 on labelled data are found exactly. Start at `fit_empirical`.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "BatchEffect",
    "CalibratedRule",
    "CalibrationMeasures",
    "Calibrator",
    "Comparison",
    "FixedRule",
    "InputError",
    "InstanceRule",
    "RegionRule",
    "ScoreRangeWarning",
    "ThresholdRule",
    "TopKRule",
    "UndefinedMetricWarning",
    "batch_effect",
    "calibrate",
    "compare",
    "expected_f",
    "fit_empirical",
    "fit_expected",
    "fit_regions",
    "fit_top_k",
    "load_rule",
    "measure_calibration",
    "metrics",
    "predict_by_batch",
]

_HOME = {
    "BatchEffect": "batches",
    "CalibratedRule": "calibration",
    "CalibrationMeasures": "calibration",
    "Calibrator": "calibration",
    "Comparison": "comparison",
    "FixedRule": "rule",
    "InputError": "_checks",
    "InstanceRule": "rule",
    "RegionRule": "rule",
    "ScoreRangeWarning": "rule",
    "ThresholdRule": "rule",
    "TopKRule": "rule",
    "UndefinedMetricWarning": "metrics",
    "batch_effect": "batches",
    "calibrate": "calibration",
    "compare": "comparison",
    "expected_f": "expected",
    "fit_empirical": "empirical",
    "fit_expected": "expected",
    "fit_regions": "regions",
    "fit_top_k": "top_k",
    "load_rule": "rule",
    "measure_calibration": "calibration",
    "predict_by_batch": "batches",
}

if TYPE_CHECKING:
    from thresholds import metrics
    from thresholds._checks import InputError
    from thresholds.batches import BatchEffect, batch_effect, predict_by_batch
    from thresholds.calibration import (
        CalibratedRule,
        CalibrationMeasures,
        Calibrator,
        calibrate,
        measure_calibration,
    )
    from thresholds.comparison import Comparison, compare
    from thresholds.empirical import fit_empirical
    from thresholds.expected import expected_f, fit_expected
    from thresholds.metrics import UndefinedMetricWarning
    from thresholds.regions import fit_regions
    from thresholds.rule import (
        FixedRule,
        InstanceRule,
        RegionRule,
        ScoreRangeWarning,
        ThresholdRule,
        TopKRule,
        load_rule,
    )
    from thresholds.top_k import fit_top_k


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import thresholds` loads neither Numba nor SciPy."""
    from importlib import import_module

    if name == "metrics":
        return import_module("thresholds.metrics")
    if name in _HOME:
        value = getattr(import_module(f"thresholds.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thresholds' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
