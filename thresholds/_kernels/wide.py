"""Loops that move some of many scores to the lists of their labels, 512 or 256 bits at a time, where the processor can.

In registers rows become columns, a square of 16 x 16 float32 or 8 x 8 float64 scores at a time (half as many with 256
bits). Then the wanted scores of a column are put together by one instruction (`vpcompress` of AVX-512; of AVX2
`vpermps`, told by a table what comes where), and written with all that the register holds: what comes next is written
over the rest. So the time does not depend on how many are wanted: .3 to .4 ns a score with 512 bits, where the loops of
`counting.py` list marks and move scores one by one. Numba has no word for such instructions: each is written for LLVM,
beside what it does in Python. `vectors.py` says whether the processor has them; this file imports Numba, and is
imported where it has.

`keys_of_columns` and `true_keys_of_columns` read a few columns in the same way, but any processor can do what they ask.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from thresholds._arrays.types import Bytes, Integers, Ints, Keys, Scores, SmallInts
from thresholds._kernels._jit import kernel
from thresholds._kernels.vectors import register_bytes

_REGISTER_BYTES = register_bytes()
# Registers of so many bytes are put together by an instruction that does nothing else.
_COMPRESSING = 64
_TRUTHS = 16  # cells whose truth is read at once
_MOST_ROWS = 256  # that become columns together,
_MOST_CELLS = 2**16  # as far as these stay in the second-level cache
_SIDE = 8  # of the squares of scores that become keys,
_ROWS = 64  # in so many rows at a time, whose cache lines several columns share

_BITS = ir.IntType(16)
_WORD = ir.IntType(32)
_PLACE = ir.IntType(64)


class _Instruction:
    """What kernels call: a function in Python, and how LLVM is told to do the same."""

    def __init__(self, function: Callable[..., Any], define: Callable[..., Any]) -> None:
        self.function, self._intrinsic = function, intrinsic(define)

    def __call__(self, *args: Any) -> Any:
        """Do it in Python."""
        return self.function(*args)

    @property
    def _numba_type_(self) -> Any:
        """What Numba reads where a kernel calls this."""
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(self._intrinsic)


def _instruction(define: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Have a function be compiled to what `define` tells LLVM."""
    return lambda function: _Instruction(function, define)


def _lanes(array: Any) -> int:
    """Return how many numbers of an array, given its type, a register holds."""
    return 8 * _REGISTER_BYTES // int(array.dtype.bitwidth)


def _address(context: Any, build: Any, array: Any, value: Any, *index: Any) -> Any:
    """Return where an element of an array is."""
    made = context.make_array(array)(context, build, value)
    at = build.ptrtoint(made.data, _PLACE)
    steps = cgutils.unpack_tuple(build, made.strides)  # type: ignore[no-untyped-call]
    for step, place in zip(steps, index, strict=True):
        at = build.add(at, build.mul(step, place))
    return at


def _load(build: Any, at: Any, kind: Any) -> Any:
    """Read a vector, or a number, of some kind, from any address."""
    vector = build.load(build.inttoptr(at, ir.PointerType(kind)))
    vector.align = 1
    return vector


def _store(build: Any, vector: Any, at: Any) -> None:
    """Write a vector to any address."""
    stored = build.store(vector, build.inttoptr(at, ir.PointerType(vector.type)))
    stored.align = 1


def _constant(kind: Any, numbers: list[Any]) -> Any:
    """Return a vector of known numbers."""
    return ir.Constant(ir.VectorType(kind, len(numbers)), numbers)


def _filled(build: Any, number: Any, n: int) -> Any:
    """Return a vector of n times a number."""
    nothing = ir.Constant(ir.VectorType(number.type, n), ir.Undefined)
    first = build.insert_element(nothing, number, ir.Constant(_WORD, 0))
    return build.shuffle_vector(first, first, _constant(_WORD, [0] * n))


def _transposed(build: Any, rows: list[Any]) -> list[Any]:
    """Transpose a square: halves of rows are exchanged, then halves of these."""
    n = len(rows)
    half = n // 2
    while half:
        lower = _constant(_WORD, [k + n - half if k & half else k for k in range(n)])
        upper = _constant(_WORD, [k + n if k & half else k + half for k in range(n)])
        exchanged = list(rows)
        for k in range(n):
            if not k & half:
                pair = rows[k], rows[k + half]
                exchanged[k] = build.shuffle_vector(*pair, lower)
                exchanged[k + half] = build.shuffle_vector(*pair, upper)
        rows = exchanged
        half //= 2
    return rows


