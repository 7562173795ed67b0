"""Rules fitted on labels: the thresholds that maximise F-beta on the data, exactly.

    F_beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp)

Lipton, Elkan & Naryanaswamy 2013, "F1-Optimal Thresholding in the Multi-Label Setting", sections 5 (optimal
decisions) and 2.1 (averages).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import __version__, _checks, metrics, staircase
from thresholds._checks import AVERAGES, PLACEMENTS, Average, InputError, Placement
from thresholds._kernels.choosing import best_steps, upper_hulls
from thresholds._kernels.confusion import ranks_of_positives
from thresholds.blocks import Problem
from thresholds.judging import f_measure, judge
from thresholds.metrics import Counts
from thresholds.rule import FittedOn, ThresholdRule, TopKRule
from thresholds.rule.decisions import QUANTILES, sample_of
from thresholds.shared import SharedCut
from thresholds.staircase import Staircase

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EQUAL = 1e-13  # F-measures of two k that differ by less, relatively, count as equal.


class _Cuts(NamedTuple):
    """The cut of each label: the score it lies at, the next lower score, and what it counts."""

    score: Floats  # +inf for never
    lower: Floats  # NaN without one
    tp: Ints
    predicted: Ints
    positives: Ints


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
    guard: None = None,
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
        "macro": mean of the labels' F over all labels. Each label is maximised on its own: O(n log P).
        "weighted": the same thresholds; the objective weighs labels by their positives.
        "micro": F of the counts added over labels, maximised jointly over all thresholds.
        "samples": mean of the rows' F; needs `per_label=False` (a threshold for each label is NP-hard).
    beta : weight of recall against precision
    per_label : False for one threshold that all labels share
    sample_weight : (n_samples,) non-negative; rows of weight 0 count as absent
    zero_division : 0.0 or 1.0, the F of a label (or row) with neither positives nor predictions
    placement : where in the gap between the cut's score and the next lower score a threshold lies
        All places decide alike on this data. "low" (default), 1/1024 of the gap above the lower score, does best
        on new data, as the best cut on a sample is biased upwards; "mid" is the middle; "score" the score itself.
        Thresholds are representable in the dtype of the scores, and subnormal only if the score is.
    guard : None, the in-sample optimum
    missing : score of the entries that a sparse `y_score` leaves out
    keep_sparse : cut a sparse `y_score` above `missing` only: the best of the rules whose predictions are sparse
    label_names : strings, one a label
    n_jobs : threads; None or -1 for all cores the process may use. Results do not depend on it.
    progress : show a progress bar on stderr if the fit takes longer than a second

    Returns
    -------
    ThresholdRule
        `objective` is the F-measure of `rule.predict(y_score)`, exactly. Labels without positives are listed in
        `unsupported`: their threshold is `+inf` (unless shared), their F is `zero_division`.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    Notes
    -----
    Ties: positive iff `score >= threshold`; among cuts of equal F the highest wins. In joint micro each label
    takes the highest maximiser of (1 + b^2) tp - F* (tp + fp), F* being the best F. With weights that are not
    integers, counts are kept in units of at most 2**-60 of the weight of all cells, and each weight is off by at
    most one unit.

    References
    ----------
    Lipton et al. 2013, sections 2.1 and 5. Joint micro: the optimum is a vertex of the Minkowski sum of the
    labels' hulls of (predicted, tp), found by Dinkelbach's iteration; docs/architecture.md has the proof.

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
    _checks.option(average, "average", AVERAGES)
    _checks.option(per_label, "per_label", (True, False))
    _checks.option(keep_sparse, "keep_sparse", (True, False))
    _checks.option(placement, "placement", PLACEMENTS)
    if guard is not None:
        raise InputError(f"guard is {_checks.shown(guard)}, expected None: this version has no guards")
    if average == "samples" and per_label:
        raise InputError(
            "average is 'samples' with per_label=True, which is NP-hard and not offered;"
            " expected per_label=False, one threshold for all labels"
        )
    beta, zero_division = _checks.beta(beta), _checks.zero_division(zero_division)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        label_names=label_names,
        keep_sparse=keep_sparse,
    )
    if per_label:
        cuts = (_joint_micro if average == "micro" else _each_label)(problem, beta, n_jobs, progress)
        score, lower, positives = cuts.score, cuts.lower, cuts.positives
    else:
        cut = SharedCut(problem, average, beta, zero_division, n_jobs, progress).best()
        score, lower = (np.full(problem.n_labels, value) for value in cut)
        positives = metrics.count_by_label(problem.truth, problem.truth, problem.weights).positives
    if problem.keep_sparse:
        lower = np.fmax(lower, problem.missing)  # Also where a label has a score in every row.
    fitted = ThresholdRule(
        thresholds=staircase.place(score, lower, placement, problem.scores.dtype),
        label_names=problem.label_names,
        average=average,
        beta=beta,
        unsupported=positives == 0,
        missing=problem.missing,
        per_label=per_label,
        zero_division=zero_division,
        placement=placement,
        fitted_on=_summary(problem, positives),
    )
    if per_label:
        counts = Counts(cuts.tp, cuts.predicted, positives)
        objective = float(metrics.average_f(counts, average, beta, zero_division))
    else:
        objective = f_measure(judge(fitted, problem), problem, average, beta, zero_division)
    return replace(fitted, objective=objective)


def fit_top_k(
    y_true: object,
    y_score: object,
    *,
    beta: float = 1.0,
    sample_weight: object = None,
    zero_division: float = 0.0,
    missing: float = 0.0,
    label_names: object = None,
) -> TopKRule:
    """Fit the number k of labels to predict in every row that maximises samples F-beta, exactly.

    Parameters are those of `fit_empirical`; k may be 0, and among equally good k the smallest wins. Equal scores
    rank by label. `objective` is the samples F-beta of `predict` on this data.

    References
    ----------
    RCut: Yang 2001, "A study of thresholding strategies for text categorization", section 2.1.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.fit_top_k([[1, 0, 0], [1, 1, 0]], [[0.9, 0.2, 0.1], [0.8, 0.7, 0.3]]).k
    1
    """
    beta, zero_division = _checks.beta(beta), _checks.zero_division(zero_division)
    problem = Problem.of(y_true, y_score, sample_weight=sample_weight, missing=missing, label_names=label_names)
    f = _f_of_top_k(problem, beta, zero_division)
    best = int(np.argmax(f >= f.max() * (1 - _EQUAL)))
    fitted = TopKRule(best, problem.missing, problem.label_names, "samples", beta, zero_division)
    objective = f_measure(judge(fitted, problem), problem, "samples", beta, zero_division)
    return replace(fitted, objective=objective)


def _f_of_top_k(problem: Problem, beta: float, zero_division: float) -> Floats:
    """Give the sum of the rows' F-beta for k = 0, 1, ..., n_labels, from the ranks of the positives."""
    ranks, n_true, weights = (np.concatenate(arrays) for arrays in zip(*_ranks(problem), strict=True))
    k = np.arange(1, problem.n_labels + 1)
    f = np.zeros(problem.n_labels + 1)
    for a in np.unique(n_true):
        same = n_true == a  # positives in rows with a positives
        hits = np.bincount(ranks[same], weights[same], problem.n_labels).cumsum()
        f[1:] += (1 + beta**2) * hits / (beta**2 * a + k)
    empty = metrics.count_by_sample(problem.truth, problem.truth).positives == 0
    f[0] = zero_division * problem.row_weights[empty].sum()
    return f


