"""Files of NumPy arrays: what is read of `.npz`, `.npy` and SciPy's `.npz`, and what is refused, in one sentence."""

import io
import pickle
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from thresholds import InputError
from thresholds._checks.boundary import reading
from thresholds.files.arrays.npz import open_npy, open_npz
from thresholds.files.source import Block, Source, Wanted

RNG = np.random.default_rng(3)
SCORES = RNG.random((50, 3)).astype(np.float32)
TRUTH = (RNG.random((50, 3)) < 0.4).astype(np.uint8)
KEYS = np.array([f"row {k}" for k in range(50)])
NAMES = ("cat", "dog", "emu")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 7 rows of three labels."""
    monkeypatch.setattr("thresholds.files.source.BLOCK_CELLS", 21)


def opened(path: Path, wanted: Wanted | None = None, *, truth_only: bool = False) -> Source:
    """Open a file as the commands do."""
    open_file = open_npy if path.suffix == ".npy" else open_npz
    with reading(path):
        return open_file(path, wanted or Wanted(), truth_only=truth_only)


def read(path: Path, wanted: Wanted | None = None, *, truth_only: bool = False) -> Block:
    """Open a file, read all its rows at once, and in blocks, which agree."""
    source = opened(path, wanted, truth_only=truth_only)
    whole = source.whole()
    assert whole is not None
    blocks = list(source.blocks())
    for found, parts in zip(whole, zip(*blocks, strict=True), strict=True):
        if found is None:
            assert parts == (None,) * len(blocks)
        else:
            np.testing.assert_array_equal(np.concatenate([dense(part) for part in parts]), dense(found))
    return whole


def dense(matrix: Any) -> Any:
    """A matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def csr(key: str, matrix: Any) -> dict[str, Any]:
    """The four arrays of a CSR matrix."""
    stored = sparse.csr_array(matrix)
    return {f"{key}_{part}": np.asarray(getattr(stored, part)) for part in ("data", "indices", "indptr", "shape")}


