"""How a fit searches labels: what it asks of a few labels at a time, and the cuts that it makes of all answers.

`cross_fit` asks the same of the rows outside each fold, label by label, while these are at hand.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from thresholds._arrays.types import Floats
from thresholds._engine.best_cuts import best_of
from thresholds._engine.columns import Memory
from thresholds._engine.cuts import Cuts
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds._engine.staircase import Columns
from thresholds.fitting.options import FitOptions

if TYPE_CHECKING:
    from thresholds._engine.budget import CutsWithin
    from thresholds.guards.base import GuardedFit
    from thresholds.guards.limits import Limits
    from thresholds.rule.guarantees import Guarantees
    from thresholds.rule.guard_report import GuardReport
    from thresholds.rule.row_guarantees import RowGuarantees


class Found(NamedTuple):
    """The cuts of all labels, and what was found with them."""

    cuts: Cuts
    thresholds: Floats | None = None  # (n_labels,) where they are placed already
    report: "GuardReport | None" = None
    guarantees: "Guarantees | RowGuarantees | None" = None
    within: "CutsWithin | None" = None


class Search(Protocol):
    """What a fit asks of some labels, and what it makes of all answers, which come in the order of the labels."""

    ratio: float | None  # T / (B P + K) as it is guessed, where all labels are searched jointly

    def __call__(self, columns: Columns, memory: Memory) -> Any:
        """Read some labels."""

    def found(self, answers: list[Any]) -> Found:
        """Choose the cuts of all labels."""


def search_of(
    problem: Problem, options: FitOptions, *, ratio: float | None = None
) -> Search | None:
    """Return the search of a fit; None for one that needs more than its labels one by one.

    `ratio` is a guess of T / (B P + K), where all labels are searched jointly.
    """
    has_other_way = options.promises_rows or options.confidence is not None
    if not options.per_label or options.max_predicted is not None or has_other_way:
        return None
    if options.guarded_by is not None:
        return _Guarded(problem, options, ratio)
    return _Best(problem, options, ratio)


class _Best:
    """The search for the best step of each label by itself; for micro, for those that are best together."""

    def __init__(self, problem: Problem, options: FitOptions, ratio: float | None) -> None:
        self._search: Any = best_of(
            problem,
            options.average,
            options.beta,
            ratio=ratio,
            n_jobs=options.n_jobs,
            progress=options.progress,
        )
        self.ratio: float | None = self._search.ratio

    def __call__(self, columns: Columns, memory: Memory) -> Any:
        """Read some labels."""
        return self._search(columns, memory)

    def found(self, answers: list[Any]) -> Found:
        """Choose the cuts of all labels."""
        return Found(self._search.cuts(answers))


class _Guarded:
    """The search under a guard, within limits, or both."""

    def __init__(self, problem: Problem, options: FitOptions, ratio: float | None) -> None:
        from thresholds.guards.fitting import GuardedSearch, LimitedSearch

        self._problem, self._options = problem, options
        guard, limits, aim = options.chosen_guard, limits_of(problem, options), aim_of(options)
        self._search: GuardedSearch | LimitedSearch
        if guard is None:
            self._search = LimitedSearch(problem, limits, aim)
        else:
            self._search = GuardedSearch(problem, guard, limits, aim, ratio)
        self.ratio = self._search.ratio

    def __call__(self, columns: Columns, memory: Memory) -> Any:
        """Read some labels."""
        return self._search(columns, memory)

    def found(self, answers: list[Any]) -> Found:
        """Choose the cuts of all labels."""
        return of_guard(self._problem, self._options, self._search.fit(answers))


def search_options(options: FitOptions) -> SearchOptions:
    """Return the options that every search reads."""
    return SearchOptions(
        average=options.average,
        beta=options.beta,
        zero_division=options.zero_division,
        placement=options.placement,
        n_jobs=options.n_jobs,
        progress=options.progress,
    )


def aim_of(options: FitOptions) -> Any:
    """Return what a guarded fit maximises."""
    from thresholds.guards.fitting import Aim

    return Aim(options.average, options.beta, options.placement, options.n_jobs, options.progress)


def limits_of(problem: Problem, options: FitOptions) -> "Limits":
    """Return the limits on the rows of the fit; floors that are to hold on new rows are none."""
    from thresholds.guards.limits import Limits

    limits = Limits(options.max_overprediction)
    if options.confidence is not None:
        return limits
    min_precision, min_recall = floors_of(problem, options)
    if options.min_precision is not None:
        limits = limits._replace(min_precision=min_precision)
    if options.min_recall is not None:
        limits = limits._replace(min_recall=min_recall)
    return limits


def floors_of(problem: Problem, options: FitOptions) -> tuple[Floats, Floats]:
    """Return the floors of precision and of recall of each label, (n_labels,) each, NaN for none."""
    from thresholds._checks.floors import floors_of_labels

    names, n_labels = problem.label_names, problem.n_labels
    return (
        floors_of_labels(options.min_precision, "min_precision", names, n_labels),
        floors_of_labels(options.min_recall, "min_recall", names, n_labels),
    )


def of_guard(problem: Problem, options: FitOptions, guarded: "GuardedFit") -> Found:
    """Return what a guard found, or limits."""
    report = guarded.report(
        problem, options.guarded_by, options.beta, options.zero_division, options.placement
    )
    return Found(guarded.cuts, report.guarded, report)
