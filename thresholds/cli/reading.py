"""What commands read: files, and rows of them."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError, shown

_NARROW = ("float16", "float32")
_NAMES_SHOWN = 5

if TYPE_CHECKING:
    from thresholds.files import LabelledFile, ScoreFile, Source
    from thresholds.rule import Rule, ThresholdRule

FileOrLabelled = TypeVar("FileOrLabelled", bound="ScoreFile")


def opened(options: argparse.Namespace, rule: "Rule | None" = None) -> "Source":
    """Open the file of scores that the options name, those of text in the dtype that the rule was fitted on."""
    from thresholds.files import InDtype, Wanted, open_scores, read_label_names, refuse_overwriting

    named = vars(options)
    output, truth = named.get("output") or named.get("repair"), named.get("truth")
    if output is not None:
        read = [options.file, truth, options.label_names]
        read += (
            [named["rule"]] if "output" in named and "rule" in named else []
        )  # A repair may replace its rule.
        refuse_overwriting(output, *(path for path in read if path is not None))
    wanted = Wanted(
        scores=options.score_key,
        truth=named.get("truth_column"),
        groups=named.get("groups"),
        key=named.get("key"),
        label_names=None if options.label_names is None else read_label_names(options.label_names),
        with_truth="truth" in named,
    )
    if "truth" in named and options.key is not None and truth is None:
        raise InputError(f"--key is {options.key!r} without --truth, the file to join by it")
    source = open_scores(options.file, wanted, truth_path=truth, logits=options.logits)
    dtype = getattr(getattr(rule, "fitted_on", None), "dtype", None)
    return InDtype(source, dtype) if source.of_text and dtype in _NARROW else source


def scores(options: argparse.Namespace, rule: "Rule | None" = None) -> "ScoreFile":
    """Read a file, of which truth may be absent."""
    from thresholds.files import gather

    source = opened(options, rule)
    return gather(source, progress(source, "reading"))


def labelled(options: argparse.Namespace, rule: "Rule | None" = None) -> "LabelledFile":
    """Read a file with truth, and check it whole, so that errors name its own rows."""
    from thresholds.data.problem import Problem
    from thresholds.files import gather_labelled

    source = opened(options, rule)
    data = gather_labelled(source, progress(source, "reading"))
    Problem.of(data.y_true, data.y_score, label_names=data.label_names, missing=options.missing)
    return data


def progress(source: "Source", title: str) -> Callable[[int], None] | None:
    """Return what counts rows on a progress bar, on a terminal, if their number is known."""
    if source.n_samples is None or not sys.stderr.isatty():
        return None
    from thresholds._arrays.threads import Bar

    return Bar(title, source.n_samples).step


def halves(data: "LabelledFile") -> tuple["Ints", "Ints", str]:
    """Return the rows to fit on and to judge on: those that the file names, else halves made here."""
    import numpy as np

    from thresholds.data.folds import SEED, multilabel_folds

    if data.calib_idx is not None or data.test_idx is not None:
        if data.groups is not None:
            raise InputError(
                f"--groups has no use with {data.name}, which has calib_idx or test_idx"
            )
        return data.halves()
    if data.y_score.shape[0] < 2:
        raise InputError(f"{data.name} has 1 row, expected at least two to split into halves")
    half = multilabel_folds(data.y_true, 2, groups=data.groups, random_state=SEED)
    said = f"halves by iterative stratification{'' if data.groups is None else ' of groups'}, seed {SEED}"
    return np.flatnonzero(half == 0), np.flatnonzero(half == 1), said


def fitting_rows(data: "ScoreFile", split: str | None) -> tuple["Ints", str]:
    """Choose the rows to fit on, and say which they are."""
    if split is None:
        if data.calib_idx is None and data.test_idx is not None:
            rows = data.halves()[0]
            return rows, f"the {len(rows):,} rows outside test_idx"
        split = "all" if data.calib_idx is None else "calib"
    return rows_of(data, split)


def judging_rows(data: "ScoreFile", split: str | None) -> tuple["Ints", str]:
    """Choose the rows to judge a saved rule on, and say which they are."""
    if split is None:
        if data.test_idx is None and data.calib_idx is not None:
            rows = data.halves()[1]
            return rows, f"the {len(rows):,} rows outside calib_idx"
        split = "all" if data.test_idx is None else "test"
    return rows_of(data, split)


def rows_of(data: "ScoreFile", split: str) -> tuple["Ints", str]:
    """Return the rows of a named split, and say which they are."""
    import numpy as np

    if split == "all":
        return np.arange(data.y_score.shape[0]), f"all {data.y_score.shape[0]:,} rows"
    rows = {"calib": data.calib_idx, "test": data.test_idx}[split]
    if rows is None:
        raise InputError(f"{data.name} has no {split}_idx, expected the rows of --split {split}")
    return rows, f"the {len(rows):,} rows of {split}_idx"


def threshold_rule(path: str) -> "ThresholdRule":
    """Read a rule of thresholds."""
    from thresholds.rule import ThresholdRule, load_rule

    rule = load_rule(path)
    if not isinstance(rule, ThresholdRule):
        raise InputError(f"{path} is a rule of the kind {rule.kind!r}, expected one of thresholds")
    return rule


def order_of(source: "Source | ScoreFile", rule: "Rule", path: str) -> "Ints | None":
    """Return the places of a rule's labels in a file, by name; None where they are in order, or one has no names."""
    from thresholds._checks import places

    names = rule.label_names
    try:
        return places(source.label_names, names, source.name, f"those of {path}")
    except InputError as error:
        left_out = sorted(set(names or ()) & set(source.left_out))[:_NAMES_SHOWN]
        because = "".join(
            f"; column {shown(label)} of {source.name} is {source.left_out[label]}"
            for label in left_out
        )
        raise InputError(f"{error}{because}") from None


def aligned(data: FileOrLabelled, rule: "Rule", path: str) -> FileOrLabelled:
    """Put the labels of a file into the order of a rule's, by name."""
    order = order_of(data, rule, path)
    if order is None:
        return data
    truth = None if data.y_true is None else data.y_true[:, order]
    return replace(data, y_score=data.y_score[:, order], y_true=truth, label_names=rule.label_names)


def taken(matrix: Matrix, rows: "Ints") -> Matrix:
    """Return some rows; all of them without a copy."""
    import numpy as np

    everything = len(rows) == matrix.shape[0] and np.array_equal(rows, np.arange(len(rows)))
    return matrix if everything else matrix[rows]


def title(data: "ScoreFile") -> str:
    """Say what a file holds, and what was assumed about it."""
    from thresholds.files import dtype_of

    return described(
        data, data.y_score.shape[0], data.y_score.shape[1], dtype_of(data.y_score), data.truth_key
    )


def described(
    data: "ScoreFile | Source", n_samples: int, n_labels: int, kind: str, truth: str | None = None
) -> str:
    """Say what was read."""
    parts = [
        data.about,
        f"{n_samples:,} rows",
        f"{n_labels:,} labels",
        f"scores {data.score_key!r} ({kind})",
        "" if truth is None else f"truth {truth!r}",
    ]
    return "\n".join([f"{data.name}: {', '.join(filter(None, parts))}", *data.notes])
