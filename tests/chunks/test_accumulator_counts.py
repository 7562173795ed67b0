"""`Accumulator` that keeps counts: the same rule where they are exact, and a bounded loss where they are in bins."""

import copy
import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.cases import Case, small_cases
from thresholds import Accumulator, InputError, fit_empirical
from thresholds.chunks import accumulator as module
from thresholds.training.epoch import EpochFit

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]

FITS: list[dict[str, object]] = [
    {"average": "macro"},
    {"average": "weighted", "beta": 2.0},
    {"average": "micro", "placement": "mid"},
    {"average": "macro", "zero_division": 1.0, "placement": "score"},
]
GUARDED: list[dict[str, object]] = [
    {"average": "macro", "guard": "auto"},
    {"average": "weighted", "guard": "shrink", "max_overprediction": 2.0},
    {"average": "micro", "guard": "pool"},
    {"average": "macro", "min_precision": 0.2, "min_recall": 0.1},
    {"average": "macro", "min_recall": 0.3, "confidence": 0.9},
    {"average": "micro", "max_predicted": 700},
    {"average": "micro", "per_label": False},
]
N_ROWS, N_LABELS = 600, 12


def rows_of(dtype: str = "float32", seed: int = 7) -> tuple[Array, Array, Array]:
    """Truth, scores and weights, the last label without positives."""
    rng = np.random.default_rng(seed)
    y_true = (rng.random((N_ROWS, N_LABELS)) < np.geomspace(0.01, 0.4, N_LABELS)).astype(np.uint8)
    y_true[:, -1] = 0
    y_score = (rng.normal(size=y_true.shape) + 1.5 * y_true).astype(dtype)
    return y_true, y_score, rng.integers(0, 4, N_ROWS)


def filled(y_true: Any, y_score: Any, weights: Array | None = None, **about: Any) -> Accumulator:
    """All rows in batches of 90."""
    rows = Accumulator(**about)
    for first in range(0, N_ROWS, 90):
        part = slice(first, first + 90)
        rows.update(y_true[part], y_score[part], None if weights is None else weights[part])
    return rows


