"""Truth of a table as 0 and 1: columns of numbers or words, lists of labels, and labels that share a cell of text."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from thresholds._arrays.types import Dense, Matrix
from thresholds._checks import InputError, different, listed, places, shown
from thresholds._checks.cells import first_bad_cell
from thresholds._checks.labels import alike
from thresholds._checks.unknown import reads_absent, unknown_values
from thresholds.data import label_lists
from thresholds.files import accounting
from thresholds.files.source import Wanted
from thresholds.files.tables.columns import NUMBERS, ListColumn
from thresholds.files.tables.csv_layout import is_number
from thresholds.files.tables.roles import ColumnChoice
from thresholds.files.tables.table import Batch, Table, stacked
from thresholds.files.unknown import as_read, hint_of, is_truth
from thresholds.results import counted

Decode = Callable[[Batch], Matrix]

_OF_CELLS = ("text", "int", "none")  # kinds of columns that labels may share a cell of
_SEPARATORS = ("|", ";", ",", " ")  # that may stand between the labels of a cell
# Labels in a list as Python writes it: in quotes of either kind, or bare.
_IN_LISTS = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\s'"][^,]*)""")


class Truth:
    """How the truth of a table is read, for labels that are known."""

    def __init__(
        self,
        table: Table,
        choice: ColumnChoice,
        label_names: tuple[str, ...] | None,
        n_labels: int,
        because: Callable[[str], str],
        wanted: Wanted,
        *,
        has_order: bool = True,
    ) -> None:
        self._has_order = has_order or n_labels == 1
        self._names = label_names
        self._n_labels = n_labels
        self._wanted = wanted
        self._unknown = wanted.unknown
        self.nullable: tuple[str, ...] = ()  # columns whose cells may lack a value
        self.text: tuple[str, ...] = ()  # columns that are read as text
        self.has_cells = True  # else lists of the labels that are true
        self.notes: tuple[str, ...] = ()
        self.choice = self._matched(table, choice, because)
        self.decode = self._decoding(table)

    def _matched(
        self, table: Table, choice: ColumnChoice, because: Callable[[str], str]
    ) -> ColumnChoice:
        """Put wide columns into the order of the labels, by name; `because` says why the scores lack one."""
        if choice.form in ("list", "named") or self._is_of_cells(table, choice):
            return choice
        if choice.names is None:
            self._refuse_text(table, choice)
            if self._n_labels != 1:
                raise InputError(
                    f"truth {choice.key!r} of {table.name} is one label, expected {self._n_labels}"
                )
            return choice
        if self._names is None:
            raise InputError(
                f"truth {choice.key!r} of {table.name} has label names and the scores have none, expected --label-names"
            )
        if set(choice.names) != set(self._names):
            lacking = [label for label in self._names if label not in choice.names]
            more = [label for label in choice.names if label not in self._names]
            why = accounting.because(table, choice, lacking[0]) if lacking else because(more[0])
            if not why and choice.key == "all columns":
                why = self._labels_in_cells(table, choice)
            raise InputError(
                f"truth {choice.key!r} of {table.name} {different(choice.names, self._names)}, expected the same labels"
                f" as the scores{why}"
            )
        return ordered(choice, self._names)

    def _labels_in_cells(self, table: Table, choice: ColumnChoice) -> str:
        """Say how labels in cells of text are read, where the truth has been looked for in columns of numbers."""
        for key in accounting.of_text(table, table.columns):
            for cell in _first_cells(table, key):
                separator = next((mark for mark in _SEPARATORS if mark in cell), None)
                labels = [] if separator is None else _labels_in(cell, separator)
                if set(labels) & set(self._names or ()):
                    options = f"--truth-column {key!r} with --label-separator '{separator}'"
                    return f"; {options} if that has all labels of a row"
        if table.of_text and len(choice.columns) == 1:
            options = f"--truth-column {choice.columns[0]!r} with --label-separator"
            return f"; {options} if that has all labels of a row"
        return ""

    def _is_of_cells(self, table: Table, choice: ColumnChoice) -> bool:
        """Whether a column of text has all labels of a row, parted as the caller has said."""
        column = table.columns[choice.columns[0]]
        is_one = choice.names is None and column.form == "flat" and column.kind in _OF_CELLS
        return self._wanted.label_separator is not None and is_one

    def _refuse_text(self, table: Table, choice: ColumnChoice) -> None:
        """Refuse one column of text, which may have the labels of a row; say how to part them."""
        column = choice.columns[0]
        if not table.columns[column].is_text or (self._wanted.true_words and self._n_labels == 1):
            return
        cells = _first_cells(table, column)
        cell = next((cell for cell in cells if not cell.isalnum()), cells[0] if cells else "")
        if cell.lstrip().startswith("{"):
            raise InputError(
                f"truth {column!r} of {table.name} is text (such as {shown(cell)}), expected {_OBJECTS}"
            )
        separator = next((mark for mark in _SEPARATORS if mark in cell), None)
        hint = f"--label-separator '{separator}' parts the labels of a cell"
        if separator is None:
            hint = "--true-words says which are true, --label-separator what parts the labels of a cell"
        raise InputError(
            f"truth {column!r} of {table.name} is text (such as {shown(cell)}), expected lists of labels, or 0 and 1;"
            f" {hint}"
        )

    def _decoding(self, table: Table) -> Decode:
        """Choose how to read the truth."""
        choice = self.choice
        column = choice.columns[0]
        truth = f"truth {choice.key!r} of {table.name}"
        if self._is_of_cells(table, choice):
            self._take_lists(truth, has_names=False)
            self.text = self.nullable = choice.columns
            cells = LabelCells(
                table, column, self._wanted, self._names, self._n_labels, self._has_order
            )
            self.notes = cells.notes
            return cells.decode
        self._refuse_unused(truth, choice, table)
        if choice.form == "named":
            raise InputError(
                f"{truth} holds {table.columns[column].type}, expected labels without scores"
            )
        if choice.form == "wide" and self._wanted.true_words:
            kinds = _kinds_of_words(table, self._wanted)
            self.text = tuple(key for key in choice.columns if table.columns[key].kind in kinds)
            self._words = {key: Words(self._wanted) for key in self.text}
        else:
            accounting.refuse_other_than_numbers(table, choice, "0 and 1")
        if reads_absent(self._unknown):
            self.nullable = choice.columns
        if choice.form != "list":
            return self._zeros_and_ones

        kind = table.columns[column].kind
        if kind != "text" and choice.names is None:
            refuse_no_order(truth, self._has_order)
        names = self._names
        if kind not in ("text", *NUMBERS, "none"):
            raise InputError(f"{truth} holds {table.columns[column].type}, expected labels")

        # Lists of 0 and 1 for each label.
        has_numbers = kind in NUMBERS or (kind == "none" and self._unknown is not None)
        if has_numbers and self._is_indicator(table, column):
            return self._zeros_and_ones

        # All others have the labels that are true.
        self._take_lists(truth, has_names=kind == "text")
        if kind == "text":
            assert names is not None
            return partial(from_names, column=column, label_names=names)

        # Lists of the positions of a row's labels, perhaps in an order of the file's own.
        if choice.names is None or choice.names == names:
            return partial(from_positions, column=column, n_labels=self._n_labels, places=None)
        assert names is not None, "there are names if the truth has some"
        index = {label: place for place, label in enumerate(names)}
        if not set(choice.names) <= index.keys():
            raise InputError(
                f"{truth} {different(choice.names, names)}, expected the same labels as the scores"
            )
        order = np.array([index[label] for label in choice.names])
        return partial(from_positions, column=column, n_labels=self._n_labels, places=order)

    def _take_lists(self, truth: str, *, has_names: bool) -> None:
        """Note that there are lists of true labels, which cannot say of which it is not known."""
        self.has_cells = False
        self.nullable = ()
        if self._unknown is not None:
            raise InputError(
                f"--unknown is {shown(self._unknown)} with {truth}, whose lists have the true labels of a row, expected"
                " a cell for each label: 0, 1, or what stands for one that is not known"
            )
        if has_names and self._names is None:
            raise InputError(f"{truth} has label names, expected --label-names, in order")

    def _zeros_and_ones(self, batch: Batch) -> Matrix:
        """Read columns, or lists as long as there are labels, of 0 and 1, or of words that stand for these."""
        what = f"truth {self.choice.key!r} of {batch.name}"
        if not self.text:
            cells = numbers_of(batch, self.choice, self._n_labels)
            return indicator(cells, what, batch.first, self._names, self._unknown)
        columns = dict(batch.columns)
        for key in self.text:
            about = f"column {key!r} of {batch.name}"
            columns[key] = self._words[key].cells(np.asarray(columns[key]), about, batch.first)
        cells = numbers_of(batch._replace(columns=columns), self.choice, self._n_labels)
        return indicator(cells, what, batch.first, self._names, self._unknown)

    def _refuse_unused(self, truth: str, choice: ColumnChoice, table: Table) -> None:
        """Refuse options about text where the truth is none."""
        kinds = {table.columns[key].kind for key in choice.columns}
        for option, value in (
            ("--label-separator", self._wanted.label_separator),
            ("--true-words", ",".join(self._wanted.true_words) or None),
        ):
            is_used = option == "--true-words" and bool(
                kinds & _kinds_of_words(table, self._wanted)
            )
            if value is not None and not is_used:
                raise InputError(
                    f"{option} is {shown(value)} with {truth}, which holds {table.columns[choice.columns[0]].type},"
                    " expected text"
                )

    def _is_indicator(self, table: Table, column: str) -> bool:
        """Whether lists are 0/1 for each label: of fixed length or of bools, or seen to be, and no positions."""
        n_labels = self._n_labels
        described = table.columns[column]
        if described.names is not None and described.kind == "int":
            return False
        if described.width is not None or described.kind in ("bool", "float"):
            return True
        # A cell without a value is no position: it is refused, with a hint, or is one that is not known.
        batch = table.first_rows([column], [column]).get(column)
        if batch is None:
            return False
        lists = batch.columns[column]
        assert isinstance(lists, ListColumn)
        lengths = np.diff(lists.offsets)  # (n_rows,)
        if lists.absent is not None:
            lengths = lengths[~lists.absent]
        # A negative number is no position: as a cell of truth it is refused with a hint.
        cells = lists.values
        fits = is_truth(cells, self._unknown) | (cells < 0) | (cells != cells)
        if (lengths != n_labels).any() or not fits.all():
            return False
        if n_labels <= 2 and (lists.values.reshape(-1, n_labels) == np.arange(n_labels)).all():
            raise InputError(
                f"truth {column!r} of {table.name} has {list(range(n_labels))} in all of the first"
                f" {len(lengths):,} rows, which may be positions or 0 and 1, expected true and false,"
                " numbers with a point, or names"
            )
        return True


