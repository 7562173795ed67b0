"""`rule.to_torch()`: a module that decides as the rule does, for scores of each dtype, in a model that is rounded.

The rules are those of `tests/rules.py`, of every kind.
"""

import copy
import io
import pickle
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.rules import RULES
from thresholds import InputError, InstanceRule, RegionRule, ThresholdRule, TopKRule
from thresholds.calibration.calibrator import Calibrator
from thresholds.calibration.curves import CalibrationCurves, Knots
from thresholds.calibration.measures import UNKNOWN
from thresholds.rule import Rule

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")

inf, nan = float("inf"), float("nan")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SEARCHING = (  # for sets of labels
    "instance",
    "fitted instance",
    "capped, instance",
    "isotonic, drawn",
    "isotonic, moved",
    "isotonic, pooled",
    "platt",
    "platt, pooled, moved",
)
OTHERS = sorted(set(RULES) - set(SEARCHING))

pytestmark = pytest.mark.filterwarnings("ignore::thresholds.rule.ScoreChangeWarning")


def cuts_of(rule: Rule) -> np.ndarray:
    """Scores at which the decisions of a rule change: float64 (n, n_labels), a few for each label."""
    if isinstance(rule, ThresholdRule):
        return rule.thresholds[np.newaxis]
    if isinstance(rule, thresholds.CalibratedRule) and isinstance(rule.rule, ThresholdRule):
        rule = rule.to_regions()
    if not isinstance(rule, RegionRule):
        return np.full((1, rule.n_labels or 5), 0.5)
    n_rows = max(1, *(switches.size for switches in rule.switches))
    return np.stack([np.resize(np.append(switches, 0.5), n_rows) for switches in rule.switches], axis=1)


def next_to(scores: Any, end: float) -> Any:
    """The next scores of their dtype towards an end."""
    if scores.dtype == torch.float16:  # which torch has no `nextafter` for
        return torch.from_numpy(np.nextafter(scores.numpy(), np.float16(end)))
    return torch.nextafter(scores, torch.full_like(scores, end))


def scores_for(rule: Rule, dtype: Any) -> Any:
    """A tensor of scores with ties; at each cut of the rule, next to it on both sides; zeros, and masked scores."""
    rng = np.random.default_rng(5)
    cuts = torch.from_numpy(cuts_of(rule).copy()).to(dtype)
    n_labels = cuts.shape[1]
    drawn = torch.from_numpy(rng.integers(0, 101, (60, n_labels)) / 100).to(dtype)
    scores = torch.cat([drawn, cuts, *(next_to(cuts, end) for end in (-inf, inf))])
    scores[torch.isposinf(scores)] = 0.75
    zeros, masked = rng.random((2, *scores.shape)) < 0.05
    scores[torch.from_numpy(zeros)] = 0.0
    unit = isinstance(rule, InstanceRule) or (
        isinstance(rule, thresholds.CalibratedRule) and rule.calibrator.curves.of_shares
    )
    if unit:
        scores = scores.clip(0.0, 1.0)
    if not isinstance(rule, InstanceRule):
        scores[torch.from_numpy(masked)] = -inf
    return scores


def reloaded(module: Any, other: Any) -> Any:
    """Another module, after it has loaded the state of a module as a file holds it."""
    stream = io.BytesIO()
    torch.save(module.state_dict(), stream)
    stream.seek(0)
    other.load_state_dict(torch.load(stream, weights_only=True))
    return other


# Decisions


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", RULES)
def test_a_module_decides_as_its_rule_does(name: str, dtype: Any) -> None:
    rule = RULES[name]
    scores = scores_for(rule, dtype)
    found = rule.to_torch()(scores)
    assert found.dtype == torch.uint8
    np.testing.assert_array_equal(found, rule.predict(scores))


@pytest.mark.parametrize("name", OTHERS)
def test_whole_numbers_are_decided_as_by_the_rule(name: str) -> None:
    rule = RULES[name]
    cells = np.random.default_rng(1).integers(0, 2, (20, rule.n_labels or 5))
    for scores in (torch.from_numpy(cells), torch.from_numpy(cells.astype(np.uint8)), torch.from_numpy(cells != 0)):
        np.testing.assert_array_equal(rule.to_torch()(scores), rule.predict(scores))


@pytest.mark.parametrize("name", RULES)
def test_one_row_is_decided_as_in_a_matrix(name: str) -> None:
    rule = RULES[name]
    if rule.n_labels in (None, 1):
        return
    module, scores = rule.to_torch(), scores_for(rule, torch.float32)
    rows = torch.stack([module(row) for row in scores[:10]])
    assert torch.equal(rows, module(scores[:10]))
    assert module(scores[:0]).shape == (0, rule.n_labels)


def test_a_vector_is_a_column_for_a_rule_of_one_label() -> None:
    module = ThresholdRule([0.5]).to_torch()
    assert module(torch.tensor([0.4, 0.5, 0.6])).tolist() == [0, 1, 1]


