"""A library that is needed and not installed is an `ImportError` of one sentence, which says what to install."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thresholds import InstanceRule

CALLED = """
import sys
sys.modules[{library!r}] = None
import thresholds
from thresholds.files import read_labelled
rule = thresholds.FixedRule(0.5, 2)
try:
    {call}
except ImportError as error:
    print(error)
"""

RUN = """
import sys
sys.modules[{library!r}] = None
from thresholds.cli import main
sys.exit(main({arguments!r}))
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a new interpreter says."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.parametrize(
    ("library", "call", "sentence"),
    [
        ("torch", "rule.to_torch()", "to_torch() needs torch: pip install 'torch'"),
        ("onnx", "rule.to_onnx()", "to_onnx() needs onnx: pip install 'f1-thresholds[onnx]'"),
        ("pandas", "thresholds.diff_rules(rule, rule).to_frame()", "to_frame() needs pandas: pip install 'pandas'"),
        (
            "jinja2",
            "thresholds.make_report(None, None)",
            "make_report() needs jinja2: pip install 'f1-thresholds[report]'",
        ),
        ("pyarrow", "read_labelled('s.csv')", "s.csv needs pyarrow: pip install 'f1-thresholds[arrow]'"),
        (
            "numba",
            "thresholds.InstanceRule().predict([[0.5, 0.1]])",
            "a compiled loop needs numba: pip install 'f1-thresholds'",
        ),
    ],
)
def test_a_call_names_the_library_that_it_lacks(library: str, call: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("y_score_cat,y_true_cat\n0.5,1\n")
    ran = run(CALLED.format(library=library, call=call), tmp_path)
    assert (ran.stdout, ran.stderr) == (sentence + "\n", "")


@pytest.mark.parametrize(
    ("library", "arguments", "sentence"),
    [
        ("numba", ["warmup"], "this command needs numba: pip install 'f1-thresholds'"),
        (
            "numba",
            ["predict", "rule.json", "s.npz", "-o", "o.npz"],
            "a compiled loop needs numba: pip install 'f1-thresholds'",
        ),
        (
            "scipy",
            ["predict", "rule.json", "sparse.npz", "-o", "o.npz"],
            "the sparse y_score of sparse.npz needs scipy: pip install 'f1-thresholds'",
        ),
        (
            "jinja2",
            ["report", "nothing.npz", "-o", "report.html"],
            "thresholds report needs jinja2: pip install 'f1-thresholds[report]'",
        ),
        (
            "onnx",
            ["export", "rule.json", "-o", "rule.onnx"],
            "to_onnx() needs onnx: pip install 'f1-thresholds[onnx]'",
        ),
    ],
)
def test_a_command_names_the_library_that_it_lacks(
    library: str, arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    InstanceRule().save(tmp_path / "rule.json")
    np.savez(tmp_path / "s.npz", y_score=np.float32([[0.5, 0.1]]))
    parts = {"data": [0.5], "indices": [0], "indptr": [0, 1], "shape": [1, 2]}
    np.savez(tmp_path / "sparse.npz", **{f"y_score_{name}": np.array(part) for name, part in parts.items()})
    ran = run(RUN.format(library=library, arguments=arguments), tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == f"thresholds: error: {sentence}"
