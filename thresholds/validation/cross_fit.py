"""What a fit reaches on the rows it was fitted on, beside what it reaches on rows it was not.

The first figure is too high: the best of many thresholds on a sample is best in part by luck (Lipton et al. 2013,
section 8, the winner's curse). So rules are fitted on all folds but one, and each decides the rows of the one left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Floats, Integers, Ints
from thresholds._checks import Average, InputError
from thresholds._engine.columns import ask
from thresholds._engine.folds import Question
from thresholds._engine.problem import Problem
from thresholds._results.fields import record, value
from thresholds._results.result import Drawable, Result, names_of, rows_of
from thresholds._results.tables import Column, Table, share, tabulate
from thresholds._results.words import are, counted
from thresholds.data.folds import N_SPLITS, SEED, seed_of_folds, split_rows
from thresholds.diagnosis import Diagnosis, Verdicts
from thresholds.diagnosis.diagnosing import conclude_from
from thresholds.diagnosis.evidence import Criteria, LabelTests, all_evidence, evidence_of
from thresholds.fitting.odds import CurveFits
from thresholds.fitting.options import (
    DEFAULTS,
    FitArguments,
    FitOptions,
    check_options,
    with_fit_options,
)
from thresholds.guarantees.independent_rows import warn_of_copies
from thresholds.metrics.averages import each, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.metrics.judging import count_decisions, f_measure, judge, positives_of
from thresholds.rule import LabelCounts, OutOfFold, Rule, ThresholdRule
from thresholds.rule.guarantees import Guarantees
from thresholds.sources.taking import takes_source
from thresholds.validation.alternatives import Alternative, alternatives_to
from thresholds.validation.held_out import Folds, decide_out_of_fold, fit_with_folds
from thresholds.validation.promises import (
    RowPromise,
    promises_in_words,
    promises_out_of_fold,
    row_promises_out_of_fold,
)

_WIDEST = (
    Column("name", "label", is_words=True),
    Column("n_positives", "positives", "{:,g}".format),
    Column("threshold", write="{:.4g}".format),
    Column("lowest", ("folds'", "lowest"), "{:.4g}".format),
    Column("median", ("thresholds", "median"), "{:.4g}".format),
    Column("highest", write="{:.4g}".format),
    Column("predicted_most", ("rows", "most"), share),
    Column("predicted_least", ("predicted", "least"), share),
)
_SOME = 5  # rows: fewer may well come and go
_APART = 3  # times as many rows predicted by one fold's threshold as by another's: worth a word


@record
class CrossFit(Result, Drawable):
    """A rule fitted on all rows, and what to expect of it on others.

    Attributes
    ----------
    rule : the rule, fitted on all rows; its `out_of_fold` has the figure below, and is saved with it
    in_sample : the F-measure that it reaches on the labels of those rows
    out_of_fold : the same F-measure of all decisions about rows that the deciding rule was not fitted on, counted
        together. Such a rule had fewer rows, and cannot know a label all of whose positives are in the fold left
        out; for unguarded rules with many rare labels the figure is still somewhat too high
    folds : (n_samples,) whole numbers, the fold that each row is judged in, -1 for none (also for rows of weight 0)
    fold_thresholds : (n_folds, n_labels), NaN for a rule without thresholds
    spread : structured array, one row a label: name, n_positives, threshold (of `rule`), lowest, median (of two the
        higher) and highest of the folds' thresholds (NaN for a rule without thresholds), and, as scores have no common
        scale, predicted_most and predicted_least: the largest and the smallest share of all rows that a fold's rule
        predicts; f_in_sample and f_out_of_fold, the F-beta of the label that `rule` reaches on all rows, and that of
        the out-of-fold decisions: the means of both over labels are the two figures above for macro-F. Where a floor
        was asked for with a confidence also n_folds_promised (by how many folds' rules the label's floors were
        promised), precision_out_of_fold and recall_out_of_fold (of the decisions of these rules, counted together; NaN
        without a floor), and floors_out_of_fold: "kept", "below" (by no more than chance explains; of groups, for
        whatever reason), "clearly below", or empty where nothing was promised
    how : where the folds come from
    alternatives : what other rules reach over the same folds, if asked for: tuples of name (in words), rule (its name
        in `thresholds.RULES`), options (those of the fit that differ), out_of_fold, gain (over `out_of_fold` above),
        standard_error (of the gain, paired by folds) and is_better (whether the gain is shown to be above 0, one-sided
        at 5 %)
    diagnosis : Diagnosis of the out-of-fold decisions, with thresholds of `rule`: a verdict, a state and a sentence for
        each label; None with `sample_weight`, as its tests are about rows, each of which counts once
    row_promises : floors of micro, or of means over rows, that were asked for with a confidence: tuples of name, floor,
        n_promised (by how many folds' rules), n_folds and reached (by their decisions, counted together)
    name : the name of the rule, if it was asked for by name
    average : of the F-measures above
    """

    _shown = 0
    _display = "OptimismDisplay.from_cross_fit"

    rule: Any = value(repr=False)  # a ThresholdRule, unless another kind was asked for by name
    in_sample: float
    out_of_fold: float
    folds: Integers
    fold_thresholds: Floats
    spread: npt.NDArray[Any]
    how: str
    alternatives: tuple[Alternative, ...] = ()
    diagnosis: Diagnosis | None = value(default=None, repr=False)
    row_promises: tuple[RowPromise, ...] = ()
    name: str | None = None
    average: str = "macro"

    @property
    def verdicts(self) -> Verdicts | None:
        """Whether each label may be relied on, by the out-of-fold decisions: `diagnosis.verdicts`."""
        return None if self.diagnosis is None else self.diagnosis.verdicts

    @property
    def optimism(self) -> float:
        """How much higher the objective is in the sample than out of fold."""
        return self.in_sample - self.out_of_fold

    @property
    def better(self) -> Alternative | None:
        """The alternative that gains most out of fold, of those whose gain is shown to be above 0; else None."""
        gaining = [other for other in self.alternatives if other.is_better]
        return max(gaining, key=lambda other: other.gain, default=None)

    @property
    def guard(self) -> str | None:
        """The guard that was used."""
        return getattr(self.rule, "guard", None)

    def _rows(self) -> npt.NDArray[Any]:
        """Return the spread, one row a label."""
        return self.spread

    def _parts(self, k: int) -> Iterator[str | Table]:
        """Show both figures, and how far the folds' thresholds lie apart: of the k labels that depend most on rows."""
        lines = [self._figures(), self.thresholds_apart(), *self._promises()]
        if self.better is not None:
            lines.append(self.better.in_words())
        if self.diagnosis is not None:
            lines += [self.diagnosis.verdicts.in_brief(), *self.diagnosis.in_brief().splitlines()]
        yield "\n".join(lines)
        if k and self._per_label:
            yield self._widest(k)

    @property
    def _has_thresholds(self) -> bool:
        """Whether the rule has thresholds."""
        return isinstance(self.rule, ThresholdRule)

    @property
    def _per_label(self) -> bool:
        """Whether each label has a threshold of its own."""
        return self._has_thresholds and self.rule.per_label

    def _what(self) -> str:
        """Say which rule it is."""
        measure = f"{self.average} F{self.rule.beta:g}"
        if self.name is not None:
            return f"{self.name}, {measure}"
        return f"{measure}, unguarded" if self.guard is None else f"{measure}, guard {self.guard}"

    def _figures(self) -> str:
        """Say what is reached, in the sample and out of fold."""
        return (
            f"{self._what()}: in-sample {self.in_sample:.4f}, out of fold {self.out_of_fold:.4f}"
            f" ({counted(len(self.fold_thresholds), 'fold')}, {self.how}), optimism {self.optimism:.4f}"
        )

    def about_folds(self) -> str:
        """Return what `str(rule)` does not say: where the folds come from, the optimism, and how they differ."""
        figures = f"folds {self.how}, optimism {self.optimism:.4f}"
        if self.rule.objective != self.in_sample:  # of a rule that was fitted on no labels
            figures = self._figures()
        return "\n".join([figures, self.thresholds_apart(), *self._promises()])

    def _promises(self) -> list[str]:
        """Say whether floors that the folds' rules promised were kept; nothing where nothing was asked for."""
        guarantees = self.rule.guarantees if self._has_thresholds else None
        if not isinstance(guarantees, Guarantees):
            return [promise.in_words() for promise in self.row_promises]
        return [promises_in_words(self.spread["floors_out_of_fold"], guarantees.units)]

    def thresholds_apart(self) -> str:
        """Say how far the folds' thresholds lie apart."""
        if self._has_thresholds and not self._per_label:
            low = self.fold_thresholds[:, 0].min()
            high = self.fold_thresholds[:, 0].max()
            return f"the folds' thresholds lie between {low:.4g} and {high:.4g}"
        most = self.spread["predicted_most"]
        least = self.spread["predicted_least"]
        apart = int(np.count_nonzero((most > _APART * least) & (most * self.folds.size >= _SOME)))
        what = "threshold" if self._has_thresholds else "rule"
        return (
            f"{apart:,} of {most.size:,} labels {are(apart)} predicted more than {_APART} times as often by one"
            f" fold's {what} as by another's"
        )

    def _widest(self, k: int) -> Table:
        """Lay out the k labels whose thresholds depend most on the rows."""
        # Half a row: a label that one threshold never predicts has a ratio, too.
        half = 0.5 / self.folds.size
        ratio = np.maximum(self.spread["predicted_most"], half) / np.maximum(
            self.spread["predicted_least"], half
        )
        order = np.argsort(-ratio, kind="stable")
        return tabulate(self.spread[order], _WIDEST, k)


def _check_before_reading(arguments: Mapping[str, Any]) -> bool:
    """Check the options of a cross-fit; return whether it looks at groups: as fits do, or where it makes folds."""
    return check_options(arguments) or _makes_folds(arguments["cv"])


@takes_source(_check_before_reading)
@with_fit_options(DEFAULTS)
def cross_fit(
    y_true: object,
    y_score: object = None,
    average: Average = "macro",
    *,
    rule: str | None = None,
    cv: object = N_SPLITS,
    groups: object = None,
    random_state: int | None = SEED,
    sample_weight: object = None,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    verdicts: bool = True,
    alternatives: bool = False,
    **options: Unpack[FitArguments],
) -> CrossFit:
    """Fit a rule, and estimate what it reaches on new rows: by cross-fitting.

    Parameters
    ----------
    y_true, y_score, average : as in `fit_empirical`
        Or a source of such rows as `y_true`, with `y_score` left out (docs/scale.md).
    rule : any rule by its name, as in `fit`, in place of an average, a guard and `per_label`
        None (default): thresholds, by these.
    cv : a number of folds, which `multilabel_folds` makes, (n_samples,) fold numbers (rows of negative number are
        fitted on, never judged), pairs of row numbers (fit on, judge on), or an object with scikit-learn's
        `split(X, y, groups)`
    groups : (n_samples,) names or numbers: rows of a group stay in one fold; for a number of folds and for `split`
        A guard takes them for alike, and with `confidence` promises are about new groups, as in `fit_empirical`.
    random_state : seed of the folds; the same each time with 0 (default), others with None
    verdicts : tell which labels may be relied on
        That takes a quarter of the time, or less. The curves that `diff_rules` needs
        (`rule.odds`) are fitted in any case.
    alternatives : cross-fit one threshold for all labels, too, and, if there is no guard, with one
        That takes up to three times as long again, and says whether such a rule would do better on new rows.
    sample_weight, missing, unknown, label_names, and the options from `beta` on : as in `fit_empirical`
        But for `guard`, whose default is "auto": the rule is fitted for rows that the fit has not seen, so by "shrink"
        for macro and weighted F, by "pool" for micro F. None is the best on the rows of the fit (docs/guards.md).

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
    >>> found = thresholds.cross_fit(y_true, y_score, guard=None)
    >>> found.in_sample > found.out_of_fold
    True
    """
    fit = FitOptions(average=average, rule=rule, **options)
    _checks.option(verdicts, "verdicts", (True, False))
    _checks.option(alternatives, "alternatives", (True, False))
    rows = in_folds(
        y_true,
        y_score,
        cv=cv,
        groups=groups,
        random_state=random_state,
        sample_weight=sample_weight,
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=fit.keep_sparse,
        looked_at=fit.looks_at_groups,
    )
    if fit.confidence is not None:
        warn_of_copies(rows.problem)
    return cross_fit_rows(rows, fit, verdicts=verdicts, alternatives=alternatives)


class RowsInFolds(NamedTuple):
    """What cross-fits of several rules share."""

    problem: Problem
    pairs: Folds
    folds: Ints  # (n_samples,), the fold that each row is judged in, -1 for none
    how: str
    seed: int | None
    groups: object  # as given, in the order of the rows; so is `sample_weight`
    sample_weight: object

    @property
    def given_weights(self) -> Any:
        """The weights as an array, None where there are none."""
        return None if self.sample_weight is None else np.asarray(self.sample_weight)


def in_folds(
    y_true: object,
    y_score: object,
    *,
    cv: object,
    groups: object,
    random_state: int | None,
    sample_weight: object,
    missing: float,
    unknown: object,
    label_names: object,
    keep_sparse: bool | None,
    looked_at: bool = True,
) -> RowsInFolds:
    """Check rows, and choose those that each fold is fitted on and judged on; arguments as in `cross_fit`.

    Groups go with folds that are made already only where they are `looked_at` by a fit, too.
    """
    # Put rows and labels in the order of the scores.
    beside = {"y_score": y_score, "y_true": y_true}
    sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
    groups = _checks.aligned_rows(groups, "groups", **beside)
    cv = _checks.aligned_rows(cv, "cv", **beside)
    y_true, y_score, label_names = _checks.aligned(
        y_true, "y_true", y_score, "y_score", label_names, unknown=unknown
    )
    problem = Problem.of(
        y_true,
        y_score,
        sample_weight=sample_weight,
        groups=groups if looked_at else None,  # else they are the splitter's to judge
        missing=missing,
        unknown=unknown,
        label_names=label_names,
        keep_sparse=keep_sparse,
    )

    # Choose the rows that each fold is fitted on and judged on.
    counts = problem.unit_weights is not None or problem.rows_with_known is not None
    weighted = problem.row_weights > 0 if counts else None  # (n_samples,)
    of_folds = groups if _makes_folds(cv) or not looked_at else None
    pairs, how = split_rows(cv, problem.truth, y_true, weighted, of_folds, random_state)
    judged_rows = np.concatenate([test for _, test in pairs])
    _refuse_folds_without_weight(problem, pairs, judged_rows)
    folds = np.full(problem.n_samples, -1)
    for k, (_, test) in enumerate(pairs):
        folds[test] = k
    seed = seed_of_folds(how, random_state)
    return RowsInFolds(problem, pairs, folds, how, seed, groups, sample_weight)


def _makes_folds(cv: object) -> bool:
    """Whether folds are made here, or by a splitter, not given."""
    return isinstance(cv, Integral) or hasattr(cv, "split")


def cross_fit_rows(
    rows: RowsInFolds, fit: FitOptions, *, verdicts: bool, alternatives: bool = False
) -> CrossFit:
    """Fit a rule, and estimate what it reaches on new rows."""
    problem, pairs, folds, how = rows[:4]

    # What is asked of labels beside the fits: the odds at which their thresholds lie, so that a change of these can be
    # told from noise; and what the scores know of them on the rows that are judged, for verdicts.
    judged_rows = np.flatnonzero(folds >= 0)
    judged = problem if judged_rows.size == folds.size else problem.at_rows(judged_rows)
    criteria = Criteria()
    curves, tests = CurveFits(problem), LabelTests(judged, criteria)
    tells_verdicts = verdicts and rows.sample_weight is None
    are_tested_here = tells_verdicts and judged is problem
    questions: list[Question] = [curves, tests] if are_tested_here else [curves]

    # Fit on all rows and on those outside each fold; the rules of the folds judge the rows that they have not seen.
    weights = rows.given_weights
    run: Any = {"n_jobs": fit.n_jobs, "progress": fit.progress}
    fitted, fold_rules, answers = fit_with_folds(problem, fit, pairs, weights, questions)
    decided = decide_out_of_fold(fold_rules, problem, pairs, n_jobs=fit.n_jobs)
    held_out = JudgedRules(
        {"": decided[judged_rows]}, judged, beta=fit.beta, zero_division=fit.zero_division
    )
    out_of_fold = held_out.counts[""].by_label

    # Fits that did not go together have not answered yet.
    if answers is None:
        asked = questions if isinstance(fitted, ThresholdRule) else questions[1:]
        answers = ask(problem, asked, **run) if asked else []
    evidence = None
    if are_tested_here:
        evidence = all_evidence(answers[-1])
    elif tells_verdicts:
        evidence = evidence_of(judged, criteria, **run)

    record: dict[str, Any] = {
        "out_of_fold": OutOfFold(
            held_out.figure("", fit.average),
            len(pairs),
            how,
            rows.seed,
            _in_weights(out_of_fold, rows),
        )
    }
    fold_thresholds = np.full((len(pairs), problem.n_labels), np.nan)
    if isinstance(fitted, ThresholdRule):
        record["odds"] = curves.odds(np.concatenate(answers[0], axis=1), fitted.thresholds)
        of_folds: list[Any] = fold_rules  # of one kind
        fold_thresholds = np.stack([fold_rule.thresholds for fold_rule in of_folds])

    # Floors that were promised with a confidence.
    promises: dict[str, Any] = {}
    row_promises: tuple[RowPromise, ...] = ()
    if fit.confidence is not None:
        by_fold = [count_decisions(decided[test], problem.at_rows(test)) for _, test in pairs]
        promises = promises_out_of_fold(fold_rules, by_fold)
        row_promises = row_promises_out_of_fold(fold_rules, by_fold)
    return CrossFit(
        rule=replace(fitted, **record),
        in_sample=in_sample(fitted, problem, fit),
        out_of_fold=record["out_of_fold"].f,
        folds=folds,
        fold_thresholds=fold_thresholds,
        spread=_spread(problem, fitted, fold_rules, fold_thresholds, out_of_fold, fit, promises),
        how=how,
        alternatives=alternatives_to(decided, problem, fit, pairs, weights, folds)
        if alternatives
        else (),
        diagnosis=None
        if evidence is None
        else conclude_from(out_of_fold, judged, fitted, evidence, criteria),
        row_promises=row_promises,
        name=fit.rule,
        average=fit.average,
    )


def in_sample(rule: Rule, problem: Problem, options: FitOptions) -> float:
    """Return the F-measure of a rule on the labels of its fit; the objective of one without labels is another."""
    if options.named.needs_labels:
        assert rule.objective is not None, "fits have one"
        return rule.objective
    judged = judge(rule, problem, by_row=options.average == "samples")
    return f_measure(
        judged, problem.sample_weight, options.average, options.beta, options.zero_division
    )


def _refuse_folds_without_weight(
    problem: Problem, pairs: list[tuple[Ints, Ints]], judged_rows: Ints
) -> None:
    """Refuse folds all of whose rows, to be fitted on or judged, weigh nothing."""
    if problem.rows_with_known is not None:
        known = problem.known_in_row  # (n_samples,)
        if not known[judged_rows].any():
            raise InputError("y_true has no known cell in the rows that cv judges, expected some")
        for k, (train, _) in enumerate(pairs):
            if not known[train].any():
                raise InputError(
                    f"y_true has no known cell in the rows that fold {k} of cv is fitted on, expected some"
                )
    if problem.unit_weights is None:
        return
    weights = problem.row_weights  # (n_samples,)
    if not weights[judged_rows].any():
        raise InputError(
            "sample_weight is 0 for every row that cv judges, expected at least one positive weight"
        )
    for k, (train, _) in enumerate(pairs):
        if not weights[train].any():
            raise InputError(
                f"sample_weight is 0 for every row that fold {k} of cv is fitted on, expected some weight"
            )


def _in_weights(by_label: ConfusionCounts, rows: RowsInFolds) -> LabelCounts:
    """Return counts in the caller's weights; metrics count in a unit of their own."""
    counts, problem = by_label, rows.problem
    if rows.sample_weight is not None:
        _, unit = _checks.weights_of_rows(rows.sample_weight, problem.n_samples)
        counts = replace(by_label, unit=unit)
    weight: Any = counts.total
    if problem.unknown is not None:  # That of the judged rows with a known cell.
        judged = (rows.folds >= 0) & (problem.known_in_row > 0)  # (n_samples,)
        weights = problem.sample_weight
        weight = np.count_nonzero(judged) if weights is None else weights[judged].sum().item()
    return LabelCounts.from_counts(weight * (counts.unit or 1), counts)


def _spread(
    problem: Problem,
    rule: Rule,
    fold_rules: Sequence[Rule],
    fold_thresholds: Floats,
    out_of_fold: ConfusionCounts,
    options: FitOptions,
    promises: Mapping[str, Any],
) -> npt.NDArray[Any]:
    """Lay out the thresholds of the folds, how many rows their extremes predict, and what F each label reaches."""
    n_jobs: int | None = 1  # Other rules have threads of their own.
    threshold = np.full(problem.n_labels, np.nan)
    extremes = fold_rules
    if isinstance(rule, ThresholdRule):
        n_jobs = options.n_jobs
        threshold = rule.thresholds
        # Of all thresholds of a label the lowest predicts most.
        extremes = [
            ThresholdRule(bound, missing=problem.missing)
            for bound in (fold_thresholds.min(axis=0), fold_thresholds.max(axis=0))
        ]
    shares = np.stack([_predicted(problem, extreme, n_jobs) for extreme in extremes])
    counts = judge(rule, problem, n_jobs=n_jobs).by_label
    figure = f_score(options.beta)
    return rows_of(
        {
            "name": names_of(problem.label_names, problem.n_labels),
            "n_positives": positives_of(problem) * problem.unit,
            "threshold": threshold,
            "lowest": fold_thresholds.min(axis=0),
            "median": np.sort(fold_thresholds, axis=0)[len(fold_thresholds) // 2],
            "highest": fold_thresholds.max(axis=0),
            "predicted_most": shares.max(axis=0),
            "predicted_least": shares.min(axis=0),
            "f_in_sample": each(figure, counts, options.zero_division),
            "f_out_of_fold": each(figure, out_of_fold, options.zero_division),
            **promises,
        }
    )


def _predicted(problem: Problem, rule: Rule, n_jobs: int | None) -> Floats:
    """Return the share of rows, by weight, that a rule predicts of each label; 0 of one without a known row."""
    counts = judge(rule, problem, n_jobs=n_jobs).by_label
    total = np.where(np.equal(counts.total, 0), 1, counts.total)
    return np.asarray(counts.predicted / (total * (counts.unit or 1)))
