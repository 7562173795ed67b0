"""Floors of labels that are to hold on new rows: which thresholds are shown to keep them, what a fit may promise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thresholds._arrays.matrices import compressed
from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._checks import InputError
from thresholds._engine.histograms import Histograms, histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps
from thresholds.data.folds import SEED
from thresholds.guarantees import ranges
from thresholds.guarantees.exact_tests import divergence, positives_needed
from thresholds.guarantees.family import shares_of_error
from thresholds.guarantees.fixed_sequence import predictions_needed, shown_precision
from thresholds.guarantees.order_statistics import shown_recall
from thresholds.guarantees.ranges import Ranges, one_range
from thresholds.rule.guarantees import ALWAYS, NEVER, Guarantees


class ShownFloors(NamedTuple):
    """What is shown of some labels."""

    allowed: Ranges  # thresholds that keep all floors of a label
    # (n_labels,), whether some threshold is shown to keep the floor; "always" keeps any recall, and
    # does not count.
    precision: Booleans
    recall: Booleans
    # (n_labels,), where none is shown: in the sample, at the cut that shows the floor most clearly;
    # NaN where none is above it.
    best_precision: Floats

    @property
    def can_promise(self) -> Booleans:
        """Whether some threshold (n_labels,) keeps all floors of a label."""
        return self.precision & self.recall & self.allowed.any


@dataclass(frozen=True)
class Floors:
    """Floors of all labels, and the error that is allowed where each is promised."""

    confidence: float
    family: str
    units: str
    min_precision: Floats  # (n_labels,), NaN for none
    min_recall: Floats  # (n_labels,)
    precision_delta: Floats  # (n_labels,)
    recall_delta: Floats  # (n_labels,)
    tested: Problem  # all rows, or one of each group

    @classmethod
    def of(
        cls,
        problem: Problem,
        min_precision: Floats,
        min_recall: Floats,
        confidence: float,
        family: str,
    ) -> "Floors":
        """Share the error that is allowed among floors and labels; of rows in groups one of each group is tested."""
        refuse_weights(problem)
        rows = None if problem.groups is None else _one_row_of_each(problem)
        has_both = ~np.isnan(min_precision) & ~np.isnan(min_recall)
        if family == "all":
            has_both = np.full_like(has_both, _has_both(min_precision, min_recall))
        delta = (1 - confidence) / np.where(has_both, 2, 1)  # (n_labels,)
        tested = problem if rows is None else problem.at_rows(rows)
        numbers = np.maximum(tested.present_of_label, 1).astype(np.float64)  # (n_labels,)
        return cls(
            confidence=confidence,
            family=family,
            units="rows" if rows is None else "groups",
            min_precision=min_precision,
            min_recall=min_recall,
            precision_delta=shares_of_error(min_precision, numbers, delta, family),
            recall_delta=shares_of_error(min_recall, numbers, delta, family),
            tested=tested,
        )

    @cached_property
    def _by_label(self) -> Problem:
        """The rows that are tested, the sparse ones in the order of the labels, of which a few are read at a time."""
        rows = self.tested
        return replace(
            rows,
            truth=compressed(rows.truth, "csc"),
            scores=compressed(rows.scores, "csc"),
            unknown=compressed(rows.unknown, "csc"),
        )

    def show(self, found: Histograms, first: int, last: int) -> ShownFloors:
        """Find the thresholds of the labels `first:last` that are shown to keep their floors.

        `found` has a bin for each of their scores in all rows; of groups the rows that are tested are read here.
        """
        labels = slice(first, last)
        if self.units == "groups":
            found = histograms(self._by_label, None, labels=np.arange(first, last), n_jobs=1)
        steps = found.steps
        precision_floor = self.min_precision[labels]
        recall_floor = self.min_recall[labels]

        # Recall: all thresholds up to a score; precision: some ranges. Where there is no floor, or one of 0: all.
        by_recall = shown_recall(steps, _tested(recall_floor), self.recall_delta[labels])
        by_recall = _unless_free(by_recall, recall_floor)
        by_precision = shown_precision(
            found, self._by_label, first, _tested(precision_floor), self.precision_delta[labels]
        )
        by_precision = _unless_free(by_precision, precision_floor)
        allowed = by_precision.within(by_recall.high[0])

        # A label of which recall alone cannot be shown is predicted always: its recall is 1.
        always = ~by_recall.any & np.isnan(precision_floor)
        lowest = np.full(always.size, -np.inf)
        allowed = one_range(lowest, lowest).where(always, allowed)
        return ShownFloors(
            allowed,
            by_precision.any,
            by_recall.any,
            _best_precision(steps, precision_floor, ~by_precision.any),
        )

    def guarantees(
        self, shown: ShownFloors, thresholds: Floats, label_names: tuple[str, ...] | None
    ) -> Guarantees:
        """Say what the thresholds (n_labels,) of a fit promise."""
        has_precision_floor = ~np.isnan(self.min_precision)
        has_recall_floor = ~np.isnan(self.min_recall)
        asked = has_precision_floor | has_recall_floor
        kept = shown.can_promise & shown.allowed.contain(thresholds)
        is_always = ~has_precision_floor & (thresholds == -np.inf)
        instead = np.where(kept | ~asked, "", np.where(is_always, ALWAYS, NEVER))

        # What is lacking, where a floor by itself cannot be shown.
        predictions = predictions_needed(
            self.min_precision, self.precision_delta, shown.best_precision
        )
        predictions[np.isnan(shown.best_precision)] = np.inf
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
                has_precision_floor & ~shown.precision, predictions, np.nan
            ),
            positives_needed=np.where(has_recall_floor & ~shown.recall, enough, np.nan),
            label_names=label_names,
        )


def refuse_weights(problem: Problem) -> None:
    """Refuse weights other than 0 and 1: a test counts rows, each of which was drawn once."""
    if problem.sample_weight is None:
        return
    if ((problem.sample_weight != 0) & (problem.sample_weight != 1)).any():
        # In the terms of the caller; the largest of them, from which units take no digit that is shown.
        weights = problem.row_weights * np.float64(problem.unit)
        odd = weights[(weights != 0) & (weights != 1)].max()
        raise InputError(
            f"sample_weight has {odd:g} with confidence, whose tests count rows; expected weights of 0 and 1 only"
        )


def _one_row_of_each(problem: Problem) -> Ints:
    """Draw a row of each group, without looking at truth or scores; rows of weight 0 are absent."""
    assert problem.groups is not None, "asked for only then"
    present = np.flatnonzero(problem.row_weights)
    drawn = np.random.default_rng(SEED).permutation(present)
    _, first = np.unique(problem.groups[drawn], return_index=True)
    return np.sort(drawn[first])


def _has_both(min_precision: Floats, min_recall: Floats) -> bool:
    """Whether there are floors of both kinds."""
    return bool((~np.isnan(min_precision)).any() and (~np.isnan(min_recall)).any())


def joined_floors(parts: Sequence[ShownFloors]) -> ShownFloors:
    """Join what is shown of consecutive labels."""
    allowed, *columns = zip(*parts, strict=True)
    return ShownFloors(ranges.joined(list(allowed)), *map(np.concatenate, columns))


def _tested(floor: Floats) -> Floats:
    """Return the floors that need a test: not 0, which everything keeps."""
    return np.where(floor == 0, np.nan, floor)


def _unless_free(shown: Ranges, floor: Floats) -> Ranges:
    """Allow labels without a floor, or with one of 0, all thresholds."""
    is_free = np.isnan(floor) | (floor == 0)
    infinite = np.full(floor.size, np.inf)
    return one_range(-infinite, infinite).where(is_free, shown)


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
