"""How many processors this process may use: what `n_jobs=-1` means.

The smallest of these counts:

* the processors that it may run on (affinity: `taskset`, a cpuset of a container, a batch system);
* the processor time that its control groups grant (`docker run --cpus`, `limits.cpu` in Kubernetes, `CPUQuota` in
  systemd): quota / period, rounded up, as threads beyond that only wait for each other;
* what Python is told to count, by `PYTHON_CPU_COUNT` or `-X cpu_count` (`os.process_cpu_count` of Python 3.13; the
  variable is read under older Pythons, too);
* `LOKY_MAX_CPU_COUNT`, by which joblib, and so scikit-learn, is limited.

joblib counts alike, but looks for quotas in `/sys/fs/cgroup` alone, and for nothing of Python's.
"""

import functools
import math
import os
import sys

from thresholds._arrays import cgroups
from thresholds.errors import InputError, shown


def usable() -> int:
    """Return the number of processors that this process may use, at least 1."""
    counts = [
        _by_affinity(),
        _by_quota(),
        _by_python(),
        _by_variable("LOKY_MAX_CPU_COUNT"),
    ]
    return max(min(count for count in counts if count is not None), 1)


def _by_affinity() -> int:
    """Return the number of processors that the process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _by_quota() -> int | None:
    """Return the smallest number of processors by a quota, as it was when it was first asked for."""
    quotas = [quota for folder in cgroups.folders("cpu") for quota in _quotas_of(folder)]
    return min(quotas, default=None)


def _quotas_of(folder: str) -> list[int]:
    """Return the quota of one group in processors, if it has any."""
    # version 2: "150000 100000", or "max 100000"; version 1: two files, -1 for no quota
    words = " ".join(cgroups.lines_of(folder, "cpu.max")).split()
    if not words:
        files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [word for name in files for word in cgroups.lines_of(folder, name)]
    if len(words) != 2 or not all(word.isdigit() and int(word) > 0 for word in words):
        return []
    quota, period = map(int, words)
    return [math.ceil(quota / period)]


def _by_python() -> int | None:
    """Return the number of processors that Python is told to count."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count()
    if os.environ.get("PYTHON_CPU_COUNT") == "default":
        return None
    return _by_variable("PYTHON_CPU_COUNT")


def _by_variable(name: str) -> int | None:
    """Return the number in an environment variable, if it is set."""
    value = os.environ.get(name)
    if not value:
        return None
    try:
        return int(value)
    except ValueError:
        raise InputError(
            f"the environment variable {name} is {shown(value)}, expected a whole number"
        ) from None
