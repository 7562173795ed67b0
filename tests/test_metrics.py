"""`metrics.f1_score` and `fbeta_score` against scikit-learn, the exact twin, and published figures."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import naive
import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from sklearn import metrics as theirs

import thresholds
from thresholds import metrics as ours

Array = NDArray[np.generic]
AVERAGES = (None, "micro", "macro", "weighted", "samples")
ZERO_DIVISIONS = ("warn", 0, 1, np.nan)
BETAS = (1.0, 0.5, 2.0, 1.37, 0.01, 30.0)
SHAPES = [(1, 2), (2, 2), (3, 5), (8, 3), (40, 7), (200, 2), (25, 60)]
CLOSE = 1e-12
nan = float("nan")


@dataclass(frozen=True, eq=False)
class Decisions:
    """Truth, predictions and weights of one comparison."""

    name: str
    y_true: NDArray[np.uint8]
    y_pred: NDArray[np.uint8]
    sample_weight: Array | None
    beta: float

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.name


def draw(rng: Generator, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """A 0/1 matrix with now and then an empty label, empty rows, or nothing at all."""
    matrix = rng.random(shape) < rng.choice([0.05, 0.3, 0.7])
    matrix[:, rng.random(shape[1]) < 0.2] = False
    matrix[rng.random(shape[0]) < 0.2] = False
    return matrix.astype(np.uint8) * (rng.random() > 0.05)


def draw_weights(rng: Generator, n_samples: int) -> Array | None:
    """No weights, positive integers, integers with zeros, or reals of many magnitudes."""
    kind = rng.choice(["none", "integers", "zeros", "reals"])
    if kind == "none":
        return None
    if kind == "reals":
        return np.exp(3 * rng.standard_normal(n_samples))
    weights = rng.integers(kind == "integers", 5, n_samples)
    return weights if weights.any() else weights + 1


def draw_decisions(count: int, seed: int) -> Iterator[Decisions]:
    """`count` comparisons; the i-th depends on the seed and i alone."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        shape = SHAPES[i % len(SHAPES)]
        y_true, weights = draw(rng, shape), draw_weights(rng, shape[0])
        y_pred = np.where(rng.random(shape) < 0.7, y_true, draw(rng, shape))
        yield Decisions(f"{seed}-{i}", y_true, y_pred, weights, float(rng.choice(BETAS)))


DECISIONS = list(draw_decisions(84, seed=19790101))
ONE_LABEL = [
    Decisions(d.name, d.y_true[:, 0], d.y_pred[:, 0], d.sample_weight, d.beta) for d in draw_decisions(84, seed=7)
]


def explicit_zeros(matrix: Array) -> sparse.csr_array:
    """A CSR array that stores every cell."""
    n_samples, n_labels = matrix.shape
    starts = np.arange(n_samples + 1) * n_labels
    return sparse.csr_array((matrix.ravel(), np.tile(np.arange(n_labels), n_samples), starts), shape=matrix.shape)


def read_only(matrix: Array) -> Array:
    """A copy that cannot be written."""
    copy = matrix.copy()
    copy.flags.writeable = False
    return copy


CONTAINERS: dict[str, Callable[[Array], object]] = {
    "uint8": lambda x: x,
    "bool": lambda x: x.astype(bool),
    "int64": lambda x: x.astype(np.int64),
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "float64": lambda x: x.astype(np.float64),
    "Fortran order": np.asfortranarray,
    "read-only": read_only,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "list": lambda x: x.tolist(),
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
    "COO matrix": sparse.coo_matrix,
    "CSR of floats": lambda x: sparse.csr_array(x.astype(float)),
    "CSR of bools": lambda x: sparse.csr_array(x.astype(bool)),
    "CSR with explicit zeros": explicit_zeros,
}


