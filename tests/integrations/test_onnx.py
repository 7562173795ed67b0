"""`Rule.to_onnx`: a model decides as the rule does, and says what it is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.rules import RULES, calibrated, draw
from thresholds import CalibratedRule, InstanceRule, ThresholdRule, TopKRule, calibrate, cli
from thresholds.errors import InputError
from thresholds.rule import Rule

onnx = pytest.importorskip("onnx", reason="make test-integrations installs onnx")
runtime = pytest.importorskip("onnxruntime", reason="make test-integrations installs onnxruntime")

inf = float("inf")
FLOATS = ("float16", "float32", "float64")
EACH_KIND = ("awkward", "top k", "region", "instance", "isotonic", "isotonic, drawn", "platt", "platt, pooled")
NUMBERS = {"float16": 10, "float32": 1, "float64": 11, "bfloat16": 16}  # of dtypes, in ONNX

# Without the warning of scores that differ from those of the fit, as the ones drawn here do.
pytestmark = pytest.mark.filterwarnings("ignore::thresholds.ScoreChangeWarning")


def session(model: Any) -> Any:
    onnx.checker.check_model(model, full_check=True)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def decided(rule: Rule, scores: Any) -> Any:
    """The answer of the model for scores of this dtype."""
    [found] = session(rule.to_onnx(dtype=scores.dtype.name)).run(["y_pred"], {"y_score": scores})
    assert found.dtype == np.uint8
    return found


def check(rule: Rule, scores: Any) -> None:
    np.testing.assert_array_equal(decided(rule, scores), rule.predict(scores))


def drawn(n_rows: int, n_labels: int, dtype: str, seed: int = 0) -> Any:
    """Scores in [0, 1], half of them with many ties."""
    rng = np.random.default_rng(seed)
    scores = rng.random((n_rows, n_labels))
    scores[: n_rows // 2] = rng.integers(0, 11, (n_rows // 2, n_labels)) / 10
    return scores.astype(dtype)


@pytest.mark.each_value
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", RULES)
def test_decisions_are_those_of_the_rule(name: str, dtype: str) -> None:
    check(RULES[name], drawn(80, RULES[name].n_labels or 7, dtype))


@pytest.mark.parametrize("name", EACH_KIND)
def test_bfloat16(name: str) -> None:
    rule = RULES[name]
    scores = drawn(40, rule.n_labels or 7, "float32")
    halves = (scores.view(np.uint32) >> 16).astype(np.uint16)  # the upper half of the bits
    given = runtime.OrtValue.ortvalue_from_numpy_with_onnx_type(halves, NUMBERS["bfloat16"])
    [found] = session(rule.to_onnx(dtype="bfloat16")).run_with_ort_values(["y_pred"], {"y_score": given})
    expected = rule.predict((halves.astype(np.uint32) << 16).view(np.float32))
    np.testing.assert_array_equal(found.numpy(), expected)


# Comparisons


def around(values: Any, dtype: str) -> Any:
    """Each value, rounded up and down, and the numbers next to these: rows of scores for all labels."""
    kind = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        steps = [np.asarray(values).astype(dtype)]
        for end in (inf, inf, -inf, -inf):
            steps.append(np.nextafter(steps[0] if len(steps) == 3 else steps[-1], kind(end)))
    rows = np.stack(steps)
    return np.where(np.isposinf(rows), np.finfo(dtype).max, rows)


@pytest.mark.parametrize("dtype", FLOATS)
def test_scores_at_thresholds_and_beside_them(dtype: str) -> None:
    rng = np.random.default_rng(1)
    thresholds_ = np.concatenate([RULES["awkward"].thresholds, rng.random(200), rng.normal(size=200) * 30])
    rule = ThresholdRule(thresholds_)
    scores = around(thresholds_, dtype)
    check(rule, scores)
    assert 0.3 < rule.predict(scores).mean() < 0.8


@pytest.mark.parametrize("dtype", FLOATS)
def test_scores_at_the_ends_of_regions_and_beside_them(dtype: str) -> None:
    rule = RULES["region"]
    for place in range(6):
        ends = [switches[min(place, switches.size - 1)] if switches.size else 0.0 for switches in rule.switches]
        check(rule, around(ends, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("by", ["label", "pooled", "shrink"])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_scores_where_probabilities_reach_thresholds(method: Any, by: Any, dtype: str) -> None:
    """Every score of float16 between 0 and 1 is tried."""
    rule = calibrated(method, ThresholdRule([0.3, 0.0, 0.1, 0.5]), by=by, missing=0.25)
    every = np.arange(0x3C01, dtype=np.uint16).view(np.float16)  # from 0 to 1
    check(rule, np.repeat(every[:, np.newaxis], 4, axis=1))
    check(rule, drawn(200, 4, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["awkward", "top k", "region", "isotonic", "isotonic, drawn", "platt, pooled"])
def test_masked_scores(name: str, dtype: str) -> None:
    rule = RULES[name]
    scores = drawn(60, rule.n_labels or 5, dtype)
    scores[np.random.default_rng(2).random(scores.shape) < 0.5] = -inf
    scores[0] = -inf
    check(rule, scores)


# The highest scores of rows


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_labels", [1, 3, 40, 300])
def test_of_equal_scores_the_first_labels_are_taken(n_labels: int, dtype: str) -> None:
    scores = np.random.default_rng(n_labels).integers(0, 3, (50, n_labels)).astype(dtype)
    scores[0] = 0.0
    scores[0, ::2] = -0.0
    for k in {0, 1, 2, n_labels // 2, n_labels, n_labels + 5}:
        check(TopKRule(k), scores)


# The best set of each row


@pytest.mark.each_pair
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("beta", [1e-100, 1 / 3, 1.0, 3.0, 1e3])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 60, 400])
def test_the_best_set_of_each_row(n_labels: int, beta: float, zero_division: float) -> None:
    """Also where many labels are likely, so that several scales are needed, and where hardly any is."""
    rng = np.random.default_rng(n_labels)
    powers = rng.choice([0.2, 1.0, 5.0, 30.0], (60, 1))
    probabilities = rng.random((60, n_labels)) ** powers
    probabilities[0], probabilities[1], probabilities[2] = 0.0, 1.0, 1e-300
    check(InstanceRule(beta, zero_division), probabilities)


def test_of_sets_that_are_equally_good_the_smallest_is_taken() -> None:
    """With 1 and 1/2 the second label is worth as much as it costs; with 1/2 alone, nothing is worth as much."""
    tied = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.5]])
    check(InstanceRule(), tied)
    check(InstanceRule(zero_division=1.0), tied)
    assert decided(InstanceRule(), tied)[:2].tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.each_pair
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("by", ["label", "pooled", "shrink"])
@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize("logits", [False, True])
def test_calibrated_scores(method: Any, by: Any, zero_division: float, logits: bool) -> None:
    """One label has no positives, one is masked, one falls, scores are also far from those of the fit."""
    rng = np.random.default_rng(3)
    truth = rng.random((300, 12)) < np.linspace(0, 0.4, 12)
    scores = rng.normal(size=truth.shape) + 2 * truth - 1
    scores[:, 5] *= -1
    scores[:, 7] = -inf
    scores = np.where(rng.random(scores.shape) < 0.1, 0.0, scores)
    if not logits:
        scores = 1 / (1 + np.exp(-scores))
    calibrator = calibrate(truth, scores.astype(np.float32), method, by)
    rule = CalibratedRule(calibrator, InstanceRule(zero_division=zero_division))
    new = rng.normal(size=(150, 12)) * 2
    new[:, 7] = -inf
    new[:10] = 0.0
    new[10:20] *= 50
    check(rule, (new if logits else 1 / (1 + np.exp(-new))).astype(np.float32))


# What a model cannot refuse, and what it says of itself


@pytest.mark.parametrize("name", EACH_KIND)
def test_nan_is_never_predicted(name: str) -> None:
    rule = RULES[name]
    scores = drawn(20, rule.n_labels or 5, "float64")
    scores[:, 0] = scores[3] = np.nan
    found = decided(rule, scores)
    assert not found[np.isnan(scores)].any()


@pytest.mark.parametrize("name", [name for name in EACH_KIND if name != "instance"])
def test_infinite_scores_count_as_the_highest(name: str) -> None:
    """Half precision overflows: a label that is never predicted stays so."""
    rule = RULES[name]
    scores = drawn(20, rule.n_labels or 5, "float32")
    at = np.random.default_rng(5).random(scores.shape) < 0.3
    bounded = isinstance(rule, CalibratedRule) and rule.calibrator.method == "platt"
    highest = 1.0 if bounded else np.finfo(np.float32).max
    expected = rule.predict(np.where(at, highest, scores).astype(np.float32))
    np.testing.assert_array_equal(decided(rule, np.where(at, inf, scores).astype(np.float32)), expected)


def test_scores_beyond_probabilities_count_as_their_ends() -> None:
    beyond = np.array([[1.5, 0.3, -0.2], [inf, 0.6, -inf]])
    assert (decided(InstanceRule(), beyond) == InstanceRule().predict(np.clip(beyond, 0, 1))).all()


@pytest.mark.parametrize("name", EACH_KIND)
def test_no_rows(name: str) -> None:
    rule = RULES[name]
    n_labels = rule.n_labels or 3
    assert decided(rule, np.empty((0, n_labels), np.float32)).shape == (0, n_labels)


def shapes(model: Any) -> Iterator[list[Any]]:
    for value in (*model.graph.input, *model.graph.output):
        yield [size.dim_value or size.dim_param for size in value.type.tensor_type.shape.dim]


def test_a_model_says_what_it_is() -> None:
    rule = thresholds.fit_empirical(*draw(), "micro", label_names=["cat", "Ελλάδα", '"', "🦆"], beta=0.5)
    model = rule.to_onnx()
    assert list(shapes(model)) == [["n_samples", 4]] * 2
    assert [value.name for value in model.graph.input] == ["y_score"]
    assert [value.name for value in model.graph.output] == ["y_pred"]
    said = {item.key: item.value for item in model.metadata_props}
    assert json.loads(said.pop("label_names")) == ["cat", "Ελλάδα", '"', "🦆"]
    version = thresholds.__version__
    assert said == {"kind": "thresholds", "average": "micro", "beta": "0.5", "dtype": "float32", "version": version}
    assert (model.producer_name, model.producer_version) == ("f1-thresholds", version)
    assert model.doc_string == str(rule)
    assert session(model).get_modelmeta().custom_metadata_map["kind"] == "thresholds"


def test_a_model_is_joined_to_a_classifier() -> None:
    """Of the same opset: what comes out are decisions."""
    logits, chances = (onnx.helper.make_tensor_value_info(name, 1, ["n", 2]) for name in ("logits", "chances"))
    sigmoid = onnx.helper.make_graph(
        [onnx.helper.make_node("Sigmoid", ["logits"], ["chances"])], "m", [logits], [chances]
    )
    opset = [onnx.helper.make_opsetid("", 18)]
    classifier = onnx.helper.make_model(sigmoid, opset_imports=opset, ir_version=8)
    rule = ThresholdRule([0.5, 0.6]).to_onnx()
    joined = onnx.compose.merge_models(classifier, rule, io_map=[("chances", "y_score")])
    [found] = session(joined).run(["y_pred"], {"logits": np.array([[0, 0], [-1, 1]], np.float32)})
    assert found.tolist() == [[1, 0], [0, 1]]


def test_a_rule_of_any_number_of_labels_keeps_it_open() -> None:
    model = TopKRule(2).to_onnx()
    assert list(shapes(model)) == [["n_samples", "n_labels"]] * 2
    assert {item.key for item in model.metadata_props} == {"kind", "dtype", "version"}


@pytest.mark.parametrize(
    ("fitted", "expected"),
    [("float16", "float16"), ("float32", "float32"), ("float64", "float64"), ("int32", "float64")],
)
def test_scores_have_the_dtype_of_the_fit(fitted: str, expected: str) -> None:
    truth, scores = draw()
    model = thresholds.fit_empirical(truth, (scores * 10).astype(fitted)).to_onnx()
    assert model.graph.input[0].type.tensor_type.elem_type == NUMBERS[expected]


def test_without_a_fit_scores_are_float32() -> None:
    assert InstanceRule().to_onnx().graph.input[0].type.tensor_type.elem_type == NUMBERS["float32"]


def test_a_model_is_written_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rule = thresholds.ThresholdRule([0.5, 0.2], label_names=("cat", "dog"))
    rule.save("rule.json")
    assert cli.main(["export", "rule.json", "-o", "rule.onnx", "--dtype", "float16"]) == 0
    shown = "ThresholdRule: 2 labels, thresholds given, not fitted\nwritten to rule.onnx, for scores of float16\n"
    assert capsys.readouterr().out == shown
    assert onnx.load("rule.onnx") == rule.to_onnx(dtype="float16")


def test_other_dtypes_are_refused() -> None:
    message = "dtype is 'int8', expected 'float16', 'bfloat16', 'float32' or 'float64'"
    with pytest.raises(InputError, match=message):
        TopKRule(2).to_onnx(dtype="int8")


def test_the_example_of_the_page_on_serving_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    (block,) = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "import onnx" in text]
    shown: dict[str, Any] = {}
    exec(compile(block, "serving.md", "exec"), shown)
    assert f"# {shown['y_pred'].tolist()}" in block
