"""Whether what is found is the best of all cuts."""

from collections.abc import Callable, Sequence

import numpy as np

from tests.engine.draws import Data
from tests.naive import cuts as naive
from thresholds._engine.best_cuts import best_cuts, best_cuts_within, best_joint_cuts
from thresholds._engine.cuts import Cuts
from thresholds._engine.problem import Problem
from thresholds._engine.staircase import Steps

Check = Callable[..., None]


def check_best(data: Data, problem: Problem, labels: Sequence[naive.Label], n_jobs: int, *named: object) -> None:
    """Each label has its best cut."""
    best = [naive.best(label, data.beta, exactly=data.is_exact) for label in labels]
    check_same(best_cuts(problem, data.beta, n_jobs=n_jobs), best, labels, *named)


def check_best_within(data: Data, problem: Problem, labels: Sequence[naive.Label], n_jobs: int, *named: object) -> None:
    """Each label has its best cut, and the best that keeps its limits."""
    free, within = best_cuts_within(problem, data.limits, data.beta, n_jobs=n_jobs)
    best = [naive.best(label, data.beta, exactly=data.is_exact) for label in labels]
    check_same(free, best, labels, "free", *named)
    best = [
        naive.best(label, data.beta, keeps, exactly=data.is_exact)
        for label, keeps in zip(labels, map(keeping, *data.limits), strict=True)
    ]
    check_same(within, best, labels, "within limits", *named)


def check_jointly_best(
    data: Data, problem: Problem, labels: Sequence[naive.Label], n_jobs: int, *named: object
) -> None:
    """All labels together have the highest micro F; where it is known to rounding only, cuts are steps."""
    found = best_joint_cuts(problem, data.beta, n_jobs=n_jobs)
    steps = [
        {step.score: step for step in [naive.NEVER, *label.steps]}[score]
        for label, score in zip(labels, found.score.tolist(), strict=True)
    ]
    check_same(found, steps, labels, *named)
    if data.is_exact:
        assert naive.are_jointly_best(labels, steps, data.beta), named


CHECKS: dict[str, Check] = {"each": check_best, "within limits": check_best_within, "jointly": check_jointly_best}


def keeping(most_over: float, least_recall: float, least_precision: float) -> Callable[[naive.Step, int], bool]:
    """Whether a step keeps limits."""
    return lambda step, positives: (
        step.predicted / positives <= most_over
        and step.tp / positives >= least_recall
        and step.tp / step.predicted >= least_precision
    )


def check_same(found: Cuts, steps: list[naive.Step], labels: Sequence[naive.Label], *named: object) -> None:
    """The cuts are these steps, with all that is known of them."""
    for name in naive.Step._fields:
        expected = [getattr(step, name) for step in steps]
        np.testing.assert_array_equal(getattr(found, name), expected, f"{name} {named}")
    np.testing.assert_array_equal(found.positives, [label.positives for label in labels], str(named))


def check_steps(found: Steps, labels: Sequence[naive.Label], *named: object) -> None:
    """The steps of labels are these; where positives tie, a step may stand there more than once."""
    for j, label in enumerate(labels):
        own = slice(found.offsets[j], found.offsets[j + 1])
        cut = found.cut[own].tolist()
        assert list(dict.fromkeys(cut)) == [step.score for step in label.steps], named
        of_cut = {step.score: step for step in label.steps}
        expected = np.array([of_cut[score] for score in cut]).reshape(-1, len(naive.Step._fields))
        columns = found.cut[own], found.lower[own], found.tp[own], found.predicted[own]
        np.testing.assert_array_equal(np.transpose(columns), expected, str(named))
    np.testing.assert_array_equal(found.positives, [label.positives for label in labels], str(named))


def check_equal(found: Cuts, expected: Cuts, *named: object) -> None:
    """Two searches found the same."""
    for name, ours, theirs in zip(Cuts._fields, found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs, f"{name} {named}")
