"""Frames are aligned by names; lists of (n, 2) probabilities are those of class 1; true is any byte but 0."""

import re
import sys
from fractions import Fraction
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier

import thresholds
from thresholds import metrics
from thresholds._engine.problem import Problem

pytestmark = pytest.mark.each_value

NAMES = ["cat", "dog", "emu"]


def data(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give truth and scores with names of columns and rows."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 3)) < [0.5, 0.3, 0.2]
    scores = rng.normal(size=(n, 3)) + truth
    index = pd.Index([f"row {i}" for i in range(n)])
    return pd.DataFrame(truth, index, NAMES), pd.DataFrame(scores, index, NAMES)


def shuffled(frame: pd.DataFrame | pd.Series, seed: int = 1) -> pd.DataFrame | pd.Series:
    """Put rows in another order."""
    return frame.sample(frac=1, random_state=seed)


def test_rows_go_by_index() -> None:
    truth, scores = data()
    expected = thresholds.fit_empirical(truth.to_numpy(), scores.to_numpy())
    with pytest.warns(thresholds.RowOrderWarning, match=r"^y_true is put into the order of y_score by their indexes: "):
        rule = thresholds.fit_empirical(truth, shuffled(scores))
    assert rule.thresholds.tolist() == expected.thresholds.tolist()
    found = rule.predict(shuffled(scores))
    assert found.index.equals(shuffled(scores).index)
    assert found.loc[truth.index].to_numpy().tolist() == expected.predict(scores.to_numpy()).tolist()
    with pytest.warns(thresholds.RowOrderWarning, match=r"^y_pred is put into the order of y_true "):
        assert metrics.f1_score(truth, found, average="macro") == rule.objective
    with pytest.warns(thresholds.RowOrderWarning):
        diagnosis = thresholds.diagnose(truth, shuffled(scores), rule)
    assert diagnosis.table["f"].mean() == pytest.approx(rule.objective)


def test_a_warning_says_how_many_rows_move_and_names_the_line_of_the_caller() -> None:
    truth, scores = data()
    swapped = truth.iloc[[1, 0, *range(2, 60)]]
    with pytest.warns(thresholds.RowOrderWarning, match=r": 2 of 60 rows move$") as caught:
        thresholds.fit_empirical(swapped, scores)
    assert [warning.filename for warning in caught] == [__file__]


def test_equal_indexes_are_taken_as_they_stand() -> None:
    truth, scores = data()
    expected = thresholds.fit_empirical(truth.to_numpy(), scores.to_numpy())
    order = np.random.default_rng(4).permutation(60)
    for index in (range(60), order, 1000 + order, order // 2, pd.MultiIndex.from_arrays([order // 7, order % 7])):
        pair = truth.set_axis(index), scores.set_axis(index)
        assert thresholds.fit_empirical(*pair).thresholds.tolist() == expected.thresholds.tolist()


COUNTED = {
    "a new frame": pd.RangeIndex(60),
    "numbers of rows, from a file": pd.Index(range(60), dtype="int64"),
    "nullable numbers of rows": pd.Index(range(60), dtype="Int64"),
}


@pytest.mark.parametrize("index", COUNTED)
def test_an_index_that_only_counts_the_rows_does_not_put_others_in_order(index: str) -> None:
    """Truth that was shuffled keeps its index, and what a model says of it comes in a new frame."""
    truth, scores = (frame.reset_index(drop=True) for frame in data())
    order = np.random.default_rng(5).permutation(60)
    kept = truth.iloc[order]
    fresh = pd.DataFrame(scores.to_numpy()[order], COUNTED[index], NAMES)
    message = (
        "y_true and y_score have the same numbers as indexes in different orders, and that of y_score only counts its"
        " rows, expected equal indexes: pass y_score.set_axis(y_true.index) if rows correspond by position,"
        " y_score.loc[y_true.index] if by index"
    )
    with pytest.raises(thresholds.InputError, match=f"^{re.escape(message)}$"):
        thresholds.fit_empirical(kept, fresh)
    expected = metrics.macro_auroc(truth, scores)
    assert metrics.macro_auroc(kept, fresh.set_axis(kept.index)) == expected
    by_index = pd.DataFrame(scores.to_numpy(), COUNTED[index], NAMES)
    assert metrics.macro_auroc(kept, by_index.loc[kept.index]) == expected
    with pytest.raises(thresholds.InputError, match=r"pass y_true\.set_axis\(y_score\.index\) if rows"):
        thresholds.fit_empirical(fresh > 0, scores.iloc[order])
    with pytest.raises(thresholds.InputError, match=r"pass sample_weight\.set_axis\(y_score\.index\) if rows"):
        thresholds.fit_empirical(kept, scores.iloc[order], sample_weight=pd.Series(np.ones(60), COUNTED[index]))


def test_the_unit_of_weights_is_that_of_their_exact_sum() -> None:
    """A sum just below a power of two, to which floats that are added one by one round up, has the finer unit."""
    below_one = np.array([1 - 5 * 2.0**-53, *[0.75 * 2.0**-53] * 5])
    assert float(below_one.sum()) == 1.0
    for weights in (below_one, np.ones(2**10), np.random.default_rng(0).random(999)):
        for n_labels in (1, 3, 2**7):
            total = sum(map(Fraction, weights.tolist())) * n_labels
            cells = np.ones((weights.size, n_labels))
            unit = Problem.of(cells, cells, soft=True, sample_weight=weights).unit
            assert 2**60 <= total / Fraction(unit) < 2**61


@pytest.mark.filterwarnings("ignore::thresholds.RowOrderWarning")
def test_weights_and_groups_go_by_index() -> None:
    truth, scores = data()
    weights = pd.Series(np.arange(60) % 4 + 1, truth.index)
    expected = thresholds.fit_empirical(truth.to_numpy(), scores.to_numpy(), sample_weight=weights.to_numpy())
    for given in (weights, shuffled(weights)):
        found = thresholds.fit_empirical(shuffled(truth, 2), shuffled(scores, 3), sample_weight=given)
        assert found.thresholds.tolist() == expected.thresholds.tolist()
        assert found.objective == expected.objective
        assert metrics.f1_score(truth, found.predict(scores), average="macro", sample_weight=given) == found.objective
    groups = pd.Series(np.arange(60) // 3, truth.index)
    folds = thresholds.multilabel_folds(truth, 3, groups=shuffled(groups), random_state=0)
    assert (
        folds.tolist()
        == thresholds.multilabel_folds(truth.to_numpy(), 3, groups=groups.to_list(), random_state=0).tolist()
    )


def test_rows_that_do_not_correspond_are_refused() -> None:
    truth, scores = data()
    other = scores.rename(index={"row 7": "row 99"})
    message = (
        "y_true and y_score have different indexes ('row 99' of y_score is not in that of y_true): align them, or pass"
        " y_true.to_numpy() if rows correspond by position"
    )
    with pytest.raises(thresholds.InputError, match=re.escape(message)):
        thresholds.fit_empirical(truth, other)
    twice = scores.rename(index={"row 7": "row 8"})
    with pytest.raises(thresholds.InputError, match="some row is in it twice"):
        thresholds.fit_empirical(truth, twice)
    assert thresholds.fit_empirical(truth.rename(index={"row 7": "row 8"}), twice).label_names == tuple(NAMES)
    with pytest.raises(thresholds.InputError, match="sample_weight and y_score have different indexes"):
        thresholds.fit_empirical(truth, scores, sample_weight=pd.Series(np.ones(60)))
    with pytest.raises(thresholds.InputError, match=r"y_score has shape \(59, 3\), expected \(60, 3\)"):
        thresholds.fit_empirical(truth, scores[1:])


def test_numbers_of_columns_are_names_too() -> None:
    truth, scores = data()
    expected = thresholds.fit_empirical(truth.to_numpy(), scores.to_numpy())
    numbered = pd.DataFrame(scores.to_numpy())
    for order in ([0, 1, 2], [2, 0, 1], [2, 1, 0]):
        rule = thresholds.fit_empirical(pd.DataFrame(truth.to_numpy()), numbered[order])
        assert rule.label_names == tuple(map(str, order))
        assert rule.thresholds.tolist() == expected.thresholds[order].tolist()
        assert rule.predict(numbered).to_numpy().tolist() == expected.predict(scores.to_numpy()).tolist()
    with pytest.raises(thresholds.InputError, match="y_true lacks the columns '0', '1', '2' and has the columns 'cat'"):
        thresholds.fit_empirical(truth, pd.DataFrame(scores.to_numpy(), truth.index))


def test_arrays_go_by_position() -> None:
    truth, scores = data()
    assert thresholds.fit_empirical(truth, scores.to_numpy()).label_names == tuple(NAMES)
    assert thresholds.FixedRule(0.5, 3, label_names=NAMES).predict(scores.to_numpy()).shape == (60, 3)
    assert thresholds.FixedRule(0.5, 3).predict(scores[NAMES[::-1]]).columns.tolist() == NAMES[::-1]


def test_whole_numbers_are_names_as_text() -> None:
    truth, scores = data()
    codes = dict(zip(NAMES, [101, 7, 30], strict=True))
    rule = thresholds.fit_empirical(truth.rename(columns=codes), scores.rename(columns=codes)[[30, 101, 7]])
    assert rule.label_names == ("30", "101", "7")
    assert rule.predict(scores.rename(columns=codes)).columns.tolist() == [101, 7, 30]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["cat", "cat", "emu"], "y_score: the columns have 'cat' twice, expected each name once"),
        ([("cat", 1), ("dog", 1), ("emu", 1)], r"y_score has the column \('cat', 1\), expected a string or a whole"),
        (["cat", 0.5, "emu"], "y_score has the column 0.5, expected a string or a whole number as its name"),
    ],
)
def test_columns_that_name_no_labels_are_refused(columns: list[object], message: str) -> None:
    _, scores = data()
    scores.columns = pd.Index(columns)
    with pytest.raises(thresholds.InputError, match=message):
        thresholds.FixedRule(0.5, 3, label_names=NAMES).predict(scores)


