"""Iotespresso, Kolena and section 2.2: macro, micro and weighted F1, recomputed digit by digit, and what holds of them.

    python experiments/paper/averages.py [FILE ...] [--quick] [--output FOLDER]

- Iotespresso: F1 of three classes and its averages; are global precision and recall always the same?
- Kolena: the same of ten aeroplanes, boats and cars; is micro-F1 an average over samples, or accuracy?
- Section 2.2 of the paper: does Jaccard's index rise with F1, on one label and on averages over labels?

What is said of "any" labels is tried on random classes and on decisions of seven rules on score files, which are fitted
on one half of the rows and judged on the other. There is no picture.
"""

from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics as scikit_learn

from thresholds import InputError
from thresholds.metrics import accuracy_score, confusion_counts, f1_score, jaccard_score, precision_score, recall_score

from claims import Claim, Options, Results, main, printed_number, short, statement
from decisions import decided_files

IOTESPRESSO = ([0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [1, 0, 0, 1, 1, 0, 2, 2, 1, 2])
KOLENA = (list("AAABCCCCCC"), list("AABBCCCBBA"))  # (A)irplane, (B)oat, (C)ar, in agreement with the printed counts
TABLE = {  # samples, true positives, false positives, false negatives; precision, recall, F1
    "Airplane": ((3, 2, 1, 1), ("0.67", "0.67", "0.67")),
    "Boat": ((1, 1, 3, 0), ("0.25", "1.0", "0.4")),
    "Car": ((6, 3, 0, 3), ("1.0", "0.5", "0.67")),
}
ROUNDED = "Sums of rounded terms and last digits"
SMALL = 1e-12  # of sums in floating point
Ints = npt.NDArray[np.int64]
Pair = tuple[Ints, Ints]


def iotespresso() -> list[Claim]:
    """Every number of the page."""
    page, pair = "Iotespresso", IOTESPRESSO
    f1 = f1_score(*pair, average=None)
    by_class = zip(("0.66666667", "0.57142857", "0.85714286"), f1, strict=True)
    claims = [printed_number(page, f"F1 of class {k}", digits, x) for k, (digits, x) in enumerate(by_class)]
    for name, mean, digits in (("macro", "0.698", "0.6984126984126985"), ("weighted", "0.714", "0.7142857142857142")):
        x = f1_score(*pair, average=name)
        claims += [printed_number(page, f"{name} F1, {how}", d, x) for how, d in (("in words", mean), ("run", digits))]
    terms = (0.6667 * 3 + 0.5714 * 3 + 0.857 * 4) / 10
    claims.append(printed_number(page, "(0.6667·3 + 0.5714·3 + 0.857·4)/10", "0.714", terms, erratum=ROUNDED))
    for name, score in (("recall", recall_score), ("precision", precision_score), ("F1", f1_score)):
        claims.append(printed_number(page, f"global (micro) {name}", "0.7", score(*pair, average="micro")))
    return [*claims, last_digits(), binary_is_refused()]


def last_digits() -> Claim:
    """The sixteen digits beside the exact fractions."""
    printed = {44 / 63: "0.6984126984126985", 5 / 7: "0.7142857142857142"}
    units = [abs(float(digits) - exact) / np.spacing(exact) for exact, digits in printed.items()]
    return statement(
        "Iotespresso",
        "all digits of macro and weighted F1 are right (44/63 and 5/7)",
        f"{' and '.join(short(x) for x in units)} units in the last place from the nearest double",
        printed=", ".join(printed.values()),
        holds=max(units) == 0,
        only_if=("averages are compared with a tolerance", max(units) <= 1),
        erratum=ROUNDED,
    )


def binary_is_refused() -> Claim:
    """Whether both libraries refuse average="binary" for three classes."""
    refused = []
    for score in (f1_score, scikit_learn.f1_score):
        try:
            score(*IOTESPRESSO, average="binary")
        except (InputError, ValueError):
            refused.append(score)
    return statement(
        "Iotespresso",
        "average = 'binary' cannot be used for several classes",
        f"{len(refused)} of 2 libraries refuse it",
        holds=len(refused) == 2,
    )


def kolena() -> list[Claim]:
    """Every number of the page; the first claim is that ten samples can have its counts."""
    page, pair = "Kolena", KOLENA
    counts = confusion_counts(*pair)
    rows = np.array([counts.positives, counts.tp, counts.fp, counts.fn]).T
    found = [*rows.tolist(), rows.sum(axis=0).tolist()]
    claims = [
        statement(
            f"{page}, table",
            "samples, true positives, false positives, false negatives of each class and in total (10, 6, 4, 4)",
            "; ".join(" ".join(map(str, x)) for x in found),
            holds=found == [*(list(x) for x, _ in TABLE.values()), [10, 6, 4, 4]],
            by_construction="the page has no samples; ours were chosen to have these counts",
        )
    ]
    figures = {"precision": counts.precision(), "recall": counts.recall(), "F1": counts.f_score()}
    for (i, name), (k, label) in product(enumerate(figures), enumerate(TABLE)):
        claims.append(printed_number(f"{page}, table", f"{name} of {label}", TABLE[label][1][i], figures[name][k]))
    micro = [score(*pair, average="micro") for score in (precision_score, recall_score, f1_score)]
    of_terms = (0.67 + 0.4 + 0.67) / 3, 0.67 * 3 / 10 + 0.4 * 1 / 10 + 0.67 * 6 / 10
    return [
        *claims,
        printed_number(page, "macro F1", "0.58", f1_score(*pair, average="macro")),
        printed_number(page, "(0.67 + 0.4 + 0.67) / 3", "0.58", of_terms[0], erratum=ROUNDED),
        *(printed_number(page, f"micro {name}", "0.6", x) for name, x in zip(figures, micro, strict=True)),
        printed_number(page, "accuracy", "0.6", accuracy_score(*pair)),
        printed_number(page, "weighted F1", "0.64", f1_score(*pair, average="weighted")),
        printed_number(page, "0.67·3/10 + 0.4·1/10 + 0.67·6/10", "0.64", of_terms[1], erratum=ROUNDED),
    ]


def random_classes(runs: int) -> list[Pair]:
    """Gold and predicted classes of up to 30 samples and 6 classes, as vectors."""
    rng = np.random.default_rng(0)
    return [tuple(rng.integers(0, k, (2, n))) for n, k in rng.integers([2, 2], [31, 7], (runs, 2))]


def one_hot(classes: Ints) -> Ints:
    """A matrix of labels with one in each row."""
    return (classes[:, None] == np.arange(6)).astype(np.int64)


def of_single_classes(runs: int) -> dict[str, float]:
    """The largest difference from micro-F1, on samples that have and get one class each."""
    found: dict[str, float] = {}
    for pair in random_classes(runs):
        micro = f1_score(*pair, average="micro")
        others = {
            "precision": precision_score(*pair, average="micro"),
            "recall": recall_score(*pair, average="micro"),
            "accuracy": np.mean(np.equal(*pair)),
            "samples": f1_score(*map(one_hot, pair), average="samples"),
        }
        found = {name: max(found.get(name, 0.0), abs(x - micro)) for name, x in others.items()}
    return found


def real_averages(options: Options) -> list[dict[str, Any]]:
    """Averages of every rule's decisions on every file."""
    scores = {"f1": f1_score, "precision": precision_score, "recall": recall_score, "jaccard": jaccard_score}
    wanted = [("micro", name) for name in scores] + [("macro", "f1"), ("macro", "jaccard"), ("samples", "f1")]
    return [
        {"file": file.name, "rule": rule}
        | {f"{a} {name}": scores[name](file.truth, decided, average=a, zero_division=0) for a, name in wanted}
        for file in decided_files(options)
        for rule, decided in file.by_rule.items()
    ]


def farthest(real: list[dict[str, Any]], one: str, other: str) -> str:
    """Where two averages of the same decisions differ most, in words."""
    x = max(real, key=lambda row: abs(row[one] - row[other]))
    return f"{one} {short(x[one])}, {other} {short(x[other])} of rule “{x['rule']}” on {x['file']}"


def what_micro_is(single: dict[str, float], real: list[dict[str, Any]], runs: int) -> list[Claim]:
    """Whether micro precision, recall, accuracy and the mean over samples are one number."""
    several = ([[1, 1], [0, 1]], [[1, 0], [0, 0]])
    p, r = (score(*several, average="micro") for score in (precision_score, recall_score))
    p2, r2 = (score(*IOTESPRESSO, average="micro", labels=[0, 1]) for score in (precision_score, recall_score))
    unequal = max(abs(p - r), abs(p2 - r2), *(abs(x["micro precision"] - x["micro recall"]) for x in real))
    rows = ([[1, 1, 1], [1, 0, 0]], [[1, 1, 1], [0, 1, 0]])
    micro, samples = (f1_score(*rows, average=a) for a in ("micro", "samples"))
    apart = max(abs(micro - samples), *(abs(x["micro f1"] - x["samples f1"]) for x in real))
    same = {name: x < SMALL for name, x in single.items()}
    tried = f"largest difference in {runs:,} random vectors of classes"
    return [
        statement(
            "Iotespresso",
            "for any y_true and y_pred, global precision and global recall are the same",
            f"{short(p2)} and {short(r2)} for classes 0 and 1 of the page's vectors; {short(p)} and {short(r)} for two"
            f" rows of labels; {farthest(real, 'micro precision', 'micro recall')}",
            holds=unequal < SMALL,
            only_if=(
                "each sample has and gets one class, and all classes are included",
                same["precision"] and same["recall"],
            ),
            erratum="Global precision and recall are not always the same",
        ),
        statement(
            "Kolena",
            "where each sample has a single label, micro F1 = precision = recall = accuracy",
            f"{tried}: {max(single['precision'], single['recall'], single['accuracy']):.0e}",
            holds=same["precision"] and same["recall"] and same["accuracy"],
        ),
        statement(
            "Kolena",
            "micro: global average of per-sample TP, FP, FN scores",
            f"two rows of labels have micro F1 {short(micro)} and mean F1 of rows {short(samples)};"
            f" {farthest(real, 'micro f1', 'samples f1')}",
            holds=apart < SMALL,
            only_if=("each sample has and gets one class", same["samples"]),
            erratum="Micro adds counts; it averages nothing over samples",
        ),
    ]


def jaccard_and_f1(real: list[dict[str, Any]], most: int) -> tuple[Claim, dict[str, int]]:
    """Section 2.2: on all counts up to `most`, on all pairs of such labels, and on pairs of rules."""
    counts = np.array(list(product(range(most + 1), repeat=3)))[1:]
    tp, errors = counts[:, 0], counts[:, 1] + counts[:, 2]
    f, j = 2 * tp / (2 * tp + errors), tp / (tp + errors)
    order = np.argsort(f, kind="stable")
    rises = bool(np.all((np.diff(f[order]) > SMALL) == (np.diff(j[order]) > SMALL)))
    one, other = (f1_score(*pair, average="macro") for pair in TWO_PAIRS)
    j_one, j_other = (jaccard_score(*pair, average="macro") for pair in TWO_PAIRS)
    tally = {"pairs of rules": 0, "macro ranked differently": 0, "micro ranked differently": 0}
    for x, y in combinations(real, 2):
        if x["file"] == y["file"]:
            tally["pairs of rules"] += 1
            for a in ("macro", "micro"):
                differences = [x[f"{a} {name}"] - y[f"{a} {name}"] for name in ("f1", "jaccard")]
                tally[f"{a} ranked differently"] += bool(np.prod(np.sign(differences)) < 0)
    claim = statement(
        "Section 2.2",
        "Jaccard's index is a monotonically increasing function of F1",
        f"of one label, in {len(counts)} cases; macro F1 {short(one)} and {short(other)} go with macro Jaccard"
        f" {short(j_one)} and {short(j_other)}; {tally['macro ranked differently']} of {tally['pairs of rules']} pairs"
        f" of rules are ranked differently by macro averages, {tally['micro ranked differently']} by micro averages",
        holds=rises and (one - other) * (j_one - j_other) > 0,
        only_if=("there is one label, or counts are added up", rises and tally["micro ranked differently"] == 0),
        erratum="Section 2.2: Jaccard's index rises with F1 on one label, not on averages over labels",
    )
    return claim, tally


# Two labels with F1 1 and 2/7, and two with 2/3 each.
TWO_PAIRS = (
    ([[1, 1]] + [[0, 0]] * 5, [[1, 1]] + [[0, 1]] * 5),
    ([[1, 1]] + [[0, 0]] * 5, [[1, 1]] * 2 + [[0, 0]] * 4),
)


def run(options: Options) -> Results:
    """Judge the two pages and section 2.2."""
    runs = 200 if options.quick else 2_000
    single, real = of_single_classes(runs), real_averages(options)
    jaccard, ranked = jaccard_and_f1(real, 6 if options.quick else 12)
    claims = [*iotespresso(), *kolena(), *what_micro_is(single, real, runs), jaccard]
    return Results(claims, {"largest difference from micro-F1": single, "pairs": ranked, "real decisions": real})


if __name__ == "__main__":
    main(__file__, run)
