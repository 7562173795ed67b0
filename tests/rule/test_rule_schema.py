"""`rule.schema.json` and `load_rule` are of one mind about what a saved rule is."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import thresholds
from tests.rules import RULES

SCHEMA = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
VALUES = [None, True, False, 0, 1, -1, 1.5, "", "a", "-inf", "a\0", [], [0], [-1], [None], [True], ["a", "a"], {}]
KINDS = {
    "macro": "threshold_rule",
    "cross-fitted": "threshold_rule",
    "fitted top k": "top_k_rule",
    "fitted regions": "region_rule",
    "fitted instance": "instance_rule",
    "isotonic": "calibrated_rule",
    "isotonic, drawn": "calibrated_rule",
    "platt": "calibrated_rule",
    "isotonic, drawn, moved": "calibrated_rule",
}


# Rules of all kinds have these, by one definition.
SHARED_PARTS = ("fitted_on", "out_of_fold", "made_by", "profile")


def places(values: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the path of every field and of every first item, through objects and lists."""
    if at:
        yield at
    items = values.items() if isinstance(values, dict) else enumerate(values[:1]) if isinstance(values, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


def is_tried_elsewhere(at: tuple[Any, ...], name: str) -> bool:
    """Whether a place is inside a part that has one definition for all kinds, and is tried in one of them."""
    inside = at[:-1]
    is_in_shared_part = any(part in inside for part in SHARED_PARTS)
    return (is_in_shared_part and name != "cross-fitted") or ("rule" in inside and name != "platt")


def mutated(values: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give documents with one value changed, removed, added, or doubled; of shared parts they have that one alone."""
    for at in places(values):
        if is_tried_elsewhere(at, name):
            continue
        brief = values | dict.fromkeys(part for part in SHARED_PARTS if part in values and part != at[0])
        for value in [*VALUES, ...]:
            changed = copy.deepcopy(brief)
            holder: Any = changed
            for key in at[:-1]:
                holder = holder[key]
            if value is ...:
                del holder[at[-1]]
            else:
                holder[at[-1]] = value
            yield f"{'/'.join(map(str, at))} = {value!r}", changed
    for holder in ((), ("fitted_on",)):
        changed = copy.deepcopy(values)
        inner: Any = changed
        for key in holder:
            inner = inner.get(key) or {}
        inner["surprise"] = None
        if changed != values:
            yield f"{holder} with a surprise", changed


def beyond_a_schema(said: str) -> bool:
    """Tell whether a refusal is about what JSON Schema cannot say: numbers of labels and rows, scores that rise."""
    beyond = (
        "expected positions below",
        "names, expected",
        "values, expected",
        "expected counts from 0 to",
        "expected no more than these",
        "as label_names has",
        " rise",
        "as the calibrator is",
        "those of the calibrator",
        "expected no more",
    )
    return any(words in said for words in beyond)


# Curves make long documents, which take long; "cross-fitted" has all that "macro" has, and more.
SLOW = ("isotonic", "isotonic, drawn", "isotonic, drawn, moved", "platt", "macro")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.soak] * (name in SLOW)) for name in KINDS])
def test_the_schema_and_the_loader_are_of_one_mind(name: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA | {"oneOf": [{"$ref": f"#/$defs/{KINDS[name]}"}]})
    apart, agreed = [], {True: 0, False: 0}
    rule = RULES[name].to_dict()
    if name != "cross-fitted":
        rule["profile"] = None  # it is tried there, and takes long to validate
    for what, values in mutated(rule, name):
        try:
            thresholds.load_rule(values)
            said = ""
        except thresholds.InputError as error:
            said = str(error)
        valid = validator.is_valid(values)
        if valid == (said == ""):
            agreed[valid] += 1
        elif not (valid and beyond_a_schema(said)):
            apart.append(f"{what}: the schema {'takes' if valid else 'refuses'} it; {said or 'the loader takes it'}")
    assert apart == []
    assert min(agreed.values()) > 10
