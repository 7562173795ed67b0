"""Benchmark: the macro fit on dense scores, against a loop over labels with scikit-learn.

Data: 200,000 x 400 float32 scores and uint8 truth. Base rates are log-uniform between 0.3 and 1e-4; scores are
Gaussian, those of positives higher by 0 to 3 standard deviations, so that some labels are nearly uninformative.

Measured in one run, interleaved, after all kernels are compiled:

- `fit_empirical(y_true, y_score, "macro")` and `"micro"` (joint, a threshold for each label) on two threads,
  macro on one, macro with `guard="shrink"`, and `diagnose` of the macro rule: the median of the rounds;
- the usual loop, `precision_recall_curve` and the argmax of F1, over every label once, a part of them in each round.
  It runs on one thread, as scikit-learn does;
- one read of the scores, `y_score.max()`;
- peak memory of the fits beyond what the process held before, in a fresh process each, as a share of the bytes of
  scores and truth together (Linux only: the peak is read from /proc).

The run also counts F1 of every label at both sets of thresholds: the ratio of times compares equal results.
It fails if a required ratio is missed; a quick run only checks the results.

    pip install -e ".[bench]"
    python experiments/speed/macro_fit.py [--quick] [--json FILE]
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measuring import Ratio, Scores, Truth, describe_machine, make_data, seconds, show_ratios, unbounded, write_json
from sklearn.metrics import precision_recall_curve

import thresholds

Floats = npt.NDArray[np.float64]

FULL, QUICK = (200_000, 400), (50_000, 80)
ROUNDS = 5
THREADS = 2
READ, MACRO, MICRO, ALONE, LOOP = "read of the scores", "macro", "joint micro", "macro, 1 thread", "scikit-learn loop"
SHRUNK, DIAGNOSED = "macro, guard shrink", "diagnose"


def sklearn_cut(truth: Truth, scores: Scores) -> float:
    """Give the threshold of highest F1 of one label, the way it is usually done."""
    precision, recall, cuts = precision_recall_curve(truth, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, np.finfo(np.float64).tiny)
    return float(cuts[np.argmax(f1[:-1])])


def f1_by_label(truth: Truth, scores: Scores, cuts: Floats) -> Floats:
    """Count F1 of each label at its threshold."""
    f1 = np.empty(cuts.size)
    for j, cut in enumerate(cuts):
        predicted = scores[:, j].astype(np.float64) >= cut
        tp = np.count_nonzero(predicted & (truth[:, j] == 1))
        f1[j] = 2 * tp / (np.count_nonzero(truth[:, j]) + np.count_nonzero(predicted))
    return f1


def fit(truth: Truth, scores: Scores, average: str, n_jobs: int = THREADS) -> Floats:
    """Fit our thresholds."""
    return thresholds.fit_empirical(truth, scores, average, n_jobs=n_jobs).thresholds  # type: ignore[arg-type]


def compile_kernels(truth: Truth, scores: Scores) -> None:
    """Fit on a little of the data."""
    truth, scores = truth[:2000, :8].copy(), scores[:2000, :8].copy()
    for average in ("macro", "micro"):
        fit(truth, scores, average)
    thresholds.fit_empirical(truth, scores, guard="shrink")
    thresholds.diagnose(truth, scores, thresholds.FixedRule(0.5, 8))


def measure_times(truth: Truth, scores: Scores) -> tuple[dict[str, list[float]], float]:
    """Time every contender round by round; give the times and the largest difference in F1 of a label."""
    compile_kernels(truth, scores)
    rule = thresholds.fit_empirical(truth, scores)
    calls: dict[str, Callable[[], object]] = {
        READ: scores.max,
        MACRO: lambda: fit(truth, scores, "macro"),
        MICRO: lambda: fit(truth, scores, "micro"),
        ALONE: lambda: fit(truth, scores, "macro", 1),
        SHRUNK: lambda: thresholds.fit_empirical(truth, scores, guard="shrink", n_jobs=THREADS),
        DIAGNOSED: lambda: thresholds.diagnose(truth, scores, rule, n_jobs=THREADS),
    }
    times: dict[str, list[float]] = {name: [] for name in (*calls, LOOP)}
    cuts = np.empty(truth.shape[1])

    def loop(first: int) -> None:
        for j in range(first, cuts.size, ROUNDS):
            cuts[j] = sklearn_cut(truth[:, j], scores[:, j])

    for turn in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(seconds(call))
        times[LOOP].append(seconds(lambda turn=turn: loop(turn)))  # type: ignore[misc]
    ours = f1_by_label(truth, scores, fit(truth, scores, "macro"))
    return times, float(np.abs(ours - f1_by_label(truth, scores, cuts)).max())


def measure_memory(truth: Truth, scores: Scores, average: str) -> float:
    """Run one fit in a fresh process; give its extra memory as a share of the input."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "truth.npy"), truth)
        np.save(Path(folder, "scores.npy"), scores)
        command = [sys.executable, __file__, "--memory", average, folder]
        extra = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return extra / (truth.nbytes + scores.nbytes)


