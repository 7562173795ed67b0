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
        with pytest.raises(InputError, match=r"s\.npz has one matrix and no column '(id|who|p)' \(--"):
            open_scores(tmp_path / "s.npz", wanted)
    with pytest.raises(InputError, match="--label-names has 1 names, expected 7"):
        open_scores(tmp_path / "s.npz", Wanted(label_names=("cat",)))


# Text


def pairs(matrix: Any) -> list[str]:
    """The stored cells of each row."""
    return [" ".join(f"{j}:{float(row[j])!r}" for j in np.flatnonzero(row)) for row in matrix]


def tags(matrix: Any) -> list[str]:
    """The labels of each row."""
    return [",".join(map(str, np.flatnonzero(row))) for row in matrix]


def write(path: Path, *rows: str, end: str = "\n") -> Path:
    """Write lines."""
    path.write_text("\n".join(rows) + end)
    return path


def data_set(path: Path) -> Path:
    """Truth beside features."""
    features = [" ".join(f"{k}:{x:.3f}" for k, x in enumerate(RNG.random(3))) for _ in TRUTH]
    return write(path, "30 3 7", *(f"{labels} {row}" for labels, row in zip(tags(TRUTH), features, strict=True)))


def svmlight(path: Path) -> Path:
    """The same without a header, and with a comment."""
    return write(path, "# made by hand", *(f"{labels} 1:0.5 2:0.25 # {k}" for k, labels in enumerate(tags(TRUTH))))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("t.txt", lambda path: write(path, "30 7", *(row.replace("1.0", "1") for row in pairs(TRUTH)))),
        ("t.txt", data_set),
        ("t.svm", svmlight),
        ("t.libsvm", svmlight),
    ],
)
def test_text_of_extreme_classification(name: str, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.files.arrays.text._BLOCK_BYTES", 100)
    write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    make(tmp_path / name)
    check(joined(tmp_path, "s.txt", name), np.float64)
    names = tuple("abcdefg")
    assert joined(tmp_path, "s.txt", name, label_names=names).label_names == names


def test_labels_and_scores_of_one_text(tmp_path: Path) -> None:
    rows = [f"{labels} {row}" for labels, row in zip(tags(TRUTH), pairs(SCORES), strict=True)]
    write(tmp_path / "s.txt", "30 7 7", *rows)
    data = gather(open_scores(tmp_path / "s.txt"))
    check(data, np.float64)
    assert data.truth_key == "s (labels)"
    assert gather(open_scores(tmp_path / "s.txt", Wanted(with_truth=False))).y_true is None


def test_svmlight_as_scikit_learn_writes_it(tmp_path: Path) -> None:
    dump = pytest.importorskip("sklearn.datasets").dump_svmlight_file
    dump(RNG.random((30, 4)), TRUTH, str(tmp_path / "t.svm"), multilabel=True)
    write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    check(joined(tmp_path, "s.txt", "t.svm"), np.float64)


def test_spaces_and_empty_lines_at_the_end_mean_nothing(tmp_path: Path) -> None:
    write(tmp_path / "s.txt", "3 4", " 1:0.5\t3:1e-3 ", "", "0:-2 \r", end="\n\n\n")
    data = gather(open_scores(tmp_path / "s.txt"))
    assert data.y_score.toarray().tolist() == [[0, 0.5, 0, 0.001], [0, 0, 0, 0], [-2, 0, 0, 0]]
    write(tmp_path / "s.txt", "2 3", "0:0.5", "")
    assert gather(open_scores(tmp_path / "s.txt")).y_score.shape == (2, 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["cat:0.5"], r"s.txt begins with 'cat:0.5', expected a header: the numbers of rows and labels"),
        (["2 3", "0:0.5"], r"s.txt has 1 rows, expected 2 as its header says|it has 1 rows, expected 2"),
        (["1 3", "0:0.5", "1:0.5"], r"s.txt has 2 rows, expected 1 as its header says"),
        (["1 3", "3:0.5"], r"s.txt has the label 3 in line 2, expected positions from 0 to 2"),
        (["2 3", "1:0.5", "1:0.5 1:0.25"], r"s.txt has the label 1 twice in line 3, expected each label once"),
        (["1 3", "1:0.5 2"], r"s.txt has '1:0.5 2' in line 2, expected pairs of label:score"),
        (["2 3", "1:0.5", "1:2:3 1"], r"s.txt has '1:2:3 1' in line 3, expected pairs"),
        (["1 3", "1 2:3 :1"], r"s.txt has '1 2:3 :1' in line 2, expected pairs"),
        (["1 3", "1: 2"], r"s.txt has '1: 2' in line 2, expected pairs"),
        (["1 3", "1:x"], r"s.txt has '1:x' in line 2, expected pairs"),
        (["1 3", "1:0.5-3"], r"s.txt has '1:0.5-3' in line 2, expected pairs"),
        (["1 3", "1.5:2"], r"s.txt has '1.5:2' in line 2, expected pairs"),
        (["1 3", "-1:2"], r"s.txt has '-1:2' in line 2, expected pairs"),
        (["1 3", "1e0:2"], r"s.txt has '1e0:2' in line 2, expected pairs"),
        (["1 0", ""], r"s.txt has shape \(1, 0\), expected at least one row and one label"),
        (["1 99999999999", "1:2"], r"s.txt has 99,999,999,999 labels, expected at most .* in so small a file"),
        (["1 5 3", "0,1 2:0.5"], r"s.txt has 5 features for 3 labels, expected scores"),
        (["1 3 3", "0,x 2:0.5"], r"s.txt has '0,x' in line 2, expected labels as positions from 0"),
        (["1 3 3", "0,,1 2:0.5"], r"s.txt has '0,,1' in line 2, expected labels as positions from 0"),
        (["1 3 3", "0,3 2:0.5"], r"s.txt has the label 3 in line 2, expected positions from 0 to 2"),
    ],
)
def test_bad_text_is_refused_by_its_line(tmp_path: Path, rows: list[str], message: str) -> None:
    write(tmp_path / "s.txt", *rows)
    with pytest.raises(InputError, match=message) as caught:
        gather(open_scores(tmp_path / "s.txt"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "rows", "wanted", "message"),
    [
        ("t.svm", ["-1 1:0.5"], {}, r"t.svm has '-1' in line 1, expected labels as positions from 0"),
        ("t.svm", ["0 1:0.5", "", "1 1:0.5"], {}, r"t.svm has nothing in line 2, expected labels and features"),
        ("t.svm", ["7 1:0.5"], {}, r"t.svm has 8 labels, expected 7 as s.txt"),
        ("t.svm", ["99999999999999 1:0.5"], {}, r"t.svm has the label 99,999,999,999,999, expected positions"),
        ("t.txt", ["30 7", "9" * 20 + ":1"], {}, r"t.txt has a label of more than 15 digits in line 2"),
        ("t.svm", ["0 1:0.5"], {}, r"t.svm has 1 rows, expected 30 as s.txt has"),
        ("t.svm", ["0 1:0.5"], {"unknown": -1}, r"--unknown is -1 with t.svm, whose lines list true labels"),
        ("t.svm", ["0 1:0.5"], {"key": "id"}, r"s.txt has one matrix and no column 'id' \(--key\)"),
        ("t.txt", ["30 2 6", "0 1:0.5"], {}, r"t.txt has 1 rows, expected 30"),
    ],
)
def test_bad_truth_of_text_is_refused(
    tmp_path: Path, name: str, rows: list[str], wanted: dict[str, Any], message: str
) -> None:
    write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    write(tmp_path / name, *rows)
    with pytest.raises(InputError, match=message):
        joined(tmp_path, "s.txt", name, **wanted)


def test_svmlight_has_no_scores(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.svm has labels and features, no scores, expected it as --truth"):
        open_scores(svmlight(tmp_path / "t.svm"))
