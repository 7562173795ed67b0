"""Exact F-measure thresholds for multi-label classifiers.

Scores become decisions by one threshold for each label; the thresholds that maximise macro, micro or
per-instance F1 on labelled data are found exactly. Start at `fit_empirical`.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "BatchEffect",
    "CalibratedRule",
    "CalibrationMeasures",
    "Calibrator",
    "Comparison",
    "CrossFit",
    "Diagnosis",
    "ExpectedDiagnosis",
    "FixedRule",
    "GuardReport",
    "InputError",
    "InstanceRule",
    "RegionRule",
    "RowOrderWarning",
    "RuleDifference",
    "SCutFBR",
    "ScoreRangeWarning",
    "Shrink",
    "ThresholdRule",
    "TopKRule",
    "UndefinedMetricWarning",
    "batch_effect",
    "calibrate",
    "compare",
    "cross_fit",
    "diagnose",
    "diagnose_expected",
    "diff_rules",
    "expected_f",
    "fit_empirical",
    "fit_expected",
    "fit_regions",
    "fit_top_k",
    "from_label_lists",
    "load_rule",
    "measure_calibration",
    "metrics",
    "multilabel_folds",
    "predict_by_batch",
    "sklearn",
    "to_label_lists",
]

_HOME = {
    "Accumulator": "accumulator",
    "BatchEffect": "batches",
    "CalibratedRule": "calibration",
    "CalibrationMeasures": "calibration",
    "Calibrator": "calibration",
    "Comparison": "comparison",
    "CrossFit": "cross_fitting",
    "Diagnosis": "diagnosis",
    "ExpectedDiagnosis": "diagnosis",
    "FixedRule": "rule",
    "GuardReport": "rule",
    "InputError": "_checks",
    "InstanceRule": "rule",
    "RegionRule": "rule",
    "SCutFBR": "guards",
    "RowOrderWarning": "_checks",
    "RuleDifference": "differences",
    "ScoreRangeWarning": "rule",
    "Shrink": "guards",
    "ThresholdRule": "rule",
    "TopKRule": "rule",
    "UndefinedMetricWarning": "metrics",
    "batch_effect": "batches",
    "calibrate": "calibration",
    "compare": "comparison",
    "cross_fit": "cross_fitting",
    "diagnose": "diagnosis",
    "diagnose_expected": "diagnosis",
    "diff_rules": "differences",
    "expected_f": "expected",
    "fit_empirical": "empirical",
    "fit_expected": "expected",
    "fit_regions": "regions",
    "fit_top_k": "top_k",
    "from_label_lists": "label_lists",
    "load_rule": "rule",
    "measure_calibration": "calibration",
    "multilabel_folds": "folds",
    "predict_by_batch": "batches",
    "to_label_lists": "label_lists",
}

if TYPE_CHECKING:
    from thresholds import metrics, sklearn
    from thresholds._checks import InputError, RowOrderWarning
    from thresholds.accumulator import Accumulator
    from thresholds.batches import BatchEffect, batch_effect, predict_by_batch
    from thresholds.calibration import (
        CalibratedRule,
        CalibrationMeasures,
        Calibrator,
        calibrate,
        measure_calibration,
    )
    from thresholds.comparison import Comparison, compare
    from thresholds.cross_fitting import CrossFit, cross_fit
    from thresholds.diagnosis import Diagnosis, ExpectedDiagnosis, diagnose, diagnose_expected
    from thresholds.differences import RuleDifference, diff_rules
    from thresholds.empirical import fit_empirical
    from thresholds.expected import expected_f, fit_expected
    from thresholds.folds import multilabel_folds
    from thresholds.guards import SCutFBR, Shrink
    from thresholds.label_lists import from_label_lists, to_label_lists
    from thresholds.metrics import UndefinedMetricWarning
    from thresholds.regions import fit_regions
    from thresholds.rule import (
        FixedRule,
        GuardReport,
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

    if name in ("metrics", "sklearn"):
        return import_module(f"thresholds.{name}")
    if name in _HOME:
        value = getattr(import_module(f"thresholds.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'thresholds' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
