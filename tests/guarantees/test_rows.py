"""Floors of micro and of means over rows that hold on new rows: against their twin, and simulated."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.naive import guarantees_of_rows as twin
from tests.words import flat
from thresholds import fit_empirical
from thresholds._engine.problem import Problem
from thresholds._engine.search_options import SearchOptions
from thresholds.cli import main
from thresholds.guarantees.bets import Gamblers
from thresholds.guarantees.floors_of_rows import RowFit, RowFloors, fit_with_row_floors, recall_cut
from thresholds.guarantees.independent_rows import SamplingUnits
from thresholds.guarantees.paths import counts_along, joint_path, shared_path
from thresholds.guarantees.tests_of_rows import RowFloor, certified_points

pytestmark = pytest.mark.each_value

Array = NDArray[np.float64]

N_LABELS = 4


def drawn(n: int, seed: int, coarse: bool = False, together: float = 0.5) -> tuple[Array, Array]:
    """Rows whose cells move together; coarse scores have many ties."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(2, n, 1)), rng.normal(size=(2, n, N_LABELS))
    latent, noise = math.sqrt(together) * common + math.sqrt(1 - together) * own
    truth = (latent > np.linspace(0, 1.5, N_LABELS)).astype(np.float64)
    scores = noise + 2.0 * truth
    return truth, (np.round(scores) if coarse else scores)


def problem_of(truth: Array, scores: Array, groups: Any = None) -> Problem:
    """A problem of drawn rows."""
    return Problem.of(truth.astype(int), scores, groups=groups)


def floors_of(average: Any, min_precision: Any = None, min_recall: Any = None, confidence: Any = 0.9) -> RowFloors:
    """What is to be guaranteed."""
    return RowFloors(average, min_precision, min_recall, confidence)


def fitted(
    truth: Array, scores: Array, average: Any = "micro", *, per_label: bool = False, groups: Any = None, **asked: Any
) -> RowFit:
    """Thresholds that are shown to keep floors."""
    problem = problem_of(truth, scores, groups)
    return fit_with_row_floors(problem, floors_of(average, **asked), options_of(average), per_label=per_label)


def options_of(average: Any, placement: Any = "low") -> SearchOptions:
    """How it is searched."""
    return SearchOptions(average, placement=placement, n_jobs=1)


def cut_for_recall(problem: Problem, average: str, **asked: Any) -> float | None:
    """The highest cut that is shown to keep a floor of recall."""
    return recall_cut(problem, floors_of(average, **asked), SamplingUnits.from_problem(problem)).cut


# What is counted in a row


@pytest.mark.parametrize(
    ("of", "by_row", "tp", "predicted", "positives", "gain"),
    [
        ("recall", False, 2, 5, 4, 2 - 0.5 * 4),
        ("precision", False, 2, 5, 4, 2 - 0.5 * 5),
        ("recall", True, 1, 5, 4, 1 / 4 - 0.5),
        ("precision", True, 2, 5, 4, 2 / 5 - 0.5),
        ("recall", True, 0, 5, 0, 0),  # no positives: no recall
        ("precision", True, 0, 0, 4, 0),  # nothing predicted: no precision
        ("precision", False, 0, 0, 4, 0),
    ],
)
def test_gain_of_a_row(of: str, by_row: bool, tp: int, predicted: int, positives: int, gain: float) -> None:
    """It is what is found, less the floor of what is asked; a row of which nothing is asked gains nothing."""
    counts = [np.array([count]) for count in (tp, predicted, positives)]
    assert RowFloor(of, 0.5, by_row).gains(*counts) == pytest.approx(gain)  # type: ignore[arg-type]


# Betting


