"""Any rule of the list of all rules, fitted by its name: one way to fit each method of `fitting/rules.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.sparse import is_sparse
from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import InputError
from thresholds._engine.folds import Question
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import blanked
from thresholds.calibration import CalibratedRule
from thresholds.calibration.calibrator import Calibrator, calibrate_problem
from thresholds.expectation.counts import Probabilities
from thresholds.fitting.capping import with_cap
from thresholds.fitting.empirical import check_groups, fit_problem
from thresholds.fitting.expected import best_expected
from thresholds.fitting.options import (
    DEFAULTS,
    FIT_OPTIONS,
    SAID_BY_NAME,
    FitArguments,
    FitOptions,
    check_options,
    with_fit_options,
)
from thresholds.fitting.outside_folds import fit_outside_folds
from thresholds.fitting.record import rows_kept, with_brief_record, with_record
from thresholds.fitting.regions import BinsOfScores, best_regions, bins_of_scores
from thresholds.fitting.rules import Calibration, NamedRule, calibrated_form, find_rule
from thresholds.fitting.top_k import best_top_k
from thresholds.metrics.judging import judge
from thresholds.rule import InstanceRule, Rule, ThresholdRule
from thresholds.rule.made_by import MadeBy
from thresholds.sources.taking import takes_source

_FIXED = 0.5

# What `fit` does not ask for, as the name of a rule says it; a guard may have options.
_SAID = tuple(name for name in SAID_BY_NAME if name != "guard")

Calibrators = dict[Calibration, Calibrator]  # of one problem, by method


class Shared:
    """What rules that are fitted to the same rows share, each found when it is first asked for."""

    def __init__(
        self, calibrators: Calibrators | None = None, *, with_objectives: bool = True
    ) -> None:
        self._calibrators: Calibrators = {} if calibrators is None else calibrators
        self._probabilities: dict[Calibration, Matrix] = {}
        self._bins: BinsOfScores | None = None
        # Whether to ask what a rule reaches on the rows of its fit where that takes decisions about each row, and how
        # good the probabilities of a calibrator are there.
        self.with_objectives = with_objectives

    def calibrator(
        self, problem: Problem, calibration: Calibration, options: FitOptions
    ) -> Calibrator:
        """Return the calibrator of the problem's scores."""
        if calibration not in self._calibrators:
            self._probabilities.clear()  # They would take more memory than all else.
            self._calibrators[calibration] = calibrate_problem(
                problem,
                calibration,
                measured=self.with_objectives,
                n_jobs=options.n_jobs,
                progress=options.progress,
            )
        return self._calibrators[calibration]

    def bins(self, problem: Problem, options: FitOptions) -> BinsOfScores:
        """Return the bins of the problem's scores that regions are made of."""
        if self._bins is None:
            self._bins = bins_of_scores(problem, n_jobs=options.n_jobs, progress=options.progress)
        return self._bins

    def probabilities(
        self, problem: Problem, calibration: Calibration, options: FitOptions
    ) -> Matrix:
        """Return what the calibrator makes of the problem's scores; those of the last calibration are kept."""
        if calibration not in self._probabilities:
            calibrator = self.calibrator(problem, calibration, options)
            dense = is_sparse(problem.scores) and not problem.keep_sparse
            self._probabilities.clear()
            self._probabilities[calibration] = calibrator.transform(problem.scores, dense=dense)
        return self._probabilities[calibration]


