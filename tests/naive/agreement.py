"""How far decisions are alike, from the definition, in exact fractions: cells as sets."""

from collections.abc import Sequence
from fractions import Fraction

Cells = Sequence[Sequence[int]]


def predicted(decided: Cells, label: int | None = None) -> set[tuple[int, int]]:
    """Return the cells that are predicted, of one label or of all."""
    return {(i, j) for i, row in enumerate(decided) for j, cell in enumerate(row) if cell and label in (None, j)}


def f1_between(one: Cells, other: Cells, label: int | None = None) -> Fraction:
    """Return twice what both predict over what each does, 1 where neither predicts."""
    a, b = predicted(one, label), predicted(other, label)
    return Fraction(2 * len(a & b), len(a) + len(b)) if a or b else Fraction(1)


def differing(one: Cells, other: Cells, label: int | None = None) -> int:
    """Return the number of cells that one of both predicts, and the other does not."""
    return len(predicted(one, label) ^ predicted(other, label))
