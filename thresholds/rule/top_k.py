"""The same number of labels in every row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks, devices
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import is_sparse, row_of_entries
from thresholds._arrays.types import Dense, Matrix, Places
from thresholds.rule.base import Rule
from thresholds.rule.saving import checked_settings, header, read_settings, written_settings


@dataclass(frozen=True, repr=False)
class TopKRule(Rule):
    """Predict the k highest scores of each row; among equal scores, those of the first labels.

    Attributes
    ----------
    k : number of labels predicted in each row (all of them where there are fewer)
    missing : the score of an entry that a sparse matrix leaves out
    label_names, average, beta, zero_division, objective : as in `ThresholdRule`

    Examples
    --------
    >>> import thresholds
    >>> thresholds.TopKRule(1).predict([[0.5, 0.1], [0.4, 0.4]])
    array([[1, 0],
           [1, 0]], dtype=uint8)
    """

    k: int
    missing: float = 0.0
    label_names: tuple[str, ...] | None = None
    average: str | None = None
    beta: float = 1.0
    zero_division: float = 0.0
    objective: float | None = None

    kind: ClassVar[str] = "top_k"
    own_fields: ClassVar[tuple[str, ...]] = ("k",)

    def __post_init__(self) -> None:
        """Check the number of labels."""
        self.__dict__.update({"k": _checks.count(self.k, "k", 0)} | checked_settings(self))

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        return devices.highest(scores, self.k)

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes."""
        k = min(self.k, scores.shape[1])
        if not is_sparse(scores):
            return _dense_choice(scores, k)
        decided = _sparse_choice(scores, k, self.missing)
        return decided.toarray() if dense else decided

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""
        return header(self.kind) | {"k": self.k} | written_settings(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a rule from what `to_dict` gave."""
        return cls(k=values["k"], **read_settings(cls, values))

    def __str__(self) -> str:
        """Say how many labels, and what was reached."""
        reached = "not fitted" if self.objective is None else f"{self.average} F{self.beta:g} {self.objective:.4f}"
        return f"the {self.k} highest scores of each row: {reached}"


def _dense_choice(scores: Dense, k: int) -> npt.NDArray[np.uint8]:
    """Choose the k highest scores of each row, a block of rows at a time."""
    decided = np.zeros(scores.shape, np.uint8)
    for rows in row_blocks(*scores.shape):
        order = scores.shape[1] - 1 - np.argsort(scores[rows, ::-1], axis=1, kind="stable")[:, ::-1]
        np.put_along_axis(decided[rows], order[:, :k], 1, axis=1)
    return decided


def _sparse_choice(scores: Any, k: int, missing: float) -> Any:
    """Choose among stored scores above `missing`; rows with fewer than k of them go on with their absent cells."""
    row = row_of_entries(scores)
    wanted = np.full(scores.shape[0], k)
    chosen = _highest_entries(scores, row, scores.data > np.float64(missing), wanted)
    wanted -= np.bincount(row[chosen], minlength=wanted.size)
    rows, columns = [row[chosen]], [scores.indices[chosen]]
    short = np.flatnonzero(wanted)
    # The first absent cells of a row lie within its first k + stored columns.
    width = min(scores.shape[1], 1 + k + int(np.diff(scores.indptr).max(initial=0)))
    for block in row_blocks(short.size, width):
        part = short[block]
        at, column = _absent_choice(scores[part], wanted[part], width, missing)
        rows.append(part[at])
        columns.append(column)
    at, column = np.concatenate(rows), np.concatenate(columns)
    order = np.lexsort((column, at))
    starts = np.append(0, np.bincount(at, minlength=scores.shape[0]).cumsum())
    return type(scores)((np.ones(at.size, np.uint8), column[order], starts), shape=scores.shape)


def _absent_choice(scores: Any, wanted: Places, width: int, missing: float) -> tuple[Places, Places]:
    """Choose the first cells of each row that score `missing`, then, if they run out, stored scores below it."""
    row = row_of_entries(scores)
    taken = (scores.data != np.float64(missing)) & (scores.indices < width)
    free = np.ones((scores.shape[0], width), np.bool_)
    free[row[taken], scores.indices[taken]] = False
    at, column = np.nonzero(free & (free.cumsum(axis=1) <= wanted[:, np.newaxis]))
    lacking = wanted - np.bincount(at, minlength=wanted.size)
    more = _highest_entries(scores, row, scores.data < np.float64(missing), lacking)
    return np.append(at, row[more]), np.append(column, scores.indices[more])


def _highest_entries(scores: Any, row: Places, among: npt.NDArray[np.bool_], wanted: Places) -> Places:
    """Return the highest stored entries of each row, as many as it wants; equal scores by column."""
    entry = np.flatnonzero(among)
    order = entry[np.lexsort((scores.indices[entry], -scores.data[entry].astype(np.float64), row[entry]))]
    in_row = np.bincount(row[order], minlength=wanted.size)
    rank = np.arange(order.size) - np.repeat(in_row.cumsum() - in_row, in_row)
    return order[rank < wanted[row[order]]]
