"""Exact F-measure thresholds for multi-label classifiers.

Scores become decisions by one threshold for each label, or by another rule that suits the F-measure. What
maximises macro, weighted or micro F1 on labelled data is found exactly. Start at `fit`.
"""

from typing import TYPE_CHECKING, Any

from thresholds._names import when_used
from thresholds._results import drawing
from thresholds._version import __version__ as __version__

_HOME = {
    "Accumulator": "training.accumulator",
    "Agreement": "comparison.agreement",
    "AnnotationPlan": "diagnosis",
    "BaseRates": "calibration",
    "Budget": "rule.budget",
    "CalibratedRule": "calibration",
    "CalibrationMeasures": "calibration",
    "Calibrator": "calibration",
    "CappedRule": "rule.capped",
    "Comparison": "comparison.result",
    "Counts": "counts.counts",
    "CrossFit": "validation.cross_fit",
    "Diagnosis": "diagnosis",
    "ExpectedDiagnosis": "diagnosis",
    "Finding": "rule.watching.findings",
    "FixedRule": "rule",
    "FlushToZeroWarning": "_checks",
    "GatheredRows": "sources.gathering",
    "GuardReport": "rule",
    "Guarantees": "rule.guarantees",
    "InputError": "errors",
    "InstanceRule": "rule",
    "NamedRule": "fitting.rules",
    "Pool": "guards.pool",
    "RULES": "fitting.rules",
    "RegionRule": "rule",
    "Report": "report.report",
    "RowGuarantees": "rule.row_guarantees",
    "RowOrderWarning": "_checks",
    "Rule": "rule",
    "RuleDifference": "comparison.differences",
    "RuleSelection": "validation.selection",
    "RuleUpdate": "validation.update",
    "ScoreChangeWarning": "rule",
    "ScoreCheck": "rule.watching.check",
    "ScoreFile": "files",
    "ScoreProfile": "rule.watching.profile",
    "Shrink": "guards.shrink",
    "ThresholdBootstrap": "validation.bootstrap",
    "ThresholdRule": "rule",
    "TopKRule": "rule",
    "UndefinedMetricWarning": "metrics",
    "Verdicts": "diagnosis",
    "WarmUp": "warming",
    "bootstrap_thresholds": "validation.bootstrap",
    "calibrate": "calibration",
    "compare": "comparison.compare",
    "cross_fit": "validation.cross_fit",
    "diagnose": "diagnosis",
    "diff_rules": "comparison.differences",
    "estimate_base_rates": "calibration",
    "expected_f": "expectation.value",
    "fit": "fitting.by_name",
    "fit_adapted": "fitting.adapted",
    "fit_chunks": "counts.chunks",
    "fit_empirical": "fitting.empirical",
    "fit_expected": "fitting.expected",
    "fit_regions": "fitting.regions",
    "fit_top_k": "fitting.top_k",
    "from_label_lists": "data.label_lists",
    "gather": "sources.gathering",
    "keep_odds": "comparison.keeping_odds",
    "load_rule": "loading",
    "make_report": "report.report",
    "measure_calibration": "calibration",
    "multilabel_folds": "data.folds",
    "plan_annotation": "diagnosis",
    "read": "files",
    "select_rule": "validation.selection",
    "to_label_lists": "data.label_lists",
    "update_rule": "validation.update",
    "warmup": "warming",
}

_FOLDERS = (
    "metrics",
    "plots",
    "sklearn",
    "training",
)  # whose names are not repeated here

__all__ = sorted([*_HOME, *_FOLDERS])

