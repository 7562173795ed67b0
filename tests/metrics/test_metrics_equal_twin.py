"""Every metric against `naive.metrics`, its definition in exact arithmetic, on small cases."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from tests.metrics.targets import indicators, vectors
from tests.naive import metrics as naive
from tests.naive.metrics import Group, Value
from thresholds import metrics as ours

Array = NDArray[np.generic]
CLOSE = 1e-12
ULP = 2.0**-52
BETAS = [1.0, 0.5, 2.0, 1.37, 0.0]
UNDEFINED: dict[float, Value] = {0: Fraction(0), 1: Fraction(1), np.nan: None}
AVERAGES = (None, "micro", "macro", "weighted")
ALPHABETS: list[tuple[object, ...]] = [(0, 1), (0, 1, 2), (-7, 3, 10**12, 4), ("b", "a"), ("x", "", "z", "y")]
nan = float("nan")


@dataclass(frozen=True, eq=False)
class Tiny:
    """A small case; vectors are lists of classes, matrices lists of rows."""

    name: str
    y_true: list[object]
    y_pred: list[object]
    sample_weight: Array | None
    labels: list[object] | None
    beta: float

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.name

    @property
    def exact(self) -> list[Fraction] | None:
        """The weights as rational numbers."""
        return None if self.sample_weight is None else [Fraction(float(w)) for w in self.sample_weight]

    @property
    def given(self) -> dict[str, object]:
        """What the library is told besides truth and predictions."""
        return {"sample_weight": self.sample_weight, "labels": self.labels}


def draw_weights(rng: Generator, n_samples: int) -> Array | None:
    """No weights, integers with zeros, eighths, or reals; never all zero."""
    kind = rng.choice(["none", "none", "integers", "eighths", "reals"])
    if kind == "none":
        return None
    weights: Array = rng.integers(0, 4, n_samples)
    if kind == "eighths":
        weights = rng.integers(0, 17, n_samples) / 8
    if kind == "reals":
        weights = rng.exponential(size=n_samples) * (rng.random(n_samples) < 0.8)
    return weights if weights.sum() > 0 else weights + 1


def tiny_matrices(count: int, seed: int) -> Iterator[Tiny]:
    """`count` pairs of 0/1 matrices."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        n_samples, n_labels = rng.integers(1, 9), rng.integers(1, 6)
        y_true, y_pred = (matrix.tolist() for matrix in indicators(rng, (n_samples, n_labels)))
        some = rng.permutation(n_labels)[: rng.integers(1, n_labels + 1)].tolist()
        labels = some if rng.random() < 0.3 else None
        weights = draw_weights(rng, n_samples)
        yield Tiny(f"{seed}-{i}", y_true, y_pred, weights, labels, float(rng.choice(BETAS)))


