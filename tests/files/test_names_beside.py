"""Names of labels that stand beside their scores, in any shape and order: each score is that of its label."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.naive.exhaustive import best_known_macro
from thresholds import InputError, cli
from thresholds.files.score_file import ScoreFile

Scored = Mapping[str, float]  # the scores of a row, by label, the likeliest first

ROWS: list[Scored] = [
    {"joy": 0.9, "fear": 0.25, "calm": 0.125},
    {"fear": 0.75, "calm": 0.5, "joy": 0.25},
    {"calm": 0.75, "joy": 0.5, "fear": 0.375},
    {"joy": 0.625, "calm": 0.5, "fear": 0.125},
]
GOLD = [["joy"], ["calm", "fear"], [], ["joy"]]
LABELS = ("calm", "fear", "joy")
SCORES = [[row[label] for label in LABELS] for row in ROWS]
TRUTH = [[int(label in gold) for label in LABELS] for gold in GOLD]

pytestmark = pytest.mark.usefixtures("folder")


def write(name: str, *rows: object) -> str:
    """Write lines of JSON."""
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def read(*rows: object, **options: Any) -> ScoreFile:
    """Write lines of JSON, and read them."""
    return thresholds.read(write("s.jsonl", *rows), **options)


def refusal(*rows: object, **options: Any) -> str:
    """What is said of lines that are refused: one sentence."""
    with pytest.raises(InputError) as refused:
        read(*rows, **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def cells(matrix: Any) -> list[list[float]]:
    """A matrix as lists."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix).tolist()  # type: ignore[no-any-return]


def pairs(row: Scored, label: str = "label", score: str = "score") -> list[dict[str, object]]:
    """Objects of a label and its score."""
    return [{label: name, score: value} for name, value in row.items()]


def turned(row: Scored, number: int) -> list[dict[str, object]]:
    """Objects of a label and its score, whose keys are in another order in every other row."""
    return [dict(list(pair.items())[:: 1 if number % 2 else -1]) for pair in pairs(row)]


# Shapes

Make = Callable[[Scored, int], dict[str, object]]
SHAPES: dict[str, tuple[Make, dict[str, Any]]] = {
    "lists": (lambda row, _: {"labels": [*row], "scores": [*row.values()]}, {}),
    "lists, scores first": (lambda row, _: {"p": [*row.values()], "found": [*row]}, {}),
    "lists of names that are asked for": (
        lambda row, _: {"all": [*LABELS], "labels": [*row], "scores": [*row.values()]},
        {"label_column": "labels"},
    ),
    "objects": (lambda row, _: {"p": pairs(row)}, {}),
    "objects, score first": (lambda row, _: {"p": [dict([*pair.items()][::-1]) for pair in pairs(row)]}, {}),
    "objects, keys in any order": (lambda row, number: {"p": turned(row, number)}, {}),
    "objects of species and confidence": (lambda row, _: {"p": pairs(row, "species", "confidence")}, {}),
    "objects of other names": (lambda row, _: {"p": pairs(row, "was", "so much")}, {}),
    "objects with more in them": (
        lambda row, _: {"p": [{"id": 3, "box": [1, 2], **pair, "text": "a"} for pair in pairs(row)]},
        {},
    ),
    "an object, keys in any order": (lambda row, _: {"p": dict(row)}, {}),
}


@pytest.mark.parametrize("names", [None, LABELS, LABELS[::-1]], ids=["no names", "in order", "in another order"])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_score_is_that_of_its_label(shape: str, names: Sequence[str] | None) -> None:
    make, options = SHAPES[shape]
    rows = [{**make(row, number), "gold": GOLD[number]} for number, row in enumerate(ROWS)]
    data = read(*rows, truth_column="gold", label_names=names, **options)
    in_the_file = tuple(ROWS[0]) if shape.startswith("an object") else LABELS
    assert data.label_names == (names or in_the_file)
    order = [LABELS.index(label) for label in names or in_the_file]
    assert cells(data.y_score) == np.array(SCORES)[:, order].tolist()
    assert cells(data.y_true) == np.array(TRUTH)[:, order].tolist()


