"""Rules of the metrics that no other library decides: input of any form, weights of any size, 0/0, warnings."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.metrics.targets import BETAS, SHAPES, draw_weights, indicators
from tests.outcomes import outcome
from thresholds import metrics

Array = NDArray[np.generic]
AVERAGES = (None, "micro", "macro", "weighted", "samples", "f_of_averages")
nan = float("nan")
PRECISION, RECALL = (
    f"{name} is ill-defined and being set to 0.0 in labels with no {lacking} samples."
    " Use `zero_division` parameter to control this behavior."
    for name, lacking in (("Precision", "predicted"), ("Recall", "true"))
)


def draw(i: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Array | None]:
    """Truth, predictions and weights."""
    rng = np.random.default_rng([7, i])
    shape = SHAPES[i % len(SHAPES)]
    return *indicators(rng, shape), draw_weights(rng, shape[0])


DECISIONS = [draw(i) for i in range(35)]


# The form of the input


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


def unsorted(matrix: Array) -> sparse.csr_array:
    """A CSR array whose rows store their columns from the last to the first."""
    csr = sparse.csr_array(matrix[:, ::-1])
    return sparse.csr_array((csr.data, matrix.shape[1] - 1 - csr.indices, csr.indptr), shape=matrix.shape)


def foreign(matrix: Array) -> sparse.csr_array:
    """A CSR array with big-endian cells and unsigned, big-endian indices."""
    csr = sparse.csr_array(matrix)
    csr.data, csr.indices, csr.indptr = csr.data.astype(">f4"), csr.indices.astype(">u4"), csr.indptr.astype("u8")
    return csr


CONTAINERS: dict[str, Callable[[Array], object]] = {
    "bool": lambda x: x.astype(bool),
    "int8": lambda x: x.astype(np.int8),
    "uint64": lambda x: x.astype(np.uint64),
    "big-endian": lambda x: x.astype(">i4"),
    "float16": lambda x: x.astype(np.float16),
    "float64": lambda x: x.astype(np.float64),
    "objects": lambda x: x.astype(object),
    "Fortran order": np.asfortranarray,
    "bool in Fortran order": lambda x: np.asfortranarray(x.astype(bool)),
    "read-only": read_only,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "strided bool": lambda x: np.repeat(x.astype(bool), 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "list": lambda x: x.tolist(),
    "list of rows": list,
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
    "COO matrix": sparse.coo_matrix,
    "LIL": sparse.lil_array,
    "CSR of floats": lambda x: sparse.csr_array(x.astype(float)),
    "CSR of bools": lambda x: sparse.csr_array(x.astype(bool)),
    "CSR with explicit zeros": explicit_zeros,
    "CSR with unsorted columns": unsorted,
    "CSR of foreign parts": foreign,
}


@pytest.mark.each_value
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_do_not_matter(container: str, average: str | None) -> None:
    """Of every shape, with `labels` and without them in turn."""
    put, first = CONTAINERS[container], len(SHAPES) * (([*CONTAINERS].index(container) + AVERAGES.index(average)) % 2)
    for i, (y_true, y_pred, weights) in enumerate(DECISIONS[first : first + len(SHAPES)], first):
        more = {"labels": [y_true.shape[1] - 1, 0]} if i % 2 else {}
        options = {"average": average, "sample_weight": weights, "zero_division": 1, **more}
        expected = metrics.f1_score(y_true, y_pred, **options)
        for arguments in ((put(y_true), put(y_pred)), (put(y_true), y_pred), (y_true, put(y_pred))):
            np.testing.assert_array_equal(metrics.f1_score(*arguments, **options), expected)


VECTORS: dict[str, Callable[[Array], object]] = {
    "list": lambda x: x.tolist(),
    "tuple": tuple,
    "float32": lambda x: x.astype(np.float32),
    "big-endian": lambda x: x.astype(">i8"),
    "objects": lambda x: x.astype(object),
    "read-only": read_only,
    "strided": lambda x: np.repeat(x, 3)[::3],
    "reversed": lambda x: x[::-1].copy()[::-1],
}


@pytest.mark.parametrize("container", VECTORS)
def test_containers_of_classes_do_not_matter(container: str) -> None:
    put, rng = VECTORS[container], np.random.default_rng(1)
    y_true, y_pred = rng.integers(-3, 4, (2, 500))
    expected = metrics.precision_recall_fscore_support(y_true, y_pred)
    for arguments in ((put(y_true), put(y_pred)), (put(y_true), y_pred), (y_true, put(y_pred))):
        np.testing.assert_array_equal(metrics.precision_recall_fscore_support(*arguments), expected)
        assert metrics.skill_score(*arguments) == metrics.skill_score(y_true, y_pred)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([-(2**63), 2**63 - 1]),
        np.array([float(-(2**63)), 0]),
        np.array([60_000, 0], np.float16),
        np.array([np.True_, np.False_], object),
        np.array([2**62, -5], object),
        ["a\0", "a"],
    ],
)
def test_classes_at_the_edge_of_what_is_legal(classes: object) -> None:
    np.testing.assert_array_equal(metrics.f1_score(classes, classes, average=None), [1, 1])


def test_truth_values_of_numpy_name_a_class() -> None:
    assert metrics.f1_score([False, True], [True, True], pos_label=np.True_) == pytest.approx(2 / 3)


def test_memory_maps_are_read(tmp_path: Path) -> None:
    y_true, y_pred, _ = DECISIONS[4]
    for name, matrix in (("true", y_true), ("pred", y_pred)):
        np.save(tmp_path / name, matrix)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("true", "pred")]
    expected = metrics.f1_score(y_true, y_pred, average="macro", zero_division=0)
    assert metrics.f1_score(*mapped, average="macro", zero_division=0) == expected


def test_input_is_not_modified() -> None:
    y_true, y_pred, _ = DECISIONS[4]
    stored = explicit_zeros(y_true), unsorted(y_pred)
    before = [part.copy() for matrix in stored for part in (matrix.data, matrix.indices, matrix.indptr)]
    for labels in (None, [1, 0]):
        metrics.f1_score(*stored, average="micro", labels=labels)
    after = [part for matrix in stored for part in (matrix.data, matrix.indices, matrix.indptr)]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


# One label


def test_one_column_is_one_label() -> None:
    y_true, y_pred = np.array([0, 1, 1, 0, 1]), np.array([1, 1, 0, 0, 1])
    for put in (np.asarray, sparse.csr_array):
        columns = put(y_true[:, None]), put(y_pred[:, None])
        for average in ("binary", "micro", "macro", "weighted", "f_of_averages"):
            assert metrics.f1_score(*columns, average=average) == pytest.approx(2 / 3, abs=1e-15)
        np.testing.assert_allclose(metrics.f1_score(*columns, average=None), [2 / 3])
        assert metrics.f1_score(*columns, pos_label=0) == metrics.f1_score(y_true, y_pred, pos_label=0) == 0.5
        np.testing.assert_array_equal(metrics.skill_score(*columns), [metrics.skill_score(y_true, y_pred)])
        assert metrics.multilabel_accuracy(*columns) == metrics.accuracy_score(*columns) == 0.6
    assert metrics.multilabel_accuracy(y_true, y_pred) == metrics.accuracy_score(y_true, y_pred) == 0.6


def test_a_column_beside_a_vector_is_refused() -> None:
    """A column is one label, a vector two classes; "binary" is the same for both."""
    vector, column = [0, 1, 1], [[1], [1], [0]]
    assert metrics.f1_score(vector, column) == metrics.f1_score(column, vector) == 0.5
    for arguments, message in (
        ((vector, column), r"\(3, 1\), expected \(3,\)"),
        ((column, vector), r"\(3,\), expected"),
    ):
        with pytest.raises(thresholds.InputError, match=r"^y_pred has shape " + message):
            metrics.f1_score(*arguments, average="macro")


def broken(**parts: Array) -> sparse.csr_array:
    """A sparse column that says 1, 0, 0, with some of its arrays replaced."""
    column = sparse.csr_array([[1], [0], [0]])
    for name, part in parts.items():
        setattr(column, name, part)
    return column


BROKEN: dict[str, Callable[[], object]] = {
    "no column 1": lambda: broken(indices=np.array([1], np.int32)),
    "falling pointers": lambda: broken(indptr=np.array([0, 1, 0, 1], np.int32)),
    "a cell stored twice": lambda: sparse.coo_array(([1, 1], ([0, 0], [0, 0])), shape=(3, 1)),
}


@pytest.mark.parametrize("average", ["binary", "macro"])
@pytest.mark.parametrize("what", BROKEN)
def test_a_sparse_column_is_checked_before_it_is_read(what: str, average: str) -> None:
    for arguments in ((BROKEN[what](), [[1], [0], [0]]), ([[1], [0], [0]], BROKEN[what]())):
        with pytest.raises(thresholds.InputError, match=r"^y_(true|pred) (has|is)"):
            metrics.f1_score(*arguments, average=average)


@pytest.mark.parametrize("pos_label", [[1], {"cat": 1}, np.array([1, 0]), (0, 1)])
@pytest.mark.parametrize("y", [[1, 1], [0, 1]])
def test_pos_label_is_one_class(y: list[int], pos_label: object) -> None:
    with pytest.raises(thresholds.InputError, match=r"^pos_label"):
        metrics.f1_score(y, y, pos_label=pos_label)


# Rounding and weights


@pytest.mark.parametrize("average", AVERAGES)
def test_perfect_predictions_score_1_and_nothing_scores_more(average: str | None) -> None:
    rng = np.random.default_rng(3)
    for beta in (*BETAS, *np.exp(2 * rng.standard_normal(50))):
        y_true = rng.integers(0, 2, (13, 7))
        got = metrics.fbeta_score(y_true, y_true, beta=float(beta), average=average, zero_division=1)
        assert np.min(got) >= 1 - 1e-15
        assert np.max(got) <= 1, beta


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-60, 0.5, 2.0, 2.0**60, 2.0**900])
def test_only_the_ratios_of_weights_matter(scale: float) -> None:
    rng = np.random.default_rng(4)
    y_true, y_pred = indicators(rng, (40, 7))
    weights = np.exp(3 * rng.standard_normal(40))
    for average in AVERAGES:
        expected, got = (
            metrics.f1_score(y_true, y_pred, average=average, sample_weight=w, zero_division=0)
            for w in (weights, weights * scale)
        )
        np.testing.assert_array_equal(got, expected)
    for measure in (metrics.accuracy_score, metrics.multilabel_accuracy, metrics.skill_score, metrics.auroc):
        expected, got = (measure(y_true, y_pred, sample_weight=w) for w in (weights, weights * scale))
        np.testing.assert_array_equal(got, expected)


def test_a_weight_however_small_still_counts() -> None:
    y_true, y_pred = [[1, 0], [0, 1]], [[1, 0], [0, 1]]
    got = metrics.f1_score(y_true, y_pred, average=None, sample_weight=[1e300, 1e-300], zero_division=0)
    np.testing.assert_array_equal(got, [1.0, 1.0])


def test_a_row_without_weight_is_absent() -> None:
    y_true, y_pred = [[1, 1], [0, 0]], [[1, 0], [0, 0]]
    assert np.isnan(metrics.f1_score(y_true, y_pred, average="samples", sample_weight=[0, 1], zero_division=nan))
    counts = metrics.confusion_counts(y_true, y_pred, sample_weight=[0, 1])
    assert counts.positives.tolist() == counts.predicted.tolist() == [0, 0]


# 0/0


def test_undefined_is_0_over_0_and_nothing_else() -> None:
    y_true, y_pred = [[0, 1, 0, 1]], [[0, 0, 1, 1]]
    got = [metrics.f1_score(y_true, y_pred, average=None, zero_division=value)[:3].tolist() for value in (0, 1)]
    assert got == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    counts = metrics.confusion_counts(y_true, y_pred)
    np.testing.assert_array_equal(counts.f_score(), [nan, 0, 0, 1])
    np.testing.assert_array_equal(counts.precision(), [nan, nan, 0, 1])
    np.testing.assert_array_equal(counts.recall(), [nan, 0, nan, 1])
    np.testing.assert_array_equal(counts.jaccard(), [nan, 0, 0, 1])
    np.testing.assert_array_equal(counts.accuracy(), [1, 0, 0, 1])
    np.testing.assert_array_equal(counts.skill(), [nan, nan, nan, nan])


@pytest.mark.parametrize("measure", [metrics.macro_skill_score, metrics.macro_auroc])
def test_a_mean_of_nothing_is_nan(measure: Callable[..., object]) -> None:
    y_true = [[0, 1], [0, 1]]
    assert np.isnan(measure(y_true, [[0, 1], [1, 1]]))
    score, left_out = measure(y_true, [[0, 1], [1, 1]], return_undefined=True)
    assert np.isnan(score)
    assert (left_out, type(left_out), type(score)) == (2, int, float)


# F of averages

APART = ([[1, 1, 0], [1, 0, 0], [0, 0, 0]], [[1, 1, 0], [0, 1, 0], [0, 1, 0]])  # P 1, 1/3, 0/0; R 1/2, 1, 0/0


@pytest.mark.parametrize(("zero_division", "p", "r"), [(0, 4 / 9, 1 / 2), (1, 7 / 9, 5 / 6), (nan, 2 / 3, 3 / 4)])
def test_f_of_averages_is_f_of_mean_precision_and_mean_recall(zero_division: float, p: float, r: float) -> None:
    options = {"average": "f_of_averages", "zero_division": zero_division}
    assert metrics.precision_score(*APART, **options) == pytest.approx(p, abs=1e-15)
    assert metrics.recall_score(*APART, **options) == pytest.approx(r, abs=1e-15)
    assert metrics.f1_score(*APART, **options) == pytest.approx(2 * p * r / (p + r), abs=1e-15)
    assert metrics.fbeta_score(*APART, beta=2.0, **options) == pytest.approx(5 * p * r / (4 * p + r), abs=1e-15)


def test_f_of_averages_warns_where_precision_or_recall_is_undefined() -> None:
    undefined = "UndefinedMetricWarning"
    warned = {"precision_score": [PRECISION], "recall_score": [RECALL], "f1_score": [PRECISION, RECALL]}
    for name, texts in (warned | {"precision_recall_fscore_support": [PRECISION, RECALL]}).items():
        got = outcome(getattr(metrics, name), *APART, average="f_of_averages")
        assert got.warned == [(undefined, text) for text in texts], name
    assert outcome(metrics.f1_score, [0, 1, 1], [0, 1, 0], average="f_of_averages").warned == []


@pytest.mark.parametrize(
    ("warn_for", "expected"),
    [
        (("precision", "recall", "f-score"), [PRECISION, RECALL]),
        (("f-score",), [PRECISION, RECALL]),
        (("recall",), [RECALL]),
        ((), []),
    ],
)
def test_f_of_averages_warns_of_each_part_once(warn_for: tuple[str, ...], expected: list[str]) -> None:
    given = {"average": "f_of_averages", "warn_for": warn_for}
    found = outcome(metrics.precision_recall_fscore_support, [[1, 0], [1, 0]], [[0, 1], [0, 1]], **given)
    assert [text for _, text in found.warned] == expected


def test_f_of_averages_is_0_where_nothing_is_right() -> None:
    assert metrics.f1_score([0, 1], [1, 0], average="f_of_averages") == 0
    assert metrics.f1_score([[1, 0]], [[0, 0]], average="f_of_averages", zero_division=0) == 0
    assert np.isnan(metrics.f1_score([[0, 0]], [[0, 0]], average="f_of_averages", zero_division=nan))


def test_jaccard_has_no_f_of_averages() -> None:
    with pytest.raises(thresholds.InputError, match=r"^average is 'f_of_averages'"):
        metrics.jaccard_score([0, 1], [0, 1], average="f_of_averages")
