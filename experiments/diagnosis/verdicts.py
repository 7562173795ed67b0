"""Do verdicts keep what they promise? Simulated labels of known quality, bounds of F, and real scores.

1. Labels with normal scores, so that AUROC and the F1 of any threshold are known for the population. A set has 99
   labels, 9 of each AUROC from .5 to .99, and as many expected positives a label as is said, 2 to 500, at base rates of
   .02, .1, .3 and .5. A rule is fitted on one half of the rows, the verdicts come from the other: `fit_empirical` for
   macro-F1 without a guard, with "shrink", and a rule that marks every row but a few. Printed:

   - wrong: the share of labels called usable whose population F1 is below the bar, and of labels called useless whose
     AUROC is at least .7; some labels have just that. By set, 0 where none is called so, then averaged: the false
     discovery rate;
   - power: the share called usable of labels whose F1 is .1 or more above the bar; called weak, missed or useless of
     those .1 or more below; called useless of AUROC .5; called missed of those that reach .2 more at the cut that marks
     as many rows as are positive, of the labels whose scores are useful (AUROC .8 or more) and that are not usable;
   - how many are unproven.

   Then the hardest case, labels all of which lie exactly at the bar: the share of sets with one that is called usable,
   or called weak, both wrong.
2. How often bounds of F hold the F of the population: `f_interval`, and the percentiles of 400 bootstrap samples.
3. Real scores: verdicts from out-of-fold decisions on `calib_idx` against F1 on `test_idx`, of the rule of all rows.

It fails if a share of wrong verdicts in 1 is above .05 by more than two standard errors (in the hardest case three, as
there are many shares), or if in 3 a label with F1 0 on the test rows is called usable, or more than 5 % of those called
usable have bounds below the bar there.

    python experiments/diagnosis/verdicts.py [FOLDER] [--runs N] [--seed N]
"""

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

import thresholds
from thresholds._engine.problem import Problem
from thresholds._results.result import names_of
from thresholds._results.text import aligned
from thresholds.diagnosis.bars import Marked, p_of_bar
from thresholds.diagnosis.evidence import Criteria, evidence_of
from thresholds.diagnosis.verdicts import VERDICTS, Verdicts, verdicts_of
from thresholds.files import read_labelled
from thresholds.metrics import f_interval
from thresholds.metrics.judging import judge

Floats = npt.NDArray[np.float64]

POSITIVES = (2, 5, 10, 20, 50, 100, 200, 500)
RATES = (0.02, 0.1, 0.3, 0.5)
AUROCS = np.array([0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99])
OF_EACH = 9
RULES = ("no guard", "shrink", "nearly always")
ALPHA, MIN_F, MIN_SKILL, MIN_AUROC = 0.05, 0.5, 0.25, 0.7
FILES = ("ptbxl_xresnet1d101", "corel5k", "chestxray14_chexnet", "code_ecg", "litcovid_bc7", "bibtex", "ohsumed23")
NEEDED = FILES[:3]


class Judged(NamedTuple):
    """The labels of one set under one rule; all but the first three are of the population, (n_labels,)."""

    positives: int
    rate: float
    rule: str
    verdict: npt.NDArray[np.str_]
    auroc: Floats
    f: Floats
    bar: float
    top_f: Floats  # at the cut that marks as many rows as are positive


def f_of(distance: Floats, threshold: Floats, rate: float) -> Floats:
    """F1 of the population: positives are `distance` above negatives."""
    tp = rate * ndtr(distance - threshold)
    return np.asarray(2 * tp / (rate + tp + (1 - rate) * ndtr(-threshold)))


def quantile(distance: Floats, rate: float) -> Floats:
    """The threshold that marks as many of the population as are positive, by halving."""
    low, high = np.full_like(distance, -10), np.full_like(distance, 15)
    for _ in range(60):
        middle = (low + high) / 2
        is_low = rate * ndtr(distance - middle) + (1 - rate) * ndtr(-middle) > rate
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return low


def bar_of(rate: float) -> float:
    """The F1 that "usable" asks for."""
    always = 2 * rate / (1 + rate)
    return max(MIN_F, always + MIN_SKILL * (1 - always))


def one_set(positives: int, rate: float, seed: int) -> Iterator[Judged]:
    """Draw rows, fit on the first half, and judge each rule on the second."""
    rng = np.random.default_rng([seed, positives, round(1000 * rate)])
    auroc = np.repeat(AUROCS, OF_EACH)
    distance = np.sqrt(2) * ndtri(auroc)
    n = round(positives / rate)
    truth = (rng.random((2 * n, auroc.size)) < rate).astype(np.uint8)
    scores = rng.standard_normal(truth.shape) + distance * truth
    fitted = {
        "no guard": thresholds.fit_empirical(truth[:n], scores[:n], n_jobs=1),
        "shrink": thresholds.fit_empirical(truth[:n], scores[:n], guard="shrink", n_jobs=1),
        "nearly always": thresholds.FixedRule(-3.0, auroc.size),
    }
    for name in RULES:
        rule = fitted[name]
        cuts = getattr(rule, "thresholds", np.full(auroc.size, -3.0))
        found = thresholds.diagnose(truth[n:], scores[n:], rule, n_jobs=1)
        top_f = f_of(distance, quantile(distance, rate), rate)
        yield Judged(positives, rate, name, found.verdict, auroc, f_of(distance, cuts, rate), bar_of(rate), top_f)


