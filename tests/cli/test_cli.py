"""The command line on small files: what it prints, writes and refuses."""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

import thresholds
from tests.words import flat
from thresholds import cli
from thresholds.cli.commands import COMMANDS
from thresholds.cli.options import OF_FITS
from thresholds.fitting.rules import USUAL_RULES

pytestmark = pytest.mark.each_value

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
    table, _, probabilities = out.split("\n\n")[1:4]
    lines = table.splitlines()[3:]
    rules = [line.split("  ")[0] for line in lines]
    assert rules == list(USUAL_RULES)
    figures = [len(re.findall(r"(?<!\S)\*?\d+(?:\.\d+)?(?!\S)", line[22:])) for line in lines]
    flagged = 0 if "labels, whatever the rule" in out else 2
    assert figures == [8 + flagged] * 12
    named = re.split("; |  +", " ".join(probabilities.split("\n", 3)[3].split("\n")))
    of_probabilities = {rule for rule in rules if rule.endswith(("label-free", "platt"))}
    assert of_probabilities <= set(map(str.strip, named)), "it says how good their probabilities are"
    assert "means over 4 labels; macro AUROC" in out
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
    assert measured["micro, in-sample"]["micro"] == expected
    assert printed["n_fitted"] == printed["n_judged"] == 30


def test_without_a_split_the_halves_are_seeded_and_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "scores.npz", split=False)
    assert run("compare", path) == 0
    first = capsys.readouterr().out
    assert "halves by iterative stratification, seed 0" in first
    assert run("compare", path) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("csr", [False, True])
