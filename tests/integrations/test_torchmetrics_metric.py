"""`thresholds.training.torchmetrics`: one metric fits the rule of all batches, the other judges a rule."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.integrations.loops import data, on_ranks

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

torchmetrics = pytest.importorskip("torchmetrics", reason="make test-integrations installs torchmetrics")
torch = pytest.importorskip("torch", reason="make test-integrations installs torch")

from thresholds.training.torchmetrics import FittedFScore, RuleFScore  # noqa: E402

NAMES = ["cat", "dog", "owl"]


def updated(metric: Any, n_rows: int = 300, seed: int = 2) -> Any:
    """The metric with some batches."""
    y_true, y_score = data(n_rows, seed)
    for part in torch.arange(n_rows).split(64):
        metric.update(y_score[part].requires_grad_(), y_true[part])
    return metric


# The metric that fits


@pytest.mark.parametrize(
    ("average", "options"),
    [("macro", {}), ("micro", {"beta": 2}), ("samples", {"per_label": False, "cv": 3, "random_state": 1})],
)
@pytest.mark.parametrize("on_cpu", [False, True])
def test_it_fits_all_batches_at_once(average: str, options: dict[str, Any], on_cpu: bool) -> None:
    metric = updated(FittedFScore(average, label_names=NAMES, compute_on_cpu=on_cpu, **options))
    y_true, y_score = data(300, 2)
    crossed = thresholds.cross_fit(y_true, y_score, average, label_names=NAMES, **options)
    assert metric.compute() == torch.tensor(crossed.out_of_fold)
    assert metric.rule.to_dict() == crossed.rule.to_dict()


def test_reset_forgets_the_rows_and_keeps_the_rule() -> None:
    metric = updated(FittedFScore())
    metric.compute()
    rule = metric.rule
    metric.reset()
    assert metric.rule is rule
    updated(metric, 50).compute()
    assert metric.rule.fitted_on.n_samples == 50


def test_calling_the_metric_fits_no_single_batch() -> None:
    metric, (y_true, y_score) = FittedFScore(), data(300, 2)
    for part in torch.arange(300).split(64):
        assert metric(y_score[part], y_true[part]) is None
    assert metric.rule is None
    assert metric.compute() == updated(FittedFScore()).compute()


def test_rows_that_come_after_a_fit_are_fitted_too() -> None:
    metric = updated(FittedFScore())
    metric.compute()
    assert updated(metric, 50, seed=3).compute() is not None
    assert metric.rule.fitted_on.n_samples == 350


def test_a_collection_shares_rows_among_metrics_of_these_kinds_alone() -> None:
    """Metrics of TorchMetrics turn the logits of some batches into probabilities."""
    area = torchmetrics.classification.MultilabelAUROC(3)
    collection = torchmetrics.MetricCollection({"auroc": area, "macro": FittedFScore(), "micro": FittedFScore("micro")})
    found = updated(collection).compute()
    assert sorted(collection.compute_groups.values()) == [["auroc"], ["macro", "micro"]]
    for name in ("macro", "micro"):
        alone = updated(FittedFScore(name))
        assert found[name] == alone.compute()
        assert collection[name].rule.to_dict() == alone.rule.to_dict()
    collection.reset()
    assert updated(collection, 50).compute()["micro"] == updated(FittedFScore("micro"), 50).compute()


def test_the_state_dict_of_a_module_has_the_rule() -> None:
    module = torch.nn.Module()
    module.f1 = updated(FittedFScore(label_names=NAMES))
    module.f1.compute()
    other = torch.nn.Module()
    other.f1 = FittedFScore(label_names=NAMES)
    other.load_state_dict(module.state_dict())
    assert other.f1.rule.to_dict() == module.f1.rule.to_dict()
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({})


def test_copies_and_pickles_have_rows_and_rule() -> None:
    metric = updated(FittedFScore())
    value = metric.compute()
    copy = metric.clone()
    metric.reset()
    assert copy.rule.to_dict() == metric.rule.to_dict()
    assert copy.compute() == value


# The metric that judges


def test_a_rule_is_judged_by_the_measure_of_its_fit_and_nothing_is_fitted() -> None:
    y_true, y_score = data(300, 2)
    rule = thresholds.fit_empirical(y_true, y_score, "micro", beta=2)
    metric = updated(RuleFScore(rule), 100, seed=3)
    truth, scores = data(100, 3)
    expected = thresholds.metrics.fbeta_score(truth, rule.predict(scores), beta=2, average="micro")
    assert metric.compute() == torch.tensor(expected)
    assert metric.rule is rule
    other = updated(RuleFScore(rule, "macro", beta=1), 100, seed=3)
    assert other.compute() == torch.tensor(thresholds.metrics.f1_score(truth, rule.predict(scores), average="macro"))


def test_f1_of_samples_is_judged_of_any_rule() -> None:
    truth, scores = data(100, 3)
    rule = thresholds.fit_top_k(*data(300, 2))
    metric = updated(RuleFScore(rule), 100, seed=3)
    expected = thresholds.metrics.f1_score(truth, rule.predict(scores), average="samples", zero_division=0)
    assert rule.average == "samples"
    assert metric.compute() == torch.tensor(expected)


def test_a_rule_may_come_later() -> None:
    metric = updated(RuleFScore())
    with pytest.raises(thresholds.InputError, match=r"rule is None, expected one to judge: set metric\.rule before"):
        metric.compute()
    fitted = updated(FittedFScore())
    fitted.compute()
    metric.rule = fitted.rule
    assert metric.compute() == torch.tensor(fitted.rule.objective), "of the rows of the fit"


# Refusals


def test_swapped_arguments_are_refused_not_fitted() -> None:
    y_true, y_score = data(50, seed=2)
    metric = FittedFScore()
    metric.update(y_true, y_score)
    with pytest.raises(thresholds.InputError, match="the arguments look swapped"):
        metric.compute()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FittedFScore("marco"), "average is 'marco', expected"),
        (lambda: FittedFScore(beta=-1), "beta is -1"),
        (lambda: FittedFScore(label_names="cat"), "label_names is 'cat', expected strings in a list"),
        (lambda: FittedFScore(guards=None), "Unexpected keyword arguments: `guards`"),
        (lambda: RuleFScore(0.5), "rule is 0.5, expected a rule, or None"),
        (lambda: RuleFScore(average="marco"), "average is 'marco', expected"),
        (lambda: FittedFScore().compute(), "the metric has no rows, expected update(preds, target) before"),
    ],
)
def test_what_is_of_no_use_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        make()
    assert str(error.value).startswith(message)


# Several processes, and a new one


TWO_RANKS_OF_A_METRIC = """
from thresholds.training.torchmetrics import FittedFScore, RuleFScore

