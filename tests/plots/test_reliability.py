"""Reliability: bins are counted here one by one."""

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds.metrics.intervals import share_interval
from thresholds.plots import ReliabilityDisplay

RNG = np.random.default_rng(0)
P = RNG.beta(0.3, 4, size=(300, 3)).round(3)  # with many 0
Y = (RNG.random(P.shape) < P).astype(np.uint8)
NAMES = ["cat", "dog", "owl"]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_hold_equal_parts_of_the_sum_of_deviations(kind: type, weighted: bool) -> None:
    weight = np.arange(300) % 3 if weighted else np.ones(300)
    display = ReliabilityDisplay.from_predictions(Y, kind(P), n_bins=6, sample_weight=weight)
    part = display.parts[0]
    cell_weight = np.repeat(weight, 3)
    p, y = P.ravel(), Y.ravel()
    is_counted = cell_weight > 0
    deviation = cell_weight * np.sqrt(p * (1 - p))
    start = 0.0
    shares = []
    for k, predicted in enumerate(part.predicted):
        # The bin goes on until as many cells are in it as the display says.
        order = np.argsort(p[is_counted], kind="stable")
        sums = cell_weight[is_counted][order].cumsum()
        end = start + part.n_cells[k]
        chosen = (sums > start + 1e-9) & (sums <= end + 1e-9)
        w, q, t = (values[is_counted][order][chosen] for values in (cell_weight, p, y))
        assert w.sum() == pytest.approx(part.n_cells[k])
        assert predicted == pytest.approx((w * q).sum() / w.sum())
        shares.append(deviation[is_counted][order][chosen].sum() / deviation.sum())
        if k == 0:
            assert set(q) == {0.0}, "p = 0 has a bin of its own"
        if k in (0, len(part.predicted) - 1):  # In others equal p may be cut apart by this order.
            assert part.observed[k] == pytest.approx((w * t).sum() / w.sum())
        start = end
    assert part.n_cells.sum() == pytest.approx(cell_weight.sum())
    assert (part.observed * part.n_cells).sum() == pytest.approx((cell_weight * y).sum())
    np.testing.assert_allclose(shares[1:], 1 / 6, atol=0.02)
    np.testing.assert_array_equal((part.low, part.high), share_interval(part.positives, part.n_cells, 0.95))
    assert part.heights.sum() == part.n_cells[1:].sum(), "0 is in no column of a logistic histogram"


def test_probabilities_that_say_what_is_true_lie_on_the_diagonal() -> None:
    part = ReliabilityDisplay.from_predictions(Y, P).parts[0]
    assert ((part.low <= part.predicted) & (part.predicted <= part.high)).mean() > 0.8


def test_labels_have_panels_and_calibration_a_before_and_an_after() -> None:
    scores = P**0.5
    calibrator = thresholds.calibrate(Y, scores, by="label", label_names=NAMES)
    display = ReliabilityDisplay.from_calibrator(calibrator, Y, scores, label=["owl", "cat"], n_bins=4)
    assert [(part.name, part.kind) for part in display.parts] == [
        ("owl", "scores"), ("owl", "calibrated"), ("cat", "scores"), ("cat", "calibrated")
    ]  # fmt: skip
    after = ReliabilityDisplay.from_predictions(Y, calibrator.transform(scores), label=2, n_bins=4).parts[0]
    np.testing.assert_allclose(display.parts[1].predicted, after.predicted, rtol=1e-12)
    np.testing.assert_array_equal(display.parts[1].observed, after.observed)
    assert display.plot().figure_.get_size_inches()[0] == 7
    assert [axes.get_title("left") for axes in display.axes_] == ["owl", "cat"]
    display.figure_.draw_without_rendering()
    assert set(display.to_frame()["kind"]) == {"scores", "calibrated"}


def test_scores_that_are_no_probabilities_are_shown_after_calibration_only() -> None:
    scores = np.log(P + 0.01)
    calibrator = thresholds.calibrate(Y, scores, by="pooled")
    display = ReliabilityDisplay.from_calibrator(calibrator, Y, scores)
    assert [part.kind for part in display.parts] == ["calibrated"]


def test_small_probabilities_have_logistic_axes() -> None:
    display = ReliabilityDisplay.from_predictions(Y, P, n_bins=5).plot()
    part = display.parts[0]
    assert display.ax_.get_xscale() == "logit"
    lines = {line.get_label(): line for line in display.ax_.lines}
    low, high = display.ax_.get_xlim()
    is_shown = (np.minimum(part.predicted, part.observed) >= low) & (part.observed <= high)
    expected = np.column_stack([part.predicted, part.observed])[is_shown]
    np.testing.assert_array_equal(lines["probabilities, 95 % bounds"].get_xydata(), expected)
    assert "beyond the axes" in lines, "p = 0"
    display.figure_.draw_without_rendering()
    assert ReliabilityDisplay.from_predictions(Y, (P + 1) / 2).plot().ax_.get_xscale() == "linear"


@pytest.mark.parametrize("p", [0.0, 1.0, 0.5])
def test_one_probability_alone_can_be_drawn(p: float) -> None:
    display = ReliabilityDisplay.from_predictions([0, 1, 1], [p] * 3).plot()
    assert display.parts[0].predicted.tolist() == [p]
    display.figure_.draw_without_rendering()
