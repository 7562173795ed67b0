"""`by="shrink"`: curves that lean on each other, against a general minimiser of the same likelihood, and what is
promised of them."""

import json
import math
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

import thresholds
from tests.naive import calibration as twin
from tests.naive import hierarchy as leaning
from thresholds import CalibratedRule, InstanceRule, calibrate, load_rule, measure_calibration

pytestmark = pytest.mark.each_value

Floats = NDArray[np.float64]
Truth = NDArray[np.uint8]
inf = math.inf
METHODS = ("isotonic", "platt")
each_method = pytest.mark.parametrize("method", METHODS)


def draw(n: int, lines: Floats, seed: int) -> tuple[Truth, Floats]:
    """Truth whose log odds are lines (slope, intercept) of normal scores, one for each label."""
    rng = np.random.default_rng([72, seed])
    x = rng.normal(size=(n, len(lines)))
    truth = rng.random(x.shape) < expit(lines[:, 0] * x + lines[:, 1])
    return truth.astype(np.uint8), x


def lines_of(n_labels: int, deviation: float, seed: int) -> Floats:
    """Slopes about 1.5 and intercepts about -2."""
    return np.array([1.5, -2.0]) + deviation * np.random.default_rng([73, seed]).normal(size=(n_labels, 2))


def cells_of_labels(truth: Truth, x: Floats, weights: Any = None) -> list[list[twin.Cell]]:
    """The cells of each label."""
    return [twin.cells_of(truth[:, j], x[:, j], weights) for j in range(x.shape[1])]


def loss(truth: Truth, p: Floats) -> float:
    """Log-loss."""
    return measure_calibration(truth, p).log_loss


# The definition

BACKWARDS, SEPARATED = np.array([-2.0, -1.0]), np.array([60.0, 0.0])
DATA = {
    "alike": (80, np.tile([1.5, -1.0], (4, 1)), None),
    "apart": (80, lines_of(5, 1.0, 0), None),
    "weighted": (60, lines_of(4, 0.7, 1), np.random.default_rng(3).integers(0, 4, 60) / 2),
    "two labels": (70, lines_of(2, 0.5, 2), None),
    "one ranks backwards": (70, np.vstack([lines_of(3, 0.3, 3), BACKWARDS]), None),
    "one is separated": (70, np.vstack([lines_of(3, 0.3, 4), SEPARATED]), None),
    "one has no positives": (70, np.vstack([lines_of(3, 0.3, 5), [1.0, -40.0]]), None),
    "one is always true": (70, np.vstack([lines_of(3, 0.3, 5), [1.0, 40.0]]), None),
}
LEVEL = ("one ranks backwards", "one is always true")  # whose isotonic curve rises nowhere
# The twin takes long; no mistake is seen by these alone.
LONG = ("alike", "one is separated", "one is always true")


def each_of(names: Iterable[str]) -> pytest.MarkDecorator:
    """Try a function on each of the data."""
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=[pytest.mark.soak] * (name in LONG)) for name in names]
    )


@each_of(DATA)
def test_platt_is_the_likeliest_of_all_hierarchies(name: str) -> None:
    n, lines, weights = DATA[name]
    truth, x = draw(n, lines, seed=1)
    got = calibrate(truth, x, "platt", sample_weight=weights).transform(x)
    expected, _, _ = leaning.leaning_lines(cells_of_labels(truth, x, weights))
    np.testing.assert_allclose(got, expit(expected[:, 0] * x + expected[:, 1]), rtol=2e-3, atol=2e-5)


