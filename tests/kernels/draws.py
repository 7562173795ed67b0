"""Arguments for every kernel that Python calls: ties, both zeros, -inf, subnormals, and counts that no byte holds.

`DRAWS[name](rng, dtype)` gives arguments that are fresh each time; `dtype` is that of scores, float32 or float64.
"""

import itertools
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from thresholds import _kernels
from thresholds._arrays.sparse import entries_of_rows
from thresholds._engine import kernels as engine
from thresholds._engine.histograms import tie_groups_by_sorting
from thresholds._engine.staircase import Columns
from thresholds._kernels import bootstrap, histograms, keys
from thresholds._kernels._jit import Kernel

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]

MODULES = [import_module(f"{_kernels.__name__}.{module.name}") for module in pkgutil.iter_modules(_kernels.__path__)]
MODULES.append(engine)
KERNELS: dict[str, Kernel[..., Any]] = {  # `module.function`, each where it is defined
    f"{module.__name__.rpartition('.')[2]}.{value.py_func.__name__}": value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Kernel) and value.py_func.__module__ == module.__name__
}

NO_WEIGHTS = np.empty(0, np.int64)
LONG = (1, 7, 40, 400)  # A byte counts to 255.
UNIT = 2.0**61  # of a mean F-beta
NODES = np.array(np.polynomial.laguerre.laggauss(32))
SETS_OF_NODES = np.concatenate([np.polynomial.laguerre.laggauss(n) for n in (8, 16, 32)], axis=1)


# What several need


def tile(rng: Generator, dtype: Any, lengths: tuple[int, ...] = LONG) -> tuple[Array, Array]:
    """Keys and truth of labels with many ties, with both zeros and -inf, of all prevalences."""
    n_labels, n = rng.integers(1, 6), rng.choice(lengths)
    scores = np.round(rng.normal(size=(n_labels, n)), rng.integers(0, 3)).astype(dtype)
    scores[rng.random(scores.shape) < 0.1] = -0.0
    scores[rng.random(scores.shape) < rng.choice([0, 0.1])] = -np.inf
    scores[rng.random(scores.shape) < 0.1] = np.finfo(dtype).smallest_subnormal
    scores[rng.random(n_labels) < 0.1] = 0.5
    truth = rng.random((n_labels, n)) < rng.choice([0.0, 0.05, 0.8, 1.0], (n_labels, 1))
    return keys.to_keys(scores), truth.astype(np.uint8)


def weights_of(rng: Generator, n: int) -> Array:
    """Weights of cells, some 0, some of which two hundred do not fit into 32 bits."""
    return rng.choice([0, 1, 3, 2**20, 2**31], n)


def scores_of(found: Array) -> Array:
    return keys.to_scores(found)


def lists(rng: Generator, dtype: Any) -> tuple[Array, Array, Array]:
    """Lists of keys with room between them: firsts, sizes, keys."""
    found, _ = tile(rng, dtype)
    sizes = rng.integers(0, found.shape[1] + 1, len(found))
    return np.arange(len(found)) * found.shape[1], sizes, found.reshape(-1)


def probabilities(rng: Generator, shape: Any, dtype: Any) -> Array:
    """Small ones and large ones, 0 and 1, some equal."""
    p = rng.random(shape) ** rng.choice([1, 8])
    p[rng.random(shape) < 0.2] = 0.25
    p[rng.random(shape) < 0.1] = rng.choice([0.0, 1.0])
    return p.astype(dtype)


def ragged(rng: Generator, n_lists: int, longest: int) -> Array:
    return np.append(0, rng.integers(0, longest, n_lists)).cumsum()


def cells(rng: Generator, shape: Any, share: float = 0.8) -> Array:
    return (rng.random(shape) < share).astype(np.uint8)


def csr(rng: Generator, shape: Any, dtype: Any) -> Any:
    return sparse.csr_array(np.where(rng.random(shape) < 0.3, probabilities(rng, shape, dtype), 0))


# bootstrap


