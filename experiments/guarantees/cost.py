"""Benchmark: fits whose floors are promised on new rows, against a plain fit of the same data that sorts.

A large plain fit sorts only the scores that may matter (`_engine/kernels.py`); what is promised is read off all steps
of each label, which takes sorting. So the measure is a plain fit made to sort: every label's steps, the best of them, a
threshold. Beside it, the plain fit as it is, and floors in the sample (confidence=None).

Data of experiments/speed/measuring.py: float32 scores, base rates from .3 down to 1e-4, hardly any ties; and the same
rounded to 50 values, where starts of precision lie inside groups of ties. Measured in one run, interleaved, on one
thread, the median of the rounds, after all kernels are compiled. Fails if a promised fit takes more than three plain
fits that sort. A quick run checks nothing.

    python experiments/guarantees/cost.py [--quick] > experiments/guarantees/cost.txt
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

import numpy as np
from measuring import Clock, Ratio, describe_machine, fit_by_sorting, make_data, name_shape, show_ratios, unbounded

import thresholds

SHAPES, QUICK_SHAPES = ((20_000, 100), (100_000, 20), (1_000_000, 10)), ((2_000, 20),)
ROUNDS = 5
MOST = 3.0
SORTING, PLAIN = "plain fit that sorts", "plain fit"
FITS: dict[str, dict[str, Any]] = {
    "precision .7 in the sample": {"min_precision": 0.7},
    "precision .7 at .95": {"min_precision": 0.7, "confidence": 0.95},
    "recall .7 at .95": {"min_recall": 0.7, "confidence": 0.95},
    "both at .95": {"min_precision": 0.7, "min_recall": 0.7, "confidence": 0.95},
    "precision .7 at .95, all": {"min_precision": 0.7, "confidence": 0.95, "family": "all"},
}


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time fits with promised floors against plain fits.")
    parser.add_argument("--quick", action="store_true", help="a small size, which checks no ratio")
    options = parser.parse_args()
    ratios = []
    for shape in QUICK_SHAPES if options.quick else SHAPES:
        truth, continuous = make_data(*shape)
        for kind, scores in (("", continuous), (", 50 values", np.round(continuous * 5) / 5)):
            calls = {SORTING: partial(fit_by_sorting, truth, scores)}
            calls[PLAIN] = partial(thresholds.fit_empirical, truth, scores, n_jobs=1)
            for name, arguments in FITS.items():
                calls[name] = partial(thresholds.fit_empirical, truth, scores, n_jobs=1, **arguments)
            for call in calls.values():
                call()  # compiles
            clock = Clock()
            for _ in range(ROUNDS):
                for name, call in calls.items():
                    clock.time(name, call)
            for name in (PLAIN, *FITS):
                bound = MOST if "at" in name.split() else None
                ratio = clock.median(name) / clock.median(SORTING)
                ratios.append(Ratio(f"{name_shape(shape)}{kind}: {name}", ratio, at_most=bound))
            print(f"{name_shape(shape)}{kind}: {SORTING} {clock.median(SORTING):.3f} s", flush=True)
    if options.quick:
        ratios = unbounded(ratios)
    show_ratios(ratios, describe_machine())
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
