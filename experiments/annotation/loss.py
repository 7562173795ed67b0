"""Is the loss that a gain is a part of what is lost indeed? Simulated.

Scores are normal, those of positives higher by a shift (0 says nothing of the label, 1 little, 3 much). F1 of a
threshold in the population is known by formula, and so is the best. Each cell of the grid has labels of one base rate
and shift, on as many rows as have P positives to be expected; all of them are siblings. Lost is the mean, over labels
with positives, of how much less F1 the fitted thresholds have in the population than the best; estimated the mean of
what `thresholds.diagnosis.learning` says from the rows of the fit. With the last column's exponent the loss falls from
one number of positives to the next. Run

    OMP_NUM_THREADS=1 python experiments/annotation/loss.py | tee experiments/annotation/loss.txt
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from thresholds import fit_empirical
from thresholds._engine.problem import Problem
from thresholds.diagnosis.learning import EXPONENT, learn

LABELS, SAMPLES = 50, 4
BASE_RATES, SHIFTS, POSITIVES = (0.01, 0.1), (0, 1, 2, 3), (1, 3, 10, 30, 100)
GRID = np.linspace(-5, 8, 13_001)

Floats = NDArray[np.float64]


def f1(cuts: Floats, base_rate: float, shift: float) -> Floats:
    """F1 of thresholds in the population."""
    tp = base_rate * norm.sf(cuts - shift)
    return np.asarray(2 * tp / (base_rate + tp + (1 - base_rate) * norm.sf(cuts)))


def cell(base_rate: float, shift: float, positives: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return what is lost, its standard error, and what is estimated."""
    best = f1(GRID, base_rate, shift).max()
    lost, estimated = [], []
    for _ in range(SAMPLES):
        shape = (round(positives / base_rate), LABELS)
        truth = (rng.random(shape) < base_rate).astype(np.uint8)
        scores = rng.normal(size=shape) + shift * truth
        cuts = fit_empirical(truth, scores).thresholds
        is_useless = np.zeros(LABELS, np.bool_)
        loss, _, _ = learn(Problem.of(truth, scores), is_useless, 10)
        has_positives = truth.any(axis=0)
        lost.append((best - f1(cuts, base_rate, shift))[has_positives])
        estimated.append(loss[has_positives])
    losses = np.concatenate(lost)
    error = losses.std(ddof=1) / np.sqrt(losses.size)
    return float(losses.mean()), float(error), float(np.concatenate(estimated).mean())


def main() -> None:
    """Print the grid."""
    rng = np.random.default_rng(0)
    print(f"{LABELS} labels at once, {SAMPLES} samples; the exponent that is assumed is {EXPONENT:.2f}")
    print("base rate  shift  positives    lost (error)     estimated  ratio  exponent")
    for base_rate in BASE_RATES:
        for shift in SHIFTS:
            before = None
            for positives in POSITIVES:
                lost, error, estimated = cell(base_rate, shift, positives, rng)
                exponent = ""
                if before is not None:
                    exponent = f"{np.log(before[0] / lost) / np.log(positives / before[1]):9.2f}"
                before = lost, positives
                figures = f"{lost:8.4f} ({error:.4f})  {estimated:11.4f}  {estimated / lost:5.2f}  {exponent}"
                print(f"{base_rate:9}  {shift:5}  {positives:9}  {figures}", flush=True)


if __name__ == "__main__":
    main()
