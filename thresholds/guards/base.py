"""What a guard is, and what it makes of labels: a cut of each, and why it was moved."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thresholds._arrays.types import Booleans, Bytes, Floats, Ints
from thresholds._checks import Placement
from thresholds._engine.cuts import Cuts
from thresholds._engine.f_measure import f_of_counts
from thresholds.data.problem import Problem
from thresholds.data.tiles import Passes, in_passes
from thresholds.guards.limits import Limits
from thresholds.results import NumberedTexts
from thresholds.rule.guard_report import GuardReport

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

    def of_labels(self, first: int, last: int) -> "GuardedCuts":
        """Return those of labels `first:last`, as views."""
        return GuardedCuts._make(values[first:last] for values in self)


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
        reason: Any = NumberedTexts(REASONS, number)
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
    """What every guard is: a dataclass of options, with a name and one method, `fit`.

    Every option has a default, since a guard that is asked for by its name is made without any.
    What callers may ask for is `Guard`, in `guards/options.py`; `guards/__init__.py` says what else
    a new guard needs.
    """

    name: ClassVar[str]  # one of `guards/names.py`
    averages: ClassVar[tuple[str, ...]] = ("macro", "weighted")  # with a threshold for each label

    @abstractmethod
    def fit(
        self,
        problem: Problem,
        limits: Limits,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
        progress: bool,
    ) -> GuardedFit:
        """Choose the cut of every label.

        Nobody keeps the limits but the guard itself: `limited.within_limits`, on its last cuts.
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


class GuardInPasses(BaseGuard):
    """A guard that passes over tiles of labels: fits to several parts of the rows then go side by side."""

    @abstractmethod
    def passes(
        self,
        problem: Problem,
        limits: Limits,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
    ) -> Passes[GuardedFit]:
        """Choose the cut of every label."""

    def fit(
        self,
        problem: Problem,
        limits: Limits,
        average: str,
        beta: float,
        placement: Placement,
        n_jobs: int | None,
        progress: bool,
    ) -> GuardedFit:
        """Choose the cut of every label."""
        passes = self.passes(problem, limits, average, beta, placement, n_jobs)
        return in_passes(problem, passes, n_jobs=n_jobs, progress=progress)


def to_be_written(n_labels: int) -> tuple[Cuts, GuardedCuts]:
    """Return room for the cuts of so many labels: joined, they would take the memory of their parts again."""
    score, lower, thresholds = (np.empty(n_labels) for _ in range(3))
    tp, predicted, positives, guarded_tp, guarded_predicted = (
        np.empty(n_labels, np.int64) for _ in range(5)
    )
    reason = np.empty(n_labels, np.uint8)
    return (
        Cuts(score, lower, tp, predicted, positives),
        GuardedCuts(thresholds, guarded_tp, guarded_predicted, reason),
    )


def write(cuts: Cuts | GuardedCuts, first: int, own: Cuts | GuardedCuts) -> None:
    """Write the cuts of labels from `first` on."""
    pairs: Any = zip(cuts, own, strict=True)
    for values, of_labels in pairs:
        values[first : first + of_labels.size] = of_labels


def joined(tiles: Sequence[GuardedCuts]) -> GuardedCuts:
    """Join the cuts of consecutive labels."""
    return GuardedCuts(*(np.concatenate(arrays) for arrays in zip(*tiles, strict=True)))


def either(where: Booleans, first: GuardedCuts, second: GuardedCuts) -> GuardedCuts:
    """Take the cuts of the first where asked to, else of the second."""
    pairs: Any = zip(first, second, strict=True)
    return GuardedCuts(*(np.where(where, *pair) for pair in pairs))


def never(n_labels: int, reason: np.uint8) -> GuardedCuts:
    """Predict none of some labels."""
    nothing = np.zeros(n_labels, np.int64)
    return GuardedCuts(np.full(n_labels, np.inf), nothing, nothing, np.full(n_labels, reason))
