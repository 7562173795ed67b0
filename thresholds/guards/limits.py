"""Limits that every label's cut must keep; `fitting.options` checks them."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Floats, Ints
from thresholds._engine import choosing
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps
from thresholds.guarantees.tests_of_labels import Ranges, certified_cuts


class Limits(NamedTuple):
    """What a cut may predict; None is no limit. To predict nothing keeps all but `min_recall`.

    Floors are numbers for all labels or arrays of one for each (n_labels,), NaN for none. Those that are to hold on
    new rows are not among them: `shown` has the thresholds that do.
    """

    max_overprediction: float | None = None  # times the label's positives
    min_precision: Floats | float | None = None
    min_recall: Floats | float | None = None
    shown: Ranges | None = None

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return any(limit is not None for limit in self)

    def of_labels(self, labels: slice | Ints) -> "Limits":
        """Return the limits of some labels."""
        return self._replace(
            min_precision=_taken(self.min_precision, labels),
            min_recall=_taken(self.min_recall, labels),
            shown=None if self.shown is None else self.shown.of_labels(labels),
        )

    def of_counts(self, n_labels: int) -> choosing.Limits:
        """Return the limits of counts, those of each label, (n_labels,) each."""
        usual = choosing.Limits.none(n_labels)
        given = (self.max_overprediction, self.min_recall, self.min_precision)
        return choosing.Limits(
            *(
                none if limit is None else np.where(np.isnan(limit), none, limit)
                for none, limit in zip(usual, given, strict=True)
            )
        )

    def allow(self, tp: Ints, predicted: Ints, positives: Ints) -> Booleans:
        """Return which counts, one of each label, keep the limits of counts."""
        return self.of_counts(tp.size).allow(tp, predicted, positives)

    def candidates(self, problem: Problem, found: Histograms) -> Steps:
        """Return the cuts that keep all limits, of which the best is chosen; `found` has a bin for each score."""
        steps = found.steps if self.shown is None else certified_cuts(found, self.shown)
        steps = steps.cuttable(problem)
        # If two steps break limits of counts, so does every cut between them.
        return steps.where(self.of_counts(found.n_labels).allow_steps(steps))

    def keep(self, thresholds: Floats, tp: Ints, predicted: Ints, positives: Ints) -> Booleans:
        """Return which thresholds, one of each label, keep all limits."""
        allowed = self.allow(tp, predicted, positives)
        return allowed if self.shown is None else allowed & self.shown.contain(thresholds)


def nearest(allowed: Steps, predicted: Ints) -> Cuts:
    """Return the allowed cut of each label that predicts most nearly as much; never without one."""
    # Distance of each step in ratio; from nothing as from a half.
    label = allowed.label
    distance = np.abs(np.log(allowed.predicted / np.maximum(predicted, 0.5)[label]))  # (n_steps,)
    order = np.lexsort((distance, label))  # stable: of equal ones the highest cut
    has_steps = np.diff(allowed.offsets) > 0
    chosen = np.full(has_steps.size, -1)
    chosen[has_steps] = order[allowed.offsets[:-1][has_steps]]
    return allowed.at(chosen)


def _taken(limit: Floats | float | None, labels: slice | Ints) -> Floats | float | None:
    """Return the limits of some labels."""
    return limit[labels] if isinstance(limit, np.ndarray) else limit
