"""Scores moved by whole registers come where those moved one by one do, which serves who lacks such registers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.draws import WIDE, of_columns
from thresholds._kernels import counting, vectors, wide
from thresholds._kernels.keys import to_keys
from thresholds._kernels.vectors import column_loops, wide_loops

FOLDER = Path(__file__).parents[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(8))
def test_scores_come_where_single_moves_put_them(seed: int, dtype: type) -> None:
    if wide_loops(np.dtype(dtype)) is None:
        pytest.skip("the processor has no such registers")
    scores, low, high, below, place, ends, kept, truth, first, rows = WIDE["wide.collect_between"](
        np.random.default_rng(seed), dtype
    )
    places, expected, highest = place.copy(), kept.copy(), below.copy()
    marks = np.empty(scores.shape, np.uint8)
    counting.mark_between(scores, low, high, marks, highest)
    if rows is None:
        counting.collect(scores, marks, np.arange(low.size), places, expected)
    else:
        own_rows = rows.copy()
        counting.collect_rows(scores, marks, truth, first, places, expected, own_rows)
    wide.collect_between(scores, low, high, below, place, ends, kept, truth, first, rows)
    for got, right in ((place, places), (kept, expected), (below, highest)):
        np.testing.assert_array_equal(got, right)
    if rows is not None:
        np.testing.assert_array_equal(rows, own_rows)

    scores, truth, place, ends, kept = WIDE["wide.collect_marked"](np.random.default_rng(seed), dtype)
    places, expected = place.copy(), kept.copy()
    counting.collect_few(scores, truth.view(np.uint64), np.arange(truth.shape[1]), places, expected)
    wide.collect_marked(scores, truth, place, ends, kept)
    np.testing.assert_array_equal(place, places)
    np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_read_as_one_by_one(dtype: type) -> None:
    for seed in range(20):
        scores, truth, first, found = of_columns(np.random.default_rng(seed), dtype)
        rng, own, all_rows = np.random.default_rng(seed), slice(first, first + len(found)), np.empty(0, np.int64)
        wide.keys_of_columns(scores.view(found.dtype), all_rows, first, found)
        np.testing.assert_array_equal(found, to_keys(np.array(scores[:, own].T, order="C")))
        some_rows = rng.choice(len(scores), rng.integers(1, len(scores) + 1), replace=False)
        of_some = np.empty((len(found), some_rows.size), found.dtype)
        wide.keys_of_columns(scores.view(found.dtype), some_rows, first, of_some)
        np.testing.assert_array_equal(of_some, found[:, some_rows])

        marks = truth[:, own].T > 0
        offsets, true_keys = wide.true_keys_of_columns(truth, first, found)
        np.testing.assert_array_equal(true_keys, found[marks])
        np.testing.assert_array_equal(np.diff(offsets), marks.sum(axis=1))


@pytest.mark.parametrize("fault", ["no registers", "wrong result", "unknown instruction"])
def test_they_are_used_where_they_work_alone(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise ValueError("unknown instruction")

    if fault == "no registers":
        monkeypatch.setattr(vectors, "features_of_processor", lambda: ("+avx", "-avx2", "-avx512f"))
    else:
        monkeypatch.setattr(vectors, "features_of_processor", lambda: ("+avx2",))
        for name in ("_work", "_read_columns"):
            monkeypatch.setattr(vectors, name, fail if fault == "unknown instruction" else lambda *_: False)
        assert column_loops.__wrapped__(np.dtype(np.float32)) is None
    assert wide_loops.__wrapped__(np.dtype(np.float32)) is None


@pytest.mark.parametrize("variable", ["NUMBA_CPU_NAME=generic", "NUMBA_DISABLE_JIT=1"])
def test_what_is_compiled_for_any_processor_or_not_at_all_has_none(variable: str) -> None:
    code = "from thresholds._kernels import vectors; print(vectors.features_of_processor())"
    environment = os.environ | dict([variable.split("=")])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=FOLDER, env=environment, check=True, capture_output=True, text=True
    )
    assert "+avx2" not in done.stdout
    assert "+avx512" not in done.stdout
