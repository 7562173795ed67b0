"""`calibrate` and `measure_calibration` against definitions in exact arithmetic, a general minimiser, scikit-learn."""

import math
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

import thresholds
from tests.bad_inputs import matrices as bad_matrices
from tests.bad_inputs.arguments import matrices
from tests.cases import Case, cases, small_cases
from tests.naive import calibration as twin
from tests.naive import exhaustive as naive
from thresholds import InputError
from thresholds._engine.histograms import histograms
from thresholds._engine.problem import Problem
from thresholds._kernels.choosing import upper_hulls
from thresholds._log_odds import log_odds
from thresholds.calibration import CalibrationMeasures, Calibrator, calibrate, measure_calibration
from thresholds.calibration.curves import CalibrationCurves, Knots

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]

CASES = list(small_cases(120, seed=20070919))
CHUNKS = [CASES[i::6] for i in range(6)]
KINDS = list(product(("isotonic", "platt"), ("label", "pooled", "shrink")))
ROUNDING = {"label": 1e-12, "pooled": 1e-12, "shrink": 1e-10}  # A search for mean and spread ends near the best.
MEASURES = ("log_loss", "reliability", "sum_over_positives", "slope")
inf, nan = math.inf, math.nan


def rng_of(*seed: int) -> Generator:
    """Random numbers of their own for a test."""
    return np.random.default_rng([71, *seed])


def draw(n: int, m: int, seed: int, levels: int | None = None) -> tuple[Array, Array]:
    """Truth and informative scores in (0, 1), with ties if levels are given."""
    rng = rng_of(seed)
    base = rng.uniform(-3, 0, m)
    z = base + 1.5 * rng.normal(size=(n, m))
    y_true = (rng.random((n, m)) < 1 / (1 + np.exp(-z))).astype(np.uint8)
    y_score = 1 / (1 + np.exp(-0.6 * z - 0.3))
    if levels:
        y_score = np.round(levels * y_score).clip(1, levels - 1) / levels
    return y_true, y_score


def without_weightless(case: Case) -> Case:
    """The case without its rows of weight 0: they may have scores that Platt's curve is not for."""
    if case.sample_weight is None:
        return case
    kept = case.sample_weight > 0
    parts = {name: getattr(case, name)[kept] for name in ("y_true", "y_score", "sample_weight")}
    return replace(case, **parts)


def groups(case: Case, by: str) -> list[tuple[slice, list[twin.Cell]]]:
    """The columns that share a curve, with their cells."""
    n_labels = case.y_true.shape[1]
    columns = [slice(None)] if by == "pooled" else [slice(j, j + 1) for j in range(n_labels)]
    return [(at, twin.cells_of(case.y_true[:, at], case.y_score[:, at], case.sample_weight)) for at in columns]


def fitted(case: Case, method: str = "isotonic", by: str = "label", **options: object) -> Calibrator:
    """The calibrator of a case."""
    return calibrate(case.y_true, case.y_score, method, by, sample_weight=case.sample_weight, **options)


def same(got: CalibrationMeasures, expected: CalibrationMeasures, tolerance: float = 1e-12) -> None:
    """Measures are equal but for rounding."""
    for name in MEASURES:
        assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=tolerance, abs=1e-15, nan_ok=True), name


# The twins against each other


def test_the_max_min_formula_is_the_least_of_all_rising_curves() -> None:
    """Against every rising curve on a grid that holds all means of few cells."""
    rng = rng_of(1)
    grid = sorted({Fraction(a, b) for b in range(1, 6) for a in range(b + 1)})
    for _ in range(20):
        cells = [(float(s), int(y), Fraction(1)) for s, y in rng.integers(0, (3, 2), (5, 2))]
        scores = sorted({s for s, _, _ in cells})
        curves = [()]
        for _ in scores:
            curves = [(*curve, value) for curve in curves for value in grid if not curve or value >= curve[-1]]
        best = min(curves, key=lambda curve: twin.squares(cells, dict(zip(scores, curve, strict=True))))
        assert twin.isotonic(cells) == dict(zip(scores, best, strict=True))


# Isotonic


@pytest.mark.each_value
@pytest.mark.parametrize("by", ["label", "pooled"])
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_isotonic_is_the_share_of_positives_of_exact_blocks(chunk: int, by: str) -> None:
    """The float64 quotient of whole sums, to the last bit; of real weights to a few bits."""
    for case in CHUNKS[chunk]:
        got = fitted(case, by=by).transform(case.y_score)
        for at, cells in groups(case, by):
            curve = twin.isotonic(cells)
            expected = [[float(twin.read_off(curve, naive.plain(s))) for s in row] for row in case.y_score[:, at]]
            known = np.isin(case.y_score[:, at], [*curve, -inf])
            exact = known if case.dyadic_weights else np.zeros_like(known)
            np.testing.assert_array_equal(got[:, at][exact], np.array(expected)[exact], case.name)
            np.testing.assert_allclose(got[:, at], expected, rtol=1e-13, atol=1e-15, err_msg=case.name)