if TYPE_CHECKING:
    from thresholds import metrics as metrics
    from thresholds import plots as plots
    from thresholds import sklearn as sklearn
    from thresholds import training as training
    from thresholds._checks import FlushToZeroWarning as FlushToZeroWarning
    from thresholds._checks import RowOrderWarning as RowOrderWarning
    from thresholds.calibration import BaseRates as BaseRates
    from thresholds.calibration import CalibratedRule as CalibratedRule
    from thresholds.calibration import CalibrationMeasures as CalibrationMeasures
    from thresholds.calibration import Calibrator as Calibrator
    from thresholds.calibration import calibrate as calibrate
    from thresholds.calibration import estimate_base_rates as estimate_base_rates
    from thresholds.calibration import measure_calibration as measure_calibration
    from thresholds.comparison.agreement import Agreement as Agreement
    from thresholds.comparison.compare import compare as compare
    from thresholds.comparison.differences import RuleDifference as RuleDifference
    from thresholds.comparison.differences import diff_rules as diff_rules
    from thresholds.comparison.keeping_odds import keep_odds as keep_odds
    from thresholds.comparison.result import Comparison as Comparison
    from thresholds.counts.chunks import fit_chunks as fit_chunks
    from thresholds.counts.counts import Counts as Counts
    from thresholds.data.folds import multilabel_folds as multilabel_folds
    from thresholds.data.label_lists import from_label_lists as from_label_lists
    from thresholds.data.label_lists import to_label_lists as to_label_lists
    from thresholds.diagnosis import AnnotationPlan as AnnotationPlan
    from thresholds.diagnosis import Diagnosis as Diagnosis
    from thresholds.diagnosis import ExpectedDiagnosis as ExpectedDiagnosis
    from thresholds.diagnosis import Verdicts as Verdicts
    from thresholds.diagnosis import diagnose as diagnose
    from thresholds.diagnosis import plan_annotation as plan_annotation
    from thresholds.errors import InputError as InputError
    from thresholds.expectation.value import expected_f as expected_f
    from thresholds.files import ScoreFile as ScoreFile
    from thresholds.files import read as read
    from thresholds.fitting.adapted import fit_adapted as fit_adapted
    from thresholds.fitting.by_name import fit as fit
    from thresholds.fitting.empirical import fit_empirical as fit_empirical
    from thresholds.fitting.expected import fit_expected as fit_expected
    from thresholds.fitting.regions import fit_regions as fit_regions
    from thresholds.fitting.rules import RULES as RULES
    from thresholds.fitting.rules import NamedRule as NamedRule
    from thresholds.fitting.top_k import fit_top_k as fit_top_k
    from thresholds.guards.pool import Pool as Pool
    from thresholds.guards.shrink import Shrink as Shrink
    from thresholds.loading import load_rule as load_rule
    from thresholds.metrics import UndefinedMetricWarning as UndefinedMetricWarning
    from thresholds.report.report import Report as Report
    from thresholds.report.report import make_report as make_report
    from thresholds.rule import FixedRule as FixedRule
    from thresholds.rule import GuardReport as GuardReport
    from thresholds.rule import InstanceRule as InstanceRule
    from thresholds.rule import RegionRule as RegionRule
    from thresholds.rule import Rule as Rule
    from thresholds.rule import ScoreChangeWarning as ScoreChangeWarning
    from thresholds.rule import ThresholdRule as ThresholdRule
    from thresholds.rule import TopKRule as TopKRule
    from thresholds.rule.budget import Budget as Budget
    from thresholds.rule.capped import CappedRule as CappedRule
    from thresholds.rule.guarantees import Guarantees as Guarantees
    from thresholds.rule.row_guarantees import RowGuarantees as RowGuarantees
    from thresholds.rule.watching.check import ScoreCheck as ScoreCheck
    from thresholds.rule.watching.findings import Finding as Finding
    from thresholds.rule.watching.profile import ScoreProfile as ScoreProfile
    from thresholds.sources.gathering import GatheredRows as GatheredRows
    from thresholds.sources.gathering import gather as gather
    from thresholds.training.accumulator import Accumulator as Accumulator
    from thresholds.validation.bootstrap import ThresholdBootstrap as ThresholdBootstrap
    from thresholds.validation.bootstrap import bootstrap_thresholds as bootstrap_thresholds
    from thresholds.validation.cross_fit import CrossFit as CrossFit
    from thresholds.validation.cross_fit import cross_fit as cross_fit
    from thresholds.validation.selection import RuleSelection as RuleSelection
    from thresholds.validation.selection import select_rule as select_rule
    from thresholds.validation.update import RuleUpdate as RuleUpdate
    from thresholds.validation.update import update_rule as update_rule
    from thresholds.warming import WarmUp as WarmUp
    from thresholds.warming import warmup as warmup


_value_of = when_used(__name__, _HOME)

# Results stand below the displays that `result.plot()` draws: they are told here where these are.
drawing.displays.append(lambda: __getattr__("plots"))


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import thresholds` loads neither Numba nor SciPy."""
    if name in _FOLDERS:
        from importlib import import_module

        return import_module(f"thresholds.{name}")
    return _value_of(name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])
