"""How much more truth is needed, of which labels: what is open, how many rows would decide it, what ten more gain."""

from dataclasses import replace

import numpy as np

from thresholds import _checks
from thresholds._arrays.types import Dense, Floats, Ints
from thresholds._checks import InputError
from thresholds._engine.best_cuts import all_steps
from thresholds._engine.problem import Problem
from thresholds._results.plain import objects_of
from thresholds._results.result import rows_of
from thresholds.diagnosis.bars import Marked, two_digits
from thresholds.diagnosis.deciding import (
    LEVELS,
    TEST,
    f_test,
    in_positives_and_rows,
    more_needed,
    precision_test,
    scores_test,
)
from thresholds.diagnosis.evidence import FEWEST, LabelEvidence, criteria_of, evidence_of, shown_of
from thresholds.diagnosis.learning import learn
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.diagnosis.plan import QUESTIONS, AnnotationPlan, sentence_on
from thresholds.diagnosis.states import states_of
from thresholds.diagnosis.verdicts import verdicts_of
from thresholds.metrics.counts import ConfusionCounts
from thresholds.metrics.judging import judge, positives_of
from thresholds.rule import Rule, ThresholdRule
from thresholds.rule.guarantees import Guarantees


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
    (`thresholds.diagnosis.deciding`); the bounds are those for 10 % and 90 %. Rows are such that they bring so many.

    Two of them need no test. A cut at the lowest score of P positives has a recall of at least f on new rows with
    probability 1 - f^P (Wilks 1941), so that ln(delta) / ln(f) positives, rounded up, are enough to promise it with
    confidence 1 - delta. And if before n rows without a positive all base rates were equally likely, the first one is
    found among m more with probability m / (n + 1 + m) (Laplace's rule of succession).

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
    asymptotics". Formulas are in `thresholds.diagnosis.deciding` and `thresholds.diagnosis.learning`.

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
    seed = _checks.seed(random_state)
    beta = 1.0 if rule is None else rule.beta
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

    # 1. Verdicts, as the rule decides, or as the cut does that predicts as many rows as are positive.
    evidence = evidence_of(problem, criteria, n_jobs=n_jobs, progress=progress)
    counts = _counts_of(problem, evidence) if rule is None else judge(rule, problem).by_label
    verdicts = verdicts_of(
        counts,
        problem.n_samples,
        evidence,
        criteria,
        problem.label_names,
        beta=beta,
        on_own_rows=rule is not None and was_fitted_on(rule, problem),
        has_thresholds=isinstance(rule, ThresholdRule),
        has_limits=isinstance(rule, ThresholdRule) and rule.has_limits,
    )
    judged = verdicts.table
    marked = Marked(*counts.sums.astype(np.float64))
    positives = marked.positives  # (n_labels,)
    n = np.maximum(judged["n_rows"], 1).astype(np.float64)  # (n_labels,)

    # 2. The first question that is open of each label, "" for none.
    is_suspect = states_of(counts, evidence, criteria) == "suspect"
    is_unproven = judged["verdict"] == "unproven"
    is_known, is_unknown, _ = shown_of(evidence, criteria)
    floors = _floors_of(rule, problem.n_labels)
    is_open = {
        "positives": positives == 0,
        "negatives": positives == judged["n_rows"],
        "scores": is_suspect | (is_unproven & ~is_known & ~is_unknown),
        "precision": ~np.isnan(floors["precision"]),
        "recall": ~np.isnan(floors["recall"]),
        "f": is_unproven,
    }
    question = np.select([is_open[name] for name in QUESTIONS], QUESTIONS, "")
    of_question = {name: np.flatnonzero(question == name) for name in QUESTIONS}  # labels

    # 3. What more rows gain.
    is_useless = judged["verdict"] == "useless"
    loss, gain, half_share = learn(
        problem,
        is_useless,
        more_rows,
        beta=beta,
        n_bootstraps=n_bootstraps,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )

    # 4. The test that is open of each label, and after how many more observations it will have decided.
    tests = np.full(problem.n_labels, np.nan, TEST)
    labels = of_question["scores"]
    _put(tests, labels, scores_test(evidence, positives, n, criteria, labels))
    labels = of_question["f"]
    _put(tests, labels, f_test(marked, n, judged, criteria, beta, labels))
    labels = of_question["precision"]
    if labels.size:
        floor = floors["precision"][labels]
        cut = _best_cuts(problem, labels, floor, floors["recall_beside"][labels])
        _put(tests, labels, precision_test(cut, floor, floors["delta"][labels]))
    more = np.full((len(LEVELS), problem.n_labels), np.nan)
    has_test = np.flatnonzero(~np.isnan(tests["seen"]))
    more[:, has_test] = more_needed(tests[has_test])
    top_rows = np.where(question == "precision", more[1], np.nan)
    more = np.maximum(more, np.where(is_suspect & (question == "scores"), FEWEST - positives, 1))

    # 5. For a floor of recall a number of positives is enough.
    labels = of_question["recall"]
    more[:, labels] = np.maximum(floors["positives_needed"][labels] - positives[labels], 1)
    _put(tests, labels, {"seen": positives[labels], "share": 1.0})

    # 6. In positives and in rows. A first positive is found by the rule of succession.
    in_all, rows = in_positives_and_rows(more, tests["seen"], tests["share"], positives, n)
    labels = of_question["positives"]
    in_all[:, labels] = 1
    rows[:, labels] = rows_to_first(n[labels])
    has_enough = positives >= FEWEST
    usual = np.median(half_share[has_enough]) if has_enough.any() else np.nan
    top_rows[labels] = np.ceil(2 * usual * rows[1, labels])

    # 7. Those first that gain most.
    order = np.argsort(-gain, kind="stable")
    columns = {
        "name": judged["name"],
        "label": np.arange(problem.n_labels),
        "question": question,
        "n_rows": judged["n_rows"],
        "n_positives": judged["n_positives"],
        "positives_needed": two_digits(in_all[1]),
        "positives_low": np.maximum(
            two_digits(in_all[0], np.floor), np.minimum(in_all[0], positives + 1)
        ),
        "positives_high": two_digits(in_all[2]),
        "rows_needed": two_digits(rows[1]),
        "rows_low": two_digits(rows[0], np.floor),
        "rows_high": two_digits(rows[2]),
        "top_rows_needed": two_digits(top_rows),
        "verdict": judged["verdict"],
        "f": judged["f"],
        "bar": judged["bar"],
        "auroc": judged["auroc"],
        "floor": np.select(
            [question == "precision", question == "recall"],
            [floors["precision"], floors["recall"]],
            np.nan,
        ),
        "loss": loss,
        "gain": gain / problem.n_labels,
    }
    columns = {name: values[order] for name, values in columns.items()}
    beside = floors["recall_beside"][order].tolist()
    labels_in_order = zip(objects_of(rows_of(columns)), beside, strict=True)
    columns["sentence"] = np.array(
        [sentence_on(label, criteria.alpha, beta, recall) for label, recall in labels_in_order]
    )
    return AnnotationPlan(
        table=rows_of(columns),
        n_samples=problem.n_samples,
        more_rows=more_rows,
        **criteria._asdict(),
        beta=beta,
        on_own_rows=verdicts.on_own_rows,
        label_names=problem.label_names,
    )


def _counts_of(problem: Problem, evidence: LabelEvidence) -> ConfusionCounts:
    """Count what the cuts do that predict as many rows as are positive."""
    sums = np.stack([evidence.top_tp, evidence.top_predicted, positives_of(problem)])
    return ConfusionCounts(sums, problem.rows_of_label, labels=range(problem.n_labels))


def _floors_of(rule: Rule | None, n_labels: int) -> dict[str, Floats]:
    """Return what a rule was asked to promise of labels and does not; floors of all labels together are of none.

    (n_labels,) each, NaN for none: floors of precision; of recall; those of recall that the cut of a precision is to
    keep, too; the positives that a floor of recall needs; and the error that a floor of precision is allowed. Two
    floors of a label halve the error; those of a family share it. (The sequence of tests of a precision has several
    starts, which ask for a little more.)
    """
    guarantees = None if rule is None else rule.guarantees
    if not isinstance(guarantees, Guarantees):
        names = ("precision", "recall", "recall_beside", "positives_needed", "delta")
        return {name: np.full(n_labels, np.nan) for name in names}
    has_both = ~np.isnan(guarantees.min_precision) & ~np.isnan(guarantees.min_recall)
    n_sharing = 1 if guarantees.family == "each" else max(int(guarantees.asked.sum()), 1)
    return {
        "precision": np.where(guarantees.precision_shown, np.nan, guarantees.min_precision),
        "recall": np.where(guarantees.recall_shown, np.nan, guarantees.min_recall),
        "recall_beside": guarantees.min_recall,
        "positives_needed": guarantees.positives_needed,
        "delta": (1 - guarantees.confidence) / np.where(has_both, 2, 1) / n_sharing,
    }


def _put(tests: Dense, labels: Ints, values: dict[str, Floats | float]) -> None:
    """Write the test of some labels into those of all."""
    for name, of_labels in values.items():
        tests[name][labels] = of_labels


def _best_cuts(problem: Problem, labels: Ints, floor: Floats, min_recall: Floats) -> Marked:
    """Return of some labels the cut whose precision is most clearly above a floor, so many standard errors.

    Of a label with a floor of recall, too, it is one of those whose recall here is no lower, if there are any.
    """
    steps = all_steps(problem.at_labels(labels))
    counts = np.zeros((3, labels.size))
    counts[2] = steps.positives
    for label, (first, last) in enumerate(zip(steps.offsets[:-1], steps.offsets[1:], strict=True)):
        if first == last:
            continue
        tp, predicted = steps.tp[first:last], steps.predicted[first:last]
        excess = (tp + 0.5 - floor[label] * (predicted + 1)) / np.sqrt(predicted + 1)
        least = np.nan_to_num(min_recall[label]) * counts[2, label]
        best = np.where(tp >= min(least, tp[-1]), excess, -np.inf).argmax()
        counts[:2, label] = tp[best], predicted[best]
    return Marked(*counts)


def rows_to_first(n: Floats) -> Floats:
    """Return how many more rows than n have the first positive with the probabilities of `LEVELS`, (3, n_labels)."""
    odds = np.array([level / (1 - level) for level in LEVELS])
    exact = (n + 1) * odds[:, np.newaxis]
    return np.asarray(np.ceil(np.round(exact, 6)))  # What is whole but for rounding stays.
