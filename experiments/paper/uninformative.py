"""Theorem 5.4 and figure 7: without information it is best to predict everything, if 0/0 counts as 0.

    python experiments/paper/uninformative.py [--quick] [--output FOLDER]

- Theorem 5.4, exactly: the best expected F1 of 1 to 500 equal probabilities, with both values of 0/0, and the best
  empirical F1 of equal scores; how large a batch must be for everything to be predicted where 0/0 counts as 1.
- The proof: F1 of c of n instances, a of them positive, by enumeration, and equation (7) against differences.
- Figure 7: 1 - E(F1) of predicting everything over the base rate, in the limit and for finite batches, and the .67 of
  section 1, which is the limit.

`figure_7.svg`, left: 1 - E(F1), for batches of three sizes. Right: where predicting nothing has the higher expected F1
if 0/0 counts as 1.
"""

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from thresholds import expected_f, fit_empirical, fit_expected
from thresholds.metrics import f1_score

from claims import CLOSE, STRONGLY, Claim, Options, Results, main, progress, short, statement
from pictures import BLUE, GREEN, GREY, ORANGE, PAGE, figure, percent

Floats = npt.NDArray[np.float64]

SIZES = (1, 3, 10)  # of the batches that are drawn


def predicted_everything(base_rates: Floats, n: int, zero_division: float) -> tuple[npt.NDArray[np.bool_], Floats]:
    """For equal probabilities: whether the best expected F1 is that of predicting all n, and how high it is."""
    batch = np.tile(base_rates, (n, 1))
    rule = fit_expected(batch, "macro", exact=True, zero_division=zero_division)
    decided = rule.predict(batch)
    best = expected_f(batch, decided, average=None, zero_division=zero_division, exact=True)
    return decided.all(axis=0), np.asarray(best)


def last_size_without_predictions(base_rate: float) -> int:
    """The largest batch of equal probabilities for which it is best to predict nothing, if 0/0 counts as 1.

    Nothing is worth (1-b)^n, which falls with n; everything is worth more and more. So one size divides them.
    """
    none, all_of_them = 0, 1
    while not predicted_everything(np.array([base_rate]), all_of_them, 1.0)[0][0]:
        none, all_of_them = all_of_them, 2 * all_of_them
    while all_of_them - none > 1:
        middle = (none + all_of_them) // 2
        everything = predicted_everything(np.array([base_rate]), middle, 1.0)[0][0]
        none, all_of_them = (none, middle) if everything else (middle, all_of_them)
    return none


def theorem(sizes: npt.NDArray[np.int64], base_rates: Floats) -> tuple[list[Claim], dict[str, Any]]:
    """All batches of equal probabilities, under both conventions; and equal scores with labels."""
    everything = {zero: [] for zero in (0.0, 1.0)}
    for n in progress(sizes, "theorem 5.4"):
        for zero, of_size in everything.items():
            of_size.append(predicted_everything(base_rates, int(n), zero)[0])
    as_zero, as_one = (np.array(of_size) for of_size in everything.values())
    truth = np.arange(200)[:, None] < np.round(200 * base_rates)
    on_labels = fit_empirical(truth, np.zeros(truth.shape)).predict(np.zeros(truth.shape))
    last = last_size_without_predictions(float(base_rates[0]))
    nothing_at_most = [float(base_rates[~row].max()) if not row.all() else 0.0 for row in as_one]
    claims = [
        statement(
            "Theorem 5.4",
            "an uninformative classifier: predict everything for the highest E(F1)",
            f"if 0/0 counts as 0, in {as_zero.mean():.0%} of {as_zero.size:,} batches of {sizes[0]} to {sizes[-1]}; if"
            f" as 1, in {as_one.mean():.0%}: not for b = {short(base_rates[0])} up to"
            f" n = {last}, nor for n = 1 up to b = {short(nothing_at_most[0])}",
            holds=bool(as_zero.all() and as_one.all()),
            only_if=("0/0 counts as 0", bool(as_zero.all())),
            erratum="Theorem 5.4: predicting everything is best only if 0/0 counts as 0",
        ),
        statement(
            "Theorem 5.4",
            "… and on labels: the threshold of highest F1, if all scores are equal",
            f"everything is predicted for {int(on_labels.all(axis=0).sum())} of {len(base_rates)} base rates",
            holds=bool(on_labels.all()),
            by_construction="the only other threshold has F1 0",
        ),
    ]
    return claims, {
        "n": sizes.tolist(),
        "nothing_is_best_up_to_base_rate": nothing_at_most,
        "nothing_is_best_up_to_n": last,
    }


