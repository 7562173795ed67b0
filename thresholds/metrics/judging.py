"""Counting what a rule decides, a block of rows at a time.

Thresholds are chosen on staircases; what is reported about other data, or of a cut that all labels share, is judged
here, on predictions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from thresholds import _checks
from thresholds._arrays.bits import Bits
from thresholds._arrays.blocks import ceil_div, equal_parts, in_pieces, row_blocks
from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import run, workers
from thresholds._arrays.types import Floats, Ints, Matrix
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import blanked, known_weights
from thresholds._kernels.keys import to_keys
from thresholds.data.counted import CountedProblem
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_both_ways, count_by_label, stacked

if TYPE_CHECKING:
    from thresholds.rule import Rule


_LABELS_AT_ONCE = 1024
_LEAST_LABELS = 64  # of a thread: of fewer, rows are read in small pieces


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
        self._dense = rule.needs_dense(problem.scores)

    def row_blocks(self) -> Iterator[slice]:
        """Return blocks of rows that are small enough for decisions about them."""
        if self._dense:  # However few scores are stored.
            return row_blocks(self._problem.n_samples, self._problem.n_labels)
        return self._problem.row_blocks()

    def about(self, rows: slice | Ints) -> Matrix:
        """Decide some rows: (n_rows, n_labels); 0 where the truth is not known."""
        return self.as_in_problem(rows, self._rule.decide(self.scores(rows), dense=self._dense))

    def scores(self, rows: slice | Ints) -> Matrix:
        """Return the scores of some rows, labels in the order of the rule's."""
        return _checks.in_order(self._problem.scores[rows], self._order)

    def as_in_problem(self, rows: slice | Ints, decided: Matrix) -> Matrix:
        """Return what the rule decides about `scores` of some rows as `about` does."""
        decided = _checks.in_order(decided, self._back)
        unknown = self._problem.unknown
        return decided if unknown is None else blanked(decided, unknown[rows])


class KeptDecisions:
    """Decisions that were made once, as bits (a cell takes 1/32 of a float32 score), or as the sparse matrix they are.

    A few costly rules decide anew for hundreds of times as long as it takes to look them up.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._bits: Bits | None = None
        self._blocks: list[Matrix] = []

    def add(self, rows: slice, predicted: Matrix) -> None:
        """Keep decisions about the next rows, (n_rows, n_labels), 0 where the truth is not known."""
        if is_sparse(predicted):
            self._blocks.append(predicted)
            return
        if self._bits is None:
            self._bits = Bits.zeros(self._problem.n_samples, self._problem.n_labels)
        self._bits.words[rows] = Bits.of(predicted).words

    def about(self, rows: slice | Ints) -> Matrix:
        """Return what was decided about some rows, as `Bits` if it is dense."""
        if self._bits is not None:
            return self._bits.at(rows)
        if len(self._blocks) > 1:
            from scipy import sparse

            self._blocks = [sparse.csr_array(sparse.vstack(self._blocks, format="csr"))]
        return self._blocks[0][rows]


class Judged(NamedTuple):
    """Counts of a rule's decisions, by label (in the unit of the weights) and by row (unweighted)."""

    by_label: ConfusionCounts
    by_sample: ConfusionCounts
    decided: KeptDecisions | None = None  # the decisions, if they were to be kept


class Counting:
    """Counts what is decided about rows, a block after another, and keeps it if asked to."""

    def __init__(self, problem: Problem, *, keep: bool) -> None:
        self._problem = problem
        self._kept = KeptDecisions(problem) if keep else None
        self._by_label: ConfusionCounts | None = None
        self._by_sample: list[ConfusionCounts] = []

    def add(self, rows: slice, predicted: Matrix) -> None:
        """Count decisions about the next rows, (n_rows, n_labels), 0 where the truth is not known."""
        if self._kept is not None:
            self._kept.add(rows, predicted)
        given = self._problem.sample_weight
        weights = None if given is None else given[rows]
        self._by_label, of_rows = count_both_ways(
            self._problem.truth[rows], predicted, weights, before=self._by_label
        )
        self._by_sample.append(of_rows)

    def join(self, later: "Counting") -> None:
        """Go on with what was counted of later rows, whose decisions are not kept."""
        assert self._by_label is not None, "parts have rows"
        assert later._by_label is not None, "parts have rows"
        self._by_label += later._by_label
        self._by_sample += later._by_sample

    def judged(self) -> Judged:
        """Return the counts of all rows."""
        by_label = self._by_label
        assert by_label is not None, "problems have rows"
        by_sample = stacked(self._by_sample)
        problem = self._problem
        if problem.unknown is not None:
            measured = known_weights(problem.unknown, problem.sample_weight)
            by_label = replace(by_label, total=measured)
            by_sample = replace(by_sample, total=problem.known_in_row)
        return Judged(by_label, by_sample, self._kept)


def judge(rule: "Rule", problem: Problem, *, keep: bool = False, n_jobs: int | None = 1) -> Judged:
    """Count the decisions of a rule on all rows, and keep them if asked to; the rule finds its labels by name."""
    decided = Decisions(rule, problem)

    def count(blocks: Sequence[slice]) -> Counting:
        counting = Counting(problem, keep=keep)
        for rows in blocks:
            counting.add(rows, decided.about(rows))
        return counting

    whole: Counting
    whole, *others = _in_parts(count, decided, problem, 1 if keep else n_jobs)
    for later in others:
        whole.join(later)
    return whole.judged()


