"""How much memory this process may use, and how much of that is left.

Limits are those of the machine, of the control groups that the process is in (containers, Slurm, systemd: `memory.max`
and `memory.high`, of version 1 `memory.limit_in_bytes`), and of its address space (`ulimit -v`). What is left is read
off each of them; pages of files that the system may drop at any time count as free. Swap is not counted.

Systems without `/proc`: macOS tells how much memory it has, not how much is left, and of Windows neither is read.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from thresholds._arrays import cgroups

_KIB = 1024


class _Account(NamedTuple):
    """A limit, and what counts against it, in bytes."""

    limit: int
    used: int


def memory_limit() -> int | None:
    """Return the bytes that this process may use at most, or None where the system does not say."""
    return min((account.limit for account in _accounts()), default=None)


def memory_left() -> int | None:
    """Return the bytes that this process may still ask for, or None where the system does not say."""
    left = min((account.limit - account.used for account in _accounts()), default=None)
    return None if left is None else max(left, 0)


def _accounts() -> Iterator[_Account]:
    """Return all accounts that this process's memory is on."""
    yield from _of_machine()
    for folder in cgroups.folders("memory"):
        yield from _of_group(folder)
    yield from _of_address_space()


def _of_machine() -> Iterator[_Account]:
    """Return the memory of the machine, as /proc tells it, or else the system."""
    kib = cgroups.table_in("/proc", "meminfo")
    if "MemTotal" in kib and "MemAvailable" in kib:
        yield _Account(_KIB * kib["MemTotal"], _KIB * (kib["MemTotal"] - kib["MemAvailable"]))
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield _Account(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), 0)


def _of_group(folder: str) -> Iterator[_Account]:
    """Return the limits of a control group, of version 2 or 1."""
    pages = cgroups.table_in(folder, "memory.stat")
    for prefix, usage, limits in (
        ("", "memory.current", ("memory.max", "memory.high")),
        ("total_", "memory.usage_in_bytes", ("memory.limit_in_bytes",)),
    ):
        # Pages of files are dropped before anything is killed.
        files = sum(pages.get(prefix + kind, 0) for kind in ("active_file", "inactive_file"))
        used = (cgroups.number_in(folder, usage) or 0) - files
        for name in limits:
            limit = cgroups.number_in(folder, name)
            if limit is not None:
                yield _Account(limit, max(used, 0))


def _of_address_space() -> Iterator[_Account]:
    """Return the limit of the address space, where there is one: mapped files count against it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        pages = cgroups.lines_of("/proc/self", "statm")
        used = int(pages[0].split()[0]) * os.sysconf("SC_PAGE_SIZE") if pages else 0
        yield _Account(limit, used)
