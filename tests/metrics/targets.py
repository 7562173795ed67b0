"""Truth and predictions of every kind that a classification metric takes: what `metrics` and scikit-learn agree on.

`targets` is a seeded registry. Kinds, as scikit-learn calls them: "multilabel" (a 0/1 matrix, dense or sparse),
"multiclass" (a vector with more than two classes, truth and predictions taken together) and "binary" (a vector
with at most two). There are labels without positives or predictions, rows without either, classes that only the
truth or only the predictions have, vectors of one class, and `labels` that do not occur.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.generic]
KINDS = ("multilabel", "multiclass", "binary")
SHAPES = [(1, 2), (2, 2), (3, 5), (8, 3), (40, 7), (200, 2), (25, 60)]
LENGTHS = [1, 2, 3, 5, 8, 30, 200]
BETAS = [1.0, 0.5, 2.0, 1.37, 0.01, 30.0, 0.0]


@dataclass(frozen=True, eq=False)
class Target:
    """Arguments of one comparison."""

    name: str
    kind: str
    y_true: object
    y_pred: object
    sample_weight: Array | None
    labels: list[object] | Array | None
    pos_label: object
    beta: float

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.name


def draw_weights(rng: Generator, n_samples: int) -> Array | None:
    """No weights, positive integers, integers with zeros, or reals of many magnitudes; never all zero."""
    kind = rng.choice(["none", "none", "integers", "zeros", "reals"])
    if kind == "none":
        return None
    if kind == "reals":
        return np.exp(3 * rng.standard_normal(n_samples))
    weights = rng.integers(kind == "integers", 5, n_samples)
    return weights if weights.any() else weights + 1


# Indicator matrices

DENSE: dict[str, Callable[[Array], object]] = {
    "uint8": lambda x: x,
    "bool": lambda x: x.astype(bool),
    "int64": lambda x: x.astype(np.int64),
    "float32": lambda x: x.astype(np.float32),
    "float64": lambda x: x.astype(np.float64),
    "Fortran order": np.asfortranarray,
    "list": lambda x: x.tolist(),
}
SPARSE: dict[str, Callable[[Array], object]] = {
    "CSR": sparse.csr_array,
    "CSR matrix of floats": lambda x: sparse.csr_matrix(x.astype(float)),
    "CSC of int32": lambda x: sparse.csc_array(x.astype(np.int32)),
    "COO": sparse.coo_array,
}
CONTAINERS = DENSE | SPARSE


def indicator(rng: Generator, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """A 0/1 matrix with now and then an empty label, empty rows, or nothing at all."""
    matrix = rng.random(shape) < rng.choice([0.05, 0.3, 0.7])
    matrix[:, rng.random(shape[1]) < 0.2] = False
    matrix[rng.random(shape[0]) < 0.2] = False
    return matrix.astype(np.uint8) * (rng.random() > 0.05)


def indicators(rng: Generator, shape: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A 0/1 matrix and one that mostly agrees with it."""
    y_true = indicator(rng, shape)
    return y_true, np.where(rng.random(shape) < 0.7, y_true, indicator(rng, shape))


def multilabel(rng: Generator, name: str) -> Target:
    """Matrices in two containers, which differ mostly; `labels` are some of the columns in any order."""
    n_samples, n_labels = shape = SHAPES[rng.integers(len(SHAPES))]
    matrices = indicators(rng, shape)
    truth, predicted = rng.choice(list(CONTAINERS), 2)
    return Target(
        f"{name}-{truth}-{predicted}",
        "multilabel",
        CONTAINERS[truth](matrices[0]),
        CONTAINERS[predicted](matrices[1]),
        draw_weights(rng, n_samples),
        None if rng.random() < 0.6 else rng.permutation(n_labels)[: rng.integers(1, n_labels + 1)],
        1,
        float(rng.choice(BETAS)),
    )


# Vectors of classes: an alphabet, the first of which occur, and how a vector of them is written


@dataclass(frozen=True)
class Alphabet:
    """Classes and how to write a vector of them."""

    classes: tuple[object, ...]
    write: Callable[[list[object]], object]


