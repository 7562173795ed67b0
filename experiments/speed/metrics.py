"""Benchmark: counting decisions, against one read of them and against scikit-learn.

Data: 200,000 x 400 truth and predictions, uint8; base rates log-uniform between 0.3 and 1e-4. Also the same cells as
CSR, as bools and as int64 (a tenth of the rows), and the scores that the predictions were cut from.

Measured in one run, interleaved, after all kernels are compiled, each the median of the rounds:

- one read of both matrices, `y_true.max()` and `y_pred.max()`;
- `metrics.f1_score` of every average, `metrics.averages_report`, and scikit-learn's `f1_score(average="macro")`;
- `f1_score` of CSR matrices, of the same entries spread over ten times the columns, and of twice the entries;
- `metrics.macro_auroc`, and scikit-learn's `roc_auc_score` of some labels.

The run also compares the values. It fails if a required ratio is missed; a quick run only compares values.

    pip install -e ".[bench]"
    python experiments/speed/metrics.py [--quick] [--json FILE]
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Ratio, Scores, Truth, describe_machine, make_data, seconds, show_ratios, unbounded, write_json
from scipy import sparse
from sklearn import metrics as theirs

from thresholds import metrics as ours

FULL, QUICK = (200_000, 400), (20_000, 40)
ROUNDS = 7
CUT = 2.0  # of the scores: predictions as frequent as a fit would make them, within a factor of a few
WIDER = 10
READ, MACRO, SKLEARN = "read of both", "macro F1, dense", "scikit-learn macro F1"
CSR, SPREAD, DOUBLED, SKLEARN_CSR = "CSR", "CSR, 10 x the columns", "CSR, 2 x the entries", "scikit-learn, CSR"
AUROC, SKLEARN_AUROC = "macro AUROC, 1 thread", "scikit-learn roc_auc_score"
RANKED = 10  # labels that scikit-learn ranks; all are ranked by us


def spread(matrix: Truth, seed: int) -> sparse.csr_array:
    """Give the entries of a matrix in ten times as many columns."""
    narrow = sparse.csr_array(matrix)
    columns = np.random.default_rng(seed).permutation(matrix.shape[1] * WIDER)[: matrix.shape[1]]
    wide = sparse.csr_array(
        (narrow.data, columns[narrow.indices], narrow.indptr), shape=(matrix.shape[0], matrix.shape[1] * WIDER)
    )
    wide.sort_indices()
    return wide


def contenders(truth: Truth, predicted: Truth, scores: Scores) -> dict[str, Callable[[], Any]]:
    """Give what is timed, by name."""
    macro: dict[str, Any] = {"average": "macro", "zero_division": 0}
    both = {CSR: [sparse.csr_array(part) for part in (truth, predicted)]}
    both[SPREAD] = [spread(part, seed=0) for part in (truth, predicted)]
    both[DOUBLED] = [sparse.csr_array(np.hstack([part, part])) for part in (truth, predicted)]
    both["macro F1, dense bool"] = [part.astype(bool) for part in (truth, predicted)]
    both["macro F1, dense int64, a tenth"] = [part[: len(part) // 10].astype(np.int64) for part in (truth, predicted)]
    calls: dict[str, Callable[[], Any]] = {READ: lambda: (truth.max(), predicted.max())}
    calls[MACRO] = partial(ours.f1_score, truth, predicted, **macro)
    calls[SKLEARN] = partial(theirs.f1_score, truth, predicted, **macro)
    for average in ("micro", "weighted", "f_of_averages", "samples"):
        calls[f"{average} F1, dense"] = partial(ours.f1_score, truth, predicted, average=average, zero_division=0)
    calls["weights, macro F1, dense"] = partial(
        ours.f1_score, truth, predicted, sample_weight=np.arange(1, len(truth) + 1), **macro
    )
    calls["averages_report"] = partial(ours.averages_report, truth, predicted)
    for name, pair in both.items():
        calls[name] = partial(ours.f1_score, *pair, **macro)
    calls[SKLEARN_CSR] = partial(theirs.f1_score, *both[CSR], **macro)
    calls[AUROC] = partial(ours.macro_auroc, truth, scores, n_jobs=1)
    calls[SKLEARN_AUROC] = lambda: [theirs.roc_auc_score(truth[:, j], scores[:, j]) for j in range(RANKED)]
    return calls


def largest_difference(calls: dict[str, Callable[[], Any]], truth: Truth, scores: Scores) -> float:
    """Compare values of ours and theirs."""
    macro = [calls[name]() for name in (MACRO, CSR, SKLEARN, SKLEARN_CSR)]
    ranked = ours.auroc(truth[:, :RANKED], scores[:, :RANKED]) - calls[SKLEARN_AUROC]()
    return max(np.ptp(macro), np.abs(ranked).max())


def compare(median: dict[str, float], n_labels: int, difference: float) -> list[Ratio]:
    """Give all ratios."""
    ratios = [
        Ratio("largest difference of a value", difference, at_most=1e-12),
        Ratio(f"{MACRO} / {READ}", median[MACRO] / median[READ], at_most=3),
        Ratio(f"{SKLEARN} / {MACRO}", median[SKLEARN] / median[MACRO], at_least=10),
        Ratio(f"{SKLEARN_CSR} / {CSR}", median[SKLEARN_CSR] / median[CSR]),
        Ratio(f"{SPREAD} / {CSR}", median[SPREAD] / median[CSR], at_most=2),
        Ratio(f"{DOUBLED} / {CSR}", median[DOUBLED] / median[CSR]),
        Ratio(f"{SKLEARN_AUROC} of all labels / {AUROC}", median[SKLEARN_AUROC] * n_labels / RANKED / median[AUROC]),
    ]
    named = {CSR, SPREAD, DOUBLED, READ, MACRO, SKLEARN, SKLEARN_CSR, AUROC, SKLEARN_AUROC}
    return ratios + [Ratio(f"{name} / {READ}", median[name] / median[READ]) for name in median if name not in named]


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time counting against one read and against scikit-learn.")
    parser.add_argument("--quick", action="store_true", help="a small size, which compares values but checks no ratio")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    options = parser.parse_args()
    truth, scores = make_data(*(QUICK if options.quick else FULL))
    predicted = (scores >= CUT).astype(np.uint8)
    calls = contenders(truth, predicted, scores)
    difference = largest_difference(calls, truth, scores)  # The first calls, which compile.
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(seconds(call))
    ratios = compare({name: float(np.median(each)) for name, each in times.items()}, truth.shape[1], difference)
    if options.quick:
        ratios[1:] = unbounded(ratios[1:])
    print(f"{truth.shape[0]:,} x {truth.shape[1]} cells, {ROUNDS} rounds\n")
    for name, each in times.items():
        print(f"{name:<34}{np.median(each):9.4f} s, median ({min(each):.4f} to {max(each):.4f})")
    machine = describe_machine()
    show_ratios(ratios, machine)
    write_json(options.json, ratios, machine, shape=truth.shape, seconds=times)
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
