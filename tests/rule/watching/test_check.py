"""Rules notice that scores have changed, say what seems to have happened, and are silent where nothing has."""

import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, logit

import thresholds
from tests.naive import profiles
from tests.words import flat
from thresholds import ScoreChangeWarning, fit_empirical
from thresholds.rule.watching import check as watching

inf = float("inf")
NAMES = [f"label {j}" for j in range(20)]


def draw(n: int = 1000, n_labels: int = 20, seed: int = 1) -> tuple[Any, Any]:
    """Truth and logits, labels apart by their means and spreads."""
    rng = np.random.default_rng([seed, n])
    labels = np.random.default_rng(n_labels)
    mean, spread, rate = labels.normal(-2, 1, n_labels), labels.uniform(0.5, 2, n_labels), labels.uniform(0.02, 0.3)
    y_true = rng.random((n, n_labels)) < rate
    return y_true, rng.normal(size=y_true.shape) * spread + mean + 2 * y_true


def rule_of_logits() -> Any:
    """A rule fitted on logits."""
    return fit_empirical(*draw(seed=0))


def rule_of_probabilities() -> Any:
    """The same on probabilities."""
    y_true, y_score = draw(seed=0)
    return fit_empirical(y_true, expit(y_score))


def first(check: Any) -> tuple[str, str]:
    """Kind and sentence of the first finding."""
    return check.findings[0].kind, check.findings[0].sentence


# What has changed

Change = Callable[[Any], Any]
OF_LOGITS: dict[str, tuple[Change, str, str]] = {
    "sigmoids": (
        expit,
        "scale",
        "look like probabilities, but the rule was fitted on their logits: give it the logits",
    ),
    "negated": (np.negative, "scale", "have the opposite sign"),
    "a little higher": (lambda s: s + 0.15, "moved", "are all about 0.1"),
    "lower": (
        lambda s: s - 1,
        "moved",
        "lower than when the rule was fitted. See whether the model or its input has changed",
    ),
    "doubled": (lambda s: 2 * s, "moved", "times those that the rule was fitted on"),
    "stretched and shifted": (lambda s: 3 * s + 2, "moved", "times those that the rule was fitted on, plus"),
    "reversed": (
        lambda s: s[:, ::-1],
        "order",
        "The columns of scores seem to be in reverse order. Put the columns in the order that the rule was fitted on",
    ),
    "to the right": (
        lambda s: np.roll(s, 1, axis=1),
        "order",
        "The columns of scores seem to be one place too far to the right",
    ),
    "to the left": (
        lambda s: np.roll(s, -1, axis=1),
        "order",
        "The columns of scores seem to be one place too far to the left",
    ),
    "permuted": (
        lambda s: s[:, np.random.default_rng(3).permutation(20)],
        "order",
        "The columns of scores seem to be in the wrong places: label",
    ),
}
OF_PROBABILITIES: dict[str, tuple[Change, str, str]] = {
    "logits": (logit, "scale", "look like logits, but the rule was fitted on probabilities"),
    "percent": (lambda p: 100 * p, "scale", "look like percent, but the rule was fitted on fractions"),
    "logarithms": (np.log, "scale", "look like logarithms of probabilities"),
    "opposite": (lambda p: 1 - p, "scale", "look like probabilities of the opposite"),
    "other base rates": (lambda p: expit(logit(p) + 1), "moved", "have all changed alike: their logits are about"),
    "sharper": (lambda p: expit(2 * logit(p)), "moved", "have all changed alike: their logits are about 2"),
}


@pytest.mark.parametrize(("change", "kind", "words"), OF_LOGITS.values(), ids=OF_LOGITS)
def test_changes_of_logits_are_named(change: Change, kind: str, words: str) -> None:
    found = first(rule_of_logits().check(change(draw()[1])))
    assert found[0] == kind
    assert words in found[1]


@pytest.mark.parametrize(("change", "kind", "words"), OF_PROBABILITIES.values(), ids=OF_PROBABILITIES)
def test_changes_of_probabilities_are_named(change: Change, kind: str, words: str) -> None:
    found = first(rule_of_probabilities().check(change(expit(draw()[1]))))
    assert found[0] == kind
    assert words in found[1]


def test_fractions_for_percent_are_named() -> None:
    y_true, y_score = draw(seed=0)
    found = first(fit_empirical(y_true, 100 * expit(y_score)).check(expit(draw()[1])))
    assert found == (
        "scale",
        "The scores look like fractions, but the rule was fitted on percent: multiply them by 100.",
    )


