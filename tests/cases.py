"""Small cases that go looking for trouble: ties, neighbouring floats, subnormals, signed zeros, huge scores,
masked cells, empty labels and rows, weights of zero.

`small_cases` is a seeded registry to iterate over, `cases` a Hypothesis strategy in the same spirit. No case
holds a NaN or +inf, none has a total weight of zero, and all are small enough for `naive.best_micro`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[np.generic]
Shape = tuple[int, int]

SHAPES = [(n, m) for n in range(1, 9) for m in range(1, 5) if n * m <= 14]
FLOATS = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16)]
INTEGERS = [np.dtype(name) for name in ("int64", "int32", "int8", "uint8")]
BETAS = [1.0, 0.5, 2.0, 0.3, 1.37, 3.0]
ZERO_DIVISIONS = [0.0, 1.0]


@dataclass(frozen=True, eq=False)
class Case:
    """One fitting problem; `y_true` and `y_score` are (n_samples, n_labels)."""

    name: str
    y_true: NDArray[np.uint8]
    y_score: Array
    sample_weight: Array | None
    beta: float
    zero_division: float

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.name

    @property
    def dyadic_weights(self) -> bool:
        """Whether the weights are absent or multiples of 1/8, so that sums of them are exact in floats."""
        return self.sample_weight is None or bool(np.all(self.sample_weight * 8 % 1 == 0))


# Scores: each flavour draws a matrix of a floating dtype


def few_levels(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Quarters: mostly ties."""
    return (rng.integers(0, 5, shape) / 4).astype(dtype)


