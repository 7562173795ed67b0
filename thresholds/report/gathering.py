"""From rows and a rule to what a report says: each figure is read from a result, and put into words elsewhere."""

import time
from dataclasses import replace

import numpy as np

from thresholds._arrays.types import Booleans, Ints
from thresholds._engine.problem import Problem
from thresholds._version import __version__
from thresholds.diagnosis.diagnosing import conclude_from
from thresholds.diagnosis.evidence import Criteria, evidence_of
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.metrics.clusters import independent_shares
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.curves import curves
from thresholds.metrics.jackknife import Interval
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.metrics.judging import decide_all
from thresholds.report import wording
from thresholds.report.against import against_of
from thresholds.report.content import Content, OtherRows, PerRow, Summary
from thresholds.report.figures import NEW, figures_of, name_of
from thresholds.report.labels import groups_of, most_wrong_marks, table_of, with_curves, worst_of
from thresholds.rule import InstanceRule, Rule
from thresholds.rule.watching.noticing import grave_change

_WORST = 8  # labels on the first screen
_MOST_WRONG = 50  # labels in the list of those that add most wrong marks
_POINTS = 80  # of a curve
_BINS = 30  # of a histogram, at most
_USUAL = 0.995  # of all rows have too few labels for the last bin of a histogram, or just enough


def content_of(
    problem: Problem,
    rule: Rule,
    criteria: Criteria,
    *,
    title: str,
    about: tuple[str, ...],
    command: str | None,
    confidence: float,
    groups: Ints | None,
    group_name: str,
    against: Rule | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Content:
    """Judge a rule on rows, and say what is found.

    Parameters
    ----------
    problem : rows without weights, with the `missing` and the labels of the rule, in its order
    rule : with the label names of the problem
    criteria : what is asked of labels
    title, about, command, group_name : as in `make_report`
    confidence : of all intervals
    groups : (n_samples,) numbers from 0; None where each row stands for itself
    against : the rule that was used before
    n_jobs, progress : as in `diagnose`
    """
    # 1. What the rule decides. On the rows of its fit it is flattered; there, what rules of the folds decided, if it is
    # known, judges its labels.
    table = JudgedRules(
        {NEW: decide_all(rule, problem)},
        problem,
        beta=rule.beta,
        zero_division=rule.zero_division,
        groups=groups,
    )
    own, of_rows, _ = table.counts[NEW]
    assert of_rows is not None, "rows are counted"
    on_own_rows = was_fitted_on(rule, problem)
    of_folds = _of_folds(rule, own) if on_own_rows else None
    by_folds = of_folds is not None

    # 2. The labels. Rows of a group are as alike in what rules of the folds decided as in what the rule itself decides.
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)
    independent = None
    if groups is not None:
        independent = independent_shares(table.decided[NEW], problem, groups, rule.beta, confidence)
    diagnosis = conclude_from(
        own if of_folds is None else of_folds,
        problem,
        rule,
        evidence,
        criteria,
        on_own_rows=on_own_rows and not by_folds,
        independent=independent,
    )
    labels = table_of(diagnosis, rule, own.sums[1], by_folds=by_folds)
    worst = worst_of(labels, _WORST)
    most_wrong = most_wrong_marks(labels, _MOST_WRONG)
    drawn = with_curves(labels, np.append(worst, most_wrong)).tolist()
    n_marked, n_predicted, n_true = (
        int(labels[name].sum()) for name in ("marked", "predicted", "positives")
    )

    # 3. The rule as a whole.
    figures = figures_of(table, rule, of_folds, confidence)
    by_trust = groups_of(labels)
    cautions = []
    if on_own_rows:
        cautions.append(wording.on_own_rows(by_folds, n_predicted))
    if problem.unknown is not None:
        n_known = int(problem.known_in_row.sum())
        cautions.append(wording.partly_known(1 - n_known / (problem.n_samples * problem.n_labels)))
    changed = grave_change(rule, problem.scores)
    if changed is not None:
        cautions.append(changed)
    how_much = wording.how_much(
        n_marked, n_true, problem.n_samples, partly=problem.unknown is not None
    )
    n_groups = None if groups is None else np.unique(groups).size
    summary = Summary(
        rule=(*wording.what_it_does(rule, problem.n_labels), how_much),
        bar=wording.good_enough(criteria.min_f, rule.beta, labels["bar"]),
        ranges=wording.what_ranges_count(problem.n_samples, n_groups, group_name),
        headline=wording.headline(by_trust),
        how_good=wording.how_good(figures, n_predicted, n_true, by_folds=by_folds),
        cautions=tuple(cautions),
        to_do=wording.to_do(by_trust, labels, diagnosis.verdicts),
        groups=by_trust,
        figures=figures,
        confidence=confidence,
    )

    # 4. Other rows: those of the fit.
    average = rule.average or "macro"
    here = table.interval(NEW, average, confidence)
    for figure in figures:
        if figure.measure == average:
            here = Interval(figure.value, figure.lower, figure.upper)
    return Content(
        title=title,
        about=(*about, f"rule: {rule}"),
        words=wording.WORDS,
        summary=summary,
        worst=worst,
        per_row=_per_row(of_rows, None if problem.unknown is None else problem.known_in_row > 0),
        other_rows=_other_rows(
            rule, name_of(average, rule.beta), here, on_own_rows=on_own_rows, by_folds=by_folds
        ),
        false_positives=most_wrong,
        labels=labels,
        meanings=wording.MEANINGS,
        curves=dict(zip(drawn, curves(problem, drawn, most=_POINTS, beta=rule.beta), strict=True)),
        n_samples=problem.n_samples,
        beta=rule.beta,
        confidence=confidence,
        on_own_rows=on_own_rows,
        by_folds=by_folds,
        whose_marks=wording.whose_marks(n_predicted) if by_folds else "",
        min_f=criteria.min_f,
        min_skill=criteria.min_skill,
        has_thresholds=diagnosis.verdicts.has_thresholds,
        command=command,
        version=__version__,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        against=None
        if against is None
        else against_of(
            against,
            rule,
            problem,
            groups,
            criteria.alpha,
            confidence,
            on_own_rows=on_own_rows,
        ),
    )


