"""One cut for all labels against sorting all scores once."""

from functools import partial

import numpy as np
import rivals
from measuring import THREADS, Clock, Measured, Ratio, Row, Scores, Truth, name_shape, shared_data

import thresholds

ROUNDS, SORTED = 3, 2  # rounds of fits, and in how many of them all scores are sorted
CHECKED = 5_000  # rows in which a sweep over sorted cells finds the best cut for the mean F1 of rows
COMPILED, NUMPY = "Numba's compiled `np.sort` of all scores", "NumPy's `np.sort` of all scores"
AVERAGES = ("micro", "samples")


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure interleaved rounds; sorts are on one thread."""
    truth, scores = shared_data(quick)
    calls = {
        f"shared {average}": partial(
            thresholds.fit_empirical,
            truth,
            scores,
            average,
            per_label=False,
            n_jobs=THREADS,  # type: ignore[arg-type]
        )
        for average in AVERAGES
    }
    rules = {name: call() for name, call in calls.items()}  # The first calls, which compile.
    flat = scores.reshape(-1)
    rivals.compiled_sort(flat[:64])
    for turn in range(1 if quick else ROUNDS):
        for name, call in calls.items():
            clock.time(name, call)
        if turn < SORTED:
            clock.time(COMPILED, partial(rivals.compiled_sort, flat))
            upward = clock.time(NUMPY, partial(np.sort, flat))
    best = rivals.best_micro_of_sorted(upward, truth, scores)
    rows = [
        Row(f"{sort} / {name}", clock.median(sort) / clock.median(name), bound, on=name_shape(scores.shape))
        for sort, bound in ((COMPILED, 5), (NUMPY, None))
        for name in calls
    ]
    checks = [rivals.same("shared micro F1 and the best of sorted scores", rules["shared micro"].objective, best)]
    return rows, [*checks, check_rows(truth[:CHECKED], scores[:CHECKED])]


def check_rows(truth: Truth, scores: Scores) -> Ratio:
    """Compare the mean F1 of rows with that of a sweep over all cells, on some rows."""
    rule = thresholds.fit_empirical(truth, scores, "samples", per_label=False, n_jobs=THREADS)
    cut = rivals.best_cut_for_rows(np.argsort(scores, axis=None), scores, truth)
    ours, theirs = (rivals.f1_of_rows(truth, scores, each) for each in (rule.thresholds[0], cut))
    return rivals.same(f"shared mean F1 of rows and a sweep, {len(scores):,} rows", ours, theirs)
