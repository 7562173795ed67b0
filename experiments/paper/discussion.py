"""Sections 9 and 10: which labels macro skill leaves to chance, where F1 goes to extremes, and what AUROC adds.

    python experiments/paper/discussion.py [FILE ...] [--quick] [--output FOLDER]

- 9 and 10: which labels lose macro skill if they are predicted on every row (or on none, where most are positive)
  instead of at their most accurate cut, of simulated scores of many base rates and qualities, and of score files.
- 10: whether F1 says less than precision and recall; AUROC of trivial scores at all base rates.
- 10, on score files, rules fitted on one half of the rows and judged on the other: rare labels whose scores say
  nothing (below 2 %, not shown better than chance on the fitted half, p > .05) under macro- and micro-F1; which labels
  are predicted over three times too often; what AUROC loses when scores become decisions.

`macro_skill.svg`, left: the hits that outnumber the false alarms at the most accurate cut of each simulated label, for
each positive; where there are none, macro skill is the same at every threshold. Right: the share of such labels in each
score matrix, over the median base rate of its labels.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from thresholds import diagnose, fit_empirical
from thresholds.metrics import auroc, confusion_counts, macro_skill_score, skill_score

from claims import Claim, Options, Results, dense, main, progress, short, statement
from pictures import BLUE, COLOURS, PAGE, figure

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[Any]

VERY_RARE, CHANCE, LEVEL = 0.02, 0.5, 0.05  # base rate; AUROC of trivial scores; level of a test against it
TOO_OFTEN = 3  # times as often predicted as true
RADICALLY = 10  # times as often predicted: an order of magnitude
LARGE = 10_000  # rows of simulated labels
APART, RATES = (0.0, 0.5, 1.0, 2.0, 3.0), (0.3, 0.1, 0.05, 0.02, 0.01)  # of simulated labels
BASE_RATES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
OPEN = "Section 9: where no cut has precision above 1/2, skill is 0 at every threshold"


def at_most_accurate_cuts(truth: Cells, scores: Cells) -> tuple[Cells, Cells]:
    """Decisions at each label's cut of highest accuracy, and by how many rows that beats the majority class."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=0)
    # Hits minus false alarms of predicting so many rows, on which accuracy depends; no cut lies between equal scores.
    lead = np.cumsum(2 * np.take_along_axis(truth, order, axis=0).astype(np.int64) - 1, axis=0)
    lead[:-1][ordered[1:] == ordered[:-1]] = -len(truth)
    at = np.argmax(lead, axis=0)[None]
    most = np.maximum(np.take_along_axis(lead, at, axis=0)[0], 0)
    cuts = np.where(most > 0, np.take_along_axis(ordered, at, axis=0)[0], np.inf)
    of_majority = np.maximum(2 * truth.sum(axis=0, dtype=np.int64) - len(truth), 0)
    return (scores >= cuts).astype(np.uint8), most - of_majority


@dataclass(frozen=True)
class Everywhere:
    """Labels with both classes, at their most accurate cuts, and with the minority class on every row."""

    unharmed: Cells  # labels that lose no skill by that
    lead: Cells  # rows by which the most accurate cut beats the majority class
    base: Cells
    skill: tuple[float, float]  # macro skill at the cuts, and with the minority class of unharmed labels on every row
    cells: tuple[float, float]  # the share predicted in both cases
    uncut: float  # the least that an unharmed label would lose had skill no cut at 0
    none_at_half: float  # the share of the labels that have no skill at the threshold .5

    @classmethod
    def of(cls, truth: Cells, scores: Cells) -> "Everywhere":
        """Give every row the minority class where nothing is lost by it."""
        both = truth.any(axis=0) & ~truth.all(axis=0)
        truth, scores = truth[:, both], scores[:, both]
        decided, lead = at_most_accurate_cuts(truth, scores)
        base = truth.mean(axis=0)
        minority = np.tile(base <= 0.5, (len(truth), 1)).astype(np.uint8)
        unharmed = np.asarray(skill_score(truth, minority) >= skill_score(truth, decided))
        right = [confusion_counts(truth, x).accuracy() for x in (decided, minority)]
        uncut = (right[0] - right[1]) / np.minimum(base, 1 - base)
        mixed = np.where(unharmed, minority, decided)
        skill, cells = zip(*((macro_skill_score(truth, x), float(x.mean())) for x in (decided, mixed)), strict=True)
        at_half = float(np.mean(skill_score(truth, scores >= 0.5) == 0))
        return cls(unharmed, lead, base, skill, cells, float(uncut[unharmed].min(initial=np.inf)), at_half)

    @property
    def share(self) -> float:
        """Of the labels, those unharmed."""
        return float(self.unharmed.mean())


