"""Cells whose truth is not known belong to nobody, in every function that takes truth.

Three claims. What is in such a cell, in the truth or in the scores, changes nothing. What is said of a label is, to the
last bit, what is said of its known rows alone. What is said of all labels, or of rows, counts known cells only: that is
held to a twin whose hidden cells are scored -inf and false, and so true and predicted nowhere.
"""

import inspect
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from thresholds import metrics
from thresholds.calibration import calibrate

pytestmark = pytest.mark.each_value

Matrix = Any
Function = Callable[..., Any]

N_ROWS = 160
N_LABELS = 4


def drawn(seed: int, n_rows: int = N_ROWS, n_labels: int = N_LABELS) -> tuple[Matrix, Matrix, Matrix]:
    """Truth, scores with ties, and which cells are hidden, all of one row among them."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n_rows, n_labels)) < np.linspace(0.4, 0.1, n_labels)).astype(np.int8)
    scores = np.clip(0.3 * truth + 0.7 * rng.random((n_rows, n_labels)), 0.01, 0.99)
    hidden = rng.random((n_rows, n_labels)) < 0.3
    hidden[5] = True
    return truth, np.round(scores, 2).astype(np.float32), hidden


TRUTH, SCORES, HIDDEN = drawn(0)
Y = np.where(HIDDEN, np.nan, TRUTH)
OTHER, OTHER_SCORES, _ = drawn(1)


def old_rule() -> Any:
    return thresholds.cross_fit(OTHER, OTHER_SCORES).rule


def two_rules() -> Any:
    return {
        "fitted": thresholds.fit(OTHER, OTHER_SCORES, "macro, in-sample"),
        "fixed": thresholds.FixedRule(0.5, N_LABELS),
    }


def decided(scores: Any) -> Any:
    return (scores >= 0.5).astype(np.uint8)


# Each function as one of truth and scores. Rules that are no thresholds decide row by row, or ask for no truth: what
# they decide of a known cell depends on all scores.
LOOK_AT_ALL_SCORES = {
    name for name in thresholds.RULES if "label-free" in name or name.startswith(("instance", "top-k"))
}
AVERAGES = ("micro", "macro", "weighted", "samples", "f_of_averages", None)

FUNCTIONS: dict[str, Function] = {
    **{
        f"fit {name}": lambda y, s, name=name, **given: thresholds.fit(y, s, name, **given)
        for name in thresholds.RULES
        if name not in LOOK_AT_ALL_SCORES
    },
    "fit_empirical": thresholds.fit_empirical,
    "fit_empirical, limits": lambda y, s, **given: thresholds.fit_empirical(y, s, min_precision=0.6, **given),
    "fit_empirical, promises": lambda y, s, **given: thresholds.fit_empirical(
        y, s, min_recall=0.5, min_precision=0.3, confidence=0.8, **given
    ),
    "fit_empirical, promises of groups": lambda y, s, **given: thresholds.fit_empirical(
        y, s, min_recall=0.5, confidence=0.8, groups=np.arange(N_ROWS) // 2, **given
    ),
    "fit_empirical, promise of micro": lambda y, s, **given: thresholds.fit_empirical(
        y, s, "micro", min_precision=0.3, confidence=0.8, **given
    ),
    "fit_empirical, promise of rows": lambda y, s, **given: thresholds.fit_empirical(
        y, s, "samples", per_label=False, min_recall=0.3, confidence=0.8, **given
    ),
    "fit_empirical, promise of rows of groups": lambda y, s, **given: thresholds.fit_empirical(
        y,
        s,
        "samples",
        per_label=False,
        min_precision=0.3,
        confidence=0.8,
        groups=np.arange(N_ROWS) // 3,
        **given,
    ),
    "fit_empirical, budget": lambda y, s, **given: thresholds.fit_empirical(y, s, max_predicted=80, **given),
    "fit_empirical, micro budget": lambda y, s, **given: thresholds.fit_empirical(
        y, s, "micro", max_predicted=80, **given
    ),
    "fit_regions": lambda y, s, **given: thresholds.fit_regions(y, s, posterior="isotonic", **given),
    "cross_fit": lambda y, s, **given: thresholds.cross_fit(y, s, alternatives=True, **given),
    "cross_fit micro": lambda y, s, **given: thresholds.cross_fit(y, s, "micro", **given),
    "select_rule": lambda y, s, **given: thresholds.select_rule(
        y, s, rules=["macro, shrink", "macro, shared"], **given
    ),
    "update_rule": lambda y, s, **given: thresholds.update_rule(old_rule(), y, s, **given),
    "keep_odds": lambda y, s, **given: thresholds.keep_odds(thresholds.fit_empirical(y, s, **given), y, s, **given),
    "bootstrap_thresholds": lambda y, s, **given: thresholds.bootstrap_thresholds(y, s, n_bootstraps=9, **given),
    "diagnose": lambda y, s, **given: thresholds.diagnose(y, s, two_rules()["fitted"], **given),
    "plan_annotation": lambda y, s, **given: thresholds.plan_annotation(y, s, n_bootstraps=9, **given),
    "compare": lambda y, s, **given: thresholds.compare(two_rules(), y, s, **given),
    "compare, fitted": lambda y, s, **given: thresholds.compare(["macro", "micro, pool"], y, s, **given),
    **{
        f"calibrate {method} {by}": lambda y, s, method=method, by=by, **given: calibrate(y, s, method, by, **given)
        for method, by in product(("isotonic", "platt"), ("label", "pooled", "shrink"))
    },
    "measure_calibration": thresholds.measure_calibration,
    "multilabel_folds": lambda y, s, **given: thresholds.multilabel_folds(y, **given),
    "auroc": metrics.auroc,
    "macro_auroc": metrics.macro_auroc,
    **{
        f"{name} {average}": lambda y, s, name=name, average=average, **given: getattr(metrics, name)(
            y, decided(s), average=average, zero_division=0, **given
        )
        for name, average in product(("f1_score", "precision_score", "recall_score"), AVERAGES)
    },
    **{
        name: lambda y, s, name=name, **given: getattr(metrics, name)(y, decided(s), **given)
        for name in (
            "accuracy_score",
            "averages_report",
            "confusion_counts",
            "macro_skill_score",
            "multilabel_accuracy",
            "skill_score",
        )
    },
}

# What a rule keeps of the scores of its fit, all of them: another batch is held against it, whatever is known of that.
ABOUT_SCORES = ("profile", "quantiles")


def plain(value: Any) -> Any:
    """Return a result as plain values, to be compared to the last bit."""
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name not in ABOUT_SCORES}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return plain(asdict(value)) if is_dataclass(value) else value


def same(one: Any, other: Any) -> bool:
    return repr(plain(one)) == repr(plain(other))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_in_an_unknown_cell_changes_nothing(name: str) -> None:
    """Neither how it is said, nor the score there; but the hidden truth, made known, does change something."""
    function = FUNCTIONS[name]
    found = function(Y, SCORES, unknown="nan")
    assert same(function(np.where(HIDDEN, -1, TRUTH), SCORES, unknown=-1), found)
    in_two_ways = np.where(HIDDEN & (np.arange(N_ROWS) % 2 == 0)[:, np.newaxis], -1, Y)
    assert same(function(in_two_ways, SCORES, unknown=("nan", -1)), found)
    flipped = np.where(HIDDEN, 1 - SCORES, SCORES).astype(np.float32)
    assert same(function(Y, flipped, unknown="nan"), found)


@pytest.mark.parametrize("name", ["fit macro, shrink", "fit micro, pool", "cross_fit", "calibrate platt shrink"])
def test_so_it_is_with_weights(name: str) -> None:
    function, weights = FUNCTIONS[name], np.random.default_rng(0).random(N_ROWS)
    found = function(Y, SCORES, unknown="nan", sample_weight=weights)
    flipped = np.where(HIDDEN, 1 - SCORES, SCORES).astype(np.float32)
    codes = np.where(HIDDEN, -1, TRUTH)
    assert same(function(codes, flipped, unknown=-1, sample_weight=weights), found)


@pytest.mark.parametrize("unknown", [None, "nan"])
def test_weights_of_many_labels_add_up(unknown: str | None) -> None:
    """Weights are whole numbers of a small unit, whose sums over all labels no 64 bits hold."""
    rng = np.random.default_rng(1)
    truth = np.tile(Y if unknown else TRUTH, 300).astype(np.float32)
    scores = rng.random(truth.shape, np.float32)
    weights = rng.random(N_ROWS)
    rule = thresholds.fit_empirical(truth, scores, "micro", unknown=unknown, sample_weight=weights)
    predicted = rule.predict(scores)
    assert rule.objective == metrics.f1_score(truth, predicted, average="micro", unknown=unknown, sample_weight=weights)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_capped_rows_count_known_cells(average: str) -> None:
    """Which labels of a row come first depends on all its scores; what that reaches is counted in known cells."""
    rule = thresholds.fit_empirical(Y, SCORES, average, max_predicted_per_row=1, unknown="nan")
    codes = np.where(HIDDEN, -1, TRUTH)
    assert same(thresholds.fit_empirical(codes, SCORES, average, max_predicted_per_row=1, unknown=-1), rule)
    predicted = rule.predict(SCORES)
    assert predicted.sum(axis=1).max() == 1
    assert rule.objective == metrics.f1_score(Y, predicted, average=average, unknown="nan")


@pytest.mark.parametrize("name", sorted(LOOK_AT_ALL_SCORES))
def test_rules_that_look_at_all_scores(name: str) -> None:
    """What they reach is counted in known cells all the same."""
    found = thresholds.fit(Y, SCORES, name, unknown="nan")
    assert same(thresholds.fit(np.where(HIDDEN, -1, TRUTH), SCORES, name, unknown=-1), found)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith(("fit", "calibrate"))])
def test_scores_of_any_scale_in_unknown_cells(name: str) -> None:
    """Whether scores are probabilities is asked of known cells; a curve of probabilities is read nowhere else."""
    if name.startswith("fit") and name.endswith("platt"):
        with pytest.raises(thresholds.InputError, match=r"y_score has 7.0 at row .*, expected scores in \[0, 1\]"):
            FUNCTIONS[name](Y, np.where(HIDDEN, 7, SCORES), unknown="nan")
        return
    function = FUNCTIONS[name]
    far = np.where(HIDDEN, 7, SCORES).astype(np.float32)
    found = function(Y, SCORES, unknown="nan")
    assert same(function(Y, far, unknown="nan"), found)


@pytest.mark.parametrize(
    "name", ["fit_empirical", "fit macro, shrink", "fit micro, pool", "cross_fit", "compare", "auroc"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_say_the_same(name: str, weighted: bool) -> None:
    function = FUNCTIONS[name]
    given = {"sample_weight": np.arange(N_ROWS) % 3} if weighted else {}
    y_true = sparse.csr_array(np.where(HIDDEN, -1, TRUTH))
    found = plain(
        function(y_true, sparse.csr_array(SCORES), unknown=-1, missing=0.0, **given)
        if name != "compare"
        else function(y_true, sparse.csr_array(SCORES), unknown=-1, **given)
    )
    expected = plain(function(Y, SCORES, unknown="nan", **given))
    if name == "compare":
        expected, found = (value["measures"] for value in (expected, found))
    if isinstance(found, dict):
        for value in (found, expected):
            value.pop("made_by", None)
            value.pop("rule", None)
    assert repr(found) == repr(expected)


# Of a label: what is said of its known rows alone


def by_label(table: Any, label: int, *names: str) -> list[Any]:
    return [plain(table[name][label]) for name in names]


GRID = np.linspace(0, 1, 31)[:, np.newaxis]
PER_LABEL: dict[str, Callable[..., Any]] = {
    "thresholds": lambda y, s, label, **given: thresholds.fit(y, s, "macro, in-sample", **given).thresholds[label],
    "limits": lambda y, s, label, **given: thresholds.fit_empirical(y, s, min_recall=0.7, **given).thresholds[label],
    "regions": lambda y, s, label, **given: thresholds.fit_regions(y, s, **given).switches[label],
    "isotonic": lambda y, s, label, **given: calibrate(y, s, "isotonic", "label", **given).transform(
        np.repeat(GRID, y.shape[1], axis=1)
    )[:, label],
    "platt": lambda y, s, label, **given: calibrate(y, s, "platt", "label", **given).transform(
        np.repeat(GRID, y.shape[1], axis=1)
    )[:, label],
    "auroc": lambda y, s, label, **given: np.atleast_1d(metrics.auroc(y, s, **given))[label],
    "f1": lambda y, s, label, **given: metrics.f1_score(y, decided(s), average=None, **given)[label],
    "skill": lambda y, s, label, **given: metrics.skill_score(y, decided(s), **given)[label],
    "counts": lambda y, s, label, **given: [
        getattr(metrics.confusion_counts(y, decided(s), **given), name)[label] for name in ("tp", "fp", "fn", "tn")
    ],
}
PROMISES = {"min_recall": 0.5, "min_precision": 0.3, "confidence": 0.8}
UNWEIGHTED: dict[str, Callable[..., Any]] = {
    "tests": lambda y, s, label, **given: by_label(
        thresholds.diagnose(y, s, thresholds.FixedRule(0.5, y.shape[1]), **given).table,
        label,
        *(
            "n_positives",
            "base_rate",
            "predicted_positive",
            "predicted_rate",
            "precision",
            "f",
            "f_predict_all",
            "lift",
        ),
        *("auroc", "best_f", "p_informative", "p_uninformative", "p_backwards", "f_low", "f_high", "bar"),
    ),
    "promise": lambda y, s, label, **given: thresholds.fit_empirical(y, s, **PROMISES, **given).thresholds[label],
    "verdict": lambda y, s, label, **given: by_label(
        thresholds.diagnose(y, s, thresholds.FixedRule(0.5, y.shape[1]), **given).verdicts.table,
        label,
        *("p_usable", "p_weak", "p_missed", "top_predicted", "top_tp"),
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PER_LABEL)
def test_a_label_is_that_of_its_known_rows(name: str, weighted: bool) -> None:
    function = PER_LABEL[name]
    weights = np.arange(N_ROWS) % 4 if weighted else None
    for label in range(N_LABELS):
        rows = ~HIDDEN[:, label]
        found = function(Y, SCORES, label, unknown="nan", sample_weight=weights)
        own = function(
            TRUTH[rows][:, [label]],
            SCORES[rows][:, [label]],
            0,
            sample_weight=None if weights is None else weights[rows],
        )
        assert same(found, own)


@pytest.mark.parametrize("name", UNWEIGHTED)
def test_a_label_is_tested_on_its_known_rows(name: str) -> None:
    function = UNWEIGHTED[name]
    for label in range(N_LABELS):
        rows = ~HIDDEN[:, label]
        own = function(TRUTH[rows][:, [label]], SCORES[rows][:, [label]], 0)
        assert same(function(Y, SCORES, label, unknown="nan"), own)


def test_the_bootstrap_of_a_label_is_that_of_its_known_rows() -> None:
    """Draws depend on the place of a label, so the first label is held to its own."""
    rows = ~HIDDEN[:, 0]
    found = thresholds.bootstrap_thresholds(Y, SCORES, n_bootstraps=9, unknown="nan").table
    own = thresholds.bootstrap_thresholds(TRUTH[rows, 0], SCORES[rows, 0], n_bootstraps=9).table
    assert plain(found[0])[1:] == plain(own[0])[1:]


def test_the_folds_of_a_label_are_fitted_on_its_known_rows() -> None:
    folds = np.arange(N_ROWS) % 4
    found = thresholds.cross_fit(Y, SCORES, guard=None, cv=folds, unknown="nan")
    for label in range(N_LABELS):
        rows = ~HIDDEN[:, label]
        own = thresholds.cross_fit(TRUTH[rows, label], SCORES[rows, label], guard=None, cv=folds[rows])
        assert found.fold_thresholds[:, label].tolist() == own.fold_thresholds[:, 0].tolist()
        assert found.spread["f_out_of_fold"][label] == own.spread["f_out_of_fold"][0]
        assert found.spread["predicted_most"][label] == own.spread["predicted_most"][0]
        of_label, of_own = (rule.odds.to_dict() for rule in (found.rule, own.rule))
        assert [of_label[name][label] for name in ("at", "level", "slope")] == [
            of_own[name][0] for name in ("at", "level", "slope")
        ]


# Of all labels, and of rows


def test_micro_is_the_best_of_all_ways_to_cut_the_known_cells() -> None:
    truth, scores, hidden = drawn(2, 12, 3)
    rule = thresholds.fit(np.where(hidden, -1, truth), scores, "micro, in-sample", unknown=-1)
    best = 0.0
    for cuts in product(*(np.append(np.unique(column), np.inf) for column in scores.T)):
        predicted = (scores >= np.array(cuts)) & ~hidden
        n = predicted.sum() + (truth * ~hidden).sum()
        best = max(best, 2 * (predicted & (truth == 1)).sum() / n)
    assert rule.objective == best


@pytest.mark.parametrize("k_rows", [40])
def test_top_k_is_the_best_of_all_k(k_rows: int) -> None:
    truth, scores, hidden = drawn(3, k_rows, 6)
    rule = thresholds.fit_top_k(np.where(hidden, -1, truth), scores, unknown=-1)
    reached = []
    for k in range(7):
        predicted = thresholds.TopKRule(k).predict(scores)
        f = [
            2 * (p & t).sum() / (p.sum() + t.sum()) if p.sum() + t.sum() else 0.0
            for p, t in ((p[~h], t[~h]) for p, t, h in zip(predicted, truth, hidden, strict=True) if not h.all())
        ]
        reached.append(np.mean(f))
    assert rule.k == int(np.argmax(reached))
    assert rule.objective == pytest.approx(max(reached), abs=1e-15)


def test_means_over_rows_are_those_of_rows_with_a_known_cell() -> None:
    """Each row's F is that of its known labels; a row without any is not there."""
    predicted = decided(SCORES)
    f = [
        metrics.f1_score(t[np.newaxis, ~h], p[np.newaxis, ~h], average="micro", zero_division=0)
        for t, p, h in zip(TRUTH, predicted, HIDDEN, strict=True)
        if not h.all()
    ]
    assert metrics.f1_score(Y, predicted, average="samples", unknown="nan", zero_division=0) == np.mean(f)
    assert metrics.accuracy_score(Y, predicted, unknown="nan") == np.mean(
        [(t[~h] == p[~h]).all() for t, p, h in zip(TRUTH, predicted, HIDDEN, strict=True) if not h.all()]
    )


