"""Columns of lists, and rows, of PyArrow, Polars, PyTorch and JAX as label lists."""

from collections.abc import Callable
from typing import Any

import pytest

from thresholds import InputError
from thresholds.data.label_lists import from_label_lists, to_label_lists

pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
pl = pytest.importorskip("polars", reason="make test-integrations installs Polars")
torch = pytest.importorskip("torch", reason="make test-integrations installs PyTorch")
jnp = pytest.importorskip("jax.numpy", reason="make test-integrations installs JAX")

TAGS = [["emu", "cat"], [], ["dog"]]
POSITIONS = [[2, 0], [], [1]]
EXPECTED = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]

KINDS: dict[str, Callable[[Any], Any]] = {
    "pyarrow": pa.array,
    "pyarrow in chunks": lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    "pyarrow's rows": lambda rows: list(pa.array(rows)),
    "Polars": pl.Series,
    "Polars' rows": lambda rows: list(pl.Series(rows)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_lists(kind: str) -> None:
    y_true, names = from_label_lists(KINDS[kind](TAGS))
    assert (y_true.toarray().tolist(), names) == (EXPECTED, ("cat", "dog", "emu"))
    assert from_label_lists(KINDS[kind](POSITIONS))[0].toarray().tolist() == EXPECTED


@pytest.mark.parametrize("library", [torch.tensor, jnp.asarray], ids=["torch", "jax"])
def test_tensors_of_positions(library: Any) -> None:
    rows = [library(row) if row else [] for row in POSITIONS]
    assert from_label_lists(rows)[0].toarray().tolist() == EXPECTED
    assert from_label_lists(library([[2, 0], [1, 0]]))[0].toarray().tolist() == [[1, 0, 1], [1, 1, 0]]
    with pytest.raises(InputError, match=r"^label_lists has 0.5 at row 0, expected label names or positions"):
        from_label_lists([library([0.5])])


@pytest.mark.parametrize("frame", [pl.DataFrame, pa.table])
def test_frames_have_names_but_are_no_lists(frame: Any) -> None:
    cells = frame({"cat": [1, 0], "emu": [1, 1]})
    assert to_label_lists(cells) == [["cat", "emu"], ["emu"]]
    with pytest.raises(InputError, match=r"^label_lists is a frame \((DataFrame|Table)\), expected a list of labels"):
        from_label_lists(cells)


@pytest.mark.parametrize("column", [pa.array, pl.Series])
def test_rows_without_a_list_are_refused(column: Any) -> None:
    with pytest.raises(InputError, match=r"^label_lists has None at row 1, expected a list of labels"):
        from_label_lists(column([["cat"], None]))