def test_fit_then_predict(csr: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule_file, out_file = make(tmp_path / "s.npz", csr=csr), tmp_path / "rule.json", tmp_path / "out.npz"
    assert run("fit", path, "--average", "micro", "-o", rule_file) == 0
    assert "guard pool: moved" in capsys.readouterr().out
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
    assert "left out, as scores lie outside [0, 1], and probabilities are needed: macro, label-free; mi" in out
    assert "\ninstance, platt " in out
    assert "\nmacro, label-free " not in out


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
    out = flat(capsys.readouterr().out)
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
    assert "scores 'y_score_weak' (float32), truth 'y_true'" in capsys.readouterr().out
    two = make(tmp_path / "two.npz", y_score=None, y_score_a=scores, y_score_b=scores)
    assert "--score-column" in refused(capsys, "compare", two)
    assert run("compare", two, "--score-key", "y_score_b") == 0


BAD_FILES: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": ({"y_score": np.full((60, 4), np.nan)}, "y_score has NaN at row 0, label 'cat'"),
    "not 0/1": ({"y_true": np.full((60, 4), 2)}, "y_true has 2 at row 0"),
    "shapes": ({"y_true": np.zeros((59, 4), np.uint8)}, "truth 'y_true' of s.npz has shape (59, 4), expected (60, 4)"),
    "no truth": ({"y_true": None}, "has no y_true"),
    "no scores": ({"y_score": None}, "has no y_score"),
    "names": (
        {"label_names": np.array(["a", "b"])},
        "label_names of s.npz has shape (2,), expected (4,), one name for each label",
    ),
    "same names": ({"label_names": np.array(["a", "b", "a", "c"])}, "label_names of s.npz has 'a' twice"),
    "row numbers": ({"calib_idx": np.array([0, 99])}, "calib_idx of s.npz runs from 0 to 99"),
    "fractional rows": ({"calib_idx": np.array([0.5])}, "expected row numbers"),
    "overlap": ({"test_idx": np.arange(60)}, "share rows"),
    "pickle": ({"label_names": np.array(["a", None, "b", "c"], object)}, "label_names of s.npz is an array of objects"),
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
    other = make(tmp_path / "other.npz", label_names=np.array(["cat", "dog", "emu", "owl"]))
    assert "lacks the label 'yak'" in refused(
        capsys, "predict", tmp_path / "rule.json", other, "-o", folder / "out.npz"
    )
    refused(capsys, "predict", tmp_path / "rule.json", good, "-o", folder / "out.txt")
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


@pytest.mark.slow
def test_demo_shows_the_platypus_without_scikit_learn() -> None:
    code = "import sys; sys.modules['sklearn'] = None; from thresholds.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    row = next(line for line in done.stdout.splitlines() if line.startswith("random draw, 1 %"))
    true_share, macro_share, _, guarded_share, _, micro_share = row.split()[4:10]
    assert float(guarded_share.rstrip("%")) < 5
    assert float(macro_share.rstrip("%")) > 33
    assert float(micro_share.rstrip("%")) == 0
    assert true_share == "1.0%"
    assert done.stderr == ""


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m thresholds rules | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_help_says_that_limits_hold_on_the_rows_of_the_fit(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["fit", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    for option in ("--max-overprediction X predict", "--min-precision X keep", "--min-recall X keep"):
        _, of_option = words.split(option)
        assert "on the rows of the fit" in of_option.split(" --")[0]


# fit: guards, limits, both figures


def test_fit_tells_both_figures_and_what_the_guard_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "s.npz")
    assert run("fit", path, "-o", tmp_path / "rule.json") == 0
    out = capsys.readouterr().out
    data = np.load(path)
    rows = data["calib_idx"]
    expected = thresholds.cross_fit(data["y_true"][rows], data["y_score"][rows], label_names=NAMES, random_state=0)
    saved = thresholds.load_rule(tmp_path / "rule.json")
    np.testing.assert_array_equal(saved.thresholds, expected.rule.thresholds)
    assert str(expected.rule) in out
    assert expected.about_folds() in out
    for figure in (expected.in_sample, expected.out_of_fold, expected.optimism):
        assert out.count(f"{figure:.4f}") == 1
    assert saved.guard == "shrink"
    assert str(expected.rule.guard_report).splitlines()[0] in out.splitlines()


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        (["--guard", "none"], {"guard": None}),
        (["--guard", "shrink"], {"guard": "shrink"}),
        (["--average", "micro"], {"average": "micro", "guard": "pool"}),
        (["--average", "micro", "--guard", "none"], {"average": "micro"}),
        (["--average", "weighted", "--beta", "2"], {"average": "weighted", "beta": 2.0, "guard": "shrink"}),
        (["--max-overprediction", "1.5"], {"guard": "shrink", "max_overprediction": 1.5}),
        (["--guard", "none", "--min-precision", "0.8"], {"guard": None, "min_precision": 0.8}),
        (["--guard", "none", "--min-recall", "0.9"], {"guard": None, "min_recall": 0.9}),
    ],
)
@pytest.mark.parametrize("cv", ["0", "2"])
def test_fit_gives_the_rule_of_the_library(
    given: list[str], settings: dict[str, Any], cv: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", split=False)
    assert run("fit", path, *given, "--cv", cv, "-o", tmp_path / "rule.json") == 0
    data = np.load(path)
    expected = thresholds.fit_empirical(data["y_true"], data["y_score"], **settings)
    saved = thresholds.load_rule(tmp_path / "rule.json")
    np.testing.assert_array_equal(saved.thresholds, expected.thresholds)
    assert (saved.guard, saved.objective) == (expected.guard, expected.objective)
    out = capsys.readouterr().out
    assert ("not cross-fitted" in out) == (cv == "0")
    assert ("out of fold" in out) == (cv == "2")


def test_fit_keeps_groups_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patients = np.repeat(np.array([f"patient {k}" for k in range(12)]), 5)
    path = make(tmp_path / "s.npz", patient=patients, split=False)
    assert run("fit", path, "--groups", "patient", "--cv", "3", "-o", tmp_path / "rule.json") == 0
    data = np.load(path)
    settings = {"cv": 3, "random_state": 0, "label_names": NAMES}
    expected, other = (
        thresholds.cross_fit(data["y_true"], data["y_score"], groups=groups, **settings) for groups in (patients, None)
    )
    assert expected.out_of_fold != other.out_of_fold
    out = capsys.readouterr().out
    assert str(expected.rule) in out
    assert expected.about_folds() in out


@pytest.mark.parametrize("command", ["compare", "diagnose"])
def test_halves_keep_groups_together(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patients = np.repeat(np.arange(12), [3, 4, 5, 6, 7, 3, 4, 5, 6, 7, 2, 8])
    path = make(tmp_path / "s.npz", patient=patients, split=False)
    assert run(command, path, "--groups", "patient", "--json") == 0
    half = thresholds.multilabel_folds(np.load(path)["y_true"], 2, groups=patients, random_state=0)
    printed = strict_json(capsys.readouterr().out)
    said = " ".join(str(printed.get(name)) for name in ("rows", "split", "n_fitted", "n_judged"))
    assert "halves by iterative stratification of groups, seed 0" in said
    assert str((half == 0).sum()) in said
    assert str((half == 1).sum()) in said
    whole = make(tmp_path / "split.npz", patient=patients)
    message = "--groups has no use with split.npz, which has calib_idx or test_idx"
    without_intervals = ["--confidence", "none"] if command == "compare" else []
    assert message in refused(capsys, command, whole, "--groups", "patient", *without_intervals)


def test_intervals_over_groups_are_for_rows_that_the_file_names_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", patient=np.arange(60) // 5)
    printed = []
    for more in ([], ["--groups", "patient"]):
        assert run("compare", path, "--json", *more) == 0
        printed.append(strict_json(capsys.readouterr().out))
    rows, patients = printed
    assert (rows["paired_by"], patients["paired_by"]) == ("row", "group")
    for one, other in zip(rows["measures"], patients["measures"], strict=True):
        is_guarded = one["rule"] in ("macro, shrink", "micro, pool")  # and was fitted with the groups, too
        assert is_guarded or one["macro"] == other["macro"]
        assert one["macro_low"] != other["macro_low"]


def test_fit_on_fewer_rows_or_groups_than_folds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(tmp_path / "s.npz", calib_idx=np.arange(3), test_idx=None, two=np.arange(60) % 2, one=np.zeros(60))
    for more, said in (([], "3 folds"), (["--groups", "two"], "2 folds"), (["--groups", "one"], "not cross-fitted")):
        assert run("fit", path, *more, "-o", tmp_path / "rule.json") == 0
        assert said in capsys.readouterr().out
    assert "cv=4" in refused(capsys, "fit", path, "--cv", "4", "-o", tmp_path / "rule.json")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--guard", "shrink", "--average", "micro"], "guard is 'shrink'"),
        (["--min-recall", "0.5", "--shared"], "min_recall is 0.5"),
        (["--min-precision", "2"], "min_precision is 2"),
        (["--max-overprediction", "-1"], "max_overprediction is -1"),
        (["--cv", "1"], "1"),
        (["--groups", "patient"], "s.npz has no array 'patient', expected the group of each row"),
        (["--groups", "y_true"], "y_true of s.npz has shape (60, 4), expected (60,), one group for each row"),
        (["--expected", "--guard", "none"], "--guard is 'none' with --expected, which has no use for it"),
        (["--expected", "--cv", "0"], "--cv is 0 with --expected"),
        (["--expected", "--min-precision", "0.5"], "--min-precision is 0.5 with --expected"),
        (["--expected", "--groups", "calib_idx"], "--groups is 'calib_idx' with --expected"),
    ],
)
def test_fit_refuses_guards_limits_and_folds_that_do_not_go(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "fit", make(tmp_path / "s.npz"), *more, "-o", tmp_path / "rule.json")
    assert not (tmp_path / "rule.json").exists()