# What is read


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.usefixtures("small_blocks")
def test_dense_arrays(save: Any, order: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    weights = np.arange(50) / 4
    arrays = {"id": KEYS, "who": np.arange(50) // 2, "w": weights, "label_names": np.array(NAMES)}
    save(path, y_score=np.asarray(SCORES, order=order), y_true=TRUTH, calib_idx=[3, 1], test_idx=[2], **arrays)
    wanted = Wanted(key="id", groups="who", weights="w")
    block = read(path, wanted)
    np.testing.assert_array_equal(block.y_score, SCORES)
    np.testing.assert_array_equal(block.y_true, TRUTH)
    assert block.groups is not None
    assert block.groups.tolist() == (np.arange(50) // 2).tolist()
    assert block.sample_weight is not None
    assert (block.sample_weight.dtype, block.sample_weight.tolist()) == (np.float64, weights.tolist())

    source = opened(path, wanted)
    assert source.keys().tolist() == KEYS.tolist()
    assert [part.y_score.shape[0] for part in source.blocks()] == [7] * 7 + [1]
    assert all(part.y_true is None for part in source.blocks(truth=False))
    assert source.is_mapped == isinstance(block.y_score, np.memmap) == (save is np.savez)
    assert (source.n_samples, source.n_labels, source.label_names) == (50, 3, NAMES)
    assert (source.score_key, source.truth_key, source.key_columns) == ("y_score", "y_true", ("id",))
    assert (source.calib_idx, source.test_idx) == (pytest.approx([3, 1]), pytest.approx([2]))
    assert (source.notes, source.left_out) == ((), {})


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_blocks_of_megabytes(save: Any, tmp_path: Path) -> None:
    scores = np.tile(SCORES, (1400, 10))  # 8 MB
    save(tmp_path / "s.npz", y_score=scores, y_true=scores > 0.5)
    np.testing.assert_array_equal(read(tmp_path / "s.npz").y_score, scores)
    assert len(list(opened(tmp_path / "s.npz").blocks())) == 2


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.usefixtures("small_blocks")
def test_sparse_arrays(save: Any, tmp_path: Path) -> None:
    stored = np.where(SCORES > 0.5, SCORES, 0)
    save(tmp_path / "s.npz", **csr("y_score", stored), **csr("y_true", TRUTH))
    block = read(tmp_path / "s.npz")
    assert block.y_score.format == "csr"
    np.testing.assert_array_equal(block.y_score.toarray(), stored)
    np.testing.assert_array_equal(dense(block.y_true), TRUTH)
    source = opened(tmp_path / "s.npz")
    assert [part.y_score.shape for part in source.blocks()] == [(7, 3)] * 7 + [(1, 3)]
    assert source.is_mapped == (save is np.savez)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.usefixtures("small_blocks")
def test_a_single_array_is_mapped(order: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.asarray(SCORES, order=order))
    block = read(tmp_path / "p.npy", Wanted(label_names=NAMES))
    np.testing.assert_array_equal(block.y_score, SCORES)
    assert isinstance(block.y_score, np.memmap)
    source = opened(tmp_path / "p.npy", Wanted(label_names=NAMES))
    assert (source.score_key, source.truth_key, source.label_names, source.is_mapped) == ("p", None, NAMES, True)
    np.save(tmp_path / "one.npy", SCORES[:, 0])
    assert read(tmp_path / "one.npy").y_score.shape == (50, 1)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_matrices_of_scipy(kind: str, compressed: bool, make: Any, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "s.npz", make(SCORES).asformat(kind), compressed)
    for truth_only in (False, True):
        block = read(tmp_path / "s.npz", truth_only=truth_only)
        np.testing.assert_array_equal(block.y_score.toarray(), SCORES)
        assert block.y_score.format == "csr"
    source = opened(tmp_path / "s.npz")
    assert (source.score_key, source.is_mapped) == ("s", kind == "csr" and not compressed)


def test_scores_under_another_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", probs=SCORES, targets=TRUTH)
    block = read(tmp_path / "s.npz", Wanted(scores="probs", truth="targets"))
    np.testing.assert_array_equal(block.y_score, SCORES)
    np.testing.assert_array_equal(block.y_true, TRUTH)
    np.savez(tmp_path / "s.npz", y_score_weak=SCORES, y_true=TRUTH)
    assert opened(tmp_path / "s.npz").score_key == "y_score_weak"


def test_truth_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", y_true=TRUTH, id=KEYS, calib_idx=[0])
    source = opened(tmp_path / "t.npz", Wanted(key="id"), truth_only=True)
    assert (source.score_key, source.truth_key, source.calib_idx) == ("y_true", None, None)
    assert source.notes == ("left out of t.npz: 'calib_idx' (int64)",)
    np.testing.assert_array_equal(read(tmp_path / "t.npz", truth_only=True).y_score, TRUTH)


def test_truth_is_passed_over_where_it_is_not_wanted(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=TRUTH[:3])
    assert read(tmp_path / "s.npz", Wanted(with_truth=False)).y_true is None


@pytest.mark.parametrize("form", [np.asarray, "csr"])
@pytest.mark.parametrize(("unknown", "mark"), [("nan", np.nan), (-1, -1)])
@pytest.mark.usefixtures("small_blocks")
def test_truth_that_is_not_known(form: Any, unknown: object, mark: float, tmp_path: Path) -> None:
    truth = TRUTH.astype(float)
    truth[40:, 1] = mark
    np.savez(tmp_path / "s.npz", y_score=SCORES, **(csr("y_true", truth) if form == "csr" else {"y_true": truth}))
    found = dense(read(tmp_path / "s.npz", Wanted(unknown=unknown)).y_true)
    assert (found.dtype, found[40:, 1].tolist()) == (np.int8, [-1] * 10)
    source = opened(tmp_path / "s.npz", Wanted(unknown=unknown))
    assert (source.has_unknown, source.is_mapped) == (True, False)


@pytest.mark.usefixtures("small_blocks")
def test_truth_that_is_odd_is_named_by_its_row_of_the_file(tmp_path: Path) -> None:
    truth = TRUTH.astype(float)
    truth[33, 1] = 7
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=truth, label_names=NAMES)
    with pytest.raises(InputError, match=r"truth 'y_true' of s.npz has 7.* at row 33, label 'dog', expected 0, 1 or"):
        list(opened(tmp_path / "s.npz", Wanted(unknown=-1)).blocks())


def test_a_key_of_several_arrays_is_text(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES[:2], clip=["a", "b"], second=[3.0, 4.5])
    assert opened(tmp_path / "s.npz", Wanted(key=("clip", "second"))).keys().tolist() == [["a", "3.0"], ["b", "4.5"]]


def test_arrays_without_a_role_are_left_out(tmp_path: Path) -> None:
    own = csr("y_score", SCORES) | csr("y_score_weak", SCORES)
    odd = {"odd_data": KEYS, "meta": np.array([{"a": 1}], object), "two": np.zeros(3, [("a", "f4"), ("b", "f4")])}
    np.savez(tmp_path / "s.npz", **own, y_true=TRUTH, who=KEYS, allow_pickle=True, **odd)
    source = opened(tmp_path / "s.npz", Wanted(groups="who"))
    assert source.left_out["y_score_weak"] == "CSR"
    assert source.left_out["meta"] == "object"
    assert source.notes[0].startswith("left out: ")
    assert "'odd_data' (<U6)" in source.notes[0]
    assert source.whole() is not None


def test_first_values_are_those_of_whole_numbers_and_text(tmp_path: Path) -> None:
    others = {"many": np.zeros((50, 2), int), "part": np.zeros(50), "few": np.zeros(3, int)}
    np.savez(tmp_path / "s.npz", y_score=SCORES, patient=np.arange(50), who=KEYS, **others)
    found = dict(opened(tmp_path / "s.npz").first_values(["patient", "who", *others]))
    assert (list(found), found["patient"].tolist()) == (["patient", "who"], list(range(50)))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.usefixtures("small_blocks")
def test_a_source_is_read_in_another_process_and_holds_no_arrays(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "s.npz", y_score=SCORES, y_true=TRUTH, id=KEYS)
    np.save(tmp_path / "p.npy", SCORES)
    sparse.save_npz(tmp_path / "c.npz", sparse.csr_array(SCORES))
    for name in ("s.npz", "p.npy", "c.npz"):
        sent = pickle.dumps(opened(tmp_path / name, Wanted(key="id") if name == "s.npz" else Wanted()))
        assert len(sent) < 3_000
        rows = np.concatenate([dense(block.y_score) for block in pickle.loads(sent).blocks()])
        np.testing.assert_array_equal(rows, SCORES)


# What is refused, by what was asked for


def refused(path: Path, wanted: Wanted | None = None, *, truth_only: bool = False) -> str:
    """The one sentence that refuses a file, as it is opened or read."""
    with pytest.raises(InputError) as caught:
        read(path, wanted, truth_only=truth_only)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_there_is_listed_with_its_shapes(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", targets=TRUTH, probs=SCORES, **csr("weak", SCORES))
    there = "'probs' (50, 3) float32, 'targets' (50, 3) uint8 and 'weak' CSR"
    assert refused(tmp_path / "s.npz") == (
        "s.npz has no y_score, expected the scores under that key, or its name as --score-column; it has " + there
    )
    assert refused(tmp_path / "s.npz", truth_only=True) == (
        "s.npz has no y_true, expected the truth under that key, or its name as --truth-column; it has " + there
    )
    assert refused(tmp_path / "s.npz", Wanted(scores="p")) == f"s.npz has no scores 'p', expected one of {there}"
    wanted = Wanted(scores="probs", truth="gold")
    assert refused(tmp_path / "s.npz", wanted) == f"s.npz has no truth 'gold', expected one of {there}"
    for what, wanted in (
        ("key", Wanted(scores="probs", key="id")),
        ("group", Wanted(scores="probs", groups="id")),
        ("weight", Wanted(scores="probs", weights="id")),
    ):
        said = f"s.npz has no array 'id', expected the {what} of each row; it has {there}"
        assert refused(tmp_path / "s.npz", wanted) == said
    np.savez(tmp_path / "s.npz", **{f"a{k:02}": np.zeros(k) for k in range(20)})
    assert refused(tmp_path / "s.npz").endswith("'a07' (7,) float64 and 12 more")
    np.savez(tmp_path / "s.npz")
    assert refused(tmp_path / "s.npz").endswith("; it has no arrays")


UNFIT = r", expected whole numbers or text as --key: cast it"


@pytest.mark.parametrize(
    ("arrays", "wanted", "message"),
    [
        ({"y_score_a": SCORES, "y_score_b": SCORES, "y_score": None}, {}, "has the scores y_score_a, y_score_b, expec"),
        ({"y_true_indices": [0], "y_true_indptr": [0, 1]}, {}, "s.npz lacks y_true_data, expected the four arrays of"),
        ({"y_true": np.zeros((50, 3, 1))}, {}, "y_true of s.npz has shape (50, 3, 1), expected (n_samples, n_labels)"),
        ({"y_score": SCORES[:0]}, {}, "y_score of s.npz has shape (0, 3), expected at least one row and one label"),
        ({"y_score": SCORES.astype(str)}, {}, "y_score of s.npz has dtype <U32, expected real numbers"),
        ({"y_score": SCORES.astype("M8[s]")}, {}, "y_score of s.npz has dtype datetime64[s], expected real numbers"),
        ({"y_score": SCORES + 1j}, {}, "y_score of s.npz has dtype complex64, expected real numbers"),
        ({"id": np.zeros(50, "M8[s]")}, {"key": "id"}, f"column 'id' of s.npz holds datetime64[s]{UNFIT}"),
        ({"id": np.zeros(50, "S1")}, {"key": "id"}, f"column 'id' of s.npz holds |S1{UNFIT}"),
        ({"id": np.zeros(50)}, {"key": "id"}, f"column 'id' of s.npz holds float64{UNFIT}"),
        ({"id": np.zeros(50, bool)}, {"key": "id"}, f"column 'id' of s.npz holds bool{UNFIT}"),
        ({"id": np.zeros(9, int)}, {"key": "id"}, "id of s.npz has shape (9,), expected (50,), one key for each row"),
        ({"w": np.zeros(9)}, {"weights": "w"}, "w of s.npz has shape (9,), expected (50,), one weight for each row"),
        ({"w": KEYS}, {"weights": "w"}, "w of s.npz has dtype <U6, expected real numbers"),
        ({"w": np.arange(50) - 3.0}, {"weights": "w"}, "w of s.npz has -3.0 at row 0, expected finite weights >= 0"),
        ({"w": np.where(np.arange(50) == 7, np.inf, 1)}, {"weights": "w"}, "w of s.npz has inf at row 7, expected fin"),
        ({"test_idx": [-1, 0]}, {}, "test_idx of s.npz runs from -1 to 0, expected 0 to 49"),
        ({"calib_idx": [0.5]}, {}, "calib_idx of s.npz has shape (1,) and dtype float64, expected row numbers"),
        ({"label_names": NAMES[:2]}, {}, "label_names of s.npz has shape (2,), expected (3,), one name for each label"),
        ({"label_names": [NAMES]}, {}, "label_names of s.npz has shape (1, 3), expected (3,)"),
        ({"label_names": [*NAMES[:2], "cat"]}, {}, "label_names of s.npz has 'cat' twice, expected each name once"),
        (
            {"label_names": [1, 2, 3]},
            {},
            "label_names of s.npz has dtype int64, expected text: save it as label_names.astype(str)",
        ),
        ({}, {"label_names": ("cat",)}, "--label-names has 1 names, expected 3 as s.npz"),
        ({"y_true": TRUTH[:40]}, {}, "truth 'y_true' of s.npz has shape (40, 3), expected (50, 3), that of the scores"),
    ],
)
def test_odd_arrays_are_refused(arrays: dict[str, Any], wanted: dict[str, Any], message: str, tmp_path: Path) -> None:
    found = {key: array for key, array in ({"y_score": SCORES} | arrays).items() if array is not None}
    np.savez(tmp_path / "s.npz", **found)
    assert message in refused(tmp_path / "s.npz", Wanted(**wanted))


@pytest.mark.parametrize(
    ("key", "wanted"),
    [("label_names", {}), ("y_score", {}), ("y_true", {}), ("id", {"key": "id"}), ("w", {"weights": "w"})],
)
def test_an_array_of_objects_is_refused_by_its_name(key: str, wanted: dict[str, Any], tmp_path: Path) -> None:
    arrays = {"y_score": SCORES, "label_names": np.array(NAMES)}
    values = {"label_names": NAMES, "y_score": SCORES, "y_true": TRUTH}.get(key, KEYS)
    np.savez(tmp_path / "s.npz", allow_pickle=True, **arrays | {key: np.array(values, object)})
    assert refused(tmp_path / "s.npz", Wanted(**wanted)) == (
        f"{key} of s.npz is an array of objects, expected text or numbers: save it as {key}.astype(str), or of numbers"
        f" as {key}.astype(float)"
    )


@pytest.mark.parametrize(
    ("cells", "wanted", "message"),
    [
        (SCORES.astype(str), {}, "s of s.npy has dtype <U32, expected real numbers"),
        (np.zeros((2, 2, 2)), {}, "s.npy has shape (2, 2, 2), expected (n_samples, n_labels)"),
        (np.zeros((0, 2)), {}, "s.npy has shape (0, 2), expected at least one row and one label"),
        (np.float64(1), {}, "s.npy has shape (), expected (n_samples, n_labels)"),
        (
            np.array([None, 1], object),
            {},
            "s.npy is an array of objects, expected text or numbers: save it as s.astype(str), or",
        ),
        (SCORES, {"groups": "who"}, "s.npy has one matrix and no column 'who' (--groups)"),
        (SCORES, {"weights": "w"}, "s.npy has one matrix and no column 'w' (--weights)"),
        (SCORES, {"label_names": ("cat",)}, "--label-names has 1 names, expected 3 as s.npy"),
    ],
)
def test_odd_single_arrays_are_refused(cells: Any, wanted: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", cells, allow_pickle=True)
    assert message in refused(tmp_path / "s.npy", Wanted(**wanted))


def test_what_is_no_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", SCORES)
    content = (tmp_path / "s.npy").read_bytes()
    for bad in (b"?", b"", content[:40], content[:-1], content[:6] + b"\2\0\0\0\0\x40", content.replace(b"3)", b"9)")):
        (tmp_path / "s.npy").write_bytes(bad)
        assert "s.npy cannot be read as a .npy file: " in refused(tmp_path / "s.npy")


def test_rows_that_a_file_says_to_have_and_has_not_are_missed(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", SCORES)
    source = opened(tmp_path / "s.npy")
    object.__setattr__(source, "n_samples", 51)
    with pytest.raises(
        InputError, match=r"s.npy cannot be read as a .npy file: it has 50 rows, expected 51 as it says"
    ):
        list(source.blocks())


# Matrices of SciPy


def scipy_file(path: Path, **changed: Any) -> None:
    """A matrix of SciPy with other arrays; None for one that is not there."""
    kind = changed.pop("kind", "csr")
    stored: Any = sparse.csr_array(SCORES).asformat(kind)
    sparse.save_npz(path, stored)
    with np.load(path) as arrays:
        found = dict(arrays) | changed
    np.savez(path, **{name: array for name, array in found.items() if array is not None})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "bsr"}, "s.npz has a matrix in the format 'bsr', expected csr, csc, coo"),
        ({"format": np.array(["csr", "csc"])}, "s.npz has a matrix in the format 'of several', expected csr, csc, coo"),
        ({"indices": None}, "s.npz lacks indices, expected the four arrays of a CSR matrix"),
        ({"kind": "coo", "row": None}, "s.npz lacks row, expected the four arrays of a COO matrix"),
        ({"kind": "csc", "indices": np.full(150, 99)}, "s.npz is a malformed sparse array: indices must be < 50"),
        ({"indices": np.full(150, 99)}, "s.npz is a malformed sparse array: indices must be < 3"),
        ({"indices": np.full(150, -1)}, "s.npz is a malformed sparse array: indices must be >= 0"),
        ({"indices": np.zeros(149, int)}, "s.npz is a malformed sparse array: "),
        (
            {"kind": "coo", "row": np.full(150, 50)},
            "s.npz is a malformed sparse array: axis 0 index 50 exceeds matrix dimension 50",
        ),
        (
            {"kind": "coo", "row": np.zeros(150)},
            "s.npz is a malformed sparse array: row has dtype float64, expected whole",
        ),
        ({"kind": "coo", "shape": np.array([10**12, 3])}, "it has 1,000,000,000,000 rows, expected at most 4,194,604"),
        ({"kind": "coo", "shape": np.array([50, 10**12])}, "it has 1,000,000,000,000 labels, expected at most"),
        ({"shape": np.array([50, 2**64 - 1], np.uint64)}, "it has 18,446,744,073,709,551,615 labels, expected at most"),
        ({"kind": "csc", "shape": np.array([0, 3])}, "s.npz has shape (0, 3), expected at least one row"),
        ({"shape": np.array([50, 3, 1])}, "s.npz is a malformed sparse array: it has 3 dimensions"),
        ({"data": np.zeros(150, complex)}, "data of s.npz has dtype complex128, expected real numbers"),
        ({"data": np.zeros((150, 1))}, "s.npz is a malformed sparse array: data, indices, and indptr should be 1-D"),
        ({"indptr": np.zeros(51, int)}, "its index pointers end at 0, expected 150, the number of entries"),
        ({"indptr": np.zeros(9, int)}, "index pointer size 9 should be 51"),
    ],
)
def test_bad_matrices_of_scipy_are_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    scipy_file(tmp_path / "s.npz", **changed)
    assert message in refused(tmp_path / "s.npz")


def test_a_cell_twice_is_no_sum(tmp_path: Path) -> None:
    """SciPy would add both."""
    doubled = sparse.coo_array((np.array([0.5, 0.5]), (np.array([1, 1]), np.array([2, 2]))), shape=(3, 4))
    sparse.save_npz(tmp_path / "s.npz", doubled)
    assert refused(tmp_path / "s.npz") == "s.npz is a malformed sparse array: a cell is stored twice"


def test_a_matrix_has_no_columns_to_choose_from(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(SCORES))
    for option in ("key", "groups", "scores", "weights"):
        said = refused(tmp_path / "s.npz", Wanted(**{option: "p"}))
        assert said.startswith("s.npz has one matrix and no column 'p' (--")
    assert "--label-names has 1 names, expected 3" in refused(tmp_path / "s.npz", Wanted(label_names=("cat",)))


# Archives that are not believed


def member(array: Any, name: str = "y_score", how: int = zipfile.ZIP_STORED, **changes: Any) -> tuple[str, bytes, int]:
    """A member of an archive; `changes` are of what the header of its array says."""
    stream, array = io.BytesIO(), np.asarray(array)
    said = np.lib.format.header_data_from_array_1_0(array) | changes
    np.lib.format.write_array_header_1_0(stream, said)
    return f"{name}.npy", stream.getvalue() + array.tobytes(), how


def archived(folder: Path, *members: tuple[str, bytes, int]) -> Path:
    """Write members as an archive."""
    with zipfile.ZipFile(folder / "s.npz", "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content, how in members:
            archive.writestr(name, content, how)
    return folder / "s.npz"


def changed(path: Path, mark: bytes, offset: int, content: bytes) -> Path:
    """Write bytes at an offset from the first header of a kind."""
    found = bytearray(path.read_bytes())
    at = found.index(mark) + offset
    found[at : at + len(content)] = content
    path.write_bytes(found)
    return path


LOCAL, DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
LONG = np.arange(2000.0).reshape(1000, 2)  # longer than what is read with its header
GOOD = member(SCORES)
DEFLATED = member(SCORES, how=zipfile.ZIP_DEFLATED)
CSR = {"data": np.ones(3), "indices": np.array([0, 1, 0]), "indptr": np.array([0, 1, 2, 3]), "shape": np.array([3, 2])}


def sparse_file(**changes: Any) -> Callable[[Path], Path]:
    """An archive of CSR scores of which some parts are others."""
    return lambda folder: archived(folder, *(member(a, f"y_score_{part}") for part, a in (CSR | changes).items()))


BAD_ARCHIVES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a flipped bit": (
        lambda f: changed(archived(f, member(LONG)), LONG[999:].tobytes(), 5, b"9"),
        "Bad CRC-32 for file 'y_score.npy'",
    ),
    "a member twice": (lambda f: archived(f, GOOD, member(1 - SCORES)), "'y_score.npy' twice, expected each array"),
    "names that differ": (lambda f: changed(archived(f, GOOD), LOCAL, 30, b"z"), "'y_score.npy' and header b'z_scor"),
    "a member that is no array, elsewhere": (
        lambda f: changed(archived(f, ("notes.txt", b"by hand", 0), GOOD), DIRECTORY, 42, b"\xff"),
        "Bad magic number for file",
    ),
    "an unknown version": (lambda f: changed(archived(f, GOOD), DIRECTORY, 6, b"\xff"), "zip file version"),
    "encrypted": (lambda f: changed(archived(f, GOOD), DIRECTORY, 8, b"\x01"), "'y_score.npy' is encrypted"),
    "packed in an unknown way": (
        lambda f: changed(archived(f, GOOD), DIRECTORY, 10, b"\x5d"),
        "is packed in another way",
    ),
    "a member elsewhere": (lambda f: changed(archived(f, GOOD), DIRECTORY, 42, b"\xff"), "Bad magic number for file"),
    "more than it has": (lambda f: archived(f, member(SCORES, shape=(10**9, 3))), "y_score takes 12,000,000,128 bytes"),
    "more than 2**64": (lambda f: archived(f, member(SCORES, shape=(2**32, 2**32))), " bytes, and 728 are there"),
    "less than it has": (lambda f: archived(f, member(SCORES, shape=(5, 3))), "takes 188 bytes, and 728 are there"),
    "a negative shape": (lambda f: archived(f, member(SCORES, shape=(-50, -3))), "an array of shape (-50, -3)"),
    "rows without labels": (lambda f: archived(f, member(SCORES[:, :0], shape=(10**12, 0))), "at least one row"),
    "records": (
        lambda f: archived(f, member(np.zeros(6, [("a", "f4"), ("b", "f4")]))),
        "y_score has the dtype [('a', '<f4'), ('b', '<f4')], expected numbers or text",
    ),
    "no header": (lambda f: archived(f, ("y_score.npy", GOOD[1].replace(b"}", b"("), 0)), "cannot be read as a .npz"),
    "a long header": (
        lambda f: archived(f, ("y_score.npy", GOOD[1][:6] + b"\2\0\0\0\0\x40" + bytes(20_000), 0)),
        "EOF: reading array header, expected 1073741824 bytes got",
    ),
    "long text": (
        lambda f: archived(f, GOOD, member(np.zeros(3, "<U99999"), "label_names", 8)),
        "text of dtype <U99999",
    ),
    "labels of a shape": (
        sparse_file(shape=np.array([3, 2**40])),
        "1,099,511,627,776 labels, expected at most 4,194,307",
    ),
    "rows of a shape": (sparse_file(shape=np.array([2**40, 2])), "1,099,511,627,776 rows, expected at most 4,194,311"),
    "a pointer too far": (
        sparse_file(indptr=np.array([0, 1, 2, 2**40])),
        "Last value of index pointer should be less than",
    ),
    "entries of no row": (sparse_file(indptr=np.array([0, 1, 1, 2])), "index pointers end at 2, expected 3"),
    "pointers that fall": (sparse_file(indptr=np.array([0, 2, 1, 3])), "must start at 0, never fall"),
    "no archive": (lambda f: changed(archived(f, GOOD), b"PK\x05\x06", 0, b"?"), "File is not a zip file"),
}


