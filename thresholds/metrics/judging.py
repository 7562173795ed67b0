"""Counting what a rule decides, a block of rows at a time.

Thresholds are chosen on staircases; what is reported about other data, or of a cut that all labels share, is judged
here, on predictions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from thresholds import _checks
from thresholds._arrays.blocks import equal_parts, row_blocks
from thresholds._arrays.sparse import as_csr
from thresholds._arrays.threads import ALL_CORES, run, workers
from thresholds._arrays.types import Ints, Matrix
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import blanked, known_weights
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_both_ways, count_by_label, stacked


class Decider(Protocol):
    """What decides about rows of scores: a rule."""

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels."""

    def needs_dense(self, scores: Matrix) -> bool:
        """Whether decisions about these scores must be dense."""

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about checked scores, (n_rows, n_labels)."""


class Decisions:
    """What a rule decides about rows of a problem, its labels in the order of the problem's."""

    def __init__(self, rule: Decider, problem: Problem) -> None:
        self._rule = rule
        self._problem = problem
        self._order = _checks.places(
            problem.label_names, rule.label_names, "y_score", "the labels of the rule"
        )
        self._back = None if self._order is None else np.argsort(self._order)  # (n_labels,)
        self._dense = rule.needs_dense(problem.scores)  # However few scores are stored.

    def row_blocks(self) -> Iterator[slice]:
        """Return blocks of rows that are small enough for decisions about them."""
        problem = self._problem
        if self._dense:
            return row_blocks(problem.n_samples, problem.n_labels)
        return problem.row_blocks()

    def about(self, rows: slice | Ints) -> Matrix:
        """Decide some rows: (n_rows, n_labels); 0 where the truth is not known."""
        problem = self._problem
        scores = _checks.in_order(problem.scores[rows], self._order)
        decided = self._rule.decide(scores, dense=self._dense)
        decided = _checks.in_order(decided, self._back)
        return decided if problem.unknown is None else blanked(decided, problem.unknown[rows])


class Judged(NamedTuple):
    """Counts of decisions by label, in the unit of the weights; and by row, unweighted, where they are asked for."""

    by_label: ConfusionCounts
    by_sample: ConfusionCounts | None = None
    decided: Any = None  # CSR (n_samples, n_labels), of decisions that were kept


def judge(
    rule: Decider, problem: Problem, *, by_row: bool = False, n_jobs: int | None = 1
) -> Judged:
    """Count the decisions of a rule on all rows by label, and by row where that is asked for; labels go by name."""
    decisions = Decisions(rule, problem)
    weights = problem.sample_weight  # (n_samples,) or None

    def judge_blocks(blocks: Sequence[slice]) -> Judged:
        by_label: ConfusionCounts | None = None
        by_sample: list[ConfusionCounts] = []
        for rows in blocks:
            own = None if weights is None else weights[rows]
            cells = problem.truth[rows], decisions.about(rows), own
            if by_row:
                by_label, of_rows = count_both_ways(*cells, before=by_label)
                by_sample.append(of_rows)
            else:
                by_label = count_by_label(*cells, before=by_label)
        assert by_label is not None, "parts have rows"
        return Judged(by_label, stacked(by_sample) if by_row else None)

    # Some blocks on each thread; weights add up in the order of rows.
    blocks = list(decisions.row_blocks())
    n_parts = 1 if weights is not None else workers(n_jobs)
    parts = [blocks[part] for part in equal_parts(slice(0, len(blocks)), n_parts)]
    judged = run(judge_blocks, parts, n_jobs=n_jobs, cells=problem.n_stored)
    by_label = sum((part.by_label for part in judged[1:]), judged[0].by_label)
    by_sample = [part.by_sample for part in judged if part.by_sample is not None]
    return _of_known_cells(by_label, stacked(by_sample) if by_row else None, problem)


def decide_all(rule: Decider, problem: Problem, *, n_jobs: int | None = ALL_CORES) -> Any:
    """Return what a rule decides about all rows as `as_csr` does, 0 where the truth is not known."""
    decisions = Decisions(rule, problem)
    return stacked_rows(
        run(
            lambda rows: as_csr(decisions.about(rows)),
            list(decisions.row_blocks()),
            n_jobs=n_jobs,
            cells=problem.n_stored,
        )
    )


def count_decisions(decided: Matrix, problem: Problem) -> Judged:
    """Count decisions about all rows, 0 where the truth is not known, by label and by row, and keep them."""
    counts = count_both_ways(problem.truth, decided, problem.sample_weight)
    return _of_known_cells(*counts, problem)._replace(decided=decided)


def _of_known_cells(
    by_label: ConfusionCounts, by_sample: ConfusionCounts | None, problem: Problem
) -> Judged:
    """Leave cells whose truth is not known out of the totals."""
    if problem.unknown is not None:
        by_label = replace(by_label, total=known_weights(problem.unknown, problem.sample_weight))
        if by_sample is not None:
            by_sample = replace(by_sample, total=problem.known_in_row)
    return Judged(by_label, by_sample)


def stacked_rows(blocks: Sequence[Any]) -> Any:
    """Join CSR arrays of consecutive rows."""
    from scipy import sparse

    return blocks[0] if len(blocks) == 1 else sparse.csr_array(sparse.vstack(blocks, format="csr"))


def positives_of(problem: Problem) -> Ints:
    """Return the weight of the positives of each label, (n_labels,), in multiples of the unit of the weights."""
    return count_by_label(problem.truth, problem.truth, problem.unit_weights).positives


def count_truth(problem: Problem) -> ConfusionCounts:
    """Count the truth of each label, as if just that were predicted."""
    counts = count_by_label(problem.truth, problem.truth, problem.sample_weight)
    if problem.unknown is None:
        return counts
    return replace(counts, total=known_weights(problem.unknown, problem.sample_weight))


def f_measure(
    judged: Judged, weights: Any, average: str, beta: float, zero_division: float
) -> float:
    """Average F-beta over labels or rows, as `metrics.fbeta_score` does; `weights` are those measured of the rows.

    A row without a known cell is left out.
    """
    if average != "samples":
        return average_of(f_score(beta), judged.by_label, average, zero_division)
    counts = judged.by_sample
    assert counts is not None, "asked for"
    if isinstance(counts.total, np.ndarray):
        is_known = counts.total > 0  # (n_samples,)
        counts = counts.take(is_known)
        weights = None if weights is None else weights[is_known]
    return average_of(f_score(beta), counts, average, zero_division, weights)