def test_capital_of_a_gambler() -> None:
    """One who wins .5 in each of 20 rows shows it as soon as capital is 10; of one who loses, nothing is shown."""
    gains = np.array([[0.5, -0.5]] * 20)
    gamblers = Gamblers(2, 20, most_lost=1.0, delta=0.1)
    stakes = [twin.stake([0.5] * i, 20, 1.0, 0.1) for i in (0, 16)]
    capital = (1 + 0.5 * stakes[0]) ** 16 * (1 + 0.5 * stakes[1]) ** 4
    gamblers.bet(gains[:7])
    gamblers.bet(gains[7:])
    assert gamblers._log_capital[0] == pytest.approx(math.log(capital))
    assert capital > 10
    assert gamblers.has_shown.tolist() == [True, False]


@pytest.mark.parametrize("pieces", [1, 5, 16, 200])
def test_pieces_of_rows_change_nothing(pieces: int) -> None:
    """Rows come in blocks of any size."""
    gains = np.random.default_rng(5).uniform(-0.4, 0.6, size=(200, 3))
    whole, pieced = Gamblers(3, 200, 0.5, 0.1), Gamblers(3, 200, 0.5, 0.1)
    whole.bet(gains)
    for piece in np.array_split(gains, pieces):
        pieced.bet(piece)
    np.testing.assert_allclose(pieced._highest, whole._highest)


# Recall at one cut


@pytest.mark.parametrize("average", ["micro", "samples"])
@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_recall_is_promised_from_the_cut_of_the_twin_down(seed: int, coarse: bool, average: str) -> None:
    """Every score of a positive is tried by the twin: what is shown at a cut is shown at all below it."""
    truth, scores = drawn(150, seed, coarse)
    floor = (0.6, 0.7, 0.8, 0.9)[seed]
    shown = twin.shown_recall_cuts(truth, scores, floor, average == "samples", 0.1)
    verdicts = list(shown.values())  # from the highest cut down
    assert verdicts == sorted(verdicts)
    wanted = max((cut for cut, is_shown in shown.items() if is_shown), default=None)
    assert cut_for_recall(problem_of(truth, scores), average, min_recall=floor) == wanted


def test_recall_of_groups_counts_their_means() -> None:
    """A group is a unit, its gain the mean of its rows."""
    truth, scores = drawn(240, 3)
    groups = np.arange(240) // 3 % 70
    shown = twin.shown_recall_cuts(truth, scores, 0.6, True, 0.1, groups.tolist())
    wanted = max(cut for cut, is_shown in shown.items() if is_shown)
    assert cut_for_recall(problem_of(truth, scores, groups), "samples", min_recall=0.6) == wanted
    assert cut_for_recall(problem_of(truth, scores), "samples", min_recall=0.6) != wanted


@pytest.mark.parametrize("average", ["micro", "samples"])
@pytest.mark.parametrize("seed", range(4))
def test_expected_recall_is_that_of_the_twin(seed: int, average: str) -> None:
    """The highest cut of conformal risk control, in exact arithmetic."""
    truth, scores = drawn(60, seed, coarse=seed % 2 == 1)
    floor = (0.5, 0.75, 0.875, 0.625)[seed]
    wanted = twin.highest_expected_cut(truth, scores, Fraction(floor), average == "samples")
    problem = problem_of(truth, scores)
    assert cut_for_recall(problem, average, min_recall=floor, confidence="expected") == wanted


# Precision at one cut


@pytest.mark.parametrize("average", ["micro", "samples"])
@pytest.mark.parametrize("coarse", [False, True])
def test_precision_is_promised_at_the_cuts_of_the_twin(coarse: bool, average: str) -> None:
    """The twin tests one cut after another until one fails."""
    truth, scores = drawn(300, 11, coarse)
    problem = problem_of(truth, scores)
    units = SamplingUnits.from_problem(problem)
    scouts, tested = units.between(0, 30), units.between(30, 300)
    path = shared_path(problem, scouts)
    floor = RowFloor("precision", 0.7, average == "samples")
    points = certified_points(problem, path, floor, 0.1, scouts, tested, options_of(average))
    cuts = path[:, 0]
    assert points.shown.any()
    start = int(np.flatnonzero(points.shown)[0])
    wanted = twin.shown_precision_cuts(truth, scores, 0.7, average == "samples", 0.1, 30, cuts.tolist(), start)
    assert cuts[points.shown].tolist() == wanted

    # The fit takes the best F of these, on all rows.
    f = {cut: _f(truth, scores, cut, average) for cut in wanted}
    rule = fit_empirical(truth.astype(int), scores, average, per_label=False, min_precision=0.7, confidence=0.9)  # type: ignore[arg-type]
    assert f[float(rule.thresholds[0])] == max(f.values())
    assert rule.objective == pytest.approx(max(f.values()))


