"""What commands read: files, and rows of them."""

import argparse
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from thresholds._arrays.types import Dense, Ints
from thresholds._checks import InputError, shown
from thresholds.cli import keeping
from thresholds.cli.keeping import taken as taken

_NARROW = ("float16", "float32")  # dtypes in which text is read where a rule was fitted in them
_NAMES_SHOWN = 5
_OF_TRUTH = ("unknown", "true_words", "label_separator")  # options about truth alone
_OFFERED = ("groups", "weights", "key", "truth")  # that a message names if a command has them

_FITTING_OR_JUDGING = ("fit", "update", "compare", "report", "diagnose")
_GROUPS_OF_VERDICTS = (
    "verdicts count rows, which is too bold where rows of a group are alike; thresholds report --groups counts"
    " groups"
)

if TYPE_CHECKING:
    from thresholds.files import LabelledFile, ScoreFile, Source
    from thresholds.rule import Rule, ThresholdRule

FileOrLabelled = TypeVar("FileOrLabelled", bound="ScoreFile")


def opened(
    options: argparse.Namespace,
    rule: "Rule | None" = None,
    names: tuple[str, ...] | None = None,
    *,
    rule_is_old: bool = False,
) -> "Source":
    """Open the file of scores that the options name, those of text in the dtype that the rule was fitted on.

    `names` are those of a rule that says nothing of the dtype. Since an old rule labels may have come and gone.
    """
    from thresholds.files import Wanted, in_dtype, open_scores, read_label_names

    values = vars(options)  # Not every command has all of these options.
    truth = values.get("truth")
    _refuse_overwriting_input(values)
    given = None
    if options.label_names is not None:
        given = read_label_names(options.label_names)
    wanted = Wanted(
        scores=options.score_key,
        truth=values.get("truth_column"),
        groups=values.get("groups"),
        weights=values.get("weights"),
        key=tuple(values.get("key") or ()) or None,
        labels=options.label_column,
        label_names=given,
        with_truth="truth" in values,
        unknown=values.get("unknown"),
        true_words=values.get("true_words") or (),
        label_separator=values.get("label_separator"),
        encoding=options.encoding,
        drop_unscored=values.get("drop_unscored", False),
        rule_names=names if rule is None else rule.label_names,
        rule_is_old=rule_is_old,
        offered=tuple(f"--{name}" for name in _OFFERED if name in values),
    )
    source = open_scores(options.file, wanted, truth_path=truth, logits=options.logits)

    # Numbers in text have no dtype of their own.
    fitted_on = getattr(rule, "fitted_on", None)
    if source.of_text and fitted_on is not None and fitted_on.dtype in _NARROW:
        return in_dtype(source, fitted_on.dtype)
    return source


def _refuse_overwriting_input(values: dict[str, Any]) -> None:
    """Refuse an output that is a file to be read; only a repair may replace the rule that it repairs."""
    from thresholds.files import refuse_overwriting

    output = values.get("output") or values.get("repair")
    if output is None:
        return
    inputs = [values["file"], values.get("truth"), values["label_names"]]
    if "output" in values and values["command"] != "fit":  # whose --rule is a name
        inputs += [values.get(name) for name in ("rule", "old", "against")]
    refuse_overwriting(output, *(path for path in inputs if path is not None))


def scores(options: argparse.Namespace, rule: "Rule | None" = None) -> "ScoreFile":
    """Read a file, of which truth may be absent."""
    from thresholds.files import gather

    source = opened(options, rule)
    folder = keeping.folder_for(source, options)
    other = "--spill FOLDER" if hasattr(options, "spill") else "TMPDIR"
    with keeping.refusing_a_full_disk(folder, other):
        data = gather(source, progress(source, "reading"), folder)
    for name in _OF_TRUTH if data.y_true is None else ():
        value = getattr(options, name, None)  # Not every command asks for it, nor for `missing`.
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is {shown(value)} with {data.name}, which has no truth")
    return data


