"""What control groups say about this process: containers and batch systems limit processors and memory by them (Linux).

A process is in one group of each hierarchy (`/proc/self/cgroup`), whose limits, and those of all groups above it, hold
together. Where a hierarchy is mounted is in `/proc/self/mountinfo`; a container may see the lower part of it alone, so
that limits further up cannot be known. Of version 1 there is a hierarchy for each controller, of version 2 one for all;
many systems have both. Sources: the manual pages cgroups(7) and proc_pid_mountinfo(5).
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

_ROOT = "/"  # tests have one of their own


class _Mount(NamedTuple):
    """A hierarchy as this process can see it."""

    group: str  # the group at the top of what is seen, from the root of the hierarchy
    folder: str  # where its files are
    kind: str  # "cgroup" or "cgroup2", of all kinds of file systems
    options: list[str]  # of version 1, controllers among them


def folders(controller: str) -> Iterator[str]:
    """Return the folders of this process's groups of a controller, in each hierarchy from its own group upward."""
    groups = _groups_of_process()
    for mount in _mounts():
        group = None
        if mount.kind == "cgroup2":
            group = groups.get("")
        elif mount.kind == "cgroup" and controller in mount.options:
            group = groups.get(controller)
        if group is not None:
            yield from _upward(_below(group, mount.group), mount.folder)


def lines_of(folder: str, name: str) -> list[str]:
    """Return the lines of a file; none if it is absent or may not be read."""
    try:
        with open(os.path.join(_ROOT, folder.lstrip("/"), name), encoding="utf-8") as file:
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def number_in(folder: str, name: str) -> int | None:
    """Return the number in a file of one number; None if it has another word, as "max", or is absent."""
    lines = lines_of(folder, name)
    return int(lines[0]) if len(lines) == 1 and lines[0].strip().isdigit() else None


def table_in(folder: str, name: str) -> dict[str, int]:
    """Return a file with a name and a number on each line, as `memory.stat`; a unit after the number is left out."""
    words = [line.split() for line in lines_of(folder, name)]
    return {
        line[0].rstrip(":"): int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()
    }


def _groups_of_process() -> dict[str, str]:
    """Return the group of this process by controller; under "", that of version 2."""
    groups = {}
    for line in lines_of("/proc/self", "cgroup"):
        _, _, names_and_group = line.partition(":")
        controllers, _, group = names_and_group.partition(":")
        for controller in controllers.split(","):
            groups[controller] = group
    return groups


def _mounts() -> Iterator[_Mount]:
    """Return all file systems that are mounted."""
    for line in lines_of("/proc/self", "mountinfo"):
        # number, parent, device, root, folder, options and optional fields - kind, source, options
        about, _, system = (part.split(" ") for part in line.partition(" - "))
        if len(about) >= 5 and len(system) >= 3:
            root, folder = map(_unescaped, about[3:5])
            yield _Mount(root, folder, kind=system[0], options=system[2].split(","))


def _unescaped(path: str) -> str:
    r"""Return a path of mountinfo, where blanks are written `\040`."""
    for escaped, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        path = path.replace(escaped, character)
    return path


def _below(group: str, top: str) -> str:
    """Return the way to a group from the one at the top of what is seen; none where it lies elsewhere."""
    top = top.rstrip("/")
    seen = group == top or group.startswith(top + "/")
    way = group[len(top) :] if seen else ""
    return "" if ".." in way.split("/") else way.strip("/")


def _upward(way: str, top: str) -> Iterator[str]:
    """Return the folder at the end of a way from the top, those above it, and the top."""
    parts = way.split("/") if way else []
    for depth in range(len(parts), -1, -1):
        yield "/".join([top, *parts[:depth]])
