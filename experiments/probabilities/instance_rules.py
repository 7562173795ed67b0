"""Which calibration suits per-instance decisions: samples F1 on rows that were not used for fitting.

For each score file (`.npz`, as `thresholds compare` takes), rules are fitted on its calibration rows and judged on its
test rows: the best threshold for all labels, the joint micro thresholds, and the sets of highest expected F1 of each
row, from the scores as they are and after calibration: by label, pooled over labels, and by label but drawn towards the
pooled curve.

    python experiments/probabilities/instance_rules.py FILE.npz [FILE.npz ...] [--score-key KEY] [--json FILE]
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from thresholds import CalibratedRule, InputError, InstanceRule, calibrate, fit_empirical, measure_calibration
from thresholds._results.text import aligned
from thresholds.files import LabelledFile, read_labelled
from thresholds.metrics import f1_score

CALIBRATIONS = {
    "isotonic, by label": ("isotonic", "label"),
    "isotonic, pooled": ("isotonic", "pooled"),
    "isotonic": ("isotonic", "shrink"),
    "Platt, by label": ("platt", "label"),
    "Platt, pooled": ("platt", "pooled"),
    "Platt": ("platt", "shrink"),
}


def rules_of(data: LabelledFile) -> dict[str, Any]:
    """Fit every rule on the calibration rows."""
    rows = data.halves()[0]
    truth, scores = data.y_true[rows], data.y_score[rows]
    rules: dict[str, Any] = {
        "one threshold": fit_empirical(truth, scores, "samples", per_label=False, keep_sparse=True),
        "micro": fit_empirical(truth, scores, "micro", keep_sparse=True),
        "as they are": InstanceRule(),
    }
    for name, (method, by) in CALIBRATIONS.items():
        rules[name] = CalibratedRule(calibrate(truth, scores, method, by), InstanceRule())  # type: ignore[arg-type]
    return rules


def judge(path: Path, score_key: str | None) -> dict[str, float]:
    """Give the samples F1 of every rule on the test rows, and how good the scores are as probabilities."""
    data = read_labelled(path, score_key)
    rows = data.halves()[1]
    truth, scores = data.y_true[rows], data.y_score[rows]
    found = {
        name: f1_score(truth, rule.predict(scores), average="samples", zero_division=0)
        for name, rule in rules_of(data).items()
    }
    calibration = measure_calibration(truth, scores)
    return found | {"sum of p / positives": calibration.sum_over_positives, "slope": calibration.slope}


def main() -> int:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description="Samples F1 of per-instance decisions under different calibrations.")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.npz")
    parser.add_argument("--score-key", metavar="KEY", help="which scores of the files to use")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to a file, too")
    options = parser.parse_args()
    results = {}
    for path in options.files:
        try:
            results[path.stem] = judge(path, options.score_key)
        except InputError as error:
            print(f"{path.name}: left out: {error}", file=sys.stderr)
    if not results:
        return 1
    head = [("file", *next(iter(results.values())))]
    body = [(name, *(f"{value:.4f}" for value in row.values())) for name, row in results.items()]
    print(aligned(head, body, left=()))  # Names of files are not shortened.
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
