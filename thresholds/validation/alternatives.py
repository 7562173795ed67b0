"""Would another rule do better on other rows? Its out-of-fold figure over the same folds, and how sure the gain is.

The alternatives are one threshold for all labels instead of one for each, and a guard where there is none. (To go
without a guard is none: macro-F1 of real scores gained half a point or more by it in 1 of 132 samples of 100 to 1,000
rows.)

The standard error of the gain g is that of the jackknife over the folds, each of which is left out once,

    sqrt((K - 1) / K  sum_k (g_-k - mean of all g_-k)^2)

for K folds. Both rules decide the same rows, and rows of a group are in one fold, so that it allows for both. An
alternative is better if its gain is shown to be above 0, one-sided at 5 %: if it is more than 2.13 standard errors with
5 folds, by Student's t with K - 1 degrees of freedom.

Of 163 alternatives that were so named on real scores 156 were better on other rows, and 7 of 10 where the fit was
guarded. With one standard error it would have been 270 of 318, and 17 of 44 (`experiments/guards/alternatives.txt`).

References
----------
Tukey 1958, "Bias and confidence in not-quite large samples". Efron 1982, "The jackknife, the bootstrap and other
resampling plans", chapter 3.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thresholds._arrays.types import Floats, Ints
from thresholds._engine.problem import Problem
from thresholds._results.fields import record
from thresholds._results.result import Result
from thresholds.fitting.options import FitOptions
from thresholds.metrics.judged_rules import JudgedRules
from thresholds.validation.held_out import Folds, decide_out_of_fold, rules_of_folds

_LEVEL = 0.05  # one-sided
_FIT = ""  # the name of the fit itself in the table


@record
class Alternative(Result):
    """Another rule, cross-fitted over the same folds."""

    name: str  # what it is, in words
    rule: str  # its name in the list of all rules
    options: Mapping[str, Any]  # those of the fit that differ
    out_of_fold: float
    gain: float  # over the out-of-fold figure of the fit
    standard_error: float  # of the gain; NaN with one fold
    is_better: bool  # whether the gain is shown to be above 0

    def _sentences(self) -> tuple[str]:
        """Say what it reaches."""
        return (self.in_words(),)

    def in_words(self) -> str:
        """Say what it reaches."""
        more_or_less = "more" if self.gain >= 0 else "less"
        return (
            f"{self.name} reaches {self.out_of_fold:.4f} out of fold, {abs(self.gain):.4f}"
            f" {more_or_less} (standard error {self.standard_error:.4f})"
        )


def alternatives_to(
    decided: Any,
    problem: Problem,
    options: FitOptions,
    folds: Folds,
    given_weights: Floats | None,
    fold_of_row: Ints,
) -> tuple[Alternative, ...]:
    """Cross-fit the alternatives to a fit over the same folds; `decided` (n_samples, n_labels) is out of fold.

    `fold_of_row` (n_samples,) is the fold that each row is judged in, -1 for none.
    """
    given = [
        (name, changed, replace(options, rule=None, **changed))
        for name, changed in _other_options(options)
    ]
    of_others = {
        name: decide_out_of_fold(
            rules_of_folds(problem, others, folds, given_weights), problem, folds
        )
        for name, _, others in given
    }
    judged = np.flatnonzero(fold_of_row >= 0)
    table = JudgedRules(
        {_FIT: decided, **of_others},
        problem,
        beta=options.beta,
        zero_division=options.zero_division,
        groups=fold_of_row,
    ).at_rows(judged)
    found = []
    for name, changed, others in given:
        # Without each fold: how much more, less the mean of that, (n_folds,).
        gains = np.subtract(
            *(table.left_out[rule].changes[options.average] for rule in (name, _FIT))
        )
        reached = table.figure(name, options.average)
        gain = reached - table.figure(_FIT, options.average)
        error = _jackknife(gains)
        is_better = gain > _times_error(len(folds)) * error
        found.append(Alternative(name, others.named.name, changed, reached, gain, error, is_better))
    return tuple(found)


def _other_options(options: FitOptions) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name the alternatives to a fit, with the options that differ; limits are kept, so they have thresholds each.

    Other rules than thresholds fitted on labels have none: `select_rule` holds all rules against each other.
    """
    if options.named.method != "thresholds":
        return
    guard = options.chosen_guard
    if options.per_label and not options.has_limits:
        shared = {"per_label": False} | ({} if guard is None else {"guard": "auto"})
        yield "one threshold for all labels", shared
    guarded = replace(options, rule=None, guard="auto")
    if guard is None and guarded.chosen_guard is not None:
        yield f"the guard {guarded.chosen_guard}", {"guard": "auto"}


def _times_error(n_folds: int) -> float:
    """Return how many standard errors show a gain to be above 0; NaN with one fold."""
    from scipy.special import stdtrit

    return float(stdtrit(n_folds - 1, 1 - _LEVEL)) if n_folds > 1 else math.nan


def _jackknife(changes: Floats) -> float:
    """Return the standard error of a figure from its values without each fold, less their mean."""
    n_folds = changes.size
    if n_folds < 2:
        return math.nan
    return float(np.sqrt((n_folds - 1) / n_folds * np.square(changes).sum()))
