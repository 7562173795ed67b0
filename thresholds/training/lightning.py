"""How do I fit thresholds in Lightning? By a callback that fits them in validation, and keeps them in checkpoints.

It needs Lightning: `pip install lightning`. What happens when:

* When a validation ends, its rows fit a rule. F out of fold is logged as "val_macro_f1", to be monitored, and F on the
  rows of the fit as "val_macro_f1_in_sample", which is too high.
* A checkpoint holds the rule that was fitted to its weights. A training step changes the weights: from then until the
  next validation there is no rule, and a checkpoint that is saved then has none.
* A checkpoint that is loaded brings its rule back.
* A test is judged by the rule that is there, logged as "test_macro_f1", and fits nothing.
"""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pickle import UnpicklingError
from typing import Any, Unpack

from thresholds import _checks
from thresholds._checks import Average, InputError
from thresholds._checks.boundary import reading
from thresholds.data.folds import N_SPLITS, SEED
from thresholds.errors import MissingLibraryError
from thresholds.fitting.options import DEFAULTS, FitArguments, with_fit_options
from thresholds.loading import rule_of
from thresholds.rule import Rule
from thresholds.training.accumulator import Accumulator
from thresholds.training.callbacks import FittedToWeights, RuleOfWeights
from thresholds.training.checksums import Checksums, checksums
from thresholds.training.processes import RowsByLoader, on_first_process

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise MissingLibraryError(
            "thresholds.training.lightning needs Lightning: pip install lightning"
        ) from error

_IN_CHECKPOINT = "threshold_rules"  # by name of the figure, plain values, or None where no rule belongs to the weights
_REFUSED_CLASS = re.compile(r"GLOBAL (\S+)")  # in what torch.load says
_WHOLE_WEIGHTS = ("SingleDeviceStrategy", "DDPStrategy")  # Each process has all of them.

Rows = Sequence[str] | Callable[[Any, Any], Sequence[Any]]


