"""Rows that come in groups, as those of a patient, an author or an artist: what they are worth, and where they lie.

Rows of a group are alike, so that n of them say less than n rows of n groups. How much less, the data tell: as many
rows are worth one row of its own as the variance of the label's F is larger where groups are drawn, not rows. A row
moves F in proportion to

    psi = (1 + B) tp - F (B true + predicted),    B = beta^2, tp = 1 if it is true and predicted

at the best cut, which sums to 0. So the ratio of the two variances is

    alike = sum over groups of (sum of psi in the group)^2 / sum over rows of psi^2

It is k where each row is there k times, and 1 on average where a group says nothing of its rows (a design effect: Kish
1965, "Survey Sampling", section 5.4; the variance by groups is that of Liang and Zeger 1986). It is at least 1, and
at most as many rows as are true.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.matrices import compressed
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Floats, Ints, Scores
from thresholds._engine.cuts import Cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.metrics.judging import Decisions
from thresholds.rule import ThresholdRule


def groups_of(problem: Problem) -> Ints | None:
    """Return the number of the group of each row, (n_samples,); None where each row that has weight stands alone."""
    if problem.groups is None:
        return None
    present = problem.groups[problem.row_weights > 0]
    return problem.groups if present.size and np.bincount(present).max() > 1 else None


class Alike(NamedTuple):
    """The two sums of squares of each label, (n_labels,), of groups and of rows."""

    of_groups: Floats
    of_rows: Floats
    groups: Ints  # (n_samples,) the number of the group of each row

    def in_labels(self, most: Floats) -> Floats:
        """Return how many rows of each label are worth one, (n_labels,), `most` at most.

        What a label's few positives say of it is uncertain: it meets what all labels say half way.
        """
        with np.errstate(invalid="ignore"):
            alike = np.nan_to_num(self.of_groups / self.of_rows, nan=1.0)
        half_way = np.sqrt(np.maximum(alike, 1.0) * self.in_all())
        return np.clip(half_way, 1.0, np.maximum(most, 1.0))

    def in_all(self) -> float:
        """Return how many rows are worth one, of all labels together."""
        total = self.of_rows.sum()
        return max(1.0, float(self.of_groups.sum() / total)) if total > 0 else 1.0


def rows_alike(problem: Problem, groups: Ints, optimum: Cuts, beta: float) -> Alike:
    """Tell how far rows of a group are alike, at the cuts that are best in the sample."""
    from scipy import sparse

    beta2 = beta**2
    f = f_of_counts(optimum.tp, optimum.predicted, optimum.positives, beta, 0.0)  # (n_labels,)
    rule = ThresholdRule(optimum.placed(problem, "score"), missing=problem.missing)
    decisions = Decisions(rule, problem)
    weights = problem.row_weights * np.float64(problem.unit)  # (n_samples,)
    n_groups = int(groups.max()) + 1

    # How F moves with a row that is true and predicted, one that is missed, and a false alarm.
    moves = {"hit": 1 + beta2 - f * (beta2 + 1), "missed": -f * beta2, "false": -f}
    in_groups = sparse.csr_array((n_groups, problem.n_labels))
    of_rows = np.zeros(problem.n_labels)
    for rows in decisions.row_blocks():
        decided = sparse.csr_array(decisions.about(rows), dtype=np.float64)
        true = sparse.csr_array(problem.truth[rows], dtype=np.float64)
        hit = true.multiply(decided)
        own = weights[rows]
        n_rows = own.size
        membership = sparse.csr_array(
            (own, (groups[rows], np.arange(n_rows))), shape=(n_groups, n_rows)
        )
        for name, cells in (("hit", hit), ("missed", true - hit), ("false", decided - hit)):
            marked = sparse.csr_array(cells)
            moved = sparse.csr_array(marked.multiply(moves[name][np.newaxis]))
            in_groups = in_groups + membership @ moved
            of_rows += (own**2 @ marked) * moves[name] ** 2
    of_groups = np.asarray(in_groups.multiply(in_groups).sum(axis=0)).reshape(-1)
    return Alike(of_groups, of_rows, groups)


class GroupRuns(NamedTuple):
    """What each group has of each label between two cuts, where it has anything there.

    Label j has the groups `starts[j]:starts[j + 1]`, group g of them the runs `offsets[g]:offsets[g + 1]`.
    """

    starts: Ints  # (n_labels + 1,)
    offsets: Ints  # (n_some + 1,)
    cuts: Ints  # (n_runs,) the highest at which it is predicted, from 1
    tp: Floats  # (n_runs,)
    predicted: Floats  # (n_runs,)

    def of_labels(self, labels: slice) -> "GroupRuns":
        """Return those of some labels."""
        starts = self.starts[labels.start : labels.stop + 1]
        offsets = self.offsets[starts[0] : starts[-1] + 1]
        own = slice(offsets[0], offsets[-1])
        of_runs = (self.cuts[own], self.tp[own], self.predicted[own])
        return GroupRuns(starts - starts[0], offsets - offsets[0], *of_runs)

    @classmethod
    def from_cells(
        cls, problem: Problem, groups: Ints, cuts: Floats, rows_per_unit: float
    ) -> "GroupRuns":
        """Sort the cells of each label by group, and by the cuts that they lie between; cuts fall."""
        rising = np.ascontiguousarray(cuts[::-1])
        in_rows = problem.row_weights * np.float64(rows_per_unit)  # (n_samples,)
        n_places = cuts.size + 1
        of_labels = []
        for rows, scores, true in _cells_of_labels(problem):
            cut = n_places - rising.searchsorted(scores, "right")
            used = (cut < n_places) & (in_rows[rows] > 0)
            rows, cut, true = rows[used], cut[used], true[used]
            place = groups[rows] * n_places + cut
            of_labels.append(_added_up(place, in_rows[rows] * true, in_rows[rows]))

        # Of each label its groups, of each group its runs.
        place, tp, predicted = (np.concatenate(part) for part in zip(*of_labels, strict=True))
        label = np.repeat(np.arange(problem.n_labels), [part[0].size for part in of_labels])
        group, cut = np.divmod(place, n_places)
        is_first = np.ones(place.size, np.bool_)
        is_first[1:] = (group[1:] != group[:-1]) | (label[1:] != label[:-1])
        firsts = np.flatnonzero(is_first)
        n_of_label = np.bincount(label[firsts], minlength=problem.n_labels)
        starts, offsets = np.append(0, n_of_label.cumsum()), np.append(firsts, place.size)
        return cls(starts, offsets, cut, tp, predicted)


def _added_up(place: Ints, tp: Floats, predicted: Floats) -> tuple[Ints, Floats, Floats]:
    """Add up what lies at one place, and put places in order."""
    if not place.size:
        return place, tp, predicted
    order = place.argsort(kind="stable")
    place = place[order]
    firsts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    tp, predicted = (np.add.reduceat(values[order], firsts) for values in (tp, predicted))
    return place[firsts], tp, predicted


def _cells_of_labels(problem: Problem) -> Iterator[tuple[Ints, Scores, Booleans]]:
    """Return rows, scores and truth of the cells of each label that may lie above a cut, and whose truth is known."""
    truth, scores = compressed(problem.truth, "csc"), compressed(problem.scores, "csc")
    unknown = compressed(problem.unknown, "csc")
    all_rows = np.arange(problem.n_samples)
    for j in range(problem.n_labels):
        rows = all_rows
        if not is_sparse(scores):
            own = np.asarray(scores[:, j], problem.dtype)
        elif problem.keep_sparse:
            stored = slice(*scores.indptr[j : j + 2])
            rows, own = scores.indices[stored], scores.data[stored].astype(problem.dtype)
        else:
            own = np.full(problem.n_samples, problem.missing, problem.dtype)
            stored = slice(*scores.indptr[j : j + 2])
            own[scores.indices[stored]] = scores.data[stored]
        if unknown is not None:
            is_known = ~_is_marked(unknown, j, rows)
            rows, own = rows[is_known], own[is_known]
        yield rows, own, _is_marked(truth, j, rows)


def _is_marked(matrix: Any, label: int, rows: Ints) -> Booleans:
    """Return in which of some rows a label has an entry other than 0, (n_rows,); a sparse matrix is CSC."""
    if not is_sparse(matrix):
        return np.asarray(matrix[rows, label] != 0)
    own = slice(*matrix.indptr[label : label + 2])
    return np.isin(rows, matrix.indices[own][matrix.data[own] != 0])
