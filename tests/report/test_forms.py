"""Sentences taken apart and put together again are the same, whatever the names and the numbers."""

import numpy as np
import pytest

from tests.report.contents import HOSTILE, content, names, put_together
from thresholds._results.text import on_one_line
from thresholds.report.page.forms import forms_of, written


def test_a_form_has_the_name_and_the_numbers_in_their_places() -> None:
    found = forms_of(["Of 1,234 rows marked Cat, 17 truly are.", "Of 5 rows marked Dog, 0 truly are."], ["Cat", "Dog"])
    assert found.forms == [("Of ", 0, " rows marked ", None, ", ", 0, " truly are.")]
    assert found.form.tolist() == [0, 0]
    assert [numbers.tolist() for numbers in found.numbers] == [[[1234, 5], [17, 0]]]


@pytest.mark.each_value
@pytest.mark.parametrize(
    "text",
    [
        "",
        "no number",
        "007 and 00",
        "1234 without a comma, 1,234 with one, 12,34 with one that is elsewhere, 1,234,567 with two",
        "0.05, 12.50, 1,234.5, .5, 5., 1.2.3, 1e-05, -3",
        "beyond 32 bits: 4,294,967,296 and 0.12345678901",
        "a \0 in it, and 3",
        "٣ and ²",  # digits elsewhere
    ],
)
@pytest.mark.parametrize("name", ["", "a", "3", ",", "1,234", "number", "\0", "."])
def test_texts_of_any_form_come_back(text: str, name: str) -> None:
    sentences = [f"{text} {name} is 12.", text, f"{name}{name}"]
    label_names = [name] * len(sentences)
    assert put_together(forms_of(sentences, label_names), label_names) == sentences


def test_sentences_of_hostile_names_come_back() -> None:
    label_names = [on_one_line(name) for name in HOSTILE]
    sentences = content(HOSTILE).labels["sentence"].tolist()
    assert put_together(forms_of(sentences, label_names), label_names) == sentences


def test_sentences_of_many_labels_have_few_forms() -> None:
    label_names = names(2000)
    sentences = content(label_names, n_curves=0).labels["sentence"].tolist()
    found = forms_of(sentences, label_names)
    assert put_together(found, label_names) == sentences
    assert len(found.forms) < 40


def test_sentences_of_labels_with_long_names_have_few_forms() -> None:
    label_names = [f"{name}, {'of a kind that takes long to tell ' * 2}{j}..." for j, name in enumerate(names(300))]
    sentences = content(label_names, n_curves=0).labels["sentence"].tolist()
    found = forms_of(sentences, label_names)
    assert put_together(found, label_names) == sentences
    assert len(found.forms) < 40
    assert (38, 19) in found.forms[0], "characters of the name"


def test_no_sentences_have_no_forms() -> None:
    found = forms_of([], [])
    assert found.forms == []
    assert put_together(found, []) == []


@pytest.mark.parametrize(
    ("number", "decimals", "text"),
    [(0, 0, "0"), (999, 0, "999"), (1000, 0, "1,000"), (5, 2, "0.05"), (250, 2, "2.50"), (123450, 2, "1,234.50")],
)
def test_numbers_are_written_with_separators_and_decimals(number: int, decimals: int, text: str) -> None:
    assert written(number, decimals) == text


def test_numbers_fit_in_32_bits() -> None:
    found = forms_of(["2,147,483,647 and 2,147,483,648"], ["Cat"])
    assert np.concatenate([np.ravel(numbers) for numbers in found.numbers]).max() < 2**31
