"""Do 95 % intervals hold what they should: of one label, of one rule, of two rules, of the best of many?

Scores are normal, those of positives higher by a shift; so F of the population is known, and which cut is best for it.
Four parts, 4,000 simulated samples in each cell:

1. `f_interval` of one label at a fixed cut, which must hold F of the population in .93 to .98 of the samples where 30
   positives or more are expected. Below that, it is printed. And where few right rows, or few mistakes, are expected,
   among 100: F1 exactly, over all splits of the rows, where .92 is the least; other betas simulated, and printed.
2. Intervals of micro and macro F1 of one rule (`compare`). A factor that the labels of a row share, in truth and in
   scores, makes a part `correlation` of their variance; rows of a group share half of everything. What they must hold
   is the mean of the samples; F of the population stands beside it.
3. Two rules that are equally good in the population, and one sample of rows: two models whose scores have independent
   errors, or nearly the same; and two cuts of one model, below and above the best, with the same F of each label. They
   may be told apart in 5 % of the samples.
4. 2, 5 and 25 equally good models, and 25 of which one is better: how often one that is truly best is told apart from
   the one that is best on these rows (at most 5 %), and two that are equally good from each other. Beside it, how wide
   intervals would be if the largest difference were drawn by the correlations of the rules (max |t|, at large samples).
5. With a FOLDER of real score files: what max |t| would change for all rules of the library on their test rows.

The error of simulation is .0034 at .95, so that "at most 5 %" is judged at 6 %. Run

    OMP_NUM_THREADS=1 python experiments/intervals/coverages.py FOLDER_OF_NPZ | tee experiments/intervals/coverages.txt

It takes ten minutes, exits with 1 if a bound is missed, and gives the same figures each time.
"""

import argparse
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from thresholds._arrays.types import Bytes, Floats, Ints
from thresholds._engine.problem import Problem
from thresholds.comparison.fitted_rules import fit_rules
from thresholds.files import read_labelled
from thresholds.metrics import f_interval
from thresholds.metrics.jackknife import Interval, behind, difference_of, interval_of
from thresholds.metrics.judging import decide_all
from thresholds.metrics.leaving_out import LeftOut, leave_out_of

RUNS = 4000
LEVEL = 0.95
LOWEST, HIGHEST = 0.93, 0.97
LEAST, MOST = 0.92, 0.98  # of one label; where few rows are right, or few wrong, intervals hold F more often
MOST_DIFFERENT = 0.06  # 5 % and three standard errors of simulation
ENOUGH = 30  # positives of a label for which coverage is held to bounds
AVERAGES = ("micro", "macro")
REAL = ("emotions", "yeast", "ptbxl_xresnet1d101", "chestxray14_chexnet")

Draws = npt.NDArray[np.float32]


class Design(NamedTuple):
    """Samples of rows."""

    n: int
    n_labels: int
    fewest: float  # expected positives of the rarest label
    most: float
    correlation: float  # of the labels of a row
    group: int = 1  # rows
    shift: float = 1.5  # of the scores of positives, in standard deviations

    @property
    def rates(self) -> Floats:
        """Base rates of the labels, evenly spaced in logarithms."""
        return np.geomspace(self.fewest, self.most, self.n_labels) / self.n

    @property
    def groups(self) -> Ints | None:
        """The group of each row."""
        return None if self.group == 1 else np.arange(self.n) // self.group

    def __str__(self) -> str:
        """Describe it in a column."""
        positives = f"{self.fewest:g}" if self.fewest == self.most else f"{self.fewest:g}-{self.most:g}"
        groups = "" if self.group == 1 else f", groups of {self.group}"
        shift = "" if self.shift == 1.5 else f", shift {self.shift:g}"
        return f"{self.n} x {self.n_labels}, {positives} positives, corr. {self.correlation:g}{groups}{shift}"


