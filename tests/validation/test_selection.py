"""`select_rule`: which rule is chosen, why, what is said of it, and that it is had by its name."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from tests.words import flat
from thresholds import RULES, InputError, cli, cross_fit, fit, load_rule, select_rule
from thresholds.validation.selection import REFERENCES, RuleSelection, guarded_form, in_order

N, M = 150, 4
FEW = [
    "fixed 0.5",
    "macro, in-sample",
    "macro, shrink",
    "macro, shared",
    "micro, in-sample",
    "micro, pool",
    "micro, shared",
    "instance, platt",
]

Cells = NDArray[np.uint8]
Floats = NDArray[np.float64]


def drawn(seed: int = 0, n: int = N) -> tuple[Cells, Floats]:
    """Labels, and scores in [0, 1] that know them."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, M)) < [0.5, 0.3, 0.2, 0.1]
    scores = 1 / (1 + np.exp(1.5 - rng.normal(size=(n, M)) - 2 * truth))
    return truth.astype(np.uint8), np.round(scores, 3)


def selected(average: str = "macro", **options: object) -> RuleSelection:
    """Choose among a few rules on three folds."""
    truth, scores = drawn()
    return select_rule(truth, scores, average, **({"rules": FEW, "cv": 3} | options))


@cache
def usual(average: str) -> RuleSelection:
    """Choose with the options of most of these tests."""
    return selected(average)


def saved(found: RuleSelection) -> str:
    """Return the rule as it is saved."""
    return json.dumps(found.rule.to_dict(), sort_keys=True)


# The choice


def choice_of(found: RuleSelection) -> str:
    """Read the choice off the table, as the docstring has it."""
    table = found.candidates
    best = found.reference
    most = 0.0
    for row in table:
        sibling = {
            "macro, in-sample": "macro, shrink",
            "weighted, in-sample": "weighted, shrink",
            "micro, in-sample": "micro, pool",
        }.get(row["name"])
        if row["lowest"] > 0 and row["gain"] > most and sibling not in table["name"]:
            best, most = str(row["name"]), row["gain"]
    return best


@pytest.mark.parametrize("average", list(REFERENCES))
def test_the_choice_is_that_of_the_table(average: str) -> None:
    found = usual(average)
    assert found.name == choice_of(found)
    row = found.candidates[found.candidates["chosen"]]
    assert row["name"].tolist() == [found.name]
    assert row["out_of_fold"][0] == found.out_of_fold
    in_table = dict(zip(found.candidates["name"].tolist(), found.candidates["out_of_fold"], strict=True))
    np.testing.assert_allclose(found.candidates["gain"], found.candidates["out_of_fold"] - in_table[found.reference])


def test_another_rule_is_chosen_where_the_reference_is_shown_to_be_worse() -> None:
    # The scores of each label lie higher than those of the one before: no threshold suits all.
    truth, scores = drawn(1, 300)
    shifted = scores + np.array([0.0, 3.0, 6.0, 9.0])
    found = select_rule(truth, shifted, "micro", rules=["micro, shared", "macro, shrink", "macro, in-sample"], cv=3)
    assert found.reference == "micro, shared"
    assert found.name == choice_of(found) != found.reference
    gain, _, lowest = found.candidates[found.candidates["chosen"]][["gain", "standard_error", "lowest"]][0]
    assert gain > lowest > 0
    assert f"\nThat is {gain:.4f} more than micro, shared (standard error" in str(found)


@pytest.mark.parametrize("average", list(REFERENCES))
def test_the_reference_is_the_usual_rule_of_the_average(average: str) -> None:
    assert in_order(None, average)[0].name == REFERENCES[average]
    assert {rule.name for rule in in_order(None, average)} == set(RULES)
    assert in_order("all", average) == in_order(None, average), "as compare takes it"


