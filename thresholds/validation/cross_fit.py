"""What a fit reaches on the rows it was fitted on, beside what it reaches on rows it was not.

The first figure is too high: the best of many thresholds on a sample is best in part by luck (Lipton et al. 2013,
section 8, the winner's curse). So rules are fitted on all folds but one, and each decides the rows of the one left out.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds import results as tables
from thresholds._arrays.types import Floats, Ints
from thresholds._checks import Average, InputError, Placement
from thresholds.data.folds import seed_of_folds, split_rows
from thresholds.data.problem import Problem
from thresholds.fitting.empirical import FitSettings, fit_problem
from thresholds.guards import Guard
from thresholds.metrics.counts import stacked
from thresholds.metrics.judging import Judged, f_measure, judge
from thresholds.rule import OutOfFold, ThresholdRule

_SOME = 5  # rows: fewer may well come and go
_APART = 3  # times as many rows predicted by one fold's threshold as by another's: worth a word


@dataclass(frozen=True, eq=False)
class CrossFit(tables.ReadOnly):
    """A rule fitted on all rows, and what to expect of it on others.

    Attributes
    ----------
    rule : ThresholdRule, fitted on all rows; its `out_of_fold` has the figure below, and is saved with it
    in_sample : its objective, on those rows
    out_of_fold : the same F-measure of all decisions about rows that the deciding rule was not fitted on, counted
        together. Such a rule had fewer rows, and cannot know a label all of whose positives are in the fold left
        out; for unguarded rules with many rare labels the figure is still somewhat too high
    folds : int64 (n_samples,), the fold that each row is judged in, -1 for none (also for rows of weight 0)
    fold_thresholds : (n_folds, n_labels)
    spread : structured array, one row a label: name, n_positives, threshold (of `rule`), lowest, median (of two the
        higher) and highest of the folds' thresholds, and, as scores have no common scale, predicted_most and
        predicted_least: the shares of all rows that the lowest and the highest would predict
    how : where the folds come from
    """

    rule: ThresholdRule
    in_sample: float
    out_of_fold: float
    folds: Ints
    fold_thresholds: Floats = field(repr=False)
    spread: npt.NDArray[Any] = field(repr=False)
    how: str

    @property
    def optimism(self) -> float:
        """How much higher the objective is in the sample than out of fold."""
        return self.in_sample - self.out_of_fold

    @property
    def guard(self) -> str | None:
        """The guard that was used."""
        return self.rule.guard

    def __str__(self) -> str:
        """Return both figures, and the labels whose thresholds depend most on the rows."""
        rule = self.rule
        guard = "unguarded" if rule.guard is None else f"guard {rule.guard}"
        n_folds = len(self.fold_thresholds)
        first = (
            f"{rule.average} F{rule.beta:g}, {guard}: in-sample {self.in_sample:.4f}, out of fold"
            f" {self.out_of_fold:.4f} ({tables.counted(n_folds, 'fold')}, {self.how}), optimism {self.optimism:.4f}"
        )
        if not rule.per_label:
            low, high = self.fold_thresholds[:, 0].min(), self.fold_thresholds[:, 0].max()
            return f"{first}\nthe folds' thresholds lie between {low:.4g} and {high:.4g}"
        most, least = self.spread["predicted_most"], self.spread["predicted_least"]
        apart = np.count_nonzero((most > _APART * least) & (most * self.folds.size >= _SOME))
        are = "is" if apart == 1 else "are"
        return (
            f"{first}\n{apart:,} of {rule.n_labels:,} labels {are} predicted more than {_APART} times as often by one"
            " fold's threshold as by another's"
        )


def cross_fit(
    y_true: object,
    y_score: object,
    average: Average = "macro",
    *,
    guard: Guard = "auto",
    cv: object = 5,
    groups: object = None,
    random_state: int | None = None,
    beta: float = 1.0,
    per_label: bool = True,
    sample_weight: object = None,
    zero_division: float = 0.0,
    placement: Placement = "low",
    max_overprediction: float | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    missing: float = 0.0,
    keep_sparse: bool = False,
    label_names: object = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CrossFit:
    """Fit a rule, and estimate what it reaches on new rows: by cross-fitting.

    Parameters
    ----------
    y_true, y_score, average, and those from `beta` on : as in `fit_empirical`
    guard : as in `fit_empirical`; "auto" is the default here, as the rule is meant for new rows
    cv : a number of folds, which `multilabel_folds` makes, (n_samples,) fold numbers (rows of negative number are
        fitted on, never judged), pairs of row numbers (fit on, judge on), or an object with scikit-learn's
        `split(X, y, groups)`
    groups : (n_samples,) names or numbers: rows of a group stay in one fold; for a number of folds and for `split`
    random_state : seed of the folds; None for others each time

    Returns
    -------
    CrossFit

    Raises
    ------
    InputError
        As `fit_empirical`; for folds that share judged rows, or judge rows that they fit on.

    Notes
    -----
    To choose between guards, or their options, out-of-fold figures of one data set are too noisy; what they tell is
    how far the in-sample figure is too high. On 21 real sets of scores macro-F1 was too high by 3.7 points in the
    sample and .2 out of fold without a guard (at most 10 and 1.6), by 1.1 and 0 with "shrink" (docs/guards.md). Ties,
    and the value of 0/0, are those of `fit_empirical`.

    References
    ----------
    Lipton et al. 2013, section 8. Stone 1974, "Cross-validatory choice and assessment of statistical predictions".

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((400, 20)) < 0.05
    >>> y_score = rng.normal(size=(400, 20)) + y_true
    >>> found = thresholds.cross_fit(y_true, y_score, guard=None, random_state=0)
    >>> found.in_sample > found.out_of_fold
    True
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
    beside = {"y_score": y_score, "y_true": y_true}
    sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
    groups = _checks.aligned_rows(groups, "groups", **beside)
    cv = _checks.aligned_rows(cv, "cv", **beside)
    y_true, y_score, label_names = _checks.aligned(y_true, "y_true", y_score, "y_score", label_names)
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        missing=missing,
        label_names=label_names,
        keep_sparse=keep_sparse,
        n_jobs=n_jobs,
    )
    weighted = None if problem.unit_weights is None else problem.unit_weights > 0
    pairs, how = split_rows(cv, problem.truth, y_true, weighted, groups, random_state)
    judged_rows = np.concatenate([test for _, test in pairs])
    if problem.unit_weights is not None and not problem.unit_weights[judged_rows].any():
        raise InputError("sample_weight is 0 for every row that cv judges, expected at least one positive weight")
    for k, (train, _) in enumerate(pairs):
        if problem.unit_weights is not None and not problem.unit_weights[train].any():
            raise InputError(f"sample_weight is 0 for every row that fold {k} of cv is fitted on, expected some weight")
    weights = None if sample_weight is None else np.asarray(sample_weight)

    def part(rows: Ints) -> Problem:
        if problem.is_dense_unweighted:  # A copy of the scores would be most of the memory.
            return problem.view(rows)
        return Problem.of(
            problem.truth[rows],
            problem.scores[rows],
            sample_weight=None if weights is None else weights[rows],
            missing=missing,
            label_names=problem.label_names,
            keep_sparse=keep_sparse,
        )

    run: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress}
    rule = fit_problem(problem, settings, **run)
    assert rule.objective is not None, "fits have one"
    fold_rules = [fit_problem(part(train), settings, **run) for train, _ in pairs]
    parts = [judge(of_fold, problem.take(test)) for of_fold, (_, test) in zip(fold_rules, pairs, strict=True)]
    together = Judged(
        sum((part.by_label for part in parts[1:]), parts[0].by_label), stacked([p.by_sample for p in parts])
    )
    folds = np.full(problem.n_samples, -1)
    for k, (_, test) in enumerate(pairs):
        folds[test] = k
    measured = None if problem.sample_weight is None else problem.sample_weight[judged_rows]
    fold_thresholds = np.stack([of_fold.thresholds for of_fold in fold_rules])
    out_of_fold = f_measure(together, measured, average, rule.beta, rule.zero_division)
    seed = seed_of_folds(how, random_state)
    return CrossFit(
        rule=replace(rule, out_of_fold=OutOfFold(out_of_fold, len(pairs), how, seed)),
        in_sample=rule.objective,
        out_of_fold=out_of_fold,
        folds=folds,
        fold_thresholds=fold_thresholds,
        spread=_spread(problem, rule, fold_thresholds),
        how=how,
    )


def _spread(problem: Problem, rule: ThresholdRule, fold_thresholds: Floats) -> npt.NDArray[Any]:
    """Lay out the thresholds of the folds, and how many rows their extremes predict."""
    lowest, highest = fold_thresholds.min(axis=0), fold_thresholds.max(axis=0)
    shares = (_predicted(problem, thresholds) for thresholds in (lowest, highest))
    assert rule.fitted_on is not None, "fits know their data"
    return tables.rows_of(
        {
            "name": tables.names_of(problem.label_names, problem.n_labels),
            "n_positives": np.array(rule.fitted_on.positives),
            "threshold": rule.thresholds,
            "lowest": lowest,
            "median": np.sort(fold_thresholds, axis=0)[len(fold_thresholds) // 2],
            "highest": highest,
            **dict(zip(("predicted_most", "predicted_least"), shares, strict=True)),
        }
    )


def _predicted(problem: Problem, thresholds: Floats) -> Floats:
    """Return the share of rows, by weight, that thresholds predict of each label."""
    counts = judge(ThresholdRule(thresholds, missing=problem.missing), problem).by_label
    return np.asarray(counts.predicted / (counts.total * (counts.unit or 1)))
