"""From rows and a rule to what a report says: each figure is counted once here, and put into words elsewhere."""

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thresholds._arrays.types import Dense
from thresholds._engine.problem import Problem
from thresholds._version import __version__
from thresholds.diagnosis.diagnosing import conclude_from
from thresholds.diagnosis.evidence import evidence_of
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.metrics.clusters import independent_shares
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.curves import curves
from thresholds.metrics.jackknife import Interval
from thresholds.metrics.judging import Judged
from thresholds.report import wording
from thresholds.report.against import against_of
from thresholds.report.content import Content, Figure, OtherRows, PerRow, Summary
from thresholds.report.figures import (
    Asked,
    Reached,
    figures_of,
    measures_of,
    moved_to,
    name_of,
    reached_by,
)
from thresholds.report.labels import groups_of, most_wrong_marks, table_of, with_curves, worst_of
from thresholds.rule import InstanceRule, Rule, ThresholdRule
from thresholds.rule.watching.noticing import grave_change

_WORST = 8  # labels on the first screen
_MOST_WRONG = 50  # labels in the list of those that add most wrong marks
_POINTS = 80  # of a curve
_BINS = 30  # of a histogram, at most
_USUAL = 0.995  # of all rows have too few labels for the last bin of a histogram, or just enough


class Origin(NamedTuple):
    """What rows and a rule do not say of themselves."""

    title: str
    about: tuple[str, ...]  # lines: where the rows come from
    command: str | None  # that made the report


class _Found(NamedTuple):
    """What the parts of a report are made from."""

    problem: Problem
    rule: Rule
    judged: Judged  # what the rule itself decides
    on_own_rows: bool  # as in `Content`
    by_folds: bool
    reached: Reached
    figures: tuple[Figure, ...]
    labels: Dense

    @property
    def flatters(self) -> bool:
        """Whether all figures are too good."""
        return self.on_own_rows and not self.by_folds

    @property
    def n_predicted(self) -> int:
        """How many marks are judged."""
        return int(self.labels["predicted"].sum())


def content_of(
    problem: Problem,
    rule: Rule,
    source: Origin,
    *,
    asked: Asked,
    against: Rule | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Content:
    """Judge a rule on rows, and say what is found.

    Parameters
    ----------
    problem : rows without weights, with the `missing` and the labels of the rule, in its order
    rule : with the label names of the problem
    source : what is not found in these
    asked : how measures are taken; one minus the confidence is the false discovery rate of the verdicts
    against : the rule that was used before
    n_jobs, progress : as in `diagnose`
    """
    found = _find(problem, rule, asked, n_jobs, progress)
    labels = found.labels
    worst = worst_of(labels, _WORST)
    most_wrong = most_wrong_marks(labels, _MOST_WRONG)
    drawn = with_curves(labels, np.append(worst, most_wrong)).tolist()
    has_thresholds = isinstance(rule, ThresholdRule)
    return Content(
        title=source.title,
        about=(*source.about, f"rule: {rule}"),
        words=wording.WORDS,
        summary=_summary(found, asked),
        worst=worst,
        per_row=_per_row(found),
        other_rows=_other_rows(found, asked),
        false_positives=most_wrong,
        labels=labels,
        meanings=wording.MEANINGS,
        curves=dict(zip(drawn, curves(problem, drawn, most=_POINTS, beta=asked.beta), strict=True)),
        n_samples=problem.n_samples,
        beta=rule.beta,
        confidence=asked.confidence,
        on_own_rows=found.on_own_rows,
        by_folds=found.by_folds,
        whose_marks=wording.whose_marks(found.by_folds, found.n_predicted),
        min_f=asked.min_f,
        min_skill=asked.min_skill,
        has_thresholds=has_thresholds,
        command=source.command,
        version=__version__,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        against=None
        if against is None
        else against_of(
            against, rule, problem, found.reached, asked, on_own_rows=found.on_own_rows
        ),
    )


def _find(
    problem: Problem,
    rule: Rule,
    asked: Asked,
    n_jobs: int | None,
    progress: bool,
) -> _Found:
    """Count what is decided, and judge it label by label and as a whole."""
    # On the rows of its fit a rule is flattered; what rules of the folds decided there, if it is known, tells more.
    judged, reached = reached_by(rule, problem, asked)
    on_own_rows = was_fitted_on(rule, problem)
    of_folds = _of_folds(rule, judged.by_label) if on_own_rows else None
    counts = judged.by_label if of_folds is None else of_folds

    # The labels. Rows of a group are as alike in what rules of the folds decided as in what the rule itself decides.
    criteria = asked.criteria
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)
    independent = None
    if asked.groups is not None:
        assert judged.decided is not None, "decisions are kept"
        independent = independent_shares(
            judged.decided, problem, judged.by_label, asked.groups, asked.beta, asked.confidence
        )
    diagnosis = conclude_from(
        counts,
        problem,
        rule,
        evidence,
        criteria,
        on_own_rows=on_own_rows and of_folds is None,
        independent=independent,
    )

    # The rule as a whole.
    figures = figures_of(reached, measures_of(judged), asked)
    if of_folds is not None:
        figures = moved_to(figures, of_folds, asked)
    return _Found(
        problem=problem,
        rule=rule,
        judged=judged,
        on_own_rows=on_own_rows,
        by_folds=of_folds is not None,
        reached=reached,
        figures=figures,
        labels=table_of(diagnosis, rule, judged.by_label.sums[1], by_folds=of_folds is not None),
    )


