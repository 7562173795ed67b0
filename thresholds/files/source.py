"""What every file of scores looks like to those who read it: blocks of rows, whose columns have roles."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError, listed, shown
from thresholds._checks.boundary import reading, unreadable

BLOCK_CELLS = 2**21  # of scores: a few megabytes
_MOST_ROWS = 2**16


class Block(NamedTuple):
    """Some consecutive rows."""

    y_score: Matrix  # (n_rows, n_labels)
    y_true: Matrix | None = None
    groups: Dense | None = None  # (n_rows,), and so are keys
    keys: Dense | None = None  # of several columns (n_rows, n_columns), text
    sample_weight: Floats | None = None  # (n_rows,)


class Dialect(NamedTuple):
    """How a csv is written, so that decisions are written alike."""

    separator: str = ","  # of cells
    encoding: str = "utf-8"  # with its byte-order mark where it is utf-8-sig or utf-16
    line_end: str = "\n"


USUAL_DIALECT = Dialect()


@dataclass(frozen=True)
class Wanted:
    """What to read of files; names of columns, or of arrays of an `.npz`, None for what is usual."""

    scores: str | None = None
    truth: str | None = None
    groups: str | None = None
    weights: str | None = None
    key: str | tuple[str, ...] | None = None  # of one column or several
    labels: str | None = None  # column of label names: of a label a line, or beside lists of scores
    label_names: tuple[str, ...] | None = None
    with_truth: bool = True  # else truth is passed over, whatever it is
    # What stands for truth that is not known: "nan", a number, several of these, or None for nothing.
    unknown: object = None
    true_words: tuple[str, ...] = ()  # text of cells that are true, such as yes
    label_separator: str | None = None  # between the labels of a cell of text
    encoding: str | None = None  # of text; None for UTF-8
    drop_unscored: bool = False  # leave out rows in which a label has no score
    # Of a rule: all labels that there are, of which a file that names labels line by line may lack some.
    rule_names: tuple[str, ...] | None = None
    # Whether labels may have come and gone since; then its names stand where a file has none.
    rule_is_old: bool = False
    offered: tuple[str, ...] = ("--groups", "--key", "--truth")  # that the caller has, for messages

    @property
    def names_of_columns(self) -> tuple[str, ...] | None:
        """The labels that a wide file has to have, others being left out; None where the file says which there are."""
        if self.label_names is not None or self.rule_is_old:
            return self.label_names
        return self.rule_names

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        if self.key is None:
            return ()
        return (self.key,) if isinstance(self.key, str) else self.key


# Reads blocks of rows in order, a few megabytes at a time; with truth, or without.
Read = Callable[[bool], Iterator[Block]]


def _nothing(*_: object) -> Any:
    """Return nothing, where a file has nothing to tell."""
    return ""


def _no_values(_: Sequence[str]) -> Iterator[tuple[str, Dense]]:
    """Return no columns."""
    return iter(())


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, or several, of scores of the same labels; truth, names and splits may be absent.

    Every format gives one. It can be sent to another process, and read there, as its functions are bound to paths.
    """

    name: str
    path: str  # for messages
    score_key: str
    n_labels: int
    read: Read
    truth_key: str | None = None
    label_names: tuple[str, ...] | None = None
    # Whether labels have an order that the file or the caller gives: else none is told by its position.
    has_order: bool = True
    key_columns: tuple[str, ...] = ()
    label_column: str | None = None  # of a file with one label a line
    is_named: bool = False  # scores stand beside names of labels: others have none
    n_samples: int | None = None  # None where that takes reading them all
    n_about: int = 0  # about how many there may be then, at most: room is made for them
    first_row: int | None = 0  # of a part in the whole; None where that takes reading those before
    about: str = ""  # for people: the number of shards, perhaps
    notes: tuple[str, ...] = ()  # what was assumed, and what is left out
    left_out: Mapping[str, str] = field(
        default_factory=dict
    )  # columns without a role, what they hold
    calib_idx: Ints | None = None
    test_idx: Ints | None = None
    dialect: Dialect = USUAL_DIALECT  # of a csv
    of_text: bool = False  # scores are written as text, which has no dtype
    has_unknown: bool = False  # truth is -1 where it is not known
    # Of truth: what it is in rows that the file lacks, 0 or -1; None where it has to have all.
    lacking_truth: int | None = None
    more_labels: bool = False  # there may be more of them than a file of truth names
    true_words: tuple[str, ...] = ()  # of cells of the truth, of which some are to be there
    drop_unscored: bool = False  # rows in which a label has no score are to be left out
    is_mapped: bool = False  # all rows are mapped into memory, which they take none of
    # All rows at once, where that takes no more memory than the file has.
    read_whole: Callable[[], Block] | None = None
    read_keys: Callable[[], Dense] | None = None  # the key of every row
    # Columns without a role that have a number or a text for each row, (n_rows,), of the first rows.
    first_values: Callable[[Sequence[str]], Iterator[tuple[str, Dense]]] = _no_values
    # Why a label has no scores though there is a column for it; nothing where there is none.
    because: Callable[[str], str] = _nothing
    # This with the rows of some keys, too, where a file lacks rows that have no scores.
    with_rows: Callable[[Dense], "Source"] | None = None
    # Sources of consecutive rows, in order, that together are this one; none where it cannot be cut.
    read_parts: Callable[[], "list[Source]"] | None = None

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order; without truth where that is not wanted.

        Whatever a parser raises is an `InputError` here, and so are other rows than the file says to have.
        """
        n_rows = 0
        with reading(self.path):
            for block in self.read(truth):
                n_rows += block.y_score.shape[0]
                yield block
        if self.n_samples not in (n_rows, None):
            raise unreadable(
                self.path, f"it has {n_rows:,} rows, expected {self.n_samples:,} as it says"
            )

    def whole(self) -> Block | None:
        """Return all rows at once where that takes no more memory than the file has."""
        if self.read_whole is None:
            return None
        with reading(self.path):
            return self.read_whole()

    def keys(self) -> Dense:
        """Return the key of every row."""
        if self.read_keys is not None:
            with reading(self.path):
                return self.read_keys()
        keys = [block.keys for block in self.blocks(truth=False) if block.keys is not None]
        return np.concatenate(keys)

    def parts(self) -> "list[Source]":
        """Return sources of consecutive rows, such as row groups, that together are this one.

        Calibration and test rows are those of the whole, by its numbers.
        """
        parts = [] if self.read_parts is None else self.read_parts()
        return parts if len(parts) > 1 else [self]


def refuse_other_numbers(name: str, key: str, dtype: np.dtype[Any]) -> None:
    """Refuse scores that are no real numbers."""
    if dtype.kind not in "biuf":
        raise InputError(f"{key} of {name} has dtype {dtype}, expected real numbers")


def other_names(name: str, own: Sequence[str]) -> InputError:
    """Say that a file has other names of labels than those that are asked for, or has them in another order."""
    return InputError(
        f"{name} has the label names {listed(own)}, expected the same in --label-names, in this order"
    )


def refuse_columns(name: str, wanted: Wanted) -> None:
    """Refuse columns that are asked of a file of one matrix, which has none."""
    for option, columns in (
        ("--groups", wanted.groups),
        ("--weights", wanted.weights),
        ("--key", ", ".join(wanted.keys) or None),
        ("--score-column", wanted.scores),
    ):
        if columns is not None:
            raise InputError(
                f"{name} has one matrix and no column {shown(columns)} ({option}), expected a file of columns"
            )


def rows_per_block(n_labels: int) -> int:
    """Return the number of dense rows that take a few megabytes."""
    return max(1, min(_MOST_ROWS, BLOCK_CELLS // max(1, n_labels)))


def row_slices(n_samples: int, n_labels: int) -> Iterator[slice]:
    """Cut rows into blocks."""
    return in_pieces(slice(0, n_samples), rows_per_block(n_labels))
