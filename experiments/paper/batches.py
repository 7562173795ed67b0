"""Batches: the best decision about an instance depends on the instances that are decided together with it.

An instance of probability 0.1 is predicted if it is alone, as F1 of predicting nothing is 0, and is not among many of
probability 0.5, where the best F1 tends to 2/3 and half of it is asked for (Lipton, Elkan & Naryanaswamy 2013, section
5.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thresholds import fit_expected

Floats = npt.NDArray[np.float64]
HALVINGS = 50  # of [0, 1], to find a break-even probability


@dataclass(frozen=True)
class BatchEffect:
    """How the decision about one row changes with the batch around it."""

    sizes: npt.NDArray[np.int64]  # (n_sizes,) rows in the batches, this one included
    break_even: Floats  # (n_sizes, n_labels) the lowest probability that would be predicted; 0 where any above 0 is
    predicted: npt.NDArray[np.bool_]  # (n_sizes, n_labels)


def batch_effect(
    probabilities: Floats, row: int, sizes: Sequence[int], *, random_state: int = 0, exact: bool = True, **options: Any
) -> BatchEffect:
    """Show how the decision about one row changes with the rows that are decided together with it.

    A batch of k rows has the row and the first k - 1 of the others, in random order. In each, every label's decisions
    maximise its expected F-beta over the batch: `options` are those of `fit_expected`.

    Each label has exactly one break-even probability in each batch: what is expected of the best set with the row rises
    with the row's probability, and of the best set without the row it does not. It is found by halving.
    """
    own = probabilities[row]  # (n_labels,)
    others = np.random.default_rng(random_state).permutation(len(probabilities))
    others = others[others != row]
    break_even, predicted = [], []
    for size in sizes:
        batch = np.concatenate([own[np.newaxis], probabilities[others[: size - 1]]])  # (size, n_labels)

        def is_predicted(probability: Floats, batch: Floats = batch) -> npt.NDArray[np.bool_]:
            batch[0] = probability
            return np.asarray(fit_expected(batch, exact=exact, **options).predict(batch)[0] == 1)

        low, high = np.zeros(own.size), np.ones(own.size)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            is_above = is_predicted(middle)
            low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
        break_even.append(np.where(low > 0, high, 0.0))
        predicted.append(is_predicted(own))
    return BatchEffect(np.array(sizes), np.stack(break_even), np.stack(predicted))


def predict_by_batch(
    probabilities: Floats, batches: Sequence[Any] | npt.NDArray[Any], average: Any = "macro", **options: Any
) -> npt.NDArray[np.uint8]:
    """Decide batch by batch: `fit_expected` on the rows of each batch, applied to them.

    `batches` (n_samples,) has what tells batches apart, such as the day of each row.
    """
    decided = np.zeros(probabilities.shape, np.uint8)
    _, number = np.unique(batches, return_inverse=True)  # (n_samples,)
    for batch in range(number.max() + 1):
        rows = number == batch
        decided[rows] = fit_expected(probabilities[rows], average, **options).predict(probabilities[rows])
    return decided
