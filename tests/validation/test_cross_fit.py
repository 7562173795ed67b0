"""`cross_fit` against rules fitted and judged by hand, fold by fold; what it says, and what it is for."""

import dataclasses
import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import norm
from sklearn.metrics import f1_score, fbeta_score
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, PredefinedSplit, RepeatedKFold, ShuffleSplit

import thresholds
from tests.words import flat
from thresholds import (
    InputError,
    Shrink,
    cross_fit,
    diagnose,
    fit_empirical,
    load_rule,
    metrics,
    multilabel_folds,
)
from thresholds.validation.cross_fit import CrossFit

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Options = dict[str, Any]
inf = math.inf

N, M = 72, 5
COLUMNS = (
    *("name", "n_positives", "threshold", "lowest", "median", "highest", "predicted_most", "predicted_least"),
    *("f_in_sample", "f_out_of_fold"),
)


# Data


def draw(seed: int = 0, n: int = N, m: int = M) -> tuple[NDArray[np.uint8], Floats]:
    """Labels from rare to frequent, and scores of which a third are 0, so that there are ties and absent cells."""
    rng = np.random.default_rng([seed, n])
    truth = rng.random((n, m)) < np.geomspace(0.06, 0.5, m)
    scores = np.clip(rng.normal(size=(n, m)) + truth + 0.5, 0, None)
    return truth.astype(np.uint8), np.round(scores, 2)


def weights(kind: str | None, n: int = N) -> Array | None:
    """None, whole numbers with zeros, or reals with zeros."""
    rng = np.random.default_rng(5)
    if kind is None:
        return None
    return rng.integers(0, 4, n) if kind == "whole" else rng.exponential(size=n) * (rng.random(n) < 0.8)


Y, S = draw()
FOLDS = np.random.default_rng(8).permutation(N) % 4


# By hand


def held_out(
    y_true: Array, y_score: Any, folds: Ints, average: str = "macro", sample_weight: Array | None = None, **options: Any
) -> tuple[Array, Floats]:
    """The decisions about the rows of each fold by a rule fitted on the rows of the others, and their thresholds."""
    decided, cuts = np.zeros(y_true.shape, np.uint8), []
    for k in range(folds.max() + 1):
        fit_on, judged = np.flatnonzero(folds != k), np.flatnonzero(folds == k)
        rule = fit_empirical(
            y_true[fit_on],
            y_score[fit_on],
            average,
            sample_weight=None if sample_weight is None else sample_weight[fit_on],
            **options,
        )
        cuts.append(rule.thresholds)
        block = y_score[judged]
        dense = {"dense": True} if sparse.issparse(y_score) and rule.predicts_missing else {}
        predicted = rule.predict(block, **dense)
        decided[judged] = predicted.toarray() if sparse.issparse(predicted) else predicted
    return decided, np.array(cuts)


def scikit_learn(y_true: Array, decided: Array, average: str | None, options: Options) -> Any:
    """The F-measure as scikit-learn has it; that of each label without an average."""
    return fbeta_score(
        y_true,
        decided,
        beta=options.get("beta", 1.0),
        average=average,
        sample_weight=options.get("sample_weight"),
        zero_division=options.get("zero_division", 0.0),
    )


def check(found: CrossFit, folds: Ints, y_true: Array, y_score: Any, average: str, **options: Any) -> None:
    """Compare with a fit on all rows, and with decisions about each row by a rule that did not have it."""
    whole = fit_empirical(y_true, y_score, average, **options)
    assert found.in_sample == found.rule.objective == whole.objective
    np.testing.assert_array_equal(found.rule.thresholds, whole.thresholds)
    assert (found.guard, found.rule.average, found.rule.beta) == (whole.guard, average, options.get("beta", 1.0))
    decided, cuts = held_out(y_true, y_score, folds, average, **options)
    np.testing.assert_array_equal(found.fold_thresholds, cuts)
    np.testing.assert_array_equal(found.folds, folds)
    assert found.out_of_fold == pytest.approx(scikit_learn(y_true, decided, average, options), rel=1e-12)
    assert found.optimism == found.in_sample - found.out_of_fold


AVERAGES: list[Options] = [
    {"average": "macro", "guard": None},
    {"average": "macro", "guard": "shrink"},
    {"average": "macro", "guard": "auto"},
    {"average": "macro", "guard": Shrink(probabilities=False, unsupported="never")},
    {"average": "weighted", "guard": None},
    {"average": "weighted", "guard": "auto"},
    {"average": "micro", "guard": None},
    {"average": "micro", "guard": "auto"},
    {"average": "macro", "guard": None, "max_overprediction": 1.2},
    {"average": "weighted", "guard": None, "min_precision": 0.6, "min_recall": 0.3},
    {"average": "macro", "guard": "shrink", "max_overprediction": 1.5, "min_recall": 0.2},
    {"average": "weighted", "guard": "shrink", "min_precision": 0.4},
    *({"average": a, "guard": "auto", "per_label": False} for a in ("macro", "weighted", "micro", "samples")),
]
SETTINGS: list[Options] = [
    {},
    {"beta": 2.0, "zero_division": 1.0},
    {"sample_weight": weights("whole"), "beta": 0.5},
    {"sample_weight": weights("real"), "zero_division": 1.0, "placement": "mid"},
]


def named(options: Options) -> str:
    """A short name of a case."""
    return "-".join(str(v) if isinstance(v, str) else k for k, v in options.items()) or "plain"


each_average = pytest.mark.parametrize("of", AVERAGES, ids=lambda of: "-".join(map(str, of.values())))
each_setting = pytest.mark.parametrize("given", SETTINGS, ids=named)


@pytest.mark.each_value
@pytest.mark.parametrize("number", range(2))
@each_average
def test_both_figures_are_those_computed_by_hand(of: Options, number: int) -> None:
    """With two of the settings, and the next average with the two others."""
    options = of | SETTINGS[2 * number + AVERAGES.index(of) % 2]
    check(cross_fit(Y, S, cv=FOLDS, **options), FOLDS, Y, S, **options)


