"""Truth that is not known in some cells: read from files of every form as -1, beside 0 and 1.

What stands for it in a file, `unknown` says: "nan" for cells without a value (empty ones of a csv, null of parquet and
JSON, NaN), a number, as -1, or several of these.
"""

import math
from collections.abc import Sequence

import numpy as np

from thresholds._arrays.sparse import stored_cells, with_cells
from thresholds._arrays.types import Booleans, Dense, Matrix
from thresholds._checks import InputError, shown
from thresholds._checks.cells import first_bad_cell, first_value
from thresholds._checks.unknown import Unknown, and_one_more, is_unknown, unknown_values
from thresholds._engine.unknown import UNKNOWN
from thresholds._results.words import percent


def as_read(
    cells: Matrix,
    unknown: object,
    what: str,
    label_names: Sequence[str] | None = None,
    first_row: int = 0,
) -> Matrix:
    """Return truth as int8: 0, 1, and -1 in place of what stands for a cell that is not known.

    `first_row` is the number of the first row, `what` it is for messages.
    """
    stored = stored_cells(cells)
    stands_for = unknown_values(unknown)

    def is_other(some: Dense) -> Booleans:
        return ~is_truth(some, unknown)

    if is_other(stored).any():
        found = first_bad_cell(cells, is_other, label_names, first_row=first_row)
        hint = hint_of(first_value(cells, is_other), stands_for)
        *others, last = ["no value" if math.isnan(value) else f"{value:g}" for value in stands_for]
        expected = f"{', '.join(['0', '1', *others])} or {last}, as --unknown says"
        raise InputError(f"{what} has {found}, expected {expected}{hint}")
    coded = (stored == 1).astype(np.int8)
    coded[is_unknown(stored, stands_for)] = UNKNOWN
    return with_cells(cells, coded)


def refuse_unknown_in_lists(what: str, unknown: object) -> None:
    """Refuse to look for what is not known in lists of true labels, which cannot say of which it is not."""
    if unknown is not None:
        raise InputError(
            f"--unknown is {shown(unknown)} with {what}, whose lists have the true labels of a row, expected a cell for"
            " each label: 0, 1, or what stands for one that is not known"
        )


def is_truth(cells: Dense, unknown: object) -> Booleans:
    """Mark cells that are 0, 1, or what stands for one that is not known."""
    return np.asarray((cells == 0) | (cells == 1)) | is_unknown(cells, unknown_values(unknown))


def hint_of(cell: object, unknown: Unknown = ()) -> str:
    """Say how a cell that is refused is read as not known, if it may be meant so: without a value, or negative.

    `unknown` is what stands for such cells already: the cell is one more.
    """
    more = and_one_more(cell, unknown)
    words = ",".join(f"{value:g}" for value in more)
    return f"; --unknown={words} if that is not known" if more else ""


def count_unknown(truth: Matrix) -> int:
    """Count the cells that are not known."""
    return int(np.count_nonzero(stored_cells(truth) == UNKNOWN))


def noted(truth: Matrix, n_unknown: int) -> tuple[str, ...]:
    """Say how much of the truth is not known, and where nothing is known to be false."""
    if not n_unknown:
        return ("the truth of every cell is known",)
    n_cells = math.prod(truth.shape)
    share = percent(n_unknown / n_cells)
    notes = [
        f"truth of {n_unknown:,} of {n_cells:,} cells ({share}) is not known; they are left out"
    ]
    stored = stored_cells(truth)
    if stored.size == n_cells and not (stored == 0).any():
        notes.append(
            "no cell of the truth is 0, so that to mark everything is right: if what is not known is not true, write 0"
            " for it (of csv: --true-words 1)"
        )
    return tuple(notes)