def of_resampled(rng: Generator, dtype: Any) -> Arguments:
    """Steps of few rows, and of so many that no table has their mean."""
    offsets, tp, fp, positives = of_steps(rng, np.float32)
    unit = 1 if dtype == np.float32 else 50
    more = rng.integers(0, 2, positives.size)  # positives below all steps
    key, first = np.uint64(rng.integers(2**63)), int(rng.integers(1000))
    steps = offsets, tp * unit, fp * unit, positives * unit + more
    best, counts = np.full((positives.size, 4), -7), np.ones((3, positives.size))
    labels, replicates = (int(positives.size > 1), positives.size), (1, 4)
    beta_squared = rng.choice([0.25, 1.0, 4.0])
    return *steps, beta_squared, key, first, labels, replicates, *bootstrap.tables(), best, counts


# choosing


def of_steps(rng: Generator, dtype: Any) -> Arguments:
    found, truth = tile(rng, dtype)
    n_labels, n = found.shape
    ends = np.arange(1, n_labels + 1) * n
    columns = Columns(scores_of(found).reshape(-1), truth.reshape(-1), None, ends - n, ends, np.zeros_like(ends))
    steps = tie_groups_by_sorting(columns).steps
    unit = 1 if dtype == np.float32 else 2**50  # of weights
    return steps.offsets, steps.tp * unit, (steps.predicted - steps.tp) * unit, steps.positives * unit


def of_hulls(rng: Generator, dtype: Any) -> Arguments:
    return of_steps(rng, dtype)[:3]


# confusion


def of_counts(rng: Generator, dtype: Any) -> Arguments:
    shape = rng.integers(1, 600), rng.integers(1, 5)
    return *cells(rng, (2, *shape)), rng.integers(0, 9, (3, shape[1]))


def of_weighed_counts(rng: Generator, dtype: Any) -> Arguments:
    truth, predicted, counts = of_counts(rng, dtype)
    weights = weights_of(rng, len(truth))
    kind = np.int64 if dtype == np.float32 else np.float64
    return truth, predicted, (weights / 3).astype(kind), counts.astype(kind)


def of_sparse_counts(rng: Generator, dtype: Any) -> Arguments:
    shape = int(rng.choice([1, 9])), int(rng.choice(LONG))
    true, predicted = csr(rng, shape, dtype), csr(rng, shape, dtype)
    counts = np.zeros((3, shape[1]), np.int64), np.zeros((3, shape[0]), np.int64)
    return *entries_of_rows(true), *entries_of_rows(predicted), weights_of(rng, shape[0]), *counts


def of_ranks_of_positives(rng: Generator, dtype: Any) -> Arguments:
    shape = 5, int(rng.choice(LONG))
    true, scores = csr(rng, shape, np.float64), csr(rng, shape, np.float64)
    return (
        *entries_of_rows(true),
        *entries_of_rows(scores),
        scores.data - 0.25,
        float(rng.choice([0.0, -1.0, 1.0])),
        shape[1],
    )


# leaving_out


# evidence


def tie_groups(rng: Generator, n_labels: int = 3) -> tuple[Array, Array, Array]:
    offsets = ragged(rng, n_labels, 30)
    weights = rng.choice([1, 2, 400], offsets[-1])
    return offsets, rng.integers(0, weights + 1), weights


