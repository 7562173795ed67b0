"""Which cell is bad, in words."""

import numpy as np
import pytest
from scipy import sparse

from thresholds._checks.cells import bad_cell, first_bad_cell, label_at

GOOD = np.full((5, 3), 0.5)
BAD = GOOD.copy()
BAD[3, 1] = BAD[4, 0] = np.nan


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_the_first_bad_cell_is_named_by_row_and_label(kind: type) -> None:
    assert first_bad_cell(kind(BAD), np.isnan, ["cat", "dog", "emu"]) == "NaN at row 3, label 'dog'"
    assert first_bad_cell(kind(BAD), np.isnan) == "NaN at row 3, label 1"
    assert first_bad_cell(kind(BAD), np.isnan, first_row=1000) == "NaN at row 1003, label 1"


@pytest.mark.parametrize(
    ("cell", "signed", "word"),
    [
        (np.nan, False, "NaN"),
        (np.inf, False, "inf"),
        (np.inf, True, "+inf"),
        (-np.inf, True, "-inf"),
        (np.float32(0.1), False, "0.1"),
        (np.int8(-2), False, "-2"),
    ],
)
def test_cells_are_shown_with_the_digits_of_their_dtype(cell: object, signed: bool, word: str) -> None:
    assert bad_cell(cell, 0, 2, None, signed=signed) == f"{word} at row 0, label 2"


def test_a_label_without_a_name_is_named_by_its_position_and_long_names_are_cut() -> None:
    assert label_at(1, ["cat"]) == label_at(1) == "label 1"
    assert label_at(0, ["a" * 1000]) == f"label '{'a' * 59}..."
