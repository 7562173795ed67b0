"""A rule for new rows that keeps every threshold of the old rule but those that have a reason to move.

A fresh fit on this week's rows moves all thresholds, most of them by chance. A threshold moves here for one of three
reasons, tested on the new rows:

* **F.** Out of fold, the fresh threshold reaches more F than the old one (`gain.py`).
* **Odds.** At the same score the label is true more or less often than on the rows of the old fit (`fitting/odds.py`).
* **Rows.** The new rows are at least twice as many as those of the old fit. Then fresh thresholds are better known,
  and all are taken.

Of the first two the smaller p-value, doubled (Bonferroni), is held to a false discovery rate of `alpha` over labels
(Benjamini & Hochberg 1995).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.sparse import as_csr
from thresholds._arrays.types import Floats, Ints, Numbers
from thresholds._checks import Average, InputError
from thresholds._engine.problem import Problem
from thresholds._results.fields import record, value
from thresholds._results.result import Result, names_of, rows_of
from thresholds._results.tables import Column, Table, tabulate
from thresholds._results.text import first_names
from thresholds._results.words import counted
from thresholds._significance import rejected
from thresholds.data.folds import N_SPLITS, SEED
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.fitting.odds import change_between
from thresholds.fitting.options import BY_LABEL, FitOptions
from thresholds.fitting.record import rows_kept
from thresholds.fitting.rules import LIMITS
from thresholds.guarantees.independent_rows import warn_of_copies
from thresholds.guards.base import Guard
from thresholds.guards.names import GUARDS
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts, count_by_label
from thresholds.metrics.judging import judge
from thresholds.rule import LabelCounts, OutOfFold, ThresholdRule
from thresholds.validation.cross_fit import RowsInFolds, cross_fit_rows, in_folds
from thresholds.validation.gain import p_of_gain, rows_of_weight
from thresholds.validation.held_out import decide_out_of_fold

ALPHA = 0.1  # of the labels that move, a tenth may move by chance: such a move costs little F

_SHOWN = 20
_NAMES_SHOWN = 5
# Rows, for fresh thresholds to take the place of the old ones without a test.
_TIMES_AS_MANY = 2
_KEPT = "kept thresholds"  # what guards a rule without a guard, some of whose thresholds are old


@record
class RuleUpdate(Result):
    """A rule of which only the thresholds that have a reason have moved.

    Attributes
    ----------
    rule : ThresholdRule, labels in the order of the new rows
        Its `out_of_fold` is `updated`; of the labels that moved, the folds' thresholds count.
    table : structured array, one row a label: name, threshold (of the rule), old_threshold (NaN for a new label),
        fresh_threshold, moved, reason ("F", "odds", "rows", "new" or ""), p_value (the smaller of two, doubled; NaN for
        a new label, and where both thresholds decide all rows alike)
    lost : tuple of str, labels of the old rule that the new rows do not have
    old, fresh, updated : F of the rule's average on the new rows, over the labels that they have, out of fold: of the
        old thresholds (new labels: fresh ones), of fresh ones, and of those of the update. The last is somewhat too
        high, as the same rows say what moves.
    alpha : false discovery rate of what moves
    """

    _shown = _SHOWN

    rule: ThresholdRule = value(repr=False)
    table: npt.NDArray[Any]
    lost: tuple[str, ...]
    old: float
    fresh: float
    updated: float
    alpha: float

    @property
    def n_moved(self) -> int:
        """How many thresholds moved, those of new labels apart."""
        return int(np.count_nonzero(self.table["moved"]))

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Sum up, and list k of the labels that moved, the surest first."""
        reason = self.table["reason"]
        is_new = reason == "new"
        n_new = int(np.count_nonzero(is_new))
        kept = self.table.size - self.n_moved - n_new
        by_reason = [
            f"{np.count_nonzero(reason == name):,} {words}"
            for name, words in _REASONS.items()
            if (reason == name).any()
        ]
        moved = f"{counted(self.n_moved, 'threshold')} moved"
        if by_reason:
            moved += f" ({', '.join(by_reason)})"
        average = f"{self.rule.average} F{self.rule.beta:g}"
        lines = [
            f"{moved}, {kept:,} kept, {counted(n_new, 'label')} new, {len(self.lost):,} lost",
            f"{average} on the new rows: old thresholds {self.old:.4f}; out of fold, fresh ones"
            f" {self.fresh:.4f}, updated {self.updated:.4f}",
        ]
        names = {"new": tuple(self.table["name"][is_new].tolist()), "lost": self.lost}
        for word, labels in names.items():
            if labels:
                lines.append(f"{word} labels: {first_names(labels, _NAMES_SHOWN)}")
        yield "\n".join(lines)
        if k and self.n_moved:
            # Those with the smallest p-values first.
            moved_labels = self.table[self.table["moved"]]
            order = np.argsort(moved_labels["p_value"], kind="stable")
            yield tabulate(moved_labels[order], _MOVED, k)