@takes_source(check_options)
@with_fit_options({name: value for name, value in DEFAULTS.items() if name not in _SAID})
def fit(
    y_true: object,
    y_score: object = None,
    rule: str = "macro",
    *,
    sample_weight: object = None,
    groups: object = None,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    **options: Unpack[FitArguments],
) -> Rule:
    """Fit any rule by its name, as `compare` shows it.

    Thresholds are fitted for rows that the fit has not seen: "macro" is "macro, shrink", "micro" is "micro, pool". The
    best thresholds on the rows of the fit are "macro, in-sample", or "macro" with `guard=None` (docs/guards.md).

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
        Or a source of such rows, with `y_score` left out: files, blocks, more than memory holds (docs/scale.md).
        None for a rule that looks at no labels: "..., label-free" and "fixed 0.5".
    y_score : same shape, real scores, dense or scipy.sparse; for "..., label-free" calibrated probabilities
    rule : the name of a rule, one of `thresholds.RULES` (docs/rules.md); case does not matter
        "macro" (default), which is "macro, shrink": a threshold for each label, for the mean of the labels' F1, guarded
        for new rows. So "weighted" is "weighted, shrink".
        "micro", which is "micro, pool": the same for all decisions counted together.
        "macro, in-sample", "weighted, in-sample", "micro, in-sample": the best on the rows of the fit. "macro" is that
        with `guard=None`, with a budget (`max_predicted`), and "micro" with a `confidence`, which no guard keeps.
        "instance, platt": the best set of labels for each row, for the mean of the rows' F1.
    sample_weight, groups, missing, unknown, label_names : as in `fit_empirical`
    options : those of fits that the rule takes, `beta` and `zero_division` mostly, as in `fit_empirical`
        A rule that does not take one refuses it, and says which rules do.

    Returns
    -------
    Rule
        A `ThresholdRule`, `TopKRule`, `RegionRule`, `InstanceRule` or `CalibratedRule`; with `max_predicted_per_row` a
        `CappedRule` around it. All can be saved, and judged by `cross_fit`, `compare` and `diagnose`.

    Raises
    ------
    InputError
        For an unknown name, an option that the rule does not take, scores outside [0, 1] where the rule takes them for
        probabilities, and whatever `fit_empirical` refuses.

    Examples
    --------
    >>> import thresholds
    >>> y_true = [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> y_score = [[0.9, 0.2], [0.6, 0.1], [0.7, 0.4], [0.1, 0.3]]
    >>> print(thresholds.fit(y_true, y_score, "top-k"))
    the highest score of each row: samples F1 0.5000
    >>> thresholds.fit(y_true, y_score, "macro, in-sample", placement="score").thresholds
    array([0.6, 0.4])
    """
    find_rule(rule)  # Refuses None, too, which options take for no rule.
    fit_options = FitOptions(rule=rule, **options)
    named = fit_options.named
    if y_true is None:
        if named.needs_labels:
            raise InputError(
                f"y_true is None with rule {named.name!r}, which is fitted on labels; expected labels"
            )
        y_true = _no_labels(y_score)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        groups=groups,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=fit_options.keep_sparse,
    )
    check_groups(problem, fit_options)
    return fit_named(problem, fit_options)


def fit_named(problem: Problem, options: FitOptions, shared: Shared | None = None) -> Rule:
    """Fit the rule that options name, or describe, on what is checked already.

    Rules of one problem may share what was found for one of them.
    """
    fitted = _FITS[options.named.method](problem, options, Shared() if shared is None else shared)
    return _named(with_cap(fitted, problem, options), options)


def _named(fitted: Rule, options: FitOptions) -> Rule:
    """Have a rule say that it was asked for by its name, if it was."""
    if options.rule is None:
        return fitted
    given = {
        name: getattr(options, name)
        for name in FIT_OPTIONS
        if name not in _SAID and (name != "guard" or options.guard != options.named.guard)
    }
    made_by = MadeBy.from_call(fit, given)
    named = {"rule": options.rule, **made_by.options}
    return replace(fitted, made_by=replace(made_by, options=named))


def fit_named_outside_folds(
    problem: Problem,
    options: FitOptions,
    pairs: Sequence[tuple[Ints, Ints]],
    questions: Sequence[Question] = (),
) -> tuple[list[Rule], list[list[Any]]] | None:
    """Fit to all rows, and to those that each fold is fitted on, together; None for what has to be fitted apart.

    The second result are the answers to questions about labels on all rows, in the order of the labels.
    """
    if options.named.method != "thresholds" or options.max_predicted_per_row is not None:
        return None
    found = fit_outside_folds(problem, options, pairs, questions)
    if found is None:
        return None
    rules, answers = found
    return [_named(rule, options) for rule in rules], answers


