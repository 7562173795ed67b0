"""Rules side by side, judged on rows that were not used for fitting them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Unpack

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Ints, Matrix
from thresholds._checks import Average, InputError
from thresholds.calibration import (
    CalibratedRule,
    CalibrationMeasures,
    calibrate,
    measure_calibration,
)
from thresholds.calibration.measures import UNKNOWN
from thresholds.data.folds import SEED, STRATIFIED, multilabel_folds
from thresholds.data.problem import Problem
from thresholds.diagnosis.by_state import first_names
from thresholds.diagnosis.evidence import Criteria, Evidence, evidence_of
from thresholds.diagnosis.result import backwards_in_brief
from thresholds.diagnosis.states import are_backwards, states_of
from thresholds.fitting.empirical import fit_empirical
from thresholds.fitting.expected import fit_expected
from thresholds.fitting.options import FitArguments
from thresholds.fitting.top_k import fit_top_k
from thresholds.guards.options import Guard
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import count_by_label
from thresholds.metrics.judging import f_measure, judge
from thresholds.results import Result, Table, counted, n_more, names_of, records_of
from thresholds.rule import FittedOn, FixedRule, InstanceRule, Rule, ThresholdRule

_OFTEN = 1 / 3  # of the rows: a label predicted more often is worth a look
_NAMED = 3  # labels that rank backwards, in the text


@dataclass(frozen=True, slots=True)
class Measures:
    """What one rule reaches; F-measures with 0/0 counted as 0."""

    rule: str
    micro: float
    macro_supported: float  # over the labels with positives in these rows; NaN if there are none
    macro: float  # over all labels
    weighted: float
    samples: float
    predicted_per_row: float
    labels_predicted_often: int  # predicted on more than a third of the rows
    platypus: (
        int  # labels that `diagnose` calls so: over-predicted, and the scores know little of them
    )
    suspect: int  # over-predicted labels that are undetermined on these rows
    # Of a rule that takes scores for probabilities, how far they are from it on these rows; NaN for others.
    sum_over_positives: float  # sum of the probabilities / number of positives: 1 is calibrated
    calibration_slope: float  # 1 is calibrated, less is over-confident

    def cells(self) -> tuple[str, ...]:
        """Return what a table shows of the rule; nothing of calibration where it is not known."""
        calibration = (self.sum_over_positives, self.calibration_slope)
        return (
            self.rule,
            *(
                f"{value:.4f}"
                for value in (self.micro, self.macro_supported, self.macro, self.samples)
            ),
            f"{self.predicted_per_row:.2f}",
            f"{self.platypus} + {self.suspect}",
            *("" if np.isnan(value) else f"{value:.2f}" for value in calibration),
        )


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Rules by measures."""

    measures: tuple[Measures, ...]
    beta: float
    n_samples: int
    n_labels: int
    n_supported: int  # labels with positives
    gold_per_row: float
    labels_gold_often: int  # labels that are positive on more than a third of the rows
    labels_tested: int  # labels with enough positives, and negatives, to be shown to rank backwards
    backwards: tuple[
        str, ...
    ] = ()  # those that do, as `diagnose` calls them, whatever the rule: names, or positions
    rows: str = ""  # which rows rules were fitted on, and which they are judged on, in words
    fitted_here: tuple[
        str, ...
    ] = ()  # rules fitted on the very rows they are judged on, whose figures are too high

    @property
    def labels_backwards(self) -> int:
        """How many labels rank backwards: AUROC shown to be below 1/2."""
        return len(self.backwards)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: NaN as None, infinite numbers as "inf" and "-inf", as JSON has neither."""
        return super().to_dict() | {"labels_backwards": self.labels_backwards}

    def _records(self) -> list[dict[str, Any]]:
        """Return the measures, one row a rule."""
        return records_of(self.measures)

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the measures of k rules; labels that rank backwards first, which no rule mends, last the rows."""
        if self.backwards:
            names = first_names(self.backwards, _NAMED)
            yield backwards_in_brief(self.labels_backwards, self.labels_tested, names)
        f = f"F{self.beta:g}"
        columns = [
            ("", "", "rule"),
            ("", "micro", f),
            ("macro", f"of {self.n_supported} labels", "with positives"),
            ("macro", "of all", f"{self.n_labels} labels"),
            ("", "samples", f),
            ("labels", "per row", f"(gold {self.gold_per_row:.2f})"),
            ("platypus", "+ suspect", "labels"),
        ]
        if not all(
            np.isnan([row.sum_over_positives, row.calibration_slope]).all() for row in self.measures
        ):
            columns += [
                ("sum of p", "/ positives", "(ideal 1)"),
                ("calibration", "slope", "(ideal 1)"),
            ]
        body = [row.cells()[: len(columns)] for row in self.measures[:k]]
        yield Table([*zip(*columns, strict=True)], body, note=n_more(len(self.measures), k))
        if self.rows:
            yield self.rows


