"""Five documents on F1 and its averages, recomputed: their inputs, what `metrics` makes of them, and the exact result.

Boyle 2023, "Scikit-Learn's F-1 calculator is broken"; Iotespresso, "Scikit learn: f1-weighted vs. f1-micro vs.
f1-macro"; Kolena, "Averaging Methods"; Lipton, Elkan & Naryanaswamy 2013, "F1-Optimal Thresholding in the
Multi-Label Setting"; Opitz & Burst 2019, "Macro F1 and macro F1".

Where a document prints another value, docs/errata.md derives the right one.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresholds.metrics import (
    accuracy_score,
    auroc,
    confusion_counts,
    f1_score,
    jaccard_score,
    macro_skill_score,
    multilabel_accuracy,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
    skill_score,
)

Ints = NDArray[np.int64]
Pair = tuple[Ints, Ints]
Confusion = list[list[int]]
nan = float("nan")


# Inputs


def decisions(confusion: Confusion) -> Pair:
    """Truth and predictions, as vectors of classes, of a confusion matrix with predictions in rows."""
    counts = np.array(confusion)
    predicted, truth = np.indices(counts.shape)
    return np.repeat(truth, counts.ravel()), np.repeat(predicted, counts.ravel())


def indicators(*counts: tuple[int, int, int]) -> Pair:
    """Truth and predictions of labels with so many true positives, false positives and false negatives."""
    length = max(map(sum, counts))
    y_true, y_pred = np.zeros((2, length, len(counts)), np.int64)
    for label, (tp, fp, fn) in enumerate(counts):
        y_pred[: tp + fp, label] = 1
        y_true[:tp, label] = y_true[tp + fp : tp + fp + fn, label] = 1
    return y_true, y_pred


def column(n_samples: int, ones: int) -> Ints:
    """A 0/1 vector that starts with its ones."""
    return (np.arange(n_samples) < ones).astype(np.int64)


TABLE_1: Confusion = [[100, 10000], [0, 100]]
TABLE_2: Confusion = [[3500, 2500, 1500], [5000, 5000, 5000], [1500, 2500, 3500]]
TABLE_3: Confusion = [[2000, 1000, 0], [8000, 8000, 8000], [0, 1000, 2000]]
ONE_ALL_WRONG: Confusion = [[1, 2], [1, 0]]
OPITZ_BURST = [decisions(table) for table in (TABLE_1, TABLE_2, TABLE_3)]

IOTESPRESSO = ([0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [1, 0, 0, 1, 1, 0, 2, 2, 1, 2])
TWO_LABELS = ([[1, 1], [0, 1]], [[1, 0], [0, 0]])

MANY_CLASSES = (list(range(104)), [*range(100), 101, 102, 103, 104])
CYCLIC = ([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
FOOTNOTE = ([0, 0, 0], [1, 1, 1])

KOLENA = (list("AAABCCCCCC"), list("AABBCCCABB"))  # the page gives counts; these ten samples have them
KOLENA_COUNTS = indicators((2, 1, 1), (1, 3, 0), (3, 0, 3))

COMMON, RARE, ALWAYS, NEVER = column(10, 5), column(10, 1), column(10, 10), column(10, 0)
SECTION_6 = np.column_stack([COMMON, RARE])
SECTION_6_SCORES = np.column_stack([[0.9, 0.8, 0.7, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1, 0.05], np.full(10, 0.1)])


def both(common: Ints, rare: Ints) -> Pair:
    """The two labels of section 6 and predictions for each."""
    return SECTION_6, np.column_stack([common, rare])


# What the documents compute

Oracles = dict[str, tuple[Callable[[], object], object]]

OPITZ_BURST_2019: Oracles = {
    "table 1: AF": (partial(f1_score, *OPITZ_BURST[0], average="macro"), 1 / 51),
    "table 1: FA": (partial(f1_score, *OPITZ_BURST[0], average="f_of_averages"), 51 / 101),
    "table 1: mean precision": (partial(precision_score, *OPITZ_BURST[0], average="f_of_averages"), 51 / 101),
    "table 1: mean recall": (partial(recall_score, *OPITZ_BURST[0], average="f_of_averages"), 51 / 101),
    "table 1: each class": (partial(f1_score, *OPITZ_BURST[0], average=None), [1 / 51, 1 / 51]),
    "table 2: AF": (partial(f1_score, *OPITZ_BURST[1], average="macro"), 2 / 5),
    "table 2: FA": (partial(f1_score, *OPITZ_BURST[1], average="f_of_averages"), 76 / 185),
    "table 2: each class": (partial(f1_score, *OPITZ_BURST[1], average=None), [2 / 5, 2 / 5, 2 / 5]),
    "table 3: AF": (partial(f1_score, *OPITZ_BURST[2], average="macro"), 80 / 221),
    "table 3: FA": (partial(f1_score, *OPITZ_BURST[2], average="f_of_averages"), 20 / 43),
    "table 3: each class": (partial(f1_score, *OPITZ_BURST[2], average=None), [4 / 13, 8 / 17, 4 / 13]),
    "claim 2, a class without true positives: AF": (
        partial(f1_score, *decisions(ONE_ALL_WRONG), average="macro"),
        1 / 5,
    ),
    "claim 2, a class without true positives: FA": (
        partial(f1_score, *decisions(ONE_ALL_WRONG), average="f_of_averages"),
        1 / 5,
    ),
    "claim 2, a class without true positives: precision": (
        partial(precision_score, *decisions(ONE_ALL_WRONG), average=None),
        [1 / 3, 0],
    ),
    "claim 2, a class without true positives: recall": (
        partial(recall_score, *decisions(ONE_ALL_WRONG), average=None),
        [1 / 2, 0],
    ),
    "claim 2, several labels: AF": (partial(f1_score, *indicators((1, 1, 0), (1, 1, 0)), average="macro"), 2 / 3),
    "claim 2, several labels: FA": (
        partial(f1_score, *indicators((1, 1, 0), (1, 1, 0)), average="f_of_averages"),
        2 / 3,
    ),
}

IOTESPRESSO_PAGE: Oracles = {
    "each class": (partial(f1_score, *IOTESPRESSO, average=None), [2 / 3, 4 / 7, 6 / 7]),
    "macro": (partial(f1_score, *IOTESPRESSO, average="macro"), 44 / 63),
    "weighted": (partial(f1_score, *IOTESPRESSO, average="weighted"), 5 / 7),
    "micro": (partial(f1_score, *IOTESPRESSO, average="micro"), 7 / 10),
    "micro precision": (partial(precision_score, *IOTESPRESSO, average="micro"), 7 / 10),
    "micro recall": (partial(recall_score, *IOTESPRESSO, average="micro"), 7 / 10),
    "accuracy": (partial(accuracy_score, *IOTESPRESSO), 7 / 10),
    "several labels: micro precision": (partial(precision_score, *TWO_LABELS, average="micro"), 1),
    "several labels: micro recall": (partial(recall_score, *TWO_LABELS, average="micro"), 1 / 3),
    "several labels: micro": (partial(f1_score, *TWO_LABELS, average="micro"), 1 / 2),
    "some of the classes: micro precision": (
        partial(precision_score, *IOTESPRESSO, labels=[0, 1], average="micro"),
        4 / 7,
    ),
    "some of the classes: micro recall": (partial(recall_score, *IOTESPRESSO, labels=[0, 1], average="micro"), 2 / 3),
}

BOYLE_2023: Oracles = {
    "105 classes, 1": (partial(f1_score, *MANY_CLASSES, average="macro", zero_division=1.0), 20 / 21),
    "105 classes, 0": (partial(f1_score, *MANY_CLASSES, average="macro", zero_division=0.0), 20 / 21),
    "105 classes, nan": (partial(f1_score, *MANY_CLASSES, average="macro", zero_division=nan), 20 / 21),
    "two classes, nan": (partial(f1_score, [0, 1], [1, 0], average="macro", zero_division=nan), 0),
    "three classes, nan": (partial(f1_score, [0, 1, 2], [1, 0, 2], average="macro", zero_division=nan), 1 / 3),
    "cyclic: precision": (partial(precision_score, *CYCLIC, average=None, zero_division=1.0), [0] * 5),
    "cyclic: recall": (partial(recall_score, *CYCLIC, average=None, zero_division=1.0), [0] * 5),
    "cyclic: f1": (partial(f1_score, *CYCLIC, average=None, zero_division=1.0), [0] * 5),
    "cyclic: macro": (
        lambda: precision_recall_fscore_support(*CYCLIC, average="macro", zero_division=1.0)[:3],
        [0, 0, 0],
    ),
    "cyclic: weighted": (
        lambda: precision_recall_fscore_support(*CYCLIC, average="weighted", zero_division=1.0)[:3],
        [0, 0, 0],
    ),
    "cyclic: micro": (partial(f1_score, *CYCLIC, average="micro", zero_division=1.0), 0),
    "cyclic: accuracy": (partial(accuracy_score, *CYCLIC), 0),
    "footnote 2: precision": (partial(precision_score, *FOOTNOTE, average=None, zero_division=1.0), [1, 0]),
    "footnote 2: recall": (partial(recall_score, *FOOTNOTE, average=None, zero_division=1.0), [0, 1]),
    "footnote 2: f1": (partial(f1_score, *FOOTNOTE, average=None, zero_division=1.0), [0, 0]),
    "footnote 2: support": (lambda: precision_recall_fscore_support(*FOOTNOTE, zero_division=1.0)[3], [3, 0]),
    "footnote 2: macro": (
        lambda: precision_recall_fscore_support(*FOOTNOTE, average="macro", zero_division=1.0)[:3],
        [1 / 2, 1 / 2, 0],
    ),
    "footnote 2: weighted": (
        lambda: precision_recall_fscore_support(*FOOTNOTE, average="weighted", zero_division=1.0)[:3],
        [1, 0, 0],
    ),
    "footnote 2: micro": (partial(f1_score, *FOOTNOTE, average="micro", zero_division=1.0), 0),
    "footnote 2: accuracy": (partial(accuracy_score, *FOOTNOTE), 0),
}


def kolena(data: tuple[object, object]) -> Oracles:
    """The page's table, from its classes or from its counts as labels."""
    return {
        "precision": (partial(precision_score, *data, average=None), [2 / 3, 1 / 4, 1]),
        "recall": (partial(recall_score, *data, average=None), [2 / 3, 1, 1 / 2]),
        "f1": (partial(f1_score, *data, average=None), [2 / 3, 2 / 5, 2 / 3]),
        "macro": (partial(f1_score, *data, average="macro"), 26 / 45),
        "micro": (
            lambda: precision_recall_fscore_support(*data, average="micro")[:3],
            [3 / 5, 3 / 5, 3 / 5],
        ),
        "weighted": (partial(f1_score, *data, average="weighted"), 16 / 25),
        "samples": (lambda: confusion_counts(*data).positives, [3, 1, 6]),
        "true positives": (lambda: confusion_counts(*data).tp, [2, 1, 3]),
        "false positives": (lambda: confusion_counts(*data).fp, [1, 3, 0]),
        "false negatives": (lambda: confusion_counts(*data).fn, [1, 0, 3]),
        "total of samples": (lambda: confusion_counts(*data).pooled().positives, [10]),
        "total of true positives": (lambda: confusion_counts(*data).pooled().tp, [6]),
        "total of false positives": (lambda: confusion_counts(*data).pooled().fp, [4]),
        "total of false negatives": (lambda: confusion_counts(*data).pooled().fn, [4]),
    }