def test_nan_is_never_predicted_and_inf_is_the_highest_score() -> None:
    odd = torch.tensor([[nan, inf, 0.4]])
    platt = RULES["platt"].calibrator
    for rule, expected in (
        (ThresholdRule([-inf, 1e30, 0.5]), [0, 1, 0]),
        (ThresholdRule([0.5, inf, 0.4]), [0, 0, 1]),
        (RegionRule([[-inf], [0.1, 0.2, 0.3], [0.5]]), [0, 1, 0]),
        (TopKRule(1), [0, 1, 0]),
        (TopKRule(3), [0, 1, 1]),
        (InstanceRule(), InstanceRule().predict([[0.0, 1.0, 0.4]])[0].tolist()),
    ):
        assert rule.to_torch()(odd).tolist() == [expected]
    masked = torch.tensor([[0.9, nan, 0.1, 0.8], [0.9, -inf, 0.1, 0.8]])
    assert platt.to_torch()(masked)[0].isnan().tolist() == [False, True, False, False]
    one, other = RULES["platt"].to_torch()(masked).tolist()
    assert one == other


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (torch.zeros(2, 3), "scores has 3 labels, expected 2 as the module has"),
        (torch.zeros(3), "scores has 3 labels, expected 2 as the module has"),
        (torch.zeros(2, 1), "scores has 1 labels, expected 2 as the module has"),
        (torch.zeros(2, 1, 2), r"scores has shape \(2, 1, 2\), expected \(n_samples, n_labels\)"),
        (torch.tensor(0.5), r"scores has shape \(\), expected"),
        (torch.zeros(1, 2, dtype=torch.complex64), "scores has dtype torch.complex64, expected floats of 16 to 64"),
        (torch.zeros(1, 2).to(torch.float8_e5m2), "scores has dtype torch.float8_e5m2, expected floats of 16 to 64"),
    ],
)
def test_scores_of_another_shape_or_dtype_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ThresholdRule([0.5, 0.2]).to_torch()(scores)


# What happens to a model


@pytest.mark.parametrize("name", RULES)
def test_decisions_stay_when_a_model_is_rounded_copied_pickled_or_reloaded(name: str) -> None:
    rule = RULES[name]
    scores = scores_for(rule, torch.float64)
    model = torch.nn.Sequential(rule.to_torch())
    expected = model(scores)
    changed = [
        copy.deepcopy(model).half(),
        copy.deepcopy(model).to(torch.bfloat16),
        copy.deepcopy(model).half().double(),
        copy.deepcopy(model).type(torch.bfloat16),  # of integers, too
        pickle.loads(pickle.dumps(model)),
        reloaded(copy.deepcopy(model).half(), torch.nn.Sequential(rule.to_torch())),
    ]
    for other in changed:
        assert torch.equal(other(scores), expected)
    assert list(model.parameters()) == []


def test_a_state_dict_carries_the_settings() -> None:
    assert reloaded(TopKRule(3).to_torch(), TopKRule(1).to_torch()).k == 3
    module = reloaded(InstanceRule(1 / 3, 1.0).to_torch(), InstanceRule().to_torch())
    assert (module.beta, module.zero_division) == (1 / 3, 1.0)
    module = reloaded(ThresholdRule([0.5, 0.1]).to_torch(), ThresholdRule([0.0, 0.0]).to_torch())
    assert module(torch.tensor([0.4, 0.1])).tolist() == [0, 1]


@pytest.mark.parametrize("name", [*OTHERS, "fitted instance", "isotonic, drawn"])
def test_modules_are_exported(name: str) -> None:
    rule = RULES[name]
    module, scores = rule.to_torch(), scores_for(rule, torch.float32)
    rows = {"scores": {0: torch.export.Dim.DYNAMIC}}
    exported = torch.export.export(module, (scores[:7],), dynamic_shapes=rows).module()
    assert torch.equal(exported(scores), module(scores))


# Each kind once: to compile one takes seconds. `make soak` compiles all.
COMPILED = ("macro", "top k", "region", "instance", "platt", "isotonic")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * (name not in COMPILED)) for name in RULES]
)
def test_modules_are_compiled_in_one_piece_but_for_the_search_of_sets(name: str) -> None:
    rule = RULES[name]
    module, scores = rule.to_torch(), scores_for(rule, torch.float32)
    torch.compiler.reset()  # Few modules of one class are compiled before it gives up.
    compiled = torch.compile(module, fullgraph=name in OTHERS, backend="eager", dynamic=True)
    assert torch.equal(compiled(scores), module(scores))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler of C++")
@pytest.mark.parametrize("dtype", [torch.float16, pytest.param(torch.bfloat16, marks=pytest.mark.soak)], ids=str)
def test_a_model_that_is_compiled_with_its_rule_rounds_its_scores(dtype: Any) -> None:
    """In one piece the compiler would leave them in float32, and those at a threshold may lie below it."""
    features = torch.randn(2000, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Sigmoid()).to(dtype).requires_grad_(False)
    rule = ThresholdRule(network(features).double().median(dim=0).values)  # each the score of some rows
    module = rule.to_torch()

    def model(rows: Any) -> tuple[Any, Any]:
        scores = network(rows)
        return scores, module(scores)

    torch.compiler.reset()
    scores, decided = torch.compile(model, fullgraph=True)(features)
    np.testing.assert_array_equal(decided, rule.predict(scores))


