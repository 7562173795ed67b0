"""What counts say of a rule is what the rows say, and what they cannot say is left out in words."""

import numpy as np
import pytest

import thresholds
from tests.chunks.options import KINDS, Rows, rows_of, tie_groups
from tests.words import flat
from thresholds import Candidates, Counts, InputError, metrics
from thresholds._engine.problem import Problem
from thresholds.metrics.judging import judge

UNWEIGHTED = [kind for kind in KINDS if kind != "weighted"]
NO_LOWER = ("p_informative", "p_backwards")  # what runs bound from above
ABOUT_TIES = "count as untied"


def rule_for(rows: Rows, rng: np.random.Generator) -> thresholds.ThresholdRule:
    """A rule with thresholds among the scores, one of them never."""
    n_labels = rows.y_score.shape[1]
    cuts = rng.choice([0.05, 0.4, 0.7, 1.0, 1.6], n_labels)
    cuts[0] = np.inf
    return thresholds.ThresholdRule(cuts)


def at_candidates(blocks: list[Rows], *rules: thresholds.Rule) -> tuple[Counts, int]:
    """Count at candidates until rules can be judged."""
    every = sum(Candidates.of(block.y_true, block.y_score, **block.about) for block in blocks)
    needed = every.including(*rules)
    for n_passes in range(2, 9):
        counts = sum(Counts.of(b.y_true, b.y_score, needed, **b.about) for b in blocks)
        needed = counts.needed_to_judge(*rules, candidates=every)
        if needed is None:
            return counts, n_passes
    raise AssertionError("passes go on and on")


def decided_about_rows(rule: thresholds.Rule, rows: Rows) -> np.ndarray:
    """What the rule decides about the rows, as sums."""
    by_label = judge(rule, Problem.of(rows.y_true, rows.y_score, **rows.about)).by_label
    return np.stack([by_label.tp, by_label.fp, by_label.fn, by_label.tn])