def tiny_vectors(count: int, seed: int) -> Iterator[Tiny]:
    """`count` pairs of vectors of classes."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        alphabet = ALPHABETS[i % len(ALPHABETS)]
        n_samples = int(rng.integers(1, 12))
        y_true, y_pred = vectors(rng, alphabet, n_samples)
        labels = list(alphabet[::-1][: rng.integers(1, len(alphabet) + 1)]) if rng.random() < 0.3 else None
        weights = draw_weights(rng, n_samples)
        yield Tiny(f"{seed}-{i}", y_true, y_pred, weights, labels, float(rng.choice(BETAS)))


MATRICES = list(tiny_matrices(60, seed=1))
VECTORS = list(tiny_vectors(60, seed=2))


def close(got: object, expected: Value | list[Value], within: float = CLOSE) -> bool:
    """Whether the number or array is what exact arithmetic gives; None is NaN."""
    many = expected if isinstance(expected, list) else [expected]
    if np.shape(got) != ((len(many),) if isinstance(expected, list) else ()):
        return False
    return np.allclose(got, [nan if v is None else float(v) for v in many], rtol=0, atol=within, equal_nan=True)


def f_beta(beta: float) -> Callable[[Group], Value]:
    """The exact measure."""
    return lambda group: naive.f_beta(group, beta)


def scores(tiny: Tiny) -> dict[str, tuple[Callable[[Group], Value], dict[str, object]]]:
    """Every score of groups with its exact twin and what it is told besides."""
    return {
        "precision_score": (naive.precision, {}),
        "recall_score": (naive.recall, {}),
        "f1_score": (naive.f_beta, {}),
        "fbeta_score": (f_beta(tiny.beta), {"beta": tiny.beta}),
        "jaccard_score": (naive.jaccard, {}),
    }


def check_scores(tiny: Tiny, average: str | None, zero_division: float) -> None:
    """All scores are exact but for rounding."""
    within = CLOSE if tiny.sample_weight is not None else 2 * ULP
    for name, (measure, more) in scores(tiny).items():
        got = getattr(ours, name)(
            tiny.y_true, tiny.y_pred, average=average, zero_division=zero_division, **tiny.given, **more
        )
        undefined, weights = UNDEFINED[zero_division], tiny.exact
        expected = naive.score(measure, tiny.y_true, tiny.y_pred, average, undefined, tiny.labels, weights)
        assert close(got, expected, within), (name, tiny, got, expected)


@pytest.mark.parametrize("zero_division", UNDEFINED)
@pytest.mark.parametrize("average", [*AVERAGES, "samples"])
def test_scores_of_matrices(average: str | None, zero_division: float) -> None:
    for tiny in MATRICES[[*UNDEFINED].index(zero_division) :: 3]:
        check_scores(tiny, average, zero_division)


@pytest.mark.parametrize("zero_division", UNDEFINED)
@pytest.mark.parametrize("average", AVERAGES)
def test_scores_of_vectors(average: str | None, zero_division: float) -> None:
    for tiny in VECTORS[[*UNDEFINED].index(zero_division) :: 3]:
        check_scores(tiny, average, zero_division)


@pytest.mark.parametrize("zero_division", UNDEFINED)
def test_binary_scores(zero_division: float) -> None:
    for tiny in (t for t in VECTORS if len({*t.y_true, *t.y_pred}) == 2):
        for pos_label in {*tiny.y_true, *tiny.y_pred}:
            for name, (measure, more) in scores(tiny).items():
                options = {"pos_label": pos_label, "zero_division": zero_division, **more}
                got = getattr(ours, name)(tiny.y_true, tiny.y_pred, sample_weight=tiny.sample_weight, **options)
                undefined, weights = UNDEFINED[zero_division], tiny.exact
                expected = naive.score(measure, tiny.y_true, tiny.y_pred, None, undefined, [pos_label], weights)
                assert close(got, expected[0]), (name, tiny, pos_label)


@pytest.mark.parametrize("zero_division", UNDEFINED)
@pytest.mark.parametrize("tinies", [MATRICES, VECTORS], ids=["matrices", "vectors"])
def test_f_of_averages(tinies: list[Tiny], zero_division: float) -> None:
    for tiny in tinies[[*UNDEFINED].index(zero_division) :: 3]:
        given = tiny.given | {"average": "f_of_averages", "zero_division": zero_division}
        data, undefined = (tiny.y_true, tiny.y_pred), UNDEFINED[zero_division]
        p, r, f = (
            *(
                naive.score(m, *data, "macro", undefined, tiny.labels, tiny.exact)
                for m in (naive.precision, naive.recall)
            ),
            naive.f_of_averages(*data, tiny.beta, undefined, tiny.labels, tiny.exact),
        )
        assert close(ours.fbeta_score(*data, beta=tiny.beta, **given), f), tiny
        assert close(ours.f1_score(*data, **given), naive.f_of_averages(*data, 1.0, undefined, tiny.labels, tiny.exact))
        assert close(ours.precision_score(*data, **given), p), tiny
        assert close(ours.recall_score(*data, **given), r), tiny
        *got, support = ours.precision_recall_fscore_support(*data, beta=tiny.beta, **given)
        assert all(map(close, got, (p, r, f)))
        assert support is None


@pytest.mark.parametrize("tinies", [MATRICES, VECTORS], ids=["matrices", "vectors"])
def test_accuracy(tinies: list[Tiny]) -> None:
    for tiny in tinies:
        expected = naive.share_of_right_rows(tiny.y_true, tiny.y_pred, tiny.exact)
        assert close(ours.accuracy_score(tiny.y_true, tiny.y_pred, sample_weight=tiny.sample_weight), expected), tiny


def test_multilabel_accuracy() -> None:
    for tiny in MATRICES:
        got = ours.multilabel_accuracy(tiny.y_true, tiny.y_pred, sample_weight=tiny.sample_weight)
        assert type(got) is float
        assert close(got, naive.share_of_right_cells(tiny.y_true, tiny.y_pred, tiny.exact)), tiny


def test_skill_of_matrices() -> None:
    for tiny in MATRICES:
        expected = [naive.skill(group) for group in naive.groups(tiny.y_true, tiny.y_pred, None, tiny.exact)]
        data, given = (tiny.y_true, tiny.y_pred), {"sample_weight": tiny.sample_weight}
        assert close(ours.skill_score(*data, **given), expected), tiny
        assert close(ours.macro_skill_score(*data, **given), naive.mean(expected)), tiny
        score, left_out = ours.macro_skill_score(*data, **given, return_undefined=True)
        assert close(score, naive.mean(expected))
        assert left_out == expected.count(None)


def test_skill_of_vectors() -> None:
    for tiny in VECTORS:
        got = ours.skill_score(tiny.y_true, tiny.y_pred, sample_weight=tiny.sample_weight)
        assert type(got) is float
        assert close(got, naive.vector_skill(tiny.y_true, tiny.y_pred, tiny.exact)), tiny


# AUROC: scores in few levels, so that there are ties

LEVELS = np.array([-np.inf, -2.5, -1.0, 0.0, 0.25, 1.0, 1.0 + 2.0**-20, 3e5])


def draw_scores(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Scores among a few levels in some dtype, or without ties."""
    if rng.random() < 0.3:
        return rng.standard_normal(shape)
    return rng.choice(LEVELS[rng.permutation(len(LEVELS))[: rng.integers(1, 5)]], shape).astype(
        rng.choice(["f4", "f8"])
    )


