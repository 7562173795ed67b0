"""The bootstrap of rows, on staircases: Poisson weights of what lies between steps, and the best step under each draw.

A row gets a Poisson(1) weight in each replicate, independently (Hanley and MacGibbon 2006, "Creating non-parametric
bootstrap samples using Poisson frequencies"). The weights of rows that no step tells apart only occur added up, and a
sum of c such weights is Poisson(c). So a replicate draws two numbers for each step, and sorts nothing.

Random words are SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 16):
a counter, mixed. Each seed, label, replicate and place in the staircase has a counter of its own. So what is drawn does
not depend on threads, blocks, other labels, the number of replicates, or which of the words are needed.

Poisson numbers of small means are read off tables, exact to 2^-62; of larger ones, they come from PTRS (Hoermann 1993,
"The transformed rejection method for generating Poisson random variables").
"""

import math
from decimal import Context, Decimal, localcontext
from functools import cache
from typing import NamedTuple

import numpy as np

from thresholds._arrays.blocks import bounded_parts
from thresholds._arrays.types import Bytes, Floats, Ints
from thresholds._kernels._jit import kernel

_LARGEST_TABLED = 64  # mean of a Poisson number: above, there is no table
_TABLE_BITS = 62  # of a random word that is held against a table
_STEPS_AT_ONCE = 2**20  # of all replicates, some 30 ms
_DIGITS = 60  # of decimal numbers, from which tables are rounded: the same everywhere

# SplitMix64: what the counter grows by, and how it is mixed.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _FIRST_SHIFT = np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)
_SECOND_FACTOR, _SECOND_SHIFT = np.uint64(0x94D049BB133111EB), np.uint64(27)
_LAST_SHIFT = np.uint64(31)
_TO_TABLE = np.uint64(64 - _TABLE_BITS)
_TO_GUIDE = np.int64(_TABLE_BITS - 8)
_TO_UNIFORM, _UNIFORM = np.uint64(11), 2.0**-53


class Tables(NamedTuple):
    """What small means look up, one row for each mean from 0 on."""

    cumulative: Ints  # (n_means, n_values): 2^62 Pr(X <= k), rounded down, 2^62 at the end
    guide: Bytes  # (n_means, 256): the least value that a word with these 8 leading bits may give
    left_out: Floats  # (n_means, n_values): how many of so many rows have weight 0, on average, given their sum


@cache
def tables() -> Tables:
    """Return the tables."""
    rows = [_cumulative(mean) for mean in range(_LARGEST_TABLED + 1)]
    n_values = max(map(len, rows))
    cumulative = np.full((len(rows), n_values), 1 << _TABLE_BITS, np.int64)
    guide = np.empty((len(rows), 256), np.uint8)
    starts = np.arange(256) << _TO_GUIDE  # (256,) the smallest word of each
    for mean, row in enumerate(rows):
        cumulative[mean, : len(row)] = row
        guide[mean] = np.searchsorted(cumulative[mean], starts, side="right")
    n_rows = np.maximum(np.arange(len(rows)), 1)[:, np.newaxis]  # (n_means, 1)
    left_out = n_rows * (1 - 1 / n_rows) ** np.arange(n_values)
    left_out[0] = 0
    return Tables(cumulative, guide, left_out)


def _cumulative(mean: int) -> list[int]:
    """Return 2^62 Pr(X <= k), rounded down, until what is left is nothing."""
    with localcontext(Context(prec=_DIGITS)):
        unit = Decimal(1 << _TABLE_BITS)
        chance = (-Decimal(mean)).exp()
        total = Decimal(0)
        found = []
        while total < 1 - 1 / (1024 * unit):
            total += chance
            found.append(int(total * unit))
            chance *= Decimal(mean) / len(found)
    return [*found[:-1], 1 << _TABLE_BITS]


@kernel
def _mixed(counter: np.uint64) -> np.uint64:
    """Return the random word of a counter. The products wrap, as all sums of counters do."""
    word = (counter ^ (counter >> _FIRST_SHIFT)) * _FIRST_FACTOR
    word = (word ^ (word >> _SECOND_SHIFT)) * _SECOND_FACTOR
    return word ^ (word >> _LAST_SHIFT)


@kernel
def _word(key: np.uint64, number: int) -> np.uint64:
    """Return a random word for each number under a key; it may be the key of others."""
    return _mixed(key + np.uint64(number + 1) * _STEP)


@kernel
def _uniform(counter: np.uint64) -> float:
    """Return a number between 0 and 1, neither of them."""
    return (float(_mixed(counter) >> _TO_UNIFORM) + 0.5) * _UNIFORM


@kernel
def _log_factorial(n: float) -> float:
    """Return ln n!, from 16 on by Stirling's series; `math.lgamma` has other last bits where Numba compiles it."""
    if n < 16.0:
        product = 1.0
        for factor in range(2, int(n) + 1):
            product *= factor
        return math.log(product)
    inverse = 1.0 / n
    square = inverse * inverse
    series = inverse * (
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))
    )
    return (n + 0.5) * math.log(n) - n + 0.5 * math.log(2.0 * math.pi) + series