@pytest.mark.parametrize("name", BAD_ARCHIVES)
def test_archives_that_contradict_themselves_are_refused(name: str, tmp_path: Path) -> None:
    make, said = BAD_ARCHIVES[name]
    path = make(tmp_path)
    assert said in refused(path)
    with pytest.raises(InputError) as caught:
        list(opened(path).blocks())
    assert said in str(caught.value)


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("key", ["y_score", "y_true", "id"])
def test_the_last_byte_of_every_array_that_is_read_is_checked(key: str, how: int, tmp_path: Path) -> None:
    arrays = {
        "y_score": np.tile(SCORES, (99, 1)),
        "y_true": np.tile(TRUTH, (99, 1)),
        "id": RNG.random(4950).astype(str),
    }
    path = archived(tmp_path, *(member(array, name, how) for name, array in arrays.items()))
    with zipfile.ZipFile(path) as archive:
        wrong = archive.getinfo(f"{key}.npy").CRC.to_bytes(4, "little")
    content = path.read_bytes()
    at = content.rindex(wrong)  # in the directory
    path.write_bytes(content[:at] + bytes([wrong[0] ^ 1]) + content[at + 1 :])
    said = f"Bad CRC-32 for file '{key}.npy'"
    wanted = Wanted(key="id")
    assert said in refused(path, wanted)
    with pytest.raises(InputError, match=said):
        list(opened(path, wanted).blocks())
    if key != "id":  # Keys are read as soon as the file is opened.
        assert opened(path, wanted).keys().tolist() == arrays["id"].tolist()


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_numpy_does_not_write_is_refused(how: int, tmp_path: Path) -> None:
    said = refused(archived(tmp_path, member(SCORES, how=how)))
    assert said.endswith("is packed in another way, expected what NumPy writes: stored or deflated arrays")


