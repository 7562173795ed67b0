"""Benchmark: what intervals add to the time of `compare`.

Data: 22,433 x 14 and 200,000 x 400 dense scores, and 6,430 x 1,470 of which a row keeps the highest 200; base rates are
log-uniform between 0.3 and 1e-4 (sparse: between 0.05 and 1e-4). Rules are 2 or 25 fits of other rows, for as many
betas. Of 22,433 rows also with weights, which are no whole numbers, and with groups of three, whose rows are apart.

Each call is timed with `confidence=0.95` and with None, in turns, after all kernels are compiled; ratios are medians
of the rounds. It fails if a ratio is above 1.5.
A quick run is small and checks no ratio. Beside it: leaving out the rows of decisions that were kept, against judging.

    pip install -e ".[bench]"
    python experiments/speed/comparing.py [--quick] [--json FILE] | tee experiments/speed/comparing.txt
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Ratio, Scores, Truth, describe_machine, make_data, show_ratios, unbounded, write_json
from scipy import sparse

import thresholds
from thresholds._engine.problem import Problem
from thresholds.metrics.judging import decide_all, judge
from thresholds.metrics.leaving_out import leave_out_of

MANY, NARROW, WIDE = (200_000, 400), (22_433, 14), (6_430, 1_470)
QUICK = (2_000, 20)
STORED = 200  # scores of a row
FITTED_ROWS = 20_000
ROUNDS = 7
AT_MOST = 1.5
BETAS = np.geomspace(0.25, 4, 25)

Rules = dict[str, thresholds.Rule]


def seconds(call: Callable[[], object]) -> float:
    """Time a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def fitted(truth: Any, scores: Any, n_rules: int) -> Rules:
    """Fit rules that predict ever more."""
    options = {"keep_sparse": True} if sparse.issparse(scores) else {}
    betas = BETAS[:: len(BETAS) // n_rules][:n_rules]
    return {f"beta {beta:.2f}": thresholds.fit_empirical(truth, scores, beta=beta, **options) for beta in betas}


def highest(truth: Truth, scores: Scores) -> tuple[Any, Any]:
    """Keep the highest scores of each row, above 0, and few of the positives, as CSR."""
    n_stored = min(STORED, scores.shape[1] // 2)
    cut = -np.partition(-scores, n_stored, axis=1)[:, [n_stored]]
    truth = truth & (np.random.default_rng(0).random(truth.shape) < 1 / 6)
    return sparse.csr_array(truth), sparse.csr_array(np.maximum(scores - cut, 0))


def compared(times: dict[str, list[float]], name: str, rules: Rules, truth: Any, scores: Any, **more: Any) -> Ratio:
    """Time `compare` with intervals and without."""
    calls = {
        f"{name}, {len(rules)} rules: {kind}": confidence
        for kind, confidence in (("without", None), ("with intervals", 0.95))
    }
    for confidence in calls.values():
        thresholds.compare(rules, truth, scores, confidence=confidence, **more)
    for _ in range(ROUNDS):
        for call, confidence in calls.items():
            spent = seconds(lambda c=confidence: thresholds.compare(rules, truth, scores, confidence=c, **more))  # type: ignore[misc]
            times.setdefault(call, []).append(spent)
    without, with_intervals = (float(np.median(times[call])) for call in calls)
    return Ratio(f"{name}, {len(rules)} rules: with intervals / without", with_intervals / without, at_most=AT_MOST)


def left_out(times: dict[str, list[float]], name: str, rules: Rules, truth: Any, scores: Any) -> Ratio:
    """Time leaving out each row of what a rule decided, and judging the rule."""
    problem = Problem.of(truth, scores)
    rule = next(iter(rules.values()))
    decided = decide_all(rule, problem)
    leave_out_of(decided, problem, 1.0)
    for _ in range(ROUNDS):
        times.setdefault(f"{name}: judging", []).append(seconds(lambda: judge(rule, problem)))
        spent = seconds(lambda: leave_out_of(decided, problem, 1.0))
        times.setdefault(f"{name}: leaving out", []).append(spent)
    return Ratio(
        f"{name}: leaving out / judging",
        float(np.median(times[f"{name}: leaving out"]) / np.median(times[f"{name}: judging"])),
    )


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time compare with intervals and without.")
    parser.add_argument("--quick", action="store_true", help="small sizes, which check no ratio")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    options = parser.parse_args()
    times: dict[str, list[float]] = {}
    ratios = []
    for shape in (NARROW, WIDE, MANY):
        n_samples, n_labels = QUICK if options.quick else shape
        truth, scores = (
            make_data(n_samples + FITTED_ROWS, n_labels) if shape != WIDE else make_data(2 * n_samples, n_labels)
        )
        pair: tuple[Any, Any] = (truth, scores) if shape != WIDE else highest(truth, scores)
        judged, other = slice(0, n_samples), slice(n_samples, None)
        truth, scores = pair[0][judged], pair[1][judged]
        name = f"{n_samples:,} x {n_labels:,}" + (" sparse" if shape == WIDE else "")
        for n_rules in (2, 25):
            rules = fitted(pair[0][other], pair[1][other], n_rules)
            ratios.append(compared(times, name, rules, truth, scores))
            if shape == NARROW:
                rng = np.random.default_rng(1)
                weights, groups = rng.random(n_samples), rng.permutation(n_samples) // 3
                ratios.append(compared(times, f"{name}, weights", rules, truth, scores, sample_weight=weights))
                ratios.append(compared(times, f"{name}, groups", rules, truth, scores, groups=groups))
        ratios.append(left_out(times, name, rules, truth, scores))
    if options.quick:
        ratios = unbounded(ratios)
    for name, each in times.items():
        print(f"{name:<58}{np.median(each):9.4f} s, median ({min(each):.4f} to {max(each):.4f})")
    machine = describe_machine("scipy")
    show_ratios(ratios, machine)
    write_json(options.json, ratios, machine, seconds=times)
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