def test_without_the_usual_rule_the_reference_is_the_first_for_the_average_or_else_the_first() -> None:
    names = ["top-k", "macro, in-sample", "micro, shared", "micro, in-sample"]
    assert [rule.name for rule in in_order(names, "micro")] == [
        "micro, shared",
        "micro, in-sample",
        "top-k",
        "macro, in-sample",
    ]
    assert [rule.name for rule in in_order(["top-k", "macro, in-sample"], "micro")] == ["top-k", "macro, in-sample"]
    guarded = ["macro, in-sample", "micro, shared", "macro, shrink"]
    assert [rule.name for rule in in_order(guarded, "micro")] == ["micro, shared", "macro, shrink", "macro, in-sample"]
    assert [rule.name for rule in in_order([" MACRO ,shrink", "micro, in-sample"], "micro")] == [
        "micro, in-sample",
        "macro, shrink",
    ]


def test_by_micro_f1_a_choice_of_few_rows_begins_from_the_guarded_fit() -> None:
    truth, scores = drawn(4, 60)
    found = select_rule(truth, scores, "micro", rules=["micro, in-sample", "micro, shared", "micro, pool"], cv=3)
    assert found.reference == found.name == "micro, pool"
    assert found.candidates["name"][0] == "micro, pool"


def test_of_equal_rules_one_for_the_average_is_chosen_then_the_earlier() -> None:
    # One label: a threshold that all labels share is the label's own.
    truth, scores = drawn(2)
    names = ["fixed 0.5", "weighted, shared", "macro, shared", "micro, shared"]
    flat = scores[:, :1] / 10  # so that 0.5 predicts nothing
    for average, expected in (("micro", "micro, shared"), ("macro", "macro, shared")):
        found = select_rule(truth[:, :1], flat, average, rules=names, cv=3)
        assert found.reference == expected
        assert found.name == expected
    found = select_rule(truth[:, :1], flat, "samples", rules=names, cv=3)
    assert found.reference == "fixed 0.5"
    assert found.name == "weighted, shared"
    why = dict(zip(found.candidates["name"].tolist(), found.candidates["why"].tolist(), strict=True))
    assert why["macro, shared"] == why["micro, shared"] == "the same gain, later in order"


def test_a_fit_without_its_guard_is_not_chosen_where_the_guarded_one_takes_part() -> None:
    every = list(RULES.values())
    guarded = {rule.name: guarded_form(rule, every) for rule in every}
    assert {name: form.name for name, form in guarded.items() if form} == {
        "macro, in-sample": "macro, shrink",
        "weighted, in-sample": "weighted, shrink",
        "micro, in-sample": "micro, pool",
    }
    assert (
        guarded_form(
            RULES["macro, in-sample"], [RULES["macro, in-sample"], RULES["micro, pool"], RULES["macro, shared"]]
        )
        is None
    )
    truth, scores = drawn(3)
    names = ["fixed 0.5", "macro, in-sample", "macro, shrink"]
    few = {"rules": names, "cv": 3}
    found = select_rule(truth, scores / 10, "samples", **few)
    assert found.name == "macro, shrink"
    row = found.candidates[found.candidates["name"] == "macro, in-sample"][0]
    assert row["lowest"] > 0
    assert row["why"] == "no guard: its figure is too high where labels are rare"
    alone = select_rule(truth, scores / 10, "samples", rules=names[:2], cv=3)
    assert alone.name == "macro, in-sample"


# What is had


@pytest.mark.parametrize("average", ["macro", "samples"])
def test_the_rule_is_what_its_name_fits_with_what_it_reaches_out_of_fold(average: str, tmp_path: Path) -> None:
    truth, scores = drawn()
    found = usual(average)
    assert found.name == REFERENCES[average]
    other = cross_fit(truth, scores, rule=found.name, cv=3)
    assert saved(found) == json.dumps(other.rule.to_dict(), sort_keys=True)
    assert found.out_of_fold == pytest.approx(other.out_of_fold, abs=1e-12)
    assert found.rule.out_of_fold.f == other.out_of_fold
    np.testing.assert_array_equal(found.rule.predict(scores), fit(truth, scores, found.name).predict(scores))
    found.rule.save(tmp_path / "rule.json")
    np.testing.assert_array_equal(load_rule(tmp_path / "rule.json").predict(scores), found.rule.predict(scores))


