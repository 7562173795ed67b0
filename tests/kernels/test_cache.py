"""Kernels are kept on disk where a folder can be written; that one is compiled is said once, on stderr."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from thresholds._kernels import notice
from thresholds._kernels.notice import SWITCH, Notice, say

WAITS = "thresholds: compiling kernels, which may take a minute,"
LINE = f"{WAITS} once: they are kept in FOLDER; `thresholds warmup` does it beforehand\n"
IN_EVERY_PROCESS = f"{WAITS} in every process, as no folder for them can be written: NUMBA_CACHE_DIR=FOLDER names one\n"

KERNEL = """
from thresholds._kernels import _jit

@_jit.kernel
def half(a):
    return a / 2

@_jit.kernel
def ratio(a, b):
    return half(a) / half(b)
"""
COMPILE = """
import sys, thresholds._kernels
thresholds._kernels.__path__.append(sys.argv[1])
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

FULL = """
from numba.core.caching import IndexDataCacheFile

def refuse(*_):
    raise OSError("No space left on device")

IndexDataCacheFile._save_data = refuse
"""


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH)
    monkeypatch.setattr(Notice, "given", False)


def compiled(folder: Path, before: str = "", numbers: str = "1.0, 2.0", **environment: str) -> str:
    """What a process says on stderr that needs kernels."""
    (folder / "slow.py").write_text(KERNEL)
    code = before + COMPILE.replace("1.0, 2.0", numbers)
    command = [sys.executable, "-W", "error", "-c", code, str(folder)]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "home"), **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "0.5\n"
    return done.stderr


@pytest.mark.slow
def test_what_is_compiled_is_said_and_kept_and_then_loaded_without_a_word(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    said = compiled(tmp_path, NUMBA_CACHE_DIR=str(cache))
    (folder,) = cache.iterdir()
    assert said == LINE.replace("FOLDER", str(folder))
    assert compiled(tmp_path, NUMBA_CACHE_DIR=str(cache)) == ""


@pytest.mark.slow
def test_where_no_folder_can_be_written_each_process_compiles(tmp_path: Path) -> None:
    assert compiled(tmp_path, READ_ONLY) == IN_EVERY_PROCESS


def cut_short(kind: str) -> Callable[[Path], None]:
    """Leave the first bytes of files, as a full disk or a crash does."""

    def damage(folder: Path) -> None:
        for path in folder.glob(f"*/*.{kind}"):
            path.write_bytes(path.read_bytes()[:20])

    return damage


def take_for_others(folder: Path) -> None:
    """Leave in each file what was compiled for other types, as two processes may that compile at once."""
    for first in folder.glob("*/*.1.nbc"):
        second = first.with_name(first.name.replace(".1.nbc", ".2.nbc"))
        first.write_bytes(second.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("damage", [cut_short("nbi"), cut_short("nbc"), take_for_others])
def test_what_cannot_be_used_is_compiled_anew_and_kept(damage: Callable[[Path], None], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for numbers in ("1.0, 2.0", "1, 2"):
        compiled(tmp_path, numbers=numbers, NUMBA_CACHE_DIR=str(cache))
    damage(cache)
    assert compiled(tmp_path, NUMBA_CACHE_DIR=str(cache)).startswith(WAITS)
    assert compiled(tmp_path, NUMBA_CACHE_DIR=str(cache)) == ""


@pytest.mark.slow
def test_what_cannot_be_written_is_compiled_all_the_same(tmp_path: Path) -> None:
    assert compiled(tmp_path, FULL, NUMBA_CACHE_DIR=str(tmp_path / "cache")).startswith(WAITS)


@pytest.mark.slow
def test_without_compilation_nothing_is_said(tmp_path: Path) -> None:
    assert compiled(tmp_path, NUMBA_DISABLE_JIT="1") == ""


def test_it_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        say("FOLDER")
    assert capsys.readouterr().err == LINE


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(SWITCH, "0")
    say("FOLDER")
    assert capsys.readouterr().err == ""


def test_without_a_stderr_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice.sys, "stderr", None)
    say("FOLDER")
    assert not Notice.given
