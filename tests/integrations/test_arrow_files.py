"""Files that pyarrow reads: parquet, csv, and datasets that Hugging Face's library saved."""

import gzip
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.words import flat
from thresholds import InputError, cli, files
from thresholds.files import Wanted, gather, open_scores

pa = pytest.importorskip("pyarrow", reason="make test-integrations installs pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="make test-integrations installs pyarrow")

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(3)
SCORES = RNG.random((50, 3)).astype(np.float32)
TRUTH = (RNG.random((50, 3)) < 0.4).astype(np.uint8)
TAGS = [[NAMES[j] for j in np.flatnonzero(row)] for row in TRUTH]
POSITIONS = [np.flatnonzero(row).tolist() for row in TRUTH]
IDS = [f"row {k}" for k in range(50)]
SOME = slice(0, 50)


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def fixed(matrix: Any, type_: Any = None) -> Any:
    """Lists that are all of one length."""
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1), type_), matrix.shape[1])


def wide(prefix: str, matrix: Any, names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    """A column for each label."""
    return {f"{prefix}{name}": matrix[:, j] for j, name in enumerate(names)}


def check(path: Any, wanted: Wanted | None = None, scores: Any = SCORES, **more: Any) -> files.ScoreFile:
    """A file has the data above."""
    data = gather(open_scores(path, wanted or Wanted(), **more))
    found = data.y_true.toarray() if hasattr(data.y_true, "toarray") else data.y_true
    np.testing.assert_array_equal(data.y_score, scores)
    np.testing.assert_array_equal(found, TRUTH)
    return data


# Parquet

LISTS = {
    "lists": pa.array(SCORES.tolist(), pa.list_(pa.float32())),
    "large lists": pa.array(SCORES.tolist(), pa.large_list(pa.float32())),
    "fixed lists": fixed(SCORES),
}
LABELS = {
    "names": pa.array(TAGS),
    "large names": pa.array(TAGS, pa.large_list(pa.large_string())),
    "names by number": pa.array(TAGS, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "positions": pa.array(POSITIONS, pa.list_(pa.int64())),
    "0/1": fixed(TRUTH),
    "0/1 in lists": pa.array(TRUTH.tolist(), pa.list_(pa.int8())),
    "bools": pa.array(TRUTH.astype(bool).tolist()),
}


@pytest.mark.parametrize("scores", LISTS)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("rows_in_group", [7, 1000])
def test_list_columns(
    scores: str, labels: str, rows_in_group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thresholds.files.source.BLOCK_CELLS", 33)
    table = pa.table({"id": IDS, "scores": LISTS[scores], "tags": LABELS[labels], "text": IDS})
    parquet.write_table(table, tmp_path / "s.parquet", row_group_size=rows_in_group)
    data = check(tmp_path / "s.parquet", Wanted(label_names=NAMES))
    assert (data.score_key, data.truth_key, data.label_names) == ("scores", "tags", NAMES)
    if "names" not in labels:
        assert check(tmp_path / "s.parquet").label_names is None


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_scores_keep_their_type(dtype: str, tmp_path: Path) -> None:
    scores = (100 * SCORES).astype(dtype)
    parquet.write_table(pa.table({"y_score": fixed(scores), "y_true": TAGS}), tmp_path / "s.parquet")
    data = check(tmp_path / "s.parquet", Wanted(label_names=NAMES), scores)
    assert data.y_score.dtype == dtype


@pytest.mark.parametrize("separator", "_.:/")
def test_wide_columns_are_matched_by_name(separator: str, tmp_path: Path) -> None:
    truth = wide(f"y_true{separator}", TRUTH[:, ::-1], NAMES[::-1])
    table = pa.table({"id": range(50), **truth, **wide(f"y_score{separator}", SCORES)})
    parquet.write_table(table, tmp_path / "s.parquet")
    assert check(tmp_path / "s.parquet").label_names == NAMES
    names = ("dog", "emu", "cat")
    data = gather(open_scores(tmp_path / "s.parquet", Wanted(label_names=names)))
    np.testing.assert_array_equal(data.y_score, SCORES[:, [1, 2, 0]])
    np.testing.assert_array_equal(data.y_true, TRUTH[:, [1, 2, 0]])


def test_wide_columns_without_a_prefix_are_all_numbers_but_keys(tmp_path: Path) -> None:
    table = pa.table({"id": range(50), "who": range(50), **wide("", SCORES), "text": IDS, "tags": TAGS})
    parquet.write_table(table, tmp_path / "s.parquet")
    assert check(tmp_path / "s.parquet", Wanted(key="id", groups="who")).label_names == NAMES
    check(tmp_path / "s.parquet", Wanted(label_names=NAMES))
    with pytest.raises(InputError, match=r"^s.parquet has whole numbers in 'id', 'who' beside scores"):
        open_scores(tmp_path / "s.parquet")


def test_label_names_in_the_metadata(tmp_path: Path) -> None:
    table = pa.table({"y_score": fixed(SCORES), "y_true": TAGS})
    parquet.write_table(table.replace_schema_metadata({"label_names": json.dumps(NAMES)}), tmp_path / "s.parquet")
    assert check(tmp_path / "s.parquet").label_names == NAMES


def shards(folder: Path, columns: dict[str, Any], cuts: tuple[int, ...] = (20, 21)) -> Path:
    """Write a table in shards."""
    folder.mkdir(exist_ok=True)
    table, bounds = pa.table(columns), (0, *cuts, 50)
    for k, (start, end) in enumerate(pairwise(bounds)):
        parquet.write_table(table.slice(start, end - start), folder / f"part-{k}.parquet")
    return folder


def test_a_folder_and_a_pattern_of_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shards(tmp_path / "shards", {"id": IDS, "scores": fixed(SCORES.astype(np.float16)), "tags": TAGS})
    (tmp_path / "labels.txt").write_text("cat\ndog\nemu\n")
    for path in (folder, folder / "*.parquet"):
        given = [path, "--label-names", tmp_path / "labels.txt"]
        assert run("fit", *given, "-o", tmp_path / "rule.json") == 0
        said = "3 shards, 50 rows, 3 labels, scores 'scores' (float16), truth 'tags'"
        assert said in flat(capsys.readouterr().out)
        assert run("predict", tmp_path / "rule.json", path, "--key", "id", "-o", tmp_path / "out.parquet") == 0
        assert "3 shards, 50 rows, 3 labels, scores 'scores' (float16)" in flat(capsys.readouterr().out)
        assert open_scores(path, Wanted(label_names=NAMES)).n_samples == 50
        rule, written = thresholds.load_rule(tmp_path / "rule.json"), parquet.read_table(tmp_path / "out.parquet")
        expected = thresholds.fit_empirical(TRUTH, SCORES.astype(np.float16), guard="auto")
        np.testing.assert_array_equal(rule.thresholds, expected.thresholds)
        assert written.schema.field("labels").type == pa.list_(pa.string())
        predicted = rule.predict(SCORES.astype(np.float16))
        assert written["labels"].to_pylist() == [[NAMES[j] for j in np.flatnonzero(row)] for row in predicted]
        assert written["id"].to_pylist() == IDS


def test_decisions_without_names_are_positions(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES)
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.parquet") == 0
    written = parquet.read_table(tmp_path / "out.parquet")
    assert written.schema.field("labels").type == pa.list_(pa.int32())
    assert written["labels"].to_pylist() == [np.flatnonzero(row).tolist() for row in SCORES >= 0.5]


def test_empty_lists_of_no_type_in_a_shard(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, rows in (("a", slice(0, 1)), ("b", slice(1, 3))):
        tags = pa.array([[]] if name == "a" else [["cat"], []])
        parquet.write_table(pa.table({"y_score": fixed(SCORES[rows]), "y_true": tags}), folder / f"{name}.parquet")
    for first in ("a", "b"):
        data = gather(open_scores(folder, Wanted(label_names=NAMES)))
        assert data.y_true.toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
        (folder / f"{first}.parquet").rename(folder / f"{'c' if first == 'a' else 'd'}.parquet")
        if first == "a":
            data = gather(open_scores(folder, Wanted(label_names=NAMES)))
            assert data.y_true.toarray().tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
            break


def test_truth_in_another_folder_is_found_by_its_key(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(50)
    scores = shards(tmp_path / "scores", {"id": IDS, **wide("p_", SCORES)})
    gold = shards(tmp_path / "gold", {"id": [IDS[k] for k in order], "labels": [TAGS[k] for k in order]}, (9,))
    check(scores, Wanted(scores="p", key="id"), truth_path=gold)
    table = pa.table({"id": [IDS[k] for k in order], **wide("", TRUTH[order][:, ::-1], NAMES[::-1])})
    parquet.write_table(table, tmp_path / "wide.parquet")
    check(scores, Wanted(scores="p", key="id"), truth_path=tmp_path / "wide.parquet")


# csv


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_csv(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"s.{suffix}"
    header = ["id", *(f"y_score_{name}" for name in NAMES), *(f"y_true_{name}" for name in NAMES[::-1]), "note"]
    rows = [",".join(header)]
    scores = SCORES.astype(np.float64)
    scores[0] = [1, 0, 1]
    for key, p, t in zip(IDS, scores, TRUTH, strict=True):
        first = ["1", "0", "1"] if not rows[1:] else [repr(float(x)) for x in p]
        rows.append(",".join([key, *first, *map(str, t[::-1]), '"a, b"']))
    text = "\n".join(rows) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    data = check(path, scores=scores)
    assert data.y_score.dtype == np.float64
    assert data.label_names == NAMES


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
@pytest.mark.parametrize("n_rows", [3, 60_000], ids=["one block", "many blocks"])
def test_cells_of_csv_may_have_line_ends_and_marks(n_rows: int, suffix: str, tmp_path: Path) -> None:
    """Marks within a cell that does not begin with one are letters, and need not be even."""
    rows = [f'0.5,0.25,"two\nlines, ""{k}"""\n' for k in range(n_rows)]
    rows += [f'0,0,"{140_000 * "x"}"\n', '1,0.75,5" pipe\n']
    text = ("cat,dog,note\n" + "".join(rows)).encode()
    path = tmp_path / f"s.{suffix}"
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    scores = gather(open_scores(path)).y_score
    assert scores.shape == (n_rows + 2, 2)
    assert scores[-1].tolist() == [1, 0.75]


def test_keys_of_csv_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.csv").write_text("id,cat,dog\n007,0.5,0.25\n7,0.75,0.5\n")
    (tmp_path / "t.jsonl").write_text('{"id": "7", "tags": ["cat"]}\n{"id": "007", "tags": ["dog"]}\n')
    data = gather(open_scores(tmp_path / "s.csv", Wanted(key="id"), truth_path=tmp_path / "t.jsonl"))
    assert data.y_true.toarray().tolist() == [[0, 1], [1, 0]]
    thresholds.FixedRule(0.5, 2).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.csv", "--key", "id", "-o", tmp_path / "o.jsonl") == 0
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert rows == [{"id": "007", "labels": ["cat"]}, {"id": "7", "labels": ["cat", "dog"]}]


def test_shards_of_csv_may_have_whole_numbers_in_one_and_others_in_another(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "a.csv").write_text("cat,dog\n1,0\n")
    (folder / "b.csv").write_text("cat,dog\n0.5,0.25\n")
    assert gather(open_scores(folder)).y_score.tolist() == [[1, 0], [0.5, 0.25]]


def test_the_index_that_pandas_writes_is_a_key_without_a_name(tmp_path: Path) -> None:
    for name, matrix in (("s.csv", SCORES), ("t.csv", TRUTH[::-1])):
        rows = [
            f"{49 - k if name == 't.csv' else k},{','.join(map(str, row))}" for k, row in enumerate(matrix.tolist())
        ]
        (tmp_path / name).write_text("\n".join([f",{','.join(NAMES)}", *rows]) + "\n")
    check(tmp_path / "s.csv", Wanted(key=""), SCORES.astype(np.float64), truth_path=tmp_path / "t.csv")
    (tmp_path / "labels.txt").write_text("\n".join(NAMES))
    given = [tmp_path / "s.csv", "--truth", tmp_path / "t.csv", "--label-names", tmp_path / "labels.txt", "--key", ""]
    assert run("fit", *given, "-o", tmp_path / "rule.json") == 0
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.csv", "--key", "", "-o", tmp_path / "o.npz") == 0
    assert np.load(tmp_path / "o.npz")[""].tolist() == [str(k) for k in range(50)]


def test_csv_with_a_header_and_rows_longer_than_a_megabyte(tmp_path: Path) -> None:
    names = tuple(500_000 * letter for letter in "abc")
    (tmp_path / "s.csv").write_text(f"{','.join(names)}\n0.5,0.25,1.{'0' * 2_500_000}\n")
    data = gather(open_scores(tmp_path / "s.csv"))
    assert data.label_names == names
    assert data.y_score.tolist() == [[0.5, 0.25, 1.0]]


def test_csv_has_the_decisions_of_the_float32_scores_it_was_written_from(tmp_path: Path) -> None:
    scores = np.round(RNG.random((400, 3)), 3).astype(np.float32)
    truth = (RNG.random((400, 3)) < scores).astype(np.uint8)
    fitted = thresholds.fit_empirical(truth, scores, placement="score", label_names=NAMES)
    fitted.save(tmp_path / "rule.json")
    np.savez(tmp_path / "s.npz", y_score=scores)
    rows = [",".join(map(str, row)) for row in scores]
    (tmp_path / "s.csv").write_text("\n".join([",".join(NAMES), *rows]) + "\n")
    assert (fitted.predict(scores) != fitted.predict(np.loadtxt(rows, delimiter=","))).any()
    for name in ("s.npz", "s.csv"):
        assert run("predict", tmp_path / "rule.json", tmp_path / name, "-o", tmp_path / f"{name}.jsonl") == 0
    assert (tmp_path / "s.csv.jsonl").read_text() == (tmp_path / "s.npz.jsonl").read_text()


# Keys

KEYS = {
    "text": pa.array(IDS),
    "large text": pa.array(IDS, pa.large_string()),
    "text views": pa.array(IDS, pa.string_view()),
    "text by number": pa.array(IDS).dictionary_encode(),
    "int8": pa.array(range(50), pa.int8()),
    "uint64": pa.array([2**64 - 1 - k for k in range(50)], pa.uint64()),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_join_and_are_carried_along(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.files.source.BLOCK_CELLS", 33)
    keys = KEYS[kind]
    columns = {"id": keys, **wide("p_", SCORES)}
    try:
        parquet.write_table(pa.table(columns), tmp_path / "s.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip(f"this pyarrow writes no {kind}")
    order = np.random.default_rng(1).permutation(50)
    values = keys.to_pylist()
    ids = pa.array([values[k] for k in order], keys.type if kind == "uint64" else None)
    parquet.write_table(pa.table({"id": ids, "labels": [TAGS[k] for k in order]}), tmp_path / "t.parquet")
    check(tmp_path / "s.parquet", Wanted(scores="p", key="id"), truth_path=tmp_path / "t.parquet")
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    given = ["predict", tmp_path / "rule.json", tmp_path / "s.parquet", "--score-column", "p", "--key", "id"]
    for name in ("o.parquet", "o.npz", "o.jsonl"):
        assert run(*given, "-o", tmp_path / name) == 0
    assert parquet.read_table(tmp_path / "o.parquet")["id"].to_pylist() == values
    assert np.load(tmp_path / "o.npz")["id"].tolist() == values
    assert [json.loads(line)["id"] for line in (tmp_path / "o.jsonl").read_text().splitlines()] == values


# Datasets

FEATURES = {
    "Sequence": {"feature": {"names": list(NAMES), "_type": "ClassLabel"}, "length": -1, "_type": "Sequence"},
    "List": {"feature": {"names": list(NAMES), "_type": "ClassLabel"}, "_type": "List"},
    "a list": [{"names": list(NAMES), "_type": "ClassLabel"}],
}


def dataset(folder: Path, feature: Any) -> Path:
    """What `save_to_disk` writes: two Arrow streams and two descriptions."""
    folder.mkdir(parents=True)
    table = pa.table({"scores": fixed(SCORES.astype(np.float16)), "labels": pa.array(POSITIONS, pa.list_(pa.int64()))})
    streams = []
    for k, rows in enumerate((slice(0, 30), slice(30, 50))):
        streams.append(f"data-0000{k}-of-00002.arrow")
        part = table.slice(rows.start, rows.stop - rows.start)
        with pa.ipc.new_stream(str(folder / streams[-1]), table.schema) as writer:
            writer.write_table(part, max_chunksize=11)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in streams]}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": {"scores": {}, "labels": feature}}))
    return folder


@pytest.mark.parametrize("kind", FEATURES)
def test_datasets(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.files.source.BLOCK_CELLS", 9)
    data = check(dataset(tmp_path / "d", FEATURES[kind]), scores=SCORES.astype(np.float16))
    assert data.label_names == NAMES
    assert data.name == "d"
    names = ("dog", "emu", "cat")
    path = tmp_path / "d"
    moved = gather(open_scores(path, Wanted(label_names=names)))
    assert moved.label_names == names
    np.testing.assert_array_equal(moved.y_true.toarray(), TRUTH[:, [1, 2, 0]])


@pytest.mark.parametrize("kind", ["list_view", "large_list_view"])
def test_lists_that_lie_anywhere(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thresholds.files.source.BLOCK_CELLS", 33)
    view = getattr(pa, kind)
    columns = {"p": pa.array(SCORES.tolist(), view(pa.float32())), "tags": pa.array(TAGS, view(pa.string()))}
    folder = tmp_path / "d"
    folder.mkdir()
    with pa.ipc.new_stream(str(folder / "a.arrow"), pa.table(columns).schema) as writer:
        writer.write_table(pa.table(columns))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    assert check(folder, Wanted(label_names=NAMES)).y_score.dtype == np.float32


def test_class_labels_in_the_metadata_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"scores": fixed(SCORES), "labels": pa.array(POSITIONS, pa.list_(pa.int64()))})
    about = {"huggingface": json.dumps({"info": {"features": {"labels": FEATURES["List"]}}})}
    parquet.write_table(table.replace_schema_metadata(about), tmp_path / "s.parquet")
    assert check(tmp_path / "s.parquet").label_names == NAMES


def test_a_folder_of_splits_is_refused_with_their_names(tmp_path: Path) -> None:
    dataset(tmp_path / "d" / "validation", FEATURES["List"])
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "validation"]}')
    with pytest.raises(InputError, match=r"holds a dataset for each split, expected one of them: .*/d/validation$"):
        open_scores(tmp_path / "d")
    check(tmp_path / "d" / "validation", scores=SCORES.astype(np.float16))


def test_without_pyarrow_one_sentence_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(pa.table({"y_score": fixed(SCORES)}), tmp_path / "s.parquet")
    (tmp_path / "s.csv").write_text("cat,dog\n1,0\n")
    np.savez(tmp_path / "s.npz", y_score=SCORES)
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    out = tmp_path / "out"
    out.mkdir()
    for file, name in (("s.parquet", "o.npz"), ("s.csv", "o.npz"), ("s.npz", "o.parquet")):
        assert run("predict", tmp_path / "rule.json", tmp_path / file, "-o", out / name) == 1
        err = capsys.readouterr().err
        assert "needs pyarrow" in err
        assert "pip install pyarrow" in err
    assert list(out.iterdir()) == []
