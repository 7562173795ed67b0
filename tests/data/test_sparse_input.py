"""Sparse matrices as SciPy may hold them, sound but odd."""

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import metrics
from thresholds._checks import indicator, scores


def test_rows_that_claim_to_be_sorted_are_sorted() -> None:
    matrix = sparse.csr_array((np.ones(3), np.array([2, 0, 1]), np.array([0, 3, 3])), shape=(2, 3))
    matrix.has_sorted_indices = True
    assert indicator(matrix).indices.tolist() == [0, 1, 2]
    assert matrix.indices.tolist() == [2, 0, 1]


def test_cells_stored_twice_are_refused() -> None:
    matrix = sparse.csr_array(([0.5, 0.2, 0.1], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    found = "^y_score is a malformed sparse array: a cell is stored twice"
    with pytest.raises(thresholds.InputError, match=found):
        thresholds.fit_empirical(np.eye(2, dtype=int), matrix)


@pytest.mark.parametrize("surplus", [1.0, 7.0])
def test_cells_beyond_the_last_row_do_not_count(surplus: float) -> None:
    cells, columns = np.array([1, 1, surplus]), np.array([0, 1, 0])
    matrix = sparse.csr_array((cells, columns, np.array([0, 1, 2])), shape=(2, 3))
    assert metrics.f1_score(matrix, matrix.toarray(), average="micro") == 1
    assert metrics.f1_score(matrix, matrix, average="micro") == 1
    assert metrics.confusion_counts(matrix, matrix).tp.tolist() == [1, 1, 0]


def test_half_precision_is_read_though_scipy_computes_nothing_with_it() -> None:
    matrix = sparse.csr_array(np.eye(3))
    matrix.data = matrix.data.astype(np.float16)
    assert metrics.f1_score(matrix, np.eye(3), average="samples", labels=[2, 0], zero_division=1) == 1
    assert thresholds.fit_empirical(np.eye(3), matrix).objective == 1


def test_coordinates_are_checked_before_scipy_follows_them() -> None:
    matrix = sparse.coo_array(np.ones((4, 2)))
    matrix.coords = (np.array([0, 0, 1, 1, 2, 2, 3, 4]), matrix.coords[1])
    with pytest.raises(thresholds.InputError, match=r"^y_pred is a malformed sparse array: coordinates of axis 0 run"):
        metrics.f1_score(np.ones((4, 2)), matrix, average="macro")


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_parts_of_another_byte_order_and_without_sign_are_read(kind: type) -> None:
    dense = np.array([[1.0, 0, 0.5], [0, 0.25, 0], [0.75, 0, 2]])
    for data, places in ((">f8", "<i4"), ("<f8", ">i4"), ("<f4", "<u4"), (">f4", ">u8")):
        matrix = kind(dense)
        matrix.data = matrix.data.astype(data)
        matrix.indices, matrix.indptr = matrix.indices.astype(places), matrix.indptr.astype(places)
        found = scores(matrix)
        assert found.toarray().tolist() == dense.tolist()
        assert all(part.dtype.isnative for part in (found.data, found.indices, found.indptr))
        assert found.indices.dtype.kind == "i"


@pytest.mark.parametrize("places", [np.zeros(5, np.int64), np.zeros(9, np.int64), np.zeros(8)])
def test_coordinates_are_whole_and_as_many_as_cells(places: np.ndarray) -> None:
    matrix = sparse.coo_array(np.ones((4, 2)))
    matrix.coords = (matrix.coords[0], places)
    with pytest.raises(thresholds.InputError, match=rf"{len(places)} coordinates of axis 1 for 8 stored entries"):
        metrics.f1_score(np.ones((4, 2)), matrix, average="macro")
