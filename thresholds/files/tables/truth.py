"""Truth of a table as 0 and 1: columns of numbers or words, lists of labels, and labels that share a cell of text."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Dense, Ints, Matrix
from thresholds._checks import InputError, different, places, shown
from thresholds._checks.cells import first_bad_cell
from thresholds._checks.options import LARGEST_EXACT_INTEGER
from thresholds._checks.unknown import reads_absent, unknown_values
from thresholds._results.words import counted
from thresholds.data import label_lists
from thresholds.files import accounting
from thresholds.files.order import FileLabels, refuse_no_order
from thresholds.files.source import Wanted
from thresholds.files.tables.columns import LABEL_SEPARATORS, NUMBERS, Kind, ListColumn, NoValue
from thresholds.files.tables.csv_layout import is_number
from thresholds.files.tables.roles import ColumnChoice
from thresholds.files.tables.table import Batch, FileTable
from thresholds.files.unknown import as_read, hint_of, is_truth, refuse_unknown_in_lists

Decode = Callable[[Batch], Matrix]

# Kinds of columns that labels may share a cell of.
_OF_CELLS: tuple[Kind, ...] = ("text", "int", "float", "none")  # 1,2 may be taken for a number
# Labels in a list as Python writes it: in quotes of either kind, or bare.
_IN_LISTS = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\s'"][^,]*)""")


class TruthColumns(NamedTuple):
    """How the truth of a table is read."""

    choice: ColumnChoice
    decode: Decode
    has_cells: bool = False  # for each label; else there are lists of the labels that are true
    text: tuple[str, ...] = ()  # columns that are read as text
    nullable: tuple[str, ...] = ()  # columns whose cells may lack a value
    notes: tuple[str, ...] = ()


def truth_of(
    table: FileTable,
    choice: ColumnChoice,
    labels: FileLabels,
    because: Callable[[str], str],
    wanted: Wanted,
) -> TruthColumns:
    """Choose how truth is read, for labels that are known; `because` says why the scores lack one."""
    column = choice.columns[0]
    described = table.columns[column]
    truth = f"truth {choice.key!r} of {table.name}"
    if (
        wanted.label_separator is not None
        and choice.names is None
        and described.is_flat(*_OF_CELLS)
    ):
        refuse_unknown_in_lists(truth, wanted.unknown)
        return _truth_of_cells(table, choice, labels, wanted)
    if choice.form in ("wide", "mapping"):
        choice = _matched(table, choice, labels, because, wanted)
    _refuse_unused(truth, choice, table, wanted)
    if choice.form == "named":
        raise InputError(f"{truth} holds {described.type}, expected labels without scores")
    if choice.form != "list":
        return _truth_of_numbers(table, choice, labels, wanted)

    # A file may have names for its lists of numbers, in an order of its own.
    if described.kind != "text" and choice.names is None and labels.names is not None:
        choice = choice._replace(names=table.label_names)

    # Lists of 0 and 1 for each label; all others have the labels that are true.
    if described.kind not in ("text", *NUMBERS, "none"):
        raise InputError(f"{truth} holds {described.type}, expected labels")
    if _is_indicator(table, column, labels, wanted.unknown):
        if choice.names is None:
            refuse_no_order(truth, labels)
        return _truth_of_numbers(table, ordered(choice, labels.names), labels, wanted)
    refuse_unknown_in_lists(truth, wanted.unknown)
    has_names = described.kind == "text" or choice.names is not None
    if has_names and labels.names is None:
        raise InputError(f"{truth} has label names, expected --label-names, in order")
    names = labels.names or ()
    if described.kind == "text" or (not has_names and labels.are_numbers):
        return _truth_of_names(table, choice, names, wanted)

    # Positions may be in an order of the file's own; lists that are all empty have none.
    if choice.names is None and described.kind != "none":
        refuse_no_order(truth, labels)
    if choice.names is not None and not set(choice.names) <= set(names):
        raise InputError(
            f"{truth} {different(choice.names, names)}, expected the same labels as the scores"
        )
    return TruthColumns(
        choice, partial(_from_positions, column=column, labels=labels, names=choice.names)
    )


