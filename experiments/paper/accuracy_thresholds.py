"""Equation (8): how often accuracy and F1 choose a wrong threshold on a sample, if the scores say nothing.

    python experiments/paper/accuracy_thresholds.py [--quick] [--output FOLDER]

Scores are b plus noise. Eleven thresholds predict 0, 1/10, ..., all of the rows in expectation; for b below 1/2,
accuracy is best at the first, F1 at the last. Of equal ones the highest counts. In the sample only the positives and
negatives between two thresholds matter, which are multinomial.

- Equation (8) is accuracy unless a score equals the threshold.
- Its terms converge exponentially (binomial tails), and P_err ≤ T 2^(-εn), where ε is Chernoff's exponent of the
  threshold next to the optimum. The probability that this one looks better is exact, for accuracy and F1.
- Which thresholds are chosen by error.
- F1 on the same draws: its exponent is the smallest Kullback-Leibler divergence (Sanov) from the truth to a sample in
  which the threshold next to the optimum is as good, of order b³.

What becomes of both measures with a threshold between any two scores is shown by `sample_size.py`.

`equation_8.svg`: the probability of a wrong choice; markers are simulated, solid lines exact, for the threshold next
to the optimum alone, dashed lines T 2^(-εn).
"""

from itertools import product
from math import log, log2, sqrt

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar
from scipy.special import kl_div, ndtri
from scipy.stats import binom

from thresholds.metrics import accuracy_score, f1_score

from chosen_thresholds import Numbers
from claims import Claim, Options, Results, main, progress, short, statement
from pictures import BLUE, GREY, ORANGE, PAGE, figure

Counts = npt.NDArray[np.int64]
Simulated = dict[float, dict[str, dict[int, npt.NDArray[np.float64]]]]  # by base rate, measure and n: see `errors`
T = 11
SHARES = np.linspace(0, 1, T)
RATES = (0.3, 0.1)
SIZES = {"accuracy": (10, 20, 50, 100, 200, 300, 500, 1000), "F1": (10, 30, 100, 300, 1000, 3000, 10_000, 30_000)}


def measures(positives: Counts, negatives: Counts) -> dict[str, Numbers]:
    """Accuracy and F1 at each threshold, from the counts between thresholds, highest scores first."""
    start = np.zeros((*positives.shape[:-1], 1), np.int64)
    tp, fp = (np.concatenate([start, np.cumsum(c, axis=-1)], axis=-1) for c in (positives, negatives))
    a, n = tp[..., -1:], tp[..., -1:] + fp[..., -1:]  # the last threshold predicts everything
    return {"accuracy": (tp + n - a - fp) / n, "F1": 2 * tp / np.maximum(a + tp + fp, 1)}


def draws(b: float, n: int, runs: int) -> dict[str, Numbers]:
    """Both measures at each threshold in every run."""
    rng = np.random.default_rng([8, n, round(1000 * b)])
    between = np.repeat([b, 1 - b], T - 1) / (T - 1)
    counts = rng.multinomial(n, between, runs)
    return measures(counts[:, : T - 1], counts[:, T - 1 :])


def errors(values: dict[str, Numbers]) -> dict[str, Numbers]:
    """For each measure, how often each wrong threshold is chosen, by its distance from the best one, 1 to T-1."""
    chosen = {"accuracy": values["accuracy"].argmax(axis=1), "F1": T - 1 - values["F1"].argmax(axis=1)}
    return {name: np.bincount(index, minlength=T)[1:] / index.size for name, index in chosen.items()}