def test_a_line_may_be_a_list_of_objects() -> None:
    """As text classifiers print it; the truth stands in another file."""
    write("t.jsonl", *({"gold": gold} for gold in GOLD))
    data = read(*map(pairs, ROWS), truth="t.jsonl")
    assert (data.label_names, cells(data.y_score), cells(data.y_true)) == (LABELS, SCORES, TRUTH)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_maps_and_structs_of_arrow(suffix: str) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    pair = pa.struct({"label": pa.dictionary(pa.int8(), pa.string()), "score": pa.float32()})
    values = [
        pa.array([[*row.items()] for row in ROWS], pa.map_(pa.string(), pa.float64())),
        pa.array([pairs(row) for row in ROWS]),
        pa.array([pairs(row) for row in ROWS], pa.list_(pair)),
    ]
    save = parquet.write_table if suffix == "parquet" else feather.write_feather
    for column in values:
        save(pa.table({"p": column, "gold": GOLD}), f"s.{suffix}")
        data = thresholds.read(f"s.{suffix}", truth_column="gold")
        assert data.label_names == LABELS
        np.testing.assert_array_equal(cells(data.y_score), np.array(SCORES, data.y_score.dtype))
        assert cells(data.y_true) == TRUTH


def test_shards_have_labels_and_keys_in_any_order() -> None:
    for number in range(4):
        row = {"gold": GOLD[number], "p": dict(sorted(ROWS[number].items()))}
        write(f"a{number}.jsonl", dict([*row.items()][:: 1 if number % 2 else -1]))
        write(f"b{number}.jsonl", {"p": turned(ROWS[number], number), "gold": GOLD[number]})
    for pattern in ("a*.jsonl", "b*.jsonl"):
        data = thresholds.read(pattern, truth_column="gold", label_names=LABELS)
        assert (cells(data.y_score), cells(data.y_true)) == (SCORES, TRUTH)


# What a row lacks


def test_a_label_that_a_row_does_not_name_has_no_score_there() -> None:
    data = read({"p": pairs(ROWS[0])}, {"p": []}, {"p": pairs({"joy": 0.5})}, {"p": pairs({"calm": 0.25})})
    assert cells(data.y_score) == [SCORES[0], [0, 0, 0], [0, 0, 0.5], [0.25, 0, 0]]
    assert data.y_score.nnz == 5


def test_lists_may_be_unequal_in_length() -> None:
    """As those above a score are, or the best of each row."""
    likely = [dict([*row.items()][: 1 + number % 2]) for number, row in enumerate(ROWS)]
    data = read(*({"labels": [*row], "scores": [*row.values()], "gold": gold}
                  for row, gold in zip(likely, GOLD, strict=True)), truth_column="gold")  # fmt: skip
    assert cells(data.y_score) == [[0, 0, 0.9], [0.5, 0.75, 0], [0.75, 0, 0], [0.5, 0, 0.625]]
    assert cells(data.y_true) == TRUTH


def test_a_shard_may_have_nothing_but_empty_lists() -> None:
    for number, row in enumerate([{}, ROWS[0], {}]):
        write(f"{number}.jsonl", {"p": pairs(row)})
    assert cells(thresholds.read("*.jsonl").y_score) == [[0, 0, 0], SCORES[0], [0, 0, 0]]


@pytest.mark.parametrize(
    "unscored",
    [{"p": None}, {"p": []}, {}, {"p": [{"label": "joy", "score": None}]}],
    ids=["null", "[]", "absent", "NaN"],
)
def test_rows_without_scores_are_left_out_on_request(unscored: dict[str, object]) -> None:
    rows = [{"p": pairs(row), "gold": gold} for row, gold in zip(ROWS, GOLD, strict=True)]
    rows[1] = {**unscored, "gold": ["joy"]}
    if unscored != {"p": []}:
        assert "drop_unscored=True" in refusal(*rows)
    data = read(*rows, drop_unscored=True)
    assert cells(data.y_score) == [SCORES[0], *SCORES[2:]]
    assert cells(data.y_true) == [TRUTH[0], *TRUTH[2:]]
    assert "left out: 1 row of 4, in which a label has no score" in data.notes


def test_an_object_that_lacks_a_label_is_refused_with_a_shape_that_may() -> None:
    said = refusal({"p": {"joy": 0.5, "fear": 0.25}}, {"p": {"joy": 0.5}})
    assert "no value at row 1, label 'fear'" in said
    assert "lists of labels with their scores may lack some labels in a row" in said


# Which names are those of the scores


def lists(
    names: Sequence[Sequence[str]], *scores: Sequence[float], **more: Sequence[object]
) -> list[dict[str, object]]:
    """Rows of names and scores, and of more columns."""
    columns = {"labels": names, "scores": scores, **more}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