@each_of(name for name in DATA if name not in LEVEL)
def test_isotonic_is_the_common_curve_stretched_and_shifted(name: str) -> None:
    n, lines, weights = DATA[name]
    truth, x = draw(n, lines, seed=2)
    x = np.round(x, 1)
    labels = cells_of_labels(truth, x, weights)
    cells = [cell for label in labels for cell in label]
    scores = [s for s, _, _ in cells]
    ends = [(min(scores), 1, twin.Fraction(1)), (max(scores), 0, twin.Fraction(1))]
    common = {s: twin.log_odds(float(p)) for s, p in twin.isotonic([*ends, *cells]).items()}
    got = calibrate(truth, x, sample_weight=weights)
    expected, _, _ = leaning.leaning_lines([[(common[s], y, w) for s, y, w in label] for label in labels])
    assert (expected[:, 0] > 0).all()
    for j, label in enumerate(labels):
        known = np.array([s for s, _, _ in label])
        rows = np.full((known.size, x.shape[1]), -inf)
        rows[:, j] = known
        z = expected[j, 0] * np.array([common[s] for s in known]) + expected[j, 1]
        np.testing.assert_allclose(got.transform(rows)[:, j], expit(z), rtol=2e-3, atol=2e-5)


def test_missing_cells_lean_on_those_of_all_labels() -> None:
    """(k + strength m) / (n + strength), of n missing cells k positive, with the likeliest strength."""
    rng = np.random.default_rng(4)
    for deviation in (0.0, 1.0):
        shares = expit(-2 + deviation * rng.normal(size=30))
        truth, x = draw(150, lines_of(30, 0.3, 6), seed=3)
        is_missing = rng.random(x.shape) < rng.uniform(0.1, 0.9, 30)
        x[is_missing] = 0.0
        truth[is_missing] = (rng.random(x.shape) < shares)[is_missing]
        total = is_missing.sum(axis=0).astype(float)
        positive = (is_missing & (truth == 1)).sum(axis=0).astype(float)
        mean = (positive.sum() + 0.5) / (total.sum() + 1)
        strength = leaning.strength_of_shares(positive, total, mean)
        assert 1 < strength < 1e8 or deviation == 0
        expected = (positive + strength * mean) / (total + strength)
        np.testing.assert_allclose(calibrate(truth, x, "platt").absent, expected, rtol=1e-3)


# What is promised


@each_method
def test_a_single_label_stands_alone(method: Any) -> None:
    truth, x = draw(100, lines_of(1, 0.0, 7), seed=4)
    drawn, alone = (calibrate(truth, x, method, by) for by in ("shrink", "label"))
    assert drawn.by == "label"
    np.testing.assert_array_equal(drawn.transform(x), alone.transform(x))


@each_method
def test_few_positives_take_the_curve_of_the_others_and_many_keep_their_own(method: Any) -> None:
    """All but the last two labels are alike; of these, which are different, one has a tenth of the rows."""
    lines = np.vstack([np.tile([1.5, -2.0], (40, 1)), [[4.0, 1.0]] * 2])
    truth, x = draw(2000, lines, seed=5)
    x[np.arange(2000) >= 20, -1] = -inf
    grid = np.tile(np.linspace(-1, 1, 9)[:, np.newaxis], (1, 42))
    p = {by: calibrate(truth, x, method, by).transform(grid) for by in ("shrink", "pooled")}
    truly = expit(lines[:, 0] * grid + lines[:, 1])
    far = np.abs(p["pooled"] - truly).mean(axis=0)
    near = np.abs(p["shrink"] - truly).mean(axis=0)
    assert near[-2] < 0.1 * far[-2]
    assert near[-1] > 2 * near[-2]


@each_method
def test_labels_that_are_alike_share_nearly_one_curve(method: Any) -> None:
    truth, x = draw(60, np.tile([1.5, -2.0], (200, 1)), seed=6)
    p = {by: calibrate(truth, x, method, by).transform(x) for by in ("shrink", "label", "pooled")}
    apart = {by: np.abs(p[by] - p["pooled"]).mean() for by in ("shrink", "label")}
    assert apart["shrink"] < 0.2 * apart["label"]


