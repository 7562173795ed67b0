"""What decisions reach on rows, from the definitions in exact arithmetic: cells of unknown truth are left out.

Nothing comes from the library. Truth, decisions and known cells are (n_samples, n_labels) arrays of 0 and 1, weights
(n_samples,) numbers or None.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tests.naive.metrics import Group, f_beta, group, mean, pooled


class Decided(NamedTuple):
    """Decisions about rows whose truth is known in some cells."""

    truth: Any
    decided: Any
    known: Any
    weights: Any = None

    @property
    def row_weights(self) -> list[Fraction]:
        """The weight of each row."""
        given = np.ones(len(self.truth)) if self.weights is None else self.weights
        return [Fraction(float(weight)) for weight in given]

    def labels(self) -> list[Group]:
        """The confusion of each label, on the rows in which its truth is known."""
        weights = self.row_weights
        columns = zip(self.truth.T, self.decided.T, self.known.T, strict=True)
        return [_group(truth, decided, known, weights) for truth, decided, known in columns]

    def rows(self) -> list[tuple[Group, Fraction]]:
        """The confusion of each row that has a known cell, over these cells, and its weight."""
        rows = zip(self.truth, self.decided, self.known, self.row_weights, strict=True)
        return [
            (_group(truth, decided, known, [Fraction(1)] * len(truth)), weight)
            for truth, decided, known, weight in rows
            if known.any()
        ]

    def predicted(self) -> Fraction:
        """The weight of the known cells that are predicted."""
        return sum((g.tp + g.fp for g in self.labels()), Fraction(0))

    def f_of_labels(self, beta: float, zero_division: float) -> list[Fraction]:
        """F-beta of each label."""
        return [_f(g, beta, zero_division) for g in self.labels()]

    def f(self, average: str, beta: float, zero_division: float) -> Fraction:
        """F-beta, averaged as named."""
        if average == "samples":
            rows, weights = zip(*self.rows(), strict=True)
            value = mean([_f(g, beta, zero_division) for g in rows], weights)
        else:
            labels = self.labels()
            if average == "micro":
                return _f(pooled(labels), beta, zero_division)
            supports = [g.tp + g.fn for g in labels] if average == "weighted" else None
            value = mean([_f(g, beta, zero_division) for g in labels], supports)
        assert value is not None
        return value


def _group(truth: Any, decided: Any, known: Any, weights: Sequence[Fraction]) -> Group:
    """The confusion of the known cells of one label, or of one row."""
    kept = np.flatnonzero(known)
    return group(truth[kept].tolist(), decided[kept].tolist(), [weights[i] for i in kept])


def _f(g: Group, beta: float, zero_division: float) -> Fraction:
    """F-beta of one confusion."""
    value = f_beta(g, beta)
    return Fraction(zero_division) if value is None else value
