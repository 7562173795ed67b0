"""Boyle 2023 and section 2: every example of F1 with a division by zero, and what 0/0 does to macro-F1 of real data.

    python experiments/paper/zero_division.py [FILE ...] [--quick] [--output FOLDER]

- The page's examples: what scikit-learn 1.3 gave, by the mistake that the page describes (F1 of a class takes the value
  of `zero_division` where precision and recall are both 0), and what is right, here and in the scikit-learn installed.
- What the page says of precision, recall and F1, on every pair of short vectors of classes.
- Section 2 and section 1: is F1 by counts always defined, and is predicting nothing always worth 0?
- Decisions of seven rules on score files: what counting 0/0 as 0, as 1 or not at all does to macro-F1.

`zero_division.svg`: macro-F1 of one rule under the three conventions, over the number of rows that are judged; the
fewer rows, the more labels have neither positives nor predictions. The score file is the one with most such labels.
"""

from itertools import product
from math import isnan, nan
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics as scikit_learn

from thresholds.metrics import (
    accuracy_score,
    confusion_counts,
    f1_score,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)

from claims import Claim, Options, Results, main, printed_number, progress, short, statement
from decisions import Decided, decided_files
from pictures import BLUE, COLUMN, GREEN, ORANGE, figure

Floats = npt.NDArray[np.float64]
Classes = list[int]
MANY = (list(range(104)), [*range(100), 101, 102, 103, 104])
SWAPPED, TWO_WRONG = ([0, 1], [1, 0]), ([0, 1, 2], [1, 0, 2])
CYCLIC, FOOTNOTE = ([0, 1, 2, 3, 4], [1, 2, 3, 4, 0]), ([0, 0, 0], [1, 1, 1])
CONVENTIONS = {"0": 0.0, "1": 1.0, "left out": nan}
PAGE = "Boyle"
EITHER = "F1 too can be 0/0: where a class has neither samples nor predictions"
BY_COUNTS = "Section 2: F1 by counts is undefined too, where tp = fp = fn = 0"


def of_version_1_3(y_true: Classes, y_pred: Classes, zero_division: float) -> Floats:
    """F1 of each class with the mistake that the page describes."""
    p, r = (f(y_true, y_pred, average=None, zero_division=zero_division) for f in (precision_score, recall_score))
    return np.array([2 * x * y / (x + y) if x + y else zero_division for x, y in zip(p, r, strict=True)])


def macro(pair: tuple[Classes, Classes], zero_division: float) -> tuple[float, float]:
    """Macro-F1 here and in scikit-learn."""
    return tuple(f(*pair, average="macro", zero_division=zero_division) for f in (f1_score, scikit_learn.f1_score))


def examples() -> list[Claim]:
    """The calls at the top of the page: the wrong values from the mistake, the right ones from both libraries."""
    wrong = of_version_1_3(*SWAPPED, nan)
    mine, theirs = macro(SWAPPED, nan)
    (right, right_too), (third, third_too) = macro(MANY, 1.0), macro(TWO_WRONG, nan)
    third_of_1_3 = float(np.nanmean(of_version_1_3(*TWO_WRONG, nan)))
    erratum = "Three classes, two of them wrong: macro F1 is 1/3, not about 0.67"
    return [
        printed_number(
            PAGE, "104 classes, zero_division = 1, version 1.3.0", "0.9809523809523809", of_version_1_3(*MANY, 1).mean()
        ),
        printed_number(PAGE, "104 classes, zero_division = 1, version 1.2.2", "0.9523809523809523", right),
        statement(
            PAGE,
            "[0, 1] predicted as [1, 0], zero_division = nan, version 1.3.0 gives nan",
            f"the classes' F1 are {' and '.join(map(str, wrong))}",
            printed="nan",
            holds=bool(np.isnan(wrong).all()),
        ),
        printed_number(PAGE, "… and should give", "0.0", mine),
        printed_number(PAGE, "[0, 1, 2] predicted as [1, 0, 2], nan, version 1.3.0", "1.0", third_of_1_3),
        printed_number(PAGE, "… and should give about", "0.67", third, erratum=erratum),
        statement(
            PAGE,
            "the mistake is mended in later versions of scikit-learn",
            f"what is installed gives {short(right_too)}, {short(theirs)} and {short(third_too)}; this library"
            f" {short(right)}, {short(mine)} and {short(third)}",
            holds=bool(np.allclose([right, mine, third], [right_too, theirs, third_too], rtol=0, atol=1e-12)),
        ),
    ]


def figures(pair: tuple[Classes, Classes]) -> npt.NDArray[Any]:
    """Precision, recall and F1 of each class, their mean, and their mean weighted by samples: a report's lines."""
    lines = [precision_recall_fscore_support(*pair, average=a, zero_division=1.0) for a in (None, "macro", "weighted")]
    return np.array([*np.array(lines[0][:3]).T, *(line[:3] for line in lines[1:])])