SIGNS = {
    "as many in each row as there are scores": (["a", "b"], ["b"], ["c", "a"]),
    "the same in each row": (["a", "b"], ["b", "a"]),
    "with scores that only fall": (["a", "b"], ["c", "a"]),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_names_that_are_no_truth_are_told_by_their_signs(sign: str) -> None:
    names = SIGNS[sign]
    falls = "fall" in sign
    scores = [[0.75, 0.5] if falls or len(some) < 2 else [0.5, 0.75] for some in names]
    rows = lists(names, *(some[: len(own)] for some, own in zip(scores, names, strict=True)), g=[["a"]] * len(names))
    assert f"({sign}), expected another column as truth_column" in refusal(*rows, truth_column="labels")
    data = read(*rows, truth_column="g")
    for row, own in enumerate(names):
        found = dict(zip(data.label_names or (), cells(data.y_score)[row], strict=True))
        assert [found[label] for label in own] == scores[row][: len(own)]


OPEN = lists([["a", "b"], ["c", "a"]], [0.25, 0.75], [0.75, 0.25], g=[["b"], ["c"]])


def test_what_is_open_is_asked_and_either_answer_is_read() -> None:
    """Names as many as scores, which do not fall."""
    said = refusal(*OPEN)
    assert "label_column='labels' if they are the labels of these scores" in said
    assert "truth_column='labels' if they are the truth" in said
    data = read(*OPEN, label_column="labels")
    assert cells(data.y_score) == [[0.25, 0.75, 0], [0.25, 0, 0.75]]
    assert cells(data.y_true) == [[0, 1, 0], [0, 0, 1]]
    # As the truth they are lists of true labels.
    data = read(*OPEN, truth_column="labels", label_names=("a", "b"))
    assert cells(data.y_true) == [[1, 1], [1, 0]]
    assert "left out of column 'labels' of s.jsonl: 1 mark of 1 label not in label_names, 'c'" in data.notes


def test_two_columns_of_names_are_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    """As zero-shot classifiers have, of the candidates and of what they found; the latter is in order of the scores."""
    rows = lists([["b", "a"], ["a", "b"]], [0.9, 0.3], [0.8, 0.1], g=[["b"], ["a"]])
    write("s.jsonl", *({"candidate_labels": ["a", "b"], **row} for row in rows))
    asked = ["fit", "s.jsonl", "--truth-column", "g", "--guard", "none", "--cv", "0", "-o", "rule.json"]
    assert cli.main(asked) == 1
    columns = "may have the names of the scores 'scores' in 'candidate_labels', 'labels', expected one of them as"
    assert f"{columns} --label-column" in capsys.readouterr().err
    assert cli.main([*asked, "--label-column", "labels"]) == 0
    expected = best_known_macro(np.array([[0, 1], [1, 0]]), np.array([[0.3, 0.9], [0.8, 0.1]]))
    assert thresholds.load_rule("rule.json").objective == expected


def test_the_likeliest_label_alone_is_asked_about() -> None:
    """As classifiers print unless they are asked for all: its score is not that of one label in every row."""
    rows = lists([["POS"], ["NEG"]], [0.99], [0.97], y_true=[[1], [0]])
    assert "label_column='labels' if they are the labels of these scores" in refusal(*rows)
    data = read(*({**row, "y_true": ["POS"]} for row in rows), label_column="labels")
    assert data.label_names == ("NEG", "POS")
    assert cells(data.y_score) == [[0, 0.99], [0.97, 0]]
    assert cells(data.y_true) == [[0, 1], [0, 1]]


# Names that are asked for


def test_scores_of_other_labels_are_left_out_with_their_number() -> None:
    rows = [{"p": pairs(row), "gold": ["joy"]} for row in ROWS]
    data = read(*rows, label_names=("joy", "calm"))
    assert cells(data.y_score) == [[row["joy"], row["calm"]] for row in ROWS]
    assert any("of s.jsonl: 4 scores of 1 label" in note and "'fear'" in note for note in data.notes)


@pytest.mark.parametrize(
    ("other", "difference"),
    [("Joy", "'Joy' and 'joy' differ in case"), ("joy ", "'joy ' ends in a space")],
)
def test_labels_that_look_alike_are_told_apart(other: str, difference: str) -> None:
    row = {"p": pairs({other: 0.5, "calm": 0.25})}
    data = read(row, label_names=("joy", "calm"))
    assert any(difference in note for note in data.notes)
    assert difference in refusal({"p": pairs({other: 0.5})}, label_names=("joy", "calm"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"p": pairs({"joy": 0.5}) * 2}, "twice at row 0, expected each once"),
        ({"labels": ["joy", "joy", "calm"], "scores": [0.5, 0.25, 0.125]}, "twice at row 0, expected each once"),
        ({"labels": [], "scores": []}, "s.jsonl has no scores"),
        ({"p": []}, "s.jsonl has no "),
        ({"labels": ["joy", "calm"], "scores": [0.5]}, "2 names in 'labels' and 1 score in 'scores' at row 0"),
    ],
)
def test_what_cannot_be_matched_is_refused(row: dict[str, object], message: str) -> None:
    options = {"label_column": "labels"} if "labels" in row else {}
    assert message in refusal(row, **options)


