"""Arrays on a device: the decisions of host memory, made by operations of the array API where the scores are.

The devices of array-api-strict stand for a GPU: NumPy cannot read what is on them, so whatever converts an array on the
way fails. Two of them, and JAX by default, lack float64.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import sparse

from thresholds import (
    InputError,
    InstanceRule,
    RegionRule,
    ThresholdRule,
    TopKRule,
    _checks,
    _devices,
    expected_f,
    fit_expected,
)
from thresholds._devices import expecting

pytestmark = pytest.mark.each_value

strict = pytest.importorskip("array_api_strict", reason="make test-integrations installs array-api-strict")
torch = pytest.importorskip("torch", reason="make test-integrations installs torch")
jnp = pytest.importorskip("jax.numpy", reason="make test-integrations installs JAX")

Array = NDArray[Any]
Floats = NDArray[np.float64]

NEVER, ALWAYS = np.inf, -np.inf
BETAS = [0.3, 1.0, 2.0, 10.0]
seeded = settings(max_examples=200, deadline=None, derandomize=True)


class Place(NamedTuple):
    """A library and one of its devices."""

    put: Callable[[Array], Any]
    get: Callable[[Any], Array]
    has: Callable[[Any], bool]


def device_of_strict(name: str) -> Place:
    """A device of array-api-strict."""
    device, host = strict.Device(name), strict.Device("CPU_DEVICE")
    return Place(
        lambda values: strict.asarray(np.array(values), device=device),
        lambda array: np.asarray(array.to_device(host)),
        lambda array: array.device == device,
    )


PLACES = {
    "numpy": Place(np.array, np.asarray, lambda array: isinstance(array, np.ndarray)),
    "torch": Place(
        lambda values: torch.asarray(np.array(values)),
        lambda tensor: tensor.numpy(),
        lambda tensor: isinstance(tensor, torch.Tensor),
    ),
    "jax": Place(jnp.asarray, np.asarray, lambda array: isinstance(array, jnp.ndarray)),
    "strict": device_of_strict("CPU_DEVICE"),
    "device1": device_of_strict("device1"),
    "no_float64": device_of_strict("no_float64"),
    "no_x64": device_of_strict("no_x64"),
}
DEVICE = PLACES["device1"]


def places(*names: str) -> pytest.MarkDecorator:
    """Run a test in some places."""
    return pytest.mark.parametrize("place", [PLACES[name] for name in names], ids=names)


everywhere = places(*PLACES)
with_float64 = places("numpy", "torch", "strict", "device1")
without_float64 = places("jax", "no_float64", "no_x64")


def draw(seed: int, n: int, m: int, dtype: Any = np.float64) -> Array:
    """Probabilities, rows and labels from rare to sure."""
    rng = np.random.default_rng(seed)
    powers = rng.choice([0.3, 1, 4, 20], size=(n, 1)) * rng.choice([0.5, 1, 2], size=m)
    return (rng.random((n, m)) ** powers).astype(dtype)


# What is on a device


def test_numpy_cannot_read_the_device_of_these_tests() -> None:
    with pytest.raises(RuntimeError):
        np.asarray(DEVICE.put(np.ones((1, 1))))


def test_arrays_on_a_device_have_a_namespace() -> None:
    assert _devices.namespace_on_device(DEVICE.put(np.ones((1, 1)))) is strict
    assert _devices.namespace_on_device(torch.ones(1, 1, device="meta")) is not None


@pytest.mark.parametrize(
    "value",
    [
        [[0.5]],
        0.5,
        None,
        np.ones((1, 1)),
        np.float64(0.5),
        np.ma.masked_array([[1.0]]),
        pd.DataFrame({"device": ["cuda:0"]}),
        pd.Series([1.0], name="device"),
        sparse.csr_array(np.ones((1, 1))),
        torch.ones(1, 1),
        torch.nn.Parameter(torch.ones(1, 1)),
        jnp.ones((1, 1)),
        strict.ones((1, 1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_else_has_none(value: object) -> None:
    assert _devices.namespace_on_device(value) is None


# Checks, in the words of host memory


BAD_SCORES = {
    "NaN": [[0.5, -np.inf], [2.0, np.nan]],
    "the first NaN": [[0.5, 1.0], [np.nan, 0.5], [np.nan, np.nan]],
    "NaN before +inf": [[np.inf, 1.0], [0.5, np.nan]],
    "+inf": [[0.5, 1.0], [0.5, np.inf]],
    "a large integer": [[1, 2**53 + 1]],
    "a large negative integer": [[-(2**53) - 1, 2**53]],
    "three dimensions": [[[0.5]]],
    "no rows": np.empty((0, 2)),
    "no labels": np.empty((2, 0)),
    "nothing": np.empty(0),
}
BAD_PROBABILITIES = {
    "above 1": [[0.5, 1.25], [2.0, 0.5]],
    "below 0": [[0.5, 1.0], [0.5, -1e-300]],
    "NaN": [[0.5, 1.0], [np.nan, 2.0]],
    "infinite": [[0.5, -np.inf]],
    "an integer": [[1, 0], [0, 2]],
    "no rows": np.empty((0, 2)),
    "three dimensions": [[[0.5]]],
}


def refusal(check: Callable[..., Any], value: Any, **names: Any) -> str:
    """What a check says."""
    with pytest.raises(InputError) as caught:
        check(value, **names)
    return str(caught.value)


@with_float64
@pytest.mark.parametrize("label_names", [None, ("cat", "dog")])
@pytest.mark.parametrize("value", BAD_SCORES.values(), ids=BAD_SCORES)
def test_scores_are_refused_in_the_same_words(value: Any, label_names: Any, place: Place) -> None:
    value = np.asarray(value)
    expected = refusal(_checks.scores, value, label_names=label_names)
    assert refusal(_devices.checked_scores, place.put(value), label_names=label_names) == expected


@with_float64
@pytest.mark.parametrize("label_names", [None, ("cat", "dog")])
@pytest.mark.parametrize("value", BAD_PROBABILITIES.values(), ids=BAD_PROBABILITIES)
def test_probabilities_are_refused_in_the_same_words(value: Any, label_names: Any, place: Place) -> None:
    value = np.asarray(value)
    expected = refusal(_checks.probabilities, value, label_names=label_names)
    assert refusal(_devices.checked_probabilities, place.put(value), label_names=label_names) == expected


@everywhere
def test_a_refusal_has_the_digits_of_the_dtype(place: Place) -> None:
    said = refusal(_devices.checked_probabilities, place.put(np.array([[0.5, 1.2]], np.float32)))
    assert said.startswith("probabilities has 1.2 at row 0, label 1, expected values in [0, 1]")


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (torch.ones(1, 1, device="meta"), "y_score is on torch's meta device, .* expected an array with values"),
        (torch.ones(2, 2).to_sparse(), "y_score is a tensor of layout torch.sparse_coo, .* pass its to_dense"),
        (torch.ones(1, 1, dtype=torch.complex64), "y_score has dtype complex64, expected floats"),
        (torch.ones(1, 1).to(torch.float8_e5m2), "y_score has dtype float8_e5m2, expected floats"),
        (torch.ones(1, 1).to(torch.uint64), "y_score has dtype uint64, expected floats"),
        (torch.tensor([[np.nan]], dtype=torch.bfloat16), "y_score has NaN at row 0, label 0"),
    ],
)
def test_tensors_without_plain_numbers_are_refused(tensor: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        _devices.checked_scores(tensor)


@everywhere
def test_good_scores_stay_where_they_are(place: Place) -> None:
    checked = _devices.checked_scores(place.put(np.array([[0.5, -np.inf], [3.0, -2.0]], np.float32)))
    assert place.has(checked)
    np.testing.assert_array_equal(place.get(checked), [[0.5, -np.inf], [3.0, -2.0]])


@everywhere
def test_one_dimension_is_one_label(place: Place) -> None:
    assert _devices.checked_scores(place.put(np.array([1, 2, 3], np.int32))).shape == (3, 1)
    assert _devices.checked_probabilities(place.put(np.array([1, 0], np.int8))).shape == (2, 1)


def test_a_tensor_in_training_is_read_as_it_is() -> None:
    tensor = torch.tensor([[0.25, 0.75]], requires_grad=True)
    assert not _devices.checked_scores(tensor).requires_grad
    assert _devices.decide(tensor, np.array([0.5, 0.5])).tolist() == [[0, 1]]
    assert not _devices.rescale(tensor, np.array([0.5, 0.5]), False).requires_grad


# Decisions


CUTS = [0.1, 0.5, 1.0, 2.5, 127.0, 127.5, 128.0, 1e-320, 1e300, 2.0**31, 2.0**53]
CUTS = [NEVER, ALWAYS, 0.0, *CUTS, *(-cut for cut in CUTS)]
DTYPES = ["float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


def scores_around(cuts: list[float], dtype: str) -> Array:
    """All cuts that the dtype has, and their neighbours, in a column for each cut."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            near = np.array(cuts).astype(kind)
        near = np.concatenate(
            [near, np.nextafter(near, kind.type(1e4)), np.nextafter(near, kind.type(-1e4)), [-np.inf]]
        )
        near = near[near < np.inf].astype(kind)
    else:
        finite = [int(cut) + step for cut in cuts if np.isfinite(cut) and abs(cut) <= 2.0**53 for step in (-1, 0, 1)]
        limits = np.iinfo(kind)
        near = np.array([x for x in finite if limits.min <= x <= limits.max and abs(x) <= 2**53], kind)
    return np.tile(near[:, np.newaxis], len(cuts))


