"""What a guard is, and what it makes of labels: a cut of each, and why it was moved."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Bytes, Floats, Ints
from thresholds._checks import Placement
from thresholds._engine.cuts import Cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.histograms import Histograms
from thresholds._engine.problem import Problem
from thresholds.rule.guard_report import GuardReport

if TYPE_CHECKING:
    from thresholds.guards.groups import Alike

# Why a label is cut elsewhere, as numbers: texts of very many labels would take more memory than all else.
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


class GuardedFit(NamedTuple):
    """What a guard found for all labels: its cuts, and those of the in-sample optimum."""

    guarded_cuts: GuardedCuts
    optimum: Cuts

    @property
    def cuts(self) -> Cuts:
        """The guard's cuts as others have them; each lies at its threshold, with no gap below."""
        thresholds, tp, predicted, _ = self.guarded_cuts
        no_lower_score = np.broadcast_to(np.nan, thresholds.shape)
        return Cuts(thresholds, no_lower_score, tp, predicted, self.optimum.positives)

    def report(
        self,
        problem: Problem,
        guard: str | None,
        beta: float,
        zero_division: float,
        placement: Placement,
    ) -> GuardReport:
        """Return what was moved."""
        before = self.optimum
        after = self.guarded_cuts
        number = np.where(before.predicted != after.predicted, after.reason, UNMOVED)
        reason = np.array(REASONS)[number]
        positives = before.positives
        return GuardReport(
            guard=guard,
            unguarded=before.placed(problem, placement),
            guarded=after.thresholds,
            predicted_before=before.predicted * problem.unit,
            predicted_after=after.predicted * problem.unit,
            f_before=f_of_counts(before.tp, before.predicted, positives, beta, zero_division),
            f_after=f_of_counts(after.tp, after.predicted, positives, beta, zero_division),
            reason=reason,
            label_names=problem.label_names,
            fell_back=after.reason >= ALWAYS,
        )


class BaseGuard(ABC):
    """What every guard is: a dataclass of options, with a name and one method, `cuts`.

    Every option has a default, since a guard that is asked for by its name is made without any.
    What callers may ask for is `Guard`, in `guards/options.py`; `guards/__init__.py` says what else
    a new guard needs.
    """

    name: ClassVar[str]  # one of `guards/names.py`
    averages: ClassVar[tuple[str, ...]] = ("macro", "weighted")  # with a threshold for each label

    @abstractmethod
    def cuts(
        self,
        found: Histograms,
        problem: Problem,
        optimum: Cuts,
        alike: "Alike | None",
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
    ) -> GuardedCuts:
        """Choose the cut of every label, from what weighs at which score.

        `optimum` are the best cuts in the sample; `alike` says what rows of groups are worth, None without groups.
        Limits are kept afterwards, whatever the guard.
        """

    def __str__(self) -> str:
        """Return the name, and the options that are not the usual ones."""
        usual: Any = type(self)()
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(usual)
            if getattr(self, field.name) != getattr(usual, field.name)
        ]
        return f"{self.name} ({', '.join(changed)})" if changed else self.name


def joined(parts: Sequence[GuardedCuts]) -> GuardedCuts:
    """Join the cuts of consecutive labels."""
    return GuardedCuts(*map(np.concatenate, zip(*parts, strict=True)))


def either(where: Booleans, first: GuardedCuts, second: GuardedCuts) -> GuardedCuts:
    """Take the cuts of the first where asked to, else of the second."""
    pairs: Any = zip(first, second, strict=True)
    return GuardedCuts(*(np.where(where, *pair) for pair in pairs))


def never(n_labels: int, reason: np.uint8) -> GuardedCuts:
    """Predict none of some labels."""
    nothing = np.zeros(n_labels, np.int64)
    return GuardedCuts(np.full(n_labels, np.inf), nothing, nothing, np.full(n_labels, reason))
