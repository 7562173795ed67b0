"""`CalibratedRule.to_regions`: a rule of calibrated thresholds, decided by the scores themselves."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from thresholds import CalibratedRule, InputError, InstanceRule, RegionRule, ThresholdRule, calibrate, fit_expected

inf = float("inf")
FACTORS = {"shares": 1.0, "logits": 9.0, "falling": -9.0}
KINDS = list(product(("isotonic", "platt"), ("label", "pooled", "shrink"), FACTORS))


def rule_of(method: str, by: str, factor: float, seed: int, *, missing: float = 0.0) -> CalibratedRule:
    """Calibrated thresholds for 6 labels: two without positives or predictions, one always, one at a probability."""
    rng = np.random.default_rng(seed)
    scores = factor * rng.random((150, 6)).round(2)
    scores[rng.random(scores.shape) < 0.2] = missing
    truth = (rng.random(scores.shape) < np.abs(scores / factor)) & (np.arange(6) != 1)
    calibrator = calibrate(truth, scores, method, by, missing=missing, label_names=list("abcdef"))
    fitted = fit_expected(calibrator.transform(scores)).thresholds
    probability = float(calibrator.transform(scores)[3, 5])
    return CalibratedRule(calibrator, ThresholdRule([fitted[0], fitted[1], inf, 0.0, fitted[4], probability]))


def scores_near(regions: RegionRule, factor: float) -> np.ndarray:
    """Scores of float32: drawn, masked, missing, and those next to every end of an interval."""
    drawn = (factor * np.random.default_rng(1).random((200, regions.n_labels))).astype(np.float32)
    columns = []
    for label, switches in enumerate(regions.switches):
        with np.errstate(over="ignore"):
            ends = switches.astype(np.float32)
        near = np.concatenate([ends, np.nextafter(ends, np.float32(-inf)), np.nextafter(ends, np.float32(inf))])
        chosen = np.concatenate([near[near < inf], np.float32([-inf, 0.0, -0.0])])
        columns.append(np.append(chosen, drawn[: 200 - chosen.size, label]))
    scores = np.stack(columns, axis=1)
    return np.where(np.isneginf(scores), scores, np.clip(scores, 0, 1)) if factor == 1 else scores


@pytest.mark.each_pair
@pytest.mark.parametrize(("method", "by", "factor"), KINDS)
def test_regions_decide_as_the_calibrated_rule_does(method: str, by: str, factor: str) -> None:
    for seed in range(3):
        rule = rule_of(method, by, FACTORS[factor], seed)
        regions = rule.to_regions()
        scores = scores_near(regions, FACTORS[factor])
        np.testing.assert_array_equal(regions.decide(scores), rule.decide(scores))
        for least in (0.0, 0.7):
            stored = (np.abs(scores) > least) & (scores > -inf)
            lists = sparse.csr_array(np.where(stored, scores, 0))
            assert regions.needs_dense(lists) == rule.needs_dense(lists)
            expected = rule.decide(lists, dense=True)
            np.testing.assert_array_equal(regions.decide(lists, dense=True), expected)


@pytest.mark.parametrize("missing", [0.5, -1.0, -inf])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_missing_scores_are_decided_apart(method: str, missing: float) -> None:
    rule = rule_of(method, "label", 1.0, 0, missing=missing)
    alone = np.full((1, 6), missing)
    beside = np.nextafter(missing, [[inf], [-inf]]) + np.zeros((2, 6))
    for scores in (alone, np.clip(beside, 0, 1)):
        np.testing.assert_array_equal(rule.to_regions().decide(scores), rule.decide(scores))
    assert rule.to_regions().missing == missing


def test_regions_keep_what_is_known_of_the_rule() -> None:
    rule = rule_of("isotonic", "shrink", 1.0, 0)
    regions = rule.to_regions()
    assert regions.label_names == rule.label_names == tuple("abcdef")
    assert regions.profile is rule.profile
    assert regions.average is rule.rule.average
    assert regions.switches[2].size == 0
    assert regions.switches[3].tolist() == [-inf]


def test_sets_of_labels_have_no_regions() -> None:
    calibrator = rule_of("platt", "shrink", 1.0, 0).calibrator
    with pytest.raises(InputError, match="rule is an InstanceRule, expected a ThresholdRule: only that decides each"):
        CalibratedRule(calibrator, InstanceRule()).to_regions()


def test_saved_regions_are_applied_with_numpy_alone(tmp_path: Path) -> None:
    rule = rule_of("platt", "shrink", 1.0, 0)
    rule.to_regions().save(tmp_path / "rule.json")
    scores = np.random.default_rng(0).random((5, 6)).round(3)
    code = f"""
import sys
sys.modules["numba"] = sys.modules["scipy"] = None
import thresholds
print(thresholds.load_rule({str(tmp_path / "rule.json")!r}).predict({scores.tolist()}).tolist())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{rule.predict(scores).tolist()}\n"
