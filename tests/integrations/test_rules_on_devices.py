"""Rules decide where the scores are: the answer is on the same device, and the same as in host memory."""

from typing import Any

import numpy as np
import pytest

import thresholds

xp = pytest.importorskip("array_api_strict", reason="make test-integrations installs array-api-strict")

DEVICE = xp.Device("device1")  # NumPy cannot read what is there, so that nothing can be copied unnoticed.
NAMES = ("cat", "dog", "emu", "fox")
RULES = (
    thresholds.FixedRule(0.5, 4, label_names=NAMES),
    thresholds.ThresholdRule([0.25, float("inf"), float("-inf"), 1.0]),
    thresholds.RegionRule([[], [0.2], [0.3, 0.6], [0.1, 0.4, 0.7]]),
    thresholds.TopKRule(0),
    thresholds.TopKRule(2),
    thresholds.TopKRule(9),
    thresholds.InstanceRule(),
    thresholds.InstanceRule(beta=2.0, zero_division=1.0),
)
TRUTH = np.random.default_rng(1).random((60, 4)) < np.random.default_rng(0).integers(0, 21, (60, 4)) / 20
PARTS = (
    thresholds.InstanceRule(),
    thresholds.InstanceRule(beta=2.0, zero_division=1.0),
    thresholds.ThresholdRule([0.25, 0.5, 0.0, float("inf")]),
)
CURVES = [(method, by) for method in ("isotonic", "platt") for by in ("label", "pooled", "shrink")]


def on_device(cells: Any) -> Any:
    return xp.asarray(np.asarray(cells), device=DEVICE)


def read(array: Any) -> Any:
    assert array.device == DEVICE
    return np.asarray(array.to_device(xp.Device("CPU_DEVICE")))


def scores(seed: int = 0) -> Any:
    """Give scores with ties, zeros and ones among them."""
    return np.random.default_rng(seed).integers(0, 21, (60, 4)) / 20


def test_device1_is_out_of_reach() -> None:
    with pytest.raises(RuntimeError):
        np.asarray(on_device([1.0]))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions(rule: Any, dtype: Any) -> None:
    cells = scores().astype(dtype)
    found = read(rule.predict(on_device(cells)))
    assert found.dtype == np.uint8
    assert found.tolist() == rule.predict(cells).tolist()


@pytest.mark.parametrize("part", PARTS, ids=["F1", "F2", "thresholds"])
@pytest.mark.parametrize(("method", "by"), CURVES)
def test_predictions_of_calibrated_scores(method: Any, by: Any, part: Any) -> None:
    truth = np.append(TRUTH[:, :3], np.zeros((60, 1), np.uint8), axis=1)  # The last label has no positives.
    for factor in (1.0, -30.0):
        cells = factor * scores()
        rule = thresholds.CalibratedRule(thresholds.calibrate(truth, cells, method, by), part)
        cells[::7, 1] = -np.inf
        found = read(rule.predict(on_device(cells)))
        assert found.dtype == np.uint8
        assert found.tolist() == rule.predict(cells).tolist()


@pytest.mark.parametrize(("method", "by"), CURVES)
def test_probabilities_of_calibrated_scores(method: Any, by: Any) -> None:
    calibrator = thresholds.calibrate(TRUTH, scores(), method, by)
    found = read(calibrator.transform(on_device(scores().astype(np.float32))))
    np.testing.assert_allclose(found, calibrator.transform(scores().astype(np.float32)), rtol=1e-13, atol=0)
    single = thresholds.calibrate(TRUTH[:, 0], scores()[:, 0], method)
    assert read(single.transform(on_device(scores()[:, 0]))).shape == (60,)


@pytest.mark.parametrize("rule", RULES[:6], ids=lambda rule: type(rule).__name__)
def test_predictions_of_whole_numbers(rule: Any) -> None:
    cells = np.random.default_rng(0).integers(-3, 4, (40, 4))
    assert read(rule.predict(on_device(cells))).tolist() == rule.predict(cells).tolist()


