"""Everything that must be refused, in one registry: what is called, and what the message says.

A message names the argument first, then what was found, then what was expected; patterns are matched from its
start. Whatever takes a matrix is listed in `SCORES` or `TRUTH` and meets all of `bad_matrices.py` there. The metrics
have their own list, `bad_metrics.py`, made with the same means.
"""

import json
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bad_matrices import (
    BAD_ANYWHERE,
    BAD_SCORES,
    BAD_TRUTH,
    CSR,
    NotAvailable,
    S,
    Table,
    TwoLines,
    Y,
    inf,
    nan,
    spoiled,
)

import thresholds

NAMES = ("cat", "dog")
RULE = thresholds.ThresholdRule([0.5, 0.25], label_names=NAMES)
TOP = thresholds.TopKRule(1, label_names=NAMES)
HUGE = 10**400  # No float holds it.
MATRIX, TWO = np.eye(2), np.array(["macro", "micro"])

Functions = Mapping[str, Callable[..., object]]
Values = Sequence[tuple[Sequence[object], str]]  # bad values of an option, and what the message says after its name


@dataclass(frozen=True)
class BadInput:
    """One call that must raise `InputError`, and a pattern for the start of its message."""

    id: str
    call: Callable[[], object]
    message: str

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.id


def shown(value: object) -> str:
    """A value in one short line."""
    return " ".join(repr(value).split())[:60]


def each(functions: Functions, option: str, values: Sequence[object], message: str) -> list[BadInput]:
    """Bad values of an option, in every function that has it."""
    return [
        BadInput(f"{name}: {option}={shown(value)}", lambda f=f, value=value: f(**{option: value}), message)
        for name, f in functions.items()
        for value in values
    ]


def every(functions: Functions, option: str, bad: Values) -> list[BadInput]:
    """All bad values of an option, in every function that has it."""
    return [row for values, message in bad for row in each(functions, option, values, f"{option} {message}")]


def matrices(functions: Functions, argument: str, bad: Table) -> list[BadInput]:
    """Every bad matrix in that argument of every function."""
    return [
        BadInput(f"{name}: {argument}, {what}", lambda f=f, make=make: f(**{argument: make()}), f"{argument} {message}")
        for name, f in functions.items()
        for what, (make, message) in bad.items()
    ]


# Good input but for what is given


def fit(y_true: object = Y, y_score: object = S, **given: object) -> thresholds.ThresholdRule:
    """A fitted rule."""
    return thresholds.fit_empirical(y_true, y_score, **given)


def fit_top_k(y_true: object = Y, y_score: object = S, **given: object) -> thresholds.TopKRule:
    """A fitted k."""
    return thresholds.fit_top_k(y_true, y_score, **given)


def rule(thresholds_: object = (0.5, 0.5), **given: object) -> thresholds.ThresholdRule:
    """A rule of two labels."""
    return thresholds.ThresholdRule(given.pop("thresholds", thresholds_), **given)


def fixed(threshold: object = 0.5, n_labels: object = 2, **given: object) -> thresholds.FixedRule:
    """A rule of one threshold."""
    return thresholds.FixedRule(threshold, n_labels, **given)


def top(k: object = 1, **given: object) -> thresholds.TopKRule:
    """A rule without thresholds."""
    return thresholds.TopKRule(k, **given)


FIT, FITS = {"fit": fit}, {"fit": fit, "fit_top_k": fit_top_k}
RULES = {"ThresholdRule": rule, "FixedRule": fixed, "TopKRule": top}

# Matrices

SCORES = {
    "fit": lambda y_score: fit(y_score=y_score, label_names=NAMES),
    "fit_top_k": lambda y_score: fit_top_k(y_score=y_score, label_names=NAMES),
    "ThresholdRule.predict": lambda y_score: RULE.predict(y_score),
    "TopKRule.predict": lambda y_score: TOP.predict(y_score),
}
TRUTH = {
    "fit": lambda y_true: fit(y_true, label_names=NAMES),
    "fit_top_k": lambda y_true: fit_top_k(y_true, label_names=NAMES),
}
MATRICES = [
    *matrices(SCORES, "y_score", BAD_ANYWHERE | BAD_SCORES),
    *matrices(TRUTH, "y_true", BAD_ANYWHERE | BAD_TRUTH),
]

