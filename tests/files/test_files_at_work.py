"""Commands on files: numbers of text for rules of narrow dtypes, outputs that are inputs, and ends that come early."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import cli

RNG = np.random.default_rng(5)
SCORES = np.round(RNG.random((400, 3)), 3).astype(np.float32)  # 0.772 is less than float32(0.772)
TRUTH = (RNG.random((400, 3)) < SCORES).astype(np.uint8)
NAMES = ("cat", "dog", "emu")


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def text_of(path: Path, scores: Any) -> Path:
    """Write scores as the shortest decimals that tell them apart in their dtype, and the truth."""
    rows = zip(scores, TRUTH.tolist(), strict=True)
    said = [f'{{"y_score": [{", ".join(map(str, row))}], "y_true": {json.dumps(truth)}}}\n' for row, truth in rows]
    path.write_text("".join(said))
    return path


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_scores_of_text_are_decided_in_the_dtype_of_the_fit(
    dtype: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = SCORES.astype(dtype)
    np.savez(tmp_path / "s.npz", y_score=scores, y_true=TRUTH)
    path, rule = text_of(tmp_path / "s.jsonl", scores), tmp_path / "rule.json"
    given = ["--placement", "score", "--guard", "none", "--cv", "0"]
    assert run("fit", tmp_path / "s.npz", *given, "-o", rule) == 0
    fitted = thresholds.load_rule(rule)
    expected = fitted.predict(scores)
    as_float64 = np.array([json.loads(line)["y_score"] for line in path.read_text().splitlines()])
    assert (fitted.predict(as_float64) != expected).any(), "the scores tell the dtypes apart"

    assert run("predict", rule, path, "-o", tmp_path / "out.jsonl") == 0
    said = f"scores written as text are read as {dtype}, in which the rule was fitted"
    assert said in capsys.readouterr().out
    written = [json.loads(line)["labels"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written == thresholds.data.label_lists.to_label_lists(expected)
    for command in (["diagnose", "--rule", rule], ["diff", rule, rule]):
        found = []
        for file in (path, tmp_path / "s.npz"):
            assert run(*command, file, "--json") == 0
            out = capsys.readouterr().out.replace("s.npz", "s.jsonl")
            found.append(json.loads(out))
        assert [said in values.pop("notes") for values in found] == [True, False]
        assert found[0] == found[1]


def test_scores_of_text_stay_float64_for_other_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = text_of(tmp_path / "s.jsonl", SCORES)
    thresholds.FixedRule(0.5, 3).save(tmp_path / "fixed.json")
    thresholds.fit_empirical(TRUTH, SCORES.astype(np.float64)).save(tmp_path / "wide.json")
    for name in ("fixed.json", "wide.json"):
        assert run("predict", tmp_path / name, path, "-o", tmp_path / "out.npz") == 0
        assert "scores 'y_score' (float64)" in capsys.readouterr().out


def test_what_is_too_large_for_the_dtype_of_the_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thresholds.fit_empirical([[1], [0]], np.array([[0.5], [0.25]], np.float16)).save(tmp_path / "rule.json")
    (tmp_path / "s.jsonl").write_text('{"y_score": [0.5]}\n{"y_score": [70000]}\n'.replace("70000", "70000.0"))
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.jsonl", "-o", tmp_path / "out.npz") == 1
    assert "y_score has +inf at row 1, label 0, expected real scores" in capsys.readouterr().err


# Outputs that are inputs


def test_what_is_read_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = tmp_path / "rule.json"
    thresholds.FixedRule(0.5, 3).save(rule)
    (tmp_path / "shards").mkdir()
    shard = text_of(tmp_path / "shards" / "a.jsonl", SCORES)
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=TRUTH)
    (tmp_path / "link.npz").symlink_to(tmp_path / "s.npz")
    for command, output in (
        (["predict", rule, tmp_path / "s.npz", "-o"], tmp_path / "s.npz"),
        (["predict", rule, tmp_path / "link.npz", "-o"], tmp_path / "s.npz"),
        (["predict", rule, tmp_path / "s.npz", "-o"], tmp_path / "link.npz"),
        (["predict", rule, shard.parent, "-o"], shard),
        (["predict", rule, shard.parent / "*.jsonl", "-o"], shard),
        (["fit", tmp_path / "s.npz", "-o"], tmp_path / "s.npz"),
        (["fit", tmp_path / "s.npz", "--truth", shard, "-o"], shard),
        (["diagnose", tmp_path / "s.npz", "--repair"], tmp_path / "s.npz"),
    ):
        before = output.read_bytes()
        assert run(*command, output) == 1
        assert f"{output} is a file of" in capsys.readouterr().err
        assert output.read_bytes() == before
    assert run("predict", rule, shard, "-o", tmp_path / "shards" / "b.jsonl") == 0
    assert run("predict", rule, shard, "-o", tmp_path / "shards" / "b.jsonl") == 0


# Ends that come early


def test_a_reader_that_leaves_an_output_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "out.jsonl")
    thresholds.FixedRule(0.0, 3).save(tmp_path / "rule.json")
    np.savez(tmp_path / "s.npz", y_score=np.tile(SCORES, (100, 1)))

    def leave() -> None:
        with open(tmp_path / "out.jsonl", "rb") as stream:
            stream.read(1)

    reader = threading.Thread(target=leave)
    reader.start()
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.jsonl") == 1
    reader.join()
    assert "out.jsonl: its reader has gone" in capsys.readouterr().err


_WAITING = """
import sys
import thresholds.files.writing as writing
from thresholds import cli

def started(stream, blocks, form):
    stream.write(b"half")
    print("writing", flush=True)
    sys.stdin.read()

writing._WRITERS[".jsonl"] = started
sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_process_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    np.savez(tmp_path / "s.npz", y_score=SCORES)
    given = ["predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.jsonl"]
    with subprocess.Popen(
        [sys.executable, "-c", _WAITING, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rule.json", "s.npz"]


def test_what_a_command_sets_is_set_back() -> None:
    import warnings

    before = warnings.showwarning, signal.getsignal(signal.SIGTERM)
    assert run("demo") == 0
    assert (warnings.showwarning, signal.getsignal(signal.SIGTERM)) == before
