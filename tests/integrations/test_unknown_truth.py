"""Truth that is not known, as the libraries that train networks say it: `ignore_index`, -100."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import thresholds
from tests.integrations.loops import data

# What other libraries warn of is not for these tests.
pytestmark = pytest.mark.filterwarnings("ignore")

torch = pytest.importorskip("torch", reason="make test-integrations installs torch")


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """Truth with -100 where it is not known, and logits, as tensors."""
    y_true, y_score = data(300, 2)
    is_hidden = torch.rand(y_true.shape, generator=torch.Generator().manual_seed(0)) < 0.3
    return torch.where(is_hidden, -100, y_true.int()), y_score


@pytest.mark.parametrize("ignored", [-100, -1, float("nan")])
def test_metrics_of_torchmetrics_ignore_it(ignored: float, rows: tuple[Any, Any]) -> None:
    pytest.importorskip("torchmetrics", reason="make test-integrations installs torchmetrics")
    from thresholds.training.torchmetrics import FittedFScore, RuleFScore

    target, preds = rows
    metric = FittedFScore(ignore_index=ignored)
    for part in torch.arange(300).split(64):
        written = target[part] if ignored == -100 else torch.where(target[part] == -100, ignored, target[part])
        metric.update(preds[part], written)
    crossed = thresholds.cross_fit(target, preds, unknown=-100)
    assert metric.compute() == torch.tensor(crossed.out_of_fold)
    assert metric.rule.to_dict() == crossed.rule.to_dict()

    judging = RuleFScore(metric.rule, "micro", ignore_index=-100)
    judging.update(preds, target)
    decided = metric.rule.predict(preds)
    reached = thresholds.metrics.f1_score(target, decided, average="micro", unknown=-100)
    assert judging.compute().item() == pytest.approx(reached, abs=1e-6)


def test_what_metrics_cannot_ignore_is_refused_at_once() -> None:
    pytest.importorskip("torchmetrics", reason="make test-integrations installs torchmetrics")
    from thresholds.training.torchmetrics import FittedFScore

    with pytest.raises(thresholds.InputError, match=r"^ignore_index is 0, expected 'nan', a number other than 0 and 1"):
        FittedFScore(ignore_index=0)


def test_the_callback_of_transformers_leaves_minus_100_out(rows: tuple[Any, Any]) -> None:
    pytest.importorskip("transformers", reason="make test-integrations installs transformers")
    from thresholds.training.transformers import ThresholdTrainerCallback

    y_true, y_score = (part.numpy() for part in rows)
    callback = ThresholdTrainerCallback("micro", unknown=-100)
    callback.on_train_begin(None, None, None)
    callback.on_prediction_step(None, None, None, eval_dataloader=object())
    figures = callback.compute_metrics(SimpleNamespace(label_ids=y_true, predictions=y_score))
    crossed = thresholds.cross_fit(y_true, y_score, "micro", unknown=-100)
    assert figures["micro_f1"] == crossed.out_of_fold
    callback.on_evaluate(None, None, None, metrics={"eval_runtime": 1.0})
    np.testing.assert_array_equal(callback.rule.thresholds, crossed.rule.thresholds)


def test_the_callback_of_lightning_leaves_it_out(rows: tuple[Any, Any]) -> None:
    pytest.importorskip("lightning", reason="make test-integrations installs lightning")
    from thresholds.training.lightning import ThresholdCallback

    y_true, y_score = rows
    callback = ThresholdCallback(unknown=-100)
    trainer = SimpleNamespace(sanity_checking=False, fast_dev_run=False, strategy=None)
    for number, part in enumerate(torch.arange(300).split(64)):
        outputs = {"y_true": y_true[part], "y_score": y_score[part]}
        callback.on_validation_batch_end(trainer, torch.nn.Linear(1, 1), outputs, None, number)
    rule, figures = callback._fit(callback._rows)
    crossed = thresholds.cross_fit(y_true, y_score, unknown=-100)
    assert figures["macro_f1"] == crossed.out_of_fold
    assert rule.to_dict() == crossed.rule.to_dict()
