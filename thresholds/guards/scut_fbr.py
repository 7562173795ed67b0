"""The guard "fbr": SCutFBR.1, the published protection of rare labels, here with exact cuts and with regard to ties.

A label's threshold is the mean of those that are best on folds of the rows; on a fold where the best F is at most
`fbr`, the highest score takes its place, so that hardly anything is predicted. Each label's `fbr` is the candidate of
highest F, added up over an outer cross-validation; ties go to the largest.

Yang 2001, "A study of thresholding strategies for text categorization"; Lewis, Yang, Rose and Li 2004, "RCV1: a new
benchmark collection for text categorization research"; Fan and Lin 2007, "A study on threshold selection for
multi-label classification", with its ordering of the candidates.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds._arrays.dtypes import rounded_up, threshold_dtype
from thresholds._arrays.types import Floats
from thresholds._checks import InputError, Placement
from thresholds._kernels.keys import to_scores
from thresholds.data.folds import multilabel_folds
from thresholds.data.problem import Problem
from thresholds.data.tiles import map_tiles
from thresholds.guards.cuts import Guarded, GuardedCuts, cut_at_thresholds, joined
from thresholds.guards.limits import Limits
from thresholds.guards.options import SCutFBR
from thresholds.metrics.counts import f_of_counts
from thresholds.metrics.judging import judge
from thresholds.rule import ThresholdRule
from thresholds.search import staircase
from thresholds.search.staircase import Cuts


class _Fold(NamedTuple):
    """What a fold says of each label."""

    f: Floats  # of the best cut
    cut: Floats
    highest: Floats


def fit_scut_fbr(
    problem: Problem,
    options: SCutFBR,
    limits: Limits,
    beta: float,
    placement: Placement,
    n_jobs: int | None,
    progress: bool,
) -> Guarded:
    """Fit the thresholds of all labels."""
    n_folds, whole = options.n_folds, problem
    if problem.unit_weights is not None:
        problem = problem.take(np.flatnonzero(problem.unit_weights > 0))
    if problem.n_samples < n_folds**2:
        raise InputError(f"y_true has {problem.n_samples} rows, expected at least {n_folds**2} for guard 'fbr'")
    outer, candidates = _folds(problem, options), np.array(options.candidates)
    total = np.zeros((candidates.size, problem.n_labels))
    for k in range(n_folds):
        train, rest = (problem.take(np.flatnonzero(where)) for where in (outer != k, outer == k))
        parts = _on_folds(train, _folds(train, options), n_folds, beta, n_jobs)
        total += [_f_of(_thresholds(parts, np.full(problem.n_labels, fbr), problem), rest, beta) for fbr in candidates]
    last_best = candidates.size - 1 - np.argmax(total[::-1], axis=0)
    fbr = np.where(total.max(axis=0) > 0, candidates[last_best], candidates[0])
    folds = _on_folds(problem, outer, n_folds, beta, n_jobs)
    hopeless = sum((fold.f <= fbr).astype(np.int64) for fold in folds)
    thresholds = _thresholds(folds, fbr, problem)
    reason = np.char.add(np.char.add("fbr on ", np.asarray(hopeless).astype(str)), f" of {n_folds} folds")
    reason = np.where(hopeless == 0, f"mean of {n_folds} folds", reason)

    def cut(first: int, last: int) -> tuple[GuardedCuts, Cuts]:
        items, at = whole.cells(first, last), slice(first, last)
        stairs = staircase.of_items(items).cuttable(whole)
        t = np.where(stairs.positives > 0, thresholds[at], np.inf)
        found = cut_at_thresholds(whole, items, t, reason[at], limits, placement)
        return found, stairs.cuts_at(stairs.best(beta))

    tiles_cut = map_tiles(whole, cut, n_jobs=n_jobs, progress=progress)
    return Guarded(joined([cuts for cuts, _ in tiles_cut]), staircase.all_cuts([best for _, best in tiles_cut]))


def _folds(problem: Problem, options: SCutFBR) -> npt.NDArray[np.int64]:
    """Split the rows of a problem."""
    return multilabel_folds(problem.truth, options.n_folds, random_state=options.random_state)


def _on_folds(
    problem: Problem, folds: npt.NDArray[np.int64], n_folds: int, beta: float, n_jobs: int | None
) -> list[_Fold]:
    """Find the best cuts of each fold of the rows."""

    def fit(part: Problem) -> _Fold:
        def of_tile(first: int, last: int) -> _Fold:
            items = part.cells(first, last)
            stairs = staircase.of_items(items).cuttable(part)
            cuts = stairs.cuts_at(stairs.best(beta))
            keys = items.keys if items.weights.size == 0 else np.where(items.weights > 0, items.keys, 0)
            highest = to_scores(np.maximum.reduceat(keys, items.starts[:-1])).astype(np.float64)
            hidden = ~np.isfinite(highest) | (part.keep_sparse & (highest <= part.missing))
            f = f_of_counts(cuts.tp, cuts.predicted, cuts.positives, beta, 0.0)
            return _Fold(f, cuts.score, np.where(hidden, np.inf, highest))

        tiles = map_tiles(part, of_tile, n_jobs=n_jobs)
        return _Fold(*(np.concatenate(arrays) for arrays in zip(*tiles, strict=True)))

    return [fit(problem.take(np.flatnonzero(folds == k))) for k in range(n_folds)]


def _thresholds(folds: list[_Fold], fbr: Floats, problem: Problem) -> Floats:
    """Average the thresholds of folds."""
    cuts = np.array([np.where(fold.f <= fbr, fold.highest, fold.cut) for fold in folds])
    never = np.isposinf(cuts).any(axis=0)
    finite = np.where(never, 0, cuts)
    with np.errstate(over="ignore"):
        mean = (finite / len(folds)).sum(axis=0)
    # The mean of equal cuts is that cut, whatever rounding says.
    mean = np.clip(mean, finite.min(axis=0), finite.max(axis=0))
    return rounded_up(np.where(never, np.inf, mean), threshold_dtype(problem.scores.dtype)).astype(np.float64) + 0.0


def _f_of(thresholds: Floats, problem: Problem, beta: float) -> Floats:
    """Return the F-beta of each label on rows that did not choose its threshold."""
    counts = judge(ThresholdRule(thresholds, missing=problem.missing), problem).by_label
    tp, predicted, positives = counts.sums
    return f_of_counts(tp, predicted, positives, beta, 0.0)
