"""What a rule is fitted on: truth, scores, weights, unknown cells and names, checked once and kept as one thing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.dtypes import key_dtype
from thresholds._arrays.matrices import RowsOf, stored
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Floats, Ints, Matrix
from thresholds._engine.unknown import known_weights, unknown_along


@dataclass(frozen=True)
class Problem:
    """What a rule is fitted on, checked."""

    truth: Matrix  # (n_samples, n_labels) 0/1, or degrees of truth
    scores: Matrix  # (n_samples, n_labels)
    unit_weights: Ints | None  # (n_samples,) in multiples of `unit`; None where each row weighs 1
    unit: float
    sample_weight: Any  # the weights as metrics take them: whole numbers, floats or None
    missing: float
    label_names: tuple[str, ...] | None
    soft: bool = False  # degrees of truth, which are the scores themselves
    keep_sparse: bool = False  # cut sparse scores above `missing` only
    groups: Ints | None = None  # (n_samples,) numbers of groups, where rows come in groups
    # (n_samples, n_labels) bool, CSR where the truth is; None where all truth is known. `truth` is 0 there.
    unknown: Matrix | None = None

    is_counted: ClassVar[bool] = False  # whether rows were counted elsewhere, and cannot be read

    @classmethod
    def of(
        cls,
        y_true: object,
        y_score: object,
        *,
        sample_weight: object = None,
        groups: object = None,
        missing: object = 0.0,
        label_names: object = None,
        soft: bool = False,
        keep_sparse: bool | None = False,
        unknown: object = None,
        unknown_cells: Matrix | None = None,
    ) -> Self:
        """Check the arguments of a fit, and keep them.

        `keep_sparse` is as in `fit_empirical`, whose default is None; what fits nothing need not say it.
        `unknown` is what stands for truth that is not known; of truth that was read before, `unknown_cells` are those
        of another problem.
        """
        sample_weight = _checks.aligned_rows(
            sample_weight,
            "sample_weight",
            y_score=y_score,
            y_true=y_true,
        )
        groups = _checks.aligned_rows(groups, "groups", y_score=y_score, y_true=y_true)
        truth, scores, names, found = _checks.pair(
            y_true,
            y_score,
            label_names,
            soft=soft,
            unknown=unknown,
        )
        if unknown_cells is None:
            unknown_cells = found
        if soft and sample_weight is None:
            sample_weight = np.ones(scores.shape[0])
        unit_weights, unit = _checks.weights(sample_weight, *scores.shape, coarse=not soft)
        metric_weights, _ = _checks.weights_of_rows(sample_weight, scores.shape[0])
        problem = cls(
            truth,
            scores,
            unit_weights,
            unit,
            sample_weight=metric_weights,
            missing=_checks.missing(missing, scores.dtype),
            label_names=names,
            soft=soft,
            keep_sparse=keep_sparse is not False and is_sparse(scores),
            groups=None if groups is None else _checks.group_numbers(groups, scores.shape[0]),
            unknown=unknown_cells,
        )
        if problem.unknown is not None and unit_weights is not None:
            from thresholds._checks.unknown import refuse_weightless

            refuse_weightless(unit_weights[problem.known_in_row > 0])
        return problem

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.scores.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of columns."""
        return int(self.scores.shape[1])

    @property
    def n_stored(self) -> int:
        """Number of scores that take room."""
        return stored(self.scores)

    @property
    def stored_per_row(self) -> int:
        """Number of scores of a row that take room: all of dense ones, of sparse ones the mean, rounded down."""
        # A block may have no row whose truth is known.
        return self.n_stored // max(1, self.n_samples)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64: what the keys are made of."""
        return key_dtype(self.scores.dtype)

    @property
    def is_dense_unweighted(self) -> bool:
        """Whether every cell is a dense score with unit weight and known truth: the fast path."""
        return self.is_plain and self.unknown is None

    @property
    def is_dense(self) -> bool:
        """Whether every cell is a dense score whose truth is 0, 1 or not known."""
        return not (is_sparse(self.scores) or self.soft)

    @property
    def is_plain(self) -> bool:
        """Whether every cell is a dense score with unit weight, or its truth is not known."""
        return self.unit_weights is None and not is_sparse(self.scores)

    @property
    def exactly_weighted(self) -> bool:
        """Whether weights are whole multiples of the unit, so that sums are those of metrics."""
        return self.unit_weights is None or np.array_equal(self.unit_weights, self.sample_weight)

    @cached_property
    def row_weights(self) -> Ints:
        """Weights of rows in multiples of `unit`, ones where none were given; 0 for a row without a known cell."""
        given = self.unit_weights
        weights = np.ones(self.n_samples, np.int64) if given is None else given
        return weights if self.unknown is None else weights * (self.known_in_row > 0)

    @property
    def total_weight(self) -> int:
        """Weight of all rows that have a known cell, in multiples of `unit`."""
        return int(self.row_weights.sum())

    @property
    def n_present(self) -> int:
        """Number of rows of positive weight that have a known cell."""
        return int(np.count_nonzero(self.row_weights))

    @property
    def has_whole_weights(self) -> bool:
        """Whether each row that has a known cell weighs a whole number."""
        return not (self.row_weights * np.float64(self.unit) % 1).any()

    @cached_property
    def rows_of_label(self) -> Ints:
        """Number of rows in which the truth of each label is known, (n_labels,)."""
        if self.unknown is None:
            return np.full(self.n_labels, self.n_samples)
        return self.n_samples - unknown_along(self.unknown, 0)

    @property
    def known(self) -> Floats | None:
        """Weight of the rows in which the truth of each label is known, (n_labels,); None where all is known."""
        return None if self.unknown is None else self.weight_of_label * np.float64(self.unit)

    @cached_property
    def present_of_label(self) -> Ints:
        """Number of rows of positive weight in which the truth of each label is known, (n_labels,)."""
        present = (self.row_weights > 0).astype(np.int64)  # (n_samples,)
        if self.unknown is None:
            return np.full(self.n_labels, present.sum())
        return known_weights(self.unknown, present)

    @property
    def n_known_cells(self) -> int | None:
        """Number of cells whose truth is known; None where all are."""
        return None if self.unknown is None else int(self.known_in_row.sum())

    @cached_property
    def known_in_row(self) -> Ints:
        """Number of labels whose truth is known in each row, (n_samples,)."""
        if self.unknown is None:
            return np.full(self.n_samples, self.n_labels)
        return self.n_labels - unknown_along(self.unknown, 1)

    @cached_property
    def weight_of_label(self) -> Ints:
        """Weight of the rows in which the truth of each label is known, in multiples of `unit`, (n_labels,)."""
        if self.unknown is not None:
            return known_weights(self.unknown, self.unit_weights)
        weights = self.unit_weights
        return np.full(self.n_labels, self.n_samples if weights is None else weights.sum())

    def view_of_rows(self, rows: Ints, *, copies_truth: bool = True) -> Self:
        """Return the problem of some rows, whose dense scores are copied in pieces when they are read."""
        if is_sparse(self.scores) or is_sparse(self.truth):
            return self.at_rows(rows)
        return replace(
            self,
            truth=self.truth[rows] if copies_truth else RowsOf(self.truth, rows),
            scores=RowsOf(self.scores, rows),
            unit_weights=None if self.unit_weights is None else self.unit_weights[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            groups=None if self.groups is None else self.groups[rows],
            unknown=None if self.unknown is None else self.unknown[rows],
        )

    def row_blocks(self) -> Iterator[slice]:
        """Return blocks of rows that are small enough for copies of their scores."""
        return row_blocks(self.n_samples, self.stored_per_row)

    def sparse_rows(self, block: slice) -> tuple[Matrix, Matrix]:
        """Return truth and scores of a block of rows as CSR arrays; all dense scores are stored."""
        from scipy import sparse

        scores, truth = self.scores[block], self.truth[block]
        if not is_sparse(scores):
            columns = np.tile(np.arange(self.n_labels), len(scores))  # (n_cells,)
            starts = np.arange(len(scores) + 1) * self.n_labels  # (n_rows + 1,)
            cells = scores.astype(np.float64).reshape(-1)
            scores = sparse.csr_array((cells, columns, starts), shape=scores.shape)
        if not is_sparse(truth):
            truth = sparse.csr_array(truth != 0)
        return truth, scores

    @property
    def rows_with_known(self) -> Ints | None:
        """The rows that have a known cell; None where all have."""
        if self.unknown is None or self.known_in_row.all():
            return None
        return np.flatnonzero(self.known_in_row)

    def at_labels(self, labels: Ints) -> Self:
        """Return the problem of some of the labels, without their names."""
        return replace(
            self,
            truth=self.truth[:, labels],
            scores=self.scores[:, labels],
            label_names=None,
            unknown=None if self.unknown is None else self.unknown[:, labels],
        )

    def at_rows(self, rows: Ints | slice) -> Self:
        """Return the problem of some of the rows."""
        return replace(
            self,
            truth=self.truth[rows],
            scores=self.scores[rows],
            unit_weights=None if self.unit_weights is None else self.unit_weights[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
            groups=None if self.groups is None else self.groups[rows],
            unknown=None if self.unknown is None else self.unknown[rows],
        )