def _in_parts(
    count: Callable[[Sequence[slice]], Any],
    decided: Decisions,
    problem: Problem,
    n_jobs: int | None,
) -> list[Any]:
    """Have blocks of rows counted, some on each thread; all in one part where weights add up in the order of rows."""
    blocks = list(decided.row_blocks())
    n_parts = 1 if problem.sample_weight is not None else workers(n_jobs)
    parts = [blocks[part] for part in equal_parts(slice(0, len(blocks)), n_parts)]
    return run(count, parts, n_jobs=n_jobs, cells=problem.n_stored)


def count_cuts(thresholds: Floats, problem: Problem, n_jobs: int | None) -> ConfusionCounts:
    """Count by label what thresholds, (n_labels,), decide about dense scores, in the unit of the weights.

    Some labels on each thread: sums of weights add up in the order of rows, as those of metrics do.
    """
    dtype, weights, unknown = problem.scores.dtype, problem.sample_weight, problem.unknown
    cuts = rounded_up(thresholds, dtype) if dtype.kind == "f" else thresholds  # (n_labels,)

    def count(labels: slice) -> ConfusionCounts:
        counts: ConfusionCounts | None = None
        for rows in row_blocks(problem.n_samples, labels.stop - labels.start):
            decided = (problem.scores[rows, labels] >= cuts[labels]).view(np.uint8)
            if unknown is not None:
                decided = blanked(decided, unknown[rows, labels])
            of_rows = None if weights is None else weights[rows]
            counts = count_by_label(problem.truth[rows, labels], decided, of_rows, before=counts)
        assert counts is not None, "problems have rows"
        return counts

    n_parts = min(workers(n_jobs), ceil_div(problem.n_labels, _LEAST_LABELS))
    parts = list(equal_parts(slice(0, problem.n_labels), n_parts))
    counts = run(count, parts, n_jobs=n_jobs, cells=problem.n_stored)
    total = counts[0].total if unknown is None else known_weights(unknown, weights)
    return ConfusionCounts(np.concatenate([part.sums for part in counts], axis=1), total)


def count_decisions(rule: "Rule", problem: Problem, n_jobs: int | None = 1) -> ConfusionCounts:
    """Count the decisions of a rule label by label; of a problem that is counted, those of rules that cut scores.

    The sums of a counted problem are in multiples of its unit.
    """
    if not isinstance(problem, CountedProblem):
        return _decisions_by_label(rule, problem, n_jobs)
    switches = rule.switch_scores()
    assert switches is not None, "refused before"
    order = _checks.places(
        problem.label_names, rule.label_names, "counts", "the labels of the rule"
    )
    if order is not None:
        switches = [switches[place] for place in np.argsort(order)]

    # A label is predicted from its first switch on, no more from the second on, again from the third on.
    n_switches = max(own.size for own in switches)
    by_number = np.full((n_switches, problem.n_labels), np.inf)  # Nothing lies at or above +inf.
    for label, own in enumerate(switches):
        by_number[: own.size, label] = own
    tp, predicted = np.zeros((2, problem.n_labels), np.int64)
    for number, scores in enumerate(by_number):
        sign = -1 if number % 2 else 1
        above, tp_above, tied, tp_tied = _count_at(problem, scores)
        tp += sign * (tp_above + tp_tied)
        predicted += sign * (above + tied)
    sums = np.stack([tp, predicted, positives_of(problem)])  # (3, n_labels)
    unit = problem.unit if problem.totals.weighted else 1  # numbers of rows are whole
    return ConfusionCounts(sums, problem.weight_of_label, unit=unit, labels=range(problem.n_labels))


def _decisions_by_label(rule: "Rule", problem: Problem, n_jobs: int | None) -> ConfusionCounts:
    """Count decisions about rows label by label, as `judge` does."""
    decided = Decisions(rule, problem)
    weights = problem.sample_weight

    def count(blocks: Sequence[slice]) -> ConfusionCounts | None:
        counts: ConfusionCounts | None = None
        for rows in blocks:
            of_rows = None if weights is None else weights[rows]
            counts = count_by_label(
                problem.truth[rows], decided.about(rows), of_rows, before=counts
            )
        return counts

    by_label: ConfusionCounts = sum(_in_parts(count, decided, problem, n_jobs))
    if problem.unknown is None:
        return by_label
    return replace(by_label, total=known_weights(problem.unknown, weights))


def _count_at(problem: CountedProblem, scores: Floats) -> Ints:
    """Return weight and true positives above a score of each label, then those at it, (4, n_labels)."""
    keys = to_keys(np.ascontiguousarray(rounded_up(scores, problem.dtype)))
    blocks = in_pieces(slice(0, problem.n_labels), _LABELS_AT_ONCE)
    counts = [problem.items(labels.start, labels.stop).counts_at(keys[labels]) for labels in blocks]
    return np.concatenate(counts, axis=1)


def positives_of(problem: Problem) -> Ints:
    """Return the weight of the positives of each label, (n_labels,), in multiples of the unit of the weights."""
    if isinstance(problem, CountedProblem):
        return problem.positive_weights
    return count_by_label(problem.truth, problem.truth, problem.unit_weights).positives


def count_truth(problem: Problem) -> ConfusionCounts:
    """Count the truth of each label, as if just that were predicted."""
    if isinstance(problem, CountedProblem):
        sums = np.stack([problem.positive_weights] * 3)  # (3, n_labels)
        return ConfusionCounts(
            sums, problem.weight_of_label, unit=problem.unit, labels=range(problem.n_labels)
        )
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
    counts = judged.by_sample if average == "samples" else judged.by_label
    if average == "samples" and isinstance(counts.total, np.ndarray):
        is_known = counts.total > 0  # (n_samples,)
        counts = counts.take(is_known)
        weights = None if weights is None else weights[is_known]
    return average_of(f_score(beta), counts, average, zero_division, weights)
