"""Thresholds from more rows than memory holds, wherever they lie: `fit_chunks`.

Rows that this process reads become mapped arrays (`sources/`), and the ordinary fit goes over them. Rows that others
read, as `map` says, are counted where they are read (`counts.py`), in two passes.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeAlias, Unpack

from thresholds._arrays.threads import ProgressBar
from thresholds._checks import Average, InputError, numbers, shown
from thresholds.counts.counts import Counts, added_counts, in_form_of
from thresholds.counts.fitting import refuse_for_counts
from thresholds.counts.ranges import ScoreRanges
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.options import DEFAULTS, FitArguments, FitOptions, with_fit_options
from thresholds.rule import ThresholdRule
from thresholds.rule.capped import CappedRule
from thresholds.sources.folder import Folder, Spill
from thresholds.sources.gathering import GatheredRows, gather, said_where, told_of_shard
from thresholds.sources.growing import GrowingRows
from thresholds.sources.rows import Rows
from thresholds.sources.shards import Shard
from thresholds.sources.source import BlockSource

# Rows are counted together until they take so many bytes: to add bins takes as long as to count some million cells.
_BYTES_AT_ONCE = 2**26
_ADDED_AT_ONCE = 8  # shards: to add some together takes half as long as one by one

Map: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@with_fit_options(DEFAULTS)
def fit_chunks(
    source: object,
    average: Average = "macro",
    *,
    map: Map = map,
    spill: Spill = "auto",
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    **options: Unpack[FitArguments],
) -> ThresholdRule | CappedRule:
    """Fit thresholds on rows that come in blocks: from disk, from a generator, from the workers of an executor.

    The rule is that of `fit_empirical` on all rows at once with the same options, bit for bit, however they are cut
    into blocks, and whoever reads them.

    Parameters
    ----------
    source : where the rows come from, as in `gather`; with `map` anything but an iterator, as it is read twice
    average, and the options from `beta` on : as in `fit_empirical`; with `map`, as in `Counts.fit`
        But for `guard`, whose default is "auto", as in `cross_fit`; None is the best on these rows (docs/guards.md).
    map : applies a function to tasks, and returns or yields the results, in any order: `map(function, tasks)`
        The built-in one (default): this process reads the rows, and keeps them as `gather` does.
        That of an executor, `Client.map` followed by `gather`, and the like: workers read the shards of the source, a
        file or a function each, and count them, in two passes. Function, tasks and results are pickled.
    spill, missing, unknown, label_names : as in `gather`

    Returns
    -------
    ThresholdRule, or a CappedRule around one with `max_predicted_per_row`

    Raises
    ------
    InputError
        As `fit_empirical` and `gather`; with `map`, as `Counts.fit`, for a source that gives other rows the second
        time, and for a `map` that loses results or gives some twice.
        Whatever a source or an engine raises passes, with a note that says in which shard and block it was.

    Notes
    -----
    Memory: that of `fit_empirical` on mapped arrays, which copies a few labels at a time. With `map` a worker takes 64
    MB of rows, and 24 KB for each label.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(10):
    ...         y_true = rng.random((100, 3)) < 0.2
    ...         yield y_true, rng.normal(size=(100, 3)) + y_true
    >>> rule = thresholds.fit_chunks(blocks)
    >>> print(f"{rule.objective:.4f}")
    0.5112
    """
    if not callable(map):
        raise InputError(
            f"map is {shown(map)}, expected a function that is called as map(function, tasks)"
        )
    _refuse_columns(options)
    fit_options = FitOptions(average=average, **options)
    about = _About(missing, unknown, label_names)
    Folder.of(spill)  # Refuses what is none.
    if map is not builtins.map:
        return _fit_counted(source, map, about, fit_options)
    run: Any = {"n_jobs": fit_options.n_jobs, "progress": fit_options.progress}
    rows = gather(source, spill=spill, **about._asdict(), **run)
    options["guard"] = fit_options.guard
    return fit_empirical(rows, average=average, **options)


def _refuse_columns(options: Mapping[str, Any]) -> None:
    """Refuse what has a value for each row, and so comes with the rows."""
    for name in ("sample_weight", "groups"):
        if options.get(name) is not None:
            raise InputError(
                f"{name} is {shown(options[name])}, expected those of a block beside its rows: a mapping with the keys"
                f" y_true, y_score, {name}"
            )


class _About(NamedTuple):
    """What is said of the rows of a source."""

    missing: float
    unknown: object
    label_names: object


class _Task(NamedTuple):
    """A shard to be read, and its number."""

    number: int
    shard: Shard


class _Read(NamedTuple):
    """What was counted in a shard; None without rows."""

    number: int
    counts: Counts | None


def _fit_counted(source: object, map: Map, about: _About, options: FitOptions) -> ThresholdRule:
    """Have others count the shards of a source, and fit the sum."""
    refuse_for_counts(options)
    if isinstance(source, GatheredRows):
        raise InputError(
            f"source is {source!r}, which this process has, expected it without map: others would get copies of it"
        )
    blocks = BlockSource.of(source, label_names=about.label_names, unknown=about.unknown)
    if blocks.is_read_once:
        raise InputError(
            f"source is {shown(source)}, which can be read once, and rows are read twice with map; expected a function"
            " that returns an iterator of blocks anew each time it is called, or a list of such functions"
        )
    if about.label_names is None:
        about = about._replace(label_names=blocks.label_names)
    tasks = [_Task(number, shard) for number, shard in enumerate(blocks.shards)]
    bar = ProgressBar("counting", 2 * len(tasks), unit="shards") if options.progress else None

    def add_up(ranges: ScoreRanges | None) -> Counts:
        # The labels of all shards are put in the order of the first.
        names = about.label_names if ranges is None else ranges.kind.label_names
        of_shards = about._replace(label_names=names)
        work = partial(
            _count,
            about=of_shards,
            ranges=ranges,
            is_alone=len(tasks) == 1,
            at_groups=options.looks_at_groups,
        )
        return _sum(map(work, tasks), len(tasks), bar)

    try:
        counts = add_up(None)
        while (needed := counts.needed_by(options)) is not None:
            found = add_up(needed)
            try:
                counts = counts.with_scores(found)
            except InputError:
                raise InputError(
                    "source has other rows the second time it is read, expected the same: with map rows are read twice"
                ) from None
        return counts.fitted_by(options)
    finally:
        if bar is not None:
            bar.close()


def _count(
    task: _Task, *, about: _About, ranges: ScoreRanges | None, is_alone: bool, at_groups: bool
) -> _Read:
    """Count the rows of a shard, some blocks at a time."""
    number, shard = task
    parts: list[Counts] = []
    rows = GrowingRows(**about._asdict())
    for block, where in told_of_shard(shard, "" if is_alone else f"in shard {number}, "):
        with said_where(where):
            _refuse_rows(block, at_groups=at_groups)
            rows.add(block)
        if rows.nbytes >= _BYTES_AT_ONCE:
            parts.append(_counts_of(rows, ranges))
            # What follows has its labels in the same order.
            about = about._replace(label_names=rows.label_names)
            rows = GrowingRows(**about._asdict())
    if len(rows):
        parts.append(_counts_of(rows, ranges))
    return _Read(number, added_counts(parts) if parts else None)


def _refuse_rows(block: Rows, *, at_groups: bool) -> None:
    """Refuse what counts do not tell of rows."""
    if at_groups and block.groups is not None:
        raise InputError(
            "source has groups, which a guard looks at and counts do not tell; expected none with map, guard=None, or"
            " no map"
        )
    weights = None if block.sample_weight is None else numbers(block.sample_weight, "sample_weight")
    if weights is not None and (weights % 1).any():
        odd = weights[weights % 1 != 0][0]
        raise InputError(
            f"sample_weight has {odd}, expected whole numbers with map, as counts are exact; or no map"
        )


def _counts_of(rows: GrowingRows, ranges: ScoreRanges | None) -> Counts:
    """Count rows that are gathered."""
    found = rows.all()
    return Counts.of(
        found.y_true,
        found.y_score,
        ranges,
        sample_weight=found.sample_weight,
        missing=rows.missing,
        unknown=rows.unknown,
        label_names=rows.label_names,
    )


def _sum(results: Any, n_tasks: int, bar: ProgressBar | None) -> Counts:
    """Add up what was counted in all shards, each of which has to come once."""
    parts: list[_Read] = []
    seen: set[int] = set()
    if not isinstance(results, Iterable):
        raise InputError(f"map gave {shown(results)}, expected the results of all tasks")
    for read in _noted(results, seen, n_tasks):
        if not isinstance(read, _Read):
            raise InputError(
                f"map gave {shown(read)}, expected what the function returns for each task, as Python's map gives"
            )
        if read.number in seen:
            raise InputError(
                f"map gave shard {read.number} twice, expected one result for each task: its rows would count twice"
            )
        seen.add(read.number)
        parts.append(read)
        if len(parts) == _ADDED_AT_ONCE:
            parts = [_added(parts)]
        if bar is not None:
            bar.step(1)
    if len(seen) < n_tasks:
        raise InputError(
            f"map gave {len(seen)} results for {n_tasks} tasks, expected one each: some shards were not read"
        )
    total = _added(parts).counts if parts else None
    if total is None:
        raise InputError("source has no rows, expected at least one")
    return total


def _added(parts: list[_Read]) -> _Read:
    """Add the counts of some shards; where they are of another kind, say which."""
    # Labels are in the order of the first shard, whichever comes first.
    parts = sorted(parts, key=lambda read: read.number)
    counts: list[Counts] = []
    for number, of_shard in parts:
        if of_shard is None:
            continue
        try:
            counts.append(in_form_of(counts[0], of_shard) if counts else of_shard)
        except InputError as error:
            raise InputError(f"{error} (in shard {number})") from None
    return _Read(parts[0].number, added_counts(counts) if counts else None)


def _noted(results: Iterable[Any], seen: set[int], n_tasks: int) -> Iterator[Any]:
    """Return results one by one; what the engine raises is noted to have come up here."""
    try:
        yield from results
    except InputError:
        raise
    except Exception as error:
        error.add_note(f"raised after {len(seen)} of {n_tasks} shards")
        raise
