"""Sparse matrices as text: `label:score` pairs of extreme classification, its data sets, and the labels of svmlight.

`.txt` begins with a header, as the Extreme Classification Repository has it:

* `n m`, numbers of rows and labels; each row has `label:score` pairs, of scores or of truth (`label:1`);
* `n d m`; each row has `label,label,... feature:value feature:value ...`. Its labels are truth. Where there are as many
  features as labels, d = m, the pairs are scores of labels.

`.svm`, `.svmlight` and `.libsvm` have such rows without a header, and perhaps comments: truth alone.

Labels are positions from 0. A row may have none. Source: http://manikvarma.org/downloads/XC/XMLRepository.html.
"""

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import numpy as np

from thresholds._arrays.types import Matrix
from thresholds._checks import InputError, shown
from thresholds.errors import need
from thresholds.files.arrays.matrices import MOST_EMPTY, of_one_matrix, shape_of
from thresholds.files.source import Block, Source, Wanted
from thresholds.files.unknown import refuse_unknown_in_lists

_BLOCK_BYTES = 2**20  # of text whose rows are made a matrix at once
_LONGEST_LINE = 2**24  # in bytes
_LONGEST_HEADER = 200  # in bytes

Line = tuple[int, bytes]  # its number, from 1, and what it has


def is_xmc(path: Path) -> bool:
    """Whether a text begins as those of extreme classification: with two or three whole numbers, and pairs, if any."""
    rows = [line for _, line in islice(_lines(path), 2)]
    return bool(_header(path)[1]) and (len(rows) < 2 or not rows[1] or b":" in rows[1])


def open_xmc(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open a `.txt` of extreme classification: scores, or truth alone, as a file of pairs does not say which."""
    need("scipy", f"the sparse matrix of {path}")
    header, numbers = _header(path)
    if not numbers:
        expected = "the numbers of rows and labels, or of rows, features and labels"
        raise InputError(f"{path} begins with {shown(header)}, expected a header: {expected}")
    shape = shape_of(path.name, (numbers[0], numbers[-1]))
    n_labels, most = shape[1], path.stat().st_size + MOST_EMPTY
    if n_labels > most:
        expected = f"expected at most {most:,} in so small a file"
        raise InputError(f"{path.name} has {n_labels:,} labels, {expected}")

    # A header of three numbers is that of a data set: labels stand before pairs, and are truth.
    is_data_set = len(numbers) == 3
    if is_data_set and numbers[1] != n_labels and not truth_only:
        may_be_truth = "; a data set may be --truth" if "--truth" in wanted.offered else ""
        raise InputError(
            f"{path.name} has {numbers[1]:,} features for {n_labels:,} labels, expected scores: a header of two numbers"
            f" and label:score pairs{may_be_truth}"
        )
    has_truth = is_data_set and (truth_only or wanted.with_truth)
    if has_truth:
        refuse_unknown_in_lists(path.name, wanted.unknown)
    rows = _SparseTextRows(
        path, partial(_rows_of_xmc, path, shape[0]), n_labels, is_data_set, has_truth
    )
    source = of_one_matrix(path, wanted, shape, rows.truth, of_text=True)
    if truth_only:
        return source
    truth_key = f"{path.stem} (labels)" if has_truth else None
    return replace(source, read=rows.blocks, read_whole=None, truth_key=truth_key)


def open_svmlight(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open rows of svmlight, whose labels are truth; they are read now, as nothing else says how many there are."""
    need("scipy", f"the sparse matrix of {path}")
    from scipy import sparse

    if not truth_only:
        may_be_truth = "it as --truth of " if "--truth" in wanted.offered else ""
        expected = f"expected {may_be_truth}a file of scores"
        raise InputError(f"{path.name} has labels and features, no scores, {expected}")
    refuse_unknown_in_lists(path.name, wanted.unknown)
    most = path.stat().st_size + MOST_EMPTY
    truth = _SparseTextRows(path, partial(_rows_of_svmlight, path), most, is_data_set=True).truth()
    truth.resize(truth.shape[0], int(truth.indices.max(initial=0)) + 1)

    # Scores may have more labels than occur here, and names for all of them.
    unnamed = replace(wanted, label_names=None)
    as_read = partial(sparse.csr_array, truth)
    return of_one_matrix(path, unnamed, truth.shape, as_read, of_text=True, more_labels=True)


@dataclass(frozen=True)
class _SparseTextRows:
    """The rows of a file."""

    path: Path
    lines: Callable[[], Iterator[Line]]  # that are rows
    n_labels: int
    is_data_set: bool  # labels stand before pairs
    has_truth: bool = True  # which they are

    def blocks(self, with_truth: bool) -> Iterator[Block]:
        """Return scores, and truth that stands before them, about a megabyte of text at a time."""
        for lines in _in_blocks(self.lines()):
            has_truth = with_truth and self.has_truth
            y_true = self._matrix(lines, of_labels=True) if has_truth else None
            yield Block(self._matrix(lines, of_labels=False), y_true)

    def truth(self) -> Matrix:
        """Return all rows of a file of truth, (n_samples, n_labels)."""
        from scipy import sparse

        of_labels = self.is_data_set
        blocks = [self._matrix(lines, of_labels=of_labels) for lines in _in_blocks(self.lines())]
        if not blocks:
            raise InputError(f"{self.path} has no rows, expected at least one")
        return sparse.csr_array(sparse.vstack(blocks, "csr"))

    def _matrix(self, lines: Iterable[Line], *, of_labels: bool) -> Matrix:
        """Return the labels of some rows, or their pairs, (n_rows, n_labels)."""
        from scipy import sparse

        rows = list[dict[int, float]]()
        for number, line in lines:
            labels, pairs = _parted(line) if self.is_data_set else (b"", line)
            rows.append(_cells(self.path, number, labels if of_labels else pairs, self.n_labels))
        places = np.fromiter(chain.from_iterable(rows), np.int64)
        values = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float64)
        starts = np.cumsum([0, *map(len, rows)])
        cells = (values.astype(np.uint8) if of_labels else values, places, starts)
        matrix = sparse.csr_array(cells, shape=(len(rows), self.n_labels))
        matrix.sort_indices()
        return matrix


