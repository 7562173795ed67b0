"""Everything that must be refused, in one registry: what is called, and what the message says.

A message names the argument first, then what was found, then what was expected; patterns are matched from its
start. Whatever takes a matrix is listed in `SCORES` or `TRUTH` and meets all of `matrices.py` there. The metrics
have their own list, `metrics.py`, made with the same means.
"""

import base64
import json
import pickle
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

import thresholds
from tests.bad_inputs.matrices import (
    BAD_ANYWHERE,
    BAD_CHANCES,
    BAD_SCORES,
    BAD_TRUTH,
    CSR,
    NOT_SAID,
    UNSAYABLE,
    NotAvailable,
    S,
    Table,
    TwoLines,
    Y,
    inf,
    nan,
    spoiled,
)
from thresholds.calibration.base_rates import BaseRates
from thresholds.calibration.by_class import N_BINS, N_EDGES, ScoresByClass
from thresholds.calibration.calibrator import Calibrator
from thresholds.comparison.result import Comparison

NAMES = ("cat", "dog")
RULE = thresholds.ThresholdRule([0.5, 0.25], label_names=NAMES)
TOP = thresholds.TopKRule(1, label_names=NAMES)
HUGE = 10**400  # No float holds it.
INSTANCE = thresholds.InstanceRule(label_names=NAMES)
REGION = thresholds.RegionRule([[0.25, 0.5], []], label_names=NAMES)

# Calibrators as files have them: to fit some would compile kernels while tests are collected.
MEASURES = {"log_loss": 0.3, "reliability": 0.1, "sum_over_positives": 1.0, "slope": None}
OF_CALIBRATOR = {
    "by": "label",
    "label_names": list(NAMES),
    "missing": 0.0,
    "absent": [0.0, 0.0],
    "before": MEASURES,
    "after": MEASURES,
}
LINE = {"scale": 1.0, "centre": 0.0, "slope": 2.0, "intercept": 0.0, "missing": 0.0}
KNOTS = {"scores": [0.1, 0.4, 0.6], "probabilities": [0.0, 0.2, 0.8]}
LIMITS = [5e-324, 1 - 2**-53]
PLATT = Calibrator.from_dict({"method": "platt", "curves": [LINE, LINE], "limits": LIMITS} | OF_CALIBRATOR)
ISOTONIC = Calibrator.from_dict({"method": "isotonic", "curves": [KNOTS, KNOTS]} | OF_CALIBRATOR)
BY_CLASS = ScoresByClass(
    edges=np.tile(np.linspace(0.1, 0.7, N_EDGES), (2, 1)),
    positives=np.tile(np.arange(1.0, N_BINS + 1), (2, 1)),
    negatives=np.tile(np.arange(40.0, 40 - N_BINS, -1), (2, 1)),
    probabilities=np.tile(np.linspace(0.02, 0.4, N_BINS), (2, 1)),
    rates=np.array([0.2, 0.2]),
    observed=np.array([0.2, 0.2]),
)
COUNTED = replace(ISOTONIC, by_class=BY_CLASS)
CALIBRATED = thresholds.CalibratedRule(PLATT, INSTANCE)
JOINT = np.array([[0.25, 0.25], [0.25, 0.25]])
DRAWS = np.array([Y, 1 - Y, Y])
MATRIX, TWO = np.eye(2), np.array(["macro", "micro"])

Functions = Mapping[str, Callable[..., object]]
Values = Sequence[tuple[Sequence[object], str]]  # bad values of an option, and what the message says after its name


@dataclass(frozen=True)
class BadInput:
    """One call that must raise `InputError`, and a pattern for the start of its message."""

    id: str
    call: Callable[[], object]
    message: str

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.id


def shown(value: object) -> str:
    """A value in one short line."""
    return re.sub(r" at 0x\w+", "", " ".join(repr(value).split()))[:60]


def each(functions: Functions, option: str, values: Sequence[object], message: str) -> list[BadInput]:
    """Bad values of an option, in every function that has it."""
    return [
        BadInput(f"{name}: {option}={shown(value)}", lambda f=f, value=value: f(**{option: value}), message)
        for name, f in functions.items()
        for value in values
    ]


def every(functions: Functions, option: str, bad: Values) -> list[BadInput]:
    """All bad values of an option, in every function that has it."""
    return [row for values, message in bad for row in each(functions, option, values, f"{option} {message}")]


def matrices(functions: Functions, argument: str, bad: Table) -> list[BadInput]:
    """Every bad matrix in that argument of every function."""
    return [
        BadInput(f"{name}: {argument}, {what}", lambda f=f, make=make: f(**{argument: make()}), f"{argument} {message}")
        for name, f in functions.items()
        for what, (make, message) in bad.items()
    ]


# Good input but for what is given


def fit(y_true: object = Y, y_score: object = S, **given: object) -> thresholds.ThresholdRule:
    """A fitted rule."""
    return thresholds.fit_empirical(y_true, y_score, **given)


def count(y_true: object = Y, y_score: object = S, **given: object) -> thresholds.Counts:
    """Counts of a block."""
    return thresholds.Counts.of(y_true, y_score, **given)


def from_groups(
    label: object = (0, 0, 1),
    score: object = (0.5, 0.25, 0.5),
    positives: object = (1, 0, 2),
    rows: object = (1, 9, 10),
    **given: object,
) -> thresholds.Counts:
    """Tie groups of two labels."""
    return thresholds.Counts.from_tie_groups(label, score, positives, rows, **given)


def fit_top_k(y_true: object = Y, y_score: object = S, **given: object) -> thresholds.TopKRule:
    """A fitted k."""
    return thresholds.fit_top_k(y_true, y_score, **given)


def rule(thresholds_: object = (0.5, 0.5), **given: object) -> thresholds.ThresholdRule:
    """A rule of two labels."""
    return thresholds.ThresholdRule(given.pop("thresholds", thresholds_), **given)


def check(y_score: object = S, **given: object) -> object:
    """New scores held against those of a fit."""
    return fit(label_names=NAMES).check(y_score, **given)


def fixed(threshold: object = 0.5, n_labels: object = 2, **given: object) -> thresholds.FixedRule:
    """A rule of one threshold."""
    return thresholds.FixedRule(threshold, n_labels, **given)


def top(k: object = 1, **given: object) -> thresholds.TopKRule:
    """A rule without thresholds."""
    return thresholds.TopKRule(k, **given)


def fit_expected(probabilities: object = S, **given: object) -> object:
    """A rule from probabilities alone."""
    return thresholds.fit_expected(probabilities, **given)


def expected_f(probabilities: object = S, y_pred: object = Y, **given: object) -> object:
    """What decisions are expected to reach."""
    return thresholds.expected_f(probabilities, y_pred, **given)


def instance(**given: object) -> thresholds.InstanceRule:
    """A rule for single rows."""
    return thresholds.InstanceRule(**given)


def predict_rows(probabilities: object = S, **given: object) -> object:
    """The best set of each row."""
    return INSTANCE.predict(probabilities, **given)


def predict_from_joint(P: object = JOINT, p_none: object = 0.25) -> object:
    """The best set of dependent labels."""
    return INSTANCE.predict_from_joint(P, p_none)


def predict_from_samples(label_draws: object = DRAWS, **given: object) -> object:
    """The best sets for draws."""
    return INSTANCE.predict_from_samples(label_draws, **given)


def calibrate(y_true: object = Y, y_score: object = S, **given: object) -> Calibrator:
    """A map from scores to probabilities."""
    return thresholds.calibrate(y_true, y_score, **given)


def estimate_base_rates(calibrator: object = ..., new_scores: object = S, **given: object) -> BaseRates:
    """Base rates without labels."""
    return thresholds.estimate_base_rates(COUNTED if calibrator is ... else calibrator, new_scores, **given)


def fit_adapted(calibrator: object = ..., new_scores: object = S, **given: object) -> thresholds.CalibratedRule:
    """A rule for other base rates."""
    return thresholds.fit_adapted(COUNTED if calibrator is ... else calibrator, new_scores, **given)


def for_base_rates(rates: object) -> Calibrator:
    """A calibrator for other base rates."""
    return COUNTED.for_base_rates(rates)


def measure_calibration(y_true: object = Y, probabilities: object = S, **given: object) -> object:
    """How good probabilities are."""
    return thresholds.measure_calibration(y_true, probabilities, **given)


def calibrated_rule(calibrator: object = ..., rule: object = ...) -> thresholds.CalibratedRule:
    """Calibrate, then decide."""
    return thresholds.CalibratedRule(PLATT if calibrator is ... else calibrator, INSTANCE if rule is ... else rule)


def fit_regions(y_true: object = Y, y_score: object = S, **given: object) -> thresholds.RegionRule:
    """Fitted regions."""
    return thresholds.fit_regions(y_true, y_score, **given)


def region(switches: object = ((0.25, 0.5), ()), **given: object) -> thresholds.RegionRule:
    """Regions of two labels."""
    return thresholds.RegionRule(switches, **given)


def compare(rules: object = ..., y_true: object = Y, y_score: object = S, **given: object) -> object:
    """Rules side by side."""
    return thresholds.compare({"instance": INSTANCE} if rules is ... else rules, y_true, y_score, **given)


@cache
def compared() -> Comparison:
    """Two rules side by side."""
    return thresholds.compare({"instance": INSTANCE, "top": TOP}, Y, S)


def between(rule: object = "instance", other: object = "top") -> object:
    """How far two rules decide alike on each label."""
    agreement = compared().agreement
    assert agreement is not None
    return agreement.between(rule, other)


def warmup(purposes: object) -> object:
    """Kernels for some purposes."""
    return thresholds.warmup(purposes)


def diff_rules(old: object = RULE, new: object = RULE, y_score: object = S, **given: object) -> object:
    """What changed between two rules."""
    return thresholds.diff_rules(old, new, y_score, **given)


FITTED = thresholds.fit_empirical(Y, S, label_names=NAMES)


def update_rule(y_true: object = Y, y_score: object = S, old: object = FITTED, **given: object) -> object:
    """A rule on new rows."""
    return thresholds.update_rule(old, y_true, y_score, **{"cv": 2} | given)


def keep_odds(y_true: object = Y, y_score: object = S, rule: object = FITTED, **given: object) -> object:
    """A rule with its odds by score."""
    return thresholds.keep_odds(rule, y_true, y_score, **given)


def diagnose(y_true: object = Y, y_score: object = S, rule: object = RULE, **given: object) -> object:
    """A rule judged label by label."""
    return thresholds.diagnose(y_true, y_score, rule, **given)


def plan_annotation(y_true: object = Y, y_score: object = S, rule: object = RULE, **given: object) -> object:
    """What would decide what is open of each label."""
    return thresholds.plan_annotation(y_true, y_score, rule, **given)


