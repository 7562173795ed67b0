"""Which bound of a mean over rows shows a floor most often, and which shows one that is not kept?

What a row gains is found - floor asked (`thresholds.guarantees.tests_of_rows`). In each cell 2,000 samples of n rows
are drawn, once with a mean of exactly 0, where a bound may say "shown" in a share delta of the samples at most, and
once with a mean of 2.5 standard errors, where it should say so often. Laws of a row: one cell (the gain of a row is
one of two); the recall of one to three positives that are found together; micro recall of 14 labels of which one is
true on average, so that a row might lose 14 times what it loses mostly; and the same with 100 labels.

    ours       bets with stakes that follow the variance of the rows before, and change at rows 16, 32, 64, ...
    each row   the same, stakes changing with every row (Waudby-Smith & Ramdas 2023, "hedged capital", one side)
    mixture    an average of constant stakes, a factor 2 apart; shown where its capital ever reaches 1 / delta
    at the end the same, looked at after the last row only: it does not depend on the order of the rows
    H.-B.      Hoeffding-Bentkus (Bates et al. 2021, section 3.1.1)
    normal     the normal approximation, which promises nothing: what an exact bound might reach

    OMP_NUM_THREADS=1 python experiments/guarantees/bounds.py | tee experiments/guarantees/bounds.txt
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import binom

from thresholds.guarantees.bets import Gamblers

RUNS = 2000
FLOOR = 0.8
DELTA = 0.1
FURTHER = 2.5  # standard errors

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


def one_cell(rng: np.random.Generator, shape: tuple[int, int], share: float) -> Floats:
    """A cell that is found, or not."""
    return (rng.random(shape) < share) - FLOOR


def row_recall(rng: np.random.Generator, shape: tuple[int, int], share: float) -> Floats:
    """Recall of one to three positives, found together more or less."""
    positives = rng.integers(1, 4, shape)
    return rng.binomial(positives, rng.beta(6 * share, 6 - 6 * share, shape)) / positives - FLOOR


def micro(rng: np.random.Generator, shape: tuple[int, int], share: float) -> Floats:
    """Found positives of rows that have one on average."""
    positives = rng.poisson(1.0, shape).clip(0, 14)
    return rng.binomial(positives, rng.beta(6 * share, 6 - 6 * share, shape)) - FLOOR * positives


LAWS: dict[str, tuple[Callable[..., Floats], int]] = {
    "one cell": (one_cell, 1),
    "row recall": (row_recall, 1),
    "micro, 14 labels": (micro, 14),
    "micro, 100 labels": (micro, 100),
}


def ours(gains: Floats, most: int) -> Booleans:
    """Bets of the library; samples are its cuts."""
    gamblers = Gamblers(len(gains), gains.shape[1], FLOOR * most, DELTA)
    gamblers.bet(gains.T)
    return gamblers.has_shown


def each_row(gains: Floats, most: int) -> Booleans:
    """Stakes that change with every row."""
    n = gains.shape[1]
    rows = np.arange(1, n + 1)
    mean = gains.cumsum(axis=1) / rows
    variance = (0.25 + ((gains - mean) ** 2).cumsum(axis=1)) / (rows + 1)
    variance = np.concatenate([np.full((len(gains), 1), 0.25), variance[:, :-1]], axis=1)
    stakes = np.minimum(np.sqrt(2 * math.log(1 / DELTA) / (n * variance)), 0.95 / (FLOOR * most))
    return np.log1p(stakes * gains).cumsum(axis=1).max(axis=1) >= -math.log(DELTA)


def mixture(gains: Floats, most: int, *, at_the_end: bool = False) -> Booleans:
    """Constant stakes from the highest down to 1 / sqrt(n) of it."""
    n = gains.shape[1]
    stakes = 0.95 / (FLOOR * most) * 2.0 ** -np.arange(math.ceil(math.log2(n) / 2) + 1)
    capital = np.mean([np.exp(np.log1p(one * gains).cumsum(axis=1)) for one in stakes], axis=0)
    return (capital[:, -1] if at_the_end else capital.max(axis=1)) >= 1 / DELTA


def hoeffding_bentkus(gains: Floats, most: int) -> Booleans:
    """By the mean loss, as a share of the most that can be lost."""
    n, level = gains.shape[1], 1 - FLOOR
    loss = (level - gains.mean(axis=1) / most).clip(1e-12, 1)
    below = np.minimum(loss, level)
    exponent = below * np.log(below / level) + (1 - below) * np.log((1 - below) / (1 - level))
    bentkus = math.e * binom.cdf(np.ceil(n * loss - 1e-9), n, level)
    return np.minimum(np.exp(-n * exponent), bentkus) <= DELTA


def normal(gains: Floats, _: int) -> Booleans:
    """As if the mean were normal, with the variance of the sample."""
    error = gains.std(axis=1) / math.sqrt(gains.shape[1])
    return ndtr(gains.mean(axis=1) / np.maximum(error, 1e-12)) >= 1 - DELTA


BOUNDS: dict[str, Callable[[Floats, int], Booleans]] = {
    "ours": ours,
    "each row": each_row,
    "mixture": mixture,
    "at the end": lambda gains, most: mixture(gains, most, at_the_end=True),
    "H.-B.": hoeffding_bentkus,
    "normal": normal,
}


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(0)
    for further in (0.0, FURTHER):
        print(f"share of {RUNS:,} samples shown, floor {FLOOR}, delta {DELTA}; mean gain {further:g} standard errors")
        print(f"{'':20}{'rows':>8}" + "".join(f"{name:>12}" for name in BOUNDS))
        for law, (draw, most) in LAWS.items():
            for n in (100, 300, 1000, 3000):
                spread = draw(rng, (200, 1000), FLOOR).std()
                share = min(FLOOR + further * spread / math.sqrt(n), 0.99)
                gains = draw(rng, (RUNS, n), share)
                shown = [bound(gains, most).mean() for bound in BOUNDS.values()]
                print(f"{law:20}{n:8,}" + "".join(f"{value:12.3f}" for value in shown), flush=True)
        print()


if __name__ == "__main__":
    main()
