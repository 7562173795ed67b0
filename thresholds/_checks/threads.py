"""Threads: how many a call may use, and work on them."""

import numbers
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from thresholds._checks.options import count

Task = TypeVar("Task")
Result = TypeVar("Result")


def workers(n_jobs: int | None) -> int:
    """Give the number of threads: `None` or -1 for all cores the process may use."""
    if n_jobs is None or (isinstance(n_jobs, numbers.Integral) and n_jobs == -1):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return count(n_jobs, "n_jobs", 1)


def on_threads(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_workers: int, after: Callable[[], Any] = lambda: None
) -> list[Result]:
    """Apply `function` to every task; results come in the order of the tasks, and `after` is called for each.

    When it is interrupted, tasks that wait are dropped, and threads joined.
    """

    def finished(result: Result) -> Result:
        after()
        return result

    if n_workers <= 1:
        return [finished(function(task)) for task in tasks]
    pool = ThreadPoolExecutor(n_workers)
    try:
        return [finished(result) for result in pool.map(function, tasks)]
    finally:
        try:
            pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:  # as threads were waited for
            pool.shutdown(wait=True)
            raise
