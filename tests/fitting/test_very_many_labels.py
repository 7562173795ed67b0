"""Sparse truth and scores of very many labels: memory is that of entries and labels, never of labels times rows."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import FixedRule, fit_empirical
from thresholds.metrics import f1_score

ROWS, LABELS, ENTRIES = 20_000, 20_000, 80_000
# A bit for each cell would be 50 MB, a byte 400 MB.
MOST_BYTES = 40e6

Data = tuple[Any, Any]


@pytest.fixture(scope="module")
def data() -> Data:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, ROWS, ENTRIES) * LABELS + (LABELS * rng.random(ENTRIES) ** 3).astype(np.int64))
    score = rng.random(cells.size).astype(np.float32)
    listed = cells[rng.random(cells.size) < 0.3 * score**3]
    true = np.unique(np.append(listed, rng.integers(0, ROWS * LABELS, 5_000)))  # some without a score
    shape = (ROWS, LABELS)
    truth = sparse.csr_array((np.ones(true.size, np.int8), np.divmod(true, LABELS)), shape=shape)
    return truth, sparse.csr_array((score, np.divmod(cells, LABELS)), shape=shape)


def peak_of(call: Callable[[], object]) -> int:
    """The most bytes that arrays and objects take while something is called, a second time."""
    call()  # kernels are loaded
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


WEIGHTS = 1.0 + np.arange(ROWS) % 3
FITS: dict[str, dict[str, Any]] = {
    "macro": {},
    "weighted": {"average": "weighted", "sample_weight": WEIGHTS},
    "micro": {"average": "micro"},
    "weights that are not whole": {"sample_weight": WEIGHTS / 7},
    "cut anywhere": {"keep_sparse": False},
    "shared": {"average": "micro", "per_label": False},
    "promises": {"average": "micro", "min_precision": 0.2, "min_recall": 0.2, "confidence": 0.9},
    "limits": {"max_overprediction": 2.0, "min_precision": 0.2},
}


@pytest.mark.parametrize("options", FITS.values(), ids=FITS)
def test_a_fit_makes_nothing_of_labels_times_rows(data: Data, options: dict[str, Any]) -> None:
    assert peak_of(lambda: fit_empirical(*data, n_jobs=2, **options)) < MOST_BYTES


def test_nor_does_a_rule(data: Data, tmp_path: Path) -> None:
    truth, scores = data
    rule = fit_empirical(truth, scores)
    path = tmp_path / "rule.json"

    assert peak_of(lambda: rule.predict(scores)) < MOST_BYTES
    assert peak_of(lambda: rule.save(path)) < MOST_BYTES
    assert peak_of(lambda: thresholds.load_rule(path)) < MOST_BYTES
    loaded = thresholds.load_rule(path)
    np.testing.assert_array_equal(loaded.thresholds, rule.thresholds)
    np.testing.assert_array_equal(loaded.profile.quantiles, rule.profile.quantiles)
    assert path.stat().st_size < 40 * LABELS
    assert path.read_text().count("\n") < 200, "long lists are one line each"


@pytest.mark.soak
def test_nor_do_measures(data: Data) -> None:
    truth, scores = data
    rule = fit_empirical(truth, scores)
    decided = rule.predict(scores)
    assert f1_score(truth, decided, average="macro", zero_division=0.0) == rule.objective
    assert peak_of(lambda: f1_score(truth, decided, average="macro", zero_division=0.0)) < MOST_BYTES
    rules = {"fitted": rule, "half": FixedRule(0.5, LABELS)}
    assert peak_of(lambda: thresholds.compare(rules, truth, scores)) < 2 * MOST_BYTES
