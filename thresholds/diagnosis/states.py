"""One row of figures and a state for each label."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._checks import InputError, Placement
from thresholds.data.problem import Problem
from thresholds.diagnosis.evidence import FEWEST, Criteria, Evidence, evidence_of
from thresholds.diagnosis.result import COLUMNS, STATES, Diagnosis, reason
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import judge
from thresholds.results import names_of, rows_of
from thresholds.rule import Rule, ThresholdRule
from thresholds.search.placement import place
from thresholds.significance import rejected


def diagnose(
    y_true: object,
    y_score: object,
    rule: Rule,
    *,
    alpha: float = 0.05,
    min_auroc: float = 0.7,
    overprediction: float = 3.0,
    random_state: int | None = 0,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Diagnosis:
    """Tell which labels a rule predicts far too often although the scores know little of them.

    Predicting a label nearly always is what maximises its F1 where the scores know nothing (Lipton et al. 2013,
    section 6, the "platypus"). A label is

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
    6. "ok".

    Parameters
    ----------
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
        Best rows that the rule was not fitted on, but the states allow for the choice of thresholds: evidence is about
        scores and truth, not about the rule.
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
    random_state : accepted so that every call can be seeded; nothing is drawn
    n_jobs : threads; -1 for all cores the process may use, None for one
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    Diagnosis

    Raises
    ------
    InputError
        For bad arrays and options, and a rule of another number of labels.

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
    >>> thresholds.diagnose(y_true, y_score, rule).state.tolist()
    ['ok', 'platypus']
    """
    if not isinstance(rule, Rule):
        raise InputError(f"rule is {_checks.shown(rule)}, expected a rule")
    criteria = Criteria(
        alpha=_inside(alpha, "alpha"),
        min_auroc=_inside(min_auroc, "min_auroc"),
        overprediction=_checks.positive(overprediction, "overprediction"),
    )
    if random_state is not None:
        _checks.count(random_state, "random_state", 0)
    y_true, y_score, names = _checks.aligned(y_true, "y_true", y_score, "y_score", rule.label_names)
    problem = replace(
        Problem.of(y_true, y_score, missing=rule.missing, n_jobs=n_jobs), label_names=names
    )
    rule.validate(problem.scores)
    rule.warn_if_changed(problem.scores)
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)
    return conclude(problem, rule, evidence, criteria)


def conclude(problem: Problem, rule: Rule, evidence: Evidence, criteria: Criteria) -> Diagnosis:
    """Hold what a rule predicts against the evidence on the same rows."""
    counts = judge(rule, problem).by_label
    placement: Placement = getattr(rule, "placement", None) or "low"
    columns = _figures(counts, problem.n_samples, evidence) | {
        "name": names_of(problem.label_names, problem.n_labels),
        "threshold": rule.thresholds
        if isinstance(rule, ThresholdRule)
        else np.full(problem.n_labels, np.nan),
        "informative": rejected(evidence.p_informative, criteria.alpha),
        "state": states_of(counts, evidence, criteria),
    }
    columns["reason"] = np.array(
        [reason(columns, j, criteria.min_auroc) for j in range(problem.n_labels)]
    )
    return Diagnosis(
        table=rows_of({name: columns[name] for name in COLUMNS}),
        **criteria._asdict(),
        n_samples=problem.n_samples,
        label_names=problem.label_names,
        caps=place(evidence.cap_score, evidence.cap_lower, placement, problem.scores.dtype),
        cap_predicted=evidence.cap_predicted,
    )


def states_of(
    counts: ConfusionCounts, evidence: Evidence, criteria: Criteria
) -> npt.NDArray[np.str_]:
    """Return the state of each label from what a rule predicts, counted without weights, and the evidence."""
    _, predicted, positives = counts.sums
    with np.errstate(divide="ignore", invalid="ignore"):
        over = predicted / positives > criteria.overprediction

    # What the tests say, each with its own false discovery rate.
    backwards = are_backwards(evidence, criteria)
    informative = rejected(evidence.p_informative, criteria.alpha)
    uninformative = rejected(evidence.p_uninformative, criteria.alpha)
    useless = uninformative & ~informative
    undetermined = (positives < FEWEST) | ~(informative | uninformative)

    # The first that applies, in the order of STATES.
    conditions = [backwards, over & useless, over & undetermined, positives == 0, over]
    return np.select(conditions, STATES[:-1], STATES[-1])


def are_backwards(evidence: Evidence, criteria: Criteria) -> npt.NDArray[np.bool_]:
    """Whether each label is shown to rank backwards, and not shown to have some positives at the top all the same."""
    return rejected(evidence.p_backwards, criteria.alpha) & ~rejected(
        evidence.p_informative, criteria.alpha
    )


def _figures(counts: ConfusionCounts, n: int, evidence: Evidence) -> dict[str, npt.NDArray[Any]]:
    """Return the figures of each label; 0/0 is NaN."""
    _, predicted, positives = counts.sums
    with np.errstate(divide="ignore", invalid="ignore"):
        f_predict_all = 2 * positives / (positives + n)
        f = counts.f_score()
        return {
            "n_positives": positives,
            "base_rate": positives / n,
            "predicted_positive": predicted,
            "predicted_rate": predicted / n,
            "overprediction": predicted / positives,
            "precision": counts.precision(),
            "recall": counts.recall(),
            "f": f,
            "f_predict_all": f_predict_all,
            "lift": f / f_predict_all,
            "best_f": evidence.best_f,
            "auroc": evidence.auroc,
            "p_informative": evidence.p_informative,
            "p_uninformative": evidence.p_uninformative,
            "p_backwards": evidence.p_backwards,
        }


def _inside(value: object, name: str) -> float:
    """Check a number between 0 and 1, neither of them."""
    number = _checks.real(value, name)
    if not 0 < number < 1:
        raise InputError(f"{name} is {number}, expected a number between 0 and 1")
    return number
