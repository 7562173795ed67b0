"""A problem in tiles of labels, on threads."""

import itertools
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from thresholds._arrays import threads
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces
from thresholds._arrays.matrices import stored
from thresholds._arrays.threads import workers
from thresholds.data.problem import Problem

Result = TypeVar("Result")


class Pass(NamedTuple):
    """What is to be done with each tile of labels, as `map_tiles` takes it."""

    function: Callable[[int, int], Any]
    light: bool = False


# A fit that passes over the tiles some times: it is sent what came of each pass, a result a tile.
Passes: TypeAlias = Generator[Pass, list[Any], Result]

_MAX_LABELS = 16  # of a tile: float32 columns that share a cache line
_TILES_PER_THREAD = 40
_LIGHT_TILES_PER_THREAD = 10
_GROUPS_PER_THREAD = 8  # which are as much of the cells as all threads copy at a time
_MIN_CELLS = 2**14  # of a tile: less is not worth a call
_MIN_CELLS_OF_STEPS = 2**18  # nor a hundred calls
_MIN_TILES_PER_THREAD = 3


def map_tiles(
    problem: Problem,
    function: Callable[[int, int], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
    light: bool = False,
    in_steps: bool = False,
) -> list[Result]:
    """Apply `function` to the first and last label of one tile after another, on threads, in order.

    Only what `function` returns is kept. Tiles are so narrow that, of hundreds of labels, a macro
    fit takes less than a quarter of dense scores and truth on top of them, even if nearly every
    cell is positive, but have some cells to work on. A `light` function makes little beside its
    tile, and gets wider ones, which are faster to cut. A function that works `in_steps`, each of
    which is a call or more of NumPy, gets more cells to work on: up to 256 K, some tens of MB.
    """
    # As wide as leaves enough tiles for each thread, but wide enough to be worth a call.
    tiles_per_thread = _LIGHT_TILES_PER_THREAD if light else _TILES_PER_THREAD
    width = max(1, min(_MAX_LABELS, problem.n_labels // (tiles_per_thread * workers(n_jobs))))
    n_cells = max(problem.n_stored, stored(problem.truth), problem.n_labels)
    width = max(width, _MIN_CELLS * problem.n_labels // n_cells)
    if in_steps:
        wider = _MIN_CELLS_OF_STEPS * problem.n_labels // n_cells
        width = max(
            width, min(wider, problem.n_labels // (_MIN_TILES_PER_THREAD * workers(n_jobs)))
        )
    problem.prepare("labels")

    def apply(labels: slice) -> list[Result]:
        if labels.stop - labels.start <= width:
            return [function(labels.start, labels.stop)]
        with problem.reading(labels.start, labels.stop):
            return [function(tile.start, tile.stop) for tile in in_pieces(labels, width)]

    results = threads.run(
        apply,
        _groups_of_tiles(problem.n_labels, width, workers(n_jobs)),
        n_jobs=n_jobs,
        cells=problem.n_stored,
        progress=progress,
        title="labels",
    )
    return list(itertools.chain.from_iterable(results))


def _groups_of_tiles(n_labels: int, width: int, n_workers: int) -> list[slice]:
    """Return labels that are read at once, some tiles of `width` in each: as many for each thread."""
    widest = max(width, min(_MAX_LABELS, n_labels // (_GROUPS_PER_THREAD * n_workers)))
    n_groups = ceil_div(ceil_div(n_labels, widest), n_workers) * n_workers
    return list(equal_parts(slice(0, n_labels), n_groups))


def in_passes(
    problem: Problem, fit: Passes[Result], *, n_jobs: int | None = -1, progress: bool = False
) -> Result:
    """Run a fit that passes over the tiles of a problem."""
    return side_by_side(problem, [fit], n_jobs=n_jobs, progress=progress)[0]


def side_by_side(
    problem: Problem,
    fits: Sequence[Passes[Result]],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Run fits to the same labels: each tile is passed over by one after the other, while it is in the cache."""
    results: dict[int, Result] = {}
    came_of: dict[int, list[Any] | None] = dict.fromkeys(range(len(fits)))
    while came_of:
        # What each fit that is not done wants of the next pass.
        wanted: dict[int, Pass] = {}
        for number, of_tiles in came_of.items():
            try:
                wanted[number] = fits[number].send(of_tiles)  # type: ignore[arg-type]
            except StopIteration as end:
                results[number] = end.value
        if not wanted:
            break

        one_of_them = next(iter(wanted.values()))
        tiles = map_tiles(
            problem,
            partial(_apply_each, [each.function for each in wanted.values()]),
            n_jobs=n_jobs,
            progress=progress,
            light=one_of_them.light,
        )
        came_of = {
            number: list(of_tiles)
            for number, of_tiles in zip(wanted, zip(*tiles, strict=True), strict=True)
        }
    problem.forget()
    return [results[number] for number in range(len(fits))]


def _apply_each(functions: Sequence[Callable[[int, int], Any]], first: int, last: int) -> list[Any]:
    """Apply functions to one tile."""
    return [function(first, last) for function in functions]
