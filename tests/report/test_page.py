"""The page of a report: what is read in it without a script, that it asks for nothing, and how large it is."""

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from tests.report.contents import HOSTILE, content, names, put_together
from thresholds._results.text import on_one_line
from thresholds._results.words import percent
from thresholds.report.content import Content
from thresholds.report.labels import groups_of
from thresholds.report.page import render as page_of
from thresholds.report.page.columns import WORDS
from thresholds.report.page.forms import Forms
from thresholds.report.page.render import render
from thresholds.report.report import Report
from thresholds.report.wording import headline

FORBIDDEN = {"iframe", "img", "object", "embed", "base", "audio", "video", "source"}
ASKING = {"src", "srcset", "href", "action", "formaction", "poster", "data", "background", "ping", "xlink:href"}
NUMPY_TYPES = {"Uint8Array": "<u1", "Uint16Array": "<u2", "Uint32Array": "<u4", "Float32Array": "<f4"}


class Read(HTMLParser):
    """What a browser reads in a page: elements with their attributes, texts, and the content of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.text = ""
        self.inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.contents:
            self.inside = tag
            self.contents[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = ""
        if tag in ("td", "th", "li"):
            self.text += " "

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.contents[self.inside][-1] += data
        else:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def plain_text(self) -> str:
        """All text, as it is shown: white space as one space."""
        return " ".join(self.text.split())

    def packed(self, name: str) -> dict[str, np.ndarray]:
        """The columns that a script element holds."""
        scripts = dict(zip([script.get("id") for script in self.of("script")], self.contents["script"], strict=True))
        data = zlib.decompress(base64.b64decode(scripts[f"packed-{name}"]))
        head, _, _ = data.partition(b"\n")
        start = -(-(len(head) + 1) // 8) * 8
        return {
            column: np.frombuffer(data, NUMPY_TYPES[at["type"]], at["length"], start + at["start"])
            for column, at in json.loads(head).items()
        }


@cache
def read(hostile: bool = False) -> tuple[Content, Read]:
    """A report of a few labels with its page, of usual names or of hostile ones."""
    of = content(HOSTILE if hostile else names(40), n_curves=10, with_old=True)
    return of, Read(render(of))


# What is read without a script


def test_the_first_screen_is_text() -> None:
    of, page = read()
    text = page.plain_text()
    summary = of.summary
    for sentence in (summary.headline, *summary.rule, *summary.how_good, *summary.cautions, *summary.to_do):
        assert sentence in text
    for j in of.worst:
        assert str(of.labels["name"][j]) in text
        assert str(of.labels["sentence"][j]) in text


def test_what_adds_wrong_marks_is_text() -> None:
    of, page = read()
    text = page.plain_text()
    row = of.labels[of.false_positives[0]]
    wrong = row["predicted"] - row["tp"]
    share = f"{100 * wrong / (of.labels['predicted'] - of.labels['tp']).sum():.0f} %"
    precision = f"{100 * row['precision']:.0f}"
    assert f"{row['name']} {row['verdict']} {wrong:,} {share} {precision} {row['positives']:,}" in text


def test_figures_other_rows_rows_and_command_are_text() -> None:
    of, page = read()
    text = page.plain_text()
    assert "macro F1 0.439 0.429 to 0.449" in text
    assert "On the rows of the fit 0.512" in text
    assert "(5 folds) 0.442" in text
    assert "5–7 800 1,900 8–15 100 900 16–41 0 100" in text
    assert of.command in text


def test_what_moved_is_text() -> None:
    _, page = read()
    text = page.plain_text()
    assert "micro F1 0.581 0.597 +0.016 +0.011 to +0.021 This is more than chance." in text
    assert "macro F1 0.441 0.439 −0.002 −0.006 to +0.002 This may be chance." in text
    assert "guard None shrink" in text


def test_nothing_moved_where_there_is_no_old_rule() -> None:
    assert "What moved" not in Read(render(content(names(3)))).plain_text()


# What may be absent


def test_a_rule_that_marks_nothing_has_a_page() -> None:
    of = content(["cat", "dog"])
    labels = of.labels.copy()
    for name in ("positives", "predicted", "tp"):
        labels[name] = 0
    for name in ("precision", "recall", "f", "f_low", "f_high", "auroc", "best_f"):
        labels[name] = np.nan
    none = np.zeros(0, np.int64)
    text = Read(render(replace(of, labels=labels, worst=none, false_positives=none, curves={}))).plain_text()
    assert "No mark is wrong." in text
    assert "There is none." in text
    assert "nan" not in text


def test_figures_that_are_not_known_are_left_out() -> None:
    of = content(["cat", "dog"])
    unknown = replace(of.other_rows, in_sample=None, out_of_fold=None, n_folds=None)
    text = Read(render(replace(of, other_rows=unknown, command=None))).plain_text()
    assert "On the rows of this report 0.439" in text
    assert "On the rows of the fit 0" not in text
    assert "The command that made it" not in text


def test_a_page_says_of_how_many_labels_it_has_the_curve() -> None:
    assert "the curves of 2 labels" in Read(render(content(names(5), n_curves=2))).plain_text()


# Nothing leaves the page, and names are text


@pytest.mark.parametrize("hostile", [False, True])
def test_no_element_asks_for_anything(hostile: bool) -> None:
    _, page = read(hostile)
    assert not FORBIDDEN & {tag for tag, _ in page.elements}
    for tag, attributes in page.elements:
        asked = {attributes[name] for name in ASKING & set(attributes)}
        assert all(target is not None and target.startswith("#") for target in asked) or tag == "link"
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert page.of("link") == [{"rel": "icon", "href": "data:,"}]


@pytest.mark.parametrize("hostile", [False, True])
def test_the_policy_allows_our_script_and_our_style_alone(hostile: bool) -> None:
    _, page = read(hostile)
    (policy,) = [meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert directives["default-src"] == "'none'"
    (style,) = page.contents["style"]
    assert directives["style-src"] == f"'{hash_of(style)}'"
    is_code = [script["type"] == "module" for script in page.of("script")]
    (script,) = [text for text, counts in zip(page.contents["script"], is_code, strict=True) if counts]
    assert directives["script-src"] == f"'{hash_of(script)}'"


def hash_of(text: str) -> str:
    """What a policy calls a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_hostile_names_add_no_element() -> None:
    of, page = read(hostile=True)
    harmless = replace(of, labels=of.labels.copy())
    harmless.labels["name"] = "x"
    harmless.labels["sentence"] = "x"
    moved = of.against.moved.copy()
    moved["name"] = "x"
    harmless = replace(harmless, against=replace(of.against, moved=moved, lost=("x",)))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Read(render(harmless)).elements]