def _f(truth: Array, scores: Array, cut: float, average: str) -> float:
    """F1 at a cut."""
    predicted = (scores >= cut).astype(int)
    return float(thresholds.metrics.f1_score(truth.astype(int), predicted, average=average, zero_division=0.0))


def test_which_cuts_are_tested_is_not_seen_from_the_rows_that_test() -> None:
    """Truth of the tested rows changes what is shown, not the path, its start or the order."""
    truth, scores = drawn(300, 2)
    other = truth.copy()
    problem = Problem.of(truth.astype(int), scores)
    units = SamplingUnits.from_problem(problem)
    tested = units.between(150, 300).rows
    other[tested] = 1 - other[tested]
    flipped = Problem.of(other.astype(int), scores)
    scouts = units.between(0, 30)
    np.testing.assert_array_equal(shared_path(problem, scouts), shared_path(flipped, scouts))
    half = units.between(0, 150).rows
    halves = (joint_path(some.at_rows(half), options_of("micro")) for some in (problem, flipped))
    np.testing.assert_array_equal(*halves)


# The path of joint micro


@pytest.mark.parametrize("seed", range(3))
def test_points_of_the_path_maximise_what_joint_micro_does(seed: int) -> None:
    """Above the lowest positives, each point has a ratio r for which every label's tp - r predicted is highest."""
    truth, scores = drawn(60, seed)
    along = joint_path(problem_of(truth, scores), options_of("micro", "score"))
    ratios = np.array(twin.best_ratios(truth, scores))
    between = (ratios + np.append(ratios[1:], 0)) / 2  # (n_ratios,)
    most = sum(_surplus(truth[:, j], scores[:, j], between) for j in range(N_LABELS))  # (n_ratios,)
    lowest = np.array([scores[truth[:, j] > 0, j].min() for j in range(N_LABELS)])
    on_hulls = [point for point in along if (point >= lowest).all()]
    assert len(on_hulls) > 5
    for point in on_hulls:
        predicted = scores >= point
        reached = (predicted & (truth > 0)).sum() - between * predicted.sum()
        assert (reached >= most - 1e-9).any()
    assert (along[1:] <= along[:-1]).all()
    np.testing.assert_array_equal(along[-1], scores.min(axis=0))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("per_label", [False, True])
def test_rows_are_counted_at_every_point_as_if_it_were_a_rule(per_label: bool, form: Any) -> None:
    """Cells of unknown truth count nowhere; what sparse scores leave out is predicted nowhere, but may be true."""
    truth, scores = drawn(80, seed=4, coarse=True)
    scores = np.where(scores > 0, scores, 0)
    hidden = np.random.default_rng(1).random(truth.shape) < 0.1
    problem = Problem.of(
        form(np.where(hidden, -1, truth)), form(scores), unknown=-1, keep_sparse=form is sparse.csr_array
    )
    units = SamplingUnits.from_problem(problem)
    path = joint_path(problem, options_of("micro")) if per_label else shared_path(problem, units)
    (counts,) = counts_along(problem, path, units)

    can_be = ~hidden & ((scores > 0) | (form is np.asarray))
    predicted = (scores >= path[:, np.newaxis]) & can_be  # (n_points, n_rows, N_LABELS)
    np.testing.assert_array_equal(counts.predicted, predicted.sum(axis=2).T[units.rows])
    np.testing.assert_array_equal(counts.tp, (predicted & (truth > 0)).sum(axis=2).T[units.rows])
    np.testing.assert_array_equal(counts.positives[:, 0], (truth * ~hidden).sum(axis=1)[units.rows])
    assert 0 < predicted.mean() < 1


