"""Floors of labels that hold on new rows: the thresholds, against their twin, and what is said of them."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom

import thresholds
from tests.naive import guarantees as twin
from tests.words import flat
from thresholds import InputError, fit_empirical
from thresholds.guarantees.exact_tests import is_shown, least_hits, p_of_floor, positives_needed, predictions_needed
from thresholds.guarantees.floors_of_labels import sharing
from thresholds.guarantees.tests_of_labels import starts_of

# Exact tests


def test_p_is_that_of_the_binomial_law() -> None:
    hits, n = np.array([5, 9, 30, 99]), np.array([5, 10, 33, 100])
    np.testing.assert_allclose(p_of_floor(hits, n, 0.7), binom.sf(hits - 1, n, 0.7), rtol=1e-12)
    assert p_of_floor(7, 10, 0.7) == 1, "no more than the floor shows nothing"
    assert p_of_floor(0, 10, 0.0) == 0, "everything keeps a floor of 0"


def test_a_floor_is_shown_where_p_is_at_most_delta() -> None:
    hits, n = np.arange(101), np.full(101, 100)
    for floor in (0.02, 0.5, 0.8, 0.999):
        for delta in (1e-12, 0.0015, 0.05, 0.3):
            np.testing.assert_array_equal(is_shown(hits, n, floor, delta), binom.sf(hits - 1, n, floor) <= delta)
    assert is_shown(0, 100, 0.0, 0.05), "everything keeps a floor of 0"


def test_the_least_number_of_hits_is_that_of_the_definition() -> None:
    n = np.arange(60)
    for floor in (0.05, 0.5, 0.8, 0.95):
        for delta in (0.2, 0.05, 0.01):
            least = least_hits(n, np.full(60, floor), np.full(60, delta))
            for rows, hits in zip(n, least, strict=True):
                h = np.arange(rows + 1)
                shown = h[(binom.sf(h - 1, rows, floor) <= delta) & (h > rows * floor)]
                assert hits == min(shown, default=rows + 1)


@pytest.mark.parametrize("floor", [0.1, 0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("delta", [0.2, 0.05, 0.01])
def test_positives_needed_are_those_of_the_twin(floor: float, delta: float) -> None:
    exact = Fraction(delta)
    assert positives_needed(floor, delta) == twin.positives_needed(floor, exact)
    assert positives_needed(floor, delta) == twin.predictions_needed(floor, exact)


def test_so_many_predictions_show_a_floor() -> None:
    for floor, precision in ((0.5, 0.6), (0.7, 0.95), (0.9, 0.91)):
        n = float(predictions_needed(floor, 0.05, precision))
        assert binom.sf(np.floor(n * precision * (1 + 1e-12)) - 1, n, floor) <= 0.05
    assert predictions_needed(0.9, 0.05, 0.9) == np.inf
    assert predictions_needed(0.9, 0.05, 1.0) == positives_needed(0.9, 0.05)


def test_starts_share_the_error_that_is_allowed() -> None:
    n_above, delta = starts_of(np.array([0.5, 0.9, np.nan]), np.full(3, 0.1), np.full(3, 10_000.0))
    assert (np.nansum(delta, axis=0) <= 0.1 * (1 + 1e-12)).all()
    assert np.isnan(delta[:, 2]).all()
    np.testing.assert_array_equal(n_above[:3, 1], [26, 52, 104])
    assert 0.9 ** n_above[0, 1] <= delta[0, 1]


# Thresholds, against the twin


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Draw labels of a few dozen rows: scores that tie or not, labels that are rare or not, one floor or two."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(5, 90))
    truth = (rng.random((n_rows, 4)) < rng.choice([0.1, 0.4, 0.8], 4)).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + rng.choice([0.5, 2, 4], 4) * truth
    if seed % 3:
        scores = np.round(scores * rng.choice([0.5, 1, 3]))
    options = {"confidence": float(rng.choice([0.5, 0.8, 0.9]))}
    floors = {"min_precision": [0.3, 0.5, 0.7, 0.9], "min_recall": [0.2, 0.5, 0.8]}
    for name in (["min_precision"], ["min_recall"], list(floors))[int(rng.integers(3))]:
        options[name] = float(rng.choice(floors[name]))
    return truth, scores, options


@pytest.mark.each_value(seed=25)
@pytest.mark.parametrize("seed", range(120))
def test_thresholds_are_those_of_the_twin(seed: int) -> None:
    truth, scores, options = drawn(seed)
    rule = fit_empirical(truth, scores, **options)
    n_rows = len(truth)
    places = np.random.default_rng(0).permutation(n_rows)
    delta = twin.delta_of(options["confidence"])
    floors = {name: value for name, value in options.items() if name != "confidence"}
    share = delta / len(floors)
    starts = []
    if "min_precision" in floors:
        found = starts_of(np.array([floors["min_precision"]]), np.array([float(share)]), np.array([n_rows]))
        starts = [
            (int(n) + 1, Fraction(d) / share)
            for n, d in zip(found.n_above[:, 0], found.delta[:, 0], strict=True)
            if not np.isnan(n)
        ]
    for j in range(truth.shape[1]):
        y, s = truth[:, j], scores[:, j]
        shown = twin.shown_cuts(y, s, **floors, delta=delta, starts=starts, places=places)
        cut = twin.best_cut(y, s, shown)
        decided = s >= rule.thresholds[j]
        if cut != np.inf:
            np.testing.assert_array_equal(decided, s >= cut, err_msg=f"label {j}, {options}")
            assert rule.guarantees.promised[j]
        elif not (shown or "min_precision" in floors):
            assert (rule.thresholds[j], rule.guarantees.instead[j]) == (-np.inf, "always")
        elif not shown:
            assert (rule.thresholds[j], rule.guarantees.instead[j]) == (np.inf, "never")


# What goes with them


def many(seed: int = 0, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, 5)) < [0.4, 0.2, 0.1, 0.05, 0]).astype(np.uint8)
    return truth, np.round(rng.normal(size=truth.shape) + 3 * truth, 1)


OPTIONS = [
    {"min_precision": 0.7},
    {"min_recall": 0.6},
    {"min_precision": 0.6, "min_recall": 0.4},
    {"min_precision": 0.7, "family": "all"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("guard", [None, "shrink"])
def test_rows_of_weight_0_are_absent(options: dict[str, object], guard: str | None) -> None:
    truth, scores = many()
    present = np.random.default_rng(1).random(len(truth)) < 0.7
    given = {"confidence": 0.9, "guard": guard, **options}
    whole = fit_empirical(truth, scores, sample_weight=present.astype(int), **given)
    some = fit_empirical(truth[present], scores[present], **given)
    np.testing.assert_array_equal(whole.guarantees.instead, some.guarantees.instead)
    if guard is None:
        np.testing.assert_array_equal(whole.thresholds, some.thresholds)
    odd = np.where(present, 2, 1)
    with pytest.raises(InputError, match=r"^sample_weight has 2 with confidence, .*weights of 0 and 1"):
        fit_empirical(truth, scores, sample_weight=odd, **given)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_threshold_keeps_its_floors_in_the_sample(options: dict[str, object]) -> None:
    """The test needs more than the floor; so does a guard's cut."""
    truth, scores = many()
    for guard in (None, "shrink"):
        rule = fit_empirical(truth, scores, confidence=0.9, guard=guard, **options)
        assert rule.guarantees.promised[:2].all()
        decided = rule.predict(scores)
        for j in np.flatnonzero(rule.guarantees.promised):
            tp = (decided[:, j] & truth[:, j]).sum()
            assert tp >= options.get("min_precision", 0) * decided[:, j].sum()
            assert tp >= options.get("min_recall", 0) * truth[:, j].sum()


