"""`update_rule`: what moves, what stays, and why."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.naive.gain import upper_tail
from tests.words import flat
from thresholds import InputError, ThresholdRule, cli, cross_fit, update_rule
from thresholds.validation import gain

N_LABELS = 24
RATES = np.geomspace(0.02, 0.4, N_LABELS)
NAMES = tuple(f"label {j}" for j in range(N_LABELS))
DRIFTED = np.arange(N_LABELS) % 4 == 0


def week(seed: int, shift: float = 0.0, n: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a week; the scores of every fourth label lie higher by `shift`."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, N_LABELS)) < RATES
    return truth, rng.normal(size=truth.shape) + 2 * truth + shift * DRIFTED


@cache
def old_rule() -> ThresholdRule:
    """The rule of the first week."""
    return cross_fit(*week(0), label_names=NAMES).rule


def without_odds(rule: ThresholdRule) -> ThresholdRule:
    """The rule as an older file has it."""
    return replace(rule, odds=None)


# What moves


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_where_nothing_has_changed_nearly_all_stay(seed: int) -> None:
    found = update_rule(old_rule(), *week(seed))
    assert found.n_moved <= 1
    stays = ~found.table["moved"]
    np.testing.assert_array_equal(found.rule.thresholds[stays], old_rule().thresholds[stays])


def test_the_updated_rule_says_what_made_it() -> None:
    found = update_rule(old_rule(), *week(1))
    assert found.rule.made_by.function == "update_rule"


def test_the_updated_rule_watches_for_what_its_own_thresholds_predict() -> None:
    old = cross_fit(*week(0, n=300), guard=None, label_names=NAMES).rule
    truth, scores = week(1, n=300)
    rule = update_rule(old, truth, scores).rule
    assert not np.array_equal(rule.thresholds, cross_fit(truth, scores, guard=None).rule.thresholds)
    np.testing.assert_array_equal(rule.profile.predicted, rule.predict(scores).sum(axis=0))
    assert rule.check(scores).ok


@pytest.mark.parametrize("old", [old_rule, lambda: without_odds(old_rule())])
def test_labels_whose_scores_have_moved_move(old: Callable[[], ThresholdRule]) -> None:
    found = update_rule(old(), *week(1, shift=2.0))
    moved = found.table["moved"]
    assert moved[DRIFTED].mean() >= 0.5
    assert moved[DRIFTED & (RATES > 0.1)].all()
    assert moved[~DRIFTED].sum() <= 1
    assert set(found.table["reason"][moved]) <= {"odds", "F"}
    np.testing.assert_array_equal(found.rule.thresholds[moved], found.table["fresh_threshold"][moved])
    np.testing.assert_array_equal(found.rule.thresholds, found.table["threshold"])
    assert (found.table["p_value"][moved] <= 0.1).all()
    assert found.old < found.updated


def test_a_small_rate_of_errors_moves_less() -> None:
    data = week(1, shift=1.0)
    assert update_rule(old_rule(), *data, alpha=1e-9).n_moved < update_rule(old_rule(), *data).n_moved


def test_many_more_rows_move_all() -> None:
    found = update_rule(old_rule(), *week(1, n=1600))
    assert found.table["moved"].all()
    assert "rows" in set(found.table["reason"])
    np.testing.assert_array_equal(found.rule.thresholds, cross_fit(*week(1, n=1600)).rule.thresholds)


@pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")  # they have shifted
def test_figures_are_those_of_the_decisions_out_of_fold() -> None:
    truth, scores = week(1, shift=1.0)
    found = update_rule(old_rule(), truth, scores)
    crossed = cross_fit(truth, scores)
    assert found.fresh == crossed.out_of_fold
    assert found.old == thresholds.metrics.f1_score(truth, old_rule().predict(scores), average="macro")
    moved = found.table["moved"]
    predicted = np.where(moved, scores >= crossed.fold_thresholds[crossed.folds], scores >= old_rule().thresholds)
    assert found.updated == pytest.approx(thresholds.metrics.f1_score(truth, predicted, average="macro"), rel=1e-14)
    assert found.rule.out_of_fold is not None
    assert found.rule.out_of_fold.f == found.updated
    by_label = found.rule.out_of_fold.by_label
    assert by_label is not None
    assert by_label.n_samples == len(truth)
    assert by_label.tp.tolist() == (predicted & (truth > 0)).sum(axis=0).tolist()
    assert by_label.predicted.tolist() == predicted.sum(axis=0).tolist()
    assert by_label.positives.tolist() == truth.sum(axis=0).tolist()
    assert found.rule.objective == thresholds.metrics.f1_score(truth, found.rule.predict(scores), average="macro")


def test_settings_are_those_of_the_old_rule() -> None:
    data = week(0)
    old = cross_fit(*data, "macro", beta=2.0, zero_division=1.0, placement="mid", max_overprediction=2.0).rule
    found = update_rule(old, *week(1))
    for name in ("average", "beta", "zero_division", "placement", "guard", "missing", "per_label"):
        assert getattr(found.rule, name) == getattr(old, name), name
    assert found.rule.guard == "shrink, max_overprediction=2.0"
    assert update_rule(old, *week(1), guard=None).rule.guard == "kept thresholds"
    assert update_rule(old, *week(1), max_overprediction=3.0).rule.guard == "shrink, max_overprediction=3.0"
    micro = update_rule(cross_fit(*data, "micro").rule, *week(1)).rule
    assert micro.average == "micro"


def test_an_update_can_be_updated_and_saved(tmp_path: Path) -> None:
    found = update_rule(old_rule(), *week(1, shift=1.0))
    path = tmp_path / "rule.json"
    found.rule.save(path)
    again = update_rule(thresholds.load_rule(path), *week(2, shift=1.0))
    assert again.n_moved <= 2
    assert again.rule.odds is not None


def test_kept_thresholds_are_no_in_sample_optimum() -> None:
    old = cross_fit(*week(0), guard=None).rule
    found = update_rule(old, *week(1))
    assert "guard kept thresholds" in flat(found.rule)
    assert update_rule(found.rule, *week(2)).rule.guard == "kept thresholds"
    assert update_rule(old, *week(1, n=1600)).rule.guard is None


# Labels


def test_new_labels_get_fresh_thresholds_and_lost_ones_go() -> None:
    truth, scores = week(1)
    names = ["emu", *NAMES[:0:-1]]  # The first is lost, the others are in another order.
    order = [0, *range(N_LABELS - 1, 0, -1)]
    found = update_rule(old_rule(), truth[:, order], scores[:, order], label_names=names)
    assert found.rule.label_names == tuple(names)
    assert found.lost == ("label 0",)
    assert found.table["reason"][0] == "new"
    assert not found.table["moved"][0]
    assert np.isnan(found.table["old_threshold"][0])
    assert found.rule.thresholds[0] == found.table["fresh_threshold"][0]
    expected = [old_rule().thresholds[NAMES.index(name)] for name in names[1:]]
    np.testing.assert_array_equal(found.table["old_threshold"][1:], expected)
    text = str(found)
    assert "1 label new, 1 lost" in text.splitlines()[0]
    assert "new labels: emu" in text
    assert "lost labels: label 0" in text


def test_without_names_labels_go_by_position() -> None:
    truth, scores = week(1)
    found = update_rule(old_rule(), truth, scores)
    assert found.rule.label_names == NAMES
    nameless = replace(old_rule(), label_names=None)
    named = update_rule(nameless, truth, scores, label_names=NAMES)
    np.testing.assert_array_equal(named.rule.thresholds, found.rule.thresholds)
    with pytest.raises(InputError, match=r"^y_score has 23 labels, expected 24 as the old rule has"):
        update_rule(nameless, truth[:, 1:], scores[:, 1:])
    with pytest.raises(InputError, match=r"^y_score has none of the labels of old"):
        update_rule(old_rule(), truth[:, :2], scores[:, :2], label_names=["emu", "owl"])


# Data of all kinds


def test_sparse_scores_weights_and_groups() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random((400, 6)) < 0.3
    stored = rng.random(truth.shape) < 0.7
    scores = np.where(stored, 1 + 2 * truth + rng.random(truth.shape), 0.0)
    old = cross_fit(truth[:399], scores[:399], keep_sparse=True).rule.replace({0: 9.0})
    dense = update_rule(old, truth, scores)
    held = update_rule(old, sparse.csr_array(truth), sparse.csr_array(scores))
    assert dense.table["reason"][0] == held.table["reason"][0] == "F"
    weights = rng.integers(1, 3, 400)
    weighted = update_rule(old, truth, scores, sample_weight=weights, groups=np.arange(400) // 2)
    assert weighted.table["reason"][0] == "F"
    assert "of groups" in weighted.rule.out_of_fold.how
    # Weights that are no whole numbers are relative.
    other = cross_fit(truth[::-1], scores[::-1]).rule.replace({1: 3.4})
    some, many = (update_rule(other, truth, scores, sample_weight=np.full(400, w)) for w in (0.3, 3e5 + 0.5))
    np.testing.assert_allclose(many.table["p_value"], some.table["p_value"], rtol=1e-6)


# The test of a gain


def test_p_values_equal_the_twin() -> None:
    for n_added, n_dropped in ((3, 0), (0, 3), (3, 2), (1, 4)):
        for p in (Fraction(1, 4), Fraction(2, 5)):
            for true_added in range(n_added + 1):
                for true_dropped in range(n_dropped + 1):
                    added = np.array([true_added, n_added], float)
                    dropped = np.array([true_dropped, n_dropped], float)
                    expected = upper_tail(n_added, n_dropped, true_added - true_dropped, p)
                    assert gain._exact(added, dropped, float(p)) == pytest.approx(float(expected), rel=1e-10)


def test_for_many_rows_the_normal_distribution_says_the_same() -> None:
    for added, dropped in (((100, 400), (55, 300)), ((160, 700), (0, 0)), ((0, 0), (120, 700))):
        pair = np.array(added, float), np.array(dropped, float)
        assert gain._normal(*pair, 0.2) == pytest.approx(gain._exact(*pair, 0.2), rel=0.1)


def test_a_useful_label_that_was_never_predicted_gains() -> None:
    found = update_rule(without_odds(old_rule()).replace({N_LABELS - 1: np.inf}), *week(1))
    assert found.table["reason"][-1] == "F"


# What is refused, and what is said


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (lambda: thresholds.TopKRule(2), r"old is of type TopKRule, expected a ThresholdRule"),
        (
            lambda: ThresholdRule(np.zeros(N_LABELS)),
            r"old is a rule that was not fitted, expected one fitted on labels",
        ),
        (lambda: cross_fit(*week(0), per_label=False).rule, r"old is a rule with one threshold for all labels"),
        (lambda: thresholds.fit_expected(np.full((5, N_LABELS), 0.3)), r"old is a rule fitted on probabilities alone"),
        (
            lambda: replace(old_rule(), guard="shrink (siblings=False)"),
            r"old has guard 'shrink \(siblings=False\)', whose options are",
        ),
    ],
)
def test_other_rules_are_refused(old: Callable[[], Any], message: str) -> None:
    rule = old()
    with pytest.raises(InputError, match=f"^{message}"):
        update_rule(rule, *week(1))


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "x"])
def test_alpha_lies_between_0_and_1(alpha: object) -> None:
    with pytest.raises(InputError, match=r"^alpha is"):
        update_rule(old_rule(), *week(1), alpha=alpha)  # type: ignore[arg-type]


def test_a_guard_whose_options_are_not_kept_can_be_given() -> None:
    old = replace(old_rule(), guard="shrink (siblings=False)")
    found = update_rule(old, *week(1), guard=thresholds.Shrink(siblings=False))
    assert found.rule.guard == "shrink (siblings=False)"


def test_the_text_says_what_moved_and_what_it_reaches() -> None:
    found = update_rule(old_rule(), *week(1, shift=2.0))
    said = flat(str(found).split("\n\n")[0])
    assert said.startswith(f"{found.n_moved} thresholds moved (")
    assert said.endswith(
        f"{N_LABELS - found.n_moved} kept, 0 labels new, 0 lost"
        f" macro F1 on the new rows: old thresholds {found.old:.4f}; out of fold, fresh ones {found.fresh:.4f},"
        f" updated {found.updated:.4f}"
    )
    assert len(str(found).split("\n\n")[1].splitlines()) == 2 + found.n_moved
    assert flat(found.to_text(0)) == said
    values = json.loads(json.dumps(found.to_dict()))
    assert values["lost"] == []
    assert len(values["table"]) == N_LABELS


# The command line


def test_the_command_line_updates_a_saved_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, scores = (str(tmp_path / name) for name in ("old.json", "new.json", "scores.npz"))
    old_rule().save(old)
    truth, score = week(1, shift=2.0)
    np.savez(scores, y_true=truth, y_score=score, label_names=NAMES)
    expected = update_rule(old_rule(), truth, score)
    assert cli.main(["update", old, scores, "-o", new]) == 0
    printed = capsys.readouterr().out
    assert str(expected).splitlines()[0] in printed
    assert printed.endswith(f"saved as {new}\n")
    np.testing.assert_array_equal(thresholds.load_rule(new).thresholds, expected.rule.thresholds)
    assert cli.main(["update", old, scores, "-o", new, "--json", "--guard", "none", "--alpha", "0.2"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["alpha"] == 0.2
    assert len(values["labels"]) == N_LABELS
    assert thresholds.load_rule(new).guard == "kept thresholds"
    for read in (scores, old):
        assert cli.main(["update", old, scores, "-o", read]) == 1
        assert "which is read, expected another output" in capsys.readouterr().err
    assert str(thresholds.load_rule(old)) == str(old_rule())


@pytest.mark.parametrize("weights", [None, np.full(800, 2.5), np.random.default_rng(0).random(800)])
def test_the_rows_of_the_old_fit_are_refused(weights: np.ndarray | None) -> None:
    # The old rule would be shown with what it reaches in the sample, and so would the update.
    truth, scores = week(0)
    old = cross_fit(truth, scores, label_names=NAMES, sample_weight=weights).rule
    turned = np.arange(N_LABELS)[::-1]
    for order in (np.arange(N_LABELS), turned):
        with pytest.raises(InputError, match="are the rows that old was fitted on, expected others"):
            update_rule(
                old,
                truth[:, order],
                scores[:, order],
                label_names=[NAMES[j] for j in order],
                sample_weight=weights,
            )


def test_names_take_one_line_and_are_shown_as_they_are_written() -> None:
    truth, scores = week(1)
    old = replace(old_rule(), label_names=("lost\nlabel", *NAMES[1:]))
    found = str(update_rule(old, truth, scores, label_names=["\x1b[31mred", *NAMES[1:]])).splitlines()
    assert found[2:4] == ["new labels: \\x1b[31mred", "lost labels: lost label"]
