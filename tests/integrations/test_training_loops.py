"""The examples of `docs/training_loops.md` run in the libraries they are for, on one rank and on two."""

import json
import re
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds

PAGE = Path(__file__).parents[2] / "docs" / "training_loops.md"
BLOCKS = dict(re.findall(r"^## (\w+)\n.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE))

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: examples write there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_example(name: str, folder: Path, *, pasted: bool = True) -> dict[str, Any]:
    """What a block of the page defines: pasted into a session, or imported."""
    (folder / "example.py").write_text(BLOCKS[name])
    return runpy.run_path(str(folder / "example.py"), run_name="__main__" if pasted else "example")


def rows_of_two_ranks(program: str, folder: Path) -> list[Any]:
    """What each of two processes writes to `rank.json`; they know their `rank`, and meet by `init` or at `port`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = (
        "import json, sys, torch, torch.distributed as dist, thresholds\n"
        f"rank, port = int(sys.argv[1]), '{port}'\n"
        f"init = {{'backend': 'gloo', 'init_method': 'file://{folder}/meet', 'rank': rank, 'world_size': 2}}\n"
    )
    (folder / "program.py").write_text(start + program)
    command = [sys.executable, "-W", "ignore", "program.py"]
    ranks = [subprocess.Popen([*command, str(rank)], cwd=folder, stderr=subprocess.PIPE, text=True) for rank in (0, 1)]
    for rank in ranks:
        _, errors = rank.communicate(timeout=300)
        assert rank.returncode == 0, errors
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


def data(n_samples: int, seed: int) -> tuple[Any, Any]:
    """Truth, and logits of float32, as tensors."""
    generator = torch.Generator().manual_seed(seed)
    y_true = torch.rand(n_samples, 3, generator=generator) < torch.tensor([0.4, 0.2, 0.05])
    return y_true, torch.randn(n_samples, 3, generator=generator) + 2 * y_true


def test_every_block_of_the_page_is_run_here() -> None:
    assert list(BLOCKS) == ["Lightning", "Transformers", "TorchMetrics"]
    assert PAGE.read_text().count("```python") == len(BLOCKS)


# Lightning


@pytest.fixture
def lightning() -> Any:
    return pytest.importorskip("lightning", reason="make test-integrations installs lightning")


QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}


def test_a_lightning_module_fits_the_rule_of_its_validation_rows(lightning: Any, folder: Path) -> None:
    example = run_example("Lightning", folder)
    expected = thresholds.fit_empirical(example["y_true"], example["model"].model(example["x"]), guard="auto")
    assert example["model"].rule.fitted_on.n_samples == 401
    np.testing.assert_allclose(example["model"].rule.thresholds, expected.thresholds, rtol=1e-6)
    assert len(example["model"].rows) == 0


def test_the_rule_is_saved_with_the_weights_it_was_fitted_with(lightning: Any, folder: Path) -> None:
    class Trained(run_example("Lightning", folder, pasted=False)["Tagger"]):  # type: ignore[misc]
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return torch.nn.functional.binary_cross_entropy_with_logits(self.model(batch[0]), batch[1].float())

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=0.1)

    y_true, x = data(120, seed=1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y_true), batch_size=50)
    best = lightning.pytorch.callbacks.ModelCheckpoint(folder, "best", monitor="val_f1", mode="max")
    trainer = lightning.Trainer(**QUIET, max_epochs=3, callbacks=[best])
    trainer.fit(model := Trained(3, 3), loader, loader)
    saved = torch.load(folder / "best.ckpt", weights_only=True)
    model.load_state_dict(saved["state_dict"])
    rule = thresholds.ThresholdRule.from_dict(saved["rule"])
    with torch.no_grad():
        expected = thresholds.fit_empirical(y_true, model.model(x), guard="auto")
    assert rule.fitted_on.n_samples == 120
    assert rule.objective == expected.objective
    np.testing.assert_allclose(rule.thresholds, expected.thresholds, rtol=1e-6)


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
    model = Remembering(8, 3)
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


def test_two_ranks_of_lightning_fit_one_rule(lightning: Any, folder: Path) -> None:
    """Also what the page says of samplers: one repeats a row of 101, one leaves one out, one does neither."""
    (folder / "example.py").write_text(BLOCKS["Lightning"])
    first, second = rows_of_two_ranks(TWO_RANKS_OF_LIGHTNING, folder)
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


@pytest.mark.usefixtures("lightning")
def test_ranks_of_any_size_gather_all_rows(folder: Path) -> None:
    (folder / "example.py").write_text(BLOCKS["Lightning"])
    first, second = rows_of_two_ranks(TWO_RANKS, folder)
    assert first == [[45, True], [90, True], [0, True]]
    assert second == [[45, True], [0, True], [90, True]]


# Transformers


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("accelerate", reason="make test-integrations installs accelerate")
    return pytest.importorskip("transformers", reason="make test-integrations installs transformers")


def test_a_trainer_of_transformers_reports_f1_out_of_fold(transformers: Any, folder: Path) -> None:
    example = run_example("Transformers", folder)
    trainer, rule = example["trainer"], thresholds.load_rule(folder / "rule.json")
    logits = trainer.predict(example["data"][150:]).predictions
    y_true = example["y_true"][150:].numpy()
    assert rule.fitted_on.n_samples == 150
    np.testing.assert_allclose(
        rule.thresholds, thresholds.fit_empirical(y_true, logits, guard="auto").thresholds, rtol=1e-5
    )
    crossed = thresholds.cross_fit(y_true, logits, random_state=0)
    evaluated = [log for log in trainer.state.log_history if "eval_f1" in log]
    assert len(evaluated) == 3  # after each of two epochs, and in the end
    assert evaluated[-1]["eval_f1"] == pytest.approx(crossed.out_of_fold, abs=1e-6)
    assert evaluated[-1]["eval_f1_in_sample"] == pytest.approx(crossed.in_sample, abs=1e-6)


def test_batches_and_all_rows_at_once_give_the_same_metrics(transformers: Any, folder: Path) -> None:
    example = run_example("Transformers", folder)
    args = transformers.TrainingArguments(
        "out", batch_eval_metrics=True, per_device_eval_batch_size=7, report_to="none", disable_tqdm=True
    )
    trainer = transformers.Trainer(
        example["trainer"].model,
        args,
        eval_dataset=example["data"][150:],
        compute_metrics=example["compute_metrics"],
    )
    found, whole = trainer.evaluate(), example["trainer"].evaluate()
    for name in ("eval_f1", "eval_f1_in_sample"):
        assert found[name] == pytest.approx(whole[name], abs=1e-6)
    assert len(example["rows"]) == 0


# TorchMetrics


@pytest.fixture
def torchmetrics() -> Any:
    return pytest.importorskip("torchmetrics", reason="make test-integrations installs torchmetrics")


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_metric_fits_all_batches_at_once(average: str, torchmetrics: Any, folder: Path) -> None:
    metric = run_example("TorchMetrics", folder)["ThresholdedF1"](average)
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
    for found, expected in rows_of_two_ranks(TWO_RANKS_OF_A_METRIC, folder):
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
