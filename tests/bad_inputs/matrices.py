"""Matrices that must be refused, with a pattern for the message that follows the argument's name.

`BAD_ANYWHERE` holds what nothing takes (a cell of 1 being legal truth, score, probability and prediction alike),
`BAD_SCORES`, `BAD_CHANCES` and `BAD_TRUTH` what only scores, probabilities or truth must not be. All that are spoiled
in a cell are so at row 2 of label 1, "dog".
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

Array = NDArray[np.generic]
Table = dict[str, tuple[Callable[[], object], str]]
nan, inf = float("nan"), float("inf")

Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
S = np.array([[0.9, 0.2], [0.4, 0.8], [0.6, 0.7], [0.1, 0.3]])
ONES = np.ones((4, 2))
EIGHT = np.arange(8)
CSR, CSC, COO, LIL = sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array


def spoiled(matrix: Array, value: object, dtype: DTypeLike = None) -> Array:
    """A copy in which row 2 of label 1 holds `value`."""
    copy = matrix.astype(dtype or matrix.dtype)
    copy[2, 1] = value
    return copy


def malformed(kind: type, cells: Array = ONES, **arrays: object) -> object:
    """A full sparse array, 4 by 2 unless told, with some of its arrays replaced."""
    matrix = kind(cells)
    for name, array in arrays.items():
        setattr(matrix, name, array)
    return matrix


class NotAvailable:
    """A missing value that refuses to be compared, as that of pandas."""

    def __repr__(self) -> str:
        return "<NA>"

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


class TwoLines:
    """An object whose representation has two lines."""

    def __repr__(self) -> str:
        return "one line\nand another"


class Frame:
    """A data frame, as far as anyone can tell from outside."""

    columns = ("cat", "dog")

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array:
        return ONES.copy()


class InterchangeFrame:
    """A data frame that only offers the interchange protocol."""

    def __dataframe__(self) -> object:
        return object()


class Lazy:
    """An array that Dask has not computed yet, as far as anyone can tell from outside."""

    ndim = 2
    shape = (4, 2)

    def __dask_graph__(self) -> object:
        return {}

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array:
        raise AssertionError("computed without being asked to")


HERE = "at row 2, label (1|'dog')"
NUMBERS = "expected real numbers"
SHAPE = r"expected \(n_samples, n_labels\)"
MALFORMED = "is a malformed sparse array"

CELLS: Table = {
    "NaN": (lambda: spoiled(ONES, nan), f"has NaN {HERE}, expected"),
    "NaN in float16": (lambda: spoiled(ONES, nan, "f2"), f"has NaN {HERE}"),
    "NaN in float32": (lambda: spoiled(ONES, nan, "f4"), f"has NaN {HERE}"),
    "NaN in Fortran order": (lambda: np.asfortranarray(spoiled(ONES, nan)), f"has NaN {HERE}"),
    "NaN in a list": (lambda: spoiled(ONES, nan).tolist(), f"has NaN {HERE}"),
    "NaN in an object array": (lambda: spoiled(ONES, nan, object), f"has NaN {HERE}"),
    "NaN in CSR": (lambda: CSR(spoiled(ONES, nan)), f"has NaN {HERE}"),
    "NaN in CSC": (lambda: CSC(spoiled(ONES, nan)), f"has NaN {HERE}"),
    "masked cell": (lambda: np.ma.array(ONES, mask=EIGHT.reshape(4, 2) == 5), "has masked cells, expected none"),
    "masked cell in a row": (lambda: [np.ma.array([1, 1], mask=[0, i == 2]) for i in range(4)], "has masked cells"),
    "None in a cell": (lambda: spoiled(ONES, None, object), f"has None of type NoneType, {NUMBERS}"),
    "NA in a cell": (lambda: spoiled(ONES, NotAvailable(), object), f"has <NA> of type NotAvailable, {NUMBERS}"),
    "two lines in a cell": (lambda: spoiled(ONES, TwoLines(), object), f"has one line.* of type TwoLines, {NUMBERS}"),
    "string in a cell": (lambda: spoiled(ONES, "1", object), f"has '1' of type str, {NUMBERS}"),
    "complex in a cell": (lambda: spoiled(ONES, 1j, object), f"has 1j of type complex, {NUMBERS}"),
    "integer in a cell that no float holds": (lambda: spoiled(ONES, 10**400, object), "has "),
}

SHAPES: Table = {
    "no rows": (lambda: np.ones((0, 2)), r"is empty, shape \(0, 2\), expected at least one row and one label"),
    "no labels": (lambda: np.ones((4, 0)), r"is empty, shape \(4, 0\), expected at least one row and one label"),
    "empty list": (list, r"is empty, shape \(0,"),
    "no rows, sparse": (lambda: CSR((0, 2)), r"is empty, shape \(0, 2\)"),
    "no labels, sparse": (lambda: CSR((4, 0)), r"is empty, shape \(4, 0\)"),
    "scalar": (lambda: 1.0, rf"has shape \(\), {SHAPE}"),
    "array of no dimension": (lambda: np.array(1), rf"has shape \(\), {SHAPE}"),
    "three dimensions": (lambda: np.ones((4, 2, 1)), rf"has shape \(4, 2, 1\), {SHAPE}"),
    "one sparse dimension": (lambda: COO(np.ones(4)), rf"has shape \(4,\), {SHAPE}"),
    "ragged list": (lambda: [[1, 1], [1], [1, 1], [1, 1]], "cannot be read as an array"),
}

TYPES: Table = {
    "None": (lambda: None, f"(has None of type NoneType, {NUMBERS}|is None.*, expected (labels|scores))"),
    "text": (lambda: "1", f"has dtype <U1, {NUMBERS}"),
    "strings": (lambda: np.full((4, 2), "1"), f"has dtype <U1, {NUMBERS}"),
    "bytes": (lambda: np.full((4, 2), b"1"), rf"has dtype \|S1, {NUMBERS}"),
    "complex": (lambda: ONES + 0j, f"has dtype complex128, {NUMBERS}"),
    "complex, sparse": (lambda: CSR(ONES + 0j), f"has dtype complex128, {NUMBERS}"),
    "dates": (lambda: np.full((4, 2), np.datetime64("2014-02-08")), rf"has dtype datetime64\[D\], {NUMBERS}"),
    "durations": (lambda: np.full((4, 2), np.timedelta64(1, "D")), rf"has dtype timedelta64\[D\], {NUMBERS}"),
    "records": (lambda: np.ones((4, 2), [("a", "f8")]), rf"has dtype \[\('a', '<f8'\)\], {NUMBERS}"),
    "generator": (lambda: (row for row in Y), f"has <generator .* of type generator, {NUMBERS}"),
    "dictionary": (lambda: {"cat": [1]}, rf"has \{{'cat': \[1\]\}} of type dict, {NUMBERS}"),
    "frame": (Frame, "is a Frame frame, expected one of pandas, Polars or PyArrow: convert it"),
    "lazy array": (Lazy, r"is lazy \(tests Lazy\), expected values in memory: compute it, or"),
    "lazy columns": (lambda: [Lazy(), Lazy()], r"is lazy \(tests Lazy\)"),
    "interchange frame": (InterchangeFrame, "is a InterchangeFrame frame, expected one of pandas, Polars or PyArrow"),
}

SPARSE: Table = {
    "CSR: column out of range": (lambda: malformed(CSR, indices=EIGHT), MALFORMED),
    "CSR: negative column": (lambda: malformed(CSR, indices=-(EIGHT % 2)), MALFORMED),
    "CSR: too many columns": (lambda: malformed(CSR, indices=np.arange(9) % 2), MALFORMED),
    "CSR: too few cells": (lambda: malformed(CSR, data=np.ones(7)), MALFORMED),
    "CSR: columns not whole": (lambda: malformed(CSR, indices=EIGHT % 2 + 0.5), MALFORMED),
    "CSR: columns of two dimensions": (lambda: malformed(CSR, indices=(EIGHT % 2)[:, None]), MALFORMED),
    "CSR: columns in a list": (lambda: malformed(CSR, indices=[0, 1] * 4), MALFORMED),
    "CSR: no row pointers": (lambda: malformed(CSR, indptr=None), MALFORMED),
    "CSR: empty row pointers": (lambda: malformed(CSR, indptr=EIGHT[:0]), MALFORMED),
    "CSR: falling row pointers": (lambda: malformed(CSR, indptr=np.array([0, 4, 2, 6, 8])), MALFORMED),
    "CSR: too many row pointers": (lambda: malformed(CSR, indptr=np.array([0, 2, 4, 6, 8, 8])), MALFORMED),
    "CSR: too few row pointers": (lambda: malformed(CSR, indptr=np.array([0, 2, 4, 8])), MALFORMED),
    "CSR: rows start late": (lambda: malformed(CSR, indptr=np.array([1, 2, 4, 6, 8])), MALFORMED),
    "CSR: rows end beyond the cells": (lambda: malformed(CSR, indptr=np.array([0, 2, 4, 6, 9])), MALFORMED),
    "CSR: a cell twice": (lambda: malformed(CSR, indices=0 * EIGHT), f"{MALFORMED}: .*twice"),
    "CSR: a cell twice, apart": (
        lambda: CSR((np.ones(3), [1, 0, 1], [0, 3, 3, 3, 3]), (4, 2)),
        f"{MALFORMED}: .*twice",
    ),
    "CSC: row out of range": (lambda: malformed(CSC, indices=EIGHT), MALFORMED),
    "CSC: negative row": (lambda: malformed(CSC, indices=EIGHT % 4 - 1), MALFORMED),
    "CSC: a cell twice": (lambda: malformed(CSC, indices=0 * EIGHT), f"{MALFORMED}: .*twice"),
    "COO: column out of range": (lambda: malformed(COO, coords=(EIGHT // 2, EIGHT)), MALFORMED),
    "COO: a cell twice": (lambda: COO((np.ones(2), ([0, 0], [1, 1])), (4, 2)), f"{MALFORMED}: .*twice"),
    "LIL: column out of range": (lambda: malformed(LIL, rows=np.array([[0, 1]] * 3 + [[0, 9]], object)), MALFORMED),
}

# Rows of COO arrays that can end the process: `test_arguments.py` tries them in one of its own.
BAD_ROWS = {
    "row out of range": [0, 0, 1, 1, 2, 2, 3, 10**8],
    "row just out of range": [0, 0, 1, 1, 2, 2, 3, 4],
    "negative row": [0, 0, 1, 1, 2, 2, 3, -(10**8)],
    "row just below 0": [0, 0, 1, 1, 2, 2, 3, -1],
}

FAR = EIGHT * 10**8
COLUMN, VECTOR = np.ones((8, 1)), np.ones(8)
# Single columns, which a vector of classes may be: these can end the process, too.
BAD_COLUMNS: dict[str, Callable[[], object]] = {
    "CSR: column out of range": lambda: malformed(CSR, COLUMN, indices=EIGHT),
    "CSR: column far out of range": lambda: malformed(CSR, COLUMN, indices=FAR),
    "CSR: negative column": lambda: malformed(CSR, COLUMN, indices=-EIGHT),
    "CSR: columns not whole": lambda: malformed(CSR, COLUMN, indices=EIGHT * 0.0),
    "CSR: too few cells": lambda: malformed(CSR, COLUMN, data=np.ones(7)),
    "CSR: no row pointers": lambda: malformed(CSR, COLUMN, indptr=None),
    "CSR: empty row pointers": lambda: malformed(CSR, COLUMN, indptr=EIGHT[:0]),
    "CSR: falling row pointers": lambda: malformed(CSR, COLUMN, indptr=np.array([0, 2, 1, 3, 4, 5, 6, 7, 8])),
    "CSR: rows start late": lambda: malformed(CSR, COLUMN, indptr=np.arange(1, 10)),
    "CSR: rows end far beyond the cells": lambda: malformed(CSR, COLUMN, indptr=np.append(EIGHT, 10**8)),
    "CSR: a cell twice": lambda: CSR((np.ones(9), 0 * np.arange(9), np.append(0, EIGHT + 2)), (8, 1)),
    "CSC: row far out of range": lambda: malformed(CSC, COLUMN, indices=FAR),
    "COO: row far out of range": lambda: malformed(COO, COLUMN, coords=(FAR, 0 * EIGHT)),
    "COO: a cell twice": lambda: COO((np.ones(2), ([0, 0], [0, 0])), (8, 1)),
    "COO: one dimension, row far out of range": lambda: malformed(COO, VECTOR, coords=(FAR,)),
    "LIL: column out of range": lambda: malformed(LIL, COLUMN, rows=np.array([[0]] * 7 + [[9]], object)),
}

BAD_ANYWHERE: Table = CELLS | SHAPES | TYPES | SPARSE

BAD_SCORES: Table = {
    "+inf": (lambda: spoiled(S, inf), rf"has \+inf {HERE}, expected real scores"),
    "+inf in float16": (lambda: spoiled(S, inf, "f2"), rf"has \+inf {HERE}"),
    "+inf in CSR": (lambda: CSR(spoiled(S, inf)), rf"has \+inf {HERE}"),
    "too large an integer": (lambda: spoiled(S, 2**53 + 1, "i8"), "has the integer 9007199254740993, expected at most"),
    "too small an integer": (lambda: spoiled(S, -(2**53) - 1, "i8"), "has the integer 9007199254740993"),
    "smallest of all integers": (lambda: spoiled(S, -(2**63), "i8"), "has the integer 9223372036854775808"),
    "largest of all integers": (lambda: spoiled(S, 2**64 - 1, "u8"), "has the integer 18446744073709551615"),
    "too large an integer in CSR": (lambda: CSR(spoiled(S, 2**53 + 1, "i8")), "has the integer 9007199254740993"),
    "too large an integer in a list": (lambda: spoiled(S, 2**70 + 1, object).tolist(), "has "),
    "long doubles": (lambda: S.astype(np.longdouble), r"has dtype (float128|float96|longdouble), expected float16"),
}

SHARE = r"expected values in \[0, 1\]"
BAD_CHANCES: Table = {
    "logits": (lambda: spoiled(S, 2.5), f"has 2.5 {HERE}, {SHARE}"),
    "all logits": (lambda: np.log(S / (1 - S)), f"has 2.197.* at row 0, label (0|'cat'), {SHARE}"),
    "negative": (lambda: spoiled(S, -0.1), f"has -0.1 {HERE}, {SHARE}"),
    "next to nothing below 0": (lambda: spoiled(S, -5e-324), f"has -5e-324 {HERE}, {SHARE}"),
    "just above 1": (lambda: spoiled(S, 1.0000001), f"has 1.0000001 {HERE}, {SHARE}"),
    "next to 1": (lambda: spoiled(S, np.nextafter(1, 2)), f"has 1.0000000000000002 {HERE}, {SHARE}"),
    "+inf": (lambda: spoiled(S, inf), f"has inf {HERE}, {SHARE}"),
    "-inf": (lambda: spoiled(S, -inf), f"has -inf {HERE}, {SHARE}"),
    "negative in float16": (lambda: spoiled(S, -0.5, "f2"), f"has -0.5 {HERE}, {SHARE}"),
    "just above 1 in float32": (lambda: spoiled(S, 1.0000001, "f4"), f"has 1.0000001 {HERE}, {SHARE}"),
    "negative, big-endian": (lambda: spoiled(S, -0.1, ">f8"), f"has -0.1 {HERE}, {SHARE}"),
    "two in integers": (lambda: spoiled(Y, 2), f"has 2 {HERE}, {SHARE}"),
    "minus one in integers": (lambda: spoiled(Y, -1), f"has -1 {HERE}, {SHARE}"),
    "negative in a list": (lambda: spoiled(S, -0.1).tolist(), f"has -0.1 {HERE}, {SHARE}"),
    "negative in CSR": (lambda: CSR(spoiled(S, -0.1)), f"has -0.1 {HERE}, {SHARE}"),
    "just above 1 in COO": (lambda: COO(spoiled(S, 1.0000001)), f"has 1.0000001 {HERE}, {SHARE}"),
    "negative in row 5000": (
        lambda: np.append(np.zeros((5000, 2)), [[0, -0.1]], axis=0),
        "has -0.1 at row 5000, label",
    ),
    "long doubles": (lambda: S.astype(np.longdouble), r"has dtype (float128|float96|longdouble), expected float16"),
}

# What may stand for truth that is not known, and is not said to
SAY_NAN, SAY_MINUS_ONE = (f"unknown={value} leaves cells out whose truth is not known" for value in ("'nan'", "-1"))
NOT_SAID: Table = {
    "NaN, which is not said": (lambda: spoiled(Y, nan, float), f"has NaN {HERE}, .*; {SAY_NAN}"),
    "-1, which is not said": (lambda: spoiled(Y, -1), f"has -1 {HERE}, .*; {SAY_MINUS_ONE}"),
    "masked, which is not said": (
        lambda: np.ma.array(Y, mask=EIGHT.reshape(4, 2) == 5),
        f"has masked cells, expected none; {SAY_NAN}",
    ),
    "None, which is not said": (
        lambda: spoiled(Y, None, object),
        f"has None of type NoneType, .*; {SAY_NAN}",
    ),
}
SAYABLE = r"expected 'nan', a number other than 0 and 1 \(as -1\), or None"
UNSAYABLE = [
    (["NaN", "nam", "", 0, 1, 1.0, True, inf, (), [nan, 0], {"nan", True}, {}], f"is .*, {SAYABLE}"),
    ([10**400], "is 1000.*, expected a number that float64 can hold"),
]

TAGS = [["cat"], ["dog"], ["cat", "dog"], []]


def objects(cells: list[object]) -> Array:
    """An array of objects, whatever they are."""
    array = np.empty(len(cells), object)
    array[:] = cells
    return array


LISTED = "thresholds.from_label_lists makes 0 and 1 of the labels that each row lists"
BAD_TRUTH: Table = {
    "lists of labels": (lambda: TAGS, f"cannot be read as an array .*; {LISTED}$"),
    "lists of positions": (lambda: [[0], [1], [0, 1], []], f"cannot be read as an array .*; {LISTED}$"),
    "labels by row": (lambda: dict(enumerate(TAGS)), f"has {{0: .* of type dict, expected real numbers; {LISTED}$"),
    "sets of labels": (lambda: [set(tags) for tags in TAGS], f"has {{'cat'}} of type set, expected .*; {LISTED}$"),
    "labels as keys": (
        lambda: [dict.fromkeys(tags, 1) for tags in TAGS],
        f"has {{'cat': 1}} of type dict, .*; {LISTED}$",
    ),
    "an array of lists": (lambda: objects(TAGS), f"has \\['cat'\\] of type list, expected real numbers; {LISTED}$"),
    "an array of arrays": (
        lambda: objects([np.array(tags) for tags in TAGS]),
        f"has array.* of type ndarray, .*; {LISTED}$",
    ),
    "two labels in each row": (lambda: [["cat", "dog"]] * 4, f"has 'cat' of type str, expected .*; {LISTED} "),
    "an array of text": (lambda: np.array([["cat", "dog"]] * 4), f"has dtype <U3, expected real numbers; {LISTED} "),
    "text without letters": (lambda: np.array([["1", "0"]] * 4), "has dtype <U1, expected real numbers$"),
    "words": (
        lambda: np.array([["no", "yes"]] * 4, object),
        "has 'no' of type str, expected real numbers; y_.* == 'yes' is true where that is the word for it$",
    ),
    "two": (lambda: spoiled(Y, 2), f"has 2 {HERE}, expected only 0 and 1"),
    "minus one": (lambda: spoiled(Y, -1), f"has -1 {HERE}, expected only 0 and 1"),
    "minus one for 0": (
        lambda: 2 * Y.astype(int) - 1,
        "has -1 .*, expected only 0 and 1(; unknown=-1 leaves .*; y_.* > 0 is the truth if -1 means not true)?$",
    ),
    "a half": (lambda: spoiled(Y, 0.5, float), f"has 0.5 {HERE}, expected only 0 and 1"),
    "infinity": (lambda: spoiled(Y, inf, float), f"has inf {HERE}, expected only 0 and 1"),
    "a third as a fraction": (lambda: spoiled(Y, Fraction(1, 3), object), f"has 0.3333.* {HERE}, expected only"),
    "two in CSR": (lambda: CSR(spoiled(Y, 2)), f"has 2 {HERE}, expected only 0 and 1"),
    "two in COO": (lambda: COO(spoiled(Y, 2)), f"has 2 {HERE}, expected only 0 and 1"),
    "two in row 5000": (lambda: np.append(np.zeros((5000, 2)), [[0, 2]], axis=0), "has 2.0 at row 5000, label"),
}
