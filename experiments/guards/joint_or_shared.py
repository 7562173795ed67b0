"""Micro-F1 over-fits, too: joint thresholds for each label against one that all share, by the number of rows.

    python experiments/guards/joint_or_shared.py FOLDER

Both rules maximise micro-F1 on random rows of one half (`calib_idx`) of four files of real scores and are judged on the
other (`test_idx`). Printed, as means over six samples (one of all rows): what each claims on its own rows, and what it
reaches on the others. The table is in docs/guards.md; `joint_or_shared.txt` has what was printed last.
"""

import argparse
import zlib
from pathlib import Path

import numpy as np

import thresholds
from thresholds.files import read_labelled
from thresholds.metrics import f1_score
from thresholds.results import as_text

FILES = ("bibtex", "chestxray14_chexnet", "corel5k", "pubmed_mesh_all")
SIZES = (100, 300, 1000, "all")
REPEATS = 6


def main() -> int:
    """Fit, judge, print."""
    parser = argparse.ArgumentParser(description="Joint thresholds and a shared one for micro-F1, by rows.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds the files")
    options = parser.parse_args()
    body = []
    for name in FILES:
        data = read_labelled(options.folder / f"{name}.npz", "y_score")
        half, rest = np.asarray(data.calib_idx), np.asarray(data.test_idx)
        truth, scores = data.y_true[rest], data.y_score[rest]
        for size in SIZES:
            found = []
            for repeat in range(1 if size == "all" else REPEATS):
                rng = np.random.default_rng([zlib.crc32(name.encode()), repeat])
                rows = half if size == "all" else np.sort(rng.choice(half, int(size), replace=False))
                for per_label in (True, False):
                    rule = thresholds.fit_empirical(data.y_true[rows], data.y_score[rows], "micro", per_label=per_label)
                    assert rule.objective is not None
                    decided = rule.predict(scores, dense=rule.predicts_missing)
                    found += [rule.objective, f1_score(truth, decided, average="micro", zero_division=0)]
            means = np.array(found).reshape(-1, 4).mean(axis=0)
            body.append((name, str(size), *(f"{mean:.3f}" for mean in means)))
    head = [("", "", "joint", "", "shared", ""), ("file", "rows", "claims", "reaches", "claims", "reaches")]
    print(as_text(head, body))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
