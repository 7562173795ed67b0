"""What a fit reaches on rows that it has not seen, of rows that come in blocks: `cross_fit`.

Rows are counted fold by fold, at the same candidates. So the counts of the rows outside a fold are the sum of those of
the other folds, and one pass serves the fits of all folds. A last pass has each fold's rule decide about its rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Booleans, Integers, Ints, Numbers
from thresholds._checks import Average, InputError
from thresholds._engine.problem import Problem
from thresholds._engine.unknown import UNKNOWN, coded
from thresholds.chunks.adding import AddedUp
from thresholds.chunks.blocks import block_of
from thresholds.chunks.candidates import Candidates, reads_steps_only
from thresholds.chunks.counting import About, Survey, Surveying
from thresholds.chunks.counts import Counts, refuse_rows
from thresholds.chunks.judging import ABOUT_TIES
from thresholds.chunks.passes import Map, Passes, Place, ScoresBar
from thresholds.chunks.sampling import Picked, Plan
from thresholds.chunks.sources import BlockSource, Rows, n_rows_of
from thresholds.data.counted import CountedProblem
from thresholds.data.folds import N_SPLITS, SEED, hashed_folds, mark_of_folds
from thresholds.data.tallies import LabelKeys, Opened, union_of_keys
from thresholds.diagnosis import Diagnosis
from thresholds.diagnosis.evidence import Criteria, evidence_of
from thresholds.diagnosis.states import conclude_from
from thresholds.fitting.empirical import fit_problem
from thresholds.fitting.options import (
    DEFAULTS_FOR_NEW_ROWS,
    FitArguments,
    FitOptions,
    with_fit_options,
)
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import Judged, judge, judge_all
from thresholds.rule import LabelCounts, OutOfFold, Rule, ThresholdRule
from thresholds.validation.cross_fit import CrossFit, spread_of
from thresholds.validation.held_out import HeldOut
from thresholds.validation.promises import promises_out_of_fold, row_promises_out_of_fold

_HOW = "by a hash of keys"  # folds are made
_N_PASSES = 3  # candidates, counts, decisions; a floor may need one or two more


@with_fit_options(DEFAULTS_FOR_NEW_ROWS)
def cross_fit(
    source: object,
    average: Average = "macro",
    *,
    map: Map = map,
    cv: int = N_SPLITS,
    random_state: int = SEED,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    verdicts: bool = True,
    **options: Unpack[FitArguments],
) -> CrossFit:
    """Fit thresholds on rows that come in blocks, and estimate what they reach on new rows: by cross-fitting.

    The result is that of `thresholds.cross_fit` on all rows at once with the same folds, without what looks at rows
    again: see Returns.

    Parameters
    ----------
    source, average, map : as in `chunks.fit`
        Where a block has `keys`, as {"y_true": ..., "y_score": ..., "keys": ...}, a row is in the fold that its key
        says, a whole number or a string. Where it has `groups`, rows of a group are in one fold; a guard, which is
        fitted to counts here, does not see them. Else the number of the row says its fold, so that folds stay the same
        as long as the order of rows does.
    cv : number of folds
    random_state : seed of the folds
    verdicts : tell which labels may be relied on, by what `chunks.diagnose` says of the out-of-fold decisions
    missing, unknown, label_names, and the options from `beta` on : as in `chunks.fit`
        "auto" is the default `guard` here, as the rule is meant for new rows.

    Returns
    -------
    CrossFit
        Without `alternatives`; `rule` is without `odds`, by which `diff_rules` tests a change.

    Raises
    ------
    InputError
        As `chunks.fit`, and for folds without a row of weight.

    Notes
    -----
    Folds are made by a hash of keys, not by the labels of rows as those of `multilabel_folds`, which have P / cv of the
    P positives of each label. Of hashed folds a given one has no positive of a label with a probability of
    (1 - 1 / cv)^P: with five folds .33 of a label with 5 positives, .11 with 10, .01 with 20. The rule of such a fold
    has all positives, and its rows show no hits; the rules of others have fewer than they would have. Out-of-fold F
    counts the decisions of all folds together, so that it is defined all the same. For labels with few positives it is
    noisier; where those decide, and rows fit into memory, use `thresholds.cross_fit`.

    Passes: one more than `chunks.fit` takes by counts. Memory: `cv` times that of its counts, and one byte a row.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> def blocks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(4):
    ...         y_true = rng.random((100, 20)) < 0.05
    ...         yield y_true, rng.normal(size=(100, 20)) + y_true
    >>> found = thresholds.chunks.cross_fit(blocks, guard=None)
    >>> found.in_sample > found.out_of_fold
    True
    """
    fit = FitOptions.for_new_rows(average, **options)
    refuse_rows(fit)
    _checks.option(verdicts, "verdicts", (True, False))
    cv = _checks.count(cv, "cv", 2)
    random_state = _checks.count(random_state, "random_state", 0)
    about = About(missing, unknown, label_names)
    blocks = BlockSource.of(source, label_names=label_names, unknown=unknown)
    if about.label_names is None:
        about = about._replace(label_names=blocks.label_names)
    bar = None
    if fit.progress:
        bar = ScoresBar("cross-fitting", blocks.n_rows, _N_PASSES)
    try:
        passes = Passes(blocks, map, fit.n_jobs, bar)
        return _cross_fit(passes, about, _Folding(cv, random_state), fit, verdicts)
    finally:
        if bar is not None:
            bar.close()


class _Folding(NamedTuple):
    """How rows are shared out among folds."""

    n_folds: int
    seed: int

    def of(self, rows: Rows, place: Place) -> Ints:
        """Return the fold of each row of a block, (n_rows,)."""
        n_rows = n_rows_of(rows.y_score)
        keys = rows.keys if rows.groups is None else rows.groups
        if keys is None:
            keys = np.arange(place.rows, place.rows + n_rows)
        elif np.shape(keys) != (n_rows,):
            name = "keys" if rows.groups is None else "groups"
            raise InputError(
                f"{name} has shape {np.shape(keys)}, expected {n_rows}, one for each row of the block"
            )
        return hashed_folds(keys, self.n_folds, self.seed)


def _cross_fit(
    passes: Passes, about: About, folding: _Folding, fit: FitOptions, verdicts: bool
) -> CrossFit:
    """Cross-fit in passes."""
    # 1. What scores positives have.
    may_narrow = reads_steps_only(fit) and not verdicts
    surveying = Surveying(about, passes.n_jobs_within, may_narrow, at_once=False)
    survey: Survey = passes.add_up(surveying)
    about = about._replace(label_names=survey.kind.label_names)
    weights = survey.weights_of_rows(passes)
    verdicts = verdicts and not survey.weights

    # 2. What lies there, fold by fold.
    parts, picked, mark = _count(passes, about, folding, fit, survey, weights, verdicts)

    # 3. Fit on all rows, and on those outside each fold.
    lacks_some = passes.n_stored < passes.n_rows * survey.n_labels
    some = picked.all(about.missing, weighted=weights is not None, lacks_some=lacks_some)
    everything = parts[0]
    problem = replace(everything.problem(fit), some_rows=some)
    fitted = fit_problem(problem, fit)
    rules = [
        fit_problem(part.problem(of_part), of_part)
        for part, of_part in zip(parts[1:], _options_of(parts, fit)[1:], strict=True)
    ]

    # 4. Have each fold's rule decide about its rows, and rules of the lowest and the highest thresholds about all.
    fold_thresholds = np.stack([rule.thresholds for rule in rules])  # (n_folds, n_labels)
    extremes = [
        ThresholdRule(thresholds, label_names=fitted.label_names, missing=fitted.missing)
        for thresholds in (fold_thresholds.min(axis=0), fold_thresholds.max(axis=0))
    ]
    judged: _Decided = passes.add_up(
        _Deciding(about, folding, survey.unit, rules, [fitted, *extremes])
    )
    _refuse_other_folds(judged.mark, mark)
    found = _result(passes, folding, fit, everything, [fitted, *rules], judged)
    return replace(found, diagnosis=_diagnosis(problem, fitted, judged, fit)) if verdicts else found


def _count(
    passes: Passes,
    about: About,
    folding: _Folding,
    fit: FitOptions,
    survey: Survey,
    weights: Numbers | None,
    verdicts: bool,
) -> tuple[list[Counts], Picked, int]:
    """Count until nothing more is needed for any fit, nor for verdicts: all rows, and those without each fold.

    Returns the mark of the folds, too.
    """
    plan = Plan.of(passes.n_rows, survey.n_labels, passes.n_stored, weights)
    first = survey.first_candidates(fit)
    assert first is not None, "scores are counted later"
    counting = _Counting(about, folding, first, survey.unit, plan)
    found: _Counted = passes.add_up(counting)
    picked, mark = found.picked, found.mark
    assert picked is not None, "the plan says which rows"
    n_cells = passes.n_rows * survey.n_labels
    while True:
        parts = _all_and_without_each(found.of_each(folding))
        wanted = [
            survey.next_candidates(part, of_part, n_cells)
            for part, of_part in zip(parts, _options_of(parts, fit), strict=True)
        ]
        if verdicts:
            wanted.append(_needed_for_tests(parts[0], survey))
        needed = [candidates for candidates in wanted if candidates is not None]
        if not needed:
            return parts, picked, mark
        found = passes.add_up(replace(counting, candidates=_together(needed), plan=None))
        _refuse_other_folds(found.mark, mark)


def _refuse_other_folds(mark: int, before: int) -> None:
    """Refuse rows that are in other folds than in a pass before."""
    if (mark - before) % 2**64:
        raise InputError(
            "source has other keys or groups than in a pass before, which put rows into other folds; expected the same"
            " of each row: rows are read several times"
        )


def _options_of(parts: Sequence[Counts], fit: FitOptions) -> list[FitOptions]:
    """Return the options of the fit of all rows, which come first, and of those of parts."""
    return [fit.of_part(part.totals.weight / parts[0].totals.weight) for part in parts]


def _needed_for_tests(counts: Counts, survey: Survey) -> Candidates | None:
    """Return what has to be counted for the tests of labels, whatever the rule."""
    nowhere = np.full(counts.n_labels, np.inf)
    rule = ThresholdRule(nowhere, label_names=counts.label_names, missing=counts.missing)
    return counts.needed_to_judge(rule, candidates=survey.candidates)


def _all_and_without_each(by_fold: Sequence[Counts]) -> list[Counts]:
    """Return the counts of all folds, then those without one fold after the other."""
    folds = range(len(by_fold))
    kept = [list(folds), *([k for k in folds if k != fold] for fold in folds)]
    return [reduce(add, [by_fold[k] for k in some]) for some in kept]


def _together(parts: Sequence[Candidates]) -> Candidates:
    """Return candidates at which counts tell all that those at each of some do."""
    dtype = parts[0].kind.key_dtype
    lowest = np.full(parts[0].n_labels, np.iinfo(dtype).max, dtype)
    highest = np.zeros(parts[0].n_labels, dtype)
    for part in parts:
        is_open = part.opened.lowest <= part.opened.highest  # (n_labels,)
        lowest = np.where(is_open, np.minimum(lowest, part.opened.lowest), lowest)
        highest = np.where(is_open, np.maximum(highest, part.opened.highest), highest)
    nothing = Opened.nothing(parts[0].n_labels, dtype)
    is_open = lowest <= highest
    opened = Opened(
        np.where(is_open, lowest, nothing.lowest), np.where(is_open, highest, nothing.highest)
    )
    keys: LabelKeys = union_of_keys([part.keys for part in parts])
    label = keys.label
    is_inside = (keys.keys >= opened.lowest[label]) & (keys.keys <= opened.highest[label])
    return replace(parts[0], keys=keys.where(~is_inside), opened=opened)


@dataclass(frozen=True)
class _Counted(AddedUp):
    """What is counted of some blocks."""

    by_fold: Mapping[int, Counts]  # of those that have rows
    mark: int  # of the folds
    picked: Picked | None

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return sum(counts.nbytes for counts in self.by_fold.values())

    def of_each(self, folding: _Folding) -> list[Counts]:
        """Return the counts of each fold, and refuse one without a row of weight."""
        counts = []
        for k in range(folding.n_folds):
            of_fold = self.by_fold.get(k)
            if of_fold is None or not of_fold.totals.weight:
                raise InputError(
                    f"cv is {folding.n_folds}, and fold {k} has no row of positive weight with a known cell;"
                    " expected fewer folds, or another random_state"
                )
            counts.append(of_fold)
        return counts


@dataclass(frozen=True)
class _Counting:
    """The work of a pass that counts each fold's rows, and picks rows to keep if there is a plan."""

    about: About
    folding: _Folding
    candidates: Candidates
    unit: float | None  # of weights
    plan: Plan | None

    def __call__(self, rows: Rows, place: Place) -> _Counted:
        """Count a block."""
        block, folds = _in_folds(rows, place, self.about, self.folding, self.unit)
        truth = coded(block.truth, block.unknown)
        rows_of_folds = ((k, np.flatnonzero(folds == k)) for k in range(self.folding.n_folds))
        by_fold = {k: self._count(block, truth, at) for k, at in rows_of_folds if at.size}
        picked = None if self.plan is None else self.plan.picked(block.scores, place)
        return _Counted(by_fold, mark_of_folds(folds, place.rows), picked)

    def _count(self, block: Problem, truth: Any, rows: Ints) -> Counts:
        """Count some rows."""
        weights = None if block.unit_weights is None else block.unit_weights[rows] * block.unit
        return Counts.of(
            truth[rows],
            block.scores[rows],
            self.candidates,
            sample_weight=weights,
            weight_unit=self.unit,
            missing=block.missing,
            unknown=None if block.unknown is None else UNKNOWN,
            label_names=block.label_names,
        )