def _truth_of_names(
    table: FileTable, choice: ColumnChoice, names: Sequence[str], wanted: Wanted
) -> TruthColumns:
    """Read lists of label names, which may be whole numbers; those that `--label-names` lacks are left out."""
    column = choice.columns[0]
    decode = partial(_from_names, column=column, label_names=names)
    if wanted.label_names is None:
        return TruthColumns(choice, decode)
    times = Counter[str]()
    with suppress(NoValue):  # which is refused where all rows are read
        for batch in table.batches([column]):
            times.update(times_of(_named(batch, column)))
    what = f"column {column!r} of {table.name}"
    notes = accounting.labels_left_out(what, times, "mark", names, wanted, "--label-names")
    return TruthColumns(choice, partial(decode, may_have_others=bool(notes)), notes=notes)


def _matched(
    table: FileTable,
    choice: ColumnChoice,
    labels: FileLabels,
    because: Callable[[str], str],
    wanted: Wanted,
) -> ColumnChoice:
    """Put wide columns into the order of the labels, by name."""
    truth = f"truth {choice.key!r} of {table.name}"
    if choice.names is None:
        _refuse_text(table, choice, labels, wanted)
        if labels.number != 1:
            raise InputError(f"{truth} is one label, expected {labels.number}")
        return choice
    if labels.names is None:
        raise InputError(
            f"{truth} has label names and the scores have none, expected --label-names"
        )
    if set(choice.names) != set(labels.names):
        lacking = [label for label in labels.names if label not in choice.names]
        more = [label for label in choice.names if label not in labels.names]
        why = accounting.because(table, choice, lacking[0]) if lacking else because(more[0])
        if not why and choice.key == "all columns":
            why = labels_in_text(table, labels.names)
            why = why or _labels_in_only(table, choice, labels.names)
        if not why and lacking and not more and wanted.label_names is None:
            why = "; --label-names names those to use"
        raise InputError(
            f"{truth} {different(choice.names, labels.names)}, expected the same labels as the scores{why}"
        )
    return ordered(choice, labels.names)


def labels_in_text(table: FileTable, names: Sequence[str]) -> str:
    """Say how labels in cells of text are read, where a column has some; nothing where none has."""
    for key, column in table.columns.items():
        cells = _first_cells(table, key) if column.is_flat("text") else []
        for cell in cells:
            separator = next((mark for mark in LABEL_SEPARATORS if mark in cell), None)
            if separator is not None and set(_labels_in(cell, separator)) & set(names):
                options = f"--truth-column {key!r} with --label-separator '{separator}'"
                return f"; {options} if that has all labels of a row"
        if not set(names).isdisjoint(cells):
            return f"; --label-column {key!r} if each line has one label"
    return ""


def _labels_in_only(table: FileTable, choice: ColumnChoice, names: Sequence[str]) -> str:
    """Say how the only column of numbers is read, which is called as no label is; nothing where there are several."""
    only = choice.columns[0]
    if len(choice.columns) == len(names) == 1:
        return f"; --truth-column {only!r} if that is the truth of {names[0]!r}"
    if table.of_text and len(choice.columns) == 1 and table.columns[only].is_flat("int"):
        return f"; --truth-column {only!r} with --label-separator if that has all labels of a row"
    return ""


def _first_cells(table: FileTable, column: str) -> list[str]:
    """Return the first cells of a column of text that have some."""
    batch = table.first_rows([column]).get(column)
    texts = [] if batch is None else np.asarray(batch.columns[column]).tolist()
    return [str(text) for text in texts if str(text).strip()]


def _refuse_text(
    table: FileTable, choice: ColumnChoice, labels: FileLabels, wanted: Wanted
) -> None:
    """Refuse one column of text, which may have the labels of a row; say how to part them."""
    column = choice.columns[0]
    if not table.columns[column].is_flat("text") or (wanted.true_words and labels.number == 1):
        return
    cells = _first_cells(table, column)
    cell = next((cell for cell in cells if not cell.isalnum()), cells[0] if cells else "")
    found = f"truth {column!r} of {table.name} is text (such as {shown(cell)})"
    if cell.lstrip().startswith("{"):
        raise InputError(f"{found}, expected {_OBJECTS}")
    separator = next((mark for mark in LABEL_SEPARATORS if mark in cell), None)
    hint = f"--label-separator '{separator}' parts the labels of a cell"
    if separator is None:
        hint = "--true-words says which are true, --label-separator what parts the labels of a cell"
    raise InputError(f"{found}, expected lists of labels, or 0 and 1; {hint}")


