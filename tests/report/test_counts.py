"""What a page says of marks is what `predict` makes on the rows shown; where it is not, the page says whose marks."""

import re
from functools import cache

import numpy as np
import pytest

import thresholds
from tests.report.test_content import NAMES, NOISY, rows
from thresholds import make_report
from thresholds._results.words import percent
from thresholds.metrics.intervals import share_interval
from thresholds.report.content import DISTRUSTED
from thresholds.report.report import Report
from thresholds.report.wording import good_enough
from thresholds.validation.cross_fit import CrossFit

OTHERS = re.compile("rules, which had not seen|rules that had not seen|a rule had not seen")


@cache
def fitted() -> CrossFit:
    """A rule of cross_fit whose folds mark other numbers of rows than it does."""
    return thresholds.cross_fit(*rows(3), label_names=NAMES)


@cache
def on_own_rows() -> Report:
    """Its report on the rows of its fit."""
    return make_report(*rows(3), fitted().rule)


def test_on_the_rows_of_the_fit_marks_are_those_of_the_rule() -> None:
    truth, scores = rows(3)
    predicted = fitted().rule.predict(scores)
    content = on_own_rows().content
    labels, summary = content.labels, content.summary
    by_others = np.array(fitted().rule.out_of_fold.by_label.predicted)
    assert predicted.sum() != by_others.sum()
    np.testing.assert_array_equal(labels["marked"], predicted.sum(axis=0))
    np.testing.assert_array_equal(labels["predicted"], by_others)

    # The first screen.
    said = f"On 1,500 rows it makes {predicted.sum():,} marks; by the truth there should be {truth.sum():,}."
    assert summary.rule[-1] == said
    bad = labels["trust"] == DISTRUSTED
    share = predicted[:, bad].sum() / predicted.sum()
    assert f"they make {percent(share)} of all marks" in summary.headline
    for group in summary.groups:
        of_group = labels["trust"] == group.trust
        assert group.n_marked == predicted[:, of_group].sum()
        assert group.share_of_marked == group.n_marked / predicted.sum()

    # Labels per row.
    assert content.per_row.mean_predicted == predicted.sum() / truth.shape[0]
    assert (content.per_row.predicted @ content.per_row.lowest) <= predicted.sum()


def test_whoever_did_not_decide_is_never_counted_as_the_rule() -> None:
    report = on_own_rows()
    own, others = int(report.labels["marked"].sum()), int(report.labels["predicted"].sum())
    page = report.to_html()
    told = [sentence for sentence in re.split(r"[.;<>]", page) if re.search(r"[\d,]+ marks", sentence)]
    assert {text for sentence in told for text in re.findall(r"([\d,]+) marks", sentence)} >= {
        f"{own:,}",
        f"{others:,}",
    }
    for sentence in told:
        for text in re.findall(r"([\d,]+) marks", sentence):
            assert text != f"{others:,}" or "rules" in sentence
    # Beside the table of labels, wrong marks, figures, and one label.
    assert page.count(f"Counted here are the {others:,} marks of rules that had not seen the row") == 4
    for sentence in report.content.summary.how_good:
        assert OTHERS.search(sentence)


def test_sentences_that_count_marks_of_others_say_so() -> None:
    report = on_own_rows()
    counts = fitted().rule.out_of_fold.by_label
    for j, row in enumerate(report.labels):
        counted = not row["sentence"].startswith("Of 100")
        assert counted == bool(OTHERS.search(row["sentence"]))
        if counted and row["verdict"] == "unproven" and counts.tp[j]:
            assert f"{counts.tp[j]:,} " in row["sentence"]
    assert any(OTHERS.search(sentence) for sentence in report.labels["sentence"])


def test_what_moved_is_by_the_rules_own_decisions_which_its_fit_flatters() -> None:
    said = make_report(*rows(3), fitted().rule, against=NOISY).content.against
    assert said is not None
    assert said.sentences[-1].startswith("This rule was fitted on these rows, which flatters it here")
    marks = f"this one {fitted().rule.predict(rows(3)[1]).sum():,}"
    assert any(marks in sentence for sentence in said.sentences)
    assert not any("flatters" in text for text in make_report(*rows(), NOISY, against=NOISY).content.against.sentences)


def test_on_other_rows_nobody_else_is_spoken_of() -> None:
    report = make_report(*rows(), fitted().rule)
    np.testing.assert_array_equal(report.labels["marked"], report.labels["predicted"])
    page = report.to_html()
    assert "Counted here" not in page
    assert not any(OTHERS.search(sentence) for sentence in report.labels["sentence"])


# What is good enough


