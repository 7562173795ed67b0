"""Objects of Hugging Face's datasets library, read as Arrow's batches."""

import pickle
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import InputError
from thresholds.files import Wanted, open_scores

datasets = pytest.importorskip("datasets", reason="pip install datasets")

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(6)
SCORES = RNG.random((40, 3)).astype(np.float32)
TRUTH = (RNG.random((40, 3)) < 0.4).astype(np.uint8)


def dataset() -> Any:
    """Scores as lists, truth as lists of labels with names, and text."""
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "scores": datasets.List(datasets.Value("float32")),
            "tags": datasets.List(datasets.ClassLabel(names=list(NAMES))),
        }
    )
    tags = [np.flatnonzero(row).tolist() for row in TRUTH]
    rows = {"text": [f"row {k}" for k in range(40)], "scores": SCORES.tolist(), "tags": tags}
    return datasets.Dataset.from_dict(rows, features=features)


def test_a_dataset_is_read_with_its_names() -> None:
    data = thresholds.read(dataset())
    np.testing.assert_array_equal(data.y_score, SCORES)
    assert data.y_score.dtype == np.float32
    np.testing.assert_array_equal(data.y_true.toarray(), TRUTH)
    assert data.label_names == NAMES
    assert data.left_out == {"text": "text"}


def test_rows_are_those_of_a_shuffled_and_filtered_dataset() -> None:
    order = np.random.default_rng(1).permutation(40)[:25]
    data = thresholds.read(dataset().select(order), key="text")
    np.testing.assert_array_equal(data.y_score, SCORES[order])
    assert data.keys is not None
    assert data.keys.tolist() == [f"row {k}" for k in order]


def test_no_row_becomes_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    given = dataset()
    monkeypatch.setattr(type(given), "__getitem__", lambda *_: pytest.fail("a row was made"))
    assert thresholds.read(given).y_score.shape == (40, 3)


def test_parts_are_ranges_of_rows_that_can_be_pickled() -> None:
    source = open_scores(dataset().shuffle(seed=2), Wanted(key="text"))
    parts = [pickle.loads(pickle.dumps(part)) for part in source.parts(30)]
    assert [part.n_samples for part in parts] == [10, 10, 10, 10]
    keys = [key for part in parts for key in part.keys().tolist()]
    assert keys == source.keys().tolist()


def test_a_dataset_may_be_the_truth_of_a_file(tmp_path: Any) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, label_names=np.array(NAMES), text=[f"row {k}" for k in range(40)])
    data = thresholds.read(tmp_path / "s.npz", truth=dataset().remove_columns("scores").shuffle(seed=3), key="text")
    np.testing.assert_array_equal(data.y_true.toarray(), TRUTH)


def test_other_objects_are_refused() -> None:
    both = datasets.DatasetDict({"train": dataset(), "test": dataset()})
    with pytest.raises(InputError, match="path is a dataset for each split, expected one of them: 'train', 'test'"):
        thresholds.read(both)
    with pytest.raises(InputError, match=r"path is IterableDataset, expected a datasets\.Dataset"):
        thresholds.read(dataset().to_iterable_dataset())
    with pytest.raises(InputError, match="has no rows, expected at least one"):
        thresholds.read(dataset().select([]))


def test_a_dataset_is_a_source_whatever_its_columns_are_called() -> None:
    rule = thresholds.fit_empirical(dataset())
    whole = thresholds.fit_empirical(TRUTH, SCORES, label_names=NAMES)
    assert rule.label_names == NAMES
    np.testing.assert_array_equal(rule.thresholds, whole.thresholds)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "make", [lambda one: datasets.DatasetDict({"train": one}), lambda one: one.to_iterable_dataset()]
)
def test_a_source_is_one_dataset_whose_length_is_known(make: Any) -> None:
    plain = dataset().rename_columns({"scores": "y_score", "tags": "y_true"})
    with pytest.raises(InputError, match=r"path is .*, expected"):
        thresholds.gather(make(plain))
