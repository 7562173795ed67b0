"""Decisions in a bit for each cell are the decisions."""

import numpy as np
import pytest

from thresholds._arrays.bits import Bits


@pytest.mark.parametrize("n_labels", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8])
def test_packing_and_unpacking_gives_the_same_cells(n_labels: int, dtype: type) -> None:
    cells = np.random.default_rng(n_labels).integers(0, 2, (7, n_labels)).astype(dtype)
    for given in (cells, np.asfortranarray(cells)):
        packed = Bits.of(given)
        np.testing.assert_array_equal(packed.to_dense(), cells)
        np.testing.assert_array_equal(packed.at(slice(2, 4)).to_dense(), cells[2:4])
        assert packed.words.nbytes == 7 * 8 * -(-n_labels // 64)


def test_the_first_label_is_the_lowest_bit() -> None:
    assert Bits.of(np.array([[1, 0, 1]])).words.tolist() == [[5]]
    assert Bits.zeros(2, 65).words.tolist() == [[0, 0], [0, 0]]
