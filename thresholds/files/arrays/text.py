"""Sparse matrices as text: `label:score` pairs of extreme classification, and the labels of its data sets and svmlight.

`.txt`, with a header, as the Extreme Classification Repository has them:

* `n m`, numbers of rows and labels, and for each row `label:score` pairs, of scores or of truth (`label:1`);
* `n d m`, and for each row `label,label,... feature:value feature:value ...`: a data set, whose labels are truth. Where
  there are as many features as labels, d = m, the pairs are scores of labels.

`.svm`, `.svmlight` and `.libsvm` have rows as a data set, without a header, and perhaps comments: truth alone.

Labels are positions from 0. A row may have none. Source: http://manikvarma.org/downloads/XC/XMLRepository.html.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from thresholds._arrays.types import Dense, Ints, Matrix
from thresholds._checks import InputError, shown
from thresholds.errors import need
from thresholds.files.arrays.archive import MOST_EMPTY
from thresholds.files.lines import opened
from thresholds.files.source import LONGEST_LINE, Block, Source, Wanted, refuse_columns

_BLOCK_BYTES = 2**22  # of text that is read at once
_LONGEST_HEADER = 200  # bytes
_PAIR = rb"\d+:[^\s:]+"
_PAIRS = re.compile(rb"\s*(" + _PAIR + rb"(\s+" + _PAIR + rb")*)?\s*")
_LABELS = re.compile(rb"\s*\d+(,\d+)*\s*|\s*")
_SPACES = np.frombuffer(b" \t\r\n\v\f", np.uint8)
_COLON = ord(":")
_LARGEST = 2**53  # up to which floats have all whole numbers


class _Rows(NamedTuple):
    """Entries of some rows, one row after another."""

    labels: Ints  # (n_entries,)
    values: Dense | None  # (n_entries,), None for ones
    lengths: Ints  # (n_rows,)


class TextSource(Source):
    """Rows of sparse scores, or of truth alone: a file of pairs does not say which."""

    of_text = True

    def __init__(self, path: Path, wanted: Wanted, *, truth_only: bool = False) -> None:
        need("scipy", f"the sparse matrix of {path}")
        self.name, self.score_key = path.name, path.stem
        self._path = path
        self._truth_only = truth_only
        refuse_columns(path.name, wanted)
        self._read_header(wanted)
        self.label_names = wanted.label_names
        if self.label_names is not None and len(self.label_names) != self.n_labels:
            raise InputError(
                f"--label-names has {len(self.label_names)} names, expected {self.n_labels} as {path.name}"
            )

    def whole(self) -> Block | None:
        """Return all rows of truth alone; scores are gathered by whoever reads them."""
        if not self._truth_only:
            return None
        from scipy import sparse

        truth = sparse.csr_array(sparse.vstack([block.y_score for block in self.blocks()], "csr"))
        return Block(truth, None, None, None)

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows in order."""
        n_rows = 0
        for number, lines in self._lines():
            heads, pairs = self._in_two(lines)
            y_true = None
            if heads is not None:
                y_true = self._csr(self._labels(heads, number), number)
            if self._truth_only and y_true is not None:
                yield Block(y_true, None, None, None)
            else:
                scores = self._csr(self._pairs(pairs, number), number)
                wanted = truth and self.truth_key is not None
                yield Block(scores, y_true if wanted else None, None, None)
            n_rows += len(lines)
        if n_rows != self.n_samples:
            raise InputError(
                f"{self._path} has {n_rows:,} rows, expected {self.n_samples:,} as its header says"
            )

    def _read_header(self, wanted: Wanted) -> None:
        """Read the numbers of rows, features and labels."""
        with opened(self._path) as stream:
            header = stream.readline(_LONGEST_HEADER)
        numbers = header.split()
        if len(numbers) not in (2, 3) or not all(number.isdigit() for number in numbers):
            raise InputError(
                f"{self._path} begins with {shown(header.decode(errors='replace').strip())}, expected a header: the"
                " numbers of rows and labels, or of rows, features and labels"
            )
        self.n_samples, self.n_labels = int(numbers[0]), int(numbers[-1])
        self._has_labels = len(numbers) == 3
        if self.n_samples < 1 or self.n_labels < 1:
            shape = (self.n_samples, self.n_labels)
            raise InputError(
                f"{self.name} has shape {shape}, expected at least one row and one label"
            )
        most = self._path.stat().st_size + MOST_EMPTY
        if self.n_labels > most:
            raise InputError(
                f"{self.name} has {self.n_labels:,} labels, expected at most {most:,} in so small a file"
            )
        if self._has_labels and self._truth_only:
            refuse_unknown(self.name, wanted)
        if not self._has_labels or self._truth_only:
            return
        if int(numbers[1]) != self.n_labels:
            may_be_truth = "; a data set may be --truth" if "--truth" in wanted.offered else ""
            raise InputError(
                f"{self.name} has {int(numbers[1]):,} features for {self.n_labels:,} labels, expected scores: a header"
                f" of two numbers and label:score pairs{may_be_truth}"
            )
        if wanted.with_truth:
            self.truth_key = f"{self.score_key} (labels)"
            refuse_unknown(self.name, wanted)

    def _lines(self) -> Iterator[tuple[int, list[bytes]]]:
        """Return the lines of rows, some at a time, with the number of the first of them."""
        with opened(self._path) as stream:
            stream.readline(_LONGEST_HEADER)
            yield from blocks_of_lines(self._path, stream, 2, self.n_samples)

    def _in_two(self, lines: list[bytes]) -> tuple[list[bytes] | None, list[bytes]]:
        """Cut the labels off the beginnings of lines, where they have some."""
        if not self._has_labels:
            return None, lines
        heads, rest = zip(*map(labels_and_pairs, lines), strict=True)
        return list(heads), list(rest)

    def _labels(self, heads: list[bytes], first: int) -> _Rows:
        """Read lists of labels."""
        return read_labels(self._path, heads, range(first, first + len(heads)))

    def _pairs(self, lines: list[bytes], first: int) -> _Rows:
        """Read pairs of labels and values."""
        lengths = np.array([line.count(b":") for line in lines], np.int64)
        text = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
        numbers = _numbers(text.replace(b":", b" "), " ") if _are_pairs(text) else None
        if numbers is None or numbers.size != 2 * lengths.sum():
            self._refuse_pairs(lines, first)
        assert numbers is not None
        return _Rows(_positions(numbers[::2]), numbers[1::2].copy(), lengths)

    def _refuse_pairs(self, lines: list[bytes], first: int) -> None:
        """Name the first line that has something else."""
        for number, line in enumerate(lines, first):
            found = line.strip()
            values = [pair.partition(b":")[2] for pair in found.split()]
            if _PAIRS.fullmatch(line) is None or not all(map(_is_number, values)):
                raise InputError(
                    f"{self._path} has {shown(found.decode(errors='replace'))} in line {number:,}, expected pairs of"
                    " label:score, labels from 0"
                )
        raise InputError(f"{self._path} has odd pairs from line {first:,} on, expected label:score")

    def _csr(self, rows: _Rows, first: int) -> Matrix:
        """Return entries as a matrix."""
        return csr_of(self._path, rows, self.n_labels, range(first, first + len(rows.lengths)))


