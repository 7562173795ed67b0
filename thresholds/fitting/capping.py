"""What to keep of the labels of a row where only k may be predicted: learnt on the rows of a fit.

A prediction about label j that is true with probability p takes its counts from tp, N to tp + p,
N + 1, and so its

    F_j = (1 + b^2) tp / (b^2 P_j + N)    by about    ((1 + b^2) p - F_j) / (b^2 P_j + N)

This is the gradient of the macro F at the counts of the fit, by which Schultheis, Wydmuch,
Kotlowski, Babbar and Dembczynski 2023, "Generalized test utilities for long-tail performance in
extreme multi-label classification", section 5, and 2024, "Consistent algorithms for multi-label
classification with macro-at-k metrics", section 4, choose k labels of each row. Weighted F has the
same times P_j. For micro F, and for the F of a row, denominator and F are the same for all labels,
so that the highest p go first.

p comes from a logistic curve for each label that leans on those of all labels
(`calibration/hierarchy.py`), fitted to scores of neighbouring ranks taken together (`odds.py`);
scores that are probabilities already are taken for p.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Floats
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.problem import Problem
from thresholds.calibration.hierarchy import fit_leaning_lines
from thresholds.calibration.platt import weight_of_row
from thresholds.expectation.value import expected_f
from thresholds.fitting.odds import cells_in_bins
from thresholds.fitting.options import FitOptions
from thresholds.fitting.record import FittedRule, rows_kept, with_record
from thresholds.metrics.judging import Decisions, judge
from thresholds.rule import Rule
from thresholds.rule.capped import CappedRule
from thresholds.rule.gains import GainByScore
from thresholds.rule.watching.describing import profile_of

_LOGARITHM = 700.0  # A probability nearer to 0 or 1 is the same float.


def with_cap(rule: FittedRule, problem: Problem, options: FitOptions) -> FittedRule | CappedRule:
    """Return a fitted rule that predicts at most as many labels of a row as options say; itself where they say none."""
    k = options.max_predicted_per_row
    if k is None:
        return rule
    # What is known of the fit is known of the capped decisions.
    within: Any = replace(rule, fitted_on=None, made_by=None, kept=None)
    if rule.average is None:
        return CappedRule(within, k, kept=rows_kept(problem))
    if options.named.needs_labels:
        gains = _gains(problem, _counts_by_label(rule, problem), _curves(problem, options), rule)
        return with_record(CappedRule(within, k, "gain", gains), problem, rule.made_by)

    # Without labels, probabilities tell what to expect.
    gains = _gains(problem, _expected_by_label(rule, problem), _IDENTITY, rule)
    capped = CappedRule(within, k, "gain", gains)
    weights = problem.sample_weight
    decided = capped.decide(problem.scores, dense=capped.needs_dense(problem.scores))
    objective = expected_f(
        problem.scores,
        decided,
        rule.average,  # type: ignore[arg-type]
        rule.beta,
        rule.zero_division,
        exact=options.named.exact or options.named.row_by_row,
        sample_weight=weights,
    )
    return replace(
        capped,
        objective=float(objective),
        fitted_on=rule.fitted_on,
        made_by=rule.made_by,
        kept=profile_of(capped, problem.scores, weights=weights, decided=decided),
    )


class _Curves(NamedTuple):
    """Logistic curves: log odds = level + slope (x - at), numbers or one a label."""

    of_shares: bool
    at: Floats
    level: Floats
    slope: Floats


_IDENTITY = _Curves(True, np.zeros(1), np.zeros(1), np.ones(1))


class _Counts(NamedTuple):
    """Decisions counted, or expected, label by label, in rows of mean weight 1: (n_labels,) each."""

    tp: Floats
    predicted: Floats
    positives: Floats


def _curves(problem: Problem, options: FitOptions) -> _Curves:
    """Fit how often each label is true at a score."""
    cells, of_shares = cells_in_bins(problem, n_jobs=options.n_jobs, progress=options.progress)
    # They only order the labels of a row: lines that do not settle are as good as any.
    run: Any = (options.n_jobs, options.progress)
    scale, centre, slope, intercept = fit_leaning_lines(
        cells, cells.scores, weight_of_row(problem.unit), *run, warns=False
    )
    level = np.clip(intercept, -_LOGARITHM, _LOGARITHM)
    return _Curves(of_shares, centre * scale, level, slope / scale)


def _gains(problem: Problem, counts: _Counts, curves: _Curves, rule: Rule) -> GainByScore:
    """Return what predictions add to the F that a rule maximises."""
    n_labels = problem.n_labels
    b2 = rule.beta**2
    worth, even = np.ones(n_labels), np.zeros(n_labels)
    if rule.average in ("macro", "weighted"):
        # A label that is neither true nor predicted counts as if one row were.
        size = b2 * counts.positives + counts.predicted  # (n_labels,)
        worth = (1 + b2) / np.maximum(size, 1.0)
        even = f_of_counts(*counts, rule.beta, 0.0) / (1 + b2)
    if rule.average == "weighted":
        worth = worth * counts.positives
    of_labels = (curves.at, curves.level, curves.slope, worth, even)
    arrays = (np.broadcast_to(values, n_labels) for values in of_labels)
    return GainByScore(curves.of_shares, *arrays)


def _counts_by_label(rule: Rule, problem: Problem) -> _Counts:
    """Count the decisions of a rule."""
    counts = judge(rule, problem).by_label
    row: Any = float(problem.row_weights.mean()) * problem.unit  # the mean weight of a row
    if problem.unknown is not None:
        # Labels that are known in few rows are counted as if they were in all.
        share = problem.weight_of_label / problem.row_weights.sum()  # (n_labels,)
        row = row * np.where(share > 0, share, 1.0)
    return _Counts(counts.tp / row, counts.predicted / row, counts.positives / row)


def _expected_by_label(rule: Rule, problem: Problem) -> _Counts:
    """Add up probabilities, in the place of what is true."""
    decisions = Decisions(rule, replace(problem, unknown=None))  # Truth is not asked for.
    weights = problem.row_weights / problem.row_weights.mean()  # (n_samples,)
    sums = np.zeros((3, problem.n_labels))
    for rows in decisions.row_blocks():
        decided, p, weight = decisions.about(rows), problem.scores[rows], weights[rows]
        both = p.multiply(decided) if is_sparse(p) else p * to_dense(decided)
        for k, cells in enumerate((both, decided, p)):
            sums[k] += np.asarray(cells.T @ weight).reshape(-1)
    return _Counts(*sums)