def test_scores_may_have_gradients() -> None:
    scores = torch.tensor([[0.5, 0.1]], requires_grad=True)
    for rule in (ThresholdRule([0.5, 0.2]), TopKRule(1), InstanceRule()):
        assert rule.to_torch()(scores).tolist() == [[1, 0]]


def test_a_module_says_what_it_decides() -> None:
    rule = ThresholdRule([0.5, 0.25, inf], label_names=["cat", "dog", "emu"])
    assert repr(rule.to_torch()) == "SwitchModule(n_labels=3, never=1, thresholds=0.25 to 0.5)"
    assert rule.to_torch().label_names == ("cat", "dog", "emu")
    assert repr(RegionRule([[0.1, 0.2]]).to_torch()) == (
        "SwitchModule(n_labels=1, thresholds=0.1 to 0.1, switches=up to 2 a label)"
    )
    assert repr(RegionRule([[]]).to_torch()) == "SwitchModule(n_labels=1, never=1)"
    assert repr(TopKRule(3).to_torch()) == "TopKModule(n_labels=None, k=3)"
    assert repr(InstanceRule(2.0).to_torch()) == "InstanceModule(n_labels=None, beta=2, zero_division=0)"
    assert "(calibrator): CalibratorModule(n_labels=4, method=platt, by=shrink)" in repr(RULES["platt"].to_torch())


def test_the_example_of_the_page_on_serving_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    (block,) = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "import torch" in text]
    shown: dict[str, Any] = {}
    exec(compile(block, "serving.md", "exec"), shown)
    assert shown["decisions"].shape == (5, 2)
    scores = torch.rand(9, 2)
    served = torch.export.load("rule.pt2").module()
    np.testing.assert_array_equal(served(scores), shown["rule"].predict(scores))


# Probabilities


METHODS = [(method, by) for method in ("isotonic", "platt") for by in ("label", "pooled", "shrink")]
CALIBRATORS = [", ".join(names) for names in [*METHODS, ("platt", "label", "logits")]]


@cache
def calibrator_of(name: str) -> Calibrator:
    """By method, for labels by themselves, together and drawn to each other; one label has no positives."""
    rng = np.random.default_rng(4)
    scores = rng.random((200, 4)).round(2)
    truth = (rng.random((200, 4)) < scores) & (np.arange(4) != 2)
    method, by, *logits = name.split(", ")
    return thresholds.calibrate(truth, -9 * scores if logits else scores, method, by)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_probabilities_are_those_of_the_calibrator(name: str) -> None:
    calibrator = calibrator_of(name)
    scores = torch.from_numpy(np.random.default_rng(2).random((100, 4)).round(3)).to(torch.float32)
    scores[0] = torch.tensor([0.0, 1.0, -inf, 0.5])
    module = calibrator.to_torch()
    found, expected = module(scores), calibrator.transform(scores)
    assert found.dtype == torch.float64
    if name in ("isotonic, label", "isotonic, pooled"):
        assert torch.equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)
    assert torch.equal(copy.deepcopy(module).half()(scores), found)
    assert torch.equal(module(scores[0]), found[0])


def with_knots(*n_knots: int) -> Calibrator:
    """A calibrator of labels with so many knots each, on a parabola."""
    knots = np.concatenate([np.linspace(0, 1, n) for n in n_knots])
    curves = CalibrationCurves(pooled=False, knots=Knots(np.append(0, np.cumsum(n_knots)), knots, knots**2))
    return Calibrator("isotonic", "label", None, 0.0, np.zeros(len(n_knots)), UNKNOWN, UNKNOWN, curves)


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        (lambda: calibrator_of("platt, label"), lambda: calibrator_of("platt, label, logits")),
        (lambda: calibrator_of("platt, label, logits"), lambda: calibrator_of("platt, label")),
        (lambda: with_knots(3, 37), lambda: with_knots(20, 20)),
    ],
    ids=["of shares", "of logits", "more knots"],
)
def test_a_state_dict_carries_how_curves_are_read(
    saved: Callable[[], Calibrator], other: Callable[[], Calibrator]
) -> None:
    module = saved().to_torch()
    scores = torch.from_numpy(np.random.default_rng(2).random((100, saved().n_labels)))
    assert torch.equal(reloaded(module, other().to_torch())(scores), module(scores))


@pytest.mark.parametrize("name", CALIBRATORS)
def test_calibrators_are_exported(name: str) -> None:
    module, scores = calibrator_of(name).to_torch(), torch.rand(9, 4)
    rows = {"scores": {0: torch.export.Dim.DYNAMIC}}
    exported = torch.export.export(module, (scores[:5],), dynamic_shapes=rows).module()
    assert torch.equal(exported(scores), module(scores))
