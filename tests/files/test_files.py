"""Files read with NumPy alone: `.npz`, `.npy` and `.jsonl`, whole and in blocks, and what is written."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import thresholds
from tests.words import flat
from thresholds import InputError, cli, files
from thresholds.files import Block, Source, Wanted, gather, open_scores

NAMES = ("cat", "dog", "emu")
RNG = np.random.default_rng(3)
SCORES = RNG.random((50, 3)).astype(np.float32)
TRUTH = (RNG.random((50, 3)) < 0.4).astype(np.uint8)
KEYS = np.array([f"row {k}" for k in range(50)])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 7 rows of three labels."""
    monkeypatch.setattr("thresholds.files.source.BLOCK_CELLS", 21)


def run(*arguments: object) -> int:
    """Call the command line in this process."""
    return cli.main([str(argument) for argument in arguments])


def csr(key: str, matrix: Any) -> dict[str, Any]:
    """The four arrays of a CSR matrix."""
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    return {f"{key}_{part}": np.asarray(value) for part, value in parts.items()}


def lines(path: Path, rows: Sequence[object]) -> Path:
    """Write lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def joined(source: Source) -> Block:
    """All blocks of a source, laid end to end."""
    blocks = list(source.blocks())
    parts = list(zip(*blocks, strict=True))

    def whole(part: Any) -> Any:
        if part[0] is None:
            return None
        return sparse.vstack(part).toarray() if sparse.issparse(part[0]) else np.concatenate(part)

    return Block(*map(whole, parts))


def dense(matrix: Any) -> Any:
    """A matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def check(source: Source, *, truth: bool = True, keys: bool = False) -> None:
    """Blocks, and the whole, are the data above."""
    data = gather(source)
    for scores, found in ((data.y_score, data.y_true), joined(source)[:2]):
        np.testing.assert_array_equal(dense(scores), SCORES)
        assert (found is None) == (not truth)
        if truth:
            np.testing.assert_array_equal(dense(found), TRUTH)
    if keys:
        assert joined(source).keys.tolist() == KEYS.tolist()
        assert source.keys().tolist() == KEYS.tolist()


# .npz


def test_a_stream_that_is_damaged_is_refused_without_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = np.random.default_rng(0).random((20_000, 3))
    np.savez_compressed(tmp_path / "s.npz", y_score=scores)
    with zipfile.ZipFile(tmp_path / "s.npz") as archive:
        start = archive.infolist()[0].header_offset
    damaged = bytearray((tmp_path / "s.npz").read_bytes())
    damaged[start + 200_000 : start + 200_100] = bytes(100)
    (tmp_path / "s.npz").write_bytes(damaged)
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.npz") == 1
    assert "s.npz cannot be read as a .npz file" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rule.json", "s.npz"]


# .npy and --truth


def test_a_pair_of_arrays_is_joined_by_row_order(tmp_path: Path) -> None:
    np.save(tmp_path / "scores.npy", SCORES)
    np.save(tmp_path / "truth.npy", TRUTH)
    source = open_scores(tmp_path / "scores.npy", truth_path=tmp_path / "truth.npy")
    check(source)
    assert source.notes == ("truth.npy is joined by row order; --key joins by a column",)
    assert isinstance(gather(source).y_score, np.memmap)


def test_the_command_line_says_that_rows_are_joined_by_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "scores.npy", SCORES)
    np.save(tmp_path / "truth.npy", TRUTH)
    (tmp_path / "labels.txt").write_text("cat\ndog\nemu\n")
    given = [tmp_path / "scores.npy", "--truth", tmp_path / "truth.npy", "--label-names", tmp_path / "labels.txt"]
    assert run("fit", *given, "--cv", "0", "-o", tmp_path / "rule.json") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "scores.npy: 50 rows, 3 labels, scores 'scores' (float32), truth 'truth of truth.npy'"
    assert out[1] == "truth.npy is joined by row order; --key joins by a column"
    rule = thresholds.load_rule(tmp_path / "rule.json")
    expected = thresholds.fit_empirical(TRUTH, SCORES, guard="auto")
    np.testing.assert_array_equal(rule.thresholds, expected.thresholds)
    assert rule.label_names == NAMES


