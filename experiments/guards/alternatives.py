"""Is it true when `fit` says that another rule is better? Real scores, rules judged on rows of their own.

    python experiments/guards/alternatives.py FOLDER

Rules are cross-fitted on random rows of one half (`calib_idx`), with their alternatives over the same folds
(`cross_fit(..., alternatives=True)`): one threshold for all labels, and a guard where there is none. An alternative is
named if its gain out of fold is shown to be above 0. All are then fitted on all of these rows and judged on the other
half (`test_idx`).

Printed, by what is fitted and by the number of rows, over all files and samples: how many alternatives there are, how
many of them are named, of these how many reach more on the other half, and what they gain out of fold and there; how
many are better there by half a point or more, and how many of these are named; and how many gain more than one standard
error out of fold, and of these how many reach more there. `alternatives.txt` has what was printed last.
"""

import argparse
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import thresholds
from thresholds._results.text import aligned
from thresholds.files import LabelledFile, read_labelled
from thresholds.metrics import f1_score

FILES = (
    "bibtex",
    "chestxray14_chexnet",
    "corel5k",
    "emotions",
    "litcovid_bc7",
    "ohsumed23",
    "ptbxl_xresnet1d101",
    "yeast",
)
SIZES = (100, 300, 1000)
REPEATS = 6
FITS = (("macro", "auto"), ("macro", None), ("micro", "auto"), ("micro", None))
MATTERS = 0.005  # of F


def reached(data: LabelledFile, rows: np.ndarray, average: str, options: dict[str, object]) -> float:
    """Fit on some rows, and return F on the test rows."""
    rule = thresholds.fit_empirical(data.y_true[rows], data.y_score[rows], average, **options)
    test = np.asarray(data.test_idx)
    decided = rule.predict(data.y_score[test], dense=rule.predicts_missing)
    return float(f1_score(data.y_true[test], decided, average=average, zero_division=0))


def one_sample(data: LabelledFile, rows: np.ndarray, average: str, guard: str | None) -> list[list[float]]:
    """Say of each alternative whether it is named, its gain and its standard error, and the gain on the test rows."""
    found = thresholds.cross_fit(
        data.y_true[rows], data.y_score[rows], average, guard=guard, alternatives=True, verdicts=False
    )
    there = reached(data, rows, average, {"guard": guard})
    return [
        [
            other.is_better,
            other.gain,
            other.standard_error,
            reached(data, rows, average, {"guard": guard} | dict(other.options)) - there,
        ]
        for other in found.alternatives
    ]


def samples(data: dict[str, LabelledFile], size: int) -> Iterator[tuple[LabelledFile, np.ndarray]]:
    """Draw rows of each file that has more of them."""
    for name, of_file in data.items():
        half = np.asarray(of_file.calib_idx)
        for repeat in range(REPEATS if half.size > size else 0):
            rng = np.random.default_rng([zlib.crc32(name.encode()), repeat])
            yield of_file, np.sort(rng.choice(half, size, replace=False))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Hold the alternatives that a fit names against other rows.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds the files")
    folder = parser.parse_args().folder
    data = {name: read_labelled(folder / f"{name}.npz", "y_score") for name in FILES}
    body = []
    totals = np.zeros(2, int)
    for average, guard in FITS:
        for size in SIZES:
            found = [row for of_file, rows in samples(data, size) for row in one_sample(of_file, rows, average, guard)]
            named, gain, error, there = np.array(found).T
            named = named > 0
            above_error = gain > error
            matters = there >= MATTERS
            totals += named.sum(), (there[named] > 0).sum()
            body.append(
                (
                    f"{average}, {'no guard' if guard is None else 'guarded'}",
                    str(size),
                    f"{named.size}",
                    f"{named.sum()}",
                    f"{(there[named] > 0).sum()}",
                    f"{gain[named].mean():+.4f}" if named.any() else "",
                    f"{there[named].mean():+.4f}" if named.any() else "",
                    f"{matters.sum()}",
                    f"{(matters & named).sum()}",
                    f"{above_error.sum()}",
                    f"{(there[above_error] > 0).sum()}",
                )
            )
    head = [
        ("", "", "alter-", "", "better", "gain", "gain", "better by", "of these", "above one", "better"),
        ("fit", "rows", "natives", "named", "there", "out of fold", "there", ".005 there", "named", "SE", "there"),
    ]
    print(aligned(head, body, left=()))  # Names of fits are not shortened.
    print(f"\nof {totals[0]} that are named {totals[1]} reach more on the other half")

    # What it is worth to go without a guard.
    gains = [
        reached(of_file, rows, "macro", {"guard": None}) - reached(of_file, rows, "macro", {"guard": "auto"})
        for size in SIZES
        for of_file, rows in samples(data, size)
    ]
    n_better = int((np.array(gains) >= MATTERS).sum())
    print(f"to go without the guard gains .005 or more there in {n_better} of {len(gains)} samples")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
