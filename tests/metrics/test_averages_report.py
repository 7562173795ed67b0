"""The report of averages gives the numbers of the metric functions, names every label, and can be shown anywhere."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import thresholds
from tests.metrics.targets import Target, targets
from tests.words import flat
from thresholds.metrics import AveragesReport, averages_report, precision_recall_fscore_support

TARGETS = list(targets(60, seed=11))
ZERO_DIVISIONS = (0, 1, np.nan)
OF_LABELS = ("micro", "macro", "macro_supported", "f_of_averages", "weighted")
NAMES = ("<b>cat</b>", 'a "dog" & more', "Äpfel")
THREE = ([[1, 0, 0], [1, 1, 0], [0, 1, 0]], [[1, 1, 0], [0, 1, 0], [0, 0, 0]])


def options(target: Target) -> dict[str, object]:
    """What a report is told besides truth and predictions."""
    return {"beta": target.beta, "labels": target.labels, "sample_weight": target.sample_weight}


def report_of(target: Target, zero_division: float) -> AveragesReport:
    """The report of a target."""
    return averages_report(target.y_true, target.y_pred, zero_division=zero_division, **options(target))


def figures(row: object) -> list[float]:
    """Precision, recall and F of a row of the report."""
    return [row.precision, row.recall, row.f]


def labels_of(target: Target) -> list[object]:
    """The labels that the report is about."""
    if target.labels is not None:
        return list(target.labels)
    return (
        list(range(np.shape(target.y_true)[1]))
        if target.kind == "multilabel"
        else sorted({*target.y_true, *target.y_pred})
    )


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_averages_are_those_of_the_metrics(zero_division: float) -> None:
    for target in TARGETS:
        report = report_of(target, zero_division)
        names = [row.name for row in report.averages]
        assert sorted(names) == sorted([*OF_LABELS, *(["samples"] if target.kind == "multilabel" else [])])
        for name in {*names} - {"macro_supported"}:
            given = options(target) | {"average": name, "zero_division": zero_division}
            expected = precision_recall_fscore_support(target.y_true, target.y_pred, **given)[:3]
            np.testing.assert_array_equal(figures(report[name]), expected, err_msg=f"{target} {name}")


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_macro_supported_is_macro_of_the_labels_with_positives(zero_division: float) -> None:
    for target in TARGETS:
        report = report_of(target, zero_division)
        supported = [label for label, row in zip(labels_of(target), report.labels, strict=True) if row.support]
        if supported:
            given = options(target) | {"labels": supported, "average": "macro", "zero_division": zero_division}
            expected = precision_recall_fscore_support(target.y_true, target.y_pred, **given)[:3]
            np.testing.assert_allclose(figures(report["macro_supported"]), expected, rtol=0, atol=1e-13)
        else:
            assert np.isnan(figures(report["macro_supported"])).all()


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_labels_are_those_of_the_metrics(zero_division: float) -> None:
    for target in TARGETS:
        report = report_of(target, zero_division)
        given = options(target) | {"zero_division": zero_division}
        p, r, f, support = precision_recall_fscore_support(target.y_true, target.y_pred, **given)
        np.testing.assert_array_equal([figures(row) for row in report.labels], np.stack([p, r, f], axis=1))
        np.testing.assert_array_equal([row.support for row in report.labels], support)
        for row in report.averages:
            assert row.support == pytest.approx(support.sum(), rel=1e-12)


def test_what_is_0_over_0_is_counted() -> None:
    assert "F1 of 1" in averages_report(*THREE).note
    assert averages_report(*THREE).note.startswith("0/0 among the labels, counted as 0")
    assert averages_report(*THREE, zero_division=1).note.startswith("0/0 among the labels, counted as 1")
    assert averages_report(*THREE, zero_division=np.nan).note.startswith("0/0 among the labels, left out")
    assert averages_report([0, 1], [0, 1]).note == "No precision, recall or F1 of the classes is 0/0."


def test_every_average_names_its_formula_and_denominator() -> None:
    for target in TARGETS:
        for row in report_of(target, np.nan).averages:
            assert row.formula
            assert row.denominator
    denominators = {row.name: row.denominator for row in averages_report(*THREE, zero_division=np.nan).averages}
    assert denominators == {
        "micro": "2 tp + fp + fn = 7",
        "macro": "2 of 3 labels",
        "macro_supported": "2 labels",
        "f_of_averages": "precision 2 of 3 labels; recall 2 of 3 labels",
        "weighted": "4 positives",
        "samples": "3 rows",
    }


def test_the_denominator_of_weighted_rows_is_their_weight() -> None:
    report = averages_report([[1, 0], [0, 0], [1, 1]], [[1, 0], [0, 0], [0, 1]], sample_weight=[0.5, 0.25, 3])
    assert report["samples"].denominator == "3 rows, 1 of them 0/0, weight 3.75"
    without = averages_report(
        [[1, 0], [0, 0], [1, 1]], [[1, 0], [0, 0], [0, 1]], sample_weight=[0.5, 0.25, 3], zero_division=np.nan
    )
    assert without["samples"].denominator == "2 of 3 rows, weight 3.5"


def test_whole_counts_are_shown_in_full() -> None:
    ones = np.ones((1_234_567, 1), np.uint8)
    report = averages_report(ones, ones)
    assert report.labels[0].denominator == "2 tp + fp + fn = 2469134"
    assert "1234567" in str(report)
    assert report["macro"].denominator == "1 label"


def test_every_word_of_a_report_is_right() -> None:
    y_true, y_pred = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]], [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    report = averages_report(y_true, y_pred, sample_weight=[0.5, 2, 1], beta=2.0)
    under = "2^2 (tp + fn) + tp + fp"
    assert [row.denominator for row in report.labels] == [f"{under} = {x}" for x in (10.5, 14.5, 0, 4)]
    assert {row.formula for row in report.labels} == {f"(1 + 2^2) tp / ({under})"}
    assert {row.name: (row.formula, row.denominator) for row in report.averages} == {
        "micro": ("F2 of tp, fp and fn added over the labels", f"{under} = 29"),
        "macro": ("mean of the labels' F2", "4 labels, 1 of them 0/0"),
        "macro_supported": ("macro of the labels with positives", "3 labels"),
        "f_of_averages": (
            "F2 of mean precision and mean recall",
            "precision 4 labels, 2 of them 0/0; recall 4 labels, 1 of them 0/0",
        ),
        "weighted": ("mean of the labels' F2, weighted by positives", "6.5 positives"),
        "samples": ("mean of the rows' F2, weighted", "3 rows, weight 3.5"),
    }
    assert report.note == (
        "0/0 among the labels, counted as 0: precision of 2 (no predictions), recall of 1 (no positives),"
        " F2 of 1 (neither)."
    )
    nothing = averages_report([[0, 0]], [[0, 1]])
    assert nothing["weighted"].denominator == "2 labels, 1 of them 0/0, as none has positives"


@pytest.mark.parametrize(("n_labels", "left_out"), [(30, ""), (31, "... 1 more"), (100, "... 70 more")])
def test_of_many_labels_the_first_and_the_last_are_listed(n_labels: int, left_out: str) -> None:
    text = str(averages_report(np.eye(n_labels), np.eye(n_labels)))
    assert left_out in text
    assert ("more" in text) == (left_out != "")


# Showing


class Cells(HTMLParser):
    """The texts and the tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Keep a tag."""
        self.tags.add(tag)


def test_text_and_html_have_every_name() -> None:
    for target in TARGETS:
        report = report_of(target, 0)
        for text in (flat(report), "\n".join(Cells(report._repr_html_()).texts)):
            assert all(row.name in text for row in (*report.labels[:15], *report.labels[-15:], *report.averages))
            assert f"F{target.beta:g}" in text
            assert report.note in text


def test_names_come_from_the_labels_or_the_caller() -> None:
    assert [row.name for row in averages_report(*THREE).labels] == ["0", "1", "2"]
    assert [row.name for row in averages_report(*THREE, labels=[2, 0]).labels] == ["2", "0"]
    assert [row.name for row in averages_report(["b", "a"], ["b", "b"]).labels] == ["a", "b"]
    assert [row.name for row in averages_report([5, -1], [5, 5]).labels] == ["-1", "5"]
    assert [row.name for row in averages_report(*THREE, label_names=NAMES).labels] == list(NAMES)
    assert [row.name for row in averages_report(*THREE, labels=[2, 0], label_names=NAMES[:2]).labels] == list(NAMES[:2])


def test_html_escapes_names() -> None:
    page = averages_report(*THREE, label_names=NAMES)._repr_html_()
    assert "<b>" not in page
    assert {*NAMES} <= {*Cells(page).texts}
    assert "b" not in Cells(page).tags


def test_long_reports_show_the_first_and_the_last_labels() -> None:
    names = [f"label number {i}" for i in range(100)]
    report = averages_report(np.eye(100), np.eye(100), label_names=names)
    for text in (str(report), report._repr_html_()):
        assert [name for name in names if name in text] == names[:15] + names[-15:]
        assert "70 more" in text
    assert [row.name for row in report.labels] == names


def test_dict_holds_plain_values() -> None:
    for target in TARGETS:
        report = report_of(target, 1)
        plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert [row["name"] for row in plain["labels"]] == [row.name for row in report.labels]
        assert [row["f"] for row in plain["averages"]] == [
            None if np.isnan(row.f) else row.f for row in report.averages
        ]
        assert plain["beta"] == target.beta


def test_frame_has_a_row_for_each_label_and_each_average() -> None:
    pytest.importorskip("pandas")
    report = averages_report(*THREE, label_names=NAMES, beta=2.0)
    frame = report.to_frame()
    assert list(frame["name"]) == [*NAMES, *(row.name for row in report.averages)]
    assert list(frame["kind"]) == ["label"] * 3 + ["average"] * len(report.averages)
    assert list(frame["f2"]) == [row.f for row in (*report.labels, *report.averages)]
    assert {"precision", "recall", "support", "formula", "denominator"} <= {*frame.columns}


BAD: dict[str, tuple[dict[str, object], str]] = {
    "warn": ({"zero_division": "warn"}, "zero_division is 'warn', expected 0, 1 or nan"),
    "a half": ({"zero_division": 0.5}, "zero_division is 0.5"),
    "too few names": ({"label_names": NAMES[:2]}, "label_names has 2 names, expected 3"),
    "names for all of a part": ({"label_names": NAMES, "labels": [0]}, "label_names has 3 names, expected 1"),
    "beta": ({"beta": -1}, "beta"),
    "labels": ({"labels": [3]}, "labels"),
}


@pytest.mark.parametrize("bad", BAD)
def test_refusals(bad: str) -> None:
    given, message = BAD[bad]
    with pytest.raises(thresholds.InputError, match=f"^{message}"):
        averages_report(*THREE, **given)


def test_an_unknown_average_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        averages_report(*THREE)["median"]


def test_f_of_beta_0_is_precision() -> None:
    report = averages_report(*THREE, beta=0, zero_division=1)
    for row in (*report.labels, *report.averages):
        assert row.name in ("f_of_averages", "weighted") or row.f == row.precision
    assert [row.formula for row in report.labels] == ["tp / (tp + fp)"] * 3
    assert "F0" in str(report)
