"""How long does one row take? Each kind of rule, by `predict`, as a PyTorch module, and by comparison in NumPy.

One row of float32 scores at a time, as a server decides it, for 20, 200 and 2,000 labels; the median of many calls on
one thread, after a first one. Run

    python experiments/serving/one_row.py | tee experiments/serving/one_row.txt
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import thresholds
from thresholds.rule import Rule

LABELS = (20, 200, 2_000)
SECONDS = 0.5  # of each measurement


def rules_of(n_labels: int) -> dict[str, Rule]:
    """Fit a rule of each kind to simulated probabilities."""
    rng = np.random.default_rng(0)
    rates = rng.uniform(0.01, 0.2, n_labels)
    probabilities = (rng.beta(1, 1 / rates - 1, (1_000, n_labels))).astype(np.float32)
    truth = rng.random(probabilities.shape) < probabilities
    names = [f"label {j}" for j in range(n_labels)]
    shrink, platt, regions = (
        thresholds.fit(truth, probabilities, rule, label_names=names)
        for rule in ("macro, shrink", "instance, platt", "macro, regions")
    )
    calibrated = thresholds.fit(truth, probabilities, "macro, isotonic", label_names=names)
    return {
        "thresholds": shrink,
        "top k": thresholds.TopKRule(3, label_names=names),
        "regions": regions,
        "calibrated thresholds": calibrated,
        "the same, as regions": calibrated.to_regions(),
        "instance": thresholds.InstanceRule(label_names=names),
        "instance, platt": platt,
    }


def microseconds(decide: Callable[[Any], Any], row: Any) -> float:
    """Return the median time of a call."""
    decide(row)
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        decide(row)
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def main() -> None:
    """Print a table for each number of labels."""
    torch.set_num_threads(1)
    for n_labels in LABELS:
        row = np.random.default_rng(1).beta(1, 9, n_labels).astype(np.float32)
        tensor = torch.from_numpy(row)
        print(f"{n_labels:,} labels, microseconds a row{'predict':>12}{'module':>10}{'NumPy':>8}")
        for name, rule in rules_of(n_labels).items():
            module = rule.to_torch()
            figures = f"{microseconds(rule.predict, row):>12,.0f}{microseconds(module, tensor):>10,.0f}"
            if isinstance(rule, thresholds.ThresholdRule):
                cuts = rule.thresholds
                figures += f"{microseconds(lambda scores, cuts=cuts: scores >= cuts, row):>8,.1f}"
            print(f"  {name:<{30 + len(f'{n_labels:,}') - 2}}{figures}", flush=True)
        print()


if __name__ == "__main__":
    main()