def simulated_labels(n: int) -> tuple[Cells, Floats]:
    """Truth and probabilities of normal scores some deviations apart, for each base rate."""
    rng = np.random.default_rng(9)
    b, apart = np.array(list(product(RATES, APART))).T
    truth = (np.arange(n)[:, None] < np.round(b * n)).astype(np.int64)
    scores = apart * truth + rng.normal(size=truth.shape)
    return truth, 1 / (1 + (1 - b) / b * np.exp(apart**2 / 2 - apart * scores))


def incentives(source: str, cases: dict[str, Everywhere], *, of_files: bool = False) -> Claim:
    """Sections 9 and 10: macro skill alters no incentive if every label loses by its minority class everywhere."""
    shares = [case.share for case in cases.values()]
    most = max(cases, key=lambda name: cases[name].share)
    known = all(np.array_equal(case.unharmed, case.lead <= 0) for case in cases.values())
    change = max(abs(case.skill[1] - case.skill[0]) for case in cases.values())
    at_half = [case.none_at_half for case in cases.values()]
    found = f"{span(shares)} of the labels" + (f" (median {short(float(np.median(shares)))})" if len(cases) > 1 else "")
    found += " lose no skill if predicted on every row instead of at their most accurate cut: all of them so predicted,"
    found += f" macro skill changes by {short(change)}, the cells predicted from {cases[most].cells[0]:.1%} to"
    found += f" {cases[most].cells[1]:.0%}" + (f" ({most})" if len(cases) > 1 else "")
    if max(shares) > 0:
        found += f"; without the cut at 0 each would lose {short(min(case.uncut for case in cases.values()))} or more"
    found += f"; cut at .5, {span(at_half)} of the labels have no skill"
    return statement(
        source,
        "macro skill does not alter threshold incentives (every label loses skill if its rarer class is on every row)",
        found,
        holds=max(shares) == 0,
        only_if=("some cut of every label is more accurate than its majority class", known),
        erratum=OPEN,
        of_files=of_files,
    )


def span(values: list[float]) -> str:
    """The lowest and the highest."""
    return " to ".join(dict.fromkeys((short(min(values)), short(max(values)))))


def more_informative(most: int) -> Claim:
    """Section 10: do precision and recall tell F1, and F1 them? On all counts with hits."""
    counts = np.array(list(product(range(1, most + 1), range(most + 1), range(most + 1))))
    tp, fp, fn = counts.T
    # Quotients of whole numbers this small are equal iff they are equal as floats.
    pairs = np.column_stack([tp / (tp + fp), tp / (tp + fn)])
    values = 2 * tp / (2 * tp + fp + fn)
    of_pairs, of_f1 = (len(np.unique(x, axis=0)) for x in (pairs, values))
    together = len(np.unique(np.column_stack([pairs, values]), axis=0))
    return statement(
        "Section 10",
        "precision and recall are more informative than F1 alone (they tell it, it does not tell them)",
        f"{of_pairs:,} pairs of precision and recall have {of_f1:,} values of F1, {together:,} triples in all,"
        f" of {len(counts):,} counts",
        holds=together == of_pairs > of_f1,
    )


