"""Files of /proc and /sys as machines and containers have them, in a folder of the test."""

from pathlib import Path

import pytest

from thresholds._arrays import cgroups, memory, processors

MIB = 2**20
HIERARCHY_2 = "31 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"


class FakeSystem:
    """A system of which this process is told: its groups, what is mounted, and files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        """Write one file, with a line end, as the kernel does."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")

    def in_groups(self, *groups: str, mounts: tuple[str, ...] = (HIERARCHY_2,)) -> None:
        """Put this process into groups, as `/proc/self/cgroup` has them."""
        self.write("/proc/self/cgroup", "\n".join(groups))
        self.write("/proc/self/mountinfo", "\n".join(["22 27 0:21 / /proc rw - proc proc rw", *mounts]))

    def has_memory(self, total: int, available: int) -> None:
        """Set the machine's memory, in MiB."""
        self.write("/proc/meminfo", f"MemTotal: {1024 * total} kB\nMemAvailable: {1024 * available} kB\nHugePages: 0")


def fake_system(root: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystem:
    """Return a system without any files, which this process is shown from now on."""
    monkeypatch.setattr(cgroups, "_ROOT", str(root))
    monkeypatch.setattr(memory, "_of_address_space", lambda: iter(()))
    for name in ("LOKY_MAX_CPU_COUNT", "PYTHON_CPU_COUNT"):
        monkeypatch.delenv(name, raising=False)
    processors._by_quota.cache_clear()
    return FakeSystem(root)
