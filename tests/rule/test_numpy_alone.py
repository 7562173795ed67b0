"""Where only NumPy is installed, rules of thresholds, of regions and of the top k are loaded, and decide."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.rules import RULES
from thresholds import CalibratedRule, ThresholdRule
from thresholds.rule import Rule

SERVED = """
import sys, warnings
for blocked in ("numba", "llvmlite", "scipy", "scipy.sparse", "sklearn", "pandas"):
    sys.modules[blocked] = None
import json
import numpy as np
import thresholds

warnings.simplefilter("ignore")
answers = {{}}
for name in {names!r}:
    rule = thresholds.load_rule({folder!r} + f"/{{name}}.json")
    with np.load({folder!r} + f"/{{name}}.npz") as archive:
        scores = archive["scores"]
    answer = [rule.predict(scores).tolist(), rule.predict(scores[0]).tolist()]
    answers[name] = answer
print(json.dumps(answers))
"""
NAMES = [
    name for name in RULES if name not in ("instance", "fitted instance", "capped, instance", "capped, calibrated")
]


def numpy_rule(name: str) -> Rule | None:
    """A rule that needs NumPy alone, which calibrated thresholds become; None for what needs more."""
    rule = RULES[name]
    if not isinstance(rule, CalibratedRule):
        return rule
    return rule.to_regions() if isinstance(rule.rule, ThresholdRule) else None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")
@pytest.mark.parametrize("change", ["none", "order", "logits"])
def test_rules_are_served_by_numpy_alone(change: str, tmp_path: Path) -> None:
    """Whatever has happened to the scores: what is said of it needs no more, either."""
    expected = {}
    for name in NAMES:
        rule = numpy_rule(name)
        if rule is None:
            continue
        scores = np.random.default_rng(9).random((80, rule.n_labels or 4)).astype(np.float32)
        if change == "order":
            scores = scores[:, ::-1] ** np.arange(1, scores.shape[1] + 1)
        if change == "logits":
            scores = 9 * scores - 5
        file = f"rule {len(expected)}"
        rule.save(tmp_path / f"{file}.json")
        np.savez(tmp_path / f"{file}.npz", scores=scores)
        expected[file] = [rule.predict(scores).tolist(), rule.predict(scores[0]).tolist()]
    code = SERVED.format(names=list(expected), folder=str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == expected
