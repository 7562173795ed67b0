"""Passes over the rows of a source: what is made of each block is added up, wherever the blocks are read.

A pass applies *work*, a function of a block and of the place where it begins, to all blocks. What it returns can be
added, in any order and any tree: so results depend neither on `map` nor on which worker is the first to be done. Sums
are held as a stack whose members at least double in size, so that unions are made of equals, as in a merge sort, and
sums of a fixed size are a single one.

Rows are read several times. That they are the same each time is checked by number, by a sum over the bits of all
cells and weights, and by a checksum of every 64th row: 0.15 ns a cell, measured.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Event
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import Bar, workers
from thresholds._arrays.types import Dense, Floats
from thresholds._checks import plain
from thresholds.chunks.sources import BlockSource, Rows, Shard, blocks_of, n_rows_of, where_in
from thresholds.errors import InputError, shown

_ONE_ROW_IN = 64  # that a checksum reads
_NO_CELLS = np.empty(0, np.uint8)

Map: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
# What is made of a block that begins at a place.
Work: TypeAlias = Callable[[Rows, "Place"], Any]


class Place(NamedTuple):
    """Where a block, or a shard, begins: how much lies before it."""

    shard: int  # its number
    in_shard: int  # rows of the same shard
    # Rows, and stored scores, of the whole source; of the shard alone in the first pass, when no more is known.
    rows: int
    stored: int


class Fingerprint(NamedTuple):
    """What a shard held when it was read, enough to know it again."""

    n_rows: int
    n_stored: int  # scores that take room: cells, or entries of sparse rows
    total: int = 0  # of the bits of all cells, and so the same however rows are cut into blocks
    checksums: tuple[int, ...] = (0,) * 5  # of some rows of each array, in their order

    def with_block(self, rows: Rows) -> "Fingerprint":
        """Return the same with one more block."""
        first = -self.n_rows % _ONE_ROW_IN
        parts = map(_readable, (rows.y_true, rows.y_score, rows.sample_weight))
        total, checksums = self.total, []
        before = iter(self.checksums)
        for part, n_arrays in zip(parts, (2, 2, 1), strict=True):
            some = _cells(part, slice(first, None, _ONE_ROW_IN))
            total += sum(map(_sum_of_bits, _cells(part, slice(None))))
            absent = [_NO_CELLS] * (n_arrays - len(some))
            checksums += [_checksum(cells, next(before)) for cells in some + absent]
        return Fingerprint(
            self.n_rows + n_rows_of(rows.y_score),
            self.n_stored + n_stored_of(rows.y_score),
            total % 2**32,
            tuple(checksums),
        )


class WeightsOfBlock(NamedTuple):
    """The weights of the rows of a block, and where it begins."""

    shard: int  # its number
    in_shard: int  # rows of the same shard before the block
    weights: Floats  # (n_rows,)


class Task(NamedTuple):
    """A shard to be read."""

    shard: Shard
    begin: Place


class Read(NamedTuple):
    """What came of a shard."""

    number: int
    seen: Fingerprint
    sum: Any  # of what was made of its blocks, None without rows


@dataclass
class Passes:
    """Passes over a source, which is to hold the same rows in each."""

    source: BlockSource
    map: Map
    n_jobs: int | None = 1
    bar: "ScoresBar | None" = None
    seen: dict[int, Fingerprint] = field(default_factory=dict)  # by shard, once there was a pass
    _number: int = 1  # of the next pass

    def __post_init__(self) -> None:
        """Refuse a map that cannot be called; blocks of Dask's arrays are Dask's to compute, if no map is given."""
        if not callable(self.map):
            raise InputError(
                f"map is {shown(self.map)}, expected a function that is called as map(function, tasks)"
            )
        if self.is_local and self.source.is_of_dask:
            from thresholds.chunks.through_dask import through_dask

            self.map = through_dask

    @property
    def is_local(self) -> bool:
        """Whether blocks are read by this process."""
        return self.map is map

    @property
    def n_rows(self) -> int:
        """Number of rows, once there was a pass."""
        return sum(seen.n_rows for seen in self.seen.values())

    @property
    def n_stored(self) -> int:
        """Number of scores that take room, once there was a pass."""
        return sum(seen.n_stored for seen in self.seen.values())

    @property
    def n_jobs_within(self) -> int | None:
        """Threads that work on a block: one where threads, or workers, have shards of their own."""
        shares_blocks = self.is_local and len(self.source.shards) < workers(self.n_jobs)
        return self.n_jobs if shares_blocks else 1

    def first_row(self, shard: int) -> int:
        """Return how many rows lie before a shard, once there was a pass."""
        return sum(self.seen[number].n_rows for number in range(shard))

    def weights_of_rows(self, parts: Iterable[WeightsOfBlock]) -> Floats:
        """Return the weights of all rows, (n_rows,), once there was a pass; rows of other blocks weigh 1."""
        weights = np.ones(self.n_rows)
        for shard, in_shard, of_block in parts:
            first = self.first_row(shard) + in_shard
            weights[first : first + of_block.size] = of_block
        return weights

    def add_up(self, work: Work) -> Any:
        """Apply work to all blocks, and add up what comes of them.

        Raises
        ------
        InputError
            Without rows, for other rows than in the pass before, and where `map` does not give one result a task.
        """
        shards = self.source.shards
        tasks = []
        n_rows = n_stored = 0
        for number, shard in enumerate(shards):
            tasks.append(Task(shard, Place(number, 0, n_rows, n_stored)))
            if self.seen:
                n_rows += self.seen[number].n_rows
                n_stored += self.seen[number].n_stored

        function = partial(read_shard, work=work, alone=len(shards) == 1)
        apply = self.map
        if self.is_local:
            stop = Event()
            function = partial(function, step=partial(_step, self.bar, stop))
            apply = partial(_on_threads, n_jobs=self.n_jobs, stop=stop)
        seen: dict[int, Fingerprint] = {}
        total = Sum()

        def progress() -> str:
            return f"in pass {self._number}, after {len(seen)} of {len(tasks)} shards"

        for read in _with_notes(apply(function, tasks), progress):
            self._check(read, seen)
            seen[read.number] = read.seen
            with said_where(partial(_beside, read, seen)):
                total.add(read.sum)
            if self.bar is not None and not self.is_local:
                self.bar.read(read.seen.n_rows, read.seen.n_stored)
            del read  # Else it would take room while the next shard is read.
        if len(seen) < len(tasks):
            raise InputError(
                f"map gave {len(seen)} results for {len(tasks)} tasks, expected one each: some shards were not read"
            )
        self.seen = seen
        if not self.n_rows:
            raise InputError("source has no rows, expected at least one")
        self._number += 1
        if self.bar is not None:
            self.bar.end_pass(self.n_rows)
        return total.value()

    def _check(self, read: object, seen: dict[int, Fingerprint]) -> None:
        """Refuse what is no result, or that of a shard that was read before, or had other rows then."""
        if not isinstance(read, Read):
            raise InputError(
                f"map gave {shown(read)}, expected what the function returns for each task, as Python's map gives"
            )
        if read.number in seen:
            raise InputError(
                f"map gave shard {read.number} twice, expected one result for each task: its rows would count twice"
            )
        before = self.seen.get(read.number)
        if before is None or before == read.seen:
            return
        where = "source" if len(self.source.shards) == 1 else f"shard {read.number} of source"
        found = f"{read.seen.n_rows:,} rows"
        expected = f"the {before.n_rows:,} of the pass before"
        if before.n_rows == read.seen.n_rows:
            found, expected = "other rows", "the same as in the pass before"
        hint = ""
        if not read.seen.n_rows:
            hint = " (a function of blocks has to return a new iterator each time it is called)"
        raise InputError(
            f"{where} has {found} in pass {self._number}, expected {expected}: rows are read several times{hint}"
        )


def read_shard(
    task: Task, *, work: Work, alone: bool = False, step: Callable[[int, int], Any] | None = None
) -> Read:
    """Read a shard block by block, and add up what work makes of the blocks."""
    seen = Fingerprint(0, 0)
    total = Sum(in_place=True)
    shard, begin = task
    where = "" if alone else f"in shard {begin.shard}, "
    with said_where(lambda: where_in(shard, where, seen.n_rows)):
        for rows in blocks_of(shard):
            place = Place(
                begin.shard, seen.n_rows, begin.rows + seen.n_rows, begin.stored + seen.n_stored
            )
            total.add(work(rows, place))
            seen = seen.with_block(rows)
            if step is not None:
                step(n_rows_of(rows.y_score), n_stored_of(rows.y_score))
    return Read(begin.shard, seen, total.value())


class Sum:
    """What is added up as it comes: a stack of sums, each at least twice as large as the next.

    Where nobody else has the parts, they are added by `+=`: in place, if they know how.
    """

    def __init__(self, *, in_place: bool = False) -> None:
        self._in_place = in_place
        self._stack: list[Any] = []

    def add(self, part: Any) -> None:
        """Add a part, of the kind of those before; None is nothing."""
        if part is None:
            return
        kind = getattr(part, "kind", None)
        if kind is not None and self._stack:
            # Parts meet later, when nobody knows where they came from.
            before = self._stack[-1].kind
            if getattr(part, "puts_in_order", False):
                kind = kind.ordered_as(before)
            before.refuse_other(kind, "a block", "as in those before")
        while self._stack and _size(self._stack[-1]) < 2 * _size(part):
            part = self._joined(self._stack.pop(), part)
        self._stack.append(part)

    def value(self) -> Any:
        """Return the sum of all, None of nothing."""
        while len(self._stack) > 1:
            last = self._stack.pop()
            self._stack.append(self._joined(self._stack.pop(), last))
        return self._stack[0] if self._stack else None

    def _joined(self, total: Any, part: Any) -> Any:
        """Return the sum of both."""
        if self._in_place:
            total += part
            return total
        return total + part


class ScoresBar(Bar):
    """One bar for all passes, of which so many are expected; a row counts as often as it is read."""

    def __init__(self, title: str, n_rows: int | None, n_passes: int) -> None:
        super().__init__(title, (n_rows or 0) * n_passes, unit="rows")
        self._left = n_passes
        self._n_scores = 0

    def read(self, n_rows: int, n_scores: int) -> None:
        """Count rows that were read, and their scores."""
        self._n_scores += n_scores
        self.step(n_rows)

    def speed(self, elapsed: float) -> str:
        """Say how many scores are read in a second."""
        return f", {self._n_scores / elapsed / 1e6:,.3g} million scores/s"

    def end_pass(self, n_rows: int) -> None:
        """Know how many rows there are, and expect a pass more where all that were expected are done."""
        self._left -= 1
        self.total = self.done + max(self._left, 1) * n_rows


def _size(part: Any) -> int:
    """Return about how much memory a part takes; 1 where it does not say."""
    return max(1, getattr(part, "nbytes", 1))


class _Stopped(Exception):
    """Ends the work of a thread whose result nobody waits for."""


def _step(bar: ScoresBar | None, stop: Event, n_rows: int, n_scores: int) -> None:
    """Note that a block was read, and read no other after an interruption: a shard may be long."""
    if stop.is_set():
        raise _Stopped
    if bar is not None:
        bar.read(n_rows, n_scores)


def _on_threads(
    function: Callable[[Task], Read], tasks: Sequence[Task], n_jobs: int | None, stop: Event
) -> Iterator[Read]:
    """Apply a function to tasks on threads; few results wait to be taken; at the end, or an error, threads `stop`."""
    n_workers = min(workers(n_jobs), len(tasks))
    if n_workers < 2:
        yield from map(function, tasks)
        return
    pool = ThreadPoolExecutor(n_workers)
    waiting = iter(tasks)
    try:
        running: list[Future[Read]] = [
            pool.submit(function, task) for task in islice(waiting, 2 * n_workers)
        ]
        while running:
            yield running.pop(0).result()
            running += [pool.submit(function, task) for task in islice(waiting, 1)]
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _with_notes(results: Iterable[Any], where: Callable[[], str]) -> Iterator[Any]:
    """Return results one by one; what the engine raises is noted to have come up here."""
    try:
        yield from results
    except InputError:
        raise
    except Exception as error:
        error.add_note(f"raised {where()}")
        raise


def _beside(read: Read, seen: dict[int, Fingerprint]) -> str:
    """Say which shard was added to which."""
    others = [number for number in seen if number != read.number]
    return f"in shard {read.number}, beside shard {others[0]}" if others else ""


@contextmanager
def said_where(where: Callable[[], str]) -> Iterator[None]:
    """Say where something failed: in the sentence of a refusal, in a note to any other error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{error} ({where()})") from None
    except Exception as error:
        error.add_note(f"raised {where()}")
        raise


