"""What does not matter: how data lie in memory, in which order and pieces they are read, and with whom."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.engine.checks import CHECKS, check_equal
from tests.engine.draws import Array, Data, draw
from thresholds._engine.best_cuts import best_cuts, best_cuts_within, best_joint_cuts
from thresholds._engine.cuts import Cuts
from thresholds._engine.problem import Problem

SHAPE = (150, 5)


def strided(x: Array) -> Array:
    """Every other row, and every third column, of a larger matrix."""
    return np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]


def in_wider(x: Array) -> Array:
    """Columns of a wider matrix."""
    return np.hstack([x, x[:, ::-1], x])[:, x.shape[1] : -x.shape[1]][:, ::-1]


def read_only(x: Array) -> Array:
    """An array that cannot be written."""
    x = x.copy("K")
    x.flags.writeable = False
    return x


def off_by_a_byte(x: Array) -> Array:
    """Memory that is not aligned."""
    moved = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "in a wider matrix": in_wider,
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "read-only, Fortran": lambda x: read_only(np.asfortranarray(x)),
    "off by a byte": off_by_a_byte,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}
TRUTHS: dict[str, Callable[[Array], Any]] = {
    **{name: (lambda x, name=name: x.astype(name)) for name in ("bool", "uint8", "int64", "float32")},
    "CSR": sparse.csr_array,
    "CSC": lambda x: sparse.csc_array(x.astype(np.int64)),
}


def of_whole_scores(seed: int) -> Data:
    """Scores that all dtypes hold."""
    data = draw("whole", seed, SHAPE)
    return replace(data, scores=np.abs(data.scores // 2))


def all_cuts(data: Data, **options: Any) -> list[Cuts]:
    """What all searches find."""
    within = best_cuts_within(data.problem, data.limits, data.beta, **options)
    return [*within, best_joint_cuts(data.problem, data.beta, **options)]


# How data lie in memory


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_dtypes_of_scores(layout: str, by: str) -> None:
    for seed, dtype in enumerate(("float16", "float32", "float64", "int8", "uint16", "int64")):
        data = of_whole_scores(seed)
        scores = LAYOUTS[layout](data.scores.astype(dtype))
        for truth in (data.unknown_truth, np.asfortranarray(data.unknown_truth)):
            CHECKS["each"](data, data.problem_of(truth, scores), data.labels, 2, layout, dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_dtypes_of_truth(layout: str, by: str) -> None:
    for seed, (name, lay) in enumerate(TRUTHS.items()):
        data = of_whole_scores(seed)
        data = replace(data, known=np.ones(SHAPE, bool))
        scores = np.asfortranarray(data.scores.astype(np.float32))
        truth = LAYOUTS[layout](data.truth.astype(np.uint8 if name != "bool" else bool))
        truth = lay(truth) if name in ("CSR", "CSC") else LAYOUTS[layout](lay(truth))
        CHECKS["each"](data, data.problem_of(truth, scores), data.labels, 2, layout, name)


def test_arrays_on_disk(by: str, tmp_path: Path) -> None:
    for seed, order in enumerate("CF"):
        data = replace(of_whole_scores(seed), known=np.ones(SHAPE, bool))
        np.save(tmp_path / "scores.npy", data.scores.astype(np.float32, order=order))
        np.save(tmp_path / "truth.npy", data.truth.astype(np.uint8, order=order))
        truth, scores = (np.load(tmp_path / name, mmap_mode="r") for name in ("truth.npy", "scores.npy"))
        CHECKS["each"](data, data.problem_of(truth, scores), data.labels, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_goes_in_stays_as_it_is(layout: str, by: str) -> None:
    for seed, kind in enumerate(("normal", "all sizes", "mostly masked")):
        data = draw(kind, seed, SHAPE)
        truth, scores = LAYOUTS[layout](data.truth), LAYOUTS[layout](data.scores)
        before = truth.tobytes(), scores.tobytes()
        data = replace(data, truth=truth, scores=scores, known=np.ones(SHAPE, bool))
        all_cuts(data)
        assert (truth.tobytes(), scores.tobytes()) == before


# The order and the pieces in which they are read


PIECES: list[dict[str, int]] = [{"_STRIPE": 1}, {"_STRIPE": 3, "_BLOCK": 7}, {"_BLOCK": 1}, {"_LEAST_CELLS": 10**9}]


@pytest.mark.parametrize("kind", ["normal", "rounded", "mostly masked", "all sizes"])
def test_the_order_of_rows_and_labels(kind: str, by: str) -> None:
    for seed in range(4):
        data = draw(kind, seed, (300, 7))
        rng = np.random.default_rng(seed)
        rows, labels = rng.permutation(300), rng.permutation(7)
        for found, expected in zip(all_cuts(data.take(rows, labels)), all_cuts(data), strict=True):
            check_equal(found, Cuts(*(values[labels] for values in expected)), kind, seed)


def test_labels_are_searched_each_for_itself(by: str) -> None:
    """In stripes as wide as they are: what one label left in memory is nothing to the next."""
    kinds = [draw(kind, 0, (2000, 20)) for kind in ("useless", "mostly 0", "near 0, widely", "all sizes")]
    order = np.random.default_rng(1).permutation(80)
    scores = np.hstack([data.scores.astype(np.float64) for data in kinds])[:, order]
    truth = np.hstack([data.truth for data in kinds])[:, order]
    together = best_cuts(Problem.of(truth, scores), 1.0, n_jobs=2)
    alone = [best_cuts(Problem.of(truth[:, [label]], scores[:, [label]]), 1.0) for label in range(80)]
    check_equal(together, Cuts(*map(np.concatenate, zip(*alone, strict=True))))


@pytest.mark.parametrize(
    "pieces", [{"_STRIPE": 1}, {"_STRIPE": 3, "_BLOCK": 7}, {"_BLOCK": 1}, {"_LEAST_CELLS": 10**9}]
)
@pytest.mark.parametrize("n_jobs", [1, 3, -1, None])
def test_pieces_and_threads(
    pieces: dict[str, int], n_jobs: int | None, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, kind in enumerate(("rounded", "all sizes")):
        data = draw(kind, seed, (90, 8))
        expected = all_cuts(data, n_jobs=1)
        with monkeypatch.context() as patch:
            for name, value in ({"_LEAST_CELLS": 1} | pieces).items():
                patch.setattr(f"thresholds._engine.columns.{name}", value)
            for found, theirs in zip(all_cuts(data, n_jobs=n_jobs), expected, strict=True):
                check_equal(found, theirs, kind)


@pytest.mark.parametrize("layout", ["C", "Fortran"])
def test_rows_of_a_problem_are_searched_like_copies_of_them(layout: str, by: str) -> None:
    for seed in range(4):
        data = draw("rounded", seed, (180, 6))
        rows = np.random.default_rng(seed).choice(180, 131)
        data = replace(data, scores=LAYOUTS[layout](data.scores), weights=None)
        got = best_cuts(data.problem.at_rows(rows), data.beta)
        check_equal(got, best_cuts(data.take(rows).problem, data.beta), seed)


# Cells that do not count


def test_rows_without_weight_and_cells_of_unknown_truth_are_absent(by: str) -> None:
    """Whatever their scores are."""
    for seed in range(6):
        data = draw("normal", seed, (200, 4))
        rng = np.random.default_rng(seed)
        weights, known = rng.integers(0, 3, 200), rng.random((200, 4)) < 0.7
        data = replace(data, weights=weights, known=known)
        counts = known & (weights > 0)[:, np.newaxis]
        scores = np.where(counts, data.scores, 10 * rng.normal(size=known.shape))
        check_equal(*(best_cuts(each.problem, data.beta) for each in (data, replace(data, scores=scores))))
        check_equal(
            best_cuts(data.problem, data.beta), best_cuts(data.take(np.flatnonzero(weights)).problem, data.beta)
        )


def test_rows_are_worth_their_weights(by: str) -> None:
    """A row of weight 3 is three rows."""
    for seed in range(6):
        data = draw("rounded", seed, (100, 4))
        weights = np.random.default_rng(seed).integers(0, 4, 100)
        found = all_cuts(replace(data, weights=weights))
        expected = all_cuts(replace(data.take(np.repeat(np.arange(100), weights)), weights=None))
        for ours, theirs in zip(found, expected, strict=True):
            check_equal(ours, theirs, seed)
