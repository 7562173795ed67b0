"""Figures 2 to 5 and section 4: F1 is concave in true positives, convex in true negatives, and not symmetric.

    python experiments/paper/surfaces.py [--quick] [--output FOLDER]

- Equation (1) against the harmonic mean of precision and recall, and the two degrees of freedom that a fixed base rate
  leaves (figure 2).
- Marginal returns by second differences over all counts: F1 in tp (figure 3), accuracy in tp (figure 4), F1 in tn
  (figure 5).
- Sections 1 and 4: F1 and accuracy of decisions and truth against those of their complements.

`figures_2_to_5.svg`: as in the paper, all at a base rate of 25 %; figure 2 as contours of the surface. Axes are shares
of all rows; lines have equal steps of the count that is held.
"""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thresholds.metrics import accuracy_score, confusion_counts, f1_score

from claims import Claim, Options, Results, main, printed_number, short, statement
from pictures import COLOURS, MAP, PAGE, figure, percent

Values = npt.NDArray[np.float64]

BASE_RATE = 0.25
CAPTIONS = "Figures 4 and 5: fp is held, not tp, and returns increase only where something is hit"


def f1(tp: Values, fp: Values, positives: float) -> Values:
    """Equation (1), with fn = positives - tp."""
    return 2 * tp / (tp + fp + positives)


def accuracy(tp: Values, fp: Values, positives: float, n: float) -> Values:
    """Equation (2)."""
    return (tp + n - positives - fp) / n


def two_degrees_of_freedom(n: int, draws: int) -> list[Claim]:
    """Random decisions about one truth: are all entries and F1 functions of tp and fp?"""
    rng = np.random.default_rng(2)
    truth = np.tile(rng.random((n, 1)) < BASE_RATE, draws)
    decided = rng.random((n, draws)) < rng.random(draws)
    counts = confusion_counts(truth, decided)
    positives = truth[:, 0].sum()
    from_two = np.array([positives - counts.tp, n - positives - counts.fp])
    hit = counts.tp > 0
    p, r = counts.precision()[hit], counts.recall()[hit]
    error = np.abs(f1(counts.tp, counts.fp, positives)[hit] - 2 / (1 / r + 1 / p))
    return [
        statement(
            "Section 4, figure 2",
            "for a fixed number of positives only two entries of the confusion matrix vary independently",
            f"fn and tn are functions of tp and fp in {draws} of {draws} random decisions"
            if (agree := bool((from_two == [counts.fn, counts.tn]).all()))
            else "they are not",
            holds=agree,
            by_construction="tp + fn and fp + tn are what is fixed",
        ),
        statement(
            "Equation (1)",
            "the harmonic mean of precision and recall is F1 = 2tp / (2tp + fp + fn)",
            f"largest difference {error.max():.0g} in {hit.sum()} random decisions with hits",
            holds=bool(error.max() < 1e-14),
        ),
    ]


def marginal_returns(n: int) -> list[Claim]:
    """Second differences along each line, over all counts at the base rate."""
    positives = round(BASE_RATE * n)
    tp, fp = np.meshgrid(np.arange(positives + 1.0), np.arange(n - positives + 1.0), indexing="ij")
    in_tp = np.diff(f1(tp, fp, positives), 2, axis=0)
    of_accuracy = np.diff(accuracy(tp, fp, positives, n), 2, axis=0)
    in_tn = np.diff(f1(tp, fp, positives)[:, ::-1], 2, axis=1)  # fn is positives - tp, tn rises as fp falls
    some = tp[:, 2:] > 0
    share = in_tn[some] > 0
    return [
        statement(
            "Figure 3",
            "with base rate and fp constant, F1 is concave in tp: diminishing returns",
            f"all of {in_tp.size:,} second differences are negative" if (in_tp < 0).all() else "not everywhere",
            holds=bool((in_tp < 0).all()),
        ),
        statement(
            "Figure 4",
            "accuracy for fixed base rate and tp is linear as a function of tp",
            f"second differences at most {np.abs(of_accuracy).max():.0g} where fp is held; where tp is,"
            f" it takes {len(np.unique(tp[0]))} value",
            holds=len(np.unique(tp[0])) > 2,
            right=("for fixed base rate and fp", bool(np.abs(of_accuracy).max() < 1e-15)),
            by_construction="nothing is a function of what is held",
            erratum=CAPTIONS,
        ),
        statement(
            "Equation (2)",
            "accuracy is a linear function of tp and tn",
            f"second differences in tn at most {np.abs(np.diff(accuracy(tp, fp, positives, n), 2, axis=1)).max():.0g}",
            holds=bool(np.abs(np.diff(accuracy(tp, fp, positives, n), 2, axis=1)).max() < 1e-15),
            by_construction="(2) is their sum over a constant",
        ),
        statement(
            "Figure 5",
            "with base rate and fn constant, F1 is convex in tn: increasing returns",
            f"second differences are positive in {share.mean():.0%} of {share.size:,} cases with tp > 0, and"
            f" {np.abs(in_tn[~some]).max():g} for tp = 0",
            holds=bool(share.all() and (in_tn[~some] > 0).all()),
            only_if=("anything is hit: where tp = 0, F1 is 0 at any tn", bool(share.all())),
            erratum=CAPTIONS,
        ),
    ]