def extra_memory(average: str, folder: str) -> int:
    """Give the bytes by which a fit on the saved data raises the peak of this process."""
    truth, scores = np.load(Path(folder, "truth.npy")), np.load(Path(folder, "scores.npy"))
    compile_kernels(truth, scores)
    Path("/proc/self/clear_refs").write_text("5")  # The peak starts afresh from the memory held now.
    before = _status("VmRSS")
    fit(truth, scores, average)
    return _status("VmHWM") - before


def _status(field: str) -> int:
    """Read a size in bytes from the status of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def compare(times: dict[str, list[float]], memory: dict[str, float], difference: float) -> list[Ratio]:
    """Give all ratios."""
    median = {name: float(np.median(values)) for name, values in times.items()}
    macro, loop = median[MACRO], sum(times[LOOP])
    return [
        Ratio("largest difference in F1 of a label", difference, at_most=1e-12),
        Ratio(f"{LOOP} / {MACRO}", loop / macro, at_least=10),
        Ratio(f"{LOOP} / {ALONE}", loop / median[ALONE]),
        Ratio(f"{MICRO} / {MACRO}", median[MICRO] / macro, at_most=1.3),
        Ratio(f"{SHRUNK} / {MACRO}", median[SHRUNK] / macro, at_most=2),
        Ratio(f"{LOOP} / {DIAGNOSED}", loop / median[DIAGNOSED], at_least=5),
        Ratio(f"{MACRO} / {READ}", macro / median[READ]),
        Ratio("extra memory of macro / scores and truth", memory["macro"], at_most=0.25),
        Ratio("extra memory of joint micro / scores and truth", memory["micro"]),
    ]


def show(shape: tuple[int, int], times: dict[str, list[float]], ratios: list[Ratio], machine: dict[str, str]) -> None:
    """Print everything as a table."""
    print(f"{shape[0]:,} x {shape[1]} scores, {ROUNDS} rounds, {THREADS} threads unless noted\n")
    for name, values in times.items():
        spread = f"{np.median(values):9.4f} s, median ({min(values):.4f} to {max(values):.4f})"
        print(f"{name:<48}" + (f"{sum(values):9.4f} s, all {shape[1]} labels once" if name == LOOP else spread))
    show_ratios(ratios, machine)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Time the macro fit against a loop with scikit-learn.")
    parser.add_argument("--quick", action="store_true", help="a small size, which checks results but no ratio")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        print(extra_memory(*options.memory))
        return 0
    truth, scores = make_data(*(QUICK if options.quick else FULL))
    memory = {average: measure_memory(truth, scores, average) for average in ("macro", "micro")}
    times, difference = measure_times(truth, scores)
    ratios, machine = compare(times, memory, difference), describe_machine()
    if options.quick:
        ratios[1:] = unbounded(ratios[1:])
    show(scores.shape, times, ratios, machine)
    write_json(options.json, ratios, machine, shape=scores.shape, seconds=times)
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    raise SystemExit(main())
