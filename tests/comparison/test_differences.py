"""What changed between two rules: labels, thresholds, settings, decisions."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.rules import AWKWARD, fitted
from tests.words import flat
from thresholds import ThresholdRule, cli, diff_rules

inf = float("inf")
OLD = ThresholdRule([0.5, 0.2, 0.7], label_names=("cat", "dog", "yak"))
NEW = ThresholdRule([0.4, 0.9, 0.5, inf], label_names=("dog", "emu", "cat", "fox"))
SCORES = np.array([[0.3, 0.1, 0.6, 1], [0.5, 0.95, 0.2, 1], [0.4, 0.9, 0.5, 1], [0.1, 0.99, 0.4, 1]])


def by_hand(old: ThresholdRule, new: ThresholdRule, scores: np.ndarray) -> dict[str, object]:
    """Counts of decisions, label by label, of rules with names."""
    before, after = np.zeros(len(scores), bool), np.zeros(len(scores), bool)
    rows, differs = {}, np.zeros(len(scores), bool)
    for j, name in enumerate(new.label_names):
        after = scores[:, j] >= new.thresholds[j]
        if name in old.label_names:
            before = scores[:, j] >= old.thresholds[old.label_names.index(name)]
            rows[name] = (before.sum(), after.sum(), (before != after).sum())
            differs |= before != after
    return {"rows": rows, "differs": int(differs.sum())}


def test_labels_are_matched_by_name() -> None:
    found = diff_rules(OLD, NEW)
    assert found.table["name"].tolist() == ["dog", "cat"]
    assert found.table["old_position"].tolist() == [1, 0]
    assert found.table["new_position"].tolist() == [0, 2]
    assert found.table["old_threshold"].tolist() == [0.2, 0.5]
    assert found.table["new_threshold"].tolist() == [0.4, 0.5]
    assert found.table["moved"].tolist() == [True, False]
    assert (found.new, found.lost) == (("emu", "fox"), ("yak",))
    assert (found.n_samples, found.rows_changed, found.predicted_new) == (None, None, None)
    assert "predicted_before" not in found.table.dtype.names
    with pytest.raises(ValueError, match="read-only"):
        found.table["moved"] = False
    assert found.to_frame()["new_threshold"].tolist() == [0.4, 0.5]


def test_the_largest_change_comes_first_not_the_highest_threshold() -> None:
    old, new = ThresholdRule([0.1, 0.5, 0.9, 0.2, 0.3]), ThresholdRule([0.2, 0.1, 0.95, 0.9, 0.3])
    assert diff_rules(old, new).largest.tolist() == [3, 1, 0, 2]


def test_decisions_of_the_old_rule_are_made_on_its_own_columns() -> None:
    found = diff_rules(OLD, NEW, SCORES)
    expected = by_hand(OLD, NEW, SCORES)
    counts = found.table[["predicted_before", "predicted_after", "rows_changed"]].tolist()
    assert (
        dict(zip(found.table["name"], counts, strict=True)) == expected["rows"] == {"dog": (3, 2, 1), "cat": (2, 2, 0)}
    )
    assert found.rows_changed == expected["differs"] == 1
    assert found.predicted_new.tolist() == [3, 0]
    assert found.n_samples == 4


def test_the_text_has_a_summary_and_what_changed() -> None:
    text = str(diff_rules(OLD, NEW, SCORES))
    assert flat(text).startswith(
        "2 labels in both rules: 1 threshold moved, 2 labels new, 1 lost; on 4 rows 5 -> 4 predictions (-20.0 %),"
        " and 3 of new labels, 1 row decided differently"
    )
    lines = text.splitlines()
    assert lines[2:4] == ["new labels: emu, fox", "lost labels: yak"]
    assert lines[-1].split() == ["dog", "0.2", "0.4", "3", "2", "1", "-33.3", "%"]
    assert [line for line in lines if line.startswith("cat")] == []


def test_a_rule_does_not_differ_from_itself() -> None:
    for rule in (AWKWARD, fitted(label_names=list("abcd")), ThresholdRule([inf, -inf])):
        found = diff_rules(rule, rule)
        assert not found.table["moved"].any()
        assert found.largest.size == 0
        assert found.settings == {}
        assert str(found) == f"{rule.n_labels} labels in both rules: 0 thresholds moved, 0 labels new, 0 lost"


def test_without_names_labels_are_matched_by_position() -> None:
    unnamed = ThresholdRule([0.1, 0.2, 0.7])
    assert diff_rules(unnamed, OLD).table["name"].tolist() == ["cat", "dog", "yak"]
    assert diff_rules(OLD, unnamed).table["name"].tolist() == ["cat", "dog", "yak"]
    assert diff_rules(unnamed, unnamed).table["name"].tolist() == ["0", "1", "2"]
    assert diff_rules(OLD, unnamed).table["moved"].tolist() == [True, False, False]
    with pytest.raises(thresholds.InputError, match=r"^new has 4 labels, expected 3 as old has, since not both have"):
        diff_rules(unnamed, NEW)


def test_no_common_label() -> None:
    other = ThresholdRule([0.5], label_names=("owl",))
    found = diff_rules(OLD, other, [0.4, 0.6])
    assert (found.new, found.lost, found.table.size) == (("owl",), ("cat", "dog", "yak"), 0)
    assert found.predicted_new.tolist() == [1]
    assert found.rows_changed == 0
    assert "0 labels in both rules: 0 thresholds moved, 1 label new, 3 lost" in str(found)


def test_the_largest_changes_come_first() -> None:
    old = ThresholdRule([0.5, 0.5, 0.5, inf, 0.5])
    new = ThresholdRule([0.45, 0.9, 0.5, 0.99, -inf])
    assert diff_rules(old, new).largest.tolist() == [3, 4, 1, 0]
    scores = np.array([[0.47, 0, 0, 0, 0.7], [0.47, 0.6, 0, 0.5, 0.8]])
    assert diff_rules(old, new, scores).largest.tolist() == [0, 1, 3, 4]
    lines = str(diff_rules(old, new)).splitlines()
    assert [line.split()[1:] for line in lines[-4:-2]] == [["never", "0.99"], ["0.5", "always"]]


def test_the_table_is_cut_at_top() -> None:
    old, new = ThresholdRule(np.linspace(0, 0.5, 30)), ThresholdRule(np.full(30, 0.5))
    assert "the 20 largest of 29 changes:" in str(diff_rules(old, new))
    assert len(diff_rules(old, new).to_text(3).split("changes:")[1].splitlines()) == 3 + 3 + 1
    assert "largest" not in diff_rules(old, new).to_text(0)
    assert "what changed:" in diff_rules(old, new).to_text(29)
    with pytest.raises(thresholds.InputError, match=r"^k is -1, expected a whole number"):
        diff_rules(old, new).to_text(-1)


def test_names_keep_to_their_line() -> None:
    old, new = (ThresholdRule([0.5, 0.5], label_names=("a", name)) for name in ("b\nc", "d\te"))
    assert str(diff_rules(old, new)).splitlines()[1:] == ["new labels: d e", "lost labels: b c"]


def test_settings_that_differ_are_listed() -> None:
    old, new = fitted(), fitted("micro", beta=2.0, placement="mid", zero_division=1.0, sample_weight=np.ones(80))
    settings = diff_rules(old, new).settings
    assert settings == {
        "average": ("macro", "micro"),
        "beta": (1.0, 2.0),
        "placement": ("low", "mid"),
        "zero_division": (0.0, 1.0),
    }
    assert "\naverage: macro -> micro\n" in str(diff_rules(old, new))
    assert diff_rules(old, ThresholdRule(old.thresholds)).settings["n_samples"] == (80, None)


@pytest.mark.parametrize("missing", [0.0, -1.0, 0.45])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_scores_change_nothing(kind: type, missing: float) -> None:
    rng = np.random.default_rng(3)
    stored = rng.random((50, 4)) < 0.5
    dense = np.where(stored, rng.random((50, 4)), missing)
    filled = sparse.csr_array((dense[stored], np.nonzero(stored)), shape=dense.shape)
    old, new = (ThresholdRule(rule.thresholds, label_names=rule.label_names, missing=missing) for rule in (OLD, NEW))
    one, other = diff_rules(old, new, kind(filled)), diff_rules(old, new, dense)
    assert str(one.table.tolist()) == str(other.table.tolist())
    np.testing.assert_array_equal(one.predicted_new, other.predicted_new)
    assert one.rows_changed == other.rows_changed == by_hand(old, new, dense)["differs"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_counts_are_those_of_predictions(dtype: type) -> None:
    rng = np.random.default_rng(8)
    scores = (rng.normal(size=(9000, 5)) * 3).astype(dtype)
    old, new = (ThresholdRule(rng.normal(size=5)) for _ in range(2))
    found = diff_rules(old, new, scores)
    before, after = old.predict(scores), new.predict(scores)
    np.testing.assert_array_equal(found.table["predicted_before"], before.sum(axis=0))
    np.testing.assert_array_equal(found.table["predicted_after"], after.sum(axis=0))
    np.testing.assert_array_equal(found.table["rows_changed"], (before != after).sum(axis=0))
    assert found.rows_changed == (before != after).any(axis=1).sum()


def test_plain_values_survive_json() -> None:
    found = diff_rules(OLD, NEW.replace({"dog": -inf, "cat": inf}), SCORES)
    values = json.loads(json.dumps(found.to_dict()))
    assert values == found.to_dict()
    assert [(label["name"], label["new_threshold"]) for label in values["labels"]] == [("dog", "-inf"), ("cat", "inf")]
    assert values["new_labels"] == ["emu", "fox"]
    assert values["n_moved"] == 2


def test_scores_of_another_kind_are_noticed() -> None:
    old, new = (fitted(label_names=list("abcd")) for _ in range(2))
    with pytest.warns(thresholds.ScoreChangeWarning, match="of the scores lie outside"):
        diff_rules(old, new, np.full((30, 4), 7.0))


@pytest.mark.parametrize("name", ["old", "new"])
def test_what_is_no_rule_is_refused(name: str) -> None:
    with pytest.raises(thresholds.InputError, match=f"^{name} is of type float, expected a rule$"):
        diff_rules(**{"old": OLD, "new": NEW} | {name: 0.5})


def test_bad_scores_are_refused() -> None:
    with pytest.raises(thresholds.InputError, match=r"^y_score has 3 labels, expected 4 as the rule has$"):
        diff_rules(OLD, NEW, SCORES[:, :3])
    with pytest.raises(thresholds.InputError, match=r"^y_score has NaN at row 0, label 'dog', expected real scores$"):
        diff_rules(OLD, NEW, np.full((2, 4), np.nan))


def test_each_rule_of_a_difference_has_its_own_missing() -> None:
    scores = sparse.csr_array(np.array([[0.7], [0.0], [0.0]]))
    old, new = thresholds.ThresholdRule([-0.5], missing=-1.0), thresholds.ThresholdRule([0.5])
    found = thresholds.diff_rules(old, new, scores)
    assert found.table["predicted_before"].tolist() == [1]
    assert found.rows_changed == 0


def test_an_old_rule_that_predicts_missing_is_compared_on_sparse_scores() -> None:
    scores = sparse.csr_array(np.array([[0.7], [0.0], [0.0]]))
    found = thresholds.diff_rules(thresholds.ThresholdRule([-0.5]), thresholds.ThresholdRule([0.5]), scores)
    assert found.table["predicted_before"].tolist() == [3]
    assert found.rows_changed == 2


def test_scores_out_of_the_range_of_the_old_rule_are_told() -> None:
    truth, scores = np.tile([[0], [1]], (20, 1)), np.linspace(0, 1, 40)[:, np.newaxis]
    old, new = (thresholds.fit_empirical(truth, scores + shift) for shift in (0.0, 100.0))
    with pytest.warns(thresholds.ScoreChangeWarning):
        thresholds.diff_rules(old, new, scores + 100.0)


# Noise and news


def sample(seed: int, shift: float = 0.0, n_labels: int = 30) -> thresholds.ThresholdRule:
    """A rule fitted on 600 rows; the scores of every third label lie higher by `shift`."""
    rng = np.random.default_rng(seed)
    truth = rng.random((600, n_labels)) < np.geomspace(0.01, 0.4, n_labels)
    scores = rng.normal(size=truth.shape) + 1.8 * truth + shift * (np.arange(n_labels) % 3 == 0)
    return thresholds.cross_fit(truth, scores).rule


def test_two_samples_of_one_distribution_have_no_news() -> None:
    for seed in range(4):
        found = diff_rules(sample(2 * seed), sample(2 * seed + 1))
        assert found.table["moved"].all()
        assert found.n_news == 0
        assert "30 thresholds moved (0 news, 30 noise)" in str(found)


def test_labels_whose_scores_have_moved_are_news_and_come_first() -> None:
    found = diff_rules(sample(0), sample(1, shift=1.0))
    is_news = found.table["verdict"] == "news"
    positives = 600 * np.geomspace(0.01, 0.4, 30)
    assert is_news[::3][positives[::3] >= 60].all()
    assert is_news[np.arange(30) % 3 > 0].sum() <= 2
    assert found.n_news == is_news.sum()
    assert is_news[found.largest[: found.n_news]].all()
    # Higher scores of the same rows: at the same score the label is true less often.
    assert (found.table["odds_ratio"][::3] < 1).all()
    assert (found.table["p_value"][is_news] < 0.05).all()
    lines = str(found).splitlines()
    assert lines[1].startswith("news: at the same score the label is now true more or less often")
    assert [line.split()[1] for line in lines if line.split()[1:2] == ["news"]] == ["news"] * found.n_news
    assert diff_rules(sample(0), sample(1, shift=1.0), alpha=1e-6).n_news < found.n_news


def test_what_has_not_moved_is_neither_noise_nor_news() -> None:
    rule = sample(0)
    found = diff_rules(rule, rule.replace({3: 0.5}))
    assert found.table["verdict"].tolist() == [""] * 3 + ["noise"] + [""] * 26
    assert np.isnan(found.table["p_value"][0])
    assert found.n_news == 0


def test_news_is_not_known_of_rules_that_keep_no_odds_or_of_scores_of_another_kind() -> None:
    rule = sample(0)
    rng = np.random.default_rng(1)
    truth = rng.random((200, 30)) < 0.2
    shares = thresholds.cross_fit(truth, rng.random((200, 30))).rule
    for other in (ThresholdRule(np.zeros(30)), shares):
        found = diff_rules(rule, other)
        assert found.n_news is None
        assert set(found.table["verdict"]) == {"unknown"}
        assert "noise or news is not known" in flat(found)
        assert "noise" not in str(found).splitlines()[0]


def test_a_threshold_from_never_is_judged_where_the_other_lies() -> None:
    rule = sample(0)
    found = diff_rules(rule.replace({29: inf}), sample(1))
    assert found.table["verdict"][29] == "noise"
    found = diff_rules(rule.replace({29: inf}), rule.replace({29: -inf}))
    assert found.table["verdict"][29] == "noise"


def test_settings_move_thresholds_too() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((300, 3)) < 0.3
    scores = rng.normal(size=truth.shape) + truth
    old, new = (thresholds.cross_fit(truth, scores, average).rule for average in ("macro", "micro"))
    found = diff_rules(old, new)
    assert found.n_news == 0
    assert set(found.table["verdict"]) <= {"settings", ""}
    assert "(0 news, 3 settings)" in str(found)
    assert "settings: no news, but the rules were fitted with other settings" in str(found)


@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")  # other scores than those of the fit
def test_the_command_line_fails_on_news_and_on_rows_decided_differently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, same, moved = (str(tmp_path / f"{name}.json") for name in ("old", "same", "moved"))
    sample(0).save(old)
    sample(1).save(same)
    sample(1, shift=1.0).save(moved)
    scores = str(tmp_path / "scores.npy")
    np.save(scores, np.random.default_rng(2).normal(size=(100, 30)))
    assert cli.main(["diff", old, same, "--fail-on", "news=0"]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main(["diff", old, moved, "--fail-on", "news=0"]) == 3
    assert "thresholds: failed: news is " in capsys.readouterr().err
    assert cli.main(["diff", old, same, scores, "--fail-on", "news=0,changed=0.01", "--json"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_news"] == 0
    assert [line.split()[0] for line in printed["broken"]] == ["changed"]
    assert cli.main(["diff", old, same, scores, "--fail-on", "changed=1"]) == 0
    capsys.readouterr()
    assert cli.main(["diff", old, same, "--fail-on", "changed=0.1"]) == 1
    assert "--fail-on has changed without a file of scores" in capsys.readouterr().err
    ThresholdRule(np.zeros(30)).save(moved)
    assert cli.main(["diff", old, moved, "--fail-on", "news=0"]) == 1
    assert "--fail-on has news, which is not known of these rules" in capsys.readouterr().err
