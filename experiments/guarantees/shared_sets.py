"""Experiment: do floors of precision hold on other rows of real score files, in the sample and promised?

Each file is fitted on its calibration rows (`calib_idx`) with min_precision=0.7 and judged on its test rows
(`test_idx`): in the sample (confidence=None) with and without a guard, and promised with confidences .9 and .95, for
each label by itself and for all at once. Of each rule:

- predicted: how many labels are predicted on the test rows at all;
- below: the share of these whose precision on the test rows is below the floor;
- surely: the share of these of which the test rows show it, by an exact test at 5 % for each label. A promise speaks of
  all rows that may come, not of some hundred: a label whose precision is just above the floor falls below on half of
  all test sets. So "below" may be above 1 - confidence although every promise is kept; "surely" may not by much;
- F1, macro and micro.

Held to is "below" over all files: at most 1 - confidence and two standard errors. Exits with 1 if it is not. Run

    python experiments/guarantees/shared_sets.py FOLDER_OF_NPZ > experiments/guarantees/shared_sets.txt
"""

import argparse
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import binom

import thresholds
from thresholds.files import read_labelled

FLOOR = 0.7
FILES = (
    "bibtex",
    "chestxray14_chexnet",
    "code_ecg",
    "emotions",
    "litcovid_bc7",
    "ohsumed23",
    "ptbxl_xresnet1d101",
    "pubmed_mesh",
    "yeast",
)
FITS: dict[str, dict[str, Any]] = {
    "in the sample": {},
    "in the sample, guard": {"guard": "shrink"},
    "promised, .9 each": {"confidence": 0.9},
    "promised, .9 each, guard": {"confidence": 0.9, "guard": "shrink"},
    "promised, .9 all": {"confidence": 0.9, "family": "all"},
    "promised, .95 each": {"confidence": 0.95},
    "promised, .95 all": {"confidence": 0.95, "family": "all"},
}
LEVEL = 0.05


class Judged(NamedTuple):
    """What a rule does on test rows."""

    predicted: int  # labels
    below: int
    surely: int
    macro: float
    micro: float

    @classmethod
    def of(cls, rule: Any, truth: Any, scores: Any) -> "Judged":
        """Judge a rule."""
        decided = rule.predict(scores)
        n, tp = decided.sum(axis=0), (decided & truth).sum(axis=0)  # (n_labels,)
        is_predicted = n > 0
        below = is_predicted & (tp < FLOOR * n)
        surely = is_predicted & (binom.cdf(tp, n, FLOOR) <= LEVEL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            macro, micro = (
                thresholds.metrics.f1_score(truth, decided, average=average, zero_division=0.0)
                for average in ("macro", "micro")
            )
        return cls(int(is_predicted.sum()), int(below.sum()), int(surely.sum()), float(macro), float(micro))


def dense(matrix: Any) -> Any:
    """Fill in what a sparse matrix leaves out."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def main() -> int:
    """Judge every fit on every file."""
    parser = argparse.ArgumentParser(description="Judge floors of precision on other rows.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="holds real score files")
    options = parser.parse_args()
    found: dict[str, list[Judged]] = {name: [] for name in FITS}
    print(f"precision of at least {FLOOR:g}, fitted on calibration rows, judged on test rows")
    for file in FILES:
        data: Any = read_labelled(str(options.folder / f"{file}.npz"), "y_score")
        truth, scores = dense(data.y_true), dense(data.y_score)
        fitted, judged = data.calib_idx, data.test_idx
        n, m = truth[fitted].shape
        print(f"\n{file}: {n:,} rows, {m} labels\n")
        print(f"{'':<28}{'predicted':>10}{'below':>8}{'surely':>8}{'macro F1':>10}{'micro F1':>10}")
        for name, arguments in FITS.items():
            rule = thresholds.fit_empirical(truth[fitted], scores[fitted], min_precision=FLOOR, **arguments)
            of_rule = Judged.of(rule, truth[judged], scores[judged])
            found[name].append(of_rule)
            shares = "".join(f"{count / max(of_rule.predicted, 1):>8.3f}" for count in of_rule[1:3])
            print(f"{name:<28}{of_rule.predicted:>10}{shares}{of_rule.macro:>10.4f}{of_rule.micro:>10.4f}", flush=True)
    print(f"\nall files{'':<19}{'predicted':>10}{'below':>8}{'surely':>8}{'macro F1':>10}{'micro F1':>10}   at most\n")
    kept = True
    for name, arguments in FITS.items():
        predicted, below, surely = (sum(judged[k] for judged in found[name]) for k in range(3))
        macro, micro = (np.mean([judged[k] for judged in found[name]]) for k in (3, 4))
        limit = ""
        if "confidence" in arguments:
            delta = 1 - arguments["confidence"]
            most = delta + 2 * np.sqrt(delta * (1 - delta) / predicted)
            kept &= below / predicted <= most
            limit = f"{most:>10.3f}"
        print(
            f"{name:<28}{predicted:>10}{below / predicted:>8.3f}{surely / predicted:>8.3f}{macro:>10.4f}{micro:>10.4f}"
            + limit
        )
    print(f"\nbelow at most 1 - confidence, within two standard errors: {'yes' if kept else 'no'}")
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
