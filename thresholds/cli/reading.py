"""What commands read: files, rows of them, and the settings of a fit."""

import argparse
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from thresholds._checks import InputError, is_sparse

_SPLIT_SEED = 0

if TYPE_CHECKING:
    from thresholds.files import LabelledFile, Rows, ScoreFile
    from thresholds.rule import Rule, ThresholdRule


def labelled(options: argparse.Namespace) -> "LabelledFile":
    """Read a file with truth, and check it whole, so that errors name its own rows."""
    from thresholds.files import read_labelled
    from thresholds.problem import Problem

    data = read_labelled(options.file, options.score_key, options.groups)
    Problem.of(data.y_true, data.y_score, label_names=data.label_names, missing=options.missing)
    return data


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """Give the arguments of a fit."""
    return {
        "beta": options.beta,
        "placement": options.placement,
        "missing": options.missing,
        "keep_sparse": True,
        "progress": sys.stderr.isatty(),
    }


def guard(options: argparse.Namespace) -> dict[str, Any]:
    """Give the arguments of a fit that keep it from over-fitting."""
    limits = {name: getattr(options, name) for name in ("max_overprediction", "min_precision", "min_recall")}
    return limits | {"guard": None if options.guard == "none" else options.guard}


def check_unused(options: argparse.Namespace, usual: Mapping[str, object], beside: str) -> None:
    """Refuse options that differ from what they usually are where they have no use."""
    for name, value in usual.items():
        given = getattr(options, name)
        if given != value:
            raise InputError(f"--{name.replace('_', '-')} is {given!r} with {beside}, which has no use for it")


def halves(data: "LabelledFile") -> tuple["Rows", "Rows", str]:
    """Give the rows to fit on and to judge on: those that the file names, else halves made here."""
    import numpy as np

    from thresholds.folds import multilabel_folds

    if data.calib_idx is not None or data.test_idx is not None:
        if data.groups is not None:
            raise InputError(f"--groups has no use with {data.name}, which has calib_idx or test_idx")
        return data.halves()
    if data.y_score.shape[0] < 2:
        raise InputError(f"{data.name} has 1 row, expected at least two to split into halves")
    half = multilabel_folds(data.y_true, 2, groups=data.groups, random_state=_SPLIT_SEED)
    said = f"halves by iterative stratification{'' if data.groups is None else ' of groups'}, seed {_SPLIT_SEED}"
    return np.flatnonzero(half == 0), np.flatnonzero(half == 1), said


def fitting_rows(data: "ScoreFile", split: str | None) -> tuple["Rows", str]:
    """Choose the rows to fit on, and say which they are."""
    if split is None:
        if data.calib_idx is None and data.test_idx is not None:
            rows = data.halves()[0]
            return rows, f"the {len(rows):,} rows outside test_idx"
        split = "all" if data.calib_idx is None else "calib"
    return rows_of(data, split)


def judging_rows(data: "ScoreFile", split: str | None) -> tuple["Rows", str]:
    """Choose the rows to judge a saved rule on, and say which they are."""
    if split is None:
        if data.test_idx is None and data.calib_idx is not None:
            rows = data.halves()[1]
            return rows, f"the {len(rows):,} rows outside calib_idx"
        split = "all" if data.test_idx is None else "test"
    return rows_of(data, split)


def rows_of(data: "ScoreFile", split: str) -> tuple["Rows", str]:
    """Give the rows of a named split, and say which they are."""
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


def check_names(data: "ScoreFile", rule: "Rule", path: str) -> None:
    """Refuse scores of other labels than a rule has."""
    if None not in (data.label_names, rule.label_names) and data.label_names != rule.label_names:
        raise InputError(f"label_names of {data.name} differ from those of {path}, expected the same, in order")


def title(data: "ScoreFile") -> str:
    """Say what a file holds."""
    n_samples, n_labels = data.y_score.shape
    kind = "CSR" if is_sparse(data.y_score) else str(data.y_score.dtype)
    return f"{data.name}: {n_samples:,} rows, {n_labels:,} labels, scores {data.score_key} ({kind})"