LIPTON_ET_AL_2013: Oracles = {
    "section 1, balanced: all predicted": (partial(f1_score, COMMON, ALWAYS), 2 / 3),
    "section 1, balanced: none predicted": (partial(f1_score, COMMON, NEVER), 0),
    "section 1, balanced: accuracy of all": (partial(accuracy_score, COMMON, ALWAYS), 1 / 2),
    "section 1, balanced: accuracy of none": (partial(accuracy_score, COMMON, NEVER), 1 / 2),
    "section 2.1: micro F1 of one hit": (partial(f1_score, *indicators((1, 0, 0)), average="micro"), 1),
    "section 2.1: micro F1 of one hit of two": (partial(f1_score, *indicators((1, 1, 0)), average="micro"), 2 / 3),
    "section 2.1: micro F1 of equal counts": (partial(f1_score, *indicators((10, 10, 10)), average="micro"), 1 / 2),
    "section 2.2: accuracy over labels": (partial(multilabel_accuracy, *TWO_LABELS), 1 / 2),
    "section 2.2: Jaccard index where F1 is 2/3": (partial(jaccard_score, [1, 0], [1, 1]), 1 / 2),
    "section 2.2: skill of .95 against .9": (partial(skill_score, column(20, 2), column(20, 1)), 1 / 2),
    "section 2.2: skill of the majority class": (partial(skill_score, column(20, 2), column(20, 0)), 0),
    "section 2.2: skill below the majority class": (partial(skill_score, column(20, 2), column(20, 20)), 0),
    "section 2.2: skill with one class": (partial(skill_score, column(20, 0), column(20, 1)), nan),
    "section 2.2: macro skill": (partial(macro_skill_score, *both(COMMON, NEVER)), 1 / 2),
    "section 2.2: macro skill, one label of one class": (
        partial(macro_skill_score, [[1, 0], [0, 0]], [[1, 1], [0, 0]], return_undefined=True),
        (1, 1),
    ),
    "section 5.3: 2b/(1+b) at 1/2": (partial(f1_score, column(2, 1), column(2, 2)), 2 / 3),
    "section 5.3: 2b/(1+b) at 1/10": (partial(f1_score, RARE, ALWAYS), 2 / 11),
    "section 6.2: trivial for both labels": (partial(f1_score, *both(ALWAYS, ALWAYS), average="macro"), 14 / 33),
    "section 6.2: perfect on the rare label": (partial(f1_score, *both(ALWAYS, RARE), average="macro"), 5 / 6),
    "section 6.2: perfect on the common label": (partial(f1_score, *both(COMMON, ALWAYS), average="macro"), 13 / 22),
    "section 6.3: macro, rare label everywhere": (partial(f1_score, *both(COMMON, ALWAYS), average="macro"), 13 / 22),
    "section 6.3: macro, rare label nowhere": (partial(f1_score, *both(COMMON, NEVER), average="macro"), 1 / 2),
    "section 6.3: micro, rare label everywhere": (partial(f1_score, *both(COMMON, ALWAYS), average="micro"), 4 / 7),
    "section 6.3: micro, rare label nowhere": (partial(f1_score, *both(COMMON, NEVER), average="micro"), 10 / 11),
    "section 8: one lucky item of ten, 2/(1+bn)": (partial(f1_score, column(100, 10), column(100, 1)), 2 / 11),
    "section 10: AUROC of a constant, base rate 1/2": (partial(auroc, COMMON, np.full(10, 0.5)), 1 / 2),
    "section 10: AUROC of a constant, base rate 1/10": (partial(auroc, RARE, np.full(10, 0.5)), 1 / 2),
}

DOCUMENTS: dict[str, Oracles] = {
    "Opitz and Burst 2019": OPITZ_BURST_2019,
    "Iotespresso": IOTESPRESSO_PAGE,
    "Boyle 2023": BOYLE_2023,
    "Kolena, classes": kolena(KOLENA),
    "Kolena, counts": kolena(KOLENA_COUNTS),
    "Lipton et al. 2013": LIPTON_ET_AL_2013,
}