def outcome(score: Callable[..., object], *arguments: object, **options: object) -> tuple[object, list[str]]:
    """What a metric returns and the texts of its warnings, which are all of its library's category."""
    category = thresholds.UndefinedMetricWarning if score.__module__ == ours.__name__ else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = score(*arguments, **options)
    if category is not None:
        assert all(warning.category is category for warning in caught)
        assert all(warning.filename == __file__ for warning in caught), "warnings point at the caller"
    return value, [str(warning.message) for warning in caught]


def check_equal(decisions: Decisions, **options: object) -> None:
    """Both libraries give the same number, type and warnings."""
    arguments = (decisions.y_true, decisions.y_pred)
    options |= {"sample_weight": decisions.sample_weight}
    for beta in (None, decisions.beta):
        name, more = ("f1_score", {}) if beta is None else ("fbeta_score", {"beta": beta})
        expected, their_warnings = outcome(getattr(theirs, name), *arguments, **options, **more)
        got, our_warnings = outcome(getattr(ours, name), *arguments, **options, **more)
        assert type(got) is type(expected)
        np.testing.assert_allclose(got, expected, rtol=0, atol=CLOSE, err_msg=f"{decisions} {options} {more}")
        assert our_warnings == their_warnings, (decisions.name, options, more)


def without_any_known_weight(decisions: Decisions, zero_division: object) -> bool:
    """Whether every row of positive weight is 0/0, of which a mean that leaves out 0/0 keeps no weight."""
    if decisions.sample_weight is None or zero_division is not np.nan:
        return False
    known = (decisions.y_true | decisions.y_pred).any(axis=1)
    return not decisions.sample_weight[known].any()


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("average", AVERAGES)
def test_equals_scikit_learn(average: str | None, zero_division: object) -> None:
    for decisions in DECISIONS:
        if average != "samples" or not without_any_known_weight(decisions, zero_division):
            check_equal(decisions, average=average, zero_division=zero_division)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_one_label_equals_scikit_learn(zero_division: object) -> None:
    for decisions in ONE_LABEL:
        check_equal(decisions, average="binary", zero_division=zero_division)
        check_equal(decisions, zero_division=zero_division)  # "binary" is the default


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_do_not_matter(container: str, average: str | None) -> None:
    for decisions in DECISIONS[::4]:
        options = {"average": average, "beta": decisions.beta, "sample_weight": decisions.sample_weight}
        expected = ours.fbeta_score(decisions.y_true, decisions.y_pred, **options, zero_division=1)
        put = CONTAINERS[container]
        truth, predicted = put(decisions.y_true), put(decisions.y_pred)
        for arguments in ((truth, predicted), (truth, decisions.y_pred), (decisions.y_true, predicted)):
            np.testing.assert_array_equal(ours.fbeta_score(*arguments, **options, zero_division=1), expected)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("dense", [True, False])
def test_many_rows_equal_scikit_learn(average: str | None, dense: bool) -> None:
    rng = np.random.default_rng(5)
    put = np.asarray if dense else sparse.csr_array
    truth, predicted = put(draw(rng, (9001, 5))), put(draw(rng, (9001, 5)))
    weights = rng.integers(0, 4, 9001)
    check_equal(Decisions("many rows", truth, predicted, weights, 2.0), average=average, zero_division=0)


def test_memory_maps_are_read(tmp_path: Path) -> None:
    decisions = DECISIONS[4]
    for name in ("y_true", "y_pred"):
        np.save(tmp_path / name, getattr(decisions, name))
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("y_true", "y_pred")]
    expected = ours.f1_score(decisions.y_true, decisions.y_pred, average="macro")
    assert ours.f1_score(*mapped, average="macro") == expected


@pytest.mark.parametrize("average", ["none", "micro", "macro", "weighted", "samples"])
def test_equals_exact_arithmetic(average: str) -> None:
    for decisions in DECISIONS:
        for zero_division in (0.0, 1.0):
            expected = naive.score(
                decisions.y_true, decisions.y_pred, average, decisions.beta, zero_division, decisions.sample_weight
            )
            got = ours.fbeta_score(
                decisions.y_true,
                decisions.y_pred,
                beta=decisions.beta,
                average=None if average == "none" else average,
                sample_weight=decisions.sample_weight,
                zero_division=zero_division,
            )
            np.testing.assert_allclose(got, np.array(expected, float), rtol=0, atol=CLOSE, err_msg=str(decisions))


