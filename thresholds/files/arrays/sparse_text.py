"""Sparse matrices as text: `label:score` pairs of extreme classification, its data sets, and the labels of svmlight.

`.txt` begins with a header, as the Extreme Classification Repository has it:

* `n m`, numbers of rows and labels; each row has `label:score` pairs, of scores or of truth (`label:1`);
* `n d m`; each row has `label,label,... feature:value feature:value ...`. Its labels are truth. Where there are as many
  features as labels, d = m, the pairs are scores of labels.

`.svm`, `.svmlight` and `.libsvm` have such rows without a header, and perhaps comments: truth alone.

Labels are positions from 0. A row may have none. Source: http://manikvarma.org/downloads/XC/XMLRepository.html.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from thresholds._arrays.types import Matrix
from thresholds._checks import InputError, shown
from thresholds.errors import need
from thresholds.files.arrays.matrices import MOST_EMPTY, of_one_matrix, shape_of
from thresholds.files.source import Block, Source, Wanted

_BLOCK_BYTES = 2**22  # of text that is read at once
_LONGEST_LINE = 2**24  # in bytes
_LONGEST_HEADER = 200  # in bytes
_LARGEST = 2**53  # up to which floats have all whole numbers

# "++" and "*+" give nothing back: a line is looked at once, however long it is.
_SCORE = rb"[-+]?(?:(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?+|nan|inf)"
_PAIRS = re.compile(rb"\s*+(?:\d++:" + _SCORE + rb"(?:\s++|$))*+")
_LABELS = re.compile(rb"(?:\d++(?:,\d++)*+)?+")
_FIRST_WORD = re.compile(rb"(?:[^\s:]++(?!:))?+")  # of a row: its labels, where it has some
_TO_SPACES = bytes.maketrans(b":,", b"  ")


def is_xmc(path: Path) -> bool:
    """Whether a file of text begins as those of extreme classification do: with two or three whole numbers."""
    return _whole_numbers(_header(path)) is not None


def open_xmc(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open a `.txt` of extreme classification: scores, or truth alone, as a file of pairs does not say which."""
    need("scipy", f"the sparse matrix of {path}")
    name, header = path.name, _header(path)
    numbers = _whole_numbers(header)
    if numbers is None:
        found = shown(header.decode(errors="replace").strip())
        expected = "the numbers of rows and labels, or of rows, features and labels"
        raise InputError(f"{path} begins with {found}, expected a header: {expected}")
    shape = shape_of(name, (numbers[0], numbers[-1]))
    n_labels, most = shape[1], path.stat().st_size + MOST_EMPTY
    if n_labels > most:
        expected = f"expected at most {most:,} in so small a file"
        raise InputError(f"{name} has {n_labels:,} labels, {expected}")

    # A header of three numbers is that of a data set: labels stand before pairs, and are truth.
    is_data_set = len(numbers) == 3
    has_truth = is_data_set and not truth_only and wanted.with_truth
    if has_truth or (is_data_set and truth_only):
        _refuse_unknown(name, wanted)
    if is_data_set and not truth_only and numbers[1] != n_labels:
        may_be_truth = "; a data set may be --truth" if "--truth" in wanted.offered else ""
        raise InputError(
            f"{name} has {numbers[1]:,} features for {n_labels:,} labels, expected scores: a header of two numbers and"
            f" label:score pairs{may_be_truth}"
        )
    rows = _Rows(path, shape, is_data_set, has_truth, truth_only)
    return of_one_matrix(
        path,
        wanted,
        shape,
        rows.blocks,
        read_whole=rows.truth if truth_only else None,
        truth_key=f"{path.stem} (labels)" if has_truth else None,
        of_text=True,
    )