def test_a_column_is_a_single_label() -> None:
    truth, scores = data()
    with pytest.warns(thresholds.RowOrderWarning):
        rule = thresholds.fit_empirical(truth["cat"], shuffled(scores["cat"]))
    assert rule.thresholds.tolist() == thresholds.fit_empirical(truth, scores).thresholds[:1].tolist()
    found = rule.predict(scores["cat"])
    assert isinstance(found, pd.Series)
    assert found.name == "cat"
    assert found.index.equals(scores.index)


def test_mixed_columns_are_read_without_loss() -> None:
    mixed = pd.DataFrame({"cat": np.array([True, False]), "dog": np.array([3, 4], np.int8), "emu": [0.1, 0.7]})
    assert thresholds.FixedRule(0.5, 3).predict(mixed).to_numpy().tolist() == [[1, 1, 0], [0, 1, 1]]
    categories = mixed.astype({"dog": "category"})
    assert thresholds.FixedRule(0.5, 3).predict(categories).to_numpy().tolist() == [[1, 1, 0], [0, 1, 1]]


def test_rules_of_other_labels_are_not_compared() -> None:
    truth, scores = data()
    rules = {"one": thresholds.FixedRule(0.5, 3, label_names=NAMES), "two": thresholds.FixedRule(0.5, 3)}
    found = thresholds.compare(rules, truth, scores[NAMES[::-1]])
    assert (
        found.measures[0].macro == found.measures[1].macro == thresholds.compare(rules, truth, scores).measures[0].macro
    )
    rules["two"] = thresholds.FixedRule(0.5, 3, label_names=["cat", "dog", "owl"])
    message = "rule 'two' lacks the label 'emu' and has the label 'owl', expected those of rule 'one'"
    with pytest.raises(thresholds.InputError, match=message):
        thresholds.compare(rules, truth, scores)


