"""What guards lose by reading at most 1,024 bins of each label in place of all its scores, on files of real scores.

    python experiments/guards/bins.py FOLDER

For every score key of every `.npz` in FOLDER: both guards are fitted on one half of the rows (`calib_idx`, `test_idx`)
and judged on the other, in both directions, then on five random halves, reading bins and reading all scores. Figures
are differences of F in units of 1e-4, bins minus all scores: their mean, standard error and furthest. Labels of no more
than 1,024 distinct scores have a bin for each.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from compare_guards import score_keys

import thresholds
from thresholds.files import read_labelled
from thresholds.guards import fitting

N_HALVES = 5
ALL_SCORES = 2**40  # bins


def main() -> None:
    """Print a line for each file and score key."""
    print(f"{'':42}{'macro, shrink':>30}{'micro, pool':>30}")
    of_all: dict[str, list[float]] = {"macro": [], "micro": []}
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        for key in score_keys(path):
            data = read_labelled(path, key)
            line = f"{path.stem + ' ' + key:42}"
            for average in ("macro", "micro"):
                gains = [10_000 * gain_of_bins(data, *half, average) for half in halves(data)]
                of_all[average].append(float(np.mean(gains)))
                line += in_words(gains)
            print(line, flush=True)
    print(f"{'mean of all':42}" + "".join(in_words(gains) for gains in of_all.values()))


def halves(data: Any) -> list[tuple[Any, Any]]:
    """Return rows to fit on, and rows to judge on."""
    parts = [np.asarray(data.calib_idx), np.asarray(data.test_idx)]
    found = [(parts[0], parts[1]), (parts[1], parts[0])]
    rng = np.random.default_rng(0)
    for _ in range(N_HALVES):
        rows = rng.permutation(np.concatenate(parts))
        found.append((rows[: rows.size // 2], rows[rows.size // 2 :]))
    return found


def gain_of_bins(data: Any, to_fit: Any, to_judge: Any, average: str) -> float:
    """Return F on other rows by bins, less that by all scores."""
    reached = []
    for most in (1024, ALL_SCORES):
        fitting.MOST_BINS = most
        guard = "shrink" if average == "macro" else "pool"
        rule = thresholds.fit_empirical(data.y_true[to_fit], data.y_score[to_fit], average, guard=guard)
        decided = rule.predict(data.y_score[to_judge])
        reached.append(thresholds.metrics.f1_score(data.y_true[to_judge], decided, average=average, zero_division=0.0))
    return reached[0] - reached[1]


def in_words(gains: list[float]) -> str:
    """Return mean, standard error, and the furthest from 0."""
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    furthest = max(gains, key=abs)
    return f"{np.mean(gains):+10.2f} ({error:.2f}) {furthest:+8.1f}".rjust(30)


if __name__ == "__main__":
    main()