_ABSENT = ("nan", "na", "n/a", "null", "none")  # words for no value


def _kinds_of_words(table: Table, wanted: Wanted) -> set[str]:
    """Return the kinds of columns that have words for what is true; of a csv, numbers may be such words, too."""
    is_csv = table.of_text and not table.is_loose
    are_numbers = any(
        is_number(word) or word.casefold() in ("true", "false") for word in wanted.true_words
    )
    return {"text", "none", *(NUMBERS if is_csv and are_numbers else ())}


def refuse_no_order(truth: str, has_order: bool) -> None:
    """Refuse to tell labels by their positions where the scores have them in no order."""
    if not has_order:
        raise InputError(
            f"{truth} has labels by their positions, and the scores name theirs in no order, expected --label-names, in"
            " the order of the truth"
        )


class Words:
    """Text of cells that are true, as the caller has said; all others have one other word, or all nothing."""

    def __init__(self, wanted: Wanted) -> None:
        self._true = {word.strip().casefold() for word in wanted.true_words}
        self._unknown = dict[str, float]()  # words for truth that is not known
        for value in unknown_values(wanted.unknown):
            words = ("", *_ABSENT) if value != value else (f"{value:g}",)
            self._unknown |= dict.fromkeys(words, value)
        self._false: str | None = None  # the other word, once it is found

    def cells(self, texts: Dense, what: str, first: int) -> Dense:
        """Return cells of text as 1, 0, and what stands for truth that is not known."""
        texts = np.array(["" if text is None or text != text else text for text in texts], object)
        codes = {text: self._code(str(text), what, first, texts) for text in dict.fromkeys(texts)}
        return np.array([codes[text] for text in texts.tolist()], np.float64)

    def _code(self, text: str, what: str, first: int, texts: Dense) -> float:
        """Return what a word stands for."""
        word = text.strip().casefold()
        if word in self._true:
            return 1.0
        if word in self._unknown:
            return self._unknown[word]
        if self._false is None and word not in _ABSENT:
            self._false = word
        if word != self._false:
            row = first + texts.tolist().index(text)
            beside = "" if self._false is None else f" beside {shown(self._false)}"
            may_be_unknown = {word, self._false} & {"", *_ABSENT}
            hint = "; --unknown=nan if a cell without a word is not known" if may_be_unknown else ""
            raise InputError(
                f"{what} has {shown(text)} at row {row}{beside}, expected one word, or nothing, for what is not true"
                f" beside the --true-words{hint}"
            )
        return 0.0


