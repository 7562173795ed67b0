"""Section 8: how many rows it takes until a useless label's threshold is found near the bottom, and what misplaces it.

    python experiments/paper/sample_size.py [--quick] [--output FOLDER]

Scores say nothing; runs are simulated as for Figure 9 (`chosen_thresholds.py`).

- At which n low thresholds are found, (1-b)/b² or 1/b³, and how sharp the change is.
- The cut behind the first item: its F1, and the base rate up to which it beats predicting everything.
- How often it beats that, and how often it wins over all cuts: b (1 - b²n). Simulated given that the first item is
  positive, which has probability b; the second factor is the ballot theorem's.
- Whether low shares, as in Figure 9, come from that cut.
- How far F1's choice and accuracy's are from the best one, with a threshold between any two scores.

`transition.svg`: the median share of rows predicted, against b³n, where base rates share one curve (the line is the
limit, grey its quartiles), and against b²n, where they do not. `first_item.svg`, left: how often the cut behind a
positive first item beats predicting everything, and how often it is chosen (b = .001). Right: the mean distance of the
chosen share of rows from the best one, for accuracy (nothing) and F1 (everything), b = .1.
"""

from math import sqrt

import numpy as np
from matplotlib.figure import Figure

from thresholds.metrics import f1_score

from chosen_thresholds import (
    MILLION,
    Numbers,
    Runs,
    best_cut,
    law_quantiles,
    ranks_of_positives,
    simulate,
    two_digits,
)
from claims import Claim, Options, Results, main, progress, short, statement
from pictures import BLUE, COLOURS, GREY, LIGHT_GREY, ORANGE, PAGE, figure

SCALED = (0.1, 0.05, 0.02, 0.01)
STEPS = 10.0 ** np.arange(-2, 2.1, 0.5)  # b³n or b²n
RARE = 0.001  # the base rate at which the first item is looked at
BELOW = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 2.0)  # b²n
COMMON, ROWS = 0.1, (100, 1000, 10_000, 100_000)  # where choices are compared with those of accuracy
SAMPLING = "Section 8: sampling misplaces thresholds up to n of about 1/b³, not (1-b)/b²"
LUCKY = "Section 8: one lucky item has F1 2/(1+bn), and beats predicting all for n < 1/b²"

BySize = dict[tuple[float, int], Runs]


def rows(b: float, power: int, factor: float) -> int:
    """The number of rows `factor` / b^power."""
    return round(factor / b**power)


def simulate_sizes(options: Options) -> BySize:
    """Runs for base rates and numbers of rows, with at least ten positives and not too many to be counted."""
    if options.quick:
        sizes = [(b, rows(b, power, c)) for b in SCALED for power in (2, 3) for c in STEPS[3:7]]
        return {(b, n): simulate(b, n, int(np.clip(2e6 / (b * n), 60, 300)), 2) for b, n in sizes}
    sizes = [
        (b, rows(b, power, c)) for b in SCALED for power in (2, 3) for c in STEPS if 10 <= c / b ** (power - 1) < 4e5
    ]
    return {(b, n): simulate(b, n, 2000, 2) for b, n in progress(sizes, "number of rows")}


def over_90(runs: Runs) -> float:
    """The share of runs that predict more than 90 % of the rows."""
    return float(np.mean(runs.share > 0.9))


def median_interval(runs: Runs) -> Numbers:
    """Four standard errors around the median."""
    half = 2 / sqrt(runs.share.size)
    return np.quantile(runs.share, [0.5 - half, 0.5 + half])