@pytest.mark.parametrize("average", AVERAGES)
def test_perfect_predictions_score_1_and_nothing_scores_more(average: str | None) -> None:
    rng = np.random.default_rng(3)
    for beta in (*BETAS, *np.exp(2 * rng.standard_normal(50))):
        y_true = rng.integers(0, 2, (13, 7))
        got = ours.fbeta_score(y_true, y_true, beta=float(beta), average=average, zero_division=1)
        assert np.min(got) >= 1 - 1e-15
        assert np.max(got) <= 1, beta


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-60, 0.5, 2.0, 2.0**60, 2.0**900])
def test_only_the_ratios_of_weights_matter(scale: float) -> None:
    decisions = next(d for d in DECISIONS if d.sample_weight is not None and len(d.y_true) > 20)
    for average in AVERAGES:
        expected, got = (
            ours.f1_score(decisions.y_true, decisions.y_pred, average=average, sample_weight=weights, zero_division=0)
            for weights in (decisions.sample_weight, decisions.sample_weight * scale)
        )
        np.testing.assert_array_equal(got, expected)


def test_a_weight_however_small_still_counts() -> None:
    y_true, y_pred = [[1, 0], [0, 1]], [[1, 0], [0, 1]]
    got = ours.f1_score(y_true, y_pred, average=None, sample_weight=[1e300, 1e-300], zero_division=0)
    np.testing.assert_array_equal(got, [1.0, 1.0])


def test_a_row_without_weight_is_absent_from_a_mean_without_undefined_rows() -> None:
    """scikit-learn 1.9 takes the plain mean here, as if the rows left had weights."""
    y_true, y_pred = [[1, 1], [0, 0]], [[1, 0], [0, 0]]
    assert np.isnan(ours.f1_score(y_true, y_pred, average="samples", sample_weight=[0, 1], zero_division=nan))


def test_undefined_is_0_over_0_and_nothing_else() -> None:
    y_true, y_pred = [[0, 1, 0, 1]], [[0, 0, 1, 1]]
    got = [ours.f1_score(y_true, y_pred, average=None, zero_division=value)[:3].tolist() for value in (0, 1)]
    assert got == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_the_default_warns_once_and_gives_0() -> None:
    with pytest.warns(thresholds.UndefinedMetricWarning, match=r"^F-score is ill-defined") as caught:
        assert ours.f1_score([[0, 1]], [[0, 1]], average="macro") == 0.5
    assert len(caught) == 1
    assert issubclass(thresholds.UndefinedMetricWarning, UserWarning)


def test_input_is_not_modified() -> None:
    decisions = DECISIONS[4]
    y_true, y_pred = (explicit_zeros(x) for x in (decisions.y_true, decisions.y_pred))
    ours.f1_score(y_true, y_pred, average="micro", zero_division=0)
    assert y_true.nnz == y_pred.nnz == decisions.y_true.size


# Published figures


def one_hot(classes: list[int], n_classes: int) -> NDArray[np.uint8]:
    """The indicator matrix of single-label classes."""
    return (np.array(classes)[:, None] == np.arange(n_classes)).astype(np.uint8)


def indicator(*counts: tuple[int, int, int]) -> tuple[Array, Array]:
    """Truth and predictions of labels with so many true positives, false positives and false negatives."""
    length = max(map(sum, counts))
    columns = [([1] * tp + [0] * fp + [1] * fn, [1] * tp + [1] * fp + [0] * fn) for tp, fp, fn in counts]
    truth, predicted = (np.array([c[i] + [0] * (length - len(c[i])) for c in columns]).T for i in (0, 1))
    return truth, predicted


