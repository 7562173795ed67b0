"""What a report says of rows and a rule: every figure counted again, in plain NumPy, or by another way through."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse, stats

import thresholds
from thresholds import FixedRule, Rule, ThresholdRule, TopKRule, make_report, metrics
from thresholds.report.content import BORDER, DISTRUSTED, LABELS, OPEN, TRUSTED, Content
from thresholds.validation.cross_fit import CrossFit

NAMES = ("cough", "fever", "rash", "noise", "rare", "absent")
RATES = (0.3, 0.1, 0.05, 0.03, 0.006, 0.0)
KNOWN = (3.0, 2.0, 1.0, 0.0, 1.0, 0.0)  # how far positives score higher
N = 1500


@cache
def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels that are known well, a little, and not at all; one has hardly any positives, and one has none."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N, len(NAMES))) < RATES).astype(np.uint8)
    return truth, rng.normal(size=truth.shape) + KNOWN * truth


@cache
def fitted() -> CrossFit:
    """Thresholds that were fitted on other rows."""
    return thresholds.cross_fit(*rows(1), label_names=NAMES)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Two tables are equal, NaN being equal to itself."""
    for name in expected.dtype.names:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


NOISY = ThresholdRule([1.5, 1.3, 1.5, -0.5, 1.0, 2.5], label_names=NAMES)  # marks "noise" on most rows


@cache
def content(rule: Rule = NOISY) -> Content:
    """What a report says of a rule."""
    return make_report(*rows(), rule).content


def test_columns_are_counts_and_what_a_diagnosis_says() -> None:
    truth, scores = rows()
    predicted = NOISY.predict(scores)
    labels = content().labels
    assert labels.dtype.names == LABELS
    assert labels["name"].tolist() == list(NAMES)
    np.testing.assert_array_equal(labels["positives"], truth.sum(axis=0))
    np.testing.assert_array_equal(labels["predicted"], predicted.sum(axis=0))
    np.testing.assert_array_equal(labels["marked"], predicted.sum(axis=0))
    np.testing.assert_array_equal(labels["tp"], (truth & predicted).sum(axis=0))
    diagnosed = thresholds.diagnose(truth, scores, NOISY).table
    for name in set(LABELS) & set(diagnosed.dtype.names) - {"sentence"}:
        np.testing.assert_array_equal(labels[name], diagnosed[name], err_msg=name)
    assert np.isnan(labels["f_out_of_fold"]).all()  # The rule was made by hand.


def test_labels_are_trusted_by_verdict_and_by_flag() -> None:
    labels = content().labels
    assert set(labels["trust"][labels["verdict"] == "usable"]) == {TRUSTED}
    assert set(labels["trust"][np.isin(labels["verdict"], ["weak", "missed", "useless"])]) == {DISTRUSTED}
    # Here none is known well enough to be on the border, whatever its state.
    unproven = labels[labels["verdict"] == "unproven"]
    assert (unproven["f_high"] - unproven["f_low"] > 0.2).all()
    assert set(unproven["trust"]) == {OPEN}
    of = dict(zip(NAMES, labels, strict=True))
    assert of["cough"]["trust"] == TRUSTED
    assert (of["noise"]["trust"], of["noise"]["state"]) == (DISTRUSTED, "platypus")


def test_a_label_of_few_positives_is_not_among_those_not_to_be_trusted_and_says_why_it_is_flagged() -> None:
    truth = np.zeros((60, 3), int)
    scores = np.tile(np.linspace(1, 0, 60)[:, None], (1, 3))  # falling
    truth[[1, 6, 11, 16, 40, 55], 0] = 1
    truth[[2, 30, 50], 1] = 1
    rule = ThresholdRule(scores[[19, 9, 2], 0], label_names=("six", "three", "none"))
    labels = make_report(truth, scores, rule).content.labels
    assert labels["verdict"].tolist() == ["unproven"] * 3
    assert labels["state"].tolist() == ["suspect"] * 3
    assert labels["trust"].tolist() == [OPEN] * 3
    assert labels["sentence"].tolist() == [
        "20 rows are marked six, of which 4 truly are; in all, 6 are: marked 3.33 times as often as true, and nothing"
        " shows that the scores know it.",
        "10 rows are marked three, of which 1 truly is; in all, 3 are: marked 3.33 times as often as true, and too few"
        " to tell whether the scores know it.",
        "3 rows are marked none, and none truly is: no row here truly is none.",
    ]