def reached(scores: Array, cuts: Any) -> list[list[int]]:
    """Where score >= cut, in Python, which compares numbers exactly."""
    return [[int(score >= float(cut)) for score, cut in zip(row, cuts, strict=True)] for row in scores.tolist()]


@with_float64
@pytest.mark.parametrize("dtype", DTYPES)
def test_decisions_are_exact_in_every_dtype(dtype: str, place: Place) -> None:
    if dtype == "float16" and place in (PLACES["strict"], DEVICE):
        pytest.skip("the array API has no float16")
    scores = scores_around(CUTS, dtype)
    decided = _devices.decide(_devices.checked_scores(place.put(scores)), np.array(CUTS))
    assert place.has(decided)
    assert place.get(decided).dtype == np.uint8
    assert place.get(decided).tolist() == reached(scores, CUTS)
    np.testing.assert_array_equal(place.get(decided), ThresholdRule(CUTS).predict(scores))


@without_float64
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_decisions_are_exact_without_float64(dtype: str, place: Place) -> None:
    cuts = [cut for cut in CUTS if cut == 0 or abs(cut) > 1e-30]
    scores = scores_around(cuts, dtype)
    scores = scores[(scores[:, 0] == 0) | (np.abs(scores[:, 0]) > 1e-30)]  # JAX takes subnormal numbers for 0.
    assert place.get(_devices.decide(place.put(scores), np.array(cuts))).tolist() == reached(scores, cuts)


