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

from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Booleans, Dense, Floats
from thresholds._checks import InputError, Placement
from thresholds._checks.options import EXPECTED
from thresholds._engine.placement import next_above, place
from thresholds._engine.problem import Problem
from thresholds._engine.shared_cut import best_shared_cut
from thresholds.guarantees.bets import rows_needed, spread
from thresholds.guarantees.cells import Cells, positives_in
from thresholds.guarantees.floors import refuse_weights
from thresholds.guarantees.gains import Of, RowFloor
from thresholds.guarantees.paths import Path, joint_path, shared_path
from thresholds.guarantees.precision_of_rows import shown_along
from thresholds.guarantees.recall_of_rows import Finds, highest_cut_expected, highest_cut_shown
from thresholds.guarantees.tallies import f_along
from thresholds.guarantees.units import Units
from thresholds.results import counted
from thresholds.rule.guarantees import ALWAYS, NEVER, STORED
from thresholds.rule.row_guarantees import RowAverage, RowGuarantees

_SCOUTS = 10  # Of a shared cut, one row in so many fixes what is tested.
_BLOCK_CELLS = 2**20


class RowFit(NamedTuple):
    """Thresholds (n_labels,), and what is promised of them."""

    thresholds: Floats
    guarantees: RowGuarantees


class Recalled(NamedTuple):
    """The highest cut that is shown to keep a floor of recall, None for none."""

    cut: float | None
    needed: float


