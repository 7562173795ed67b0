"""`warmup` says what it did, and where kernels cannot be kept it says so; that nothing is left to be compiled is tested
in tests/integrations/test_warm_process.py, which takes half a minute."""

import os

import pytest

import thresholds
from tests.kernels.draws import KERNELS
from thresholds import warming
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


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_what_was_compiled_or_loaded_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    kernel = KERNELS["choosing.upper_hulls"]
    fresh = numba.njit(kernel.py_func, cache=True)  # of which this process has compiled and loaded nothing

    def call() -> None:
        fresh.compile("(int64[::1], int64[::1], int64[::1])")

    monkeypatch.setattr(kernel, "_dispatcher", fresh)
    monkeypatch.setattr(warming.Kernel, "in_use", [kernel])
    monkeypatch.setitem(warming._CALLS, "predict", lambda: [call])
    done = thresholds.warmup("predict")
    assert done.compiled + done.loaded == 1
    assert str(done).endswith(f" s; kept in {fresh.stats.cache_path}")


# The command


def test_the_command_says_how_many_and_where(calls: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup", "--for", "fit", "--for", "predict"]) == 0
    assert calls == ["predict", "fit"]
    said = capsys.readouterr()
    assert said.out == f"0 kernels compiled and 0 loaded in 0 s; kept in {warming.folder_of_kernels()}\n"
    assert said.err == "thresholds: compiling kernels, which may take a minute or two\n"


def test_the_command_offers_every_purpose() -> None:
    for purpose in warming.PURPOSES:
        from thresholds.cli.parser import parser

        assert parser().parse_args(["warmup", "--for", purpose]).purposes == [purpose]


def test_where_nothing_can_be_kept_the_command_compiles_nothing(
    calls: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warming, "folder_of_kernels", lambda: None)
    assert main(["warmup"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "thresholds: error: no folder for compiled kernels can be written, expected one that can,"
        " as NUMBA_CACHE_DIR names one\n"
    )
    assert calls == []
    done = thresholds.warmup()
    assert (done.folder, str(done)) == (None, "0 kernels compiled and 0 loaded in 0 s; not kept on disk")


# Read-only memory


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_read_only_arrays_have_no_kernels_of_their_own() -> None:
    import numpy as np

    kernel = KERNELS["choosing.upper_hulls"]
    steps = np.array([[0, 2, 3], [1, 2, 3], [0, 4, 5]])
    vertices = kernel(*steps)
    before = set(kernel.dispatcher.signatures)
    steps.flags.writeable = False
    for ours, theirs in zip(kernel(*steps), vertices, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert set(kernel.dispatcher.signatures) == before
