"""What each option of a fit takes where sparse scores are of very many labels: processor time, and memory.

Each fit has a process of its own, which fits a hundredth of the rows first, so that kernels are compiled. Seconds are
those of a processor, of one thread, which a busy machine changes little; memory is the most that was resident, data and
libraries included.

    python experiments/scale/sparse_options.py [--quick] > experiments/scale/sparse_options.txt
"""

import argparse
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

from extreme import drawn
from measuring import describe_machine

import thresholds

SIZE = (20_000, 200_000, 50)  # rows, labels, scores of a row
QUICK_SIZE = (2_000, 20_000, 50)
ANYWHERE = {"keep_sparse": False}
FITS: dict[str, dict[str, Any]] = {
    "macro": {},
    "micro": {"average": "micro"},
    "samples, shared": {"average": "samples", "per_label": False},
    "shrink": {"guard": "shrink"},
    "pool": {"average": "micro", "guard": "pool"},
    "floor of precision": {"min_precision": 0.2},
    "promise of precision": {"min_precision": 0.2, "confidence": 0.8},
    "promise of recall": {"min_recall": 0.2, "confidence": 0.8},
    "micro, promise of precision": {"average": "micro", "min_precision": 0.2, "confidence": 0.8},
    "micro, promise of recall": {"average": "micro", "min_recall": 0.2, "confidence": 0.8},
    "samples, promise of precision": {
        "average": "samples",
        "per_label": False,
        "min_precision": 0.1,
        "confidence": 0.8,
    },
    "budget of all cells": {"max_predicted": 30_000.0},
    "cap of a row": {"max_predicted_per_row": 3},
    "micro, cap of a row": {"average": "micro", "max_predicted_per_row": 3},
    "cut anywhere": ANYWHERE,
    "cut anywhere, micro, shared, promise of recall": {
        "average": "micro",
        "per_label": False,
        "min_recall": 0.9,
        "confidence": 0.9,
        **ANYWHERE,
    },
    "cut anywhere, cap of a row": {"max_predicted_per_row": 3, **ANYWHERE},
}


def main() -> None:
    """Measure every fit."""
    parser = argparse.ArgumentParser(description="Processor time and memory of fits of very many labels, by option.")
    parser.add_argument("--quick", action="store_true", help="a small size")
    size = QUICK_SIZE if parser.parse_args().quick else SIZE
    truth, scores = drawn(*size)
    print(f"CSR {size[0]:,} x {size[1]:,}: {scores.nnz:,} scores, {truth.nnz:,} true cells\n")
    print(f"{'fit':48}{'seconds':>10}{'MB':>8}")
    for name in FITS:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            seconds, n_bytes = process.apply(cost_of, (size, name))
        print(f"{name:48}{seconds:10.1f}{n_bytes / 1e6:8,.0f}", flush=True)
    print("\n" + ", ".join(f"{name} {value}" for name, value in describe_machine().items()))


def cost_of(size: tuple[int, int, int], name: str) -> tuple[float, int]:
    """Return the processor time of a fit in seconds, and the most bytes that this process had."""
    truth, scores = drawn(*size)
    options = {"n_jobs": 1, **FITS[name]}
    few = slice(0, size[0] // 100)
    thresholds.fit_empirical(truth[few], scores[few], **options)  # compiles
    start = time.process_time()
    thresholds.fit_empirical(truth, scores, **options)
    seconds = time.process_time() - start
    return seconds, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
