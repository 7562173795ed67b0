"""Running independent pieces of work on threads, with a progress bar for those who wait."""

import numbers
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from thresholds.errors import InputError, shown

Task = TypeVar("Task")
Result = TypeVar("Result")
Item = TypeVar("Item")

ALL_CORES = -1

# `interrupted`: the event of the outermost run that this thread works for, set by Ctrl-C.
_RUN = threading.local()

_PATIENCE = 1.0  # seconds before a progress bar shows
_WIDTH = 30
_WORTH_THREADS = 2**15  # cells


def workers(n_jobs: int | None) -> int:
    """Return the number of threads, as scikit-learn counts them: `None` is one, -1 all cores the process may use.

    Quotas of containers count, as `processors.py` says.
    """
    check_n_jobs(n_jobs)
    if n_jobs is None:
        return 1
    if n_jobs == ALL_CORES:
        from thresholds._arrays import processors  # read when first needed

        return processors.usable()
    return int(n_jobs)


def check_n_jobs(n_jobs: object) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is None:
        return
    if (
        isinstance(n_jobs, bool)
        or not isinstance(n_jobs, numbers.Integral)
        or (n_jobs < 1 and n_jobs != ALL_CORES)
    ):
        raise InputError(
            f"n_jobs is {shown(n_jobs)}, expected a whole number of at least 1, -1 for all cores, or None for one"
        )


def run(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    n_jobs: int | None = ALL_CORES,
    at_most: int | None = None,
    cells: int | None = None,
    progress: bool = False,
    title: str = "",
) -> list[Result]:
    """Apply `function` to every task, on threads; results come in the order of the tasks.

    No more than `at_most` tasks, which may have threads of their own, are done at a time. With `n_jobs=-1` no threads
    are started for fewer than 32,768 `cells`, about which all tasks together are: that would take longer than the work.
    """
    bar = ProgressBar(title, len(tasks)) if progress else None
    check_n_jobs(n_jobs)
    n_workers = min(len(tasks) if at_most is None else at_most, len(tasks))
    if n_jobs == ALL_CORES and cells is not None and cells < _WORTH_THREADS:
        n_workers = 1
    if n_workers > 1:
        n_workers = min(workers(n_jobs), n_workers)
    return on_threads(function, tasks, n_workers, after=(lambda: None) if bar is None else bar.step)


def on_threads(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_workers: int,
    after: Callable[[], Any] = lambda: None,
) -> list[Result]:
    """Apply `function` to every task; results come in the order of the tasks, and `after` is called for each.

    The caller's thread is one of so many workers: a pool takes longer to start than a small piece of work. When it is
    interrupted, or a task fails, tasks that have not begun are dropped, and threads joined (but for one that is just
    being started, and finds nothing to do).
    """
    # Within a task of another run, what interrupts that is for this one, too.
    outer: threading.Event | None = getattr(_RUN, "interrupted", None)
    work = _Work(function, list(tasks), after, threading.Event() if outer is None else outer)
    others: list[threading.Thread] = []
    try:
        for _ in range(min(n_workers, len(work.tasks)) - 1):
            others.append(threading.Thread(target=work.go_on))
            others[-1].start()
        work.go_on()
        work.wait_for(others)
    except BaseException as error:
        # Ctrl-C between tasks, or as threads were waited for; or a thread did not start.
        work.stop(error)
        work.wait_for(others)
        raise
    if work.errors:
        raise work.first_error()
    return [work.results[place] for place in range(len(work.tasks))]


class _Work(Generic[Task, Result]):
    """Tasks that threads take one after another, and what has come of them."""

    def __init__(
        self,
        function: Callable[[Task], Result],
        tasks: list[Task],
        after: Callable[[], Any],
        interrupted: threading.Event,
    ) -> None:
        self.function, self.tasks, self.after = function, tasks, after
        self.results: dict[int, Result] = {}
        self.errors: dict[int, BaseException] = {}
        self._interrupted = interrupted
        self._left = iter(range(len(tasks)))
        self._lock = threading.Lock()

    def go_on(self) -> None:
        """Do what nobody does yet, until nothing is left, or one task fails."""
        before = getattr(_RUN, "interrupted", None)
        try:
            _RUN.interrupted = self._interrupted
            while (place := self._next()) is not None:
                try:
                    if self._interrupted.is_set():
                        raise KeyboardInterrupt
                    self.results[place] = self.function(self.tasks[place])
                    with self._lock:
                        self.after()
                except BaseException as error:
                    self.errors[place] = error
                    self.stop(error)
        finally:
            _RUN.interrupted = before

    def _next(self) -> int | None:
        """Take the place of a task that nobody has begun."""
        with self._lock:
            return next(self._left, None)

    def stop(self, error: BaseException) -> None:
        """Drop the tasks that have not begun; after Ctrl-C, those of all runs within the outermost."""
        self._left = iter(range(0))
        if isinstance(error, KeyboardInterrupt):
            self._interrupted.set()

    def wait_for(self, others: list[threading.Thread]) -> None:
        """Wait until other threads have finished what they do."""
        for thread in others:
            if thread.ident is not None:
                thread.join()

    def first_error(self) -> BaseException:
        """Return Ctrl-C, or the error of the first task that failed, and keep none: it holds what was at work."""
        first = min(self.errors)
        presses = (error for error in self.errors.values() if isinstance(error, KeyboardInterrupt))
        error = next(presses, self.errors[first])
        self.errors.clear()
        return error


def read_ahead(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """Return items one after another; while one is used, a thread makes the next, and no more than that.

    It is for what waits for a disk, or works without Python's lock. What making an item raises comes up in its turn.
    Whoever stops early closes this iterator, which joins the thread. It is the thread that closes `items`: nobody else
    may while it makes one.
    """
    thread = ThreadPoolExecutor(1)
    try:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
    finally:
        thread.submit(items.close)
        thread.shutdown()


class ProgressBar:
    """A progress bar on stderr: silent for the first second, and gone when all is done.

    A `total` of 0 is not known yet. With a `unit` the bar says how many scores are read in a second, of which each unit
    has `scores`.
    """

    def __init__(
        self, title: str, total: int, *, unit: str = "", scores: int | None = None
    ) -> None:
        self.title, self.total, self.done = title, total, 0
        self.unit, self.scores = unit, scores
        self.start = time.monotonic()
        self._shown = 0  # characters

    def step(self, by: int = 1) -> None:
        """Count finished tasks."""
        self.done += by
        elapsed = time.monotonic() - self.start
        if elapsed < _PATIENCE or not self.done:
            return
        line = self._line(elapsed)
        print("\r" + line.ljust(self._shown), end="", file=sys.stderr, flush=True)
        self._shown = len(line)
        if self.done == self.total:
            self.close()

    def close(self) -> None:
        """Wipe the bar out."""
        if self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=sys.stderr, flush=True)
        self._shown = 0

    def _line(self, elapsed: float) -> str:
        """Say what is done, how fast, and how long the rest takes at that speed."""
        unit = self.unit and f" {self.unit}"
        if self.total < max(self.done, 1):
            return f"{self.title} {self.done:,}{unit}{self.speed(elapsed)}"
        filled = _WIDTH * self.done // self.total
        left = elapsed * (self.total - self.done) / self.done
        return (
            f"{self.title} [{'#' * filled:<{_WIDTH}}] {self.done:,}/{self.total:,}{unit}{self.speed(elapsed)},"
            f" {left:.0f} s left"
        )

    def speed(self, elapsed: float) -> str:
        """Say how fast it goes, after a comma; nothing where nobody asks."""
        return ""