def compare(
    rules: Mapping[str, Rule] | None,
    y_true: object,
    y_score: object,
    *,
    beta: float = 1.0,
    sample_weight: object = None,
    groups: object = None,
    random_state: int | None = SEED,
    missing: float = 0.0,
    label_names: object = None,
) -> Comparison:
    """Judge rules side by side on the same rows: rules that are given, or the usual ones, fitted on half of the rows.

    Parameters
    ----------
    rules : names and rules, or None
        Names and rules: each predicts on `y_score`. Give rows that none was fitted on; a rule of thresholds that was
        fitted on these very rows is named.
        None: the usual rules are fitted on one half of the rows and judged on the other.
        Rules from probabilities alone take `y_score` for probabilities. How good these are on the judged rows stands
        beside them: their sum over the number of positives, and the calibration slope (`measure_calibration`).
        Labels go by name where rules have names; the columns of an array are those of the first rule that has any.
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
    beta : weight of recall in the F-measures
    sample_weight : (n_samples,) non-negative, or None
    groups, random_state : as in `multilabel_folds`, which makes the halves; without `rules`
    missing, label_names : as in `fit_empirical`; without `rules`, which have their own

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        For bad arrays, and for rules of another number of labels or of labels of other names.

    Examples
    --------
    >>> import thresholds
    >>> rules = {"fixed": thresholds.FixedRule(0.5, 2), "first": thresholds.TopKRule(1)}
    >>> result = thresholds.compare(rules, [[1, 0], [0, 1]], [[0.9, 0.6], [0.4, 0.7]])
    >>> [round(row.micro, 2) for row in result.measures]
    [0.8, 1.0]
    """
    if rules is None:
        beside = {"y_score": y_score, "y_true": y_true}
        sample_weight = _checks.aligned_rows(sample_weight, "sample_weight", **beside)
        groups = _checks.aligned_rows(groups, "groups", **beside)
        y_true, y_score, label_names = _checks.aligned(
            y_true, "y_true", y_score, "y_score", label_names
        )
        problem = Problem.of(
            y_true, y_score, sample_weight=sample_weight, missing=missing, label_names=label_names
        )
        return _fit_and_compare(problem, sample_weight, beta, groups, random_state)
    for name, value in (("groups", groups), ("label_names", label_names)):
        if value is not None:
            raise InputError(
                f"{name} is given with rules, expected None: they are for rules that are fitted here"
            )
    if not isinstance(rules, Mapping) or not rules:
        raise InputError(
            f"rules is {_checks.shown(rules)}, expected a mapping of names to rules, or None"
        )
    for name, rule in rules.items():
        if not isinstance(name, str) or not isinstance(rule, Rule):
            raise InputError(
                f"rules has {_checks.shown(name)}: {_checks.shown(rule)}, expected names and rules"
            )
    beta = _checks.beta(beta)
    sample_weight = _checks.aligned_rows(
        sample_weight, "sample_weight", y_score=y_score, y_true=y_true
    )
    y_true, y_score, names = _checks.aligned(
        y_true, "y_true", y_score, "y_score", _common_names(rules)
    )
    problem = replace(Problem.of(y_true, y_score, sample_weight=sample_weight), label_names=names)
    gold = count_by_label(problem.truth, problem.truth, problem.sample_weight)
    of_scores = cache(lambda: _measured_scores(problem))
    evidence = cache(
        lambda missing: evidence_of(replace(_unweighted(problem), missing=missing), Criteria())
    )
    of_labels = evidence(next(iter(rules.values())).missing)
    backwards = are_backwards(of_labels, Criteria())
    fitted_here = _fitted_on(problem, gold.positives, rules)
    return Comparison(
        measures=tuple(
            _measure(name, rule, problem, beta, of_scores, evidence) for name, rule in rules.items()
        ),
        beta=beta,
        n_samples=problem.n_samples,
        n_labels=problem.n_labels,
        n_supported=int(np.count_nonzero(gold.positives)),
        gold_per_row=float(gold.positives.sum() / gold.total),
        labels_gold_often=int(np.count_nonzero(gold.positives > _OFTEN * gold.total)),
        labels_tested=int(np.count_nonzero(~np.isnan(of_labels.p_backwards))),
        backwards=tuple(names_of(names, problem.n_labels)[backwards].tolist()),
        rows=_rows_of_given(problem.n_samples, fitted_here),
        fitted_here=fitted_here,
    )


