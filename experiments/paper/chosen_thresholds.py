"""Figure 9: which share of the rows the best empirical F1 predicts, if the scores say nothing.

    python experiments/paper/chosen_thresholds.py [--quick] [--output FOLDER]

Only the ranks k_1 < k_2 < ... of the a positives matter: F1 of the cut behind the j-th is 2j / (a + k_j). In a random
order the ranks have geometric gaps, so that a million rows need neither scores nor sorting. Of equal cuts the highest
counts, as in `fit_empirical`; a run without positives predicts nothing.

- This way of simulating gives the decisions of `fit_empirical` on all rows.
- Figure 9 and section 8: a million rows, 10,000 runs for each base rate.
- The limit: with b²n large, the share is 1 / (1 + T (1-b)/(b³n)), where T is the time at which Brownian motion with
  drift -1 is highest. T has the density 2 (φ(√t)/√t - Φ(-√t)).
- Is predicting all best, as is said, and what does the choice cost on new data?

`figure_9.svg`: the share of rows predicted, on a scale of log-odds, for nine base rates; lines are the limit,
dashed where b²n < 25, and left out where b²n < 1 and it no longer applies.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import log1p, pi, sqrt

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from scipy.integrate import quad
from scipy.special import expit, logit, ndtr

from thresholds import fit_empirical, fit_expected

from claims import CLOSE, Claim, Options, Results, main, progress, short, statement
from pictures import LIGHT_GREY, ORANGE, PAGE, figure

Numbers = npt.NDArray[np.float64]
BASE_RATES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5)
MILLION = 10**6
LOW = 0.01  # below it b³n is below 1: docs/errata.md, section 8
ENOUGH = 999  # positives in expectation, about a thousand


@dataclass(frozen=True)
class Runs:
    """Of every run: the number predicted, the best F1 over all cuts, the number of positives."""

    b: float
    n: int
    predicted: Numbers
    best: Numbers
    positives: Numbers

    @property
    def share(self) -> Numbers:
        """The share of rows predicted."""
        return self.predicted / self.n


def ranks_of_positives(b: float, n: int, runs: int, rng: np.random.Generator, first: bool) -> Iterator[Numbers]:
    """The ranks up to n of each run; `first` makes the first item positive."""
    width = int(b * n + 9 * sqrt(b * n) + 50)  # that many gaps fall short of n rows with probability < 1e-15
    ranks = rng.standard_exponential((runs, width))
    ranks /= -log1p(-b)
    np.floor(ranks, out=ranks)
    if first:
        ranks[:, 0] = 0
    ranks += 1
    np.cumsum(ranks, axis=1, out=ranks)
    for row in ranks:
        yield row[: np.searchsorted(row, n, side="right")]


def best_cut(ranks: Numbers) -> tuple[float, float, int]:
    """Number predicted, F1 and number of positives; division is exact enough that equal cuts compare equal."""
    if not ranks.size:
        return 0, 0, 0
    f = np.arange(1, ranks.size + 1) / (ranks + ranks.size)
    j = f.argmax()
    return ranks[j], 2 * f[j], ranks.size


def simulate(b: float, n: int, runs: int, seed: int, first: bool = False) -> Runs:
    """Independent runs; a seed for each block of them, so that threads do not matter."""
    rows = max(1, min(500, round(1e5 / (b * n + 50))))
    sizes = [min(rows, runs - start) for start in range(0, runs, rows)]
    seeds = np.random.SeedSequence([seed, n, round(1e6 * b)]).spawn(len(sizes))

    def block(index: int) -> list[tuple[float, float, int]]:
        rng = np.random.default_rng(seeds[index])
        return [best_cut(ranks) for ranks in ranks_of_positives(b, n, sizes[index], rng, first)]

    with ThreadPoolExecutor(2) as pool:
        blocks = progress(pool.map(block, range(len(sizes))), f"b = {short(b)}, n = {n:,}", len(sizes))
        return Runs(b, n, *np.array([run for done in blocks for run in done]).T)


def same_as_library(n: int, runs: int) -> Claim:
    """Scores for all rows, `fit_empirical`, `predict`: as many predictions, at the same F1, as by ranks?"""
    rng, equal, total = np.random.default_rng(9), 0, 0
    for b in progress(BASE_RATES, "fit_empirical"):
        for ranks in ranks_of_positives(b, n, runs, rng, first=False):
            scores = b + rng.normal(size=n)
            truth = np.zeros(n, np.int8)
            truth[np.argsort(-scores)[ranks.astype(np.int64) - 1]] = 1
            rule = fit_empirical(truth, scores)
            predicted, best, _ = best_cut(ranks)
            equal += rule.predict(scores).sum() == predicted and np.isclose(rule.objective, best, rtol=1e-14)
            total += 1
    return statement(
        "Library",
        "the simulation by ranks predicts as many rows as fit_empirical on all rows",
        f"{equal} of {total} runs equal, n = {n:,}, {len(BASE_RATES)} base rates",
        holds=bool(equal == total),
    )


def by_time(t: npt.ArrayLike) -> Numbers:
    """P(T <= t) for the time t at which Brownian motion with drift -1 is highest."""
    x = np.sqrt(np.asarray(t, np.float64))
    return 2 * ndtr(x) - 1 + 2 * x * np.exp(-(x**2) / 2) / sqrt(2 * pi) - 2 * x**2 * ndtr(-x)


def law(share: npt.ArrayLike, scaled: float) -> Numbers:
    """P(share predicted <= share) in the limit; `scaled` is b³n/(1-b)."""
    return 1 - by_time((1 / np.asarray(share, np.float64) - 1) * scaled)


def law_quantiles(levels: list[float], scaled: npt.ArrayLike) -> Numbers:
    """Quantiles of the limit, one row for each level."""
    t = np.geomspace(1e-9, 60, 200_000)
    times = np.interp(1 - np.array(levels), by_time(t), t)
    return 1 / (1 + times[:, None] / np.atleast_1d(scaled))


def distance_to_law(runs: Runs) -> tuple[float, float]:
    """Kolmogorov's distance, and what may be: level .001, and the law's mass within 1/b rows of the end.

    The last positive is 1/b rows from the end on average; on that stretch, T below b²/(1-b), there are no cuts.
    """
    share, steps = np.sort(runs.share), np.arange(runs.share.size + 1) / runs.share.size
    expected = law(share, runs.b**3 * runs.n / (1 - runs.b))
    distance = max((expected - steps[:-1]).max(), (steps[1:] - expected).max())
    return float(distance), 1.95 / sqrt(share.size) + float(by_time(runs.b**2 / (1 - runs.b)))


def limit_claim(runs: list[Runs]) -> Claim:
    """Compare the simulated shares with the limit where b²n is large, and the closed form with its density."""
    pairs = {r.b: distance_to_law(r) for r in runs if r.b**2 * r.n >= 24.9}
    mass = [
        quad(lambda x: 4 * np.exp(-(x**2) / 2) / sqrt(2 * pi) - 4 * x * ndtr(-x), 0, sqrt(t))[0] for t in (0.1, 1, 5)
    ]
    exact = np.allclose(mass, by_time([0.1, 1, 5]), atol=1e-12)
    far = ", ".join(f"{short(pairs[b][0])} ({short(pairs[b][1])}) at {short(b)}" for b in pairs)
    return statement(
        "Library",
        "for b²n ≥ 25 the share is as that of Brownian motion with drift",
        f"largest distance of distribution functions (and what may be): {far}",
        holds=bool(exact and all(distance <= allowed for distance, allowed in pairs.values())),
    )


def two_digits(values: Iterable[float]) -> str:
    """Shares with two digits."""
    return ", ".join(f"{value:.2f}".removeprefix("0") for value in values)


def decimal(b: float) -> str:
    """A base rate without exponent."""
    return f"{b:f}".strip("0")


def figure_9_claims(runs: list[Runs]) -> list[Claim]:
    """Which share of the runs predicts little, which much."""
    median = {r.b: float(np.median(r.share)) for r in runs}
    little = {r.b: float(np.mean(r.share < 0.1)) for r in runs}
    spread = {r.b: little[r.b] * (1 - little[r.b]) / r.share.size for r in runs}
    rises = [little[low] >= little[high] - 4 * sqrt(spread[low] + spread[high]) for high, low in pairwise(little)]
    many = [rise for rise, r in zip(rises, runs[1:], strict=True) if r.b * r.n >= ENOUGH]
    rates = (0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5)
    named = "b = " + ", ".join(map(decimal, rates))
    return [
        statement(
            "Figure 9",
            "for low b, a low percentage of examples are predicted positive (half of the rows; low: b³n below 1)",
            f"median share of rows {', '.join(short(median[b]) for b in rates)} at {named}",
            holds=all((m < 0.5) == (b < LOW) for b, m in median.items()),
        ),
        statement(
            "Section 8",
            "a shift from predicting almost all to predicting almost none as the base rate is decreased",
            f"a tenth of the rows or less in {two_digits(little[b] for b in rates)} of the runs at {named}",
            holds=all(rises),
            only_if=("bn is at least 1,000", all(many)),
        ),
    ]


def population_f1(b: float, share: npt.ArrayLike) -> Numbers:
    """F1 of predicting a share of all rows, at random."""
    return 2 * b * np.asarray(share) / (b + np.asarray(share))


def predict_all_claim(rows: int = 300) -> Claim:
    """F1 of a random share rises with it, and the decisions of highest expected F1 are to predict everything."""
    rises = all(np.all(np.diff(population_f1(b, np.linspace(0, 1, 1001))) > 0) for b in BASE_RATES)
    chosen = [fit_expected(np.full(rows, b), exact=True).predict(np.full(rows, b)).mean() for b in BASE_RATES]
    return statement(
        "Section 8",
        "the analytically optimal thresholding in all cases is to predict all positive",
        f"F1 of a random share rises with it at {len(BASE_RATES)} base rates; the highest expected F1 of {rows} rows"
        f" is that of predicting {short(100 * min(chosen))} % of them",
        holds=bool(rises and min(chosen) == 1),
    )


def cost(runs: Runs) -> dict[str, float]:
    """F1 over that of predicting all: in the sample, and on all data; and how F1 of predicting all varies."""
    b, of_all = runs.b, 2 * runs.positives / (runs.positives + runs.n)
    top = population_f1(b, 1)
    some = runs.positives > 0
    elsewhere = population_f1(b, runs.share)
    gap = np.log(runs.best[some] / of_all[some] * top / elsewhere[some])  # less noise than in best / elsewhere
    return {
        "in sample": float(runs.best.mean() / top),
        "on all data": float(elsewhere.mean() / top),
        "mean log ratio": float(gap.mean()),
        "its error": float(gap.std() / sqrt(gap.size)),
        "predict all": float(of_all.mean() / top),
        "predict all error": float(of_all.std() / sqrt(of_all.size) / top),
        "predict all deviation": float(of_all.std() / top),
    }


def cost_claims(runs: list[Runs]) -> list[Claim]:
    """Predicting all has its F1 in the sample, too; what is chosen has less elsewhere."""
    costs = {r.b: cost(r) for r in runs}
    near = {
        r.b: abs(costs[r.b]["predict all"] - 1) <= 4 * costs[r.b]["predict all error"]
        and costs[r.b]["predict all deviation"] <= CLOSE
        for r in runs
    }
    rates = (0.01, 0.002, 0.001, 1e-4)
    named = "b = " + ", ".join(map(decimal, rates))
    return [
        statement(
            "Section 8",
            "the threshold that predicts all has an empirical F1 close to 2b/(1+b) (standard deviation at most .05 of"
            " it)",
            f"the mean is {short(min(c['predict all'] for c in costs.values()))} to"
            f" {short(max(c['predict all'] for c in costs.values()))} times that; standard deviation"
            f" {short(costs[0.1]['predict all deviation'])} of it at b = .1,"
            f" {short(costs[0.001]['predict all deviation'])} at b = .001,"
            f" {short(costs[1e-5]['predict all deviation'])} at b = .00001",
            holds=all(near.values()),
            only_if=("bn is at least 1,000", all(near[r.b] for r in runs if r.b * r.n >= ENOUGH)),
        ),
        statement(
            "Section 8",
            "future performance with the chosen threshold is less than empirical performance",
            f"over F1 of predicting all: {', '.join(short(costs[b]['in sample']) for b in rates)} in the sample,"
            f" {', '.join(short(costs[b]['on all data']) for b in rates)} on all data ({named})",
            holds=all(c["mean log ratio"] > 4 * c["its error"] for c in costs.values()),
        ),
    ]


def draw(runs: list[Runs]) -> Figure:
    """Small multiples: histograms of the log-odds of the share, and the limit."""
    drawn = figure(PAGE, 3.8)
    edges = np.linspace(logit(1e-5), -logit(1e-5), 41)
    marks = [1e-4, 1e-2, 0.5, 0.99, 0.9999]
    grid = drawn.subplots(3, 3, sharex=True, sharey=True)
    for ax, r in zip(grid.flat, runs, strict=True):
        odds = logit(np.clip(r.share, 1.1e-5, 1 - 1.1e-5))
        ax.stairs(np.histogram(odds, edges)[0] / odds.size, edges, fill=True, color=LIGHT_GREY)
        mass = np.diff(law(expit(edges[1:-1]), r.b**3 * r.n / (1 - r.b)))  # the outer bins reach to 0 and 1
        if r.b**2 * r.n > 0.99:
            style = "-" if r.b**2 * r.n >= 24.9 else "--"
            ax.plot((edges[2:-1] + edges[1:-2]) / 2, mass, style, color=ORANGE, lw=1)
        ax.set_title(f"b = {decimal(r.b)}, bn = {r.b * r.n:,.0f}", loc="left")
        ax.set_xticks(logit(marks), ["0.01 %", "1 %", "50 %", "99 %", "99.99 %"])
    drawn.supxlabel("share of rows predicted (log-odds)", size=8)
    drawn.supylabel("share of runs", size=8)
    return drawn


def run(options: Options) -> Results:
    """Simulate Figure 9, judge what is said of it, and draw it."""
    check = same_as_library(*((10**5, 2) if options.quick else (MILLION, 5)))
    many, few = (1000, 100) if options.quick else (10_000, 10_000)
    runs = [simulate(b, MILLION, few if b > 0.01 else many, 1) for b in BASE_RATES]
    claims = [check, *figure_9_claims(runs), limit_claim(runs), predict_all_claim(), *cost_claims(runs)]
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    numbers = {
        f"{r.b:g}": {
            "runs": r.share.size,
            "quantiles of the share (.1, .25, .5, .75, .9)": np.quantile(r.share, levels),
            "in the limit": law_quantiles(levels, r.b**3 * r.n / (1 - r.b))[:, 0],
            "runs up to .001, .01, .1, .5, .9, .99": [
                np.mean(r.share <= s) for s in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99)
            ],
            "runs that predict one item": np.mean(r.predicted == 1),
            "F1 over that of predicting all": cost(r),
        }
        for r in runs
    }
    return Results(claims, {"rows": MILLION, "base rates": numbers}, {"figure_9.svg": draw(runs)})


if __name__ == "__main__":
    main(__file__, run)