def equation_8_claim(trials: int) -> Claim:
    """Compare (8) and the counts of this script with the library on scores, without ties and with one."""
    rng, n, agree = np.random.default_rng(1), 500, True
    for b in np.repeat(RATES, trials):
        truth, scores = rng.random(n) < b, b + 0.1 * rng.normal(size=n)
        cuts = b + 0.1 * ndtri(1 - SHARES)
        decided = [scores >= t for t in cuts]
        band = np.digitize(-scores, -cuts[1:-1], right=True)
        printed = [(np.sum(truth & (scores >= t)) + np.sum(~truth & (scores <= t))) / n for t in cuts]
        here = measures(*(np.bincount(band[of], minlength=T - 1) for of in (truth, ~truth)))
        agree &= np.allclose(printed, [accuracy_score(truth, d) for d in decided], rtol=1e-12)
        agree &= np.allclose(here["accuracy"], printed, rtol=1e-12)
        agree &= np.allclose(here["F1"], [f1_score(truth, d) for d in decided], rtol=1e-12)
    truth, scores = np.array([1, 0]), np.array([0.5, 0.5])
    tied = (np.sum(scores[truth == 1] >= 0.5) + np.sum(scores[truth == 0] <= 0.5)) / 2
    right = accuracy_score(truth, scores >= 0.5)
    return statement(
        "Equation (8)",
        "the empirical accuracy counts positives with s ≥ t and negatives with s ≤ t",
        f"a positive and a negative at t: {short(tied)} by (8), accuracy {short(right)};"
        f" without ties {'equal' if agree else 'not equal'} in {2 * trials * T} cases",
        holds=bool(agree and tied == right),
        only_if=("no score equals t", bool(agree)),
        erratum="Equation (8): a score at the threshold counts as predicted and as not predicted",
    )


def terms_claim(distance: float = 0.05) -> Claim:
    """The exponents of binomial tails of the terms of (8), against the one of Hoeffding's inequality."""
    exponents = []
    for n, b, share in product((300, 1000), (0.001, 0.01, 0.1, 0.3, 0.5), (0.001, 0.1, 0.5, 0.9, 0.999)):
        for p in (b * share, (1 - b) * (1 - share)):
            below, above = np.floor(n * (p - distance) + 1e-9), np.ceil(n * (p + distance) - 1e-9) - 1
            tails = np.logaddexp(binom.logcdf(below, n, p), binom.logsf(above, n, p))
            exponents.append((log(2) - tails) / n)
    least = 2 * distance**2
    return statement(
        "Section 8",
        "each term of (8) converges to its mean exponentially in n, whatever b and t are",
        f"off by {short(distance)} with probability 2 exp(-rn), r from {short(min(exponents))} to"
        f" {short(max(exponents))} in {len(exponents)} cases (Hoeffding: at least {short(least)})",
        holds=bool(min(exponents) >= least),
    )


def accuracy_exponent(b: float, share: float) -> float:
    """Chernoff's exponent of at least as many true as false positives among the rows predicted."""
    return -log(1 - share * (sqrt(1 - b) - sqrt(b)) ** 2)


