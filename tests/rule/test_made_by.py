"""A rule says what made it, and its file keeps that."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.rules import draw
from thresholds import InputError, Shrink, cross_fit, fit_empirical, fit_expected, load_rule
from thresholds.rule.made_by import MadeBy

TRUTH, SCORES = draw()
ON_FILE = MadeBy("fit_empirical", {"guard": "auto"}, "s.npz", "y_score", "t.npz", "all 80 rows", True, "2026-03-31")


@pytest.mark.parametrize(
    ("make", "function", "options"),
    [
        (lambda: fit_empirical(TRUTH, SCORES), "fit_empirical", {}),
        (
            lambda: fit_empirical(TRUTH, SCORES, "weighted", beta=2, guard="auto", n_jobs=1, progress=True),
            "fit_empirical",
            {"average": "weighted", "beta": 2.0, "guard": "auto"},
        ),
        (
            lambda: fit_empirical(TRUTH, SCORES, guard=Shrink(siblings=False), max_overprediction=2),
            "fit_empirical",
            {"guard": "shrink (siblings=False)", "max_overprediction": 2.0},
        ),
        (lambda: cross_fit(TRUTH, SCORES).rule, "fit_empirical", {"guard": "auto"}),
        (
            lambda: cross_fit(TRUTH, SCORES, "samples", per_label=False, guard=None).rule,
            "fit_empirical",
            {"average": "samples", "per_label": False},
        ),
        (lambda: fit_expected(SCORES), "fit_expected", {}),
        (lambda: fit_expected(SCORES, exact=True, beta=0.5), "fit_expected", {"exact": True, "beta": 0.5}),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_the_options_are_those_that_are_not_usual(
    make: Callable[[], Any], function: str, options: dict[str, object]
) -> None:
    assert make().made_by == MadeBy(function, options)


def test_the_same_fit_again_gives_the_same_rule() -> None:
    rule = fit_empirical(TRUTH, SCORES, "weighted", guard="auto", min_recall=0.2)
    again = fit_empirical(TRUTH, SCORES, **rule.made_by.options)
    assert again.to_dict() == rule.to_dict()


def test_an_accumulator_and_the_classifier_say_the_same() -> None:
    gathered = thresholds.Accumulator()
    gathered.update(TRUTH, SCORES)
    assert gathered.compute(guard="auto").made_by == MadeBy("fit_empirical", {"guard": "auto"})


def test_rules_that_are_not_fitted_are_made_by_nothing() -> None:
    assert thresholds.FixedRule(0.5, 2).made_by is None


def test_it_is_saved(tmp_path: Path) -> None:
    rule = dataclasses.replace(fit_empirical(TRUTH, SCORES), made_by=ON_FILE)
    rule.save(tmp_path / "rule.json")
    loaded = load_rule(tmp_path / "rule.json")
    assert loaded.made_by == ON_FILE
    assert str(loaded) == (
        f"{fit_empirical(TRUTH, SCORES)}; from s.npz, all 80 rows, logits turned into probabilities, on 2026-03-31"
    )


def test_a_file_of_before_does_not_say(tmp_path: Path) -> None:
    values = fit_empirical(TRUTH, SCORES).to_dict()
    del values["made_by"]
    (tmp_path / "rule.json").write_text(json.dumps(values))
    assert load_rule(tmp_path / "rule.json").made_by is None


def test_labels_in_another_order_were_made_alike() -> None:
    rule = dataclasses.replace(fit_empirical(TRUTH, SCORES), made_by=ON_FILE)
    assert rule.reordered(np.array([3, 1, 0, 2])).made_by == ON_FILE


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("function", 1, "function is 1, expected text"),
        ("file", ["s.npz"], r"file is \['s.npz'\], expected text"),
        ("rows", 3, "rows is 3, expected text"),
        ("logits", None, "logits is None, expected True or False"),
        ("date", "31 March", "date is '31 March', expected a day such as '2026-03-31'"),
        ("date", "2026-02-30", "date is '2026-02-30', expected a day such as '2026-03-31'"),
        ("options", ["guard"], r"options is \['guard'\], expected options by name"),
        ("options", {"guard": None}, "the option 'guard' is None, expected"),
        ("surprise", 1, "the field 'surprise' is unknown"),
    ],
)
def test_a_file_that_says_it_wrongly_is_refused(name: str, value: object, message: str, tmp_path: Path) -> None:
    values = fit_empirical(TRUTH, SCORES).to_dict()
    values["made_by"][name] = value
    (tmp_path / "rule.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        load_rule(tmp_path / "rule.json")
