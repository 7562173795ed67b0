"""Macro fits of the same scores in other types and layouts."""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import rivals
from measuring import THREADS, Clock, Measured, Row, Scores, Truth, name_shape, shared_data

import thresholds

ROUNDS = 5
PLAIN, HALF = "float32, C order", "float16"
Matrices = tuple[Truth, npt.NDArray[Any]]


def variants(truth: Truth, scores: Scores, folder: str) -> dict[str, Matrices]:
    """Give truth and scores in each form."""
    saved = Path(folder, "scores.npy")
    np.save(saved, scores)
    return {
        PLAIN: (truth, scores),
        HALF: (truth, scores.astype(np.float16)),
        "float64": (truth, scores.astype(np.float64)),
        "Fortran order": (np.asfortranarray(truth), np.asfortranarray(scores)),
        "read-only memory map": (truth, np.load(saved, mmap_mode="r")),
    }


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure interleaved rounds; pages of the memory map are in memory."""
    truth, scores = shared_data(quick)
    with tempfile.TemporaryDirectory() as folder:
        matrices = variants(truth, scores, folder)
        calls = {
            name: partial(thresholds.fit_empirical, *pair, n_jobs=THREADS)  # type: ignore[arg-type]
            for name, pair in matrices.items()
        }
        rules = {name: call() for name, call in calls.items()}  # The first calls, which compile.
        for _ in range(1 if quick else ROUNDS):
            for name, call in calls.items():
                clock.time(f"macro, {name}", call)
        f1 = {name: rivals.f1_by_label(*matrices[name], rules[name].thresholds) for name in rules}
    coarse = matrices[HALF][1].astype(np.float32)
    f1_coarse = rivals.f1_by_label(truth, coarse, thresholds.fit_empirical(truth, coarse, n_jobs=THREADS).thresholds)
    checks = [
        rivals.same(f"F1 of a label, {name} and {PLAIN}", f1[name], f1_coarse if name == HALF else f1[PLAIN])
        for name in list(rules)[1:]
    ]
    median = {name: clock.median(f"macro, {name}") for name in rules}
    on = name_shape(scores.shape)
    rows = [Row(f"macro, {name} / {PLAIN}", median[name] / median[PLAIN], on=on) for name in list(rules)[1:]]
    return rows, checks