@dataclass(frozen=True)
class _Decided(AddedUp):
    """What rules decided about some blocks."""

    by_fold: Ints  # (n_folds, 3, n_labels): true positives, predictions, positives
    on_all: Ints  # (n_rules, 3, n_labels) of rules that decide about all rows
    totals: Ints  # (n_folds, n_labels) weight of the rows in which each label is known
    n_known: int  # weight of the rows with a known cell
    folds: list[tuple[int, Integers]]  # of rows from a number on
    mark: int  # of the folds

    def judged(self, unit: float) -> "_ByRules":
        """Return the decisions as counts, in that unit of weights."""
        labels = range(self.totals.shape[1])
        total = self.totals.sum(axis=0)  # (n_labels,)

        def counts_of(sums: Ints, total: Ints) -> ConfusionCounts:
            return ConfusionCounts(sums, total, unit, labels)

        of_folds = map(counts_of, self.by_fold, self.totals)
        return _ByRules(
            counts_of(self.by_fold.sum(axis=0), total),
            [Judged(of_fold) for of_fold in of_folds],
            [counts_of(sums, total) for sums in self.on_all],
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the folds of rows."""
        return 1 + sum(folds.nbytes for _, folds in self.folds)


class _ByRules(NamedTuple):
    """What rules decided, label by label."""

    by_label: ConfusionCounts  # of the rules of all folds, each about its rows
    of_folds: list[Judged]
    on_all: list[ConfusionCounts]


@dataclass(frozen=True)
class _Deciding:
    """The work of the last pass: each fold's rule decides about its rows, and other rules about all."""

    about: About
    folding: _Folding
    unit: float | None
    of_folds: Sequence[Rule]
    of_all: Sequence[Rule]

    def __call__(self, rows: Rows, place: Place) -> _Decided:
        """Decide about a block."""
        block, folds = _in_folds(rows, place, self.about, self.folding, self.unit)
        shape = (3, block.n_labels)
        by_fold = np.zeros((len(self.of_folds), *shape), np.int64)
        totals = np.zeros((len(self.of_folds), block.n_labels), np.int64)
        for k, rule in enumerate(self.of_folds):
            at = np.flatnonzero(folds == k)
            if at.size:
                of_fold = block.at_rows(at)
                by_fold[k] = judge(rule, of_fold).by_label.sums
                totals[k] = of_fold.weight_of_label
        on_all = np.stack([judged.by_label.sums for judged in judge_all(self.of_all, block)])
        has_weight: Booleans = block.row_weights > 0
        kind = np.min_scalar_type(-len(self.of_folds))
        listed = np.where(has_weight, folds, -1).astype(kind)
        n_known = int(block.row_weights.sum())
        return _Decided(
            by_fold,
            on_all.astype(np.int64),
            totals,
            n_known,
            [(place.rows, listed)],
            mark_of_folds(folds, place.rows),
        )


def _in_folds(
    rows: Rows, place: Place, about: About, folding: _Folding, unit: float | None
) -> tuple[Problem, Ints]:
    """Check a block, and find the folds of its rows."""
    block, _ = block_of(
        rows.y_true,
        rows.y_score,
        sample_weight=rows.sample_weight,
        weight_unit=unit,
        **about._asdict(),
    )
    return block, folding.of(rows, place)


def _result(
    passes: Passes,
    folding: _Folding,
    fit: FitOptions,
    everything: Counts,
    rules: Sequence[ThresholdRule],
    decided: _Decided,
) -> CrossFit:
    """Put together what was found; `rules` are that of all rows, and those of the folds."""
    fitted, *of_folds = rules
    assert fitted.objective is not None, "fits have one"
    judged = decided.judged(everything.kind.unit)
    held_out = HeldOut(
        list(of_folds),
        judged.of_folds,
        [None] * folding.n_folds,
    )
    kept = _out_of_fold(judged.by_label, decided.n_known * everything.kind.unit, folding, fit)
    fold_thresholds = np.stack([rule.thresholds for rule in of_folds])  # (n_folds, n_labels)
    in_sample, most, least = judged.on_all
    total = judged.by_label.total
    weight = np.where(total == 0, 1, total)
    spread = spread_of(
        everything.label_names,
        judged.by_label.positives,
        fitted.thresholds,
        fold_thresholds,
        (most.sums[1] / weight, least.sums[1] / weight),
        (in_sample, judged.by_label),
        fit,
        promises_out_of_fold(held_out),
    )
    return CrossFit(
        rule=replace(fitted, out_of_fold=kept),
        in_sample=fitted.objective,
        out_of_fold=kept.f,
        folds=_all_folds(decided, passes.n_rows),
        fold_thresholds=fold_thresholds,
        spread=spread,
        how=kept.how,
        row_promises=row_promises_out_of_fold(held_out),
        average=fit.average,
    )


def _out_of_fold(
    by_label: ConfusionCounts, n_samples: float, folding: _Folding, fit: FitOptions
) -> OutOfFold:
    """Return what a rule keeps of its out-of-fold decisions about so many rows."""
    f = average_of(f_score(fit.beta), by_label, fit.average, fit.zero_division)
    counts = LabelCounts.of(n_samples, by_label)
    return OutOfFold(float(f), folding.n_folds, _HOW, folding.seed, counts)


def _diagnosis(
    problem: CountedProblem, fitted: ThresholdRule, decided: _Decided, fit: FitOptions
) -> Diagnosis:
    """Hold the out-of-fold decisions against what the scores know of each label."""
    criteria = Criteria()
    evidence = evidence_of(problem, criteria, n_jobs=fit.n_jobs)
    by_label = ConfusionCounts(
        decided.by_fold.sum(axis=0), decided.totals.sum(axis=0), labels=range(problem.n_labels)
    )
    diagnosis = conclude_from(by_label, problem, fitted, evidence, criteria)
    return replace(diagnosis, note=ABOUT_TIES) if problem.has_runs else diagnosis


def _all_folds(decided: _Decided, n_rows: int) -> Integers:
    """Return the fold of every row, (n_rows,)."""
    folds = np.full(n_rows, -1, decided.folds[0][1].dtype)
    for first, part in decided.folds:
        folds[first : first + part.size] = part
    return folds