def reports() -> list[Claim]:
    """Both reports: accuracy apart from all other figures."""
    f1_of_1_3, mine = of_version_1_3(*CYCLIC, 1.0), figures(CYCLIC)
    theirs = scikit_learn.f1_score(*CYCLIC, average=None, zero_division=1.0)
    expected, found = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [1, 0, 0]]), figures(FOOTNOTE)
    gap = float(f1_of_1_3.mean() - macro(CYCLIC, 1.0)[0])
    erratum = "Both reports: accuracy is 0, not 1.00"
    return [
        statement(
            f"{PAGE}, first report",
            "a 100% wrong classifier has F1 1.00 in every class, in version 1.3.0",
            f"the mistake gives {short(f1_of_1_3.min())} to {short(f1_of_1_3.max())}; precision, recall and F1 are"
            f" {short(mine.max())} at most, F1 in the scikit-learn installed {short(theirs.max())}",
            printed="1.00",
            holds=bool(np.all(f1_of_1_3 == 1) and mine.max() == 0 and theirs.max() == 0),
        ),
        statement(
            f"{PAGE}, second report",
            "two classes, three samples, all wrong: twelve figures, F1 0.00 throughout",
            f"{np.sum(np.abs(found - expected) < 0.005)} of {expected.size} are as printed",
            holds=bool(np.all(np.abs(found - expected) < 0.005)),
        ),
        printed_number(f"{PAGE}, first report", "accuracy", "1.00", accuracy_score(*CYCLIC), erratum=erratum),
        printed_number(f"{PAGE}, second report", "accuracy", "1.00", accuracy_score(*FOOTNOTE), erratum=erratum),
        statement(
            PAGE,
            "macro-F1 of 1.3.X may be wrong by any amount up to 100%",
            f"by {short(gap)} in the first report",
            printed="100%",
            holds=gap == 1,
        ),
    ]


def tally_of(n: int) -> dict[str, int]:
    """How many classes, of all vectors of three classes and up to n samples, have recall 0 or F1 0/0."""
    pairs = [(list(y[:k]), list(y[k:])) for k in range(1, n + 1) for y in product(range(3), repeat=2 * k)]
    totals: dict[str, int] = {}
    for pair in progress(pairs, "vectors"):
        counts = confusion_counts(*pair, labels=[0, 1, 2])
        values = [f1_score(*pair, labels=[0, 1, 2], average=None, zero_division=x) for x in CONVENTIONS.values()]
        missed, empty = counts.recall() == 0, counts.predicted + counts.positives == 0
        depends = values[0] != values[1]
        found = {
            "classes": missed | True,
            "0/0": empty,
            "by convention": depends,
            "one without the other": depends != empty,
            "recall 0": missed,
            "… and a true negative": missed & (counts.tn > 0),
        }
        totals = {name: totals.get(name, 0) + int(x.sum()) for name, x in found.items()}
    return totals


def what_the_page_says(tally: dict[str, int]) -> list[Claim]:
    """Recall 0 and F1 0/0, on each class of all short vectors."""
    return [
        statement(
            PAGE,
            "for F1, the division by zero is not controversial: the convention decides nothing",
            f"of {tally['classes']:,} classes, F1 of {tally['by convention']:,} depends on zero_division;"
            f" {tally['0/0']:,} have neither samples nor predictions",
            holds=tally["by convention"] == 0,
            only_if=("the class has samples or predictions", tally["one without the other"] == 0),
            erratum=EITHER,
        ),
        statement(
            PAGE,
            "recall 0.0: all negative predictions are false",
            f"of {tally['recall 0']:,} classes with recall 0, {tally['… and a true negative']:,} have true negatives",
            holds=tally["… and a true negative"] == 0,
            erratum="Recall 0 does not say that all negative predictions are false",
        ),
    ]


def all_negative() -> Claim:
    """Section 1: predicting nothing, for every number of positives among four."""
    truths = [np.r_[np.ones((a, 1), int), np.zeros((4 - a, 1), int)] for a in range(5)]
    values = np.array(
        [[f1_score(y, 0 * y, average="macro", zero_division=x) for x in CONVENTIONS.values()] for y in truths]
    )
    return statement(
        "Section 1",
        "predicting all negative always achieves a score of 0",
        f"0 to {short(np.nanmax(values[1:]))} with 1 to 4 positives among 4; without any, {short(values[0, 0])},"
        f" {short(values[0, 1])} or undefined",
        holds=bool(np.all(values == 0)),
        only_if=("something is positive", bool(np.all(values[1:] == 0))),
        erratum=BY_COUNTS,
    )


def by_counts() -> Claim:
    """Section 2: where tp = 0, which of the two expressions of F1 can be computed."""
    counts = [(0, fp, fn) for fp, fn in product(range(4), repeat=2)]
    undefined = [(fp, fn) for tp, fp, fn in counts if 2 * tp + fp + fn == 0]
    of_label = [
        f1_score([[1]] * fn + [[0]] * (fp + 1), [[0]] * fn + [[1]] * fp + [[0]], average="macro", zero_division=nan)
        for _, fp, fn in counts
    ]
    elsewhere = [x for x, (_, fp, fn) in zip(of_label, counts, strict=True) if fp + fn > 0]
    return statement(
        "Section 2",
        "the harmonic mean is undefined for tp = 0, but 2tp/(2tp + fp + fn) is defined",
        f"of {len(counts)} cases with tp = 0, undefined at (fp, fn) = {', '.join(map(str, undefined))}, elsewhere"
        f" {short(max(elsewhere))}",
        holds=not any(map(isnan, of_label)),
        only_if=("something is positive or predicted", not any(map(isnan, elsewhere))),
        erratum=BY_COUNTS,
    )


