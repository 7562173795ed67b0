"""All rows of a file: what `thresholds.read` returns, and commands work on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from typing import Any

import numpy as np

from thresholds._arrays.sparse import is_sparse, stored_cells
from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError, shown
from thresholds._engine.unknown import UNKNOWN
from thresholds._results.fields import record
from thresholds._results.plain import plain
from thresholds._results.result import Result
from thresholds._results.text import wrapped
from thresholds._results.words import counted
from thresholds.data.growing import Gathered
from thresholds.files.source import Block, Source
from thresholds.files.unknown import count_unknown, noted


@record
class ScoreFile(Result):
    """What a file of scores holds, as `thresholds.read` returns it.

    Attributes
    ----------
    name : of the file or folder
    score_key : column, prefix of columns or array that the scores are from
    y_score : (n_samples, n_labels) scores, dense or CSR; read-only where the file is mapped into memory
    y_true : (n_samples, n_labels) of 0 and 1, dense or CSR, -1 where the truth is not known; None without truth
    label_names : strings, one for each column; None without names
    calib_idx, test_idx : row numbers to fit and to judge on, if the file has them; None otherwise
    groups : (n_samples,) group of each row, if asked for
    truth_key : what the truth is from; None without truth
    about : how many shards there are, where there are some
    notes : sentences on what was assumed and left out
    left_out : columns or arrays without a role, and what they hold
    unknown : -1 where `y_true` has cells that are not known, to be handed on as `unknown`; else None
    keys : (n_samples,) key of each row, if asked for, or found; of several columns text (n_samples, n_columns)
    sample_weight : (n_samples,) float64 weight of each row, if asked for
    """

    name: str
    score_key: str
    y_score: Matrix
    y_true: Matrix | None
    label_names: tuple[str, ...] | None
    calib_idx: Ints | None
    test_idx: Ints | None
    groups: Dense | None = None
    truth_key: str | None = None
    about: str = ""
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    unknown: int | None = None
    keys: Dense | None = None
    sample_weight: Floats | None = None

    def _freeze(self) -> None:
        """Leave the arrays as they are: they are the caller's, to work on."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: what there is, arrays by their shape."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: plain(getattr(value, "shape", value)) for name, value in values.items()}

    def __repr__(self) -> str:
        """Say what there is in brief."""
        scores = f"y_score=<{dtype_of(self.y_score)} {self.y_score.shape}>"
        truth = "" if self.y_true is None else f", y_true=<{dtype_of(self.y_true)}>"
        return f"{type(self).__name__}(name={shown(self.name)}, {scores}{truth})"

    def _sentences(self) -> Iterable[str]:
        """Return what commands say of a file, and which rows it names."""
        yield described(self, self.y_score.shape, dtype_of(self.y_score), self.truth_key)
        splits = {"to fit on (calib_idx)": self.calib_idx, "to judge on (test_idx)": self.test_idx}
        named = [
            f"{counted(len(rows), 'row')} {what}"
            for what, rows in splits.items()
            if rows is not None
        ]
        if named:
            yield ", ".join(named)

    def _rows(self) -> dict[str, Any]:
        """Return the number of scores that each label has, and of positives."""
        n_samples, n_labels = self.y_score.shape
        n_scores = np.full(n_labels, n_samples)
        if is_sparse(self.y_score):
            n_scores = np.bincount(self.y_score.indices, minlength=n_labels)
        columns = {"label": list(self.label_names or range(n_labels)), "scores": n_scores}
        if self.y_true is not None:
            columns["positives"] = np.asarray((self.y_true == 1).sum(axis=0))
        return columns

    def halves(self) -> tuple[Ints, Ints, str]:
        """Return the rows to fit on and the rows to judge on, and say which of them the file names."""
        fit, judge = self.calib_idx, self.test_idx
        if fit is not None and judge is not None:
            if np.intersect1d(fit, judge).size:
                raise InputError(
                    f"calib_idx and test_idx of {self.name} share rows, expected different ones"
                )
            return fit, judge, "calib_idx and test_idx of the file"

        # One half is named, the other are all other rows.
        key, named = ("test_idx", judge) if fit is None else ("calib_idx", fit)
        if named is None:
            raise InputError(
                f"{self.name} has neither calib_idx nor test_idx, expected at least one of them"
            )
        rest = np.setdiff1d(np.arange(self.y_score.shape[0]), named)
        if not rest.size:
            raise InputError(
                f"{key} of {self.name} holds every row, expected some left for the other half"
            )
        fit, judge = (rest, named) if fit is None else (named, rest)
        return fit, judge, f"{key} of the file, and the rows it leaves"


@record
class LabelledFile(ScoreFile):
    """A score file with truth."""

    y_true: Matrix