def make_report(y_true: object = Y, y_score: object = S, rule: object = RULE, **given: object) -> object:
    """What a page says of a rule."""
    return thresholds.make_report(y_true, y_score, rule, **given)


def believed(y_score: object = S, rule: object = RULE, **given: object) -> object:
    """A rule judged without labels."""
    return thresholds.diagnose(None, y_score, rule, **given)


def repair(rule: object = RULE, action: object = "never", **given: object) -> object:
    """A mended rule."""
    return diagnose().repair(rule, action, **given)


def multilabel_folds(y_true: object = Y, n_splits: object = 2, **given: object) -> object:
    """A fold for each row."""
    return thresholds.multilabel_folds(y_true, n_splits, **given)


def cross_fit(y_true: object = Y, y_score: object = S, **given: object) -> object:
    """A rule, and what to expect of it."""
    return thresholds.cross_fit(y_true, y_score, **({"cv": 2, "random_state": 0} | given))


def bootstrap(y_true: object = Y, y_score: object = S, **given: object) -> object:
    """How far thresholds would move."""
    return thresholds.bootstrap_thresholds(y_true, y_score, **given)


def fit_by_name(rule: object = "macro, in-sample", y_true: object = Y, y_score: object = S, **given: object) -> object:
    """A rule of the list."""
    return thresholds.fit(y_true, y_score, rule, **given)


def select_rule(y_true: object = Y, y_score: object = S, **given: object) -> object:
    """The rule that is best for an average."""
    return thresholds.select_rule(
        y_true, y_score, **({"cv": 2, "rules": ["macro, in-sample", "macro, shrink"]} | given)
    )


FIT, FITS = {"fit": fit}, {"fit": fit, "fit_top_k": fit_top_k}
BY_NAME = {"fit by name": fit_by_name}
RULES = {"ThresholdRule": rule, "FixedRule": fixed, "TopKRule": top}
LABEL_FREE = {"fit_expected": fit_expected, "expected_f": expected_f}
MADE = {"InstanceRule": instance, "RegionRule": region}
ON_LABELS = {"fit_regions": fit_regions, "calibrate": calibrate}

# Matrices

SCORES = {
    "fit": lambda y_score: fit(y_score=y_score, label_names=NAMES),
    "fit_top_k": lambda y_score: fit_top_k(y_score=y_score, label_names=NAMES),
    "ThresholdRule.predict": lambda y_score: RULE.predict(y_score),
    "ThresholdRule.check": lambda y_score: check(y_score),
    "ThresholdRule.watching": lambda y_score: RULE.watching(y_score),
    "TopKRule.predict": lambda y_score: TOP.predict(y_score),
    "fit_regions": lambda y_score: fit_regions(y_score=y_score, label_names=NAMES),
    "calibrate": lambda y_score: calibrate(y_score=y_score, label_names=NAMES),
    "Calibrator.transform": lambda y_score: ISOTONIC.transform(y_score),
    "Calibrator.tail": lambda y_score: ISOTONIC.tail(y_score),
    "RegionRule.predict": lambda y_score: REGION.predict(y_score),
    "CalibratedRule.predict": lambda y_score: CALIBRATED.predict(y_score),
    "compare": lambda y_score: compare({"rule": RULE}, y_score=y_score),
    "compare, calibrated": lambda y_score: compare({"rule": CALIBRATED}, y_score=y_score),
    "diagnose": lambda y_score: diagnose(y_score=y_score),
    "diagnose, top k": lambda y_score: diagnose(y_score=y_score, rule=TOP),
    "diagnose, calibrated": lambda y_score: diagnose(y_score=y_score, rule=CALIBRATED),
    "plan_annotation": lambda y_score: plan_annotation(y_score=y_score),
    "plan_annotation, no rule": lambda y_score: plan_annotation(y_score=y_score, rule=None, label_names=NAMES),
    "make_report": lambda y_score: make_report(y_score=y_score),
    "cross_fit": lambda y_score: cross_fit(y_score=y_score, label_names=NAMES),
    "bootstrap_thresholds": lambda y_score: bootstrap(y_score=y_score, label_names=NAMES),
    "update_rule": lambda y_score: update_rule(y_score=y_score, label_names=NAMES),
    "keep_odds": lambda y_score: keep_odds(y_score=y_score),
    "Counts.of": lambda y_score: count(y_score=y_score, label_names=NAMES),
}
CHANCES = {
    "fit_expected": lambda probabilities: fit_expected(probabilities, label_names=NAMES),
    "fit_expected, micro": lambda probabilities: fit_expected(probabilities, average="micro"),
    "fit_expected, samples": lambda probabilities: fit_expected(probabilities, average="samples"),
    "fit_expected, exact": lambda probabilities: fit_expected(probabilities, exact=True),
    "fit_expected, shared": lambda probabilities: fit_expected(probabilities, per_label=False),
    "expected_f": lambda probabilities: expected_f(probabilities, exact=True),
    "expected_f, counts": lambda probabilities: expected_f(probabilities, exact=False),
    "InstanceRule.predict": lambda probabilities: predict_rows(probabilities),
    "measure_calibration": lambda probabilities: measure_calibration(probabilities=probabilities),
}
OF_TRUTH = BAD_ANYWHERE | BAD_TRUTH
SCORES_AS_CHANCES = {
    "diagnose, no labels": lambda y_score: believed(y_score),
    "diagnose, no labels, instance": lambda y_score: believed(y_score, INSTANCE),
    "compare, instance": lambda y_score: compare(y_score=y_score),
    "compare, expected": lambda y_score: compare({"rule": fit_expected()}, y_score=y_score),
}
TRUTH = {
    "fit": lambda y_true: fit(y_true, label_names=NAMES),
    "fit_top_k": lambda y_true: fit_top_k(y_true, label_names=NAMES),
    "fit_regions": lambda y_true: fit_regions(y_true, label_names=NAMES),
    "calibrate": lambda y_true: calibrate(y_true, label_names=NAMES),
    "measure_calibration": lambda y_true: measure_calibration(y_true),
    "compare": lambda y_true: compare(y_true=y_true),
    "plan_annotation": lambda y_true: plan_annotation(y_true),
    "make_report": lambda y_true: make_report(y_true),
    "multilabel_folds": lambda y_true: multilabel_folds(y_true),
    "cross_fit": lambda y_true: cross_fit(y_true, label_names=NAMES),
    "bootstrap_thresholds": lambda y_true: bootstrap(y_true, label_names=NAMES),
    "update_rule": lambda y_true: update_rule(y_true, label_names=NAMES),
    "keep_odds": lambda y_true: keep_odds(y_true),
    "Counts.of": lambda y_true: count(y_true, label_names=NAMES),
}
NOT_OF_SCORES = ("+inf", "negative in row 5000")  # refused before, as scores or beside the truth
PREDICTIONS = {
    "expected_f": lambda y_pred: expected_f(y_pred=y_pred, exact=True),
    "expected_f, counts": lambda y_pred: expected_f(y_pred=y_pred, exact=False),
}
MATRICES = [
    *matrices(SCORES, "y_score", BAD_ANYWHERE | BAD_SCORES),
    *matrices(
        {"diff_rules": diff_rules}, "y_score", {k: v for k, v in (BAD_ANYWHERE | BAD_SCORES).items() if k != "None"}
    ),
    *matrices(CHANCES, "probabilities", BAD_ANYWHERE | BAD_CHANCES),
    *matrices({"compare, instance": SCORES_AS_CHANCES["compare, instance"]}, "y_score", BAD_ANYWHERE),
    *matrices(SCORES_AS_CHANCES, "y_score", {k: bad for k, bad in BAD_CHANCES.items() if k not in NOT_OF_SCORES}),
    *matrices(PREDICTIONS, "y_pred", BAD_ANYWHERE | BAD_TRUTH),
    *matrices(TRUTH, "y_true", OF_TRUTH),
    # None has it diagnose without labels.
    *matrices({"diagnose": diagnose}, "y_true", {what: bad for what, bad in OF_TRUTH.items() if what != "None"}),
    *matrices(TRUTH | {"diagnose": diagnose}, "y_true", NOT_SAID),
]

# Matrices that disagree with each other, or with a rule

SWAPPED = (
    r"y_true has 0.9 at row 0, label 0, expected only 0 and 1; y_score has only 0 and 1: the arguments look swapped"
)
NO_NAME = r"y_score has (NaN at row 0, label 2|3 labels, expected 2)"
SHAPES = [
    BadInput("fit: swapped", lambda: fit(S, Y), SWAPPED),
    BadInput("fit: swapped, sparse", lambda: fit(CSR(S), CSR(Y)), SWAPPED),
    BadInput("fit_top_k: swapped", lambda: fit_top_k(S, Y), SWAPPED),
    BadInput("fit: other rows", lambda: fit(Y[:3]), r"y_score has shape \(4, 2\), expected \(3, 2\) as y_true has"),
    BadInput("fit: other labels", lambda: fit(Y[:, :1]), r"y_score has shape \(4, 2\), expected \(4, 1\)"),
    BadInput("fit: transposed", lambda: fit(Y.T), r"y_score has shape \(4, 2\), expected \(2, 4\)"),
    BadInput("fit: one dimension", lambda: fit(Y[:, 0]), r"y_score has shape \(4, 2\), expected \(4, 1\)"),
    BadInput("fit: other rows, sparse", lambda: fit(CSR(Y), CSR(S)[:3]), r"y_score has shape \(3, 2\), expected"),
    BadInput("predict: too few labels", lambda: RULE.predict(S[:, :1]), "y_score has 1 labels, expected 2 as the rule"),
    BadInput("predict: too many labels", lambda: RULE.predict(np.ones((4, 3))), "y_score has 3 labels, expected 2"),
    BadInput(
        "predict: a vector of another length",
        lambda: RULE.predict(S[:, 0]),
        r"y_score is a vector of 4 scores, expected 2, one for each label, or a matrix \(n_samples, 2\)$",
    ),
    BadInput("predict: too many labels, sparse", lambda: RULE.predict(CSR((4, 3))), "y_score has 3 labels, expected 2"),
    BadInput("predict: NaN in a label without name", lambda: RULE.predict([[0.5, 0.5, nan]]), NO_NAME),
    BadInput("TopKRule: too many labels", lambda: TOP.predict(np.ones((4, 3))), "y_score has 3 labels, expected 2"),
    BadInput("TopKRule: NaN in a label without name", lambda: TOP.predict([[0.5, 0.5, nan]]), NO_NAME),
    BadInput(
        "predict: absent scores are positive",
        lambda: RULE.replace({"dog": 0.0}).predict(CSR(S)),
        r"y_score is sparse, and the threshold 0.0 of label 'dog' is not above missing=0.0, so that nearly all cells"
        r" would be positive: raise the threshold, or pass dense=True for a dense answer of 8 bytes$",
    ),
    BadInput(
        "predict: absent scores are positive, no names",
        lambda: fixed(-inf, missing=-inf).predict(CSR(S)),
        r"y_score is sparse, and the threshold -inf of label 0 is not above missing=-inf",
    ),
]