def test_lists_of_pairs_are_probabilities_of_class_1() -> None:
    features, truth = make_multilabel_classification(200, n_classes=4, random_state=0)
    forest = RandomForestClassifier(20, random_state=0).fit(features[:100], truth[:100])
    pairs = forest.predict_proba(features[100:])
    matrix = np.stack([pair[:, 1] for pair in pairs], axis=1)
    rule = thresholds.fit_empirical(truth[100:], pairs)
    assert rule.thresholds.tolist() == thresholds.fit_empirical(truth[100:], matrix).thresholds.tolist()
    assert rule.predict(pairs).tolist() == rule.predict(matrix).tolist()
    assert (
        thresholds.InstanceRule().predict(tuple(pairs)).tolist() == thresholds.InstanceRule().predict(matrix).tolist()
    )


def test_lists_of_single_columns_are_heads_of_a_network() -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.random((40, 3)) < 0.3, rng.random((40, 3))
    heads = [scores[:, [label]] for label in range(3)]
    rule = thresholds.fit_empirical(truth, heads)
    assert rule.thresholds.tolist() == thresholds.fit_empirical(truth, scores).thresholds.tolist()
    assert rule.predict(heads).tolist() == rule.predict(scores).tolist()
    assert thresholds.fit_expected(heads).objective == thresholds.fit_expected(scores).objective
    # As a forest gives them that saw one class of each label.
    with pytest.raises(thresholds.InputError, match=r"^y_score has 1 column for label 0, which had one class"):
        rule.predict([np.ones((5, 1))] * 3)
    with pytest.raises(
        thresholds.InputError, match=r"^y_score has 1 column for label 1 and 2 for others, .*stack_scores"
    ):
        rule.predict([scores[:, :2], scores[:, [1]], scores[:, :2]])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(5, 2), (5, 1)], "y_score has 1 column for label 1, which had one class in training, expected 2: say"),
        ([(5, 2), (4, 2)], r"y_score is a list of arrays of shapes \(5, 2\) to \(4, 2\), expected \(n_samples, 2\)"),
        ([(5, 3), (5, 3)], r"y_score is a list of arrays of shapes \(5, 3\) to \(5, 3\), expected \(n_samples, 2\)"),
    ],
)
def test_lists_of_other_shapes_are_refused(shapes: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(thresholds.InputError, match=message):
        thresholds.FixedRule(0.5, 2).predict([np.ones(shape) for shape in shapes])


def test_libraries_that_another_thread_is_importing_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = {name: ModuleType(name) for name in ("polars", "torch", "pyarrow", "cupy")}
    for name, module in halves.items():
        module.__spec__ = ModuleSpec(name, None)
        module.__spec__._initializing = True  # as Python's import system marks it
        monkeypatch.setitem(sys.modules, name, module)
    assert thresholds.FixedRule(0.5, 2).predict([[0.5, 0.1]]).tolist() == [[1, 0]]


PROBABILITIES = np.random.default_rng(5).random((60, 3))
WEIGHTS = np.arange(60) % 4 + 1.0
THIRDS = np.arange(60) % 3
IN_20 = np.arange(60) // 3


def accumulated(truth: object, scores: object, weights: object) -> object:
    """Give what an accumulator of one batch has for weights."""
    rows = thresholds.Accumulator()
    rows.update(truth, scores, weights)
    return rows.compute().objective


ALIGNED = {
    "fit_empirical": (WEIGHTS, lambda t, s, w: thresholds.fit_empirical(t, s, sample_weight=w).objective),
    "fit_regions": (WEIGHTS, lambda t, s, w: thresholds.fit_regions(t, s, sample_weight=w).objective),
    "fit_top_k": (WEIGHTS, lambda t, s, w: thresholds.fit_top_k(t, s, sample_weight=w).objective),
    "fit_expected": (WEIGHTS, lambda _, s, w: thresholds.fit_expected(s, sample_weight=w).objective),
    "expected_f": (WEIGHTS, lambda t, s, w: thresholds.expected_f(s, t, "samples", sample_weight=w)),
    "calibrate": (WEIGHTS, lambda t, s, w: thresholds.calibrate(t, s, sample_weight=w).after.log_loss),
    "measure_calibration": (WEIGHTS, lambda t, s, w: thresholds.measure_calibration(t, s, sample_weight=w).log_loss),
    "compare": (
        WEIGHTS,
        lambda t, s, w: (
            thresholds.compare({"a": thresholds.FixedRule(0.5, 3)}, t, s, sample_weight=w).measures[0].micro
        ),
    ),
    "f1_score": (WEIGHTS, lambda t, s, w: metrics.f1_score(t, s > 0.5, average="macro", sample_weight=w)),
    "auroc": (WEIGHTS, lambda t, s, w: metrics.macro_auroc(t, s, sample_weight=w)),
    "cross_fit, weights": (WEIGHTS, lambda t, s, w: thresholds.cross_fit(t, s, cv=THIRDS, sample_weight=w).out_of_fold),
    "cross_fit, folds": (THIRDS, lambda t, s, cv: thresholds.cross_fit(t, s, cv=cv).out_of_fold),
    "cross_fit, groups": (
        IN_20,
        lambda t, s, groups: thresholds.cross_fit(t, s, cv=3, groups=groups, random_state=0).folds.tolist(),
    ),
    "Accumulator": (WEIGHTS, accumulated),
}


@pytest.mark.filterwarnings("ignore::thresholds.RowOrderWarning")
@pytest.mark.parametrize("name", ALIGNED)
def test_whatever_is_given_for_each_row_goes_by_index(name: str) -> None:
    given, call = ALIGNED[name]
    truth, _ = data()
    scores = pd.DataFrame(PROBABILITIES, truth.index, NAMES)
    expected = call(truth.to_numpy(), scores.to_numpy(), given)
    column = pd.Series(given, truth.index)
    assert call(truth, scores, shuffled(column)) == expected
    if name != "cross_fit, folds":
        assert call(truth.to_numpy(), scores, shuffled(column)) == expected
    assert call(truth, scores, column.to_frame()) == expected
    with pytest.raises(thresholds.InputError, match="have different indexes"):
        call(truth, scores, column.rename(index={"row 7": "row 99"}))


@pytest.mark.parametrize("kind", [np.array, lambda x: np.array(x, order="F"), sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("shape", [(40, 3), (9_000, 64)])
def test_true_may_be_any_byte_but_0(kind: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    plain = rng.random(shape) < 0.1
    viewed = kind(plain)
    cells = viewed if isinstance(viewed, np.ndarray) else viewed.data
    cells.view(np.uint8)[cells] = 255
    scores = rng.normal(size=shape).astype(np.float32)
    got, expected = (thresholds.fit_empirical(truth, scores, n_jobs=2) for truth in (viewed, plain))
    assert got.thresholds.tobytes() == expected.thresholds.tobytes()
    assert got.objective == expected.objective
    assert (cells.view(np.uint8)[cells] == 255).all()  # What was given is left as it is.
    assert metrics.f1_score(viewed, plain, average="macro") == 1
