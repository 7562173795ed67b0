"""What it takes to count a block of rows, in nanoseconds a score, against a fit of the same block in memory.

One block of 100,000 rows and 100 labels, on one thread, with raw float32 scores and with float16 ones; base rates fall
from .1 to .001. Times are those of the process, the least of five.

* read: the highest of all scores, found by NumPy.
* fit in memory: `fit_empirical`, macro and micro.
* candidates: `Candidates.of`.
* coarse: `Counts.of` at 32 quantiles of each label.
* narrowed: `Counts.of` at the candidates among which these leave the optimum, for micro.
* all: `Counts.of` at all candidates.
* tie groups: `Counts.of` without candidates.
* add: the sum of two such counts, for each score of one block. Fit: of the counts at all candidates, micro.

    python experiments/scale/counts.py > experiments/scale/counts.txt
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from thresholds import Candidates, Counts, fit_empirical

N_ROWS, N_LABELS = 100_000, 100
N_QUANTILES = 32
N_TIMES = 5


def main() -> None:
    """Print a table for each dtype."""
    for dtype in (np.float32, np.float16):
        truth, scores = make_block(dtype)
        print(f"{N_ROWS:,} rows, {N_LABELS} labels, {np.dtype(dtype)}, {truth.mean():.1%} positive\n")
        print(f"{'':32}{'ns a score':>11}{'of the fit':>12}{'MB':>8}")
        measure(truth, scores)
        print()


def measure(truth: Any, scores: Any) -> None:
    """Time each form, and print what it takes."""
    candidates = Candidates.of(truth, scores)
    coarse = candidates.quantiles(N_QUANTILES)
    narrowed = Counts.of(truth, scores, coarse).needed_for("micro", candidates=candidates)
    assert narrowed is not None, "32 quantiles leave some"
    at_all, ties = Counts.of(truth, scores, candidates), Counts.of(truth, scores)
    expected = fit_empirical(truth, scores, "micro", n_jobs=1)
    for counts in (at_all, ties, Counts.of(truth, scores, narrowed)):
        rule = counts.fit("micro", n_jobs=1)
        assert rule.objective == expected.objective, "not that of the rows"
        assert np.array_equal(rule.thresholds, expected.thresholds), "not those of the rows"

    forms: dict[str, Callable[[], Any]] = {
        "read": scores.max,
        "fit in memory, macro": lambda: fit_empirical(truth, scores, n_jobs=1),
        "fit in memory, micro": lambda: fit_empirical(truth, scores, "micro", n_jobs=1),
        "candidates": lambda: Candidates.of(truth, scores),
        f"coarse ({coarse.n_candidates:,})": lambda: Counts.of(truth, scores, coarse),
        f"narrowed ({narrowed.n_candidates:,})": lambda: Counts.of(truth, scores, narrowed),
        f"all ({candidates.n_candidates:,})": lambda: Counts.of(truth, scores, candidates),
        f"tie groups ({ties.tally.tied.keys.size:,})": lambda: Counts.of(truth, scores),
        "add candidates": lambda: candidates + candidates,
        "add counts at all": lambda: at_all + at_all,
        "add tie groups": lambda: ties + ties,
        "fit counts at all": lambda: at_all.fit("micro", n_jobs=1),
    }
    seconds = {}
    sizes = {}
    for name, call in forms.items():
        seconds[name], made = timed(call)
        sizes[name] = made.nbytes / 1e6 if isinstance(made, Candidates | Counts) else None
    for name, taken in seconds.items():
        size = "" if sizes[name] is None else f"{sizes[name]:8.1f}"
        ratio = taken / seconds["fit in memory, macro"]
        print(f"{name:32}{1e9 * taken / scores.size:11.2f}{ratio:12.2f}{size}")


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least time of some calls, of the process, and what the last returned."""
    call()
    least = np.inf
    for _ in range(N_TIMES):
        start = time.process_time()
        made = call()
        least = min(least, time.process_time() - start)
    return least, made


def make_block(dtype: Any) -> tuple[Any, Any]:
    """Draw truth and scores of logits."""
    rng = np.random.default_rng(0)
    rates = np.geomspace(0.1, 0.001, N_LABELS)
    truth = rng.random((N_ROWS, N_LABELS)) < rates
    scores = rng.normal(size=truth.shape) + 1.5 * truth
    return truth, scores.astype(dtype)


if __name__ == "__main__":
    main()