def _of_folds(rule: Rule, decided: ConfusionCounts) -> ConfusionCounts | None:
    """Return the out-of-fold decisions that a rule keeps, if they are about all rows; `decided` are its own."""
    kept = None if rule.out_of_fold is None else rule.out_of_fold.by_label
    if kept is None or not np.array_equal(kept.positives, decided.positives):
        return None
    sums = np.array([kept.tp, kept.predicted, kept.positives]).astype(np.int64)
    return replace(decided, sums=sums)


def _summary(found: _Found, asked: Asked) -> Summary:
    """Put the first screen together."""
    problem, rule, labels = found.problem, found.rule, found.labels
    groups = groups_of(labels)
    n_true = int(labels["positives"].sum())
    n_groups = None if asked.groups is None else np.unique(asked.groups).size
    cautions = []
    if found.on_own_rows:
        cautions.append(wording.on_own_rows(found.by_folds, found.n_predicted))
    if problem.unknown is not None:
        n_known = int(problem.known_in_row.sum())
        cautions.append(wording.partly_known(1 - n_known / (problem.n_samples * problem.n_labels)))
    changed = grave_change(rule, problem.scores)
    if changed is not None:
        cautions.append(changed)
    precision, recall = (
        Interval(figure.value, figure.lower, figure.upper) for figure in found.figures[:2]
    )
    return Summary(
        rule=(
            *wording.what_it_does(rule, problem.n_labels),
            wording.how_much(
                int(labels["marked"].sum()),
                n_true,
                problem.n_samples,
                partly=problem.unknown is not None,
            ),
        ),
        bar=wording.good_enough(asked.min_f, rule.beta, labels["bar"]),
        ranges=wording.what_ranges_count(problem.n_samples, n_groups, asked.group_name),
        headline=wording.headline(groups),
        how_good=tuple(
            wording.how_good(precision, recall, found.n_predicted, n_true, by_folds=found.by_folds)
        ),
        cautions=tuple(cautions),
        to_do=wording.to_do(
            groups,
            labels,
            flatters=found.flatters,
            has_thresholds=isinstance(rule, ThresholdRule),
            has_limits=isinstance(rule, ThresholdRule) and rule.has_limits,
        ),
        groups=groups,
        figures=found.figures,
        confidence=asked.confidence,
    )


def _per_row(found: _Found) -> PerRow:
    """Count rows by how many labels they are marked with, and truly have, of those whose truth is known."""
    assert found.judged.by_sample is not None, "rows are counted"
    _, predicted, true = found.judged.by_sample.sums  # (n_samples,) each
    if found.problem.unknown is not None:
        has_truth = found.problem.known_in_row > 0  # (n_samples,)
        predicted, true = predicted[has_truth], true[has_truth]
    counts = np.stack([predicted, true]).astype(np.int64)  # (2, n_samples)

    # Bins of one width up to what hardly any row exceeds; the last one takes the rest.
    usual = int(np.quantile(counts, _USUAL, axis=1, method="higher").max())
    width = -(-(usual + 1) // _BINS)
    lowest = np.arange(0, usual + 1, width)  # (n_bins,)
    bins = np.minimum(counts // width, lowest.size - 1)
    histograms = [np.bincount(row, minlength=lowest.size) for row in bins]
    return PerRow(
        lowest=lowest,
        highest=int(counts.max()),
        predicted=histograms[0],
        true=histograms[1],
        mean_predicted=float(predicted.mean()),
        mean_true=float(true.mean()),
        sentences=wording.per_row(
            float(predicted.mean()),
            float(true.mean()),
            int(np.count_nonzero(predicted == 0)),
            int(np.count_nonzero(true == 0)),
            predicted.size,
        ),
    )


def _other_rows(found: _Found, asked: Asked) -> OtherRows:
    """Hold what a rule reached on the rows of its fit against what it reaches here."""
    rule = found.rule
    average = rule.average or "macro"
    here = found.reached.interval(average, asked.confidence)
    for figure in found.figures:
        if figure.measure == average:
            here = Interval(figure.value, figure.lower, figure.upper)
    # The objective of a fit without truth is an expectation.
    decider = rule.uncapped
    without_truth = isinstance(decider, InstanceRule)
    without_truth |= getattr(decider, "expected", None) is not None
    in_sample = None if without_truth or rule.average is None else rule.objective
    kept = rule.out_of_fold
    name = name_of(average, rule.beta)
    return OtherRows(
        measure=name,
        in_sample=in_sample,
        out_of_fold=None if kept is None else kept.f,
        here=here,
        n_fitted=None if rule.fitted_on is None else rule.fitted_on.n_samples,
        n_folds=None if kept is None else kept.n_folds,
        sentences=wording.on_other_rows(
            name, rule, in_sample, here, on_own_rows=found.on_own_rows, by_folds=found.by_folds
        ),
    )
