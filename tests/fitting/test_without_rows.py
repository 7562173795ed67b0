"""What is asked of a problem whose rows were counted elsewhere: histograms and sums, and no row."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from thresholds._engine.best_cuts import best_among
from thresholds._engine.choosing import best_steps
from thresholds._engine.histograms import Histograms, histograms
from thresholds._engine.problem import Problem
from thresholds.calibration.binned import Binned
from thresholds.calibration.calibrator import calibrate_binned
from thresholds.diagnosis.diagnosing import conclude_from
from thresholds.diagnosis.evidence import Criteria, evidence_of
from thresholds.fitting.empirical import rule_of
from thresholds.fitting.options import FitOptions
from thresholds.fitting.searches import FoundCuts, found_by_guard, limits_of, search_options
from thresholds.guards.fitting import GuardedFit, guarded_fit
from thresholds.guards.limits import limited_cuts
from thresholds.metrics.judging import judge
from thresholds.rule import FittedOn

Array = NDArray[Any]
N_ROWS, N_LABELS = 4000, 7


class Unread:
    """Stands for a matrix or a vector: it has shape and dtype, and any other question is an error."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)


@dataclass(frozen=True)
class Counted(Problem):
    """A problem of which histograms and sums are known."""

    exact: Histograms = field(kw_only=True)
    rows: Problem = field(kw_only=True)  # asked for sums alone
    is_counted: ClassVar[bool] = True

    @classmethod
    def of_rows(cls, rows: Problem) -> "Counted":
        """Count the rows of a problem."""
        unread: Any = Unread(rows.scores.shape, rows.scores.dtype)
        weights: Any = None if rows.unit_weights is None else Unread(rows.scores.shape[:1], np.int64)
        return cls(
            unread,
            unread,
            weights,
            rows.unit,
            sample_weight=weights,
            missing=rows.missing,
            label_names=rows.label_names,
            keep_sparse=rows.keep_sparse,
            unknown=None if rows.unknown is None else unread,
            exact=histograms(rows, None),
            rows=rows,
        )

    def histograms(self, most: int | None, labels: Array | None = None) -> Histograms:
        """Return those of all labels, or some."""
        found = self.exact if most is None else self.exact.merged(most)
        return found if labels is None else found.take(labels)

    def histograms_in_pieces(self) -> Iterator[tuple[Histograms, int]]:
        """Return those of three labels, then of the others."""
        for labels in (slice(0, 3), slice(3, N_LABELS)):
            yield self.exact.of_labels(labels), labels.start


def _sum_of_rows(name: str) -> Any:
    """A property of the problem with rows."""
    return property(lambda self: getattr(self.rows, name))


for _name in (
    "rows_of_label",
    "present_of_label",
    "weight_of_label",
    "total_weight",
    "n_present",
    "has_whole_weights",
    "exactly_weighted",
    "known",
):
    setattr(Counted, _name, _sum_of_rows(_name))


def draw(form: str) -> tuple[Any, Any, dict[str, Any]]:
    """Truth, scores and what is said of them; few labels are rare, and one is never true."""
    rng = np.random.default_rng(3)
    rates = np.append(np.geomspace(0.4, 0.002, N_LABELS - 1), 0.0)
    truth = (rng.random((N_ROWS, N_LABELS)) < rates).astype(np.int8)
    scores = (rng.normal(size=truth.shape) + 1.5 * truth).astype(np.float32)
    scores[:, 2] = scores[:, 2].round(1)
    if form == "float64":
        return truth, scores.astype(np.float64) - 1e3, {}
    if form == "sparse":
        scores[scores < 0.5] = 0
        return sparse.csr_array(truth), sparse.csr_array(scores), {}
    if form == "weighted":
        return truth, scores, {"sample_weight": np.arange(N_ROWS) % 4}
    if form == "unknown":
        return np.where(rng.random(truth.shape) < 0.2, -1, truth), scores, {"unknown": -1}
    return truth, scores, {}


FORMS = ["float32", "float64", "sparse", "weighted", "unknown"]
FITS: list[dict[str, Any]] = [
    {"average": "macro"},
    {"average": "weighted", "beta": 2.0, "placement": "mid"},
    {"average": "micro"},
    {"average": "macro", "guard": "shrink"},
    {"average": "weighted", "guard": "shrink", "max_overprediction": 1.5},
    {"average": "micro", "guard": "pool"},
    {"average": "macro", "max_overprediction": 1.2},
    {"average": "macro", "min_precision": 0.6},
    {"average": "macro", "guard": "shrink", "min_recall": 0.5},
]


def fitted(problem: Counted, options: FitOptions) -> thresholds.ThresholdRule:
    """Fit as rows are fitted, by histograms alone."""
    exact = histograms(problem, None)
    steps = exact.steps.cuttable(problem)
    optimum = best_among(steps, options.average, options.beta)
    limits, search, guard = limits_of(problem, options), search_options(options), options.chosen_guard
    if options.guarded_by is None:
        found = FoundCuts(optimum)
    elif guard is not None:
        guarded = guarded_fit(problem, guard, limits, search, optimum, histograms(problem))
        found = found_by_guard(problem, options, guarded)
    else:
        allowed = limits.candidates(problem, exact)
        best = allowed.at(best_steps(allowed, options.beta**2))
        cuts = limited_cuts(problem, limits, search, best)
        found = found_by_guard(problem, options, GuardedFit(cuts, optimum))
    in_brief = FittedOn(problem.n_samples, optimum.positives, str(problem.dtype), "")
    return rule_of(problem, options, found, fitted_on=in_brief)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fit", FITS, ids=str)
def test_a_fit_reads_no_row(form: str, fit: dict[str, Any]) -> None:
    truth, scores, about = draw(form)
    expected = thresholds.fit_empirical(truth, scores, **fit, **about)
    rows = Problem.of(truth, scores, keep_sparse=None if form != "sparse" else True, **about)
    found = fitted(Counted.of_rows(rows), FitOptions(**{"guard": None, **fit}))
    assert found.profile is None
    kept = {"fitted_on": None, "kept": None, "made_by": None}
    assert replace(found, **kept).to_dict() == replace(expected, **kept).to_dict()  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "weighted"])
def test_a_diagnosis_reads_no_row(form: str) -> None:
    truth, scores, about = draw(form)
    rows, criteria = Problem.of(truth, scores, **about), Criteria()
    rule = thresholds.fit_empirical(truth, scores, **about)
    problem = Counted.of_rows(rows)
    evidence = evidence_of(problem, criteria)
    for found, expected in zip(evidence, evidence_of(rows, criteria), strict=True):
        np.testing.assert_array_equal(found, expected)
    counts = judge(rule, rows).by_label
    diagnosis = conclude_from(counts, problem, rule, evidence, criteria, on_own_rows=True)
    assert str(diagnosis) == str(thresholds.diagnose(truth, scores, rule, **about))


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize("form", FORMS)
def test_a_calibration_reads_no_row(form: str, method: Any) -> None:
    truth, scores, about = draw(form)
    problem = Counted.of_rows(Problem.of(truth, scores, **about))
    found = Binned.of_histograms(histograms(problem), problem.missing)
    calibrator = calibrate_binned(problem, found, method)
    expected = thresholds.calibrate(truth, scores, method, **about)
    np.testing.assert_allclose(
        calibrator.transform(scores, dense=True), expected.transform(scores, dense=True), atol=0.1
    )
    assert calibrator.after.log_loss == pytest.approx(expected.after.log_loss, rel=1e-2)
