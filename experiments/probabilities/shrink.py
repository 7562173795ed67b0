"""Curves by label, one for all, or drawn towards that of all: which calibrates best on rows that were not used?

Each calibration is fitted on samples of the calibration rows of a score file, of 100, 300 and 1000 rows, and on all of
them, and judged on its test rows: mean F1 of rows decided row by row, log-loss of all cells, and micro- and macro-F1
of thresholds that are fitted to the probabilities alone. Probabilities of 0 and 1 cost as much as one of 1e-6 that is
wrong: by label, isotonic calibration would have a log-loss of infinity nearly everywhere.

    python experiments/probabilities/shrink.py FOLDER [--samples 3] [--json FILE]
    python experiments/probabilities/shrink.py --time

FOLDER has the score files (`.npz`, as `thresholds compare` takes). The one constant of the hierarchical fit was set
before any was looked at. The form of the isotonic curves was chosen on the first half of them, and confirmed on the
second. With `--time`, fits of 20,000 rows and 200 labels are timed instead.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from thresholds import CalibratedRule, InstanceRule, calibrate, fit_expected
from thresholds._results.text import aligned
from thresholds.files import LabelledFile, read_labelled
from thresholds.metrics import f1_score

CHOSEN_ON = ("bibtex", "corel5k", "emotions", "ptbxl_xresnet1d101", "yeast", "code_ecg")
CONFIRMED_ON = ("chestxray14_chexnet", "delicious", "ohsumed23", "pubmed_mesh_all", "litcovid_bc7")
SIZES = (100, 300, 1000, None)  # rows of the fit; None: all
METHODS = ("platt", "isotonic")
BYS = ("label", "pooled", "shrink")
MEASURES = ("samples F1", "log-loss", "micro-F1", "macro-F1")
LEAST = 1e-6  # Probabilities nearer to 0 or 1 count as this.


def judge(data: LabelledFile, fit: Any, test: Any, method: Any, by: Any) -> list[float]:
    """Fit on some rows, and give all measures on others."""
    truth = data.y_true[test]
    calibrator = calibrate(data.y_true[fit], data.y_score[fit], method, by, n_jobs=1)
    rule = CalibratedRule(calibrator, InstanceRule())
    samples = f1_score(truth, rule.predict(data.y_score[test]), average="samples", zero_division=0)
    known, p = (calibrator.transform(data.y_score[rows], dense=True) for rows in (fit, test))
    dense = truth.toarray() if hasattr(truth, "toarray") else np.asarray(truth)
    clipped = np.clip(p, LEAST, 1 - LEAST)
    loss = -np.mean(np.where(dense, np.log(clipped), np.log1p(-clipped)))
    plug_in = [
        f1_score(dense, fit_expected(known, average).predict(p), average=average, zero_division=0)
        for average in ("micro", "macro")
    ]
    return [float(figure) for figure in (samples, loss, *plug_in)]


def judge_file(path: Path, n_samples: int) -> dict[str, list[float]]:
    """Give the measures of every calibration and size, means over samples; no size above the rows there are."""
    data = read_labelled(path, "y_score")
    rows, test, _ = data.halves()
    found = {}
    for size in SIZES:
        if size is not None and size > len(rows):
            continue
        samples = [rows]
        if size is not None:
            draws = (np.random.default_rng([size, seed]) for seed in range(n_samples))
            samples = [np.sort(draw.choice(rows, size, replace=False)) for draw in draws]
        for method in METHODS:
            for by in BYS:
                figures = [judge(data, sample, test, method, by) for sample in samples]
                found[f"{method}, {by}, {size or 'all'}"] = np.mean(figures, axis=0).tolist()
    return found


def table(found: dict[str, dict[str, list[float]]], files: tuple[str, ...], title: str) -> str:
    """Show the means over some files."""
    files = tuple(name for name in files if name in found)
    head = [
        ("", "", "", *(name for measure in MEASURES for name in (measure, "", ""))),
        ("method", "rows", "files", *(by for _ in MEASURES for by in BYS)),
    ]
    lines = []
    for method in METHODS:
        for size in SIZES:
            name = size or "all"
            there = [file for file in files if f"{method}, shrink, {name}" in found[file]]
            if not there:
                continue
            means = [np.mean([found[file][f"{method}, {by}, {name}"] for file in there], axis=0) for by in BYS]
            figures = [f"{means[k][i]:.4f}" for i in range(len(MEASURES)) for k in range(len(BYS))]
            lines.append((method, str(name), str(len(there)), *figures))
    return f"{title} ({', '.join(files)})\n{aligned(head, lines)}\n"


def times() -> str:
    """Show the least processor time of five fits of simulated scores, on one thread, measures included."""
    rng = np.random.default_rng(0)
    log_odds = rng.uniform(-6, -1, 200) + 1.5 * rng.normal(size=(20_000, 200))
    truth = (rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))).astype(np.uint8)
    scores = (1 / (1 + np.exp(-0.6 * log_odds - 0.3))).astype(np.float32)

    def seconds(method: Any, by: Any) -> float:
        start = time.process_time()
        calibrate(truth, scores, method, by, n_jobs=1)
        return time.process_time() - start

    found = {(method, by): [seconds(method, by) for _ in range(5)] for method in METHODS for by in BYS}
    lines = [(method, *(f"{min(found[method, by]):.2f}" for by in BYS)) for method in METHODS]
    return aligned([("seconds", *BYS)], lines)


def main() -> int:
    """Print means over files, then each file."""
    parser = argparse.ArgumentParser(description="Calibration by label, pooled and drawn towards the pooled curve.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="FOLDER")
    parser.add_argument("--samples", type=int, default=3, help="samples of rows at each size (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    parser.add_argument("--time", action="store_true", help="time fits instead")
    options = parser.parse_args()
    if options.time:
        print(times())
        return 0
    found = {}
    for name in (*CHOSEN_ON, *CONFIRMED_ON):
        path = options.folder / f"{name}.npz"
        if not path.exists():
            print(f"{path.name} is not in {options.folder}", file=sys.stderr)
            continue
        found[name] = judge_file(path, options.samples)
        print(f"{name}: done", file=sys.stderr)
    if not found:
        return 1
    print(table(found, (*CHOSEN_ON, *CONFIRMED_ON), "all files"))
    print(table(found, CHOSEN_ON, "chosen on"))
    print(table(found, CONFIRMED_ON, "confirmed on"))
    for name in found:
        print(table(found, (name,), "file"))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