class ThresholdCallback(RuleOfWeights, Callback):  # type: ignore[misc]
    """Fits a rule whenever a validation ends, and judges tests by it.

    Parameters
    ----------
    average, rule, and the options from `beta` on : as in `cross_fit`, with its defaults
    rows :
        The keys of truth and scores, and of weights if there is a third, in the mapping that `validation_step` and
        `test_step` return: ("y_true", "y_score") by default.
        Or a function of what the step returns and of the batch, which gives these.
        Truth is 0 or 1, scores are best logits; both are (n_rows, n_labels).
    unknown : what stands for truth that is not known, as in `cross_fit`: "nan", a number, as -100, or several of these
        None (default): all of it is known.
    label_names : strings, one per label
    name : what the figure is called after "val_" and "test_"; by default that of the measure, such as "macro_f1"
        Two callbacks of one `Trainer` have different names.
    dataloader_idx : number of the validation loader whose rows are fitted
        The rows of other ones are judged, as "val_macro_f1_loader_1", and so are those of several test loaders.
    cv, random_state : number and seed of the folds

    Attributes
    ----------
    rule : the rule that belongs to the weights, or None: before the first validation, and after a training step until
        the next. Decide by `callback.rule.predict(logits)`. A rule that is set is taken to belong to the weights of the
        next run.
    figures : all that was logged last, by name, as float64; Lightning logs float32

    Raises
    ------
    InputError
        For options of no use; for a step that returns no truth and scores; when a test begins and no rule belongs to
        the weights; as `cross_fit`.

    Notes
    -----
    Nothing is fitted or judged in the sanity check, nor with `fast_dev_run`, as a few batches fit no thresholds. With
    `fast_dev_run` the figure is NaN.

    Of several processes the first fits the rule to the rows of all. Rows that a `DistributedSampler` repeats count
    once, and rows are put in the order of the data set, as if one process had seen them.

    `ModelCheckpoint(save_weights_only=True)` leaves out what callbacks hold, the rule, too.

    A rule judges no other weights: where they were changed by hand there is no rule. That is told by checksums, but not
    where processes share out the weights (FSDP, DeepSpeed), nor after a change of precision.

    Examples
    --------
    >>> from thresholds.training.lightning import ThresholdCallback
    >>> callback = ThresholdCallback("micro", label_names=["cat", "dog", "owl"], name="f1")
    >>> best = lightning.pytorch.callbacks.ModelCheckpoint(monitor="val_f1", mode="max")  # doctest: +SKIP
    >>> trainer = lightning.Trainer(callbacks=[callback, best])  # doctest: +SKIP
    """

    @with_fit_options(DEFAULTS)
    def __init__(
        self,
        average: Average = "macro",
        *,
        rule: str | None = None,
        rows: Rows = ("y_true", "y_score"),
        unknown: object = None,
        label_names: object = None,
        name: str | None = None,
        dataloader_idx: int = 0,
        cv: int = N_SPLITS,
        random_state: int = SEED,
        **options: Unpack[FitArguments],
    ) -> None:
        super().__init__()
        of_epoch = {"rule": rule, "cv": cv, "random_state": random_state}
        self._begin(unknown, label_names, average, **of_epoch, **options)
        if name is not None:
            self._epoch.name = _checks.text(name, "name")
        self._rows_of = _checked_rows(rows)
        self._fitted_loader = _checks.count(dataloader_idx, "dataloader_idx", 0)
        self._rows: dict[int, Accumulator] = {}  # of this process, by number of the loader
        self.figures: dict[str, float] = {}

    @property
    def name(self) -> str:
        """What the figure is called after "val_" and "test_"."""
        return self._epoch.name

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Refuse two callbacks of one name, and warn of checkpoints that would have no rule."""
        names = [other.name for other in trainer.callbacks if isinstance(other, ThresholdCallback)]
        if names.count(self.name) > 1:
            raise InputError(
                f"name is {self.name!r} in two callbacks, expected different names: give name='...'"
            )
        without = [
            callback
            for callback in trainer.checkpoint_callbacks
            if getattr(callback, "save_weights_only", False)
        ]
        if stage == "fit" and without:
            _checks.warn_caller(
                "checkpoints will have no rule: save_weights_only=True leaves out what callbacks hold",
                UserWarning,
            )

    # Validation fits.

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin with no rows."""
        self._rows = {}

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, *place: int
    ) -> None:
        """Keep the rows of a batch."""
        if not _is_trial(trainer):
            self._add("validation_step", trainer, pl_module, outputs, batch, *place)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Fit the rule to the rows of all processes."""
        if trainer.sanity_checking:
            return
        if trainer.fast_dev_run:
            # A scheduler that monitors the figure fails where it does not find it.
            self._log(pl_module, "val", {self.name: math.nan})
            return
        rule, figures = self._on_all_rows(trainer, self._fit)
        self._fitted = FittedToWeights(rule, self._seen)
        self._log(pl_module, "val", figures)

    # Training leaves no rule, checkpoints keep it.

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Forget the rule: the weights are about to change."""
        self.rule = None

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Put the rule into a checkpoint.

        A look at the weights tells nothing while a training runs: a callback that averages weights saves others than
        those that are in the module.
        """
        if trainer.state.stopped:
            self._see(_weights_of(trainer, pl_module))
        rules = checkpoint.setdefault(_IN_CHECKPOINT, {})
        rules[self.name] = None if self.rule is None else self.rule.to_dict()

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Take the rule out of a checkpoint."""
        rules = checkpoint.get(_IN_CHECKPOINT, {})
        if rules and self.name not in rules:
            _checks.warn_caller(
                f"the checkpoint has no rule of name {self.name!r}, but of {_checks.listed(rules)}: give the callback"
                " its name",
                UserWarning,
            )
        saved = rules.get(self.name)
        self.rule = None if saved is None else rule_of(saved, "the rule of the checkpoint")

    # Tests are judged.

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin with no rows, and with a rule."""
        self._rows = {}
        if not _is_trial(trainer):
            self._refuse_without_rule()

    def on_test_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, *place: int
    ) -> None:
        """Keep the rows of a batch."""
        if not _is_trial(trainer):
            self._add("test_step", trainer, pl_module, outputs, batch, *place)
            self._refuse_without_rule()

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Judge the rows of all processes by the rule that is there."""
        if not _is_trial(trainer):
            figures = self._on_all_rows(trainer, self._judge)
            self._log(pl_module, "test", figures)

    def on_predict_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, *place: int
    ) -> None:
        """Forget a rule of other weights."""
        if place[0] == 0:
            self._see(_weights_of(trainer, pl_module))

    def _add(
        self, step: str, trainer: Any, pl_module: Any, outputs: Any, batch: Any, *place: int
    ) -> None:
        """Add the rows of a batch, whose place is its number and that of its loader, to those of the loader."""
        dataloader_idx = place[1] if len(place) > 1 else 0
        if not self._rows:
            self._see(_weights_of(trainer, pl_module))
        if dataloader_idx not in self._rows:
            self._rows[dataloader_idx] = self._new_rows()
        self._rows[dataloader_idx].update(*self._taken(step, outputs, batch))

    def _taken(self, step: str, outputs: Any, batch: Any) -> Sequence[Any]:
        """Return truth and scores, and weights if there are any, of a batch."""
        if callable(self._rows_of):
            return self._rows_of(outputs, batch)
        keys = self._rows_of
        if isinstance(outputs, Mapping) and all(key in outputs for key in keys):
            return [outputs[key] for key in keys]
        found = list(outputs) if isinstance(outputs, Mapping) else outputs
        raise InputError(
            f"{step} returned {_checks.shown(found)}, expected a mapping with {_checks.listed(keys)}, or another choice"
            " of rows for the callback"
        )

    def _refuse_without_rule(self) -> None:
        if self.rule is None:
            raise InputError(
                "the callback has no rule for these weights, expected trainer.validate before, or the ckpt_path of a"
                " checkpoint that was saved after a validation, before the next training step"
            )

    def _on_all_rows(self, trainer: Any, work: Callable[[RowsByLoader], Any]) -> Any:
        """Do some work on the rows of all processes, and forget them."""
        rows = self._rows
        self._rows = {}
        return on_first_process(rows, _loaders(trainer), work)

    def _fit(self, rows: RowsByLoader) -> tuple[Rule, dict[str, float]]:
        """Fit the rule to the rows of one loader, and judge those of the others by it."""
        if self._fitted_loader not in rows:
            raise InputError(
                f"dataloader_idx is {self._fitted_loader}, expected one of the validation loaders with rows:"
                f" {', '.join(map(str, rows))}"
            )
        rule, figures = self._epoch.fit(rows[self._fitted_loader])
        for number, of_loader in rows.items():
            if number != self._fitted_loader:
                figures |= _with_ending(self._epoch.judge(rule, of_loader), number)
        return rule, figures

    def _judge(self, rows: RowsByLoader) -> dict[str, float]:
        """Judge the rows of each loader by the rule."""
        assert self.rule is not None, "refused before"
        if len(rows) == 1:
            return self._epoch.judge(self.rule, *rows.values())
        figures: dict[str, float] = {}
        for number, of_loader in rows.items():
            figures |= _with_ending(self._epoch.judge(self.rule, of_loader), number)
        return figures

    def _log(self, pl_module: Any, stage: str, figures: Mapping[str, float]) -> None:
        """Log figures, which all processes know; the largest of equal ones is each of them, to the last bit."""
        self.figures = {f"{stage}_{name}": value for name, value in figures.items()}
        for name, value in self.figures.items():
            pl_module.log(name, value, sync_dist=True, reduce_fx="max")


