"""Thresholds in the `Trainer` of Transformers: fitted when it evaluates, saved in its checkpoints, restored with them.

A `Trainer` tells `compute_metrics` neither which rows it gets nor what has become of the weights. The events that a
callback sees do, in this order:

1. `on_step_begin`: the weights are about to change, so that no rule belongs to them any more.
2. `on_prediction_step`, `compute_metrics`, `on_evaluate`: the first rows that are evaluated after a step have a rule
   fitted to them. The event that follows tells their name; if it is not that of the validation rows, the rule is
   dropped, and the evaluation refused. All rows evaluated after these are judged by the rule.
3. `on_save`: the rule, if there is one, is written into the folder of the checkpoint.
   Where its weights are not those that were evaluated, as after an exchange for their averages, it is not.
4. `on_train_end`: the weights are those of the best checkpoint, if they were to be loaded, and so is the rule. Nothing
   is fitted from here on.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from thresholds import _checks
from thresholds._checks import Average, InputError
from thresholds._engine.problem import Problem
from thresholds.data.folds import N_SPLITS, SEED
from thresholds.diagnosis.own_rows import was_fitted_on
from thresholds.errors import MissingLibraryError
from thresholds.fitting.options import DEFAULTS, FitArguments, with_fit_options
from thresholds.loading import load_rule
from thresholds.training.accumulator import Accumulator
from thresholds.training.callbacks import FittedToWeights, RuleOfWeights
from thresholds.training.checksums import Checksums, checksums
from thresholds.training.epoch import IN_SAMPLE

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise MissingLibraryError(
        "thresholds.training.transformers needs Transformers: pip install 'transformers[torch]'"
    ) from error

FILE = "rule.json"


class ThresholdTrainerCallback(RuleOfWeights, TrainerCallback):  # type: ignore[misc]
    """Fits a rule to the weights whenever the `Trainer` evaluates, and keeps both together.

    Give the `Trainer` the callback and its `compute_metrics`, both::

        callback = ThresholdTrainerCallback("macro")
        trainer = Trainer(..., compute_metrics=callback.compute_metrics, callbacks=[callback])

    Each evaluation while it trains reports "eval_macro_f1", out of fold, for `metric_for_best_model="macro_f1"`, and
    "eval_macro_f1_in_sample", which is too high. Each checkpoint that is saved after an evaluation has its rule in the
    file rule.json; a checkpoint saved between a training step and the next evaluation has none. With
    `load_best_model_at_end` the rule of the best checkpoint comes back with its weights.

    `trainer.predict(test)`, and `evaluate` with other rows, judge the rule that belongs to the weights: nothing is
    fitted. On the rows of its fit "eval_macro_f1" is its figure out of fold, after training, too.

    Parameters
    ----------
    average, rule, and the options from `beta` on : as in `cross_fit`, with its defaults
    fit_on : what the metrics of the validation rows begin with
        "eval"; "eval_NAME" if `eval_dataset` is a dict, in which NAME must be the first.
    unknown : what stands for truth that is not known, as in `cross_fit`: -100, as losses of Transformers have it
        None (default): all of it is known. Also "nan", or another number than 0 and 1.
    label_names : strings, one per label
        None (default): the `id2label` of the model's config, but for names such as LABEL_0, which nobody gave.
    cv : number of folds
    random_state : seed of the folds
    file_name : what the rule is called in the folder of a checkpoint
        Two callbacks of one `Trainer` have different names, and a function merges what their `compute_metrics` return.

    Attributes
    ----------
    rule : the rule that belongs to the weights as they are; None before the first evaluation and after a training step
        For weights that were trained before: `callback.rule = thresholds.load_rule(folder / "rule.json")`.

    Raises
    ------
    InputError
        For options that are of no use, when the callback is made. While it runs: for an evaluation without a rule, of
        other rows before the validation rows, or without the callback's events or its `compute_metrics`.

    Notes
    -----
    `trainer.save_model(folder)` tells no callback: call `callback.save(folder)` after it.

    A rule judges no other weights: where they were changed by hand there is no rule. That is told by checksums, but not
    where processes share the weights out (FSDP, DeepSpeed), nor where they are cast to another precision. A callback
    sees the model that its `Trainer` was made with: for another one make a new `Trainer`, as `trainer.model = other`
    goes unnoticed.

    After an interrupted training `trainer.evaluate()` fits a rule to the weights as they are. Of several processes each
    fits the same rule to all rows, and those that save weights write it. The runs of a hyperparameter search report
    their figures, but save no rules.
    """

    _best: tuple[Path, FittedToWeights | None] | None  # the best checkpoint so far, and its rule

    # Of the evaluation that runs.
    _loader: object
    _rows: Accumulator | None  # batches so far
    _candidate: FittedToWeights | None  # fitted to all rows, whose name is not known yet

    @with_fit_options(DEFAULTS)
    def __init__(
        self,
        average: Average = "macro",
        *,
        rule: str | None = None,
        fit_on: str = "eval",
        unknown: object = None,
        label_names: object = None,
        cv: int = N_SPLITS,
        random_state: int = SEED,
        file_name: str = FILE,
        **options: Unpack[FitArguments],
    ) -> None:
        of_epoch = {"rule": rule, "cv": cv, "random_state": random_state}
        self._begin(unknown, label_names, average, **of_epoch, **options)
        self._fit_on = _checks.text(fit_on, "fit_on")
        self._file_name = _checks.text(file_name, "file_name")
        self._is_training = False
        self._forget()

        self._has_events = False
        self._names: object = None

    def compute_metrics(
        self, prediction: Any, compute_result: bool | None = None
    ) -> dict[str, float]:
        """Return F of the rows that were evaluated: for `Trainer(compute_metrics=...)`.

        Parameters
        ----------
        prediction : EvalPrediction, with truth as 0/1, ints or floats, and scores of any scale
            Of a model that returns more than scores, the scores are the first.
        compute_result : for `batch_eval_metrics=True`, where each batch comes by itself: whether it is the last

        Returns
        -------
        F by name, such as "macro_f1"; nothing before the last batch
        """
        if not self._has_events:
            raise InputError(
                "callbacks lacks the ThresholdTrainerCallback whose compute_metrics this is, expected"
                " Trainer(..., compute_metrics=callback.compute_metrics, callbacks=[callback])"
            )
        rows = self._rows
        if rows is None or compute_result is None:
            rows = self._new_rows(label_names=self._names)
        for y_true, y_score in _batches(prediction):
            rows.update(y_true, y_score)
        if compute_result is False:
            self._rows = rows
            return {}
        self._rows = None
        if self._fitted is not None:
            return self._judged(self._fitted, rows)
        if self._is_training:
            rule, figures = self._epoch.fit(rows)
            self._candidate = FittedToWeights(rule, self._seen, _truth(rows))
            return figures
        raise InputError(
            "rule is None, expected one for these weights: train with an eval_strategy (eval_on_start=True tells F"
            f" before the first step), or set callback.rule = thresholds.load_rule(folder / {self._file_name!r})"
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the rule into a folder of weights: after `trainer.save_model(folder)`, which tells no callback.

        Raises
        ------
        InputError
            Without a rule for the weights as they are; then a rule that lay there, of other weights, is gone.
        """
        self._write(Path(folder))
        if self._fitted is None:
            raise InputError(
                "rule is None, expected one to save: no rule was fitted to the weights as they are"
            )

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forget the rule of other weights, and check the names of the labels before the first epoch."""
        self._is_training = True
        self._forget()
        self._new_rows(label_names=self._names_of(kwargs.get("model")))

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Drop the rule: the weights change."""
        self._fitted = None
        self._end_evaluation()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin an evaluation: learn the names of the labels, and whether these are the weights of the rule."""
        self._has_events = True
        if kwargs.get("eval_dataloader") is self._loader:
            return
        self._end_evaluation()  # that was broken off, if any
        self._loader = kwargs.get("eval_dataloader")
        self._names = self._names_of(kwargs.get("model"))
        self._see(_weights_of(kwargs.get("model"), args))

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Take the rule that was fitted, if the rows were those to fit on."""
        fitted = self._take_candidate(kwargs["metrics"])
        if fitted is not None:
            self._fitted = fitted
        elif self._is_training and self._fitted is None and self._is_of_fit(kwargs["metrics"]):
            raise InputError(
                "compute_metrics of the ThresholdTrainerCallback was not called, expected rows with labels, and"
                " Trainer(..., compute_metrics=callback.compute_metrics, callbacks=[callback])"
            )

    def on_predict(
        self, args: Any, state: Any, control: Any, metrics: Mapping[str, float], **kwargs: Any
    ) -> None:
        """Refuse rows of a test that had a rule fitted to them."""
        self._take_candidate(metrics)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write the rule into the folder of the checkpoint, and remember it if the checkpoint is the best so far."""
        if state.is_hyper_param_search:  # Each run has folders of its own, which it does not tell.
            return
        folder = _checkpoint(args, state)
        had_rule = self._fitted is not None
        self._see(_weights_of(kwargs.get("model"), args))
        if had_rule and self._fitted is None:
            _checks.warn_caller(
                f"{folder.name} gets no rule: its weights are not those that were evaluated",
                UserWarning,
            )
        if args.should_save:
            self._write(folder)
        best = state.best_model_checkpoint
        if best is not None and Path(best) == folder:
            self._best = (
                folder,
                None if self._fitted is None else self._fitted._replace(weights=None),
            )

    def on_push_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write the rule into the folders that are uploaded: weights lie there before their checkpoint is complete."""
        if not args.should_save:
            return
        self._write(Path(args.output_dir))
        folder = _checkpoint(args, state)
        if self._is_training and self._fitted is not None and folder.is_dir():
            self._write(folder)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Restore the rule of the best checkpoint, if its weights are loaded."""
        self._is_training = False
        best = state.best_model_checkpoint
        if args.load_best_model_at_end and best is not None:
            self._fitted = self._fit_of(Path(best))

    def _forget(self) -> None:
        """Know no rule."""
        self._fitted = None
        self._best = None
        self._end_evaluation()

    def _end_evaluation(self) -> None:
        """Keep nothing of an evaluation."""
        self._candidate = None
        self._loader = None
        self._rows = None

    def _fit_of(self, folder: Path) -> FittedToWeights | None:
        """Return the rule of a checkpoint: of this run, as it was, or, of a run that is resumed, from its file.

        Another process may not have written the file yet.
        """
        if self._best is not None and self._best[0] == folder:
            return self._best[1]
        path = folder / self._file_name
        return FittedToWeights(load_rule(path)) if path.exists() else None

    def _write(self, folder: Path) -> None:
        """Write the rule, or see to it that none of other weights is left."""
        path = folder / self._file_name
        if self._fitted is None:
            path.unlink(missing_ok=True)
        else:
            self._fitted.rule.save(path)

    def _is_of_fit(self, metrics: Mapping[str, float]) -> bool:
        """Whether metrics are those of the validation rows."""
        return f"{self._fit_on}_runtime" in metrics

    def _take_candidate(self, metrics: Mapping[str, float]) -> FittedToWeights | None:
        """Return the rule that was fitted to the rows of these metrics, if any; refuse rows that are not to fit on."""
        candidate = self._candidate
        self._end_evaluation()
        if candidate is None or self._is_of_fit(metrics):
            return candidate
        names = [name.removesuffix("_runtime") for name in metrics if name.endswith("_runtime")]
        raise InputError(
            f"fit_on is {self._fit_on!r}, but after a training step {_checks.listed(names)} came first, expected"
            f" {self._fit_on!r} first, as other rows are judged by the rule that is fitted to it (if eval_dataset is a"
            " dict, fit_on is 'eval_NAME', of its first name)"
        )

    def _judged(self, fit: FittedToWeights, rows: Accumulator) -> dict[str, float]:
        """Return what a rule reaches on rows; on those of its fit, what it reaches out of fold, and the other apart."""
        figures = self._epoch.judge(fit.rule, rows)
        # Scores may differ in the last bits, or the rows may have come in another order.
        is_own = fit.truth == _truth(rows) or _was_fitted_on(fit, rows)
        if not is_own:
            return figures
        in_sample = {self._epoch.name + IN_SAMPLE: figures[self._epoch.name]}
        honest = self._epoch.out_of_fold(fit.rule)
        return in_sample if honest is None else {self._epoch.name: honest, **in_sample}

    def _names_of(self, model: Any) -> object:
        """Return the names of the labels that were given, or those of a model."""
        if self._about_rows["label_names"] is not None:
            return self._about_rows["label_names"]
        return _names_by_column(getattr(getattr(model, "config", None), "id2label", None))


def _batches(prediction: Any) -> list[tuple[Any, Any]]:
    """Return truth and scores of the rows, in the batches in which they come."""
    truth = prediction.label_ids
    outputs = prediction.predictions
    if isinstance(truth, list):  # eval_do_concat_batches=False
        return [(y_true, _scores(part)) for y_true, part in zip(truth, outputs, strict=True)]
    return [(truth, _scores(outputs))]


def _scores(outputs: Any) -> Any:
    """Return the scores among what a model returns."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