@pytest.mark.parametrize("options", OPTIONS)
def test_the_form_of_scores_and_threads_do_not_matter(options: dict[str, object]) -> None:
    truth, scores = many()
    expected = fit_empirical(truth, scores, confidence=0.9, **options)
    for y_true, y_score in ((sparse.csr_array(truth), scores), (truth, sparse.csr_array(scores))):
        for n_jobs in (1, 2):
            rule = fit_empirical(y_true, y_score, confidence=0.9, keep_sparse=False, n_jobs=n_jobs, **options)
            if sparse.issparse(y_score) and "min_precision" in options:  # rows without a score have no order
                continue
            np.testing.assert_array_equal(rule.thresholds, expected.thresholds)


def test_a_single_label_is_fitted_as_among_others() -> None:
    truth, scores = many()
    rule = fit_empirical(truth, scores, min_precision=0.7, confidence=0.9)
    for j in range(5):
        alone = fit_empirical(truth[:, j], scores[:, j], min_precision=0.7, confidence=0.9)
        assert alone.thresholds[0] == rule.thresholds[j]


def test_labels_without_a_floor_take_their_ordinary_threshold() -> None:
    truth, scores = many()
    names = ["a", "b", "c", "d", "e"]
    ordinary = fit_empirical(truth, scores)
    rule = fit_empirical(truth, scores, min_precision={"b": 0.8}, confidence=0.9, label_names=names)
    others = [0, 2, 3, 4]
    np.testing.assert_array_equal(rule.thresholds[others], ordinary.thresholds[others])
    np.testing.assert_array_equal(rule.guarantees.asked, [False, True, False, False, False])
    array = [np.nan, 0.8, np.nan, np.nan, np.nan]
    same = fit_empirical(truth, scores, min_precision=array, confidence=0.9)
    np.testing.assert_array_equal(rule.thresholds, same.thresholds)