def on_file(file: Decided) -> list[dict[str, Any]]:
    """Macro-F1 of each rule under each convention, and the labels that have neither positives nor predictions."""
    rows = []
    for rule, decided in file.by_rule.items():
        counts = confusion_counts(file.truth, decided)
        empty = int(np.sum(counts.positives + counts.predicted == 0))
        pair = file.truth, decided
        f1 = {name: f1_score(*pair, average="macro", zero_division=x) for name, x in CONVENTIONS.items()}
        rows.append({"file": file.name, "rule": rule, "labels": len(counts.tp), "0/0": empty, **f1})
    return rows


def does_it_matter(real: list[dict[str, Any]]) -> Claim:
    """Section 2 again, on two labels and on real decisions."""
    toy = [f1_score([[0, 1]], [[0, 1]], average="macro", zero_division=x) for x in CONVENTIONS.values()]
    effects = [max(row[name] for name in CONVENTIONS) - row["0"] for row in real]
    worst = real[int(np.argmax(effects))]
    where = f" at most (rule “{worst['rule']}” on {worst['file']}, {worst['0/0']} of {worst['labels']} labels)"
    return statement(
        "Section 2",
        "this difference does not impact the results",
        f"macro-F1 of a perfect and an empty label: {', '.join(map(short, toy))} (0/0 as 0, as 1, left out); of real"
        f" decisions, it moves by {short(max(effects))}{where if max(effects) else ', as no label is empty'}",
        holds=bool(max(*effects, np.ptp(toy)) == 0),
        only_if=(
            "every label has positives or predictions",
            all((x == 0) == (row["0/0"] == 0) for x, row in zip(effects, real, strict=True)),
        ),
        erratum=BY_COUNTS,
    )


def over_rows(file: Decided, rule: str, draws: int) -> dict[str, list[float]]:
    """Mean macro-F1 of one rule on random rows of a file, for more and more rows."""
    rng, decided = np.random.default_rng(0), file.by_rule[rule]
    n = decided.shape[0]
    sizes = np.unique(np.geomspace(10, n, 10).astype(int))
    found: dict[str, list[float]] = {"rows": sizes.tolist(), **{name: [] for name in CONVENTIONS}, "0/0": []}
    for size in progress(sizes, "rows"):
        values, empty = [], []
        for _ in range(1 if size == n else draws):
            rows = rng.choice(n, size, replace=False)
            counts = confusion_counts(file.truth[rows], decided[rows])
            f = counts.f_score()
            empty.append(np.isnan(f).mean())
            values.append([np.nan_to_num(f).mean(), np.nan_to_num(f, nan=1.0).mean(), np.nanmean(f)])
        for name, mean in zip(CONVENTIONS, np.mean(values, axis=0), strict=True):
            found[name].append(mean)
        found["0/0"].append(np.mean(empty))
    return found


def draw(found: dict[str, list[float]], file: str, rule: str) -> Any:
    """Three lines over the number of rows."""
    drawn = figure(COLUMN, 2.3)
    ax = drawn.subplots()
    for name, style, colour in (("1", "^-", ORANGE), ("left out", "s--", GREEN), ("0", "o-", BLUE)):
        ax.plot(found["rows"], found[name], style, color=colour, label=f"{'' if name == 'left out' else 'is '}{name}")
    ax.set(xscale="log", xlabel=f"rows judged ({file})", ylabel=f"macro-F1, rule “{rule}”", ylim=(0, 1))
    ax.legend(loc="best", title="0/0", title_fontsize=7)
    ax.set_title("How 0/0 moves macro-F1", loc="left")
    return drawn


def run(options: Options) -> Results:
    """Judge the page and section 2; the picture is of the file with most labels that are 0/0."""
    tally = tally_of(2 if options.quick else 4)
    real, chosen, most, rule = [], None, -1.0, "micro"
    for file in decided_files(options):
        rows = on_file(file)
        real += rows
        share = next(row["0/0"] / row["labels"] for row in rows if row["rule"] == rule)
        if share > most:
            chosen, most = file, share
    by_rows = over_rows(chosen, rule, 5 if options.quick else 50)
    claims = [*examples(), *reports(), *what_the_page_says(tally), all_negative(), by_counts(), does_it_matter(real)]
    numbers = {"short vectors": tally, "real decisions": real, "over rows": by_rows}
    return Results(claims, numbers, {"zero_division.svg": draw(by_rows, chosen.name, rule)})


if __name__ == "__main__":
    main(__file__, run)
