"""One threshold chosen by hand."""

from collections.abc import Sequence

import numpy as np

from thresholds import _checks
from thresholds.rule.threshold import ThresholdRule


class FixedRule(ThresholdRule):
    """The same threshold for every label, chosen by hand.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.FixedRule(0.5, 2).predict([[0.5, 0.1]])
    array([[1, 0]], dtype=uint8)
    """

    def __init__(
        self, threshold: float, n_labels: int, *, label_names: Sequence[str] | None = None, missing: float = 0.0
    ) -> None:
        value = _checks.real(threshold, "threshold")
        super().__init__(
            np.full(_checks.count(n_labels, "n_labels", 1), value),
            label_names=None if label_names is None else _checks.names_of_labels(label_names),
            missing=missing,
            per_label=False,
        )
