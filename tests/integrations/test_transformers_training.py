"""Runs of the `Trainer` of Transformers with `ThresholdTrainerCallback`: rules belong to their weights, no others."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from thresholds import InputError, load_rule, metrics

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")
pytest.importorskip("accelerate", reason="make test-integrations installs accelerate")
transformers = pytest.importorskip("transformers", reason="make test-integrations installs transformers")

from tests.integrations.loops import on_ranks  # noqa: E402
from tests.integrations.tiny_bert import NAMES, Spoil, data, model, trainer  # noqa: E402
from thresholds.training.transformers import ThresholdTrainerCallback  # noqa: E402

ROOT = Path(__file__).parents[2]
TRAIN, VALIDATION, TEST = data()


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Logits to the last bit: as many threads as in other processes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def truth(rows: list[dict[str, Any]]) -> Any:
    return torch.stack([row["labels"] for row in rows]).numpy()


def f1(rule: Any, rows: list[dict[str, Any]], logits: Any) -> float:
    return metrics.f1_score(truth(rows), rule.predict(logits), average="macro", zero_division=0)


def evaluations(run: Any, name: str = "eval_macro_f1") -> dict[int, float]:
    """A figure of each evaluation while the trainer trained, by step."""
    return {log["step"]: log[name] for log in run.state.log_history if name in log}


# The best checkpoint


IN_A_NEW_PROCESS = """
import json, sys
import torch, transformers
import thresholds
from tests.integrations.tiny_bert import data, trainer
from thresholds.training.transformers import ThresholdTrainerCallback

torch.set_num_threads(1)
folder = sys.argv[1]
network = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
callback = ThresholdTrainerCallback()
callback.rule = rule = thresholds.load_rule(f"{folder}/rule.json")
run = trainer(callback, "elsewhere", network)
_, validation, test = data()
logits, y_true, _ = run.predict(validation)
crossed = thresholds.cross_fit(y_true, logits, label_names=rule.label_names, random_state=0)
print(json.dumps({
    "reported": run.evaluate(),
    "test": run.predict(test).metrics,
    "out of fold": crossed.out_of_fold,
    "in sample": thresholds.metrics.f1_score(y_true, rule.predict(logits), average="macro"),
    "the same rule": crossed.rule.to_dict() == rule.to_dict(),
}))
"""


def in_a_new_process(folder: Path) -> dict[str, Any]:
    """What another process finds of a checkpoint and its rule."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_NEW_PROCESS, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_the_best_checkpoint_reproduces_its_f1_in_a_new_process(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback("macro")
    run = trainer(callback, tmp_path, num_train_epochs=4, load_best_model_at_end=True, callbacks=[Spoil(), callback])
    run.train()
    reported = evaluations(run)
    best = Path(run.state.best_model_checkpoint)
    step = int(best.name.removeprefix("checkpoint-"))
    assert reported[step] == max(reported.values())
    assert step < run.state.global_step

    # The rule in memory is the one in the folder of the weights that are loaded.
    assert callback.rule is not None
    assert callback.rule.to_dict() == load_rule(best / "rule.json").to_dict()
    assert callback.rule.label_names == NAMES
    assert callback.rule.out_of_fold.f == reported[step]

    # The validation rows have the figures that were reported while it trained.
    in_sample = evaluations(run, "eval_macro_f1_in_sample")[step]
    again = run.evaluate()
    assert (again["eval_macro_f1"], again["eval_macro_f1_in_sample"]) == (reported[step], in_sample)

    # The test is judged by the rule, which stays as it is, in memory and on the disk.
    before = callback.rule.to_dict()
    files = {path: path.read_bytes() for path in tmp_path.glob("*/rule.json")}
    tested = run.predict(TEST)
    assert tested.metrics["test_macro_f1"] == f1(callback.rule, TEST, tested.predictions)
    assert "test_macro_f1_in_sample" not in tested.metrics
    assert run.evaluate(TEST, metric_key_prefix="test")["test_macro_f1"] == tested.metrics["test_macro_f1"]
    assert callback.rule.to_dict() == before
    assert {path: path.read_bytes() for path in tmp_path.glob("*/rule.json")} == files
    assert len(files) == 4

    # All of that to the last bit where nothing is known but the folder.
    found = in_a_new_process(best)
    assert found["out of fold"] == found["reported"]["eval_macro_f1"] == reported[step]
    assert found["in sample"] == found["reported"]["eval_macro_f1_in_sample"] == in_sample
    assert found["test"]["test_macro_f1"] == tested.metrics["test_macro_f1"]
    assert found["the same rule"]