def test_two_columns_that_were_swapped_are_named() -> None:
    y_true, y_score = draw(seed=0)
    order = np.arange(20)
    order[[2, 9]] = 9, 2
    check = fit_empirical(y_true, y_score, label_names=list("abcdefghijklmnopqrst")).check(draw()[1][:, order])
    (finding, *_) = check.grave
    assert finding.labels == ("c", "j")
    assert finding.sentence.startswith("The columns of 'c', 'j' seem to be in the wrong places: ")
    assert "'c' has the scores of 'j'" in finding.sentence
    assert "'j' has the scores of 'c'" in finding.sentence


@pytest.mark.parametrize(("n_rows", "is_named"), [(49, False), (50, True)])
def test_equal_scores_of_a_few_rows_are_no_constant_column(n_rows: int, is_named: bool) -> None:
    new = draw(n_rows)[1]
    new[:, 4] = 9
    kinds = {finding.kind for finding in rule_of_logits().check(new).findings}
    assert ("constant" in kinds) == is_named


def test_a_column_that_was_constant_has_not_become_so() -> None:
    before, now = draw(seed=0)[1], draw()[1]
    before[:, 4], now[:, 4] = 0.5, 0.7
    kinds = {finding.kind for finding in thresholds.FixedRule(0.0, 20).watching(before).check(now).findings}
    assert "scores" in kinds or "moved" in kinds
    assert "constant" not in kinds


def test_a_column_that_became_constant_is_named() -> None:
    new = draw()[1]
    new[:, 4] = 0.5
    (finding, *_) = rule_of_logits().check(new).findings
    assert (finding.kind, finding.severity, finding.labels) == ("constant", "grave", ("4",))
    assert finding.sentence.startswith(
        "The scores of label 4 are now the same in every row. They were not when the rule was fitted. "
    )


def test_a_few_labels_that_moved_are_named() -> None:
    new = draw()[1]
    new[:, [3, 5]] += 2
    (finding, *_) = rule_of_logits().check(new).findings
    assert (finding.kind, finding.labels) == ("moved", ("3", "5"))


def test_labels_that_become_more_frequent_are_named() -> None:
    rng = np.random.default_rng(5)
    y_true = rng.random((2000, 30)) < 0.1
    y_score = rng.normal(size=y_true.shape) + 5 * y_true
    more = rng.random((1000, 30)) < np.where(np.arange(30) < 3, 0.2, 0.1)
    check = fit_empirical(y_true, y_score).check(rng.normal(size=more.shape) + 5 * more)
    (finding,) = (finding for finding in check.findings if finding.kind == "rates")
    assert set(finding.labels) == {"0", "1", "2"}
    assert finding.severity == "note"
    assert finding.sentence.startswith("Of 30 labels, 3 are predicted more often than when the rule was fitted: label ")
    assert check.labels["rate_moved"].tolist() == [True] * 3 + [False] * 27


def test_masks_are_noted() -> None:
    new = draw()[1]
    new[np.random.default_rng(0).random(new.shape) < 0.5] = -inf
    check = rule_of_logits().check(new)
    assert check.grave == ()
    assert "scored" in {finding.kind for finding in check.findings}


def test_longer_lists_are_noted_and_are_no_other_scores() -> None:
    y_true, y_score = draw(seed=0)

    def lists(scores: Any, k: int) -> Any:
        least = np.partition(scores, -k, axis=1)[:, -k:][:, :1]
        return sparse.csr_array(np.where(scores >= least, expit(scores), 0))

    rule = fit_empirical(y_true, lists(y_score, 4), keep_sparse=True)
    assert rule.check(lists(draw()[1], 4)).ok
    (finding, *_) = rule.check(lists(draw()[1], 8)).findings
    assert finding.kind == "scored"
    assert "A row now has scores for 8 labels on average; it had 4 when the rule was fitted." in finding.sentence


def test_lists_for_a_rule_of_whole_rows_may_leave_out_anything_low() -> None:
    y_true, y_score = draw(seed=0)
    rule = fit_empirical(y_true, expit(y_score))
    new = expit(draw()[1])
    listed = sparse.csr_array(np.where(new >= np.minimum(rule.thresholds, 0.3), new, 0))
    assert rule.check(listed).ok
    assert not rule.check(100 * listed).ok


# Where nothing has


