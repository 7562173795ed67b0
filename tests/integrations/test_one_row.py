"""One row of scores as a vector of other libraries: what comes back is of the same library."""

from typing import Any

import numpy as np
import pytest

from thresholds import CalibratedRule, FixedRule, InstanceRule, RegionRule, ThresholdRule, TopKRule, calibrate
from thresholds.calibration.calibrator import Calibrator

NAMES = ("cat", "dog", "emu")
SCORES = np.float32([0.5, 0.1, 0.25])
THRESHOLDS = ThresholdRule([0.5, 0.2, 0.25])


def calibrator() -> Calibrator:
    return calibrate([[1, 0, 1], [0, 1, 0], [0, 0, 1]], [[0.6, 0.2, 0.3], [0.1, 0.5, 0.2], [0.2, 0.1, 0.9]])


RULES = {
    "thresholds": lambda: THRESHOLDS,
    "fixed": lambda: FixedRule(0.25, 3, label_names=NAMES),
    "top-k": lambda: TopKRule(2, label_names=NAMES),
    "regions": lambda: RegionRule([[0.1, 0.4], [0.1], [0.2, 0.3]]),
    "instance": lambda: InstanceRule(label_names=NAMES),
    "instance, calibrated": lambda: CalibratedRule(calibrator(), InstanceRule()),
    "fixed, calibrated": lambda: CalibratedRule(calibrator(), FixedRule(0.5, 3)),
}


@pytest.fixture
def rule(request: pytest.FixtureRequest) -> Any:
    """A rule of that kind, made when it is asked for."""
    return RULES[request.param]()


each_rule = pytest.mark.parametrize("rule", RULES, indirect=True)


def library(name: str) -> Any:
    """An installed library; without it the test is skipped."""
    return pytest.importorskip(name, reason=f"make test-integrations installs {name.partition('.')[0]}")


@each_rule
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tensors(rule: Any, dtype: str) -> None:
    torch = library("torch")
    scores = torch.tensor(SCORES, requires_grad=True).to(getattr(torch, dtype))
    found = rule.predict(scores)
    assert found.dtype == torch.uint8
    assert found.tolist() == rule.predict(scores[None])[0].tolist()
    assert rule.predict(list(scores)).tolist() == found.tolist()


@each_rule
def test_arrays_on_a_device(rule: Any) -> None:
    xp = library("array_api_strict")
    device, host = xp.Device("device1"), xp.Device("CPU_DEVICE")
    found = rule.predict(xp.asarray(SCORES, device=device))
    assert found.device == device
    assert np.asarray(found.to_device(host)).tolist() == rule.predict(SCORES).tolist()


def test_arrays_of_jax() -> None:
    jnp = library("jax.numpy")
    found = THRESHOLDS.predict(jnp.asarray(SCORES))
    assert isinstance(found, jnp.ndarray)
    assert found.tolist() == [1, 0, 1]


def test_rescaled_tensors_keep_their_dtype() -> None:
    torch = library("torch")
    scores = torch.tensor(SCORES).bfloat16()
    assert THRESHOLDS.rescale(scores).dtype == torch.bfloat16
    assert (THRESHOLDS.rescale(scores) >= 0.5).tolist() == [True, False, True]


def test_series_of_polars() -> None:
    polars = library("polars")
    found = THRESHOLDS.predict(polars.Series("row", SCORES))
    assert isinstance(found, polars.Series)
    assert (found.name, found.to_list()) == ("row", [1, 0, 1])


def test_arrays_of_arrow() -> None:
    pyarrow = library("pyarrow")
    array = pyarrow.array(SCORES)
    for given, kind in ((array, pyarrow.UInt8Array), (pyarrow.chunked_array([array]), pyarrow.ChunkedArray)):
        found = THRESHOLDS.predict(given)
        assert isinstance(found, kind)
        assert found.to_pylist() == [1, 0, 1]
