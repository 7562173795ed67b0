"""A rule for probabilities, applied to scores that are calibrated first."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix
from thresholds._results.fields import record, value
from thresholds.calibration.calibrator import Calibrator
from thresholds.calibration.curves import read
from thresholds.calibration.regions import regions_of
from thresholds.rule import InstanceRule, RegionRule, Rule, ThresholdRule
from thresholds.rule.predicting import predict
from thresholds.rule.saving import Read
from thresholds.rule.sparse_answers import positives_only, refuse_dense_answer


def _of_kind(kind: Any, expected: str) -> Any:
    """Return a check of a part."""

    def check(given: object, name: str) -> Any:
        if not isinstance(given, kind):
            raise _checks.InputError(f"{name} is {_checks.shown(given)}, expected {expected}")
        return given

    return check


@record
class CalibratedRule(Rule):
    """Turn scores into probabilities, then decide.

    Attributes
    ----------
    calibrator : Calibrator
    rule : InstanceRule, or a ThresholdRule for probabilities
        An `InstanceRule` is also told what `calibrator` says about the entries that a sparse row leaves out; they are
        not predicted.
    average, beta, zero_division : those of `rule`
    objective : float or None
        The F-measure reached on the rows of the fit, by their labels; None if the parts were put together by hand.
    fitted_on, out_of_fold, made_by : as in `ThresholdRule`, of the scores before calibration
    profile : ScoreProfile of the scores before calibration, those of the calibrator's fit or what `watching` was told;
        None if not known

    Examples
    --------
    >>> import thresholds
    >>> truth, scores = [[1, 0], [0, 1], [1, 1], [0, 0]], [[2.0, -1.0], [-3.0, 4.0], [1.0, 0.5], [-2.0, -2.0]]
    >>> rule = thresholds.CalibratedRule(thresholds.calibrate(truth, scores, "platt"), thresholds.InstanceRule())
    >>> rule.predict([[1.5, -2.5], [-2.5, 0.3]])
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """

    calibrator: Calibrator = value(_of_kind(Calibrator, "a Calibrator"))
    rule: InstanceRule | ThresholdRule = value(
        _of_kind(InstanceRule | ThresholdRule, "an InstanceRule or a ThresholdRule")
    )

    kind: ClassVar[str] = "calibrated"
    criterion: ClassVar[str] = "curve"

    def _check(self) -> None:
        """Refuse parts about other labels, and put those of the rule into the order of the calibrator's."""
        if self.rule.n_labels not in (None, self.n_labels):
            raise _checks.InputError(
                f"rule is about {self.rule.n_labels} labels, expected {self.n_labels} as the calibrator is"
            )
        if self.kept is None:
            object.__setattr__(self, "kept", self.calibrator.profile)
        super()._check()
        object.__setattr__(self, "rule", _in_order(self.rule, self.calibrator.label_names))

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels, if the calibrator or the rule has them."""
        return self.calibrator.label_names or self.rule.label_names

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.calibrator.n_labels)

    @property
    def missing(self) -> float:
        """The score of an entry that a sparse matrix leaves out."""
        return self.calibrator.missing

    @property
    def average(self) -> str | None:
        """What was maximised."""
        return self.rule.average

    @property
    def beta(self) -> float:
        """Weight of recall in what was maximised."""
        return self.rule.beta

    @property
    def zero_division(self) -> float:
        """The F of a label, or row, with neither positives nor predictions."""
        return self.rule.zero_division

    def predict(
        self,
        y_score: object,
        *,
        dense: bool = False,
        n_jobs: int | None = -1,
        progress: bool = False,
    ) -> Any:
        """Decide; arguments, shapes and errors as in `Calibrator.transform` and the `predict` of the rule."""
        workers(n_jobs)  # Refuses what is no number of threads.
        return predict(self, y_score, dense=dense, n_jobs=n_jobs, progress=progress)

    def validate(self, scores: Any) -> None:
        """Refuse scores that the calibrator cannot take."""
        self.calibrator.validate(scores)

    def decide(
        self,
        scores: Matrix,
        *,
        dense: bool = False,
        n_jobs: int | None = -1,
        progress: bool = False,
    ) -> Matrix:
        """Return decisions about scores that `validate` takes; other arguments as in `predict`."""
        if isinstance(self.rule, InstanceRule):
            tail = self.calibrator.tail(scores) if is_sparse(scores) else None
            probabilities = self.calibrator.transform(scores)
            return self.rule.decide(
                probabilities, dense=dense, tail=tail, n_jobs=n_jobs, progress=progress
            )
        if dense or not is_sparse(scores):
            return self.rule.decide(self.calibrator.transform(scores, dense=True))
        absent = self.predicted_if_absent()  # (n_labels,)
        if absent.any():
            label = int(absent.argmax())
            refuse_dense_answer(scores, f"what it leaves out is predicted for label {label}", "")
        probabilities = self.calibrator.transform(scores)
        return positives_only(
            probabilities, probabilities.data >= self.rule.thresholds[probabilities.indices]
        )

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        if isinstance(self.rule, InstanceRule):
            probabilities = self.calibrator.transform_on_device(scores)
            return self.rule.decide_on_device(probabilities)
        return self._regions.decide_on_device(scores)

    def decide_in_onnx(self, scores: Any) -> Any:
        """Record decisions about scores of an ONNX graph."""
        if isinstance(self.rule, ThresholdRule):
            return self._regions.decide_in_onnx(scores)
        from thresholds.rule.serving.onnx import best_sets, unless_nan

        xp = scores.__array_namespace__()
        beta, zero_division = self.rule.beta, self.rule.zero_division
        curves = self.calibrator.curves
        tables = {name: xp.asarray(table) for name, table in curves.tables.items()}

        def decide(cells: Any) -> Any:
            probabilities = read(xp, xp.astype(cells, xp.float64), tables, curves.settings)
            return best_sets(probabilities, beta, zero_division)

        return unless_nan(scores, decide)

    def to_regions(self) -> RegionRule:
        """Return a rule that decides alike by the scores themselves, for a rule of thresholds: it needs no calibrator.

        The scores that reach a threshold when they are calibrated are an interval, as curves rise or fall, except for
        masked scores and those that are `missing`, which may be decided otherwise. To predict, the result needs NumPy
        alone. Where the scores are float64, one within a few units in the last place of the end of an interval may lie
        on its other side.

        Raises
        ------
        InputError
            For an `InstanceRule`, which looks at all scores of a row together.

        Examples
        --------
        >>> import thresholds
        >>> truth, scores = [[1, 0], [0, 1], [1, 1], [0, 0]], [[2.0, -1.0], [-3.0, 4.0], [1.0, 0.5], [-2.0, -2.0]]
        >>> calibrator = thresholds.calibrate(truth, scores, "isotonic", by="label")
        >>> thresholds.CalibratedRule(calibrator, thresholds.FixedRule(0.5, 2)).to_regions().switches
        (array([-0.5]), array([-0.25]))
        """
        if isinstance(self.rule, InstanceRule):
            raise _checks.InputError(
                "rule is an InstanceRule, expected a ThresholdRule: only that decides each score by itself"
            )
        return self._regions

    @cached_property
    def _regions(self) -> RegionRule:
        """The intervals of scores that reach the thresholds of a `ThresholdRule`."""
        cuts = cast(ThresholdRule, self.rule).thresholds
        return RegionRule(
            regions_of(self.calibrator.curves, self.missing, cuts),
            missing=self.missing,
            label_names=self.label_names,
            average=self.average,
            beta=self.beta,
            zero_division=self.zero_division,
            objective=self.objective,
            fitted_on=self.fitted_on,
            out_of_fold=self.out_of_fold,
            made_by=self.made_by,
            kept=self.kept,
        )

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        if isinstance(self.rule, ThresholdRule):
            return self._regions._to_torch()
        from thresholds.calibration.torch_modules import CalibratedModule

        return CalibratedModule(self.calibrator.to_torch(), self.rule)

    def with_names(self, label_names: Sequence[str]) -> Self:
        """Return the same rule with names for its labels, in order."""
        named = self.rule.with_names(label_names)
        return replace(self, rule=named)

    def taken(self, places: Ints) -> Self:
        """Return the same rule with its labels in another order: label j is the one that is at `places[j]` here."""
        calibrator = self.calibrator.reordered(places)
        return replace(super().taken(places), calibrator=calibrator, rule=self.rule.taken(places))

    def only(self, places: Ints) -> "CalibratedRule":
        """Return a rule that decides about some labels alone, without what is known of the fit."""
        nameless = replace(self.calibrator, label_names=None, profile=None)
        return CalibratedRule(nameless.reordered(places), self.rule.only(places))

    def switch_scores(self) -> Sequence[Floats] | None:
        """Return the scores at which the regions of `to_regions` begin and end; None where the row decides."""
        return None if isinstance(self.rule, InstanceRule) else self._regions.switch_scores()

    def criteria(self) -> Sequence[Hashable]:
        """Return the curve of each label, and what decides about its probability, if that alone does."""
        of_rule = self.rule.criteria() or [()] * self.n_labels
        return list(zip(self.calibrator.parts(), of_rule, strict=True))

    def settings(self) -> dict[str, Any]:
        """Return what two rules may differ by, those of the rule for probabilities among them."""
        calibrator = self.calibrator
        about = {
            "decides_by": self.rule.kind,
            "calibration": f"{calibrator.method}, {calibrator.by}",
        }
        return self.rule.settings() | super().settings() | about

    def predicted_if_absent(self) -> Booleans:
        """Tell for which labels the probability of absent entries reaches the threshold."""
        if isinstance(self.rule, InstanceRule):
            return np.zeros(self.n_labels, np.bool_)
        return np.asarray(self.calibrator.absent >= self.rule.thresholds)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""
        parts = {"calibrator": self.calibrator.to_dict(), "rule": self.rule.to_dict()}
        return super().to_dict() | parts

    @classmethod
    def _read(cls, values: Mapping[str, Any], read: Read) -> dict[str, Any]:
        """Return the fields of a rule from plain values, `read` the rule within."""
        found = super()._read({"objective": None, **values}, read)
        calibrator = replace(Calibrator.from_dict(values["calibrator"]), profile=found["kept"])
        return found | {"calibrator": calibrator, "rule": read(found["rule"])}

    def columns_of_labels(self) -> dict[str, Any]:
        """Return the thresholds, which are those of probabilities."""
        if isinstance(self.rule, InstanceRule):
            return {}
        return {"threshold_of_probability": self.rule.thresholds}

    def in_words(self) -> str:
        """Say what was maximised, after which calibration, and what was reached on labels."""
        calibration = "Platt" if self.calibrator.method == "platt" else "isotonic"
        what = f"{self.rule.what()}, after {calibration} calibration"
        reached = (
            "not fitted"
            if self.objective is None
            else f"objective {self.objective:.4f} (in-sample)"
        )
        return f"{what}: {reached}{self.on_other_rows()}{self.source()}"


def _in_order(
    rule: InstanceRule | ThresholdRule, label_names: tuple[str, ...] | None
) -> InstanceRule | ThresholdRule:
    """Return a rule with its labels in the order of those of a calibrator."""
    order = _checks.places(rule.label_names, label_names, "rule", "those of the calibrator")
    return rule if order is None else rule.reordered(order)