def _write_wanted(build: Any, vector: Any, wanted: Any, at: Any) -> Any:
    """Write the wanted numbers of a vector, and anything behind them; return how many they are.

    Whole numbers are written as int32.
    """
    n = vector.type.count
    marks = build.zext(build.bitcast(wanted, ir.IntType(n)), _PLACE)
    is_single = 8 * _REGISTER_BYTES // n == _WORD.width
    floats = ir.VectorType(ir.FloatType() if is_single else ir.DoubleType(), n)
    numbers = build.bitcast(vector, floats)
    if _REGISTER_BYTES == _COMPRESSING:
        together = _compressed(build, numbers, wanted)
    else:
        together = _permuted(build, numbers, marks)
    together = build.bitcast(together, vector.type)
    if vector.type.element == _PLACE:
        together = build.trunc(together, ir.VectorType(_WORD, n))
    _store(build, together, at)
    count = build.module.declare_intrinsic("llvm.ctpop", [_PLACE])
    return build.call(count, [marks])


def _compressed(build: Any, vector: Any, wanted: Any) -> Any:
    """Put the wanted numbers of a vector first, by AVX-512."""
    n = vector.type.count
    name = f"llvm.x86.avx512.mask.compress.v{n}f{8 * _REGISTER_BYTES // n}"
    nothing = ir.Constant(vector.type, [0.0] * n)
    return _called(build, name, vector.type, [vector, nothing, wanted])


def _permuted(build: Any, vector: Any, marks: Any) -> Any:
    """Put the wanted numbers of a vector first, by AVX2: a table says for all `marks` which words come where."""
    n, n_words = vector.type.count, 8 * _REGISTER_BYTES // 32
    size = n_words // n  # of a number, in words
    rows = []
    for number in range(2**n):
        lanes = [lane for lane in range(n) if number >> lane & 1]
        words = [size * lane + k for lane in lanes for k in range(size)]
        rows.append(_constant(_WORD, words + [0] * (n_words - len(words))))
    kind = ir.ArrayType(ir.VectorType(_WORD, n_words), 2**n)
    table = cgutils.global_constant(  # type: ignore[no-untyped-call]
        build, "places_of_wanted", ir.Constant(kind, rows)
    )
    order = build.load(build.gep(table, [ir.Constant(_PLACE, 0), marks], inbounds=True))
    words = ir.VectorType(ir.FloatType(), n_words)
    moved = _called(build, "llvm.x86.avx2.permps", words, [build.bitcast(vector, words), order])
    return build.bitcast(moved, vector.type)


def _called(build: Any, name: str, kind: Any, arguments: list[Any]) -> Any:
    """Call an instruction of the processor by its name in LLVM."""
    of_type = ir.FunctionType(kind, [value.type for value in arguments])
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        build.module, of_type, name
    )
    return build.call(function, arguments)


# The instructions


def _defined_transpose(_: Any, scores: Any, i: Any, j: Any, columns: Any, r: Any) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        n = _lanes(scores)
        kind = ir.VectorType(context.get_data_type(scores.dtype), n)
        given, i, j, written, r = values
        steps = [ir.Constant(_PLACE, k) for k in range(n)]
        rows = [
            _load(build, _address(context, build, scores, given, build.add(i, k), j), kind)
            for k in steps
        ]
        for k, column in zip(steps, _transposed(build, rows), strict=True):
            _store(build, column, _address(context, build, columns, written, k, r))
        return context.get_dummy_value()

    return types.void(scores, types.int64, types.int64, columns, types.int64), generate


@_instruction(_defined_transpose)
def _transpose(scores: Scores, i: int, j: int, columns: Scores, r: int) -> None:
    """Write the square of scores from row i and column j on to `columns` (n, n_rows), from r on, transposed."""
    n = len(columns)
    columns[:, r : r + n] = scores[i : i + n, j : j + n].T