LEVELS = (
    Design(100, 5, 30, 30, 0.5),
    Design(300, 20, 30, 30, 0.5),
    Design(1000, 20, 30, 300, 0.0),
    Design(1000, 20, 30, 300, 0.3),
    Design(1000, 20, 30, 300, 0.7),
    Design(1000, 60, 30, 100, 0.5),
    Design(1000, 20, 30, 300, 0.3, group=5),
    Design(1000, 20, 30, 300, 0.3, shift=0.5),
    Design(1000, 20, 30, 300, 0.3, shift=4),
    Design(300, 20, 3, 90, 0.5),
    Design(100, 10, 1, 20, 0.3),
    Design(1000, 60, 1, 100, 0.5),
    Design(1000, 60, 2, 2, 0.3),
    Design(600, 10, 12, 180, 0.3, group=5),
)
PAIRS = (
    Design(100, 5, 30, 30, 0.5),
    Design(300, 20, 30, 30, 0.5),
    Design(1000, 20, 30, 300, 0.3),
    Design(1000, 20, 30, 300, 0.3, group=5),
    Design(300, 20, 3, 90, 0.5),
    Design(1000, 60, 2, 2, 0.3),
)
BEST_OF = Design(300, 10, 10, 90, 0.3)


# What the population is


def f_at(cuts: Floats, rates: Floats, shift: float) -> Floats:
    """F1 of the population at cuts of normal scores."""
    hits, alarms = rates * ndtr(shift - cuts), (1 - rates) * ndtr(-cuts)
    return np.asarray(2 * hits / (rates + hits + alarms))


def best_cuts(rates: Floats, shift: float) -> Floats:
    """Return the cuts with the highest F1 of the population."""
    grid = np.linspace(-3, 7, 2001)[:, np.newaxis]
    return grid[np.argmax(f_at(grid, rates, shift), axis=0), 0]


def low_and_high_cuts(rates: Floats, shift: float, share: float = 0.95) -> tuple[Floats, Floats]:
    """Return cuts below and above the best ones, at both of which F1 is that share of the best."""
    best = best_cuts(rates, shift)
    aim = share * f_at(best, rates, shift)
    found = []
    for outside in (best - 4, best + 4):
        inner, outer = best, outside
        for _ in range(60):
            middle = (inner + outer) / 2
            is_above = f_at(middle, rates, shift) > aim
            inner, outer = np.where(is_above, middle, inner), np.where(is_above, outer, middle)
        found.append(inner)
    low, high = found
    return low, high


def f_of_population(design: Design) -> dict[str, float]:
    """Return micro and macro F1 at the best cuts."""
    rates, cuts = design.rates, best_cuts(design.rates, design.shift)
    hits, alarms = rates * ndtr(design.shift - cuts), (1 - rates) * ndtr(-cuts)
    micro = 2 * hits.sum() / (rates + hits + alarms).sum()
    return {"micro": float(micro), "macro": float(f_at(cuts, rates, design.shift).mean())}


# What a sample is


