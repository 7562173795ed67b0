"""Work on threads: in order, with its errors, and a progress bar for those who wait."""

import os
import threading
import time
from collections.abc import Callable, Generator

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds._arrays import threads as engines
from thresholds._arrays.threads import workers
from thresholds._checks import arrays


@pytest.mark.parametrize("n_jobs", [1, 2, 7, None, -1])
def test_results_come_in_the_order_of_the_tasks(n_jobs: int | None) -> None:
    def late(task: int) -> int:
        time.sleep(0.002 * (5 - task % 5))
        return task**2

    assert engines.run(late, range(20), n_jobs=n_jobs) == [task**2 for task in range(20)]
    assert engines.run(late, [], n_jobs=n_jobs) == []


def test_numbers_of_threads_mean_what_they_mean_to_scikit_learn() -> None:
    from joblib import effective_n_jobs

    assert [workers(n_jobs) for n_jobs in (None, 1, 3)] == [effective_n_jobs(n_jobs) for n_jobs in (None, 1, 3)]
    assert 1 <= workers(-1) <= len(os.sched_getaffinity(0))  # fewer where a quota or a variable says so


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_comes_out_and_stops_what_has_not_begun(n_jobs: int) -> None:
    begun = []

    def fail(task: int) -> None:
        begun.append(task)
        time.sleep(0.01)
        raise KeyError(task)

    before = threading.active_count()
    with pytest.raises(KeyError, match="0"):
        engines.run(fail, range(500), n_jobs=n_jobs)
    assert len(begun) < 500
    assert threading.active_count() == before


def test_one_item_is_made_ahead_and_no_more() -> None:
    made, asked = threading.Semaphore(0), []

    def items() -> Generator[int, None, None]:
        for item in range(9):
            asked.append(item)
            if item:
                made.release()
            yield item

    for item in engines.read_ahead(items()):
        assert item == 8 or made.acquire(timeout=9), "the next is made meanwhile"
        time.sleep(0.002)
        assert len(asked) <= item + 2
    assert asked == list(range(9))


def test_whoever_stops_early_leaves_no_thread() -> None:
    closed = []

    def items() -> Generator[int, None, None]:
        try:
            yield from range(9)
        finally:
            closed.append(True)

    before = threading.active_count()
    ahead = engines.read_ahead(items())
    assert next(ahead) == 0
    assert threading.active_count() == before + 1
    ahead.close()
    assert threading.active_count() == before
    assert closed


def test_what_making_an_item_raises_comes_up_in_its_turn() -> None:
    def items() -> Generator[int, None, None]:
        yield 1
        raise KeyError("second")

    ahead = engines.read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(KeyError, match="second"):
        next(ahead)


def test_whoever_is_interrupted_again_as_an_item_is_made_sees_that(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, closed = threading.Event(), threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            yield 1
            busy.set()
            time.sleep(0.02)
        finally:
            closed.set()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    ahead = engines.read_ahead(items())
    assert next(ahead) == 1
    assert busy.wait(9)
    monkeypatch.setattr(engines.threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ahead.throw(KeyboardInterrupt)
    assert closed.wait(9)


def test_short_work_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    engines.run(abs, range(9), n_jobs=2, progress=True, title="labels")
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_that_goes_when_all_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_PATIENCE", 0.0)
    engines.run(abs, range(4), n_jobs=1, progress=True, title="labels")
    out, err = capsys.readouterr()
    assert out == ""
    assert "labels [" in err
    assert "2/4" in err
    assert err.endswith("\r")
    assert err.split("\r")[-2].strip() == ""


def test_a_fit_passes_its_progress_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_PATIENCE", 0.0)
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 2, (50, 3)), rng.random((50, 3))
    for per_label, title in ((True, "labels"), (False, "cells")):
        thresholds.fit_empirical(y_true, y_score, per_label=per_label)
        assert capsys.readouterr().err == ""
        thresholds.fit_empirical(y_true, y_score, per_label=per_label, progress=True)
        assert title in capsys.readouterr().err


@pytest.mark.parametrize("shape", [(3, 50_000), (9_000, 2)])
def test_blocks_of_rows_cover_wide_and_long_data(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    y_true, y_score = (rng.random(shape) < 0.3).astype(np.uint8), rng.random(shape, np.float32)
    rule = thresholds.fit_empirical(y_true, y_score, "samples", per_label=False)
    top = thresholds.fit_top_k(y_true[:, :200], y_score[:, :200])
    for fitted, columns in ((rule, slice(None)), (top, slice(200))):
        truth, decided = y_true[:, columns], fitted.predict(y_score[:, columns])
        hits, size = (truth & decided).sum(axis=1), truth.sum(axis=1) + decided.sum(axis=1, dtype=int)
        f = np.where(size > 0, 2 * hits / np.maximum(size, 1), 0)
        assert fitted.objective == pytest.approx(f.mean(), abs=1e-12)


def test_little_work_starts_no_threads_unless_they_are_asked_for() -> None:
    def threads(**options: object) -> set[int]:
        return set(engines.run(lambda _: (time.sleep(0.002), threading.get_ident())[1], range(6), **options))

    # The caller's thread is one of them.
    here = threading.get_ident()
    assert threads(cells=1000) == {here}
    assert threads(cells=1000, n_jobs=2) > {here}
    if workers(-1) > 1:
        assert threads(cells=10**6) > {here}
        assert threads() > {here}


@pytest.mark.parametrize(
    ("title", "call"),
    [
        ("rows", lambda p, on: thresholds.InstanceRule().predict(p, progress=on)),
        ("rows", lambda p, on: thresholds.InstanceRule().predict(sparse.csr_array(p), progress=on)),
        ("rows", lambda p, on: thresholds.InstanceRule().predict_from_samples([p > 0.5], progress=on)),
        ("probabilities", lambda p, on: thresholds.fit_expected(p, progress=on)),
        ("labels", lambda p, on: thresholds.fit_expected(p, exact=True, progress=on)),
        ("cells", lambda p, on: thresholds.fit_expected(p, per_label=False, progress=on)),
        ("labels", lambda p, on: thresholds.expected_f(p, p > 0.5, exact=True, progress=on)),
        ("labels", lambda p, on: thresholds.calibrate(p > 0.5, p, progress=on)),
        ("labels", lambda p, on: thresholds.fit_regions(p > 0.5, p, progress=on)),
    ],
)
def test_long_work_without_labels_shows_progress_if_asked_to(
    title: str, call: Callable[..., object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engines, "_PATIENCE", -1.0)
    p = np.random.default_rng(0).random((30, 3))
    call(p, False)
    assert capsys.readouterr().err == ""
    call(p, True)
    assert f"{title} [#" in capsys.readouterr().err


def test_checks_of_many_cells_find_the_one_that_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_BLOCK_CELLS", 30)
    truth, scores = np.zeros((200, 7), int), np.zeros((200, 7))
    truth[:, 0] = 1
    for row in (0, 101, 199):
        for found, expected in ((np.nan, "y_score has NaN at"), (np.inf, "y_score has [+]inf at")):
            bad = scores.copy()
            bad[row, 5] = found
            with pytest.raises(thresholds.InputError, match=rf"{expected} row {row}, label 5"):
                thresholds.fit_empirical(truth, bad)
        worse = truth.copy()
        worse[row, 6] = -1
        with pytest.raises(thresholds.InputError, match=rf"y_true has -1 at row {row}, label 6"):
            thresholds.fit_empirical(worse, scores)
    assert thresholds.fit_empirical(truth, scores).objective == pytest.approx(1 / 7)