def from_confusion(matrix: list[list[int]]) -> tuple[Array, Array]:
    """Truth and predictions of a confusion matrix with predictions in rows."""
    cells = [(p, t) for p, row in enumerate(matrix) for t, n in enumerate(row) for _ in range(n)]
    predicted, truth = zip(*cells, strict=True)
    return one_hot(list(truth), len(matrix)), one_hot(list(predicted), len(matrix))


MULTICLASS = (one_hot([0, 0, 0, 1, 1, 1, 2, 2, 2, 2], 3), one_hot([1, 0, 0, 1, 1, 0, 2, 2, 1, 2], 3))
DETECTION = indicator((2, 1, 1), (1, 3, 0), (3, 0, 3))
PUBLISHED: dict[str, tuple[tuple[object, object], dict[str, object], object]] = {
    # Opitz & Burst 2019, "Macro F1 and macro F1", tables 1 to 3: the mean of the classes' F1
    "Opitz and Burst, table 1": (from_confusion([[100, 10000], [0, 100]]), {"average": "macro"}, 1 / 51),
    "Opitz and Burst, table 2": (
        from_confusion([[3500, 2500, 1500], [5000, 5000, 5000], [1500, 2500, 3500]]),
        {"average": "macro"},
        2 / 5,
    ),
    "Opitz and Burst, table 3": (
        from_confusion([[2000, 1000, 0], [8000, 8000, 8000], [0, 1000, 2000]]),
        {"average": None},
        [4 / 13, 8 / 17, 4 / 13],
    ),
    # Iotespresso, "F1 score in Python": ten instances of three classes
    "Iotespresso, each class": (MULTICLASS, {"average": None}, [2 / 3, 4 / 7, 6 / 7]),
    "Iotespresso, macro": (MULTICLASS, {"average": "macro"}, 44 / 63),
    "Iotespresso, weighted": (MULTICLASS, {"average": "weighted"}, 5 / 7),
    "Iotespresso, micro is the accuracy": (MULTICLASS, {"average": "micro"}, 0.7),
    "micro is no accuracy with several labels": (([[1, 1], [0, 1]], [[1, 0], [0, 0]]), {"average": "micro"}, 0.5),
    # Boyle, "zero_division" in scikit-learn 1.3.0, which gave 103/105 to the first and 1 to the last
    "Boyle, 105 classes": (
        (one_hot([*range(104)], 105), one_hot([*range(100), 101, 102, 103, 104], 105)),
        {"average": "macro", "zero_division": 1.0},
        20 / 21,
    ),
    "Boyle, all wrong": (([[1, 0], [0, 1]], [[0, 1], [1, 0]]), {"average": "macro", "zero_division": nan}, 0.0),
    "Boyle, two wrong of three": (
        (one_hot([0, 1, 2], 3), one_hot([1, 0, 2], 3)),
        {"average": "macro", "zero_division": nan},
        1 / 3,
    ),
    "Boyle, cyclic": (
        (one_hot([0, 1, 2, 3, 4], 5), one_hot([1, 2, 3, 4, 0], 5)),
        {"average": "weighted", "zero_division": 1.0},
        0.0,
    ),
    # Kolena's guide to the F1 score: three classes by their counts
    "Kolena, each class": (DETECTION, {"average": None}, [2 / 3, 2 / 5, 2 / 3]),
    "Kolena, macro": (DETECTION, {"average": "macro"}, 26 / 45),
    "Kolena, micro": (DETECTION, {"average": "micro"}, 3 / 5),
    "Kolena, weighted": (DETECTION, {"average": "weighted"}, 16 / 25),
    # Lipton et al. 2014, section 2.1: true positives count twice in F1, not four times; section 8: one lucky item
    "Lipton et al., one of two": (indicator((1, 1, 0)), {"average": "micro"}, 2 / 3),
    "Lipton et al., one lucky item": (indicator((1, 0, 9)), {"average": "binary"}, 2 / 11),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures(name: str) -> None:
    arguments, options, expected = PUBLISHED[name]
    np.testing.assert_allclose(ours.f1_score(*arguments, **options), expected, rtol=0, atol=1e-15)