def test_the_bar_can_be_set_and_stands_on_the_first_screen() -> None:
    truth, scores = rows()
    report = make_report(truth, scores, NOISY, min_f=0.8, min_skill=0.1)
    diagnosis = thresholds.diagnose(truth, scores, NOISY, min_f=0.8, min_skill=0.1)
    np.testing.assert_array_equal(report.labels["verdict"], diagnosis.verdict)
    np.testing.assert_array_equal(report.labels["bar"], diagnosis.table["bar"])
    (said,) = report.content.summary.bar
    assert said == (
        "Good enough is an F1 of at least 0.8: for instance, of 100 marks 80 are right, and of 100 that should be made"
        " 80 are made."
    )
    first_screen, _, _ = report.to_html().partition('id="all-labels"')
    assert said in first_screen
    assert "Good enough is an F1 of at least 0.8" in str(report)


def test_labels_of_which_more_is_asked_are_counted() -> None:
    bar, more = make_report(*rows(), NOISY, min_f=0.3).content.summary.bar
    asked = make_report(*rows(), NOISY, min_f=0.3).labels["bar"]
    higher = asked[asked > 0.3]
    assert bar.startswith("Good enough is an F1 of at least 0.3: for instance, of 100 marks 30 are right")
    assert more.startswith(f"More is asked of {higher.size} labels: {higher.min():.2f} to {higher.max():.2f}, as")


# What ranges count


def test_ranges_of_labels_count_groups() -> None:
    # Three copies of each row say no more than one of them.
    truth, scores = rows()
    copies = [np.repeat(array, 3, axis=0) for array in (truth, scores)]
    groups = np.repeat(np.arange(truth.shape[0]), 3)
    report = make_report(*copies, NOISY, groups=groups, group_name="patient")
    alone = make_report(truth, scores, NOISY)
    narrow = make_report(*copies, NOISY)
    for name in ("f_low", "f_high"):
        np.testing.assert_allclose(report.labels[name], alone.labels[name])
    cough = report.labels["sentence"][0]
    assert cough == alone.labels["sentence"][0] != narrow.labels["sentence"][0]
    low, high = share_interval(*alone.labels[["tp", "predicted"]][0].item(), 0.95)
    assert f"probably between {np.floor(100 * low):.0f} and {np.ceil(100 * high):.0f} truly are" in cough
    assert report.content.summary.ranges == (
        'Ranges ("probably between") count 1,500 groups, not 4,500 rows: rows of one patient are alike.'
    )
    assert "count each row by itself" in narrow.content.summary.ranges
    assert report.content.summary.ranges in report.to_html().replace("&#34;", '"')


def test_each_row_a_group_changes_no_sentence() -> None:
    truth, scores = rows()
    report = make_report(truth, scores, NOISY, groups=np.arange(truth.shape[0]))
    alone = make_report(truth, scores, NOISY)
    for name in report.labels.dtype.names:
        np.testing.assert_array_equal(report.labels[name], alone.labels[name])


def test_verdicts_count_groups_too() -> None:
    # 120 of 150 marks are right, of six patients alone: too little to say that other patients fare as well.
    truth = np.zeros((600, 1), int)
    truth[:150] = 1
    scores = np.zeros((600, 1))
    scores[30:180] = 1
    rule = thresholds.ThresholdRule([0.5], label_names=("cough",))
    assert make_report(truth, scores, rule).labels["verdict"][0] == "usable"
    report = make_report(truth, scores, rule, groups=np.arange(600) // 30)
    assert report.labels["verdict"][0] == "unproven"
    assert report.labels["f_low"][0] < 0.5 < report.labels["f"][0]
    assert report.labels["positives_needed"][0] > 150


@pytest.mark.parametrize(
    ("tp", "positives", "trust", "begin"),
    [
        (381, 761, "border", "On the border of good enough: of 761 rows that truly are cough, 381 are marked"),
        (10, 20, "open", "Too early to say: of 20 rows that truly are cough, 10 are marked"),
    ],
)
def test_a_label_of_many_positives_is_on_the_border(tp: int, positives: int, trust: str, begin: str) -> None:
    truth = np.zeros((11_000, 1), int)
    truth[:positives] = 1
    scores = np.zeros(truth.shape)
    scores[positives - tp : 2 * positives - tp] = 1
    report = make_report(truth, scores, thresholds.ThresholdRule([0.5], label_names=("cough",)))
    assert report.labels["verdict"][0] == "unproven"
    assert report.labels["trust"][0] == trust
    assert report.labels["sentence"][0].startswith(begin)
    (step,) = report.content.summary.to_do
    assert ("on the border of good enough" in step) == (trust == "border")
    assert ("too early to say" in step) == (trust == "open")


def test_a_bar_that_all_labels_are_above_is_not_said_of_them() -> None:
    (bar,) = good_enough(0.01, 1.0, np.array([0.25, 0.48]))
    assert bar.startswith("Good enough is an F1 of at least 0.25 to 0.48, by label: marking every row would")
    bar, more = good_enough(0.01, 1.0, np.array([0.01, 0.3]))
    assert bar.endswith("of 100 marks 1 is right, and of 100 that should be made 1 is made.")
    assert more.startswith("More is asked of 1 label: 0.30")
