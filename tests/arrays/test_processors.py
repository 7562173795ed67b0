"""The number of threads follows quotas of containers, affinity, and the variables of Python and of joblib."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.arrays.systems import HIERARCHY_2, FakeSystem, fake_system
from thresholds._arrays import processors
from thresholds._arrays.threads import workers
from thresholds.errors import InputError

V1_CPU = "33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSystem]:
    monkeypatch.setattr(processors, "_by_affinity", lambda: 64)
    monkeypatch.setattr(os, "process_cpu_count", lambda: None, raising=False)
    yield fake_system(tmp_path, monkeypatch)
    processors._by_quota.cache_clear()


def test_without_limits_all_processors_of_the_affinity_are_used(system: FakeSystem) -> None:
    assert workers(-1) == 64


@pytest.mark.parametrize(
    ("quota", "n_threads"),
    [
        ("400000 100000", 4),
        ("150000 100000", 2),
        ("1000 100000", 1),
        ("50000 50000", 1),
        ("max 100000", 64),
        ("9900000 100000", 64),
        ("", 64),
        ("nonsense", 64),
    ],
)
def test_quotas_of_version_2_are_rounded_up(system: FakeSystem, quota: str, n_threads: int) -> None:
    system.in_groups("0::/")
    system.write("/sys/fs/cgroup/cpu.max", quota)
    assert workers(-1) == n_threads


@pytest.mark.parametrize(("quota", "period", "n_threads"), [(250_000, 100_000, 3), (-1, 100_000, 64), (0, 100_000, 64)])
def test_quotas_of_version_1_are_rounded_up(system: FakeSystem, quota: int, period: int, n_threads: int) -> None:
    system.in_groups("4:cpu,cpuacct:/", mounts=(V1_CPU,))
    system.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", str(quota))
    system.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", str(period))
    assert workers(-1) == n_threads


@pytest.mark.parametrize("limited", ["", "/batch.slice", "/batch.slice/job 7", "/batch.slice/job 7/step"])
def test_quotas_of_the_groups_above_count(system: FakeSystem, limited: str) -> None:
    system.in_groups("0::/batch.slice/job 7/step")
    for folder in ("/batch.slice", "/batch.slice/job 7", "/batch.slice/job 7/step"):
        system.write(f"/sys/fs/cgroup{folder}/cpu.max", "max 100000")
    system.write("/sys/fs/cgroup/other.slice/cpu.max", "100000 100000")
    system.write(f"/sys/fs/cgroup{limited}/cpu.max", "300000 100000")
    assert workers(-1) == 3


def test_a_container_that_sees_its_own_part_of_a_hierarchy_finds_its_quota(system: FakeSystem) -> None:
    """Docker mounts the container's group alone, while /proc/self/cgroup has the way from the root of the host."""
    system.in_groups("4:cpu:/docker/ab", mounts=("33 31 0:29 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",))
    system.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000")
    system.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")
    assert workers(-1) == 2


@pytest.mark.parametrize("group", ["0::/../elsewhere", "0::/system.slice/docker-ab.scope"])
def test_a_group_that_cannot_be_seen_leaves_what_is_mounted(system: FakeSystem, group: str) -> None:
    system.in_groups(group)
    system.write("/sys/fs/cgroup/cpu.max", "500000 100000")
    system.write("/sys/fs/elsewhere/cpu.max", "100000 100000")
    assert workers(-1) == 5


def test_both_versions_side_by_side_are_read(system: FakeSystem) -> None:
    system.in_groups(
        "4:cpu,cpuacct:/a", "0::/b", mounts=(V1_CPU, HIERARCHY_2.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
    )
    system.write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "600000")
    system.write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000")
    assert workers(-1) == 6
    processors._by_quota.cache_clear()
    system.write("/sys/fs/cgroup/unified/b/cpu.max", "700000 200000")
    assert workers(-1) == 4


def test_blanks_in_the_name_of_a_folder_are_read(system: FakeSystem) -> None:
    system.in_groups("0::/", mounts=(HIERARCHY_2.replace("/sys/fs/cgroup", r"/my\040groups"),))
    system.write("/my groups/cpu.max", "200000 100000")
    assert workers(-1) == 2


@pytest.mark.parametrize("mounts", [(), ("broken",), ("1 2 3 - cgroup2",), (" - ",)])
def test_files_that_say_nothing_limit_nothing(system: FakeSystem, mounts: tuple[str, ...]) -> None:
    system.in_groups("broken", "0::", mounts=mounts)
    assert workers(-1) == 64


@pytest.mark.parametrize(("value", "n_threads"), [("3", 3), ("100", 64), ("0", 1), ("-2", 1), ("", 64)])
def test_the_variable_of_joblib_limits(
    system: FakeSystem, monkeypatch: pytest.MonkeyPatch, value: str, n_threads: int
) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", value)
    assert workers(-1) == n_threads


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python reads PYTHON_CPU_COUNT itself, when it starts")
@pytest.mark.parametrize(("value", "n_threads"), [("3", 3), ("default", 64)])
def test_the_variable_of_python_limits_under_pythons_that_do_not_know_it(
    system: FakeSystem, monkeypatch: pytest.MonkeyPatch, value: str, n_threads: int
) -> None:
    monkeypatch.setenv("PYTHON_CPU_COUNT", value)
    assert workers(-1) == n_threads


@pytest.mark.skipif(sys.version_info < (3, 13), reason="os.process_cpu_count came with Python 3.13")
def test_what_python_is_told_to_count_limits(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "process_cpu_count", lambda: 5)
    assert workers(-1) == 5


def test_the_smallest_limit_holds(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    system.in_groups("0::/")
    system.write("/sys/fs/cgroup/cpu.max", "600000 100000")
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "7")
    assert workers(-1) == 6
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "5")
    assert workers(-1) == 5
    monkeypatch.setattr(processors, "_by_affinity", lambda: 2)
    assert workers(-1) == 2


def test_a_number_of_threads_that_is_given_is_kept(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert workers(12) == 12


def test_a_variable_that_is_no_number_is_refused(system: FakeSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "two")
    with pytest.raises(InputError, match=r"variable LOKY_MAX_CPU_COUNT is 'two', expected a whole number$"):
        workers(-1)
