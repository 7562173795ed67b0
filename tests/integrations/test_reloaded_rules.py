"""What the training loops of `docs/training_loops.md` leave behind: weights and the rule that was fitted to them.

Models are trained in other processes, so that spoiled weights come last, and are read back here.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.integrations.loops import data, on_ranks, run_example

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")

NAMES = ("cat", "dog", "owl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: examples write there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[Path, str]:
    """Every file below a folder, and what it holds."""
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def macro_f1(rule: Any, y_true: Any, y_score: Any) -> float:
    """F1 of what a rule decides."""
    return thresholds.metrics.f1_score(y_true, rule.predict(y_score), average="macro", zero_division=0)


# Lightning


@pytest.fixture
def lightning() -> Any:
    return pytest.importorskip("lightning", reason="make test-integrations installs lightning")


QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}

TRAINED_BY_LIGHTNING = f"""
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
from example import Tagger
from tests.integrations.loops import data

class SpoiledInTheEnd(L.Callback):
    def on_train_epoch_start(self, trainer, module):
        if trainer.current_epoch == 2:
            trainer.optimizers[0].param_groups[0]["lr"] = 0.0
            module.model.weight.data.neg_()
            module.model.bias.data.add_(20)

train, validation, test = (DataLoader(TensorDataset(*data(200, seed)[::-1]), batch_size=50) for seed in (1, 2, 3))
best = L.pytorch.callbacks.ModelCheckpoint(".", "best", monitor="val_f1", mode="max")
trainer = L.Trainer(**{QUIET}, max_epochs=3, callbacks=[best, SpoiledInTheEnd()])
trainer.fit(model := Tagger(3, {list(NAMES)}), train, validation)
last = model.rule.to_dict()
[judged] = trainer.test(dataloaders=test, ckpt_path="best", verbose=False)
found = {{"best_f1": best.best_model_score.item(), "last": last, "rule": model.rule.to_dict(), **judged}}
json.dump(found, open(f"{{rank}}.json", "w"))
"""


def test_a_lightning_checkpoint_brings_its_rule_along(lightning: Any, folder: Path) -> None:
    example = run_example("Lightning", folder, pasted=False)
    [trained] = on_ranks(1, TRAINED_BY_LIGHTNING, folder)
    before = contents(folder)
    model = example["Tagger"].load_from_checkpoint(folder / "best.ckpt")
    assert model.rule.label_names == NAMES
    assert model.rule.to_dict() == trained["rule"] != trained["last"]
    (y_valid, x_valid), (y_test, x_test) = data(200, seed=2), data(200, seed=3)
    with torch.no_grad():
        logits = model.model(x_valid)
    assert macro_f1(model.rule, y_valid, logits) == model.rule.objective
    crossed = thresholds.cross_fit(y_valid, logits, random_state=0)
    assert trained["best_f1"] == pytest.approx(crossed.out_of_fold, abs=1e-6)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x_test, y_test), batch_size=50)
    [judged] = lightning.Trainer(**QUIET).test(model, loader, verbose=False)
    with torch.no_grad():
        expected = macro_f1(model.rule, y_test, model.model(x_test))
    assert judged["test_f1"] == pytest.approx(expected, abs=1e-6)
    assert trained["test_f1"] == pytest.approx(expected, abs=1e-6)
    assert model.rule.to_dict() == trained["rule"]
    assert contents(folder) == before


def test_weights_without_a_rule_are_not_judged(lightning: Any, folder: Path) -> None:
    """A step after the last validation leaves none, and a checkpoint of other code has none."""
    tagger = run_example("Lightning", folder, pasted=False)["Tagger"]
    y_true, x = data(100, seed=1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y_true), batch_size=50)
    trainer = lightning.Trainer(**QUIET, max_epochs=1, limit_val_batches=1, enable_checkpointing=False)
    model = tagger(3, list(NAMES))
    trainer.validate(model, loader, verbose=False)
    assert model.rule is not None
    trainer.fit(model, loader)
    trainer.save_checkpoint("step.ckpt")
    saved = torch.load("step.ckpt", weights_only=True)
    torch.save({name: value for name, value in saved.items() if name != "rule"}, "foreign.ckpt")
    for name in ("step.ckpt", "foreign.ckpt"):
        reloaded = tagger.load_from_checkpoint(name)
        assert reloaded.rule is None
        with pytest.raises(RuntimeError, match="no rule fits these weights"):
            lightning.Trainer(**QUIET).test(reloaded, loader, verbose=False)


# TorchMetrics, and no library


def test_a_metric_s_rule_is_part_of_its_state(folder: Path) -> None:
    torchmetrics = pytest.importorskip("torchmetrics", reason="make test-integrations installs torchmetrics")
    metric_class = run_example("TorchMetrics", folder)["ThresholdedF1"]

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.f1 = metric_class(NAMES)

    model, reloaded = Model(), Model()
    y_true, y_score = data(300, seed=2)
    model.f1.update(y_score, y_true)
    model.f1.compute()
    model.f1.reset()
    torch.save(model.state_dict(), folder / "weights.pt")
    reloaded.load_state_dict(torch.load(folder / "weights.pt", weights_only=True))
    assert reloaded.f1.rule.label_names == NAMES
    assert macro_f1(reloaded.f1.rule, y_true, y_score) == model.f1.rule.objective
    judged = torchmetrics.classification.MultilabelF1Score(3)(reloaded.f1.rule.predict(y_score), y_true)
    assert judged.item() == pytest.approx(model.f1.rule.objective, abs=1e-6)
    with pytest.raises(RuntimeError, match=r"Missing key.*extra_state"):
        reloaded.load_state_dict({})


def test_a_rule_is_saved_beside_weights(folder: Path) -> None:
    """What the page says of loops of no library."""
    y_true, y_score = data(200, seed=4)
    rule = thresholds.fit_empirical(y_true, y_score, label_names=NAMES)
    never = rule.replace({"owl": np.inf})
    torch.save({"weights": torch.nn.Linear(2, 2).state_dict(), "rule": never.to_dict()}, folder / "model.pt")
    found = thresholds.ThresholdRule.from_dict(torch.load(folder / "model.pt", weights_only=True)["rule"])
    assert found.to_dict() == never.to_dict()