@pytest.mark.parametrize("keep_sparse", [False, True])
@each_average
def test_sparse_scores(of: Options, keep_sparse: bool) -> None:
    """Without weights and with them, in turn."""
    options, cells = of | SETTINGS[2 * ((AVERAGES.index(of) + keep_sparse) % 2)], sparse.csr_array(S)
    found = cross_fit(sparse.csc_array(Y), sparse.coo_array(S), cv=FOLDS, keep_sparse=keep_sparse, **options)
    check(found, FOLDS, Y, cells, keep_sparse=keep_sparse, **options)
    if keep_sparse:
        assert (found.fold_thresholds > 0).all()
    else:
        check(found, FOLDS, Y, S, **options)
        assert cross_fit(Y, S, cv=FOLDS, **options).spread.tolist() == found.spread.tolist()


def test_absent_scores_that_are_not_0() -> None:
    scores = np.where(S == 0, -1.0, S - 1)
    cells = sparse.csr_array(np.where(S == 0, 0.0, 1))
    cells.data = (S - 1)[S != 0]
    for options in AVERAGES[::3]:
        found = cross_fit(Y, cells, cv=FOLDS, missing=-1.0, keep_sparse=False, **options)
        check(found, FOLDS, Y, scores, missing=-1.0, **options)
        assert found.rule.missing == -1
        assert found.spread.tolist() == cross_fit(Y, scores, cv=FOLDS, missing=-1.0, **options).spread.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_scores_of_other_kinds(dtype: type) -> None:
    scores = np.asfortranarray((4 * S).astype(dtype))
    check(cross_fit(Y.astype(bool), scores, cv=FOLDS), FOLDS, Y, scores, "macro", guard="auto")
    check(cross_fit(Y.tolist(), scores, cv=FOLDS, guard=None), FOLDS, Y, scores, "macro")


def test_masked_cells() -> None:
    scores = np.where(np.random.default_rng(1).random(S.shape) < 0.3, -inf, S)
    for options in AVERAGES:
        check(cross_fit(Y, scores, cv=FOLDS, **options), FOLDS, Y, scores, **options)


def test_one_label() -> None:
    for average in ("macro", "micro", "weighted"):
        found = cross_fit(Y[:, 3], S[:, 3], average, cv=FOLDS)
        decided, cuts = held_out(Y[:, 3:4], S[:, 3:4], FOLDS, average, guard="auto")
        assert found.out_of_fold == pytest.approx(f1_score(Y[:, 3], decided[:, 0]), rel=1e-12)
        np.testing.assert_array_equal(found.fold_thresholds, cuts)
        assert (found.in_sample, cuts.shape) == (found.rule.objective, (4, 1))


def test_unweighted_figures_are_those_of_metrics_bit_for_bit() -> None:
    for seed in range(4):
        y_true, y_score = draw(seed)
        for average in ("macro", "weighted", "micro"):
            found = cross_fit(y_true, y_score, average, cv=FOLDS)
            decided, _ = held_out(y_true, y_score, FOLDS, average, guard="auto")
            assert found.out_of_fold == metrics.f1_score(y_true, decided, average=average, zero_division=0.0)


def test_threads_and_progress_bars_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    expected = cross_fit(Y, S, cv=3, random_state=0, n_jobs=1)
    for options in ({"n_jobs": 2}, {"n_jobs": -1}, {"progress": True}):
        got = cross_fit(Y, S, cv=3, random_state=0, **options)
        assert (got.in_sample, got.out_of_fold) == (expected.in_sample, expected.out_of_fold)
        np.testing.assert_array_equal(got.fold_thresholds, expected.fold_thresholds)
    assert capsys.readouterr().out == ""


def test_inputs_stay_as_they_were() -> None:
    given = Y.copy(), S.copy(), sparse.csr_array(S), FOLDS.copy(), weights("real")
    copies = [part.copy() for part in given]
    cross_fit(*given[:2], cv=given[3], sample_weight=given[4])
    cross_fit(given[0], given[2], cv=given[3])
    for part, copy in zip(given, copies, strict=True):
        same = part.toarray() == copy.toarray() if sparse.issparse(part) else part == copy
        assert same.all()


# Folds


def test_a_number_of_folds_is_that_of_multilabel_folds() -> None:
    for n_folds in (2, 3, np.int64(7)):
        folds = multilabel_folds(Y, n_folds, random_state=4)
        found = cross_fit(Y, S, cv=n_folds, random_state=4)
        check(found, folds, Y, S, "macro", guard="auto")
        check(cross_fit(sparse.csr_array(Y), S, cv=n_folds, random_state=4), folds, Y, S, "macro", guard="auto")
        assert found.how == "by iterative stratification"
    assert len(cross_fit(Y, S, random_state=0).fold_thresholds) == 5  # The default.


def test_a_seed_gives_one_result() -> None:
    first, again, other = (cross_fit(Y, S, random_state=seed) for seed in (0, 0, 1))
    assert first.out_of_fold == again.out_of_fold
    np.testing.assert_array_equal(first.folds, again.folds)
    assert (first.folds != other.folds).any()
    assert first.in_sample == other.in_sample


def test_groups_stay_together() -> None:
    groups = [f"patient {k}" for k in np.random.default_rng(3).integers(20, size=N)]
    found = cross_fit(Y, S, cv=4, groups=groups, random_state=2, guard=None)
    check(found, multilabel_folds(Y, 4, groups=groups, random_state=2), Y, S, "macro", guard=None)
    assert len(set(zip(groups, found.folds.tolist(), strict=True))) == len(set(groups))
    assert found.how == "by iterative stratification of groups"


def test_numbers_of_folds_need_not_be_0_to_k() -> None:
    expected = cross_fit(Y, S, cv=FOLDS)
    for numbers in (FOLDS.astype(np.int8), FOLDS.astype(np.uint64), 10 * FOLDS + 3):
        found = cross_fit(Y, S, cv=numbers)
        assert found.out_of_fold == expected.out_of_fold
        np.testing.assert_array_equal(found.folds, FOLDS)
        assert found.how == "as given"


