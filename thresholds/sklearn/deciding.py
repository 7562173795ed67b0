"""The part of an estimator that is about its rule: with another rule it follows, or it goes."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from thresholds import _checks
from thresholds._arrays.types import Matrix
from thresholds._checks import InputError
from thresholds._results.words import counted
from thresholds.diagnosis import Diagnosis
from thresholds.rule import Rule, ThresholdRule

# Why an attribute that is about a rule is not there, once another rule has taken its place.
_WHY_NOT = {
    "best_score_": "is not known: the rule that set_rule was given has no objective",
    "cross_fitted_score_": (
        "is not known: the rule that set_rule was given has no out_of_fold, which cross_fit finds"
    ),
    "label_report_": (
        "went with the rule that set_rule replaced: thresholds.diagnose makes one for the rule that decides now"
    ),
}
_OF_SCORES = ("rows", "y_score", "folds")  # what `cv_results_` has, whatever rule decides


class _OfSomeFits:
    """An attribute that not every fit gives: an instance that has it has its own; of others it is asked here."""

    def __init__(self, why_not: str) -> None:
        self.why_not = why_not

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        check_is_fitted(instance)
        raise AttributeError(f"{self.name} {self.why_not}")


class Deciding:
    """A fitted estimator that decides by a rule, which may be replaced."""

    estimator_: Any
    cv_results_: Any = _OfSomeFits("was not kept: fit with store_cv_results=True")
    label_names_in_: Any = _OfSomeFits("is not known: y of the fit was no frame with column names")
    _method: str  # that gives scores
    _n_labels: int
    _extremes: Matrix  # (2, n_labels), the lowest and the highest score of each label that the rule was fitted on
    _rule: Rule
    _about_rule: Mapping[str, Any]  # attributes that there are

    @property
    def rule_(self) -> Rule:
        """The rule that decides; to assign one is `set_rule`."""
        check_is_fitted(self)
        return self._rule

    @rule_.setter
    def rule_(self, rule: Rule) -> None:
        self.set_rule(rule)

    @property
    def thresholds_(self) -> npt.NDArray[np.float64]:
        """Thresholds of the rule that decides, if it has thresholds of scores."""
        rule = self.rule_
        if not isinstance(rule, ThresholdRule):
            raise AttributeError(
                f"thresholds_ is not there: rule_ is {_a_kind(rule)}, which has no threshold of scores for each label"
            )
        return rule.thresholds

    @property
    def best_score_(self) -> float:
        """What the rule reaches on the rows of its fit."""
        return float(self._known("best_score_"))

    @property
    def cross_fitted_score_(self) -> float:
        """What the rule may be expected to reach on other rows."""
        return float(self._known("cross_fitted_score_"))

    @property
    def label_report_(self) -> Diagnosis | None:
        """Whether each label may be relied on."""
        report: Diagnosis | None = self._known("label_report_")
        return report

    def set_rule(self, rule: Rule) -> Self:
        """Decide by another rule from now on; the classifier stays as it is.

        For a rule that was repaired, changed by hand, fitted on later rows or chosen among several, on scores of this
        classifier (`label_scores`, or `cv_results_["y_score"]`). What is known of the former rule goes with it.

        Parameters
        ----------
        rule : Rule, of any kind; of a file, what `thresholds.load_rule` gives
            Its labels are those of y. The same names in another order are put in order; without names, on either side,
            labels go by position.

        Returns
        -------
        self
            `rule_` and `thresholds_` : those of the new rule, which is also what `predict` decides by.
            `best_score_`, `cross_fitted_score_` : its `objective` and `out_of_fold.f`, if it has them.
                The objective is that of its own fit; for a rule "..., label-free" an expectation.
            `label_report_` : not there any more. `thresholds.diagnose` gives another.
            `cv_results_` : "rows", "y_score" and "folds" stay, what was about the former rule goes.

            An attribute that is not there raises an AttributeError that says why. A new `fit` brings all back.

        Raises
        ------
        InputError
            For what is no rule, a rule for other labels, and one that cannot decide scores of this classifier, such as
            a rule for probabilities where it gives margins.
        NotFittedError
            Before `fit`.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from thresholds.sklearn import MultilabelThresholdClassifierCV
        >>> X, y = make_multilabel_classification(random_state=0)
        >>> classifier = MultilabelThresholdClassifierCV(KNeighborsClassifier()).fit(X, y)
        >>> changed = classifier.rule_.replace({0: float("inf")})
        >>> classifier.set_rule(changed).predict(X)[:, 0].any()
        np.False_
        >>> hasattr(classifier, "cross_fitted_score_")
        False
        """
        check_is_fitted(self)
        rule = self._checked_rule(rule)
        known: dict[str, Any] = {}
        if rule.objective is not None:
            known["best_score_"] = rule.objective
        if rule.out_of_fold is not None:
            known["cross_fitted_score_"] = rule.out_of_fold.f
        self._decide_by(rule, known)
        if hasattr(self, "cv_results_"):
            kept = self.cv_results_.items()
            self.cv_results_ = {name: value for name, value in kept if name in _OF_SCORES}
        return self

    def _decide_by(self, rule: Rule, known: Mapping[str, Any]) -> None:
        """Take a rule, and what is known of it: attributes by name."""
        self._rule = rule
        self._about_rule = known

    def _known(self, name: str) -> Any:
        """Return an attribute that is about the rule, or say why it is not there."""
        check_is_fitted(self)
        if name not in self._about_rule:
            raise AttributeError(f"{name} {_WHY_NOT[name]}")
        return self._about_rule[name]

    def _checked_rule(self, rule: object) -> Rule:
        """Refuse a rule that cannot decide about these labels, or these scores; put its labels in order."""
        if not isinstance(rule, Rule):
            raise InputError(
                f"rule is {_checks.shown(rule)}, expected a Rule, as load_rule reads one from a file"
            )
        if rule.n_labels not in (None, self._n_labels):
            raise InputError(
                f"rule is about {counted(rule.n_labels or 0, 'label')}, expected {self._n_labels} as y has"
            )
        names = getattr(self, "label_names_in_", None)
        order = _checks.places(
            rule.label_names, None if names is None else tuple(names), "rule", "those of y"
        )
        if order is not None:
            rule = rule.reordered(order)
        try:
            rule.validate(self._extremes)
            if getattr(rule.uncapped, "expected", None) is not None:
                _checks.probabilities(self._extremes, "y_score", rule.label_names)
        except InputError as error:
            raise InputError(
                f"rule is {_a_kind(rule)} that cannot decide about the {self._method} of"
                f" {type(self.estimator_).__name__}: {error}"
            ) from None
        return rule


def _a_kind(rule: Rule) -> str:
    """Name the kind of a rule, with its article."""
    kind = type(rule).__name__
    return f"{'an' if kind.startswith('I') else 'a'} {kind}"