# Weights

COUNT = "expected 4 numbers, one per row"
BAD_WEIGHTS: Values = [
    ([[1, 1, -1, 1]], "has -1.0 at row 2, expected finite weights >= 0"),
    ([[1, 1, nan, 1]], "has nan at row 2, expected finite weights >= 0"),
    ([[1, 1, inf, 1]], "has inf at row 2, expected finite weights >= 0"),
    ([[1e308] * 4], "adds up to more than float64 holds, expected smaller weights"),
    ([[1, 1, 1]], rf"has shape \(3,\), {COUNT}"),
    ([2.0], rf"has shape \(\), {COUNT}"),
    (["balanced"], "has dtype <U8, expected real numbers"),
    ([[[1] * 4], [[1]] * 4], rf"has shape .*, {COUNT}"),
    ([[1, 1, None, 1], [1, 1, 1j, 1]], "has .*, expected real numbers"),
    ([[1, [1, 2], 1, 1], [1, 1, HUGE, 1]], ""),
    ([np.ma.array([1] * 4, mask=[0, 0, 1, 0])], "has masked cells, expected none(?!.*-inf)"),
]
NO_WEIGHT: Values = [([[0] * 4, [0.0] * 4], "is 0 for every row, expected at least one")]

# Options

BETAS_OF_NOTHING: Values = [
    ([-1, -0.5, nan, inf, 1e200], "is .*, expected a finite number of at least 0, at most 1e"),
    ([HUGE, "1", None, True, 1j, [1.0], MATRIX], "is .*, expected a number"),
]
BAD_BETAS: Values = [
    ([0, 0.0, -0.0], "is 0.0, expected a positive finite number: F-beta is precision then, which is highest where"),
    ([-1, -0.5, nan, inf, 1e200], "is .*, expected a positive finite number, at most 1e"),
    ([HUGE, "1", None, True, 1j, [1.0], MATRIX], "is .*, expected a number"),
]
BAD_FLAGS: Values = [
    ([None, 0, 1, "yes", [True, False], MATRIX, TwoLines(), NotAvailable()], "is .*, expected True or False")
]
BAD_CHOICES: Values = [
    ([0, 1, "yes", [True, False], MATRIX, TwoLines(), NotAvailable()], "is .*, expected True, False or None")
]
BAD_JOBS: Values = [([0, -2, 1.5, "all", True, MATRIX], "is .*, expected a whole number of at least 1")]
BAD_MISSING: Values = [
    ([nan, inf, HUGE], "is .*, expected a (score of dtype float64, or -inf|number that float64 can hold)"),
    (["0", None, [0.0], True], "is .*, expected a number"),
]
WITH_UNKNOWN = (
    FITS
    | BY_NAME
    | ON_LABELS
    | {
        "measure_calibration": measure_calibration,
        "compare": compare,
        "diagnose": diagnose,
        "multilabel_folds": multilabel_folds,
        "cross_fit": cross_fit,
        "bootstrap_thresholds": bootstrap,
        "update_rule": update_rule,
        "keep_odds": keep_odds,
        "select_rule": select_rule,
    }
)
OPTIONS = [
    *every(WITH_UNKNOWN, "unknown", UNSAYABLE),
    *every(FITS, "sample_weight", BAD_WEIGHTS + NO_WEIGHT),
    *every(FITS | {"ThresholdRule": rule, "TopKRule": top}, "beta", BAD_BETAS),
    *each(FIT, "average", ["mean", "Macro", "binary", None, 1, TwoLines(), TWO], "average is .*, expected 'macro'"),
    *each(FIT, "average", ["samples"], "average is 'samples' with per_label=True, .*expected per_label=False"),
    *each(BY_NAME, "rule", ["micro, shrunk", "", None, 1, TwoLines(), TWO], "rule is .*, expected the name of a rule"),
    *each(
        {"fit by name, label-free": partial(fit_by_name, "macro, label-free")},
        "y_score",
        [np.multiply(S, 10)],
        r"rule is 'macro, label-free', which does not apply: scores lie outside \[0, 1\]",
    ),
    *each(
        BY_NAME,
        "y_true",
        [None],
        "y_true is None with rule 'macro, in-sample', which is fitted on labels; expected labels",
    ),
    *each(BY_NAME, "average", ["micro"], "average is 'micro' with rule 'macro, in-sample', which is for 'macro'; exp"),
    *each(BY_NAME, "per_label", [False], "per_label is False with rule 'macro, in-sample'; expected a rule with one"),
    *each(
        BY_NAME,
        "guard",
        ["shrink"],
        "guard is 'shrink' with rule 'macro, in-sample'; expected a rule with that guard: ",
    ),
    *each({"fit by name, top-k": partial(fit_by_name, "top-k")}, "min_recall", [0.5], "min_recall is 0.5 with rule 't"),
    *each(FIT, "placement", ["high", None, 0.5, TWO], "placement is .*, expected 'low', 'mid' or 'score'"),
    *every(FIT, "per_label", BAD_FLAGS),
    *each(FIT, "guard", ["shrunk", True, 0, MATRIX], "guard is .*, expected"),
    *every(FIT, "n_jobs", BAD_JOBS),
    *each(FITS, "zero_division", [0.5, nan, "warn", None, True, HUGE, MATRIX], "zero_division is .*, expected 0.0"),
    *every(FITS | RULES, "missing", BAD_MISSING),
    BadInput(
        "fit: missing beyond float32", lambda: fit(Y, S.astype("f4"), missing=1e39), r"missing is 1e\+39, expected"
    ),
    BadInput("fit: missing far below", lambda: fit(Y, S.astype("f4"), missing=-1e39), r"missing is -1e\+39, expected"),
]

# Label names

TWICE, STRINGS = "twice, expected each name once", "expected strings"
BAD_NAMES: Values = [
    ([("cat", "cat")], f"has 'cat' {TWICE}"),
    ([("a\nb", "a\nb")], rf"has 'a\\nb' {TWICE}"),
    ([(0, 1)], f"has 0 of type int, {STRINGS}"),
    ([("cat", None)], f"has None of type NoneType, {STRINGS}"),
    ([("cat", nan)], f"has nan of type float, {STRINGS}"),
    ([(b"cat", b"dog")], f"has b'cat' of type bytes, {STRINGS}"),
    ([("cat", "cat\0"), ("\0cat", "dog")], r"has '.*', expected names without the character NUL"),
    ([(MATRIX, "dog"), np.array([NAMES])], f"has .* of type ndarray, {STRINGS}"),
    ([np.array(2), 2], f".*{STRINGS}"),
]
BAD_TWO_NAMES: Values = [  # where there are two labels
    *BAD_NAMES,
    (["cat"], f"is 'cat', {STRINGS}"),
    ([("cat",)], "has 1 names, expected 2, one for each label"),
    ([("cat", "dog", "cow")], "has 3 names, expected 2, one for each label"),
    ([()], "has 0 names, expected 2, one for each label"),
]
LABEL_NAMES = [
    *every(FITS, "label_names", BAD_TWO_NAMES),
    *every(RULES, "label_names", BAD_NAMES),
    *each(
        {"ThresholdRule": rule, "FixedRule": fixed}, "label_names", [("cat",), ()], "label_names has . names, expected"
    ),
    BadInput(
        "fit: NaN in a label without name",
        lambda: fit(Y, spoiled(S, nan), label_names=("cat",)),
        "label_names has 1 names|y_score has NaN at row 2, label 1",
    ),
    BadInput(
        "fit: bad truth in a label without name",
        lambda: fit(spoiled(Y, 2), S, label_names=("cat",)),
        "label_names has 1 names|y_true has 2 at row 2, label 1",
    ),
]

# Rules from probabilities, calibration, regions, batches