def test_decisions_are_exact_in_bfloat16() -> None:
    scores = torch.tensor(np.random.default_rng(0).normal(size=(200, 4))).to(torch.bfloat16)
    attained = scores[3, 1].item()
    cuts = np.array([np.nextafter(attained, 9), attained, np.nextafter(attained, -9), NEVER])
    assert _devices.decide(scores, cuts).tolist() == reached(scores.double().numpy(), cuts)


@everywhere
def test_booleans_are_numbers(place: Place) -> None:
    scores = place.put(np.array([[True], [False]]))
    for cells in (scores, _devices.checked_scores(scores)):
        assert place.get(_devices.decide(cells, np.array([0.5]))).tolist() == [[1], [0]]


@with_float64
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint8"])
def test_regions_are_those_of_host_memory(dtype: str, place: Place) -> None:
    switches = [[0.1], [], [-1.5, 0.0, 0.25], [ALWAYS, 2.0], [1.0, 1.0 + 2.0**-52, 3.0, 4.0]]
    rule = RegionRule([np.array(of_label) for of_label in switches])
    scores = scores_around([0.1, 0.0, -1.5, 0.25, 1.0, 1 + 2.0**-52, 2.0, 3.0], dtype)[:, :5]
    inside = _devices.inside(place.put(scores), rule.switches)
    assert place.has(inside)
    np.testing.assert_array_equal(place.get(inside), rule.predict(scores))


@everywhere
@pytest.mark.parametrize("k", [0, 1, 3, 6, 9])
def test_the_highest_scores_are_those_of_host_memory(k: int, place: Place) -> None:
    rng = np.random.default_rng(3)
    cells = rng.choice([-np.inf, -1, 0, 0.5, 2], (40, 6)), rng.integers(0, 4, (40, 6)), rng.normal(size=(40, 6))
    for scores in (cells[0].astype(np.float32), cells[1].astype(np.uint8), cells[2].astype(np.float32)):
        marks = _devices.highest(place.put(scores), k, block=100)
        assert place.has(marks)
        np.testing.assert_array_equal(place.get(marks), TopKRule(k).predict(scores))


