"""Theorem 5.1: the best threshold is where the likelihood ratio, times b/(1-b), equals Jaccard's index.

    python experiments/paper/optimal_threshold.py [--quick] [--output FOLDER]

- Five continuous models, whose best threshold is found without the theorem, by searching F1 of the four integrals of
  section 5; and samples of them, whose thresholds `fit_empirical` finds.
- Positives at both ends and negatives between them: the theorem's region is no threshold (`fit_regions`).
- Other beta: which index the ratio equals. Costs instead of F1: whether the ratio is then the same for every model.
- The proof's condition before the limit, on small counts, and which class b is the share of.

`theorem_5_1.svg`, left: the likelihood ratio of each model against the score, and its index; they meet where F1 is
highest. Right: how far the thresholds of samples are from there, in standard deviations of the score.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from scipy import stats
from scipy.optimize import minimize_scalar

from thresholds import fit_empirical, fit_regions
from thresholds.metrics import confusion_counts, f1_score

from claims import Claim, Options, Results, main, progress, short, statement
from pictures import COLOURS, GREY, PAGE, figure, ticks

Floats = npt.NDArray[np.float64]
Value = Floats | float

REGION = "Theorem 5.1: it gives a region of scores, not always a threshold, and Jaccard's index for beta = 1 only"


@dataclass(frozen=True)
class Model:
    """Scores of positives and of negatives as SciPy distributions, and the base rate."""

    name: str
    positives: stats.distributions.rv_frozen
    negatives: stats.distributions.rv_frozen
    base_rate: float

    def counts(self, threshold: Value) -> tuple[Value, Value, Value]:
        """True positives, false positives and false negatives as shares of the population."""
        b, hit, wrong = self.base_rate, self.positives.sf(threshold), self.negatives.sf(threshold)
        return b * hit, (1 - b) * wrong, b * (1 - hit)

    def f(self, threshold: Value, beta: float = 1.0) -> Value:
        """F-beta of a threshold."""
        tp, fp, fn = self.counts(threshold)
        return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)

    def jaccard(self, threshold: Value) -> Value:
        """Jaccard's index of a threshold."""
        tp, fp, fn = self.counts(threshold)
        return tp / (tp + fp + fn)

    def ratio(self, score: Value) -> Value:
        """The left side of (3)."""
        b = self.base_rate
        return b * self.positives.pdf(score) / ((1 - b) * self.negatives.pdf(score))

    @cache  # noqa: B019, there are five models
    def best(self, beta: float = 1.0) -> float:
        """The threshold of highest F-beta: the best of 2,000, then bounded minimisation around it."""
        low, high = self.negatives.ppf(1e-6), self.positives.ppf(1 - 1e-6)
        grid = np.linspace(low, high, 2001)
        k = int(np.clip(np.argmax(self.f(grid, beta)), 1, grid.size - 2))
        found = minimize_scalar(
            lambda t: -self.f(t, beta), bounds=(grid[k - 1], grid[k + 1]), method="bounded", options={"xatol": 1e-10}
        )
        return float(found.x)

    @cache  # noqa: B019
    def cheapest(self, cost: float) -> float:
        """The threshold of lowest cost, false negatives costing 1 and false positives `cost`; found as `best` is."""
        grid = np.linspace(self.negatives.ppf(1e-6), self.positives.ppf(1 - 1e-6), 2001)

        def total(threshold: Value) -> Value:
            _, fp, fn = self.counts(threshold)
            return cost * fp + fn

        k = int(np.clip(np.argmin(total(grid)), 1, grid.size - 2))
        found = minimize_scalar(total, bounds=(grid[k - 1], grid[k + 1]), method="bounded", options={"xatol": 1e-10})
        return float(found.x)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Truth and scores of n instances."""
        truth = rng.random(n) < self.base_rate
        scores = np.where(truth, self.positives.rvs(n, random_state=rng), self.negatives.rvs(n, random_state=rng))
        return truth, scores

    def spread(self) -> float:
        """The standard deviation of the scores of negatives."""
        return float(self.negatives.std())


MODELS = (
    Model("normal, 1 apart", stats.norm(1), stats.norm(0), 0.1),
    Model("normal, 2 apart", stats.norm(2), stats.norm(0), 0.01),
    Model("logistic, 2 apart", stats.logistic(2), stats.logistic(0), 0.3),
    Model("exponential, means 1 and 1/3", stats.expon(), stats.expon(scale=1 / 3), 0.2),
    Model("beta(3, 1) and beta(1, 3)", stats.beta(3, 1), stats.beta(1, 3), 0.05),
)


def on_models() -> tuple[list[Claim], dict[str, dict[str, float]]]:
    """The ratio and the index where F-beta is highest."""
    found: dict[str, dict[str, float]] = {}
    error, other_beta, as_jaccard = 0.0, 0.0, 0.0
    for model in MODELS:
        best = model.best()
        found[model.name] = {"threshold": best, "f1": model.f(best), "jaccard": model.jaccard(best)}
        found[model.name]["ratio"] = float(model.ratio(best))
        error = max(error, abs(model.ratio(best) / model.jaccard(best) - 1))
        for beta in (0.5, 2.0):
            best, square = model.best(beta), beta**2
            f = model.f(best, beta)
            other_beta = max(other_beta, abs(model.ratio(best) * (1 + square - f) / f - 1))
            as_jaccard = max(as_jaccard, abs(model.ratio(best) / model.jaccard(best) - 1))
    claims = [
        statement(
            "Theorem 5.1",
            "at the threshold of highest F1, b p₁(s) / ((1 - b) p₀(s)) = J",
            f"largest relative difference {error:.0g} in {len(MODELS)} models",
            holds=error < 1e-4,
        ),
        statement(
            "Theorem 5.1, footnote 1",
            "the results can be generalised to F-beta",
            f"with F/(1 + B - F) on the right, B = beta², at most {other_beta:.0g} off for beta 1/2 and 2; Jaccard's"
            f" index would be up to {as_jaccard:.0%} off",
            holds=other_beta < 1e-4 < as_jaccard,
        ),
    ]
    return claims, found


def by_cost(costs: tuple[float, ...] = (0.25, 0.5, 1.0)) -> tuple[Claim, dict[str, Any]]:
    """Section 5: the ratio at the lowest cost is a constant; that at the highest F1 depends on the classifier."""
    ratios = {cost: [float(model.ratio(model.cheapest(cost))) for model in MODELS] for cost in costs}
    error = max(abs(ratio / cost - 1) for cost, of_models in ratios.items() for ratio in of_models)
    of_f1 = [float(model.ratio(model.best())) for model in MODELS]
    # What a cut where the ratio is one constant loses of each model's best F1, for the constant that loses least.
    constants = np.geomspace(min(of_f1), max(of_f1), 201)
    grids = [np.linspace(model.negatives.ppf(1e-6), model.positives.ppf(1 - 1e-6), 4001) for model in MODELS]
    cuts = [
        np.interp(np.log(constants), np.log(model.ratio(grid)), grid) for model, grid in zip(MODELS, grids, strict=True)
    ]
    lost = np.max([model.f(model.best()) - model.f(cut) for model, cut in zip(MODELS, cuts, strict=True)], axis=0)
    claim = statement(
        "Section 5",
        "in cost-sensitive decisions J is replaced by a constant λ, which does not depend on the performance of the"
        " classifier on the given batch",
        f"where cost is lowest the ratio is λ = {', '.join(map(short, costs))} in all {len(MODELS)} models, at most"
        f" {error:.0g} off; where F1 is highest, {', '.join(map(short, of_f1))}; the best one constant for all loses up"
        f" to {short(float(lost.min()))} of F1",
        holds=error < 1e-4 < lost.min(),
    )
    return claim, {"ratio at lowest cost": ratios, "ratio at highest F1": of_f1, "lost by one constant": lost.min()}


def on_samples(sizes: list[int], runs: int) -> tuple[list[Claim], dict[str, dict[str, list[float]]]]:
    """Root mean square distance of sampled thresholds from the best, by sample size."""
    rng = np.random.default_rng(51)
    distance: dict[str, dict[str, list[float]]] = {model.name: {"n": [], "distance": []} for model in MODELS}
    tasks = [(model, n) for model in MODELS for n in sizes]
    for model, n in progress(tasks, "samples of the models"):
        best = model.best()
        found = np.array([fit_empirical(*model.sample(n, rng)).thresholds[0] for _ in range(runs)])
        off = np.sqrt(np.mean((found - best)[np.isfinite(found)] ** 2)) / model.spread()
        distance[model.name]["n"].append(n)
        distance[model.name]["distance"].append(float(off))
    curves = [of["distance"] for of in distance.values()]
    rates = [float(np.polyfit(np.log(sizes), np.log(curve), 1)[0]) for curve in curves]
    claim = statement(
        "Theorem 5.1",
        "the empirical version: thresholds found on samples approach that of the model (as a power of n below -.1)",
        f"up to {max(curve[0] for curve in curves):.2f} standard deviations away for n = {sizes[0]:,},"
        f" {max(curve[-1] for curve in curves):.2f} for n = {sizes[-1]:,}: as n to the power {min(rates):.2f} to"
        f" {max(rates):.2f}",
        holds=max(rates) < -0.1,
    )
    return [claim], distance


def region(n: int) -> Claim:
    """Positives at both ends, negatives in the middle."""
    rng = np.random.default_rng(52)
    truth = rng.random(n) < 10 / 20
    ends = np.where(rng.random(n) < 0.5, -3, 3) + rng.uniform(-1, 1, n)
    in_the_middle = rng.random(n) < 0.8
    scores = np.where(truth | ~in_the_middle, ends, rng.uniform(-1, 1, n))
    by_threshold, by_region = fit_empirical(truth, scores), fit_regions(truth, scores, n_bins=30)
    on_new = f1_score(truth, by_region.predict(scores))
    two_sided = by_region.predict(np.array([-3.0, 0.0, 3.0])).tolist() == [1, 0, 1]
    return statement(
        "Theorem 5.1",
        "scores that satisfy (3) lie above a threshold",
        f"positives at both ends: F1 {short(by_region.objective)} of the region, which has two parts,"
        f" {short(by_threshold.objective)} of the best threshold"
        if two_sided
        else "they do",
        holds=not two_sided and bool(np.isclose(on_new, by_threshold.objective)),
        only_if=("the likelihood ratio rises with the score", monotone_regions_are_thresholds(n)),
        erratum=REGION,
    )


def monotone_regions_are_thresholds(n: int) -> bool:
    """Where the ratio rises, is the region of (3), on a fine grid, everything from the best threshold up?"""
    agree = []
    for model in MODELS:
        scores = np.linspace(model.negatives.ppf(1e-4), model.positives.ppf(1 - 1e-4), n)
        best = model.best()
        away = np.abs(scores - best) > 1e-3 * model.spread()
        agree.append(bool(((model.ratio(scores) >= model.jaccard(best)) == (scores >= best))[away].all()))
    return all(agree)


def f1_of(tp: int, fp: int, fn: int) -> Fraction:
    """F1 of counts, 0/0 as 0."""
    return Fraction(2 * tp, max(2 * tp + fp + fn, 1))


def proof() -> Claim:
    """The condition before the limit: region with x positives and y negatives, fn without and with x."""
    right = {"without": 0, "with": 0}
    cases = list(product((0, 1, 4, 9), (0, 2, 5), (0, 3, 7), (1, 2, 6), (1, 5, 8)))
    for tp, fp, fn, x, y in cases:
        added = f1_of(tp + x, fp + y, fn) >= f1_of(tp, fp, fn + x)
        for name, missed in (("without", fn), ("with", fn + x)):
            right[name] += added == (Fraction(x, y) >= Fraction(tp, tp + missed + fp + x))
    return statement(
        "Theorem 5.1, proof",
        "bP₁/((1 - b)P₂) ≥ tp/(tp + fn + fp + bP₁), tp, fp, fn being of all other scores' F1",
        f"with P₀ for P₂, right in {right['without']} of {len(cases)} cases if fn leaves the region's positives out,"
        f" in {right['with']} if it is that of the F1 without the region",
        holds=right["with"] == len(cases),
        right=("P₀ for P₂, and fn without the region's positives", right["without"] == len(cases)),
        erratum="Theorem 5.1: the proof's P_2 is P_0, and its fn leaves out the region in question",
    )


def share_of_positives(n: int) -> Claim:
    """Which class is b the share of, if tp = b times the integral of the positives' density?"""
    model = MODELS[0]
    truth, scores = model.sample(n, np.random.default_rng(53))
    threshold = model.best()
    tp = confusion_counts(truth, scores >= threshold, labels=[1]).tp.item() / n
    hit, b = float(model.positives.sf(threshold)), model.base_rate
    error = 4 * np.sqrt(b * hit / n)
    meant, printed = b * hit, (1 - b) * hit
    return statement(
        "Section 5",
        "P(t = 0) = b, and tp = b ∫ p₁",
        f"tp is {short(tp)} of {n:,} rows; {short(meant)} if b is P(t = 1) = {b}, {short(printed)} if b is P(t = 0)",
        holds=abs(tp - printed) < error,
        right=("P(t = 1) = b", abs(tp - meant) < error),
        erratum="Section 5: the base rate b is P(t=1)",
    )