def trivial_auroc(n: int, draws: int) -> Claim:
    """Section 10: equal and random scores, at every base rate; four standard errors of all draws together."""
    rng = np.random.default_rng(0)
    truth = (np.arange(n)[:, None] < np.round(BASE_RATES * n)).astype(np.int64)
    equal = auroc(truth, np.zeros(truth.shape))
    random = np.mean([auroc(truth, rng.random(truth.shape)) for _ in progress(range(draws), "draws")], axis=0)
    positives = truth.sum(axis=0)
    error = np.sqrt((n + 1) / (12 * positives * (n - positives)) / draws)
    return statement(
        "Section 10",
        "a trivial classifier has AUROC .5 at any base rate",
        f"equal scores {short(equal.min())} to {short(equal.max())}, random scores {short(random.min())} to"
        f" {short(random.max())} in the mean (within {np.max(np.abs(random - 0.5) / error):.1f} standard errors)",
        printed=".5",
        holds=bool(np.all(equal == CHANCE) and np.all(np.abs(random - CHANCE) < 4 * error)),
    )


@dataclass(frozen=True)
class Rules:
    """What the rules for macro- and micro-F1, fitted on one half of a file, predict on the other."""

    positives: Cells
    predicted: dict[str, Cells]  # rows, of each label
    unknown: Cells  # labels that are rare on the fitted half, with scores not shown better than chance
    extreme: Cells  # labels below the median both in base rate and in AUROC
    ranks: tuple[float, float]  # mean AUROC of scores, and of the macro rule's decisions

    @classmethod
    def of(cls, truth: tuple[Cells, Cells], scores: tuple[Cells, Cells]) -> "Rules":
        """Fit both rules and judge them."""
        rules = {average: fit_empirical(truth[0], scores[0], average) for average in ("macro", "micro")}
        decided = {average: rule.predict(scores[1]) for average, rule in rules.items()}
        tested = diagnose(truth[0], scores[0], rules["macro"]).table["p_informative"]
        base, ranks = truth[1].mean(axis=0), np.asarray(auroc(truth[1], scores[1]))
        return cls(
            truth[1].sum(axis=0, dtype=np.int64),
            {average: x.sum(axis=0, dtype=np.int64) for average, x in decided.items()},
            (truth[0].mean(axis=0) < VERY_RARE) & truth[0].any(axis=0) & (tested > LEVEL),
            (base < np.median(base)) & (ranks < np.nanmedian(ranks)),
            (float(np.nanmean(ranks)), float(np.nanmean(auroc(truth[1], decided["macro"].astype(float))))),
        )

    def too_often(self, average: str) -> Cells:
        """Labels with positives that are predicted over three times as often."""
        return (self.positives > 0) & (self.predicted[average] > TOO_OFTEN * self.positives)


def extremes(files: dict[str, Rules]) -> list[Claim]:
    """Section 10: thresholds at the extremes, under macro- and micro-F1; and what decisions lose of AUROC."""
    some, labels = list(files.values()), sum(int(x.unknown.sum()) for x in files.values())
    rare = {a: sum(int(x.predicted[a][x.unknown].sum()) for x in some) for a in ("macro", "micro")}
    true = sum(int(x.positives[x.unknown].sum()) for x in some)
    often = {a: [int(x.too_often(a).sum()) for x in some] for a in ("macro", "micro")}
    at_extremes = sum(int(np.sum(x.too_often("macro") & x.extreme)) for x in some)
    fewer = sum(one < other for one, other in zip(often["micro"], often["macro"], strict=True))
    more = sum(one > other for one, other in zip(often["micro"], often["macro"], strict=True))
    lost = [x.ranks[0] - x.ranks[1] for x in some]
    return [
        statement(
            "Section 10",
            "macro-F1 radically alters the thresholds of rare labels with uninformative classifiers (ten times as many"
            " predictions as under micro-F1)",
            f"{labels} labels below 2 % not shown better than chance: predicted {rare['macro']:,} times by the rule for"
            f" macro-F1, {rare['micro']:,} times by that for micro-F1; true {true:,} times",
            holds=rare["macro"] >= RADICALLY * max(rare["micro"], 1),
            absent=("no label below 2 % whose scores say nothing", labels == 0),
            of_files=True,
        ),
        statement(
            "Section 10",
            "undesirable thresholds occur primarily at the extremes: low base rate, uninformative classifier (most of"
            " the labels predicted over three times too often are below both medians of their file)",
            f"{at_extremes:,} of {sum(often['macro']):,} such labels, as {sum(int(x.extreme.sum()) for x in some):,} of"
            f" {sum(x.extreme.size for x in some):,} of all labels",
            holds=at_extremes > sum(often["macro"]) / 2,
            absent=("no label is predicted over three times too often", not any(often["macro"])),
            of_files=True,
        ),
        statement(
            "Section 10",
            "micro-F1 is less likely to result in extreme thresholding than macro-F1",
            f"{sum(often['micro']):,} labels predicted over three times too often, {sum(often['macro']):,} under"
            f" macro-F1; fewer on {fewer} of {len(some)} score matrices, more on {more}",
            holds=fewer > 0 == more,
            only_if=("what is meant is the number over all files", sum(often["micro"]) < sum(often["macro"])),
            absent=("no label is predicted over three times too often", not any(often["macro"] + often["micro"])),
            of_files=True,
        ),
        statement(
            "Section 10",
            "converting probabilistic predictions to binary classifications is lossy",
            f"macro AUROC of the decisions of the rule for macro-F1 is {span(lost)} below that of the scores, on"
            f" {len(some)} score matrices",
            holds=min(lost) > 0,
            of_files=True,
        ),
    ]