@pytest.mark.each_value
@each_method
@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("deviation", [0.0, 0.5, 1.5])
def test_it_calibrates_new_rows_as_well_as_the_better_of_the_others(deviation: float, n: int, method: Any) -> None:
    lines = lines_of(30, deviation, 8)
    fit, new = draw(n, lines, seed=7), draw(4000, lines, seed=8)
    found = {
        by: calibrate(*fit, method, by).transform(new[1]).clip(1e-6, 1 - 1e-6) for by in ("shrink", "label", "pooled")
    }
    losses = {by: loss(new[0], p) for by, p in found.items()}
    assert losses["shrink"] < 1.003 * min(losses.values())


def test_isotonic_labels_with_many_positives_and_forms_of_their_own_do_better_alone() -> None:
    """The limit of `by="shrink"`: a form of all labels together, here of steps at different scores."""
    rng = np.random.default_rng(18)
    x = rng.random((8000, 5))
    truth = (rng.random(x.shape) < 0.05 + 0.6 * (x > [0.1, 0.3, 0.5, 0.7, 0.9])).astype(np.uint8)
    for n, better, worse in ((60, "shrink", "label"), (4000, "label", "shrink")):
        losses = {
            by: loss(truth[4000:], calibrate(truth[:n], x[:n], by=by).transform(x[4000:]).clip(1e-6, 1 - 1e-6))  # type: ignore[arg-type]
            for by in (better, worse)
        }
        assert losses[better] < 0.97 * losses[worse], n


@each_method
def test_a_label_without_positives_is_less_probable_the_more_negatives_it_has(method: Any) -> None:
    truth, x = draw(400, lines_of(20, 0.5, 9), seed=9)
    truth[:, :3] = 0
    x[10:, 1], x[100:, 2] = -inf, -inf
    p = calibrate(truth, x, method).transform(np.ones((1, 20)))[0]
    assert 0 < p[0] < p[2] < p[1] < p[3:].mean()


@each_method
def test_no_probability_is_certain(method: Any) -> None:
    """By label isotonic calibration gives 0 and 1, and an outcome that has 0 costs everything."""
    truth, x = draw(200, np.vstack([lines_of(6, 0.5, 10), SEPARATED, [0.0, -40.0]]), seed=10)
    p = calibrate(truth, x, method).transform(x)
    assert 0 < p.min() < p.max() < 1


def test_isotonic_rises_where_a_label_ranks_backwards_and_platt_falls() -> None:
    truth, x = draw(600, np.vstack([lines_of(8, 0.3, 11), BACKWARDS]), seed=11)
    grid = np.tile(np.linspace(-3, 3, 50)[:, np.newaxis], (1, 9))
    rising = np.diff(calibrate(truth, x).transform(grid), axis=0)
    assert (rising[:, :8] >= 0).all()
    assert not rising[:, 8].any(), "scores that rank backwards say nothing"
    assert calibrate(truth, x).transform(grid)[0, 8] == pytest.approx(truth[:, 8].mean(), abs=0.03)
    assert (np.diff(calibrate(truth, x, "platt").transform(grid)[:, 8]) < 0).all()


@each_method
@pytest.mark.parametrize(
    "lines", [np.tile(SEPARATED, (5, 1)), np.tile(BACKWARDS, (5, 1)), np.zeros((5, 2)), np.tile([1.0, -40.0], (5, 1))]
)
def test_labels_that_are_all_odd(lines: Floats, method: Any) -> None:
    """All separated, all backwards, all without information, all without positives."""
    truth, x = draw(80, lines, seed=12)
    p = calibrate(truth, x, method).transform(x)
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p.sum(axis=0), truth.sum(axis=0), atol=6)


@each_method
def test_scores_that_are_all_equal_give_rates(method: Any) -> None:
    truth = (np.random.default_rng(13).random((500, 12)) < np.linspace(0.05, 0.6, 12)).astype(np.uint8)
    p = calibrate(truth, np.full(truth.shape, 0.4), method).transform(np.full((1, 12), 0.4))[0]
    rates, mean = truth.mean(axis=0), truth.mean()
    assert (np.abs(p - mean) < np.abs(rates - mean)).all(), "drawn towards the rate of all"
    np.testing.assert_allclose(p, rates, atol=0.02)


