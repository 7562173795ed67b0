"""The verdict on every label of real score files: two runs are compared by `diff`.

    python experiments/base_rates/verdicts.py FOLDER > verdicts.txt

A calibrator of the calibration rows of each file is held against its test rows: as they are; with other base rates
(`shift.py`); with scores that changed their meaning; and with positives that score lower (`weakened.py`). A line a
label: file, what was done, label, verdict, base rate that is followed.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shift import CHANGES, SHIFTS, File, shifted
from weakened import WEAKENED, logits_of

import thresholds
from thresholds.calibration import estimate_base_rates


def of_file(file: File) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield what is done to the test rows of a file, and their scores then."""
    yield "as they are", file.scores
    for name, factors_of in SHIFTS.items():
        factors = factors_of(file.truth.shape[1])
        yield f"base rates {name}", shifted(file.truth, file.scores, factors, np.random.default_rng(1))[1]
    inside = 1 / (1 + np.exp(-logits_of(file.scores)))
    for name, change in CHANGES.items():
        yield name, change(inside)
    for name, weaker in WEAKENED.items():
        yield name, weaker(file.truth, file.scores)


def main() -> int:
    """Print a line for each label."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", thresholds.ScoreChangeWarning)
    for path in sorted(given.folder.glob("*.npz")):
        if path.stem.endswith("_weak"):
            continue
        file = File(path)
        for name, scores in of_file(file):
            table = estimate_base_rates(file.calibrator, scores).table
            for label, row in enumerate(table):
                print(f"{path.stem}\t{name}\t{label}\t{row['verdict']}\t{row['rate']:.4g}", flush=label == 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
