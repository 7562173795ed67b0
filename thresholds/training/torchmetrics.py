"""How do I fit and judge thresholds with TorchMetrics? By two metrics: one fits a rule, the other judges one.

It needs TorchMetrics: `pip install torchmetrics`. Its metrics take `(preds, target)`, scores first: the
other way round than all else here. Swapped arguments are refused, not fitted.
"""

from typing import Any

from thresholds import _checks
from thresholds._checks import Average, InputError
from thresholds._checks.unknown import unknown_values
from thresholds.data.folds import N_SPLITS, SEED
from thresholds.errors import MissingLibraryError
from thresholds.fitting.options import DEFAULTS, FIT_OPTIONS, with_fit_options
from thresholds.loading import rule_of
from thresholds.rule import Rule
from thresholds.training.accumulator import Accumulator
from thresholds.training.callbacks import checked_rule
from thresholds.training.epoch import EpochFit

try:
    from torchmetrics import Metric
except ImportError as error:
    raise MissingLibraryError(
        "thresholds.training.torchmetrics needs TorchMetrics: pip install torchmetrics"
    ) from error


class _RowsMetric(Metric):  # type: ignore[misc]
    """A metric that keeps all rows until it is computed, and has a rule, which its `state_dict` holds.

    In a `MetricCollection`, metrics with equal states of equal names share them. No metric of TorchMetrics has states
    of these names: some turn logits into probabilities, batch by batch.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    rows_y_score: Any  # a list of tensors; once processes have exchanged rows, one tensor
    rows_y_true: Any

    def __init__(
        self, rule: Rule | None, ignore_index: object, label_names: object, **of_metrics: Any
    ) -> None:
        super().__init__(**of_metrics)
        unknown_values(ignore_index, "ignore_index")
        self._ignore_index = ignore_index
        self.add_state("rows_y_score", [], dist_reduce_fx="cat")
        self.add_state("rows_y_true", [], dist_reduce_fx="cat")
        self._label_names = None if label_names is None else _checks.names_of_labels(label_names)
        self.rule = checked_rule(rule)

    def update(self, preds: Any, target: Any) -> None:
        """Keep a batch.

        Parameters
        ----------
        preds : (n_rows, n_labels) scores, best logits
        target : same shape, 0 or 1, or `ignore_index` where it is not known
        """
        self.rows_y_score.append(preds.detach())
        self.rows_y_true.append(target.detach())

    def forward(self, preds: Any, target: Any) -> None:
        """Keep a batch, as `update` does: thresholds of one batch would be of no use."""
        self.update(preds, target)

    def get_extra_state(self) -> dict[str, Any] | None:
        """Return the rule as plain values, for `state_dict`."""
        return None if self.rule is None else self.rule.to_dict()

    def set_extra_state(self, state: dict[str, Any] | None) -> None:
        """Take the rule from a `state_dict`."""
        self.rule = None if state is None else rule_of(state, "the rule of the state_dict")

    def _rows(self) -> Accumulator:
        """Return all rows, those of other processes included."""
        from torchmetrics.utilities import dim_zero_cat

        rows = Accumulator(label_names=self._label_names, unknown=self._ignore_index)
        if not len(self.rows_y_score):
            raise InputError("the metric has no rows, expected update(preds, target) before")
        rows.update(dim_zero_cat(self.rows_y_true), dim_zero_cat(self.rows_y_score))
        return rows

    def _as_tensor(self, value: float) -> Any:
        """Return a figure as TorchMetrics has them."""
        import torch

        return torch.tensor(value, device=self.device)


class FittedFScore(_RowsMetric):
    """F out of fold of the rule that `compute` fits: for validation rows.

    Parameters
    ----------
    average, rule, and the options from `beta` on : as in `cross_fit`, with its defaults
    ignore_index : what stands in `target` for cells that are not known, and count nowhere: a number, as -1, or "nan"
    label_names : strings, one per label
    cv, random_state : number and seed of the folds
    **options : also those of every metric of TorchMetrics, as `compute_on_cpu`

    Attributes
    ----------
    rule : the rule that `compute` fitted last, to all rows; `reset` keeps it
        It is part of the `state_dict`, of the metric and of a module that has it. It knows nothing of the weights: save
        both before the next training step. `rule.out_of_fold` has the figure in float64.

    Raises
    ------
    InputError
        As `cross_fit`; for options of no use when the metric is made, for rows by `compute`.

    Notes
    -----
    All rows are kept until `reset`, on their device, or in host memory with `compute_on_cpu=True`, which processes that
    exchange rows by NCCL cannot do. Each process needs some rows, and fits the rule to the rows of all.

    To call the metric is to `update` it: it gives no figure of single batches.

    Examples
    --------
    >>> import torch
    >>> from thresholds.training.torchmetrics import FittedFScore, RuleFScore
    >>> _ = torch.manual_seed(0)
    >>> target = torch.rand(600, 3) < 0.2
    >>> preds = torch.randn(600, 3) + 2 * target
    >>> metric = FittedFScore("macro", label_names=["cat", "dog", "owl"])
    >>> for batch in torch.arange(400).split(64):
    ...     metric.update(preds[batch], target[batch])
    >>> round(metric.compute().item(), 2)
    0.73
    >>> test = RuleFScore(metric.rule)
    >>> test.update(preds[400:], target[400:])
    >>> round(test.compute().item(), 2)
    0.66
    """

    @with_fit_options(DEFAULTS)
    def __init__(
        self,
        average: Average = "macro",
        *,
        rule: str | None = None,
        ignore_index: object = None,
        label_names: object = None,
        cv: int = N_SPLITS,
        random_state: int = SEED,
        **options: Any,
    ) -> None:
        of_fits = {name: value for name, value in options.items() if name in FIT_OPTIONS}
        of_metrics = {name: value for name, value in options.items() if name not in FIT_OPTIONS}
        super().__init__(None, ignore_index, label_names, **of_metrics)
        self._epoch = EpochFit(average, rule=rule, cv=cv, random_state=random_state, **of_fits)

    def compute(self) -> Any:
        """Fit the rule to all rows, and return F out of fold."""
        self.rule, figures = self._epoch.fit(self._rows())
        return self._as_tensor(figures[self._epoch.name])


class RuleFScore(_RowsMetric):
    """F of a rule that is given: for test rows. Nothing is fitted.

    Parameters
    ----------
    rule : the rule to judge; None where it is given later, before `compute`
    average : "macro", "micro", "weighted" or "samples"; by default what the rule maximises, or "macro" if it tells none
    beta, zero_division : by default those of the fit of the rule, or 1 and 0
    ignore_index : what stands in `target` for cells that are not known, and count nowhere: a number, as -1, or "nan"
    label_names : strings, one per label; the rule finds its labels by name, where both have names
    **of_metrics : the options of every metric of TorchMetrics, as `compute_on_cpu`

    Attributes
    ----------
    rule : may be set; part of the `state_dict`

    Raises
    ------
    InputError
        Without a rule, and for rows that it cannot take.

    Examples
    --------
    >>> import torch, thresholds
    >>> from thresholds.training.torchmetrics import RuleFScore
    >>> metric = RuleFScore(thresholds.FixedRule(0.5, 2), "micro")
    >>> metric.update(torch.tensor([[0.9, 0.2], [0.6, 0.7]]), torch.tensor([[1, 0], [0, 1]]))
    >>> metric.compute()
    tensor(0.8000)
    """

    def __init__(
        self,
        rule: Rule | None = None,
        average: Average | None = None,
        *,
        beta: float | None = None,
        zero_division: float | None = None,
        ignore_index: object = None,
        label_names: object = None,
        **of_metrics: Any,
    ) -> None:
        super().__init__(rule, ignore_index, label_names, **of_metrics)
        self._average = average
        self._beta = beta
        self._zero_division = zero_division
        self._epoch_of(None)

    def compute(self) -> Any:
        """Return F of the decisions of the rule."""
        rule = checked_rule(self.rule)
        if rule is None:
            raise InputError("rule is None, expected one to judge: set metric.rule before compute")
        epoch = self._epoch_of(rule)
        return self._as_tensor(epoch.judge(rule, self._rows())[epoch.name])

    def _epoch_of(self, rule: Rule | None) -> EpochFit:
        """Return what judges a rule: by the measure that was asked for, or that of its fit."""
        average = self._average
        beta = self._beta
        zero_division = self._zero_division
        if rule is not None:
            average = average or rule.average  # type: ignore[assignment]
            beta = rule.beta if beta is None else beta
            zero_division = rule.zero_division if zero_division is None else zero_division
        average = average or "macro"
        return EpochFit(
            average,
            per_label=average != "samples",  # which alone cannot be fitted; judged is any rule
            beta=1.0 if beta is None else beta,
            zero_division=0.0 if zero_division is None else zero_division,
        )