def gather(
    source: Source,
    step: Callable[[int], object] | None = None,
    spill: str | None = None,
) -> ScoreFile:
    """Read all rows; `step` is told how many rows each block had.

    They are kept in memory, or mapped into it; with `spill`, a folder, in temporary files there.
    """
    rows, n_dropped = collected(source, step, spill)

    # What is left out, and what is not known.
    if source.true_words and rows.y_true is not None and not (rows.y_true == 1).sum():
        raise InputError(
            f"--true-words is {','.join(source.true_words)!r} with truth {source.truth_key!r}, which has no such word,"
            " expected some"
        )
    unknown = None
    notes = source.notes
    if source.is_named:
        notes = (*notes, *_noted_below(rows.y_score))
    if source.drop_unscored:
        n_rows = rows.y_score.shape[0] + n_dropped
        left = f"{counted(n_dropped, 'row')} of {n_rows:,}"
        notes = (*notes, f"left out: {left}, in which a label has no score")
    if source.has_unknown and rows.y_true is not None:
        n_unknown = count_unknown(rows.y_true)
        unknown = UNKNOWN if n_unknown else None
        notes = (*notes, *noted(rows.y_true, n_unknown))

    return ScoreFile(
        name=source.name,
        score_key=source.score_key,
        label_names=source.label_names,
        calib_idx=source.calib_idx,
        test_idx=source.test_idx,
        truth_key=source.truth_key,
        about=source.about,
        notes=notes,
        left_out=source.left_out,
        unknown=unknown,
        **rows._asdict(),
    )


def _noted_below(scores: Matrix) -> tuple[str, ...]:
    """Say how many scores beside names are below those of labels that have none."""
    stored = stored_cells(scores)
    n_below = int(np.count_nonzero(stored < 0))
    if not n_below:
        return ()
    return (
        f"some scores ({n_below:,} of {stored.size:,}) are below 0, the score of labels without one: --logits makes"
        " probabilities of logits",
    )


def gather_labelled(
    source: Source,
    step: Callable[[int], object] | None = None,
    spill: str | None = None,
) -> LabelledFile:
    """Read all rows of a source that has truth."""
    data = gather(source, step, spill)
    if data.y_true is None:
        raise InputError(
            f"{data.name} has no y_true, expected gold labels to fit on (--truth-column, --truth)"
        )
    return LabelledFile(**{item.name: getattr(data, item.name) for item in fields(data)})


def described(
    data: ScoreFile | Source, shape: tuple[int, ...], dtype: str, truth: str | None = None
) -> str:
    """Say what was read: of a file its size, what is scores and truth, and what was assumed."""
    facts = [
        data.about,
        f"{shape[0]:,} rows",
        f"{shape[1]:,} labels",
        f"scores {data.score_key!r} ({dtype})",
        "" if truth is None else f"truth {truth!r}",
    ]
    about = ", ".join(filter(None, facts))
    return wrapped("\n".join([f"{data.name}: {about}", *data.notes]))


def dtype_of(matrix: Matrix) -> str:
    """Say what scores are."""
    return "CSR" if is_sparse(matrix) else str(matrix.dtype)


def collected(
    source: Source, step: Callable[[int], object] | None = None, spill: str | None = None
) -> tuple[Block, int]:
    """Return all rows, at once or block by block, and the number of those that are left out."""
    whole = source.whole() if spill is None and not source.drop_unscored else None
    if whole is not None:
        return whole, 0
    if source.drop_unscored and (source.calib_idx is not None or source.test_idx is not None):
        raise InputError(
            f"--drop-unscored has no use with {source.name}, whose calib_idx and test_idx number all rows, expected a"
            " file without these"
        )
    n_expected = source.n_samples or source.n_about
    scores = Gathered("y_score", spill, n_rows=n_expected)
    truth = Gathered("y_true", spill, n_rows=n_expected)
    vectors = []  # groups, keys and weights of each block
    n_read = 0
    for block in source.blocks():
        kept = _scored(block) if source.drop_unscored else block
        scores.add(kept.y_score)
        if kept.y_true is not None:
            truth.add(kept.y_true)
        vectors.append((kept.groups, kept.keys, kept.sample_weight))
        n_rows = block.y_score.shape[0]
        n_read += n_rows
        if step is not None:
            step(n_rows)
    if not scores.n_rows:
        with_scores = " with scores" if n_read else ""
        raise InputError(f"{source.name} has no rows{with_scores}, expected at least one")
    joined = [
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*vectors, strict=True)
    ]
    rows = Block(scores.matrix(), truth.matrix() if truth.n_rows else None, *joined)
    return rows, n_read - scores.n_rows


def _scored(block: Block) -> Block:
    """Return the rows in which each label has a score; of sparse scores, those that have some."""
    is_nan = block.y_score != block.y_score  # (n_rows, n_labels), also of sparse scores
    kept = np.asarray(is_nan.sum(axis=1)) == 0  # (n_rows,)
    if is_sparse(block.y_score):
        kept &= np.diff(block.y_score.indptr) > 0
    if kept.all():
        return block
    return Block(*(None if part is None else part[kept] for part in block))