FRUIT = ("pear", "apple", "fig", "Äpfel", "a fruit with a longer name", "")
MANY: dict[str, Alphabet] = {
    "integers": Alphabet((0, 1, 2, 3, 4), np.array),
    "list of integers": Alphabet((3, 1, 2, 7), list),
    "negative integers": Alphabet((-1, 0, 1, -128, 127), lambda x: np.array(x, np.int8)),
    "gaps": Alphabet((-(10**15), 0, 7, 10**9, 10**15, 3), np.array),
    "uint16": Alphabet((65535, 0, 500, 2), lambda x: np.array(x, np.uint16)),
    "integral floats": Alphabet((0.0, -3.0, 2.0, 1e15), np.array),
    "float32": Alphabet((1.0, 2.0, 3.0, 4.0), lambda x: np.array(x, np.float32)),
    "list of strings": Alphabet(FRUIT, list),
    "strings": Alphabet(FRUIT, np.array),
    "objects": Alphabet(FRUIT, lambda x: np.array(x, object)),
    "many integers": Alphabet(tuple(range(-20, 40)), np.array),
}
TWO: dict[str, Alphabet] = {
    "0/1": Alphabet((0, 1), np.array),
    "1/0 list": Alphabet((1, 0), list),
    "bool": Alphabet((False, True), np.array),
    "list of bools": Alphabet((True, False), list),
    "signs": Alphabet((-1, 1), lambda x: np.array(x, np.int8)),
    "1/2": Alphabet((1, 2), np.array),
    "far apart": Alphabet((10**15, -(10**15)), np.array),
    "floats": Alphabet((0.0, 1.0), np.array),
    "yes/no": Alphabet(("yes", "no"), list),
    "string array": Alphabet(("yes", "no"), np.array),
    "objects": Alphabet(("no", "yes"), lambda x: np.array(x, object)),
}


def pick(rng: Generator, classes: tuple[object, ...], count: int) -> list[object]:
    """So many classes with repetition, as the Python objects they are."""
    return [classes[i] for i in rng.integers(len(classes), size=count)]


def some(rng: Generator, classes: tuple[object, ...]) -> tuple[object, ...]:
    """Some of the classes, at least one, in any order."""
    return tuple(classes[i] for i in rng.permutation(len(classes))[: rng.integers(1, len(classes) + 1)])


def vectors(rng: Generator, classes: tuple[object, ...], length: int) -> tuple[list[object], list[object]]:
    """Truth from some of the classes, and predictions that agree or are from others; now and then all agree or none."""
    truth, others = pick(rng, some(rng, classes), length), pick(rng, some(rng, classes), length)
    agree = rng.random(length) < rng.choice([0.0, 0.7, 0.7, 0.7, 1.0])
    return truth, [t if same else p for t, p, same in zip(truth, others, agree, strict=True)]


def vector(rng: Generator, name: str, alphabets: dict[str, Alphabet]) -> Target:
    """Vectors over an alphabet that is drawn; `labels` are some of it in any order, whether or not they occur."""
    written = rng.choice(list(alphabets))
    classes, write = alphabets[written].classes, alphabets[written].write
    length = LENGTHS[rng.integers(len(LENGTHS))]
    truth, predicted = vectors(rng, classes, length)
    present = {*truth, *predicted}
    return Target(
        f"{name}-{written}",
        "binary" if len(present) <= 2 else "multiclass",
        write(truth),
        write(predicted),
        draw_weights(rng, length),
        None if rng.random() < 0.6 else list(some(rng, classes)),
        pick(rng, tuple(c for c in classes if c in present), 1)[0],
        float(rng.choice(BETAS)),
    )


def targets(count: int, seed: int) -> Iterator[Target]:
    """`count` targets, matrices and vectors in turn; the i-th depends on the seed and i alone."""
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        name = f"{seed}-{i}"
        alphabets = (None, MANY, TWO, MANY)[i % 4]
        yield multilabel(rng, name) if alphabets is None else vector(rng, name, alphabets)