def _surplus(truth: Array, scores: Array, ratios: Array) -> Array:
    """Return the highest tp - r predicted of a label, over its cuts, for each ratio r."""
    predicted = scores >= scores[:, np.newaxis]  # (n_cuts, n_rows)
    tp = (predicted & (truth > 0)).sum(axis=1)
    return np.maximum(0, (tp[:, np.newaxis] - np.outer(predicted.sum(axis=1), ratios)).max(axis=0))


# Promises that are kept


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("average", "per_label", "asked"),
    [
        ("micro", False, {"min_precision": 0.7}),
        ("micro", True, {"min_precision": 0.7}),
        ("micro", False, {"min_recall": 0.7}),
        ("micro", True, {"min_recall": 0.7}),
        ("samples", False, {"min_precision": 0.7}),
        ("samples", False, {"min_recall": 0.7}),
    ],
)
def test_promises_are_broken_no_more_often_than_stated(average: str, per_label: bool, asked: dict[str, float]) -> None:
    """In 100 samples at a confidence of 80 %: at most 20 and three standard errors; a promise is made in most."""
    population_truth, population_scores = drawn(20_000, 99)
    broken = promised = 0
    for seed in range(100):
        truth, scores = drawn(200, 1000 + seed)
        fit = fitted(truth, scores, average, per_label=per_label, confidence=0.8, **asked)
        if not fit.guarantees.promised:
            continue
        promised += 1
        kept = _reached(population_truth, population_scores, fit.thresholds, average)
        broken += any(kept[name] < floor for name, floor in asked.items())
    assert promised >= 60
    assert broken <= 20 + 3 * math.sqrt(100 * 0.2 * 0.8)


def _reached(truth: Array, scores: Array, cuts: Array, average: str) -> dict[str, float]:
    """Return precision and recall of the population."""
    predicted = (scores >= cuts).astype(int)
    given = {"average": average, "zero_division": np.nan}
    return {
        "min_precision": float(thresholds.metrics.precision_score(truth.astype(int), predicted, **given)),
        "min_recall": float(thresholds.metrics.recall_score(truth.astype(int), predicted, **given)),
    }


def test_floor_of_the_rows_of_the_fit_is_kept_too() -> None:
    """What is shown holds in the sample with room to spare."""
    truth, scores = drawn(400, 8)
    for average in ("micro", "samples"):
        fit = fitted(truth, scores, average, min_precision=0.6, min_recall=0.6)
        assert fit.guarantees.promised
        kept = _reached(truth, scores, fit.thresholds, average)
        assert min(kept.values()) > 0.6


# What nothing can be shown of


def test_without_a_promise_of_precision_nothing_is_predicted() -> None:
    """The rule never predicts, and says how many rows would be needed."""
    truth, scores = drawn(60, 1)
    rule = fit_empirical(truth.astype(int), scores, "micro", min_precision=0.8, confidence=0.99)
    assert np.isposinf(rule.thresholds).all()
    assert rule.objective == 0
    assert not rule.guarantees.promised  # type: ignore[union-attr]
    assert "all labels are never predicted" in str(rule).replace("\n ", "")
    assert "rows like these would show it" in rule.guarantees.in_words()  # type: ignore[union-attr]


@pytest.mark.parametrize("average", ["micro", "samples"])
def test_without_a_score_to_cut_at_nothing_is_predicted(average: str) -> None:
    truth, _ = drawn(60, 1)
    given = {"per_label": False, "min_precision": 0.5, "confidence": 0.9}
    rule = fit_empirical(truth, sparse.csr_array(truth.shape), average, **given)  # type: ignore[arg-type]
    assert np.isposinf(rule.thresholds).all()
    assert "no number of such rows would show it" in flat(rule)


