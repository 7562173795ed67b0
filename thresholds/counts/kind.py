"""What counts of several parts of the rows have in common, and what is known of these rows beside their cells."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints
from thresholds._checks import InputError, different, places
from thresholds._engine.problem import Problem
from thresholds._results.words import counted


@dataclass(frozen=True)
class Kind:
    """Labels, scores and unit of weights: counts that differ in one of these cannot be added."""

    n_labels: int
    dtype: np.dtype[Any]  # of the scores
    is_sparse: bool
    missing: float
    label_names: tuple[str, ...] | None
    unit: float  # of weights

    @classmethod
    def of(cls, problem: Problem) -> "Kind":
        """Describe a part of the rows."""
        return cls(
            n_labels=problem.n_labels,
            dtype=problem.scores.dtype.newbyteorder("="),
            is_sparse=is_sparse(problem.scores),
            missing=problem.missing + 0.0,  # -0.0 is 0.0
            label_names=problem.label_names,
            unit=problem.unit,
        )

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """float32 or float64: the dtype in which scores are compared."""
        return key_dtype(self.dtype)

    @property
    def form(self) -> str:
        """Dtype and kind of the scores, in words."""
        return f"{'sparse ' if self.is_sparse else ''}{self.dtype}"

    def order_of(self, other: "Kind") -> Ints | None:
        """Return where these labels are in what has the same in another order, (n_labels,); None for any other."""
        names, theirs = self.label_names, other.label_names
        if names is None or theirs is None or names == theirs or different(theirs, names):
            return None
        return places(theirs, names, "label_names", "the same")

    def refuse_other(self, other: "Kind", what: str = "other") -> None:
        """Refuse what was counted of other labels, scores or weights."""
        if other.n_labels != self.n_labels:
            raise InputError(
                f"{what} has {counted(other.n_labels, 'label')}, expected {self.n_labels} as here"
            )
        if other.label_names != self.label_names:
            raise InputError(f"{what} {self._other_names(other)}, expected the same labels as here")
        if other.form != self.form:
            raise InputError(f"{what} has {other.form} scores, expected {self.form} ones as here")
        if other.missing != self.missing:
            raise InputError(f"{what} has missing={other.missing}, expected {self.missing} as here")
        if other.unit != self.unit:
            raise InputError(
                f"{what} has weights in units of {other.unit}, expected {self.unit} as here"
            )

    def _other_names(self, other: "Kind") -> str:
        """Say how the names of labels differ."""
        if self.label_names is None or other.label_names is None:
            return "has no label_names" if other.label_names is None else "has label_names"
        difference = different(other.label_names, self.label_names, "label")
        return difference or "has its labels in another order"


class Totals(NamedTuple):
    """What is known of rows, added up."""

    n_samples: int
    # (3, n_labels), or (3, 1) where all truth is known: rows in which a label is known, those of them that have
    # weight, and their weight
    of_labels: Ints
    n_present: int  # rows that have weight and a known cell
    weight: int  # of these rows
    divisor: int  # of the weights of all rows; 0 where no row has weight
    is_weighted: bool
    all_known: bool  # whether the truth of every cell is

    @classmethod
    def of(cls, problem: Problem) -> "Totals":
        """Add up the rows of a problem."""
        weights = problem.row_weights
        of_labels = [problem.rows_of_label, problem.present_of_label, problem.weight_of_label]
        all_known = problem.unknown is None
        if all_known:
            of_labels = [
                np.array([problem.n_samples]),
                *(np.asarray(one)[:1] for one in of_labels[1:]),
            ]
        given = problem.unit_weights
        return cls(
            problem.n_samples,
            np.stack(of_labels).astype(np.int64),
            n_present=int(np.count_nonzero(weights)),
            weight=int(weights.sum()),
            divisor=1 if given is None else int(np.gcd.reduce(given)),
            is_weighted=given is not None,
            all_known=all_known,
        )

    @classmethod
    def none(cls) -> "Totals":
        """Return those of no rows."""
        return cls(0, np.zeros((3, 1), np.int64), 0, 0, 0, is_weighted=False, all_known=True)

    def __add__(self, other: "Totals") -> "Totals":  # type: ignore[override]
        """Add those of other rows."""
        return Totals(
            self.n_samples + other.n_samples,
            self.of_labels + other.of_labels,
            self.n_present + other.n_present,
            self.weight + other.weight,
            math.gcd(self.divisor, other.divisor),
            self.is_weighted or other.is_weighted,
            self.all_known and other.all_known,
        )

    def in_order(self, order: Ints) -> "Totals":
        """Return those of the labels in another order, (n_labels,)."""
        return self if self.all_known else self._replace(of_labels=self.of_labels[:, order])
