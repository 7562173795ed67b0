"""How far are p-values of a diagnosis by counts at candidates from those of the rows, where negatives are tied?

Scores are small whole numbers, drawn anew for each table of 6 to 300 rows and 8 labels. A *hidden* tie is a score that
no positive has: counts do not know how many rows have it. Ends with 1 if a p-value is lower than that of the rows
though no hidden tie has more than a tenth of them.

    python experiments/scale/ties.py [N_TABLES]
"""

import sys

import numpy as np

from thresholds import Candidates, Counts, ThresholdRule
from thresholds.diagnosis.result import Diagnosis

N_LABELS = 8
NAMES = ("p_informative", "p_backwards")
TENTH = 0.1  # of the rows


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw truth and scores."""
    n_rows = int(rng.integers(6, 300))
    truth = rng.random((n_rows, N_LABELS)) < rng.choice([0.02, 0.1, 0.3])
    scores = np.floor(rng.random(truth.shape) ** rng.choice([1, 2]) * rng.choice([3, 10, 30, 100]))
    return truth, scores + truth * rng.choice([0, 0, 1, 3])


def by_candidates(truth: np.ndarray, scores: np.ndarray, rule: ThresholdRule) -> Diagnosis:
    """Diagnose by counts at candidates."""
    every = Candidates.of(truth, scores)
    needed: Candidates | None = every
    while needed is not None:
        counts = Counts.of(truth, scores, needed)
        needed = counts.needed_to_judge(rule, candidates=every)
    return counts.diagnose(rule, n_jobs=1)


def largest_ties(truth: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """Return the shares of rows in the largest tie that is hidden, and in the largest of others."""
    values, sizes = np.unique(scores, return_counts=True)
    is_known = np.isin(values, scores[truth])
    return tuple(float(sizes[which].max(initial=0) / scores.size) for which in (~is_known, is_known))


def main() -> int:
    """Print a line for each kind of ties."""
    n_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    never = ThresholdRule(np.full(N_LABELS, np.inf))
    found: dict[tuple[bool, bool], list[tuple[float, float]]] = {}
    for seed in range(n_tables):
        truth, scores = drawn(np.random.default_rng(seed))
        tested = by_candidates(truth, scores, never), Counts.of(truth, scores).diagnose(never, n_jobs=1)
        for name in NAMES:
            for j, (p, of_rows) in enumerate(zip(*(one.table[name] for one in tested), strict=True)):
                hidden, known = largest_ties(truth[:, j], scores[:, j])
                if not np.isnan(of_rows):
                    found.setdefault((hidden > TENTH, known > TENTH), []).append((p, of_rows))
    print("rows in the largest tie")
    print(f"{'hidden':>12} {'other':>12} {'tests':>8} {'lower':>8} {'least ratio':>12} {'least p of these':>18}")
    is_broken = False
    for (hidden, known), pairs in sorted(found.items()):
        p, of_rows = np.array(pairs).T
        is_lower = p < of_rows * (1 - 1e-9)
        ratio = (p[is_lower] / of_rows[is_lower]).min(initial=1.0)
        words = ["over 10 %" if large else "up to 10 %" for large in (hidden, known)]
        least = f"{of_rows[is_lower].min():.2g}" if is_lower.any() else ""
        print(f"{words[0]:>12} {words[1]:>12} {p.size:>8,} {is_lower.sum():>8,} {ratio:>12.4f} {least:>18}")
        is_broken |= not hidden and bool(is_lower.any())
    return int(is_broken)


if __name__ == "__main__":
    sys.exit(main())