@kernel
def _large_poisson(mean: float, key: np.uint64) -> int:
    """Return a Poisson number of a mean of at least 10: algorithm PTRS."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_accepted = 0.9277 - 3.6224 / (b - 2.0)
    counter = key
    while True:
        counter = counter + _STEP
        u = _uniform(counter) - 0.5
        counter = counter + _STEP
        v = _uniform(counter)
        rest = 0.5 - abs(u)
        k = np.floor((2.0 * a / rest + b) * u + mean + 0.43)
        # Most are accepted without a logarithm.
        if rest >= 0.07 and v <= v_accepted:
            return int(k)
        if k < 0.0 or (rest < 0.013 and v > rest):
            continue
        height = math.log(v * inverse_alpha / (a / (rest * rest) + b))
        if height <= k * math.log(mean) - mean - _log_factorial(k):
            return int(k)


@kernel
def weigh(n_rows: Ints, key: np.uint64, cumulative: Ints, guide: Bytes, weights: Ints) -> None:
    """Write the weights of groups of rows, a Poisson number of each group's size; words are numbered under the key."""
    n_means = guide.shape[0]
    for k in range(n_rows.size):
        n, word = n_rows[k], _word(key, k)
        if n < n_means:
            at = np.int64(word >> _TO_TABLE)
            value = np.int64(guide[n, at >> _TO_GUIDE])
            while at >= cumulative[n, value]:
                value += 1
            weights[k] = value
        else:
            weights[k] = _large_poisson(float(n), word)


@kernel
def count_left_out(n_rows: Ints, weights: Ints, table: Floats) -> float:
    """Return how many rows of some groups have weight 0, on average, given the weight of each group.

    Given their sum, Poisson weights fall on n rows like balls into n boxes: n (1 - 1/n)^sum stay empty.
    """
    n_tabled, weights_tabled = table.shape
    total = 0.0
    for k in range(n_rows.size):
        n, weight = n_rows[k], weights[k]
        if n < n_tabled and weight < weights_tabled:
            total += table[n, weight]
        else:
            total += n * math.exp(weight * math.log1p(-1.0 / n))
    return total


@kernel
def _best_step(true_weight: Ints, false_weight: Ints, all_true: int, beta_squared: float) -> int:
    """Return the step of highest F-beta given what each step adds, -1 where no positive has weight."""
    true_sum, false_sum = np.int64(0), np.int64(0)
    highest, best = 0.0, -1
    for k in range(false_weight.size):
        true_sum += true_weight[k]
        false_sum += false_weight[k]
        # At least 1, where nothing has weight yet.
        predicted = max(true_sum + false_sum, np.int64(1))
        ratio = true_sum / (beta_squared * all_true + predicted)
        if ratio > highest:
            highest, best = ratio, k
    return best


@kernel
def add_replicates(
    offsets: Ints,
    tp: Ints,
    fp: Ints,
    positives: Ints,
    beta_squared: float,
    seed: np.uint64,
    first: int,
    labels: tuple[int, int],
    replicates: tuple[int, int],
    cumulative: Ints,
    guide: Bytes,
    table: Floats,
    best: Ints,
    counts: Floats,
) -> None:
    """Do what `resample` does for some labels and replicates, each from a first one to the one before a last."""
    for j in range(labels[0], labels[1]):
        # The rows that each step adds to those above; last, positives below all steps.
        start, n_steps = offsets[j], offsets[j + 1] - offsets[j]
        n_true, n_false = np.empty(n_steps + 1, np.int64), np.empty(n_steps, np.int64)
        tp_before, fp_before = np.int64(0), np.int64(0)
        for k in range(n_steps):
            n_true[k], n_false[k] = tp[start + k] - tp_before, fp[start + k] - fp_before
            tp_before, fp_before = tp[start + k], fp[start + k]
        n_true[n_steps] = positives[j] - tp_before

        true_weight, false_weight = np.empty_like(n_true), np.empty_like(n_false)
        of_label = _word(seed, first + j)
        for r in range(replicates[0], replicates[1]):
            # 1. Weigh the rows.
            of_replicate = _word(of_label, r)
            weigh(n_true, _word(of_replicate, 0), cumulative, guide, true_weight)
            weigh(n_false, _word(of_replicate, 1), cumulative, guide, false_weight)

            # 2. Choose a step.
            step = _best_step(true_weight, false_weight, true_weight.sum(), beta_squared)
            best[j, r] = start + step if step >= 0 else -1

            # 3. Count what it reaches on the rows that weigh nothing.
            n = step + 1
            true_left_out = count_left_out(n_true[:n], true_weight[:n], table)
            false_left_out = count_left_out(n_false[:n], false_weight[:n], table)
            counts[0, j] += true_left_out
            counts[1, j] += true_left_out + false_left_out
            counts[2, j] += true_left_out + count_left_out(n_true[n:], true_weight[n:], table)


def resample(
    offsets: Ints,
    tp: Ints,
    fp: Ints,
    positives: Ints,
    beta_squared: float,
    seed: int,
    first: int,
    n_bootstraps: int,
) -> tuple[Ints, Floats]:
    """Return the step of highest F-beta in each replicate, and what these steps reach on the rows of weight 0.

    The labels of the staircases are those from `first` on. Steps are (n_labels, n_bootstraps), -1 for never; ties go to
    the highest cut. The counts, (3, n_labels), are true positives, predictions and positives, expected given what is
    drawn, and added up over the replicates. A call of the kernel draws no more than about a million numbers, or those
    of one label and replicate, so that Ctrl-C is heard in between.
    """
    n_labels = offsets.size - 1
    best = np.empty((n_labels, n_bootstraps), np.int64)
    counts = np.zeros((3, n_labels))
    steps = np.diff(offsets) + 1  # (n_labels,)
    for labels in bounded_parts(steps * n_bootstraps, _STEPS_AT_ONCE):
        n_at_once = max(int(_STEPS_AT_ONCE // steps[labels].sum()), 1)
        for replicate in range(0, n_bootstraps, n_at_once):
            add_replicates(
                offsets,
                tp,
                fp,
                positives,
                beta_squared,
                np.uint64(seed),
                first,
                (labels.start, labels.stop),
                (replicate, min(replicate + n_at_once, n_bootstraps)),
                *tables(),
                best,
                counts,
            )
    return best, counts