def _ranks(problem: Problem) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Give, of every positive, its rank in the row, the number of positives there, and the row's weight."""
    for part in problem.row_slices():
        truth, scores = problem.rows(part)
        found = ranks_of_positives(
            truth.indptr.astype(np.int64),
            truth.indices.astype(np.int64),
            scores.indptr.astype(np.int64),
            scores.indices.astype(np.int64),
            scores.data.astype(np.float64),
            problem.missing,
            problem.n_labels,
        )
        n_true = np.diff(truth.indptr)
        yield found, np.repeat(n_true, n_true), np.repeat(problem.row_weights[part], n_true)


def _each_label(problem: Problem, beta: float, n_jobs: int | None, progress: bool) -> _Cuts:
    """Choose the best step of every label."""

    def choose(stairs: Staircase) -> _Cuts:
        return _cuts_at(stairs, best_steps(stairs.offsets, stairs.tp, stairs.fp, stairs.positives, beta**2))

    parts = staircase.map_labels(problem, choose, n_jobs=n_jobs, progress=progress)
    return _Cuts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _joint_micro(problem: Problem, beta: float, n_jobs: int | None, progress: bool) -> _Cuts:
    """Choose the steps of highest micro F-beta by Dinkelbach's iteration over the edges of the labels' hulls.

    Predicting down to a vertex pays as long as the edge that leads there gains more tp a prediction than the
    whole has, tp / (b^2 positives + predicted) = F / (1 + b^2). Four to six steps settle that ratio.
    """

    def hull(stairs: Staircase) -> tuple[Staircase, Floats]:
        offsets, vertex, slope = upper_hulls(stairs.offsets, stairs.tp, stairs.fp)
        return stairs.take(offsets, vertex), slope

    parts = staircase.map_labels(problem, hull, n_jobs=n_jobs, progress=progress)
    stairs = staircase.concatenate([part for part, _ in parts])
    slope = np.concatenate([slope for _, slope in parts])
    tp, predicted = (stairs.increments(values) for values in (stairs.tp, stairs.tp + stairs.fp))
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
    return _cuts_at(stairs, np.where(n_used > 0, stairs.offsets[:-1] + n_used - 1, -1))


def _cuts_at(stairs: Staircase, steps: Ints) -> _Cuts:
    """Read one step of each label off its staircase; -1 is never."""
    chosen = steps >= 0
    at = steps[chosen]
    score, lower = np.full(steps.size, np.inf), np.full(steps.size, np.nan)
    tp, predicted = np.zeros_like(steps), np.zeros_like(steps)
    score[chosen], lower[chosen] = stairs.score[at], stairs.lower[at]
    tp[chosen], predicted[chosen] = stairs.tp[at], stairs.tp[at] + stairs.fp[at]
    return _Cuts(score, lower, tp, predicted, stairs.positives)


def _summary(problem: Problem, positives: Ints) -> FittedOn:
    """Describe the data of a fit, for later comparison."""
    cells = sample_of(problem.scores, problem.missing)
    quantiles = np.quantile(cells, QUANTILES, method="lower") if cells.size else np.empty(0)
    return FittedOn(
        n_samples=problem.n_samples,
        positives=tuple((positives * problem.unit).tolist()),
        dtype=str(problem.scores.dtype),
        quantiles=tuple(quantiles.tolist()),
        version=__version__,
    )