@pytest.mark.parametrize("kind", ["plain", "guarded", "tied", "sparse", "dependent"])
def test_two_samples_of_one_distribution_are_alike(kind: str) -> None:
    n_alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y_true = rng.random((460, 12)) < 0.1
        y_score = rng.normal(size=y_true.shape) + y_true
        if kind == "tied":
            y_score = np.round(y_score)
        if kind == "dependent":
            y_score += 3 * rng.normal(size=(460, 1))
        if kind == "sparse":
            y_score = sparse.csr_array(np.where(y_score > 1, y_score, 0))
        guard = "shrink" if kind == "guarded" else None
        rule = fit_empirical(y_true[:400], y_score[:400], guard=guard, keep_sparse=True)
        n_alarms += not rule.check(y_score[400:]).ok
    assert n_alarms <= 2  # .3 are to be expected; more than 2 have a probability of .004


@pytest.mark.parametrize("seed", range(5))
def test_rare_labels_that_are_predicted_where_they_occur_are_fewer_on_other_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a label that occurs once in the fit nothing is expected of other rows: that is no change."""

    def drawn(n_rows: int) -> tuple[Any, Any]:
        occurs = rng.random((n_rows, 2000)) < 0.004
        return occurs, sparse.csr_array(occurs * rng.uniform(0.5, 1, occurs.shape))

    rng = np.random.default_rng(seed)
    rule = fit_empirical(*drawn(300), keep_sparse=True)
    _, new = drawn(1000)
    assert "labels_per_row" not in {finding.kind for finding in rule.check(new).findings}
    monkeypatch.setattr(watching, "_luck", lambda profile: (0.0, 0.0))
    assert "labels_per_row" in {finding.kind for finding in rule.check(new).findings}


def test_the_rows_of_the_fit_are_alike() -> None:
    _, y_score = draw(seed=0)
    check = rule_of_logits().check(y_score)
    assert check.ok
    assert check.labels["distance"].max() == 0
    assert (check.labels["predicted_rate_fit"] == check.labels["predicted_rate"]).all()


def test_alpha_is_the_probability_of_finding_anything() -> None:
    new = draw()[1] + 0.1
    rule = rule_of_logits()
    assert rule.check(new, alpha=1e-9).ok
    assert not rule.check(new).ok


# Figures


def test_distances_and_p_values_are_those_of_the_definitions() -> None:
    y_true, y_score = draw(120, 5, seed=0)
    y_score[:, 2] = np.round(y_score[:, 2])
    rule = fit_empirical(y_true, y_score)
    new = np.round(draw(70, 5)[1], 2)
    found = rule.check(new).labels
    as32 = [a.astype(np.float32).astype(float) for a in (y_score, new)]
    for j in range(5):
        assert found["distance"][j] == pytest.approx(profiles.distance(as32[0][:, j].tolist(), as32[1][:, j].tolist()))
        before, now = (int(rule.predict(given)[:, j].sum()) for given in (y_score, new))
        exact = min(profiles.p_of_more(before, 120, now, 70), profiles.p_of_more(now, 70, before, 120))
        assert min(1, 2 * float(exact)) <= found["p_rate"][j] + 1e-12


def test_labels_that_moved_farthest_come_first() -> None:
    new = draw()[1]
    new[:, 3] += 2
    new[:, 11] += 4
    rows = [line.split()[0] for line in str(rule_of_logits().check(new)).splitlines() if line.strip()]
    assert rows.index("11") < rows.index("3")


def test_a_check_is_a_result() -> None:
    check = rule_of_logits().check(expit(draw()[1]))
    assert len(check.to_frame()) == 20
    assert check.to_dict()["findings"][0]["kind"] == "scale"
    text = str(check)
    assert text.startswith("1,000 new rows, compared with 1,000 rows of the fit: 3 things have changed.")
    assert "grave: The scores look like probabilities" in text
    assert len(check.to_text(2).splitlines()) < len(text.splitlines())
    assert "<table>" in check._repr_html_()
    fine = rule_of_logits().check(draw()[1])
    assert str(fine).startswith("1,000 new rows, compared with 1,000 rows of the fit: no change was found. A row gets ")


def test_rates_that_rose_and_fell_are_counted_apart() -> None:
    new = draw()[1]
    new[:, [3, 5]] += 4
    new[:, 7] -= 4
    (finding,) = (finding for finding in rule_of_logits().check(new).findings if finding.kind == "rates")
    assert finding.sentence.startswith(
        "Of 20 labels, 2 are predicted more often and 1 less often than when the rule was fitted: "
    )
    (finding,) = (finding for finding in rule_of_logits().check(draw()[1] - 4).findings if finding.kind == "rates")
    assert " are predicted less often than when" in finding.sentence


def test_a_likely_cause_is_told_from_what_follows() -> None:
    rule = rule_of_logits()
    likely = "3 things have changed. The first may be the cause of the rest."
    assert likely in flat(rule.check(expit(draw()[1])))
    unexplained = rule.check(draw()[1] * np.linspace(-2, 3, 20) + np.linspace(2, -3, 20) ** 2)
    assert first(unexplained)[0] == "scores"
    assert "may be the cause" not in str(unexplained)


def test_what_grave_and_note_ask_for_is_said_once() -> None:
    rule = rule_of_logits()
    asked = ("Do not use the decisions until each grave change is", "A note may be harmless or intended")
    for scores in (expit(draw()[1]), draw()[1] + 0.15, 2 * draw()[1], draw()[1]):
        check = rule.check(scores)
        severities = {finding.severity for finding in check.findings}
        assert [str(check).count(words) for words in asked] == ["grave" in severities, "note" in severities]


def test_large_numbers_of_labels_are_written_out() -> None:
    low = np.random.default_rng(0).uniform(0, 0.4, (60, 1_234))
    check = thresholds.FixedRule(0.5, 1_234).watching(low).check(low + 0.6)
    (finding,) = (finding for finding in check.findings if finding.kind == "labels_per_row")
    assert finding.sentence == "A row now gets 1,234 labels on average; it got 0 when the rule was fitted."


def test_masks_of_some_labels_name_them() -> None:
    new = draw()[1]
    new[:500, 4] = -inf
    (finding,) = (finding for finding in rule_of_logits().check(new).findings if finding.kind == "scored")
    assert finding.labels == ("4",)
    assert "The number of rows with a score has changed for label 4." in finding.sentence


# Decisions


def two_samples(seed: int, n_labels: int = 10) -> tuple[Any, Any]:
    """Standard normal scores, of two times 2,000 rows, of which a rule at .5 predicts 31 %."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2000, n_labels)), rng.normal(size=(2000, n_labels))