def test_floors_by_label_hold_on_the_rows_of_the_fit_too() -> None:
    truth, scores = many()
    rule = fit_empirical(truth, scores, min_recall=[0.95, np.nan, 0.9, np.nan, np.nan])
    decided = rule.predict(scores)
    recall = (decided & truth)[:, :3].sum(axis=0) / truth[:, :3].sum(axis=0)
    assert recall[0] >= 0.95
    assert recall[2] >= 0.9
    assert rule.guarantees is None
    assert "on the rows of the fit" in " ".join(str(rule).split())


def test_a_family_is_no_less_careful_than_each_label() -> None:
    truth, scores = many()
    each = fit_empirical(truth, scores, min_precision=0.7, confidence=0.9)
    family = fit_empirical(truth, scores, min_precision=0.7, confidence=0.9, family="all")
    assert (family.predict(scores).sum(axis=0) <= each.predict(scores).sum(axis=0)).all()
    assert (family.guarantees.promised <= each.guarantees.promised).all()


def test_labels_that_can_never_show_a_floor_take_no_share() -> None:
    floors = np.array([0.5, 0.5, 0.9999, np.nan])
    np.testing.assert_array_equal(sharing(floors, np.full(4, 100.0), 0.05), [True, True, False, False])
    assert not sharing(np.full(3, 0.9), np.full(3, 10.0), 0.05).any()


def test_of_each_group_one_row_is_tested() -> None:
    """A copy of each row adds nothing: what is promised is what the rows promise once."""
    truth, scores = many(n=60)
    given = {"min_recall": 0.6, "confidence": 0.9}
    once = fit_empirical(truth, scores, **given)
    groups = np.repeat(np.arange(60), 20)
    twenty = fit_empirical(np.repeat(truth, 20, axis=0), np.repeat(scores, 20, axis=0), groups=groups, **given)
    blind = fit_empirical(np.repeat(truth, 20, axis=0), np.repeat(scores, 20, axis=0), **given)
    np.testing.assert_array_equal(twenty.thresholds, once.thresholds)
    assert (blind.thresholds > once.thresholds).any(), "copies that count as rows promise too much"
    assert twenty.guarantees.units == "groups"
    assert "groups are exchangeable" in twenty.guarantees.assumption