def _refuse_unused(truth: str, choice: ColumnChoice, table: FileTable, wanted: Wanted) -> None:
    """Refuse options about text where the truth is none."""
    kinds = {table.columns[key].kind for key in choice.columns}
    true_words = "" if kinds & _kinds_of_words(table, wanted) else ",".join(wanted.true_words)
    unused = {"--label-separator": wanted.label_separator, "--true-words": true_words}
    for option, value in unused.items():
        if value:
            raise InputError(
                f"{option} is {shown(value)} with {truth}, which holds {table.columns[choice.columns[0]].type},"
                " expected text"
            )


def _truth_of_numbers(
    table: FileTable, choice: ColumnChoice, labels: FileLabels, wanted: Wanted
) -> TruthColumns:
    """Read columns, or lists as long as there are labels, of 0 and 1, or of words that stand for these."""
    words = dict[str, Words]()
    if choice.form == "wide" and wanted.true_words:
        kinds = _kinds_of_words(table, wanted)
        words = {key: Words(wanted) for key in choice.columns if table.columns[key].kind in kinds}
    else:
        accounting.refuse_other_than_numbers(table, choice, "0 and 1")
    decode = partial(
        _zeros_and_ones, choice=choice, labels=labels, words=words, unknown=wanted.unknown
    )
    nullable = choice.columns if reads_absent(wanted.unknown) else ()
    return TruthColumns(choice, decode, has_cells=True, text=tuple(words), nullable=nullable)


def _zeros_and_ones(
    batch: Batch,
    choice: ColumnChoice,
    labels: FileLabels,
    words: dict[str, "Words"],
    unknown: object,
) -> Matrix:
    """Return the truth of some rows, of which some columns may have words."""
    columns = dict(batch.columns)
    for key, own in words.items():
        about = f"column {key!r} of {batch.name}"
        columns[key] = own.cells(np.asarray(columns[key]), about, batch.first)
    cells = numbers_of(batch._replace(columns=columns), choice, labels.number)
    what = f"truth {choice.key!r} of {batch.name}"
    return indicator(cells, what, batch.first, labels.names, unknown)


def _is_indicator(table: FileTable, column: str, labels: FileLabels, unknown: object) -> bool:
    """Whether lists are 0/1 for each label: of fixed length or of bools, or seen to be, and no positions."""
    n_labels = labels.number
    described = table.columns[column]
    if described.kind not in NUMBERS and (described.kind != "none" or unknown is None):
        return False
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
    fits = is_truth(cells, unknown) | (cells < 0) | (cells != cells)
    if (lengths != n_labels).any() or not fits.all():
        return False
    if n_labels <= 2 and (cells.reshape(-1, n_labels) == np.arange(n_labels)).all():
        raise InputError(
            f"truth {column!r} of {table.name} has {list(range(n_labels))} in all of the first"
            f" {len(lengths):,} rows, which may be positions or 0 and 1, expected true and false,"
            " numbers with a point, or names"
        )
    return True


_ABSENT = ("nan", "na", "n/a", "null", "none")  # words for no value
UNCLEAR = ("?", "maybe", "unknown", "uncertain", "unclear")  # words for neither


def _kinds_of_words(table: FileTable, wanted: Wanted) -> set[str]:
    """Return the kinds of columns that have words for what is true; of a csv, numbers may be such words, too."""
    is_csv = table.of_text and not table.is_loose
    are_numbers = any(
        is_number(word) or word.casefold() in ("true", "false") for word in wanted.true_words
    )
    return {"text", "none", *(NUMBERS if is_csv and are_numbers else ())}


class Words:
    """Text of cells that are true, as the caller has said; all others have one other word, or all nothing."""

    def __init__(self, wanted: Wanted) -> None:
        self._true = {_word(word) for word in wanted.true_words}
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
        word = _word(text)
        if word in self._true:
            return 1.0
        if word in self._unknown:
            return self._unknown[word]
        if word in UNCLEAR:
            row = first + texts.tolist().index(text)
            raise InputError(
                f"{what} has {shown(text)} at row {row}, expected a word for what is not true; leave out the word, with"
                " --unknown=nan, if that is not known"
            )
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