def test_it_is_the_same_each_time_and_on_any_number_of_threads() -> None:
    again = selected("micro", n_jobs=2)
    assert str(again) == str(usual("micro"))
    assert saved(again) == saved(usual("micro"))


def test_sparse_matrices_give_what_dense_ones_give() -> None:
    truth, scores = drawn()
    kinds = (np.asarray, sparse.csr_array)
    dense, lists = (select_rule(truth, kind(scores), "micro", rules=FEW[:5], cv=3) for kind in kinds)
    assert str(dense) == str(lists)


def test_a_weight_of_two_is_a_row_that_counts_twice_in_every_figure() -> None:
    truth, scores = drawn(4, 60)
    folds = np.arange(60) % 3
    twice = np.repeat(np.arange(60), 2)
    names = ["macro, in-sample", "macro, shared", "top-k"]
    weighted = select_rule(truth, scores, rules=names, cv=folds, sample_weight=np.full(60, 2))
    repeated = select_rule(truth[twice], scores[twice], rules=names, cv=folds[twice])
    for column in ("out_of_fold", "gain"):
        np.testing.assert_allclose(weighted.candidates[column], repeated.candidates[column], atol=1e-12)
    # But it is one row, which its gain is paired by.
    assert np.all(weighted.candidates["standard_error"][1:] > repeated.candidates["standard_error"][1:])


def test_gains_are_paired_by_groups() -> None:
    truth, scores = drawn(5, 60)
    twice = np.repeat(np.arange(60), 2)
    names = ["macro, shared", "top-k"]
    found = select_rule(truth[twice], scores[twice], rules=names, cv=3, groups=twice)
    alone = select_rule(truth[twice], scores[twice], rules=names, cv=3)
    assert found.cross_fit.how == "by iterative stratification of groups"
    assert found.candidates["standard_error"][1] > 1.2 * alone.candidates["standard_error"][1]


# Rules that take no part


def test_rules_for_probabilities_are_listed_with_the_reason_where_scores_are_none() -> None:
    truth, scores = drawn()
    found = select_rule(truth, 10 * scores, rules=["macro, label-free", "macro, shrink", "macro, shared"], cv=3)
    row = found.candidates[found.candidates["name"] == "macro, label-free"][0]
    assert row["why"] == "does not apply: scores lie outside [0, 1], and probabilities are needed"
    assert np.isnan(row["out_of_fold"])
    assert not row["chosen"]
    assert flat(str(found).rpartition("macro, label-free")[2]) == flat(row["why"])


def test_with_weights_the_rule_that_counts_rows_takes_no_part() -> None:
    truth, scores = drawn()
    names = ["macro, shrink", "macro, exact, label-free"]
    found = select_rule(truth, scores, rules=names, cv=3, sample_weight=np.arange(N) % 3)
    assert found.candidates["why"][1].startswith("does not apply: sample_weight is given")
    assert found.cross_fit.diagnosis is None


def test_limits_leave_the_rules_that_keep_them() -> None:
    found = selected("micro", max_overprediction=2)
    applies = np.isfinite(found.candidates["out_of_fold"])
    assert set(found.candidates["name"][applies]) == {"macro, in-sample", "macro, shrink"}
    assert found.reference == "macro, shrink"
    assert set(found.candidates["why"][~applies]) == {"does not apply: it does not keep max_overprediction"}
    assert found.rule.made_by.options["max_overprediction"] == 2


@pytest.mark.parametrize("average", list(REFERENCES))
def test_with_limits_others_are_held_against_a_guarded_fit(average: str) -> None:
    found = select_rule(*drawn(6), average, cv=2, min_precision=0.3)
    expected = "weighted, shrink" if average == "weighted" else "macro, shrink"
    assert found.reference == expected