@each_method
@pytest.mark.parametrize("seed", [88, 122, 139])
@pytest.mark.filterwarnings("ignore:curves that lean on each other did not settle")
def test_weights_may_differ_by_sixteen_orders_of_magnitude(seed: int, method: Any) -> None:
    rng = np.random.default_rng([76, seed])
    truth = (rng.random((3, 4)) < [0.0, 0.1, 0.5, 0.9]).astype(np.uint8)
    x = rng.random((3, 4))
    weights = rng.choice([0, 1e-8, 1, 1e8], 3)
    p = calibrate(truth, x, method, sample_weight=weights).transform(x)
    assert ((p >= 0) & (p <= 1)).all()


@each_method
@pytest.mark.parametrize("ratio", [1e6, 1e12])
@pytest.mark.filterwarnings("ignore:curves that lean on each other did not settle")
def test_the_order_of_labels_tells_nothing(ratio: float, method: Any) -> None:
    for seed, n in ((0, 6), (3, 6), (0, 20), (3, 20)):
        truth, x = draw(n, lines_of(4, 1.0, seed), seed)
        for weights in (np.where(np.arange(n) == 0, ratio, 1.0), np.geomspace(1, ratio, n)):
            expected = calibrate(truth, x, method, sample_weight=weights).transform(x)
            for order in ([3, 0, 1, 2], [1, 0, 3, 2]):
                p = calibrate(truth[:, order], x[:, order], method, sample_weight=weights).transform(x[:, order])
                np.testing.assert_allclose(p, expected[:, order], rtol=1e-9)


def test_a_fit_that_does_not_settle_says_so() -> None:
    truth, x = draw(20, lines_of(4, 1.0, 0), seed=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thresholds.calibration.hierarchy._MOST_ROUNDS", 2)
        with pytest.warns(UserWarning, match="^curves that lean on each other did not settle in 2 rounds"):
            calibrate(truth, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrate(truth, x)


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1e6, 1e300])
def test_the_scale_of_scores_does_not_matter(scale: float) -> None:
    truth, x = draw(100, lines_of(6, 0.5, 14), seed=14)
    x[0] = -3.0  # so that these are no probabilities, at a small scale too
    expected = calibrate(truth, x, "platt").transform(x)
    np.testing.assert_allclose(calibrate(truth, scale * x, "platt").transform(scale * x), expected, rtol=1e-6)


@each_method
def test_thousands_of_labels_in_lists(method: Any) -> None:
    rng = np.random.default_rng(15)
    places = np.unique(rng.integers(0, 300_000, 3_000))
    scores = sparse.csr_array((rng.random(places.size), np.divmod(places, 3_000)), shape=(100, 3_000))
    truth = scores.copy()
    truth.data = (rng.random(truth.nnz) < truth.data).astype(float)
    truth.eliminate_zeros()
    calibrator = calibrate(truth.astype(np.uint8), scores, method)
    assert (calibrator.absent < 0.01).all()
    p = calibrator.transform(scores)
    assert p.data[scores.data > 0.9].min() > 0.5
    assert p.data.sum() == pytest.approx(truth.nnz, rel=0.1)


# Files


def test_a_file_of_the_old_form_is_read(tmp_path: Path) -> None:
    """With `pooled`, a flag, in the place of `by`."""
    truth, x = draw(50, lines_of(3, 0.5, 16), seed=16)
    for method in METHODS:
        for by, pooled in (("label", False), ("pooled", True)):
            rule = CalibratedRule(calibrate(truth, x, method, by), InstanceRule())  # type: ignore[arg-type]
            values = rule.to_dict()
            del values["calibrator"]["by"]
            values["calibrator"]["pooled"] = pooled
            (tmp_path / "rule.json").write_text(json.dumps(values))
            assert thresholds.load_rule(tmp_path / "rule.json").to_dict() == rule.to_dict()


