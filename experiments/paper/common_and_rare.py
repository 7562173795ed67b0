"""Sections 2.1 and 6: micro-F1 washes rare labels out, macro-F1 is made by them.

    python experiments/paper/common_and_rare.py [--quick] [--output FOLDER]

- 2.1: how often true positives count in micro-F1.
- 6.1: what a perfect rare label does to micro-F1, as a formula and by counting, and what predicting it everywhere does
  to false positives.
- 6.2: two labels, base rates 1/2 and 1/10, without information, and with either of them made perfect.
- 6.3: a label without information beside others, at many base rates: is it predicted nowhere by micro-F1, everywhere by
  macro-F1?

`section_6.svg`, left: the best macro- and micro-F1 of the two labels of 6.2. Right: where the joint optimum of micro-F1
predicts a label without information, by its base rate and the micro-F1 that is reached without it.
"""

from itertools import product

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from thresholds import fit_empirical
from thresholds.metrics import confusion_counts, f1_score

from claims import Claim, Options, Results, main, printed_number, short, statement
from pictures import BLUE, GREY, ORANGE, PAGE, figure, percent

Column = npt.NDArray[np.int64]

NOWHERE = "Section 6.3: micro-F1 predicts an uninformative label nowhere iff 2b is at most the micro-F1 reached"
RARE = 0.1  # base rate of section 6.2's rare label


def column(n: int, start: int, stop: int) -> Column:
    """Ones from one row to another, among n."""
    rows = np.arange(n)
    return ((start <= rows) & (rows < stop)).astype(np.int64)


def true_positives_twice() -> Claim:
    """Section 2.1, on one label with as many true positives as false positives and as false negatives."""
    truth, decided = column(30, 0, 20), column(30, 10, 30)
    tp, fp, fn = (int(np.sum(x)) for x in (truth & decided, decided > truth, truth > decided))
    doubled, all_doubled = (2 * (2 * tp) / (2 * (2 * tp) + factor * (fp + fn)) for factor in (1, 2))
    found = f1_score(np.c_[truth], np.c_[decided], average="micro")
    return statement(
        "Section 2.1",
        "micro-F1 takes tp = 2 ΣΣ 1(P = 1) 1(G = 1) into equation (1), and fp and fn analogously",
        f"for tp = fp = fn, {short(doubled)} with the factor in tp alone, {short(all_doubled)} with it in all three;"
        f" micro-F1 is {short(found)}",
        holds=bool(np.isclose([doubled, all_doubled], found).all()),
        only_if=("fp and fn have the factor 2, too", bool(np.isclose(all_doubled, found))),
        erratum="Section 2.1: true positives of micro-F1 carry a factor 2 too many",
    )