def place_claims(runs: BySize) -> list[Claim]:
    """Above which n low thresholds are found, and whether that is one number for all base rates."""
    named = "b = " + ", ".join(map(short, SCALED))
    above = {power: [over_90(runs[b, rows(b, power, 10)]) for b in SCALED] for power in (2, 3)}
    there = {power: [runs[b, rows(b, power, 1)] for b in SCALED] for power in (2, 3)}
    agree = {}
    for power in (2, 3):
        low, high = np.transpose([median_interval(r) for r in there[power]])
        agree[power] = bool(low.max() <= high.min())
    medians = {power: two_digits(float(np.median(r.share)) for r in there[power]) for power in (2, 3)}
    return [
        statement(
            "Section 8",
            "for n ≥ (1-b)/b² the optimal small threshold is identified (9/10 of the rows predicted in most runs)",
            f"in {two_digits(above[2])} of the runs at n = 10/b², in {two_digits(above[3])} at 10/b³ ({named})",
            holds=all(rate > 0.5 for rate in above[2]),
            only_if=("n is well above 1/b³", all(rate > 0.5 for rate in above[3])),
            erratum=SAMPLING,
        ),
        statement(
            "Section 8",
            "the change is at n of about (1-b)/b² (the median share is the same there at all base rates)",
            f"{medians[2]} at n = 1/b², {medians[3]} at 1/b³, {'' if agree[3] else 'not '}within the error ({named})",
            holds=agree[2],
            right=("1/b³", agree[3]),
            erratum=SAMPLING,
        ),
    ]


def sharpness_claim(runs: BySize) -> Claim:
    """How fast the share of runs near the optimum rises around 1/b³, on average over base rates.

    The bounds in question, 1/b² and 1/b³, are 1/b apart, at least a factor of ten: a change that tells them from each
    other is over within a decade of n.
    """
    low, high = (float(np.mean([over_90(runs[b, rows(b, 3, c)]) for b in SCALED])) for c in STEPS[3:6:2])
    return statement(
        "Section 8",
        "a sharp threshold behavior (from 1/10 to 9/10 of the runs predict 9/10 of the rows within a decade of n)",
        f"from {short(low)} to {short(high)} of the runs between n = .32/b³ and 3.2/b³",
        holds=low < 0.1 and high > 0.9,
        erratum=SAMPLING,
    )


def f1_of_first(n: int, positives: int) -> tuple[float, float]:
    """F1 of predicting one positive item only, and of predicting everything."""
    truth, first = np.arange(n) < positives, np.arange(n) < 1
    return f1_score(truth, first), f1_score(truth, np.ones(n, bool))


def lucky_claims() -> list[Claim]:
    """The printed F1 of one lucky item and the printed bounds, against F1 by counting."""
    n = 10_000
    f1 = {positives: f1_of_first(n, positives) for positives in range(1, 201)}
    printed, right = ([2 / (more + positives) for positives in f1] for more in (2, 1))
    first = [pair[0] for pair in f1.values()]
    lower_from = min(positives for positives, (one, everything) in f1.items() if one < everything) / n
    bound = (sqrt(1 + 8 / n) - 1) / 2
    return [
        statement(
            "Section 8",
            "predicting only the first item has F1 2/(2+bn) if it is positive",
            f"{short(first[9])} for bn = 10, where 2/(2+bn) = {short(printed[9])} and 2/(1+bn) = {short(right[9])};"
            f" the latter in {np.isclose(first, right).sum()} of {len(f1)} cases",
            printed="2/(2+bn)",
            holds=np.allclose(first, printed),
            right=("2/(1+bn)", np.allclose(first, right)),
            erratum=LUCKY,
        ),
        statement(
            "Section 8",
            "that is lower than F1 of predicting all only for b ≥ (√(1+8/n) - 1)/2",
            f"n = 10,000: from b = {short(lower_from)} on (1/√n = {short(1 / sqrt(n))}), not {short(bound)}",
            printed="(√(1+8/n) - 1)/2",
            holds=abs(lower_from - bound) <= 1.5 / n,
            right=("b ≥ 1/√n", abs(lower_from - 1 / sqrt(n)) <= 1.5 / n),
            erratum=LUCKY,
        ),
    ]


def first_item(runs: int) -> dict[str, Numbers]:
    """Given a positive first item: how often its cut beats predicting everything, and how often it is chosen."""
    beats, chosen, ballot = [], [], []
    for factor in BELOW:
        r = simulate(RARE, rows(RARE, 2, factor), runs, 3, first=True)
        beats.append(np.mean(2 / (1 + r.positives) > 2 * r.positives / (r.positives + r.n)))
        chosen.append(np.mean(r.predicted == 1))
        ballot.append(np.mean(np.maximum(0, 1 - r.positives**2 / r.n)))
    values = {"b²n": BELOW, "beats predicting all": beats, "chosen": chosen, "ballot theorem": ballot}
    return {name: np.array(value) for name, value in values.items()}


