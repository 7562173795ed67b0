"""What must not matter to a fit, over a registry of all rules, each declaring what holds for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from thresholds import (
    InstanceRule,
    RegionRule,
    ThresholdRule,
    TopKRule,
    fit_empirical,
    fit_expected,
    fit_regions,
    fit_top_k,
)
from thresholds.rule import Rule

Array = NDArray[np.generic]
inf = float("inf")


# Data


@dataclass(frozen=True, eq=False)
class Data:
    """One fitting problem; `y_true` and `y_score` are (n_samples, n_labels)."""

    name: str
    y_true: NDArray[np.uint8]
    y_score: Array
    sample_weight: Array | None = None
    beta: float = 1.0
    zero_division: float = 0.0

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.name

    @property
    def weights(self) -> Array:
        """The weights, ones where there are none."""
        return np.ones(len(self.y_true)) if self.sample_weight is None else self.sample_weight

    def take(self, rows: Array) -> "Data":
        """The data of some rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, y_true=self.y_true[rows], y_score=self.y_score[rows], sample_weight=weights)


def draw(rng: Generator, shape: tuple[int, int]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Truth from rare to common, without positives in some labels and rows, and logits that follow it."""
    truth = rng.random(shape) < np.geomspace(0.01, 0.7, shape[1])
    truth[:, ::13], truth[::7] = False, False
    return truth.astype(np.uint8), rng.standard_normal(shape) + 1.5 * truth


def all_data() -> Iterator[Data]:
    """Probabilities with ties; quarters with integer weights; logits with masked cells and real weights."""
    rng = np.random.default_rng(20140208)
    truth, logits = draw(rng, (160, 24))
    yield Data("probabilities", truth, np.round(1 / (1 + np.exp(-logits)), 2))
    truth, logits = draw(rng, (160, 24))
    quarters = (np.round(4 * logits) / 4).astype(np.float32)
    yield Data("quarters", truth, quarters, rng.integers(0, 4, 160), beta=2.0, zero_division=1.0)
    truth, logits = draw(rng, (160, 24))
    logits[rng.random(logits.shape) < 0.3] = -inf
    yield Data("logits", truth, logits, rng.exponential(size=160), beta=0.5)


def all_chances() -> Iterator[Data]:
    """Probabilities in 256ths, for which sums are exact: none, rare and likely ones; with and without whole weights."""
    rng = np.random.default_rng(20130705)
    for name, weights in (("256ths", None), ("weighted 256ths", rng.integers(0, 4, 160))):
        p = rng.random((160, 24)) ** rng.uniform(0.5, 6, 24)
        p[:, ::13], p[::7] = 0, 0
        yield Data(name, np.zeros(p.shape, np.uint8), np.floor(257 * p) / 256, weights, beta=2.0, zero_division=1.0)


DATA, CHANCES = list(all_data()), list(all_chances())


# Rules


@dataclass(frozen=True)
class Fitted:
    """A way to fit, and the names of the invariances below that hold for it."""

    name: str
    fit: Callable[..., Rule]
    holds: frozenset[str]
    label_free: bool = False  # takes probabilities, and looks at no truth

    def __str__(self) -> str:
        """The name, which also serves as the identifier of a test."""
        return self.name

    def __call__(self, data: Data, **options: object) -> Rule:
        """The rule fitted on the data."""
        given = {"sample_weight": data.sample_weight, "beta": data.beta, "zero_division": data.zero_division} | options
        return self.fit(data.y_score, **given) if self.label_free else self.fit(data.y_true, data.y_score, **given)

    @property
    def data(self) -> list[Data]:
        """What it can be fitted on; rules that take no weights, without them."""
        if not self.label_free:
            return DATA
        return CHANCES if "duplicates are weights" in self.holds else CHANCES[:1]


ALWAYS = {
    "order of samples",
    "order of labels without ties",
    "duplicates are weights",
    "no weight is absence",
    "unit of weights",
    "common transform",
    "precision",
    "sparse",
    "layout of scores",
    "dtype of truth",
    "layout of truth",
}
THRESHOLDS = {"order of labels", "threads"}
WEIGHTS = {"duplicates are weights", "no weight is absence", "unit of weights"}
LABEL_FREE = THRESHOLDS | {"order of samples", "precision", "sparse probabilities", "layout of scores"}

RULES = [
    *(
        Fitted(average, partial(fit_empirical, average=average), frozenset(ALWAYS | THRESHOLDS | {"own transforms"}))
        for average in ("macro", "weighted", "micro")
    ),
    *(
        Fitted(
            f"{average}, shared",
            partial(fit_empirical, average=average, per_label=False),
            frozenset(ALWAYS | THRESHOLDS),
        )
        for average in ("macro", "weighted", "micro", "samples")
    ),
    Fitted("top k", fit_top_k, frozenset(ALWAYS)),  # equal scores rank by label; a row compares its labels
    *(
        Fitted(
            f"{average}, regions",
            partial(fit_regions, average=average),
            frozenset(ALWAYS | THRESHOLDS | {"own transforms"}),
        )
        for average in ("macro", "weighted", "micro")
    ),
    Fitted(
        "macro, isotonic regions",
        partial(fit_regions, posterior="isotonic"),
        frozenset(ALWAYS | THRESHOLDS | {"own transforms"}),
    ),
    *(
        Fitted(f"{average}, label-free", partial(fit_expected, average=average), frozenset(LABEL_FREE | WEIGHTS), True)
        for average in ("macro", "weighted", "micro")
    ),
    *(
        Fitted(
            f"{average}, shared, label-free",
            partial(fit_expected, average=average, per_label=False),
            frozenset(LABEL_FREE | WEIGHTS),
            True,
        )
        for average in ("macro", "weighted", "micro", "samples")
    ),
    Fitted("macro, label-free, exact", partial(fit_expected, exact=True), frozenset(LABEL_FREE), True),
    Fitted(  # equal probabilities rank by label
        "instance",
        partial(fit_expected, average="samples"),
        frozenset(LABEL_FREE - {"order of labels"} | {"order of labels without ties"} | WEIGHTS),
        True,
    ),
]


def decisions(rule: Rule, y_score: object) -> Array:
    """What a rule predicts, as a dense array."""
    return rule.predict(y_score, dense=True)


def cuts(rule: Rule) -> list[list[float]]:
    """The scores of each label at which decisions change; none for rules that compare labels."""
    if isinstance(rule, TopKRule | InstanceRule):
        return []
    if isinstance(rule, RegionRule):
        return [of_label.tolist() for of_label in rule.switches]
    return [[threshold] for threshold in rule.thresholds.tolist()]


def unsupported(rule: Rule) -> list[bool]:
    """The labels that are marked as having no positives."""
    return getattr(rule, "unsupported", np.empty(0, np.bool_)).tolist()


def check_same(got: Rule, expected: Rule, *, bits: bool = False) -> None:
    """Both rules are the same, their objectives too: to the last bit, or but for the order of summation."""
    assert type(got) is type(expected)
    assert cuts(got) == cuts(expected)
    assert unsupported(got) == unsupported(expected)
    if isinstance(expected, TopKRule):
        assert got.k == expected.k
    assert got.objective == (expected.objective if bits else pytest.approx(expected.objective, abs=1e-12))


# Invariances

INVARIANCES: dict[str, Callable[[Fitted, Data, Generator], None]] = {}


def invariance(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a function into the registry."""

    def enter(check: Callable[..., None]) -> Callable[..., None]:
        INVARIANCES[name] = check
        return check

    return enter


@invariance("order of samples")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    check_same(fit(data.take(rng.permutation(len(data.y_true)))), fit(data))


@invariance("order of labels")
def order_of_labels(fit: Fitted, data: Data, rng: Generator) -> None:
    order = rng.permutation(data.y_true.shape[1])
    got = fit(replace(data, y_true=data.y_true[:, order], y_score=data.y_score[:, order]))
    expected = fit(data)
    if cuts(expected):
        assert cuts(got) == [cuts(expected)[j] for j in order]
    if unsupported(expected):
        assert unsupported(got) == [unsupported(expected)[j] for j in order]
    np.testing.assert_array_equal(decisions(got, data.y_score[:, order]), decisions(expected, data.y_score)[:, order])
    assert got.objective == pytest.approx(expected.objective, abs=1e-12)


@invariance("order of labels without ties")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    ranks = rng.permutation(data.y_score.size).reshape(data.y_score.shape)
    finite = np.where(np.isfinite(data.y_score), data.y_score, -100)
    order_of_labels(fit, replace(data, y_score=finite * (1 - 1e-4) + 1e-9 * ranks), rng)


@invariance("duplicates are weights")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    times = rng.integers(1, 4, len(data.y_true))
    got = fit(data.take(np.repeat(np.arange(len(times)), times)))
    check_same(got, fit(replace(data, sample_weight=data.weights * times)))


@invariance("no weight is absence")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    kept = rng.random(len(data.y_true)) < 0.8
    check_same(fit(replace(data, sample_weight=data.weights * kept)), fit(data.take(kept)))


@invariance("unit of weights")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    expected = fit(replace(data, sample_weight=data.weights))
    for unit in (2.0, 2.0**-40, 2.0**300):
        check_same(fit(replace(data, sample_weight=data.weights * unit)), expected, bits=True)
    for unit in (3, 1000.0):
        check_same(fit(replace(data, sample_weight=data.weights * unit)), expected)


def rising(scores: Array, rng: Generator) -> Array:
    """The scores under a random strictly rising map."""
    distinct, at = np.unique(scores, return_inverse=True)
    return np.sort(10 * rng.standard_normal(distinct.size))[at].reshape(scores.shape)


def same_decisions(fit: Fitted, data: Data, transformed: Array) -> None:
    """The thresholds follow a transform of the scores."""
    options = {"placement": "score"} if "placement" in signature(fit.fit).parameters else {}
    got, expected = fit(replace(data, y_score=transformed), **options), fit(data, **options)
    np.testing.assert_array_equal(decisions(got, transformed), decisions(expected, data.y_score))
    assert got.objective == expected.objective


@invariance("common transform")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    same_decisions(fit, data, rising(data.y_score, rng))


@invariance("own transforms")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    same_decisions(fit, data, np.column_stack([rising(column, rng) for column in data.y_score.T]))


@invariance("precision")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    narrow = data.y_score.astype(np.float32)
    got, expected = fit(replace(data, y_score=narrow)), fit(replace(data, y_score=narrow.astype(np.float64)))
    np.testing.assert_array_equal(decisions(got, narrow), decisions(expected, narrow))
    assert got.objective == expected.objective
    for of_label in cuts(got):
        np.testing.assert_array_equal(of_label, np.float32(of_label).astype(np.float64), "representable")


@invariance("sparse")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    absent = rng.random(data.y_score.shape) < 0.6
    row, column = np.nonzero(~absent)
    for number, missing in enumerate((0.0, -inf), DATA.index(data)):
        dense = np.where(absent, data.y_score.dtype.type(missing), data.y_score)
        cells = sparse.coo_array((dense[row, column], (row, column)), shape=dense.shape)
        expected = fit(replace(data, y_score=dense))
        anywhere = {"keep_sparse": False} if isinstance(expected, ThresholdRule) else {}
        for i, kind in enumerate((sparse.csr_array, sparse.csc_array, sparse.coo_matrix), number):
            truth = (data.y_true, kind(data.y_true))[i % 2]
            got = fit(replace(data, y_true=truth, y_score=kind(cells)), missing=missing, **anywhere)
            check_same(got, expected, bits=True)
        np.testing.assert_array_equal(decisions(got, cells), decisions(expected, dense))


@invariance("sparse probabilities")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    dense = np.where(rng.random(data.y_score.shape) < 0.6, 0, data.y_score)
    stored = (dense > 0) | (rng.random(dense.shape) < 0.1)
    cells = sparse.coo_array((dense[stored], np.nonzero(stored)), shape=dense.shape)
    expected = fit(replace(data, y_score=dense))
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
        check_same(fit(replace(data, y_score=kind(cells))), expected, bits=True)
        np.testing.assert_array_equal(decisions(expected, kind(cells)), decisions(expected, dense))


@invariance("threads")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    expected = fit(data, n_jobs=1)
    for n_jobs in (2, 3, -1, None):
        check_same(fit(data, n_jobs=n_jobs), expected, bits=True)


def read_only(x: Array) -> Array:
    """A copy that cannot be written."""
    copy = x.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[Array], object]] = {
    "Fortran order": np.asfortranarray,
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "read-only, Fortran order": lambda x: read_only(x.T).T,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "list": lambda x: x.tolist(),
}