def washed_out(quick: bool) -> tuple[list[Claim], dict[str, float]]:
    """Section 6.1: the ratio of micro-F1 with a perfect rare label to micro-F1 without any of it."""
    n, rare = 1000, 10
    sizes = (1, 30, 300) if quick else (1, 3, 10, 30, 100, 300)
    largest_error, smallest, by_hits = 0.0, np.inf, {}
    sums, grown = [], []  # a + c beside the sum of base rates; what fp grows by and what micro-F1 falls to, of before
    for tp, fp, fn in product(sizes, (0, 30, 300), (0, 30, 300)):
        truth, decided = column(n, 0, tp + fn), column(n, fn, fn + tp + fp)
        rare_truth = column(n, 0, rare)
        perfect, none = (
            f1_score(np.c_[truth, rare_truth], np.c_[decided, rare_decided], average="micro")
            for rare_decided in (rare_truth, 0 * rare_truth)
        )
        a_and_c = truth.sum() + decided.sum()
        formula = (1 + rare / tp) / (1 + rare / (a_and_c + rare))
        largest_error = max(largest_error, abs(perfect / none / formula - 1))
        smallest = min(smallest, perfect / none)
        by_hits[tp] = max(by_hits.get(tp, 0.0), perfect / none)
        sums.append((int(a_and_c), float(truth.mean())))
        before, after = (np.c_[decided, rare_decided] for rare_decided in (0 * rare_truth, 0 * rare_truth + 1))
        fp = [int(confusion_counts(np.c_[truth, rare_truth], x).pooled().fp[0]) for x in (before, after)]
        of_all = f1_score(np.c_[truth, rare_truth], after, average="micro")
        grown.append((fp[1] - fp[0], of_all / none))
    erratum = "Section 6.1: the ratio is close to 1 rather than small, and only if bn is small against tp"
    most_hits = max(by_hits)
    claims = [
        statement(
            "Section 6.1",
            "F1′/F1″ = (1 + bn/tp) / (1 + nb/(a + c + bn))",
            f"largest relative error {largest_error:.0g} in {9 * len(sizes)} cases",
            holds=largest_error < 1e-12,
        ),
        statement(
            "Section 6.1",
            "a + c ≤ Σ bᵢ",
            f"a + c is at most Σ bᵢ in {sum(x <= b for x, b in sums)} of {len(sums)} cases, at least n Σ bᵢ in"
            f" {sum(x >= n * b for x, b in sums)}",
            holds=all(x <= b for x, b in sums),
            right=("a + c ≥ a = n Σ bᵢ", all(x >= n * b for x, b in sums)),
            erratum=erratum,
        ),
        statement(
            "Section 6.1",
            "if b is far below Σ bᵢ, the ratio is small: a rare label is washed out (below 1; near 1: to a tenth)",
            f"between {short(smallest)} and {short(by_hits[most_hits])} where tp is {most_hits / rare:g} bn,"
            f" up to {short(by_hits[1])} where tp = 1",
            holds=max(by_hits.values()) < 1,
            right=("near 1, if bn is far below tp", smallest >= 1 and by_hits[most_hits] < 1.1),
            erratum=erratum,
        ),
        statement(
            "Section 6.1",
            "predicting all positive for a rare label will increase fp by a large amount β = n - ε (ε = bn)",
            f"by {' or '.join(map(str, sorted({more for more, _ in grown})))} of n = {n} rows where ε = {rare}, in"
            f" {len(grown)} cases; micro-F1 becomes {short(min(x for _, x in grown))} to"
            f" {short(max(x for _, x in grown))} times what it is without",
            holds=all(more == n - rare for more, _ in grown),
            by_construction="what is predicted and not positive is a false positive",
        ),
    ]
    return claims, {str(tp): ratio for tp, ratio in by_hits.items()}