def false_share(judged: list[Judged], verdict: str) -> tuple[float, float, int]:
    """The mean share of labels called so that are not, its standard error, and how many are called so."""
    shares, called = [], 0
    for one in judged:
        is_called = one.verdict == verdict
        wrong = one.f < one.bar if verdict == "usable" else one.auroc >= MIN_AUROC
        shares.append((is_called & wrong).sum() / max(is_called.sum(), 1))
        called += int(is_called.sum())
    return float(np.mean(shares)), float(np.std(shares) / np.sqrt(len(shares))), called


def percent(part: Any, of: Any) -> str:
    """A share in percent, nothing of nothing."""
    return f"{100 * (part & of).sum() / of.sum():.0f}" if of.any() else ""


def powers(judged: list[Judged]) -> tuple[str, ...]:
    """How often labels are told, by what they are."""
    verdict = np.concatenate([one.verdict for one in judged])
    above = np.concatenate([one.f - one.bar for one in judged])
    auroc = np.concatenate([one.auroc for one in judged])
    more = np.concatenate([one.top_f - one.f for one in judged])
    told = np.isin(verdict, ("weak", "missed", "useless"))
    return (
        percent(verdict == "usable", above >= 0.1),
        percent(told, above <= -0.1),
        percent(verdict == "useless", auroc == 0.5),
        percent(verdict == "missed", (more >= 0.2) & (auroc >= 0.8) & (above < 0)),
        *(percent(verdict == one, np.ones(verdict.size, bool)) for one in VERDICTS),
    )


def simulate(n_runs: int, seed: int) -> bool:
    """Print wrong verdicts and power; whether the promises are kept."""
    judged = [
        one
        for positives, rate in product(POSITIVES, RATES)
        for run in range(n_runs)
        for one in one_set(positives, rate, seed + run)
    ]
    print(f"1. Simulated labels, {n_runs} runs: mean share of labels called so that are not (standard error; called)\n")
    kept = True
    body = []
    for what, of in (
        *((name, [one for one in judged if one.rule == name]) for name in RULES),
        *((f"base rate {rate:g}", [one for one in judged if one.rate == rate]) for rate in RATES),
        *((f"{a} positives", [one for one in judged if one.positives == a]) for a in POSITIVES),
        ("all", judged),
    ):
        cells = []
        for verdict in ("usable", "useless"):
            share, error, called = false_share(of, verdict)
            kept &= share - 2 * error <= ALPHA
            cells.append(f"{100 * share:.2f} % ({100 * error:.2f}; {called:,})")
        body.append((what, *cells))
    print(aligned([("labels", "usable, F1 below the bar", "useless, AUROC at least .7")], body))

    print("\nPower in percent, and all labels by verdict in percent\n")
    head = [
        ("", "usable", "weak, missed,", "useless", "missed of those"),
        ("expected", "of F1 .1", "useless of F1", "of", "that reach .2"),
        ("positives", "above bar", ".1 below bar", "AUROC .5", "more elsewhere"),
    ]
    head = [(*cells, *(VERDICTS if k == 2 else [""] * len(VERDICTS))) for k, cells in enumerate(head)]
    body = [(f"{a}", *powers([one for one in judged if one.positives == a])) for a in POSITIVES]
    print(aligned(head, body))
    return kept


def at_the_bar(n_runs: int, seed: int) -> bool:
    """Labels exactly at the bar: how often any of a set is called usable or weak by the tests of F1."""
    print("\nAll 50 labels of a set exactly at the bar: share of sets with a verdict, which is wrong, in percent\n")
    rng = np.random.default_rng(seed)
    body, kept = [], True
    for rate, positives, kind in product((0.01, 0.3, 0.5), (5, 20, 100, 500), ("precise", "even", "lavish")):
        # Recall, and the precision that goes with it, so that F1 is the bar.
        bar = bar_of(rate)
        recall = {"precise": 1.05 * bar / (2 - bar), "even": bar, "lavish": 0.95}[kind]
        precision = bar * recall / (2 * recall - bar)
        tp = rate * recall
        cells = [tp, rate - tp, tp * (1 / precision - 1)]
        n = round(positives / rate)
        drawn = rng.multinomial(n, [*cells, 1 - sum(cells)], (100 * n_runs, 50)).astype(float)
        tp, fn, fp, _ = drawn.reshape(-1, 4).T
        shares = []
        for p in p_of_bar(Marked(tp, tp + fp, tp + fn), n, Criteria(), 1.0):
            p = np.sort(np.nan_to_num(p, nan=1.0).reshape(-1, 50), axis=1)
            shares.append((p <= ALPHA * np.arange(1, 51) / 50).any(axis=1).mean())
        kept &= max(shares) <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / len(drawn))
        figures = (f"{bar:.3f}", f"{recall:.2f}", f"{precision:.2f}")
        body.append((f"{rate:g}", f"{positives}", *figures, *(f"{100 * share:.1f}" for share in shares)))
    print(aligned([("base rate", "positives", "bar", "recall", "precision", "usable", "weak")], body))
    return kept


