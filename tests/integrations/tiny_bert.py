"""A network that trains in a second, for runs of the `Trainer` here and in processes of their own."""

from pathlib import Path
from typing import Any

import torch
import transformers

from thresholds.training.transformers import ThresholdTrainerCallback

NAMES = ("cat", "dog", "owl")
N_TRAIN, N_OTHERS = 640, 120  # rows to train on, and of validation and test each


def data() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows to train on, of the validation and of the test; truth as the floats that the loss wants."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(5, 50, (N_TRAIN + 2 * N_OTHERS, 6), generator=generator)
    hits = torch.stack([(tokens // 15 == k).sum(dim=1) for k in range(3)], dim=1)
    truth = hits + torch.randn(hits.shape, generator=generator) > torch.tensor([2, 3, 4])
    rows = [{"input_ids": ids, "labels": labels.float()} for ids, labels in zip(tokens, truth, strict=True)]
    return rows[:N_TRAIN], rows[N_TRAIN:-N_OTHERS], rows[-N_OTHERS:]


def model(**config: Any) -> Any:
    """A BERT of one layer, the same each time."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    names = {"id2label": dict(enumerate(NAMES)), "label2id": {name: k for k, name in enumerate(NAMES)}}
    kind = {"num_hidden_layers": 1, "problem_type": "multi_label_classification"}
    kind |= {"initializer_range": 0.2, "hidden_dropout_prob": 0.0}
    return transformers.BertForSequenceClassification(transformers.BertConfig(**{**sizes, **kind, **names, **config}))


class Spoil(transformers.TrainerCallback):  # type: ignore[misc]
    """Has all rows score alike after the last epoch, so that the best epoch is another."""

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == state.max_steps:
            with torch.no_grad():
                kwargs["model"].classifier.weight.zero_()


def trainer(callback: ThresholdTrainerCallback, folder: Path | str, network: Any = None, **arguments: Any) -> Any:
    """A trainer of one epoch of 40 steps, with an evaluation and a checkpoint at its end; `arguments` change that."""
    train, validation, _ = data()
    given = {
        name: arguments.pop(name) for name in ("eval_dataset", "callbacks", "compute_metrics") if name in arguments
    }
    usual = {
        "num_train_epochs": 1,
        "per_device_train_batch_size": 16,
        "per_device_eval_batch_size": 32,
        "learning_rate": 0.01,
        "lr_scheduler_type": "constant",
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "metric_for_best_model": "macro_f1",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
    }
    return transformers.Trainer(
        network or model(),
        transformers.TrainingArguments(str(folder), **{**usual, **arguments}),
        train_dataset=train,
        **{
            "eval_dataset": validation,
            "compute_metrics": callback.compute_metrics,
            "callbacks": [callback],
            **given,
        },
    )
