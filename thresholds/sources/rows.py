"""A block of rows, in any of the forms in which sources give it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from thresholds.errors import InputError, shown

BLOCK = "(y_true, y_score), (y_true, y_score, sample_weight), or a mapping with these keys"


class Rows(NamedTuple):
    """A block of rows, as a source gives it: not checked."""

    y_true: Any  # (n_rows, n_labels), None where only scores are known
    y_score: Any  # (n_rows, n_labels)
    sample_weight: Any = None  # (n_rows,), and so are groups
    groups: Any = None

    @classmethod
    def of(cls, block: object) -> "Rows":
        """Read a block in any of its forms."""
        if isinstance(block, Rows):
            return block
        if isinstance(block, Mapping):
            odd = sorted(set(block) - set(cls._fields), key=str)
            if odd:
                raise InputError(
                    f"source has a block with the key {shown(odd[0])}, expected the keys {', '.join(cls._fields)}"
                )
            if block.get("y_score") is None:
                raise InputError("source has a block without y_score, expected scores")
            return cls(**{"y_true": None, **block})
        if isinstance(block, tuple | list) and 2 <= len(block) <= 3:
            return cls(*block)
        raise InputError(f"source has {shown(block)} for a block, expected {BLOCK}")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return n_rows_of(self.y_score)


def n_rows_of(array: Any) -> int:
    """Return the number of rows of an array, a frame or a list."""
    shape = getattr(array, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    return len(array) if hasattr(array, "__len__") else 1
