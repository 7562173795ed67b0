"""What an order tells: of labels, whose truth may go by position, and of rows and shards that are joined without a key.

An order that may be meant otherwise is not taken for granted: it is refused, and the message says how to tell.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from thresholds._checks import InputError, listed
from thresholds.files.keys import shown_key
from thresholds.files.source import Source
from thresholds.files.tables.columns import UNNAMED_INDEX

# What the index of a pandas frame is called, in a csv or after `reset_index`.
_INDEX = re.compile(rf"{UNNAMED_INDEX.pattern}|index|level_0")
_LONGEST_INDEX = 18  # digits


class FileLabels(NamedTuple):
    """The labels whose scores, or truth, are read."""

    names: tuple[str, ...] | None
    number: int
    has_order: bool  # whether a position tells which of several it is

    @property
    def are_numbers(self) -> bool:
        """Whether labels are called by whole numbers that are not their positions."""
        numbers = [_whole_number(name) for name in self.names or ()]
        return None not in numbers and numbers != [str(place) for place in range(len(numbers))]


def refuse_no_order(truth: str, labels: FileLabels) -> None:
    """Refuse to tell labels by their positions where the scores have them in no order."""
    if not labels.has_order and labels.number > 1:
        raise InputError(
            f"{truth} has labels by their positions, and the scores name theirs in no order, expected --label-names, in"
            " the order of the truth"
        )


def refuse_numbers_as_names(truth: str, labels: FileLabels) -> None:
    """Refuse positions beside labels that are called by whole numbers, as these may be meant."""
    if labels.are_numbers:
        raise InputError(
            f"{truth} has labels by their positions from 0, and the scores call theirs {listed(labels.names or ())},"
            " expected --label-names, in the order of these positions"
        )


def are_sorted_as_text(names: Sequence[str]) -> bool:
    """Whether names that are numbered do not stand in the order of their numbers: class_1, class_10, class_2."""
    parts = [_in_numbers(name) for name in names]
    are_numbered = all(len(part) == 3 and not part[2] and part[0] == parts[0][0] for part in parts)
    return are_numbered and parts != sorted(parts)


def refuse_other_rows(scores: Source, truth: Source) -> None:
    """Refuse to join rows by their order where a column that both files have tells them apart, and tells another.

    An index may count the rows of one file, and have been kept in the other.
    """
    both = [column for column in scores.left_out if column in truth.left_out]
    of_truth = dict(truth.first_values(both))
    for column, cells in scores.first_values(both):
        n_rows = min(len(cells), len(of_truth.get(column, ())))
        own, other = (
            [_whole_number(str(cell)) or str(cell) for cell in some[:n_rows]]
            for some in (cells, of_truth.get(column, ()))
        )
        are_keys = len(set(own)) == len(set(other)) == n_rows and set(own) & set(other)
        may_count = _INDEX.fullmatch(column) is not None and (_count(own) or _count(other))
        if own != other and are_keys and not may_count:
            row = next(row for row in range(n_rows) if own[row] != other[row])
            raise InputError(
                f"column {column!r} has {shown_key(own[row])} at row {row} of {scores.name} and"
                f" {shown_key(other[row])} at that of {truth.name}, expected --key {column!r}, which joins by it, or"
                " rows in the same order"
            )


def refuse_shards_sorted_as_text(name: str, shards: Sequence[str], of_truth: Sequence[str]) -> None:
    """Refuse to join rows by their order where shard 10 stands before shard 2, but where those of the truth do so."""
    by_number = sorted(shards, key=_in_numbers)
    if list(shards) not in (by_number, list(of_truth)):
        pairs = zip(shards, by_number, strict=True)
        early = next(shard for shard, other in pairs if shard != other)
        raise InputError(
            f"{name} has the shard {early} before others of smaller numbers, as their names say, expected --key to join"
            " by a column, or names with as many digits"
        )


def _in_numbers(name: str) -> list[str | tuple[int, str]]:
    """Return a name with its numbers apart, which are compared as such, whatever zeros they begin with."""
    found = list[str | tuple[int, str]](re.split(r"(\d+)", name))  # text and digits by turns
    for place in range(1, len(found), 2):
        digits = str(found[place]).lstrip("0")
        found[place] = len(digits), digits
    return found


def _whole_number(text: str) -> str | None:
    """Return a whole number without zeros before it, and spaces around it; None for other text."""
    digits = text.strip()
    return (digits.lstrip("0") or "0") if digits.isdecimal() else None


def _count(cells: Sequence[str]) -> bool:
    """Whether cells number the rows, from whatever number on."""
    if not cells or not cells[0].isdecimal() or len(cells[0]) > _LONGEST_INDEX:
        return False
    first = int(cells[0])
    return cells == [str(number) for number in range(first, first + len(cells))]
