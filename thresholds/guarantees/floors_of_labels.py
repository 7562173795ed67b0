"""Floors of labels that are to hold on new rows: who shares the error, which thresholds keep them, what is guaranteed.

The shares of the error are fixed before truth is looked at, and add up to what is allowed (Bonferroni), so they are
right however labels depend on each other. Holm's step, by which a label that is done hands its share on, would need a
last claim after which a label can break no floor. Recall has one, "never": nobody wants it shown. Precision has none: a
label of which "always" is shown may still be worse than its floor at cuts above. Nor may a label without positives
enough hand its share on: how many it has may tell how well the sample represents another label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from thresholds._arrays.matrices import compressed
from thresholds._arrays.types import Booleans, Floats
from thresholds._engine.histograms import Histograms, histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps
from thresholds.guarantees.exact_tests import divergence, positives_needed
from thresholds.guarantees.independent_rows import one_row_of_each_group, refuse_weights
from thresholds.guarantees.tests_of_labels import (
    Ranges,
    certified_precision,
    certified_recall,
    joined_ranges,
    predictions_needed_by_sequence,
)
from thresholds.rule.guarantees import ALWAYS, NEVER, Guarantees


class CertifiedFloors(NamedTuple):
    """What is certified of some labels."""

    allowed: Ranges  # thresholds that keep all floors of a label
    # (n_labels,), whether some threshold is shown to keep the floor; "always" keeps any recall, and
    # does not count.
    precision: Booleans
    recall: Booleans
    # (n_labels,), where none is shown: in the sample, at the cut that shows the floor most clearly;
    # NaN where none is above it.
    best_precision: Floats

    @property
    def are_kept(self) -> Booleans:
        """Whether some threshold (n_labels,) keeps all floors of a label."""
        return self.precision & self.recall & self.allowed.any


@dataclass(frozen=True)
class LabelFloors:
    """Floors of all labels, and the error that is allowed where each is to be shown."""

    confidence: float
    family: str
    units: str
    min_precision: Floats  # (n_labels,), NaN for none
    min_recall: Floats  # (n_labels,)
    precision_delta: Floats  # (n_labels,)
    recall_delta: Floats  # (n_labels,)
    tested: Problem  # all rows, or one of each group; sparse ones by label, as these are read

    @classmethod
    def from_problem(
        cls,
        problem: Problem,
        min_precision: Floats,
        min_recall: Floats,
        confidence: float,
        family: str,
    ) -> "LabelFloors":
        """Share the error that is allowed among floors and labels; of rows in groups one of each group is tested."""
        refuse_weights(problem)
        tested = problem
        if problem.groups is not None:
            tested = problem.at_rows(one_row_of_each_group(problem))
        tested = replace(
            tested,
            truth=compressed(tested.truth, "csc"),
            scores=compressed(tested.scores, "csc"),
            unknown=compressed(tested.unknown, "csc"),
        )

        # What is allowed is shared by the floors of a label; in a family by those of any label.
        has_precision, has_recall = ~np.isnan(min_precision), ~np.isnan(min_recall)
        has_both = has_precision & has_recall
        if family == "all":
            has_both = np.full_like(has_both, has_precision.any() and has_recall.any())
        delta = (1 - confidence) / np.where(has_both, 2, 1)  # (n_labels,)
        numbers = np.maximum(tested.present_of_label, 1).astype(np.float64)  # (n_labels,)
        return cls(
            confidence=confidence,
            family=family,
            units="rows" if problem.groups is None else "groups",
            min_precision=min_precision,
            min_recall=min_recall,
            precision_delta=shares_of_error(min_precision, numbers, delta, family),
            recall_delta=shares_of_error(min_recall, numbers, delta, family),
            tested=tested,
        )

    def certify(self, found: Histograms, first: int) -> CertifiedFloors:
        """Find the thresholds of some labels, the first of which has that number, that are shown to keep their floors.

        `found` has a bin for each of their scores in all rows; of groups the rows that are tested are read here.
        """
        labels = slice(first, first + found.n_labels)
        if self.units == "groups":
            numbers = np.arange(labels.start, labels.stop)
            found = histograms(self.tested, None, labels=numbers, n_jobs=1)
        steps, precision_floor = found.steps, self.min_precision[labels]

        # Recall: all thresholds up to a score; precision: some ranges.
        up_to = certified_recall(steps, self.min_recall[labels], self.recall_delta[labels])
        by_precision = certified_precision(
            found, self.tested, first, precision_floor, self.precision_delta[labels]
        )
        allowed = by_precision.within(up_to)

        # A label of which recall alone cannot be shown is predicted always: its recall is 1.
        always = np.isnan(up_to) & np.isnan(precision_floor)
        allowed.low[0, always] = allowed.high[0, always] = -np.inf
        return CertifiedFloors(
            allowed,
            precision=by_precision.any,
            recall=~np.isnan(up_to),
            best_precision=_best_precision(steps, precision_floor, ~by_precision.any),
        )

    def guarantees(
        self, certified: CertifiedFloors, thresholds: Floats, label_names: tuple[str, ...] | None
    ) -> Guarantees:
        """Say which floors are guaranteed at the thresholds (n_labels,) of a fit."""
        has_precision_floor = ~np.isnan(self.min_precision)
        has_recall_floor = ~np.isnan(self.min_recall)
        asked = has_precision_floor | has_recall_floor
        kept = certified.are_kept & certified.allowed.contain(thresholds)
        is_always = ~has_precision_floor & (thresholds == -np.inf)
        instead = np.where(kept | ~asked, "", np.where(is_always, ALWAYS, NEVER))

        # What is lacking, where a floor by itself cannot be shown.
        predictions = predictions_needed_by_sequence(
            self.min_precision, self.precision_delta, certified.best_precision
        )
        predictions[np.isnan(certified.best_precision)] = np.inf
        enough = positives_needed(self.min_recall, self.recall_delta)
        return Guarantees(
            confidence=self.confidence,
            family=self.family,
            units=self.units,
            min_precision=self.min_precision,
            min_recall=self.min_recall,
            precision_shown=has_precision_floor & (instead == ""),
            recall_shown=has_recall_floor & (instead == ""),
            instead=instead,
            predictions_needed=np.where(
                has_precision_floor & ~certified.precision, predictions, np.nan
            ),
            positives_needed=np.where(has_recall_floor & ~certified.recall, enough, np.nan),
            label_names=label_names,
        )


def joined_floors(parts: Sequence[CertifiedFloors]) -> CertifiedFloors:
    """Join what is certified of consecutive labels."""
    allowed, *columns = zip(*parts, strict=True)
    return CertifiedFloors(joined_ranges(allowed), *map(np.concatenate, columns))


def _best_precision(steps: Steps, floor: Floats, wanted: Booleans) -> Floats:
    """Return the precision (n_labels,) of the step that shows a floor most clearly, NaN where none is above it."""
    of_step = np.where(wanted, floor, np.nan)[steps.label]
    is_above = steps.tp > of_step * steps.predicted
    above = steps.where(is_above)
    clarity = divergence(above.tp, above.predicted, of_step[is_above])

    # The clearest step of each label comes first, of equal ones the highest.
    order = np.lexsort((-clarity, above.label))
    clearest = np.append(order, -1)[above.offsets[:-1]]
    best = above.at(np.where(np.diff(above.offsets) > 0, clearest, -1))
    with np.errstate(invalid="ignore"):
        return np.asarray(best.tp / best.predicted)


def sharing(floor: Floats, n_rows: Floats, delta: float) -> Booleans:
    """Return which labels share an allowed error: the most that could each show their floor with an equal share.

    A label could do so if all its `n_rows` were hits: floor^n_rows <= delta / (number of labels that share). Others
    show nothing whatever the rows hold, and risk nothing. Floors are NaN for labels without one.

    Examples
    --------
    >>> sharing(np.array([0.5, 0.9, 0.99, np.nan]), np.full(4, 50.0), 0.05)
    array([ True,  True, False, False])
    """
    has_floor = ~np.isnan(floor)
    smallest_p = floor**n_rows
    order = np.argsort(smallest_p, kind="stable")[: np.count_nonzero(has_floor)]  # NaN are last
    sizes = np.arange(1, order.size + 1)
    large_enough = np.flatnonzero(smallest_p[order] <= delta / sizes)
    chosen = np.zeros(floor.size, np.bool_)
    if large_enough.size:
        chosen[order[: large_enough[-1] + 1]] = True
    return chosen


def shares_of_error(floor: Floats, n_rows: Floats, delta: Floats, family: str) -> Floats:
    """Return the error that each label is allowed, (n_labels,).

    Parameters
    ----------
    floor : (n_labels,), NaN for a label without one
    n_rows : (n_labels,), rows of which each label is tested
    delta : (n_labels,), what each might use by itself; of a family the least of them is shared
    family : "each" or "all"

    Returns
    -------
    (n_labels,) A label outside the set that shares has what it would have as one more: by that its need is stated.
    """
    has_floor = ~np.isnan(floor)
    if family == "each" or not has_floor.any():
        return delta
    whole = float(delta[has_floor].min())
    inside = sharing(floor, n_rows, whole)
    n_inside = int(np.count_nonzero(inside))
    return np.where(inside, whole / max(n_inside, 1), whole / (n_inside + 1))