# .jsonl

TAGS = [[NAMES[j] for j in np.flatnonzero(row)] for row in TRUTH]
POSITIONS = [np.flatnonzero(row).tolist() for row in TRUTH]
SHUFFLED = [dict(sorted(zip(NAMES, row, strict=True), key=lambda _: RNG.random())) for row in SCORES.tolist()]


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson"])
@pytest.mark.parametrize(
    ("scores", "truth", "wanted"),
    [
        (SCORES.tolist(), TAGS, Wanted(label_names=NAMES)),
        (SCORES.tolist(), POSITIONS, Wanted()),
        (SCORES.tolist(), TRUTH.tolist(), Wanted()),
        (SCORES.tolist(), TRUTH.astype(bool).tolist(), Wanted()),
        (SHUFFLED, TAGS, Wanted(label_names=NAMES)),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_lines_of_json(suffix: str, scores: Any, truth: Any, wanted: Wanted, tmp_path: Path) -> None:
    rows = [
        {"id": key, "p": p, "tags": tags, "text": "x"}
        for key, p, tags in zip(KEYS.tolist(), scores, truth, strict=True)
    ]
    path = lines(tmp_path / f"s.{suffix}", rows)
    source = open_scores(path, Wanted(key="id", label_names=wanted.label_names))
    check(source, keys=True)
    assert (source.score_key, source.truth_key) == ("p", "tags")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([[0], [], [0]], [[1], [0], [1]]),
        ([[0], [1], [0]], [[0], [1], [0]]),
        ([[False], [False], [False]], [[0], [0], [0]]),
        ([[0, 1], [1, 0], [0, 1]], [[0, 1], [1, 0], [0, 1]]),
        ([[0, 1], [1], [0, 1]], [[1, 1], [0, 1], [1, 1]]),
    ],
)
def test_few_labels_tell_positions_from_zeros_and_ones(tags: Any, expected: Any, tmp_path: Path) -> None:
    scores = SCORES[:3, : len(expected[0])].tolist()
    rows = [{"p": p, "tags": row} for p, row in zip(scores, tags, strict=True)]
    assert dense(gather(open_scores(lines(tmp_path / "s.jsonl", rows))).y_true).tolist() == expected


def test_positions_of_the_first_labels_are_no_zeros_and_ones(tmp_path: Path) -> None:
    rows = [{"p": p, "tags": tags} for p, tags in zip(SCORES.tolist(), [[0, 1], [], [1]], strict=False)]
    truth = gather(open_scores(lines(tmp_path / "s.jsonl", rows))).y_true
    assert truth.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_labels_of_json_take_their_names_from_the_first_line(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", [{"y_score": row, "y_true": []} for row in SHUFFLED])
    data = files.read_labelled(path)
    assert data.label_names == tuple(SHUFFLED[0])
    np.testing.assert_array_equal(data.y_score[:, [data.label_names.index(name) for name in NAMES]], SCORES)


def test_wide_keys_of_json(tmp_path: Path) -> None:
    rows = [
        {f"p/{name}": score for name, score in zip(NAMES, row, strict=True)}
        | {f"gold.{name}": int(cell) for name, cell in zip(NAMES[::-1], truth[::-1], strict=True)}
        for row, truth in zip(SCORES.tolist(), TRUTH, strict=True)
    ]
    source = open_scores(lines(tmp_path / "s.jsonl", rows), Wanted(scores="p", truth="gold"))
    check(source)
    assert source.label_names == NAMES


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"p": [0.5]}\n\n{"p": [0.25]}\n  \n')
    assert files.gather(files.open_scores(tmp_path / "s.jsonl")).y_score.tolist() == [[0.5], [0.25]]