def test_nothing_can_be_shown_of_a_few_rows() -> None:
    truth, scores = np.array([[1, 0], [0, 1], [1, 0]]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    never = fit_empirical(truth, scores, min_precision=0.9, confidence=0.95)
    assert np.isposinf(never.thresholds).all()
    assert never.guarantees.instead.tolist() == ["never", "never"]
    assert (never.guarantees.predictions_needed == 33).all(), "all of them right, as on these rows"
    always = fit_empirical(truth, scores, min_recall=0.9, confidence=0.95)
    assert np.isneginf(always.thresholds).all()
    assert (always.guarantees.positives_needed == 29).all()
    both = fit_empirical(truth, scores, min_precision=0.9, min_recall=0.9, confidence=0.95)
    assert both.guarantees.instead.tolist() == ["never", "never"]
    for rule, words in ((never, "are never predicted"), (always, "are always predicted")):
        assert words in " ".join(str(rule).split())


@pytest.mark.parametrize("floor", [0.5, 0.8, 0.9, 0.95])
def test_the_number_of_predictions_that_is_said_to_be_needed_is_enough_and_no_fewer_are(floor: float) -> None:
    scores = np.linspace(1, 0, 200)

    def of_right_ones(n: int) -> thresholds.ThresholdRule:
        return fit_empirical(np.arange(200) < n, scores, min_precision=floor, confidence=0.95)

    needed = of_right_ones(3).guarantees.predictions_needed[0]
    assert not of_right_ones(int(needed) - 1).guarantees.promised[0]
    assert of_right_ones(int(needed) - 1).guarantees.predictions_needed[0] == needed
    assert of_right_ones(int(needed)).guarantees.promised[0]
    table = (Path(__file__).parents[2] / "docs/guarantees.md").read_text(encoding="utf-8")
    line = next(line for line in table.splitlines() if line.startswith("| precision: predictions, all of"))
    least = dict(zip((0.5, 0.6, 0.7, 0.8, 0.9, 0.95), line.strip("| ").split("|")[1:], strict=True))
    assert float(least[floor]) == needed, "as the page says"


def test_a_floor_of_0_is_kept_by_all_and_one_of_1_by_none() -> None:
    truth, scores = many()
    ordinary = fit_empirical(truth, scores)
    free = fit_empirical(truth, scores, min_precision=0, confidence=0.9)
    np.testing.assert_array_equal(free.thresholds, ordinary.thresholds)
    none = fit_empirical(truth, scores, min_recall=1.0, confidence=0.9)
    assert np.isneginf(none.thresholds).all()
    assert np.isinf(none.guarantees.positives_needed).all()


# A promise is about the thresholds that were tested


def test_a_promise_is_saved_and_goes_with_its_labels(tmp_path: object) -> None:
    truth, scores = many()
    names = ["a", "b", "c", "d", "e"]
    rule = fit_empirical(truth, scores, min_precision=0.8, confidence=0.9, label_names=names)
    rule.save(f"{tmp_path}/rule.json")
    loaded = thresholds.load_rule(f"{tmp_path}/rule.json")
    assert loaded.guarantees.to_dict() == rule.guarantees.to_dict()
    assert str(loaded.guarantees) == str(rule.guarantees)
    assert json.loads(json.dumps(rule.to_dict(), allow_nan=False)) == rule.to_dict()
    turned = rule.reordered(np.array([4, 3, 2, 1, 0]))
    np.testing.assert_array_equal(turned.guarantees.instead, rule.guarantees.instead[::-1])
    assert turned.guarantees.label_names == tuple("edcba")


def test_a_promise_does_not_survive_a_changed_threshold() -> None:
    truth, scores = many()
    rule = fit_empirical(truth, scores, min_precision=0.8, confidence=0.9)
    changed = rule.replace({0: 0.123})
    assert changed.guarantees is None
    assert "promised on new rows" not in str(changed)
    assert rule.replace({0: rule.thresholds[0]}).guarantees is not None


def test_a_file_cannot_say_that_fewer_than_none_are_needed() -> None:
    truth, scores = many()
    for name in ("predictions_needed", "positives_needed"):
        values = fit_empirical(truth, scores, min_precision=0.7, confidence=0.9).to_dict()
        values["guarantees"][name][0] = -1
        with pytest.raises(InputError, match=f"{name} is -1.*, expected a number of at least 0"):
            thresholds.ThresholdRule.from_dict(values)


def test_cross_fitting_says_whether_promises_were_kept() -> None:
    truth, scores = many(n=1500)
    found = thresholds.cross_fit(truth, scores, min_precision=0.7, confidence=0.9)
    spread = found.spread
    promised = spread["n_folds_promised"] > 0
    assert promised[:2].all()
    np.testing.assert_array_equal(promised, spread["floors_out_of_fold"] != "")
    is_kept = spread["precision_out_of_fold"] >= 0.7
    np.testing.assert_array_equal(is_kept[promised], spread["floors_out_of_fold"][promised] == "kept")
    assert "floors promised by the folds' rules" in " ".join(str(found).split())
    assert found.rule.guarantees is not None
    assert "floors_out_of_fold" not in thresholds.cross_fit(truth, scores).spread.dtype.names


def test_a_promise_about_groups_says_so_and_rows_of_a_group_are_not_counted_as_independent() -> None:
    """Held-out rows are copies of few: how probable so few hits are cannot be told from their number."""
    truth, scores = many(n=300)
    groups = np.repeat(np.arange(300), 5)
    many_rows = np.repeat(truth, 5, axis=0), np.repeat(scores, 5, axis=0)
    found = thresholds.cross_fit(*many_rows, groups=groups, min_precision=0.6, confidence=0.5)
    words = found.spread["floors_out_of_fold"]
    assert set(words.tolist()) <= {"", "kept", "below"}
    assert "below, and it is not tested whether by chance, as rows of a group are alike" in flat(found)
    assert "promised on rows of new groups with a confidence of 50 %" in flat(found.rule)
    shared = fit_empirical(*many_rows, "micro", per_label=False, groups=groups, min_recall=0.5, confidence=0.5)
    assert "promised on rows of new groups" in flat(shared)


def test_a_rule_that_would_break_promises_is_refused() -> None:
    truth, scores = many()
    for bad, words in (
        ({"confidence": 0.9}, r"^confidence is 0\.9 without a floor"),
        ({"min_precision": 0.5, "family": "all"}, r"^family is 'all' without confidence"),
        ({"min_precision": 0.5, "groups": np.zeros(400)}, r"^groups is given without a guard or confidence"),
        ({"min_precision": 0.5, "confidence": 1.0}, r"^confidence is 1\.0"),
        ({"min_precision": {"x": 0.5}, "confidence": 0.9}, r"^min_precision has a floor for 'x'"),
        ({"min_precision": [0.5, 0.5]}, r"^min_precision has 2 floors, expected 5"),
        ({"min_precision": [0.5, 1.5, 0, 0, 0]}, r"^min_precision of label 1 is 1\.5"),
        ({"min_recall": {}}, r"^min_recall has no floors"),
        ({"min_recall": {3: 0.5}}, r"^min_recall has a floor for 3, expected names"),
        (
            {"min_recall": 0.5, "confidence": 0.9, "max_predicted_per_row": 2},
            r"^max_predicted_per_row is 2 with min_recall",
        ),
    ):
        with pytest.raises(InputError, match=words):
            fit_empirical(truth, scores, **bad)


# And the promise itself


N_SAMPLES, CONFIDENCE = 400, 0.8  # samples are the labels of one fit
MOST_BROKEN = 1 - CONFIDENCE + 3 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_SAMPLES)