@cache
def ranked_matrices() -> list[tuple[Tiny, Array, Array, list[Value]]]:
    """Truth, scores and the AUROC of each label."""
    found = []
    for seed, tiny in enumerate(MATRICES):
        truth = np.array(tiny.y_true)
        y_score = draw_scores(np.random.default_rng(seed), truth.shape)
        expected = [naive.auroc(y, s.tolist(), tiny.exact) for y, s in zip(truth.T, y_score.T, strict=True)]
        found.append((tiny, truth, y_score, expected))
    return found


@pytest.mark.parametrize("put", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_auroc_of_matrices(put: Callable[[Array], object]) -> None:
    for tiny, truth, y_score, expected in ranked_matrices():
        data, given = (truth, put(y_score)), {"sample_weight": tiny.sample_weight}
        assert close(ours.auroc(*data, **given), expected), tiny
        assert close(ours.macro_auroc(*data, **given), naive.mean(expected)), tiny
        score, left_out = ours.macro_auroc(*data, **given, return_undefined=True)
        assert close(score, naive.mean(expected))
        assert left_out == expected.count(None)


def test_auroc_of_vectors() -> None:
    for seed, tiny in enumerate(MATRICES):
        truth = np.array(tiny.y_true)[:, 0]
        y_score = draw_scores(np.random.default_rng(seed), truth.shape)
        got = ours.auroc(truth, y_score, sample_weight=tiny.sample_weight)
        assert type(got) is float
        assert close(got, naive.auroc(truth.tolist(), y_score.tolist(), tiny.exact)), tiny


# Counts

RATIOS = {"precision": naive.precision, "recall": naive.recall, "f_score": naive.f_beta}
RATIOS |= {"jaccard": naive.jaccard, "accuracy": naive.accuracy, "skill": naive.skill}


def check_counts(got: object, groups: list[Group], weighted: bool) -> None:
    """The four counts and the ratios of them are those of the groups; without weights they are exact integers."""
    for name in Group._fields:
        counted = getattr(got, name)
        assert counted.dtype.kind == ("f" if weighted else "i")
        assert close(counted, [getattr(g, name) for g in groups], 1e-10 if weighted else 0)
    assert close(got.predicted, [g.tp + g.fp for g in groups], 1e-10)
    assert close(got.positives, [g.tp + g.fn for g in groups], 1e-10)
    for name, measure in RATIOS.items():
        assert close(getattr(got, name)(), [measure(g) for g in groups]), name


@pytest.mark.parametrize("tinies", [MATRICES, VECTORS], ids=["matrices", "vectors"])
def test_confusion_counts(tinies: list[Tiny]) -> None:
    for tiny in tinies:
        weighted = tiny.sample_weight is not None
        groups = naive.groups(tiny.y_true, tiny.y_pred, tiny.labels, tiny.exact)
        got = ours.confusion_counts(tiny.y_true, tiny.y_pred, **tiny.given)
        check_counts(got, groups, weighted)
        check_counts(got.pooled(), [naive.pooled(groups)], weighted)
        assert close(got.f_score(beta=tiny.beta), [naive.f_beta(g, tiny.beta) for g in groups])


def test_confusion_counts_of_rows() -> None:
    for tiny in MATRICES:
        groups = naive.rows(tiny.y_true, tiny.y_pred, tiny.labels)
        got = ours.confusion_counts(tiny.y_true, tiny.y_pred, labels=tiny.labels, samplewise=True)
        check_counts(got, groups, weighted=False)
