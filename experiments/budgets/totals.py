"""How good are thresholds within a budget of predictions, how often are they shown to be it, and what is lost?

Tiny cases first: 3,000 draws of 3 labels and 7 rows with ties, all choices of cuts tried. In how many is the best of
the choices that some price supports (Lagrange's) worse than the optimum, and in how many is ours? Is the bound ever
below?

Then whole score files, at five budgets: shares of what the thresholds without a budget predict. "supported" and
"filled" are the best choices that a price supports within the budget, and the same with what is left filled up
greedily: how many points of F1 they lose against the search. "to bound" is what the search falls short of the bound.
Seconds are those of the search with its sort, beside those of the best cuts without a budget, found by the same sort;
the least of three. Run

    OMP_NUM_THREADS=1 python experiments/budgets/totals.py FOLDER | tee experiments/budgets/totals.txt
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from thresholds._engine import budget
from thresholds._engine.best_cuts import all_steps
from thresholds._engine.choosing import best_joint_steps, best_steps
from thresholds._engine.cuts import Cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.files import read_labelled

FILES = ("emotions", "yeast", "chestxray14_chexnet", "ptbxl_xresnet1d101", "ohsumed23", "bibtex", "corel5k",
         "pubmed_mesh", "pubmed_mesh_all", "delicious")  # fmt: skip
AVERAGES = ("macro", "weighted", "micro")
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
N_TINY = 3_000


def main() -> None:
    """Measure tiny cases, then every file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.filterwarnings("ignore")
    for average in ("macro", "micro"):
        print(tiny(average), flush=True)
    print()
    print(
        f"{'file':20} {'average':9} {'share':>5} {'F1':>7} {'supported':>9} {'filled':>7} {'to bound':>9}"
        f" {'optimal':>7} {'seconds':>7} {'plain':>6}"
    )
    shown = []
    for name in FILES:
        data = read_labelled(folder / f"{name}.npz", "y_score_weak" if name.endswith("weak") else "y_score")
        problem = Problem.of(data.y_true, data.y_score, keep_sparse=True)
        for average in AVERAGES:
            plain(problem, average)
            seconds, cuts = timed(partial(plain, problem, average))
            for share in SHARES:
                most = int(share * cuts.predicted.sum())
                line, is_optimal = within(problem, average, most, seconds)
                shown.append(is_optimal)
                print(f"{name:20} {average:9} {share:5.1f} {line}", flush=True)
    print(f"\nshown to be optimal: {sum(shown)} of {len(shown)}")


def within(problem: Problem, average: str, most: int, plain_seconds: float) -> tuple[str, bool]:
    """Search within a budget, and by less."""
    seconds, found = timed(partial(best_within, problem, most, average))
    f = f_of(found.cuts, average)
    lost = [100 * (f - f_of(by_less(less, problem, most, average), average)) for less in (only_supported, only_filled)]
    line = (
        f"{100 * f:7.3f} {lost[0]:9.4f} {lost[1]:7.4f} {100 * (found.bound - f):9.6f} {found.is_optimal!s:>7}"
        f" {seconds:7.2f} {plain_seconds:6.2f}"
    )
    return line, found.is_optimal


def best_within(problem: Problem, most: int, average: str) -> budget.CutsInBudget:
    """Search within a budget, among the steps that a sort finds."""
    return budget.best_cuts_within(all_steps(problem), most, average, 1.0, 0.0)


def by_less(less: Callable[..., budget.Within], problem: Problem, most: int, average: str) -> Cuts:
    """Return the cuts that a lesser search finds."""
    whole = budget.best_within
    budget.best_within = less
    try:
        return best_within(problem, most, average).cuts
    finally:
        budget.best_within = whole


def f_of(cuts: Cuts, average: str) -> float:
    """Return the F1 that cuts reach."""
    tp, predicted, positives = cuts.tp, cuts.predicted, cuts.positives
    if average == "micro":
        tp, predicted, positives = tp.sum(), predicted.sum(), positives.sum()
    f = f_of_counts(tp, predicted, positives, 1.0, 0.0)
    return float(np.average(f, weights=positives if average == "weighted" else None))


def only_supported(choices: budget.Choices, most: int, **_: Any) -> budget.Within:
    """Return the best choices within a budget that some price supports."""
    free = choices.at_price(0.0)
    if choices.totals(free)[0] <= most:
        return budget.Within(free, choices.totals(free)[1], 0.0, False)
    _, low, _ = budget._least_bound(choices, free, most)
    return budget.Within(low, choices.totals(low)[1], 0.0, False)


def only_filled(choices: budget.Choices, most: int, **_: Any) -> budget.Within:
    """Return these with what is left of the budget filled up."""
    free = choices.at_price(0.0)
    if choices.totals(free)[0] <= most:
        return budget.Within(free, choices.totals(free)[1], 0.0, False)
    _, low, high = budget._least_bound(choices, free, most)
    chosen = budget._filled(choices, budget._between(choices, low, high, most), most)
    return budget.Within(chosen, choices.totals(chosen)[1], 0.0, False)


def plain(problem: Problem, average: str) -> Cuts:
    """Return the best cuts without a budget, by sorting."""
    steps = all_steps(problem)
    chosen = best_joint_steps(steps, 1.0)[0] if average == "micro" else best_steps(steps, 1.0)
    return steps.at(chosen)


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least seconds of three calls, and what the last gives."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        result = function()
        found.append(time.perf_counter() - start)
    return min(found), result


def tiny(average: str) -> str:
    """Try all choices of tiny problems."""
    rng = np.random.default_rng(0)
    missed = {"supported": 0, "filled": 0, "found": 0}
    n_binding = n_below = n_shown = 0
    while n_binding < N_TINY:
        truth = (rng.random((7, 3)) < 0.4).astype(np.uint8)
        problem = Problem.of(truth, rng.integers(0, 6, (7, 3)) / 8)
        free = plain(problem, average)
        if free.predicted.sum() < 2:
            continue
        most = int(rng.integers(1, free.predicted.sum()))
        n_binding += 1
        best = exhaustive(problem, average, most)
        found = best_within(problem, most, average)
        n_below += found.bound < best - 1e-12
        n_shown += found.is_optimal
        reached = {"found": f_of(found.cuts, average)}
        for name, less in (("supported", only_supported), ("filled", only_filled)):
            reached[name] = f_of(by_less(less, problem, most, average), average)
        for name, f in reached.items():
            missed[name] += f < best - 1e-12
    return (
        f"{N_TINY:,} tiny cases, {average}: the optimum is missed by supported choices in"
        f" {missed['supported']:,}, filled up in {missed['filled']:,}, by the search in {missed['found']:,}, which"
        f" claims it in {n_shown:,}; the bound is below it in {n_below:,}"
    )


def exhaustive(problem: Problem, average: str, most: int) -> float:
    """Return the highest F of all choices within a budget."""
    counts = []
    for j in range(problem.n_labels):
        truth, scores = problem.truth[:, j], problem.scores[:, j]
        cuts = [np.inf, *np.unique(scores)]
        marks = [scores >= cut for cut in cuts]
        counts.append([(int(truth[own].sum()), int(own.sum()), int(truth.sum())) for own in marks])
    best = 0.0
    for choice in product(*counts):
        tp, predicted, positives = np.array(choice).T
        if predicted.sum() > most:
            continue
        if average == "micro":
            tp, predicted, positives = tp.sum(), predicted.sum(), positives.sum()
        best = max(best, float(f_of_counts(tp, predicted, positives, 1.0, 0.0).mean()))
    return best


if __name__ == "__main__":
    main()