ROWS = r"has shape \(4, 2\), expected \(3, 2\) as"
TO_WEIGH = {
    "fit_expected": fit_expected,
    "fit_expected, micro": partial(fit_expected, average="micro"),
    "fit_expected, samples": partial(fit_expected, average="samples"),
    "expected_f, counts": partial(expected_f, exact=False),
    "expected_f, samples": partial(expected_f, average="samples", exact=True),
    "fit_regions": fit_regions,
    "calibrate": calibrate,
    "measure_calibration": measure_calibration,
    "compare": compare,
}
WITH_BETA = LABEL_FREE | MADE | {"fit_regions": fit_regions, "compare": compare}
WITH_ZERO_DIVISION = {name: f for name, f in WITH_BETA.items() if name != "compare"}
ON_THREADS = {
    "fit_expected": fit_expected,
    "fit_expected, micro": partial(fit_expected, average="micro"),
    "fit_expected, samples": partial(fit_expected, average="samples"),
    "fit_expected, exact": partial(fit_expected, exact=True),
    "fit_expected, shared": partial(fit_expected, per_label=False),
    **{
        f"expected_f, {a}": partial(expected_f, average=a, exact=True)
        for a in ("macro", "micro", "weighted", "samples", None)
    },
    **{f"expected_f, {a}, counts": partial(expected_f, average=a, exact=False) for a in ("macro", "micro", "samples")},
    "InstanceRule.predict": predict_rows,
    "InstanceRule.predict_from_samples": predict_from_samples,
    "fit_regions": fit_regions,
    "calibrate": calibrate,
}
BAD_AVERAGES = ["mean", "Macro", "binary", 1, True, TwoLines(), TWO, ["macro"]]
NOT_A_NUMBER = ["1", None, True, 1j, [1.0], MATRIX, HUGE]
LABEL_FREE_OPTIONS = [
    *every(TO_WEIGH, "sample_weight", BAD_WEIGHTS + NO_WEIGHT),
    *every(WITH_BETA, "beta", BAD_BETAS),
    *each(
        WITH_ZERO_DIVISION,
        "zero_division",
        [0.5, nan, "warn", None, True, HUGE, MATRIX],
        "zero_division is .*, expected",
    ),
    *each(LABEL_FREE | {"fit_regions": fit_regions}, "average", BAD_AVERAGES, "average is .*, expected 'macro'"),
    *each({"RegionRule": region}, "average", BAD_AVERAGES, "average is .*, expected None, 'macro'"),
    *each({"fit_expected": fit_expected, "fit_regions": fit_regions}, "average", [None], "average is None, expected"),
    *each(
        {"fit_regions": fit_regions}, "average", ["samples"], "average is 'samples', expected 'macro', 'weighted' or"
    ),
    *every({"fit_expected": fit_expected}, "per_label", BAD_FLAGS),
    *every(LABEL_FREE, "exact", BAD_FLAGS),
    *every(ON_THREADS, "n_jobs", BAD_JOBS),
    *every(ON_LABELS | {"RegionRule": region}, "missing", BAD_MISSING),
    *each(
        {"calibrate": calibrate},
        "method",
        ["sigmoid", "Platt", None, True, 0, TWO, TwoLines()],
        "method is .*, expected",
    ),
    *each({"calibrate": calibrate}, "by", ["labels", True, None, 0, TWO, TwoLines()], "by is .*, expected"),
    *each(
        {"fit_regions": fit_regions},
        "posterior",
        ["kernel", None, 1, TWO, TwoLines()],
        "posterior is .*, expected 'hist",
    ),
    *each(
        {"fit_regions": fit_regions},
        "n_bins",
        [0, -1, 2.0, "2", True, [3], MATRIX, nan],
        "n_bins is .*, expected a whole",
    ),
    *each(
        {"Calibrator.tail": partial(ISOTONIC.tail, S)},
        "powers",
        [0, -1, 2.0, "2", None, True, 9],
        "powers is .*, expec",
    ),
    *every(ON_LABELS | {"fit_expected": fit_expected}, "label_names", BAD_TWO_NAMES),
    *every(MADE, "label_names", BAD_NAMES),
    *each({"RegionRule": region}, "label_names", [("cat",), ("a", "b", "c"), ()], "(label_names|switches) "),
    *each(MADE, "objective", ["0.5", nan, inf, True, [0.5], HUGE], "objective is .*, expected a"),
    *(
        BadInput(
            f"fit_expected: exact, {average}, per_label={per_label}",
            partial(fit_expected, average=average, exact=True, per_label=per_label),
            f"exact is True with average='{average}' and per_label={per_label}, expected 'macro' or 'samples' with"
            " per_label=True",
        )
        for average in ("macro", "weighted", "micro", "samples")
        for per_label in (True, False)
        if average not in ("macro", "samples") or not per_label
    ),
    *(
        BadInput(f"{name}: weights of outcomes", call, "sample_weight is given with exact=True, expected None")
        for name, call in {
            "fit_expected": lambda: fit_expected(exact=True, sample_weight=[1] * 4),
            **{
                f"expected_f, {average}": partial(expected_f, average=average, exact=True, sample_weight=[1] * 4)
                for average in ("macro", "micro", "weighted", None)
            },
        }.items()
    ),
]

BAD_TAILS: Values = [
    (
        [[1, 1, 1], np.ones((3, 2)), np.ones((4, 9)), np.ones((4, 0)), np.ones((4, 2, 1)), 1.0, []],
        "has shape .*, expected",
    ),
    ([np.full((4, 1), bad) for bad in (-0.1, nan, inf, 1e16)], r"has values outside \[0, 2\*\*53\], expected sums"),
    ([np.tile([0.5, 0.6], (4, 1))], "rises within a row, expected sums"),
    ([[[0.5]] * 3 + [[0.5, 0.25]], [[0.1]] * 3 + [[[0.1]]]], "(cannot be read as an array|has )"),
    (["high", ["1"] * 4, np.ones((4, 1)) + 0j, [1j] * 4, [HUGE] * 4, [b"1"] * 4, [{}] * 4], "has .*, expected"),
    ([np.ma.array([1.0] * 4, mask=[0, 0, 1, 0])], "has masked cells, expected none"),
    ([CSR(np.ones((4, 1)))], ""),
]
BAD_JOINTS: Values = [
    ([np.full((2, 3), 0.1)], "is about 3 positives of 2 labels, expected"),
    ([[[0.6, 0.5], [0.1, 0.1]]], "gives a label a probability above 1"),
    (
        [JOINT[0], 0.5, JOINT[None, None], np.ones((0, 2)), np.ones((2, 0)), np.ones((0, 2, 2)), []],
        "has shape .*, expected",
    ),
    (
        [JOINT - 0.3, JOINT + 0.8, 5 * JOINT, nan * JOINT, inf * JOINT],
        r"has values outside \[0, 1\], expected prob",
    ),
    ([None, "joint", [["0.5"]], JOINT + 0j, [[{}]], [[HUGE]]], "has .*, expected"),
    ([[[0.5], [0.25, 0.25]]], "cannot be read as an array"),
    ([np.ma.array(JOINT, mask=JOINT > 0)], "has masked cells, expected none"),
]
BAD_NONES: Values = [
    ([-0.1, 1.1, nan, inf, [-0.1]], r"has values outside \[0, 1\], expected probabilities"),
    ([[0.1, 0.1], [[0.1]], []], "has shape .*, expected one number, or one for each of 1 rows"),
    ([None, "0.1", 1j, [None], HUGE], "has .*, expected"),
]
BAD_DRAWS: Values = [
    ([Y, Y[0], 1, [], np.ones((0, 4, 2)), np.ones((3, 0, 2)), np.ones((3, 4, 0))], "has shape .*, expected"),
    ([2 * DRAWS, DRAWS - 1, DRAWS / 2, nan * DRAWS], "has values other than 0 and 1, expected draws"),
    ([None, "draws", DRAWS.astype(str), DRAWS + 0j, [[[{}]]], [[[HUGE]]]], "has .*, expected"),
    ([[[[1, 0]], [[1]]]], "cannot be read as an array"),
    ([np.ma.array(DRAWS, mask=DRAWS > 0)], "has masked cells, expected none"),
]
BAD_SWITCHES: Values = [
    (
        [((0.5, 0.25), ()), ((0.5, 0.5), ()), ((0.0, -0.0), ()), ((nan,), ()), ([[0.5]], []), (0.5, [])],
        "of label 0 is .*",
    ),
    ([([], (0.5, 0.25))], "of label 1 is .*, expected numbers that rise"),
    ([()], "is about 0 labels, expected at least one"),
    ([(("a",), ()), ((1j,), ()), (None, ()), ({}, ()), ((HUGE,), ()), ((0.5, [1]), ())], "of label 0 "),
    ([(np.ma.array([0.25, 0.5], mask=[0, 1]), ())], "of label 0 has masked cells, expected none"),
    ([0.5, None, 3, True, MATRIX[0, 0]], "is .*, expected"),
]
OTHER_ROWS = {
    "fit_regions": lambda: fit_regions(Y[:3]),
    "fit_regions, sparse": lambda: fit_regions(CSR(Y[:3]), CSR(S)),
    "calibrate": lambda: calibrate(Y[:3]),
    "calibrate, sparse": lambda: calibrate(CSR(Y[:3]), CSR(S)),
    "compare": lambda: compare(y_true=Y[:3]),
    "diagnose": lambda: diagnose(Y[:3]),
    "plan_annotation": lambda: plan_annotation(Y[:3]),
    "make_report": lambda: make_report(Y[:3]),
}
TOO_WIDE = np.full((4, 3), 0.5)
OTHER_LABELS: list[tuple[str, Callable[[object], object], str]] = [
    ("Calibrator.transform", ISOTONIC.transform, "y_score has {} labels, expected 2 as the calibrator has"),
    ("Calibrator.tail", ISOTONIC.tail, "y_score has {} labels, expected 2 as the calibrator has"),
    ("CalibratedRule.predict", CALIBRATED.predict, "y_score has {} labels, expected 2 as the calibrator has"),
    ("RegionRule.predict", REGION.predict, "y_score has {} labels, expected 2 as the rule has"),
    ("InstanceRule.predict", INSTANCE.predict, "probabilities has {} labels, expected 2 as the rule has"),
    ("ThresholdRule.predict", RULE.predict, "y_score has {} labels, expected 2 as the rule has"),
    ("TopKRule.predict", TOP.predict, "y_score has {} labels, expected 2 as the rule has"),
]
LABEL_FREE_SHAPES = [
    *(BadInput(f"{name}: other rows", call, f"y_score {ROWS} y_true has") for name, call in OTHER_ROWS.items()),
    BadInput("measure_calibration: other rows", lambda: measure_calibration(Y[:3]), f"probabilities {ROWS} y_true has"),
    BadInput("expected_f: other rows", lambda: expected_f(S[:3]), f"y_pred {ROWS} probabilities has"),
    BadInput(
        "expected_f: other labels", lambda: expected_f(S, Y[:, :1]), r"y_pred has shape \(4, 1\), expected \(4, 2\)"
    ),
    BadInput(
        "expected_f: swapped", lambda: expected_f(Y, S), "y_pred has 0.9 at row 0, label 0, expected only 0 and 1"
    ),
    BadInput("fit_regions: swapped", lambda: fit_regions(S, Y), SWAPPED),
    BadInput("calibrate: swapped", lambda: calibrate(S, Y), SWAPPED),
    BadInput("calibrate: swapped, sparse", lambda: calibrate(CSR(S), CSR(Y)), SWAPPED),
    BadInput(
        "measure_calibration: swapped", lambda: measure_calibration(S, Y), "y_true has 0.9 at row 0, label 0, expec"
    ),
    *(
        BadInput(f"{name}: {form}, {given.shape[1]} labels", partial(call, make(given)), message.format(given.shape[1]))
        for name, call, message in OTHER_LABELS
        for given in (S[:, :1], TOO_WIDE)
        for form, make in {"dense": np.asarray, "sparse": CSR}.items()
    ),
    *(
        BadInput(
            f"{name}: a row of {length} labels, {form}",
            partial(call, make(np.resize(S[0], length))),
            rf"(y_score|probabilities) is a vector of {length} scores?, expected 2, one for each label, or a matrix",
        )
        for name, call, _ in OTHER_LABELS
        if name != "Calibrator.tail"
        for form, make in {"dense": np.asarray, "list": list, "series": pd.Series}.items()
        for length in (1, 3)
    ),
    *(
        BadInput(
            f"{name}: two rows of one label", partial(call, S[:2, :1]), message.format(1) + r"; one row of 2 label"
        )
        for name, call, message in OTHER_LABELS
    ),
    *(
        BadInput(
            f"RULE.predict: a series, index {shown(index)}", partial(RULE.predict, pd.Series(S[0], index)), message
        )
        for index, message in {
            (
                "cat",
                "cow",
            ): r"y_score lacks the label 'dog' and has the label 'cow', expected an index of the labels 'c",
            ("cat", "cat"): r"y_score: the index has 'cat' twice, expected each name once$",
            (0.5, 1.5): r"y_score has 0.5 in its index, expected the names of labels \(to go by position, pass an arra",
            (7, 8): r"y_score lacks the labels 'cat', 'dog' and has the labels '7', '8', expected an index of the l",
        }.items()
    ),
    BadInput(
        "predict_from_joint: labels", lambda: predict_from_joint(np.eye(3) / 3), "P has 3 labels, expected 2 as the"
    ),
    BadInput(
        "predict_from_samples: labels",
        lambda: predict_from_samples(np.ones((2, 4, 3))),
        "label_draws has 3 labels, expe",
    ),
    BadInput(
        "compare: a rule of other labels",
        lambda: compare(y_score=TOO_WIDE, y_true=TOO_WIDE > 1),
        "y_score has 3 labels",
    ),
    BadInput(
        "RegionRule: absent scores are inside",
        lambda: thresholds.RegionRule([[0.5], [-1.0, 0.25]]).predict(CSR(S)),
        r"y_score is sparse, and missing=0.0 lies in the region of label 1, .*: pass dense=True for .* of 8 bytes$",
    ),
    *(
        BadInput(
            f"Platt: {value} after a fit of probabilities, {form}",
            lambda value=value, make=make: PLATT.transform(make(spoiled(S, value))),
            rf"y_score has {value} at row 2, label 'dog', expected scores in \[0, 1\] as those of the fit",
        )
        for value in (2.5, -0.1, 1.0000001)
        for form, make in {"dense": np.asarray, "sparse": CSR}.items()
    ),
]
WHOLE = ["0", None, 0.0, 1.5, True, nan, [0], MATRIX]
LABEL_FREE_ARGUMENTS = [
    *every({"InstanceRule.predict": predict_rows}, "tail", BAD_TAILS),
    *every({"InstanceRule.predict_from_joint": predict_from_joint}, "P", BAD_JOINTS),
    *every({"InstanceRule.predict_from_joint": predict_from_joint}, "p_none", BAD_NONES),
    *every({"InstanceRule.predict_from_samples": predict_from_samples}, "label_draws", BAD_DRAWS),
    *every({"RegionRule": region}, "switches", BAD_SWITCHES),
    *each(
        {"estimate_base_rates": estimate_base_rates, "fit_adapted": fit_adapted},
        "calibrator",
        [None, "platt", INSTANCE, Y],
        "calibrator is .*, expected a Calibrator",
    ),
    *each(
        {"estimate_base_rates": estimate_base_rates},
        "calibrator",
        [PLATT],
        "calibrator does not know its scores by truth, as it is from an older file",
    ),
    *each(
        {"estimate_base_rates": estimate_base_rates}, "confidence", [0, 1, 2, nan, None, "x"], "confidence is .*, exp"
    ),
    *each({"estimate_base_rates": estimate_base_rates}, "alpha", [0, 1, -1, nan, None, "x"], "alpha is .*, expected"),
    *each(
        {"estimate_base_rates": estimate_base_rates, "fit_adapted": fit_adapted},
        "new_scores",
        [TOO_WIDE],
        "new_scores has 3 labels|y_score has 3 labels",
    ),
    *each(
        {"for_base_rates": for_base_rates}, "rates", [[0.5], [[0.5, 0.5]], 0.5], "rates has shape .*, expected 2 num"
    ),
    *each(
        {"for_base_rates": for_base_rates},
        "rates",
        [[0, 0.5], [0.5, 1], [nan, 0.5], [0.5, -0.1]],
        "rates has .* at ., expected numbers inside",
    ),
    *each({"for_base_rates": for_base_rates}, "rates", [{"emu": 0.5}, {2: 0.5}], "label .* is unknown, expected"),
    *each({"for_base_rates": for_base_rates}, "rates", [{"cat": 1}, {1: 0}], "the base rate of .* is .*, expected"),
    *each(
        {"CalibratedRule": calibrated_rule}, "calibrator", [None, "platt", INSTANCE, Y], "calibrator is .*, expected a"
    ),
    *each(
        {"CalibratedRule": calibrated_rule}, "rule", [None, "macro", TOP, REGION, PLATT, CALIBRATED], "rule is .*, exp"
    ),
    *each(
        {"compare": compare},
        "rules",
        [{}, [INSTANCE], INSTANCE, {"a": None}, {"a": PLATT}, {1: INSTANCE}, {"a": [INSTANCE]}, "macro"],
        "rules (is|has) .*, expected",
    ),
    *each(
        {"compare": compare},
        "baseline",
        ["other", 3, True, TWO],
        "baseline is .*, expected the name of a rule: '?instance",
    ),
    BadInput(
        "compare: baseline", lambda: thresholds.compare(None, Y, S, baseline="a"), "baseline is 'a' without rules"
    ),
    *each(
        {"Comparison.best": lambda measure: compared().best(measure)},
        "measure",
        ["f1", "micro ", None, True, TWO],
        "measure is .*, expected 'micro', 'macro_supported', 'macro', 'weighted' or 'samples'$",
    ),
    *(
        row
        for name in ("rule", "other")
        for row in each(
            {"Agreement.between": between},
            name,
            ["macro", 0, None, TWO],
            f"{name} is .*, expected 'instance' or 'top'$",
        )
    ),
    *each({"update_rule": update_rule}, "old", [None, TOP, RULE, INSTANCE, CALIBRATED], "old is .*, expected (a|one)"),
    *each(
        {"keep_odds": keep_odds}, "rule", [None, TOP, INSTANCE, CALIBRATED, "rule.json"], "rule is of type .*, expected"
    ),
    *each(
        {"keep_odds": keep_odds}, "y_score", [S + 1], "y_true and y_score are other rows than those that rule was fit"
    ),
    *each({"warmup": warmup}, "purposes", [None, 3, (), ["fit", "serve"], "all", [None]], "purposes is .*, expected"),
    *each({"diff_rules": diff_rules}, "old", [None, [0.5], "rule.json"], "old is of type .*, expected a rule"),
    *each({"diff_rules": diff_rules}, "new", [None, [0.5], "rule.json"], "new is of type .*, expected a rule"),
    *each({"diff_rules": diff_rules}, "new", [fixed(n_labels=3)], "new has 3 labels, expected 2 as old has, since"),
]