def test_groups_add_up_to_all_labels_and_all_marks() -> None:
    labels = content().labels
    groups = content().summary.groups
    assert [group.trust for group in groups] == [DISTRUSTED, BORDER, OPEN, TRUSTED]
    for group in groups:
        of_group = labels[labels["trust"] == group.trust]
        assert (group.n_labels, group.n_marked, group.n_predicted, group.n_right) == (
            of_group.size,
            of_group["marked"].sum(),
            of_group["predicted"].sum(),
            of_group["tp"].sum(),
        )
    assert sum(group.share_of_labels for group in groups) == pytest.approx(1)
    assert sum(group.share_of_marked for group in groups) == pytest.approx(1)


def test_the_headline_counts_labels_and_their_share_of_the_marks() -> None:
    labels = content().labels
    bad = labels["trust"] == DISTRUSTED
    share = 100 * labels["predicted"][bad].sum() / labels["predicted"].sum()
    assert content().summary.headline == (
        f"{bad.sum()} of 6 labels are not to be trusted; they make {share:.0f} % of all marks."
    )


def test_figures_are_those_of_the_metrics() -> None:
    truth, scores = rows()
    predicted = NOISY.predict(scores)
    found = {figure.measure: figure for figure in content().summary.figures}
    for average in ("micro", "macro", "weighted", "samples"):
        expected = metrics.f1_score(truth, predicted, average=average, zero_division=0)
        assert found[average].value == pytest.approx(expected, abs=1e-12)
    supported = truth.any(axis=0)
    expected = metrics.f1_score(truth[:, supported], predicted[:, supported], average="macro")
    assert found["macro_supported"].value == pytest.approx(expected, abs=1e-12)
    right = (truth & predicted).sum()
    assert found["precision"].value == pytest.approx(right / predicted.sum())
    assert found["recall"].value == pytest.approx(right / truth.sum())
    for figure in found.values():
        assert 0 <= figure.lower < figure.value < figure.upper <= 1


def test_a_share_is_known_as_well_as_the_rows_that_it_is_about_tell() -> None:
    # All three marks are right, of 200 rows that should be marked.
    truth = np.ones((200, 1), int)
    scores = np.linspace(1, 0, 200)[:, None]
    precision, recall = make_report(truth, scores, ThresholdRule([scores[2, 0]])).content.summary.figures[:2]
    assert (precision.value, recall.value) == (1, 3 / 200)
    assert precision.lower < 0.5
    assert recall.upper < 0.05
    # Precision without each row, by the definition of the jackknife; one row that is all right and one all wrong added.
    truth, scores = (cells[:40] for cells in rows())
    marked = NOISY.predict(scores)
    right = (truth & marked).sum(axis=1)
    without = np.array([np.delete(right, i).sum() / np.delete(marked, i, axis=0).sum() for i in range(40)])
    share, n_marked = right.sum() / marked.sum(), marked.any(axis=1).sum()
    squares = np.append((without - without.mean()) ** 2, [(share / n_marked) ** 2, ((1 - share) / n_marked) ** 2])
    variance, fourth = squares.sum(), (squares**2).sum()
    freedom = min(2 * variance**2 / (fourth - variance**2 / 42), 41)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(39 / 40 * variance)
    found = make_report(truth, scores, NOISY).content.summary.figures[0]
    assert (found.value, found.lower, found.upper) == pytest.approx((share, share - half, share + half))


