"""A rule for probabilities, applied to scores that are calibrated first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Matrix
from thresholds.calibration.calibrator import Calibrator
from thresholds.rule import InstanceRule, Rule, ThresholdRule
from thresholds.rule.decisions import dense_answer, like, positives_only


@dataclass(frozen=True)
class CalibratedRule:
    """Turn scores into probabilities, then decide. Pickling keeps it; there is no `save` yet.

    Attributes
    ----------
    calibrator : Calibrator
    rule : InstanceRule, or a ThresholdRule for probabilities
        An `InstanceRule` is also told what `calibrator` says about the entries that a sparse row leaves out; they are
        not predicted.

    Examples
    --------
    >>> import thresholds
    >>> truth, scores = [[1, 0], [0, 1], [1, 1], [0, 0]], [[2.0, -1.0], [-3.0, 4.0], [1.0, 0.5], [-2.0, -2.0]]
    >>> rule = thresholds.CalibratedRule(thresholds.calibrate(truth, scores, "platt"), thresholds.InstanceRule())
    >>> rule.predict([[1.5, -2.5], [-2.5, 0.3]])
    array([[1, 0],
           [1, 1]], dtype=uint8)
    """

    calibrator: Calibrator
    rule: InstanceRule | ThresholdRule

    def __post_init__(self) -> None:
        """Check the parts."""
        kinds = (Calibrator, "a Calibrator"), (InstanceRule | ThresholdRule, "an InstanceRule or a ThresholdRule")
        for name, (kind, expected) in zip(("calibrator", "rule"), kinds, strict=True):
            if not isinstance(getattr(self, name), kind):
                raise _checks.InputError(f"{name} is {_checks.shown(getattr(self, name))}, expected {expected}")
        names, n_labels = self.rule.label_names, self.calibrator.n_labels
        of_rule = self.rule.n_labels if isinstance(self.rule, ThresholdRule) else len(names or range(n_labels))
        if of_rule != n_labels:
            raise _checks.InputError(f"rule is about {of_rule} labels, expected {n_labels} as the calibrator is")

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if the calibrator or the rule has them."""
        return self.calibrator.label_names or self.rule.label_names

    @property
    def predicts_missing(self) -> bool:
        """Whether entries that a sparse matrix leaves out are predicted for some label: a dense answer."""
        return bool(self._of_absent().any())

    def predict(self, y_score: object, *, dense: bool = False, n_jobs: int | None = -1, progress: bool = False) -> Any:
        """Decide; arguments, shapes and errors as in `Calibrator.transform` and the `predict` of the rule."""
        scores = _checks.scores(y_score, label_names=self.label_names)
        self._check(scores)
        decided = self._decide(scores, dense=dense, n_jobs=n_jobs, progress=progress)
        return like(decided, y_score, self.label_names)

    def _check(self, scores: Matrix) -> None:
        """Refuse scores that the calibrator or the rule cannot take."""
        self.calibrator._checked(scores)
        self.rule._check(self.calibrator.absent[np.newaxis])

    def _decide(
        self, scores: Matrix, *, dense: bool = False, n_jobs: int | None = -1, progress: bool = False
    ) -> Matrix:
        """Predict on checked scores."""
        if isinstance(self.rule, InstanceRule):
            tails = self.calibrator.tail(scores) if is_sparse(scores) else None
            probabilities = self.calibrator.transform(scores)
            return self.rule._decide(probabilities, tails, dense=dense, n_jobs=n_jobs, progress=progress)
        if dense or not is_sparse(scores):
            return self.rule._decide(self.calibrator.transform(scores, dense=True))
        absent = self._of_absent()
        if absent.any():
            raise dense_answer(scores, f"what it leaves out is predicted for label {int(absent.argmax())}")
        probabilities = self.calibrator.transform(scores)
        return positives_only(probabilities, probabilities.data >= self.rule.thresholds[probabilities.indices])

    def _of_absent(self) -> npt.NDArray[np.bool_]:
        """Tell for which labels absent entries are predicted."""
        if isinstance(self.rule, InstanceRule):
            return np.zeros(self.calibrator.n_labels, np.bool_)
        return np.asarray(self.calibrator.absent >= self.rule.thresholds)

    def __str__(self) -> str:
        """Name both parts."""
        return f"{self.rule}, after {self.calibrator.method} calibration"


AnyRule = Rule | CalibratedRule
