"""What displays must refuse, in the form of `arguments.py`."""

from functools import cache

import numpy as np

from tests.bad_inputs.arguments import (
    BAD_BETAS,
    BAD_SHARES,
    BAD_WEIGHTS,
    NAMES,
    PLATT,
    RULE,
    TOP,
    BadInput,
    each,
    every,
)
from tests.bad_inputs.matrices import S, Y
from thresholds import FixedRule, bootstrap_thresholds, compare, diagnose, diff_rules, fit_empirical
from thresholds.comparison.result import Comparison
from thresholds.diagnosis.result import Diagnosis
from thresholds.plots import (
    AgreementDisplay,
    BootstrapDisplay,
    ComparisonDisplay,
    DifferenceDisplay,
    FCurveDisplay,
    OptimismDisplay,
    OverpredictionDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    ThresholdsDisplay,
)
from thresholds.validation.bootstrap import ThresholdBootstrap

P = 1 / (1 + np.exp(-S))
FITTED = fit_empirical(Y, S, label_names=NAMES)


@cache
def of_others() -> Diagnosis:
    """A diagnosis of other labels."""
    return diagnose(Y, S, fit_empirical(Y, S, label_names=["owl", "emu"]))


def f_curve(**given: object) -> FCurveDisplay:
    """F against the threshold."""
    return FCurveDisplay.from_predictions(**{"y_true": Y, "y_score": S} | given)


def precision_recall(**given: object) -> PrecisionRecallDisplay:
    """Precision against recall."""
    return PrecisionRecallDisplay.from_predictions(**{"y_true": Y, "y_score": S} | given)


def reliability(**given: object) -> ReliabilityDisplay:
    """Reliability of probabilities."""
    return ReliabilityDisplay.from_predictions(**{"y_true": Y, "probabilities": P} | given)


def calibrated(**given: object) -> ReliabilityDisplay:
    """Reliability before and after calibration."""
    return ReliabilityDisplay.from_calibrator(**{"calibrator": PLATT, "y_true": Y, "y_score": S} | given)


def of_rule(**given: object) -> ThresholdsDisplay:
    """Thresholds against base rates."""
    return ThresholdsDisplay.from_rule(**{"rule": FITTED} | given)


@cache
def comparison(n_rules: int = 2) -> Comparison:
    """What two rules reach, or one."""
    return compare({f"at {k}": FixedRule(0.4 + 0.1 * k, 2) for k in range(n_rules)}, Y, S)


@cache
def bootstrap() -> ThresholdBootstrap:
    """How far two thresholds may move."""
    return bootstrap_thresholds(Y, S, n_bootstraps=2)


def compared(**given: object) -> ComparisonDisplay:
    """Rules by measures."""
    return ComparisonDisplay.from_comparison(**{"comparison": comparison()} | given)


def bootstrapped(**given: object) -> BootstrapDisplay:
    """How far thresholds may move."""
    return BootstrapDisplay.from_bootstrap(**{"result": bootstrap()} | given)


OF_AGREEMENT = {"AgreementDisplay": AgreementDisplay.from_agreement}
OF_DIAGNOSIS = {"OverpredictionDisplay": OverpredictionDisplay.from_diagnosis}
OF_DIFFERENCE = {"DifferenceDisplay": DifferenceDisplay.from_difference}
OF_CROSS_FIT = {"OptimismDisplay": OptimismDisplay.from_cross_fit}
OF_COMPARISONS = {"ComparisonDisplay": compared, "AgreementDisplay": AgreementDisplay.from_comparison}
OF_BOOTSTRAPS = {"BootstrapDisplay": bootstrapped, "OptimismDisplay, bootstrap": OptimismDisplay.from_bootstrap}
MEASURES = "measure is .*, expected 'micro', 'macro_supported', 'macro', 'weighted' or 'samples'"
QUANTITIES = "quantity is .*, expected 'predicted', 'threshold' or 'f'"

CURVES = {"FCurveDisplay": f_curve, "PrecisionRecallDisplay": precision_recall}
RELIABILITY = {"ReliabilityDisplay": reliability, "ReliabilityDisplay, calibrator": calibrated}
OF_LABELS = CURVES | RELIABILITY
PLOT = {"plot, curves": lambda **given: f_curve().plot(**given), "plot, rule": lambda **given: of_rule().plot(**given)}
NAMED = {
    "plot, rule": PLOT["plot, rule"],
    "plot, diagnosis": lambda **given: of_others().plot(**given),
    "plot, difference": diff_rules(RULE, RULE).plot,
}
COUNTS = [-1, 1.5, "8", None, True]

