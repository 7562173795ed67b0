"""Cells in bins of neighbouring scores: what is fitted to them and measured on them is what it is on all cells."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from thresholds import calibrate, measure_calibration
from thresholds.calibration import Calibrator, binned, pooled
from thresholds.data.problem import Problem

Array = NDArray[Any]
BYS = ("label", "pooled", "shrink")
N_ROWS, N_LABELS = 3000, 5
FEW_CELLS = 5e-5  # what cells at the edges of a measure's bins make of its reliability, of so few

each_kind = pytest.mark.parametrize("kind", ["shares", "certain", "margins", "heavy tails", "powers", "mostly absent"])


def draw(kind: str) -> tuple[Array, Array]:
    """Truth and scores of labels of base rates from .5 to .004."""
    rng = np.random.default_rng(26)
    z = rng.normal(size=(N_ROWS, N_LABELS)) * [0.5, 1, 2, 1, 1] - [0, 1, 2, 4, 6]
    truth = (rng.random(z.shape) < expit(z)).astype(np.uint8)
    truth[0] = 1
    outliers = 1e5 * rng.normal(size=z.shape)
    scores = {
        "shares": expit(z).astype(np.float32),
        "certain": expit(4 * z).astype(np.float32),  # some are 0 and 1 exactly
        "margins": np.where(rng.random(z.shape) < 0.1, 0.0, z),  # 0 is missing
        "heavy tails": np.where(rng.random(z.shape) < 0.005, outliers, z),
        "powers": np.exp(6 * z),  # nearly all are in one part in 1024 of what lies between the percentiles
        "mostly absent": np.where(expit(z) < 0.3, 0.0, expit(z)),
    }
    return truth, scores[kind]


def in_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take few cells for many."""
    monkeypatch.setattr(binned, "_MOST_EXACT", 0)


def n_bins(truth: Array, scores: Array) -> int:
    """How many bins, or distinct scores, labels have."""
    cells = binned.binned(Problem.of(truth, scores)).all
    return int(
        np.unique(np.stack([np.repeat(np.arange(N_LABELS), np.diff(cells.starts)), cells.scores]), axis=1).shape[1]
    )


@each_kind
def test_platt_of_bins_is_that_of_cells(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities to 1e-5, as `calibrate` says, and measures."""
    truth, scores = draw(kind)
    weights = np.random.default_rng(1).exponential(size=N_ROWS)
    exact = [calibrate(truth, scores, "platt", by, sample_weight=w) for by in BYS for w in (None, weights)]
    n_exact = n_bins(truth, scores)
    in_bins(monkeypatch)
    found = [calibrate(truth, scores, "platt", by, sample_weight=w) for by in BYS for w in (None, weights)]

    assert n_bins(truth, scores) < 0.8 * n_exact or kind == "mostly absent"
    for a, b in zip(exact, found, strict=True):
        np.testing.assert_allclose(b.transform(scores), a.transform(scores), atol=1e-5)
        same_but_for_bins(a, b)


@each_kind
@pytest.mark.parametrize("by", BYS)
def test_isotonic_of_bins_is_that_of_cells(kind: str, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, but for lines of labels, whose sums are rounded; a cell of the fit lies in a block of scores."""
    truth, scores = draw(kind)
    exact = calibrate(truth, scores, "isotonic", by)
    in_bins(monkeypatch)
    found = calibrate(truth, scores, "isotonic", by)

    rounding = 1e-10 if by == "shrink" else 0
    np.testing.assert_allclose(found.transform(scores), exact.transform(scores), rtol=rounding)
    assert found.after.log_loss == pytest.approx(exact.after.log_loss, rel=1e-10)
    assert found.after.reliability == pytest.approx(exact.after.reliability, rel=1e-6, abs=1e-15)
    same_but_for_bins(exact, found)


def same_but_for_bins(exact: Calibrator, found: Calibrator) -> None:
    """Counts by class are the same, what is read off curves and scores nearly."""
    assert exact.by_class is not None
    assert found.by_class is not None
    for name in ("edges", "positives", "negatives", "observed"):
        np.testing.assert_allclose(getattr(found.by_class, name), getattr(exact.by_class, name), rtol=1e-12)
    for name in ("probabilities", "rates"):
        np.testing.assert_allclose(getattr(found.by_class, name), getattr(exact.by_class, name), atol=1e-5)
    for a, b in ((exact.before, found.before), (exact.after, found.after)):
        assert b.log_loss == pytest.approx(a.log_loss, rel=1e-5, nan_ok=True)
        # Where probabilities are nearly equal, the last bits of a processor's exponential tell which lie together.
        assert b.reliability == pytest.approx(a.reliability, rel=0.25, abs=FEW_CELLS, nan_ok=True)
        assert b.sum_over_positives == pytest.approx(a.sum_over_positives, rel=1e-5, nan_ok=True)
        assert b.slope == pytest.approx(a.slope, rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_other_scores_are_measured_in_bins_that_end_where_a_curve_bends(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, scores = draw("shares")
    half = N_ROWS // 2
    for by in BYS:
        calibrator = calibrate(truth[:half], scores[:half], method, by)
        p = calibrator.transform(scores[half:]).clip(1e-9, 1 - 1e-9)
        exact = measure_calibration(truth[half:], p)
        with monkeypatch.context() as patch:
            in_bins(patch)
            found = calibrator.measure(Problem.of(truth[half:], scores[half:]))
        assert found.sum_over_positives == pytest.approx(exact.sum_over_positives, rel=1e-5)
        assert found.reliability == pytest.approx(exact.reliability, abs=FEW_CELLS)


# One curve of all labels


def pooled_curve(problem: Problem, row_weight: float | None, n_jobs: int = 1) -> tuple[bytes, bytes]:
    """The knots of the curve of all cells."""
    curve = pooled.fit_pooled(problem, row_weight, n_jobs, progress=False)
    return curve.scores.tobytes(), curve.probabilities.tobytes()


@pytest.mark.each_value
@each_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_of_all_labels_does_not_depend_on_bins(
    kind: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, scores = draw(kind)
    weights = np.random.default_rng(2).integers(0, 4, N_ROWS) / 2 if weighted else None
    unknown = np.where(np.random.default_rng(3).random(truth.shape) < 0.1, -1, truth.astype(np.int8))
    masked = np.where(scores == scores[7, 1], -np.inf, scores)
    problems = [
        Problem.of(truth, scores, sample_weight=weights),
        Problem.of(unknown, masked, sample_weight=weights, unknown=-1),
        Problem.of(truth, sparse.csr_array(scores), sample_weight=weights),
    ]
    for problem in problems:
        for row_weight in (None, 1 / problem.unit):
            curves = set()
            for cells_of_bin in (10**9, 40, 3, 1):
                monkeypatch.setattr(pooled, "_CELLS_OF_BIN", cells_of_bin)
                curves |= {pooled_curve(problem, row_weight, n_jobs) for n_jobs in (1, 2)}
            assert len(curves) == 1
