"""`compare`: rules that are given, or the usual ones, and which rows its figures are of."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.words import flat
from thresholds import InputError, cli
from thresholds._engine.problem import Problem
from thresholds.calibration.calibrator import Calibrator, calibrate_problem
from thresholds.cli import failing
from thresholds.comparison.fitted_rules import fit_rules
from thresholds.comparison.result import MEASURED, Behind
from thresholds.fitting import by_name
from thresholds.metrics.jackknife import Interval

RNG = np.random.default_rng(8)
TRUTH = (RNG.random((200, 4)) < [0.4, 0.3, 0.2, 0.1]).astype(np.uint8)
SCORES = np.round(RNG.random((200, 4)) * 0.6 + 0.4 * TRUTH, 3)
NAMES = ("cat", "dog", "emu", "yak")


def halves(**options: Any) -> tuple[Any, Any]:
    fold = thresholds.multilabel_folds(TRUTH, 2, **options)
    return np.flatnonzero(fold == 0), np.flatnonzero(fold == 1)


def test_without_rules_the_usual_ones_are_fitted_on_one_half_and_judged_on_the_other() -> None:
    fit, judge = halves()
    rules = fit_rules(Problem.of(TRUTH[fit], SCORES[fit]), beta=2.0).rules
    expected = thresholds.compare(rules, TRUTH[judge], SCORES[judge], beta=2.0)
    got = thresholds.compare(None, TRUTH, SCORES, beta=2.0)
    assert str(got.measures) == str(expected.measures)
    assert got.n_samples == len(judge)
    assert f"fitted on {len(fit)} rows, judged on {len(judge)} others: halves by iterative strat" in str(got)
    assert str(thresholds.compare(None, TRUTH, SCORES, beta=2.0)) == str(got)


def test_halves_keep_groups_together_and_rows_their_weights() -> None:
    groups, weights = np.repeat(np.arange(40), 5), RNG.integers(1, 4, 200)
    fit, judge = halves(groups=groups, random_state=7)
    of_fit = Problem.of(TRUTH[fit], SCORES[fit], sample_weight=weights[fit], groups=groups[fit])
    rules = fit_rules(of_fit).rules
    of_judged = {"sample_weight": weights[judge], "groups": groups[judge]}
    expected = thresholds.compare(rules, TRUTH[judge], SCORES[judge], **of_judged)
    got = thresholds.compare(None, TRUTH, SCORES, sample_weight=weights, groups=groups, random_state=7)
    assert str(got.measures) == str(expected.measures)
    assert "halves by iterative stratification of groups, seed 7" in str(got)


def test_all_rules_or_some_are_fitted_by_name() -> None:
    everything = thresholds.compare("all", TRUTH, SCORES, zero_division=1.0)
    assert [row.rule for row in everything.measures] == list(thresholds.RULES)
    some = thresholds.compare(["Instance,Platt", "micro"], TRUTH, SCORES, zero_division=1.0)
    assert [row.rule for row in some.measures] == ["instance, platt", "micro, pool"]
    for row in some.measures:
        assert row in everything.measures
    assert "neither positives nor predictions counts as F 1" in str(some)


def test_rules_that_are_fitted_on_the_same_rows_share_their_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = []

    def calibrate(problem: Any, method: str, **options: Any) -> Any:
        methods.append(method)
        return calibrate_problem(problem, method, **options)

    measured = []

    def measure(calibrator: Calibrator, problem: Any) -> Any:
        measured.append(calibrator.method)
        return measure_calibrator(calibrator, problem)

    measure_calibrator = Calibrator.measure
    monkeypatch.setattr(by_name, "calibrate_problem", calibrate)
    monkeypatch.setattr(Calibrator, "measure", measure)
    thresholds.compare(["macro, platt", "micro, platt", "instance, platt", "instance, isotonic"], TRUTH, SCORES)
    assert sorted(methods) == sorted(measured) == ["isotonic", "platt"]


def test_zero_division_is_that_of_fits_and_figures() -> None:
    fit, judge = halves()
    for row in thresholds.compare(["macro", "instance, platt"], TRUTH, SCORES, zero_division=1.0).measures:
        rule = thresholds.fit(TRUTH[fit], SCORES[fit], row.rule, zero_division=1.0)
        decided = rule.predict(SCORES[judge])
        for average in ("micro", "macro", "weighted", "samples"):
            expected = thresholds.metrics.f1_score(TRUTH[judge], decided, average=average, zero_division=1)
            assert getattr(row, average) == expected


def test_rules_that_cannot_be_had_are_named_with_the_reason() -> None:
    found = thresholds.compare(["macro, in-sample", "micro, label-free"], TRUTH, SCORES - 0.5)
    assert [row.rule for row in found.measures] == ["macro, in-sample"]
    assert "left out, as scores lie outside [0, 1], and probabilities are needed: micro, label-free" in str(found)
    assert found.to_dict()["left_out"] == dict(found.left_out)
    with pytest.raises(
        InputError, match=r"^rules has 'micro, label-free' alone, which cannot be fitted here: scores lie"
    ):
        thresholds.compare(["micro, label-free"], TRUTH, SCORES - 0.5)
    with pytest.raises(InputError, match=r"^rules is 'micros', expected the name of a rule, as 'micro'"):
        thresholds.compare(["micros"], TRUTH, SCORES)
    with pytest.raises(
        InputError, match=r"^rules is 'micro', expected a mapping of names to rules, names of rules, 'all'"
    ):
        thresholds.compare("micro", TRUTH, SCORES)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_arrays_in_the_place_of_rules_are_refused(form: Any) -> None:
    with pytest.raises(InputError, match=r"^rules is .*, expected the name of a rule$"):
        thresholds.compare(form(TRUTH), SCORES, {"a": thresholds.TopKRule(1)})


def test_rules_fitted_on_the_judged_rows_are_named() -> None:
    fit, judge = halves()
    here = thresholds.fit_empirical(TRUTH[judge], SCORES[judge])
    elsewhere = thresholds.fit_empirical(TRUTH[fit], SCORES[fit])
    rules = {"here": here, "elsewhere": elsewhere, "fixed": thresholds.FixedRule(0.5, 4)}
    found = thresholds.compare(rules, TRUTH[judge], SCORES[judge])
    assert found.fitted_here == ("here",)
    assert f"rules as given, judged on {len(judge)} rows; fitted on these: here, whose figures" in flat(found)
    others = thresholds.compare({"elsewhere": elsewhere}, TRUTH[judge], SCORES[judge])
    assert others.fitted_here == ()
    assert "the figures of a rule that was fitted on any of them are too high" in flat(others)
    weights = np.random.default_rng(0).random(len(judge))
    weighted = thresholds.fit_empirical(TRUTH[judge], SCORES[judge], sample_weight=weights)
    found = thresholds.compare({"weighted": weighted}, TRUTH[judge], SCORES[judge], sample_weight=weights)
    assert found.fitted_here == ("weighted",)


def test_what_is_for_rules_that_are_fitted_is_refused_with_others() -> None:
    rules = {"fixed": thresholds.FixedRule(0.5, 4)}
    given = (
        ("label_names", NAMES, None),
        ("missing", -1.0, 0.0),
        ("random_state", 3, 0),
    )
    for name, value, default in given:
        with pytest.raises(InputError, match=f"^{name} is given with rules, expected {default}"):
            thresholds.compare(rules, TRUTH, SCORES, **{name: value})


def test_differences_are_those_of_the_measures() -> None:
    rules = {"old": thresholds.FixedRule(0.5, 4), "new": thresholds.FixedRule(0.6, 4), "third": thresholds.TopKRule(1)}
    found = thresholds.compare(rules, TRUTH, SCORES, beta=2.0)
    measured = {row.rule: row for row in found.measures}
    assert [row.rule for row in found.differences] == ["new"] * 5 + ["third"] * 5
    for row in found.differences:
        expected = getattr(measured[row.rule], row.measure) - getattr(measured["old"], row.measure)
        assert row.difference == pytest.approx(expected, abs=1e-14)
        assert row.lower < row.difference < row.upper
    assert (found.confidence, found.paired_by) == (0.95, "row")
    assert "how much more than old, on the same rows, with the 95 % interval:" in str(found)
    assert str(found.differences[0]).startswith("new - old: micro ")


def test_macro_is_told_once_where_all_labels_have_positives() -> None:
    rules = {"old": thresholds.FixedRule(0.5, 4), "new": thresholds.FixedRule(0.6, 4)}
    assert "macro, labels with positives" not in str(thresholds.compare(rules, TRUTH, SCORES))
    without = TRUTH.copy()
    without[:, 3] = 0
    assert "macro, labels with positives" in str(thresholds.compare(rules, without, SCORES))


def test_many_rules_are_a_screen() -> None:
    many = {f"cut {k}": thresholds.FixedRule(k / 50, 4) for k in range(40)}
    found = thresholds.compare(many, TRUTH, SCORES)
    assert len(str(found).splitlines()) < 90
    assert str(found).count("... 10 more") == 1
    assert str(found).count("... 31 more") == 1
    assert "... " not in found.to_text(1000)


def test_rules_find_their_labels_by_name_in_differences_too() -> None:
    cuts = np.array([0.4, 0.5, 0.6, 0.7])
    old = thresholds.ThresholdRule(np.full(4, 0.5), label_names=NAMES)
    straight = thresholds.ThresholdRule(cuts, label_names=NAMES)
    turned = thresholds.ThresholdRule(cuts[::-1], label_names=NAMES[::-1])
    one, other = (thresholds.compare({"old": old, "new": new}, TRUTH, SCORES) for new in (straight, turned))
    assert one.differences == other.differences


def test_another_baseline_turns_the_difference_round() -> None:
    rules = {"old": thresholds.FixedRule(0.5, 4), "new": thresholds.FixedRule(0.6, 4)}
    forth = thresholds.compare(rules, TRUTH, SCORES).differences
    back = thresholds.compare(rules, TRUTH, SCORES, baseline="new").differences
    assert [(row.rule, row.baseline) for row in back] == [("old", "new")] * 5
    for one, other in zip(forth, back, strict=True):
        assert (other.difference, other.lower, other.upper) == pytest.approx((-one.difference, -one.upper, -one.lower))


def test_intervals_of_groups_are_those_of_other_groups() -> None:
    # Ten copies of each row are ten times the rows, but no more groups.
    rules = {"old": thresholds.FixedRule(0.5, 4), "new": thresholds.FixedRule(0.7, 4)}
    once = thresholds.compare(rules, TRUTH, SCORES)
    copies = np.repeat(np.arange(200), 10)
    grouped = thresholds.compare(rules, TRUTH[copies], SCORES[copies], groups=copies)
    assert grouped.paired_by == "group"
    for one, other in zip(once.differences, grouped.differences, strict=True):
        assert (other.lower, other.upper) == pytest.approx((one.lower, one.upper))


def test_one_rule_and_those_that_are_fitted_have_no_differences() -> None:
    one = {"fixed": thresholds.FixedRule(0.5, 4)}
    assert thresholds.compare(one, TRUTH, SCORES).differences == ()
    assert thresholds.compare(None, TRUTH, SCORES).differences == ()


# Intervals, and what cannot be told apart

THREE = {
    "half": thresholds.FixedRule(0.5, 4),
    "near": thresholds.FixedRule(0.51, 4),
    "far": thresholds.FixedRule(0.95, 4),
}


@pytest.mark.parametrize("rules", [THREE, ["macro", "micro", "top-k"]])
def test_every_measure_has_an_interval_of_the_confidence(rules: Any) -> None:
    wide, narrow = (thresholds.compare(rules, TRUTH, SCORES, confidence=c) for c in (0.99, 0.9))
    assert narrow.confidence == 0.9
    for one, other in zip(wide.measures, narrow.measures, strict=True):
        assert tuple(one.intervals) == MEASURED
        for measure in MEASURED:
            value, lower, upper = other.intervals[measure]
            assert value == pytest.approx(getattr(other, measure), abs=1e-14)
            assert one.intervals[measure].lower < lower < value < upper < one.intervals[measure].upper
            assert other.reach(measure) == max(value - lower, upper - value)


def test_rules_that_are_fitted_here_have_the_intervals_of_rules_that_are_given() -> None:
    groups = np.repeat(np.arange(100), 2)
    fit, judge = halves(groups=groups)
    rules = fit_rules(Problem.of(TRUTH[fit], SCORES[fit]), ["macro", "micro"]).rules
    given = thresholds.compare(rules, TRUTH[judge], SCORES[judge], groups=groups[judge], confidence=0.8)
    fitted = thresholds.compare(["macro", "micro"], TRUTH, SCORES, groups=groups, confidence=0.8)
    assert fitted.measures == given.measures
    assert fitted.behind_best == given.behind_best
    assert (fitted.paired_by, fitted.confidence) == ("group", 0.8)
    assert "for as many other groups; how well a rule was fitted is not in it" in flat(fitted)


def test_intervals_over_groups_are_those_of_other_groups() -> None:
    copies = np.repeat(np.arange(200), 5)
    once = thresholds.compare(THREE, TRUTH, SCORES)
    grouped = thresholds.compare(THREE, TRUTH[copies], SCORES[copies], groups=copies)
    as_rows = thresholds.compare(THREE, TRUTH[copies], SCORES[copies])
    for one, other, narrow in zip(once.measures, grouped.measures, as_rows.measures, strict=True):
        for measure in MEASURED:
            assert other.intervals[measure] == pytest.approx(one.intervals[measure])
            assert narrow.reach(measure) < 0.6 * one.reach(measure)


def test_the_best_are_those_that_cannot_be_told_apart() -> None:
    found = thresholds.compare(THREE, TRUTH, SCORES)
    measured = {row.rule: row for row in found.measures}
    assert found.best("micro") == ("half", "near")
    for measure in MEASURED:
        highest = max(getattr(row, measure) for row in found.measures)
        for name, row in found.behind_best[measure].items():
            assert row.behind == pytest.approx(highest - getattr(measured[name], measure), abs=1e-14)
            assert row.lower <= row.behind <= row.upper
            assert row.tied == (name in found.best(measure)) == (not row.lower > 0)
        assert any(row.behind == 0 and row.tied for row in found.behind_best[measure].values())


def test_without_intervals_the_best_has_the_highest_figure() -> None:
    found = thresholds.compare(THREE, TRUTH, SCORES, confidence=None)
    assert (found.confidence, found.behind_best, found.differences) == (None, {}, ())
    assert all(row.intervals == {} and np.isnan(row.reach("micro")) for row in found.measures)
    assert found.best("micro") == ("half",)
    assert "*" not in str(found)
    assert "+-" not in str(found)
    assert f"  {found.measures[0].micro:.4f}  " in str(found)


def test_a_single_rule_has_intervals_and_no_marks() -> None:
    found = thresholds.compare({"half": THREE["half"]}, TRUTH, SCORES)
    assert found.behind_best == {}
    assert found.measures[0].reach("macro") > 0
    assert "+-" in str(found)
    assert "*" not in str(found)


def test_a_row_of_the_table_has_marks_and_no_digits_that_are_noise() -> None:
    found = thresholds.compare(THREE, TRUTH, SCORES)
    table = str(found).split("\n\n")[0]
    lines = {line.split("  ")[0]: line.split() for line in table.splitlines()}
    for row in found.measures:
        shown = [row.rule]
        for measure in ("micro", "macro", "samples"):
            mark = "*" if row.rule in found.best(measure) else ""
            shown += [f"{mark}{getattr(row, measure):.3f}", f"{row.reach(measure):.3f}"]
        assert lines[row.rule][: len(shown)] == shown
        assert lines[row.rule][len(shown)] == f"{row.macro_skill:.3f}"
    assert "* cannot be told apart from the highest of its column, on the same rows (with 95 % conf" in str(found)
    narrow = {name: Interval(x, x - 0.0015, x + 0.0012) for name, (x, _, _) in found.measures[0].intervals.items()}
    one = replace(found, measures=(replace(found.measures[0], intervals=narrow),))
    assert f"{one.measures[0].micro:.4f}  0.0015  " in str(one)


def test_a_rule_without_a_star_may_stand_above_one_with_it() -> None:
    found = thresholds.compare(THREE, TRUTH, SCORES)
    said = "a rule without * may stand above one with it"
    assert said not in str(found)
    tied = {"half": Behind(0, 0, 0, True), "near": Behind(0.01, 0.005, 0.015, False), "far": Behind(1, -1, 3, True)}
    assert said in str(replace(found, behind_best=found.behind_best | {"samples": tied}))
    assert said not in str(replace(found, behind_best=found.behind_best | {"weighted": tied})), "it is not shown"


def test_json_has_flat_names() -> None:
    found = thresholds.compare(THREE, TRUTH, SCORES)
    for row, plain in zip(found.measures, found.to_dict()["measures"], strict=True):
        behind = found.behind_best["micro"][row.rule]
        _, low, high = row.intervals["micro"]
        names = [
            "micro",
            "micro_low",
            "micro_high",
            "micro_behind",
            "micro_behind_low",
            "micro_behind_high",
            "micro_tied",
        ]
        expected = [row.micro, low, high, behind.behind, behind.lower, behind.upper, behind.tied]
        assert [plain[name] for name in names] == expected
    (plain, *_) = thresholds.compare(THREE, TRUTH, SCORES, confidence=None).to_dict()["measures"]
    assert not [name for name in plain if name.endswith(("_low", "_high", "_behind", "_tied"))]


def test_the_frame_has_the_columns_of_the_table_as_numbers() -> None:
    pytest.importorskip("pandas")
    found = thresholds.compare(THREE, TRUTH, SCORES)
    frame = found.to_frame()
    names = ["rule"]
    for measure in ("micro", "macro", "samples"):
        names += [measure, f"{measure}_reach"]
        assert frame[measure].tolist() == [getattr(row, measure) for row in found.measures]
        assert frame[f"{measure}_reach"].tolist() == [row.reach(measure) for row in found.measures]
    assert list(frame.columns)[: len(names)] == names
    table = str(found).split("\n\n")[0]
    n_flagged = 2 if "platypus" in table else 0
    assert list(frame.columns)[len(names) :][:2] == ["macro_skill", "predicted_per_row"]
    assert frame.shape == (3, len(names) + 2 + n_flagged)
    columns = thresholds.compare(THREE, TRUTH, SCORES, confidence=None).to_frame().columns
    assert not [name for name in columns if name.endswith("_reach")]


def test_the_table_is_markdown_and_latex_too() -> None:
    found = thresholds.compare(THREE, TRUTH, SCORES)
    row = found.measures[0]
    cells = f"\\*{row.micro:.3f} | {row.reach('micro'):.3f}"
    assert "| rule | micro F1 | +- | macro F1 |" in found.to_markdown()
    assert f"| half | {cells} |" in found.to_markdown()
    assert f"half & {{*}}{row.micro:.3f} & {row.reach('micro'):.3f} &" in found.to_latex()


def test_one_row_tells_nothing_of_others() -> None:
    found = thresholds.compare(THREE, TRUTH[:1], SCORES[:1])
    assert found.best("samples") == tuple(THREE)
    assert all(np.isnan(row.reach("micro")) for row in found.measures)
    assert "nan" not in str(found).split("macro")[0]


# Macro skill and AUROC


@pytest.mark.parametrize("weights", [None, np.random.default_rng(3).integers(0, 3, 200)])
def test_macro_skill_and_auroc_are_those_of_the_metrics(weights: Any) -> None:
    truth = TRUTH.copy()
    truth[:, 2], truth[:, 3] = 0, 1
    found = thresholds.compare(THREE, truth, SCORES, sample_weight=weights)
    for row in found.measures:
        decided = THREE[row.rule].predict(SCORES)
        assert row.macro_skill == thresholds.metrics.macro_skill_score(truth, decided, sample_weight=weights)
    auroc = thresholds.metrics.macro_auroc(truth, SCORES, sample_weight=weights)
    assert found.macro_auroc == pytest.approx(auroc, abs=1e-14)
    assert found.n_with_both_classes == 2
    said = " ".join(str(found).split())
    assert "macro F1: mean over 3 labels with positives (over all 4 F is 0.7500 times that), skill over 2 with" in said
    assert f"macro AUROC of the scores: {auroc:.3f}" in said


def test_both_denominators_of_macro_are_shown_where_they_differ() -> None:
    truth = TRUTH.copy()
    truth[:, 3] = 0
    rules = {"half": THREE["half"], "never": thresholds.FixedRule(2.0, 4)}
    found = thresholds.compare(rules, truth, SCORES)
    for row in found.measures:
        assert row.macro == pytest.approx(row.macro_supported * 3 / 4)
    assert "means over 3 labels with positives (over all 4 F is 0.7500 times that)" in str(found)
    assert "of all" not in str(found)
    # Where 0/0 is 1, they differ by what is never predicted.
    found = thresholds.compare(rules, truth, SCORES, zero_division=1.0)
    never = found.measures[1]
    assert (never.macro_supported, never.macro) == (0.0, 0.25)
    line = next(line for line in str(found).splitlines() if line.startswith("never"))
    assert line.split()[3:7] == [
        "0.000",
        f"{never.reach('macro_supported'):.3f}",
        "0.250",
        f"{never.reach('macro'):.3f}",
    ]


def test_where_all_labels_have_positives_table_and_differences_are_of_one_macro() -> None:
    truth = TRUTH.copy()
    truth[:, 3] = 0
    truth[0, 3] = 1  # Without this row the two means are over 4 labels and over 3.
    found = thresholds.compare({name: THREE[name] for name in ("half", "far")}, truth, SCORES)
    half = found.measures[0]
    assert half.macro == half.macro_supported
    assert f"{half.reach('macro'):.3f}" != f"{half.reach('macro_supported'):.3f}"
    line = next(line for line in str(found).splitlines() if line.startswith("half"))
    assert line.split()[4] == f"{half.reach('macro'):.3f}"
    assert "of all" not in str(found)
    assert "macro, labels with positives" not in str(found)


def test_labels_of_one_class_have_no_skill() -> None:
    found = thresholds.compare(THREE, np.ones((20, 4), int), SCORES[:20])
    assert np.isnan(found.macro_auroc)
    assert "macro F1: mean over 4 labels with positives; none has negatives, too: no skill, no AUROC" in str(found)


def test_without_positives_there_is_no_macro_of_labels_that_have_some() -> None:
    found = thresholds.compare(THREE, np.zeros((20, 4), int), SCORES[:20])
    assert np.isnan([found.measures[0].macro_supported, *found.measures[0].intervals["macro_supported"]]).all()
    assert str(found).splitlines()[0].split()[:4] == ["micro", "macro", "samples", "macro"]
    assert "of all" in str(found).splitlines()[1]
    assert "labels with positives " not in str(found).partition("how much more")[2]


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_intervals_hold_their_figures_where_nothing_is_positive(zero_division: float) -> None:
    rules = THREE | {"never": thresholds.FixedRule(2.0, 4)}
    found = thresholds.compare(rules, np.zeros((20, 4), int), SCORES[:20], zero_division=zero_division)
    for row in found.measures:
        for measure in ("micro", "macro", "weighted", "samples"):
            value, lower, upper = row.intervals[measure]
            assert value == pytest.approx(getattr(row, measure), abs=1e-14)
            assert lower <= value <= upper
    if zero_division:
        assert found.behind_best["micro"]["never"].behind == 0
        assert found.behind_best["micro"]["half"].behind == 1
        assert found.best("micro") == tuple(rules)  # a single prediction would make the F of 1 a 0


def test_a_rule_of_another_number_of_labels_is_named() -> None:
    rules = {"four": thresholds.FixedRule(0.5, 4), "three": thresholds.FixedRule(0.5, 3)}
    with pytest.raises(InputError, match=r"^y_score has 4 labels, expected 3 as the rule 'three' has"):
        thresholds.compare(rules, TRUTH, SCORES)


def test_there_must_be_two_halves() -> None:
    with pytest.raises(InputError, match=r"^y_true has 1 row, expected at least 2: a half to fit on, and one to judge"):
        thresholds.compare(None, TRUTH[:1], SCORES[:1])
    with pytest.raises(InputError, match=r"^groups has 1 group, expected at least 2"):
        thresholds.compare(None, TRUTH, SCORES, groups=np.zeros(200, int))
    with pytest.raises(InputError, match=r"^sample_weight is 0 for every row of the half to (fit on|judge), expected"):
        thresholds.compare(None, TRUTH, SCORES, sample_weight=np.eye(200)[3])


# The command line


def saved(folder: Path) -> tuple[str, str, str]:
    """A file of scores whose labels are in another order than those of the rules beside it."""
    order = [2, 0, 3, 1]
    np.savez(
        folder / "scores.npz",
        y_true=TRUTH[:, order],
        y_score=SCORES[:, order],
        label_names=np.array(NAMES)[order],
        test_idx=np.arange(100, 200),
    )
    macro = thresholds.fit_empirical(TRUTH[:100], SCORES[:100], label_names=NAMES)
    reverse = thresholds.fit_empirical(TRUTH[:100, ::-1], SCORES[:100, ::-1], "micro", label_names=NAMES[::-1])
    macro.save(folder / "macro.json")
    reverse.save(folder / "micro.json")
    return str(folder / "scores.npz"), str(folder / "macro.json"), str(folder / "micro.json")


def test_the_command_line_judges_saved_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, macro, micro = saved(tmp_path)
    assert cli.main(["compare", scores, "--rule", macro, "--rule", micro, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    rules = {"macro": thresholds.load_rule(macro), "micro": thresholds.load_rule(micro)}
    expected = {}
    for name, rule in rules.items():
        order = [NAMES.index(label) for label in rule.label_names or ()]
        (expected[name],) = thresholds.compare({name: rule}, TRUTH[100:, order], SCORES[100:, order]).measures
    assert [row["rule"] for row in printed["measures"]] == [macro, micro]
    for row, name in zip(printed["measures"], rules, strict=True):
        assert row["micro"] == expected[name].micro
        assert row["macro"] == pytest.approx(expected[name].macro, rel=1e-14)
    assert printed["n_judged"] == 100
    assert cli.main(["compare", scores, "--rule", macro]) == 0
    assert "rules as given, judged on the 100 rows of test_idx; the figures" in capsys.readouterr().out
    assert cli.main(["compare", scores, "--rule", macro, "--split", "all"]) == 0
    assert "judged on all 200 rows; " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rule", "macro.json", "--placement", "mid"], "--placement is 'mid' with --rule, which has no use for it"),
        (["--rule", "macro.json", "--missing", "0.5"], "--missing is 0.5 with --rule"),
        (["--split", "test"], "--split is 'test' without --rule"),
        (["--rule", "none.json"], "none.json"),
        (
            ["--rule", "macro.json", "--rule", "micro.json", "--fail-on", "macro=0", "--confidence", "none"],
            "--fail-on is given with --confidence none, expected a confidence: a rule fails by its interval",
        ),
    ],
)
def test_the_command_line_refuses_what_does_not_go_together(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", "scores.npz", *more]) == 1
    assert said in capsys.readouterr().err


def gate(folder: Path, cut: float) -> list[str]:
    """The command that holds a fixed rule against one that cuts at .5."""
    np.savez(folder / "scores.npz", y_true=TRUTH, y_score=SCORES, group=np.arange(200) // 2)
    thresholds.FixedRule(0.5, 4).save(folder / "old.json")
    thresholds.FixedRule(cut, 4).save(folder / "new.json")
    rules = ["--rule", str(folder / "old.json"), "--rule", str(folder / "new.json")]
    return ["compare", str(folder / "scores.npz"), *rules]


def test_the_gate_fails_on_a_loss_beyond_the_bound_and_beyond_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = gate(tmp_path, cut=0.9)
    assert cli.main([*command, "--fail-on", "macro=-0.005,micro=-0.9"]) == 3
    printed = capsys.readouterr()
    assert printed.err.startswith("thresholds: failed: ")
    assert printed.err.rstrip().endswith("expected at least -0.005")
    assert printed.err.count("\n") == 1
    assert "how much more than" in printed.out
    assert cli.main([*command, "--fail-on", "macro=-0.005", "--json"]) == 3
    printed_json = json.loads(capsys.readouterr().out)
    assert len(printed_json["broken"]) == 1
    assert printed_json["differences"][0]["measure"] == "micro"
    # Of a loss beyond the bound that may be chance it is only said.
    command = gate(tmp_path, cut=0.48)
    assert cli.main([*command, "--fail-on", "micro=-0.005"]) == 0
    assert "is below -0.005, but may be chance on these rows: not failed" in flat(capsys.readouterr().out)
    assert cli.main([*command, "--fail-on", "micro=-0.02"]) == 0
    assert "not failed" not in capsys.readouterr().out
    assert cli.main([*command, "--groups", "group"]) == 0
    assert "on the same groups" in flat(capsys.readouterr().out)


def test_the_command_line_has_intervals_of_a_confidence_or_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, *_ = saved(tmp_path)
    assert cli.main(["compare", scores]) == 0
    assert "+- reach of the 95 % interval" in capsys.readouterr().out
    assert cli.main(["compare", scores, "--confidence", "0.8", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["confidence"] == 0.8
    assert printed["measures"][0]["micro_low"] < printed["measures"][0]["micro"]
    for word in ("none", "0"):
        assert cli.main(["compare", scores, "--confidence", word]) == 0
        assert "+-" not in capsys.readouterr().out


def test_the_command_line_says_on_which_labels_rules_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, macro, micro = saved(tmp_path)
    command = ["compare", scores, "--rule", macro, "--rule", micro, "--agreement"]
    assert cli.main(command) == 0
    assert "labels on which they differ on most rows:" in capsys.readouterr().out
    assert cli.main([*command, "--json"]) == 0
    agreement = json.loads(capsys.readouterr().out)["agreement"]
    assert agreement["rules"] == [macro, micro]
    assert agreement["by_label"][0]["name"] == "cat"
    assert cli.main([*command[:4], "--agreement"]) == 1
    assert "--agreement is given with 1 --rule, expected two or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("macro=0.005", "macro has the bound '0.005', expected a number from -1 to 0"),
        ("macro=some", "macro has the bound 'some', expected a number from -1 to 0"),
        ("platypus=0", "'platypus=0' is no condition, expected NAME=BOUND, NAME in micro, macro_supported, macro"),
        ("macro=-1,macro=0", "macro is given twice"),
    ],
)
def test_bounds_of_the_gate_that_cannot_be_read(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["compare", "s.npz", "--rule", "a", "--rule", "b", "--fail-on", given])
    assert f"argument --fail-on: {said}" in capsys.readouterr().err


@pytest.mark.parametrize("given", ["1", "-0.5", "some", "nan", ""])
def test_a_confidence_that_cannot_be_read(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["compare", "s.npz", f"--confidence={given}"])
    assert f"argument --confidence: {given!r} is no number between 0 and 1, nor none" in capsys.readouterr().err


def test_the_gate_needs_two_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = gate(tmp_path, cut=0.6)
    assert cli.main([*command[:4], "--fail-on", "macro=0"]) == 1
    assert "--fail-on is given with 1 --rule, expected two or more" in capsys.readouterr().err
    assert set(failing.COMPARE) == set(MEASURED)


def test_a_rule_is_not_held_against_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The same file twice would be one rule of that name, and no condition could fail.
    command = gate(tmp_path, cut=0.6)
    assert cli.main([*command[:4], *command[2:4], "--fail-on", "macro=0"]) == 1
    assert f"--rule {command[3]} is given twice, expected each rule once" in capsys.readouterr().err