def sums_of(counts: metrics.ConfusionCounts) -> np.ndarray:
    """The same of counts."""
    return np.stack([counts.tp, counts.fp, counts.fn, counts.tn])


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_counted_as_on_the_rows(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    rows = rows_of(kind, rng)
    blocks = rows.blocks(rng)
    rule = rule_for(rows, rng)
    expected = decided_about_rows(rule, rows)
    assert np.array_equal(sums_of(tie_groups(blocks).confusion(rule)), expected)

    # Two passes are enough for them, whatever the positives.
    every = sum(Candidates.of(block.y_true, block.y_score, **block.about) for block in blocks)
    at = every.quantiles(2).including(rule)
    counts = sum(Counts.of(b.y_true, b.y_score, at, **b.about) for b in blocks)
    assert np.array_equal(sums_of(counts.confusion(rule)), expected)


def test_so_are_those_of_regions_and_after_calibration():
    rng = np.random.default_rng(5)
    rows = rows_of("plain", rng)
    counts = tie_groups(rows.blocks(rng))
    n_labels = rows.y_score.shape[1]
    regions = thresholds.RegionRule([[-0.5, 0.2, 0.9]] * n_labels)
    calibrator = thresholds.calibrate(rows.y_true, rows.y_score, "platt")
    calibrated = thresholds.CalibratedRule(calibrator, thresholds.FixedRule(0.2, n_labels))
    for rule in (regions, calibrated):
        assert np.array_equal(sums_of(counts.confusion(rule)), decided_about_rows(rule, rows))


@pytest.mark.parametrize("kind", UNWEIGHTED)
def test_tie_groups_are_diagnosed_as_the_rows_are(kind):
    rng = np.random.default_rng(10 + KINDS.index(kind))
    rows = rows_of(kind, rng)
    rule = rule_for(rows, rng)
    diagnosis = tie_groups(rows.blocks(rng)).diagnose(rule)
    expected = thresholds.diagnose(rows.y_true, rows.y_score, rule, **rows.about)
    assert diagnosis.to_dict() == expected.to_dict()
    assert np.array_equal(diagnosis.caps, expected.caps, equal_nan=True)
    assert diagnosis.note == ""


@pytest.mark.parametrize("kind", UNWEIGHTED)
def test_counts_at_candidates_are_diagnosed_as_rows_of_which_no_negatives_are_tied(kind):
    rng = np.random.default_rng(20 + KINDS.index(kind))
    rows = rows_of(kind, rng)
    rule = rule_for(rows, rng)
    counts, n_passes = at_candidates(rows.blocks(rng), rule)
    diagnosis = counts.diagnose(rule)
    expected = thresholds.diagnose(rows.y_true, rows.y_score, rule, **rows.about)
    for name in diagnosis.table.dtype.names:
        found, of_rows = diagnosis.table[name], expected.table[name]
        if name in NO_LOWER:
            assert (found >= of_rows - 1e-12).all() or np.isnan(of_rows).any()
            if kind in ("plain", "probable"):
                assert np.allclose(found, of_rows, rtol=1e-9, equal_nan=True), name
        elif name == "p_uninformative":
            assert np.allclose(found, of_rows, rtol=1e-9, equal_nan=True)
        elif name not in ("informative", "state", "reason", "verdict", "sentence"):
            assert np.array_equal(found, of_rows, equal_nan=found.dtype.kind == "f"), name
    assert np.array_equal(diagnosis.caps, expected.caps, equal_nan=True)
    assert ABOUT_TIES in flat(str(diagnosis))
    assert n_passes <= 4


def test_ties_of_most_rows_are_known_where_a_candidate_is():
    """As those of absent cells of sparse scores, at which positives lie too."""
    rng = np.random.default_rng(3)
    rows = rows_of("sparse", rng)
    rule = thresholds.FixedRule(0.5, rows.y_score.shape[1])
    counts, _ = at_candidates([rows], rule)
    found = counts.diagnose(rule).table["p_informative"]
    expected = thresholds.diagnose(rows.y_true, rows.y_score, rule).table["p_informative"]
    known = ~np.isnan(expected)
    assert (found[known] >= expected[known] * (1 - 1e-9)).all()
    assert (found[known] <= 10 * expected[known] + 1e-9).all()


@pytest.mark.parametrize("seed", [20, 233, 1030])
def test_untied_negatives_beside_a_large_tie_group_lower_no_p_value(seed):
    """There the test is a sum of normal tails, and those above a half are lower the more the ranks vary."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 80))
    y_true = rng.random((n, 1)) < 0.15
    y_score = np.maximum(np.round(rng.normal(size=(n, 1)) * 4), -1) + y_true * rng.integers(0, 2)
    rule = thresholds.FixedRule(np.inf, 1)
    counts, _ = at_candidates([Rows(y_true, y_score, {})], rule)
    (found,) = counts.diagnose(rule).table["p_informative"]
    (expected,) = thresholds.diagnose(y_true, y_score, rule).table["p_informative"]
    assert expected * (1 - 1e-9) <= found < 1


@pytest.mark.parametrize("kind", UNWEIGHTED)
def test_rules_are_compared_as_on_the_rows_but_for_what_takes_rows(kind):
    rng = np.random.default_rng(30 + KINDS.index(kind))
    rows = rows_of(kind, rng)
    counts = tie_groups(rows.blocks(rng))
    rules = {"one": rule_for(rows, rng), "other": thresholds.FixedRule(0.3, rows.y_score.shape[1])}
    found = counts.compare(rules, beta=2.0)
    expected = thresholds.compare(rules, rows.y_true, rows.y_score, beta=2.0, confidence=None, **rows.about)
    left_out = ("samples", "intervals")
    for measures, of_rows in zip(found.measures, expected.measures, strict=True):
        for name in measures.__slots__:
            if name not in left_out:
                assert getattr(measures, name) == getattr(of_rows, name) or np.isnan(getattr(of_rows, name)), name
        assert np.isnan(measures.samples)
    for name in ("n_supported", "macro_auroc", "gold_per_row", "backwards", "n_cells"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), nan_ok=True) or (
            getattr(found, name) == getattr(expected, name)
        ), name
    assert np.array_equal(found.agreement.both, expected.agreement.both)
    assert "F over rows, intervals and calibration take rows, and are left out" in flat(str(found))
    assert "samples" not in str(found)


def test_labels_go_by_name():
    rng = np.random.default_rng(8)
    rows = rows_of("plain", rng)
    names = [f"label {j}" for j in range(rows.y_score.shape[1])]
    counts = Counts.of(rows.y_true, rows.y_score, label_names=names)
    rule = thresholds.ThresholdRule(np.linspace(0.1, 1.5, len(names)), label_names=names)
    backwards = rule.reordered(np.arange(len(names))[::-1])
    assert np.array_equal(sums_of(counts.confusion(backwards)), sums_of(counts.confusion(rule)))
    expected = thresholds.diagnose(rows.y_true, rows.y_score, rule)
    assert counts.diagnose(backwards).to_dict() == expected.to_dict()
    others = rule.with_names([*names[1:], "another"])
    with pytest.raises(InputError, match="another"):
        counts.confusion(others)


def test_a_rule_of_these_rows_is_known_for_that():
    rng = np.random.default_rng(9)
    rows = rows_of("plain", rng)
    counts = tie_groups([rows])
    rule = thresholds.fit_empirical(rows.y_true, rows.y_score)
    assert counts.diagnose(rule).verdicts.on_own_rows
    assert counts.compare({"fitted": rule}).fitted_here == ("fitted",)
    half = tie_groups([rows._replace(y_true=rows.y_true[::2], y_score=rows.y_score[::2])])
    assert not half.diagnose(rule).verdicts.on_own_rows


def test_what_takes_rows_or_other_counts_is_refused():
    rng = np.random.default_rng(4)
    rows = rows_of("plain", rng)
    n_labels = rows.y_score.shape[1]
    counts = tie_groups([rows])
    rule = thresholds.FixedRule(0.123, n_labels)
    with pytest.raises(InputError, match="rule is a TopKRule, which decides by all scores of a row"):
        counts.confusion(thresholds.TopKRule(1))
    with pytest.raises(InputError, match="rule 'a' has 1 label, expected"):
        counts.compare({"a": thresholds.FixedRule(0.5, 1)})
    with pytest.raises(InputError, match="expected a mapping of names to rules"):
        counts.compare([rule])
    weighted = Counts.of(rows.y_true, rows.y_score, sample_weight=np.arange(len(rows.y_true)))
    assert weighted.confusion(rule).tp.shape == (n_labels,)
    for judged in (lambda: weighted.diagnose(rule), lambda: weighted.compare({"a": rule})):
        with pytest.raises(InputError, match="expected those of rows without sample_weight"):
            judged()
    at = Candidates.of(rows.y_true, rows.y_score)
    counts = Counts.of(rows.y_true, rows.y_score, at)
    with pytest.raises(InputError, match="at what needed_to_judge returns"):
        counts.confusion(rule)
    with pytest.raises(InputError, match="leave out scores of positives"):
        Counts.of(rows.y_true, rows.y_score, at.quantiles(2)).diagnose(rule)


def test_sparse_scores_are_judged_at_the_missing_that_they_were_counted_at():
    rows = rows_of("sparse", np.random.default_rng(6))
    counts = tie_groups([rows])
    rule = thresholds.FixedRule(0.5, rows.y_score.shape[1], missing=-1.0)
    with pytest.raises(InputError, match=r"missing=-1.0, expected 0.0 as the counts have"):
        counts.diagnose(rule)


def test_a_label_whose_scores_are_all_counted_apart_is_tested_as_on_the_rows():
    """Beside a label of which some are not, and of tie groups of one size."""
    rng = np.random.default_rng(2)
    truth = rng.random((60, 2)) < [0.4, 0.1]
    scores = rng.normal(size=(60, 2))
    scores[:, 0] = np.repeat([0.0, 1.0, 2.0], 20)
    truth[[0, 20, 40], 0] = truth[-1, 1] = True
    rule = thresholds.FixedRule(1.0, 2)
    counts, _ = at_candidates([Rows(truth, scores, {})], rule)
    found, expected = counts.diagnose(rule), thresholds.diagnose(truth, scores, rule)
    assert found.to_dict()["labels"][0]["p_informative"] == expected.to_dict()["labels"][0]["p_informative"]