# Matrices that disagree with each other, or with a rule

SWAPPED = (
    r"y_true has 0.9 at row 0, label 0, expected only 0 and 1; y_score has only 0 and 1: the arguments look swapped"
)
NO_NAME = r"y_score has (NaN at row 0, label 2|3 labels, expected 2)"
SHAPES = [
    BadInput("fit: swapped", lambda: fit(S, Y), SWAPPED),
    BadInput("fit: swapped, sparse", lambda: fit(CSR(S), CSR(Y)), SWAPPED),
    BadInput("fit_top_k: swapped", lambda: fit_top_k(S, Y), SWAPPED),
    BadInput("fit: other rows", lambda: fit(Y[:3]), r"y_score has shape \(4, 2\), expected \(3, 2\) as y_true has"),
    BadInput("fit: other labels", lambda: fit(Y[:, :1]), r"y_score has shape \(4, 2\), expected \(4, 1\)"),
    BadInput("fit: transposed", lambda: fit(Y.T), r"y_score has shape \(4, 2\), expected \(2, 4\)"),
    BadInput("fit: one dimension", lambda: fit(Y[:, 0]), r"y_score has shape \(4, 2\), expected \(4, 1\)"),
    BadInput("fit: other rows, sparse", lambda: fit(CSR(Y), CSR(S)[:3]), r"y_score has shape \(3, 2\), expected"),
    BadInput("predict: too few labels", lambda: RULE.predict(S[:, :1]), "y_score has 1 labels, expected 2 as the rule"),
    BadInput("predict: too many labels", lambda: RULE.predict(np.ones((4, 3))), "y_score has 3 labels, expected 2"),
    BadInput("predict: one row", lambda: RULE.predict(S[0]), "y_score has 1 labels, expected 2 as the rule has"),
    BadInput("predict: too many labels, sparse", lambda: RULE.predict(CSR((4, 3))), "y_score has 3 labels, expected 2"),
    BadInput("predict: NaN in a label without name", lambda: RULE.predict([[0.5, 0.5, nan]]), NO_NAME),
    BadInput("TopKRule: too many labels", lambda: TOP.predict(np.ones((4, 3))), "y_score has 3 labels, expected 2"),
    BadInput("TopKRule: NaN in a label without name", lambda: TOP.predict([[0.5, 0.5, nan]]), NO_NAME),
    BadInput(
        "predict: absent scores are positive",
        lambda: RULE.replace({"dog": 0.0}).predict(CSR(S)),
        r"y_score is sparse, and the threshold 0.0 of label 'dog' is not above missing=0.0: .*; pass dense=True$",
    ),
    BadInput(
        "predict: absent scores are positive, no names",
        lambda: fixed(-inf, missing=-inf).predict(CSR(S)),
        r"y_score is sparse, and the threshold -inf of label 0 is not above missing=-inf",
    ),
]

# Weights

COUNT = "expected 4 numbers, one per row"
BAD_WEIGHTS: Values = [
    ([[1, 1, -1, 1]], "has -1.0 at row 2, expected finite weights >= 0"),
    ([[1, 1, nan, 1]], "has nan at row 2, expected finite weights >= 0"),
    ([[1, 1, inf, 1]], "has inf at row 2, expected finite weights >= 0"),
    ([[1e308] * 4], "adds up to more than float64 holds, expected smaller weights"),
    ([[1, 1, 1]], rf"has shape \(3,\), {COUNT}"),
    ([2.0], rf"has shape \(\), {COUNT}"),
    (["balanced"], "has dtype <U8, expected real numbers"),
    ([[[1] * 4], [[1]] * 4], rf"has shape .*, {COUNT}"),
    ([[1, 1, None, 1], [1, 1, 1j, 1]], "has .*, expected real numbers"),
    ([[1, [1, 2], 1, 1], [1, 1, HUGE, 1]], ""),
    ([np.ma.array([1] * 4, mask=[0, 0, 1, 0])], "has masked cells, expected none(?!.*-inf)"),
]
NO_WEIGHT: Values = [([[0] * 4, [0.0] * 4], "is 0 for every row, expected at least one")]