def test_precision_is_kept_in_nearly_all_samples() -> None:
    """Six scores, the highest of which is below the floor; precision is that of the law they are drawn from."""
    rng = np.random.default_rng(3)
    values = np.arange(6)
    rates = np.array([0.05, 0.3, 0.67, 0.69, 0.75, 0.69])  # of truth at each score
    shares = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    scores = rng.choice(values, (300, N_SAMPLES), p=shares)
    truth = rng.random(scores.shape) < rates[scores]
    precision = [(rates * shares)[k:].sum() / shares[k:].sum() for k in values]

    def broken(rule: thresholds.ThresholdRule) -> float:
        return np.mean(np.array([*precision, 1.0])[np.searchsorted(values, rule.thresholds)] < 0.7)

    rule = fit_empirical(truth, scores, min_precision=0.7, confidence=CONFIDENCE)
    assert rule.guarantees.promised.mean() > 0.01
    assert broken(rule) <= MOST_BROKEN
    assert broken(fit_empirical(truth, scores, min_precision=0.7)) > MOST_BROKEN, "the floor alone is no promise"


def test_recall_is_kept_in_nearly_all_samples() -> None:
    """Scores of positives are uniform, so that the recall of a threshold t is 1 - t."""
    rng = np.random.default_rng(4)
    truth = np.zeros((300, N_SAMPLES), np.uint8)
    truth[:40] = 1
    scores = rng.random(truth.shape)
    scores[40:] -= 0.5

    def broken(rule: thresholds.ThresholdRule) -> float:
        return np.mean(1 - np.maximum(rule.thresholds, 0) < 0.7)

    options = {"min_recall": 0.7, "beta": 0.1}
    assert 0.1 < broken(fit_empirical(truth, scores, confidence=CONFIDENCE, **options)) <= MOST_BROKEN
    assert broken(fit_empirical(truth, scores, **options)) > MOST_BROKEN, "the floor alone is no promise"