def test_a_single_label_is_one_dimension() -> None:
    cells = scores()[:, 0]
    for rule in (thresholds.FixedRule(0.5, 1), thresholds.InstanceRule()):
        assert read(rule.predict(on_device(cells))).tolist() == rule.predict(cells).tolist()
    assert read(thresholds.FixedRule(0.5, 1).rescale(on_device(cells))).shape == (60,)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fits_to_probabilities(average: Any, beta: float, dtype: Any) -> None:
    cells = (scores() ** 2).astype(dtype)
    cells[:, 1] = 0  # unsupported
    expected = thresholds.fit_expected(cells, average, beta=beta, label_names=NAMES, zero_division=1.0)
    found = thresholds.fit_expected(on_device(cells), average, beta=beta, label_names=NAMES, zero_division=1.0)
    np.testing.assert_allclose(found.thresholds, expected.thresholds, rtol=1e-12)
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    assert found.unsupported.tolist() == expected.unsupported.tolist() == [False, True, False, False]
    assert found.thresholds.astype(dtype).tolist() == found.thresholds.tolist()
    assert found.fitted_on.quantiles.tolist() == expected.fitted_on.quantiles.tolist()
    assert found.fitted_on.dtype == expected.fitted_on.dtype
    assert read(found.predict(on_device(cells))).tolist() == expected.predict(cells).tolist()


def test_the_rule_for_rows() -> None:
    cells = scores() ** 2
    found, expected = (thresholds.fit_expected(given, "samples") for given in (on_device(cells), cells))
    assert isinstance(found, thresholds.InstanceRule)
    assert found.objective == pytest.approx(expected.objective, rel=1e-11)


@pytest.mark.parametrize("rule", RULES[:2], ids=["fixed", "infinite"])
def test_rescaled_scores(rule: Any) -> None:
    cells = scores()
    found = read(rule.rescale(on_device(cells)))
    np.testing.assert_allclose(found, rule.rescale(cells), rtol=1e-15)
    assert ((found >= 0.5) == rule.predict(cells)).all()


def test_scores_are_watched_there_too() -> None:
    rule = thresholds.fit_expected(scores())
    assert rule.check(on_device(scores())).ok
    there = thresholds.fit_expected(on_device(scores())).profile
    np.testing.assert_array_equal(there.quantiles, rule.profile.quantiles)
    assert there.predicted.tolist() == rule.profile.predicted.tolist()
    with pytest.warns(thresholds.ScoreChangeWarning, match="look like percent") as caught:
        rule.predict(on_device(scores() * 100))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RULES[0].predict(on_device([[0.1, np.nan, 0.2, 0.3]])), "y_score has NaN at row 0, label 'dog'"),
        (lambda: RULES[0].predict(on_device([[0.1, 0.2]])), "y_score has 2 labels, expected 4 as the rule has"),
        (
            lambda: RULES[0].predict(on_device([[0.1], [0.2], [0.3], [0.4]])),
            r"y_score has 1 labels, expected 4 as the rule has; one row of 4 labels is a matrix \(1, 4\)",
        ),
        (
            lambda: RULES[0].predict(on_device([0.1, 0.2, 0.3])),
            r"y_score is a vector of 3 scores, expected 4, one for each label, or a matrix \(n_samples, 4\)",
        ),
        (
            lambda: RULES[6].predict(on_device([[0.1, 1.5]])),
            r"probabilities has 1.5 at row 0, label 1, expected values in",
        ),
        (lambda: RULES[6].predict(on_device([[0.1]]), tail=[0.1]), "tail is given with probabilities on .*device1"),
        (
            lambda: thresholds.calibrate(TRUTH, scores(), "platt").transform(on_device([[0.1, 0.2, 1.5, 0.3]])),
            r"y_score has 1.5 at row 0, label 2, expected scores in \[0, 1\] as those of the fit",
        ),
        (
            lambda: thresholds.fit_expected(on_device([[0.1]]), exact=True),
            "probabilities are on .*device1.*: copy them",
        ),
        (lambda: thresholds.fit_expected(on_device([[0.1]]), label_names=["a", "b"]), "label_names has 2 names"),
        (lambda: thresholds.fit_empirical([[1]], on_device([[0.1]])), "y_score cannot be read as an array"),
    ],
)
def test_bad_input_is_refused_in_the_same_words(call: Any, message: str) -> None:
    with pytest.raises(thresholds.InputError, match=message):
        call()
