"""Aligned text and HTML."""

from thresholds.results import as_html, as_text

HEAD, BODY = [("rule", "F1"), ("", "of all")], [("micro", "0.5000"), ("a\nname", "1")]


def test_text_is_aligned_and_has_one_line_a_row() -> None:
    assert as_text(HEAD, BODY).splitlines() == [
        "rule        F1",
        "        of all",
        "------  ------",
        "micro   0.5000",
        "a name       1",
    ]


def test_columns_may_be_aligned_to_the_left() -> None:
    assert as_text([("rule", "F1")], [("a", "b")], left=(0, 1)).splitlines() == ["rule  F1", "----  --", "a     b"]


def test_html_keeps_head_and_body_apart_and_escapes() -> None:
    page = as_html(HEAD, [("<b>", "&")])
    assert page == (
        "<table><thead><tr><th>rule</th><th>F1</th></tr><tr><th></th><th>of all</th></tr></thead>"
        "<tbody><tr><td>&lt;b&gt;</td><td>&amp;</td></tr></tbody></table>"
    )


def test_terminals_are_told_nothing_by_names() -> None:
    assert "\x1b" not in as_text([("label",)], [("\x1b[31mred",)])