def open_svmlight(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open rows of svmlight, whose labels are truth; they are read now, as nothing else says how many there are."""
    need("scipy", f"the sparse matrix of {path}")
    if not truth_only:
        may_be_truth = "it as --truth of " if "--truth" in wanted.offered else ""
        expected = f"expected {may_be_truth}a file of scores"
        raise InputError(f"{path.name} has labels and features, no scores, {expected}")
    _refuse_unknown(path.name, wanted)
    truth = _truth_of_svmlight(path)

    # Scores may have more labels than occur here, and names for all of them.
    return of_one_matrix(
        path,
        replace(wanted, label_names=None),
        truth.shape,
        partial(_once, truth),
        read_whole=partial(Block, truth),
        of_text=True,
        more_labels=True,
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of a file of extreme classification."""

    path: Path
    shape: tuple[int, int]
    is_data_set: bool  # has labels before the pairs
    has_truth: bool  # beside scores
    truth_only: bool

    def blocks(self, with_truth: bool) -> Iterator[Block]:
        """Return the rows in order, a few megabytes of text at a time."""
        n_labels = self.shape[1]
        for numbers, rows in self._lines():
            if not self.is_data_set:
                yield Block(_csr(self.path, rows, numbers, n_labels))
                continue
            heads = [_first_word(row) for row in rows]
            y_true = _csr(self.path, heads, numbers, n_labels, are_pairs=False)
            if self.truth_only:
                yield Block(y_true)
                continue
            pairs = [row[len(head) :] for row, head in zip(rows, heads, strict=True)]
            scores = _csr(self.path, pairs, numbers, n_labels)
            yield Block(scores, y_true if with_truth and self.has_truth else None)

    def truth(self) -> Block:
        """Return all rows of a file of truth alone."""
        from scipy import sparse

        blocks = [block.y_score for block in self.blocks(False)]
        return Block(sparse.csr_array(sparse.vstack(blocks, "csr")))

    def _lines(self) -> Iterator[tuple[range, list[bytes]]]:
        """Return as many lines as the header says, and their numbers; only empty ones may follow."""
        n_samples, n_read = self.shape[0], 0
        with _opened(self.path) as stream:
            stream.readline(_LONGEST_HEADER)
            for numbers, lines in _blocks_of_lines(self.path, stream, 2):
                n_rows = min(len(lines), n_samples - n_read)
                for number, line in zip(numbers[n_rows:], lines[n_rows:], strict=True):
                    if line.strip():
                        expected = f"no more than the {n_samples:,} rows of its header"
                        raise _refusal(self.path, line, number, expected)
                n_read += n_rows
                if n_rows:
                    yield numbers[:n_rows], lines[:n_rows]
        if n_read < n_samples:
            expected = f"expected {n_samples:,} as its header says"
            raise InputError(f"{self.path} has {n_read:,} rows, {expected}")


def _truth_of_svmlight(path: Path) -> Matrix:
    """Read the labels of each row; empty lines at the end are none."""
    heads, numbers = list[bytes](), list[int]()
    empty = 0  # number of the first empty line
    with _opened(path) as stream:
        for some, lines in _blocks_of_lines(path, stream, 1):
            for number, line in zip(some, lines, strict=True):
                row = line.partition(b"#")[0]
                if not line.strip():
                    empty = empty or number
                elif empty:
                    found = f"{path} has nothing in line {empty:,}"
                    raise InputError(f"{found}, expected labels and features")
                elif row.strip():
                    heads.append(_first_word(row))
                    numbers.append(number)
    if not heads:
        raise InputError(f"{path} has no rows, expected at least one")
    truth = _csr(path, heads, numbers, are_pairs=False)
    if truth.shape[1] > path.stat().st_size + MOST_EMPTY:
        found = f"{path} has the label {truth.shape[1] - 1:,}"
        raise InputError(f"{found}, expected positions from 0")
    return truth


def _once(truth: Matrix, _: bool) -> Iterator[Block]:
    """Return all rows of truth."""
    yield Block(truth)


def _opened(path: Path) -> BinaryIO:
    """Open a file behind the mark of UTF-8 that some programs put at its beginning."""
    stream = open(path, "rb")  # noqa: SIM115
    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    return stream


def _header(path: Path) -> bytes:
    """Return the first line."""
    with _opened(path) as stream:
        return stream.readline(_LONGEST_HEADER)


def _whole_numbers(header: bytes) -> list[int] | None:
    """Return the two or three whole numbers of a header; None where it has something else."""
    words = header.split()
    if len(words) not in (2, 3) or not all(word.isdigit() for word in words):
        return None
    return [int(word) for word in words]


def _blocks_of_lines(
    path: Path, stream: BinaryIO, first: int
) -> Iterator[tuple[range, list[bytes]]]:
    """Return lines, a few megabytes at a time, and their numbers from `first` on."""
    while text := stream.read(_BLOCK_BYTES):
        text += stream.readline(_LONGEST_LINE + 1)
        lines = text.removesuffix(b"\n").split(b"\n")
        numbers = range(first, first + len(lines))
        longest = max(lines, key=len)
        if len(longest) > _LONGEST_LINE:
            at = numbers[lines.index(longest)]
            found = f"{path} has more than {_LONGEST_LINE:,} bytes in line {at:,}"
            raise InputError(f"{found}, expected fewer")
        yield numbers, lines
        first = numbers.stop


def _first_word(row: bytes) -> bytes:
    """Return the labels at the beginning of a row; nothing where it begins with a space or a pair."""
    found = _FIRST_WORD.match(row)
    return b"" if found is None else found[0]


def _csr(
    path: Path,
    rows: Sequence[bytes],
    numbers: Sequence[int],
    n_labels: int | None = None,
    *,
    are_pairs: bool = True,
) -> Matrix:
    """Return rows of pairs, or of labels alone, as a CSR array (n_rows, n_labels); `numbers` are those of lines.

    There are as many labels as occur where it is not said how many there are.
    """
    from scipy import sparse

    # Whatever fits the pattern is numbers and what parts them.
    pattern, expected = _LABELS, "labels as positions from 0, with commas between them"
    if are_pairs:
        pattern, expected = _PAIRS, "pairs of label:score, labels from 0"
    for row, number in zip(rows, numbers, strict=True):
        if pattern.fullmatch(row) is None:
            raise _refusal(path, row, number, expected)
    text = b" ".join(rows).translate(_TO_SPACES)
    found = np.fromstring(text, sep=" ") if text.strip() else np.empty(0)
    lengths = [row.count(b":") if are_pairs else row.count(b",") + bool(row) for row in rows]
    starts = np.append(0, np.cumsum(lengths))  # (n_rows + 1,)
    place = np.repeat(np.arange(len(rows)), lengths)  # of the row of each entry, (n_entries,)

    # The largest label stands for all that are larger.
    values = found[1::2].copy() if are_pairs else np.ones(found.size, np.uint8)
    labels = np.minimum(found[:: 1 + are_pairs], _LARGEST).astype(np.int64)
    if n_labels is None:
        n_labels = int(labels.max(initial=0)) + 1
    wrong = np.flatnonzero(labels >= n_labels)
    if wrong.size:
        label, line = labels[wrong[0]], numbers[place[wrong[0]]]
        named = f"the label {label}" if label < _LARGEST else "a label of more than 15 digits"
        expected = f"expected positions from 0 to {n_labels - 1:,}"
        raise InputError(f"{path} has {named} in line {line:,}, {expected}")
    matrix = sparse.csr_array((values, labels, starts), shape=(len(rows), n_labels))
    matrix.sort_indices()
    again = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(place) == 0))
    if again.size:
        label, line = matrix.indices[again[0]], numbers[place[again[0]]]
        twice = f"{path} has the label {label} twice in line {line:,}"
        raise InputError(f"{twice}, expected each label once")
    return matrix


def _refusal(path: Path, line: bytes, number: int, expected: str) -> InputError:
    """Say that something else is expected in a line."""
    found = shown(line.strip().decode(errors="replace"))
    return InputError(f"{path} has {found} in line {number:,}, expected {expected}")


def _refuse_unknown(name: str, wanted: Wanted) -> None:
    """Refuse to read from lists of true labels what is not known."""
    if wanted.unknown is not None:
        raise InputError(
            f"--unknown is {shown(wanted.unknown)} with {name}, whose lines list true labels, expected a cell for each"
            " label that is 0, 1, or what stands for one that is not known"
        )