def labelled(
    options: argparse.Namespace,
    rule: "Rule | None" = None,
    names: tuple[str, ...] | None = None,
    *,
    rule_is_old: bool = False,
) -> "LabelledFile":
    """Read a file with truth, and check it whole, so that errors name its own rows."""
    from thresholds._engine.problem import Problem
    from thresholds.files import gather_labelled

    source = opened(options, rule, names, rule_is_old=rule_is_old)
    folder = keeping.folder_for(source, options)
    with keeping.refusing_a_full_disk(folder):
        data = gather_labelled(source, progress(source, "reading"), folder)
    data = replace(data, notes=(*data.notes, *_on_groups(options, source, data)))
    missing = getattr(options, "missing", 0.0)  # Not every command asks for it.
    try:
        Problem.of(
            data.y_true,
            data.y_score,
            sample_weight=data.sample_weight,
            label_names=data.label_names,
            missing=missing,
            unknown=data.unknown,
        )
    except InputError as error:
        raise InputError(_in_words_of_commands(str(error))) from None
    return data


def _on_groups(
    options: argparse.Namespace, source: "Source", data: "LabelledFile"
) -> tuple[str, ...]:
    """Point out a column that seems to tell which rows belong together, if nothing is said of groups."""
    from thresholds.files.accounting import look_like_groups

    command = options.command
    if command not in _FITTING_OR_JUDGING:
        return ()
    if options.groups is not None:
        return (_GROUPS_OF_VERDICTS,) if command in ("fit", "diagnose") else ()
    found = look_like_groups(source)
    if found is None:
        return ()
    name, n_values, n_rows = found
    first = "" if n_rows == data.y_score.shape[0] else "the first "
    told = f"--groups {shlex.quote(name)}"
    advice = f"say so with {told}"
    if command == "diagnose":
        advice = f"verdicts are too bold; thresholds report {told} counts groups"
    return (
        f"column {name!r} has {n_values:,} values in {first}{n_rows:,} rows: if rows of one are alike, {advice}",
    )


def _in_words_of_commands(message: str) -> str:
    """Name options as they are written here: weights, and how to leave out what is not known."""

    def option(argument: re.Match[str]) -> str:
        return "; --unknown=" + re.sub(r"[(' )]", "", argument[1])

    message = re.sub(r"; unknown=(\(.*?\)|\S+)", option, message)
    return message.replace("sample_weight ", "--weights ", 1)


def progress(source: "Source", title: str) -> Callable[[int], None] | None:
    """Return what counts rows on a progress bar, on a terminal, if their number is known."""
    if source.n_samples is None or not sys.stderr.isatty():
        return None
    from thresholds._arrays.threads import ProgressBar

    return ProgressBar(title, source.n_samples).step


def halves(data: "LabelledFile", *, groups_have_use: bool = False) -> tuple["Ints", "Ints", str]:
    """Return the rows to fit on and to judge on: those that the file names, else halves made here.

    Where the file names them, groups are refused unless they have another use than to stay in one half.
    """
    from thresholds.data.folds import SEED, halves

    if data.calib_idx is not None or data.test_idx is not None:
        if data.groups is not None and not groups_have_use:
            raise InputError(
                f"--groups has no use with {data.name}, which has calib_idx or test_idx"
            )
        fit, judge, how = data.halves()
        _refuse_unknown_rows(data, fit, f"the {len(fit):,} rows to fit on")
        _refuse_unknown_rows(data, judge, f"the {len(judge):,} rows to judge on")
        return fit, judge, how
    if data.y_score.shape[0] < 2:
        raise InputError(f"{data.name} has 1 row, expected at least two to split into halves")
    return halves(data.y_true, data.groups, SEED, data.unknown)


def at(values: Dense | None, rows: Ints) -> Dense | None:
    """Return the groups or weights of some rows; None where there are none."""
    return None if values is None else values[rows]


def arguments(data: "ScoreFile", rows: Ints, *names: str) -> dict[str, Any]:
    """Return truth and scores of some rows, and what else is named of them, as functions of the library take it."""
    of_rows = {"sample_weight": data.sample_weight, "groups": data.groups}
    given = {
        "y_true": None if data.y_true is None else taken(data.y_true, rows),
        "y_score": taken(data.y_score, rows),
        "unknown": data.unknown,
        "label_names": data.label_names,
        **{name: at(values, rows) for name, values in of_rows.items()},
    }
    return {name: given[name] for name in ("y_true", "y_score", "unknown", *names)}


def fitting_rows(data: "ScoreFile", split: str | None) -> tuple["Ints", str]:
    """Choose the rows to fit on, and say which they are."""
    return _rows(data, split, "calib", "test")


def judging_rows(data: "ScoreFile", split: str | None) -> tuple["Ints", str]:
    """Choose the rows to judge a saved rule on, and say which they are."""
    return _rows(data, split, "test", "calib")


