"""Cuts whose micro precision or recall, or its mean over rows, is promised for new rows: the best F among them.

per_label=False: one threshold for all labels. Recall is tested at all scores, on all rows. For precision, a tenth of
the rows, drawn with a seed, fixes the cuts that are tested, and the others show what they keep.

per_label=True: a point of the path of joint micro F. Which path that is, is seen from truth: a half of the rows, drawn
with a seed, fixes it, and the other half shows what its points keep.

Where nothing can be shown, a floor of precision leaves "never", a floor of recall alone "always".
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thresholds._arrays.sparse import filled, is_sparse, to_dense
from thresholds._arrays.types import Booleans, Floats
from thresholds._checks import Average, Placement
from thresholds.data.problem import Problem
from thresholds.guarantees.bets import rows_needed, spread
from thresholds.guarantees.gains import Of, RowFloor
from thresholds.guarantees.paths import Path, joint_path, shared_path
from thresholds.guarantees.precision_of_rows import shown_along
from thresholds.guarantees.recall_of_rows import Finds, highest_cut_expected, highest_cut_shown
from thresholds.guarantees.tallies import FAlong, tallies
from thresholds.guarantees.units import Units
from thresholds.search.one_cut import best_shared_cut
from thresholds.search.placement import place

_SCOUTS = 10  # Of a shared cut, one row in so many fixes what is tested.
_BLOCK_CELLS = 2**20


class RowFit(NamedTuple):
    """Thresholds, and what is promised of them."""

    thresholds: Floats  # (n_labels,)
    precision_shown: bool
    recall_shown: bool
    instead: str  # "never", "always", or empty
    needed: float  # rows, or groups, that would show what is not shown; NaN where all is


class Recalled(NamedTuple):
    """The highest cut that is shown to keep a floor of recall, None for none."""

    cut: float | None
    needed: float


@dataclass(frozen=True)
class RowSearch:
    """What is to be promised, and what is maximised."""

    problem: Problem
    average: Average  # "micro" or "samples"
    beta: float
    zero_division: float
    per_label: bool
    placement: Placement
    precision: float  # the floor; 0 for none
    recall: float
    delta: float | None  # None promises an expectation, of recall alone
    groups: object = None
    n_jobs: int | None = -1

    def best(self) -> RowFit:
        """Return the thresholds of best F among those that are shown to keep the floors."""
        units = Units.of(self.problem, self.groups)
        return self._on_the_path(units) if self.per_label else self._at_one_cut(units)

    def _at_one_cut(self, units: Units) -> RowFit:
        """Choose a threshold that all labels share."""
        recalled = self._recalled(units)
        if not self.precision:
            if recalled.cut is None:
                return self._always(recalled.needed)
            return self._kept(np.full(self.problem.n_labels, self._best_below(recalled.cut)))

        n_scouts = -(-units.n // _SCOUTS)
        scouts, tested = units.between(0, n_scouts), units.between(n_scouts, units.n)
        path = shared_path(self.problem, scouts)
        keeps_recall = np.full(path.n_points, recalled.cut is not None)
        if recalled.cut is not None:
            keeps_recall = path.thresholds[:, 0] <= recalled.cut
        return self._at_a_point(path, scouts, tested, keeps_recall, recalled.needed)

    def _on_the_path(self, units: Units) -> RowFit:
        """Choose a point of the path of joint micro F."""
        n_fitted = -(-units.n // 2)
        fitted, tested = units.between(0, n_fitted), units.between(n_fitted, units.n)
        half = self._without_absent().at_rows(fitted.rows)
        path = joint_path(half, self.placement, self.n_jobs)
        recalled = self._recalled(tested, path)
        keeps_recall = np.full(path.n_points, recalled.cut is not None)
        if recalled.cut is not None:
            keeps_recall = -np.arange(path.n_points) <= recalled.cut
        return self._at_a_point(path, fitted, tested, keeps_recall, recalled.needed)

    def _at_a_point(
        self, path: Path, scouts: Units, tested: Units, keeps_recall: Booleans, needed: float
    ) -> RowFit:
        """Choose the point of best F among those that keep all floors."""
        measure = (self.average, self.beta, self.zero_division)
        more = (scouts.n + tested.n) / max(tested.n, 1)  # units in all for each that is tested
        if self.precision:
            floor = self._floor("precision", self.precision)
            delta = self._share_of_delta()
            shown, f, of_precision = shown_along(
                self.problem, path, floor, delta, scouts, tested, measure
            )
            if not shown.any() or not keeps_recall.any():
                lacking = [] if shown.any() else [of_precision * more]
                lacking += [] if keeps_recall.any() else [needed]
                return self._never(max(lacking))
            allowed = shown & keeps_recall
            if not allowed.any():  # Each floor can be shown, but not both at one point.
                return self._never(np.inf)
        else:
            if not keeps_recall.any():
                return self._always(needed * more)
            allowed = keeps_recall
            along = FAlong(*measure, path.n_points)
            for units in (scouts, tested):
                for tally in tallies(self.problem, path, units):
                    along.add(tally)
            f = along.values()
        best = int(np.where(allowed, f, -1.0).argmax())
        return self._kept(path.at(best, self.problem.n_labels))

    def _recalled(self, units: Units, path: Path | None = None) -> "Recalled":
        """Find the highest cut that is shown to keep the floor of recall: a score, or of a path minus a point."""
        if not self.recall:
            return Recalled(np.inf, np.nan)
        floor = self._floor("recall", self.recall)
        most_lost = floor.most_lost(self.problem.n_labels)
        finds = self._finds(units, floor, path)
        if self.delta is None:
            cut = highest_cut_expected(finds, floor.floor, most_lost)
            gain = float(finds.gains(finds.score.size, floor.floor).mean())
            return Recalled(cut, np.ceil(most_lost / gain) if gain > 0 else np.inf)
        delta = self._share_of_delta()
        gains = finds.gains(finds.score.size, floor.floor)
        variance = spread(finds.n, gains.sum(), np.square(gains).sum())
        return Recalled(
            highest_cut_shown(finds, floor.floor, most_lost, delta),
            float(rows_needed(gains.mean(), variance, most_lost, delta)),
        )

    def _finds(self, units: Units, floor: RowFloor, path: Path | None) -> Finds:
        """Collect the positives of units that a cut may find, and what is asked of each unit."""
        scores, owners, found, asked = [], [], [], []
        first = 0
        max_rows = max(1, _BLOCK_CELLS // self.problem.n_labels)
        for block in units.blocks(max_rows):
            truth = np.asarray(to_dense(self.problem.truth[block.rows])) != 0  # (n_rows, n_labels)
            cells = self.problem.scores[block.rows]
            lowest = -np.inf
            if is_sparse(cells):
                # Positives that a sparse matrix leaves out are found by "always" only.
                lowest = self.problem.missing
                cells = filled(cells, -np.inf)
            row, label = np.nonzero(truth & (np.asarray(cells) > lowest))
            at = cells[row, label] if path is None else path.places(cells)[row, label]
            if path is not None:
                reached = at < path.n_points
                row, at = row[reached], -at[reached]
            n_true = np.count_nonzero(truth, axis=1)  # (n_rows,)
            each, in_row = floor.asked(np.ones_like(n_true), n_true, n_true)
            scores.append(at)
            owners.append(first + block.of_row[row])
            found.append((block.share * each)[row])
            asked.append(block.means(in_row))
            first += block.n
        arrays = (np.concatenate(parts) for parts in (scores, owners, found, asked))
        return Finds.of(*arrays)

    def _best_below(self, highest: float) -> float:
        """Return the threshold of best F among those at or below a score."""
        problem = self.problem
        # Scores above it count as equal to it, so that no cut divides them.
        if is_sparse(problem.scores):
            scores = problem.scores.copy()
            scores.data = np.minimum(scores.data, highest).astype(problem.dtype)
        else:
            scores = np.minimum(problem.scores, highest).astype(problem.dtype)
        within = replace(
            problem, scores=scores, keep_sparse=problem.keep_sparse or is_sparse(problem.scores)
        )
        score, lower = best_shared_cut(
            within, self.average, self.beta, self.zero_division, n_jobs=self.n_jobs
        )
        # To predict nothing keeps no floor of recall.
        if score == np.inf:
            score, lower = highest, np.nan
        if problem.keep_sparse:
            lower = np.fmax(lower, problem.missing)
        placed = place(np.array([score]), np.array([lower]), self.placement, problem.scores.dtype)
        return float(placed[0])

    def _without_absent(self) -> Problem:
        """Return the problem of cuts above what a sparse matrix leaves out."""
        return replace(self.problem, keep_sparse=is_sparse(self.problem.scores))

    def _floor(self, of: Of, floor: float) -> RowFloor:
        """Return a floor as it is counted in rows."""
        return RowFloor(of, floor, by_row=self.average == "samples")

    def _share_of_delta(self) -> float:
        """Return the error that each floor may use."""
        assert self.delta is not None, "a floor of precision is not promised in expectation"
        return self.delta / 2 if self.precision and self.recall else self.delta

    def _kept(self, thresholds: Floats) -> RowFit:
        """Return thresholds at which all floors are shown."""
        return RowFit(thresholds, bool(self.precision), bool(self.recall), "", np.nan)

    def _never(self, needed: float) -> RowFit:
        """Predict nothing, so that nothing is wrong."""
        return RowFit(np.full(self.problem.n_labels, np.inf), False, False, "never", needed)

    def _always(self, needed: float) -> RowFit:
        """Predict everything, so that nothing is missed; of sparse scores that are to stay so, what is stored."""
        lowest = -np.inf
        if self.problem.keep_sparse:
            lowest = np.nextafter(self.problem.dtype.type(self.problem.missing), np.inf)
        return RowFit(np.full(self.problem.n_labels, lowest), False, False, "always", needed)
