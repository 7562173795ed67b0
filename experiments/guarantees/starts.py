"""Experiment: would a start at a fixed probability find more precision that can be shown?

The sequences of `thresholds.guarantees.tests_of_labels` start at ranks. Where the labels of the highest rows are wrong,
or one coarse value holds them, MAPIE's sequence with five starts at fixed probabilities finds more (violations.txt). A
start at a fixed score is exact by itself: the highest threshold below it that is bad is fixed by the law, and is passed
with a probability of at most its share. This weighs what it would bring, and cost, by the mean F1 of the population:

- "now": the library's starts.
- "third", "half": the library's starts, of which all but the first give a third, or a half, of their shares to a start
  where the probability is the floor; "0.8 f": two thirds of them to one where it is .8 of the floor.
- "first too": all starts give a tenth of their shares to a start where the probability is the floor.
- "unused": as "half", where scores are no probabilities and nothing starts there.

Probabilities are those of the normal law, as MAPIE is given them. The cells are those of violations.json in which
precision is promised: first those in which MAPIE's five starts (there, on 40 samples) find more by .05 at least, then
others at random, of at most 6,000 rows.

    OMP_NUM_THREADS=1 python experiments/guarantees/starts.py [--quick] > experiments/guarantees/starts.txt
"""

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from laws import Floats, Law, Scores, Truth

from thresholds.guarantees.exact_tests import p_of_floor
from thresholds.guarantees.tests_of_labels import starts_of

RUNS, OTHERS, MOST_ROWS = 1000, 60, 6000
Start = tuple[str, float, float]  # "rows" above it or "probability", how many or how much, its share of the error


def ranks(floor: float, delta: float, n_rows: int, given: float = 0.0, first_gives: float = 0.0) -> list[Start]:
    """The library's starts, the shares of the first and of the others lowered."""
    found = starts_of(np.array([floor]), np.array([delta]), np.array([float(n_rows)]))
    pairs = [pair for pair in zip(found.n_above[:, 0], found.delta[:, 0], strict=True) if not np.isnan(pair[0])]
    return [("rows", n, share * (1 - (given if k else first_gives))) for k, (n, share) in enumerate(pairs)]


def beside(given: float, times: float = 1.0) -> Callable[[float, float, int], list[Start]]:
    """Starts of which all but the first give of their shares to one at a fixed probability; none for `times` of 0."""

    def starts(floor: float, delta: float, n_rows: int) -> list[Start]:
        others = ranks(floor, delta, n_rows, given)
        free = given * sum(share for _, _, share in ranks(floor, delta, n_rows)[1:])
        return [*others, ("probability", times * floor, free)] if times and free else others

    return starts


def first_too(floor: float, delta: float, n_rows: int) -> list[Start]:
    """All give a tenth; the first ones are then found anew for what is left."""
    return [*ranks(floor, 0.9 * delta, n_rows), ("probability", floor, 0.1 * delta)]


SCHEMES: dict[str, Callable[[float, float, int], list[Start]]] = {
    "now": ranks,
    "third": beside(1 / 3),
    "half": beside(1 / 2),
    "0.8 f": beside(2 / 3, 0.8),
    "first too": first_too,
    "unused": beside(1 / 2, 0),
}


def best_cuts(law: Law, truth: Truth, scores: Scores, floor: float, delta: float) -> list[float]:
    """The cut of best F1 in one sample among those that each scheme shows, +inf for none."""
    order = np.argsort(-scores, kind="stable")
    score = scores[order].astype(np.float64)
    tp = np.append(0, np.cumsum(truth[order], dtype=np.int64))
    n = 1 + np.flatnonzero(np.append(score[1:] != score[:-1], True))  # rows at or above each distinct score
    p = p_of_floor(tp[n], n, floor)
    f = 2 * tp[n] / (tp[-1] + n)
    probability = law.probabilities(score[n - 1])
    cuts = []
    for scheme in SCHEMES.values():
        shown = np.zeros(n.size, np.bool_)
        for kind, at, share in scheme(floor, delta, score.size):
            if kind == "rows":
                rows = int(at)
                first = int(np.searchsorted(n, rows, side="right"))
                passes = p_of_floor(tp[rows], rows, floor) <= share
            else:
                first = np.count_nonzero(probability >= at) - 1
                passes = np.asarray(first >= 0)
            if passes:
                fails = np.flatnonzero(p[first:] > share)
                shown[first : first + fails[0] if fails.size else None] = True
        cuts.append(float(score[n - 1][shown][np.argmax(f[shown])]) if shown.any() else np.inf)
    return cuts