def test_a_run_that_is_resumed_restores_the_best_rule_of_the_run_before(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    first = trainer(callback, tmp_path, num_train_epochs=2)
    first.train()
    reported = evaluations(first)
    resumed = ThresholdTrainerCallback()
    spoiled = trainer(resumed, tmp_path, num_train_epochs=3, load_best_model_at_end=True, callbacks=[Spoil(), resumed])
    spoiled.train(resume_from_checkpoint=str(tmp_path / "checkpoint-80"))
    assert list(evaluations(spoiled)) == [40, 80, 120]
    best = max(reported, key=lambda step: reported[step])
    assert spoiled.state.best_model_checkpoint == str(tmp_path / f"checkpoint-{best}")
    assert resumed.rule is not None
    assert resumed.rule.to_dict() == load_rule(tmp_path / f"checkpoint-{best}" / "rule.json").to_dict()
    assert spoiled.evaluate()["eval_macro_f1"] == reported[best]


# A rule belongs to the weights as they are


def test_a_checkpoint_between_a_step_and_the_next_evaluation_has_no_rule(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-20").mkdir()
    (tmp_path / "checkpoint-20" / "rule.json").write_text("of an earlier run")
    when = {"eval_strategy": "steps", "eval_steps": 30, "save_strategy": "steps", "save_steps": 10}
    trainer(ThresholdTrainerCallback(), tmp_path, max_steps=30, **when).train()
    has_rule = {step: (tmp_path / f"checkpoint-{step}" / "rule.json").exists() for step in (10, 20, 30)}
    assert has_rule == {10: False, 20: False, 30: True}


def test_weights_that_were_saved_by_hand_get_their_rule_by_hand(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback("micro", beta=2, guard=None)
    run = trainer(callback, tmp_path, max_steps=10, metric_for_best_model="micro_f2")
    run.train()
    run.save_model(str(tmp_path / "best"))
    callback.save(tmp_path / "best")
    assert callback.rule is not None
    rule = load_rule(tmp_path / "best" / "rule.json")
    assert rule.to_dict() == callback.rule.to_dict()
    assert (rule.average, rule.beta, rule.guard) == ("micro", 2, None)
    callback.rule = None
    with pytest.raises(InputError, match=r"^rule is None, expected one to save"):
        callback.save(tmp_path / "best")
    assert not (tmp_path / "best" / "rule.json").exists()


def test_a_search_leaves_the_checkpoints_of_other_runs_alone(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10)
    run.train()
    before = (tmp_path / "checkpoint-10" / "rule.json").read_bytes()
    callback.rule = thresholds.FixedRule(0.5, 3)
    run.state.is_hyper_param_search = True
    callback.on_save(run.args, run.state, run.control, model=run.model)
    assert (tmp_path / "checkpoint-10" / "rule.json").read_bytes() == before


def test_what_is_uploaded_has_the_rule(tmp_path: Path) -> None:
    class Push(transformers.TrainerCallback):  # type: ignore[misc]
        """The event of an upload: of a checkpoint before it is complete, and by hand in the end."""

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            callback.on_push_begin(args, state, control)
            pushed.append(load_rule(tmp_path / f"checkpoint-{state.global_step}" / "rule.json").to_dict())

    callback = ThresholdTrainerCallback()
    pushed: list[Any] = []
    run = trainer(
        callback,
        tmp_path,
        max_steps=20,
        save_strategy="steps",
        eval_strategy="steps",
        save_steps=10,
        eval_steps=10,
        callbacks=[Push(), callback],
    )
    run.train()
    rules = [load_rule(tmp_path / f"checkpoint-{step}" / "rule.json").to_dict() for step in (10, 20)]
    assert pushed == rules
    callback.rule = load_rule(tmp_path / "checkpoint-10" / "rule.json")
    callback.on_push_begin(run.args, run.state, run.control)
    assert load_rule(tmp_path / "rule.json").to_dict() == rules[0]
    assert load_rule(tmp_path / "checkpoint-20" / "rule.json").to_dict() == rules[1]


def test_a_rule_judges_no_other_weights(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10)
    run.train()
    rule = callback.rule
    run.predict(TEST)
    with torch.no_grad():
        run.model.classifier.bias[0] += 1e-6
    with pytest.raises(InputError, match=r"^rule is None, expected one for these weights"):
        run.predict(TEST)
    callback.rule = rule  # of these weights, one says
    run.predict(TEST)
    with torch.no_grad():
        run.model.classifier.weight.neg_()
    with pytest.raises(InputError, match=r"^rule is None, expected one for these weights"):
        run.predict(TEST)


def test_a_checkpoint_of_other_weights_than_were_evaluated_has_no_rule(tmp_path: Path) -> None:
    class Exchange(transformers.TrainerCallback):  # type: ignore[misc]
        """After each evaluation, as where averages of the weights are evaluated."""

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            with torch.no_grad():
                kwargs["model"].classifier.weight.neg_()

    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10, callbacks=[callback, Exchange()], load_best_model_at_end=True)
    with pytest.warns(UserWarning, match="checkpoint-10 gets no rule: its weights are not those that were evaluated"):
        run.train()
    assert not (tmp_path / "checkpoint-10" / "rule.json").exists()
    assert callback.rule is None


class Stop(transformers.TrainerCallback):  # type: ignore[misc]
    """Ctrl-C at a step."""

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 30:
            raise KeyboardInterrupt


def test_after_an_interruption_a_rule_is_fitted_to_the_weights_as_they_are(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(
        callback,
        tmp_path,
        callbacks=[Stop(), callback],
        eval_strategy="steps",
        eval_steps=20,
        save_strategy="no",
        gradient_accumulation_steps=2,
        num_train_epochs=3,
    )
    with pytest.raises(KeyboardInterrupt):
        run.train()
    assert callback.rule is None
    with pytest.raises(InputError, match=r"^fit_on is 'eval', but after a training step 'test' came first"):
        run.predict(TEST)
    assert callback.rule is None
    reported = run.evaluate()["eval_macro_f1"]
    assert callback.rule is not None
    assert callback.rule.out_of_fold.f == reported
    tested = run.predict(TEST)
    assert tested.metrics["test_macro_f1"] == f1(callback.rule, TEST, tested.predictions)


def test_an_evaluation_that_was_broken_off_leaves_no_rows(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, batch_eval_metrics=True, max_steps=5)
    run.train()
    n_samples = callback.rule.fitted_on.n_samples
    compute, seen = run.compute_metrics, []

    def stop(prediction: Any, compute_result: bool) -> Any:
        seen.append(compute(prediction, compute_result=compute_result))
        raise KeyboardInterrupt

    expected = run.predict(TEST).metrics["test_macro_f1"]
    run.compute_metrics = stop
    with pytest.raises(KeyboardInterrupt):
        run.predict(TEST)
    run.compute_metrics = compute
    assert seen == [{}]
    assert run.predict(TEST).metrics["test_macro_f1"] == expected
    assert n_samples == len(VALIDATION)


def test_an_evaluation_that_was_broken_off_does_not_outlive_a_step(tmp_path: Path) -> None:
    """The loader may be the same, as where its workers persist."""
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, batch_eval_metrics=True)
    run.train()
    loader = run.get_eval_dataloader()
    events = (run.args, run.state, run.control)
    rows = transformers.EvalPrediction(np.zeros((7, 3)), np.zeros((7, 3)))
    callback.on_prediction_step(*events, model=run.model, eval_dataloader=loader)
    assert callback.compute_metrics(rows, compute_result=False) == {}
    callback.on_step_begin(*events)
    run.get_eval_dataloader = lambda *_: loader
    callback.on_train_begin(*events, model=run.model)
    run.evaluate()
    assert callback.rule.fitted_on.n_samples == len(VALIDATION)


def test_two_callbacks_keep_a_rule_each(tmp_path: Path) -> None:
    macro, micro = ThresholdTrainerCallback(), ThresholdTrainerCallback("micro", file_name="micro.json")

    def both(prediction: Any) -> dict[str, float]:
        return macro.compute_metrics(prediction) | micro.compute_metrics(prediction)

    run = trainer(macro, tmp_path, max_steps=10, compute_metrics=both, callbacks=[macro, micro])
    run.train()
    saved = [load_rule(tmp_path / "checkpoint-10" / name) for name in ("rule.json", "micro.json")]
    assert [rule.average for rule in saved] == ["macro", "micro"]
    found = run.evaluate()
    assert [found[f"eval_{rule.average}_f1"] for rule in saved] == [rule.out_of_fold.f for rule in saved]


# Which rows are fitted on


def test_of_several_sets_the_rule_is_fitted_to_one(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback(fit_on="eval_validation")
    sets = {"validation": VALIDATION, "other": TEST}
    run = trainer(callback, tmp_path, eval_dataset=sets, metric_for_best_model="validation_macro_f1")
    run.train()
    assert callback.rule.fitted_on.positives.tolist() == truth(VALIDATION).sum(axis=0).tolist()
    (other,) = evaluations(run, "eval_other_macro_f1").values()
    assert other == run.predict(TEST).metrics["test_macro_f1"]
    (log,) = [log for log in run.state.log_history if "eval_other_macro_f1" in log]
    assert "eval_other_macro_f1_in_sample" not in log
    assert run.evaluate()["eval_validation_macro_f1"] == callback.rule.out_of_fold.f


@pytest.mark.parametrize("fit_on", ["eval", "eval_validation"])
def test_rows_that_are_not_to_fit_on_cannot_come_first(fit_on: str, tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback(fit_on=fit_on)
    sets = {"other": TEST, "validation": VALIDATION}
    run = trainer(callback, tmp_path, max_steps=5, eval_dataset=sets)
    with pytest.raises(InputError, match=f"^fit_on is '{fit_on}', but after a training step 'eval_other' came first"):
        run.train()
    assert callback.rule is None


def test_a_test_under_the_name_of_the_validation_is_judged_all_the_same(tmp_path: Path) -> None:
    """`trainer.evaluate(test)` calls its metrics "eval_...": once training is over nothing is fitted to any rows."""
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10)
    run.train()
    before = callback.rule.to_dict()
    found = run.evaluate(TEST)
    assert found["eval_macro_f1"] == run.predict(TEST).metrics["test_macro_f1"]
    assert "eval_macro_f1_in_sample" not in found
    assert callback.rule.to_dict() == before


def test_rows_of_the_fit_are_known_again_with_scores_that_are_a_little_different(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10, bf16_full_eval=True)  # in training: float32
    run.train()
    reported = callback.rule.out_of_fold.f
    found = run.evaluate()
    logits = run.predict(VALIDATION).predictions
    assert found["eval_macro_f1"] == reported
    assert found["eval_macro_f1_in_sample"] == f1(callback.rule, VALIDATION, logits)


def test_rows_of_the_fit_are_known_again_in_another_order(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10)
    run.train()
    found = run.evaluate(VALIDATION[::-1])
    assert found["eval_macro_f1"] == callback.rule.out_of_fold.f
    assert found["eval_macro_f1_in_sample"] == callback.rule.objective


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_rule_without_a_figure_out_of_fold_has_only_the_one_in_the_sample(average: Any, tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback("macro")
    run = trainer(callback, tmp_path)
    callback.rule = thresholds.FixedRule(0.0, 3)
    logits, y_true, found = run.predict(VALIDATION)
    assert found["test_macro_f1"] == f1(callback.rule, VALIDATION, logits)
    fit = thresholds.fit_empirical if average == "macro" else lambda *rows: thresholds.cross_fit(*rows, "micro").rule
    callback.rule = fit(y_true, logits)
    found = run.evaluate()
    assert "eval_macro_f1" not in found
    assert found["eval_macro_f1_in_sample"] == f1(callback.rule, VALIDATION, logits)


# What comes from the trainer


def test_batches_and_all_rows_at_once_give_the_same_figures(tmp_path: Path) -> None:
    found = []
    for arguments in ({}, {"batch_eval_metrics": True}, {"eval_do_concat_batches": False}):
        callback = ThresholdTrainerCallback()
        run = trainer(callback, tmp_path, max_steps=10, **arguments)
        run.train()
        figures = {name: value for name, value in run.evaluate().items() if "_f1" in name}
        found.append((callback.rule.to_dict(), figures, run.predict(TEST).metrics["test_macro_f1"]))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", ["instance, platt", "micro, pool", "top-k"])
def test_any_rule_can_be_had_by_its_name(name: str, tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback(rule=name)
    figure = f"{'micro' if name == 'micro, pool' else 'samples'}_f1"
    run = trainer(callback, tmp_path, metric_for_best_model=figure, load_best_model_at_end=True)
    run.train()
    rule = load_rule(tmp_path / "checkpoint-40" / "rule.json")
    assert rule.to_dict() == callback.rule.to_dict()
    [reported] = evaluations(run, f"eval_{figure}").values()
    callback.rule = rule
    again = run.evaluate()
    assert again[f"eval_{figure}"] == rule.out_of_fold.f == reported
    logits, y_true, found = run.predict(TEST)
    expected = metrics.f1_score(y_true, rule.predict(logits), average=figure.removesuffix("_f1"), zero_division=0)
    assert found[f"test_{figure}"] == expected


def test_scores_are_the_first_of_what_a_model_returns(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, model(output_hidden_states=True), max_steps=5)
    run.train()
    outputs = run.predict(TEST)
    assert isinstance(outputs.predictions, tuple)
    assert outputs.metrics["test_macro_f1"] == f1(callback.rule, TEST, outputs.predictions[0])


@pytest.mark.parametrize(
    ("id2label", "names"),
    [
        ({2: "owl", 0: "cat", 1: "dog"}, NAMES),
        ({"1": "dog", "2": "owl", "0": "cat"}, NAMES),
        ({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, None),
        (None, None),
    ],
)
def test_names_of_labels_are_those_of_the_model_by_column(id2label: Any, names: Any, tmp_path: Path) -> None:
    network = model()
    network.config.id2label = id2label
    callback = ThresholdTrainerCallback()
    trainer(callback, tmp_path, network, max_steps=1, save_strategy="no").train()
    assert callback.rule.label_names == names


def test_names_of_labels_can_be_given(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback(label_names=["x", "y", "z"])
    trainer(callback, tmp_path, max_steps=1, save_strategy="no").train()
    assert callback.rule.label_names == ("x", "y", "z")


@pytest.mark.parametrize("id2label", [{1: "cat", 2: "dog", 3: "owl"}, {"a": "cat"}])
def test_names_without_columns_are_refused_before_the_first_step(id2label: Any, tmp_path: Path) -> None:
    network = model()
    run = trainer(ThresholdTrainerCallback(), tmp_path, network, max_steps=1)
    network.config.id2label = id2label
    with pytest.raises(InputError, match=r"^id2label of the model's config has the keys"):
        run.train()
    assert run.state.global_step == 0


def test_a_figure_before_the_first_step(tmp_path: Path) -> None:
    callback = ThresholdTrainerCallback()
    run = trainer(callback, tmp_path, max_steps=10, eval_on_start=True)
    run.train()
    assert list(evaluations(run)) == [0, 10]


# What is missing


def test_without_a_rule_an_evaluation_is_refused(tmp_path: Path) -> None:
    run = trainer(ThresholdTrainerCallback(), tmp_path)
    for evaluate in (run.evaluate, lambda: run.predict(TEST)):
        with pytest.raises(InputError, match=r"^rule is None, expected one for these weights: train with"):
            evaluate()


def test_rows_without_truth_need_no_rule(tmp_path: Path) -> None:
    run = trainer(ThresholdTrainerCallback(), tmp_path)
    unlabelled = [{"input_ids": row["input_ids"]} for row in TEST]
    assert run.predict(unlabelled).predictions.shape == (len(TEST), 3)


def test_figures_without_the_events_are_refused(tmp_path: Path) -> None:
    run = trainer(ThresholdTrainerCallback(), tmp_path, callbacks=[], max_steps=1)
    with pytest.raises(InputError, match=r"^callbacks lacks the ThresholdTrainerCallback"):
        run.train()


def test_events_without_the_figures_are_refused(tmp_path: Path) -> None:
    run = trainer(ThresholdTrainerCallback(), tmp_path, compute_metrics=None, max_steps=1)
    with pytest.raises(InputError, match=r"^compute_metrics of the ThresholdTrainerCallback was not called"):
        run.train()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "maco"}, "average is 'maco'"),
        ({"cv": 1}, "cv is 1"),
        ({"fit_on": None}, "fit_on is None, expected text"),
        ({"file_name": 3}, "file_name is 3, expected text"),
        ({"label_names": "cat"}, "label_names is 'cat'"),
    ],
)
def test_bad_options_are_refused_before_anything_is_trained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        ThresholdTrainerCallback(**options)
    with pytest.raises(InputError, match=r"^rule is 'rule.json', expected a rule, or None"):
        ThresholdTrainerCallback().rule = "rule.json"


def test_the_library_is_named_where_it_is_missing() -> None:
    code = "import sys; sys.modules['transformers'] = None; import thresholds.training.transformers"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.stderr.splitlines()[-1] == (
        "thresholds.errors.MissingLibraryError: thresholds.training.transformers needs Transformers:"
        " pip install 'transformers[torch]'"
    )


# Two processes


TWO_RANKS = """
import os
from pathlib import Path
os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "HF_HUB_OFFLINE": "1"}
os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
from tests.integrations.tiny_bert import Spoil, data, trainer
from thresholds.training.transformers import ThresholdTrainerCallback

callback = ThresholdTrainerCallback()
run = trainer(callback, "out", num_train_epochs=3, load_best_model_at_end=True, callbacks=[Spoil(), callback],
              per_device_eval_batch_size=7, ddp_backend="gloo")
run.train()
tested = run.predict(data()[2])
found = {"rule": callback.rule.to_dict(), "best": run.state.best_model_checkpoint}
found |= {"f1": tested.metrics["test_macro_f1"], "logits": tested.predictions.tolist()}
json.dump(found, open(f"{rank}.json", "w"))
dist.destroy_process_group()
"""


@pytest.mark.soak
def test_two_ranks_fit_one_rule_and_one_writes_it(tmp_path: Path) -> None:
    first, second = on_ranks(2, TWO_RANKS, tmp_path)
    assert first == second
    rule = load_rule(tmp_path / first["best"] / "rule.json")
    assert rule.to_dict() == first["rule"]
    assert rule.fitted_on.n_samples == len(VALIDATION)
    assert first["f1"] == f1(rule, TEST, np.array(first["logits"], np.float32))
