"""Boyle 2023: whether the rule at the end of the page finds what scikit-learn 1.3 computed wrongly, and nothing else.

    python experiments/paper/detection_rule.py [--quick] [--output FOLDER]

Reports of version 1.3 come from the mistake that the page describes (`zero_division.py`), on every pair of short
vectors of classes and on the page's examples, with `zero_division` 1 and nan. A report is flagged if it has a class
with precision 0, recall 0 and F1 1 or nan. What is right is F1 by counts. There is no picture.
"""

from itertools import product
from math import nan

import numpy as np
import numpy.typing as npt
from sklearn import metrics as scikit_learn
from zero_division import CYCLIC, FOOTNOTE, MANY, PAGE, SWAPPED, TWO_WRONG, of_version_1_3

from thresholds.metrics import f1_score, precision_recall_fscore_support

from claims import Claim, Options, Results, main, progress, statement

Floats = npt.NDArray[np.float64]
BOTH_0 = "classes with precision 0 and recall 0"
NOT_0 = "… whose F1 is not 0, here or in scikit-learn"
DETECTION = "The rule that detects the mistake misses F1 that is nan beside a precision or recall of nan"


def mean_of_version_1_3(f1: Floats, weights: Floats) -> float:
    """A mean of F1 of classes that leaves out what is nan, as that version does."""
    some = ~np.isnan(f1)
    return float(np.average(f1[some], weights=weights[some])) if weights[some].any() else nan


def same(one: float, other: float) -> bool:
    """Equal but for rounding, or both undefined."""
    return bool(np.isclose(one, other, rtol=0, atol=1e-12, equal_nan=True))


def detection_of(n: int) -> dict[str, dict[str, int]]:
    """By zero_division: how many reports on up to n samples are flagged, and which averages of each are wrong."""
    pairs = [(list(y[:k]), list(y[k:])) for k in range(1, n + 1) for y in product(range(3), repeat=2 * k)]
    pairs += [MANY, SWAPPED, TWO_WRONG, CYCLIC, FOOTNOTE]
    totals: dict[str, dict[str, int]] = {"1": {}, "nan": {}}
    for (name, value), pair in progress(list(product((("1", 1.0), ("nan", nan)), pairs)), "reports"):
        p, r, right, samples = precision_recall_fscore_support(*pair, average=None, zero_division=value)
        found, of_sklearn = (
            of_version_1_3(*pair, value),
            scikit_learn.f1_score(*pair, average=None, zero_division=value),
        )
        both_0 = (p == 0) & (r == 0)
        flagged = bool(np.any(both_0 & ((found == 1) | np.isnan(found))))
        micro = f1_score(*pair, average="micro", zero_division=value)
        wrong = {
            "macro": not same(mean_of_version_1_3(found, np.ones(len(found))), float(np.mean(right))),
            "weighted": not same(mean_of_version_1_3(found, samples), float(np.average(right, weights=samples))),
            "micro": not same(value if micro == 0 else micro, micro),
        }
        counts = {"reports": True, "flagged": flagged, BOTH_0: both_0.sum()}
        counts[NOT_0] = np.sum((of_sklearn[both_0] != 0) | (right[both_0] != 0))
        for average, is_wrong in wrong.items():
            counts |= {f"{average} wrong": is_wrong, f"{average} right, flagged": flagged and not is_wrong}
            counts[f"{average} wrong, not flagged"] = is_wrong and not flagged
        totals[name] = {key: totals[name].get(key, 0) + int(count) for key, count in counts.items()}
    return totals


def detection(found: dict[str, dict[str, int]]) -> list[Claim]:
    """The rule at the end of the page, in both directions."""
    averages = ("macro", "weighted", "micro")
    alarms = {average: sum(x[f"{average} right, flagged"] for x in found.values()) for average in averages}
    flagged = sum(x["flagged"] for x in found.values())
    wrong = {name: x["macro wrong"] for name, x in found.items()}
    both_0, not_0 = (sum(x[key] for x in found.values()) for key in (BOTH_0, NOT_0))
    silent = {name: x["macro wrong, not flagged"] + x["weighted wrong, not flagged"] for name, x in found.items()}
    return [
        statement(
            PAGE,
            "if precision and recall are both 0, F1 is 0, whatever zero_division is",
            f"in {both_0 - not_0:,} of {both_0:,} such classes, in this library and in the scikit-learn installed",
            holds=not_0 == 0 < both_0,
        ),
        statement(
            PAGE,
            "if any class contains a precision of 0.0, a recall of 0.0, and an f1-score of 1.0 or nan, then the F-1"
            " score for this classifier has been calculated incorrectly",
            f"of {flagged:,} such reports of version 1.3, {alarms['macro']} have the right macro F1,"
            f" {alarms['weighted']} the right weighted F1, {alarms['micro']:,} the right micro F1",
            holds=not any(alarms.values()),
            only_if=("a mean over classes is meant, not micro F1", alarms["macro"] + alarms["weighted"] == 0),
            erratum=DETECTION,
        ),
        statement(
            PAGE,
            "… which is to determine if any particular F-1 score was impacted (no other macro or weighted F1 is wrong)",
            f"not flagged are {found['1']['macro wrong, not flagged']:,} of {wrong['1']:,} wrong macro F1 with"
            f" zero_division = 1, {found['nan']['macro wrong, not flagged']:,} of {wrong['nan']:,} with nan",
            holds=not any(silent.values()),
            only_if=("zero_division is 1", silent["1"] == 0 < wrong["1"]),
            erratum=DETECTION,
        ),
    ]


def run(options: Options) -> Results:
    """Judge the rule in both directions."""
    found = detection_of(2 if options.quick else 3)
    return Results(detection(found), {"reports by zero_division": found})


if __name__ == "__main__":
    main(__file__, run)
