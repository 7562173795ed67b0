"""Pieces of rows, labels and ranges: each member once, in order, and none beyond the end."""

import numpy as np
import pytest

from thresholds._arrays import blocks


def check(pieces: list[slice], whole: range) -> None:
    """Pieces follow each other from the first member to the last; all but the last are of one size."""
    assert [member for piece in pieces for member in range(piece.start, piece.stop)] == list(whole)
    sizes = [piece.stop - piece.start for piece in pieces]
    assert len(set(sizes[:-1])) <= 1
    assert all(0 < size <= sizes[0] for size in sizes)


@pytest.mark.parametrize("whole", [slice(0, 0), slice(0, 1), slice(0, 12), slice(5, 18)], ids=str)
@pytest.mark.parametrize("number", [1, 3, 4, 100])
def test_pieces_cover_a_range(whole: slice, number: int) -> None:
    for pieces in (list(blocks.in_pieces(whole, number)), list(blocks.equal_parts(whole, number))):
        check(pieces, range(whole.start, whole.stop))
    assert all(piece.stop - piece.start <= number for piece in blocks.in_pieces(whole, number))
    assert len(list(blocks.equal_parts(whole, number))) <= number


@pytest.mark.parametrize(("n_cells", "max_cells", "size"), [(0, 5, 10), (100, 30, 3), (1000, 30, 1), (20, 5, 2)])
def test_pieces_by_cells_hold_so_many_or_one_group(n_cells: int, max_cells: int, size: int) -> None:
    pieces = list(blocks.by_cells(10, n_cells, max_cells))
    check(pieces, range(10))
    assert pieces[0] == slice(0, size)


def test_blocks_of_rows_are_small_in_rows_and_in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(blocks, "_BLOCK_CELLS", 20)
    for cells_per_row, size in ((0, 7), (2, 7), (6, 3), (50, 1)):
        pieces = list(blocks.row_blocks(16, cells_per_row))
        check(pieces, range(16))
        assert pieces[0] == slice(0, size)


def test_bounded_parts_cost_so_much_and_one_item_more() -> None:
    costs = np.random.default_rng(0).integers(1, 40, 200)
    for most in (1, 50, 10**6):
        parts = list(blocks.bounded_parts(costs, most))
        assert [item for part in parts for item in range(part.start, part.stop)] == list(range(200))
        assert all(costs[part][:-1].sum() <= most for part in parts)
    assert list(blocks.bounded_parts(costs[:0], 50)) == []