class SvmLightSource(Source):
    """The labels of svmlight's rows, truth alone; scores may have more labels than occur in it."""

    more_labels = True

    def __init__(self, path: Path, wanted: Wanted, *, truth_only: bool = False) -> None:
        need("scipy", f"the sparse matrix of {path}")
        self.name, self.score_key = path.name, path.stem
        if not truth_only:
            may_be_truth = "it as --truth of " if "--truth" in wanted.offered else ""
            raise InputError(
                f"{path.name} has labels and features, no scores, expected {may_be_truth}a file of scores"
            )
        refuse_columns(path.name, wanted)
        refuse_unknown(path.name, wanted)
        heads, numbers = list[bytes](), list[int]()
        with opened(path) as stream:
            for first, lines in blocks_of_lines(path, stream, 1, None):
                for number, line in enumerate(lines, first):
                    row = line.partition(b"#")[0]
                    if row.strip():
                        heads.append(labels_and_pairs(row)[0])
                        numbers.append(number)
                    elif b"#" not in line:
                        raise InputError(
                            f"{path} has nothing in line {number:,}, expected labels and features"
                        )
        if not heads:
            raise InputError(f"{path} has no rows, expected at least one")
        rows = read_labels(path, heads, numbers)
        self.n_samples, self.n_labels = len(heads), int(rows.labels.max(initial=0)) + 1
        if self.n_labels > path.stat().st_size + MOST_EMPTY:
            raise InputError(
                f"{path} has the label {self.n_labels - 1:,}, expected positions from 0"
            )
        self._truth = csr_of(path, rows, self.n_labels, numbers)

    def whole(self) -> Block:
        """Return all rows."""
        return Block(self._truth, None, None, None)

    def blocks(self, *, truth: bool = True) -> Iterator[Block]:
        """Return the rows."""
        yield self.whole()


def refuse_unknown(name: str, wanted: Wanted) -> None:
    """Refuse to read from lists of true labels what is not known."""
    if wanted.unknown is not None:
        raise InputError(
            f"--unknown is {shown(wanted.unknown)} with {name}, whose lines list true labels, expected a cell for each"
            " label that is 0, 1, or what stands for one that is not known"
        )