def continuous(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Probabilities without ties."""
    return rng.random(shape).astype(dtype)


def logits(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Scores of both signs."""
    return (5 * rng.standard_normal(shape)).astype(dtype)


def negative(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Logarithms of probabilities, rounded to tie now and then."""
    return np.round(-5 * rng.random(shape), int(rng.integers(0, 3))).astype(dtype)


def constant_columns(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """One value in each column, mostly."""
    scores = np.repeat(rng.standard_normal((1, shape[1])), shape[0], axis=0)
    varied = rng.random(shape[1]) < 0.3
    scores[:, varied] = rng.random((shape[0], int(varied.sum())))
    return scores.astype(dtype)


def neighbours(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """A chain of up to five neighbouring floats around a power of two, a large number or zero."""
    start = rng.choice([1.0, 0.5, 0.1, -1.0, -0.3, 1000.0, 0.0])
    chain = [dtype.type(start)]
    for _ in range(4):
        chain.append(np.nextafter(chain[-1], dtype.type(-np.inf)))
    if rng.random() < 0.5:
        chain = [np.nextafter(x, dtype.type(np.inf)) for x in chain]
    return rng.choice(np.array(chain, dtype=dtype), shape)


def subnormals(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Subnormals of the dtype, or of float32 in float64, and their nearest normals and zero."""
    narrow = np.dtype(np.float32) if dtype.itemsize == 8 and rng.random() < 0.4 else dtype
    least, normal = np.finfo(narrow).smallest_subnormal, np.finfo(narrow).smallest_normal
    below = np.nextafter(normal, narrow.type(0))
    half = narrow.type(normal / 2)
    levels = np.array([0, least, 2 * least, 5 * least, half, below, normal, 2 * normal], dtype=dtype)
    signs = rng.choice([-1, 1], shape) if rng.random() < 0.6 else np.ones(shape)
    return rng.choice(levels, shape) * signs.astype(dtype)


def signed_zeros(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """-0.0 and 0.0, with a little on either side."""
    levels = np.array([-0.0, 0.0, -0.0, 0.0, 0.25, -0.25], dtype=dtype)
    return rng.choice(levels[: rng.integers(2, 7)], shape)


def huge(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """The largest finite numbers, whose differences and sums overflow."""
    top = np.finfo(dtype).max
    below = np.nextafter(top, dtype.type(0))
    levels = np.array([top, below, top / 2, 1, 0, -1, -top / 2, -below, -top], dtype=dtype)
    return rng.choice(levels, shape)


def wide_range(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """Magnitudes over the whole range of the dtype, of both signs."""
    limits = np.finfo(dtype)
    exponents = rng.uniform(limits.minexp, limits.maxexp - 1, shape)
    return (np.exp2(exponents) * rng.choice([-1, 1], shape)).astype(dtype)


def masked(rng: Generator, shape: Shape, dtype: np.dtype) -> Array:
    """-inf in some cells, which is how a label is ruled out."""
    scores = few_levels(rng, shape, dtype) if rng.random() < 0.5 else logits(rng, shape, dtype)
    scores[rng.random(shape) < rng.choice([0.2, 0.6])] = -np.inf
    return scores


SCORES: dict[str, Callable[[Generator, Shape, np.dtype], Array]] = {
    "few_levels": few_levels,
    "continuous": continuous,
    "logits": logits,
    "negative": negative,
    "constant_columns": constant_columns,
    "neighbours": neighbours,
    "subnormals": subnormals,
    "signed_zeros": signed_zeros,
    "huge": huge,
    "wide_range": wide_range,
    "masked": masked,
}
FLAVOURS = [*SCORES, "integers"]


def draw_scores(rng: Generator, shape: Shape, flavour: str) -> Array:
    """Scores of a flavour in a random dtype, now and then with every column its own flavour."""
    if flavour == "integers":
        dtype = rng.choice(INTEGERS)
        low = 0 if dtype.kind == "u" else -4
        return rng.integers(low, 5, shape).astype(dtype)
    dtype = rng.choice(FLOATS)
    scores = SCORES[flavour](rng, shape, dtype)
    if rng.random() < 0.2:
        scores[:, 0] = SCORES[rng.choice(list(SCORES))](rng, (shape[0], 1), dtype)[:, 0]
    return scores


# Truth and weights


def draw_truth(rng: Generator, y_score: Array) -> NDArray[np.uint8]:
    """Truth at a random base rate or following the scores, with some labels and rows emptied or filled."""
    shape = y_score.shape
    truth = rng.random(shape) < rng.choice([0.1, 0.3, 0.5, 0.9])
    if rng.random() < 0.4:
        upper_half = y_score >= np.sort(y_score, axis=0)[shape[0] // 2]
        truth = upper_half ^ (rng.random(shape) < 0.2)
    if rng.random() < 0.3:
        truth[:, rng.integers(shape[1])] = rng.random() < 0.4
    if rng.random() < 0.2:
        truth[rng.random(shape[0]) < 0.5] = False
    if rng.random() < 0.05:
        truth[:] = False
    return truth.astype(np.uint8)


def draw_weights(rng: Generator, n_samples: int) -> Array | None:
    """No weights, integers with zeros, eighths, or reals; never all zero."""
    kind = rng.choice(["none", "none", "integers", "eighths", "reals"])
    if kind == "none":
        return None
    weights: Array = rng.integers(0, 4, n_samples)
    if kind == "eighths":
        weights = rng.integers(0, 17, n_samples) / 8
    if kind == "reals":
        weights = rng.exponential(size=n_samples) * (rng.random(n_samples) < 0.8)
    return weights if weights.sum() > 0 else weights + 1


def small_cases(count: int, seed: int) -> Iterator[Case]:
    """`count` cases that go round the flavours of scores; case i depends on the seed and i alone."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        flavour = FLAVOURS[i % len(FLAVOURS)]
        shape = SHAPES[rng.integers(len(SHAPES))]
        y_score = draw_scores(rng, shape, flavour)
        yield Case(
            name=f"{seed}-{i}-{flavour}-{y_score.dtype}",
            y_true=draw_truth(rng, y_score),
            y_score=y_score,
            sample_weight=draw_weights(rng, shape[0]),
            beta=float(rng.choice(BETAS)),
            zero_division=float(rng.choice(ZERO_DIVISIONS)),
        )


def of_each_flavour(cases: Iterable[Case], count: int) -> list[Case]:
    """The first cases of each flavour, but for those of float16, of which SciPy has no sparse matrices."""
    usable = [case for case in cases if case.y_score.dtype != np.float16]
    return [case for flavour in FLAVOURS for case in [c for c in usable if f"-{flavour}-" in c.name][:count]]


# The same for Hypothesis


def levels(dtype: np.dtype) -> st.SearchStrategy[Array]:
    """One to six distinct scores of the dtype, some of them neighbours, special numbers or -inf."""
    if dtype.kind in "iu":
        values = st.integers(0 if dtype.kind == "u" else -5, 5)
        return st.lists(values, min_size=1, max_size=6).map(lambda x: np.array(x, dtype=dtype))
    limits = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, limits.smallest_subnormal, limits.smallest_normal, limits.max, -np.inf]
    finite = st.floats(width=8 * dtype.itemsize, allow_nan=False, allow_infinity=False)
    values = st.one_of(st.sampled_from([float(x) for x in special]), st.floats(-1, 1, width=16), finite)
    return st.builds(chained, st.lists(values, min_size=1, max_size=4), st.integers(0, 2), st.just(dtype))


def chained(values: list[float], n_more: int, dtype: np.dtype) -> Array:
    """The values, and below the last of them a chain of so many neighbouring floats."""
    chain = [*np.array(values, dtype=dtype)]
    for _ in range(n_more):
        below = np.nextafter(chain[-1], dtype.type(-np.inf)) if chain[-1] > np.finfo(dtype).min else chain[-1]
        chain.append(below)
    return np.array(chain, dtype=dtype)


def weight_lists(n_samples: int) -> st.SearchStrategy[list[float] | list[int]]:
    """Integers with zeros, eighths, or reals, with a positive sum."""
    eighths = st.integers(0, 16).map(lambda x: x / 8)
    reals = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
    kinds = [st.lists(x, min_size=n_samples, max_size=n_samples) for x in (st.integers(0, 3), eighths, reals)]
    return st.one_of(*kinds).filter(lambda weights: sum(weights) > 0)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small case; shrinks to few rows, equal scores, no positives, no weights, beta 1."""
    n_samples, n_labels = draw(st.sampled_from(sorted(SHAPES, key=lambda shape: shape[0] * shape[1])))
    n_cells = n_samples * n_labels
    alphabet = draw(st.sampled_from([*FLOATS, INTEGERS[0], INTEGERS[-1]]).flatmap(levels))
    picks = draw(st.lists(st.integers(0, len(alphabet) - 1), min_size=n_cells, max_size=n_cells))
    truth = draw(st.lists(st.integers(0, 1), min_size=n_cells, max_size=n_cells))
    weights = draw(st.one_of(st.none(), weight_lists(n_samples)))
    return Case(
        name="hypothesis",
        y_true=np.array(truth, dtype=np.uint8).reshape(n_samples, n_labels),
        y_score=alphabet[picks].reshape(n_samples, n_labels),
        sample_weight=None if weights is None else np.array(weights),
        beta=draw(st.sampled_from(BETAS)),
        zero_division=draw(st.sampled_from(ZERO_DIVISIONS)),
    )