def test_a_saved_stretch_that_was_spoilt_is_refused(tmp_path: Path) -> None:
    truth, x = draw(50, lines_of(2, 0.5, 17), seed=17)
    values = CalibratedRule(calibrate(truth, x), InstanceRule()).to_dict()
    line = values["calibrator"]["stretches"][0]
    spoilt: dict[str, dict[str, Any]] = {
        "stretches has 1 values, expected 2": {"stretches": [line]},
        "slope is -1.0, expected a number of at least 0": {"stretches": [line, line | {"slope": -1}]},
        "intercept is None, expected a number": {"stretches": [line, line | {"intercept": None}]},
        "curves has 2 values, expected 1": {"curves": 2 * values["calibrator"]["curves"]},
        "field 'pooled' is unknown|field 'by' is unknown": {"pooled": False},
        "by is 'labels', expected 'shrink', 'label' or 'pooled'": {"by": "labels"},
    }
    for message, changed in spoilt.items():
        (tmp_path / "rule.json").write_text(json.dumps(values | {"calibrator": values["calibrator"] | changed}))
        with pytest.raises(thresholds.InputError, match=message):
            thresholds.load_rule(tmp_path / "rule.json")


# Extremes


@pytest.mark.each_value
@each_method
@pytest.mark.parametrize("exponent", [4, 8, 15])
@pytest.mark.filterwarnings("error", "ignore:curves that lean on each other did not settle")
def test_weights_of_any_size_give_probabilities(method: str, exponent: int) -> None:
    """A spread over labels that runs away in the search has no inverse; weights of 1e4 beside 1e-4 made it so."""
    for seed in (7, 23, 27):
        rng = np.random.default_rng(seed)
        n, n_labels = ((2, 3), (7, 4), (60, 5))[seed % 3]
        scores = rng.normal(size=(n, n_labels))
        if seed % 2:
            scores = np.clip(np.abs(scores) * 50, 0, 255).astype(np.uint8)
        truth = rng.random((n, n_labels)) < 0.3
        weights = rng.random(n) * 10.0 ** rng.integers(-exponent, exponent + 1, n)

        p = calibrate(truth, scores, method, sample_weight=weights).transform(scores)

        assert ((p >= 0) & (p <= 1)).all()


@pytest.mark.filterwarnings("error")
def test_a_level_line_of_narrow_scores_is_read_where_absent_cells_are_masked() -> None:
    """A slope of 0 times a place that is infinite was no probability."""
    scores = sparse.csr_array(np.array([[-0.8, 0.24, 0.0]]))

    for truth in ([[1, 1, 1]], [[0, 0, 0]]):
        absent = calibrate(truth, scores, "platt", missing=-inf).absent
        assert ((absent >= 0) & (absent <= 1)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("slope", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [0.0, "-inf"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_common_curve_that_a_file_brings_to_0_or_1_gives_probabilities(
    slope: float, intercept: float | str, share: float
) -> None:
    truth, x = draw(100, lines_of(3, 0.5, 1), 1)
    calibrator = calibrate(truth, x)
    values = CalibratedRule(calibrator, thresholds.FixedRule(0.5, 3)).to_dict()
    (knots,) = values["calibrator"]["curves"]
    knots["probabilities"] = [share] * len(knots["probabilities"])
    for line in values["calibrator"]["stretches"]:
        line.update(slope=slope, intercept=intercept)

    p = load_rule(values).calibrator.transform(x)

    assert ((p >= 0) & (p <= 1)).all()


def test_a_slope_that_has_no_product_is_refused() -> None:
    values = CalibratedRule(calibrate(*draw(50, lines_of(2, 0.5, 1), 1)), thresholds.FixedRule(0.5, 2)).to_dict()
    values["calibrator"]["stretches"][0]["slope"] = 1e308

    with pytest.raises(thresholds.InputError, match=r"slope is 1e\+308, expected a number of at most 1e\+300"):
        load_rule(values)
