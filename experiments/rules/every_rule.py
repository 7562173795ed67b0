"""Can every rule that `compare --all` shows be had? Fitted by name, saved, loaded elsewhere, cross-fitted: one rule.

    python experiments/rules/every_rule.py scores.npz ... | tee experiments/rules/every_rule.txt

For each file and each of its scores, every rule of the list is fitted on the calibration rows: by `thresholds.fit`, by
`thresholds fit --rule` and by `cross_fit`. What the command saved is checked against `rule.schema.json`, loaded in a
new process, and decides about the test rows there. Decisions must be the same four times, and micro-F1 of them what
`compare --all` shows. A line that ends in "same" says that all of this holds; the first that does not ends the run.
"""

import contextlib
import hashlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

import thresholds
from thresholds import cli
from thresholds.files import read_labelled
from thresholds.metrics import f1_score

SCHEMA = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())

# Decides with each rule of a folder, in a process that has fitted nothing.
ELSEWHERE = """
import hashlib, json, sys
from pathlib import Path
import thresholds
from thresholds.files import read_labelled
path, key, folder = sys.argv[1:]
data = read_labelled(path, key)
scores = data.y_score[data.test_idx]
found = {}
for rule_file in sorted(Path(folder).glob("*.json")):
    decided = thresholds.load_rule(rule_file).predict(scores, dense=True)
    found[rule_file.stem] = hashlib.sha256(decided.tobytes()).hexdigest()
print(json.dumps(found))
"""


def main(paths: list[str]) -> None:
    """Check each file."""
    for path in paths:
        for key in score_keys(path):
            check(path, key)


def score_keys(path: str) -> list[str]:
    """Name the scores of a file."""
    with np.load(path) as arrays:
        names = {name.removesuffix("_indptr") for name in arrays.files if name.startswith("y_score")}
    parts = ("_data", "_indices", "_shape")
    return sorted(name for name in names if not name.endswith(parts))


def check(path: str, key: str) -> None:
    """Fit every rule in every way, and hold the decisions against each other."""
    data = read_labelled(path, key)
    truth, scores = data.y_true[data.calib_idx], data.y_score[data.calib_idx]
    new_truth, new_scores = data.y_true[data.test_idx], data.y_score[data.test_idx]
    shown = {row["rule"]: row for row in compared(path, key)}
    by_hand: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(shown):
            options: Any = {"missing": 0.0, "label_names": data.label_names}
            if "keep_sparse" in thresholds.RULES[name].options:
                options["keep_sparse"] = True

            # Fitted in Python, on the command line, and cross-fitted.
            rule = thresholds.fit(truth, scores, name, **options)
            crossed = thresholds.cross_fit(truth, scores, rule=name, cv=2, verdicts=False, **options)
            saved = Path(folder) / f"{number:02}.json"
            run("fit", path, "--score-key", key, "--rule", name, "--cv", "2", "-o", str(saved))
            jsonschema.validate(json.loads(saved.read_text()), SCHEMA)

            decided = rule.predict(new_scores, dense=True)
            assert np.array_equal(decided, crossed.rule.predict(new_scores, dense=True)), name
            assert thresholds.load_rule(saved).out_of_fold.f == crossed.out_of_fold, name
            assert f1_score(new_truth, decided, average="micro", zero_division=0) == shown[name]["micro"], name
            by_hand[saved.stem] = hashlib.sha256(decided.tobytes()).hexdigest()
        command = [sys.executable, "-c", ELSEWHERE, path, key, folder]
        elsewhere = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert elsewhere == by_hand
    left_out = len(thresholds.RULES) - len(shown)
    counts = f"{len(shown)} rules, {left_out} left out"
    print(f"{Path(path).name:<28} {key:<14} {counts}: same", flush=True)


def compared(path: str, key: str) -> list[dict[str, Any]]:
    """Return what `compare --all` shows."""
    return json.loads(run("compare", "--all", path, "--score-key", key, "--json"))["measures"]


def run(*arguments: str) -> str:
    """Run a command in this process, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = cli.main(arguments)
    assert status == 0, arguments
    return printed.getvalue()


if __name__ == "__main__":
    main(sys.argv[1:])
