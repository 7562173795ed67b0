"""Rows of several processes become those that one process would have seen, in the same order."""

import numpy as np
import pytest

import thresholds
from thresholds.training.processes import in_order

N_LABELS = 3


def rows_of(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, scores that tell the rows apart, and weights."""
    rng = np.random.default_rng(n_rows)
    y_score = rng.permutation(n_rows * N_LABELS).reshape(n_rows, N_LABELS).astype(np.float32)
    return rng.integers(0, 2, (n_rows, N_LABELS)), y_score, rng.random(n_rows)


def dealt(numbers: list[list[int]], n_rows: int, *, weighted: bool = False) -> list[thresholds.Accumulator]:
    """The rows of these numbers for each process, in batches of 4."""
    y_true, y_score, weights = rows_of(n_rows)
    parts = []
    for own in numbers:
        part = thresholds.Accumulator(label_names=["cat", "dog", "owl"])
        for batch in np.split(np.array(own, int), range(4, len(own), 4)):
            part.update(y_true[batch], y_score[batch], weights[batch] if weighted else None)
        parts.append(part)
    return parts


@pytest.mark.each_pair
@pytest.mark.parametrize("n_processes", [2, 3, 4])
@pytest.mark.parametrize("n_rows", [1, 9, 12, 13])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_rows_come_in_the_order_of_the_data_set_each_once(
    n_processes: int, n_rows: int, padded: bool, weighted: bool
) -> None:
    """Padded, as `DistributedSampler` does: with items of the beginning, until all processes have as many."""
    numbers = np.arange(n_rows)
    if padded:
        numbers = np.resize(numbers, -(-n_rows // n_processes) * n_processes)
    parts = dealt([numbers[own::n_processes].tolist() for own in range(n_processes)], n_rows, weighted=weighted)
    together = in_order(parts, n_rows)
    y_true, y_score, weights = rows_of(n_rows)
    np.testing.assert_array_equal(together.y_true, y_true)
    np.testing.assert_array_equal(together.y_score, y_score)
    assert together.label_names == ("cat", "dog", "owl")
    if weighted:
        np.testing.assert_array_equal(together.sample_weight, weights)
    else:
        assert together.sample_weight is None


def test_the_first_batches_of_each_process_are_in_order_too() -> None:
    """As with `limit_val_batches`."""
    parts = dealt([[0, 2, 4, 6], [1, 3, 5, 7]], 20)
    np.testing.assert_array_equal(in_order(parts, 20).y_score, rows_of(20)[1][:8])


@pytest.mark.parametrize(("numbers", "n_items"), [([[3, 1], [0, 2, 4]], None), ([[0, 1, 2], [3, 4]], 2)])
def test_rows_of_items_dealt_out_otherwise_stay_in_the_order_of_the_processes(
    numbers: list[list[int]], n_items: int | None
) -> None:
    """Also where an item has several rows."""
    together = in_order(dealt(numbers, 5), n_items)
    np.testing.assert_array_equal(together.y_score, rows_of(5)[1][np.concatenate(numbers)])


def test_a_process_may_have_no_rows() -> None:
    parts = [*dealt([[0, 1, 2]], 3), thresholds.Accumulator()]
    assert len(in_order(parts, None)) == 3


def test_rows_of_which_a_part_is_not_known() -> None:
    """Also where the first process has no rows, and another none that is known."""
    y_true, y_score, _ = rows_of(5)
    y_true[[1, 3]] = -100
    parts = [thresholds.Accumulator(unknown=-100) for _ in range(3)]
    parts[1].update(y_true[[0, 2, 4]], y_score[[0, 2, 4]])
    parts[2].update(y_true[[1, 3]], y_score[[1, 3]])
    together = in_order(parts, None)
    assert together.unknown == -1
    np.testing.assert_array_equal(together.y_true, np.where(y_true == -100, -1, y_true)[[0, 2, 4, 1, 3]])
    dealt_out = in_order(parts[1:], 5)
    np.testing.assert_array_equal(dealt_out.y_true, np.where(y_true == -100, -1, y_true))