def test_shards_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, rows in (("b", slice(20, 50)), ("a", slice(0, 20))):
        lines(
            folder / f"{name}.jsonl", [{"p": p, "t": t} for p, t in zip(SCORES[rows].tolist(), TAGS[rows], strict=True)]
        )
    (folder / ".hidden").touch()
    (folder / "_SUCCESS").touch()
    for path in (folder, f"{folder}/*.jsonl", f"{folder}/[ab].jsonl"):
        source = open_scores(path, Wanted(label_names=NAMES))
        check(source)
        assert source.about == "2 shards"


def test_a_pattern_is_read_in_order_whatever_the_disk_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(lines(tmp_path / f"{k}.jsonl", [{"p": [k / 4]}])) for k in range(4)]
    monkeypatch.setattr("thresholds.files.opening.glob", lambda _, recursive: [paths[k] for k in (2, 0, 3, 1)])
    assert gather(open_scores(tmp_path / "*.jsonl")).y_score.tolist() == [[0.0], [0.25], [0.5], [0.75]]


@pytest.mark.usefixtures("small_blocks")
def test_a_row_without_a_value_is_counted_in_the_whole_file(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"p": p} for p in SCORES.tolist()]
    rows[33]["p"] = [0.5, None, 0.5]
    with pytest.raises(InputError, match=r"^column 'p' of s.jsonl has no value at row 33, label 1, expected"):
        gather(open_scores(lines(tmp_path / "s.jsonl", rows)))


def test_empty_shards_of_json_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for k, part in enumerate((slice(0, 0), slice(0, 30), slice(0, 0), slice(30, 50))):
        rows = [{"p": p, "t": t} for p, t in zip(SCORES[part].tolist(), TAGS[part], strict=True)]
        lines(folder / f"{k}.jsonl", rows)
    source = open_scores(folder, Wanted(label_names=NAMES))
    check(source)
    assert source.about == "4 shards"


def test_two_stars_stand_for_folders_of_any_depth(tmp_path: Path) -> None:
    for name, part in (("a", slice(0, 20)), ("b/c", slice(20, 30)), ("d/e/f", slice(30, 50))):
        path = tmp_path / "gg" / name / "s.jsonl"
        path.parent.mkdir(parents=True)
        lines(path, [{"p": p, "t": t} for p, t in zip(SCORES[part].tolist(), TAGS[part], strict=True)])
    check(open_scores(tmp_path / "gg" / "**" / "*.jsonl", Wanted(label_names=NAMES)))


# Joining


def test_lists_beside_the_scores_are_no_truth_where_another_file_has_that(tmp_path: Path) -> None:
    rows = [{"p": p, "tokens": [5000, 7], "mask": [1, 1]} for p in SCORES.tolist()]
    lines(tmp_path / "s.jsonl", rows)
    lines(tmp_path / "t.jsonl", [{"tags": tags} for tags in TAGS])
    check(open_scores(tmp_path / "s.jsonl", Wanted(label_names=NAMES), truth_path=tmp_path / "t.jsonl"))
    lines(tmp_path / "s.jsonl", [row | {"y_true": [1]} for row in rows])
    check(open_scores(tmp_path / "s.jsonl", Wanted(label_names=NAMES), truth_path=tmp_path / "t.jsonl"))


def test_columns_of_known_labels_are_the_truth_whatever_else_there_is(tmp_path: Path) -> None:
    gold = [
        {"": k, "age": 30 + k, "tokens": [1]} | dict(zip(NAMES[::-1], row[::-1], strict=True))
        for k, row in enumerate(TRUTH.tolist())
    ]
    lines(tmp_path / "t.jsonl", gold[::-1])
    lines(tmp_path / "lists.jsonl", [{"": k, "p": p} for k, p in enumerate(SCORES.tolist())])
    lines(tmp_path / "wide.jsonl", [{"": k, **dict(zip(NAMES, p, strict=True))} for k, p in enumerate(SCORES.tolist())])
    wanted = Wanted(key="", label_names=NAMES)
    check(open_scores(tmp_path / "lists.jsonl", wanted, truth_path=tmp_path / "t.jsonl"))
    check(open_scores(tmp_path / "wide.jsonl", Wanted(key=""), truth_path=tmp_path / "t.jsonl"))
    lines(tmp_path / "t.jsonl", [{key: row[key] for key in ("", "age", "cat", "emu")} for row in gold])
    with pytest.raises(InputError, match=r"t.jsonl lacks 'dog' and has 'age', expected the same labels as the scores"):
        open_scores(tmp_path / "lists.jsonl", wanted, truth_path=tmp_path / "t.jsonl")