def complements(n: int) -> list[Claim]:
    """Truth and decisions against the complements of both."""
    half, everything = np.arange(n) < n // 2, np.ones(n, bool)
    all_but_one = np.arange(n) > 0
    both = [f1_score(all_but_one, everything), f1_score(~all_but_one, ~everything)]
    rng = np.random.default_rng(4)
    pairs = [(rng.random(n) < a, rng.random(n) < c) for a in (0.1, 0.5, 0.9) for c in (0.2, 0.5, 0.8)]
    gaps = {
        name: [abs(score(y, h) - score(~y, ~h)) for y, h in pairs]
        for name, score in (("F1", f1_score), ("accuracy", accuracy_score))
    }
    return [
        printed_number(
            "Section 1",
            "F1 of predicting everything, balanced classes",
            ".67",
            f1_score(half, everything),
            erratum="Sections 1, 5.2 and 6.2: figures rounded too early, or taken from the limit",
        ),
        printed_number(
            "Section 1", "F1 of predicting nothing, balanced classes", "0", f1_score(half, ~everything), exact=True
        ),
        *(
            printed_number("Section 1", f"accuracy of predicting {name}", ".5", accuracy_score(half, row), exact=True)
            for name, row in (("everything", everything), ("nothing", ~everything))
        ),
        statement(
            "Section 4",
            "F1 of the complements of truth and decisions can be arbitrarily different (by more than 1 - 2/n)",
            f"{short(both[0])} against {short(both[1])} for {n:,} rows, all but one positive, all predicted;"
            f" {short(min(gaps['F1']))} to {short(max(gaps['F1']))} apart in {len(pairs)} random cases",
            holds=abs(both[0] - both[1]) > 1 - 2 / n,
        ),
        statement(
            "Section 4",
            "accuracy of the complements is the same",
            f"at most {max(gaps['accuracy']):.0g} apart in the same cases",
            holds=max(gaps["accuracy"]) < 1e-15,
            by_construction="a row is right iff its complement is",
        ),
    ]


def lines(ax: Axes, x: Values, held: Values, curves: list[Values], name: str) -> None:
    """One line for each held count, labelled at its end."""
    for k, (value, curve) in enumerate(zip(held, curves, strict=True)):
        style = ("-", "--", "-.", ":")[k % 4]
        ax.plot(x, curve, color=COLOURS[k], linestyle=style, label=f"{100 * value:g} %")
    ax.legend(title=name, title_fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), handlelength=2.2)
    percent(ax)
    ax.set_ylim(0, 1.02)


def draw() -> Figure:
    """The four figures, as shares of all rows."""
    drawn = figure(PAGE, 4.6)
    (two, three), (four, five) = drawn.subplots(2, 2)
    tp, negatives = np.linspace(0, BASE_RATE, 101), 1 - BASE_RATE
    fp = np.linspace(0, negatives, 101)
    surface = f1(*np.meshgrid(tp, fp), BASE_RATE)
    filled = two.contourf(tp, fp, surface, np.linspace(0, 1, 11), cmap=MAP)
    bar = drawn.colorbar(filled, ax=two, label="F1", ticks=np.linspace(0, 1, 6))
    bar.outline.set_visible(False)
    two.set(xlabel="true positives (share of rows)", ylabel="false positives (share of rows)")
    percent(two)
    percent(two, "y")
    two.set_title("Figure 2: F1 by tp and fp", loc="left")
    held = np.array([0, 0.05, 0.15, 0.3, 0.5, 0.75])
    lines(three, tp, held, [f1(tp, v, BASE_RATE) for v in held], "fp held at")
    three.set(xlabel="true positives (share of rows)", ylabel="F1")
    three.set_title("Figure 3: F1, diminishing returns", loc="left")
    lines(four, tp, held, [accuracy(tp, v, BASE_RATE, 1) for v in held], "fp held at")
    four.set(xlabel="true positives (share of rows)", ylabel="accuracy")
    four.set_title("Figure 4: accuracy, linear", loc="left")
    tn, missed = np.linspace(0, negatives, 101), np.array([0, 0.05, 0.1, 0.15, 0.2, 0.24])
    lines(five, tn, missed, [f1(BASE_RATE - v, negatives - tn, BASE_RATE) for v in missed], "fn held at")
    five.set(xlabel="true negatives (share of rows)", ylabel="F1")
    five.set_title("Figure 5: F1, increasing returns", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge section 4 and draw figures 2 to 5."""
    n = 80 if options.quick else 400
    claims = [*two_degrees_of_freedom(n, n), *marginal_returns(n), *complements(1_000 if options.quick else 100_000)]
    return Results(claims, {"base_rate": BASE_RATE, "n": n}, {"figures_2_to_5.svg": draw()})


if __name__ == "__main__":
    main(__file__, run)
