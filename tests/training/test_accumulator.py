"""`Accumulator`: batches, merged or not, are fitted as one; a refused batch leaves no trace; files hold it all, too."""

import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

import thresholds
from tests.cases import Case, cases, small_cases
from thresholds import InputError, fit_empirical
from thresholds.data import growing as gathering
from thresholds.training.accumulator import Accumulator

pytestmark = pytest.mark.each_value

Array = NDArray[np.generic]

FITS: list[dict[str, object]] = [
    {"average": "macro"},
    {"average": "weighted", "beta": 2.0},
    {"average": "micro", "placement": "mid"},
    {"average": "samples", "per_label": False},
    {"average": "macro", "per_label": False, "zero_division": 1.0},
    {"average": "macro", "guard": "shrink"},
    {"average": "weighted", "guard": "shrink"},
    {"average": "macro", "guard": "auto", "max_overprediction": 2.0},
    {"average": "macro", "min_precision": 0.2, "min_recall": 0.1},
]


def batches(n_rows: int, cuts: list[int]) -> Iterator[slice]:
    """Slices between cuts; some are empty where cuts are equal."""
    edges = [0, *sorted(cuts), n_rows]
    return map(slice, edges[:-1], edges[1:])


def filled(case: Case, cuts: list[int], **options: object) -> Accumulator:
    """The rows of a case, in batches."""
    rows = Accumulator(**options)
    for part in batches(len(case.y_true), cuts):
        weights = None if case.sample_weight is None else case.sample_weight[part]
        rows.update(case.y_true[part], case.y_score[part], weights)
    return rows


def as_dense(matrix: object) -> Array:
    """Cells of a dense or sparse matrix."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array, Array]:
    """Truth, scores and weights of 600 rows, 12 labels, the last without positives."""
    rng = np.random.default_rng(7)
    y_true = (rng.random((600, 12)) < np.geomspace(0.01, 0.4, 12)).astype(np.uint8)
    y_true[:, -1] = 0
    y_score = (rng.normal(size=y_true.shape) + 1.5 * y_true).astype(np.float32)
    return y_true, y_score, rng.integers(0, 4, 600)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of memory that a few rows fill."""
    monkeypatch.setattr(gathering, "_CHUNK_BYTES", 100)


# The same rule


@pytest.mark.each_value
@pytest.mark.parametrize("fit", FITS, ids=str)
@pytest.mark.parametrize("form", ["dense", "weighted", "sparse", "sparse weighted", "spilled", "sparse spilled"])
@pytest.mark.usefixtures("small_chunks")
def test_batches_are_fitted_as_one(
    form: str, fit: dict[str, object], data: tuple[Array, Array, Array], tmp_path: Path
) -> None:
    y_true, y_score, weights = data
    if "sparse" in form:
        y_true, y_score = sparse.csr_array(y_true), sparse.csr_array(np.maximum(y_score - 0.5, 0))
    used = weights if "weighted" in form else None
    rows = Accumulator(missing=-2.0, spill=tmp_path if "spilled" in form else None)
    for part in batches(600, [1, 1, 130, 257, 599]):
        rows.update(y_true[part], y_score[part], None if used is None else used[part])
    whole = fit_empirical(y_true, y_score, sample_weight=used, missing=-2.0, **fit)
    assert rows.compute(**{"guard": None, **fit}).to_dict() == whole.to_dict()


@given(cases(), st.lists(st.integers(0, 8), max_size=4), st.booleans())
@settings(max_examples=50, deadline=None)
def test_any_split_gives_the_same_rule_bit_for_bit(case: Case, cuts: list[int], per_label: bool) -> None:
    cuts = [min(cut, len(case.y_true)) for cut in cuts]
    options = {"beta": case.beta, "zero_division": case.zero_division, "per_label": per_label}
    found = filled(case, cuts).compute("macro", guard=None, **options)
    whole = fit_empirical(case.y_true, case.y_score, sample_weight=case.sample_weight, **options)
    assert found.to_dict() == whole.to_dict()
    np.testing.assert_array_equal(found.thresholds.view(np.int64), whole.thresholds.view(np.int64))


