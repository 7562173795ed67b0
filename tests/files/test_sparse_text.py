"""Sparse matrices as text: the files of extreme classification, and the labels of svmlight."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import InputError, cli
from thresholds._checks.boundary import reading
from thresholds.files import ScoreFile, gather, open_scores
from thresholds.files.arrays import sparse_text
from thresholds.files.arrays.sparse_text import is_xmc, open_svmlight, open_xmc
from thresholds.files.source import Source, Wanted

RNG = np.random.default_rng(8)
SCORES = np.where(RNG.random((30, 7)) < 0.5, np.round(RNG.random((30, 7)), 3), 0)
SCORES[4] = 0
TRUTH = (RNG.random((30, 7)) < 0.3).astype(np.uint8)
TRUTH[6] = 0


def opened(path: Path, wanted: Wanted | None = None, *, truth_only: bool = False) -> Source:
    """Open a file as the commands do."""
    open_file = open_xmc if path.suffix == ".txt" else open_svmlight
    with reading(path):
        return open_file(path, wanted or Wanted(), truth_only=truth_only)


def scores_in(path: Path, wanted: Wanted | None = None) -> Any:
    """The scores of a file, from its blocks."""
    return np.concatenate([block.y_score.toarray() for block in opened(path, wanted).blocks()])


def truth_in(path: Path, wanted: Wanted | None = None) -> Any:
    """The truth of a file of truth alone, all at once, and from its blocks, which agree."""
    source = opened(path, wanted, truth_only=True)
    whole = source.whole()
    assert whole is not None
    blocks = [block.y_score.toarray() for block in source.blocks()]
    np.testing.assert_array_equal(np.concatenate(blocks), whole.y_score.toarray())
    return whole.y_score.toarray()


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
    monkeypatch.setattr(sparse_text, "_BLOCK_BYTES", 100)
    write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    np.testing.assert_array_equal(scores_in(tmp_path / "s.txt"), SCORES)
    source = opened(tmp_path / "s.txt", Wanted(label_names=tuple("abcdefg")))
    assert (source.n_samples, source.n_labels, source.label_names) == (30, 7, tuple("abcdefg"))
    assert (source.score_key, source.truth_key, source.of_text, source.whole()) == ("s", None, True, None)
    np.testing.assert_array_equal(truth_in(make(tmp_path / name), Wanted(label_names=tuple("abcdefg"))), TRUTH)


def test_labels_and_scores_of_one_text(tmp_path: Path) -> None:
    rows = [f"{labels} {row}" for labels, row in zip(tags(TRUTH), pairs(SCORES), strict=True)]
    path = write(tmp_path / "s.txt", "30 7 7", *rows)
    source = opened(path)
    assert source.truth_key == "s (labels)"
    blocks = list(source.blocks())
    np.testing.assert_array_equal(np.concatenate([block.y_score.toarray() for block in blocks]), SCORES)
    truth = [block.y_true.toarray() for block in blocks if block.y_true is not None]
    np.testing.assert_array_equal(np.concatenate(truth), TRUTH)
    np.testing.assert_array_equal(truth_in(path), TRUTH)
    for found in (source.blocks(truth=False), opened(path, Wanted(with_truth=False)).blocks()):
        assert [block.y_true for block in found] == [None]
    assert opened(path, Wanted(with_truth=False)).truth_key is None


def test_svmlight_as_scikit_learn_writes_it(tmp_path: Path) -> None:
    dump = pytest.importorskip("sklearn.datasets").dump_svmlight_file
    dump(RNG.random((30, 4)), TRUTH, str(tmp_path / "t.svm"), multilabel=True)
    np.testing.assert_array_equal(truth_in(tmp_path / "t.svm"), TRUTH)


def test_scores_may_have_more_labels_than_svmlight(tmp_path: Path) -> None:
    source = opened(write(tmp_path / "t.svm", "1,0 0:1"), Wanted(label_names=("a", "b", "c")), truth_only=True)
    assert (source.n_labels, source.more_labels, source.label_names) == (2, True, None)


def test_spaces_and_empty_lines_at_the_end_mean_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "s.txt", "3 4", " 1:0.5\t3:1e-3 ", "", "0:-2 \r", end="\n\n\n")
    assert scores_in(path).tolist() == [[0, 0.5, 0, 0.001], [0, 0, 0, 0], [-2, 0, 0, 0]]
    assert scores_in(write(tmp_path / "s.txt", "2 3", "0:0.5", "")).shape == (2, 3)
    path = write(tmp_path / "t.svm", "1 0:1", "# by hand", "0 0:1", end="\n\n \n")
    assert truth_in(path).tolist() == [[0, 1], [1, 0]]


def test_a_file_without_an_end_of_line_and_with_a_mark_of_utf_8(tmp_path: Path) -> None:
    path = write(tmp_path / "s.txt", "\ufeff1 2", "0:0.5", end="")
    assert is_xmc(path)
    assert scores_in(path).tolist() == [[0.5, 0]]


def test_numbers_are_read_as_python_reads_them(tmp_path: Path) -> None:
    words = ["1", "-1.", "+.5", "1e3", "1.5E-3", "0.1", "inf", "-inf", "nan", "1e400", "0.30000000000000004"]
    path = write(tmp_path / "s.txt", f"1 {len(words)}", " ".join(f"{k}:{word}" for k, word in enumerate(words)))
    np.testing.assert_array_equal(scores_in(path)[0], [float(word) for word in words])


@pytest.mark.parametrize("text", ["30 7\n", "30 7 7", "1\t2\r\n0:1"])
def test_text_of_extreme_classification_is_told_by_its_header(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(text, newline="")
    assert is_xmc(tmp_path / "s.txt")


@pytest.mark.parametrize("text", ["", "30\n", "1 2 3 4\n", "a\tb\n", "1.0 2\n", "-1 2\n", "1 2 x\n", "0:1 1:2\n"])
def test_other_text_is_none_of_extreme_classification(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(text, newline="")
    assert not is_xmc(tmp_path / "s.txt")


def test_a_source_is_read_in_another_process(tmp_path: Path) -> None:
    path = write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    sent = pickle.loads(pickle.dumps(opened(path)))
    np.testing.assert_array_equal(np.concatenate([block.y_score.toarray() for block in sent.blocks()]), SCORES)
    truth = pickle.loads(pickle.dumps(opened(svmlight(tmp_path / "t.svm"), truth_only=True)))
    np.testing.assert_array_equal(truth.whole().y_score.toarray(), TRUTH)


# Scores and truth in two files


def joined(folder: Path, scores: str, truth: str, **wanted: Any) -> ScoreFile:
    """Scores and truth of two files, which are the matrices above."""
    data = gather(open_scores(folder / scores, Wanted(**wanted), truth_path=folder / truth))
    np.testing.assert_array_equal(data.y_score.toarray(), SCORES)
    assert data.y_true is not None
    np.testing.assert_array_equal(data.y_true.toarray(), TRUTH)
    assert data.y_score.format == "csr"
    return data


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
def test_matrices_of_scipy_are_joined(kind: str, compressed: bool, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(SCORES).asformat(kind), compressed)
    sparse.save_npz(tmp_path / "t.npz", sparse.csr_array(TRUTH).asformat(kind), compressed)
    assert joined(tmp_path, "s.npz", "t.npz").truth_key == "t of t.npz"


@pytest.mark.parametrize(("name", "make"), [("t.txt", data_set), ("t.svm", svmlight)])
def test_scores_of_text_are_joined_to_truth(name: str, make: Any, tmp_path: Path) -> None:
    write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    make(tmp_path / name)
    joined(tmp_path, "s.txt", name)
    names = tuple("abcdefg")
    assert joined(tmp_path, "s.txt", name, label_names=names).label_names == names


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("t.svm", ["7 1:0.5"], r"t.svm has 8 labels, expected 7 as s.txt"),
        ("t.svm", ["0 1:0.5"], r"t.svm has 1 row, expected 30 as s.txt has"),
        ("t.txt", ["30 2 7", "0 1:0.5"], r"t.txt has 1 rows, expected 30"),
    ],
)
def test_truth_of_other_rows_or_labels_is_refused(name: str, rows: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path / "s.txt", "30 7", *pairs(SCORES))
    write(tmp_path / name, *rows)
    with pytest.raises(InputError, match=message):
        joined(tmp_path, "s.txt", name)


def test_a_rule_is_fitted_to_matrices_of_scipy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(SCORES))
    sparse.save_npz(tmp_path / "t.npz", sparse.csr_array(TRUTH))
    given = [str(tmp_path / "s.npz"), "--truth", str(tmp_path / "t.npz")]
    assert cli.main(["fit", *given, "-o", str(tmp_path / "rule.json"), "--cv", "0", "--guard", "none"]) == 0
    assert "s.npz: 30 rows, 7 labels, scores 's' (CSR), truth 't of t.npz'" in capsys.readouterr().out
    expected = thresholds.fit_empirical(TRUTH, sparse.csr_array(SCORES), keep_sparse=True, guard=None)
    rule = thresholds.load_rule(tmp_path / "rule.json")
    assert rule.thresholds.tolist() == expected.thresholds.tolist()  # type: ignore[attr-defined]


# What is refused


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["cat:0.5"], r"s.txt begins with 'cat:0.5', expected a header: the numbers of rows and labels"),
        (["2 3", "0:0.5"], r"s.txt has 1 rows, expected 2 as its header says"),
        (["2 3"], r"s.txt has 0 rows, expected 2 as its header says"),
        (["1 3", "0:0.5", "", "1:0.5"], r"s.txt has '1:0.5' in line 4, expected no more than the 1 rows of its header"),
        (["1 3", "3:0.5"], r"s.txt has the label '3' in line 2, expected positions from 0 to 2"),
        (["2 3", "1:0.5", "1:0.5 1:0.25"], r"s.txt has the label 1 twice in line 3, expected each label once"),
        (["1 3", "1:0.5 2"], r"s.txt has '2' in line 2, expected pairs of label:score"),
        (["2 3", "1:0.5", "1:2:3 1"], r"s.txt has '1:2:3' in line 3, expected pairs"),
        (["1 3", "1 2:3 :1"], r"s.txt has '1' in line 2, expected pairs"),
        (["1 3", "1: 2"], r"s.txt has '1:' in line 2, expected pairs"),
        (["1 3", "1:x"], r"s.txt has '1:x' in line 2, expected pairs"),
        (["1 3", "1:0.5-3"], r"s.txt has '1:0.5-3' in line 2, expected pairs"),
        (["1 3", "1.5:2"], r"s.txt has the label '1.5' in line 2, expected positions from 0 to 2"),
        (["1 3", "-1:2"], r"s.txt has the label '-1' in line 2, expected positions from 0 to 2"),
        (["1 3", "1e0:2"], r"s.txt has the label '1e0' in line 2, expected positions from 0 to 2"),
        (["1 0", ""], r"s.txt has shape \(1, 0\), expected at least one row and one label"),
        (["1 99999999999", "1:2"], r"s.txt has 99,999,999,999 labels, expected at most .* in so small a file"),
        (["1 5 3", "0,1 2:0.5"], r"s.txt has 5 features for 3 labels, expected scores"),
        (["1 3 3", "0,x 2:0.5"], r"s.txt has the label 'x' in line 2, expected positions from 0 to 2"),
        (["1 3 3", "0,,1 2:0.5"], r"s.txt has the label '' in line 2, expected positions from 0 to 2"),
        (["1 3 3", "0,3 2:0.5"], r"s.txt has the label '3' in line 2, expected positions from 0 to 2"),
    ],
)
def test_bad_text_is_refused_by_its_line(tmp_path: Path, rows: list[str], message: str) -> None:
    write(tmp_path / "s.txt", *rows)
    with pytest.raises(InputError, match=message) as caught:
        scores_in(tmp_path / "s.txt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "rows", "wanted", "message"),
    [
        ("t.svm", ["-1 1:0.5"], {}, r"t.svm has the label '-1' in line 1, expected positions from 0"),
        ("t.svm", ["1 1:0.5", "1.0 1:0.5"], {}, r"t.svm has the label '1.0' in line 2, expected positions from 0"),
        ("t.svm", ["0 1:0.5", "1 2 0:0.5"], {}, r"t.svm has '2' in line 2, expected pairs of label:score"),
        ("t.svm", ["0 1:0.5", "", "1 1:0.5"], {}, r"t.svm has nothing in line 2, expected labels and features"),
        ("t.svm", ["0,0 1:0.5"], {}, r"t.svm has the label 0 twice in line 1, expected each label once"),
        ("t.svm", ["# nothing"], {}, r"t.svm has no rows, expected at least one"),
        ("t.svm", ["99999999999999 1:0.5"], {}, r"t.svm has the label '99999999999999' in line 1, expected positions"),
        ("t.svm", ["9" * 400 + " 1:0.5"], {}, r"t.svm has the label '999.*\.\.\. in line 1, expected positions"),
        (
            "t.txt",
            ["30 7", "9" * 20 + ":1", *29 * [""]],
            {},
            r"t.txt has the label '99999999999999999999' in line 2, expected positions",
        ),
        ("t.txt", ["1 5 3", "0,3 2:0.5"], {}, r"t.txt has the label '3' in line 2, expected positions from 0 to 2"),
        (
            "t.svm",
            ["0 1:0.5"],
            {"unknown": -1},
            r"--unknown is -1 with t.svm, whose lists have the true labels of a row",
        ),
        (
            "t.txt",
            ["1 5 3", "0 1:1"],
            {"unknown": -1},
            r"--unknown is -1 with t.txt, whose lists have the true labels of a row",
        ),
        ("t.svm", ["0 1:0.5"], {"key": "id"}, r"t.svm has one matrix and no column 'id' \(--key\)"),
        ("t.txt", ["1 3", "0:1"], {"weights": "w"}, r"t.txt has one matrix and no column 'w' \(--weights\)"),
        ("t.txt", ["1 3", "0:1"], {"label_names": ("a",)}, r"--label-names has 1 names, expected 3 as t.txt"),
    ],
)
def test_bad_truth_of_text_is_refused(
    tmp_path: Path, name: str, rows: list[str], wanted: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        truth_in(write(tmp_path / name, *rows), Wanted(**wanted))


def test_svmlight_has_no_scores(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.svm has labels and features, no scores, expected it as --truth"):
        opened(svmlight(tmp_path / "t.svm"))


@pytest.mark.parametrize("name", ["s.txt", "s.svm"])
def test_a_line_without_end_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_text, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(sparse_text, "_LONGEST_LINE", 200)
    path = write(tmp_path / name, "2 9", "1:1", "0:1 " + 1000 * " ")
    with pytest.raises(InputError, match="has more than 200 bytes in line 3, expected fewer"):
        list(opened(path, truth_only=True).blocks())