def _word(text: str) -> str:
    """Return a word as it is compared: in whatever case, and 1.0 as 1."""
    word = text.strip().casefold()
    whole, _, decimals = word.partition(".")
    return whole if whole and decimals and not decimals.strip("0") else word


def _truth_of_cells(
    table: FileTable, choice: ColumnChoice, labels: FileLabels, wanted: Wanted
) -> TruthColumns:
    """Read a column of text that has all labels of a row in a cell, with a separator between them."""
    column = choice.columns[0]
    what = f"column {column!r} of {table.name}"
    labels_of = partial(_labels_of, column=column, separator=wanted.label_separator or ",")
    times = Counter[str]()
    may_be_cells = labels.number > 1
    for batch in table.batches([column], nullable=[column], text=[column]):
        for found in labels_of(batch):
            times.update(set(found))
            may_be_cells = may_be_cells and len(found) in (0, labels.number)
    if may_be_cells and times and times.keys() <= {"0", "1"}:
        raise InputError(
            f"{what} may have 0 and 1 for each label, or positions, expected names of labels, or {_OBJECTS}"
        )
    names = labels.names or ()
    are_positions = not set(names) & times.keys() and all(map(str.isdecimal, times))
    if times and are_positions and not labels.are_numbers:
        beyond = [label for label in times if int(label) >= labels.number]
        if beyond:
            raise InputError(
                f"{what} has the label {beyond[0]}, expected names, or positions from 0 to {labels.number - 1}"
            )
        refuse_no_order(what, labels)
        names = tuple(map(str, range(labels.number)))
    of = _OF_SCORES
    if wanted.label_names is not None:
        of = f"--label-names, which {wanted.label_separator!r} parts (--label-separator)"
    notes = accounting.labels_left_out(what, times, "mark", names, wanted, of)
    index = {label: place for place, label in enumerate(names)}
    decode = partial(_from_cells, labels_of=labels_of, what=what, index=index)
    return TruthColumns(choice, decode, text=choice.columns, nullable=choice.columns, notes=notes)


def _from_cells(
    batch: Batch,
    labels_of: Callable[[Batch], Iterator[list[str]]],
    what: str,
    index: Mapping[str, int],
) -> Matrix:
    """Return the labels of some rows, but for those that are left out, as a CSR matrix of ones."""
    positions = list[int]()
    offsets = [0]
    for labels in labels_of(batch):
        positions += [index[label] for label in dict.fromkeys(labels) if label in index]
        offsets.append(len(positions))
    return label_lists.indicator_of(
        np.array(positions, np.int64), np.array(offsets), len(index), what, batch.first
    )


def _labels_of(batch: Batch, column: str, separator: str) -> Iterator[list[str]]:
    """Return the labels of each row; a cell without a value has none."""
    for row, cell in enumerate(np.asarray(batch.columns[column]).tolist(), batch.first):
        text = "" if cell is None or cell != cell else str(cell).strip()
        if text.startswith("{") and ":" in text:
            raise InputError(
                f"column {column!r} of {batch.name} has {shown(text)} at row {row}, expected {_OBJECTS}"
            )
        yield _labels_in(text, separator)


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
    """Put wide columns, or the labels of mappings and lists, into the order of the label names."""
    if label_names is None or choice.names is None or choice.form == "named":
        return choice
    positions = places(choice.names, label_names, choice.key, "the same labels")
    if positions is None:
        return choice
    order = tuple(positions.tolist())
    if choice.form != "wide":
        return choice._replace(names=label_names, order=order)
    return choice._replace(names=label_names, columns=tuple(choice.columns[k] for k in order))


def numbers_of(batch: Batch, choice: ColumnChoice, n_labels: int) -> Dense:
    """Return wide columns, objects, or lists of one length, as a matrix (n_rows, n_labels)."""
    if choice.form == "wide":
        return np.stack([np.asarray(batch.columns[column]) for column in choice.columns], axis=1)
    values = batch.columns[choice.columns[0]]
    matrix = values if isinstance(values, np.ndarray) else _rectangular(batch, choice, n_labels)
    return matrix if choice.order is None else matrix[:, choice.order]


