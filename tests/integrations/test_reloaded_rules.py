"""What the training loops of `docs/training_loops.md` leave behind: weights and the rule that was fitted to them.

Models are trained in other processes, so that spoiled weights come last, and are read back here.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.integrations.loops import BLOCKS, data, on_ranks, run_example

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


# Transformers


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("accelerate", reason="make test-integrations installs accelerate")
    return pytest.importorskip("transformers", reason="make test-integrations installs transformers")


# What is learned in an epoch, and how it is spoiled in the end: the last rule is of no use to the best weights.
LEARNING = """
import torch
import transformers
from example import ThresholdTrainer

NAMES = {0: "cat", 1: "dog", 2: "owl"}

class SpoiledInTheEnd(transformers.TrainerCallback):
    def on_epoch_begin(self, args, state, control, model, **others):
        if state.global_step >= 40:
            model.classifier.weight.data.neg_()
            model.classifier.bias.data.add_(5)

def tagged(n_samples, seed):
    tokens = torch.randint(5, 12, (n_samples, 6), generator=torch.Generator().manual_seed(seed))
    y_true = torch.stack([(tokens == 5 + k).any(dim=1) for k in range(3)], dim=1).float()
    return [{"input_ids": ids, "labels": labels} for ids, labels in zip(tokens, y_true)]

def a_trainer(model=None, callbacks=(), **arguments):
    config = transformers.BertConfig(
        vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, id2label=NAMES,
        problem_type="multi_label_classification",
    )
    transformers.set_seed(0)
    arguments = {
        "num_train_epochs": 3, "eval_strategy": "epoch", "save_strategy": "epoch", "load_best_model_at_end": True,
        "metric_for_best_model": "f1", "report_to": "none", "disable_tqdm": True, "use_cpu": True,
        "learning_rate": 0.01, **arguments,
    }
    return ThresholdTrainer(
        model or transformers.BertForSequenceClassification(config), transformers.TrainingArguments("out", **arguments),
        train_dataset=tagged(160, 1), eval_dataset=tagged(160, 2), callbacks=[SpoiledInTheEnd(), *callbacks],
    )
"""

TWO_RANKS_OF_TRANSFORMERS = """
import os

os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
from learning import a_trainer

written = []
save = thresholds.ThresholdRule.save
thresholds.ThresholdRule.save = lambda rule, path: (written.append(str(path)), save(rule, path))
trainer = a_trainer(per_device_train_batch_size=4)
trainer.train()
json.dump({"history": trainer.state.log_history, "best": trainer.state.best_model_checkpoint,
           "best_f1": trainer.state.best_metric, "rule": trainer.rule.to_dict(), "written": written},
          open(f"{rank}.json", "w"))
dist.destroy_process_group()
"""


@pytest.fixture
def learning(transformers: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `LEARNING` defines, with the page's trainer."""
    (folder / "example.py").write_text(BLOCKS["Transformers"].partition("\nconfig = ")[0])
    (folder / "learning.py").write_text(LEARNING)
    names: dict[str, Any] = {}
    exec((folder / "example.py").read_text(), names)
    exec(LEARNING.replace("from example import ThresholdTrainer\n", ""), names)
    return names


