"""Those who wait for kernels to be compiled are told, once, on stderr; what comes from the cache is not compiled."""

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numba
import pytest

from thresholds._kernels import notice
from thresholds._kernels.notice import SWITCH, CompileNotice
from thresholds._kernels.sorting import sorted_with_rows

pytestmark = pytest.mark.slow

WAITS = "thresholds: compiling kernels, which may take a minute,"
LINE = f"{WAITS} once: they are kept in FOLDER; `thresholds warmup` does it beforehand\n"


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH)


class Stream:
    """A stderr that tells when something is written."""

    def __init__(self) -> None:
        self.text, self.written = "", threading.Event()

    def write(self, text: str) -> None:
        self.text += text
        if text.endswith("\n"):
            self.written.set()

    def flush(self) -> None:
        pass


class Timers:
    """Timers that never ring, and the clock that they would go by."""

    def __init__(self, *hours: float) -> None:
        self.hours: Iterator[float] = iter(hours)
        self.seconds: list[float] = []

    def __call__(self, seconds: float, _: object) -> "Timers":
        self.seconds.append(seconds)
        return self

    def start(self) -> None:
        pass

    cancel = start

    def monotonic(self) -> float:
        return next(self.hours)


def by_the_clock(monkeypatch: pytest.MonkeyPatch, *hours: float) -> Timers:
    timers = Timers(*hours)
    monkeypatch.setattr(notice.threading, "Timer", timers)
    monkeypatch.setattr(notice.time, "monotonic", timers.monotonic)
    return timers


def test_a_line_is_printed_while_a_kernel_is_still_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Stream()
    monkeypatch.setattr(sys, "stderr", stderr)
    told = CompileNotice(patience=0.0)
    told.begin("FOLDER")
    assert stderr.written.wait(30)  # before the end
    told.end()
    assert stderr.text == LINE


def test_it_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    told = CompileNotice(patience=0.0)
    for _ in range(3):
        told.begin("FOLDER")
        told.end()
    assert capsys.readouterr().err == LINE


def test_all_kernels_together_have_two_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    timers = by_the_clock(monkeypatch, 10.0, 11.5, 20.0, 20.25, 30.0, 30.5)
    told = CompileNotice()
    for said in ("", "", LINE):
        told.begin("FOLDER")
        told.end()
        assert capsys.readouterr().err == said
    assert timers.seconds == [2.0, 0.5, 0.25]


def test_kernels_within_kernels_count_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    timers = by_the_clock(monkeypatch, 10.0, 11.5, 20.0, 20.25)
    told = CompileNotice()
    for depth in (2, 1):
        for step in (partial(told.begin, "FOLDER"), told.end):
            for _ in range(depth):
                step()
    assert capsys.readouterr().err == ""
    assert timers.seconds == [2.0, 0.5]


class Broken(Stream):
    """A stderr that nobody reads any more."""

    def write(self, text: str) -> None:
        raise BrokenPipeError


CLOSED = io.StringIO()
CLOSED.close()


@pytest.mark.parametrize("stderr", [None, CLOSED, Broken()], ids=["none", "closed", "broken"])
def test_without_a_stderr_nothing_happens(
    stderr: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    told = CompileNotice(patience=0.0)
    told.begin("FOLDER")
    told.end()
    assert told.said
    assert capsys.readouterr().out == ""


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(SWITCH, "0")
    told = CompileNotice(patience=0.0)
    told.begin("FOLDER")
    told.end()
    assert capsys.readouterr().err == ""


def test_short_compilations_on_several_threads_add_up_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two threads that wait for the same second have waited for one."""
    by_the_clock(monkeypatch, 10.0, 11.5, 20.0, 20.75)
    told = CompileNotice()
    threads = [threading.Thread(target=told.begin, args=("FOLDER",)) for _ in range(3)]
    for thread in threads[:2]:
        thread.start()
        thread.join()
    told.end()
    told.end()
    assert capsys.readouterr().err == ""
    threads[2].start()
    threads[2].join()
    told.end()
    assert capsys.readouterr().err == LINE


KERNEL = """
from thresholds._kernels import _jit

@_jit.kernel
def ratio(a, b):
    return a / b
"""
COMPILE = """
import sys, thresholds._kernels
from thresholds._kernels import notice
thresholds._kernels.__path__.append(sys.argv[1])
notice.NOTICE.seconds_left = 0.0
from thresholds._kernels.slow import ratio
print(ratio(1.0, 2.0))
"""
# Where permissions do not hold root back.
READ_ONLY = """
from numba.core.caching import _CacheLocator

def refuse(_):
    raise PermissionError

_CacheLocator.ensure_cache_path = refuse
"""


def compiled(folder: Path, before: str = "", **environment: str) -> str:
    """What a process says on stderr that needs a kernel, which takes long."""
    (folder / "slow.py").write_text(KERNEL)
    command = [sys.executable, "-W", "error", "-c", before + COMPILE, str(folder)]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "home"), **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "0.5\n"
    return done.stderr


def test_compiled_kernels_say_so_and_cached_ones_do_not(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    said = compiled(tmp_path, NUMBA_CACHE_DIR=str(cache))
    (folder,) = cache.iterdir()
    assert said == LINE.replace("FOLDER", str(folder))
    assert compiled(tmp_path, NUMBA_CACHE_DIR=str(cache)) == ""


def test_who_forbade_the_cache_is_told_so(tmp_path: Path) -> None:
    said = compiled(tmp_path, THRESHOLDS_DISK_CACHE="0")
    assert said == f"{WAITS} in every process, as THRESHOLDS_DISK_CACHE is 0: without it they are kept on disk\n"


def test_where_nothing_can_be_written_the_folders_and_the_remedy_are_named(tmp_path: Path) -> None:
    said = compiled(tmp_path, READ_ONLY)
    assert said.startswith(f"{WAITS} in every process, as nothing can be written to ")
    assert f"__pycache__ or {tmp_path / 'home'}" in said
    assert said.endswith(": `thresholds warmup` as a user who can, or NUMBA_CACHE_DIR=FOLDER, keeps them on disk\n")


@pytest.mark.parametrize("place", ["beside", "provided"])
def test_a_kernel_is_loaded_from_a_folder_that_cannot_be_written(place: str, tmp_path: Path) -> None:
    """As it is by another user than who built a container."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if place == "provided" else {}
    assert f"kept in {tmp_path}" in compiled(tmp_path, **environment)
    assert compiled(tmp_path, READ_ONLY, **environment) == ""


def test_what_users_compile_is_their_own() -> None:
    assert notice._is_ours(sorted_with_rows.dispatcher)
    assert not notice._is_ours(numba.njit(test_what_users_compile_is_their_own))
