"""`thresholds.read`: what the command line reads, in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds import InputError
from thresholds.files import gather, open_scores, read_labelled
from thresholds.files.score_file import ScoreFile

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(3)
SCORES = RNG.random((50, 3)).astype(np.float32)
TRUTH = (RNG.random((50, 3)) < 0.4).astype(np.uint8)


def archive(path: Path, **more: Any) -> Path:
    """An `.npz` of scores and truth."""
    np.savez(path, **({"y_score": SCORES, "y_true": TRUTH, "label_names": np.array(NAMES)} | more))
    return path


def test_what_is_in_a_file_is_what_is_fitted(tmp_path: Path) -> None:
    splits = {"calib_idx": np.arange(30), "test_idx": np.arange(30, 50)}
    data = thresholds.read(archive(tmp_path / "s.npz", who=np.arange(50) // 2, **splits), groups="who")
    assert isinstance(data, ScoreFile)
    np.testing.assert_array_equal(data.y_score, SCORES)
    np.testing.assert_array_equal(data.y_true, TRUTH)
    assert data.y_score.dtype == np.float32
    assert data.label_names == NAMES
    assert data.groups is not None
    assert data.groups.tolist() == (np.arange(50) // 2).tolist()
    assert data.calib_idx is not None
    assert data.calib_idx.tolist() == list(range(30))
    fitted = thresholds.fit_empirical(data.y_true, data.y_score, label_names=data.label_names)
    assert fitted.thresholds.tolist() == thresholds.fit_empirical(TRUTH, SCORES).thresholds.tolist()
    text = flat(str(data))
    assert "s.npz: 50 rows, 3 labels, scores 'y_score' (float32), truth 'y_true'" in text
    assert "30 rows to fit on (calib_idx), 20 rows to judge on (test_idx)" in text


def test_options_are_those_of_the_command_line(tmp_path: Path) -> None:
    archive(tmp_path / "s.npz", y_true=None, p=8 * SCORES - 4, id=np.arange(50))
    truth = [{"n": int(k), "gold": [NAMES[j] for j in np.flatnonzero(TRUTH[k])]} for k in RNG.permutation(50)]
    rows = [{"n": k, "p": dict(zip(NAMES, map(float, 8 * SCORES[k] - 4), strict=True))} for k in range(50)]
    for name, lines in (("s.jsonl", rows), ("t.jsonl", truth)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    given: dict[str, Any] = {"score_column": "p", "truth": tmp_path / "t.jsonl", "truth_column": "gold", "key": "n"}
    data = thresholds.read(tmp_path / "s.jsonl", **given, label_names=tmp_path / "names.txt", logits=True)
    assert data.y_true is not None
    np.testing.assert_array_equal(data.y_true.toarray(), TRUTH)
    np.testing.assert_allclose(data.y_score, 1 / (1 + np.exp(4 - 8 * SCORES.astype(float))), rtol=1e-6)
    assert data.keys is not None
    assert data.keys.tolist() == list(range(50))
    again = thresholds.read(tmp_path / "s.jsonl", **given, label_names=NAMES[::-1])
    assert again.label_names == NAMES[::-1]
    assert thresholds.read(tmp_path / "s.jsonl", score_column="p").y_true is None


def test_weights_are_read_beside_groups(tmp_path: Path) -> None:
    weights = RNG.integers(0, 4, 50)
    data = thresholds.read(archive(tmp_path / "s.npz", w=weights, who=np.arange(50) // 2), weights="w", groups="who")
    assert data.sample_weight is not None
    assert data.sample_weight.dtype == np.float64
    assert data.sample_weight.tolist() == weights.tolist()
    assert data.groups is not None
    assert thresholds.read(tmp_path / "s.npz").sample_weight is None


@pytest.mark.parametrize("words", ["ja,x", ("ja", "x"), ["x", "ja"]])
def test_truth_in_words_and_rows_without_scores(words: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "s.csv").write_bytes("Nr;Käse;Öl\r\na;0,5;0,25\r\nb;;0,75\r\nc;1;0\r\n".encode("cp1252"))
    (tmp_path / "t.csv").write_bytes("Nr;Öl;Käse\r\nc;;x\r\nb;ja;ja\r\na;ja;nein\r\n".encode("cp1252"))
    asked: dict[str, Any] = {"truth": tmp_path / "t.csv", "key": "Nr", "encoding": "cp1252", "true_words": words}
    with pytest.raises(InputError, match="drop_unscored=True"):
        thresholds.read(tmp_path / "s.csv", **asked)
    data = thresholds.read(tmp_path / "s.csv", **asked, drop_unscored=True)
    assert data.label_names == ("Käse", "Öl")
    np.testing.assert_array_equal(data.y_score, [[0.5, 0.25], [1, 0]])
    assert data.y_true is not None
    np.testing.assert_array_equal(data.y_true, [[0, 1], [1, 0]])
    assert any("1 row" in note for note in data.notes)


def test_labels_in_one_cell(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "s.csv").write_text("id,cat,dog\n1,.9,.8\n2,.7,.2\n3,.1,.3\n")
    (tmp_path / "t.csv").write_text("id,found\n1,cat|dog\n2,cat\n3,\n")
    asked: dict[str, Any] = {"truth": tmp_path / "t.csv", "key": "id", "truth_column": "found"}
    data = thresholds.read(tmp_path / "s.csv", **asked, label_separator="|")
    assert data.y_true is not None
    np.testing.assert_array_equal(data.y_true.toarray(), [[1, 1], [1, 0], [0, 0]])
    with pytest.raises(InputError, match="label_separator"):
        thresholds.read(tmp_path / "s.csv", **asked)


def test_truth_that_is_not_known_is_told(tmp_path: Path) -> None:
    truth = TRUTH.astype(float)
    truth[3, 1] = np.nan
    archive(tmp_path / "s.npz", y_true=truth)
    data = thresholds.read(tmp_path / "s.npz", unknown="nan")
    assert data.unknown == -1
    rule = thresholds.fit_empirical(data.y_true, data.y_score, unknown=data.unknown)
    assert rule.thresholds.tolist() == thresholds.fit_empirical(truth, SCORES, unknown="nan").thresholds.tolist()
    np.save(tmp_path / "s.npy", SCORES)
    for name, value in {"unknown": "nan", "true_words": "yes", "label_separator": "|"}.items():
        given: dict[str, Any] = {name: value}
        with pytest.raises(InputError) as refused:
            thresholds.read(tmp_path / "s.npy", **given)
        assert str(refused.value) == f"{name} is {value!r} with s.npy, which has no truth"


def test_it_reads_as_other_readers_do(tmp_path: Path) -> None:
    path = archive(tmp_path / "s.npz")
    for other in (gather(open_scores(path)), read_labelled(path)):
        data = thresholds.read(path)
        assert data.to_dict() == other.to_dict()
        np.testing.assert_array_equal(data.y_score, other.y_score)


def test_the_frame_counts_scores_and_positives(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    frame = thresholds.read(archive(tmp_path / "s.npz")).to_frame()
    assert frame["label"].tolist() == list(NAMES)
    assert frame["scores"].tolist() == [50, 50, 50]
    assert frame["positives"].tolist() == TRUTH.sum(axis=0).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_names": ("cat", "cat", "emu")}, "label_names has 'cat' twice"),
        ({"label_names": ("cat",)}, "label_names has 1 names, expected 3 as s.npz"),
        ({"unknown": 1}, "unknown is 1"),
        ({"score_column": "p"}, "s.npz has no scores 'p'"),
        ({"key": "id"}, "s.npz has no array 'id', expected the key of each row"),
        ({"encoding": "klingon"}, "encoding is 'klingon', expected an encoding that Python knows, as 'cp1252'"),
        ({"encoding": 8}, "encoding is 8, expected an encoding that Python knows"),
        ({"true_words": ""}, "true_words is '', expected words, as 'yes,x'"),
        ({"true_words": ["yes", 1]}, r"true_words is \['yes', 1\], expected words, as 'yes,x'"),
        ({"true_words": 1}, "true_words is 1, expected words, as 'yes,x'"),
        ({"label_separator": ""}, "label_separator is '', expected the text between the labels of a cell"),
        ({"drop_unscored": 1}, "drop_unscored is 1, expected True or False"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        thresholds.read(archive(tmp_path / "s.npz"), **options)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        thresholds.read(tmp_path / "none.npz")