# Rescaled scores


FLOATS = [np.float16, np.float32, np.float64]
units = st.floats(0, 1) | st.sampled_from([0.0, 5e-324, 1e-310, 1e-45, 1e-8, 0.5, 1 - 2.0**-53, 1.0])
reals = st.floats(allow_nan=False) | st.floats(-5, 5)


def assert_rescaled(scores: Array, cuts: Floats, mapped: Array) -> None:
    """The promises of `rescale`."""
    assert (mapped >= 0.5).tolist() == (scores.astype(np.float64) >= cuts).tolist()
    assert ((mapped >= 0) & (mapped <= 1)).all()
    for label in range(scores.shape[1]):
        order = np.argsort(scores[:, label], kind="stable")
        assert (np.diff(mapped[order, label].astype(np.float64)) >= 0).all()
    masked = np.isneginf(scores) & (cuts > ALWAYS)
    assert not mapped[masked].any()


@seeded
@given(
    dtype=st.sampled_from(FLOATS),
    cells=arrays.arrays(np.float64, (12, 3), elements=units | st.just(-np.inf)),
    cuts=arrays.arrays(np.float64, 3, elements=units | st.sampled_from([NEVER, ALWAYS, -1.0, 0.0, 1.5])),
)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_rescaled_probabilities_keep_decisions_and_order(name: str, dtype: Any, cells: Floats, cuts: Floats) -> None:
    scores, place = cells.astype(dtype), PLACES[name]
    scores[0] = np.where(np.abs(cuts) <= 1, cuts, 0.5)  # At the threshold, or rounded to either side of it.
    mapped = _devices.rescale(place.put(scores), cuts, True)
    assert place.get(mapped).dtype == dtype
    assert_rescaled(scores, cuts, place.get(mapped))


@seeded
@given(
    dtype=st.sampled_from(FLOATS),
    cells=arrays.arrays(np.float64, (12, 3), elements=reals),
    cuts=arrays.arrays(np.float64, 3, elements=reals),
)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_rescaled_scores_keep_decisions_and_order(name: str, dtype: Any, cells: Floats, cuts: Floats) -> None:
    cells[0] = cuts
    with np.errstate(over="ignore"):
        scores, place = cells.astype(dtype), PLACES[name]
    scores[np.isposinf(scores)] = 0
    mapped = _devices.rescale(place.put(scores), cuts, False)
    assert place.get(mapped).dtype == dtype
    assert_rescaled(scores, cuts, place.get(mapped))


@everywhere
def test_probabilities_are_rescaled_by_two_lines(place: Place) -> None:
    scores = np.array([[0.0, 0.0, 0.25], [0.125, 0.5, 0.5], [0.25, 0.875, 1.0], [0.625, 1.0, 0.0]], np.float32)
    mapped = _devices.rescale(place.put(scores), np.array([0.25, 1.0, NEVER]), True)
    below = float(np.nextafter(np.float32(0.5), np.float32(0)))
    assert place.has(mapped)
    assert place.get(mapped).tolist() == [[0, 0, 0.125], [0.25, 0.25, 0.25], [0.5, 0.4375, below], [0.75, 0.5, 0]]


@everywhere
def test_scores_are_rescaled_by_the_logistic_function(place: Place) -> None:
    scores = np.array([[-1.0, -1.0, -1.0], [2.0, -np.inf, -np.inf], [3.5, 40.0, 40.0]], np.float32)
    mapped = _devices.rescale(place.put(scores), np.array([2.0, NEVER, ALWAYS]), False)
    e = np.exp
    expected = [
        [1 / (1 + e(3)), 0.5 / (1 + e(1)), 0.5 + 0.5 / (1 + e(1))],
        [0.5, 0, 0.5],
        [1 / (1 + e(-1.5)), np.nextafter(np.float32(0.5), np.float32(0)), 1],
    ]
    assert place.has(mapped)
    np.testing.assert_allclose(place.get(mapped), expected, rtol=3e-7)
    assert (place.get(mapped) >= 0.5).tolist() == (scores >= [2.0, NEVER, ALWAYS]).tolist()


