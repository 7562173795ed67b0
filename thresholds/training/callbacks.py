"""What callbacks have in common: how they fit, and a rule that belongs to weights, and to no others."""

from typing import Any, NamedTuple

from thresholds import _checks
from thresholds._checks import Average, InputError
from thresholds.rule import Rule
from thresholds.training.accumulator import Accumulator
from thresholds.training.checksums import Checksums, are_others
from thresholds.training.epoch import EpochFit


class FittedToWeights(NamedTuple):
    """A rule, and by what its weights and rows are known again; None where that is not known."""

    rule: Rule
    weights: Checksums | None = None
    truth: str | None = None


class RuleOfWeights:
    """A rule that belongs to the weights at work, how it is fitted, and to which rows."""

    _epoch: EpochFit
    _about_rows: dict[str, Any]  # names of labels, and what stands for truth that is not known
    _fitted: FittedToWeights | None
    _seen: Checksums | None  # weights, as they were when they were last looked at

    def _begin(
        self, unknown: object, label_names: object, average: Average, **of_epoch: Any
    ) -> None:
        """Check how to fit, as an `EpochFit` has it, and know no rule."""
        self._epoch = EpochFit(average, **of_epoch)
        self._about_rows = {"unknown": unknown, "label_names": label_names}
        self._new_rows()
        self._fitted = None
        self._seen = None

    def _new_rows(self, **other: Any) -> Accumulator:
        """Return what gathers rows."""
        return Accumulator(**{**self._about_rows, **other})

    @property
    def rule(self) -> Rule | None:
        """The rule that belongs to the weights as they are, if there is one; one that is set is taken to do so."""
        return None if self._fitted is None else self._fitted.rule

    @rule.setter
    def rule(self, rule: Rule | None) -> None:
        rule = checked_rule(rule)
        self._fitted = None if rule is None else FittedToWeights(rule)

    def _see(self, weights: Checksums | None) -> None:
        """Forget the rule if it belongs to other weights than those at work."""
        self._seen = weights
        if self._fitted is None:
            return
        if are_others(self._fitted.weights, weights):
            self._fitted = None
        elif weights is not None:
            self._fitted = self._fitted._replace(weights=weights)


def checked_rule(rule: object) -> Rule | None:
    """Check that a rule is one, or None."""
    if rule is not None and not isinstance(rule, Rule):
        raise InputError(f"rule is {_checks.shown(rule)}, expected a rule, or None")
    return rule