@dataclass(frozen=True)
class RowSearch:
    """What is to be promised, and what is maximised."""

    problem: Problem
    average: RowAverage
    beta: float
    zero_division: float
    per_label: bool
    placement: Placement
    min_precision: float | None
    min_recall: float | None
    confidence: float | str  # "expected" promises an expectation, of recall alone
    n_jobs: int | None = -1

    def best(self) -> RowFit:
        """Return the thresholds of best F among those that are shown to keep the floors."""
        refuse_weights(self.problem)
        units = Units.of(self.problem)
        if self.per_label or self.min_precision:
            self._refuse_a_single(units)
        if self.per_label:
            return self._on_the_path(units)
        if self.min_precision:
            return self._at_a_cut_of_scouts(units)
        recalled = self._recalled(units)
        if recalled.cut is None:
            return self._instead(ALWAYS, units, recalled.needed)
        best = self._best_below(recalled.cut)
        return self._kept(np.full(self.problem.n_labels, best), units)

    def _refuse_a_single(self, units: Units) -> None:
        """Refuse what cannot be divided into units that fix which thresholds are tested, and others that test them."""
        if units.n < 2:
            name, what = ("y_true", "row") if self.problem.groups is None else ("groups", "group")
            raise InputError(
                f"{name} has {counted(units.n, what)} with confidence, expected at least 2: some fix which thresholds"
                " are tested, the others test them"
            )

    def _at_a_cut_of_scouts(self, units: Units) -> RowFit:
        """Choose a threshold that all labels share, among those whose precision is tested."""
        n_scouts = -(-units.n // _SCOUTS)
        scouts, tested = units.between(0, n_scouts), units.between(n_scouts, units.n)
        path = shared_path(self.problem, scouts)
        if not path.n_points:  # No scout has a score.
            return self._instead(NEVER, tested, np.inf)
        recalled = self._recalled(units)
        highest = -np.inf if recalled.cut is None else recalled.cut
        keeps_recall = path.falls.threshold <= highest
        return self._at_a_point(path, scouts, tested, keeps_recall, recalled)

    def _on_the_path(self, units: Units) -> RowFit:
        """Choose a point of the path of joint micro F."""
        n_fitted = -(-units.n // 2)
        fitted, tested = units.between(0, n_fitted), units.between(n_fitted, units.n)
        # No path leads down to what a sparse matrix leaves out.
        half = self.problem.at_rows(fitted.rows)
        half = replace(half, keep_sparse=is_sparse(half.scores))
        path = joint_path(half, self.placement, self.n_jobs)
        recalled = self._recalled(tested, path)
        highest = -np.inf if recalled.cut is None else recalled.cut
        keeps_recall = -np.arange(path.n_points) <= highest
        return self._at_a_point(path, fitted, tested, keeps_recall, recalled)

    def _at_a_point(
        self, path: Path, scouts: Units, tested: Units, keeps_recall: Booleans, recalled: "Recalled"
    ) -> RowFit:
        """Choose the point of best F among those that keep all floors; `scouts` fixed the path."""
        measure = (self.average, self.beta, self.zero_division)
        in_all = (scouts.n + tested.n) / max(tested.n, 1)  # units for each that is tested
        if not self.min_precision:
            if recalled.cut is None:
                return self._instead(ALWAYS, tested, recalled.needed * in_all)
            f = f_along(self.problem, path, (scouts, tested), measure)
            allowed = keeps_recall
        else:
            floor = self._floor("precision", self.min_precision)
            promised = shown_along(self.problem, path, floor, self._delta, scouts, tested, measure)
            f = promised.f
            allowed = promised.shown & keeps_recall
            if not allowed.any():
                needed = -np.inf if promised.shown.any() else promised.needed * in_all
                needed = (
                    needed if recalled.cut is not None else max(needed, recalled.needed * in_all)
                )
                return self._instead(NEVER, tested, needed if needed > 0 else np.nan)
        best = int(np.where(allowed, f, -1.0).argmax())
        return self._kept(path.at(best, self.problem.n_labels), tested)

    def _recalled(self, units: Units, path: Path | None = None) -> "Recalled":
        """Find the highest cut that is shown to keep the floor of recall: a score, or of a path minus a point."""
        if not self.min_recall:
            return Recalled(np.inf, np.nan)
        floor = self._floor("recall", self.min_recall)
        most_lost = floor.most_lost(self.problem.n_labels)
        finds = self._finds(units, floor, path)
        if self.confidence == EXPECTED:
            cut = highest_cut_expected(finds, floor.floor, most_lost)
            gain = float(finds.gains(finds.score.size, floor.floor).mean())
            return Recalled(cut, np.ceil(most_lost / gain) if gain > 0 else np.inf)
        delta = self._delta
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
        # Positives that a sparse matrix leaves out are found by "always" only.
        lowest = self.problem.missing if is_sparse(self.problem.scores) else -np.inf
        max_rows = max(1, _BLOCK_CELLS // max(1, self.problem.stored_per_row))
        for block in units.blocks(max_rows):
            cells = Cells.of(self.problem, block.rows)
            cells = cells.where(cells.is_true & (cells.score > lowest))
            at: Dense = cells.score
            if path is not None:
                at = path.places(cells.label, at)
                reached = at < path.n_points
                cells, at = cells.where(reached), -at[reached]
            n_true = positives_in(self.problem, block.rows)  # (n_rows,)
            each, in_row = floor.asked(np.ones_like(n_true), n_true, n_true)
            scores.append(at)
            owners.append(first + block.of_row[cells.row])
            found.append((block.share * each)[cells.row])
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

    def _floor(self, of: Of, floor: float) -> RowFloor:
        """Return a floor as it is counted in rows."""
        return RowFloor(of, floor, by_row=self.average == "samples")

    @property
    def _delta(self) -> float:
        """The error that each floor may use."""
        error = 1 - float(self.confidence)
        return error / 2 if self.min_precision and self.min_recall else error

    def _kept(self, thresholds: Floats, tested: Units) -> RowFit:
        """Return thresholds at which all floors are shown."""
        return RowFit(thresholds, self._guarantees(tested))

    def _instead(self, what: str, tested: Units, needed: float) -> RowFit:
        """Predict nothing, so that nothing is wrong, or as much as can be, so that nothing is missed."""
        at = np.inf if what == NEVER else -np.inf
        if what == ALWAYS and self.problem.keep_sparse:
            what = STORED
            at = self._just_above_missing()
        thresholds = np.full(self.problem.n_labels, at)
        return RowFit(thresholds, self._guarantees(tested, what, float(needed)))

    def _just_above_missing(self) -> float:
        """Return the lowest threshold that is not subnormal; of the fit, all stored scores above `missing` reach it."""
        problem = self.problem
        at = float(next_above(np.array([problem.missing]), problem.dtype)[0])
        return float(
            problem.scores.data.min(where=problem.scores.data > problem.missing, initial=at)
        )

    def _guarantees(
        self, tested: Units, instead: str = "", needed: float = np.nan
    ) -> RowGuarantees:
        """Say what is promised."""
        return RowGuarantees(
            average=self.average,
            confidence=self.confidence,
            units="rows" if self.problem.groups is None else "groups",
            n_tested=tested.n,
            n_labels=self.problem.n_labels,
            min_precision=self.min_precision,
            min_recall=self.min_recall,
            instead=instead,
            needed=needed,
        )
