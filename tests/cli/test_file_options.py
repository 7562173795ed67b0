"""Options about files: encodings, weights, truth in words and in one cell, rows without scores, formulas."""

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds import cli
from thresholds.cli.parser import parser

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(7)
TRUTH = (RNG.random((80, 3)) < 0.4).astype(np.uint8)
SCORES = np.round(0.6 * RNG.random((80, 3)) + 0.4 * TRUTH, 3)
WEIGHTS = RNG.integers(1, 5, 80).astype(float)
GROUPS = np.arange(80) // 2


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with scores, truth and weights in one archive."""
    monkeypatch.chdir(tmp_path)
    arrays = {"y_true": TRUTH, "y_score": SCORES, "label_names": np.array(NAMES), "w": WEIGHTS, "who": GROUPS}
    np.savez("s.npz", **arrays)
    return tmp_path


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail with status 1 and one line on stderr; give that line."""
    assert run(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removeprefix("thresholds: error: ").removesuffix("\n")


def text(name: str, *lines: str, encoding: str = "utf-8", end: str = "\n") -> None:
    """Write lines of text."""
    Path(name).write_bytes("".join(line + end for line in lines).encode(encoding))


# Which command has which option


OF_TRUTH = {"--label-separator", "--true-words", "--drop-unscored"}
OFFERED = {
    "fit": {"--encoding", "--weights", "--groups", *OF_TRUTH},
    "update": {"--encoding", "--weights", "--groups", *OF_TRUTH},
    "compare": {"--encoding", "--weights", "--groups", *OF_TRUTH},
    "diagnose": {"--encoding", "--groups", *OF_TRUTH},
    "report": {"--encoding", "--groups", *OF_TRUTH},
    "annotate": {"--encoding", *OF_TRUTH},
    "predict": {"--encoding", "--quote-formulas"},
    "monitor": {"--encoding"},
    "diff": {"--encoding"},
}


def test_an_option_stands_where_it_has_use() -> None:
    (commands,) = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    asked = set().union(*OFFERED.values())
    for name, command in commands.choices.items():
        written = {option for action in command._actions for option in action.option_strings}
        assert written & asked == OFFERED.get(name, set()), name


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--encoding", "klingon", "it is 'klingon', expected an encoding that Python knows, as 'cp1252'"),
        ("--encoding", "rot13", "it is 'rot13', expected an encoding that Python knows, as 'cp1252'"),
        ("--encoding", "idna", "it is 'idna', expected an encoding that Python knows, as 'cp1252'"),
        ("--encoding", "", "it is '', expected an encoding that Python knows, as 'cp1252'"),
        ("--true-words", "yes,,x", "it is 'yes,,x', expected words, as 'yes,x'"),
        ("--label-separator", "", "it is '', expected the text between the labels of a cell, as '|'"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(
    option: str, value: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run("fit", "s.csv", option, value, "-o", "rule.json")
    assert ended.value.code == 2
    assert f"argument {option}: {said}" in flat(capsys.readouterr().err)


# Weights


@pytest.mark.usefixtures("folder")
def test_a_fit_counts_rows_by_their_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "s.npz", "--weights", "w", "--groups", "who", "--json", "-o", "rule.json") == 0
    said = json.loads(capsys.readouterr().out)
    fitted = thresholds.cross_fit(
        TRUTH, SCORES, sample_weight=WEIGHTS, groups=GROUPS, guard="auto", label_names=NAMES, alternatives=True
    )
    rule = thresholds.load_rule("rule.json")
    assert isinstance(rule, thresholds.ThresholdRule)
    np.testing.assert_array_equal(rule.thresholds, fitted.rule.thresholds)
    assert said["cross_fit"]["out_of_fold"] == fitted.out_of_fold
    assert said["verdicts"] is None
    assert said["labels"] is None

    assert run("fit", "s.npz", "--weights", "w", "-o", "rule.json") == 0
    assert "no verdicts on labels: they count each row once, and rows have weights" in flat(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "fit"),
    [
        (
            ["--cv", "0", "--guard", "none"],
            lambda: thresholds.fit_empirical(TRUTH, SCORES, sample_weight=WEIGHTS, label_names=NAMES),
        ),
        (
            ["--cv", "0", "--rule", "micro, shared"],
            lambda: thresholds.fit(TRUTH, SCORES, "micro, shared", sample_weight=WEIGHTS, label_names=NAMES),
        ),
        (["--expected"], lambda: thresholds.fit_expected(SCORES, sample_weight=WEIGHTS, label_names=NAMES)),
        (
            ["--best", "macro"],
            lambda: thresholds.select_rule(TRUTH, SCORES, "macro", sample_weight=WEIGHTS, label_names=NAMES).rule,
        ),
    ],
    ids=["no folds", "by name", "expected", "best"],
)
@pytest.mark.usefixtures("folder")
def test_every_fit_has_weights(options: list[str], fit: Any) -> None:
    assert run("fit", "s.npz", "--weights", "w", *options, "-o", "rule.json") == 0
    saved, fitted = thresholds.load_rule("rule.json"), fit()
    assert saved.objective == fitted.objective
    np.testing.assert_array_equal(saved.predict(SCORES), fitted.predict(SCORES))


@pytest.mark.usefixtures("folder")
def test_rules_are_compared_by_weights(capsys: pytest.CaptureFixture[str]) -> None:
    for name, threshold in (("low", 0.3), ("high", 0.6)):
        thresholds.FixedRule(threshold, 3, label_names=NAMES).save(f"{name}.json")
    assert run("compare", "s.npz", "--weights", "w", "--rule", "low.json", "--rule", "high.json", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    rules = {f"{name}.json": thresholds.load_rule(f"{name}.json") for name in ("low", "high")}
    expected = thresholds.compare(rules, TRUTH, SCORES, sample_weight=WEIGHTS)
    assert said["measures"] == json.loads(json.dumps(expected.to_dict()["measures"]))

    # Rules that are fitted: weights count in both halves.
    assert run("compare", "s.npz", "--weights", "w", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    unweighted = thresholds.compare(None, TRUTH, SCORES, label_names=NAMES)
    weighted = thresholds.compare(None, TRUTH, SCORES, sample_weight=WEIGHTS, label_names=NAMES)
    assert said["measures"] == json.loads(json.dumps(weighted.to_dict()["measures"]))
    assert said["measures"] != json.loads(json.dumps(unweighted.to_dict()["measures"]))


@pytest.mark.usefixtures("folder")
def test_a_rule_is_updated_by_weights() -> None:
    old = thresholds.cross_fit(TRUTH[::-1], SCORES, label_names=NAMES).rule
    old.save("old.json")
    assert run("update", "old.json", "s.npz", "--weights", "w", "-o", "new.json") == 0
    assert isinstance(old, thresholds.ThresholdRule)
    expected = thresholds.update_rule(old, TRUTH, SCORES, sample_weight=WEIGHTS, label_names=NAMES).rule
    saved = thresholds.load_rule("new.json")
    assert isinstance(saved, thresholds.ThresholdRule)
    np.testing.assert_array_equal(saved.thresholds, expected.thresholds)


@pytest.mark.usefixtures("folder")
def test_weights_below_0_are_refused_by_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("s.npz", y_true=TRUTH, y_score=SCORES, w=WEIGHTS - 3)
    for command in (["fit", "-o", "rule.json"], ["compare"]):
        said = refusal(capsys, command[0], "s.npz", "--weights", "w", *command[1:])
        assert "weight" in said
        assert "sample_weight" not in said
    assert not Path("rule.json").exists()


@pytest.mark.usefixtures("folder")
def test_weights_that_are_not_there_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'weight'" in refusal(capsys, "fit", "s.npz", "--weights", "weight", "-o", "rule.json")


@pytest.mark.usefixtures("folder")
def test_weights_and_groups_may_stand_with_the_truth() -> None:
    pytest.importorskip("pyarrow")
    text("s.csv", "id,cat,dog,emu", *(f"{k},{','.join(map(str, SCORES[k]))}" for k in range(80)))
    rows = [f"{k},p{GROUPS[k]},{WEIGHTS[k]},{','.join(map(str, TRUTH[k]))}" for k in range(80)[::-1]]
    text("t.csv", "id,who,w,cat,dog,emu", *rows)
    options = ["--weights", "w", "--groups", "who"]
    assert run("fit", "s.npz", *options, "-o", "a.json") == 0
    assert run("fit", "s.csv", "--truth", "t.csv", "--key", "id", *options, "-o", "b.json") == 0
    first, second = (thresholds.load_rule(f"{name}.json") for name in "ab")
    assert isinstance(first, thresholds.ThresholdRule)
    assert isinstance(second, thresholds.ThresholdRule)
    np.testing.assert_array_equal(first.thresholds, second.thresholds)


# Truth in words, and in one cell


def lists_of(row: Any) -> list[str]:
    """The labels that are true."""
    return [NAMES[place] for place in np.flatnonzero(row)]


@pytest.fixture
def tables(folder: Path) -> Path:
    """Scores, and truth in other files: in words, and in one cell."""
    pytest.importorskip("pyarrow")
    text("s.csv", "id,cat,dog,emu", *(f"{k},{','.join(map(str, SCORES[k]))}" for k in range(80)))
    words = {"ja": ("nein", "ja"), "x": ("", "x")}
    for name, (no, yes) in words.items():
        text(
            f"{name}.csv", "id,cat,dog,emu", *(f"{k},{','.join(yes if y else no for y in TRUTH[k])}" for k in range(80))
        )
    for name, separator in {"bar": "|", "comma": ", ", "space": " "}.items():
        text(f"{name}.csv", "id,found", *(f'{k},"{separator.join(lists_of(TRUTH[k]))}"' for k in range(80)))
    return folder


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("ja.csv", ["--true-words", "ja"]),
        ("x.csv", ["--true-words", "x"]),
        ("x.csv", ["--true-words", "yes,x"]),
        ("bar.csv", ["--truth-column", "found", "--label-separator", "|"]),
        ("comma.csv", ["--truth-column", "found", "--label-separator", ","]),
        ("space.csv", ["--truth-column", "found", "--label-separator", " "]),
    ],
)
@pytest.mark.usefixtures("tables")
def test_truth_is_read_as_it_is_published(file: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", "s.csv", "--truth", file, "--key", "id", *options, "-o", "rule.json") == 0
    rule = thresholds.load_rule("rule.json")
    assert rule.objective == thresholds.cross_fit(TRUTH, SCORES, guard="auto").rule.objective

    # The command for more, which is printed last, reads the same truth.
    (more,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  thresholds diagnose")]
    assert run(*shlex.split(more)[1:]) == 0


@pytest.mark.usefixtures("tables")
def test_labels_in_one_cell_without_the_option_are_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--truth", "bar.csv", "--key", "id", "--truth-column", "found")
    assert "--label-separator" in refusal(capsys, "fit", "s.csv", *asked, "-o", "rule.json")


@pytest.mark.usefixtures("tables")
def test_rows_without_scores_are_left_out_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{k},{','.join('' if (k, j) in ((3, 1), (9, 0), (9, 2)) else str(SCORES[k, j]) for j in range(3))}"
            for k in range(80)]  # fmt: skip
    text("holes.csv", "id,cat,dog,emu", *rows)
    asked = ("fit", "holes.csv", "--truth", "ja.csv", "--key", "id", "--true-words", "ja", "--json", "-o", "rule.json")
    assert "--drop-unscored" in refusal(capsys, *asked)
    assert run(*asked, "--drop-unscored") == 0
    assert any("2 rows" in note for note in json.loads(capsys.readouterr().out)["notes"])
    kept = np.delete(np.arange(80), [3, 9])
    fitted = thresholds.cross_fit(TRUTH[kept], SCORES[kept], guard="auto").rule
    assert thresholds.load_rule("rule.json").objective == fitted.objective


# Encodings and dialects


DIALECTS = [
    ("utf-8-sig", ";", "\r\n", []),
    ("utf-16", "\t", "\r\n", []),
    ("cp1252", ";", "\n", ["--encoding", "cp1252"]),
    ("utf-8", ",", "\n", []),
]


@pytest.mark.parametrize(("encoding", "separator", "end", "options"), DIALECTS, ids=[form[0] for form in DIALECTS])
@pytest.mark.usefixtures("folder")
def test_decisions_have_the_dialect_of_the_scores(encoding: str, separator: str, end: str, options: list[str]) -> None:
    pytest.importorskip("pyarrow")
    names = ("Käse", "Öl", "Öl & Käse")
    thresholds.ThresholdRule([0.5, 0.4, 0.6], label_names=names).save("rule.json")
    header = separator.join(("Schlüssel", *names))
    rows = [separator.join((f"é{k}", *map(str, SCORES[k]))) for k in range(80)]
    text("s.csv", header, *rows, encoding=encoding, end=end)
    assert run("predict", "rule.json", "s.csv", "--key", "Schlüssel", *options, "-o", "out.csv") == 0
    decided = (SCORES >= [0.5, 0.4, 0.6]).astype(int)
    expected = [separator.join((f"é{k}", *map(str, decided[k]))) for k in range(80)]
    text("expected.csv", header, *expected, encoding=encoding, end=end)
    assert Path("out.csv").read_bytes() == Path("expected.csv").read_bytes()


@pytest.mark.usefixtures("folder")
def test_an_encoding_that_is_not_told_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    text("s.csv", "Käse,Öl", "0.5,0.25", encoding="cp1252")
    thresholds.FixedRule(0.5, 2, label_names=("Käse", "Öl")).save("rule.json")
    assert "--encoding" in refusal(capsys, "predict", "rule.json", "s.csv", "-o", "out.csv")
    assert run("predict", "rule.json", "s.csv", "--encoding", "cp1252", "-o", "out.csv") == 0
    assert Path("out.csv").read_bytes() == "Käse,Öl\n1,0\n".encode("cp1252")


@pytest.mark.usefixtures("folder")
def test_formulas_are_quoted_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    text("s.csv", "id,cat,dog", "=1+1,0.9,0.1", "-5,0.1,0.9")
    thresholds.FixedRule(0.5, 2, label_names=("cat", "dog")).save("rule.json")
    asked = ("predict", "rule.json", "s.csv", "--key", "id")
    assert run(*asked, "-o", "out.csv") == 0
    assert Path("out.csv").read_text() == "id,cat,dog\n=1+1,1,0\n-5,0,1\n"
    assert run(*asked, "--quote-formulas", "-o", "out.csv") == 0
    assert Path("out.csv").read_text() == "id,cat,dog\n'=1+1,1,0\n'-5,0,1\n"
    capsys.readouterr()
    said = refusal(capsys, *asked, "--quote-formulas", "-o", "out.npz")
    assert said == "--quote-formulas is given with out.npz, expected a file that ends in .csv"