_MOVED = (
    Column("name", "moved", is_words=True),
    Column("old_threshold", "old", "{:.6g}".format),
    Column("threshold", "new", "{:.6g}".format),
    Column("reason", is_words=True),
    Column("p_value", "p-value", "{:.2g}".format),
)
_REASONS = {
    "F": "as that reaches more F",
    "odds": "as the label is true more or less often at that score",
    "rows": "as there are so many more rows",
}


def update_rule(
    old: ThresholdRule,
    y_true: object,
    y_score: object,
    *,
    alpha: float = ALPHA,
    cv: object = N_SPLITS,
    groups: object = None,
    random_state: int | None = SEED,
    sample_weight: object = None,
    unknown: object = None,
    label_names: object = None,
    guard: Guard | Literal["old"] = "old",
    max_overprediction: float | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    keep_sparse: bool | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> RuleUpdate:
    """Fit on new rows, but keep each threshold of the old rule that the new rows do not show to be out of date.

    A threshold moves to the fresh one if that reaches more F out of fold, or if at the same score the label is now true
    more or less often (a test of each, with error control over labels). Where nothing has changed nearly all stay, and
    F on other rows is that of the old rule. From at least twice as many rows as the old rule was fitted on, all fresh
    thresholds are taken: they are better known.

    Parameters
    ----------
    old : ThresholdRule with a threshold for each label, fitted on labels
        Its average, beta, zero_division, placement and missing are those of the update. Labels go by name where both
        have names: those that only the new rows have get fresh thresholds, those they lack are left out. Without names
        on either side they go by position.
    y_true, y_score, sample_weight, unknown, label_names : as in `fit_empirical`; rows that `old` was not fitted on
    alpha : false discovery rate of what moves, between 0 and 1
    cv, groups, random_state : the folds, as in `cross_fit`
    guard : "old" for that of the old rule, or as in `fit_empirical`
    max_overprediction, min_precision, min_recall : as in `fit_empirical`; with guard "old" those of the old rule
    keep_sparse, n_jobs, progress : as in `fit_empirical`

    Returns
    -------
    RuleUpdate

    Raises
    ------
    InputError
        As `cross_fit`; for a rule that was not fitted on labels, has one threshold for all, or has a guard whose
        options its file names but does not keep; for the very rows that it was fitted on.

    References
    ----------
    Lipton et al. 2013, section 5. Benjamini & Hochberg 1995, "Controlling the false discovery rate".

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> def week(shift):
    ...     y_true = rng.random((2000, 3)) < 0.2
    ...     return y_true, rng.normal(size=(2000, 3)) + 2 * y_true + [0, 0, shift]
    >>> rule = thresholds.cross_fit(*week(0), label_names=["cat", "dog", "emu"]).rule
    >>> found = thresholds.update_rule(rule, *week(1))
    >>> found.table["name"][found.table["moved"]].tolist()
    ['emu']
    """
    _refuse_other_rules(old)
    alpha = _checks.inside(alpha, "alpha")
    given = {
        "guard": guard,
        "max_overprediction": max_overprediction,
        "min_precision": min_precision,
        "min_recall": min_recall,
    }
    options: Any = {
        "beta": old.beta,
        "zero_division": old.zero_division,
        "placement": old.placement,
        "keep_sparse": keep_sparse,
        "n_jobs": n_jobs,
        "progress": progress,
        **(given if guard != "old" else _guard_of(old) | _set(given)),
    }
    fit = FitOptions(average=cast(Average, old.average), **options)
    rows = in_folds(
        y_true,
        y_score,
        cv=cv,
        groups=groups,
        random_state=random_state,
        sample_weight=sample_weight,
        missing=old.missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=fit.keep_sparse,
        looked_at=fit.looks_at_groups,
    )

    # Labels without names have those of the old rule.
    at_old, at_new, lost = _matched(old, rows.problem)
    _refuse_own_rows(old, rows.problem, at_new, lost)
    if rows.problem.label_names is None:
        rows = rows._replace(problem=replace(rows.problem, label_names=old.label_names))
    if fit.confidence is not None:
        warn_of_copies(rows.problem)

    # A fresh rule, and what the folds' thresholds and the old ones decide of the rows of each fold.
    found = cross_fit_rows(rows, fit, verdicts=False)
    fresh = found.rule
    before = np.full(fresh.n_labels, np.nan)  # thresholds of the old rule, NaN for new labels
    before[at_new] = old.thresholds[at_old]
    sums = _counted(rows, before, found.fold_thresholds)

    # Take the fresh threshold where there is a reason.
    p_gain = p_of_gain(
        sums["old"], sums["added"], sums["dropped"], fresh, rows_of_weight(rows.problem)
    )
    p, reason = _reasons(old, fresh, before, _p_of_odds(old, fresh, at_old, at_new), p_gain, alpha)
    takes_fresh = reason != ""  # (n_labels,)
    is_new = np.isnan(before)
    updated = np.where(takes_fresh, fresh.thresholds, before)
    of_updated = np.where(takes_fresh, sums["fresh"], sums["old"])  # (3, n_labels)
    reached = _average_f(of_updated, fresh)
    return RuleUpdate(
        rule=_updated(fresh, updated, rows.problem, reached, of_updated),
        table=rows_of(
            {
                "name": names_of(rows.problem.label_names, before.size),
                "threshold": updated,
                "old_threshold": before,
                "fresh_threshold": fresh.thresholds,
                "moved": takes_fresh & ~is_new,
                "reason": reason,
                "p_value": p,
            }
        ),
        lost=lost,
        old=_average_f(sums["old"], fresh),
        fresh=_average_f(sums["fresh"], fresh),
        updated=reached,
        alpha=alpha,
    )


def _counted(rows: RowsInFolds, before: Floats, fold_thresholds: Floats) -> dict[str, Numbers]:
    """Return true positives, predictions and positives (3, n_labels) of what thresholds decide out of fold.

    "old": by the old thresholds `before` (n_labels,), for labels without one by the folds'. "fresh": by those of the
    folds. "added": of the rows that only the folds' thresholds predict; "dropped": of those that only the old ones do.
    """
    problem = rows.problem
    by_name = {
        "old": np.where(np.isnan(before), fold_thresholds, before),
        "fresh": fold_thresholds,
    }  # (n_folds, n_labels) each
    decided = {}
    for name, of_folds in by_name.items():
        rules = [
            ThresholdRule(cuts, missing=problem.missing, label_names=problem.label_names)
            for cuts in of_folds
        ]
        decided[name] = decide_out_of_fold(rules, problem, rows.pairs)
    both = decided["old"].multiply(decided["fresh"])
    decided["added"] = as_csr(decided["fresh"] - both)
    decided["dropped"] = as_csr(decided["old"] - both)

    judged = np.flatnonzero(rows.folds >= 0)
    truth = as_csr(problem.truth)[judged]
    weights = None if problem.sample_weight is None else problem.sample_weight[judged]
    return {
        name: count_by_label(truth, cells[judged], weights).sums for name, cells in decided.items()
    }


def _average_f(sums: Numbers, rule: ThresholdRule) -> float:
    """Return the average F of counts (3, n_labels) that a rule was fitted for."""
    assert rule.average is not None, "fits have one"
    counts = ConfusionCounts(sums, float("inf"))
    return average_of(f_score(rule.beta), counts, rule.average, rule.zero_division)


def _refuse_other_rules(old: object) -> None:
    """Refuse rules whose thresholds cannot be fitted anew one by one."""
    if not isinstance(old, ThresholdRule):
        raise InputError(f"old is of type {type(old).__name__}, expected a ThresholdRule")
    found = None
    if old.average is None:
        found = "a rule that was not fitted"
    elif old.expected is not None:
        found = "a rule fitted on probabilities alone"
    elif not old.per_label:
        found = "a rule with one threshold for all labels"
    elif old.budget is not None:
        found = "a rule fitted with max_predicted, which no label keeps by itself"
    if found is not None:
        raise InputError(
            f"old is {found}, expected one fitted on labels, with a threshold for each"
        )


def _guard_of(old: ThresholdRule) -> dict[str, Any]:
    """Read the guard and the limits of a fit from what a rule is called by."""
    options: dict[str, Any] = {"guard": None}
    for part in [] if old.guard is None else old.guard.split(", "):
        name, _, value = part.partition("=")
        if part in GUARDS:
            options["guard"] = part
        elif part == _KEPT:
            continue
        elif name in (*LIMITS, "confidence") and value != BY_LABEL:
            options[name] = float(value)
        elif name == "family":
            options[name] = value
        else:
            raise InputError(
                f"old has guard {old.guard!r}, whose options are not kept, expected guard, and limits, as in its fit"
            )
    return options


def _set(limits: dict[str, Any]) -> dict[str, Any]:
    """Return the limits that are given."""
    return {name: value for name, value in limits.items() if name in LIMITS and value is not None}


def _matched(old: ThresholdRule, problem: Problem) -> tuple[Ints, Ints, tuple[str, ...]]:
    """Match labels by name where both have names, else by position.

    Returns the positions of common labels in the old rule and in the new rows, (n_common,) each, and the names of lost
    ones.
    """
    names = problem.label_names
    if names is None or old.label_names is None:
        _checks.label_count(problem.scores.shape, old.n_labels, "old rule")
        return np.arange(old.n_labels), np.arange(old.n_labels), ()
    at_old, at_new = _checks.common_places(old.label_names, names)
    if not at_new.size:
        raise InputError("y_score has none of the labels of old, expected some of them")
    kept = set(names)
    return at_old, at_new, tuple(name for name in old.label_names if name not in kept)


def _refuse_own_rows(
    old: ThresholdRule, problem: Problem, at_new: Ints, lost: tuple[str, ...]
) -> None:
    """Refuse the rows that the old rule was fitted on, on which what it reaches is no measure of its thresholds."""
    if lost or at_new.size < problem.n_labels:
        return
    if was_fitted_on(old, problem, "old"):
        raise InputError(
            "y_score and y_true are the rows that old was fitted on, expected others: those of its own fit flatter it"
        )


def _p_of_odds(old: ThresholdRule, fresh: ThresholdRule, at_old: Ints, at_new: Ints) -> Floats:
    """Return the p-values of other odds, (n_labels,); NaN for new labels, and where a rule keeps no odds."""
    p = np.full(fresh.n_labels, np.nan)
    change = change_between(old, fresh, at_old, at_new)
    if change is not None:
        p[at_new] = change.p_value
    return p


def _reasons(
    old: ThresholdRule,
    fresh: ThresholdRule,
    before: Floats,
    p_odds: Floats,
    p_gain: Floats,
    alpha: float,
) -> tuple[Floats, npt.NDArray[np.str_]]:
    """Return the p-value of each label, and why its threshold moves: "new" labels have none, "" stays.

    `before` (n_labels,) are the thresholds of the old rule, NaN for new labels.
    """
    is_new = np.isnan(before)
    differs = ~is_new & (before != fresh.thresholds)

    # The smaller of two p-values, doubled; NaN where there is nothing to test.
    p = np.minimum(1.0, 2 * np.fmin(p_gain, p_odds))
    p[~differs] = np.nan
    is_shown = rejected(p, alpha)

    is_odds = np.nan_to_num(p_odds, nan=1.0) < np.nan_to_num(p_gain, nan=1.0)
    reasons = [is_new, is_shown & is_odds, is_shown, differs & _rests_on_more(old, fresh)]
    return p, np.select(reasons, ["new", "odds", "F", "rows"], "")


def _rests_on_more(old: ThresholdRule, fresh: ThresholdRule) -> bool:
    """Tell whether the fresh rule was fitted on many more rows, if that is known."""
    if old.fitted_on is None or fresh.fitted_on is None:
        return False
    return fresh.fitted_on.n_samples >= _TIMES_AS_MANY * old.fitted_on.n_samples


def _updated(
    fresh: ThresholdRule, thresholds: Floats, problem: Problem, out_of_fold: float, sums: Floats
) -> ThresholdRule:
    """Return the fresh rule with other thresholds, and what these reach; `sums` are counts out of fold."""
    known = fresh.out_of_fold
    assert known is not None, "cross-fitting gives it"
    assert fresh.made_by is not None, "fits say so"
    is_mixed = not np.array_equal(thresholds, fresh.thresholds)
    rule = replace(
        fresh,
        thresholds=thresholds,
        guard=_KEPT if fresh.guard is None and is_mixed else fresh.guard,
        guard_report=None,
        guarantees=None if is_mixed else fresh.guarantees,
        out_of_fold=replace(known, f=out_of_fold, by_label=_by_label(known, problem, sums)),
        made_by=replace(fresh.made_by, function="update_rule"),
    )
    judged = judge(rule, problem)
    return replace(
        rule,
        objective=_average_f(judged.by_label.sums, rule),
        kept=rows_kept(problem, judged.by_label.predicted),
    )


def _by_label(known: OutOfFold, problem: Problem, sums: Floats) -> LabelCounts | None:
    """Return counts of the judged rows (3, n_labels) by label; None of weights, whose unit is another."""
    if known.by_label is None or problem.sample_weight is not None:
        return None
    tp, predicted, positives = sums.astype(np.int64)
    return replace(known.by_label, tp=tp, predicted=predicted, positives=positives)
