"""Exact F-measure thresholds for multi-label classifiers.

Scores become decisions by one threshold for each label; the thresholds that maximise macro, micro or
per-instance F1 on labelled data are found exactly. Start at `fit_empirical`.
"""

from typing import TYPE_CHECKING, Any

from thresholds._version import __version__ as __version__

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
    "Accumulator": "fitting.accumulator",
    "BatchEffect": "fitting.batches",
    "CalibratedRule": "calibration",
    "CalibrationMeasures": "calibration",
    "Calibrator": "calibration",
    "Comparison": "comparison.result",
    "CrossFit": "validation.cross_fit",
    "Diagnosis": "diagnosis",
    "ExpectedDiagnosis": "diagnosis",
    "FixedRule": "rule",
    "GuardReport": "rule",
    "InputError": "errors",
    "InstanceRule": "rule",
    "RegionRule": "rule",
    "RowOrderWarning": "_checks",
    "RuleDifference": "comparison.differences",
    "ScoreRangeWarning": "rule",
    "Shrink": "guards.shrink",
    "ThresholdRule": "rule",
    "TopKRule": "rule",
    "UndefinedMetricWarning": "metrics",
    "batch_effect": "fitting.batches",
    "calibrate": "calibration",
    "compare": "comparison.compare",
    "cross_fit": "validation.cross_fit",
    "diagnose": "diagnosis",
    "diagnose_expected": "diagnosis",
    "diff_rules": "comparison.differences",
    "expected_f": "expectation.value",
    "fit_empirical": "fitting.empirical",
    "fit_expected": "fitting.expected",
    "fit_regions": "fitting.regions",
    "fit_top_k": "fitting.top_k",
    "from_label_lists": "data.label_lists",
    "load_rule": "rule",
    "measure_calibration": "calibration",
    "multilabel_folds": "data.folds",
    "predict_by_batch": "fitting.batches",
    "to_label_lists": "data.label_lists",
}

if TYPE_CHECKING:
    from thresholds import metrics, sklearn
    from thresholds._checks import InputError, RowOrderWarning
    from thresholds.calibration import (
        CalibratedRule,
        CalibrationMeasures,
        Calibrator,
        calibrate,
        measure_calibration,
    )
    from thresholds.comparison.compare import compare
    from thresholds.comparison.differences import RuleDifference, diff_rules
    from thresholds.comparison.result import Comparison
    from thresholds.data.folds import multilabel_folds
    from thresholds.data.label_lists import from_label_lists, to_label_lists
    from thresholds.diagnosis import Diagnosis, ExpectedDiagnosis, diagnose, diagnose_expected
    from thresholds.expectation.value import expected_f
    from thresholds.fitting.accumulator import Accumulator
    from thresholds.fitting.batches import BatchEffect, batch_effect, predict_by_batch
    from thresholds.fitting.empirical import fit_empirical
    from thresholds.fitting.expected import fit_expected
    from thresholds.fitting.regions import fit_regions
    from thresholds.fitting.top_k import fit_top_k
    from thresholds.guards.shrink import Shrink
    from thresholds.metrics import UndefinedMetricWarning
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
    from thresholds.validation.cross_fit import CrossFit, cross_fit


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