def test_a_row_without_a_known_cell_is_not_there() -> None:
    """Nor is it a unit that intervals leave out."""
    known = ~HIDDEN.all(axis=1)
    rules = two_rules()
    found = thresholds.compare(rules, Y, SCORES, unknown="nan")
    own = thresholds.compare(rules, Y[known], SCORES[known], unknown="nan")
    assert same(found.measures, own.measures)
    assert same(found.differences, own.differences)


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_count_known_cells(grouped: bool) -> None:
    """As where hidden cells are false, and scored so that no rule predicts them."""
    known = ~HIDDEN.all(axis=1)
    groups = (np.arange(N_ROWS) // 3)[known] if grouped else None
    rules = two_rules()
    found = thresholds.compare(rules, Y[known], SCORES[known], unknown="nan", groups=groups)
    masked = np.where(HIDDEN, -np.inf, SCORES)[known].astype(np.float32)
    twin = thresholds.compare(rules, np.where(HIDDEN, 0, TRUTH)[known], masked, groups=groups)
    for one, other in zip(found.measures, twin.measures, strict=True):
        assert same(one.intervals, other.intervals)
        assert [one.micro, one.macro, one.weighted, one.samples] == [
            other.micro,
            other.macro,
            other.weighted,
            other.samples,
        ]
    assert same(found.differences, twin.differences)


def test_vectors_of_classes_lose_their_unknown_rows() -> None:
    predicted = ["cat", "dog", "dog", "cat"]
    found = metrics.f1_score(["cat", None, "dog", "dog"], predicted, average="macro", unknown="nan")
    assert found == metrics.f1_score(["cat", "dog", "dog"], ["cat", "dog", "cat"], average="macro")
    assert metrics.f1_score([1, -1, 0, 1], [1, 1, 1, 1], unknown=-1) == metrics.f1_score([1, 0, 1], [1, 1, 1])
    with pytest.raises(thresholds.InputError, match="y_true has no known cell"):
        metrics.f1_score([-1, -1], [1, 1], unknown=-1)


def test_counts_of_chunks_add_up() -> None:
    predicted = decided(SCORES)
    parts = [metrics.confusion_counts(Y[rows], predicted[rows], unknown="nan") for rows in (slice(60), slice(60, None))]
    whole = metrics.confusion_counts(Y, predicted, unknown="nan")
    assert (sum(parts).tn == whole.tn).all()
    assert (whole.tp + whole.fp + whole.fn + whole.tn == (~HIDDEN).sum(axis=0)).all()
    assert whole.pooled().accuracy()[0] == ((predicted == TRUTH) & ~HIDDEN).sum() / (~HIDDEN).sum()


# A label or a row with nothing known is legal


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_label_without_a_known_row(name: str) -> None:
    y_true = Y.copy()
    y_true[:, 2] = np.nan
    FUNCTIONS[name](y_true, SCORES, unknown="nan")


@pytest.mark.parametrize("label", range(N_LABELS))
def test_such_a_label_is_tested_beside_others(label: int) -> None:
    """Wherever it stands: first, last, or between others, whose figures stay what they were."""
    y_true = Y.copy()
    y_true[:, label] = np.nan
    found = thresholds.diagnose(y_true, SCORES, two_rules()["fixed"], unknown="nan").table
    whole = thresholds.diagnose(Y, SCORES, two_rules()["fixed"], unknown="nan").table
    assert found["n_rows"][label] == found["n_positives"][label] == 0
    assert np.isnan([found[name][label] for name in ("base_rate", "auroc", "best_f")]).all()
    for name in ("n_rows", "f", "auroc", "best_f"):
        assert np.delete(found[name], label).tolist() == np.delete(whole[name], label).tolist()


def test_such_a_label_is_unsupported() -> None:
    y_true = Y.copy()
    y_true[:, 2] = np.nan
    rule = thresholds.fit(y_true, SCORES, "macro, in-sample", unknown="nan")
    assert rule.unsupported.tolist() == [False, False, True, False]
    assert rule.thresholds[2] == np.inf
    assert np.isnan(metrics.auroc(y_true, SCORES, unknown="nan")[2])


# Every function has the option


def test_every_function_that_takes_truth_takes_the_option() -> None:
    public = [getattr(thresholds, name) for name in thresholds.__all__]
    public += [getattr(metrics, name) for name in metrics.__all__]
    without = set()
    for function in public:
        if not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters
        if "y_true" in parameters and "unknown" not in parameters:
            without.add(function.__name__)
    assert not without


# What a rule keeps of its fit


def test_a_rule_keeps_in_how_many_rows_each_label_was_known() -> None:
    rule = thresholds.fit(Y, SCORES, "macro, in-sample", unknown="nan")
    known = (~HIDDEN).sum(axis=0)
    assert rule.fitted_on.known.tolist() == known.tolist()
    assert rule.fitted_on.base_rates.tolist() == (np.where(HIDDEN, 0, TRUTH).sum(axis=0) / known).tolist()
    turned = rule.reordered(np.array([3, 2, 1, 0])).fitted_on
    assert turned.known.tolist() == rule.fitted_on.known[::-1].tolist()
    assert type(turned).from_dict(turned.to_dict()) == turned
    assert "known" not in thresholds.fit(TRUTH, SCORES, "macro, in-sample").fitted_on.to_dict()


def test_rows_of_its_own_fit_are_recognised() -> None:
    rule = thresholds.fit(Y, SCORES, "macro, in-sample", unknown="nan")
    assert thresholds.diagnose(Y, SCORES, rule, unknown="nan").verdicts.on_own_rows
    assert not thresholds.diagnose(np.where(HIDDEN, 0, TRUTH), SCORES, rule).verdicts.on_own_rows


def test_too_few_rows_to_make_folds_of_are_those_that_count() -> None:
    y_true = np.full(TRUTH.shape, np.nan)
    y_true[7] = TRUTH[7]
    message = "y_true has 1 row of positive weight with a known cell, expected at least cv=5"
    with pytest.raises(thresholds.InputError, match=message):
        thresholds.cross_fit(y_true, SCORES, unknown="nan")


def test_decisions_out_of_fold_are_about_the_rows_with_a_known_cell() -> None:
    kept = thresholds.cross_fit(Y, SCORES, unknown="nan").rule.out_of_fold.by_label
    assert kept.n_samples == (~HIDDEN.all(axis=1)).sum()