def n_stored_of(matrix: Any) -> int:
    """Return how many scores of a matrix take room: cells, or the entries of a sparse one."""
    if is_sparse(matrix):
        return int(matrix.nnz)
    return math.prod(matrix.shape if hasattr(matrix, "shape") else np.shape(matrix))


def _checksum(cells: Dense, before: int) -> int:
    """Return a checksum of cells that follow others."""
    return (
        zlib.crc32(np.ascontiguousarray(cells).view(np.uint8).data, before)
        if cells.size
        else before
    )


def _readable(part: Any) -> Any:
    """Return a matrix, or weights, as CSR or an array of numbers; None where nothing is given that can be read."""
    if part is None:
        return None
    if is_sparse(part):
        return part.tocsr()
    try:
        cells = part if isinstance(part, np.ndarray) else plain(part, "rows", absent_as_nan=True)
        # Objects are other ones each time they are read.
        return cells.astype(np.float64) if cells.dtype.kind == "O" else cells
    except Exception:  # of whatever library it is: checks say what is wrong with it
        return None


def _cells(part: Any, rows: slice) -> list[Dense]:
    """Return arrays that hold some rows of what is readable."""
    if part is None:
        return []
    if is_sparse(part):
        part = part if rows == slice(None) else part[rows]
        return [part.data, part.indices]
    return [part[rows]]


def _sum_of_bits(cells: Dense) -> int:
    """Return the sum of cells read as whole numbers of at most 32 bits."""
    if not cells.size:
        return 0
    if cells.dtype == np.bool_:
        return int(np.count_nonzero(cells))
    width = math.gcd(cells.itemsize, 4)
    numbers = np.ascontiguousarray(cells).reshape(-1).view(f"u{width}")
    return int(np.add.reduce(numbers, dtype=np.uint32 if width == 4 else np.uint64))