BAD_PLOTS = [
    *every(OF_LABELS, "confidence", BAD_SHARES),
    *every(OF_LABELS, "sample_weight", BAD_WEIGHTS),
    *each(OF_LABELS, "label", ["cow", ["cow"]], "label 'cow' is unknown, expected one of"),
    *each(OF_LABELS, "label", [2, [0, 2]], "label 2 is unknown, expected at most 1"),
    *each(OF_LABELS, "label", [-1, 0.5, True, [None]], "label is .*, expected a whole number of at least 0"),
    *each(OF_LABELS, "label", [[], range(31)], "label has (0|31) labels, expected 1 to 30"),
    *every(CURVES, "beta", [(values, message) for values, message in BAD_BETAS[:2]]),
    *each(CURVES, "rule", ["macro", Y, PLATT], "rule is .*, expected a rule or None"),
    *each(CURVES, "rule", [FixedRule(0.5, 3)], "y_score has 2 labels, expected 3 as the rule has"),
    *each(CURVES, "label_names", [["cat"]], "label_names has 1 names, expected 2"),
    *each(RELIABILITY, "n_bins", [0, *COUNTS[:3]], "n_bins is .*, expected a whole number of at least 1"),
    *each({"ReliabilityDisplay": reliability}, "probabilities", [S * 9], "probabilities has .*, expected values in"),
    *each({"ReliabilityDisplay": calibrated}, "calibrator", [None, "platt", RULE], "calibrator is .*, expected a Cal"),
    *each({"ThresholdsDisplay": of_rule}, "rule", [None, TOP, PLATT], "rule is .*, expected a ThresholdRule"),
    *each({"ThresholdsDisplay": of_rule}, "rule", [FixedRule(0.5, 2)], "rule was not fitted, .*, expected a rule that"),
    *each({"ThresholdsDisplay": of_rule}, "diagnosis", ["states", Y, RULE], "diagnosis is .*, expected a Diagnosis"),
    BadInput(
        "a diagnosis of other labels",
        lambda: of_rule(diagnosis=of_others()),
        "diagnosis has the labels 'owl', 'emu', expected those",
    ),
    *each(NAMED, "k", COUNTS, "k is .*, expected a whole number of at least 0"),
    *each(OF_COMPARISONS, "comparison", [None, RULE, "macro"], "comparison is .*, expected a Comparison"),
    *each({"ComparisonDisplay": compared}, "measure", ["f1", None, 1, [], ["macro", "F1"]], MEASURES),
    BadInput(
        "a single rule", lambda: AgreementDisplay.from_comparison(comparison(1)), "comparison has 1 rule, expected"
    ),
    *each(
        {"AgreementDisplay": AgreementDisplay.from_agreement}, "agreement", [None, S], "agreement is .*, expected an "
    ),
    *each(
        {"OverpredictionDisplay": OverpredictionDisplay.from_diagnosis}, "diagnosis", [None, RULE], "diagnosis is .*"
    ),
    *each(OF_DIFFERENCE, "difference", [None, RULE], "difference is .*, expected a RuleDifference"),
    BadInput(
        "rules without thresholds",
        lambda: DifferenceDisplay.from_difference(diff_rules(RULE, TOP)),
        "difference has rules without a threshold for each label, expected a difference with scores",
    ),
    *each(
        {"OptimismDisplay": OptimismDisplay.from_cross_fit}, "result", [None, RULE], "result is .*, expected a CrossF"
    ),
    *each(OF_BOOTSTRAPS, "result", [None, RULE], "result is .*, expected a ThresholdBootstrap"),
    *each({"BootstrapDisplay": bootstrapped}, "quantity", ["recall", None, [], ["f", "F"]], QUANTITIES),
    *each({"BootstrapDisplay": bootstrapped}, "k", [0, *COUNTS], "k is .*, expected a whole number of at least 1"),
    *each(PLOT, "width", [0, -1.0, np.nan, np.inf], "width is .*, expected a positive finite number"),
    *each(PLOT, "width", ["3", True, [3]], "width is .*, expected a number"),
    *each(PLOT, "ax", ["axes", 1, [1, 2]], "ax has .*, expected axes of matplotlib"),
]