def _defined_between(
    _: Any, columns: Any, k: Any, r: Any, low: Any, high: Any, kept: Any, to: Any
) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        n = _lanes(columns)
        given, k, r, low, high, written, to = values
        at = _address(context, build, columns, given, k, r)
        scores = _load(build, at, ir.VectorType(context.get_data_type(columns.dtype), n))
        wanted = build.and_(
            build.fcmp_ordered(">=", scores, _filled(build, low, n)),
            build.fcmp_ordered("<", scores, _filled(build, high, n)),
        )
        return _write_wanted(build, scores, wanted, _address(context, build, kept, written, to))

    number = columns.dtype
    places = (types.int64, types.int64)
    return types.int64(columns, *places, number, number, kept, types.int64), generate


@_instruction(_defined_between)
def _write_between(
    columns: Scores, k: int, r: int, low: Any, high: Any, kept: Scores, to: int
) -> int:
    """Write those of a few scores of a column, from r on, that lie in [low, high), and return their number."""
    scores = columns[k, r : r + len(columns)]
    wanted = scores[(scores >= low) & (scores < high)]
    kept[to : to + wanted.size] = wanted
    return int(wanted.size)


def _defined_rows(
    _: Any,
    columns: Any,
    k: Any,
    r: Any,
    low: Any,
    high: Any,
    bits: Any,
    bit: Any,
    row: Any,
    rows: Any,
    to: Any,
) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        n = _lanes(columns)
        given, k, r, low, high, marks, bit, row, written, to = values
        at = _address(context, build, columns, given, k, r)
        scores = _load(build, at, ir.VectorType(context.get_data_type(columns.dtype), n))
        wanted = build.and_(
            build.fcmp_ordered(">=", scores, _filled(build, low, n)),
            build.fcmp_ordered("<", scores, _filled(build, high, n)),
        )
        kind = ir.VectorType(_BITS, n)
        own = _load(build, _address(context, build, bits, marks, r), kind)
        is_set = build.and_(own, _filled(build, bit, n))
        is_true = build.icmp_unsigned("!=", is_set, ir.Constant(kind, None))

        # As wide as scores, so that a register holds as many.
        number = _WORD if 8 * _REGISTER_BYTES // n == _WORD.width else _PLACE
        first = _filled(build, build.trunc(row, number) if number is _WORD else row, n)
        numbers = build.add(first, _constant(number, list(range(n))))
        numbers = build.select(is_true, build.not_(numbers), numbers)
        _write_wanted(build, numbers, wanted, _address(context, build, rows, written, to))
        return context.get_dummy_value()

    number = columns.dtype
    places = (types.int64, types.int64)
    limits = (number, number)
    marked = (bits, types.uint16)
    return types.void(columns, *places, *limits, *marked, types.int64, rows, types.int64), generate


@_instruction(_defined_rows)
def _write_rows(
    columns: Scores,
    k: int,
    r: int,
    low: Any,
    high: Any,
    bits: Integers,
    bit: Any,
    row: int,
    rows: SmallInts,
    to: int,
) -> None:
    """Write the rows of what `_write_between` writes, from `row` on, ~row where a bit is set."""
    scores = columns[k, r : r + len(columns)]
    own = row + np.arange(scores.size)
    own = np.where(bits[r : r + scores.size] & bit != 0, ~own, own)
    wanted = own[(scores >= low) & (scores < high)]
    rows[to : to + wanted.size] = wanted


def _defined_bits(_: Any, truth: Any, i: Any, j: Any) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        kind = ir.VectorType(context.get_data_type(truth.dtype), _TRUTHS)
        cells = _load(build, _address(context, build, truth, *values), kind)
        return build.bitcast(build.icmp_unsigned("!=", cells, ir.Constant(kind, None)), _BITS)

    return types.uint16(truth, types.int64, types.int64), generate


@_instruction(_defined_bits)
def _bits(truth: Bytes, i: int, j: int) -> Any:
    """Return the truth of the cells of a row from column j on, the first one in the lowest bit."""
    marks = np.packbits(truth[i, j : j + _TRUTHS], bitorder="little")
    return marks.view(np.uint16)[0]


