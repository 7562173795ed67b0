"""Does a rule decide alike where this library is not installed? Every rule, on real scores, in three dtypes.

Rules are fitted on the calibration rows of each file: all that have a name, and more calibrated ones. Each decides by
`predict` and in other runtimes, about test rows, and about rows that hold, for each label, the scores from which on it
is decided otherwise, and the numbers next to these. NumPy is given the thresholds of those rules that have some. To add
a runtime, add to `RUNTIMES` what makes a function of scores from a rule. Run

    python experiments/serving/same_decisions.py FOLDER_OF_NPZ | tee experiments/serving/same_decisions.txt
"""

import argparse
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

from thresholds import RULES, CalibratedRule, FixedRule, InstanceRule, RegionRule, ThresholdRule, calibrate, fit
from thresholds._arrays.sparse import is_sparse
from thresholds.calibration.curves import METHODS
from thresholds.errors import InputError
from thresholds.files import read_labelled
from thresholds.rule import Rule

DTYPES = ("float16", "float32", "float64")
MOST_CELLS = 200_000  # of the test rows of a file
MOST_ROWS = 2_000

Decide = Callable[[np.ndarray], np.ndarray]


def by_onnx(rule: Rule, dtype: str) -> Decide:
    """Return what decides by onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = rule.to_onnx(dtype=dtype).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda scores: session.run(["y_pred"], {"y_score": scores})[0]


def by_torch(rule: Rule, dtype: str) -> Decide:
    """Return what decides by a PyTorch module."""
    module = rule.to_torch().eval()
    return lambda scores: module(torch.from_numpy(scores)).numpy()


def by_numpy(rule: Rule, dtype: str) -> Decide | None:
    """Return what compares scores with the thresholds in the JSON of a rule."""
    if not isinstance(rule, ThresholdRule):
        return None
    saved = json.loads(json.dumps(rule.to_dict()))["thresholds"]
    cuts = np.array([np.inf if cut is None else float(cut) for cut in saved])
    return lambda scores: (scores >= cuts).astype(np.uint8)


RUNTIMES: dict[str, Callable[[Rule, str], Decide | None]] = {"onnx": by_onnx, "torch": by_torch, "numpy": by_numpy}


def rules_of(y_true: Any, y_score: Any) -> dict[str, Rule]:
    """Fit every rule that has a name and applies, and the best set of each row by other calibrations."""
    rules: dict[str, Rule] = {}
    for name in RULES:
        with suppress(InputError):  # of rules that take scores for probabilities, where they are none
            rules[name] = fit(y_true, y_score, name)
    for method in METHODS:
        for by in ("label", "pooled"):
            calibrator = calibrate(y_true, y_score, method, by)
            rules[f"instance, {method}, {by}"] = CalibratedRule(calibrator, InstanceRule())
            rules[f"0.3, {method}, {by}"] = CalibratedRule(calibrator, FixedRule(0.3, calibrator.n_labels))
    return rules


def ends_of(rule: Rule, dtype: str) -> list[np.ndarray]:
    """Return, for each label, the scores of a dtype from which on it is decided otherwise."""
    if isinstance(rule, CalibratedRule) and isinstance(rule.rule, ThresholdRule):
        rule = rule.to_regions()
    ends = rule.switches if isinstance(rule, RegionRule) else getattr(rule, "thresholds", np.empty(0))[:, np.newaxis]
    with np.errstate(over="ignore"):
        scores = [np.asarray(scores).astype(dtype) for scores in ends]
    return [one[np.isfinite(one)] for one in scores]


def beside(scores: np.ndarray, ends: list[np.ndarray]) -> np.ndarray:
    """Return rows of a dtype: each end of each label, the next number below it and above it; else scores as given."""
    n_ends = max((one.size for one in ends), default=0)
    rows = np.resize(scores, (3 * n_ends, scores.shape[1]))
    for label, one in enumerate(ends):
        near = np.concatenate([one, np.nextafter(one, one.dtype.type(0)), np.nextafter(one, one.dtype.type(1))])
        rows[: near.size, label] = np.clip(near, 0, 1)
    return rows


def main() -> None:
    """Print how many cells are decided otherwise, for each file, dtype and runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="files whose name begins so")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # halves of scores are other scores
    print("cells of scores in float16, float32 and float64 that are decided otherwise than by `predict`\n")
    print(f"{'':<34}{'rules':>6}{'cells':>14}{'at ends':>11}" + "".join(f"{name:>8}" for name in RUNTIMES))
    notes = []
    for path in sorted(options.folder.glob(f"{options.only}*.npz")):
        for key in score_keys(path):
            notes += table_row(path, key)
    print("\n" + ("\n".join(notes) or "no cell of any rule is decided otherwise"))


def score_keys(path: Path) -> list[str]:
    """Name the matrices of scores in a file."""
    with np.load(path) as archive:
        names = {name.removesuffix("_indptr").removesuffix("_data") for name in archive.files}
    return sorted(name for name in names if name.startswith("y_score") and not name.endswith(("_indices", "_shape")))


def table_row(path: Path, key: str) -> list[str]:
    """Print the row of a file, and return what is to be said of rules that decide otherwise."""
    data = read_labelled(str(path), key)
    rules = rules_of(data.y_true[data.calib_idx], data.y_score[data.calib_idx])
    n_rows = min(MOST_ROWS, max(1, MOST_CELLS // data.y_score.shape[1]))
    scores = data.y_score[data.test_idx[:n_rows]]
    scores = scores.toarray() if is_sparse(scores) else np.asarray(scores)
    n_cells, n_at_ends = 0, 0
    otherwise = dict.fromkeys(RUNTIMES, 0)
    notes = []
    for name, rule in rules.items():
        for dtype in DTYPES:
            given = scores.astype(dtype)
            ends = ends_of(rule, dtype)
            rows = np.concatenate([given, beside(given, ends)])
            expected = rule.predict(rows)
            n_cells += rows.size
            n_at_ends += 3 * sum(one.size for one in ends)
            for runtime, made in RUNTIMES.items():
                decide = made(rule, dtype)
                if decide is None:
                    continue
                differ = int((decide(rows) != expected).sum())
                otherwise[runtime] += differ
                if differ:
                    notes.append(f"{path.stem} {key}, {name}, {runtime} {dtype}: {differ} of {rows.size:,} cells")
    figures = "".join(f"{differ:>8,}" for differ in otherwise.values())
    print(f"{path.stem + ' ' + key:<34}{len(rules):>6}{n_cells:>14,}{n_at_ends:>11,}{figures}", flush=True)
    return notes


if __name__ == "__main__":
    main()