def _rectangular(batch: Batch, choice: ColumnChoice, n_labels: int) -> Dense:
    """Return lists of numbers, all of one length, as a matrix (n_rows, n_labels); NaN for a row without a list."""
    column = choice.columns[0]
    lists: Any = batch.columns[column]
    lengths = np.diff(lists.offsets)
    present = np.ones(lengths.size, np.bool_) if lists.absent is None else ~lists.absent
    wrong = np.flatnonzero(present & (lengths != n_labels))
    if wrong.size:
        raise InputError(
            f"column {column!r} of {batch.name} has {counted(int(lengths[wrong[0]]), 'value')} at row"
            f" {batch.first + wrong[0]}, expected {n_labels}, one for each label"
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


def places_of(coded: Ints, words: Sequence[str] | None, label_names: Sequence[str]) -> Ints:
    """Return the place of each label, a number among words, among label names; -1 for those that are none of these."""
    index = {label: place for place, label in enumerate(label_names)}
    known = np.array([index.get(word, -1) for word in words or ()], np.int64)
    return known[coded] if known.size else np.empty(0, np.int64)


_OF_SCORES = "the scores; --label-names names those to use"


def times_of(lists: Any) -> dict[str, int]:
    """Count how often each name stands in lists."""
    words = lists.words or ()
    times = np.bincount(lists.values, minlength=len(words)).tolist()
    return {word: n_times for word, n_times in zip(words, times, strict=True) if n_times}


def without_others(positions: Ints, offsets: Ints) -> tuple[Booleans, Ints]:
    """Return which of the labels in lists are known, whose position is not -1, and where lists of these begin."""
    is_known = positions >= 0
    return is_known, np.append(0, np.cumsum(is_known))[offsets]


def _from_names(
    batch: Batch, column: str, label_names: Sequence[str], may_have_others: bool = False
) -> Matrix:
    """Return lists of label names as a CSR matrix of ones."""
    lists = _named(batch, column)
    what = f"column {column!r} of {batch.name}"
    positions = places_of(lists.values, lists.words, label_names)
    is_known, offsets = without_others(positions, lists.offsets)
    if not is_known.all() and not may_have_others:
        raise accounting.other_labels(what, times_of(lists), label_names, _OF_SCORES)
    return label_lists.indicator_of(
        positions[is_known], offsets, len(label_names), what, batch.first, label_names
    )


def _named(batch: Batch, column: str) -> ListColumn:
    """Return lists of label names, of which whole numbers may be such."""
    lists: Any = batch.columns[column]
    if lists.words is not None:
        return ListColumn(lists.values, lists.offsets, lists.words)
    numbers, places = np.unique(_whole_numbers(batch, column), return_inverse=True)
    return ListColumn(places, lists.offsets, tuple(map(str, numbers.tolist())))


def _whole_numbers(batch: Batch, column: str) -> Ints:
    """Return the numbers in lists, which are whole."""
    lists: Any = batch.columns[column]
    wrong = np.flatnonzero((lists.values % 1 != 0) | (np.abs(lists.values) > LARGEST_EXACT_INTEGER))
    if wrong.size:
        row = batch.first + int(np.searchsorted(lists.offsets, wrong[0], side="right")) - 1
        raise InputError(
            f"column {column!r} of {batch.name} has {lists.values[wrong[0]]:g} at row {row}, expected positions of"
            " labels"
        )
    return np.asarray(lists.values, np.int64)


def _from_positions(
    batch: Batch, column: str, labels: FileLabels, names: tuple[str, ...] | None
) -> Matrix:
    """Return lists of label positions as a CSR matrix of ones; `names` has the file's own order of labels."""
    lists: Any = batch.columns[column]
    what = f"column {column!r} of {batch.name}"
    if lists.words is not None:
        raise InputError(
            f"{what} has the label {shown(lists.words[0])} from row {batch.first} on, expected positions"
        )
    positions = _whole_numbers(batch, column)
    n_labels = labels.number if names is None else len(names)
    ones = label_lists.indicator_of(positions, lists.offsets, n_labels, what, batch.first)
    if names is None or names == labels.names:
        return ones
    coded = ListColumn(ones.indices, ones.indptr, names)
    return _from_names(batch._replace(columns={column: coded}), column, labels.names or ())