def of_chance(rng: Generator) -> tuple[Array, int, int, int]:
    weights = rng.choice([1, 2, 30], 25)
    n = int(weights.sum())
    positives = int(rng.integers(1, n // 2))
    predicted = int(rng.integers(1, n))
    return weights, positives, int(rng.integers(0, min(positives, predicted) + 1)), predicted


def of_p_value_of_best_f1(rng: Generator, dtype: Any) -> Arguments:
    weights, *counts = of_chance(rng)
    return weights, *counts, float(rng.choice([0.01, 0.5, 2.0]))


def of_steps_of_best_f1(rng: Generator, dtype: Any) -> Arguments:
    weights, *counts = of_chance(rng)
    return int(weights.sum()), *(np.int64(count) for count in counts)


def of_p_value_of_rank_sum(rng: Generator, dtype: Any) -> Arguments:
    n = int(rng.choice([10, 300, 2000]))
    positives, tied = rng.integers(1, n, 2)
    rank_sum = positives * (n + 1) / 2 + rng.normal() * n
    mean, variance = (n - tied + 1) / 2 + tied, rng.choice([0.0, n * n / 12])
    return n, positives, rank_sum, int(tied), (tied + 1) / 2, np.float64(mean), np.float64(variance)


def of_p_values_of_best_f1(rng: Generator, dtype: Any) -> Arguments:
    """The first and the last of three labels; the limit of steps lies where some draws exceed it."""
    drawn = [of_chance(rng) for _ in range(3)]
    offsets = np.append(0, np.cumsum([chance[0].size for chance in drawn]))
    labels = np.array([0, 2])
    n = np.array([drawn[j][0].sum() for j in labels])
    counts = np.array([drawn[j][1:] for j in labels]).T.copy()
    enough = rng.choice([0.01, 0.5], labels.size)
    return offsets, np.concatenate([chance[0] for chance in drawn]), labels, n, *counts, enough, 5000.0


def of_rank_statistics(rng: Generator, dtype: Any) -> Arguments:
    """Tie groups of labels, some of many rows, some labels without any."""
    offsets = ragged(rng, 5, 300)
    weights = np.where(rng.random(offsets[-1]) < 0.1, rng.integers(1, 400, offsets[-1]), 1)
    hits = np.where(rng.random(weights.size) < rng.choice([0.0, 0.1, 0.9]), rng.integers(0, weights + 1), 0)
    return offsets, hits, weights


def of_cuts_within(rng: Generator, dtype: Any) -> Arguments:
    offsets, hits, weights = of_rank_statistics(rng, dtype)
    positives = np.diff(np.append(0, hits.cumsum())[offsets])
    return offsets, hits, weights, positives, float(rng.choice([0.5, 1.0, 3.0]))


def of_p_values_of_rank_sums(rng: Generator, dtype: Any) -> Arguments:
    return tuple(
        np.array(column) for column in zip(*(of_p_value_of_rank_sum(rng, dtype) for _ in range(3)), strict=True)
    )


# expectation, few_labels


def rising_lists(rng: Generator, dtype: Any, longest: int) -> tuple[Array, Array]:
    starts = ragged(rng, 4, longest)
    values = probabilities(rng, starts[-1], dtype)
    for first, last in itertools.pairwise(starts):
        values[first:last].sort()
    return starts, values


def betas(rng: Generator) -> tuple[float, float]:
    """Beta squared, and what 0/0 counts."""
    return float(rng.choice([0.01, 1.0, 4.0])), float(rng.choice([0.0, 1.0]))


def of_centre(rng: Generator, dtype: Any) -> Arguments:
    return float(100 * rng.random()), float(10 * rng.normal())


def of_prefixes(rng: Generator, dtype: Any) -> Arguments:
    starts, values = rising_lists(rng, dtype, 60)
    tails = 0.01 ** np.arange(1.0, 9) * 5 * rng.random((4, 1))
    tails = tails[:, : rng.choice([0, 8])]
    return starts, values, np.ascontiguousarray(tails), *betas(rng), bool(rng.random() < 0.5), SETS_OF_NODES


def of_sets(rng: Generator, dtype: Any) -> Arguments:
    starts, values = rising_lists(rng, dtype, 60)
    chosen = np.sort(rng.integers(starts[:-1], starts[1:] + 1))
    of_sets = [values[first:last] for first, last in zip(chosen, starts[1:], strict=True)]
    sizes = np.array([p.size for p in of_sets])
    more = rng.choice([0, 300], 4) * (sizes > 0)  # zeros that are predicted
    return starts, values, np.append(0, sizes).cumsum(), np.concatenate(of_sets), sizes + more, *betas(rng), NODES


def of_log_chances(rng: Generator, dtype: Any) -> Arguments:
    return probabilities(rng, 40, dtype), np.append(0.0, rng.random(20))


def of_expected_share(rng: Generator, dtype: Any) -> Arguments:
    p = np.sort(probabilities(rng, 30, np.float64))
    return p, p[12:], np.int64(18), -rng.random(9), rng.random(9), betas(rng)[0], NODES


# expected_counts


def sums(n_labels: int, least: bool) -> list[Array]:
    return [*np.zeros((3, n_labels)), *([np.full(n_labels, np.inf)] if least else [])]


def of_sums(rng: Generator, dtype: Any) -> Arguments:
    shape = rng.choice(LONG), rng.integers(1, 6)
    weights = weights_of(rng, shape[0]) / 3
    return probabilities(rng, shape, dtype), weights, rng.choice([0.0, 0.25, 0.7], shape[1]), *sums(shape[1], True)


def of_decided_sums(rng: Generator, dtype: Any) -> Arguments:
    p, weights, *_ = of_sums(rng, dtype)
    return p, cells(rng, p.shape), weights, *sums(p.shape[1], False)


def of_sparse_sums(rng: Generator, dtype: Any) -> Arguments:
    p, low = csr(rng, (700, 4), dtype), rng.choice([0.1, 0.25, 0.7], 4)
    return *entries_of_rows(p), p.data, weights_of(rng, 700) / 3, low, *sums(4, True)


def of_decided_sparse_sums(rng: Generator, dtype: Any) -> Arguments:
    p, decided = csr(rng, (700, 4), dtype), csr(rng, (700, 4), dtype)
    weights = weights_of(rng, 700) / 3
    return *entries_of_rows(p), p.data, *entries_of_rows(decided), weights, *sums(4, False)


# keys


# logistic


def of_logistic(rng: Generator, dtype: Any) -> Arguments:
    starts = ragged(rng, 3, 400)
    x = np.round(rng.normal(size=starts[-1]), 1) * rng.choice([1e-320, 1.0, 1e300])
    hits = rng.integers(0, 3, x.size) * (rng.random(x.size) < 0.3) + (x > 1)
    x[rng.random(x.size) < 0.05] = -np.inf
    weights = hits + rng.integers(0, 3, x.size) + (hits == 0)
    return starts, x, hits, weights, float(rng.choice([0.0, 1.0]))


def of_pulled_lines(rng: Generator, dtype: Any) -> Arguments:
    starts, x, hits, weights, _ = of_logistic(rng, dtype)
    x = np.clip(x, -9, 9)
    x[rng.random(x.size) < 0.05] = np.nan
    prior = np.array([*rng.normal(size=2), 1.5, -0.2, 0.7]) * rng.integers(0, 2)
    return starts, x, hits, weights, (0.99, 0.01), rng.normal(size=(2, 3)), prior


# mean_cuts


# odds


# ranks


def of_among_highest(rng: Generator, dtype: Any) -> Arguments:
    """Labels of some bins or none, some of which are asked for up to more than there is."""
    n_labels = rng.integers(1, 6)
    offsets = np.append(0, rng.integers(0, 9, n_labels)).cumsum()
    weights = weights_of(rng, offsets[-1]) + 1
    wanted = np.sort(rng.uniform(0, 2.0**34, (n_labels, 7)), axis=1)
    return offsets, weights, rng.random(weights.size) * weights, wanted


def of_counts_at_cuts(rng: Generator, dtype: Any) -> Arguments:
    """Bins of one score and of several that fall, some labels without any; cuts of labels by themselves or together."""
    sizes = rng.integers(0, 9, rng.integers(1, 6))
    ends = [-np.sort(-np.round(rng.normal(size=2 * n), 2)).reshape(n, 2) for n in sizes]
    highest, lowest = np.concatenate(ends).astype(dtype).T.copy()
    weights = weights_of(rng, lowest.size) + 1
    cuts = np.append(np.inf, -np.sort(-np.round(rng.normal(size=5), 2)))
    counts = np.zeros((2, sizes.size if rng.random() < 0.5 else 1, cuts.size))
    return np.append(0, sizes.cumsum()), lowest, highest, weights // 2, weights, cuts, *counts


def of_pooled_depths(rng: Generator, dtype: Any) -> Arguments:
    """Counts that rise from cut to cut, the first of which predicts nothing; of weights they are no whole numbers."""
    n_labels, n_cuts, n_priors = rng.integers(1, 6), rng.integers(2, 30), rng.integers(1, 4)
    n_tp, n_fp = np.zeros((2, n_labels, n_cuts))
    n_tp[:, 1:] = rng.poisson(rng.choice([0.1, 3]), (n_labels, n_cuts - 1))
    n_fp[:, 1:] = rng.poisson(rng.choice([0.1, 300]), (n_labels, n_cuts - 1))
    tp = n_tp.cumsum(axis=1)
    predicted = tp + n_fp.cumsum(axis=1)
    depth = rng.uniform(0.01, 1, n_cuts).cumsum()
    prior = rng.choice([0, 1, 100]) * rng.normal(size=(n_priors, n_cuts))
    rows_per_unit = rng.choice([1, 0.1])
    counts = ((tp * rows_per_unit).astype(np.float32), (predicted * rows_per_unit).astype(np.float32))
    return *counts, depth, np.gradient(depth), prior, rng.uniform(0, 0.5), int(rng.integers(1, 6))


def of_left_out_groups(rng: Generator, dtype: Any) -> Arguments:
    """Groups of a few runs each, with what they have added up, and more."""
    *counts, depth, width, prior, ratio, n_sharpnesses = of_pooled_depths(rng, dtype)
    n_labels, n_cuts = counts[0].shape
    n_of_label = rng.integers(0, 4, n_labels)
    own = [np.flatnonzero(rng.random(n_cuts - 1) < 0.4)[:5] + 1 for _ in range(n_of_label.sum())]
    cuts = np.concatenate([np.empty(0, np.int64), *own])
    tp = rng.poisson(1, cuts.size).astype(np.float64)
    offsets = np.append(0, np.cumsum([runs.size for runs in own], dtype=np.int64))
    runs = np.append(0, n_of_label.cumsum()), offsets, cuts, tp, tp + rng.poisson(2, cuts.size)
    return *counts, depth, width, prior, ratio, n_sharpnesses, *runs


# rows


# shared_cuts


# kernels of the engine


def of_useful_steps(rng: Generator, dtype: Any) -> Arguments:
    """Labels by themselves or all together, with and without limits, in room that is cleared: it is compared, too."""
    found, truth = tile(rng, dtype, (40, 400))
    n_labels, n = found.shape
    weights = weights_of(rng, n * int(rng.choice([1, n_labels]))) + 1 if rng.random() < 0.5 else None
    ends = np.arange(1, n_labels + 1) * n
    low, high = np.sort(rng.random(2)).tolist()
    limits = np.array([(np.inf, 0, 0), (1.5, 0.1, 0.2)])[rng.integers(0, 2, n_labels)].T.copy()
    room = engine.room_for(n, np.dtype(dtype), weighted=weights is not None)
    empty = engine.SearchBuffers(*(None if part is None else np.zeros_like(part) for part in room))
    steps = engine.StepBuffers(*map(np.zeros_like, engine.found_for(n_labels)))
    columns = scores_of(found).reshape(-1), truth.reshape(-1), weights, ends - n, ends, rng.integers(0, 3, n_labels)
    return *columns, float(rng.choice([0.25, 1.0])), low, high, bool(rng.random() < 0.5), limits, empty, steps


def of_histograms(rng: Generator, dtype: Any) -> Arguments:
    """Labels with weights and without, in room that is cleared: it is compared, too."""
    found, truth = tile(rng, dtype, (1, 40, 400, 4000))
    n_labels, n = found.shape
    weights = weights_of(rng, n * int(rng.choice([1, n_labels]))) + 1 if rng.random() < 0.5 else None
    ends = np.arange(1, n_labels + 1) * n
    room = histograms.room_for(n, found.itemsize)
    empty = histograms.SortBuffers(*(None if part is None else np.zeros_like(part) for part in room))
    groups = histograms.Groups(*map(np.zeros_like, histograms.groups_for(found.size, found.dtype)))
    bits = scores_of(found).view(found.dtype)
    return bits.reshape(-1), truth.reshape(-1), weights, ends - n, ends, empty, groups


def of_leading_bits(rng: Generator, dtype: Any) -> Arguments:
    """The same, in few bins or many."""
    *columns, room, groups = of_histograms(rng, dtype)
    masked = np.uint64(keys.to_keys(np.array([-np.inf], dtype))[0])
    return *columns, masked, int(rng.choice([2, 16, 1024])), room, groups


def of_lower_scores(rng: Generator, dtype: Any) -> Arguments:
    """Some of them at hand, some of masked scores, which have none."""
    found, _ = tile(rng, dtype)
    n_labels, n = found.shape
    ends = np.arange(1, n_labels + 1) * n
    offsets = np.append(0, rng.integers(0, 4, n_labels)).cumsum()
    cut = rng.choice(scores_of(found).reshape(-1), offsets[-1]).astype(np.float64)
    lower = np.where(rng.random(cut.size) < 0.2, -7.0, np.inf)
    return scores_of(found).reshape(-1), ends - n, ends, offsets, cut, lower


# stratification


def of_labels_of_groups(rng: Generator, dtype: Any) -> Arguments:
    n_rows, n_labels, n_groups = int(rng.choice([7, 300])), 5, 4
    starts, labels = entries_of_rows(sparse.csr_array(cells(rng, (n_rows, n_labels), 0.3)))
    group = rng.integers(n_groups, size=n_rows)
    group_starts = np.append(0, np.bincount(group, minlength=n_groups).cumsum())
    written = np.zeros_like(group_starts), np.zeros_like(labels), np.zeros_like(labels)
    return starts, labels, np.argsort(group), group_starts, np.full(n_labels, -1), *written


def of_units_by_label(rng: Generator, dtype: Any) -> Arguments:
    n_units, n_labels = int(rng.choice([7, 300])), 5
    starts, labels = entries_of_rows(sparse.csr_array(cells(rng, (n_units, n_labels), 0.3)))
    counts, order = _counts_of(rng, labels.size), rng.permutation(n_units).astype(np.int32)
    places = np.append(0, np.bincount(labels, minlength=n_labels).cumsum())[:-1]
    return starts, labels, counts, order, places, np.zeros(labels.size, np.int32), np.zeros_like(counts)


def of_folds(rng: Generator, dtype: Any) -> Arguments:
    n_units, n_folds = int(rng.choice([7, 300])), 4
    truth = cells(rng, (n_units, 5), 0.3)
    by_label = sparse.csc_array(truth)
    label_starts, units = by_label.indptr.astype(np.int64), by_label.indices.astype(np.int32)
    unit_starts, labels = entries_of_rows(sparse.csr_array(truth))
    sizes = NO_WEIGHTS if rng.random() < 0.5 else rng.integers(1, 300, n_units)
    first, order = (part.astype(np.int32) for part in (rng.integers(0, n_folds, n_units), rng.permutation(n_units)))
    return label_starts, units, unit_starts, labels, _counts_of(rng, labels.size), sizes, first, order, n_folds


def _counts_of(rng: Generator, n_entries: int) -> Array:
    """How often each entry counts, or nothing, where each counts once."""
    counts = rng.integers(1, 300, n_entries).astype(np.int32)
    return counts[:0] if rng.random() < 0.5 else counts


DRAWS: dict[str, Callable[[Generator, Any], Arguments]] = {
    "bootstrap.add_replicates": of_resampled,
    "choosing.upper_hulls": of_hulls,
    "confusion.weigh_by_label": of_weighed_counts,
    "confusion.count_sparse": of_sparse_counts,
    "confusion.ranks_of_positives": of_ranks_of_positives,
    "evidence.rank_statistics": of_rank_statistics,
    "evidence.cuts_within": of_cuts_within,
    "evidence.steps_of_best_f1": of_steps_of_best_f1,
    "evidence.p_value_of_best_f1": of_p_value_of_best_f1,
    "evidence.p_value_of_rank_sum": of_p_value_of_rank_sum,
    "evidence.p_values_of_best_f1": of_p_values_of_best_f1,
    "evidence.p_values_of_rank_sums": of_p_values_of_rank_sums,
    "outcomes.centre": of_centre,
    "outcomes.best_prefixes": of_prefixes,
    "outcomes.expected_f_of_sets": of_sets,
    "outcomes.log_chances": of_log_chances,
    "outcomes.expected_share": of_expected_share,
    "expected_counts.add_rows": of_sums,
    "expected_counts.add_sparse_rows": of_sparse_sums,
    "expected_counts.add_decisions": of_decided_sums,
    "expected_counts.add_sparse_decisions": of_decided_sparse_sums,
    "calibration.fit_logistic": of_logistic,
    "calibration.pull_lines": of_pulled_lines,
    "guards.left_out_groups": of_left_out_groups,
    "guards.among_highest": of_among_highest,
    "guards.counts_at_cuts": of_counts_at_cuts,
    "guards.pooled_depths": of_pooled_depths,
    "histograms.leading_bits": of_leading_bits,
    "histograms.tie_groups": of_histograms,
    "kernels.useful_steps": of_useful_steps,
    "kernels.look_up_lower": of_lower_scores,
    "folds.write_labels_of_groups": of_labels_of_groups,
    "folds.write_units_by_label": of_units_by_label,
    "folds.deal_out": of_folds,
}
