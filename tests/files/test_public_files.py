"""Files as other programs write them, and as people publish them: read right, or refused in a sentence that helps."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.naive.exhaustive import best_known_macro
from tests.pets import NAMES, SCORES, TRUTH
from tests.words import flat
from thresholds import cli

pytestmark = pytest.mark.usefixtures("folder")


def write(name: str, *lines: str) -> None:
    """Write lines of text."""
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_table(name: str, header: Sequence[str], *rows: Iterable[object]) -> None:
    """Write a csv."""
    write(name, ",".join(header), *(",".join(map(str, row)) for row in rows))


def write_objects(name: str, *rows: object) -> None:
    """Write lines of JSON."""
    write(name, *map(json.dumps, rows))


def objective(*arguments: str) -> float:
    """The macro F1 that a fit to these files claims, without folds and guard."""
    status = cli.main(["fit", *arguments, "--guard", "none", "--cv", "0", "-o", "rule.json"])
    assert status == 0
    claimed = thresholds.load_rule("rule.json").objective
    assert claimed is not None
    return claimed


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said of files that no rule can be fitted to: one sentence, and nothing is written."""
    assert cli.main(["fit", *arguments, "-o", "rule.json"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert not Path("rule.json").exists()
    return err


# Names beside scores

RANKED = [
    {"text": "a", "labels": ["sport", "news", "art"], "scores": [0.9, 0.3, 0.1], "gold": ["sport"]},
    {"text": "b", "labels": ["art", "news", "sport"], "scores": [0.8, 0.6, 0.2], "gold": ["art", "news"]},
    {"text": "c", "labels": ["news", "sport", "art"], "scores": [0.7, 0.4, 0.3], "gold": ["news"]},
    {"text": "d", "labels": ["sport", "art", "news"], "scores": [0.6, 0.5, 0.2], "gold": ["sport"]},
]


def test_labels_of_a_zero_shot_classifier_stand_beside_their_scores_likeliest_first() -> None:
    """Sport has 0.9, 0.2, 0.4, 0.6 in the rows, of 1, 0, 0, 1, and so on: all labels are parted by a cut."""
    write("names.txt", "sport", "news", "art")
    write_objects("rows.jsonl", *RANKED)
    asked = ["--label-names", "names.txt", "--truth-column", "gold", "--score-column", "scores"]
    assert objective("rows.jsonl", *asked) == 1.0


def test_a_text_classifier_gives_each_row_a_list_of_labels_with_scores() -> None:
    write_objects(
        "rows.jsonl",
        {"id": 1, "gold": ["joy"], "predictions": [{"label": "joy", "score": 0.9}, {"label": "fear", "score": 0.2}]},
        {"id": 2, "gold": ["fear"], "predictions": [{"label": "fear", "score": 0.7}, {"label": "joy", "score": 0.1}]},
    )
    assert objective("rows.jsonl", "--truth-column", "gold", "--score-column", "predictions") == 1.0


def test_shards_may_name_their_labels_in_another_order() -> None:
    Path("all").mkdir()
    for number, (rows, order) in enumerate([(range(4), (0, 1, 2)), (range(4, 7), (2, 0, 1))]):
        truth = [{NAMES[label]: int(TRUTH[row, label]) for label in order} for row in rows]
        scores = [{NAMES[label]: SCORES[row, label] for label in order[::-1]} for row in rows]
        pairs = zip(truth, scores, strict=True)
        write_objects(f"all/{number}.jsonl", *({"y_true": y_true, "y_score": y_score} for y_true, y_score in pairs))
    assert objective("all") == best_known_macro(TRUTH, SCORES)


def test_a_detector_numbers_its_labels_and_writes_a_detection_a_line() -> None:
    """Label 18 has 0.9 where it is true and 0.95 where it is not: F1 is 2/3. Label 3 is parted by a cut."""
    write_objects(
        "s.jsonl",
        {"image_id": 1, "category_id": 18, "score": 0.9},
        {"image_id": 1, "category_id": 3, "score": 0.2},
        {"image_id": 2, "category_id": 3, "score": 0.8},
        {"image_id": 2, "category_id": 18, "score": 0.95},
    )
    write_objects("t.jsonl", {"image_id": 1, "category_id": 18}, {"image_id": 2, "category_id": 3})
    asked = ["--key", "image_id", "--label-column", "category_id"]
    assert objective("s.jsonl", "--truth", "t.jsonl", *asked) == pytest.approx((1 + 2 / 3) / 2)


# Truth as it is published


def test_verified_labels_have_a_line_and_others_were_not_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the known cells, cat has 0.9 of 1 and 0.6 of 0, dog 0.8 of 1 and 0.4 of 0; others would lower both."""
    scores = [("i1", "cat", 0.9), ("i1", "dog", 0.4), ("i2", "dog", 0.8)]
    scores += [("i2", "cat", 0.95), ("i3", "cat", 0.6), ("i3", "dog", 0.85)]
    write_table("s.csv", ["id", "label", "score"], *scores)
    verified = [("i1", "cat", 1), ("i1", "dog", 0), ("i2", "dog", 1), ("i3", "cat", 0)]
    write_table("t.csv", ["id", "label", "y_true"], *verified)
    assert objective("s.csv", "--truth", "t.csv", "--truth-column", "y_true", "--unknown", "nan") == 1.0
    assert "truth of 2 of 6 cells (33 %) is not known" in flat(capsys.readouterr().out)


def test_rows_that_nobody_labelled_are_minus_one_and_keys_come_in_another_order() -> None:
    truth = TRUTH.copy()
    truth[[1, 4]] = -1
    write_table("s.csv", ["id", *NAMES], *((f"{row:04x}", *SCORES[row]) for row in range(7)))
    write_table("t.csv", ["id", *NAMES], *((f"{row:04x}", *truth[row]) for row in (3, 6, 0, 5, 1, 2, 4)))
    found = objective("s.csv", "--truth", "t.csv", "--key", "id", "--unknown=-1")
    assert found == best_known_macro(truth, SCORES, truth >= 0)


def test_groups_may_stand_in_the_table_of_the_truth() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((24, 2)) < 0.5).astype(int)
    scores = np.round(0.5 * truth + 0.5 * rng.random((24, 2)), 3)
    write_table("s.csv", ["exam", "AF", "SB"], *((row, *scores[row]) for row in range(24)))
    write_table("t.csv", ["exam", "patient", "AF", "SB"], *((row, f"p{row // 3}", *truth[row]) for row in range(24)))
    asked = ["--truth", "t.csv", "--key", "exam", "--groups", "patient", "-o", "rule.json"]
    assert cli.main(["fit", "s.csv", *asked]) == 0
    rule: Any = thresholds.load_rule("rule.json")
    assert "group" in rule.out_of_fold.how


@pytest.mark.parametrize(
    ("names", "separator", "cells"),
    [
        (["Mass", "Edema"], "|", ["Mass|Edema", "Mass", ""]),
        (["Guitar", "Voice"], ",", ['"Guitar,Voice"', "Voice", "Guitar"]),
    ],
)
def test_all_labels_of_a_row_in_one_cell_are_parted_by_an_option(
    names: list[str], separator: str, cells: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    scores = np.array([[0.9, 0.8], [0.7, 0.2], [0.1, 0.3]])
    write_table("s.csv", ["id", *names], *((row, *scores[row]) for row in range(3)))
    write_table("t.csv", ["id", "found"], *enumerate(cells))
    asked = ["s.csv", "--truth", "t.csv", "--key", "id", "--truth-column", "found"]
    assert f"--label-separator '{separator}'" in refusal(capsys, *asked)
    truth = np.array([[name in cell for name in names] for cell in cells])
    assert objective(*asked, "--label-separator", separator) == best_known_macro(truth, scores)


def test_a_key_is_no_label_where_the_truth_stands_beside_the_scores() -> None:
    columns = np.column_stack([range(7), SCORES, TRUTH])
    header = ["id", *NAMES, *(f"y_true_{name}" for name in NAMES)]
    write_table("s.csv", header, *((int(row[0]), *row[1:4], *row[4:].astype(int)) for row in columns))
    assert objective("s.csv", "--key", "id") == best_known_macro(TRUTH, SCORES)


def test_rows_are_not_joined_by_their_order_where_both_files_tell_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_table("s.csv", ["id", "cat"], ("x", 0.9), ("y", 0.2))
    write_table("t.csv", ["id", "cat"], ("y", 0), ("x", 1))
    said = refusal(capsys, "s.csv", "--truth", "t.csv")
    assert "column 'id' has 'x' at row 0 of s.csv and 'y' at that of t.csv, expected --key 'id'" in said
    assert objective("s.csv", "--truth", "t.csv", "--key", "id") == 1.0
    # What is the same in both, or differs in all, is no key that tells another order.
    for ids in (("x", "y"), ("u", "v")):
        write_table("t.csv", ["id", "cat"], (ids[0], 1), (ids[1], 0))
        assert objective("s.csv", "--truth", "t.csv") == 1.0


def test_an_index_tells_an_order_unless_it_counts_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """As pandas writes it: that of one file may have been made anew."""
    write_table("t.csv", ["", "cat"], (3, 1), (5, 0))
    write_table("s.csv", ["", "cat"], (5, 0.9), (3, 0.2))
    assert "expected --key '', which joins by it" in refusal(capsys, "s.csv", "--truth", "t.csv")
    write_table("s.csv", ["", "cat"], (2, 0.9), (3, 0.2))
    assert objective("s.csv", "--truth", "t.csv") == 1.0


def test_another_order_is_seen_whatever_keys_are_written_as(capsys: pytest.CaptureFixture[str]) -> None:
    """Text in one file, whole numbers of 19 digits in the other."""
    first, second = 1_500_000_000_000_000_001, 1_500_000_000_000_000_002
    write_objects("s.jsonl", {"id": str(first), "cat": 0.9}, {"id": str(second), "cat": 0.2})
    write_table("t.csv", ["id", "cat"], (second, 0), (first, 1))
    assert f"column 'id' has '{first}' at row 0 of s.jsonl" in refusal(capsys, "s.jsonl", "--truth", "t.csv")
    assert objective("s.jsonl", "--truth", "t.csv", "--key", "id") == 1.0


def test_numbers_with_zeros_before_them_tell_the_same_order(capsys: pytest.CaptureFixture[str]) -> None:
    write_table("s.csv", ["id", "cat"], ("001", 0.9), ("002", 0.2))
    write_table("t.csv", ["id", "cat"], (2, 1), (1, 0))
    write("names.txt", "cat")
    said = refusal(capsys, "s.csv", "--truth", "t.csv", "--label-names", "names.txt")
    assert "column 'id' has '1' at row 0 of s.csv and '2' at that of t.csv" in said


def test_an_index_that_was_reset_counts_rows_and_is_no_key() -> None:
    write_table("s.csv", ["index", "cat"], (0, 0.9), (1, 0.2), (2, 0.3))
    write_table("t.csv", ["index", "cat"], (2, 1), (5, 0), (9, 0))
    write("names.txt", "cat")
    assert objective("s.csv", "--truth", "t.csv", "--label-names", "names.txt") == 1.0


def test_rows_of_shards_are_not_joined_by_an_order_that_may_be_meant_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Part 10 stands before part 2 by its name."""
    for shard in (1, 2, 10):
        write_table(f"part-{shard}.csv", ["id", "cat"], (f"n{shard}", shard / 10))
    write_table("t.csv", ["id", "cat"], ("n1", 0), ("n2", 0), ("n10", 1))
    said = refusal(capsys, "part-*.csv", "--truth", "t.csv")
    assert "has the shard part-10 before others of smaller numbers" in said
    assert objective("part-*.csv", "--truth", "t.csv", "--key", "id") == 1.0


def test_a_key_on_several_rows_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """As an image has that was cut into tiles."""
    write_table("s.csv", ["id", "a"], (1, 0.9), (1, 0.8), (2, 0.2))
    write_table("t.csv", ["id", "a"], (1, 1), (2, 0))
    said = refusal(capsys, "s.csv", "--truth", "t.csv", "--key", "id")
    assert "key '1' stands on 2 rows of s.csv" in said


def test_cells_of_labels_beside_columns_of_numbers_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """As a table of findings has beside the age of the patient, or one of clips beside their seconds."""
    write_table("s.csv", ["id", "Mass", "Edema"], (1, 0.9, 0.8), (2, 0.7, 0.2), (3, 0.1, 0.3))
    write_table("t.csv", ["id", "found", "age"], (1, "Mass", 61), (2, "Mass|Edema", 70), (3, "Edema", 55))
    asked = ["s.csv", "--truth", "t.csv", "--key", "id"]
    assert "--truth-column 'found' with --label-separator '|'" in refusal(capsys, *asked)
    truth = np.array([[1, 0], [1, 1], [0, 1]])
    scores = np.array([[0.9, 0.8], [0.7, 0.2], [0.1, 0.3]])
    claimed = objective(*asked, "--truth-column", "found", "--label-separator", "|")
    assert claimed == best_known_macro(truth, scores)


def test_numbers_of_rows_are_no_labels_of_either_file() -> None:
    """As R writes them to every table, under no name."""
    write_table("s.csv", ['""', "cat", "dog"], *((f'"{row + 1}"', *SCORES[row, :2]) for row in range(7)))
    words = np.where(TRUTH == 1, "TRUE", "FALSE")
    write_table("t.csv", ['""', "cat", "dog"], *((f'"{row + 1}"', *words[row, :2]) for row in range(7)))
    assert objective("s.csv", "--truth", "t.csv") == best_known_macro(TRUTH[:, :2], SCORES[:, :2])


# Text as other programs write it


def test_columns_may_end_with_what_they_hold() -> None:
    """As pandas names the columns of two tables that it merges."""
    header = [*(f"{name}_true" for name in NAMES), *(f"{name}_score" for name in reversed(NAMES))]
    write_table("s.csv", header, *((*TRUTH[row], *SCORES[row, ::-1]) for row in range(7)))
    found = objective("s.csv", "--score-column", "score", "--truth-column", "true")
    assert found == best_known_macro(TRUTH, SCORES)


def test_a_null_of_a_database_is_no_value() -> None:
    write("s.tsv", "id\tcat", "1\t0.9", "2\t\\N", "3\t0.2")
    data = thresholds.read("s.tsv", key="id", drop_unscored=True)
    assert np.asarray(data.y_score).tolist() == [[0.9], [0.2]]


@pytest.mark.parametrize(
    "scores",
    ["[0.1, 0.9]", "{'cat': 0.1, 'dog': 0.9}", {"type": 1, "values": [0.1, 0.9]}],
    ids=["list", "dict", "vector"],
)
def test_numbers_of_rows_are_not_taken_for_scores_that_are_not_understood(
    scores: object, capsys: pytest.CaptureFixture[str]
) -> None:
    write_objects("s.jsonl", *({"page": row, "probability": scores, "gold": [0]} for row in range(3)))
    said = refusal(capsys, "s.jsonl")
    assert "'page' of s.jsonl would be the scores, and 'probability' with " in said


@pytest.mark.parametrize("column", ["id", "start", "weight"])
def test_columns_that_are_called_as_no_label_is_are_not_taken_for_one(
    column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table("s.csv", [column, "cat", "dog", "y_true"], (0.5, 0.9, 0.1, "cat"), (1.5, 0.2, 0.8, "dog"))
    assert f"s.csv has numbers in {column!r}, which may be no scores, expected" in refusal(capsys, "s.csv")


def test_numbers_in_quotes_are_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    write_objects("s.jsonl", *({"cat": "0.9", "dog": "0.1", "y_true": [0]} for _ in range(3)))
    assert "s.jsonl has numbers in quotes in 'cat', 'dog', expected numbers without" in refusal(capsys, "s.jsonl")


@pytest.mark.parametrize("prefix", ["", "class_"])
def test_columns_sorted_as_text_tell_no_positions(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of columns 1, 10, 2 the second is not the second label."""
    header = ["id", *(f"{prefix}{number}" for number in (1, 10, 2))]
    write_table("s.csv", header, (1, 0.9, 0.1, 0.2), (2, 0.2, 0.8, 0.1))
    write_objects("t.jsonl", {"id": 1, "y_true": [1, 0, 0]}, {"id": 2, "y_true": [0, 1, 0]})
    asked = ["s.csv", "--truth", "t.jsonl", "--key", "id"]
    assert "expected --label-names, in the order of the truth" in refusal(capsys, *asked)
    write("names.txt", *header[1:])
    assert objective(*asked, "--label-names", "names.txt") == pytest.approx(2 / 3)


def test_objects_whose_likeliest_label_is_the_first_tell_no_positions(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"p": {"sport": 0.9, "art": 0.1}, "y": [1]}, {"p": {"art": 0.2, "sport": 0.8}, "y": [1]}]
    write_objects("s.jsonl", *rows)
    assert "expected --label-names, in the order of the truth" in refusal(capsys, "s.jsonl")
    write_objects("s.jsonl", {"p": None, "y": [1]}, *rows)
    assert "expected --label-names, in the order of" in refusal(capsys, "s.jsonl", "--drop-unscored")
    write_objects("s.jsonl", *rows)
    write("names.txt", "art", "sport")
    truth = thresholds.read("s.jsonl", label_names="names.txt").y_true
    assert truth.toarray().tolist() == [[0, 1], [0, 1]]  # type: ignore[union-attr]


def test_numbers_with_zeros_before_them_are_positions() -> None:
    write_table("s.csv", ["00", "01", "02"], (0.9, 0.1, 0.2), (0.2, 0.8, 0.1))
    write_objects("t.jsonl", {"y_true": [0]}, {"y_true": [1, 2]})
    truth = thresholds.read("s.csv", truth="t.jsonl").y_true
    assert truth.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]  # type: ignore[union-attr]


def test_numbers_that_are_rounded_are_no_names() -> None:
    """JSON has whole numbers beyond 2**53 as floats."""
    write_table("s.csv", ["9007199254740994", "9007199254740995"], (0.9, 0.1), (0.2, 0.8))
    write_objects("t.jsonl", {"y_true": [9007199254740995]}, {"y_true": [9007199254740994]})
    with pytest.raises(thresholds.InputError, match="at row 0, expected positions of labels"):
        thresholds.read("s.csv", truth="t.jsonl")


@pytest.mark.parametrize("kind", [int, str])
def test_names_in_lists_that_are_not_asked_for_are_counted(kind: type) -> None:
    write_table("s.csv", ["id", "10", "20"], (1, 0.9, 0.1), (2, 0.2, 0.8))
    write_objects("t.jsonl", {"id": 1, "gold": [kind(10)]}, {"id": 2, "gold": [kind(20), kind(99)]})
    data = thresholds.read("s.csv", truth="t.jsonl", key="id", label_names=["10", "20"])
    assert data.y_true.toarray().tolist() == [[1, 0], [0, 1]]  # type: ignore[union-attr]
    assert any("1 mark of 1 label not in label_names, '99'" in note for note in data.notes)
    with pytest.raises(thresholds.InputError, match="has '99', expected the labels of the scores"):
        thresholds.read("s.csv", truth="t.jsonl", key="id")


def test_a_label_may_be_called_as_others_and_a_space() -> None:
    write_table("s.csv", ["id", "hot", "dog"], (1, 0.9, 0.1), (2, 0.2, 0.8))
    write_table("t.csv", ["id", "label"], (1, "hot"), (2, "dog"), (2, "hot dog"))
    truth = thresholds.read("s.csv", truth="t.csv", key="id", label_names=["hot", "dog"]).y_true
    assert truth.toarray().tolist() == [[1, 0], [0, 1]]  # type: ignore[union-attr]


def test_a_label_may_be_called_as_a_key_is(capsys: pytest.CaptureFixture[str]) -> None:
    write("s.csv", "id,cat,dog,key", "a,.9,.8,.3", "b,.2,.7,?", "c,.2,.7,.5")
    write_table("t.csv", ["id", "cat", "dog", "key"], ("a", 1, 1, 0), ("b", 0, 1, 1), ("c", 0, 1, 0))
    assert "column 'key' of s.csv is text, though" in refusal(capsys, "s.csv", "--truth", "t.csv", "--key", "id")
    write("s.csv", "id,cat,dog", "a,.9,.8", "b,.2,.7", "c,.2,.7")
    assert "has 'key', expected the same labels" in refusal(capsys, "s.csv", "--truth", "t.csv", "--key", "id")


def test_truth_beside_a_score_a_line_tells_nothing_of_labels(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [("a", "owl", 0.9, 1), ("a", "tit", 0.2, 0), ("b", "owl", 0.4, 0), ("b", "tit", 0.7, 1)]
    write_table("s.csv", ["clip", "bird", "score", "y_true"], *lines)
    assert "expected --label-column, perhaps 'bird'" in refusal(capsys, "s.csv", "--key", "clip")


def test_a_column_called_as_truth_never_has_the_names_of_scores() -> None:
    """It has as many names in each row, and the same."""
    write_objects(
        "s.jsonl", {"y_score": [0.9, 0.8], "y_true": ["dog", "cat"]}, {"y_score": [0.2, 0.7], "y_true": ["dog"]}
    )
    data = thresholds.read("s.jsonl", label_names=["cat", "dog"])
    assert np.asarray(data.y_score).tolist() == [[0.9, 0.8], [0.2, 0.7]]
    assert data.y_true.toarray().tolist() == [[1, 1], [0, 1]]  # type: ignore[union-attr]


def test_a_row_may_name_its_best_label_beside_the_scores_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    """It is no line for one label."""
    write_table(
        "s.csv", ["id", "label", "score", "cat", "dog"], ("a", "cat", 0.6, 0.6, 0.5), ("b", "dog", 0.8, 0.2, 0.8)
    )
    write_table("t.csv", ["id", "cat", "dog"], ("a", 1, 1), ("b", 0, 1))
    asked = ["s.csv", "--truth", "t.csv", "--key", "id"]
    assert "has 'cat', 'dog' both as columns and in 'label', expected --label-names if" in refusal(capsys, *asked)
    write_table("s.csv", ["id", "label", "score", "p_cat", "p_dog"], ("a", "cat", 0.6, 6, 5), ("b", "dog", 0.8, 2, 8))
    assert "has 'cat', 'dog' both as columns and in 'label'" in refusal(capsys, *asked)
    write_table(
        "s.csv", ["id", "label", "score", "cat", "dog"], ("a", "cat", 0.6, 0.6, 0.5), ("b", "dog", 0.8, 0.2, 0.8)
    )
    write("names.txt", "cat", "dog")
    assert objective(*asked, "--label-names", "names.txt") == 1.0


def test_whole_numbers_of_text_are_not_positions_where_labels_are_called_by_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of cells with a separator, and of svmlight."""
    write_table("s.csv", ["id", "1", "2", "3"], (1, 0.9, 0.1, 0.1), (2, 0.2, 0.8, 0.1))
    write("t.csv", "id,found", '1,"1,2"', "2,3")
    truth = thresholds.read("s.csv", truth="t.csv", key="id", label_separator=",").y_true
    assert truth.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]  # type: ignore[union-attr]
    write("t.csv", "id,found", '1,"0,1"', '2,"0"')
    with pytest.raises(thresholds.InputError, match=r"'found' of t\.csv has '0', expected the labels of"):
        thresholds.read("s.csv", truth="t.csv", key="id", label_separator=",")
    write("t.svm", "1 1:0.5", "2 1:0.5")
    write_table("s.csv", ["1", "2", "3"], (0.9, 0.1, 0.1), (0.2, 0.8, 0.1))
    said = refusal(capsys, "s.csv", "--truth", "t.svm")
    assert "by their positions from 0, and the scores call theirs '1', '2', '3', expected --label-names" in said


@pytest.mark.parametrize(
    ("lines", "hint", "options"),
    [
        (
            [(1, "cat|dog"), (2, "dog")],
            "; --truth-column 'topics' with --label-separator '|' if that has all labels of a row",
            ["--truth-column", "topics", "--label-separator", "|"],
        ),
        (
            [(1, "cat"), (1, "dog"), (2, "dog")],
            "; --label-column 'topics' if each line has one label",
            ["--label-column", "topics"],
        ),
    ],
)
def test_labels_of_text_are_seen_where_there_is_no_other_truth(
    lines: list[tuple[int, str]], hint: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_table("s.csv", ["id", "cat", "dog"], (1, 0.9, 0.8), (2, 0.2, 0.7))
    write_table("t.csv", ["id", "topics"], *lines)
    asked = ["s.csv", "--truth", "t.csv", "--key", "id"]
    assert hint in refusal(capsys, *asked)
    assert objective(*asked, *options) == 1.0


def test_a_column_of_labels_may_be_that_of_the_truth_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is called; a hint names it."""
    write_table("s.csv", ["filename", "cat", "dog"], ("a", 0.9, 0.8), ("b", 0.2, 0.7))
    write("t.tsv", "filename\tonset\tevent", "a\t0.1\tcat", "a\t0.9\tdog", "b\t0.3\tdog")
    asked = ["s.csv", "--truth", "t.tsv", "--key", "filename"]
    assert "; --label-column 'event' if each line has one label" in refusal(capsys, *asked)
    assert objective(*asked, "--label-column", "event") == 1.0


def test_truth_in_words_may_be_called_a_label() -> None:
    """Of one label, whose score is beside it."""
    write_table("s.csv", ["id", "score", "label"], ("a", 0.9, "spam"), ("b", 0.2, "ham"))
    assert objective("s.csv", "--score-column", "score", "--truth-column", "label", "--true-words", "spam") == 1.0


def test_names_of_labels_choose_among_the_columns_of_a_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    """Not those of the highest score, or of a note."""
    header = ["id", "cat_proba", "dog_proba", "max_proba", "cat_true", "dog_true"]
    write_table("s.csv", header, ("a", 0.9, 0.1, 0.9, 1, 0), ("b", 0.2, 0.8, 0.8, 0, 1))
    asked = ["s.csv", "--score-column", "proba", "--truth-column", "true"]
    assert "lacks 'max', expected the same labels as the scores; --label-names" in refusal(capsys, *asked)
    write("names.txt", "cat", "dog")
    assert objective(*asked, "--label-names", "names.txt") == 1.0


def test_names_of_a_key_do_not_hide_what_else_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Text keys of digits, beside one name and one score in each row."""
    row = {"labels": ["cat"], "scores": [0.9], "gold": ["cat"]}
    write_objects("s.jsonl", {"id": "17", **row}, {"id": "18", **row, "labels": ["dog"]})
    assert "--label-column labels if they are the labels of these scores" in refusal(capsys, "s.jsonl")


def test_whole_numbers_are_names_where_labels_are_called_by_others_than_their_positions() -> None:
    write_table("s.csv", ["id", "10", "20"], (1, 0.9, 0.1), (2, 0.2, 0.8))
    write_objects("t.jsonl", {"id": 1, "y_true": [10]}, {"id": 2, "y_true": [20, 10]})
    truth = thresholds.read("s.csv", truth="t.jsonl", key="id").y_true
    assert truth.toarray().tolist() == [[1, 0], [1, 1]]  # type: ignore[union-attr]


@pytest.mark.parametrize("column", ["votes", "seen", "confidence"])
def test_lines_that_may_say_what_is_not_true_are_not_all_taken_for_true(
    column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Votes from 0 on, marks of which none is true, the scores of another model."""
    marks = {"votes": (0, 3), "seen": ("no", "no"), "confidence": (0.9, 0.7)}[column]
    write_table("s.csv", ["id", "cat", "dog"], (1, 0.9, 0.1), (2, 0.2, 0.8))
    lines = [(1, "cat", marks[0]), (2, "dog", marks[1]), (3, "dog", marks[1] if column == "seen" else "")]
    write_table("t.csv", ["id", "label", column], *lines)
    asked = ["s.csv", "--truth", "t.csv", "--key", "id"]
    said = refusal(capsys, *asked)
    assert f"column {column!r} of t.csv may say whether the label in 'label' is true" in said
    assert objective(*asked, "--truth-column", "label") == 1.0


def test_labels_that_share_a_cell_of_a_long_table_are_not_one(capsys: pytest.CaptureFixture[str]) -> None:
    write_table("s.csv", ["id", "cat", "dog"], (1, 0.9, 0.1), (2, 0.2, 0.8))
    write_table("t.csv", ["id", "label"], (1, "cat|dog"), (2, "dog"))
    asked = ["s.csv", "--truth", "t.csv", "--key", "id"]
    said = refusal(capsys, *asked)
    assert "'cat|dog', which may be several labels, expected one; --label-separator '|'" in said
    assert objective(*asked, "--label-separator", "|") == 1.0


def test_a_score_a_line_beside_text_that_repeats_itself_may_be_one_label_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [("a", "cat", 0.9), ("a", "dog", 0.2), ("b", "cat", 0.3), ("b", "dog", 0.8)]
    write_table("s.csv", ["clip", "animal", "score"], *lines)
    write_table("t.csv", ["clip", "animal"], ("a", "cat"), ("b", "dog"))
    asked = ["s.csv", "--truth", "t.csv", "--key", "clip"]
    assert "expected --label-column, perhaps 'animal'" in refusal(capsys, *asked)
    assert objective(*asked, "--label-column", "animal") == 1.0


def test_a_table_of_selections_is_text_parted_by_tabs() -> None:
    """Robin has 0.87 where it is, Wren 0.77 where it is and 0.42 where it is not."""
    head = ["Selection", "View", "Begin Time (s)", "End Time (s)", "Common Name", "Confidence", "Begin Path"]
    rows = [
        ["1", "S 1", "0.0", "3.0", "Robin", "0.87", "a.wav"],
        ["2", "S 1", "3.0", "6.0", "Wren", "0.42", "a.wav"],
        ["3", "S 1", "6.0", "9.0", "Wren", "0.77", "a.wav"],
    ]
    write("s.txt", *map("\t".join, [head, *rows]))
    heard = ("a.wav", 0, 3, "Robin"), ("a.wav", 6, 9, "Wren")
    write_table("t.csv", ["Begin Path", "Begin Time (s)", "End Time (s)", "Common Name"], *heard)
    assert objective("s.txt", "--truth", "t.csv") == 1.0


def test_a_space_may_follow_each_separator() -> None:
    write("s.csv", "id, y_true_cat, y_score_cat", "1, 1, 0.9", "2, 0, 0.2")
    assert objective("s.csv") == 1.0


def test_comments_may_stand_before_the_header() -> None:
    write("t.csv", "# made on Sunday", "# ids=2", "id,cat", "1,1", "2,0")
    write_table("s.csv", ["id", "cat"], (1, 0.9), (2, 0.2))
    assert objective("s.csv", "--truth", "t.csv", "--key", "id") == 1.0


def test_numbered_columns_may_be_sorted_as_text() -> None:
    """1, 10, 11, 2: labels are told by their names, never by their places."""
    rng = np.random.default_rng(0)
    truth = (rng.random((20, 12)) < 0.5).astype(int)
    scores = np.round(0.4 * truth + 0.6 * rng.random((20, 12)), 3)
    order = sorted(range(12), key=str)
    header = [f"prediction_{label}" for label in order] + [f"target_{label}" for label in range(12)]
    write_table("s.csv", header, *((*scores[row, order], *truth[row]) for row in range(20)))
    found = objective("s.csv", "--score-column", "prediction", "--truth-column", "target")
    assert found == pytest.approx(best_known_macro(truth, scores), abs=1e-15)


# Arrays


def test_names_that_are_objects_are_told_what_to_become(capsys: pytest.CaptureFixture[str]) -> None:
    """As `MultiLabelBinarizer.classes_` are."""
    np.savez("s.npz", y_true=TRUTH, y_score=SCORES, label_names=np.array(NAMES, object))
    said = refusal(capsys, "s.npz")
    assert "label_names" in said
    assert ".astype(str)" in said


def test_arrays_of_other_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("s.npz", targets=TRUTH, probs=SCORES)
    assert "'probs' (7, 3) float64" in refusal(capsys, "s.npz")
    assert objective("s.npz", "--score-column", "probs", "--truth-column", "targets") == best_known_macro(TRUTH, SCORES)


def test_names_of_the_file_are_not_replaced_by_others(capsys: pytest.CaptureFixture[str]) -> None:
    """Scores would be another label's."""
    np.savez("s.npz", y_true=TRUTH, y_score=SCORES, label_names=NAMES)
    write("names.txt", *reversed(NAMES))
    said = refusal(capsys, "s.npz", "--label-names", "names.txt")
    assert "s.npz has the label names 'cat', 'dog', 'emu', expected the same in --label-names, in this order" in said
    write("names.txt", *NAMES)
    assert objective("s.npz", "--label-names", "names.txt") == best_known_macro(TRUTH, SCORES)


def test_names_may_stand_as_a_model_has_them() -> None:
    np.savez("s.npz", y_true=TRUTH, y_score=SCORES)
    Path("id2label.json").write_text(json.dumps(dict(enumerate(NAMES))))
    assert thresholds.read("s.npz", label_names="id2label.json").label_names == tuple(NAMES)
