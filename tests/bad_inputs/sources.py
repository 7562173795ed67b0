"""What must be refused of sources: what is none, blocks that do not go together, options that are wrong."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import thresholds
from tests.bad_inputs.arguments import BadInput
from tests.bad_inputs.matrices import CSR, S, Y

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
    "functions and numbers": ([of(PAIR), 3], "source is .*, expected a pair of arrays"),
    "a mapping without scores": ({"y_true": Y}, "source has a block without y_score, expected scores"),
    "arrays of other lengths": ((Y[1:], S), f"y_true has {len(Y) - 1} rows, expected {len(Y)} as y_score has"),
}

# What a source gives: refused whichever way it is read.
BAD_BLOCKS: dict[str, tuple[object, str]] = {
    "no iterator": (lambda: 3, "source has a shard that gives 3, expected a block or an iterator of blocks"),
    "no block": (of(7), "source has 7 for a block, expected"),
    "text": (of("ab"), "source has 'ab' for a block, expected"),
    "an odd key": (
        of({"y_true": Y, "y_score": S, "labels": 1}),
        "source has a block with the key 'labels', expected the keys y_true, y_score, sample_weight, groups",
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
    "beta": ({"beta": -1}, "beta is -1"),
}


def one_by_one(function: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
    """A map that has others count."""
    return [function(task) for task in tasks]


def read(source: object, **options: Any) -> Callable[[], object]:
    """Fit a source."""
    return lambda: thresholds.fit_chunks(source, **options)


BAD_SOURCES = [
    *(BadInput(f"fit_chunks: {what}", read(source), message) for what, (source, message) in NO_SOURCES.items()),
    BadInput(
        "fit_chunks: an iterator, with map",
        read(iter([PAIR]), map=one_by_one),
        "source is <.*iterator.*>, which can be read once",
    ),
    BadInput(
        "fit_chunks: weights beside the source",
        read(PAIR, sample_weight=np.ones(len(Y))),
        "sample_weight is array.*, expected those of a block beside its rows",
    ),
    BadInput(
        "fit_chunks: groups",
        read(PAIR, groups=np.arange(len(Y))),
        "groups is array.*, expected those of a block beside its rows",
    ),
    *(
        BadInput(f"fit_chunks: {what}, {way}", read(source, **how), message)
        for what, (source, message) in BAD_BLOCKS.items()
        for way, how in (("gathered", {}), ("counted", {"map": one_by_one}))
    ),
    *(
        BadInput(f"fit_chunks: {what}, {way}", read(source, **options), message)
        for what, (options, message) in OPTIONS.items()
        for way, source in (("arrays", PAIR), ("blocks", of(PAIR)))
    ),
]
