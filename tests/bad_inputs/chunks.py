"""What must be refused of rows in blocks: sources that are none, blocks that do not go together, rows that change."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import thresholds
from tests.bad_inputs.arguments import BadInput
from tests.bad_inputs.matrices import CSR, S, Y
from thresholds import chunks

PAIR = (Y, S)


def of(*blocks: object) -> Callable[[], Iterator[object]]:
    """A source of these blocks."""
    return lambda: iter(blocks)


def frame(*names: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A block whose labels have names."""
    return pd.DataFrame(Y, columns=names), pd.DataFrame(S, columns=names)


def narrower() -> tuple[Any, Any]:
    """A block of one label less."""
    return Y[:, 1:], S[:, 1:]


def weighted(*weights: float) -> tuple[Any, Any, Any]:
    """A block with weights."""
    return (*PAIR, np.resize(weights, len(Y)))


# What is no source: it is refused before anything is read.
NO_SOURCES: dict[str, tuple[object, str]] = {
    "None": (None, "source is None, expected a pair of arrays"),
    "a number": (7, "source is 7, expected a pair of arrays"),
    "nothing": ([], r"source is \[\], expected a pair of arrays"),
    "an array alone": (S, "source is array"),
    "four parts": ((Y, S, None, None), "source is .*, expected a pair of arrays"),
    "an iterator": (iter([PAIR]), "source is <.*iterator.*>, which can be read once, expected"),
    "a generator": ((PAIR for _ in range(2)), "source is <generator.*>, which can be read once, expected"),
    "functions and numbers": ([of(PAIR), 3], "source is .*, expected a pair of arrays"),
    "a mapping without scores": ({"y_true": Y}, "source has a block without y_true and y_score, expected the keys"),
    "arrays of other lengths": ((Y[1:], S), f"y_true has {len(Y) - 1} rows, expected {len(Y)} as y_score has"),
}

# What a source gives: refused whichever way it is read.
BAD_BLOCKS: dict[str, tuple[object, str]] = {
    "no iterator": (lambda: 3, "source has a shard that gives 3, expected a block or an iterator of blocks"),
    "no block": (of(7), "source has 7 for a block, expected"),
    "text": (of("ab"), "source has 'ab' for a block, expected"),
    "an odd key": (
        of({"y_true": Y, "y_score": S, "labels": 1}),
        "source has a block with the key 'labels', expected the keys y_true, y_score, sample_weight, groups, keys",
    ),
    "no blocks": (of(), "source has no rows, expected at least one"),
    "no rows": (of((Y[:0], S[:0])), "source has no rows, expected at least one"),
    "other widths": (of(PAIR, narrower()), r"(y_score|a block) has .*1 labels?, expected 2"),
    "other dtypes": (of(PAIR, (Y, S.astype(np.float32))), r"(y_score|a block) has .*float32.*, expected .*float64"),
    "sparse after dense": (of(PAIR, (Y, CSR(S))), r"(y_score|a block) (is|has) sparse"),
    "other names": (of(frame("a", "b"), frame("a", "c")), r"(y_true|y_score|label_names|a block) .*'c'"),
    "NaN": (of(PAIR, (Y, np.where(Y, S, np.nan))), "y_score has NaN at row"),
    "truth of 2": (of(PAIR, (Y * 2, S)), "y_true has 2"),
    "more truth than scores": (of((Y, S[1:])), f"y_score has shape .*, expected .{len(Y)}, 2. as y_true has"),
    "a weight below 0": (of(weighted(-1, 1)), "sample_weight has -1"),
    "weights of 0": (of(weighted(0)), "sample_weight is 0 for every row, expected at least one positive weight"),
}

OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "spill is no folder": ({"spill": os.devnull}, "spill is '.*', expected a folder that exists, 'auto', or None"),
    "spill is a number": ({"spill": 3}, "spill is 3, expected a folder that exists, 'auto', or None for none"),
    "spill is True": ({"spill": True}, "spill is True, expected a folder that exists, 'auto', or None for none"),
    "map is no function": ({"map": 3}, "map is 3, expected a function that is called as map"),
    "samples": ({"average": "samples", "per_label": False}, "average is 'samples'"),
    "a cap on rows": ({"max_predicted_per_row": 1}, "max_predicted_per_row is 1"),
    "beta": ({"beta": -1}, "beta is -1"),
}

RULE = thresholds.FixedRule(0.5, 2)
WIDE = thresholds.FixedRule(0.5, 3)
OTHER = thresholds.FixedRule(0.5, 2, missing=0.1)
BLOCK = {"y_true": Y, "y_score": S}
ONES = np.ones(len(Y))

