"""Truth that is not known: how it is said, what is refused, and that items leave it out to the last bit."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse

from thresholds import InputError, _checks, metrics
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import blanked, known_weights


def library(name: str) -> Any:
    """A library of frames, without which a test is skipped."""
    return pytest.importorskip(name, reason=f"make test-integrations installs {name}")


# The same truth, the second cell of the first row and the first of the last not known.
KNOWN = np.array([[1, 0], [0, 1], [0, 1]])
UNKNOWN = np.array([[False, True], [False, False], [True, False]])
FLOATS = np.where(UNKNOWN, np.nan, KNOWN)
CODES = np.where(UNKNOWN, -1, KNOWN)

WITHOUT_VALUE: dict[str, Callable[[], Any]] = {
    "array": lambda: FLOATS,
    "float16": lambda: FLOATS.astype(np.float16),
    "list": lambda: FLOATS.tolist(),
    "None": lambda: [[1, None], [0, 1], [None, True]],
    "object array": lambda: np.array([[1, None], [0, 1], [np.nan, 1]], object),
    "masked array": lambda: np.ma.array(KNOWN, mask=UNKNOWN),
    "masked rows": lambda: [np.ma.array(row, mask=mask) for row, mask in zip(KNOWN, UNKNOWN, strict=True)],
    "pandas": lambda: pd.DataFrame(FLOATS, columns=["a", "b"]),
    "pandas Int64": lambda: pd.DataFrame(FLOATS, columns=["a", "b"]).astype("Int64"),
    "pandas boolean": lambda: pd.DataFrame(FLOATS, columns=["a", "b"]).astype("boolean"),
    "pandas objects": lambda: pd.DataFrame({"a": [1, 0, pd.NA], "b": [None, 1, True]}, dtype=object),
    "pandas mixed": lambda: pd.DataFrame({"a": [1, 0, None], "b": pd.array([None, True, True], "boolean")}),
    "pandas Arrow": lambda: (
        library("pyarrow") and pd.DataFrame(FLOATS, columns=["a", "b"]).astype("Int64").astype("int8[pyarrow]")
    ),
    "Polars": lambda: library("polars").DataFrame({"a": [1, 0, None], "b": [None, True, True]}),
    "Arrow": lambda: library("pyarrow").table({"a": [1, 0, None], "b": [None, True, True]}),
    "sparse": lambda: sparse.csr_array(FLOATS),
    "sparse columns": lambda: sparse.csc_matrix(FLOATS),
}
NUMBERS: dict[str, Callable[[], Any]] = {
    "integers": lambda: CODES.astype(np.int8),
    "floats": lambda: CODES.astype(np.float32),
    "list": lambda: CODES.tolist(),
    "pandas": lambda: pd.DataFrame(CODES, columns=["a", "b"]),
    "Polars": lambda: library("polars").DataFrame(CODES, schema=["a", "b"]),
    "sparse": lambda: sparse.csr_array(CODES),
}


def dense(matrix: Any) -> NDArray[Any]:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


@pytest.mark.each_value
@pytest.mark.parametrize("form", WITHOUT_VALUE)
@pytest.mark.parametrize("said", ["nan", np.nan, np.float32(np.nan)])
def test_cells_without_a_value_are_read(form: str, said: object) -> None:
    truth = _checks.truth(WITHOUT_VALUE[form](), said)
    assert truth.unknown is not None
    assert (dense(truth.cells) == np.where(UNKNOWN, 0, KNOWN)).all()
    assert (dense(truth.unknown) == UNKNOWN).all()


@pytest.mark.parametrize("form", NUMBERS)
@pytest.mark.parametrize("said", [-1, -1.0, np.int8(-1)])
def test_numbers_are_read(form: str, said: object) -> None:
    truth = _checks.truth(NUMBERS[form](), said)
    assert truth.unknown is not None
    assert (dense(truth.cells) == np.where(UNKNOWN, 0, KNOWN)).all()
    assert (dense(truth.unknown) == UNKNOWN).all()


@pytest.mark.parametrize("form", WITHOUT_VALUE)
def test_without_the_option_they_are_refused_and_the_option_is_named(form: str) -> None:
    with pytest.raises(InputError, match=r"^y_true (has|cannot) .*unknown='nan' leaves cells out"):
        _checks.pair(WITHOUT_VALUE[form](), np.zeros((3, 2)))


@pytest.mark.parametrize("form", NUMBERS)
def test_negative_numbers_are_refused_and_the_option_is_named(form: str) -> None:
    with pytest.raises(InputError, match=r"^y_true has -1(\.0)? at row 0, .*; unknown=-1 leaves cells out"):
        _checks.pair(NUMBERS[form](), np.zeros((3, 2)))


def test_scores_and_predictions_are_never_unknown() -> None:
    with pytest.raises(InputError, match=r"^y_score has NaN at row 0, label 1, expected real scores$"):
        _checks.pair(KNOWN, FLOATS, unknown="nan")
    with pytest.raises(InputError, match=r"^y_pred has NaN at row 0, label 1, expected only 0 and 1$"):
        _checks.indicator(FLOATS, "y_pred")


# The same truth: what is not known lacks a value in the first row, and is -1 in the last.
BOTH = np.array([[1, np.nan], [0, 1], [-1, 1]])
SEVERAL: dict[str, Callable[[], Any]] = {
    "array": lambda: BOTH,
    "float16": lambda: BOTH.astype(np.float16),
    "list": lambda: BOTH.tolist(),
    "None": lambda: [[1, None], [0, 1], [-1, True]],
    "object array": lambda: np.array([[1, pd.NA], [0, 1], [-1, 1]], object),
    "masked array": lambda: np.ma.array(CODES, mask=np.isnan(BOTH)),
    "pandas": lambda: pd.DataFrame(BOTH, columns=["a", "b"]),
    "pandas Int8": lambda: pd.DataFrame(BOTH, columns=["a", "b"]).astype("Int8"),
    "pandas objects": lambda: pd.DataFrame({"a": [1, 0, -1], "b": [pd.NA, 1, True]}, dtype=object),
    "Polars": lambda: library("polars").DataFrame({"a": [1, 0, -1], "b": [None, True, True]}),
    "Arrow": lambda: library("pyarrow").table({"a": [1, 0, -1], "b": [None, 1, 1]}),
    "sparse": lambda: sparse.csr_array(BOTH),
    "sparse columns": lambda: sparse.csc_matrix(BOTH),
}


@pytest.mark.each_value
@pytest.mark.parametrize("form", SEVERAL)
@pytest.mark.parametrize(
    "said",
    [("nan", -1), ["nan", -1], {-1.0, "nan"}, frozenset({np.nan, -1}), np.array([np.nan, -1]), (-1, -2, "nan", "nan")],
    ids=["tuple", "list", "set", "frozen set", "array", "three"],
)
def test_several_things_stand_for_it(form: str, said: object) -> None:
    truth = _checks.truth(SEVERAL[form](), said)
    assert truth.unknown is not None
    assert (dense(truth.cells) == np.where(UNKNOWN, 0, KNOWN)).all()
    assert (dense(truth.unknown) == UNKNOWN).all()


@pytest.mark.parametrize("form", SEVERAL)
def test_what_is_not_said_is_named_beside_what_is(form: str) -> None:
    both = re.escape("unknown=('nan', -1) leaves cells out whose truth is not known")
    with pytest.raises(InputError, match=rf"^y_true has -1(\.0)? at row 2, .*; {both}$"):
        _checks.pair(SEVERAL[form](), np.full((3, 2), 0.5), unknown="nan")
    with pytest.raises(InputError, match=rf"^y_true .*; {both}$"):
        _checks.pair(SEVERAL[form](), np.full((3, 2), 0.5), unknown=-1)


def test_classes_of_which_several_things_are_not_known() -> None:
    given = np.array(["cat", None, -1, "dog", "cat"], object)
    predicted = np.array(["cat", "dog", "cat", "cat", "cat"], object)
    found = metrics.f1_score(given, predicted, average=None, unknown=("nan", -1))
    assert found.tolist() == metrics.f1_score(given[[0, 3, 4]], predicted[[0, 3, 4]], average=None).tolist()
    with pytest.raises(InputError, match=r"unknown=\('nan', -1\) leaves cells out"):
        metrics.f1_score([1, None, -1, 0], [1, 0, 1, 0], average="macro", unknown=-1)


@pytest.mark.parametrize(
    "said",
    ["NaN", "nam", "", "nan,-1", 0, 1, 1.0, True, np.inf, pd.NA, (), [], ("nan", 0), [-1, None], {True}, [[-1]]],
)
def test_what_it_may_not_be(said: object) -> None:
    with pytest.raises(InputError, match=rf"^unknown is {re.escape(repr(said))}, expected 'nan', a number other than"):
        _checks.truth(KNOWN, said)


def test_nothing_else_stands_for_it() -> None:
    """A number that was not said is as wrong as ever, and so is NaN beside a number."""
    with pytest.raises(InputError, match="y_true has -1 at row 0, label 1, expected only 0 and 1"):
        _checks.truth(CODES, -2)
    with pytest.raises(InputError, match="y_true has NaN at row 0, label 1, expected only 0 and 1"):
        _checks.truth(FLOATS, -1)
    with pytest.raises(InputError, match="y_true has masked cells, expected none"):
        _checks.truth(np.ma.array(KNOWN, mask=UNKNOWN), -1)


def test_nothing_known_is_refused() -> None:
    for nothing in (np.full((2, 2), np.nan), sparse.csr_array(np.full((2, 2), np.nan))):
        with pytest.raises(InputError, match=r"^y_true has no known cell, expected at least one$"):
            Problem.of(nothing, np.zeros((2, 2)), unknown="nan")


def test_weights_that_leave_nothing_known_are_refused() -> None:
    with pytest.raises(InputError, match=r"^sample_weight is 0 for every row with a known cell"):
        Problem.of([[1], [-1]], [[0.5], [0.5]], unknown=-1, sample_weight=[0, 1])


def test_where_all_is_known_nothing_is_kept() -> None:
    assert Problem.of(KNOWN, KNOWN, unknown="nan").is_dense_unweighted
    assert Problem.of(KNOWN, KNOWN, unknown=-1).unknown is None


def test_soft_truth() -> None:
    problem = Problem.of([[0.25, np.nan], [0.5, 1]], np.zeros((2, 2)), soft=True, unknown="nan")
    assert problem.truth.tolist() == [[0.25, 0], [0.5, 1]]
    with pytest.raises(InputError, match=r"^unknown is 0.5, expected no degree of truth"):
        Problem.of([[0.25, 0.5]], np.zeros((1, 2)), soft=True, unknown=0.5)


# Items


def drawn(seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Truth, scores with ties, and what is hidden: a label and a row of it altogether."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((40, 5)) < 0.3).astype(np.int8)
    scores = np.round(rng.random((40, 5)) * rng.integers(0, 2, (40, 5)), 1).astype(np.float32)
    hidden = rng.random((40, 5)) < 0.4
    hidden[:, 4] = True
    hidden[7] = True
    return truth, scores, hidden


def in_form(matrix: NDArray[Any], is_sparse: bool) -> Any:
    return sparse.csr_array(matrix) if is_sparse else matrix


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse_truth", [False, True])
@pytest.mark.parametrize("sparse_scores", [False, True])
def test_histograms_are_those_of_the_known_cells(weighted: bool, sparse_truth: bool, sparse_scores: bool) -> None:
    """Of each label those of its known rows."""
    truth, scores, hidden = drawn(0)
    weights = np.random.default_rng(1).integers(0, 4, 40) if weighted else None
    y_true = in_form(np.where(hidden, -1, truth), sparse_truth)
    problem = Problem.of(y_true, in_form(scores, sparse_scores), sample_weight=weights, unknown=-1)
    found = histograms(problem, None)
    for label in range(4):
        rows = ~hidden[:, label]
        own = Problem.of(
            in_form(truth[rows, label, np.newaxis], sparse_truth),
            in_form(scores[rows, label, np.newaxis], sparse_scores),
            sample_weight=None if weights is None else weights[rows],
        )
        expected = histograms(own, None)
        for name in ("offsets", "lowest", "highest", "hits", "weights"):
            of_label = getattr(found.of_labels(slice(label, label + 1)), name)
            np.testing.assert_array_equal(of_label, getattr(expected, name), name)


@pytest.mark.parametrize("sparse_scores", [False, True])
def test_a_label_or_row_without_a_known_cell_weighs_nothing(sparse_scores: bool) -> None:
    truth, scores, hidden = drawn(0)
    problem = Problem.of(np.where(hidden, -1, truth), in_form(scores, sparse_scores), unknown=-1)
    assert histograms(problem, None).totals[4] == 0
    assert problem.weight_of_label[4] == 0
    assert problem.row_weights[7] == 0


@pytest.mark.parametrize("is_sparse", [False, True])
def test_weights_are_added_up_as_if_other_rows_were_not_there(is_sparse: bool) -> None:
    _, _, hidden = drawn(2)
    weights = np.random.default_rng(3).random(40)
    sums = known_weights(in_form(hidden, is_sparse), weights)
    assert sums.tolist() == [np.append(0.0, weights[~of_label]).cumsum()[-1] for of_label in hidden.T]


@pytest.mark.parametrize("form", ["dense", "sparse decisions", "sparse truth", "sparse"])
def test_decisions_are_0_where_truth_is_not_known(form: str) -> None:
    _, scores, hidden = drawn(4)
    decided = (scores > 0.3).astype(np.uint8)
    found = blanked(
        in_form(decided, form in ("sparse decisions", "sparse")),
        in_form(hidden, form in ("sparse truth", "sparse")),
    )
    assert (dense(found) == decided * ~hidden).all()


COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "objects": lambda cells: pd.Series(cells, dtype=object),
    "string": lambda cells: pd.Series(cells, dtype="string"),
    "category": lambda cells: pd.Series(cells, dtype="category"),
    "Polars": lambda cells: library("polars").Series(cells),
    "Arrow": lambda cells: library("pyarrow").array(cells),
}


@pytest.mark.parametrize("form", COLUMNS)
def test_columns_of_names_of_classes_lose_their_unknown_rows(form: str) -> None:
    expected = metrics.f1_score(["cat", "dog", "dog"], ["cat", "dog", "cat"], average="macro")
    column = COLUMNS[form](["cat", None, "dog", "dog"])
    predicted = ["cat", "dog", "dog", "cat"]
    assert metrics.f1_score(column, predicted, average="macro", unknown="nan") == expected
    with pytest.raises(InputError, match="unknown='nan' leaves"):
        metrics.f1_score(column, predicted, average="macro")