def blocks_of_lines(
    path: Path, stream: BinaryIO, first: int, n_rows: int | None
) -> Iterator[tuple[int, list[bytes]]]:
    """Read lines, a few megabytes at a time, with the number of the first; empty ones at the end are none."""
    block, empty = list[bytes](), list[bytes]()
    n_bytes = n_read = 0
    number = first
    for line in iter(lambda: stream.readline(LONGEST_LINE + 1), b""):
        if len(line) > LONGEST_LINE:
            at = number + len(block) + len(empty)
            raise InputError(
                f"{path} has more than {LONGEST_LINE:,} bytes in line {at:,}, expected fewer"
            )
        is_row = n_rows is not None and n_read + len(block) + len(empty) < n_rows
        if not line.strip() and not is_row:
            empty.append(line)
            continue
        block += [*empty, line]
        empty = []
        n_bytes += len(line)
        if n_bytes > _BLOCK_BYTES:
            yield number, block
            number, n_read = number + len(block), n_read + len(block)
            block, n_bytes = [], 0
    if block:
        yield number, block


def labels_and_pairs(line: bytes) -> tuple[bytes, bytes]:
    """Cut a line into its labels, which it may lack, and what follows."""
    words = line.split(None, 1)
    if not words or line[:1].isspace() or b":" in words[0]:
        return b"", line
    return words[0], words[1] if len(words) > 1 else b"\n"


def read_labels(path: Path, heads: list[bytes], lines: "range | list[int]") -> _Rows:
    """Read lists of labels, each in one of the lines by number."""
    lengths = np.array([head.count(b",") + 1 if head else 0 for head in heads], np.int64)
    labels = _numbers(b",".join(filter(None, heads)), ",")
    odd = b"".join(heads).translate(None, b"0123456789,")
    if odd or labels is None or labels.size != lengths.sum():
        at = next(k for k, head in enumerate(heads) if _LABELS.fullmatch(head) is None)
        found = shown(heads[at].decode(errors="replace"))
        raise InputError(
            f"{path} has {found} in line {lines[at]:,}, expected labels as positions from 0, with commas between them"
        )
    return _Rows(_positions(labels), None, lengths)


def csr_of(path: Path, rows: _Rows, n_labels: int, lines: "range | list[int]") -> Matrix:
    """Return entries as a CSR array, sorted in each row; the lines of rows are for messages."""
    from scipy import sparse

    starts = np.append(0, np.cumsum(rows.lengths))  # (n_rows + 1,)
    wrong = np.flatnonzero((rows.labels < 0) | (rows.labels >= n_labels))
    if wrong.size:
        at = int(np.searchsorted(starts, wrong[0], side="right")) - 1
        label = rows.labels[wrong[0]]
        found = f"the label {label}" if label < _LARGEST else "a label of more than 15 digits"
        raise InputError(
            f"{path} has {found} in line {lines[at]:,}, expected positions from 0 to {n_labels - 1:,}"
        )
    values = np.ones(rows.labels.size, np.uint8) if rows.values is None else rows.values
    matrix = sparse.csr_array((values, rows.labels, starts), shape=(len(rows.lengths), n_labels))
    matrix.sort_indices()
    row = np.repeat(np.arange(len(rows.lengths)), rows.lengths)
    again = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(row) == 0))
    if again.size:
        label, at = matrix.indices[again[0]], int(row[again[0]])
        raise InputError(
            f"{path} has the label {label} twice in line {lines[at]:,}, expected each label once"
        )
    return matrix


def _are_pairs(text: bytes) -> bool:
    """Whether each colon of a text stands between a word's digits and something."""
    cells = np.frombuffer(text, np.uint8)
    colons = np.flatnonzero(cells == _COLON)  # places
    if not colons.size:
        return not text.strip()
    is_space = np.isin(cells, _SPACES)
    n_others = np.cumsum((cells < ord("0")) | (cells > ord("9")))  # up to each place: no digits
    spaces = np.append(-1, np.flatnonzero(is_space))
    starts = spaces[np.searchsorted(spaces, colons) - 1]  # the place before the word of each colon
    n_before = np.where(starts < 0, 0, n_others[starts])
    has_digits = (n_others[colons] - n_before == 1) & (colons - starts > 1)  # the colon is no digit
    return bool(has_digits.all()) and not is_space[colons + 1].any()


def _numbers(text: bytes, separator: str) -> Dense | None:
    """Read numbers; None where something else is among them."""
    if not text.strip():
        return np.empty(0)
    try:
        return np.fromstring(text.decode("ascii"), np.float64, sep=separator)
    except ValueError:
        return None


def _positions(labels: Dense) -> Ints:
    """Return labels that were read as floats; the largest stands for all that are larger."""
    return np.minimum(labels, _LARGEST).astype(np.int64)


def _is_number(text: bytes) -> bool:
    """Whether bytes are a number."""
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text