def noise(rng: np.random.Generator, design: Design) -> Draws:
    """Draw standard normal numbers (n, n_labels), which labels of a row share in part, and rows of a group in part."""

    def rows(n: int) -> Draws:
        shared = rng.standard_normal((n, 1), np.float32)
        own = rng.standard_normal((n, design.n_labels), np.float32)
        return np.float32(design.correlation) ** 0.5 * shared + np.float32(1 - design.correlation) ** 0.5 * own

    if design.groups is None:
        return rows(design.n)
    of_groups = rows(design.n // design.group)[design.groups]
    return np.float32(0.5) ** 0.5 * (of_groups + rows(design.n))


def truth_of(rng: np.random.Generator, design: Design) -> Bytes:
    """Draw what is true."""
    return (noise(rng, design) > -ndtri(design.rates).astype(np.float32)).astype(np.uint8)


def problem_of(truth: Bytes) -> Problem:
    """Make a problem; decisions are made beside it, so that its scores are not looked at."""
    return Problem(truth, truth, None, 1.0, None, 0.0, None)


def left_out(problem: Problem, predicted: npt.NDArray[np.bool_], groups: Ints | None) -> LeftOut:
    """Leave rows, or groups, out of decisions."""
    return leave_out_of(predicted.view(np.uint8), problem, 1.0, groups)


# 1. One label


def one_label() -> bool:
    """Print the coverage of `f_interval`, and return whether it keeps its bounds."""
    print(f"1. One label at a fixed cut: share of {RUNS:,} samples whose interval holds F of the population\n")
    print(f"{'positives':>9}{'base rate':>11}{'shift':>7}{'F1':>8}{'beta 1':>9}{'beta .5':>9}{'beta 2':>9}")
    rng = np.random.default_rng(1)
    kept = True
    for positives in (10, 30, 100, 300):
        for rate in (0.3, 0.1, 0.01, 0.001):
            for shift in (1.0, 2.0, 3.0):
                rates = np.array([rate])
                cut = best_cuts(rates, shift)
                hit, alarm = rate * ndtr(shift - cut[0]), (1 - rate) * ndtr(-cut[0])
                shares = [hit, rate - hit, alarm, 1 - rate - alarm]
                tp, fn, fp, _ = rng.multinomial(round(positives / rate), shares, RUNS).T  # (RUNS,) each
                found = []
                for beta in (1.0, 0.5, 2.0):
                    true = (1 + beta**2) * hit / (beta**2 * rate + hit + alarm)
                    low, high = f_interval(tp, tp + fp, tp + fn, beta=beta)
                    found.append(float(np.mean((low <= true) & (true <= high))))
                f1 = f_at(cut, rates, shift)[0]
                kept &= positives < ENOUGH or all(LOWEST <= share <= MOST for share in found)
                figures = "".join(f"{share:>9.3f}" for share in found)
                print(f"{positives:>9}{rate:>11g}{shift:>7g}{f1:>8.3f}{figures}")
    return few_right_or_wrong() and kept


def few_right_or_wrong() -> bool:
    """Print the coverage of `f_interval` where few of 100 rows are right, or wrong; return whether it is enough."""
    print(f"\n{'expected of 100 rows':<24}{'F1: least':>12}{'mean':>8}{'beta .5':>12}{'beta 2':>9}")
    rng = np.random.default_rng(6)
    rows, right = 100, np.arange(101)
    low, high = f_interval(right, right, rows)
    kept = True
    for what, sign in (("right", 1), ("wrong", -1)):
        for least, most in ((0.02, 0.5), (0.5, 1), (1, 2), (2, 5), (5, 10)):
            # F1: exactly, at 200 places of the range; the mistakes are false alarms, as it counts both alike.
            expected = np.linspace(least, most, 200)[:, np.newaxis]
            index = expected / rows if sign == 1 else 1 - expected / rows
            f = 2 * index / (1 + index)
            covered = (((low <= f) & (f <= high)) * binom.pmf(right, rows, index)).sum(axis=1)
            kept &= bool(covered.min() >= LEAST)
            # Other betas: mistakes of one kind and of the other alike, at 10 places; the least of these.
            others = []
            for beta in (0.5, 2.0):
                shares = []
                for few in np.linspace(least, most, 10):
                    hit = (few if sign == 1 else rows - few) / rows
                    tp, fn, fp = rng.multinomial(rows, [hit, (1 - hit) / 2, (1 - hit) / 2], RUNS).T
                    true = (1 + beta**2) * hit / ((1 + beta**2) * hit + (1 + beta**2) * (1 - hit) / 2)
                    bounds = f_interval(tp, tp + fp, tp + fn, beta=beta)
                    shares.append(float(np.mean((bounds[0] <= true) & (true <= bounds[1]))))
                others.append(min(shares))
            figures = f"{covered.min():>12.3f}{covered.mean():>8.3f}{others[0]:>12.3f}{others[1]:>9.3f}"
            print(f"{f'{least:g} to {most:g} {what}':<24}{figures}")
    return kept


# 2. One rule


def one_rule() -> bool:
    """Print the coverage of `interval_of`, and return whether it keeps its bounds."""
    print(
        f"\n2. One rule: share of {RUNS:,} samples whose interval holds the mean of the samples (F of the population)"
    )
    print("   and half-width / 1.96 standard deviations of F\n")
    print((f"{'':<56}" + "".join(f"   {average:<23}" for average in AVERAGES)).rstrip())
    kept = True
    for design in LEVELS:
        rng = np.random.default_rng(2)
        cuts = best_cuts(design.rates, design.shift).astype(np.float32)
        found: dict[str, list[tuple[float, ...]]] = {average: [] for average in AVERAGES}
        for _ in range(RUNS):
            truth = truth_of(rng, design)
            predicted = noise(rng, design) + np.float32(design.shift) * truth >= cuts
            of_rule = left_out(problem_of(truth), predicted, design.groups)
            for average in AVERAGES:
                found[average].append(interval_of(of_rule, average, LEVEL))
        line = f"{design!s:<56}"
        population = f_of_population(design)
        for average in AVERAGES:
            value, low, high = np.array(found[average]).T  # (RUNS,) each
            holds_mean, holds_population = (
                np.mean((low <= true) & (true <= high)) for true in (value.mean(), population[average])
            )
            width = (high - low).mean() / 2 / (1.96 * value.std())
            kept &= design.fewest < ENOUGH or LOWEST <= holds_mean <= HIGHEST
            line += f"   {holds_mean:.3f} ({holds_population:.3f}) {width:.2f}   "
        print(line.rstrip(), flush=True)
    return kept


# 3. Two rules


def two_rules() -> bool:
    """Print how often two equally good rules are told apart, and return whether that is seldom enough."""
    print(f"\n3. Two equally good rules: share of {RUNS:,} samples in which they are told apart\n")
    kinds = ("two models", "alike models", "two cuts")
    print((f"{'':<56}" + "".join(f"{kind:^20}" for kind in kinds)).rstrip())
    print((f"{'':<56}" + "".join(f"{average:>9} " for _ in kinds for average in AVERAGES)).rstrip())
    kept = True
    for design in PAIRS:
        rng = np.random.default_rng(3)
        best = best_cuts(design.rates, design.shift).astype(np.float32)
        low, high = (cuts.astype(np.float32) for cuts in low_and_high_cuts(design.rates, design.shift))
        told_apart = np.zeros((len(kinds), len(AVERAGES)))
        for _ in range(RUNS):
            truth = truth_of(rng, design)
            problem = problem_of(truth)
            first, second = (noise(rng, design) + np.float32(design.shift) * truth for _ in range(2))
            # Errors of which nine tenths of the variance are those of the first model.
            alike = mixed(first, second, 0.9, np.float32(design.shift) * truth)
            pairs = ((first >= best, second >= best), (first >= best, alike >= best), (first >= low, first >= high))
            for k, pair in enumerate(pairs):
                ours, theirs = (left_out(problem, predicted, design.groups) for predicted in pair)
                for a, average in enumerate(AVERAGES):
                    if kinds[k] == "two cuts" and average == "micro":
                        continue  # Each label is as good; labels together are not.
                    _, lower, upper = difference_of(ours, theirs, average, LEVEL)
                    told_apart[k, a] += lower > 0 or upper < 0
        shares = told_apart / RUNS
        kept &= bool((shares <= MOST_DIFFERENT).all())
        figures = "".join(
            f"{share:>9.3f} " if (k, a) != (2, 0) else f"{'':>10}" for (k, a), share in np.ndenumerate(shares)
        )
        print(f"{design!s:<56}{figures}".rstrip(), flush=True)
    return kept


def mixed(first: Draws, second: Draws, share: float, shifts: Draws) -> Draws:
    """Return scores whose errors have that share of the variance from the first, and the rest from the second."""
    weight, rest = np.float32(share) ** 0.5, np.float32(1 - share) ** 0.5
    return shifts + weight * (first - shifts) + rest * (second - shifts)


# 4. The best of many


def behind_best(rules: Mapping[str, LeftOut], average: str, confidence: float) -> dict[str, tuple[Interval, bool]]:
    """How far each rule is behind the best of them."""
    best = max(rules.values(), key=lambda rule: rule.on_all[average])
    return {name: behind(best, rule, average, confidence, len(rules)) for name, rule in rules.items()}


def best_of_many() -> bool:
    """Print how often what is truly best is told apart from the best, and return whether that is seldom enough."""
    print(f"\n4. The best of k models, {BEST_OF}: shares of {RUNS:,} samples, macro F1\n")
    heads = ("truly best", "two that are", "any of the", "rules not", "max |t| /")
    lines = ("told apart", "equally good", "truly best", "told apart", "Bonferroni")
    print(f"{'':<34}" + "".join(f"{head:>14}" for head in heads))
    print(f"{'':<34}" + "".join(f"{line:>14}" for line in lines))
    kept = True
    for k, shared, ahead in (
        (2, 0.0, 0),
        (2, 0.8, 0),
        (5, 0.0, 0),
        (5, 0.8, 0),
        (25, 0.0, 0),
        (25, 0.8, 0),
        (25, 0.8, 1),
    ):
        rng = np.random.default_rng(4)
        cuts = best_cuts(BEST_OF.rates, BEST_OF.shift).astype(np.float32)
        n_best = 1 if ahead else k
        tied, ratios = [], []
        for run in range(RUNS):
            truth = truth_of(rng, BEST_OF)
            problem = problem_of(truth)
            common = noise(rng, BEST_OF) + np.float32(BEST_OF.shift) * truth
            rules = {}
            for r in range(k):
                shifts = np.float32(BEST_OF.shift + (0.3 if r < ahead else 0)) * truth
                own = noise(rng, BEST_OF) + shifts
                scores = mixed(common - np.float32(BEST_OF.shift) * truth + shifts, own, shared, shifts)
                rules[str(r)] = left_out(problem, scores >= cuts, None)
            tied.append([is_tied for _, is_tied in behind_best(rules, "macro", LEVEL).values()])
            if run < RUNS // 40:
                ratios.append(max_t_ratio([rule.changes["macro"] for rule in rules.values()]).mean())
        is_tied = np.array(tied)  # (RUNS, k)
        of_best = is_tied[:, :n_best]
        first = float(np.mean(~of_best[:, 0]))
        pair = float(np.mean(of_best[:, 0] != of_best[:, 1])) if n_best > 1 else float("nan")
        kept &= first <= MOST_DIFFERENT and not pair > MOST_DIFFERENT
        name = f"{k}, {shared:.0%} of errors shared" + (", one ahead" if ahead else "")
        figures = (first, pair, float(np.mean(~of_best.all(axis=1))))
        shown = "".join(f"{'' if np.isnan(figure) else format(figure, '.3f'):>14}" for figure in figures)
        print(f"{name:<34}{shown}{is_tied.sum(axis=1).mean():>14.1f}{np.mean(ratios):>14.2f}", flush=True)
    return kept


def max_t_ratio(changes: Sequence[Floats], draws: int = 4000) -> Floats:
    """Return, for each rule, the quantile of the largest |t| of its differences to others over that of Bonferroni."""
    covariance = np.array(changes) @ np.array(changes).T  # (k, k)
    values, vectors = np.linalg.eigh(covariance)
    roots = vectors * np.sqrt(np.maximum(values, 0))
    drawn = np.random.default_rng(5).standard_normal((draws, len(changes))) @ roots.T  # (draws, k)
    bonferroni = -ndtri((1 - LEVEL) / 2 / (len(changes) - 1))
    ratios = []
    for r in range(len(changes)):
        variances = np.diag(covariance) + covariance[r, r] - 2 * covariance[r]
        others = variances > 1e-9 * variances.max()
        largest = np.abs((drawn[:, others] - drawn[:, [r]]) / np.sqrt(variances[others])).max(axis=1)
        ratios.append(np.quantile(largest, LEVEL) / bonferroni)
    return np.array(ratios)


# 5. All rules on real files


def on_real_files(folder: Path) -> None:
    """Print what max |t| would gain for all rules of the library."""
    print(
        "\n5. All rules, fitted on calibration rows: how many cannot be told apart from the best of their test rows\n"
    )
    print(f"{'':<31}{'Bonferroni':>12}{'max |t|':>9}   max |t| / Bonferroni, by rule")
    for name in REAL:
        data: Any = read_labelled(str(folder / f"{name}.npz"), "y_score")
        truth, scores = data.y_true, data.y_score
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit_rules(
                Problem.of(truth[data.calib_idx], scores[data.calib_idx]), "all", beta=1.0, zero_division=0.0
            )
        problem = Problem.of(truth[data.test_idx], scores[data.test_idx])
        rules = {}
        for rule_name, rule in fitted.rules.items():
            rules[rule_name] = leave_out_of(decide_all(rule, problem), problem, 1.0)
        for average in ("micro", "macro", "samples"):
            found = behind_best(rules, average, LEVEL).values()
            tied = sum(is_tied for _, is_tied in found)
            ratios = max_t_ratio([rule.changes[average] for rule in rules.values()])
            behind = np.array([interval for interval, _ in found])  # (k, 3)
            narrowed = sum(behind[:, 0] <= ratios * (behind[:, 0] - behind[:, 1]))
            counts = f"{tied:>6} of {len(rules)}{narrowed:>9}"
            print(f"{name:<22}{average:<9}{counts}   {ratios.min():.2f} to {ratios.max():.2f}", flush=True)


def main() -> int:
    """Run all parts."""
    parser = argparse.ArgumentParser(description="Coverage of intervals, simulated.")
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="holds real score files")
    parser.add_argument("--part", type=int, choices=range(1, 6), help="only this part")
    options = parser.parse_args()
    parts = (one_label, one_rule, two_rules, best_of_many)
    kept = [part() for number, part in enumerate(parts, start=1) if options.part in (None, number)]
    if options.folder is not None and options.part in (None, 5):
        on_real_files(options.folder)
    print(f"\nevery bound is kept: {'yes' if all(kept) else 'no'}")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
