"""Where temporary files go, and how much room there is."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from thresholds.errors import InputError, shown

Spill: TypeAlias = str | os.PathLike[str] | Literal["auto"] | None

_SHARE_OF_DISK = 0.5  # of what is free, that nobody asked to be filled
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})  # file systems
_MOUNTS = Path("/proc/mounts")


@dataclass(frozen=True)
class Folder:
    """A folder for temporary files, and how many bytes they may take."""

    path: str
    most: int

    @classmethod
    def of(cls, spill: object) -> "Folder | None":
        """Read the argument `spill`; None is to keep rows in memory.

        "auto" is the folder for temporary files, or /var/tmp, on a disk that has room; None where there is none.

        Raises
        ------
        InputError
            For anything but "auto", None, or a folder that exists.
        """
        if spill is None:
            return None
        if not isinstance(spill, str) or spill != "auto":
            if not isinstance(spill, str | os.PathLike) or not os.path.isdir(spill):
                raise InputError(
                    f"spill is {shown(spill)}, expected a folder that exists, 'auto', or None for none"
                )
            path = os.fsdecode(spill)
            return cls(path, shutil.disk_usage(path).free)
        for path in (tempfile.gettempdir(), "/var/tmp"):
            if os.access(path, os.W_OK) and file_system(path) not in _IN_MEMORY:
                return cls(path, int(_SHARE_OF_DISK * shutil.disk_usage(path).free))
        return None


def file_system(path: str) -> str | None:
    """Return what kind of file system a folder is on, None where the system does not say."""
    try:
        lines = _MOUNTS.read_text().splitlines()
    except OSError:
        return None
    mounts = [line.split()[1:3] for line in lines if len(line.split()) > 2]
    real = Path(path).resolve()
    over = [(len(point), kind) for point, kind in mounts if real.is_relative_to(point)]
    return max(over, default=(0, None))[1]
