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
    "CalibratedRule": "calibration",
    "CappedRule": "rule.capped",
    "Counts": "counts.counts",
    "FixedRule": "rule",
    "FlushToZeroWarning": "_checks",
    "InputError": "errors",
    "InstanceRule": "rule",
    "Pool": "guards.pool",
    "RULES": "fitting.rules",
    "RegionRule": "rule",
    "RowOrderWarning": "_checks",
    "Rule": "rule",
    "ScoreChangeWarning": "rule",
    "Shrink": "guards.shrink",
    "ThresholdRule": "rule",
    "TopKRule": "rule",
    "UndefinedMetricWarning": "metrics",
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
    from thresholds.calibration import CalibratedRule as CalibratedRule
    from thresholds.calibration import calibrate as calibrate
    from thresholds.calibration import estimate_base_rates as estimate_base_rates
    from thresholds.calibration import measure_calibration as measure_calibration
    from thresholds.comparison.compare import compare as compare
    from thresholds.comparison.differences import diff_rules as diff_rules
    from thresholds.comparison.keeping_odds import keep_odds as keep_odds
    from thresholds.counts.chunks import fit_chunks as fit_chunks
    from thresholds.counts.counts import Counts as Counts
    from thresholds.data.folds import multilabel_folds as multilabel_folds
    from thresholds.data.label_lists import from_label_lists as from_label_lists
    from thresholds.data.label_lists import to_label_lists as to_label_lists
    from thresholds.diagnosis import diagnose as diagnose
    from thresholds.diagnosis import plan_annotation as plan_annotation
    from thresholds.errors import InputError as InputError
    from thresholds.expectation.value import expected_f as expected_f
    from thresholds.files import read as read
    from thresholds.fitting.adapted import fit_adapted as fit_adapted
    from thresholds.fitting.by_name import fit as fit
    from thresholds.fitting.empirical import fit_empirical as fit_empirical
    from thresholds.fitting.expected import fit_expected as fit_expected
    from thresholds.fitting.regions import fit_regions as fit_regions
    from thresholds.fitting.rules import RULES as RULES
    from thresholds.fitting.top_k import fit_top_k as fit_top_k
    from thresholds.guards.pool import Pool as Pool
    from thresholds.guards.shrink import Shrink as Shrink
    from thresholds.loading import load_rule as load_rule
    from thresholds.metrics import UndefinedMetricWarning as UndefinedMetricWarning
    from thresholds.report.report import make_report as make_report
    from thresholds.rule import FixedRule as FixedRule
    from thresholds.rule import InstanceRule as InstanceRule
    from thresholds.rule import RegionRule as RegionRule
    from thresholds.rule import Rule as Rule
    from thresholds.rule import ScoreChangeWarning as ScoreChangeWarning
    from thresholds.rule import ThresholdRule as ThresholdRule
    from thresholds.rule import TopKRule as TopKRule
    from thresholds.rule.capped import CappedRule as CappedRule
    from thresholds.sources.gathering import gather as gather
    from thresholds.training.accumulator import Accumulator as Accumulator
    from thresholds.validation.bootstrap import bootstrap_thresholds as bootstrap_thresholds
    from thresholds.validation.cross_fit import cross_fit as cross_fit
    from thresholds.validation.selection import select_rule as select_rule
    from thresholds.validation.update import update_rule as update_rule
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