def test_isotonic_between_and_beyond_known_scores() -> None:
    rng = rng_of(2)
    for case in CASES[::5]:  # of all twelve flavours
        calibrator = fitted(case)
        low, high = np.finfo(np.float64).min, np.finfo(np.float64).max
        for j, (_, cells) in enumerate(groups(case, by="label")):
            curve = twin.isotonic(cells)
            known = sorted({low, high, 0.0, *curve})
            new = [a / 2 + b / 2 for a, b in pairwise(known)] + [low, high, *rng.normal(size=3)]
            new += [float(np.nextafter(s, side)) for s in curve for side in (low, high)]
            rows = np.full((len(new), case.y_true.shape[1]), -inf)
            rows[:, j] = new
            got = calibrator.transform(rows)
            assert not np.delete(got, j, axis=1).any()
            expected = [float(twin.read_off(curve, s)) for s in new]
            np.testing.assert_allclose(got[:, j], expected, rtol=1e-12, atol=1e-15, err_msg=case.name)
            assert (np.diff(got[np.argsort(new), j]) >= 0).all(), case.name


@pytest.mark.parametrize("levels", [None, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_equals_scikit_learn(levels: int | None, weighted: bool) -> None:
    y_true, y_score = draw(3000, 4, seed=3, levels=levels)
    weights = rng_of(3).exponential(size=3000) if weighted else None
    calibrator = calibrate(y_true, y_score, by="label", sample_weight=weights)
    new = rng_of(4).uniform(-0.1, 1.1, (500, 4))
    for j in range(4):
        theirs = IsotonicRegression(out_of_bounds="clip").fit(y_score[:, j], y_true[:, j], sample_weight=weights)
        for scores in (y_score, new):
            np.testing.assert_allclose(calibrator.transform(scores)[:, j], theirs.predict(scores[:, j]), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_the_edges_of_the_upper_hull(weighted: bool) -> None:
    """Another exact route to the same probabilities (docs/proofs.md, joint micro)."""
    for seed in range(5):
        y_true, y_score = draw(2000, 6, seed=seed, levels=None if seed % 2 else 60)
        weights = rng_of(seed).integers(1, 9, 2000) if weighted else None
        steps = histograms(Problem.of(y_true, y_score, sample_weight=weights), None).steps
        offsets, vertex, slope = upper_hulls(steps.offsets, steps.tp, steps.predicted - steps.tp)
        got = calibrate(y_true, y_score, by="label", sample_weight=weights).transform(y_score)
        for j in range(6):
            part = slice(offsets[j], offsets[j + 1])
            cuts = steps.cut[vertex[part]][::-1]
            rates = np.append(0.0, slope[part][::-1])
            np.testing.assert_array_equal(got[:, j], rates[np.searchsorted(cuts, y_score[:, j], side="right")])


def test_equal_means_make_one_block() -> None:
    """SciPy adds up rounded means, which may tell them apart: in two of these."""
    rng = rng_of(5)
    for _ in range(50):
        weight = int(rng.integers(2, 60))
        positive = int(rng.integers(1, weight))
        scores = np.repeat(np.arange(int(rng.integers(5, 60))), 2)
        sizes = np.repeat(rng.integers(1, 400, scores.size // 2), 2)
        truth = np.arange(scores.size) % 2
        weights = np.where(truth == 1, positive, weight - positive) * sizes
        got = calibrate(truth, scores, sample_weight=weights)
        assert got.curves.knots.scores.tolist() == [0.0]
        assert set(got.transform(scores).tolist()) == {positive / weight}


def test_a_curve_never_rises_above_the_next_knot() -> None:
    rng = rng_of(6)
    hits = rng.integers(1, 2000, (3000, 2))
    rates = np.sort(hits / (hits + rng.integers(0, 2000, (3000, 2))), axis=1)
    knots = Knots(2 * np.arange(3001), np.tile([-3.0, 1.0], 3000), rates.reshape(-1))
    read = CalibrationCurves(pooled=False, knots=knots).reader()(np.full(3000, np.nextafter(1, 0)))
    assert (read >= rates[:, 0]).all()
    assert (read <= rates[:, 1]).all()


def test_knots_may_lie_further_apart_than_float64_can_tell() -> None:
    calibrator = calibrate([0, 1], [-1.6e308, 1.6e308])
    np.testing.assert_array_equal(calibrator.transform([-1.7e308, 0.0, 0.8e308, 1.6e308]), [0, 0.5, 0.75, 1])


def test_the_probabilities_of_the_data_hold_the_empirical_optimum() -> None:
    """The largest F-beta over all cuts is that of p >= F / (1 + beta^2): corollary 5.2, in-sample."""
    for case in CASES[:48]:  # of all twelve flavours
        p = fitted(case).transform(case.y_score)
        for j in range(p.shape[1]):
            options = {"beta": case.beta, "sample_weight": case.sample_weight}
            best = thresholds.fit_empirical(case.y_true[:, j], case.y_score[:, j], zero_division=0.0, **options)
            if np.isneginf(case.y_score[:, j]).any():
                continue
            decided = (p[:, j] >= best.objective / (1 + case.beta**2)).astype(np.uint8)
            truth = case.y_true[:, [j]]
            reached = thresholds.metrics.fbeta_score(
                truth, decided[:, np.newaxis], average="macro", zero_division=0.0, **options
            )
            assert reached == pytest.approx(best.objective, abs=1e-15), case.name


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.0, 1.37, 2.0])
def test_the_corollary_on_larger_data(beta: float) -> None:
    for seed, levels in enumerate([None, 7, 40]):
        y_true, y_score = draw(400, 3, seed=100 + seed, levels=levels)
        for weights in (None, rng_of(seed).integers(0, 5, 400), rng_of(seed).exponential(size=400)):
            p = calibrate(y_true, y_score, by="label", sample_weight=weights).transform(y_score)
            for j in range(3):
                best = thresholds.fit_empirical(y_true[:, j], y_score[:, j], beta=beta, sample_weight=weights).objective
                decided = p[:, [j]] >= best / (1 + beta**2)
                reached = thresholds.metrics.fbeta_score(
                    y_true[:, [j]], decided, beta=beta, average="macro", sample_weight=weights, zero_division=0.0
                )
                assert reached == pytest.approx(best, abs=1e-15)


# Platt


def platt_cells(case: Case, cells: list[twin.Cell]) -> list[twin.Cell]:
    """The cells that a curve is fitted to, with their logits where all scores of the case are in [0, 1]."""
    kept = [cell for cell in cells if cell[0] != 0]
    scores = [s for s, _, _ in twin.cells_of(case.y_true, case.y_score, case.sample_weight)]
    if not all(0 <= s <= 1 for s in scores):
        return kept
    kind = case.y_score.dtype.type if case.y_score.dtype.kind == "f" else np.float64
    below_one = float(np.nextafter(kind(1), kind(0)))
    return [(twin.log_odds(min(s, below_one)), y, w) for s, y, w in kept]


@pytest.mark.each_value
@pytest.mark.parametrize("by", ["label", "pooled"])
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_platt_has_the_least_loss(chunk: int, by: str) -> None:
    for case in CHUNKS[chunk][int(by == "pooled") :: 5]:  # of both flavours of scores that are in a chunk
        case = without_weightless(case)
        got = fitted(case, "platt", by).transform(case.y_score)
        for at, cells in groups(case, by):
            p = got[:, at]
            known = case.y_score[:, at] > -inf
            zeros = [(y, w) for s, y, w in cells if s == 0]
            if zeros:
                rate = sum(w for y, w in zeros if y) / sum(w for _, w in zeros)
                np.testing.assert_allclose(p[case.y_score[:, at] == 0], float(rate), rtol=1e-15)
            inner = platt_cells(case, cells)
            if not inner:
                continue
            _, z = twin.least(twin.smoothed_loss, inner)
            z_of = dict(zip((s for s, _, _ in cells if s != 0), z, strict=True))
            for s, value in zip(case.y_score[:, at][known], p[known], strict=True):
                if s != 0:
                    expected = twin.sigmoid(z_of[naive.plain(s)])
                    assert value == pytest.approx(expected, rel=2e-4, abs=2e-5), case.name


def gradient(x: Array, y: Array, p: Array) -> tuple[float, float]:
    """The derivatives by a and b of the loss of Platt's curve, relative to the number of cells."""
    positive, negative = y.sum(), (1 - y).sum()
    t = np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    return float(np.mean((p - t) * x)), float(np.mean(p - t))


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_platt_of_raw_scores_is_stationary_at_any_scale(scale: float, seed: int) -> None:
    y_true, y_score = draw(500, 3, seed)
    x = np.log(y_score / (1 - y_score)) + 3 * seed
    x[0] = -1.5  # So that these are no probabilities, at a small scale too.
    p = calibrate(y_true, x * scale, "platt", "label").transform(x * scale)
    for j in range(3):
        assert gradient(x[:, j], y_true[:, j], p[:, j]) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("seed", [69, 147, 280])
def test_platt_with_outliers_where_whole_newton_steps_diverge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = rng.integers(20, 300)
    x = rng.normal(size=n)
    x[: n // 20 + 1] *= rng.choice([10, 100, 1000])
    y = (rng.random(n) < expit(rng.choice([1, 3, 10]) * x - rng.choice([0, 3]))).astype(np.uint8)
    assert gradient(x, y, calibrate(y, x, "platt").transform(x)) == pytest.approx((0, 0), abs=1e-9)


def test_platt_of_probabilities_that_are_right_is_the_identity() -> None:
    """Of cells with p = k/8, k of 8 are positive: a = 1 and b = 0, but for the smoothing."""
    scores = np.repeat(np.arange(1, 8) / 8, 8)
    truth = np.concatenate([np.arange(8) < k for k in range(1, 8)]).astype(np.uint8)
    weights = np.full(56, 1e9)
    calibrator = calibrate(truth, scores, "platt", sample_weight=weights)
    np.testing.assert_allclose(calibrator.transform(scores), scores, atol=1e-9)
    np.testing.assert_allclose(calibrator.transform([0.01, 0.99]), [0.01, 0.99], atol=1e-9)
    scale, slope = calibrator.curves.scale, calibrator.curves.slope
    np.testing.assert_allclose(slope / scale, 1, atol=1e-8)
    same(calibrator.before, calibrator.after, tolerance=1e-7)


def test_platt_smooths_what_is_separated() -> None:
    """One positive above one negative: targets 2/3 and 1/3, which two parameters meet exactly."""
    calibrator = calibrate([0, 1], [-1.0, 3.0], "platt")
    np.testing.assert_allclose(calibrator.transform([-1.0, 3.0, 1.0]), [1 / 3, 2 / 3, 0.5], atol=1e-12)


def test_platt_of_one_score_is_the_mean_target() -> None:
    calibrator = calibrate([0, 1, 0, 0], [2.5] * 4, "platt")
    expected = ((1 + 1) / (1 + 2) + 3 * 1 / (3 + 2)) / 4
    np.testing.assert_allclose(calibrator.transform([2.5, 7.0]), [expected, expected], rtol=1e-12)


def test_platt_gives_missing_cells_their_own_rate() -> None:
    y_true = np.array([[1, 0], [0, 0], [0, 1], [1, 0], [0, 1], [1, 1]])
    y_score = np.array([[0.0, 0.2], [0.0, 0.4], [0.0, 0.0], [0.9, 0.1], [0.2, 0.3], [0.8, 0.9]])
    np.testing.assert_array_equal(calibrate(y_true, y_score, "platt", "label").absent, [1 / 3, 1.0])
    pooled = calibrate(y_true, y_score, "platt", "pooled")
    np.testing.assert_array_equal(pooled.absent, [0.5, 0.5])
    np.testing.assert_array_equal(pooled.transform(y_score)[:3, 0], 0.5)
    for missing in (0.0, -1.0):
        moved = np.where(y_score == 0, missing, y_score)
        calibrator = calibrate(y_true, moved, "platt", "label", missing=missing)
        np.testing.assert_array_equal(calibrator.absent, [1 / 3, 1.0])
        np.testing.assert_array_equal(
            calibrator.transform(moved), calibrate(y_true, y_score, "platt", "label").transform(y_score)
        )


def test_platt_without_a_missing_cell_reads_the_curve_there() -> None:
    y_true, x = draw(300, 2, seed=6)
    raw = calibrate(y_true, 10 * x - 5, "platt")
    np.testing.assert_allclose(raw.absent, raw.transform(np.full((1, 2), 1e-300))[0], rtol=1e-12)
    logits = calibrate(y_true, x, "platt")
    assert (logits.absent < 1e-100).all()
    assert (logits.absent >= 0).all()


def test_platt_of_a_label_with_missing_cells_alone_falls_back_to_its_rate() -> None:
    y_true = np.array([[0, 1], [0, 0], [1, 1], [0, 0], [0, 1]])
    y_score = np.array([[0.0, 0.2], [0.0, 0.4], [0.0, 0.6], [0.0, 0.8], [0.0, 0.7]])
    calibrator = calibrate(y_true, y_score, "platt", "label")
    np.testing.assert_allclose(calibrator.transform([[0.3, 0.3], [1.0, 1.0]])[:, 0], 2 / 7, rtol=1e-12)
    assert calibrator.absent[0] == 1 / 5


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_platt_clips_exact_one_next_to_it(dtype: type) -> None:
    rng = rng_of(7)
    y_score = rng.choice([0.1, 0.3, 0.7, 0.9, 1.0], 60).astype(dtype)
    y_true = (rng.random(60) < y_score).astype(np.uint8)
    y_true[:5] = 1 - y_true[:5]
    clipped = np.minimum(y_score, np.nextafter(dtype(1), dtype(0)))
    one, below = (calibrate(y_true, scores, "platt") for scores in (y_score, clipped))
    np.testing.assert_array_equal(one.transform(y_score), below.transform(clipped))
    assert one.transform(np.array([1.0]))[0] == below.transform(clipped[y_score == 1][:1])[0]


def test_platt_refuses_scores_that_are_no_probabilities_after_a_fit_of_probabilities() -> None:
    y_true, y_score = draw(50, 2, seed=8)
    calibrator = calibrate(y_true, y_score, "platt", label_names=["cat", "dog"], missing=-2.0)
    bad = y_score.copy()
    bad[3, 1] = 1.5
    for scores in (bad, sparse.csr_array(bad)):
        with pytest.raises(InputError, match=r"^y_score has 1\.5 at row 3, label 'dog', expected scores in \[0, 1\]"):
            calibrator.transform(scores)
    bad[3, 1], bad[4, 0] = -2.0, -inf
    assert calibrator.transform(bad)[3, 1] == calibrator.absent[1]
    assert calibrator.transform(bad)[4, 0] == 0
    calibrate(y_true, y_score).transform(bad)
    raw = calibrate(y_true, 3 * y_score, "platt")
    assert (raw.transform(-99 * y_score) < raw.transform(99 * y_score)).all()


# Both methods


@pytest.mark.parametrize(("method", "by"), KINDS)
def test_probabilities_are_never_nan(method: str, by: str) -> None:
    """A sixth of the cases of each flavour has each kind of curves."""
    sixth = KINDS.index((method, by))
    for case in map(without_weightless, (case for i, case in enumerate(CASES) if (i // 12 + sixth) % 6 == 0)):
        calibrator = fitted(case, method, by)
        p = calibrator.transform(case.y_score)
        assert p.dtype == np.float64
        assert ((p >= 0) & (p <= 1)).all(), case.name
        assert ((calibrator.absent >= 0) & (calibrator.absent <= 1)).all(), case.name
        assert not p[np.isneginf(case.y_score)].any()
        assert str(calibrator)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_any_small_case(case: Case) -> None:
    case = without_weightless(case)
    for method, by in KINDS:
        p = fitted(case, method, by).transform(case.y_score)
        assert ((p >= 0) & (p <= 1)).all()
        if method == "isotonic" and by != "shrink":
            for at, cells in groups(case, by):
                curve = twin.isotonic(cells)
                expected = [[float(twin.read_off(curve, naive.plain(s))) for s in row] for row in case.y_score[:, at]]
                np.testing.assert_allclose(p[:, at], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("method", "by"), [kind for kind in KINDS if kind[1] != "shrink"])
def test_pooled_is_the_fit_of_one_long_column(method: str, by: str) -> None:
    y_true, y_score = draw(80, 3, seed=9, levels=25)
    weights = rng_of(9).integers(0, 4, 80)
    if by == "pooled":
        whole = calibrate(y_true, y_score, method, by, sample_weight=weights)
        column = calibrate(
            y_true.T.reshape(-1), y_score.T.reshape(-1), method, "label", sample_weight=np.tile(weights, 3)
        )
        # Of a curve that is found by Newton's method the last digits differ, as cells of a column are added up first.
        rounding = 0 if method == "isotonic" else 1e-13
        read = column.transform(y_score.T.reshape(-1))
        np.testing.assert_allclose(whole.transform(y_score).T.reshape(-1), read, rtol=rounding)
        same(whole.after, column.after)
        np.testing.assert_allclose(whole.absent, np.tile(column.absent, 3), rtol=rounding)
    else:
        whole = calibrate(y_true, y_score, method, by, sample_weight=weights)
        for j in range(3):
            alone = calibrate(y_true[:, j], y_score[:, j], method, "label", sample_weight=weights)
            np.testing.assert_array_equal(whole.transform(y_score)[:, j], alone.transform(y_score[:, j]))


@pytest.mark.parametrize(("method", "by"), KINDS)
def test_what_must_not_matter(method: str, by: str) -> None:
    """The order of rows and labels, a row twice or of weight 2, rows of weight 0, the dtype, the memory layout."""
    rng = rng_of(10)
    y_true, y_score = draw(120, 4, seed=10, levels=30)
    y_score = y_score.astype(np.float32)
    weights = rng.integers(0, 4, 120)
    expected = calibrate(y_true, y_score, method, by, sample_weight=weights)
    p, close = expected.transform(y_score), {"rtol": 1e3 * ROUNDING[by], "atol": 1e-12}
    rows, labels = rng.permutation(120), rng.permutation(4)
    moved = calibrate(y_true[rows][:, labels], y_score[rows][:, labels], method, by, sample_weight=weights[rows])
    np.testing.assert_allclose(moved.transform(y_score[:, labels]), p[:, labels], **close)
    repeated = np.repeat(np.arange(120), weights)
    twice = calibrate(y_true[repeated], y_score[repeated], method, by)
    np.testing.assert_allclose(twice.transform(y_score), p, **close)
    same(twice.before, expected.before, 1e-9)
    same(twice.after, expected.after, 1e3 * ROUNDING[by])
    kept = weights > 0
    absent = calibrate(y_true[kept], y_score[kept], method, by, sample_weight=weights[kept])
    np.testing.assert_array_equal(absent.transform(y_score), p)
    assert absent.after == expected.after
    for put in (np.asfortranarray, lambda x: np.repeat(x, 2, axis=0)[::2], np.ndarray.tolist):
        got = calibrate(put(y_true), put(y_score), method, by, sample_weight=weights)
        np.testing.assert_allclose(got.transform(put(y_score)), p, **close)
    if method == "isotonic":
        moved = np.exp(7 * y_score)  # Rows without weight may lie between two blocks.
        got = calibrate(y_true, moved, by=by, sample_weight=weights)
        np.testing.assert_array_equal(got.transform(moved)[kept], p[kept])


@pytest.mark.parametrize(("method", "by"), KINDS)
def test_threads_do_not_matter(method: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.calibration.points._POINTS_PER_PIECE", 2**12)  # a fifteenth of the cells
    y_true, y_score = draw(3000, 20, seed=11)
    first = calibrate(y_true, y_score, method, by, n_jobs=1)
    second = calibrate(y_true, y_score, method, by, n_jobs=3)
    np.testing.assert_array_equal(first.transform(y_score), second.transform(y_score))
    assert (first.before, first.after) == (second.before, second.after)


SPARSE_KINDS = [sparse.csr_array, sparse.csc_array, sparse.coo_matrix]


@pytest.mark.each_pair
@pytest.mark.parametrize("kind", SPARSE_KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.25, -inf])
@pytest.mark.parametrize(("method", "by"), KINDS)
def test_sparse_equals_dense(method: str, by: str, missing: float, kind: Callable[[Array], object]) -> None:
    rng = rng_of(12)
    for number, (n, levels) in enumerate(((7, 4), (90, 30), (400, None)), SPARSE_KINDS.index(kind)):
        y_true, y_score = draw(n, 5, seed=n, levels=levels)
        y_score[:, 4] = 0.5  # Only absent cells in one label.
        stored = rng.random((n, 5)) < 0.4
        stored[:, 3], stored[:, 4] = True, False
        marked = kind(np.where(stored, y_score + 100, 0))
        marked.data -= 100
        filled = np.where(stored, marked.toarray(), missing)
        weights = (None, rng.integers(0, 3, n), rng.exponential(size=n))[number % 3]
        dense = calibrate(y_true, filled, method, by, sample_weight=weights, missing=missing)
        for truth in (y_true, kind(y_true)):
            got = calibrate(truth, marked, method, by, sample_weight=weights, missing=missing)
            np.testing.assert_allclose(got.absent, dense.absent, rtol=ROUNDING[by])
            same(got.before, dense.before, 1e-9)
            same(got.after, dense.after, 1e3 * ROUNDING[by])
            expected = dense.transform(filled)
            np.testing.assert_allclose(got.transform(marked, dense=True), expected, rtol=ROUNDING[by], atol=1e-15)
            listed = got.transform(marked)
            assert isinstance(listed, sparse.csr_matrix if kind is sparse.coo_matrix else sparse.csr_array)
            assert listed.nnz == stored.sum()
            np.testing.assert_allclose(listed.toarray(), np.where(stored, expected, 0), rtol=ROUNDING[by], atol=1e-15)
            for powers in (1, 4):
                sums = [(np.where(stored, 0, got.absent) ** r).sum(axis=1) for r in range(1, powers + 1)]
                np.testing.assert_allclose(got.tail(marked, powers), np.transpose(sums), atol=1e-14)
            assert not dense.tail(filled).any()


def test_a_full_row_has_no_tail() -> None:
    y_true, y_score = draw(60, 700, seed=13)
    calibrator = calibrate(y_true, 9 * y_score - 4, "platt")
    assert (calibrator.absent > 0).all()
    assert not calibrator.tail(sparse.csr_array(y_score)).any()
    y_score[0, :690] = 0
    left = calibrator.tail(sparse.csr_array(y_score), 1)
    np.testing.assert_allclose(left[:2, 0], [calibrator.absent[:690].sum(), 0], rtol=1e-12)
    assert calibrator.tail(sparse.csr_array((3, 700)), 2).shape == (3, 2)
    np.testing.assert_array_equal(calibrator.tail(y_score[:2], 3), np.zeros((2, 3)))


@pytest.mark.parametrize(("method", "by"), KINDS)
def test_masked_cells_are_left_out(method: str, by: str) -> None:
    y_true, y_score = draw(50, 3, seed=14)
    masked = np.where(rng_of(14).random((50, 3)) < 0.3, -inf, y_score)
    masked[:, 2] = -inf
    calibrator = calibrate(y_true, masked, method, by)
    p = calibrator.transform(y_score)
    columns = [0, 1] if by == "pooled" else [0]
    kept = np.isfinite(masked[:, columns])
    if by == "shrink":
        others = calibrate(y_true[:, :2], masked[:, :2], method, by)
        np.testing.assert_array_equal(p[:, :2], others.transform(y_score[:, :2]))
        assert not p[:, 2].any()
    else:
        alone = calibrate(y_true[:, columns][kept], y_score[:, columns][kept], method, "label")
        np.testing.assert_allclose(p[:, columns][kept], alone.transform(y_score[:, columns][kept]), rtol=1e-12)
    assert not calibrator.transform(masked)[~np.isfinite(masked)].any()
    if by == "label":
        assert not p[:, 2].any()
        both = [
            measure_calibration(y_true[:, :2][part], values[:, :2][part])
            for part in [np.isfinite(masked[:, :2])]
            for values in (y_score, p)
        ]
        same(calibrator.before, both[0], 1e-9)
        same(calibrator.after, both[1], 1e-9)
    everything = calibrate(y_true, np.full((50, 3), -inf), method, by)
    assert not everything.transform(y_score).any()
    assert np.isnan(everything.after.log_loss)


@pytest.mark.parametrize("by", ["label", "pooled"])
def test_without_positives(by: str) -> None:
    y_score = draw(40, 2, seed=15)[1]
    nothing = np.zeros((40, 2), np.uint8)
    assert not calibrate(nothing, y_score, by=by).transform(y_score).any()
    platt = calibrate(nothing, y_score, "platt", by).transform(y_score)
    np.testing.assert_allclose(platt, 1 / (82 if by == "pooled" else 42), rtol=1e-9)
    everything = calibrate(1 - nothing, y_score, "platt", by).transform(y_score)
    np.testing.assert_allclose(everything, 81 / 82 if by == "pooled" else 41 / 42, rtol=1e-9)
    assert (calibrate(1 - nothing, y_score, by=by).transform([[-9.0, 9.0]]) == 1).all()


# The calibrator


def test_what_a_calibrator_says_of_itself() -> None:
    y_true, y_score = draw(200, 3, seed=16)
    names = ["cat", "dog", "owl"]
    calibrator = calibrate(y_true, y_score, "platt", label_names=names)
    assert (calibrator.method, calibrator.by, calibrator.label_names) == ("platt", "shrink", tuple(names))
    assert calibrator.n_labels == 3
    lines = str(calibrator).splitlines()
    assert lines[0] == "platt calibration, one curve for each of 3 labels, drawn towards that of all"
    assert f"{calibrator.before.log_loss:.4g} before, {calibrator.after.log_loss:.4g} after" in lines[1]
    assert f"{calibrator.before.reliability:.4g} before" in lines[2]
    raw = calibrate(y_true, 3 * y_score, by="pooled")
    assert str(raw).startswith("isotonic calibration, one curve for all 3 labels")
    assert "unknown before" in str(raw)
    assert all(np.isnan(getattr(raw.before, name)) for name in MEASURES)
    with pytest.raises(AttributeError):
        raw.by = "label"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        raw.absent[0] = 1
    again = pickle.loads(pickle.dumps(raw))
    np.testing.assert_array_equal(again.transform(y_score), raw.transform(y_score))


def test_one_label_has_one_dimension() -> None:
    y_true, y_score = draw(40, 1, seed=17)
    calibrator = calibrate(y_true[:, 0], y_score[:, 0])
    assert calibrator.transform(y_score[:, 0]).shape == (40,)
    assert calibrator.transform(y_score[:, 0].tolist()).shape == (40,)
    assert calibrator.transform(y_score).shape == (40, 1)
    assert calibrator.tail(y_score[:, 0]).shape == (40, 4)


def test_input_stays_as_it_was() -> None:
    y_true, y_score = draw(60, 3, seed=18)
    y_score[3] = -0.0
    listed = sparse.csr_array(y_score)
    before, data = y_score.copy(), listed.data.copy()
    for method, by in KINDS:
        for scores in (y_score, np.asfortranarray(y_score), listed, y_score[:, 0]):
            truth = y_true[:, 0] if scores.ndim == 1 else y_true
            calibrate(truth, scores, method, by).transform(scores)
            measure_calibration(truth, scores)
    np.testing.assert_array_equal(np.signbit(y_score), np.signbit(before))
    np.testing.assert_array_equal(y_score, before)
    np.testing.assert_array_equal(listed.data, data)


Y, S = draw(20, 2, seed=19)


@cache
def named() -> Calibrator:
    """A calibrator of two labels with names."""
    return calibrate(Y, S, label_names=["cat", "dog"])


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "method": (lambda: calibrate(Y, S, "beta"), "method is 'beta', expected 'isotonic' or 'platt'"),
    "no method": (lambda: calibrate(Y, S, None), "method is None"),
    "by": (lambda: calibrate(Y, S, by=True), "by is True, expected 'shrink', 'label' or 'pooled'"),
    "shapes": (lambda: calibrate(Y, S[:, :1]), r"y_score has shape \(20, 1\), expected \(20, 2\)"),
    "truth": (lambda: calibrate(2 * Y, S), "y_true has 2 at row"),
    "nan": (lambda: calibrate(Y, np.where(S > 0.5, nan, S)), "y_score has NaN at row"),
    "plus infinity": (lambda: calibrate(Y, np.where(S > 0.5, inf, S)), r"y_score has \+inf at row"),
    "names": (lambda: calibrate(Y, S, label_names=["cat"]), "label_names has 1 names, expected 2"),
    "weights": (lambda: calibrate(Y, S, sample_weight=-np.ones(20)), "sample_weight has -1"),
    "no weight": (lambda: calibrate(Y, S, sample_weight=np.zeros(20)), "sample_weight is 0 for every row"),
    "missing": (lambda: calibrate(Y, S, missing=nan), "missing is nan"),
    "threads": (lambda: calibrate(Y, S, n_jobs=0), "n_jobs is 0"),
    "transform labels": (lambda: named().transform(S[:, :1]), "y_score has 1 labels, expected 2"),
    "transform nan": (lambda: named().transform(np.full((1, 2), nan)), "y_score has NaN at row 0, label 'cat'"),
    "tail labels": (lambda: named().tail(S[:, :1]), "y_score has 1 labels, expected 2"),
    "powers": (lambda: named().tail(S, 0), "powers is 0, expected a whole number of at least 1"),
    "measured range": (lambda: measure_calibration(Y, 2 + S), r"probabilities has 2\.\d+ at row 0, label 0, expected"),
    "measured nan": (lambda: measure_calibration(Y, nan * S), "probabilities has NaN at row 0, label 0"),
    "measured shapes": (lambda: measure_calibration(Y, S[:9]), r"probabilities has shape \(9, 2\), expected \(20, 2\)"),
    "measured truth": (lambda: measure_calibration(S, S), "y_true has"),
    "measured weights": (lambda: measure_calibration(Y, S, sample_weight=[1]), r"sample_weight has shape \(1,\)"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_refused_in_one_line(bad: str) -> None:
    call, message = BAD[bad]
    with pytest.raises(InputError, match=f"^{message}") as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1


BAD_MATRICES = [
    *matrices(
        {
            "calibrate": lambda y_true: calibrate(y_true, bad_matrices.S, label_names=["cat", "dog"]),
            "measure_calibration": lambda y_true: measure_calibration(y_true, bad_matrices.S),
        },
        "y_true",
        bad_matrices.BAD_ANYWHERE | bad_matrices.BAD_TRUTH,
    ),
    *matrices(
        {
            "calibrate": lambda y_score: calibrate(bad_matrices.Y, y_score, label_names=["cat", "dog"]),
            "transform": lambda y_score: named().transform(y_score),
            "tail": lambda y_score: named().tail(y_score),
        },
        "y_score",
        bad_matrices.BAD_ANYWHERE | bad_matrices.BAD_SCORES,
    ),
    *matrices(
        {"measure_calibration": lambda probabilities: measure_calibration(bad_matrices.Y, probabilities)},
        "probabilities",
        bad_matrices.BAD_ANYWHERE,
    ),
]


def test_every_bad_matrix_is_refused_in_one_line() -> None:
    for bad in BAD_MATRICES:
        with pytest.raises(InputError) as caught:
            bad.call()
        message = str(caught.value)
        assert re.match(bad.message, message), (bad.id, message)
        assert len(message.splitlines()) == 1


# Measures


def check_measures(got: CalibrationMeasures, expected: CalibrationMeasures, name: str) -> None:
    """Measures are what their definitions give."""
    assert got.log_loss == pytest.approx(expected.log_loss, rel=1e-12), name
    assert got.reliability == pytest.approx(expected.reliability, rel=1e-9, abs=1e-15), name
    assert got.sum_over_positives == pytest.approx(expected.sum_over_positives, rel=1e-12, nan_ok=True), name
    assert got.slope == pytest.approx(expected.slope, rel=1e-4, abs=1e-4, nan_ok=True), name


def test_measures_equal_their_definitions() -> None:
    for i in range(60):  # all combinations of probabilities, weights and noise
        rng = rng_of(20, i)
        n, m = int(rng.integers(1, 40)), int(rng.integers(1, 4))
        p = [rng.random((n, m)), rng.integers(0, 5, (n, m)) / 4, rng.integers(1, 20, (n, m)) / 20][i % 3]
        y_true = (rng.random((n, m)) < p).astype(np.uint8)
        if i % 5 == 0:
            y_true[rng.random((n, m)) < 0.1] ^= 1
        weights = [None, rng.integers(0, 4, n), rng.integers(1, 17, n) / 8][i % 4 % 3]
        if weights is not None and not weights.any():
            weights = None
        cells = twin.cells_of(y_true, p, weights)
        by_definition = (twin.log_loss, twin.reliability, twin.sum_over_positives, twin.slope)
        expected = CalibrationMeasures(*(float(measure(cells)) for measure in by_definition))
        check_measures(measure_calibration(y_true, p, sample_weight=weights), expected, str(i))
        listed = measure_calibration(sparse.csr_array(y_true), sparse.csr_array(p), sample_weight=weights)
        check_measures(listed, expected, str(i))


def test_before_and_after_are_the_measures_of_scores_and_probabilities() -> None:
    y_true, y_score = draw(300, 4, seed=21)
    for weights in (None, rng_of(21).exponential(size=300)):
        for method, by in KINDS:
            calibrator = calibrate(y_true, y_score, method, by, sample_weight=weights)
            same(calibrator.before, measure_calibration(y_true, y_score, sample_weight=weights), 1e-9)
            p = calibrator.transform(y_score)
            same(calibrator.after, measure_calibration(y_true, p, sample_weight=weights), 1e-9)
            assert calibrator.after.log_loss < calibrator.before.log_loss
            assert calibrator.after.reliability < calibrator.before.reliability
            if method == "isotonic" and by != "shrink":
                assert calibrator.after.sum_over_positives == pytest.approx(1, abs=1e-12)


def test_a_wrong_certainty_costs_everything() -> None:
    assert measure_calibration([1, 0], [0.0, 0.5]).log_loss == inf
    assert measure_calibration([1, 0], [0.5, 1.0]).log_loss == inf
    assert measure_calibration([1, 0], [1.0, 0.0]) == CalibrationMeasures(0.0, 0.0, 1.0, nan)
    absent = sparse.csr_array(([0.5], ([1], [0])), shape=(2, 1))
    assert measure_calibration([[1], [0]], absent).log_loss == inf


def test_measures_without_positives() -> None:
    assert measure_calibration([0, 0], [0.5, 0.25]).sum_over_positives == inf
    assert np.isnan(measure_calibration([0, 0], [0.0, 0.0]).sum_over_positives)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_slope_of_too_extreme_probabilities_is_below_one(factor: float) -> None:
    """Logits times a factor have the slope 1 / factor."""
    scores = np.repeat(np.arange(1, 8) / 8, 8)
    truth = np.concatenate([np.arange(8) < k for k in range(1, 8)])
    p = scores**factor / (scores**factor + (1 - scores) ** factor)
    assert measure_calibration(truth, p).slope == pytest.approx(1 / factor, rel=1e-9)


@pytest.mark.parametrize(
    ("truth", "p"),
    [
        ([0, 0, 1], [0.1, 0.2, 0.3]),
        ([0, 1, 1], [0.3, 0.2, 0.1]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.2, 0.3]),
        ([0, 1, 0, 1], [0.4, 0.4, 0.4, 0.4]),
        ([1, 1], [0.3, 0.4]),
        ([0, 1], [0.0, 1.0]),
    ],
)
def test_no_slope_where_none_is_best(truth: list[int], p: list[float]) -> None:
    assert np.isnan(measure_calibration(truth, p).slope)


def test_equal_probabilities_share_a_bin() -> None:
    """Of 40 cells, 39 with p = .25: one bin of them all, whose rate is right, and one for the last."""
    truth = np.append(np.arange(39) < 13, 1)
    p = np.append(np.full(39, 0.25), 0.75)
    expected = 39 / 40 * (0.25 - 1 / 3) ** 2 + 1 / 40 * 0.25**2
    assert measure_calibration(truth, p).reliability == pytest.approx(expected, rel=1e-12)


def test_probabilities_of_any_dtype() -> None:
    y_true, y_score = draw(200, 3, seed=22, levels=8)
    expected = measure_calibration(y_true, y_score)
    for dtype in (np.float16, np.float32, ">f8"):
        same(measure_calibration(y_true.astype(bool), y_score.astype(dtype)), expected, 1e-12)
    assert measure_calibration(y_true, y_true).log_loss == 0


def test_log_odds_near_a_half_keep_their_digits() -> None:
    p = 0.5 + np.array([1e-16 * 2**k for k in range(1, 50, 3)]) * [[1], [-1]]
    np.testing.assert_allclose(log_odds(p), np.arctanh(2 * p - 1) * 2, rtol=1e-14)