def _first_cells(table: Table, column: str) -> list[str]:
    """Return the first cells of a column of text that have some."""
    batch = table.first_rows([column]).get(column)
    cells = [] if batch is None else np.asarray(batch.columns[column]).tolist()
    return [str(cell) for cell in cells if str(cell).strip()]


class LabelCells:
    """A column of text that has all labels of a row in a cell, with a separator between them."""

    def __init__(
        self,
        table: Table,
        column: str,
        wanted: Wanted,
        label_names: tuple[str, ...] | None,
        n_labels: int,
        has_order: bool,
    ) -> None:
        self._column = column
        self._separator = wanted.label_separator or ","
        self._what = f"column {column!r} of {table.name}"
        times = Counter[str]()
        may_be_cells = n_labels > 1
        for batch in table.batches([column], nullable=[column], text=[column]):
            for labels in self._labels_of(batch):
                times.update(set(labels))
                may_be_cells = may_be_cells and len(labels) in (0, n_labels)
        if may_be_cells and times and times.keys() <= {"0", "1"}:
            raise InputError(
                f"{self._what} may have 0 and 1 for each label, or positions, expected names of labels, or {_OBJECTS}"
            )
        names = label_names or ()
        if times and not set(names) & times.keys() and all(map(str.isdigit, times)):
            beyond = [label for label in times if int(label) >= n_labels]
            if beyond:
                raise InputError(
                    f"{self._what} has the label {beyond[0]}, expected names, or positions from 0 to {n_labels - 1}"
                )
            refuse_no_order(self._what, has_order)
            names = tuple(map(str, range(n_labels)))
        others = [label for label in times if label not in names]
        if others and wanted.label_names is None:
            raise InputError(
                f"{self._what} has {listed(others)}{alike(others, names)}, expected the labels of the scores;"
                " --label-names names those to use"
            )
        self._names = names
        self._left_out = times.keys() - set(names) if wanted.label_names is not None else set()
        self.notes: tuple[str, ...] = ()
        if self._left_out:
            marks = sum(times[label] for label in self._left_out)
            some = f"{counted(marks, 'mark')} of {counted(len(self._left_out), 'label')}"
            self.notes = (
                f"left out of {self._what}: {some} not in --label-names, {listed(sorted(self._left_out))}",
            )
            if self._left_out == times.keys():
                raise InputError(
                    f"{self._what} has no label of --label-names, but {listed(sorted(times))}, expected labels that"
                    f" {self._separator!r} parts (--label-separator)"
                )

    def decode(self, batch: Batch) -> Matrix:
        """Return the labels of some rows as a CSR matrix of ones."""
        index: dict[str, int] = {}
        values = list[int]()
        lengths = list[int]()
        for labels in self._labels_of(batch):
            kept = [label for label in dict.fromkeys(labels) if label not in self._left_out]
            values += [index.setdefault(label, len(index)) for label in kept]
            lengths.append(len(kept))
        offsets = np.append(0, np.cumsum(lengths))
        lists = ListColumn(np.array(values, np.int64), offsets, tuple(index))
        return from_names(batch._replace(columns={self._column: lists}), self._column, self._names)

    def _labels_of(self, batch: Batch) -> Iterator[list[str]]:
        """Return the labels of each row, each once; a cell without a value has none."""
        for row, cell in enumerate(np.asarray(batch.columns[self._column]).tolist(), batch.first):
            text = "" if cell is None or cell != cell else str(cell).strip()
            if text.startswith("{") and ":" in text:
                raise InputError(
                    f"{self._what} has {shown(text)} at row {row}, expected {_OBJECTS}"
                )
            yield _labels_in(text, self._separator)


