"""Every metric that scikit-learn has gives what scikit-learn gives: the number, its type, the warnings, the refusals.

The deliberate differences are listed in `test_metrics_differ_from_sklearn.py`.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn import metrics as theirs

from tests.metrics.targets import KINDS, Target, indicators, targets, vectors
from tests.outcomes import Outcome, assert_same, outcome
from thresholds import metrics as ours

pytestmark = pytest.mark.each_value

AVERAGES = (None, "binary", "micro", "macro", "weighted", "samples")
ZERO_DIVISIONS = ("warn", 0, 1, np.nan)
ALL_FOUR = "precision_recall_fscore_support"
SCORES = ("f1_score", "fbeta_score", "precision_score", "recall_score", "jaccard_score")
TARGETS = list(targets(200, seed=19790101))
nan = float("nan")


def options(target: Target, name: str, average: str | None, zero_division: object) -> dict[str, object]:
    """All options of a metric."""
    given = {"average": average, "zero_division": zero_division, "labels": target.labels}
    given |= {"pos_label": target.pos_label, "sample_weight": target.sample_weight}
    return given | ({"beta": target.beta} if name in (ALL_FOUR, "fbeta_score") else {})


def plain_support(expected: Outcome, weighted: bool) -> Outcome:
    """The support as floats with weights and as integers without, which scikit-learn mixes up where nothing counts."""
    if isinstance(expected.value, tuple) and expected.value[3] is not None:
        *scores, support = expected.value
        return replace(expected, value=(*scores, support.astype(np.float64 if weighted else np.int64)))
    return expected


def check(name: str, y_true: object, y_pred: object, *where: object, **given: object) -> None:
    """Both libraries do the same."""
    got = outcome(getattr(ours, name), y_true, y_pred, **given)
    expected = outcome(getattr(theirs, name), y_true, y_pred, **given)
    assert_same(got, plain_support(expected, given.get("sample_weight") is not None), name, *where, given)


def some_targets(average: str | None, zero_division: object) -> list[tuple[int, Target]]:
    """A sixth of the targets, of all kinds, with their numbers; other options of either kind have others."""
    k = AVERAGES.index(average) + ZERO_DIVISIONS.index(zero_division)
    return [(i, target) for i, target in enumerate(TARGETS) if (i // 4 + k) % 6 == 0]


def test_the_registry_has_all_kinds() -> None:
    for kind in KINDS:
        assert sum(target.kind == kind for target in TARGETS) > 30
        for average in AVERAGES:
            assert sum(target.kind == kind for _, target in some_targets(average, 0)) > 4
    assert sum(target.labels is not None for target in TARGETS) > 40


@pytest.mark.each_value
@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("average", AVERAGES)
def test_precision_recall_f_and_support(average: str | None, zero_division: object) -> None:
    for _, target in some_targets(average, zero_division):
        check(ALL_FOUR, target.y_true, target.y_pred, target, **options(target, ALL_FOUR, average, zero_division))


@pytest.mark.each_value
@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("average", AVERAGES)
def test_each_score(average: str | None, zero_division: object) -> None:
    """One score of each target, in turn, so that every score meets every kind."""
    for i, target in some_targets(average, zero_division):
        name = SCORES[(i // 4) % len(SCORES)]
        if name != "jaccard_score" or zero_division is not np.nan:  # scikit-learn refuses that
            check(name, target.y_true, target.y_pred, target, **options(target, name, average, zero_division))


@pytest.mark.parametrize("name", [ALL_FOUR, *SCORES])
def test_defaults(name: str) -> None:
    """A score of binary targets is that of their class 1, and warns; each has a fifth of the targets, of all kinds."""
    k = [ALL_FOUR, *SCORES].index(name)
    for target in (target for i, target in enumerate(TARGETS) if (i // 4 + k) % 5 == 0):
        check(name, target.y_true, target.y_pred, target, **({"beta": 2.0} if name == "fbeta_score" else {}))


@pytest.mark.parametrize("normalize", [True, False])
def test_accuracy(normalize: bool) -> None:
    for target in (target for i, target in enumerate(TARGETS) if i // 4 % 2 == normalize):
        given = {"normalize": normalize, "sample_weight": target.sample_weight}
        check("accuracy_score", target.y_true, target.y_pred, target, **given)


@pytest.mark.parametrize("warn_for", [(), ("precision",), ["f-score", "recall"], {"recall"}])
@pytest.mark.parametrize("average", ["macro", "micro", None])
def test_warn_for(average: str | None, warn_for: object) -> None:
    for target in TARGETS[:16]:
        check(ALL_FOUR, target.y_true, target.y_pred, target, average=average, warn_for=warn_for)


@pytest.mark.parametrize("zero_division", [0.0, 1.0, nan, np.float64(1), np.float64(nan)])
def test_numbers_for_zero_division(zero_division: float) -> None:
    check("f1_score", [[0, 1, 0]], [[0, 1, 1]], average="macro", zero_division=zero_division)


@pytest.mark.parametrize("name", [ALL_FOUR, *SCORES, "accuracy_score"])
def test_signatures(name: str) -> None:
    """The same parameters in the same order, with the same defaults; and last, by keyword, what is unknown."""
    got, expected = (inspect.signature(getattr(module, name)).parameters for module in (ours, theirs))
    *same, unknown = [(p.name, p.kind, p.default) for p in got.values()]
    assert same == [(p.name, p.kind, p.default) for p in expected.values()]
    assert unknown == ("unknown", inspect.Parameter.KEYWORD_ONLY, None)


# Sizes beyond a block of rows, and counts beyond narrow integers


def weights_of_rows(n_samples: int) -> list[NDArray[np.generic] | None]:
    """None, integers, and reals."""
    rng = np.random.default_rng(n_samples)
    return [None, rng.integers(0, 4, n_samples), rng.exponential(size=n_samples)]


def check_everywhere(y_true: object, y_pred: object, n_samples: int, *, samples: bool, every: bool = True) -> None:
    """Both libraries do the same for all averages and weights, in every combination or all of both."""
    averages = (None, "micro", "macro", "weighted", *(["samples"] if samples else []))
    for k, sample_weight in enumerate(weights_of_rows(n_samples)):
        check("accuracy_score", y_true, y_pred, sample_weight=sample_weight)
        for average in averages if every else averages[k::3]:
            for name in (ALL_FOUR, "jaccard_score"):
                check(name, y_true, y_pred, average=average, sample_weight=sample_weight)


PUTS: dict[str, tuple[Callable[..., object], Callable[..., object]]] = {
    "dense": (np.asarray, np.asarray),
    "sparse": (sparse.csr_array, sparse.csc_array),
    "mixed": (np.asarray, sparse.csr_array),
    "bool": (lambda x: x.astype(bool), lambda x: x.astype(bool)),
    "Fortran order": (np.asfortranarray, np.asfortranarray),
}


@pytest.mark.each_value
@pytest.mark.parametrize("put", PUTS)
@pytest.mark.parametrize("shape", [(4096, 2), (9001, 5), (70_000, 3), (300, 1000)])
def test_many_rows_of_labels(shape: tuple[int, int], put: str) -> None:
    matrices = indicators(np.random.default_rng(shape), shape)
    y_true, y_pred = (to(x) for to, x in zip(PUTS[put], matrices, strict=True))
    check_everywhere(y_true, y_pred, shape[0], samples=True, every=put == "dense" and shape == (9001, 5))


@pytest.mark.each_value
@pytest.mark.parametrize("n_classes", [2, 7, 300])
@pytest.mark.parametrize("n_samples", [4097, 9001, 70_000])
def test_many_rows_of_classes(n_samples: int, n_classes: int) -> None:
    truth, predicted = vectors(np.random.default_rng(n_classes), tuple(range(n_classes)), n_samples)
    check_everywhere(
        np.array(truth), np.array(predicted), n_samples, samples=False, every=(n_samples, n_classes) == (9001, 7)
    )


@pytest.mark.parametrize("dtype", ["U20", object])
def test_many_rows_of_strings(dtype: object) -> None:
    classes = tuple(f"class {i}" for i in range(300))
    truth, predicted = vectors(np.random.default_rng(1), classes, 9001)
    check_everywhere(np.array(truth, dtype), np.array(predicted, dtype), 9001, samples=False, every=dtype == "U20")


BEYOND = (255, 256, 257, 65_535, 65_536, 65_537, 100_000)


@pytest.mark.parametrize(
    ("n_samples", "put"), [(n, put) for i, n in enumerate(BEYOND) for put in ("dense", list(PUTS)[1 + i % 4])]
)
def test_counts_beyond_narrow_integers(n_samples: int, put: str) -> None:
    """Every cell is a true positive but for one."""
    y_true, y_pred = np.ones((2, n_samples, 2), np.uint8)
    y_pred[-1, 1] = 0
    truth, predicted = (to(x) for to, x in zip(PUTS[put], (y_true, y_pred), strict=True))
    for average in (None, "micro", "samples"):
        check(ALL_FOUR, truth, predicted, average=average)
    check(ALL_FOUR, y_true[:, 1], y_pred[:, 1], average=None)


# Odd corners

CORNERS: dict[str, tuple[object, object, dict[str, object]]] = {
    "one class, which is not pos_label": ([0, 0], [0, 0], {}),
    "one class, another one": ([2, 2], [2, 2], {}),
    "one class of strings": (["a", "a"], ["a", "a"], {"pos_label": "b"}),
    "pos_label None": ([0, 1], [1, 1], {"pos_label": None, "average": "macro"}),
    "pos_label of a matrix": ([[0, 1]], [[1, 1]], {"pos_label": "cat", "average": "macro"}),
    "pos_label True": ([0, 1], [1, 1], {"pos_label": True}),
    "pos_label True of booleans": ([False, True], [True, True], {"pos_label": True}),
    "pos_label of another type": (np.array([0.0, 1.0]), [1, 1], {"pos_label": 1}),
    "booleans and integers": ([True, False, True], [0, 1, 1], {"average": None}),
    "integers and floats": ([2, 3, 4, 4], np.array([2.0, 4.0, 4.0, 4.0]), {"average": None}),
    "integers of two types": (np.array([255, 3, 4], np.uint8), np.array([-1, 3, 4], np.int8), {"average": None}),
    "strings of two lengths": (np.array(["a", "b", "c"]), np.array(["a", "long", "b"]), {"average": None}),
    "a list and objects": (["a", "b", "c"], np.array(["a", "a", "c"], object), {"average": None}),
    "trailing spaces": (["a", "a ", "b"], ["a ", "a ", "b"], {"average": None}),
    "no label occurs": ([0, 1], [0, 1], {"average": "macro", "labels": [7, 8]}),
    "labels longer than the classes": (["a", "b"], ["a", "b"], {"average": None, "labels": ["a", "longer"]}),
    "labels of another type": ([0, 1, 2], [0, 1, 1], {"average": None, "labels": np.array([2.0, 1.0])}),
    "labels of a tuple": ([0, 1, 2], [0, 1, 1], {"average": "micro", "labels": (2, 1)}),
    "one label of a matrix": ([[0, 1]], [[1, 1]], {"average": "samples", "labels": [1]}),
    "weights of booleans": ([0, 1, 2], [0, 1, 1], {"average": None, "sample_weight": [True, False, True]}),
    "weights of float32": ([0, 1], [0, 1], {"average": None, "sample_weight": np.array([0.1, 0.2], np.float32)}),
    "all of a matrix": ([[1, 1], [1, 1]], [[1, 1], [1, 1]], {"average": None}),
    "nothing of a matrix": ([[0, 0], [0, 0]], [[0, 0], [0, 0]], {"average": "samples"}),
    "nothing stored": (sparse.csr_array((3, 2)), sparse.csr_array((3, 2)), {"average": "macro"}),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_corners(corner: str) -> None:
    y_true, y_pred, given = CORNERS[corner]
    for name in (ALL_FOUR, "f1_score", "jaccard_score"):
        check(name, y_true, y_pred, **given)


REFUSED: dict[str, tuple[object, object, dict[str, object]]] = {
    "another length": ([0, 1, 1], [0, 1], {}),
    "another number of labels": ([[0, 1]], [[0, 1, 1]], {"average": "macro"}),
    "a matrix and a vector": ([[0, 1], [1, 0]], [0, 1], {"average": "macro"}),
    "strings and numbers": (["a", "b"], [0, 1], {"average": "macro"}),
    "nothing": ([], [], {"average": "macro"}),
    "fractions": ([0.5, 1.0], [0.5, 1.0], {"average": "macro"}),
    "fractions predicted": ([0, 1], [0.2, 0.7], {"average": "macro"}),
    "NaN": ([0.0, nan], [0.0, 1.0], {"average": "macro"}),
    "several classes of each row": ([[0, 2], [1, 3]], [[0, 2], [1, 3]], {"average": "macro"}),
    "three dimensions": (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), {"average": "macro"}),
    "samples of a vector": ([0, 1], [0, 1], {"average": "samples"}),
    "binary of three classes": ([0, 1, 2], [0, 1, 2], {}),
    "binary of a matrix": ([[0, 1]], [[0, 1]], {}),
    "bad pos_label": ([0, 1], [0, 1], {"pos_label": 2}),
    "bad pos_label of strings": (["a", "b"], ["a", "b"], {}),
    "pos_label None of two classes": ([0, 1], [0, 1], {"pos_label": None}),
    "labels beyond the columns": ([[0, 1]], [[0, 1]], {"average": None, "labels": [2]}),
    "labels below the columns": ([[0, 1]], [[0, 1]], {"average": None, "labels": [-1]}),
    "unknown average": ([0, 1], [0, 1], {"average": "median"}),
    "unknown zero_division": ([0, 1], [0, 1], {"zero_division": 0.5}),
    "too few weights": ([0, 1], [0, 1], {"sample_weight": [1.0]}),
    "weights of NaN": ([0, 1], [0, 1], {"sample_weight": [1.0, nan]}),
    "weights of zero": ([0, 1], [0, 1], {"sample_weight": [0, 0]}),
    "one weight": ([0, 1], [0, 1], {"sample_weight": 2.0}),
}


@pytest.mark.parametrize("bad", REFUSED)
def test_refusals(bad: str) -> None:
    y_true, y_pred, given = REFUSED[bad]
    for name in ("f1_score", "jaccard_score"):  # "binary" where nothing is said
        assert outcome(getattr(theirs, name), y_true, y_pred, **given).error
        assert outcome(getattr(ours, name), y_true, y_pred, **given).error