def test_hostile_names_are_shown_as_they_are() -> None:
    of, page = read(hostile=True)
    text = page.plain_text()
    for j in of.worst:
        assert on_one_line(of.labels["name"][j]) in text
    assert "A lost <b>label</b>" in text


def test_a_hostile_title_is_text() -> None:
    title = "</title><script>alert(1)</script>"
    page = Read(render(replace(content(["cat"]), title=title, about=(title,), command=title)))
    assert page.contents["title"] == [title]
    assert len(page.of("script")) == 3


def test_the_script_makes_no_html_and_asks_for_nothing() -> None:
    _, page = read()
    script = page.contents["script"][-1]
    assert "new DecompressionStream" in script
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest"):
        assert word not in script


# What is packed


@pytest.mark.parametrize("hostile", [False, True])
def test_labels_are_packed_as_they_are(hostile: bool) -> None:
    of, page = read(hostile)
    columns = page.packed("labels")
    label_names = bytes(columns["name"]).decode().split("\0")
    assert label_names == [on_one_line(name) for name in of.labels["name"]]
    for name in ("positives", "predicted", "tp"):
        np.testing.assert_array_equal(columns[name], of.labels[name])
    for name, words in WORDS.items():
        assert [words[k] for k in columns[name]] == of.labels[name].tolist()
    np.testing.assert_array_equal(columns["threshold"], of.labels["threshold"].astype(np.float32))


def test_figures_are_packed_to_the_three_digits_that_are_shown() -> None:
    of, page = read()
    columns = page.packed("labels")
    assert np.isnan(of.labels["auroc"]).any()
    for name in ("f_low", "f_high", "best_f", "auroc", "bar", "f_out_of_fold"):
        figures = np.where(columns[name] == 65_535, np.nan, columns[name] / 1000)
        np.testing.assert_allclose(figures, of.labels[name], rtol=0, atol=0.0005 + 1e-12)


@pytest.mark.parametrize("hostile", [False, True])
def test_sentences_are_packed_as_they_are(hostile: bool) -> None:
    of, page = read(hostile)
    columns = page.packed("labels")
    forms = [tuple(form) for form in json.loads(bytes(columns["facts"]))["forms"]]
    counts = np.bincount(columns["form"], minlength=len(forms))
    lengths = [count * sum(isinstance(part, int) for part in form) for count, form in zip(counts, forms, strict=True)]
    pieces = np.split(columns["number"], np.cumsum(lengths)[:-1])
    numbers = [piece.reshape(-1, count) for piece, count in zip(pieces, counts, strict=True)]
    label_names = bytes(columns["name"]).decode().split("\0")
    assert put_together(Forms(forms, columns["form"], numbers), label_names) == of.labels["sentence"].tolist()


def test_curves_are_packed_as_they_are_but_for_digits_of_thresholds() -> None:
    of, page = read()
    columns = page.packed("curves")
    assert columns["label"].tolist() == list(of.curves)
    ends = np.cumsum(columns["n_points"])
    for curve, start, end in zip(of.curves.values(), ends - columns["n_points"], ends, strict=True):
        np.testing.assert_array_equal(np.cumsum(columns["more_predicted"][start:end]), curve.predicted)
        np.testing.assert_array_equal(np.cumsum(columns["more_tp"][start:end]), curve.tp)
        np.testing.assert_allclose(columns["threshold"][start:end], curve.threshold, rtol=1e-4)


