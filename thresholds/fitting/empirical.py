"""Rules fitted on labels: the thresholds that maximise F-beta on the data, exactly.

    F_beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp)

Lipton, Elkan & Naryanaswamy 2013, "F1-Optimal Thresholding in the Multi-Label Setting", sections 5 (optimal
decisions) and 2.1 (averages).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Floats
from thresholds._checks import AVERAGES, PLACEMENTS, Average, InputError, Placement
from thresholds._kernels.choosing import upper_hulls
from thresholds.data.problem import Problem
from thresholds.guards import Guard, Limits, Shrink, chosen_guard, fit_guarded, guard_name
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_by_label
from thresholds.metrics.judging import f_measure, judge
from thresholds.rule import FittedOn, ThresholdRule
from thresholds.search import staircase
from thresholds.search.counting.passes import useful_staircases
from thresholds.search.one_cut import best_shared_cut
from thresholds.search.staircase import Cuts, Staircase


def fit_empirical(
    y_true: object,
    y_score: object,
    average: Average = "macro",
    *,
    beta: float = 1.0,
    per_label: bool = True,
    sample_weight: object = None,
    zero_division: float = 0.0,
    placement: Placement = "low",
    guard: Guard = None,
    max_overprediction: float | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    missing: float = 0.0,
    keep_sparse: bool = False,
    label_names: object = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ThresholdRule:
    """Fit the thresholds that maximise F-beta on labelled data, exactly.

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
    y_score : same shape, real scores of any scale, dense or scipy.sparse
        Entries that a sparse matrix leaves out form one tie group with score `missing`. `-inf` is legal.
    average :
        "macro": mean of the labels' F over all labels. Each label is maximised on its own, in O(n).
        "weighted": the same thresholds; the objective is the mean weighted by the labels' positives.
        "micro": F of the counts added over labels, maximised jointly over all thresholds.
        "samples": mean of the rows' F; needs `per_label=False` (a threshold for each label is NP-hard).
    beta : weight of recall against precision
    per_label : False for one threshold that all labels share
    sample_weight : (n_samples,) non-negative; rows of weight 0 count as absent
        To the guard "shrink", whole numbers count rows; other weights are relative, their mean is a row.
    zero_division : 0.0 or 1.0, the F of a label (or row) with neither positives nor predictions
    placement : where in the gap between the cut's score and the next lower score a threshold lies
        All places decide alike on this data. "low" (default), 1/1024 of the gap above the lower score, does best
        on new data, as the best cut on a sample is biased upwards; "mid" is the middle; "score" the score itself.
        Thresholds are representable in the dtype of the scores, and subnormal only if the score is.
    guard : for "macro" and "weighted" with `per_label=True`; what it did is in `rule.guard_report`
        None (default): the in-sample optimum. "shrink", or `Shrink(...)`: the number predicted is drawn towards what
        suits labels with as many positives, the more the fewer they are; it lies between two scores of its own choice,
        whatever `placement`, and labels without positives get a threshold just above their highest score.
        "auto": "shrink" where there are guards, else None.
    max_overprediction, min_precision, min_recall : limits for each label on the data of the fit, or None
        Predictions over positives, precision and recall of the chosen cut; for the same averages. The best of the cuts
        that keep them is taken; under a guard, and where the best would hit nothing, as much as `max_overprediction`
        allows is predicted, or the cut is taken that predicts most nearly as much. Never if no cut keeps them.
    missing : score of the entries that a sparse `y_score` leaves out
    keep_sparse : cut a sparse `y_score` above `missing` only: the best of the rules whose predictions are sparse
    label_names : strings, one per label
    n_jobs : threads; None or -1 for all cores the process may use. Results do not depend on it.
    progress : show a progress bar on stderr if the fit takes longer than a second

    Returns
    -------
    ThresholdRule
        `objective` is the F-measure of `rule.predict(y_score)`, exactly. Labels without positives are listed in
        `unsupported`: their threshold is `+inf` (unless shared, or under "shrink"), their F is `zero_division`.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    Notes
    -----
    Ties: positive iff `score >= threshold`; among cuts of equal F the highest wins (equal as float64 where counts
    or beta^2 are no whole or dyadic numbers). In joint micro each label
    takes the highest maximiser of (1 + b^2) tp - F* (tp + fp), F* being the best F. With weights that are not
    integers, counts are kept in units of at most 2**-60 of the weight of all cells, and each weight is off by at
    most one unit.

    References
    ----------
    Lipton et al. 2013, sections 2.1 and 5. Joint micro: the optimum is a vertex of the Minkowski sum of the
    labels' hulls of (predicted, tp), found by Dinkelbach's iteration; docs/proofs.md has the proof.

    Examples
    --------
    >>> import thresholds
    >>> y_true = [[1, 0], [1, 0], [0, 1], [0, 0]]
    >>> y_score = [[0.9, 0.2], [0.6, 0.1], [0.7, 0.4], [0.1, 0.3]]
    >>> rule = thresholds.fit_empirical(y_true, y_score, placement="score")
    >>> rule.thresholds
    array([0.6, 0.4])
    >>> round(rule.objective, 4)
    0.9
    """
    settings = FitSettings.of(
        average,
        beta=beta,
        per_label=per_label,
        zero_division=zero_division,
        placement=placement,
        guard=guard,
        max_overprediction=max_overprediction,
        min_precision=min_precision,
        min_recall=min_recall,
    )
    _checks.option(keep_sparse, "keep_sparse", (True, False))
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        label_names=label_names,
        keep_sparse=keep_sparse,
        n_jobs=n_jobs,
    )
    return fit_problem(problem, settings, n_jobs=n_jobs, progress=progress)


@dataclass(frozen=True)
class FitSettings:
    """What is maximised and how, checked."""

    average: Average
    beta: float
    per_label: bool
    zero_division: float
    placement: Placement
    guard: Shrink | None
    limits: Limits

    @classmethod
    def of(
        cls,
        average: Average,
        *,
        beta: float,
        per_label: bool,
        zero_division: float,
        placement: Placement,
        guard: Guard,
        max_overprediction: float | None,
        min_precision: float | None,
        min_recall: float | None,
    ) -> "FitSettings":
        """Check the options of `fit_empirical` that are no arrays."""
        _checks.option(average, "average", AVERAGES)
        _checks.option(per_label, "per_label", (True, False))
        _checks.option(placement, "placement", PLACEMENTS)
        if average == "samples" and per_label:
            raise InputError(
                "average is 'samples' with per_label=True, which is NP-hard and not offered; expected per_label=False"
                " (--shared on the command line), one threshold for all labels"
            )
        return cls(
            average,
            _checks.beta(beta),
            per_label,
            _checks.zero_division(zero_division),
            placement,
            chosen_guard(guard, average, per_label),
            Limits.of(average, per_label, max_overprediction, min_precision, min_recall),
        )


def fit_problem(problem: Problem, settings: FitSettings, *, n_jobs: int | None, progress: bool) -> ThresholdRule:
    """Fit on what is checked already."""
    average, beta, zero_division = settings.average, settings.beta, settings.zero_division
    chosen, limits, placement = settings.guard, settings.limits, settings.placement
    run: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    report = None
    if not settings.per_label:
        cuts = _shared(problem, average, beta, zero_division, **run)
    elif average == "micro":
        cuts = _joint_micro(problem, beta, **run)
    elif chosen is None and not limits.any:
        cuts = _each_label(problem, beta, **run)
    else:
        guarded = fit_guarded(problem, chosen, limits, average, beta, placement, **run)
        cuts, report = guarded.cuts, guarded.report(problem, guard_name(chosen, limits), beta, zero_division, placement)
    fitted = ThresholdRule(
        thresholds=cuts.placed(problem, placement) if report is None else report.guarded,
        label_names=problem.label_names,
        average=average,
        beta=beta,
        unsupported=cuts.positives == 0,
        missing=problem.missing,
        guard=guard_name(chosen, limits),
        per_label=settings.per_label,
        zero_division=zero_division,
        placement=placement,
        fitted_on=FittedOn.of(problem.scores, problem.missing, cuts.positives * problem.unit),
        guard_report=report,
    )
    if settings.per_label and problem.exactly_weighted:
        counts = ConfusionCounts(np.stack([cuts.tp, cuts.predicted, cuts.positives]), int(problem.row_weights.sum()))
        objective = average_of(f_score(beta), counts, average, zero_division)
    else:
        objective = f_measure(judge(fitted, problem), problem.sample_weight, average, beta, zero_division)
    return replace(fitted, objective=objective)


def _shared(
    problem: Problem, average: Average, beta: float, zero_division: float, n_jobs: int | None, progress: bool
) -> Cuts:
    """Choose one cut for all labels; what it counts is found by predicting."""
    cut = best_shared_cut(problem, average, beta, zero_division, n_jobs=n_jobs, progress=progress)
    score, lower = (np.full(problem.n_labels, value) for value in cut)
    positives = count_by_label(problem.truth, problem.truth, problem.unit_weights).positives
    return Cuts(score, lower, np.empty(0, np.int64), np.empty(0, np.int64), positives)


def _each_label(problem: Problem, beta: float, n_jobs: int | None, progress: bool) -> Cuts:
    """Choose the best step of every label."""

    def choose(stairs: Staircase) -> Cuts:
        return stairs.cuts_at(stairs.best(beta))

    return staircase.all_cuts(useful_staircases(problem, choose, beta, jointly=False, n_jobs=n_jobs, progress=progress))


def _joint_micro(problem: Problem, beta: float, n_jobs: int | None, progress: bool) -> Cuts:
    """Choose the steps of highest micro F-beta by Dinkelbach's iteration over the edges of the labels' hulls.

    Predicting down to a vertex pays as long as the edge that leads there gains more tp a prediction than the
    whole has, tp / (b^2 positives + predicted) = F / (1 + b^2). A few steps settle that ratio.
    """

    def hull(stairs: Staircase) -> tuple[Staircase, Floats]:
        offsets, vertex, slope = upper_hulls(stairs.offsets, stairs.tp, stairs.fp)
        return stairs.take(offsets, vertex), slope

    parts = useful_staircases(problem, hull, beta, jointly=True, n_jobs=n_jobs, progress=progress)
    stairs = staircase.concatenate([part for part, _ in parts])
    slope = np.concatenate([slope for _, slope in parts])
    tp, predicted = (stairs.increments(values) for values in (stairs.tp, stairs.predicted))
    recall_part = beta**2 * stairs.positives.sum()
    ratio, used = 0.0, slope > 0
    while True:
        better = tp[used].sum() / max(recall_part + predicted[used].sum(), 1)
        if better < ratio:  # By rounding: the edges before were the best.
            break
        best = used
        if better == ratio:
            break
        ratio, used = better, slope > better
    n_used = np.diff(np.append(0, best.cumsum())[stairs.offsets])
    return stairs.cuts_at(np.where(n_used > 0, stairs.offsets[:-1] + n_used - 1, -1))