@pytest.mark.parametrize("factor", [1.31, 1 / 1.31])
def test_a_change_of_decisions_is_grave_however_little_the_scores_have_moved(factor: float) -> None:
    """Few scores lie near the threshold, and those move across it."""
    for seed in range(10):
        before, now = two_samples(seed)
        rule = thresholds.FixedRule(1.5, 10).watching(before)
        rate = (before >= 1.5).mean()
        top = np.quantile(now, 1 - factor * rate)  # as many are above
        moved = np.where(now > 1, now + 1.5 - top, now)
        check = rule.check(moved)
        (finding,) = (found for found in check.findings if found.kind == "labels_per_row")
        assert finding.severity == "grave"
        assert check.labels_per_row / check.labels_per_row_fit == pytest.approx(factor, rel=0.1)
        assert check.labels_per_row_ratio_low < factor * 1.1
        assert check.labels_per_row_ratio_high > factor / 1.1
        assert len(warnings_of(rule, moved)) == 1


def test_a_change_of_fewer_decisions_than_a_fifth_is_a_note() -> None:
    before, now = two_samples(0)
    check = thresholds.FixedRule(0.5, 10).watching(before).check(now + 0.1)
    assert 1.05 < check.labels_per_row / check.labels_per_row_fit < 1.2
    assert {finding.severity for finding in check.findings} == {"note"}
    assert "labels_per_row" in {finding.kind for finding in check.findings}


def test_less_than_a_twentieth_of_the_decisions_is_not_worth_a_note() -> None:
    before, now = np.random.default_rng(0).normal(size=(2, 100_000, 10))
    check = thresholds.FixedRule(0.5, 10).watching(before).check(now + 0.03)
    assert check.labels_per_row_ratio_low > 1.01
    assert check.labels_per_row / check.labels_per_row_fit < 1.05
    assert "labels_per_row" not in {finding.kind for finding in check.findings}


@pytest.mark.parametrize(("shift", "severity"), [(0.35, "grave"), (0.1, "note")])
def test_changes_of_labels_add_up_where_the_number_of_decisions_stays(shift: float, severity: str) -> None:
    """Half of the labels are predicted more often, and the others less often."""
    before, now = two_samples(0)
    check = thresholds.FixedRule(0.5, 10).watching(before).check(now + np.where(np.arange(10) < 5, shift, -shift))
    assert 0.95 < check.labels_per_row / check.labels_per_row_fit < 1.05
    of_kind = {finding.kind: finding.severity for finding in check.findings}
    assert "labels_per_row" not in of_kind
    assert of_kind["rates"] == severity


