"""Batches: the best decision about an instance depends on the instances that are decided together with it.

An instance of probability 0.1 is predicted if it is alone, as F1 of predicting nothing is 0, and is not among many of
probability 0.5, where the best F1 tends to 2/3 and half of it is asked for (Lipton, Elkan & Naryanaswamy 2013, section
5.2).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import _checks
from thresholds._arrays import threads
from thresholds._arrays.sparse import is_sparse, to_dense
from thresholds._arrays.types import Booleans, Floats, Ints, Matrix
from thresholds._checks import Average, InputError
from thresholds._results.result import names_of
from thresholds._results.text import WIDTH, on_one_line, shortened
from thresholds.expectation.counts import Probabilities, best_cuts
from thresholds.expectation.outcomes import best_thresholds
from thresholds.fitting.expected import fit_expected
from thresholds.results import Result, Table
from thresholds.rule import InstanceRule
from thresholds.rule.containers import in_kind

_HALVINGS = 50  # of [0, 1], to find a break-even probability
_USUAL_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False, repr=False)
class BatchEffect(Result):
    """How the decision about one row changes with the batch around it; `str` gives a table.

    Attributes
    ----------
    row : the position of the row
    probability : float64 (n_labels,), its probabilities
    sizes : int64 (n_sizes,), the numbers of rows in the batches, this one included
    break_even : float64 (n_sizes, n_labels)
        The lowest probability with which the row would be predicted, all others in the batch being as they are; 0 where
        any above 0 is.
    predicted : bool (n_sizes, n_labels)
    label_names : tuple of str, or None
    """

    _shown = 6  # labels, here in columns

    row: int
    probability: Floats
    sizes: Ints
    break_even: Floats
    predicted: Booleans
    label_names: tuple[str, ...] | None

    def _records(self) -> dict[str, npt.NDArray[Any]]:
        """Return columns, one row for each size and label."""
        n_sizes, n_labels = self.predicted.shape
        return {
            "size": np.repeat(self.sizes, n_labels),
            "name": np.tile(names_of(self.label_names, n_labels), n_sizes),
            "probability": np.tile(self.probability, n_sizes),
            "break_even": self.break_even.ravel(),
            "predicted": self.predicted.ravel(),
        }

    def _tables(self, k: int) -> Iterator[str | Table]:
        """Show the break-even probabilities of k labels, first of those whose decision depends on the batch."""
        # Alone, with zero_division=0, all that is possible is predicted: batches of several rows tell more.
        several = self.predicted[self.sizes > 1]
        compares_several = len(several) > 1
        compared = several if compares_several else self.predicted  # (n_compared, n_labels)
        changes = compared.any(axis=0) & ~compared.all(axis=0)  # (n_labels,)
        shown = np.argsort(~changes, kind="stable")[:k]  # (k,)

        names = names_of(self.label_names, changes.size)
        rows_head = "rows in the batch"
        room = (WIDTH - len(rows_head)) // max(shown.size, 1) - 2  # columns for each label
        head = [(rows_head, *(shortened(on_one_line(name), max(room, 9)) for name in names[shown]))]
        body = [("its probability", *(f"{p:.4g}" for p in self.probability[shown]))]
        marks = np.where(self.predicted, "+", "-")  # (n_sizes, n_labels)
        for size, cuts, signs in zip(self.sizes, self.break_even, marks, strict=True):
            body.append((str(size), *(f"{cuts[j]:.4g} {signs[j]}" for j in shown)))
        title = f"row {self.row}: the probability from which each label is predicted (+: it is, -: it is not)"
        note = f"{int(changes.sum())} of {changes.size} decisions depend on the batch"
        if compares_several:
            note += " (of two rows or more)"
        yield Table(head, body, title=title, note=note)


def batch_effect(
    probabilities: object,
    row: int,
    *,
    sizes: object = None,
    beta: float = 1.0,
    zero_division: float = 0.0,
    exact: bool = True,
    label_names: object = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> BatchEffect:
    """Show how the decision about one row changes with the rows that are decided together with it.

    Batches grow around the row: one of k rows has the row and the first k - 1 of the others, in random order. In each,
    every label's decisions maximise its expected F-beta over the batch, as `fit_expected(batch)` does.

    Parameters
    ----------
    probabilities : (n_samples, n_labels) in [0, 1], dense or scipy.sparse (absent entries are 0)
    row : position of the row
    sizes :
        None (default): 1, 2, 5, 10, 20, ... rows, up to all or 1000; beyond, little changes but for rare labels.
        Rising numbers of rows.
    beta, zero_division : as in `fit_expected`
    exact :
        True (default): the exact expectation, as small batches need.
        False: F of expected counts.
    label_names : strings, one per label
    random_state : seed of the order in which other rows join
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    BatchEffect
        1. Each label has exactly one break-even probability in each batch: what is expected of the best set with the
           row rises with the row's probability, and of the best set without the row it does not.
        2. It is found by bisection. With `exact`, values within 1e-12 count as equal, so that it is known to about
           1e-12 times the rows of the batch.

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    References
    ----------
    Lipton et al. 2013, section 5.2.

    Examples
    --------
    >>> import thresholds
    >>> effect = thresholds.batch_effect([[0.1]] + 99 * [[0.5]], row=0, sizes=[1, 2, 5, 100])
    >>> effect.predicted[:, 0]
    array([ True, False, False, False])
    >>> effect.break_even[:, 0].round(4)  # in the limit 1/3
    array([0.    , 0.25  , 0.313 , 0.3326])
    """
    probabilities, names = _checks.named(probabilities, "probabilities", label_names)
    matrix = _checks.probabilities(probabilities)
    n_samples = matrix.shape[0]
    row = _checks.count(row, "row", 0)
    if row >= n_samples:
        raise InputError(f"row is {row}, expected at most {n_samples - 1}")
    _checks.option(exact, "exact", (True, False))
    beta = _checks.beta(beta)
    zero_division = _checks.zero_division(zero_division)
    _checks.one_name_each(names, matrix.shape[1])
    n_rows = _usual_sizes(n_samples) if sizes is None else _checked_sizes(sizes, n_samples)

    # The order in which other rows join.
    rng = np.random.default_rng(_checks.count(random_state, "random_state", 0))
    others = rng.permutation(n_samples)
    others = others[others != row]
    own = np.asarray(to_dense(matrix[[row]]), np.float64)[0]  # (n_labels,)

    def effect(size: int) -> tuple[Floats, Booleans]:
        beside = to_dense(matrix[others[: size - 1]])
        batch = np.concatenate([own[np.newaxis], beside]).astype(np.float64)  # (size, n_labels)

        def is_predicted(probability: Floats) -> Booleans:
            batch[0] = probability
            if exact:
                cuts = best_thresholds(batch, beta, zero_division, n_jobs=1)  # (n_labels,)
            else:
                cuts, _ = best_cuts(Probabilities.of(batch), beta, pooled=False, n_jobs=1)
            return np.asarray(probability >= cuts)

        return _break_even(is_predicted, own.size), is_predicted(own)

    effects = threads.run(
        effect, n_rows.tolist(), n_jobs=n_jobs, progress=progress, title="batches"
    )
    return BatchEffect(
        row=row,
        probability=own,
        sizes=n_rows,
        break_even=np.stack([break_even for break_even, _ in effects]),
        predicted=np.stack([predicted for _, predicted in effects]),
        label_names=names,
    )


def _break_even(is_predicted: Callable[[Floats], Booleans], n_labels: int) -> Floats:
    """Return the lowest probability of each label that is predicted, by halving the interval it lies in."""
    low = np.zeros(n_labels)
    high = np.ones(n_labels)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        predicted = is_predicted(middle)
        low = np.where(predicted, low, middle)
        high = np.where(predicted, middle, high)

    # 0 where any probability above 0 is predicted.
    return np.where(low > 0, high, 0.0)


def predict_by_batch(
    probabilities: object,
    batches: object,
    average: Average = "macro",
    *,
    beta: float = 1.0,
    per_label: bool = True,
    zero_division: float = 0.0,
    exact: bool = False,
    n_jobs: int | None = -1,
    progress: bool = False,
) -> Any:
    """Decide batch by batch: `fit_expected` on the rows of each batch, applied to them.

    Parameters
    ----------
    probabilities : (n_samples, n_labels) in [0, 1], dense or scipy.sparse (absent entries are 0); 1-D for one label
    batches : (n_samples,) what tells batches apart, such as the number, the name or the day of each row's batch
    average, beta, per_label, zero_division, exact : as in `fit_expected`
    n_jobs : threads; -1 for all cores the process may use, None for one. Results do not depend on it.
    progress : show a progress bar on stderr if it takes longer than a second

    Returns
    -------
    uint8 array of the shape of `probabilities`; CSR for sparse ones

    Raises
    ------
    InputError
        For anything that cannot be used: names the argument, what was found, what was expected.

    References
    ----------
    Lipton et al. 2013, section 5.2.

    Examples
    --------
    >>> import thresholds
    >>> thresholds.predict_by_batch([0.1, 0.5, 0.1], ["monday", "tuesday", "tuesday"])
    array([1, 1, 0], dtype=uint8)
    """
    matrix = _checks.probabilities(probabilities)
    aligned = _checks.aligned_rows(batches, "batches", probabilities=probabilities)
    numbers = _batch_numbers(aligned, matrix.shape[0])  # (n_samples,)
    settings: dict[str, Any] = {
        "beta": beta,
        "per_label": per_label,
        "zero_division": zero_division,
        "exact": exact,
    }

    # A rule for each row by itself needs no batches.
    rule = fit_expected(matrix[:1], average, **settings)
    if isinstance(rule, InstanceRule):
        return rule.predict(probabilities, n_jobs=n_jobs, progress=progress)

    # The rows of each batch.
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order])) + 1
    batches_of_rows = np.split(order, starts)

    def decide(rows: Ints) -> Matrix:
        batch = matrix[rows]
        return fit_expected(batch, average, **settings, n_jobs=1).decide(batch)

    decided = threads.run(
        decide, batches_of_rows, n_jobs=n_jobs, progress=progress, title="batches"
    )

    # Back into the order of the rows.
    back = np.argsort(order)
    if not is_sparse(matrix):
        return in_kind(np.concatenate(decided)[back], probabilities, None)
    from scipy import sparse

    return in_kind(sparse.vstack(decided, format="csr")[back], probabilities, None)


def _batch_numbers(batches: object, n_samples: int) -> Ints:
    """Number the batches that rows belong to."""
    keys = _checks.plain(batches, "batches")
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        raise InputError("batches has NaN, expected what tells batches apart")
    if keys.shape != (n_samples,):
        raise InputError(
            f"batches has shape {keys.shape}, expected {n_samples} values, one per row"
        )
    try:
        _, numbers = np.unique(keys, return_inverse=True)
    except TypeError:
        raise InputError(
            "batches has values that cannot be ordered, expected numbers or strings"
        ) from None
    return numbers


def _usual_sizes(n_samples: int) -> Ints:
    """Return 1, 2, 5, 10, 20, ... up to all, or 1000."""
    largest = min(n_samples, _USUAL_SIZES[-1])
    smaller = [size for size in _USUAL_SIZES if size < largest]
    return np.array([*smaller, largest])


def _checked_sizes(sizes: object, n_samples: int) -> Ints:
    """Check numbers of rows."""
    numbers = _checks.rising(sizes, "sizes")
    if numbers.size == 0 or numbers[0] < 1 or numbers[-1] > n_samples or (numbers % 1 != 0).any():
        raise InputError(
            f"sizes is {_checks.shown(numbers.tolist())}, expected whole numbers from 1 to {n_samples}"
        )
    return numbers.astype(np.int64)
