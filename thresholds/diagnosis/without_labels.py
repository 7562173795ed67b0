"""What a model itself believes of a rule's decisions, where there are no labels.

Of scores that a calibrator turns into probabilities more is known: how they were distributed by truth. So it is tested,
too, whether labels have become more or less frequent, or whether scores mean something else
(`calibration/label_shift.py`).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.blocks import row_blocks
from thresholds._arrays.sparse import to_dense
from thresholds._arrays.types import Matrix
from thresholds._checks import InputError
from thresholds._results.fields import record
from thresholds._results.plain import plain
from thresholds._results.result import Result, names_of, rows_of
from thresholds._results.tables import Table
from thresholds._results.words import counted
from thresholds.calibration import BaseRates, CalibratedRule, Calibrator
from thresholds.calibration.label_shift import rates_of
from thresholds.diagnosis.evidence import Criteria
from thresholds.diagnosis.states import NOT_OVER, by_state, platypuses_in_brief
from thresholds.rule import Rule

_MEANINGS = {
    "platypus": "over-predicted; hardly better than always",
    "unsupported": "impossible here",
    "overpredicted": "over-predicted",
    NOT_OVER: "",
}


@record
class ExpectedDiagnosis(Result):
    """Labels by state, as far as the model believes its own probabilities; no labels were seen.

    `diagnose(None, probabilities, rule)` gives it. With mu the sum of a label's probabilities p over n rows, k the
    number predicted and m the sum of p there,

        expected F1 = 2 m / (mu + k),   that of predicting all = 2 mu / (mu + n),   overprediction = k / mu

    The first of these states applies: "platypus", over-predicted and with an expected F1 below twice that of predicting
    all; "unsupported", mu = 0; "overpredicted", k > `overprediction` mu; "restrained". There is no error
    control: that the model believes its scores to be of use does not make them so (Lipton et al. 2013, sections 5.3 and
    6).

    Of a `CalibratedRule` and scores it also says, with error control, for which labels the scores fit another base rate
    than that of the calibration, and for which no base rate explains them: they changed their meaning (`base_rates`, as
    `estimate_base_rates` finds them).

    Attributes
    ----------
    table : structured array (n_labels,)
        name, expected_positives (the sum of the probabilities), base_rate (their mean), threshold (NaN for rules
        without one for each label), predicted_positive, predicted_rate, overprediction (predictions over expected
        positives), expected_f (F1 of expected counts), f_predict_all, lift, resolution (variance of the probabilities
        over b (1 - b): 0 if all are equal, 1 if all are 0 or 1), state. 0/0 is NaN.
    overprediction : as asked for
    n_samples : rows judged on
    base_rates : BaseRates, whether scores fit other base rates than the calibration's, or changed their meaning
        None for a rule for probabilities, and for a calibrator from an older file.
    """

    table: npt.NDArray[Any]
    overprediction: float
    n_samples: int
    base_rates: BaseRates | None = None

    @property
    def state(self) -> npt.NDArray[np.str_]:
        """The state of each label."""
        return np.asarray(self.table["state"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        values: dict[str, Any] = {
            "overprediction": self.overprediction,
            "n_samples": self.n_samples,
            "n_labels": self.table.size,
        }
        if self.base_rates is not None:
            values["base_rates"] = plain(self.base_rates)
        return values | {"labels": plain(self.table)}

    def in_brief(self, k: int = 3) -> str:
        """Name k of the platypuses, in a line; "" if there are none."""
        if not (self.state == "platypus").any():
            return ""
        return platypuses_in_brief(
            self.table, "over-predicted, by the model's own belief", _checks.count(k, "k", 1)
        )

    def _parts(self, _: int) -> Iterator[str | Table]:
        """Sum up by state."""
        yield self._about()
        yield by_state(
            self.table,
            _MEANINGS,
            f"Over-predicted is more than {self.overprediction:g} times as often as the model expects:",
        )
        if self.base_rates is not None:
            yield self.base_rates.in_brief()

    def _about(self) -> str:
        """Say what was judged, and how little that proves."""
        return (
            f"{counted(self.table.size, 'label')} on {counted(self.n_samples, 'row')} without labels: this reflects"
            " the model's own belief only, and a model that is wrong about itself is not found out"
        )


def expected_diagnosis(y_score: object, rule: Rule, criteria: Criteria) -> ExpectedDiagnosis:
    """Return the diagnosis of a rule by the model's own probabilities, as `diagnose` does without labels.

    Of `criteria` only `overprediction` and `alpha` are looked at.
    """
    if rule.uncapped is not rule and isinstance(rule.uncapped, CalibratedRule):
        raise InputError(
            f"rule is {_checks.shown(rule)} with y_true=None, expected a rule for probabilities, or a CalibratedRule"
        )
    calibrator = None
    base_rates = None
    if isinstance(rule, CalibratedRule):
        names = rule.label_names
        matrix = _checks.scores(y_score, "y_score", label_names=names)
        rule.validate(matrix)
        calibrator = rule.calibrator
        base_rates = rates_of(calibrator, matrix, criteria.alpha)
        rule = rule.rule
    else:
        y_score, names = _checks.named(y_score, "y_score", rule.label_names)
        matrix = _checks.probabilities(y_score, "y_score", names)
        rule.validate(matrix)
    n_samples, n_labels = matrix.shape

    # Sums over the rows, all (n_labels,): of p, of p^2, of decisions, and of p where the label is predicted.
    positives, squares, predicted, tp = np.zeros((4, n_labels))
    dense = calibrator is not None or rule.needs_dense(matrix)
    for rows in row_blocks(n_samples, n_labels):
        block = _probabilities(matrix[rows], calibrator)
        p = np.asarray(to_dense(block), np.float64)
        decided = np.asarray(to_dense(rule.decide(block, dense=dense)))
        positives += p.sum(axis=0)
        squares += (p**2).sum(axis=0)
        predicted += decided.sum(axis=0)
        tp += (p * decided).sum(axis=0)

    # F of these as of counts; 0/0 is NaN.
    base_rate = positives / n_samples
    with np.errstate(divide="ignore", invalid="ignore"):
        f = 2 * tp / (positives + predicted)
        f_predict_all = 2 * positives / (positives + n_samples)
        ratio = predicted / positives
        variance = np.maximum(squares / n_samples - base_rate**2, 0)
        columns = {
            "name": names_of(names, n_labels),
            "expected_positives": positives,
            "base_rate": base_rate,
            "threshold": getattr(rule, "thresholds", np.full(n_labels, np.nan)),
            "predicted_positive": predicted.astype(np.int64),
            "predicted_rate": predicted / n_samples,
            "overprediction": ratio,
            "expected_f": f,
            "f_predict_all": f_predict_all,
            "lift": f / f_predict_all,
            "resolution": variance / (base_rate * (1 - base_rate)),
        }

    # The first that applies.
    over = ratio > criteria.overprediction
    conditions = [over & (f < 2 * f_predict_all), positives == 0, over]
    columns["state"] = np.select(conditions, ["platypus", "unsupported", "overpredicted"], NOT_OVER)
    return ExpectedDiagnosis(rows_of(columns), criteria.overprediction, n_samples, base_rates)


def _probabilities(block: Matrix, calibrator: Calibrator | None) -> Matrix:
    """Return the probabilities of a few rows, dense where scores are calibrated."""
    return block if calibrator is None else calibrator.transform(block, dense=True)
