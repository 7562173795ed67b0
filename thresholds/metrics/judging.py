"""Counting what a rule decides, a block of rows at a time.

Thresholds are chosen on staircases; what is reported about other data, or of a cut that all labels share, is judged
here, on predictions.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from thresholds import _checks
from thresholds._arrays.bits import Bits
from thresholds._arrays.blocks import equal_parts, row_blocks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import run, workers
from thresholds._arrays.types import Ints, Matrix
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import blanked, known_weights
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_both_ways, count_by_label, stacked

if TYPE_CHECKING:
    from thresholds.rule import Rule


class Decided(Protocol):
    """Decisions about rows of a problem."""

    def about(self, rows: slice | Ints) -> Matrix:
        """Return those about some rows, (n_rows, n_labels): a matrix, or `Bits`."""


class Decisions:
    """What a rule decides about rows of a problem, its labels in the order of the problem's."""

    def __init__(self, rule: "Rule", problem: Problem) -> None:
        self._rule = rule
        self._problem = problem
        self._order = _checks.places(
            problem.label_names, rule.label_names, "y_score", "the labels of the rule"
        )
        self._back = None if self._order is None else np.argsort(self._order)  # (n_labels,)
        self.dense = rule.needs_dense(problem.scores)  # However few scores are stored.

    def row_blocks(self) -> Iterator[slice]:
        """Return blocks of rows that are small enough for decisions about them."""
        return _row_blocks(self._problem, dense=self.dense)

    def about(
        self, rows: slice | Ints, probabilities: dict[Hashable, Matrix] | None = None
    ) -> Matrix:
        """Decide some rows: (n_rows, n_labels); 0 where the truth is not known.

        What a calibrator makes of dense scores of these rows is looked up in `probabilities`, and left there.
        """
        rule, problem = self._rule, self._problem
        calibrator = rule.decides_after
        if calibrator is None or probabilities is None or is_sparse(problem.scores):
            decided = rule.decide(self._scores(rows), dense=self.dense)
        else:
            made_by = id(calibrator), rule.label_names
            if made_by not in probabilities:
                probabilities[made_by] = calibrator.transform(self._scores(rows))
            decided = rule.uncalibrated.decide(probabilities[made_by])
        decided = _checks.in_order(decided, self._back)
        return decided if problem.unknown is None else blanked(decided, problem.unknown[rows])

    def _scores(self, rows: slice | Ints) -> Matrix:
        """Return the scores of some rows, labels in the order of the rule's."""
        return _checks.in_order(self._problem.scores[rows], self._order)


class Made(NamedTuple):
    """Decisions that were made once, 0 where the truth is not known.

    A few costly rules decide anew for hundreds of times as long as it takes to look them up. Dense ones are kept as
    bits: a cell takes 1/32 of a float32 score.
    """

    cells: Any  # (n_samples, n_labels) a matrix, or `Bits`

    @classmethod
    def joined(cls, blocks: Sequence[Any]) -> "Made":
        """Join decisions about consecutive rows."""
        if len(blocks) == 1:
            return cls(blocks[0])
        if isinstance(blocks[0], Bits):
            words = np.concatenate([block.words for block in blocks])
            return cls(Bits(words, blocks[0].n_labels))
        from scipy import sparse

        return cls(sparse.csr_array(sparse.vstack(blocks, format="csr")))

    def about(self, rows: slice | Ints) -> Matrix:
        """Return what was decided about some rows."""
        return self.cells.at(rows) if isinstance(self.cells, Bits) else self.cells[rows]


class Judged(NamedTuple):
    """Counts of decisions by label, in the unit of the weights; and by row, unweighted, where they are asked for."""

    by_label: ConfusionCounts
    by_sample: ConfusionCounts | None = None
    decided: Made | None = None  # the decisions, if they were to be kept


def judge(
    rule: "Rule",
    problem: Problem,
    *,
    by_row: bool = False,
    keep: bool = False,
    n_jobs: int | None = 1,
) -> Judged:
    """Count the decisions of a rule; arguments as in `judge_all`."""
    return judge_all([rule], problem, by_row=by_row, keep=keep, n_jobs=n_jobs)[0]