def why_not(named: NamedRule, problem: Problem) -> str | None:
    """Say why a rule cannot be had of these rows; None if it can."""
    if not named.needs_probabilities:
        return None
    if problem.missing != 0:
        return f"missing is {problem.missing:g}, and absent entries must be probabilities of 0"
    if named.exact and problem.sample_weight is not None:
        return "sample_weight is given, and the expectation over outcomes counts rows"
    try:
        _checks.probabilities(problem.scores)
    except InputError:
        return "scores lie outside [0, 1], and probabilities are needed"
    return None


def _no_labels(y_score: object) -> Any:
    """Return labels, none of which is true, of the shape and the kind of the scores."""
    from scipy import sparse

    scores, names = _checks.named(y_score, "y_score", None)
    return sparse.csr_array(_checks.scores(scores, label_names=names).shape, dtype=np.uint8)


def _thresholds(problem: Problem, options: FitOptions, _: Shared) -> Rule:
    """Fit thresholds on labels."""
    return fit_problem(problem, options)


def _fixed(problem: Problem, options: FitOptions, _: Shared) -> Rule:
    """Return the same threshold for all labels, with a profile of the scores: nothing is fitted."""
    return ThresholdRule(
        np.full(problem.n_labels, _FIXED),
        label_names=problem.label_names,
        missing=problem.missing,
        beta=options.beta,
        zero_division=options.zero_division,
        per_label=False,
        kept=rows_kept(problem),
    )


def _top_k(problem: Problem, options: FitOptions, _: Shared) -> Rule:
    """Fit the number of labels of each row."""
    rule = best_top_k(problem, options.beta, options.zero_division)
    return with_record(rule, problem)


def _regions(problem: Problem, options: FitOptions, shared: Shared) -> Rule:
    """Fit regions of scores."""
    bins = shared.bins(problem, options)
    rule = best_regions(problem, bins, options.average, options.beta, options.zero_division)
    return with_record(rule, problem)


def _expected(problem: Problem, options: FitOptions, shared: Shared) -> Rule:
    """Find a rule from probabilities alone."""
    reason = why_not(options.named, problem)
    if reason is not None:
        raise InputError(
            f"rule is {options.named.name!r}, which does not apply: {reason}; expected a calibrated rule, as"
            f" {calibrated_form(options.named)!r}"
        )
    return _of_probabilities(problem, options, problem.scores, shared.with_objectives)


def _calibrated(problem: Problem, options: FitOptions, shared: Shared) -> Rule:
    """Calibrate scores, and find a rule for the probabilities."""
    calibration = options.named.calibration
    assert calibration is not None, "its name says it"
    calibrator = shared.calibrator(problem, calibration, options)
    if options.named.row_by_row:
        by_row = InstanceRule(options.beta, options.zero_division, problem.label_names)
        keep_record = with_record if shared.with_objectives else with_brief_record
        return keep_record(CalibratedRule(calibrator, by_row), problem)

    # A cell of probability 0 adds nothing to any expectation: it counts as if it were not there.
    probabilities = shared.probabilities(problem, calibration, options)
    known = blanked(probabilities, problem.unknown)
    of_probabilities = _of_probabilities(problem, options, known, with_objective=True)
    # What is known of the fit is known of the scores.
    nothing = {"fitted_on": None, "made_by": None, "kept": None}
    inner: Any = replace(of_probabilities, **nothing)
    rule = CalibratedRule(calibrator, inner)
    if is_sparse(problem.scores):
        return with_record(rule, problem)
    calibrated = replace(problem, scores=probabilities, missing=0.0)
    judged = judge(inner, calibrated, by_row=options.average == "samples")
    return with_record(rule, problem, judged=judged)


def _of_probabilities(
    problem: Problem, options: FitOptions, probabilities: Matrix, with_objective: bool
) -> Rule:
    """Find a rule for the probabilities of a problem's cells."""
    return best_expected(
        Probabilities.of(probabilities, problem.sample_weight, problem.label_names),
        options.average,
        options.beta,
        options.per_label,
        options.zero_division,
        options.named.exact,
        with_objective=with_objective,
        n_jobs=options.n_jobs,
        progress=options.progress,
    )


_FITS: Mapping[str, Callable[[Problem, FitOptions, Shared], Rule]] = {
    "thresholds": _thresholds,
    "fixed": _fixed,
    "top_k": _top_k,
    "regions": _regions,
    "expected": _expected,
    "calibrated": _calibrated,
}