def _rows_of_xmc(path: Path, n_samples: int) -> Iterator[Line]:
    """Return as many lines behind the header as it says; only empty ones may follow."""
    number = 1
    for number, line in _lines(path):
        if 1 < number <= n_samples + 1:
            yield number, line
        elif number > 1 and line:
            expected = f"no more than the {n_samples:,} rows of its header"
            raise _refusal(path, number, _said(line), expected)
    if number <= n_samples:
        expected = f"expected {n_samples:,} as its header says"
        raise InputError(f"{path} has {number - 1:,} rows, {expected}")


def _rows_of_svmlight(path: Path) -> Iterator[Line]:
    """Return the lines that are no comments; empty ones at the end are none."""
    empty = 0  # number of the first empty line
    for number, line in _lines(path):
        row = line.partition(b"#")[0].strip()
        if not line:
            empty = empty or number
        elif empty:
            raise _refusal(path, empty, "nothing", "labels and features")
        elif row:
            yield number, row


def _header(path: Path) -> tuple[str, list[int]]:
    """Return the first line, and its two or three whole numbers; none where it has something else."""
    _, line = next(_lines(path), (1, b""))
    words = line[:_LONGEST_HEADER].split()
    is_header = len(words) in (2, 3) and all(word.isdigit() for word in words)
    return line.decode(errors="replace"), [int(word) for word in words if is_header]


def _lines(path: Path) -> Iterator[Line]:
    """Return the lines of a file, without the spaces around them."""
    with open(path, "rb") as stream:
        for number in count(1):
            line = stream.readline(_LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > _LONGEST_LINE:
                raise _refusal(path, number, f"more than {_LONGEST_LINE:,} bytes", "fewer")
            if number == 1:  # Some programs put the mark of UTF-8 before it.
                line = line.removeprefix(codecs.BOM_UTF8)
            yield number, line.strip()


def _in_blocks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Return lines, about a megabyte of text at a time."""
    for first in lines:
        block, n_bytes = [first], len(first[1])
        while n_bytes < _BLOCK_BYTES and (line := next(lines, None)):
            block.append(line)
            n_bytes += len(line[1]) + 1
        yield block


def _parted(line: bytes) -> tuple[bytes, bytes]:
    """Part the labels before the pairs of a row from these; both are pairs then, labels with a 1."""
    head, *rest = line.split(maxsplit=2) or [b""]
    if not head or b":" in head:
        return b"", line
    labels = head.replace(b",", b":1 ") + b":1"
    if rest and b":" not in rest[0]:  # a label behind a space, which is refused
        labels += b" " + rest[0]
    return labels, b" ".join(rest)


def _cells(path: Path, number: int, pairs: bytes, n_labels: int) -> dict[int, float]:
    """Return the score of each label in a row of pairs."""
    cells = dict[int, float]()
    for pair in pairs.split():
        label, _, score = pair.partition(b":")
        if not label.isdigit() or int(label) >= n_labels:
            expected = f"positions from 0 to {n_labels - 1:,}"
            raise _refusal(path, number, f"the label {_said(label)}", expected)
        place = int(label)
        if place in cells:
            raise _refusal(path, number, f"the label {place} twice", "each label once")
        try:
            cells[place] = float(score)
        except ValueError:
            raise _refusal(path, number, _said(pair), "pairs of label:score") from None
    return cells


def _said(found: bytes) -> str:
    """Show what is found in a file."""
    return shown(found.decode(errors="replace"))


def _refusal(path: Path, number: int, found: str, expected: str) -> InputError:
    """Say that something else is expected in a line."""
    return InputError(f"{path} has {found} in line {number:,}, expected {expected}")
