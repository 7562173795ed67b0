"""How much is enough: each question by hand, numbers against simulation, gains against what more rows bring."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.words import flat
from thresholds import FixedRule, ThresholdRule, fit_empirical, plan_annotation
from thresholds._engine.problem import Problem
from thresholds.diagnosis.annotation import rows_to_first
from thresholds.diagnosis.bars import Marked
from thresholds.diagnosis.deciding import LEVELS, TEST, in_positives_and_rows, more_needed, precision_test
from thresholds.diagnosis.learning import learn
from thresholds.diagnosis.plan import AnnotationPlan
from thresholds.guarantees.exact_tests import positives_needed

Array = NDArray[np.float64]
inf = math.inf


def needed(seen: float, mean: float, above: float = math.nan, below: float = math.nan, step: float = 0.0) -> Any:
    """How many more observations, of which nothing is known but what was seen, decide a test of level .05."""
    test = np.array([(seen, mean, mean, 1.0, seen, above, 1.645, below, 1.645, step, 1.0)], TEST)
    return more_needed(test)[:, 0]


# After how many observations will a test have decided?


@pytest.mark.parametrize(("mean", "step"), [(0.2, 0.0), (0.2, 1.0), (0.1, 0.0)])
def test_the_numbers_are_those_of_simulated_observations(mean: float, step: float) -> None:
    """The effect is drawn as what was seen leaves it, then the observations; the test is the one that is meant."""
    seen = 40
    rng = np.random.default_rng(0)
    found = needed(seen, mean, 0, -0.5, step)
    effect = mean + rng.normal(size=200_000) / np.sqrt(seen)
    for more, level in zip(found, LEVELS, strict=True):
        if not np.isfinite(more):
            continue
        k = int(more)
        total = seen + k
        mean_of_all = (seen * mean + k * effect + np.sqrt(k) * rng.normal(size=effect.size)) / total
        is_above = mean_of_all >= 1.645 / np.sqrt(total) + step / (2 * total)
        is_below = mean_of_all <= -0.5 - 1.645 / np.sqrt(total) - step / (2 * total)
        decided = np.mean(is_above | is_below)
        assert level - 0.005 <= decided <= level + 0.03, k


def test_more_is_needed_to_be_surer_and_less_where_the_effect_is_clearer() -> None:
    low, enough, high = needed(40, 0.24, above=0)
    assert low < enough < high
    assert enough < needed(40, 0.2, above=0)[1]


def test_no_number_is_enough_where_what_was_seen_says_otherwise() -> None:
    """An effect at the bar is shown to lie above it in half of the cases, however many more rows there are."""
    low, enough, high = needed(40, 0.0, above=0)
    assert np.isfinite(low)
    assert enough == high == inf
    assert needed(40, 0.0, above=0, below=0)[2] < inf, "one side or the other is shown in the end"


# Floors, and what was never seen


def test_positives_for_a_floor_of_recall_are_certain() -> None:
    """.9^29 is below .05, and .9^28 is not."""
    positives = np.array([12.0, 28.0])
    more = np.tile(positives_needed(np.full(2, 0.9), 0.05) - positives, (3, 1))
    in_all, rows = in_positives_and_rows(more, positives, np.ones(2), positives, np.full(2, 1000.0))
    assert in_all.tolist() == [[29, 29]] * 3
    assert rows[1].tolist() == [math.ceil(17 * 1000 / 12), math.ceil(1000 / 28)]
    assert (rows[0] < rows[1]).all()
    assert (rows[1] < rows[2]).all(), "when they come is left to chance"


def test_a_floor_of_precision_takes_more_the_closer_it_is() -> None:
    cut = Marked(np.array([19.0, 19.0, 10.0]), np.full(3, 20.0), np.full(3, 40.0))
    tests = np.full(3, np.nan, TEST)
    for name, values in precision_test(cut, np.array([0.8, 0.9, 0.9]), np.full(3, 0.05)).items():
        tests[name] = values
    more = more_needed(tests)
    near, nearer, above = more[1]
    assert near < nearer
    assert above == inf, "half of the predictions are wrong"
    in_all, _ = in_positives_and_rows(more, tests["seen"], tests["share"], cut.positives, np.full(3, 400.0))
    assert in_all[1, 0] == 40 + 2 * near, "two positives for each prediction"


def test_a_first_positive_is_found_by_the_rule_of_succession() -> None:
    n = 137
    found = rows_to_first(np.array([n]))[:, 0]
    for rows, level in zip(found, (Fraction(1, 10), Fraction(8, 10), Fraction(9, 10)), strict=True):
        m = int(rows)
        assert Fraction(m, n + 1 + m) >= level > Fraction(m - 1, n + m)


# What more rows gain


def learned(truth: Array, scores: Array, more: int = 10, useless: Any = False) -> tuple[Array, Array]:
    """What is lost and gained, of 400 replicates."""
    is_useless = np.broadcast_to(useless, truth.shape[1])
    loss, gain, _ = learn(Problem.of(truth, scores), is_useless, more, n_bootstraps=400)
    return loss, gain


def test_a_label_with_one_positive_loses_all_where_a_sample_misses_it() -> None:
    """Its only cut is right, but a sample as large leaves the positive out with probability 1 / e: half of that."""
    truth = np.zeros((50, 2), np.uint8)
    truth[0] = 1
    scores = -np.arange(50.0)[:, np.newaxis] * np.ones(2)
    loss, gain = learned(truth, scores)
    assert loss == pytest.approx([math.exp(-1) / 2] * 2, abs=0.03)
    assert gain == pytest.approx(loss * (1 - (50 / 60) ** (2 / 3)))


def test_without_positives_the_gain_is_that_of_a_first_one() -> None:
    truth = np.zeros((50, 2), np.uint8)
    truth[0, 0] = 1
    scores = -np.arange(50.0)[:, np.newaxis] * np.ones(2)
    loss, gain = learned(truth, scores)
    assert np.isnan(loss[1])
    assert gain[1] == pytest.approx(10 / 61), "the other label reaches an F of 1"
    assert learned(truth[:, 1:], scores[:, 1:])[1] == [0], "nothing is known of any label"


def test_more_rows_gain_more_but_never_all() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((300, 8)) < 0.05).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + 2 * truth
    gains = [learned(truth, scores, more)[1] for more in (1, 10, 100, 10**9)]
    assert (np.diff(gains, axis=0) > 0).all()
    assert gains[-1] == pytest.approx(learned(truth, scores)[0], rel=1e-3)


def test_a_label_that_scores_do_not_know_gains_little() -> None:
    """More positives would not help it; of labels that are known, the rarer ones gain more."""
    rng = np.random.default_rng(0)
    truth = (rng.random((2000, 24)) < np.repeat([0.02, 0.02, 0.2], 8)).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + np.repeat([2, 0, 2], 8) * truth
    is_useless = np.repeat([False, True, False], 8)
    known, unknown, common = learned(truth, scores, useless=is_useless)[1].reshape(3, 8).mean(axis=1)
    assert known > 1.5 * unknown
    assert known > 2 * common


def test_the_loss_is_about_what_is_lost() -> None:
    """Of normal scores the best F is known: the mean loss is that of many fits, give or take a third."""
    rng = np.random.default_rng(1)
    shape = (400, 40)
    truth = (rng.random(shape) < 0.05).astype(np.uint8)
    scores = rng.normal(size=shape) + 2 * truth
    new_truth = (rng.random((40_000, 1)) < 0.05).astype(np.uint8)
    new_scores = rng.normal(size=new_truth.shape) + 2 * new_truth
    cuts = fit_empirical(truth, scores).thresholds
    reached = [thresholds.metrics.f1_score(new_truth, new_scores >= cut, average="macro") for cut in cuts]
    best = fit_empirical(new_truth, new_scores).objective
    assert learned(truth, scores)[0].mean() == pytest.approx(best - np.mean(reached), rel=1 / 3)


# The questions


def kinds(n: int = 2000) -> tuple[NDArray[np.uint8], Array]:
    """Labels, one of each kind: known well, rare, never true, always true, without use and rare, on the border."""
    truth = np.zeros((n, 6), np.uint8)
    for label, positives in enumerate((n // 5, 5, 0, n, 2, n // 40)):
        truth[:positives, label] = 1
    scores = np.random.default_rng(0).normal(size=truth.shape) + [3, 3, 0, 0, 0, 2.2] * truth
    return truth, scores


NAMES = ("usual", "rare", "never", "always", "unknown", "border")


def by_name(plan: AnnotationPlan) -> dict[str, Any]:
    """The rows of the table by name."""
    return {str(row["name"]): row for row in plan.table}


def test_each_question() -> None:
    rows = by_name(plan_annotation(*kinds(), label_names=NAMES))
    asked = {name: str(row["question"]) for name, row in rows.items()}
    assert asked == {
        "usual": "",
        "rare": "f",
        "never": "positives",
        "always": "negatives",
        "unknown": "scores",
        "border": "f",
    }
    for name in ("usual", "always"):
        assert all(np.isnan(rows[name][f"{what}_needed"]) for what in ("positives", "rows"))
    for name in ("rare", "never", "unknown"):
        row = rows[name]
        assert row["positives_low"] <= row["positives_needed"] <= row["positives_high"]
        assert row["rows_low"] < row["rows_needed"] < row["rows_high"]
        assert row["positives_needed"] > row["n_positives"]


def test_a_suspect_label_is_asked_about_and_needs_five_positives_at_least() -> None:
    truth, scores = kinds()
    rule = ThresholdRule(np.array([1.5, -1, 9, 9, -1, 2]), label_names=NAMES)
    assert "suspect" in thresholds.diagnose(truth, scores, rule).state
    rows = by_name(plan_annotation(truth, scores, rule))
    assert rows["unknown"]["question"] == "scores"
    assert rows["unknown"]["positives_low"] >= 5


def test_floors_that_a_rule_could_not_show_are_asked_about() -> None:
    truth, scores = kinds()
    rule = fit_empirical(truth, scores, min_recall=0.9, confidence=0.95, label_names=NAMES)
    rows = by_name(plan_annotation(truth, scores, rule))
    assert rows["rare"]["question"] == "recall"
    assert rows["rare"]["floor"] == 0.9
    assert rows["rare"]["positives_needed"] == rule.guarantees.positives_needed[1] == 29
    assert "at least 29 are needed to show a recall of 0.9: some 9,600 [" in str(rows["rare"]["sentence"])
    assert rows["border"]["question"] != "recall", "50 positives were enough"

    rule = fit_empirical(truth, scores, min_precision=0.9, confidence=0.95, label_names=NAMES)
    rows = by_name(plan_annotation(truth, scores, rule))
    assert rows["usual"]["question"] == "", "it is shown"
    assert rows["border"]["question"] == "precision"
    assert rows["border"]["top_rows_needed"] > 0


def test_floors_of_all_labels_together_are_no_question_of_a_label() -> None:
    truth, scores = kinds()
    for given in ({"min_precision": 0.3, "confidence": 0.9}, {"min_recall": 0.999, "confidence": 0.999}):
        rule = fit_empirical(truth, scores, "micro", label_names=NAMES, **given)
        asked = plan_annotation(truth, scores, rule).table["question"]
        assert not {"precision", "recall"} & set(asked.tolist())


def test_a_precision_is_asked_of_cuts_that_keep_a_floor_of_recall_too() -> None:
    """The precision of few predictions is high enough, but not that of as many as have the recall."""
    rng = np.random.default_rng(0)
    truth = (np.arange(1000) < 200)[:, np.newaxis]
    scores = rng.normal(size=truth.shape) + 2 * truth
    alone, both = (
        plan_annotation(truth, scores, fit_empirical(truth, scores, min_precision=0.7, confidence=0.95, **given))
        for given in ({}, {"min_recall": 0.85})
    )
    assert alone.table["question"][0] == ""
    assert both.table["question"][0] == "precision"
    assert both.table["positives_needed"][0] == inf
    assert "even 2,000 may not be enough to show a precision of 0.7 with a recall of 0.85" in both.table["sentence"][0]
    assert "these; ? is one that cannot be foreseen. The gain" in flat(str(both))


def test_the_lower_end_is_more_than_there_are_and_small_gains_are_written_out() -> None:
    """Rounding to two digits makes 1,429 of 1,428 and one more, and then 1,400."""
    rng = np.random.default_rng(3)
    truth = (np.arange(11_000) < 1428)[:, np.newaxis]
    scores = rng.normal(size=truth.shape) + 1.48 * truth
    plan = plan_annotation(truth, scores)
    row = plan.table[0]
    assert row["question"] == "f"
    assert 1428 < row["positives_low"] <= row["positives_needed"]
    assert 0 < row["gain"] < 1e-6
    assert "0.0000" in str(plan)
    assert "e-0" not in str(plan)


@pytest.mark.parametrize("floor", ["min_precision", "min_recall"])
def test_a_family_shares_the_error(floor: str) -> None:
    truth, scores = kinds()
    needed = []
    for family in ("each", "all"):
        given: dict[str, Any] = {floor: 0.3 if floor == "min_precision" else 0.9}
        rule = fit_empirical(truth, scores, label_names=NAMES, confidence=0.95, family=family, **given)
        rare = by_name(plan_annotation(truth, scores, rule))["rare"]
        assert f"min_{rare['question']}" == floor
        needed.append(rare["positives_needed"])
    assert needed[0] < needed[1]


def test_of_many_such_labels_most_are_decided_when_so_many_rows_were_added() -> None:
    """Labels are of many strengths; of those that were open, about 80 % are decided with `rows_needed`."""
    rng = np.random.default_rng(0)
    n, n_labels = 300, 400
    truth = (rng.random((8 * n, n_labels)) < 0.1).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + rng.uniform(1.5, 3, n_labels) * truth
    first = np.sort(plan_annotation(truth[:n], scores[:n]).table, order="label")
    decided = []
    for n_rows in (2 * n, 4 * n, 8 * n):
        # Those that were said to need so many rows, and more than half of them.
        foreseen = (first["question"] == "f") & (n + first["rows_needed"] <= n_rows)
        foreseen &= n + first["rows_needed"] > n_rows / 1.5
        later = np.sort(plan_annotation(truth[:n_rows], scores[:n_rows]).table, order="label")
        decided += (later["question"][foreseen] == "").tolist()
    assert len(decided) > 25
    assert 0.65 < np.mean(decided) < 0.97


# The plan


def test_labels_come_by_what_they_gain() -> None:
    plan = plan_annotation(*kinds(), label_names=NAMES)
    assert (np.diff(plan.table["gain"]) <= 0).all()
    assert sorted(plan.table["label"]) == list(range(6))
    assert [NAMES[j] for j in plan.table["label"]] == plan.table["name"].tolist()
    assert plan.counts == {"positives": 1, "negatives": 1, "scores": 1, "precision": 0, "recall": 0, "f": 2}
    assert set(plan.undecided["name"]) == set(NAMES) - {"usual"}


def test_nothing_depends_on_threads_or_layout() -> None:
    truth, scores = kinds(500)
    scores = np.round(np.maximum(scores, 0), 1)
    expected = plan_annotation(truth, scores, n_jobs=1).table
    for y_true, y_score in ((truth, scores), (sparse.csr_array(truth), scores), (truth, sparse.csr_array(scores))):
        found = plan_annotation(y_true, y_score, keep_sparse=False, n_jobs=2).table
        assert repr(found.tolist()) == repr(expected.tolist())


def test_unknown_cells_are_as_if_their_rows_were_absent_of_the_label() -> None:
    """Each label by itself, as the level of a test, and what siblings lend, depend on the others."""
    truth, scores = kinds(600)
    rng = np.random.default_rng(0)
    hidden = rng.random(truth.shape) < 0.3
    for j in range(truth.shape[1]):
        known = ~hidden[:, j]
        with_gaps = np.where(hidden, -1, truth.astype(float))[:, [j]]
        found = plan_annotation(with_gaps, scores[:, [j]], unknown=-1).table
        expected = plan_annotation(truth[known][:, [j]], scores[known][:, [j]]).table
        assert repr(found.tolist()) == repr(expected.tolist())


def test_a_label_of_which_nothing_is_known() -> None:
    truth, scores = kinds(600)
    with_gaps = truth.astype(float)
    with_gaps[:, 0] = np.nan
    row = by_name(plan_annotation(with_gaps, scores, unknown="nan", label_names=NAMES))["usual"]
    assert row["question"] == "positives"
    assert row["n_rows"] == 0
    assert str(row["sentence"]) == "Of no row it is known whether it truly is usual."


def test_seeds_and_options_matter() -> None:
    truth, scores = kinds(500)
    gains = {seed: plan_annotation(truth, scores, random_state=seed).table["gain"].tolist() for seed in (0, 1)}
    assert gains[0] != gains[1]
    assert gains[0] == plan_annotation(truth, scores).table["gain"].tolist()
    some = plan_annotation(truth, scores, more_rows=20)
    assert some.table["gain"].sum() > sum(gains[0])


def test_on_the_rows_of_its_fit_a_rule_is_flattered() -> None:
    truth, scores = kinds(600)
    rule = fit_empirical(truth[:500], scores[:500])
    own = plan_annotation(truth[:500], scores[:500], rule)
    assert own.on_own_rows
    assert "the rule was fitted on these rows, which flatters it" in flat(str(own))
    assert not plan_annotation(truth[500:], scores[500:], rule).on_own_rows
    assert not plan_annotation(truth, scores).on_own_rows


def test_any_rule_will_do_and_its_names_are_taken() -> None:
    truth, scores = kinds(500)
    plan = plan_annotation(truth, scores, FixedRule(0.5, 6, label_names=NAMES))
    assert plan.label_names == NAMES
    with pytest.raises(thresholds.InputError, match="label_names is given beside a rule"):
        plan_annotation(truth, scores, FixedRule(0.5, 6), label_names=NAMES)


def test_sentences_say_what_a_physician_asks() -> None:
    rows = by_name(plan_annotation(*kinds(), label_names=NAMES))
    assert str(rows["usual"]["sentence"]) == "Decided: usual is usable."
    never = str(rows["never"]["sentence"])
    assert never.startswith("No row of 2,000 truly is never, so that at most 0.15 % of all rows are (95 % confidence)")
    assert "8,100 [220, 19,000] more rows like these" in never
    assert never.endswith("That there is one is not known.")
    unknown = rows["unknown"]
    assert f"{unknown['n_positives']} rows so far truly are unknown; about" in str(unknown["sentence"])
    assert "in all would show whether its scores tell it apart: some" in str(unknown["sentence"])
    assert str(rows["always"]["sentence"]) == "All rows here truly are always: some that are not are needed."


def test_the_text_sums_up_and_lists() -> None:
    text = flat(str(plan_annotation(*kinds(), label_names=NAMES)))
    assert "6 labels on 2,000 rows, of which 5 are undecided: 1 is it ever true?" in text
    assert "Numbers are enough with a probability of 80 % [10 %, 90 %]" in text
    assert "undecided" in plan_annotation(*kinds(), label_names=NAMES).to_text(0)
