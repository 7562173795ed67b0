"""Does a GPU decide as the host does? Each kind of rule, as a PyTorch module and by `predict`, and how long it takes.

Rules are fitted to simulated scores of 300 labels. They decide about other rows in each dtype, about -inf, and about
scores at each threshold and next to it. Milliseconds are those of a million cells on the device, the median of some
calls after a first one, and the same of `predict` in host memory, on all its cores. Run

    python experiments/serving/torch_devices.py [--device cuda] | tee experiments/serving/torch_devices.txt
"""

import argparse
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import thresholds
from thresholds.calibration.curves import BYS, METHODS
from thresholds.rule import Rule

N_LABELS = 300
N_ROWS = 3_334  # a million cells
N_CALLS = 9
DTYPES = ("float16", "bfloat16", "float32", "float64")


def draw(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw truth and probabilities, labels from rare to frequent."""
    rng = np.random.default_rng(seed)
    rates = np.geomspace(0.002, 0.3, N_LABELS)
    probabilities = rng.beta(0.5, 0.5 / rates - 0.5, (n_rows, N_LABELS)).astype(np.float32)
    return rng.random(probabilities.shape) < probabilities, probabilities


def rules_of(truth: np.ndarray, scores: np.ndarray) -> dict[str, Rule]:
    """Fit a rule of each kind, and behind each kind of calibration."""
    names = [f"label {j}" for j in range(N_LABELS)]
    rules: dict[str, Rule] = {"fixed": thresholds.FixedRule(0.5, N_LABELS)}
    of_thresholds = ("macro, shrink", "micro, in-sample", "micro, shared")
    for name in (*of_thresholds, "macro, regions", "top-k", "instance, label-free"):
        rules[name] = thresholds.fit(truth, scores, name, label_names=names)
    for method in METHODS:
        for by in BYS:
            calibrator = thresholds.calibrate(truth, scores, method, by, label_names=names)
            probabilities = calibrator.transform(scores)
            cuts = thresholds.fit_expected(probabilities, "macro")
            rules[f"{method}, {by}, thresholds"] = thresholds.CalibratedRule(calibrator, cuts)
            rules[f"{method}, {by}, instance"] = thresholds.CalibratedRule(calibrator, thresholds.InstanceRule())
    return rules


def scores_for(rule: Rule, scores: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Return scores of a dtype, those at thresholds and next to them among them, and some that are masked."""
    tensor = torch.from_numpy(scores.copy()).to(dtype)
    if isinstance(rule, thresholds.CalibratedRule) and isinstance(rule.rule, thresholds.ThresholdRule):
        rule = rule.to_regions()
    if isinstance(rule, thresholds.ThresholdRule | thresholds.RegionRule):
        switches = rule.switches if isinstance(rule, thresholds.RegionRule) else rule.thresholds[:, np.newaxis]
        for label, one in enumerate(switches):
            at = torch.from_numpy(one[np.isfinite(one)]).to(dtype)
            near = torch.cat([at, step(at, -1), step(at, 1)]).clip(0, 1)
            tensor[: len(near), label] = near
    if not isinstance(rule, thresholds.InstanceRule):
        tensor[::50, ::7] = -torch.inf
    return tensor


def step(scores: torch.Tensor, by: int) -> torch.Tensor:
    """Return the next positive numbers of a dtype, by their bits."""
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[scores.element_size()]
    return (scores.view(bits) + by).view(scores.dtype)


def milliseconds(decide: Callable[[Any], Any], scores: Any, wait: Callable[[], object]) -> float:
    """Return the median time of a call, for a million cells."""
    decide(scores)
    times = []
    for _ in range(N_CALLS):
        wait()
        start = time.perf_counter()
        decide(scores)
        wait()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times) * 1e6 / scores.numel()


def main() -> None:
    """Print a row for each rule; exit with 1 if a cell is decided otherwise than in host memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    device = torch.device(parser.parse_args().device)
    warnings.simplefilter("ignore")  # halves of scores are other scores
    is_cuda = device.type == "cuda"
    wait: Callable[[], object] = torch.cuda.synchronize if is_cuda else lambda: None
    name = torch.cuda.get_device_name(device) if is_cuda else platform.processor() or platform.machine()
    print(f"{name}, torch {torch.__version__}, {N_LABELS} labels\n")
    print(f"{'cells that differ from the host':<32}" + "".join(f"{dtype:>10}" for dtype in DTYPES), end="")
    print(f"{'cells':>12}{'module ms':>12}{'predict ms':>12}{'host ms':>10}")

    rules = rules_of(*draw(0, 2_000))
    _, scores = draw(1, N_ROWS)
    n_different = 0
    for title, rule in rules.items():
        module = rule.to_torch().to(device)
        row, n_cells = "", 0
        for dtype in DTYPES:
            host = scores_for(rule, scores, getattr(torch, dtype))
            expected = rule.predict(host)
            given = host.to(device)
            found = [module(given).cpu(), rule.predict(given).cpu()]
            different = sum(int((each != expected).sum()) for each in found)
            row += f"{different:>10,}"
            n_different += different
            n_cells += 2 * host.numel()
        host = scores_for(rule, scores, torch.float32)
        given = host.to(device)
        times = [milliseconds(module, given, wait), milliseconds(rule.predict, given, wait)]
        times.append(milliseconds(rule.predict, host, wait))
        row += f"{n_cells:>12,}{times[0]:>12.2f}{times[1]:>12.2f}{times[2]:>10.2f}"
        print(f"{title:<32}{row}", flush=True)
    print(f"\n{n_different:,} cells differ")
    raise SystemExit(n_different > 0)


if __name__ == "__main__":
    main()
