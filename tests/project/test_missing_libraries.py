"""A library that is needed and not installed is an `ImportError` of one sentence, which says what to install."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thresholds import InstanceRule

# One after another in one interpreter, each without its library: what an import has failed for is tried anew.
RUN = """
import sys
import thresholds
from thresholds.cli import main
from thresholds.files import read_labelled
rule = thresholds.FixedRule(0.5, 2)
for library, call in {calls!r}:
    sys.modules[library] = None
    try:
        print(eval(call))
    except ImportError as error:
        print(error)
    del sys.modules[library]
"""


def run(calls: list[tuple[str, str]], folder: Path) -> subprocess.CompletedProcess[str]:
    """What a new interpreter says to calls, each without a library."""
    code = RUN.format(calls=calls)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)


TABLES = [".parquet", ".pq", ".feather", ".arrow", ".orc", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".jsonl"]
TABLES += [".jsonl.gz", ".ndjson"]


@pytest.mark.slow
def test_without_pyarrow_arrays_are_read_and_tables_say_what_to_install(tmp_path: Path) -> None:
    """Whatever is in them, and in shards and as the truth of arrays, too."""
    (tmp_path / "shards").mkdir()
    for name in (*(f"s{suffix}" for suffix in TABLES), "shards/0.jsonl"):
        (tmp_path / name).write_text("y_score_cat,y_true_cat\n0.5,1\n")
    np.savez(tmp_path / "s.npz", y_score=[[0.5]], y_true=[[1]])
    np.save(tmp_path / "t.npy", [[1]])
    (tmp_path / "x.txt").write_text("1 1\n0:0.5\n")
    (tmp_path / "t.svm").write_text("0 1:0.5\n")
    paths = [*(f"s{suffix}" for suffix in TABLES), "shards", "shards/*.jsonl"]
    said = {f"thresholds.read({path!r})": f"{path} needs pyarrow: pip install pyarrow" for path in paths}
    said["thresholds.read('s.npz', truth='s.csv')"] = "s.csv needs pyarrow: pip install pyarrow"
    arrays = ["'s.npz'", "'s.npz', truth='t.npy'", "'x.txt', truth='t.svm'"]
    said |= {f"thresholds.read({path}).y_true.sum()": "1" for path in arrays}
    ran = run([("pyarrow", call) for call in said], tmp_path)
    assert (ran.stdout.splitlines(), ran.stderr) == (list(said.values()), "")


@pytest.mark.slow
def test_a_call_names_the_library_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("y_score_cat,y_true_cat\n0.5,1\n")
    said = {
        ("torch", "rule.to_torch()"): "to_torch() needs torch: pip install torch",
        ("onnx", "rule.to_onnx()"): "to_onnx() needs onnx: pip install onnx",
        ("pandas", "thresholds.diff_rules(rule, rule).to_frame()"): "to_frame() needs pandas: pip install pandas",
        (
            "jinja2",
            "thresholds.make_report(None, None)",
        ): "make_report() needs jinja2: pip install jinja2",
        ("pyarrow", "read_labelled('s.csv')"): "s.csv needs pyarrow: pip install pyarrow",
        (
            "numba",
            "thresholds.InstanceRule().predict([[0.5, 0.1]], tail=[0.1])",
        ): "a compiled loop needs numba: pip install numba",
    }
    ran = run(list(said), tmp_path)
    assert (ran.stdout.splitlines(), ran.stderr) == (list(said.values()), "")


COMMANDS = (
    ("numba", ["warmup"], "a compiled loop needs numba: pip install numba"),
    (
        "numba",
        ["predict", "rule.json", "s.npz", "-o", "o.npz"],
        "a compiled loop needs numba: pip install numba",
    ),
    (
        "scipy",
        ["predict", "rule.json", "sparse.npz", "-o", "o.npz"],
        "the sparse y_score of sparse.npz needs scipy: pip install scipy",
    ),
    (
        "jinja2",
        ["report", "nothing.npz", "-o", "report.html"],
        "thresholds report needs jinja2: pip install jinja2",
    ),
    (
        "onnx",
        ["export", "rule.json", "-o", "rule.onnx"],
        "to_onnx() needs onnx: pip install onnx",
    ),
)


@pytest.mark.slow
def test_a_command_names_the_library_that_it_lacks(tmp_path: Path) -> None:
    InstanceRule().save(tmp_path / "rule.json")
    np.savez(tmp_path / "s.npz", y_score=np.full((1, 24), 0.5, np.float32))
    parts = {"data": [0.5], "indices": [0], "indptr": [0, 1], "shape": [1, 2]}
    np.savez(tmp_path / "sparse.npz", **{f"y_score_{name}": np.array(part) for name, part in parts.items()})
    ran = run([(library, f"main({arguments})") for library, arguments, _ in COMMANDS], tmp_path)
    assert ran.stdout.splitlines() == ["1"] * len(COMMANDS)
    assert ran.stderr.splitlines() == [f"thresholds: error: {sentence}" for _, _, sentence in COMMANDS]
