"""Rules fitted on labels: the thresholds that maximise F-beta on the data, exactly.

    F_beta = (1 + b^2) tp / (b^2 (tp + fn) + tp + fp)

Lipton, Elkan & Naryanaswamy 2013, "F1-Optimal Thresholding in the Multi-Label Setting", sections 5 (optimal
decisions) and 2.1 (averages).

A fit goes through seven stops: options, a `Problem`, its columns, their steps, the best of these, a place in the gap
below each, and a `ThresholdRule`. What only some options need is imported where they ask for it.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from thresholds._arrays.types import Floats
from thresholds._checks import Average, InputError, Placement
from thresholds._checks.floors import Floor
from thresholds._engine.best_cuts import all_steps
from thresholds._engine.columns import over_labels
from thresholds._engine.cuts import Cuts
from thresholds._engine.problem import Problem
from thresholds.fitting.options import FitOptions, OfThresholds, check_options
from thresholds.fitting.record import data_in_brief, rows_kept
from thresholds.fitting.searches import (
    FoundCuts,
    floors_of,
    found_by_guard,
    limits_of,
    search_of,
    search_options,
)
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.rule import FittedOn, ThresholdRule
from thresholds.rule.made_by import MadeBy
from thresholds.sources.taking import takes_source

if TYPE_CHECKING:
    from thresholds._engine.budget import CutsInBudget
    from thresholds.guards.base import Guard
    from thresholds.metrics.judging import Judged
    from thresholds.rule.budget import Budget
    from thresholds.rule.capped import CappedRule

_MOST_UNITS = 2**62  # no counts are higher


@overload
def fit_empirical(
    y_true: object,
    y_score: object = ...,
    average: Average = ...,
    *,
    max_predicted_per_row: None = ...,
    sample_weight: object = ...,
    groups: object = ...,
    missing: float = ...,
    unknown: object = ...,
    label_names: object = ...,
    **options: Unpack[OfThresholds],
) -> ThresholdRule: ...


@overload
def fit_empirical(
    y_true: object,
    y_score: object = ...,
    average: Average = ...,
    *,
    max_predicted_per_row: int | None,
    sample_weight: object = ...,
    groups: object = ...,
    missing: float = ...,
    unknown: object = ...,
    label_names: object = ...,
    **options: Unpack[OfThresholds],
) -> "ThresholdRule | CappedRule": ...


@takes_source(check_options)
def fit_empirical(
    y_true: object,
    y_score: object = None,
    average: Average = "macro",
    *,
    beta: float = 1.0,
    per_label: bool = True,
    sample_weight: object = None,
    zero_division: float = 0.0,
    placement: Placement = "low",
    guard: "Guard" = None,
    max_overprediction: float | None = None,
    min_precision: Floor | None = None,
    min_recall: Floor | None = None,
    confidence: float | str | None = None,
    family: str = "each",
    max_predicted: float | None = None,
    max_predicted_per_row: int | None = None,
    groups: object = None,
    missing: float = 0.0,
    unknown: object = None,
    keep_sparse: bool | None = None,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> "ThresholdRule | CappedRule":
    """Fit the thresholds that maximise F-beta on labelled data, exactly.

    That is the in-sample optimum, unless a guard is given: the best on these rows, where F is higher than on rows that
    the fit has not seen. `fit` and `cross_fit` fit for those, with a guard by default (docs/guards.md).

    Parameters
    ----------
    y_true : (n_samples, n_labels) 0/1 or bool, dense or scipy.sparse; 1-D for a single label
        Or a source of such rows, with `y_score` left out: files, blocks, more than memory holds (docs/scale.md).
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
        To a guard, whole numbers count rows; other weights are relative, their mean is a row.
    zero_division : 0.0 or 1.0, the F of a label (or row) with neither positives nor predictions
    placement : where in the gap between the cut's score and the next lower score a threshold lies
        All places decide alike on this data. "low" (default), 1/1024 of the gap above the lower score, does best
        on new data, as the best cut on a sample is biased upwards; "mid" is the middle; "score" the score itself.
        Thresholds are representable in the dtype of the scores, and subnormal only if the score is.
    guard : with `per_label=True`; what it did is in `rule.guard_report`
        None (default here): the in-sample optimum.
        "shrink", or `Shrink(...)`, for "macro" and "weighted": the number predicted is drawn towards what suits labels
        with as many positives, the more the fewer they are. The threshold lies between two scores of the guard's own
        choice, whatever `placement`; that of a label without positives lies just above its highest score.
        "pool", for "micro": each threshold is drawn towards one that all labels share, as far as pays on rows that are
        left out of the fit, one by one, or group by group. It lies between two scores of positives, of any label,
        whatever `placement`.
        "auto", the default elsewhere: "shrink" for "macro" and "weighted", "pool" for "micro"; None where all labels
        share a threshold, with `max_predicted`, and for "micro" with `confidence`.
    max_overprediction, min_precision, min_recall : float or None
        Limits for each label on the rows of the fit: predictions over positives, precision, recall. For "macro" and
        "weighted" with `per_label=True`. The two floors may be a mapping by label name (labels that are not named have
        none) or an array of one for each label (NaN for none).
        1. Without a guard: the best cut that keeps them.
        2. Where a guard's cut breaks them, or the best cut has no true positive: the lowest cut within
           `max_overprediction`; if that breaks another limit, the allowed cut with the nearest number of predictions.
        3. If no cut keeps them: never.
        New rows may break them, and do so for many labels, unless `confidence` is given.
    confidence : None, or a probability inside (0, 1) with which the floors hold on new rows
        The best cut (under a guard the nearest) among those for which that is shown by exact tests; none of them
        assumes anything of the scores. A label of which nothing can be shown is never predicted, with a floor of recall
        alone always (never with sparse scores, unless `keep_sparse` is False). `rule.guarantees` says what is promised
        for which labels, and how many positives or predictions the others lack (docs/guarantees.md).
        `max_overprediction` stays a limit on the rows of the fit.
    family : "each" (default): the promises of each label hold with that confidence; "all": those of all labels at once
    max_predicted : float or None
        The most cells, of all labels together, that may be predicted on the rows of the fit (by weight, if rows have
        weights), but for cells of unknown truth, which are not counted; new rows may get more. The best thresholds
        within it; `rule.budget` says whether they are shown to be that, and the most that others could reach. Without a
        guard ("auto" is none then) and without limits.
    max_predicted_per_row : int or None
        The most labels of any row, new ones too: of those that the rule predicts, the ones that add most to F
        (docs/budgets.md). The result is a `CappedRule` around the thresholds.
    groups : (n_samples,) names or numbers: rows of a group are alike, as those of a patient, new rows are of others
        With a guard: rows that are alike count for less, as many for one as the data show, and "pool" leaves out whole
        groups (docs/guards.md). With `confidence`: the tests look at one row of each group, drawn without looking at
        truth; F is maximised on all rows. Refused where there is neither.
    missing : score of the entries that a sparse `y_score` leaves out
    unknown : what stands in `y_true` for truth that is not known; such a cell counts as if its label lacked the row
        None (default): nothing does. "nan": NaN, None, pandas.NA, masked cells. A number other than 0 and 1, as -1.
        Several of these, as ("nan", -1).
    keep_sparse : None (default) and True: cut a sparse `y_score` above `missing` only
        The best of the rules whose predictions are sparse, and the kind that `predict` takes sparse scores for. A label
        whose positives are not among the stored scores is never predicted. False: the best of all rules; a label may
        then be predicted wherever its score is absent, in nearly every row. Dense scores are cut anywhere.
    label_names : strings, one per label
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if the fit takes longer than a second

    Returns
    -------
    ThresholdRule, or a CappedRule around one with `max_predicted_per_row`
        `objective` is the F-measure of `rule.predict(y_score)`, exactly. Labels without positives are listed in
        `unsupported`: their threshold is `+inf` (unless shared, or under a guard), their F is `zero_division`.

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
    options = FitOptions(
        average=average,
        beta=beta,
        per_label=per_label,
        zero_division=zero_division,
        placement=placement,
        guard=guard,
        max_overprediction=max_overprediction,
        min_precision=min_precision,
        min_recall=min_recall,
        confidence=confidence,
        family=family,
        max_predicted=max_predicted,
        max_predicted_per_row=max_predicted_per_row,
        keep_sparse=keep_sparse,
        n_jobs=n_jobs,
        progress=progress,
    )
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        groups=groups,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=options.keep_sparse,
    )
    check_groups(problem, options)
    rule = fit_problem(problem, options)
    if options.max_predicted_per_row is None:
        return rule
    from thresholds.fitting.capping import with_cap

    return with_cap(rule, problem, options)