def test_without_a_promise_of_recall_everything_is_predicted() -> None:
    """Recall is 1 then, whatever the rows."""
    truth, scores = drawn(30, 1)
    rule = fit_empirical(truth.astype(int), scores, "micro", per_label=False, min_recall=0.99, confidence=0.99)
    assert np.isneginf(rule.thresholds).all()
    assert rule.predict(scores).all()
    assert rule.guarantees.instead == "always"  # type: ignore[union-attr]


@pytest.mark.parametrize("per_label", [False, True])
def test_predictions_that_stay_sparse_are_not_said_to_be_of_everything(per_label: bool) -> None:
    truth, scores = drawn(30, seed=3)
    left_out = sparse.csr_array(np.where(scores > 1, scores, 0))
    asked = {"min_recall": 0.9, "confidence": 0.99, "per_label": per_label}
    rule = fit_empirical(truth, left_out, "micro", keep_sparse=True, **asked)
    assert rule.guarantees.instead == "stored"
    assert "all labels are predicted wherever a score is stored, and nowhere else" in flat(rule)
    np.testing.assert_array_equal(rule.predict(left_out).toarray(), left_out.toarray() > 0)
    assert type(rule).from_dict(rule.to_dict()).guarantees.to_dict() == rule.guarantees.to_dict()


@pytest.mark.parametrize(("asked", "of"), [
    ({"average": "micro", "min_recall": 0.5}, "row"),
    ({"average": "micro", "min_precision": 0.5, "per_label": False}, "row"),
    ({"average": "samples", "min_precision": 0.5, "per_label": False}, "group"),
])  # fmt: skip
def test_a_single_row_or_group_cannot_be_divided(asked: dict[str, object], of: str) -> None:
    truth, scores = drawn(1 if of == "row" else 5, seed=0)
    groups = None if of == "row" else np.zeros(5)
    with pytest.raises(thresholds.InputError, match=f"has 1 {of} with confidence, expected at least 2: some fix"):
        fit_empirical(truth, scores, confidence=0.9, groups=groups, **asked)


def test_rows_that_would_be_needed_are_about_enough() -> None:
    """With twice as many rows as are said to be needed, the floor is shown; with a third of them it is not."""
    truth, scores = drawn(4000, 5)

    def fit(n: int) -> object:
        return fitted(truth[:n], scores[:n], "samples", min_recall=0.95).guarantees

    needed = fit(20).needed  # type: ignore[attr-defined]
    assert 20 < needed < 1000
    assert fit(int(2 * needed)).promised  # type: ignore[attr-defined]
    assert not fit(int(needed / 3)).promised  # type: ignore[attr-defined]


# Rows, weights, sparse scores


def test_rows_of_weight_0_are_absent() -> None:
    """The fit is that of the other rows."""
    truth, scores = drawn(300, 4)
    present = np.random.default_rng(0).random(300) < 0.8
    for options in ({"min_precision": 0.6}, {"min_recall": 0.7}, {"min_recall": 0.7, "per_label": True}):
        options = {"per_label": False, "confidence": 0.9} | options
        some = fit_empirical(truth[present].astype(int), scores[present], "micro", **options)  # type: ignore[arg-type]
        weighted = fit_empirical(truth.astype(int), scores, "micro", sample_weight=present.astype(int), **options)  # type: ignore[arg-type]
        if "min_precision" in options or options["per_label"]:
            np.testing.assert_array_equal(weighted.thresholds, some.thresholds)
        assert weighted.objective == some.objective


def test_groups_of_one_row_are_rows() -> None:
    """They promise the same."""
    truth, scores = drawn(200, 6)
    for options in ({"min_precision": 0.6}, {"min_recall": 0.7}):
        plain = fitted(truth, scores, **options)
        grouped = fitted(truth, scores, groups=np.arange(200), **options)
        np.testing.assert_array_equal(plain.thresholds, grouped.thresholds)