def load_rule_from_checkpoint(
    path: str | os.PathLike[str], name: str | None = None, *, weights_only: bool = True
) -> Rule:
    """Read the rule that a checkpoint of Lightning holds: the one that belongs to its weights.

    Parameters
    ----------
    path : of the checkpoint
    name : that of the callback which fitted the rule; not needed where the checkpoint has the rule of one callback
    weights_only :
        Read numbers and text only (default), so that no code in the file is run.
        False, for a file that you trust: as in `torch.load`, for hyper-parameters of other classes.

    Returns
    -------
    Rule

    Raises
    ------
    InputError
        For a checkpoint without a rule: of a `Trainer` without the callback, with `save_weights_only=True`, or saved
        between a training step and the next validation; for a file that is no checkpoint, or has objects of classes
        that `weights_only` refuses.

    Examples
    --------
    >>> from thresholds.training.lightning import load_rule_from_checkpoint
    >>> model = Tagger.load_from_checkpoint("best.ckpt")  # doctest: +SKIP
    >>> rule = load_rule_from_checkpoint("best.ckpt")  # doctest: +SKIP
    >>> rule.predict(model(x))  # doctest: +SKIP
    """
    checkpoint = _read(path, weights_only)
    rules = checkpoint.get(_IN_CHECKPOINT) if isinstance(checkpoint, Mapping) else None
    if not rules:
        raise InputError(
            f"{path} has no rule, expected a checkpoint of a Trainer with a ThresholdCallback, saved without"
            " save_weights_only"
        )
    if name is None and len(rules) == 1:
        (name,) = rules
    if name not in rules:
        raise InputError(
            f"name is {_checks.shown(name)}, expected one of {_checks.listed(rules)}, as {path} has them"
        )
    if rules[name] is None:
        raise InputError(
            f"{path} has no rule, as none was fitted to its weights before they were saved, expected a checkpoint that"
            " was saved right after a validation"
        )
    return rule_of(rules[name], f"the rule of {path}")


