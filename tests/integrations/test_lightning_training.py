"""`thresholds.training.lightning` in real runs of Lightning: the rule goes where its weights go."""

import json
import os
import pickle
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.integrations.loops import on_ranks

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

lightning = pytest.importorskip("lightning", reason="make test-integrations installs lightning")
torch = pytest.importorskip("torch", reason="make test-integrations installs torch")

from tests.integrations.tagger import NAMES, Steps, Tagger, best_of, fitted, loaders, logits, trainer  # noqa: E402
from thresholds.training.lightning import ThresholdCallback, load_rule_from_checkpoint  # noqa: E402
from thresholds.training.processes import n_dealt_out  # noqa: E402

NO_RULE = "the callback has no rule for these weights"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def run(folder: Path) -> tuple[Any, Any, Any]:
    """A run of four epochs, of which the best is not the last; then its test."""
    training, callback, best = fitted(folder, best_of(folder / "each", monitor=None, save_top_k=-1))
    training.test(dataloaders=loaders()[2], ckpt_path="best", verbose=False)
    return training, callback, best


@pytest.fixture
def best_path(run: tuple[Any, Any, Any]) -> str:
    return run[2].best_model_path


IN_A_NEW_PROCESS = """
import json, sys
import thresholds
from tests.integrations.tagger import NAMES, Tagger, loaders, logits
from thresholds.training.lightning import load_rule_from_checkpoint

model = Tagger.load_from_checkpoint(sys.argv[1])
rule = load_rule_from_checkpoint(sys.argv[1])
_, validation, test = loaders()
y_true, y_score = logits(model, validation)
crossed = thresholds.cross_fit(y_true, y_score, "macro", label_names=NAMES, random_state=0)
def f1(y_true, y_score):
    return thresholds.metrics.f1_score(y_true, rule.predict(y_score), average="macro", zero_division=0)
print(json.dumps({
    "out_of_fold": crossed.out_of_fold, "in_sample": f1(y_true, y_score), "test": f1(*logits(model, test)),
    "rule": rule.to_dict(), "thresholds": crossed.rule.thresholds.tolist(),
}))
"""


def test_a_new_process_reproduces_the_f1_of_the_best_checkpoint(run: tuple[Any, Any, Any], best_path: str) -> None:
    training, callback, best = run
    assert "epoch=3" not in best_path, "the last epoch"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_NEW_PROCESS, best_path],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(process.stdout)
    rule = callback.rule
    assert found["rule"] == json.loads(json.dumps(rule.to_dict()))
    assert found["thresholds"] == rule.thresholds.tolist()
    assert found["out_of_fold"] == rule.out_of_fold.f
    assert np.float32(found["out_of_fold"]) == best.best_model_score.item()
    assert found["in_sample"] == rule.objective
    assert found["test"] == callback.figures["test_macro_f1"]
    assert np.float32(found["test"]) == training.callback_metrics["test_macro_f1"].item()


def test_a_test_changes_no_threshold(run: tuple[Any, Any, Any], best_path: str) -> None:
    """The rule after the test is the one in the file, fitted to as many rows as validation has."""
    rule = run[1].rule
    assert rule.to_dict() == load_rule_from_checkpoint(best_path).to_dict()
    model = Tagger.load_from_checkpoint(best_path)
    y_true, y_score = logits(model, loaders()[1])
    fitted_again = thresholds.fit_empirical(y_true, y_score, guard="auto")
    np.testing.assert_array_equal(rule.thresholds, fitted_again.thresholds)


def test_each_checkpoint_has_the_rule_of_its_own_weights(run: tuple[Any, Any, Any], folder: Path) -> None:
    paths = sorted((folder / "each").iterdir())
    assert len(paths) == 4
    y_true = loaders()[1].dataset.tensors[1]
    for path in paths:
        _, y_score = logits(Tagger.load_from_checkpoint(path), loaders()[1])
        rule = load_rule_from_checkpoint(path)
        np.testing.assert_array_equal(
            rule.thresholds, thresholds.fit_empirical(y_true, y_score, guard="auto").thresholds
        )
        assert rule.label_names == tuple(NAMES)