# Options

BAD_BETAS: Values = [
    ([0, 0.0, -1, -0.5, nan, inf, 1e200, HUGE], "is .*, expected a (positive finite )?number"),
    (["1", None, True, 1j, [1.0], MATRIX], "is .*, expected a number"),
]
BAD_FLAGS: Values = [
    ([None, 0, 1, "yes", [True, False], MATRIX, TwoLines(), NotAvailable()], "is .*, expected True or False")
]
BAD_JOBS: Values = [([0, -2, 1.5, "all", True, MATRIX], "is .*, expected a whole number of at least 1")]
BAD_MISSING: Values = [
    ([nan, inf, HUGE], "is .*, expected a (score of dtype float64, or -inf|number that float64 can hold)"),
    (["0", None, [0.0], True], "is .*, expected a number"),
]
OPTIONS = [
    *every(FITS, "sample_weight", BAD_WEIGHTS + NO_WEIGHT),
    *every(FITS | {"ThresholdRule": rule, "TopKRule": top}, "beta", BAD_BETAS),
    *each(FIT, "average", ["mean", "Macro", "binary", None, 1, TwoLines(), TWO], "average is .*, expected 'macro'"),
    *each(FIT, "average", ["samples"], "average is 'samples' with per_label=True, .*expected per_label=False"),
    *each(FIT, "placement", ["high", None, 0.5, TWO], "placement is .*, expected 'low', 'mid' or 'score'"),
    *every(FIT, "per_label", BAD_FLAGS),
    *each(FIT, "guard", ["shrunk", True, 0, MATRIX], "guard is .*, expected"),
    *every(FIT, "n_jobs", BAD_JOBS),
    *each(FITS, "zero_division", [0.5, nan, "warn", None, True, HUGE, MATRIX], "zero_division is .*, expected 0.0"),
    *every(FITS | RULES, "missing", BAD_MISSING),
    BadInput(
        "fit: missing beyond float32", lambda: fit(Y, S.astype("f4"), missing=1e39), r"missing is 1e\+39, expected"
    ),
    BadInput("fit: missing far below", lambda: fit(Y, S.astype("f4"), missing=-1e39), r"missing is -1e\+39, expected"),
]

# Label names

TWICE, STRINGS = "twice, expected each name once", "expected strings"
BAD_NAMES: Values = [
    ([("cat", "cat")], f"has 'cat' {TWICE}"),
    ([("a\nb", "a\nb")], rf"has 'a\\nb' {TWICE}"),
    ([(0, 1)], f"has 0 of type int, {STRINGS}"),
    ([("cat", None)], f"has None of type NoneType, {STRINGS}"),
    ([("cat", nan)], f"has nan of type float, {STRINGS}"),
    ([(b"cat", b"dog")], f"has b'cat' of type bytes, {STRINGS}"),
    ([(MATRIX, "dog"), np.array([NAMES])], f"has .* of type ndarray, {STRINGS}"),
    ([np.array(2), 2], f".*{STRINGS}"),
]
BAD_TWO_NAMES: Values = [  # where there are two labels
    *BAD_NAMES,
    (["cat"], f"is 'cat', {STRINGS}"),
    ([("cat",)], "has 1 names, expected 2, one for each label"),
    ([("cat", "dog", "cow")], "has 3 names, expected 2, one for each label"),
    ([()], "has 0 names, expected 2, one for each label"),
]
LABEL_NAMES = [
    *every(FITS, "label_names", BAD_TWO_NAMES),
    *every(RULES, "label_names", BAD_NAMES),
    *each(
        {"ThresholdRule": rule, "FixedRule": fixed}, "label_names", [("cat",), ()], "label_names has . names, expected"
    ),
    BadInput(
        "fit: NaN in a label without name",
        lambda: fit(Y, spoiled(S, nan), label_names=("cat",)),
        "label_names has 1 names|y_score has NaN at row 2, label 1",
    ),
    BadInput(
        "fit: bad truth in a label without name",
        lambda: fit(spoiled(Y, 2), S, label_names=("cat",)),
        "label_names has 1 names|y_true has 2 at row 2, label 1",
    ),
]

