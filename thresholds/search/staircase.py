"""The staircase of a label: what every rule fitted on labels reads.

Its steps are the distinct scores of the label's positives, from the highest down, each with the
weight of true and false positives when everything at or above it is predicted, and with the next
lower score. The best cut for F-beta, (1 + b^2) tp / (b^2 positives + tp + fp), is always a step:
between two steps only fp grows (Lipton et al. 2013, section 5, in its empirical form;
docs/proofs.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from thresholds._arrays.grouped import group_of
from thresholds._arrays.types import Booleans, Floats, Ints, Scores
from thresholds._engine import choosing
from thresholds._engine.cuts import Cuts
from thresholds._engine.staircase import Steps
from thresholds._engine.staircase import joined as joined_steps
from thresholds._kernels.keys import to_scores
from thresholds._kernels.sorting import weighted_staircases
from thresholds.data import panels
from thresholds.data.panels import Panel
from thresholds.data.problem import Items, Problem
from thresholds.data.tiles import map_tiles

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Staircase:
    """The steps of labels, one after another: those of label j are `offsets[j]:offsets[j + 1]`."""

    offsets: Ints  # (n_labels + 1,)
    score: Scores  # (n_steps,) falling within a label
    lower: Scores  # (n_steps,) the next lower score, NaN without one
    tp: Ints  # (n_steps,) in the unit of the problem's weights
    fp: Ints  # (n_steps,)
    higher: Ints  # (n_steps,) weight of all cells above; negatives between two steps count here
    positives: Ints  # (n_labels,)
    first: int = 0  # which of all labels comes first here, where that is known

    @classmethod
    def of_steps(cls, steps: Steps, dtype: np.dtype[Any]) -> "Staircase":
        """Return the same as the engine has it; what lies above each step is not known."""
        return cls(
            steps.offsets,
            score=steps.cut.astype(dtype),
            lower=steps.lower.astype(dtype),
            tp=steps.tp,
            fp=steps.predicted - steps.tp,
            higher=np.zeros_like(steps.tp),
            positives=steps.positives,
        )

    @property
    def predicted(self) -> Ints:
        """What is predicted at each step."""
        return self.tp + self.fp

    @property
    def label(self) -> Ints:
        """The label of each step."""
        return group_of(self.offsets)

    def take(self, offsets: Ints, steps: Ints) -> "Staircase":
        """Return a staircase of some of the steps."""
        return Staircase(
            offsets,
            score=self.score[steps],
            lower=self.lower[steps],
            tp=self.tp[steps],
            fp=self.fp[steps],
            higher=self.higher[steps],
            positives=self.positives,
            first=self.first,
        )

    def where(self, wanted: Booleans) -> "Staircase":
        """Leave out the steps that are not wanted; positives still count there."""
        steps = np.flatnonzero(wanted)
        return self.take(np.searchsorted(steps, self.offsets), steps)

    def cuttable(self, problem: Problem) -> "Staircase":
        """Leave out the steps at which a fit to the problem may not cut."""
        return self.where(self.score > problem.missing) if problem.keep_sparse else self

    def of_labels(self, first: int, last: int) -> "Staircase":
        """Return the steps of labels `first:last`, as views."""
        offsets = self.offsets[first : last + 1]
        steps = slice(offsets[0], offsets[-1])
        return Staircase(
            offsets - offsets[0],
            score=self.score[steps],
            lower=self.lower[steps],
            tp=self.tp[steps],
            fp=self.fp[steps],
            higher=self.higher[steps],
            positives=self.positives[first:last],
            first=self.first + first,
        )

    def best(self, beta: float) -> Ints:
        """Return the step of highest F-beta of each label, -1 for never; the highest of ties."""
        counts = self.tp, self.predicted, self.positives
        return choosing.best_of_each(self.offsets, *counts, beta**2)

    def lowest_by(self, values: Floats) -> Ints:
        """Return the step of each label of the lowest value (n_steps,), the highest of ties; -1 without steps."""
        order = np.lexsort((values, self.label))  # stable
        steps = np.full(self.positives.size, -1)
        has_steps = np.diff(self.offsets) > 0
        steps[has_steps] = order[self.offsets[:-1][has_steps]]
        return steps

    @property
    def as_steps(self) -> Steps:
        """The same as the engine has them: in scores as they are, -0.0 and 0.0 alike."""
        return Steps(
            self.offsets,
            cut=self.score.astype(np.float64),
            lower=self.lower.astype(np.float64),
            tp=self.tp,
            predicted=self.predicted,
            positives=self.positives,
        )

    def cuts_at(self, steps: Ints) -> Cuts:
        """Read one step of each label; -1 is never."""
        return self.as_steps.at(steps)

    def increments(self, counts: Ints) -> Ints:
        """Return what each step adds to cumulative `counts`."""
        added = np.diff(counts, prepend=0)
        first_steps = self.offsets[:-1][np.diff(self.offsets) > 0]  # of each label that has steps
        added[first_steps] = counts[first_steps]
        return added


def without_steps(positives: Ints, dtype: np.dtype[Any]) -> Staircase:
    """Return staircases of labels that have no step, with their positives, (n_labels,)."""
    scores, counts = np.empty(0, dtype), np.empty(0, np.int64)
    offsets = np.zeros(positives.size + 1, np.int64)
    return Staircase(offsets, scores, scores, counts, counts, counts, positives)


def concatenate(parts: Sequence[Staircase]) -> Staircase:
    """Join the staircases of consecutive labels."""
    n_steps = np.concatenate([np.diff(part.offsets) for part in parts])  # (n_labels,)
    return Staircase(
        np.append(0, n_steps.cumsum()),
        score=np.concatenate([part.score for part in parts]),
        lower=np.concatenate([part.lower for part in parts]),
        tp=np.concatenate([part.tp for part in parts]),
        fp=np.concatenate([part.fp for part in parts]),
        higher=np.concatenate([part.higher for part in parts]),
        positives=np.concatenate([part.positives for part in parts]),
    )


def of_labels(problem: Problem, first: int, last: int) -> Staircase:
    """Count the staircases of labels `first:last`."""
    return of_items(panels.label_items(problem, first, last)).cuttable(problem)


def of_items(items: Items) -> Staircase:
    """Count the staircase of each group of items."""
    if items.is_unweighted:
        in_order = Panel.of(items)
        positives, steps = in_order.positives, in_order.steps
    else:
        positives = np.add.reduceat(items.positive_weights, items.starts[:-1])
        steps = weighted_staircases(*items)
    offsets, key, lower, tp, fp, higher = steps
    return Staircase(offsets, to_scores(key), to_scores(lower), tp, fp, higher, positives)


def map_labels(
    problem: Problem,
    function: Callable[[Staircase], Result],
    *,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> list[Result]:
    """Apply `function` to the staircases of one tile after another, on threads, in order."""

    def apply(first: int, last: int) -> Result:
        return function(replace(of_labels(problem, first, last), first=first))

    return map_tiles(problem, apply, n_jobs=n_jobs, progress=progress)


def all_steps(problem: Problem, *, n_jobs: int | None = -1, progress: bool = False) -> Steps:
    """Return all steps of all labels, read from their items: of counted rows."""
    parts = map_labels(problem, lambda stairs: stairs.as_steps, n_jobs=n_jobs, progress=progress)
    return joined_steps(parts)


def best_of_counts(
    problem: Problem,
    beta: float,
    *,
    jointly: bool,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Cuts:
    """Return the cut of highest F-beta of each label of counted rows, or those of highest micro F-beta."""
    steps = all_steps(problem, n_jobs=n_jobs, progress=progress)
    if jointly:
        chosen, _ = choosing.best_joint_steps(steps, beta**2)
    else:
        chosen = choosing.best_steps(steps, beta**2)
    return steps.at(chosen)