def test_truth_of_arrays_is_put_into_the_order_of_the_scores_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, label_names=NAMES)
    np.savez(tmp_path / "t.npz", y_true=TRUTH[:, ::-1], label_names=NAMES[::-1])
    check(open_scores(tmp_path / "s.npz", Wanted(), truth_path=tmp_path / "t.npz"))


BIG = 2**60 + np.arange(50)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (BIG, BIG.astype(np.uint64)),
        (BIG.astype(np.uint64) + np.uint64(2**63), BIG.astype(np.uint64) + np.uint64(2**63)),
        (np.arange(50, dtype=np.int8), np.arange(50, dtype=np.uint32)),
        (np.arange(50) - 25, np.array([str(k - 25) for k in range(50)])),
    ],
)
def test_whole_numbers_of_other_types_are_compared_exactly(first: Any, second: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, id=first)
    np.savez(tmp_path / "t.npz", y_true=TRUTH[::-1], id=second[::-1])
    check(open_scores(tmp_path / "s.npz", Wanted(key="id"), truth_path=tmp_path / "t.npz"))


def test_numbers_that_only_one_type_has_are_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES[:2], id=np.array([-1, 5]))
    np.savez(tmp_path / "t.npz", y_true=TRUTH[:2], id=np.array([2**64 - 1, 5], np.uint64))
    with pytest.raises(InputError, match=r"^key -1 of s.npz is missing in t.npz, expected"):
        open_scores(tmp_path / "s.npz", Wanted(key="id"), truth_path=tmp_path / "t.npz")