def _read(path: str | os.PathLike[str], weights_only: bool) -> Any:
    """Read a checkpoint; its tensors stay on disk."""
    import torch

    with reading(path, "a checkpoint of Lightning"):
        try:
            return torch.load(path, map_location="cpu", mmap=True, weights_only=weights_only)
        except UnpicklingError as error:
            refused = _REFUSED_CLASS.search(str(error))
            if refused is None:
                raise
            raise InputError(
                f"{path} has an object of class {refused[1]}, expected numbers and text only: pass weights_only=False"
                " if you trust the file"
            ) from None


def _checked_rows(rows: object) -> Rows:
    """Check what tells truth and scores of a step: two or three keys, or a function."""
    if not callable(rows) and not (isinstance(rows, list | tuple) and len(rows) in (2, 3)):
        raise InputError(
            f"rows is {_checks.shown(rows)}, expected the keys of truth and scores, or a function"
        )
    return rows


def _is_trial(trainer: Any) -> bool:
    """Whether a run sees a few batches only, to show that it runs."""
    return bool(trainer.sanity_checking or trainer.fast_dev_run)


def _with_ending(figures: Mapping[str, float], number: int) -> dict[str, float]:
    """Name the figures of one loader of several."""
    return {f"{name}_loader_{number}": value for name, value in figures.items()}


def _loaders(trainer: Any) -> Sequence[Any]:
    """Return the loaders of this validation or test, as Lightning numbers them."""
    loaders = trainer._evaluation_loop._combined_loader
    return getattr(loaders, "flattened", ())


def _weights_of(trainer: Any, pl_module: Any) -> Checksums | None:
    """Return checksums of the weights; None where a process may hold a part of them."""
    is_whole = type(trainer.strategy).__name__ in _WHOLE_WEIGHTS
    return checksums(pl_module) if is_whole else None
