"""Fits of thresholds on 200,000 x 400 scores against loops over labels, and against each other."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import rivals
from calls import DIAGNOSED, MACRO, MICRO
from measuring import THREADS, Clock, Measured, Ratio, Row, Scores, Truth, name_shape, shared_data
from rivals import ARGSORT, BLOCK, LOOP, NUMPY_SORT, TORCH

import thresholds

ROUNDS = 5
TORCH_LABELS = 20  # spread over all labels; the time is scaled
ALONE = "macro on 1 thread"


def our_calls(truth: Truth, scores: Scores) -> dict[str, Callable[[], Any]]:
    """Give what is ours, by name."""
    fit = partial(thresholds.fit_empirical, truth, scores, n_jobs=THREADS)
    rule = fit()
    return {
        MACRO: fit,
        MICRO: partial(fit, "micro"),
        ALONE: partial(fit, n_jobs=1),
        DIAGNOSED: partial(thresholds.diagnose, truth, scores, rule, n_jobs=THREADS),
    }


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure interleaved rounds; loops over labels do a part of the labels in each."""
    truth, scores = shared_data(quick)
    n_labels, rounds = scores.shape[1], 1 if quick else ROUNDS
    calls = our_calls(truth, scores)
    found = {name: call() for name, call in calls.items()}  # The first calls, which compile.
    by_loop, by_argsort, starts = np.empty(n_labels), np.empty(n_labels), np.arange(0, n_labels, BLOCK)
    by_numpy = np.empty(n_labels)
    rivals.argsort_cuts(truth[:64], scores[:64], starts, by_argsort)
    for turn in range(rounds):
        for name, call in calls.items():
            clock.time(name, call)
        labels = np.arange(turn, n_labels, rounds)
        clock.time(LOOP, partial(rivals.sklearn_cuts, truth, scores, labels, by_loop))
        clock.time(ARGSORT, partial(rivals.argsort_cuts, truth, scores, starts[turn::rounds], by_argsort))
        clock.time(NUMPY_SORT, partial(rivals.numpy_sort_f1, truth, scores, by_numpy))
        clock.time(MACRO, calls[MACRO])  # again, as the machine is now
    ours = rivals.f1_by_label(truth, scores, found[MACRO].thresholds)
    checks = [rivals.same(f"F1 of a label, macro and {NUMPY_SORT}", ours, by_numpy)]
    checks += [*check(truth, scores, found, {LOOP: by_loop, ARGSORT: by_argsort}), measure_torch(truth, scores, clock)]
    return compare(clock, scores.shape), checks


def measure_torch(truth: Truth, scores: Scores, clock: Clock) -> Ratio:
    """Measure torchmetrics, once, on float32 probabilities of some labels; its F1 is in float32, too."""
    labels = np.linspace(0, scores.shape[1] - 1, TORCH_LABELS).astype(int)
    part, probabilities = truth[:, labels], 1 / (1 + np.exp(-scores[:, labels]))
    with warnings.catch_warnings(action="ignore"):  # So few rows may lack positives.
        rivals.torch_cuts(part[:2000], probabilities[:2000])
    cuts = np.array(clock.time(TORCH, partial(rivals.torch_cuts, part, probabilities)))
    ours = thresholds.fit_empirical(part, probabilities, n_jobs=THREADS).thresholds
    theirs, best = (rivals.f1_by_label(part, probabilities, each) for each in (cuts, ours))
    return rivals.no_higher(f"F1 of a label by {TORCH}", theirs, best)


def check(truth: Truth, scores: Scores, found: dict[str, Any], cuts: dict[str, Any]) -> list[Ratio]:
    """Compare results: F1 of each label, and joint micro F1, counted apart from the package."""
    ours = rivals.f1_by_label(truth, scores, found[MACRO].thresholds)
    cuts = {**cuts, ALONE: found[ALONE].thresholds}
    tp, predicted, positives = rivals.counts_by_label(truth, scores, found[MICRO].thresholds).sum(axis=1)
    return [
        *(
            rivals.same(f"F1 of a label, macro and {name}", ours, rivals.f1_by_label(truth, scores, each))
            for name, each in cuts.items()
        ),
        rivals.same("macro F1, claimed and counted", found[MACRO].objective, ours.mean()),
        rivals.same("joint micro F1, claimed and counted", found[MICRO].objective, 2 * tp / (positives + predicted)),
    ]


def compare(clock: Clock, shape: tuple[int, int]) -> list[Row]:
    """Give all ratios."""
    median, loop = {name: clock.median(name) for name in clock.times}, clock.total(LOOP)
    macro, by_torch = median[MACRO], clock.total(TORCH) * shape[1] / TORCH_LABELS
    row = partial(Row, on=name_shape(shape))
    return [
        row(f"{LOOP} / macro", loop / macro, at_least=60),
        row(f"{ARGSORT} / macro", clock.total(ARGSORT) / macro, at_least=25),
        row(f"{NUMPY_SORT} / macro", median[NUMPY_SORT] / macro, at_least=4),
        row(f"{TORCH} ({TORCH_LABELS} labels, scaled) / macro", by_torch / macro),
        row("joint micro / macro", median[MICRO] / macro, at_most=1.5),
        row(f"{ALONE} / macro", median[ALONE] / macro),
        row(f"{LOOP} / {DIAGNOSED}", loop / median[DIAGNOSED]),
    ]
