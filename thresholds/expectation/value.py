"""What F-beta to expect of decisions: of expected counts, or the expectation over outcomes."""

import numpy as np

from thresholds import _checks
from thresholds._arrays.threads import workers
from thresholds._arrays.types import Floats, Matrix
from thresholds._checks import AVERAGES, Average, InputError
from thresholds.expectation import outcomes
from thresholds.expectation.counts import Probabilities, counts_of_decisions, counts_of_rows
from thresholds.metrics.averages import average_of, each, f_score


def expected_f(
    probabilities: object,
    y_pred: object,
    average: Average | None = "macro",
    beta: float = 1.0,
    zero_division: float = 0.0,
    *,
    exact: bool = False,
    sample_weight: object = None,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> float | Floats:
    """Return the F-beta to expect of decisions, if labels are positive with the given probabilities.

    By default it is F of expected counts, what `fit_expected` maximises by default. With
    `exact=True` it is the expectation of F over outcomes y of independent labels, Pr(y) = product
    over cells of p^y (1 - p)^(1 - y):

        E F = sum over y of Pr(y) (1 + b^2) |y and h| / (b^2 |y| + |h|),    0/0 = zero_division

    That is computed by integrals in O(32 n) for n cells, to 12 digits up to about 10,000 cells of
    one F, and with errors of at most 1e-16 n beyond (docs/proofs.md).

    Parameters
    ----------
    probabilities : (n_samples, n_labels) in [0, 1], dense or scipy.sparse; 1-D for one label
        Entries that a sparse matrix leaves out are 0.
    y_pred : same shape, 0/1 decisions, dense or scipy.sparse
    average : as in `fit_expected`; None gives the value of each label
        With `exact=True` "macro" is the mean of the labels' expectations, "samples" that of the
        rows', "micro" the expectation for all cells together, "weighted" that of the mean weighted
        by the labels' positives as they come out (in time quadratic in the nodes, some 1500 n;
        plain mean where none is positive).
    beta : weight of recall against precision
    zero_division : 0.0 or 1.0, the F where there are neither positives nor predictions
    exact : whether to take the expectation over outcomes
        False (default): F of expected counts. It suits many expected positives, and rules of
        `fit_expected`. True: for few expected positives, for single rows ("samples",
        `InstanceRule`), and for `fit_expected` with `exact=True`.
    sample_weight : (n_samples,) non-negative; only for "samples", or with `exact=False`
    n_jobs, progress : as in `fit_expected`

    Returns
    -------
    float in [0, 1], or float64 (n_labels,) for `average=None`

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    References
    ----------
    Lipton et al. 2013, section 5.1. 1 / (X + k) as an integral of u^(X + k - 1): Chao and Strawderman 1972, "Negative
    moments of positive random variables".

    Examples
    --------
    Two fair coins, both predicted: one of two is positive by expectation; by outcomes, F1 is 1 and 0 with probability
    1/4 each, else 2/3.

    >>> import thresholds
    >>> round(thresholds.expected_f([0.5, 0.5], [1, 1]), 6)
    0.666667
    >>> round(thresholds.expected_f([0.5, 0.5], [1, 1], exact=True), 6)
    0.583333
    """
    _checks.option(average, "average", (*AVERAGES, None))
    _checks.option(exact, "exact", (True, False))
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    sample_weight = _checks.aligned_rows(
        sample_weight, "sample_weight", probabilities=probabilities
    )
    y_pred, probabilities, _ = _checks.aligned(y_pred, "y_pred", probabilities, "probabilities")
    p = Probabilities.of(probabilities, sample_weight)
    decided = _checks.indicator(y_pred, "y_pred")
    _checks.same_shape(p.matrix, "probabilities", decided, "y_pred")
    workers(n_jobs)  # Refuses what is no number of threads, whatever is to be done.
    refuse_weights(exact, average, sample_weight)
    return value_of_decisions(
        p, decided, average, beta, zero_division, exact, n_jobs=n_jobs, progress=progress
    )


def value_of_decisions(
    p: Probabilities,
    decided: Matrix,
    average: str | None,
    beta: float,
    zero_division: float,
    exact: bool,
    *,
    n_jobs: int | None,
    progress: bool,
) -> float | Floats:
    """Return what to expect of checked decisions."""
    # F of expected counts.
    if not exact:
        count = counts_of_rows if average == "samples" else counts_of_decisions
        counts = count(p, decided, n_jobs)
        if average is None:
            return each(f_score(beta), counts, zero_division)
        return average_of(f_score(beta), counts, average, zero_division, p.weights)

    # The expectation over outcomes.
    problem = (p.matrix, decided, beta, zero_division)
    if average == "samples":
        row_values = outcomes.expected_of_rows(*problem, n_jobs=n_jobs, progress=progress)
        return float(np.average(row_values, weights=p.weights))
    if average == "micro":
        return outcomes.expected_of_all(*problem)
    if average == "weighted":
        return outcomes.expected_weighted(*problem, n_jobs=n_jobs, progress=progress)
    label_values = outcomes.expected_of_columns(*problem, n_jobs=n_jobs, progress=progress)
    return label_values if average is None else float(label_values.mean())


def refuse_weights(exact: bool, average: str | None, sample_weight: object) -> None:
    """Refuse weights of rows where outcomes are counted."""
    if exact and average != "samples" and sample_weight is not None:
        raise InputError(
            "sample_weight is given with exact=True, expected None: the expectation over outcomes counts rows"
        )