# Diagnoses

BAD_SHARES: Values = [
    ([0, 1, 0.0, 1.0, -0.1, 1.5, nan, inf, True, HUGE], "is .*, expected a number"),
    (["0.05", None, [0.05], 1j, MATRIX], "is .*, expected a number"),
]
BAD_SKILLS: Values = [
    ([1, 1.0, -0.1, 1.5, nan, inf, HUGE], "is .*, expected a number"),
    (["0.05", None, True, [0.05], 1j, MATRIX], "is .*, expected a number"),
]
BAD_BOUNDS: Values = [
    ([0, -1, nan, inf, HUGE], "is .*, expected a (positive finite )?number"),
    (["3", None, True, [3], MATRIX], "is .*, expected a number"),
]
NO_RULE = [None, 0.5, [0.5, 0.25], "rule.json", PLATT, {"rule": RULE}]
PLAN = {"plan_annotation": plan_annotation}
JUDGES = {"diagnose": diagnose} | PLAN
DIAGNOSES = [
    *every(JUDGES | {"diff_rules": diff_rules, "update_rule": update_rule}, "alpha", BAD_SHARES),
    *each(
        {"compare": compare, "compare, fitted here": partial(compare, None), "make_report": make_report},
        "confidence",
        [0, 1, -0.1, nan, "0.95", [0.9], True],
        "confidence is .*, expected a num",
    ),
    *every(JUDGES, "min_auroc", BAD_SHARES),
    *every(JUDGES | {"make_report": make_report}, "min_f", BAD_SHARES),
    *every(JUDGES | {"make_report": make_report}, "min_skill", BAD_SKILLS),
    *every(JUDGES | {"diagnose, no labels": believed}, "overprediction", BAD_BOUNDS),
    *every(JUDGES | {"make_report": make_report}, "n_jobs", BAD_JOBS),
    *each(PLAN, "rule", NO_RULE[1:], "rule is .*, expected a rule or None"),
    *each(PLAN, "rule", [fixed(n_labels=3)], "y_score has 2 labels, expected 3 as the rule"),
    *each(PLAN, "label_names", [NAMES, list(NAMES)], "label_names is given beside a rule, expected None"),
    *each(PLAN, "more_rows", [0, -1, 1.5, "10", None, True], "more_rows is .*, expected a whole number of at least 1"),
    *each(PLAN, "n_bootstraps", [0, 1, 2.5, "10", None], "n_bootstraps is .*, expected a whole number of at least 2"),
    *each(PLAN, "random_state", [-1, 0.5, "0", None], "random_state is .*, expected a whole number of at least 0"),
    *each(PLAN, "random_state", [2**64], "random_state is .*, expected a number below"),
    *each({"diagnose": diagnose, "diagnose, no labels": believed}, "rule", NO_RULE, "rule is .*, expected a"),
    *each({"diagnose, no labels": believed}, "alpha", [0, 1, nan, "x"], "alpha is .*, expected"),
    BadInput("diagnose: swapped", lambda: diagnose(S, Y, fixed()), SWAPPED),
    BadInput("diagnose: no probabilities", lambda: diagnose(y_score=2 * S, rule=INSTANCE), "y_score has 1.8 at row 0"),
    *each({"diagnose": diagnose}, "rule", [fixed(n_labels=3)], "y_score has 2 labels, expected 3 as the rule"),
    *each({"diagnose": diagnose}, "rule", [top(label_names=list("abc"))], "(y_score has 2 labels|label_names has 3)"),
    *each({"diagnose, no labels": believed}, "rule", [fixed(n_labels=3)], ".* has 2 labels, expected 3"),
    *each({"make_report": make_report}, "rule", NO_RULE[1:], "rule is .*, expected a rule"),
    *each({"make_report": make_report}, "rule", [fixed(n_labels=3)], "y_score has 2 labels, expected 3 as the rule"),
    *each({"make_report": make_report}, "against", NO_RULE[1:], "against is .*, expected a rule"),
    *each(
        {"make_report": make_report}, "against", [fixed(n_labels=3)], "against has 3 labels, expected 2 as the rule has"
    ),
    *each({"make_report": make_report}, "title", [None, 3, "\ud800"], "title is .*, expected text"),
    *each({"make_report": make_report}, "group_name", [None, 3, "\ud800"], "group_name is .*, expected text"),
    *each({"make_report": make_report}, "group_name", ["", " "], "group_name is blank, expected what a group is"),
    *each({"make_report": make_report}, "command", [3, ["a"], "\ud800"], "command is .*, expected text"),
    *each(
        {"make_report": make_report}, "about", [None, "one line", [3], ["\ud800"]], "about is .*, expected (text|lines)"
    ),
    *each({"make_report": make_report}, "missing", [1.0, -inf, nan], "missing is .* with a rule, which has its own"),
    *each({"make_report": make_report}, "label_names", [NAMES], "label_names is given with a rule that has names of"),
    *each(
        {"make_report": make_report}, "groups", [[1, 2], "abcd", 3], "groups (has 2 entries|is .*), expected (4, )?one"
    ),
    *each(
        {"make_report": lambda path: make_report().save(path)},
        "path",
        ["report.pdf", "report", "report.html.gz"],
        "path is a file with the ending '.*', expected .html",
    ),
    BadInput(
        "make_report: one row without a rule",
        lambda: make_report(Y[:1], S[:1], None),
        "y_true has 1 row, expected at least 2: a half to fit on, and one to judge",
    ),
    *each({"repair": repair}, "rule", [*NO_RULE, TOP, INSTANCE, REGION, CALIBRATED], "rule is .*, expected one with a"),
    *each({"repair": repair}, "rule", [fixed(n_labels=3)], "rule has 3 labels, expected 2 as were diagnosed"),
    *each({"repair": repair}, "rule", [rule(label_names=("dog", "cow"))], "rule lacks the label 'cat' and has the"),
    *each({"repair": repair}, "action", ["remove", None, True, 0, TWO], "action is .*, expected 'never' or 'cap'"),
    *each({"repair": repair}, "states", [(), "platypus", 3, {"platypus": 1}], "states is .*, expected some of 'backw"),
    *each(
        {"repair": repair},
        "states",
        [("restrained",), ("platypus", None), [["suspect"]]],
        "states is .*, expected 'backw",
    ),
    *each(
        {"most_predicted": lambda k: diagnose().most_predicted(k)}, "k", [0, *WHOLE], "k is .*, expected a whole num"
    ),
]