# What else is done in blocks.
NO_PROBABILITIES: dict[str, tuple[object, dict[str, Any], str]] = {
    "no rows": (of(), {}, "source has no rows, expected at least one"),
    "other widths": (of(S, S[:, 1:]), {}, "a block has 1 labels?, expected 2"),
    "other dtypes": (of(S, S.astype(np.float32)), {}, "a block has float32 scores, expected float64 ones"),
    "1.5": (of(np.full((1, 2), 1.5)), {}, r"probabilities has 1.5 at row 0, label 0, expected values in \[0, 1\]"),
    "weights of 0": (of({"y_score": S, "sample_weight": 0 * ONES}), {}, "sample_weight is 0 for every row"),
    "weights below 0": (of({"y_score": S, "sample_weight": -ONES}), {}, "sample_weight has -1.0 at row 0"),
    "an iterator": (iter([S]), {}, "source is <.*iterator.*>, which can be read once"),
    "no threads": (of(S), {"n_jobs": 0}, "n_jobs is 0"),
    "map is no function": (of(S), {"map": 3}, "map is 3, expected a function that is called as map"),
    "average": (of(S), {"average": "most"}, "average is 'most'"),
}
NO_FOLDS: dict[str, tuple[object, dict[str, Any], str]] = {
    "keys of halves": (of({**BLOCK, "keys": ONES / 2}), {}, "keys has 0.5, expected whole numbers or strings"),
    "keys of two columns": (of({**BLOCK, "keys": Y}), {}, "keys has shape .*, expected .*, one for each row"),
    "one group": (of({**BLOCK, "groups": ONES}), {"cv": 2}, "cv is 2, and fold . has no row of positive weight"),
    "one fold": (of(BLOCK), {"cv": 1}, "cv is 1, expected a whole number of at least 2"),
    "a seed below 0": (of(BLOCK), {"random_state": -1}, "random_state is -1, expected a whole number of at least 0"),
    "samples": (of(BLOCK), {"average": "samples", "per_label": False}, "average is 'samples'"),
    "verdicts": (of(BLOCK), {"verdicts": "all"}, "verdicts is 'all'"),
}
NO_COMPARISON: dict[str, tuple[object, object, dict[str, Any], str]] = {
    "a list": ([RULE], of(BLOCK), {}, r"rules is \[FixedRule"),
    "no rules": ({}, of(BLOCK), {}, "rules is {}, expected a mapping of names to rules"),
    "baseline": ({"a": RULE}, of(BLOCK), {"baseline": "b"}, "baseline is 'b', expected the name of a rule"),
    "confidence": ({"a": RULE}, of(BLOCK), {"confidence": 2}, "confidence is 2"),
    "weights": ({"a": RULE}, of({**BLOCK, "sample_weight": ONES}), {}, "sample_weight is given, expected rows without"),
    "groups": ({"a": RULE}, of({**BLOCK, "groups": ONES}), {}, "groups is given, expected confidence=None with it"),
    "a wide rule": ({"a": WIDE}, of(BLOCK), {}, "y_score has 2 labels, expected 3 as the rule 'a' has"),
    "other missing": (
        {"a": RULE, "b": OTHER},
        of((Y, CSR(S))),
        {},
        "rule 'b' has missing=0.1, expected 0.0 as rule 'a' has",
    ),
}
NO_DIAGNOSIS: dict[str, tuple[object, object, dict[str, Any], str]] = {
    "a rule of rows": (
        thresholds.TopKRule(1),
        of(BLOCK),
        {},
        "rule is a TopKRule, which decides by all scores of a row",
    ),
    "a name": ("fixed", of(BLOCK), {}, "rule is 'fixed', expected a rule"),
    "a wide rule": (WIDE, of(BLOCK), {}, "y_score has 2 labels, expected 3 as the rule has"),
    "weights": (
        RULE,
        of({**BLOCK, "sample_weight": ONES}),
        {},
        "sample_weight is given, expected rows without weights",
    ),
    "alpha": (RULE, of(BLOCK), {"alpha": 2}, "alpha is 2"),
}


def read(source: object, **options: Any) -> Callable[[], object]:
    """Fit a source."""
    return lambda: thresholds.fit_chunks(source, **options)


BAD_CHUNKS = [
    *(BadInput(f"fit_chunks: {what}", read(source), message) for what, (source, message) in NO_SOURCES.items()),
    BadInput(
        "fit_chunks: weights beside the source",
        read(PAIR, sample_weight=np.ones(len(Y))),
        "sample_weight is array.*, expected the weights of a block beside its rows",
    ),
    BadInput(
        "fit_chunks: groups",
        read(PAIR, groups=np.arange(len(Y))),
        "groups is array.*, which guards and promises read row by row; expected None",
    ),
    *(
        BadInput(f"fit_chunks: {what}, {way}", read(source, spill=spill), message)
        for what, (source, message) in BAD_BLOCKS.items()
        for way, spill in (("spilled", "auto"), ("in passes", None))
    ),
    *(
        BadInput(f"fit_chunks: {what}, {way}", read(source, **options), message)
        for what, (options, message) in OPTIONS.items()
        for way, source in (("arrays", PAIR), ("blocks", of(PAIR)))
    ),
    *(
        BadInput(f"chunks.{function.__name__}: {what}", partial(function, source, **options), message)
        for function, rows in ((chunks.fit_expected, NO_PROBABILITIES), (chunks.cross_fit, NO_FOLDS))
        for what, (source, options, message) in rows.items()
    ),
    *(
        BadInput(f"chunks.{function.__name__}: {what}", partial(function, judged, source, **options), message)
        for function, rows in ((chunks.compare, NO_COMPARISON), (chunks.diagnose, NO_DIAGNOSIS))
        for what, (judged, source, options, message) in rows.items()
    ),
]