# Rules made or changed by hand

UNEVEN = [[1], [1, 2]]
CHANGES: list[tuple[object, object, str]] = [
    ("cow", 0.5, "label 'cow' is unknown, expected one of 'cat', 'dog'$"),
    (2, 0.5, "label 2 is unknown, expected at most 1"),
    (-1, 0.5, "label is -1, expected a whole number of at least 0"),
    (0.0, 0.5, "label is 0.0, expected a whole number of at least 0"),
    (True, 0.5, "label is True, expected a whole number of at least 0"),
    ("dog", nan, "the threshold of 'dog' is nan|thresholds has NaN at label"),
    ("dog", "0.5", "the threshold of 'dog' is '0.5', expected a number"),
    ("dog", None, "the threshold of 'dog' is None, expected a number"),
    ("dog", HUGE, "the threshold of 'dog' is "),
]
MADE_RULES = [
    *each({"FixedRule": fixed}, "threshold", [nan, None, "0.5", True, [0.5], HUGE], "thresholds? (is|has) "),
    *each({"FixedRule": fixed}, "n_labels", [0, -1, 2.0, "2", None, True], "n_labels is .*, expected a whole number"),
    *each(
        {"TopKRule": top}, "k", [-1, 1.0, 1.5, nan, "1", None, True], "k is .*, expected a whole number of at least 0"
    ),
    *each({"ThresholdRule": rule}, "thresholds", [[], 0.5, [[0.5]], None], r"thresholds has .*, expected"),
    *each({"ThresholdRule": rule}, "thresholds", [[0.5, nan]], "thresholds has NaN at label 1, expected"),
    *each({"ThresholdRule": rule}, "thresholds", ["high", ["0.5"], [1j], UNEVEN, [{}], [HUGE]], "thresholds "),
    *each({"ThresholdRule": rule}, "thresholds", [np.ma.array([1, 2], mask=[0, 1])], "thresholds has masked cells"),
    *each({"ThresholdRule": rule}, "unsupported", [[True]], r"unsupported has shape \(1,\), expected \(2,\)"),
    *(
        BadInput(f"replace: {shown(label)} by {shown(t)}", lambda label=label, t=t: RULE.replace({label: t}), message)
        for label, t, message in CHANGES
    ),
    BadInput("replace: no names", lambda: fixed().replace({"cat": 0.5}), "label 'cat' is unknown, expected one of the"),
    BadInput("index_of: unknown label", lambda: RULE.index_of("cow"), "label 'cow' is unknown, expected one of 'cat'"),
]

# Files


def load(content: bytes | str) -> object:
    """Load a rule from a file that holds `content`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rule.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return thresholds.load_rule(path)


def changed(values: Mapping[str, object], name: str, value: object) -> dict[str, object]:
    """The values with one changed, or removed by `...`."""
    return {k: v for k, v in (values | {name: value}).items() if v is not ...}


def files(values: dict[str, object], part: str, fields: Mapping[str, Sequence[object]]) -> list[BadInput]:
    """A rule's JSON, or an object within it, with each bad value of each field in turn."""

    def spoil(name: str, value: object) -> str:
        if part in values:
            return json.dumps(values | {part: changed(values[part], name, value)})
        return json.dumps(changed(values, name, value))

    return [
        BadInput(
            f"load_rule: {part}, {name} {'absent' if value is ... else shown(value)}",
            lambda name=name, value=value: load(spoil(name, value)),
            r".*rule\.json ",
        )
        for name, bad in fields.items()
        for value in bad
    ]