# Folds and cross-fitting

CROSS_FIT = {"cross_fit": cross_fit}
SPLITTING = {"multilabel_folds": multilabel_folds, "cross_fit": cross_fit}
PAIRS_OF_ROWS = "has .*, expected pairs of rows to fit on and rows to judge on"
BAD_GROUPS: Values = [
    ([3, "abcd", b"abcd", 0.5, np.array(3), {0}], "is .*, expected one name or number for each row"),
    ([[0, 1, 2], [0] * 5, [], np.arange(5), {}], "has . entries, expected 4, one for each row"),
    (
        [[0, None, 1, 2], [0, nan, 1, 2], [[1]] * 4, [{}] * 4, np.eye(4), np.ma.array([1] * 4, mask=[0, 0, 1, 0])],
        "has .* at row ., expected a name or number",
    ),
    ([[0] * 4, ["a"] * 4], "has 1 group, expected at least n_splits=2"),
]
BAD_FOLDS: Values = [
    ([0, 1, -1, 2.0, None, True, nan, 1j], "is .*, expected a whole number of at least 2"),
    ([[], {}, ()], "has no folds, expected at least one"),
    ([[0, 1, 0, "1"], [None], [(1, 2, 3)], MATRIX, Y, np.array([0.0, 1, 0, 1]), np.arange(4) > 1], PAIRS_OF_ROWS),
    ([[(0, 1)], [("a", "b")], [([0.5], [1])], [([None], [1])], [([True], [1])]], "has .*, expected row numbers"),
    ([[([0], [4])], [([-1], [1])]], "has rows from .* to .*, expected 0 to 3"),
    ([[([0], [0])]], "fits on row 0 and judges it, expected other rows"),
    ([[([0], [2]), ([1], [2])]], "judges row 2 in two folds, expected each at most once"),
    ([np.zeros(4, int)], "has 1 fold, expected one to judge"),
    ([np.arange(3), np.arange(5)], "has . fold numbers, expected 4, one for each row"),
]
BOOTSTRAP = {"bootstrap_thresholds": bootstrap}
BOOTSTRAPS = [
    *each(BOOTSTRAP, "n_bootstraps", [1, 0, -1, *WHOLE], "n_bootstraps is .*, expected a whole number of at least 2"),
    *every(BOOTSTRAP, "random_state", [([2**64], r"is 18446744073709551616, expected a number below 2\*\*64")]),
    *every(BOOTSTRAP, "random_state", [([-1, 0.5, "0", True, [0], nan], "is .*, expected a whole number of at least")]),
    *each(BOOTSTRAP, "confidence", [0, 1, -0.1, nan, "0.95", [0.9], True], "confidence is .*, expected a num"),
    *every(BOOTSTRAP, "beta", BAD_BETAS),
    *every(BOOTSTRAP, "missing", BAD_MISSING),
    *every(BOOTSTRAP, "n_jobs", BAD_JOBS),
    *every(BOOTSTRAP, "label_names", BAD_TWO_NAMES),
    *each(BOOTSTRAP, "placement", ["high", None, 0.5, TWO], "placement is .*, expected 'low', 'mid' or 'score'"),
    *each(BOOTSTRAP, "zero_division", [0.5, nan, "warn", None], "zero_division is .*, expected 0.0"),
    *every(BOOTSTRAP, "keep_sparse", BAD_CHOICES),
    BadInput("bootstrap_thresholds: swapped", lambda: bootstrap(S, Y), SWAPPED),
]
CROSS_FITS = [
    *each({"multilabel_folds": multilabel_folds}, "n_splits", [0, 1, *WHOLE], "n_splits is .*, expected a whole"),
    *each({"multilabel_folds": multilabel_folds}, "n_splits", [5, 10**30], "y_true has 4 rows, expected at least n_s"),
    *each(CROSS_FIT, "cv", [5, 10**30], "y_true has 4 rows, expected at least cv="),
    *every(CROSS_FIT, "cv", BAD_FOLDS),
    *every({"multilabel_folds": multilabel_folds}, "groups", BAD_GROUPS),
    *every(SPLITTING, "random_state", [([-1, 0.5, "0", True, [0], nan], "is .*, expected a whole number of at least")]),
    *each(
        {"cross_fit, given folds": partial(cross_fit, cv=[([0], [1])], guard=None)},
        "groups",
        [[0] * 4],
        "groups is given with",
    ),
    *every(CROSS_FIT, "sample_weight", BAD_WEIGHTS + NO_WEIGHT),
    *every(CROSS_FIT, "beta", BAD_BETAS),
    *every(CROSS_FIT, "missing", BAD_MISSING),
    *every(CROSS_FIT, "n_jobs", BAD_JOBS),
    *every(CROSS_FIT, "label_names", BAD_TWO_NAMES),
    *(row for option in ("per_label", "verdicts", "alternatives") for row in every(CROSS_FIT, option, BAD_FLAGS)),
    *every(CROSS_FIT, "keep_sparse", BAD_CHOICES),
    *each(CROSS_FIT, "average", BAD_AVERAGES, "average is .*, expected 'macro'"),
    *each(CROSS_FIT, "average", ["samples"], "average is 'samples' with per_label=True, .*expected per_label=False"),
    *each(CROSS_FIT, "placement", ["high", None, 0.5, TWO], "placement is .*, expected 'low', 'mid' or 'score'"),
    *each(CROSS_FIT, "zero_division", [0.5, nan, "warn", None], "zero_division is .*, expected 0.0"),
    *each(CROSS_FIT, "guard", ["shrunk", True, 0, MATRIX], "guard is .*, expected"),
    *every(CROSS_FIT, "max_predicted", [([0, -1, nan, inf, HUGE, "3", True, [3]], "is .*, expected a")]),
    *every(
        CROSS_FIT,
        "max_predicted_per_row",
        [([0, -1, nan, inf, 1.0, "3", True, [3]], "is .*, expected a whole number of at least 1")],
    ),
    *each(
        {"fit within limits": partial(fit, Y, S, min_recall=0.5)},
        "max_predicted",
        [3],
        "max_predicted is 3 with min_recall=.*, expected one or the other",
    ),
    *each(
        {"fit above a floor": partial(fit, Y, S, min_recall=0.5)},
        "max_predicted_per_row",
        [1],
        "max_predicted_per_row is 1 with min_recall, expected one or the other",
    ),
    *each(
        {"fit guarded": partial(fit, Y, S, guard="shrink")},
        "max_predicted",
        [3],
        "max_predicted is 3.0 with average 'macro', per_label=True, which has no use for it; expected None, or a rule",
    ),
    *every(CROSS_FIT, "max_overprediction", [([0, -1, nan, inf, HUGE, "3", True, [3]], "is .*, expected a")]),
    *(
        row
        for option in ("min_precision", "min_recall")
        for row in every(CROSS_FIT, option, [([-0.1, 1.5, nan, inf, HUGE, "1", True], "is .*, expected a")])
    ),
    *(
        row
        for option in ("min_precision", "min_recall")
        for values, words in (
            ([[1], np.array([0.5])], "has 1 floor, expected 2, one for each label"),
            ([[0.5, 1.5], [-0.1, 0.5]], "of label . is .*, expected a number from 0 to 1"),
            ([[0.5, "a"], [0.5, None]], "of label 1 is .*, expected a number"),
            ([{"owl": 0.5}, {"cat": 0.5, "owl": 0.5}], "has a floor for .*'owl', expected names of labels"),
            ([{0: 0.5}, {None: 0.5}], "has a floor for .*, expected names of labels"),
            ([{}], "has no floors, expected some by label name, or None"),
            ([[nan, nan], np.full(2, nan)], "is NaN for all labels, expected a floor for some, or None"),
        )
        for row in every(CROSS_FIT, option, [(values, words)])
    ),
    *every(
        {"cross_fit": partial(cross_fit, min_recall=0.5)}, "confidence", [([0, 1, -1, nan, True], "is .*, expected a")]
    ),
    *every(
        {"cross_fit": partial(cross_fit, confidence=0.9)},
        "family",
        [([None, "holm", 1], "is .*, expected 'each' or 'all'")],
    ),
    BadInput(
        "cross_fit: a confidence in nothing",
        lambda: cross_fit(confidence=0.9),
        "confidence is 0.9 without a floor; expected min_precision, min_recall or both",
    ),
    BadInput(
        "cross_fit: a family of nothing",
        lambda: cross_fit(min_recall=0.5, family="all"),
        "family is 'all' without confidence; expected a confidence, as 0.95",
    ),
    BadInput(
        "cross_fit: weights that count no rows",
        lambda: cross_fit(min_recall=0.5, confidence=0.9, sample_weight=[1, 2, 1, 1]),
        "sample_weight has 2 with confidence, whose tests count rows; expected weights of 0 and 1 only",
    ),
    *each(
        {"fit micro": partial(fit, average="micro"), "fit rows": partial(fit, average="samples", per_label=False)},
        "min_precision",
        [0.5],
        "min_precision is 0.5 with average .* and no confidence; expected a confidence too",
    ),
    *each(
        {"fit micro, promised": partial(fit, average="micro", confidence=0.9)},
        "min_recall",
        [{"cat": 0.5}, [0.5, 0.5]],
        "min_recall is .* with average 'micro', expected a number: all labels have one floor together",
    ),
    *each(
        {"fit micro, expected": partial(fit, average="micro", confidence="expected")},
        "min_precision",
        [0.5],
        "min_precision is given with confidence 'expected', and only recall can be promised so",
    ),
    *each(
        {"fit a floor of each label": partial(fit, min_recall=0.5)},
        "confidence",
        ["expected"],
        "confidence is 'expected' with average 'macro', whose floors are those of each label; expected a probability",
    ),
    BadInput(
        "cross_fit: weights in units of their own",
        lambda: cross_fit(min_recall=0.5, confidence=0.9, sample_weight=[0.1, 0.3, 0.5, 0.7]),
        "sample_weight has 0.7 with confidence, whose tests count rows; expected weights of 0 and 1 only",
    ),
    BadInput(
        "cross_fit: weights of 1 and others",
        lambda: cross_fit(min_recall=0.5, confidence=0.9, sample_weight=[0.5, 0.5, 1, 1]),
        "sample_weight has 0.5 with confidence",
    ),
    *each(
        {"fit micro, weighted": partial(fit, average="micro", min_recall=0.5, confidence=0.9)},
        "sample_weight",
        [[1, 2, 1, 1], [0.5, 1, 1, 1]],
        "sample_weight has .* with confidence, whose tests count rows; expected weights of 0 and 1 only",
    ),
    *each(
        {"fit micro, promised": partial(fit, average="micro", min_recall=0.5, confidence=0.9)},
        "guard",
        ["pool"],
        "confidence is 0.9 with average 'micro', per_label=True, which has no use for it",
    ),
    *each(
        {"fit micro, promised": partial(fit, average="micro", min_recall=0.5, confidence=0.9)},
        "family",
        ["all"],
        "family is 'all' with average 'micro', per_label=True, which has no use for it",
    ),
    BadInput("cross_fit: swapped", lambda: cross_fit(S, Y), SWAPPED),
    BadInput("cross_fit: other rows", lambda: cross_fit(Y[:3]), f"y_score {ROWS} y_true has"),
    BadInput(
        "cross_fit: too few groups",
        lambda: cross_fit(groups=[0] * 4),
        "groups has 1 group, expected at least cv=2",
    ),
    BadInput(
        "cross_fit: no weight to fit on",
        lambda: cross_fit(cv=np.array([0, 0, 1, 1]), sample_weight=[0, 0, 1, 1]),
        "sample_weight is 0 for every row",
    ),
]