dist.init_process_group(**init)
generator = torch.Generator().manual_seed(3)
y_true = torch.rand(90, 3, generator=generator) < 0.3
y_score = torch.randn(90, 3, generator=generator) + y_true
metric = FittedFScore()
own = slice(0, 70) if rank == 0 else slice(70, 90)
metric.update(y_score[own], y_true[own])
value = metric.compute().item()
judged = RuleFScore(metric.rule)
judged.update(y_score[own], y_true[own])
expected = thresholds.cross_fit(y_true, y_score, random_state=0)
figures = torch.tensor([expected.out_of_fold, expected.in_sample]).tolist()
found = [value, judged.compute().item()], metric.rule.to_dict()
json.dump([found, [figures, expected.rule.to_dict()]], open(f"{rank}.json", "w"))
dist.destroy_process_group()
"""


@pytest.mark.soak
def test_two_ranks_fit_one_rule(tmp_path: Path) -> None:
    for found, expected in on_ranks(2, TWO_RANKS_OF_A_METRIC, tmp_path):
        assert found == expected


IN_A_NEW_PROCESS = """
import json, sys, torch, thresholds
from tests.integrations.test_torchmetrics_metric import Tagger, rows

model = Tagger()
model.load_state_dict(torch.load("best.pt", weights_only=True))
x, y_true = rows(1)
with torch.no_grad():
    y_score = model.linear(x)
crossed = thresholds.cross_fit(y_true, y_score, random_state=0)
saved = model.f1.rule
in_sample = thresholds.metrics.f1_score(y_true, saved.predict(y_score), average="macro")
print(json.dumps([
    [crossed.out_of_fold, in_sample, crossed.rule.thresholds.tolist()],
    [saved.out_of_fold.f, saved.objective, saved.thresholds.tolist()],
]))
"""


class Tagger(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 3)
        self.f1 = FittedFScore()


def rows(part: int) -> tuple[Any, Any]:
    """Training (0) or validation rows (1)."""
    generator = torch.Generator().manual_seed(part)
    x = torch.randn(300, 8, generator=generator)
    return x, x[:, :3] + torch.randn(300, 3, generator=generator) > 1.5


def test_a_new_process_reproduces_the_f1_of_the_best_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, (x, y_true), validation, values = Tagger(), rows(0), rows(1), []
    optimizer = torch.optim.Adam(model.linear.parameters(), lr=0.1)
    for epoch in range(4):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model.linear(x), y_true.float())
        (loss if epoch < 2 else -10 * loss).backward()  # the best epoch is not the last
        optimizer.step()
        optimizer.zero_grad()
        model.f1.reset()
        with torch.no_grad():
            model.f1.update(model.linear(validation[0]), validation[1])
        values.append(model.f1.compute().item())
        if values[-1] == max(values):
            torch.save(model.state_dict(), tmp_path / "best.pt")
    best = int(np.argmax(values))
    assert best < 3, "the last epoch"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_NEW_PROCESS],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found, saved = json.loads(process.stdout)
    assert found == saved
    assert np.float32(found[0]) == values[best]
