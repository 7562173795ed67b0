"""Which labels may be relied on, and which are predicted too often: decisions held against the evidence."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Dense
from thresholds._checks import InputError, Placement
from thresholds._engine.f_measure import f_of_counts
from thresholds._engine.placement import place
from thresholds._engine.problem import Problem
from thresholds._results.plain import objects_of
from thresholds._results.result import rows_of
from thresholds.diagnosis.evidence import (
    Criteria,
    LabelEvidence,
    criteria_of,
    evidence_of,
    shown_of,
)
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.states import reason, states_of
from thresholds.diagnosis.verdicts import Verdicts, verdicts_of
from thresholds.diagnosis.without_labels import expected_diagnosis
from thresholds.metrics.clusters import IndependentShares
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import judge
from thresholds.rule import Rule, ThresholdRule
from thresholds.sources.taking import takes_source

_USUAL = Criteria()
_OF_LABELS = ("min_auroc", "min_f", "min_skill")  # options that need labels


def _checked(rule: object) -> Rule:
    """Refuse what is no rule."""
    if not isinstance(rule, Rule):
        raise InputError(f"rule is {_checks.shown(rule)}, expected a rule")
    return rule


def _check_before_reading(arguments: Mapping[str, Any]) -> bool:
    """Refuse what is no rule; groups are not looked at."""
    _checked(arguments["rule"])
    return False


@takes_source(_check_before_reading)
def diagnose(
    y_true: object,
    y_score: object = None,
    rule: Rule | None = None,
    *,
    alpha: float = 0.05,
    min_auroc: float = 0.7,
    overprediction: float = 3.0,
    min_f: float = 0.5,
    min_skill: float = 0.25,
    unknown: object = None,
    random_state: int | None = 0,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Any:
    """Tell which labels of a rule may be relied on, and which it predicts far too often.

    Each label gets a verdict, from the decisions about these rows. The first that applies:

    1. "usable": its F is shown to be at least a bar, the higher of `min_f` and one above marking every row.
    2. "useless": its AUROC is shown to be below `min_auroc`, and it is not informative, or it ranks backwards.
    3. "missed": it is informative, and the cut that predicts as many rows as are positive is shown to have a higher F
       than the rule's decisions, by .1 at least.
    4. "weak": its F is shown to be below the bar.
    5. "unproven": nothing is shown. `positives_needed` says how many positives would probably be enough.

    F is F-beta of the rule's beta, F1 if it has none. Formulas are in `thresholds.diagnosis.bars`.

    Beside the verdict each label has a state, which says whether it is predicted too often. To predict a label nearly
    always is what maximises its F1 where the scores know nothing (Lipton et al. 2013, section 6, the "platypus"). A
    label is

    - over-predicted: predicted more than `overprediction` times as often as it is true;
    - informative: its positives are shown to score higher than chance would have it;
    - uninformative: its AUROC is shown to be below `min_auroc`;
    - backwards: its AUROC is shown to be below 1/2, and it is not informative.

    The first of these states applies:

    1. "backwards": as above, whatever is predicted. Negated scores would rank better.
    2. "platypus": over-predicted, uninformative and not informative.
    3. "suspect": over-predicted and, on these rows, neither informative nor uninformative. Also: over-predicted with
       fewer than 5 positives, too few to test AUROC, even if informative.
    4. "unsupported": no positives on these rows, and not predicted.
    5. "overpredicted": over-predicted, but not without reason.
    6. "restrained", which says nothing of how good it is.

    Parameters
    ----------
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
        Or a source of such rows as `y_true`, with `y_score` left out, and the rule by its name (docs/scale.md).
        Or None as `y_true`, and probabilities: then the model's own belief is all that is told, in an
        `ExpectedDiagnosis` (`thresholds.diagnosis.without_labels`), for which only `overprediction` and `alpha` can be
        chosen.
        Rows that the rule was not fitted on. On those of its fit verdicts flatter it, and say so. The states allow for
        the choice of thresholds: evidence is about scores and truth, not about the rule.
        Rows count as independent. Of repeats, and of groups such as images of one patient, give one each, else
        p-values are too small.
    rule : any rule; absent entries of a sparse `y_score` get its `missing`
    alpha : in (0, 1), the false discovery rate of each test, over all labels that can be tested
        In simulations with 20 % useless labels, fewer than `alpha` of the labels flagged "platypus" were useful ones
        (experiments/diagnosis).
    min_auroc : in (0, 1), the AUROC from which scores count as knowing a label
        Where scores are lists of the top few, cutting them off lowers the AUROC itself, and more flags are about
        labels that complete scores would know: ask for less there.
    overprediction : positive, predictions over positives from which a label is over-predicted
    min_f : in (0, 1), the F from which a label may be usable
        At an F1 of 1/2, of the rows that are marked or should be, one in three is marked rightly: of 100 marked 50 are
        right, and as many are missed, or fewer of the one and more of the other. Below, whoever checks the marks
        throws out more than they keep, or misses more than they find.
    min_skill : in [0, 1), how far above marking every row: a share of the way from the F of that to 1
        To mark every row has an F1 of 2 b / (1 + b) for base rate b, .57 for b = .4, whatever the scores are.
    unknown : what stands in `y_true` for truth that is not known, as in `fit_empirical`
        Each label is judged and tested on the rows in which it is known.
    random_state : accepted so that every call can be seeded; nothing is drawn
    n_jobs : threads; -1 for all cores the process may use, None for one
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    Diagnosis, or ExpectedDiagnosis without labels

    Raises
    ------
    InputError
        For bad arrays and options, and a rule of another number of labels; without labels, for options that need some.

    Notes
    -----
    Each test is Benjamini & Hochberg's procedure at `alpha` on p-values of the labels, which are exact or in closed
    form. Each has its own false discovery rate: where no label is known at all, some label is called informative with a
    probability of at most `alpha`, and some label backwards with one of at most `alpha` / 2.

    With fewer than 5 positives or negatives, p_uninformative and p_backwards are undetermined (NaN).

    p_informative = min(1, 2 min(p of ranks, p of best F1)).

    1. p of ranks is that of Mann and Whitney, one-sided, normal, corrected for ties and continuity. Where one score is
       shared by more than a tenth of the rows, it is given how many positives lie outside it.
    2. p of the best F1 over all cuts is exact: its distribution over all ways to place the positives on the rows is
       computed, not sampled, so that it reaches the small p-values that many labels need.
       It is left out where ranks alone have p <= 1e-12.
       It is replaced by an upper bound where it would take more than 2^31 steps, rows times the spread of the count:
       for labels with thousands of positives among millions of rows.

    p_uninformative is the larger of two one-sided p-values for AUROC >= `min_auroc`, with the variances of DeLong et
    al. 1988 and of Hanley & McNeil 1982.

    p_backwards is two-sided: twice the larger of two one-sided p-values for AUROC >= 1/2.

    1. That of ranks, for scores that say nothing.
    2. That of Welch's t of the placements, with 0 and 1 added to those of each class as in Agresti & Caffo 2000, for
       positives that score both higher and lower than the rest. It is approximate; simulated, it errs on the safe side
       for normal scores (docs/guards.md).

    5 positives below all others have p_backwards = .047, 7 have .008, 10 have .0004.

    References
    ----------
    Lipton et al. 2013, sections 5.3, 6 and 7.1. Benjamini & Hochberg 1995, "Controlling the false discovery rate".
    Agresti & Caffo 2000, "Simple and effective confidence intervals for proportions and differences of proportions".

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((2000, 2)) < [0.2, 0.02]
    >>> y_score = rng.normal(size=(2000, 2)) + [2, 0] * y_true  # nothing is known of the second label
    >>> rule = thresholds.ThresholdRule([1.3, -1.0], label_names=["cat", "platypus"])
    >>> diagnosis = thresholds.diagnose(y_true, y_score, rule)
    >>> diagnosis.verdict.tolist()
    ['usable', 'useless']
    >>> diagnosis.state.tolist()
    ['restrained', 'platypus']
    """
    rule = _checked(rule)
    criteria = criteria_of(alpha, min_auroc, overprediction, min_f, min_skill)
    if random_state is not None:
        _checks.count(random_state, "random_state", 0)
    if y_true is None and y_score is not None:
        _refuse_options_of_labels(criteria, unknown)
        return expected_diagnosis(y_score, rule, criteria)
    y_true, y_score, names = _checks.aligned(
        y_true, "y_true", y_score, "y_score", rule.label_names, unknown=unknown
    )
    problem = Problem.of(y_true, y_score, missing=rule.missing, unknown=unknown)
    problem = replace(problem, label_names=names)
    rule.validate(problem.scores)
    rule.warn_if_changed(problem.scores)
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)
    counts = judge(rule, problem).by_label
    on_own_rows = was_fitted_on(rule, problem)
    return conclude_from(counts, problem, rule, evidence, criteria, on_own_rows=on_own_rows)


def _refuse_options_of_labels(criteria: Criteria, unknown: object) -> None:
    """Refuse what can only be asked of labels where there are none."""
    given = [name for name in _OF_LABELS if getattr(criteria, name) != getattr(_USUAL, name)]
    if unknown is not None:
        given.append("unknown")
    if given:
        raise InputError(
            f"{given[0]} is given with y_true=None, expected labels: it is about these"
        )


def conclude_from(
    counts: ConfusionCounts,
    problem: Problem,
    rule: Rule,
    evidence: LabelEvidence,
    criteria: Criteria,
    *,
    on_own_rows: bool = False,
    independent: IndependentShares | None = None,
) -> Diagnosis:
    """Hold decisions against the evidence on the same rows: those of the rule, or its out-of-fold ones; no weights.

    `independent` as in `verdicts_of`.
    """
    verdicts = verdicts_of(
        counts,
        problem.n_samples,
        evidence,
        criteria,
        problem.label_names,
        beta=rule.beta,
        on_own_rows=on_own_rows,
        has_thresholds=isinstance(rule, ThresholdRule),
        has_limits=isinstance(rule, ThresholdRule) and rule.has_limits,
        independent=independent,
    )
    placement: Placement = getattr(rule, "placement", None) or "low"
    caps = place(evidence.cap_score, evidence.cap_lower, placement, problem.scores.dtype)
    return Diagnosis(
        table=_table(counts, rule, evidence, criteria, verdicts),
        verdicts=verdicts,
        **criteria._asdict(),
        n_samples=problem.n_samples,
        label_names=problem.label_names,
        caps=caps,
        cap_predicted=evidence.cap_predicted,
    )


def _table(
    counts: ConfusionCounts,
    rule: Rule,
    evidence: LabelEvidence,
    criteria: Criteria,
    verdicts: Verdicts,
) -> Dense:
    """Lay out what is known of each label; 0/0 is NaN."""
    judged = verdicts.table
    _, predicted, positives = counts.sums
    n = judged["n_rows"]
    f_predict_all = f_of_counts(positives, n, positives, verdicts.beta, np.nan)
    threshold = np.full(n.size, np.nan)
    if isinstance(rule, ThresholdRule):
        threshold = rule.thresholds
    informative, _, _ = shown_of(evidence, criteria)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = {
            "name": judged["name"],
            "n_rows": n,
            "n_positives": positives,
            "base_rate": positives / n,
            "threshold": threshold,
            "predicted_positive": predicted,
            "predicted_rate": predicted / n,
            "overprediction": predicted / positives,
            "precision": judged["precision"],
            "recall": judged["recall"],
            "f": judged["f"],
            "f_predict_all": f_predict_all,
            "lift": judged["f"] / f_predict_all,
            "best_f": evidence.best_f,
            "auroc": evidence.auroc,
            "p_informative": evidence.p_informative,
            "p_uninformative": evidence.p_uninformative,
            "p_backwards": evidence.p_backwards,
            "informative": informative,
            "state": states_of(counts, evidence, criteria),
        }
    labels = objects_of(rows_of(columns))
    columns["reason"] = np.array([reason(label, criteria.min_auroc) for label in labels])
    of_verdicts = ("verdict", "f_low", "f_high", "bar", "positives_needed", "sentence")
    return rows_of(columns | {name: judged[name] for name in of_verdicts})