def check_groups(problem: Problem, options: FitOptions) -> None:
    """Refuse groups that nothing looks at; warn where rows of which something is guaranteed seem to lack them."""
    if problem.groups is not None and not options.looks_at_groups:
        raise InputError(
            "groups is given without a guard or confidence, and nothing else looks at groups; expected None"
        )
    if options.confidence is not None:
        from thresholds.guarantees.independent_rows import warn_of_copies

        warn_of_copies(problem)


def fit_problem(problem: Problem, options: FitOptions) -> ThresholdRule:
    """Fit on what is checked already."""
    return rule_of(problem, options, _search(problem, options))


def _search(problem: Problem, options: FitOptions) -> FoundCuts:
    """Choose the cut of every label: the step of its staircase below which it is predicted no more."""
    if options.promises_rows:
        return _with_row_floors(problem, options)
    if not options.per_label:
        return FoundCuts(_shared(problem, options))
    if options.confidence is not None:
        return _with_floors(problem, options)
    if options.guarded_by is None and options.max_predicted is not None:
        return _within_budget(problem, options)
    search = search_of(problem, options)
    assert search is not None, "all other fits were made above"
    run: Any = {"n_jobs": options.n_jobs, "progress": options.progress}
    return search.choose(over_labels(problem, search.ask, **run))


