"""How far the out-of-fold figure of `cross_fit` is from F on other rows, on real score files.

For each score key of each file, and both directions of its halves: macro-F1 in the sample, out of fold (5 folds), and
on the other half, without a guard and with "shrink". Printed, and written to `out_of_fold.txt` beside this script, are
means over files of the differences from the other half, with their standard errors over files, and how often each
figure ranks the two rules as the other half does.

    python experiments/guards/out_of_fold.py FOLDER
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from compare_guards import score_keys

import thresholds
from thresholds._results.text import aligned
from thresholds.files import LabelledFile, read_labelled
from thresholds.metrics import f1_score

GUARDS = (None, "shrink")


def one_way(data: LabelledFile, fit: np.ndarray, rest: np.ndarray) -> list[list[float]]:
    """Give F in the sample, out of fold and on the other half, for each guard."""
    rows = []
    for guard in GUARDS:
        truth, scores = data.y_true[fit], data.y_score[fit]
        found = thresholds.cross_fit(truth, scores, guard=guard, random_state=0, keep_sparse=True)
        predicted = found.rule.predict(data.y_score[rest])
        there = f1_score(data.y_true[rest], predicted, average="macro", zero_division=0)
        rows.append([found.in_sample, found.out_of_fold, there])
    return rows


def main() -> int:
    """Measure all files of a folder."""
    parser = argparse.ArgumentParser(description="Hold out-of-fold figures against F on other rows.")
    parser.add_argument("folder", type=Path)
    results = []
    for path in sorted(parser.parse_args().folder.glob("*.npz")):
        for key in score_keys(path):
            data = read_labelled(path, key)
            first, second, _ = data.halves()
            print(f"{path.stem} {key}", file=sys.stderr)
            results.append(np.mean([one_way(data, first, second), one_way(data, second, first)], axis=0))
    figures = np.array(results)  # (files, guards, 3)
    gaps = figures[:, :, :2] - figures[:, :, 2:]
    body = []
    for g, guard in enumerate(GUARDS):
        for k, name in enumerate(("in the sample", "out of fold")):
            mean, error = gaps[:, g, k].mean(), gaps[:, g, k].std(ddof=1) / np.sqrt(len(gaps))
            body.append(
                (guard or "none", name, f"{100 * mean:+.2f} ({100 * error:.2f})", f"{100 * gaps[:, g, k].max():+.2f}")
            )
    table = aligned([("guard", "figure", "minus F on other rows (SE)", "largest")], body, left=(0, 1))
    right = np.sign(figures[:, 1] - figures[:, 0]) == np.sign(figures[:, 1, 2] - figures[:, 0, 2])[:, np.newaxis]
    text = (
        f"{table}\n\n{len(figures)} sets of scores, points of macro-F1. Guard and no guard are ranked as on other rows"
        f" in {right[:, 0].sum()} by the figures in the sample, in {right[:, 1].sum()} by those out of fold.\n"
    )
    print(text, end="")
    Path(__file__).with_suffix(".txt").write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
