"""One threshold for each label."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from thresholds import _checks, _devices
from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.sparse import is_sparse, with_cells
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix
from thresholds._checks import PLACEMENTS, InputError, shown
from thresholds._results.fields import of_labels, part, record, value
from thresholds._results.result import Drawable
from thresholds._results.words import counted
from thresholds.rule.base import ScoreRule
from thresholds.rule.containers import as_row, in_kind, like_row
from thresholds.rule.saving import Read
from thresholds.rule.sparse_answers import positives_only, refuse_dense_answer, with_absent

if TYPE_CHECKING:  # Rules that are loaded and applied without them need not import them.
    from thresholds.rule.budget import Budget
    from thresholds.rule.guarantees import Guarantees
    from thresholds.rule.guard_report import GuardReport
    from thresholds.rule.odds import OddsByScore
    from thresholds.rule.row_guarantees import RowGuarantees


def _budget(values: Any) -> "Budget":
    """Build what is known of a budget from plain values."""
    from thresholds.rule.budget import Budget

    return Budget.from_dict(values)


def _guarantees(values: Any) -> "Guarantees | RowGuarantees":
    """Build guarantees from plain values."""
    from thresholds.rule.row_guarantees import guarantees_from_dict

    return guarantees_from_dict(values)


def _odds(values: Any) -> "OddsByScore":
    """Build odds by score from plain values."""
    from thresholds.rule.odds import OddsByScore

    return OddsByScore.from_dict(values)


def _guard(given: Any, name: str) -> str | None:
    """Check the name of what guards the rule."""
    return None if given is None else _checks.text(given, name)


def _flags(given: Any, name: str) -> Booleans:
    """Return truth values as an array."""
    flags = np.array(given, np.bool_)
    if flags.ndim != 1:
        raise InputError(f"{name} has shape {flags.shape}, expected one truth value for each label")
    return flags


def _option(*known: Any) -> Any:
    """Return a check that a value is one of a few."""
    return lambda given, name: _checks.option(given, name, known)


@record
class ThresholdRule(Drawable, ScoreRule):
    """One threshold for each label: predict iff `score >= threshold`.

    Attributes
    ----------
    thresholds : float64 (n_labels,)
        `+inf` never predicts, `-inf` always does.
    label_names : tuple of str, or None
    average, beta, per_label, zero_division, placement :
        What was maximised and how, None for a rule that was not fitted.
    objective : float or None
        The F-measure reached on the data of the fit, exactly that of `predict` there; None if not fitted.
    expected : None for F on labels; "counts" or "outcomes" for what was expected from probabilities alone
        F of expected counts, or the expectation of F over outcomes (`fit_expected`).
    unsupported : bool (n_labels,)
        Labels that had no positives.
    missing : float
        The score of an entry that a sparse matrix leaves out.
    guard : str or None
        The protection against over-fitting, and the limits, of the fit; None is the plain in-sample optimum.
    guard_report : GuardReport or None
        What a guard, or limits, moved in the fit, how far and why; it is not saved.
    fitted_on : FittedOn or None
    out_of_fold : OutOfFold or None
        What the rule may be expected to reach on other rows, if it comes from `cross_fit`: f, n_folds, how the folds
        were made, their random_state, and by_label (n_samples; tp, predicted and positives of each label). None once
        `replace` has changed a threshold.
    odds : OddsByScore or None
        How often each label is true by its score, on the rows of the fit, if the rule comes from `cross_fit`, or went
        through `keep_odds`: by this `diff_rules` tells whether a threshold has moved for a reason.
    made_by : MadeBy or None
        What made the rule: function and options (those that are not its defaults); on the command line also file,
        scores, truth, rows, logits and date.
    budget : Budget or None
        What a fit within `max_predicted` predicts and reaches, and the most that others could reach; None without one,
        and once `replace` has changed a threshold.
    guarantees : Guarantees, RowGuarantees or None
        Which floors, of which labels or of all labels together, are promised on new rows, if the fit had a confidence.
        None once `replace` has changed a threshold: a promise is about the thresholds that were tested.
    profile : ScoreProfile or None
        What the scores of the fit looked like, which `check` and `predict` compare new ones with.
    """

    thresholds: Floats = of_labels(lambda cuts, _: _checks.thresholds(cuts), form="cut")
    unsupported: Booleans = of_labels(_flags, factory=list)
    odds: "OddsByScore | None" = part(_odds, default=None, later=True, repr=False, kw_only=True)
    per_label: bool = value(_checks.flag, default=True, kw_only=True)
    placement: str | None = value(_option(None, *PLACEMENTS), default=None, kw_only=True)
    guard: str | None = value(_guard, default=None, kw_only=True)
    expected: str | None = value(
        _option(None, "counts", "outcomes"), default=None, later=True, kw_only=True
    )
    budget: "Budget | None" = part(
        _budget, default=None, later=True, repr=False, compare=False, kw_only=True
    )
    guarantees: "Guarantees | RowGuarantees | None" = part(
        _guarantees, default=None, later=True, repr=False, compare=False, kw_only=True
    )
    guard_report: "GuardReport | None" = value(
        default=None, saved=False, repr=False, compare=False, kw_only=True
    )

    kind: ClassVar[str] = "thresholds"
    criterion: ClassVar[str] = "threshold"
    _display: ClassVar[str] = "ThresholdsDisplay.from_rule"

    def _check(self) -> None:
        """Take all labels for supported where none is said not to be, and refuse what contradicts itself."""
        if not self.unsupported.size:
            none = np.zeros(self.n_labels, np.bool_)
            none.flags.writeable = False
            object.__setattr__(self, "unsupported", none)
        _checks.one_name_each(self.label_names, self.n_labels)
        super()._check()

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.thresholds.size)

    def rescale(self, y_score: object) -> Any:
        """Move scores, in the order of each label, so that its threshold lies at 0.5: for tools that know no other.

        With s the score and t the threshold, where thresholds (and the scores of the fit) lie in [0, 1],

            s / (2 t) below t, and 1/2 + (s - t) / (2 (1 - t)) from t on, scores beyond [0, 1] as its ends,

        else 1 / (1 + exp(t - s)). `rescale(y_score) >= 0.5` decides exactly as `predict(y_score)` does.

        Parameters
        ----------
        y_score : as in `predict`
            Sparse scores must stay sparse: in [0, 1], `missing` 0, thresholds above 0.

        Returns
        -------
        floats in [0, 1] of the shape, kind and floating dtype of `y_score` (float64 for integers); no probabilities
            Scores may become equal by rounding. Where a threshold is +inf, all stay below 0.5; -inf, none does.

        Raises
        ------
        InputError : as `predict` does

        Examples
        --------
        >>> import thresholds
        >>> thresholds.ThresholdRule([0.2, 0.8]).rescale([[0.1, 0.4], [0.2, 0.9]])
        array([[0.25, 0.25],
               [0.5 , 0.75]])
        """
        row = as_row(y_score, self)
        if row is not None:
            return like_row(self.rescale(row), y_score, self)
        within = self.thresholds[np.isfinite(self.thresholds)]
        seen = () if self.fitted_on is None else self.fitted_on.quantiles
        unit = bool(((within >= 0) & (within <= 1)).all()) and all(
            0 <= score <= 1 for score in seen
        )
        if _devices.is_tensor(y_score) and not _devices.known_to_numpy(y_score):
            cells: Any = _devices.checked_scores(y_score, label_names=self.label_names)
            self.validate(cells)
            moved = _devices.rescale(cells, self.thresholds, unit)
            return moved if y_score.ndim == 2 else moved[:, 0]  # type: ignore[attr-defined]
        scores = self.checked(y_score)
        if not is_sparse(scores):
            return in_kind(
                _devices.rescale(scores, self.thresholds, unit), y_score, self.label_names
            )
        if not unit or self.missing != 0 or self.predicts_missing:
            raise InputError(
                "y_score is sparse, and what it leaves out would not stay 0: expected missing=0, and scores and"
                " thresholds in (0, 1]"
            )
        moved = _devices.rescale(scores.data[np.newaxis], self.thresholds[scores.indices], unit)[0]
        return in_kind(with_cells(scores, moved), y_score, None)

    def decide_on_device(self, scores: Any) -> Any:
        """Return decisions about scores that are not in host memory, beside them."""
        return _devices.decide(scores, self.thresholds)

    def decide(self, scores: Matrix, *, dense: bool = False) -> Matrix:
        """Return decisions about scores that `validate` takes, without a word about their range."""
        # Scores are compared in their own dtype, into which thresholds are rounded up.
        cuts = (
            rounded_up(self.thresholds, scores.dtype)
            if scores.dtype.kind == "f"
            else self.thresholds
        )
        if not is_sparse(scores):
            return (scores >= cuts).view(np.uint8)
        absent = self.predicted_if_absent()  # (n_labels,)
        if absent.any() and not dense:
            refuse_dense_answer(scores, *self._why_dense(int(absent.argmax())))
        predicted = scores.data >= cuts[scores.indices]  # (n_stored,)
        if dense:
            return with_absent(scores, predicted, absent)
        return positives_only(scores, predicted)

    def predicted_if_absent(self) -> Booleans:
        """Tell for which labels the threshold is at or below `missing`."""
        return np.asarray(self.thresholds <= self.missing)

    def _why_dense(self, label: int) -> tuple[str, str]:
        """Say that a threshold is not above `missing`, and how another would be."""
        name = label if self.label_names is None else repr(self.label_names[label])
        # Thresholds changed by hand have no objective.
        by_fit = self.objective is not None and self.expected is None
        instead = "fit the rule without keep_sparse=False" if by_fit else "raise the threshold"
        why = f"the threshold {self.thresholds[label]} of label {name} is not above missing={self.missing}"
        return why, f"{instead}, or "

    def _to_torch(self) -> Any:
        """Return a PyTorch module that decides as the rule does."""
        from thresholds.rule.serving.torch import SwitchModule

        return SwitchModule([*self.thresholds[:, np.newaxis]], self.label_names)

    @property
    def has_limits(self) -> bool:
        """Whether limits, or floors, were asked for in the fit."""
        from thresholds.rule.guard_report import names_limits

        return self.guard is not None and names_limits(self.guard)

    def replace(self, thresholds: Mapping[str | int, float]) -> Self:
        """Return a rule with some thresholds changed, by label name or position; what it then reaches is unknown.

        Examples
        --------
        >>> import thresholds
        >>> rule = thresholds.ThresholdRule([0.5, 0.2], label_names=("cat", "dog"))
        >>> rule.replace({"dog": float("inf")}).thresholds
        array([0.5, inf])
        """
        if not isinstance(thresholds, Mapping):
            raise InputError(
                f"thresholds is {shown(thresholds)}, expected thresholds by label name or position"
            )
        changed = self.thresholds.copy()
        for label, threshold in thresholds.items():
            changed[self.index_of(label)] = _checks.real(
                threshold, f"the threshold of {_checks.shown(label)}"
            )
        if np.array_equal(changed, self.thresholds):
            return self
        profile = self.profile
        if profile is not None:
            profile = profile.without_predictions(changed != self.thresholds)
        return replace(
            self,
            thresholds=changed,
            per_label=True,
            kept=profile,
            objective=None,
            guard_report=None,
            out_of_fold=None,
            budget=None,
            guarantees=None,
        )

    def with_names(self, label_names: Sequence[str]) -> Self:
        """Return the same rule with names for its labels, in order."""
        names_given = _checks.names_of_labels(label_names)
        guarantees = self.guarantees
        if guarantees is not None:
            guarantees = guarantees.with_names(names_given)
        return replace(self, label_names=names_given, guarantees=guarantees)

    def only(self, places: Ints) -> "ThresholdRule":
        """Return a rule that decides about some labels alone, without what is known of the fit."""
        return ThresholdRule(self.thresholds[places], missing=self.missing)

    def switch_scores(self) -> Sequence[Floats]:
        """Return the threshold of each label that has a finite one, or is always predicted."""
        return [cut[cut < np.inf] for cut in self.thresholds[:, np.newaxis]]

    def criteria(self) -> Sequence[Hashable]:
        """Return the score from which each label is predicted, as a `RegionRule` of such labels has it."""
        return [(cut,) if cut < np.inf else () for cut in self.thresholds.tolist()]

    def settings(self) -> dict[str, Any]:
        """Return all but the thresholds that two rules may differ by."""
        own = ("per_label", "guard", "expected", "placement")
        return super().settings() | {name: getattr(self, name) for name in own}

    def index_of(self, label: str | int) -> int:
        """Return the position of a label."""
        return _checks.place_of(label, self.label_names, self.n_labels)

    def taken(self, places: Ints) -> Self:
        """Return the same with the labels in another order; what a guard moved is not kept."""
        return super().taken(places)._without_report()

    def _without_report(self) -> Self:
        """Return the same without what a guard moved."""
        return replace(self, guard_report=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain values, in the form of `rule.schema.json`."""
        return super().to_dict() | {"unsupported": np.flatnonzero(self.unsupported).tolist()}

    @classmethod
    def _read(cls, values: Mapping[str, Any], read: Read) -> dict[str, Any]:
        """Return the fields of a rule from plain values, in which `unsupported` are positions."""
        n_labels = len(_checks.a_list(values["thresholds"], "thresholds"))
        labels = _checks.a_list(values["unsupported"], "unsupported")
        _checks.counts(labels, "unsupported", 0)
        if len(set(labels)) < len(labels) or max(labels, default=0) >= n_labels:
            raise InputError(
                f"unsupported is {shown(labels)}, expected positions below {n_labels}, each once"
            )
        found = super()._read(values, read)
        found["unsupported"] = np.isin(np.arange(n_labels), labels)
        if found.get("guarantees") is not None:
            found["guarantees"] = found["guarantees"].with_names(found["label_names"])
        return found

    def in_words(self) -> str:
        """Say what was maximised, what was reached, and whether anything guards it."""
        if self.average is None:
            return f"{type(self).__name__}: {self.what()}, not fitted"
        return f"{self.what()}: {self._reached()}{self.source()}"

    def columns_of_labels(self) -> dict[str, Any]:
        """Return the thresholds."""
        return {"threshold": self.thresholds}

    def what(self) -> str:
        """Say what was maximised, and by how many thresholds."""
        if self.average is None:
            return f"{counted(self.n_labels, 'label')}, thresholds given"
        # Of expected counts, the best micro F is that of one threshold.
        is_one = not self.per_label or (self.average, self.expected) == ("micro", "counts")
        shape = "one threshold for all" if is_one else "one threshold for each of"
        n_never = int(np.isposinf(self.thresholds).sum())
        return f"{self.average} F{self.beta:g}, {shape} {self.n_labels:,} labels ({n_never:,} never predicted)"

    def _reached(self) -> str:
        """Say what was reached, and where that is known from."""
        if self.objective is None:
            return "thresholds changed by hand"
        how = {
            None: self._guarded_by(),
            "counts": "F of expected counts",
            "outcomes": "expectation over outcomes",
        }
        alone = "" if self.expected is None else ", from probabilities alone"
        return f"objective {self.objective:.4f} ({how[self.expected]}{alone}){self.on_other_rows()}{self._within()}"

    def _within(self) -> str:
        """Say within which budget."""
        if self.budget is None:
            return ""
        if self.fitted_on is None or self.fitted_on.known is None:
            return f"; {self.budget.in_words()}"
        return f"; {self.budget.in_words('known cells of the fit, others not counted')}"

    def _guarded_by(self) -> str:
        """Say what guards the rule, and where it gave up."""
        if self.guard is None:
            return "in-sample optimum, unguarded"
        text = f"guard {self.guard}"
        report = self.guard_report
        if report is not None and report.n_fell_back:
            always = "always, as far as limits allow," if report.has_limits else "always"
            text += f", fell back on {always} for {counted(report.n_fell_back, 'label')}"
        if self.guarantees is not None:
            text += f"; {self.guarantees.in_words()}"
            if "max_overprediction=" in self.guard:
                text += "; max_overprediction holds on the rows of the fit only"
        elif "confidence=" in self.guard:
            text += "; nothing is promised, as thresholds have changed since they were tested"
        elif self.has_limits:
            text += "; limits hold on the rows of the fit only"
        return text


def FixedRule(
    threshold: float,
    n_labels: int,
    *,
    label_names: Sequence[str] | None = None,
    missing: float = 0.0,
) -> ThresholdRule:
    """Return the rule of the same threshold for every label, chosen by hand.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.FixedRule(0.5, 2).predict([[0.5, 0.1]])
    array([[1, 0]], dtype=uint8)
    """
    value = _checks.real(threshold, "threshold")
    return ThresholdRule(
        np.full(_checks.count(n_labels, "n_labels", 1), value),
        label_names=None if label_names is None else _checks.names_of_labels(label_names),
        missing=missing,
        per_label=False,
    )