def test_the_directory_decides_as_for_numpy(tmp_path: Path) -> None:
    """A header before a member may have other sizes than the directory: the checksum is right of what is read."""
    path = changed(archived(tmp_path, DEFLATED), LOCAL, 22, b"\x01")
    np.testing.assert_array_equal(read(path).y_score, np.load(path)["y_score"])


def test_members_that_are_no_arrays_are_passed_over(tmp_path: Path) -> None:
    path = archived(tmp_path, ("y_score", GOOD[1], 0))
    assert refused(path).startswith("s.npz has no y_score, expected the scores under that key")
    np.testing.assert_array_equal(read(archived(tmp_path, ("notes.txt", b"by hand", 0), GOOD)).y_score, SCORES)


def test_an_archive_whose_sizes_follow_its_members_is_read(tmp_path: Path) -> None:
    """As those are that were written to a pipe."""

    class Pipe(io.BytesIO):
        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise io.UnsupportedOperation

    stream = Pipe()
    np.savez(stream, y_score=SCORES)
    (tmp_path / "s.npz").write_bytes(stream.getvalue())
    np.testing.assert_array_equal(read(tmp_path / "s.npz").y_score, SCORES)


def test_an_archive_behind_other_bytes_is_mapped_at_its_place(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES)
    (tmp_path / "s.npz").write_bytes(bytes(1000) + (tmp_path / "s.npz").read_bytes())
    np.testing.assert_array_equal(read(tmp_path / "s.npz").y_score, SCORES)


