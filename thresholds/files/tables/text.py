"""Tables that are lines of text: where a row is a line, ranges of them are parts."""

from collections.abc import Callable
from copy import copy
from pathlib import Path

from thresholds._arrays.blocks import ceil_div
from thresholds._checks import InputError
from thresholds.files.lines import WHOLE, LineRange, Lines, ranges
from thresholds.files.tables.columns import Table
from thresholds.results import counted


class TextTable(Table):
    """A file of lines, or a range of them."""

    of_text = True
    _path: Path
    _part: LineRange = WHOLE

    def cut(
        self,
        n_bytes: int,
        body: LineRange = WHOLE,
        is_certain: Callable[[Lines], bool] | None = None,
    ) -> list[Table]:
        """Return ranges of lines of about so many bytes, all alike, if there are several; `body` is what has rows."""
        size, n_bytes = self._path.stat().st_size, max(1, n_bytes)
        if self._part != WHOLE or size <= n_bytes:
            return [self]
        parts = list[Table]()
        for part in ranges(self._path, ceil_div(size, ceil_div(size, n_bytes)), body, is_certain):
            table = copy(self)
            table._part, table.n_rows, table.first_row = part, part.n_rows, part.rows_before
            parts.append(table)
        return parts if len(parts) > 1 else [self]

    def refuse_other_number(self, n_rows: int) -> None:
        """Refuse to have read other rows than there were when the file was cut."""
        part = self._part
        if part.n_rows not in (None, n_rows):
            raise InputError(
                f"{self._path} has {counted(n_rows, 'row')} from byte {part.start:,} on, expected {part.n_rows:,} as"
                " when it was opened"
            )