# Truth by position

POSITIONS: dict[str, tuple[Any, list[list[int]]]] = {
    "0 and 1": ([[1, 0], [0, 1]], [[1, 0], [0, 1]]),
    "positions": ([[1], [0, 1], []], [[0, 1], [1, 1], [0, 0]]),
}


@pytest.mark.parametrize("form", POSITIONS)
@pytest.mark.parametrize("where", ["beside", "t.jsonl", "t.npy"])
def test_truth_by_position_needs_an_order_of_the_labels(form: str, where: str) -> None:
    """Names beside scores have none, and that of the alphabet is nobody's."""
    truth, expected = POSITIONS[form]
    scored = [{"joy": 0.75, "calm": 0.25}, {"calm": 0.75, "joy": 0.5}, {"joy": 0.5}][: len(truth)]
    rows: list[dict[str, object]] = [{"p": pairs(row)} for row in scored]
    options: dict[str, Any] = {}
    if where == "beside":
        rows = [{**row, "y_true": own} for row, own in zip(rows, truth, strict=True)]
    else:
        options["truth"] = where
        write("t.jsonl", *({"y_true": own} for own in truth))
        np.save("t.npy", np.array(expected))
    assert "by their positions" in refusal(*rows, **options)
    data = read(*rows, label_names=("joy", "calm"), **options)
    assert cells(data.y_true) == expected
    assert cells(data.y_score) == [[row.get("joy", 0), row.get("calm", 0)] for row in scored]


# Decisions


def test_a_rule_with_names_finds_its_labels() -> None:
    thresholds.ThresholdRule(np.array([0.5, 0.25, 0.5]), label_names=("joy", "fear", "calm")).save("rule.json")
    write("s.jsonl", *({"p": pairs(row)} for row in ROWS), {"p": pairs({"fear": 0.5})}, {"p": []})
    assert cli.main(["predict", "rule.json", "s.jsonl", "-o", "o.jsonl"]) == 0
    found = [set(json.loads(line)["labels"]) for line in Path("o.jsonl").read_text().splitlines()]
    assert found == [{"joy", "fear"}, {"fear", "calm"}, {"joy", "fear", "calm"}, {"joy", "calm"}, {"fear"}, set()]


@pytest.mark.parametrize(("names", "message"), [(("joy", "calm", "hope"), "'fear'"), (None, "order")])
def test_a_rule_that_lacks_names_cannot_tell_labels(
    names: Sequence[str] | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    thresholds.FixedRule(0.5, 3, label_names=names).save("rule.json")
    write("s.jsonl", *({"p": pairs(row)} for row in ROWS))
    assert cli.main(["predict", "rule.json", "s.jsonl", "-o", "o.jsonl"]) == 1
    assert message in capsys.readouterr().err
    assert not Path("o.jsonl").exists()


def test_an_object_of_two_lists_has_names_beside_scores(tmp_path: Path) -> None:
    rows = [
        {"p": {"labels": ["a", "b"], "scores": [0.9, 0.2]}, "gold": ["a"]},
        {"p": {"labels": ["b"], "scores": [0.8]}, "gold": ["b"]},
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = thresholds.read(tmp_path / "s.jsonl")
    assert data.label_names == ("a", "b")
    assert data.y_score.toarray().tolist() == [[0.9, 0.2], [0, 0.8]]
    (tmp_path / "s.jsonl").write_text(json.dumps({"p": {"labels": ["a"], "scores": [0.9, 0.2]}, "gold": ["a"]}) + "\n")
    with pytest.raises(InputError, match=r"s.jsonl has 1 name in 'p' and 2 scores in 'p' at row 0"):
        thresholds.read(tmp_path / "s.jsonl")


# Scores that names leave out


@pytest.mark.parametrize("n_labels", [2, 3])
def test_scores_below_those_that_are_left_out_are_noted(n_labels: int) -> None:
    """Whether or not a row lacks some: rows to come may."""
    rows = [{"labels": [*row][:n_labels], "scores": [0.5, -1.5, 2.0][:n_labels]} for row in ROWS]
    below = f"some scores (4 of {4 * n_labels}) are below 0, the score of labels without one: logits=True makes"
    assert any(note.startswith(below) for note in read(*rows).notes)
