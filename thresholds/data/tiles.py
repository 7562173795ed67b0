"""A problem in tiles of labels, on threads."""

from collections.abc import Callable
from typing import TypeVar

from thresholds._arrays import threads
from thresholds._arrays.blocks import in_pieces
from thresholds._arrays.threads import workers
from thresholds.data.matrices import stored
from thresholds.data.problem import Problem

Result = TypeVar("Result")

_MAX_LABELS = 16  # of a tile: float32 columns that share a cache line
_TILES_PER_THREAD = 40
_LIGHT_TILES_PER_THREAD = 10
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
    return threads.run(
        lambda labels: function(labels.start, labels.stop),
        list(in_pieces(slice(0, problem.n_labels), width)),
        n_jobs=n_jobs,
        cells=problem.n_stored,
        progress=progress,
        title="labels",
    )
