"""A report: made, shown in brief, saved whole or not at all."""

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.rules import AWKWARD
from thresholds import ThresholdRule, make_report
from thresholds.report.report import Report

NAMES = ("cat", "dog")


@cache
def report(**settings: Any) -> Report:
    """A report on two labels, of one of which nothing is known."""
    rng = np.random.default_rng(0)
    truth = rng.random((1000, 2)) < [0.3, 0.05]
    scores = rng.normal(size=(1000, 2)) + [3, 0] * truth
    return make_report(truth, scores, ThresholdRule([1.5, -1.0], label_names=NAMES), **settings)


def test_the_text_is_the_first_screen() -> None:
    parts = str(report()).split("\n\n")
    assert parts[0] == "Which labels may be relied on"
    assert parts[1] == "1 of 2 labels is not to be trusted; it makes 72 % of all marks."
    assert parts[2].startswith("The model gives each row a score for each label. The rule marks the row with the label")
    assert parts[3].startswith("Good enough is an F1 of at least 0.5")
    assert parts[4].startswith("measure           value     95 % interval")
    assert " ".join(parts[5].split()) == " - ".join(("What to do:", *report().content.summary.to_do))
    assert " ".join(parts[6].split()).endswith(str(report().labels["sentence"][1]))
    assert report().to_text(0).count("\n\n") == 5


def test_a_level_of_confidence_is_not_rounded() -> None:
    assert "99.5 % interval" in str(report(confidence=0.995))


def test_rows_of_a_frame_are_labels() -> None:
    frame = report().to_frame()
    assert frame["name"].tolist() == list(NAMES)
    assert frame["trust"].tolist() == ["trusted", "distrusted"]


def test_values_are_plain_and_have_names() -> None:
    values = json.loads(json.dumps(report().to_dict(), allow_nan=False))
    assert values["summary"]["figures"][0]["measure"] == "precision"
    assert values["labels"][1]["verdict"] == "useless"
    assert values["curves"] == {}


def test_its_page_is_saved_as_one_file(tmp_path: Path) -> None:
    path = tmp_path / "report.HTML"
    report().save(path)
    assert path.read_text(encoding="utf-8") == report().to_html()
    assert [file.name for file in tmp_path.iterdir()] == ["report.HTML"]
    assert report().content.summary.headline in report().to_html()


def test_a_page_that_is_not_to_be_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(thresholds.InputError, match=r"path is a file with the ending '.pdf', expected .html"):
        report().save(str(tmp_path / "report.pdf"))
    with pytest.raises(FileNotFoundError):
        report().save(tmp_path / "nowhere" / "report.html")
    assert not list(tmp_path.iterdir())


def test_title_lines_and_command_are_shown() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((40, 2)) < 0.5
    settings = {"title": "Pets <1>", "about": ["pets.npz"], "command": "thresholds report pets.npz -o pets.html"}
    rule = ThresholdRule([0.5, 0.5], label_names=NAMES)
    made = make_report(truth, rng.random((40, 2)), rule, **settings)
    assert made.content.about == ("pets.npz", f"rule: {rule}")
    page = made.to_html()
    for text in ("Pets &lt;1&gt;", "pets.npz", "thresholds report pets.npz -o pets.html"):
        assert text in page


def test_awkward_names_and_thresholds_are_reported() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((30, 10)) < 0.5
    rule = dataclasses.replace(AWKWARD, fitted_on=None, out_of_fold=None)
    made = make_report(truth, rng.normal(size=(30, 10)), rule)
    assert made.labels["name"].tolist() == list(AWKWARD.label_names or ())
    assert "\x01" not in made.to_html()


def test_an_old_rule_lends_its_names_to_labels_that_have_none() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((30, 2)) < 0.5
    old = ThresholdRule([0.4, 0.6], label_names=NAMES)
    made = make_report(truth, rng.random((30, 2)), ThresholdRule([0.5, 0.5]), against=old)
    assert made.labels["name"].tolist() == list(NAMES)
    assert made.content.against is not None
    assert made.content.against.n_moved == 2


def test_scores_of_another_scale_are_a_caution() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((200, 3)) < 0.3
    scores = rng.random((200, 3)) * 0.5 + 0.5 * truth
    rule = thresholds.fit(truth, scores, "macro, shrink", label_names=("a", "b", "c"))
    with pytest.warns(thresholds.ScoreChangeWarning):
        made = make_report(truth, 10 * scores - 5, rule)
    (caution,) = made.content.summary.cautions
    assert caution.startswith("The scores are")