def test_the_first_screen_says_of_100_marks_how_many_are_right() -> None:
    precision, recall = content().summary.figures[:2]
    right, made = content().summary.how_good
    low, high = int(100 * precision.lower), int(-(-100 * precision.upper // 1))
    assert right == f"Of 100 marks, about {100 * precision.value:.0f} (probably between {low} and {high}) are right."
    assert f"about {100 * recall.value:.0f} " in made


def test_rows_of_a_group_are_left_out_together() -> None:
    # Three copies of each row, as one group, say no more than the row alone.
    truth, scores = rows()
    copies = [np.repeat(array, 3, axis=0) for array in (truth, scores)]
    found = make_report(*copies, NOISY, groups=np.repeat(np.arange(N), 3)).content.summary.figures
    for figure, alone in zip(found, content().summary.figures, strict=True):
        assert (figure.value, figure.lower, figure.upper) == pytest.approx((alone.value, alone.lower, alone.upper))
    narrow = make_report(*copies, NOISY).content.summary.figures
    assert all(a.upper - a.lower < b.upper - b.lower for a, b in zip(narrow, found, strict=True))


def test_rows_are_counted_by_how_many_labels_they_have() -> None:
    truth, scores = rows()
    found = content().per_row
    lowest = found.lowest.tolist()
    assert lowest[0] == 0
    for histogram, cells in ((found.predicted, NOISY.predict(scores)), (found.true, truth)):
        sums = cells.sum(axis=1)
        ends = [*lowest[1:], found.highest + 1]
        expected = [((sums >= low) & (sums < end)).sum() for low, end in zip(lowest, ends, strict=True)]
        assert histogram.tolist() == expected
        assert histogram.sum() == N
    assert found.mean_true == truth.sum() / N


def test_a_row_with_very_many_marks_does_not_spoil_the_histogram() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((400, 300))
    scores[0] += 1
    rule = FixedRule(0.99, 300)
    found = make_report(rng.random((400, 300)) < 0.01, scores, rule).content.per_row
    assert found.highest == 300
    assert found.lowest[-1] < 20
    assert found.predicted.sum() == found.true.sum() == 400


def test_labels_that_add_most_wrong_marks_come_first() -> None:
    labels = content().labels
    wrong = labels["predicted"] - labels["tp"]
    listed = content().false_positives
    assert (np.diff(wrong[listed]) <= 0).all()
    assert sorted(listed) == np.flatnonzero(wrong > 0).tolist()
    assert content().worst.tolist() == [j for j in listed if labels["trust"][j] == DISTRUSTED]


def test_a_label_that_is_never_marked_is_among_the_worst_if_it_should_be() -> None:
    rule = NOISY.replace({"cough": np.inf})
    said = make_report(*rows(), rule).content
    assert NAMES[said.worst[-1]] == "cough"
    assert said.labels["verdict"][0] == "missed"
    assert 0 not in said.false_positives


def test_curves_are_counts_at_their_thresholds() -> None:
    truth, scores = rows()
    curves = content().curves
    first = [j for j in content().worst if truth[:, j].any()]
    assert list(curves)[: len(first)] == first
    assert set(curves) == set(np.flatnonzero(truth.any(axis=0)))
    for label, curve in curves.items():
        marked = scores[:, label] >= curve.threshold[:, None]  # (n_points, n_samples)
        np.testing.assert_array_equal(curve.predicted, marked.sum(axis=1))
        np.testing.assert_array_equal(curve.tp, (marked & (truth[:, label] == 1)).sum(axis=1))
        assert curve.f()[curve.best] == content().labels["best_f"][label]


def test_a_fit_is_held_against_other_rows() -> None:
    found = fitted()
    said = content(found.rule)
    other = said.other_rows
    assert (other.measure, other.n_fitted, other.n_folds) == ("macro F1", N, 5)
    assert (other.in_sample, other.out_of_fold) == (found.in_sample, found.out_of_fold)
    macro = next(figure for figure in said.summary.figures if figure.measure == "macro")
    assert other.here == (macro.value, macro.lower, macro.upper)
    by_label = found.rule.out_of_fold.by_label
    expected = [2 * t / (p + q) for t, p, q in zip(by_label.tp, by_label.predicted, by_label.positives, strict=True)]
    np.testing.assert_allclose(said.labels["f_out_of_fold"][:5], expected[:5])
    assert said.summary.cautions == ()
    assert not said.on_own_rows


def test_on_the_rows_of_the_fit_labels_are_judged_out_of_fold() -> None:
    found = fitted()
    said = make_report(*rows(1), found.rule).content
    assert (said.on_own_rows, said.by_folds) == (True, True)
    assert found.verdicts is not None
    np.testing.assert_array_equal(said.labels["verdict"], found.verdicts.verdict)
    np.testing.assert_array_equal(said.labels["tp"], found.rule.out_of_fold.by_label.tp)
    figures = {figure.measure: figure.value for figure in said.summary.figures}
    assert figures["macro"] == pytest.approx(found.out_of_fold)
    assert "samples" not in figures
    (caution,) = said.summary.cautions
    assert caution.startswith("The rule was fitted on these rows. So its labels are judged by what other rules")


def test_where_out_of_fold_decisions_are_not_known_the_report_says_that_it_flatters() -> None:
    said = make_report(*rows(1), thresholds.fit(*rows(1), label_names=NAMES)).content
    assert (said.on_own_rows, said.by_folds) == (True, False)
    assert said.summary.cautions == (
        "The rule was fitted on these rows: on others it will do worse than this report says.",
    )
    assert said.summary.to_do[0].startswith("Judge the rule on rows that it was not fitted on")
    assert said.other_rows.out_of_fold is None


def test_without_a_rule_one_half_makes_one_and_the_other_judges_it() -> None:
    truth, scores = rows()
    half = thresholds.multilabel_folds(truth, 2)
    rule = thresholds.cross_fit(truth[half == 0], scores[half == 0], label_names=NAMES).rule
    expected = make_report(truth[half == 1], scores[half == 1], rule).content
    found = make_report(truth, scores, label_names=NAMES).content
    same(found.labels, expected.labels)
    assert found.about[0] == (
        f"fitted on {(half == 0).sum()} rows, judged on {(half == 1).sum()} others: halves by iterative stratification,"
        " seed 0"
    )


def test_what_moved_is_held_against_the_old_rule_on_the_same_rows() -> None:
    old, new = fitted().rule, thresholds.cross_fit(*rows(2), label_names=NAMES).rule
    said = make_report(*rows(), new, against=old).content.against
    assert said is not None
    difference = thresholds.diff_rules(old, new, rows()[1])
    np.testing.assert_array_equal(said.moved["name"], difference.table["name"][difference.largest])
    np.testing.assert_array_equal(said.moved["reason"], difference.table["verdict"][difference.largest])
    assert said.n_moved == difference.largest.size
    compared = thresholds.compare({"old": old, "new": new}, *rows()).differences
    changes = {change.measure: change for change in said.changes}
    for expected in compared:
        if expected.measure in changes:
            found = changes[expected.measure]
            assert tuple(found.difference) == pytest.approx((expected.difference, expected.lower, expected.upper))
            assert found.new - found.old == pytest.approx(expected.difference)


def test_new_and_lost_labels_are_named_and_the_others_compared() -> None:
    old = ThresholdRule([1.5, 1.5, 0.0], label_names=("rash", "cough", "gone"))
    said = make_report(*rows(), NOISY, against=old).content.against
    assert said is not None
    assert (said.new, said.lost) == (("fever", "noise", "rare", "absent"), ("gone",))
    assert said.sentences[-2:] == ("4 labels are new: fever, noise, rare and 1 other.", "1 label is lost: gone.")
    assert [change.sentence for change in said.changes][:2] == ["No difference.", "No difference."]
    truth, scores = rows(1)
    fitted_old = thresholds.fit(truth[:, 1:], scores[:, 1:], label_names=NAMES[1:])
    said = make_report(*rows(), fitted().rule, against=fitted_old).content.against
    assert said is not None
    assert said.new == ("cough",)
    assert said.changes[0].old != said.changes[0].new


def test_marks_of_an_old_rule_are_those_on_the_labels_that_both_have() -> None:
    truth, scores = rows()
    old = ThresholdRule([1.5, 0.0], label_names=("cough", "gone"))
    said = make_report(truth, scores, NOISY, against=old).content.against
    assert said is not None
    marks = f"{(scores[:, NAMES.index('cough')] >= 1.5).sum():,}"
    assert said.sentences[1] == (
        f"The old rule makes {marks} marks on these rows, and this one {marks}, on the labels that both have;"
        " 0 rows are marked differently."
    )
    said = make_report(truth, scores, NOISY, against=ThresholdRule([0.0], label_names=("gone",))).content.against
    assert said is not None
    assert [sentence.split(":")[0] for sentence in said.sentences] == [
        "The two rules have no label in common.",
        "6 labels are new",
        "1 label is lost",
    ]


def test_an_old_rule_that_was_fitted_on_these_rows_is_said_to_be_flattered() -> None:
    old = thresholds.fit(*rows(), label_names=NAMES)
    for rows_of_report, flattered in ((rows(), True), (rows(2), False)):
        said = make_report(*rows_of_report, NOISY, against=old).content.against
        assert said is not None
        assert (said.sentences[-1] == "The old rule was fitted on these rows, which flatters it.") == flattered


def test_a_difference_beyond_chance_is_said_with_its_bounds() -> None:
    said = make_report(*rows(), fitted().rule, against=NOISY).content.against
    assert said is not None
    change = next(change for change in said.changes if change.measure == "micro")
    value, lower, upper = change.difference
    assert lower > 0
    assert change.sentence == f"Higher by {value:.3f}, probably between {lower:.3f} and {upper:.3f}."


MARKS = "The rule marks the row with the label if the score"
DESCRIBED = {
    "macro, in-sample": (f"{MARKS} reaches a threshold; each of the 6 labels has its own.", "1 label is never marked."),
    "fixed 0.5": (f"{MARKS} reaches a threshold; the 6 labels share one.",),
    "top-k": ("The rule marks each row with the label of highest score, of 6.",),
    "macro, regions": (f"{MARKS} lies in certain ranges; each of the 6 labels has its own.",),
    "instance, platt": (
        "Scores are turned into probabilities.",
        "The rule looks at all labels of a row together, and marks the row with those that it can expect to do best"
        " with.",
    ),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_kind_of_rule_is_described_and_compared(name: str) -> None:
    rule = thresholds.fit(*rows(1), name, label_names=NAMES)
    found = make_report(*rows(), rule, against=rule).content
    marks = rule.predict(rows()[1]).sum()
    assert found.summary.rule == (
        "The model gives each row a score for each label.",
        *DESCRIBED[name],
        f"On 1,500 rows it makes {marks:,} marks; by the truth there should be {rows()[0].sum():,}.",
    )
    assert found.has_thresholds == isinstance(rule, ThresholdRule)
    assert found.against is not None
    assert {change.sentence for change in found.against.changes} == {"No difference."}
    assert found.against.n_moved == 0


def test_labels_that_are_never_marked_are_counted() -> None:
    rule = NOISY.replace({"noise": np.inf, "absent": np.inf})
    assert make_report(*rows(), rule).content.summary.rule[2] == "2 labels are never marked."


@pytest.mark.parametrize("rule", [FixedRule(1.0, 6), TopKRule(2)])
def test_labels_without_names_are_named_by_position(rule: Rule) -> None:
    said = make_report(*rows(), rule).content
    assert said.labels["name"].tolist() == [f"label {j}" for j in range(6)]
    assert "label 3" in said.labels["sentence"][3]


def test_a_label_without_a_name_is_called_so() -> None:
    said = make_report([[1, 0]] * 9, [[0.9, 0.2]] * 9, ThresholdRule([0.5, 0.1], label_names=("", "b"))).content
    assert "(no name)" in said.labels["sentence"][0]


def test_a_single_row_has_no_intervals() -> None:
    figures = make_report([[1, 0]], [[0.9, 0.2]], FixedRule(0.5, 2)).content.summary.figures
    assert all(np.isnan(figure.lower) and np.isnan(figure.upper) for figure in figures)


def test_rows_without_marks_and_without_truth_are_reported() -> None:
    said = make_report(np.zeros((5, 2)), np.zeros((5, 2)), FixedRule(0.5, 2)).content
    assert said.summary.headline == "Of 2 labels none is shown to be bad; of 2 it is too early to say."
    assert said.summary.how_good == ()
    assert all(figure.lower == 0 and figure.upper > 0.5 for figure in said.summary.figures)  # Little is known.
    assert said.worst.size == said.false_positives.size == len(said.curves) == 0


def test_rules_of_good_labels_alone_are_said_to_be_good() -> None:
    truth, scores = (cells[:, :1] for cells in rows())
    said = make_report(truth, scores, ThresholdRule([1.5], label_names=("cough",))).content
    assert said.summary.headline == "The label is shown to be good enough to use."
    assert said.summary.to_do == ("Use the marks of cough, and expect the mistakes that its sentence names.",)


def test_of_labels_not_to_be_trusted_it_is_said_how_few_of_the_marks_to_be_made_are_made() -> None:
    # Half of the marks are right, and nearly all that should be made are not.
    truth = np.zeros((400, 1), int)
    truth[[0, *range(2, 81)]] = 1
    rng = np.random.default_rng(0)
    scores = np.concatenate([[2.0, 2.0], rng.random(398)])[:, None]
    *_, step = make_report(truth, scores, ThresholdRule([1.5], label_names=("cough",))).content.summary.to_do
    assert step.endswith("of 100 such marks about 50 are right, and of 100 that should be made about 1 are made.")


def test_labels_that_are_never_marked_are_neither_checked_nor_given_up() -> None:
    truth = np.repeat([1, 0], [80, 320])[:, None]
    scores = np.random.default_rng(0).random((400, 1))  # know nothing
    summary = make_report(truth, scores, ThresholdRule([np.inf], label_names=("cough",))).content.summary
    assert summary.headline == "The label is not to be trusted; the rule makes no mark."
    assert summary.to_do == (
        "Read nothing into a missing mark of the label not to be trusted: the rule never makes one.",
    )


def test_of_one_label_it_may_be_too_early_to_say() -> None:
    said = make_report([[1], [0]], [[0.9], [0.2]], FixedRule(0.5, 1)).content
    assert said.summary.headline == "It is too early to say whether the label may be relied on."


def test_sparse_scores_say_the_same() -> None:
    truth, scores = rows()
    kept = np.where(scores > 0, scores, 0)
    rule = ThresholdRule([1.5, 1.3, 1.5, 0.1, 1.0, 2.5], label_names=NAMES)
    dense = make_report(truth, kept, rule).content
    found = make_report(sparse.csr_array(truth), sparse.csr_array(kept), rule).content
    same(found.labels, dense.labels)
    assert found.summary == dense.summary