def pairs_of(folds: Ints) -> list[tuple[Ints, Ints]]:
    """The rows to fit on and to judge on."""
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(folds.max() + 1)]


def pair_by_pair(folds: Ints) -> Iterator[list[list[int]]]:
    """The same one by one, as lists, in an order of their own."""
    for fit_on, judged in pairs_of(folds):
        yield [fit_on[::-1].tolist(), judged[::-1].tolist()]


@pytest.mark.parametrize("given", [{"average": "macro"}, {"average": "samples", "per_label": False}], ids=named)
def test_pairs_of_rows(given: Options) -> None:
    """In whatever container, and in any order of rows: what belongs to a row stays with it."""
    options = given | {"sample_weight": weights("real")}
    expected = cross_fit(Y, S, cv=FOLDS, **options)
    for cv in (pairs_of(FOLDS), tuple(pairs_of(FOLDS)), pair_by_pair(FOLDS), list(pair_by_pair(FOLDS))):
        found = cross_fit(Y, S, cv=cv, **options)
        assert found.out_of_fold == pytest.approx(expected.out_of_fold, rel=1e-12)
        np.testing.assert_array_equal(found.folds, FOLDS)
        np.testing.assert_array_equal(found.fold_thresholds, expected.fold_thresholds)
        assert found.how == "as given"


@pytest.mark.each_value
@pytest.mark.parametrize("n_folds", [2, 3, 5, 7])
@pytest.mark.parametrize("form", [list, tuple, iter])
def test_pairs_of_folds_of_unequal_size(form: type, n_folds: int) -> None:
    folds = multilabel_folds(Y[:71], n_folds, random_state=0)
    found = cross_fit(Y[:71], S[:71], cv=form(pairs_of(folds)))
    check(found, folds, Y[:71], S[:71], "macro", guard="auto")


def test_splitters_of_scikit_learn() -> None:
    groups = np.random.default_rng(3).integers(20, size=N)
    for splitter, given in (
        (KFold(4, shuffle=True, random_state=1), None),
        (KFold(5), None),
        (GroupKFold(3), groups),
        (LeaveOneGroupOut(), groups % 4),
        (PredefinedSplit(FOLDS), None),
    ):
        folds = np.full(N, -1)
        for k, (_, judged) in enumerate(splitter.split(S, Y, given)):
            folds[judged] = k
        for truth in (Y, Y.tolist(), sparse.csr_array(Y)) if groups is given else (Y,):
            found = cross_fit(truth, S, "weighted", cv=splitter, groups=given, guard=None)
            check(found, folds, Y, S, "weighted", guard=None)
            assert found.how == type(splitter).__name__


def test_a_splitter_gets_the_truth_and_the_groups() -> None:
    seen: list[object] = []

    class Halves:
        def split(self, X: Array, y: object, groups: object) -> list[tuple[range, range]]:
            seen.extend([len(X), y, groups])
            return [(range(36), range(36, 72)), (range(36, 72), range(36))]

    found = cross_fit(Y, S, cv=Halves(), groups="theirs to judge", guard=None)
    assert seen[0] == N
    assert seen[1] is Y
    assert seen[2] == "theirs to judge"
    check(found, np.repeat([0, 1], 36)[::-1], Y, S, "macro", guard=None)
    assert found.how == "Halves"


@pytest.mark.each_value
@pytest.mark.parametrize("given", SETTINGS, ids=named)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro", "samples"])
def test_rows_that_no_fold_judges(average: str, given: Options) -> None:
    """They are fitted on; the rows that are judged alone are counted."""
    judged, per_label = np.arange(N) % 3 > 0, average != "samples"
    folds = np.where(judged, FOLDS, -1)
    found = cross_fit(Y, S, average, cv=pairs_of(folds), per_label=per_label, **given)
    np.testing.assert_array_equal(found.folds, folds)
    by_numbers = cross_fit(Y, S, average, cv=found.folds, per_label=per_label, **given)
    np.testing.assert_array_equal(by_numbers.folds, folds)
    assert by_numbers.out_of_fold == found.out_of_fold
    decided, cuts = held_out(Y, S, found.folds, average, per_label=per_label, guard="auto", **given)
    np.testing.assert_array_equal(found.fold_thresholds, cuts)
    of_judged = {k: v[judged] if k == "sample_weight" else v for k, v in given.items()}
    expected = scikit_learn(Y[judged], decided[judged], average, of_judged)
    assert found.out_of_fold == pytest.approx(expected, rel=1e-12)


def test_rows_that_no_fold_has_at_all() -> None:
    """Those of the last fold are neither fitted on nor judged, but for the rule of all rows."""
    cv = [(np.flatnonzero(FOLDS == 0), np.flatnonzero(FOLDS == 1))]
    found = cross_fit(Y, S, cv=iter(cv), guard=None)
    rule = fit_empirical(Y[FOLDS == 0], S[FOLDS == 0])
    expected = f1_score(Y[FOLDS == 1], rule.predict(S[FOLDS == 1]), average="macro", zero_division=0.0)
    assert found.out_of_fold == pytest.approx(expected, rel=1e-12)
    assert found.in_sample == fit_empirical(Y, S).objective
    np.testing.assert_array_equal(found.folds, np.where(FOLDS == 1, 0, -1))


def test_a_row_may_be_fitted_on_twice() -> None:
    """As a bootstrap has them; to judge it twice is refused."""
    twice = np.repeat(np.arange(40), 2)
    found = cross_fit(Y, S, cv=iter([(twice, np.arange(40, N))]), guard=None)
    np.testing.assert_array_equal(found.fold_thresholds[0], fit_empirical(Y[:40], S[:40]).thresholds)


# Rows of weight 0, labels without positives


