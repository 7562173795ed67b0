"""The public reader: what the command line reads, in Python."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thresholds import _checks
from thresholds._checks import InputError, shown, texts
from thresholds.files.opening import StrPath, open_scores, read_label_names
from thresholds.files.score_file import ScoreFile, gather
from thresholds.files.source import Wanted
from thresholds.files.words import in_python_words, rewritten


@in_python_words()
def read(
    path: Any,
    *,
    truth: Any = None,
    score_column: str | None = None,
    truth_column: str | None = None,
    label_column: str | None = None,
    key: str | Sequence[str] | None = None,
    groups: str | None = None,
    weights: str | None = None,
    label_names: StrPath | Sequence[str] | None = None,
    logits: bool = False,
    unknown: object = None,
    true_words: str | Sequence[str] | None = None,
    label_separator: str | None = None,
    encoding: str | None = None,
    drop_unscored: bool = False,
) -> ScoreFile:
    """Read scores, and truth, names, groups, weights and splits where they are there, from files of any kind.

    The kinds of files, and how columns are found in them, are those of the command line (docs/files.md). Arrays of
    `.npy`, and of `.npz` that is not compressed, are mapped into memory, not read.

    Parameters
    ----------
    path : a file, a folder, or a pattern of shards; or a `datasets.Dataset`
        Tables: `.parquet`, `.pq`, `.feather`, `.arrow`, `.orc`, `.csv`, `.tsv`, `.txt`, `.jsonl`, `.ndjson` (csv, tsv
        and jsonl also packed as `.gz`), and a folder that `save_to_disk` wrote. Arrays: `.npz`, `.npy`. Text of extreme
        classification: `.txt`.
    truth : likewise, where the truth is in another file; also `.svm`, `.svmlight` and `.libsvm`
    score_column, truth_column : column, what columns begin or end with, or array
        Not given, `y_score` and `y_true`, or what can be nothing else.
    label_column : column of labels, in a table that has one label a line, or lists of labels beside lists of scores
        Not given, one that is called so (label, species, scientific name and the like).
    key : column, or several, that join scores to `truth`
        Not given, they are joined by the order of rows. In a table that has one label a line, what tells to which row
        a line belongs.
    groups : column of the group of each row, of either file
    weights : column of the weight of each row, of either file
    label_names : strings in the order of the scores, or a file of them (one a line, a JSON list, or a model's id2label)
    logits : scores are logits, to be turned into probabilities
    unknown : "nan" for truth without a value, or a number that stands for truth that is not known; or several of these
        Such cells are -1 in `y_true`, and `unknown` of the result says so.
    true_words : words of truth that is text, "yes" or ("yes", "x"); one text may have several, parted by commas
        A cell with one of these, in whatever case, is 1. Of a column, either one other word is 0, or empty cells are.
    label_separator : text between the labels of a row, where the truth has all of them in one cell: "|"
    encoding : of csv files, as Python names it
        Not given, UTF-8, or UTF-16 where a byte-order mark says so.
    drop_unscored : leave out rows in which a label has no score; `notes` of the result say how many
        Not of a file with `calib_idx` or `test_idx`, which number all rows.

    Returns
    -------
    ScoreFile, with `y_true`, `y_score`, `label_names`, `groups`, `sample_weight`, `keys`, `calib_idx`, `test_idx` and
    `unknown`

    Raises
    ------
    InputError
        For files that are damaged, and what is not clear: the message says what may be meant, and how to say so.
    MissingLibraryError
        For tables without pyarrow, and sparse scores without SciPy.

    Examples
    --------
    >>> from pathlib import Path
    >>> import thresholds
    >>> data = thresholds.read(Path(thresholds.__file__).with_name("demo.npz"))
    >>> data.y_score.shape, data.label_names[:2]
    ((1797, 17), ('digit 0', 'digit 1'))
    >>> rule = thresholds.fit_empirical(data.y_true, data.y_score, label_names=data.label_names)
    """
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    names: tuple[str, ...] | None = None
    if isinstance(label_names, str | os.PathLike):
        names = read_label_names(label_names)
    elif label_names is not None:
        names = _checks.names_of_labels(label_names)
    wanted = Wanted(
        scores=score_column,
        truth=truth_column,
        groups=groups,
        weights=weights,
        key=keys or None,
        labels=label_column,
        label_names=names,
        unknown=unknown,
        true_words=texts.words(true_words, "true_words"),
        label_separator=texts.separator(label_separator, "label_separator"),
        encoding=texts.encoding(encoding, "encoding"),
        drop_unscored=_checks.option(drop_unscored, "drop_unscored", (True, False)),
    )
    source = open_scores(path, wanted, truth_path=truth, logits=logits)
    about_truth = {"unknown": unknown, "true_words": true_words, "label_separator": label_separator}
    for name, value in about_truth.items():
        if value is not None and source.truth_key is None:
            raise InputError(f"{name} is {shown(value)} with {source.name}, which has no truth")
    data = gather(source)
    return replace(data, notes=tuple(map(rewritten, data.notes)))
