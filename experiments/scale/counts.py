"""What it takes to fit rows by adding up counts, against a fit of the same rows in memory and the best lines of NumPy.

One thread each, in one run, in turns; times are those of the processor, medians of five. 200,000 rows and 100 labels of
float32 scores, base rates from .001 to .3, and the same as probabilities of three decimals. The rule of counts is that
of the rows, bit for bit, which is asserted.

Then, of files of scores, what is sent: bytes of counts and of the scores that are collected, for each label, and the
share of all scores that these are. Counts are of seven shuffled parts. And how far what counts say of a fitted rule is
from what rows say: the largest difference of AUROC, other verdicts, and the log loss of Platt's calibration on the
other half of the rows, relative to that of a calibrator of rows.

    python experiments/scale/counts.py [FILE ...] > experiments/scale/counts.txt
"""

import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

import numpy as np
from best_cuts import fifteen_lines

import thresholds
from thresholds import Counts, fit_empirical

N_ROWS, N_LABELS, N_PARTS = 200_000, 100, 10
N_TIMES = 5
FITS: list[dict[str, Any]] = [
    {"average": "macro", "guard": None},
    {"average": "micro", "guard": None},
    {"average": "macro", "guard": "shrink"},
]


def main(files: list[str]) -> None:
    """Print both tables."""
    rng = np.random.default_rng(0)
    rates = np.geomspace(0.001, 0.3, N_LABELS)
    truth = (rng.random((N_ROWS, N_LABELS)) < rates).astype(np.uint8)
    scores = (rng.standard_normal(truth.shape) + 2 * truth).astype(np.float32)
    rounded = (1 / (1 + np.exp(-scores))).round(3)
    for name, given in (("raw scores", scores), ("probabilities of three decimals", rounded)):
        print(f"{N_ROWS:,} rows x {N_LABELS} labels, {name}: seconds of the processor, one thread")
        for options in FITS:
            measure(truth, given, options)
        print()
    print("                     KB a label   macro: KB, share  micro: KB, share  AUROC     verdicts  log loss")
    for file in files:
        show(file)


def measure(truth: Any, scores: Any, options: dict[str, Any]) -> None:
    """Time the steps of a fit by counts, and fits of all rows."""
    parts = [slice(first, first + N_ROWS // N_PARTS) for first in range(0, N_ROWS, N_ROWS // N_PARTS)]
    counts = Counts.of(truth, scores)
    needed = counts.needed_for(**options)
    found = None if needed is None else Counts.of(truth, scores, needed)
    in_tenths = [Counts.of(truth[rows], scores[rows]) for rows in parts]
    expected = fit_empirical(truth, scores, n_jobs=1, **options)

    def end() -> Any:
        whole = counts if found is None else counts.with_scores(found)
        return whole.fit(**options)

    rule = end()
    assert rule.objective == expected.objective, "not that of the rows"
    assert np.array_equal(rule.thresholds, expected.thresholds), "not those of the rows"
    steps: dict[str, Callable[[], Any]] = {
        "first pass": lambda: Counts.of(truth, scores),
        "which scores matter": lambda: counts.needed_for(**options),
        "second pass": lambda: None if needed is None else Counts.of(truth, scores, needed),
        "fit": end,
        f"(sum of {N_PARTS} parts)": lambda: sum(in_tenths),
        "fit_empirical": lambda: fit_empirical(truth, scores, n_jobs=1, **options),
        "fifteen lines of NumPy, macro": lambda: fifteen_lines(truth, scores),
    }
    seconds = in_turns(steps)
    total = sum(seconds[name] for name in list(steps)[:4])
    print(f"  {', '.join(f'{name}={value}' for name, value in options.items())}")
    for name, value in seconds.items():
        print(f"    {name:32} {value:7.3f}")
    of_memory, of_numpy = (total / seconds[name] for name in list(steps)[-2:])
    print(f"    {'counts in all':32} {total:7.3f}   {of_memory:.1f} of fit_empirical, {of_numpy:.2f} of NumPy")


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median time of each call, made in turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(N_TIMES):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: median(listed) for name, listed in times.items()}


def show(file: str) -> None:
    """Print what is sent of a file of scores, and how near what is read off bins is to what rows say."""
    given = thresholds.read(file)
    y_true, y_score = given.y_true, given.y_score
    rng = np.random.default_rng(0)
    parts = np.array_split(rng.permutation(y_score.shape[0]), 7)
    counts = sum(Counts.of(y_true[rows], y_score[rows]) for rows in parts)
    words = [f"{len(pickle.dumps(counts)) / 1e3 / counts.n_labels:7.1f}"]
    for average in ("macro", "micro"):
        needed = counts.needed_for(average, guard=None)
        whole, size, share = counts, 0, 0.0
        if needed is not None:
            found = sum(Counts.of(y_true[rows], y_score[rows], needed) for rows in parts)
            whole, size = counts.with_scores(found), len(pickle.dumps(found))
            share = found.bins.weights.sum() / counts.bins.weights.sum()
        rule, expected = whole.fit(average, guard=None), fit_empirical(y_true, y_score, average)
        assert np.array_equal(rule.thresholds, expected.thresholds), "not those of the rows"
        words.append(f"{size / 1e3 / counts.n_labels:10.1f}, {share:6.2%}")

    # What the counts say of the micro rule.
    needed = whole.needed_to_judge(rule)
    if needed is not None:
        whole = whole.with_scores(Counts.of(y_true, y_score, needed))
    by_counts, by_rows = whole.diagnose(rule), thresholds.diagnose(y_true, y_score, rule)
    auroc = np.nanmax(np.abs(by_counts.table["auroc"] - by_rows.table["auroc"]))
    others = np.count_nonzero(by_counts.verdict != by_rows.verdict)

    half, rest = np.array_split(rng.permutation(y_score.shape[0]), 2)
    losses = [
        thresholds.measure_calibration(y_true[rest], made.transform(y_score[rest])).log_loss
        for made in (
            Counts.of(y_true[half], y_score[half]).calibrate("platt"),
            thresholds.calibrate(y_true[half], y_score[half], "platt"),
        )
    ]
    loss = losses[0] / losses[1] - 1
    of_loss = "  unknown" if np.isnan(loss) else f"{loss:+9.0e}"  # where a label has no positive in a half
    words.append(f"{auroc:.5f} {others:4} of {counts.n_labels:4} {of_loss}")
    print(f"{Path(file).stem:24}{'  '.join(words)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
