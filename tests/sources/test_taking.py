"""Functions take a source in place of arrays, with the result of the arrays, to the last bit."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import thresholds
from tests.rules import bits
from tests.sources.drawn import KINDS, SOURCES, Blocks, draw
from thresholds import InputError, fit_empirical, gather
from thresholds.sources import gathering

pytestmark = pytest.mark.each_value

# Rows of 600 x 3: float32 probabilities.
RNG = np.random.default_rng(3)
Y_TRUE = RNG.random((600, 3)) < [0.5, 0.2, 0.1]
Y_SCORE = (1 / (1 + np.exp(-RNG.normal(size=Y_TRUE.shape) - 2 * Y_TRUE + 2))).astype(np.float32)
NAMES = ("cat", "dog", "eel")
BLOCKS = Blocks((Y_TRUE, Y_SCORE), 150)
RULE = thresholds.FixedRule(0.4, 3, label_names=NAMES)


@pytest.fixture(params=[0, gathering._SMALL], ids=["in files", "in memory"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small rows kept in temporary files, and in memory."""
    monkeypatch.setattr(gathering, "_SMALL", request.param)


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize("form", SOURCES)
def test_every_source_gives_the_rule_of_all_rows(form: str, tmp_path: Path) -> None:
    if form in ("parquet", "a pattern"):
        pytest.importorskip("pyarrow")
    drawn = draw(np.random.default_rng(7), "dense", 500)
    rows = replace(drawn, y_score=drawn.y_score.astype(np.float32))
    found = fit_empirical(SOURCES[form](rows, tmp_path), guard="shrink")
    expected = fit_empirical(rows.y_true, rows.y_score, guard="shrink", label_names=found.label_names)
    assert bits(found) == bits(expected)


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_any_size_are_fitted_as_all_rows_are(kind: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = draw(rng, kind)
        average = ["macro", "weighted", "micro"][seed % 3]
        found = fit_empirical(rows.shards(rng), average=average, **rows.about)
        expected = fit_empirical(rows.y_true, rows.y_score, average, sample_weight=rows.sample_weight, **rows.about)
        assert bits(found) == bits(expected)


CALLS: dict[str, Callable[..., Any]] = {
    "fit_empirical": lambda *rows, **about: thresholds.fit_empirical(*rows, guard="shrink", **about).to_dict(),
    "fit": lambda *rows, **about: thresholds.fit(*rows, rule="instance, platt", **about).to_dict(),
    "diagnose": lambda *rows: thresholds.diagnose(*rows, rule=RULE).to_dict(),
    "cross_fit": lambda *rows, **about: thresholds.cross_fit(*rows, cv=3, **about).to_dict(),
    "compare": lambda *rows: thresholds.compare({"rule": RULE, "first": thresholds.TopKRule(1)}, *rows).to_dict(),
    "compare, fitted": lambda *rows, **about: thresholds.compare(["macro", "top-k"], *rows, **about).to_dict(),
    "calibrate": lambda *rows, **about: thresholds.calibrate(*rows, **about).transform(Y_SCORE).tolist(),
}


@pytest.mark.parametrize("call", CALLS)
def test_each_function_on_a_source_gives_what_it_gives_on_arrays(call: str) -> None:
    function = CALLS[call]
    expected = function(Y_TRUE, Y_SCORE)
    for source in (BLOCKS, BLOCKS(), (Y_TRUE, Y_SCORE), gather(BLOCKS)):
        assert function(source) == expected


@pytest.mark.parametrize("call", ["fit_empirical", "fit", "cross_fit", "compare, fitted"])
def test_weights_groups_names_and_unknown_cells_come_with_the_rows(call: str) -> None:
    rng = np.random.default_rng(4)
    y_true = np.where(rng.random(Y_TRUE.shape) < 0.1, -1, Y_TRUE)
    weights = rng.integers(1, 4, 600).astype(float)
    groups = rng.integers(0, 100, 600)
    parts = {"y_true": y_true, "y_score": Y_SCORE, "sample_weight": weights, "groups": groups}

    def blocks() -> Any:
        for first in range(0, 600, 170):
            yield {name: part[first : first + 170] for name, part in parts.items()}

    function = CALLS[call]
    if call == "fit":
        function = lambda *rows, **about: thresholds.fit(*rows, rule="macro, shrink", **about).to_dict()  # noqa: E731
    about: dict[str, Any] = {"unknown": -1, "label_names": NAMES}
    expected = function(y_true, Y_SCORE, sample_weight=weights, groups=groups, **about)
    assert function(blocks, **about) == expected
    assert function(gather(blocks, **about)) == expected
    assert function(
        {name: parts[name] for name in ("y_true", "y_score")}, sample_weight=weights, groups=groups, **about
    )


@pytest.mark.parametrize("form", ["parquet", "frames"])
def test_labels_come_in_the_order_of_a_rule(form: str, tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    turned = list(NAMES[::-1])
    truth, scores = (pd.DataFrame(part, columns=NAMES)[turned] for part in (Y_TRUE, Y_SCORE))
    source: Any = lambda: [(truth, scores)]  # noqa: E731
    if form == "parquet":
        frame = pd.concat([truth.astype(int).add_prefix("y_true_"), scores.add_prefix("y_score_")], axis=1)
        frame.to_parquet(tmp_path / "rows.parquet")
        source = tmp_path / "rows.parquet"
    for call in ("diagnose", "compare"):
        assert CALLS[call](source) == CALLS[call](Y_TRUE, Y_SCORE)
        with pytest.raises(InputError, match=r"y_true has gathered rows of the labels .* as the rule has: gather"):
            CALLS[call](gather(source))
        assert CALLS[call](gather(source, label_names=NAMES)) == CALLS[call](Y_TRUE, Y_SCORE)


def test_scores_alone_are_enough_for_a_label_free_rule() -> None:
    found = thresholds.fit(lambda: [(None, Y_SCORE[:300]), {"y_score": Y_SCORE[300:]}], rule="macro, label-free")
    assert bits(found) == bits(thresholds.fit(None, Y_SCORE, "macro, label-free"))
    with pytest.raises(InputError, match=r"^y_true is a source of scores alone, expected one with truth"):
        fit_empirical(lambda: (None, Y_SCORE))


def test_absent_entries_have_the_score_that_the_source_says() -> None:
    scores = sparse.csr_array(np.where(Y_SCORE > 0.3, Y_SCORE, 0))
    expected = fit_empirical(Y_TRUE, scores, missing=-1.0)
    assert bits(fit_empirical(gather((Y_TRUE, scores), missing=-1.0))) == bits(expected)
    assert bits(fit_empirical(Blocks((Y_TRUE, scores), 70), missing=-1.0)) == bits(expected)


WEIGHTED = (Y_TRUE, Y_SCORE, np.ones(600))
GATHERED = gather(WEIGHTED, missing=-1.0, unknown=-9, label_names=NAMES)
GROUPED = {"y_true": Y_TRUE, "y_score": Y_SCORE, "groups": np.arange(600) // 2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: thresholds.diagnose(GATHERED, RULE),
            r"y_score is a ThresholdRule, expected scores, or a source .*: diagnose\(rows, rule=rule\)$",
        ),
        (
            lambda: fit_empirical(GATHERED, "micro"),
            r"y_score is 'micro', expected scores, or a source .*: fit_empirical\(rows, average='micro'\)$",
        ),
        (
            lambda: thresholds.fit(GATHERED, "macro"),
            r"y_score is 'macro', expected scores, or a source .*: fit\(rows, rule='macro'\)$",
        ),
        (
            lambda: thresholds.compare({"rule": RULE}, GATHERED, "micro"),
            "y_score is 'micro', expected scores, or a source of rows that leaves y_score out$",
        ),
        (
            lambda: thresholds.compare(GATHERED, {"rule": RULE}),
            r"rules is GatheredRows\(.* and y_true is \{'rule': .*, expected .*: compare\(rules, rows\)$",
        ),
        (
            lambda: thresholds.compare(BLOCKS, ["macro"]),
            r"rules is Blocks.* and y_true is \['macro'\], expected rules before rows: compare\(rules, rows\)$",
        ),
        (lambda: fit_empirical(Y_TRUE), "y_score is None with y_true=array.*, expected scores, or a source in place"),
        (lambda: fit_empirical([[1, 0]]), r"y_score is None with y_true=\[\[1, 0\]\], expected scores, or a source"),
        (lambda: fit_empirical(None, None), "y_true is None, expected labels"),
        (lambda: thresholds.diagnose(BLOCKS), "rule is None, expected a rule"),
        (lambda: thresholds.diagnose(Y_TRUE, Y_SCORE), "rule is None, expected a rule"),
        (
            lambda: thresholds.diagnose(WEIGHTED, rule=RULE),
            "y_true is a source with sample_weight, expected one without",
        ),
        (
            lambda: fit_empirical(GROUPED, groups=np.ones(600)),
            "groups is given without a guard or confidence",
        ),
        (
            lambda: fit_empirical(GROUPED, guard="shrink", groups=np.ones(600)),
            "groups is array.* beside a source that has some, expected None",
        ),
        (
            lambda: thresholds.fit(WEIGHTED, sample_weight=np.ones(600)),
            "sample_weight is array.* beside a source that has some, expected None",
        ),
        (lambda: fit_empirical(GATHERED, missing=-2.0), "missing is -2.0 beside gathered rows that have -1.0"),
        (lambda: fit_empirical(GATHERED, unknown=-1), "unknown is -1 beside gathered rows that have -9"),
        (lambda: fit_empirical(GATHERED, missing=np.zeros(2)), r"missing is array\(.*\), expected a number"),
        (lambda: fit_empirical(GATHERED, unknown=np.zeros(2)), r"unknown is array\(.*\), expected 'nan', a number"),
        (lambda: fit_empirical(GATHERED, label_names="abc"), "label_names is 'abc', expected strings in a list"),
        (lambda: fit_empirical(GATHERED, label_names=list("abc")), r"label_names is \('a', 'b', 'c'\) beside gathered"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        call()


def test_groups_of_a_source_are_left_out_where_nothing_looks_at_them() -> None:
    for call in ("diagnose", "calibrate", "fit_empirical"):
        function = CALLS[call] if call != "fit_empirical" else lambda *rows: bits(fit_empirical(*rows))
        assert function(GROUPED) == function(Y_TRUE, Y_SCORE)
    assert bits(thresholds.fit(GROUPED, rule="micro, in-sample")) == bits(
        thresholds.fit(Y_TRUE, Y_SCORE, "micro, in-sample")
    )
    folds = np.arange(600) % 3
    found = thresholds.cross_fit(GROUPED, cv=folds, guard=None)
    assert found.to_dict() == thresholds.cross_fit(Y_TRUE, Y_SCORE, cv=folds, guard=None).to_dict()
    groups = GROUPED["groups"]
    made = thresholds.cross_fit(GROUPED, cv=3, guard=None)
    assert made.folds.tolist() == thresholds.multilabel_folds(Y_TRUE, 3, groups=groups).tolist()


@pytest.mark.parametrize("unknown", ["nan", -9, float("nan")])
def test_what_was_said_of_rows_may_be_said_again(unknown: Any) -> None:
    stands_for = -9 if unknown == -9 else np.nan
    y_true = np.where(np.random.default_rng(1).random(Y_TRUE.shape) < 0.1, stands_for, Y_TRUE)
    expected = fit_empirical(y_true, Y_SCORE, unknown=unknown)
    for source in ((y_true, Y_SCORE), Blocks((y_true, Y_SCORE), 100)):
        rows = gather(source, unknown=unknown)
        for again in (unknown, None, rows.unknown):
            assert bits(fit_empirical(rows, unknown=again)) == bits(expected)
        with pytest.raises(InputError, match=r"^unknown is -8 beside gathered rows"):
            fit_empirical(rows, unknown=-8)


@pytest.mark.parametrize(
    "call",
    [
        lambda source: fit_empirical(source, beta=-1),
        lambda source: thresholds.fit(source, rule="macroo"),
        lambda source: thresholds.cross_fit(source, average="micro", guard="shrink"),
        lambda source: thresholds.diagnose(source),
        lambda source: thresholds.compare(["macroo"], source),
        lambda source: thresholds.calibrate(source, method="plat"),
        lambda source: thresholds.calibrate(source, n_jobs="two"),
        lambda source: thresholds.calibrate(source, progress=1),
        lambda source: fit_empirical(source, missing="x"),
    ],
)
def test_options_are_checked_before_rows_are_read(call: Callable[[Any], Any]) -> None:
    def unread() -> Any:
        raise AssertionError("nothing is read")

    with pytest.raises(InputError):
        call(unread)


def test_python_says_what_is_wrong_with_a_call() -> None:
    with pytest.raises(TypeError, match=r"^fit_empirical\(\) missing 1 required positional argument: 'y_true'$"):
        fit_empirical()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^fit_empirical\(\) got an unexpected keyword argument 'averge'"):
        fit_empirical(BLOCKS, averge="micro")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^calibrate\(\) got multiple values for argument 'y_true'$"):
        thresholds.calibrate(BLOCKS, y_true=BLOCKS)  # type: ignore[misc]


def test_what_a_function_is_called_with_is_seen_as_before() -> None:
    assert str(thresholds.cross_fit.__doc__).startswith("Fit a rule, and estimate")
    assert pickle.loads(pickle.dumps(thresholds.compare)) is thresholds.compare
    with pytest.raises(TypeError, match="unexpected keyword"):
        thresholds.calibrate(BLOCKS, beta=2)  # type: ignore[call-arg]


@pytest.mark.parametrize("said", [("nan", -1), ["nan", -9], {-3, "nan"}], ids=["tuple", "list", "set"])
def test_several_things_stand_for_truth_that_is_not_known(said: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random((60, 3)) < 0.4).astype(float)
    scores = rng.random((60, 3))
    hidden = rng.random((60, 3)) < 0.3
    (number,) = (one for one in said if one != "nan")
    one_thing = np.where(hidden, -1, truth)
    y_true = np.where(hidden, np.where(rng.random((60, 3)) < 0.5, np.nan, number), truth)
    np.savez(tmp_path / "rows.npz", y_true=y_true, y_score=scores)
    expected = fit_empirical(one_thing, scores, unknown=-1)
    sources = [tmp_path / "rows.npz", lambda: iter([(y_true[:25], scores[:25]), (y_true[25:], scores[25:])])]
    for source in sources:
        assert bits(fit_empirical(source, unknown=said)) == bits(expected)
        rows = gather(source, unknown=said)
        for again in (None, said, tuple(said)):
            assert bits(fit_empirical(rows, unknown=again)) == bits(expected)