@invariance("layout of scores")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    expected = fit(data)
    for lay in LAYOUTS.values():
        wide = lay is LAYOUTS["list"] and data.y_score.dtype != np.float64  # lists hold float64
        if not wide:
            check_same(fit(replace(data, y_score=lay(data.y_score))), expected, bits=True)
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "scores.npy", data.y_score)
        mapped = np.load(Path(folder) / "scores.npy", mmap_mode="r")
        check_same(fit(replace(data, y_score=mapped)), expected, bits=True)


TRUTHS = (bool, np.int8, np.int64, np.uint64, np.float16, np.float32, np.float64, object)


@invariance("dtype of truth")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    """Each with dense scores and with sparse ones, but not on the same data."""
    truths = [data.y_true.astype(dtype) for dtype in TRUTHS]
    truths += [sparse.csr_array(data.y_true.astype(dtype)) for dtype in (bool, np.int64, np.float64)]
    for number, given in enumerate((data, replace(data, y_score=sparse.csr_array(data.y_score))), DATA.index(data)):
        expected = fit(given)
        for truth in truths[number % 2 :: 2]:
            check_same(fit(replace(given, y_true=truth)), expected, bits=True)


@invariance("layout of truth")
def _(fit: Fitted, data: Data, rng: Generator) -> None:
    expected = fit(data)
    for lay in LAYOUTS.values():
        check_same(fit(replace(data, y_true=lay(data.y_true))), expected, bits=True)