def beats_none(b: float, share: float, n: int) -> float:
    """The probability that predicting a share is more accurate than predicting nothing."""
    predicted = np.arange(n + 1)
    return float(binom.pmf(predicted, n, share) @ binom.sf(predicted // 2, predicted, b))


def f1_exponent(b: float, share: float) -> float:
    """The smallest divergence of a sample in which predicting a share has at least the F1 of predicting all.

    With base rate a, recall r and share s of the negatives predicted, that is r ≥ a + (1-a) s.
    """

    def divergence(p: float, q: float) -> float:
        return float(kl_div(p, q) + kl_div(1 - p, 1 - q))

    def of_negatives(a: float, s: float) -> float:
        return divergence(a, b) + a * divergence(a + (1 - a) * s, share) + (1 - a) * divergence(s, share)

    def of_base_rate(a: float) -> float:
        found = minimize_scalar(
            lambda s: of_negatives(a, s), bounds=(0, share), method="bounded", options={"xatol": 1e-11}
        )
        return float(found.fun)

    return float(minimize_scalar(of_base_rate, bounds=(0, b), method="bounded", options={"xatol": 1e-11}).fun)


def around(n: int, p: float, deviations: float = 8) -> Counts:
    """The numbers that are not all too unlikely for a binomial."""
    margin = deviations * sqrt(n * p * (1 - p)) + deviations
    return np.arange(max(0, int(n * p - margin)), min(n, int(n * p + margin)) + 1)


def beats_all(b: float, share: float, n: int) -> float:
    """The probability that predicting a share has at least the F1 of predicting all: tp n ≥ a (a + fp)."""
    total = (1 - b) ** n  # no positives: nothing is predicted, which is wrong
    positives = around(n, b)
    for a, weight in zip(positives, binom.pmf(positives, n, b), strict=True):
        if a:
            tp = around(a, share)
            total += weight * (binom.pmf(tp, a, share) @ binom.cdf(tp * n // a - a, n - a, share))
    return float(total)


def bound_claim(simulated: Simulated, runs: int) -> Claim:
    """T 2^(-εn) against the sum of exact probabilities over thresholds, which bounds P_err, and against simulation."""
    kept, above, shown = True, 0.0, []
    for b in RATES:
        rate = accuracy_exponent(b, SHARES[1]) / log(2)
        for n, found in simulated[b]["accuracy"].items():
            union = sum(beats_none(b, share, n) for share in SHARES[1:])
            kept &= union <= T * 2 ** (-rate * n)
            above = max(above, (found.sum() - union) / sqrt(union / runs) if runs * union > 1 else 0)
        shown.append(f"ε = {short(rate)} at b = {short(b)}")
    n = 300
    values = [beats_none(b, SHARES[1], n) for b in RATES]
    return statement(
        "Section 8",
        "for a fixed number T of threshold choices, accuracy chooses the wrong one with P_err ≤ T·2^(-εn)",
        f"{', '.join(shown)}; at n = {n} the threshold next to the optimum wins"
        f" with {values[0]:.1e} and {values[1]:.1e}",
        holds=bool(kept and above <= 4),
    )


def gap_claim() -> Claim:
    """How fast the exact probability of the next threshold falls, for more and more thresholds."""
    b, slopes, within = 0.2, [], True
    for thresholds in (6, 11, 21, 51):
        n = 100 * thresholds
        first, second = (beats_none(b, 1 / (thresholds - 1), rows) for rows in (n, 2 * n))
        slopes.append(log2(first / second) / n)
        bits = accuracy_exponent(b, 1 / (thresholds - 1)) / log(2)
        within &= bits <= slopes[-1] <= bits + 1 / n  # a factor between 1 and 1/n before the exponential
    return statement(
        "Section 8",
        "ε depends on the distance between the optimal and the next nearest threshold",
        f"{', '.join(map(short, slopes))} for T = 6, 11, 21, 51 (b = {short(b)})",
        holds=bool(within and np.all(np.diff(slopes) < 0)),
    )


def close_claim(simulated: Simulated, runs: int) -> Claim:
    """Among wrong choices, the share of the threshold next to the optimum; where there are a hundred or more."""
    nearest, most = {}, {}
    for name, b in (("accuracy", 0.3), ("F1", 0.1)):
        many = {n: found for n, found in simulated[b][name].items() if found.sum() * runs >= 100}
        most[name] = all(found.argmax() == 0 for found in many.values())
        nearest[name] = [(n, float(many[n][0] / many[n].sum())) for n in (min(many), max(many))]
    texts = [f"{x} " + ", ".join(f"{short(share)} at n = {n:,}" for n, share in nearest[x]) for x in nearest]
    return statement(
        "Section 8",
        "even if errors occur, the most likely errors are thresholds close to the true optimum",
        f"share of the threshold next to it among errors: {texts[0]} (b = .3); {texts[1]} (b = .1)",
        holds=bool(most["accuracy"] and nearest["accuracy"][1][1] > nearest["accuracy"][0][1]),
    )


def exponents_claim(simulated: Simulated) -> tuple[Claim, dict[str, list[float]]]:
    """The exponents of both measures, and errors on the same draws."""
    found = {b: (accuracy_exponent(b, 0.1), f1_exponent(b, 0.9)) for b in (0.3, 0.1, 0.01, 0.001)}
    scaled = [f1 / (b**3 / 18) for b, (_, f1) in found.items()]  # b³ (1-u) / (2u) at u = .9
    more = all(
        simulated[b]["F1"][n].sum() >= simulated[b]["accuracy"][n].sum()
        for b in RATES
        for n in set(SIZES["F1"]) & set(SIZES["accuracy"])
    )
    text = "; ".join(f"{short(b)}: {accuracy:.2g}, {f1:.2g}" for b, (accuracy, f1) in found.items())
    claim = statement(
        "Section 8",
        "threshold optimization for F1 is particularly susceptible (T = 11 thresholds)",
        f"F1's P_err, too, falls exponentially, but the exponents (accuracy, F1) are at b = {text}"
        f" (F1's: {short(scaled[-1])} times b³/18)",
        holds=bool(more and all(f1 < accuracy for accuracy, f1 in found.values())),
    )
    return claim, {f"{b:g}": list(pair) for b, pair in found.items()}


def spread_claim(runs: int) -> Claim:
    """Standard deviations of F1 over its mean, at the first and the last threshold that predict, for n and 4n."""
    b, n, deviation = 0.1, 2500, []
    for rows in (n, 4 * n):
        f1 = draws(b, rows, runs)["F1"][:, [1, -1]]
        deviation.append(f1.std(axis=0) / f1.mean(axis=0))
    ratio, error = deviation[0] / deviation[1], 4 / sqrt(runs)
    alike = np.all(abs(ratio / 2 - 1) <= error + 1 / (b * SHARES[1] * n))  # the latter: terms of the next order
    return statement(
        "Section 8",
        "different thresholds have different rates of convergence of estimated F1 with n",
        f"relative deviation {short(deviation[1][0])} if 1/10 of {4 * n:,} rows is predicted, {short(deviation[1][1])}"
        f" if all (b = {short(b)}); with a quarter of the rows {short(ratio[0])} and {short(ratio[1])} times that",
        holds=bool(abs(ratio[0] - ratio[1]) > 2 * sqrt(2) * error and not alike),
        only_if=("the factor before 1/√n is meant", bool(alike and deviation[1][0] > 2 * deviation[1][1])),
    )


def draw(simulated: Simulated, exact: dict[float, dict[str, dict[int, float]]]) -> Figure:
    """Wrong choices among eleven thresholds."""
    drawn = figure(PAGE, 2.8)
    ax = drawn.subplots()
    for (b, marker), (name, colour) in product(zip(RATES, "os", strict=True), (("accuracy", BLUE), ("F1", ORANGE))):
        wrong = {n: f.sum() for n, f in simulated[b][name].items() if f.sum() > 0}
        ax.plot(list(wrong), list(wrong.values()), marker, color=colour, label=f"{name}, b = {short(b)}")
        ax.plot(list(exact[b][name]), list(exact[b][name].values()), "-", color=colour, lw=0.8)
        bound = None if b != RATES[0] or name != "accuracy" else f"bound T·2^(−εn), T = {T}"
        if name == "accuracy":
            n = np.geomspace(log(T) / accuracy_exponent(b, SHARES[1]), 2000, 100)
            ax.plot(n, T * np.exp(-accuracy_exponent(b, SHARES[1]) * n), "--", color=GREY, lw=0.8, label=bound)
    ax.set(xscale="log", yscale="log", ylim=(1e-6, 2), xlabel="rows", ylabel="probability of a wrong threshold")
    ax.legend(loc="lower left")
    ax.set_title("Eleven thresholds: simulated (marks) and exact for the two best (lines)", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge section 8 up to equation (8), and draw it."""
    runs = 4000 if options.quick else 100_000
    plans = [(b, n) for b in RATES for n in sorted({n for sizes in SIZES.values() for n in sizes})]
    wrong = {plan: errors(draws(*plan, runs)) for plan in progress(plans, "eleven thresholds")}
    simulated = {b: {name: {n: wrong[b, n][name] for n in SIZES[name]} for name in SIZES} for b in RATES}
    plans = [(b, int(x / b**3)) for b in RATES for x in np.geomspace(0.3, *((3, 5) if options.quick else (200, 28)))]
    of_f1 = {plan: beats_all(plan[0], SHARES[-2], plan[1]) for plan in progress(plans, "exact")}
    exact = {
        b: {
            "accuracy": {n: beats_none(b, SHARES[1], n) for n in range(10, 1000, 10)},
            "F1": {n: p for (of, n), p in of_f1.items() if of == b},
        }
        for b in RATES
    }
    exponents, table = exponents_claim(simulated)
    of_accuracy = [
        equation_8_claim(3 if options.quick else 30),
        terms_claim(),
        bound_claim(simulated, runs),
        gap_claim(),
    ]
    claims = [*of_accuracy, close_claim(simulated, runs), spread_claim(runs), exponents]
    numbers = {"exponents of accuracy and F1": table, "wrong choices by distance": simulated}
    return Results(claims, numbers, {"equation_8.svg": draw(simulated, exact)})


if __name__ == "__main__":
    main(__file__, run)