FITTED = fit(label_names=NAMES).to_dict()
GOOD = json.dumps(FITTED)
CONTENTS: dict[str, bytes | str] = {
    "empty": b"",
    "pickle": pickle.dumps({"thresholds": [0.5]}),
    "pickle of protocol 0": pickle.dumps({"thresholds": [0.5]}, protocol=0),
    "zip": b"PK\x03\x04\x14\x00\x00\x00\x00\x00",
    "npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}",
    "Latin-1": GOOD.replace("cat", "chatière").encode("latin-1"),
    "two rules": GOOD + GOOD,
    "list": f"[{GOOD}]",
    "string": '"thresholds.rule"',
    "number": "1",
    "null": "null",
    "another object": '{"thresholds": [0.5]}',
    "deeply nested": "[" * 100_000,
    "cut after a byte": GOOD[:1],
    "cut in the middle": GOOD[: len(GOOD) // 2],
    "cut before the last byte": GOOD[:-1],
}
PAIRS = [[0.5, value] for value in ("high", "inf", "0.5", nan, True, [0.5], HUGE)]
FIELDS: dict[str, Sequence[object]] = {
    "format": ["scikit-learn", 1, None, ...],
    "version": [2, 0, "1", None, [1], ...],
    "kind": ["forest", "", 1, None, [], {}, ...],
    "thresholds": [[], [0.5], 0.5, "ab", {}, None, ..., *PAIRS],
    "label_names": [["cat"], ["cat", "cat"], ["cat", 1], ["cat", None], "ab", 2, {"cat": 1, "dog": 2}, ...],
    "average": [1, ["macro"], ...],
    "beta": [0, -1, nan, inf, "1", None, True, ...],
    "per_label": [None, "no", 1, ...],
    "zero_division": [0.5, nan, "warn", None, ...],
    "placement": [1, ...],
    "guard": [1, ...],
    "objective": ["0.5", nan, True, [0.5], ...],
    "unsupported": [[2], [-1], ["cat"], [0.5], [True, False], True, 0, "ab", None, ...],
    "missing": [nan, None, "zero", True, [0.0], ...],
    "fitted_on": [[], "data", 1, {}, ...],
}
FITTED_ON: dict[str, Sequence[object]] = {
    "n_samples": ["4", None, 1.5, ...],
    "positives": [[1.0], ["a", "b"], "ab", None, ...],
    "dtype": [1, None, ...],
    "quantiles": [["low", "high"], [nan] * 7, "ab", None, ...],
    "version": [1, None, ...],
}
TOP_FIELDS: dict[str, Sequence[object]] = {
    "k": [-1, 1.5, "1", None, True, ...],
    "missing": [nan, None, "zero", ...],
    "label_names": [["cat", "cat"], ["cat", 1], "ab", 2, ...],
    "beta": [0, -1, nan, "1", None, ...],
    "zero_division": ["warn", None, ...],
    "objective": ["0.5", nan, ...],
}
NEWER = json.dumps(changed(FITTED, "version", 2))
LACKING = json.dumps(changed(FITTED, "beta", ...))
FILES = [
    *(
        BadInput(f"load_rule: {what}", lambda c=c: load(c), r".*rule\.json is not a rule")
        for what, c in CONTENTS.items()
    ),
    *files(FITTED, "ThresholdRule", FIELDS),
    *files(FITTED, "fitted_on", FITTED_ON),
    *files(TOP.to_dict(), "TopKRule", TOP_FIELDS),
    BadInput("load_rule: newer", lambda: load(NEWER), r".*rule\.json has format version 2, expected 1$"),
    BadInput("load_rule: a key is absent", lambda: load(LACKING), r".*rule\.json lacks 'beta', expected the JSON of"),
]

BAD_INPUTS = [*MATRICES, *SHAPES, *OPTIONS, *LABEL_NAMES, *MADE_RULES, *FILES]