def _of_folds(rule: Rule, decided: ConfusionCounts) -> ConfusionCounts | None:
    """Return the out-of-fold decisions that a rule keeps, if they are about all rows; `decided` are its own."""
    kept = None if rule.out_of_fold is None else rule.out_of_fold.by_label
    if kept is None or not np.array_equal(kept.positives, decided.positives):
        return None
    sums = np.array([kept.tp, kept.predicted, kept.positives]).astype(np.int64)
    return replace(decided, sums=sums)


def _per_row(of_rows: ConfusionCounts, is_known: Booleans | None) -> PerRow:
    """Count rows by how many labels they are marked with, and truly have; `is_known` tells where there is truth."""
    counts = of_rows.sums[1:].astype(np.int64)  # (2, n_samples): marks, and true labels
    if is_known is not None:
        counts = counts[:, is_known]

    # Bins of one width up to what hardly any row exceeds; the last one takes the rest.
    usual = int(np.quantile(counts, _USUAL, axis=1, method="higher").max())
    width = -(-(usual + 1) // _BINS)
    lowest = np.arange(0, usual + 1, width)  # (n_bins,)
    bins = np.minimum(counts // width, lowest.size - 1)
    predicted, true = (np.bincount(row, minlength=lowest.size) for row in bins)
    mean_predicted, mean_true = counts.mean(axis=1).tolist()
    n_unmarked, n_empty = np.count_nonzero(counts == 0, axis=1).tolist()
    return PerRow(
        lowest=lowest,
        highest=int(counts.max()),
        predicted=predicted,
        true=true,
        mean_predicted=mean_predicted,
        mean_true=mean_true,
        sentences=wording.per_row(mean_predicted, mean_true, n_unmarked, n_empty, counts.shape[1]),
    )


def _other_rows(
    rule: Rule, measure: str, here: Interval, *, on_own_rows: bool, by_folds: bool
) -> OtherRows:
    """Hold what a rule reached on the rows of its fit against what it reaches here."""
    # The objective of a fit without truth is an expectation.
    decider = rule.uncapped
    without_truth = isinstance(decider, InstanceRule)
    without_truth |= getattr(decider, "expected", None) is not None
    in_sample = None if without_truth or rule.average is None else rule.objective
    kept = rule.out_of_fold
    return OtherRows(
        measure=measure,
        in_sample=in_sample,
        out_of_fold=None if kept is None else kept.f,
        here=here,
        n_fitted=None if rule.fitted_on is None else rule.fitted_on.n_samples,
        n_folds=None if kept is None else kept.n_folds,
        sentences=wording.on_other_rows(
            measure, rule, in_sample, here, on_own_rows=on_own_rows, by_folds=by_folds
        ),
    )