def judged(cell: dict[str, Any], runs: int, seed: int) -> tuple[Floats, Floats]:
    """Mean F1 of each scheme, and the share of samples in which it breaks its promise."""
    positives, rate, shift, shape = re.fullmatch(
        r"(\d+) positives, rate ([\d.]+), shift (\d), (.*)", cell["law"]
    ).groups()
    law = Law(int(positives), float(rate), float(shift), shape)
    floor = float(cell["floors"].split()[1])
    rng = np.random.default_rng(seed)
    cuts = []
    for _ in range(runs):
        truth, scores = law.draw(rng, 1)
        cuts.append(best_cuts(law, truth[:, 0], scores[:, 0], floor, 1 - cell["confidence"]))
    precision, _, f1 = law.measures(np.array(cuts))  # (runs, n_schemes)
    return f1.mean(axis=0), (precision < floor).mean(axis=0)


def n_rows(cell: dict[str, Any]) -> float:
    """Rows of a sample of a cell."""
    positives, rate = re.match(r"(\d+) positives, rate ([\d.]+)", cell["law"]).groups()
    return int(positives) / float(rate)


def main() -> None:
    """Weigh the schemes."""
    parser = argparse.ArgumentParser(description="Weigh starts at ranks and at a fixed probability.")
    parser.add_argument("--quick", action="store_true", help="few samples of few cells")
    options = parser.parse_args()
    runs, others = (20, 2) if options.quick else (RUNS, OTHERS)
    cells = json.loads(Path(__file__).with_name("violations.json").read_text())["each"]
    cells = [c for c in cells if c["floors"].startswith("precision") and "recall" not in c["floors"]]
    is_behind = [c["ahead"] + 2 * c["error ahead"] < 0 and c["ahead"] < -0.05 for c in cells]
    behind = [c for c, is_one in zip(cells, is_behind, strict=True) if is_one]
    rest = [c for c, is_one in zip(cells, is_behind, strict=True) if not is_one and c["f1"] > 0.02]
    rest = [c for c in rest if n_rows(c) <= MOST_ROWS]
    picked = np.random.default_rng(1).permutation(len(rest))[:others]

    excess = 0.0
    for title, chosen in (("MAPIE's five starts find more", behind), ("others", [rest[k] for k in picked])):
        print(
            f"{title}: mean F1 of {runs} samples\n\n{'':<66}"
            + "".join(f"{s:>10}" for s in SCHEMES)
            + "   5 starts (of 40)"
        )
        found = []
        for number, cell in enumerate(chosen):
            f1, broken = judged(cell, runs, number)
            excess = max(excess, float((broken / (1 - cell["confidence"])).max()))
            found.append(f1)
            name = f"{cell['floors']} at {cell['confidence']:g}, {cell['law']}"
            print(f"{name:<66}" + "".join(f"{x:>10.3f}" for x in f1) + f"{cell['5 starts']:>11.3f}", flush=True)
        of_cells = np.array(found)
        change = of_cells - of_cells[:, :1]
        for name, row in (
            ("mean", of_cells.mean(0)),
            ("lowest against now", change.min(0)),
            ("highest", change.max(0)),
        ):
            print(f"{name:<66}" + "".join(f"{x:>10.3f}" for x in row))
        print()
    print(f"most often broken: {excess:.2f} of the error that is allowed")


if __name__ == "__main__":
    main()