def test_every_rule_of_the_list_takes_part_unless_names_are_given() -> None:
    truth, scores = drawn(6, 40)
    found = select_rule(truth, scores, "samples", cv=2, verdicts=False)
    assert set(found.candidates["name"]) == set(RULES)
    assert np.all(np.isfinite(found.candidates["out_of_fold"]))
    assert found.cross_fit.diagnosis is None


# What is said


def test_it_says_what_is_chosen_why_and_how_far_its_figure_is_to_be_trusted() -> None:
    found = usual("macro")
    lines = [
        f"macro F1: macro, shrink is chosen, and reaches {found.out_of_fold:.4f} out of fold (3 folds, by iterative"
        " stratification)",
        "No other rule that may be chosen is shown to reach more (one-sided, 95 %)",
        f"The choice repeated without each fold, and judged on that fold, reaches {found.out_of_fold_of_choice:.4f}:"
        " this figure had no part in the choice",
    ]
    assert flat(str(found).split("\n\n")[0]) == " ".join(lines)


def test_a_single_rule_has_no_others_and_a_single_fold_tells_nothing_of_the_choice() -> None:
    assert "No other rule takes part" in str(selected(rules=["micro, in-sample"]))
    rows = np.arange(N)
    found = selected(rules=FEW[:3], cv=[(rows[:100], rows[100:])])
    assert np.isnan(found.out_of_fold_of_choice)
    assert "With one fold nothing tells how far its figure, chosen among many, is too high" in str(found)


def test_it_is_shown_as_text_html_a_frame_and_plain_values() -> None:
    found = usual("micro")
    assert f"... {len(FEW) - 2} more rules" not in found.to_text()
    assert found.to_text(2).splitlines()[-1] == f"... {len(FEW) - 2} more rules"
    assert "<table>" in found._repr_html_()
    assert list(found.to_frame().columns) == list(found.candidates.dtype.names)
    values = json.loads(json.dumps(found.to_dict()))
    assert values["name"] == found.name
    assert values["candidates"][0]["name"] == "micro, pool"
    assert repr(found).startswith("RuleSelection(name='micro")


def shown_rules(found: RuleSelection, k: int) -> list[str]:
    """The rules in the table, each in the first of its lines."""
    lines = found.to_text(k).split("\n\n")[-1].splitlines()[3:-1]
    return [line.split("  ")[0] for line in lines if not line.startswith(" ")]


def test_the_chosen_rule_and_the_reference_are_shown_however_few_are_asked_for() -> None:
    found = usual("macro")
    by_figure = sorted(found.candidates, key=lambda row: row["out_of_fold"])  # the lowest first
    others = [str(row["name"]) for row in by_figure if row["name"] != found.reference]
    last = replace(found, reference=others[0])
    assert set(shown_rules(last, 2)) == {last.reference, last.name}
    assert len(shown_rules(last, 3)) == 3


def test_progress_is_shown_once_for_all_rules(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresholds._arrays.threads._PATIENCE", 0)
    selected(rules=["macro, in-sample", "macro, shrink"], progress=True)
    shown = capfd.readouterr().err
    assert "rules [" in shown
    assert "2/2" in shown
    assert "labels [" not in shown


def test_options_that_a_name_says_and_unknown_ones_are_no_arguments() -> None:
    for name in ("guard", "per_label", "rule", "gard"):
        with pytest.raises(TypeError, match=rf"unexpected keyword argument '{name}'"):
            selected(**{name: None})


def test_where_no_rule_applies_the_first_says_why() -> None:
    truth, scores = drawn()
    with pytest.raises(InputError, match=r"rules has none that applies \('micro, label-free': scores lie outside"):
        select_rule(truth, 10 * scores, rules=["micro, label-free"])


def test_the_command_says_which_rules_a_choice_begins_from(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["fit", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"'{name}'" in said for name in REFERENCES.values())
