"""Macro fits of scores that are unlike those of the benchmark, against NumPy's sort of each label."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import rivals
from measuring import THREADS, Clock, Measured, Row, Truth, make_data, name_shape
from rivals import NUMPY_SORT, same

import thresholds

SHAPE, QUICK_SHAPE = (100_000, 64), (20_000, 40)
ROUNDS = 5
PLAIN = "as in the benchmark"
Input = tuple[Truth, npt.NDArray[Any]]


def inputs(shape: tuple[int, int]) -> dict[str, Callable[[], Input]]:
    """Give, by name, what draws truth and scores."""
    truth, scores = make_data(*shape)

    def drawn(base_rate: float, separation: float) -> Input:
        rng = np.random.default_rng(1)
        truth = (rng.random(shape, np.float32) < base_rate).astype(np.uint8)
        truth[0] = 1
        return truth, rng.standard_normal(shape, np.float32) + truth * np.float32(separation)

    def mostly(value: float, share: float, others: npt.NDArray[Any]) -> Input:
        return truth, np.where(np.random.default_rng(2).random(shape) < share, value, others).astype(np.float32)

    def by_label(order: npt.NDArray[np.int64]) -> Input:
        return np.take_along_axis(truth, order, axis=0), np.take_along_axis(scores, order, axis=0)

    shares = 1 / (1 + np.exp(-scores))
    upwards = scores.argsort(axis=0)
    return {
        PLAIN: lambda: (truth, scores),
        "float16": lambda: (truth, scores.astype(np.float16)),
        "int8": lambda: (truth, np.clip(np.rint(20 * scores), -127, 127).astype(np.int8)),
        "rounded to 2 decimals": lambda: (truth, scores.round(2)),
        "rounded to whole numbers": lambda: (truth, scores.round()),
        "votes of 100 trees": lambda: (truth, np.random.default_rng(3).binomial(100, shares).astype(np.float32) / 100),
        "two values": lambda: (truth, (scores > 1).astype(np.float32)),
        "constant": lambda: (truth, np.zeros_like(scores)),
        "probabilities": lambda: (truth, shares),
        "99 % zeros": lambda: mostly(0, 0.99, shares),
        "90 % zeros": lambda: mostly(0, 0.9, shares),
        "90 % -inf": lambda: mostly(-np.inf, 0.9, scores),
        "heavy tails, positive": lambda: (truth, np.exp(5 * scores)),
        "heavy tails, both signs": lambda: (truth, scores**9),
        "far from 0": lambda: (truth, 1e6 + scores),
        "each label sorted upwards": lambda: by_label(upwards),
        "each label sorted downwards": lambda: by_label(upwards[::-1]),
        "rising with rows": lambda: (truth, scores + np.linspace(0, 20, shape[0], dtype=np.float32)[:, np.newaxis]),
        "all positive": lambda: (np.ones_like(truth), scores),
        "base rate .5, uninformative": lambda: drawn(0.5, 0),
        "base rate .05, uninformative": lambda: drawn(0.05, 0),
        "base rate .001, uninformative": lambda: drawn(0.001, 0),
        "base rate .5, 1 sd": lambda: drawn(0.5, 1),
        "base rate .9, 1 sd": lambda: drawn(0.9, 1),
        "base rate .3, inverted": lambda: drawn(0.3, -1),
    }


def measure(quick: bool, clock: Clock) -> Measured:
    """Measure interleaved rounds of each input, one input after another."""
    shape = QUICK_SHAPE if quick else SHAPE
    rows, checks = [], []
    for name, draw in inputs(shape).items():
        truth, scores = draw()
        fit = partial(thresholds.fit_empirical, truth, scores, n_jobs=THREADS)
        rule, theirs = fit(), np.empty(shape[1])  # The first calls, which compile.
        for _ in range(1 if quick else ROUNDS):
            clock.time(f"macro, {name}", fit)
            clock.time(f"{NUMPY_SORT}, {name}", partial(rivals.numpy_sort_f1, truth, scores, theirs))
        ours = rivals.f1_by_label(truth, scores, rule.thresholds)
        checks.append(same(f"F1 of a label, macro and {NUMPY_SORT}, {name}", ours, theirs))
        ratio = clock.lowest(f"{NUMPY_SORT}, {name}") / clock.lowest(f"macro, {name}")
        at_least = None if name == PLAIN else 1
        rows.append(Row(f"{NUMPY_SORT} / macro, {name}", ratio, at_least=at_least, on=name_shape(shape)))
    return rows, checks