def _fit_and_compare(
    problem: Problem, sample_weight: object, beta: float, groups: object, random_state: int | None
) -> Comparison:
    """Fit the usual rules on half of the rows, and judge them on the other half."""
    folds = multilabel_folds(
        problem.truth, 2, groups=groups, random_state=random_state
    )  # (n_samples,)
    weights = None if sample_weight is None else np.asarray(sample_weight)

    def half(k: int) -> tuple[Matrix, Matrix, Any]:
        rows = np.flatnonzero(folds == k)
        return problem.truth[rows], problem.scores[rows], None if weights is None else weights[rows]

    truth, scores, row_weights = half(0)
    names = problem.label_names
    rules = fit_all(
        truth,
        scores,
        beta=beta,
        sample_weight=row_weights,
        missing=problem.missing,
        label_names=names,
    )
    n_fitted = truth.shape[0]
    truth, scores, row_weights = half(1)
    judged = compare(rules, truth, scores, beta=beta, sample_weight=row_weights)
    of_groups = "" if groups is None else " of groups"
    seed = "" if random_state is None else f", seed {random_state}"
    how = f"halves {STRATIFIED}{of_groups}{seed}"
    return replace(
        judged, rows=f"fitted on {n_fitted:,} rows, judged on {judged.n_samples:,} others: {how}"
    )


def _fitted_on(problem: Problem, positives: Ints, rules: Mapping[str, Rule]) -> tuple[str, ...]:
    """Name the rules that were fitted on these very rows: as many, with the same positives and scores."""
    names = []
    for name, rule in rules.items():
        if not isinstance(rule, ThresholdRule) or rule.fitted_on is None:
            continue
        # The same labels may have been in another order there.
        order = _checks.places(
            problem.label_names, rule.label_names, "y_score", f"those of rule {name!r}"
        )
        scores = _checks.in_order(problem.scores, order)
        here = FittedOn.of(scores, rule.missing, positives if order is None else positives[order])
        if replace(here, version=rule.fitted_on.version) == rule.fitted_on:
            names.append(name)
    return tuple(names)


def _rows_of_given(n_samples: int, fitted_here: tuple[str, ...]) -> str:
    """Say of rules that were given on which rows they are judged."""
    judged = f"rules as given, judged on {counted(n_samples, 'row')}"
    if not fitted_here:
        return f"{judged}: for a rule that was fitted on any of them, figures are too high"
    names = ", ".join(fitted_here)
    return f"{judged}; fitted on these: {names}, whose figures are too high"


def _common_names(rules: Mapping[str, Rule]) -> tuple[str, ...] | None:
    """Return the label names of the first rule that has any, and refuse rules of labels of other names."""
    known = {name: rule.label_names for name, rule in rules.items() if rule.label_names is not None}
    if not known:
        return None
    first = next(iter(known))
    for name, names in known.items():
        _checks.places(names, known[first], f"rule {name!r}", f"those of rule {first!r}")
    return known[first]


