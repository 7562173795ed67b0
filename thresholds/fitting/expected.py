"""Rules from probabilities alone: what F-beta is expected to be, and the decisions that maximise it.

Lipton, Elkan & Naryanaswamy 2013, "F1-Optimal Thresholding in the Multi-Label Setting", section 5.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from thresholds import _checks, _devices
from thresholds._arrays.dtypes import rounded_up
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Floats
from thresholds._checks import AVERAGES, Average, InputError
from thresholds._devices import expecting
from thresholds._engine.problem import Problem
from thresholds._engine.shared_cut import best_shared_cut
from thresholds.expectation import outcomes
from thresholds.expectation.counts import Probabilities, best_cuts, counts_above
from thresholds.expectation.value import refuse_weights, value_of_decisions
from thresholds.metrics.averages import average_of, f_score
from thresholds.metrics.counts import ConfusionCounts
from thresholds.rule import FittedOn, InstanceRule, ThresholdRule
from thresholds.rule.made_by import MadeBy
from thresholds.rule.watching.describing import kept_rows, profile_of


def fit_expected(
    probabilities: object,
    average: Average = "macro",
    *,
    beta: float = 1.0,
    per_label: bool = True,
    sample_weight: object = None,
    zero_division: float = 0.0,
    exact: bool = False,
    label_names: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> ThresholdRule | InstanceRule:
    """Find the decisions that maximise the F-beta to expect, from calibrated probabilities and no labels.

    With probabilities p_ij, decisions h_ij and row weights w_i, the expected counts of label j are

        tp_j = sum_i w_i p_ij h_ij,    predicted_j = sum_i w_i h_ij,    positives_j = sum_i w_i p_ij,

    and F of expected counts, (1 + b^2) tp / (b^2 positives + predicted), is highest for h = (p >= F* / (1 + b^2)), F*
    being the highest value: with F1, for what is at least half as probable as the best F1 is high.

    Parameters
    ----------
    probabilities : (n_samples, n_labels) in [0, 1], dense or scipy.sparse (absent entries are 0); 1-D for one label
        They must be calibrated: `calibrate` makes them so (`transform(..., dense=True)` of sparse scores), `compare`
        shows whether they are.
    average :
        "macro": mean over labels of F of expected counts. Each label has its own threshold.
        "weighted": the same thresholds; the objective is the mean weighted by the labels' expected positives.
        "micro": F of the expected counts added over labels. All labels have one threshold.
        "samples": an `InstanceRule`, which maximises the exact expectation of each row's F, without thresholds. (With
            `per_label=False`, one threshold for the mean over rows of F of expected counts.)
    beta : weight of recall against precision
    per_label : False for one threshold that all labels share, for any average of F of expected counts
    sample_weight : (n_samples,) non-negative; in "samples" it weighs the objective, and decisions do not depend on it
    zero_division : 0.0 or 1.0, the F of a label (or row) with neither positives nor predictions
        F of expected counts is 0/0 only where all probabilities are 0. The exact expectation counts each outcome: with
        1.0, predicting nothing is worth the chance that nothing is positive.
    exact : what "macro" with a threshold for each label maximises
        False (default): F of expected counts, above.
        True: the expectation of F over outcomes, in some thirty times the time. They differ where few positives are
        expected. With F1 and `zero_division=0`, decisions by expected counts may have half of the best expectation
        below one expected positive; above sixteen they lose less than a thousandth as a rule, a few percent at worst
        (some high probabilities, then many equal low ones). They lose more for beta above 1, and with
        `zero_division=1`, which they know nothing of.
        "samples" with `per_label=True` is exact either way; other averages cannot be.
    label_names : strings, one per label
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    ThresholdRule or InstanceRule
        `objective` is `expected_f` of the rule's predictions with the same settings (for an `InstanceRule` with
        `exact=True`), to the last bit. Thresholds are
        F* / (1 + b^2), rounded up into the dtype of `probabilities`; those of `exact=True` and of `per_label=False`
        are the lowest probability to predict. Labels whose probabilities are all 0 are `unsupported`: their threshold
        is `+inf` (unless shared), their F is `zero_division`.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    Notes
    -----
    Ties: a probability of exactly F* / (1 + b^2) changes nothing and is predicted. With `exact=True` equal
    probabilities are predicted alike, and of sets whose expectations differ by less than 1e-12, relatively, the
    smallest is taken. Sums are float64, in an order that does not depend on threads.

    References
    ----------
    Lipton et al. 2013, theorem 5.1 and corollary 5.2, and section 5.2 for the dependence on the batch: these are rules
    for these rows, or for more rows like them. Dinkelbach 1967 for the iteration. Dembczynski, Kotlowski, Koyejo and
    Natarajan 2017, "Consistency analysis for binary classification revisited", for the two expectations.

    Examples
    --------
    >>> import thresholds
    >>> rule = thresholds.fit_expected([[0.9, 0.2], [0.6, 0.1], [0.2, 0.1]])
    >>> round(rule.objective, 4), rule.thresholds.round(4)
    (0.5483, array([0.4054, 0.1429]))
    """
    _checks.option(average, "average", AVERAGES)
    _checks.option(per_label, "per_label", (True, False))
    _checks.option(exact, "exact", (True, False))
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    if exact and not (per_label and average in ("macro", "samples")):
        raise InputError(
            f"exact is True with average={average!r} and per_label={per_label}, expected 'macro' or 'samples' with"
            " per_label=True"
        )
    workers(n_jobs)  # Refuses what is no number of threads, whatever is to be done.
    if _devices.namespace_on_device(probabilities) is not None:
        return _fit_on_device(
            probabilities,
            average,
            beta,
            per_label,
            zero_division,
            exact,
            label_names,
            sample_weight,
        )
    p = Probabilities.of(probabilities, sample_weight, label_names)
    refuse_weights(exact, average, sample_weight)
    return best_expected(
        p,
        average,
        beta,
        per_label,
        zero_division,
        exact,
        n_jobs=n_jobs,
        progress=progress,
    )


def best_expected(
    p: Probabilities,
    average: Average,
    beta: float,
    per_label: bool,
    zero_division: float,
    exact: bool,
    *,
    with_objective: bool = True,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> ThresholdRule | InstanceRule:
    """Return the best rule for what is checked already.

    What rows are expected to reach takes as long as deciding about them, so it may be left out.
    """
    value = partial(
        value_of_decisions,
        p,
        average=average,
        beta=beta,
        zero_division=zero_division,
        n_jobs=n_jobs,
        progress=progress,
    )
    options = {
        "average": average,
        "beta": beta,
        "per_label": per_label,
        "zero_division": zero_division,
        "exact": exact,
    }

    # The best set of each row needs no thresholds.
    if average == "samples" and per_label:
        nowhere = np.full(p.n_labels, np.inf)  # (n_labels,) cuts that only positives are counted at
        by_row = InstanceRule(beta, zero_division, p.label_names)
        decided = None
        if with_objective:
            decided = by_row.decide(p.matrix, n_jobs=n_jobs, progress=progress)
        profile = profile_of(by_row, p.matrix, weights=p.weights * p.unit, decided=decided)
        return replace(
            by_row,
            objective=None if decided is None else float(value(decided, exact=True)),
            fitted_on=FittedOn.from_scores(
                p.matrix, 0.0, counts_above(p, nowhere, n_jobs).positives
            ),
            made_by=MadeBy.from_call(
                fit_expected, options | {"exact": False}
            ),  # It is, either way.
            kept=profile,
        )

    # Find the lowest probability to predict of each label.
    counts = None
    if exact:
        cuts = outcomes.best_thresholds(
            p.matrix, beta, zero_division, n_jobs=n_jobs, progress=progress
        )
    elif per_label or average == "micro":
        cuts, counts = best_cuts(
            p, beta, pooled=average == "micro", n_jobs=n_jobs, progress=progress
        )
        if p.matrix.dtype.kind == "f":
            cuts = rounded_up(cuts, p.matrix.dtype).astype(np.float64)
    else:
        problem = Problem.of(
            p.matrix, p.matrix, sample_weight=p.weights, soft=True, keep_sparse=True
        )
        cut, _ = best_shared_cut(
            problem, average, beta, zero_division, n_jobs=n_jobs, progress=progress
        )
        cuts = np.full(p.n_labels, cut)
    if counts is None:
        counts = counts_above(p, cuts, n_jobs)

    fitted_on = FittedOn.from_scores(p.matrix, 0.0, counts.positives)
    rule = _rule_of_cuts(cuts, counts, options, p.label_names, fitted_on)

    # The objective is what is expected of these decisions; counts of labels have been counted already.
    objective = None
    if not (exact or average == "samples"):
        objective = float(average_of(f_score(beta), counts, average, zero_division))
    elif with_objective:
        objective = float(value(rule.decide(p.matrix), exact=exact))
    kept = kept_rows(p.matrix, p.weights * p.unit, counts.predicted)
    return replace(rule, objective=objective, kept=kept)


def _rule_of_cuts(
    cuts: Floats,
    counts: ConfusionCounts,
    options: Mapping[str, Any],
    label_names: tuple[str, ...] | None,
    fitted_on: FittedOn,
) -> ThresholdRule:
    """Return the rule of cuts and their expected counts, without an objective and a profile."""
    # Labels of which nothing is expected are never predicted, unless others share their threshold.
    nothing = counts.sums[2] == 0  # (n_labels,)
    never = nothing & (options["per_label"] or nothing.all())
    return ThresholdRule(
        thresholds=np.where(never, np.inf, cuts),
        label_names=label_names,
        average=options["average"],
        beta=options["beta"],
        unsupported=nothing,
        per_label=options["per_label"],
        zero_division=options["zero_division"],
        fitted_on=fitted_on,
        expected="outcomes" if options["exact"] else "counts",
        made_by=MadeBy.from_call(fit_expected, options),
    )


def _fit_on_device(
    probabilities: Any,
    average: Average,
    beta: float,
    per_label: bool,
    zero_division: float,
    exact: bool,
    label_names: object,
    sample_weight: object,
) -> ThresholdRule | InstanceRule:
    """Fit on an array that is not in host memory, where it is."""
    if (exact and average != "samples") or not per_label or sample_weight is not None:
        raise InputError(
            f"probabilities are on {probabilities.device}, where exact=True, per_label=False and sample_weight are not"
            " known: copy them to host memory"
        )
    names = None if label_names is None else _checks.names_of_labels(label_names)
    cells = _devices.checked_probabilities(probabilities, label_names=names)
    _checks.one_name_each(names, cells.shape[1])
    if average == "samples":
        _, expected = expecting.best_sets(cells, beta, zero_division)
        return InstanceRule(beta, zero_division, names, objective=expected)
    cuts, sums = expecting.best_cuts(cells, beta, average == "micro")
    counts, nothing, dtype = (
        ConfusionCounts(sums, cells.shape[0]),
        sums[2] == 0,
        _devices.dtype_name(cells),
    )
    cuts = (
        rounded_up(cuts, np.dtype("float32" if dtype == "bfloat16" else dtype))
        if "float" in dtype
        else cuts
    )
    return ThresholdRule(
        thresholds=np.where(nothing, np.inf, cuts),
        label_names=names,
        average=average,
        beta=beta,
        objective=float(average_of(f_score(beta), counts, average, zero_division)),
        unsupported=nothing,
        zero_division=zero_division,
        fitted_on=FittedOn.from_scores(cells, 0.0, sums[2]),
        expected="counts",
        made_by=MadeBy.from_call(
            fit_expected, {"average": average, "beta": beta, "zero_division": zero_division}
        ),
        kept=kept_rows(cells, predicted=counts.predicted),
    )