def rule_of(
    problem: Problem, options: FitOptions, found: FoundCuts, *, fitted_on: FittedOn | None = None
) -> ThresholdRule:
    """Make a rule of what was found.

    `fitted_on` are the data in brief; None to read that off the scores, and to keep some of their rows.
    """
    cuts, thresholds, report, guarantees, in_budget = found

    # Place each threshold in the gap below its cut; a guard has placed its own, and what was tested stays where it is.
    if thresholds is None:
        thresholds = cuts.placed(problem, options.placement)

    # The objective is what these decisions reach; counts of cuts tell without deciding, where they are exact.
    if cuts.tp.size and problem.exactly_weighted:
        sums = np.stack([cuts.tp, cuts.predicted, cuts.positives])  # (3, n_labels)
        counts, of_rows = ConfusionCounts(sums, problem.weight_of_label), None
        objective = average_of(
            f_score(options.beta), counts, options.average, options.zero_division
        )
    else:
        from thresholds.metrics.judging import f_measure

        decider = ThresholdRule(thresholds, missing=problem.missing)
        judged = _judged(decider, problem, options)
        objective = f_measure(
            judged, problem.sample_weight, options.average, options.beta, options.zero_division
        )
        counts, of_rows, _ = judged

    budget = None
    if options.max_predicted is not None:
        predicted = counts.sums[1]  # (n_labels,), or by row where floats were added up
        if of_rows is not None:
            predicted = of_rows.predicted * problem.row_weights
        budget = _budget(options.max_predicted, objective, problem, int(predicted.sum()), in_budget)

    # What the scores look like is kept, so that others can be compared with them.
    predicted = counts.predicted.copy()
    del counts, of_rows  # room for what is made of very many labels
    rows = None
    if fitted_on is None:
        fitted_on = data_in_brief(problem, cuts.positives)
        rows = rows_kept(problem, predicted)
    return ThresholdRule(
        thresholds,
        label_names=problem.label_names,
        average=options.average,
        beta=options.beta,
        objective=objective,
        unsupported=cuts.positives == 0,
        missing=problem.missing,
        guard=options.guarded_by,
        per_label=options.per_label,
        zero_division=options.zero_division,
        placement=options.placement,
        guard_report=report,
        budget=budget,
        guarantees=guarantees,
        made_by=MadeBy.from_call(fit_empirical, options.arguments),
        fitted_on=fitted_on,
        kept=rows,
    )