@each_average
def test_rows_of_weight_0_are_absent(of: Options) -> None:
    kept = np.random.default_rng(7).random(N) < 0.7
    expected = cross_fit(Y[kept], S[kept], cv=FOLDS[kept], **of)
    for scores in (S, sparse.csr_array(S)):
        found = cross_fit(Y, scores, cv=FOLDS, sample_weight=kept.astype(int), keep_sparse=False, **of)
        assert found.in_sample == expected.in_sample
        assert found.out_of_fold == pytest.approx(expected.out_of_fold, rel=1e-12)
        np.testing.assert_array_equal(found.fold_thresholds, expected.fold_thresholds)
        assert found.spread.tolist() == expected.spread.tolist()


def test_whole_weights_are_repeated_rows() -> None:
    times = weights("whole")
    for of in AVERAGES:
        rows = np.repeat(np.arange(N), times)
        expected = cross_fit(Y[rows], S[rows], cv=FOLDS[rows], **of)
        found = cross_fit(Y, S, cv=FOLDS, sample_weight=times, **of)
        assert found.in_sample == pytest.approx(expected.in_sample, rel=1e-12)
        assert found.out_of_fold == pytest.approx(expected.out_of_fold, rel=1e-12)
        np.testing.assert_array_equal(found.fold_thresholds, expected.fold_thresholds)


def gathered() -> tuple[Array, Floats]:
    """Truth whose label 0 has all its positives in fold 2, which have its highest scores, and scores."""
    truth, scores = Y.copy(), S.copy()
    truth[:, 0] = FOLDS == 2
    scores[:, 0] = np.where(FOLDS == 2, 9 + np.arange(N) / N, 1 + np.arange(N) / N)
    return truth, scores


def test_a_label_that_a_fold_cannot_know_is_never_predicted_there() -> None:
    truth, scores = gathered()
    found = cross_fit(truth, scores, cv=FOLDS, guard=None, placement="score")
    check(found, FOLDS, truth, scores, "macro", placement="score")
    assert found.fold_thresholds[:, 0].tolist() == [scores[FOLDS == 2, 0].min()] * 2 + [inf, found.rule.thresholds[0]]
    first = found.spread[0]
    assert (first["highest"], first["predicted_least"]) == (inf, 0)
    assert first["predicted_most"] == 0.25
    rest = cross_fit(truth[:, 1:], scores[:, 1:], cv=FOLDS, guard=None, placement="score")
    assert found.out_of_fold == pytest.approx(rest.out_of_fold * 4 / 5, rel=1e-12)


def test_a_guard_predicts_what_is_clearer_than_all_it_saw() -> None:
    truth, scores = gathered()
    found = cross_fit(truth, scores, cv=FOLDS)
    check(found, FOLDS, truth, scores, "macro", guard="shrink")
    highest = scores[FOLDS != 2, 0].max()
    assert highest < found.fold_thresholds[2, 0] < highest + 0.01
    assert found.out_of_fold > cross_fit(truth, scores, cv=FOLDS, guard=None).out_of_fold + 0.1
    never = cross_fit(truth, scores, cv=FOLDS, guard=Shrink(unsupported="never"))
    assert never.fold_thresholds[2, 0] == inf


def test_a_label_without_positives() -> None:
    truth = Y * (np.arange(M) > 0)
    for value in (0.0, 1.0):
        for guard in (None, "shrink"):
            found = cross_fit(truth, S, cv=FOLDS, guard=guard, zero_division=value)
            check(found, FOLDS, truth, S, "macro", guard=guard, zero_division=value)
    assert cross_fit(truth, S, cv=FOLDS, guard=None).fold_thresholds[:, 0].tolist() == [inf] * 4
    found = cross_fit(0 * Y, S, cv=FOLDS, guard=None, zero_division=1.0)
    assert (found.in_sample, found.out_of_fold, found.optimism) == (1, 1, 0)


def test_a_label_with_one_positive_is_missed_out_of_fold() -> None:
    """It is in the fold left out, so that no rule that judges it has seen one."""
    truth, scores = np.zeros((20, 1), int), np.arange(20.0)
    truth[19] = 1
    found = cross_fit(truth, scores, cv=4, guard=None, random_state=0)
    assert (found.in_sample, found.out_of_fold) == (1, 0)
    assert np.isposinf(found.fold_thresholds[found.folds[19], 0])


# Spread, words