def test_a_quarter_of_a_standard_deviation_is_grave() -> None:
    """The distance of such scores is .051 on average, and what chance adds or takes may not decide."""
    for seed in range(10):
        before, now = two_samples(seed)
        assert thresholds.FixedRule(0.5, 10).watching(before).check(now + 0.25).grave


def test_intervals_cover_the_change_of_decisions() -> None:
    n_covered = 0
    of_labels = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rate = np.array([0.02, 0.1, 0.3])
        before, now = rng.random((400, 3)), rng.random((300, 3))
        rule = thresholds.FixedRule(0.0, 3).watching(before - 1 + rate)
        check = rule.check(now - 1 + 1.5 * rate)
        n_covered += check.labels_per_row_ratio_low < 1.5 < check.labels_per_row_ratio_high
        of_labels.append((check.labels["rate_ratio_low"] < 1.5) & (check.labels["rate_ratio_high"] > 1.5))
    assert 0.9 <= n_covered / 200 <= 0.99
    assert (np.mean(of_labels, axis=0) >= 0.92).all()


def test_the_interval_of_labels_a_row_is_that_of_two_samples() -> None:
    """The logarithm of each mean m has the variance sd^2 / (n m^2)."""
    rng = np.random.default_rng(0)
    before, now = rng.normal(size=(4000, 10)), rng.normal(size=(100, 10))
    check = thresholds.FixedRule(0.5, 10).watching(before).check(now)
    of_rows = [(scores >= 0.5).sum(axis=1) for scores in (before, now)]
    relative = sum(labels.var() / labels.mean() ** 2 / labels.size for labels in of_rows)
    width = np.exp(1.96 * np.sqrt(relative))
    ratio = of_rows[1].mean() / of_rows[0].mean()
    assert check.labels_per_row_ratio_low == pytest.approx(ratio / width, rel=2e-3)
    assert check.labels_per_row_ratio_high == pytest.approx(ratio * width, rel=2e-3)


def test_what_is_not_known_of_decisions_has_no_interval() -> None:
    before, now = two_samples(0)
    never = thresholds.FixedRule(inf, 10).watching(before).check(now)
    assert np.isnan([never.labels_per_row_ratio_low, never.labels_per_row_ratio_high]).all()
    rule = thresholds.ThresholdRule(np.full(10, 0.5)).watching(before)
    unknown = replace(rule, kept=rule.profile.of_other_decisions()).check(now)
    assert np.isnan(unknown.labels_per_row_ratio_low)
    assert np.isnan(unknown.labels["rate_ratio_low"]).all()
    assert unknown.ok


# Kinds of rules, kinds of scores


def others() -> dict[str, Any]:
    """Rules of other kinds, all of the same logits or probabilities."""
    y_true, y_score = draw(seed=0)
    p = expit(y_score)
    calibrator = thresholds.calibrate(y_true, p, "platt")
    return {
        "top k": thresholds.fit_top_k(y_true, p),
        "regions": thresholds.fit_regions(y_true, p),
        "expected": thresholds.fit_expected(p),
        "rows": thresholds.fit_expected(p, "samples"),
        "calibrated": thresholds.CalibratedRule(calibrator, thresholds.InstanceRule()).watching(p),
        "weighted": fit_empirical(y_true, p, sample_weight=np.linspace(0.5, 1.5, 1000)),
    }


@pytest.mark.parametrize("kind", ["top k", "regions", "expected", "rows", "calibrated", "weighted"])
def test_rules_of_every_kind_watch(kind: str) -> None:
    rule = others()[kind]
    p = expit(draw()[1])
    assert rule.check(p).ok
    assert first(rule.check(1 - p))[0] == "scale"
    assert first(rule.check(p[:, ::-1]))[0] == "order"


def test_frames_are_put_in_order_by_name_before() -> None:
    y_true, y_score = draw(seed=0)
    rule = fit_empirical(y_true, y_score, label_names=NAMES)
    new = pd.DataFrame(draw()[1], columns=NAMES)
    assert rule.check(new[NAMES[::-1]]).ok
    assert first(rule.check(new.set_axis(NAMES[::-1], axis=1)))[0] == "order"
    with pytest.raises(thresholds.InputError, match="lacks the column"):
        rule.check(new.rename(columns={"label 3": "label 33"}))


# What predict says


