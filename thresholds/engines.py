"""Running independent pieces of work on threads, with a progress bar for those who wait."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from thresholds import _checks

Task = TypeVar("Task")
Result = TypeVar("Result")

_PATIENCE = 1.0  # seconds before a progress bar shows
_WIDTH = 30
_WORTH_THREADS = 2**15  # cells


def run(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = None,
    cells: int | None = None,
    progress: bool = False,
    title: str = "",
) -> list[Result]:
    """Apply `function` to every task, on threads; results come in the order of the tasks.

    With `n_jobs=None` no threads are started for fewer than 32,768 `cells`, about which all tasks together are: that
    would take longer than the work.
    """
    bar = Bar(title, len(tasks)) if progress else None
    small = n_jobs is None and cells is not None and cells < _WORTH_THREADS
    n_workers = 1 if small else min(_checks.workers(n_jobs), len(tasks))
    return _checks.on_threads(function, tasks, n_workers, after=(lambda: None) if bar is None else bar.step)


class Bar:
    """A progress bar on stderr: silent for the first second, and gone when all is done."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done = title, total, 0
        self.start = time.monotonic()

    def step(self, by: int = 1) -> None:
        """Count finished tasks."""
        self.done += by
        elapsed = time.monotonic() - self.start
        if elapsed < _PATIENCE:
            return
        filled = _WIDTH * self.done // self.total
        left = elapsed * (self.total - self.done) / self.done
        line = f"{self.title} [{'#' * filled:<{_WIDTH}}] {self.done:,}/{self.total:,}, {left:.0f} s left"
        end = "" if self.done < self.total else "\r" + " " * len(line) + "\r"
        print("\r" + line, end=end, file=sys.stderr, flush=True)
