"""Of several processes that need a kernel at once, one compiles it; none waits for what does not come."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from thresholds._kernels import _compile_lock
from thresholds._kernels._compile_lock import CompileLock
from thresholds._kernels.notice import SWITCH

pytestmark = pytest.mark.slow

KERNEL = """
from thresholds._kernels import _jit

@_jit.kernel
def ratio(a, b):
    return a / b

@_jit.kernel
def broken(a):
    return a + unknown
"""
PREPARE = """
import sys, thresholds._kernels
from thresholds._kernels._compile_lock import CompileLock
thresholds._kernels.__path__.append(sys.argv[1])
from thresholds._kernels.slow import broken, ratio
ratio.dispatcher, broken.dispatcher
print("ready", flush=True)
input()
"""
COMPILE = "ratio(1.0, 2.0)\nprint(ratio.dispatcher.stats.cache_misses.total())"
WITHOUT_PATIENCE = "CompileLock.patience = 0.1\nratio(1.0, 2.0)\nprint(CompileLock.patience)"
FAIL_AND_STAY = "try:\n    broken(1.0)\nexcept Exception:\n    print('failed', flush=True)\ninput()"


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    before = CompileLock.patience
    yield
    CompileLock.patience = before


def is_free(path: Path) -> bool:
    """Whether a lock can be had at once."""
    CompileLock.patience = 1e-9
    lock = CompileLock(path)
    taken = lock.acquire()
    lock.release()
    return taken


def started(folder: Path, code: str) -> subprocess.Popen[str]:
    """A process that has a kernel at hand that nobody compiled, and waits for a line to go on."""
    (folder / "slow.py").write_text(KERNEL)
    command = [sys.executable, "-W", "error", "-c", PREPARE + code, str(folder)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), SWITCH: "0"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def lock_file(folder: Path, kernel: str) -> Path:
    """The lock of a kernel, beside its cache, whose folder Numba names."""
    (cache,) = (folder / "cache").iterdir()
    return cache / f"thresholds._kernels.slow.{kernel}.lock"


def test_one_of_two_processes_compiles_a_kernel(tmp_path: Path) -> None:
    processes = [started(tmp_path, COMPILE) for _ in range(2)]
    for process in processes:
        go(process)
    compiled = [process.communicate() for process in processes]
    assert sorted(compiled) == [("0\n", ""), ("1\n", "")]


@pytest.mark.soak
def test_who_waits_in_vain_compiles_and_waits_no_more(tmp_path: Path) -> None:
    process = started(tmp_path, WITHOUT_PATIENCE)
    lock = CompileLock(lock_file(tmp_path, "ratio"))
    assert lock.acquire()
    assert process.communicate("\n") == ("0.0\n", "")
    lock.release()


def test_a_kernel_that_cannot_be_compiled_is_not_waited_for(tmp_path: Path) -> None:
    process = started(tmp_path, FAIL_AND_STAY)
    go(process)
    assert process.stdout is not None
    assert process.stdout.readline() == "failed\n"
    path = lock_file(tmp_path, "broken")
    assert path.exists()
    assert is_free(path)
    process.communicate("\n")


def test_a_dead_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kernel.lock"
    hold = (
        "import os, pathlib, sys\nfrom thresholds._kernels._compile_lock import CompileLock\n"
        "lock = CompileLock(pathlib.Path(sys.argv[1]))\nassert lock.acquire()\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", hold, str(path)], check=True)
    assert path.exists()
    assert is_free(path)


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "kernel.lock"
    lock = CompileLock(path)
    assert lock.acquire()
    assert not is_free(path)
    lock.release()
    assert is_free(path)


def test_where_nothing_can_be_written_nobody_waits(tmp_path: Path) -> None:
    assert not CompileLock(tmp_path / "missing" / "kernel.lock").acquire()


def test_where_nothing_can_be_locked_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(_compile_lock.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_compile_lock, "_lock", refuse)
    assert not CompileLock(tmp_path / "kernel.lock").acquire()
    assert CompileLock.patience > 0


HOLD_AND_FORK = """
import os, pathlib, sys, time
from thresholds._kernels._compile_lock import CompileLock
assert CompileLock(pathlib.Path(sys.argv[1])).acquire()
if os.fork() == 0:
    print("forked", flush=True)
    time.sleep(60)
    os._exit(0)
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_child_does_not_keep_the_lock_of_a_parent_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "kernel.lock"
    command = [sys.executable, "-c", HOLD_AND_FORK, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        try:
            assert not is_free(path)
            process.kill()
            process.wait()
            assert is_free(path)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


WAIT_FOR_ANOTHER = """
import os, pathlib, signal, sys
from thresholds._arrays.threads import on_threads
from thresholds._kernels._compile_lock import CompileLock

signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell has jobs in the background ignore it.

def wait(_):
    os.write(1, b"waiting\\n")  # in one piece, unlike what `print` writes
    return CompileLock(pathlib.Path(sys.argv[1])).acquire()

try:
    on_threads(wait, range(2), 2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    path = tmp_path / "kernel.lock"
    lock = CompileLock(path)
    assert lock.acquire()
    command = [sys.executable, "-c", WAIT_FOR_ANOTHER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == 2 * ["waiting\n"]
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    lock.release()
    assert said == "interrupted\n"