def _rows(data: "ScoreFile", split: str | None, usual: str, other: str) -> tuple["Ints", str]:
    """Return the rows of a split, not given of the usual one; if the file names only the other, what that leaves.

    Of a file that names no rows, a split that is given is one of the halves that are made here.
    """
    import numpy as np

    named = {"calib": data.calib_idx, "test": data.test_idx}
    if split is None and named[usual] is None and named[other] is not None:
        fit, judge, _ = data.halves()
        rows = fit if usual == "calib" else judge
        return rows, f"the {len(rows):,} rows outside {other}_idx"
    if split == "all" or (split is None and named[usual] is None):
        n_rows = data.y_score.shape[0]
        return np.arange(n_rows), f"all {n_rows:,} rows"
    split = split or usual
    found = named[split]
    name = f"{split}_idx"
    names_none = data.calib_idx is None and data.test_idx is None
    if names_none and data.y_true is not None:
        from thresholds.data.folds import SEED, halves

        fit, judge, how = halves(data.y_true, data.groups, SEED, data.unknown)
        found = fit if split == "calib" else judge
        name = f"the {split} half ({how})"
    if found is None:
        raise InputError(f"{data.name} has no {split}_idx, expected the rows of --split {split}")
    which = f"the {len(found):,} rows of {name}"
    _refuse_unknown_rows(data, found, which)
    return found, which


def _refuse_unknown_rows(data: "ScoreFile", rows: "Ints", which: str) -> None:
    """Refuse rows of a file that has other ones of which something is known."""
    from thresholds.files.unknown import count_unknown

    if data.unknown is None or data.y_true is None:
        return
    truth = taken(data.y_true, rows)
    if count_unknown(truth) == math.prod(truth.shape):
        raise InputError(f"truth of {data.name} has no known cell in {which}, expected some")


def threshold_rule(path: str) -> "ThresholdRule":
    """Read a rule of thresholds."""
    from thresholds.loading import load_rule
    from thresholds.rule import ThresholdRule

    rule = load_rule(path)
    if not isinstance(rule, ThresholdRule):
        raise InputError(f"{path} is a rule of the kind {rule.kind!r}, expected one of thresholds")
    return rule


def order_of(source: "Source | ScoreFile", rule: "Rule", path: str) -> "Ints | None":
    """Return the places of a rule's labels in a file, by name; None where they are in order, or one has no names."""
    from thresholds._checks import places

    names = rule.label_names
    if names is None and not getattr(source, "has_order", True):
        raise InputError(
            f"{path} has no label names, and {source.name} has its labels in no order, expected --label-names, in the"
            " order of the rule"
        )
    try:
        return places(source.label_names, names, source.name, f"those of {path}")
    except InputError as error:
        # A label may be lacking because its column was left out.
        message = str(error)
        for label in sorted(set(names or ()) & set(source.left_out))[:_NAMES_SHOWN]:
            message += f"; column {shown(label)} of {source.name} is {source.left_out[label]}"
        raise InputError(message) from None


def aligned(data: FileOrLabelled, rule: "Rule", path: str) -> FileOrLabelled:
    """Put the labels of a file into the order of a rule's, by name."""
    order = order_of(data, rule, path)
    if order is None:
        return data
    truth = None if data.y_true is None else keeping.in_order(data.y_true, order)
    scores = keeping.in_order(data.y_score, order)
    return replace(data, y_score=scores, y_true=truth, label_names=rule.label_names)


def with_source(rule: "Rule", data: "ScoreFile", which: str, options: argparse.Namespace) -> "Rule":
    """Return a rule with a note of the file and the rows that it was fitted on, and of the day."""
    if rule.made_by is None:
        return rule
    made_by = replace(
        rule.made_by,
        file=data.name,
        scores=data.score_key,
        truth=None if options.truth is None else os.path.basename(options.truth),
        rows=which,
        logits=options.logits,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
    )
    return replace(rule, made_by=made_by)


def about(data: "ScoreFile | Source") -> dict[str, Any]:
    """Say what was read, as values."""
    return {"file": data.name, "score_key": data.score_key, "notes": list(data.notes)}


def title(data: "ScoreFile") -> str:
    """Say what a file holds, and what was assumed about it."""
    from thresholds.files import described, dtype_of

    return described(data, data.y_score.shape, dtype_of(data.y_score), data.truth_key)
