"""Benchmark: fits to sparse scores of hundreds of thousands of labels, against sorting the stored scores once.

A row has a list of scores, of labels of which some are common and most rare; about five are true, one in ten of them
without a score. All are measured in one run, interleaved, on two threads, after all kernels are compiled. The figure is
the median of the rounds. Beside it is the ratio of processor times, of all threads together, which a busy machine
changes less: two threads that have two cores for themselves take half of it.

    python experiments/scale/extreme.py [--quick] > experiments/scale/extreme.txt
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

import numpy as np
from measuring import Clock, Ratio, describe_machine, show_ratios
from scipy import sparse

import thresholds

# Rows, labels, scores of a row; the most that macro may take, in sorts.
CASES = ((490_000, 670_000, 104, 2), (50_000, 100_000, 49, 10))
QUICK_CASES = ((5_000, 10_000, 49, None),)
TRUE_OF_A_ROW = 5
STEEPNESS = 0.5  # The label of rank r is as frequent as r ** -STEEPNESS.
ROUNDS = 3
THREADS = 2
SORT = "sort"
CPU = ", processor time"


def main() -> int:
    """Run the benchmark; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description="Time fits of very many labels.")
    parser.add_argument("--quick", action="store_true", help="a small size")
    options = parser.parse_args()
    ratios = []
    for n_rows, n_labels, n_scores, at_most in QUICK_CASES if options.quick else CASES:
        truth, scores = drawn(n_rows, n_labels, n_scores)
        print(f"CSR {n_rows:,} x {n_labels:,}: {scores.nnz:,} scores, {truth.nnz:,} true cells")
        ratios += measured(f"{n_rows:,} x {n_labels:,}", truth, scores, at_most)
    show_ratios(ratios, describe_machine())
    return int(not all(ratio.holds for ratio in ratios))


def drawn(n_rows: int, n_labels: int, n_scores: int) -> tuple[Any, Any]:
    """Draw truth and scores: skewed towards 0, those of positives higher by up to .7."""
    rng = np.random.default_rng(0)
    share = (10.0 + np.arange(n_labels)) ** -STEEPNESS  # (n_labels,)
    share = rng.permutation(share).cumsum() / share.sum()

    def labels(shape: tuple[int, ...]) -> Any:
        return np.minimum(np.searchsorted(share, rng.random(shape)), n_labels - 1).astype(np.int32)

    # The scores of each row, those of one label once.
    columns = np.sort(labels((n_rows, n_scores)), axis=1)  # (n_rows, n_scores)
    is_first = np.ones(columns.shape, np.bool_)
    is_first[:, 1:] = columns[:, 1:] != columns[:, :-1]
    starts = np.append(0, is_first.sum(axis=1).cumsum()).astype(np.int32)
    columns = columns[is_first]  # (n_stored,)
    is_true = rng.random(columns.size) < TRUE_OF_A_ROW / n_scores
    cells = rng.random(columns.size) ** 4
    cells[is_true] += 0.7 * rng.random(np.count_nonzero(is_true))
    scores = sparse.csr_array((cells.astype(np.float32), columns, starts), shape=(n_rows, n_labels))

    # True cells: some of those with a score, and some others.
    rows = np.repeat(np.arange(n_rows), np.diff(starts))[is_true]
    n_more = n_rows // 2
    places = np.append(rows, rng.integers(0, n_rows, n_more)), np.append(columns[is_true], labels((n_more,)))
    truth = sparse.coo_array((np.ones(places[0].size, np.bool_), places), shape=scores.shape).tocsr()
    return truth != 0, scores


def measured(name: str, truth: Any, scores: Any, at_most: float | None) -> list[Ratio]:
    """Time a sort, fits, and the use of a rule."""
    fit = partial(thresholds.fit_empirical, truth, scores, n_jobs=THREADS)
    rule = fit()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rule.json"
        calls: dict[str, Callable[[], object]] = {
            SORT: lambda: np.sort(scores.data),
            "macro": fit,
            "micro": partial(fit, "micro"),
            "macro, keep_sparse=False": partial(fit, keep_sparse=False),
            "predict": partial(rule.predict, scores),
            "save": partial(rule.save, path),
            "load": partial(thresholds.load_rule, path),
        }
        rule.save(path)
        n_bytes = path.stat().st_size
        clock = Clock()
        for call in calls.values():
            call()  # compiles
        for _ in range(ROUNDS):
            for title, call in calls.items():
                start = time.process_time()
                clock.time(title, call)
                clock.note(title + CPU, time.process_time() - start)
    print(
        f"  {SORT}: {clock.median(SORT):.3f} s, {clock.median(SORT + CPU):.3f} s of a processor;"
        f" rule {n_bytes / 1e6:.0f} MB of JSON"
    )
    print(f"  resident at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB", flush=True)
    ratios = []
    for title in list(calls)[1:]:
        bound = at_most if title == "macro" else None
        ratios.append(Ratio(f"{name}: {title} / sort", clock.median(title) / clock.median(SORT), at_most=bound))
        ratios.append(Ratio(f"{name}: {title} / sort{CPU}", clock.median(title + CPU) / clock.median(SORT + CPU)))
    return ratios


if __name__ == "__main__":
    raise SystemExit(main())
