"""Sparse scores: an absent score is `missing`, or, where predictions are to be kept sparse, is never predicted."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.engine.checks import CHECKS, check_steps
from tests.engine.draws import Array, Data, draw
from thresholds._engine.best_cuts import all_steps, best_cuts

KINDS = ("normal", "rounded", "constant", "mostly 0", "mostly masked", "all sizes", "subnormal", "zeros of both signs")


def backwards(cells: Any) -> Any:
    """A CSR array whose columns fall within each row."""
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    order = np.lexsort((-cells.indices, row))
    return sparse.csr_array((cells.data[order], cells.indices[order], cells.indptr), shape=cells.shape)


FORMS: dict[str, Callable[[Any], Any]] = {
    "CSR": lambda cells: cells,
    "CSR, columns fall": backwards,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_matrix,
}


def with_absent(data: Data, rng: np.random.Generator, missing: float) -> tuple[Data, Any]:
    """The data with `missing` in some cells, and its scores without these; of the others some may equal it, too."""
    data = replace(data, scores=data.scores.astype(rng.choice([np.float32, np.float64])))
    is_stored = rng.random(data.scores.shape) < rng.choice([0.0, 0.1, 0.5, 1.0])
    is_other = is_stored & (rng.random(is_stored.shape) < rng.choice([0.9, 1.0]))
    scores = np.where(is_other, data.scores, data.scores.dtype.type(missing))
    cells = sparse.coo_array((scores[is_stored], np.nonzero(is_stored)), shape=scores.shape)
    return replace(data, scores=scores), sparse.csr_array(cells)


def truth_of(data: Data, *, is_sparse: bool) -> Array | Any:
    """Truth with cells that are not known, dense or sparse."""
    return sparse.csr_array(data.unknown_truth) if is_sparse else data.unknown_truth


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing", [0.0, -1.0, 0.5, -np.inf])
@pytest.mark.parametrize("keep_sparse", [False, True])
@pytest.mark.usefixtures("narrow_stripes")
def test_cuts_are_the_best(keep_sparse: bool, missing: float, form: str, by: str) -> None:
    """Of all, or of those above `missing`."""
    for seed, kind in enumerate(KINDS):
        rng = np.random.default_rng(seed)
        data, cells = with_absent(draw(kind, seed, (int(rng.integers(1, 120)), 5)), rng, missing)
        truth = truth_of(data, is_sparse=bool(rng.integers(2)))
        problem = data.problem_of(truth, FORMS[form](cells), missing=missing, keep_sparse=keep_sparse)
        labels = data.labels_above(missing if keep_sparse else None)
        for aim, check in CHECKS.items():
            check(data, problem, labels, 1 + seed % 3, aim, kind)
        check_steps(all_steps(problem), labels, kind)


def test_sparse_scores_stay_as_they_are(by: str) -> None:
    data, cells = with_absent(draw("normal", 0, (60, 5)), np.random.default_rng(0), 0.0)
    cells = backwards(cells)
    before = [part.copy() for part in (cells.data, cells.indices, cells.indptr)]
    for keep_sparse in (False, True):
        problem = data.problem_of(data.unknown_truth, cells, keep_sparse=keep_sparse)
        CHECKS["each"](data, problem, data.labels_above(0.0 if keep_sparse else None), 2)
    for part, earlier in zip((cells.data, cells.indices, cells.indptr), before, strict=True):
        np.testing.assert_array_equal(part, earlier)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("kind", ["normal", "rounded"])
@pytest.mark.usefixtures("narrow_stripes")
def test_truth_may_be_sparse_where_scores_are_dense(kind: str, form: str, by: str) -> None:
    """Read in many pieces, each of which takes its labels out of the sparse matrices; some cells are not known."""
    for seed in range(6):
        data = draw(kind, seed, (120, 7))
        problem = data.problem_of(truth_of(data, is_sparse=True).asformat(form), data.scores)
        assert sparse.issparse(problem.truth)
        for name, check in CHECKS.items():
            check(data, problem, data.labels, 2, name, kind, seed)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_very_many_labels_most_of_which_have_no_score(index: type, by: str) -> None:
    rng = np.random.default_rng(1)
    cells = sparse.random_array((300, 2000), density=0.003, rng=rng, dtype=np.float32, format="csr")
    cells.indices, cells.indptr = cells.indices.astype(index), cells.indptr.astype(index)
    data = replace(draw("normal", 0, (300, 2000)), scores=cells.toarray(), truth=rng.random((300, 2000)) < 0.003)
    truth = truth_of(data, is_sparse=True)
    for keep_sparse in (False, True):
        problem = data.problem_of(truth, cells, keep_sparse=keep_sparse)
        CHECKS["each"](data, problem, data.labels_above(0.0 if keep_sparse else None), 2)


def test_thresholds_of_sparse_predictions_stay_above_what_is_absent() -> None:
    """Also where a label has no score below its cut."""
    data = replace(draw("constant", 0, (2, 1)), truth=np.ones((2, 1), bool), scores=np.array([[0.5], [0.75]]))
    data = replace(data, known=np.ones((2, 1), bool), weights=None)
    problem = data.problem_of(data.truth, sparse.csr_array(data.scores), missing=0.25, keep_sparse=True)
    cuts = best_cuts(problem, 1.0)
    assert cuts.score.tolist() == [0.5]
    assert np.isnan(cuts.lower).all()
    assert 0.25 < cuts.placed(problem, "low").item() < cuts.placed(problem, "mid").item() == 0.375
