"""Benchmark: fits to truth that is unknown in 30 % of the cells, against fits of the same data without an unknown cell.

Cells of unknown truth are left out of the column of their label. The measure is a macro fit of the known data that
sorts every label. All are measured in one run, interleaved, on one thread, the median of the rounds, after all kernels
are compiled. No ratio is required.

    python experiments/unknown/cost.py [--quick] > experiments/unknown/cost.txt
"""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

import numpy as np
from measuring import Clock, Ratio, describe_machine, fit_by_sorting, make_data, name_shape, show_ratios

import thresholds

SHAPES, QUICK_SHAPES = ((20_000, 100), (200_000, 40)), ((2_000, 20),)
ROUNDS = 7
HIDDEN = 0.3  # of the cells
SORTING = "sorts"


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time fits to truth that is unknown in part.")
    parser.add_argument("--quick", action="store_true", help="a small size")
    options = parser.parse_args()
    ratios = []
    for shape in QUICK_SHAPES if options.quick else SHAPES:
        truth, scores = make_data(*shape)
        partly = truth.astype(np.int8)
        partly[np.random.default_rng(0).random(shape) < HIDDEN] = -1
        fit = partial(thresholds.fit_empirical, n_jobs=1)
        calls = {
            SORTING: partial(fit_by_sorting, truth, scores),
            "macro, all known": partial(fit, truth, scores),
            "macro, 30 % unknown": partial(fit, partly, scores, unknown=-1),
            "macro, shrink, all known": partial(fit, truth, scores, guard="shrink"),
            "macro, shrink, 30 % unknown": partial(fit, partly, scores, guard="shrink", unknown=-1),
            "micro, all known": partial(fit, truth, scores, "micro"),
            "micro, 30 % unknown": partial(fit, partly, scores, "micro", unknown=-1),
        }
        for call in calls.values():
            call()  # compiles
        clock = Clock()
        for _ in range(ROUNDS):
            for name, call in calls.items():
                clock.time(name, call)
        for name in list(calls)[1:]:
            ratio = clock.median(name) / clock.median(SORTING)
            ratios.append(Ratio(f"{name_shape(shape)}: {name}", ratio))
        print(f"{name_shape(shape)}: macro, all known, all labels sorted: {clock.median(SORTING):.3f} s", flush=True)
    show_ratios(ratios, describe_machine())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