@pytest.mark.parametrize("options", [{"min_precision": 0.7}, {"min_recall": 0.7}])
@pytest.mark.parametrize("per_label", [False, True])
def test_cells_of_unknown_truth_belong_to_nobody(options: dict[str, float], per_label: bool) -> None:
    """Whatever their scores are, as long as these are none of those that fix which cuts are tested."""
    truth, scores = drawn(400, 5)
    hidden = np.random.default_rng(1).random(truth.shape) < 0.2
    hidden[SamplingUnits.from_problem(Problem.of(truth.astype(int), scores)).between(0, 200).rows] = False
    with_gaps = np.where(hidden, np.nan, truth)
    lifted = np.where(hidden, scores.max(), scores)
    given = {"unknown": "nan", "per_label": per_label, "confidence": 0.9, **options}
    one = fit_empirical(with_gaps, scores, "micro", **given)  # type: ignore[arg-type]
    other = fit_empirical(with_gaps, lifted, "micro", **given)  # type: ignore[arg-type]
    assert one.guarantees.promised  # type: ignore[union-attr]
    np.testing.assert_array_equal(one.thresholds, other.thresholds)
    assert one.objective == other.objective


@pytest.mark.parametrize("per_label", [False, True])
@pytest.mark.parametrize("asked", [{"min_precision": 0.7}, {"min_recall": 0.5}])
def test_sparse_scores_decide_as_dense_ones(asked: dict[str, float], per_label: bool) -> None:
    """Absent entries are not predicted; positives among them are missed."""
    truth, scores = drawn(600, 7)
    scores = np.where(scores > 0.5, scores, 0)
    options = {"per_label": per_label, "confidence": 0.9, "keep_sparse": True, **asked}
    rule = fit_empirical(truth.astype(int), sparse.csr_array(scores), "micro", **options)  # type: ignore[arg-type]
    assert rule.guarantees.promised  # type: ignore[union-attr]
    assert (rule.thresholds > 0).all()
    dense = np.where(scores > 0, scores, -np.inf)
    floor_kept = _reached(truth, dense, rule.thresholds, "micro")
    assert all(floor_kept[name] >= floor for name, floor in asked.items())
    predicted = rule.predict(sparse.csr_array(scores))
    np.testing.assert_array_equal(predicted.toarray(), dense >= rule.thresholds)


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
@pytest.mark.parametrize("asked", [{"min_recall": 0.6}, {"min_precision": 0.5}])
def test_scores_that_have_no_negatives_are_promised_as_floats_are(asked: dict[str, float], dtype: str) -> None:
    truth, scores = drawn(300, 4)
    scores = np.clip(scores + 1, 0, 3).astype(dtype)
    for per_label in (False, True):
        options: dict[str, Any] = {**asked, "average": "micro", "confidence": 0.8, "per_label": per_label}
        rule, expected = (fit_empirical(truth, cells, **options) for cells in (scores, scores.astype(float)))
        assert str(rule.guarantees) == str(expected.guarantees)
        assert rule.objective == expected.objective > 0
        assert np.array_equal(rule.predict(scores), expected.predict(scores.astype(float)))


@pytest.mark.parametrize("placement", ["low", "mid", "score"])
def test_thresholds_of_precision_are_those_that_were_tested(placement: str) -> None:
    """No placement moves them: new scores may lie in the gap."""
    truth, scores = drawn(300, 9)
    problem = Problem.of(truth.astype(int), scores)
    scouts = SamplingUnits.from_problem(problem).between(0, 30)
    rule = fit_empirical(
        truth.astype(int), scores, "micro", per_label=False, min_precision=0.6, confidence=0.9, placement=placement  # type: ignore[arg-type]
    )  # fmt: skip
    assert rule.thresholds[0] in shared_path(problem, scouts)


# The rule


