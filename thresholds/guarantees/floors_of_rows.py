"""Floors of all labels together, of micro precision or recall, or their mean over rows: the best F that keeps them.

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
from thresholds._arrays.types import Dense, Floats
from thresholds._checks import InputError
from thresholds._checks.options import EXPECTED
from thresholds._engine.placement import next_above, place
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds._engine.shared_cut import best_shared_cut
from thresholds._results.words import counted
from thresholds.guarantees.bets import rows_needed, variance_of
from thresholds.guarantees.independent_rows import SamplingUnits, refuse_weights
from thresholds.guarantees.paths import (
    cells_of_rows,
    f_along,
    first_points,
    joint_path,
    positives_of_rows,
    shared_path,
)
from thresholds.guarantees.tests_of_rows import (
    CertifiedPoints,
    RankedPositives,
    RowFloor,
    certified_points,
    highest_cut_certified,
    highest_cut_expected,
)
from thresholds.rule.guarantees import ALWAYS, NEVER, STORED
from thresholds.rule.row_guarantees import RowAverage, RowGuarantees

_SCOUTS = 10  # Of a shared cut, one row in so many fixes what is tested.
_BLOCK_CELLS = 2**20


@dataclass(frozen=True)
class RowFloors:
    """Floors of all labels together, None for none, and the confidence with which they are to hold."""

    average: RowAverage
    min_precision: float | None
    min_recall: float | None
    confidence: float | str  # "expected" guarantees an expectation, of recall alone

    @property
    def delta(self) -> float:
        """The error that each floor may use."""
        error = 1 - float(self.confidence)
        return error / 2 if self.min_precision and self.min_recall else error

    def guarantees(
        self, problem: Problem, tested: SamplingUnits, instead: str = "", needed: float = np.nan
    ) -> RowGuarantees:
        """Say what is guaranteed."""
        return RowGuarantees(
            average=self.average,
            confidence=self.confidence,
            units="rows" if problem.groups is None else "groups",
            n_tested=tested.n,
            n_labels=problem.n_labels,
            min_precision=self.min_precision,
            min_recall=self.min_recall,
            instead=instead,
            needed=needed,
        )


class RowFit(NamedTuple):
    """Thresholds (n_labels,), and what is guaranteed of them."""

    thresholds: Floats
    guarantees: RowGuarantees


def fit_with_row_floors(
    problem: Problem, floors: RowFloors, options: SearchOptions, *, per_label: bool
) -> RowFit:
    """Return the thresholds of best F among those that are shown to keep the floors."""
    refuse_weights(problem)
    units = SamplingUnits.from_problem(problem)
    if per_label or floors.min_precision:
        _refuse_a_single(problem, units)
        return _on_a_path(problem, floors, options, units, per_label=per_label)

    # A shared cut that is to keep recall alone: any that is not above the highest that is shown.
    recalled = recall_cut(problem, floors, units)
    if recalled.cut is None:
        return _instead(problem, floors, units, recalled.needed)
    best = _best_cut_below(problem, recalled.cut, options)
    return RowFit(np.full(problem.n_labels, best), floors.guarantees(problem, units))


def _refuse_a_single(problem: Problem, units: SamplingUnits) -> None:
    """Refuse what cannot be divided into units that fix which thresholds are tested, and others that test them."""
    if units.n < 2:
        name, what = ("y_true", "row") if problem.groups is None else ("groups", "group")
        raise InputError(
            f"{name} has {counted(units.n, what)} with confidence, expected at least 2: some fix which thresholds"
            " are tested, the others test them"
        )


def _on_a_path(
    problem: Problem,
    floors: RowFloors,
    options: SearchOptions,
    units: SamplingUnits,
    *,
    per_label: bool,
) -> RowFit:
    """Choose the point of best F among those of a path that are shown to keep the floors."""
    # 1. Some units, the scouts, fix the path; the others test its points.
    n_scouts = -(-units.n // 2) if per_label else -(-units.n // _SCOUTS)
    scouts, tested = units.between(0, n_scouts), units.between(n_scouts, units.n)
    if per_label:
        half = problem.at_rows(scouts.rows)
        # No path leads down to what a sparse matrix leaves out.
        path = joint_path(replace(half, keep_sparse=is_sparse(half.scores)), options)
    else:
        path = shared_path(problem, scouts)
        if not len(path):  # No scout has a score.
            return _instead(problem, floors, tested, np.inf)

    # 2. Recall: the points down from one; of a shared threshold, all rows test all scores.
    if per_label:
        recalled = recall_cut(problem, floors, tested, path)
        place_of_point: Floats = -np.arange(float(len(path)))
    else:
        recalled = recall_cut(problem, floors, units)
        place_of_point = path[:, 0]
    keeps_recall = place_of_point <= (-np.inf if recalled.cut is None else recalled.cut)

    # 3. Precision: the points that the other units show.
    if floors.min_precision:
        floor = RowFloor("precision", floors.min_precision, by_row=floors.average == "samples")
        points = certified_points(problem, path, floor, floors.delta, scouts, tested, options)
    else:
        f = f_along(problem, path, (scouts, tested), options)
        points = CertifiedPoints(np.ones(len(path), np.bool_), f, np.nan)

    # 4. The best of them.
    allowed = points.shown & keeps_recall
    if allowed.any():
        best = int(np.where(allowed, points.f, -1.0).argmax())
        return RowFit(path[best].copy(), floors.guarantees(problem, tested))
    in_all = (scouts.n + tested.n) / max(tested.n, 1)  # units for each that is tested
    needed = -np.inf if points.shown.any() else points.needed * in_all
    if recalled.cut is None:
        needed = max(needed, recalled.needed * in_all)
    return _instead(problem, floors, tested, needed if needed > 0 else np.nan)


class RecallCut(NamedTuple):
    """The highest cut that is shown to keep a floor of recall, None for none."""

    cut: float | None  # a score, or of a path minus a point
    needed: float  # units that would show one


def recall_cut(
    problem: Problem, floors: RowFloors, units: SamplingUnits, path: Floats | None = None
) -> RecallCut:
    """Find the highest cut that is shown to keep the floor of recall: a score, or of a path minus a point."""
    if not floors.min_recall:
        return RecallCut(np.inf, np.nan)
    floor = RowFloor("recall", floors.min_recall, by_row=floors.average == "samples")
    most_lost = floor.most_lost(problem.n_labels)
    ranked = _ranked_positives(problem, units, floor, path)
    gains = ranked.gains(None, floor.floor)
    if floors.confidence == EXPECTED:
        gain = float(gains.mean())
        needed = np.ceil(most_lost / gain) if gain > 0 else np.inf
        return RecallCut(highest_cut_expected(ranked, floor.floor, most_lost), needed)
    variance = variance_of(units.n, gains.sum(), np.square(gains).sum())
    return RecallCut(
        highest_cut_certified(ranked, floor.floor, most_lost, floors.delta),
        float(rows_needed(gains.mean(), variance, most_lost, floors.delta)),
    )


def _ranked_positives(
    problem: Problem, units: SamplingUnits, floor: RowFloor, path: Floats | None
) -> RankedPositives:
    """Collect the positives of units that a cut may find, and what is asked of each unit."""
    parts = []
    n_before = 0
    # Positives that a sparse matrix leaves out are found by "always" only.
    lowest = problem.missing if is_sparse(problem.scores) else -np.inf
    for block in units.blocks(max(1, _BLOCK_CELLS // max(1, problem.stored_per_row))):
        row, label, score, is_true = cells_of_rows(problem, block.rows)
        is_found = is_true & (score > lowest)
        row = row[is_found]
        cut: Dense = score[is_found]  # (n_positives,)
        if path is not None:
            point = first_points(path, label[is_found], cut)
            is_reached = point < len(path)
            row, cut = row[is_reached], -point[is_reached]
        n_true = positives_of_rows(problem, block.rows)  # (n_rows,)
        each, asked = floor.asked(np.ones_like(n_true), n_true, n_true)
        of_units = block.means(asked)
        parts.append((cut, n_before + block.of_row[row], (block.share * each)[row], of_units))
        n_before += block.n
    columns: list[Dense] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return RankedPositives.from_unordered(*columns)


def _best_cut_below(problem: Problem, highest: float, options: SearchOptions) -> float:
    """Return the threshold of best F among those that all labels share, at or below a score."""
    # Scores above it count as equal to it, so that no cut divides them.
    if is_sparse(problem.scores):
        scores = problem.scores.copy()
        scores.data = np.minimum(scores.data, highest).astype(problem.dtype)
    else:
        scores = np.minimum(problem.scores, highest).astype(problem.dtype)
    keep_sparse = problem.keep_sparse or is_sparse(problem.scores)
    within = replace(problem, scores=scores, keep_sparse=keep_sparse)
    average, beta, zero_division = options.average, options.beta, options.zero_division
    score, lower = best_shared_cut(within, average, beta, zero_division, n_jobs=options.n_jobs)
    # To predict nothing keeps no floor of recall.
    if score == np.inf:
        score, lower = highest, np.nan
    if problem.keep_sparse:
        lower = np.fmax(lower, problem.missing)
    dtype = problem.scores.dtype
    return float(place(np.array([score]), np.array([lower]), options.placement, dtype)[0])


def _instead(problem: Problem, floors: RowFloors, tested: SamplingUnits, needed: float) -> RowFit:
    """Predict nothing, so that nothing is wrong; for recall alone as much as can be, so that nothing is missed."""
    if floors.min_precision:
        what, at = NEVER, np.inf
    elif problem.keep_sparse:
        what, at = STORED, _just_above_missing(problem)
    else:
        what, at = ALWAYS, -np.inf
    guarantees = floors.guarantees(problem, tested, what, float(needed))
    return RowFit(np.full(problem.n_labels, at), guarantees)


def _just_above_missing(problem: Problem) -> float:
    """Return the lowest threshold that is not subnormal; of the fit, all stored scores above `missing` reach it."""
    at = float(next_above(np.array([problem.missing]), problem.dtype)[0])
    return float(problem.scores.data.min(where=problem.scores.data > problem.missing, initial=at))
