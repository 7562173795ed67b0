"""`warmup` says what it did, and where kernels cannot be kept it says so; that nothing is left to be compiled is tested
in tests/integrations/test_warm_process.py, which takes half a minute."""

import os
import threading

import pytest

import thresholds
from tests.kernels.draws import KERNELS
from thresholds import warming
from thresholds._kernels import cache_folders, disk_cache
from thresholds._kernels._jit import StandIns
from thresholds._kernels.disk_cache import Kept
from thresholds.cli import main


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which purposes are served, by calls that do nothing else."""
    served: list[str] = []
    for purpose in warming.PURPOSES:
        monkeypatch.setitem(warming._CALLS, purpose, lambda purpose=purpose: [lambda: served.append(purpose)])
    return served


def test_purposes_are_one_or_several_or_all(calls: list[str]) -> None:
    thresholds.warmup("fit")
    assert calls == ["fit"]
    thresholds.warmup(["judge", "predict"])
    assert calls[1:] == ["predict", "judge"]
    thresholds.warmup()
    assert calls[3:] == ["predict", "fit", "judge"]


@pytest.mark.usefixtures("calls")
def test_no_stand_in_answers_for_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StandIns, "seconds_left", 2.0)
    thresholds.warmup()
    assert StandIns.seconds_left <= 0


def test_what_was_compiled_and_loaded_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def call() -> None:
        Kept.compiled += 2
        Kept.loaded += 1
        Kept.lost.append("No space left on device")

    monkeypatch.setattr(Kept, "lost", ["before"])
    monkeypatch.setitem(warming._CALLS, "predict", lambda: [call])
    done = thresholds.warmup("predict")
    assert (done.compiled, done.loaded, done.lost) == (2, 1, "No space left on device")
    assert str(done).startswith("2 kernels compiled and 1 loaded in 0 s; kept in ")


def test_the_main_thread_compiles_nothing_as_it_is_the_one_that_ctrl_c_reaches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An interrupt that comes while LLVM calls Python is printed there, and lost."""
    threads = []
    monkeypatch.setitem(warming._CALLS, "predict", lambda: [lambda: threads.append(threading.current_thread())])
    thresholds.warmup("predict")
    assert threads
    assert threading.main_thread() not in threads


# The command


def test_the_command_says_how_many_and_where(calls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--for", "fit", "--for", "predict"]) == 0
    assert calls == ["predict", "fit"]
    said = capsys.readouterr()
    assert said.out == f"0 kernels compiled and 0 loaded in 0 s; kept in {disk_cache.folder_of_kernels()}\n"
    assert said.err == "thresholds: compiling kernels, which may take a minute or two\n"


def test_the_command_offers_every_purpose() -> None:
    for purpose in warming.PURPOSES:
        from thresholds.cli.parser import parser

        assert parser().parse_args(["warmup", "--for", purpose]).purposes == [purpose]


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    """The line of an exit with status 1."""
    assert main(["warmup"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_without_a_cache_the_command_compiles_nothing(
    calls: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cache_folders.SWITCH, "0")
    assert refusal(capsys) == (
        "thresholds: error: THRESHOLDS_DISK_CACHE is 0, so that no kernel is kept on disk, expected it unset\n"
    )
    assert calls == []


def test_where_nothing_can_be_written_the_command_names_the_folders(
    calls: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from numba.core.caching import _CacheLocator

    def refuse(_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(_CacheLocator, "ensure_cache_path", refuse)
    said = refusal(capsys)
    assert all(folder in said for folder in cache_folders.folders_tried())
    assert "can be written" in said
    assert "NUMBA_CACHE_DIR" in said
    assert calls == []
    done = thresholds.warmup()
    assert (done.folder, str(done)) == (None, "0 kernels compiled and 0 loaded in 0 s; not kept on disk")


def test_a_kernel_that_was_not_kept_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Kept, "lost", [])
    for purpose in warming.PURPOSES:
        monkeypatch.setitem(warming._CALLS, purpose, lambda: [lambda: Kept.lost.append("No space left on device")])
    assert "has not kept every kernel: No space left on device" in refusal(capsys)


# Read-only memory


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_read_only_arrays_have_no_kernels_of_their_own() -> None:
    import numpy as np

    kernel = KERNELS["sorting.sorted_with_rows"]
    keys = np.array([3, 1, 2], np.uint32)
    keys_up, rows = kernel(keys)
    before = set(kernel.dispatcher.signatures)
    keys.flags.writeable = False
    for ours, theirs in zip(kernel(keys), (keys_up, rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert set(kernel.dispatcher.signatures) == before