def _defined_marked(
    _: Any, columns: Any, k: Any, r: Any, bits: Any, bit: Any, kept: Any, to: Any
) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        n = _lanes(columns)
        given, k, r, marks, bit, written, to = values
        at = _address(context, build, columns, given, k, r)
        scores = _load(build, at, ir.VectorType(context.get_data_type(columns.dtype), n))
        kind = ir.VectorType(_BITS, n)
        rows = _load(build, _address(context, build, bits, marks, r), kind)
        is_set = build.and_(rows, _filled(build, bit, n))
        wanted = build.icmp_unsigned("!=", is_set, ir.Constant(kind, None))
        return _write_wanted(build, scores, wanted, _address(context, build, kept, written, to))

    places = (types.int64, types.int64)
    return types.int64(columns, *places, bits, types.uint16, kept, types.int64), generate


@_instruction(_defined_marked)
def _write_marked(
    columns: Scores, k: int, r: int, bits: Integers, bit: Any, kept: Scores, to: int
) -> int:
    """Write those of a few scores of a column, from r on, in whose rows a bit is set, and return their number."""
    scores = columns[k, r : r + len(columns)]
    wanted = scores[bits[r : r + len(columns)] & bit != 0]
    kept[to : to + wanted.size] = wanted
    return int(wanted.size)


def _defined_keys(_: Any, bits: Any, rows: Any, i: Any, j: Any, keys: Any, k: Any, r: Any) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        kind = ir.VectorType(context.get_data_type(bits.dtype), _SIDE)
        given, listed, i, j, written, k, r = values
        steps = [ir.Constant(_PLACE, step) for step in range(_SIDE)]
        places = [
            _load(build, _address(context, build, rows, listed, build.add(i, step)), _PLACE)
            for step in steps
        ]
        square = [_load(build, _address(context, build, bits, given, at, j), kind) for at in places]
        width = bits.dtype.bitwidth
        sign = _constant(kind.element, [1 << (width - 1)] * _SIDE)
        last = _constant(kind.element, [width - 1] * _SIDE)
        for step, column in zip(steps, _transposed(build, square), strict=True):
            is_minus_zero = build.icmp_unsigned("==", column, sign)
            number = build.select(is_minus_zero, ir.Constant(kind, None), column)
            key = build.xor(number, build.or_(build.ashr(number, last), sign))
            _store(build, key, _address(context, build, keys, written, build.add(k, step), r))
        return context.get_dummy_value()

    places = (types.int64, types.int64)
    return types.void(bits, rows, *places, keys, *places), generate


@_instruction(_defined_keys)
def _write_keys(bits: Keys, rows: Ints, i: int, j: int, keys: Keys, k: int, r: int) -> None:
    """Write the keys of a square of scores, of rows from the i-th on and columns from j, transposed from k and r on."""
    square = bits[rows[i : i + _SIDE], j : j + _SIDE].T
    sign = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    number = np.where(square == sign, 0, square).astype(bits.dtype)
    keys[k : k + _SIDE, r : r + _SIDE] = np.where(number & sign, ~number, number ^ sign)


def _defined_lowest(_: Any, bits: Any) -> Any:
    def generate(context: Any, build: Any, signature: Any, values: Any) -> Any:
        return build.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@_instruction(_defined_lowest)
def _lowest(bits: Any) -> int:
    """Return the place of the lowest bit that is set; one is."""
    return (int(bits) & -int(bits)).bit_length() - 1


# The loops