SELECT_RULE = {"select_rule": select_rule}
SELECTIONS = [
    *each(SELECT_RULE, "average", BAD_AVERAGES, "average is .*, expected 'macro'"),
    *each(SELECT_RULE, "rules", [3, "macro", b"macro", True], "rules is .*, expected names of rules, 'all'"),
    *each(SELECT_RULE, "rules", [[], {}, ()], "rules is empty, expected at least one name"),
    *each(SELECT_RULE, "rules", [["macor"], [None], [0.5], ["macro", ""]], "rules is .*, expected the name of a rule"),
    *each(
        SELECT_RULE,
        "rules",
        [["macro", "Macro"], ["macro, shrink", "macro"]],
        "rules has 'macro, shrink' twice, .* 'macro, in-sample'",
    ),
    *every(SELECT_RULE, "cv", BAD_FOLDS),
    *every(SELECT_RULE, "verdicts", BAD_FLAGS),
    *every(SELECT_RULE, "sample_weight", BAD_WEIGHTS + NO_WEIGHT),
    *every(SELECT_RULE, "beta", BAD_BETAS),
    *each(SELECT_RULE, "zero_division", [0.5, nan, "warn", None], "zero_division is .*, expected 0.0"),
    *every(SELECT_RULE, "max_overprediction", [([0, -1, nan, inf, "3", True], "is .*, expected a")]),
    BadInput("select_rule: swapped", lambda: select_rule(S, Y), SWAPPED),
    BadInput(
        "select_rule: one row a fold", lambda: select_rule(groups=[0] * 4), "groups has 1 group, expected at least"
    ),
]

# Counts

COUNTS_OF = {"Counts.of": count}
FROM_GROUPS = {"Counts.from_tie_groups": from_groups}


def others(of: Callable[..., object]) -> list[tuple[Callable[[], object], str]]:
    """What cannot be added to that of a block, and why."""
    return [
        (lambda: 3, "other is 3, expected C"),
        (lambda: of(Y[:, :1], S[:, :1]), "other has 1 label, expected 2 as here"),
        (lambda: of(Y, S, label_names=NAMES), "other has label_names, expected the same labels as here"),
        (lambda: of(Y, S.astype(np.float32)), "other has float32 scores, expected float64 ones as here"),
        (lambda: of(Y, CSR(S)), "other has sparse float64 scores, expected float64 ones as here"),
        (lambda: of(Y, S, missing=1.0), "other has missing=1.0, expected 0.0 as here"),
    ]


BLOCKS = [
    *every(COUNTS_OF, "sample_weight", BAD_WEIGHTS),
    *each(COUNTS_OF, "sample_weight", [[1, 0.5, 1, 1]], "sample_weight has 0.5 at row 1, expected whole numbers, or"),
    *each(COUNTS_OF, "weight_unit", [0, -1, nan, inf, "1", True], "weight_unit is .*, expected a"),
    *(
        BadInput(f"Counts +: {number}", lambda other=other: count() + other(), message)
        for number, (other, message) in enumerate(others(count))
    ),
    BadInput(
        "Counts +: other units",
        lambda: count() + count(weight_unit=0.5),
        "other has weights in units of 0.5, expected 1.0 as here",
    ),
    BadInput(
        "Counts.fit: samples", lambda: count().fit("samples", per_label=False), "average is 'samples', a mean over"
    ),
    BadInput("Counts.fit: a cap", lambda: count().fit(max_predicted_per_row=1), "max_predicted_per_row is 1, a limit"),
    *each(FROM_GROUPS, "label", [(0, 1), (0, 0, 1, 1)], "score has 3 values, expected . as label has"),
    *each(FROM_GROUPS, "label", [(0.5, 0, 1), ("a", 3, "b"), (None, "a", "b")], "label has .* of type .*, expected na"),
    *each(FROM_GROUPS, "label", [(-1, 0, 1)], "label has -1, expected positions from 0, at most"),
    *each(FROM_GROUPS, "label", [np.array([0, 2**63 + 1, 1], np.uint64), (0, 2**31, 1)], "label has .*, expected pos"),
    *each(FROM_GROUPS, "label", [(), [[0], [0], [1]]], "label has shape .*, expected a list, one label for each group"),
    *each(FROM_GROUPS, "score", [(0.5, nan, 0.5), (0.5, inf, 0.5)], "score has .*, expected real scores"),
    *each(FROM_GROUPS, "score", [[[0.5, 0.25]] * 3], r"score has shape \(3, 2\), expected one score for each group"),
    *each(FROM_GROUPS, "rows", [(2**61, 2**61, 10)], "rows adds up to 4.61e.18 of a label, expected less than 2.*61"),
    *each(
        FROM_GROUPS, "rows", [(1, 0.5, 9), (1, -1, 9), (1, nan, 9)], "rows has .* at place 1, expected whole numbers"
    ),
    *each(
        FROM_GROUPS, "positives", [(1, 10, 2)], "positives has 10 at place 1 with 9 rows, expected no more than rows"
    ),
    *each(FROM_GROUPS, "n_labels", [1], "label has position 1, expected at most 0"),
    *each(FROM_GROUPS, "n_labels", [0, -1, 1.5, "2", True], "n_labels is .*, expected a whole number of at least 1"),
    *each(FROM_GROUPS, "n_samples", [9], "rows has 10 rows of label 0 in all, expected at most n_samples, 9"),
    *each(FROM_GROUPS, "missing", [nan, inf, "0"], "missing is "),
    BadInput(
        "Counts.from_tie_groups: a name that is not among them",
        lambda: from_groups(("cat", "cow", "dog"), label_names=NAMES),
        "label has 'cow', expected labels of label_names",
    ),
]

# Rules made or changed by hand

UNEVEN = [[1], [1, 2]]
CHANGES: list[tuple[object, object, str]] = [
    ("cow", 0.5, "label 'cow' is unknown, expected one of 'cat', 'dog'$"),
    (2, 0.5, "label 2 is unknown, expected at most 1"),
    (-1, 0.5, "label is -1, expected a whole number of at least 0"),
    (0.0, 0.5, "label is 0.0, expected a whole number of at least 0"),
    (True, 0.5, "label is True, expected a whole number of at least 0"),
    ("dog", nan, "the threshold of 'dog' is nan|thresholds has NaN at label"),
    ("dog", "0.5", "the threshold of 'dog' is '0.5', expected a number"),
    ("dog", None, "the threshold of 'dog' is None, expected a number"),
    ("dog", HUGE, "the threshold of 'dog' is "),
]
MADE_RULES = [
    *each({"check": check}, "alpha", [-0.1, 1.5, nan, "0.05", None, True], "alpha is .*, expected a"),
    BadInput("check: no profile", lambda: RULE.check(S), "rule keeps nothing of the scores that it was fitted on, exp"),
    *each({"FixedRule": fixed}, "threshold", [nan, None, "0.5", True, [0.5], HUGE], "thresholds? (is|has) "),
    *each({"FixedRule": fixed}, "n_labels", [0, -1, 2.0, "2", None, True], "n_labels is .*, expected a whole number"),
    *each(
        {"TopKRule": top}, "k", [-1, 1.0, 1.5, nan, "1", None, True], "k is .*, expected a whole number of at least 0"
    ),
    *each({"ThresholdRule": rule}, "thresholds", [[], 0.5, [[0.5]], None], r"thresholds has .*, expected"),
    *each({"ThresholdRule": rule}, "thresholds", [[0.5, nan]], "thresholds has NaN at label 1, expected"),
    *each({"ThresholdRule": rule}, "thresholds", ["high", ["0.5"], [1j], UNEVEN, [{}], [HUGE]], "thresholds "),
    *each({"ThresholdRule": rule}, "thresholds", [np.ma.array([1, 2], mask=[0, 1])], "thresholds has masked cells"),
    *each({"ThresholdRule": rule}, "unsupported", [[True]], "unsupported has 1 values, expected 2"),
    *(
        BadInput(f"replace: {shown(label)} by {shown(t)}", lambda label=label, t=t: RULE.replace({label: t}), message)
        for label, t, message in CHANGES
    ),
    BadInput("replace: no names", lambda: fixed().replace({"cat": 0.5}), "label 'cat' is unknown, expected one of the"),
    BadInput("index_of: unknown label", lambda: RULE.index_of("cow"), "label 'cow' is unknown, expected one of 'cat'"),
]