@pytest.mark.each_pair
@each_setting
@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("of", [AVERAGES[0], AVERAGES[1], AVERAGES[8], AVERAGES[-1]], ids=named)
def test_spread(of: Options, n_folds: int, given: Options) -> None:
    names = ["a", "b", "a long name", "ä", "1"]
    options = of | given
    found = cross_fit(Y, S, cv=n_folds, random_state=1, label_names=names, **options)
    table, cuts = found.spread, found.fold_thresholds
    assert table.dtype.names == COLUMNS
    assert table["name"].tolist() == names
    w = np.ones(N) if options.get("sample_weight") is None else options["sample_weight"]
    np.testing.assert_allclose(table["n_positives"], w @ Y, rtol=1e-12)
    np.testing.assert_array_equal(table["threshold"], found.rule.thresholds)
    np.testing.assert_array_equal(table["lowest"], cuts.min(axis=0))
    np.testing.assert_array_equal(table["highest"], cuts.max(axis=0))
    np.testing.assert_array_equal(table["median"], [sorted(column)[n_folds // 2] for column in cuts.T.tolist()])
    for name, cut in (("predicted_most", cuts.min(axis=0)), ("predicted_least", cuts.max(axis=0))):
        np.testing.assert_allclose(table[name], w @ np.greater_equal(S, cut) / w.sum(), rtol=1e-12)


@pytest.mark.parametrize("given", SETTINGS, ids=named)
def test_f_of_each_label(given: Options) -> None:
    truth = Y * (np.arange(M) > 0)  # The first label is never true, and never predicted.
    found = cross_fit(truth, S, cv=FOLDS, guard=None, **given)
    decided, _ = held_out(truth, S, FOLDS, guard=None, **given)
    for column, decisions in (("f_in_sample", found.rule.predict(S)), ("f_out_of_fold", decided)):
        np.testing.assert_allclose(found.spread[column], scikit_learn(truth, decisions, None, given), rtol=1e-12)
    assert found.spread["f_in_sample"].mean() == pytest.approx(found.in_sample, rel=1e-12)
    assert found.spread["f_out_of_fold"].mean() == pytest.approx(found.out_of_fold, rel=1e-12)


def test_labels_without_names_have_their_positions() -> None:
    found = cross_fit(Y, S, cv=FOLDS)
    assert found.spread["name"].tolist() == ["0", "1", "2", "3", "4"]
    assert found.rule.label_names is None


def test_nothing_can_be_changed_by_mistake() -> None:
    found = cross_fit(Y, S, cv=FOLDS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.out_of_fold = 1.0
    for array in (found.spread["threshold"], found.fold_thresholds, found.folds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_what_comes_back() -> None:
    found = cross_fit(Y, S, cv=FOLDS)
    assert isinstance(found.in_sample, float)
    assert isinstance(found.out_of_fold, float)
    assert (found.folds.dtype, found.folds.shape) == (np.int64, (N,))
    assert found.fold_thresholds.shape == (4, M)
    np.testing.assert_array_equal(found.rule.predict(S), np.greater_equal(S, found.rule.thresholds))
    assert len(repr(found)) < 2000


@pytest.mark.parametrize(
    ("options", "start", "how"),
    [
        ({"guard": None}, "macro F1, unguarded: ", "5 folds, by iterative stratification"),
        ({"cv": 3}, "macro F1, guard shrink: ", "3 folds, by iterative stratification"),
        ({"groups": np.arange(N) // 3}, "macro F1, guard shrink: ", "5 folds, by iterative stratification of groups"),
        ({"cv": FOLDS, "beta": 2}, "macro F2, guard shrink: ", "4 folds, as given"),
        ({"cv": KFold(2), "average": "micro", "beta": 0.5}, "micro F0.5, guard pool: ", "2 folds, KFold"),
        ({"cv": FOLDS, "average": "weighted"}, "weighted F1, guard shrink: ", "4 folds, as given"),
        ({"cv": FOLDS, "average": "samples", "per_label": False}, "samples F1, unguarded: ", "4 folds, as given"),
        ({"cv": FOLDS, "average": "macro", "per_label": False}, "macro F1, unguarded: ", "4 folds, as given"),
    ],
    ids=str,
)
def test_words(options: Options, start: str, how: str) -> None:
    found = cross_fit(Y, S, random_state=0, **options)
    figures = (
        f"{start}in-sample {found.in_sample:.4f}, out of fold {found.out_of_fold:.4f} ({how}), optimism"
        f" {found.optimism:.4f}"
    )
    if options.get("per_label", True):
        most, least = found.spread["predicted_most"], found.spread["predicted_least"]
        wide = sum(m > 3 * ls and round(m * N) >= 5 for m, ls in zip(most, least, strict=True))
        are = "is" if wide == 1 else "are"
        apart = f"{wide} of 5 labels {are} predicted more than 3 times as often by one fold's threshold as by another's"
    else:
        low, high = found.fold_thresholds.min(), found.fold_thresholds.max()
        apart = f"the folds' thresholds lie between {low:.4g} and {high:.4g}"
    assert flat(found) == f"{figures} {apart} {found.verdicts.in_brief()}"


# Which labels may be relied on


def counted_by_hand(y_true: Array, decided: Array) -> list[list[int]]:
    """True positives, predictions and positives of each label."""
    return [(y_true & decided).sum(axis=0).tolist(), decided.sum(axis=0).tolist(), y_true.sum(axis=0).tolist()]


@each_average
def test_labels_are_diagnosed_by_the_decisions_out_of_fold(of: Options) -> None:
    found = cross_fit(Y, S, cv=FOLDS, label_names=list("abcde"), **of)
    decided, _ = held_out(Y, S, FOLDS, **of)
    table = found.diagnosis.table
    columns = [found.verdicts.table["tp"], table["predicted_positive"], table["n_positives"]]
    assert [column.tolist() for column in columns] == counted_by_hand(Y, decided)
    np.testing.assert_array_equal(table["threshold"], found.rule.thresholds)
    assert table["name"].tolist() == list("abcde")
    same_scores = diagnose(Y, S, found.rule).table
    for name in ("auroc", "p_informative", "p_uninformative", "best_f"):
        np.testing.assert_array_equal(table[name], same_scores[name])
    assert not found.verdicts.on_own_rows
    assert found.verdicts.beta == found.rule.beta


def test_rows_that_no_fold_judges_say_nothing_of_labels() -> None:
    judged = np.arange(N) % 3 > 0
    folds = np.where(judged, FOLDS, -1)
    found = cross_fit(Y, S, cv=pairs_of(folds))
    decided, _ = held_out(Y, S, folds, guard="auto")
    assert found.verdicts.n_samples == judged.sum()
    counts = [found.verdicts.table[name].tolist() for name in ("tp", "predicted_positive", "n_positives")]
    assert counts == counted_by_hand(Y[judged], decided[judged])
    expected = diagnose(Y[judged], S[judged], found.rule).table["auroc"]
    np.testing.assert_array_equal(found.diagnosis.table["auroc"], expected)


def test_a_label_that_is_known_is_usable_and_one_that_is_not_is_not() -> None:
    rng = np.random.default_rng(2)
    truth = (rng.random((600, 2)) < 0.2).astype(np.uint8)
    found = cross_fit(truth, rng.normal(size=truth.shape) + [6, 0] * truth)
    assert found.verdicts.verdict.tolist() == ["usable", "useless"]
    assert "2 labels: 1 usable" in str(found)


def test_with_weights_nothing_is_said_of_labels() -> None:
    """The tests are about rows, each of which counts once."""
    found = cross_fit(Y, S, cv=FOLDS, sample_weight=weights("whole"))
    assert found.diagnosis is found.verdicts is None
    assert len(str(found).splitlines()) == 2


def test_verdicts_can_be_left_out() -> None:
    found = cross_fit(Y, S, cv=FOLDS, verdicts=False)
    assert found.diagnosis is found.verdicts is None
    assert found.rule.out_of_fold == cross_fit(Y, S, cv=FOLDS).rule.out_of_fold


# Alternatives


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"average": "macro", "guard": "auto"}, [{"per_label": False, "guard": "auto"}]),
        ({"average": "weighted", "guard": None}, [{"per_label": False}, {"guard": "auto"}]),
        ({"average": "macro", "guard": None, "min_recall": 0.3}, [{"guard": "auto"}]),
        ({"average": "macro", "guard": "shrink", "min_recall": 0.3}, []),
        ({"average": "macro", "guard": None, "per_label": False}, []),
        ({"average": "samples", "guard": "auto", "per_label": False}, []),
    ],
    ids=str,
)
@each_setting
def test_alternatives_are_cross_fitted_over_the_same_folds(
    options: Options, expected: list[Options], given: Options
) -> None:
    found = cross_fit(Y, S, cv=FOLDS, alternatives=True, **options, **given)
    assert [dict(other.options) for other in found.alternatives] == expected
    for other in found.alternatives:
        alone = cross_fit(Y, S, cv=FOLDS, **options | given | dict(other.options))
        assert other.out_of_fold == alone.out_of_fold
        assert other.gain == other.out_of_fold - found.out_of_fold


@pytest.mark.each_value
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@each_setting
def test_the_standard_error_of_a_gain_is_that_of_leaving_out_folds(average: str, given: Options) -> None:
    options = {"average": average, "guard": None} | given
    found = cross_fit(Y, S, cv=FOLDS, alternatives=True, **options)
    separate, _ = held_out(Y, S, FOLDS, **options)
    shared, _ = held_out(Y, S, FOLDS, per_label=False, **options)
    gains = []
    for k in range(4):
        rest = np.not_equal(FOLDS, k)
        of_rest = {name: value[rest] if name == "sample_weight" else value for name, value in given.items()}
        gains.append(
            scikit_learn(Y[rest], shared[rest], average, of_rest)
            - scikit_learn(Y[rest], separate[rest], average, of_rest)
        )
    error = math.sqrt(3 / 4 * sum((gain - np.mean(gains)) ** 2 for gain in gains))
    assert found.alternatives[0].standard_error == pytest.approx(error, rel=1e-9, abs=1e-15)


def test_an_alternative_that_is_better_is_named() -> None:
    """With few positives one threshold of comparable scores does better than many."""
    rng = np.random.default_rng(1)
    truth = (rng.random((120, 60)) < 0.02).astype(np.uint8)
    scores = rng.normal(size=truth.shape) + 3 * truth
    found = cross_fit(truth, scores, alternatives=True)
    (shared,) = found.alternatives
    assert found.better is shared
    assert shared.gain > norm.isf(0.05) * shared.standard_error > 0
    assert (
        f"one threshold for all labels reaches {shared.out_of_fold:.4f} out of fold, {shared.gain:.4f} more (standard"
        f" error {shared.standard_error:.4f})"
    ) in flat(found)
    back = cross_fit(truth, scores, alternatives=False)
    assert (back.better, back.alternatives) == (None, ())


def test_an_alternative_that_is_worse_is_not_named() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((2000, 4)) < 0.2).astype(np.uint8)
    scores = np.array([1, 10, 100, 1000]) * (rng.normal(size=truth.shape) + 2 * truth)
    found = cross_fit(truth, scores, "micro", guard=None, alternatives=True)
    assert found.alternatives[0].gain < 0
    assert found.better is None
    assert "less (standard error" in found.alternatives[0].in_words()
    assert "one threshold for all labels" not in str(found)


def test_a_single_fold_has_no_standard_error() -> None:
    found = cross_fit(Y, S, "micro", cv=[(np.arange(40), np.arange(40, N))], guard=None, alternatives=True)
    assert math.isnan(found.alternatives[0].standard_error)
    assert found.better is None


# What it is for


def population_f(cuts: Floats, share: float, distance: Floats) -> float:
    """Macro F1 of thresholds on normal scores of variance 1, those of positives `distance` higher."""
    tp = share * norm.sf(cuts - distance)
    return float((2 * tp / (share + tp + (1 - share) * norm.sf(cuts))).mean())


@cache
def biases(positives: int, guard: str | None, n_runs: int = 25) -> tuple[Floats, Floats]:
    """How far the in-sample and the out-of-fold figure are above the F on new rows: means, standard errors."""
    n, distance = 800, np.linspace(1, 2.5, 8)
    found = []
    for seed in range(n_runs):
        rng = np.random.default_rng([positives, seed])
        truth = (rng.random((n, distance.size)) < positives / n).astype(np.uint8)
        of = cross_fit(truth, rng.normal(size=truth.shape) + distance * truth, guard=guard, random_state=seed, n_jobs=1)
        fresh = population_f(of.rule.thresholds, positives / n, distance)
        found.append([of.in_sample - fresh, of.out_of_fold - fresh])
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(n_runs)


@pytest.mark.each_value(positives=1)
@pytest.mark.parametrize(("positives", "least"), [(20, 0.05), (40, 0.03)])
def test_the_plain_optimum_promises_too_much_and_out_of_fold_it_does_not(positives: int, least: float) -> None:
    mean, error = biases(positives, None)
    assert mean[0] - 4 * error[0] > least
    assert abs(mean[1]) - 4 * error[1] < 0.005
    assert abs(mean[1]) + 4 * error[1] < mean[0] / 2


@pytest.mark.soak
@pytest.mark.parametrize("positives", [20, 40])
def test_a_guard_promises_far_less_too_much(positives: int) -> None:
    mean, error = biases(positives, "shrink")
    assert mean[0] + 4 * error[0] < 0.6 * biases(positives, None)[0][0]
    assert mean[0] - 4 * error[0] > 0
    assert abs(mean[1]) - 4 * error[1] < 0.005


def test_scores_that_say_nothing_promise_nothing_out_of_fold() -> None:
    """Plain optima reach more in the sample than predicting everything, and out of fold less."""
    in_sample, out_of_fold, everything = [], [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = (rng.random((300, 10)) < 0.1).astype(np.uint8)
        found = cross_fit(truth, rng.random(truth.shape), guard=None, random_state=seed, n_jobs=1)
        in_sample.append(found.in_sample)
        out_of_fold.append(found.out_of_fold)
        everything.append(f1_score(truth, np.ones_like(truth), average="macro"))
    gain = np.subtract(in_sample, everything), np.subtract(out_of_fold, everything)
    error = [4 * part.std(ddof=1) / math.sqrt(20) for part in gain]
    assert gain[0].mean() - error[0] > 0.015
    assert gain[1].mean() + error[1] < 0


# What is refused


ROWS = np.arange(N)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv is 1, expected a whole number of at least 2$"),
        (2.0, "cv is 2.0, expected a whole number of at least 2$"),
        (None, "cv is None, expected a whole number of at least 2$"),
        (True, "cv is True, expected a whole number of at least 2$"),
        (N + 1, "y_true has 72 rows, expected at least cv=73$"),
        ([], "cv has no folds, expected at least one$"),
        (np.zeros(N, int), "cv has 1 fold, expected one to judge and rows outside it to fit on$"),
        (np.full(N, -1), "cv has 0 folds, expected one to judge"),
        (FOLDS[:-1], "cv has 71 fold numbers, expected 72, one for each row$"),
        (FOLDS / 1, r"cv has .*\.0\)?, expected pairs of rows to fit on and rows to judge on$"),
        (ROWS > 9, r"cv has .*False_?, expected pairs of rows"),
        ([(1, 2, 3)], r"cv has \(1, 2, 3\), expected pairs of rows to fit on and rows to judge on$"),
        ([(ROWS, ROWS)], "cv fits on row 0 and judges it, expected other rows$"),
        (iter([(ROWS[:9], ROWS[8:])]), "cv fits on row 8 and judges it, expected other rows$"),
        (iter([(ROWS[:9], ROWS[9:]), (ROWS[:9], [70])]), "cv judges row 70 in two folds, expected each at most once$"),
        ([([0], [72])], "cv has rows from 72 to 72, expected 0 to 71$"),
        ([([-1], [3])], "cv has rows from -1 to -1, expected 0 to 71$"),
        ([(["a"], ["b"])], r"cv has \['a'\], expected row numbers$"),
        ([([0.0], [1.0])], r"cv has \[0.0\], expected row numbers$"),
        (iter([([], ROWS)]), r"cv has \[\], expected row numbers$"),
        (iter([(ROWS, [])]), r"cv has \[\], expected row numbers$"),
        ([(ROWS < 9, ROWS >= 9)], r"cv has array\(\[.*\.\.\., expected row numbers$"),
        (ShuffleSplit(5, random_state=0), r"cv judges row \d+ in two folds, expected each at most once$"),
        (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), r"cv judges row 0 in two folds, expected each"),
        (object(), "cv is <object object at .*>, expected a whole number of at least 2$"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_folds_that_are_refused(cv: object, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        cross_fit(Y, S, cv=cv)


@pytest.mark.parametrize("cv", ["5", b"5", np.array(5), KFold, [([], [3])], ([1], 2)], ids=repr)
def test_what_looks_like_folds_from_afar_is_refused(cv: object) -> None:
    with pytest.raises(InputError, match=r"^cv "):
        cross_fit(Y, S, cv=cv)


def test_a_row_judged_twice_in_one_fold_is_refused() -> None:
    with pytest.raises(InputError, match=r"^cv judges row 70 "):
        cross_fit(Y, S, cv=iter([(ROWS[:60], [70, 71, 70])]))


@pytest.mark.parametrize("cv", [FOLDS, pairs_of(FOLDS), pair_by_pair(FOLDS)], ids=lambda cv: type(cv).__name__)
def test_groups_beside_folds_that_are_made_are_refused(cv: object) -> None:
    with pytest.raises(InputError, match=r"^groups is given with folds in cv, expected None: the folds are made alr"):
        cross_fit(Y, S, cv=cv, groups=ROWS // 2, guard=None)


def test_a_fold_that_leaves_no_weight_to_fit_on_is_refused() -> None:
    weight = (FOLDS == 1).astype(int)
    with pytest.raises(InputError, match=r"^sample_weight is 0 for every row"):
        cross_fit(Y, S, cv=FOLDS, sample_weight=weight)


def test_judged_rows_without_weight_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^sample_weight is 0 for every row that cv judges, expected at least one pos"
    ):
        cross_fit(Y, S, cv=[(ROWS[:36], ROWS[36:])], sample_weight=(ROWS < 36).astype(int))


@pytest.mark.parametrize(
    ("average", "options", "message"),
    [
        ("micro", {"guard": "shrink"}, "guard is 'shrink' with average 'micro', per_label=True; expected None or 'au"),
        (
            "macro",
            {"guard": "shrink", "per_label": False},
            "guard is 'shrink' with average 'macro', per_label=False",
        ),
        ("micro", {"max_overprediction": 2}, "max_overprediction is 2.0 with average 'micro', per_label=True, which"),
        ("samples", {"min_recall": 0.5, "per_label": False}, "min_recall is 0.5 with average 'samples', per_label=F"),
        ("samples", {}, "average is 'samples' with per_label=True, which is NP-hard"),
    ],
)
def test_guards_and_limits_elsewhere_are_refused(average: str, options: Options, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        cross_fit(Y, S, average, cv=FOLDS, **options)


def test_flags_that_are_arrays_are_refused() -> None:
    with pytest.raises(InputError, match=r"^keep_sparse is .*, expected True, False or None$"):
        cross_fit(Y, S, keep_sparse=np.array([True, False]))


# What the rule keeps of it


def test_the_rule_keeps_the_figure_out_of_fold(tmp_path: Path) -> None:
    groups = np.arange(len(Y)) // 2
    found = cross_fit(Y, S, cv=4, groups=groups, random_state=2)
    kept = found.rule.out_of_fold
    assert (kept.f, kept.n_folds, kept.how, kept.random_state) == (found.out_of_fold, 4, found.how, 2)
    assert "of groups" in kept.how
    found.rule.save(tmp_path / "rule.json")
    loaded = load_rule(tmp_path / "rule.json")
    assert loaded.out_of_fold == kept
    assert f", out of fold {found.out_of_fold:.4f} (4 folds)" in flat(loaded)
    assert cross_fit(Y, S, cv=FOLDS, random_state=3).rule.out_of_fold.random_state is None, "folds that are given"
    assert cross_fit(Y, S, random_state=np.int64(3)).rule.out_of_fold.to_dict()["random_state"] == 3
    assert fit_empirical(Y, S).out_of_fold is None
    assert "out of fold" not in str(fit_empirical(Y, S))


@each_setting
def test_the_rule_keeps_the_counts_of_each_label_out_of_fold(given: Options, tmp_path: Path) -> None:
    """Of the rows that are judged alone, weights as they are."""
    judged = np.arange(N) % 3 > 0
    folds = np.where(judged, FOLDS, -1)
    found = cross_fit(Y, S, cv=pairs_of(folds), **given)
    decided, _ = held_out(Y, S, folds, guard="auto", **given)
    w = judged * (np.ones(N) if given.get("sample_weight") is None else given["sample_weight"])
    kept = found.rule.out_of_fold.by_label
    assert kept.n_samples == pytest.approx(w.sum(), rel=1e-12)
    for counts, cells in ((kept.tp, Y & decided), (kept.predicted, decided), (kept.positives, Y)):
        np.testing.assert_allclose(counts, w @ cells, rtol=1e-12)
    found.rule.save(tmp_path / "rule.json")
    assert load_rule(tmp_path / "rule.json").out_of_fold == found.rule.out_of_fold


def test_counts_without_weights_are_whole_numbers() -> None:
    kept = cross_fit(Y, S, cv=FOLDS).rule.out_of_fold.by_label
    assert kept.n_samples == N
    assert kept.positives.tolist() == Y.sum(axis=0).tolist()
    assert {counts.dtype.kind for counts in (kept.tp, kept.predicted, kept.positives)} == {"i"}


def test_a_file_of_before_has_no_counts_out_of_fold(tmp_path: Path) -> None:
    rule = cross_fit(Y, S, cv=FOLDS).rule
    values = rule.to_dict()
    del values["out_of_fold"]["by_label"]
    (tmp_path / "rule.json").write_text(json.dumps(values))
    loaded = load_rule(tmp_path / "rule.json")
    assert loaded.out_of_fold == dataclasses.replace(rule.out_of_fold, by_label=None)


def test_counts_out_of_fold_stay_with_their_labels() -> None:
    rule = cross_fit(Y, S, cv=FOLDS).rule
    places = np.array([3, 0, 4, 1, 2])
    moved = rule.reordered(places).out_of_fold
    by_label = rule.out_of_fold.by_label
    assert moved.by_label.tp.tolist() == by_label.tp[places].tolist()
    assert moved.by_label.predicted.tolist() == by_label.predicted[places].tolist()
    assert moved.by_label.positives.tolist() == by_label.positives[places].tolist()
    assert moved.f == rule.out_of_fold.f
    unknown = dataclasses.replace(rule.out_of_fold, by_label=None)
    assert dataclasses.replace(rule, out_of_fold=unknown).reordered(places).out_of_fold == unknown


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_samples", 0, "n_samples is 0.0, expected a positive finite number"),
        ("tp", [1, 2, 3, 4], r"predicted has 5 values, expected 4"),
        ("predicted", [-1] * 5, r"predicted has -1, expected weights of at least 0"),
        ("predicted", [73] * 5, r"predicted has 73, expected counts from 0 to 72"),
        ("positives", ["1"] * 5, r"positives is '1', expected"),
        ("tp", [72] * 5, r"tp has 72 with predicted \d+ and positives \d+, expected no more than these"),
        ("tp", 3, r"tp is 3, expected a list"),
    ],
)
def test_a_file_with_bad_counts_out_of_fold_is_refused(name: str, value: object, message: str, tmp_path: Path) -> None:
    values = cross_fit(Y, S, cv=FOLDS).rule.to_dict()
    values["out_of_fold"]["by_label"][name] = value
    (tmp_path / "rule.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        load_rule(tmp_path / "rule.json")


def test_counts_of_another_number_of_labels_are_refused() -> None:
    kept = cross_fit(Y[:, :3], S[:, :3], cv=FOLDS).rule.out_of_fold
    with pytest.raises(InputError, match=r"^out_of_fold has 3 values, expected 5$"):
        dataclasses.replace(fit_empirical(Y, S), out_of_fold=kept)


def test_changed_thresholds_have_no_figure_out_of_fold() -> None:
    rule = cross_fit(Y, S, random_state=0).rule
    assert rule.replace({0: 0.25}).out_of_fold is None
    found = diagnose(Y, S, rule.replace({0: -np.inf}), overprediction=0.01)
    mended = found.repair(rule, "cap")
    assert mended.changes.size
    assert mended.rule.out_of_fold is None
    names = tuple(f"label {j}" for j in range(Y.shape[1]))
    assert dataclasses.replace(rule, label_names=names).out_of_fold == rule.out_of_fold, "other names decide alike"


@pytest.mark.parametrize(
    ("name", "value"),
    [("f", None), ("f", "0.5"), ("f", 5.0), ("f", -0.1), ("n_folds", 0), ("how", 3), ("how", ""), ("random_state", -1)],
)
def test_a_file_with_a_bad_figure_out_of_fold_is_refused(name: str, value: object, tmp_path: Path) -> None:
    values = cross_fit(Y, S, random_state=0).rule.to_dict()
    spoiled = values | {"out_of_fold": values["out_of_fold"] | {name: value}}
    (tmp_path / "rule.json").write_text(json.dumps(spoiled))
    with pytest.raises(InputError, match=f"{name} "):
        load_rule(tmp_path / "rule.json")
    schema = json.loads((Path(thresholds.__file__).parent / "rule.schema.json").read_text())
    assert not jsonschema.Draft202012Validator(schema).is_valid(spoiled)
