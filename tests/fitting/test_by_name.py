"""The list of rules: each entry is what its name says, takes what it lists, and is indifferent to what it states."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

import thresholds
from thresholds import (
    CalibratedRule,
    InputError,
    InstanceRule,
    ThresholdRule,
    calibrate,
    cross_fit,
    fit,
    fit_empirical,
    fit_expected,
    fit_regions,
    fit_top_k,
    load_rule,
    metrics,
)
from thresholds.fitting.options import FIT_OPTIONS, FitOptions
from thresholds.fitting.rules import USUAL_RULES, find_rule, rules_that_take
from thresholds.rule import Rule

NAMES = list(thresholds.RULES)
ON_LABELS = [name for name, rule in thresholds.RULES.items() if rule.needs_labels]
ALONE = [name for name in NAMES if name not in ON_LABELS]

# One rule of each way to fit.
KINDS = [
    "fixed 0.5",
    "top-k",
    "micro, pool",
    "macro, regions",
    "instance, label-free",
    "macro, platt",
    "macro, isotonic",
]

RNG = np.random.default_rng(5)
P = RNG.beta(1, 3, size=(80, 4))
Y = (RNG.random(P.shape) < P).astype(np.uint8)
LOGITS = np.log(P / (1 - P))
SCHEMA = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORD = {"objective", "fitted_on", "made_by", "profile"}  # what a rule keeps of its fit
PUT_TOGETHER = ("fixed", "calibrated")  # methods whose direct call has no record, as a rule is made by hand

Options = dict[str, Any]


def with_options(names: list[str]) -> list[tuple[str, Options]]:
    """Rules with the options that they have by themselves, and one of each kind with others, if it takes these."""
    usual: list[tuple[str, Options]] = [(name, {}) for name in names]
    return usual + [(name, {"beta": 2.0, "zero_division": 1.0}) for name in KINDS]


@cache
def fitted(name: str) -> Rule:
    """The rule of a name on probabilities, with the options that it has by itself."""
    return fit(Y, P, name, n_jobs=1)


# Names


def test_every_rule_has_a_name_of_its_own_in_plain_form() -> None:
    assert all(rule.name == name == " ".join(name.lower().split()) for name, rule in thresholds.RULES.items())
    assert set(USUAL_RULES) < set(NAMES)


@pytest.mark.parametrize("written", ["Instance, PLATT", "instance,platt", "  instance ,  Platt ", "INSTANCE, platt"])
def test_case_and_spaces_do_not_matter(written: str) -> None:
    assert find_rule(written).name == "instance, platt"
    assert FitOptions(rule=written).rule == "instance, platt"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("instance, plat", "rule is 'instance, plat', expected the name of a rule, as 'instance, platt'"),
        ("macro shrink", "rule is 'macro shrink', expected the name of a rule, as 'macro, shrink'"),
        ("micro, guard", "rule is 'micro, guard', expected the name of a rule, as 'micro, "),
        ("scut", "rule is 'scut', expected the name of a rule, as "),
        ("", "rule is '', expected the name of a rule, as 'fixed 0.5', 'top-k', 'macro, in-sample'"),
        (3, "rule is 3, expected the name of a rule"),
        (None, "rule is None, expected the name of a rule"),
        (["macro"], r"rule is \['macro'\], expected the name of a rule"),
    ],
)
def test_unknown_names_are_told_with_near_ones(name: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        find_rule(name)


# What a name stands for


def thresholds_on(**options: Any) -> Callable[..., Rule]:
    return lambda y, s, **more: fit_empirical(y, s, **options, **more)


def expected_of(average: Any, **options: Any) -> Callable[..., Rule]:
    return lambda y, s, **more: fit_expected(s, average, **options, **more)


def calibrated_for(average: Any, method: Any) -> Callable[..., Rule]:
    def put_together(y: Any, s: Any, **more: Any) -> Rule:
        calibrator = calibrate(y, s, method)
        if average == "samples":
            return CalibratedRule(calibrator, InstanceRule(**more))
        return CalibratedRule(calibrator, fit_expected(calibrator.transform(s), average, **more))

    return put_together


DIRECT: Mapping[str, Callable[..., Rule]] = {
    "fixed 0.5": lambda y, s, **options: ThresholdRule(np.full(s.shape[1], 0.5), per_label=False, **options),
    "top-k": fit_top_k,
    "macro, in-sample": thresholds_on(average="macro"),
    "macro, shrink": thresholds_on(average="macro", guard="shrink"),
    "macro, shared": thresholds_on(average="macro", per_label=False),
    "macro, regions": lambda y, s, **more: fit_regions(y, s, "macro", **more),
    "macro, label-free": expected_of("macro"),
    "macro, exact, label-free": expected_of("macro", exact=True),
    "macro, platt": calibrated_for("macro", "platt"),
    "macro, isotonic": calibrated_for("macro", "isotonic"),
    "weighted, in-sample": thresholds_on(average="weighted"),
    "weighted, shrink": thresholds_on(average="weighted", guard="shrink"),
    "weighted, shared": thresholds_on(average="weighted", per_label=False),
    "micro, in-sample": thresholds_on(average="micro"),
    "micro, pool": thresholds_on(average="micro", guard="pool"),
    "micro, shared": thresholds_on(average="micro", per_label=False),
    "micro, regions": lambda y, s, **more: fit_regions(y, s, "micro", **more),
    "micro, label-free": expected_of("micro"),
    "micro, platt": calibrated_for("micro", "platt"),
    "micro, isotonic": calibrated_for("micro", "isotonic"),
    "samples, shared": thresholds_on(average="samples", per_label=False),
    "samples, shared, label-free": expected_of("samples", per_label=False),
    "instance, label-free": expected_of("samples"),
    "instance, platt": calibrated_for("samples", "platt"),
    "instance, isotonic": calibrated_for("samples", "isotonic"),
}


def values_of(rule: Rule, without: set[str]) -> Options:
    """What a rule decides by, as plain values; a rule within it has no record of the fit."""
    values = {name: value for name, value in rule.to_dict().items() if name not in without}
    if isinstance(rule, CalibratedRule):
        values["rule"] = values_of(rule.rule, RECORD - {"objective"})
    return values


@pytest.mark.parametrize(("name", "options"), with_options(NAMES))
def test_a_name_stands_for_a_direct_call(name: str, options: Options) -> None:
    named = thresholds.RULES[name]
    without = RECORD if named.method in PUT_TOGETHER else {"made_by"}
    rule = fit(Y, P, name, **options) if options else fitted(name)
    assert values_of(rule, without) == values_of(DIRECT[name](Y, P, **options), without)
    assert (rule.average, rule.beta, rule.zero_division) == (
        named.average,
        options.get("beta", 1.0),
        options.get("zero_division", 0.0),
    )


def test_every_name_has_its_direct_call() -> None:
    assert list(DIRECT) == NAMES


def test_averages_and_guards_name_the_same_rules() -> None:
    """Options without a name lead to an entry of the list, so that both say what they take alike."""
    for name, rule in thresholds.RULES.items():
        if rule.method == "thresholds":
            options: Any = {"average": rule.average, "per_label": rule.per_label, "guard": rule.guard}
            assert FitOptions(**options).named.name == name


@pytest.mark.parametrize("name", ON_LABELS)
def test_a_rule_maximises_what_it_says(name: str) -> None:
    rule = fit(Y, P, name, beta=2.0, zero_division=1.0)
    average = thresholds.RULES[name].average
    reached = metrics.fbeta_score(Y, rule.predict(P), beta=2.0, average=average, zero_division=1.0)
    assert rule.objective == pytest.approx(reached, abs=1e-12)


def test_a_best_rule_reaches_more_than_others_of_its_average() -> None:
    for average in ("macro", "weighted", "micro"):
        best = fitted(f"{average}, in-sample").objective
        for how in ("shared", "shrink" if average != "micro" else "pool"):
            assert fitted(f"{average}, {how}").objective <= best + 1e-12


# What it takes

OTHER = {
    "beta": 2.0,
    "zero_division": 1.0,
    "placement": "mid",
    "keep_sparse": False,
    "max_overprediction": 2.0,
    "min_precision": 0.5,
    "min_recall": 0.5,
    "confidence": 0.8,
    "family": "all",
    "max_predicted": 50.0,
    "max_predicted_per_row": 2,
    "n_jobs": 2,
    "progress": True,
}
BESIDE = {  # what an option needs
    "confidence": {"min_recall": 0.5},
    "family": {"min_recall": 0.5, "confidence": 0.8},
}
NAMED_BY = {"average", "rule", "per_label", "guard"}  # what a name says


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_takes_the_options_that_it_lists(name: str) -> None:
    listed = thresholds.RULES[name].options
    assert set(OTHER) == FIT_OPTIONS.keys() - NAMED_BY
    assert set(listed) <= set(OTHER)
    for option, value in OTHER.items():
        if option in listed:
            beside = BESIDE.get(option, {})
            if thresholds.RULES[name].is_promised_of_rows and option in ("min_precision", "min_recall"):
                beside = {"confidence": 0.8}
            assert getattr(FitOptions(rule=name, **beside, **{option: value}), option) == value
            continue
        with pytest.raises(InputError, match=f"^{option} is .* with rule '{name}', which has no use for it; expected"):
            fit(Y, P, name, **{option: value})
        assert name not in rules_that_take(option)


@pytest.mark.parametrize("name", ALONE)
def test_what_looks_at_no_labels_needs_none(name: str) -> None:
    assert fit(None, P, name).to_dict() | {"fitted_on": 0} == fitted(name).to_dict() | {"fitted_on": 0}


def test_what_is_fitted_on_labels_needs_them() -> None:
    for name in ON_LABELS:
        with pytest.raises(
            InputError, match=f"^y_true is None with rule '{name}', which is fitted on labels; expected"
        ):
            fit(None, P, name)


@pytest.mark.parametrize("name", [name for name in ALONE if thresholds.RULES[name].needs_probabilities])
def test_what_takes_scores_for_probabilities_refuses_others(name: str) -> None:
    with pytest.raises(
        InputError, match=f"^rule is '{name}', which does not apply: scores lie outside .* expected a calibrated rule"
    ):
        fit(Y, LOGITS, name)
    with pytest.raises(InputError, match=f"^rule is '{name}', which does not apply: missing is 1, and absent entries"):
        fit(Y, P, name, missing=1.0)


def test_the_guard_of_a_name_may_have_options() -> None:
    guard = thresholds.Shrink(siblings=False)
    rule = fit(Y, P, "macro, shrink", guard=guard, zero_division=1.0)
    expected = fit_empirical(Y, P, guard=guard, zero_division=1.0)
    assert rule.to_dict() | {"made_by": 0} == expected.to_dict() | {"made_by": 0}
    given = {"guard": "shrink (siblings=False)", "zero_division": 1.0}
    assert rule.made_by.options == {"rule": "macro, shrink", **given}, "what was asked for, beside the name"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"average": "micro"},
            "average is 'micro' with rule 'macro, shrink', which is for 'macro'; expected a rule for 'micro': 'micro, ",
        ),
        (
            {"per_label": False},
            "per_label is False with rule 'macro, shrink'; expected a rule with one threshold for all",
        ),
        (
            {"guard": "pool"},
            "guard is 'pool' with rule 'macro, shrink'; expected a rule with that guard: 'micro, pool'",
        ),
        (
            {"guard": None},
            "guard is None with rule 'macro, shrink'; expected a rule without a guard, as 'macro, in-sample'$",
        ),
    ],
)
def test_what_contradicts_a_name_is_refused(options: Options, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        cross_fit(Y, P, rule="macro, shrink", **options)


# What it keeps


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_saved_and_loaded_with_what_made_it(name: str, tmp_path: Path) -> None:
    rule = fitted(name)
    rule.save(tmp_path / "rule.json")
    VALIDATOR.validate(json.loads((tmp_path / "rule.json").read_text()))
    loaded = load_rule(tmp_path / "rule.json")
    assert loaded.to_dict() == rule.to_dict()
    assert np.array_equal(loaded.predict(P), rule.predict(P))
    assert (loaded.made_by.function, loaded.made_by.options) == ("fit", {"rule": name})
    assert loaded.profile is not None


# What it is indifferent to

Scores = NDArray[np.float64]
ROWS = np.arange(1.0, len(P) + 1)[:, np.newaxis]


def cubed(scores: Scores) -> Scores:
    return scores**3


def by_label(scores: Scores) -> Scores:
    return np.stack([scores[:, 0] ** 3, np.exp(scores[:, 1]), 5 * scores[:, 2] + 1, np.arctan(scores[:, 3])], axis=1)


def by_row(scores: Scores) -> Scores:
    return scores * ROWS + ROWS**2


def linear(scores: Scores) -> Scores:
    return 2 * scores + 3


# For each statement: scores, maps that change no decision (or, of the last, few), and one that does, so that the
# statement says no less than there is.
STATED: Mapping[str, tuple[Scores, tuple[Callable[[Scores], Scores], ...], Callable[[Scores], Scores]]] = {
    "any rising map of a label's scores, and another for each label": (P, (cubed, by_label), by_row),
    "any rising map of a row's scores, and another for each row": (P, (cubed, by_row), by_label),
    "one rising map of all scores": (P, (cubed, linear), by_label),
    "one rising linear map of all scores": (LOGITS, (linear,), by_label),
    "one rising linear map of all scores, unless they lie in [0, 1]": (LOGITS, (linear,), cubed),
    "one rising linear map of all scores, unless they lie in [0, 1], but for few decisions": (LOGITS, (linear,), cubed),
    "nothing: scores are taken for probabilities": (P, (), cubed),
}


def decided(name: str, scores: Scores) -> NDArray[np.uint8]:
    return fit(Y, scores, name, n_jobs=1).predict(scores)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_indifferent_to_what_it_states(name: str) -> None:
    stated = thresholds.RULES[name].invariance
    scores, harmless, harmful = STATED[stated]
    before = decided(name, scores)
    most = 0.01 if stated.endswith("but for few decisions") else 0.0
    for change in harmless:
        assert np.mean(decided(name, change(scores)) != before) <= most
    assert np.mean(decided(name, harmful(scores)) != before) > most


def test_every_statement_is_of_some_rule() -> None:
    assert set(STATED) == {rule.invariance for rule in thresholds.RULES.values()}


# Out of fold


@pytest.mark.parametrize(("name", "options"), with_options(KINDS))
def test_cross_fit_refits_the_rule_by_folds(name: str, options: Options) -> None:
    folds = np.arange(len(Y)) % 4
    found = cross_fit(Y, P, rule=name, cv=folds, n_jobs=1, **options)
    decisions = np.zeros_like(Y)
    for k in range(4):
        others = fit(Y[folds != k], P[folds != k], name, **options)
        decisions[folds == k] = others.predict(P[folds == k])
        if isinstance(others, ThresholdRule):
            assert np.array_equal(found.fold_thresholds[k], others.thresholds)
        else:
            assert np.isnan(found.fold_thresholds[k]).all()
    average = thresholds.RULES[name].average or "macro"
    scoring = {"beta": 1.0, "zero_division": 0.0} | options
    expected = metrics.fbeta_score(Y, decisions, average=average, **scoring)
    assert found.out_of_fold == pytest.approx(expected, abs=1e-12)
    assert (found.name, found.average) == (name, average)
    assert found.rule.out_of_fold.f == found.out_of_fold
    whole = fit(Y, P, name, **options)
    assert found.rule.to_dict() | {"out_of_fold": 0, "odds": 0} == whole.to_dict() | {"out_of_fold": 0, "odds": 0}
    reached = metrics.fbeta_score(Y, whole.predict(P), average=average, **scoring)
    assert found.in_sample == pytest.approx(reached, abs=1e-12)


@pytest.mark.parametrize("name", [*KINDS, "macro, in-sample", "micro, shared"])
def test_alternatives_are_those_of_thresholds(name: str) -> None:
    found = cross_fit(Y, P, rule=name, cv=3, alternatives=True, n_jobs=1)
    expected = {
        "macro, in-sample": ["one threshold for all labels", "the guard shrink"],
        "micro, pool": ["one threshold for all labels"],
    }
    assert [other.name for other in found.alternatives] == expected.get(name, [])


@pytest.mark.parametrize("name", ["fixed 0.5", "top-k"])
def test_rules_that_are_not_fitted_can_be_capped_and_watch_what_is_left(name: str) -> None:
    rule = fit(Y, P, name, max_predicted_per_row=1)
    decided = rule.predict(P)
    assert decided.sum(axis=1).max() == 1
    assert rule.profile is not None
    assert rule.profile.predicted.tolist() == decided.sum(axis=0).tolist()
