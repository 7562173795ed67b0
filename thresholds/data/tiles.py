"""A problem in tiles of labels, on threads."""

from collections.abc import Callable
from typing import TypeVar

from thresholds._arrays import threads
from thresholds._arrays.threads import workers
from thresholds.data.problem import Problem, stored

Result = TypeVar("Result")

_WIDEST_TILE = 16  # float32 columns that share a cache line
_TILES_PER_THREAD = 40
_FEW_TILES = 10
_SMALL_TILE = 2**14  # cells: less is not worth a call


def map_tiles(
    problem: Problem,
    function: Callable[[int, int], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
    light: bool = False,
) -> list[Result]:
    """Apply `function` to the first and last label of one tile after another, on threads, in order.

    Only what `function` returns is kept. Tiles are so narrow that, of hundreds of labels, a macro fit takes less than
    a quarter of dense scores and truth on top of them, even if nearly every cell is positive, but have some cells to
    work on. A `light` function makes little beside its tile, and gets wider ones, which are faster to cut.
    """
    per_thread = _FEW_TILES if light else _TILES_PER_THREAD
    width = max(1, min(_WIDEST_TILE, problem.n_labels // (per_thread * workers(n_jobs))))
    width = max(width, _SMALL_TILE * problem.n_labels // max(problem.n_stored, stored(problem.truth), problem.n_labels))
    problem.prepare("labels")
    tiles = [(j, min(j + width, problem.n_labels)) for j in range(0, problem.n_labels, width)]
    size = problem.n_stored
    return threads.run(
        lambda tile: function(*tile), tiles, n_jobs=n_jobs, cells=size, progress=progress, title="labels"
    )
