"""Benchmark: 200 bootstrap samples of the thresholds of 200,000 x 400 scores, against reads of the scores and refits.

Data: float32 scores, those of positives higher by 0 to 3 standard deviations; base rates log-uniform between 0.3 and
1e-4, so that 4.5 % of the cells are positive. Scores have hardly any ties.

Measured in one run, interleaved, on two threads, each the median of the rounds, after all kernels are compiled:

- one read of the scores: their sum, each thread having half of the rows;
- `bootstrap_thresholds`, 200 replicates, all intervals included; and with 2 replicates, which is all but the drawing;
- one refit: rows drawn with replacement, copied, `fit_empirical`.

Fails if 200 replicates take more than 900 reads. A quick run checks nothing.

    python experiments/speed/bootstrap.py [--quick] [--json FILE] > experiments/speed/bootstrap.txt
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from measuring import (
    QUICK_SHAPE,
    SHAPE,
    THREADS,
    Clock,
    Ratio,
    Scores,
    Truth,
    describe_machine,
    make_data,
    show_ratios,
    unbounded,
    write_json,
)

import thresholds

ROUNDS = 5
REPLICATES = 200
READ, BOOTSTRAP, WITHOUT, REFIT = "one read", "200 replicates", "2 replicates", "one refit"


def read(scores: Scores) -> float:
    """Add up all scores, on threads."""
    parts = np.array_split(np.arange(len(scores)), THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        return float(sum(pool.map(lambda part: scores[part[0] : part[-1] + 1].sum(), parts)))


def refit(truth: Truth, scores: Scores, seed: int) -> None:
    """Fit to a bootstrap sample of rows."""
    rows = np.random.default_rng(seed).integers(0, len(truth), len(truth))
    thresholds.fit_empirical(truth[rows], scores[rows], n_jobs=THREADS)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time bootstrap_thresholds against reads of the scores.")
    parser.add_argument("--quick", action="store_true", help="a small size, which checks no ratio")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    options = parser.parse_args()
    truth, scores = make_data(*(QUICK_SHAPE if options.quick else SHAPE))
    bootstrap = partial(thresholds.bootstrap_thresholds, truth, scores, n_jobs=THREADS)
    bootstrap(n_bootstraps=2)  # compiles
    refit(truth, scores, 0)
    clock = Clock()
    for round_ in range(ROUNDS):
        clock.time(READ, partial(read, scores), 10)
        clock.time(BOOTSTRAP, partial(bootstrap, n_bootstraps=REPLICATES))
        clock.time(WITHOUT, partial(bootstrap, n_bootstraps=2))
        clock.time(REFIT, partial(refit, truth, scores, round_))
    reads = {name: clock.median(name) / clock.median(READ) for name in clock.times}
    steps = int(truth.sum())
    drawing = (clock.median(BOOTSTRAP) - clock.median(WITHOUT)) * THREADS / (2 * steps * (REPLICATES - 2))
    ratios = [
        Ratio(f"{BOOTSTRAP} / {READ}", reads[BOOTSTRAP], at_most=900),
        Ratio(f"{WITHOUT} / {READ}", reads[WITHOUT]),
        Ratio(f"{REPLICATES} refits / {BOOTSTRAP}", REPLICATES * reads[REFIT] / reads[BOOTSTRAP]),
        Ratio("nanoseconds of a thread for each number drawn", 1e9 * drawing),
    ]
    if options.quick:
        ratios = unbounded(ratios)
    machine = describe_machine()
    print(f"{truth.shape[0]:,} x {truth.shape[1]} cells, {steps:,} positives ({truth.mean():.2%}), {ROUNDS} rounds")
    show_ratios(ratios, machine)
    write_json(options.json, ratios, machine, shape=truth.shape, seconds=clock.times)
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
