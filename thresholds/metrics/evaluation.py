"""From targets to figures: check the arguments of a metric, count once, then divide, warn and average."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Numbers
from thresholds._checks.classes import is_class
from thresholds.metrics import targets, undefined
from thresholds.metrics.averages import PRECISION, RECALL, Ratio, average_of, each
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.targets import Targets

AVERAGES = (None, "binary", "micro", "macro", "weighted", "samples", "f_of_averages")


@dataclass(frozen=True)
class Evaluation:
    """Counted targets, and how their figures are averaged."""

    targets: Targets
    counts: ConfusionCounts  # by row for "samples", by label otherwise
    average: str | None
    zero_division: object
    row_weights: Numbers | None  # of the rows that are counted

    def give(self, figure: Ratio, warn: bool = True) -> Any:
        """Return a figure, averaged; a warning points at who called the caller."""
        if warn and self.zero_division == "warn":
            self._warn(figure)
        value = undefined.value_of(self.zero_division)
        if self.average is None:
            return each(figure, self.counts, value)
        if self.average == "binary":
            return float(each(figure, self.counts, value)[0])
        return average_of(figure, self.counts, self.average, value, self.row_weights)

    @property
    def support(self) -> Numbers:
        """Positives of each label: their number, or their weight."""
        return self.targets.in_weights(self.counts).positives

    def _warn(self, figure: Ratio) -> None:
        """Warn where a figure is 0/0; F of averages is made of precision and recall, so of theirs.

        Of F-beta with beta 0 scikit-learn does not warn: it gives precision, which has its own warning.
        """
        if figure.beta == 0 and self.average != "f_of_averages":
            return
        counts = self.counts.pooled() if self.average == "micro" else self.counts
        figures = [figure]
        if self.average == "f_of_averages" and figure.beta is not None:
            figures = [PRECISION, RECALL]
        for each_figure in figures:
            is_undefined = np.isnan(each_figure.ratio(counts))
            undefined.warn(
                each_figure.name, each_figure.lacking, is_undefined, self.average, stacklevel=4
            )


def evaluate(
    y_true: object,
    y_pred: object,
    labels: object,
    pos_label: Any,
    average: str | None,
    sample_weight: object,
    zero_division: object,
    unknown: object,
) -> Evaluation:
    """Check the arguments of a metric and count; to be called by the public functions themselves."""
    _checks.option(average, "average", AVERAGES)
    undefined.value_of(zero_division)
    if average == "binary":
        if labels is not None and _checks.plain(labels, "labels").ndim == 0:
            raise _checks.InputError(
                f"labels is {_checks.shown(labels)}, expected classes in a list"
            )
        checked = targets.read_binary(y_true, y_pred, pos_label, sample_weight, unknown)
    else:
        _note_unused(pos_label, average)
        checked = targets.read(y_true, y_pred, labels, sample_weight, unknown)
    if average == "samples":
        counts, row_weights = checked.known_rows()
    else:
        counts, row_weights = checked.by_label(), None
    return Evaluation(checked, counts, average, zero_division, row_weights)


def _note_unused(pos_label: Any, average: str | None) -> None:
    """Say, in scikit-learn's words, that `pos_label` does nothing without "binary"."""
    if not is_class(pos_label):
        raise _checks.InputError(
            f"pos_label is {_checks.shown(pos_label)}, expected one of the classes"
        )
    if pos_label not in (None, 1):
        warnings.warn(
            f"Note that pos_label (set to {pos_label!r}) is ignored when average != 'binary' (got {average!r})."
            " You may use labels=[pos_label] to specify a single positive class.",
            UserWarning,
            stacklevel=4,
        )
