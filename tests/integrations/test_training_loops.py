"""The examples of `docs/training_loops.md` run in the libraries they are for, on one rank and on two."""

import re
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
rule = thresholds.ThresholdRule.from_dict(saved["rule"])
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


# Lightning


@pytest.fixture
def lightning() -> Any:
    return pytest.importorskip("lightning", reason="make test-integrations installs lightning")


def test_a_lightning_module_fits_the_rule_of_its_validation_rows(lightning: Any, folder: Path) -> None:
    example = run_example("Lightning", folder)
    x, y_true = example["parts"][1].tensors
    expected = thresholds.fit_empirical(y_true, example["model"].model(x), guard="auto")
    assert example["model"].rule.fitted_on.n_samples == 300
    np.testing.assert_allclose(example["model"].rule.thresholds, expected.thresholds, rtol=1e-6)
    assert len(example["model"].rows) == 0


TWO_RANKS_OF_LIGHTNING = """
import os

import lightning as L
from lightning.pytorch.overrides.distributed import UnrepeatedDistributedSampler
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from example import Tagger

class Remembering(Tagger):
    def on_validation_epoch_end(self):
        self.n_own = len(self.rows)
        super().on_validation_epoch_end()

SAMPLERS = {
    "repeated": lambda rows: DistributedSampler(rows, 2, rank, shuffle=False),
    "left out": lambda rows: DistributedSampler(rows, 2, rank, shuffle=False, drop_last=True),
    "once": lambda rows: UnrepeatedDistributedSampler(rows, num_replicas=2, rank=rank, shuffle=False),
}
os.environ |= {"NODE_RANK": "0", "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
generator = torch.Generator().manual_seed(0)
x = torch.randn(101, 8, generator=generator)
rows = TensorDataset(x, x[:, :3] + torch.randn(101, 3, generator=generator) > 1)
found = {}
for name, sampler in SAMPLERS.items():
    torch.manual_seed(0)
    model = Remembering(8, ["cat", "dog", "owl"])
    trainer = L.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", logger=False, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False,
    )
    trainer.validate(model, DataLoader(rows, batch_size=16, sampler=sampler(rows)), verbose=False)
    with torch.no_grad():
        expected = thresholds.fit_empirical(rows.tensors[1], model.model(x), guard="auto")
    found[name] = {
        "own": model.n_own, "rule": model.rule.to_dict(), "val_f1": trainer.callback_metrics["val_f1"].item(),
        "expected": expected.thresholds.tolist(),
    }
json.dump(found, open(f"{rank}.json", "w"))
"""


@pytest.mark.soak
def test_two_ranks_of_lightning_fit_one_rule(lightning: Any, folder: Path) -> None:
    """Also what the page says of samplers: one repeats a row of 101, one leaves one out, one does neither."""
    (folder / "example.py").write_text(BLOCKS["Lightning"])
    first, second = on_ranks(2, TWO_RANKS_OF_LIGHTNING, folder)
    for name, own, n_samples in (("repeated", (51, 51), 102), ("left out", (50, 50), 100), ("once", (51, 50), 101)):
        assert (first[name]["own"], second[name]["own"]) == own
        assert first[name]["rule"] == second[name]["rule"]
        assert first[name]["val_f1"] == second[name]["val_f1"]
        assert first[name]["rule"]["fitted_on"]["n_samples"] == n_samples
    np.testing.assert_allclose(first["once"]["rule"]["thresholds"], first["once"]["expected"], rtol=1e-6)


TWO_RANKS = """
from example import of_all_ranks

dist.init_process_group(**init)
generator = torch.Generator().manual_seed(3)
y_true = torch.rand(90, 3, generator=generator) < 0.3
y_score = (torch.randn(90, 3, generator=generator) + y_true).to(torch.bfloat16).requires_grad_()
expected = thresholds.fit_empirical(y_true, y_score, "micro")
found = []
for parts in (torch.arange(rank, 90, 2).split(7), [torch.arange(90 * rank, 90)], [torch.arange(90 - 90 * rank, 90)]):
    rows = thresholds.Accumulator()
    for part in parts:
        rows.update(y_true[part], y_score[part])
    rule = of_all_ranks(rows).compute("micro")
    same = (rule.thresholds == expected.thresholds).all() and rule.objective == expected.objective
    found.append([len(rows), bool(same)])
json.dump(found, open(f"{rank}.json", "w"))
dist.destroy_process_group()
"""


def test_ranks_of_any_size_gather_all_rows(folder: Path) -> None:
    gather = re.search(r"def of_all_ranks.*?\n\n\n", BLOCKS["Lightning"], re.DOTALL)
    assert gather
    (folder / "example.py").write_text("import torch.distributed as dist\nimport thresholds\n" + gather[0])
    first, second = on_ranks(2, TWO_RANKS, folder)
    assert first == [[45, True], [90, True], [0, True]]
    assert second == [[45, True], [0, True], [90, True]]


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


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_metric_fits_all_batches_at_once(average: str, torchmetrics: Any, folder: Path) -> None:
    metric = run_example("TorchMetrics", folder)["ThresholdedF1"](average=average)
    y_true, y_score = data(300, seed=2)
    for part in torch.arange(300).split(64):
        metric.update(y_score[part].requires_grad_(), y_true[part])
    crossed = thresholds.cross_fit(y_true, y_score, average, random_state=0)
    assert metric.compute() == torch.tensor(crossed.out_of_fold)
    assert metric.rule.to_dict() == crossed.rule.to_dict()
    metric.reset()
    metric.update(y_score[:50], y_true[:50])
    metric.compute()
    assert metric.rule.fitted_on.n_samples == 50


def test_swapped_arguments_are_refused_not_fitted(torchmetrics: Any, folder: Path) -> None:
    metric = run_example("TorchMetrics", folder)["ThresholdedF1"]()
    y_true, y_score = data(50, seed=2)
    metric.update(y_true, y_score)
    with pytest.raises(thresholds.InputError, match="the arguments look swapped"):
        metric.compute()


TWO_RANKS_OF_A_METRIC = """
from example import ThresholdedF1

dist.init_process_group(**init)
generator = torch.Generator().manual_seed(3)
y_true = torch.rand(90, 3, generator=generator) < 0.3
y_score = torch.randn(90, 3, generator=generator) + y_true
metric = ThresholdedF1()
own = slice(0, 70) if rank == 0 else slice(70, 90)
metric.update(y_score[own], y_true[own])
value = metric.compute().item()
expected = thresholds.cross_fit(y_true, y_score, random_state=0)
json.dump([[value, metric.rule.to_dict()], [torch.tensor(expected.out_of_fold).item(), expected.rule.to_dict()]],
          open(f"{rank}.json", "w"))
dist.destroy_process_group()
"""


def test_two_ranks_of_a_metric_fit_one_rule(torchmetrics: Any, folder: Path) -> None:
    (folder / "example.py").write_text(BLOCKS["TorchMetrics"])
    for found, expected in on_ranks(2, TWO_RANKS_OF_A_METRIC, folder):
        assert found == expected


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