def proof(n: int) -> list[Claim]:
    """The steps of the proof: E(F1) given a and c, and its derivative."""
    largest = 0.0
    for a in range(1, n + 1):
        truth = np.arange(n) < a
        for c in range(1, n + 1):
            sets = np.array([np.isin(np.arange(n), chosen) for chosen in combinations(range(n), c)]).T
            mean = np.mean(f1_score(np.tile(truth[:, None], sets.shape[1]), sets, average=None))
            largest = max(largest, abs(mean - 2 * c * (a / n) / (a + c)))
    a, c, f, step = 3.0, 2.0, 0.3, 1e-6
    slope = (2 * (c + step) * f / (a + c + step) - 2 * (c - step) * f / (a + c - step)) / (2 * step)
    printed, corrected = 2 * f * (a / c + 1) ** -2 * c**-2, 2 * f * a / (a + c) ** 2
    return [
        statement(
            "Theorem 5.4, proof",
            "E(F1) = 2cf/(a + c) for c of n instances, a of them positive, f = a/n",
            f"largest difference {largest:.0g} over all sets of {n}",
            holds=largest < 1e-14,
        ),
        statement(
            "Equation (7)",
            "the derivative of E(F1) by c is 2f(a/c + 1)⁻² c⁻²",
            f"{short(slope)} by differences at a = 3, c = 2, f = .3, printed {short(printed)}, 2fa/(a + c)² ="
            f" {short(corrected)}",
            holds=bool(np.isclose(slope, printed, rtol=1e-6)),
            right=("2fa/(a + c)²", bool(np.isclose(slope, corrected, rtol=1e-6))),
            erratum="Equation (7): the derivative lacks the factor a",
        ),
    ]


def gap_to_perfect(base_rates: Floats) -> tuple[list[Claim], dict[str, Floats]]:
    """1 - E(F1) of predicting everything: exact for finite batches, and in the limit."""
    gaps = {f"n = {n}": 1 - predicted_everything(base_rates, n, 0.0)[1] for n in SIZES}
    gaps["limit"] = 1 - 2 * base_rates / (1 + base_rates)
    balanced = {n: expected_f(np.full(n, 0.5), np.ones(n, int), exact=True) for n in (1, 2, 10, 100, 1000)}
    of_all = {b: expected_f(np.full(1000, b), np.ones(1000, int), exact=True) for b in (0.01, 0.99)}
    rounded = "Sections 1, 5.2 and 6.2: figures rounded too early, or taken from the limit"
    claims = [
        statement(
            "Figure 7",
            "1 - E(F1) without information depends strongly on the base rate (by more than half of the range of F1)",
            f"from {short(gaps['limit'][0])} at b = {short(base_rates[0])} to {short(gaps['limit'][-1])} at"
            f" b = {short(base_rates[-1])}, falling all along, for n = 1, 3, 10 and in the limit",
            holds=all(bool((np.diff(gap) < 0).all() and np.ptp(gap) > STRONGLY) for gap in gaps.values()),
        ),
        statement(
            "Section 5.3",
            "E(F1) is close to 0 for low base rates, to 1 for high ones (within .05, at .01 and .99)",
            f"{short(of_all[0.01])} at b = .01, {short(of_all[0.99])} at b = .99 (n = 1000)",
            holds=of_all[0.01] < CLOSE and of_all[0.99] > 1 - CLOSE,
        ),
        statement(
            "Section 1",
            "predicting everything for balanced classes has an expected F1 of .67",
            ", ".join(f"{short(value)} for n = {n}" for n, value in balanced.items()),
            printed=".67",
            holds=all(abs(value - 0.67) <= 0.005 for value in balanced.values()),
            only_if=("n is large", abs(balanced[1000] - 0.67) <= 0.005),
            erratum=rounded,
        ),
    ]
    return claims, gaps


def draw(base_rates: Floats, gaps: dict[str, Floats], edge: dict[str, Any]) -> Figure:
    """Figure 7, and the other convention."""
    drawn = figure(PAGE, 2.5)
    left, right = drawn.subplots(1, 2)
    styles = zip(gaps.items(), (ORANGE, GREEN, BLUE, GREY), (":", "-.", "--", "-"), strict=True)
    for (name, gap), colour, style in styles:
        left.plot(base_rates, gap, color=colour, linestyle=style, label=name)
    left.set(xlabel="base rate b", ylabel="1 − E(F1), everything predicted", xlim=(0, 1), ylim=(0, 1.02))
    percent(left)
    left.legend()
    left.set_title("Figure 7: distance from a perfect F1", loc="left")
    sizes = np.array(edge["n"])
    right.fill_between(sizes, edge["nothing_is_best_up_to_base_rate"], color=BLUE, alpha=0.25, linewidth=0)
    right.plot(sizes, edge["nothing_is_best_up_to_base_rate"], color=BLUE)
    right.text(1.3, 0.08, "predict nothing", color=BLUE)
    right.text(12, 0.35, "predict everything")
    right.set(xscale="log", xlabel="instances in the batch", ylabel="base rate b", xlim=(1, sizes.max()), ylim=(0, 0.6))
    percent(right, "y")
    right.set_title("Best expected F1 where 0/0 counts as 1", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge theorem 5.4 and draw figure 7."""
    base_rates = np.linspace(0.01, 0.99, 50 if options.quick else 197)
    sizes = np.unique(np.geomspace(1, 200 if options.quick else 500, 8 if options.quick else 60).astype(int))
    claims, edge = theorem(sizes, base_rates)
    gap_claims, gaps = gap_to_perfect(base_rates)
    claims += [*proof(5 if options.quick else 9), *gap_claims]
    numbers = {"base_rate": base_rates, "one_minus_f1": gaps, "zero_division_1": edge}
    return Results(claims, numbers, {"figure_7.svg": draw(base_rates, gaps, edge)})


if __name__ == "__main__":
    main(__file__, run)