def warnings_of(rule: Any, *batches: Any) -> list[str]:
    """What a rule warns of when it predicts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for batch in batches:
            rule.predict(batch)
    assert all(warning.category is ScoreChangeWarning for warning in caught)
    return [str(warning.message) for warning in caught]


def test_predict_warns_once_where_it_is_grave() -> None:
    rule = rule_of_logits()
    new = draw()[1]
    assert warnings_of(rule, new, new + 0.05) == []
    (message,) = warnings_of(rule, expit(new), 2 * new)
    assert message.startswith("The scores look like probabilities, but the rule was fitted on their logits")
    assert message.endswith(" 2 more changes are grave. rule.check(y_score) says more")
    assert len(message.splitlines()) == 1


def test_predict_looks_at_few_rows_for_their_range_only() -> None:
    reversed_columns = draw()[1][:, ::-1]
    assert warnings_of(rule_of_logits(), reversed_columns[:49]) == []
    assert len(warnings_of(rule_of_logits(), reversed_columns[:60])) == 1
    (message,) = warnings_of(rule_of_probabilities(), 100 * expit(draw()[1][:49]))
    assert "of the scores lie outside the range that the rule was fitted on, " in message


def test_rows_that_come_one_at_a_time_are_kept_and_checked_together() -> None:
    rule = rule_of_logits()
    recent: deque[Any] = deque(maxlen=500)

    def decide(row: Any) -> Any:
        recent.append(row)
        return rule.predict(row)

    def serve(rows: Any) -> None:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(decide, rows))

    new = draw()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScoreChangeWarning)
        serve(new[:500])
        assert rule.check(np.stack(recent.copy())).ok
        serve(new[500:, ::-1])
    assert len(recent) == 500
    assert first(rule.check(np.stack(recent.copy())))[0] == "order"


@pytest.mark.parametrize("n", [50, 100, 400])
def test_predict_looks_closely_only_where_chance_does_not_explain_what_it_sees(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = rule_of_logits()
    new = draw()[1]
    looks: list[int] = []
    check_rows = watching.check_rows
    monkeypatch.setattr(watching, "check_rows", lambda *given: looks.append(n) or check_rows(*given))
    for first in range(0, 400, n):
        rule.predict(new[first : first + n])
    assert not looks
    assert len(warnings_of(rule, new[:n] + 0.5)) == len(looks) == 1


def test_comparing_and_diagnosing_warn_of_columns_in_their_own_order() -> None:
    y_true, y_score = draw(seed=0)
    rule = fit_empirical(y_true, y_score, label_names=NAMES)
    truth, new = draw()
    places = np.arange(20)[::-1]
    names = [NAMES[j] for j in places]
    frame = pd.DataFrame(new[:, places], columns=names)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScoreChangeWarning)
        thresholds.compare({"rule": rule}, pd.DataFrame(truth[:, places], columns=names), frame)
        thresholds.diff_rules(rule, rule.reordered(places), frame)
    with pytest.warns(ScoreChangeWarning, match="reverse order"):
        thresholds.diagnose(truth, new[:, ::-1], rule)


@pytest.mark.parametrize("kind", ["constant", "0 or 1", "beyond float32"])
@pytest.mark.parametrize("form", ["dense", "sparse", "lists", "weights"])
@pytest.mark.filterwarnings("error")
def test_scores_with_many_ties_are_like_themselves(kind: str, form: str) -> None:
    """Some 30 scores a label: what is to be expected of other rows differs by more than it may, but not with ties."""
    for seed in range(5):
        rng = np.random.default_rng([21, seed])
        normal = rng.normal(size=(60, 5))
        y_true = rng.random(normal.shape) < 0.3
        y_score: Any = {"constant": 0.5 + 0 * normal, "0 or 1": (normal > 0) * 1.0, "beyond float32": 1e300 * normal}[
            kind
        ]
        options: dict[str, Any] = {}
        if form == "weights":
            options = {"sample_weight": rng.random(60)}
        elif form != "dense":
            y_score = sparse.csr_array(np.where(rng.random(normal.shape) < 0.5, 0, y_score))
            options = {"missing": -inf} if form == "lists" else {}

        rule = fit_empirical(y_true, y_score, "micro", **options)

        assert rule.check(y_score).ok
        rule.predict(y_score, dense=True)


@pytest.mark.filterwarnings("error")
def test_absent_scores_beyond_float32_are_read() -> None:
    y_true, y_score = draw(200, 3)
    scores = sparse.csr_array(np.where(y_score > -2, y_score, 0))

    assert fit_empirical(y_true, scores, missing=-1e300).check(scores).ok