_OBJECTS = (
    "objects of .jsonl with 0 or 1 for each label, a column for each label, or one label a line"
)


def _labels_in(cell: str, separator: str) -> list[str]:
    """Return the labels of a cell, of which some may be a list or a set as Python writes them."""
    inner = cell[1:-1]
    is_list = cell[:1] + cell[-1:] in ("[]", "()", "{}") and separator == ","
    if not is_list or (
        not cell.startswith("{")
        and not (set(inner) & set("'\"") or not inner.strip(" ,0123456789"))
    ):
        return [part.strip() for part in cell.split(separator) if part.strip()]
    return [next(filter(None, found)).strip() for found in _IN_LISTS.findall(inner)]


def ordered(choice: ColumnChoice, label_names: tuple[str, ...] | None) -> ColumnChoice:
    """Put wide columns, or the labels of mappings, into the order of the label names."""
    if label_names is None or choice.form in ("list", "named"):
        return choice
    positions = places(choice.names, label_names, choice.key, "the same labels")
    if positions is None:
        return choice
    order = tuple(positions.tolist())
    if choice.form == "mapping":
        return choice._replace(names=label_names, order=order)
    return choice._replace(names=label_names, columns=tuple(choice.columns[k] for k in order))


def numbers_of(batch: Batch, choice: ColumnChoice, n_labels: int) -> Dense:
    """Return wide columns, objects, or lists of one length, as a matrix (n_rows, n_labels)."""
    if choice.form == "wide":
        return stacked(batch, choice.columns)
    values = batch.columns[choice.columns[0]]
    matrix = values if isinstance(values, np.ndarray) else rectangular(batch, choice, n_labels)
    return matrix if choice.order is None else matrix[:, choice.order]


