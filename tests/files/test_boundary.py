"""Bytes from outside are not believed: a damaged file is one sentence, and takes no more memory than is stated."""

import json
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import InputError, cli
from thresholds._checks.boundary import reading
from thresholds.data.growing import Gathered
from thresholds.files import open_scores, read_label_names, write_atomically

pytestmark = pytest.mark.each_value

SCORES = np.arange(12, dtype=np.float32).reshape(6, 2) / 16
TRUTH = (SCORES > 0.3).astype(np.uint8)
MEBI = 2**20


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def rule_in(folder: Path, n_labels: int = 2) -> Path:
    """Save a rule."""
    thresholds.FixedRule(0.5, n_labels).save(folder / "rule.json")
    return folder / "rule.json"


# One boundary


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (IndexError("list index out of range"), "cannot be read: IndexError list index out of range"),
        (zlib.error("invalid distance"), "cannot be read: error invalid distance"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "cannot be read: 'utf-8' codec can't decode byte 0xff"),
        (NotImplementedError("zip file version 17.4"), "cannot be read: NotImplementedError zip file version 17.4"),
        (RecursionError("maximum depth"), "cannot be read: it is nested too deeply"),
        (MemoryError(), "cannot be read: it takes more memory than there is"),
        (EOFError(), "cannot be read: EOFError"),
        (OSError("Corrupt snappy data"), "cannot be read: Corrupt snappy data"),
        (ValueError("a\n  b" + 500 * "c"), "cannot be read: a b" + 197 * "c" + "...$"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_whatever_a_parser_raises_is_one_sentence_that_names_the_file(raised: Exception, said: str) -> None:
    with pytest.raises(InputError, match=f"^some.bin {said}") as caught, reading("some.bin"):
        raise raised
    assert caught.value.__cause__ is raised
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "raised",
    [InputError("p has NaN"), PermissionError(13, "Permission denied", "other"), KeyboardInterrupt()],
    ids=repr,
)
def test_what_is_no_failure_of_a_parser_passes(raised: BaseException) -> None:
    with pytest.raises(type(raised)) as caught, reading("some.bin"):
        raise raised
    assert caught.value is raised


def test_an_error_of_the_system_without_a_name_gets_that_of_the_file() -> None:
    with pytest.raises(OSError, match=r"Input/output error: 'some.bin'"), reading("some.bin"):
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    "values",
    [
        {"unsupported": [2**63]},
        {"fitted_on": {"n_samples": 10**400}},
        {"thresholds": [[]] * 2},
        {"label_names": ["\ud800", "b"]},
    ],
    ids=str,
)
def test_a_rule_with_impossible_values_is_refused(values: dict[str, Any], tmp_path: Path) -> None:
    path = rule_in(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    with pytest.raises(InputError, match=r"rule.json"):
        thresholds.load_rule(path)


def test_label_names_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"names.json cannot be read as label names: it has lists"):
        read_label_names(tmp_path / "names.json")


# Memory

