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
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from thresholds._arrays.types import Dense, Floats, Ints, Matrix
from thresholds._checks import InputError, shown
from thresholds.errors import need
from thresholds.files.arrays.matrices import MOST_EMPTY, of_one_matrix, shape_of
from thresholds.files.source import Block, Read, Source, Wanted

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
    with _opened(path) as stream:
        return _whole_numbers(stream.readline(_LONGEST_HEADER)) is not None


def open_xmc(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open a `.txt` of extreme classification: scores, or truth alone, as a file of pairs does not say which."""
    need("scipy", f"the sparse matrix of {path}")
    with _opened(path) as stream:
        header = stream.readline(_LONGEST_HEADER)
    numbers = _whole_numbers(header)
    if numbers is None:
        found = shown(header.decode(errors="replace").strip())
        raise InputError(
            f"{path} begins with {found}, expected a header: the numbers of rows and labels, or of rows, features and"
            " labels"
        )
    shape = shape_of(path.name, (numbers[0], numbers[-1]))
    n_labels, most = shape[1], path.stat().st_size + MOST_EMPTY
    if n_labels > most:
        raise InputError(
            f"{path.name} has {n_labels:,} labels, expected at most {most:,} in so small a file"
        )
    has_labels = len(numbers) == 3
    if has_labels and not truth_only and numbers[1] != n_labels:
        may_be_truth = "; a data set may be --truth" if "--truth" in wanted.offered else ""
        raise InputError(
            f"{path.name} has {numbers[1]:,} features for {n_labels:,} labels, expected scores: a header of two"
            f" numbers and label:score pairs{may_be_truth}"
        )
    has_truth = has_labels and not truth_only and wanted.with_truth
    if has_truth or (has_labels and truth_only):
        _refuse_unknown(path.name, wanted)
    read = partial(_read_xmc, path, shape, has_labels, has_truth, truth_only)
    return of_one_matrix(
        path,
        wanted,
        shape,
        read,
        read_whole=partial(_stacked, read) if truth_only else None,
        truth_key=f"{path.stem} (labels)" if has_truth else None,
        of_text=True,
    )


def open_svmlight(path: Path, wanted: Wanted, *, truth_only: bool = False) -> Source:
    """Open rows of svmlight, whose labels are truth; they are read now, as nothing else says how many there are."""
    need("scipy", f"the sparse matrix of {path}")
    if not truth_only:
        may_be_truth = "it as --truth of " if "--truth" in wanted.offered else ""
        raise InputError(
            f"{path.name} has labels and features, no scores, expected {may_be_truth}a file of scores"
        )
    _refuse_unknown(path.name, wanted)
    heads, numbers = _rows_of_svmlight(path)
    if not heads:
        raise InputError(f"{path} has no rows, expected at least one")
    labels, lengths = _read_labels(path, heads, numbers)
    n_labels = int(labels.max(initial=0)) + 1
    if n_labels > path.stat().st_size + MOST_EMPTY:
        raise InputError(f"{path} has the label {n_labels - 1:,}, expected positions from 0")
    ones = np.ones(labels.size, np.uint8)
    truth = _csr(path, labels, ones, lengths, n_labels, numbers)
    # Scores may have more labels than occur here, and names for all of them.
    without_names = replace(wanted, label_names=None)
    read, whole = partial(_one_block, truth), partial(Block, truth)
    return of_one_matrix(
        path, without_names, truth.shape, read, read_whole=whole, of_text=True, more_labels=True
    )


def _opened(path: Path) -> BinaryIO:
    """Open a file behind the mark of UTF-8 that some programs put at its beginning."""
    stream = open(path, "rb")  # noqa: SIM115
    if stream.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        stream.seek(0)
    return stream


def _whole_numbers(header: bytes) -> list[int] | None:
    """Return the two or three whole numbers of a header; None where it has something else."""
    words = header.split()
    if len(words) not in (2, 3) or not all(word.isdigit() for word in words):
        return None
    return [int(word) for word in words]


def _refuse_unknown(name: str, wanted: Wanted) -> None:
    """Refuse to read from lists of true labels what is not known."""
    if wanted.unknown is not None:
        raise InputError(
            f"--unknown is {shown(wanted.unknown)} with {name}, whose lines list true labels, expected a cell for each"
            " label that is 0, 1, or what stands for one that is not known"
        )


def _read_xmc(
    path: Path,
    shape: tuple[int, int],
    has_labels: bool,
    has_truth: bool,
    truth_only: bool,
    with_truth: bool,
) -> Iterator[Block]:
    """Read the rows of a file, some at a time."""
    n_samples, n_labels = shape
    for first, lines in _rows_of_xmc(path, n_samples):
        numbers = range(first, first + len(lines))
        y_true, pairs = None, lines
        if has_labels:
            heads = [_labels_of(line) for line in lines]
            pairs = [line[len(head) :] for head, line in zip(heads, lines, strict=True)]
            labels, lengths = _read_labels(path, heads, numbers)
            ones = np.ones(labels.size, np.uint8)
            y_true = _csr(path, labels, ones, lengths, n_labels, numbers)
        if truth_only and has_labels:
            yield Block(y_true)
        else:
            scores = _csr(path, *_read_pairs(path, pairs, numbers), n_labels, numbers)
            yield Block(scores, y_true if with_truth and has_truth else None)


def _stacked(read: Read) -> Block:
    """Return all rows of truth at once."""
    from scipy import sparse

    blocks = [block.y_score for block in read(True)]
    return Block(sparse.csr_array(sparse.vstack(blocks, "csr")))


def _one_block(truth: Matrix, _: bool) -> Iterator[Block]:
    """Return all rows of truth as one block."""
    yield Block(truth)


def _blocks_of_lines(path: Path, stream: BinaryIO, first: int) -> Iterator[tuple[int, list[bytes]]]:
    """Read lines, a few megabytes at a time, with the number of the first of them."""
    while text := stream.read(_BLOCK_BYTES):
        text += stream.readline(_LONGEST_LINE + 1)
        lines = text.removesuffix(b"\n").split(b"\n")
        longest = max(lines, key=len)
        if len(longest) > _LONGEST_LINE:
            at = first + lines.index(longest)
            raise InputError(
                f"{path} has more than {_LONGEST_LINE:,} bytes in line {at:,}, expected fewer"
            )
        yield first, lines
        first += len(lines)


def _rows_of_xmc(path: Path, n_samples: int) -> Iterator[tuple[int, list[bytes]]]:
    """Read the lines behind the header, as many as it says; further ones may be empty."""
    n_left = n_samples
    with _opened(path) as stream:
        stream.readline(_LONGEST_HEADER)
        for number, lines in _blocks_of_lines(path, stream, 2):
            rows, others = lines[:n_left], lines[n_left:]
            for at, line in enumerate(others, number + len(rows)):
                if line.strip():
                    found = shown(line.strip().decode(errors="replace"))
                    expected = f"no more than the {n_samples:,} rows of its header"
                    raise InputError(f"{path} has {found} in line {at:,}, expected {expected}")
            n_left -= len(rows)
            if rows:
                yield number, rows
    if n_left:
        raise InputError(
            f"{path} has {n_samples - n_left:,} rows, expected {n_samples:,} as its header says"
        )


def _rows_of_svmlight(path: Path) -> tuple[list[bytes], list[int]]:
    """Return the labels of each row, as text, and the number of its line; empty lines at the end are none."""
    heads, numbers = list[bytes](), list[int]()
    empty = 0  # number of the first empty line
    with _opened(path) as stream:
        for first, lines in _blocks_of_lines(path, stream, 1):
            for number, line in enumerate(lines, first):
                row = line.partition(b"#")[0]
                if not line.strip():
                    empty = empty or number
                elif empty:
                    raise InputError(
                        f"{path} has nothing in line {empty:,}, expected labels and features"
                    )
                elif row.strip():
                    heads.append(_labels_of(row))
                    numbers.append(number)
    return heads, numbers


def _labels_of(row: bytes) -> bytes:
    """Return the labels at the beginning of a row; nothing where it begins with a space or a pair."""
    found = _FIRST_WORD.match(row)
    return b"" if found is None else found[0]


def _read_labels(path: Path, heads: Sequence[bytes], numbers: Sequence[int]) -> tuple[Ints, Ints]:
    """Read lists of labels: these (n_entries,), and how many each row has (n_rows,)."""
    expected = "labels as positions from 0, with commas between them"
    labels = _read_numbers(path, heads, numbers, _LABELS, expected)
    lengths = np.array([head.count(b",") + 1 if head else 0 for head in heads], np.int64)
    return _positions(labels), lengths


def _read_pairs(
    path: Path, lines: Sequence[bytes], numbers: Sequence[int]
) -> tuple[Ints, Floats, Ints]:
    """Read pairs: labels and scores (n_entries,), and how many each row has (n_rows,)."""
    found = _read_numbers(
        path, lines, numbers, _PAIRS, "pairs of label:score, labels from 0"
    ).reshape(-1, 2)
    lengths = np.array([line.count(b":") for line in lines], np.int64)
    return _positions(found[:, 0]), found[:, 1].copy(), lengths


def _read_numbers(
    path: Path,
    lines: Sequence[bytes],
    numbers: Sequence[int],
    pattern: re.Pattern[bytes],
    expected: str,
) -> Floats:
    """Read all numbers of lines that fit a pattern; the first line that does not is refused."""
    for number, line in zip(numbers, lines, strict=True):
        if pattern.fullmatch(line) is None:
            found = shown(line.strip().decode(errors="replace"))
            raise InputError(f"{path} has {found} in line {number:,}, expected {expected}")
    text = b" ".join(lines).translate(_TO_SPACES)
    return np.fromstring(text, sep=" ") if text.strip() else np.empty(0)


def _positions(labels: Floats) -> Ints:
    """Return labels that were read as floats; the largest stands for all that are larger."""
    return np.minimum(labels, _LARGEST).astype(np.int64)


def _csr(
    path: Path,
    labels: Ints,
    values: Dense,
    lengths: Ints,
    n_labels: int,
    numbers: Sequence[int],
) -> Matrix:
    """Return entries as a CSR array, sorted in each row; `numbers` are the lines of the rows, for messages."""
    from scipy import sparse

    row_of = np.repeat(np.arange(lengths.size), lengths)  # (n_entries,)
    wrong = np.flatnonzero(labels >= n_labels)
    if wrong.size:
        label, line = labels[wrong[0]], numbers[row_of[wrong[0]]]
        found = f"the label {label}" if label < _LARGEST else "a label of more than 15 digits"
        raise InputError(
            f"{path} has {found} in line {line:,}, expected positions from 0 to {n_labels - 1:,}"
        )
    starts = np.append(0, np.cumsum(lengths))  # (n_rows + 1,)
    matrix = sparse.csr_array((values, labels, starts), shape=(lengths.size, n_labels))
    matrix.sort_indices()
    again = np.flatnonzero((np.diff(matrix.indices) == 0) & (np.diff(row_of) == 0))
    if again.size:
        label, line = matrix.indices[again[0]], numbers[row_of[again[0]]]
        raise InputError(
            f"{path} has the label {label} twice in line {line:,}, expected each label once"
        )
    return matrix