def first_item_claims(found: dict[str, Numbers], runs: int) -> list[Claim]:
    """A constant probability of what?"""
    beats, chosen, error = found["beats predicting all"], found["chosen"], 0.5 / sqrt(runs)
    fits = np.all(abs(chosen - found["ballot theorem"]) <= 4 * error + RARE)
    some = [BELOW.index(factor) for factor in (0.1, 0.5, 0.9, 2.0)]
    named = "b²n = .1, .5, .9, 2 (b = .001)"
    return [
        statement(
            "Section 8",
            "for n < (1-b)/b², the first cut beats predicting all with constant probability, b (judged up to b²n = .5)",
            f"b times {', '.join(short(x) for x in beats[some])} at {named}",
            holds=bool(abs(beats[0] - beats[2]) <= 4 * sqrt(2) * error and beats[-1] <= 4 * error),
        ),
        statement(
            "Section 8",
            "for n < (1-b)/b², the first cut is identified with constant probability",
            f"b times {', '.join(short(x) for x in chosen[some])} at {named}, {'' if fits else 'not '}as b (1 - b²n)",
            right=("b (1 - b²n)", bool(fits)),
            holds=bool(abs(chosen[0] - chosen[2]) <= 4 * sqrt(2) * error),
            erratum=SAMPLING,
        ),
    ]


def cause_claim(options: Options) -> Claim:
    """Of the runs of a million rows that predict little, how many predict one item?"""
    rates = (0.001, 1e-4, 1e-5)
    runs = [simulate(b, MILLION, 1000 if options.quick else 10_000, 1) for b in rates]
    little = [float(np.mean(r.share < 0.1)) for r in runs]
    one = [float(np.mean(r.predicted == 1)) for r in runs]
    return statement(
        "Section 8",
        "low shares, as in Figure 9, come from cuts behind the first item (which the text explains them by)",
        f"{two_digits(little)} of the runs predict less than a tenth of the rows, {', '.join(short(x) for x in one)}"
        " one row (b = .001, .0001, .00001)",
        holds=all(x > y / 2 for x, y in zip(one, little, strict=True)),
        erratum=SAMPLING,
    )


def any_cut(b: float, n: int, runs: int) -> dict[str, float]:
    """With a threshold between any two scores: how often and how far accuracy's and F1's choices are off."""
    rng, off = np.random.default_rng([9, n, round(1000 * b)]), []
    for ranks in ranks_of_positives(b, n, runs, rng, first=False):
        lead = 2 * np.arange(1, ranks.size + 1) - ranks  # true minus false positives
        accuracy = ranks[lead.argmax()] if ranks.size and lead.max() > 0 else 0
        off.append((accuracy / n, 1 - best_cut(ranks)[0] / n))
    wrong, far = np.mean(np.array(off) > 0, axis=0), np.mean(off, axis=0)
    return {"accuracy wrong": wrong[0], "accuracy off": far[0], "F1 wrong": wrong[1], "F1 off": far[1]}


def any_cut_claim(found: dict[int, dict[str, float]]) -> Claim:
    """How far accuracy's and F1's choices are from predicting nothing and everything, in shares of rows."""
    shown = [found[n] for n in ROWS]
    wrong, far = (
        {name: [x[f"{name} {kind}"] for x in shown] for name in ("accuracy", "F1")} for kind in ("wrong", "off")
    )
    return statement(
        "Section 8",
        "threshold optimization for F1 is particularly susceptible (any threshold between two scores)",
        f"share of rows off: accuracy {', '.join(f'{x:.0e}' for x in far['accuracy'])}, F1 {two_digits(far['F1'])};"
        f" wrong at all in {two_digits(wrong['accuracy'])} and {two_digits(wrong['F1'])} of the runs"
        f" (n = {', '.join(f'{n:,}' for n in ROWS)}, b = {short(COMMON)})",
        holds=all(x["F1 off"] > x["accuracy off"] for x in shown),
    )