# How large a page is


def test_of_many_labels_of_one_rule_alone_the_first_are_listed() -> None:
    old = content(names(3), with_old=True)
    assert old.against is not None
    page = render(replace(old, against=replace(old.against, lost=tuple(f"lost {j}" for j in range(201)))))
    assert "Labels that only the old rule has: 200 of 201" in page
    assert "lost 199<" in page
    assert "lost 200<" not in page


def test_curves_are_left_out_where_the_page_would_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    of = content(names(100), n_curves=100)
    whole = len(render(of).encode())
    most = whole - 5_000
    monkeypatch.setattr(page_of, "MOST_BYTES", most)
    page = render(of)
    kept = Read(page).packed("curves")["label"].tolist()
    assert most - 2_000 < len(page.encode()) <= most
    assert kept == list(of.curves)[: len(kept)]  # the most important ones
    assert f"the curves of {len(kept)} labels" in Read(page).plain_text()


def test_labels_beyond_many_have_so_many_bytes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    of = content(names(300), n_curves=300)
    without = len(render(replace(of, curves={})).encode())
    monkeypatch.setattr(page_of, "MOST_BYTES", without)
    monkeypatch.setattr(page_of, "MANY_LABELS", 200)
    n_bytes = len(render(of).encode())
    assert without + 60 * 100 - 2_000 < n_bytes <= without + 60 * 100


def test_a_label_takes_few_bytes() -> None:
    few, many = (len(render(content(names(n), n_curves=0)).encode()) for n in (1000, 2000))
    assert many - few < 60 * 1000


def test_names_are_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of, "MOST_BYTES", 1)
    page = Read(render(content(["cat", "dog"])))
    assert bytes(page.packed("labels")["name"]) == b"cat\0dog"


def test_a_page_is_the_same_each_time() -> None:
    of, _ = read()
    assert render(of) == render(of)


def test_words_on_labels_are_all_that_there_are() -> None:
    from thresholds.diagnosis.verdicts import VERDICTS

    assert set(WORDS["verdict"]) == set(VERDICTS)


def test_no_line_of_the_page_is_left_by_the_template() -> None:
    _, page = read()
    assert not re.search(r"{[{%#]", page.plain_text())


@pytest.mark.parametrize(("confidence", "text"), [(0.95, "95 %"), (0.975, "97.5 %"), (0.999, "99.9 %"), (0.57, "57 %")])
def test_a_confidence_is_never_rounded(confidence: float, text: str) -> None:
    shown = content(names(3))
    shown = replace(shown, confidence=confidence, summary=replace(shown.summary, confidence=confidence))
    assert f"F1, {text} bounds" in Read(render(shown)).plain_text()
    assert f"{text} interval" in str(Report(shown))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0.0, "0 %"), (0.0004, "less than 0.1 %"), (0.004, "0.4 %"), (0.014, "1 %"), (0.5, "50 %")),
        *((0.986, "99 %"), (0.996, "99.6 %"), (0.9996, "more than 99.9 %"), (1.0, "100 %")),
    ],
)
def test_a_share_near_none_or_all_is_not_rounded_to_that(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_share_is_the_same_in_the_headline_and_below_it() -> None:
    shown = content(names(3))
    labels = shown.labels.copy()
    labels["trust"] = ["trusted", "distrusted", "trusted"]
    labels["marked"] = [996, 4, 0]
    labels["tp"] = 0
    groups = groups_of(labels)
    summary = replace(shown.summary, groups=groups, headline=headline(groups))
    text = Read(render(replace(shown, summary=summary))).plain_text()
    assert text.count("0.4 % of all marks") == 2
    assert "99.6 % of all marks" in text


@pytest.mark.parametrize(
    ("trust", "marked", "text"),
    [
        (["distrusted"], [9], "The label is not to be trusted."),
        (["open"], [9], "It is too early to say whether the label may be relied on."),
        (["border"], [9], "The label is on the border of good enough."),
        (["border", "trusted"], [9, 1], "Of 2 labels none is shown to be bad; 1 is on the border."),
        (
            ["border", "open", "border"],
            [9, 1, 0],
            "Of 3 labels none is shown to be bad; 2 are on the border, and of 1 it is too early to say.",
        ),
        (["trusted"], [9], "The label is shown to be good enough to use."),
        (["distrusted", "open"], [1, 3], "1 of 2 labels is not to be trusted; it makes 25 % of all marks."),
        (["distrusted", "distrusted"], [0, 0], "2 of 2 labels are not to be trusted; the rule makes no mark."),
        (["trusted", "open"], [1, 3], "Of 2 labels none is shown to be bad; of 1 it is too early to say."),
    ],
)
def test_the_headline_says_how_many_labels_and_marks_are_not_to_be_trusted(
    trust: list[str], marked: list[int], text: str
) -> None:
    labels = content(names(len(trust))).labels.copy()
    labels["trust"] = trust
    labels["marked"] = marked
    assert headline(groups_of(labels)) == text