@kernel
def collect_between(
    scores: Scores,
    low: Scores,
    high: Scores,
    below: Scores,
    place: Ints,
    ends: Ints,
    kept: Scores,
    truth: Bytes | None,
    first_row: int,
    rows: SmallInts | None,
) -> None:
    """Write the scores in [low, high) of each column where it has its places, and raise `below` to the highest under.

    There are as many places as scores to write, up to `ends`, for as many columns as have places; rows of the block are
    a multiple of 16. With `rows` these are written along, as `collect_rows` does.
    """
    n_columns, lanes = place.size, _REGISTER_BYTES // scores.itemsize
    n_rows = max(min(_MOST_CELLS // n_columns // lanes * lanes, _MOST_ROWS), lanes)
    columns = np.empty((lanes, n_rows), scores.dtype)
    room, row_room = np.empty(lanes, scores.dtype), np.empty(lanes, np.int32)
    n_square = n_columns // lanes * lanes if rows is None else n_columns // _TRUTHS * _TRUTHS
    bits = np.empty((n_columns // _TRUTHS, n_rows), np.uint16)
    none = scores.dtype.type(-np.inf)
    for first in range(0, scores.shape[0], n_rows):
        last = min(first + n_rows, scores.shape[0])
        # 1. The next lower score, for which rows are read one after another.
        for i in range(first, last, 4):
            s0, s1, s2, s3 = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
            for j in range(n_columns):
                x, highest = low[j], below[j]
                highest = max(highest, s0[j] if s0[j] < x else none)
                highest = max(highest, s1[j] if s1[j] < x else none)
                highest = max(highest, s2[j] if s2[j] < x else none)
                highest = max(highest, s3[j] if s3[j] < x else none)
                below[j] = highest
        if truth is not None:
            for i in range(first, last):
                for q in range(bits.shape[0]):
                    bits[q, i - first] = _bits(truth, i, q * _TRUTHS)

        # 2. Columns of whole squares. Near its end a list has no room for a whole register.
        for j in range(0, n_square, lanes):
            for i in range(first, last, lanes):
                _transpose(scores, i, j, columns, i - first)
            for k in range(lanes):
                to, end = place[j + k], ends[j + k]
                x, y = low[j + k], high[j + k]
                r = np.int64(0)
                while r < last - first and to + lanes <= end:
                    n = _write_between(columns, k, r, x, y, kept, to)
                    if rows is not None:
                        own, bit = bits[j // _TRUTHS], np.uint16(1 << (j % _TRUTHS + k))
                        row = first_row + first + r
                        _write_rows(columns, k, r, x, y, own, bit, row, rows, to)
                    to += n
                    r += lanes
                while r < last - first:
                    n = _write_between(columns, k, r, x, y, room, 0)
                    if rows is not None:
                        own, bit = bits[j // _TRUTHS], np.uint16(1 << (j % _TRUTHS + k))
                        row = first_row + first + r
                        _write_rows(columns, k, r, x, y, own, bit, row, row_room, 0)
                        for a in range(n):
                            rows[to + a] = row_room[a]
                    for a in range(n):
                        kept[to + a] = room[a]
                    to += n
                    r += lanes
                place[j + k] = to

        # 3. The others, few of them.
        for j in range(n_square, n_columns):
            to = place[j]
            for i in range(first, last):
                x = scores[i, j]
                if x >= low[j] and x < high[j]:
                    kept[to] = x
                    if rows is not None and truth is not None:
                        rows[to] = np.int32(first_row + i) ^ -np.int32(truth[i, j])
                    to += 1
            place[j] = to


@kernel
def collect_marked(scores: Scores, truth: Bytes, place: Ints, ends: Ints, kept: Scores) -> None:
    """Write the scores of each column whose truth is 1 where it has its places, as `collect_between` does."""
    n_columns, lanes = place.size, _REGISTER_BYTES // scores.itemsize
    n_rows = max(min(_MOST_CELLS // n_columns // lanes * lanes, _MOST_ROWS), lanes)
    columns = np.empty((lanes, n_rows), scores.dtype)
    room = np.empty(lanes, scores.dtype)
    bits = np.empty((n_columns // _TRUTHS, n_rows), np.uint16)
    any_bits = np.empty(n_columns // _TRUTHS, np.uint16)
    for first in range(0, scores.shape[0], n_rows):
        last = min(first + n_rows, scores.shape[0])
        # 1. The bits of true cells. Scores are read here one row after another, so that they are in the cache below.
        highest = scores.dtype.type(-np.inf)
        any_bits[:] = 0
        for i in range(first, last):
            for q in range(any_bits.size):
                row_bits = _bits(truth, i, q * _TRUTHS)
                bits[q, i - first] = row_bits
                any_bits[q] |= row_bits
            for j in range(0, n_columns, lanes):
                highest = max(highest, scores[i, j])
        columns[0, 0] = highest  # or nobody would read them

        # 2. Columns of whole squares that have a true cell.
        for j in range(0, any_bits.size * _TRUTHS, lanes):
            own, any_bit = bits[j // _TRUTHS], any_bits[j // _TRUTHS]
            shift = np.uint16(j % _TRUTHS)
            if (any_bit >> shift) & np.uint16(2**lanes - 1) == 0:
                continue
            for i in range(first, last, lanes):
                _transpose(scores, i, j, columns, i - first)
            for k in range(lanes):
                bit = np.uint16(1 << (j % _TRUTHS + k))
                if any_bit & bit == 0:
                    continue
                to, end = place[j + k], ends[j + k]
                r = np.int64(0)
                while r < last - first and to + lanes <= end:
                    to += _write_marked(columns, k, r, own, bit, kept, to)
                    r += lanes
                while r < last - first:
                    n = _write_marked(columns, k, r, own, bit, room, 0)
                    for a in range(n):
                        kept[to + a] = room[a]
                    to += n
                    r += lanes
                place[j + k] = to

        # 3. The others, few of them.
        for j in range(any_bits.size * _TRUTHS, n_columns):
            to = place[j]
            for i in range(first, last):
                if truth[i, j] > 0:
                    kept[to] = scores[i, j]
                    to += 1
            place[j] = to


@kernel
def keys_of_columns(bits: Keys, rows: Ints, first: int, keys: Keys) -> None:
    """Write the keys (`keys.py`) of columns of scores, of which the bits are given, from `first` on to rows of `keys`.

    Of some `rows` in that order; of all where `rows` is empty. Squares of 8 x 8 are transposed in registers: with keys
    1 ns a float32 score, where NumPy takes 2.7 without.
    """
    n_columns, n_rows = keys.shape
    if n_columns < _SIDE or n_rows < _SIDE:
        sign = bits.dtype.type(1) << bits.dtype.type(8 * bits.itemsize - 1)
        for k in range(n_columns):
            for i in range(n_rows):
                b = bits[rows[i] if rows.size > 0 else i, first + k]
                if b == sign:  # -0.0
                    b = b ^ sign
                keys[k, i] = ~b if b & sign else b ^ sign
        return
    places = np.empty(_ROWS + _SIDE, np.int64)
    # The last squares are moved up to the border, over others: what is there is written once more.
    for start in range(0, n_rows, _ROWS):
        top, end = min(start, n_rows - _SIDE), min(start + _ROWS, n_rows)
        for i in range(top, end):
            places[i - top] = rows[i] if rows.size > 0 else i
        for k in range(0, n_columns, _SIDE):
            column = min(k, n_columns - _SIDE)
            for i in range(start, end, _SIDE):
                row = min(i, n_rows - _SIDE)
                _write_keys(bits, places, row - top, first + column, keys, column, row)


@kernel
def true_keys_of_columns(truth: Bytes, first: int, keys: Keys) -> tuple[Ints, Keys]:
    """Return the keys of the true cells of columns from `first` on, of which `keys` (n_columns, n_rows) has all.

    Those of column k are `offsets[k]:offsets[k + 1]`. Truth has at least 16 columns, which are looked at together: .6
    ns a cell, where to transpose it, and to list what is true, takes 2.
    """
    n_columns, n_rows = keys.shape
    listed = np.empty(keys.shape, keys.dtype)  # What is not written takes no memory.
    sizes = np.zeros(n_columns, np.int64)
    for k in range(0, n_columns, _TRUTHS):
        # A window of 16 columns, of which the lowest bits may be those of columns before.
        at = min(first + k, truth.shape[1] - _TRUTHS)
        shift = first + k - at
        wanted = np.int64(((1 << min(_TRUTHS, n_columns - k)) - 1) << shift)
        for i in range(n_rows):
            marks = np.int64(_bits(truth, i, at)) & wanted
            while marks != 0:
                j = k + _lowest(marks) - shift
                listed[j, sizes[j]] = keys[j, i]
                sizes[j] += 1
                marks &= marks - 1

    offsets = np.zeros(n_columns + 1, np.int64)
    for k in range(n_columns):
        offsets[k + 1] = offsets[k] + sizes[k]
    true_keys = np.empty(offsets[n_columns], keys.dtype)
    for k in range(n_columns):
        true_keys[offsets[k] : offsets[k + 1]] = listed[k, : sizes[k]]
    return offsets, true_keys
