"""Files of one sparse matrix: what SciPy saves, the text of extreme classification, and svmlight."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import InputError, cli
from thresholds.files import ScoreFile, Wanted, gather, open_scores

RNG = np.random.default_rng(8)
SCORES = np.where(RNG.random((30, 7)) < 0.5, np.round(RNG.random((30, 7)), 3), 0).astype(np.float32)
SCORES[4] = 0
TRUTH = (RNG.random((30, 7)) < 0.3).astype(np.uint8)
TRUTH[6] = 0


def joined(folder: Path, scores: str, truth: str, **wanted: Any) -> ScoreFile:
    """Scores and truth of two files."""
    return gather(open_scores(folder / scores, Wanted(**wanted), truth_path=folder / truth))


def check(data: ScoreFile, dtype: Any = np.float32) -> None:
    """A file has the matrices above, as sparse ones."""
    np.testing.assert_array_equal(data.y_score.toarray(), SCORES.astype(dtype))
    np.testing.assert_array_equal(data.y_true.toarray(), TRUTH)
    assert data.y_score.format == "csr"


# What SciPy saves


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_matrices_of_scipy(kind: str, compressed: bool, make: Any, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "s.npz", make(SCORES).asformat(kind), compressed)
    sparse.save_npz(tmp_path / "t.npz", make(TRUTH).asformat(kind), compressed)
    check(joined(tmp_path, "s.npz", "t.npz"))
    source = open_scores(tmp_path / "s.npz", truth_path=tmp_path / "t.npz")
    check_blocks = [block.y_score.toarray() for block in source.blocks()]
    np.testing.assert_array_equal(np.concatenate(check_blocks), SCORES)
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts(20)]
    assert (len(parts) > 1) == (kind == "csr" and not compressed)
    rows = [block.y_score.toarray() for part in parts for block in part.blocks()]
    np.testing.assert_array_equal(np.concatenate(rows), SCORES)


def test_a_rule_is_fitted_to_matrices_of_scipy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(SCORES))
    sparse.save_npz(tmp_path / "t.npz", sparse.csr_array(TRUTH))
    given = [str(tmp_path / "s.npz"), "--truth", str(tmp_path / "t.npz")]
    assert cli.main(["fit", *given, "-o", str(tmp_path / "rule.json"), "--cv", "0", "--guard", "none"]) == 0
    assert "s.npz: 30 rows, 7 labels, scores 's' (CSR), truth 't of t.npz'" in capsys.readouterr().out
    expected = thresholds.fit_empirical(TRUTH, sparse.csr_array(SCORES), keep_sparse=True, guard=None)
    rule = thresholds.load_rule(tmp_path / "rule.json")
    assert rule.thresholds.tolist() == expected.thresholds.tolist()  # type: ignore[attr-defined]


def scipy_file(path: Path, **changed: Any) -> None:
    """A matrix of SciPy with other arrays; None for one that is not there."""
    kind = changed.pop("kind", "csr")
    stored: Any = sparse.csr_array(SCORES).asformat(kind)
    sparse.save_npz(path, stored)
    with np.load(path) as arrays:
        found = dict(arrays) | changed
    np.savez(path, **{name: array for name, array in found.items() if array is not None})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "bsr"}, "s.npz has a matrix in the format 'bsr', expected csr, csc, coo"),
        ({"indices": None}, "s.npz lacks indices, expected the four arrays of a CSR matrix"),
        ({"kind": "coo", "row": None}, "s.npz lacks row, expected the arrays of a COO matrix"),
        ({"kind": "csc", "indices": np.full(110, 99)}, "s.npz"),
        ({"kind": "coo", "row": np.full(110, 30)}, "s.npz is a malformed sparse array"),
        ({"kind": "coo", "row": np.zeros(110)}, "s.npz is a malformed sparse array: its indices are no whole"),
        ({"kind": "coo", "shape": np.array([10**12, 7])}, "it has 1,000,000,000,000 rows, expected at most"),
        ({"kind": "coo", "shape": np.array([30, 10**12])}, "it has 1,000,000,000,000 labels, expected at most"),
        ({"kind": "csc", "shape": np.array([0, 7])}, r"s.npz has shape \(0, 7\), expected at least one row"),
        ({"data": np.zeros(110, complex)}, "s of s.npz has dtype complex128, expected real numbers"),
        ({"indptr": np.zeros(31, int)}, "index pointers do not rise"),
    ],
)
def test_bad_matrices_of_scipy_are_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    scipy_file(tmp_path / "s.npz", **changed)
    with pytest.raises(InputError, match=message):
        gather(open_scores(tmp_path / "s.npz"))


def test_a_cell_twice_is_no_sum(tmp_path: Path) -> None:
    """SciPy would add both."""
    doubled = sparse.coo_array((np.array([0.5, 0.5]), (np.array([1, 1]), np.array([2, 2]))), shape=(3, 4))
    sparse.save_npz(tmp_path / "s.npz", doubled)
    with pytest.raises(InputError, match=r"s\.npz is a malformed sparse array: it has a cell twice"):
        gather(open_scores(tmp_path / "s.npz"))


def test_a_matrix_has_no_columns_to_choose_from(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(SCORES))
    for wanted in (Wanted(key="id"), Wanted(groups="who"), Wanted(scores="p")):
        with pytest.raises(InputError, match=r"with s\.npz, which has one matrix, expected None"):
            open_scores(tmp_path / "s.npz", wanted)
    with pytest.raises(InputError, match="--label-names has 1 names, expected 7"):
        open_scores(tmp_path / "s.npz", Wanted(label_names=("cat",)))