def on_files(options: Options) -> tuple[dict[str, Everywhere], dict[str, Rules]]:
    """Each score matrix: its second half for incentives, both halves for rules."""
    everywhere, rules = {}, {}
    for data in progress(options.score_files(), "score files"):
        name = f"{data.name.removesuffix('.npz')} {data.score_key}".removesuffix(" y_score")
        truth, scores = (tuple(dense(x[rows]) for rows in data.halves()[:2]) for x in (data.y_true, data.y_score))
        everywhere[name] = Everywhere.of(truth[1], scores[1])
        rules[name] = Rules.of(truth, scores)
    return everywhere, rules


def draw(simulated: Everywhere, real: dict[str, Everywhere]) -> Figure:
    """Both panels."""
    drawn = figure(PAGE, 2.6)
    left, right = drawn.subplots(1, 2)
    lead = (simulated.lead / (simulated.base * LARGE)).reshape(len(RATES), len(APART))
    for b, row, colour, marker in zip(RATES, lead, COLOURS, "os^Dv", strict=False):
        left.plot(APART, row, "-" + marker, color=colour, label=f"{100 * b:g} %")
    left.legend(title="base rate", title_fontsize=7)
    left.set(xlabel="distance of positives from negatives (deviations)", ylabel="lead for each positive")
    left.set_title("Where skill can be had: hits minus false alarms", loc="left")
    base = [float(np.median(case.base)) for case in real.values()]
    right.plot(base, [case.share for case in real.values()], "o", color=BLUE)
    right.set(xscale="log", xlabel="median base rate of the labels", ylim=(-0.03, 1.03))
    right.set_ylabel("share of the labels")
    right.set_title("Labels without skill at any cut, score files", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge what sections 9 and 10 say of incentives, extremes and AUROC, and draw where skill can be had."""
    simulated = Everywhere.of(*simulated_labels(LARGE))
    real, rules = on_files(options)
    claims = [
        incentives("Sections 9 and 10, simulated", {"simulated": simulated}),
        incentives("Sections 9 and 10", real, of_files=True),
        more_informative(5 if options.quick else 15),
        trivial_auroc(*((1_000, 5) if options.quick else (10_000, 50))),
        *extremes(rules),
    ]
    numbers = {
        "simulated, unharmed by base rate and distance": simulated.unharmed.reshape(len(RATES), len(APART)),
        "unharmed": {name: case.share for name, case in real.items()},
        "no skill at .5": {name: case.none_at_half for name, case in real.items()},
        "macro AUROC of scores and decisions": {name: x.ranks for name, x in rules.items()},
        "predicted over three times too often": {
            name: {a: x.too_often(a).sum() for a in x.predicted} for name, x in rules.items()
        },
    }
    return Results(claims, numbers, {"macro_skill.svg": draw(simulated, real)})


if __name__ == "__main__":
    main(__file__, run)