def judge_all(
    rules: Sequence["Rule"],
    problem: Problem,
    *,
    by_row: bool = False,
    keep: bool = False,
    n_jobs: int | None = 1,
) -> list[Judged]:
    """Count the decisions of each rule on all rows, label by label; rules find their labels by name.

    A block of rows is read once for all rules, and calibrated once for those of one calibrator. Decisions are counted
    row by row, too, and kept, where that is asked for.
    """
    decisions = [Decisions(rule, problem) for rule in rules]

    def decide(rows: slice) -> Iterator[Matrix]:
        probabilities: dict[Hashable, Matrix] = {}
        return (of_rule.about(rows, probabilities) for of_rule in decisions)

    blocks = _row_blocks(problem, dense=any(of_rule.dense for of_rule in decisions))
    return _count(decide, list(blocks), problem, by_row=by_row, keep=keep, n_jobs=n_jobs)


def judge_again(decided: Made, problem: Problem) -> Judged:
    """Count decisions that were kept, by label and by row."""

    def look_up(rows: slice) -> Iterator[Matrix]:
        found = decided.about(rows)
        yield found.to_dense() if isinstance(found, Bits) else found

    return _count(look_up, list(problem.row_blocks()), problem, by_row=True)[0]


def _count(
    decide: Callable[[slice], Iterable[Matrix]],
    blocks: Sequence[slice],
    problem: Problem,
    *,
    by_row: bool,
    keep: bool = False,
    n_jobs: int | None = 1,
) -> list[Judged]:
    """Count the decisions of several rules that `decide` returns for a block of rows."""

    def count(some: Sequence[slice]) -> list[_Counting]:
        countings: list[_Counting] = []
        for rows in some:
            for number, predicted in enumerate(decide(rows)):
                if number == len(countings):
                    countings.append(_Counting(problem, by_row=by_row, keep=keep))
                countings[number].add(rows, predicted)
        return countings

    # Some rows on each thread; weights add up in the order of rows.
    n_parts = 1 if problem.sample_weight is not None else workers(n_jobs)
    parts = [blocks[part] for part in equal_parts(slice(0, len(blocks)), n_parts)]
    counted = run(count, parts, n_jobs=n_jobs, cells=problem.n_stored)
    judged = []
    for first, *others in zip(*counted, strict=True):
        for later in others:
            first.join(later)
        judged.append(first.judged())
    return judged


class _Counting:
    """Counts what a rule decides about rows, a block after another, and keeps it if asked to."""

    def __init__(self, problem: Problem, *, by_row: bool, keep: bool) -> None:
        self._problem = problem
        self._by_row = by_row
        self._keep = keep
        self._by_label: ConfusionCounts | None = None
        self._by_sample: list[ConfusionCounts] = []
        self._kept: list[Any] = []

    def add(self, rows: slice, predicted: Matrix) -> None:
        """Count decisions about the next rows, (n_rows, n_labels), 0 where the truth is not known."""
        if self._keep:
            self._kept.append(predicted if is_sparse(predicted) else Bits.of(predicted))
        truth = self._problem.truth[rows]
        given = self._problem.sample_weight
        weights = None if given is None else given[rows]
        if not self._by_row:
            self._by_label = count_by_label(truth, predicted, weights, before=self._by_label)
            return
        self._by_label, of_rows = count_both_ways(truth, predicted, weights, before=self._by_label)
        self._by_sample.append(of_rows)

    def join(self, later: "_Counting") -> None:
        """Go on with what was counted of later rows."""
        assert self._by_label is not None, "parts have rows"
        assert later._by_label is not None, "parts have rows"
        self._by_label += later._by_label
        self._by_sample += later._by_sample
        self._kept += later._kept

    def judged(self) -> Judged:
        """Return the counts of all rows."""
        problem, by_label = self._problem, self._by_label
        assert by_label is not None, "problems have rows"
        by_sample = stacked(self._by_sample) if self._by_row else None
        if problem.unknown is not None:
            measured = known_weights(problem.unknown, problem.sample_weight)
            by_label = replace(by_label, total=measured)
            if by_sample is not None:
                by_sample = replace(by_sample, total=problem.known_in_row)
        return Judged(by_label, by_sample, Made.joined(self._kept) if self._keep else None)


def _row_blocks(problem: Problem, *, dense: bool) -> Iterator[slice]:
    """Return blocks of rows that are small enough for decisions about them."""
    return row_blocks(problem.n_samples, problem.n_labels) if dense else problem.row_blocks()


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
