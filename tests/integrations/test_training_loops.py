"""The examples of `docs/training_loops.md` run as they stand, and what the page says of precision is so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.integrations.loops import BLOCKS, PAGE, data, on_ranks, run_example

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: examples write there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_of_the_page_is_run_here() -> None:
    assert list(BLOCKS) == ["PyTorch", "Lightning", "Transformers", "TorchMetrics"]
    assert PAGE.read_text().count("```python") == len(BLOCKS)


# No library


IN_A_NEW_PROCESS = """
saved = torch.load("best.pt", weights_only=True)
model = torch.nn.Linear(8, 3)
model.load_state_dict(saved["weights"])
rule = thresholds.load_rule(saved["rule"])
x, y_true = torch.load("validation.pt", weights_only=True)
with torch.no_grad():
    logits = torch.cat([model(batch) for batch in x.split(50)])
crossed = thresholds.cross_fit(y_true, logits, label_names=rule.label_names)
in_sample = thresholds.metrics.f1_score(y_true, rule.predict(logits), average="macro")
found = {"rule": crossed.rule.to_dict(), "out_of_fold": crossed.out_of_fold, "in_sample": in_sample}
json.dump(found, open(f"{rank}.json", "w"))
"""


def test_a_loop_of_pytorch_reproduces_its_best_f1_in_a_new_process(folder: Path) -> None:
    torch.manual_seed(0)
    example = run_example("PyTorch", folder)
    torch.save(example["validation"], folder / "validation.pt")
    [found] = on_ranks(1, IN_A_NEW_PROCESS, folder)
    assert found["rule"] == example["rule"].to_dict()
    assert found["out_of_fold"] == example["best"] == example["rule"].out_of_fold.f
    assert found["in_sample"] == example["rule"].objective


def test_a_rule_that_never_predicts_a_label_is_saved_beside_weights(folder: Path) -> None:
    """Its threshold is infinite."""
    y_true, y_score = data(200, seed=4)
    rule = thresholds.fit_empirical(y_true, y_score, label_names=("cat", "dog", "owl")).replace({"owl": np.inf})
    torch.save({"weights": torch.nn.Linear(2, 2).state_dict(), "rule": rule.to_dict()}, folder / "model.pt")
    found = thresholds.load_rule(torch.load(folder / "model.pt", weights_only=True)["rule"])
    assert found.to_dict() == rule.to_dict()


# Lightning


@pytest.fixture
def lightning() -> Any:
    return pytest.importorskip("lightning", reason="make test-integrations installs lightning")


def test_a_checkpoint_of_lightning_has_the_rule_of_its_weights(lightning: Any, folder: Path) -> None:
    example = run_example("Lightning", folder)
    x, y_true = example["parts"][1].tensors
    expected = thresholds.fit_empirical(y_true, example["model"].model(x), guard="auto")
    np.testing.assert_allclose(example["rule"].thresholds, expected.thresholds, rtol=1e-6)
    assert example["rule"].to_dict() == example["callback"].rule.to_dict()
    assert set(example["callback"].figures) == {"test_macro_f1"}


# Transformers


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("accelerate", reason="make test-integrations installs accelerate")
    return pytest.importorskip("transformers", reason="make test-integrations installs transformers")


def test_a_trainer_of_transformers_keeps_the_rule_of_the_best_checkpoint(transformers: Any, folder: Path) -> None:
    example = run_example("Transformers", folder)
    trainer, rule = example["trainer"], thresholds.load_rule(folder / "best" / "rule.json")
    best = Path(trainer.state.best_model_checkpoint)
    assert rule.to_dict() == thresholds.load_rule(best / "rule.json").to_dict()
    assert rule.to_dict() == example["callback"].rule.to_dict()
    assert rule.label_names == ("cat", "dog", "owl")
    crossed = thresholds.cross_fit(example["truth"][150:300], trainer.predict(example["data"][150:300]).predictions)
    assert trainer.state.best_metric == crossed.out_of_fold == trainer.evaluate()["eval_macro_f1"]


# TorchMetrics


@pytest.fixture
def torchmetrics() -> Any:
    return pytest.importorskip("torchmetrics", reason="make test-integrations installs torchmetrics")


def test_the_metrics_fit_and_judge(torchmetrics: Any, folder: Path) -> None:
    example = run_example("TorchMetrics", folder)
    assert example["metric"].rule.fitted_on.n_samples == 320
    assert example["test_metric"].rule is example["metric"].rule


def test_torchmetrics_applies_a_sigmoid_to_some_batches_and_not_to_others(torchmetrics: Any) -> None:
    """What the page says of its own metrics: the same score counts as two in two batches."""
    metric = torchmetrics.classification.BinaryF1Score()
    metric.update(torch.tensor([0.4, 0.4]), torch.tensor([1, 1]))
    assert metric.tp == 0
    metric.update(torch.tensor([0.4, 1.5]), torch.tensor([1, 1]))
    assert metric.tp == 2


# What the page says of precision


def test_a_sigmoid_loses_ranks() -> None:
    assert torch.sigmoid(torch.tensor([17.0, 18.0])).tolist() == [1.0, 1.0]
    assert torch.sigmoid(torch.tensor(16.0)) < 1
    below_one = torch.nextafter(torch.tensor(1.0, dtype=torch.bfloat16), torch.tensor(0.0, dtype=torch.bfloat16))
    assert 1 - below_one.item() == 1 / 256


def test_a_bare_comparison_in_bfloat16_compares_with_a_rounded_threshold() -> None:
    score = torch.tensor([[0.7]], dtype=torch.bfloat16)
    assert score.item() == 0.69921875
    assert (score >= 0.7).item()
    assert thresholds.FixedRule(0.7, 1).predict(score).item() == 0