# labels are matched by name


def test_labels_in_another_order_are_matched_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "-o", rule) == 0
    data, order = np.load(path), [2, 0, 3, 1]
    moved = {"y_true": data["y_true"][:, order], "y_score": data["y_score"][:, order], "label_names": NAMES[order]}
    other = make(tmp_path / "other.npz", **moved)
    capsys.readouterr()
    said = []
    for file in (path, other):
        assert run("predict", rule, file, "-o", tmp_path / f"{file.stem}.out.npz") == 0
        assert run("diagnose", file, "--rule", rule, "--json") == 0
        assert run("diff", rule, rule, file, "--json") == 0
        said.append(capsys.readouterr().out.replace(file.name, "FILE").replace(f"{file.stem}.out.npz", "OUT"))
    assert said[0] == said[1]
    first, second = (np.load(tmp_path / f"{file.stem}.out.npz") for file in (path, other))
    for key in first.files:
        np.testing.assert_array_equal(first[key], second[key])


# --logits


def test_logits_are_turned_into_probabilities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = make(tmp_path / "p.npz"), tmp_path / "rule.json"
    scores = np.clip(np.load(path)["y_score"].astype(np.float64), 0.01, 0.99)
    path = make(path, y_score=scores)
    logits = make(tmp_path / "z.npz", y_score=np.log(scores / (1 - scores)))
    rules = []
    for more in ([path], [logits, "--logits"]):
        assert run("fit", *more, "--cv", "0", "-o", rule) == 0
        rules.append(thresholds.load_rule(rule))
        assert ("logits are turned into probabilities" in capsys.readouterr().out) == (len(more) > 1)
    np.testing.assert_allclose(rules[1].thresholds, rules[0].thresholds, rtol=1e-12)
    for command in (["compare"], ["diagnose", "--rule", rule]):
        assert run(*command, logits, "--logits") == 0
    assert run("diff", rule, rule, logits, "--logits") == 0
    capsys.readouterr()
    for name, of_rule, more in (("a.npz", rules[0], [path]), ("b.npz", rules[1], [logits, "--logits"])):
        of_rule.save(rule)
        assert run("predict", rule, *more, "-o", tmp_path / name) == 0
    first, second = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    np.testing.assert_array_equal(first["y_pred_indices"], second["y_pred_indices"])
    assert capsys.readouterr().err == ""


def test_logits_where_probabilities_were_fitted_are_met_with_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rule = make(tmp_path / "p.npz"), tmp_path / "rule.json"
    assert run("fit", path, "-o", rule) == 0
    scores = np.load(path)["y_score"].astype(np.float64)
    logits = make(tmp_path / "z.npz", y_score=logit(scores.clip(0.01, 0.99)))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("predict", rule, logits, "-o", tmp_path / "out.npz") == 0
        assert run("diagnose", logits, "--rule", rule) == 0
    err = capsys.readouterr().err.splitlines()
    assert err
    for line in err:
        assert line.startswith("thresholds: ")
    assert err[0].startswith("thresholds: warning: The scores look like logits")
    assert "--logits" in err[0]
    assert "--logits" in refused(capsys, "fit", logits, "--expected", "-o", rule)
    message = "p.npz has all scores in [0, 1] with --logits, expected logits: they look"
    for command in (["fit", path], ["predict", rule, path]):
        assert message in refused(capsys, *command, "--logits", "-o", tmp_path / "none.npz")
    assert not (tmp_path / "none.npz").exists()


# diff


def rules(folder: Path) -> tuple[Path, Path]:
    """Two saved rules: one label moves, one is new, one is lost."""
    old = thresholds.ThresholdRule([0.5, 0.2, 0.7, 0.5], label_names=("cat", "dog", "owl", "yak"))
    new = thresholds.ThresholdRule([0.5, 0.4, 0.7, float("inf")], label_names=tuple(NAMES))
    old.save(folder / "old.json")
    new.save(folder / "new.json")
    return folder / "old.json", folder / "new.json"