def made_by_rare(n: int = 1000) -> tuple[list[Claim], dict[str, dict[str, float]]]:
    """Section 6.2: two labels of which none, the rare one or the common one is known."""
    truth = np.c_[column(n, 0, n // 2), column(n, 0, n // 10)]
    nothing_known = np.zeros(truth.shape)
    scores = {
        "neither": nothing_known,
        "rare perfect": np.c_[nothing_known[:, 0], truth[:, 1]],
        "common perfect": np.c_[truth[:, 0], nothing_known[:, 1]],
    }
    f1 = {
        average: {name: fit_empirical(truth, s, average).objective for name, s in scores.items()}
        for average in ("macro", "micro")
    }
    alone = f1_score(truth, np.ones_like(truth), average=None)
    rounded = "Sections 1, 5.2 and 6.2: figures rounded too early, or taken from the limit"
    claims = [
        printed_number("Section 6.2", "F1 of a trivial classifier at base rate .5", ".67", alone[0]),
        printed_number("Section 6.2", "F1 of a trivial classifier at base rate .1", ".18", alone[1]),
        printed_number("Section 6.2", "macro-F1 of both", ".42", f1["macro"]["neither"]),
        printed_number(
            "Section 6.2", "… if the rare one is perfect", ".84", f1["macro"]["rare perfect"], erratum=rounded
        ),
        printed_number("Section 6.2", "… if the common one is perfect", ".59", f1["macro"]["common perfect"]),
    ]
    return claims, f1


def beside(hits: int, b: float, n: int = 1000) -> tuple[dict[str, float], float]:
    """The share of rows on which a label with equal scores is predicted, and the best micro-F1 without predicting it.

    These are two labels with n / 20 positives each; as many rows stand out, and that many hits are among them.
    """
    positives = n // 20
    truth, score = column(n, 0, positives), column(n, positives - hits, 2 * positives - hits)
    y_true, y_score = np.c_[truth, truth, column(n, 0, round(b * n))], np.c_[score, score, 0 * score]
    decided = {average: fit_empirical(y_true, y_score, average).predict(y_score) for average in ("micro", "macro")}
    share = {average: float(rows[:, 2].mean()) for average, rows in decided.items()}
    without = fit_empirical(y_true[:, :2], y_score[:, :2], "micro").predict(y_score[:, :2])
    return share, f1_score(y_true, np.c_[without, 0 * score], average="micro")


def nowhere_and_everywhere(quick: bool) -> tuple[list[Claim], list[dict[str, float]]]:
    """Section 6.3: base rates of a label without information, against what the other labels reach."""
    rates = np.r_[0.01, 0.02, 0.05, 0.1, 0.3] if quick else np.r_[0.01:0.1:0.01, 0.1:0.52:0.02]
    cases = []
    for hits, b in product(range(5, 51, 15 if quick else 3), rates):
        share, without = beside(hits, float(b))
        cases.append({"base_rate": float(b), "micro_f1": without, **share})
    rare = [case for case in cases if case["base_rate"] <= RARE]
    beyond = [case for case in rare if 2 * case["base_rate"] > case["micro_f1"] + 1e-9]
    below = [case for case in rare if 2 * case["base_rate"] < case["micro_f1"] - 1e-9]
    known = all((case["micro"] > 0) == (case in beyond) for case in [*beyond, *below])
    claims = [
        statement(
            "Section 6.3",
            "for a rare label with an uninformative classifier, micro-F1 is optimized by predicting all negative",
            f"base rates of {RARE:.0%} at most: predicted nowhere in {sum(case['micro'] == 0 for case in below)} of"
            f" {len(below)} cases with 2b below the micro-F1 without it, somewhere in"
            f" {sum(case['micro'] > 0 for case in beyond)} of {len(beyond)} above (the other labels are poor, too)",
            holds=all(case["micro"] == 0 for case in rare),
            only_if=("2b is at most the micro-F1 reached", known),
            erratum=NOWHERE,
        ),
        statement(
            "Section 6.3",
            "while macro-F1 is optimized by predicting all positive",
            f"on all rows in {sum(case['macro'] == 1 for case in rare)} of {len(rare)} cases",
            holds=all(case["macro"] == 1 for case in rare),
            by_construction="its scores are equal, and the only other threshold has F1 0",
        ),
    ]
    return claims, cases


def draw(f1: dict[str, dict[str, float]], cases: list[dict[str, float]]) -> Figure:
    """Section 6.2 on the left, 6.3 on the right."""
    drawn = figure(PAGE, 2.5)
    left, right = drawn.subplots(1, 2)
    names = list(f1["macro"])
    for shift, (average, colour) in zip((-0.2, 0.2), (("macro", ORANGE), ("micro", BLUE)), strict=True):
        bars = left.bar(np.arange(3) + shift, f1[average].values(), 0.38, color=colour, label=f"{average}-F1")
        left.bar_label(bars, [f"{value:.2f}" for value in f1[average].values()], fontsize=7)
    left.set_xticks(range(3), names)
    left.set(ylabel="best F1 of the two labels", ylim=(0, 1.19))
    left.legend(loc="upper left", ncols=2)
    left.set_title("Base rates .5 and .1: which label is known?", loc="left")
    for predicted, colour, marker in ((1, ORANGE, "s"), (0, BLUE, "o")):
        points = [case for case in cases if case["micro"] == predicted]
        name = "everywhere" if predicted else "nowhere"
        x, y = ([case[key] for case in points] for key in ("micro_f1", "base_rate"))
        right.plot(x, y, linestyle="none", marker=marker, markersize=2.5, color=colour, label=f"predicted {name}")
    right.axline((0, 0), slope=0.5, color=GREY, linestyle=":")
    right.annotate("b = F1/2", (0.7, 0.35), (0.82, 0.37), color=GREY, backgroundcolor="white", fontsize=7)
    right.set(xlim=(0, 1), ylim=(0, 0.62), xlabel="micro-F1 without predicting it")
    right.set_ylabel("base rate b")
    percent(right, "y")
    right.legend(loc="upper left", ncols=2)
    right.set_title("Micro-F1 and a label without information", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge sections 2.1 and 6."""
    ratio, by_hits = washed_out(options.quick)
    two_labels, f1 = made_by_rare()
    rare, cases = nowhere_and_everywhere(options.quick)
    by_column = {key: [case[key] for case in cases] for key in cases[0]}
    numbers = {"largest_ratio_by_tp": by_hits, "two_labels": f1, "label_without_information": by_column}
    claims = [true_positives_twice(), *ratio, *two_labels, *rare]
    return Results(claims, numbers, {"section_6.svg": draw(f1, cases)})


if __name__ == "__main__":
    main(__file__, run)
