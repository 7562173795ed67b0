"""Sections 2.1 and 2.2: the definitions, counted cell by cell, beside what libraries compute under these names.

    python experiments/paper/definitions.py [--quick] [--output FOLDER]

Random gold standards and predictions of up to eight instances and six labels, some of them empty; F1 and Jaccard's
index of what is empty count 0. Each measure is counted from its definition in exact fractions and held beside this
library and scikit-learn, which know nothing of that. Where a name is in use for something else, too, the other thing is
shown. There is no picture.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from sklearn import metrics as scikit_learn
from sklearn.dummy import DummyClassifier

from thresholds.metrics import f1_score, jaccard_score, macro_skill_score, multilabel_accuracy, skill_score

from claims import Claim, Options, Results, main, short, statement

Cells = npt.NDArray[np.int64]
Measure = Callable[[Cells, Cells], object]
SMALL = 1e-12  # of sums in floating point


def f1(truth: Cells, decided: Cells) -> Fraction:
    """Equation (1) of all cells given, 0/0 as 0."""
    tp, fp, fn = (int(np.sum(x)) for x in (truth & decided, decided > truth, truth > decided))
    return Fraction(2 * tp, max(2 * tp + fp + fn, 1))


def mean(values: list[Fraction]) -> Fraction:
    """The sum over the number."""
    return sum(values, Fraction(0)) / len(values)


def of_labels(truth: Cells, decided: Cells) -> Fraction:
    """F1_Macro of section 2.1."""
    return mean([f1(g, p) for g, p in zip(truth.T, decided.T, strict=True)])


def of_instances(truth: Cells, decided: Cells) -> Fraction:
    """F1_Instance of section 2.1."""
    return mean([f1(g, p) for g, p in zip(truth, decided, strict=True)])


def accuracy(truth: Cells, decided: Cells) -> Fraction:
    """The share of cells with P = G."""
    return mean([Fraction(int(p == g)) for g, p in zip(truth.ravel(), decided.ravel(), strict=True)])


def jaccard(truth: Cells, decided: Cells) -> Fraction:
    """The intersection over the union of two sets of cells."""
    gold, predicted = (set(np.flatnonzero(x).tolist()) for x in (truth, decided))
    return Fraction(len(gold & predicted), max(len(gold | predicted), 1))


def skills(truth: Cells, decided: Cells) -> list[Fraction]:
    """Skill of each label with both classes; V is a predictor that was fitted to guess the majority class."""
    found = []
    for g, p in zip(truth.T, decided.T, strict=True):
        if np.ptp(g):
            v = DummyClassifier(strategy="most_frequent").fit(np.zeros((len(g), 1)), g).predict(np.zeros((len(g), 1)))
            of_v = accuracy(g, v)
            found.append(max((accuracy(g, p) - of_v) / (1 - of_v), Fraction(0)))
    return found


def pairs(draws: int) -> list[tuple[Cells, Cells]]:
    """Random gold standards, of some label with both classes, and predictions that are right more often than not."""
    rng, found = np.random.default_rng(2), []
    while len(found) < draws:
        truth = (rng.random(rng.integers([2, 2], [9, 7])) < rng.uniform(0.1, 0.6)).astype(np.int64)
        wrong = rng.random(truth.shape) < rng.uniform(0, 0.5)
        if np.ptp(truth, axis=0).any():
            found.append((truth, truth ^ wrong))
    return found


def gap(given: list[tuple[Cells, Cells]], definition: Measure, measure: Measure) -> float:
    """The largest difference from the definition."""
    return max(abs(float(measure(*pair)) - float(definition(*pair))) for pair in given)  # type: ignore[arg-type]


def averaged(score: Callable[..., object], average: str) -> Measure:
    """A score of matrices, averaged, with 0/0 as 0."""
    return lambda truth, decided: score(truth, decided, average=average, zero_division=0)


def judged(
    source: str,
    says: str,
    given: list[tuple[Cells, Cells]],
    definition: Measure,
    measures: dict[str, Measure],
    other: tuple[str, Measure] | None = None,
) -> Claim:
    """Hold a definition beside what libraries compute; `other` goes by the same name and is something else."""
    gaps = {name: gap(given, definition, measure) for name, measure in measures.items()}
    found = f"off by at most {max(gaps.values()):.0e} in {', '.join(gaps)}, {len(given)} random matrices"
    if other is not None:
        found += f"; {other[0]} is up to {short(gap(given, definition, other[1]))} away"
    return statement(source, says, found, holds=max(gaps.values()) < SMALL)


def variations_of_f1(given: list[tuple[Cells, Cells]]) -> list[Claim]:
    """Section 2.1."""
    source, ours, theirs = "Section 2.1", "this library", "scikit-learn"

    def both(average: str) -> dict[str, Measure]:
        return {ours: averaged(f1_score, average), theirs: averaged(scikit_learn.f1_score, average)}

    return [
        judged(
            source,
            "Micro-F1 treats the entire set of predictions on all labels as one vector and calculates the F1",
            given,
            lambda truth, decided: f1(truth.ravel(), decided.ravel()),
            both("micro"),
        ),
        judged(
            source,
            "Macro-F1, which can also be called per label F1, calculates the F1 for each label and averages them",
            given,
            of_labels,
            both("macro"),
            ("F1 of mean precision and mean recall, also called macro-F1,", averaged(f1_score, "f_of_averages")),
        ),
        judged(
            source,
            "Per-instance F1 is similar but averages F1 over all examples rather than over each label",
            given,
            of_instances,
            both("samples"),
        ),
    ]


def alternative_metrics(given: list[tuple[Cells, Cells]]) -> list[Claim]:
    """Section 2.2."""
    source, ours, theirs = "Section 2.2", "this library", "scikit-learn"
    off = max(
        float(np.max(np.abs(np.subtract(of_each[~np.isnan(of_each)], [float(x) for x in skills(*pair)]))))
        for pair in given
        for of_each in (np.asarray(skill_score(*pair)),)
    )
    return [
        judged(
            source,
            "accuracy of several labels sums tp and tn for all labels and divides by the number of predictions",
            given,
            accuracy,
            {
                ours: multilabel_accuracy,
                f"{theirs} (one minus hamming_loss)": lambda *pair: 1 - scikit_learn.hamming_loss(*pair),
            },
            ("accuracy_score of both libraries, the share of rows without an error,", scikit_learn.accuracy_score),
        ),
        judged(
            source,
            "Jaccard Index calculates the ratio of the intersection to the union: tp/(tp + fn + fp)",
            given,
            jaccard,
            {ours: averaged(jaccard_score, "micro"), theirs: averaged(scikit_learn.jaccard_score, "micro")},
        ),
        judged(
            source,
            "Skill is Max((Acc(P) - Acc(V)) / (1 - Acc(V)), 0), macro-skill its average across all labels",
            given,
            lambda *pair: mean(skills(*pair)),
            {f"{ours} (labels with both classes; of each {off:.0e})": macro_skill_score},
        ),
    ]


def run(options: Options) -> Results:
    """Judge the definitions of sections 2.1 and 2.2."""
    given = pairs(20 if options.quick else 200)
    return Results([*variations_of_f1(given), *alternative_metrics(given)], {"matrices": len(given)})


if __name__ == "__main__":
    main(__file__, run)