def rectangular(batch: Batch, choice: ColumnChoice, n_labels: int) -> Dense:
    """Return lists of numbers, all of one length, as a matrix (n_rows, n_labels); NaN for a row without a list."""
    column = choice.columns[0]
    lists: Any = batch.columns[column]
    lengths = np.diff(lists.offsets)
    present = np.ones(lengths.size, np.bool_) if lists.absent is None else ~lists.absent
    wrong = np.flatnonzero(present & (lengths != n_labels))
    if wrong.size:
        raise InputError(
            f"column {column!r} of {batch.name} has {lengths[wrong[0]]} values at row {batch.first + wrong[0]},"
            f" expected {n_labels}, one for each label"
        )
    matrix = lists.values.reshape(-1, n_labels)
    if present.all():
        return np.asarray(matrix)
    with_absent = np.full((lengths.size, n_labels), np.nan)
    with_absent[present] = matrix
    return with_absent


def indicator(
    cells: Dense,
    what: str,
    first: int,
    label_names: Sequence[str] | None,
    unknown: object = None,
) -> Dense:
    """Return a matrix of 0 and 1 as such; `first` is the number of its first row, `what` it is for messages.

    With `unknown`, what stands for cells that are not known, these are -1.
    """
    if unknown is not None:
        return np.asarray(as_read(cells, unknown, what, label_names, first))
    if cells.dtype.kind == "b":
        return cells.astype(np.uint8)
    is_bad = _neither_0_nor_1(cells)
    if is_bad.any():
        found = first_bad_cell(cells, _neither_0_nor_1, label_names, first_row=first)
        hint = hint_of(cells[is_bad][0])
        raise InputError(f"{what} has {found}, expected only 0 and 1{hint}")
    return cells.astype(np.uint8)


def _neither_0_nor_1(cells: Dense) -> Dense:
    """Mark cells that are neither."""
    return np.asarray((cells != 0) & (cells != 1))


def from_names(batch: Batch, column: str, label_names: Sequence[str]) -> Matrix:
    """Return lists of label names as a CSR matrix of ones."""
    lists: Any = batch.columns[column]
    index = {label: place for place, label in enumerate(label_names)}
    words = lists.words or ()
    known = np.array([index.get(word, -1) for word in words], np.int64)
    what = f"column {column!r} of {batch.name}"
    positions = known[lists.values] if known.size else lists.values.astype(np.int64)
    if (positions < 0).any():
        used = np.unique(lists.values)
        label_lists.refuse_unknown(known[used], [words[k] for k in used], what, "label_names")
    n_labels = len(label_names)
    return label_lists.indicator_of(
        positions, lists.offsets, n_labels, what, batch.first, label_names
    )


def from_positions(batch: Batch, column: str, n_labels: int, places: Dense | None) -> Matrix:
    """Return lists of label positions as a CSR matrix of ones; `places` are those of labels in another order."""
    lists: Any = batch.columns[column]
    what = f"column {column!r} of {batch.name}"
    if lists.words is not None:
        raise InputError(
            f"{what} has the label {shown(lists.words[0])} from row {batch.first} on, expected positions"
        )
    parts = np.flatnonzero(lists.values % 1 != 0)
    if parts.size:
        row = batch.first + int(np.searchsorted(lists.offsets, parts[0], side="right")) - 1
        raise InputError(
            f"{what} has {lists.values[parts[0]]:g} at row {row}, expected positions of labels"
        )
    positions = lists.values.astype(np.int64)
    if places is None:
        return label_lists.indicator_of(positions, lists.offsets, n_labels, what, batch.first)
    in_file_order = label_lists.indicator_of(
        positions, lists.offsets, places.size, what, batch.first
    )
    return label_lists.indicator_of(
        places[in_file_order.indices], in_file_order.indptr, n_labels, what, batch.first
    )