@pytest.mark.parametrize("stage", ["validate", "test", "predict"])
def test_a_checkpoint_brings_its_rule_back(stage: str, best_path: str) -> None:
    """In another `Trainer`, with another callback; validation fits the same rule to the same rows."""
    callback = ThresholdCallback(label_names=NAMES)
    getattr(trainer(callback), stage)(Tagger(), loaders()[1], ckpt_path=best_path)
    assert callback.rule is not None
    assert callback.rule.to_dict() == load_rule_from_checkpoint(best_path).to_dict()


def test_validation_reports_the_same_figures_as_in_training(run: tuple[Any, Any, Any], best_path: str) -> None:
    callback = ThresholdCallback(label_names=NAMES)
    trainer(callback).validate(Tagger(), loaders()[1], ckpt_path=best_path, verbose=False)
    rule = load_rule_from_checkpoint(best_path)
    assert callback.figures == {"val_macro_f1": rule.out_of_fold.f, "val_macro_f1_in_sample": rule.objective}


# No rule where none belongs to the weights


def test_a_training_step_leaves_no_rule(tmp_path: Path) -> None:
    """Checkpoints of every third step are written before validation; the last step of the epoch is followed by one."""
    train, validation, test = loaders()
    callback = ThresholdCallback()
    steps = best_of(tmp_path, monitor=None, every_n_train_steps=3, save_top_k=-1)
    training = trainer(callback, steps, max_epochs=1)
    training.fit(Tagger(), train, validation)
    assert callback.rule is not None
    for path in tmp_path.iterdir():
        with pytest.raises(thresholds.InputError, match="none was fitted to its weights before they were saved"):
            load_rule_from_checkpoint(path)
        with pytest.raises(thresholds.InputError, match=NO_RULE):
            training.test(dataloaders=test, ckpt_path=path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_rule_of_other_weights_judges_no_test(tmp_path: Path) -> None:
    """The callback has the rule of the last epoch, not that of the best one, which is loaded without it."""
    training, callback, best = fitted(tmp_path)
    test = loaders()[2]
    last = callback.rule
    training.test(training.model, test, verbose=False)
    assert callback.rule is last, "of the same weights"
    with pytest.raises(thresholds.InputError, match=NO_RULE):
        training.test(Tagger.load_from_checkpoint(best.best_model_path), test)
    callback.rule = load_rule_from_checkpoint(best.best_model_path)
    training.test(Tagger.load_from_checkpoint(best.best_model_path), test, verbose=False)
    assert "test_macro_f1" in callback.figures


@pytest.mark.parametrize("look", ["test", "predict", "save"])
def test_weights_that_are_loaded_into_the_same_module_are_noticed(look: str, tmp_path: Path) -> None:
    training, callback, best = fitted(tmp_path)
    model = training.lightning_module
    training.save_checkpoint(tmp_path / "last.ckpt")
    assert load_rule_from_checkpoint(tmp_path / "last.ckpt").to_dict() == callback.rule.to_dict()
    model.load_state_dict(torch.load(best.best_model_path)["state_dict"])
    if look == "test":
        with pytest.raises(thresholds.InputError, match=NO_RULE):
            training.test(model, loaders()[2])
    elif look == "predict":
        training.predict(model, loaders()[2])
    else:
        training.save_checkpoint(tmp_path / "mixed.ckpt")
        with pytest.raises(thresholds.InputError, match="none was fitted to its weights"):
            load_rule_from_checkpoint(tmp_path / "mixed.ckpt")
    assert callback.rule is None


def test_a_rule_of_averaged_weights_is_saved_with_them(tmp_path: Path) -> None:
    """`WeightAveraging` validates and saves the average, and trains on with the weights that it averages."""
    averaging = getattr(lightning.pytorch.callbacks, "WeightAveraging", None)
    if averaging is None:
        pytest.skip("this version of Lightning averages no weights")
    training, callback, best = fitted(tmp_path, averaging())
    _, y_score = logits(Tagger.load_from_checkpoint(best.best_model_path), loaders()[1])
    rule = load_rule_from_checkpoint(best.best_model_path)
    expected = thresholds.fit_empirical(loaders()[1].dataset.tensors[1], y_score, guard="auto")
    np.testing.assert_array_equal(rule.thresholds, expected.thresholds)
    training.test(training.lightning_module, loaders()[2], verbose=False)
    assert callback.rule is not None, "at the end the average is in the module"


def test_a_test_before_any_validation_is_refused_at_once() -> None:
    with pytest.raises(thresholds.InputError, match=NO_RULE):
        trainer(ThresholdCallback()).test(Tagger(), loaders()[2])


@pytest.mark.parametrize("options", [{"fast_dev_run": True}, {"max_steps": 0}])
def test_a_few_batches_fit_no_rule(options: dict[str, Any]) -> None:
    """Of a run that only shows that it runs, and of the sanity check before the first step."""

    class Scheduled(Tagger):
        def configure_optimizers(self) -> Any:
            optimizer = super().configure_optimizers()
            scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max")
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_macro_f1"}}

    callback = ThresholdCallback()
    training = trainer(callback, **options)
    training.fit(Scheduled(), *loaders()[:2])
    assert callback.rule is None
    assert not any(value >= 0 for value in callback.figures.values())
    if "fast_dev_run" in options:
        training.test(training.model, loaders()[2])


def test_weights_alone_have_no_rule(tmp_path: Path) -> None:
    callback, best = ThresholdCallback(), best_of(tmp_path, save_weights_only=True)
    training = trainer(callback, best, max_epochs=1)
    with pytest.warns(UserWarning, match="checkpoints will have no rule"):
        training.fit(Tagger(), *loaders()[:2])
    with pytest.raises(thresholds.InputError, match="has no rule, expected a checkpoint of a Trainer with a"):
        load_rule_from_checkpoint(best.best_model_path)


# Rows


def test_rows_may_come_from_a_function_and_have_weights() -> None:
    weights = torch.rand(300, generator=torch.Generator().manual_seed(1))

    class Weighted(Tagger):
        def validation_step(self, batch: Any, batch_idx: int) -> Any:
            return self.model(batch[0]), weights[32 * batch_idx : 32 * batch_idx + len(batch[0])]

    callback = ThresholdCallback("micro", rows=lambda outputs, batch: (batch[1], *outputs), beta=2)
    model = Weighted()
    trainer(callback).validate(model, loaders()[1], verbose=False)
    y_true, y_score = logits(model, loaders()[1])
    crossed = thresholds.cross_fit(y_true, y_score, "micro", beta=2, sample_weight=weights.numpy())
    assert callback.figures["val_micro_f2"] == crossed.out_of_fold


def test_the_rows_of_one_loader_are_fitted_and_those_of_others_judged() -> None:
    callback = ThresholdCallback(dataloader_idx=1, name="f1")
    model, (first, second, _) = Tagger(), loaders()
    training = trainer(callback)
    training.validate(model, [first, second], verbose=False)
    crossed = thresholds.cross_fit(*logits(model, second))
    y_true, y_score = logits(model, first)
    judged = thresholds.metrics.f1_score(y_true, crossed.rule.predict(y_score), average="macro", zero_division=0)
    expected = {"f1": crossed.out_of_fold, "f1_in_sample": crossed.in_sample, "f1_loader_0": judged}
    assert callback.figures == {f"val_{name}": value for name, value in expected.items()}
    training.test(model, [first, second], verbose=False)
    assert callback.figures == {"test_f1_loader_0": judged, "test_f1_loader_1": crossed.in_sample}


def test_two_callbacks_keep_a_rule_each(tmp_path: Path) -> None:
    callbacks = [ThresholdCallback(), ThresholdCallback("micro", name="m")]
    best = best_of(tmp_path, monitor="val_m")
    trainer(*callbacks, best, max_epochs=1).fit(Tagger(), *loaders()[:2])
    for callback, name in zip(callbacks, ("macro_f1", "m"), strict=True):
        assert load_rule_from_checkpoint(best.best_model_path, name).to_dict() == callback.rule.to_dict()
    with pytest.raises(
        thresholds.InputError, match=r"name is None, expected one of 'macro_f1', 'm', as .*ckpt has them"
    ):
        load_rule_from_checkpoint(best.best_model_path)
    with (
        pytest.warns(
            UserWarning, match=r"no rule of name 'micro_f1', but of 'macro_f1', 'm': give the callback its name"
        ),
        pytest.raises(thresholds.InputError, match=NO_RULE),
    ):
        trainer(ThresholdCallback("micro")).test(Tagger(), loaders()[2], ckpt_path=best.best_model_path)


@pytest.mark.parametrize("rule", ["instance, platt", "top-k"])
def test_rules_of_other_kinds_go_into_checkpoints_too(rule: str, tmp_path: Path) -> None:
    callback = ThresholdCallback(rule=rule)
    best = best_of(tmp_path, monitor="val_samples_f1")
    training = trainer(callback, best, max_epochs=1)
    training.fit(Tagger(), *loaders()[:2])
    training.test(dataloaders=loaders()[1], ckpt_path="best", verbose=False)
    y_true, y_score = logits(training.lightning_module, loaders()[1])
    crossed = thresholds.cross_fit(y_true, y_score, rule=rule)
    assert callback.figures == {"test_samples_f1": crossed.in_sample}
    assert callback.rule.to_dict() == crossed.rule.to_dict()
    assert callback.rule.to_dict() == load_rule_from_checkpoint(best.best_model_path).to_dict()


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "marco"}, "average is 'marco', expected"),
        ({"rows": "y_true"}, "rows is 'y_true', expected the keys of truth and scores, or a function"),
        ({"rows": ["y_true"]}, "rows is ['y_true'], expected the keys of truth and scores, or a function"),
        ({"label_names": "cat"}, "label_names is 'cat', expected strings in a list"),
        ({"dataloader_idx": -1}, "dataloader_idx is -1, expected a whole number of at least 0"),
        ({"name": 3}, "name is 3, expected text"),
        ({"cv": 1}, "cv is 1, expected a whole number of at least 2"),
    ],
)
def test_bad_options_are_refused_when_the_callback_is_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises(thresholds.InputError) as error:
        ThresholdCallback(**options)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        (
            [{"rows": ("truth", "y_score")}],
            r"validation_step returned \['y_true', 'y_score'\], expected a mapping with",
        ),
        ([{"dataloader_idx": 1}], "dataloader_idx is 1, expected one of the validation loaders with rows: 0"),
        ([{}, {}], "name is 'macro_f1' in two callbacks, expected different names"),
        ([{"label_names": ["cat"]}], "label_names"),
    ],
)
def test_what_does_not_fit_the_module_is_refused(callbacks: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(thresholds.InputError, match=message):
        trainer(*(ThresholdCallback(**options) for options in callbacks)).validate(Tagger(), loaders()[1])


def test_a_callback_can_be_pickled_as_strategies_that_spawn_processes_do() -> None:
    assert pickle.loads(pickle.dumps(ThresholdCallback(label_names=NAMES))).name == "macro_f1"


def test_a_rule_is_set_or_refused() -> None:
    callback = ThresholdCallback()
    with pytest.raises(thresholds.InputError, match=r"rule is 0\.5, expected a rule, or None"):
        callback.rule = 0.5
    callback.rule = thresholds.FixedRule(0.0, 3)
    trainer(callback).test(Tagger(), loaders()[2], verbose=False)
    assert isinstance(callback.rule, thresholds.ThresholdRule)


def test_objects_of_other_classes_are_read_only_if_the_file_is_trusted(tmp_path: Path) -> None:
    best = best_of(tmp_path)
    trainer(ThresholdCallback(), best, max_epochs=1).fit(Tagger(hint=Namespace(a=1)), *loaders()[:2])
    with pytest.raises(
        thresholds.InputError, match=r"has an object of class argparse\.Namespace, expected numbers and"
    ):
        load_rule_from_checkpoint(best.best_model_path)
    assert load_rule_from_checkpoint(best.best_model_path, weights_only=False).n_labels == 3


@pytest.mark.parametrize(("content", "message"), [(b"", "cannot be read as a checkpoint"), (None, "has no rule")])
def test_other_files_are_no_checkpoints(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "other.ckpt"
    if content is None:
        torch.save([torch.zeros(3)], path)
    else:
        path.write_bytes(content)
    with pytest.raises(thresholds.InputError, match=message):
        load_rule_from_checkpoint(path)


# Other namespaces, several processes


def test_the_trainer_of_the_package_pytorch_lightning_takes_the_callback(tmp_path: Path) -> None:
    """Its classes are others than those of `lightning.pytorch`, but its hooks are the same."""
    library = pytest.importorskip("pytorch_lightning", reason="not installed")

    class Other(Steps, library.LightningModule):
        pass

    callback = ThresholdCallback()
    best = library.callbacks.ModelCheckpoint(tmp_path, monitor="val_macro_f1", mode="max")
    training = trainer(best, callback, library=library, max_epochs=1)
    training.fit(Other(), *loaders()[:2])
    training.test(dataloaders=loaders()[2], ckpt_path="best", verbose=False)
    assert callback.rule.to_dict() == load_rule_from_checkpoint(best.best_model_path).to_dict()


def test_items_that_are_dealt_out_in_turn_are_told_from_others() -> None:
    rows = loaders(101)[1].dataset
    data = torch.utils.data

    def dealt_out(n_processes: int = 2, batches: object = None, **options: Any) -> int | None:
        sampler = data.DistributedSampler(rows, 2, 0, **options)
        if batches is not None:
            return n_dealt_out(data.DataLoader(rows, batch_sampler=batches), n_processes)
        return n_dealt_out(data.DataLoader(rows, batch_size=8, sampler=sampler), n_processes)

    assert dealt_out(shuffle=False) == 101
    assert dealt_out(shuffle=False, drop_last=True) == 101
    assert dealt_out(shuffle=True) is None
    assert dealt_out(n_processes=4, shuffle=False) is None, "processes that share weights see the same rows"
    assert dealt_out(batches=[[3, 1], [2]]) is None
    assert n_dealt_out(loaders()[1], 2) is None
    assert n_dealt_out([[1, 2], [3]], 2) is None, "a loader of another kind"


TWO_RANKS = """
import os
from tests.integrations.tagger import Tagger, best_of, loaders, trainer
from thresholds.training.lightning import ThresholdCallback

os.environ |= {"NODE_RANK": "0", "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
torch.manual_seed(0)
model = Tagger()
callback, best = ThresholdCallback(), best_of("checkpoints")
training = trainer(callback, best, devices=2, strategy="ddp", max_epochs=2)
train, validation, test = loaders(101)
training.validate(model, validation, verbose=False)
found = [{"figures": callback.figures, "rule": callback.rule.to_dict()}]
training.fit(model, train, validation)
training.test(dataloaders=test, ckpt_path="best", verbose=False)
found.append({"figures": callback.figures, "rule": callback.rule.to_dict(), "path": best.best_model_path})
callback.rule = None
try:
    training.test(model, test, verbose=False)
except thresholds.InputError as error:
    found.append(str(error))
try:
    trainer(ThresholdCallback(dataloader_idx=5), devices=2, strategy="ddp").validate(model, validation)
except thresholds.InputError as error:
    found.append(str(error))
json.dump(found, open(f"{rank}.json", "w"))
"""


@pytest.mark.soak
def test_two_ranks_fit_the_rule_that_one_would_fit(tmp_path: Path) -> None:
    """To the last bit: of 101 rows the sampler deals out one twice, which counts once, and order matters to folds."""
    first, second = on_ranks(2, TWO_RANKS, tmp_path)
    assert first == second
    torch.manual_seed(0)
    alone = ThresholdCallback()
    validation, test = loaders(101)[1:]
    trainer(alone).validate(Tagger(), validation, verbose=False)
    assert first[0] == {"figures": alone.figures, "rule": json.loads(json.dumps(alone.rule.to_dict()))}
    trainer(alone).test(Tagger(), test, ckpt_path=first[1]["path"], verbose=False)
    assert first[1]["figures"] == alone.figures
    assert first[1]["rule"] == json.loads(json.dumps(alone.rule.to_dict()))
    assert first[2].startswith(NO_RULE)
    assert first[3].startswith("dataloader_idx is 5"), "what the first finds is told to all"
