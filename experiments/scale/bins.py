"""What `Accumulator(exact=False)` keeps, takes, and loses, against all rows.

1. Loss: F1 on the rows of the fit that exact thresholds reach; by the most bins of a label, what thresholds between
   bins reach less, how much the bound leaves open, and bytes kept for each label. On score files, their scores as
   probabilities and as logits, whatever they are, and on simulated logits (a million rows, 20 labels).
2. Memory and processor time by the number of rows: what is kept, and the time of `update` in batches of 1,000 rows and
   of one `compute`, per cell; rows, exact counts of float16, and bins of float32.

    python experiments/scale/bins.py FOLDER > experiments/scale/bins.txt

FOLDER has the score files (`.npz`, as `thresholds compare` takes). 4,096 bins were chosen for their memory, 100 kB a
label, before any was looked at. Exits with 1 if an objective is not what the rule reaches, or a bound is broken.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

import thresholds
from thresholds import Accumulator
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

N_BINS = (256, 1024, 4096, 16384)
AVERAGES = ("macro", "micro")
N_ROWS = (10_000, 100_000, 1_000_000)
N_LABELS = 20
BATCH = 1000


def main() -> int:
    """Print both tables; 1 if a claim is broken."""
    broken = []
    print("1. F1 on the rows of the fit: exact; and, by the most bins of a label, loss, bound of the loss (both in")
    print("   thousandths), and kB kept for each label\n")
    columns = "".join(f"{f'{n:,} bins':>23}" for n in N_BINS)
    print(f"{'':40}{'exact':>7}{columns}")
    for name, truth, scores in all_data(Path(sys.argv[1])):
        for average in AVERAGES:
            best = thresholds.fit_empirical(truth, scores, average).objective
            cells = [losses(truth, scores, average, n_bins, best, broken) for n_bins in N_BINS]
            print(f"{name:32}{average:>8}{best:7.4f}{''.join(f'{cell:>23}' for cell in cells)}", flush=True)

    print(f"\n2. {N_LABELS} labels: MB kept; processor time per cell, ns: of updates, of one compute (macro)\n")
    print(f"{'rows':>10}{'rows, float32':>24}{'counts, float16':>24}{'4,096 bins, float32':>24}")
    for n_rows in N_ROWS:
        truth, scores = simulated(n_rows)
        half = scores.astype(np.float16)
        cells = [
            cost(truth, scores),
            cost(truth, half, keep="counts"),
            cost(truth, scores, exact=False),
        ]
        print(f"{n_rows:10,}" + "".join(f"{cell:>24}" for cell in cells), flush=True)
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


def all_data(folder: Path) -> Any:
    """Score files, as probabilities and as logits, and simulated logits."""
    for path in sorted(folder.glob("*.npz")):
        if path.stem.endswith("_weak"):
            continue
        data = read_labelled(path, "y_score")
        if not isinstance(data.y_score, np.ndarray):
            continue
        scores = np.asarray(data.y_score, np.float32)
        yield path.stem, data.y_true, scores
        if scores.min() >= 0 and scores.max() <= 1:
            inside = np.clip(scores.astype(np.float64), 1e-7, 1 - 1e-7)
            yield f"{path.stem}, logits", data.y_true, np.log(inside / (1 - inside)).astype(np.float32)
    yield "simulated logits", *simulated(1_000_000)


def simulated(n_rows: int) -> tuple[Any, Any]:
    """Truth with base rates of .1 to 20 %, and logits that know something of it."""
    rng = default_rng(0)
    truth = (rng.random((n_rows, N_LABELS), np.float32) < np.geomspace(0.001, 0.2, N_LABELS)).astype(np.uint8)
    return truth, rng.standard_normal((n_rows, N_LABELS), np.float32) + 2 * truth


def filled(truth: Any, scores: Any, **options: Any) -> Accumulator:
    """All rows, in batches."""
    rows = Accumulator(**options)
    for first in range(0, scores.shape[0], BATCH):
        rows.update(truth[first : first + BATCH], scores[first : first + BATCH])
    return rows


def losses(truth: Any, scores: Any, average: Any, n_bins: int, best: float, broken: list[str]) -> str:
    """Loss, bound of the loss, bytes."""
    rows = filled(truth, scores, exact=False, n_bins=n_bins)
    rule = rows.compute(average)
    bound = rows.bound(average)
    reached = f1_score(truth, rule.predict(scores), average=average, zero_division=0)
    if rule.objective != reached:
        broken.append(f"{average}, {n_bins} bins: objective {rule.objective}, reached {reached}")
    if not rule.objective <= best <= bound + 1e-15:
        broken.append(f"{average}, {n_bins} bins: reached {rule.objective}, best {best}, bound {bound}")
    kept = rows.nbytes / rows.n_labels / 1e3
    return f"{1e3 * (best - reached):.2f} {1e3 * (bound - reached):.2f} {kept:5.0f}"


def cost(truth: Any, scores: Any, **options: Any) -> str:
    """MB kept, and processor time per cell: the least of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        rows = filled(truth, scores, **options)
        updated = time.process_time()
        rows.compute(n_jobs=1)
        times.append((updated - start, time.process_time() - updated))
    update, compute = (1e9 / scores.size * min(column) for column in zip(*times, strict=True))
    return f"{rows.nbytes / 1e6:.1f}{update:8.1f}{compute:7.1f}"


if __name__ == "__main__":
    sys.exit(main())