def draw_transition(runs: BySize) -> Figure:
    """The median share against two scales of n."""
    drawn = figure(PAGE, 2.6)
    left, right = drawn.subplots(1, 2, sharey=True)
    scaled = np.geomspace(0.008, 130, 200)
    low, middle, high = law_quantiles([0.25, 0.5, 0.75], scaled)
    left.fill_between(scaled, low, high, color=LIGHT_GREY, alpha=0.5, lw=0, label="limit: quartiles")
    left.plot(scaled, middle, color="black", lw=0.8, label="limit: median")
    for b, colour, marker in zip(SCALED, COLOURS, "osD^", strict=False):
        sizes = np.array(sorted(n for of, n in runs if of == b))
        median = np.array([np.median(runs[b, n].share) for n in sizes])
        large = b**2 * sizes > 0.99
        left.plot((b**3 * sizes / (1 - b))[large], median[large], marker, color=colour, label=f"b = {short(b)}")
        right.plot(b**2 * sizes, median, "-" + marker, color=colour, label=f"b = {short(b)}")
    for ax, name in ((left, "b³n / (1 - b)"), (right, "b²n")):
        ax.set(xscale="log", xlabel=name, ylim=(0, 1.02))
    left.set_ylabel("median share of rows predicted")
    left.set_title("By b³n: one curve", loc="left")
    right.set_title("By b²n: a curve for each base rate", loc="left")
    left.set_xlim(0.008, 130)
    right.set_xlim(0.07, 6e3)
    left.legend(loc="lower right")
    return drawn


def draw_first(found: dict[str, Numbers], far: dict[int, dict[str, float]]) -> Figure:
    """How often the first cut beats predicting everything, and how often it wins; how far choices are off."""
    drawn = figure(PAGE, 2.4)
    ax, right = drawn.subplots(1, 2)
    x = found["b²n"]
    ax.plot(x, found["beats predicting all"], "-o", color=BLUE, label="beats predicting all")
    ax.plot([0, 1, 2], [1, 0, 0], "--", color=ORANGE, label="1 - b²n")
    ax.plot(x, found["chosen"], "s", color=ORANGE, label="beats all cuts")
    ax.set(xlabel="b²n", ylabel="share of runs", ylim=(-0.03, 1.05))
    ax.legend(loc="upper right")
    ax.set_title("The cut behind a positive first item", loc="left")
    right.set_title("Distance from the best share", loc="left")
    for name, colour, marker in (("F1", ORANGE, "s"), ("accuracy", BLUE, "o")):
        right.plot(list(far), [x[f"{name} off"] for x in far.values()], "-" + marker, color=colour, label=name)
    right.axvline(COMMON**-3, color=GREY, ls=":", lw=0.8)
    right.text(COMMON**-3 * 1.1, 1e-6, "1/b³", color=GREY)
    right.set(xscale="log", yscale="log", xlabel="rows", ylabel="mean distance, share of rows")
    right.legend(loc="lower left")
    return drawn


def run(options: Options) -> Results:
    """Judge what section 8 says of n and of the first item, and draw both."""
    runs = simulate_sizes(options)
    given = 2000 if options.quick else 20_000
    found = first_item(given)
    far = {n: any_cut(COMMON, n, 500 if options.quick else 4000) for n in progress(ROWS, "any threshold")}
    claims = [
        *place_claims(runs),
        sharpness_claim(runs),
        *lucky_claims(),
        *first_item_claims(found, given),
        cause_claim(options),
        any_cut_claim(far),
    ]
    numbers = {
        "median and quartiles of the share": {
            f"{b:g}": [[n, *np.quantile(r.share, [0.25, 0.5, 0.75])] for (of, n), r in sorted(runs.items()) if of == b]
            for b in SCALED
        },
        "given a positive first item": found,
        "any threshold": far,
    }
    return Results(claims, numbers, {"transition.svg": draw_transition(runs), "first_item.svg": draw_first(found, far)})


if __name__ == "__main__":
    main(__file__, run)
