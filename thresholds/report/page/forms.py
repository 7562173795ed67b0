"""Many sentences as few forms and the numbers in them, so that a page need not hold the sentences, nor write them.

A form is a list of parts in order: text as it is, `None` where the name of the label stands, a pair (first, last) where
so many of its first and last characters stand with `...` between, as of a long name, and an integer d >= 0 where a
number with d decimals stands. Its number is kept without the point: 1,234 with d = 0 is 1234, 2.50 with d = 2 is 250.
What is no number in this form, as 007, stays text. So forms and numbers always give back the sentences.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Ints
from thresholds._results.text import shortened

Ends = tuple[int, int]  # characters of a name, from its start and up to its end
Form = tuple[str | int | Ends | None, ...]

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_LARGEST = 2**31  # numbers from here on stay text
_NAME = "\0"  # stands for a name while a sentence is taken apart


class Forms(NamedTuple):
    """Sentences, one a label, taken apart."""

    forms: list[Form]
    form: Ints  # (n_labels,) which form each sentence has
    numbers: list[Ints]  # of each form: (numbers in it, sentences of this form)


def forms_of(sentences: Sequence[str], names: Sequence[str]) -> Forms:
    """Take sentences apart, each of the label whose name is given."""
    found: dict[Form, list[list[int]]] = {}  # form: numbers of each of its sentences
    form_of = []
    for sentence, name in zip(sentences, names, strict=True):
        form, numbers = _taken_apart(sentence, name)
        form_of.append(form)
        found.setdefault(form, []).append(numbers)
    place = {form: k for k, form in enumerate(found)}
    return Forms(
        forms=list(found),
        form=np.array([place[form] for form in form_of], np.int64),
        numbers=[
            np.array(numbers, np.int64).reshape(len(numbers), -1).T for numbers in found.values()
        ],
    )


def _taken_apart(sentence: str, name: str) -> tuple[Form, list[int]]:
    """Return the form of one sentence, and its numbers."""
    shown = shortened(name)
    stands_for_name = None if shown == name else _ends(shown, name)
    hides_name = bool(name) and _NAME not in sentence
    text = sentence.replace(shown, _NAME) if hides_name else sentence
    parts: list[str | int | Ends | None] = []
    numbers = []
    start = 0
    for match in _NUMBER.finditer(text):
        decimals = len(match[0].partition(".")[2])
        number = int(re.sub(r"[.,]", "", match[0]))
        if number >= _LARGEST or written(number, decimals) != match[0]:
            continue
        parts += _texts_and_names(text[start : match.start()], hides_name, stands_for_name)
        parts.append(decimals)
        numbers.append(number)
        start = match.end()
    parts += _texts_and_names(text[start:], hides_name, stands_for_name)
    return tuple(parts), numbers


def _ends(shown: str, name: str) -> Ends:
    """Return how many of the first and last characters of a name are shown, with `...` between."""
    n_both = len(shown) - len("...")
    splits = ((n_both - last, last) for last in range(n_both + 1))
    return next(ends for ends in splits if with_ends(name, ends) == shown)


def with_ends(name: str, ends: Ends) -> str:
    """Write the first and last characters of a name."""
    first, last = ends
    return f"{name[:first]}...{name[len(name) - last :]}"


def _texts_and_names(
    text: str, hides_name: bool, stands_for_name: Ends | None
) -> Iterator[str | Ends | None]:
    """Return what lies between two numbers."""
    for k, piece in enumerate(text.split(_NAME) if hides_name else [text]):
        if k > 0:
            yield stands_for_name
        if piece:
            yield piece


def written(number: int, decimals: int) -> str:
    """Write a number that is kept without its point: 123450 with 2 decimals is 1,234.50."""
    whole, rest = divmod(number, 10**decimals)
    return f"{whole:,}.{rest:0{decimals}d}" if decimals else f"{whole:,}"