def test_the_best_checkpoint_is_deployed_with_its_rule(learning: dict[str, Any], folder: Path) -> None:
    first, second = on_ranks(2, TWO_RANKS_OF_TRANSFORMERS, folder)
    steps = [log for log in first["history"] if "eval_f1" in log]
    best = max(steps, key=lambda log: log["eval_f1"])
    assert best["step"] < steps[-1]["step"]
    assert first["best"].endswith(f"checkpoint-{best['step']}")
    assert first["written"] == [f"out/checkpoint-{log['step']}/rule.json" for log in steps]
    assert second["written"] == []
    checkpoint = folder / "out" / f"checkpoint-{best['step']}"
    rule = thresholds.load_rule(checkpoint / "rule.json")
    assert first["rule"] == second["rule"] == rule.to_dict()
    assert rule.label_names == NAMES

    trainer = learning["a_trainer"](learning["transformers"].BertForSequenceClassification.from_pretrained(checkpoint))
    trainer.rule = rule
    before = contents(folder)
    assert trainer.evaluate()["eval_f1"] == pytest.approx(first["best_f1"], abs=1e-6)
    valid, test = trainer.predict(trainer.eval_dataset), trainer.predict(learning["tagged"](160, 3))
    assert valid.metrics["test_f1"] == pytest.approx(best["eval_f1_in_sample"], abs=1e-6)
    assert test.metrics["test_f1"] == macro_f1(rule, test.label_ids, test.predictions)
    assert trainer.evaluate(learning["tagged"](160, 3), metric_key_prefix="test")["test_f1"] == test.metrics["test_f1"]
    assert test.metrics["test_f1"] > macro_f1(thresholds.load_rule("out/checkpoint-60/rule.json"), *test[1::-1]) + 0.1
    assert trainer.rule is rule
    assert contents(folder) == before


def test_label_names_go_by_column(learning: dict[str, Any], folder: Path) -> None:
    """Keys of a config may be sorted as text: 0, 1, 10, 11, 2, ..."""
    library, columns = learning["transformers"], sorted(map(str, range(12)))
    config = library.BertConfig(
        vocab_size=12, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4,
        id2label={column: f"label {column}" for column in columns}, problem_type="multi_label_classification",
    )  # fmt: skip
    data = [{"input_ids": [5 + row % 7] * 3, "labels": [float((row + k) % 2) for k in range(12)]} for row in range(20)]
    trainer = learning["ThresholdTrainer"](
        library.BertForSequenceClassification(config),
        library.TrainingArguments("out", report_to="none", disable_tqdm=True, use_cpu=True),
        eval_dataset=data,
    )
    trainer.evaluate()
    assert trainer.rows.label_names == tuple(f"label {column}" for column in range(12))


@pytest.mark.soak
def test_a_training_that_is_resumed_finds_the_best_rule(learning: dict[str, Any], folder: Path) -> None:
    learning["a_trainer"](num_train_epochs=2).train()
    resumed = learning["a_trainer"]()
    resumed.train(resume_from_checkpoint=True)
    assert resumed.state.global_step == 60
    best = Path(resumed.state.best_model_checkpoint)
    assert best.name != "checkpoint-60"
    assert resumed.rule.to_dict() == thresholds.load_rule(best / "rule.json").to_dict()
    resumed.save_model("deployed")
    assert thresholds.load_rule("deployed/rule.json").to_dict() == resumed.rule.to_dict()


def test_weights_that_no_evaluation_has_seen_have_no_rule(learning: dict[str, Any], folder: Path) -> None:
    """Interrupted after a step, before the next evaluation: also, that evaluation is none of training."""

    class Interrupted(learning["transformers"].TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            if state.global_step == 21:
                raise KeyboardInterrupt

    trainer = learning["a_trainer"](callbacks=[Interrupted()])
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    trainer.save_model("out/checkpoint-20")
    assert not Path("out/checkpoint-20/rule.json").exists()
    trainer.evaluate()
    with pytest.raises(RuntimeError, match="no rule fits these weights"):
        trainer.predict(trainer.eval_dataset)


def test_one_of_several_validation_sets_is_fitted_on(learning: dict[str, Any], folder: Path) -> None:
    trainer = learning["a_trainer"](num_train_epochs=1, metric_for_best_model="one_f1")
    trainer.fit_on = "eval_one"
    trainer.eval_dataset = {"one": learning["tagged"](160, 2), "other": learning["tagged"](80, 3)}
    trainer.train()
    assert trainer.rule.fitted_on.n_samples == 160
    logs = {name: value for log in trainer.state.log_history for name, value in log.items()}
    other = trainer.predict(trainer.eval_dataset["other"])
    assert logs["eval_other_f1"] == other.metrics["test_f1"] == macro_f1(trainer.rule, *other[1::-1])


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