def test_zeros_at_the_end_of_text_tell_keys_apart(tmp_path: Path) -> None:
    lines(tmp_path / "s.jsonl", [{"id": key, "p": p} for key, p in zip(("a", "a\0"), SCORES.tolist(), strict=False)])
    lines(tmp_path / "t.jsonl", [{"id": key, "tags": tags} for key, tags in (("a\0", []), ("a", ["cat"]))])
    source = open_scores(tmp_path / "s.jsonl", Wanted(key="id", label_names=NAMES), truth_path=tmp_path / "t.jsonl")
    assert gather(source).y_true.toarray().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_truth_is_found_by_its_key(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(50)
    truth = [{"id": str(KEYS[k]), "tags": TAGS[k]} for k in order] + [{"id": "another", "tags": ["emu"]}]
    lines(tmp_path / "truth.jsonl", truth)
    lines(tmp_path / "scores.jsonl", [{"id": k, "p": p} for k, p in zip(KEYS.tolist(), SCORES.tolist(), strict=True)])
    np.savez(tmp_path / "scores.npz", y_score=SCORES, id=KEYS)
    np.savez(tmp_path / "truth.npz", y_true=TRUTH[order], id=KEYS[order])
    for scores in ("scores.jsonl", "scores.npz"):
        for gold in ("truth.jsonl", "truth.npz"):
            wanted = Wanted(key="id", label_names=NAMES)
            source = open_scores(tmp_path / scores, wanted, truth_path=tmp_path / gold)
            check(source, keys=True)
            more = ("left out of truth.jsonl: 1 row whose keys the scores do not have",)
            assert source.notes == (more if gold == "truth.jsonl" else ())


def test_whole_numbers_are_keys_too(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(50)
    np.savez(tmp_path / "scores.npz", y_score=SCORES, id=np.arange(50))
    np.savez(tmp_path / "truth.npz", y_true=TRUTH[order], id=order)
    lines(tmp_path / "truth.jsonl", [{"id": int(k), "tags": TAGS[k]} for k in order])
    for gold in ("truth.npz", "truth.jsonl"):
        wanted = Wanted(key="id", label_names=NAMES)
        check(open_scores(tmp_path / "scores.npz", wanted, truth_path=tmp_path / gold))


# What is left out


def test_what_has_no_role_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By every command, and under one name in JSON."""
    rows = [
        {"name": f"row {k}", "": k, "cat": p[0], "emu": p[2], "y_true_cat": t[0], "y_true_emu": t[2], "day": [k]}
        for k, (p, t) in enumerate(zip(SCORES.tolist(), TRUTH.tolist(), strict=True))
    ]
    lines(tmp_path / "s.jsonl", rows)
    rule = tmp_path / "rule.json"
    notes = [
        "every column of numbers is a label: 'cat', 'emu'",
        "left out: 'name' (text), '' (whole numbers), 'day' (lists of whole numbers)",
    ]
    commands = {
        "fit": [tmp_path / "s.jsonl", "-o", rule],
        "compare": [tmp_path / "s.jsonl"],
        "diagnose": [tmp_path / "s.jsonl", "--rule", rule],
    }
    for command, arguments in commands.items():
        assert run(command, *arguments) == 0
        told = notes[1:] if "--rule" in arguments else notes  # which knows what the labels are
        assert capsys.readouterr().out.splitlines()[1 : 1 + len(told)] == told, command
        if command != "fit":
            assert run(command, *arguments, "--json") == 0
            assert json.loads(capsys.readouterr().out)["notes"] == told
    assert run("predict", rule, tmp_path / "s.jsonl", "-o", tmp_path / "o.npz") == 0
    truth = ", 'y_true_cat' (whole numbers), 'y_true_emu' (whole numbers), 'day' (lists of whole numbers)"
    told = [f"left out: 'name' (text), '' (whole numbers){truth}"]
    assert " ".join(told) in flat(capsys.readouterr().out)
    assert run("diff", rule, rule, tmp_path / "s.jsonl") == 0
    assert flat(capsys.readouterr().out).startswith(" ".join(told))
    assert run("diff", rule, rule, tmp_path / "s.jsonl", "--json") == 0
    assert json.loads(capsys.readouterr().out)["notes"] == told


def test_truth_beside_the_scores_is_left_out_where_another_file_has_it(tmp_path: Path) -> None:
    rows = [{"p": p, "y_true_cat": 1, "y_true_emu": 0} for p in SCORES.tolist()]
    lines(tmp_path / "s.jsonl", rows)
    lines(tmp_path / "t.jsonl", [{"tags": tags, "age": k} for k, tags in enumerate(TAGS)])
    source = open_scores(tmp_path / "s.jsonl", Wanted(label_names=NAMES), truth_path=tmp_path / "t.jsonl")
    check(source)
    assert source.notes == (
        "left out: 'y_true_cat' (whole numbers), 'y_true_emu' (whole numbers)",
        "left out of t.jsonl: 'age' (whole numbers)",
        "t.jsonl is joined by row order; --key joins by a column",
    )


def test_arrays_without_a_role_are_left_out_of_both_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=TRUTH, id=KEYS, who=KEYS)
    np.savez(tmp_path / "t.npz", y_true=TRUTH, id=KEYS, calib_idx=[0])
    source = open_scores(tmp_path / "s.npz", Wanted(key="id"), truth_path=tmp_path / "t.npz")
    assert source.notes == (
        "left out: 'who' (<U6), 'y_true' (uint8)",
        "left out of t.npz: 'calib_idx' (int64)",
    )


def test_a_label_of_the_rule_that_is_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines(tmp_path / "s.jsonl", [{"cat": 0.5, "dog": "high"}])
    thresholds.FixedRule(0.5, 2, label_names=["cat", "dog"]).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.jsonl", "-o", tmp_path / "o.npz") == 1
    assert capsys.readouterr().err == (
        "thresholds: error: s.jsonl has no scores of 'dog', expected a column for each label of the rule"
        " (column 'dog' of s.jsonl is text: row 0 has 'high')\n"
    )


def test_keys_that_some_rows_lack_may_differ_between_shards(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    lines(tmp_path / "shards" / "a.jsonl", [{"cat": 0.5}, {"cat": 0.25, "note": "new"}])
    lines(tmp_path / "shards" / "b.jsonl", [{"cat": 0.75}, {"cat": 0.5, "comment": "old"}])
    assert gather(open_scores(tmp_path / "shards")).y_score.tolist() == [[0.5], [0.25], [0.75], [0.5]]


# Writing


@pytest.mark.parametrize("csr_scores", [False, True])
@pytest.mark.usefixtures("small_blocks")
def test_predict_in_blocks_is_predict_at_once(csr_scores: bool, tmp_path: Path) -> None:
    rule = thresholds.ThresholdRule([0.5, 0.2, 0.8], label_names=NAMES)
    rule.save(tmp_path / "rule.json")
    stored = sparse.csr_array(np.where(SCORES > 0.3, SCORES, 0))
    np.savez_compressed(tmp_path / "s.npz", id=KEYS, **(csr("y_score", stored) if csr_scores else {"y_score": SCORES}))
    for name in ("out.npz", "out.jsonl"):
        assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "--key", "id", "-o", tmp_path / name) == 0
    expected = dense(rule.predict(stored if csr_scores else SCORES))
    written = np.load(tmp_path / "out.npz")
    parts = tuple(written[f"y_pred_{part}"] for part in ("data", "indices", "indptr"))
    np.testing.assert_array_equal(sparse.csr_array(parts, shape=written["y_pred_shape"]).toarray(), expected)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["labels"] for row in rows] == thresholds.data.label_lists.to_label_lists(expected, NAMES)
    assert [row["id"] for row in rows] == KEYS.tolist()


@pytest.mark.usefixtures("small_blocks")
def test_predict_names_the_row_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = SCORES.astype(np.float64)
    scores[33, 1] = np.nan
    np.savez_compressed(tmp_path / "s.npz", y_score=scores)
    stored = sparse.csr_array(scores)
    np.savez_compressed(tmp_path / "csr.npz", **csr("y_score", stored))
    thresholds.ThresholdRule([0.5, 0.2, 0.8], label_names=NAMES).save(tmp_path / "rule.json")
    for name in ("s.npz", "csr.npz"):
        assert run("predict", tmp_path / "rule.json", tmp_path / name, "-o", tmp_path / "out.jsonl") == 1
        assert "y_score has NaN at row 33, label 'dog', expected real scores" in capsys.readouterr().err
    scores[33, 1] = 1.5
    np.savez_compressed(tmp_path / "s.npz", y_score=scores)
    thresholds.InstanceRule(label_names=NAMES).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.jsonl") == 1
    assert "y_score has 1.5 at row 33, label 'dog', expected values in [0, 1] (--logits" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


# Logits and names


@pytest.mark.parametrize(("dtype", "found"), [("f2", "f4"), ("f4", "f8"), ("f8", "f8"), ("i4", "f8")])
def test_logits(dtype: str, found: str, tmp_path: Path) -> None:
    logits = np.array([[0.0, 1, -1], [-800, 800, -np.inf if dtype[0] == "f" else -7]]).astype(dtype)
    np.save(tmp_path / "z.npy", logits)
    data = gather(open_scores(tmp_path / "z.npy", logits=True))
    assert data.y_score.dtype == found
    with np.errstate(over="ignore"):
        expected = 1 / (1 + np.exp(-logits.astype(np.float64)))
    np.testing.assert_allclose(data.y_score, expected, rtol=1e-6 if found == "f4" else 1e-15, atol=0)


@pytest.mark.usefixtures("small_blocks")
def test_some_logits_may_lie_between_0_and_1(tmp_path: Path) -> None:
    for row in (0, 49):
        logits = np.full((50, 3), 0.5)
        logits[row, 0] = -1
        np.save(tmp_path / "z.npy", logits)
        assert gather(open_scores(tmp_path / "z.npy", logits=True)).y_score[row, 1] == 1 / (1 + np.exp(-0.5))


def test_a_few_logits_may_all_lie_between_0_and_1(tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", np.full((33, 3), 0.5))
    assert gather(open_scores(tmp_path / "z.npy", logits=True)).y_score[0, 0] == 1 / (1 + np.exp(-0.5))
    np.save(tmp_path / "z.npy", np.full((34, 3), 0.5))
    with pytest.raises(InputError, match=r"all scores in \[0, 1\] with --logits"):
        gather(open_scores(tmp_path / "z.npy", logits=True))


@pytest.mark.parametrize("word", ["inf", "nan"])
def test_logits_that_are_no_numbers_are_refused_like_other_scores(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logits = 10 * SCORES - 5
    logits[33, 1] = float(word)
    np.savez(tmp_path / "z.npz", y_score=logits, y_true=TRUTH)
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    said = f"y_score has {'+inf' if word == 'inf' else 'NaN'} at row 33, label 1"
    for command in (["fit"], ["predict", tmp_path / "rule.json"]):
        assert run(*command, tmp_path / "z.npz", "--logits", "-o", tmp_path / "out.npz") == 1
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [("n.txt", "cat\ndog\nemu\n"), ("n.txt", "\ufeffcat\r\ndog \r\nemu\n\n"), ("n.json", '["cat", "dog", "emu"]')],
)
def test_label_names_from_a_file(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8", newline="")
    assert files.read_label_names(tmp_path / name) == NAMES


@pytest.mark.parametrize("n_rows", [40, 60])
def test_truth_of_other_rows_is_refused_where_labels_are_not_looked_at_too(
    n_rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=np.resize(TRUTH, (n_rows, 3)))
    for more in ([], ["--expected"]):
        assert run("fit", tmp_path / "s.npz", *more, "-o", tmp_path / "rule.json") == 1
        said = f"truth 'y_true' of s.npz has shape ({n_rows}, 3), expected (50, 3), that of the scores 'y_score'"
        assert capsys.readouterr().err == f"thresholds: error: {said}\n"
    assert not (tmp_path / "rule.json").exists()


def test_no_file_that_is_read_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES, y_true=TRUTH)
    (tmp_path / "names.jsonl").write_text("cat\ndog\nemu\n")
    (tmp_path / "names.json").write_text('["cat", "dog", "emu"]')
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.jsonl")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    fit, predict = ("fit", tmp_path / "s.npz"), ("predict", tmp_path / "rule.jsonl", tmp_path / "s.npz")
    for command, name in ((fit, "names.json"), (predict, "names.jsonl")):
        assert run(*command, "--label-names", tmp_path / name, "-o", tmp_path / name) == 1
        assert "which is read, expected another output" in capsys.readouterr().err
    assert run(*predict, "-o", tmp_path / "rule.jsonl") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_lines_of_label_names_end_with_a_line_feed(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_bytes("a\x0cx\r\nb\u2028c\r\n".encode())
    assert files.read_label_names(tmp_path / "names.txt") == ("a\x0cx", "b\u2028c")


def test_long_names_of_labels_are_shortened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = np.array(["n" * 5000, "o" * 5000, "p" * 5000])
    np.savez(tmp_path / "s.npz", y_score=SCORES, label_names=names)
    thresholds.FixedRule(0.5, 3, label_names=["cat", "dog", "emu"]).save(tmp_path / "rule.json")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.npz") == 1
    assert len(capsys.readouterr().err) < 1000
    with pytest.raises(InputError, match="a label that label_names does not know") as refused:
        thresholds.from_label_lists([["q" * 5000]], ["cat"])
    assert len(str(refused.value)) < 1000


def test_a_full_disk_is_named_by_the_file_that_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "s.npz", y_score=SCORES)
    thresholds.FixedRule(0.5, 3).save(tmp_path / "rule.json")
    (tmp_path / "out.jsonl").symlink_to("/dev/full")
    assert run("predict", tmp_path / "rule.json", tmp_path / "s.npz", "-o", tmp_path / "out.jsonl") == 1
    assert capsys.readouterr().err == f"thresholds: error: {tmp_path / 'out.jsonl'}: No space left on device\n"
