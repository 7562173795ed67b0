"""Rules that follow base rates where the scores have become weaker: what they lose, and what holding back costs.

    python experiments/base_rates/weakened.py FOLDER [--seeds 15 8 8]

Where positives score lower than in the calibration, fewer scores are high, and it looks as if labels had become rarer.
`estimate_base_rates` follows no shifts that nearly all go one way unless base rates explain the scores better than
weaker scores do (`thresholds/calibration/shifts.py`). Macro-F1 in per cent is measured of the thresholds fitted to
the labels of the calibration ("old"), and what these have more: `fit_expected` on the probabilities as they are;
`fit_adapted` with all shifts followed; `fit_adapted`. In how many runs the last is worse than the old rule, and what is
said: per cent of labels called changed, either, and moved.

1. Simulated, 3,000 rows of the calibration: normal scores of 20 labels (or 5), with base rates of 3 to 40 %, whose
   positives are .8 to 2.8 higher. Weaker: that distance is multiplied, base rates are left. Other base rates: they are
   multiplied, for each label by a factor of its own where it says "about".
2. Real score files: weaker by noise in the logits, and by positives whose logits are lower, by so much of the distance
   between the means of positives and negatives. Base rates are left. One run each.

Exits with 1 if `fit_adapted` on weaker simulated scores is more than .2 points below the old rule in the mean, or worse
in half of the runs, or if at other base rates it keeps less than two thirds of what following all shifts gains.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from shift import OTHERS, PROMISED, File

import thresholds
from thresholds._results.tables import Table
from thresholds.calibration import Calibrator, estimate_base_rates
from thresholds.calibration.base_rates import CHANGED, EITHER, MOVED
from thresholds.metrics import f1_score

Array = NDArray[Any]
N_FIT = 3000
SHAPES = ((20, 3000), (20, 500), (5, 3000))  # labels, new rows
HEAD = ("old", "as they are", "followed", "adapted", "worse", CHANGED, EITHER, MOVED)

# The factor of the distance between classes, and that of the base rates of m labels.
WEAKER = (0.9, 0.75, 0.6, 0.4)
RATES: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "halved": lambda m, _: np.full(m, 0.5),
    "x .7": lambda m, _: np.full(m, 0.7),
    "doubled": lambda m, _: np.full(m, 2.0),
    "by turns": lambda m, _: np.where(np.arange(m) % 2, 2.0, 0.5),
    "about .6": lambda m, rng: 0.6 * np.exp(0.5 * rng.normal(size=m)),
}


def reached(old: Any, calibrator: Calibrator, truth: Array, scores: Array) -> list[float]:
    """Return macro-F1 in per cent of four rules, and the share of labels of three verdicts."""
    found = estimate_base_rates(calibrator, scores)
    with mock.patch("thresholds.calibration.label_shift.unexplained", lambda *given: np.zeros_like(given[-1])):
        not_held_back = estimate_base_rates(calibrator, scores)
    rules = [thresholds.fit_adapted(calibrator, scores, rates=rates) for rates in ({}, not_held_back, found)]
    f = [100 * f1_score(truth, rule.decide(scores), average="macro", zero_division=0.0) for rule in (old, *rules)]
    return [*f, *(100 * float(np.mean(found.verdict == verdict)) for verdict in (CHANGED, EITHER, MOVED))]


def simulated(
    seed: int, n_labels: int, n_new: int, distance: float, factors: Callable[[int, np.random.Generator], Array]
) -> list[float]:
    """Draw rows of a calibration and new ones, and measure."""
    rng = np.random.default_rng([seed, n_labels, n_new])
    rates = np.exp(rng.uniform(np.log(0.03), np.log(0.4), n_labels))
    away = rng.uniform(0.8, 2.8, n_labels)
    after = np.clip(rates * factors(n_labels, rng), 0.0, 0.9)
    both = []
    for n, of, far in ((N_FIT, rates, away), (n_new, after, distance * away)):
        truth = rng.random((n, n_labels)) < of
        both.append((truth, expit(rng.normal(size=truth.shape) + truth * far - 2)))
    (truth, scores), new = both
    return reached(thresholds.fit_empirical(truth, scores), thresholds.calibrate(truth, scores), *new)


def with_noise(truth: Array, scores: Array, by: float) -> Array:
    """Add noise to logits, `by` times as far spread as those of the label."""
    logits = logits_of(scores)
    return expit(logits + by * logits.std(axis=0) * np.random.default_rng(0).normal(size=logits.shape))


def lowered(truth: Array, scores: Array, by: float) -> Array:
    """Lower the logits of positives, by a share of the distance of the means of positives and negatives."""
    logits = logits_of(scores)
    n_positive = truth.sum(axis=0)
    of_positives = (truth * logits).sum(axis=0) / np.maximum(n_positive, 1)
    of_negatives = ((1 - truth) * logits).sum(axis=0) / np.maximum(len(truth) - n_positive, 1)
    away = np.where(n_positive > 0, of_positives - of_negatives, 0.0)
    return expit(logits - by * truth * away)


def logits_of(scores: Array) -> Array:
    """Return the logits of scores, finite ones."""
    return logit(np.clip(scores.astype(np.float64), np.finfo(np.float32).tiny, 1 - 2**-24))


WEAKENED: dict[str, Callable[[Array, Array], Array]] = {
    "noise of .5": lambda truth, scores: with_noise(truth, scores, 0.5),
    "noise of 1": lambda truth, scores: with_noise(truth, scores, 1.0),
    "lower by .1": lambda truth, scores: lowered(truth, scores, 0.1),
    "lower by .25": lambda truth, scores: lowered(truth, scores, 0.25),
}


def row(runs: list[list[float]]) -> tuple[str, ...]:
    """Write the means of runs."""
    means = np.mean(runs, axis=0)
    n_worse = sum(run[3] < run[0] for run in runs)
    more = [f"{f - means[0]:+.2f}" for f in means[1:4]]
    return f"{means[0]:.2f}", *more, f"{n_worse} of {len(runs)}", *(f"{share:.0f}" for share in means[4:])


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs=3, default=[15, 8, 8])
    given = parser.parse_args()
    warnings.simplefilter("ignore", thresholds.ScoreChangeWarning)

    kept = True
    body = []
    for (n_labels, n_new), n_seeds in zip(SHAPES, given.seeds, strict=True):
        shape = f"{n_labels}", f"{n_new:,}"
        all_weaker = []
        for distance in WEAKER:
            runs = [simulated(seed, n_labels, n_new, distance, lambda m, _: np.ones(m)) for seed in range(n_seeds)]
            body.append((*shape, f"distance x {distance:g}", *row(runs)))
            old, adapted = np.mean(runs, axis=0)[[0, 3]]
            kept &= bool(adapted > old - 0.2)
            all_weaker += runs
        n_worse = sum(run[3] < run[0] for run in all_weaker)
        kept &= n_worse < len(all_weaker) / 2
        body.append((*shape, "all of these", *row(all_weaker)))
        for name, factors in RATES.items():
            runs = [simulated(seed, n_labels, n_new, 1.0, factors) for seed in range(n_seeds)]
            body.append((*shape, f"rates {name}", *row(runs)))
            old, followed, adapted = np.mean(runs, axis=0)[[0, 2, 3]]
            kept &= bool(adapted - old > 2 / 3 * (followed - old) - 0.05)
    print("1. simulated: macro-F1 in per cent of the old rule, what others have more, and what is said")
    print(Table([("labels", "rows", "what changed", *HEAD)], body, left=(2,)).text(), "\n", flush=True)

    body = []
    for name in (*PROMISED, *OTHERS):
        file = File(given.folder / f"{name}.npz")
        for how, weaker in WEAKENED.items():
            run = reached(file.old[0], file.calibrator, file.truth, weaker(file.truth, file.scores))
            body.append((name, how, *row([run])))
    print("2. the same of real files whose scores were made weaker")
    print(Table([("file", "what changed", *HEAD)], body, left=(0, 1)).text())
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