def _judged(rule: ThresholdRule, problem: Problem, options: FitOptions) -> "Judged":
    """Count what a rule decides by label; by row as well for averages over rows, and for a budget."""
    from thresholds.metrics.judging import judge

    by_row = options.average == "samples" or options.max_predicted is not None
    return judge(rule, problem, by_row=by_row, n_jobs=options.n_jobs)


def _with_floors(problem: Problem, options: FitOptions) -> FoundCuts:
    """Choose among thresholds that are shown to keep floors on new rows, under a guard or the best."""
    from thresholds.guarantees.floors_of_labels import LabelFloors
    from thresholds.guards.fitting import fit_with_floors

    min_precision, min_recall = floors_of(problem, options)
    confidence: Any = options.confidence
    floors = LabelFloors.from_problem(
        problem, min_precision, min_recall, float(confidence), options.family
    )
    limits = limits_of(problem, options)
    guarded, certified = fit_with_floors(
        problem, options.chosen_guard, limits, floors, search_options(options)
    )
    found = found_by_guard(problem, options, guarded)
    assert found.thresholds is not None, "a guard places its own"
    of_labels = floors.guarantees(certified, found.thresholds, problem.label_names)
    return found._replace(guarantees=of_labels)


def _with_row_floors(problem: Problem, options: FitOptions) -> FoundCuts:
    """Choose thresholds whose micro precision or recall, or mean over rows, is shown on new rows."""
    from thresholds.guarantees.floors_of_rows import RowFloors, fit_with_row_floors

    checked: Any = options  # Floors are numbers, and there is a confidence.
    floors = RowFloors(
        checked.average, checked.min_precision, checked.min_recall, checked.confidence
    )
    thresholds, guarantees = fit_with_row_floors(
        problem, floors, search_options(options), per_label=options.per_label
    )
    return FoundCuts(_uncounted(problem, thresholds, thresholds), thresholds, guarantees=guarantees)


def _shared(problem: Problem, options: FitOptions) -> Cuts:
    """Choose one cut for all labels."""
    from thresholds._engine.shared_cut import best_shared_cut

    score, lower = best_shared_cut(
        problem,
        options.average,
        options.beta,
        options.zero_division,
        most=_most_units(problem, options),
        n_jobs=options.n_jobs,
        progress=options.progress,
    )
    return _uncounted(problem, np.full(problem.n_labels, score), np.full(problem.n_labels, lower))


def _uncounted(problem: Problem, score: Floats, lower: Floats) -> Cuts:
    """Return cuts (n_labels,) without tp and predicted: the objective is judged from the decisions."""
    from thresholds.metrics.judging import positives_of

    not_counted = np.empty(0, np.int64)
    return Cuts(score, lower, not_counted, not_counted, positives_of(problem))


def _most_units(problem: Problem, options: FitOptions) -> int | None:
    """Return the budget in the unit of the weights."""
    if options.max_predicted is None:
        return None
    # Divided exactly: a quotient that is rounded up would let one cell too many in.
    units = int(Fraction(options.max_predicted) / Fraction(problem.unit))
    return min(units, _MOST_UNITS)


def _within_budget(problem: Problem, options: FitOptions) -> FoundCuts:
    """Choose the cuts of highest F-beta within a budget of predictions."""
    from thresholds._engine.budget import best_cuts_within

    steps = all_steps(problem, n_jobs=options.n_jobs, progress=options.progress)
    most = _most_units(problem, options)
    assert most is not None, "there is one"
    within = best_cuts_within(steps, most, options.average, options.beta, options.zero_division)
    return FoundCuts(within.cuts, in_budget=within)


def _budget(
    most: float,
    objective: float,
    problem: Problem,
    units: int,
    in_budget: "CutsInBudget | None",
) -> "Budget":
    """Say how a budget was kept, by so many units predicted: with cuts within it, or with a shared one.

    `Budget` refuses what contradicts itself: more predicted than may be, an objective above its bound.
    """
    from thresholds.rule.budget import Budget

    predicted = float(units * Fraction(problem.unit))
    if in_budget is None or in_budget.bound is None:
        # The best of shared cuts was found among all that keep the budget; or the best of all cuts keep it.
        return Budget(most, predicted, objective, objective, is_optimal=True)
    return Budget(most, predicted, objective, in_budget.bound, in_budget.is_optimal)