def fit_all(
    y_true: object,
    y_score: object,
    *,
    sample_weight: object = None,
    missing: float = 0.0,
    label_names: object = None,
    **options: Unpack[FitArguments],
) -> dict[str, Rule]:
    """Fit the usual rules on the same rows; of `options`, other rules than those of labels take what they know.

    Rules that look at no labels are left out where scores are no probabilities, outside [0, 1].
    """
    sample_weight = _checks.aligned_rows(
        sample_weight, "sample_weight", y_score=y_score, y_true=y_true
    )
    y_true, y_score, names = _checks.aligned(y_true, "y_true", y_score, "y_score", label_names)
    scores = _checks.scores(y_score)
    of_rows: dict[str, Any] = {"sample_weight": sample_weight, "label_names": names}
    of_f: dict[str, Any] = {
        name: options[name] for name in ("beta", "zero_division") if name in options
    }
    of_run: dict[str, Any] = {
        name: options[name] for name in ("n_jobs", "progress") if name in options
    }
    top = fit_top_k(y_true, y_score, missing=missing, **of_rows, **of_f)

    def fit(average: Average, per_label: bool = True, guard: Guard = None) -> Rule:
        own: FitArguments = {**options, "per_label": per_label, "guard": guard}
        return fit_empirical(y_true, y_score, average, missing=missing, **of_rows, **own)

    rules: dict[str, Rule] = {
        "fixed 0.5": FixedRule(0.5, scores.shape[1], missing=missing, label_names=names),
        f"top-k (k = {top.k})": top,
        "macro": fit("macro"),
        "macro, shrink": fit("macro", guard="shrink"),
        "micro": fit("micro"),
        "micro-shared": fit("micro", per_label=False),
        "samples-shared": fit("samples", per_label=False),
    }
    by_instance = InstanceRule(**of_f, label_names=names)
    if missing == 0 and _are_probabilities(scores):
        rules |= {
            "macro, label-free": fit_expected(scores, "macro", **of_rows, **of_f, **of_run),
            "micro, label-free": fit_expected(scores, "micro", **of_rows, **of_f, **of_run),
            "instance, label-free": by_instance,
        }
    calibrator = calibrate(y_true, y_score, "platt", missing=missing, **of_rows, **of_run)
    return rules | {"instance, Platt": CalibratedRule(calibrator, by_instance)}


def _are_probabilities(scores: Matrix) -> bool:
    """Whether all scores lie in [0, 1]."""
    try:
        _checks.probabilities(scores)
    except InputError:
        return False
    return True


def _measure(
    name: str,
    rule: Rule,
    problem: Problem,
    beta: float,
    of_scores: Callable[[], CalibrationMeasures],
    evidence: Callable[[float], Evidence],
) -> Measures:
    """Judge one rule; `of_scores` measures the scores as probabilities, `evidence` says what they know of labels."""
    rule.validate(problem.scores)
    rule.warn_if_out_of_range(problem.scores)
    judged = judge(rule, problem)
    with_positives = judged.by_label.take(judged.by_label.positives > 0)
    total = judged.by_label.total
    micro, macro, weighted, samples = (
        f_measure(judged, problem.sample_weight, average, beta, 0.0)
        for average in ("micro", "macro", "weighted", "samples")
    )
    counts = (
        judged.by_label
        if problem.unit_weights is None
        else judge(rule, _unweighted(problem)).by_label
    )
    state = states_of(counts, evidence(rule.missing), Criteria())
    calibration = UNKNOWN
    if isinstance(rule, CalibratedRule):
        calibration = rule.calibrator.measure(problem)
    elif isinstance(rule, InstanceRule) or (
        isinstance(rule, ThresholdRule) and rule.expected is not None
    ):
        calibration = of_scores()
    return Measures(
        rule=name,
        micro=micro,
        macro_supported=average_of(f_score(beta), with_positives, "macro", 0.0),
        macro=macro,
        weighted=weighted,
        samples=samples,
        predicted_per_row=float(judged.by_label.predicted.sum() / total),
        platypus=int(np.count_nonzero(state == "platypus")),
        suspect=int(np.count_nonzero(state == "suspect")),
        labels_predicted_often=int(np.count_nonzero(judged.by_label.predicted > _OFTEN * total)),
        sum_over_positives=calibration.sum_over_positives,
        calibration_slope=calibration.slope,
    )


def _unweighted(problem: Problem) -> Problem:
    """Leave out weights, which a diagnosis has no use for."""
    return replace(problem, unit_weights=None, unit=1.0, sample_weight=None)


def _measured_scores(problem: Problem) -> CalibrationMeasures:
    """Measure the scores as probabilities."""
    probabilities = _checks.probabilities(problem.scores, "y_score", problem.label_names)
    return measure_calibration(problem.truth, probabilities, sample_weight=problem.sample_weight)
