"""What folds made by a hash of keys cost against folds that keep rare labels: how far out-of-fold F is from the truth.

Labels with P positives in 2,000 rows, scores normal, those of positives 2 higher. In each of many samples thresholds
are cross-fitted over five folds, by a hash of row numbers as `chunks.cross_fit` makes them and by iterative
stratification as `cross_fit` makes them. Out-of-fold macro-F1 is held against the macro-F1 of the rule of all rows on
20,000 other rows: its mean error, the spread (standard deviation) of the error over samples, and the share of pairs of
a fold and a label in which the fold has no positive.

    python experiments/scale/folds.py > experiments/scale/folds.txt
"""

import numpy as np

import thresholds
from thresholds.data.folds import hashed_folds
from thresholds.metrics import f1_score

N_ROWS, N_LABELS, N_FOLDS, N_SAMPLES = 2_000, 50, 5, 60
N_OTHERS = 20_000
SHIFT = 2.0
POSITIVES = (5, 10, 20, 50)


def main() -> None:
    """Simulate, and print a line for each number of positives, guard and kind of folds."""
    rows = f"{N_ROWS:,} rows and {N_LABELS} labels"
    print(f"{N_SAMPLES} samples of {rows}, {N_FOLDS} folds; error of out-of-fold macro-F1")
    print(f"{'positives':>9}  {'guard':<7}  {'folds':<10}  {'mean':>7}  {'spread':>7}  folds without a positive")
    for n_positives in POSITIVES:
        for guard in (None, "shrink"):
            errors = np.array([errors_of(seed, n_positives, guard) for seed in range(N_SAMPLES)])
            for place, kind in enumerate(("hashed", "stratified")):
                error, empty = errors[:, place].T
                what = f"{n_positives:>9}  {guard or 'none':<7}  {kind:<10}"
                print(f"{what}  {error.mean():>+7.4f}  {error.std(ddof=1):>7.4f}  {empty.mean():.3f}")
    print("expected of hashed folds: " + ", ".join(f"{(1 - 1 / N_FOLDS) ** n:.3f} of {n}" for n in POSITIVES))


def errors_of(seed: int, n_positives: int, guard: str | None) -> list[tuple[float, float]]:
    """Return the error of out-of-fold F, and the share of folds without a positive, hashed and stratified."""
    rng = np.random.default_rng(seed)
    y_true, y_score = sample(rng, N_ROWS, n_positives)
    others = sample(rng, N_OTHERS, N_OTHERS * n_positives // N_ROWS)
    found = []
    for folds in (hashed_folds(np.arange(N_ROWS), N_FOLDS, seed), thresholds.multilabel_folds(y_true, N_FOLDS)):
        result = thresholds.cross_fit(y_true, y_score, cv=folds, guard=guard, verdicts=False)
        reached = f1_score(others[0], result.rule.predict(others[1]), average="macro")
        empty = np.mean([y_true[folds == k].sum(axis=0) == 0 for k in range(N_FOLDS)])
        found.append((result.out_of_fold - reached, float(empty)))
    return found


def sample(rng: np.random.Generator, n_rows: int, n_positives: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows in which each label has so many positives."""
    y_true = np.zeros((n_rows, N_LABELS), np.uint8)
    for label in range(N_LABELS):
        y_true[rng.choice(n_rows, n_positives, replace=False), label] = 1
    return y_true, (rng.normal(size=y_true.shape) + SHIFT * y_true).astype(np.float32)


if __name__ == "__main__":
    main()