# Files


def load(content: bytes | str) -> object:
    """Load a rule from a file that holds `content`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rule.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return thresholds.load_rule(path)


def changed(values: Mapping[str, object], name: str, value: object) -> dict[str, object]:
    """The values with one changed, or removed by `...`."""
    return {k: v for k, v in (values | {name: value}).items() if v is not ...}


def files(values: dict[str, object], part: str, fields: Mapping[str, Sequence[object]]) -> list[BadInput]:
    """A rule's JSON, or an object within it, with each bad value of each field in turn."""

    def spoil(name: str, value: object) -> str:
        if part in values:
            return json.dumps(values | {part: changed(values[part], name, value)})
        return json.dumps(changed(values, name, value))

    return [
        BadInput(
            f"load_rule: {part}, {name} {'absent' if value is ... else shown(value)}",
            lambda name=name, value=value: load(spoil(name, value)),
            r".*rule\.json ",
        )
        for name, bad in fields.items()
        for value in bad
    ]


def with_rows(name: str, value: object) -> str:
    """A rule's JSON, with one figure of the rows of its profile changed, or removed by `...`."""
    profile = FITTED["profile"]
    return json.dumps(FITTED | {"profile": profile | {"rows": changed(profile["rows"], name, value)}})


FITTED = fit(label_names=NAMES).to_dict()
GOOD = json.dumps(FITTED)
FALLING = base64.b64encode(np.array([range(7), range(7, 0, -1)], "<f4").tobytes()).decode()
CONTENTS: dict[str, bytes | str] = {
    "empty": b"",
    "pickle": pickle.dumps({"thresholds": [0.5]}),
    "pickle of protocol 0": pickle.dumps({"thresholds": [0.5]}, protocol=0),
    "zip": b"PK\x03\x04\x14\x00\x00\x00\x00\x00",
    "npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}",
    "Latin-1": GOOD.replace("cat", "chatière").encode("latin-1"),
    "two rules": GOOD + GOOD,
    "list": f"[{GOOD}]",
    "string": '"thresholds.rule"',
    "number": "1",
    "null": "null",
    "another object": '{"thresholds": [0.5]}',
    "deeply nested": "[" * 100_000,
    "objects, deeply nested": '{"a":' * 100_000,
    "a key twice": GOOD.replace('"beta": 1.0', '"beta": 0.5, "beta": 1.0'),
    "a key twice, far inside": GOOD.replace('"n_samples": 4', '"n_samples": 4, "n_samples": 4'),
    "Infinity": json.dumps(FITTED | {"thresholds": [inf, 0.5]}),
    "a number no float holds": json.dumps(FITTED | {"thresholds": ["?", 0.5]}).replace('"?"', "1e999"),
    "a number of too many digits": json.dumps(FITTED | {"objective": "?"}).replace('"?"', "7" * 100_000),
    "UTF-16": GOOD.encode("utf-16"),
    "UTF-32": GOOD.encode("utf-32-le"),
    "cut after a byte": GOOD[:1],
    "cut in the middle": GOOD[: len(GOOD) // 2],
    "cut before the last byte": GOOD[:-1],
}
PAIRS = [[0.5, value] for value in ("high", "inf", "0.5", nan, True, [0.5], HUGE)]
ODD_NAMES = (["cat", "do\0g"], ["cat", "dog\0"], ["cat", "\ud800"])
FIELDS: dict[str, Sequence[object]] = {
    "format": ["scikit-learn", 1, None, ...],
    "version": [2, 0, "1", None, [1], True, 1.0, ...],
    "surprise": [None, 1],
    "kind": ["forest", "", 1, None, [], {}, ...],
    "thresholds": [[], [0.5], 0.5, "ab", {}, None, ..., *PAIRS],
    "label_names": [["cat"], ["cat", "cat"], ["cat", 1], ["cat", None], "ab", 2, {"cat": 1, "dog": 2}, *ODD_NAMES, ...],
    "average": [1, ["macro"], ...],
    "beta": [0, -1, nan, inf, "1", None, True, ...],
    "per_label": [None, "no", 1, ...],
    "zero_division": [0.5, nan, "warn", None, ...],
    "placement": [1, ...],
    "guard": [1, "\ud800", ...],
    "expected": ["sums", 1, True, ["counts"]],
    "objective": ["0.5", nan, True, [0.5], ...],
    "unsupported": [[2], [2**63], [2**64], [-1], [1, 1], ["cat"], [0.0], [True, False], True, 0, "ab", None, ...],
    "missing": [nan, None, "zero", True, [0.0], ...],
    "fitted_on": [[], "data", 1, {}],
}
FITTED_ON: dict[str, Sequence[object]] = {
    "n_samples": ["4", None, 1.5, 4.0, True, 0, ...],
    "positives": [[1.0], ["a", "b"], [1.0, -1.0], [1.0, True], "ab", None, ...],
    "dtype": [1, None, "\ud800", ...],
    "surprise": [1],
    "quantiles": [["low", "high"], [nan] * 7, "ab", None, ...],
    "version": [1, None, ...],
}
PROFILE: dict[str, Sequence[object]] = {
    "n_rows": [0, 1, "4", None, True, 2**53 + 1, 10**400, ...],
    "predicted": [[1], [1, -1], [1, 1.5], [5, 1], [10**400, 1], ["a", "b"], "ab", None, ...],
    "n_sampled": [0, "4", None, 2**53 + 1, 10**400, ...],
    "sparse": [0, "no", None, ...],
    "quantiles": ["", "AAAA", "not base64", "\ud800", [0.5, 0.5], None, FALLING, ...],
    "scored": [[1], [1, -1], [1, 1.5], [1, 5], [1, 2**64], "ab", ...],
    "rows": [None, [], {}, {"labels": [1, 0]}, ...],
    "surprise": [1],
}
PROFILE_ROWS: dict[str, Sequence[object]] = {
    name: [[1], [1, 0, 0], [-1, 0], [1, -1], [1e300, 0], [1, 1e300], ["a", "b"], [nan, 0], "ab", 1, ...]
    for name in ("labels", "above", "outside", "scored")
} | {"surprise": [[1, 0]]}
TOP_FIELDS: dict[str, Sequence[object]] = {
    "thresholds": [[0.5, 0.5]],
    "k": [-1, 1.5, "1", None, True, ...],
    "missing": [nan, None, "zero", ...],
    "label_names": [["cat", "cat"], ["cat", 1], "ab", 2, ...],
    "beta": [0, -1, nan, "1", None, ...],
    "zero_division": ["warn", None, ...],
    "objective": ["0.5", nan, ...],
}
INSTANCE_FIELDS: dict[str, Sequence[object]] = {
    "thresholds": [[0.5, 0.5]],
    "beta": [0, -1, nan, inf, "1", None, True, ...],
    "zero_division": [0.5, "warn", None, ...],
    "label_names": [["cat", "cat"], ["cat", 1], "ab", 2, ...],
    "objective": ["0.5", nan, True, ...],
}
REGION_FIELDS: dict[str, Sequence[object]] = {
    "thresholds": [[0.5, 0.5]],
    "switches": [
        [],
        [[]],
        [[0.5], [0.25], []],
        0.5,
        "ab",
        {},
        None,
        ...,
        *([[0.25, bad], []] for bad in ("high", "inf", 0.25, 0.1, "-inf", nan, True, [0.5], HUGE)),
        [0.25, 0.5],
        [None, []],
        [{}, []],
        ["ab", []],
    ],
    "missing": [nan, None, "zero", True, ...],
    "label_names": [["cat"], ["cat", "cat"], ["cat", 1], "ab", 2, ...],
    "average": [1, ["macro"], "mean", ...],
    "beta": [0, nan, "1", None, ...],
    "zero_division": ["warn", 0.5, None, ...],
    "objective": ["0.5", nan, ...],
}
NEWER = json.dumps(changed(FITTED, "version", 2))
MUCH_NEWER = json.dumps(changed(FITTED, "version", 10**400))
LACKING = json.dumps(changed(FITTED, "beta", ...))
FILES = [
    *(
        BadInput(f"load_rule: {what}", lambda c=c: load(c), r".*rule\.json is not a rule")
        for what, c in CONTENTS.items()
    ),
    *files(FITTED, "ThresholdRule", FIELDS),
    *files(FITTED, "fitted_on", FITTED_ON),
    *files(FITTED, "profile", PROFILE),
    *(
        BadInput(
            f"load_rule: {part} {shown(value)}",
            lambda part=part, value=value: load(json.dumps(changed(FITTED, part, value))),
            r".*rule\.json is not a rule: found .*, expected the fields \w+, \w+, .*",
        )
        for part in ("fitted_on", "profile", "out_of_fold", "made_by", "odds")
        for value in ([], "ab", 1, True)
    ),
    *(
        BadInput(
            f"load_rule: rows of a profile, {name} {'absent' if value is ... else shown(value)}",
            lambda name=name, value=value: load(with_rows(name, value)),
            r".*rule\.json ",
        )
        for name, bad in PROFILE_ROWS.items()
        for value in bad
    ),
    *files(TOP.to_dict(), "TopKRule", TOP_FIELDS),
    *files(INSTANCE.to_dict(), "InstanceRule", INSTANCE_FIELDS),
    *files(REGION.to_dict(), "RegionRule", REGION_FIELDS),
    BadInput(
        "load_rule: much newer", lambda: load(MUCH_NEWER), r".*rule\.json has format version .{1,80}, expected 1$"
    ),
    BadInput("load_rule: newer", lambda: load(NEWER), r".*rule\.json has format version 2, expected 1$"),
    BadInput("load_rule: a key is absent", lambda: load(LACKING), r".*rule\.json lacks 'beta', expected the JSON of"),
]

BAD_INPUTS = [
    *MATRICES,
    *SHAPES,
    *OPTIONS,
    *LABEL_NAMES,
    *LABEL_FREE_OPTIONS,
    *LABEL_FREE_SHAPES,
    *LABEL_FREE_ARGUMENTS,
    *DIAGNOSES,
    *BOOTSTRAPS,
    *CROSS_FITS,
    *SELECTIONS,
    *BLOCKS,
    *MADE_RULES,
    *FILES,
]
