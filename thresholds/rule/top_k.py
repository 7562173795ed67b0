"""The same number of labels in every row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import Dense, InputError, is_sparse
from thresholds.rule.decisions import like, sparse_like
from thresholds.rule.saving import Saved, from_json, header, to_json

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class TopKRule(Saved):
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

    def __post_init__(self) -> None:
        """Check the number of labels."""
        object.__setattr__(self, "k", _checks.count(self.k, "k", 0))
        object.__setattr__(self, "missing", _checks.missing(self.missing, np.dtype(np.float64)))

    def predict(self, y_score: object, *, dense: bool = False) -> Any:
        """Decide; arguments, shapes and errors as in `ThresholdRule.predict`."""
        scores = _checks.scores(y_score, label_names=self.label_names)
        if self.label_names is not None and scores.shape[1] != len(self.label_names):
            raise InputError(f"y_score has {scores.shape[1]} labels, expected {len(self.label_names)}")
        k = min(self.k, scores.shape[1])
        if not is_sparse(scores):
            decided = np.zeros(scores.shape, np.uint8)
            for start in range(0, len(scores), _BLOCK_ROWS):
                block = scores[start : start + _BLOCK_ROWS]
                np.put_along_axis(decided[start : start + _BLOCK_ROWS], _highest(block, k), 1, axis=1)
            return like(decided, y_score)
        chosen = [
            np.sort(_highest(_checks.filled(scores[start : start + _BLOCK_ROWS], self.missing), k))
            for start in range(0, scores.shape[0], _BLOCK_ROWS)
        ]
        columns = np.concatenate(chosen).reshape(-1)
        starts = np.arange(scores.shape[0] + 1) * k
        ones = np.ones(columns.size, np.uint8)
        decided = type(scores)((ones, columns, starts), shape=scores.shape)
        return decided.toarray() if dense else sparse_like(decided, y_score)

    def to_dict(self) -> dict[str, Any]:
        """Give the rule as plain values, in the form of `rule.schema.json`."""
        return {
            **header(self.kind),
            "k": self.k,
            "missing": to_json(self.missing),
            "label_names": None if self.label_names is None else list(self.label_names),
            "average": self.average,
            "beta": self.beta,
            "zero_division": self.zero_division,
            "objective": self.objective,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build a rule from what `to_dict` gave."""
        return cls(
            k=values["k"],
            missing=from_json(values["missing"]),
            label_names=None if values["label_names"] is None else tuple(values["label_names"]),
            average=values["average"],
            beta=float(values["beta"]),
            zero_division=float(values["zero_division"]),
            objective=None if values["objective"] is None else float(values["objective"]),
        )

    def __str__(self) -> str:
        """Say how many labels, and what was reached."""
        reached = "not fitted" if self.objective is None else f"{self.average} F{self.beta:g} {self.objective:.4f}"
        return f"the {self.k} highest scores of each row: {reached}"


def _highest(scores: Dense, k: int) -> npt.NDArray[np.intp]:
    """Give the columns of the k highest scores of each row; equal scores by column."""
    backwards = scores.shape[1] - 1 - np.argsort(scores[:, ::-1], axis=1, kind="stable")
    return np.asarray(backwards[:, ::-1][:, :k])