@pytest.mark.parametrize("csr", [False, True])
def test_diff_prints_what_the_library_says(csr: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, (old, new) = make(tmp_path / "s.npz", y_true=None, csr=csr), rules(tmp_path)
    both = thresholds.load_rule(old), thresholds.load_rule(new)
    scores = np.load(make(tmp_path / "dense.npz"))["y_score"]
    expected = thresholds.diff_rules(*both, np.where(scores > 0.3, scores, 0) if csr else scores)
    assert run("diff", old, new) == 0
    assert capsys.readouterr().out == f"{thresholds.diff_rules(*both)}\n"
    assert run("diff", old, new, path) == 0
    assert capsys.readouterr().out == f"{expected}\n"
    assert run("diff", old, new, path, "--top", "1") == 0
    assert capsys.readouterr().out == f"{expected.to_text(1)}\n"
    assert run("diff", old, new, path, "--json") == 0
    printed = strict_json(capsys.readouterr().out)
    assert printed["n_moved"] == 2
    assert printed["rows_changed"] == expected.rows_changed
    assert (printed["new_labels"], printed["lost_labels"]) == (["emu"], ["owl"])
    assert [label["new_threshold"] for label in printed["labels"]] == [0.5, 0.4, "inf"]
    counts = [label["predicted_after"] for label in printed["labels"]]
    assert counts == expected.table["predicted_after"].tolist()


def test_diff_refuses_what_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = rules(tmp_path)
    other = make(tmp_path / "s.npz", label_names=np.array(["cat", "dog", "emu", "owl"]))
    message = refused(capsys, "diff", old, new, other)
    assert f"s.npz lacks the label 'yak' and has the label 'owl', expected those of {new}" in message
    thresholds.ThresholdRule([0.5]).save(tmp_path / "one.json")
    assert "new has 1 labels, expected 4" in refused(capsys, "diff", old, tmp_path / "one.json")
    assert "absent.json" in refused(capsys, "diff", old, tmp_path / "absent.json")
    assert "--score-column is 'weak' without a file" in refused(capsys, "diff", old, new, "--score-key", "weak")


# diagnose

STATES = {
    "noise": "platypus",
    "rare": "suspect",
    "often": "overpredicted",
    "none": "unsupported",
    "good": "restrained",
}


def strict_json(text: str) -> Any:
    """Read JSON that has neither NaN nor Infinity."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def planted(path: Path, **extra: Any) -> Path:
    """Write scores of 800 rows and one label of each state, and a rule beside them, `rule.json`."""
    rng = np.random.default_rng(11)
    positives = {"noise": 30, "rare": 3, "often": 40, "none": 0, "good": 80}
    truth, scores = np.zeros((800, 5), np.uint8), rng.random((800, 5))
    for j, (name, number) in enumerate(positives.items()):
        rows = rng.permutation(800)[:number]
        truth[rows, j] = 1
        if name in ("often", "good"):
            scores[rows, j] += 0.9
    cuts = [0.3, 0.9, 0.7, float("inf"), 1.0]
    thresholds.ThresholdRule(cuts, label_names=tuple(STATES)).save(path.parent / "rule.json")
    np.savez(path, y_true=truth, y_score=scores, label_names=np.array(list(STATES)), **extra)
    return path


def test_diagnose_tells_the_states_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = planted(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("diagnose", path, "--rule", rule) == 0
    out = capsys.readouterr().out
    data = np.load(path)
    expected = thresholds.diagnose(data["y_true"], data["y_score"], thresholds.load_rule(rule), random_state=0)
    assert dict(zip(STATES, expected.state.tolist(), strict=True)) == STATES
    assert str(expected) in out
    assert str(expected.most_predicted(8)) in out
    assert f"{rule}, judged on all 800 rows" in flat(out)


@pytest.mark.parametrize("top", [0, 3, 8, 10, 99])
def test_top_says_how_many_labels_are_listed(top: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    names = np.array([f"label {k}" for k in range(12)])
    path = make(tmp_path / "s.npz", y_true=rng.random((60, 12)) < 0.05, y_score=rng.random((60, 12)), label_names=names)
    thresholds.ThresholdRule(12 * [0.1]).save(tmp_path / "rule.json")
    assert run("diagnose", path, "--rule", tmp_path / "rule.json", "--split", "all", "--top", top) == 0
    out = capsys.readouterr().out
    found = thresholds.diagnose(
        np.load(path)["y_true"], np.load(path)["y_score"], thresholds.ThresholdRule(12 * [0.1], label_names=names)
    )
    flagged = found.table["name"][found.platypus | found.suspect]
    assert flagged.size == 12
    told = re.findall(r"^(label \d+) +(?:suspect|platypus) ", out, re.MULTILINE)
    assert len(told) == len(set(told)) == min(12, top)
    assert ("most predicted  count" in out) == (top > 0)


def test_diagnose_json_equals_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = planted(tmp_path / "s.npz"), tmp_path / "rule.json"
    options = ["--alpha", "0.01", "--min-auroc", "0.8", "--overprediction", "2", "--min-f", "0.3", "--min-skill", "0.1"]
    assert run("diagnose", path, "--rule", rule, *options, "--json") == 0
    printed = strict_json(capsys.readouterr().out)
    data = np.load(path)
    settings = {"alpha": 0.01, "min_auroc": 0.8, "overprediction": 2.0, "min_f": 0.3, "min_skill": 0.1}
    expected = thresholds.diagnose(
        data["y_true"], data["y_score"], thresholds.load_rule(rule), random_state=0, **settings
    )
    assert {name: printed[name] for name in settings} == settings
    assert len(printed["labels"]) == printed["n_labels"] == 5
    for name in expected.table.dtype.names:
        values = [None if value != value else value for value in expected.table[name].tolist()]
        assert [label[name] for label in printed["labels"]] == [
            "inf" if value == float("inf") else value for value in values
        ], name
    assert (printed["platypus"], printed["broken"], printed["repair"]) == (1, [], None)
    assert {name: printed[name] for name in expected.verdicts.counts} == expected.verdicts.counts
    assert not printed["fitted_on_these_rows"]


@pytest.mark.parametrize(
    ("given", "broken"),
    [
        ("platypus=1,suspect=1,overpredicted=3,unsupported=1,share=1", []),
        ("platypus=0", ["platypus is 1, expected at most 0"]),
        ("suspect=0", ["suspect is 1, expected at most 0"]),
        ("overpredicted=2", ["overpredicted is 3, expected at most 2"]),
        ("unsupported=0, platypus=1", ["unsupported is 1, expected at most 0"]),
        ("backwards=0", []),
        ("weak=4,unproven=4,missed=4,useless=4", []),
        ("useless=0,platypus=1", ["useless is 1, expected at most 0"]),
        ("share=0.5,platypus=0", ["share is 0.", "platypus is 1, expected at most 0"]),
    ],
)
def test_fail_on(given: str, broken: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = planted(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("diagnose", path, "--rule", rule) == 0
    whole = capsys.readouterr().out
    assert run("diagnose", path, "--rule", rule, "--fail-on", given) == (3 if broken else 0)
    out, err = capsys.readouterr()
    assert out == whole
    assert len(err.splitlines()) == len(broken)
    for line, said in zip(err.splitlines(), broken, strict=True):
        assert line.startswith(f"thresholds: failed: {said}")
    assert run("diagnose", path, "--rule", rule, "--fail-on", given, "--json") == (3 if broken else 0)
    assert len(strict_json(capsys.readouterr().out)["broken"]) == len(broken)


def test_a_rule_that_was_fitted_on_the_judged_rows_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rule = planted(tmp_path / "s.npz"), tmp_path / "rule.json"
    remark = "judged on 800 rows that the rule was fitted on, so that it will do worse on others"
    assert run("diagnose", path, "--rule", rule) == 0
    assert remark not in capsys.readouterr().out
    assert run("fit", path, "--output", rule) == 0
    capsys.readouterr()
    assert run("diagnose", path, "--rule", rule, "--split", "all") == 0
    assert remark in capsys.readouterr().out
    assert run("diagnose", path, "--rule", rule, "--split", "all", "--json") == 0
    assert strict_json(capsys.readouterr().out)["fitted_on_these_rows"]


def test_the_share_is_that_of_predictions_on_flagged_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = planted(tmp_path / "s.npz"), tmp_path / "rule.json"
    counts = dict(zip(STATES, thresholds.load_rule(rule).predict(np.load(path)["y_score"]).sum(axis=0), strict=True))
    share = (counts["noise"] + counts["rare"]) / sum(counts.values())
    assert run("diagnose", path, "--rule", rule, "--json") == 0
    assert strict_json(capsys.readouterr().out)["share"] == pytest.approx(share, rel=1e-15)
    thresholds.FixedRule(float("inf"), 5).save(rule)
    assert run("diagnose", path, "--rule", rule, "--json", "--fail-on", "share=0") == 0
    assert strict_json(capsys.readouterr().out)["share"] == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "'' is no condition, expected NAME=BOUND, NAME in backwards, platypus, suspect, overpredicted,"),
        ("platypus", "'platypus' is no condition"),
        ("platypuses=0", "'platypuses=0' is no condition"),
        ("platypus=0,,share=1", "'' is no condition"),
        ("platypus=", "platypus has the bound '', expected a whole number of labels"),
        ("platypus=-1", "platypus has the bound '-1', expected a whole number of labels"),
        ("suspect=0.5", "suspect has the bound '0.5', expected a whole number of labels"),
        ("share=1.5", "share has the bound '1.5', expected a number from 0 to 1"),
        ("share=nan", "share has the bound 'nan', expected a number from 0 to 1"),
        ("share=30%", "share has the bound '30%', expected a number from 0 to 1"),
        ("share=1,share=0", "share is given twice"),
        ("usable=0", "'usable=0' is no condition, expected NAME=BOUND"),
        ("missed=0.5", "missed has the bound '0.5', expected a whole number of labels"),
    ],
)
def test_conditions_that_cannot_be_read_are_wrong_usage(
    given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("diagnose", "s.npz", "--fail-on", given)
    assert stopped.value.code == 2
    assert f"argument --fail-on: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "action"), [([], "never"), (["--action", "never"], "never"), (["--action", "cap"], "cap")]
)
def test_diagnose_repairs(more: list[str], action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule, out_file = planted(tmp_path / "s.npz"), tmp_path / "rule.json", tmp_path / "repaired.json"
    given = ["diagnose", path, "--rule", rule, "--repair", out_file, *more, "--fail-on", "platypus=0"]
    assert run(*given) == 3
    out = capsys.readouterr().out
    data, old = np.load(path), thresholds.load_rule(rule)
    found = thresholds.diagnose(data["y_true"], data["y_score"], old, random_state=0)
    expected = found.repair(old, action=action)
    np.testing.assert_array_equal(thresholds.load_rule(out_file).thresholds, expected.rule.thresholds)
    assert str(expected) in out
    assert f"saved as {out_file}" in out
    assert run(*given, "--json") == 3
    changes = strict_json(capsys.readouterr().out)["repair"]
    assert [change["name"] for change in changes] == expected.changes["name"].tolist()
    assert "noise" in [change["name"] for change in changes]
    assert run("diagnose", path, "--rule", out_file, "--fail-on", "platypus=0") == 0


@pytest.mark.parametrize(
    ("keys", "more", "rows", "said"),
    [
        ({}, [], range(800), "all 800 rows"),
        ({"test_idx": range(300)}, [], range(300), "the 300 rows of test_idx"),
        ({"calib_idx": range(300)}, [], range(300, 800), "the 500 rows outside calib_idx"),
        ({"calib_idx": range(300)}, ["--split", "calib"], range(300), "the 300 rows of calib_idx"),
        ({"test_idx": range(300)}, ["--split", "all"], range(800), "all 800 rows"),
    ],
)
def test_rows_that_a_saved_rule_is_judged_on(
    keys: dict[str, range], more: list[str], rows: range, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = planted(tmp_path / "s.npz", **{key: np.array(value) for key, value in keys.items()})
    assert run("diagnose", path, "--rule", tmp_path / "rule.json", *more, "--json") == 0
    printed = strict_json(capsys.readouterr().out)
    assert said in printed["rows"]
    positives = np.load(path)["y_true"][rows].sum(axis=0)
    assert [label["n_positives"] for label in printed["labels"]] == positives.tolist()


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        ([], {"guard": "auto"}),
        (["--rule", "macro, in-sample"], {}),
        (["--rule", " Micro"], {"average": "micro", "guard": "pool"}),
        (["--rule", " Micro,IN-sample"], {"average": "micro"}),
    ],
)
@pytest.mark.parametrize("csr", [False, True])
def test_a_rule_of_a_name_is_fitted_on_other_rows(
    more: list[str], settings: dict[str, Any], csr: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "s.npz", csr=csr)
    assert run("diagnose", path, *more, "--json") == 0
    printed = strict_json(capsys.readouterr().out)
    data = np.load(make(tmp_path / "dense.npz"))
    fit, judge = data["calib_idx"], data["test_idx"]
    scores = np.where(data["y_score"] > 0.3, data["y_score"], 0) if csr else data["y_score"]
    scores = sparse.csr_array(scores) if csr else scores
    rule = thresholds.fit_empirical(data["y_true"][fit], scores[fit], keep_sparse=True, **settings)
    expected = thresholds.diagnose(data["y_true"][judge], scores[judge], rule, random_state=0)
    assert [label["predicted_positive"] for label in printed["labels"]] == expected.table["predicted_positive"].tolist()
    assert [label["name"] for label in printed["labels"]] == NAMES.tolist()
    assert printed["rows"] == "fitted on 30 rows, judged on 30 others: calib_idx and test_idx of the file"
    assert run("diagnose", path, *more) == 0
    guard = {None: "", "auto": "guard shrink", "pool": "guard pool"}[settings.get("guard")]
    assert guard in capsys.readouterr().out


def test_a_file_that_names_no_rows_is_fitted_on_one_half_and_judged_on_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patients = np.arange(60) // 3
    path, rule = make(tmp_path / "s.npz", split=False, patient=patients), tmp_path / "rule.json"
    truth = np.load(path)["y_true"]
    for more, groups in (([], None), (["--groups", "patient"], patients)):
        half = thresholds.multilabel_folds(truth, 2, groups=groups)
        assert run("fit", path, "--split", "calib", "-o", rule, "--json", *more) == 0
        fitted = strict_json(capsys.readouterr().out)["rows"]
        assert f"the {(half == 0).sum()} rows of the calib half (" in fitted
        assert run("diagnose", path, "--rule", rule, "--split", "test", "--json", *more) == 0
        judged = strict_json(capsys.readouterr().out)
        assert f"the {(half == 1).sum()} rows of the test half (" in judged["rows"]
        assert [label["n_positives"] for label in judged["labels"]] == truth[half == 1].sum(axis=0).tolist()


def test_commands_that_judge_take_no_options_of_fits(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["diagnose"], ["report", "-o", "page.html"], ["annotate"], ["compare"]):
        with pytest.raises(SystemExit) as stopped:
            run(*command, "s.npz", "--average", "micro")
        assert stopped.value.code == 2
        said = "unrecognized arguments: --average micro (fit takes --average; what it saves is judged by --rule)"
        assert said in (printed := capsys.readouterr().err)
        assert printed.startswith(f"usage: thresholds {command[0]} FILE ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["diagnose", "s.npz", "--average=micro"], "--average=micro (fit takes --average; what it saves is judged by"),
        (["update", "rule.json", "s.npz", "-o", "x.json", "--beta", "2"], "--beta 2 (fit takes --beta)\n"),
        (["predict", "rule.json", "s.npz", "-o", "x.npz", "--rule", "micro"], "--rule micro\n"),
    ],
)
def test_options_of_fits_elsewhere_are_told_as_the_command_needs(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(*words)
    assert stopped.value.code == 2
    assert f"unrecognized arguments: {hint}" in capsys.readouterr().err


def test_update_takes_the_options_that_its_function_has(capsys: pytest.CaptureFixture[str]) -> None:
    of_fits = set(OF_FITS) & set(COMMANDS["update"].options)
    assert of_fits < set(inspect.signature(thresholds.update_rule).parameters)
    with pytest.raises(SystemExit):
        run("update", "old.json", "s.npz", "-o", "rule.json", "--confidence", "0.9")
    assert "unrecognized arguments: --confidence 0.9 (fit takes --confidence)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["fit", "-o", "rule.json"], ["diagnose"], ["report", "-o", "x.html"], ["annotate"]]
)
def test_two_rules_are_refused_where_one_is_taken(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(*command, "s.npz", "--rule", "macro", "--rule", "micro")
    assert stopped.value.code == 2
    assert "argument --rule: given twice, expected one rule" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "word", "said"),
    [
        ("--zero-division", "0.0", "invalid choice: '0.0' (choose from '0', '1')"),
        ("--guard", "some", "invalid choice: 'some' (choose from 'auto', 'shrink', 'pool', 'none')"),
        ("--min-precision", "high", "'high' is no floor, expected a number, or labels, each once, as cat=0.9,dog=0.8"),
        ("--min-recall", "cat=high", "'cat=high' is no floor, expected a number, or labels, each once, as"),
        ("--confidence", "high", "'high' is no number, nor expected"),
    ],
)
def test_values_are_refused_in_words_of_the_command_line(
    option: str, word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("fit", "s.npz", "-o", "rule.json", option, word)
    assert stopped.value.code == 2
    assert f"argument {option}: {said}" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["fit", "--help-files"], ["predict", "--help-files"]])
def test_help_fits_a_terminal_of_80_columns(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        run(*words)
    assert max(map(len, capsys.readouterr().out.splitlines())) < 80


def test_saved_rules_and_names_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = make(tmp_path / "s.npz"), tmp_path / "rule.json"
    assert run("fit", path, "--rule", "micro", "-o", rule) == 0
    capsys.readouterr()
    given = ["--rule", rule, "--rule", "micro", "--rule", "instance, platt"]
    assert run("compare", path, *given, "--fail-on", "macro=-1", "--json") == 0
    printed = strict_json(capsys.readouterr().out)
    saved, fitted, other = printed["measures"]
    assert [row["rule"] for row in printed["measures"]] == [str(rule), "micro, pool", "instance, platt"]
    averages = ("micro", "macro", "weighted", "samples")
    assert [saved[name] for name in averages] == [fitted[name] for name in averages]
    assert other["micro"] != fitted["micro"]
    assert printed["n_fitted"] == printed["n_judged"] == 30
    assert printed["rows"].startswith("saved rules as given, named ones fitted on 30 rows, judged on 30 others: ")
    message = "--rule 'micro, label-free' cannot be fitted on these scores: scores lie outside [0, 1]"
    logits = make(tmp_path / "logits.npz", y_score=np.load(path)["y_score"] - 0.5)
    assert message in refused(capsys, "compare", logits, "--rule", "micro, label-free", "--rule", rule)


@pytest.mark.parametrize(
    "rule", [thresholds.TopKRule(2), thresholds.InstanceRule(), thresholds.RegionRule(4 * [[0.5]])]
)
def test_rules_of_other_kinds_are_diagnosed_too(rule: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule.save(tmp_path / "rule.json")
    path = make(tmp_path / "s.npz")
    assert run("diagnose", path, "--rule", tmp_path / "rule.json", "--json") == 0
    labels = strict_json(capsys.readouterr().out)["labels"]
    assert [label["name"] for label in labels] == NAMES.tolist()
    assert {label["threshold"] for label in labels} == {None}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--rule", "rule.json", "--missing", "1"], "--missing is 1.0 with --rule rule.json, which has no use for it"),
        (["--rule", "rule.json", "--groups", "g"], "--groups is 'g' with --rule rule.json, which has no use for it"),
        (
            ["--split", "test"],
            "--split is 'test' with --rule 'macro, shrink': a rule that is fitted is judged on other",
        ),
        (["--rule", "macros"], "--rule is 'macros', expected the name of a rule, as 'macro'"),
        (["--rule", "macros"], "; there is no file of that name either"),
        (["--action", "cap"], "--action is 'cap' without --repair"),
        (["--rule", "rule.json", "--split", "calib"], "s.npz has no calib_idx, expected the rows of --split calib"),
        (["--rule", "rule.json", "--alpha", "2"], "alpha is 2.0"),
        (["--rule", "rule.json", "--min-auroc", "-1"], "min_auroc is -1.0"),
        (["--rule", "rule.json", "--overprediction", "nan"], "overprediction is nan"),
        (["--rule", "absent.json"], "absent.json"),
        (
            ["--rule", "other.json"],
            "s.npz lacks the label 'other' and has the label 'good', expected those of other.json",
        ),
        (["--rule", "three.json"], "y_score has 5 labels, expected 3"),
        (["--rule", "top.json", "--repair", "out.json"], "--repair is given with a rule of the kind 'top_k'"),
        (["--rule", "rule.json", "--repair", "no such/out.json"], "no such/out.json"),
    ],
)
def test_diagnose_refuses_what_does_not_go_together(
    more: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = planted(tmp_path / "s.npz", test_idx=np.arange(300))
    monkeypatch.chdir(tmp_path)
    thresholds.ThresholdRule(5 * [0.5], label_names=(*tuple(STATES)[:4], "other")).save("other.json")
    thresholds.ThresholdRule(3 * [0.5]).save("three.json")
    thresholds.TopKRule(1).save("top.json")
    assert said in refused(capsys, "diagnose", path, *more)
    assert not Path("out.json").exists()


@pytest.mark.soak
def test_a_closed_pipe_hides_no_broken_condition(tmp_path: Path) -> None:
    path = planted(tmp_path / "s.npz")
    command = f"{sys.executable} -m thresholds diagnose {path} --rule {tmp_path}/rule.json --json --fail-on platypus=0"
    script = f"set -o pipefail; {command} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_missing_reaches_the_fit(tmp_path: Path) -> None:
    scores = sparse.csr_array(np.array([[0.5, 0.0], [0.0, 0.7], [0.2, 0.0], [0.0, 0.1]]))
    parts = {f"y_score_{name}": getattr(scores, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "scores.npz", y_true=[[1, 0], [0, 1], [1, 0], [0, 0]], **parts)
    saved = str(tmp_path / "rule.json")
    assert cli.main(["fit", str(tmp_path / "scores.npz"), "--missing", "-1", "--cv", "0", "-o", saved]) == 0
    assert thresholds.load_rule(saved).missing == -1.0


# Labels to look at, said at the end of a fit and at the head of a comparison


def known_and_not(path: Path, n_backwards: int, n_useless: int = 0) -> Path:
    """Write scores of 800 rows and 12 labels, the first of which rank backwards, the next of which are useless."""
    rng = np.random.default_rng(12)
    truth = (rng.random((800, 12)) < 0.05).astype(np.uint8)
    known = 3 * np.where(np.arange(12) < n_backwards, -1, np.arange(12) >= n_backwards + n_useless)
    scores = rng.standard_normal(truth.shape) + truth * known
    np.savez(path, y_true=truth, y_score=scores, label_names=np.array([f"label {j}" for j in range(12)]))
    return path


LOOKS_NEGATED = "rank backwards: y_score looks negated (higher should mean more likely)"


def test_fit_names_labels_that_rank_backwards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rule = known_and_not(tmp_path / "of a fit.npz", 12), tmp_path / "rule.json"
    assert run("fit", path, "-o", rule) == 0
    out = capsys.readouterr().out
    assert (
        f"saved as {rule} 12 of 12 labels with at least 5 positives rank backwards (label 0, label 1, label 2 and 9"
        " others): y_score looks negated (higher should mean more likely)"
    ) in flat(out)
    assert out.endswith(f"for a sentence on each label:\n  thresholds diagnose '{path}' --rule {rule}\n")
    assert run("diagnose", path, "--rule", rule, "--fail-on", "backwards=11") == 3
    out, err = capsys.readouterr()
    assert f"12 of 12 labels with at least 5 positives {LOOKS_NEGATED}" in flat(out)
    assert "backwards is 12, expected at most 11" in err


def test_the_command_that_fit_names_judges_the_same_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(known_and_not(tmp_path / "all.npz", 12)) as data:
        scores, truth, names = data["y_score"], data["y_true"], data["label_names"]
    np.savez(tmp_path / "s.npz", y_score=-scores, y_score_weak=scores, id=np.arange(800))
    np.savez(tmp_path / "t.npz", gold=truth[::-1], id=np.arange(800)[::-1])
    (tmp_path / "names.txt").write_text("\n".join(names))
    files = ["--truth", tmp_path / "t.npz", "--truth-column", "gold", "--key", "id"]
    read = ["--score-column", "y_score_weak", *files, "--label-names", tmp_path / "names.txt", "--logits"]
    assert run("fit", tmp_path / "s.npz", *read, "-o", tmp_path / "rule.json") == 0
    said, _, more = capsys.readouterr().out.partition("for a sentence on each label:\n")
    assert LOOKS_NEGATED.partition(": ")[2] in flat(said)
    _, *command = shlex.split(more)
    assert run(*command) == 0
    assert LOOKS_NEGATED in flat(capsys.readouterr().out)


def test_without_truth_fit_names_no_command_that_needs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = np.full((1000, 2), 0.001)
    p[:100, 0] = 0.9
    np.savez(tmp_path / "s.npz", y_score=p)
    assert run("fit", tmp_path / "s.npz", "--expected", "-o", tmp_path / "rule.json") == 0
    said, more = capsys.readouterr().out.splitlines()[-3::2]
    assert said.startswith("1 platypus takes")
    assert more == "for more: thresholds.diagnose(None, scores, rule), in Python"


def test_fit_names_the_platypuses_it_has_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = known_and_not(tmp_path / "s.npz", 1, 9), tmp_path / "rule.json"
    assert run("fit", path, "--guard", "none", "-o", file) == 0
    said = flat(capsys.readouterr().out)
    assert "1 of 12 labels with at least 5 positives ranks backwards (label 0): positives score lower" in said
    data = np.load(path)
    found = thresholds.cross_fit(data["y_true"], data["y_score"], guard=None).diagnosis
    predicted = found.table["predicted_positive"]
    share, n = predicted[found.platypus].sum() / predicted.sum(), found.platypus.sum()
    assert n >= 3
    platypuses = f"{n} platypuses take {share:.1%} of all predictions (over-predicted; the scores know little"
    assert platypuses in said
    worst = np.flatnonzero(found.platypus)[np.argmax(predicted[found.platypus])]
    assert f"): label {worst} (on {predicted[worst] / 800:.1%} of the rows), label" in said
    assert said.count("of the rows)") == 3


def test_fit_warns_of_nothing_where_there_is_nothing_to_look_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rule = known_and_not(tmp_path / "s.npz", 0), tmp_path / "rule.json"
    assert run("fit", path, "-o", rule) == 0
    saved, more, _ = capsys.readouterr().out.splitlines()[-3:]
    assert saved == f"saved as {rule}"
    assert more == "for a sentence on each label:"


def test_a_fit_without_labels_says_what_the_model_believes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = np.full((1000, 2), 0.001)
    p[:100, 0] = 0.9
    path, rule = tmp_path / "p.npz", tmp_path / "rule.json"
    np.savez(path, y_score=p, label_names=np.array(["cat", "yak"]))
    assert run("fit", path, "--expected", "-o", rule) == 0
    said = flat(capsys.readouterr().out)
    assert (
        "1 platypus takes 90.9% of all predictions (over-predicted, by the model's own belief):"
        " yak (on 100.0% of the rows) for more"
    ) in said


def test_compare_says_first_how_many_labels_rank_backwards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n_backwards, said in (
        (12, f"rank backwards (label 0, label 1, label 2 and 9 others): {LOOKS_NEGATED.partition(': ')[2]}"),
        (2, "rank backwards (label 0, label 1): positives score lower than the rest"),
        (0, ""),
    ):
        path = known_and_not(tmp_path / "s.npz", n_backwards)
        assert run("compare", path) == 0
        out = flat(capsys.readouterr().out)
        assert said in out
        assert ("backwards" in out) == (n_backwards > 0)
        assert out.index("backwards" if said else "macro") < out.index("platypus")
        assert run("compare", path, "--json") == 0
        printed = strict_json(capsys.readouterr().out)
        assert (printed["labels_backwards"], printed["labels_tested"]) == (n_backwards, 12)
        assert printed["backwards"] == [f"label {j}" for j in range(n_backwards)]