# Of the data sets of a rule one, so that every two of a rule, an invariance and a data set meet.
DECLARED = [
    (fit, name, data)
    for i, fit in enumerate(RULES)
    for j, name in enumerate(INVARIANCES)
    for k, data in enumerate(fit.data)
    if name in fit.holds and (i + j + k) % len(fit.data) == 0
]


@pytest.mark.parametrize(("fit", "name", "data"), DECLARED, ids=str)
def test_invariance(fit: Fitted, name: str, data: Data) -> None:
    INVARIANCES[name](fit, data, np.random.default_rng(1))


def test_every_declared_invariance_is_known() -> None:
    assert set().union(*(fit.holds for fit in RULES)) == set(INVARIANCES)


@pytest.fixture(scope="module")
def big() -> Data:
    """Data that are fitted in several pieces, whichever way they are cut."""
    rng = np.random.default_rng(2)
    truth, logits = draw(rng, (2501, 430))
    return Data("big", truth, np.round(logits, 3).astype(np.float32))


@pytest.mark.parametrize("fit", [fit for fit in RULES if "threads" in fit.holds], ids=str)
def test_threads_do_not_matter_to_many_pieces(fit: Fitted, big: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pieces of millions of cells would ask for more of them.
    monkeypatch.setattr("thresholds.expectation.counts._CHUNK_CELLS", 2**18)
    n_rows = {"regions": 301, "exact": 501, "instance": 501, "shared": 1501}
    for kind in n_rows.keys() & fit.name.replace(",", "").split():
        big = big.take(np.arange(n_rows[kind]))
    if fit.label_free:
        big = replace(big, y_score=1 / (1 + np.exp(-big.y_score)))
    check_same(fit(big, n_jobs=3), fit(big, n_jobs=1), bits=True)