def draw(distance: dict[str, dict[str, list[float]]]) -> Figure:
    """Where the ratio meets the index, and how samples approach it."""
    drawn = figure(PAGE, 2.7)
    left, right = drawn.subplots(1, 2)
    markers, styles = ("o", "s", "^", "D", "v"), ("-", "--", "-.", ":", (0, (5, 1)))
    for model, colour, marker, style in zip(MODELS, COLOURS, markers, styles, strict=False):
        low, high = model.negatives.ppf(0.01), model.positives.ppf(0.99)
        scores = np.linspace(low, high, 200)
        best = model.best()
        ratio = model.ratio(scores)
        near = (ratio > 0.01) & (ratio < 5)
        left.plot((scores[near] - best) / model.spread(), ratio[near], color=colour, linestyle=style)
        left.plot((scores - best) / model.spread(), model.jaccard(scores), color=colour, linestyle=style, linewidth=0.6)
        left.plot(0, model.jaccard(best), color=colour, marker=marker)
        right.plot(*distance[model.name].values(), color=colour, marker=marker, linestyle=style, label=model.name)
    left.axvline(0, color=GREY, linewidth=0.6, linestyle=":")
    left.set(yscale="log", ylim=(0.02, 5), xlim=(-2.5, 2.5), xlabel="score − best threshold (standard deviations)")
    left.set_ylabel("ratio (3), thick; index J, thin")
    left.set_title("F1 is highest where they meet", loc="left")
    right.set(xscale="log", yscale="log", xlabel="instances in the sample")
    ticks(right, (0.02, 0.05, 0.1, 0.2, 0.4))
    ticks(left, (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5))
    right.set_ylabel("distance from the best threshold\n(standard deviations, RMS)")
    right.legend()
    right.set_title("Thresholds found by fit_empirical", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge theorem 5.1 and draw it."""
    claims, found = on_models()
    sizes, runs = ([1_000, 30_000], 15) if options.quick else ([1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000], 40)
    sampled, distance = on_samples(sizes, runs)
    constant, of_costs = by_cost()
    claims += [constant, *sampled, region(2_000 if options.quick else 20_000), proof()]
    claims.append(share_of_positives(20_000 if options.quick else 1_000_000))
    return Results(
        claims, {"models": found, "costs": of_costs, "samples": distance}, {"theorem_5_1.svg": draw(distance)}
    )


if __name__ == "__main__":
    main(__file__, run)
