"""What this process may use: the least of the machine, of its control groups, and of its address space."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.arrays.systems import MIB, FakeSystem, fake_system
from thresholds._arrays import cgroups
from thresholds._arrays.memory import memory_left, memory_limit

V1_MEMORY = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
NO_LIMIT_V1 = 9223372036854771712


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystem:
    made = fake_system(tmp_path, monkeypatch)
    made.has_memory(1000, 700)
    return made


def limit_and_left() -> tuple[float, float]:
    """Return both in MiB."""
    limit, left = memory_limit(), memory_left()
    assert limit is not None
    assert left is not None
    return limit / MIB, left / MIB


def test_without_groups_the_machine_is_the_limit(system: FakeSystem) -> None:
    assert limit_and_left() == (1000, 700)


def test_a_group_of_version_2_limits(system: FakeSystem) -> None:
    system.in_groups("0::/pod/container")
    system.write("/sys/fs/cgroup/pod/container/memory.max", str(400 * MIB))
    system.write("/sys/fs/cgroup/pod/container/memory.current", str(150 * MIB))
    assert limit_and_left() == (400, 250)


def test_pages_of_files_are_free(system: FakeSystem) -> None:
    system.in_groups("0::/")
    system.write("/sys/fs/cgroup/memory.max", str(400 * MIB))
    system.write("/sys/fs/cgroup/memory.current", str(150 * MIB))
    stat = f"anon {30 * MIB}\nfile {120 * MIB}\nshmem {20 * MIB}\nactive_file {40 * MIB}\ninactive_file {60 * MIB}"
    system.write("/sys/fs/cgroup/memory.stat", stat)
    assert limit_and_left() == (400, 350)


def test_a_group_is_slowed_down_before_it_is_killed_and_that_is_a_limit(system: FakeSystem) -> None:
    system.in_groups("0::/")
    system.write("/sys/fs/cgroup/memory.max", str(400 * MIB))
    system.write("/sys/fs/cgroup/memory.high", str(300 * MIB))
    system.write("/sys/fs/cgroup/memory.current", str(100 * MIB))
    assert limit_and_left() == (300, 200)


def test_no_limit_is_no_limit(system: FakeSystem) -> None:
    system.in_groups("0::/", "4:memory:/", mounts=(V1_MEMORY, "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"))
    system.write("/sys/fs/cgroup/memory.max", "max")
    system.write("/sys/fs/cgroup/memory.current", str(500 * MIB))
    system.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", str(NO_LIMIT_V1))
    system.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", str(500 * MIB))
    assert limit_and_left() == (1000, 700)


def test_a_group_of_version_1_limits(system: FakeSystem) -> None:
    system.in_groups("4:memory:/docker/ab", mounts=(V1_MEMORY,))
    folder = "/sys/fs/cgroup/memory/docker/ab"
    system.write(f"{folder}/memory.limit_in_bytes", str(200 * MIB))
    system.write(f"{folder}/memory.usage_in_bytes", str(180 * MIB))
    # Those of the group alone are not those of the group with its children.
    system.write(f"{folder}/memory.stat", f"active_file 0\ninactive_file {MIB}\ntotal_inactive_file {100 * MIB}")
    assert limit_and_left() == (200, 120)


def test_groups_above_limit_what_is_left(system: FakeSystem) -> None:
    system.in_groups("0::/pod/container")
    for folder, limit, used in (("/pod", 500, 480), ("/pod/container", 300, 100)):
        system.write(f"/sys/fs/cgroup{folder}/memory.max", str(limit * MIB))
        system.write(f"/sys/fs/cgroup{folder}/memory.current", str(used * MIB))
    assert limit_and_left() == (300, 20)


def test_a_limit_that_was_lowered_below_what_is_used_leaves_nothing(system: FakeSystem) -> None:
    system.in_groups("0::/")
    system.write("/sys/fs/cgroup/memory.max", str(100 * MIB))
    system.write("/sys/fs/cgroup/memory.current", str(150 * MIB))
    assert limit_and_left() == (100, 0)


def test_without_proc_the_system_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_system(tmp_path, monkeypatch)
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 256, "SC_PAGE_SIZE": MIB}.__getitem__)
    assert limit_and_left() == (256, 256)
    monkeypatch.setattr("os.sysconf_names", {})
    assert (memory_limit(), memory_left()) == (None, None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address spaces are read on Linux")
def test_the_address_space_of_this_process_limits() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31));"
        "from thresholds._arrays.memory import memory_left, memory_limit;"
        "print(memory_limit(), memory_left())"
    )
    limit, left = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert int(limit) <= 2**31
    assert 0 < int(left) < int(limit)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from /proc")
def test_this_machine_is_read() -> None:
    limit, left = memory_limit(), memory_left()
    assert limit is not None
    assert left is not None
    assert 2**26 < left < limit < 2**50
    assert cgroups.lines_of("/proc/self", "cgroup")