def cover(n_draws: int, seed: int) -> None:
    """Print how often bounds hold the F of the population."""
    print("\n2. Bounds of F of 95 %: share of samples in which they hold the F of the population, in percent\n")
    rng = np.random.default_rng(seed)
    body = []
    for beta, (recall, precision), positives in product(
        (0.5, 1.0, 2.0), ((0.02, 0.05), (0.2, 0.4), (0.5, 0.5), (0.9, 0.6), (0.97, 0.97)), (3, 10, 30, 100)
    ):
        cells = np.array([recall, 1 - recall, recall * (1 / precision - 1)]) * positives  # tp, fn, fp
        f = (1 + beta**2) * cells[0] / ((1 + beta**2) * cells[0] + beta**2 * cells[1] + cells[2])
        tp, fn, fp = rng.poisson(cells, (n_draws, 3)).T
        low, high = f_interval(tp, tp + fp, tp + fn, beta=beta)
        again = rng.poisson(np.stack([tp, fn, fp]), (400, 3, n_draws))  # counts of a bootstrap of many rows
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            tops = (1 + beta**2) * again[:, 0]
            drawn = tops / (tops + beta**2 * again[:, 1] + again[:, 2])
            lowest, highest = np.nan_to_num(np.nanquantile(drawn, [0.025, 0.975], axis=0))
        ours = 100 * np.mean((low <= f + 1e-12) & (f <= high + 1e-12))
        theirs = 100 * np.mean((lowest <= f) & (f <= highest))
        width = np.mean(high - low)
        none = 100 * np.mean((lowest == highest) & (tp + fn + fp > 0))
        body.append(
            (f"{beta:g}", f"{f:.3f}", f"{positives}", f"{ours:.1f}", f"{width:.2f}", f"{theirs:.1f}", f"{none:.0f}")
        )
    head = [
        ("", "F of the", "expected", "f_interval", "mean", "bootstrap", "of these"),
        ("beta", "population", "positives", "", "width", "", "without width"),
    ]
    print(aligned(head, body))


def out_of_fold(problem: Problem, names: Any, guard: str | None, min_f: float) -> tuple[Verdicts, Any]:
    """Verdicts from decisions of rules that had not seen the rows, and the rule of all rows."""
    crossed = thresholds.cross_fit(problem.truth, problem.scores, guard=guard, n_jobs=1)
    folds = [
        judge(thresholds.ThresholdRule(cuts), problem.at_rows(np.flatnonzero(crossed.folds == k))).by_label
        for k, cuts in enumerate(crossed.fold_thresholds)
    ]
    criteria = Criteria(min_f=min_f)
    evidence = evidence_of(problem, criteria, n_jobs=1)
    counts = sum(folds[1:], folds[0])
    return verdicts_of(counts, problem.n_samples, evidence, criteria, names), crossed.rule


def real(folder: Path) -> bool:
    """Print verdicts on real scores, and what the labels reach on the test rows."""
    print("\n3. Real scores: verdicts out of fold on calib_idx, and F1 of the labels called usable on test_idx\n")
    body, kept = [], True
    for name, (guard, min_f) in product(FILES, (("shrink", 0.5), (None, 0.5), ("shrink", 0.2))):
        data = read_labelled(folder / f"{name}.npz", "y_score")
        stored = np.load(folder / f"{name}.npz")
        calibration, test = stored["calib_idx"], stored["test_idx"]
        problem = Problem.of(data.y_true[calibration], data.y_score[calibration])
        names = names_of(data.label_names, problem.n_labels)
        verdicts, rule = out_of_fold(problem, names, guard, min_f)
        counts = judge(rule, Problem.of(data.y_true[test], data.y_score[test])).by_label
        f = counts.f_score()
        _, high = f_interval(counts.tp, counts.predicted, counts.positives)
        usable = verdicts.verdict == "usable"
        bar = verdicts.table["bar"]
        below, surely = usable & (f < bar), usable & (high < bar)
        never = usable & (f == 0)
        kept &= not never.any() and surely.sum() <= ALPHA * usable.sum()
        body.append(
            (
                name,
                str(guard),
                f"{min_f:g}",
                *(f"{n}" for n in verdicts.counts.values()),
                *(f"{mask.sum()}" for mask in (below, surely, never)),
            )
        )
    head = [
        ("", "", "", *[""] * len(VERDICTS), "usable, but on the", "test rows", ""),
        ("file", "guard", "min_f", *VERDICTS, "below bar", "bounds below", "F1 0"),
    ]
    print(aligned(head, body, left=(1,)))  # Names of files are not shortened.
    return kept


def main() -> int:
    """Run all, print, and return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="of score files")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kept = simulate(options.runs, options.seed)
    kept &= at_the_bar(options.runs, options.seed)
    cover(200 * options.runs, options.seed)
    if options.folder:
        kept &= real(options.folder)
    print("\nall promises are kept" if kept else "\na promise is broken")
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
