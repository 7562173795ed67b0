"""Limits that every label's cut must keep; `fitting.options` checks them."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.types import Ints
from thresholds.search.staircase import Cuts, Staircase


class Limits(NamedTuple):
    """What a cut may predict; None is no limit. To predict nothing keeps all but `min_recall`."""

    max_overprediction: float | None = None  # times the label's positives
    min_precision: float | None = None
    min_recall: float | None = None

    def __str__(self) -> str:
        """List the limits that are set."""
        return ", ".join(f"{name}={value!r}" for name, value in self._asdict().items() if value is not None)

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self != Limits()

    def kept(self, tp: Ints, predicted: Ints, positives: Ints) -> npt.NDArray[np.bool_]:
        """Tell which counts keep the limits."""
        kept = np.ones(tp.shape, np.bool_)
        with np.errstate(divide="ignore", invalid="ignore"):  # Ratios, as metrics have them; 0/0 keeps all limits.
            if self.max_overprediction is not None:
                kept &= ~(predicted / positives > self.max_overprediction)
            if self.min_precision is not None:
                kept &= ~(tp / predicted < self.min_precision)
            if self.min_recall is not None:
                kept &= ~(tp / positives < self.min_recall)
        return kept

    def within(self, stairs: Staircase) -> Staircase:
        """Leave out the steps that do not keep the limits; no cut between two steps would either, if they do not."""
        return stairs.where(self.kept(stairs.tp, stairs.predicted, stairs.positives[stairs.label]))

    def nearest(self, stairs: Staircase, predicted: Ints) -> Cuts:
        """Return the cut of each label that keeps the limits and predicts most nearly as much; never without one."""
        allowed = self.within(stairs)
        far = np.abs(np.log(allowed.predicted / np.maximum(predicted, 0.5)[allowed.label]))
        order = np.lexsort((far, allowed.label))  # Stable: of steps that are equally near the highest.
        steps = np.full(predicted.size, -1)
        some = np.diff(allowed.offsets) > 0
        steps[some] = order[allowed.offsets[:-1][some]]
        return allowed.cuts_at(steps)
