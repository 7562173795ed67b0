"""Limits that every label's cut must keep; `fitting.options` checks them."""

from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Ints
from thresholds.search.staircase import Cuts, Staircase


class Limits(NamedTuple):
    """What a cut may predict; None is no limit. To predict nothing keeps all but `min_recall`."""

    max_overprediction: float | None = None  # times the label's positives
    min_precision: float | None = None
    min_recall: float | None = None

    def __str__(self) -> str:
        """List the limits that are set."""
        values = self._asdict().items()
        return ", ".join(f"{name}={value!r}" for name, value in values if value is not None)

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self != Limits()

    def allow(self, tp: Ints, predicted: Ints, positives: Ints) -> Booleans:
        """Return which counts keep the limits."""
        allowed = np.ones(tp.shape, np.bool_)
        # Ratios, as metrics have them; 0/0 keeps all limits.
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.max_overprediction is not None:
                allowed &= ~(predicted / positives > self.max_overprediction)
            if self.min_precision is not None:
                allowed &= ~(tp / predicted < self.min_precision)
            if self.min_recall is not None:
                allowed &= ~(tp / positives < self.min_recall)
        return allowed

    def within(self, stairs: Staircase) -> Staircase:
        """Leave out the steps that break limits; if both do, so does every cut between them."""
        return stairs.where(self.allow(stairs.tp, stairs.predicted, stairs.positives[stairs.label]))

    def nearest(self, stairs: Staircase, predicted: Ints) -> Cuts:
        """Return the allowed cut of each label that predicts most nearly as much; never without one."""
        allowed = self.within(stairs)

        # Distance of each step in ratio; from nothing as from a half.
        wanted = np.maximum(predicted, 0.5)[allowed.label]
        distance = np.abs(np.log(allowed.predicted / wanted))  # (n_steps,)

        # The first of each label in that order. It is stable: the highest of equally near steps.
        order = np.lexsort((distance, allowed.label))
        steps = np.full(predicted.size, -1)
        has_steps = np.diff(allowed.offsets) > 0
        steps[has_steps] = order[allowed.offsets[:-1][has_steps]]
        return allowed.cuts_at(steps)
