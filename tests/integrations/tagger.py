"""A small LightningModule whose best epoch is not its last, its data, and runs of it."""

from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

from thresholds.training.lightning import ThresholdCallback

NAMES = ["cat", "dog", "owl"]


class Steps:
    """What a module of any Lightning does: it learns for some epochs, then unlearns."""

    def __init__(self, n_features: int = 8, n_epochs_of_learning: int = 2, hint: object = None):
        super().__init__()
        self.save_hyperparameters()
        self.model = torch.nn.Linear(n_features, len(NAMES))
        self.sign = 1.0
        self.n_epochs_of_learning = n_epochs_of_learning

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=0.1)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y_true = batch
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.model(x), y_true.float())
        return loss if self.current_epoch < self.n_epochs_of_learning else -loss

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        x, y_true = batch
        return {"y_true": y_true, "y_score": self.model(x)}

    test_step = validation_step

    def predict_step(self, batch: Any, batch_idx: int) -> Any:
        return self.model(batch[0])


class Tagger(Steps, L.LightningModule):
    pass


def loaders(n_rows: int = 300, batch_size: int = 32) -> list[Any]:
    """Loaders of training, validation and test rows, each time the same."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3 * n_rows, 8, generator=generator)
    y_true = x[:, :3] + torch.randn(3 * n_rows, 3, generator=generator) > 1.5
    parts = torch.arange(3 * n_rows).split(n_rows)
    return [DataLoader(TensorDataset(x[rows], y_true[rows]), batch_size=batch_size) for rows in parts]


def logits(model: Any, loader: Any) -> tuple[Any, Any]:
    """Truth, and scores of a model, batch by batch as Lightning gives them to it."""
    model.eval()
    with torch.no_grad():
        batches = [(y_true, model.model(x)) for x, y_true in loader]
    return torch.cat([y_true for y_true, _ in batches]), torch.cat([y_score for _, y_score in batches])


def trainer(*callbacks: Any, library: Any = L, **options: Any) -> Any:
    """A `Trainer` that writes nothing but checkpoints."""
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    return library.Trainer(callbacks=list(callbacks), **{"max_epochs": 4, **quiet, **options})


def best_of(folder: Path, **options: Any) -> Any:
    """Keeps the checkpoint of the best epoch."""
    return L.pytorch.callbacks.ModelCheckpoint(folder, **{"monitor": "val_macro_f1", "mode": "max", **options})


def fitted(folder: Path, *callbacks: Any, **options: Any) -> tuple[Any, Any, Any]:
    """Train, and return the trainer, the callback and the keeper of the best checkpoint."""
    torch.manual_seed(0)
    train, validation, _ = loaders()
    callback, best = ThresholdCallback(label_names=NAMES), best_of(folder)
    training = trainer(best, callback, *callbacks, **options)  # in this order, as a user may give them
    training.fit(Tagger(), train, validation)
    return training, callback, best
