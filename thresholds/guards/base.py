"""What a guard is: what it is given about the labels, and what it returns, a cut of each and why."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from thresholds._arrays.types import Booleans, Bytes, Floats, Ints
from thresholds._checks import InputError
from thresholds._engine.cuts import Cuts
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds.guards.groups import Alike
from thresholds.guards.names import GuardName, class_of

# Why a label is cut elsewhere, as numbers: arrays of these can be compared and joined.
REASONS = (
    "",  # It is not.
    "shrunk",
    "pooled",
    "tied scores",
    "no positives",
    "limits",
    # The same, of labels that fell back on being predicted always.
    "always",
    "always, within limits",
    "no hit within limits",
)
UNMOVED, SHRUNK, POOLED, TIED, NO_POSITIVES, LIMITED, ALWAYS, ALWAYS_LIMITED, NO_HIT = np.arange(
    len(REASONS), dtype=np.uint8
)


@dataclass(frozen=True, slots=True)
class GuardInput:
    """What a guard is given about the labels."""

    histograms: Histograms  # of all labels: what weighs at which score
    problem: Problem
    optimum: Cuts  # the best cuts in the sample
    alike: Alike | None  # what rows of groups are worth, None without groups
    options: SearchOptions  # what is maximised


class GuardedCuts(NamedTuple):
    """The cuts that a guard chose for some labels, as thresholds already, and why."""

    thresholds: Floats  # (n_labels,) positive iff score >= threshold
    tp: Ints  # (n_labels,) in the unit of the problem's weights
    predicted: Ints  # (n_labels,)
    reason: Bytes  # (n_labels,) places in `REASONS`

    def take(self, labels: Ints) -> "GuardedCuts":
        """Return those of some labels."""
        columns: Any = (values[labels] for values in self)
        return GuardedCuts(*columns)

    def with_labels(self, labels: Ints, others: "GuardedCuts") -> "GuardedCuts":
        """Take the cuts of some labels from others, which have these alone."""
        columns: Any = [values.copy() for values in self]
        for values, own in zip(columns, others, strict=True):
            values[labels] = own
        return GuardedCuts(*columns)


class BaseGuard(ABC):
    """What every guard is: a frozen data class whose fields are its options, with one method, `cuts`.

    Every option has a default, since a guard that is asked for by its name is made without any.
    """

    name: ClassVar[str]  # as it is asked for, and as rules say what guards them
    averages: ClassVar[tuple[str, ...]] = ("macro", "weighted")  # with a threshold for each label

    @abstractmethod
    def cuts(self, given: GuardInput) -> GuardedCuts:
        """Choose the cut of every label. Limits are kept afterwards, whatever the guard."""

    def __str__(self) -> str:
        """Return the name, and the options that are not the usual ones."""
        usual: Any = type(self)()
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(usual)
            if getattr(self, field.name) != getattr(usual, field.name)
        ]
        return f"{self.name} ({', '.join(changed)})" if changed else self.name


Guard: TypeAlias = GuardName | BaseGuard | None  # what callers may ask for


def suitable_guard(guard: str | BaseGuard, average: str, per_label: bool) -> BaseGuard:
    """Return a guard that is asked for, by its name or with its options; refuse one for another average."""
    chosen: BaseGuard = guard if isinstance(guard, BaseGuard) else class_of(guard)()
    if not (per_label and average in chosen.averages):
        raise InputError(
            f"guard is {str(chosen)!r} with average {average!r}, per_label={per_label}; expected None or 'auto':"
            f" {chosen.name} is for {' and '.join(chosen.averages)} with a threshold for each label"
        )
    return chosen


def joined(parts: Sequence[GuardedCuts]) -> GuardedCuts:
    """Join the cuts of consecutive labels."""
    return GuardedCuts(*map(np.concatenate, zip(*parts, strict=True)))


def either(where: Booleans, first: GuardedCuts, second: GuardedCuts) -> GuardedCuts:
    """Take the cuts of the first where asked to, else of the second."""
    pairs: Any = zip(first, second, strict=True)
    return GuardedCuts(*(np.where(where, *pair) for pair in pairs))


def placed(cuts: Cuts, problem: Problem, options: SearchOptions, reason: np.uint8) -> GuardedCuts:
    """Return cuts with their thresholds, and one reason for all."""
    thresholds = cuts.placed(problem, options.placement)
    return GuardedCuts(thresholds, cuts.tp, cuts.predicted, np.full(cuts.tp.size, reason))


def never(n_labels: int, reason: np.uint8) -> GuardedCuts:
    """Predict none of some labels."""
    nothing = np.zeros(n_labels, np.int64)
    return GuardedCuts(np.full(n_labels, np.inf), nothing, nothing, np.full(n_labels, reason))