@pytest.fixture(autouse=True)
def _counted_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cells wait to be counted."""
    monkeypatch.setattr(module, "_MANY_CELLS", 1000)


def without_sampled_rows(rule: thresholds.ThresholdRule) -> dict[str, Any]:
    """All of a rule but what describes a sample of the rows."""
    values = rule.to_dict()
    values.pop("profile")
    values["fitted_on"].pop("quantiles")
    return values


# Exact counts


@pytest.mark.parametrize("fit", FITS, ids=str)
@pytest.mark.parametrize("form", ["float32", "float16", "weighted", "sparse", "unknown"])
def test_exact_counts_give_the_rule_of_the_rows(form: str, fit: dict[str, Any]) -> None:
    y_true, y_score, drawn = rows_of("float16" if form == "float16" else "float32")
    about: dict[str, Any] = {"missing": -1.0, "unknown": -1}
    weights = drawn if form == "weighted" else None
    if form == "sparse":
        y_score = sparse.csr_array(np.maximum(y_score - 0.5, 0))
    if form == "unknown":
        y_true = np.where(np.random.default_rng(0).random(y_true.shape) < 0.2, -1, y_true.astype(np.int8))
    found = filled(y_true, y_score, weights, keep="counts", **about)
    whole = fit_empirical(y_true, y_score, sample_weight=weights, **about, **fit)
    assert without_sampled_rows(found.compute(**fit)) == without_sampled_rows(whole)
    shared = {name: value for name, value in fit.items() if name != "placement"}
    assert found.bound(**shared) == whole.objective


@pytest.mark.parametrize("fit", GUARDED, ids=str)
def test_exact_counts_keep_guards_limits_and_promises(fit: dict[str, Any]) -> None:
    y_true, y_score, _ = rows_of()
    found = filled(y_true, y_score, keep="counts").compute(**fit)
    assert without_sampled_rows(found) == without_sampled_rows(fit_empirical(y_true, y_score, **fit))


@pytest.mark.each_value(case=20)
@pytest.mark.parametrize("case", list(small_cases(60, seed=12)), ids=str)
def test_exact_counts_of_small_cases(case: Case) -> None:
    rows = Accumulator(keep="counts")
    middle = len(case.y_true) // 2
    for part in (slice(middle), slice(middle, None)):
        rows.update(case.y_true[part], case.y_score[part])
    found = rows.compute(beta=case.beta, zero_division=case.zero_division)
    whole = fit_empirical(case.y_true, case.y_score, beta=case.beta, zero_division=case.zero_division)
    np.testing.assert_array_equal(found.thresholds.view(np.int64), whole.thresholds.view(np.int64))
    assert found.objective == whole.objective


def test_half_precision_is_kept_in_little() -> None:
    y_true, y_score, _ = rows_of("float16")
    scores = np.tile(y_score.round(1), (40, 1))
    rows = Accumulator(keep="counts")
    rows.update(np.tile(y_true, (40, 1)), scores)
    rows.compute()
    n_scores = sum(np.unique(column).size for column in scores.T)
    assert rows.nbytes < 30 * n_scores + 1000
    assert rows.nbytes < scores.nbytes / 4


# Bins


@pytest.mark.parametrize("fit", FITS, ids=str)
@pytest.mark.parametrize("n_bins", [2, 8, 64])
@pytest.mark.parametrize("form", ["float32", "float64", "float16", "int8", "weighted", "sparse"])
def test_the_objective_is_what_the_rule_reaches_and_the_bound_is_kept(
    form: str, n_bins: int, fit: dict[str, Any]
) -> None:
    y_true, y_score, drawn = rows_of(form if form in ("float64", "float16") else "float32")
    weights = drawn if form == "weighted" else None
    if form == "int8":
        y_score = (20 * y_score).clip(-128, 127).astype(np.int8)
    if form == "sparse":
        y_score = sparse.csr_array(np.maximum(y_score, 0))
    rows = filled(y_true, y_score, weights, exact=False, n_bins=n_bins)
    rule = rows.compute(**fit)
    reached = thresholds.metrics.fbeta_score(
        y_true,
        rule.predict(y_score, dense=True),
        beta=fit.get("beta", 1.0),
        average=fit["average"],
        sample_weight=weights,
        zero_division=fit.get("zero_division", 0.0),
    )
    whole = fit_empirical(y_true, y_score, sample_weight=weights, **fit)
    shared = {name: value for name, value in fit.items() if name != "placement"}
    assert rule.objective == reached
    assert rule.objective <= whole.objective <= rows.bound(**shared) + 1e-15
    assert rule.thresholds.shape == (N_LABELS,)


@pytest.mark.parametrize("placement", ["low", "mid", "score"])
@pytest.mark.parametrize("guard", [{"guard": "shrink"}, {"guard": "auto", "max_overprediction": 2.0}])
def test_guards_move_thresholds_between_bins(guard: dict[str, Any], placement: str) -> None:
    y_true, y_score, _ = rows_of()
    rule = filled(y_true, y_score, exact=False, n_bins=16).compute("macro", placement=placement, **guard)
    decided = rule.predict(y_score)
    assert rule.objective == thresholds.metrics.f1_score(y_true, decided, average="macro", zero_division=0)
    report = rule.guard_report
    assert report is not None
    np.testing.assert_array_equal(report.predicted_after, decided.sum(axis=0))
    np.testing.assert_array_equal(report.guarded, rule.thresholds)
    before = thresholds.ThresholdRule(report.unguarded).predict(y_score)
    np.testing.assert_array_equal(report.predicted_before, before.sum(axis=0))


def test_more_bins_lose_less_and_enough_of_them_nothing() -> None:
    y_true, y_score, _ = rows_of()
    losses = []
    for n_bins in (4, 32, 256, 4096):
        rows = filled(y_true, y_score, exact=False, n_bins=n_bins)
        losses.append(rows.bound() - rows.compute().objective)
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 0.05
    assert losses[-1] == 0
    assert filled(y_true, y_score, exact=False).compute().objective == fit_empirical(y_true, y_score).objective


def test_memory_does_not_grow_with_rows() -> None:
    y_true, y_score, _ = rows_of()
    rng = np.random.default_rng(1)
    rows = Accumulator(exact=False, n_bins=32)
    sizes = []
    for _ in range(8):
        rows.update(y_true, y_score + rng.normal(size=y_score.shape).astype(np.float32))
        rows.compute()
        sizes.append(rows.nbytes)
    assert max(sizes) <= 24 * 32 * N_LABELS + 1000
    assert len(pickle.dumps(rows)) < max(sizes) + 2000


def test_rows_that_wait_are_as_many_as_there_are_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    y_true, y_score, _ = rows_of()
    counted = []
    count = Accumulator._count

    def noted(rows: Accumulator) -> None:
        counted.append(len(rows))
        count(rows)

    monkeypatch.setattr(Accumulator, "_count", noted)
    filled(y_true, y_score, keep="counts")
    assert counted == [90, 180, 360]  # 1,080 cells at first, then as many as there are distinct scores


# Ranks


@pytest.mark.parametrize("about", [{"keep": "counts"}, {"exact": False, "n_bins": 16}], ids=str)
def test_ranks_merge_in_any_order(about: dict[str, Any]) -> None:
    y_true, y_score, weights = rows_of()
    whole = filled(y_true, y_score, weights, **about)
    expected = whole.compute("micro").to_dict()
    ranks = []
    for rank in range(3):
        rows = Accumulator(**about)
        for part in np.array_split(np.arange(rank, N_ROWS, 3), 4):
            rows.update(y_true[part], y_score[part], weights[part])
        ranks.append(pickle.loads(pickle.dumps(rows)))
    for order in permutations(ranks):
        merged = Accumulator(**about)
        for rows in order:
            merged.merge(rows)
        assert len(merged) == N_ROWS
        assert merged.compute("micro").to_dict() == expected
        assert merged.bound("micro") == whole.bound("micro")
    assert [len(rows) for rows in ranks] == [200, 200, 200]


def test_rows_merge_into_counts() -> None:
    y_true, y_score, _ = rows_of()
    merged = filled(y_true, y_score, exact=False, n_bins=16)
    merged.merge(filled(y_true, y_score + 1))
    whole = Accumulator(exact=False, n_bins=16)
    whole.update(np.concatenate([y_true, y_true]), np.concatenate([y_score, y_score + 1]))
    assert merged.compute().to_dict() == whole.compute().to_dict()


def test_labels_in_another_order_are_put_in_order() -> None:
    y_true, y_score, _ = rows_of()
    names = [f"label {k}" for k in range(N_LABELS)]
    order = np.random.default_rng(2).permutation(N_LABELS)
    theirs = filled(
        np.where(y_score > 2, -1, y_true.astype(int))[:, order],
        (y_score + 1)[:, order],
        label_names=[names[k] for k in order],
        exact=False,
        n_bins=16,
        unknown=-1,
    )
    in_order = filled(
        np.where(y_score > 2, -1, y_true.astype(int)),
        y_score + 1,
        label_names=names,
        exact=False,
        n_bins=16,
        unknown=-1,
    )
    ours = filled(y_true, y_score, label_names=names, exact=False, n_bins=16, unknown=-1)
    merged = []
    for other in (theirs, in_order):
        both = copy.deepcopy(ours)
        both.merge(other)
        merged.append(both.compute().to_dict())
    assert merged[0] == merged[1]
    first = Accumulator(exact=False, n_bins=16, unknown=-1, label_names=names)
    first.merge(theirs)
    assert first.compute().to_dict() == in_order.compute().to_dict()


def test_copies_share_no_later_updates() -> None:
    y_true, y_score, _ = rows_of()
    rows = filled(y_true, y_score, exact=False, n_bins=16)
    before = rows.compute().to_dict()
    for other in (copy.copy(rows), copy.deepcopy(rows)):
        other.update(y_true, y_score + 3)
        assert rows.compute().to_dict() == before
        assert other.compute().to_dict() != before


def test_reset_forgets_counts() -> None:
    y_true, y_score, _ = rows_of()
    rows = filled(y_true, y_score, exact=False, n_bins=16)
    rows.reset()
    assert len(rows) == rows.nbytes == rows.n_labels == 0
    rows.update(y_true[:50, :3], y_score[:50, :3].astype(np.float64))
    assert (len(rows), rows.n_labels) == (50, 3)


def test_repr_says_what_is_kept() -> None:
    y_true, y_score, weights = rows_of()
    rows = filled(y_true, y_score, weights, exact=False, n_bins=16)
    assert (
        repr(rows) == "Accumulator(600 rows, 12 labels, float32 scores, weighted, as counts in at most 16 bins a label)"
    )
    exact = filled(y_true, y_score, keep="counts")
    assert repr(exact) == "Accumulator(600 rows, 12 labels, float32 scores, as counts)"


def test_rows_have_a_bound_too() -> None:
    y_true, y_score, _ = rows_of()
    rows = filled(y_true, y_score)
    assert rows.bound("micro", beta=2.0) == fit_empirical(y_true, y_score, "micro", beta=2.0).objective
    assert rows.nbytes == y_true.nbytes + y_score.nbytes


# What is refused


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("keep", {"keep": "row"}, "keep is 'row', expected 'rows' or 'counts'"),
    ("exact", {"exact": "no"}, "exact is 'no', expected True or False"),
    ("both", {"keep": "rows", "exact": False}, "keep is 'rows' with exact=False, expected 'counts' or None: of rows"),
    ("few bins", {"exact": False, "n_bins": 1}, "n_bins is 1, expected a whole number of at least 2"),
    ("bins of nothing", {"n_bins": 9}, "n_bins is 9 without exact=False, expected None"),
    ("spill", {"keep": "counts", "spill": "."}, "spill is '.' where counts are kept, expected None: there are no rows"),
]


@pytest.mark.parametrize(("about", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_options_that_contradict_are_refused(about: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        Accumulator(**about)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_predicted_per_row": 2}, "max_predicted_per_row is 2, a limit of rows, which counts do not have"),
        ({"rule": "top-k"}, "rule is 'top-k' where counts are kept, expected None: rules by name need rows"),
        ({"per_label": False}, "per_label is False with exact=False, where each label has bins of its own"),
        ({"max_predicted": 50}, "max_predicted is 50.0 with exact=False, where a budget is spent at single scores"),
        (
            {"confidence": 0.9, "min_recall": 0.1},
            "confidence is 0.9 with exact=False, where promises are tested at single scores; expected None, or an",
        ),
    ],
)
def test_fits_that_need_more_are_refused(options: dict[str, Any], message: str) -> None:
    y_true, y_score, _ = rows_of()
    with pytest.raises(InputError) as refused:
        filled(y_true, y_score, exact=False).compute(**options)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("keep_sparse", [None, True, False])
@pytest.mark.parametrize("missing", [0.0, 1.5])
def test_cuts_of_sparse_scores_stay_above_what_is_missing(missing: float, keep_sparse: bool | None) -> None:
    """Some positives are not in the lists; for a few labels it is best to predict nearly all rows to reach them."""
    y_true, y_score, _ = rows_of()
    stored = sparse.csr_array(np.where(y_score > 1, y_score, 0))
    whole = fit_empirical(y_true, stored, missing=missing, keep_sparse=keep_sparse)
    exact = filled(y_true, stored, keep="counts", missing=missing)
    assert exact.compute(keep_sparse=keep_sparse).objective == whole.objective
    assert exact.bound(keep_sparse=keep_sparse) == whole.objective
    assert filled(y_true, stored, missing=missing).bound(keep_sparse=keep_sparse) == whole.objective
    rows = filled(y_true, stored, exact=False, n_bins=16, missing=missing)
    rule = rows.compute(keep_sparse=keep_sparse)
    decided = rule.predict(stored, dense=True)
    assert rule.objective == thresholds.metrics.f1_score(y_true, decided, average="macro", zero_division=0)
    assert rule.objective <= whole.objective <= rows.bound(keep_sparse=keep_sparse)
    if keep_sparse is not False:
        assert (rule.thresholds > missing).all()


def test_means_over_rows_are_refused() -> None:
    y_true, y_score, _ = rows_of()
    with pytest.raises(InputError, match="average is 'samples', a mean over rows, which counts do not have"):
        filled(y_true, y_score, keep="counts").compute("samples", per_label=False)


def test_rows_are_refused() -> None:
    y_true, y_score, _ = rows_of()
    rows = filled(y_true, y_score, exact=False)
    message = "the accumulator keeps counts, and its rows are asked for, expected one with keep='rows'"
    for name in ("y_true", "y_score", "sample_weight"):
        with pytest.raises(InputError, match=message):
            getattr(rows, name)
    with pytest.raises(InputError, match=message):
        EpochFit("macro").fit(rows)


def test_weights_that_are_no_whole_numbers_are_refused() -> None:
    y_true, y_score, _ = rows_of()
    rows = Accumulator(keep="counts")
    rows.update(y_true[:10], y_score[:10])
    message = "sample_weight has 0.5 at row 1, expected whole numbers where counts are kept"
    with pytest.raises(InputError, match=message):
        rows.update(y_true[:3], y_score[:3], [1, 0.5, 2])
    other = Accumulator()
    other.update(y_true[:3], y_score[:3], [1, 0.5, 2])
    with pytest.raises(InputError, match=message):
        rows.merge(other)
    assert len(rows) == 10


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({}, "other keeps exact counts, expected rows as here"),
        ({"exact": False, "n_bins": 8}, "other keeps exact counts, expected counts in at most 8 bins as here"),
    ],
)
def test_counts_of_another_kind_are_not_merged(other: dict[str, Any], message: str) -> None:
    y_true, y_score, _ = rows_of()
    rows = filled(y_true, y_score, **other)
    with pytest.raises(InputError, match=message):
        rows.merge(filled(y_true, y_score, keep="counts"))


def test_another_form_is_refused_after_rows_were_counted_too() -> None:
    y_true, y_score, _ = rows_of()
    rows = filled(y_true, y_score, exact=False, n_bins=8)
    rows.compute()
    with pytest.raises(InputError, match="y_score has dtype float64, expected float32 as in the rows before"):
        rows.update(y_true, y_score.astype(np.float64))
    with pytest.raises(InputError, match="y_score has 5 labels, expected 12 as in the rows before"):
        rows.update(y_true[:, :5], y_score[:, :5])
    with pytest.raises(InputError, match="y_score is sparse, expected dense as in the rows before"):
        rows.update(y_true, sparse.csr_array(y_score))
    with pytest.raises(InputError, match="other has float64 scores, expected float32 ones as here"):
        rows.merge(filled(y_true, y_score.astype(np.float64), exact=False, n_bins=8))
    assert len(rows) == N_ROWS
