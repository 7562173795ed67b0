"""The command line on small files: what it prints, writes and refuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import cli

NAMES = np.array(["cat", "dog", "emu", "yak"])


def make(path: Path, *, csr: bool = False, split: bool = True, names: bool = True, **extra: Any) -> Path:
    """Write a score file of 60 rows and 4 labels; `extra` replaces or, as None, removes keys."""
    rng = np.random.default_rng(5)
    truth = (rng.random((60, 4)) < [0.5, 0.3, 0.2, 0.1]).astype(np.uint8)
    scores = np.round(rng.random((60, 4)) * 0.6 + 0.4 * truth, 2).astype(np.float32)
    arrays: dict[str, Any] = {"y_true": truth}
    if csr:
        stored = sparse.csr_array(np.where(scores > 0.3, scores, 0))
        parts = {"data": stored.data, "indices": stored.indices, "indptr": stored.indptr, "shape": stored.shape}
        arrays |= {f"y_score_{part}": np.asarray(value) for part, value in parts.items()}
    else:
        arrays["y_score"] = scores
    if split:
        arrays |= {"calib_idx": np.arange(0, 60, 2), "test_idx": np.arange(1, 60, 2)}
    if names:
        arrays["label_names"] = NAMES
    arrays |= extra
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail with status 1 and one line on stderr; give that line."""
    assert run(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("thresholds: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("csr", [False, True])
def test_compare_prints_every_rule_once(csr: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", make(tmp_path / "scores.npz", csr=csr)) == 0
    out = capsys.readouterr().out
    rules = [line.split("  ")[0].split(" (")[0] for line in out.splitlines()[-10:]]
    of_labels = ["fixed 0.5", "top-k", "macro", "micro", "micro-shared", "samples-shared"]
    of_probabilities = ["macro, label-free", "micro, label-free", "instance, label-free", "instance, Platt"]
    assert rules == of_labels + of_probabilities
    figures = [len(re.findall(r"(?<!\S)\d+(?:\.\d+)?(?!\S)", line[22:])) for line in out.splitlines()[-10:]]
    assert figures == 6 * [6] + 4 * [8], "rules that take scores for probabilities say how good these are"
    assert "of 4 labels" in out
    assert "fitted on 30 rows, judged on 30 others: calib_idx and test_idx" in out


def test_compare_json_equals_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "scores.npz")
    assert run("compare", path, "--json", "--placement", "mid", "--beta", "2") == 0
    printed = json.loads(capsys.readouterr().out)
    data = np.load(path)
    fit, judge = data["calib_idx"], data["test_idx"]
    rule = thresholds.fit_empirical(data["y_true"][fit], data["y_score"][fit], "micro", placement="mid", beta=2.0)
    expected = thresholds.metrics.fbeta_score(
        data["y_true"][judge], rule.predict(data["y_score"][judge]), beta=2.0, average="micro"
    )
    measured = {row["rule"]: row for row in printed["measures"]}
    assert measured["micro"]["micro"] == expected
    assert printed["n_fitted"] == printed["n_judged"] == 30


def test_without_a_split_the_halves_are_seeded_and_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "scores.npz", split=False)
    assert run("compare", path) == 0
    first = capsys.readouterr().out
    assert "random halves, seed 0" in first
    assert run("compare", path) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("csr", [False, True])
def test_fit_then_predict(csr: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule_file, out_file = make(tmp_path / "s.npz", csr=csr), tmp_path / "rule.json", tmp_path / "out.npz"
    assert run("fit", path, "--average", "micro", "-o", rule_file) == 0
    assert "in-sample optimum, unguarded" in capsys.readouterr().out
    assert run("predict", rule_file, path, "-o", out_file) == 0
    assert "60 rows" in capsys.readouterr().out
    rule, written = thresholds.load_rule(rule_file), np.load(out_file)
    assert rule.label_names == tuple(NAMES)
    parts = (written[f"y_pred_{part}"] for part in ("data", "indices", "indptr"))
    predicted = sparse.csr_array(tuple(parts), shape=tuple(written["y_pred_shape"])).toarray()
    data = np.load(path)
    if csr:
        parts = (data[f"y_score_{part}"] for part in ("data", "indices", "indptr"))
        scores = sparse.csr_array(tuple(parts), shape=(60, 4)).toarray()
    else:
        scores = data["y_score"]
    np.testing.assert_array_equal(predicted, scores >= rule.thresholds)
    np.testing.assert_array_equal(written["label_names"], NAMES)


def test_compare_leaves_out_rules_from_probabilities_for_other_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logits = np.load(make(tmp_path / "s.npz"))["y_score"] - 0.5
    assert run("compare", make(tmp_path / "logits.npz", y_score=logits)) == 0
    out = capsys.readouterr().out
    assert "rules that take them for probabilities are left out" in out
    assert "instance, Platt" in out
    assert ", label-free" not in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "macro F1, one threshold for each of 4 labels"),
        (["--exact"], "expectation over outcomes, from probabilities alone"),
        (["--average", "micro", "--shared", "--beta", "2"], "micro F2, one threshold for all 4 labels"),
        (["--average", "samples"], "the set of labels of highest expected F1 in each row"),
    ],
)
@pytest.mark.parametrize("csr", [False, True])
def test_fit_expected_then_predict_without_labels(
    more: list[str], said: str, csr: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", csr=csr, y_true=None)
    assert run("fit", path, "--expected", *more, "-o", tmp_path / "rule.json") == 0
    out = capsys.readouterr().out
    assert said in out
    assert "positives" not in out
    rule = thresholds.load_rule(tmp_path / "rule.json")
    assert f"{rule.objective:.4f}" in out
    assert run("predict", tmp_path / "rule.json", path, "-o", tmp_path / "out.npz") == 0
    written = np.load(tmp_path / "out.npz")
    data = make(tmp_path / "dense.npz")
    scores = np.load(data)["y_score"]
    scores = np.where(scores > 0.3, scores, 0) if csr else scores
    parts = (written[f"y_pred_{part}"] for part in ("data", "indices", "indptr"))
    predicted = sparse.csr_array(tuple(parts), shape=(60, 4)).toarray()
    np.testing.assert_array_equal(predicted, rule.predict(scores))


def test_fit_expected_says_how_good_probabilities_are_where_it_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz")
    assert run("fit", path, "--expected", "-o", tmp_path / "rule.json") == 0
    data = np.load(path)
    rows = data["calib_idx"]
    ratio = data["y_score"][rows].sum() / data["y_true"][rows].sum()
    assert f"probabilities add up to {ratio:.2f} of the positives, calibration slope" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--exact"], "--exact is given without --expected"),
        (["--expected", "--exact", "--average", "micro"], "exact is True with average='micro'"),
        (["--expected", "--placement", "mid"], "--placement is 'mid' with --expected"),
        (["--expected", "--missing", "0.5"], "--missing is 0.5 with --expected"),
    ],
)
def test_fit_refuses_settings_that_do_not_go_together(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz")
    assert said in refused(capsys, "fit", path, *more, "-o", tmp_path / "rule.json")
    assert not (tmp_path / "rule.json").exists()


def test_fit_expected_refuses_what_is_no_probability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.load(make(tmp_path / "s.npz"))["y_score"]
    scores[7, 1] = 1.5
    path = make(tmp_path / "bad.npz", y_score=scores)
    message = refused(capsys, "fit", path, "--expected", "-o", tmp_path / "rule.json")
    assert "y_score has 1.5 at row 7, label 'dog', expected values in [0, 1]" in message


@pytest.mark.parametrize(("split", "rows"), [("calib", 30), ("test", 30), ("all", 60)])
def test_fit_on_a_split(split: str, rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule_file = tmp_path / "rule.json"
    assert run("fit", make(tmp_path / "s.npz"), "--split", split, "-o", rule_file, "--shared") == 0
    rule = thresholds.load_rule(rule_file)
    assert isinstance(rule, thresholds.ThresholdRule)
    assert rule.fitted_on is not None
    assert rule.fitted_on.n_samples == rows
    assert not rule.per_label


def test_a_single_other_score_key_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.load(make(tmp_path / "a.npz"))["y_score"]
    assert run("compare", make(tmp_path / "s.npz", y_score=None, y_score_weak=scores)) == 0
    assert "scores y_score_weak" in capsys.readouterr().out
    two = make(tmp_path / "two.npz", y_score=None, y_score_a=scores, y_score_b=scores)
    assert "--score-key" in refused(capsys, "compare", two)
    assert run("compare", two, "--score-key", "y_score_b") == 0


BAD_FILES: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": ({"y_score": np.full((60, 4), np.nan)}, "y_score has NaN at row 0, label 'cat'"),
    "not 0/1": ({"y_true": np.full((60, 4), 2)}, "y_true has 2 at row 0"),
    "shapes": ({"y_true": np.zeros((59, 4), np.uint8)}, "y_score has shape"),
    "no truth": ({"y_true": None}, "has no y_true"),
    "no scores": ({"y_score": None}, "has no y_score"),
    "names": ({"label_names": np.array(["a", "b"])}, "label_names of s.npz has 2 names, expected 4"),
    "same names": ({"label_names": np.array(["a", "b", "a", "c"])}, "label_names has 'a' twice"),
    "row numbers": ({"calib_idx": np.array([0, 99])}, "calib_idx of s.npz runs from 0 to 99"),
    "fractional rows": ({"calib_idx": np.array([0.5])}, "expected row numbers"),
    "overlap": ({"test_idx": np.arange(60)}, "share rows"),
    "pickle": ({"label_names": np.array(["a", None, "b", "c"], object)}, "cannot be read"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_refused_in_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extra, message = BAD_FILES[name]
    path = make(tmp_path / "s.npz", **extra)
    assert message in refused(capsys, "compare", path)


def test_malformed_csr_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = np.load(make(tmp_path / "ok.npz", csr=True))
    for key, value in (
        ("y_score_indices", stored["y_score_indices"] + 99),
        ("y_score_indptr", stored["y_score_indptr"][::-1].copy()),
        ("y_score_indptr", stored["y_score_indptr"][:-1]),
        ("y_score_shape", np.array([60, 4, 2])),
        ("y_score_data", stored["y_score_data"][:-5]),
        ("y_score_indices", None),
    ):
        path = make(tmp_path / "s.npz", csr=True, **{key: value})
        assert "y_score" in refused(capsys, "compare", path), key


def test_unreadable_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = make(tmp_path / "s.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "single.npy", np.ones(3))
    (tmp_path / "single.npz").write_bytes((tmp_path / "single.npy").read_bytes())
    for name in ("cut.npz", "text.npz", "empty.npz", "single.npz", "single.npy", "absent.npz"):
        assert name in refused(capsys, "compare", tmp_path / name)


def test_nothing_is_written_on_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    bad = make(tmp_path / "bad.npz", y_score=np.full((60, 4), np.nan))
    refused(capsys, "fit", bad, "-o", folder / "rule.json")
    good = make(tmp_path / "good.npz")
    assert run("fit", good, "-o", tmp_path / "rule.json") == 0
    capsys.readouterr()
    refused(capsys, "predict", tmp_path / "rule.json", bad, "-o", folder / "out.npz")
    other = make(tmp_path / "other.npz", label_names=NAMES[::-1])
    assert "label_names" in refused(capsys, "predict", tmp_path / "rule.json", other, "-o", folder / "out.npz")
    refused(capsys, "predict", tmp_path / "rule.json", good, "-o", folder / "out.csv")
    refused(capsys, "fit", good, "-o", tmp_path / "no such folder" / "rule.json")
    refused(capsys, "fit", good, "--average", "samples", "-o", folder / "rule.json")
    assert list(folder.iterdir()) == []


def test_a_single_label_may_be_one_dimensional(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = np.load(make(tmp_path / "a.npz"))
    path = make(tmp_path / "s.npz", y_true=arrays["y_true"][:, 0], y_score=arrays["y_score"][:, 0], label_names=None)
    assert run("compare", path) == 0
    assert run("fit", path, "-o", tmp_path / "rule.json") == 0
    assert run("predict", tmp_path / "rule.json", path, "-o", tmp_path / "out.npz") == 0
    assert np.load(tmp_path / "out.npz")["y_pred_shape"].tolist() == [60, 1]


@pytest.mark.parametrize(("key", "other"), [("calib_idx", "test_idx"), ("test_idx", "calib_idx")])
def test_one_half_of_a_split_implies_the_other(
    key: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = np.arange(0, 60, 4)
    path = make(tmp_path / "s.npz", **{key: rows, other: None})
    assert run("compare", path, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    sizes = {"calib_idx": printed["n_fitted"], "test_idx": printed["n_judged"]}
    assert sizes == {key: 15, other: 45}
    assert run("fit", path, "-o", tmp_path / "rule.json") == 0
    rule = thresholds.load_rule(tmp_path / "rule.json")
    assert isinstance(rule, thresholds.ThresholdRule)
    assert rule.fitted_on is not None
    assert rule.fitted_on.n_samples == sizes["calib_idx"]
    capsys.readouterr()
    everything = make(tmp_path / "all.npz", **{key: np.arange(60), other: None})
    assert "every row" in refused(capsys, "compare", everything)


def test_csr_files_with_odd_indices_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = np.load(make(tmp_path / "ok.npz", csr=True))
    for key, value in (
        ("y_score_indices", stored["y_score_indices"].astype(np.int64) + 2**32),
        ("y_score_indices", stored["y_score_indices"] + 0.5),
        ("y_score_indices", stored["y_score_indices"].astype(str)),
        ("y_score_indptr", stored["y_score_indptr"].astype(np.int64) + 2**32),
        ("y_score_shape", np.array(60)),
        ("y_score_shape", np.array([60.0, 4.0])),
    ):
        path = make(tmp_path / "s.npz", csr=True, **{key: value})
        assert "y_score" in refused(capsys, "compare", path), key


def test_what_is_no_regular_file_is_written_to_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", make(tmp_path / "s.npz"), "-o", os.devnull) == 0
    assert not Path(os.devnull).is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert run("fit", tmp_path / "s.npz", "-o", pipe) == 0
        read, _ = reader.communicate(timeout=60)
    assert json.loads(read)["kind"] == "thresholds"
    assert pipe.is_fifo()
    capsys.readouterr()
    assert "is a folder" in refused(capsys, "fit", tmp_path / "s.npz", "-o", tmp_path)
    assert "no such/rule.json" in refused(capsys, "fit", tmp_path / "s.npz", "-o", tmp_path / "no such" / "rule.json")


def test_wrong_usage_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["fit"], ["compare", "x.npz", "--placement", "top"], ["nonsense"]):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        assert stopped.value.code == 2


def test_demo_shows_the_platypus_without_scikit_learn() -> None:
    code = "import sys; sys.modules['sklearn'] = None; from thresholds.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    row = next(line for line in done.stdout.splitlines() if line.startswith("random draw, 1 %"))
    true_share, macro_share, _, micro_share = row.split()[4:8]
    assert float(macro_share.rstrip("%")) > 33
    assert float(micro_share.rstrip("%")) == 0
    assert true_share == "1.0%"
    assert done.stderr == ""


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    path = make(tmp_path / "s.npz")
    command = f"{sys.executable} -m thresholds compare {path} | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
