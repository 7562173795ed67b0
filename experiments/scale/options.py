"""How many passes over the rows does each option of a fit take from counts, and how large are these?

Rows are drawn: float32 scores, as logits and as probabilities, of labels with base rates from .0005 to .2. Each fit
from counts is held against the fit of the rows; any difference ends the script with 1.

    python experiments/scale/options.py [N_ROWS]
"""

import sys

import numpy as np

import thresholds
from thresholds import Candidates, Counts

N_LABELS = 20

OPTIONS = (
    {"average": "macro"},
    {"average": "micro"},
    {"average": "macro", "guard": "shrink"},
    {"average": "micro", "guard": "pool"},
    {"average": "macro", "guard": "shrink", "max_overprediction": 1.5},
    {"average": "macro", "min_precision": 0.5},
    {"average": "macro", "min_precision": 0.5, "confidence": 0.9},
    {"average": "macro", "min_recall": 0.8, "confidence": 0.9, "guard": "shrink"},
    {"average": "macro", "per_label": False},
    {"average": "micro", "per_label": False},
)


def drawn(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw truth and logits."""
    rng = np.random.default_rng(0)
    truth = rng.random((n_rows, N_LABELS)) < np.geomspace(0.0005, 0.2, N_LABELS)
    logits = (rng.normal(size=truth.shape) * 3 - 4 + 3 * truth).astype(np.float32)
    return truth, logits


def are_equal(one: thresholds.ThresholdRule, other: thresholds.ThresholdRule) -> bool:
    """Whether two fits found the same."""
    same_thresholds = np.array_equal(one.thresholds, other.thresholds)
    return same_thresholds and one.objective == other.objective


def main() -> int:
    """Print a line for each option."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    truth, logits = drawn(n_rows)
    broken = 0
    for name, scores in (("logits", logits), ("probabilities", 1 / (1 + np.exp(-logits)))):
        every = Candidates.of(truth, scores)
        groups = Counts.of(truth, scores).nbytes
        print(f"{n_rows:,} x {N_LABELS} {name} of {scores.dtype}, {scores.nbytes / 2**20:.0f} MB;", end=" ")
        print(f"scores of positives {every.n_candidates:,}; tie groups {groups / 2**20:.0f} MB")
        print(f"{'passes':>8} {'largest counts, MB':>20}  options")
        for options in OPTIONS:
            needed, n_passes, largest = every.needed_for(**options), 1, 0
            while needed is not None:
                counts = Counts.of(truth, scores, needed)
                n_passes, largest = n_passes + 1, max(largest, counts.nbytes)
                needed = counts.needed_for(**options, candidates=every)
            rule = counts.fit(**options)
            is_equal = are_equal(rule, thresholds.fit_empirical(truth, scores, **options))
            broken += not is_equal
            about = ", ".join(f"{key}={value}" for key, value in options.items())
            differs = "" if is_equal else "  DIFFERS FROM THE ROWS"
            print(f"{n_passes:>8} {largest / 2**20:>20.1f}  {about}{differs}")
        print()
    print("all equal to the fits of the rows" if not broken else f"{broken} differ")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
