"""How much more truth is needed, of which labels: what is open, how many rows would decide it, what ten more gain."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays.types import Booleans, Floats
from thresholds._checks import InputError
from thresholds._engine.best_cuts import all_steps
from thresholds._engine.problem import Problem
from thresholds._results.fields import objects_of
from thresholds._results.result import rows_of
from thresholds.diagnosis.bars import Marked, two_digits
from thresholds.diagnosis.enough import More
from thresholds.diagnosis.evidence import FEWEST, Criteria, LabelEvidence, criteria_of, evidence_of
from thresholds.diagnosis.learning import Learning, Resampling, learn
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.diagnosis.plan import COLUMNS, QUESTIONS, AnnotationPlan, sentence_on
from thresholds.diagnosis.questions import (
    Answer,
    of_f,
    of_first,
    of_precision,
    of_recall,
    of_scores,
)
from thresholds.diagnosis.states import states_of
from thresholds.diagnosis.verdicts import Verdicts, verdicts_of
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import judge
from thresholds.rule import Rule, ThresholdRule
from thresholds.rule.guarantees import Guarantees
from thresholds.significance import rejected


def plan_annotation(
    y_true: object,
    y_score: object,
    rule: Rule | None = None,
    *,
    more_rows: int = 10,
    alpha: float = 0.05,
    min_auroc: float = 0.7,
    overprediction: float = 3.0,
    min_f: float = 0.5,
    min_skill: float = 0.25,
    missing: float = 0.0,
    unknown: object = None,
    label_names: object = None,
    keep_sparse: bool | None = None,
    n_bootstraps: int = 100,
    random_state: int = 0,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> AnnotationPlan:
    """Tell how many more rows must be annotated to decide what is open, and of which labels ten more would gain most.

    The first of these questions that is open of a label is asked:

    1. "positives": is it ever true? No row is, so far.
    2. "negatives": is it ever false? All rows are true.
    3. "scores": do its scores know it? `diagnose` calls it suspect, or its verdict is unproven and it is neither shown
       to be informative nor shown to have an AUROC below `min_auroc`.
    4. "precision", "recall": is a floor kept? The rule was asked to promise it (`confidence`), and could not show it.
    5. "f": is its F above the bar? Its verdict is unproven.

    Each is answered by a test. The number of positives that is needed is that at which the test will have decided with
    a probability of 80 %, if new rows are like those so far, allowing for how little is known of those
    (`thresholds.diagnosis.enough`); the bounds are those for 10 % and 90 %. Rows are such that they bring so many.

    The gain is that of macro F when the label's threshold is fitted again with `more_rows` more rows, drawn at random:
    a part of the F that is lost to choosing it on few rows (`thresholds.diagnosis.learning`), divided by the number of
    labels. It is about fits without a guard; a guard loses less.

    Parameters
    ----------
    y_true, y_score : (n_samples, n_labels), as in `fit_empirical`
        Rows count as independent, and new ones as drawn from where these were.
    rule : the rule in use; None to judge the cut of each label that predicts as many rows as are positive, which is not
        chosen by what it reaches
        Give it rows that the rule was not fitted on, as in `diagnose`: others flatter its F.
        Floors are those of its `guarantees`.
    more_rows : how many more rows the gain is about
    alpha, min_auroc, overprediction, min_f, min_skill : as in `diagnose`
    missing, label_names : as in `fit_empirical`; with a rule those of the rule
    unknown : what stands in `y_true` for truth that is not known, as in `fit_empirical`
        Each label is looked at on the rows in which it is known, and more rows are cells of it that become known.
    keep_sparse : as in `fit_empirical`, for the fits whose gain is foreseen
    n_bootstraps : replicates of the rows, of which the loss is estimated; at least 2, fewer are drawn where there are
        more than a million positives
    random_state : seed of the replicates
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    AnnotationPlan : one row a label, those first that gain most; ties as the labels are ordered

    Raises
    ------
    InputError
        As `diagnose`; for less than one more row, fewer than 2 replicates, names beside a rule.

    Notes
    -----
    All numbers are about rows drawn at random from where these came from. Rows that are chosen by their score change
    what a test of ranks, a recall or an F on them means. They may answer two questions, for which `top_rows_needed` is
    given: whether a label is ever true, and whether the precision of a cut keeps its floor.

    References
    ----------
    Spiegelhalter, Freedman and Blackburn 1986, "Monitoring clinical trials: conditional or predictive power?". Noether
    1987, "Sample size determination for some common nonparametric tests". Kim and Pollard 1990, "Cube root
    asymptotics". Formulas are in `thresholds.diagnosis.questions` and `thresholds.diagnosis.learning`.

    Examples
    --------
    >>> import numpy as np, thresholds
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random((500, 3)) < [0.2, 0.02, 0]
    >>> y_score = rng.normal(size=(500, 3)) + 2 * y_true
    >>> plan = thresholds.plan_annotation(y_true, y_score, label_names=["cat", "dog", "emu"])
    >>> plan.table[["name", "question", "n_positives", "positives_needed"]].tolist()
    [('emu', 'positives', 0, 1.0), ('dog', 'f', 12, 430.0), ('cat', '', 108, nan)]
    """
    if rule is not None and not isinstance(rule, Rule):
        raise InputError(f"rule is {_checks.shown(rule)}, expected a rule or None")
    if rule is not None and label_names is not None:
        raise InputError("label_names is given beside a rule, expected None: its names are taken")
    criteria = criteria_of(alpha, min_auroc, overprediction, min_f, min_skill)
    more_rows = _checks.count(more_rows, "more_rows", 1)
    n_bootstraps = _checks.count(n_bootstraps, "n_bootstraps", 2)
    beta = 1.0 if rule is None else rule.beta
    resampling = Resampling(beta, n_bootstraps, _checks.seed(random_state))
    names = label_names if rule is None else rule.label_names
    y_true, y_score, names = _checks.aligned(
        y_true, "y_true", y_score, "y_score", names, unknown=unknown
    )
    problem = Problem.of(
        y_true,
        y_score,
        missing=missing if rule is None else rule.missing,
        unknown=unknown,
        label_names=names if rule is None else None,
        keep_sparse=keep_sparse,
    )
    if rule is not None:
        problem = replace(problem, label_names=names)
        rule.validate(problem.scores)
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)

    # What is open, as the rule decides, or as the cut does that predicts as many rows as are positive.
    counts = _counts_of(problem, evidence) if rule is None else judge(rule, problem).by_label
    verdicts = verdicts_of(
        counts,
        problem.n_samples,
        evidence,
        criteria,
        problem.label_names,
        beta=resampling.beta,
        on_own_rows=rule is not None and was_fitted_on(rule, problem),
        has_thresholds=isinstance(rule, ThresholdRule),
        has_limits=isinstance(rule, ThresholdRule) and rule.has_limits,
    )
    asked = _Asked(
        problem,
        Marked(*counts.sums.astype(np.float64)),
        evidence,
        verdicts,
        criteria,
        is_suspect=states_of(counts, evidence, criteria) == "suspect",
    )
    floors = _floors_of(rule, problem.n_labels)
    questions = _questions(asked, floors)

    # What would decide it, and what more rows gain.
    is_useless = verdicts.verdict == "useless"
    learning = learn(problem, resampling, is_useless, more_rows, n_jobs=n_jobs, progress=progress)
    columns = _columns(questions, _answer(questions, asked, floors, learning), asked, floors)
    columns["loss"] = learning.loss
    columns["gain"] = learning.gain / problem.n_labels

    # Those first that gain most.
    order = np.argsort(-learning.gain, kind="stable")
    columns = {name: columns[name][order] for name in COLUMNS if name in columns}
    rows = objects_of(rows_of(columns))
    beside = floors.recall_beside[order].tolist()
    columns["sentence"] = np.array(
        [
            sentence_on(row, criteria.alpha, verdicts.beta, recall)
            for row, recall in zip(rows, beside, strict=True)
        ]
    )
    return AnnotationPlan(
        table=rows_of({name: columns[name] for name in COLUMNS}),
        n_samples=problem.n_samples,
        more_rows=more_rows,
        **criteria._asdict(),
        beta=resampling.beta,
        on_own_rows=verdicts.on_own_rows,
        label_names=problem.label_names,
    )


class _Asked(NamedTuple):
    """What the questions are about."""

    problem: Problem
    marked: Marked  # by the rule
    evidence: LabelEvidence
    verdicts: Verdicts
    criteria: Criteria
    is_suspect: Booleans


class _Floors(NamedTuple):
    """Floors that a rule could not show; (n_labels,) each, NaN for none."""

    precision: Floats
    recall_beside: Floats  # that is to be kept by the same cut
    recall: Floats
    positives_needed: Floats  # for that of recall
    delta: Floats  # the error that the floor of precision is allowed


def _floors_of(rule: Rule | None, n_labels: int) -> _Floors:
    """Return what a rule was asked to promise of labels and does not; floors of all labels together are of none.

    Two floors of a label halve the error; those of a family share it. (The sequence of tests of a precision has several
    starts, which ask for a little more.)
    """
    guarantees = None if rule is None else rule.guarantees
    if not isinstance(guarantees, Guarantees):
        return _Floors(*np.full((5, n_labels), np.nan))
    of_precision = np.where(guarantees.precision_shown, np.nan, guarantees.min_precision)
    of_recall = np.where(guarantees.recall_shown, np.nan, guarantees.min_recall)
    has_both = ~np.isnan(guarantees.min_precision) & ~np.isnan(guarantees.min_recall)
    n_sharing = 1 if guarantees.family == "each" else max(int(guarantees.asked.sum()), 1)
    delta = (1 - guarantees.confidence) / np.where(has_both, 2, 1) / n_sharing
    return _Floors(
        of_precision, guarantees.min_recall, of_recall, guarantees.positives_needed, delta
    )


def _counts_of(problem: Problem, evidence: LabelEvidence) -> ConfusionCounts:
    """Count what the cuts do that predict as many rows as are positive."""
    positives = np.asarray(problem.truth.sum(axis=0), np.int64).reshape(-1)
    sums = np.stack([evidence.top_tp, evidence.top_predicted, positives])
    return ConfusionCounts(sums, problem.rows_of_label, labels=range(problem.n_labels))


def _questions(asked: _Asked, floors: _Floors) -> npt.NDArray[np.str_]:
    """Return the first question that is open of each label, "" for none."""
    positives = asked.marked.positives
    alpha = asked.criteria.alpha
    is_unproven = asked.verdicts.verdict == "unproven"
    is_known = rejected(asked.evidence.p_informative, alpha)
    is_unknown = rejected(asked.evidence.p_uninformative, alpha)
    is_open = {
        "positives": positives == 0,
        "negatives": positives == asked.problem.rows_of_label,
        "scores": asked.is_suspect | (is_unproven & ~is_known & ~is_unknown),
        "precision": ~np.isnan(floors.precision),
        "recall": ~np.isnan(floors.recall),
        "f": is_unproven,
    }
    assert tuple(is_open) == QUESTIONS
    return np.select(list(is_open.values()), list(is_open), "")


def _answer(
    questions: npt.NDArray[np.str_], asked: _Asked, floors: _Floors, learning: Learning
) -> Answer:
    """Return the answer to the question that is open of each label, NaN for none."""
    problem, marked, evidence, verdicts, criteria, is_suspect = asked
    n = np.maximum(problem.rows_of_label, 1).astype(np.float64)  # (n_labels,)
    nothing = np.full(problem.n_labels, np.nan)
    found = Answer(More(nothing, nothing, nothing), More(nothing, nothing, nothing), nothing)
    answers: dict[str, Callable[[Booleans], Answer]] = {
        "positives": lambda _: of_first(n, _half_share_of_others(marked.positives, learning)),
        "scores": lambda is_open: of_scores(
            evidence, marked.positives, n, criteria, is_suspect, is_open
        ),
        "precision": lambda _: of_precision(
            _best_cuts(problem, floors.precision, floors.recall_beside),
            n,
            floors.precision,
            floors.delta,
        ),
        "recall": lambda _: of_recall(marked.positives, n, floors.positives_needed),
        "f": lambda is_open: of_f(
            marked,
            n,
            verdicts.table["p_usable"],
            verdicts.table["p_weak"],
            criteria,
            verdicts.beta,
            is_open,
        ),
    }
    for question, answer in answers.items():
        is_open = questions == question  # (n_labels,)
        if is_open.any():
            found = _taken(is_open, answer(is_open), found)
    return found


def _taken(where: Booleans, answer: Answer, others: Answer) -> Answer:
    """Take an answer for some labels, and that of others for the rest."""
    positives, rows, top_rows = answer
    return Answer(
        More(*(np.where(where, a, b) for a, b in zip(positives, others.positives, strict=True))),
        More(*(np.where(where, a, b) for a, b in zip(rows, others.rows, strict=True))),
        np.where(where, top_rows, others.top_rows),
    )


def _half_share_of_others(positives: Floats, learning: Learning) -> Floats:
    """Return, for each label, the median share of rows that holds half of the positives; of labels that have some."""
    shares = learning.half_share[positives >= FEWEST]
    return np.full(positives.size, np.median(shares) if shares.size else np.nan)


def _best_cuts(problem: Problem, floor: Floats, min_recall: Floats) -> Marked:
    """Return of each label the cut whose precision is most clearly above a floor, so many standard errors.

    Of a label with a floor of recall, too, it is one of those whose recall here is no lower, if there are any.
    """
    counts = np.zeros((3, problem.n_labels))
    has_floor = np.flatnonzero(~np.isnan(floor))
    steps = all_steps(problem.at_labels(has_floor))
    counts[2, has_floor] = steps.positives
    for label, first, last in zip(has_floor, steps.offsets[:-1], steps.offsets[1:], strict=True):
        if first == last:
            continue
        tp, predicted = steps.tp[first:last], steps.predicted[first:last]
        excess = (tp + 0.5 - floor[label] * (predicted + 1)) / np.sqrt(predicted + 1)
        least = np.nan_to_num(min_recall[label]) * counts[2, label]
        best = np.where(tp >= min(least, tp[-1]), excess, -np.inf).argmax()
        counts[:2, label] = tp[best], predicted[best]
    return Marked(*counts)


def _columns(
    questions: npt.NDArray[np.str_], answer: Answer, asked: _Asked, floors: _Floors
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of the table, but what is lost and gained."""
    table = asked.verdicts.table
    return {
        "name": table["name"],
        "label": np.arange(table.size),
        "question": questions,
        "n_rows": asked.problem.rows_of_label,
        "n_positives": table["n_positives"],
        "positives_needed": two_digits(answer.positives.needed),
        "positives_low": np.maximum(
            two_digits(answer.positives.low, np.floor),
            np.minimum(answer.positives.low, table["n_positives"] + 1),
        ),
        "positives_high": two_digits(answer.positives.high),
        "rows_needed": two_digits(answer.rows.needed),
        "rows_low": two_digits(answer.rows.low, np.floor),
        "rows_high": two_digits(answer.rows.high),
        "top_rows_needed": two_digits(answer.top_rows),
        "verdict": table["verdict"],
        "f": table["f"],
        "bar": table["bar"],
        "auroc": table["auroc"],
        "floor": np.select(
            [questions == "precision", questions == "recall"],
            [floors.precision, floors.recall],
            np.nan,
        ),
    }