def test_promise_is_saved_and_loaded(tmp_path: Path) -> None:
    """A rule carries it; it survives other names and another order, not a changed threshold."""
    truth, scores = drawn(400, 8)
    rule = fit_empirical(
        truth.astype(int), scores, "micro", min_precision=0.6, min_recall=0.6, confidence=0.9, label_names=list("abcd")  # type: ignore[arg-type]
    )  # fmt: skip
    rule.save(tmp_path / "rule.json")
    loaded = thresholds.load_rule(tmp_path / "rule.json")
    assert loaded.guarantees.to_dict() == rule.guarantees.to_dict()  # type: ignore[union-attr]
    assert rule.guarantees.n_tested == 200  # type: ignore[union-attr]
    assert "micro precision of at least 0.6 and micro recall of at least 0.6" in rule.guarantees.in_words()  # type: ignore[union-attr]
    assert rule.reordered(np.array([3, 2, 1, 0])).guarantees == rule.guarantees
    assert rule.with_names(list("wxyz")).guarantees == rule.guarantees
    assert rule.replace({"a": 0.25}).guarantees is None


def test_expected_recall_says_that_it_is_an_expectation() -> None:
    """Any one fit may break it."""
    truth, scores = drawn(100, 8)
    rule = fit_empirical(truth.astype(int), scores, "samples", per_label=False, min_recall=0.8, confidence="expected")
    assert rule.guarantees.in_words() == "promised on new rows on average over fits: mean row recall of at least 0.8"  # type: ignore[union-attr]
    certain = fit_empirical(truth.astype(int), scores, "samples", per_label=False, min_recall=0.8, confidence=0.9)
    assert certain.thresholds[0] <= rule.thresholds[0]


def test_what_a_file_may_say_of_a_promise_is_what_the_schema_says() -> None:
    """A value is refused by both, or by neither."""
    truth, scores = drawn(100, 8)
    rule = fit_empirical(truth.astype(int), scores, "micro", min_recall=0.8, confidence=0.9)
    schema = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    values = rule.to_dict()
    assert validator.is_valid(values)
    taken = 0
    for name in values["guarantees"]:
        for value in (None, True, 0, 1, -1, 0.5, 4, "", "a", "inf", "expected", "micro", "never", [], [0.5], {}):
            changed = values | {"guarantees": values["guarantees"] | {name: value}}
            try:
                thresholds.load_rule(changed)
            except thresholds.InputError as error:
                if "values, expected" in str(error):  # A schema cannot compare numbers of labels.
                    continue
                assert not validator.is_valid(changed), (name, value)
            else:
                taken += 1
                assert validator.is_valid(changed), (name, value)
    assert taken > 20


def test_cross_fit_says_what_promises_reached_on_rows_that_were_held_out() -> None:
    """Of all decisions of the folds' rules that promised it, counted together."""
    truth, scores = drawn(500, 8)
    folds = np.arange(500) % 2
    fitted = thresholds.cross_fit(
        truth.astype(int), scores, "samples", per_label=False, cv=folds, min_recall=0.7, confidence=0.9
    )
    (promise,) = fitted.row_promises
    recalls = []
    for k in (0, 1):
        others = folds != k
        rule = fit_empirical(
            truth[others].astype(int), scores[others], "samples", per_label=False, min_recall=0.7, confidence=0.9
        )
        for row, predicted in zip(truth[folds == k], rule.predict(scores[folds == k]), strict=True):
            if row.any():
                recalls.append(predicted[row > 0].mean())
    assert promise.reached == pytest.approx(np.mean(recalls))
    assert (promise.name, promise.floor, promise.n_promised, promise.n_folds) == ("mean row recall", 0.7, 2, 2)
    assert "mean row recall of at least 0.7, promised by the rules of 2 of 2 folds: " in flat(str(fitted))


def test_the_command_line_takes_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a word in place of a probability."""
    truth, scores = drawn(200, 8)
    np.savez(tmp_path / "scores.npz", y_true=truth.astype(np.uint8), y_score=scores)
    asked = ["--average", "micro", "--shared", "--min-recall", "0.8", "--confidence", "expected", "--cv", "0"]
    main(["fit", str(tmp_path / "scores.npz"), "-o", str(tmp_path / "rule.json"), *asked])
    assert "promised on new rows on average over fits: micro recall of at least 0.8" in flat(capsys.readouterr().out)
    assert thresholds.load_rule(tmp_path / "rule.json").guarantees.confidence == "expected"  # type: ignore[union-attr]