def _names_by_column(id2label: Any) -> tuple[str, ...] | None:
    """Return names in the order of their numbers; None for those that Transformers makes up, as LABEL_0."""
    if not id2label:
        return None
    try:
        names = {int(number): str(name) for number, name in id2label.items()}
    except ValueError:
        names = {}
    if sorted(names) != list(range(len(id2label))):
        keys = _checks.listed(id2label)
        raise InputError(
            f"id2label of the model's config has the keys {keys}, expected the numbers of columns, from 0 to"
            f" {len(id2label) - 1}"
        )
    in_order = tuple(names[number] for number in range(len(names)))
    made_up = tuple(f"LABEL_{number}" for number in range(len(names)))
    return None if in_order == made_up else in_order


def _truth(rows: Accumulator) -> str:
    """Return a checksum of the truth of all rows, in their order; scores may differ in the last bits."""
    return hashlib.sha256(np.ascontiguousarray(rows.y_true).data).hexdigest()


def _was_fitted_on(fit: FittedToWeights, rows: Accumulator) -> bool:
    """Whether a rule was fitted on these rows in any order, as far as it tells: by its scores, bit for bit."""
    problem = Problem.of(
        rows.y_true, rows.y_score, unknown=rows.unknown, label_names=rows.label_names
    )
    return was_fitted_on(fit.rule, problem)


def _weights_of(model: Any, args: Any) -> Checksums | None:
    """Return checksums of the weights; None where a process may hold a part of them."""
    if getattr(args, "fsdp", None) or getattr(args, "deepspeed", None):
        return None
    return None if model is None else checksums(model)


def _checkpoint(args: Any, state: Any) -> Path:
    """Return the folder of the checkpoint that is saved now."""
    return Path(args.output_dir, f"checkpoint-{state.global_step}")