def test_an_archive_of_very_many_members_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "s.npz", "w") as archive:
        for number in range(2**20 // 300 + 1):
            archive.writestr(f"{number:0254}", b"")
    assert "its directory has 1,048,8" in refused(tmp_path / "s.npz")


def test_the_directory_of_an_archive_is_read_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many arrays there are that have no role."""
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=TRUTH, **{f"other {k}": np.zeros(k) for k in range(99)})
    times = list[object]()
    original = zipfile.ZipFile.__init__

    def counted(self: Any, *arguments: Any, **options: Any) -> None:
        times.append(arguments)
        original(self, *arguments, **options)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counted)
    opened(tmp_path / "s.npz").whole()
    assert len(times) == 3


def test_what_an_archive_claims_is_not_allocated(tmp_path: Path) -> None:
    claimed = 2**28  # rows
    array = member(SCORES, how=zipfile.ZIP_DEFLATED, shape=(claimed, 3))
    size = len(array[1]) + 12 * claimed - SCORES.nbytes
    path = changed(archived(tmp_path, array), DIRECTORY, 24, size.to_bytes(4, "little"))
    tracemalloc.start()
    assert f"y_score says to have {size:,} bytes, more than it can hold" in refused(path)
    # The directory may say that more bytes are packed than the file has.
    changed(path, DIRECTORY, 20, b"\xff\xff\xff\x7f")
    assert f"y_score says to have {size:,} bytes, more than it can hold" in refused(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**22