@pytest.mark.parametrize(("name", "dtype"), [("device1", np.float64), ("torch", np.float64), ("no_x64", np.float32)])
def test_integers_are_rescaled_to_the_best_floats(name: str, dtype: Any) -> None:
    place, scores = PLACES[name], np.array([[-3], [0], [1], [2]], np.int32)
    mapped = place.get(_devices.rescale(place.put(scores), np.array([0.5]), False))
    assert mapped.dtype == dtype
    assert (mapped >= 0.5).tolist() == [[False], [False], [True], [True]]


def test_bfloat16_is_rescaled() -> None:
    scores = torch.tensor(np.random.default_rng(1).random((400, 3))).to(torch.bfloat16)
    for unit_interval in (True, False):
        cuts = np.array([0.3, scores[5, 1].item(), NEVER])
        mapped = _devices.rescale(scores, cuts, unit_interval)
        assert mapped.dtype == torch.bfloat16
        assert_rescaled(scores.double().numpy(), cuts, mapped.double().numpy())


# Cuts from expected counts


@with_float64
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("beta", BETAS)
def test_cuts_are_those_of_host_memory(beta: float, average: str, place: Place) -> None:
    p = draw(1, 500, 7)
    p[:, 2] = 0
    rule = fit_expected(p, average, beta=beta)
    assert isinstance(rule, ThresholdRule)
    cuts, (tp, predicted, positives) = expecting.best_cuts(place.put(p), beta, average == "micro", block=700)
    supported = positives > 0
    np.testing.assert_allclose(cuts[supported], rule.thresholds[supported], rtol=1e-12)
    decided = rule.predict(p)[:, supported]
    np.testing.assert_array_equal(place.get(_devices.decide(place.put(p), cuts))[:, supported], decided)
    np.testing.assert_allclose(positives, p.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(tp[supported], (p[:, supported] * decided).sum(axis=0), rtol=1e-13)
    assert predicted[supported].tolist() == decided.sum(axis=0).tolist()
    assert supported.tolist() == [True, True, False, True, True, True, True]


@everywhere
def test_equal_probabilities_are_all_predicted(place: Place) -> None:
    p = np.tile(np.array([0.25, 0.5, 1.0], np.float32), (8, 1))
    cuts, counts = expecting.best_cuts(place.put(p), 1.0, False)
    assert cuts.tolist() == [0.25 / 1.25, 0.5 / 1.5, 0.5]  # tp / (positives + predicted)
    assert counts.tolist() == [[2, 4, 8], [8, 8, 8], [2, 4, 8]]


@everywhere
@pytest.mark.parametrize("pooled", [False, True])
def test_labels_without_any_probability_are_never_predicted(pooled: bool, place: Place) -> None:
    cuts, counts = expecting.best_cuts(place.put(np.zeros((3, 2), np.float32)), 1.0, pooled)
    assert cuts.tolist() == [NEVER, NEVER]
    assert not counts.any()
    some = place.put(np.array([[0, 1], [0, 0]], np.float32))
    cuts, counts = expecting.best_cuts(some, 1.0, pooled)
    assert cuts.tolist() == [0.5 if pooled else NEVER, 0.5]
    assert counts.tolist() == [[0, 1], [0, 1], [0, 1]]


@with_float64
def test_the_smallest_probability_counts(place: Place) -> None:
    p = np.array([[5e-324, 0.5], [0.0, 0.0]])
    cuts, counts = expecting.best_cuts(place.put(p), 1.0, False)
    assert cuts[0] == fit_expected(p).thresholds[0] == 5e-324  # type: ignore[union-attr]
    assert counts[1].tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
@pytest.mark.parametrize("name", ["torch", "no_float64", "jax"])
def test_cuts_from_other_dtypes(name: str, dtype: Any) -> None:
    if dtype == np.float16 and name == "no_float64":
        pytest.skip("the array API has no float16")
    p = np.round(draw(2, 3000, 4)).astype(dtype) if dtype == np.int8 else draw(2, 3000, 4, dtype)
    rule = fit_expected(p)
    cuts, counts = expecting.best_cuts(PLACES[name].put(p), 1.0, False, block=400)
    assert isinstance(rule, ThresholdRule)
    np.testing.assert_allclose(cuts, rule.thresholds, rtol=1e-3 if dtype == np.float16 else 1e-6)
    assert counts[1].tolist() == rule.predict(p).sum(axis=0).tolist()


# The best set of each row


@places("numpy", "torch", "device1")
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("beta", BETAS)
def test_sets_are_those_of_host_memory(beta: float, zero_division: float, place: Place) -> None:
    for width in (1, 2, 9, 130):
        p = draw(width, 40, width)
        marks, expected = expecting.best_sets(place.put(p), beta, zero_division, block=700)
        assert place.has(marks)
        rule = fit_expected(p, "samples", beta=beta, zero_division=zero_division)
        assert expected == pytest.approx(rule.objective, rel=1e-11)
        np.testing.assert_array_equal(place.get(marks), InstanceRule(beta, zero_division).predict(p))


@places("torch", "device1")
@pytest.mark.parametrize("beta", BETAS)
def test_long_rows_need_several_scales(beta: float, place: Place) -> None:
    rng = np.random.default_rng(5)
    p = rng.random((4, 1500)) ** np.array([[0.1], [1], [6], [60]])
    p[0, :20] = 1
    marks, _ = expecting.best_sets(place.put(p), beta, 0.0, block=2000)
    np.testing.assert_array_equal(place.get(marks), InstanceRule(beta).predict(p))


@with_float64
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_rows_of_few_different_probabilities(zero_division: float, place: Place) -> None:
    levels = [0, 1e-300, 1e-9, 1e-3, 0.2, 0.5, 0.999, 1 - 2.0**-53, 1]
    p = np.random.default_rng(6).choice(levels, (300, 6))
    p[:3] = [[0], [1], [0.3]]
    marks = place.get(expecting.best_sets(place.put(p), 1.0, zero_division)[0])
    expected = InstanceRule(1.0, zero_division).predict(p)
    alike = (marks == expected).all(axis=1)
    settings = {"average": "samples", "zero_division": zero_division, "exact": True}
    for row in np.flatnonzero(~alike):  # Ties to within rounding
        values = [expected_f(p[[row]], of[[row]], **settings) for of in (marks, expected)]
        assert values[0] == pytest.approx(values[1], rel=4e-12)
    assert alike.mean() > 0.98
    assert not marks[p == 0].any()


@places("numpy", "torch", "strict", "device1", "no_float64", "no_x64")
def test_of_equal_probabilities_the_first_labels(place: Place) -> None:
    p = np.array([[0.0, 0.5, 1.0, 0.5], [0.3, 0.3, 0.3, 0.3]], np.float32)
    size = InstanceRule().predict(p).sum(axis=1)
    marks = place.get(expecting.best_sets(place.put(p), 1.0, 0.0)[0])
    assert marks.tolist() == [[0, 1, 1, 1], [1] * 4]
    assert marks.sum(axis=1).tolist() == size.tolist()


@without_float64
@pytest.mark.parametrize("beta", [1.0, 1e100])
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_sets_without_float64_are_as_good_to_six_digits(zero_division: float, beta: float, place: Place) -> None:
    p = np.concatenate([draw(7, 40, 60, np.float32), np.eye(40, 60, dtype=np.float32)])
    marks, _ = expecting.best_sets(place.put(p), beta, zero_division)
    assert place.has(marks)
    settings = {"beta": beta, "zero_division": zero_division}
    best = InstanceRule(**settings).predict(p)
    found, expected = (
        np.array([expected_f(p[[i]], of[[i]], "samples", exact=True, **settings) for i in range(80)])
        for of in (place.get(marks), best)
    )
    np.testing.assert_allclose(found, expected, rtol=5e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_sets_of_tensors_of_other_dtypes(dtype: Any) -> None:
    p = torch.tensor(draw(8, 50, 30)).round() if dtype == torch.int32 else torch.tensor(draw(8, 50, 30))
    p = p.to(dtype)
    expected = InstanceRule().predict(p.double().numpy())
    np.testing.assert_array_equal(expecting.best_sets(p, 1.0, 0.0)[0].numpy(), expected)


# A few cells in host memory


@everywhere
def test_sampled_cells_are_read_row_by_row(place: Place) -> None:
    scores = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = _devices.sample(place.put(scores), np.array([0, 4, 11, 4]))
    assert found.dtype == np.float64
    assert found.tolist() == [0, 4, 11, 4]


def test_cells_of_half_precision_are_sampled() -> None:
    assert _devices.sample(torch.tensor([[0.5, 1.5]], dtype=torch.bfloat16), np.array([1])).tolist() == [1.5]
    assert _devices.sample(torch.tensor([[0.5], [2.0]], dtype=torch.float16), np.array([1])).tolist() == [2]