@pytest.mark.each_value(case=15)
@pytest.mark.parametrize("case", list(small_cases(60, seed=11)), ids=str)
def test_rows_come_back_as_they_were_given(case: Case) -> None:
    rows = filled(case, [len(case.y_true) // 2])
    np.testing.assert_array_equal(rows.y_true, case.y_true)
    np.testing.assert_array_equal(rows.y_score, case.y_score)
    assert (rows.y_true.dtype, rows.y_score.dtype) == (np.uint8, case.y_score.dtype)
    if case.sample_weight is None:
        assert rows.sample_weight is None
    else:
        np.testing.assert_array_equal(rows.sample_weight, case.sample_weight)


def test_more_rows_may_follow_a_fit(data: tuple[Array, Array, Array]) -> None:
    y_true, y_score, _ = data
    rows = Accumulator()
    rows.update(y_true[:200], y_score[:200])
    first = rows.compute("micro", guard=None)
    early = rows.y_score
    rows.update(y_true[200:], y_score[200:])
    assert first.to_dict() == fit_empirical(y_true[:200], y_score[:200], "micro").to_dict()
    assert rows.compute("micro", guard=None).to_dict() == fit_empirical(y_true, y_score, "micro").to_dict()
    np.testing.assert_array_equal(early, y_score[:200])


# Merging


@pytest.mark.each_value
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("fit", FITS, ids=str)
def test_accumulators_merge_in_any_order(
    order: tuple[int, ...], fit: dict[str, object], data: tuple[Array, Array, Array]
) -> None:
    y_true, y_score, weights = data
    ranks = []
    for rank in range(3):
        rows = Accumulator()
        for part in np.array_split(np.arange(rank, 600, 3), 4):
            rows.update(y_true[part], y_score[part], weights[part])
        ranks.append(rows)
    merged = Accumulator()
    for rank in order:
        merged.merge(ranks[rank])
    found = merged.compute(**{"guard": None, **fit})
    whole = fit_empirical(y_true, y_score, sample_weight=weights, **fit)
    np.testing.assert_array_equal(found.thresholds, whole.thresholds)
    if fit["average"] == "samples":  # a mean of as many floats as there are rows
        assert found.objective == pytest.approx(whole.objective, rel=1e-14)
    else:
        assert found.objective == whole.objective


def test_merging_leaves_the_other_as_it_is() -> None:
    first, second, empty = Accumulator(), Accumulator(label_names=["cat"]), Accumulator()
    first.update([1], [0.5])
    second.update([0, 1], [0.25, 0.75], [2, 3])
    merged = Accumulator()
    for other in (empty, second, first, empty):
        merged.merge(other)
    first.update([0], [0.125])
    np.testing.assert_array_equal(merged.y_score, [[0.25], [0.75], [0.5]])
    np.testing.assert_array_equal(merged.sample_weight, [2, 3, 1])
    assert merged.label_names == ("cat",)
    assert (len(second), len(empty)) == (2, 0)
    merged.update([1], [1.0])
    assert len(second) == 2


# What a batch may be


def test_an_empty_batch_adds_nothing() -> None:
    rows = Accumulator()
    empty = [([], []), (np.empty((0, 2)), np.empty((0, 2))), (sparse.csr_array((0, 2)), np.empty((0, 2), np.float16))]
    for y_true, y_score in [*empty, ([[1, 0]], [[0.5, 0.25]]), *empty, (pd.DataFrame(), pd.DataFrame())]:
        rows.update(y_true, y_score)
    assert (len(rows), rows.n_labels) == (1, 2)
    np.testing.assert_array_equal(rows.y_score, [[0.5, 0.25]])


def test_one_dimension_is_one_label() -> None:
    rows = Accumulator()
    rows.update([1, 0], [0.75, 0.5])
    rows.update([[1]], [[0.25]])
    assert (rows.y_true.tolist(), rows.n_labels) == ([[1], [0], [1]], 1)


def test_unweighted_batches_weigh_one() -> None:
    rows = Accumulator()
    rows.update([[1], [0]], [[0.5], [0.25]])
    assert rows.sample_weight is None
    rows.update([[1], [0]], [[0.5], [0.75]], [0, 2.5])
    rows.update([[1]], [[0.125]])
    np.testing.assert_array_equal(rows.sample_weight, [1, 1, 0, 2.5, 1])
    rows.update([[0]], [[0.5]], [0])
    np.testing.assert_array_equal(rows.sample_weight, [1, 1, 0, 2.5, 1, 0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_buffers_may_be_used_again(kind: type, tmp_path: Path) -> None:
    for spill in (None, tmp_path):
        rows = Accumulator(spill=spill)
        y_true, y_score, weights = kind(np.eye(2, dtype=np.uint8)), kind([[0.5, 0.25], [0.75, 0.5]]), np.ones(2)
        for _ in range(2):
            rows.update(y_true, y_score, weights)
            for buffer in (y_true, y_score, weights):
                (buffer if isinstance(buffer, np.ndarray) else buffer.data)[:] = 0
        np.testing.assert_array_equal(as_dense(rows.y_true)[:2], np.eye(2))
        np.testing.assert_array_equal(as_dense(rows.y_score)[:3], [[0.5, 0.25], [0.75, 0.5], [0, 0]])
        np.testing.assert_array_equal(rows.sample_weight, [1, 1, 0, 0])


def test_views_in_any_layout_are_read_right() -> None:
    y_true, y_score = np.arange(24).reshape(4, 6) % 2, np.arange(24.0).reshape(6, 4).T
    rows = Accumulator()
    rows.update(y_true[::2, ::-1], y_score[::2, ::-1])
    np.testing.assert_array_equal(rows.y_true, y_true[::2, ::-1])
    np.testing.assert_array_equal(rows.y_score, y_score[::2, ::-1])


@pytest.mark.usefixtures("small_chunks")
def test_sparse_batches_may_have_indices_of_either_width(tmp_path: Path) -> None:
    for spill in (None, tmp_path):
        rows = Accumulator(spill=spill)
        for index in (np.int32, np.int64, np.int32):
            y_score = sparse.csr_array(np.diag([0.25, 0.5, 0.75]))
            y_score.indices, y_score.indptr = y_score.indices.astype(index), y_score.indptr.astype(index)
            rows.update(y_score > 0.5, y_score)
        np.testing.assert_array_equal(as_dense(rows.y_score), np.vstack([np.diag([0.25, 0.5, 0.75])] * 3))
        np.testing.assert_array_equal(as_dense(rows.y_true), np.vstack([np.diag([0, 0, 1])] * 3))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_truth_takes_one_byte_a_cell(dtype: type, kind: type) -> None:
    rows = Accumulator()
    rows.update(kind(np.eye(3, dtype=dtype)), np.eye(3))
    rows.update(kind(np.eye(3, dtype=bool)), np.eye(3))
    assert rows.y_true.dtype == np.uint8
    np.testing.assert_array_equal(as_dense(rows.y_true), np.vstack([np.eye(3), np.eye(3)]))


def test_frames_are_aligned_by_name() -> None:
    rows = Accumulator()
    rows.update(pd.DataFrame({"cat": [1], "dog": [0]}), pd.DataFrame({"dog": [0.25], "cat": [0.5]}))
    rows.update(pd.DataFrame({"cat": [0], "dog": [1]}), pd.DataFrame({"cat": [0.125], "dog": [0.75]}))
    rule = rows.compute(guard=None, placement="score")
    assert rule.label_names == rows.label_names == ("dog", "cat")
    assert rule.thresholds.tolist() == [0.75, 0.5]
    rows.reset()
    assert rows.label_names is None


# What it refuses

GOOD = [[1, 0], [0, 1]], [[0.5, 0.25], [0.25, 0.5]]
NAN = float("nan")
REFUSED = {
    "NaN": ((GOOD[0], [[0.5, 0.25], [NAN, 0.5]]), "y_score has NaN at row 1, label 0"),
    "+inf": ((GOOD[0], [[0.5, 0.25], [0.1, np.inf]]), r"y_score has \+inf at row 1, label 1"),
    "swapped arguments": (GOOD[::-1], "y_true has 0.5 at row 0, label 0, expected only 0 and 1.*look swapped"),
    "another width": (([[1]], [[0.5]]), "y_score has 1 labels, expected 2 as in the rows before"),
    "a squeezed row": (([1, 0], [0.5, 0.25]), "y_score has 1 labels, expected 2 as in the rows before"),
    "another shape": ((GOOD[0], [[0.5, 0.25]]), r"y_score has shape \(1, 2\), expected \(2, 2\)"),
    "truth alone": ((GOOD[0], []), "y_score is empty"),
    "scores alone": (([], GOOD[1]), "y_true is empty"),
    "another dtype": (
        (GOOD[0], np.float16(GOOD[1])),
        "y_score has dtype float16, expected float64 as in the rows before: convert all rows to one dtype",
    ),
    "sparse scores": (
        (GOOD[0], sparse.csr_array(GOOD[1])),
        "y_score is sparse, expected dense as in the rows before",
    ),
    "sparse truth": ((sparse.csr_array(GOOD[0]), GOOD[1]), "y_true is sparse, expected dense as in the rows before"),
    "a negative weight": ((*GOOD, [1, -1]), "sample_weight has -1.0 at row 1"),
    "weights of another length": ((*GOOD, [1]), r"sample_weight has shape \(1,\), expected 2 numbers"),
    "names only now": (
        (GOOD[0], pd.DataFrame(GOOD[1], columns=["cat", "dog"])),
        r"label_names are \('cat', 'dog'\), expected none, as the rows before came without",
    ),
    "a scalar": ((1, 0.5), "y_true has shape"),
    "a number of batches": (([[1, 0]], [["a", "b"]]), "y_score has"),
}


@pytest.mark.parametrize("spilled", [False, True], ids=["in memory", "spilled"])
@pytest.mark.parametrize(("batch", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_batch_says_where_it_begins_and_leaves_no_trace(
    batch: tuple[object, ...], message: str, spilled: bool, tmp_path: Path
) -> None:
    rows, clean = (Accumulator(spill=tmp_path if spilled else None) for _ in range(2))
    for given_ in (rows, clean):
        given_.update(*GOOD)
    with pytest.raises(InputError, match=rf"^{message}.*\(in the batch that begins at row 2\)$"):
        rows.update(*batch)
    for given_ in (rows, clean):
        given_.update([[1, 1]], [[0.125, 0.75]])
    assert rows.compute().to_dict() == clean.compute().to_dict()
    np.testing.assert_array_equal(rows.y_true, clean.y_true)
    np.testing.assert_array_equal(rows.y_score, clean.y_score)
    assert rows.sample_weight is None


def test_a_refused_first_batch_settles_nothing() -> None:
    rows = Accumulator()
    with pytest.raises(InputError, match="begins at row 0"):
        rows.update([[1, 0]], np.float16([[0.5, NAN]]))
    rows.update([1], [0.5])
    assert (rows.n_labels, rows.y_score.dtype) == (1, np.float64)


@pytest.mark.parametrize("first", [True, False], ids=["first batch", "later batch"])
@pytest.mark.parametrize("limit", [700, 1000], ids=["truth does not fit", "scores do not fit"])
def test_a_full_disk_leaves_no_trace(limit: int, first: bool, tmp_path: Path) -> None:
    """Files may not grow beyond a limit: what a failed write has left there does not count."""
    resource = pytest.importorskip("resource", reason="the system has no limits of its own")
    rng = np.random.default_rng(0)
    y_true, y_score = rng.random((80, 10)) < 0.5, rng.random((80, 10)).astype(np.float16)
    rows, start = Accumulator(spill=tmp_path), 0 if first else 5
    if not first:
        rows.update(y_true[:5], y_score[:5])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        said = f"spill is '{tmp_path}', which takes no more after {start} rows (File too large), expected a folder on"
        with pytest.raises(InputError, match=f"^{re.escape(said)}"):
            rows.update(y_true, y_score)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(rows) == start
    rows.update(y_true[start:], y_score[start:])
    np.testing.assert_array_equal(rows.y_true, y_true)
    np.testing.assert_array_equal(rows.y_score, y_score)


@pytest.mark.parametrize("start", [0, 4], ids=["first batch", "later batch"])
@pytest.mark.parametrize("n_chunks", [0, 1, 3, 4])
@pytest.mark.usefixtures("small_chunks")
def test_memory_that_runs_out_leaves_no_trace(n_chunks: int, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for so many chunks; truth takes three, scores many more."""
    y_true, y_score = np.tile(np.eye(10), (3, 1)), np.arange(300.0).reshape(30, 10)
    rows = Accumulator()
    if start:
        rows.update(y_true[:start], y_score[:start])
    chunks = iter([np.zeros] * n_chunks)

    def scarce(*args: object) -> Array:
        for make in chunks:
            return make(*args)
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(gathering.np, "empty", scarce)
        with pytest.raises(MemoryError):
            rows.update(y_true[start:], y_score[start:])
    assert len(rows) == start
    rows.update(y_true[start:], y_score[start:])
    np.testing.assert_array_equal(rows.y_true, y_true)
    np.testing.assert_array_equal(rows.y_score, y_score)


def other(**options: object) -> Accumulator:
    """An accumulator with one row of two labels."""
    rows = Accumulator(**options)
    rows.update([[1, 0]], [[0.5, 0.25]])
    return rows


def of_one_label() -> Accumulator:
    """An accumulator with one row of one label."""
    rows = Accumulator()
    rows.update([1], [0.5])
    return rows


def of_float16() -> Accumulator:
    """An accumulator with scores of another dtype."""
    rows = Accumulator()
    rows.update([[1, 0]], np.float16([[0.5, 0.25]]))
    return rows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rows: rows.merge([[0.5]]), r"other is \[\[0.5\]\], expected an Accumulator"),
        (lambda rows: rows.merge(rows), "other is this accumulator itself, expected another"),
        (lambda rows: rows.merge(other(missing=-1.0)), "other has missing=-1.0, expected 0.0"),
        (
            lambda rows: rows.merge(other(label_names=["cat", "dog"])),
            "label_names are .'cat', 'dog'., expected none, as",
        ),
        (lambda rows: rows.merge(of_one_label()), "y_score has 1 labels, expected 2"),
        (lambda rows: rows.merge(of_float16()), "y_score has dtype float16, expected float64"),
        (lambda _: Accumulator(label_names=["cat"]).merge(other()), "label_names has 1 names, expected 2"),
        (lambda _: Accumulator().compute(), "the accumulator has no rows, expected update"),
        (lambda _: Accumulator().y_true, "the accumulator has no rows, expected update"),
        (lambda _: Accumulator(label_names="cat"), "label_names is 'cat', expected strings in a list"),
        (lambda _: Accumulator(missing=NAN), "missing is nan, expected a score"),
        (lambda _: Accumulator(spill="/no/such/folder"), "spill is '/no/such/folder', expected a folder that exists"),
        (lambda _: Accumulator(spill=True), "spill is True, expected a folder that exists"),
        (lambda rows: rows.compute("median"), "average is 'median'"),
        (lambda rows: rows.compute("micro", guard="shrink"), "guard"),
    ],
)
def test_what_cannot_be_used_is_refused(call: object, message: str) -> None:
    rows = other()
    with pytest.raises(InputError, match=f"^{message}"):
        call(rows)
    assert (len(rows), rows.label_names) == (1, None)


def test_weights_may_all_be_zero_until_the_fit() -> None:
    rows = Accumulator()
    rows.update([1, 0], [0.5, 0.25], [0, 0])
    with pytest.raises(InputError, match="sample_weight is 0 for every row"):
        rows.compute()
    rows.update([1], [0.75], [1])
    assert rows.compute(guard=None, placement="score").thresholds == [0.75]


def test_options_that_it_has_itself_are_not_options_of_the_fit() -> None:
    for option in ("missing", "label_names", "sample_weight"):
        with pytest.raises(TypeError, match=option):
            other().compute(**{option: None})


# Where rows are


def test_spilled_rows_are_mapped_from_files_of_the_folder(tmp_path: Path, data: tuple[Array, Array, Array]) -> None:
    y_true, y_score, _ = data
    rows = Accumulator(spill=tmp_path)
    for part in batches(600, [100, 300]):
        rows.update(y_true[part], y_score[part])
    assert isinstance(rows.y_score, np.memmap)
    assert isinstance(rows.y_true, np.memmap)
    early = rows.y_score
    rows.update(y_true, y_score)
    np.testing.assert_array_equal(early, y_score)
    rows.reset()
    del rows
    np.testing.assert_array_equal(early, y_score)
    assert list(tmp_path.iterdir()) == []


def test_rows_are_read_only(tmp_path: Path) -> None:
    for spill in (None, tmp_path):
        rows = Accumulator(spill=spill)
        rows.update(np.eye(2), np.eye(2), [1, 2])
        for array in (rows.y_true, rows.y_score, rows.sample_weight):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    rows = Accumulator()
    rows.update(sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="read-only"):
        rows.y_score.data[0] = 2


def test_rows_are_there_for_whatever_judges(data: tuple[Array, Array, Array]) -> None:
    y_true, y_score, weights = data
    rows = Accumulator(label_names=[f"label {j}" for j in range(12)])
    for part in batches(600, [300]):
        rows.update(y_true[part], y_score[part], weights[part])
    rule = rows.compute()
    assert str(thresholds.diagnose(rows.y_true, rows.y_score, rule)) == str(thresholds.diagnose(y_true, y_score, rule))
    crossed = [
        thresholds.cross_fit(*given_, random_state=0) for given_ in ((y_true, y_score), (rows.y_true, rows.y_score))
    ]
    assert crossed[0].out_of_fold == crossed[1].out_of_fold


@pytest.mark.parametrize("spilled", [False, True], ids=["in memory", "spilled"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda rows: pickle.loads(pickle.dumps(rows))])
def test_copies_have_the_rows_and_share_no_later_ones(
    copied: object, kind: type, spilled: bool, tmp_path: Path, data: tuple[Array, Array, Array]
) -> None:
    y_true, y_score, weights = kind(data[0]), kind(data[1]), data[2]
    rows = Accumulator(missing=-1.0, spill=tmp_path if spilled else None)
    rows.update(y_true[:500], y_score[:500], weights[:500])
    twin = copied(rows)
    assert repr(twin) == repr(rows)
    rows.update(y_true[500:], y_score[500:], weights[500:])
    assert (len(rows), len(twin)) == (600, 500)
    if spilled and kind is np.asarray:
        assert isinstance(twin.y_score, np.memmap)
    twin.update(y_true[500:], y_score[500:], weights[500:])
    assert twin.compute().to_dict() == rows.compute().to_dict()


def test_an_empty_one_is_copied_with_its_settings() -> None:
    twin = pickle.loads(pickle.dumps(Accumulator(label_names=["cat"], missing=-3.0)))
    assert (twin.label_names, twin.missing, len(twin), twin.n_labels) == (("cat",), -3.0, 0, 0)


def test_reset_forgets_rows_and_form() -> None:
    rows = Accumulator(missing=-1.0)
    rows.update([[1, 0]], [[0.5, 0.25]], [2])
    rows.reset()
    assert (len(rows), rows.n_labels, rows.sample_weight) == (0, 0, None)
    rows.update([1], np.float16([0.5]))
    assert (len(rows), rows.y_score.dtype, rows.missing, rows.sample_weight) == (1, np.float16, -1.0, None)


def test_it_says_what_it_holds_on_one_line(tmp_path: Path) -> None:
    rows = Accumulator(spill=tmp_path)
    assert repr(rows) == "Accumulator(no rows)"
    rows.update([1, 0], np.float32([0.5, 0.25]), [1, 2])
    assert repr(rows) == f"Accumulator(2 rows, 1 label, float32 scores, weighted, spilled to {str(tmp_path)!r})"
    rows = Accumulator()
    for _ in range(600):
        rows.update(sparse.eye_array(2), sparse.eye_array(2))
    assert repr(rows) == "Accumulator(1,200 rows, 2 labels, sparse float64 scores)"


def test_a_failure_between_the_parts_of_a_block_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Accumulator()
    block = sparse.csr_array(np.eye(3))
    rows.update(block != 0, block, [1, 2, 3])
    expected = rows.compute().thresholds.tolist(), rows.y_score.toarray().tolist(), rows.sample_weight.tolist()
    add, calls = gathering.GrowingVector.add, 0
    for failing in range(6):  # Truth and scores have three parts each.

        def fails(growing: object, piece: object, failing: int = failing) -> None:
            nonlocal calls
            calls += 1
            if calls == failing + 1:
                raise MemoryError
            add(growing, piece)

        calls = 0
        monkeypatch.setattr(gathering.GrowingVector, "add", fails)
        with pytest.raises(MemoryError):
            rows.update(block != 0, block, [1, 2, 3])
        monkeypatch.undo()
        found = rows.compute().thresholds.tolist(), rows.y_score.toarray().tolist(), rows.sample_weight.tolist()
        assert found == expected
        assert len(rows) == 3


# Truth that is not known


@pytest.fixture(scope="module")
def partly_known(data: tuple[Array, Array, Array]) -> Array:
    """Truth with -1 where it is not known, in all cells of the first 100 rows among others."""
    y_true, _, _ = data
    hidden = np.where(np.random.default_rng(8).random(y_true.shape) < 0.3, -1, y_true).astype(np.int8)
    hidden[:100] = -1
    return hidden


@pytest.mark.parametrize("form", ["-1", "-100", "NaN", "masked", "sparse", "spilled"])
@pytest.mark.parametrize(
    "fit", [{"average": "macro"}, {"average": "micro"}, {"average": "samples", "per_label": False}]
)
@pytest.mark.usefixtures("small_chunks")
def test_batches_of_which_a_part_is_not_known_are_fitted_as_one(
    form: str, fit: dict[str, object], data: tuple[Array, Array, Array], partly_known: Array, tmp_path: Path
) -> None:
    _, y_score, weights = data
    unknown = partly_known == -1
    written: dict[str, tuple[Array, object]] = {
        "-100": (np.where(unknown, -100, partly_known), -100),
        "NaN": (np.where(unknown, np.nan, partly_known), np.nan),
        "masked": (np.ma.masked_array(data[0], unknown), "nan"),
    }
    y_true, stands_for = written.get(form, (partly_known, -1))
    if form == "sparse":
        y_true, y_score = sparse.csr_array(y_true), sparse.csr_array(np.maximum(y_score - 0.5, 0))
    rows = Accumulator(unknown=stands_for, spill=tmp_path if form == "spilled" else None)
    for part in batches(600, [1, 80, 130, 257, 599]):
        rows.update(y_true[part], y_score[part], weights[part])
    np.testing.assert_array_equal(as_dense(rows.y_true), partly_known)
    assert rows.unknown == -1

    whole = fit_empirical(partly_known, as_dense(y_score), sample_weight=weights, unknown=-1, **fit)
    rule = rows.compute(**{"guard": None, **fit})
    np.testing.assert_array_equal(rule.thresholds, whole.thresholds)
    assert rule.objective == whole.objective
    again = pickle.loads(pickle.dumps(rows))
    again.merge(Accumulator(unknown="nan"))
    assert again.compute(**{"guard": None, **fit}).to_dict() == rule.to_dict()


def test_rows_that_may_not_be_known_are_not_merged_with_others(partly_known: Array, data: tuple[Array, ...]) -> None:
    rows, others = Accumulator(), Accumulator(unknown="nan")
    others.update(partly_known.astype(float).clip(0), data[1])
    with pytest.raises(InputError, match=r"^other has unknown=-1, expected None as here$"):
        rows.merge(others)
    assert len(rows) == 0


def test_nothing_known_fits_nothing(data: tuple[Array, ...]) -> None:
    rows = Accumulator(unknown=-1)
    rows.update(np.full((5, 12), -1), data[1][:5])
    with pytest.raises(InputError, match=r"^y_true has no known cell, expected at least one$"):
        rows.compute()


@pytest.mark.parametrize(("cell", "named"), [(np.nan, "'nan'"), (-1, "-1")])
def test_without_the_option_a_batch_is_refused_by_its_name(cell: float, named: str) -> None:
    rows = Accumulator()
    message = rf"; unknown={named} leaves cells out .* \(in the batch that begins at row 0\)$"
    with pytest.raises(InputError, match=message):
        rows.update([[1, cell]], [[0.5, 0.5]])


def test_what_cannot_stand_for_it_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"^unknown is 0, expected 'nan', a number other than 0 and 1"):
        Accumulator(unknown=0)