_PEAK = """
import resource, sys
from thresholds import cli
limit, *arguments = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
status = cli.main(arguments)
print(status, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def peak(*arguments: object, limit: int = 2**36) -> tuple[int, int, str]:
    """Give the status of a command, the MiB that it took, and its last words."""
    command = [sys.executable, "-c", _PEAK, str(limit), *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    status, taken = (int(word) for word in ran.stdout.split()[-2:])
    return status, taken, ran.stderr


def test_deflated_scores_are_read_in_the_memory_that_they_take(tmp_path: Path) -> None:
    cells = np.zeros((500_000, 50), np.float32)  # 95 MiB
    np.savez_compressed(tmp_path / "s.npz", y_score=cells)
    rule = rule_in(tmp_path, 50)
    status, taken, err = peak("diff", rule, rule, tmp_path / "s.npz")
    assert (status, err) == (0, "")
    assert taken < 1.6 * cells.nbytes / MEBI, "nothing beside the scores but their decisions"


def test_rows_of_json_are_read_by_their_length(tmp_path: Path) -> None:
    row = json.dumps({"p": [0.5] * 5_000})
    (tmp_path / "s.jsonl").write_text((row + "\n") * 400)  # 2,000,000 numbers of 24 bytes
    status, taken, err = peak("predict", rule_in(tmp_path, 5_000), tmp_path / "s.jsonl", "-o", tmp_path / "out.npz")
    assert (status, err) == (0, "")
    assert taken < 85, "it took 119 when a thousand rows were read at once"


def test_a_line_of_json_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b'{"p": [' + b"0," * 2**23)
    with pytest.raises(InputError, match=r"s.jsonl has a line of more than 16,777,216 bytes, expected at most that"):
        open_scores(tmp_path / "s.jsonl")


def test_rows_are_gathered_whatever_number_was_expected() -> None:
    gathered = Gathered("y_score", n_rows=2**61)
    gathered.add(SCORES)
    np.testing.assert_array_equal(gathered.matrix(), SCORES)


# Output


def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    replace, fsync = os.replace, os.fsync

    def noted(opened: int) -> None:
        name = os.readlink(f"/proc/self/fd/{opened}")
        full = os.path.isfile(name) and os.path.getsize(name) == 4
        steps.append("file" if full else "folder" if name == str(tmp_path) else name)
        fsync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", lambda *paths: (steps.append("replace"), replace(*paths)))
    write_atomically(tmp_path / "out", lambda stream: stream.write(b"four"))
    assert steps == ["file", "replace", "folder"]


def test_a_file_that_cannot_be_put_on_the_disk_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "out").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "out", lambda stream: stream.write(b"new"))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "there" / "new")
    for content in (b"first", b"second"):
        write_atomically(tmp_path / "out", lambda stream, content=content: stream.write(content))
        assert (tmp_path / "out").is_symlink()
        assert (tmp_path / "there" / "new").read_bytes() == content


def test_the_longest_name_that_the_file_system_takes(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("n" * 255), lambda stream: stream.write(b"new"))
    assert [path.name for path in tmp_path.iterdir()] == ["n" * 255]


def scores_in(folder: Path, **changes: Any) -> Path:
    """Scores and truth of 40 rows and 3 labels."""
    rng = np.random.default_rng(0)
    truth = (rng.random((40, 3)) < 0.4).astype(np.uint8)
    scores = np.round(0.6 * rng.random((40, 3)) + 0.3 * truth, 3)
    np.savez(folder / "s.npz", **({"y_true": truth, "y_score": scores} | changes))
    return folder / "s.npz"


def test_truth_that_cannot_be_used_is_met_before_a_rule_is_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scores_in(tmp_path, y_true=np.full((40, 3), 7))
    assert run("fit", path, "--expected", "-o", tmp_path / "rule.json") == 1
    found = capsys.readouterr()
    assert (found.out, found.err.count("\n")) == ("", 1)
    assert not (tmp_path / "rule.json").exists()


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command line in a folder; `THRESHOLDS` is the program."""
    command = command.replace("THRESHOLDS", f"{sys.executable} -m thresholds")
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "status"), [pytest.param("2>&-", 0, marks=pytest.mark.soak), ("<&- >&- 2>&-", 0), (">/dev/full", 1)]
)
def test_streams_that_lead_nowhere_keep_no_file_from_being_written(streams: str, status: int, tmp_path: Path) -> None:
    scores_in(tmp_path)
    thresholds.FixedRule(1.0, 3).save(tmp_path / "rule.json")
    ran = shell(f"THRESHOLDS fit s.npz --cv 0 -o new.json {streams}", tmp_path)
    assert ran.returncode == status
    assert isinstance(thresholds.load_rule(tmp_path / "new.json"), thresholds.ThresholdRule)
    assert ran.stderr == ("" if status == 0 else "thresholds: error: standard output: No space left on device\n")


def test_an_error_that_cannot_be_said_has_its_status(tmp_path: Path) -> None:
    assert shell("THRESHOLDS fit nothing.npz -o new.json 2>/dev/full", tmp_path).returncode == 1


@pytest.mark.slow
def test_what_is_written_to_a_pipe_comes_out(tmp_path: Path) -> None:
    scores_in(tmp_path)
    ran = shell("THRESHOLDS fit s.npz --cv 0 -o /dev/stdout | cat", tmp_path)
    assert json.JSONDecoder().raw_decode(ran.stdout)[0]["kind"] == "thresholds"


_WAITING = """
import os
import signal
import sys
import thresholds.files.writing as writing
from thresholds import cli

def started(stream, blocks, form):
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()

if not os.environ.get("UNDER_NOHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # The tests themselves may run under nohup.
writing._WRITERS[".jsonl"] = started
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("ignored", [False, True], ids=["usual", "nohup"])
def test_a_terminal_that_closes_leaves_nothing_unless_that_is_ignored(ignored: bool, tmp_path: Path) -> None:
    rule_in(tmp_path, 3)
    scores_in(tmp_path)
    given = ["predict", "rule.json", "s.npz", "-o", "out.jsonl"]
    before = "trap '' HUP; export UNDER_NOHUP=1; " if ignored else ""
    with subprocess.Popen(
        ["/bin/sh", "-c", f'{before}exec "$0" "$@"', sys.executable, "-c", _WAITING, *given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGHUP)
        if ignored:
            process.stdin.close()
        assert process.wait(60) in ((0, 1) if ignored else (128 + signal.SIGHUP,))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [*(["out.jsonl"] if ignored else []), "rule.json", "s.npz"]
