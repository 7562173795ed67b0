"""Results do not depend on the blocks in which rows and labels are taken: each size is crossed once, with weights.

What fits into one block is held to the twins elsewhere; here the blocks are made so small that rows and labels fill
many, the last of which is shorter, and rows of each block weigh differently.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import fit_empirical, metrics

Array = np.ndarray[Any, Any]

N_SAMPLES, N_LABELS = 130, 11  # neither a multiple of a block

SMALL = {
    "_arrays.blocks._BLOCK_ROWS": 16,
    "_arrays.blocks._BLOCK_CELLS": 200,
    "_checks.arrays._BLOCK_CELLS": 200,
    "calibration.points._POINTS_PER_PIECE": 3 * N_SAMPLES,
    "_arrays.threads._WORTH_THREADS": 1,
    "expectation.counts._BLOCK_ROWS": 16,
    "expectation.counts._CHUNK_CELLS": 300,
    "expectation.counts._LEAST_SAMPLE": 2,
    "expectation.counts._PIECE_CELLS": 5 * N_LABELS,
    "expectation.dependent._SIZES_AT_ONCE": 3,
    "_engine.cells._BLOCK_CELLS": 3 * N_LABELS,
    "_arrays.matrices._ROWS_AT_ONCE": 16,
}


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array, Array]:
    """Truth, probabilities, and weights that rise by a half from row to row, some of them 0."""
    rng = np.random.default_rng(19)
    truth = (rng.random((N_SAMPLES, N_LABELS)) < np.linspace(0.05, 0.6, N_LABELS)).astype(np.uint8)
    scores = np.round(1 / (1 + np.exp(-rng.normal(size=truth.shape) - truth)), 2)
    drifting = np.linspace(0.8, 1, N_SAMPLES)[:, np.newaxis]  # Blocks differ in scores, too.
    weights = np.where(rng.random(N_SAMPLES) < 0.1, 0, 0.5 + 0.5 * np.arange(N_SAMPLES))
    return truth, scores * drifting, weights


def of_rule(rule: Any, scores: Any) -> list[Any]:
    decided = rule.predict(scores)
    return [rule.objective, decided.toarray() if sparse.issparse(decided) else decided]


def fit(average: Any, **options: Any) -> Callable[..., list[Any]]:
    """A fit, and the metric of what it predicts."""

    def found(truth: Array, scores: Array, weights: Array) -> list[Any]:
        rule = fit_empirical(truth, scores, average, sample_weight=weights, **options)
        objective, decided = of_rule(rule, scores)
        f = metrics.fbeta_score(truth, decided, beta=1, average=average, sample_weight=weights, zero_division=0.0)
        assert f == objective
        return [rule.thresholds, objective]

    return found


def fit_sparse(truth: Array, scores: Array, weights: Array) -> list[Any]:
    truth, listed = sparse.csr_array(truth), sparse.csr_array(np.where(scores > 0.4, scores, 0))
    rule = fit_empirical(truth, listed, sample_weight=weights, keep_sparse=True)
    return [rule.thresholds, *of_rule(rule, listed)]


def of_columns(truth: Array, scores: Array, weights: Array) -> list[Any]:
    """The same in memory column by column."""
    return fit("macro")(np.asfortranarray(truth), np.asfortranarray(scores), weights)


def compared(truth: Array, scores: Array, weights: Array) -> list[Any]:
    rules = {"half": thresholds.FixedRule(0.5, N_LABELS), "top": thresholds.TopKRule(3)}
    return [str(thresholds.compare(rules, truth, scores, sample_weight=weights))]


def counted(truth: Array, scores: Array, weights: Array) -> list[Any]:
    """F of each label, of each row, and AUROC: also where one side is sparse, and by columns."""
    decided = scores >= 0.5
    kinds = [(truth, decided), (sparse.csr_array(truth), decided), tuple(map(np.asfortranarray, (truth, decided)))]
    found: list[Any] = []
    for true, predicted in kinds:
        for average in (None, "samples"):
            options = {"average": average, "zero_division": 0.0}
            found += [
                metrics.f1_score(true, predicted, **options),
                metrics.f1_score(true, predicted, sample_weight=weights, **options),
            ]
    return [*found, metrics.auroc(truth, scores, sample_weight=weights), metrics.auroc(truth, scores)]


def calibrated(method: Any) -> Callable[..., list[Any]]:
    def found(truth: Array, scores: Array, weights: Array) -> list[Any]:
        left_out = np.random.default_rng(5).random(scores.shape) < 0.2  # So labels have different rows.
        scores = np.where(left_out, -np.inf, scores)
        calibrator = thresholds.calibrate(truth, scores, method, sample_weight=weights)
        probabilities = calibrator.transform(scores)
        measures = thresholds.measure_calibration(truth, probabilities, sample_weight=weights)
        return [probabilities, str(measures)]

    return found


def expected(average: Any) -> Callable[..., list[Any]]:
    def found(truth: Array, scores: Array, weights: Array) -> list[Any]:
        rule = thresholds.fit_expected(scores, average, sample_weight=weights)
        objective, decided = of_rule(rule, scores)
        of_decided = thresholds.expected_f(scores, decided, average, exact=False, sample_weight=weights)
        np.testing.assert_allclose(of_decided, objective, rtol=1e-12)
        return [objective, decided]

    return found


def expected_of_sets(truth: Array, scores: Array, weights: Array) -> list[Any]:
    return of_rule(thresholds.fit_expected(scores, "samples"), scores)


def expected_of_sparse(truth: Array, scores: Array, weights: Array) -> list[Any]:
    listed = sparse.csr_array(np.where(scores > 0.4, scores, 0))
    return of_rule(thresholds.fit_expected(listed, sample_weight=weights), listed)


def from_draws(truth: Array, scores: Array, weights: Array) -> list[Any]:
    """One set of labels for each of two rows, from 65 draws of their truth."""
    rule = thresholds.InstanceRule()
    return [rule.predict_from_samples(truth.reshape(2, -1, N_LABELS)), rule.predict_from_samples(truth[np.newaxis])]


def cross_fitted(truth: Array, scores: Array, weights: Array) -> list[Any]:
    found = thresholds.cross_fit(truth, scores, sample_weight=weights, random_state=1)
    return [found.rule.thresholds, str(found)]


def diagnosed(truth: Array, scores: Array, weights: Array) -> list[Any]:
    rule = fit_empirical(truth, scores, sample_weight=weights)
    return thresholds.diagnose(truth, scores, rule).table.tolist()


def regions(truth: Array, scores: Array, weights: Array) -> list[Any]:
    return of_rule(thresholds.fit_regions(truth, scores, sample_weight=weights), scores)


def top_k(truth: Array, scores: Array, weights: Array) -> list[Any]:
    rule = thresholds.fit_top_k(truth, scores, sample_weight=weights)
    return [rule.k, *of_rule(rule, scores)]


WORK: dict[str, Callable[..., list[Any]]] = {
    "macro": fit("macro"),
    "weighted": fit("weighted"),
    "micro": fit("micro"),
    "shared macro": fit("macro", per_label=False),
    "shared micro": fit("micro", per_label=False),
    "shared samples": fit("samples", per_label=False),
    "shrink": fit("macro", guard="shrink"),
    "limits": fit("macro", min_precision=0.6, max_overprediction=1.1),
    "sparse": fit_sparse,
    "columns": of_columns,
    "comparison": compared,
    "metrics": counted,
    "isotonic": calibrated("isotonic"),
    "platt": calibrated("platt"),
    "expected macro": expected("macro"),
    "expected micro": expected("micro"),
    "expected of sets": expected_of_sets,
    "expected of sparse": expected_of_sparse,
    "draws": from_draws,
    "cross-fit": cross_fitted,
    "diagnosis": diagnosed,
    "regions": regions,
    "top k": top_k,
}


@pytest.mark.parametrize("name", WORK)
def test_blocks_of_rows_and_labels_add_up(
    name: str, data: tuple[Array, Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = WORK[name](*data)
    for constant, value in SMALL.items():
        monkeypatch.setattr(f"thresholds.{constant}", value)
    in_blocks = WORK[name](*data)
    for ours, theirs in zip(in_blocks, whole, strict=True):
        if name.startswith("expected") and np.asarray(ours).dtype == np.float64:
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)  # sums of floats, block by block
        else:
            np.testing.assert_array_equal(ours, theirs)
